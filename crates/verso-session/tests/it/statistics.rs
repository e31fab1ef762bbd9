//! ANALYZE, and what the planner makes of it.

use crate::{Client, World};

/// The number of rows that a plan's topmost operator is expected to yield.
fn expected(client: &mut Client, query: &str) -> f64 {
    let line = client.run(&format!("EXPLAIN {query}")).remove(0);
    let rows = line.split_once(" rows=").expect("an estimate").1;
    rows.split(' ').next().and_then(|rows| rows.parse().ok()).expect("a number")
}

/// 20,000 rows: `id` is a key, `few` has 10 values, of which 0 has nine tenths, `many` has 2,000, a tenth of `gaps` is not NULL.
fn skewed(client: &mut Client) {
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, few int, many int, gaps int, word text, day date);
         INSERT INTO t SELECT g, CASE WHEN g % 10 = 0 THEN g / 10 % 10 ELSE 0 END, g % 2000,
            CASE WHEN g % 10 = 3 THEN g END, 'w' || lpad((g % 100)::text, 3, '0'), date '2020-01-01' + g % 1000
         FROM generate_series(1, 20000) g",
    );
}

#[test]
fn columns_are_described_as_in_postgresql() {
    let world = World::new();
    let mut client = world.connect();
    skewed(&mut client);
    assert_eq!(client.run("SELECT count(*) FROM pg_stats")[0], "0");
    assert_eq!(client.run("ANALYZE t"), ["ANALYZE"]);
    // The figures of PostgreSQL 18 for the same rows; there, too, all of them are in the sample.
    assert_eq!(
        client.run(
            "SELECT attname, null_frac, avg_width, n_distinct, correlation FROM pg_stats WHERE tablename = 't' AND attname IN ('id', 'few', 'gaps', 'day') ORDER BY attname"
        )[..4],
        ["day|0|4|1000|0.05069775", "few|0|4|10|0.8290227", "gaps|0.9|4|-0.1|1", "id|0|4|-1|1"]
    );
    let common =
        client.run("SELECT most_common_vals, most_common_freqs[1] FROM pg_stats WHERE attname = 'few'");
    assert_eq!(common[0], "{0,1,2,3,4,5,6,7,8,9}|0.91");
    assert_eq!(
        client.value("SELECT array_length(string_to_array(histogram_bounds::text, ','), 1) FROM pg_stats WHERE attname = 'id'"),
        "101"
    );
    assert_eq!(client.value("SELECT reltuples FROM pg_class WHERE relname = 't'"), "20000");
}

#[test]
fn rows_are_estimated_from_what_is_known() {
    let world = World::new();
    let mut client = world.connect();
    skewed(&mut client);
    client.run("ANALYZE");
    for (condition, rows) in [
        ("few = 0", 18200),
        ("few = 7", 200),
        ("few <> 0", 1800),
        ("few = 12", 1),
        ("few IN (1, 2)", 400),
        ("many = 5", 10),
        ("id < 5000", 4999),
        ("5000 > id", 4999),
        ("id BETWEEN 5000 AND 6000", 1001),
        ("id > 19000 AND id <= 19500 AND many >= 0", 500),
        ("gaps IS NULL", 18000),
        ("gaps IS NOT NULL", 2000),
        ("gaps < 10000", 1000),
        ("word LIKE 'w01%'", 2000),
        ("word = 'w050'", 200),
        ("few = 7 OR few = 8", 400),
        ("NOT few = 0", 1800),
        ("day >= date '2020-01-01' AND day < date '2020-01-01' + interval '100' day", 2000),
    ] {
        let found = client.value(&format!("SELECT count(*) FROM t WHERE {condition}"));
        assert!(found.parse::<i64>().is_ok_and(|found| (found - rows).abs() <= 1), "{condition}: {found}");
        let guess = expected(&mut client, &format!("SELECT * FROM t WHERE {condition}"));
        let factor = f64::max(guess / rows as f64, rows as f64 / guess.max(0.5));
        assert!(factor < 1.3, "{condition}: {guess} for {rows}");
    }
    for (query, rows) in [
        ("SELECT many, count(*) FROM t GROUP BY many", 2000.0),
        ("SELECT few, count(*) FROM t GROUP BY few", 10.0),
        ("SELECT * FROM t a JOIN t b ON a.id = b.id", 20000.0),
        ("SELECT * FROM t a JOIN t b ON a.many = b.many", 200_000.0),
        ("SELECT * FROM t a WHERE EXISTS (SELECT FROM t b WHERE b.gaps = a.id)", 2000.0),
    ] {
        let guess = expected(&mut client, query);
        assert!((0.7..1.4).contains(&(guess / rows)), "{query}: {guess} for {rows}");
    }
}

#[test]
fn plans_change_with_what_is_known() {
    let world = World::new();
    let mut client = world.connect();
    skewed(&mut client);
    client.run("CREATE INDEX t_few ON t (few); CREATE INDEX t_many ON t (many); CREATE TABLE u (k int, few int); INSERT INTO u SELECT g, g % 10 FROM generate_series(1, 3000) g");
    // Both conditions name an index; which of them finds less is not known before.
    let query = "EXPLAIN (COSTS off) SELECT word FROM t WHERE few = 7 AND many = 77";
    assert!(client.run(query)[0].contains("t_few"));
    // Without statistics the filter on the larger table seems to leave few rows.
    let join = "EXPLAIN (COSTS off) SELECT count(*) FROM u, t WHERE u.k = t.many AND t.few = 0";
    let before = client.run(join);
    client.run("ANALYZE");
    let after = client.run(query);
    assert!(after[0].contains("t_many"), "{after:?}");
    assert_ne!(client.run(join), before);
    // The plans kept are made anew, too.
    let rows = "SELECT count(*) FROM u, t WHERE u.k = t.many AND t.few = 0";
    assert_eq!(client.value(rows), client.value(&format!("{rows} AND u.k >= 0")));
}

#[test]
fn statistics_belong_to_their_transaction_and_their_table() {
    let world = World::new();
    let mut client = world.connect();
    let mut other = world.connect();
    skewed(&mut client);
    let known = "SELECT count(*) FROM pg_stats";
    client.run("BEGIN; ANALYZE t");
    assert_eq!(client.value(known), "6");
    assert_eq!(other.value(known), "0");
    // Readers and writers go on.
    other.run("SET lock_timeout = '1s'; UPDATE t SET few = few WHERE id = 1; SELECT count(*) FROM t");
    assert_eq!(other.fails("ANALYZE t").0, "55P03");
    client.run("ROLLBACK");
    assert_eq!(client.value(known), "0");
    client.run("ANALYZE t (few, gaps)");
    assert_eq!(client.value("SELECT string_agg(attname, ',' ORDER BY attname) FROM pg_stats"), "few,gaps");
    client.run("VACUUM (ANALYZE) t");
    assert_eq!(other.value(known), "6");
    client.run("DROP TABLE t");
    assert_eq!(client.value(known), "0");
    assert_eq!(client.value("SELECT count(*) FROM pg_catalog.pg_statistic"), "0");
}

#[test]
fn analyze_says_what_it_does_and_refuses_what_it_cannot() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b text); INSERT INTO t SELECT g, 'x' FROM generate_series(1, 100) g; CREATE VIEW v AS SELECT * FROM t");
    assert_eq!(
        client.run("ANALYZE (VERBOSE) t"),
        [
            "INFO: analyzing \"public.t\"",
            "INFO: \"t\": scanned 1 of 1 pages, containing 100 live rows; 100 rows in sample, 100 estimated total rows",
            "ANALYZE"
        ]
    );
    assert_eq!(
        client.run("ANALYZE v"),
        ["WARNING: skipping \"v\" --- cannot analyze non-tables or special system tables", "ANALYZE"]
    );
    for (text, code) in [
        ("ANALYZE nosuch", "42P01"),
        ("ANALYZE t (nosuch)", "42703"),
        ("ANALYZE t (a, a)", "42701"),
        ("ANALYZE (BUFFER_USAGE_LIMIT 1) t", "22023"),
        ("ANALYZE (nosuch) t", "42601"),
        ("VACUUM t (a)", "0A000"),
    ] {
        assert_eq!(client.fails(text).0, code, "{text}");
    }
    // As in PostgreSQL it runs where only reading is allowed.
    assert_eq!(client.run("BEGIN READ ONLY; ANALYZE t; COMMIT"), ["BEGIN", "ANALYZE", "COMMIT"]);
}

/// A row that is tied to another table by the columns of its key has one partner there, however many values each of the columns
/// is taken to have.
#[test]
fn joins_by_the_columns_of_a_key_yield_a_row_for_each_that_references_it() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE offers (part int, maker int, price int, PRIMARY KEY (part, maker));
         INSERT INTO offers SELECT p, (p + m) % 50, p FROM generate_series(1, 1500) p, generate_series(1, 4) m;
         CREATE TABLE parts (part int PRIMARY KEY, name text);
         INSERT INTO parts SELECT p, 'part ' || p FROM generate_series(1, 2000) p;
         CREATE TABLE orders (id int PRIMARY KEY, day int);
         INSERT INTO orders SELECT g, g % 100 FROM generate_series(1, 40000) g;
         CREATE TABLE items (orders int, part int, maker int);
         INSERT INTO items SELECT g * 7 % 40000, g % 2000, (g % 2000 + 1 + g % 4) % 50 FROM generate_series(1, 16000) g;
         ANALYZE",
    );
    let three = "SELECT * FROM items i, offers o, parts p WHERE o.part = i.part AND o.maker = i.maker AND p.part = i.part";
    let found: f64 = client.value(&format!("SELECT count(*) FROM ({three}) s")).parse().unwrap();
    let guess = expected(&mut client, three);
    assert!((0.5..2.0).contains(&(guess / found)), "{guess} for {found}");
    // So many rows are not looked up one by one.
    let four = "SELECT o.price, r.day FROM items i, offers o, parts p, orders r
        WHERE o.part = i.part AND o.maker = i.maker AND p.part = i.part AND r.id = i.orders";
    let plan = client.run(&format!("EXPLAIN (COSTS off) {four}"));
    assert!(!plan.iter().any(|line| line.contains("Nested Loop")), "{plan:?}");
}

#[test]
fn statistics_of_several_columns_and_of_expressions_are_what_rows_are_estimated_from() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (a int, b int, c int, d text);
         INSERT INTO t SELECT n % 500, n % 500 / 5, n % 7, 'x' || n % 5 FROM generate_series(1, 10000) n;
         ANALYZE t",
    );
    let both = "SELECT * FROM t WHERE a = 17 AND b = 3";
    let third = "SELECT * FROM t WHERE a = 17 AND b = 3 AND c = 1";
    let listed = "SELECT * FROM t WHERE a IN (17, 18) AND b = 3";
    let none = "SELECT * FROM t WHERE a = 17 AND b = 4";
    let parts = "SELECT * FROM t WHERE a < 100 AND b < 20";
    let groups = "SELECT a, b FROM t GROUP BY a, b";
    let computed = "SELECT * FROM t WHERE c % 3 = 1";
    let call = "SELECT * FROM t WHERE lower(d) = 'x1'";
    let remainders = "SELECT c % 3 FROM t GROUP BY 1";
    let pairs = "SELECT a % 10, lower(d) FROM t GROUP BY 1, 2";
    // PostgreSQL's numbers for the same rows.
    for (made, expectations) in [
        ("", &[(both, 1.0), (listed, 1.0), (parts, 400.0), (groups, 1000.0)][..]),
        (
            "(dependencies) ON a, b",
            &[(both, 20.0), (third, 3.0), (listed, 40.0), (none, 20.0), (parts, 400.0)],
        ),
        ("(ndistinct) ON a, b", &[(both, 1.0), (groups, 500.0)]),
        ("(mcv) ON a, b", &[(both, 20.0), (third, 3.0), (listed, 40.0), (none, 1.0), (parts, 2000.0)]),
        ("ON (c % 3)", &[(computed, 2858.0), (remainders, 3.0)]),
        ("ON (a % 10), (lower(d))", &[(call, 2000.0), (pairs, 10.0)]),
    ] {
        if !made.is_empty() {
            client.run(&format!("CREATE STATISTICS e {made} FROM t"));
            client.run("ALTER STATISTICS e SET STATISTICS 1000; ANALYZE t");
        }
        for (query, rows) in expectations {
            let guess = expected(&mut client, query);
            let factor = f64::max(guess / rows, rows / guess.max(0.5));
            assert!(factor < 1.3, "{made}: {query}: {guess} for {rows}");
        }
        if !made.is_empty() {
            client.run("DROP STATISTICS e");
        }
    }
    // Without what it was about nothing is known of it any more.
    client.run("CREATE STATISTICS e ON a, b FROM t; ANALYZE t; ALTER TABLE t ALTER COLUMN b TYPE bigint");
    assert_eq!(client.value("SELECT count(*) FROM pg_stats_ext"), "0");
}
