//! Partitioned tables: their definitions after a crash, rows that come by other ways than INSERT, sessions at the same time.

use std::sync::Arc;

use verso_sim::{FaultPlan, Rng, World, seeds};
use versodb::{Connection, Database, Error};

use crate::new_database;
use crate::simulated::{number, options, path};

/// The partition of each hundred is made with the rows of that hundred, in one transaction.
fn hundred(connection: &mut Connection, round: i64) -> Result<(), Error> {
    let (first, end) = (round * 100, round * 100 + 100);
    connection.execute("BEGIN")?;
    connection.execute(&format!(
        "CREATE TABLE part_{round} PARTITION OF whole FOR VALUES FROM ({first}) TO ({end})"
    ))?;
    connection.execute(&format!(
        "INSERT INTO whole SELECT i, 'value ' || i FROM generate_series({first}, {end} - 1) AS s(i)"
    ))?;
    connection.execute("COMMIT")?;
    Ok(())
}

#[test]
fn after_a_crash_there_are_the_partitions_that_were_acknowledged_with_their_rows() {
    for seed in seeds(8) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let mut acknowledged = 0;
        world.run(|env| {
            let database = Database::create(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            connection.execute("CREATE TABLE whole (a int, b text) PARTITION BY RANGE (a)").unwrap();
            let power_off_at_op = Some(rng.between(3, 160));
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            while acknowledged < 8 && hundred(&mut connection, acknowledged).is_ok() {
                acknowledged += 1;
            }
        });
        world.crash();
        world.run(|env| {
            let database = Database::open(path(), options(env)).unwrap();
            let mut connection = database.connect().unwrap();
            let parts = number(
                &mut connection,
                "SELECT count(*) FROM pg_inherits WHERE inhparent = 'whole'::regclass",
            );
            let parts = parts.unwrap();
            assert!(parts == acknowledged || parts == acknowledged + 1, "seed {seed}: {parts}");
            let rows = number(&mut connection, "SELECT count(*) FROM whole").unwrap();
            assert_eq!(rows, parts * 100, "seed {seed}");
            hundred(&mut connection, parts).unwrap();
            let last = format!("SELECT count(*) FROM part_{parts} WHERE a >= {parts} * 100");
            assert_eq!(number(&mut connection, &last).unwrap(), 100, "seed {seed}");
            let refused =
                connection.execute(&format!("INSERT INTO whole VALUES ({}, 'x')", parts * 100 + 100));
            assert_eq!(refused.unwrap_err().sqlstate, "23514", "seed {seed}");
        });
    }
}

#[test]
fn an_appender_and_a_prepared_insert_find_the_partition_of_each_row() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    for sql in [
        "CREATE TABLE whole (a int, b text) PARTITION BY LIST (b)",
        "CREATE TABLE odd PARTITION OF whole FOR VALUES IN ('odd')",
        "CREATE TABLE even PARTITION OF whole FOR VALUES IN ('even')",
    ] {
        connection.execute(sql).unwrap();
    }
    let insert = connection.prepare("INSERT INTO whole VALUES ($1, $2)").unwrap();
    for number in 0..10 {
        let word = if number % 2 == 0 { "even" } else { "odd" };
        insert.execute(&versodb::params![number, word]).unwrap();
    }
    drop(insert);
    let mut appender = connection.appender("whole", &[]).unwrap();
    for number in 10..20 {
        let word = if number % 2 == 0 { "even" } else { "odd" };
        appender.append(versodb::params![number, word].to_vec()).unwrap();
    }
    appender.finish().unwrap();
    let odd = "SELECT count(*) FROM odd WHERE a % 2 = 1";
    assert_eq!(number(&mut connection, odd).unwrap(), 10);
    assert_eq!(number(&mut connection, "SELECT count(*) FROM even").unwrap(), 10);
}

#[test]
fn rows_go_by_the_partitions_that_are_there_when_they_come() {
    let (_directory, database) = new_database();
    let mut one = database.connect().unwrap();
    let mut other = database.connect().unwrap();
    for sql in [
        "CREATE TABLE whole (a int) PARTITION BY LIST (a)",
        "CREATE TABLE rest PARTITION OF whole DEFAULT",
        "INSERT INTO whole VALUES (1)",
    ] {
        one.execute(sql).unwrap();
    }
    // A kept plan knows the default partition only.
    let insert = other.prepare("INSERT INTO whole VALUES ($1)").unwrap();
    insert.execute(&versodb::params![2]).unwrap();
    one.execute("CREATE TABLE seven PARTITION OF whole FOR VALUES IN (7)").unwrap();
    insert.execute(&versodb::params![7]).unwrap();
    drop(insert);
    assert_eq!(number(&mut one, "SELECT count(*) FROM seven").unwrap(), 1);
    assert_eq!(number(&mut one, "SELECT count(*) FROM rest").unwrap(), 2);
    one.execute("DROP TABLE seven").unwrap();
    other.execute("INSERT INTO whole VALUES (7)").unwrap();
    assert_eq!(number(&mut one, "SELECT count(*) FROM rest").unwrap(), 3);
}

#[test]
fn partitions_that_parameters_and_outer_rows_exclude_are_not_opened() {
    let (_directory, database) = new_database();
    let mut one = database.connect().unwrap();
    let mut other = database.connect().unwrap();
    for sql in [
        "CREATE TABLE whole (a int, b text) PARTITION BY RANGE (a)",
        "CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (10)",
        "CREATE TABLE high PARTITION OF whole FOR VALUES FROM (10) TO (20) PARTITION BY LIST (b)",
        "CREATE TABLE high_x PARTITION OF high FOR VALUES IN ('x')",
        "CREATE TABLE high_y PARTITION OF high FOR VALUES IN ('y')",
        "INSERT INTO whole SELECT i, CASE WHEN i % 2 = 0 THEN 'x' ELSE 'y' END FROM generate_series(0, 19) AS s(i)",
        "CREATE TABLE keys (k int)",
        "INSERT INTO keys VALUES (3), (14)",
    ] {
        one.execute(sql).unwrap();
    }
    let mut locker = database.connect().unwrap();
    locker.execute("BEGIN; LOCK TABLE high_y IN ACCESS EXCLUSIVE MODE").unwrap();
    other.execute("SET lock_timeout = '20ms'").unwrap();
    // Literals of plain statements are parameters of a plan that they share.
    for (sql, rows) in [
        ("SELECT count(*) FROM whole WHERE a = 3", 1),
        ("SELECT count(*) FROM whole WHERE a = 4", 1),
        ("SELECT count(*) FROM whole WHERE a < 9", 9),
        ("SELECT count(*) FROM whole WHERE a IN (1, 2)", 2),
        ("SELECT count(*) FROM whole WHERE a = 12 AND b = 'x'", 1),
        (
            "SELECT count(x.a) FROM keys, LATERAL (SELECT a FROM whole WHERE a = k AND b = CASE k WHEN 14 THEN 'x' ELSE 'y' END LIMIT 1) AS x",
            2,
        ),
    ] {
        assert_eq!(number(&mut other, sql).unwrap(), rows, "{sql}");
    }
    let read = other.prepare("SELECT count(*) FROM whole WHERE a = $1 AND b = $2").unwrap();
    for (key, word, found) in [(7, "y", 1), (18, "x", 1), (18, "q", 0)] {
        let rows: Vec<_> = read.query(&versodb::params![key, word]).unwrap().collect();
        assert_eq!(rows[0].text(0), found.to_string(), "{key} {word}");
    }
    let waits = read.query(&versodb::params![17, "y"]).map(Iterator::count);
    assert_eq!(waits.unwrap_err().sqlstate, "55P03");
    drop(read);
    let changed = other.execute("UPDATE whole SET b = b WHERE a = 5");
    changed.unwrap();
    assert_eq!(other.affected_rows(), 1);
    assert_eq!(number(&mut other, "SELECT count(*) FROM whole WHERE a = 13").unwrap_err().sqlstate, "55P03");
    locker.execute("COMMIT").unwrap();
    assert_eq!(number(&mut other, "SELECT count(*) FROM whole WHERE a = 13").unwrap(), 1);
}

/// Transactions through the whole table, each of a session's own rows, so that nobody waits for another one's row.
fn read_and_write(connection: &mut Connection, rng: &mut Rng, session: u64) -> Result<(), Error> {
    connection.execute("BEGIN")?;
    for _ in 0..rng.between(1, 5) {
        let key = rng.below(4) * 100 + session;
        match rng.below(5) {
            0 => number(connection, &format!("SELECT count(*) FROM whole WHERE a = {key}")).map(drop)?,
            1 => number(connection, "SELECT count(*) FROM whole").map(drop)?,
            2 => {
                let sql = format!("SELECT b FROM whole WHERE a = {key} FOR UPDATE");
                connection.query(&sql).map(drop)?;
            }
            3 => {
                let sql = format!("UPDATE whole SET b = b || 'x' WHERE a % 100 = {session}");
                connection.execute(&sql).map(drop)?;
            }
            _ => {
                let sql = format!("INSERT INTO whole (a, b) VALUES ({key}, 'new')");
                connection.execute(&sql).map(drop)?;
            }
        }
    }
    connection.execute("COMMIT").map(drop)
}

/// Changes of the definition of the whole table, or of a part of it.
fn define(connection: &mut Connection, rng: &mut Rng) -> Result<(), Error> {
    let changes: &[&str] = match rng.below(7) {
        0 => &["ALTER TABLE whole ALTER COLUMN b SET DEFAULT 'd'"],
        1 => &["ALTER TABLE middle ALTER COLUMN b SET DEFAULT 'e'"],
        2 => &["CREATE INDEX whole_b ON whole (b)", "DROP INDEX whole_b"],
        3 => &["CREATE TABLE other PARTITION OF whole FOR VALUES FROM (900) TO (1000)", "DROP TABLE other"],
        4 => &["ALTER TABLE whole ADD COLUMN c int DEFAULT 5", "ALTER TABLE whole DROP COLUMN c"],
        5 => &[
            "ALTER TABLE whole ADD CHECK (a >= 0) NOT VALID",
            "ALTER TABLE whole VALIDATE CONSTRAINT whole_a_check",
            "ALTER TABLE whole DROP CONSTRAINT whole_a_check",
        ],
        _ => &[
            "ALTER TABLE middle DETACH PARTITION late",
            "ALTER TABLE middle ATTACH PARTITION late FOR VALUES FROM (200) TO (300)",
        ],
    };
    // A lock that becomes stronger within a transaction may be in another's way, as in PostgreSQL.
    if rng.below(3) > 0 || changes[0].starts_with("CREATE INDEX") {
        return changes.iter().try_for_each(|sql| connection.execute(sql).map(drop));
    }
    connection.execute("BEGIN")?;
    changes.iter().try_for_each(|sql| connection.execute(sql).map(drop))?;
    connection.execute("COMMIT").map(drop)
}

#[test]
fn who_goes_through_a_partitioned_table_is_in_no_deadlock_with_its_definition() {
    for seed in seeds(12) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            let database = Arc::new(Database::create(path(), options(env)).unwrap());
            let mut connection = database.connect().unwrap();
            // The partitions are not in the order of their numbers.
            for sql in [
                "CREATE TABLE whole (a int, b text) PARTITION BY RANGE (a)",
                "CREATE TABLE last PARTITION OF whole FOR VALUES FROM (300) TO (400)",
                "CREATE TABLE middle PARTITION OF whole FOR VALUES FROM (100) TO (300) PARTITION BY RANGE (a)",
                "CREATE TABLE late PARTITION OF middle FOR VALUES FROM (200) TO (300)",
                "CREATE TABLE early PARTITION OF middle FOR VALUES FROM (100) TO (200)",
                "CREATE TABLE first PARTITION OF whole FOR VALUES FROM (0) TO (100)",
                "INSERT INTO whole SELECT i, 'old' FROM generate_series(0, 399) AS s(i)",
            ] {
                connection.execute(sql).unwrap();
            }
            let sessions: Vec<_> = (0..4)
                .map(|session| {
                    let (database, mut rng) = (Arc::clone(&database), rng.fork());
                    env.spawn(&format!("session {session}"), move || {
                        let mut connection = database.connect().unwrap();
                        for _ in 0..30 {
                            let done = match session {
                                0 => define(&mut connection, &mut rng),
                                session => read_and_write(&mut connection, &mut rng, session),
                            };
                            if let Err(error) = done {
                                // A partition that is not there at the moment has no room for a row; who meets changes again and again
                                // gives up.
                                let known = ["23514", "40001"].contains(&error.sqlstate);
                                assert!(known, "seed {seed}, session {session}: {error}");
                                let _ = connection.execute("ROLLBACK");
                                if session == 0 {
                                    return;
                                }
                            }
                        }
                    })
                })
                .collect();
            sessions.into_iter().for_each(|session| session.join().unwrap());
        });
    }
}
