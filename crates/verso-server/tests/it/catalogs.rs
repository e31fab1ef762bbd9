//! Types of the system catalogs in the protocol: their numbers, and both formats.

use super::World;
use super::raw::{Raw, bind, execute, message, parse, sync};

/// The type, and the bytes of the one value of the one column, as text and in binary.
fn shown(raw: &mut Raw, query: &str) -> (u32, Vec<u8>, Vec<u8>) {
    let mut oid = 0;
    let mut values = Vec::new();
    for format in [0u8, 1] {
        let mut bytes = parse("", query);
        // Bind without parameters, with one format for all columns of the result.
        bytes.extend(message('B', &[0, 0, 0, 0, 0, 0, 0, 1, 0, format]));
        bytes.extend(message('D', b"P\0"));
        bytes.extend(execute("", 0));
        bytes.extend(sync());
        raw.send(&bytes);
        for reply in raw.until('Z') {
            match reply.kind {
                'T' => {
                    let name = reply.body[2..].iter().position(|byte| *byte == 0).unwrap();
                    let at = 2 + name + 1 + 6;
                    oid = u32::from_be_bytes(reply.body[at..at + 4].try_into().unwrap());
                }
                'D' => values.push(reply.body[6..].to_vec()),
                'E' => panic!("{query}: {:?}", reply.field('M')),
                _ => {}
            }
        }
    }
    let binary = values.pop().unwrap();
    (oid, values.pop().unwrap(), binary)
}

#[test]
fn references_are_names_as_text_and_numbers_in_binary() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    let number = |number: u32| number.to_be_bytes().to_vec();
    assert_eq!(shown(&mut raw, "SELECT 'pg_class'::regclass"), (2205, b"pg_class".to_vec(), number(1259)));
    assert_eq!(shown(&mut raw, "SELECT pg_typeof(1)"), (2206, b"integer".to_vec(), number(23)));
    assert_eq!(shown(&mut raw, "SELECT 'now'::regproc"), (24, b"now".to_vec(), number(1299)));
    assert_eq!(shown(&mut raw, "SELECT 'r'::\"char\""), (18, b"r".to_vec(), b"r".to_vec()));
    let (oid, text, _) = shown(&mut raw, "SELECT 't'::regclass");
    assert_eq!((oid, text.as_slice()), (2205, &b"t"[..]));
    let (oid, text, _) = shown(&mut raw, "SELECT '1 2'::int2vector");
    assert_eq!((oid, text.as_slice()), (22, &b"1 2"[..]));
}

#[test]
fn a_parameter_of_a_reference_is_a_name() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    let mut bytes = parse("", "SELECT $1::regclass = (SELECT oid FROM pg_class WHERE relname = 't')");
    bytes.extend(bind("", "", &[Some("t")]));
    bytes.extend(execute("", 0));
    bytes.extend(sync());
    raw.send(&bytes);
    let replies = raw.until('Z');
    let row = replies.iter().find(|reply| reply.kind == 'D').unwrap();
    assert_eq!(&row.body[6..], b"t");
}

#[test]
fn columns_of_the_catalogs_have_postgresql_s_types() {
    let world = World::new();
    let mut raw = world.connect();
    for (column, oid) in [
        ("relkind FROM pg_class", 18),
        ("relname FROM pg_class", 19),
        ("relacl FROM pg_class", 1034),
        ("relpartbound FROM pg_class", 194),
        ("relfrozenxid FROM pg_class", 28),
        ("indkey FROM pg_index", 22),
        ("indclass FROM pg_index", 30),
        ("typinput FROM pg_type", 24),
        ("conkey FROM pg_constraint", 1005),
        ("client_addr FROM pg_stat_activity", 869),
        ("parameter_types FROM pg_prepared_statements", 2211),
        ("table_name FROM information_schema.tables", 19),
        ("data_type FROM information_schema.columns", 1043),
        ("ordinal_position FROM information_schema.columns", 23),
    ] {
        let mut bytes = parse("s", &format!("SELECT {column}"));
        bytes.extend(message('D', b"Ss\0"));
        bytes.extend(message('C', b"Ss\0"));
        bytes.extend(sync());
        raw.send(&bytes);
        let replies = raw.until('Z');
        let row = replies.iter().find(|reply| reply.kind == 'T');
        let body = &row.unwrap_or_else(|| panic!("{column}")).body;
        let name = body[2..].iter().position(|byte| *byte == 0).unwrap();
        let at = 2 + name + 1 + 6;
        assert_eq!(u32::from_be_bytes(body[at..at + 4].try_into().unwrap()), oid, "{column}");
    }
}
