//! The errors a client sees, and the one place where SQLSTATEs are assigned.
//!
//! Lower crates describe what went wrong; here it becomes a five-character code as PostgreSQL's appendix A lists them,
//! with a position in the statement's text where there is one.
//!
//! E1. A position counts characters from 1, in the text given to `Session::execute`.
//! E2. An error made here always carries a SQLSTATE; `XX000` means a bug of ours.

//!
//! | module | what it is |
//! |---|---|
//! | [`sqlstate`] | the codes |
//! | [`lower`] | which of them the errors of lower crates get |

mod lower;
pub use verso_types::sqlstate;

use std::fmt;

use verso_parser::syntax::DatabaseName;

/// What a client is told about a statement that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// The five-character code.
    pub sqlstate: &'static str,
    /// What went wrong, in one line.
    pub message: String,
    /// More about it.
    pub detail: Option<Box<str>>,
    /// What to do about it.
    pub hint: Option<Box<str>>,
    /// Where in the text, in characters from 1.
    pub position: Option<u32>,
    /// Where in the text of a statement or expression of a function, and that text.
    pub internal: Option<Box<InQuery>>,
    /// Where in nested code: innermost first, one line each.
    pub context: Option<Box<str>>,
    /// What it is about; in a box, as few errors have it.
    pub subject: Option<Box<Subject>>,
}

/// A place in the text of a statement or expression that a function has run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InQuery {
    /// The text.
    pub query: String,
    /// The place, in characters from 1.
    pub position: u32,
}

/// The things an error is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The schema of the table; none is `public`.
    pub schema: Option<String>,
    /// The table.
    pub table: Option<String>,
    /// The column.
    pub column: Option<String>,
    /// The constraint.
    pub constraint: Option<String>,
    /// The type.
    pub datatype: Option<String>,
    /// The function of PostgreSQL's that reports it, where clients tell errors apart by that.
    pub routine: Option<&'static str>,
}

impl SqlError {
    /// An error with a code and a message.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> SqlError {
        SqlError {
            sqlstate,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            internal: None,
            context: None,
            subject: None,
        }
    }

    /// `0A000`: `what` is not supported.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
    }

    /// `0A000` for a name with a database that is not this one.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_databases(names: &[DatabaseName], own: &str) -> Result<(), SqlError> {
        let Some(other) = names.iter().find(|named| named.name != own) else { return Ok(()) };
        let text = format!("cross-database references are not implemented: {}", other.shown);
        Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(other.at))
    }

    /// `42601` with PostgreSQL's wording.
    #[cold]
    pub fn syntax(message: impl Into<String>) -> SqlError {
        SqlError::new(sqlstate::SYNTAX_ERROR, message)
    }

    /// A bug of ours, said politely.
    #[cold]
    pub fn internal(message: impl Into<String>) -> SqlError {
        SqlError::new(sqlstate::INTERNAL_ERROR, message)
    }

    /// Points at a character, counted from 0; a position set before stays.
    pub fn at(mut self, offset: u32) -> SqlError {
        self.position.get_or_insert(offset + 1);
        self
    }

    /// Adds a detail.
    pub fn with_detail(mut self, detail: impl Into<Box<str>>) -> SqlError {
        self.detail = Some(detail.into());
        self
    }

    /// Adds a hint.
    pub fn with_hint(mut self, hint: impl Into<Box<str>>) -> SqlError {
        self.hint = Some(hint.into());
        self
    }

    /// Names the table.
    pub fn with_table(mut self, table: impl Into<String>) -> SqlError {
        self.subject.get_or_insert_default().table = Some(table.into());
        self
    }

    /// Names the schema.
    pub fn with_schema(mut self, schema: impl Into<String>) -> SqlError {
        self.subject.get_or_insert_default().schema = Some(schema.into());
        self
    }

    /// Names the constraint.
    pub fn with_constraint(mut self, constraint: impl Into<String>) -> SqlError {
        self.subject.get_or_insert_default().constraint = Some(constraint.into());
        self
    }

    /// Names the column.
    pub fn with_column(mut self, column: impl Into<String>) -> SqlError {
        self.subject.get_or_insert_default().column = Some(column.into());
        self
    }

    /// Adds a line of context behind those there are.
    pub fn with_context(mut self, line: &str) -> SqlError {
        self.context = Some(match self.context.take() {
            Some(context) => format!("{context}\n{line}").into(),
            None => line.into(),
        });
        self
    }

    /// Its place is one in the text of a statement that a function has run.
    pub fn within(mut self, query: &str) -> SqlError {
        if let Some(position) = self.position.take() {
            self.internal = Some(Box::new(InQuery { query: query.to_owned(), position }));
        }
        self
    }

    /// The code's class: its first two characters.
    pub fn class(&self) -> &'static str {
        &self.sqlstate[..2]
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.sqlstate)
    }
}

impl std::error::Error for SqlError {}

/// What every change is told after an error in a NO SAVEPOINT transaction.
pub fn must_rollback() -> SqlError {
    SqlError::new(sqlstate::MUST_ROLLBACK, "the transaction must be rolled back: an earlier change failed")
        .with_detail("no savepoint")
        .with_hint("Queries still run; end the transaction with ROLLBACK.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_set_first_stays() {
        let error = SqlError::syntax("syntax error").at(4).at(9);
        assert_eq!(error.position, Some(5));
    }
}
