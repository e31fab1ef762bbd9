//! The simple protocol, and the state of transactions.

use super::World;
use super::raw::query;

#[test]
fn a_new_session_hears_its_settings() {
    let world = World::new();
    let raw = world.connect();
    let setting = |name: &str| {
        raw.settings
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    };
    assert!(setting("server_version").starts_with("18.0 (Verso "), "{}", setting("server_version"));
    assert_eq!(setting("client_encoding"), "UTF8");
    assert_eq!(setting("DateStyle"), "ISO, MDY");
    assert_eq!(setting("IntervalStyle"), "postgres");
    assert_eq!(setting("integer_datetimes"), "on");
    assert_eq!(setting("standard_conforming_strings"), "on");
    assert_eq!(setting("is_superuser"), "on");
    assert_eq!(setting("session_authorization"), "verso");
    assert_eq!(setting("in_hot_standby"), "off");
    assert_eq!(raw.key.len(), 4);
    assert!(raw.backend > 0);
}

#[test]
fn several_statements_are_one_transaction_and_end_at_the_first_error() {
    let world = World::new();
    let mut raw = world.connect();
    assert_eq!(raw.kinds(&query("CREATE TABLE t (a integer)")), "CZI");
    assert_eq!(raw.kinds(&query("INSERT INTO t VALUES (1); SELECT * FROM t; SELECT 2")), "CTDCTDCZI");
    assert_eq!(raw.kinds(&query("INSERT INTO t VALUES (2); SELECT 1/0; INSERT INTO t VALUES (3)")), "CTEZI");
    assert_eq!(raw.value("SELECT count(*) FROM t"), "1");
    assert_eq!(raw.kinds(&query("")), "IZI");
    assert_eq!(raw.kinds(&query(" ; -- nothing\n")), "IZI");
}

#[test]
fn the_state_of_the_transaction_is_postgresqls() {
    let world = World::new();
    let mut raw = world.connect();
    assert_eq!(raw.kinds(&query("BEGIN")), "CZT");
    assert_eq!(raw.kinds(&query("SELECT 1")), "TDCZT");
    assert_eq!(raw.kinds(&query("SELECT nothing")), "EZE");
    assert_eq!(raw.code("SELECT 1"), "25P02");
    let ended = raw.query("COMMIT");
    assert_eq!(ended[0].text(), "ROLLBACK");
    assert_eq!(ended[1].body, b"I");
    let warned = raw.query("COMMIT");
    assert_eq!((warned[0].kind, warned[0].field('C').as_deref()), ('N', Some("25P01")));
    assert_eq!(warned[0].field('S').as_deref(), Some("WARNING"));
}

#[test]
fn an_error_has_all_its_fields() {
    let world = World::new();
    let mut raw = world.connect();
    let error = raw.query("SELECT nothing").remove(0);
    assert_eq!(error.field('S').as_deref(), Some("ERROR"));
    assert_eq!(error.field('V').as_deref(), Some("ERROR"));
    assert_eq!(error.field('C').as_deref(), Some("42703"));
    assert_eq!(error.field('M').as_deref(), Some("column \"nothing\" does not exist"));
    assert_eq!(error.field('P').as_deref(), Some("8"));
    raw.query("CREATE TABLE t (a integer NOT NULL)");
    let error = raw.query("INSERT INTO t VALUES (NULL)").remove(0);
    assert_eq!(error.field('s').as_deref(), Some("public"));
    assert_eq!(error.field('t').as_deref(), Some("t"));
    assert_eq!(error.field('c').as_deref(), Some("a"));
    assert!(error.field('D').is_some());
}

#[test]
fn a_changed_setting_is_reported_and_comes_back_with_a_rollback() {
    let world = World::new();
    let mut raw = world.connect();
    assert_eq!(raw.kinds(&query("SET application_name = 'x'")), "CSZI");
    assert_eq!(raw.kinds(&query("SET application_name = 'x'")), "CZI");
    let reply = raw.query("SET TimeZone = 'Europe/Berlin'");
    assert_eq!(reply[1].text(), "TimeZone\0Europe/Berlin");
    assert_eq!(raw.kinds(&query("BEGIN; SET LOCAL application_name = 'y'")), "CCSZT");
    assert_eq!(raw.kinds(&query("ROLLBACK")), "CSZI");
}

#[test]
fn a_large_result_comes_through() {
    let world = World::new();
    let mut raw = world.connect();
    raw.send(&query("SELECT n, 'some text to fill the row' FROM generate_series(1, 200000) AS s(n)"));
    let replies = raw.until('Z');
    assert_eq!(replies.iter().filter(|reply| reply.kind == 'D').count(), 200_000);
}
