//! Rows of `pg_inherits` and `pg_partitioned_table`; bounds and keys as text.

use std::sync::Arc;

use verso_catalog::partition::Strategy;
use verso_catalog::{CatalogSnapshot, IndexDef, Oid, Relation, TableDef};
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, Value};

use super::fixed::{default_class, hash_class, type_facts};
use super::{attnum, letter, number, oid, short, vector};

/// The tables of users, by number.
fn tables(catalog: &CatalogSnapshot) -> Vec<Arc<TableDef>> {
    let mut tables: Vec<Arc<TableDef>> = catalog
        .relations()
        .filter_map(Relation::as_table)
        .filter(|table| !table.is_system())
        .cloned()
        .collect();
    tables.sort_by_key(|table| table.oid);
    tables
}

/// The rows of `pg_inherits`.
pub(super) fn inherits(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let row = |table: Arc<TableDef>| {
        let of = table.partition_of.as_ref()?;
        Some(vec![oid(table.oid), oid(of.parent), Value::Int4(1), Value::Bool(false)])
    };
    let of_index = |index: &Arc<IndexDef>| {
        Some(vec![oid(index.oid), oid(index.part_of?), Value::Int4(1), Value::Bool(false)])
    };
    let tables = tables(catalog);
    let indexes: Vec<Vec<Value>> =
        tables.iter().flat_map(|table| table.all_indexes()).filter_map(of_index).collect();
    tables.into_iter().filter_map(row).chain(indexes).collect()
}

/// The rows of `pg_partitioned_table`.
pub(super) fn partitioned(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let row = |table: Arc<TableDef>| {
        let own = table.partitioned.as_ref()?;
        let collation = |ty: &SqlType| {
            let facts = type_facts().get(&i64::from(ty.pg_oid()));
            super::collations::of_type(ty, facts.map_or(Value::Int8(0), |facts| facts.collation.clone()))
        };
        let class = match own.strategy {
            Strategy::Hash => hash_class,
            Strategy::List | Strategy::Range => default_class,
        };
        let default = own.default_partition().map_or(number(0), |(_, table)| oid(table.oid));
        Some(vec![
            oid(table.oid),
            letter(own.strategy.letter()),
            short(own.columns.len()),
            default,
            vector(own.columns.iter().map(|id| Value::Int2(attnum(*id)))),
            vector(own.types.iter().map(|ty| Value::Int8(class(ty)))),
            vector(own.types.iter().map(collation)),
            Value::Null,
        ])
    };
    tables(catalog).into_iter().filter_map(row).collect()
}

/// The bound of a partition, as `pg_get_expr` shows it.
pub(super) fn bound_text(catalog: &CatalogSnapshot, table: &TableDef) -> Option<String> {
    let of = table.partition_of.as_ref()?;
    let parent = catalog.table_by_oid(of.parent)?;
    Some(of.bound.text(&parent.partitioned.as_ref()?.types))
}

/// What stands behind PARTITION BY.
pub(super) fn key_text(catalog: &CatalogSnapshot, table: Oid) -> Option<String> {
    let table = catalog.table_by_oid(table)?;
    let own = table.partitioned.as_ref()?;
    let name = |id: &u16| Some(quote_ident(&table.columns[table.column_with_id(*id)?].name));
    let names: Vec<_> = own.columns.iter().filter_map(name).collect();
    Some(format!("{} ({})", own.strategy.word(), names.join(", ")))
}

/// A table that is a partition or has some, and what it is a part of, up to the whole.
fn upwards(catalog: &CatalogSnapshot, table: Oid) -> Vec<Arc<TableDef>> {
    let parent = |table: &Arc<TableDef>| catalog.table_by_oid(table.partition_of.as_ref()?.parent);
    let first = catalog.table_by_oid(table);
    let first = first.filter(|table| table.partitioned.is_some() || table.partition_of.is_some());
    std::iter::successors(first, parent).collect()
}

/// `pg_partition_root`.
pub(super) fn root(catalog: &CatalogSnapshot, table: Oid) -> Value {
    upwards(catalog, table).last().map_or(Value::Null, |root| oid(root.oid))
}

/// The rows of `pg_partition_ancestors`.
pub(super) fn ancestors(catalog: &CatalogSnapshot, table: Oid) -> Value {
    Value::Array(upwards(catalog, table).iter().map(|table| oid(table.oid)).collect())
}

/// The rows of `pg_partition_tree`, level by level.
pub(super) fn tree(catalog: &CatalogSnapshot, table: Oid) -> Value {
    let Some(root) = upwards(catalog, table).into_iter().next() else {
        return Value::Array(std::iter::empty::<Value>().collect());
    };
    let mut found = vec![(root, 0)];
    let mut next = 0;
    while let Some((table, level)) = found.get(next).cloned() {
        next += 1;
        let below = table.partitioned.iter().flat_map(|own| own.partitions.iter().cloned());
        found.extend(below.map(|table| (table, level + 1)));
    }
    let row = |(table, level): (Arc<TableDef>, i32)| {
        let parent = table.partition_of.as_ref().map_or(Value::Null, |of| oid(of.parent));
        let row = [oid(table.oid), parent, Value::Bool(table.partitioned.is_none()), Value::Int4(level)];
        Value::Record(row.into())
    };
    Value::Array(found.into_iter().map(row).collect())
}
