//! Why a text is not a statement.

use std::fmt;

use verso_env::stack::StackExhausted;
use verso_types::{TypeError, sqlstate};

/// What is wrong with a text, and where.
///
/// E1. A position counts characters from 1, in the text given to the parser.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The five-character code.
    pub sqlstate: &'static str,
    /// What is wrong, in one line.
    pub message: String,
    /// More about it.
    pub detail: Option<Box<str>>,
    /// What to do about it.
    pub hint: Option<Box<str>>,
    /// Where in the text, in characters from 1.
    pub position: Option<u32>,
    /// What it was found in, a line each, innermost first.
    pub context: Option<Box<str>>,
    /// The line of a body near which it was found; also where it has no place.
    pub line: Option<u32>,
}

impl SyntaxError {
    /// An error with a code and a message.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> SyntaxError {
        SyntaxError {
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            context: None,
            line: None,
        }
    }

    /// `0A000`: `what` is not supported.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> SyntaxError {
        SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// `42601` with PostgreSQL's wording.
    #[cold]
    pub fn syntax(message: impl Into<String>) -> SyntaxError {
        SyntaxError::new(sqlstate::SYNTAX_ERROR, message)
    }

    /// Points at a character, counted from 0; a position set before stays.
    pub fn at(mut self, offset: u32) -> SyntaxError {
        self.position.get_or_insert(offset + 1);
        self
    }

    /// Adds a detail.
    pub fn with_detail(mut self, detail: impl Into<Box<str>>) -> SyntaxError {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a hint.
    pub fn with_hint(mut self, hint: impl Into<Box<str>>) -> SyntaxError {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.sqlstate)
    }
}

impl std::error::Error for SyntaxError {}

impl From<TypeError> for SyntaxError {
    fn from(error: TypeError) -> SyntaxError {
        let TypeError { sqlstate, message, detail, hint } = error;
        SyntaxError {
            detail: detail.map(Into::into),
            hint: hint.map(Into::into),
            ..SyntaxError::new(sqlstate, message)
        }
    }
}

impl From<StackExhausted> for SyntaxError {
    fn from(error: StackExhausted) -> SyntaxError {
        SyntaxError::new(sqlstate::STATEMENT_TOO_COMPLEX, error.to_string()).with_hint(StackExhausted::HINT)
    }
}
