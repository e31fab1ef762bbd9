//! One balance that everybody adds to: `verso bench hot`.
//!
//! ```sql
//! CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL [RESERVABLE]);
//! CREATE TABLE entry (id bigint PRIMARY KEY, amount bigint);
//! BEGIN; UPDATE account SET balance = balance + $1 WHERE id = 1; INSERT INTO entry VALUES ($2, $1); COMMIT
//! ```
//!
//! Who changes a row holds it until his commit is on disk, so clients come one after the other. Where the column is RESERVABLE
//! nobody waits, and commits go to disk together. Each number of clients does both, in turn, in a database of their own; each run in
//! a child process. Afterwards the balance is compared with the sum of the entries.

mod task;

pub(crate) use task::run_task;
pub use task::{HotFigures, HotTask};

use std::path::PathBuf;

use serde::Serialize;
use verso_env::Env;

use crate::folder::{WorkFolder, remove_database};
use crate::machine::Machine;
use crate::results::{median, write_json};
use crate::{BenchError, Calibration, calibration, child};

/// The command line of `verso bench hot`.
#[derive(Clone, Debug, clap::Args)]
pub struct HotOptions {
    /// Clients at one time
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 4, 16])]
    pub clients: Vec<u32>,
    /// Seconds of each run
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Runs of each kind, in turn; medians are shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,
    /// Bytes of the buffer pool
    #[arg(long, default_value_t = 256 << 20, value_name = "BYTES")]
    pub pool_bytes: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the databases stand while measured; it decides which disk is measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// One number of clients.
#[derive(Debug, Serialize)]
struct Point {
    clients: u32,
    plain: HotFigures,
    reservable: HotFigures,
    /// Commits a second with RESERVABLE, of those without.
    ratio: f64,
}

/// The JSON file.
#[derive(Debug, Serialize)]
struct Report {
    workload: &'static str,
    seconds: u64,
    runs: u32,
    pool_bytes: u64,
    version: &'static str,
    machine: Machine,
    calibration: Calibration,
    points: Vec<Point>,
}

/// Measures all numbers of clients, prints a line for each, writes the file that was asked for.
///
/// # Errors
/// As [`crate::run`].
pub fn run(options: &HotOptions) -> Result<(), BenchError> {
    if options.clients.contains(&0) {
        return Err(BenchError::Usage("there must be a client".to_owned()));
    }
    crate::results::check_outputs(options.json.as_ref(), None)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibration::calibrate(&Env::real(), folder.path())?;
    let mut points = Vec::new();
    for &clients in &options.clients {
        let (mut plain, mut reserved) = (Vec::new(), Vec::new());
        for _ in 0..options.runs {
            for (reservable, figures) in [(false, &mut plain), (true, &mut reserved)] {
                let hot_database = folder.path().join("hot.verso");
                let task = HotTask {
                    hot_database: hot_database.clone(),
                    clients,
                    seconds: options.seconds,
                    reservable,
                    pool_bytes: options.pool_bytes,
                };
                let title = if reservable { "hot, RESERVABLE" } else { "hot" };
                figures.push(child::spawn_task::<HotFigures>(&task, title)?);
                remove_database(&hot_database)?;
            }
        }
        let (plain, reservable) = (medians(&plain), medians(&reserved));
        let ratio = reservable.commits_per_s / plain.commits_per_s.max(f64::MIN_POSITIVE);
        println!(
            "{clients:>4} clients  plain {:>8.0} commits/s, p95 {:>8.2} ms  RESERVABLE {:>8.0} commits/s, p95 {:>8.2} ms  {ratio:.2}x",
            plain.commits_per_s, plain.p95_ms, reservable.commits_per_s, reservable.p95_ms
        );
        points.push(Point { clients, plain, reservable, ratio });
    }
    let report = Report {
        workload: "hot",
        seconds: options.seconds,
        runs: options.runs,
        pool_bytes: options.pool_bytes,
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        calibration,
        points,
    };
    options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
}

fn medians(runs: &[HotFigures]) -> HotFigures {
    let of = |figure: fn(&HotFigures) -> f64| median(runs.iter().map(figure));
    HotFigures {
        commits_per_s: of(|run| run.commits_per_s),
        p50_ms: of(|run| run.p50_ms),
        p95_ms: of(|run| run.p95_ms),
        commits: runs.iter().map(|run| run.commits).sum(),
    }
}
