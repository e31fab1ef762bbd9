//! The way to the client: what a session says, and how the rows of a statement get there.
//!
//! | module | what it is |
//! |---|---|
//! | [`api`] | what a session says: sinks, tags, notices, statistics |
//! | [`results`] | the way of a statement's rows to the client |
//! | [`talk`] | the client, as rows and messages reach it |
//! | [`sinks`] | rows that the session keeps, counts or drops itself |

mod api;
mod results;
mod sinks;
mod talk;

pub(crate) use api::tag;
pub use api::{CommandTag, CopyLayout, Notice, OutputColumn, StatementSink, StatementStatistics};
pub(crate) use results::{Results, Serialized};
pub(crate) use sinks::{Collect, Counted, Kept, Nowhere, PassOver};
pub(crate) use talk::{Client, Told};
