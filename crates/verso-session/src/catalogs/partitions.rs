//! Rows of `pg_inherits` and `pg_partitioned_table`; bounds and keys as text.

use std::sync::Arc;

use verso_catalog::partition::{PartOrder, Strategy};
use verso_catalog::{CatalogSnapshot, ColumnDef, IndexDef, Oid, Relation, TableDef};
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, TimeStyle, Value};

use super::definitions::binder;
use super::fixed::{default_class, facts_of, hash_class};
use super::keys::Keys;
use super::{attnum, letter, number, oid, short, vector};
use crate::views::Views;

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
pub(super) fn inherits(catalog: &Arc<CatalogSnapshot>, keys: &Keys<'_>) -> Vec<Vec<Value>> {
    let row = |table: Arc<TableDef>| {
        let of = table.partition_of.as_ref()?;
        Some(vec![oid(table.oid), oid(of.parent), Value::Int4(1), Value::Bool(false)])
    };
    let of_index = |index: &Arc<IndexDef>| {
        Some(vec![oid(index.oid), oid(index.part_of?), Value::Int4(1), Value::Bool(false)])
    };
    let tables = match (keys.oid("inhrelid"), keys.oid("inhparent")) {
        (None, None) => tables(catalog),
        (Some(child), _) => match catalog.relation_by_oid(child) {
            Some(Relation::Table(table)) => return row(Arc::clone(table)).into_iter().collect(),
            Some(Relation::Index(index)) => return of_index(index).into_iter().collect(),
            _ => Vec::new(),
        },
        (None, Some(parent)) => match catalog.relation_by_oid(parent) {
            Some(Relation::Table(table)) => parts(table),
            Some(Relation::Index(index)) => {
                catalog.table_by_oid(index.table).map_or_else(Vec::new, |table| parts(&table))
            }
            _ => Vec::new(),
        },
    };
    let indexes: Vec<Vec<Value>> =
        tables.iter().flat_map(|table| table.all_indexes()).filter_map(of_index).collect();
    let mut rows: Vec<Vec<Value>> = tables.into_iter().filter_map(row).chain(indexes).collect();
    rows.retain(|row| keys.fit(row));
    rows
}

/// The partitions of a table, by number.
fn parts(table: &TableDef) -> Vec<Arc<TableDef>> {
    let mut parts: Vec<_> = table.partitioned.iter().flat_map(|own| own.partitions.iter().cloned()).collect();
    parts.sort_by_key(|table| table.oid);
    parts
}

/// The rows of `pg_partitioned_table`.
pub(super) fn partitioned(
    views: &Views<'_>,
    catalog: &Arc<CatalogSnapshot>,
    keys: &Keys<'_>,
) -> Vec<Vec<Value>> {
    let row = |table: Arc<TableDef>| {
        let own = table.partitioned.as_ref()?;
        let collation = |ty: &SqlType| super::collations::of_type(ty, super::number(facts_of(ty).collation));
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
            vector(own.columns.iter().map(|id| match ColumnDef::is_hidden_id(*id) {
                true => Value::Int2(0),
                false => Value::Int2(attnum(*id)),
            })),
            vector(
                own.types
                    .iter()
                    .zip(&own.orders)
                    .map(|(ty, order)| Value::Int8(order.class.oid().unwrap_or_else(|| class(ty)))),
            ),
            vector(own.types.iter().zip(&own.orders).map(|(ty, order)| match &order.collation {
                Some(collation) => number(collation.oid),
                None => collation(ty),
            })),
            key_expressions(views, catalog, &table).map_or(Value::Null, |text| Value::text(&text)),
        ])
    };
    match keys.oid("partrelid") {
        Some(table) => catalog.table_by_oid(table).and_then(row).into_iter().collect(),
        None => tables(catalog).into_iter().filter_map(row).collect(),
    }
}

/// `partexprs` as `pg_get_expr` shows it.
fn key_expressions(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, table: &TableDef) -> Option<String> {
    let own = table.partitioned.as_ref()?;
    let texts = binder(views, catalog).partition_key_texts(table, own);
    let expressions = own.columns.iter().zip(texts).filter(|(id, _)| ColumnDef::is_hidden_id(**id));
    let texts: Vec<String> = expressions.map(|(_, text)| text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// The bound of a partition, as `pg_get_expr` shows it.
pub(super) fn bound_text(style: &TimeStyle, catalog: &CatalogSnapshot, table: &TableDef) -> Option<String> {
    let of = table.partition_of.as_ref()?;
    let parent = catalog.table_by_oid(of.parent)?;
    Some(of.bound.text(&parent.partitioned.as_ref()?.types, style))
}

/// What stands behind PARTITION BY.
pub(super) fn key_text(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, table: Oid) -> Option<String> {
    let table = catalog.table_by_oid(table)?;
    let own = table.partitioned.as_ref()?;
    let names = binder(views, catalog).partition_key_texts(&table, own);
    let part = |(name, order): (String, &PartOrder)| {
        let collation = order.collation.as_ref().map(|one| {
            let name = super::collations::name_of(catalog, one.oid);
            format!(" COLLATE {}", name.unwrap_or_else(|| quote_ident(&one.name)))
        });
        format!("{name}{}{}", collation.unwrap_or_default(), order.class.suffix())
    };
    let parts: Vec<String> = names.into_iter().zip(&own.orders).map(part).collect();
    Some(format!("{} ({})", own.strategy.word(), parts.join(", ")))
}

/// What a table or an index is a part of.
fn parent(catalog: &CatalogSnapshot, relation: Oid) -> Option<Oid> {
    match catalog.relation_by_oid(relation)? {
        Relation::Table(table) => table.partition_of.as_ref().map(|of| of.parent),
        Relation::Index(index) => index.part_of,
        Relation::Sequence(_) | Relation::View(_) => None,
    }
}

/// The parts of a table or an index.
fn children(catalog: &CatalogSnapshot, relation: Oid) -> Vec<Oid> {
    match catalog.relation_by_oid(relation) {
        Some(Relation::Table(table)) => {
            table.partitioned.iter().flat_map(|own| own.partitions.iter().map(|part| part.oid)).collect()
        }
        Some(Relation::Index(index)) => {
            let table = catalog.table_by_oid(index.table);
            let tables = table.iter().flat_map(|table| &table.partitioned).flat_map(|own| &own.partitions);
            let parts = tables.flat_map(|part| part.all_indexes());
            parts.filter(|part| part.part_of == Some(relation)).map(|part| part.oid).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a table, or the table of an index, is divided.
fn is_divided(catalog: &CatalogSnapshot, relation: Oid) -> bool {
    let table = match catalog.relation_by_oid(relation) {
        Some(Relation::Index(index)) => index.table,
        _ => relation,
    };
    catalog.table_by_oid(table).is_some_and(|table| table.partitioned.is_some())
}

/// A table or an index that is a part or has some, and what it is a part of, up to the whole.
fn upwards(catalog: &CatalogSnapshot, relation: Oid) -> Vec<Oid> {
    let known = is_divided(catalog, relation) || parent(catalog, relation).is_some();
    std::iter::successors(Some(relation).filter(|_| known), |one| parent(catalog, *one)).collect()
}

/// `pg_partition_root`.
pub(super) fn root(catalog: &CatalogSnapshot, relation: Oid) -> Value {
    upwards(catalog, relation).last().map_or(Value::Null, |root| oid(*root))
}

/// The rows of `pg_partition_ancestors`.
pub(super) fn ancestors(catalog: &CatalogSnapshot, relation: Oid) -> Value {
    Value::Array(upwards(catalog, relation).into_iter().map(oid).collect())
}

/// The rows of `pg_partition_tree`, level by level.
pub(super) fn tree(catalog: &CatalogSnapshot, relation: Oid) -> Value {
    let Some(root) = upwards(catalog, relation).into_iter().next() else {
        return Value::Array(std::iter::empty::<Value>().collect());
    };
    let mut found = vec![(root, 0)];
    let mut next = 0;
    while let Some((one, level)) = found.get(next).copied() {
        next += 1;
        found.extend(children(catalog, one).into_iter().map(|part| (part, level + 1)));
    }
    let row = |(one, level): (Oid, i32)| {
        let parent = parent(catalog, one).map_or(Value::Null, oid);
        let row = [oid(one), parent, Value::Bool(!is_divided(catalog, one)), Value::Int4(level)];
        Value::Record(row.into())
    };
    Value::Array(found.into_iter().map(row).collect())
}
