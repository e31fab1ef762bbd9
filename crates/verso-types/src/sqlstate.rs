//! SQLSTATE codes this crate assigns, named as in PostgreSQL's errcodes list.

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
/// A session idled too long outside of a transaction.
pub const IDLE_SESSION_TIMEOUT: &str = "57P05";
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
/// Two collations that do not go together.
pub const COLLATION_MISMATCH: &str = "42P21";
/// A parameter or literal whose type cannot be told.
pub const INDETERMINATE_DATATYPE: &str = "42P18";
/// A cast that does not exist.
pub const CANNOT_COERCE: &str = "42846";
/// A column outside GROUP BY or aggregates, an aggregate in the wrong place.
pub const GROUPING_ERROR: &str = "42803";
/// A reference to a table or column that may not be used here.
pub const INVALID_COLUMN_REFERENCE: &str = "42P10";
/// A recursive query reads itself where it may not.
pub const INVALID_RECURSION: &str = "42P19";
/// A window function in the wrong place, or a window that cannot be.
pub const WINDOWING_ERROR: &str = "42P20";
/// More arguments than a call can have.
pub const TOO_MANY_ARGUMENTS: &str = "54023";
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
/// A row is there that excludes another one.
pub const EXCLUSION_VIOLATION: &str = "23P01";
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
/// A database of that name is there already.
pub const DUPLICATE_DATABASE: &str = "42P04";
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
