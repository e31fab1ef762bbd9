//! The simple protocol, and the state of transactions.

use super::World;
use super::raw::{Reply, bind, execute, parse, query, sync};

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
fn notices_of_what_is_not_there_have_no_error_s_code() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    for (sql, code) in [
        ("ALTER TABLE t DROP COLUMN IF EXISTS nosuch", "00000"),
        ("ALTER TABLE t DROP CONSTRAINT IF EXISTS nosuch", "00000"),
        ("DROP TABLE IF EXISTS nosuch", "00000"),
        ("ALTER TABLE t ADD COLUMN IF NOT EXISTS a integer", "42701"),
        ("CREATE TABLE IF NOT EXISTS t (a integer)", "42P07"),
    ] {
        let notice = raw.query(sql).into_iter().find(|reply| reply.kind == 'N').unwrap();
        assert_eq!(notice.field('C').as_deref(), Some(code), "{sql}");
    }
}

#[test]
fn messages_of_a_statement_arrive_while_it_runs() {
    let world = World::new();
    let (mut holder, mut raw) = (world.connect(), world.connect());
    let block = "DO $$ BEGIN RAISE NOTICE 'waiting'; PERFORM pg_advisory_xact_lock(1); END $$";
    let extended = [parse("", block), bind("", "", &[]), execute("", 0), sync()].concat();
    for (asked, kinds) in [(query(block), ""), (extended, "12")] {
        holder.query("SELECT pg_advisory_lock(1)");
        raw.send(&asked);
        for kind in kinds.chars() {
            assert_eq!(raw.next().unwrap().kind, kind);
        }
        let notice = raw.next().unwrap();
        assert_eq!((notice.kind, notice.field('M').as_deref()), ('N', Some("waiting")));
        holder.query("SELECT pg_advisory_unlock(1)");
        assert_eq!(raw.until('Z').iter().map(|reply| reply.kind).collect::<String>(), "CZ");
    }
}

#[test]
fn messages_of_the_rows_of_a_cursor_reach_the_client_however_it_moves() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query(
        "CREATE FUNCTION told(x integer) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'at %', x; RETURN x; END $$",
    );
    for scroll in ["SCROLL", "NO SCROLL"] {
        raw.query("BEGIN");
        raw.query(&format!("DECLARE k {scroll} CURSOR FOR SELECT told(a) FROM generate_series(1, 9) AS a"));
        for (sql, told) in
            [("FETCH 2 FROM k", 1..=2), ("MOVE 2 FROM k", 3..=4), ("FETCH RELATIVE 3 FROM k", 5..=7)]
        {
            let replies = raw.query(sql);
            let texts: Vec<String> = replies
                .iter()
                .filter(|reply| reply.kind == 'N')
                .filter_map(|reply| reply.field('M'))
                .collect();
            for row in told {
                assert!(texts.contains(&format!("at {row}")), "{scroll}, {sql}: {texts:?}");
            }
        }
        raw.query("COMMIT");
    }
}

/// A statement that has waited runs again, perhaps over other columns: its rows are announced once.
#[test]
fn a_select_that_has_waited_for_a_table_announces_its_rows_once() {
    let world = World::new();
    let (mut holder, mut raw) = (world.connect(), world.connect());
    holder.query("CREATE TABLE waited (a integer); INSERT INTO waited VALUES (1)");
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    for (change, columns) in [("LOCK TABLE waited", 1), ("ALTER TABLE waited ADD COLUMN b integer", 2)] {
        holder.query(&format!("BEGIN; {change}"));
        raw.send(&query("SELECT * FROM waited"));
        while holder.value(waiting) == "0" {
            std::thread::yield_now();
        }
        holder.query("COMMIT");
        let replies = raw.until('Z');
        assert_eq!(replies.iter().map(|reply| reply.kind).collect::<String>(), "TDCZ");
        assert_eq!(replies[0].body[..2], [0, columns]);
    }
}

#[test]
fn settings_that_a_rollback_takes_back_are_told_again() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("SET timezone = 'UTC'; SET application_name = 'one'");
    let mut told = |sql: &str| {
        let replies = raw.query(sql).into_iter().filter(|reply| reply.kind == 'S');
        let parts = |reply: super::raw::Reply| String::from_utf8_lossy(&reply.body).replace('\0', " ");
        replies.map(parts).collect::<String>()
    };
    assert_eq!(told("BEGIN"), "");
    assert_eq!(told("SET timezone = 'Asia/Tokyo'"), "TimeZone Asia/Tokyo ");
    assert_eq!(told("SET application_name = 'two'"), "application_name two ");
    let back = told("ROLLBACK");
    assert!(back.contains("TimeZone UTC ") && back.contains("application_name one "), "{back}");
    assert_eq!(told("BEGIN; SET LOCAL timezone = 'Asia/Tokyo'"), "TimeZone Asia/Tokyo ");
    assert_eq!(told("COMMIT"), "TimeZone UTC ");
    assert_eq!(told("BEGIN; SAVEPOINT a; SET timezone = 'Asia/Tokyo'"), "TimeZone Asia/Tokyo ");
    assert_eq!(told("ROLLBACK TO a"), "TimeZone UTC ");
    told("ROLLBACK");
    // Several statements are a transaction, too; what it changes and takes back is not told at all.
    assert_eq!(told("SET timezone = 'Asia/Tokyo'; SELECT 1 / 0"), "");
    assert_eq!(told("SET timezone = 'Asia/Tokyo'; SELECT 1"), "TimeZone Asia/Tokyo ");
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
fn a_setting_that_comes_first_belongs_to_the_transaction_of_its_series() {
    let world = World::new();
    let mut raw = world.connect();
    let mut shown = |sql: &str| {
        let replies = raw.query(sql);
        assert!(replies.iter().all(|reply| reply.kind != 'N'), "{sql}: a warning");
        replies
            .iter()
            .filter(|reply| reply.kind == 'D')
            .map(|row| row.text().split_off(6))
            .collect::<String>()
    };
    assert_eq!(shown("SET LOCAL lock_timeout = '1s'; SHOW lock_timeout"), "1s");
    assert_eq!(shown("SHOW lock_timeout"), "0");
    assert_eq!(
        shown("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SHOW transaction_isolation"),
        "serializable"
    );
    assert_eq!(shown("SET lock_timeout = '1s'; SELECT 1 / 0"), "");
    assert_eq!(shown("SHOW lock_timeout"), "0");
    assert_eq!(shown("SET LOCAL ROLE pg_monitor; SELECT current_user"), "pg_monitor");
    let statement = |sql: &str| [parse("", sql), bind("", "", &[]), execute("", 0)].concat();
    let mut series = |texts: &[&str]| {
        let mut bytes: Vec<u8> = texts.iter().flat_map(|sql| statement(sql)).collect();
        bytes.extend(sync());
        raw.send(&bytes);
        let replies = raw.until('Z');
        replies
            .iter()
            .filter(|reply| reply.kind == 'D')
            .map(|row| row.text().split_off(6))
            .collect::<String>()
    };
    assert_eq!(series(&["SET LOCAL lock_timeout = '1s'", "SHOW lock_timeout"]), "1s");
    assert_eq!(series(&["SET lock_timeout = '1s'", "SELECT 1 / 0"]), "");
    assert_eq!(series(&["SHOW lock_timeout"]), "0");
    assert_eq!(series(&["SET lock_timeout = '1s'"]), "");
    assert_eq!(series(&["SHOW lock_timeout"]), "1s");
}

#[test]
fn a_time_zone_set_in_a_text_counts_for_its_next_statements() {
    let world = World::new();
    let mut raw = world.connect();
    let text = "SET TimeZone = 'Europe/Berlin'; SELECT timestamptz '2026-01-01 00:00:00+00'; \
        SET TimeZone = 'UTC'; SELECT timestamptz '2026-01-01 00:00:00+00'";
    let replies = raw.query(text);
    let rows: Vec<String> =
        replies.iter().filter(|reply| reply.kind == 'D').map(|row| row.text().split_off(6)).collect();
    assert_eq!(rows, ["2026-01-01 01:00:00+01", "2026-01-01 00:00:00+00"]);
    let mut both =
        raw.query("BEGIN; SET LOCAL TimeZone = 'Europe/Berlin'; ROLLBACK; SELECT timestamptz 'epoch'");
    both.retain(|reply| reply.kind == 'D');
    assert_eq!(&both[0].body[6..], b"1970-01-01 00:00:00+00");
}

#[test]
fn columns_say_which_tables_they_come_from() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer, b text); CREATE TABLE u (a integer)");
    let oid: u32 = raw.value("SELECT oid FROM pg_class WHERE relname = 't'").parse().unwrap();
    let mut origins = |sql: &str| {
        let replies = raw.query(sql);
        let body = &replies.iter().find(|reply| reply.kind == 'T').unwrap().body;
        let mut rest = &body[2..];
        let mut found = Vec::new();
        while !rest.is_empty() {
            let name = rest.iter().position(|byte| *byte == 0).unwrap();
            let field = &rest[name + 1..name + 19];
            let table = u32::from_be_bytes(field[..4].try_into().unwrap());
            let column = u16::from_be_bytes(field[4..6].try_into().unwrap());
            found.push((table, column));
            rest = &rest[name + 19..];
        }
        found
    };
    assert_eq!(
        origins("SELECT b, a + 1, a AS other FROM t WHERE a > 0 ORDER BY a"),
        [(oid, 2), (0, 0), (oid, 1)]
    );
    assert_eq!(origins("SELECT x.b, count(*) FROM (SELECT * FROM t) AS x GROUP BY x.b"), [(oid, 2), (0, 0)]);
    assert_eq!(origins("SELECT u.a, t.b FROM u LEFT JOIN t ON t.a = u.a")[1], (oid, 2));
    assert_eq!(origins("SELECT a FROM t UNION SELECT a FROM u"), [(0, 0)]);
    assert_eq!(origins("INSERT INTO t VALUES (1, 'x') RETURNING b, a"), [(oid, 2), (oid, 1)]);
    assert_eq!(origins("UPDATE t SET b = 'y' RETURNING b, upper(b)"), [(oid, 2), (0, 0)]);
}

#[test]
fn a_large_result_comes_through() {
    let world = World::new();
    let mut raw = world.connect();
    raw.send(&query("SELECT n, 'some text to fill the row' FROM generate_series(1, 200000) AS s(n)"));
    let replies = raw.until('Z');
    assert_eq!(replies.iter().filter(|reply| reply.kind == 'D').count(), 200_000);
}

#[test]
fn a_long_message_and_a_long_row_count_for_the_memory_limit() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a text); INSERT INTO t VALUES (repeat('x', 6500000))");
    raw.query("ALTER DATABASE SET memory_limit = '16MB'");
    let told = |replies: &[Reply]| {
        let error = replies.iter().find(|reply| reply.kind == 'E').expect("an error");
        (
            error.field('S').expect("a severity"),
            error.field('C').expect("a code"),
            error.field('M').expect("a text"),
        )
    };
    let refused = |what: &str| {
        let text = format!("out of memory: {what} needs more than 16777216 bytes");
        ("ERROR".to_owned(), "53200".to_owned(), text)
    };

    // A row counts twice its bytes: so many a bytea takes as text.
    assert_eq!(told(&raw.query("SELECT a FROM t")), refused("a row of the result"));
    assert_eq!(raw.value("SELECT length(a) FROM t"), "6500000");

    assert_eq!(told(&raw.query(&format!("SELECT '{}'", "x".repeat(40 << 20)))), refused("a message"));
    assert_eq!(raw.value("SELECT 1"), "1");
    raw.send(&parse("long", &format!("SELECT '{}'", "x".repeat(40 << 20))));
    raw.send(&[bind("", "long", &[]), execute("", 0), sync()].concat());
    assert_eq!(told(&raw.until('Z')), refused("a message"));
    assert_eq!(raw.value("SELECT 1"), "1");
}
