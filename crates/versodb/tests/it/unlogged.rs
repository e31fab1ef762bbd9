//! UNLOGGED tables and COPY with NOLOG through SQL: what is there when the power has gone, and what is not.

use std::path::PathBuf;

use verso_env::{Env, OpenMode};
use verso_sim::{FaultPlan, World, seeds};
use versodb::{Connection, Database, Error};

use crate::simulated::{number, options, path};

/// A file of numbers, as COPY reads it.
fn file(env: &Env, name: &str, numbers: std::ops::Range<i64>) -> PathBuf {
    let at = World::dir().join(name);
    let text: String = numbers.map(|number| format!("{number}\tvalue {number}\n")).collect();
    let file = env.vfs.open(&at, OpenMode { truncate: true, ..OpenMode::CREATE }).unwrap();
    file.write_at(text.as_bytes(), 0).unwrap();
    file.sync_data().unwrap();
    env.vfs.sync_dir(World::dir()).unwrap();
    at
}

const SCHEMA: [&str; 5] = [
    "CREATE TABLE kept (a bigint PRIMARY KEY, b text)",
    "CREATE UNLOGGED TABLE lost (a bigint PRIMARY KEY, b text, n serial)",
    "CREATE INDEX lost_b ON lost (b)",
    "INSERT INTO kept SELECT i, 'value ' || i FROM generate_series(1, 500) AS s(i)",
    "INSERT INTO lost SELECT i, 'value ' || i FROM generate_series(1, 500) AS s(i)",
];

#[test]
fn after_a_crash_an_unlogged_table_is_empty_and_works() {
    let (mut emptied, mut whole) = (0, 0);
    for seed in seeds(12) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let mut acknowledged = 500;
        let (closed, worked) = world.run(|env| {
            let database = Database::create(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            for sql in SCHEMA {
                connection.execute(sql).unwrap();
            }
            // Every fourth life ends in order.
            let at = rng.between(3, 160);
            let power_off_at_op = (!seed.is_multiple_of(4)).then_some(at);
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let mut work = || -> Result<(), Error> {
                for round in 1..8 {
                    let (first, last) = (round * 1000, round * 1000 + 99);
                    for table in ["kept", "lost"] {
                        let rows =
                            format!("SELECT i, 'value ' || i FROM generate_series({first}, {last}) AS s(i)");
                        connection.execute("BEGIN")?;
                        connection.execute(&format!("INSERT INTO {table} {rows}"))?;
                        connection.execute(&format!("UPDATE {table} SET b = b || '.' WHERE a % 7 = 0"))?;
                        connection.execute("COMMIT")?;
                    }
                    acknowledged += 100;
                    if round == 3 {
                        connection.execute("CHECKPOINT")?;
                    }
                }
                Ok(())
            };
            let worked = work();
            let worked_all = worked.is_ok();
            let done = worked.and_then(|()| {
                drop(connection);
                database.close()
            });
            (done.is_ok(), worked_all)
        });
        world.crash();
        world.run(|env| {
            let mut ended = closed;
            for life in 0..2 {
                let database = Database::open(path(), options(env)).unwrap();
                let mut connection = database.connect().unwrap();
                let kept = number(&mut connection, "SELECT count(*) FROM kept").unwrap();
                assert!(kept == acknowledged || kept == acknowledged + 100, "seed {seed}: {kept}");
                let lost = number(&mut connection, "SELECT count(*) FROM lost").unwrap();
                let own = if life == 0 { 0 } else { 50 };
                // The power may go when the file is whole already, and nobody has been told.
                ended |= life == 0 && worked && lost > 0;
                match ended {
                    true => assert_eq!(lost, acknowledged + own, "seed {seed}"),
                    false => assert_eq!(lost, own, "seed {seed}"),
                }
                let by_index = "SELECT count(*) FROM lost WHERE b LIKE 'value %' AND a > 0";
                assert_eq!(number(&mut connection, by_index).unwrap(), lost);
                if life == 0 {
                    emptied += u32::from(!ended);
                    whole += u32::from(ended);
                    connection
                        .execute("INSERT INTO lost SELECT i, 'value ' || i FROM generate_series(100001, 100050) AS s(i)")
                        .unwrap();
                    let again = connection.execute("INSERT INTO lost VALUES (100001, 'again')").unwrap_err();
                    assert_eq!(again.sqlstate, "23505");
                    // The sequence of its column begins anew with it.
                    let last = number(&mut connection, "SELECT max(n) FROM lost").unwrap();
                    assert_eq!(last == 50, !ended, "seed {seed}: {last}");
                }
                let letters = "SELECT count(*) FROM pg_class WHERE relpersistence = 'u'";
                assert_eq!(number(&mut connection, letters).unwrap(), 4);
                drop(connection);
                database.close().unwrap();
            }
        });
    }
    let one_seed = std::env::var_os("SEED").is_some();
    assert!((emptied > 0 && whole > 0) || one_seed, "{emptied} emptied, {whole} whole");
}

#[test]
fn copy_with_nolog_leaves_all_rows_or_none() {
    let (mut empty, mut full) = (0, 0);
    for seed in seeds(15) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let done = world.run(|env| {
            let rows = file(env, "rows", 0..3000);
            let database = Database::create(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            connection.execute("CREATE TABLE t (a bigint PRIMARY KEY, b text)").unwrap();
            connection.execute("CREATE INDEX t_b ON t (b)").unwrap();
            // Every third time the power goes when all is done.
            let at = rng.between(3, 200);
            let power_off_at_op = (!seed.is_multiple_of(3)).then_some(at);
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let mut work = || -> Result<(), Error> {
                connection.execute(&format!("COPY t FROM '{}' WITH (nolog)", rows.display()))?;
                connection.execute("CHECKPOINT")?;
                connection.execute("UPDATE t SET b = 'later' WHERE a = 1")?;
                Ok(())
            };
            work().is_ok()
        });
        world.crash();
        world.run(|env| {
            let database = Database::open(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            let count = number(&mut connection, "SELECT count(*) FROM t").unwrap();
            assert!(count == 3000 || (count == 0 && !done), "seed {seed}: {count} rows");
            if done {
                let later = "SELECT count(*) FROM t WHERE b = 'later' AND a = 1";
                assert_eq!(number(&mut connection, later).unwrap(), 1, "seed {seed}");
            }
            let logged = "SELECT count(*) FROM pg_class WHERE relname IN ('t', 't_b', 't_pkey') AND relpersistence = 'p'";
            assert_eq!(number(&mut connection, logged).unwrap(), 3);
            let by_key = "SELECT count(*) FROM t WHERE a BETWEEN 10 AND 19";
            assert_eq!(number(&mut connection, by_key).unwrap(), if count == 0 { 0 } else { 10 });
            let problems = database.engine().check(&mut |_| {}).unwrap().problems;
            assert!(problems.is_empty(), "seed {seed}: {problems:?}");
            empty += u32::from(count == 0);
            full += u32::from(count > 0);
            drop(connection);
            database.close().unwrap();
        });
    }
    let one_seed = std::env::var_os("SEED").is_some();
    assert!((empty > 0 && full > 0) || one_seed, "{empty} empty, {full} full");
}

#[test]
fn copy_with_nolog_wants_an_empty_table_and_goes_with_its_transaction() {
    let world = World::new(1);
    world.run(|env| {
        let rows = file(env, "rows", 0..2000);
        let copy = format!("COPY t FROM '{}' WITH (nolog)", rows.display());
        let database = Database::create(path(), options(env)).unwrap();
        let mut connection = database.connect().unwrap();
        connection.execute("CREATE TABLE t (a bigint PRIMARY KEY, b text)").unwrap();
        connection.execute("BEGIN").unwrap();
        connection.execute(&copy).unwrap();
        connection.execute("UPDATE t SET b = 'x' WHERE a < 10").unwrap();
        assert_eq!(number(&mut connection, "SELECT count(*) FROM t WHERE b = 'x'").unwrap(), 10);
        let again = connection.execute(&copy).unwrap_err();
        assert_eq!(again.sqlstate, "55000", "{again}");
        connection.execute("ROLLBACK").unwrap();
        assert_eq!(number(&mut connection, "SELECT count(*) FROM t").unwrap(), 0);
        // Far fewer bytes of log than the same rows logged.
        let logged = |connection: &mut Connection| {
            number(connection, "SELECT wal_bytes::bigint FROM pg_stat_wal").unwrap()
        };
        let before = logged(&mut connection);
        connection.execute(&copy).unwrap();
        let few = logged(&mut connection) - before;
        connection.execute("TRUNCATE t").unwrap();
        let before = logged(&mut connection);
        connection.execute(&copy.replace("WITH (nolog)", "")).unwrap();
        let all = logged(&mut connection) - before;
        assert!(few * 4 < all, "{few} of {all} bytes");
        // Duplicates are found, and nothing is left.
        connection.execute("TRUNCATE t").unwrap();
        let twice = file(env, "twice", 0..10);
        let text = "1\tone\n1\tanother\n";
        env.vfs
            .open(&twice, OpenMode { truncate: true, ..OpenMode::CREATE })
            .unwrap()
            .write_at(text.as_bytes(), 0)
            .unwrap();
        let twice = format!("COPY t FROM '{}' WITH (nolog)", twice.display());
        assert_eq!(connection.execute(&twice).unwrap_err().sqlstate, "23505");
        assert_eq!(number(&mut connection, "SELECT count(*) FROM t").unwrap(), 0);
        let to = connection.execute("COPY t TO '/sim/out' WITH (nolog)").unwrap_err();
        assert_eq!(to.sqlstate, "0A000");
        // Where the log is archived it has all of it.
        env.vfs.create_dir_all(&World::dir().join("archive")).unwrap();
        let target = World::dir().join("archive");
        connection.execute(&format!("ALTER SYSTEM SET archive_target = '{}'", target.display())).unwrap();
        let before = logged(&mut connection);
        connection.execute(&copy).unwrap();
        assert!(logged(&mut connection) - before > all / 2);
        drop(connection);
        database.close().unwrap();
    });
}
