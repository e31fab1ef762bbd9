//! TPC-C: an order system of warehouses, districts and customers, under the load of terminals.
//!
//! The tables, their rows and the five transactions are those of the specification (TPC-C, revision 5.11); terminals neither type nor think
//! unless asked to, so the rate is bound by the database and not by people. New orders that are rolled back on purpose do not
//! count. The same transactions run over the wire on any server of PostgreSQL's protocol, and on the library in this process.
//!
//! | module | what it is |
//! |---|---|
//! | [`schema`] | tables, keys, indexes |
//! | [`random`] | random values as the specification draws them |
//! | [`rows`] | what the tables begin with |
//! | [`load`] | fills them |
//! | [`session`] | what a transaction asks of a database; its statements |
//! | [`wire`], [`embedded`] | the two ways to one |
//! | [`transactions`] | the five transactions |
//! | [`procedures`] | the same as procedures |
//! | [`drive`] | terminals |
//! | [`holder`] | a reader who holds a snapshot meanwhile |
//! | [`conditions`] | the twelve consistency conditions |
//! | [`figures`] | rates and response times |
//!
//! C1. After the load the twelve conditions hold (B3), or nothing that was measured counts.

mod conditions;
mod drive;
mod embedded;
mod figures;
mod holder;
mod load;
mod procedures;
mod random;
mod rows;
mod schema;
mod session;
#[cfg(test)]
mod tests;
mod transactions;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use verso_env::Env;
use versodb::{Database, Options};

use crate::BenchError;
use crate::calibration::calibrate;
use crate::folder::WorkFolder;
use crate::peers::check_reachable;
use crate::results::{Calibration, check_writable, write_json};
use crate::wire::{RunningServer, Transport};
pub(crate) use drive::{Load, drive};
pub(crate) use embedded::Embedded;
pub use figures::TpccFigures;
pub(crate) use figures::percentile;
use holder::Holder;
pub(crate) use load::load;
pub(crate) use session::{Console, Target};
pub(crate) use wire::Server;

/// 2000-01-01 in microseconds since 1970.
const MICROS_2000: i64 = 946_684_800_000_000;

/// Options of `verso bench tpcc`.
#[derive(Debug, clap::Args)]
pub struct TpccOptions {
    /// Warehouses: 100 MB each
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub warehouses: u32,
    /// Terminals at a time
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub connections: u32,
    /// Seconds that count
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Seconds before them
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    pub warm_up: u64,
    /// "embedded" for the library in this process, HOST:PORT or a DSN for a server that runs; without it a server is started
    #[arg(long, value_name = "HOST:PORT")]
    pub addr: Option<String>,
    /// A peer as NAME=DSN, such as postgres=postgresql://localhost/bench; its TPC-C tables are made anew
    #[arg(long, value_name = "NAME=DSN")]
    pub peers: Vec<String>,
    /// Each transaction is one CALL of a PL/pgSQL procedure, instead of a statement at a time
    #[arg(long)]
    pub procedures: bool,
    /// Terminals type and think as long as the specification has it
    #[arg(long)]
    pub think: bool,
    /// A reader holds one snapshot while the load runs; what that costs is shown
    #[arg(long)]
    pub hold_snapshot: bool,
    /// The tables are there already
    #[arg(long)]
    pub no_load: bool,
    /// Threads that fill the tables
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub load_workers: u32,
    /// Random values are a function of it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Bytes of Verso's buffer pool
    #[arg(long, value_name = "BYTES", default_value_t = 2 << 30, value_parser = clap::value_parser!(u64).range(1 << 20..))]
    pub pool_bytes: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the database is made
    #[arg(long, value_name = "DIRECTORY")]
    pub folder: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct TpccReport {
    calibration: Calibration,
    /// Whose the figures beside the peers are: not always Verso's, where an address was given.
    engine: String,
    #[serde(flatten)]
    verso: TpccFigures,
    #[serde(flatten)]
    peers: BTreeMap<String, TpccFigures>,
}

/// Runs the benchmark, prints its table and writes its JSON.
///
/// # Errors
/// A server that does not start, a transaction that fails, a condition that does not hold.
pub fn run(options: &TpccOptions) -> Result<(), BenchError> {
    if options.warehouses == 0 || options.connections == 0 {
        return Err(BenchError::Usage("there must be a warehouse and a connection".to_owned()));
    }
    if options.addr.is_none() {
        RunningServer::check_connections(options.connections)?;
    }
    check_writable(options.json.as_ref())?;
    check_reachable(&options.peers)?;
    let env = Env::real();
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibrate(&env, folder.path())?;
    let mut engine = "verso".to_owned();
    let verso = match options.addr.as_deref() {
        Some("embedded") => {
            let pool = Options::new().buffer_pool(options.pool_bytes);
            let database = Database::create(folder.path().join("tpcc.verso"), pool)
                .map_err(BenchError::engine("verso"))?;
            let target = Embedded::new(database);
            let figures = measure(&env, &target, options)?;
            target.close()?;
            figures
        }
        Some(address) => {
            let target = Server::new("server", dsn_of(address)?, None);
            engine = engine_of(&target.console()?.row("SELECT version()")?.join(" "));
            measure(&env, &target, options)?
        }
        None => {
            let (folder, connections) = (folder.path(), options.connections);
            let server = RunningServer::start_for(folder, options.pool_bytes, Transport::Unix, connections)?;
            let target = Server::new("verso", server.dsn(Transport::Unix), Some(server.process()));
            let figures = measure(&env, &target, options)?;
            server.stop()?;
            figures
        }
    };
    let mut peers = BTreeMap::new();
    for peer in &options.peers {
        let (name, dsn) = crate::peers::named(peer)?;
        let target = Server::new(name, dsn.to_owned(), None);
        peers.insert(name.to_owned(), measure(&env, &target, options)?);
    }
    print_table((&engine, &verso), &peers);
    let report = TpccReport { calibration, engine, verso, peers };
    options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
}

/// The engine of a server, from what it says of its version.
fn engine_of(version: &str) -> String {
    match version.to_ascii_lowercase() {
        version if version.contains("verso") => "verso".to_owned(),
        version => version.split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// `HOST:PORT` as a DSN; what has an equals sign or a scheme is one.
pub(crate) fn dsn_of(address: &str) -> Result<String, BenchError> {
    if address.contains('=') || address.contains("://") {
        return Ok(address.to_owned());
    }
    let wrong = || BenchError::Usage(format!("\"{address}\" is neither embedded nor HOST:PORT nor a DSN"));
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    Ok(format!("host={host} port={port} user=verso dbname=verso"))
}

/// Fills a target's tables, runs the load and looks at the twelve conditions (C1).
fn measure<T: Target>(env: &Env, target: &T, options: &TpccOptions) -> Result<TpccFigures, BenchError> {
    let load_s = match options.no_load {
        true => {
            check_warehouses(target, options.warehouses)?;
            None
        }
        false => Some(load(env, target, options.warehouses, options.load_workers, options.seed)?),
    };
    if options.procedures {
        let mut console = target.console()?;
        procedures::CREATE.iter().try_for_each(|text| console.row(text).map(drop))?;
    }
    let load = Load {
        warehouses: options.warehouses,
        connections: options.connections,
        warm_up: Duration::from_secs(options.warm_up),
        duration: Duration::from_secs(options.seconds),
        think: options.think,
        procedures: options.procedures,
        seed: options.seed.wrapping_add(1),
    };
    let holder = options.hold_snapshot.then(|| Holder::begin(target)).transpose()?;
    let notes = drive(env, target, &load)?;
    let held = holder.map(Holder::end).transpose()?;
    if let Some(error) = &notes.first_error {
        eprintln!("{}: {} transactions failed, the first with {error}", target.name(), notes.errors);
    }
    check(target)?;
    let mut figures = TpccFigures::new(notes);
    (figures.warehouses, figures.connections) = (options.warehouses, options.connections);
    (figures.load_s, figures.consistent, figures.held) = (load_s, true, held);
    figures.procedures = options.procedures;
    Ok(figures)
}

/// Refuses more warehouses than the tables that are there have.
fn check_warehouses<T: Target>(target: &T, asked: u32) -> Result<(), BenchError> {
    let there = target.script("SELECT count(*) FROM warehouse")?.unwrap_or_default();
    if there < i64::from(asked) {
        let name = target.name();
        return Err(BenchError::Usage(format!("{name}: the tables have {there} warehouses, not {asked}")));
    }
    Ok(())
}

/// C1.
pub(crate) fn check<T: Target>(target: &T) -> Result<(), BenchError> {
    let mut broken = Vec::new();
    for (number, query) in conditions::CONDITIONS {
        match target.script(query)? {
            Some(0) => {}
            Some(1) => broken.push(format!("condition {number} is broken once")),
            Some(times) => broken.push(format!("condition {number} is broken {times} times")),
            None => broken.push(format!("condition {number} has no answer")),
        }
    }
    if broken.is_empty() {
        return Ok(());
    }
    let message = format!("{}: {}", target.name(), broken.join(", "));
    Err(BenchError::Wrong { engine: "tpcc", message })
}

fn print_table((engine, verso): (&str, &TpccFigures), peers: &BTreeMap<String, TpccFigures>) {
    println!(
        "{:<12} {:>9} {:>9} {:>12} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8}",
        "",
        "load s",
        "tpmC",
        "all/min",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "p99.9 ms",
        "retries",
        "driver",
        "server"
    );
    let rows = || {
        let peers = peers.iter().map(|(name, figures)| (name.as_str(), figures));
        std::iter::once((engine, verso)).chain(peers)
    };
    for (name, figures) in rows() {
        let of = |times: &BTreeMap<&str, f64>| times.get("new_order").copied().unwrap_or_default();
        println!(
            "{:<12} {:>9} {:>9.0} {:>12.0} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>8} {:>8.1} {:>8}",
            name,
            figures.load_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}")),
            figures.tpmc,
            figures.total_per_min,
            of(&figures.p50_ms),
            of(&figures.p95_ms),
            of(&figures.p99_ms),
            of(&figures.p999_ms),
            figures.retries,
            figures.driver_cpu_s,
            figures.server_cpu_s.map_or_else(|| "-".to_owned(), |seconds| format!("{seconds:.1}")),
        );
    }
    for (name, figures) in rows() {
        if let Some(held) = &figures.held {
            println!("{}", held.line(name));
        }
    }
    if let Some(peer) = peers.values().next().filter(|peer| peer.tpmc > 0.0) {
        println!("{engine} to the first peer: {:.2}x", verso.tpmc / peer.tpmc);
    }
    println!(
        "Response times are those of new orders; \"driver\" and \"server\" are seconds of processor time."
    );
}
