//! The past within reach, across a restart; snapshots that may not grow old.

use std::time::Duration;

use versodb::{Connection, Database, Options};

use crate::new_database;

fn text(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).unwrap().into_rows()[0].text(0)
}

#[test]
fn the_past_is_read_after_a_restart() {
    let (directory, database) = new_database();
    let path = directory.path().join("test.verso");
    let mut connection = database.connect().unwrap();
    for sql in [
        "ALTER SYSTEM SET version_retention = '10min'",
        "CREATE TABLE t (id integer PRIMARY KEY, name text)",
        "CREATE TABLE gone (id integer)",
        "INSERT INTO t SELECT n, 'row ' || n FROM generate_series(1, 3000) n",
        "CREATE TABLE mark AS SELECT newest_snapshot AS n, clock_timestamp() AS at FROM verso_history",
        "UPDATE t SET name = name || ' changed' WHERE id % 2 = 0",
        "DELETE FROM t WHERE id % 5 = 0",
        "ALTER TABLE gone ADD COLUMN name text",
    ] {
        connection.execute(sql).unwrap();
    }
    let number = text(&mut connection, "SELECT n FROM mark");
    let moment = text(&mut connection, "SELECT at FROM mark");
    drop(connection);
    database.close().unwrap();
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("UPDATE t SET name = 'again'").unwrap();
    for was in [format!("TIMESTAMP '{moment}'"), format!("SNAPSHOT {number}")] {
        let sql = format!(
            "SELECT count(*) || name FROM t AS OF {was} WHERE id % 10 = 0 GROUP BY name, id ORDER BY id LIMIT 1"
        );
        assert_eq!(text(&mut connection, &sql), "1row 10");
        assert_eq!(text(&mut connection, &format!("SELECT count(*) FROM t AS OF {was}")), "3000");
        assert_eq!(text(&mut connection, &format!("SELECT name FROM t AS OF {was} WHERE id = 20")), "row 20");
        let redefined = connection.query(&format!("SELECT * FROM gone AS OF {was}")).map(|_| ());
        assert_eq!(redefined.unwrap_err().sqlstate, "0A000");
    }
    connection.execute(&format!("FLASHBACK TABLE t TO SNAPSHOT {number}")).unwrap();
    let all = "SELECT count(*) FROM t WHERE name = 'row ' || id";
    assert_eq!(text(&mut connection, all), "3000");
    // Without the setting nothing is kept, after a restart neither.
    connection.execute("ALTER SYSTEM RESET version_retention").unwrap();
    drop(connection);
    database.close().unwrap();
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    let old = connection.query(&format!("SELECT * FROM t AS OF SNAPSHOT {number}")).map(|_| ());
    assert_eq!(old.unwrap_err().sqlstate, "72000");
    assert_eq!(text(&mut connection, "SELECT count(*) FROM verso_history"), "0");
}

#[test]
fn a_snapshot_that_grows_old_ends() {
    let (_directory, database) = new_database();
    let mut control = database.connect().unwrap();
    control.execute("CREATE TABLE t (a integer)").unwrap();
    control.execute("ALTER SYSTEM SET max_snapshot_age = '200ms'").unwrap();
    let mut reader = database.connect().unwrap();
    let ended = reader.execute("SELECT pg_sleep(30)").unwrap_err();
    assert_eq!(ended.sqlstate, "72000");
    // At READ COMMITTED a transaction that idles holds no snapshot.
    reader.execute("BEGIN").unwrap();
    reader.execute("SELECT * FROM t").unwrap();
    std::thread::sleep(Duration::from_millis(600));
    reader.execute("SELECT * FROM t").unwrap();
    reader.execute("COMMIT").unwrap();
    reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
    reader.execute("SELECT * FROM t").unwrap();
    let mut ended = None;
    for _ in 0..100 {
        std::thread::sleep(Duration::from_millis(100));
        if let Err(error) = reader.execute("SELECT * FROM t") {
            ended = Some(error.sqlstate.to_string());
            break;
        }
    }
    assert_eq!(ended.as_deref(), Some("72000"));
    control.execute("ALTER SYSTEM SET max_snapshot_age = 0").unwrap();
    assert_eq!(text(&mut control, "SELECT count(*) FROM t"), "0");
}
