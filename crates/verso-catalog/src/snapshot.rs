//! One version of the whole catalog: immutable, shared between statements, looked up by name.
//!
//! ```text
//! snapshot ─► schema ─► relations  name ─► table | sequence | index     (one name space, as in PostgreSQL)
//!                   ├─► functions  name ─► overloads
//!                   └─► types      name ─► type
//! ```
//!
//! N1. Names are stored folded and compared byte by byte; folding is the parser's business.
//! N2. An unqualified name is looked up along the snapshot's search path ([`crate::path`]): [`named`], [`types`](mod@types).
//! N3. In a schema a name means one relation at most; a function name may have several argument lists: [`builder`].
//! N4. A version shares with the one that it was made from all that did not change: definitions, and the maps that find
//!     them but for a few chunks (`shared_map`).
//! N5. Beside each definition stands which objects it names, so that nobody looks through all of them: [`naming`].

mod builder;
#[cfg(any(test, debug_assertions))]
mod compare;
mod dangling;
mod named;
mod naming;
mod relation;
mod types;

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use verso_env::Vfs;
use verso_storage::Engine;
use verso_types::CollationData;

use crate::authority::Authority;
use crate::collation::CollationDef;
use crate::definition::{ExtensionDef, FunctionDef, Oid, SchemaDef, TableDef, TypeDef};
use crate::operator::{CastDef, OperatorDef};
use crate::parts::Owners;
use crate::path::{SearchPath, WantedPath, is_temporary};
use crate::rights::{Object, Rights};
use crate::shared_map::SharedMap;
use crate::size::Sizes;
use crate::statistics::{Kept, TableStatistics};
pub(crate) use builder::SameNames;
pub use builder::SnapshotBuilder;
pub use dangling::Dangling;
pub use naming::Naming;
use naming::References;
pub use relation::Relation;
pub use types::is_of_users;

/// The schema of the system's own tables and views.
pub const PG_CATALOG: &str = "pg_catalog";
/// The schema of what users create without naming one.
pub const PUBLIC: &str = "public";

#[derive(Clone, Debug, PartialEq)]
struct Schema {
    definition: Arc<SchemaDef>,
    relations: SharedMap<Arc<str>, Relation>,
    /// Those of one name by number.
    functions: SharedMap<Arc<str>, Vec<Arc<FunctionDef>>>,
    types: SharedMap<Arc<str>, Arc<TypeDef>>,
    /// The names of its tables' constraints, and what they are on.
    constraints: SharedMap<(Arc<str>, Oid), ()>,
    /// The names and numbers of its statistics of several columns, and their tables, which may be in another schema.
    statistics: SharedMap<(Arc<str>, Oid), Oid>,
}

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
    /// Which of these name which objects.
    references: References,
    /// Those that users have made, by number.
    collations: SharedMap<u32, Arc<CollationDef>>,
    collation_data: CollationData,
    /// Those that were asked for.
    extensions: Vec<ExtensionDef>,
    /// Those of users, by number.
    operators: Vec<Arc<OperatorDef>>,
    /// The same.
    casts: Vec<CastDef>,
    /// Casts that were dropped, for the texts that use them.
    dropped_casts: Vec<CastDef>,
    /// By object, catalog and column.
    comments: SharedMap<(Oid, Oid, i32), Arc<str>>,
    /// By table.
    statistics: SharedMap<Oid, Arc<Kept>>,
    /// Which relations constraints and triggers are on.
    pub(crate) owners: Owners,
    /// Objects whose definitions could not be read, and what is wrong with them.
    pub(crate) damage: SharedMap<Oid, Arc<str>>,
    /// Roughly what all that takes.
    bytes: usize,
    /// Who may do what.
    pub(crate) authority: Authority,
}

/// The definitions of a snapshot, told apart from those of any other, also of the same version: one that a statement has changed
/// itself has its own. It keeps none of them.
#[derive(Clone, Debug)]
pub struct DefinitionsKey(Weak<Contents>);

impl DefinitionsKey {
    /// Whether there still are snapshots with these definitions.
    pub fn is_used(&self) -> bool {
        self.0.strong_count() > 0
    }
}

impl PartialEq for DefinitionsKey {
    fn eq(&self, other: &DefinitionsKey) -> bool {
        self.0.ptr_eq(&other.0)
    }
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

    /// What is made from the definitions alone, whatever the search path and the role are, may be kept under it.
    pub fn definitions_key(&self) -> DefinitionsKey {
        DefinitionsKey(Arc::downgrade(&self.contents))
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

    /// The operator of that number.
    pub fn operator_by_oid(&self, oid: Oid) -> Option<&Arc<OperatorDef>> {
        let all = &self.contents.operators;
        all.binary_search_by_key(&oid, |operator| operator.oid).ok().map(|at| &all[at])
    }

    /// The cast of that number.
    pub fn cast_by_oid(&self, oid: Oid) -> Option<&CastDef> {
        let all = &self.contents.casts;
        all.binary_search_by_key(&oid, |cast| cast.oid).ok().map(|at| &all[at])
    }

    /// The casts of users.
    pub fn casts(&self) -> &[CastDef] {
        &self.contents.casts
    }

    /// Casts that users have made and dropped again: as in PostgreSQL, what was made with one goes on with it. No statement finds
    /// them, only texts that the catalog keeps.
    pub fn dropped_casts(&self) -> &[CastDef] {
        &self.contents.dropped_casts
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

    /// The same version without what these numbers name, along the same path.
    pub(crate) fn less(&self, gone: &BTreeSet<Oid>) -> Arc<CatalogSnapshot> {
        let mut builder = self.without(self.version, gone);
        builder.contents.damage = SharedMap::default();
        let casts: Vec<CastDef> =
            self.casts().iter().filter(|one| !gone.contains(&one.oid)).cloned().collect();
        builder.forget_casts();
        casts.into_iter().for_each(|cast| builder.add_cast(cast));
        self.dropped_casts().iter().for_each(|cast| builder.add_dropped_cast(cast.clone()));
        let built = builder.build();
        let (path, sizes) = (Arc::clone(&self.path), self.sizes.clone());
        Arc::new(CatalogSnapshot { path, sizes, ..Arc::unwrap_or_clone(built) })
    }

    /// How many relations there are.
    pub(crate) fn relations_count(&self) -> usize {
        self.contents.relations_by_oid.len()
    }
}
