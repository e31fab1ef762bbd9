//! SQL text to answers: parser, binder, planner, sessions, SQLSTATEs
//!
//! ```text
//! text ─► parse ─► syntax ─► bind, rewrite ─► verso_row::plan ─► session ─► verso_row executors ─► batches
//! ```
#![forbid(unsafe_code)]

pub mod bind;
pub mod copy;
pub mod errors;
pub mod parse;
pub mod plan;
mod rewrite;
pub mod scram;
pub mod session;
pub mod syntax;

pub use errors::SqlError;
pub use parse::{Open, Piece, fuzz_parse, split_statements};
pub use verso_catalog::Role;

pub use session::{
    CancelHandle, CommandTag, CopyLayout, Identity, Instance, Notice, OutputColumn, Portal, PortalEnd,
    Prepared, Session, StatementSink, StatementStatistics, TransactionStatus,
};
