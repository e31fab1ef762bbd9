//! INSERT … ON CONFLICT: a row at a time, as each may meet the one before.
//!
//! 1. A row looks for its keys first and is inserted if none is there; what another transaction inserts in between makes
//!    the insert fail, and the row looks again.
//! 2. Under a snapshot of the whole transaction a row that another has inserted meanwhile cannot be seen: that is a
//!    serialization failure.
//! 3. DO UPDATE meets a row once per statement, or not after it, or a function or trigger that it has called, has inserted or
//!    changed it (21000).
//! 4. DO NOTHING waits for who may take the row in its way away, and leaves it unlocked.
//!    One that BEFORE ROW triggers are about to see is locked before; where others have changed it, the row looks again.
//! 5. The row that is there is the newest one; what queries in DO UPDATE read is what the statement reads (T2).

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_storage::RecordLockMode;
use verso_storage::index::key::{KeyPart, KeyRange, encode_row};
use verso_types::{Batch, SqlType, TypeError};

use super::ExecContext;
use super::access::key_parts;
use super::check::RowChecks;
use super::foreign::ForeignKeys;
use super::held::{gone, strength};
use super::trigger::{TriggerEvent, Triggers, changed_by_trigger, fires_before_rows};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{Insert, OnConflict, RowRules, TypedExpr};

/// Times a row looks again for what was inserted at the same time.
const TRIES_MAX: u32 = 20;

/// ON CONFLICT, compiled.
pub(crate) struct ConflictClause {
    table: Arc<TableDef>,
    arbiters: Vec<Arbiter>,
    /// Indexes of exclusion constraints, which say that a row is not inserted when it is.
    excluding: Vec<Arc<IndexDef>>,
    update: Option<RowUpdate>,
    /// Keys inserted or changed by this statement.
    touched: HashSet<Vec<u8>>,
}

/// A unique index that decides about conflicts.
struct Arbiter {
    index: Arc<IndexDef>,
    parts: Vec<KeyPart>,
    /// Positions of its columns.
    columns: Vec<usize>,
    /// Position of the column that is NULL in rows that it does not have.
    guard: Option<usize>,
}

/// What has become of a row.
enum Attempt {
    /// As [`ConflictClause::apply`] says it.
    Done(Option<(Batch, Option<Batch>)>),
    /// Others have changed the row that it met, which is this conflict: it has to look again.
    Again(ExecError),
}

/// DO UPDATE.
struct RowUpdate {
    targets: Vec<usize>,
    target_ids: Vec<u16>,
    values: ExprList,
    filter: Option<Predicate>,
    /// What the row that is there has to fulfil.
    shown: Option<Box<RowChecks>>,
    checks: RowChecks,
    keys: ForeignKeys,
    batch: Batch,
    selection: Vec<u32>,
    /// Functions that it calls may change the row that it meets.
    calls: bool,
    /// BEFORE ROW triggers see the row, which is locked before, so strongly.
    held: bool,
    strength: RecordLockMode,
}

impl ConflictClause {
    pub fn new(insert: &Insert, clause: &OnConflict, executor: Executor) -> ConflictClause {
        let table = &insert.table;
        let arbiter = |index: &Arc<IndexDef>| {
            let columns = index.parts.iter().filter_map(|part| table.column_with_id(part.column));
            Arbiter {
                index: Arc::clone(index),
                parts: key_parts(table, index).0,
                columns: columns.collect(),
                guard: index.guard.and_then(|guard| table.column_with_id(guard)),
            }
        };
        let update = clause.update.as_ref().map(|update| {
            let targets: Vec<usize> = update.assignments.iter().map(|(column, _)| *column).collect();
            let values = ExprList::compile(update.assignments.iter().map(|(_, value)| value), executor);
            let rules = update.rules.as_deref().unwrap_or(&insert.rules);
            let shown = update.shown.iter().cloned().collect::<Vec<_>>();
            let shown = RowRules { checks: shown, ..RowRules::default() };
            RowUpdate {
                shown: update.shown.as_ref().map(|_| Box::new(RowChecks::new(table, &[], &shown, executor))),
                target_ids: targets.iter().map(|column| table.columns[*column].id).collect(),
                batch: Batch::of_types(values.types()),
                values,
                filter: update.filter.as_ref().map(|filter| Predicate::compile(filter, executor)),
                checks: RowChecks::new(table, &targets, rules, executor),
                keys: ForeignKeys::of_update(table, &targets),
                calls: (update.assignments.iter().map(|(_, value)| value))
                    .chain(&update.filter)
                    .any(TypedExpr::calls_volatile),
                held: fires_before_rows(table, TriggerEvent::Update),
                strength: strength(table, TriggerEvent::Update, &targets[..update.named]),
                targets,
                selection: Vec::new(),
            }
        });
        ConflictClause {
            table: Arc::clone(table),
            arbiters: clause.indexes.iter().filter(|index| !index.excludes()).map(arbiter).collect(),
            excluding: clause.indexes.iter().filter(|index| index.excludes()).cloned().collect(),
            update,
            touched: HashSet::new(),
        }
    }

    /// A new execution.
    pub fn begin(&mut self) {
        self.touched.clear();
    }

    /// What becomes of the row, a batch of one: it is inserted, or changes another one, and then comes that one's new values
    /// with the old ones beside them. `None`: neither.
    pub fn apply(
        &mut self,
        cx: &ExecContext<'_>,
        row: &Batch,
        types: &[SqlType],
        triggers: &mut Option<Box<Triggers>>,
    ) -> Result<Option<(Batch, Option<Batch>)>> {
        // Where others are faster all the time, the statement runs again.
        let mut conflict = None;
        for _ in 0..TRIES_MAX {
            cx.tables()?.begin_statement()?;
            match self.attempt(cx, row, types, triggers) {
                Ok(Attempt::Done(done)) => {
                    cx.tables()?.end_statement()?;
                    return Ok(done);
                }
                Ok(Attempt::Again(error)) => {
                    cx.tables()?.abort_statement()?;
                    conflict = Some(error);
                }
                Err(error) => {
                    cx.tables()?.abort_statement()?;
                    if self.is_excluded(&error) {
                        return Ok(None);
                    }
                    if !self.is_duplicate(&error) {
                        return Err(error);
                    }
                }
            }
            cx.check_cancelled()?;
        }
        let refused = || ExecError::raised("40001", "could not serialize access due to concurrent update");
        Err(conflict.unwrap_or_else(refused))
    }

    /// The keys of the rows that it has changed.
    pub fn keys(&mut self) -> Option<&mut ForeignKeys> {
        self.update.as_mut().map(|update| &mut update.keys)
    }

    /// Whether a row that is there excludes the new one, which is a reason to do nothing.
    fn is_excluded(&self, error: &ExecError) -> bool {
        let ExecError::Violation(violation) = error.root() else { return false };
        violation.sqlstate == "23P01"
            && self.excluding.iter().any(|index| Some(&index.name) == violation.constraint.as_ref())
    }

    fn is_duplicate(&self, error: &ExecError) -> bool {
        let ExecError::Violation(violation) = error.root() else { return false };
        violation.sqlstate == "23505"
            && self.arbiters.iter().any(|arbiter| Some(&arbiter.index.name) == violation.constraint.as_ref())
    }

    fn attempt(
        &mut self,
        cx: &ExecContext<'_>,
        row: &Batch,
        types: &[SqlType],
        triggers: &mut Option<Box<Triggers>>,
    ) -> Result<Attempt> {
        let all: Vec<usize> = (0..types.len()).collect();
        let mut keys = Vec::new();
        for (n, arbiter) in self.arbiters.iter().enumerate() {
            let Some(key) = arbiter.key(row)? else { continue };
            let mine = arbiter.touch(&key);
            let ranges = vec![KeyRange::prefix(&key)];
            let mut cursor =
                cx.tables()?.index_scan_for_change(&self.table, &arbiter.index, ranges, &all, true)?;
            if !cursor.next()? {
                keys.push(mine);
                continue;
            }
            let Some(update) = &mut self.update else {
                if cursor.is_held(&arbiter.index, &key, 0)? {
                    return Ok(Attempt::Done(None));
                }
                keys.push(mine);
                continue;
            };
            // What the statement has called counts as what it has done.
            if self.touched.contains(&mine) || cursor.is_changed_around(0) {
                let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
                let hint = "Ensure that no rows proposed for insertion within the same command have duplicate \
                            constrained values.";
                return Err(TypeError::new("21000", message).with_hint(hint).into());
            }
            if update.held {
                match cursor.hold(&self.table, &[0], update.strength) {
                    Ok(held) if !held.is_empty() => {}
                    Ok(_) => return Ok(Attempt::Again(gone(0))),
                    Err(error) if error.is_conflict() && cx.tables()?.restarts() => {
                        return Ok(Attempt::Again(error));
                    }
                    Err(error) => return Err(error),
                }
            }
            let before = cursor.batch().gather(&[0]);
            let mut after = None;
            let mut compute = || {
                after = update.new_row(cx, &before, row)?;
                Ok(())
            };
            cx.tables()?.under_outer_view(&mut compute)?;
            let Some(mut after) = after else { return Ok(Attempt::Done(None)) };
            if update.calls && cursor.whole_row(&self.table, 0).is_none_or(|now| now != before.row(0, types))
            {
                return Err(changed_by_trigger(TriggerEvent::Update));
            }
            if let Some(triggers) = triggers.as_mut().filter(|one| one.changes_rows(TriggerEvent::Update)) {
                let (old, new) = (before.row(0, types), after.row(0, types));
                let event = TriggerEvent::Update;
                let Some(new) = triggers.before_row(cx, event, Some(&old), Some(new))? else {
                    return Ok(Attempt::Done(None));
                };
                if cursor.whole_row(&self.table, 0).is_none_or(|now| now != old) {
                    return Err(changed_by_trigger(event));
                }
                after.clear();
                after.push_row(&new, types)?;
                update.take_values(&after);
            }
            if update.checks.generates() {
                update.checks.generate_rows(cx, &mut after)?;
                update.take_values(&after);
            }
            let checked = update.checks.check(cx, &update.batch, &after, |row| after.row(row, types));
            checked.map_err(stays_in_its_partition)?;
            cursor.update(Some(&[0]), &update.target_ids, &update.batch, None)?;
            drop(cursor);
            update.checks.check_stored(cx, &after, |row| after.row(row, types))?;
            let value = |batch: &Batch, column: usize| batch.columns[column].value(0, &types[column]);
            update.keys.number(cx, triggers.as_deref_mut(), TriggerEvent::Update, 1);
            update.keys.note_new(1, |column, _| value(&after, column))?;
            let new = |column: usize, _: usize| value(&after, column);
            update.keys.note_old(1, |column, _| value(&before, column), Some(&new));
            update.keys.settle(cx)?;
            self.touched.insert(mine);
            if let Some(key) = self.arbiters[n].key(&after)? {
                self.touched.insert(self.arbiters[n].touch(&key));
            }
            return Ok(Attempt::Done(Some((after, Some(before)))));
        }
        cx.tables()?.insert(&self.table, row)?;
        self.touched.extend(keys);
        Ok(Attempt::Done(Some((row.clone(), None))))
    }
}

/// The error of a row that DO UPDATE would move to another partition; others are as they were.
fn stays_in_its_partition(error: ExecError) -> ExecError {
    match error.root() {
        ExecError::Violation(violation)
            if violation.sqlstate == "23514" && violation.constraint.is_none() =>
        {
            let detail = "The result tuple would appear in a different partition than the original tuple.";
            TypeError::new("0A000", "invalid ON UPDATE specification").with_detail(detail).into()
        }
        _ => error,
    }
}

impl Arbiter {
    /// The row's key; none where a NULL makes it unlike all others, or the index does not have the row.
    fn key(&self, row: &Batch) -> Result<Option<Vec<u8>>> {
        if self.guard.is_some_and(|guard| row.columns[guard].is_null(0)) {
            return Ok(None);
        }
        let columns: Vec<&verso_types::Column> =
            self.columns.iter().map(|column| &row.columns[*column]).collect();
        let mut key = Vec::new();
        let null = encode_row(&self.parts, &columns, 0, &mut key)?;
        Ok((!null || !self.index.nulls_distinct).then_some(key))
    }

    fn touch(&self, key: &[u8]) -> Vec<u8> {
        [&self.index.oid.0.to_le_bytes(), key].concat()
    }
}

impl RowUpdate {
    /// Values for the columns that are set from a whole row.
    fn take_values(&mut self, row: &Batch) {
        for (target, column) in self.targets.iter().zip(&mut self.batch.columns) {
            *column = row.columns[*target].clone();
        }
    }

    /// The row that is there with its new values; none if the filter leaves it alone.
    fn new_row(&mut self, cx: &ExecContext<'_>, before: &Batch, excluded: &Batch) -> Result<Option<Batch>> {
        let mut both = before.clone();
        both.columns.extend(excluded.columns.iter().cloned());
        if let Some(filter) = &mut self.filter {
            if let Some(error) = filter.select(&cx.eval(), &both, &mut self.selection) {
                return Err(error);
            }
            if self.selection.is_empty() {
                return Ok(None);
            }
        }
        if let Some(shown) = &mut self.shown {
            shown.check(cx, &Batch::default(), before, |_| Vec::new())?;
        }
        self.values.eval(&cx.eval(), &both, &mut self.batch)?;
        let mut after = before.clone();
        for (target, column) in self.targets.iter().zip(&self.batch.columns) {
            after.columns[*target] = column.clone();
        }
        Ok(Some(after))
    }
}
