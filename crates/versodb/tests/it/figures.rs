//! `pg_stat_statements`: figures of statements from several sessions, bounded, and the numbers by which they are known.

use versodb::{Connection, Database};

use crate::new_database;

fn number(connection: &mut Connection, sql: &str) -> i64 {
    connection.query(sql).unwrap().into_rows()[0].get(0).unwrap()
}

fn calls(connection: &mut Connection, like: &str) -> i64 {
    let sql =
        format!("SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_statements WHERE query LIKE '{like}'");
    number(connection, &sql)
}

fn several(database: &Database, count: usize) -> Vec<Connection> {
    (0..count).map(|_| database.connect().unwrap()).collect()
}

#[test]
fn what_sessions_have_done_is_seen_at_once_and_stays_when_they_end() {
    let (_directory, database) = new_database();
    let mut control = database.connect().unwrap();
    control.execute("CREATE EXTENSION pg_stat_statements").unwrap();
    control.execute("CREATE TABLE t (a integer PRIMARY KEY, b integer)").unwrap();
    control.execute("INSERT INTO t SELECT n, n FROM generate_series(1, 100) n").unwrap();
    let mut sessions = several(&database, 4);
    for (n, session) in sessions.iter_mut().enumerate() {
        for a in 1..=25 {
            session.query(&format!("SELECT b FROM t WHERE a = {}", n * 25 + a)).unwrap();
        }
    }
    assert_eq!(calls(&mut control, "SELECT b FROM t WHERE a = $1"), 100);
    for session in &mut sessions {
        session.query("SELECT b FROM t WHERE a = 1").unwrap();
    }
    drop(sessions);
    assert_eq!(calls(&mut control, "SELECT b FROM t WHERE a = $1"), 104);
    let rows =
        "SELECT sum(rows)::bigint FROM pg_stat_statements WHERE query = 'SELECT b FROM t WHERE a = $1'";
    assert_eq!(number(&mut control, rows), 104);
    let entries = "SELECT count(*) FROM pg_stat_statements WHERE query = 'SELECT b FROM t WHERE a = $1'";
    assert_eq!(number(&mut control, entries), 1);
}

#[test]
fn no_more_statements_are_kept_than_is_said_and_those_called_often_stay() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE EXTENSION pg_stat_statements").unwrap();
    connection.execute("ALTER SYSTEM SET pg_stat_statements.max = 100").unwrap();
    for _ in 0..10 {
        connection.query("SELECT 1 AS often").unwrap();
    }
    for n in 0..500 {
        connection.query(&format!("SELECT 1 AS c{n}")).unwrap();
    }
    let count = number(&mut connection, "SELECT count(*) FROM pg_stat_statements");
    assert!((50..=100).contains(&count), "{count}");
    assert_eq!(calls(&mut connection, "SELECT $1 AS often"), 10);
    assert!(number(&mut connection, "SELECT dealloc FROM pg_stat_statements_info") > 0);
}

#[test]
fn explain_shows_the_number_where_it_is_asked_for() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let explained = |connection: &mut Connection, sql: &str| -> Option<i64> {
        let rows = connection.query(sql).unwrap().into_rows();
        let lines: Vec<String> = rows.iter().map(|row| row.text(0)).collect();
        lines.iter().find_map(|line| line.strip_prefix("Query Identifier: ")?.parse().ok())
    };
    let verbose = "EXPLAIN (VERBOSE, COSTS OFF) SELECT a FROM t WHERE a = 5";
    assert_eq!(explained(&mut connection, verbose), None);
    connection.execute("CREATE EXTENSION pg_stat_statements").unwrap();
    let shown = explained(&mut connection, verbose).unwrap();
    assert_eq!(explained(&mut connection, "EXPLAIN (COSTS OFF) SELECT a FROM t WHERE a = 5"), None);
    connection.query("select a from t where a = 7").unwrap();
    let kept = "SELECT queryid FROM pg_stat_statements WHERE query = 'select a from t where a = $1'";
    assert_eq!(number(&mut connection, kept), shown);
    connection.execute("SET compute_query_id = regress").unwrap();
    assert_eq!(explained(&mut connection, verbose), None);
    connection.execute("SET compute_query_id = on").unwrap();
    connection.execute("DROP EXTENSION pg_stat_statements").unwrap();
    assert_eq!(explained(&mut connection, verbose), Some(shown));
    connection.execute("SET compute_query_id = off").unwrap();
    let before = calls(&mut connection, "%");
    connection.query("SELECT 1 AS unseen").unwrap();
    assert_eq!(explained(&mut connection, verbose), None);
    assert_eq!(calls(&mut connection, "%"), before);
}

/// A text that is known and one that is parsed anew have the same number; so have the ways of a statement through a driver.
#[test]
fn a_statement_has_one_number_whatever_way_it_comes() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE EXTENSION pg_stat_statements").unwrap();
    connection.execute("CREATE TABLE t (a integer, b text)").unwrap();
    connection.query("SELECT b FROM t WHERE a = 1").unwrap();
    connection.query("SELECT b FROM t WHERE a = 2").unwrap();
    connection.execute("SET stmt_cache = off").unwrap();
    connection.query("SELECT b FROM t WHERE a = 3").unwrap();
    connection.query("SELECT b  FROM t -- comment\n WHERE a = 4").unwrap();
    connection.execute("BEGIN; SELECT b FROM t WHERE a = 5; COMMIT").unwrap();
    let entries = "SELECT calls FROM pg_stat_statements WHERE query = 'SELECT b FROM t WHERE a = $1'";
    assert_eq!(number(&mut connection, entries), 5);
}

/// Nothing is counted where nobody has asked for it: by the extension, or by the setting.
#[test]
fn statements_are_counted_where_somebody_has_asked_for_it() {
    let (_directory, database) = new_database();
    let (mut one, mut other) = (database.connect().unwrap(), database.connect().unwrap());
    let mut both = |one: &mut Connection| {
        one.query("SELECT 1 AS mine").unwrap();
        other.query("SELECT 1 AS mine").unwrap();
    };
    both(&mut one);
    assert_eq!(calls(&mut one, "%"), 0);
    one.execute("SET pg_stat_statements.track = 'top'").unwrap();
    both(&mut one);
    assert_eq!(calls(&mut one, "SELECT $1 AS mine"), 1);
    one.execute("RESET pg_stat_statements.track").unwrap();
    both(&mut one);
    assert_eq!(calls(&mut one, "SELECT $1 AS mine"), 1);
    one.execute("CREATE EXTENSION pg_stat_statements").unwrap();
    both(&mut one);
    assert_eq!(calls(&mut one, "SELECT $1 AS mine"), 3);
    one.execute("DROP EXTENSION pg_stat_statements").unwrap();
    one.query("SELECT 1").unwrap();
    both(&mut one);
    assert_eq!(calls(&mut one, "SELECT $1 AS mine"), 3);
}
