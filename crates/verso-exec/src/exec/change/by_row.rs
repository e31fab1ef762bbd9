//! UPDATE and DELETE where BEFORE ROW triggers may replace or skip rows: each row is changed before the next is looked at.
//!
//! The rows come from a query that has found all of them before ([`Scan`]'s `joined`), or does not see what has become of them
//! (T4), so that nothing a trigger does brings further ones; they are locked since (`held.rs`). The assignments cover all columns: those that the statement does not
//! name keep their values until a trigger sets them.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::RecordLockMode;
use verso_types::{Batch, Value};

use super::{ChangeCursor, DeleteStatement, Sink, TriggerEvent, UpdateStatement, check_unchanged, whole};
use crate::error::Result;
use crate::exec::ExecContext;
use crate::exec::statement::column_types;

/// Whether a row is still as it was, as far as columns are shown, and no trigger has changed it, be it to what it was.
fn stays(cursor: &mut dyn ChangeCursor, table: &TableDef, place: u32, old: &[Value]) -> bool {
    if cursor.is_changed_by_triggers(place) {
        return false;
    }
    let Some(now) = cursor.whole_row(table, place) else { return false };
    let mut shown = table.columns.iter().zip(now.iter().zip(old)).filter(|(column, _)| !column.is_hidden());
    shown.all(|(_, (now, old))| now == old)
}

/// Locks the rows of a batch that triggers are about to see; those that are still there.
fn hold(
    cursor: &mut dyn ChangeCursor,
    table: &TableDef,
    selection: Option<&[u32]>,
    mode: Option<RecordLockMode>,
) -> Result<Option<Vec<u32>>> {
    let Some(mode) = mode else { return Ok(None) };
    let all: Vec<u32> = match selection {
        Some(selection) => selection.to_vec(),
        None => (0..cursor.batch().rows as u32).collect(),
    };
    cursor.hold(table, &all, mode).map(Some)
}

impl UpdateStatement {
    pub(super) fn run_by_row(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let Self {
            scan, targets, target_ids, values, checks, keys, triggers, batch, returning, leaving, ..
        } = self;
        let Some(triggers) = triggers else { return Ok(0) };
        let event = TriggerEvent::Update;
        let table = Arc::clone(&scan.table);
        let (columns, types) = (Arc::clone(&scan.columns), column_types(&table));
        let value_types = values.types().to_vec();
        let mut count = 0;
        let held = scan.held_by_batch();
        let firing = cx.services.portals.fire_triggers(cx.services.memory.account);
        scan.for_each(cx, |cursor, selection, _| {
            let there = hold(cursor, &table, selection, held)?;
            let selection = there.as_deref().or(selection);
            if selection.is_some_and(<[u32]>::is_empty) {
                return Ok(());
            }
            let rows = selection
                .map_or_else(|| cursor.batch().clone(), |selection| cursor.batch().gather(selection));
            values.eval(&cx.eval(), &rows, batch)?;
            let olds = Batch { rows: rows.rows, columns: whole(&table, &rows, &columns) };
            for row in 0..rows.rows {
                cx.check_cancelled()?;
                let place = selection.map_or(row as u32, |selection| selection[row]);
                let old = olds.row(row, &types);
                let mut new = old.clone();
                for (target, value) in targets.iter().zip(batch.row(row, &value_types)) {
                    new[*target] = value;
                }
                triggers.check_found(event, || stays(&mut *cursor, &table, place, &old))?;
                let before = firing.call(|| triggers.before_row(cx, event, Some(&old), Some(new)));
                let Some(mut new) = before? else { continue };
                if !stays(&mut *cursor, &table, place, &old) {
                    return Err(triggers.changed(event));
                }
                let set: Vec<Value> = targets.iter().map(|target| new[*target].clone()).collect();
                let mut one = Batch::of_types(&value_types);
                one.push_row(&set, &value_types)?;
                let mut both = rows.gather(&[row as u32]);
                both.columns.extend(one.columns.iter().cloned());
                if checks.generates() {
                    checks.generate_values(cx, &mut both, &mut one)?;
                    for (target, value) in targets.iter().zip(one.row(0, &value_types)) {
                        new[*target] = value;
                    }
                }
                if let Some(leaving) = leaving
                    && leaving.take(cx, &both)?.is_some()
                {
                    continue;
                }
                checks.check(cx, &one, &both, |_| new.clone())?;
                check_unchanged(&*cursor, Some(&[place]), event, Some(triggers))?;
                cursor.update(Some(&[place]), target_ids, &one, None)?;
                count += 1;
                if !keys.is_empty() {
                    keys.number(cx, Some(&mut **triggers), event, 1);
                    keys.note_changed(&old, &new)?;
                    keys.settle(cx)?;
                }
                let old = olds.gather(&[row as u32]);
                let mut changed = Batch::of_types(&types);
                changed.push_row(&new, &types)?;
                triggers.note(cx, event, 1, Some(&old.columns), Some(&changed.columns))?;
                checks.check_stored(cx, &both, |_| new.clone())?;
                if let Some(returning) = returning {
                    returning.send(cx, &both, sink)?;
                }
            }
            Ok(())
        })?;
        Ok(count)
    }
}

impl DeleteStatement {
    pub(super) fn run_by_row(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let Self { scan, keys, triggers, returning, .. } = self;
        let Some(triggers) = triggers else { return Ok(0) };
        let event = TriggerEvent::Delete;
        let table = Arc::clone(&scan.table);
        let (columns, types) = (Arc::clone(&scan.columns), column_types(&table));
        let mut count = 0;
        let held = scan.held_by_batch();
        let firing = cx.services.portals.fire_triggers(cx.services.memory.account);
        scan.for_each(cx, |cursor, selection, _| {
            let there = hold(cursor, &table, selection, held)?;
            let selection = there.as_deref().or(selection);
            if selection.is_some_and(<[u32]>::is_empty) {
                return Ok(());
            }
            let rows = selection
                .map_or_else(|| cursor.batch().clone(), |selection| cursor.batch().gather(selection));
            let olds = Batch { rows: rows.rows, columns: whole(&table, &rows, &columns) };
            for row in 0..rows.rows {
                cx.check_cancelled()?;
                let place = selection.map_or(row as u32, |selection| selection[row]);
                let old = olds.row(row, &types);
                triggers.check_found(event, || stays(&mut *cursor, &table, place, &old))?;
                if firing.call(|| triggers.before_row(cx, event, Some(&old), None))?.is_none() {
                    continue;
                }
                if !stays(&mut *cursor, &table, place, &old) {
                    return Err(triggers.changed(event));
                }
                check_unchanged(&*cursor, Some(&[place]), event, Some(triggers))?;
                cursor.delete(Some(&[place]), None)?;
                count += 1;
                keys.number(cx, Some(&mut **triggers), event, 1);
                keys.note_old(1, |column, _| old[column].clone(), None);
                let gone = olds.gather(&[row as u32]);
                triggers.note(cx, event, 1, Some(&gone.columns), None)?;
                if let Some(returning) = returning {
                    returning.send(cx, &rows.gather(&[row as u32]), sink)?;
                }
            }
            Ok(())
        })?;
        Ok(count)
    }
}
