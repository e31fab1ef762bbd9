//! Statements: one variant each; what has more than a few parts is a struct of a module beside this one.

use super::{
    ActAs, AlterIndex, AlterSequence, AlterTable, Call, Cluster, Comment, CommitWrite, Copy, CreateAggregate,
    CreateFunction, CreateIndex, CreateSequence, CreateTable, CreateTableAs, CreateTrigger, Cursor,
    DatabaseStatement, Delete, Drop, DropFunction, DropKind, DropTrigger, Expr, Fetch, Fingerprint,
    FunctionBody, Insert, LockTable, LogicalBackup, Merge, Name, Past, Prepare, QualifiedName, Query,
    Reindex, ReindexTarget, RenameTrigger, RightsStatement, RoleStatement, SchemaStatement, SetConstraints,
    Span, TransactionModes, Truncate, TypeStatement, Update, ViewStatement,
};

/// A statement and its place in the script.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What it says.
    pub statement: Statement,
    /// Its text, without the semicolon.
    pub at: Span,
    /// Where it names databases in front of schemas; the names themselves are without them.
    pub databases: Vec<DatabaseName>,
    /// What it is apart from its constants; of a part of a statement that of nothing.
    pub fingerprint: Fingerprint,
}

/// `database.schema.name`: only the session's own database can be named so.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseName {
    /// The database.
    pub name: String,
    /// The whole name, as errors show it.
    pub shown: String,
    /// Where it begins.
    pub at: u32,
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
    /// MERGE.
    Merge(Merge),
    /// CREATE TABLE.
    CreateTable(CreateTable),
    /// CREATE TABLE AS, SELECT INTO.
    CreateTableAs(CreateTableAs),
    /// CREATE SEQUENCE.
    CreateSequence(CreateSequence),
    /// ALTER SEQUENCE.
    AlterSequence(AlterSequence),
    /// CREATE FUNCTION.
    CreateFunction(CreateFunction),
    /// CREATE AGGREGATE.
    CreateAggregate(CreateAggregate),
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
    /// REINDEX.
    Reindex(Reindex),
    /// CLUSTER, and VACUUM FULL of one table.
    Cluster(Cluster),
    /// ALTER INDEX … ACTIVE, INACTIVE.
    AlterIndex(AlterIndex),
    /// LOCK TABLE.
    LockTable(LockTable),
    /// SET CONSTRAINTS.
    SetConstraints(SetConstraints),
    /// ANALYZE: there are no statistics to collect, so it only looks whether the tables are there.
    Analyze(Analyze),
    /// DROP TABLE, DROP SEQUENCE, DROP INDEX.
    Drop(Drop),
    /// DROP FUNCTION.
    DropFunction(DropFunction),
    /// CREATE TRIGGER.
    CreateTrigger(Box<CreateTrigger>),
    /// DROP TRIGGER.
    DropTrigger(DropTrigger),
    /// ALTER TRIGGER … RENAME TO.
    RenameTrigger(RenameTrigger),
    /// TRUNCATE.
    Truncate(Truncate),
    /// CREATE, ALTER, DROP SCHEMA, and what moves things between schemas.
    Schema(SchemaStatement),
    /// CREATE, ALTER, DROP TYPE.
    Type(TypeStatement),
    /// CREATE VIEW, ALTER VIEW.
    View(ViewStatement),
    /// COMMENT ON.
    Comment(Comment),
    /// DO.
    Do(FunctionBody),
    /// CALL.
    Call(Call),
    /// EXPLAIN.
    Explain {
        /// What is shown.
        options: ExplainOptions,
        /// The statement.
        statement: Box<Statement>,
    },
    /// BEGIN, START TRANSACTION.
    Begin {
        /// What the transaction is begun with.
        modes: TransactionModes,
        /// Is it START TRANSACTION?
        start: bool,
    },
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
        /// WRITE.
        write: CommitWrite,
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
    Release {
        /// The savepoint.
        name: Name,
        /// Savepoints behind it stay.
        only: bool,
    },
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
    /// ALTER DATABASE SET name = value; `None` is DEFAULT. No name is RESET ALL.
    AlterDatabase {
        /// ALTER SYSTEM, which is the same.
        system: bool,
        /// Its name, if one was given: the session's own.
        database: Option<Name>,
        /// The setting.
        name: Name,
        /// Its text.
        value: Option<String>,
    },
    /// ALTER SYSTEM ADD LOGFILE SIZE.
    AddLogFile {
        /// As settings have sizes.
        size: String,
    },
    /// ALTER SYSTEM DROP LOGFILE.
    DropLogFile {
        /// Its number.
        number: u64,
    },
    /// CREATE, DROP, ALTER DATABASE … RENAME.
    Database(DatabaseStatement),
    /// PREWARM TABLE.
    Prewarm(QualifiedName),
    /// FLASHBACK TABLE.
    Flashback(Box<Flashback>),
    /// SWEEP, VACUUM.
    Sweep {
        /// These tables only, where there are any.
        tables: Vec<QualifiedName>,
        /// Report what was done as notices.
        verbose: bool,
        /// Workers asked for.
        parallel: Option<u32>,
        /// Said by its other name, which the tag repeats.
        vacuum: bool,
        /// VACUUM ANALYZE: what is analyzed then.
        analyze: Option<Analyze>,
        /// VACUUM FULL: the tables are copied.
        full: bool,
        /// VACUUM (ONLY_DATABASE_STATS): what PostgreSQL keeps of a database as a whole, of which there is nothing.
        nothing: bool,
    },
    /// COPY.
    Copy(Copy),
    /// CREATE, ALTER, DROP ROLE.
    Role(RoleStatement),
    /// GRANT, REVOKE, owners, policies.
    Rights(RightsStatement),
    /// CHECKPOINT.
    Checkpoint,
    /// BACKUP DATABASE TO.
    Backup {
        /// A folder of the machine that the database is on.
        folder: String,
        /// INCREMENTAL FROM: the folder of the backup that it completes.
        parent: Option<String>,
    },
    /// BACKUP DATABASE TO STDOUT.
    LogicalBackup(LogicalBackup),
    /// PREPARE.
    Prepare(Prepare),
    /// EXECUTE.
    Execute {
        /// The prepared statement.
        name: Name,
        /// Its parameters.
        args: Vec<Expr>,
        /// What is done with it.
        purpose: ExecutePurpose,
    },
    /// DEALLOCATE; none is ALL.
    Deallocate(Option<Name>),
    /// DISCARD ALL.
    DiscardAll,
    /// DISCARD PLANS, SEQUENCES, TEMP: a part of that.
    Discard(Discarded),
    /// LISTEN.
    Listen(Name),
    /// NOTIFY, with its payload.
    Notify(Name, String),
    /// UNLISTEN; none is `*`.
    Unlisten(Option<Name>),
    /// SET ROLE, SET SESSION AUTHORIZATION.
    ActAs {
        /// As whom.
        who: ActAs,
        /// SET LOCAL.
        local: bool,
        /// RESET.
        reset: bool,
    },
    /// DECLARE CURSOR.
    Declare(Cursor),
    /// FETCH, MOVE.
    Fetch(Fetch),
    /// CLOSE; none is ALL.
    Close(Option<Name>),
}

impl Statement {
    /// What a statement is called that cannot run within a transaction block: it takes long and lets others go on, or has
    /// transactions of its own.
    #[must_use]
    pub fn stands_alone(&self) -> Option<&'static str> {
        match self {
            Statement::CreateIndex(create) if create.concurrently => Some("CREATE INDEX CONCURRENTLY"),
            Statement::Drop(drop) if drop.concurrently => Some("DROP INDEX CONCURRENTLY"),
            Statement::Reindex(reindex) => match reindex.target {
                ReindexTarget::Schema(_) => Some("REINDEX SCHEMA"),
                ReindexTarget::Database(_) => Some("REINDEX DATABASE"),
                ReindexTarget::System(_) => Some("REINDEX SYSTEM"),
                ReindexTarget::Collations => Some("REINDEX COLLATIONS"),
                _ => reindex.concurrently.then_some("REINDEX CONCURRENTLY"),
            },
            Statement::Cluster(cluster) if cluster.table.is_none() => Some("CLUSTER"),
            Statement::Database(DatabaseStatement::Create { .. }) => Some("CREATE DATABASE"),
            Statement::Database(DatabaseStatement::Drop { .. }) => Some("DROP DATABASE"),
            Statement::AlterDatabase { system: true, .. }
            | Statement::AddLogFile { .. }
            | Statement::DropLogFile { .. } => Some("ALTER SYSTEM"),
            Statement::Sweep { vacuum: true, .. } => Some("VACUUM"),
            _ => None,
        }
    }

    /// What a statement is called that begins or ends transactions, or parts of them.
    #[must_use]
    pub fn of_transactions(&self) -> Option<&'static str> {
        Some(match self {
            Statement::Begin { start: true, .. } => "START TRANSACTION",
            Statement::Begin { .. } => "BEGIN",
            Statement::Commit { .. } => "COMMIT",
            Statement::Rollback { .. } | Statement::RollbackTo(_) => "ROLLBACK",
            Statement::Savepoint(_) => "SAVEPOINT",
            Statement::Release { .. } => "RELEASE",
            Statement::PrepareTransaction(_) => "PREPARE TRANSACTION",
            Statement::EndPrepared { commit: true, .. } => "COMMIT PREPARED",
            Statement::EndPrepared { .. } => "ROLLBACK PREPARED",
            _ => return None,
        })
    }

    /// What a statement is called that functions cannot run: what it does is done outside of transactions.
    #[must_use]
    pub fn stands_outside(&self) -> Option<&'static str> {
        match self {
            Statement::Sweep { vacuum: false, .. } => Some("SWEEP"),
            Statement::DiscardAll => Some("DISCARD ALL"),
            Statement::Backup { .. } | Statement::LogicalBackup(_) => Some("BACKUP DATABASE"),
            other => other.stands_alone(),
        }
    }

    /// Whether it is a query, or a change with RETURNING.
    #[must_use]
    pub fn returns_rows(&self) -> bool {
        match self {
            Statement::Query(_) => true,
            Statement::Insert(insert) => !insert.returning.is_empty(),
            Statement::Update(update) => !update.returning.is_empty(),
            Statement::Delete(delete) => !delete.returning.is_empty(),
            Statement::Merge(merge) => !merge.returning.is_empty(),
            _ => false,
        }
    }

    /// Whether the session runs it for a function: it may yield rows, as SHOW does, or is refused there in its own words.
    #[must_use]
    pub fn serves(&self) -> bool {
        matches!(
            self,
            Statement::Show(_)
                | Statement::ShowAll
                | Statement::Explain { .. }
                | Statement::Set { .. }
                | Statement::Reset(_)
                | Statement::ResetAll
                | Statement::ActAs { .. }
                | Statement::SetTransaction(_)
                | Statement::SetSessionCharacteristics(_)
                | Statement::Checkpoint
                | Statement::Copy(_)
                | Statement::Call(_)
                | Statement::Do(_)
                | Statement::Declare(_)
                | Statement::Fetch(_)
                | Statement::Close(_)
                | Statement::Prepare(_)
                | Statement::Execute { purpose: ExecutePurpose::Run | ExecutePurpose::Explain(_), .. }
                | Statement::Deallocate(_)
                | Statement::Discard(Discarded::Plans | Discarded::Sequences)
        ) || self.stands_outside().is_some() && !self.defines()
    }

    /// Whether it defines something, or does what else the schema's statements do: it may stand in a function, and yields
    /// nothing.
    #[must_use]
    pub fn defines(&self) -> bool {
        matches!(
            self,
            Statement::CreateTable(_)
                | Statement::CreateTableAs(_)
                | Statement::CreateSequence(_)
                | Statement::AlterSequence(_)
                | Statement::CreateFunction(_)
                | Statement::CreateAggregate(_)
                | Statement::CreateIndex(_)
                | Statement::AlterTable(_)
                | Statement::Rename { .. }
                | Statement::Reindex(_)
                | Statement::Cluster(_)
                | Statement::AlterIndex(_)
                | Statement::LockTable(_)
                | Statement::SetConstraints(_)
                | Statement::Listen(_)
                | Statement::Notify(..)
                | Statement::Unlisten(_)
                | Statement::Analyze(_)
                | Statement::Drop(_)
                | Statement::DropFunction(_)
                | Statement::CreateTrigger(_)
                | Statement::DropTrigger(_)
                | Statement::RenameTrigger(_)
                | Statement::Truncate(_)
                | Statement::Schema(_)
                | Statement::Type(_)
                | Statement::View(_)
                | Statement::Comment(_)
                | Statement::Role(_)
                | Statement::Rights(_)
                | Statement::Execute { purpose: ExecutePurpose::Table(_), .. }
                | Statement::Discard(Discarded::Temporary)
        )
    }
}

/// `FLASHBACK TABLE t TO {TIMESTAMP time | SNAPSHOT number}`.
#[derive(Clone, Debug, PartialEq)]
pub struct Flashback {
    /// The table.
    pub table: QualifiedName,
    /// To which state.
    pub past: Past,
}

/// ANALYZE.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Analyze {
    /// VERBOSE.
    pub verbose: bool,
    /// SKIP_LOCKED: tables that others have locked are left alone.
    pub skip_locked: bool,
    /// The tables, each with the columns wanted, all of them where there are none. No table is all.
    pub tables: Vec<(QualifiedName, Vec<Name>)>,
    /// Those of them that are meant without their partitions.
    pub only: Vec<QualifiedName>,
    /// How much is read.
    pub depth: AnalyzeDepth,
}

/// How much ANALYZE reads, and what it keeps of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnalyzeDepth {
    /// Rows of a sample of the pages: how many there are, and of each column the distribution of its values.
    #[default]
    Sample,
    /// Only how many rows there are, by a sample of the pages (UPDATE STATISTICS LOW).
    Rows,
    /// All pages, and a larger sample of the rows (ANALYZE FULL, UPDATE STATISTICS HIGH).
    Full,
}

/// What EXPLAIN shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplainOptions {
    /// ANALYZE: the statement is run, and what its operators have done is shown.
    pub analyze: bool,
    /// VERBOSE: with what each operator yields, and schemas.
    pub verbose: bool,
    /// COSTS: with estimates of costs, rows and widths.
    pub costs: bool,
    /// SETTINGS: with the settings that plans depend on, where they differ from their defaults.
    pub settings: bool,
    /// BUFFERS: with the pages that were latched and read.
    pub buffers: bool,
    /// WAL: with the log that was written.
    pub wal: bool,
    /// MEMORY: with the memory that operators held, and what they put into temporary files.
    pub memory: bool,
    /// TIMING: with the time that each has taken.
    pub timing: bool,
    /// SUMMARY: and the time of all of it.
    pub summary: bool,
    /// GENERIC_PLAN: the plan for parameters of which no values are known.
    pub generic_plan: bool,
    /// SERIALIZE: the rows are put into the protocol's form, and dropped.
    pub serialize: Option<ExplainSerialize>,
    /// FORMAT.
    pub format: ExplainFormat,
}

/// What rows are made into by EXPLAIN (SERIALIZE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainSerialize {
    /// Texts.
    Text,
    /// The binary form.
    Binary,
}

/// How EXPLAIN writes a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExplainFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
    /// One XML document.
    Xml,
}

/// What DISCARD forgets of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discarded {
    /// Compiled statements.
    Plans,
    /// The numbers that sequences have given.
    Sequences,
    /// Temporary tables.
    Temporary,
}

/// What is done with a prepared statement.
#[derive(Clone, Debug, PartialEq)]
pub enum ExecutePurpose {
    /// It is executed.
    Run,
    /// EXPLAIN EXECUTE.
    Explain(ExplainOptions),
    /// `CREATE TABLE … AS EXECUTE`: the query of this statement is the prepared one.
    Table(Box<CreateTableAs>),
}
