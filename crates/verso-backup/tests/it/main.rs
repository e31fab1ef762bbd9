//! Backups of whole databases, and what becomes of them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod damage;
mod damaged_catalog;
mod ending;
mod meaning;
mod moving;
mod parquet;
mod part;
mod paths;
mod random;
mod references;
mod round_trip;
mod world;
