//! `pg_statio_*`: pages of tables, indexes and sequences that were found in memory and read from the file.
//!
//! The pool counts every page that is latched by the object that it belongs to. A table's are those of its rows, long values and
//! directory; versions of rows that others may still see are the database's.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, IndexDef, Oid, Relation, SequenceDef, TableDef};
use verso_storage::{FetchCount, ObjectId};
use verso_types::Value;

use super::activity::{count, number_at, tables_named, tables_of_users};
use super::keys::Keys;
use super::oid;
use crate::resets;
use crate::views::Views;

/// What was counted since the database was opened.
struct Counted<'v, 's> {
    views: &'v Views<'s>,
    catalog: &'v Arc<CatalogSnapshot>,
}

impl Counted<'_, '_> {
    /// Pages of an object that were read, and those that were in memory.
    fn pages(&self, object: ObjectId) -> [u64; 2] {
        let FetchCount { fetches, reads } = self.views.services.instance.engine.page_fetches(object);
        // Pages that were read ahead may not have been asked for yet.
        [reads, fetches.saturating_sub(reads)]
    }

    fn table(&self, table: &TableDef) -> Vec<Value> {
        let mut row = vec![Value::Null; 11];
        row[0] = oid(table.oid);
        row[1] = Value::Text(Arc::clone(&table.schema));
        row[2] = Value::Text(Arc::clone(&table.name));
        let [read, hit] = self.pages(table.heap);
        (row[3], row[4]) = (count(read), count(hit));
        // Without an index there is nothing to tell, as in PostgreSQL.
        let of_indexes = table.all_indexes().map(|index| self.pages(index.object));
        if let Some([read, hit]) = of_indexes.reduce(|a, b| [a[0] + b[0], a[1] + b[1]]) {
            (row[5], row[6]) = (count(read), count(hit));
        }
        row
    }

    fn index(&self, table: &TableDef, index: &IndexDef) -> Vec<Value> {
        let names = [&table.schema, &table.name, &index.name].map(|name| Value::Text(Arc::clone(name)));
        let pages = self.pages(index.object).map(count);
        [oid(table.oid), oid(index.oid)].into_iter().chain(names).chain(pages).collect()
    }

    fn sequence(&self, sequence: &SequenceDef) -> Vec<Value> {
        let names = [&sequence.schema, &sequence.name].map(|name| Value::Text(Arc::clone(name)));
        let pages = self.pages(sequence.object).map(count);
        std::iter::once(oid(sequence.oid)).chain(names).chain(pages).collect()
    }

    /// The tables asked for; those that only their partitions have rows of have no pages.
    fn wanted(&self, keys: &Keys<'_>) -> Vec<Arc<TableDef>> {
        let of_index = |index: Oid| match self.catalog.relation_by_oid(index) {
            Some(Relation::Index(index)) => index.table,
            _ => Oid(0),
        };
        let table = keys.oid("relid").or_else(|| keys.oid("indexrelid").map(of_index));
        let has_pages = |table: &&Arc<TableDef>| !table.is_system() && table.partitioned.is_none();
        match (table, keys.text("relname")) {
            (Some(table), _) => self.catalog.table_by_oid(table).iter().filter(has_pages).cloned().collect(),
            (None, Some(name)) => tables_named(self.catalog, name).filter(has_pages).cloned().collect(),
            (None, None) => tables_of_users(self.catalog).filter(has_pages).cloned().collect(),
        }
    }
}

/// The rows of `pg_statio_all_tables`.
pub(super) fn tables(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let counted = Counted { views, catalog };
    let resets = &views.services.instance.resets;
    let row = |table: &Arc<TableDef>| resets.since(resets::TABLE_BLOCKS, table.oid.0, counted.table(table));
    counted.wanted(keys).iter().map(row).collect()
}

/// The rows of `pg_statio_all_indexes`.
pub(super) fn indexes(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let counted = Counted { views, catalog };
    let resets = &views.services.instance.resets;
    let mut rows = Vec::new();
    for table in counted.wanted(keys) {
        let of_table = table.all_indexes().map(|index| counted.index(&table, index));
        rows.extend(of_table.map(|row| resets.since(resets::INDEX_BLOCKS, number_at(&row, 1), row)));
    }
    rows
}

/// The rows of `pg_statio_all_sequences`.
pub(super) fn sequences(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let counted = Counted { views, catalog };
    let resets = &views.services.instance.resets;
    let row = |sequence: &Arc<SequenceDef>| {
        resets.since(resets::SEQUENCE_BLOCKS, sequence.oid.0, counted.sequence(sequence))
    };
    catalog.sequences().map(row).collect()
}

/// Sets what was counted of a table and its indexes back.
pub(super) fn reset(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, table: &TableDef, at: i64) {
    let counted = Counted { views, catalog };
    let resets = &views.services.instance.resets;
    resets.reset(resets::TABLE_BLOCKS, table.oid.0, counted.table(table), at);
    for index in table.all_indexes() {
        resets.reset(resets::INDEX_BLOCKS, index.oid.0, counted.index(table, index), at);
    }
}

/// Sets what was counted of all sequences back.
pub(super) fn reset_sequences(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, at: i64) {
    let counted = Counted { views, catalog };
    let resets = &views.services.instance.resets;
    for sequence in catalog.sequences() {
        resets.reset(resets::SEQUENCE_BLOCKS, sequence.oid.0, counted.sequence(sequence), at);
    }
}
