//! How commits reach the disk: how often it is synced, and what a call promises when it returns.

use verso_sim::{FaultPlan, World};
use versodb::{Connection, Database};

use crate::new_database;
use crate::simulated::{number, options, path};

fn fsyncs(database: &Database) -> u64 {
    database.statistics().log.fsyncs
}

/// Whether everything that is committed is on disk; housekeeping may have logged something since.
fn is_durable(database: &Database) -> bool {
    let progress = database.engine().log_progress();
    progress.commits == progress.commits_durable
}

fn table(database: &Database) -> Connection {
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a integer)").unwrap();
    connection.execute("INSERT INTO t VALUES (0)").unwrap();
    connection
}

/// A block that inserts so many rows, each committed so.
fn block(rows: u32, commit: &str) -> String {
    format!("DO $$ BEGIN FOR i IN 1..{rows} LOOP INSERT INTO t VALUES (i); {commit}; END LOOP; END $$")
}

#[test]
fn commits_that_wait_sync_once_each_and_those_of_a_procedure_once_in_all() {
    let (_directory, database) = new_database();
    let mut connection = table(&database);
    for (commit, expected) in [
        ("COMMIT WRITE WAIT IMMEDIATE", 20..=20),
        ("COMMIT WRITE WAIT BATCH", 20..=20),
        ("COMMIT WRITE WAIT", 20..=20),
        // The log writer may come along once or twice on a slow machine.
        ("COMMIT", 1..=10),
        ("COMMIT AND CHAIN", 1..=10),
    ] {
        let before = fsyncs(&database);
        connection.execute(&block(20, commit)).unwrap();
        assert!(is_durable(&database), "{commit}");
        let synced = fsyncs(&database) - before;
        assert!(expected.contains(&synced), "{commit}: {synced}");
    }
    connection.execute("SET procedure_commit = wait").unwrap();
    let before = fsyncs(&database);
    connection.execute(&block(20, "COMMIT")).unwrap();
    // The log writer may still be asked for what a commit before has left to it.
    assert!((20..=24).contains(&(fsyncs(&database) - before)));
    connection.execute("SET procedure_commit = deferred_wait").unwrap();
    connection.execute("SET commit_wait = force_wait").unwrap();
    for commit in ["COMMIT", "COMMIT WRITE NOWAIT"] {
        let before = fsyncs(&database);
        connection.execute(&block(20, commit)).unwrap();
        assert!((20..=24).contains(&(fsyncs(&database) - before)), "{commit}");
    }
}

#[test]
fn what_a_transaction_sets_for_itself_counts_for_its_commit() {
    let (_directory, database) = new_database();
    let mut connection = table(&database);
    // Whether all of many transactions are on disk when their ends return.
    let mut waits = |session: &str, local: &str, ends: &str| {
        connection.execute(&format!("SET synchronous_commit = {session}")).unwrap();
        (0..20).all(|_| {
            for sql in format!("BEGIN; {local}; INSERT INTO t VALUES (1); {ends}").split("; ") {
                connection.execute(sql).unwrap();
            }
            let durable = is_durable(&database);
            if connection.in_transaction() {
                connection.execute("ROLLBACK").unwrap();
            }
            durable
        })
    };
    for local in ["SET LOCAL synchronous_commit = on", "SET LOCAL commit_wait = force_wait"] {
        for ends in ["COMMIT", "END", "COMMIT AND CHAIN"] {
            assert!(waits("off", local, ends), "{local} {ends}");
        }
    }
    // The log writer is not there at once each time.
    assert!(!waits("on", "SET LOCAL synchronous_commit = off", "COMMIT"));
    assert!(waits(
        "on",
        "SET LOCAL synchronous_commit = off",
        "ROLLBACK; BEGIN; INSERT INTO t VALUES (1); COMMIT"
    ));
    connection.execute("SET synchronous_commit = off").unwrap();
    // In a block it counts up to the next COMMIT.
    let before = fsyncs(&database);
    connection.execute(&block(20, "SET LOCAL commit_wait = force_wait; COMMIT")).unwrap();
    assert!(fsyncs(&database) - before >= 20);
}

#[test]
fn a_procedure_that_fails_has_its_commits_on_disk_too() {
    let (_directory, database) = new_database();
    let mut connection = table(&database);
    let sql = "DO $$ BEGIN INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); PERFORM 1 / 0; END $$";
    assert_eq!(connection.execute(sql).unwrap_err().sqlstate, "22012");
    assert!(is_durable(&database));
    let found: Vec<i64> = connection
        .query("SELECT a::bigint FROM t ORDER BY a")
        .unwrap()
        .map(|row| row.get(0).unwrap())
        .collect();
    assert_eq!(found, [0, 1]);
}

#[test]
fn a_session_that_does_not_wait_leaves_the_disk_to_the_log_writer() {
    let world = World::new(7);
    world.run(|env| {
        let database = Database::create(path(), options(env)).unwrap();
        let mut connection = table(&database);
        connection.execute("SET synchronous_commit = off").unwrap();
        for _ in 0..10 {
            connection.execute(&block(20, "COMMIT")).unwrap();
            connection.execute("INSERT INTO t VALUES (-1)").unwrap();
        }
        let mut other = database.connect().unwrap();
        assert_eq!(number(&mut other, "SELECT count(*) FROM t").unwrap(), 211, "seen at once");
        database.wait_durable().unwrap();
        assert!(is_durable(&database));
        // From here on nothing reaches the disk.
        world.vfs().set_faults(FaultPlan { power_off_at_op: Some(1), ..FaultPlan::default() });
    });
    world.crash();
    world.run(|env| {
        let database = Database::open(path(), options(env)).unwrap();
        let mut connection = database.connect().unwrap();
        assert_eq!(number(&mut connection, "SELECT count(*) FROM t").unwrap(), 211);
    });
}

#[test]
fn columns_and_parameters_of_a_call_are_known_before_it_runs() {
    let (_directory, database) = new_database();
    let mut connection = table(&database);
    let sql = "CREATE PROCEDURE twice(x integer, INOUT y bigint) AS $$ BEGIN y := y + 2 * x; END $$ LANGUAGE plpgsql";
    connection.execute(sql).unwrap();
    let call = connection.prepare("CALL twice($1, $2)").unwrap();
    let columns: Vec<String> = call.columns().unwrap().iter().map(|column| column.name.to_string()).collect();
    assert_eq!(columns, ["y"]);
    let found: i64 = call
        .query(&[versodb::Value::Int4(3), versodb::Value::Int8(4)])
        .unwrap()
        .next()
        .unwrap()
        .get(0)
        .unwrap();
    assert_eq!(found, 10);
}

/// The procedure of the experiment with Oracle's commit modes, with fewer rows.
#[test]
fn the_procedure_of_the_experiment_runs_in_every_mode() {
    const PEOPLE: &str = "ARRAY['Marc','Bill','George','Eliot','Matt','Trey','Tracy','Greg','Steve','Kristina','Katie','Jeff']";
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    for commit in [
        "",
        "COMMIT;",
        "COMMIT WRITE WAIT IMMEDIATE;",
        "COMMIT WRITE WAIT BATCH;",
        "COMMIT WRITE NOWAIT IMMEDIATE;",
        "COMMIT WRITE NOWAIT BATCH;",
    ] {
        connection.execute("DROP TABLE IF EXISTS demo").unwrap();
        let table = "CREATE TABLE demo (id INTEGER PRIMARY KEY, text VARCHAR(15), number INTEGER)";
        connection.execute(table).unwrap();
        let procedure = format!(
            "DO $$
             DECLARE
                 people VARCHAR(15)[] := {PEOPLE};
                 n      INTEGER;
             BEGIN
                 FOR i IN 0..99 LOOP
                     n := trunc(random() * 10000);
                     INSERT INTO demo VALUES (i, people[1 + trunc(random() * 12)::int], n);
                     {commit}
                 END LOOP;
                 COMMIT;
             END
             $$"
        );
        connection.execute(&procedure).unwrap();
        let sql = format!(
            "SELECT count(*), count(*) FILTER (WHERE text = ANY ({PEOPLE})), count(*) FILTER (WHERE number BETWEEN 0 AND 9999) FROM demo"
        );
        let row = connection.query(&sql).unwrap().next().unwrap();
        let found: Vec<i64> = (0..3).map(|n| row.get(n).unwrap()).collect();
        assert_eq!(found, [100; 3], "{commit}");
    }
}
