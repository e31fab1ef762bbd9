//! SQLite at equal durability: write-ahead log, `synchronous = FULL`, a cache that holds everything.
//!
//! Everything else is its default, as for every engine here: when it checkpoints is its own affair.

use rusqlite::Connection;

use crate::BenchError;
use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::FoundRow;
use crate::e1::subject::{SCAN, Subject, UPDATE};

const NAME: &str = "sqlite";

const CREATE: &str = "
    CREATE TABLE test (id NUMERIC(18,2), name VARCHAR(120), description VARCHAR(250), cnt INTEGER,
                       qrt DOUBLE PRECISION, ts_change TIMESTAMP, ts_create TIMESTAMP, notes BLOB);
    CREATE TABLE test2drop AS SELECT * FROM test;";

const FILL: &str = "
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1)
    INSERT INTO test SELECT n, 'name ' || n, 'description of record ' || n, n, n * 0.5,
                            '2000-01-01 00:00:00', '2000-01-01 00:00:00', CAST('notes of record ' || n AS BLOB)
    FROM numbers";

/// Makes the tables: `rows` rows, and four copies of them to drop.
pub fn create(task: &ChildTask) -> Result<(), BenchError> {
    let error = BenchError::engine::<rusqlite::Error>(NAME);
    let connection = connect(task)?;
    connection.execute_batch(CREATE).map_err(&error)?;
    connection.execute_batch("BEGIN").map_err(&error)?;
    connection.execute(FILL, [task.rows.cast_signed()]).map_err(&error)?;
    for _ in 0..4 {
        connection.execute("INSERT INTO test2drop SELECT * FROM test", []).map_err(&error)?;
    }
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)").map_err(&error)?;
    connection.close().map_err(|(_, reason)| error(reason))
}

fn connect(task: &ChildTask) -> Result<Connection, BenchError> {
    let error = BenchError::engine::<rusqlite::Error>(NAME);
    let connection = Connection::open(&task.database).map_err(&error)?;
    let cache_kib = task.pool_bytes / 1024;
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
             PRAGMA cache_size = -{cache_kib}; PRAGMA temp_store = MEMORY;"
        ))
        .map_err(&error)?;
    Ok(connection)
}

/// An open database.
pub struct Sqlite {
    connection: Connection,
}

impl Sqlite {
    /// Opens what [`create`] made.
    pub fn open(task: &ChildTask) -> Result<Sqlite, BenchError> {
        Ok(Sqlite { connection: connect(task)? })
    }

    fn run(&self, sql: &str) -> Result<(), BenchError> {
        self.connection.execute_batch(sql).map_err(BenchError::engine(NAME))
    }
}

impl Subject for Sqlite {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), BenchError> {
        self.run("DROP TABLE test2drop; PRAGMA wal_checkpoint(TRUNCATE)")?;
        self.scan().map(drop)
    }

    fn begin(&mut self, _: Variant) -> Result<(), BenchError> {
        self.run("BEGIN")
    }

    fn pass(&mut self) -> Result<(), BenchError> {
        self.run(UPDATE)
    }

    fn savepoint(&mut self, name: &str) -> Result<(), BenchError> {
        self.run(&format!("SAVEPOINT {name}"))
    }

    fn commit(&mut self) -> Result<(), BenchError> {
        self.run("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), BenchError> {
        self.run("ROLLBACK")
    }

    fn scan(&mut self) -> Result<(u64, f64), BenchError> {
        let mut statement = self.connection.prepare_cached(SCAN).map_err(BenchError::engine(NAME))?;
        statement
            .query_row([], |row| Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get(1)?)))
            .map_err(BenchError::engine(NAME))
    }

    fn rows(&mut self, each: &mut dyn FnMut(&FoundRow<'_>)) -> Result<(), BenchError> {
        let mut read = || -> rusqlite::Result<()> {
            let sql = "SELECT cnt, CAST(id AS REAL), qrt, name, description, notes, ts_change <> ts_create FROM test";
            let mut statement = self.connection.prepare(sql)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                each(&FoundRow {
                    cnt: row.get(0)?,
                    id: row.get(1)?,
                    qrt: row.get(2)?,
                    name: row.get_ref(3)?.as_str()?,
                    description: row.get_ref(4)?.as_str()?,
                    notes: row.get_ref(5)?.as_blob()?,
                    changed: row.get(6)?,
                });
            }
            Ok(())
        };
        read().map_err(BenchError::engine(NAME))
    }
}
