//! The workload on DuckDB.

use crate::BenchError;
use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::FoundRow;
use crate::e1::subject::{SCAN, Subject, UPDATE};
use crate::peers::duckdb::{Duckdb, NAME};

/// Makes the tables: `rows` rows, and four copies of them to drop.
pub fn create(task: &ChildTask) -> Result<(), BenchError> {
    let mut duckdb = Duckdb::open(&task.database)?;
    duckdb.run(
        "CREATE TABLE test (id NUMERIC(18,2), name VARCHAR(120), description VARCHAR(250), cnt INTEGER, \
         qrt DOUBLE PRECISION, ts_change TIMESTAMP, ts_create TIMESTAMP, notes BLOB)",
    )?;
    duckdb.run(&format!(
        "INSERT INTO test SELECT n, 'name ' || n, 'description of record ' || n, n, n * 0.5, TIMESTAMP '2000-01-01', \
         TIMESTAMP '2000-01-01', ('notes of record ' || n)::BLOB FROM range(1, {} + 1) numbers(n)",
        task.rows
    ))?;
    duckdb.run("CREATE TABLE test2drop AS SELECT test.* FROM test, range(4)")?;
    duckdb.run("CHECKPOINT")
}

impl Subject for Duckdb {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), BenchError> {
        self.run("DROP TABLE test2drop")?;
        self.run("CHECKPOINT")?;
        self.scan().map(drop)
    }

    fn begin(&mut self, _: Variant) -> Result<(), BenchError> {
        self.run("BEGIN")
    }

    fn pass(&mut self) -> Result<(), BenchError> {
        self.run(UPDATE)
    }

    fn savepoint(&mut self, _: &str) -> Result<(), BenchError> {
        Err(BenchError::Engine { engine: NAME, message: "it has no savepoints".into() })
    }

    fn commit(&mut self) -> Result<(), BenchError> {
        self.run("COMMIT")
    }

    fn rollback(&mut self) -> Result<(), BenchError> {
        self.run("ROLLBACK")
    }

    fn scan(&mut self) -> Result<(u64, f64), BenchError> {
        let mut answer = None;
        self.query(SCAN, &mut |row| answer = Some((number(row, 0), number(row, 1))))?;
        match answer {
            Some((Some(count), Some(sum))) => Ok((count as u64, sum)),
            _ => Err(BenchError::Engine { engine: NAME, message: "the scan gave no two numbers".into() }),
        }
    }

    fn rows(&mut self, each: &mut dyn FnMut(&FoundRow<'_>)) -> Result<(), BenchError> {
        let sql = "SELECT cnt, id::DOUBLE, qrt, name, description, notes::VARCHAR, \
                   (ts_change <> ts_create)::INTEGER FROM test";
        let mut malformed = None;
        self.query(sql, &mut |row| {
            let numbers = (number(row, 0), number(row, 1), number(row, 2), number(row, 6));
            match (numbers, row) {
                ((Some(cnt), Some(id), Some(qrt), Some(changed)), [_, _, _, name, description, notes, _]) => {
                    let (notes, changed) = (notes.as_bytes(), changed != 0.0);
                    each(&FoundRow { cnt: cnt as i64, id, qrt, name, description, notes, changed });
                }
                _ => malformed = Some(row.join("|")),
            }
        })?;
        match malformed {
            Some(row) => Err(BenchError::Engine { engine: NAME, message: format!("a malformed row: {row}") }),
            None => Ok(()),
        }
    }
}

fn number(row: &[&str], at: usize) -> Option<f64> {
    row.get(at)?.parse().ok()
}
