//! Definitions beside sessions that drop what they name (L6 of the catalog): every kind of definition with every kind of object that
//! it can name, in both orders, with the drop within the view of the other and behind it, and with what was dropped made anew by the
//! same name. Whatever comes of it, no definition is left that names what is gone, and what was made can be used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::Env;
use versodb::{Connection, Database, Options};

use crate::new_database;

const OBJECTS: &str = "
    CREATE TYPE e AS ENUM ('a', 'b');
    CREATE TYPE fields AS (x int, y text);
    CREATE TYPE pair AS (x int, y text);
    CREATE DOMAIN d AS int;
    CREATE COLLATION col (provider = icu, locale = 'en');
    CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
    CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE FUNCTION same(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2';
    CREATE FUNCTION same_too(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2';
    CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = same);
    CREATE FUNCTION told(pair) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ($1).x';
    CREATE FUNCTION told_of(fields) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
    CREATE CAST (pair AS int) WITH FUNCTION told(pair);
    CREATE SEQUENCE q;
    CREATE TABLE t (a int PRIMARY KEY, b text);
    CREATE TABLE other (a int PRIMARY KEY, b text);
    CREATE VIEW v AS SELECT 1 AS one;
    INSERT INTO t VALUES (1, 'x')";

/// What an expression names: how it goes, and the expression, of an integer `#`.
const NAMED: [(&str, &str); 8] = [
    ("DROP FUNCTION f(int)", "f(#)"),
    ("DROP OPERATOR === (int, int)", "CASE WHEN # === 1 THEN 1 ELSE 0 END"),
    ("DROP COLLATION col", "CASE WHEN (#)::text COLLATE col < '5' THEN 1 ELSE 0 END"),
    ("DROP TYPE e", "CASE WHEN 'a'::e = 'b'::e THEN 1 ELSE # END"),
    ("ALTER TYPE e RENAME VALUE 'a' TO 'z'", "CASE WHEN 'a'::e = 'b'::e THEN 1 ELSE # END"),
    ("DROP CAST (pair AS int)", "(row(#, '')::pair)::int"),
    ("DROP FUNCTION told(pair) CASCADE", "(row(#, '')::pair)::int"),
    ("DROP DOMAIN d", "(#)::d::int"),
];

/// What is made with an expression over `@`, the integer that there is, and a statement that uses it.
const OF_EXPRESSIONS: [(&str, &str, &str); 13] = [
    ("CREATE TABLE w (a int CHECK (@ IS NOT NULL))", "a", "INSERT INTO w VALUES (1)"),
    ("CREATE TABLE w (a int, x int DEFAULT (@))", "1", "INSERT INTO w (a) VALUES (1)"),
    ("CREATE TABLE w (a int, x int GENERATED ALWAYS AS (@) STORED)", "a", "INSERT INTO w (a) VALUES (1)"),
    ("ALTER TABLE t ALTER a SET DEFAULT (@ + 7)", "1", "INSERT INTO t (b) VALUES ('')"),
    ("ALTER TABLE t ADD CONSTRAINT w CHECK ((@) IS NOT NULL)", "a", "INSERT INTO t VALUES (7, '')"),
    ("CREATE INDEX w ON t ((@))", "a", "INSERT INTO t VALUES (7, '')"),
    ("CREATE INDEX w ON t (b) WHERE (@) > 0", "a", "INSERT INTO t VALUES (7, '')"),
    ("CREATE VIEW w AS SELECT (@) AS x FROM t", "a", "SELECT * FROM w"),
    ("CREATE MATERIALIZED VIEW w AS SELECT (@) AS x FROM t", "a", "REFRESH MATERIALIZED VIEW w"),
    ("CREATE FUNCTION w() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT (@); END", "1", "SELECT w()"),
    ("CREATE POLICY w ON t USING ((@) > 0)", "a", "SELECT * FROM t"),
    (
        "CREATE TRIGGER w BEFORE INSERT ON t FOR EACH ROW WHEN ((@) > 0) EXECUTE FUNCTION tf()",
        "NEW.a",
        "INSERT INTO t VALUES (7, '')",
    ),
    ("CREATE DOMAIN w AS int CHECK ((@) IS NOT NULL)", "VALUE", "SELECT 1::w"),
];

/// What is made, how what it names goes, and a statement that uses it.
const OTHERS: [(&str, &str, &str); 31] = [
    ("CREATE INDEX w ON t (b COLLATE col)", "DROP COLLATION col", "INSERT INTO t VALUES (7, '')"),
    ("CREATE INDEX w ON t ((b || 'x') COLLATE col)", "DROP COLLATION col", "INSERT INTO t VALUES (7, '')"),
    (
        "ALTER TABLE t ADD CONSTRAINT w EXCLUDE USING btree (b COLLATE col WITH =)",
        "DROP COLLATION col",
        "INSERT INTO t VALUES (7, '')",
    ),
    ("CREATE TABLE w (a text) PARTITION BY RANGE (a COLLATE col)", "DROP COLLATION col", "SELECT * FROM w"),
    (
        "CREATE TABLE w (a text, b text) PARTITION BY LIST ((a || b) COLLATE col)",
        "DROP COLLATION col",
        "SELECT * FROM w",
    ),
    ("CREATE TABLE w (a int) PARTITION BY RANGE (f(a))", "DROP FUNCTION f(int)", "SELECT * FROM w"),
    ("CREATE STATISTICS w ON (b COLLATE col), a FROM t", "DROP COLLATION col", "ANALYZE t"),
    ("CREATE TABLE w (a text COLLATE col)", "DROP COLLATION col", "INSERT INTO w VALUES ('x')"),
    ("CREATE DOMAIN w AS text COLLATE col", "DROP COLLATION col", "SELECT 'x'::w"),
    (
        "CREATE TRIGGER w BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tf()",
        "DROP FUNCTION tf()",
        "INSERT INTO t VALUES (7, '')",
    ),
    ("CREATE TABLE w AS SELECT v FROM v", "DROP VIEW v", "SELECT * FROM w"),
    ("CREATE TABLE w AS SELECT o FROM other o", "DROP TABLE other", "SELECT * FROM w"),
    ("CREATE TABLE w AS SELECT 'a'::e AS x", "DROP TYPE e", "SELECT * FROM w"),
    ("CREATE VIEW w AS SELECT * FROM v", "DROP VIEW v", "SELECT * FROM w"),
    ("CREATE VIEW w AS SELECT * FROM q", "DROP SEQUENCE q", "SELECT * FROM w"),
    ("CREATE VIEW w AS SELECT nextval('q') AS n", "DROP SEQUENCE q", "SELECT * FROM w"),
    ("CREATE MATERIALIZED VIEW w AS SELECT * FROM q", "DROP SEQUENCE q", "REFRESH MATERIALIZED VIEW w"),
    ("CREATE POLICY w ON t USING (a > (SELECT last_value FROM q))", "DROP SEQUENCE q", "SELECT * FROM t"),
    (
        "CREATE FUNCTION w() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT last_value FROM q; END",
        "DROP SEQUENCE q",
        "SELECT w()",
    ),
    (
        "CREATE TABLE w (a int, x bigint DEFAULT nextval('q'))",
        "DROP SEQUENCE q",
        "INSERT INTO w (a) VALUES (1)",
    ),
    ("CREATE VIEW w AS SELECT * FROM other", "DROP TABLE other", "SELECT * FROM w"),
    ("CREATE VIEW w AS SELECT b FROM other", "ALTER TABLE other DROP COLUMN b", "SELECT * FROM w"),
    ("CREATE TABLE w (a int REFERENCES other)", "DROP TABLE other", "INSERT INTO w VALUES (NULL)"),
    ("CREATE TABLE w (x e DEFAULT 'a', y int)", "DROP TYPE e", "INSERT INTO w (y) VALUES (1)"),
    (
        "CREATE TABLE w (x e DEFAULT 'a', y int)",
        "ALTER TYPE e RENAME VALUE 'a' TO 'z'",
        "INSERT INTO w (y) VALUES (1)",
    ),
    ("CREATE TABLE w (x fields)", "DROP FUNCTION told_of(fields); DROP TYPE fields", "SELECT * FROM w"),
    ("CREATE TABLE w (x d)", "DROP DOMAIN d", "INSERT INTO w VALUES (1)"),
    ("CREATE FUNCTION w(e) RETURNS int LANGUAGE sql AS 'SELECT 1'", "DROP TYPE e", "SELECT w(NULL)"),
    (
        "CREATE OPERATOR ==== (LEFTARG = int, RIGHTARG = int, FUNCTION = same_too)",
        "DROP FUNCTION same_too(int, int)",
        "SELECT 1 ==== 2",
    ),
    (
        "CREATE CAST (fields AS int) WITH FUNCTION told_of(fields)",
        "DROP FUNCTION told_of(fields)",
        "SELECT (row(1, '')::fields)::int",
    ),
    (
        "CREATE AGGREGATE w(int) (SFUNC = int4pl, STYPE = int, FINALFUNC = f)",
        "DROP FUNCTION f(int)",
        "SELECT w(a) FROM t",
    ),
];

/// How what a statement drops is made anew by the same names; `None` where the statement drops nothing or something with it.
fn made_anew(drop: &str) -> Option<String> {
    let made = |drop: &str| {
        let head = drop.strip_prefix("DROP ")?.trim_end_matches(" CASCADE");
        let head = format!("CREATE {}", head.split_once('(').map_or(head, |(name, _)| name).trim_end());
        let mut objects = OBJECTS.lines().map(|line| line.trim().trim_end_matches(';'));
        let is_it = |rest: &str| rest.is_empty() || rest.starts_with([' ', '(']);
        objects.find(|object| object.strip_prefix(&*head).is_some_and(is_it))
    };
    let all: Option<Vec<&str>> = drop.rsplit("; ").map(made).collect();
    Some(all?.join("; "))
}

#[test]
fn what_is_dropped_here_can_be_made_anew() {
    assert_eq!(made_anew("DROP DOMAIN d").as_deref(), Some("CREATE DOMAIN d AS int"));
    assert_eq!(
        made_anew("DROP FUNCTION told_of(fields); DROP TYPE fields").as_deref(),
        Some(
            "CREATE TYPE fields AS (x int, y text); \
             CREATE FUNCTION told_of(fields) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1'"
        )
    );
    assert_eq!(made_anew("ALTER TYPE e RENAME VALUE 'a' TO 'z'"), None);
    let drops = NAMED.iter().map(|(drop, _)| *drop).chain(OTHERS.iter().map(|(_, drop, _)| *drop));
    for drop in drops.filter(|drop| drop.starts_with("DROP ")) {
        assert!(made_anew(drop).is_some(), "{drop}");
    }
}

/// Who is first.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Order {
    /// The definition; the drop comes before its transaction ends.
    Definition,
    /// The drop; the definition comes before its transaction ends.
    Drop,
    /// The drop, whose transaction has ended; that of the definition began before.
    Dropped,
    /// The drop, whose transaction ends at some moment after the definition has begun.
    Along,
}

/// A session at work on a thread of its own: waits until it has ended, or waits for a lock.
pub(crate) fn beside(
    database: &Database,
    session: Connection,
    sql: String,
) -> impl FnOnce() -> (Connection, Result<(), String>) + use<> {
    beside_for(database, session, sql, usize::MAX)
}

/// The same; waits for so many turns of this thread at most.
fn beside_for(
    database: &Database,
    mut session: Connection,
    sql: String,
    turns_max: usize,
) -> impl FnOnce() -> (Connection, Result<(), String>) + use<> {
    let ended = Arc::new(AtomicBool::new(false));
    let tells = Arc::clone(&ended);
    let (send, receive) = std::sync::mpsc::channel();
    let thread = Env::real().spawn("session", move || {
        let result = session.execute(&sql).map(drop).map_err(|error| error.sqlstate.to_string());
        tells.store(true, Ordering::SeqCst);
        send.send((session, result)).unwrap();
    });
    let waits = || database.engine().locks().iter().any(|lock| !lock.granted && !lock.blocked_by.is_empty());
    for _ in 0..turns_max {
        if ended.load(Ordering::SeqCst) || waits() {
            break;
        }
        std::thread::yield_now();
    }
    move || {
        let result = receive.recv().unwrap();
        thread.join().unwrap();
        result
    }
}

/// One definition beside one drop; what is wrong.
fn round(
    database: &Database,
    (define, drop, using): (&str, &str, &str),
    (order, turns): (Order, usize),
    level: &str,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let session = || {
        let mut session = database.connect().unwrap();
        session.execute("SET search_path = held; SET synchronous_commit = off").unwrap();
        session
    };
    let mut control = session();
    control.execute(&format!("BEGIN; CREATE SCHEMA held; {OBJECTS}; COMMIT")).unwrap();
    let (mut one, mut two) = (session(), session());
    one.execute(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
    // Nobody else locks that table.
    one.query("SELECT count(*) FROM t").unwrap();
    let state =
        |result: Result<u64, versodb::Error>| result.map(|_| ()).map_err(|error| error.sqlstate.to_string());
    let made = match order {
        Order::Definition => {
            let made = state(one.execute(define));
            if let Err(state) = &made {
                wrong.push(format!("is not made: {state}"));
            }
            let dropping = beside(database, two, drop.to_owned());
            one.execute(if made.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
            let _ = dropping();
            made
        }
        Order::Drop => {
            two.execute(&format!("BEGIN; {drop}")).unwrap();
            let making = beside(database, one, define.to_owned());
            two.execute("COMMIT").unwrap();
            let (mut one, made) = making();
            one.execute(if made.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
            made
        }
        Order::Along => {
            two.execute(&format!("BEGIN; {drop}")).unwrap();
            let making = beside_for(database, one, define.to_owned(), turns);
            two.execute("COMMIT").unwrap();
            let (mut one, made) = making();
            one.execute(if made.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
            made
        }
        Order::Dropped => {
            two.execute(drop).unwrap();
            let made = state(one.execute(define));
            one.execute(if made.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
            made
        }
    };
    wrong.extend(database.catalog_problems().unwrap());
    if matches!(&made, Err(state) if state.starts_with("XX")) {
        wrong.push(format!("is refused: {made:?}"));
    }
    // Who drops with CASCADE may have taken it along.
    if made.is_ok() && !drop.contains("CASCADE") {
        let used = if using.starts_with("SELECT") {
            control.query(using).map(|_| ()).map_err(|error| error.sqlstate.to_string())
        } else {
            state(control.execute(using))
        };
        if let Err(state) = used {
            wrong.push(format!("{using}: {state}"));
        }
    }
    if let Err(state) = state(control.execute("DROP SCHEMA held CASCADE")) {
        wrong.push(format!("DROP SCHEMA: {state}"));
    }
    wrong.into_iter().map(|what| format!("{order:?} first, {level}: {define} | {drop}: {what}")).collect()
}

/// Every definition, how what it names goes, and a statement that uses it.
fn pairs() -> Vec<(String, String, &'static str)> {
    let mut all = Vec::new();
    for (define, of, using) in OF_EXPRESSIONS {
        for (drop, expression) in NAMED {
            all.push((define.replace('@', &expression.replace('#', of)), drop.to_owned(), using));
        }
    }
    all.extend(OTHERS.map(|(define, drop, using)| (define.to_owned(), drop.to_owned(), using)));
    all
}

/// Those that drop something, which they make anew by the same name.
fn remade_pairs() -> Vec<(String, String, &'static str)> {
    let remade = |(define, drop, using): (String, String, &'static str)| {
        let anew = made_anew(&drop)?;
        Some((define, format!("{drop}; {anew}"), using))
    };
    pairs().into_iter().filter_map(remade).collect()
}

fn every_kind(all: &[(String, String, &str)], order: Order) {
    let (directory, database) = new_database();
    let mut wrong = Vec::new();
    for (turns, (define, drop, using)) in all.iter().enumerate() {
        for level in ["READ COMMITTED", "REPEATABLE READ"] {
            // The moment of the one after the other.
            let order = (order, (turns * 37) % 500);
            wrong.extend(round(&database, (define, drop, using), order, level));
        }
    }
    database.close().unwrap();
    let database = Database::open(directory.path().join("test.verso"), Options::new()).unwrap();
    wrong.extend(database.catalog_problems().unwrap());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * all.len(), wrong.join("\n"));
}

#[test]
fn what_a_definition_names_stays_until_it_is_there() {
    every_kind(&pairs(), Order::Definition);
}

#[test]
fn what_is_about_to_go_is_waited_for_by_definitions() {
    every_kind(&pairs(), Order::Drop);
}

#[test]
fn what_has_gone_is_missed_by_definitions_that_still_see_it() {
    every_kind(&pairs(), Order::Dropped);
}

#[test]
fn what_a_definition_names_may_go_at_any_moment_and_come_back_by_its_name() {
    every_kind(&pairs(), Order::Along);
    every_kind(&remade_pairs(), Order::Along);
}

#[test]
fn what_is_about_to_be_made_anew_is_waited_for_by_definitions() {
    every_kind(&remade_pairs(), Order::Drop);
}

#[test]
fn what_was_made_anew_is_not_taken_for_what_a_definition_still_sees() {
    every_kind(&remade_pairs(), Order::Dropped);
}

#[test]
fn a_view_that_one_session_changes_is_waited_for_by_another_that_changes_it() {
    let (_directory, database) = new_database();
    let (mut one, two) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute("CREATE TABLE t (a int, b int); CREATE VIEW v AS SELECT a FROM t").unwrap();
    one.execute("BEGIN; CREATE OR REPLACE VIEW v AS SELECT a, b FROM t").unwrap();
    let renaming = beside(&database, two, "ALTER VIEW v RENAME COLUMN a TO z".to_owned());
    one.execute("COMMIT").unwrap();
    let (two, renamed) = renaming();
    assert_eq!(renamed, Ok(()));
    one.execute("BEGIN; ALTER VIEW v RENAME COLUMN z TO y").unwrap();
    let replacing = beside(&database, two, "CREATE OR REPLACE VIEW v AS SELECT a AS z, b FROM t".to_owned());
    one.execute("COMMIT").unwrap();
    // It would give the column its old name again.
    let (_, replaced) = replacing();
    assert_eq!(replaced, Err("42P16".to_owned()));
}
