//! The experiment on Verso.

use std::path::Path;
use std::sync::Arc;

use verso_backup::{
    BackupError, BackupOptions, Compression, Job, RestoreOptions, backup_to_file, reader, restore,
};
use verso_env::Env;
use versodb::{Connection, Database, Error, Options};

use super::words::{COLLATED, CREATE, Comparison, INDEX, KEY, insert};
use super::{Backup, E4Task, Found, Restore};
use crate::BenchError;
use crate::folder::remove_database;

const NAME: &str = "verso";

fn engine(error: impl std::error::Error) -> BenchError {
    BenchError::engine(NAME)(error)
}

/// Measures everything.
pub(super) fn run(env: &Env, task: &E4Task) -> Result<Found, BenchError> {
    let path = task.folder.join("e4.verso");
    remove_database(&path)?;
    // What the rolled-back update has left is for SWEEP alone.
    let options = Options::new().buffer_pool(task.pool_bytes).auto_backout(false).sweep_interval(0);
    let database = Database::create(&path, options.clone()).map_err(engine)?;
    let mut connection = database.connect().map_err(engine)?;
    let timed = |connection: &mut Connection, sql: &str| -> Result<f64, BenchError> {
        let start = env.clock.monotonic_nanos();
        connection.execute(sql).map_err(engine)?;
        Ok(seconds(env, start))
    };
    connection.execute(CREATE).map_err(engine)?;
    let mut found = Found { load_s: timed(&mut connection, &insert(task.rows))?, ..Found::default() };
    connection.execute(KEY).map_err(engine)?;
    connection.execute("SELECT count(*) FROM word_dictionary").map_err(engine)?;
    for workers in &task.workers {
        if !has_workers(&mut connection, *workers)? {
            continue;
        }
        connection.execute("DROP INDEX IF EXISTS word_name").map_err(engine)?;
        found.index.insert(*workers, timed(&mut connection, INDEX)?);
    }
    for workers in &task.workers {
        let sweep = match workers {
            1 => "SWEEP".to_owned(),
            workers => format!("SWEEP (PARALLEL {workers})"),
        };
        if *workers > 1 && is_missing(connection.prepare(&sweep).map(drop))? {
            continue;
        }
        connection.execute("SWEEP").map_err(engine)?;
        connection.execute("BEGIN; UPDATE word_dictionary SET name = name; ROLLBACK").map_err(engine)?;
        found.sweep.insert(*workers, timed(&mut connection, &sweep)?);
    }
    drop(connection);
    database.checkpoint().map_err(engine)?;
    let space = database.space();
    found.bytes = space.total_pages * space.page_size;
    for compression in [Compression::Lz4, Compression::Zstd(3), Compression::None] {
        let entry = found.backup.entry(compression.to_string()).or_default();
        let file = task.folder.join(format!("e4.{compression}"));
        for workers in &task.workers {
            back_up(env, &database, &file, *workers, compression, entry)?;
        }
    }
    let mut connection = database.connect().map_err(engine)?;
    connection.execute(COLLATED).map_err(engine)?;
    for workers in &task.workers {
        let rebuild = format!("REINDEX (PARALLEL {workers}) INDEX word_collated");
        found.collations.insert(*workers, timed(&mut connection, &rebuild)?);
    }
    drop(connection);
    database.close().map_err(engine)?;
    remove_database(&path)?;
    for workers in &task.workers {
        let archive = task.folder.join(format!("e4.{}", Compression::Lz4));
        found.restore.insert(*workers, put_back(env, task, &archive, *workers, &options)?);
    }
    Ok(found)
}

fn seconds(env: &Env, start: u64) -> f64 {
    (env.clock.monotonic_nanos() - start) as f64 / 1e9
}

/// Lets the session's statements use so many workers; false where this build has one only.
fn has_workers(connection: &mut Connection, workers: usize) -> Result<bool, BenchError> {
    if workers == 1 && connection.query("SHOW parallel_workers").is_err() {
        return Ok(true);
    }
    Ok(!is_missing(connection.execute(&format!("SET parallel_workers = {workers}")).map(drop))?)
}

/// Whether a statement is refused because there is no such thing.
fn is_missing(result: Result<(), Error>) -> Result<bool, BenchError> {
    match result {
        Ok(()) => Ok(false),
        Err(error) if ["42704", "0A000", "42601", "22023"].contains(&error.sqlstate) => Ok(true),
        Err(error) => Err(engine(error)),
    }
}

fn back_up(
    env: &Env,
    database: &Database,
    file: &Path,
    workers: usize,
    compression: Compression,
    entry: &mut Backup,
) -> Result<(), BenchError> {
    let options = BackupOptions { workers, compression, ..BackupOptions::default() };
    let start = env.clock.monotonic_nanos();
    let report = backup_to_file(database, file, true, &options, &Arc::default()).map_err(engine)?;
    entry.seconds.insert(workers, seconds(env, start));
    entry.bytes = report.bytes;
    Ok(())
}

/// Restores into a new database and compares every value.
fn put_back(
    env: &Env,
    task: &E4Task,
    archive: &Path,
    workers: usize,
    options: &Options,
) -> Result<Restore, BenchError> {
    let path = task.folder.join("restored.verso");
    remove_database(&path)?;
    let wanted = RestoreOptions { workers, database: options.clone(), ..RestoreOptions::default() };
    let start = env.clock.monotonic_nanos();
    let job = Arc::new(Job::default());
    let (input, _) = reader(env, archive).map_err(engine)?;
    let report = restore(input, &path, &wanted, &job).map_err(|error: BackupError| engine(error))?;
    let s = seconds(env, start);
    let database = Database::open(&path, options.clone()).map_err(engine)?;
    compare(&mut database.connect().map_err(engine)?, task.rows)?;
    database.close().map_err(engine)?;
    remove_database(&path)?;
    Ok(Restore { data_s: report.data_s, index_s: report.index_s, s })
}

fn compare(connection: &mut Connection, rows: u64) -> Result<(), BenchError> {
    let wrong = |message: String| BenchError::Wrong { engine: NAME, message };
    let mut comparison = Comparison::new(rows);
    let mut first = Ok(());
    let all = connection.prepare("SELECT code_dictionary, name, code_parent FROM word_dictionary");
    let read = all.map_err(engine)?.query_each(&[], |row| {
        let (key, name, parent) = (row.get::<i64>(0)?, row.get::<String>(1)?, row.get::<i64>(2)?);
        if first.is_ok() {
            first = comparison.row(key, &name, parent);
        }
        Ok(())
    });
    read.map_err(engine)?;
    first.and_then(|()| comparison.end()).map_err(wrong)?;
    let indexes = "SELECT count(*) FROM pg_indexes WHERE tablename = 'word_dictionary'";
    let count = connection.query(indexes).map_err(engine)?.into_rows();
    let count: i64 = count[0].get(0).map_err(engine)?;
    if count != 2 {
        return Err(wrong(format!("{count} indexes instead of 2")));
    }
    Ok(())
}
