//! Indexes on expressions and with conditions, as several sessions and kept plans meet them.

use crate::new_database;

fn explained(connection: &mut versodb::Connection, sql: &str) -> String {
    let rows = connection.query(&format!("EXPLAIN {sql}")).unwrap();
    rows.map(|row| row.text(0)).collect::<Vec<_>>().join("\n")
}

fn one(connection: &mut versodb::Connection, sql: &str) -> String {
    let rows = connection.query(sql).unwrap();
    rows.map(|row| row.text(0)).collect::<Vec<_>>().join(",")
}

#[test]
fn literals_decide_which_index_is_used_though_plans_are_kept() {
    let (_dir, database) = new_database();
    let mut connection = database.connect().unwrap();
    let run = |connection: &mut versodb::Connection, sql: &str| drop(connection.query(sql).unwrap());
    run(&mut connection, "CREATE TABLE task (id integer PRIMARY KEY, state text, data jsonb)");
    run(
        &mut connection,
        "INSERT INTO task SELECT g, CASE WHEN g % 50 = 0 THEN 'open' ELSE 'done' END, \
         jsonb_build_object('k', 'v' || g) FROM generate_series(1, 2000) AS g",
    );
    // Known as texts with parameters before the indexes are there.
    for state in ["open", "done", "none"] {
        one(&mut connection, &format!("SELECT count(*) FROM task WHERE state = '{state}'"));
        one(&mut connection, &format!("SELECT id FROM task WHERE data->>'k' = 'v{}'", state.len()));
    }
    run(&mut connection, "CREATE INDEX task_open ON task (id) WHERE state = 'open'");
    run(&mut connection, "CREATE INDEX task_k ON task ((data->>'k'))");
    let counts = |connection: &mut versodb::Connection| {
        ["open", "done", "none", "open"]
            .map(|state| one(connection, &format!("SELECT count(*) FROM task WHERE state = '{state}'")))
    };
    assert_eq!(counts(&mut connection), ["40", "1960", "0", "40"]);
    assert_eq!(one(&mut connection, "SELECT id FROM task WHERE data->>'k' = 'v77'"), "77");
    assert_eq!(one(&mut connection, "SELECT id FROM task WHERE data->>'none' = 'v77'"), "");
    for (condition, index) in [
        ("state = 'open'", Some("task_open")),
        ("state = 'done'", None),
        ("state IN ('open')", Some("task_open")),
        ("state IN ('open', 'done')", None),
        ("state = 'open' AND id < 100", Some("task_open")),
        ("state = 'open' OR id = 3", None),
        ("data->>'k' = 'v5'", Some("task_k")),
        ("data->>'x' = 'v5'", None),
    ] {
        let plan = explained(&mut connection, &format!("SELECT id FROM task WHERE {condition}"));
        match index {
            Some(index) => assert!(plan.contains(index), "{condition}: {plan}"),
            None => assert!(!plan.contains("task_"), "{condition}: {plan}"),
        }
    }
}

#[test]
fn conditions_that_follow_are_found_and_others_are_not() {
    let (_dir, database) = new_database();
    let mut connection = database.connect().unwrap();
    drop(connection.query("CREATE TABLE t (a integer, b integer, c text, d boolean)").unwrap());
    for (condition, follow, not) in [
        (
            "a > 10",
            &["a > 10", "a = 11", "a >= 11", "a BETWEEN 20 AND 30", "a IN (11, 12)", "12 < a"][..],
            &["a >= 10", "a = 10", "a <> 3", "b > 10", "a > b"][..],
        ),
        (
            "a IS NOT NULL",
            &["a = 3", "a + 1 > b", "a IN (1, 2)", "a < 4 OR a > 9"],
            &["b = 3", "a IS NULL", "a = 3 OR b = 1", "coalesce(a, 1) = 1", "NOT (a = 1 AND b = 2)"],
        ),
        ("a > 1 AND b < 5", &["a > 1 AND b < 5 AND c = 'x'", "b = 4 AND a = 2"], &["a > 1", "b < 5"]),
        ("a = 1 OR b = 2", &["a = 1", "b = 2 AND c = 'x'", "a = 1 OR b = 2"], &["a = 2", "a = 1 OR b = 3"]),
        ("c <> 'x'", &["c = 'y'", "c > 'x'", "c <> 'x'"], &["c = 'x'", "c <> 'y'", "c >= 'x'"]),
        ("d", &["d", "d AND a = 1"], &["NOT d", "d IS NOT NULL"]),
    ] {
        drop(connection.query(&format!("CREATE INDEX only_these ON t (b) WHERE {condition}")).unwrap());
        for (list, used) in [(follow, true), (not, false)] {
            for wanted in list {
                let plan = explained(&mut connection, &format!("SELECT * FROM t WHERE {wanted}"));
                assert_eq!(plan.contains("only_these"), used, "{condition} from {wanted}: {plan}");
            }
        }
        drop(connection.query("DROP INDEX only_these").unwrap());
    }
}

#[test]
fn a_snapshot_from_before_reads_the_same_when_an_index_was_made() {
    let (_dir, database) = new_database();
    let mut connection = database.connect().unwrap();
    drop(connection.query("CREATE TABLE t (a integer, b text)").unwrap());
    drop(connection.query("CREATE TABLE other (a integer)").unwrap());
    drop(connection.query("INSERT INTO t SELECT g, 'B' || g FROM generate_series(1, 50) AS g").unwrap());
    let mut old = database.connect().unwrap();
    drop(old.query("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap());
    // A snapshot, and no lock on the table.
    assert_eq!(one(&mut old, "SELECT count(*) FROM other"), "0");
    drop(connection.query("UPDATE t SET b = 'C' || a WHERE a = 7").unwrap());
    drop(connection.query("CREATE INDEX ON t (lower(b)) WHERE a > 3").unwrap());
    assert_eq!(one(&mut old, "SELECT a FROM t WHERE lower(b) = 'b7' AND a > 3"), "7");
    assert_eq!(one(&mut connection, "SELECT a FROM t WHERE lower(b) = 'b7' AND a > 3"), "");
    assert_eq!(one(&mut connection, "SELECT a FROM t WHERE lower(b) = 'c7' AND a > 3"), "7");
    drop(old.query("COMMIT").unwrap());
    assert_eq!(one(&mut old, "SELECT a FROM t WHERE lower(b) = 'c7' AND a > 3"), "7");
}
