//! A driver that speaks the binary format.

use std::error::Error;
use std::io::{Read, Write};

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, Kind, ToSql, Type};

use super::World;

#[test]
fn every_type_goes_through_in_binary() {
    let world = World::new();
    let mut client = world.client();
    client
        .batch_execute(
            "CREATE TABLE t (a smallint, b integer, c bigint, d real, e double precision, f text, g bytea, h boolean)",
        )
        .unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8)").unwrap();
    let bytes = vec![0u8, 255];
    client.execute(&insert, &[&1i16, &2i32, &3i64, &4.5f32, &5.5f64, &"six", &bytes, &true]).unwrap();
    let none: Option<i32> = None;
    client.execute("INSERT INTO t (b, f) VALUES ($1, $2)", &[&none, &"é"]).unwrap();
    let rows = client.query("SELECT * FROM t WHERE f = $1", &[&"six"]).unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.get::<_, i16>(0), row.get::<_, i32>(1), row.get::<_, i64>(2)), (1, 2, 3));
    assert_eq!((row.get::<_, f32>(3), row.get::<_, f64>(4)), (4.5, 5.5));
    assert_eq!(
        (row.get::<_, String>(5), row.get::<_, Vec<u8>>(6), row.get::<_, bool>(7)),
        ("six".into(), bytes, true)
    );
    assert_eq!(
        client.query_one("SELECT b FROM t WHERE f = 'é'", &[]).unwrap().get::<_, Option<i32>>(0),
        None
    );
    let list: Vec<i32> = client.query_one("SELECT ARRAY[1, 2, 3]", &[]).unwrap().get(0);
    assert_eq!(list, [1, 2, 3]);
}

#[test]
fn transactions_portals_and_copy_work() {
    let world = World::new();
    let mut client = world.client();
    client.batch_execute("CREATE TABLE t (a integer, b text)").unwrap();
    let mut writer = client.copy_in("COPY t FROM STDIN").unwrap();
    for n in 0..1_000 {
        writeln!(writer, "{n}\trow {n}").unwrap();
    }
    assert_eq!(writer.finish().unwrap(), 1_000);
    let mut transaction = client.transaction().unwrap();
    let portal = transaction.bind("SELECT a FROM t ORDER BY a", &[]).unwrap();
    let first = transaction.query_portal(&portal, 10).unwrap();
    let second = transaction.query_portal(&portal, 10).unwrap();
    assert_eq!((first[9].get::<_, i32>(0), second[0].get::<_, i32>(0)), (9, 10));
    transaction.execute("DELETE FROM t", &[]).unwrap();
    transaction.rollback().unwrap();
    let mut text = String::new();
    client
        .copy_out("COPY (SELECT * FROM t WHERE a < 2 ORDER BY a) TO STDOUT")
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(text, "0\trow 0\n1\trow 1\n");
    let error = client.execute("INSERT INTO nothing VALUES (1)", &[]).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "42P01");
}

/// A label of an enum type, as its text.
#[derive(Debug, PartialEq)]
struct Label(String);

impl<'a> FromSql<'a> for Label {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Label, Box<dyn Error + Sync + Send>> {
        Ok(Label(std::str::from_utf8(raw)?.to_string()))
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Enum(_))
    }
}

impl ToSql for Label {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(self.0.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Enum(_))
    }

    postgres::types::to_sql_checked!();
}

/// The driver looks an unknown type up in `pg_type` and `pg_enum`, then speaks the binary format.
#[test]
fn enums_are_found_in_the_catalogs_and_go_through_in_binary() {
    let world = World::new();
    let mut client = world.client();
    client
        .batch_execute(
            "CREATE TYPE mood AS ENUM ('sad', 'happy'); ALTER TYPE mood ADD VALUE 'ok' BEFORE 'happy';
             CREATE TABLE t (m mood, ms mood[])",
        )
        .unwrap();
    let insert = client.prepare("INSERT INTO t VALUES ($1, $2)").unwrap();
    let labels = ["sad", "ok", "happy"].map(str::to_string).to_vec();
    assert_eq!((insert.params()[0].name(), insert.params()[0].kind()), ("mood", &Kind::Enum(labels)));
    let label = |text: &str| Label(text.to_string());
    client.execute(&insert, &[&label("ok"), &vec![label("happy"), label("sad")]]).unwrap();
    let row = client.query_one("SELECT m, ms FROM t WHERE m > $1", &[&label("sad")]).unwrap();
    assert_eq!(row.get::<_, Label>(0), label("ok"));
    assert_eq!(row.get::<_, Vec<Label>>(1), [label("happy"), label("sad")]);
    let error = client.execute(&insert, &[&label("none"), &Vec::<Label>::new()]).unwrap_err();
    assert_eq!(error.code().unwrap().code(), "22P02");
}
