//! The library as its users see it, and the SQL files of `tests/slt`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod automatic;
mod collations;
mod commits;
mod compiled;
mod earlier_formats;
mod exclusion;
mod figures;
mod files;
mod full_disk;
mod guide;
mod held_comments;
mod held_definitions;
mod hidden_columns;
mod histories;
mod history;
mod isolation;
mod levers;
mod library;
mod lists;
mod logs;
mod newest_names;
mod online_index;
mod partitions;
mod peer;
#[path = "../../examples/quickstart.rs"]
#[allow(dead_code, reason = "its main is for those who run it")]
mod quickstart;
mod reservable;
#[path = "../../examples/shop.rs"]
#[allow(dead_code, reason = "its main is for those who run it")]
mod shop;
mod simulated;
mod sizes;
mod slt;
mod specs;
mod splits;
mod statements;
mod unlogged;
mod wide;

use tempfile::TempDir;
use versodb::{Database, Options};

/// A new database in a directory that goes away. What is known of its tables does not depend on time.
fn new_database() -> (TempDir, Database) {
    // whatever features the library is built with
    verso_parquet::provide();
    let directory = tempfile::tempdir().unwrap();
    let database =
        Database::create(directory.path().join("test.verso"), Options::new().auto_analyze(false)).unwrap();
    (directory, database)
}

#[test]
fn the_quickstart_runs() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(quickstart::run(&directory.path().join("quickstart.verso")).unwrap(), 32);
}
