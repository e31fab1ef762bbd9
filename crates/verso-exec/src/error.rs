//! What can go wrong while a statement runs.

use std::sync::Arc;

use verso_catalog::CatalogError;
use verso_env::stack::StackExhausted;
use verso_storage::StorageError;
use verso_types::TypeError;

/// An error of the executors, grouped by what the session does next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ExecError {
    /// A value has no result; carries its SQLSTATE.
    #[error("{0}")]
    Type(#[from] TypeError),
    /// The storage engine refused; a conflict may be retried.
    #[error("{0}")]
    Storage(#[from] StorageError),
    /// The catalog refused.
    #[error("{0}")]
    Catalog(#[from] CatalogError),
    /// A row that a constraint forbids; carries its SQLSTATE.
    #[error("{}", .0.message)]
    Violation(Box<Violation>),
    /// A value that is none of a domain (23502, 23514).
    #[error("{}", .0.error)]
    Domain(Box<DomainViolation>),
    /// NULL for a column that does not take it (23502).
    #[error("null value in column \"{column}\" of relation \"{table}\" violates not-null constraint")]
    NotNull {
        /// The table's schema.
        schema: Arc<str>,
        /// The table.
        table: Arc<str>,
        /// The column.
        column: Arc<str>,
        /// The detail: the row, as PostgreSQL shows it, or as much of it as the role may see.
        row: Option<String>,
    },
    /// `RAISE EXCEPTION`, and the errors of the PL/pgSQL language itself.
    #[error("{}", .0.message)]
    Raised(Box<Raised>),
    /// The statement needs more memory than it may use (53200).
    #[error("out of memory: {what} needs more than {limit_bytes} bytes")]
    OutOfMemory {
        /// Which operator.
        what: &'static str,
        /// What may be used.
        limit_bytes: u64,
        /// The setting that says so.
        setting: &'static str,
    },
    /// The user or a timeout asked for an end (57014).
    #[error("canceling statement due to user request")]
    Cancelled,
    /// A plan or an expression is too deep for the stack (54001).
    #[error("stack depth limit exceeded")]
    TooDeep,
    /// Functions or triggers call each other too deeply (54001).
    #[error("stack depth limit exceeded")]
    CallsTooDeep,
    /// A sink of the caller failed; carries its message.
    #[error("{0}")]
    Sink(String),
    /// Any of the above, and what a function says that it is about.
    #[error("{error}")]
    About {
        /// The error itself.
        error: Box<ExecError>,
        /// What it is about.
        about: Box<About>,
    },
    /// Any of the above, and where in the text of a statement or expression of a function.
    #[error("{error}")]
    InQuery {
        /// The error itself.
        error: Box<ExecError>,
        /// The text.
        query: String,
        /// The place in it, in characters from 1.
        position: u32,
    },
    /// Any of the above, and where in which function it came up.
    #[error("{error}")]
    InFunction {
        /// The error itself.
        error: Box<ExecError>,
        /// The `CONTEXT` lines, innermost first.
        context: String,
    },
}

/// A constraint that is not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Five characters of class 23.
    pub sqlstate: &'static str,
    /// The message.
    pub message: String,
    /// The DETAIL line.
    pub detail: Option<String>,
    /// The table's schema.
    pub schema: Arc<str>,
    /// The table.
    pub table: Arc<str>,
    /// The constraint, or the unique index; none for what a partition is for.
    pub constraint: Option<Arc<str>>,
}

/// What a value breaks that was to be one of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainViolation {
    /// The error itself.
    pub error: TypeError,
    /// The domain's schema.
    pub schema: Arc<str>,
    /// The domain.
    pub domain: Arc<str>,
    /// The condition; none of a NULL.
    pub constraint: Option<Arc<str>>,
}

/// A raised error or notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raised {
    /// Five characters.
    pub sqlstate: Arc<str>,
    /// The message.
    pub message: String,
    /// The DETAIL line.
    pub detail: Option<String>,
    /// The HINT line.
    pub hint: Option<String>,
}

/// What RAISE … USING says that an error is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// COLUMN
    pub column: Option<String>,
    /// CONSTRAINT
    pub constraint: Option<String>,
    /// DATATYPE
    pub datatype: Option<String>,
    /// TABLE
    pub table: Option<String>,
    /// SCHEMA
    pub schema: Option<String>,
}

impl ExecError {
    /// A constraint of a table that is not fulfilled.
    #[cold]
    pub fn violation(
        sqlstate: &'static str,
        message: String,
        detail: Option<String>,
        table: &verso_catalog::TableDef,
        constraint: &Arc<str>,
    ) -> Self {
        Self::Violation(Box::new(Violation {
            sqlstate,
            message,
            detail,
            schema: Arc::clone(&table.schema),
            table: Arc::clone(&table.name),
            constraint: Some(Arc::clone(constraint)),
        }))
    }

    /// The same of a table that has no name for what is broken: which rows a partition is for.
    #[cold]
    pub fn of_table(
        sqlstate: &'static str,
        message: String,
        detail: Option<String>,
        table: &verso_catalog::TableDef,
    ) -> Self {
        let (schema, table) = (Arc::clone(&table.schema), Arc::clone(&table.name));
        Self::Violation(Box::new(Violation { sqlstate, message, detail, schema, table, constraint: None }))
    }

    /// The operating system has refused so many bytes.
    #[cold]
    pub fn no_memory(what: &'static str, bytes: u64) -> Self {
        Self::OutOfMemory { what, limit_bytes: bytes, setting: "memory_limit" }
    }

    /// A raised error without detail and hint.
    #[cold]
    pub fn raised(sqlstate: &str, message: impl Into<String>) -> Self {
        Self::Raised(Box::new(Raised {
            sqlstate: sqlstate.into(),
            message: message.into(),
            detail: None,
            hint: None,
        }))
    }

    /// Whether another try on a new snapshot may help.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        matches!(
            self.root(),
            ExecError::Storage(StorageError::Conflict { .. })
                | ExecError::Catalog(CatalogError::Storage(StorageError::Conflict { .. }))
        )
    }

    /// The error with a line of context more, behind those that it has.
    #[must_use]
    pub fn in_function(self, line: String) -> ExecError {
        match self {
            ExecError::InFunction { error, context } => {
                ExecError::InFunction { error, context: format!("{context}\n{line}") }
            }
            error => ExecError::InFunction { error: Box::new(error), context: line },
        }
    }

    /// The error with another one in the place of the error itself: its context stays.
    #[must_use]
    pub fn with_root(self, root: ExecError) -> ExecError {
        match self {
            ExecError::InFunction { error, context } => {
                ExecError::InFunction { error: Box::new(error.with_root(root)), context }
            }
            ExecError::InQuery { error, query, position } => {
                ExecError::InQuery { error: Box::new(error.with_root(root)), query, position }
            }
            ExecError::About { error, about } => {
                ExecError::About { error: Box::new(error.with_root(root)), about }
            }
            _ => root,
        }
    }

    /// The error itself, without the context of the functions it went through.
    #[must_use]
    pub fn root(&self) -> &ExecError {
        match self {
            ExecError::InFunction { error, .. }
            | ExecError::InQuery { error, .. }
            | ExecError::About { error, .. } => error.root(),
            other => other,
        }
    }
}

/// A result of this crate.
pub type Result<T, E = ExecError> = std::result::Result<T, E>;

impl From<StackExhausted> for ExecError {
    fn from(_: StackExhausted) -> ExecError {
        ExecError::TooDeep
    }
}
