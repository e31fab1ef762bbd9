//! What a database takes of the disk: little at first, and more with what is written.

use std::path::Path;

use versodb::{Database, Options};

const MIB: u64 = 1 << 20;

/// Bytes of a database's file, of its log with the double-write area, and of both.
fn bytes(path: &Path) -> (u64, u64) {
    let mut folder = path.as_os_str().to_owned();
    folder.push("-wal");
    let log = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    (std::fs::metadata(path).unwrap().len(), log)
}

#[test]
fn a_small_database_has_small_files_and_a_large_one_grows_in_large_steps() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a int)").unwrap();
    let (file, log) = bytes(&path);
    assert!(file <= 8 * MIB && log <= 5 * MIB, "{file} {log}");
    connection.execute("INSERT INTO t VALUES (1)").unwrap();
    let (file, log) = bytes(&path);
    assert!(file <= 8 * MIB && log <= 5 * MIB, "{file} {log}");
    connection
        .execute("CREATE TABLE u AS SELECT n, repeat('x', 100) FROM generate_series(1, 300000) n")
        .unwrap();
    let (grown, _) = bytes(&path);
    assert!(grown > 32 * MIB, "{grown}");
    connection.execute("DROP TABLE u").unwrap();
    drop(connection);
    database.close().unwrap();
    let database = Database::open(&path, Options::new()).unwrap();
    let rows = database.connect().unwrap().query("SELECT a FROM t").unwrap().into_rows();
    assert_eq!(rows[0].text(0), "1");
    database.close().unwrap();
}

#[test]
fn a_small_database_that_is_closed_keeps_one_segment() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, Options::new()).unwrap();
    database.connect().unwrap().execute("CREATE TABLE t (a int)").unwrap();
    database.close().unwrap();
    let (file, log) = bytes(&path);
    assert!(file <= 8 * MIB && log <= 2 * MIB, "{file} {log}");
}
