//! Short transactions and reports over a large table at once: what each costs the other.
//!
//!     TPC-B's transactions alone ─► Q1 and Q6 of TPC-H alone, one after the other ─► both at once
//!
//! A database that is good at one of them alone may be useless for both: reports that take every processor make transactions wait.
//! M1. Nobody changes the table of the reports, so each report gives the answer that it gave first; after the load TPC-B's sums are
//! equal (B3).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use postgres::{Client, NoTls};
use serde::Serialize;
use verso_env::Env;

use crate::BenchError;
use crate::calibration::calibrate;
use crate::folder::WorkFolder;
use crate::results::{Calibration, median, write_json};
use crate::tpcc::percentile;
use crate::tpch::{Answer, answer_of, fill_lineitem, report_queries};
use crate::wire::{Driven, RunningServer, TpcB, Transport};

/// Options of `verso bench mixed`.
#[derive(Clone, Debug, clap::Args)]
pub struct MixedOptions {
    /// TPC-H's scale factor: 1 is six million rows of lineitem
    #[arg(long, value_name = "NUMBER", default_value_t = 0.2)]
    pub sf: f64,
    /// pgbench's scale: 100,000 accounts each
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub scale: u32,
    /// Clients that run transactions; one more runs the reports
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub clients: u32,
    /// Seconds of each measurement
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub seconds: u64,
    /// A peer as NAME=DSN, such as postgres=postgresql://localhost/bench; its tables of the same names are made anew
    #[arg(long, value_name = "NAME=DSN")]
    pub peers: Vec<String>,
    /// Bytes of Verso's buffer pool
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 30)]
    pub pool_bytes: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the database is made
    #[arg(long, value_name = "DIRECTORY")]
    pub folder: Option<PathBuf>,
}

/// Transactions of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Transactions {
    /// Ended transactions a second.
    pub per_s: f64,
    /// Milliseconds that half of them do not exceed …
    pub p50_ms: f64,
    /// … and that one in a hundred does.
    pub p99_ms: f64,
}

/// Reports of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reports {
    /// Pairs of Q1 and Q6 a minute.
    pub per_min: f64,
    /// The median of Q1 in milliseconds.
    pub q1_ms: f64,
    /// The median of Q6 in milliseconds.
    pub q6_ms: f64,
}

/// Figures of one server.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MixedFigures {
    /// Transactions without reports.
    pub alone: Transactions,
    /// Transactions beside reports.
    pub together: Transactions,
    /// Reports without transactions.
    pub reports_alone: Reports,
    /// Reports beside transactions.
    pub reports_together: Reports,
    /// The share of their rate that transactions keep.
    pub kept: f64,
    /// How many times as long one in a hundred takes.
    pub p99_ratio: f64,
}

#[derive(Debug, Serialize)]
struct Report {
    workload: &'static str,
    sf: f64,
    scale: u32,
    clients: u32,
    seconds: u64,
    calibration: Calibration,
    verso: MixedFigures,
    #[serde(flatten)]
    peers: BTreeMap<String, MixedFigures>,
}

impl Transactions {
    fn new(driven: Driven) -> Transactions {
        let Driven { per_s, mut micros } = driven;
        micros.sort_unstable();
        Transactions { per_s, p50_ms: percentile(&micros, 0.5), p99_ms: percentile(&micros, 0.99) }
    }
}

/// Runs the benchmark, prints its table and writes its JSON.
///
/// # Errors
/// A server that does not start, a statement that fails, a report that says something else than before, sums that differ.
pub fn run(options: &MixedOptions) -> Result<(), BenchError> {
    if !(0.01..=100.0).contains(&options.sf) || options.scale == 0 || options.clients == 0 {
        return Err(BenchError::Usage(
            "--sf is from 0.01 to 100, and there must be accounts and clients".to_owned(),
        ));
    }
    let env = Env::real();
    crate::results::check_outputs(options.json.as_ref(), None)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibrate(&env, folder.path())?;
    let server = RunningServer::start(folder.path(), options.pool_bytes, Transport::Unix)?;
    let verso = measure(&env, "verso", &server.dsn(Transport::Unix), options)?;
    server.stop()?;
    let mut peers = BTreeMap::new();
    for peer in &options.peers {
        let (name, dsn) = crate::peers::named(peer)?;
        peers.insert(name.to_owned(), measure(&env, name, dsn, options)?);
    }
    let &MixedOptions { sf, scale, clients, seconds, .. } = options;
    let report = Report { workload: "mixed", sf, scale, clients, seconds, calibration, verso, peers };
    print_table(&report);
    options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
}

fn measure(env: &Env, name: &str, dsn: &str, options: &MixedOptions) -> Result<MixedFigures, BenchError> {
    eprintln!("{name}: preparing");
    let load = TpcB::prepare(dsn, options.scale)?;
    let mut analyst = connect(dsn)?;
    fill_lineitem(&mut analyst, options.sf)?;
    let mut reporter = Reporter::new(analyst, options.sf)?;
    let duration = Duration::from_secs(options.seconds);
    let transactions = || load.run(env, options.clients, duration).map(Transactions::new);
    eprintln!("{name}: transactions alone");
    let alone = transactions()?;
    eprintln!("{name}: reports alone");
    let over = AtomicBool::new(false);
    let reports_alone = std::thread::scope(|scope| {
        let reports = scope.spawn(|| reporter.run(env, &over));
        env.clock.sleep(duration);
        over.store(true, Ordering::Relaxed);
        joined(reports)
    })?;
    eprintln!("{name}: both");
    over.store(false, Ordering::Relaxed);
    let (together, reports_together) = std::thread::scope(|scope| {
        let reports = scope.spawn(|| reporter.run(env, &over));
        let together = transactions();
        over.store(true, Ordering::Relaxed);
        let reports = joined(reports);
        Ok::<_, BenchError>((together?, reports?))
    })?;
    load.check()?;
    let kept = together.per_s / alone.per_s.max(f64::MIN_POSITIVE);
    let p99_ratio = together.p99_ms / alone.p99_ms.max(f64::MIN_POSITIVE);
    Ok(MixedFigures { alone, together, reports_alone, reports_together, kept, p99_ratio })
}

fn connect(dsn: &str) -> Result<Client, BenchError> {
    Client::connect(dsn, NoTls).map_err(BenchError::engine("server"))
}

fn joined(
    reports: std::thread::ScopedJoinHandle<'_, Result<Reports, BenchError>>,
) -> Result<Reports, BenchError> {
    let panicked = |_| BenchError::Engine { engine: "driver", message: "the reports panicked".to_owned() };
    reports.join().map_err(panicked)?
}

/// Who runs the reports.
struct Reporter {
    client: Client,
    /// Q1 and Q6, each with its answer.
    queries: [(String, Answer); 2],
}

impl Reporter {
    fn new(mut client: Client, scale: f64) -> Result<Reporter, BenchError> {
        let [q1, q6] = report_queries(scale);
        let first = answer_of(&mut client, &q1)?;
        let second = answer_of(&mut client, &q6)?;
        Ok(Reporter { client, queries: [(q1, first), (q6, second)] })
    }

    /// Both, one after the other, until it is over.
    fn run(&mut self, env: &Env, over: &AtomicBool) -> Result<Reports, BenchError> {
        let begun = env.clock.monotonic_nanos();
        let mut times = [Vec::new(), Vec::new()];
        while !over.load(Ordering::Relaxed) {
            for ((sql, expected), times) in self.queries.iter().zip(&mut times) {
                let start = env.clock.monotonic_nanos();
                let answer = answer_of(&mut self.client, sql)?;
                times.push(env.clock.monotonic_nanos().saturating_sub(start) as f64 / 1e6);
                if answer != *expected {
                    let message = format!("{sql}: {answer:?} instead of {expected:?}");
                    return Err(BenchError::Wrong { engine: "server", message });
                }
            }
        }
        let minutes = env.clock.monotonic_nanos().saturating_sub(begun).max(1) as f64 / 60e9;
        let [q1, q6] = times;
        let per_min = q6.len() as f64 / minutes;
        Ok(Reports { per_min, q1_ms: median(q1), q6_ms: median(q6) })
    }
}

fn print_table(report: &Report) {
    println!(
        "{:<10} {:<10} {:>15} {:>8} {:>8} {:>12} {:>8} {:>8}",
        "", "", "transactions/s", "p50 ms", "p99 ms", "reports/min", "Q1 ms", "Q6 ms"
    );
    let peers = report.peers.iter().map(|(name, figures)| (name.as_str(), figures));
    for (name, figures) in std::iter::once(("verso", &report.verso)).chain(peers) {
        for (what, transactions, reports) in [
            ("alone", &figures.alone, &figures.reports_alone),
            ("together", &figures.together, &figures.reports_together),
        ] {
            println!(
                "{name:<10} {what:<10} {:>15.0} {:>8.2} {:>8.2} {:>12.1} {:>8.1} {:>8.1}",
                transactions.per_s,
                transactions.p50_ms,
                transactions.p99_ms,
                reports.per_min,
                reports.q1_ms,
                reports.q6_ms
            );
        }
        println!(
            "{name}: beside reports transactions keep {:.0} % of their rate; one in a hundred takes {:.1} times as long",
            figures.kept * 100.0,
            figures.p99_ratio
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let micros = (1..=200).rev().map(|at| at * 1000).collect();
        let found = Transactions::new(Driven { per_s: 7.0, micros });
        assert_eq!(found, Transactions { per_s: 7.0, p50_ms: 100.0, p99_ms: 198.0 });
        assert_eq!(Transactions::new(Driven::default()), Transactions::default());
    }
}
