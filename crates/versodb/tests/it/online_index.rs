//! CREATE INDEX CONCURRENTLY for which rows are copied: beside writers, and whenever the power goes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use verso_sim::{FaultPlan, Rng, World, seeds};
use versodb::{Connection, Database, Error};

use crate::simulated::{number, options, path};

/// The rows that a session has written.
type Rows = BTreeMap<i64, (i64, String)>;

const TABLE: &str =
    "CREATE TABLE t (id int PRIMARY KEY, a int, b text, c int GENERATED ALWAYS AS (a % 7) STORED)";

/// What each build is of, and how its rows are found.
const BUILDS: [(&str, &str); 4] = [
    ("CREATE INDEX CONCURRENTLY i ON t (lower(b))", "SELECT count(*) FROM t WHERE lower(b) = 'value 3'"),
    ("CREATE UNIQUE INDEX CONCURRENTLY i ON t ((id * 2))", "SELECT count(*) FROM t WHERE id * 2 >= 100"),
    (
        "CREATE INDEX CONCURRENTLY i ON t (a) WHERE a % 2 = 0",
        "SELECT count(*) FROM t WHERE a % 2 = 0 AND a < 9",
    ),
    (
        "CREATE INDEX CONCURRENTLY i ON t ((a + c) DESC, length(b)) WHERE b <> ''",
        "SELECT count(*) FROM t WHERE a + c BETWEEN 3 AND 12 AND b <> ''",
    ),
];

/// One transaction of inserts, updates and deletes of rows that are this session's; the rows as they are when it commits.
fn transaction(
    connection: &mut Connection,
    rng: &mut Rng,
    session: i64,
    rows: &Rows,
) -> Result<Option<Rows>, Error> {
    let mut now = rows.clone();
    connection.execute("BEGIN")?;
    for _ in 0..rng.between(1, 5) {
        let id = session * 1_000 + rng.below(25) as i64;
        let (a, b) = (rng.below(20) as i64, format!("Value {}", rng.below(9)));
        let before = now.clone();
        let saved = rng.below(4) == 0;
        if saved {
            connection.execute("SAVEPOINT s")?;
        }
        match (now.contains_key(&id), rng.below(3)) {
            (true, 0) => {
                connection.execute(&format!("DELETE FROM t WHERE id = {id}"))?;
                now.remove(&id);
            }
            (true, _) => {
                connection.execute(&format!("UPDATE t SET a = {a}, b = '{b}' WHERE id = {id}"))?;
                now.insert(id, (a, b));
            }
            (false, _) => {
                connection.execute(&format!("INSERT INTO t VALUES ({id}, {a}, '{b}')"))?;
                now.insert(id, (a, b));
            }
        }
        if saved && rng.below(2) == 0 {
            connection.execute("ROLLBACK TO s")?;
            now = before;
        }
    }
    if rng.below(4) == 0 {
        connection.execute("ROLLBACK")?;
        return Ok(None);
    }
    connection.execute("COMMIT")?;
    Ok(Some(now))
}

/// Transactions of one session; its rows as they are then.
fn write(database: &Database, seed: u64, session: i64) -> Rows {
    let (mut rng, mut rows) = (Rng::new(seed ^ ((session as u64) << 32)), Rows::new());
    let mut connection = database.connect().unwrap();
    for _ in 0..25 {
        match transaction(&mut connection, &mut rng, session, &rows) {
            Ok(Some(now)) => rows = now,
            Ok(None) => {}
            Err(error) if error.sqlstate == "40P01" => drop(connection.execute("ROLLBACK")),
            Err(error) => panic!("{error:?}"),
        }
    }
    rows
}

fn rows_of(connection: &mut Connection) -> Rows {
    let found = connection.query("SELECT id, a, b FROM t ORDER BY id").unwrap();
    found
        .into_rows()
        .iter()
        .map(|row| (row.get(0).unwrap(), (row.get(1).unwrap(), row.get(2).unwrap())))
        .collect()
}

/// The index finds what a scan of the table finds.
fn agree(connection: &mut Connection, query: &str) {
    let mut counts = Vec::new();
    // Both see the same, whatever others write in between.
    connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
    for by_index in ["on", "off"] {
        for setting in ["enable_indexscan", "enable_bitmapscan"] {
            connection.execute(&format!("SET {setting} = {by_index}")).unwrap();
        }
        let scans = if by_index == "on" { "off" } else { "on" };
        connection.execute(&format!("SET enable_seqscan = {scans}")).unwrap();
        counts.push(number(connection, query).unwrap());
    }
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(counts[0], counts[1], "{query}");
}

fn sound(database: &Database, seed: u64) {
    let problems = database.engine().check(&mut |_| {}).unwrap().problems;
    assert!(problems.is_empty(), "seed {seed}: {problems:?}");
}

#[test]
fn an_index_for_which_rows_are_copied_has_what_writers_made_of_them_meanwhile() {
    let mut beside = 0;
    for seed in seeds(12) {
        let world = World::new(seed);
        world.run(|env| {
            let database = Arc::new(Database::create(path(), options(env)).unwrap());
            let mut connection = database.connect().unwrap();
            connection.execute(TABLE).unwrap();
            connection.execute("CREATE INDEX by_a ON t (a)").unwrap();
            connection
                .execute(
                    "INSERT INTO t SELECT -i, i % 20, 'Value ' || i % 9 FROM generate_series(1, 300) AS s(i)",
                )
                .unwrap();
            let (done, written) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Rows::new())));
            let sessions: Vec<_> = (1..4)
                .map(|session| {
                    let (database, done) = (Arc::clone(&database), Arc::clone(&done));
                    let written = Arc::clone(&written);
                    env.spawn(&format!("session {session}"), move || {
                        let rows = write(&database, seed, session);
                        written.lock().unwrap().extend(rows);
                        done.fetch_add(1, Ordering::SeqCst);
                    })
                })
                .collect();
            let mut round = 0;
            loop {
                let over = done.load(Ordering::SeqCst) == 3;
                let (build, query) = BUILDS[(seed as usize + round) % BUILDS.len()];
                match connection.execute(build) {
                    Ok(_) => {
                        beside += u64::from(done.load(Ordering::SeqCst) < 3);
                        agree(&mut connection, query);
                        connection.execute("DROP INDEX i").unwrap();
                    }
                    Err(error) => assert_eq!(error.sqlstate, "40P01", "{error:?}"),
                }
                round += 1;
                if over {
                    break;
                }
            }
            let mut expected: Rows = (1..=300).map(|i| (-i, (i % 20, format!("Value {}", i % 9)))).collect();
            sessions.into_iter().for_each(|session| session.join().unwrap());
            expected.append(&mut written.lock().unwrap());
            assert_eq!(rows_of(&mut connection), expected, "seed {seed}");
            for (build, query) in BUILDS {
                connection.execute(build).unwrap();
                agree(&mut connection, query);
                connection.execute("DROP INDEX i").unwrap();
            }
            agree(&mut connection, "SELECT count(*) FROM t WHERE a = 7");
            assert_eq!(number(&mut connection, "SELECT count(*) FROM t WHERE c <> a % 7").unwrap(), 0);
            sound(&database, seed);
        });
    }
    assert!(beside > 0 || std::env::var_os("SEED").is_some(), "no index was made while others wrote");
}

/// Changes all rows up to 1,500 over and over and takes that back, all of it or to a savepoint, until a build is over.
fn take_back(database: &Database, seed: u64, is_over: &AtomicBool) {
    let mut rng = Rng::new(seed ^ 0x7A4E);
    let mut connection = database.connect().unwrap();
    let mut execute = |sql: &str| connection.execute(sql).map(drop);
    for round in 0..200 {
        if is_over.load(Ordering::SeqCst) {
            break;
        }
        let change = match round % 3 {
            0 => "UPDATE t SET a = a + 1, b = b || 'x' WHERE id <= 1500",
            1 => "DELETE FROM t WHERE id <= 1500 AND a < 15",
            _ => "UPDATE t SET b = 'Value 3' WHERE id <= 1500",
        };
        let sleep = format!("SELECT pg_sleep({})", rng.below(120) as f64 / 1000.0);
        let by_savepoint = rng.below(2) == 0;
        let mut once = || -> Result<(), Error> {
            execute("BEGIN")?;
            for _ in 0..if by_savepoint { 3 } else { 1 } {
                execute("SAVEPOINT s")?;
                execute(change)?;
                execute(&sleep)?;
                if by_savepoint {
                    execute("ROLLBACK TO s")?;
                }
            }
            execute(if by_savepoint { "COMMIT" } else { "ROLLBACK" })
        };
        match once() {
            Ok(()) => {}
            Err(error) if error.sqlstate == "40P01" => execute("ROLLBACK").unwrap(),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[test]
fn what_is_taken_back_while_a_build_goes_on_loses_no_row() {
    for seed in seeds(3) {
        let world = World::new(seed);
        world.run(|env| {
            let database = Arc::new(Database::create(path(), options(env)).unwrap());
            let mut connection = database.connect().unwrap();
            connection.execute(TABLE).unwrap();
            connection
                .execute(
                    "INSERT INTO t SELECT i, i % 20, 'Value ' || i % 9 FROM generate_series(1, 1520) AS s(i)",
                )
                .unwrap();
            let over = Arc::new(AtomicBool::new(false));
            let taken_back = {
                let (database, over) = (Arc::clone(&database), Arc::clone(&over));
                env.spawn("taken back", move || take_back(&database, seed, &over))
            };
            // Others commit meanwhile, so that there is something to be repeated.
            let committed = {
                let (database, over) = (Arc::clone(&database), Arc::clone(&over));
                env.spawn("committed", move || {
                    let mut connection = database.connect().unwrap();
                    for n in 0..400 {
                        if over.load(Ordering::SeqCst) {
                            break;
                        }
                        let id = 1_501 + n % 20;
                        let sql = format!("UPDATE t SET b = 'Value ' || {n} % 9 WHERE id = {id}");
                        connection.execute(&sql).unwrap();
                        connection.execute("SELECT pg_sleep(0.005)").unwrap();
                    }
                })
            };
            for (build, query) in BUILDS {
                loop {
                    match connection.execute(build) {
                        Ok(_) => break,
                        Err(error) => assert_eq!(error.sqlstate, "40P01", "{error:?}"),
                    }
                }
                // Both counts are of one moment.
                connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
                agree(&mut connection, query);
                connection.execute("COMMIT").unwrap();
                connection.execute("DROP INDEX i").unwrap();
            }
            over.store(true, Ordering::SeqCst);
            taken_back.join().unwrap();
            committed.join().unwrap();
            let expected: Rows = (1..=1_500).map(|i| (i, (i % 20, format!("Value {}", i % 9)))).collect();
            let mut rows = rows_of(&mut connection);
            assert_eq!(rows.split_off(&1_501).len(), 20, "seed {seed}");
            assert!(rows == expected, "seed {seed}: {} rows", rows.len());
            sound(&database, seed);
        });
    }
}

#[test]
fn a_crash_leaves_the_index_whole_or_nothing_of_it() {
    let (mut whole, mut nothing) = (0, 0);
    for seed in seeds(24) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let (build, query) = BUILDS[seed as usize % BUILDS.len()];
        let mut acknowledged = (0, false);
        world.run(|env| {
            let database = Arc::new(Database::create(path(), options(env)).unwrap());
            let mut connection = database.connect().unwrap();
            connection.execute(TABLE).unwrap();
            connection
                .execute(
                    "INSERT INTO t SELECT i, i % 20, 'Value ' || i % 9 FROM generate_series(1, 400) AS s(i)",
                )
                .unwrap();
            let power_off_at_op = Some(rng.between(1, 120));
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let added = Arc::new(AtomicI64::new(0));
            let writer = {
                let (database, added) = (Arc::clone(&database), Arc::clone(&added));
                env.spawn("writer", move || {
                    let Ok(mut connection) = database.connect() else { return };
                    for n in 0..30 {
                        let id = 1_000 + n;
                        let sql = format!("INSERT INTO t VALUES ({id}, {id} % 20, 'Value 3')");
                        if connection.execute(&sql).is_err() {
                            return;
                        }
                        added.store(n + 1, Ordering::SeqCst);
                    }
                })
            };
            let made = connection.execute(build).is_ok();
            drop(writer.join());
            acknowledged = (added.load(Ordering::SeqCst), made);
        });
        world.crash();
        world.run(|env| {
            let database = Database::open(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            let rows = number(&mut connection, "SELECT count(*) FROM t").unwrap();
            let (added, made) = acknowledged;
            assert!(rows == 400 + added || rows == 401 + added, "seed {seed}: {rows}, {added}");
            let there = "SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid = to_regclass('i')";
            let there = number(&mut connection, there).unwrap() == 1;
            assert!(there || !made, "seed {seed}: the index was acknowledged");
            let named = number(&mut connection, "SELECT count(*) FROM pg_class WHERE relname = 'i'").unwrap();
            assert_eq!(named == 1, there, "seed {seed}");
            if there {
                whole += 1;
                agree(&mut connection, query);
                connection.execute("DROP INDEX i").unwrap();
            } else {
                nothing += 1;
            }
            connection.execute(build).unwrap();
            agree(&mut connection, query);
            sound(&database, seed);
        });
    }
    assert!((whole > 0 && nothing > 0) || std::env::var_os("SEED").is_some(), "{whole} {nothing}");
}

/// What others may do to a table meanwhile that changes rows of the catalog about it, but not its definition.
const ASIDE: [&str; 5] = [
    "GRANT SELECT ON t TO reader",
    "ANALYZE t",
    "REVOKE SELECT ON t FROM reader",
    "GRANT UPDATE (a) ON t TO reader",
    "COMMENT ON COLUMN t.b IS 'commented'",
];

#[test]
fn rights_and_statistics_that_change_meanwhile_are_in_no_ones_way_at_any_level() {
    for (seed, level) in seeds(3).zip(["repeatable read", "serializable", "read committed"]) {
        let world = World::new(seed);
        world.run(|env| {
            let database = Arc::new(Database::create(path(), options(env)).unwrap());
            let mut connection = database.connect().unwrap();
            connection.execute(TABLE).unwrap();
            connection.execute("CREATE ROLE reader").unwrap();
            connection
                .execute(
                    "INSERT INTO t SELECT i, i % 20, 'Value ' || i % 9 FROM generate_series(1, 500) AS s(i)",
                )
                .unwrap();
            let over = Arc::new(AtomicBool::new(false));
            let others: Vec<_> = (0..2)
                .map(|other| {
                    let (database, over) = (Arc::clone(&database), Arc::clone(&over));
                    env.spawn(&format!("other {other}"), move || {
                        let mut connection = database.connect().unwrap();
                        for n in 0.. {
                            if over.load(Ordering::SeqCst) {
                                break;
                            }
                            match connection.execute(ASIDE[(n * 2 + other) % ASIDE.len()]) {
                                Ok(_) => {}
                                Err(error) => assert_eq!(error.sqlstate, "40P01", "{error:?}"),
                            }
                            connection.execute("SELECT pg_sleep(0.002)").unwrap();
                        }
                    })
                })
                .collect();
            connection.execute(&format!("SET default_transaction_isolation = '{level}'")).unwrap();
            for round in 0..3 {
                for (build, query) in BUILDS {
                    let made = connection.execute(build).map(drop);
                    assert!(made.is_ok(), "{level}, seed {seed}, round {round}: {build}: {made:?}");
                    agree(&mut connection, query);
                    connection.execute("DROP INDEX i").unwrap();
                }
            }
            over.store(true, Ordering::SeqCst);
            others.into_iter().for_each(|other| other.join().unwrap());
            sound(&database, seed);
        });
    }
}
