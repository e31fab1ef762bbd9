//! Statements made runnable, and run.
//!
//! ```text
//! Statement ─► Compiled ─► Query:  operators, each yields batches of its input's batches
//!                      └─► Insert, Update, Delete: a cursor over the table, whole batches of changes
//! ```
//!
//! Both executors run the same operators; they differ in how expressions are evaluated over a batch
//! ([`ExprList`](crate::expr::ExprList)) and how aggregates are fed.
//!
//! S1. A bulk change evaluates and checks a whole batch before it changes anything of it, and reports the error
//!     that row order gives (F6). Undoing earlier batches is the statement frame's work.
//! S2. A statement that reads what it writes collects its rows first (T2): `Insert::spool`.
//! S3. Memory: one batch per operator, but for sorts, groups, DISTINCT, joins and spools, which are counted and refused
//!     beyond the session's work memory (53200).

mod access;
mod aggregate;
mod apply;
mod change;
mod check;
mod combine;
mod conflict;
mod context;
mod current;
mod direct;
mod distinct;
mod foreign;
mod insert;
mod join;
mod key;
mod lock;
mod operator;
mod pipeline;
mod semi;
mod set_project;
mod sort;
mod source;
mod spool;
mod statement;
mod subquery;
mod tables;
#[cfg(test)]
mod tests;
mod window;

pub use access::reads_whole;
pub use context::{ExecContext, ExternalRows};
pub use foreign::{check_deferred_key, check_foreign_key, checks_over, key_columns_read};
pub(crate) use source::cast_row;
pub(crate) use spool::Spool;
pub use statement::{Compiled, Sink, execute};
pub use tables::{
    Change, ChangeCursor, LockRows, References, Scan, Sequences, TableCursor, Tables, TransactionControl,
    TransactionState,
};

/// Rows of a batch where an operator chooses.
pub(crate) const BATCH_ROWS: usize = 1024;
