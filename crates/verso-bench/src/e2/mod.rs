//! E2, the experiment of Oracle's COMMIT WRITE: a million inserts by a procedure, a commit each, in every mode.
//!
//! ```sql
//! FOR i IN 0..999999 LOOP INSERT INTO demo VALUES (i, people[…], n); COMMIT WRITE NOWAIT BATCH; END LOOP;
//! ```
//!
//! | figure | |
//! |---|---|
//! | `commit_at_end` | the loop with one commit |
//! | `commit_default`, `commit_wait_immediate`, … | a commit for each row, in this mode |
//! | `bulk` | the same rows by one statement |
//! | `concurrent`, `wire` | clients that insert and commit, in this process and through the server |
//! | `plpgsql` | what single steps of a procedure cost |
//!
//! Beside them stand SQLite's client loop at three levels of durability, and what the disk does by itself: 4 KiB written and
//! synced, over a file that is there and at the end of one that grows.

mod clients;
mod disk;
mod options;
mod plot;
mod postgres;
mod procedures;
mod sqlite;
mod steps;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use verso_env::Env;

use crate::BenchError;
use crate::chart;
use crate::child::spawn_task;
use crate::folder::WorkFolder;
use crate::peers::Peer;
use crate::results::write_json;
use clients::{Concurrent, Wire};
pub use options::E2Options;
use procedures::Case;
use sqlite::Synchronous;

/// One run over all rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// Seconds.
    pub s: f64,
    /// Rows a second.
    pub rows_per_s: f64,
    /// Bytes written to the log, padding included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redo_bytes_per_row: Option<f64>,
    /// The same without headers of chunks and padding, as `pg_stat_wal.wal_bytes` counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record_bytes_per_row: Option<f64>,
    /// Calls of fsync on the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fsyncs: Option<u64>,
}

impl Loaded {
    fn new(rows: u64, nanos: u64) -> Loaded {
        let s = nanos.max(1) as f64 / 1e9;
        Loaded { s, rows_per_s: rows as f64 / s, ..Loaded::default() }
    }
}

/// What a child process measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct E2Task {
    /// Which figure.
    e2: Figure,
    /// Where its database is made.
    folder: PathBuf,
    /// Rows, or turns of a loop.
    rows: u64,
    /// Bytes of the buffer pool.
    pool_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Figure {
    Procedure(Case),
    Sqlite(Synchronous),
    Concurrent { clients: u32, millis: u64 },
    Steps,
}

/// What a child process has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Found {
    Loaded(Loaded),
    Concurrent(Concurrent),
    Steps(BTreeMap<String, f64>),
}

/// The whole file.
#[derive(Debug, Serialize)]
struct Report {
    workload: &'static str,
    rows: u64,
    version: &'static str,
    machine: crate::machine::Machine,
    fdatasync_per_s: f64,
    fdatasync_extend_per_s: f64,
    verso: BTreeMap<String, serde_json::Value>,
    sqlite: BTreeMap<&'static str, Loaded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    postgres: Option<postgres::Peer>,
    plpgsql: BTreeMap<String, f64>,
}

/// The child's side of a task.
pub(crate) fn run_task(env: &Env, task: &E2Task) -> Result<serde_json::Value, BenchError> {
    let found = match task.e2 {
        Figure::Procedure(case) => Found::Loaded(procedures::run(env, task, case)?),
        Figure::Sqlite(level) => Found::Loaded(sqlite::run(env, task, level)?),
        Figure::Concurrent { clients, millis } => {
            Found::Concurrent(clients::embedded(env, task, clients, millis)?)
        }
        Figure::Steps => Found::Steps(steps::run(env, task)?),
    };
    json(&found)
}

fn spawn(options: &E2Options, folder: &Path, e2: Figure, title: &str) -> Result<Found, BenchError> {
    let task = E2Task { e2, folder: folder.to_owned(), rows: options.rows, pool_bytes: options.pool_bytes };
    eprintln!("e2: {title}");
    spawn_task(&task, title)
}

/// Runs the workload and prints its table.
///
/// # Errors
/// What failed, and in which engine; a wrong count in a table is an error as well.
pub fn run(options: &E2Options) -> Result<(), BenchError> {
    let env = Env::real();
    let dsn = match options.peers.as_slice() {
        [] => None,
        [Peer::Postgres(dsn)] => Some(dsn.as_str()),
        _ => return Err(BenchError::Usage("e2 runs beside one peer, postgres=DSN".to_owned())),
    };
    crate::results::check_outputs(options.json.as_ref(), options.plot.as_ref())?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let work = WorkFolder::create(&parent, false)?;
    let wrong = || BenchError::Usage("a child process has measured something else".to_owned());
    let mut report = Report {
        workload: "e2",
        rows: options.rows,
        version: env!("CARGO_PKG_VERSION"),
        machine: crate::machine::Machine::here(),
        fdatasync_per_s: disk::syncs_per_s(&env, work.path(), false)?,
        fdatasync_extend_per_s: disk::syncs_per_s(&env, work.path(), true)?,
        verso: BTreeMap::new(),
        sqlite: BTreeMap::new(),
        postgres: None,
        plpgsql: BTreeMap::new(),
    };
    for case in Case::ALL {
        let Found::Loaded(loaded) = spawn(options, work.path(), Figure::Procedure(case), case.name())? else {
            return Err(wrong());
        };
        report.verso.insert(case.name().to_owned(), json(&loaded)?);
    }
    let mut concurrent = Vec::new();
    for clients in [1, 4, 16] {
        let figure = Figure::Concurrent { clients, millis: options.seconds * 1000 };
        let title = format!("{clients} clients, embedded");
        let Found::Concurrent(found) = spawn(options, work.path(), figure, &title)? else {
            return Err(wrong());
        };
        concurrent.push(found);
    }
    report.verso.insert("concurrent".to_owned(), json(&concurrent)?);
    let wire: Vec<Wire> = clients::wire(options, work.path())?;
    report.verso.insert("wire".to_owned(), json(&wire)?);
    for level in Synchronous::ALL {
        let title = format!("sqlite {}", level.name());
        let Found::Loaded(loaded) = spawn(options, work.path(), Figure::Sqlite(level), &title)? else {
            return Err(wrong());
        };
        report.sqlite.insert(level.name(), loaded);
    }
    let Found::Steps(steps) = spawn(options, work.path(), Figure::Steps, "steps of PL/pgSQL")? else {
        return Err(wrong());
    };
    report.plpgsql = steps;
    if let Some(dsn) = dsn {
        report.postgres = Some(postgres::run(&env, options, dsn)?);
    }
    println!("{}", table::table(&report));
    if let Some(path) = &options.plot {
        chart::write(&[plot::rates(&report)], path)?;
    }
    options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
}

fn json(value: &impl Serialize) -> Result<serde_json::Value, BenchError> {
    serde_json::to_value(value).map_err(|error| BenchError::Usage(error.to_string()))
}
