//! What a `CREATE` asks for, as the binder hands it over: names folded, types known, expressions as SQL text.

use std::sync::Arc;

use verso_types::{Collation, Exclusion, SqlType};

use crate::definition::{
    ColumnDef, FunctionArg, FunctionLanguage, FunctionReturn, Identity, Oid, ReferentialAction,
    ReplicaIdentity, TableOptions, Volatility,
};
use crate::partition::{PartOrder, PartitionOf, Strategy};
use crate::planning::Planning;
use crate::sequence::SequenceBounds;
use crate::stored::StoredQuery;
use crate::trigger::TriggerEnabled;

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTable {
    /// The schema; `None` is the first of the search path, `public`.
    pub schema: Option<Arc<str>>,
    /// The table's name.
    pub name: Arc<str>,
    /// Its columns in order.
    pub columns: Vec<NewColumn>,
    /// Its constraints in order.
    pub constraints: Vec<NewConstraint>,
    /// Storage parameters.
    pub options: TableOptions,
    /// What it shows, of a materialized view.
    pub materialized: Option<StoredQuery>,
    /// UNLOGGED?
    pub unlogged: bool,
    /// PARTITION BY: how, and by what.
    pub partition_by: Option<(Strategy, Vec<NewKeyPart>)>,
    /// PARTITION OF.
    pub partition_of: Option<PartitionOf>,
}

impl NewTable {
    /// A table of these columns, without constraints.
    pub fn new(name: impl Into<Arc<str>>, columns: Vec<NewColumn>) -> NewTable {
        NewTable {
            schema: None,
            name: name.into(),
            columns,
            constraints: Vec::new(),
            options: TableOptions::default(),
            materialized: None,
            unlogged: false,
            partition_by: None,
            partition_of: None,
        }
    }
}

/// A part of the key by which a new table is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewKeyPart {
    /// What it is.
    pub of: KeyPartOf,
    /// How its values are ordered.
    pub order: PartOrder,
}

/// What a part of such a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyPartOf {
    /// A column.
    Column(Arc<str>),
    /// An expression: its type and its text. The table gets a hidden column for it.
    Expression(SqlType, Arc<str>),
}

impl NewKeyPart {
    /// The column, where it is one.
    pub fn column(&self) -> Option<&str> {
        match &self.of {
            KeyPartOf::Column(name) => Some(name),
            KeyPartOf::Expression(..) => None,
        }
    }
}

/// A constraint of a new table, or one that ALTER TABLE adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewConstraint {
    /// Its name; one is made where none is given.
    pub name: Option<Arc<str>>,
    /// What it demands.
    pub kind: NewConstraintKind,
    /// DEFERRABLE?
    pub deferrable: bool,
    /// INITIALLY DEFERRED?
    pub initially_deferred: bool,
    /// Not NOT VALID?
    pub validated: bool,
    /// Not NOT ENFORCED?
    pub enforced: bool,
    /// Of a partition's key: the index of the whole table that its index is a part of.
    pub part_of: Option<Oid>,
    /// NO INHERIT?
    pub no_inherit: bool,
    /// Storage parameters of its index.
    pub options: TableOptions,
}

/// What a new constraint demands; columns by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewConstraintKind {
    /// NOT NULL.
    NotNull {
        /// The column.
        column: Arc<str>,
    },
    /// CHECK.
    Check {
        /// The condition, as SQL text.
        expression: Arc<str>,
        /// The columns in it, for the name.
        columns: Vec<Arc<str>>,
    },
    /// UNIQUE, PRIMARY KEY.
    Unique {
        /// The columns.
        columns: Vec<Arc<str>>,
        /// PRIMARY KEY?
        primary: bool,
        /// Not NULLS NOT DISTINCT?
        nulls_distinct: bool,
        /// Ranges in the last column do not overlap: WITHOUT OVERLAPS?
        without_overlaps: bool,
        /// INCLUDE.
        include: Vec<Arc<str>>,
    },
    /// EXCLUDE.
    Exclude {
        /// What is compared, with operators.
        parts: Vec<NewIndexPart>,
        /// INCLUDE.
        include: Vec<Arc<str>>,
        /// WHERE: the hidden column of its condition.
        guard: Option<u16>,
        /// The access method.
        method: Arc<str>,
    },
    /// FOREIGN KEY, REFERENCES.
    Foreign {
        /// The referencing columns.
        columns: Vec<Arc<str>>,
        /// The referenced table's schema.
        schema: Option<Arc<str>>,
        /// The referenced table.
        table: Arc<str>,
        /// Its columns; empty means its primary key.
        referenced: Vec<Arc<str>>,
        /// PERIOD in front of the last column, of this table and of that?
        period: (bool, bool),
        /// MATCH FULL?
        match_full: bool,
        /// ON DELETE.
        on_delete: ReferentialAction,
        /// ON UPDATE.
        on_update: ReferentialAction,
        /// `ON DELETE SET NULL (a, b)`.
        delete_columns: Vec<Arc<str>>,
    },
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIndex {
    /// Its name; one is made where none is given.
    pub name: Option<Arc<str>>,
    /// The table's schema.
    pub schema: Option<Arc<str>>,
    /// The table.
    pub table: Arc<str>,
    /// The parts of its key.
    pub parts: Vec<NewIndexPart>,
    /// INCLUDE.
    pub include: Vec<Arc<str>>,
    /// WHERE: the hidden column of its condition.
    pub guard: Option<u16>,
    /// UNIQUE?
    pub unique: bool,
    /// Not NULLS NOT DISTINCT?
    pub nulls_distinct: bool,
    /// CONCURRENTLY: writers go on.
    pub concurrently: bool,
    /// In a partition: the index of the whole table that it is a part of.
    pub part_of: Option<Oid>,
    /// Storage parameters.
    pub options: TableOptions,
}

/// A part of a new index's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewIndexPart {
    /// The column's name; of an expression what PostgreSQL calls it, for the name of the index.
    pub name: Arc<str>,
    /// The hidden column of an expression.
    pub hidden: Option<u16>,
    /// DESC?
    pub descending: bool,
    /// NULLS FIRST?
    pub nulls_first: bool,
    /// Its operator class.
    pub class: crate::KeyClass,
    /// In the order of which collation; by bytes without.
    pub collation: Option<Arc<Collation>>,
    /// The operator of an exclusion constraint.
    pub excludes: Option<Exclusion>,
}

/// One change of ALTER TABLE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TableChange {
    /// ADD COLUMN; `values` of existing rows are the rewriter's business.
    AddColumn(NewColumn),
    /// Row types that columns are made of have other fields now; the values are the rewriter's business.
    RowTypes,
    /// What an index to be made needs.
    ForIndex {
        /// Hidden columns of these types and expressions.
        hidden: Vec<(SqlType, Arc<str>)>,
        /// Numbers of columns that leave their packs (see [`crate::packs`]).
        apart: Vec<u16>,
    },
    /// REFRESH MATERIALIZED VIEW: new rows, perhaps none, which then cannot be read.
    Refresh {
        /// WITH DATA?
        populated: bool,
        /// CONCURRENTLY: who reads it goes on.
        concurrently: bool,
    },
    /// CLUSTER, VACUUM FULL: the rows are copied, and nothing else changes.
    Anew,
    /// CLUSTER ON, SET WITHOUT CLUSTER.
    ClusterOn(Option<Oid>),
    /// REPLICA IDENTITY; which index, where it is that of one.
    ReplicaIdentity(ReplicaIdentity, Option<Oid>),
    /// ALTER COLUMN … SET (…), RESET (…): names and values, none for those that are reset.
    ColumnOptions {
        /// Which.
        column: Arc<str>,
        /// Its options.
        options: Vec<(Arc<str>, Option<Arc<str>>)>,
    },
    /// SET LOGGED, SET UNLOGGED.
    Logged(bool),
    /// DROP COLUMN.
    DropColumn {
        /// Which.
        column: Arc<str>,
        /// CASCADE?
        cascade: bool,
    },
    /// ALTER COLUMN … TYPE.
    ColumnType {
        /// Which.
        column: Arc<str>,
        /// The new type.
        ty: SqlType,
        /// The hidden columns of indexes whose expressions name it.
        hidden: Vec<RetypedColumn>,
        /// CHECK constraints and statistics that name it.
        texts: RenamedTexts,
    },
    /// ALTER COLUMN … SET or DROP NOT NULL.
    NotNull {
        /// Which.
        column: Arc<str>,
        /// SET?
        not_null: bool,
    },
    /// `ALTER COLUMN … [NOT] RESERVABLE`.
    Reservable {
        /// Which.
        column: Arc<str>,
        /// Is it?
        reservable: bool,
    },
    /// ALTER COLUMN … SET STATISTICS.
    Statistics {
        /// Which.
        column: Arc<str>,
        /// How many; `None` takes back what was given.
        target: Option<u16>,
    },
    /// ALTER COLUMN … SET or DROP DEFAULT.
    Default {
        /// Which.
        column: Arc<str>,
        /// SQL text; `None` drops it.
        default: Option<Arc<str>>,
    },
    /// ALTER COLUMN … SET EXPRESSION, whose values are the rewriter's business, or DROP EXPRESSION.
    Expression {
        /// Which.
        column: Arc<str>,
        /// SQL text; `None` keeps the values and makes it a column like others.
        expression: Option<Arc<str>>,
    },
    /// ALTER COLUMN … ADD GENERATED AS IDENTITY: the column with its sequence.
    AddIdentity(NewColumn),
    /// ALTER COLUMN … SET GENERATED.
    SetIdentity {
        /// Which.
        column: Arc<str>,
        /// Whether the statement may give values.
        identity: Identity,
    },
    /// A column of a partition takes its numbers from the sequence of the whole table's identity column.
    TakeIdentity {
        /// Which.
        column: Arc<str>,
        /// Whether the statement may give values.
        identity: Identity,
        /// The whole table's default.
        default: Arc<str>,
    },
    /// ALTER COLUMN … DROP IDENTITY, with its sequence.
    DropIdentity {
        /// Which.
        column: Arc<str>,
    },
    /// ADD CONSTRAINT.
    AddConstraint(NewConstraint),
    /// ADD CONSTRAINT … USING INDEX: a unique index becomes that of a constraint, whose name it gets.
    ConstraintOfIndex {
        /// The index.
        index: Oid,
        /// The constraint; its columns are those of the index.
        new: NewConstraint,
    },
    /// DROP CONSTRAINT.
    DropConstraint {
        /// Which.
        name: Arc<str>,
        /// CASCADE?
        cascade: bool,
    },
    /// VALIDATE CONSTRAINT: its rows were found to fulfil it.
    Validated(Arc<str>),
    /// ALTER CONSTRAINT; what is not given stays as it is.
    AlterConstraint {
        /// Which.
        name: Arc<str>,
        /// `[NOT] DEFERRABLE`.
        deferrable: Option<bool>,
        /// INITIALLY DEFERRED, INITIALLY IMMEDIATE.
        initially_deferred: Option<bool>,
        /// `[NOT] ENFORCED`; the rows are checked.
        enforced: Option<bool>,
        /// `[NO] INHERIT`.
        no_inherit: Option<bool>,
    },
    /// OF a composite type, NOT OF.
    OfType(Option<Oid>),
    /// RENAME TO.
    Rename {
        /// The new name.
        to: Arc<str>,
        /// What names the table.
        texts: RenamedTexts,
    },
    /// RENAME COLUMN.
    RenameColumn {
        /// Which.
        column: Arc<str>,
        /// Its new name.
        to: Arc<str>,
        /// What names it.
        texts: RenamedTexts,
    },
    /// RENAME CONSTRAINT.
    RenameConstraint {
        /// Which.
        name: Arc<str>,
        /// Its new name.
        to: Arc<str>,
    },
    /// ENABLE, DISABLE TRIGGER.
    Triggers {
        /// Which.
        which: TriggersOf,
        /// Whether they fire.
        enabled: TriggerEnabled,
    },
    /// RESET (…): options of these names are not given any more.
    ResetOptions(Vec<Arc<str>>),
    /// SET (…).
    Options(TableOptions),
}

/// A hidden column, as it is when a column that it names has another type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetypedColumn {
    /// Its number.
    pub id: u16,
    /// Its type.
    pub ty: SqlType,
    /// Its expression.
    pub text: Arc<str>,
}

/// Texts of a table with the new name of what they name, or as they are when that has another type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenamedTexts {
    /// The conditions of CHECK constraints, by the constraint's number.
    pub checks: Vec<(Oid, Arc<str>)>,
    /// The same of the conditions of triggers.
    pub triggers: Vec<(Oid, Arc<str>)>,
    /// The same of the expressions of generated columns, by the column's number.
    pub generated: Vec<(u16, Arc<str>)>,
    /// The same of the expressions of statistics, by the number of these.
    pub statistics: Vec<(Oid, Vec<Arc<str>>)>,
}

/// A column of a [`NewTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewColumn {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: SqlType,
    /// NOT NULL?
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    pub default: Option<Arc<str>>,
    /// Make a sequence owned by the column, and its `nextval` the default (`serial`)?
    pub serial: bool,
    /// The sequence's bounds, where they are not the type's own (identity columns).
    pub sequence: Option<SequenceBounds>,
    /// The sequence's name, where it is given.
    pub sequence_name: Option<Arc<str>>,
    /// GENERATED … AS IDENTITY.
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS (…); the expression is the default.
    pub generated: bool,
    /// Is such a column VIRTUAL?
    pub is_virtual: bool,
    /// RESERVABLE, which is NOT NULL, too.
    pub reservable: bool,
}

impl NewColumn {
    /// A column that takes NULL and has no default.
    pub fn new(name: impl Into<Arc<str>>, ty: SqlType) -> NewColumn {
        NewColumn {
            name: name.into(),
            ty,
            not_null: false,
            default: None,
            serial: false,
            sequence: None,
            sequence_name: None,
            identity: None,
            generated: false,
            is_virtual: false,
            reservable: false,
        }
    }
}

/// CREATE DOMAIN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDomain {
    /// The schema that it is made in.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The type beneath it.
    pub base: SqlType,
    /// Its default, as SQL text.
    pub default: Option<Arc<str>>,
    /// NOT NULL, and its name as a constraint.
    pub not_null: Option<Option<Arc<str>>>,
    /// Its conditions: names where they were given, SQL texts.
    pub checks: Vec<(Option<Arc<str>>, Arc<str>)>,
}

/// CREATE VIEW.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewView {
    /// The schema.
    pub schema: Arc<str>,
    /// The view's name.
    pub name: Arc<str>,
    /// Its columns, numbered from 1.
    pub columns: Vec<ColumnDef>,
    /// What it shows.
    pub query: StoredQuery,
    /// WITH (…).
    pub options: TableOptions,
}

/// CREATE TYPE … AS ENUM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEnum {
    /// The schema.
    pub schema: Arc<str>,
    /// The type's name.
    pub name: Arc<str>,
    /// Its labels in their order.
    pub labels: Vec<Arc<str>>,
}

/// CREATE TYPE … AS RANGE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRange {
    /// The schema.
    pub schema: Arc<str>,
    /// The type's name.
    pub name: Arc<str>,
    /// The schema and name of its multirange type.
    pub multirange: (Arc<str>, Arc<str>),
    /// The type of the bounds.
    pub subtype: SqlType,
}

/// CREATE TYPE … AS (…).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewComposite {
    /// The schema.
    pub schema: Arc<str>,
    /// The type's name.
    pub name: Arc<str>,
    /// Names and types of its fields in their order.
    pub fields: Vec<(Arc<str>, SqlType)>,
}

/// CREATE SEQUENCE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSequence {
    /// The schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// The sequence's name.
    pub name: Arc<str>,
    /// Start, step, bounds.
    pub bounds: SequenceBounds,
    /// OWNED BY: table (in the same schema) and column.
    pub owned_by: Option<(Arc<str>, Arc<str>)>,
    /// It is not logged.
    pub unlogged: bool,
}

/// Triggers of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TriggersOf {
    /// The one of that name.
    Named(Arc<str>),
    /// All that were created as triggers.
    User,
    /// Those, and the checks of foreign keys on both sides.
    All,
}

/// CREATE FUNCTION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFunction {
    /// The schema; `None` is `public`.
    pub schema: Option<Arc<str>>,
    /// The function's name.
    pub name: Arc<str>,
    /// What it takes.
    pub args: Vec<FunctionArg>,
    /// What it gives.
    pub returns: FunctionReturn,
    /// What its body is written in.
    pub language: FunctionLanguage,
    /// The text between the quotes.
    pub body: Arc<str>,
    /// What the planner may assume.
    pub volatility: Volatility,
    /// `STRICT`?
    pub strict: bool,
    /// `SECURITY DEFINER`?
    pub security_definer: bool,
    /// `LEAKPROOF`?
    pub leakproof: bool,
    /// `COST`, `ROWS`, `PARALLEL`.
    pub planning: Planning,
    /// The relation whose rows it gives.
    pub rows_of: Option<Oid>,
    /// Is the body a statement of SQL's own and no text?
    pub standard_body: bool,
    /// `SET x = y`.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
}
