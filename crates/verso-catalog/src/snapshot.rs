//! One version of the whole catalog: immutable, shared between statements, looked up by name.
//!
//! ```text
//! snapshot ─► schema ─► relations  name ─► table | sequence | index     (one name space, as in PostgreSQL)
//!                   └─► functions  name ─► overloads
//! ```
//!
//! N1. Names are stored folded and compared byte by byte; folding is the parser's business.
//! N2. An unqualified name is looked up in `pg_catalog`, then in `public`.
//! N3. In a schema a name means one relation at most; a function name may have several argument lists.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use verso_storage::Engine;

use crate::definition::{FunctionDef, IndexDef, Oid, SchemaDef, SequenceDef, TableDef};
use crate::relations::{INFORMATION_SCHEMA, RelationId};
use crate::size::Sizes;
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
}

impl Relation {
    /// Its row in `pg_class`.
    pub fn oid(&self) -> Oid {
        match self {
            Relation::Table(table) => table.oid,
            Relation::Sequence(sequence) => sequence.oid,
            Relation::Index(index) => index.oid,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.key().1
    }

    /// Its schema and its name.
    pub fn path(&self) -> (&str, &str) {
        let (schema, name) = self.key();
        (schema, name)
    }

    pub(crate) fn key(&self) -> (&Arc<str>, &Arc<str>) {
        match self {
            Relation::Table(table) => (&table.schema, &table.name),
            Relation::Sequence(sequence) => (&sequence.schema, &sequence.name),
            Relation::Index(index) => (&index.schema, &index.name),
        }
    }
}

#[derive(Clone, Debug)]
struct Schema {
    definition: Arc<SchemaDef>,
    relations: BTreeMap<Arc<str>, Relation>,
    functions: BTreeMap<Arc<str>, Vec<Arc<FunctionDef>>>,
}

/// Every definition that one version of the catalog has.
#[derive(Clone, Debug)]
pub struct CatalogSnapshot {
    /// Tells versions apart: two snapshots with the same number have the same contents.
    pub version: u64,
    schemas: BTreeMap<Arc<str>, Schema>,
    relations_by_oid: HashMap<Oid, Relation>,
    sizes: Sizes,
}

impl CatalogSnapshot {
    /// The same, with the sizes of tables as a database has them.
    pub(crate) fn of_database(self: Arc<Self>, engine: &Engine) -> Arc<CatalogSnapshot> {
        Arc::new(CatalogSnapshot { sizes: Sizes(Some(engine.clone())), ..Arc::unwrap_or_clone(self) })
    }

    /// About how many rows a table has, from the number of its pages; none where the catalog is of no database.
    pub fn rows(&self, table: &TableDef) -> Option<f64> {
        self.sizes.rows(table)
    }

    /// Begins a snapshot that has the schemas `pg_catalog` and `public`, and nothing in them.
    pub fn builder(version: u64) -> SnapshotBuilder {
        let mut builder = CatalogSnapshot::empty(version);
        builder.add_schema(Arc::new(SchemaDef { oid: Oid(11), name: PG_CATALOG.into() }));
        builder.add_schema(Arc::new(SchemaDef { oid: Oid(2200), name: PUBLIC.into() }));
        builder
    }

    /// Begins a snapshot that has nothing in it.
    pub(crate) fn empty(version: u64) -> SnapshotBuilder {
        let snapshot = CatalogSnapshot {
            version,
            schemas: BTreeMap::new(),
            relations_by_oid: HashMap::new(),
            sizes: Sizes::default(),
        };
        SnapshotBuilder { snapshot }
    }

    /// The schema of that name.
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaDef>> {
        self.schemas.get(name).map(|schema| &schema.definition)
    }

    /// The table or sequence of that name.
    pub fn relation(&self, schema: Option<&str>, name: &str) -> Option<&Relation> {
        self.path(schema).find_map(|schema| schema.relations.get(name))
    }

    /// The table of that name.
    pub fn table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        match self.relation(schema, name)? {
            Relation::Table(table) => Some(Arc::clone(table)),
            Relation::Sequence(_) | Relation::Index(_) => None,
        }
    }

    /// The sequence of that name.
    pub fn sequence(&self, schema: Option<&str>, name: &str) -> Option<Arc<SequenceDef>> {
        match self.relation(schema, name)? {
            Relation::Sequence(sequence) => Some(Arc::clone(sequence)),
            Relation::Table(_) | Relation::Index(_) => None,
        }
    }

    /// The index of that name.
    pub fn index(&self, schema: Option<&str>, name: &str) -> Option<Arc<IndexDef>> {
        match self.relation(schema, name)? {
            Relation::Index(index) => Some(Arc::clone(index)),
            Relation::Table(_) | Relation::Sequence(_) => None,
        }
    }

    /// The relation with that row in `pg_class`.
    pub fn relation_by_oid(&self, oid: Oid) -> Option<&Relation> {
        self.relations_by_oid.get(&oid)
    }

    /// The table with that row in `pg_class`.
    pub fn table_by_oid(&self, oid: Oid) -> Option<Arc<TableDef>> {
        match self.relations_by_oid.get(&oid)? {
            Relation::Table(table) => Some(Arc::clone(table)),
            Relation::Sequence(_) | Relation::Index(_) => None,
        }
    }

    /// The sequence with that row in `pg_class`.
    pub fn sequence_by_oid(&self, oid: Oid) -> Option<Arc<SequenceDef>> {
        match self.relations_by_oid.get(&oid)? {
            Relation::Sequence(sequence) => Some(Arc::clone(sequence)),
            Relation::Table(_) | Relation::Index(_) => None,
        }
    }

    /// The user-defined functions of that name, whatever their arguments; empty if there is none.
    ///
    /// Built-in functions are not here: the binder knows them itself.
    pub fn functions(&self, schema: Option<&str>, name: &str) -> &[Arc<FunctionDef>] {
        self.path(schema).find_map(|schema| schema.functions.get(name)).map_or(&[], Vec::as_slice)
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
        self.schemas.values().map(|schema| &schema.definition)
    }

    /// Every table, the system's own included, by schema and name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.relations().filter_map(|relation| match relation {
            Relation::Table(table) => Some(table),
            Relation::Sequence(_) | Relation::Index(_) => None,
        })
    }

    /// Every sequence, by schema and name.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.relations().filter_map(|relation| match relation {
            Relation::Sequence(sequence) => Some(sequence),
            Relation::Table(_) | Relation::Index(_) => None,
        })
    }

    /// Every user-defined function, by schema and name.
    pub fn all_functions(&self) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.schemas.values().flat_map(|schema| schema.functions.values().flatten())
    }

    /// Every table and sequence, by schema and name.
    pub fn relations(&self) -> impl Iterator<Item = &Relation> {
        self.schemas.values().flat_map(|schema| schema.relations.values())
    }

    /// The schemas in which a name with or without schema is looked up, in order (N2).
    fn path<'s>(&'s self, schema: Option<&str>) -> impl Iterator<Item = &'s Schema> + use<'s> {
        let (first, second) = match schema {
            Some(name) => (name, None),
            None => (PG_CATALOG, Some(PUBLIC)),
        };
        [Some(first), second].map(|name| name.and_then(|name| self.schemas.get(name))).into_iter().flatten()
    }
}

/// Puts a [`CatalogSnapshot`] together: the loader's tool, and that of tests that need names without a database.
#[derive(Debug)]
pub struct SnapshotBuilder {
    snapshot: CatalogSnapshot,
}

impl SnapshotBuilder {
    /// Adds an empty schema.
    pub fn add_schema(&mut self, definition: Arc<SchemaDef>) -> &mut Self {
        let schema = Schema {
            definition: Arc::clone(&definition),
            relations: BTreeMap::new(),
            functions: BTreeMap::new(),
        };
        self.snapshot.schemas.insert(Arc::clone(&definition.name), schema);
        self
    }

    /// Adds a table with its indexes; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_table(&mut self, table: impl Into<Arc<TableDef>>) -> &mut Self {
        let table = table.into();
        for index in &table.indexes {
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

    /// Adds a function; its schema must be there.
    ///
    /// # Panics
    /// If the schema was not added before.
    pub fn add_function(&mut self, function: impl Into<Arc<FunctionDef>>) -> &mut Self {
        let function = function.into();
        let schema = self.schema_mut(&function.schema);
        schema.functions.entry(Arc::clone(&function.name)).or_default().push(function);
        self
    }

    /// The finished snapshot.
    pub fn build(self) -> Arc<CatalogSnapshot> {
        Arc::new(self.snapshot)
    }

    fn add_relation(&mut self, relation: Relation) -> &mut Self {
        let (schema, name) = relation.key();
        let name = Arc::clone(name);
        self.snapshot.relations_by_oid.insert(relation.oid(), relation.clone());
        let schema = Arc::clone(schema);
        self.schema_mut(&schema).relations.insert(name, relation);
        self
    }

    fn schema_mut(&mut self, name: &str) -> &mut Schema {
        self.snapshot.schemas.get_mut(name).expect("the schema is added before what is in it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{ColumnDef, FunctionArg, FunctionLanguage, FunctionReturn, Volatility};
    use crate::sequence::SequenceBounds;
    use verso_storage::page::ObjectId;
    use verso_types::SqlType;

    fn table(oid: u32, schema: &str, name: &str) -> TableDef {
        TableDef::new(Oid(oid), schema, name, ObjectId(oid), vec![ColumnDef::new("a", 1, SqlType::Int4)])
    }

    fn function(oid: u32, ty: SqlType) -> FunctionDef {
        FunctionDef {
            oid: Oid(oid),
            schema: PUBLIC.into(),
            name: "f".into(),
            args: vec![FunctionArg { name: "x".into(), ty }],
            returns: FunctionReturn::Void,
            language: FunctionLanguage::Sql,
            body: "".into(),
            volatility: Volatility::Volatile,
            strict: false,
        }
    }

    #[test]
    fn unqualified_names_mean_the_system_first_then_public() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_schema(Arc::new(SchemaDef { oid: Oid(16_384), name: "other".into() }));
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
    fn tables_and_sequences_share_their_names() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_sequence(SequenceDef {
            oid: Oid(7),
            schema: PUBLIC.into(),
            name: "s".into(),
            object: ObjectId(7),
            bounds: SequenceBounds::default(),
            owned_by: None,
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
