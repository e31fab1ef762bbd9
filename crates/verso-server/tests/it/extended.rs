//! The extended protocol.

use super::World;
use super::raw::{bind, execute, message, parse, query, sync};

fn describe(what: char, name: &str) -> Vec<u8> {
    message('D', format!("{what}{name}\0").as_bytes())
}

#[test]
fn a_statement_is_prepared_described_bound_and_run() {
    let world = World::new();
    let mut raw = world.connect();
    let mut bytes = parse("s", "SELECT $1::integer + 1 AS n");
    bytes.extend(describe('S', "s"));
    bytes.extend(bind("", "s", &[Some("41")]));
    bytes.extend(describe('P', ""));
    bytes.extend(execute("", 0));
    bytes.extend(sync());
    raw.send(&bytes);
    let replies = raw.until('Z');
    let kinds: String = replies.iter().map(|reply| reply.kind).collect();
    assert_eq!(kinds, "1tT2TDCZ");
    assert_eq!(replies[1].body, [0, 1, 0, 0, 0, 23]);
    assert_eq!(&replies[5].body[6..], b"42");
    assert_eq!(replies[6].text(), "SELECT 1");
}

#[test]
fn rows_come_in_portions() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("BEGIN");
    let mut bytes = parse("", "SELECT * FROM generate_series(1, 5)");
    bytes.extend(bind("p", "", &[]));
    for _ in 0..3 {
        bytes.extend(execute("p", 2));
    }
    bytes.extend(sync());
    assert_eq!(raw.kinds(&bytes), "12DDsDDsDCZT");
    raw.query("COMMIT");
    let mut late = execute("p", 2);
    late.extend(sync());
    assert_eq!(raw.kinds(&late), "EZI");
}

#[test]
fn portals_with_a_name_are_known_to_fetch_move_and_close() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("BEGIN");
    let open = |portal: &str, sql: &str| [parse("", sql), bind(portal, "", &[])].concat();
    let mut bytes = open("p", "SELECT * FROM generate_series(1, 9)");
    bytes.extend([execute("p", 1), sync()].concat());
    assert_eq!(raw.kinds(&bytes), "12DsZT");
    let mut rows = |bytes: &[u8]| {
        raw.send(bytes);
        let replies = raw.until('Z');
        let rows = replies.iter().filter(|reply| reply.kind == 'D');
        let tag =
            replies.iter().find(|reply| matches!(reply.kind, 'C' | 'E')).map(|reply| match reply.kind {
                'C' => reply.text(),
                _ => reply.field('C').unwrap(),
            });
        let values: Vec<String> =
            rows.map(|row| String::from_utf8(row.body[6..].to_vec()).unwrap()).collect();
        (values.join(" "), tag.unwrap_or_default())
    };
    let told = |values: &str, tag: &str| (values.to_owned(), tag.to_owned());
    assert_eq!(rows(&query("MOVE 1 FROM p")), told("", "MOVE 1"));
    assert_eq!(rows(&query("FETCH 2 FROM p")), told("3 4", "FETCH 2"));
    assert_eq!(rows(&[execute("p", 1), sync()].concat()), told("5", ""));
    assert_eq!(rows(&query("FETCH RELATIVE 2 FROM p")), told("7", "FETCH 1"));
    // One that nothing has run of yet sees the state of its first FETCH.
    let bytes = [open("q", "SELECT 8"), sync()].concat();
    assert_eq!(rows(&bytes), told("", ""));
    assert_eq!(rows(&query("FETCH ALL FROM q")), told("8", "FETCH 1"));
    assert_eq!(rows(&query("FETCH q")), told("", "FETCH 0"));
    assert_eq!(rows(&query("CLOSE q")), told("", "CLOSE CURSOR"));
    let again = [open("q", "SELECT 9"), execute("q", 0), sync()].concat();
    assert_eq!(rows(&again), told("9", "SELECT 1"));
    assert_eq!(rows(&query("FETCH PRIOR FROM p")), told("", "55000"));
    assert_eq!(rows(&query("ROLLBACK; BEGIN; FETCH p")), told("", "ROLLBACK"));
    assert_eq!(rows(&query("ROLLBACK")), told("", "ROLLBACK"));
    assert_eq!(rows(&query("FETCH p")), told("", "34000"));
}

#[test]
fn cursors_of_declare_are_run_and_closed_as_portals() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("BEGIN; DECLARE c CURSOR FOR SELECT * FROM generate_series(1, 5)");
    assert_eq!(raw.kinds(&[describe('P', "c"), execute("c", 2), sync()].concat()), "TDDsZT");
    assert_eq!(raw.value("FETCH 1 FROM c"), "3");
    raw.send(&[execute("c", 0), execute("c", 0), sync()].concat());
    let replies = raw.until('Z');
    let kinds: String = replies.iter().map(|reply| reply.kind).collect();
    assert_eq!(kinds, "DDCCZ");
    assert_eq!([replies[2].text(), replies[3].text()], ["SELECT 2", "SELECT 0"]);
    // One name space, whichever way a portal was made.
    let taken = [parse("", "SELECT 1"), bind("c", "", &[]), sync()].concat();
    assert_eq!(raw.kinds(&taken), "1EZE");
    raw.query("ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT 1");
    assert_eq!(raw.kinds(&[message('C', b"Pc\0"), message('C', b"Pnone\0"), sync()].concat()), "33ZT");
    assert_eq!(raw.value("SELECT count(*) FROM pg_cursors"), "0");
    assert_eq!(raw.kinds(&[execute("c", 0), sync()].concat()), "EZE");
}

#[test]
fn portals_with_a_name_are_among_the_cursors() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("BEGIN; DECLARE c CURSOR FOR SELECT 1");
    let run = [parse("", "SELECT 2 AS two"), bind("p", "", &[]), execute("p", 1), sync()].concat();
    assert_eq!(raw.kinds(&run), "12DsZT");
    let listed = "SELECT string_agg(name || ' ' || is_holdable || ' ' || is_binary, ', ' ORDER BY name) FROM pg_cursors";
    assert_eq!(raw.value(listed), "c false false, p false false");
    assert_eq!(raw.value("SELECT statement FROM pg_cursors WHERE name = 'p'"), "SELECT 2 AS two");
    assert_eq!(raw.value("SELECT creation_time <= clock_timestamp() FROM pg_cursors WHERE name = 'p'"), "t");
    raw.query("CLOSE p");
    assert_eq!(raw.value(listed), "c false false");
    raw.query("COMMIT; BEGIN");
    assert_eq!(raw.value("SELECT count(*) FROM pg_cursors"), "0");
}

#[test]
fn records_in_binary_form_name_the_types_of_their_fields() {
    let world = World::new();
    let mut raw = world.connect();
    let sql = "SELECT ROW(1::oid, 'a'::varchar, NULL::date, 'x', ROW(2::smallint))";
    // One format for all columns of the result: binary.
    let mut body = b"\0\0\0\0\0\0".to_vec();
    body.extend_from_slice(&[0, 1, 0, 1]);
    raw.send(&[parse("", sql), message('B', &body), execute("", 0), sync()].concat());
    let replies = raw.until('Z');
    let row = &replies.iter().find(|reply| reply.kind == 'D').unwrap().body[6..];
    let number = |at: usize| i32::from_be_bytes(row[at..at + 4].try_into().unwrap());
    let (mut at, mut types) = (4, Vec::new());
    for _ in 0..number(0) {
        types.push(number(at));
        at += 8 + usize::try_from(number(at + 4)).unwrap_or(0);
    }
    // oid, varchar, date, unknown, record: as PostgreSQL numbers them
    assert_eq!(types, [26, 1043, 1082, 705, 2249]);
}

#[test]
fn an_error_is_told_before_the_sync() {
    let world = World::new();
    let mut raw = world.connect();
    raw.send(&[parse("", "SELEC"), message('H', &[])].concat());
    assert_eq!(raw.until('E').pop().unwrap().field('C').as_deref(), Some("42601"));
    assert_eq!(raw.kinds(&sync()), "ZI");
}

#[test]
fn a_query_that_has_ended_has_no_more_rows_and_a_change_is_not_run_again() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer); BEGIN");
    let twice = |sql: &str, rows: u32| {
        [parse("", sql), bind("", "", &[]), execute("", rows), execute("", rows), sync()].concat()
    };
    assert_eq!(raw.kinds(&twice("SELECT 1", 0)), "12DCCZT");
    assert_eq!(raw.kinds(&twice("SELECT 1", 2)), "12DCCZT");
    assert_eq!(raw.kinds(&twice("INSERT INTO t VALUES (1)", 0)), "12CEZE");
}

#[test]
fn bytes_that_are_no_text_are_named() {
    let world = World::new();
    let mut raw = world.connect();
    let mut sends = |bytes: &[u8]| {
        raw.send(bytes);
        let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E').unwrap();
        (error.field('C').unwrap(), error.field('M').unwrap())
    };
    let expected =
        |bytes: &str| ("22021".to_owned(), format!("invalid byte sequence for encoding \"UTF8\": {bytes}"));
    assert_eq!(sends(&message('Q', b"SELECT '\xe2\x28'\0")), expected("0xe2 0x28 0x27"));
    let mut bytes = parse("", "SELECT $1::text");
    bytes.extend(message('B', b"\0\0\0\0\0\x01\0\0\0\x02a\0\0\0"));
    bytes.extend(sync());
    assert_eq!(sends(&bytes), expected("0x00"));
}

#[test]
fn after_an_error_everything_up_to_sync_is_skipped() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    let mut bytes = Vec::new();
    for sql in ["INSERT INTO t VALUES (1)", "SELECT 1/0", "INSERT INTO t VALUES (2)"] {
        bytes.extend(parse("", sql));
        bytes.extend(bind("", "", &[]));
        bytes.extend(execute("", 0));
    }
    bytes.extend(sync());
    // The first insert is undone with the rest of its series.
    assert_eq!(raw.kinds(&bytes), "12C12EZI");
    assert_eq!(raw.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let world = World::new();
    let mut raw = world.connect();
    let mut bytes = parse("s", "SELECT $1::text");
    for n in 0..1_000 {
        bytes.extend(bind("", "s", &[Some(&n.to_string())]));
        bytes.extend(execute("", 0));
        bytes.extend(sync());
    }
    let mut socket = raw.socket.try_clone().unwrap();
    let sender = std::thread::Builder::new()
        .spawn(move || std::io::Write::write_all(&mut socket, &bytes).unwrap())
        .unwrap();
    for n in 0..1_000 {
        let replies = raw.until('Z');
        let row = replies.iter().find(|reply| reply.kind == 'D').unwrap();
        assert_eq!(&row.body[6..], n.to_string().as_bytes());
    }
    sender.join().unwrap();
}

#[test]
fn names_are_kept_and_forgotten_as_they_should() {
    let world = World::new();
    let mut raw = world.connect();
    let with_sync = |mut bytes: Vec<u8>| {
        bytes.extend(sync());
        bytes
    };
    assert_eq!(raw.kinds(&with_sync(parse("s", "SELECT 1"))), "1ZI");
    assert_eq!(raw.kinds(&with_sync(parse("s", "SELECT 1"))), "EZI");
    assert_eq!(raw.kinds(&with_sync(message('C', b"Ss\0"))), "3ZI");
    assert_eq!(raw.kinds(&with_sync(message('C', b"Ss\0"))), "3ZI");
    assert_eq!(raw.kinds(&with_sync(bind("", "s", &[]))), "EZI");
    assert_eq!(raw.kinds(&with_sync(parse("", "SELECT 1"))), "1ZI");
    raw.query("SELECT 1");
    assert_eq!(raw.kinds(&with_sync(bind("", "", &[]))), "EZI");
    assert_eq!(raw.kinds(&with_sync(execute("nothing", 0))), "EZI");
    assert_eq!(raw.kinds(&with_sync(describe('P', "nothing"))), "EZI");
    assert_eq!(raw.kinds(&with_sync(parse("", "SELECT 1; SELECT 2"))), "EZI");
    assert_eq!(raw.kinds(&with_sync(parse("", ""))), "1ZI");
    let mut empty = bind("", "", &[]);
    empty.extend(describe('P', ""));
    empty.extend(execute("", 0));
    assert_eq!(raw.kinds(&with_sync(empty)), "2nIZI");
}

#[test]
fn wrong_numbers_of_parameters_and_bad_values_are_errors() {
    let world = World::new();
    let mut raw = world.connect();
    let code = |raw: &mut super::raw::Raw, values: &[Option<&str>]| {
        let mut bytes = parse("", "SELECT $1::integer");
        bytes.extend(bind("", "", values));
        bytes.extend(sync());
        raw.send(&bytes);
        let replies = raw.until('Z');
        replies.iter().find(|reply| reply.kind == 'E').and_then(|error| error.field('C')).unwrap_or_default()
    };
    assert_eq!(code(&mut raw, &[]), "08P01");
    assert_eq!(code(&mut raw, &[Some("1"), Some("2")]), "08P01");
    assert_eq!(code(&mut raw, &[Some("x")]), "22P02");
    assert_eq!(code(&mut raw, &[None]), "");
}

/// A Bind of the unnamed statement with such format codes and values in them, and formats of the result.
fn bind_formats(formats: &[u16], values: &[&[u8]], results: &[u16]) -> Vec<u8> {
    let mut body = vec![0, 0];
    let numbers = |body: &mut Vec<u8>, numbers: &[u16]| {
        body.extend((numbers.len() as u16).to_be_bytes());
        body.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    };
    numbers(&mut body, formats);
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        body.extend((value.len() as i32).to_be_bytes());
        body.extend_from_slice(value);
    }
    numbers(&mut body, results);
    message('B', &body)
}

#[test]
fn flaws_of_binary_values_and_formats_have_the_codes_of_postgresql() {
    let world = World::new();
    let mut raw = world.connect();
    let mut error = |sql: &str, formats: &[u16], value: &[u8], results: &[u16]| {
        raw.send(
            &[parse("", sql), bind_formats(formats, &[value], results), execute("", 0), sync()].concat(),
        );
        let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E');
        let error = error.unwrap_or_else(|| panic!("{sql} {formats:?} {value:?} {results:?}"));
        (error.field('C').unwrap(), error.field('M').unwrap())
    };
    for (ty, value, code, text) in [
        ("integer", &[0, 0, 1][..], "08P01", "insufficient data left in message"),
        ("integer", &[0, 0, 0, 0, 1], "22P03", "incorrect binary data format in bind parameter 1"),
        ("boolean", &[], "08P01", "no data left in message"),
        ("uuid", &[1, 2, 3], "08P01", "insufficient data left in message"),
        (
            "integer[]",
            &[0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 23],
            "54000",
            "number of array dimensions (9) exceeds the maximum allowed (6)",
        ),
    ] {
        let found = error(&format!("SELECT $1::{ty}"), &[1], value, &[]);
        assert_eq!(found, (code.to_owned(), text.to_owned()), "{ty} {value:?}");
    }
    for (formats, results) in [(&[7][..], &[][..]), (&[], &[7]), (&[256], &[])] {
        let code = formats.first().or(results.first()).unwrap();
        let expected = ("22023".to_owned(), format!("unsupported format code: {code}"));
        assert_eq!(error("SELECT $1::integer", formats, b"1", results), expected);
    }
    // Formats of nothing do not matter.
    let nothing = [parse("", "SELECT 1"), bind_formats(&[7], &[], &[]), execute("", 0), sync()].concat();
    assert_eq!(raw.kinds(&nothing), "12DCZI");
}

#[test]
fn the_tag_of_a_portion_counts_its_rows() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer); BEGIN");
    let mut tags = |sql: &str, portions: &[u32]| {
        let mut bytes = [parse("", sql), bind("", "", &[])].concat();
        portions.iter().for_each(|rows| bytes.extend(execute("", *rows)));
        bytes.extend(sync());
        raw.send(&bytes);
        let replies = raw.until('Z');
        let told = replies.iter().filter(|reply| matches!(reply.kind, 'C' | 's'));
        told.map(|reply| if reply.kind == 's' { "-".to_owned() } else { reply.text() }).collect::<Vec<_>>()
    };
    let insert = "INSERT INTO t VALUES (1), (2), (3), (4), (5) RETURNING a";
    assert_eq!(tags(insert, &[2, 2, 2]), ["-", "-", "INSERT 0 1"]);
    assert_eq!(tags("UPDATE t SET a = a + 1 RETURNING a", &[2, 0]), ["-", "UPDATE 3"]);
    assert_eq!(tags("DELETE FROM t RETURNING a", &[5, 5]), ["-", "DELETE 0"]);
    assert_eq!(tags(insert, &[9]), ["INSERT 0 5"]);
}

#[test]
fn a_binary_cursor_s_rows_are_binary_unless_bind_says_otherwise() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("BEGIN; DECLARE c BINARY CURSOR FOR SELECT g, 'x'::text FROM generate_series(1, 3) g");
    let replies = raw.query("FETCH 1 FROM c; SELECT 1::bigint");
    let rows: Vec<_> =
        replies.iter().filter(|reply| reply.kind == 'D').map(|reply| &reply.body[..]).collect();
    assert_eq!(rows[0], b"\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01x");
    assert_eq!(rows[1], b"\0\x01\0\0\0\x011");
    assert_eq!(replies[0].body.last(), Some(&1), "the format in the description");
    raw.send(&[parse("", "FETCH 1 FROM c"), bind("", "", &[]), execute("", 0), sync()].concat());
    let replies = raw.until('Z');
    let row = replies.iter().find(|reply| reply.kind == 'D').unwrap();
    assert_eq!(&row.body[..], b"\0\x02\0\0\0\x012\0\0\0\x01x");
    assert_eq!(raw.value("SELECT is_binary FROM pg_cursors"), "t");
}

#[test]
fn what_names_a_cursor_or_a_prepared_statement_has_the_columns_of_the_one_there_is() {
    let world = World::new();
    let mut raw = world.connect();
    let again =
        |statement: &str| [bind("", statement, &[]), describe('P', ""), execute("", 0), sync()].concat();
    let columns = |raw: &mut super::raw::Raw<std::net::TcpStream>, bytes: &[u8]| {
        raw.send(bytes);
        let replies = raw.until('Z');
        let count = |kind: char| {
            let reply = replies.iter().find(|reply| reply.kind == kind).expect("a reply");
            u16::from_be_bytes([reply.body[0], reply.body[1]])
        };
        (count('T'), count('D'))
    };
    raw.query("BEGIN; DECLARE c CURSOR FOR SELECT 1, 2; PREPARE p AS SELECT 1, 2");
    raw.send(&[parse("f", "FETCH 1 FROM c"), parse("e", "EXECUTE p"), sync()].concat());
    raw.until('Z');
    assert_eq!(columns(&mut raw, &again("f")), (2, 2));
    assert_eq!(columns(&mut raw, &again("e")), (2, 2));
    raw.query("CLOSE c; DECLARE c CURSOR FOR SELECT 1, 2, 'x'; DEALLOCATE p; PREPARE p AS SELECT 'y'::text");
    assert_eq!(columns(&mut raw, &again("f")), (3, 3));
    assert_eq!(columns(&mut raw, &again("e")), (1, 1));
}

#[test]
fn a_failed_transaction_accepts_its_end_only() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("BEGIN");
    raw.query("SELECT 1/0");
    let mut bytes = parse("", "SELECT 1");
    bytes.extend(sync());
    assert_eq!(raw.kinds(&bytes), "EZE");
    let mut bytes = parse("", "ROLLBACK");
    bytes.extend(bind("", "", &[]));
    bytes.extend(execute("", 0));
    bytes.extend(sync());
    assert_eq!(raw.kinds(&bytes), "12CZI");
    assert_eq!(raw.kinds(&query("SELECT 1")), "TDCZI");
}

#[test]
fn a_message_that_cannot_be_read_fails_the_transaction() {
    let world = World::new();
    let mut raw = world.connect();
    for bytes in [describe('X', ""), message('C', b"X\0"), message('B', b"\0"), message('P', b"\0\xff\0\0\0")]
    {
        raw.query("BEGIN");
        assert_eq!(raw.kinds(&[bytes, sync()].concat()), "EZE");
        raw.query("ROLLBACK");
    }
}

#[test]
fn statements_of_sql_and_of_the_protocol_are_the_same() {
    let world = World::new();
    let mut raw = world.connect();
    let mut bytes = parse("s", "SELECT $1::integer + 1");
    bytes.extend(sync());
    assert_eq!(raw.kinds(&bytes), "1ZI");
    assert_eq!(raw.value("EXECUTE s(41)"), "42");
    raw.query("PREPARE p(integer) AS SELECT $1 * 2");
    let run = |name: &str| [bind("", name, &[Some("21")]), execute("", 0), sync()].concat();
    assert_eq!(raw.kinds(&run("p")), "2DCZI");
    assert_eq!(raw.code("PREPARE s AS SELECT 1"), "42P05");
    let again = [parse("p", "SELECT 1"), sync()].concat();
    raw.send(&again);
    assert_eq!(raw.until('Z')[0].field('C').as_deref(), Some("42P05"));
    raw.query("DEALLOCATE s");
    assert_eq!(raw.kinds(&run("s")), "EZI");
    let close = [message('C', b"Sp\0"), sync()].concat();
    assert_eq!(raw.kinds(&close), "3ZI");
    assert_eq!(raw.code("EXECUTE p(1)"), "26000");
    assert_eq!(raw.kinds(&[parse("", "SELECT 1"), sync()].concat()), "1ZI");
    raw.query("PREPARE q AS SELECT 1; DEALLOCATE ALL");
    let unnamed = [bind("", "", &[]), execute("", 0), sync()].concat();
    // A simple query takes the unnamed statement away.
    assert_eq!(raw.kinds(&unnamed), "EZI");
    assert_eq!(raw.code("EXECUTE q"), "26000");
}

#[test]
fn the_last_statement_of_a_series_ends_it() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer PRIMARY KEY)");
    let step = |sql: &str| [parse("", sql), bind("", "", &[]), execute("", 0)].concat();
    // One statement alone, the last of several, one behind which more comes.
    assert_eq!(raw.kinds(&[step("INSERT INTO t VALUES (1)"), sync()].concat()), "12CZI");
    let two = [step("INSERT INTO t VALUES (2)"), step("INSERT INTO t VALUES (2)"), sync()].concat();
    assert_eq!(raw.kinds(&two), "12C12EZI");
    assert_eq!(raw.value("SELECT count(*) FROM t"), "1");
    let begun = [step("BEGIN"), step("INSERT INTO t VALUES (3)"), sync()].concat();
    assert_eq!(raw.kinds(&begun), "12C12CZT");
    raw.query("ROLLBACK");
    assert_eq!(raw.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn a_statement_whose_columns_have_changed_says_so_as_drivers_expect() {
    let world = World::new();
    let mut raw = world.connect();
    let with_sync = |bytes: Vec<u8>| [bytes, sync()].concat();
    raw.query("CREATE TABLE t (a integer)");
    assert_eq!(raw.kinds(&with_sync(parse("s", "SELECT * FROM t"))), "1ZI");
    let run = || [bind("", "s", &[]), execute("", 0)].concat();
    assert_eq!(raw.kinds(&with_sync(run())), "2CZI");
    world.connect().query("ALTER TABLE t ADD COLUMN b integer");
    raw.send(&with_sync(run()));
    let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E').expect("an error");
    assert_eq!(error.field('C').as_deref(), Some("0A000"));
    assert_eq!(error.field('M').as_deref(), Some("cached plan must not change result type"));
    assert_eq!(error.field('R').as_deref(), Some("RevalidateCachedQuery"));
}
