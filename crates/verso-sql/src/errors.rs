//! The errors a client sees, and the one place where SQLSTATEs are assigned.
//!
//! Lower crates describe what went wrong; here it becomes a five-character code as PostgreSQL's appendix A lists them,
//! with a position in the statement's text where there is one.
//!
//! E1. A position counts characters from 1, in the text given to `Session::execute`.
//! E2. An error made here always carries a SQLSTATE; `XX000` means a bug of ours.

use std::fmt;

use verso_catalog::{CatalogError, ObjectKind};
use verso_row::error::{ExecError, Raised, Violation};
use verso_storage::{StorageError, TxnId};
use verso_types::TypeError;

/// SQLSTATE codes this crate assigns, named as in PostgreSQL's errcodes list.
pub mod sqlstate {
    /// A clause or statement that Verso does not have.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// Not SQL.
    pub const SYNTAX_ERROR: &str = "42601";
    /// No such column.
    pub const UNDEFINED_COLUMN: &str = "42703";
    /// No such table or sequence.
    pub const UNDEFINED_TABLE: &str = "42P01";
    /// No such function or operator.
    pub const UNDEFINED_FUNCTION: &str = "42883";
    /// No such type, savepoint aside.
    pub const UNDEFINED_OBJECT: &str = "42704";
    /// No such parameter.
    pub const UNDEFINED_PARAMETER: &str = "42P02";
    /// A name that fits several columns.
    pub const AMBIGUOUS_COLUMN: &str = "42702";
    /// Several functions or operators fit equally well.
    pub const AMBIGUOUS_FUNCTION: &str = "42725";
    /// A parameter that is wanted in two types.
    pub const AMBIGUOUS_PARAMETER: &str = "42P08";
    /// A message of the protocol, or a number of parameters, that cannot be.
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    /// A cursor or portal that is not there, or not any more.
    pub const INVALID_CURSOR_NAME: &str = "34000";
    /// A cursor of that name is open.
    pub const DUPLICATE_CURSOR: &str = "42P03";
    /// A prepared statement that is not there.
    pub const INVALID_STATEMENT_NAME: &str = "26000";
    /// A prepared statement of that name is there already.
    pub const DUPLICATE_STATEMENT: &str = "42P05";
    /// An idle transaction was ended.
    pub const IDLE_IN_TRANSACTION_TIMEOUT: &str = "25P03";
    /// A transaction that took too long.
    pub const TRANSACTION_TIMEOUT: &str = "25P04";
    /// A column named twice.
    pub const DUPLICATE_COLUMN: &str = "42701";
    /// A table name used twice in FROM.
    pub const DUPLICATE_ALIAS: &str = "42712";
    /// The table exists already.
    pub const DUPLICATE_TABLE: &str = "42P07";
    /// The function exists already.
    pub const DUPLICATE_FUNCTION: &str = "42723";
    /// An expression of the wrong type.
    pub const DATATYPE_MISMATCH: &str = "42804";
    /// A parameter or literal whose type cannot be told.
    pub const INDETERMINATE_DATATYPE: &str = "42P18";
    /// A cast that does not exist.
    pub const CANNOT_COERCE: &str = "42846";
    /// A column outside GROUP BY or aggregates, an aggregate in the wrong place.
    pub const GROUPING_ERROR: &str = "42803";
    /// A reference to a table or column that may not be used here.
    pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
    /// The object is of another kind.
    pub const WRONG_OBJECT_TYPE: &str = "42809";
    /// Definition of a function that cannot be.
    pub const INVALID_FUNCTION_DEFINITION: &str = "42P13";
    /// No such schema.
    pub const INVALID_SCHEMA_NAME: &str = "3F000";
    /// A system object cannot be changed.
    pub const INSUFFICIENT_PRIVILEGE: &str = "42501";
    /// Nested too deeply.
    pub const STATEMENT_TOO_COMPLEX: &str = "54001";
    /// Too many columns.
    pub const TOO_MANY_COLUMNS: &str = "54011";
    /// A failed transaction accepts nothing but its end.
    pub const IN_FAILED_TRANSACTION: &str = "25P02";
    /// NO SAVEPOINT: after an error only reads and ROLLBACK.
    pub const MUST_ROLLBACK: &str = "25V01";
    /// A statement that must come first in its transaction.
    pub const ACTIVE_TRANSACTION: &str = "25001";
    /// Writing in a read-only transaction.
    pub const READ_ONLY_TRANSACTION: &str = "25006";
    /// A statement that needs a transaction block.
    pub const NO_ACTIVE_TRANSACTION: &str = "25P01";
    /// No such savepoint.
    pub const INVALID_SAVEPOINT: &str = "3B001";
    /// Another row has the same key.
    pub const UNIQUE_VIOLATION: &str = "23505";
    /// Another transaction changed the row first.
    pub const SERIALIZATION_FAILURE: &str = "40001";
    /// Transactions wait for each other.
    pub const DEADLOCK: &str = "40P01";
    /// Waited longer than `lock_timeout`.
    pub const LOCK_NOT_AVAILABLE: &str = "55P03";
    /// Cancelled by the user or by `statement_timeout`.
    pub const QUERY_CANCELED: &str = "57014";
    /// A parameter's value is out of its range.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// A setting that cannot change now.
    pub const CANT_CHANGE_RUNTIME_PARAM: &str = "55P02";
    /// Text that does not fit the type.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// A number beyond its type.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// A negative LIMIT.
    pub const INVALID_LIMIT: &str = "2201W";
    /// A negative OFFSET.
    pub const INVALID_OFFSET: &str = "2201X";
    /// The snapshot's versions are gone.
    pub const SNAPSHOT_TOO_OLD: &str = "72000";
    /// No room on disk.
    pub const DISK_FULL: &str = "53100";
    /// No room in memory.
    pub const OUT_OF_MEMORY: &str = "53200";
    /// Larger than a limit of the format.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    /// The operating system refused.
    pub const IO_ERROR: &str = "58030";
    /// A file that cannot be used as it is.
    pub const OBJECT_NOT_IN_PREREQUISITE_STATE: &str = "55000";
    /// Used by another process.
    pub const OBJECT_IN_USE: &str = "55006";
    /// Damaged bytes.
    pub const DATA_CORRUPTED: &str = "XX001";
    /// The database was closed.
    pub const ADMIN_SHUTDOWN: &str = "57P01";
    /// A role or session that may not do that.
    pub const INVALID_AUTHORIZATION: &str = "28000";
    /// A wrong password.
    pub const INVALID_PASSWORD: &str = "28P01";
    /// No such database.
    pub const INVALID_CATALOG_NAME: &str = "3D000";
    /// No more sessions.
    pub const TOO_MANY_CONNECTIONS: &str = "53300";
    /// The client is gone.
    pub const CONNECTION_FAILURE: &str = "08006";
    /// Data of COPY that cannot be read.
    pub const BAD_COPY_FORMAT: &str = "22P04";
    /// The server ends.
    pub const CANNOT_CONNECT_NOW: &str = "57P03";
    /// A name that is there already.
    pub const DUPLICATE_OBJECT: &str = "42710";
    /// A bug.
    pub const INTERNAL_ERROR: &str = "XX000";
}

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
    /// Where in nested code: innermost first, one line each.
    pub context: Option<Box<str>>,
    /// What it is about; in a box, as few errors have it.
    pub subject: Option<Box<Subject>>,
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
            context: None,
            subject: None,
        }
    }

    /// `0A000`: `what` is not supported.
    #[cold]
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, format!("{what} is not supported"))
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

impl From<TypeError> for SqlError {
    fn from(error: TypeError) -> SqlError {
        let TypeError { sqlstate, message, detail, hint } = error;
        SqlError {
            detail: detail.map(Into::into),
            hint: hint.map(Into::into),
            ..SqlError::new(sqlstate, message)
        }
    }
}

impl From<StorageError> for SqlError {
    fn from(error: StorageError) -> SqlError {
        use sqlstate::*;
        let message = error.to_string();
        let code = match &error {
            StorageError::Conflict { record: _, by } => {
                let text = "could not serialize access due to concurrent update";
                let error = SqlError::new(SERIALIZATION_FAILURE, text);
                // Who it was is not always known.
                return if *by == TxnId::NONE { error } else { error.with_detail(message) };
            }
            StorageError::Deadlock { victim: _, detail } => {
                return SqlError::new(DEADLOCK, "deadlock detected").with_detail(&**detail);
            }
            StorageError::LockTimeout => {
                return SqlError::new(LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
            }
            StorageError::LockNotAvailable => {
                return SqlError::new(LOCK_NOT_AVAILABLE, "could not obtain lock");
            }
            StorageError::Serialization { reason } => {
                return SqlError::new(
                    SERIALIZATION_FAILURE,
                    "could not serialize access due to read/write dependencies among transactions",
                )
                .with_detail(*reason)
                .with_hint("The transaction might succeed if retried.");
            }
            StorageError::SnapshotTooOld => SNAPSHOT_TOO_OLD,
            StorageError::Unique { index: _, record: _ } => UNIQUE_VIOLATION,
            StorageError::MustRollback => return must_rollback(),
            StorageError::Cancelled => {
                return SqlError::new(QUERY_CANCELED, "canceling statement due to user request");
            }
            StorageError::PreparedExists(_) => "42710",
            StorageError::NoSuchPrepared(_) | StorageError::NoSuchSnapshot(_) => UNDEFINED_OBJECT,
            StorageError::ReadOnly => READ_ONLY_TRANSACTION,
            StorageError::SavepointsOff | StorageError::NoSuchSavepoint(_) => "3B001",
            StorageError::SweepRunning => OBJECT_IN_USE,
            StorageError::SequenceExhausted { limit: _ } => "2200H",
            StorageError::SequenceBounds { limit: _ } => NUMERIC_VALUE_OUT_OF_RANGE,
            StorageError::TooLarge { what: _, size: _, limit: _ } => PROGRAM_LIMIT_EXCEEDED,
            StorageError::NoSuchObject(_) => INTERNAL_ERROR,
            StorageError::Full { what: _ } => DISK_FULL,
            StorageError::PoolExhausted { frames: _ } => OUT_OF_MEMORY,
            StorageError::Corrupt { page: _, owner: _, flaw: _ } => DATA_CORRUPTED,
            StorageError::Io { what: _, source } => match source.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    let hint =
                        "What is there is left alone: open it if it is a database, or choose another name.";
                    return SqlError::new("58P02", message).with_hint(hint);
                }
                std::io::ErrorKind::NotFound => "58P01",
                std::io::ErrorKind::PermissionDenied => "42501",
                _ => IO_ERROR,
            },
            StorageError::Locked => OBJECT_IN_USE,
            StorageError::NotADatabase { what: _ } => {
                let hint = "A new database is made where no file is yet.";
                return SqlError::new(OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint(hint);
            }
            StorageError::UnsupportedFormat { found: _, supported: _ } => FEATURE_NOT_SUPPORTED,
            StorageError::Poisoned => IO_ERROR,
            StorageError::Closed => ADMIN_SHUTDOWN,
        };
        SqlError::new(code, message)
    }
}

impl From<CatalogError> for SqlError {
    fn from(error: CatalogError) -> SqlError {
        use sqlstate::*;
        let message = error.to_string();
        match error {
            CatalogError::Storage(error) => error.into(),
            CatalogError::Exists { kind, name: _ } => SqlError::new(
                match kind {
                    ObjectKind::Schema => "42P06",
                    ObjectKind::Function => DUPLICATE_FUNCTION,
                    ObjectKind::Column => DUPLICATE_COLUMN,
                    ObjectKind::Constraint | ObjectKind::Role => DUPLICATE_OBJECT,
                    ObjectKind::Table
                    | ObjectKind::Sequence
                    | ObjectKind::Relation
                    | ObjectKind::Index => DUPLICATE_TABLE,
                },
                message,
            ),
            CatalogError::DuplicateColumn { name } => {
                SqlError::new(DUPLICATE_COLUMN, message).with_column(name)
            }
            CatalogError::Missing { kind, name: _ } => SqlError::new(
                match kind {
                    ObjectKind::Schema => INVALID_SCHEMA_NAME,
                    ObjectKind::Function => UNDEFINED_FUNCTION,
                    ObjectKind::Column => UNDEFINED_COLUMN,
                    ObjectKind::Index | ObjectKind::Constraint | ObjectKind::Role => UNDEFINED_OBJECT,
                    ObjectKind::Table | ObjectKind::Sequence | ObjectKind::Relation => UNDEFINED_TABLE,
                },
                message,
            ),
            CatalogError::WrongKind { kind: _, name: _ } => SqlError::new(WRONG_OBJECT_TYPE, message),
            CatalogError::Needed { what: _, detail } => SqlError::new("2BP01", message)
                .with_detail(detail)
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."),
            CatalogError::ReturnTypeChanged { function } => {
                SqlError::new(INVALID_FUNCTION_DEFINITION, message)
                    .with_hint(format!("Use DROP FUNCTION {function} first."))
            }
            CatalogError::SystemObject { name: _ } => SqlError::new(INSUFFICIENT_PRIVILEGE, message),
            CatalogError::InvalidParameter { message: _ } => SqlError::new(INVALID_PARAMETER_VALUE, message),
            CatalogError::TooManyColumns { limit: _ } => SqlError::new(TOO_MANY_COLUMNS, message),
            CatalogError::TooManyArguments { limit: _ } => SqlError::new("54023", message),
            CatalogError::NoFunctionNamed { name: _ } => SqlError::new(UNDEFINED_FUNCTION, message),
            CatalogError::AmbiguousFunction { name: _ } => SqlError::new(AMBIGUOUS_FUNCTION, message)
                .with_hint("Specify the argument list to select the function unambiguously."),
            CatalogError::InvalidDefinition { sqlstate, message: _, detail } => {
                let error = SqlError::new(sqlstate, message);
                match detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            CatalogError::RequiredBy { index: _, constraint } => SqlError::new("2BP01", message)
                .with_hint(format!("You can drop {constraint} instead.")),
            CatalogError::Duplicates { index, detail } => {
                let error = SqlError::new("23505", message).with_constraint(index);
                match detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            CatalogError::NoOrder { ty: _ } => SqlError::new(UNDEFINED_OBJECT, message).with_hint(
                "You must specify an operator class for the index or define a default operator class for the data type.",
            ),
            CatalogError::ReservedName { name: _ } => SqlError::new("42939", message),
            CatalogError::Corrupt { what: _ } => SqlError::new(DATA_CORRUPTED, message),
        }
    }
}

impl From<ExecError> for SqlError {
    fn from(error: ExecError) -> SqlError {
        use sqlstate::*;
        let message = error.to_string();
        match error {
            ExecError::Type(error) => error.into(),
            ExecError::Storage(error) => error.into(),
            ExecError::Catalog(error) => error.into(),
            ExecError::Violation(violation) => {
                let Violation { sqlstate, message, detail, schema, table, constraint } = *violation;
                let error = SqlError::new(sqlstate, message)
                    .with_schema(&*schema)
                    .with_table(&*table)
                    .with_constraint(&*constraint);
                match detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            ExecError::NotNull { schema, table, column, row } => SqlError::new("23502", message)
                .with_detail(format!("Failing row contains ({row})."))
                .with_schema(&*schema)
                .with_table(&*table)
                .with_column(&*column),
            ExecError::Raised(raised) => {
                let Raised { sqlstate, message, detail, hint } = *raised;
                SqlError {
                    detail: detail.map(Into::into),
                    hint: hint.map(Into::into),
                    ..SqlError::new(interned(&sqlstate), message)
                }
            }
            ExecError::OutOfMemory { what: _, limit_bytes: _ } => {
                SqlError::new(OUT_OF_MEMORY, message).with_hint("Raise work_mem.")
            }
            ExecError::Cancelled => SqlError::new(QUERY_CANCELED, message),
            ExecError::TooDeep => SqlError::new(STATEMENT_TOO_COMPLEX, message),
            ExecError::Sink(_) => SqlError::new(IO_ERROR, message),
            ExecError::InFunction { error, context } => SqlError::from(*error).with_context(&context),
        }
    }
}

/// A code that a procedure raised, as static text. Kept for good: there are few, and never more than a bound.
fn interned(code: &str) -> &'static str {
    /// Codes kept; a program that raises more different ones gets the general code.
    const CODES_MAX: usize = 4_096;
    static CODES: parking_lot::Mutex<Vec<&'static str>> = parking_lot::Mutex::new(Vec::new());
    let mut codes = CODES.lock();
    if let Some(known) = codes.iter().find(|known| **known == code) {
        return known;
    }
    if codes.len() >= CODES_MAX {
        return "P0001";
    }
    let kept: &'static str = Box::leak(code.to_owned().into_boxed_str());
    codes.push(kept);
    kept
}

/// What every change is told after an error in a NO SAVEPOINT transaction.
pub fn must_rollback() -> SqlError {
    SqlError::new(sqlstate::MUST_ROLLBACK, "the transaction must be rolled back: an earlier change failed")
        .with_detail("no savepoint")
        .with_hint("Queries still run; end the transaction with ROLLBACK.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use verso_storage::page::RecordId;

    #[test]
    fn a_position_set_first_stays() {
        let error = SqlError::syntax("syntax error").at(4).at(9);
        assert_eq!(error.position, Some(5));
    }

    #[test]
    fn storage_errors_get_the_codes_clients_retry_on() {
        let record = RecordId { page_index: 1, slot: 2 };
        let conflict = SqlError::from(StorageError::Conflict { record, by: TxnId(7) });
        assert_eq!(conflict.sqlstate, "40001");
        assert_eq!(
            SqlError::from(StorageError::Deadlock { victim: TxnId(7), detail: "".into() }).sqlstate,
            "40P01"
        );
        assert_eq!(SqlError::from(StorageError::MustRollback).sqlstate, "25V01");
        assert_eq!(SqlError::from(StorageError::MustRollback).detail.as_deref(), Some("no savepoint"));
    }
}
