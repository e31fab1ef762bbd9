//! Conditions that scans ask of the pages: the same rows as where each is asked of every row (`executor = row`), whatever the types,
//! NULLs, older versions, columns that a page does not have yet, and workers.

use verso_env::Env;
use verso_storage::EngineOptions;

use crate::{Client, World};

const TABLE: &str = "CREATE TABLE t (id int, small smallint, big bigint, n numeric(10,2), wide numeric(30,4), d date, e date, ts timestamp,
        c char(3), v varchar(20), x text);
    INSERT INTO t SELECT i, nullif(i % 40, 7), i * 1000000007::bigint, nullif(i % 200, 11) / 8.0, i / 7.0, date '2000-01-01' + i % 90,
        date '2000-01-20' + i % 37, timestamp '2000-01-01' + (i % 90) * interval '7 hours', nullif('c' || i % 6, 'c4'),
        'name ' || i % 25, repeat('x', i % 13) FROM generate_series(1, 4000) AS s(i);
    INSERT INTO t (id, d, e) VALUES (4001, 'infinity', '-infinity'), (4002, '-infinity', 'infinity'), (4003, NULL, '2000-02-02');
    INSERT INTO t (id, v) VALUES (4004, 'a value of its own'), (4005, '');
    UPDATE t SET v = v || ' longer', n = -n WHERE id % 17 = 0;
    DELETE FROM t WHERE id % 23 = 0;
    ALTER TABLE t ADD late int;
    UPDATE t SET late = id WHERE id % 31 = 0";

const CONDITIONS: [&str; 34] = [
    "id < 100",
    "id >= 3990 AND id <> 3995",
    "100 > id AND id > 90",
    "small = 3 AND big > 2000000014000",
    "small < 3.5 AND id < 500",
    "big BETWEEN 5000000035 AND 9000000063",
    "big < 9223372036854775807 AND small > 38",
    "n < 1.5 AND n >= 1.25",
    "n = 2.5 OR id = 3",
    "n = 2.500 AND id < 2000",
    "n = 2.501",
    "n > 24.7499 AND n <= 24.8701",
    "n < -20",
    "n < 99999999999999999999999999.5 AND id < 20",
    "wide < 3 AND n > 0.5",
    "d < '2000-01-05' AND d > '2000-01-02'",
    "d < date '2000-01-05' + interval '1' day",
    "d <= timestamp '2000-01-05 12:00' AND d >= timestamp '2000-01-04 12:00'",
    "d = timestamp '2000-01-05 12:00'",
    "d > timestamp '2000-03-28' AND d <= timestamp 'infinity'",
    "d < timestamp 'infinity' AND d >= timestamp '-infinity' AND id > 3990",
    "d < e AND ts < d",
    "e <= d AND id % 2 = 0",
    "small < id AND id < 30",
    "ts >= '2000-01-20 03:00' AND ts < '2000-01-21'",
    "c = 'c2' AND v = 'name 12'",
    "c IN ('c1 ', 'c3') AND id < 300",
    "c NOT IN ('c1', 'c2') AND id < 60",
    "c IN ('c1', NULL) AND id < 60",
    "c NOT IN ('c1', NULL)",
    "v = '' OR v = 'a value of its own'",
    "v <> 'name 1' AND v LIKE 'name 1%' AND id < 700",
    "late > 3000 AND late < 3500",
    "late IS NULL AND id < 40 AND x = 'xxx'",
];

fn rows(client: &mut Client, condition: &str) -> Vec<String> {
    client.run(&format!("SELECT id, v, n, late FROM t WHERE {condition} ORDER BY id"))
}

#[test]
fn conditions_asked_of_pages_find_the_rows_that_fulfil_them() {
    let world = World::with(Env::real(), EngineOptions { page_size: 4096, ..EngineOptions::default() });
    let (mut client, mut old) = (world.connect(), world.connect());
    client.run(TABLE);
    // One that sees older versions of many rows, and of some pages of all.
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    old.run("SELECT count(*) FROM t");
    client.run("UPDATE t SET id = id + 1, n = n + 1, v = v || '!', d = d + 1 WHERE id % 3 = 0 OR id BETWEEN 1000 AND 2000");
    client.run("DELETE FROM t WHERE id % 41 = 0; INSERT INTO t (id, n, late) VALUES (-5, 1.25, 3001)");
    client.run("SET min_parallel_table_scan_size = 0");
    for reader in [&mut client, &mut old] {
        let mut found = 0;
        for condition in CONDITIONS {
            reader.run("SET executor = row");
            let expected = rows(reader, condition);
            found += usize::from(!expected.is_empty());
            for workers in [1, 2, 8] {
                reader.run(&format!("SET executor = auto; SET parallel_workers = {workers}"));
                assert_eq!(rows(reader, condition), expected, "{condition}, {workers} workers");
            }
        }
        assert!(found > 28, "{found} conditions have rows");
    }
}

#[test]
fn what_fails_for_a_row_that_an_earlier_condition_keeps_fails_as_before() {
    let world = World::with(Env::real(), EngineOptions { page_size: 4096, ..EngineOptions::default() });
    let mut client = world.connect();
    client.run(TABLE);
    for executor in ["row", "auto"] {
        client.run(&format!("SET executor = {executor}"));
        let error = client.try_run("SELECT id FROM t WHERE 1 / (id - 50) < 5 AND id < 10").unwrap_err();
        assert_eq!(error.sqlstate, "22012", "{executor}");
        assert_eq!(
            client.run("SELECT count(*) FROM t WHERE id < 10 AND 1 / (id - 50) < 5"),
            ["9", "SELECT 1"],
            "{executor}"
        );
        // A constant that fails is asked for by rows only.
        let error = client.try_run("SELECT id FROM t WHERE id < 1 / (SELECT 0)").unwrap_err();
        assert_eq!(error.sqlstate, "22012", "{executor}");
        assert_eq!(
            client.run("SELECT count(*) FROM t WHERE id > (SELECT avg(id) FROM t) AND n < (SELECT min(n) + 1 FROM t)"),
            client.run("SELECT count(*) FROM t, (SELECT avg(id) AS a, min(n) + 1 AS b FROM t) AS s WHERE id > a AND n < b"),
            "{executor}"
        );
    }
}
