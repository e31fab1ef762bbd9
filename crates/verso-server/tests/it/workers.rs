//! Sessions and the threads that serve them.

use std::time::Duration;

use verso_env::Env;
use verso_sim::Gate;

use super::World;
use super::raw::{Raw, bind, execute, message, parse, query, sync};

/// Long enough that nobody waits for its end.
const LONG: &str =
    "SELECT count(*) FROM generate_series(1, 100000000) AS a(n), generate_series(1, 100000000) AS b(n)";

/// Served by one thread, as far as nobody waits.
fn one_worker() -> World {
    World::with(|config| config.worker_threads = 1)
}

/// Whether an answer comes within a moment.
fn is_answered(client: &mut Raw) -> bool {
    client.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let answered = client.socket.peek(&mut [0]).is_ok();
    client.socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    answered
}

#[test]
fn whoever_is_waited_for_is_served() {
    const WAITING: usize = 40;
    let world = one_worker();
    let mut holder = world.connect();
    holder.query("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 0)");
    holder.query("BEGIN; UPDATE t SET b = b + 1");
    let mut waiting: Vec<Raw> = (0..WAITING).map(|_| world.connect()).collect();
    waiting.iter_mut().for_each(|client| client.send(&query("UPDATE t SET b = b + 1")));
    assert_eq!(world.connect().value("SELECT 1"), "1");
    holder.query("COMMIT");
    waiting.iter_mut().for_each(|client| assert_eq!(client.until('Z').len(), 2));
    assert_eq!(holder.value("SELECT b FROM t"), (WAITING + 1).to_string());
}

#[test]
fn long_statements_keep_nobody_waiting() {
    let world = one_worker();
    let mut others: Vec<Raw> = (0..3).map(|_| world.connect()).collect();
    let mut admin = world.connect();
    others.iter_mut().for_each(|client| client.send(&query(LONG)));
    assert_eq!(admin.value("SELECT 1"), "1");
    for client in &mut others {
        let cancel = format!("SELECT pg_cancel_backend({})", client.backend);
        // Before it has begun there is nothing to cancel.
        while !is_answered(client) {
            admin.value(&cancel);
        }
        let code = client.until('E').pop().unwrap().field('C');
        assert_eq!(code.as_deref(), Some("57014"));
    }
}

#[test]
fn who_sleeps_keeps_nobody_waiting() {
    let world = one_worker();
    let mut sleepers: Vec<Raw> = (0..20).map(|_| world.connect()).collect();
    let mut admin = world.connect();
    sleepers.iter_mut().for_each(|client| client.send(&query("SELECT pg_sleep(1000)")));
    assert_eq!(admin.value("SELECT 1"), "1");
    for client in &mut sleepers {
        let cancel = format!("SELECT pg_cancel_backend({})", client.backend);
        while !is_answered(client) {
            admin.value(&cancel);
        }
        assert_eq!(client.until('E').pop().unwrap().field('C').as_deref(), Some("57014"));
    }
}

/// Messages in pieces, several at once, and a client that leaves in the middle.
#[test]
fn nothing_that_comes_is_overlooked() {
    let world = one_worker();
    let (mut pieces, mut many) = (world.connect(), world.connect());
    for byte in query("SELECT 7") {
        assert!(!is_answered_now(&pieces));
        pieces.send(&[byte]);
        std::thread::yield_now();
    }
    assert_eq!(pieces.until('Z').len(), 4);
    let series = [parse("", "SELECT $1::int"), bind("", "", &[Some("5")]), execute("", 0), sync()].concat();
    many.send(&series.repeat(500));
    for _ in 0..500 {
        many.until('Z');
    }
    // Answered although the client sends nothing more.
    many.send(&[query("SELECT 1"), message('X', &[])].concat());
    assert_eq!(many.until('Z').len(), 4);
    assert!(many.next().is_none());
    pieces.send(&query("SELECT 8")[..5]);
    drop(pieces);
    while world.server().sessions() > 0 {
        std::thread::yield_now();
    }
}

fn is_answered_now(client: &Raw) -> bool {
    client.socket.set_nonblocking(true).unwrap();
    let answered = client.socket.peek(&mut [0]).is_ok();
    client.socket.set_nonblocking(false).unwrap();
    answered
}

#[test]
fn a_commit_is_told_when_it_is_on_disk_and_keeps_nobody_waiting() {
    let (env, gate) = Gate::before(Env::real());
    let world = World::within(env, |_| {}, |config| config.worker_threads = 1);
    let mut reader = world.connect();
    reader.query("CREATE TABLE t (a int PRIMARY KEY)");
    let mut writers: Vec<Raw> = (0..20).map(|_| world.connect()).collect();
    gate.set(true);
    for (i, writer) in writers.iter_mut().enumerate() {
        let sql = format!("INSERT INTO t VALUES ({i})");
        // In all ways to commit: a statement alone, several at once, the extended protocol, a block.
        match i % 4 {
            0 => writer.send(&query(&sql)),
            1 => writer.send(&query(&format!("{sql}; SELECT 1"))),
            2 => writer.send(&[parse("", &sql), bind("", "", &[]), execute("", 0), sync()].concat()),
            _ => {
                writer.send(&query(&format!("BEGIN; {sql}")));
                writer.until('Z');
                writer.send(&query("COMMIT"));
            }
        }
    }
    gate.until_somebody_waits();
    assert_eq!(reader.value("SELECT count(*) FROM t"), "0", "nobody sees what may be lost");
    for writer in &mut writers {
        assert!(!is_answered(writer), "nobody hears of what may be lost");
    }
    // Whoever says something more waits for his commit first.
    writers[0].send(&query("SELECT count(*) >= 1 FROM t"));
    assert_eq!(reader.value("SELECT 1"), "1");
    gate.set(false);
    for writer in &mut writers {
        let answers = writer.until('Z');
        assert!(answers.iter().all(|answer| answer.kind != 'E'), "{answers:?}");
    }
    let seen = writers[0].until('Z').into_iter().find(|answer| answer.kind == 'D').unwrap();
    assert_eq!(seen.body.last(), Some(&b't'));
    assert_eq!(reader.value("SELECT count(*) FROM t"), "20");
}

/// A NOWAIT commit behind one that waits for the disk: its client hears of it at once, its session's next statement waits.
#[test]
fn a_commit_that_does_not_wait_is_told_at_once_beside_those_that_do() {
    let (env, gate) = Gate::before(Env::real());
    let world = World::within(env, |_| {}, |config| config.worker_threads = 1);
    let mut reader = world.connect();
    reader.query("CREATE TABLE t (a int)");
    let insert = "INSERT INTO t VALUES (2)";
    let extended = [parse("", insert), bind("", "", &[]), execute("", 0), sync()].concat();
    for (before, sent) in [
        ("SET synchronous_commit = off", query(insert)),
        ("SET synchronous_commit = off", extended.clone()),
        ("SET synchronous_commit = off", query("INSERT INTO t VALUES (2); INSERT INTO t VALUES (3)")),
        ("SET synchronous_commit = off; BEGIN; INSERT INTO t VALUES (2)", query("COMMIT")),
        ("BEGIN; INSERT INTO t VALUES (2)", query("COMMIT WRITE NOWAIT BATCH")),
        ("BEGIN; INSERT INTO t VALUES (2)", query("COMMIT WRITE NOWAIT IMMEDIATE")),
        // The next statement is here already, and waits for the disk: the answer to the first does not.
        ("SET synchronous_commit = off", [query(insert), query("SELECT 1")].concat()),
        ("SET synchronous_commit = off", [extended, query("SELECT 1")].concat()),
    ] {
        reader.query("TRUNCATE t");
        let (mut first, mut client) = (world.connect(), world.connect());
        client.query(before);
        gate.set(true);
        first.send(&query("INSERT INTO t VALUES (1)"));
        gate.until_somebody_waits();
        client.send(&sent);
        assert_eq!(client.until('Z').last().unwrap().body, b"I");
        assert!(!is_answered(&mut first), "a commit that waits was told of");
        assert_eq!(reader.value("SELECT count(*) FROM t"), "0", "seen before the one before it");
        client.send(&query("SELECT count(*) >= 2 FROM t"));
        assert!(!is_answered(&mut client), "what comes behind it may see it");
        gate.set(false);
        first.until('Z');
        let mut seen = None;
        while seen != Some(b't') {
            seen = client
                .until('Z')
                .iter()
                .find(|answer| answer.kind == 'D')
                .and_then(|row| row.body.last().copied());
        }
    }
}

/// What such a commit leaves to its publication does not wait for its client to say more.
#[test]
fn messages_of_a_commit_that_does_not_wait_are_heard_when_it_is_published() {
    let (env, gate) = Gate::before(Env::real());
    let world = World::within(env, |_| {}, |config| config.worker_threads = 1);
    let (mut listener, mut first, mut client) = (world.connect(), world.connect(), world.connect());
    listener.query("CREATE TABLE t (a int); LISTEN a");
    client.query("SET synchronous_commit = off; BEGIN; INSERT INTO t VALUES (2); NOTIFY a, 'done'");
    gate.set(true);
    first.send(&query("INSERT INTO t VALUES (1)"));
    gate.until_somebody_waits();
    client.send(&query("COMMIT"));
    client.until('Z');
    assert!(!is_answered(&mut listener), "nobody hears of what is not published");
    gate.set(false);
    assert_eq!(listener.until('A').len(), 1);
    first.until('Z');
}

#[test]
fn a_session_that_is_ended_while_its_commit_waits_hears_of_both() {
    let (env, gate) = Gate::before(Env::real());
    let world = World::within(env, |_| {}, |config| config.worker_threads = 1);
    let (mut admin, mut writer) = (world.connect(), world.connect());
    admin.query("CREATE TABLE t (a int)");
    gate.set(true);
    writer.send(&query("INSERT INTO t VALUES (1)"));
    gate.until_somebody_waits();
    assert_eq!(admin.value(&format!("SELECT pg_terminate_backend({})", writer.backend)), "t");
    assert!(!is_answered(&mut writer));
    gate.set(false);
    let kinds: Vec<String> = writer.until('E').iter().map(|reply| format!("{}", reply.kind)).collect();
    assert_eq!(kinds.concat(), "CZE");
    assert!(writer.next().is_none());
    assert_eq!(admin.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn nobody_waits_for_what_others_do_after_the_same_flush() {
    let (env, gate) = Gate::before(Env::real());
    let world = World::within(env, |_| {}, |config| config.worker_threads = 1);
    let (mut admin, mut leader, mut long, mut short) =
        (world.connect(), world.connect(), world.connect(), world.connect());
    admin.query("CREATE TABLE t (a int)");
    gate.set(true);
    leader.send(&query("INSERT INTO t VALUES (1)"));
    gate.until_somebody_waits();
    // What they send further on is here when their commits are on disk.
    for (client, next) in [(&mut long, LONG), (&mut short, "SELECT 1")] {
        client.send(&query("INSERT INTO t VALUES (1)"));
        assert!(!is_answered(client));
        client.send(&query(next));
    }
    gate.set(false);
    short.until('Z');
    assert_eq!(short.until('Z').len(), 4);
    long.until('Z');
    assert_eq!(admin.value(&format!("SELECT pg_terminate_backend({})", long.backend)), "t");
}

#[test]
fn a_log_that_cannot_be_written_is_told_to_everybody_who_waits_and_the_server_still_ends() {
    for writers in [1, 4] {
        let (env, gate) = Gate::before(Env::real());
        let mut world = World::within(env, |_| {}, |config| config.worker_threads = 1);
        let mut admin = world.connect();
        admin.query("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (0, 0)");
        let mut waiting: Vec<Raw> = (0..writers).map(|_| world.connect()).collect();
        let mut behind = world.connect();
        gate.set(true);
        for (i, client) in waiting.iter_mut().enumerate() {
            client.send(&query(&match i {
                0 => "UPDATE t SET b = 1".to_owned(),
                i => format!("INSERT INTO t VALUES ({i}, 0)"),
            }));
        }
        gate.until_somebody_waits();
        // It waits for the lock of a commit that will never be known to be one.
        behind.send(&query("UPDATE t SET b = 2 WHERE a = 0"));
        assert!(!is_answered(&mut behind));
        gate.break_syncs(true);
        gate.set(false);
        for client in waiting.iter_mut().chain([&mut behind]) {
            let error = client.until('E').pop().unwrap();
            assert_eq!(error.field('C').as_deref(), Some("58030"), "{error:?}");
        }
        // What was on disk can be read, nothing can be changed, sessions end when they are told to.
        assert_eq!(admin.value("SELECT b FROM t WHERE a = 0"), "0");
        admin.send(&query("INSERT INTO t VALUES (9, 0)"));
        assert_eq!(admin.until('Z')[0].field('C').as_deref(), Some("58030"));
        let mut other = world.connect();
        assert_eq!(other.value(&format!("SELECT pg_terminate_backend({})", admin.backend)), "t");
        assert_eq!(admin.until('E').pop().unwrap().field('C').as_deref(), Some("57P01"));
        let ended = world.server.take().unwrap().shutdown(verso_server::ShutdownMode::Smart);
        assert!(ended.is_err(), "the database cannot be closed in order");
    }
}

#[test]
fn a_statement_does_not_go_on_after_its_client_has_gone() {
    let world = one_worker();
    let mut admin = world.connect();
    let running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%100000000%' \
                   AND pid <> pg_backend_pid()";
    let mut client = world.connect();
    client.send(&query(LONG));
    while admin.value(running) != "1" {}
    drop(client);
    while admin.value(running) != "0" {}
}
