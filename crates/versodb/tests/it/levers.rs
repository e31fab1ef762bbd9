//! Levers that change how the database runs, while it runs: memory, extents, old versions, files, shares.

use std::time::Duration;

use versodb::{Connection, Options};

use crate::new_database;

fn text(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).unwrap().into_rows()[0].text(0)
}

fn number(connection: &mut Connection, sql: &str) -> i64 {
    connection.query(sql).unwrap().into_rows()[0].get(0).unwrap()
}

/// Of what the configuration says and ALTER SYSTEM keeps, the latter counts, whatever the names.
#[test]
fn what_alter_system_keeps_stands_above_the_configuration_under_other_names_too() {
    for (file, kept, shown) in [
        (("synchronous_commit", "off"), ("commit_wait", "wait"), ("commit_wait", "wait", "nowait")),
        (
            ("synchronous_commit", "off"),
            ("commit_wait", "force_wait"),
            ("commit_wait", "force_wait", "nowait"),
        ),
        (
            ("commit_wait", "force_wait"),
            ("synchronous_commit", "off"),
            ("commit_wait", "nowait", "force_wait"),
        ),
        (("commit_logging", "batch"), ("synchronous_commit", "on"), ("commit_logging", "immediate", "batch")),
        (
            ("checkpoint_timeout", "10min"),
            ("checkpoint_interval", "20min"),
            ("checkpoint_interval", "20min", "10min"),
        ),
        (
            ("maintenance_work_mem", "8MB"),
            ("maintenance_memory", "16MB"),
            ("maintenance_memory", "16MB", "8MB"),
        ),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.verso");
        let options = || Options::new().defaults(vec![(file.0.to_owned(), file.1.to_owned())]);
        let (name, as_kept, as_in_file) = shown;
        let show = format!("SHOW {name}");
        let database = versodb::Database::create(&path, options()).unwrap();
        let mut connection = database.connect().unwrap();
        connection.execute(&format!("ALTER SYSTEM SET {} = '{}'", kept.0, kept.1)).unwrap();
        assert_eq!(text(&mut database.connect().unwrap(), &show), as_kept, "{file:?} {kept:?} at once");
        // As the server does it when it reads its configuration again.
        database.instance().apply_defaults().unwrap();
        assert_eq!(text(&mut database.connect().unwrap(), &show), as_kept, "{file:?} {kept:?} read again");
        drop(connection);
        database.close().unwrap();
        let database = versodb::Database::open(&path, options()).unwrap();
        assert_eq!(text(&mut database.connect().unwrap(), &show), as_kept, "{file:?} {kept:?} opened again");
        database.instance().apply_defaults().unwrap();
        let mut connection = database.connect().unwrap();
        assert_eq!(text(&mut connection, &show), as_kept, "{file:?} {kept:?} read again then");
        connection.execute(&format!("ALTER SYSTEM RESET {}", kept.0)).unwrap();
        let mut connection = database.connect().unwrap();
        assert_eq!(text(&mut connection, &show), as_in_file, "{file:?} {kept:?} reset");
    }
}

#[test]
fn settings_of_two_names_are_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = versodb::Database::create(&path, Options::new()).unwrap();
    for (one, other, values) in [
        ("buffer_pool", "shared_buffers", ["16MB", "32MB"]),
        ("checkpoint_interval", "checkpoint_timeout", ["10min", "20min"]),
        ("maintenance_memory", "maintenance_work_mem", ["8MB", "16MB"]),
    ] {
        for (said, asked) in [(one, other), (other, one)] {
            let show = format!("SHOW {asked}");
            let before = text(&mut database.connect().unwrap(), &show);
            let mut connection = database.connect().unwrap();
            for (name, value) in [(said, values[0]), (asked, values[1]), (said, values[0])] {
                connection.execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
                assert_eq!(text(&mut database.connect().unwrap(), &show), value, "{name}");
            }
            connection.execute(&format!("ALTER SYSTEM RESET {asked}")).unwrap();
            assert_eq!(text(&mut database.connect().unwrap(), &show), before, "{said} {asked}");
        }
    }
}

#[test]
fn sessions_that_keep_settings_wait_for_each_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = versodb::Database::create(&path, Options::new()).unwrap();
    let database = &database;
    std::thread::scope(|scope| {
        for name in ["work_mem", "default_statistics_target", "checkpoint_timeout", "temp_file_limit"] {
            scope.spawn(move || {
                let mut connection = database.connect().unwrap();
                for value in 1..40 {
                    let value = 100 + value;
                    connection.execute(&format!("ALTER SYSTEM SET {name} = '{value}'")).unwrap();
                    connection.execute(&format!("ALTER SYSTEM RESET {name}")).unwrap();
                }
            });
        }
    });
}

#[test]
fn the_buffer_pool_changes_while_it_is_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = versodb::Database::create(&path, Options::new().buffer_pool(32 << 20)).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer PRIMARY KEY, b text)").unwrap();
    connection.execute("INSERT INTO t SELECT n, repeat('x', 200) FROM generate_series(1, 60000) n").unwrap();
    let resident = "SELECT resident_pages * page_size FROM verso_database";
    let all = "SELECT sum(a) + sum(length(b)) FROM t";
    let sum = text(&mut connection, all);
    let before = number(&mut connection, resident);
    assert!(before > 8 << 20, "{before}");
    let database = &database;
    // Others read and write meanwhile.
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                scope.spawn(move || {
                    let mut connection = database.connect().unwrap();
                    for n in 0..300 {
                        let at = (n * 197 + writer * 30000) % 60000 + 1;
                        connection.execute(&format!("UPDATE t SET b = b WHERE a = {at}")).unwrap();
                    }
                })
            })
            .collect();
        for size in ["2MB", "16MB", "1MB", "64MB", "4MB"] {
            connection.execute(&format!("ALTER SYSTEM SET buffer_pool = '{size}'")).unwrap();
            assert_eq!(text(&mut connection, all), sum, "{size}");
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
    assert_eq!(text(&mut connection, all), sum);
    let small = number(&mut connection, resident);
    assert!(small <= 4 << 20, "{small}");
    connection.execute("ALTER SYSTEM SET buffer_pool = '64MB'").unwrap();
    connection.execute("PREWARM TABLE t").unwrap();
    let warm = number(&mut connection, resident);
    assert!(warm > 8 << 20, "{warm}");
    assert_eq!(number(&mut connection, "SELECT count(*) FROM t WHERE b IS NOT NULL"), 60000);
}

#[test]
fn a_resident_table_stays_in_memory() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = versodb::Database::create(&path, Options::new().buffer_pool(8 << 20)).unwrap();
    let mut connection = database.connect().unwrap();
    for sql in [
        "SET statement_statistics = on",
        "CREATE TABLE kept (a integer, b text) WITH (memory_resident = on)",
        "CREATE TABLE large (a integer, b text)",
        "INSERT INTO kept SELECT n, repeat('x', 200) FROM generate_series(1, 5000) n",
        "INSERT INTO large SELECT n, repeat('x', 200) FROM generate_series(1, 100000) n",
        "CHECKPOINT",
        "SELECT count(b) FROM kept",
    ] {
        connection.execute(sql).unwrap();
    }
    let mut reads = |table: &str| {
        // A scan of more than the pool in between, several times.
        for _ in 0..3 {
            connection.execute("SELECT count(b) FROM large").unwrap();
        }
        let reads = "SELECT reads FROM verso_session_stats";
        let before = number(&mut connection, reads);
        connection.execute(&format!("SELECT count(b) FROM {table}")).unwrap();
        number(&mut connection, reads) - before
    };
    assert_eq!(reads("kept"), 0);
}

#[test]
fn tables_are_unloaded_and_loaded() {
    let (directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    let file = directory.path().join("rows.unl").display().to_string();
    for sql in [
        "CREATE TABLE t (a integer, b text)".to_owned(),
        "CREATE TABLE u (a integer, b text)".to_owned(),
        "INSERT INTO t VALUES (1, 'one'), (2, NULL), (3, 'with | and \\')".to_owned(),
        format!("UNLOAD TO '{file}' DELIMITER '|' SELECT a, b FROM t ORDER BY a"),
        format!("LOAD FROM '{file}' DELIMITER '|' INSERT INTO u (a, b)"),
    ] {
        connection.execute(&sql).unwrap();
    }
    assert_eq!(number(&mut connection, "SELECT count(*) FROM (TABLE t EXCEPT TABLE u) d"), 0);
    assert_eq!(number(&mut connection, "SELECT count(*) FROM u"), 3);
    connection.execute("UNLOAD TO '/dev/null' SELECT * FROM t").unwrap();
}

#[test]
fn transactions_remove_old_versions_where_that_is_the_policy() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("ALTER SYSTEM SET gc_policy = cooperative").unwrap();
    connection.execute("CREATE TABLE t (a integer PRIMARY KEY, b integer)").unwrap();
    connection.execute("INSERT INTO t SELECT n, 0 FROM generate_series(1, 20000) n").unwrap();
    for _ in 0..10 {
        connection.execute("UPDATE t SET b = b + 1").unwrap();
    }
    let versions = number(&mut connection, "SELECT version_pages FROM verso_database");
    assert!(versions < 10, "{versions} pages are left of ten passes");
}

#[test]
fn scans_read_ahead_as_far_as_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let options = || Options::new().buffer_pool(16 << 20);
    let database = versodb::Database::create(&path, options()).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer, b text) WITH (extent_size = '4MB')").unwrap();
    connection.execute("INSERT INTO t SELECT n, repeat('x', 400) FROM generate_series(1, 12000) n").unwrap();
    drop(connection);
    database.close().unwrap();
    // Pages read, and of them ahead, by a scan of a table of which none is in memory.
    let scan = |how: &str| {
        let database = versodb::Database::open(&path, options()).unwrap();
        let mut connection = database.connect().unwrap();
        connection.execute(&format!("ALTER SYSTEM SET auto_readahead = '{how}'")).unwrap();
        connection.execute("SET parallel_workers = 1").unwrap();
        connection.query("SELECT 1 FROM pg_class, pg_attribute LIMIT 1").unwrap();
        let before = database.engine().statistics().pool;
        assert_eq!(number(&mut connection, "SELECT sum(length(b)) FROM t"), 4_800_000);
        let after = database.engine().statistics().pool;
        drop(connection);
        database.close().unwrap();
        (after.reads - before.reads, after.prefetched - before.prefetched)
    };
    let (all, none) = scan("0");
    assert!(all > 200, "{all}");
    assert_eq!(none, 0);
    let (_, usual) = scan("1,8");
    let (_, first_too) = scan("2,8");
    let (_, far) = scan("1,64");
    // The first window is read page by page, and what no whole piece is at the end.
    assert!(usual > all - 24 && usual <= all - 8, "{usual} of {all}");
    assert!(first_too >= usual + 7, "{first_too}, {usual}");
    assert!(far > 100 && far <= all - 64, "{far} of {all}");
    // What was said last stays.
    let database = versodb::Database::open(&path, options()).unwrap();
    assert_eq!(text(&mut database.connect().unwrap(), "SHOW auto_readahead"), "1,64");
}

#[test]
fn the_statement_cache_is_as_large_as_is_said_and_can_be_gone_around() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    let all = |connection: &mut Connection, texts: std::ops::Range<u32>| {
        for n in texts {
            connection.execute(&format!("SELECT a + 0 AS c{n} FROM t")).unwrap();
        }
    };
    let kept = "SELECT count(*) FROM verso_statement_cache WHERE statement LIKE 'SELECT a +%'";
    connection.execute("SET stmt_cache = off").unwrap();
    all(&mut connection, 0..50);
    assert_eq!(number(&mut connection, kept), 0);
    connection.execute("SET stmt_cache = on").unwrap();
    all(&mut connection, 0..50);
    assert_eq!(number(&mut connection, kept), 50);
    connection.execute("ALTER SYSTEM SET stmt_cache_size = 10").unwrap();
    all(&mut connection, 100..200);
    let few = number(&mut connection, kept);
    assert!((1..=10).contains(&few), "{few}");
    connection.execute("ALTER SYSTEM SET stmt_cache_size = 0").unwrap();
    all(&mut connection, 200..210);
    assert_eq!(number(&mut connection, kept), 0);
}

#[test]
fn the_statement_cache_is_shown() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    connection.execute("SELECT a FROM t WHERE a = 77").unwrap();
    let kept = "SELECT kept_as FROM verso_statement_cache WHERE statement LIKE '%FROM t WHERE a = %'";
    assert_eq!(text(&mut connection, kept), "parameters");
}

#[test]
fn statements_wait_for_their_share_in_the_queue() {
    let (_directory, database) = new_database();
    let mut control = database.connect().unwrap();
    control.execute("CREATE TABLE t (a integer, b text)").unwrap();
    control.execute("INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 50000) n").unwrap();
    let wide = |share: &str| {
        let mut connection = database.connect().unwrap();
        for sql in [
            "SET parallel_workers = 4",
            "SET min_parallel_table_scan_size = 0",
            &format!("SET pdq_priority = {share}"),
        ] {
            connection.execute(sql).unwrap();
        }
        connection
    };
    let slow = "SELECT count(b), pg_sleep(1.5) FROM t";
    let (mut first, mut second, mut third, mut none) = (wide("70"), wide("50"), wide("10"), wide("0"));
    std::thread::scope(|scope| {
        let queue = |control: &mut Connection| {
            let rows = control.query("SELECT state || ' ' || units FROM verso_queue").unwrap().into_rows();
            rows.iter().map(|row| row.text(0)).collect::<Vec<_>>()
        };
        let wait_for = |control: &mut Connection, wanted: &[&str]| {
            for _ in 0..100 {
                if queue(control) == wanted {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            panic!("{:?}, not {wanted:?}", queue(control));
        };
        let running = scope.spawn(move || first.execute(slow).unwrap());
        wait_for(&mut control, &["running 70"]);
        let waiting = scope.spawn(move || second.execute("SELECT count(b) FROM t").unwrap());
        wait_for(&mut control, &["running 70", "waiting 50"]);
        // It would fit, but does not overtake.
        let behind = scope.spawn(move || third.execute("SELECT count(b) FROM t").unwrap());
        wait_for(&mut control, &["running 70", "waiting 50", "waiting 10"]);
        // Who asks for none, or holds locks, goes on with one thread.
        assert_eq!(number(&mut none, "SELECT count(b) FROM t"), 50000);
        let mut holding = wide("100");
        holding.execute("BEGIN").unwrap();
        holding.execute("UPDATE t SET a = 0 WHERE a = 1").unwrap();
        assert_eq!(number(&mut holding, "SELECT count(b) FROM t"), 50000);
        holding.execute("COMMIT").unwrap();
        for statement in [running, waiting, behind] {
            statement.join().unwrap();
        }
        assert!(queue(&mut control).is_empty());
    });
}
