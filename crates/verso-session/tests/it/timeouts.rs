//! Timeouts, cancel, terminate, and settings that roll back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::{Clock, Env};
use verso_session::{CommandTag, Notice, OutputColumn, SqlError, StatementSink};
use verso_types::Batch;

use crate::{Client, World};

/// Runs until it is ended.
const FOREVER: &str = "DO $$ BEGIN LOOP NULL; END LOOP; END $$";

/// A clock whose hand the test moves: however slow the machine, nothing is late by itself.
struct Hand {
    real: Arc<dyn Clock>,
    nanos: AtomicU64,
}

impl Clock for Hand {
    fn monotonic_nanos(&self) -> u64 {
        self.nanos.load(Ordering::SeqCst)
    }

    fn unix_micros(&self) -> i64 {
        self.real.unix_micros()
    }

    fn sleep(&self, duration: Duration) {
        self.real.sleep(duration);
    }
}

impl Hand {
    /// A database whose time is the hand's.
    fn world() -> (World, Arc<Hand>) {
        let real = Env::real();
        let hand = Arc::new(Hand { real: Arc::clone(&real.clock), nanos: AtomicU64::new(1) });
        (World::within(Env { clock: Arc::clone(&hand) as _, ..real }), hand)
    }

    fn forward(&self, by: Duration) {
        self.nanos.fetch_add(by.as_nanos() as u64, Ordering::SeqCst);
    }

    /// Time goes on while `work` is done, and not behind it.
    fn runs<T>(&self, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::SeqCst) {
                    self.forward(Duration::from_millis(100));
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            let result = work();
            done.store(true, Ordering::SeqCst);
            result
        })
    }

    /// Goes on by `by`, and comes back when the timer has looked at the sessions there are.
    fn passes(&self, world: &World, by: Duration) {
        // Sessions are looked at in their order, so when the youngest hears of its end all have been.
        let mut last = world.connect();
        let told = told_of_its_end(&mut last);
        last.run("SET idle_in_transaction_session_timeout = '1ms'; BEGIN");
        self.forward(by);
        while !told.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    }
}

/// Set when the session hears that it is to end.
fn told_of_its_end(client: &mut Client) -> Arc<AtomicBool> {
    let told = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&told);
    client.session.on_terminate(Arc::new(move || flag.store(true, Ordering::SeqCst)));
    told
}

#[test]
fn statements_end_when_they_take_too_long() {
    let (world, hand) = Hand::world();
    let mut client = world.connect();
    let late = ("57014", "canceling statement due to statement timeout".to_string());
    client.run("SET statement_timeout = '1s'");
    assert_eq!(hand.runs(|| client.fails(FOREVER)), late);
    assert_eq!(client.value("SELECT 1"), "1");
    client.run("BEGIN");
    assert_eq!(hand.runs(|| client.fails(FOREVER)).0, "57014");
    assert_eq!(client.fails("SELECT 1").0, "25P02");
    client.run("ROLLBACK; SET statement_timeout = 0");
    assert_eq!(client.value("SHOW statement_timeout"), "0");
}

#[test]
fn a_recursive_query_without_end_ends_when_it_takes_too_long() {
    let (world, hand) = Hand::world();
    let mut client = world.connect();
    client.run("SET statement_timeout = '1s'");
    for step in
        ["SELECT n FROM r", "SELECT n FROM r WHERE n < 2", "(WITH s AS (SELECT * FROM r) SELECT n FROM s)"]
    {
        let sql = format!("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL {step}) SELECT count(*) FROM r");
        assert_eq!(hand.runs(|| client.fails(&sql)).0, "57014", "{sql}");
    }
}

#[test]
fn a_sleep_ends_with_its_time_or_with_a_timeout() {
    let world = World::new();
    let mut client = world.connect();
    assert_eq!(client.value("SELECT pg_sleep(0.001) IS NULL"), "f");
    client.run("SELECT pg_sleep(-1), pg_sleep('NaN'), pg_sleep_for('1 ms'), pg_sleep_until('-infinity')");
    client.run("SET statement_timeout = '20ms'");
    let for_ever = ["pg_sleep('infinity')", "pg_sleep_for('1 year')", "pg_sleep_until('infinity')"];
    for call in for_ever {
        assert_eq!(client.fails(&format!("SELECT {call}")).0, "57014");
    }
}

/// The statements that take a setting back still ran under it: what they left would hit others later.
#[test]
fn a_timeout_that_is_taken_back_ends_nothing() {
    let (world, hand) = Hand::world();
    let mut client = world.connect();
    let timeouts = ["statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"];
    for (set, take_back) in [("", "RESET ALL"), ("BEGIN; ", "ROLLBACK"), ("", "DISCARD ALL")] {
        for timeout in timeouts {
            client.run(&format!("{set}SET {timeout} = '300ms'"));
            client.run(take_back);
            client.run("BEGIN");
            hand.passes(&world, Duration::from_millis(400));
            client.run("SELECT count(*) FROM pg_class");
            client.run("COMMIT");
        }
    }
    for set in ["SET transaction_timeout = 0", "RESET ALL"] {
        client.run(&format!("SET transaction_timeout = '300ms'; BEGIN; {set}"));
        hand.passes(&world, Duration::from_millis(400));
        client.run("COMMIT; RESET ALL");
    }
}

/// Somebody ends the session while its statement is at its last step: there is nothing left to cancel.
#[test]
fn a_session_ended_as_its_statement_ends_gives_up_its_transaction_at_once() {
    struct Last<'w>(&'w World, u64);
    impl StatementSink for Last<'_> {
        fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
            Ok(())
        }
        fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
            assert!(self.0.instance.terminate_session(self.1));
            Ok(())
        }
        fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
            Ok(())
        }
        fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
            Ok(())
        }
    }
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int PRIMARY KEY)");
    let told = told_of_its_end(&mut one);
    let id = one.session.id();
    one.run("BEGIN; INSERT INTO t VALUES (1)");
    let _ = one.session.execute("SELECT 1", &[], &mut Last(&world, id));
    assert!(told.load(Ordering::SeqCst));
    two.run("INSERT INTO t VALUES (1)");
    assert_eq!(one.fails("COMMIT").0, "57P01");
}

/// Who is told of the session's end may know the session in turn, as a server does.
#[test]
fn a_session_that_has_gone_keeps_nothing_alive() {
    let world = World::new();
    let mut client = world.connect();
    let (kept, handle) = (Arc::new(()), client.session.cancel_handle());
    let told = Arc::clone(&kept);
    client.session.on_terminate(Arc::new(move || drop(Arc::clone(&told))));
    drop(client);
    assert_eq!(Arc::strong_count(&kept), 1);
    handle.cancel();
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
    let (world, hand) = Hand::world();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    one.run("BEGIN; UPDATE t SET a = 2");
    two.run("SET lock_timeout = '20ms'");
    let late = ("55P03", "canceling statement due to lock timeout".to_string());
    assert_eq!(hand.runs(|| two.fails("UPDATE t SET a = 3")), late);
    two.run("SET lock_timeout = 0; SET statement_timeout = '1s'");
    assert_eq!(hand.runs(|| two.fails("UPDATE t SET a = 3")).0, "57014");
    two.run("SET statement_timeout = 0");
    one.run("COMMIT");
    two.run("UPDATE t SET a = 3");
}

#[test]
fn idle_and_long_transactions_end_their_session() {
    let (world, hand) = Hand::world();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int)");
    for (setting, code) in
        [("idle_in_transaction_session_timeout", "25P03"), ("transaction_timeout", "25P04")]
    {
        let mut client = world.connect();
        let told = told_of_its_end(&mut client);
        client.run(&format!("SET {setting} = '1s'; BEGIN; INSERT INTO t VALUES (1)"));
        hand.forward(Duration::from_secs(2));
        while !told.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        assert_eq!(client.fails("SELECT 1").0, code, "{setting}");
        assert_eq!(client.fails("COMMIT").0, code, "{setting}");
        assert_eq!(two.value("SELECT count(*) FROM t"), "0");
        two.run("TRUNCATE t");
    }
}

#[test]
fn each_transaction_of_a_procedure_has_its_own_timeout() {
    let (world, hand) = Hand::world();
    let mut client = world.connect();
    client.run("SET transaction_timeout = '1000000s'");
    let works = "PERFORM count(*) FROM generate_series(1, 100000)";
    let commits = format!("DO $$ BEGIN FOR i IN 1..100 LOOP {works}; COMMIT; END LOOP; END $$");
    let start = hand.nanos.load(Ordering::SeqCst);
    hand.runs(|| client.run(&commits));
    let took = hand.nanos.load(Ordering::SeqCst) - start;
    client.run(&format!("SET transaction_timeout = '{}ms'", took / 1_000_000 / 3));
    hand.runs(|| client.run(&commits));
    let long = commits.replace("COMMIT; ", "");
    assert_eq!(hand.runs(|| client.fails(&long)).0, "25P04");
}

#[test]
fn a_handler_that_catches_a_cancel_goes_on() {
    let (world, hand) = Hand::world();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a text); SET statement_timeout = '1s'");
    let caught = "DO $$ BEGIN
        BEGIN LOOP NULL; END LOOP; EXCEPTION WHEN query_canceled THEN INSERT INTO t VALUES (SQLERRM); END;
        FOR i IN 1..1000 LOOP INSERT INTO t VALUES ('after'); END LOOP;
    END $$";
    hand.runs(|| client.run(caught));
    assert_eq!(client.value("SELECT count(*) FROM t"), "1001");
    let told = "SELECT a FROM t WHERE a <> 'after'";
    assert_eq!(client.value(told), "canceling statement due to statement timeout");
    // What is told again is told as it was.
    let again = "DO $$ BEGIN LOOP NULL; END LOOP; EXCEPTION WHEN query_canceled THEN RAISE; END $$";
    let late = ("57014", "canceling statement due to statement timeout".to_string());
    assert_eq!(hand.runs(|| client.fails(again)), late);
    // What ends the session is caught by none.
    client.run("SET statement_timeout = 0; SET transaction_timeout = '1s'");
    let all = "DO $$ BEGIN LOOP BEGIN LOOP NULL; END LOOP;
        EXCEPTION WHEN query_canceled OR OTHERS THEN NULL; END; END LOOP; END $$";
    assert_eq!(hand.runs(|| client.fails(all)).0, "25P04");
}

#[test]
fn a_session_that_idles_outside_of_a_transaction_ends() {
    let (world, hand) = Hand::world();
    let mut busy = world.connect();
    busy.run("SET idle_session_timeout = '1s'; BEGIN");
    let heard = told_of_its_end(&mut busy);
    let mut client = world.connect();
    let told = told_of_its_end(&mut client);
    client.run("SET idle_session_timeout = '1s'");
    assert_eq!(client.value("SHOW idle_session_timeout"), "1s");
    hand.forward(Duration::from_secs(2));
    while !told.load(Ordering::SeqCst) {
        std::thread::yield_now();
    }
    let error = client.fails("SELECT 1");
    assert_eq!(error, ("57P05", "terminating connection due to idle-session timeout".to_string()));
    // Within a transaction another setting counts.
    hand.passes(&world, Duration::from_secs(2));
    assert!(!heard.load(Ordering::SeqCst));
    busy.run("COMMIT");
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
    assert_eq!(client.value("SHOW work_mem"), "1MB");
    client.run("BEGIN; SET work_mem = '2MB'; SET LOCAL work_mem = '3MB'");
    assert_eq!(client.value("SHOW work_mem"), "3MB");
    client.run("COMMIT");
    assert_eq!(client.value("SHOW work_mem"), "2MB");
    client.run("BEGIN; SET work_mem = '4MB'; SAVEPOINT s; SET work_mem = '5MB'; ROLLBACK TO s");
    assert_eq!(client.value("SHOW work_mem"), "4MB");
    client.run("COMMIT");
    assert_eq!(client.value("SHOW work_mem"), "4MB");
    client.run("BEGIN; RESET work_mem; ROLLBACK");
    assert_eq!(client.value("SHOW work_mem"), "4MB");
    client.run("RESET ALL");
    assert_eq!(client.value("SHOW work_mem"), "256MB");
}

/// Reading the text of a long value takes seconds, in one step of an expression.
#[test]
fn reading_a_long_value_ends_with_its_statement() {
    let (world, hand) = Hand::world();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a text); INSERT INTO t SELECT '[' || repeat('1,', 4000000) || '1]'");
    client.run("SET statement_timeout = '1s'");
    for text in ["SELECT a::jsonb IS NULL FROM t", "SELECT translate(a, '[]', '{}')::int[] IS NULL FROM t"] {
        let error = hand.runs(|| client.try_run(text)).expect_err(text);
        assert_eq!(error.sqlstate, "57014", "{text}: {error:?}");
        assert_eq!(error.message, "canceling statement due to statement timeout");
    }
}
