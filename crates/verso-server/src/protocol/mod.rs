//! PostgreSQL's protocol, version 3: bytes from and to messages; no I/O and no state.
//!
//! ```text
//! startup:   length i32 │ code i32 │ body           (no type byte: SSLRequest, CancelRequest, StartupMessage …)
//! after it:  type u8 │ length i32 │ body            (a length counts itself, not the type)
//! ```
//!
//! P1. No length, count or text of a client is trusted: what does not fit is a [`Malformed`], never a panic, and
//!     nothing is allocated by a count that the bytes behind it could not hold.
//! P2. A message has no bytes behind its last field.
//!
//! | module | what it is |
//! |---|---|
//! | [`frontend`] | what clients send |
//! | [`backend`] | what the server sends |
//! | [`conversion`] | messages in other encodings than UTF-8 |
//!
//! Source: PostgreSQL's documentation, "Frontend/Backend Protocol", versions 3.0 and 3.2.

pub mod backend;
pub mod conversion;
pub mod frontend;

use verso_session::errors::sqlstate;

/// Bytes that are no message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Malformed {
    /// What is wrong with them.
    pub what: String,
    /// 08P01, or 22021 for a text in no encoding that is known within a message as it should be.
    pub sqlstate: &'static str,
}

impl Malformed {
    /// An error that says `what`.
    #[cold]
    pub fn new(what: impl Into<String>) -> Malformed {
        Malformed { what: what.into(), sqlstate: sqlstate::PROTOCOL_VIOLATION }
    }

    /// Bytes that are no text.
    #[cold]
    pub fn text(error: verso_types::TypeError) -> Malformed {
        Malformed { what: error.message, sqlstate: error.sqlstate }
    }
}
