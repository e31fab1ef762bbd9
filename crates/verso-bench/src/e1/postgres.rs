//! A PostgreSQL server that runs already. The tables live in a schema of their own, which goes away with the run.

use postgres::{Client, NoTls};

use crate::BenchError;
use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::FoundRow;
use crate::e1::subject::{SCAN, Subject, UPDATE};

const NAME: &str = "postgres";

const CREATE: &str = "
    DROP SCHEMA IF EXISTS verso_bench CASCADE;
    CREATE SCHEMA verso_bench;
    SET search_path = verso_bench;
    CREATE TABLE original (id NUMERIC(18,2), name VARCHAR(120), description VARCHAR(250), cnt INTEGER,
                           qrt DOUBLE PRECISION, ts_change TIMESTAMP, ts_create TIMESTAMP, notes BYTEA);";

fn connect(task: &ChildTask) -> Result<Client, BenchError> {
    let dsn = task.database.to_string_lossy();
    Client::connect(&dsn, NoTls).map_err(BenchError::engine(NAME))
}

/// Makes the table that every run copies.
pub fn create(task: &ChildTask) -> Result<(), BenchError> {
    let mut client = connect(task)?;
    let fill = format!(
        "{CREATE} INSERT INTO original SELECT n, 'name ' || n, 'description of record ' || n, n, n * 0.5,
             '2000-01-01', '2000-01-01', ('notes of record ' || n)::bytea FROM generate_series(1, {}) n",
        task.rows
    );
    client.batch_execute(&fill).map_err(BenchError::engine(NAME))
}

/// A connection with a fresh copy of the table.
pub struct Postgres {
    client: Client,
}

impl Postgres {
    /// Connects and copies what [`create`] made.
    pub fn open(task: &ChildTask) -> Result<Postgres, BenchError> {
        let mut client = connect(task)?;
        client
            .batch_execute(
                "SET search_path = verso_bench; SET synchronous_commit = on;
                 DROP TABLE IF EXISTS test;
                 CREATE TABLE test (LIKE original); INSERT INTO test SELECT * FROM original;",
            )
            .map_err(BenchError::engine(NAME))?;
        // Only a superuser may; without it a checkpoint may fall into the measured time.
        let _ = client.batch_execute("CHECKPOINT");
        Ok(Postgres { client })
    }

    fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        self.client.batch_execute(sql).map_err(BenchError::engine(NAME))
    }
}

/// Removes the schema; called once after the last run.
pub fn clean_up(task: &ChildTask) -> Result<(), BenchError> {
    connect(task)?
        .batch_execute("DROP SCHEMA IF EXISTS verso_bench CASCADE")
        .map_err(BenchError::engine(NAME))
}

impl Subject for Postgres {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), BenchError> {
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
        let row = self.client.query_one(SCAN, &[]).map_err(BenchError::engine(NAME))?;
        Ok((row.get::<_, i64>(0).cast_unsigned(), row.get(1)))
    }

    fn rows(&mut self, each: &mut dyn FnMut(&FoundRow<'_>)) -> Result<(), BenchError> {
        let sql = "SELECT cnt, id::float8, qrt, name, description, notes, ts_change <> ts_create FROM test";
        for row in self.client.query(sql, &[]).map_err(BenchError::engine(NAME))? {
            each(&FoundRow {
                cnt: row.get::<_, i32>(0).into(),
                id: row.get(1),
                qrt: row.get(2),
                name: row.get(3),
                description: row.get(4),
                notes: row.get(5),
                changed: row.get(6),
            });
        }
        Ok(())
    }
}

/// Whether the server answers.
pub fn reachable(dsn: &str) -> Result<(), BenchError> {
    Client::connect(dsn, NoTls).map(drop).map_err(BenchError::engine(NAME))
}
