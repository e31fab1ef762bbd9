//! PREPARE and EXECUTE, cursors. Expected outcomes are PostgreSQL's.

use crate::World;

#[test]
fn prepared_statements_of_sql() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'one'), (2, 'two')");
    assert_eq!(client.run("PREPARE find AS SELECT b FROM t WHERE a = $1"), ["PREPARE"]);
    assert_eq!(client.run("EXECUTE find(2)"), ["two", "SELECT 1"]);
    assert_eq!(client.run("EXECUTE find('1')"), ["one", "SELECT 1"]);
    assert_eq!(client.run("EXECUTE find(1 + 1)"), ["two", "SELECT 1"]);
    assert_eq!(client.fails("PREPARE find AS SELECT 1").0, "42P05");
    assert_eq!(client.fails("EXECUTE nothing").0, "26000");
    assert_eq!(
        client.fails("EXECUTE find"),
        ("42601", "wrong number of parameters for prepared statement \"find\"".to_string())
    );
    assert_eq!(client.fails("EXECUTE find(true)").0, "42804");
    client.run("PREPARE add (int, text) AS INSERT INTO t VALUES ($1, $2)");
    assert_eq!(client.run("EXECUTE add(3, 'three')"), ["INSERT 0 1"]);
    assert_eq!(client.run("BEGIN; EXECUTE add(4, 'four'); ROLLBACK"), ["BEGIN", "INSERT 0 1", "ROLLBACK"]);
    assert_eq!(client.value("SELECT count(*) FROM t"), "3");
    assert_eq!(client.run("DEALLOCATE find"), ["DEALLOCATE"]);
    assert_eq!(client.fails("DEALLOCATE PREPARE find").0, "26000");
    assert_eq!(client.run("DEALLOCATE ALL"), ["DEALLOCATE ALL"]);
    assert_eq!(client.fails("EXECUTE add(1, '')").0, "26000");
    assert_eq!(client.fails("PREPARE x AS BEGIN").0, "42601");
}

#[test]
fn cursors_read_the_state_at_declare() {
    let world = World::new();
    let (mut client, mut other) = (world.connect(), world.connect());
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2), (3), (4)");
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT a FROM t WHERE a < 100");
    other.run("INSERT INTO t VALUES (5)");
    assert_eq!(client.run("FETCH c"), ["1", "FETCH 1"]);
    // The session's own changes are not seen either, by the rows that are left.
    client.run("UPDATE t SET a = a + 10 WHERE a > 1; DELETE FROM t WHERE a = 12; INSERT INTO t VALUES (9)");
    assert_eq!(client.run("FETCH 2 FROM c"), ["2", "3", "FETCH 2"]);
    assert_eq!(client.run("FETCH ALL IN c"), ["4", "FETCH 1"]);
    assert_eq!(client.run("FETCH NEXT FROM c"), ["FETCH 0"]);
    assert_eq!(client.fails("FETCH PRIOR FROM c").0, "55000");
    client.run("ROLLBACK");
    assert_eq!(client.fails("FETCH c").0, "34000");
}

#[test]
fn cursors_with_scroll_go_anywhere() {
    let world = World::new();
    let mut client = world.connect();
    client.run("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT n FROM generate_series(1, 5) AS s(n)");
    for (fetch, rows) in [
        ("FETCH LAST FROM c", &["5"][..]),
        ("FETCH PRIOR FROM c", &["4"]),
        ("FETCH BACKWARD 2 FROM c", &["3", "2"]),
        ("FETCH RELATIVE 0 FROM c", &["2"]),
        ("FETCH ABSOLUTE -2 FROM c", &["4"]),
        ("FETCH FORWARD ALL FROM c", &["5"]),
        ("FETCH NEXT FROM c", &[]),
        ("FETCH BACKWARD ALL FROM c", &["5", "4", "3", "2", "1"]),
        ("FETCH PRIOR FROM c", &[]),
        ("FETCH 2 FROM c", &["1", "2"]),
        ("FETCH -1 FROM c", &["1"]),
        ("FETCH RELATIVE 3 FROM c", &["4"]),
        ("FETCH FIRST FROM c", &["1"]),
        ("FETCH ABSOLUTE 9 FROM c", &[]),
        ("FETCH BACKWARD FROM c", &["5"]),
    ] {
        let mut expected: Vec<String> = rows.iter().map(|row| row.to_string()).collect();
        expected.push(format!("FETCH {}", rows.len()));
        assert_eq!(client.run(fetch), expected, "{fetch}");
    }
    assert_eq!(client.run("MOVE FIRST FROM c; MOVE 2 FROM c; FETCH c"), ["MOVE 1", "MOVE 2", "4", "FETCH 1"]);
    assert_eq!(client.run("CLOSE c; COMMIT"), ["CLOSE CURSOR", "COMMIT"]);
}

#[test]
fn cursors_live_as_long_as_they_should() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2), (3)");
    assert_eq!(client.fails("DECLARE c CURSOR FOR SELECT a FROM t").0, "25P01");
    client.run("DECLARE h CURSOR WITH HOLD FOR SELECT a FROM t");
    client.run("DELETE FROM t WHERE a = 2");
    assert_eq!(client.run("FETCH 2 FROM h"), ["1", "2", "FETCH 2"]);
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT a FROM t; DECLARE i CURSOR WITH HOLD FOR SELECT a FROM t");
    assert_eq!(client.run("FETCH i"), ["1", "FETCH 1"]);
    assert_eq!(client.fails("DECLARE c CURSOR FOR SELECT 1").0, "42P03");
    client.run("ROLLBACK");
    assert_eq!(client.fails("FETCH i").0, "34000");
    client.run("BEGIN; DECLARE i CURSOR WITH HOLD FOR SELECT a FROM t; FETCH i; COMMIT");
    assert_eq!(client.run("FETCH i"), ["3", "FETCH 1"]);
    assert_eq!(client.run("FETCH h"), ["3", "FETCH 1"]);
    client.run("BEGIN; SAVEPOINT s; DECLARE c CURSOR FOR SELECT a FROM t; ROLLBACK TO s");
    assert_eq!(client.fails("FETCH c").0, "34000");
    client.run("ROLLBACK");
    assert_eq!(client.run("CLOSE ALL"), ["CLOSE CURSOR ALL"]);
    assert_eq!(client.fails("CLOSE h").0, "34000");
    assert_eq!(client.run("DISCARD ALL"), ["DISCARD ALL"]);
}

#[test]
fn a_cursor_whose_query_runs_stays_as_it_is() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE FUNCTION does(what text) RETURNS int LANGUAGE plpgsql AS $$ BEGIN EXECUTE what; RETURN 1; END $$",
    );
    for (what, code) in [
        ("FETCH c", "55000"),
        ("MOVE c", "55000"),
        ("CLOSE c", "24000"),
        ("DECLARE c CURSOR FOR SELECT 1", "42P03"),
    ] {
        for scroll in ["", "SCROLL"] {
            client.run("BEGIN");
            client.run(&format!("DECLARE c {scroll} CURSOR FOR SELECT does('{what}')"));
            assert_eq!(client.fails("FETCH c").0, code, "{what}");
            client.run("ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT 1; CLOSE c; COMMIT");
        }
    }
    client.run("BEGIN; DECLARE c CURSOR FOR SELECT does('CLOSE ALL')");
    assert_eq!(client.run("FETCH c"), ["1", "FETCH 1"]);
    client.run("COMMIT");
}

#[test]
fn literals_of_a_plan_that_is_not_kept_are_those_of_the_prepared_statement() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "SET timezone = 'UTC'; CREATE TABLE t (at timestamptz); INSERT INTO t VALUES ('2024-01-01 08:00Z')",
    );
    client.run("PREPARE p AS SELECT at = '2024-01-01 08:00' FROM t; SET timezone = 'Asia/Tokyo'");
    assert_eq!(client.run("EXECUTE p"), ["t", "SELECT 1"]);
    client.run("SET verso_rules_off = 'all'");
    assert_eq!(client.run("EXECUTE p"), ["t", "SELECT 1"]);
}
