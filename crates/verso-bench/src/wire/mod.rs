//! The server under pgbench's load: how many transactions a second clients get through the protocol.
//!
//! | workload | transaction |
//! |---|---|
//! | `select_prepared` | one row by its key, prepared statement |
//! | `select_simple` | the same as text with a literal |
//! | `tpcb_durable` | TPC-B's five statements between BEGIN and END, every commit on disk |
//!
//! The load is pgbench where there is one, and a driver of our own otherwise; it comes through a Unix socket, as pgbench's
//! does by itself, or through TCP. A peer gets the same load in the same run, turn by turn, so that what else the machine does
//! meets both. `idle_sessions_bytes` is what a thousand sessions take that have run one query and wait. W1. After the load the
//! sums of all balances must equal the sum of the history (B3).

mod idle;
mod load;
mod server;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use verso_env::Env;

use crate::BenchError;
use crate::calibration::calibrate;
use crate::folder::WorkFolder;
use crate::results::Calibration;
pub(crate) use load::{Driven, TpcB};
use load::{Load, Workload};
pub(crate) use server::RunningServer;
pub use server::Transport;

/// Options of `verso bench wire`.
#[derive(Debug, clap::Args)]
pub struct WireOptions {
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// A peer as NAME=DSN, such as postgres=postgresql://localhost/bench; its pgbench tables are made anew
    #[arg(long, value_name = "NAME=DSN")]
    pub peers: Vec<String>,
    /// Clients at a time
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_value = "1,4,16,64")]
    pub clients: Vec<u32>,
    /// Seconds of each measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub seconds: u64,
    /// Measurements of each figure; the median counts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub runs: u32,
    /// pgbench's scale: 100,000 accounts each
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub scale: u32,
    /// Only these workloads
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub only: Vec<String>,
    /// How Verso is reached; a peer's DSN says how the peer is
    #[arg(long, value_enum, default_value_t = Transport::Unix)]
    pub transport: Transport,
    /// Bytes of Verso's buffer pool
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub pool_bytes: u64,
    /// Do not use pgbench even if there is one
    #[arg(long)]
    pub own_driver: bool,
    /// Where the database is made
    #[arg(long, value_name = "DIRECTORY")]
    pub folder: Option<PathBuf>,
}

/// Transactions a second by the number of clients.
type Rates = BTreeMap<u32, f64>;

/// Figures of one server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct WireFigures {
    select_prepared: Rates,
    select_simple: Rates,
    tpcb_durable: Rates,
}

#[derive(Debug, Serialize)]
struct WireReport {
    calibration: Calibration,
    load: &'static str,
    scale: u32,
    seconds: u64,
    runs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_sessions_bytes: Option<u64>,
    #[serde(flatten)]
    verso: WireFigures,
    #[serde(flatten)]
    peers: BTreeMap<String, WireFigures>,
}

/// Runs the benchmark, prints its table and writes its JSON.
///
/// # Errors
/// A server that does not start, a load that fails, sums that differ.
pub fn run(options: &WireOptions) -> Result<(), BenchError> {
    let env = Env::real();
    crate::results::check_outputs(options.json.as_ref(), None)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibrate(&env, folder.path())?;
    let load = Load::choose(options.own_driver);
    let server = RunningServer::start(folder.path(), options.pool_bytes, options.transport)?;
    let mut targets = vec![Target::new("verso", server.dsn(options.transport))];
    for peer in &options.peers {
        let (name, dsn) = crate::peers::named(peer)?;
        targets.push(Target::new(name, dsn.to_owned()));
    }
    let idle_sessions_bytes = idle::measure(&server)?;
    if let Some(bytes) = idle_sessions_bytes {
        eprintln!("verso: {} idle sessions take {:.1} MB", idle::SESSIONS, bytes as f64 / 1e6);
    }
    measure(&env, load, options, &mut targets)?;
    server.stop()?;
    let mut targets = targets.into_iter();
    let verso = targets.next().map(|target| target.figures).unwrap_or_default();
    let peers: BTreeMap<String, WireFigures> = targets.map(|target| (target.name, target.figures)).collect();
    print_table(&verso, &peers);
    let report = WireReport {
        calibration,
        load: load.name(),
        scale: options.scale,
        seconds: options.seconds,
        runs: options.runs.max(1),
        idle_sessions_bytes,
        verso,
        peers,
    };
    if let Some(path) = &options.json {
        let json =
            serde_json::to_string_pretty(&report).map_err(|error| BenchError::Usage(error.to_string()))?;
        std::fs::write(path, json).map_err(BenchError::file(path))?;
    }
    Ok(())
}

/// A server under load.
struct Target {
    name: String,
    dsn: String,
    figures: WireFigures,
}

impl Target {
    fn new(name: &str, dsn: String) -> Target {
        Target { name: name.to_owned(), dsn, figures: WireFigures::default() }
    }
}

/// All workloads on all servers, in turns.
fn measure(env: &Env, load: Load, options: &WireOptions, targets: &mut [Target]) -> Result<(), BenchError> {
    for target in &*targets {
        eprintln!("{}: preparing, scale {}", target.name, options.scale);
        load.prepare(&target.dsn, options.scale)?;
    }
    let duration = Duration::from_secs(options.seconds);
    for workload in Workload::ALL {
        if !options.only.is_empty() && !options.only.iter().any(|only| only == workload.name()) {
            continue;
        }
        for clients in &options.clients {
            let mut rates = vec![Vec::new(); targets.len()];
            for _ in 0..options.runs.max(1) {
                for (target, rates) in targets.iter().zip(&mut rates) {
                    rates.push(load.run(env, &target.dsn, workload, *clients, duration, options.scale)?);
                }
            }
            for (target, rates) in targets.iter_mut().zip(&mut rates) {
                let rate = median(rates);
                eprintln!(
                    "{}: {} with {clients} clients: {rate:.0} transactions/s",
                    target.name,
                    workload.name()
                );
                let figures = match workload {
                    Workload::SelectPrepared => &mut target.figures.select_prepared,
                    Workload::SelectSimple => &mut target.figures.select_simple,
                    Workload::TpcbDurable => &mut target.figures.tpcb_durable,
                };
                figures.insert(*clients, rate.round());
            }
        }
    }
    targets.iter().try_for_each(|target| load::check_sums(&target.dsn))
}

/// The middle one; of an even number, the mean of the two.
fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    match (rates.len(), rates.len() / 2) {
        (0, _) => 0.0,
        (count, middle) if count.is_multiple_of(2) => (rates[middle - 1] + rates[middle]) / 2.0,
        (_, middle) => rates[middle],
    }
}

fn print_table(verso: &WireFigures, peers: &BTreeMap<String, WireFigures>) {
    let servers =
        std::iter::once(("verso", verso)).chain(peers.iter().map(|(name, figures)| (name.as_str(), figures)));
    println!(
        "{:<12} {:<16} {:>8} {:>14} {:>8}",
        "server", "workload", "clients", "transactions/s", "to peer"
    );
    let first_peer = peers.values().next();
    for (name, figures) in servers {
        for (workload, rates, of_peer) in [
            ("select_prepared", &figures.select_prepared, first_peer.map(|peer| &peer.select_prepared)),
            ("select_simple", &figures.select_simple, first_peer.map(|peer| &peer.select_simple)),
            ("tpcb_durable", &figures.tpcb_durable, first_peer.map(|peer| &peer.tpcb_durable)),
        ] {
            for (clients, rate) in rates {
                let ratio = of_peer.and_then(|peer| peer.get(clients)).filter(|peer| **peer > 0.0);
                let ratio = ratio.map(|peer| format!("{:.2}x", rate / peer)).unwrap_or_default();
                println!("{name:<12} {workload:<16} {clients:>8} {rate:>14.0} {ratio:>8}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(super::median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(super::median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
