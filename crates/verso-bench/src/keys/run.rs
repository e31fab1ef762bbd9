//! The parent's side: options, a child process for each store, table and JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use verso_env::Env;

use super::{KeysFigures, KeysTask, Store, Work};
use crate::folder::{WorkFolder, remove_database};
use crate::machine::Machine;
use crate::{BenchError, Calibration, calibration, child};

/// What to measure and where the results go.
#[derive(Clone, Debug, clap::Args)]
pub struct KeysOptions {
    /// Rows of the table
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rows: u64,
    /// Lookups of each kind
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub reads: u64,
    /// Seconds of hot updates with and without a snapshot held (insert only); 0 leaves them out
    #[arg(long, default_value_t = 10)]
    pub snapshot_seconds: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Bytes of Verso's buffer pool and of SQLite's cache
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_bytes: u64,
    /// Where the databases stand while measured; it decides which disk is measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Measure Verso alone
    #[arg(long)]
    pub alone: bool,
}

/// The JSON file.
#[derive(Debug, Serialize)]
struct Report {
    workload: &'static str,
    rows: u64,
    pool_bytes: u64,
    version: &'static str,
    machine: Machine,
    calibration: Calibration,
    #[serde(flatten)]
    stores: BTreeMap<&'static str, KeysFigures>,
}

/// `verso bench point`.
///
/// # Errors
/// What failed, and in which store.
pub fn run_point(options: &KeysOptions) -> Result<(), BenchError> {
    run(options, Work::Point)
}

/// `verso bench insert`.
///
/// # Errors
/// What failed, and in which store.
pub fn run_insert(options: &KeysOptions) -> Result<(), BenchError> {
    run(options, Work::Insert)
}

fn run(options: &KeysOptions, work: Work) -> Result<(), BenchError> {
    crate::results::check_outputs(options.json.as_ref(), None)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibration::calibrate(&Env::real(), folder.path())?;
    println!("machine   two threads {:.2}x, of work that shares nothing", calibration.two_threads);
    let mut stores = BTreeMap::new();
    for store in [Store::Verso, Store::Sqlite].into_iter().take(if options.alone { 1 } else { 2 }) {
        let database = folder.path().join(format!("keys.{}", store.name()));
        let task = KeysTask {
            work,
            store,
            database: database.clone(),
            rows: options.rows,
            reads: options.reads,
            snapshot_seconds: options.snapshot_seconds,
            pool_bytes: options.pool_bytes,
        };
        let figures: KeysFigures = child::spawn_task(&task, store.name())?;
        show(store, &figures);
        stores.insert(store.name(), figures);
        remove_database(&database)?;
    }
    let report = Report {
        workload: match work {
            Work::Point => "point",
            Work::Insert => "insert",
        },
        rows: options.rows,
        pool_bytes: options.pool_bytes,
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        calibration,
        stores,
    };
    let Some(path) = &options.json else { return Ok(()) };
    let json = serde_json::to_string_pretty(&report).map_err(|error| BenchError::Usage(error.to_string()))?;
    std::fs::write(path, json).map_err(BenchError::file(path))
}

fn show(store: Store, figures: &KeysFigures) {
    let KeysFigures {
        point_hot_us,
        point_uniform_us,
        insert_rows_per_s,
        update_rows_per_s,
        scaling_2_threads,
        processors_1_thread,
        snapshot_slowdown,
    } = figures;
    let mut line = format!("{:<8}", store.name());
    let mut add = |name: &str, value: Option<f64>, digits: usize, unit: &str| {
        if let Some(value) = value {
            line.push_str(&format!("  {name} {value:.digits$}{unit}"));
        }
    };
    add("hot", *point_hot_us, 3, " µs");
    add("uniform", *point_uniform_us, 3, " µs");
    add("insert", *insert_rows_per_s, 0, " rows/s");
    add("update", *update_rows_per_s, 0, " rows/s");
    add("two threads", *scaling_2_threads, 2, "x");
    add("one keeps busy", *processors_1_thread, 2, " processors");
    add("held snapshot slows by", snapshot_slowdown.map(|share| share * 100.0), 1, " %");
    println!("{line}");
}
