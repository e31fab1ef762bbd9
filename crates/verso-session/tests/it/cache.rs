//! The statement cache: what it keeps means what the text means.

use verso_types::Value;

use crate::{Client, World};

#[test]
fn literals_share_a_plan_and_keep_their_meaning() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b varchar(5), c numeric(10,2), d date)");
    for (a, b) in [(1, "one"), (2, "two"), (3, "it''s")] {
        let sql = format!("INSERT INTO t VALUES ({a}, '{b}', {a}.25, '2024-0{a}-01')");
        assert_eq!(client.run(&sql), ["INSERT 0 1"]);
    }
    assert_eq!(client.value("SELECT b FROM t WHERE a = 1"), "one");
    assert_eq!(client.value("SELECT b FROM t WHERE a = 3"), "it's");
    assert_eq!(client.value("SELECT a FROM t WHERE d = '2024-02-01'"), "2");
    assert_eq!(client.value("SELECT a FROM t WHERE d = '2024-03-01'"), "3");
    assert_eq!(client.value("SELECT a FROM t WHERE a = 30000000000 / 10000000000"), "3");
    // Types of literals stay: an integer divides as an integer, a numeric one as a numeric one.
    assert_eq!(client.value("SELECT 7 / 2"), "3");
    assert_eq!(client.value("SELECT 7.0 / 2"), "3.5000000000000000");
    assert_eq!(client.value("SELECT '7' || 2"), "72");
    assert_eq!(client.value("SELECT -2147483648"), "-2147483648");
    assert_eq!(client.value("SELECT pg_typeof(5)"), "integer");
    assert_eq!(client.value("SELECT pg_typeof(5000000000)"), "bigint");
}

#[test]
fn numbers_of_columns_and_repeated_expressions_are_not_parameters() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 20), (2, 10)");
    for _ in 0..2 {
        assert_eq!(client.run("SELECT a, b FROM t ORDER BY 1"), ["1|20", "2|10", "SELECT 2"]);
        assert_eq!(client.run("SELECT a, b FROM t ORDER BY 2"), ["2|10", "1|20", "SELECT 2"]);
        assert_eq!(
            client.run("SELECT a + 1, count(*) FROM t WHERE b > 5 GROUP BY a + 1 ORDER BY 1"),
            ["2|1", "3|1", "SELECT 2"]
        );
        assert_eq!(client.run("SELECT a FROM t ORDER BY a LIMIT 1"), ["1", "SELECT 1"]);
        assert_eq!(
            client.run("SELECT a::varchar(1), 'x'::char(3) FROM t ORDER BY a LIMIT 1"),
            ["1|x  ", "SELECT 1"]
        );
    }
}

#[test]
fn errors_point_into_the_text_given() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    for _ in 0..2 {
        client.run("SELECT a FROM t WHERE a = 100 AND a > '7'");
        let sql = "SELECT a FROM t WHERE a = 1000 AND a > 'x'";
        let error = client.try_run(sql).expect_err("no number");
        assert_eq!((error.sqlstate, error.position), ("22P02", Some(40)));
        let error = client.try_run("SELECT a FROM t WHERE a = 1000 AND b > 'x'").expect_err("no column");
        assert_eq!((error.sqlstate, error.position), ("42703", Some(36)));
        // An operator may touch the sign behind it, whether the literal is replaced or not.
        assert_eq!(client.run("SELECT a FROM t WHERE a>-100 AND a<>-+7"), ["SELECT 0"]);
        let error = client.try_run("SELECT a FROM t WHERE a>-1000 AND b>-1").expect_err("no column");
        assert_eq!((error.sqlstate, error.position), ("42703", Some(35)));
    }
    client.run("DROP TABLE t");
    let error = client.try_run("SELECT a FROM t WHERE a = 1 AND a > '7'").expect_err("no table");
    assert_eq!((error.sqlstate, error.position), ("42P01", Some(15)));
}

/// A literal that was no value of the column's old type, in texts that were kept while the column had it.
#[test]
fn literals_are_read_as_the_columns_are_now() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE s (v int2); CREATE FUNCTION f(int) RETURNS int LANGUAGE sql AS 'SELECT $1'");
    for client in [&mut one, &mut two] {
        client.run("INSERT INTO s VALUES ('1')");
        client.run("UPDATE s SET v = '2'");
        assert_eq!(client.value("SELECT count(*) FROM s WHERE v = '7'"), "0");
        assert_eq!(client.value("SELECT f('3')"), "3");
        let error = client.try_run("INSERT INTO s VALUES ('70000')").expect_err("too large");
        assert_eq!((error.sqlstate, error.position), ("22003", Some(23)));
    }
    one.run("ALTER TABLE s ALTER v TYPE int8");
    for client in [&mut two, &mut one] {
        assert_eq!(client.run("INSERT INTO s VALUES ('70000')"), ["INSERT 0 1"]);
        assert_eq!(client.run("UPDATE s SET v = '80000' WHERE v = '70000'"), ["UPDATE 1"]);
        assert_eq!(client.value("SELECT count(*) FROM s WHERE v = '90000'"), "0");
    }
    one.run("DROP TABLE s; CREATE TABLE s (v text)");
    one.run("DROP FUNCTION f(int); CREATE FUNCTION f(text) RETURNS text LANGUAGE sql AS 'SELECT $1'");
    for (client, rows) in [(&mut two, 1), (&mut one, 2)] {
        assert_eq!(client.run("INSERT INTO s VALUES ('ab')"), ["INSERT 0 1"]);
        assert_eq!(client.run("UPDATE s SET v = 'cd'"), [format!("UPDATE {rows}")]);
        assert_eq!(client.value("SELECT count(*) FROM s WHERE v = 'cd'"), rows.to_string());
        assert_eq!(client.value("SELECT f('xy')"), "xy");
    }
    // A table of the session hides the other one.
    two.run("CREATE TEMP TABLE s (v date)");
    assert_eq!(two.run("INSERT INTO s VALUES ('2024-02-29')"), ["INSERT 0 1"]);
    let error = two.try_run("INSERT INTO s VALUES ('ab')").expect_err("no date");
    assert_eq!((error.sqlstate, error.position), ("22007", Some(23)));
}

#[test]
fn the_catalog_may_change_under_a_kept_statement() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    for client in [&mut one, &mut two] {
        assert_eq!(client.value("SELECT * FROM t WHERE a = '1'"), "1");
        assert_eq!(client.run_with("SELECT $1 + a FROM t", &[Value::Int4(1)]).expect("runs")[0], "2");
    }
    one.run("DROP TABLE t");
    assert_eq!(two.fails("SELECT * FROM t WHERE a = '1'").0, "42P01");
    // Another table of that name: other types of columns and parameters.
    one.run("CREATE TABLE t (b text, a text); INSERT INTO t VALUES ('x', '1')");
    for client in [&mut one, &mut two] {
        for _ in 0..2 {
            assert_eq!(client.value("SELECT * FROM t WHERE a = '1'"), "x|1");
        }
    }
    // What a transaction does to the schema is its own.
    one.run("BEGIN; DROP TABLE t; CREATE TABLE t (a date); INSERT INTO t VALUES ('2024-01-01')");
    assert_eq!(one.value("SELECT * FROM t WHERE a = '2024-01-01'"), "2024-01-01");
    one.run("ROLLBACK");
    assert_eq!(one.value("SELECT * FROM t WHERE a = '1'"), "x|1");
    // A prepared statement says so instead, as its columns have been told.
    let prepared = two.session.prepare("SELECT * FROM t", &[]).expect("prepares");
    one.run("DROP TABLE t; CREATE TABLE t (a int)");
    let mut portal = two.session.bind(&prepared, Vec::new()).expect("binds");
    let error = two
        .session
        .run_portal(&mut portal, 0, false, &mut crate::Lines::default())
        .expect_err("other columns");
    assert_eq!(error.sqlstate, "0A000");
}

#[test]
fn a_batch_of_parameter_sets_is_one_statement() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int NOT NULL, b text DEFAULT 'none')");
    let insert = client.session.prepare("INSERT INTO t (a) VALUES ($1)", &[]).expect("prepares");
    let sets = |range: std::ops::Range<i32>| range.map(|a| vec![Value::Int4(a)]).collect::<Vec<_>>();
    let mut sink = crate::Lines::default();
    assert_eq!(client.session.run_sets(&insert, sets(0..3_000), &mut sink).expect("inserts"), 3_000);
    assert_eq!(client.value("SELECT count(*), sum(a), min(b) FROM t"), "3000|4498500|none");
    let mut failing = sets(0..2_000);
    failing[1_999][0] = Value::Null;
    let error = client.session.run_sets(&insert, failing, &mut sink).expect_err("not null");
    assert_eq!(error.sqlstate, "23502");
    assert_eq!(client.value("SELECT count(*) FROM t"), "3000");
    let delete = client.session.prepare("DELETE FROM t WHERE a = $1", &[]).expect("prepares");
    assert_eq!(client.session.run_sets(&delete, sets(0..10), &mut sink).expect("deletes"), 10);
}

#[test]
fn statements_that_read_large_tables_are_planned_for_their_literals() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE large (id int PRIMARY KEY, kind int, v int);
         INSERT INTO large SELECT g, CASE WHEN g % 100 = 0 THEN g ELSE 1 END, g FROM generate_series(1, 12000) g;
         CREATE TABLE small (id int PRIMARY KEY, kind int);
         INSERT INTO small SELECT g, g FROM generate_series(1, 100) g;
         ANALYZE",
    );
    let kept = |client: &mut Client, like: &str| {
        client.run(&format!(
            "SELECT statement, kept_as FROM verso_statement_cache WHERE statement LIKE '{like}' ORDER BY 1"
        ))
    };
    assert_eq!(client.value("SELECT sum(v) FROM large WHERE kind = 300"), "300");
    assert_eq!(client.value("SELECT sum(v) FROM large WHERE kind = 400"), "400");
    assert_eq!(
        kept(&mut client, "SELECT sum(v)%"),
        [
            "SELECT sum(v) FROM large WHERE kind = $1|see text",
            "SELECT sum(v) FROM large WHERE kind = 300|text",
            "SELECT sum(v) FROM large WHERE kind = 400|text",
            "SELECT 3"
        ]
    );
    // One row, or a small table: there is one plan for all literals.
    client.run("SELECT v FROM large WHERE id = 7");
    assert_eq!(kept(&mut client, "SELECT v %")[0], "SELECT v FROM large WHERE id = $1|parameters");
    // A small table that has grown is noticed with the next version of the catalog.
    assert_eq!(client.value("SELECT sum(id) FROM small WHERE kind = 9"), "9");
    client.run("INSERT INTO small SELECT g, g FROM generate_series(101, 12000) g; ANALYZE small");
    assert_eq!(client.value("SELECT sum(id) FROM small WHERE kind = 10"), "10");
    assert_eq!(client.value("SELECT sum(id) FROM small WHERE kind = 11"), "11");
    let texts = kept(&mut client, "SELECT sum(id)%");
    assert!(texts.contains(&"SELECT sum(id) FROM small WHERE kind = 11|text".to_owned()), "{texts:?}");
}
