//! Statements of random shape over random tables, whose answers are compared: between Verso and PostgreSQL
//! (`cargo xtask compare`), and between the ways in which Verso may run them (`verso-session`, `tests/it/generated.rs`).
//!
//! Everything follows from a seed. Answers are made not to depend on what SQL leaves open: LIMIT and windows stand behind an
//! order over all columns, arrays and texts that are collected have an order of their own, sums of floats are sums of halves.

pub mod aggregates;
pub mod expressions;
pub mod query;
pub mod random;
pub mod schema;
pub mod templates;
pub mod tree;
pub mod types;

pub use query::Writer;
pub use random::Random;
pub use schema::{Schema, Table};
pub use tree::Statement;
pub use types::Type;
