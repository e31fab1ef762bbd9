//! Clients whose texts are in other encodings than UTF-8.

use super::World;
use super::raw::{Raw, Reply, execute, message, query, sync};

/// A statement of bytes, as a client of that encoding sends it.
fn bytes(raw: &mut Raw, sql: &[u8]) -> Vec<Reply> {
    raw.send(&message('Q', &[sql, b"\0"].concat()));
    raw.until('Z')
}

/// The first value of the first row.
fn value(replies: &[Reply]) -> Vec<u8> {
    let row = replies.iter().find(|reply| reply.kind == 'D').unwrap_or_else(|| panic!("{replies:?}"));
    row.body[6..].to_vec()
}

fn code(replies: &[Reply]) -> String {
    let error = replies.iter().find(|reply| reply.kind == 'E');
    error.and_then(|error| error.field('C')).unwrap_or_default()
}

#[test]
fn what_comes_and_goes_is_in_the_clients_encoding() {
    let world = World::new();
    let wanted = [("user", "verso"), ("database", "verso"), ("client_encoding", "LATIN1")];
    let mut raw = Raw::login_with(world.address, 3 << 16, &wanted);
    assert!(
        raw.settings.contains(&("client_encoding".to_owned(), "LATIN1".to_owned())),
        "{:?}",
        raw.settings
    );
    assert_eq!(value(&bytes(&mut raw, b"SELECT length('\xe9')")), b"1");
    assert_eq!(value(&bytes(&mut raw, b"SELECT '\xe9\xfc'")), b"\xe9\xfc");
    // Names of columns, and the texts of errors.
    let replies = bytes(&mut raw, b"SELECT 1 AS \"\xe9\"");
    assert!(replies[0].body.starts_with(b"\0\x01\xe9\0"), "{replies:?}");
    let replies = bytes(&mut raw, b"SELECT \"n\xe9\"");
    let error = replies.iter().find(|reply| reply.kind == 'E').unwrap();
    assert!(error.body.windows(4).any(|part| part == b"\"n\xe9\""), "{error:?}");
    // Characters that it does not have.
    assert_eq!(code(&bytes(&mut raw, b"SELECT U&'\\20AC'")), "22P05");
    assert_eq!(code(&bytes(&mut raw, b"SELECT 1 AS U&\"\\20AC\"")), "");
    // Another one counts for the rest of the same message.
    let replies = bytes(&mut raw, b"SET client_encoding = 'WIN1252'; SELECT U&'\\20AC'");
    assert_eq!(value(&replies), b"\x80");
    assert!(replies.iter().any(|reply| reply.kind == 'S' && reply.text() == "client_encoding\0WIN1252"));
    assert_eq!(code(&bytes(&mut raw, b"SELECT '\x81'")), "22P05");
    assert_eq!(value(&bytes(&mut raw, b"SELECT 1")), b"1");
    // Bytes that are no UTF-8.
    assert_eq!(code(&bytes(&mut raw, b"RESET client_encoding")), "");
    assert_eq!(value(&bytes(&mut raw, b"SHOW client_encoding")), b"LATIN1");
    bytes(&mut raw, b"SET NAMES 'UTF8'");
    assert_eq!(code(&bytes(&mut raw, b"SELECT '\xe9'")), "22021");
}

#[test]
fn parameters_and_results_of_the_extended_protocol_are_converted() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("SET client_encoding = 'SJIS'");
    // $1 as text, $2 in binary; the results likewise.
    let parse =
        message('P', b"\x93\xfa\0SELECT $1::text || '\x96{', $2::text, length($1), '\\x41'::bytea\0\0\0");
    let mut bind = b"\0\x93\xfa\0\0\x02\0\0\0\x01\0\x02".to_vec();
    for text in [&b"\x93\xfa"[..], b"\x96{"] {
        bind.extend_from_slice(&(text.len() as u32).to_be_bytes());
        bind.extend_from_slice(text);
    }
    bind.extend_from_slice(b"\0\x04\0\0\0\x01\0\0\0\x01");
    raw.send(&[parse, message('B', &bind), execute("", 0), sync()].concat());
    let replies = raw.until('Z');
    let row = replies.iter().find(|reply| reply.kind == 'D').unwrap_or_else(|| panic!("{replies:?}"));
    let mut expected = b"\0\x04".to_vec();
    for value in [&b"\x93\xfa\x96{"[..], b"\x96{", b"1", b"A"] {
        expected.extend_from_slice(&(value.len() as u32).to_be_bytes());
        expected.extend_from_slice(value);
    }
    assert_eq!(row.body, expected);
}

#[test]
fn copy_has_an_encoding_of_its_own_or_the_clients() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a text, b text)");
    // A character is cut, and the second half of one looks like a backslash.
    raw.send(&query("COPY t FROM STDIN WITH (ENCODING 'SJIS')"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    raw.send(&message('d', b"\x95\x5c\t\x93"));
    raw.send(&message('d', b"\xfa\n"));
    assert_eq!(raw.kinds(&message('c', b"")), "CZI");
    assert_eq!(raw.value("SELECT a || b FROM t"), "表日");
    let replies = raw.query("COPY t TO STDOUT (ENCODING 'EUC_JP', FORMAT csv)");
    assert_eq!(replies[1].body, b"\xc9\xbd,\xc6\xfc\n");
    raw.query("SET client_encoding = 'SJIS'");
    let replies = raw.query("COPY t TO STDOUT");
    assert_eq!(replies[1].body, b"\x95\x5c\t\x93\xfa\n");
    let replies = raw.query("COPY t TO STDOUT (ENCODING 'LATIN1')");
    assert!(replies.iter().any(|reply| reply.field('C').as_deref() == Some("22P05")), "{replies:?}");
    raw.send(&query("COPY t FROM STDIN WITH (ENCODING 'WIN1252')"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    raw.send(&message('d', b"a\tb\nc\t\x81\n"));
    raw.send(&message('c', b""));
    let replies = raw.until('Z');
    assert!(replies.iter().any(|reply| reply.field('C').as_deref() == Some("22P05")), "{replies:?}");
    assert_eq!(raw.value("SELECT count(*) FROM t"), "1");
}
