//! One version of the whole catalog: immutable, shared between statements, looked up by name.
//!
//! ```text
//! snapshot ─► schema ─► relations  name ─► table | sequence | index     (one name space, as in PostgreSQL)
//!                   ├─► functions  name ─► overloads
//!                   └─► types      name ─► type
//! ```
//!
//! N1. Names are stored folded and compared byte by byte; folding is the parser's business.
//! N2. An unqualified name is looked up along the snapshot's search path ([`crate::path`]).
//! N3. In a schema a name means one relation at most; a function name may have several argument lists.
//! N4. A version shares with the one that it was made from all that did not change: definitions, and the maps that find
//!     them but for a few chunks (`shared_map`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use verso_env::Vfs;
use verso_storage::Engine;
use verso_types::{CollationData, NamedType, SqlType};

use crate::authority::Authority;
use crate::collation::{CollationDef, system_collation, system_collation_name};
use crate::definition::{
    ExtensionDef, FunctionDef, IndexDef, Oid, SchemaDef, SequenceDef, TableDef, TypeDef, ViewDef,
};
use crate::error::ObjectKind;
use crate::extended::StatisticsDef;
use crate::kept::number_of;
use crate::operator::{CastDef, OperatorDef};
use crate::parts::Owners;
use crate::path::{PG_TEMP, SearchPath, WantedPath, is_temporary};
use crate::relations::{INFORMATION_SCHEMA, RelationId, SystemRelation};
use crate::rights::{Object, Rights};
use crate::row_type::relation_of;
use crate::shared_map::SharedMap;
use crate::size::Sizes;
use crate::statistics::{Kept, TableStatistics};
use crate::system::row::StatisticRow;
use crate::trigger::TriggerDef;
use crate::view::SystemView;

/// The schema of the system's own tables and views.
pub const PG_CATALOG: &str = "pg_catalog";
/// The schema of what users create without naming one.
pub const PUBLIC: &str = "public";

/// What shares the tables' name space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Relation {
    /// A table.
    Table(Arc<TableDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
    /// An index.
    Index(Arc<IndexDef>),
    /// A view.
    View(Arc<ViewDef>),
}

impl Relation {
    /// Its row in `pg_class`.
    pub fn oid(&self) -> Oid {
        match self {
            Relation::Table(table) => table.oid,
            Relation::Sequence(sequence) => sequence.oid,
            Relation::Index(index) => index.oid,
            Relation::View(view) => view.oid,
        }
    }

    /// Its schema and its name.
    pub fn path(&self) -> (&str, &str) {
        let (schema, name) = self.key();
        (schema, name)
    }

    /// What it is called.
    pub fn kind(&self) -> ObjectKind {
        match self {
            Relation::Table(table) if table.materialized.is_some() => ObjectKind::MaterializedView,
            Relation::Table(_) => ObjectKind::Table,
            Relation::Sequence(_) => ObjectKind::Sequence,
            Relation::Index(_) => ObjectKind::Index,
            Relation::View(_) => ObjectKind::View,
        }
    }

    /// The table that it is.
    pub fn as_table(&self) -> Option<&Arc<TableDef>> {
        if let Relation::Table(table) = self { Some(table) } else { None }
    }

    /// The view that it is.
    pub fn as_view(&self) -> Option<&Arc<ViewDef>> {
        if let Relation::View(view) = self { Some(view) } else { None }
    }

    /// Its triggers, by name.
    pub fn triggers(&self) -> &[Arc<TriggerDef>] {
        match self {
            Relation::Table(table) => &table.triggers,
            Relation::View(view) => &view.triggers,
            Relation::Sequence(_) | Relation::Index(_) => &[],
        }
    }

    /// What its triggers see of it: the table, or the view as one.
    pub fn of_triggers(&self) -> Option<Arc<TableDef>> {
        match self {
            Relation::Table(table) => Some(Arc::clone(table)),
            Relation::View(view) => Some(Arc::new(view.as_table())),
            Relation::Sequence(_) | Relation::Index(_) => None,
        }
    }

    /// The schema that it is in.
    pub fn schema(&self) -> &Arc<str> {
        self.key().0
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        self.key().1
    }

    pub(crate) fn key(&self) -> (&Arc<str>, &Arc<str>) {
        match self {
            Relation::Table(table) => (&table.schema, &table.name),
            Relation::Sequence(sequence) => (&sequence.schema, &sequence.name),
            Relation::Index(index) => (&index.schema, &index.name),
            Relation::View(view) => (&view.schema, &view.name),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
struct Schema {
    definition: Arc<SchemaDef>,
    relations: SharedMap<Arc<str>, Relation>,
    /// Those of one name by number.
    functions: SharedMap<Arc<str>, Vec<Arc<FunctionDef>>>,
    types: SharedMap<Arc<str>, Arc<TypeDef>>,
    /// The names of its tables' constraints, and what they are on.
    constraints: SharedMap<(Arc<str>, Oid), ()>,
}

/// Roughly what an entry takes in the maps that find it, with its own fields.
const ENTRY_BYTES: usize = 512;
/// Roughly what a column, an index or a constraint takes in its table's definition.
const PART_BYTES: usize = 192;

/// Every definition that one version of the catalog has, seen along a search path.
#[derive(Clone, Debug)]
pub struct CatalogSnapshot {
    /// Tells versions apart: two snapshots with the same number have the same contents.
    pub version: u64,
    contents: Arc<Contents>,
    path: Arc<SearchPath>,
    sizes: Sizes,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Contents {
    schemas: SharedMap<Arc<str>, Schema>,
    relations_by_oid: SharedMap<Oid, Relation>,
    functions_by_oid: SharedMap<Oid, Arc<FunctionDef>>,
    /// Users' types, also by the number of their arrays.
    types_by_oid: SharedMap<Oid, Arc<TypeDef>>,
    /// Those that users have made, by number.
    collations: SharedMap<u32, Arc<CollationDef>>,
    collation_data: CollationData,
    /// Those that were asked for.
    extensions: Vec<ExtensionDef>,
    /// Those of users.
    operators: Vec<Arc<OperatorDef>>,
    casts: Vec<CastDef>,
    /// By object, catalog and column.
    comments: SharedMap<(Oid, Oid, i32), Arc<str>>,
    /// By table.
    statistics: SharedMap<Oid, Arc<Kept>>,
    /// Which relations constraints and triggers are on.
    pub(crate) owners: Owners,
    /// Roughly what all that takes.
    bytes: usize,
    /// Who may do what.
    pub(crate) authority: Authority,
}

/// Whether users have made a type, or what it is an array of: then its definition may change.
pub fn is_of_users(ty: &SqlType) -> bool {
    !Oid(ty.pg_oid()).is_system()
}

/// What names mean to a snapshot: plans may be kept under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NamesKey {
    /// The version of the catalog.
    pub version: u64,
    /// The number of the search path.
    pub path: u64,
    /// The role whose rights count.
    pub role: Option<Oid>,
    /// Whether policies decide which rows it sees.
    pub row_security: bool,
}

impl CatalogSnapshot {
    /// The same definitions along another search path.
    pub fn with_path(self: &Arc<Self>, wanted: &WantedPath) -> Arc<CatalogSnapshot> {
        // Schemas that the role may not use are passed over.
        let usable = |schema: &Schema| {
            let object = Object::Schema(schema.definition.oid);
            wanted.role.is_none_or(|role| {
                is_temporary(&schema.definition.name) || self.rights(role, object).has(Rights::USAGE)
            })
        };
        let path = SearchPath::new(wanted, |name| self.contents.schemas.get(name).is_some_and(usable));
        if path == *self.path {
            return Arc::clone(self);
        }
        Arc::new(CatalogSnapshot { path: Arc::new(path), ..CatalogSnapshot::clone(self) })
    }

    /// The same definitions for another role.
    pub fn with_role(self: &Arc<Self>, role: Option<Oid>) -> Arc<CatalogSnapshot> {
        if self.path.role() == role {
            return Arc::clone(self);
        }
        let path = Arc::new(self.path.of_role(role));
        Arc::new(CatalogSnapshot { path, ..CatalogSnapshot::clone(self) })
    }

    pub(crate) fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The search path.
    pub fn search_path(&self) -> &SearchPath {
        &self.path
    }

    /// What a plan that is made over this snapshot may be kept under.
    pub fn key(&self) -> NamesKey {
        NamesKey {
            version: self.version,
            path: self.path.number(),
            role: self.path.role(),
            row_security: self.path.row_security(),
        }
    }

    /// The extensions that the database has asked for.
    pub fn extensions(&self) -> &[ExtensionDef] {
        &self.contents.extensions
    }

    /// The operators of users.
    pub fn operators(&self) -> &[Arc<OperatorDef>] {
        &self.contents.operators
    }

    /// The casts of users.
    pub fn casts(&self) -> &[CastDef] {
        &self.contents.casts
    }

    /// The cast of users between two types, by their numbers.
    pub fn cast(&self, source: Oid, target: Oid) -> Option<&CastDef> {
        self.contents.casts.iter().find(|cast| (cast.source, cast.target) == (source, target))
    }

    /// The extension of that name, if it was asked for.
    pub fn extension(&self, name: &str) -> Option<&ExtensionDef> {
        self.contents.extensions.iter().find(|extension| *extension.name == *name)
    }

    /// The comment on an object of that system table, or on one of its columns.
    pub fn comment(&self, catalog: Oid, object: Oid, column: i32) -> Option<&Arc<str>> {
        self.contents.comments.get(&(object, catalog, column))
    }

    /// Every comment: the system table, object and column that it is on, and its text.
    pub fn comments(&self) -> impl Iterator<Item = ((Oid, Oid, i32), &Arc<str>)> {
        self.contents
            .comments
            .iter()
            .map(|((object, catalog, column), text)| ((*catalog, *object, *column), text))
    }

    /// The comments on an object and its columns, as [`CatalogSnapshot::comments`].
    pub fn comments_on(&self, object: Oid) -> impl Iterator<Item = ((Oid, Oid, i32), &Arc<str>)> {
        let from = self.contents.comments.from(move |(known, ..)| *known < object);
        let own = from.take_while(move |((known, ..), _)| *known == object);
        own.map(|((object, catalog, column), text)| ((*catalog, *object, *column), text))
    }

    /// Whether a constraint of a table of that schema has that name.
    pub(crate) fn has_constraint(&self, schema: &str, name: &str) -> bool {
        let Some(schema) = self.contents.schemas.get(schema) else { return false };
        schema
            .constraints
            .from(|(known, _)| **known < *name)
            .next()
            .is_some_and(|((known, _), ())| **known == *name)
    }

    /// The schema in which something is made that names none; none if no schema of the path exists.
    pub fn creation_schema(&self) -> Option<&Arc<SchemaDef>> {
        self.schema(self.path.named().first()?)
    }

    /// Whether the relation is what its name means without a schema.
    pub fn is_visible(&self, relation: &Relation) -> bool {
        self.relation(None, relation.key().1).is_some_and(|found| found.oid() == relation.oid())
    }

    /// Roughly the memory that its definitions take; those that did not change are shared with other versions.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.contents.bytes
    }

    /// The same, with the sizes of tables as a database has them.
    pub(crate) fn of_database(self: Arc<Self>, engine: &Engine) -> Arc<CatalogSnapshot> {
        Arc::new(CatalogSnapshot { sizes: Sizes(Some(engine.clone())), ..Arc::unwrap_or_clone(self) })
    }

    /// Where files are that queries read; none where the catalog is of no database.
    pub fn files(&self) -> Option<Arc<dyn Vfs>> {
        self.sizes.0.as_ref().map(|engine| Arc::clone(&engine.env().vfs))
    }

    /// About how many rows a table has, from the number of its pages, and from how many there were on a page when it was
    /// analyzed; none where the catalog is of no database.
    pub fn rows(&self, table: &TableDef) -> Option<f64> {
        match self.statistics(table) {
            Some(known) if known.pages > 0.0 && known.rows > 0.0 => {
                Some(self.sizes.pages(table)? * known.rows / known.pages)
            }
            _ => self.sizes.rows(table),
        }
    }

    /// What ANALYZE has found out about a table.
    pub fn statistics(&self, table: &TableDef) -> Option<&Arc<TableStatistics>> {
        self.contents.statistics.get(&table.oid)?.of(table)
    }

    /// Begins a snapshot that has the schemas `pg_catalog` and `public`, and nothing in them.
    pub fn builder(version: u64) -> SnapshotBuilder {
        let mut builder = CatalogSnapshot::empty(version);
        builder.add_schema(Arc::new(SchemaDef::new(Oid(11), PG_CATALOG)));
        builder.add_schema(Arc::new(SchemaDef::new(Oid(2200), PUBLIC)));
        builder
    }

    /// Begins a snapshot that has nothing in it.
    pub(crate) fn empty(version: u64) -> SnapshotBuilder {
        SnapshotBuilder { version, contents: Contents::default() }
    }

    /// Begins a snapshot that has what this one has, but for what these numbers name.
    pub(crate) fn without(&self, version: u64, gone: &BTreeSet<Oid>) -> SnapshotBuilder {
        let mut builder = SnapshotBuilder { version, contents: (*self.contents).clone() };
        gone.iter().for_each(|oid| builder.remove(*oid));
        builder
    }

    /// How many relations there are.
    pub(crate) fn relations_count(&self) -> usize {
        self.contents.relations_by_oid.len()
    }

    /// Whether two versions have the same definitions.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn says_the_same(&self, other: &CatalogSnapshot) -> bool {
        self.contents == other.contents
    }

    /// Something that another version has and this one has not, or has otherwise.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn first_difference(&self, other: &CatalogSnapshot) -> String {
        let (own, other) = (&*self.contents, &*other.contents);
        for relation in own.relations_by_oid.values().chain(other.relations_by_oid.values()) {
            let oid = relation.oid();
            let (one, two) = (own.relations_by_oid.get(&oid), other.relations_by_oid.get(&oid));
            if one != two {
                return format!("{one:?}\nis, read as a whole, {two:?}");
            }
        }
        if own.authority != other.authority {
            return format!("{:?}\nis, read as a whole, {:?}", own.authority, other.authority);
        }
        let rest = |contents: &Contents| {
            let schemas: Vec<_> =
                contents.schemas.values().map(|one| (&one.definition, &one.functions)).collect();
            format!(
                "{schemas:?} {:?} {:?} {:?} {:?} {:?} {}",
                contents.functions_by_oid,
                contents.types_by_oid,
                contents.collations,
                contents.comments,
                contents.statistics,
                contents.bytes
            )
        };
        format!("{}\nis, read as a whole, {}", rest(own), rest(other))
    }

    /// The schema of that name.
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaDef>> {
        self.contents.schemas.get(self.own_name(name)).map(|schema| &schema.definition)
    }

    /// The table or sequence of that name.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        if let Some(oid) = number_of(schema) {
            return self.relation_by_oid(oid);
        }
        self.path(schema).find_map(|schema| schema.relations.get(name))
    }

    /// The table of that name.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        match self.relation(schema, name)? {
            Relation::Table(table) => Some(Arc::clone(table)),
            _ => None,
        }
    }

    /// The sequence of that name.
    pub fn sequence(&self, schema: Option<&str>, name: &str) -> Option<Arc<SequenceDef>> {
        match self.relation(schema, name)? {
            Relation::Sequence(sequence) => Some(Arc::clone(sequence)),
            _ => None,
        }
    }

    /// The index of that name.
    pub fn index(&self, schema: Option<&str>, name: &str) -> Option<Arc<IndexDef>> {
        match self.relation(schema, name)? {
            Relation::Index(index) => Some(Arc::clone(index)),
            _ => None,
        }
    }

    /// The view of that name.
    pub fn view(&self, schema: Option<&str>, name: &str) -> Option<Arc<ViewDef>> {
        match self.relation(schema, name)? {
            Relation::View(view) => Some(Arc::clone(view)),
            _ => None,
        }
    }

    /// The view with that row in `pg_class`.
    pub fn view_by_oid(&self, oid: Oid) -> Option<Arc<ViewDef>> {
        match self.contents.relations_by_oid.get(&oid)? {
            Relation::View(view) => Some(Arc::clone(view)),
            _ => None,
        }
    }

    /// The user-defined function with that row in `pg_proc`.
    pub fn function_by_oid(&self, oid: Oid) -> Option<&Arc<FunctionDef>> {
        self.contents.functions_by_oid.get(&oid)
    }

    /// The statistics of that name.
    pub fn statistics_object(&self, schema: Option<&str>, name: &str) -> Option<&Arc<StatisticsDef>> {
        let within = |schema: &str| {
            let mut all = self.tables().flat_map(|table| &table.extended);
            all.find(|one| *one.schema == *schema && *one.name == *name)
        };
        match schema {
            Some(schema) => within(schema),
            None => self.search_path().searched().iter().find_map(|schema| within(schema)),
        }
    }

    /// The statistics with that row in `pg_statistic_ext`.
    pub fn statistics_by_oid(&self, oid: Oid) -> Option<&Arc<StatisticsDef>> {
        self.tables().flat_map(|table| &table.extended).find(|one| one.oid == oid)
    }

    /// The user's type of that name.
    pub fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&Arc<TypeDef>> {
        if let Some(oid) = number_of(schema) {
            return self.user_type(oid);
        }
        self.path(schema).find_map(|schema| schema.types.get(name))
    }

    /// What a name means where a type is wanted: a type that a user has made, or the type of a relation's rows.
    pub fn type_or_row(&self, schema: Option<&str>, name: &str) -> Option<Arc<TypeDef>> {
        if let Some(oid) = number_of(schema) {
            return self.type_or_row_by_oid(oid);
        }
        let found = self.path(schema).find_map(|schema| match schema.types.get(name) {
            Some(known) => Some(Arc::clone(known)),
            None => schema.relations.get(name).and_then(Relation::row_type).map(Arc::new),
        });
        found.or_else(|| {
            let system = RelationId::find(schema.unwrap_or(PG_CATALOG), name)?;
            Some(Arc::new(system.get().rows()))
        })
    }

    /// The type with that row in `pg_type`, or whose array has it: one that a user has made, or that of a relation's rows.
    pub fn type_or_row_by_oid(&self, oid: Oid) -> Option<Arc<TypeDef>> {
        let row = || self.relation_by_oid(relation_of(oid))?.row_type().map(Arc::new);
        let system = || Some(Arc::new(SystemRelation::of_rows(oid)?.rows()));
        self.user_type(oid).cloned().or_else(row).or_else(system)
    }

    /// The user's type with that row in `pg_type`, or whose array has it.
    pub fn user_type(&self, oid: Oid) -> Option<&Arc<TypeDef>> {
        self.contents.types_by_oid.get(&oid)
    }

    /// The type with that row in `pg_type`: one of the system's or of a user's, or an array of one.
    pub fn type_by_oid(&self, oid: u32, typmod: i32) -> Option<SqlType> {
        SqlType::from_pg_oid(oid, typmod).or_else(|| {
            let known = self.type_or_row_by_oid(Oid(oid))?;
            Some(match known.oid.0 == oid {
                true => known.ty.clone(),
                false => SqlType::Array(Box::new(known.ty.clone())),
            })
        })
    }

    /// A type as it is defined here: what users have made may have got other labels, attributes or checks, and another name. One that
    /// is not there any more stays what it was.
    pub fn type_now(&self, ty: &SqlType) -> SqlType {
        match is_of_users(ty) {
            true => self.type_by_oid(ty.pg_oid(), ty.typmod()).unwrap_or_else(|| ty.clone()),
            false => ty.clone(),
        }
    }

    /// The data that keys of collations are made from.
    pub fn collation_data(&self) -> CollationData {
        self.contents.collation_data
    }

    /// The collation of that name: the system's own first.
    pub fn collation(&self, schema: Option<&str>, name: &str) -> Option<Arc<CollationDef>> {
        if matches!(schema, None | Some(PG_CATALOG))
            && let Some(own) = system_collation(name, self.contents.collation_data)
        {
            return Some(Arc::new(own));
        }
        if let Some(oid) = number_of(schema) {
            return self.collation_by_oid(oid.0);
        }
        self.path(schema).find_map(|schema| {
            let mut users = self.contents.collations.values();
            let is_it = |one: &&Arc<CollationDef>| {
                *one.collation.name == *name && one.collation.schema == schema.definition.name
            };
            users.find(is_it).cloned()
        })
    }

    /// The collation with that row in `pg_collation`.
    pub fn collation_by_oid(&self, oid: u32) -> Option<Arc<CollationDef>> {
        match self.contents.collations.get(&oid) {
            Some(user) => Some(Arc::clone(user)),
            None => system_collation(system_collation_name(oid)?, self.contents.collation_data).map(Arc::new),
        }
    }

    /// Every collation that a user has made, by number.
    pub fn collations(&self) -> Vec<Arc<CollationDef>> {
        let mut all: Vec<_> = self.contents.collations.values().cloned().collect();
        all.sort_by_key(|one| one.oid());
        all
    }

    /// Every type that a user has made, by schema and name.
    pub fn types(&self) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.contents.schemas.values().flat_map(|schema| schema.types.values())
    }

    /// Whether the type is what its name means without a schema.
    pub fn is_visible_type(&self, ty: &TypeDef) -> bool {
        self.type_or_row(None, &ty.name).is_some_and(|found| found.oid == ty.oid)
    }

    /// A type with what users' types the names in it mean, the system's as they are; the name that means nothing.
    ///
    /// # Errors
    /// The name.
    pub fn resolve_type(&self, ty: &SqlType) -> Result<SqlType, Arc<NamedType>> {
        match ty {
            SqlType::Named(named) => match self.type_or_row(named.schema.as_deref(), &named.name) {
                Some(known) => Ok(known.ty.clone()),
                // The array of a type is called like it, with an underscore in front.
                None => (named.name.strip_prefix('_'))
                    .and_then(|element| self.type_or_row(named.schema.as_deref(), element))
                    .map(|element| SqlType::Array(Box::new(element.ty.clone())))
                    .ok_or_else(|| Arc::clone(named)),
            },
            SqlType::Array(element) => Ok(SqlType::Array(Box::new(self.resolve_type(element)?))),
            known => Ok(known.clone()),
        }
    }

    /// The relation with that row in `pg_class`.
    pub fn relation_by_oid(&self, oid: Oid) -> Option<&Relation> {
        self.contents.relations_by_oid.get(&oid)
    }

    /// The table with that row in `pg_class`.
    pub fn table_by_oid(&self, oid: Oid) -> Option<Arc<TableDef>> {
        match self.contents.relations_by_oid.get(&oid)? {
            Relation::Table(table) => Some(Arc::clone(table)),
            _ => None,
        }
    }

    /// The sequence with that row in `pg_class`.
    pub fn sequence_by_oid(&self, oid: Oid) -> Option<Arc<SequenceDef>> {
        match self.contents.relations_by_oid.get(&oid)? {
            Relation::Sequence(sequence) => Some(Arc::clone(sequence)),
            _ => None,
        }
    }

    /// The user-defined functions of that name, whatever their arguments; empty if there is none.
    ///
    /// Built-in functions are not here: the binder knows them itself.
    pub fn functions(&self, schema: Option<&str>, name: &str) -> Cow<'_, [Arc<FunctionDef>]> {
        if let Some(oid) = number_of(schema) {
            let found = self.function_by_oid(oid).map_or_else(<&[_]>::default, std::slice::from_ref);
            return Cow::Borrowed(found);
        }
        let temporary = self.path.temporary().filter(|_| schema.is_none());
        let mut found = self
            .path(schema)
            // As in PostgreSQL, a function of the temporary schema is called by its whole name only.
            .filter(|schema| temporary.is_none_or(|temporary| *temporary != schema.definition.name))
            .filter_map(|schema| schema.functions.get(name));
        let Some(first) = found.next() else { return Cow::Borrowed(&[]) };
        let mut all: Cow<'_, [Arc<FunctionDef>]> = Cow::Borrowed(first.as_slice());
        for function in found.flatten() {
            let types: Vec<_> = function.args.iter().map(|arg| arg.ty.clone()).collect();
            if !all.iter().any(|known| known.takes(&types)) {
                all.to_mut().push(Arc::clone(function));
            }
        }
        all
    }

    /// The system view of that name.
    pub fn system_view(&self, schema: Option<&str>, name: &str) -> Option<SystemView> {
        match schema {
            None | Some(PG_CATALOG) => SystemView::from_name(name),
            Some(INFORMATION_SCHEMA) => RelationId::find(INFORMATION_SCHEMA, name).map(SystemView::Relation),
            Some(_) => None,
        }
    }

    /// Every schema, by name.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<SchemaDef>> {
        self.contents.schemas.values().map(|schema| &schema.definition)
    }

    /// Every table, the system's own included, by schema and name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.relations().filter_map(|relation| match relation {
            Relation::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Its views, the materialized ones among them.
    pub fn all_views(&self) -> impl Iterator<Item = Arc<ViewDef>> + '_ {
        let materialized = self.tables().filter_map(|table| table.as_view()).map(Arc::new);
        self.views().cloned().chain(materialized)
    }

    /// Every view, by schema and name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.relations().filter_map(|relation| match relation {
            Relation::View(view) => Some(view),
            _ => None,
        })
    }

    /// Every sequence, by schema and name.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.relations().filter_map(|relation| match relation {
            Relation::Sequence(sequence) => Some(sequence),
            _ => None,
        })
    }

    /// Every user-defined function, by schema and name.
    pub fn all_functions(&self) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.contents.schemas.values().flat_map(|schema| schema.functions.values().flatten())
    }

    /// The relations of that name, in whatever schema.
    pub fn relations_named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Relation> {
        self.contents.schemas.values().filter_map(move |schema| schema.relations.get(name))
    }

    /// The types of that name that users have made, in whatever schema.
    pub fn types_named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Arc<TypeDef>> {
        self.contents.schemas.values().filter_map(move |schema| schema.types.get(name))
    }

    /// The functions of that name that users have made, in whatever schema.
    pub fn functions_named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Arc<FunctionDef>> {
        self.contents.schemas.values().filter_map(move |schema| schema.functions.get(name)).flatten()
    }

    /// Every table and sequence, by schema and name.
    pub fn relations(&self) -> impl Iterator<Item = &Relation> {
        self.contents.schemas.values().flat_map(|schema| schema.relations.values())
    }

    /// The schemas in which a name with or without schema is looked up, in order (N2).
    fn path<'s>(&'s self, schema: Option<&str>) -> impl Iterator<Item = &'s Schema> + use<'s> {
        let searched = if schema.is_none() { self.path.searched() } else { &[] };
        let named = schema.and_then(|name| self.contents.schemas.get(self.own_name(name)));
        named.into_iter().chain(searched.iter().filter_map(|name| self.contents.schemas.get(name)))
    }

    /// A schema's name; `pg_temp` is the session's own.
    fn own_name<'n>(&'n self, name: &'n str) -> &'n str {
        match self.path.temporary() {
            Some(temporary) if name == PG_TEMP => temporary,
            _ => name,
        }
    }
}

/// Whether schemas are called what they were called before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum SameNames {
    Yes,
    No,
}

/// Roughly what a relation takes.
fn relation_bytes(relation: &Relation) -> usize {
    ENTRY_BYTES
        + match relation {
            Relation::Table(table) => {
                let parts = table.all_indexes().count() + table.constraints.len() + table.triggers.len();
                (table.columns.len() + parts) * PART_BYTES
            }
            Relation::View(view) => {
                (view.columns.len() + view.triggers.len()) * PART_BYTES + view.query.text.len()
            }
            Relation::Sequence(_) | Relation::Index(_) => PART_BYTES,
        }
}

/// Roughly what a function takes.
fn function_bytes(function: &FunctionDef) -> usize {
    ENTRY_BYTES + function.body.len()
}

/// Puts a [`CatalogSnapshot`] together: the loader's tool, and that of tests that need names without a database.
#[derive(Debug)]
pub struct SnapshotBuilder {
    version: u64,
    contents: Contents,
}

impl SnapshotBuilder {
    /// Adds an empty schema.
    pub fn add_schema(&mut self, definition: Arc<SchemaDef>) -> &mut Self {
        let schema = Schema {
            definition: Arc::clone(&definition),
            relations: SharedMap::default(),
            functions: SharedMap::default(),
            types: SharedMap::default(),
            constraints: SharedMap::default(),
        };
        self.contents.schemas.insert(Arc::clone(&definition.name), schema);
        self
    }

    /// Puts the schemas of these rows in the place of those that have these numbers. `No` where one of them has another name
    /// now, and with it all that is in it.
    pub(crate) fn change_schemas(&mut self, numbers: &BTreeSet<Oid>, new: Vec<SchemaDef>) -> SameNames {
        let known: Vec<Arc<SchemaDef>> = self
            .contents
            .schemas
            .values()
            .map(|schema| &schema.definition)
            .filter(|schema| numbers.contains(&schema.oid))
            .cloned()
            .collect();
        for old in known {
            match new.iter().find(|new| new.oid == old.oid) {
                Some(new) if new.name != old.name => return SameNames::No,
                Some(_) => {}
                None => drop(self.contents.schemas.remove(&*old.name)),
            }
        }
        for new in new {
            match self.contents.schemas.get_mut(&*new.name) {
                Some(schema) if *schema.definition == new => {}
                Some(schema) => schema.definition = Arc::new(new),
                None => {
                    self.add_schema(Arc::new(new));
                }
            }
        }
        SameNames::Yes
    }

    /// The name of each schema, by its row in `pg_namespace`.
    pub(crate) fn schema_names(&self) -> impl Iterator<Item = (Oid, &Arc<str>)> {
        self.contents.schemas.values().map(|schema| (schema.definition.oid, &schema.definition.name))
    }

    /// Adds a table with its indexes; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_table(&mut self, table: impl Into<Arc<TableDef>>) -> &mut Self {
        let table = table.into();
        for index in table.all_indexes() {
            self.add_relation(Relation::Index(Arc::clone(index)));
        }
        self.add_relation(Relation::Table(table))
    }

    /// Adds a sequence; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_sequence(&mut self, sequence: impl Into<Arc<SequenceDef>>) -> &mut Self {
        self.add_relation(Relation::Sequence(sequence.into()))
    }

    /// Adds a view; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_view(&mut self, view: impl Into<Arc<ViewDef>>) -> &mut Self {
        self.add_relation(Relation::View(view.into()))
    }

    /// Adds a collation.
    pub fn add_collation(&mut self, collation: impl Into<Arc<CollationDef>>) -> &mut Self {
        let collation = collation.into();
        self.contents.collations.insert(collation.oid().0, collation);
        self
    }

    /// Takes the collations out again.
    pub(crate) fn take_collations(&mut self) -> Vec<Arc<CollationDef>> {
        std::mem::take(&mut self.contents.collations).values().cloned().collect()
    }

    /// Says which data keys of collations are made from.
    pub(crate) fn set_collation_data(&mut self, data: CollationData) {
        self.contents.collation_data = data;
    }

    /// Forgets the extensions, which are then added anew.
    pub(crate) fn forget_extensions(&mut self) {
        self.contents.extensions.clear();
    }

    /// Adds an extension.
    pub(crate) fn add_extension(&mut self, extension: ExtensionDef) {
        self.contents.extensions.push(extension);
    }

    /// Forgets the operators, which are then added anew.
    pub(crate) fn forget_operators(&mut self) {
        self.contents.operators.clear();
    }

    /// Forgets the casts, which are then added anew.
    pub(crate) fn forget_casts(&mut self) {
        self.contents.casts.clear();
    }

    /// Adds an operator.
    pub(crate) fn add_operator(&mut self, operator: OperatorDef) {
        self.contents.operators.push(Arc::new(operator));
    }

    /// Adds a cast.
    pub(crate) fn add_cast(&mut self, cast: CastDef) {
        self.contents.casts.push(cast);
    }

    /// Adds a comment.
    pub(crate) fn add_comment(&mut self, on: (Oid, Oid, i32), text: Arc<str>) -> &mut Self {
        let (catalog, object, column) = on;
        self.contents.bytes += ENTRY_BYTES + text.len();
        self.contents.comments.insert((object, catalog, column), text);
        self
    }

    /// Who may do what, to be changed.
    pub(crate) fn authority_mut(&mut self) -> &mut Authority {
        &mut self.contents.authority
    }

    /// Adds what `pg_statistic` has of a table.
    pub(crate) fn add_statistics(&mut self, table: Oid, rows: Vec<StatisticRow>) {
        let kept = Kept::new(rows);
        self.contents.bytes += ENTRY_BYTES + kept.heap_bytes();
        self.contents.statistics.insert(table, Arc::new(kept));
    }

    /// Adds a type; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_type(&mut self, ty: impl Into<Arc<TypeDef>>) -> &mut Self {
        let ty = ty.into();
        self.contents.types_by_oid.insert(ty.oid, Arc::clone(&ty));
        self.contents.types_by_oid.insert(ty.array, Arc::clone(&ty));
        self.contents.bytes += ENTRY_BYTES;
        self.schema_mut(&ty.schema).types.insert(Arc::clone(&ty.name), ty);
        self
    }

    /// Adds a function; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_function(&mut self, function: impl Into<Arc<FunctionDef>>) -> &mut Self {
        let function = function.into();
        self.contents.bytes += function_bytes(&function);
        self.contents.functions_by_oid.insert(function.oid, Arc::clone(&function));
        let schema = self.schema_mut(&function.schema);
        match schema.functions.get_mut(&*function.name) {
            Some(named) => {
                let at = named.partition_point(|known| known.oid <= function.oid);
                named.insert(at, function);
            }
            None => schema.functions.insert(Arc::clone(&function.name), vec![function]),
        }
        self
    }

    /// Takes out what has that number, and what is said of it: a relation, a function, a type. Columns, indexes and
    /// constraints go with their tables.
    fn remove(&mut self, oid: Oid) {
        let contents = &mut self.contents;
        if let Some(relation) = contents.relations_by_oid.remove(&oid) {
            contents.bytes -= relation_bytes(&relation);
            if let Some(schema) = contents.schemas.get_mut(&**relation.schema()) {
                schema.relations.remove(&**relation.name());
                for constraint in relation.as_table().iter().flat_map(|table| &table.constraints) {
                    schema.constraints.remove(&(Arc::clone(&constraint.name), constraint.oid));
                }
            }
        }
        if let Some(function) = contents.functions_by_oid.remove(&oid) {
            contents.bytes -= function_bytes(&function);
            if let Some(schema) = contents.schemas.get_mut(&*function.schema)
                && let Some(named) = schema.functions.get_mut(&*function.name)
            {
                named.retain(|known| known.oid != oid);
                if named.is_empty() {
                    schema.functions.remove(&*function.name);
                }
            }
        }
        if let Some(ty) = contents.types_by_oid.remove(&oid)
            && ty.oid == oid
        {
            contents.bytes -= ENTRY_BYTES;
            contents.types_by_oid.remove(&ty.array);
            if let Some(schema) = contents.schemas.get_mut(&*ty.schema) {
                schema.types.remove(&*ty.name);
            }
        }
        if let Some(kept) = contents.statistics.remove(&oid) {
            contents.bytes -= ENTRY_BYTES + kept.heap_bytes();
        }
        let commented = contents.comments.from(|(known, ..)| *known < oid);
        let commented: Vec<_> =
            commented.map(|(on, _)| *on).take_while(|(known, ..)| *known == oid).collect();
        for text in commented.iter().filter_map(|on| contents.comments.remove(on)) {
            contents.bytes -= ENTRY_BYTES + text.len();
        }
        contents.authority.remove(oid);
    }

    /// The finished snapshot.
    pub fn build(self) -> Arc<CatalogSnapshot> {
        Arc::new(CatalogSnapshot {
            version: self.version,
            contents: Arc::new(self.contents),
            path: Arc::default(),
            sizes: Sizes::default(),
        })
    }

    fn add_relation(&mut self, relation: Relation) -> &mut Self {
        let (schema, name) = relation.key();
        let name = Arc::clone(name);
        self.contents.bytes += relation_bytes(&relation);
        self.contents.relations_by_oid.insert(relation.oid(), relation.clone());
        let schema = Arc::clone(schema);
        let schema = self.schema_mut(&schema);
        for constraint in relation.as_table().iter().flat_map(|table| &table.constraints) {
            schema.constraints.insert((Arc::clone(&constraint.name), constraint.oid), ());
        }
        schema.relations.insert(name, relation);
        self
    }

    fn schema_mut(&mut self, name: &str) -> &mut Schema {
        self.contents.schemas.get_mut(name).expect("the schema is added before what is in it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{ColumnDef, FunctionArg, FunctionLanguage};
    use crate::sequence::SequenceBounds;
    use verso_storage::page::ObjectId;
    use verso_types::SqlType;

    fn table(oid: u32, schema: &str, name: &str) -> TableDef {
        TableDef::new(Oid(oid), schema, name, ObjectId(oid), vec![ColumnDef::new("a", 1, SqlType::Int4)])
    }

    fn function(oid: u32, ty: SqlType) -> FunctionDef {
        let args = vec![FunctionArg::new("x", ty)];
        FunctionDef { args, language: FunctionLanguage::Sql, ..FunctionDef::new(Oid(oid), PUBLIC, "f") }
    }

    #[test]
    fn unqualified_names_mean_the_system_first_then_public() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_schema(Arc::new(SchemaDef::new(Oid(16_384), "other")));
        builder.add_table(table(1, PG_CATALOG, "both")).add_table(table(2, PUBLIC, "both"));
        builder.add_table(table(3, "other", "hidden"));
        let snapshot = builder.build();
        assert_eq!(snapshot.table(None, "both").map(|t| t.oid), Some(Oid(1)));
        assert_eq!(snapshot.table(Some(PUBLIC), "both").map(|t| t.oid), Some(Oid(2)));
        assert!(snapshot.table(None, "hidden").is_none());
        assert_eq!(snapshot.table(Some("other"), "hidden").map(|t| t.oid), Some(Oid(3)));
        assert!(snapshot.table(Some("nowhere"), "both").is_none());
        assert_eq!(snapshot.tables().count(), 3);
    }

    #[test]
    fn a_search_path_says_where_names_are_looked_up() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_schema(Arc::new(SchemaDef::new(Oid(16_384), "a")));
        builder.add_schema(Arc::new(SchemaDef::new(Oid(16_385), "pg_temp_1")));
        builder.add_table(table(1, PUBLIC, "t")).add_table(table(2, "a", "t"));
        builder.add_table(table(3, "pg_temp_1", "t")).add_table(table(4, "pg_temp_1", "own"));
        let snapshot = builder.build();
        let found = |schemas: &[&str], temporary: Option<&str>, name: &str| {
            let schemas = schemas.iter().map(|name| Arc::from(*name)).collect();
            let wanted = WantedPath { schemas, temporary: temporary.map(Arc::from), ..WantedPath::default() };
            snapshot.with_path(&wanted).table(None, name).map(|table| table.oid.0)
        };
        assert_eq!(found(&[PUBLIC, "a"], None, "t"), Some(1));
        assert_eq!(found(&["nowhere", "a", PUBLIC], None, "t"), Some(2));
        assert_eq!(found(&["a"], Some("pg_temp_1"), "t"), Some(3));
        assert_eq!(found(&["a", PG_TEMP], Some("pg_temp_1"), "t"), Some(2));
        assert_eq!(found(&[PUBLIC], None, "own"), None);
        let own =
            WantedPath { schemas: Vec::new(), temporary: Some("pg_temp_1".into()), ..WantedPath::default() };
        let own = snapshot.with_path(&own);
        assert_eq!(own.table(Some(PG_TEMP), "own").map(|table| table.oid.0), Some(4));
        assert!(own.creation_schema().is_none());
        assert_eq!(own.key().version, snapshot.key().version);
        assert_ne!(own.key(), snapshot.key());
    }

    #[test]
    fn tables_and_sequences_share_their_names() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_sequence(SequenceDef {
            oid: Oid(7),
            schema: PUBLIC.into(),
            name: "s".into(),
            object: ObjectId(7),
            bounds: SequenceBounds::default(),
            owned_by: None,
            unlogged: false,
        });
        let snapshot = builder.build();
        assert!(snapshot.table(None, "s").is_none());
        assert!(snapshot.relation(None, "s").is_some());
        assert_eq!(snapshot.sequence_by_oid(Oid(7)).map(|s| s.name.clone()).as_deref(), Some("s"));
    }

    #[test]
    fn functions_are_found_with_all_their_overloads() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_function(function(1, SqlType::Int4)).add_function(function(2, SqlType::Varchar(Some(3))));
        let snapshot = builder.build();
        assert_eq!(snapshot.functions(None, "f").len(), 2);
        assert!(snapshot.functions(None, "g").is_empty());
        assert!(snapshot.functions(None, "f")[1].takes(&[SqlType::Varchar(None)]));
        assert_eq!(snapshot.functions(None, "f")[1].signature(), "f(character varying)");
    }

    #[test]
    fn system_views_are_in_pg_catalog() {
        let snapshot = CatalogSnapshot::builder(1).build();
        assert_eq!(snapshot.system_view(None, "verso_database"), Some(SystemView::Database));
        assert_eq!(snapshot.system_view(Some(PG_CATALOG), "verso_database"), Some(SystemView::Database));
        assert_eq!(snapshot.system_view(Some(PUBLIC), "verso_database"), None);
        assert_eq!(snapshot.system_view(None, "nothing"), None);
    }
}
