//! Queries that several workers compute: the same answers as with one, generated ones, too; their end by a cancel, a limit or an
//! error; and which queries have workers.

use std::time::Duration;

use verso_env::Env;
use verso_storage::EngineOptions;

use crate::campaign::{Random, condition, expr};
use crate::{Client, World};

/// Tables of many pages, with all of the types that aggregates are about, NULLs and rows in older versions.
const TABLES: &str = "CREATE TABLE tree (id int PRIMARY KEY, parent int);
         INSERT INTO tree SELECT i, nullif(i / 2, 0) FROM generate_series(1, 3000) AS s(i);
         CREATE TABLE facts (id int, grp int, name text, n numeric);
         INSERT INTO facts SELECT i, nullif(i % 7, 3), 'name ' || i % 50, i / 3.0 FROM generate_series(1, 8000) AS s(i);
         DELETE FROM facts WHERE id % 11 = 0; UPDATE facts SET grp = grp + 1 WHERE id % 5 = 0;
         CREATE INDEX ON facts (grp, id)";

/// Small pages, so that there are many.
fn world() -> World {
    World::with(Env::real(), EngineOptions { page_size: 4096, ..EngineOptions::default() })
}

fn client(world: &World) -> Client {
    let mut client = world.connect();
    client.run(TABLES);
    client.run("ANALYZE; SET min_parallel_table_scan_size = 0");
    client
}

/// Rows in an order of their own, or that there is an error; none where it takes too long.
fn answer(client: &mut Client, sql: &str) -> Option<Option<Vec<String>>> {
    match client.try_run(sql) {
        Ok(mut rows) => {
            rows.sort();
            Some(Some(rows))
        }
        Err(error) => (error.sqlstate != "57014").then_some(None),
    }
}

fn query(random: &mut Random) -> String {
    let (a, b, c) = (expr(random, 1), expr(random, 1), condition(random, 0));
    let whole = random.of(&["count(*)", "min(f.name)", "sum(f.n)", "count(DISTINCT f.grp)", "max(f.id)"]);
    let key = random.of(&["f.grp", "f.name", "f.id", "f.id % 100", "f.grp, f.name"]);
    match random.below(14) {
        0 | 1 => format!("SELECT {whole}, sum({a}), count({b}) FROM facts AS f WHERE {c}"),
        2 | 3 => format!("SELECT {key}, {whole}, max({a}) FROM facts AS f WHERE {c} GROUP BY {key}"),
        4 => format!("SELECT {key}, {whole} FROM facts AS f GROUP BY ROLLUP ({key}) HAVING count(*) > 3"),
        5 => {
            format!("SELECT {whole}, count(t.parent) FROM facts AS f JOIN tree AS t ON t.id = f.id WHERE {c}")
        }
        6 => format!(
            "SELECT f.grp, {whole} FROM facts AS f LEFT JOIN tree AS t ON t.parent = f.id WHERE {c} GROUP BY f.grp"
        ),
        7 => format!(
            "SELECT t.parent, {whole} FROM tree AS t RIGHT JOIN facts AS f ON t.id = f.id % 4000 GROUP BY t.parent"
        ),
        12 => format!(
            "SELECT /*+ Leading((f t)) NestLoop(f t) IndexScan(t) */ {key}, {whole}, sum(t.parent) FROM facts AS f JOIN tree AS t ON t.id = f.id WHERE {c} GROUP BY {key}"
        ),
        13 => format!(
            "SELECT /*+ Leading((f g)) NestLoop(f g) IndexScan(g) */ {whole}, max(g.n) FROM facts AS f LEFT JOIN facts AS g ON g.grp = f.id AND g.id > f.id WHERE {c}"
        ),
        8 => format!("SELECT {whole} FROM facts AS f WHERE f.id IN (SELECT parent FROM tree) AND {c}"),
        9 => format!("SELECT f.id, {a} AS x FROM facts AS f WHERE {c} ORDER BY x, f.id LIMIT 50"),
        10 => format!(
            "SELECT {whole} FROM facts AS f WHERE NOT EXISTS (SELECT FROM tree AS t WHERE t.id = f.id)"
        ),
        _ => format!(
            "SELECT g.grp, {whole} FROM facts AS f JOIN facts AS g USING (id, name) JOIN tree AS t ON t.id = f.id GROUP BY g.grp"
        ),
    }
}

/// `SEED=7` starts elsewhere, `QUERIES=100000` goes on for longer.
#[test]
fn generated_queries_have_the_same_answers_with_one_and_several_workers() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let mut random = Random(number("SEED").unwrap_or(3));
    let world = world();
    let mut client = client(&world);
    client.run("ALTER DATABASE SET max_parallel_workers = 8; SET statement_timeout = '3s'");
    let mut answered = 0;
    for count in 0..number("QUERIES").unwrap_or(70) {
        let sql = query(&mut random);
        client.run("SET parallel_workers = 1; SET work_mem = '64MB'");
        let Some(expected) = answer(&mut client, &sql) else { continue };
        answered += u64::from(expected.is_some());
        for (workers, memory) in [(2, "64MB"), (8, "64MB"), (2, "256kB"), (3, "64kB")] {
            client.run(&format!("SET parallel_workers = {workers}; SET work_mem = '{memory}'"));
            let Some(found) = answer(&mut client, &sql) else { break };
            assert_eq!(found, expected, "query {count}, {workers} workers, {memory}: {sql}");
        }
    }
    eprintln!("{answered} answers");
    assert!(answered > 20, "nearly all queries fail");
    drop(client);
    assert_eq!(world.instance.held_bytes(), 0, "memory is left");
}

/// The lines of EXPLAIN ANALYZE that tell of workers.
fn workers(client: &mut Client, sql: &str) -> Vec<String> {
    let lines = client.run(&format!("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF, BUFFERS OFF) {sql}"));
    lines.into_iter().filter(|line| line.contains("Workers: ")).map(|line| line.trim().to_string()).collect()
}

#[test]
fn large_scans_of_safe_expressions_have_workers() {
    let world = world();
    let mut client = client(&world);
    client.run("SET parallel_workers = 2");
    client.run("CREATE FUNCTION twice(i int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 2 * i; END'");
    client.run("CREATE SEQUENCE s");
    for sql in [
        "SELECT count(*), sum(n) FROM facts WHERE id % 3 = 1 AND name LIKE '%1%'",
        "SELECT grp, avg(n) FROM facts GROUP BY grp",
        "SELECT count(*) FROM facts WHERE now() > timestamp '2020-01-01'",
        "SELECT /*+ Leading((f t)) NestLoop(f t) IndexScan(t) */ count(*), sum(t.parent) FROM facts AS f JOIN tree AS t ON t.id = f.id",
    ] {
        assert_eq!(workers(&mut client, sql), ["Workers: 2"], "{sql}");
    }
    // The right input is read by workers, and the probe of the left one by those of the aggregate.
    for sql in [
        "SELECT count(*), sum(t.parent) FROM facts AS f JOIN tree AS t ON t.id + 1 = f.id + 1",
        "SELECT count(*) FROM facts AS f WHERE NOT EXISTS (SELECT FROM tree AS t WHERE t.parent + 1 = f.id + 1)",
    ] {
        assert_eq!(workers(&mut client, sql), ["Workers: 2", "Workers: 2"], "{sql}");
    }
    assert_eq!(workers(&mut client, "SELECT id FROM facts ORDER BY name, id DESC LIMIT 3"), ["Workers: 2"]);
    for sql in [
        "SELECT sum(twice(id)) FROM facts",
        "SELECT count(*) FROM facts WHERE random() < 2",
        "SELECT count(nextval('s')) FROM facts",
        "SELECT string_agg(name, ',') FROM facts",
        "SELECT count(*) FROM facts AS f WHERE id < (SELECT x FROM (VALUES (1), (2)) AS v(x) WHERE x < f.grp LIMIT 1)",
        "SELECT count(*) FROM facts WHERE id::oid::regclass::text = 'x'",
    ] {
        assert_eq!(workers(&mut client, sql), Vec::<String>::new(), "{sql}");
    }
    // A table that is small by the setting's default.
    client.run("RESET min_parallel_table_scan_size");
    assert_eq!(client.value("SHOW min_parallel_table_scan_size"), "4MB");
    assert_eq!(workers(&mut client, "SELECT count(*) FROM facts"), Vec::<String>::new());
    client.run("SET min_parallel_table_scan_size = '64kB'; SET parallel_workers = 1");
    assert_eq!(workers(&mut client, "SELECT count(*) FROM facts"), Vec::<String>::new());
}

#[test]
fn what_the_transaction_has_written_is_read_by_its_workers() {
    let world = world();
    let mut client = client(&world);
    let mut other = world.connect();
    client.run("SET parallel_workers = 2; BEGIN ISOLATION LEVEL REPEATABLE READ");
    let before = client.value("SELECT count(*) FROM facts WHERE n >= 0");
    other.run("INSERT INTO facts VALUES (-1, 1, 'other', 1)");
    client.run("INSERT INTO facts SELECT -i, 1, 'own', 5 FROM generate_series(2, 101) AS s(i)");
    let after: u64 = client.value("SELECT count(*) FROM facts WHERE n >= 0").parse().expect("a number");
    assert_eq!(after, before.parse::<u64>().expect("a number") + 100);
    client.run("ROLLBACK");
    // The rows of an INSERT are those of its own start.
    client.run("INSERT INTO facts SELECT count(*), grp, 'sum', sum(n) FROM facts GROUP BY grp");
    assert_eq!(client.value("SELECT sum(id) FROM facts WHERE name = 'sum'"), (after - 99).to_string());
}

#[test]
fn a_query_with_workers_ends_at_its_timeout_and_limits() {
    let world = world();
    let mut client = client(&world);
    client.run("SET parallel_workers = 2; SET statement_timeout = '80ms'");
    // Hours of work.
    let long = "SELECT sum(length(replace(repeat(name, 20000), 'a', 'bb'))) FROM facts WHERE id > 0";
    let clock = Env::real().clock;
    let begun = clock.monotonic_nanos();
    assert_eq!(client.fails(long).0, "57014");
    let took = Duration::from_nanos(clock.monotonic_nanos() - begun);
    // The machine may be busy.
    assert!(took < Duration::from_secs(5), "it took {took:?}");
    client.run("RESET statement_timeout");
    assert_eq!(client.fails("SELECT sum(1 / (id - 777)) FROM facts").0, "22012");
    client.run("SET statement_memory_limit = '512kB'; SET temp_file_limit = '64kB'");
    let error =
        client.fails("SELECT name, id, n, count(*) FROM facts GROUP BY name, id, n ORDER BY 1 LIMIT 1");
    assert!(["53200", "53400"].contains(&error.0), "{error:?}");
    client.run("RESET ALL");
    assert_eq!(client.value("SELECT count(*) FROM tree"), "3000");
    drop(client);
    assert_eq!(world.instance.held_bytes(), 0, "memory is left");
}
