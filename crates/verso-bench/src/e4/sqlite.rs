//! The experiment on SQLite, which has one worker: its backup is VACUUM INTO, which writes a database, and its restore reads that
//! into a new table and builds key and index.

use std::time::Duration;

use rusqlite::Connection;
use verso_env::Env;

use super::words::{Comparison, word};
use super::{Backup, E4Task, Found, Restore};
use crate::BenchError;
use crate::folder::remove_database;

const NAME: &str = "sqlite";
const CREATE: &str = "CREATE TABLE word_dictionary (code_dictionary INTEGER PRIMARY KEY, name VARCHAR(100) NOT NULL, code_parent INTEGER)";
const INDEX: &str = "CREATE INDEX word_name ON word_dictionary (name)";

/// Measures what there is to measure.
pub(super) fn run(env: &Env, task: &E4Task) -> Result<Found, BenchError> {
    let error = BenchError::engine::<rusqlite::Error>(NAME);
    let (path, copy) = (task.folder.join("e4.sqlite"), task.folder.join("e4-copy.sqlite"));
    let restored = task.folder.join("e4-restored.sqlite");
    for path in [&path, &copy, &restored] {
        remove_database(path)?;
    }
    let open = |path: &std::path::Path| -> Result<Connection, BenchError> {
        let connection = Connection::open(path).map_err(&error)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(&error)?;
        let setup = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -{};",
            task.pool_bytes / 1024
        );
        connection.execute_batch(&setup).map_err(&error)?;
        Ok(connection)
    };
    let seconds = |start: u64| (env.clock.monotonic_nanos() - start) as f64 / 1e9;
    let timed = |connection: &Connection, sql: &str| -> Result<f64, BenchError> {
        let start = env.clock.monotonic_nanos();
        connection.execute_batch(sql).map_err(&error)?;
        Ok(seconds(start))
    };
    let connection = open(&path)?;
    connection.execute_batch(CREATE).map_err(&error)?;
    let start = env.clock.monotonic_nanos();
    connection.execute_batch("BEGIN").map_err(&error)?;
    let mut insert = connection.prepare("INSERT INTO word_dictionary VALUES (?1, ?2, ?3)").map_err(&error)?;
    for number in 1..=task.rows {
        let row = rusqlite::params![number.cast_signed(), word(number), (number / 7).cast_signed()];
        insert.execute(row).map_err(&error)?;
    }
    drop(insert);
    connection.execute_batch("COMMIT").map_err(&error)?;
    let mut found = Found { load_s: seconds(start), ..Found::default() };
    found.index.insert(1, timed(&connection, INDEX)?);
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").map_err(&error)?;
    found.bytes = size(&path)?;
    let into = format!("VACUUM INTO '{}'", copy.display());
    let mut backup = Backup::default();
    backup.seconds.insert(1, timed(&connection, &into)?);
    backup.bytes = size(&copy)?;
    found.backup.insert("none".to_owned(), backup);
    drop(connection);
    let connection = open(&restored)?;
    connection.execute_batch(CREATE).map_err(&error)?;
    connection.execute_batch(&format!("ATTACH '{}' AS saved", copy.display())).map_err(&error)?;
    let data_s = timed(&connection, "INSERT INTO main.word_dictionary SELECT * FROM saved.word_dictionary")?;
    let index_s = timed(&connection, INDEX)?;
    found.restore.insert(1, Restore { data_s, index_s, s: data_s + index_s });
    compare(&connection, task.rows)?;
    Ok(found)
}

fn size(path: &std::path::Path) -> Result<u64, BenchError> {
    Ok(std::fs::metadata(path).map_err(BenchError::file(path))?.len())
}

fn compare(connection: &Connection, rows: u64) -> Result<(), BenchError> {
    let error = BenchError::engine::<rusqlite::Error>(NAME);
    let wrong = |message: String| BenchError::Wrong { engine: NAME, message };
    let mut comparison = Comparison::new(rows);
    let mut all = connection.prepare("SELECT * FROM main.word_dictionary").map_err(&error)?;
    let mut read = all.query([]).map_err(&error)?;
    while let Some(row) = read.next().map_err(&error)? {
        let key: i64 = row.get(0).map_err(&error)?;
        let name: String = row.get(1).map_err(&error)?;
        let parent: i64 = row.get(2).map_err(&error)?;
        comparison.row(key, &name, parent).map_err(wrong)?;
    }
    comparison.end().map_err(wrong)
}
