//! Temporary tables of several sessions, and what is left of them.

use std::sync::Arc;

use verso_env::Env;
use verso_session::{Instance, Member, Session};
use verso_storage::{Engine, EngineOptions};

use crate::{Client, World};

#[test]
fn a_temporary_table_is_its_sessions_and_goes_with_it() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    one.run("CREATE TEMP TABLE t (a int); INSERT INTO t VALUES (10)");
    assert_eq!(one.value("SELECT a FROM t"), "10");
    assert_eq!(two.value("SELECT a FROM t"), "1");
    two.run("CREATE TEMP TABLE t (a int); INSERT INTO t VALUES (20)");
    assert_eq!((one.value("SELECT a FROM t"), two.value("SELECT a FROM t")), ("10".into(), "20".into()));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp_%'";
    assert_eq!(one.value(schemas), "2");
    let other = format!("SELECT * FROM pg_temp_{}.t", two.session.id());
    assert_eq!(one.fails(&other).0, "0A000");
    drop(two);
    assert_eq!(one.value(schemas), "1");
    assert_eq!(one.value("SELECT count(*) FROM pg_class WHERE relname = 't'"), "2");
    one.run("DROP TABLE t");
    assert_eq!(one.value("SELECT a FROM t"), "1");
}

#[test]
fn a_session_that_ends_within_a_transaction_leaves_nothing_temporary() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TEMP TABLE kept (a int)");
    one.run("BEGIN; INSERT INTO kept VALUES (1); CREATE TEMP TABLE open (a int)");
    drop(one);
    assert_eq!(two.value("SELECT count(*) FROM pg_class WHERE relname IN ('kept', 'open')"), "0");
    assert_eq!(two.value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp_%'"), "0");
}

#[test]
fn a_crash_leaves_nothing_temporary() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.verso");
    let engine = Engine::create(Env::real(), &path, EngineOptions::default()).expect("a database");
    let instance = Arc::new(Instance::create(engine, Member::alone()).expect("a catalog"));
    let mut client = Client { session: Session::new(Arc::clone(&instance)) };
    client.run("CREATE TABLE t (a int); CREATE TEMP TABLE gone (a int); INSERT INTO gone VALUES (1)");
    // The database ends before the session does.
    instance.engine.close().expect("it closes");
    drop(client);
    drop(instance);
    let engine = Engine::open(Env::real(), &path, EngineOptions::default()).expect("it opens");
    let instance = Arc::new(Instance::open(engine, Member::alone()).expect("a catalog"));
    let mut client = Client { session: Session::new(instance) };
    assert_eq!(client.value("SELECT count(*) FROM pg_class WHERE relname = 'gone'"), "0");
    assert_eq!(client.value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'pg_temp_%'"), "0");
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn a_prepared_transaction_has_nothing_temporary() {
    let world = World::new();
    let mut client = world.connect();
    client.run("BEGIN; CREATE TEMP TABLE t (a int)");
    assert_eq!(client.fails("PREPARE TRANSACTION 'x'").0, "0A000");
    assert_eq!(client.fails("SELECT * FROM t").0, "42P01");
}

/// Prepares a transaction that has changed a table and done some work, and takes it back; the refusal, if there was one.
fn prepared(client: &mut Client, table: &str, work: &str) -> String {
    client.run(&format!("BEGIN; INSERT INTO {table} VALUES (1); {work}"));
    match client.try_run("PREPARE TRANSACTION 'x'") {
        Ok(_) => drop(client.run("ROLLBACK PREPARED 'x'")),
        Err(error) => return format!("{} {}", error.sqlstate, error.message),
    }
    String::new()
}

/// What an earlier transaction did does not count, nor what was dropped.
#[test]
fn only_the_transactions_own_use_of_temporary_objects_keeps_it_from_being_prepared() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE kept (a int)");
    let mut prepares = |work: &str| prepared(&mut client, "kept", work);
    let refused = "0A000 cannot PREPARE a transaction that has operated on temporary objects";
    assert_eq!(prepares(""), "");
    assert_eq!(prepares("CREATE TEMP TABLE t (a int)"), refused);
    assert_eq!(prepares(""), "", "it was rolled back");
    assert_eq!(prepares("SAVEPOINT s; CREATE TEMP TABLE t (a int); ROLLBACK TO s"), refused);
    let mut other = world.connect();
    other.run("CREATE TEMP TABLE t (a int) ON COMMIT DELETE ROWS; CREATE TEMP SEQUENCE q; CREATE TABLE more (a int)");
    let mut prepares = |work: &str| prepared(&mut other, "more", work);
    assert_eq!(prepares(""), "", "it is there, and not used");
    for work in [
        "SELECT * FROM t",
        "INSERT INTO t VALUES (1)",
        "SELECT nextval('q')",
        "ALTER TABLE t ADD COLUMN b int",
        "DROP TABLE t",
        "DROP SEQUENCE q",
        "CREATE INDEX ON t (a)",
        "LOCK TABLE t",
    ] {
        assert_eq!(prepares(work), refused, "{work}");
    }
    assert_eq!(prepares(""), "");
    assert_eq!(prepares("CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'"), refused);
    other.run("CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'; CREATE TYPE pg_temp.e AS ENUM ('x')");
    let mut prepares = |work: &str| prepared(&mut other, "more", work);
    assert_eq!(prepares("CREATE TABLE still (a int)"), "", "they are there, and not used");
    for work in ["DROP FUNCTION pg_temp.f()", "ALTER FUNCTION pg_temp.f() STABLE", "DROP TYPE pg_temp.e"] {
        assert_eq!(prepares(work), refused, "{work}");
    }
    // Its rows still go with the commit of a transaction that uses it.
    other.run("BEGIN; INSERT INTO t VALUES (1); COMMIT");
    assert_eq!(other.value("SELECT count(*) FROM t"), "0");
}
