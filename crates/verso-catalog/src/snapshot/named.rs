//! What names and numbers mean: schemas, relations, functions, and lists of them (N2).

use std::borrow::Cow;
use std::sync::Arc;

use super::relation::Relation;
use super::{CatalogSnapshot, PG_CATALOG, Schema};
use crate::definition::{FunctionDef, IndexDef, Oid, SchemaDef, SequenceDef, TableDef, TypeDef, ViewDef};
use crate::extended::StatisticsDef;
use crate::kept::number_of;
use crate::path::PG_TEMP;
use crate::relations::{INFORMATION_SCHEMA, RelationId};
use crate::view::SystemView;

impl CatalogSnapshot {
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
            let all = &self.contents.schemas.get(schema)?.statistics;
            let ((found, oid), table) = all.from(|(known, _)| **known < *name).next()?;
            let table = self.contents.relations_by_oid.get(table).filter(|_| **found == *name)?.as_table()?;
            table.extended.iter().find(|one| one.oid == *oid)
        };
        match schema {
            Some(schema) => within(schema),
            None => self.search_path().searched().iter().find_map(|schema| within(schema)),
        }
    }

    /// The statistics with that row in `pg_statistic_ext`.
    pub fn statistics_by_oid(&self, oid: Oid) -> Option<&Arc<StatisticsDef>> {
        let all = self.contents.schemas.values().flat_map(|schema| schema.statistics.iter());
        let (_, table) = all.into_iter().find(|((_, own), _)| *own == oid)?;
        let table = self.contents.relations_by_oid.get(table)?.as_table()?;
        table.extended.iter().find(|one| one.oid == oid)
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

    /// The partitioned tables that a partition is in, the nearest first; none where it is no partition.
    pub fn tables_above(&self, table: &TableDef) -> impl Iterator<Item = Arc<TableDef>> + use<'_> {
        let above = move |table: &TableDef| self.table_by_oid(table.partition_of.as_ref()?.parent);
        std::iter::successors(above(table), move |table| above(table))
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

    /// The system view of that name; without a schema none where one that is searched before `pg_catalog` has a relation of the name.
    pub fn system_view(&self, schema: Option<&str>, name: &str) -> Option<SystemView> {
        match schema {
            None => {
                let view = SystemView::from_name(name)?;
                let mut before =
                    self.search_path().searched().iter().take_while(|schema| ***schema != *PG_CATALOG);
                let is_hidden = before.any(|schema| self.relation(Some(schema), name).is_some());
                (!is_hidden).then_some(view)
            }
            Some(PG_CATALOG) => SystemView::from_name(name),
            Some(INFORMATION_SCHEMA) => RelationId::find(INFORMATION_SCHEMA, name).map(SystemView::Relation),
            // A view that came with an extension is in the schema where that was made, too.
            Some(schema) if self.has_from_extension(schema, name) => SystemView::from_name(name),
            Some(_) => None,
        }
    }

    /// Every schema, by name.
    pub fn schemas(&self) -> impl Iterator<Item = &Arc<SchemaDef>> {
        self.contents.schemas.values().map(|schema| &schema.definition)
    }

    /// How many indexes are out of use because their keys were made from other data of collations than the program has.
    pub fn outdated_indexes(&self) -> usize {
        self.tables().flat_map(|table| table.idle_indexes.iter()).filter(|index| index.outdated).count()
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

    /// What is in a schema, by name.
    pub fn relations_in(&self, schema: &str) -> impl Iterator<Item = &Relation> {
        self.contents.schemas.get(schema).into_iter().flat_map(|schema| schema.relations.values())
    }

    /// The functions of a schema, by name.
    pub fn functions_in(&self, schema: &str) -> impl Iterator<Item = &Arc<FunctionDef>> {
        self.contents.schemas.get(schema).into_iter().flat_map(|schema| schema.functions.values().flatten())
    }

    /// The types of a schema, by name.
    pub fn types_in(&self, schema: &str) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.contents.schemas.get(schema).into_iter().flat_map(|schema| schema.types.values())
    }

    /// The statistics of several columns of a schema, by name.
    pub(crate) fn statistics_in(&self, schema: &str) -> impl Iterator<Item = &Arc<StatisticsDef>> {
        let all = self.contents.schemas.get(schema).into_iter().flat_map(|schema| schema.statistics.iter());
        all.filter_map(move |((_, oid), table)| {
            let table = self.contents.relations_by_oid.get(table)?.as_table()?;
            table.extended.iter().find(|one| one.oid == *oid)
        })
    }

    /// The schemas in which a name with or without schema is looked up, in order (N2).
    pub(super) fn path<'s>(&'s self, schema: Option<&str>) -> impl Iterator<Item = &'s Schema> + use<'s> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::{ColumnDef, FunctionArg, FunctionLanguage};
    use crate::path::WantedPath;
    use crate::sequence::SequenceBounds;
    use crate::snapshot::PUBLIC;
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
