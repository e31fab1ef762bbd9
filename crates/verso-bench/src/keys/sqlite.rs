//! SQLite at equal durability: write-ahead log, `synchronous = FULL`, a cache that holds everything.

use std::path::PathBuf;

use rusqlite::{Connection, OptionalExtension, Statement};

use super::driver::{Client, Database};
use super::{KeysTask, name_of, value_of};
use crate::BenchError;

fn error(error: rusqlite::Error) -> BenchError {
    BenchError::engine("sqlite")(error)
}

/// The file with the table.
pub struct Sqlite {
    path: PathBuf,
    cache_kib: u64,
}

impl Sqlite {
    /// Makes it.
    pub fn create(task: &KeysTask) -> Result<Sqlite, BenchError> {
        let sqlite = Sqlite { path: task.database.clone(), cache_kib: task.pool_bytes / 1024 };
        let create = "CREATE TABLE item (id INTEGER PRIMARY KEY, value INTEGER, name TEXT)";
        sqlite.open()?.execute_batch(create).map_err(error)?;
        Ok(sqlite)
    }

    fn open(&self) -> Result<Connection, BenchError> {
        let connection = Connection::open(&self.path).map_err(error)?;
        let pragmas = format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -{};",
            self.cache_kib
        );
        connection.execute_batch(&pragmas).map_err(error)?;
        Ok(connection)
    }
}

impl Database for Sqlite {
    type Client = Prepared;
    const WRITERS: bool = false;
    const NAME: &'static str = "sqlite";

    fn connect(&self) -> Result<Prepared, BenchError> {
        // The process ends with its task, so its few connections may live as long as it does.
        let connection: &'static Connection = Box::leak(Box::new(self.open()?));
        let prepare = |sql: &str| connection.prepare(sql).map_err(error);
        Ok(Prepared {
            insert: prepare("INSERT INTO item VALUES (?1, ?2, ?3)")?,
            update: prepare("UPDATE item SET value = value + 1 WHERE id = ?1")?,
            find: prepare("SELECT value FROM item WHERE id = ?1")?,
            connection,
        })
    }
}

/// A connection and its statements.
pub struct Prepared {
    insert: Statement<'static>,
    update: Statement<'static>,
    find: Statement<'static>,
    connection: &'static Connection,
}

impl Client for Prepared {
    fn begin(&mut self) -> Result<(), BenchError> {
        self.connection.execute_batch("BEGIN").map_err(error)
    }

    fn begin_snapshot(&mut self) -> Result<(), BenchError> {
        self.begin()
    }

    fn commit(&mut self) -> Result<(), BenchError> {
        self.connection.execute_batch("COMMIT").map_err(error)
    }

    fn checkpoint(&mut self) -> Result<(), BenchError> {
        self.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").map_err(error)
    }

    fn insert(&mut self, id: u64) -> Result<(), BenchError> {
        self.insert.execute((id.cast_signed(), value_of(id), name_of(id))).map(drop).map_err(error)
    }

    fn update(&mut self, id: u64) -> Result<u64, BenchError> {
        self.update.execute([id.cast_signed()]).map(|count| count as u64).map_err(error)
    }

    fn find(&mut self, id: u64) -> Result<Option<i64>, BenchError> {
        self.find.query_row([id.cast_signed()], |row| row.get(0)).optional().map_err(error)
    }

    fn sums(&mut self) -> Result<(i64, i64), BenchError> {
        let sql = "SELECT count(*), coalesce(sum(value), 0) FROM item";
        self.connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).map_err(error)
    }
}
