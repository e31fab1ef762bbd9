//! What the catalog knows of a schema, a table, a sequence, a function.
//!
//! D1. A definition never changes: a change of the schema makes a new one with the same [`Oid`].
//! D2. A column's `id` is its number in storage and in `pg_attribute.attnum`; it starts at 1 and is never reused.
//! D3. `heap` changes with TRUNCATE, the oid does not.

use std::fmt;
use std::sync::Arc;

use verso_storage::page::ObjectId;
use verso_types::{Collation, Exclusion, RowType, SqlType, SystemType};
pub use verso_types::{Identity, ReferentialAction};

use crate::extended::StatisticsDef;
use crate::key_class::KeyClass;
use crate::needs::Need;
use crate::partition::{PartitionOf, Partitioned};
use crate::planning::Planning;
use crate::sequence::SequenceBounds;
use crate::stored::{StoredBody, StoredQuery};
use crate::trigger::TriggerDef;

/// Number of a catalog entry, as in PostgreSQL; unique within its system table and never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub u32);

impl Oid {
    /// First number given to what users create; smaller ones are the system's own.
    pub const FIRST_USER: Oid = Oid(16_384);

    /// Does the entry belong to the system?
    pub fn is_system(self) -> bool {
        self < Oid::FIRST_USER
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.0)
    }
}

/// A schema: a name space of relations and functions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaDef {
    /// Its row in `pg_namespace`.
    pub oid: Oid,
    /// Its name, folded.
    pub name: Arc<str>,
    /// The role whose it is.
    pub owner: Oid,
}

/// An extension that a database has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionDef {
    /// Its row in `pg_extension`.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// The role that made it.
    pub owner: Oid,
    /// The schema that it was made in.
    pub schema: Arc<str>,
    /// Its version.
    pub version: Arc<str>,
}

impl SchemaDef {
    /// Of the role that owns the database.
    pub fn new(oid: Oid, name: impl Into<Arc<str>>) -> SchemaDef {
        SchemaDef { oid, name: name.into(), owner: crate::system::OWNER_OID }
    }
}

/// Where the records of a view would be.
const NO_HEAP: ObjectId = ObjectId(0);

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDef {
    /// Its row in `pg_class`.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Where its records are.
    pub heap: ObjectId,
    /// The columns in their order.
    pub columns: Vec<ColumnDef>,
    /// The columns that were dropped, by number: their numbers are never used again.
    pub dropped: Vec<DroppedColumn>,
    /// Its indexes, by number: those that are used.
    pub indexes: Vec<Arc<IndexDef>>,
    /// Indexes that are not used until they are built anew ([`IndexDef::valid`]).
    pub idle_indexes: Vec<Arc<IndexDef>>,
    /// Its constraints, by name, as they are checked.
    pub constraints: Vec<Arc<ConstraintDef>>,
    /// Foreign keys of other tables, or its own, that reference it.
    pub referenced_by: Vec<Arc<ConstraintDef>>,
    /// Its triggers, by name, as they fire.
    pub triggers: Vec<Arc<TriggerDef>>,
    /// What CREATE STATISTICS has made for it.
    pub extended: Vec<Arc<StatisticsDef>>,
    /// Storage parameters.
    pub options: TableOptions,
    /// It is a materialized view: its rows are those that a query had when it was refreshed.
    pub materialized: Option<Materialized>,
    /// Its rows and indexes are not logged: after a crash it is empty.
    pub unlogged: bool,
    /// Its rows are in partitions: its own heap stays empty and says what is locked.
    pub partitioned: Option<Partitioned>,
    /// It is a partition.
    pub partition_of: Option<PartitionOf>,
}

/// A column that was dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DroppedColumn {
    /// Its number.
    pub id: u16,
    /// The type it had; unknown if that was a user's.
    pub ty: SqlType,
}

impl DroppedColumn {
    /// The name that PostgreSQL gives such a column, so that it stands in no other one's way.
    pub fn name(&self) -> String {
        format!("........pg.dropped.{}........", self.id)
    }
}

/// What a materialized view shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Materialized {
    /// The query.
    pub query: StoredQuery,
    /// Has it been filled? Otherwise it cannot be read.
    pub populated: bool,
}

impl TableDef {
    /// Whether a column, by its place, has no NULL in any row: one whose NOT NULL is NOT VALID may have some.
    pub fn is_never_null(&self, at: usize) -> bool {
        let column = &self.columns[at];
        column.not_null && self.not_null_of(column.id).is_none_or(|constraint| constraint.validated)
    }

    /// The constraint that says that a column is NOT NULL.
    pub fn not_null_of(&self, column: u16) -> Option<&Arc<ConstraintDef>> {
        self.constraints.iter().find(|constraint| constraint.kind == ConstraintKind::NotNull { column })
    }

    /// A table of these columns, without indexes and constraints.
    pub fn new(
        oid: Oid,
        schema: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        heap: ObjectId,
        columns: Vec<ColumnDef>,
    ) -> TableDef {
        TableDef {
            oid,
            schema: schema.into(),
            name: name.into(),
            heap,
            columns,
            dropped: Vec::new(),
            indexes: Vec::new(),
            idle_indexes: Vec::new(),
            constraints: Vec::new(),
            referenced_by: Vec::new(),
            triggers: Vec::new(),
            extended: Vec::new(),
            options: TableOptions::default(),
            materialized: None,
            unlogged: false,
            partitioned: None,
            partition_of: None,
        }
    }

    /// A materialized view as a view.
    pub fn as_view(&self) -> Option<ViewDef> {
        Some(ViewDef {
            oid: self.oid,
            schema: Arc::clone(&self.schema),
            name: Arc::clone(&self.name),
            columns: self.shown().to_vec(),
            query: self.materialized.as_ref()?.query.clone(),
            options: self.options.clone(),
            triggers: Vec::new(),
        })
    }

    /// Whether it stands for a view ([`ViewDef::as_table`]): it has no records.
    pub fn is_view(&self) -> bool {
        self.heap == NO_HEAP
    }

    /// Position of the column with that number in storage.
    pub fn column_with_id(&self, id: u16) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }

    /// Whether transactions can reserve changes of one of its columns.
    pub fn has_reservable(&self) -> bool {
        self.columns.iter().any(|column| column.reservable)
    }

    /// The columns that users see: all but the hidden ones, which stand behind them.
    pub fn shown(&self) -> &[ColumnDef] {
        &self.columns[..self.columns.partition_point(|column| !column.is_hidden())]
    }

    /// The highest number that a column that users see has or had.
    pub fn last_number(&self) -> u16 {
        let shown = self.shown().iter().map(|column| column.id);
        shown.chain(self.dropped.iter().map(|column| column.id)).max().unwrap_or(0)
    }

    /// Its indexes, those also that are not used.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Arc<IndexDef>> {
        self.indexes.iter().chain(&self.idle_indexes)
    }

    /// Its index with that row in `pg_class`.
    pub fn index(&self, oid: Oid) -> Option<&Arc<IndexDef>> {
        self.all_indexes().find(|index| index.oid == oid)
    }

    /// Its primary key.
    pub fn primary_key(&self) -> Option<&Arc<IndexDef>> {
        self.indexes.iter().find(|index| index.primary)
    }

    /// Its constraint of that name.
    pub fn constraint(&self, name: &str) -> Option<&Arc<ConstraintDef>> {
        self.constraints.iter().find(|constraint| &*constraint.name == name)
    }

    /// The same of a text that the catalog keeps, which may name it by its number.
    pub fn constraint_kept(&self, name: &str) -> Option<&Arc<ConstraintDef>> {
        match crate::kept::constraint_of(name) {
            Some((oid, _)) => self.constraints.iter().find(|constraint| constraint.oid == oid),
            None => self.constraint(name),
        }
    }

    /// Its trigger of that name.
    pub fn trigger(&self, name: &str) -> Option<&Arc<TriggerDef>> {
        self.triggers.iter().find(|trigger| &*trigger.name == name)
    }

    /// The constraint trigger whose constraint has that name.
    pub fn constraint_trigger(&self, name: &str) -> Option<&Arc<TriggerDef>> {
        self.triggers.iter().find(|trigger| trigger.own_constraint().is_some_and(|own| **own == *name))
    }

    /// Position of the column of that name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| &*column.name == name)
    }

    /// Whether it has columns that are computed when they are read.
    pub fn has_virtual(&self) -> bool {
        self.columns.iter().any(|column| column.is_virtual)
    }

    /// Its generated columns whose expressions name a column.
    pub fn generated_from(&self, column: &str) -> impl Iterator<Item = &ColumnDef> {
        let uses = |text: &Arc<str>| crate::kept::names_plainly(text, column);
        self.columns.iter().filter(move |other| other.generated && other.default.as_ref().is_some_and(uses))
    }

    /// The numbers of the columns that an expression names.
    pub fn named_in<'t>(&'t self, text: &'t str) -> impl Iterator<Item = u16> + 't {
        let named = |column: &&ColumnDef| crate::kept::names_plainly(text, &column.name);
        self.shown().iter().filter(move |column| named(column)).map(|column| column.id)
    }

    /// Does it go with the session that made it?
    pub fn is_temporary(&self) -> bool {
        crate::path::is_temporary(&self.schema)
    }

    /// One of the system's own tables, which only schema changes write?
    pub fn is_system(&self) -> bool {
        self.oid.is_system()
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDef {
    /// Its name, folded.
    pub name: Arc<str>,
    /// Its number in storage: from 1, never reused.
    pub id: u16,
    /// The type of its values.
    pub ty: SqlType,
    /// The domain, or the array of one, or the type with a collation, that it was declared as.
    pub domain: Option<SqlType>,
    /// Declared NOT NULL?
    pub not_null: bool,
    /// DEFAULT, as SQL text.
    pub default: Option<Arc<str>>,
    /// GENERATED … AS IDENTITY; the default takes the next number then.
    pub identity: Option<Identity>,
    /// GENERATED ALWAYS AS (…): the default is an expression over the other columns then, and nothing else sets the column.
    pub generated: bool,
    /// Is such a column VIRTUAL? It is computed when it is read, and NULL in all records.
    pub is_virtual: bool,
    /// RESERVABLE: transactions add to its numbers without waiting for each other.
    pub reservable: bool,
    /// SET STATISTICS: how many common values and groups of a histogram ANALYZE keeps, where that is given.
    pub statistics: Option<u16>,
}

impl ColumnDef {
    /// Numbers of hidden columns begin here, behind those of all others, so that they stand last.
    pub const FIRST_HIDDEN: u16 = 2_000;

    /// Is it a column that indexes need and nobody sees: the values of an expression, or which rows an index has? It is
    /// computed like a generated column; one that no index needs any more is NULL until the rows are copied. A table that is
    /// divided by an expression has one for it as well.
    pub fn is_hidden(&self) -> bool {
        ColumnDef::is_hidden_id(self.id)
    }

    /// Is it the number of a hidden column?
    pub fn is_hidden_id(id: u16) -> bool {
        id >= ColumnDef::FIRST_HIDDEN
    }

    /// The hidden column of that number for an expression.
    pub(crate) fn hidden(id: u16, ty: &SqlType, text: &Arc<str>) -> ColumnDef {
        // No text has such a name.
        let column = ColumnDef::new(format!("\0{id}"), id, ty.erased());
        let domain = ColumnDef::domain_of(ty);
        ColumnDef { default: Some(Arc::clone(text)), generated: true, domain, ..column }
    }

    /// A column that takes NULL and has no default.
    pub fn new(name: impl Into<Arc<str>>, id: u16, ty: SqlType) -> ColumnDef {
        ColumnDef {
            name: name.into(),
            id,
            ty,
            domain: None,
            not_null: false,
            default: None,
            identity: None,
            generated: false,
            is_virtual: false,
            reservable: false,
            statistics: None,
        }
    }

    /// The type that it was declared as.
    pub fn declared(&self) -> &SqlType {
        self.domain.as_ref().unwrap_or(&self.ty)
    }

    /// The type of its values with their collation.
    pub fn seen(&self) -> SqlType {
        match &self.domain {
            None => self.ty.clone(),
            Some(declared) => declared.seen(),
        }
    }

    /// The domain that a type to declare a column as is, as [`ColumnDef::domain`] has it.
    pub fn domain_of(ty: &SqlType) -> Option<SqlType> {
        (ty.is_constrained() || matches!(ty, SqlType::Collated(_))).then(|| ty.clone())
    }
}

/// Storage parameters of a table: `WITH (…)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// As given, folded: name and text of the value.
    pub given: Vec<(Arc<str>, Arc<str>)>,
}

impl TableOptions {
    /// The text of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.given.iter().find(|(given, _)| &**given == name).map(|(_, value)| &**value)
    }

    /// Those that users have given.
    pub fn shown(&self) -> impl Iterator<Item = &(Arc<str>, Arc<str>)> {
        let is_hidden = |name: &str| {
            [STOOD_IN_FOR, REPLICA_IDENTITY, OF_TYPE].contains(&name)
                || name.starts_with(OF_COLUMN)
                || name.starts_with(OF_LONG_VALUES)
        };
        self.given.iter().filter(move |(name, _)| !is_hidden(name))
    }

    /// Puts a parameter in the place of the one of that name, or takes that away.
    pub fn set(&mut self, name: &str, value: Option<&str>) {
        self.given.retain(|(known, _)| **known != *name);
        self.given.extend(value.map(|value| (Arc::from(name), Arc::from(value))));
    }

    /// Whether a parameter that is on or off is on.
    pub fn is_on(&self, name: &str) -> bool {
        let value = self.get(name).map(str::to_ascii_lowercase);
        matches!(value.as_deref(), Some("true" | "on" | "yes" | "1"))
    }
}

/// The parameter that holds the access method which an index was declared with, where a B+tree stands in for it. No statement
/// sets it by name.
pub const STOOD_IN_FOR: &str = "access_method";

/// The parameter of a table that holds its replica identity: the letter that `pg_class.relreplident` shows. No statement sets it
/// by name.
const REPLICA_IDENTITY: &str = "replica_identity";

/// The parameter of a table that holds the number of the composite type that its columns are of. No statement sets it by name.
const OF_TYPE: &str = "of_type";

/// What the names of parameters begin with that are those of a column: `column.3.n_distinct`. No statement sets them by name.
const OF_COLUMN: &str = "column.";

/// Options of columns that hold STORAGE and COMPRESSION as letters. Long values are kept and compressed in one way; what is said
/// of it is kept for dumps.
pub const COLUMN_STORAGE: &str = "storage";
/// See [`COLUMN_STORAGE`].
pub const COLUMN_COMPRESSION: &str = "compression";

/// What the names of parameters begin with that PostgreSQL keeps with the table of a table's long values.
const OF_LONG_VALUES: &str = "toast.";

/// Which values of a row say which one was changed, as `pg_class.relreplident` has it: programs that read changes ask for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplicaIdentity {
    /// Those of its primary key.
    #[default]
    Default,
    /// All.
    Full,
    /// None.
    Nothing,
    /// Those of an index ([`IndexDef::replica_identity`]).
    Index,
}

impl ReplicaIdentity {
    /// As in `pg_class.relreplident`.
    pub fn letter(self) -> char {
        match self {
            ReplicaIdentity::Default => 'd',
            ReplicaIdentity::Full => 'f',
            ReplicaIdentity::Nothing => 'n',
            ReplicaIdentity::Index => 'i',
        }
    }
}

impl TableDef {
    /// Its replica identity.
    pub fn replica_identity(&self) -> ReplicaIdentity {
        match self.options.get(REPLICA_IDENTITY) {
            Some("f") => ReplicaIdentity::Full,
            Some("n") => ReplicaIdentity::Nothing,
            Some("i") => ReplicaIdentity::Index,
            _ => ReplicaIdentity::Default,
        }
    }

    /// The composite type that its columns are of, where it is a typed table.
    pub fn of_type(&self) -> Option<Oid> {
        self.options.of_type()
    }

    /// What `ALTER COLUMN … SET (…)` has said of a column, by its number.
    pub fn column_options(&self, id: u16) -> impl Iterator<Item = (&str, &str)> {
        self.told_of_column(id).filter(|(name, _)| !matches!(*name, COLUMN_STORAGE | COLUMN_COMPRESSION))
    }

    /// STORAGE of a column, where it is another one than its type's: the letter that `pg_attribute.attstorage` shows.
    pub fn column_storage(&self, id: u16) -> Option<char> {
        self.told_of_column(id).find(|(name, _)| *name == COLUMN_STORAGE)?.1.chars().next()
    }

    /// COMPRESSION of a column, where it is said: the letter that `pg_attribute.attcompression` shows.
    pub fn column_compression(&self, id: u16) -> Option<char> {
        self.told_of_column(id).find(|(name, _)| *name == COLUMN_COMPRESSION)?.1.chars().next()
    }

    fn told_of_column(&self, id: u16) -> impl Iterator<Item = (&str, &str)> {
        self.options.given.iter().filter_map(move |(name, value)| {
            let (number, option) = name.strip_prefix(OF_COLUMN)?.split_once('.')?;
            (number.parse::<u16>().ok()? == id).then_some((option, &**value))
        })
    }

    /// How many different values a column has, or which part of the rows where it is negative, as users have said.
    pub fn told_distinct(&self, id: u16) -> Option<f64> {
        let told = self.column_options(id).find(|(name, _)| *name == "n_distinct")?.1;
        told.parse().ok().filter(|told| *told != 0.0)
    }
}

impl TableOptions {
    /// The composite type that the columns of a table are of.
    pub fn of_type(&self) -> Option<Oid> {
        self.get(OF_TYPE)?.parse().ok().map(Oid)
    }

    /// Says of which composite type they are; of none.
    pub fn set_of_type(&mut self, ty: Option<Oid>) {
        self.set(OF_TYPE, ty.map(|ty| ty.to_string()).as_deref());
    }

    /// Says what the replica identity of a table is.
    pub(crate) fn set_replica_identity(&mut self, identity: ReplicaIdentity) {
        let letter = identity.letter().to_string();
        let is_default = identity == ReplicaIdentity::Default;
        self.set(REPLICA_IDENTITY, (!is_default).then_some(letter.as_str()));
    }

    /// Sets an option of a column, or takes it away.
    pub(crate) fn set_of_column(&mut self, id: u16, name: &str, value: Option<&str>) {
        self.set(&format!("{OF_COLUMN}{id}.{name}"), value);
    }
}

/// An index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexDef {
    /// Its row in `pg_class`.
    pub oid: Oid,
    /// The schema it is in: its table's.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Its table.
    pub table: Oid,
    /// Where its entries are; 0 for one that is not valid.
    pub object: ObjectId,
    /// Is it used, and kept in step? Otherwise it is a name and a definition, until it is built anew.
    pub valid: bool,
    /// Is it not valid because its keys were made from other data of collations than the program has, or are in an order
    /// that its types had once?
    pub outdated: bool,
    /// The columns of its key, most significant first. An expression is a hidden column ([`ColumnDef::is_hidden`]).
    pub parts: Vec<IndexPart>,
    /// INCLUDE: columns that its rows have beside the key.
    pub include: Vec<u16>,
    /// WHERE: the hidden column that is true for the rows that the index has, and NULL for others.
    pub guard: Option<u16>,
    /// At most one row of each key?
    pub unique: bool,
    /// The primary key's?
    pub primary: bool,
    /// Do keys with NULL never count as equal?
    pub nulls_distinct: bool,
    /// The constraint it belongs to.
    pub constraint: Option<Oid>,
    /// May its uniqueness be checked at commit?
    pub deferrable: bool,
    /// Is it, unless SET CONSTRAINTS says otherwise?
    pub initially_deferred: bool,
    /// In a partition: the index of the whole table that it is the part of. That one has no entries, and says what new
    /// partitions get.
    pub part_of: Option<Oid>,
    /// Of an exclusion constraint: how it was declared.
    pub excluding: Option<Arc<Excluding>>,
    /// CLUSTER ON: is it the one in whose order CLUSTER puts the table?
    pub clustered: bool,
    /// REPLICA IDENTITY USING INDEX: is it the one whose columns say which row was changed?
    pub replica_identity: bool,
    /// Storage parameters.
    pub options: TableOptions,
}

impl IndexDef {
    /// Is it an inverted one: does a row have several entries, or none?
    pub fn is_inverted(&self) -> bool {
        self.parts.first().is_some_and(|part| part.class.is_inverted())
    }

    /// What it was built with, where it is [outdated](IndexDef::outdated).
    pub fn built_with(&self) -> &'static str {
        match self.parts.iter().any(|part| part.collation.is_some()) {
            true => "with another version of its collation",
            false => "with another order of its type",
        }
    }

    /// Do its rows exclude each other by operators?
    pub fn excludes(&self) -> bool {
        self.parts.iter().any(|part| part.excludes.is_some())
    }

    /// Is it that of a key WITHOUT OVERLAPS?
    pub fn is_temporal(&self) -> bool {
        self.unique && self.excludes()
    }

    /// Its parts in the order in which they were declared.
    pub fn declared(&self) -> Vec<&IndexPart> {
        match &self.excluding {
            Some(excluding) => excluding.order.iter().filter_map(|at| self.parts.get(*at)).collect(),
            None => self.parts.iter().collect(),
        }
    }

    /// The access method that users see.
    pub fn method(&self) -> &str {
        match &self.excluding {
            Some(excluding) => &excluding.method,
            None if self.is_inverted() => "gin",
            None if self.excludes() => "gist",
            None => self.options.get(STOOD_IN_FOR).unwrap_or("btree"),
        }
    }

    /// The operator class of a part behind a blank, where it is none that goes without saying.
    pub fn class_suffix(&self, table: &TableDef, part: &IndexPart) -> String {
        let ty = table.column_with_id(part.column).map(|at| &table.columns[at].ty);
        let is_network = matches!(ty, Some(SqlType::System(SystemType::Inet | SystemType::Cidr)));
        match part.excludes {
            Some(Exclusion::Overlaps) if is_network && self.method() == "gist" => " inet_ops".to_string(),
            _ => part.class.suffix(),
        }
    }

    /// The columns that its entries depend on.
    pub fn columns(&self) -> impl Iterator<Item = u16> {
        self.parts.iter().map(|part| part.column).chain(self.include.iter().copied()).chain(self.guard)
    }

    /// The columns that its entries hold: a key may not differ in what does not count for uniqueness.
    pub fn held(&self) -> impl Iterator<Item = u16> {
        let include: &[u16] = if self.unique { &[] } else { &self.include };
        self.parts.iter().map(|part| part.column).chain(include.iter().copied())
    }

    /// The expression of a hidden column, as SQL text: of a guard its condition.
    pub fn expression<'t>(&self, table: &'t TableDef, column: u16) -> Option<&'t str> {
        let column = &table.columns[table.column_with_id(column)?];
        let text = column.default.as_deref().filter(|_| column.is_hidden())?;
        Some(match text.strip_prefix(GUARD_BEGINS).and_then(|text| text.strip_suffix(GUARD_ENDS)) {
            Some(condition) if self.guard == Some(column.id) => condition,
            _ => text,
        })
    }

    /// What stands behind the table's name in CREATE INDEX, or behind EXCLUDE, as the catalog keeps it, but for storage
    /// parameters: what it is an index of.
    pub fn body(&self, table: &TableDef, quote: impl Fn(&str) -> String) -> String {
        crate::kept::nameless(&self.text(table, quote, ""))
    }

    /// As [`IndexDef::body`] with storage parameters.
    pub fn declaration(&self, table: &TableDef, quote: impl Fn(&str) -> String) -> String {
        self.text(table, quote, &self.with_options())
    }

    /// ` WITH (…)`, or nothing.
    pub fn with_options(&self) -> String {
        let option = |(name, value): &(Arc<str>, Arc<str>)| match verso_parser::quoted(value) == **value {
            true => format!("{name}={value}"),
            false => format!("{name}='{}'", value.replace('\'', "''")),
        };
        let options: Vec<String> = self.options.shown().map(option).collect();
        if options.is_empty() { String::new() } else { format!(" WITH ({})", options.join(", ")) }
    }

    fn text(&self, table: &TableDef, quote: impl Fn(&str) -> String, options: &str) -> String {
        let name = |id: u16| match self.expression(table, id) {
            Some(text) => format!("({text})"),
            None => table.column_with_id(id).map_or_else(String::new, |at| quote(&table.columns[at].name)),
        };
        let part = |part: &IndexPart| {
            let own =
                table.column_with_id(part.column).and_then(|at| table.columns[at].declared().collation());
            let shown = part.collation.as_ref().filter(|one| own.as_ref() != Some(one));
            let collation = shown.map_or_else(String::new, |one| match &*one.schema {
                crate::snapshot::PG_CATALOG => format!(" COLLATE {}", quote(&one.name)),
                schema => format!(" COLLATE {}.{}", quote(schema), quote(&one.name)),
            });
            let with =
                part.excludes.map_or_else(String::new, |operator| format!(" WITH {}", operator.symbol()));
            let class = self.class_suffix(table, part);
            format!("{}{collation}{class}{}{with}", name(part.column), part.order())
        };
        let parts: Vec<String> = self.declared().into_iter().map(part).collect();
        let method = match self.method() {
            "btree" => String::new(),
            method => format!("USING {method} "),
        };
        let mut text = format!("{method}({})", parts.join(", "));
        if !self.include.is_empty() {
            let names: Vec<String> = self.include.iter().map(|id| name(*id)).collect();
            text.push_str(&format!(" INCLUDE ({})", names.join(", ")));
        }
        if !self.nulls_distinct {
            text.push_str(" NULLS NOT DISTINCT");
        }
        text.push_str(options);
        if let Some(condition) = self.guard.and_then(|guard| self.expression(table, guard)) {
            text.push_str(&format!(" WHERE ({condition})"));
        }
        text
    }
}

/// The expression of a guard, around its condition: true or NULL.
const GUARD_BEGINS: &str = "CASE WHEN (";
const GUARD_ENDS: &str = ") THEN true END";

/// The expression of the guard of an index with a condition.
pub fn guard_text(condition: &str) -> String {
    format!("{GUARD_BEGINS}{condition}{GUARD_ENDS}")
}

impl IndexPart {
    /// DESC, NULLS FIRST as SQL, where they are not what goes without saying.
    pub fn order(&self) -> &'static str {
        match (self.descending, self.nulls_first) {
            (false, false) => "",
            (false, true) => " NULLS FIRST",
            (true, true) => " DESC",
            (true, false) => " DESC NULLS LAST",
        }
    }
}

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPart {
    /// The column's number in storage.
    pub column: u16,
    /// DESC?
    pub descending: bool,
    /// NULLS FIRST?
    pub nulls_first: bool,
    /// Its operator class.
    pub class: KeyClass,
    /// In the order of which collation; by bytes where none stands here.
    pub collation: Option<Arc<Collation>>,
    /// The operator of an exclusion constraint: which values of other rows exclude one.
    pub excludes: Option<Exclusion>,
}

/// How an exclusion constraint was declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excluding {
    /// The access method; a B+tree stands in for it.
    pub method: Arc<str>,
    /// Where its columns stand among the parts of the index.
    pub order: Vec<usize>,
}

/// A constraint of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConstraintDef {
    /// Its row in `pg_constraint`.
    pub oid: Oid,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Its table.
    pub table: Oid,
    /// What it demands.
    pub kind: ConstraintKind,
    /// May it be checked at commit?
    pub deferrable: bool,
    /// Is it, unless SET CONSTRAINTS says otherwise?
    pub initially_deferred: bool,
    /// Does it hold for all rows? One that was added NOT VALID is checked for new rows only, until it is validated.
    pub validated: bool,
    /// Is it checked at all? One that is not says something to readers only, and is not validated.
    pub enforced: bool,
    /// Of a partition's foreign key: that of the whole table that it is a part of.
    pub part_of: Option<Oid>,
    /// NO INHERIT: of a CHECK or NOT NULL that partitions would not get.
    pub no_inherit: bool,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// NOT NULL.
    NotNull {
        /// The column's number.
        column: u16,
    },
    /// That a condition is not false for any row.
    Check {
        /// The condition, as SQL text.
        expression: Arc<str>,
    },
    /// That no two rows have the same key.
    Unique {
        /// The columns' numbers.
        columns: Vec<u16>,
        /// The index that sees to it.
        index: Oid,
        /// Is it the primary key?
        primary: bool,
    },
    /// That no two rows are there for which all the operators of its index hold.
    Exclude {
        /// The columns' numbers, as they were declared; those of expressions are hidden columns.
        columns: Vec<u16>,
        /// The index that sees to it. Its parts with `=` stand first.
        index: Oid,
        /// How it was declared.
        declared: Arc<Excluding>,
    },
    /// That the key exists in another table.
    Foreign(ForeignKey),
}

impl ConstraintKind {
    /// The index of a constraint that has one of its own.
    pub fn own_index(&self) -> Option<Oid> {
        match self {
            ConstraintKind::Unique { index, .. } | ConstraintKind::Exclude { index, .. } => Some(*index),
            ConstraintKind::NotNull { .. } | ConstraintKind::Check { .. } | ConstraintKind::Foreign(_) => {
                None
            }
        }
    }
}

/// A foreign key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// The numbers of the referencing columns.
    pub columns: Vec<u16>,
    /// The table referenced.
    pub referenced: Oid,
    /// The numbers of its columns, in the order of `columns`.
    pub referenced_columns: Vec<u16>,
    /// The unique index on them.
    pub index: Oid,
    /// MATCH FULL: NULL in all columns or in none.
    pub match_full: bool,
    /// PERIOD: the last column has a range that those of the rows referenced cover.
    pub period: bool,
    /// When a referenced row goes.
    pub on_delete: ReferentialAction,
    /// When its key changes.
    pub on_update: ReferentialAction,
    /// `ON DELETE SET NULL (a, b)`: only these columns; empty means all.
    pub delete_columns: Vec<u16>,
    /// Among those that reference a partition: the table that it is a part of and that the key names. Such a key has no row of
    /// its own.
    pub whole: Option<Oid>,
    /// The triggers of its table are all disabled: rows that come are not checked.
    pub unchecked: bool,
    /// The triggers of the table referenced are all disabled: nothing goes along with its rows, and nothing keeps them.
    pub unguarded: bool,
}

impl ConstraintDef {
    /// Of a foreign key on a table, as one on a partition of it, which has a part of the index.
    pub fn on_partition(&self, table: &TableDef, part: &TableDef) -> Option<ConstraintDef> {
        let ConstraintKind::Foreign(key) = &self.kind else { return None };
        let index = part.indexes.iter().find(|index| index.part_of == Some(key.index))?;
        let column = |id: &u16| part.column_of(table, *id);
        let key = ForeignKey {
            referenced: part.oid,
            referenced_columns: key.referenced_columns.iter().map(column).collect::<Option<_>>()?,
            index: index.oid,
            whole: key.whole.or(Some(key.referenced)),
            ..key.clone()
        };
        Some(ConstraintDef { kind: ConstraintKind::Foreign(key), ..self.clone() })
    }
}

impl TableDef {
    /// The number of the column that a column of another table is, which it is a part of, or the other way round.
    pub fn column_of(&self, other: &TableDef, id: u16) -> Option<u16> {
        let name = &other.columns[other.column_with_id(id)?].name;
        self.column(name).map(|at| self.columns[at].id)
    }

    /// A constraint of this table and the parts of it that its partitions have: each with its table.
    pub fn parts_of_constraint(self: &Arc<TableDef>, of: Oid) -> Vec<(Arc<TableDef>, Arc<ConstraintDef>)> {
        let mut found: Vec<(Arc<TableDef>, Arc<ConstraintDef>)> = Vec::new();
        for table in self.with_partitions() {
            // A key is a part by its index.
            let whole = |own: &Arc<ConstraintDef>| table.index(own.kind.own_index()?)?.part_of;
            let is_it = |own: &&Arc<ConstraintDef>| {
                let whole = whole(own);
                let is_part = |known: &ConstraintDef| {
                    own.part_of == Some(known.oid) || whole.is_some() && known.kind.own_index() == whole
                };
                own.oid == of || found.iter().any(|(_, known)| is_part(known))
            };
            if let Some(own) = table.constraints.iter().find(is_it).cloned() {
                found.push((table, own));
            }
        }
        found
    }
}

/// A view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewDef {
    /// Its row in `pg_class`; CREATE OR REPLACE keeps it.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Its columns in their order.
    pub columns: Vec<ColumnDef>,
    /// What it shows.
    pub query: StoredQuery,
    /// WITH (…).
    pub options: TableOptions,
    /// Its triggers, by name, as they fire.
    pub triggers: Vec<Arc<TriggerDef>>,
}

impl ViewDef {
    /// Its trigger of that name.
    pub fn trigger(&self, name: &str) -> Option<&Arc<TriggerDef>> {
        self.triggers.iter().find(|trigger| &*trigger.name == name)
    }

    /// Whether a trigger does what an event would do to its rows; `event` is a mark of [`crate::TriggerKind`].
    pub fn is_replaced(&self, event: i16) -> bool {
        self.triggers.iter().any(|trigger| trigger.kind.has(crate::TriggerKind::INSTEAD | event))
    }

    /// A table without records, with its columns and triggers: what its triggers see.
    pub fn as_table(&self) -> TableDef {
        let columns = self.columns.clone();
        let (schema, name) = (Arc::clone(&self.schema), Arc::clone(&self.name));
        let table = TableDef::new(self.oid, schema, name, NO_HEAP, columns);
        TableDef { triggers: self.triggers.clone(), ..table }
    }
}

/// A type that a user has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDef {
    /// Its row in `pg_type`.
    pub oid: Oid,
    /// Its array's.
    pub array: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// The type.
    pub ty: SqlType,
    /// The numbers of its fields, of a composite type: a field keeps its own, and no other gets it.
    pub fields: Vec<u16>,
}

impl TypeDef {
    /// Does it come and go with an extension? It has no row of its own then.
    pub fn is_of_extension(&self) -> bool {
        matches!(self.ty, SqlType::System(_))
    }

    /// The place of the field with that number.
    pub fn field_with_id(&self, id: u16) -> Option<usize> {
        self.fields.iter().position(|known| *known == id)
    }
}

/// A sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceDef {
    /// Its row in `pg_class`.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// Where its value is.
    pub object: ObjectId,
    /// Start, step, bounds.
    pub bounds: SequenceBounds,
    /// The column it goes away with (`serial`, `OWNED BY`).
    pub owned_by: Option<OwnedBy>,
    /// It is not logged, and begins anew after a crash.
    pub unlogged: bool,
}

/// A column that owns a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnedBy {
    /// The table.
    pub table: Oid,
    /// The column's number.
    pub column: u16,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionDef {
    /// Its row in `pg_proc`; CREATE OR REPLACE keeps it.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name, folded.
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
    /// NULL for a NULL argument, without a call (`STRICT`)?
    pub strict: bool,
    /// Does it run with the rights of its owner (`SECURITY DEFINER`)?
    pub security_definer: bool,
    /// Does it tell nothing of its arguments but its result (`LEAKPROOF`)?
    pub leakproof: bool,
    /// What planners may take for granted of it.
    pub planning: Planning,
    /// What its body needs, where that is SQL's own.
    pub needs: Vec<Need>,
    /// What the names in such a body mean.
    pub stored: Option<Arc<StoredBody>>,
    /// The relation whose rows it gives (`RETURNS [SETOF] t`).
    pub rows_of: Option<Oid>,
    /// Is the body a statement of SQL's own (`RETURN …`, `BEGIN ATOMIC … END`) and no text?
    pub standard_body: bool,
    /// Settings that hold while it runs (`SET x = y`).
    pub settings: Vec<(Arc<str>, Arc<str>)>,
    /// Of a polymorphic function as a call means it: which types it stands with; 0 of what the catalog has.
    pub variant: u64,
}

impl FunctionDef {
    /// The block of a DO statement: a function that nobody else can call.
    pub fn inline(text: &str) -> FunctionDef {
        FunctionDef { body: text.into(), ..FunctionDef::new(Oid(0), "", "inline_code_block") }
    }

    /// A function in PL/pgSQL without arguments, result and body, of which nothing else was said either.
    pub fn new(oid: Oid, schema: &str, name: &str) -> FunctionDef {
        FunctionDef {
            oid,
            schema: schema.into(),
            name: name.into(),
            args: Vec::new(),
            returns: FunctionReturn::Void,
            language: FunctionLanguage::PlPgSql,
            body: "".into(),
            volatility: Volatility::Volatile,
            strict: false,
            security_definer: false,
            leakproof: false,
            planning: Planning::default(),
            needs: Vec::new(),
            stored: None,
            rows_of: None,
            standard_body: false,
            settings: Vec::new(),
            variant: 0,
        }
    }

    /// `name(integer, text)`, as error messages name a function.
    pub fn signature(&self) -> String {
        signature(&self.name, self.inputs().map(|arg| &arg.ty))
    }

    /// The same as errors name the function that they came up in: `name(integer,text)`.
    pub fn named_in_context(&self) -> String {
        let types: Vec<String> = self.inputs().map(|arg| arg.ty.name_in_call()).collect();
        format!("{}({})", self.name, types.join(","))
    }

    /// Is it a procedure?
    pub fn is_procedure(&self) -> bool {
        self.returns == FunctionReturn::Procedure
    }

    /// Is it an aggregate?
    pub fn is_aggregate(&self) -> bool {
        self.language == FunctionLanguage::Internal && !self.is_range_constructor()
    }

    /// Is it a function that came with a range type and makes values of it, or of its multirange type?
    pub fn is_range_constructor(&self) -> bool {
        self.language == FunctionLanguage::Internal && RANGE_CONSTRUCTORS.contains(&&*self.body)
    }

    /// Does it give values of a range type, or of the multirange type beside it?
    pub fn makes(&self, ty: &SqlType) -> bool {
        let of = |ty: &SqlType| match ty {
            SqlType::Range(of) | SqlType::Multirange(of) => Some(of.clone()),
            _ => None,
        };
        match &self.returns {
            FunctionReturn::Scalar(result) => {
                of(result).zip(of(ty)).is_some_and(|(result, ty)| result.is_same(&ty))
            }
            _ => false,
        }
    }

    /// `function`, `procedure`, `aggregate`.
    pub fn kind_word(&self) -> &'static str {
        match () {
            () if self.is_procedure() => "procedure",
            () if self.is_aggregate() => "aggregate",
            () => "function",
        }
    }

    /// The arguments that a call of a function gives.
    pub fn inputs(&self) -> impl Iterator<Item = &FunctionArg> {
        self.args.iter().filter(|arg| arg.mode.goes_in())
    }

    /// The arguments that come out of it.
    pub fn outputs(&self) -> impl Iterator<Item = &FunctionArg> {
        self.args.iter().filter(|arg| arg.mode.goes_out())
    }

    /// The arguments that a call names: of a procedure also those that only come out.
    pub fn called_with(&self) -> impl Iterator<Item = &FunctionArg> {
        let procedure = self.is_procedure();
        self.args.iter().filter(move |arg| procedure || arg.mode.goes_in())
    }

    /// Does it take exactly these types, whatever their modifiers?
    pub fn takes(&self, types: &[SqlType]) -> bool {
        self.inputs().count() == types.len() && self.inputs().zip(types).all(|(arg, ty)| arg.ty.same_base(ty))
    }

    /// The same of all arguments, those that only come out included.
    pub fn has_arguments(&self, types: &[SqlType]) -> bool {
        self.args.len() == types.len() && self.args.iter().zip(types).all(|(arg, ty)| arg.ty.same_base(ty))
    }
}

/// `name(integer, text)`.
pub(crate) fn signature<'t>(name: &str, types: impl Iterator<Item = &'t SqlType>) -> String {
    let types: Vec<String> = types.map(SqlType::name_in_call).collect();
    format!("{name}({})", types.join(", "))
}

/// An argument of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionArg {
    /// Its name; empty if it has none (`$1` only).
    pub name: Arc<str>,
    /// Its type, without modifiers.
    pub ty: SqlType,
    /// Which way it goes.
    pub mode: ArgMode,
    /// DEFAULT, as SQL text.
    pub default: Option<Arc<str>>,
    /// The relation whose rows it takes.
    pub rows_of: Option<Oid>,
}

impl FunctionArg {
    /// One that goes in and has no default.
    pub fn new(name: impl Into<Arc<str>>, ty: SqlType) -> FunctionArg {
        FunctionArg { name: name.into(), ty, mode: ArgMode::In, default: None, rows_of: None }
    }
}

/// What a function gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionReturn {
    /// Nothing.
    Void,
    /// One value.
    Scalar(SqlType),
    /// Rows of one column.
    Set(SqlType),
    /// Rows of named columns: `RETURNS TABLE`, or `SETOF record` with arguments that come out.
    Table(Vec<(Arc<str>, SqlType)>),
    /// It is called by triggers only: a row, or none.
    Trigger,
    /// It is a procedure: CALL runs it, and it gives back those of its arguments that say so.
    Procedure,
}

/// Which way an argument goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArgMode {
    /// `IN`
    In,
    /// `OUT`
    Out,
    /// `INOUT`
    InOut,
    /// `VARIADIC`: an array of what is left.
    Variadic,
}

impl ArgMode {
    /// Does a caller give it?
    pub fn goes_in(self) -> bool {
        self != ArgMode::Out
    }

    /// Does the caller get it back?
    pub fn goes_out(self) -> bool {
        matches!(self, ArgMode::Out | ArgMode::InOut)
    }

    /// As in `pg_proc.proargmodes`.
    pub fn letter(self) -> char {
        match self {
            ArgMode::In => 'i',
            ArgMode::Out => 'o',
            ArgMode::InOut => 'b',
            ArgMode::Variadic => 'v',
        }
    }

    /// The mode of that letter.
    pub fn from_letter(letter: char) -> Option<ArgMode> {
        [ArgMode::In, ArgMode::Out, ArgMode::InOut, ArgMode::Variadic]
            .into_iter()
            .find(|mode| mode.letter() == letter)
    }
}

impl FunctionReturn {
    /// May it give several rows?
    pub fn is_set(&self) -> bool {
        matches!(self, FunctionReturn::Set(_) | FunctionReturn::Table(_))
    }

    /// The composite type whose fields are its columns in FROM: that of its values, also beneath a domain, or of the only argument that
    /// comes out.
    pub fn fields(&self) -> Option<Arc<RowType>> {
        let ty = match self {
            FunctionReturn::Scalar(ty) | FunctionReturn::Set(ty) => ty,
            FunctionReturn::Table(columns) => match columns.as_slice() {
                [(_, ty)] => ty,
                _ => return None,
            },
            FunctionReturn::Void | FunctionReturn::Trigger | FunctionReturn::Procedure => return None,
        };
        match ty.erased() {
            SqlType::Row(row) => Some(row),
            _ => None,
        }
    }
}

/// What a function's body is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FunctionLanguage {
    /// `LANGUAGE sql`
    Sql,
    /// `LANGUAGE plpgsql`
    PlPgSql,
    /// An aggregate: its body is an [`AggregateDef`](crate::AggregateDef); or one of [`RANGE_CONSTRUCTORS`].
    Internal,
}

impl FunctionLanguage {
    /// As in `pg_language.lanname`.
    pub fn name(self) -> &'static str {
        match self {
            FunctionLanguage::Sql => "sql",
            FunctionLanguage::PlPgSql => "plpgsql",
            FunctionLanguage::Internal => "internal",
        }
    }
}

/// The bodies of the functions that make values of users' range types, named as in `pg_proc.prosrc`: a range of two bounds, with
/// the signs of its ends; a multirange of none, one, a list of ranges.
pub const RANGE_CONSTRUCTORS: [&str; 5] = [
    "range_constructor2",
    "range_constructor3",
    "multirange_constructor0",
    "multirange_constructor1",
    "multirange_constructor2",
];

/// What the planner may assume of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Volatility {
    /// The same result for the same arguments, for ever.
    Immutable,
    /// The same result for the same arguments, within a statement.
    Stable,
    /// Anything.
    #[default]
    Volatile,
}
