//! E1 on small tables, without child processes: every engine that is here gives verified figures.

use verso_env::Env;

use super::*;
use crate::child::Step;

fn task(engine: Engine, folder: &std::path::Path) -> ChildTask {
    ChildTask {
        engine,
        database: folder.join(format!("e1.{}", engine.name())),
        rows: 2_000,
        passes: 3,
        page_size: 16 * 1024,
        pool_bytes: 64 << 20,
        step: Step::Create,
    }
}

fn measure(engine: Engine, variant: Variant) -> Measured {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let task = task(engine, folder.path());
    create(&task).expect("created");
    super::measure(&Env::real(), &task, variant).expect("measured and verified")
}

#[test]
fn sqlite_commits_three_verified_passes() {
    let measured = measure(Engine::Sqlite, Variant::Default);
    assert_eq!(measured.pass_ms.len(), 3);
    assert!(measured.commit_ms.is_some() && measured.rollback_ms.is_none());
}

#[test]
fn sqlite_rolls_back_to_verified_values() {
    let measured = measure(Engine::Sqlite, Variant::Rollback);
    assert!(measured.rollback_ms.is_some() && measured.commit_ms.is_none());
}

#[test]
fn a_wrong_value_fails_the_run() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let task = task(Engine::Sqlite, folder.path());
    create(&task).expect("created");
    let connection = rusqlite::Connection::open(&task.database).expect("opens");
    connection.execute("UPDATE test SET notes = CAST('other' AS BLOB) WHERE cnt = 77", []).expect("changed");
    drop(connection);
    let error = super::measure(&Env::real(), &task, Variant::Default).expect_err("a wrong value is an error");
    assert!(matches!(error, BenchError::Wrong { engine: "sqlite", .. }), "{error}");
}

#[test]
fn duckdb_where_it_is_here_gives_verified_figures() {
    if !crate::peers::duckdb::is_here() {
        println!("skipped: DuckDB is not here");
        return;
    }
    assert_eq!(measure(Engine::Duckdb, Variant::Default).pass_ms.len(), 3);
}
