//! What unit tests begin with.

use tempfile::TempDir;
use verso_env::Env;

use crate::{Engine, EngineOptions};

/// An empty database with small pages, which does nothing by itself, and the folder that it goes away with.
pub(crate) fn small_engine() -> (TempDir, Engine) {
    let dir = tempfile::tempdir().expect("a folder");
    let options = EngineOptions {
        background: false,
        page_size: 4096,
        max_database_bytes: 1 << 30,
        ..EngineOptions::default()
    };
    let engine = Engine::create(Env::real(), &dir.path().join("t.verso"), options).expect("a database");
    (dir, engine)
}
