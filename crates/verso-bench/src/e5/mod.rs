//! E5: a billing batch that rewrites whole tables while users run TPC-C on them.
//!
//! The Fastest Informix DBA Contest (2013) scored both at once: transactions a minute plus bills a minute. The batch runs
//! without pause: it inserts a bill for each of 100,000 customers, gives discounts, works out totals, adds them to the
//! customers' balances, and counts and sums both tables. Its variants are what the contestants did to it ([`Variant`]).
//!
//!     for each target:  TPC-C alone ─► for each variant: fresh tables ─► batch alone ─► fresh tables ─► batch and TPC-C at once
//!
//! C1. After every run the sums of bills and balances are those that this program works out for itself, and TPC-C's twelve conditions
//! hold (B3); else nothing that was measured counts.

mod batch;
mod plot;
mod steps;
mod tables;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use verso_env::Env;
use versodb::{Database, Options};

use crate::BenchError;
use crate::calibration::calibrate;
use crate::chart;
use crate::error;
use crate::folder::WorkFolder;
use crate::peers::check_reachable;
use crate::results::{Calibration, check_outputs, write_json};
use crate::tpcc::{Embedded, Load, Server, Target, TpccFigures, check, drive, load};
use crate::wire::{RunningServer, Transport};
pub use batch::BatchFigures;
pub use steps::Variant;

/// Options of `verso bench e5`.
#[derive(Debug, clap::Args)]
pub struct E5Options {
    /// Minutes of each measurement
    #[arg(long, value_name = "MINUTES", default_value_t = 1.0)]
    pub minutes: f64,
    /// TPC-C's warehouses
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub warehouses: u32,
    /// TPC-C's terminals
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub connections: u32,
    /// How the batch does its work
    #[arg(long, value_enum, value_delimiter = ',', default_values = ["correlated", "joined", "indexed", "fused", "trigger"])]
    pub variants: Vec<Variant>,
    /// A peer as NAME=DSN, such as postgres=postgresql://localhost/bench; the tables in it are made anew
    #[arg(long, value_name = "NAME=DSN")]
    pub peers: Vec<String>,
    /// Seconds that a statement of a peer's batch may take; a variant with one that takes longer is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub limit: u64,
    /// Verso in this process instead of a server of its own
    #[arg(long)]
    pub embedded: bool,
    /// Random values are a function of it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Bytes of Verso's buffer pool
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 30, value_parser = clap::value_parser!(u64).range(1 << 20..))]
    pub pool_bytes: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the iterations over time into this SVG file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Where the database is made
    #[arg(long, value_name = "DIRECTORY")]
    pub folder: Option<PathBuf>,
}

/// One variant of the batch, alone and beside TPC-C.
#[derive(Debug, Serialize)]
struct Contest {
    alone: BatchFigures,
    together: BatchFigures,
    tpcc: TpccFigures,
    /// Transactions a minute plus bills a minute, at once.
    score: f64,
}

/// Figures of one target.
#[derive(Debug, Serialize)]
struct E5Figures {
    tpcc_alone: TpccFigures,
    variants: BTreeMap<Variant, Contest>,
    /// Variants that were given up, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    given_up: BTreeMap<Variant, String>,
}

#[derive(Debug, Serialize)]
struct E5Report<'f> {
    minutes: f64,
    calibration: &'f Calibration,
    verso: &'f E5Figures,
    #[serde(flatten)]
    peers: &'f BTreeMap<String, E5Figures>,
}

/// Runs the experiment, prints its table and writes its JSON.
///
/// # Errors
/// A server that does not start, a statement that fails, a sum or a condition that does not hold.
pub fn run(options: &E5Options) -> Result<(), BenchError> {
    if !(options.minutes > 0.0 && options.minutes < 10_000.0) {
        return Err(BenchError::Usage("--minutes must be above 0 and below 10000".to_owned()));
    }
    if options.warehouses == 0 || options.connections == 0 {
        return Err(BenchError::Usage("there must be a warehouse and a connection".to_owned()));
    }
    if !options.embedded {
        RunningServer::check_connections(options.connections)?;
    }
    check_outputs(options.json.as_ref(), options.plot.as_ref())?;
    check_reachable(&options.peers)?;
    let env = Env::real();
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibrate(&env, folder.path())?;
    print_head();
    let verso = if options.embedded {
        let pool = Options::new().buffer_pool(options.pool_bytes);
        let database =
            Database::create(folder.path().join("e5.verso"), pool).map_err(BenchError::engine("verso"))?;
        let target = Embedded::new(database);
        let figures = measure(&env, &target, None, options)?;
        target.close()?;
        figures
    } else {
        let (folder, connections) = (folder.path(), options.connections);
        let server = RunningServer::start_for(folder, options.pool_bytes, Transport::Unix, connections)?;
        let target = Server::new("verso", server.dsn(Transport::Unix), Some(server.process()));
        let figures = measure(&env, &target, None, options)?;
        server.stop()?;
        figures
    };
    let mut peers = BTreeMap::new();
    // What was measured stays, whatever becomes of the peers.
    let write = |peers: &BTreeMap<String, E5Figures>| -> Result<(), BenchError> {
        let report = E5Report { minutes: options.minutes, calibration: &calibration, verso: &verso, peers };
        options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
    };
    write(&peers)?;
    for peer in &options.peers {
        let (name, dsn) = crate::peers::named(peer)?;
        let target = Server::new(name, dsn.to_owned(), None);
        let figures = measure(&env, &target, Some(options.limit), options)?;
        peers.insert(name.to_owned(), figures);
        write(&peers)?;
    }
    println!(
        "Score: transactions a minute plus bills a minute, at once. Published (2013): 60,000 to 90,000 bills, at most 10,000 transactions."
    );
    options.plot.as_ref().map_or(Ok(()), |path| chart::write(&plot::over_time(&verso, &peers), path))
}

/// All of the experiment on one target. Of a peer, the seconds that a statement of the batch may take; only Verso takes
/// Informix's form of the trigger.
fn measure<T: Target>(
    env: &Env,
    target: &T,
    limit: Option<u64>,
    options: &E5Options,
) -> Result<E5Figures, BenchError> {
    let informix = limit.is_none();
    let load_s = load(env, target, options.warehouses, 2, options.seed)?;
    let asked = Load {
        warehouses: options.warehouses,
        connections: options.connections,
        warm_up: Duration::ZERO,
        duration: Duration::from_secs_f64(options.minutes * 60.0),
        think: false,
        procedures: false,
        seed: options.seed.wrapping_add(1),
    };
    let transactions = || -> Result<TpccFigures, BenchError> {
        let notes = drive(env, target, &asked)?;
        if let Some(error) = &notes.first_error {
            let message =
                format!("{}: {} transactions failed, the first with {error}", target.name(), notes.errors);
            return Err(BenchError::Engine { engine: "tpcc", message });
        }
        let mut figures = TpccFigures::new(notes);
        (figures.warehouses, figures.connections) = (options.warehouses, options.connections);
        figures.consistent = true;
        Ok(figures)
    };
    let mut tpcc_alone = transactions()?;
    tpcc_alone.load_s = Some(load_s);
    eprintln!(
        "{}: {} warehouses loaded in {load_s:.1} s; TPC-C alone: {:.0} transactions/min",
        target.name(),
        options.warehouses,
        tpcc_alone.total_per_min
    );
    let (mut variants, mut given_up) = (BTreeMap::new(), BTreeMap::new());
    for &variant in &options.variants {
        let over = AtomicBool::new(false);
        batch::prepare(target, variant, informix)?;
        let alone = std::thread::scope(|scope| {
            let batch = scope.spawn(|| billed(env, target, variant, limit, &over));
            env.clock.sleep(asked.duration);
            over.store(true, Ordering::Relaxed);
            joined(batch)
        });
        let Some(alone) = in_time(alone, target.name(), variant, &mut given_up)? else { continue };
        eprintln!("{}: {} alone: {:.0} bills/min", target.name(), variant.name(), alone.bills_per_min);
        over.store(false, Ordering::Relaxed);
        batch::prepare(target, variant, informix)?;
        let (together, tpcc) = std::thread::scope(|scope| {
            let batch = scope.spawn(|| billed(env, target, variant, limit, &over));
            let transactions = transactions();
            over.store(true, Ordering::Relaxed);
            (joined(batch), transactions)
        });
        let tpcc = tpcc?;
        let Some(together) = in_time(together, target.name(), variant, &mut given_up)? else { continue };
        check(target)?;
        let score = (tpcc.total_per_min + together.bills_per_min).round();
        let contest = Contest { alone, together, tpcc, score };
        print_row(target.name(), variant, &contest, &tpcc_alone);
        variants.insert(variant, contest);
    }
    Ok(E5Figures { tpcc_alone, variants, given_up })
}

/// The figures of a batch; none of one that is given up because a statement took longer than it may.
fn in_time(
    batch: Result<BatchFigures, BenchError>,
    target: &str,
    variant: Variant,
    given_up: &mut BTreeMap<Variant, String>,
) -> Result<Option<BatchFigures>, BenchError> {
    Ok(match error::in_time(batch)? {
        Ok(figures) => Some(figures),
        Err(message) => {
            println!("{target:<10} {:<10} given up: {message}", variant.name());
            given_up.insert(variant, message);
            None
        }
    })
}

/// A batch from its first iteration to the comparison of its sums.
fn billed<T: Target>(
    env: &Env,
    target: &T,
    variant: Variant,
    limit: Option<u64>,
    over: &AtomicBool,
) -> Result<BatchFigures, BenchError> {
    let mut console = target.console()?;
    if let Some(seconds) = limit {
        console.row(&format!("SET statement_timeout = '{seconds}s'"))?;
    }
    let figures = batch::run(env, &mut *console, variant, over)?;
    batch::verify(target.name(), &mut *console, variant, figures.iterations)?;
    Ok(figures)
}

fn joined(
    batch: std::thread::ScopedJoinHandle<'_, Result<BatchFigures, BenchError>>,
) -> Result<BatchFigures, BenchError> {
    let panicked = |_| BenchError::Engine { engine: "driver", message: "the batch panicked".to_owned() };
    batch.join().map_err(panicked)?
}

fn print_head() {
    println!(
        "{:<10} {:<10} {:>12} {:>12} {:>9} {:>9} {:>12} {:>9} {:>9} {:>12}",
        "",
        "variant",
        "alone b/min",
        "b/min",
        "first s",
        "last s",
        "trans/min",
        "of alone",
        "p99 ms",
        "score"
    );
}

fn print_row(target: &str, variant: Variant, contest: &Contest, tpcc_alone: &TpccFigures) {
    let times = &contest.together.iteration_s;
    println!(
        "{:<10} {:<10} {:>12.0} {:>12.0} {:>9.2} {:>9.2} {:>12.0} {:>8.0}% {:>9.1} {:>12.0}",
        target,
        variant.name(),
        contest.alone.bills_per_min,
        contest.together.bills_per_min,
        times.first().copied().unwrap_or_default(),
        times.last().copied().unwrap_or_default(),
        contest.tpcc.total_per_min,
        contest.tpcc.total_per_min / tpcc_alone.total_per_min.max(1.0) * 100.0,
        contest.tpcc.p99_ms.get("new_order").copied().unwrap_or_default(),
        contest.score,
    );
}
