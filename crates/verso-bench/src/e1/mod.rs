//! E1, the experiment of InterBase's NO SAVEPOINT: bulk updates of the same rows again and again in one transaction.
//!
//! ```sql
//! UPDATE test SET id = id + 1, qrt = qrt + 1, name = name || '1', ts_change = CURRENT_TIMESTAMP;
//! ```
//!
//! | variant | |
//! |---|---|
//! | `default` | five passes, COMMIT |
//! | `no_savepoint` | the same under NO SAVEPOINT |
//! | `savepoints` | a SAVEPOINT between the passes |
//! | `rollback` | five passes, ROLLBACK |
//! | `rollback_no_savepoint` | the same under NO SAVEPOINT |
//!
//! One driver ([`measure`]) takes every engine through the same steps; an engine is a [`subject::Subject`].

mod duckdb;
mod expected;
mod measure;
mod options;
mod postgres;
mod run;
mod sqlite;
mod subject;
mod table;
mod verso;

pub use options::E1Options;
pub use run::run;

use serde::{Deserialize, Serialize};
use verso_env::Env;

use crate::child::ChildTask;
use crate::{BenchError, Measured};

/// The engines that can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Engine {
    /// Ours.
    Verso,
    /// In this process, through rusqlite.
    Sqlite,
    /// A DuckDB found at run time.
    Duckdb,
    /// A server that runs already.
    Postgres,
}

impl Engine {
    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Verso => "verso",
            Engine::Sqlite => "sqlite",
            Engine::Duckdb => "duckdb",
            Engine::Postgres => "postgres",
        }
    }
}

/// How the passes run and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Variant {
    /// COMMIT at the end.
    Default,
    /// NO SAVEPOINT, COMMIT.
    NoSavepoint,
    /// A savepoint between the passes, COMMIT.
    Savepoints,
    /// ROLLBACK at the end.
    Rollback,
    /// NO SAVEPOINT, ROLLBACK.
    RollbackNoSavepoint,
}

impl Variant {
    /// In the order of the table.
    pub const ALL: [Variant; 5] = [
        Variant::Default,
        Variant::NoSavepoint,
        Variant::Savepoints,
        Variant::Rollback,
        Variant::RollbackNoSavepoint,
    ];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Default => "default",
            Variant::NoSavepoint => "no_savepoint",
            Variant::Savepoints => "savepoints",
            Variant::Rollback => "rollback",
            Variant::RollbackNoSavepoint => "rollback_no_savepoint",
        }
    }

    fn no_savepoint(self) -> bool {
        matches!(self, Variant::NoSavepoint | Variant::RollbackNoSavepoint)
    }

    fn rolls_back(self) -> bool {
        matches!(self, Variant::Rollback | Variant::RollbackNoSavepoint)
    }
}

/// One task of a child process: creates a database, or measures one variant on it.
pub(crate) fn run_task(env: &Env, task: &ChildTask) -> Result<Measured, BenchError> {
    match task.engine {
        Engine::Verso => task_on(env, task, verso::create, verso::Verso::open),
        Engine::Sqlite => task_on(env, task, sqlite::create, sqlite::Sqlite::open),
        Engine::Duckdb => task_on(env, task, duckdb::create, duckdb::Duckdb::open),
        Engine::Postgres => task_on(env, task, postgres::create, postgres::Postgres::open),
    }
}

fn task_on<S: subject::Subject>(
    env: &Env,
    task: &ChildTask,
    create: impl FnOnce(&ChildTask) -> Result<(), BenchError>,
    open: impl FnOnce(&ChildTask) -> Result<S, BenchError>,
) -> Result<Measured, BenchError> {
    match task.variant {
        None => create(task).map(|()| Measured::default()),
        Some(variant) => measure::measure(env, &mut open(task)?, task, variant),
    }
}

#[cfg(test)]
mod tests;
