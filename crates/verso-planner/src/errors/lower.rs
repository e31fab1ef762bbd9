//! Which code and words each error of the crates below has for a client.

use verso_catalog::{CatalogError, ObjectKind};
use verso_env::recursion::Refused;
use verso_env::stack::StackExhausted;
use verso_exec::error::{About, DomainViolation, ExecError, Raised, Violation};
use verso_parser::SyntaxError;
use verso_storage::error::LogFileProblem;
use verso_storage::{StorageError, TxnId};
use verso_types::TypeError;

use super::sqlstate::*;
use super::{InQuery, SqlError, Subject, must_rollback};

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

impl From<StackExhausted> for SqlError {
    fn from(error: StackExhausted) -> SqlError {
        SqlError::new(STATEMENT_TOO_COMPLEX, error.to_string()).with_hint(StackExhausted::HINT)
    }
}

/// Functions or triggers call each other too deeply.
fn too_deep_calls() -> SqlError {
    SqlError::new(STATEMENT_TOO_COMPLEX, StackExhausted.to_string()).with_hint(StackExhausted::HINT_OF_CALLS)
}

impl From<Refused> for SqlError {
    fn from(refused: Refused) -> SqlError {
        match refused {
            Refused::Stack(error) => error.into(),
            Refused::Cancelled => SqlError::new(QUERY_CANCELED, "canceling statement due to user request"),
        }
    }
}

impl From<SyntaxError> for SqlError {
    fn from(error: SyntaxError) -> SqlError {
        let SyntaxError { sqlstate, message, detail, hint, position, context, line: _ } = error;
        SqlError { detail, hint, position, context, ..SqlError::new(sqlstate, message) }
    }
}

impl From<StorageError> for SqlError {
    fn from(error: StorageError) -> SqlError {
        let (message, is_full) = (error.to_string(), error.is_full_disk());
        let code = match &error {
            StorageError::Conflict { record: _, by, deleted } => {
                let done = if *deleted { "delete" } else { "update" };
                let text = format!("could not serialize access due to concurrent {done}");
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
            StorageError::TooManyLocks { .. } => {
                return SqlError::new("53200", "out of memory for locks")
                    .with_detail(message)
                    .with_hint("Give advisory locks back that are not needed any more.");
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
            StorageError::Excluded { index: _, record: _, with: _ } => EXCLUSION_VIOLATION,
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
            StorageError::IndexRowTooLarge { index: _, size: _, limit: _ } => PROGRAM_LIMIT_EXCEEDED,
            StorageError::NoMemory { what: _, limit_bytes: _, setting } => {
                let hint = format!("Raise {setting}.");
                return SqlError::new(OUT_OF_MEMORY, message).with_hint(hint);
            }
            StorageError::NoTemporarySpace { limit_bytes: _ } => "53400",
            StorageError::NoSuchObject(_)
            | StorageError::OtherForm { object: _, column: _, own: _, found: _ } => INTERNAL_ERROR,
            StorageError::Full { what: _ } => {
                let hint = "Free space on the disk. DROP, TRUNCATE, DELETE and VACUUM work without any and make room in the database.";
                return SqlError::new(DISK_FULL, message).with_hint(hint);
            }
            StorageError::PoolExhausted { frames: _ } => OUT_OF_MEMORY,
            StorageError::Corrupt { page: _, owner: _, flaw: _ } => DATA_CORRUPTED,
            StorageError::Frozen { why: _ } => {
                let hint = "What is still known can be read: verso check lists the damaged pages, verso backup saves the rest.";
                return SqlError::new(DATA_CORRUPTED, message).with_hint(hint);
            }
            StorageError::Unreadable { page: _, source: _ } => IO_ERROR,
            StorageError::Io { what: _, source } => match source.kind() {
                std::io::ErrorKind::AlreadyExists => {
                    let hint =
                        "What is there is left alone: open it if it is a database, or choose another name.";
                    return SqlError::new("58P02", message).with_hint(hint);
                }
                std::io::ErrorKind::NotFound => "58P01",
                std::io::ErrorKind::PermissionDenied => "42501",
                _ if is_full => DISK_FULL,
                _ => IO_ERROR,
            },
            StorageError::DamagedLog { segment: _, offset: _, from: _, upto: _, commits: _ } => {
                let hint = "Restore a backup, or open what stands before the damage: verso --open-damaged-log, or \
                            Options::open_damaged_log.";
                return SqlError::new(DATA_CORRUPTED, message).with_hint(hint);
            }
            StorageError::LogFile { problem, .. } => match problem {
                LogFileProblem::Missing => UNDEFINED_OBJECT,
                LogFileProblem::InUse | LogFileProblem::Needed => OBJECT_IN_USE,
            },
            StorageError::Archive { problem: _ } => OBJECT_NOT_IN_PREREQUISITE_STATE,
            StorageError::Locked => OBJECT_IN_USE,
            StorageError::NotADatabase { what: _ } => {
                let hint = "A new database is made where no file is yet.";
                return SqlError::new(OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint(hint);
            }
            StorageError::MissingLog { what: _ } => {
                let hint = "Put the missing files back into the log folder, from wherever they were moved to, or restore a backup. \
                            A copy of a database needs its log folder, unless the database was shut down in order.";
                return SqlError::new(DATA_CORRUPTED, message).with_hint(hint);
            }
            StorageError::UnsupportedFormat { found: _, supported: _ } => FEATURE_NOT_SUPPORTED,
            StorageError::PageSize(_) => INVALID_PARAMETER_VALUE,
            StorageError::Poisoned { why } => {
                let hint = "See to the disk, then stop the database and start it again: every commit that was acknowledged \
                            is recovered. Reading goes on until then.";
                let code = if is_full { DISK_FULL } else { IO_ERROR };
                let error = SqlError::new(code, message).with_hint(hint);
                return match why {
                    Some(why) => error.with_detail(why.to_string()),
                    None => error,
                };
            }
            StorageError::Closed => ADMIN_SHUTDOWN,
        };
        SqlError::new(code, message)
    }
}

/// The same, with the table that it is about.
fn of_table(error: SqlError, table: Option<[String; 2]>) -> SqlError {
    match table {
        Some([schema, table]) => error.with_schema(schema).with_table(table),
        None => error,
    }
}

impl From<CatalogError> for SqlError {
    fn from(error: CatalogError) -> SqlError {
        let message = error.to_string();
        match error {
            CatalogError::Storage(error) => error.into(),
            CatalogError::Exists { kind, name: _ } => SqlError::new(
                match kind {
                    ObjectKind::Schema => "42P06",
                    ObjectKind::Function => DUPLICATE_FUNCTION,
                    ObjectKind::Column => DUPLICATE_COLUMN,
                    ObjectKind::Constraint | ObjectKind::Role | ObjectKind::Type | ObjectKind::Collation => DUPLICATE_OBJECT,
                    ObjectKind::Table
                    | ObjectKind::View
                    | ObjectKind::MaterializedView
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
                    ObjectKind::Index | ObjectKind::Constraint | ObjectKind::Role | ObjectKind::Type | ObjectKind::Collation => {
                        UNDEFINED_OBJECT
                    }
                    ObjectKind::Table
                    | ObjectKind::View
                    | ObjectKind::MaterializedView
                    | ObjectKind::Sequence
                    | ObjectKind::Relation => {
                        UNDEFINED_TABLE
                    },
                },
                message,
            ),
            CatalogError::WrongKind { kind: _, name: _ } => SqlError::new(WRONG_OBJECT_TYPE, message),
            CatalogError::Needed { what: _, detail } => SqlError::new("2BP01", message)
                .with_detail(detail)
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."),
            CatalogError::ReturnTypeChanged { function } => {
                SqlError::new(INVALID_FUNCTION_DEFINITION, message)
                    .with_hint(format!("Use DROP FUNCTION {} first.", function.replace(", ", ",")))
            }
            CatalogError::SystemObject { name: _ } => SqlError::new(INSUFFICIENT_PRIVILEGE, message),
            CatalogError::InvalidParameter { message: _ } => SqlError::new(INVALID_PARAMETER_VALUE, message),
            CatalogError::TooManyColumns { limit: _ } => SqlError::new(TOO_MANY_COLUMNS, message),
            CatalogError::TooManyArguments { limit: _ } => SqlError::new("54023", message),
            CatalogError::NoFunctionNamed { name: _ } => SqlError::new(UNDEFINED_FUNCTION, message),
            CatalogError::AmbiguousFunction { name: _ } => SqlError::new(AMBIGUOUS_FUNCTION, message)
                .with_hint("Specify the argument list to select the function unambiguously."),
            CatalogError::InvalidDefinition { sqlstate, message: _, detail, hint } => SqlError {
                detail: detail.map(Into::into),
                hint: hint.map(Into::into),
                ..SqlError::new(sqlstate, message)
            },
            CatalogError::RequiredBy { index: _, constraint } => SqlError::new("2BP01", message)
                .with_hint(format!("You can drop {constraint} instead.")),
            CatalogError::Duplicates { index, table, detail } => {
                let error = of_table(SqlError::new("23505", message).with_constraint(index), table);
                match detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            CatalogError::Conflicts { constraint, table, detail } => {
                let error = SqlError::new(EXCLUSION_VIOLATION, message).with_constraint(constraint);
                let error = of_table(error, table);
                match detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            CatalogError::NoOrder { ty: _ } => SqlError::new(UNDEFINED_OBJECT, message).with_hint(
                "You must specify an operator class for the index or define a default operator class for the data type.",
            ),
            CatalogError::ReservedName { name: _ } => SqlError::new("42939", message)
                .with_detail("The prefix \"pg_\" is reserved for system schemas."),
            CatalogError::Damaged { object: _, flaw: _ } => SqlError::new(DATA_CORRUPTED, message).with_hint(
                "DROP it, or restore a backup. The rest of the database can be used.",
            ),
            CatalogError::Corrupt { what: _ } => SqlError::new(DATA_CORRUPTED, message),
        }
    }
}

impl From<ExecError> for SqlError {
    fn from(error: ExecError) -> SqlError {
        let message = error.to_string();
        match error {
            ExecError::Type(error) => error.into(),
            ExecError::Storage(error) => error.into(),
            ExecError::Catalog(error) => error.into(),
            ExecError::Violation(violation) => {
                let Violation { sqlstate, message, detail, schema, table, constraint } = *violation;
                let error = SqlError::new(sqlstate, message).with_schema(&*schema).with_table(&*table);
                let error = match constraint {
                    Some(constraint) => error.with_constraint(&*constraint),
                    None => error,
                };
                match detail {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            ExecError::Domain(violation) => {
                let DomainViolation { error, schema, domain, constraint } = *violation;
                let mut error = SqlError::from(error).with_schema(&*schema);
                let subject = error.subject.get_or_insert_default();
                subject.datatype = Some(domain.to_string());
                subject.constraint = constraint.map(|name| name.to_string());
                error
            }
            ExecError::NotNull { schema, table, column, row } => {
                let error = SqlError::new("23502", message)
                    .with_schema(&*schema)
                    .with_table(&*table)
                    .with_column(&*column);
                match row {
                    Some(detail) => error.with_detail(detail),
                    None => error,
                }
            }
            ExecError::Raised(raised) => {
                let Raised { sqlstate, message, detail, hint } = *raised;
                SqlError {
                    detail: detail.map(Into::into),
                    hint: hint.map(Into::into),
                    ..SqlError::new(interned(&sqlstate), message)
                }
            }
            ExecError::OutOfMemory { what: _, limit_bytes: _, setting } => {
                SqlError::new(OUT_OF_MEMORY, message).with_hint(format!("Raise {setting}."))
            }
            ExecError::Cancelled => SqlError::new(QUERY_CANCELED, message),
            ExecError::TooDeep => SqlError::from(StackExhausted),
            ExecError::CallsTooDeep => too_deep_calls(),
            ExecError::Sink(_) => SqlError::new(IO_ERROR, message),
            ExecError::About { error, about } => {
                let mut error = SqlError::from(*error);
                let subject = error.subject.get_or_insert_default();
                (subject.column, subject.constraint) = (about.column, about.constraint);
                (subject.datatype, subject.table) = (about.datatype, about.table);
                subject.schema = about.schema;
                error
            }
            ExecError::InQuery { error, query, position } => {
                let internal = Some(Box::new(InQuery { query, position }));
                SqlError { internal, ..SqlError::from(*error) }
            }
            // What ran out of stack within a function has not a long text: the calls are many.
            ExecError::InFunction { error, context } => match *error {
                ExecError::TooDeep => too_deep_calls(),
                error => SqlError::from(error),
            }
            .with_context(&context),
        }
    }
}

impl From<SqlError> for ExecError {
    /// An error of the layers above the executors as one of theirs; its place in the client's text is left out.
    fn from(error: SqlError) -> ExecError {
        let SqlError { sqlstate, message, detail, hint, internal, context, subject, position: _ } = error;
        let raised = Raised {
            sqlstate: sqlstate.into(),
            message,
            detail: detail.map(Into::into),
            hint: hint.map(Into::into),
        };
        let mut error = ExecError::Raised(Box::new(raised));
        if let Some(subject) = subject {
            let Subject { schema, table, column, constraint, datatype, routine: _ } = *subject;
            let about = Box::new(About { column, constraint, datatype, table, schema });
            error = ExecError::About { error: Box::new(error), about };
        }
        if let Some(internal) = internal {
            let InQuery { query, position } = *internal;
            error = ExecError::InQuery { error: Box::new(error), query, position };
        }
        match context {
            Some(context) => ExecError::InFunction { error: Box::new(error), context: context.into() },
            None => error,
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

#[cfg(test)]
mod tests {
    use super::*;
    use verso_storage::page::RecordId;

    #[test]
    fn storage_errors_get_the_codes_clients_retry_on() {
        let record = RecordId { page_index: 1, slot: 2 };
        let conflict = SqlError::from(StorageError::Conflict { record, by: TxnId(7), deleted: false });
        assert_eq!(conflict.sqlstate, "40001");
        assert_eq!(
            SqlError::from(StorageError::Deadlock { victim: TxnId(7), detail: "".into() }).sqlstate,
            "40P01"
        );
        assert_eq!(SqlError::from(StorageError::MustRollback).sqlstate, "25V01");
        assert_eq!(SqlError::from(StorageError::MustRollback).detail.as_deref(), Some("no savepoint"));
    }
}
