//! Verso itself, through its library: the published scripts, statement by statement.

use std::path::PathBuf;
use std::sync::Arc;

use verso_env::process;
use versodb::{Connection, Database, Options};

use crate::BenchError;
use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::FoundRow;
use crate::e1::subject::{Counters, SCAN, Subject, UPDATE};
use crate::memory::Probe;

const NAME: &str = "verso";

/// The published script, which the shell runs as it stands.
const SCRIPT: &str = include_str!("../../experiments/e1/create.sql");
/// Its line that fills the table, and with which the part for the shell's eyes ends.
const FILL: &str = "SELECT * FROM insertrecs(100000);";

/// The script's statements up to the one that fills, without the shell's own commands.
fn definitions() -> String {
    let definitions = SCRIPT.split(FILL).next().unwrap_or_default();
    definitions.lines().filter(|line| !line.starts_with('\\')).collect::<Vec<_>>().join("\n")
}

fn options(task: &ChildTask) -> Options {
    Options::new().page_size(task.page_size).buffer_pool(task.pool_bytes)
}

/// Makes the tables: `rows` rows, and four copies of them to drop.
pub fn create(task: &ChildTask) -> Result<(), BenchError> {
    let error = BenchError::engine::<versodb::Error>(NAME);
    let database = Database::create(&task.database, options(task)).map_err(&error)?;
    let mut connection = database.connect().map_err(&error)?;
    fill(&mut connection, task.rows)?;
    drop(connection);
    database.close().map_err(&error)
}

fn fill(connection: &mut Connection, rows: u64) -> Result<(), BenchError> {
    let mut run = |sql: &str| connection.execute(sql).map(drop).map_err(BenchError::engine(NAME));
    run(&definitions())?;
    run(&format!("SELECT * FROM insertrecs({rows})"))?;
    for _ in 0..4 {
        run("INSERT INTO test2drop SELECT * FROM test")?;
    }
    Ok(())
}

/// An open database.
pub struct Verso {
    // Dropped before the database: fields drop in order.
    connection: Connection,
    database: Database,
    file: PathBuf,
}

impl Verso {
    /// Opens what [`create`] made.
    pub fn open(task: &ChildTask) -> Result<Verso, BenchError> {
        let error = BenchError::engine::<versodb::Error>(NAME);
        let database = Database::open(&task.database, options(task)).map_err(&error)?;
        let connection = database.connect().map_err(&error)?;
        Ok(Verso { connection, database, file: task.database.clone() })
    }

    fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        self.connection.execute(sql).map(drop).map_err(BenchError::engine(NAME))
    }
}

impl Subject for Verso {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), BenchError> {
        self.run("DROP TABLE test2drop")?;
        self.scan().map(drop)
    }

    fn begin(&mut self, variant: Variant) -> Result<(), BenchError> {
        self.run(if variant.no_savepoint() { "BEGIN NO SAVEPOINT" } else { "BEGIN" })
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
        let error = BenchError::engine::<versodb::Error>(NAME);
        let mut answer = None;
        for row in self.connection.query(SCAN).map_err(&error)? {
            let count: i64 = row.get(0).map_err(&error)?;
            answer = Some((count.cast_unsigned(), row.get(1).map_err(&error)?));
        }
        answer.ok_or_else(|| BenchError::Engine { engine: NAME, message: "the scan gave no row".into() })
    }

    fn rows(&mut self, each: &mut dyn FnMut(&FoundRow<'_>)) -> Result<(), BenchError> {
        let sql = "SELECT cnt, id::double precision, qrt, name, description, notes, ts_change <> ts_create FROM test";
        let mut read = || -> Result<(), versodb::Error> {
            for row in self.connection.query(sql)? {
                let (name, description): (String, String) = (row.get(3)?, row.get(4)?);
                let notes: Vec<u8> = row.get(5)?;
                let cnt: i32 = row.get(0)?;
                each(&FoundRow {
                    cnt: cnt.into(),
                    id: row.get(1)?,
                    qrt: row.get(2)?,
                    name: &name,
                    description: &description,
                    notes: &notes,
                    changed: row.get(6)?,
                });
            }
            Ok(())
        };
        read().map_err(BenchError::engine(NAME))
    }

    fn again(&mut self, task: &ChildTask) -> Result<bool, BenchError> {
        self.run("DROP TABLE test")?;
        self.run("DROP FUNCTION insertrecs(INTEGER)")?;
        self.run("DROP SEQUENCE test_id")?;
        fill(&mut self.connection, task.rows)?;
        self.run("DROP TABLE test2drop")?;
        self.begin(Variant::Default)?;
        for _ in 0..task.passes {
            self.pass()?;
        }
        self.commit()?;
        Ok(true)
    }

    fn counters(&mut self) -> Result<Option<Counters>, BenchError> {
        let statistics = self.database.statistics();
        let file = std::fs::metadata(&self.file).map_err(BenchError::file(&self.file))?;
        Ok(Some(Counters {
            redo_bytes: statistics.log.bytes,
            page_writes: statistics.pool.writes,
            file_bytes: file.len(),
        }))
    }

    fn memory_probe(&self) -> Option<Probe> {
        process::resident_bytes()?;
        let database = self.database.clone();
        let page_size = database.space().page_size;
        Some(Arc::new(move || {
            // The pool first: what it takes in between is then counted as ours, never hidden.
            let pool = database.statistics().pool.resident_pages * page_size;
            process::resident_bytes().unwrap_or(0).saturating_sub(pool)
        }))
    }
}
