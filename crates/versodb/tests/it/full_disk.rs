//! On a full disk what makes room goes on, and so does what needs none but log, which checkpoints give back.

use verso_sim::{FaultPlan, World};
use versodb::{Connection, Database};

use crate::simulated::{number, options, path};

/// Rows with a key, a text and a number.
const MADE: &str = "
    CREATE TABLE t (id int PRIMARY KEY, w text, n int, v text);
    CREATE INDEX by_w ON t (w);
    CREATE TABLE other (w text);
    INSERT INTO t SELECT g, repeat('w', 150) || g, 0 FROM generate_series(1, 2000) AS g";

/// A database on a disk with room for so many more bytes.
fn on_a_full_disk(spare: u64, test: impl FnOnce(&World, &Database, &mut Connection)) {
    let world = World::new(3);
    world.run(|env| {
        let database = Database::create(path(), options(env)).unwrap();
        let mut connection = database.connect().unwrap();
        connection.execute(MADE).unwrap();
        let capacity_bytes = Some(world.vfs().used_bytes() + spare);
        world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
        test(&world, &database, &mut connection);
        let problems = database.engine().check(&mut |_| {}).unwrap().problems;
        assert!(problems.is_empty(), "{problems:?}");
    });
}

/// Adds rows until the file has no room for more.
fn fill(connection: &mut Connection) {
    for (length, count) in [(3000, 1000), (100, 2000)] {
        let insert = format!("INSERT INTO other SELECT repeat('x', {length}) FROM generate_series(1, 5)");
        let refused = (0..count).find_map(|_| connection.execute(&insert).err());
        let refused = refused.expect("the disk is full");
        assert_eq!(refused.sqlstate, "53100", "{refused:?}");
        assert!(refused.hint.is_some_and(|hint| hint.contains("DELETE")));
    }
}

#[test]
fn rows_are_deleted_and_make_room() {
    on_a_full_disk(0, |_, _, connection| {
        fill(connection);
        for round in 0..3 {
            connection.execute("DELETE FROM t").unwrap();
            assert_eq!(number(connection, "SELECT count(*) FROM t").unwrap(), 0);
            connection.execute("VACUUM").unwrap();
            connection.execute("CHECKPOINT").unwrap();
            let again = "INSERT INTO t SELECT g, repeat('w', 150) || g, 0 FROM generate_series(1, 1500) AS g";
            connection.execute(again).unwrap_or_else(|error| panic!("round {round}: {error:?}"));
        }
        connection.execute("TRUNCATE other").unwrap();
        connection.execute("DROP TABLE other").unwrap();
        connection.execute("DELETE FROM t WHERE id > 10").unwrap();
        connection.execute("VACUUM").unwrap();
    });
}

#[test]
fn what_vacuum_leaves_free_of_one_table_is_there_for_others() {
    on_a_full_disk(12 << 20, |_, database, connection| {
        let made = "CREATE TABLE gone (id int PRIMARY KEY, w text, v text);
            INSERT INTO gone SELECT g, repeat('w', 300) FROM generate_series(1, 8000) AS g;
            INSERT INTO gone SELECT g, 'w', repeat('v', 50000) FROM generate_series(8001, 8020) AS g";
        connection.execute(made).unwrap();
        fill(connection);
        let insert = "INSERT INTO t SELECT g, repeat('w', 300), 0 FROM generate_series(10001, 14000) AS g";
        assert_eq!(connection.execute(insert).expect_err("the disk is full").sqlstate, "53100");
        let pages = |database: &Database| database.engine().space().free_pages;
        connection.execute("DELETE FROM gone WHERE id > 45").unwrap();
        let before = pages(database);
        connection.execute("VACUUM").unwrap();
        connection.execute("CHECKPOINT").unwrap();
        let after = pages(database);
        assert!(after > before + 600, "{before} free pages, then {after}");
        connection.execute(insert).unwrap();
        assert_eq!(
            number(connection, "SELECT count(*) FROM gone WHERE id <= 45 AND w = repeat('w', 300)").unwrap(),
            45
        );
        connection.execute("INSERT INTO gone SELECT g, 'again' FROM generate_series(46, 500) AS g").unwrap();
        assert_eq!(number(connection, "SELECT count(*) FROM gone").unwrap(), 500);
        assert_eq!(number(connection, "SELECT count(*) FROM t WHERE w LIKE 'www%'").unwrap(), 6000);
    });
}

#[test]
fn a_transaction_with_more_log_than_the_disk_has_room_for_goes_on() {
    on_a_full_disk(0, |world, database, connection| {
        let before = database.engine().statistics().log.bytes;
        connection.execute("BEGIN; SAVEPOINT a").unwrap();
        let mut rounds = 0;
        while database.engine().statistics().log.bytes < before + (10 << 20) {
            connection.execute("UPDATE t SET n = n + 1").unwrap();
            rounds += 1;
        }
        assert_eq!(number(connection, "SELECT min(n) FROM t").unwrap(), rounds);
        connection.execute("ROLLBACK TO a").unwrap();
        assert_eq!(number(connection, "SELECT max(n) FROM t").unwrap(), 0);
        connection.execute("UPDATE t SET n = 1 WHERE id < 10; COMMIT").unwrap();
        assert_eq!(number(connection, "SELECT sum(n) FROM t").unwrap(), 9);
        world.vfs().set_faults(FaultPlan::default());
    });
}

#[test]
fn savepoints_stay_where_a_statement_finds_the_disk_full() {
    for (ending, sum) in [("COMMIT", -1), ("ROLLBACK", 0)] {
        on_a_full_disk(1 << 20, |world, _, connection| {
            connection.execute("BEGIN; UPDATE t SET n = -1 WHERE id = 1; SAVEPOINT a").unwrap();
            connection.execute("UPDATE t SET n = n + 1").unwrap();
            connection.execute("SAVEPOINT b").unwrap();
            let longer = "UPDATE t SET v = repeat('y', 3000), n = n + 1";
            let refused = connection.execute(longer).expect_err("the disk is full");
            assert_eq!(refused.sqlstate, "53100", "{refused:?}");
            assert_eq!(connection.execute("SELECT 1").expect_err("it failed").sqlstate, "25P02");
            connection.execute("ROLLBACK TO b").unwrap();
            assert_eq!(number(connection, "SELECT min(n) FROM t").unwrap(), 0);
            connection.execute("DELETE FROM t WHERE id > 100").unwrap();
            connection.execute("ROLLBACK TO a").unwrap();
            assert_eq!(number(connection, "SELECT count(*) FROM t WHERE n = 0").unwrap(), 1999);
            connection.execute(ending).unwrap();
            assert_eq!(number(connection, "SELECT sum(n) FROM t").unwrap(), sum);
            connection.execute("UPDATE t SET n = 0 WHERE id = 1; UPDATE t SET n = -1 WHERE id = 1").unwrap();
            connection.execute("VACUUM").unwrap();
            world.vfs().set_faults(FaultPlan::default());
        });
    }
}
