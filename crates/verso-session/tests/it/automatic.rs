//! ANALYZE by itself.

use crate::{Client, World};

const COUNTS: &str =
    "SELECT n_mod_since_analyze, analyze_count, autoanalyze_count, last_autoanalyze IS NOT NULL
    FROM pg_stat_user_tables WHERE relname = 't'";

fn counts(client: &mut Client) -> String {
    client.value(COUNTS)
}

/// The figures of PostgreSQL 18.
#[test]
fn changed_rows_are_counted_until_they_are_analyzed() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    assert_eq!(counts(&mut client), "0|0|0|f");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 1000) g");
    client.run("UPDATE t SET v = 0 WHERE id <= 30; DELETE FROM t WHERE id > 990");
    client.run("INSERT INTO t VALUES (2001, 1)");
    assert_eq!(counts(&mut client), "1041|0|0|f");
    client.run("BEGIN; UPDATE t SET v = 5 WHERE id <= 7");
    assert_eq!(counts(&mut client), "1041|0|0|f", "not before the end of the transaction");
    client.run("ROLLBACK");
    assert_eq!(counts(&mut client), "1048|0|0|f");
    client.run("ANALYZE t (v)");
    assert_eq!(counts(&mut client), "1048|1|0|f", "not all columns");
    client.run("ANALYZE t");
    assert_eq!(counts(&mut client), "0|2|0|f");
}

#[test]
fn tables_are_analyzed_when_enough_rows_have_changed() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int)");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 50) g");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "50|0|0|f", "fifty are not more than fifty");
    client.run("INSERT INTO t VALUES (51, 1)");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|1|t");
    assert_eq!(client.value("SELECT reltuples FROM pg_class WHERE relname = 't'"), "51");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(101, 1049) g");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|2|t");
    // A thousand rows: fifty and a tenth of them.
    client.run("UPDATE t SET v = v + 1 WHERE id IN (SELECT id FROM t LIMIT 150)");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "150|0|2|t");
    client.run("UPDATE t SET v = 0 WHERE id = 1");
    client.run("ALTER SYSTEM SET autovacuum = off");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "151|0|2|t");
    client.run("ALTER SYSTEM RESET autovacuum");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|3|t");
    client.run("ALTER SYSTEM SET autovacuum_analyze_threshold = 3");
    client.run("ALTER SYSTEM SET autovacuum_analyze_scale_factor = 0.002");
    client.run("UPDATE t SET v = 0 WHERE id <= 6");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|4|t");
    assert_eq!(client.value("SHOW autovacuum_analyze_scale_factor"), "0.002");
    assert_eq!(client.fails("ALTER SYSTEM SET autovacuum_analyze_threshold = -1").0, "22023");
    assert_eq!(client.fails("ALTER SYSTEM SET autovacuum_naptime = '1ms'").0, "22023");
    assert_eq!(client.fails("SET autovacuum = off").0, "55P02");
}

#[test]
fn a_table_may_say_for_itself_when_it_is_analyzed() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int, v int) WITH (autovacuum_enabled = off)");
    client.run("INSERT INTO t SELECT g, g FROM generate_series(1, 1000) g");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "1000|0|0|f");
    client.run("ALTER TABLE t SET (autovacuum_enabled = true, autovacuum_analyze_threshold = 2000)");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "1000|0|0|f", "a thousand are not more than two thousand");
    client.run("ALTER TABLE t SET (autovacuum_analyze_threshold = 0, autovacuum_analyze_scale_factor = 0)");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|1|t");
    client.run("UPDATE t SET v = 0 WHERE id = 1");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|2|t");
    client.run("ALTER TABLE t RESET (autovacuum_analyze_threshold, autovacuum_analyze_scale_factor)");
    client.run("UPDATE t SET v = 0 WHERE id <= 100");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "100|0|2|t", "the settings of the database again");
}

#[test]
fn no_lock_of_others_is_waited_for() {
    let world = World::new();
    let (mut client, mut other) = (world.connect(), world.connect());
    client.run("CREATE TABLE t (id int); INSERT INTO t SELECT generate_series(1, 100)");
    other.run("BEGIN; LOCK TABLE t IN SHARE ROW EXCLUSIVE MODE");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "100|0|0|f");
    assert_eq!(
        client.run("ANALYZE (SKIP_LOCKED) t"),
        ["WARNING: skipping analyze of \"t\" --- lock not available", "ANALYZE"]
    );
    other.run("COMMIT");
    world.instance.analyze_changed().expect("a round");
    assert_eq!(counts(&mut client), "0|0|1|t");
}
