//! COPY through the protocol.

use super::World;
use super::raw::{message, query};

#[test]
fn rows_go_in_and_come_out() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer, b text DEFAULT 'none')");
    raw.send(&query("COPY t FROM STDIN"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    // Pieces are cut anywhere.
    raw.send(&message('d', b"1\tone\n2\tt"));
    raw.send(&message('d', b"wo\n"));
    assert_eq!(raw.kinds(&message('c', b"")), "CZI");
    raw.send(&query("COPY t (a) FROM STDIN WITH (FORMAT csv, HEADER)"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    raw.send(&message('d', b"a\n3\n"));
    assert_eq!(raw.kinds(&message('c', b"")), "CZI");
    let replies = raw.query("COPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT csv)");
    let kinds: String = replies.iter().map(|reply| reply.kind).collect();
    assert_eq!(kinds, "HdddcCZ");
    assert_eq!(replies[3].body, b"3,none\n");
    assert_eq!(replies[5].text(), "COPY 3");
}

#[test]
fn copy_sends_the_rows_that_a_change_returns() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (id serial, v text)");
    let mut copied = |text: &str| {
        let replies = raw.query(text);
        let lines = replies.iter().filter(|reply| reply.kind == 'd' || reply.kind == 'E').map(|reply| {
            match reply.kind {
                'E' => format!(
                    "{} {}",
                    reply.field('C').unwrap_or_default(),
                    reply.field('M').unwrap_or_default()
                ),
                _ => String::from_utf8_lossy(&reply.body).into_owned(),
            }
        });
        lines.collect::<Vec<_>>().concat()
    };
    // As PostgreSQL 18 answers.
    assert_eq!(
        copied("COPY (INSERT INTO t (v) VALUES ('a'), ('b') RETURNING id, v) TO STDOUT"),
        "1\ta\n2\tb\n"
    );
    assert_eq!(
        copied("COPY (UPDATE t SET v = 'c' WHERE id = 2 RETURNING *) TO STDOUT (FORMAT csv, HEADER)"),
        "id,v\n2,c\n"
    );
    assert_eq!(
        copied("COPY (WITH gone AS (DELETE FROM t WHERE id = 1 RETURNING v) SELECT * FROM gone) TO STDOUT"),
        "a\n"
    );
    let merge =
        "MERGE INTO t USING (VALUES (2)) n (id) ON t.id = n.id WHEN MATCHED THEN DELETE RETURNING t.v";
    assert_eq!(copied(&format!("COPY ({merge}) TO STDOUT")), "c\n");
    assert_eq!(copied("COPY (SELECT * FROM t) TO STDOUT"), "");
    let refused = "0A000 COPY query must have a RETURNING clause";
    assert_eq!(copied("COPY (DELETE FROM t) TO STDOUT"), refused);
    assert_eq!(copied("COPY (SELECT 1 INTO u) TO STDOUT"), "0A000 COPY (SELECT INTO) is not supported");
    copied("BEGIN READ ONLY");
    let readonly = "25006 cannot execute INSERT in a read-only transaction";
    assert_eq!(copied("COPY (INSERT INTO t (v) VALUES ('z') RETURNING id) TO STDOUT"), readonly);
}

#[test]
fn a_copy_that_fails_leaves_nothing_and_the_session_in_step() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    raw.send(&query("COPY t FROM STDIN"));
    raw.send(&message('d', b"1\nx\n"));
    raw.send(&message('d', b"2\n"));
    let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E');
    // The server may notice before the end of the data comes; the rest is passed over.
    raw.send(&message('c', b""));
    let error = error.unwrap_or_else(|| raw.until('Z').into_iter().find(|reply| reply.kind == 'E').unwrap());
    assert_eq!(error.field('C').as_deref(), Some("22P02"));
    assert_eq!(error.field('W').as_deref(), Some("COPY t, line 2, column a: \"x\""));
    assert_eq!(raw.value("SELECT count(*) FROM t"), "0");
    raw.send(&query("COPY t FROM STDIN"));
    raw.send(&message('d', b"1\n"));
    raw.send(&message('f', b"changed my mind\0"));
    let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E').unwrap();
    assert_eq!(error.field('C').as_deref(), Some("57014"));
    assert_eq!(error.field('M').as_deref(), Some("COPY from stdin failed: changed my mind"));
    assert_eq!(raw.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn constraints_name_the_line() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE c (a integer CHECK (a > 0), b integer NOT NULL, u integer UNIQUE)");
    let mut context = |sql: &str, data: &str| {
        raw.send(&query(sql));
        raw.send(&message('d', data.as_bytes()));
        raw.send(&message('c', b""));
        let error = raw.until('Z').into_iter().find(|reply| reply.kind == 'E').unwrap();
        error.field('W').unwrap_or_default()
    };
    assert_eq!(context("COPY c FROM STDIN", "1\t1\t1\n-1\t1\t2\n"), "COPY c, line 2: \"-1\t1\t2\"");
    assert_eq!(context("COPY c FROM STDIN", "1\t1\t1\n1\t\\N\t2\n"), "COPY c, line 2: \"1\t\\N\t2\"");
    // More than a batch before it.
    let many: String = (1..3000).map(|n| format!("{n},{n},{n}\n")).collect();
    let many = format!("{many}-7,1,0\n");
    assert_eq!(context("COPY c FROM STDIN CSV", &many), "COPY c, line 3000: \"-7,1,0\"");
    // Filters leave rows out: it is not known which line it was then.
    assert_eq!(context("COPY c FROM STDIN CSV WHERE u > 0", "1,1,0\n-1,1,1\n"), "COPY c");
    assert_eq!(raw.value("SELECT count(*) FROM c"), "0");
}

#[test]
fn files_are_for_superusers_only() {
    let world = World::prepared(
        |database| {
            database.connect().unwrap().execute("CREATE USER guest").unwrap();
        },
        |_| {},
    );
    let path = world.directory.path().join("rows.txt");
    let mut owner = world.connect();
    let sql = format!("COPY (SELECT * FROM generate_series(1, 3)) TO '{}'", path.display());
    assert_eq!(owner.kinds(&query(&sql)), "CZI");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1\n2\n3\n");
    owner.query("CREATE TABLE t (a integer)");
    assert_eq!(owner.kinds(&query(&format!("COPY t FROM '{}'", path.display()))), "CZI");
    assert_eq!(owner.value("SELECT sum(a) FROM t"), "6");
    assert_eq!(owner.code("COPY t FROM '/nowhere/at/all'"), "58P01");
    let parameters = [("user", "guest"), ("database", "verso")];
    let mut guest = super::raw::Raw::login_with(world.address, 3 << 16, &parameters);
    assert_eq!(guest.code(&sql), "42501");
    assert_eq!(guest.code("CREATE ROLE other"), "42501");
}

/// As PostgreSQL 18 answers: what a function makes is there, and what the query reads it leaves alone.
#[test]
fn functions_of_a_query_that_is_copied_may_define_something() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer PRIMARY KEY)");
    raw.query("INSERT INTO t VALUES (1), (2)");
    raw.query(
        "CREATE FUNCTION makes(n integer) RETURNS integer LANGUAGE plpgsql
         AS 'BEGIN EXECUTE format(''CREATE TABLE made%s (a integer)'', n); RETURN n; END'",
    );
    raw.query(
        "CREATE FUNCTION empties(n integer) RETURNS integer LANGUAGE plpgsql
         AS 'BEGIN TRUNCATE t; RETURN n; END'",
    );
    let rows = raw.query("COPY (SELECT makes(a) FROM t ORDER BY a) TO STDOUT");
    assert_eq!(rows.iter().map(|reply| reply.kind).collect::<String>(), "HddcCZ");
    assert_eq!(raw.value("SELECT count(*) FROM made1, made2"), "0");
    for refused in
        ["COPY (SELECT empties(a) FROM t) TO STDOUT", "COPY (SELECT 1 FROM t WHERE empties(a) = 1) TO STDOUT"]
    {
        assert_eq!(raw.code(refused), "55006", "{refused}");
    }
    assert_eq!(raw.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn what_is_no_data_of_a_copy_ends_the_connection_with_its_reason() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (a integer)");
    raw.send(&query("COPY t FROM STDIN"));
    assert_eq!(raw.next().unwrap().kind, 'G');
    raw.send(&query("SELECT 1"));
    let told = |reply: super::raw::Reply| ['S', 'C', 'M'].map(|field| reply.field(field).unwrap_or_default());
    let why = "unexpected message type 0x51 during COPY from stdin";
    assert_eq!(told(raw.next().unwrap()), ["ERROR", "08P01", why]);
    let end = "terminating connection because protocol synchronization was lost";
    assert_eq!(told(raw.next().unwrap()), ["FATAL", "08P01", end]);
    assert!(raw.next().is_none());
}

/// Runs a COPY of these data: its tag or the error's code and message, then the notices.
fn copy_in(raw: &mut super::raw::Raw, sql: &str, data: &str) -> Vec<String> {
    raw.send(&query(sql));
    let first = raw.next().unwrap();
    let mut replies = vec![first];
    if replies[0].kind == 'G' {
        raw.send(&message('d', data.as_bytes()));
        raw.send(&message('c', b""));
        replies.clear();
    }
    replies.extend(raw.until('Z'));
    let of = |kind: char| replies.iter().filter(move |reply| reply.kind == kind);
    let field = |reply: &super::raw::Reply, field: char| reply.field(field).unwrap_or_default();
    let mut said: Vec<String> = of('C').map(|reply| reply.text()).collect();
    said.extend(of('E').map(|reply| format!("{} {}", field(reply, 'C'), field(reply, 'M'))));
    said.extend(of('N').map(|reply| field(reply, 'M')));
    said
}

/// Expected outcomes are those of PostgreSQL 18.
#[test]
fn rows_that_cannot_be_read_are_left_out_where_that_is_asked_for() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (id integer, name varchar(3), v integer)");
    let data = "1\ta\t10\nx\tb\t20\n3\tlong\t1\n4\td\t40\n5\t\\N\t99999999999\n";
    let skipped = "3 rows were skipped due to data type incompatibility";
    let verbose = |line: u32, column: &str, value: &str| {
        format!(
            "skipping row due to data type incompatibility at line {line} for column \"{column}\": \"{value}\""
        )
    };
    let mut ignore =
        |options: &str| copy_in(&mut raw, &format!("COPY t FROM STDIN (ON_ERROR ignore{options})"), data);
    assert_eq!(ignore(""), ["COPY 2", skipped]);
    assert_eq!(ignore(", LOG_VERBOSITY silent"), ["COPY 2"]);
    let lines = [verbose(2, "id", "x"), verbose(3, "name", "long"), verbose(5, "v", "99999999999")];
    let expected: Vec<&str> =
        ["COPY 2"].into_iter().chain(lines.iter().map(String::as_str)).chain([skipped]).collect();
    assert_eq!(ignore(", LOG_VERBOSITY verbose"), expected);
    assert_eq!(ignore(", REJECT_LIMIT 3"), ["COPY 2", skipped]);
    let limit = "22P02 skipped more than REJECT_LIMIT (2) rows due to data type incompatibility";
    assert_eq!(ignore(", REJECT_LIMIT 2"), [limit]);
    assert_eq!(ignore(", REJECT_LIMIT 0"), ["22023 REJECT_LIMIT (0) must be greater than zero"]);
    assert_eq!(ignore(", ON_ERROR stop"), ["42601 conflicting or redundant options"]);
    assert_eq!(ignore(", FORMAT binary"), ["42601 only ON_ERROR STOP is allowed in BINARY mode"]);
    let mut one = |sql: &str, data: &str| copy_in(&mut raw, sql, data);
    let csv = "COPY t FROM STDIN (FORMAT csv, ON_ERROR 'ignore')";
    assert_eq!(one(csv, "x,a,1\n"), ["COPY 0", "1 row was skipped due to data type incompatibility"]);
    // What is no matter of types is an error as ever.
    assert_eq!(one(csv, "1,a\n"), ["22P04 missing data for column \"v\""]);
    let stop = "COPY t FROM STDIN (ON_ERROR stop)";
    assert_eq!(one(stop, data), ["22P02 invalid input syntax for type integer: \"x\""]);
    for (options, error) in [
        ("FROM STDIN (ON_ERROR foo)", "22023 COPY ON_ERROR \"foo\" not recognized"),
        ("FROM STDIN (LOG_VERBOSITY foo)", "22023 COPY LOG_VERBOSITY \"foo\" not recognized"),
        ("FROM STDIN (REJECT_LIMIT 2)", "22023 COPY REJECT_LIMIT requires ON_ERROR to be set to IGNORE"),
        ("TO STDOUT (ON_ERROR ignore)", "22023 COPY ON_ERROR cannot be used with COPY TO"),
    ] {
        assert_eq!(one(&format!("COPY t {options}"), ""), [error]);
    }
    assert_eq!(raw.value("SELECT count(*) FROM t"), "8");
}

/// Expected outcomes are those of PostgreSQL 18.
#[test]
fn a_condition_chooses_the_rows_that_go_in() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (id integer, name text, v integer DEFAULT 7, CHECK (id < 100))");
    let mut one = |sql: &str, data: &str| copy_in(&mut raw, sql, data);
    let data = "1\ta\t10\n200\tb\t20\n4\td\t40\n5\t\\N\t50\n";
    assert_eq!(one("COPY t FROM STDIN WHERE v > 10 AND id < 100 AND name IS NOT NULL", data), ["COPY 1"]);
    // Defaults are there already, constraints are looked at only then.
    assert_eq!(
        one("COPY t (name, id) FROM STDIN (FORMAT csv) WHERE v = 7 AND t.id = 2", "x,2\ny,3\n"),
        ["COPY 1"]
    );
    assert_eq!(
        one("COPY t FROM STDIN (ON_ERROR ignore) WHERE id < 100", "x\ta\t1\n300\tb\t1\n6\tc\t1\n"),
        ["COPY 1", "1 row was skipped due to data type incompatibility"]
    );
    for (condition, error) in [
        ("nosuch > 1", "42703 column \"nosuch\" does not exist"),
        ("v", "42804 argument of WHERE must be type boolean, not type integer"),
        ("v > (SELECT 1)", "0A000 cannot use subquery in COPY FROM WHERE condition"),
        ("count(*) > 1", "42803 aggregate functions are not allowed in COPY FROM WHERE conditions"),
    ] {
        assert_eq!(one(&format!("COPY t FROM STDIN WHERE {condition}"), ""), [error]);
    }
    assert_eq!(one("COPY t TO STDOUT WHERE v > 1", ""), ["42601 WHERE clause not allowed with COPY TO"]);
    assert_eq!(raw.value("SELECT count(*) || ' ' || sum(id) || ' ' || sum(v) FROM t"), "3 12 48");
}

/// Expected outcomes are those of PostgreSQL 18.
#[test]
fn data_ask_for_the_defaults_of_columns() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query(
        "CREATE TABLE cd (a int DEFAULT 7, b text DEFAULT 'x' || 'y', c int, d int NOT NULL DEFAULT 1)",
    );
    let mut one = |sql: &str, data: &str| copy_in(&mut raw, sql, data);
    let text = "COPY cd (a, b, c) FROM STDIN (DEFAULT '\\D')";
    assert_eq!(one(text, "\\D\t\\D\t1\n2\t\\N\t\\N\n"), ["COPY 2"]);
    assert_eq!(one(text, "1\t2\t\\D\n"), ["22P04 unexpected default marker in COPY data"]);
    // what is quoted is a value
    assert_eq!(one("COPY cd (b, a) FROM STDIN (FORMAT csv, DEFAULT 'dd')", "dd,dd\n\"dd\",3\n"), ["COPY 2"]);
    assert_eq!(one("COPY cd (a) FROM STDIN (DEFAULT 'D') WHERE a = 7", "D\n8\n"), ["COPY 1"]);
    for (options, error) in [
        ("FROM STDIN (FORMAT binary, DEFAULT 'x')", "42601 cannot specify DEFAULT in BINARY mode"),
        ("TO STDOUT (DEFAULT 'x')", "0A000 COPY DEFAULT cannot be used with COPY TO"),
        (
            "FROM STDIN (DEFAULT E'a\\nb')",
            "22023 COPY default representation cannot use newline or carriage return",
        ),
        (
            "FROM STDIN (DEFAULT E'a\\tb')",
            "0A000 COPY delimiter character must not appear in the DEFAULT specification",
        ),
        (
            "FROM STDIN (DEFAULT '\\N')",
            "0A000 NULL specification and DEFAULT specification cannot be the same",
        ),
        (
            "FROM STDIN (FORMAT csv, DEFAULT 'a\"')",
            "0A000 CSV quote character must not appear in the DEFAULT specification",
        ),
        ("FROM STDIN (DEFAULT 'a', DEFAULT 'b')", "42601 conflicting or redundant options"),
    ] {
        assert_eq!(one(&format!("COPY cd {options}"), ""), [error]);
    }
    let rows = "SELECT string_agg(concat_ws(',', a, b, c, d), ' ' ORDER BY a, b) FROM cd";
    assert_eq!(raw.value(rows), "2,1 3,dd,1 7,xy,1,1 7,xy,1 7,xy,1");
}

/// Expected outcomes are those of PostgreSQL 18.
#[test]
fn functions_of_defaults_and_conditions_see_the_rows_before_and_those_of_checks_not_all() {
    let world = World::new();
    let mut raw = world.connect();
    raw.query("CREATE TABLE t (id integer PRIMARY KEY, v integer)");
    raw.query(
        "CREATE FUNCTION next_id() RETURNS integer LANGUAGE sql AS 'SELECT coalesce(max(id), 0) + 1 FROM t'",
    );
    raw.query(
        "CREATE FUNCTION n() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM t); END'",
    );
    raw.query("ALTER TABLE t ALTER id SET DEFAULT next_id()");
    assert_eq!(copy_in(&mut raw, "COPY t (v) FROM STDIN", "10\n20\n30\n"), ["COPY 3"]);
    assert_eq!(raw.value("SELECT string_agg(id || '-' || v, ' ' ORDER BY id) FROM t"), "1-10 2-20 3-30");
    let rows = "11\t1\n12\t1\n13\t1\n";
    assert_eq!(copy_in(&mut raw, "COPY t FROM STDIN WHERE n() < 5", rows), ["COPY 2"]);
    assert_eq!(raw.value("SELECT max(id) FROM t"), "12");
    raw.query("ALTER TABLE t ADD CHECK (n() < 6)");
    // Some rows are kept back before they are added.
    assert_eq!(copy_in(&mut raw, "COPY t FROM STDIN", "21\t1\n22\t1\n23\t1\n"), ["COPY 3"]);
    let refused = ["23514 new row for relation \"t\" violates check constraint \"t_check\""];
    assert_eq!(copy_in(&mut raw, "COPY t FROM STDIN", "24\t1\n"), refused);
}
