//! LISTEN, NOTIFY, UNLISTEN: what leaves a transaction, who gets it, in which order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Client, World};

impl Client {
    /// The messages that have come, as `channel:payload`.
    fn heard(&mut self) -> Vec<String> {
        let come = self.session.take_notifications(usize::MAX);
        come.iter().map(|message| format!("{}:{}", message.channel, message.payload)).collect()
    }
}

#[test]
fn messages_come_at_commit_in_their_order_and_once() {
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    assert_eq!(listener.run("LISTEN a"), ["LISTEN"]);
    listener.run("LISTEN \"B c\"; LISTEN a");
    assert_eq!(sender.run("NOTIFY a, 'alone'"), ["NOTIFY"]);
    sender.run("NOTIFY a; NOTIFY other, 'nobody'; NOTIFY \"B c\", $$text$$");
    assert_eq!(listener.heard(), ["a:alone", "a:", "B c:text"]);
    sender
        .run("BEGIN; NOTIFY a, '1'; NOTIFY a, '2'; NOTIFY a, '1'; SAVEPOINT s; NOTIFY a, '3'; NOTIFY a, '2'");
    assert_eq!(listener.heard(), [""; 0]);
    sender.run("ROLLBACK TO s; NOTIFY a, '4'; NOTIFY a, '3'; COMMIT");
    assert_eq!(listener.heard(), ["a:1", "a:2", "a:4", "a:3"]);
    sender.run("BEGIN; NOTIFY a, 'x'; ROLLBACK");
    sender.fails("NOTIFY a, 'x'; SELECT 1/0");
    sender.run("BEGIN; NOTIFY a, 'x'");
    sender.fails("SELECT 1/0");
    assert_eq!(sender.run("COMMIT"), ["ROLLBACK"]);
    assert_eq!(listener.heard(), [""; 0]);
    // A failure behind a savepoint leaves what was said before it.
    sender.run("BEGIN; NOTIFY a, 'kept'; SAVEPOINT s; NOTIFY a, 'lost'");
    sender.fails("SELECT 1/0");
    sender.run("ROLLBACK TO s; COMMIT");
    assert_eq!(listener.heard(), ["a:kept"]);
    let sent = sender.value("SELECT pg_backend_pid()");
    sender.run("NOTIFY a");
    let come = listener.session.take_notifications(usize::MAX);
    assert_eq!(come[0].backend.to_string(), sent);
}

#[test]
fn a_listener_hears_outside_of_its_transactions_and_of_itself() {
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    listener.run("LISTEN a");
    listener.run("BEGIN; SELECT 1");
    sender.run("NOTIFY a, 'during'");
    listener.run("NOTIFY a, 'own'");
    assert_eq!(listener.heard(), [""; 0]);
    listener.run("COMMIT");
    assert_eq!(listener.heard(), ["a:during", "a:own"]);
    // LISTEN and a message of the same transaction.
    listener.run("BEGIN; LISTEN b; NOTIFY b, 'own'; COMMIT");
    assert_eq!(listener.heard(), ["b:own"]);
    // LISTEN in a transaction that has begun before the other's message is sent hears of it only once it has committed.
    let mut late = world.connect();
    late.run("BEGIN; LISTEN a");
    sender.run("NOTIFY a, 'early'");
    late.run("COMMIT");
    sender.run("NOTIFY a, 'late'");
    assert_eq!(late.heard(), ["a:late"]);
}

#[test]
fn channels_are_those_of_committed_transactions() {
    const CHANNELS: &str = "SELECT * FROM pg_listening_channels()";
    let world = World::new();
    let (mut client, mut sender) = (world.connect(), world.connect());
    assert_eq!(client.run(CHANNELS), ["SELECT 0"]);
    client.run("LISTEN b; LISTEN a");
    assert_eq!(client.run("SELECT pg_listening_channels()")[..2], ["b", "a"]);
    client.run("BEGIN; UNLISTEN *; LISTEN c; ROLLBACK");
    client.run("BEGIN; SAVEPOINT s; LISTEN c; UNLISTEN a; ROLLBACK TO s; COMMIT");
    assert_eq!(client.run(CHANNELS)[..2], ["b", "a"]);
    client.run("BEGIN; UNLISTEN *; LISTEN c");
    assert_eq!(client.run(CHANNELS)[..2], ["b", "a"]);
    client.run("COMMIT");
    assert_eq!(client.run(CHANNELS), ["c", "SELECT 1"]);
    assert_eq!(client.run("UNLISTEN nosuch; LISTEN d; UNLISTEN c"), ["UNLISTEN", "LISTEN", "UNLISTEN"]);
    // What has come from a channel that is given up is not heard any more.
    client.run("LISTEN e");
    sender.run("NOTIFY d, 'lost'; NOTIFY e, 'kept'");
    client.run("UNLISTEN d");
    assert_eq!(client.heard(), ["e:kept"]);
    sender.run("NOTIFY e, 'lost'");
    client.run("DISCARD ALL");
    assert_eq!(client.run(CHANNELS), ["SELECT 0"]);
    sender.run("NOTIFY e, 'lost'");
    assert_eq!(client.heard(), [""; 0]);
    client.run("BEGIN READ ONLY; LISTEN f; NOTIFY f, 'reading'; COMMIT");
    assert_eq!(client.heard(), ["f:reading"]);
}

#[test]
fn functions_send_messages_too() {
    let world = World::new();
    let mut client = world.connect();
    client.run("LISTEN a");
    assert_eq!(client.value("SELECT pg_notify('a', 'called')"), "");
    client.run("SELECT pg_notify('a', NULL), pg_notify('a', repeat('x', 7999))");
    let heard = client.heard();
    assert_eq!((&*heard[0], &*heard[1], heard[2].len()), ("a:called", "a:", 8001));
    client.run("SELECT pg_notify('a', g::text) FROM generate_series(1, 3) g");
    assert_eq!(client.heard(), ["a:1", "a:2", "a:3"]);
    // A handler takes back what its block has said.
    client.run(
        "DO $$BEGIN
            BEGIN PERFORM pg_notify('a', 'inner'); RAISE 'x'; EXCEPTION WHEN others THEN NULL; END;
            BEGIN NOTIFY a, 'kept'; EXCEPTION WHEN others THEN NULL; END;
            PERFORM pg_notify('a', 'outer');
        END$$",
    );
    assert_eq!(client.heard(), ["a:kept", "a:outer"]);
    // Procedures commit and roll back on their own.
    client.run(
        "DO $$BEGIN
            PERFORM pg_notify('a', 'first'); COMMIT;
            PERFORM pg_notify('a', 'lost'); ROLLBACK;
            LISTEN b; COMMIT; NOTIFY b, 'last';
        END$$",
    );
    assert_eq!(client.heard(), ["a:first", "b:last"]);
    client.run("CREATE TABLE t (a int)");
    client.run("CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN PERFORM pg_notify('a', new.a::text); RETURN new; END$$");
    client.run("CREATE CONSTRAINT TRIGGER told AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION told()");
    client.run("INSERT INTO t VALUES (7), (8), (7)");
    assert_eq!(client.heard(), ["a:7", "a:8"]);
    client.run("CREATE FUNCTION says() RETURNS void LANGUAGE sql AS $$SELECT pg_notify('a', 'sql')$$");
    client.run("SELECT says()");
    assert_eq!(client.heard(), ["a:sql"]);
}

#[test]
fn what_is_refused() {
    let world = World::new();
    let mut client = world.connect();
    let invalid = |text: &str| ("22023", text.to_string());
    assert_eq!(client.fails("SELECT pg_notify('', 'x')"), invalid("channel name cannot be empty"));
    assert_eq!(client.fails("SELECT pg_notify(NULL, 'x')"), invalid("channel name cannot be empty"));
    assert_eq!(client.fails("SELECT pg_notify(repeat('x', 64), '')"), invalid("channel name too long"));
    assert_eq!(client.fails("SELECT pg_notify('x', repeat('x', 8000))"), invalid("payload string too long"));
    let prepared =
        ("0A000", "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY".to_string());
    for said in ["LISTEN a", "NOTIFY a", "LISTEN a; UNLISTEN *"] {
        client.run(&format!("BEGIN; {said}"));
        assert_eq!(client.fails("PREPARE TRANSACTION 'p'"), prepared);
        client.try_run("ROLLBACK").ok();
    }
    assert_eq!(client.run("SELECT * FROM pg_listening_channels()"), ["SELECT 0"]);
    client.run("BEGIN; UNLISTEN *; PREPARE TRANSACTION 'p'");
    client.run("ROLLBACK PREPARED 'p'");
    assert_eq!(client.fails("NOTIFY a, NULL").0, "42601");
    assert_eq!(client.fails("NOTIFY a.b").0, "42601");
    assert_eq!(client.fails("EXPLAIN NOTIFY a").0, "42601");
}

#[test]
fn a_listener_that_does_not_listen_fills_the_queue() {
    const FILL: &str = "SELECT count(pg_notify('a', repeat('x', 7900) || g)) FROM generate_series(1, 4000) g";
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    // Nobody listens: nothing stays.
    (0..3).for_each(|_| drop(sender.run(FILL)));
    assert_eq!(sender.value("SELECT pg_notification_queue_usage()"), "0");
    let held = world.instance.memory().used_bytes();
    listener.run("LISTEN a");
    (0..2).for_each(|_| drop(sender.run(FILL)));
    assert_eq!(sender.value("SELECT pg_notification_queue_usage() BETWEEN 0.9 AND 1"), "t");
    assert!(world.instance.memory().used_bytes() > held + (60 << 20));
    sender.run("CREATE TABLE t (a int)");
    let full = ("54000", "too many notifications in the NOTIFY queue".to_string());
    sender.run("BEGIN; INSERT INTO t VALUES (1)");
    sender.run(FILL);
    assert_eq!(sender.fails("COMMIT"), full);
    assert_eq!(sender.value("SELECT count(*) FROM t"), "0");
    // In portions, in their order.
    let mut count = 0;
    loop {
        let come = listener.session.take_notifications(64 << 10);
        assert!(come.len() <= 9);
        if come.is_empty() {
            break;
        }
        assert!(come.iter().all(|message| message.payload.len() > 7900));
        count += come.len();
    }
    assert_eq!(count, 8000);
    assert_eq!(sender.value("SELECT pg_notification_queue_usage()"), "0");
    // A session that ends leaves nothing behind.
    sender.run(FILL);
    drop(listener);
    assert_eq!(sender.value("SELECT pg_notification_queue_usage()"), "0");
    assert!(world.instance.memory().used_bytes() < held + (1 << 20));
}

#[test]
fn the_owner_of_a_session_is_told_once() {
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    listener.session.on_notification(Arc::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    }));
    listener.run("LISTEN a");
    sender.run("NOTIFY b; NOTIFY a, '1'; NOTIFY a, '2'");
    sender.run("NOTIFY a, '3'");
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(listener.heard(), ["a:1", "a:2", "a:3"]);
    sender.run("NOTIFY a");
    assert_eq!(told.load(Ordering::SeqCst), 2);
}

/// Who has seen another's commit comes behind it; and who begins to listen, and then looks, misses nothing.
#[test]
fn messages_of_many_come_in_an_order_that_all_see() {
    const SENDERS: usize = 4;
    const EACH: usize = 50;
    let world = World::new();
    let mut listeners = [world.connect(), world.connect()];
    for listener in &mut listeners {
        listener.run("LISTEN a");
    }
    let mut client = world.connect();
    client.run("CREATE TABLE t (n int); INSERT INTO t VALUES (0)");
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            let mut sender = world.connect();
            scope.spawn(move || {
                for _ in 0..EACH {
                    sender
                        .run("BEGIN; UPDATE t SET n = n + 1; SELECT pg_notify('a', n::text) FROM t; COMMIT");
                }
            });
        }
    });
    let expected: Vec<_> = (1..=SENDERS * EACH).map(|n| format!("a:{n}")).collect();
    for listener in &mut listeners {
        assert_eq!(listener.heard(), expected);
    }
}
