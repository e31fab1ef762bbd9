//! Constraints that are checked at commit: SET CONSTRAINTS, and the checks themselves.
//!
//! 1. SET CONSTRAINTS lasts until the transaction ends or goes back to a savepoint before it. What that brings back which it
//!    had found in order waits for the commit again.

use std::sync::Arc;

use verso_catalog::{ConstraintDef, TableDef};
use verso_exec::exec::{
    check_deferred_key, check_foreign_key as check_rows_there, check_not_referenced, fire_deferred,
};
use verso_storage::StorageError;
use verso_types::Value;

use crate::client::{CommandTag, tag};
use crate::ddl::schema_absent;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::tables::explain_unique;
use verso_parser::syntax::SetConstraints;
use verso_planner::errors::{SqlError, sqlstate};

/// Checks a foreign key for the rows that are there.
pub(crate) fn check_foreign_key(
    frame: &Frame<'_>,
    table: &Arc<TableDef>,
    constraint: &Arc<ConstraintDef>,
) -> Result<(), Failure> {
    Ok(frame.with_context(&[], |cx| check_rows_there(cx, table, constraint))?)
}

/// Refuses that a partition leaves a table while its rows are referenced as rows of that table.
pub(crate) fn check_leaving(frame: &Frame<'_>, part: &Arc<TableDef>) -> Result<(), Failure> {
    for leaf in part.leaves() {
        for constraint in &leaf.referenced_by {
            frame.with_context(&[], |cx| check_not_referenced(cx, &leaf, constraint))?;
        }
    }
    Ok(())
}

/// SET CONSTRAINTS.
pub(crate) fn set_constraints(frame: &Frame<'_>, set: &SetConstraints) -> Result<CommandTag, Failure> {
    if set.names.is_empty() {
        frame.services.deferred.borrow_mut().modes.set_all(set.deferred);
    }
    let path = frame.catalog.search_path().searched();
    for name in &set.names {
        if let Some(error) = schema_absent(frame.catalog, name) {
            return Err(error.into());
        }
        let found: Vec<Arc<ConstraintDef>> = frame
            .catalog
            .tables()
            .filter(|table| match name.schema_text() {
                Some(schema) => *table.schema == *schema,
                None => path.contains(&table.schema),
            })
            .filter_map(|table| table.constraint(&name.name.text).cloned())
            .collect();
        let mut triggers = Vec::new();
        for table in frame.catalog.tables() {
            if name.schema_text().is_none_or(|schema| *table.schema == *schema) {
                triggers.extend(table.constraint_trigger(&name.name.text).cloned());
            }
        }
        for trigger in &triggers {
            if !trigger.deferrable {
                let text = format!("constraint \"{}\" is not deferrable", name.name.text);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            frame.services.deferred.borrow_mut().modes.set(trigger.oid, set.deferred);
        }
        if found.is_empty() && triggers.is_empty() {
            let text = format!("constraint \"{}\" does not exist", name.name.text);
            return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).into());
        }
        let parts = |constraint: &Arc<ConstraintDef>| {
            let table = frame.catalog.table_by_oid(constraint.table);
            table.map_or_else(Vec::new, |table| table.parts_of_constraint(constraint.oid))
        };
        let parts: Vec<_> = found.iter().flat_map(parts).map(|(_, part)| part).collect();
        for constraint in found.into_iter().chain(parts) {
            if !constraint.deferrable {
                let text = format!("constraint \"{}\" is not deferrable", constraint.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            frame.services.deferred.borrow_mut().modes.set(constraint.oid, set.deferred);
        }
    }
    // Those that are deferred no more are checked at once.
    for table in frame.catalog.tables() {
        for index in table.indexes.iter().filter(|index| index.deferrable) {
            let deferred = frame.services.deferred.borrow().is_index_deferred(index);
            frame.txn.borrow_mut().defer_unique(index.object, deferred);
            frame.services.deferred.borrow_mut().unique |= deferred;
        }
    }
    if !set.deferred {
        let checked = frame.txn.borrow_mut().check_unique_so_far();
        checked.map_err(|error| explain_late(frame, error))?;
        check_due(frame, false)?;
    }
    Ok(tag("SET CONSTRAINTS"))
}

/// Checks keys that were put off, and fires triggers.
pub(crate) fn check_due(frame: &Frame<'_>, commit: bool) -> Result<(), Failure> {
    // Triggers may put off further ones.
    loop {
        let due = frame.services.deferred.borrow_mut().due(commit);
        let check = |(constraint, key, referenced): &(Arc<ConstraintDef>, Vec<Value>, bool)| {
            frame.with_context(&[], |cx| check_deferred_key(cx, constraint, key, *referenced))
        };
        due.iter().try_for_each(check)?;
        let events = frame.services.deferred.borrow_mut().due_events(commit);
        if events.is_empty() {
            return Ok(());
        }
        for (event, role) in &events {
            let fire =
                |frame: &Frame<'_>| Ok::<_, Failure>(frame.with_context(&[], |cx| fire_deferred(cx, event))?);
            frame.as_role(*role, fire)?;
        }
    }
}

/// Checks at commit what was put off to it, and fires triggers.
pub(crate) fn check_at_commit(frame: &Frame<'_>) -> Result<(), Failure> {
    let unique = frame.txn.borrow_mut().check_unique_now();
    unique.map_err(|error| explain_late(frame, error))?;
    check_due(frame, true)
}

/// Adds at commit what was reserved, by triggers that were put off to it, too.
pub(crate) fn add_reserved(frame: &Frame<'_>) -> Result<(), Failure> {
    Ok(frame.tables().apply_reservations(&|oid| frame.catalog.table_by_oid(oid))?)
}

/// Names the constraint and the key behind a duplicate that storage found by itframe.
pub(crate) fn explain_late(frame: &Frame<'_>, error: StorageError) -> Failure {
    let (engine, zone) = (&frame.services.instance.engine, &frame.services.settings.time_zone);
    explain_unique(frame.catalog, engine, &frame.txn.borrow(), zone, error).into()
}
