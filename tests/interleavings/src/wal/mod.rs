//! Group commit.

pub mod models;
#[path = "../../../../crates/verso-storage/src/wal/turns.rs"]
mod turns;
