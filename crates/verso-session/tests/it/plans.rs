//! Plans made better give the answers of plans as written: generated queries over joins, derived tables, WITH, set
//! operations, aggregates and subqueries, with all rewrites on, off, and each one off.
//!
//! `VERSO_PLANS` sets how many queries; a failure prints the seed and the text.

use std::fmt::Write;

use verso_planner::Rules;

use crate::{Client, World};

/// Queries of the everyday run.
const QUERIES: u64 = 150;

/// Seeded random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.below(of.len())]
    }
}

/// Writes queries whose columns are all integers: `x`, `y`, `z`.
struct Writer {
    random: Random,
    /// Names given so far.
    names: usize,
    /// Queries of WITH in scope.
    ctes: Vec<String>,
}

const TABLES: [&str; 6] = ["one", "two", "keyed", "nothing", "small", "filled"];

impl Writer {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("n{}", self.names)
    }

    /// A query of three integer columns.
    fn query(&mut self, depth: usize, outer: &[String]) -> String {
        match self.random.below(if depth == 0 { 1 } else { 9 }) {
            0..=3 => self.select(depth, outer),
            4 | 5 => self.grouped(depth, outer),
            6 => {
                let operator = self.random.one(&[
                    "UNION ALL",
                    "UNION",
                    "INTERSECT",
                    "EXCEPT",
                    "INTERSECT ALL",
                    "EXCEPT ALL",
                ]);
                let left = self.query(depth - 1, outer);
                let right = self.query(depth - 1, outer);
                format!("({left}) {operator} ({right})")
            }
            7 => {
                let name = self.name();
                let inner = self.query(depth - 1, &[]);
                self.ctes.push(name.clone());
                let text = self.query(depth - 1, outer);
                self.ctes.pop();
                format!("WITH {name}(x, y, z) AS ({inner}) ({text})")
            }
            _ => {
                let inner = self.query(depth - 1, outer);
                let name = self.name();
                format!(
                    "SELECT DISTINCT {name}.y AS x, {name}.x + 1 AS y, {name}.z FROM ({inner}) {name}(x, y, z)"
                )
            }
        }
    }

    /// An item of FROM and its name.
    fn item(&mut self, depth: usize, outer: &[String]) -> (String, String) {
        let name = self.name();
        let source = match self.random.below(8) {
            0..=1 if depth > 0 => format!("({})", self.query(depth - 1, &[])),
            2 if !self.ctes.is_empty() => {
                let at = self.random.below(self.ctes.len());
                self.ctes[at].clone()
            }
            3 if depth > 0 && !outer.is_empty() => format!("LATERAL ({})", self.query(depth - 1, outer)),
            _ => self.random.one(&TABLES).to_string(),
        };
        (format!("{source} AS {name}(x, y, z)"), name)
    }

    /// FROM with its joins; the names in it.
    fn from(&mut self, depth: usize) -> (String, Vec<String>) {
        let (mut text, name) = self.item(depth, &[]);
        let mut names = vec![name];
        for _ in 0..self.random.below(3) {
            let (item, name) = self.item(depth, &names);
            let lateral = item.starts_with("LATERAL");
            let kinds: &[&str] = if lateral {
                &[",", "JOIN", "LEFT JOIN"]
            } else {
                &[",", ",", "JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]
            };
            let kind = self.random.one(kinds);
            if kind == "," {
                // A comma binds less tightly than JOIN, whose condition sees only what stands in it.
                text = format!("{text} CROSS JOIN {item}");
            } else {
                let condition = if kind == "FULL JOIN" {
                    let one = names[self.random.below(names.len())].clone();
                    format!("{one}.x = {name}.y")
                } else {
                    let all: Vec<String> = names.iter().chain([&name]).cloned().collect();
                    self.condition(0, &all)
                };
                text = format!("{text} {kind} {item} ON {condition}");
            }
            names.push(name);
        }
        (text, names)
    }

    fn column(&mut self, names: &[String]) -> String {
        let name = &names[self.random.below(names.len())];
        format!("{name}.{}", self.random.one(&["x", "y", "z"]))
    }

    fn value(&mut self, depth: usize, names: &[String]) -> String {
        match self.random.below(if depth > 0 { 8 } else { 7 }) {
            0..=3 => self.column(names),
            4 => self.random.below(6).to_string(),
            5 => format!("({} + {})", self.column(names), self.column(names)),
            6 => format!("coalesce({}, {})", self.column(names), self.random.below(4)),
            _ => {
                let name = self.name();
                let aggregate = self.random.one(&["min", "max", "count", "sum"]);
                let (item, inner) = self.item(0, &[]);
                let here = vec![inner.clone()];
                let all: Vec<String> = names.iter().chain(&here).cloned().collect();
                let condition = self.condition(0, &all);
                let column = self.column(&here);
                format!("(SELECT {aggregate}({column})::int AS {name} FROM {item} WHERE {condition})")
            }
        }
    }

    fn condition(&mut self, depth: usize, names: &[String]) -> String {
        match self.random.below(if depth > 0 { 12 } else { 8 }) {
            0..=3 => format!("{} = {}", self.column(names), self.column(names)),
            4 => format!(
                "{} {} {}",
                self.column(names),
                self.random.one(&["<", ">=", "<>"]),
                self.value(0, names)
            ),
            5 => format!("{} IS {}NULL", self.column(names), self.random.one(&["", "NOT "])),
            6 => format!("({} AND {})", self.condition(0, names), self.condition(0, names)),
            7 => format!("({} OR {})", self.condition(0, names), self.condition(0, names)),
            8 | 9 => {
                let query = self.inner(depth, names);
                format!("{}EXISTS ({query})", self.random.one(&["", "NOT "]))
            }
            10 => {
                let (value, query) = (self.value(0, names), self.inner(depth, names));
                let name = self.name();
                let not = self.random.one(&["", "NOT "]);
                format!("{value} {not}IN (SELECT {name}.x FROM ({query}) {name}(x, y, z))")
            }
            _ => format!("{} > {}", self.column(names), self.value(depth, names)),
        }
    }

    /// A query in a condition, which may use columns around it.
    fn inner(&mut self, depth: usize, names: &[String]) -> String {
        let (from, inner) = self.from(0);
        let all: Vec<String> = names.iter().chain(&inner).cloned().collect();
        let condition = self.condition(depth - 1, &all);
        let columns: Vec<String> = (0..3).map(|_| self.column(&inner)).collect();
        format!("SELECT {} FROM {from} WHERE {condition}", columns.join(", "))
    }

    fn select(&mut self, depth: usize, outer: &[String]) -> String {
        let (from, names) = self.from(depth);
        let seen: Vec<String> = names.iter().chain(outer).cloned().collect();
        let condition = self.condition(depth, &seen);
        let values: Vec<String> = (0..3).map(|_| self.value(depth, &seen)).collect();
        format!(
            "SELECT {} AS x, {} AS y, {} AS z FROM {from} WHERE {condition}",
            values[0], values[1], values[2]
        )
    }

    fn grouped(&mut self, depth: usize, outer: &[String]) -> String {
        let (from, names) = self.from(depth);
        let seen: Vec<String> = names.iter().chain(outer).cloned().collect();
        let condition = self.condition(depth, &seen);
        let (key, counted) = (self.column(&names), self.column(&names));
        let aggregate = self.random.one(&["min", "max", "count", "sum"]);
        let mut text = format!(
            "SELECT {key} AS x, {aggregate}({counted})::int AS y, count(*)::int AS z FROM {from} WHERE {condition} GROUP BY {key}"
        );
        if self.random.below(3) == 0 {
            write!(text, " HAVING {key} < {}", self.random.below(8)).expect("a string");
        }
        text
    }
}

fn tables(client: &mut Client) {
    client.run(
        "CREATE TABLE one (x int, y int, z int);
         CREATE TABLE two (x int, y int, z int);
         CREATE TABLE keyed (x int PRIMARY KEY, y int, z int);
         CREATE INDEX keyed_y ON keyed (y, z);
         CREATE TABLE nothing (x int, y int, z int);
         CREATE TABLE small (x int, y int, z int);
         CREATE INDEX small_x ON small (x);
         CREATE TABLE filled (x int NOT NULL, y int NOT NULL, z int NOT NULL, PRIMARY KEY (x, y));
         INSERT INTO filled SELECT g % 4, g / 4, g % 3 FROM generate_series(0, 8) g;
         INSERT INTO one SELECT g % 5, nullif(g % 4, 0), g FROM generate_series(1, 5) g;
         INSERT INTO two SELECT nullif(g % 3, 1), g % 4, g % 2 FROM generate_series(1, 6) g;
         INSERT INTO keyed SELECT g, g % 4, nullif(g % 3, 2) FROM generate_series(0, 5) g;
         INSERT INTO small VALUES (1, 1, NULL), (2, NULL, 2), (1, 1, 0)",
    );
}

/// The rows in an order of their own, or the code of the error.
fn answer(client: &mut Client, text: &str) -> Result<Vec<String>, &'static str> {
    match client.try_run(text) {
        Ok(mut lines) => {
            lines.sort();
            Ok(lines)
        }
        Err(error) => Err(error.sqlstate),
    }
}

#[test]
fn rewritten_plans_give_the_answers_of_plans_as_written() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first: u64 = number("SEED").unwrap_or(1);
    let queries = number("VERSO_PLANS").unwrap_or(QUERIES);
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    client.run("SET statement_timeout = '2s'");
    let (mut with_rows, mut slow) = (0, 0);
    for seed in first..first + queries {
        let mut writer = Writer { random: Random(seed), names: 0, ctes: Vec::new() };
        let text = writer.query(2, &[]);
        client.run("SET verso_rules_off = 'all'");
        let expected = answer(&mut client, &text);
        if expected == Err("57014") {
            slow += 1;
            continue;
        }
        with_rows += u64::from(matches!(&expected, Ok(lines) if lines.len() > 1));
        for off in [""].into_iter().chain(Rules::NAMES) {
            client.run(&format!("SET verso_rules_off = '{off}'"));
            let found = answer(&mut client, &text);
            // Errors depend on the plan; that a query ends does not.
            match (&expected, &found) {
                (Ok(expected), Ok(found)) => {
                    assert_eq!(found, expected, "seed {seed}, without {off:?}: {text}")
                }
                (Err(code), _) | (_, Err(code)) => {
                    assert!(
                        ["22003", "22012"].contains(code),
                        "seed {seed}, without {off:?}, {code}: {text}"
                    );
                }
            }
        }
    }
    assert!(with_rows * 3 > queries, "only {with_rows} of {queries} queries have rows: waste");
    assert!(slow * 20 <= queries, "{slow} of {queries} queries do not end as written");
}

#[test]
fn joins_below_the_top_are_rewritten_once() {
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    client.run("CREATE TABLE copy (x int)");
    for text in [
        "SELECT * FROM (SELECT one.x FROM one JOIN two ON one.x = two.x) ss",
        "WITH ss AS (SELECT one.x FROM one JOIN two ON one.x = two.x) SELECT * FROM ss",
        "WITH ss AS (SELECT one.x FROM one JOIN two ON one.x = two.x) SELECT * FROM ss a, ss b",
        "SELECT one.x FROM one JOIN two ON one.x = two.x UNION ALL SELECT one.x FROM one JOIN two ON one.x = two.x",
        "SELECT y, sum(a) FROM (SELECT two.x AS y, one.y AS a FROM one, two WHERE one.x = two.x) p GROUP BY y",
        "INSERT INTO copy SELECT one.x FROM one JOIN two ON one.x = two.x",
        "EXPLAIN SELECT count(*) FROM (SELECT one.x FROM one JOIN two ON one.x = two.x) ss",
        "SELECT (SELECT count(*) FROM (SELECT one.x FROM one JOIN two ON one.x = two.x AND one.y = k.y) ss) FROM keyed k",
    ] {
        assert!(!client.run(text).is_empty(), "{text}");
    }
}

/// Runs on a stack of a session's size.
fn on_a_session_stack(work: impl FnOnce(&mut Client) + Send) {
    std::thread::scope(|scope| {
        let body = || work(&mut World::new().connect());
        let thread = std::thread::Builder::new().stack_size(verso_env::stack::THREAD_BYTES);
        thread.spawn_scoped(scope, body).expect("a thread").join().expect("no panic");
    });
}

#[test]
fn deep_plans_are_answered_or_refused() {
    on_a_session_stack(|client| {
        client.run("CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2)");
        let mut ctes = "WITH c0 AS (SELECT 1 AS x)".to_string();
        for n in 1..1_900 {
            write!(ctes, ", c{n} AS (SELECT x + 0 AS x FROM c{})", n - 1).expect("a string");
        }
        let tables: Vec<String> = (0..800).map(|n| format!("t t{n}")).collect();
        let mut between = "(a > 0)".to_string();
        for _ in 0..100 {
            between = format!("({between} BETWEEN false AND true)");
        }
        let mut case = "a".to_string();
        for _ in 0..60 {
            case = format!("CASE {case} WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 3 END");
        }
        for (text, answer) in [
            (format!("{ctes} SELECT x FROM c1899"), "1"),
            (format!("SELECT t799.b FROM {}", tables.join(", ")), "2"),
            (format!("SELECT {between} FROM t"), "t"),
            (format!("SELECT {case} FROM t"), "1"),
        ] {
            match client.try_run(&text) {
                Ok(lines) => assert_eq!(lines[0], answer, "{}", &text[..60]),
                Err(error) => assert_eq!(error.sqlstate, "54001", "{}: {}", &text[..60], error.message),
            }
        }
    });
}

#[test]
fn a_value_that_an_expression_uses_twice_is_computed_from_the_row() {
    let world = World::new();
    let mut client = world.connect();
    tables(&mut client);
    // Large enough not to be written twice; a grouped column and an outer one within.
    let large = (0..40).fold("n.x".to_string(), |text, _| text + " + 0");
    assert_eq!(client.value(&format!("SELECT count(*) FROM keyed n WHERE {large} BETWEEN n.x AND 3")), "4");
    assert_eq!(
        client.value(&format!("SELECT sum(CASE {large} WHEN 2 THEN 10 WHEN n.x THEN 1 END) FROM keyed n")),
        "15"
    );
    assert_eq!(
        client.value(&format!(
            "SELECT count(*) FROM keyed o WHERE EXISTS (SELECT FROM keyed n WHERE {large} BETWEEN o.x AND o.y)"
        )),
        "4"
    );
    let grouped = (0..40).fold("n.y".to_string(), |text, _| text + " + 0");
    assert_eq!(
        client.run(&format!("SELECT {grouped} BETWEEN 0 AND max(n.x) FROM keyed n GROUP BY n.y")).len(),
        5
    );
}

#[test]
fn chains_of_queries_of_with_that_read_their_predecessor_twice_take_linear_time() {
    on_a_session_stack(|client| {
        let mut text = "WITH c0 AS (SELECT 1 AS x)".to_string();
        for n in 1..40 {
            write!(text, ", c{n} AS (SELECT a.x FROM c{0} a, c{0} b WHERE a.x = b.x)", n - 1)
                .expect("a string");
        }
        assert_eq!(client.value(&format!("{text} SELECT x FROM c39")), "1");
    });
}

/// What a plan does is asked of it in many places; an answer that took twice the time for each level would never come here.
#[test]
fn queries_inside_each_other_are_looked_through_once() {
    on_a_session_stack(|client| {
        client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
        for depth in [30, 60] {
            let nested =
                |open: &str, middle: &str, close: &str| open.repeat(depth) + middle + &close.repeat(depth);
            for text in [
                nested("(SELECT ", "a", " FROM t)"),
                nested("(SELECT max(a) FROM t WHERE a = ", "1", ")"),
                nested("(SELECT a + ", "0", " FROM t WHERE a IN (SELECT a FROM t))"),
            ] {
                match client.try_run(&format!("SELECT {text} FROM t")) {
                    Ok(lines) => assert!(!lines.is_empty(), "{text}"),
                    Err(error) => assert_eq!(error.sqlstate, "54001", "{text}: {}", error.message),
                }
            }
        }
    });
}

/// IN with a query that is the same for all rows, over many rows: a semi-join, but where the scan may end early, runs for each row
/// of another, or belongs to a change.
#[test]
fn in_over_many_rows_is_a_semi_join() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE large (id int, grp int); CREATE TABLE chosen (id int);
         INSERT INTO large SELECT i, nullif(i % 50, 7) FROM generate_series(1, 12000) AS s(i);
         INSERT INTO chosen SELECT nullif(i * 3, 9) FROM generate_series(1, 500) AS s(i); ANALYZE",
    );
    let inner = "(SELECT id FROM chosen WHERE id <> 600)";
    for (sql, joins) in [
        (format!("SELECT count(*), sum(id) FROM large WHERE id IN {inner} AND grp > 3"), true),
        (format!("SELECT count(*) FROM large WHERE id IN {inner} AND grp IN (SELECT id FROM chosen)"), true),
        (format!("SELECT id FROM large WHERE grp IN {inner} AND id < 400 ORDER BY id LIMIT 9"), true),
        (format!("SELECT count(*) FROM large WHERE id NOT IN {inner}"), false),
        (format!("SELECT id > 0 FROM large WHERE grp IN {inner} LIMIT 3"), false),
        (format!("SELECT count(*) FROM large WHERE id IN {inner} OR grp = 1"), false),
    ] {
        let plan = client.run(&format!("EXPLAIN {sql}")).join("\n");
        assert_eq!(plan.contains("Semi Join"), joins, "{sql}\n{plan}");
        let found = client.run(&sql);
        client.run("SET verso_rules_off = 'unnest'");
        assert_eq!(found, client.run(&sql), "{sql}");
        client.run("RESET verso_rules_off");
    }
    assert_eq!(client.run(&format!("DELETE FROM large WHERE id IN {inner}"))[0], "DELETE 498");
}

/// A table that nothing ties to the others comes last, where the condition of the others leaves fewer rows.
#[test]
fn a_product_comes_behind_the_join_that_leaves_few_rows() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE a (i integer); CREATE TABLE b (j integer); CREATE TABLE c (k integer);
         INSERT INTO a SELECT generate_series(1, 700); INSERT INTO b SELECT generate_series(1, 700);
         INSERT INTO c SELECT generate_series(1, 300); ANALYZE",
    );
    for condition in ["a.i IS NOT DISTINCT FROM b.j", "a.i < b.j AND a.i + 5 > b.j", "abs(a.i) = abs(b.j)"] {
        let text = format!("EXPLAIN SELECT count(*) FROM a CROSS JOIN b CROSS JOIN c WHERE {condition}");
        let plan = client.run(&text);
        let depth = |table: &str| {
            let line = plan.iter().find(|row| row.contains(&format!("Scan on {table} ")));
            line.and_then(|row| row.find("Seq")).expect("a scan of each table")
        };
        assert!(depth("c") < depth("a") && depth("c") < depth("b"), "{condition}: {plan:#?}");
    }
}

#[test]
fn changes_whose_queries_depend_on_the_row_join() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE a AS SELECT n AS id, n % 50 AS k, 0 AS total FROM generate_series(1, 3000) n");
    client
        .run("CREATE TABLE b AS SELECT n AS a_id, n % 7 AS amount FROM generate_series(1, 4000) n; ANALYZE");
    let plan = |client: &mut Client, sql: &str| client.run(&format!("EXPLAIN (COSTS OFF) {sql}")).join("\n");
    for sql in [
        "UPDATE a SET total = total + (SELECT sum(amount) FROM b WHERE b.a_id = a.id)",
        "UPDATE a SET total = 1 WHERE EXISTS (SELECT FROM b WHERE b.a_id = a.id AND b.amount > 3)",
        "DELETE FROM a WHERE NOT EXISTS (SELECT FROM b WHERE b.a_id = a.id)",
    ] {
        let shown = plan(&mut client, sql);
        assert!(shown.contains("Hash") && !shown.contains("SubPlan"), "{sql}: {shown}");
    }
    assert_eq!(
        client.run("UPDATE a SET total = total + (SELECT sum(amount) FROM b WHERE b.a_id = a.id)"),
        ["UPDATE 3000"]
    );
    assert_eq!(
        client.run("DELETE FROM b WHERE NOT EXISTS (SELECT FROM a WHERE b.a_id = a.id)"),
        ["DELETE 1000"]
    );
    assert_eq!(client.value("SELECT sum(total) FROM a"), client.value("SELECT sum(amount) FROM b"));
    // Where an index finds the few rows there are, each is asked by itself; a column of the row has its table's name.
    client.run("CREATE INDEX ON b (a_id); CREATE INDEX ON a (id); ANALYZE");
    let shown = plan(
        &mut client,
        "UPDATE a SET total = (SELECT max(amount) FROM b WHERE b.a_id = a.id) WHERE id = 5",
    );
    assert!(shown.contains("Index Cond: (b.a_id = a.id)"), "{shown}");
}
