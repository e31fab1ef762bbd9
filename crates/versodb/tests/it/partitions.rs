//! Partitioned tables: their definitions after a crash, rows that come by other ways than INSERT, sessions at the same time.

use verso_sim::{FaultPlan, World, seeds};
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
