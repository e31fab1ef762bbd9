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
