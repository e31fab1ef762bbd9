//! How commits reach the disk: how often it is synced, and what a call promises when it returns.

use versodb::{Connection, Database};

use crate::new_database;

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
    let (directory, database) = new_database();
    let mut connection = table(&database);
    connection.execute("SET synchronous_commit = off").unwrap();
    for _ in 0..10 {
        connection.execute(&block(20, "COMMIT")).unwrap();
        connection.execute("INSERT INTO t VALUES (-1)").unwrap();
    }
    let mut other = database.connect().unwrap();
    let count = |connection: &mut Connection| -> i64 {
        connection.query("SELECT count(*) FROM t").unwrap().next().unwrap().get(0).unwrap()
    };
    assert_eq!(count(&mut other), 211, "seen at once");
    database.wait_durable().unwrap();
    assert!(is_durable(&database));
    // A crash now loses nothing: the database is opened from a copy of its files, without having been closed.
    let copy = directory.path().join("copy");
    std::fs::create_dir(&copy).unwrap();
    drop((connection, other));
    let files = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path());
    for file in files.filter(|file| *file != copy) {
        copy_all(&file, &copy.join(file.file_name().unwrap()));
    }
    let name = std::fs::read_dir(&copy).unwrap().map(|entry| entry.unwrap().path());
    let file = name.filter(|path| path.is_file()).find(|path| path.extension().is_some_and(|e| e == "verso"));
    let again = Database::open(file.unwrap(), versodb::Options::new()).unwrap();
    assert_eq!(count(&mut again.connect().unwrap()), 211);
}

fn copy_all(from: &std::path::Path, to: &std::path::Path) {
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        copy_all(&path, &to.join(path.file_name().unwrap()));
    }
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
