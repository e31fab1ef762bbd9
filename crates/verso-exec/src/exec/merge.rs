//! MERGE: changes of several kinds by the rows of one query.
//!
//! ```text
//! query ─► all rows, each with its action and its new values ─► runs of rows with one action ─► UPDATE, DELETE, INSERT
//! ```
//!
//! 1. All rows are there before the first is changed (T2); they spill like those of an INSERT from its own table. Where functions
//!    are called for them that may look for the rows changed before, each is changed before the next one is computed: the query
//!    does not see what becomes of it (T4).
//! 2. Actions happen in the order of the rows, as many rows at once as have the same one.
//! 3. A row of the table is changed once: one that comes a second time ends the statement (21000).
//! 4. What the changes mean for other tables is looked at when all of them are done.
//! 5. The triggers of the table are one object, which each action has while it runs: they fire once for the statement, and
//!    for rows in the order of the rows.
//! 6. What policies demand of a row that is changed is asked before its action.
//! 7. Rows of a view with INSTEAD OF triggers have no places: one that comes twice is changed twice.
//! 8. A row that another transaction has changed meanwhile is a conflict, and the statement runs again. Rows that BEFORE ROW
//!    triggers are about to see are locked when they are found (`held.rs`).

use std::collections::HashSet;
use std::sync::Arc;

use verso_types::{Batch, ColumnData, SqlType, TypeError};

use super::ExecContext;
use super::change::{DeleteStatement, UpdateStatement};
use super::foreign::{End, finish_parts};
use super::held::{HeldRows, gone};
use super::insert::InsertStatement;
use super::operator::{Operator, compile, types_of};
use super::statement::Sink;
use super::trigger::{TriggerEvent, Triggers, changed_before};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, Predicate};
use crate::memory::Reservation;
use crate::plan::{Check, Merge, MergeAction};
use crate::spill::Spool;

/// What a row noted as changed takes in memory.
const SEEN_BYTES: u64 = 24;

/// A compiled MERGE.
pub(crate) struct MergeStatement {
    table: u32,
    /// Triggers of a view do the changes.
    replaced: bool,
    input: Box<dyn Operator>,
    types: Vec<SqlType>,
    actions: Vec<Action>,
    guards: Vec<Option<Guard>>,
    /// Of all actions: each has them while it runs.
    triggers: Option<Box<Triggers>>,
    /// The rows of the query, read before BEFORE STATEMENT triggers fired (G9).
    ahead: Option<Spool>,
    /// The query calls functions that may look for the rows changed before.
    streams: bool,
    /// So do policies, which are asked of each row when those before have changed.
    guards_by_row: bool,
}

enum Action {
    Update(UpdateStatement),
    Delete(DeleteStatement),
    Insert(InsertStatement),
}

impl MergeStatement {
    pub fn new(merge: &Merge, executor: Executor) -> Self {
        let action = |action: &MergeAction| match action {
            MergeAction::Update(update) => Action::Update(UpdateStatement::new(update, executor)),
            MergeAction::Delete(delete) => Action::Delete(DeleteStatement::new(delete, executor)),
            MergeAction::Insert(insert) => Action::Insert(InsertStatement::new(insert, executor)),
        };
        let mut actions: Vec<Action> = merge.actions.iter().map(action).collect();
        actions.iter_mut().for_each(|action| action.exchange_triggers(&mut None));
        Self {
            table: merge.table.oid.0,
            replaced: merge.table.is_view(),
            input: compile(&merge.joined, executor),
            types: types_of(&merge.joined),
            actions,
            guards: merge.guards.iter().map(|check| Some(Guard::new(check.as_ref()?, executor))).collect(),
            triggers: triggers_of(&merge.actions),
            ahead: None,
            streams: merge.joined.calls_volatile(),
            guards_by_row: merge.guards.iter().flatten().any(|guard| guard.condition.calls_volatile()),
        }
    }

    /// The triggers of all actions.
    pub fn triggers_mut(&mut self) -> Option<&mut Triggers> {
        self.triggers.as_deref_mut()
    }

    /// A new execution.
    pub fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.ahead = None;
        if !self.streams && self.triggers.as_mut().map_or(Ok(false), |triggers| triggers.come_first(cx))? {
            self.ahead = Some(self.collect(cx)?);
        }
        self.triggers.as_mut().map_or(Ok(()), |triggers| triggers.begin(cx))
    }

    /// Changes the rows; what that means for other tables is only noted.
    pub fn run_changes(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let (table, replaced) = (self.table, self.replaced);
        let mut seen = Seen { table, replaced, places: HashSet::new(), held: cx.reserve("MERGE") };
        let mut count = 0;
        let mut batch = Batch::of_types(&self.types);
        if self.streams {
            self.input.open(cx)?;
            loop {
                self.input.bound(1);
                if !self.input.next(cx, &mut batch)? {
                    self.input.close();
                    return Ok(count);
                }
                if self.actions.iter().any(|action| action.held().is_some()) {
                    self.hold(cx, &batch)?;
                }
                count += self.change(cx, &batch, &mut seen, sink)?;
            }
        }
        let mut rows = match self.ahead.take() {
            Some(rows) => rows,
            None => self.collect(cx)?,
        };
        while rows.next(&mut batch)? {
            count += self.change(cx, &batch, &mut seen, sink)?;
        }
        Ok(count)
    }

    /// Changes what rows of the query say; how many that are.
    fn change(
        &mut self,
        cx: &ExecContext<'_>,
        batch: &Batch,
        seen: &mut Seen,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        let mut count = 0;
        let given = batch.columns.len() - 2;
        let mut row = 0;
        while row < batch.rows {
            cx.check_cancelled()?;
            let Some(action) = action_of(batch, given, row)? else {
                row += 1;
                continue;
            };
            let mut end = row + 1;
            while end < batch.rows && !self.guards_by_row && action_of(batch, given, end)? == Some(action) {
                end += 1;
            }
            let run: Vec<u32> = (row as u32..end as u32).collect();
            row = end;
            let mut run = batch.gather(&run);
            let places = run.columns.pop().map(|column| column.data);
            run.columns.pop();
            let Some(ColumnData::I64(places)) = places else { return Err(malformed()) };
            if let Some(Some(guard)) = self.guards.get_mut(action) {
                guard.check(cx, &run)?;
            }
            let action = self.actions.get_mut(action).ok_or_else(malformed)?;
            action.exchange_triggers(&mut self.triggers);
            let changed = action.apply(cx, run, &places, seen, sink);
            action.exchange_triggers(&mut self.triggers);
            count += changed?;
        }
        Ok(count)
    }

    /// What the changes mean for other tables, and AFTER triggers.
    pub fn finish(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut ends = Vec::new();
        self.end(cx, &mut ends)?;
        finish_parts(cx, ends)
    }

    /// The same as a part of a statement, which does it at its end.
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        for action in &mut self.actions {
            action.exchange_triggers(&mut self.triggers);
            let told = action.hand_up(cx);
            action.exchange_triggers(&mut self.triggers);
            told?;
        }
        let first = ends.len();
        self.actions.iter_mut().try_for_each(|action| match action {
            Action::Update(update) => update.end(cx, ends),
            Action::Delete(delete) => delete.end(cx, ends),
            Action::Insert(insert) => insert.end(cx, ends),
        })?;
        End::add(ends, [], self.triggers.as_deref_mut());
        End::join(&mut ends[first..]);
        Ok(())
    }

    pub fn close(&mut self) {
        self.input.close();
    }

    /// All rows of the query.
    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<Spool> {
        let mut rows = Spool::default();
        self.input.open(cx)?;
        let mut batch = Batch::of_types(&self.types);
        while self.input.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            let full = std::mem::replace(&mut batch, Batch::of_types(&self.types));
            if self.actions.iter().any(|action| action.held().is_some()) {
                self.hold(cx, &full)?;
            }
            rows.push(cx.services.memory, "MERGE", full)?;
        }
        self.input.close();
        Ok(rows)
    }

    /// Locks the rows that triggers are about to see, in the order of the rows.
    fn hold(&self, cx: &ExecContext<'_>, rows: &Batch) -> Result<()> {
        let given = rows.columns.len() - 2;
        let Some(ColumnData::I64(places)) = rows.columns.last().map(|column| &column.data) else {
            return Err(malformed());
        };
        let mut row = 0;
        while row < rows.rows {
            let first = row;
            let action = action_of(rows, given, row)?;
            while row < rows.rows && action_of(rows, given, row)? == action {
                row += 1;
            }
            let Some(held) = action.and_then(|action| self.actions.get(action)).and_then(Action::held) else {
                continue;
            };
            // What is to be done for the source's row is another action then.
            if held.lock(cx, &places[first..row])?.is_some() {
                return Err(gone(places[first]));
            }
        }
        Ok(())
    }
}

/// The triggers of a table that the actions fire.
fn triggers_of(actions: &[MergeAction]) -> Option<Box<Triggers>> {
    let (mut inserts, mut updates, mut deletes) = (None, None, None);
    let mut assigned = Vec::new();
    for action in actions {
        match action {
            MergeAction::Insert(insert) => inserts = Some(&insert.table),
            MergeAction::Delete(delete) => deletes = Some(&*delete.table),
            MergeAction::Update(update) => {
                updates = Some(&*update.table);
                assigned.extend(update.assignments[..update.named].iter().map(|(column, _)| *column));
            }
        }
    }
    let mut events: Vec<(TriggerEvent, &[usize])> = Vec::new();
    for (event, table) in
        [(TriggerEvent::Insert, inserts), (TriggerEvent::Update, updates), (TriggerEvent::Delete, deletes)]
    {
        if table.is_some() {
            events.push((event, if event == TriggerEvent::Update { &assigned } else { &[] }));
        }
    }
    Triggers::of_merge(inserts.or(updates).or(deletes)?, &events)
}

impl Action {
    fn hand_up(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match self {
            Action::Update(update) => update.hand_up(cx),
            Action::Delete(delete) => delete.hand_up(cx),
            Action::Insert(insert) => insert.hand_up(cx),
        }
    }

    /// Which of its rows are locked ahead of its triggers.
    fn held(&self) -> Option<&HeldRows> {
        match self {
            Action::Update(update) => update.held(),
            Action::Delete(delete) => delete.held(),
            Action::Insert(_) => None,
        }
    }

    fn exchange_triggers(&mut self, triggers: &mut Option<Box<Triggers>>) {
        match self {
            Action::Update(update) => update.exchange_triggers(triggers),
            Action::Delete(delete) => delete.exchange_triggers(triggers),
            Action::Insert(insert) => insert.exchange_triggers(triggers),
        }
    }

    /// Does it for rows of the query; `places` are those of the table's rows.
    fn apply(
        &mut self,
        cx: &ExecContext<'_>,
        rows: Batch,
        places: &[i64],
        seen: &mut Seen,
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        match self {
            Action::Insert(insert) => insert.run_given(cx, &rows, sink),
            Action::Update(update) => {
                let told = update.triggers_mut().is_some();
                seen.each_once(cx, places, rows, |places, rows| {
                    let done = update.run_given(cx, (places.to_vec(), rows), sink);
                    done.map_err(|error| if told { error } else { of_merge(error) })
                })
            }
            Action::Delete(delete) => {
                let told = delete.triggers_mut().is_some();
                seen.each_once(cx, places, rows, |places, rows| {
                    let done = delete.run_given(cx, (places.to_vec(), rows), sink);
                    done.map_err(|error| if told { error } else { of_merge(error) })
                })
            }
        }
    }
}

/// A row that what was called has changed is told in MERGE's words, as triggers tell it, where there are some.
fn of_merge(error: ExecError) -> ExecError {
    match &error {
        ExecError::Type(its) if its.sqlstate == "27000" => changed_before("updated or deleted"),
        _ => error,
    }
}

/// What policies demand of the rows that an action changes: those that the role does not see are not among them, so that one which
/// it may not change is an error.
struct Guard {
    table: Arc<str>,
    condition: Predicate,
    selection: Vec<u32>,
}

impl Guard {
    fn new(check: &Check, executor: Executor) -> Guard {
        let condition = Predicate::compile(&check.condition, executor);
        Guard { table: Arc::clone(&check.name), condition, selection: Vec::new() }
    }

    fn check(&mut self, cx: &ExecContext<'_>, rows: &Batch) -> Result<()> {
        if let Some(error) = self.condition.select(&cx.eval(), rows, &mut self.selection) {
            return Err(error);
        }
        if self.selection.len() < rows.rows {
            let table = &self.table;
            let text = format!(
                "target row violates row-level security policy (USING expression) for table \"{table}\""
            );
            return Err(TypeError::new("42501", text).into());
        }
        Ok(())
    }
}

/// The rows changed.
struct Seen {
    table: u32,
    /// They have no places.
    replaced: bool,
    places: HashSet<i64>,
    held: Reservation,
}

impl Seen {
    /// Changes the rows up to the first that has been changed already, which is an error.
    fn each_once(
        &mut self,
        cx: &ExecContext<'_>,
        places: &[i64],
        mut rows: Batch,
        change: impl FnOnce(&[i64], Batch) -> Result<u64>,
    ) -> Result<u64> {
        if self.replaced {
            return change(places, rows);
        }
        let table = self.table;
        let free = |place| cx.state().is_none_or(|state| state.changes_first(table, place));
        let fresh = places.iter().take_while(|place| self.places.insert(**place) && free(**place)).count();
        self.held.resize(SEEN_BYTES * self.places.capacity() as u64)?;
        if fresh < places.len() {
            rows.filter(&(0..fresh as u32).collect::<Vec<_>>());
        }
        let count = if fresh > 0 { change(&places[..fresh], rows)? } else { 0 };
        if fresh < places.len() {
            let message = "MERGE command cannot affect row a second time";
            let hint = "Ensure that not more than one source row matches any one target row.";
            return Err(TypeError::new("21000", message).with_hint(hint).into());
        }
        Ok(count)
    }
}

/// The number of a row's action; none where nothing is done.
fn action_of(batch: &Batch, column: usize, row: usize) -> Result<Option<usize>> {
    let column = &batch.columns[column];
    if column.is_null(row) {
        return Ok(None);
    }
    match &column.data {
        ColumnData::I32(actions) => Ok(usize::try_from(actions[row]).ok()),
        _ => Err(malformed()),
    }
}

fn malformed() -> ExecError {
    ExecError::raised("XX000", "rows of MERGE without their actions")
}
