//! PARTITION BY: by which columns a table is divided, and which unique keys it may have then.

use std::sync::Arc;

use verso_catalog::partition::{Strategy, hash};
use verso_catalog::{NewConstraintKind, NewTable, Partitioned, TableDef};
use verso_parser::syntax::PartitionBy;
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::key::KeyType;

use super::foreign::refuse_moves;
use super::invalid;

/// PARTITION BY of a new table, whose columns and constraints are known.
pub(in crate::ddl) fn divided_by(
    new: &NewTable,
    by: &PartitionBy,
) -> Result<(Strategy, Vec<Arc<str>>), SqlError> {
    let strategy = match by.strategy.text.to_ascii_lowercase().as_str() {
        "list" => Strategy::List,
        "range" => Strategy::Range,
        "hash" => Strategy::Hash,
        _ => {
            let text = format!("unrecognized partitioning strategy \"{}\"", by.strategy.text);
            return Err(SqlError::new("22023", text).at(by.strategy.at.start));
        }
    };
    if new.unlogged {
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, "partitioned tables cannot be unlogged"));
    }
    if strategy == Strategy::List && by.columns.len() > 1 {
        return Err(invalid("cannot use \"list\" partition strategy with more than one column"));
    }
    if by.columns.len() > 32 {
        let text = "cannot partition using more than 32 columns";
        return Err(SqlError::new("54011", text));
    }
    for name in &by.columns {
        let Some(column) = new.columns.iter().find(|column| *column.name == *name.text) else {
            let text = format!("column \"{}\" named in partition key does not exist", name.text);
            return Err(SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(name.at.start));
        };
        if column.generated {
            return Err(invalid("cannot use generated column in partition key")
                .with_detail(format!("Column \"{}\" is a generated column.", name.text))
                .at(name.at.start));
        }
        let shown = column.ty.without_modifiers().pg_name();
        if strategy == Strategy::Hash && !hash::is_hashed(&column.ty.seen()) {
            return Err(SqlError::unsupported(format!("PARTITION BY HASH of type {shown}")).at(name.at.start));
        }
        if strategy != Strategy::Hash && KeyType::of(&column.ty.seen()).is_none() {
            let text = format!("data type {shown} has no default operator class for access method \"btree\"");
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).with_hint(
                "You must specify a btree operator class or define a default btree operator class for the data type.",
            ));
        }
    }
    for constraint in &new.constraints {
        match &constraint.kind {
            NewConstraintKind::Unique { columns, primary, .. } => {
                let columns: Vec<&str> = columns.iter().map(|name| &**name).collect();
                let key = by.columns.iter().map(|name| name.text.as_str());
                check_unique(&new.name, key, &columns, *primary)?;
                let key = by.columns.iter().map(|name| name.text.as_str());
                refuse_period_among(key, &constraint.kind)?;
            }
            NewConstraintKind::Foreign { .. } => {
                let key: Vec<&str> = by.columns.iter().map(|name| name.text.as_str()).collect();
                refuse_moves(&key, &constraint.kind)?;
            }
            NewConstraintKind::NotNull { .. }
            | NewConstraintKind::Check { .. }
            | NewConstraintKind::Exclude { .. } => {}
        }
    }
    Ok((strategy, by.columns.iter().map(|name| name.text.as_str().into()).collect()))
}

/// Refuses a unique key that does not have the columns by which a table is divided: each partition sees its own rows only.
fn check_unique<'k>(
    table: &str,
    key: impl Iterator<Item = &'k str>,
    columns: &[&str],
    primary: bool,
) -> Result<(), SqlError> {
    let Some(missing) = key.into_iter().find(|name| !columns.contains(name)) else { return Ok(()) };
    let what = if primary { "PRIMARY KEY" } else { "UNIQUE" };
    let text = "unique constraint on partitioned table must include all partitioning columns";
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).with_detail(format!(
        "{what} constraint on table \"{table}\" lacks column \"{missing}\" which is part of the partition key."
    )))
}

/// The same of a table that is there.
pub(in crate::ddl) fn check_key(
    table: &TableDef,
    partitioned: &Partitioned,
    columns: &[Arc<str>],
    primary: bool,
) -> Result<(), SqlError> {
    let key = partitioned.columns.iter().filter_map(|id| table.column_with_id(*id));
    let key = key.map(|at| &*table.columns[at].name);
    let columns: Vec<&str> = columns.iter().map(|name| &**name).collect();
    check_unique(&table.name, key, &columns, primary)
}

/// Refuses a key whose periods may overlap those of other partitions.
pub(in crate::ddl) fn refuse_period(
    table: &TableDef,
    partitioned: &Partitioned,
    kind: &NewConstraintKind,
) -> Result<(), SqlError> {
    let key = partitioned.columns.iter().filter_map(|id| table.column_with_id(*id));
    refuse_period_among(key.map(|at| &*table.columns[at].name), kind)
}

fn refuse_period_among<'k>(
    mut key: impl Iterator<Item = &'k str>,
    kind: &NewConstraintKind,
) -> Result<(), SqlError> {
    let NewConstraintKind::Unique { columns, without_overlaps: true, .. } = kind else { return Ok(()) };
    let Some(period) = columns.last().filter(|period| key.any(|name| *name == ***period)) else {
        return Ok(());
    };
    let text =
        format!("cannot match partition key to index on column \"{period}\" using non-equal operator \"&&\"");
    Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
}

/// Refuses a primary key of a partitioned table alone while its columns may be NULL in partitions.
pub(in crate::ddl) fn check_not_null(table: &Arc<TableDef>, columns: &[Arc<str>]) -> Result<(), SqlError> {
    for part in &table.with_partitions()[1..] {
        for column in columns {
            if part.column(column).is_some_and(|at| !part.columns[at].not_null) {
                let text = format!("column \"{column}\" of table \"{}\" is not marked NOT NULL", part.name);
                return Err(SqlError::new("42P16", text));
            }
        }
    }
    Ok(())
}
