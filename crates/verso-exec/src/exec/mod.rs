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
//! S3. Memory: one batch per operator, of at most [`BATCH_ROWS`] rows and of [`BATCH_BYTES`] unless one row alone is larger
//!     ([`metered`] charges it); sorts, groups, DISTINCT, joins and spools charge what they hold, and are refused beyond the
//!     session's work memory, or the limits of [`memory`](crate::memory) (53200).

mod access;
mod aggregate;
mod apply;
mod aside;
mod beside;
mod change;
mod changed;
mod check;
mod combine;
mod computed;
mod conflict;
mod context;
mod current;
mod direct;
mod distinct;
mod drawing;
mod drawn;
mod filter;
mod foreign;
mod found;
mod function_rows;
mod gate;
mod group;
mod held;
mod insert;
mod join;
mod key;
mod keys;
mod late;
mod lock;
mod memo;
mod merge;
mod metered;
mod operator;
mod order;
mod overflow;
mod pages;
mod parallel;
mod passes;
mod past;
mod permitted;
mod pipeline;
mod probe;
mod prune;
mod recheck;
mod route;
mod scan;
mod set_operation;
mod set_project;
mod shown_values;
mod sift;
mod sort;
mod source;
mod statement;
mod stepwise;
mod subquery;
mod system;
mod tables;
#[cfg(test)]
mod tests;
mod trigger;
mod turns;
mod used;
mod values;
mod window;
mod with;

pub use access::{Gathering, reads_whole};
pub use changed::{ChangedByTriggers, ChangedRecords};
pub use computed::Computed;
pub use context::{ExecContext, ExternalRows};
pub(crate) use context::{InUse, denied};
pub use foreign::{
    check_deferred_key, check_foreign_key, check_not_referenced, keep_others, key_bytes, key_columns_read,
    rules_over, set_generated,
};
pub use found::FoundRecords;
pub(crate) use function_rows::cast_row;
pub(crate) use keys::hash as hash_of_bytes;
pub(crate) use lock::record_of;
pub use permitted::check_rights;
pub use probe::{Measured, Probes};
pub use prune::{prune, values_in_array};
pub use statement::{Compiled, Sink, execute};
pub use tables::{
    Change, ChangeCursor, HeldStatement, IndexReader, KeyOf, LockRows, Moment, References, Reserve,
    Reserving, Scan, Sequences, TableCursor, Tables, TestOfEnds, TransactionControl, TransactionState,
};
pub(crate) use trigger::TriggerCall;
pub use trigger::{
    DeferredEvent, Transitions, TriggerEvent, fire_deferred, fire_statement, triggers_change_rows,
    triggers_read_rows,
};
pub(crate) use used::{StatementUses, expr_uses};
pub use used::{Use, UsedTables, tables_used};
pub(crate) use window::in_range;

/// Rows of a batch where an operator chooses.
pub(crate) const BATCH_ROWS: usize = 1024;
/// Bytes of variable length in a batch beyond which an operator adds no further row.
pub(crate) const BATCH_BYTES: usize = 2 << 20;
/// What a batch keeps of its memory from one use to the next.
pub(crate) const KEEP_BYTES: usize = 4 << 20;
