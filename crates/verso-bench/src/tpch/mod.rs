//! TPC-H: 22 analytical queries over eight tables, with one worker and with all, beside peers.
//!
//!     tpchgen ─► appender ─► keys ─► ANALYZE ─► each query: runs with all workers, runs with one, its memory
//!             └► CSV ─► peers: the same
//!
//! H1. At scale factor 1 every answer of Verso's is compared with the published one; at others one worker's with all workers'. Peers'
//! answers are compared with Verso's at any.

mod peers;
mod plot;
mod queries;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod verso;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use verso_env::Env;

use crate::BenchError;
use crate::calibration::calibrate;
use crate::chart;
use crate::child::spawn_task;
use crate::folder::WorkFolder;
use crate::machine::Machine;
use crate::peers::{Peer, duckdb};
use crate::results::{Calibration, median, write_json};
pub(crate) use peers::{answer_of, fill_lineitem};
pub(crate) use queries::Answer;
use queries::{OF_PEER, PUBLISHED, comparable, compare, published};

/// Options of `verso bench tpch`.
#[derive(Clone, Debug, clap::Args)]
pub struct TpchOptions {
    /// Scale factor: 1 is a gigabyte of rows
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, value_parser = scale)]
    pub sf: f64,
    /// Runs of each query; the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,
    /// Only these queries, by their numbers
    #[arg(long, value_name = "NUMBERS", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=22))]
    pub queries: Vec<u8>,
    /// Engines beside Verso: duckdb, postgres=DSN
    #[arg(long, value_name = "PEER,…", value_delimiter = ',')]
    pub peers: Vec<Peer>,
    /// Memory of a sort or a hash table of Verso's, such as 16MB [default: work_mem's own]
    #[arg(long, value_name = "SIZE")]
    pub work_mem: Option<String>,
    /// Seconds that PostgreSQL may take for a query; one that takes longer counts as that long
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub limit: u64,
    /// Bytes of Verso's buffer pool; DuckDB may use twice as much
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30)]
    pub pool_bytes: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the times into this SVG file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Where the databases stand while measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

fn scale(text: &str) -> Result<f64, String> {
    let number: f64 = text.parse().map_err(|_| format!("\"{text}\" is not a number"))?;
    if (0.01..=100.0).contains(&number) { Ok(number) } else { Err("from 0.01 to 100".to_owned()) }
}

/// What a child process measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TpchTask {
    tpch: Subject,
    folder: PathBuf,
    scale: f64,
    runs: u32,
    /// Numbers of queries; empty for all.
    only: Vec<u8>,
    /// Seconds for a query of PostgreSQL's.
    limit: u64,
    pool_bytes: u64,
    work_mem: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Subject {
    Verso,
    Duckdb,
    Postgres(String),
}

impl TpchTask {
    fn is_asked(&self, number: usize) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| usize::from(*only) == number)
    }
}

/// Filling the tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Load {
    /// Seconds, with the keys.
    s: f64,
    /// Seconds until the rows were there.
    data_s: f64,
    /// Bytes of the database with its keys.
    bytes: Option<u64>,
}

/// One query.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Query {
    /// Milliseconds with all workers.
    ms: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ms_1_worker: Option<f64>,
    /// Given up after `--limit` seconds, which `ms` says: it takes longer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    over_limit: bool,
    /// Bytes that its operators held at most, added up.
    #[serde(skip_serializing_if = "Option::is_none")]
    mem_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spilled_bytes: Option<u64>,
}

/// What an engine's process has found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    load: Load,
    queries: BTreeMap<usize, Query>,
    answers: BTreeMap<usize, Answer>,
}

impl Found {
    /// The geometric mean of the queries' milliseconds.
    fn geomean(&self, ms: impl Fn(&Query) -> Option<f64>) -> f64 {
        let logarithms: Vec<f64> = self.queries.values().filter_map(ms).map(f64::ln).collect();
        (logarithms.iter().sum::<f64>() / logarithms.len().max(1) as f64).exp()
    }
}

/// The whole file.
#[derive(Debug, Serialize)]
struct Report {
    workload: &'static str,
    sf: f64,
    runs: u32,
    version: &'static str,
    machine: Machine,
    calibration: Calibration,
    load: Load,
    #[serde(flatten)]
    engines: BTreeMap<String, BTreeMap<String, Query>>,
    loads: BTreeMap<String, Load>,
    geomean: BTreeMap<String, f64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    skipped: BTreeMap<String, String>,
}

/// The child's side of a task.
pub(crate) fn run_task(env: &Env, task: &TpchTask) -> Result<serde_json::Value, BenchError> {
    let found = match &task.tpch {
        Subject::Verso => verso::run(env, task)?,
        Subject::Duckdb => peers::duckdb(env, task)?,
        Subject::Postgres(dsn) => peers::postgres(env, task, dsn)?,
    };
    serde_json::to_value(&found).map_err(|error| BenchError::Usage(error.to_string()))
}

/// Q1 and Q6: reports over all of lineitem.
pub(crate) fn report_queries(scale: f64) -> [String; 2] {
    let mut queries = queries::queries(scale);
    [queries.swap_remove(0), queries.swap_remove(5)]
}

/// Asks once, then as often as wanted: the median milliseconds, and the last answer.
fn millis_of(
    env: &Env,
    runs: u32,
    mut ask: impl FnMut() -> Result<Answer, BenchError>,
) -> Result<(Query, Answer), BenchError> {
    let mut answer = ask()?;
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = env.clock.monotonic_nanos();
        answer = ask()?;
        times.push((env.clock.monotonic_nanos() - start) as f64 / 1e6);
    }
    Ok((Query { ms: median(times), ..Query::default() }, answer))
}

/// Runs the workload and prints its table.
///
/// # Errors
/// What failed, and in which engine; a wrong answer is an error as well.
pub fn run(options: &TpchOptions) -> Result<(), BenchError> {
    let env = Env::real();
    crate::results::check_outputs(options.json.as_ref(), options.plot.as_ref())?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let work = WorkFolder::create(&parent, false)?;
    let calibration = calibrate(&env, work.path())?;
    let spawn = |tpch: Subject, title: &str| -> Result<Found, BenchError> {
        let task = TpchTask {
            tpch,
            folder: work.path().to_owned(),
            scale: options.sf,
            runs: options.runs,
            only: options.queries.clone(),
            limit: options.limit,
            pool_bytes: options.pool_bytes,
            work_mem: options.work_mem.clone(),
        };
        eprintln!("tpch: {title}");
        spawn_task(&task, title)
    };
    let verso = spawn(Subject::Verso, "verso")?;
    for (number, answer) in &verso.answers {
        if let Some(wanted) = published(*number, options.sf) {
            agree(*number, &wanted, &comparable(*number, answer), PUBLISHED)?;
        }
    }
    let mut engines = BTreeMap::from([("verso".to_owned(), verso)]);
    let mut skipped = BTreeMap::new();
    if !options.peers.is_empty() {
        eprintln!("tpch: writing files for the peers");
        peers::write_files(work.path(), options.sf)?;
    }
    for peer in &options.peers {
        let (name, subject) = match peer {
            Peer::Duckdb if !duckdb::is_here() => {
                skipped.insert("duckdb".to_owned(), "neither program nor Python package is here".to_owned());
                continue;
            }
            Peer::Firebird => {
                skipped.insert("firebird".to_owned(), "e4 measures it".to_owned());
                continue;
            }
            Peer::Duckdb => ("duckdb", Subject::Duckdb),
            Peer::Postgres(dsn) => ("postgres", Subject::Postgres(dsn.clone())),
        };
        let found = spawn(subject, name)?;
        for (number, answer) in &engines["verso"].answers {
            if let Some(its) = found.answers.get(number) {
                agree(*number, its, answer, OF_PEER)?;
            }
        }
        engines.insert(name.to_owned(), found);
    }
    let report = report(options, calibration, &engines, skipped);
    println!("{}", table::table(&report));
    if let Some(path) = &options.plot {
        chart::write(&[plot::times(&report)], path)?;
    }
    options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
}

fn agree(number: usize, wanted: &Answer, found: &Answer, share: f64) -> Result<(), BenchError> {
    compare(wanted, found, share).map_err(|message| BenchError::Wrong {
        engine: "verso",
        message: format!("query {number}: {message}"),
    })
}

fn report(
    options: &TpchOptions,
    calibration: Calibration,
    found: &BTreeMap<String, Found>,
    skipped: BTreeMap<String, String>,
) -> Report {
    let mut geomean = BTreeMap::new();
    for (name, engine) in found {
        geomean.insert(name.clone(), engine.geomean(|query| Some(query.ms)));
        geomean.insert(format!("{name}_1_worker"), engine.geomean(|query| query.ms_1_worker));
    }
    let numbered = |engine: &Found| {
        engine.queries.iter().map(|(number, query)| (format!("q{number}"), query.clone())).collect()
    };
    Report {
        workload: "tpch",
        sf: options.sf,
        runs: options.runs,
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::here(),
        calibration,
        load: found["verso"].load.clone(),
        engines: found.iter().map(|(name, engine)| (name.clone(), numbered(engine))).collect(),
        loads: found.iter().map(|(name, engine)| (name.clone(), engine.load.clone())).collect(),
        geomean,
        skipped,
    }
}
