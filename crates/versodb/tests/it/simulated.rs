//! Small databases in a simulated world.

use std::path::PathBuf;

use verso_env::Env;
use verso_sim::World;
use verso_storage::EngineOptions;
use versodb::{Connection, Error, Options};

/// Options of a small database where nothing happens by itself.
pub(crate) fn options(env: &Env) -> Options {
    let engine = EngineOptions {
        page_size: 4096,
        buffer_pool_bytes: 2 << 20,
        max_database_bytes: 1 << 30,
        background: false,
        ..EngineOptions::default()
    };
    Options::new().engine(engine).env(env.clone()).auto_analyze(false)
}

/// Where it is.
pub(crate) fn path() -> PathBuf {
    World::dir().join("t.verso")
}

/// The number that a query yields.
pub(crate) fn number(connection: &mut Connection, sql: &str) -> Result<i64, Error> {
    connection.query(sql)?.into_rows()[0].get(0)
}
