//! Sessions: statements in transactions, settings, results.

mod api;
mod settings;

pub use api::{CancelHandle, CommandTag, Notice, OutputColumn, StatementSink, StatementStatistics};
pub use settings::{SETTINGS, Settings};
