//! The latch.

#[path = "../../../../crates/verso-storage/src/buffer/latch.rs"]
#[allow(dead_code, reason = "the models use a part of it")]
#[allow(clippy::reversed_empty_ranges, reason = "here nobody spins")]
mod latch;
mod mapping;
pub mod models;
