//! What a database takes of the disk: little at first, and more with what is written.

use std::path::Path;

use versodb::{Database, Options};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Bytes of a database's file, and of its log with the double-write area.
fn bytes(path: &Path) -> (u64, u64) {
    let mut folder = path.as_os_str().to_owned();
    folder.push("-wal");
    let log = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
    (std::fs::metadata(path).unwrap().len(), log)
}

#[track_caller]
fn at_most(path: &Path, most: u64) {
    let (file, log) = bytes(path);
    println!("{} KiB, {} KiB", file / KIB, log / KIB);
    assert!(file + log <= most, "{file} and {log} bytes");
}

#[test]
fn an_empty_database_takes_less_than_a_mebibyte_when_it_is_closed_or_only_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    Database::create(&path, Options::new()).unwrap().close().unwrap();
    at_most(&path, MIB);
    for _ in 0..3 {
        let database = Database::open(&path, Options::new()).unwrap();
        let mut connection = database.connect().unwrap();
        assert!(connection.query("SELECT relname FROM pg_class").unwrap().into_rows().len() > 50);
        at_most(&path, MIB);
        drop(connection);
        database.close().unwrap();
        at_most(&path, MIB);
    }
}

#[test]
fn a_small_database_gives_back_what_it_kept_for_changes_and_a_large_one_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("CREATE TABLE t (a int PRIMARY KEY, b text)").unwrap();
    connection.execute("INSERT INTO t VALUES (1, 'one')").unwrap();
    // Room to undo what is being changed, in file and log.
    let (file, log) = bytes(&path);
    assert!(file > 8 * MIB && log > 3 * MIB, "{file} {log}");
    drop(connection);
    database.close().unwrap();
    at_most(&path, MIB + 256 * KIB);
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    connection
        .execute("CREATE TABLE u AS SELECT n, repeat('x', 100) FROM generate_series(1, 300000) n")
        .unwrap();
    let (file, log) = bytes(&path);
    assert!(file > 32 * MIB && log > 8 * MIB, "{file} {log}");
    drop(connection);
    database.close().unwrap();
    let (file, log) = bytes(&path);
    assert!(file > 32 * MIB && log > 8 * MIB, "{file} {log}");
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    connection.execute("DROP TABLE u").unwrap();
    drop(connection);
    database.close().unwrap();
    let database = Database::open(&path, Options::new()).unwrap();
    let rows = database.connect().unwrap().query("SELECT b FROM t WHERE a = 1").unwrap().into_rows();
    assert_eq!(rows[0].text(0), "one");
    database.close().unwrap();
    at_most(&path, 5 * MIB);
}

#[test]
fn many_small_tables_take_a_few_pages_each() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("test.verso");
    let database = Database::create(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    for n in 0..50 {
        connection
            .execute(&format!("CREATE TABLE t{n} (a int PRIMARY KEY); INSERT INTO t{n} VALUES (1)"))
            .unwrap();
    }
    drop(connection);
    database.close().unwrap();
    let (file, _) = bytes(&path);
    // Five pages: a root, a directory page and a data page, a root and a leaf.
    assert!(file < 7 * MIB, "{file}");
}
