//! Keys looked at apart from a change: of a whole table, and at the commit.

use std::sync::Arc;

use verso_catalog::{ConstraintDef, TableDef};
use verso_types::{Batch, SqlType, Value};

use super::super::ExecContext;
use super::child::{Child, still_referenced, whole_of};
use super::parent::{Parent, key_text};
use super::referencing::Outgoing;
use super::{KEYS_HELD, foreign, positions};
use crate::error::{ExecError, Result};

/// Checks a foreign key for all rows of its table.
/// # Errors
/// `Violation` for the first row that references nothing.
pub fn check_foreign_key(
    cx: &ExecContext<'_>,
    table: &Arc<TableDef>,
    constraint: &Arc<ConstraintDef>,
) -> Result<()> {
    let Some(key) = foreign(constraint) else { return Ok(()) };
    let columns = positions(table, &key.columns);
    let types: Vec<SqlType> = columns.iter().map(|column| table.columns[*column].ty.clone()).collect();
    let Some(parent) = Parent::find(cx, table, constraint) else { return Ok(()) };
    let mut outgoing = Outgoing::of(Arc::clone(constraint), columns.clone());
    let mut cursor = cx.tables()?.scan(table, &columns)?;
    let mut batch = Batch::of_types(&types);
    while cursor.next(&mut batch)? {
        cx.check_cancelled()?;
        for row in 0..batch.rows {
            outgoing.note(table, 0, batch.row(row, &types))?;
        }
        if outgoing.keys.len() >= KEYS_HELD {
            outgoing.take().all_are_there(cx, table, &parent)?;
        }
    }
    outgoing.all_are_there(cx, table, &parent)
}

/// Refuses a row that references one of a partition, which is to be a part of the table referenced no more.
/// # Errors
/// `Violation` for the first such row.
pub fn check_not_referenced(
    cx: &ExecContext<'_>,
    part: &Arc<TableDef>,
    constraint: &Arc<ConstraintDef>,
) -> Result<()> {
    if foreign(constraint).is_none() {
        return Ok(());
    }
    let Some(child) = Child::find(cx, part, constraint) else { return Ok(()) };
    let Some(side) = Parent::find(cx, &child.table, constraint) else { return Ok(()) };
    let types: Vec<SqlType> =
        child.columns.iter().map(|column| child.table.columns[*column].ty.clone()).collect();
    let mut cursor = cx.tables()?.scan(&child.table, &child.columns)?;
    let mut batch = Batch::of_types(&types);
    while cursor.next(&mut batch)? {
        cx.check_cancelled()?;
        for row in 0..batch.rows {
            let key = batch.row(row, &types);
            if key.iter().any(Value::is_null) || !side.has(cx, &key)? {
                continue;
            }
            let (table, name) = whole_of(cx, &child.table, constraint);
            let message =
                format!("removing partition \"{}\" violates foreign key constraint \"{name}\"", part.name);
            let key = key_text(cx, &child.table, &child.columns, &key);
            let detail = format!("{key} is still referenced from table \"{}\".", table.name);
            return Err(ExecError::violation("23503", message, Some(detail), &table, &name));
        }
    }
    Ok(())
}

/// Checks a key that was put off to the commit: if a row has it, it must be there. `referenced` says that the key went,
/// not that a row came.
/// # Errors
/// `Violation`.
pub fn check_deferred_key(
    cx: &ExecContext<'_>,
    constraint: &Arc<ConstraintDef>,
    key: &[Value],
    referenced: bool,
) -> Result<()> {
    let Some(definition) = foreign(constraint) else { return Ok(()) };
    let (Some(table), Some(parent)) =
        (cx.catalog.table_by_oid(constraint.table), cx.catalog.table_by_oid(definition.referenced))
    else {
        return Ok(()); // dropped meanwhile
    };
    if !table.constraints.iter().any(|own| own.oid == constraint.oid) {
        return Ok(());
    }
    let Some(child) = Child::find(cx, &parent, constraint) else { return Ok(()) };
    let Some(side) = Parent::find(cx, &table, constraint) else { return Ok(()) };
    if child.period && referenced {
        if !child.is_bare(cx, key, &side)? {
            return Ok(());
        }
        let columns = positions(&parent, &definition.referenced_columns);
        return Err(still_referenced(cx, &parent, &columns, &child, constraint, key, false));
    }
    // First where there surely is an index.
    let is_there = if referenced { side.has(cx, key)? } else { side.shows(cx, key)? };
    if is_there || !child.exists(cx, key)? {
        return Ok(());
    }
    if referenced {
        let columns = positions(&parent, &definition.referenced_columns);
        return Err(still_referenced(cx, &parent, &columns, &child, constraint, key, false));
    }
    Err(side.absent(cx, &table, constraint, key))
}
