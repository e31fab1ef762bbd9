//! Tables, their constraints and indexes: CREATE TABLE, ALTER TABLE, CREATE INDEX, LOCK TABLE.

use verso_types::SqlType;
use verso_types::{Identity, ReferentialAction};

use super::{
    CreateSequence, Expr, Name, QualifiedName, Query, RoleName, SequenceOptions, Span, TriggerState,
    WhichTriggers,
};

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// Its name.
    pub name: QualifiedName,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// Columns, constraints, and tables whose columns are copied, in order.
    pub elements: Vec<TableElement>,
    /// WITH (…): names and texts of values.
    pub options: Vec<(String, String)>,
    /// TEMPORARY, and what a commit does about it.
    pub temporary: Option<OnCommit>,
    /// UNLOGGED.
    pub unlogged: bool,
    /// PARTITION BY.
    pub partition_by: Option<PartitionBy>,
    /// PARTITION OF.
    pub partition_of: Option<PartitionOf>,
    /// OF a composite type: its columns are those.
    pub of_type: Option<QualifiedName>,
}

/// PARTITION BY strategy (columns and expressions).
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    /// `range`, `list`, `hash`, or what was written in its place.
    pub strategy: Name,
    /// The key.
    pub keys: Vec<PartitionKeyPart>,
}

/// A part of the key by which a table is divided.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionKeyPart {
    /// A column or an expression.
    pub key: IndexKey,
    /// Where it stands.
    pub at: Span,
    /// COLLATE.
    pub collation: Option<QualifiedName>,
    /// The operator class.
    pub class: Option<Name>,
}

/// PARTITION OF table bound.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionOf {
    /// The table that it is a part of.
    pub parent: QualifiedName,
    /// Which rows it has.
    pub bound: PartitionBound,
    /// Where the bound stands.
    pub at: Span,
}

/// FOR VALUES …, or DEFAULT.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionBound {
    /// DEFAULT.
    Default,
    /// IN (…).
    In(Vec<Expr>),
    /// FROM (…) TO (…).
    Range {
        /// FROM.
        from: Vec<PartitionEdge>,
        /// TO.
        to: Vec<PartitionEdge>,
    },
    /// WITH (MODULUS …, REMAINDER …).
    Hash {
        /// MODULUS.
        modulus: i64,
        /// REMAINDER.
        remainder: i64,
    },
}

/// A value of FROM or TO.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionEdge {
    /// MINVALUE.
    Min,
    /// MAXVALUE.
    Max,
    /// A value.
    At(Expr),
}

/// What a commit does about a temporary table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// ON COMMIT PRESERVE ROWS.
    #[default]
    Preserve,
    /// ON COMMIT DELETE ROWS.
    Delete,
    /// ON COMMIT DROP.
    Drop,
}

/// CREATE TABLE … AS, SELECT … INTO.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTableAs {
    /// The table's name.
    pub name: QualifiedName,
    /// Names of its first columns; the others have those of the query.
    pub columns: Vec<Name>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// WITH (…): names and texts of values.
    pub options: Vec<(String, String)>,
    /// What it is made from.
    pub query: Query,
    /// Not WITH NO DATA.
    pub with_data: bool,
    /// TEMPORARY, and what a commit does about it.
    pub temporary: Option<OnCommit>,
    /// UNLOGGED.
    pub unlogged: bool,
    /// It was written as SELECT … INTO.
    pub selects: bool,
    /// `AS EXECUTE`.
    pub executes: bool,
}

/// What stands between the parentheses of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(ColumnDefinition),
    /// What a partition says of a column of the whole table, or a typed table of one of its type; the type is not given.
    Options(ColumnDefinition),
    /// A table constraint.
    Constraint(ConstraintDefinition),
    /// `LIKE t`.
    Like {
        /// The table to copy, or view, or composite type.
        table: QualifiedName,
        /// INCLUDING DEFAULTS.
        defaults: bool,
        /// INCLUDING CONSTRAINTS.
        constraints: bool,
        /// INCLUDING INDEXES.
        indexes: bool,
        /// INCLUDING IDENTITY.
        identity: bool,
        /// INCLUDING GENERATED.
        generated: bool,
        /// INCLUDING COMMENTS.
        comments: bool,
        /// INCLUDING STATISTICS.
        statistics: bool,
        /// INCLUDING STORAGE.
        storage: bool,
        /// INCLUDING COMPRESSION.
        compression: bool,
    },
}

/// A column of CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDefinition {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: SqlType,
    /// NOT NULL.
    pub not_null: bool,
    /// DEFAULT, and its text, which the catalog keeps.
    pub default: Option<(Expr, String)>,
    /// `serial` and its relatives.
    pub serial: bool,
    /// GENERATED … AS IDENTITY, with the options of its sequence.
    pub identity: Option<(Identity, Box<CreateSequence>)>,
    /// GENERATED ALWAYS AS (…), with the expression's text.
    pub generated: Option<(Expr, String)>,
    /// Is it computed when it is read, not STORED?
    pub is_virtual: bool,
    /// RESERVABLE.
    pub reservable: bool,
    /// STORAGE.
    pub storage: Option<Box<Name>>,
    /// COMPRESSION.
    pub compression: Option<Box<Name>>,
    /// Its constraints.
    pub constraints: Vec<ConstraintDefinition>,
}

impl ColumnDefinition {
    /// One of which no more is said than its name and its type.
    pub fn plain(name: Name, ty: SqlType) -> ColumnDefinition {
        ColumnDefinition {
            name,
            ty,
            not_null: false,
            default: None,
            serial: false,
            identity: None,
            generated: None,
            is_virtual: false,
            reservable: false,
            storage: None,
            compression: None,
            constraints: Vec::new(),
        }
    }
}

/// A constraint of a column or a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ConstraintDefinition {
    /// `CONSTRAINT name`.
    pub name: Option<Name>,
    /// What it demands.
    pub clause: ConstraintClause,
    /// DEFERRABLE.
    pub deferrable: bool,
    /// INITIALLY DEFERRED.
    pub initially_deferred: bool,
    /// NOT VALID: the rows that are there are not checked.
    pub not_valid: bool,
    /// NOT ENFORCED: no rows are checked.
    pub not_enforced: bool,
    /// NO INHERIT: it is not one of partitions, too.
    pub no_inherit: bool,
    /// Where it starts.
    pub at: u32,
}

/// What ALTER CONSTRAINT says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConstraintChange {
    /// `[NOT] DEFERRABLE`.
    pub deferrable: Option<bool>,
    /// `INITIALLY DEFERRED`, `INITIALLY IMMEDIATE`.
    pub initially_deferred: Option<bool>,
    /// `[NOT] ENFORCED`.
    pub enforced: Option<bool>,
    /// `[NO] INHERIT`.
    pub inherit: Option<bool>,
}

/// EXCLUDE: which rows may not be there together.
#[derive(Clone, Debug, PartialEq)]
pub struct Exclude {
    /// USING; btree without.
    pub method: Option<Name>,
    /// What is compared, and by which operator.
    pub elements: Vec<(IndexElement, QualifiedName)>,
    /// INCLUDE.
    pub include: Vec<Name>,
    /// WHERE, and its text.
    pub predicate: Option<(Expr, String)>,
    /// Storage parameters of its index.
    pub options: Vec<(String, String)>,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintClause {
    /// `NOT NULL a`.
    NotNull(Name),
    /// CHECK, with its text, which the catalog keeps.
    Check(Expr, String),
    /// UNIQUE, PRIMARY KEY.
    Unique {
        /// The columns.
        columns: Vec<Name>,
        /// PRIMARY KEY.
        primary: bool,
        /// Not NULLS NOT DISTINCT.
        nulls_distinct: bool,
        /// WITHOUT OVERLAPS behind the last column.
        without_overlaps: bool,
        /// INCLUDE.
        include: Vec<Name>,
        /// USING INDEX: an index that is there, in place of columns.
        index: Option<Name>,
        /// Storage parameters of its index.
        options: Vec<(String, String)>,
    },
    /// EXCLUDE.
    Exclude(Box<Exclude>),
    /// FOREIGN KEY, REFERENCES.
    Foreign {
        /// The referencing columns.
        columns: Vec<Name>,
        /// The table referenced.
        table: QualifiedName,
        /// Its columns; empty means its primary key.
        referenced: Vec<Name>,
        /// PERIOD in front of the last column, of this table and of that.
        period: (bool, bool),
        /// MATCH FULL.
        match_full: bool,
        /// ON DELETE.
        on_delete: ReferentialAction,
        /// ON UPDATE.
        on_update: ReferentialAction,
        /// The columns that ON DELETE SET NULL or SET DEFAULT sets.
        delete_columns: Vec<Name>,
    },
}

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: QualifiedName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The changes in order.
    pub actions: Vec<AlterAction>,
    /// ALTER MATERIALIZED VIEW.
    pub materialized: bool,
    /// ONLY: without its partitions.
    pub only: bool,
}

/// One change of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the fields are the parts of the form that the variant's comment spells out")]
pub enum AlterAction {
    /// OWNER TO, beside others.
    Owner(RoleName),
    /// OF a composite type, NOT OF.
    OfType(Option<QualifiedName>),
    /// ATTACH PARTITION.
    AttachPartition {
        /// The table that becomes a partition.
        partition: QualifiedName,
        /// Which rows it has, and where that stands.
        bound: (PartitionBound, Span),
    },
    /// DETACH PARTITION.
    DetachPartition {
        /// The partition.
        partition: QualifiedName,
        /// CONCURRENTLY or FINALIZE.
        later: bool,
    },
    /// `ADD COLUMN [IF NOT EXISTS] column`.
    AddColumn { column: ColumnDefinition, if_not_exists: bool },
    /// `ENABLE | DISABLE | [NO] FORCE ROW LEVEL SECURITY`: what is not given stays.
    RowSecurity { enabled: Option<bool>, forced: Option<bool> },
    /// `SET LOGGED | UNLOGGED`.
    Logged(bool),
    /// `COMPRESS`: data pages are packed.
    Pack,
    /// `REPACK`: they are packed once more.
    Repack,
    /// `CREATE DICTIONARY`: texts are packed with symbols.
    CreateDictionary,
    /// `SHRINK`: free pages go back to the database.
    Shrink,
    /// `DROP COLUMN [IF EXISTS] column [CASCADE]`.
    DropColumn { column: Name, if_exists: bool, cascade: bool },
    /// `ALTER COLUMN column TYPE ty [USING using]`.
    ColumnType { column: Name, ty: SqlType, using: Option<Expr> },
    /// `ALTER COLUMN column SET | DROP NOT NULL`.
    NotNull { column: Name, not_null: bool },
    /// `ALTER COLUMN column [SET] [NOT] RESERVABLE`, `MODIFY column [NOT] RESERVABLE`.
    Reservable { column: Name, reservable: bool },
    /// `ALTER COLUMN column SET DEFAULT default | DROP DEFAULT`.
    Default { column: Name, default: Option<(Expr, String)> },
    /// `ALTER COLUMN column SET EXPRESSION AS (expression)`.
    SetExpression { column: Name, expression: (Expr, String) },
    /// `ALTER COLUMN column DROP EXPRESSION [IF EXISTS]`.
    DropExpression { column: Name, if_exists: bool },
    /// `ALTER COLUMN column ADD GENERATED … AS IDENTITY [(options)]`.
    AddIdentity { column: Name, identity: Identity, sequence: Box<CreateSequence> },
    /// `ALTER COLUMN column SET GENERATED … SET option … RESTART`.
    SetIdentity { column: Name, identity: Option<Identity>, options: Box<SequenceOptions> },
    /// `ALTER COLUMN column DROP IDENTITY [IF EXISTS]`.
    DropIdentity { column: Name, if_exists: bool },
    /// `ALTER COLUMN c SET (name = value, …)`, `RESET (name, …)`: none where it is reset.
    ColumnOptions { column: Name, options: Vec<(String, Option<String>)> },
    /// `REPLICA IDENTITY …`.
    ReplicaIdentity(ReplicaIdentity),
    /// `ALTER COLUMN c SET STATISTICS n`; none for DEFAULT.
    Statistics { column: Name, target: Option<i64> },
    /// `ALTER COLUMN c SET STORAGE how`.
    Storage { column: Name, how: Name },
    /// `ALTER COLUMN c SET COMPRESSION method`.
    Compression { column: Name, method: Name },
    /// `CLUSTER ON index`, `SET WITHOUT CLUSTER`.
    ClusterOn(Option<Name>),
    /// `ADD constraint`.
    AddConstraint(ConstraintDefinition),
    /// `DROP CONSTRAINT [IF EXISTS] name [CASCADE]`.
    DropConstraint { name: Name, if_exists: bool, cascade: bool },
    /// `VALIDATE CONSTRAINT name`.
    ValidateConstraint(Name),
    /// `ALTER CONSTRAINT name …`.
    AlterConstraint { name: Name, change: ConstraintChange },
    /// `RENAME TO name`.
    Rename(Name),
    /// `RENAME COLUMN column TO to`.
    RenameColumn { column: Name, to: Name },
    /// `RENAME CONSTRAINT name TO to`.
    RenameConstraint { name: Name, to: Name },
    /// `ENABLE [REPLICA | ALWAYS] | DISABLE TRIGGER which`.
    Triggers { which: WhichTriggers, state: TriggerState },
    /// `SET (name = value, …)`.
    Options(Vec<(String, String)>),
    /// `RESET (name, …)`.
    ResetOptions(Vec<String>),
}

impl AlterAction {
    /// Whether materialized views are altered so, too: how their rows are kept, and what is known of them.
    pub fn suits_materialized_views(&self) -> bool {
        match self {
            AlterAction::RenameColumn { .. }
            | AlterAction::Statistics { .. }
            | AlterAction::Storage { .. }
            | AlterAction::Compression { .. }
            | AlterAction::ClusterOn(_)
            | AlterAction::Options(_)
            | AlterAction::ResetOptions(_) => true,
            // Only tables have reservable columns.
            AlterAction::ColumnOptions { options, .. } => {
                options.iter().all(|(name, _)| name != "reservable")
            }
            _ => false,
        }
    }
}

/// What says which row of a table was changed, for programs that read changes.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaIdentity {
    /// `DEFAULT`: the primary key.
    Default,
    /// `FULL`: all columns.
    Full,
    /// `NOTHING`.
    Nothing,
    /// `USING INDEX index`.
    Index(Name),
}

/// CLUSTER, and VACUUM FULL of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// The table; without one, all that CLUSTER ON says something of.
    pub table: Option<QualifiedName>,
    /// USING.
    pub index: Option<Name>,
    /// Said as VACUUM FULL: in the order in which the rows come.
    pub full: bool,
    /// VERBOSE.
    pub verbose: bool,
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// Its name.
    pub name: Option<Name>,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// UNIQUE.
    pub unique: bool,
    /// Not NULLS NOT DISTINCT.
    pub nulls_distinct: bool,
    /// The table.
    pub table: QualifiedName,
    /// ON ONLY.
    pub only: bool,
    /// USING, if it is another one than btree: gin, or one that a B+tree stands in for.
    pub method: Option<String>,
    /// The parts of its key.
    pub parts: Vec<IndexElement>,
    /// INCLUDE.
    pub include: Vec<Name>,
    /// WHERE, and its text.
    pub predicate: Option<(Expr, String)>,
    /// WITH (parallel_workers = …).
    pub parallel: Option<u32>,
    /// The other storage parameters, as name and value.
    pub options: Vec<(String, String)>,
    /// CONCURRENTLY: writers go on.
    pub concurrently: bool,
}

/// REINDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct Reindex {
    /// Which indexes.
    pub target: ReindexTarget,
    /// (PARALLEL …).
    pub parallel: Option<u32>,
    /// CONCURRENTLY: writers go on.
    pub concurrently: bool,
    /// (VERBOSE).
    pub verbose: bool,
}

impl Reindex {
    /// Are they the indexes of several tables, each of which is a transaction of its own?
    #[must_use]
    pub fn names_many(&self) -> bool {
        matches!(
            self.target,
            ReindexTarget::Schema(_)
                | ReindexTarget::Database(_)
                | ReindexTarget::System(_)
                | ReindexTarget::Collations
        )
    }
}

/// The indexes that REINDEX builds anew.
#[derive(Clone, Debug, PartialEq)]
pub enum ReindexTarget {
    /// One.
    Index(QualifiedName),
    /// Those of a table.
    Table(QualifiedName),
    /// Those of a schema's tables.
    Schema(Name),
    /// All; with the database's name or without.
    Database(Option<Name>),
    /// Those of the system, of which nothing is to be done; with the database's name or without.
    System(Option<Name>),
    /// Those whose keys were made from other data of collations than the program has.
    Collations,
}

/// `ALTER INDEX name ACTIVE | INACTIVE`, as Firebird has it, or `ATTACH PARTITION part`.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterIndex {
    /// Which.
    pub name: QualifiedName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// What is to become of it.
    pub change: IndexChange,
}

/// What ALTER INDEX says.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexChange {
    /// Whether it is to be used, and built anew for that.
    Active(bool),
    /// ATTACH PARTITION: the index of a partition that becomes a part of it.
    Attach(QualifiedName),
    /// SET (…).
    Options(Vec<(String, String)>),
    /// RESET (…).
    ResetOptions(Vec<String>),
    /// ALTER COLUMN n SET STATISTICS.
    Statistics {
        /// The number of the column.
        number: i64,
        /// How many values are kept; as many as usual.
        target: Option<i64>,
    },
}

/// A part of an index's key.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexElement {
    /// What it is of.
    pub key: IndexKey,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
    /// Its operator class.
    pub class: Option<Name>,
    /// COLLATE.
    pub collation: Option<QualifiedName>,
}

/// What a part of an index's key is of.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexKey {
    /// A column.
    Column(Name),
    /// An expression, and its text.
    Expression(Expr, String),
}

/// LOCK TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct LockTable {
    /// The tables, and whether ONLY stands before them.
    pub tables: Vec<(QualifiedName, bool)>,
    /// IN … MODE.
    pub mode: TableLockMode,
    /// NOWAIT.
    pub nowait: bool,
}

/// The modes of LOCK TABLE, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PostgreSQL's names")]
pub enum TableLockMode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

/// SET CONSTRAINTS.
#[derive(Clone, Debug, PartialEq)]
pub struct SetConstraints {
    /// Which; empty means ALL.
    pub names: Vec<QualifiedName>,
    /// DEFERRED, not IMMEDIATE.
    pub deferred: bool,
}
