//! Geometric values through the binary format, both ways.

use std::error::Error;
use std::io::{Read, Write};

use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type};

use super::World;

/// A geometric value, as the bytes the protocol carries.
#[derive(Clone, Debug, PartialEq)]
struct Shape(Vec<u8>);

impl Shape {
    /// The bytes of `head` and, after them, of `numbers`.
    fn new(head: &[u8], numbers: &[f64]) -> Shape {
        let mut bytes = head.to_vec();
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
        Shape(bytes)
    }
}

impl<'a> FromSql<'a> for Shape {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Shape, Box<dyn Error + Sync + Send>> {
        Ok(Shape(raw.to_vec()))
    }

    fn accepts(ty: &Type) -> bool {
        geometric(ty)
    }
}

impl ToSql for Shape {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        geometric(ty)
    }

    postgres::types::to_sql_checked!();
}

fn geometric(ty: &Type) -> bool {
    [Type::POINT, Type::LSEG, Type::LINE, Type::BOX, Type::PATH, Type::POLYGON, Type::CIRCLE].contains(ty)
}

/// Each type's name, a value's bytes as PostgreSQL's `point_send` and the like write them, and the value's text.
fn shapes() -> Vec<(&'static str, Shape, &'static str)> {
    vec![
        ("point", Shape::new(&[], &[1.5, -2.0]), "(1.5,-2)"),
        ("point", Shape::new(&[], &[f64::NEG_INFINITY, f64::INFINITY]), "(-Infinity,Infinity)"),
        ("lseg", Shape::new(&[], &[1.0, 2.0, 3.0, 4.0]), "[(1,2),(3,4)]"),
        ("line", Shape::new(&[], &[1.0, -1.0, 0.5]), "{1,-1,0.5}"),
        ("box", Shape::new(&[], &[3.0, 4.0, 1.0, 2.0]), "(3,4),(1,2)"),
        ("path", Shape::new(&[0, 0, 0, 0, 2], &[1.0, 2.0, 3.0, 4.0]), "[(1,2),(3,4)]"),
        ("path", Shape::new(&[1, 0, 0, 0, 2], &[1.0, 2.0, 3.0, 4.0]), "((1,2),(3,4))"),
        ("polygon", Shape::new(&[0, 0, 0, 3], &[0.0, 0.0, 1.0, 0.0, 1.0, 1.0]), "((0,0),(1,0),(1,1))"),
        ("circle", Shape::new(&[], &[1.0, 2.0, 3.0]), "<(1,2),3>"),
    ]
}

#[test]
fn shapes_and_their_arrays_go_through_in_binary() {
    let world = World::new();
    let mut client = world.client();
    for (name, shape, text) in shapes() {
        let one = format!("SELECT $1::{name}, $1::{name}::text, '{text}'::{name}");
        let row = client.query_one(&one, &[&shape]).unwrap();
        assert_eq!(row.get::<_, Shape>(0), shape, "{name}");
        assert_eq!(row.get::<_, String>(1), text, "{name}");
        assert_eq!(row.get::<_, Shape>(2), shape, "{name}");
        let many = vec![Some(shape.clone()), None, Some(shape)];
        let row = client.query_one(&format!("SELECT $1::{name}[]"), &[&many]).unwrap();
        assert_eq!(row.get::<_, Vec<Option<Shape>>>(0), many, "{name}");
    }
}

/// A box sent with its corners in another order is kept, and sent back, with the upper right one first.
#[test]
fn a_box_sent_puts_its_corners_in_order() {
    let world = World::new();
    let mut client = world.client();
    let sent = Shape::new(&[], &[1.0, 4.0, 3.0, 2.0]);
    let row = client.query_one("SELECT $1::box", &[&sent]).unwrap();
    assert_eq!(row.get::<_, Shape>(0), Shape::new(&[], &[3.0, 4.0, 1.0, 2.0]));
}

#[test]
fn bytes_that_are_no_shape_are_refused() {
    let world = World::new();
    let mut client = world.client();
    for (name, shape, code) in [
        ("line", Shape::new(&[], &[0.0, 0.0, 1.0]), "22P03"),
        ("circle", Shape::new(&[], &[0.0, 0.0, -1.0]), "22P03"),
        ("path", Shape::new(&[1, 0, 0, 0, 0], &[]), "22P03"),
        ("polygon", Shape::new(&[0xff, 0xff, 0xff, 0xff], &[]), "22P03"),
        ("point", Shape::new(&[], &[1.0]), "08P01"),
        ("point", Shape::new(&[], &[1.0, 2.0, 3.0]), "22P03"),
    ] {
        let error = client.query_one(&format!("SELECT $1::{name}"), &[&shape]).unwrap_err();
        assert_eq!(error.code().map(|found| found.code()), Some(code), "{name} {shape:?}");
    }
}

#[test]
fn shapes_go_through_copy_in_binary() {
    let world = World::new();
    let mut client = world.client();
    client
        .batch_execute(
            "CREATE TABLE t (a point, b lseg, c line, d box, e path, f polygon, g circle, h box[]);
             CREATE TABLE again (LIKE t);
             INSERT INTO t VALUES ('(1.5,-2)', '[(1,2),(3,4)]', '{1,-1,0.5}', '(3,4),(1,2)', '[(1,2),(3,4)]',
                                   '((0,0),(1,0),(1,1))', '<(1,2),3>', '{(3,4),(1,2);(1,1),(0,0)}')",
        )
        .unwrap();
    let mut bytes = Vec::new();
    client.copy_out("COPY t TO STDOUT (FORMAT binary)").unwrap().read_to_end(&mut bytes).unwrap();
    let mut writer = client.copy_in("COPY again FROM STDIN (FORMAT binary)").unwrap();
    writer.write_all(&bytes).unwrap();
    assert_eq!(writer.finish().unwrap(), 1);
    let text = |client: &mut postgres::Client, table: &str| -> String {
        client.query_one(&format!("SELECT {table}::text FROM {table}"), &[]).unwrap().get(0)
    };
    let kept = text(&mut client, "t");
    assert!(kept.contains("<(1,2),3>"), "{kept}");
    assert_eq!(text(&mut client, "again"), kept);
}
