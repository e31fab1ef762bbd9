//! Commits that wait for the disk, as others see them.

use std::sync::Arc;

use verso_env::Env;
use verso_sim::Gate;

use crate::{Client, World};

const WAITING: &str =
    "SELECT state, wait_event_type, wait_event FROM pg_stat_activity WHERE wait_event_type = 'IO'";

/// A database with a table, and the gate of its disk.
fn gated() -> (World, Arc<Gate>) {
    let (env, gate) = Gate::before(Env::real());
    let world = World::within(env);
    world.connect().run("CREATE TABLE t (a integer)");
    (world, gate)
}

/// The sessions that wait for the disk.
fn waiting(client: &mut Client) -> Vec<String> {
    let mut lines = client.run(WAITING);
    lines.pop();
    lines
}

/// Looks until a session waits, at most half a minute.
fn until_one_waits(client: &mut Client) -> Vec<String> {
    let clock = Env::real().clock;
    let end = clock.monotonic_nanos() + 30_000_000_000;
    loop {
        let lines = waiting(client);
        if !lines.is_empty() || clock.monotonic_nanos() > end {
            return lines;
        }
        std::thread::yield_now();
    }
}

/// What is seen while the disk does not answer to `sql`.
fn seen_during(sql: &str) -> Vec<String> {
    let (world, gate) = gated();
    let mut observer = world.connect();
    assert!(waiting(&mut observer).is_empty());
    gate.set(true);
    std::thread::scope(|scope| {
        let mut client = world.connect();
        let running = scope.spawn(move || {
            client.run(sql);
            client
        });
        let seen = until_one_waits(&mut observer);
        gate.set(false);
        let _client = running.join().expect("it ends");
        assert!(waiting(&mut observer).is_empty(), "{sql}");
        seen
    })
}

#[test]
fn a_commit_that_waits_for_the_disk_is_seen() {
    for sql in [
        "INSERT INTO t VALUES (1)",
        "BEGIN; INSERT INTO t VALUES (1); COMMIT",
        // It waits at its end, for the commits within.
        "DO $$ BEGIN INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); COMMIT; END $$",
        "DO $$ BEGIN INSERT INTO t VALUES (1); COMMIT WRITE WAIT; END $$",
        "SET synchronous_commit = off; INSERT INTO t VALUES (1); SELECT verso_wait_durable()",
    ] {
        assert_eq!(seen_during(sql), ["active|IO|CommitFlush"], "{sql}");
    }
}

#[test]
fn a_commit_that_does_not_wait_is_not_seen() {
    let (world, gate) = gated();
    let (mut client, mut observer) = (world.connect(), world.connect());
    gate.set(true);
    client.run("SET synchronous_commit = off; INSERT INTO t VALUES (1)");
    let seen = waiting(&mut observer);
    gate.set(false);
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn a_commit_that_does_not_wait_is_answered_beside_those_that_do() {
    for (before, sql) in [
        ("SET synchronous_commit = off", "INSERT INTO t VALUES (2)"),
        ("BEGIN; INSERT INTO t VALUES (2)", "COMMIT WRITE NOWAIT BATCH"),
        ("BEGIN; INSERT INTO t VALUES (2)", "COMMIT WRITE NOWAIT IMMEDIATE"),
        ("BEGIN; INSERT INTO t VALUES (2)", "COMMIT AND CHAIN WRITE NOWAIT"),
        ("SET synchronous_commit = off", "DO $$ BEGIN INSERT INTO t VALUES (2); END $$"),
    ] {
        let (world, gate) = gated();
        let (mut first, mut client, mut observer) = (world.connect(), world.connect(), world.connect());
        first.session.defer_commits();
        client.session.defer_commits();
        client.run(before);
        gate.set(true);
        first.run("INSERT INTO t VALUES (1)");
        client.run(sql);
        let answered = (client.session.answers_first(), client.session.unsettled());
        let (seen, waits) = (observer.run("SELECT count(*) FROM t"), waiting(&mut observer));
        gate.set(false);
        assert_eq!(answered, (true, None), "{sql}");
        assert_eq!(seen[0], "0", "seen before the one before it: {sql}");
        assert_eq!(waits.len(), 1, "only the other session waits: {sql}");
        client.session.settle_answered().expect("the disk answers");
        assert_eq!(observer.run("SELECT count(*) FROM t")[0], "2", "{sql}");
        first.session.settle().expect("the disk answers");
    }
}

#[test]
fn a_session_whose_answer_is_held_back_waits_for_the_disk() {
    let (world, gate) = gated();
    let (mut client, mut observer) = (world.connect(), world.connect());
    client.session.defer_commits();
    gate.set(true);
    client.run("INSERT INTO t VALUES (1)");
    assert!(client.session.unsettled().is_some());
    let seen = waiting(&mut observer);
    gate.set(false);
    assert_eq!(seen, ["active|IO|CommitFlush"]);
    client.session.settle().expect("the disk answers");
    assert!(waiting(&mut observer).is_empty());
    let idle = "SELECT state, wait_event FROM pg_stat_activity WHERE wait_event_type = 'Client'";
    assert_eq!(observer.run(idle)[0], "idle|ClientRead");
}

#[test]
fn waits_are_counted_by_kind() {
    let (world, gate) = gated();
    let mut observer = world.connect();
    let mut client = world.connect();
    let number = client.run("SELECT pg_backend_pid()")[0].clone();
    let counted = format!("SELECT kind, waits, wait_ms > 0 FROM verso_waits WHERE session = {number}");
    assert_eq!(observer.run(&counted)[..3], ["Lock|0|f", "CommitFlush|0|f", "Admission|0|f"]);
    gate.set(true);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| client.run("INSERT INTO t VALUES (1)"));
        until_one_waits(&mut observer);
        gate.set(false);
        running.join().expect("it ends");
    });
    assert_eq!(observer.run(&counted)[1], "CommitFlush|1|t");
    let all =
        "SELECT waits >= 1, wait_ms > 0 FROM verso_waits WHERE session IS NULL AND kind = 'CommitFlush'";
    assert_eq!(observer.run(all)[0], "t|t");
}

#[test]
fn a_session_that_waits_for_a_lock_says_for_which() {
    let (world, _gate) = gated();
    let (mut holder, mut observer) = (world.connect(), world.connect());
    holder.run("CREATE TABLE u (a integer PRIMARY KEY, b integer); INSERT INTO u VALUES (1, 1)");
    for (held, wanted, event) in [
        ("LOCK TABLE u", "SELECT * FROM u", "relation"),
        ("SELECT pg_advisory_xact_lock(7)", "SELECT pg_advisory_xact_lock(7)", "advisory"),
    ] {
        holder.run(&format!("BEGIN; {held}"));
        let mut client = world.connect();
        let number = client.run("SELECT pg_backend_pid()")[0].clone();
        std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                client.run(wanted);
                client
            });
            let seen = "SELECT state, wait_event FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
            let end = Env::real().clock.monotonic_nanos() + 30_000_000_000;
            let found = loop {
                let lines = observer.run(seen);
                if lines.len() > 1 || Env::real().clock.monotonic_nanos() > end {
                    break lines[0].clone();
                }
                std::thread::yield_now();
            };
            assert_eq!(found, format!("active|{event}"));
            holder.run("COMMIT");
            let _client = running.join().expect("it ends");
            let waits = format!("FROM verso_waits WHERE session = {number} AND kind = 'Lock'");
            assert_eq!(observer.run(&format!("SELECT waits, wait_ms > 0 {waits}"))[0], "1|t");
        });
    }
    let rows = "SELECT tup_inserted > 0, deadlocks, sessions >= 4 FROM pg_stat_database";
    assert_eq!(observer.run(rows)[0], "t|0|t");
    let table = "SELECT n_tup_ins, n_tup_upd, n_tup_del FROM pg_stat_user_tables WHERE relname = 'u'";
    assert_eq!(observer.run(table)[0], "1|0|0");
    observer.run("UPDATE u SET b = 2; DELETE FROM u");
    assert_eq!(observer.run(table)[0], "1|1|1");
    assert_eq!(
        observer.run("SELECT state FROM verso_activity WHERE wait_event IS NULL LIMIT 1")[0],
        "active"
    );
}

#[test]
fn rows_that_are_read_and_temporary_files_are_counted() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE r (a int PRIMARY KEY, b text); INSERT INTO r SELECT g, repeat('x', 100) FROM generate_series(1, 20000) g");
    let mut counts = || -> Vec<i64> {
        let line =
            client.run("SELECT tup_returned, tup_fetched, temp_files, temp_bytes FROM pg_stat_database");
        line[0].split('|').map(|count| count.parse().expect("a number")).collect()
    };
    let before = counts();
    let mut other = world.connect();
    other.run("SELECT sum(a) FROM r");
    let scanned = counts();
    assert!(scanned[0] - before[0] >= 20_000, "{before:?} {scanned:?}");
    other.run("SELECT b FROM r WHERE a = 7; SELECT b FROM r WHERE a = 8");
    let fetched = counts();
    assert!(fetched[1] - scanned[1] >= 2, "{scanned:?} {fetched:?}");
    assert!(fetched[0] - scanned[0] < 20_000, "{scanned:?} {fetched:?}");
    assert_eq!(fetched[2..], before[2..]);
    other.run("SET work_mem = '64kB'; SELECT a FROM r ORDER BY b, a DESC");
    let spilled = counts();
    assert!(spilled[2] > fetched[2] && spilled[3] > fetched[3], "{fetched:?} {spilled:?}");
}
