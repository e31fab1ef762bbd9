//! Input that is not the protocol: it gets an error or a closed connection, and nobody else notices.

use std::io::Read;

use verso_server::Config;

use super::World;
use super::raw::{Raw, message, startup, sync};

/// The server still answers, to an old session and to a new one.
fn is_well(world: &World, other: &mut Raw) {
    assert_eq!(other.value("SELECT 1"), "1");
    assert_eq!(world.connect().value("SELECT 2"), "2");
}

#[test]
fn junk_before_login_ends_the_connection() {
    let world = World::new();
    let mut other = world.connect();
    for junk in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"\0\0\0\0",
        b"\x7f\xff\xff\xff",
        b"\0\0\0\x07abc",
        b"\0\0\0\x09\0\x03\0\0x",
        &[0xff; 20_000],
        b"\0\0\0\x0c\x04\xd2\x16\x2e\0\0\0\x01",
    ] {
        let mut raw = Raw::open(world.address);
        raw.send(junk);
        let replies = raw.until('Z');
        assert!(replies.iter().all(|reply| reply.kind == 'E'), "{replies:?}");
    }
    is_well(&world, &mut other);
}

#[test]
fn a_message_that_cannot_be_framed_ends_the_connection_with_an_error() {
    let world = World::new();
    let mut other = world.connect();
    for junk in [&b"Q\x7f\xff\xff\xff"[..], b"@\0\0\0\x04", b"Q\0\0\0\x01", b"S\0\x10\0\0", b"\0\0\0\0\0\0\0"]
    {
        let mut raw = world.connect();
        raw.send(junk);
        let replies = raw.until('Z');
        let error = replies.first().unwrap_or_else(|| panic!("{junk:?}"));
        assert_eq!((error.kind, error.field('S').as_deref()), ('E', Some("FATAL")));
        assert_eq!(error.field('C').as_deref(), Some("08P01"));
    }
    is_well(&world, &mut other);
}

#[test]
fn a_message_that_breaks_its_layout_is_an_error_and_the_session_goes_on() {
    let world = World::new();
    let mut raw = world.connect();
    for (kind, body) in [
        ('P', &b"x"[..]),
        ('B', b"\0"),
        ('B', b"\0\0\0\x01\0\x09\0\0\0\0"),
        ('D', b"X\0"),
        ('E', b"\0"),
        ('C', b"S"),
    ] {
        let mut bytes = message(kind, body);
        bytes.extend(sync());
        assert_eq!(raw.kinds(&bytes), "EZI", "{kind} {body:?}");
    }
    for (kind, body) in [('Q', &b"no end"[..]), ('Q', b"\xff\0"), ('F', b""), ('S', b"x")] {
        assert_eq!(raw.kinds(&message(kind, body)), "EZI", "{kind} {body:?}");
    }
    // What belongs to a COPY that is over is passed over.
    let mut bytes = message('d', b"x");
    bytes.extend(message('c', b""));
    bytes.extend(sync());
    assert_eq!(raw.kinds(&bytes), "ZI");
}

#[test]
fn a_connection_may_be_cut_anywhere() {
    let world = World::new();
    let mut other = world.connect();
    let hello = startup(3 << 16, &[("user", "verso"), ("database", "verso")]);
    for end in 0..hello.len() {
        Raw::open(world.address).send(&hello[..end]);
    }
    let query = message('Q', b"SELECT * FROM generate_series(1, 100000)\0");
    for end in [1, 4, 5, 20, query.len()] {
        world.connect().send(&query[..end]);
    }
    is_well(&world, &mut other);
}

#[test]
fn a_claimed_gigabyte_and_a_slow_sender_take_nothing() {
    let world = World::new();
    let mut other = world.connect();
    let claims: Vec<Raw> = (0..20)
        .map(|_| {
            let mut raw = world.connect();
            raw.send(b"Q\x0f\xff\xff\xff");
            raw
        })
        .collect();
    is_well(&world, &mut other);
    drop(claims);
    // Nothing is heard of these, so they are sent away; the others are in before the time is that short.
    let short = std::time::Duration::from_millis(100);
    world.server().reload(Config { authentication_timeout: short, ..Config::default() }).unwrap();
    let mut silent = Raw::open(world.address);
    silent.send(b"\0\0");
    assert!(silent.socket.read_to_end(&mut Vec::new()).is_ok(), "the server waits for it still");
    world.server().reload(Config::default()).unwrap();
    is_well(&world, &mut other);
}
