//! Statements.

use verso_types::SqlType;

use super::{
    AlterTable, Copy, CreateIndex, CreateTable, CreateTableAs, Cursor, Expr, Fetch, FromItem, LockTable,
    Name, PlBlock, Prepare, QualifiedName, Query, RoleStatement, SelectItem, SetConstraints, Span,
};

/// A statement and its place in the script.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What it says.
    pub statement: Statement,
    /// Its text, without the semicolon.
    pub at: Span,
}

/// Everything Verso executes.
#[allow(clippy::large_enum_variant, reason = "one a statement, never in arrays")]
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// SELECT, VALUES.
    Query(Query),
    /// INSERT.
    Insert(Insert),
    /// UPDATE.
    Update(Update),
    /// DELETE.
    Delete(Delete),
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// CREATE TABLE AS, SELECT INTO.
    CreateTableAs(CreateTableAs),
    /// CREATE SEQUENCE.
    CreateSequence(CreateSequence),
    /// CREATE FUNCTION.
    CreateFunction(CreateFunction),
    /// CREATE INDEX.
    CreateIndex(CreateIndex),
    /// ALTER TABLE.
    AlterTable(AlterTable),
    /// ALTER INDEX or ALTER SEQUENCE … RENAME TO.
    Rename {
        /// What kind.
        kind: DropKind,
        /// Which.
        name: QualifiedName,
        /// Its new name.
        to: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// REINDEX INDEX, REINDEX TABLE.
    Reindex {
        /// An index, else a table.
        index: bool,
        /// Which.
        name: QualifiedName,
    },
    /// LOCK TABLE.
    LockTable(LockTable),
    /// SET CONSTRAINTS.
    SetConstraints(SetConstraints),
    /// ANALYZE: there are no statistics to collect, so it only looks whether the tables are there.
    Analyze(Vec<QualifiedName>),
    /// DROP TABLE, DROP SEQUENCE, DROP INDEX.
    Drop(Drop),
    /// DROP FUNCTION.
    DropFunction(DropFunction),
    /// TRUNCATE.
    Truncate(Truncate),
    /// DO.
    Do(FunctionBody),
    /// EXPLAIN.
    Explain {
        /// Run it and count.
        analyze: bool,
        /// The statement.
        statement: Box<Statement>,
    },
    /// BEGIN, START TRANSACTION.
    Begin(TransactionModes),
    /// PREPARE TRANSACTION.
    PrepareTransaction(String),
    /// COMMIT PREPARED (true), ROLLBACK PREPARED.
    EndPrepared {
        /// Which.
        gid: String,
        /// How it ends.
        commit: bool,
    },
    /// SET TRANSACTION.
    SetTransaction(TransactionModes),
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetSessionCharacteristics(TransactionModes),
    /// COMMIT, END; `chain` starts the next one at once.
    Commit {
        /// AND CHAIN.
        chain: bool,
    },
    /// ROLLBACK, ABORT.
    Rollback {
        /// AND CHAIN.
        chain: bool,
    },
    /// SAVEPOINT.
    Savepoint(Name),
    /// ROLLBACK TO.
    RollbackTo(Name),
    /// RELEASE.
    Release(Name),
    /// SET name = value; `None` is DEFAULT.
    Set {
        /// The setting.
        name: Name,
        /// Its text.
        value: Option<String>,
        /// SET LOCAL.
        local: bool,
    },
    /// SHOW name.
    Show(Name),
    /// SHOW ALL.
    ShowAll,
    /// SHOW STATEMENT STATISTICS.
    ShowStatementStatistics,
    /// RESET name.
    Reset(Name),
    /// RESET ALL.
    ResetAll,
    /// ALTER DATABASE SET name = value; `None` is DEFAULT.
    AlterDatabase {
        /// The setting.
        name: Name,
        /// Its text.
        value: Option<String>,
    },
    /// SWEEP, VACUUM.
    Sweep {
        /// One table only.
        table: Option<QualifiedName>,
        /// Report what was done as notices.
        verbose: bool,
        /// Workers asked for.
        parallel: Option<u32>,
    },
    /// COPY.
    Copy(Copy),
    /// CREATE, ALTER, DROP ROLE.
    Role(RoleStatement),
    /// CHECKPOINT.
    Checkpoint,
    /// PREPARE.
    Prepare(Prepare),
    /// EXECUTE.
    Execute {
        /// The prepared statement.
        name: Name,
        /// Its parameters.
        args: Vec<Expr>,
    },
    /// DEALLOCATE; none is ALL.
    Deallocate(Option<Name>),
    /// DISCARD ALL.
    DiscardAll,
    /// UNLISTEN: drivers say it when they reset a session, and nobody can listen.
    Unlisten,
    /// DECLARE CURSOR.
    Declare(Cursor),
    /// FETCH, MOVE.
    Fetch(Fetch),
    /// CLOSE; none is ALL.
    Close(Option<Name>),
}

/// INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// Where to.
    pub table: QualifiedName,
    /// `AS alias`.
    pub alias: Option<Name>,
    /// The columns named.
    pub columns: Vec<Name>,
    /// What; `None` is DEFAULT VALUES.
    pub source: Option<Query>,
    /// OVERRIDING SYSTEM VALUE (true) or USER VALUE (false).
    pub overriding: Option<bool>,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// Which conflicts; without one, all.
    pub target: Option<ConflictTarget>,
    /// DO UPDATE; `None` is DO NOTHING.
    pub update: Option<ConflictUpdate>,
    /// Where it starts.
    pub at: u32,
}

/// The conflicts that ON CONFLICT is about.
#[derive(Clone, Debug, PartialEq)]
pub enum ConflictTarget {
    /// Those of the unique index on these columns.
    Columns(Vec<Name>),
    /// Those of a constraint.
    Constraint(Name),
}

/// DO UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct ConflictUpdate {
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub filter: Option<Expr>,
}

/// An item of SET.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignment {
    /// `a = x`; `(a, b) = (x, y)` is two of them.
    Value(Name, Expr),
    /// `(a, b) = (SELECT …)`.
    Row(Vec<Name>, Box<Query>),
}

/// UPDATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// The table, as a FROM item.
    pub table: FromItem,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// FROM.
    pub from: Option<FromItem>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// WHERE CURRENT OF.
    pub current: Option<Name>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
}

/// DELETE.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// The table, as a FROM item.
    pub table: FromItem,
    /// USING.
    pub using: Option<FromItem>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// WHERE CURRENT OF.
    pub current: Option<Name>,
    /// RETURNING.
    pub returning: Vec<SelectItem>,
}

/// CREATE SEQUENCE; what is not given follows from the type and the direction.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateSequence {
    /// Its name.
    pub name: QualifiedName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// AS smallint, integer or bigint.
    pub ty: SqlType,
    /// START WITH.
    pub start: Option<i64>,
    /// INCREMENT BY.
    pub increment: Option<i64>,
    /// MINVALUE.
    pub min: Option<i64>,
    /// MAXVALUE.
    pub max: Option<i64>,
    /// CYCLE.
    pub cycle: bool,
}

/// CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateFunction {
    /// Its name.
    pub name: QualifiedName,
    /// OR REPLACE.
    pub or_replace: bool,
    /// The arguments; a name may be missing.
    pub args: Vec<(Option<Name>, SqlType)>,
    /// What it returns.
    pub returns: Returns,
    /// Its language.
    pub language: Name,
    /// Its text.
    pub body: FunctionBody,
    /// How its result may change.
    pub volatility: Volatility,
    /// NULL in, NULL out.
    pub strict: bool,
}

/// RETURNS.
#[derive(Clone, Debug, PartialEq)]
pub enum Returns {
    /// RETURNS t.
    Type(SqlType),
    /// RETURNS SETOF t.
    Set(SqlType),
    /// RETURNS TABLE (…).
    Table(Vec<(Name, SqlType)>),
}

/// IMMUTABLE, STABLE, VOLATILE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Volatility {
    /// Same arguments, same result, always.
    Immutable,
    /// Same within a statement.
    Stable,
    /// May change any time.
    Volatile,
}

/// The text of a function and where it starts in the statement.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionBody {
    /// The source.
    pub text: String,
    /// The literal that holds it.
    pub at: Span,
    /// Place of the text's first character where the literal has no escapes.
    pub start: Option<u32>,
    /// Parsed, where the language is PL/pgSQL.
    pub block: Option<Box<PlBlock>>,
}

/// DROP TABLE, DROP SEQUENCE, DROP INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct Drop {
    /// What kind.
    pub kind: DropKind,
    /// Which.
    pub names: Vec<QualifiedName>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// What DROP removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropKind {
    /// A table.
    Table,
    /// A sequence.
    Sequence,
    /// An index.
    Index,
}

/// DROP FUNCTION.
#[derive(Clone, Debug, PartialEq)]
pub struct DropFunction {
    /// Which, with argument types where given.
    pub functions: Vec<(QualifiedName, Option<Vec<SqlType>>)>,
    /// IF EXISTS.
    pub if_exists: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// TRUNCATE.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncate {
    /// Which tables.
    pub tables: Vec<QualifiedName>,
    /// RESTART IDENTITY.
    pub restart_identity: bool,
    /// CASCADE.
    pub cascade: bool,
}

/// Options of a transaction; what is not given follows from the session's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY, READ WRITE.
    pub read_only: Option<bool>,
    /// NO SAVEPOINT (false), SAVEPOINT (true).
    pub savepoints: Option<bool>,
    /// DEFERRABLE, NOT DEFERRABLE.
    pub deferrable: Option<bool>,
    /// The name or number of a snapshot to be taken over.
    pub snapshot: Option<String>,
}

/// The levels, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolationLevel {
    /// Sees uncommitted rows.
    ReadUncommitted,
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// One snapshot; also spelled REPEATABLE READ.
    Snapshot,
    /// As if alone.
    Serializable,
}

impl IsolationLevel {
    /// As SHOW prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            IsolationLevel::ReadUncommitted => "read uncommitted",
            IsolationLevel::ReadCommitted => "read committed",
            IsolationLevel::Snapshot => "repeatable read",
            IsolationLevel::Serializable => "serializable",
        }
    }

    /// From a setting's text.
    pub fn parse(text: &str) -> Option<IsolationLevel> {
        Some(match text.to_ascii_lowercase().as_str() {
            "read uncommitted" => IsolationLevel::ReadUncommitted,
            "read committed" => IsolationLevel::ReadCommitted,
            "repeatable read" | "snapshot" => IsolationLevel::Snapshot,
            "serializable" => IsolationLevel::Serializable,
            _ => return None,
        })
    }
}
