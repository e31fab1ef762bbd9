//! What statements cost, statement by statement: the figures of `pg_stat_statements`.
//!
//! ```text
//! statement ends ─► figures of its session (a lock of its own) ─┬─ more than 32 statements ─┐
//!                                                               ├─ somebody reads the view ─┼─► figures of the database
//!                                                               └─ the session ends ────────┘
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`figures`] | calls, times, rows, pages and log of one statement |
//! | [`own`] | those of one session |
//! | [`table`] | those of the database, with the texts |
//! | [`rows`] | rows of the views, `pg_stat_statements_reset` |
//!
//! W1. A statement that its session has run before takes one lock that nobody else holds, and no memory.
//! W2. Whoever reads the view takes over what the sessions have counted first: no figure is missing in it.
//! W3. A text is kept once, when a session meets the statement, with parameters for its constants and without passwords.
//! W4. No more statements are kept than `pg_stat_statements.max` says, and no more than the memory of the database allows: those that
//!     were called least leave.
//! W5. A session locks its own figures before those of the database, and whoever reads never holds both.
//! W6. Whether the database has the extension is a flag, which CREATE EXTENSION sets and which follows the catalog whenever a
//!     session sees another version of it. While a transaction has created or dropped the extension that others do not see, and where
//!     it was rolled back until the catalog changes next, the flag may say either: figures are no part of transactions.

mod figures;
mod own;
mod rows;
mod table;

pub(crate) use figures::Run;
pub(crate) use own::OwnFigures;
pub(crate) use rows::{information, reset, statements};
pub(crate) use table::{MAX_USUAL, Tracked};

use verso_catalog::Oid;

/// Longer texts are cut.
pub(crate) const TEXT_BYTES_MAX: usize = 64 << 10;

/// Which statement: as its fingerprint numbers it, by whom, and whether a client sent it or a function ran it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) id: i64,
    pub(crate) role: Oid,
    pub(crate) is_top: bool,
}
