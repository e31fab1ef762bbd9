//! Partitioned tables and their partitions as statements: the whole first, then each partition with what it has of its own. Keys and
//! indexes are made one by one and put together then, so that all keep their names.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::partition::PartOrder;
use verso_catalog::{ConstraintKind, IndexDef, Oid, TableDef};

use super::needs::Finder;
use super::objects::Later;
use super::parts::{check_text, kind_of_generated, name, options_text, qualified, table_text, unlogged};
use super::{Dialect, Maker};
use crate::archive::contents::Kind;
use crate::error::BackupError;

/// ` PARTITION BY …` of a table that is divided.
pub(super) fn divided_by(finder: &Finder, table: &TableDef) -> String {
    let Some(partitioned) = &table.partitioned else { return String::new() };
    if let Some(key) = finder.spelled_key(table.oid) {
        return format!(" PARTITION BY {key}");
    }
    let column = |(id, order): (&u16, &PartOrder)| {
        let column = &table.columns[table.column_with_id(*id)?];
        let mut text = match column.default.as_deref().filter(|_| column.is_hidden()) {
            Some(expression) => format!("({})", finder.text(table.oid, expression)),
            None => name(&column.name),
        };
        if let Some(one) = &order.collation {
            text.push_str(&format!(" COLLATE {}", qualified(&one.schema, &one.name)));
        }
        Some(text + &order.class.suffix())
    };
    let columns: Vec<String> =
        partitioned.columns.iter().zip(&partitioned.orders).filter_map(column).collect();
    format!(" PARTITION BY {} ({})", partitioned.strategy.word(), columns.join(", "))
}

/// The table among these that one is a part of.
pub(super) fn whole_of<'t>(table: &TableDef, tables: &'t [Arc<TableDef>]) -> Option<&'t Arc<TableDef>> {
    let of = table.partition_of.as_ref()?;
    tables.iter().find(|one| one.oid == of.parent)
}

/// The same tables, each before its partitions.
pub(super) fn wholes_first(tables: &[Arc<TableDef>]) -> Vec<Arc<TableDef>> {
    let depth = |table: &Arc<TableDef>| {
        std::iter::successors(whole_of(table, tables), |whole| whole_of(whole, tables)).count()
    };
    let mut ordered = tables.to_vec();
    ordered.sort_by_cached_key(depth);
    ordered
}

/// The tables whose keys and indexes belong together with those of others.
pub(super) fn divided(tables: &[Arc<TableDef>]) -> HashSet<Oid> {
    let is_divided =
        |table: &&Arc<TableDef>| table.partitioned.is_some() || whole_of(table, tables).is_some();
    tables.iter().filter(is_divided).map(|table| table.oid).collect()
}

/// Whether what is a part of something of the whole table is made along with it.
pub(super) fn comes_with_whole(is_part: bool, table: &TableDef, tables: &[Arc<TableDef>]) -> bool {
    is_part && whole_of(table, tables).is_some()
}

/// CREATE TABLE, of a partition as one. In an archive, from which it may be restored alone, and where its columns stand in another
/// order, it is attached by a statement of its own.
pub(super) fn table_texts(
    maker: &Maker<'_, '_>,
    table: &TableDef,
    tables: &[Arc<TableDef>],
    later: &Later,
) -> Vec<String> {
    let dialect = maker.source.dialect;
    let (Some(whole), Some(of)) = (whole_of(table, tables), &table.partition_of) else {
        return vec![table_text(maker, table, later)];
    };
    let types = whole.partitioned.as_ref().map_or(&[][..], |whole| &whole.types);
    let bound = of.bound.text(types, &verso_types::TimeStyle::UTC);
    let (place, of) = (qualified(&table.schema, &table.name), qualified(&whole.schema, &whole.name));
    let names =
        |table: &TableDef| table.shown().iter().map(|column| Arc::clone(&column.name)).collect::<Vec<_>>();
    if dialect == Dialect::Verso || names(table) != names(whole) {
        let attach = format!("ALTER TABLE ONLY {of} ATTACH PARTITION {place} {bound}");
        return vec![table_text(maker, table, later), attach];
    }
    let mut own = Vec::new();
    for (column, like) in table.shown().iter().zip(whole.shown()) {
        let mut text = String::new();
        if column.default != like.default && !later.has_default(column.id) && column.identity.is_none() {
            let value = maker.finder.text(table.oid, column.default.as_deref().unwrap_or("NULL"));
            text.push_str(&match column.generated {
                true => format!(" GENERATED ALWAYS AS ({value}) {}", kind_of_generated(column)),
                false => format!(" DEFAULT {value}"),
            });
        }
        let not_null =
            table.not_null_of(column.id).filter(|constraint| constraint.validated && !like.not_null);
        if let Some(constraint) = not_null {
            text.push_str(&format!(" CONSTRAINT {} NOT NULL", name(&constraint.name)));
        }
        if !text.is_empty() {
            own.push(format!("{}{text}", name(&column.name)));
        }
    }
    for constraint in &table.constraints {
        if let (ConstraintKind::Check { expression }, true) = (&constraint.kind, constraint.validated)
            && whole.constraint(&constraint.name).is_none()
            && !later.has_check(constraint.oid)
        {
            own.push(check_text(&maker.finder, constraint, expression));
        }
    }
    let own = if own.is_empty() { String::new() } else { format!(" (\n    {}\n)", own.join(",\n    ")) };
    let (unlogged, divided) = (unlogged(table.unlogged), divided_by(&maker.finder, table));
    let options = options_text(table, dialect);
    vec![format!("CREATE {unlogged}TABLE {place} PARTITION OF {of}{own} {bound}{divided}{options}")]
}

/// Which partitions of chosen tables are not saved with them, in words: as with `pg_dump`, a table is chosen by itself.
pub(crate) fn left_out(tables: &[Arc<TableDef>]) -> Vec<String> {
    let saved: HashSet<Oid> = tables.iter().map(|table| table.oid).collect();
    let of_table = |table: &Arc<TableDef>| {
        let parts = table.with_partitions();
        let left: Vec<String> = parts
            .iter()
            .filter(|part| !saved.contains(&part.oid) && part.materialized.is_none())
            .map(|part| qualified(&part.schema, &part.name))
            .collect();
        let (place, left) =
            (qualified(&table.schema, &table.name), (!left.is_empty()).then(|| left.join(", "))?);
        Some(format!("table {place} is saved without its partitions, and these have its rows: {left}"))
    };
    tables.iter().filter_map(of_table).collect()
}

impl Maker<'_, '_> {
    /// The keys and indexes of a partitioned table or a partition, and of which ones they are parts.
    pub(super) fn indexes_of_divided(
        &mut self,
        table: &Arc<TableDef>,
        tables: &[Arc<TableDef>],
    ) -> Result<(), BackupError> {
        let whole = whole_of(table, tables);
        for constraint in &table.constraints {
            let known = whole.is_some_and(|whole| whole.constraint(&constraint.name).is_some());
            let late =
                matches!(constraint.kind, ConstraintKind::Check { .. } | ConstraintKind::NotNull { .. })
                    && !constraint.validated
                    && !known;
            let key = constraint.kind.own_index().is_some();
            if !late && !key {
                continue;
            }
            self.constraint(Kind::View, table, constraint)?;
            if let (true, Some(step)) = (key, self.steps.last_mut()) {
                step.sql = step.sql.replacen("ALTER TABLE ", "ALTER TABLE ONLY ", 1);
            }
        }
        for index in table.all_indexes().filter(|index| index.constraint.is_none()) {
            let sql = self.ask("pg_get_indexdef", index.oid)?;
            self.add(Kind::View, Some(table), sql);
        }
        for index in table.all_indexes() {
            let of = |index: &IndexDef, whole: &TableDef| whole.index(index.part_of?).cloned();
            let Some(of) = whole.and_then(|whole| of(index, whole)) else { continue };
            let (place, part) = (qualified(&of.schema, &of.name), qualified(&index.schema, &index.name));
            self.add(Kind::View, Some(table), format!("ALTER INDEX {place} ATTACH PARTITION {part}"));
            self.with_other(whole.map(|whole| &**whole));
        }
        Ok(())
    }
}
