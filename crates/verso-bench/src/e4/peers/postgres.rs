//! A PostgreSQL that runs already, in a schema of its own; `pg_dump` and `pg_restore` as they are found by name.

use std::path::Path;
use std::process::Command;

use postgres::fallible_iterator::FallibleIterator as _;
use postgres::{Client, NoTls};
use verso_env::Env;

use super::super::words::{COLLATED, CREATE, Comparison, INDEX, KEY, insert};
use super::super::{E4Task, Found, Restore};
use super::program;
use crate::BenchError;

pub(in crate::e4) const NAME: &str = "postgres";
const SCHEMA: &str = "verso_bench";

fn engine(error: postgres::Error) -> BenchError {
    BenchError::engine(NAME)(error)
}

/// Measures what there is to measure.
pub(in crate::e4) fn run(env: &Env, task: &E4Task, dsn: &str) -> Result<Found, BenchError> {
    let mut client = Client::connect(dsn, NoTls).map_err(engine)?;
    let mut run = |sql: &str| -> Result<f64, BenchError> {
        let start = env.clock.monotonic_nanos();
        client.batch_execute(sql).map_err(engine)?;
        Ok((env.clock.monotonic_nanos() - start) as f64 / 1e9)
    };
    let mut found = Found::default();
    run(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}"))?;
    run(&format!("SET search_path = {SCHEMA}"))?;
    // As much as Verso's maintenance_memory.
    run("SET maintenance_work_mem = '256MB'")?;
    run(CREATE)?;
    // What the rolled-back update has left is for VACUUM alone.
    run("ALTER TABLE word_dictionary SET (autovacuum_enabled = off)")?;
    found.load_s = run(&insert(task.rows))?;
    run(KEY)?;
    // A server's leader works as well.
    let use_workers = |workers: usize| format!("SET max_parallel_maintenance_workers = {}", workers - 1);
    for workers in &task.workers {
        run("DROP INDEX IF EXISTS word_name")?;
        run("SELECT count(*) FROM word_dictionary")?;
        run(&use_workers(*workers))?;
        found.index.insert(*workers, run(INDEX)?);
    }
    for workers in &task.workers {
        run("VACUUM word_dictionary")?;
        run("BEGIN; UPDATE word_dictionary SET name = name; ROLLBACK")?;
        run(&use_workers(*workers))?;
        let vacuum = format!("VACUUM (PARALLEL {}) word_dictionary", workers - 1);
        found.sweep.insert(*workers, run(&vacuum)?);
    }
    match run(COLLATED) {
        Ok(_) => {
            for workers in &task.workers {
                run(&use_workers(*workers))?;
                found.collations.insert(*workers, run("REINDEX INDEX word_collated")?);
            }
            run("DROP INDEX word_collated")?;
        }
        Err(error) => {
            found.skipped.insert("collations".to_owned(), error.to_string());
        }
    }
    let size = format!("SELECT pg_total_relation_size('{SCHEMA}.word_dictionary')");
    let bytes: i64 = client.query_one(&size, &[]).map_err(engine)?.get(0);
    found.bytes = bytes.cast_unsigned();
    if let Err(why) = back_up(env, task, dsn, &mut found)? {
        found.skipped.insert("backup, restore".to_owned(), why);
    } else if let Err(why) = put_back(env, task, dsn, &mut client, &mut found)? {
        found.skipped.insert("restore".to_owned(), why);
    }
    client.batch_execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")).map_err(engine)?;
    Ok(found)
}

const PACKINGS: [&str; 3] = ["lz4", "zstd:3", "none"];

fn back_up(env: &Env, task: &E4Task, dsn: &str, found: &mut Found) -> Result<Result<(), String>, BenchError> {
    for packing in PACKINGS {
        let folder = task.folder.join(format!("e4-pg.{packing}"));
        for workers in &task.workers {
            let _ = std::fs::remove_dir_all(&folder);
            let mut dump = Command::new("pg_dump");
            dump.arg("--dbname").arg(dsn).args(["--schema", SCHEMA, "--format", "directory"]);
            dump.args(["--jobs", &workers.to_string(), "--compress", packing]).arg("--file").arg(&folder);
            match program(env, &mut dump) {
                Ok((seconds, _)) => {
                    let backup = found.backup.entry(packing.to_owned()).or_default();
                    backup.seconds.insert(*workers, seconds);
                    backup.bytes = bytes_in(&folder)?;
                }
                Err(why) => return Ok(Err(why)),
            }
        }
    }
    Ok(Ok(()))
}

fn bytes_in(folder: &Path) -> Result<u64, BenchError> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(BenchError::file(folder))? {
        let entry = entry.map_err(BenchError::file(folder))?;
        bytes += entry.metadata().map_err(BenchError::file(entry.path()))?.len();
    }
    Ok(bytes)
}

fn put_back(
    env: &Env,
    task: &E4Task,
    dsn: &str,
    client: &mut Client,
    found: &mut Found,
) -> Result<Result<(), String>, BenchError> {
    let folder = task.folder.join(format!("e4-pg.{}", PACKINGS[0]));
    for workers in &task.workers {
        client.batch_execute(&format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")).map_err(engine)?;
        let mut seconds = [0.0; 3];
        for (section, seconds) in ["pre-data", "data", "post-data"].into_iter().zip(&mut seconds) {
            let mut restore = Command::new("pg_restore");
            restore.arg("--dbname").arg(dsn).args(["--section", section, "--jobs", &workers.to_string()]);
            match program(env, restore.arg(&folder)) {
                Ok((took, _)) => *seconds = took,
                Err(why) => return Ok(Err(why)),
            }
        }
        let [before, data, index] = seconds;
        let restore = Restore { data_s: before + data, index_s: index, s: before + data + index };
        found.restore.insert(*workers, restore);
        compare(client, task.rows)?;
    }
    Ok(Ok(()))
}

fn compare(client: &mut Client, rows: u64) -> Result<(), BenchError> {
    let wrong = |message: String| BenchError::Wrong { engine: NAME, message };
    let mut comparison = Comparison::new(rows);
    let all = format!("SELECT code_dictionary, name, code_parent FROM {SCHEMA}.word_dictionary");
    let mut read = client.query_raw(&all, std::iter::empty::<i32>()).map_err(engine)?;
    while let Some(row) = read.next().map_err(engine)? {
        let (key, name, parent): (i64, &str, i64) = (row.get(0), row.get(1), row.get(2));
        comparison.row(key, name, parent).map_err(wrong)?;
    }
    comparison.end().map_err(wrong)
}
