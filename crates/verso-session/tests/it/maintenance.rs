//! Workers of maintenance: how many there are, who sees them, what readers do meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::World;

#[test]
fn workers_are_asked_for_bounded_and_shown() {
    let world = World::new();
    let mut client = world.connect();
    client.run("ALTER DATABASE SET max_parallel_workers = 3");
    assert_eq!(client.value("SHOW max_parallel_workers"), "3");
    assert_eq!(client.fails("SET max_parallel_workers = 4").0, "55P02");
    assert_eq!(client.fails("ALTER DATABASE SET max_parallel_workers = 0").0, "22023");
    assert_eq!(client.fails("SET parallel_workers = 0").0, "22023");
    client.run("ALTER DATABASE SET worker_idle_timeout = '5min'");
    assert_eq!(client.value("SHOW worker_idle_timeout"), "5min");
    client.run("SET parallel_workers = 2");
    assert_eq!(client.value("SHOW parallel_workers"), "2");
    client.run("CREATE TABLE t (id int, name text)");
    client.run("INSERT INTO t SELECT i, 'name ' || i FROM generate_series(1, 5000) AS s(i)");
    client.run("CREATE INDEX one ON t (name)");
    client.run("SWEEP");
    assert_eq!(client.value("SELECT workers FROM verso_sweep_history ORDER BY started DESC LIMIT 1"), "2");
    // Its statement says more than the session, and neither more than the database.
    client.run("SWEEP (PARALLEL 3)");
    assert_eq!(client.value("SELECT workers FROM verso_sweep_history ORDER BY started DESC LIMIT 1"), "3");
    for sql in [
        "SWEEP (PARALLEL 16)",
        "VACUUM (PARALLEL 16)",
        "CREATE INDEX two ON t (id) WITH (parallel_workers = 16)",
        "REINDEX (PARALLEL 16) TABLE t",
        "REINDEX (PARALLEL 16) INDEX one",
    ] {
        let lines = client.run(sql);
        let wanted = "WARNING: 16 workers are more than max_parallel_workers allows: 3 work";
        assert!(lines.iter().any(|line| line == wanted), "{sql}: {lines:?}");
    }
    assert_eq!(client.value("SELECT workers FROM verso_sweep_history ORDER BY started DESC LIMIT 1"), "3");
    // The caller works, too. A thread that is quick does the other one's part as well, and then there is no second one yet.
    let workers = "SELECT count(*) FROM verso_sessions WHERE kind = 'worker' AND state = 'idle' AND id < 0";
    for _ in 0..1_000 {
        if client.value(workers) != "1" {
            break;
        }
        client.run("REINDEX (PARALLEL 16) TABLE t");
    }
    assert_eq!(client.value(workers), "2");
    assert_eq!(client.value("SELECT count(*) FROM verso_progress"), "0");
    assert_eq!(client.value("SELECT count(*) FROM t WHERE name = 'name 77' AND id = 77"), "1");
    for (sql, code) in [
        ("REINDEX (PARALLEL 0) TABLE t", "22023"),
        ("REINDEX (NOSUCH) TABLE t", "42601"),
        ("CREATE INDEX three ON t (id) WITH (parallel_workers = x)", "22023"),
    ] {
        assert_eq!(client.fails(sql).0, code, "{sql}");
    }
}

#[test]
fn readers_go_on_while_an_index_is_made_and_writers_wait() {
    let world = World::new();
    let (mut maker, mut reader) = (world.connect(), world.connect());
    maker.run("CREATE TABLE t (id int, name text); INSERT INTO t VALUES (1, 'one')");
    maker.run("BEGIN; CREATE INDEX i ON t (name)");
    reader.run("SET lock_timeout = '10ms'");
    assert_eq!(reader.value("SELECT name FROM t WHERE name = 'one'"), "one");
    assert_eq!(reader.fails("INSERT INTO t VALUES (2, 'two')").0, "55P03");
    // It is a lock of rows against writers only, which several may have: they make indexes beside each other.
    reader.run("CREATE INDEX j ON t (id)");
    reader.run("BEGIN; LOCK TABLE t IN SHARE MODE; COMMIT");
    maker.run("COMMIT");
    // Whoever reads through the old index goes on with it.
    for sql in ["REINDEX INDEX i", "REINDEX TABLE t", "ALTER INDEX i ACTIVE"] {
        maker.run(&format!("BEGIN; {sql}"));
        assert_eq!(reader.value("SELECT id FROM t WHERE name = 'one'"), "1", "{sql}");
        assert_eq!(reader.fails("UPDATE t SET id = 5").0, "55P03", "{sql}");
        maker.run("COMMIT");
        assert_eq!(reader.value("SELECT id FROM t WHERE name = 'one'"), "1", "{sql}");
    }
    // A view from before goes on with the index from before, too.
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    maker.run("REINDEX TABLE t; INSERT INTO t VALUES (3, 'three')");
    assert_eq!(reader.value("SELECT count(*) FROM t WHERE name IN ('one', 'three')"), "1");
    reader.run("COMMIT");
    assert_eq!(reader.value("SELECT count(*) FROM t WHERE name IN ('one', 'three')"), "2");
    reader.run("INSERT INTO t VALUES (2, 'two')");
    assert_eq!(reader.value("SELECT id FROM t WHERE name = 'two'"), "2");
}

/// The build waits for the one transaction that may have a key twice, and nobody waits for the build.
#[test]
#[expect(clippy::disallowed_methods, reason = "a client of its own, in the real world")]
fn writers_go_on_while_an_index_is_made_concurrently() {
    let world = World::new();
    let (mut other, mut writer) = (world.connect(), world.connect());
    other.run("CREATE TABLE t (id int, name text); INSERT INTO t VALUES (1, 'one')");
    for (end, made) in [("ROLLBACK", true), ("COMMIT", false)] {
        other.run("BEGIN; INSERT INTO t VALUES (10, 'one')");
        let mut maker = world.connect();
        let work =
            std::thread::spawn(move || maker.try_run("CREATE UNIQUE INDEX CONCURRENTLY u ON t (name)"));
        let seen =
            "SELECT count(*) FROM pg_stat_progress_create_index WHERE command = 'CREATE INDEX CONCURRENTLY'";
        while writer.value(seen) == "0" {
            assert!(!work.is_finished(), "{:?}", work.join());
        }
        writer.run("SET lock_timeout = '5s'");
        writer.run(&format!("INSERT INTO t VALUES (2, '{end}'); UPDATE t SET id = 3 WHERE name = '{end}'"));
        assert_eq!(writer.fails("CREATE INDEX j ON t (id) NOSUCH").0, "42601");
        assert!(!work.is_finished());
        other.run(end);
        let result = work.join().expect("a thread");
        match made {
            true => assert!(result.is_ok(), "{result:?}"),
            false => assert_eq!(result.expect_err("a key that is there twice").sqlstate, "23505"),
        }
        let there = writer.value("SELECT count(*) FROM pg_class WHERE relname = 'u'");
        assert_eq!(there, if made { "1" } else { "0" });
        assert_eq!(writer.value(&format!("SELECT id FROM t WHERE name = '{end}'")), "3");
        if made {
            assert_eq!(writer.fails("INSERT INTO t VALUES (2, 'one')").0, "23505");
            writer.run("DROP INDEX CONCURRENTLY u");
        }
    }
}

/// Changes of definitions that take long are seen, with their table, whichever part of them is under way.
#[test]
#[expect(clippy::disallowed_methods, reason = "a client of its own, in the real world")]
fn long_definitions_are_seen() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE p (id int PRIMARY KEY); INSERT INTO p VALUES (7)");
    client.run("CREATE TABLE t (id int, name text, p int); CREATE INDEX ON t (name)");
    client.run("INSERT INTO t SELECT i, 'name ' || i, 7 FROM generate_series(1, 4000) AS s(i)");
    client.run("CREATE MATERIALIZED VIEW m AS SELECT * FROM t");
    for (statement, operation, table) in [
        ("BEGIN; ALTER TABLE t ADD COLUMN more int DEFAULT 5; ROLLBACK", "ALTER TABLE", "t"),
        ("BEGIN; ALTER TABLE t ADD FOREIGN KEY (p) REFERENCES p; ROLLBACK", "ALTER TABLE", "t"),
        ("BEGIN; CREATE INDEX ON t (lower(name)); ROLLBACK", "CREATE INDEX", "t"),
        ("REFRESH MATERIALIZED VIEW m", "REFRESH MATERIALIZED VIEW", "m"),
        ("ALTER TABLE t REPACK", "REPACK", "t"),
    ] {
        let mut worker = world.connect();
        let over = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&over);
        let work = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                worker.run(statement);
            }
        });
        let of = |condition: &str| {
            format!(
                "SELECT count(*) FROM verso_progress WHERE operation = '{operation}' AND session > 0 AND {condition}"
            )
        };
        while client.value(&of(&format!("table_name = '{table}'"))) == "0" {
            assert!(!work.is_finished(), "{:?}", work.join());
        }
        assert_eq!(client.value(&of("table_name IS NULL")), "0", "{statement}");
        over.store(true, Ordering::Relaxed);
        work.join().expect("the statements go on");
    }
}

/// Whoever looks sees a job, in Verso's words and in PostgreSQL's, and ends it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a client of its own, in the real world")]
fn jobs_are_seen_and_cancelled() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int, name text)");
    client.run("INSERT INTO t SELECT i, 'name ' || i FROM generate_series(1, 4000) AS s(i)");
    for (before, statement, operation, view) in [
        ("SELECT 1", "REINDEX (PARALLEL 2) TABLE t", "CREATE INDEX", "pg_stat_progress_create_index"),
        ("UPDATE t SET name = name || 'x'", "SWEEP (PARALLEL 2)", "SWEEP", "pg_stat_progress_vacuum"),
        ("SELECT 2", "ANALYZE FULL t", "ANALYZE", "pg_stat_progress_analyze"),
        ("SELECT 3", "COPY t TO '/dev/null'", "COPY TO", "pg_stat_progress_copy"),
        ("SELECT 4", "VACUUM FULL t", "VACUUM FULL", "pg_stat_progress_cluster"),
        ("SELECT 5", "CLUSTER t USING i", "CLUSTER", "pg_stat_progress_cluster"),
    ] {
        let (workers, of_job) = match operation {
            "CREATE INDEX" | "SWEEP" => (2, "phase <> ''"),
            "COPY TO" => (1, "command = 'COPY TO' AND type = 'FILE' AND tuples_processed > 0"),
            "VACUUM FULL" => (1, "phase = 'seq scanning heap' AND heap_blks_scanned > 0"),
            "CLUSTER" => (1, "relid = 't'::regclass AND heap_blks_total > 0"),
            _ => (1, "phase = 'acquiring sample rows' AND sample_blks_total > 0"),
        };
        client.run("DROP INDEX IF EXISTS i; CREATE INDEX i ON t (name)");
        let mut worker = world.connect();
        let handle = worker.session.cancel_handle();
        let work = std::thread::spawn(move || {
            loop {
                if let Err(error) = worker.try_run(before).and_then(|_| worker.try_run(statement)) {
                    return error;
                }
            }
        });
        let shown = format!(
            "SELECT count(*) FROM verso_progress WHERE operation = '{operation}' AND session > 0 AND workers = {workers} AND phase <> ''"
        );
        let of_postgres =
            format!("SELECT count(*) FROM {view} WHERE pid > 0 AND datname = 'verso' AND {of_job}");
        for query in [shown, of_postgres] {
            while client.value(&query) == "0" {
                assert!(!work.is_finished(), "{:?}", work.join());
            }
        }
        handle.cancel();
        while !work.is_finished() {
            // One that came between two statements ends nothing.
            std::thread::sleep(std::time::Duration::from_millis(20));
            handle.cancel();
        }
        assert_eq!(work.join().expect("an error").sqlstate, "57014", "{statement}");
        assert_eq!(client.value("SELECT count(*) FROM verso_progress"), "0");
    }
    assert_eq!(client.value("SELECT count(*) FROM t WHERE name LIKE 'name 77%' AND id = 77"), "1");
}

/// A condition that looks at the job within which it is asked.
#[test]
fn checks_of_the_rows_that_are_there_say_how_far_they_are() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int, name text)");
    client.run("INSERT INTO t SELECT i, repeat('name', 100) FROM generate_series(1, 5000) AS s(i)");
    client.run(
        "CREATE FUNCTION is_seen(id int) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN
           RETURN EXISTS (SELECT FROM verso_progress WHERE operation = 'ALTER TABLE' AND table_name = 't'
             AND total > 1 AND done <= total AND (done > 0 OR id < 4000)); END $$",
    );
    for statement in [
        "ALTER TABLE t ADD CONSTRAINT seen CHECK (id % 500 > 0 OR is_seen(id))",
        "ALTER TABLE t DROP CONSTRAINT seen, ADD CONSTRAINT seen CHECK (id % 500 > 0 OR is_seen(id)) NOT VALID",
        "ALTER TABLE t VALIDATE CONSTRAINT seen",
    ] {
        client.run(statement);
    }
    // Scans of other statements tell nobody.
    assert_eq!(client.value("SELECT count(*) FROM verso_progress"), "0");
    assert_eq!(client.fails("INSERT INTO t VALUES (500)").0, "23514");
}

#[test]
fn sweeps_that_start_by_themselves_are_remembered() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int); ALTER DATABASE SET sweep_interval = 5");
    client.run("SET default_transaction_savepoints = off");
    client.run("BEGIN; INSERT INTO t VALUES (1); ROLLBACK");
    client.run("SWEEP");
    let own = "SELECT count(*) FROM verso_sweep_history WHERE session IS NULL AND workers = 1 AND oit_after > oit_before";
    assert_eq!(client.value(own), "0");
    client.run("BEGIN; INSERT INTO t VALUES (2); ROLLBACK");
    for id in 10..20 {
        client.run(&format!("INSERT INTO t VALUES ({id})"));
    }
    while client.value(own) == "0" {
        client.run("INSERT INTO t VALUES (3)");
    }
    assert_eq!(client.value("SELECT count(*) FROM verso_sweep_history WHERE session IS NOT NULL"), "1");
}

/// Several keys in one statement are built from one scan, and are as if they had been added one after the other.
#[test]
fn several_keys_of_one_statement() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b int, c int, UNIQUE (c)); ALTER TABLE t ADD UNIQUE (b, c)");
    client.run("INSERT INTO t SELECT n, n % 10, n FROM generate_series(1, 1000) AS s(n)");
    client.run("CREATE INDEX idle ON t (b); ALTER INDEX idle INACTIVE");
    let valid =
        "SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ', ' ORDER BY relname) FROM pg_index
        JOIN pg_class ON oid = indexrelid WHERE indrelid = 't'::regclass";
    assert_eq!(
        client.fails("ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (a), ADD CONSTRAINT u UNIQUE (b)"),
        ("23505", "could not create unique index \"u\"".into())
    );
    let two = "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (a), ADD CONSTRAINT again PRIMARY KEY (c)";
    assert_eq!(client.fails(two).0, "42P16");
    assert_eq!(client.value(valid), "idle false, t_b_c_key true, t_c_key true");
    client.run(
        "ALTER TABLE t ADD CONSTRAINT pk PRIMARY KEY (a), ADD CONSTRAINT u UNIQUE (b, a), ADD CHECK (a > 0),
           ADD FOREIGN KEY (b) REFERENCES t (a) NOT VALID",
    );
    assert_eq!(client.value(valid), "idle false, pk true, t_b_c_key true, t_c_key true, u true");
    assert_eq!(client.fails("INSERT INTO t VALUES (7, 1, 2000)").0, "23505");
    assert_eq!(client.fails("INSERT INTO t VALUES (NULL, 1, 2000)").0, "23502");
    assert_eq!(client.value("SELECT c FROM t WHERE a = 77"), "77");
}
