//! Statements made ready: from text to a plan, kept for the next time.
//!
//! ```text
//! text ─► cache (normal form) ─► Prepared (a plan for a version of the catalog) ─► Ready (its operators)
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`cache`] | texts that were executed before |
//! | [`normal`] | texts without their literals |
//! | [`prepared`] | statements parsed and bound ahead of their execution |
//! | [`arguments`] | values for their parameters |
//! | [`ready`] | statements compiled for a session |
//! | [`effect`] | what a statement may do, told before it runs |
//! | [`job`] | one statement to be run, and how it ended |

mod arguments;
mod cache;
mod effect;
mod job;
mod normal;
mod prepared;
mod ready;

pub(crate) use cache::{OwnStatements, StatementCache};
pub(crate) use effect::{calls_users, changes, changes_schema, ends_transaction, only_changes};
pub(crate) use job::{Done, Job};
pub(crate) use prepared::Planned;
pub use prepared::Prepared;
pub(crate) use ready::{Ready, ReadyStatements};
