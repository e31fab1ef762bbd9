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
//! | [`for_values`] | plans for the values of their parameters |
//! | [`named`] | those that have a name |
//! | [`arguments`] | values for their parameters |
//! | [`columns`] | columns of statements without a plan |
//! | [`ready`] | statements compiled for a session |
//! | [`effect`] | what a statement may do, told before it runs |
//! | [`job`] | one statement to be run, and how it ended |
//! | [`literals_read`] | the settings under which literals of prepared statements were read |

mod arguments;
mod cache;
mod columns;
mod effect;
mod for_values;
mod job;
mod literals_read;
mod named;
mod normal;
mod prepared;
mod ready;

pub(crate) use arguments::{arguments, read_arguments, takes, types_in};
pub(crate) use cache::{Known, OwnStatements, StatementCache};
pub(crate) use columns::{SHOW_ALL_COLUMNS, STATISTICS_COLUMNS, explain_columns, text_columns};
pub(crate) use effect::{
    Begins, calls_users, changes, changes_schema, changes_temporary, command, ends_transaction, in_read_only,
    is_plain, log_class, maintains,
};
pub(crate) use job::{Done, Identity, Job, Places};
pub(crate) use named::NamedStatements;
pub(crate) use prepared::Planned;
pub use prepared::Prepared;
pub(crate) use ready::{Ready, ReadyStatements};

/// What a session keeps of the statements that it has executed.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    /// By their texts.
    pub(crate) texts: OwnStatements,
    /// Compiled, by the number of the prepared one.
    pub(crate) ready: std::cell::RefCell<ReadyStatements>,
}
