//! LISTEN and NOTIFY over the wire: when a client hears of what others say.

use std::time::Duration;

use super::World;
use super::raw::{Raw, Reply, bind, execute, parse, query, sync};

/// Who has said what, where.
fn told(reply: &Reply) -> (i32, String, String) {
    assert_eq!(reply.kind, 'A', "{reply:?}");
    let (by, texts) = reply.body.split_at(4);
    let mut texts = texts.split(|byte| *byte == 0).map(|text| String::from_utf8(text.to_vec()).unwrap());
    (i32::from_be_bytes(by.try_into().unwrap()), texts.next().unwrap(), texts.next().unwrap())
}

/// The payload of the next message, which is one of NOTIFY.
fn payload(client: &mut Raw) -> String {
    told(&client.next().unwrap()).2
}

/// Whether nothing comes for a moment.
fn is_silent(client: &mut Raw) -> bool {
    client.socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let silent = client.socket.peek(&mut [0]).is_err();
    client.socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    silent
}

#[test]
fn a_client_that_waits_hears_at_once() {
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    assert_eq!(listener.kinds(&query("LISTEN a")), "CZI");
    assert_eq!(sender.kinds(&query("NOTIFY a, 'x'")), "CZI");
    assert_eq!(told(&listener.next().unwrap()), (sender.backend, "a".into(), "x".into()));
    sender.query("CREATE TABLE t (a int)");
    sender.query("BEGIN; INSERT INTO t VALUES (1); NOTIFY a, '1'; NOTIFY a; NOTIFY b");
    assert!(is_silent(&mut listener));
    sender.query("COMMIT");
    assert_eq!((payload(&mut listener), payload(&mut listener)), ("1".into(), "".into()));
    sender.send(&[parse("", "SELECT pg_notify('a', $1)"), bind("", "", &[Some("extended")])].concat());
    assert_eq!(sender.kinds(&[execute("", 0), sync()].concat()), "12DCZI");
    assert_eq!(payload(&mut listener), "extended");
    // Another turn than the one before it, and a statement in between.
    assert_eq!(listener.value("SELECT 7"), "7");
    sender.query("NOTIFY a, 'y'");
    assert_eq!(payload(&mut listener), "y");
    listener.query("UNLISTEN a");
    sender.query("NOTIFY a, 'z'");
    assert!(is_silent(&mut listener));
}

#[test]
fn a_client_hears_of_itself_before_it_is_ready_and_of_nothing_within_a_transaction() {
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    assert_eq!(listener.kinds(&query("CREATE TABLE t (a int); LISTEN a; NOTIFY a, 'first'")), "CCCAZI");
    assert_eq!(listener.kinds(&query("NOTIFY a")), "CAZI");
    assert_eq!(listener.kinds(&query("BEGIN; INSERT INTO t VALUES (1); NOTIFY a; NOTIFY a, 'b'")), "CCCCZT");
    sender.query("NOTIFY a, 'during'");
    assert!(is_silent(&mut listener));
    assert_eq!(listener.kinds(&query("SELECT 1")), "TDCZT");
    assert_eq!(listener.kinds(&query("COMMIT")), "CAAAZI");
    assert_eq!(listener.kinds(&query("BEGIN; NOTIFY a, 'lost'; SELECT nosuch")), "CCEZE");
    sender.query("NOTIFY a, 'failed'");
    assert!(is_silent(&mut listener));
    assert_eq!(listener.kinds(&query("ROLLBACK")), "CAZI");
    let series = [parse("", "NOTIFY a, 'own'"), bind("", "", &[]), execute("", 0), sync()].concat();
    assert_eq!(listener.kinds(&series), "12CAZI");
    // Behind a transaction a session keeps its worker for a while.
    listener.query("BEGIN; SELECT 1; COMMIT");
    sender.query("NOTIFY a, 'soon'");
    assert_eq!(payload(&mut listener), "soon");
}

/// A long statement's client hears when it is done.
#[test]
fn a_busy_client_hears_behind_its_statement() {
    let world = World::new();
    let (mut listener, mut sender) = (world.connect(), world.connect());
    listener.query("LISTEN a");
    listener.send(&query("SELECT pg_sleep(0.3)"));
    std::thread::sleep(Duration::from_millis(100));
    sender.query("NOTIFY a, 'x'");
    let kinds: String = listener.until('Z').iter().map(|reply| reply.kind).collect();
    assert_eq!(kinds, "TDCAZ");
}

/// Calls meet turns at every moment, and none is lost.
#[test]
fn nothing_is_lost_between_turns() {
    const SENDERS: usize = 3;
    const EACH: usize = 150;
    let world = World::with(|config| config.worker_threads = 2);
    let mut listener = world.connect();
    listener.query("LISTEN a");
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            let mut sender = world.connect();
            scope.spawn(move || (0..EACH).for_each(|n| drop(sender.query(&format!("NOTIFY a, '{n}'")))));
        }
        // Half of the time with statements, half of it without.
        let (mut count, mut statements) = (0, 0);
        listener.send(&query("SELECT 1"));
        while count < SENDERS * EACH || statements < 1 {
            match listener.next().expect("a message").kind {
                'A' => count += 1,
                'Z' => {
                    statements += 1;
                    if count < SENDERS * EACH / 2 {
                        listener.send(&query("SELECT 1"));
                    }
                }
                _ => {}
            }
        }
    });
    assert!(is_silent(&mut listener));
    assert_eq!(listener.value("SELECT pg_notification_queue_usage()"), "0");
}

/// A client that does not read is left alone until the queue is full; then NOTIFY fails, and goes on once it has gone.
#[test]
fn a_client_that_does_not_read_holds_up_nobody_else() {
    const FILL: &str = "SELECT count(pg_notify('a', repeat('x', 7900) || g)) FROM generate_series(1, 2000) g";
    let world = World::with(|config| config.worker_threads = 1);
    let (mut deaf, mut listener, mut sender) = (world.connect(), world.connect(), world.connect());
    deaf.query("LISTEN a");
    listener.query("LISTEN b");
    let mut code = String::new();
    for _ in 0..12 {
        code = sender.code(FILL);
        if !code.is_empty() {
            break;
        }
    }
    assert_eq!(code, "54000");
    sender.query("NOTIFY b, 'heard'");
    assert_eq!(payload(&mut listener), "heard");
    drop(deaf);
    while sender.value("SELECT pg_notification_queue_usage()") != "0" {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(sender.code(FILL), "");
}
