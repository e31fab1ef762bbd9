//! COPY through the protocol.

use super::World;
use super::raw::{message, query};

#[test]
fn rows_go_in_and_come_out() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer, b text DEFAULT 'none')");
    raw.send(&query("COPY t FROM STDIN"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    // Pieces are cut anywhere.
    raw.send(&message('d', b"1\tone\n2\tt"));
    raw.send(&message('d', b"wo\n"));
    assert_eq!(raw.kinds(&message('c', b"")), "CZI");
    raw.send(&query("COPY t (a) FROM STDIN WITH (FORMAT csv, HEADER)"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    raw.send(&message('d', b"a\n3\n"));
    assert_eq!(raw.kinds(&message('c', b"")), "CZI");
    let replies = raw.query("COPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT csv)");
    let kinds: String = replies.iter().map(|reply| reply.kind).collect();
    assert_eq!(kinds, "HdddcCZ");
    assert_eq!(replies[3].body, b"3,none\n");
    assert_eq!(replies[5].text(), "COPY 3");
}

#[test]
fn a_copy_that_fails_leaves_nothing_and_the_session_in_step() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    raw.send(&query("COPY t FROM STDIN"));
    raw.send(&message('d', b"1\nx\n"));
    raw.send(&message('d', b"2\n"));
    let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E');
    // The server may notice before the end of the data comes; the rest is passed over.
    raw.send(&message('c', b""));
    let error = error.unwrap_or_else(|| raw.until('Z').into_iter().find(|reply| reply.kind == 'E').unwrap());
    assert_eq!(error.field('C').as_deref(), Some("22P02"));
    assert_eq!(error.field('W').as_deref(), Some("COPY t, line 2, column a: \"x\""));
    assert_eq!(raw.value("SELECT count(*) FROM t"), "0");
    raw.send(&query("COPY t FROM STDIN"));
    raw.send(&message('d', b"1\n"));
    raw.send(&message('f', b"changed my mind\0"));
    let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E').unwrap();
    assert_eq!(error.field('C').as_deref(), Some("57014"));
    assert_eq!(error.field('M').as_deref(), Some("COPY from stdin failed: changed my mind"));
    assert_eq!(raw.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn files_are_for_superusers_only() {
    let world = World::prepared(
        |database| {
            database.connect().unwrap().execute("CREATE USER guest").unwrap();
        },
        |_| {},
    );
    let path = world.directory.path().join("rows.txt");
    let mut owner = world.connect();
    let sql = format!("COPY (SELECT * FROM generate_series(1, 3)) TO '{}'", path.display());
    assert_eq!(owner.kinds(&query(&sql)), "CZI");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n3\n");
    owner.query("CREATE TABLE t (a integer)");
    assert_eq!(owner.kinds(&query(&format!("COPY t FROM '{}'", path.display()))), "CZI");
    assert_eq!(owner.value("SELECT sum(a) FROM t"), "6");
    assert_eq!(owner.code("COPY t FROM '/nowhere/at/all'"), "58P01");
    let parameters = [("user", "guest"), ("database", "verso")];
    let mut guest = super::raw::Raw::login_with(world.address, 3 << 16, &parameters);
    assert_eq!(guest.code(&sql), "42501");
    assert_eq!(guest.code("CREATE ROLE other"), "42501");
}
