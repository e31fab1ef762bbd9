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
mod plot;
mod postgres;
mod run;
mod sqlite;
mod subject;
mod table;
mod verso;

pub use options::E1Options;
pub(crate) use postgres::reachable;
pub use run::run;
pub(crate) use table::grouped;

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

/// Makes the engine's database.
pub(crate) fn create(task: &ChildTask) -> Result<(), BenchError> {
    match task.engine {
        Engine::Verso => verso::create(task),
        Engine::Sqlite => sqlite::create(task),
        Engine::Duckdb => duckdb::create(task),
        Engine::Postgres => postgres::create(task),
    }
}

/// Measures one variant on the engine's database.
pub(crate) fn measure(env: &Env, task: &ChildTask, variant: Variant) -> Result<Measured, BenchError> {
    match task.engine {
        Engine::Verso => measure::measure(env, &mut verso::Verso::open(task)?, task, variant),
        Engine::Sqlite => measure::measure(env, &mut sqlite::Sqlite::open(task)?, task, variant),
        Engine::Duckdb => {
            measure::measure(env, &mut crate::peers::duckdb::Duckdb::open(&task.database)?, task, variant)
        }
        Engine::Postgres => measure::measure(env, &mut postgres::Postgres::open(task)?, task, variant),
    }
}

#[cfg(test)]
mod tests;
