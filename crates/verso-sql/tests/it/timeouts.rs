//! Timeouts, cancel, terminate, and settings that roll back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::World;

/// Runs until it is ended.
const FOREVER: &str = "DO $$ BEGIN LOOP NULL; END LOOP; END $$";

#[test]
fn statements_end_when_they_take_too_long() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET statement_timeout = '30ms'");
    let late = ("57014", "canceling statement due to statement timeout".to_string());
    assert_eq!(client.fails(FOREVER), late);
    assert_eq!(client.value("SELECT 1"), "1");
    client.run("BEGIN");
    assert_eq!(client.fails(FOREVER).0, "57014");
    assert_eq!(client.fails("SELECT 1").0, "25P02");
    client.run("ROLLBACK; SET statement_timeout = 0");
    assert_eq!(client.value("SHOW statement_timeout"), "0");
}

#[test]
fn a_statement_is_cancelled_from_another_thread() {
    let world = World::new();
    let mut client = world.connect();
    let handle = client.session.cancel_handle();
    handle.cancel(); // nothing runs, nothing happens
    assert_eq!(client.value("SELECT 1"), "1");
    let done = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        let flag = Arc::clone(&done);
        scope.spawn(move || {
            while !flag.load(Ordering::Relaxed) {
                handle.cancel();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let ended = client.fails(FOREVER);
        done.store(true, Ordering::Relaxed);
        assert_eq!(ended, ("57014", "canceling statement due to user request".to_string()));
    });
}

#[test]
fn a_wait_for_a_lock_ends_by_timeout_and_by_cancel() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    one.run("BEGIN; UPDATE t SET a = 2");
    two.run("SET lock_timeout = '20ms'");
    let late = ("55P03", "canceling statement due to lock timeout".to_string());
    assert_eq!(two.fails("UPDATE t SET a = 3"), late);
    two.run("SET lock_timeout = 0; SET statement_timeout = '30ms'");
    assert_eq!(two.fails("UPDATE t SET a = 3").0, "57014");
    one.run("COMMIT");
    two.run("UPDATE t SET a = 3");
}

#[test]
fn idle_and_long_transactions_end_their_session() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int)");
    for (setting, code) in
        [("idle_in_transaction_session_timeout", "25P03"), ("transaction_timeout", "25P04")]
    {
        let mut client = world.connect();
        let told = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&told);
        client.session.on_terminate(Arc::new(move || flag.store(true, Ordering::Relaxed)));
        client.run(&format!("SET {setting} = '20ms'"));
        client.run("BEGIN; INSERT INTO t VALUES (1)");
        while !told.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(client.fails("SELECT 1").0, code, "{setting}");
        assert_eq!(client.fails("COMMIT").0, code, "{setting}");
        assert_eq!(two.value("SELECT count(*) FROM t"), "0");
        two.run("TRUNCATE t");
    }
}

#[test]
fn a_session_can_be_ended_by_others() {
    let world = World::new();
    let (mut one, two) = (world.connect(), world.connect());
    assert!(world.instance.terminate_session(one.session.id()));
    assert_eq!(one.fails("SELECT 1").0, "57P01");
    let number = two.session.id();
    drop(two);
    assert!(!world.instance.terminate_session(number));
}

#[test]
fn settings_roll_back_with_their_transaction() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET work_mem = '1MB'");
    client.run("BEGIN; SET work_mem = '2MB'; ROLLBACK");
    assert_eq!(client.value("SHOW work_mem"), "1024kB");
    client.run("BEGIN; SET work_mem = '2MB'; SET LOCAL work_mem = '3MB'");
    assert_eq!(client.value("SHOW work_mem"), "3072kB");
    client.run("COMMIT");
    assert_eq!(client.value("SHOW work_mem"), "2048kB");
    client.run("BEGIN; SET work_mem = '4MB'; SAVEPOINT s; SET work_mem = '5MB'; ROLLBACK TO s");
    assert_eq!(client.value("SHOW work_mem"), "4096kB");
    client.run("COMMIT");
    assert_eq!(client.value("SHOW work_mem"), "4096kB");
    client.run("BEGIN; RESET work_mem; ROLLBACK");
    assert_eq!(client.value("SHOW work_mem"), "4096kB");
    client.run("RESET ALL");
    assert_eq!(client.value("SHOW work_mem"), "262144kB");
}
