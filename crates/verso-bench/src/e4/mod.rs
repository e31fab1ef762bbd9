//! E4, the experiment of Firebird's parallel maintenance: an index over four million words, backup, restore, sweep, each with
//! several numbers of workers.
//!
//! | figure | |
//! |---|---|
//! | `index` | CREATE INDEX on the words of a table with a primary key |
//! | `backup` | `verso backup` of table, key and index, packed and not |
//! | `restore` | `verso restore` into a new database: the rows, and keys and indexes, apart |
//! | `collations` | an index of a collation built anew, as REINDEX COLLATIONS does with each |
//! | `sweep` | SWEEP after an update of all rows that was rolled back |
//!
//! Every value that was restored is compared with the formula that made it. What this build does with one worker only is
//! measured with one.

mod options;
mod peers;
mod plot;
mod sqlite;
mod table;
mod verso;
mod words;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use verso_env::Env;

use crate::BenchError;
use crate::chart;
use crate::child::spawn_task;
use crate::folder::WorkFolder;
use crate::peers::{Peer, duckdb};
use crate::results::write_json;
pub use options::E4Options;

/// What a child process measures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct E4Task {
    /// Which engine.
    e4: Subject,
    /// Where its files are made.
    folder: PathBuf,
    /// Words.
    rows: u64,
    /// Numbers of workers.
    workers: Vec<usize>,
    /// Bytes of the buffer pool.
    pool_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Subject {
    Verso,
    Sqlite,
    Duckdb,
    Firebird,
    /// A server, by its connection string.
    Postgres(String),
}

/// Seconds by the number of workers.
type ByWorkers = BTreeMap<usize, f64>;

/// What an engine's process has found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Found {
    /// Bytes of the database once it is swept and closed.
    bytes: u64,
    load_s: f64,
    index: ByWorkers,
    backup: BTreeMap<String, Backup>,
    restore: BTreeMap<usize, Restore>,
    sweep: ByWorkers,
    #[serde(default)]
    collations: ByWorkers,
    /// What it could not do here, and why.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    skipped: BTreeMap<String, String>,
}

/// Backups of one packing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Backup {
    #[serde(flatten, deserialize_with = "by_workers")]
    seconds: ByWorkers,
    bytes: u64,
}

/// Beside other fields the names of a JSON object stay texts.
fn by_workers<'de, D: Deserializer<'de>>(fields: D) -> Result<ByWorkers, D::Error> {
    let texts = BTreeMap::<String, f64>::deserialize(fields)?;
    let number = |(workers, s): (String, f64)| match workers.parse() {
        Ok(workers) => Ok((workers, s)),
        Err(error) => Err(D::Error::custom(error)),
    };
    texts.into_iter().map(number).collect()
}

/// A restore.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Restore {
    data_s: f64,
    index_s: f64,
    s: f64,
}

/// The whole file.
#[derive(Debug, Serialize)]
struct Report {
    workload: &'static str,
    rows: u64,
    version: &'static str,
    machine: crate::machine::Machine,
    #[serde(flatten)]
    verso: Found,
    peers: BTreeMap<&'static str, Found>,
    /// Peers that are not here, and why.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    skipped: BTreeMap<&'static str, String>,
}

/// The child's side of a task.
pub(crate) fn run_task(env: &Env, task: &E4Task) -> Result<serde_json::Value, BenchError> {
    let found = match &task.e4 {
        Subject::Verso => verso::run(env, task)?,
        Subject::Sqlite => sqlite::run(env, task)?,
        Subject::Duckdb => peers::duckdb::run(env, task)?,
        Subject::Firebird => peers::firebird::run(env, task)?,
        Subject::Postgres(dsn) => peers::postgres::run(env, task, dsn)?,
    };
    serde_json::to_value(&found).map_err(|error| BenchError::Usage(error.to_string()))
}

/// Runs the workload and prints its table.
///
/// # Errors
/// What failed, and in which engine; a wrong value in a restored table is an error as well.
pub fn run(options: &E4Options) -> Result<(), BenchError> {
    if options.workers.contains(&0) {
        return Err(BenchError::Usage("there must be a worker".to_owned()));
    }
    crate::results::check_outputs(options.json.as_ref(), options.plot.as_ref())?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let work = WorkFolder::create(&parent, false)?;
    let spawn = |e4: Subject, title: &str| -> Result<Found, BenchError> {
        let task = E4Task {
            e4,
            folder: work.path().to_owned(),
            rows: options.rows,
            workers: options.workers.clone(),
            pool_bytes: options.pool_bytes,
        };
        eprintln!("e4: {title}");
        spawn_task(&task, title)
    };
    let verso = spawn(Subject::Verso, "verso")?;
    let mut found = BTreeMap::from([("sqlite", spawn(Subject::Sqlite, "sqlite")?)]);
    let mut skipped = BTreeMap::new();
    for peer in &options.peers {
        let (name, here) = match peer {
            Peer::Duckdb => {
                let here = duckdb::is_here().then_some(Subject::Duckdb);
                (duckdb::NAME, here.ok_or_else(|| "neither program nor Python package is here".to_owned()))
            }
            Peer::Firebird => {
                (peers::firebird::NAME, peers::firebird::find(&Env::real()).map(|_| Subject::Firebird))
            }
            Peer::Postgres(dsn) => {
                let here = crate::e1::reachable(dsn).map(|()| Subject::Postgres(dsn.clone()));
                (peers::postgres::NAME, here.map_err(|error| error.to_string()))
            }
        };
        match here {
            Ok(subject) => {
                found.insert(name, spawn(subject, name)?);
            }
            Err(why) => {
                skipped.insert(name, why);
            }
        }
    }
    let report = Report {
        workload: "e4",
        rows: options.rows,
        version: env!("CARGO_PKG_VERSION"),
        machine: crate::machine::Machine::here(),
        verso,
        peers: found,
        skipped,
    };
    println!("{}", table::table(&report));
    if let Some(path) = &options.plot {
        chart::write(&[plot::speed_up(&report)], path)?;
    }
    options.json.as_ref().map_or(Ok(()), |path| write_json(&report, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the child process prints is what its parent reads.
    #[test]
    fn figures_come_back_from_json() {
        let backup = Backup { seconds: ByWorkers::from([(1, 0.5), (2, 0.25)]), bytes: 7 };
        let found = Found {
            index: ByWorkers::from([(1, 2.0)]),
            backup: BTreeMap::from([("lz4".to_owned(), backup)]),
            ..Found::default()
        };
        let json = serde_json::to_string(&found).expect("serialises");
        assert!(json.contains(r#""lz4":{"1":0.5,"2":0.25,"bytes":7}"#), "{json}");
        let back: Found = serde_json::from_str(&json).expect("reads back");
        assert_eq!(
            (back.index, back.backup["lz4"].seconds.clone()),
            (found.index, ByWorkers::from([(1, 0.5), (2, 0.25)]))
        );
    }
}
