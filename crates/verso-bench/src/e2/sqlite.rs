//! SQLite's client loop: a prepared INSERT, committed by itself.

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use verso_env::Env;

use super::{E2Task, Loaded};
use crate::BenchError;
use crate::folder::remove_database;

const NAME: &str = "sqlite";
/// A durable commit for each of a million rows would take minutes; the rate is the same after fewer.
const DURABLE_ROWS_MAX: u64 = 100_000;

/// How durable commits are, by `PRAGMA synchronous`; the last two are loops with one commit, and one statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Synchronous {
    Full,
    Normal,
    Off,
    AtEnd,
    Bulk,
}

impl Synchronous {
    /// In the order of the table.
    pub const ALL: [Synchronous; 5] =
        [Synchronous::Full, Synchronous::Normal, Synchronous::Off, Synchronous::AtEnd, Synchronous::Bulk];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
            Synchronous::Off => "off",
            Synchronous::AtEnd => "commit_at_end",
            Synchronous::Bulk => "bulk",
        }
    }

    fn pragma(self) -> &'static str {
        match self {
            Synchronous::Normal => "NORMAL",
            Synchronous::Off => "OFF",
            Synchronous::Full | Synchronous::AtEnd | Synchronous::Bulk => "FULL",
        }
    }
}

/// Inserts the rows.
pub(super) fn run(env: &Env, task: &E2Task, level: Synchronous) -> Result<Loaded, BenchError> {
    let error = BenchError::engine::<rusqlite::Error>(NAME);
    let path = task.folder.join("e2.sqlite");
    remove_database(&path)?;
    let connection = Connection::open(&path).map_err(&error)?;
    let setup = format!(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = {}; PRAGMA cache_size = -{};
         CREATE TABLE demo (id INTEGER PRIMARY KEY, text VARCHAR(15), number INTEGER);",
        level.pragma(),
        task.pool_bytes / 1024
    );
    connection.execute_batch(&setup).map_err(&error)?;
    let rows = if level == Synchronous::Full { task.rows.min(DURABLE_ROWS_MAX) } else { task.rows };
    let start = env.clock.monotonic_nanos();
    if level == Synchronous::Bulk {
        let sql = "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1 - 1)
                   INSERT INTO demo SELECT i, 'Katie', abs(random()) % 10000 FROM n";
        connection.execute(sql, [rows.cast_signed()]).map_err(&error)?;
    } else {
        let one = level == Synchronous::AtEnd;
        connection.execute_batch(if one { "BEGIN" } else { "" }).map_err(&error)?;
        let mut insert = connection.prepare("INSERT INTO demo VALUES (?1, ?2, ?3)").map_err(&error)?;
        for id in 0..rows.cast_signed() {
            insert.execute(rusqlite::params![id, "Katie", (id * 7919) % 10_000]).map_err(&error)?;
        }
        drop(insert);
        connection.execute_batch(if one { "COMMIT" } else { "" }).map_err(&error)?;
    }
    let nanos = env.clock.monotonic_nanos() - start;
    let count: i64 =
        connection.query_row("SELECT count(*) FROM demo", [], |row| row.get(0)).map_err(&error)?;
    if count != rows.cast_signed() {
        return Err(BenchError::Wrong { engine: NAME, message: format!("{count} rows instead of {rows}") });
    }
    Ok(Loaded::new(rows, nanos))
}
