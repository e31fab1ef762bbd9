//! What expressions and statements may ask of the session that runs them.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use verso_catalog::{CatalogSnapshot, ColumnDef, FunctionDef, Oid, SystemRows, TableDef, TriggerDef};
use verso_storage::RecordId;
use verso_types::snapshot::Snapshot;
use verso_types::{RowType, SqlType, TimeStyle, Value};

pub use verso_storage::AdvisoryKey;
pub use verso_storage::workers::Crew;

use crate::error::{ExecError, Result};
use crate::exec::{ExecContext, Transitions};
use crate::memory::Memory;
use crate::plan::{
    CommitWrite, Movement, PlFunction, Plan, RaiseLevel, RowRules, Statement, SubqueryTest, TransitionTable,
    TypedExpr,
};

/// What the session lends a statement: each part by itself, so that whoever needs the time asks for a [`Clock`] only.
#[derive(Clone, Copy)]
pub struct Services<'a> {
    /// The session's time zone.
    pub time_zone: &'a TimeStyle,
    /// How much memory a statement may hold, and where rows go beyond.
    pub memory: Memory<'a>,
    /// Threads for the parts of a query.
    pub workers: &'a dyn Workers,
    /// Now, and when statement and transaction began.
    pub clock: &'a dyn Clock,
    /// Random numbers.
    pub random: &'a dyn Random,
    /// What sequences have yielded in this session.
    pub sequences: &'a dyn SequenceState,
    /// Settings by name.
    pub settings: &'a dyn SettingAccess,
    /// Messages for the client.
    pub notices: &'a dyn NoticeSink,
    /// Who the session belongs to.
    pub identity: &'a dyn Identity,
    /// This session's and others' statements: waiting, cancelling.
    pub signals: &'a dyn Signals,
    /// Messages for sessions that listen.
    pub notifications: &'a dyn Notifications,
    /// Where cursors stand, and those that the client has declared.
    pub cursors: &'a dyn SessionCursors,
    /// Cursors that functions have opened.
    pub portals: &'a crate::plpgsql::Portals,
    /// Rows of the system views.
    pub views: &'a dyn SystemRows,
    /// Functions over the system catalogs.
    pub catalogs: &'a dyn CatalogFunctions,
    /// What the catalog keeps as text, bound.
    pub binding: &'a dyn Binding,
    /// Figures of the statements of functions.
    pub figures: &'a dyn StatementFigures,
}

/// Keeps figures of what the statements of functions cost.
pub trait StatementFigures {
    /// How things stand as a statement begins; none where no figures are kept.
    fn begin(&self) -> Option<Begun> {
        None
    }
    /// A statement that began then has ended well, with so many rows.
    fn ended(&self, _text: &Arc<str>, _begun: &Begun, _rows: u64) {}
}

/// How things stood when a statement began.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    /// The moment, in nanoseconds.
    pub nanos: u64,
    /// What the thread had done.
    pub work: verso_storage::Work,
}

/// Threads for the parts of a query.
pub trait Workers {
    /// How many workers are to read so many pages of tables, the statement's own thread among them.
    fn for_pages(&self, pages: u64) -> u32;
    /// As many of those as are free.
    fn crew(&self, wanted: u32) -> Crew;
    /// How so many workers give way to others; none where they do not.
    fn turns(&self, workers: u32) -> Option<Arc<dyn GivesWay>>;
}

/// Asked by workers of a query between two batches, when they hold nothing that others wait for.
pub trait GivesWay: Send + Sync {
    /// Rests for a moment, where others want a processor.
    fn between_batches(&self);
    /// The same between two rows, which may take long: most times it looks at nothing.
    fn between_rows(&self);
    /// The same for one worker, whose turns are its own.
    fn of_worker(&self) -> Box<dyn GivesWay>;
}

/// Moments, in microseconds since 2000-01-01 UTC.
pub trait Clock {
    /// `now()`: start of the transaction.
    fn transaction_timestamp(&self) -> i64;
    /// Start of the statement.
    fn statement_timestamp(&self) -> i64;
    /// The moment.
    fn clock_timestamp(&self) -> i64;
}

/// Random numbers of a session.
pub trait Random {
    /// Random bits.
    fn random_u64(&self) -> u64;
    /// Seeds what follows (`setseed`).
    fn seed_random(&self, seed: f64);
    /// Random bits on which `setseed` has no say.
    fn unseeded_u64(&self) -> u64;
    /// Nanoseconds since 1970 for the moment `micros` (since 1970), later than every one before by what a UUID shows.
    fn uuid_stamp(&self, micros: i64) -> i128;
}

/// How the argument of `nextval` and kin names its sequence.
#[derive(Clone, Copy, Debug)]
pub enum SequenceName<'a> {
    /// A `regclass`: nothing is left to look up by name, whatever the search path is.
    Oid(u32),
    /// A text: `name` or `schema.name`, perhaps quoted.
    Text(&'a str),
    /// The sequence of an identity column, asked by that column's default: who may add the row may have its number.
    Identity(u32),
}

/// What sequences have yielded in a session.
pub trait SequenceState {
    /// The session's last `nextval` of the sequence with this oid.
    fn value(&self, sequence: u32) -> Option<i64>;
    /// The sequence of the session's last `nextval`.
    fn last_used(&self) -> Option<u32>;
    /// `nextval` yielded this value; `setval` tells it too (its sequence, not the last one of all).
    fn note_value(&self, sequence: u32, value: i64, is_last: bool);
}

/// Settings by their lower-case names.
pub trait SettingAccess {
    /// The value of a setting.
    fn setting(&self, name: &str) -> Option<String>;
    /// Sets a setting once the statement is done; `None` brings its default back. What it then is.
    /// # Errors
    /// Those of SET.
    fn set_setting(&self, name: &str, value: Option<&str>, local: bool) -> Result<String>;
    /// Puts settings in force that a function has, until [`SettingAccess::release`]; `catalog` is what its caller sees.
    /// # Errors
    /// Those of SET.
    fn hold(&self, settings: &[(Arc<str>, Arc<str>)], catalog: &Arc<CatalogSnapshot>)
    -> Result<HeldSettings>;
    /// Brings back those that were in force before the last [`SettingAccess::hold`]; `catalog` is what its caller sees.
    fn release(&self, catalog: &Arc<CatalogSnapshot>);
}

/// What follows from settings that a function has.
#[derive(Debug)]
pub struct HeldSettings {
    /// The catalog along their search path.
    pub catalog: Arc<CatalogSnapshot>,
    /// Their conventions for dates and times.
    pub time_zone: TimeStyle,
    /// What a sort, a grouping or a spool may hold, where they say so (`work_mem`).
    pub work_bytes: Option<u64>,
}

/// Takes messages for the client.
pub trait NoticeSink {
    /// A message that is no error. What is kept of it until it is sent is charged to the statement.
    ///
    /// # Errors
    /// 53200.
    fn notice(&self, notice: Notice, memory: Memory<'_>) -> Result<()>;

    /// Whether anybody hears messages of this level.
    fn hears(&self, level: RaiseLevel) -> bool;
}

/// Who a session belongs to, and whose it is.
pub trait Identity {
    /// The name of the role that statements run as.
    fn user_name(&self) -> Arc<str>;
    /// The name of the role that the session belongs to.
    fn session_user(&self) -> Arc<str>;
    /// Statements run as this role until it is said again; which one it was before.
    fn act_as(&self, role: Option<Oid>) -> Option<Oid>;
    /// The session's number.
    fn backend_id(&self) -> i32;
    /// The name of the database.
    fn database_name(&self) -> Arc<str>;
    /// What `version()` says.
    fn version(&self) -> Arc<str>;
}

/// Waiting and cancelling.
pub trait Signals {
    /// Cancels the statement of the session with that number, or ends the session; false if there is none.
    /// # Errors
    /// 42501 where the session's user may not do that.
    fn signal_backend(&self, id: i32, terminate: bool) -> Result<bool>;
    /// Whether a session is there.
    fn has_backend(&self, id: i32) -> bool;
    /// Waits, unless the statement is cancelled meanwhile.
    /// # Errors
    /// `Cancelled`.
    fn sleep(&self, duration: Duration) -> Result<()>;
    /// Whether the session is to end: no handler catches that.
    fn ends_session(&self) -> bool;
    /// A handler has caught the cancel of its statement, which goes on.
    fn forget_cancel(&self);
    /// Waits until everything that is committed is on disk; up to where the log is then.
    /// # Errors
    /// 58030 if the log cannot be written.
    fn wait_durable(&self) -> Result<u64>;
}

/// NOTIFY, and what is listened to.
pub trait Notifications {
    /// Sends a message to a channel once the transaction has committed.
    /// # Errors
    /// 22023 for a channel or a payload that cannot be.
    fn notify(&self, channel: &str, payload: &str) -> Result<()>;
    /// The channels that the session listens to, in the order in which it began to.
    fn listening(&self) -> Vec<Arc<str>>;
    /// How much of the room for messages on their way is taken, from 0 to 1.
    fn queue_usage(&self) -> f64;
}

/// Cursors of the session: where they stand; and those that its client has declared, by their names.
pub trait SessionCursors {
    /// The place of the record of a table on which a cursor stands.
    /// # Errors
    /// 34000 where there is no such cursor, 24000 where it is on no row of that table.
    fn cursor_place(&self, cursor: &str, table: &TableDef) -> Result<i64>;
    /// Whether the client has declared one of that name.
    fn is_declared(&self, _name: &str) -> bool {
        false
    }
    /// Moves one that the client has declared; none where there is none of that name.
    /// # Errors
    /// 55000 for a way back that it does not go, and while its query runs; those of reading its rows.
    fn move_declared(
        &self,
        _cx: &ExecContext<'_>,
        _name: &str,
        _movement: Movement,
    ) -> Result<Option<Moved>> {
        Ok(None)
    }
    /// Closes one that the client has declared; false where there is none of that name.
    /// # Errors
    /// 24000 while its query runs.
    fn close_declared(&self, _name: &str) -> Result<bool> {
        Ok(false)
    }
    /// Closes those declared since so many cursors had been opened: what is behind a savepoint is undone.
    fn close_declared_since(&self, _opened: u64) {}
}

/// What a cursor has come to.
#[derive(Debug)]
pub struct Moved {
    /// The row that it stands on, if any.
    pub row: Option<Vec<Value>>,
    /// The columns of its rows.
    pub shape: Arc<RowType>,
    /// Over how many rows it went.
    pub over: u64,
}

/// Functions over the system catalogs, by their names in the registry.
pub trait CatalogFunctions {
    /// The value of a function for arguments of its types.
    /// # Errors
    /// Those of the function.
    fn call(&self, function: &'static str, args: &[Value]) -> Result<Value>;
}

/// Ends transactions from within: for procedures and blocks that are not part of a statement.
pub trait TransactionEnds {
    /// Commits; the next transaction begins at once, with the modes of this one if it is chained.
    /// # Errors
    /// Those of a commit: a new transaction has begun all the same.
    fn commit(&self, write: CommitWrite, chain: bool) -> Result<()>;
    /// Rolls back, likewise.
    /// # Errors
    /// Those of a rollback.
    fn rollback(&self, chain: bool) -> Result<()>;
    /// Runs `SET TRANSACTION`.
    /// # Errors
    /// 25001 where the transaction has read something, or changed it.
    fn set_modes(&self, text: &str) -> Result<()>;
    /// Looks whether the catalog is another one than what the body goes by: where it is, the body goes on bound anew. Where no
    /// statement has `failed` for it, it costs a few loads most of the time.
    /// # Errors
    /// Those of reading it.
    fn look_anew(&self, failed: bool) -> Result<bool>;
}

/// What a statement that the session has run for a function leaves.
#[derive(Debug, Default)]
pub struct Served {
    /// How many rows it made.
    pub rows: u64,
    /// The rows that it yields, as a query.
    pub yields: Option<Box<Statement>>,
}

/// The transition tables that a statement in the function of a trigger may read.
#[derive(Clone, Copy, Default)]
pub struct TransitionsSeen<'a> {
    /// Those that a text may name; what is bound already has found its own.
    pub tables: &'a [TransitionTable],
    /// Their rows.
    pub rows: Option<&'a Transitions>,
}

/// What a function gives to a statement that defines something.
#[derive(Clone, Copy)]
pub struct Given<'g> {
    /// The statement of CREATE TABLE AS or EXPLAIN, bound to the variables of the function.
    pub query: Option<&'g Statement>,
    /// What ends the transaction, where the function may do that.
    pub ends: Option<&'g dyn TransactionEnds>,
    /// What it reads: the variables, or the parameters of EXECUTE.
    pub params: &'g [Value],
    /// The types of the parameters.
    pub types: &'g [SqlType],
    /// The function is STABLE or IMMUTABLE, and may run nothing of the kind.
    pub read_only: bool,
    /// The function is one in SQL.
    pub sql: bool,
    /// The rows that the statement has changed which has fired the function.
    pub transitions: TransitionsSeen<'g>,
}

/// Statements that define something, within a statement that runs: CREATE TABLE in a function, say.
pub trait Definitions {
    /// Runs one, and yields how many rows it made; `catalog` is what the function sees of the catalog until now, and `used` are the
    /// tables that the statements around the function use.
    /// # Errors
    /// Those of the statement; `0A000` where it is none that may stand in a function; `55006` for what would change or
    /// drop one of those tables.
    fn define(
        &self,
        text: &str,
        given: Given<'_>,
        catalog: &Arc<CatalogSnapshot>,
        used: &[Oid],
    ) -> Result<Served>;
    /// How many were run within the client's statement, and how many settings were set there.
    fn count(&self) -> u32;
    /// The catalog as it is now, with the rights that `catalog` has, and what follows from the settings of now.
    /// # Errors
    /// Those of reading it.
    fn renewed(&self, catalog: &Arc<CatalogSnapshot>) -> Result<HeldSettings>;
}

/// What only those above the executors can do: parse and bind what the catalog keeps as text, name errors.
pub trait Binding {
    /// Parses and binds the body of a PL/pgSQL function, or finds it in the cache.
    /// # Errors
    /// Those of binding.
    fn compile_function(
        &self,
        function: &Arc<FunctionDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>>;
    /// The function of a trigger, or its statements, bound to the columns of its table.
    /// # Errors
    /// Those of binding.
    fn compile_trigger(
        &self,
        trigger: &Arc<TriggerDef>,
        function: Option<&Arc<FunctionDef>>,
        table: &Arc<TableDef>,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Arc<PlFunction>>;
    /// The WHEN condition of a trigger, over the old row's columns, then the new one's.
    /// # Errors
    /// Those of binding.
    fn trigger_condition(&self, trigger: &Arc<TriggerDef>, table: &Arc<TableDef>) -> Result<TypedExpr>;
    /// The CHECK constraints and generated columns of a table, over full rows: for rows that change along with others.
    /// # Errors
    /// Those of binding.
    fn row_rules(&self, table: &Arc<TableDef>) -> Result<RowRules>;
    /// `Parameter(0)`, of the type beneath, as a value of a domain or of an array of one: fails where it is none.
    /// # Errors
    /// Those of binding.
    fn value_of_domain(&self, domain: &SqlType) -> Result<TypedExpr>;
    /// The default of a column; NULL where it has none.
    /// # Errors
    /// Those of binding.
    fn column_default(&self, column: &ColumnDef) -> Result<TypedExpr>;
    /// An error as the client would see it: for exception handlers.
    fn describe_error(&self, error: &ExecError) -> Described;
    /// Where each statement of a text stands in it, in bytes; its syntax is right.
    /// # Errors
    /// Those of parsing.
    fn statements_of(&self, text: &str) -> Result<Vec<Range<usize>>>;
    /// Parses and binds a query or change that is known as text only, at this place of it; none for a statement
    /// that [`Definitions`] run. With `places` a query yields the places of its records behind its columns, where it can.
    /// # Errors
    /// Those of parsing and binding; 0A000 for any other statement.
    fn bind_text(
        &self,
        text: &str,
        part: Range<usize>,
        known: &Known<'_>,
        places: bool,
        catalog: &Arc<CatalogSnapshot>,
    ) -> Result<Option<Statement>>;
}

/// What a text that is bound when it runs may name.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The types of its parameters.
    pub types: &'a [SqlType],
    /// The transition tables of the trigger whose function runs it.
    pub transitions: &'a [TransitionTable],
    /// What is done with its rows.
    pub purpose: TextPurpose,
}

/// For what a text of a body is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPurpose {
    /// EXECUTE.
    Execute,
    /// A loop or a cursor goes over its rows.
    Cursor,
    /// RETURN QUERY EXECUTE.
    Return,
}

/// A message that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How serious.
    pub level: RaiseLevel,
    /// Five characters.
    pub sqlstate: Arc<str>,
    /// The message.
    pub message: String,
    /// The DETAIL line.
    pub detail: Option<String>,
    /// The HINT line.
    pub hint: Option<String>,
    /// Where in nested code: innermost first, one line each.
    pub context: Option<String>,
}

/// What expressions need of the database itself.
pub trait Runtime {
    /// Asked by work that may last: per batch, row of a loop, 4,096 steps or megabyte.
    /// # Errors
    /// `Cancelled`.
    fn check_cancelled(&self) -> Result<()> {
        Ok(())
    }
    /// The catalog as the running statement sees it, along the session's search path.
    fn catalog(&self) -> Option<&Arc<CatalogSnapshot>> {
        None
    }
    /// Calls a PL/pgSQL function for its one value.
    fn call_function(&self, function: &Arc<FunctionDef>, args: Vec<Value>) -> Result<Value>;
    /// The next value of a sequence, and the sequence's oid.
    fn next_value(&self, sequence: SequenceName<'_>) -> Result<(u32, i64)>;
    /// Sets a sequence; yields its oid.
    fn set_value(&self, sequence: SequenceName<'_>, value: i64, is_called: bool) -> Result<u32>;
    /// The oid of a sequence.
    fn sequence_oid(&self, sequence: SequenceName<'_>) -> Result<u32>;
    /// Whether there still is a sequence with this oid.
    /// # Errors
    /// 42501 where its values may not be looked at.
    fn has_sequence(&self, sequence: u32) -> Result<bool>;
    /// What a subquery says; `outer` are its values of the surrounding row, `args` what `In` looks for, `params` the
    /// parameters of the expression that it stands in: the slots of a function, say.
    fn subquery(
        &self,
        plan: &Arc<Plan>,
        test: SubqueryTest,
        outer: Vec<Value>,
        args: &[Value],
        params: &[Value],
    ) -> Result<Value>;
    /// Takes or gives back an advisory lock; whether that was possible.
    fn advisory(&self, call: AdvisoryCall) -> Result<bool>;
    /// The name under which other transactions can take over this one's snapshot.
    fn export_snapshot(&self) -> Result<String>;
    /// The transaction's id; one that has none yet gets it if `assign`.
    fn transaction_id(&self, assign: bool) -> Result<Option<u64>>;
    /// Which transactions the running statement sees.
    fn shown_snapshot(&self) -> Result<Snapshot>;
    /// Which transaction has written the version of a row that the running statement sees, of the table with this number.
    fn writer_of(&self, _table: u32, _record: RecordId) -> Result<Option<u64>> {
        Ok(None)
    }
    /// How many triggers are running, one within the other.
    fn trigger_depth(&self) -> u32 {
        0
    }
}

/// What an advisory lock function wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvisoryCall {
    /// To have a lock.
    Lock {
        /// Which.
        key: AdvisoryKey,
        /// Together with others that share it.
        shared: bool,
        /// For the session, not the transaction.
        session: bool,
        /// At once or not at all.
        at_once: bool,
    },
    /// To give one of the session back.
    Unlock {
        /// Which.
        key: AdvisoryKey,
        /// As it was taken.
        shared: bool,
    },
    /// To give all of the session back.
    UnlockAll,
}

/// What an expression is evaluated in.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// The session.
    pub services: &'a Services<'a>,
    /// The database.
    pub runtime: &'a dyn Runtime,
    /// `$1` …, or the slots of a PL/pgSQL function.
    pub params: &'a [Value],
    /// What the query around this one hands in (P5 of the plan).
    pub outer: &'a [Value],
}

/// An error as the client would see it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the fields of an error in PostgreSQL's words")]
pub struct Described {
    pub sqlstate: Arc<str>,
    pub message: String,
    pub detail: Option<String>,
    pub hint: Option<String>,
    pub context: Option<String>,
    pub column: Option<String>,
    pub constraint: Option<String>,
    pub datatype: Option<String>,
    pub table: Option<String>,
    pub schema: Option<String>,
}
