//! Single rows by their key, one statement each: `verso bench point` and `verso bench insert`.
//!
//! ```sql
//! CREATE TABLE item (id bigint PRIMARY KEY, value bigint, name text);
//! SELECT value FROM item WHERE id = $1;
//! INSERT INTO item VALUES ($1, $2, $3);
//! UPDATE item SET value = value + 1 WHERE id = $1;
//! ```
//!
//! | figure | |
//! |---|---|
//! | `point_hot_us` | one lookup, prepared, each a transaction, among 10,000 keys: median of rounds of a hundred |
//! | `point_uniform_us` | the same among all keys |
//! | `insert_rows_per_s` | single-row inserts in ascending order, one transaction, its commit included |
//! | `update_rows_per_s` | single-row updates of random keys, one transaction, its commit included |
//! | `scaling_2_threads` | two threads against one: lookups among all keys, or inserts of different keys (median of five pairs), shared out in blocks |
//! | `processors_1_thread` | processors that the store keeps busy while one thread inserts: two on a machine of two get at most 2 divided by that |
//! | `snapshot_slowdown` | by how much a snapshot held all the time slows down updates of a hundred hot rows |
//!
//! Changes are measured from a checkpoint on, in every store. Every lookup's answer and the sums behind every change are
//! compared with what the formula gives.

mod driver;
mod run;
mod sqlite;
mod verso;

pub use run::{KeysOptions, run_insert, run_point};

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use verso_env::Env;

use crate::BenchError;

/// Which of the two workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Work {
    /// Lookups.
    Point,
    /// Inserts and updates.
    Insert,
}

/// Who does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Store {
    /// Ours.
    Verso,
    /// In the process, through rusqlite.
    Sqlite,
}

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Store::Verso => "verso",
            Store::Sqlite => "sqlite",
        }
    }
}

/// What a child process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KeysTask {
    /// The workload.
    pub work: Work,
    /// By whom.
    pub store: Store,
    /// The file to make.
    pub database: PathBuf,
    /// Rows of the table.
    pub rows: u64,
    /// Lookups of each kind.
    pub reads: u64,
    /// Seconds of the hot updates, with and without a snapshot; 0 leaves them out.
    pub snapshot_seconds: u64,
    /// Bytes of the pool or cache.
    pub pool_bytes: u64,
}

/// What a child process found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KeysFigures {
    /// See [the module](self), here and below.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub point_hot_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[expect(missing_docs, reason = "as above")]
    pub point_uniform_us: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[expect(missing_docs, reason = "as above")]
    pub insert_rows_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[expect(missing_docs, reason = "as above")]
    pub update_rows_per_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[expect(missing_docs, reason = "as above")]
    pub scaling_2_threads: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[expect(missing_docs, reason = "as above")]
    pub processors_1_thread: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[expect(missing_docs, reason = "as above")]
    pub snapshot_slowdown: Option<f64>,
}

/// The child's side.
pub(crate) fn run_task(env: &Env, task: &KeysTask) -> Result<KeysFigures, BenchError> {
    match task.store {
        Store::Verso => driver::work(env, task, &verso::Verso::create(task)?),
        Store::Sqlite => driver::work(env, task, &sqlite::Sqlite::create(task)?),
    }
}

/// The value of a row.
fn value_of(id: u64) -> i64 {
    (id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40).cast_signed()
}

/// The name of a row.
fn name_of(id: u64) -> String {
    format!("item number {id}")
}
