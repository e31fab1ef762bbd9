//! DuckDB, which has neither sweep nor a backup of its own: it exports Parquet files and reads them.

use verso_env::Env;

use super::super::words::{CREATE, Comparison, INDEX, KEY, insert};
use super::super::{Backup, E4Task, Found, Restore};
use crate::BenchError;
use crate::folder::remove_database;
use crate::peers::duckdb::{Duckdb, NAME};

/// Measures what there is to measure.
pub(in crate::e4) fn run(env: &Env, task: &E4Task) -> Result<Found, BenchError> {
    let (path, restored) = (task.folder.join("e4.duckdb"), task.folder.join("e4-restored.duckdb"));
    let exported = task.folder.join("e4-duckdb");
    remove_database(&path)?;
    let timed = |engine: &mut Duckdb, sql: &str| -> Result<f64, BenchError> {
        let start = env.clock.monotonic_nanos();
        engine.run(sql)?;
        Ok((env.clock.monotonic_nanos() - start) as f64 / 1e9)
    };
    let memory = format!("SET memory_limit = '{}B'", task.pool_bytes * 2);
    let mut found = Found::default();
    let mut engine = Duckdb::open(&path)?;
    engine.run(&memory)?;
    engine.run(CREATE)?;
    // A statement is a line, and its division of integers is written so.
    let insert = insert(task.rows).replace('\n', " ").replace("g / 7", "g // 7");
    found.load_s = timed(&mut engine, &insert)?;
    engine.run(KEY)?;
    for workers in &task.workers {
        engine.run("DROP INDEX IF EXISTS word_name")?;
        engine.run(&format!("SET threads = {workers}"))?;
        found.index.insert(*workers, timed(&mut engine, INDEX)?);
    }
    let mut backup = Backup::default();
    for workers in &task.workers {
        let _ = std::fs::remove_dir_all(&exported);
        engine.run(&format!("SET threads = {workers}"))?;
        let export = format!("EXPORT DATABASE '{}' (FORMAT parquet, COMPRESSION zstd)", exported.display());
        backup.seconds.insert(*workers, timed(&mut engine, &export)?);
    }
    let file = exported.join("word_dictionary.parquet");
    backup.bytes = std::fs::metadata(&file).map_err(BenchError::file(&file))?.len();
    found.backup.insert("parquet".to_owned(), backup);
    engine.run("CHECKPOINT")?;
    drop(engine);
    found.bytes = std::fs::metadata(&path).map_err(BenchError::file(&path))?.len();
    remove_database(&path)?;
    for workers in &task.workers {
        remove_database(&restored)?;
        let mut engine = Duckdb::open(&restored)?;
        engine.run(&memory)?;
        engine.run(&format!("SET threads = {workers}"))?;
        let read = format!("INSERT INTO word_dictionary SELECT * FROM read_parquet('{}')", file.display());
        let data_s = timed(&mut engine, CREATE)? + timed(&mut engine, &read)?;
        let index_s = timed(&mut engine, KEY)? + timed(&mut engine, INDEX)?;
        found.restore.insert(*workers, Restore { data_s, index_s, s: data_s + index_s });
        compare(&mut engine, task.rows)?;
    }
    remove_database(&restored)?;
    Ok(found)
}

fn compare(engine: &mut Duckdb, rows: u64) -> Result<(), BenchError> {
    let wrong = |message: String| BenchError::Wrong { engine: NAME, message };
    let (mut comparison, mut first) = (Comparison::new(rows), Ok(()));
    engine.query("SELECT code_dictionary, name, code_parent FROM word_dictionary", &mut |row| {
        if first.is_ok() {
            first = comparison.texts(row);
        }
    })?;
    first.and_then(|()| comparison.end()).map_err(wrong)
}
