//! UPDATE and DELETE: batch by batch over the table; row by row where triggers have a say in it ([`by_row`]), or do
//! it themselves ([`instead`]); of a partitioned table leaf by leaf ([`parts`]).

mod by_row;
mod instead;
mod parts;
mod reserve;

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::RecordLockMode;
use verso_storage::rules::{Rule, disabled};
use verso_types::{Batch, Column, SqlType, Value};

use self::parts::{DeleteParts, Leaving, UpdateParts};
use super::access::{Access, Found, is_much};
use super::check::RowChecks;
use super::foreign::{End, ForeignKeys, finish_keys, finish_parts};
use super::found::{Finding, FoundRows, Gathered, by_record, with_places_apart};
use super::held::HeldRows;
use super::operator::{Operator, compile, types_of};
use super::shown_values::refused_row;
use super::statement::Sink;
use super::trigger::{TriggerEvent, Triggers, changed_by_trigger};
use super::{ChangeCursor, ExecContext};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{Delete, ExprKind, IndexAccess, Plan, Returning, TypedExpr, Update};

/// What UPDATE and DELETE share: which rows of which table.
struct Scan {
    table: Arc<TableDef>,
    columns: Arc<[usize]>,
    types: Arc<[SqlType]>,
    /// The query that finds the rows (FROM, USING), and the types of what it yields.
    joined: Option<(Box<dyn Operator>, Vec<SqlType>)>,
    /// It calls functions that may look for the rows changed before: it finds each when the ones before have changed.
    streams: bool,
    /// Rows that a statement around this one has found.
    given: Option<FoundRows>,
    /// Rows found before BEFORE STATEMENT triggers fired (G9).
    gathered: Option<Gathered>,
    access: Option<Access>,
    /// A large range is not worth the index.
    adapts: bool,
    /// The change moves index entries that the scan has not met yet: all rows are read first (T2).
    collect: bool,
    filter: Option<Predicate>,
    selection: Vec<u32>,
    /// Functions decide which rows are changed that may look for those changed before.
    filters_by_row: bool,
    /// Filter and values look at nothing but the row.
    alone: bool,
    /// Functions compute what is changed, or returned, that may look for the rows changed before.
    by_row: bool,
    /// Rows that BEFORE ROW triggers are about to see are locked when they are found.
    held: Option<Box<HeldRows>>,
}

impl Scan {
    fn new(
        table: &Arc<TableDef>,
        columns: &[usize],
        access: Option<&IndexAccess>,
        filter: Option<&TypedExpr>,
        executor: Executor,
    ) -> Self {
        Self {
            table: Arc::clone(table),
            columns: columns.into(),
            types: columns.iter().map(|index| table.columns[*index].ty.clone()).collect(),
            joined: None,
            streams: false,
            given: None,
            gathered: None,
            access: access.map(|access| Access::compile(table, access)),
            adapts: access.is_some_and(|access| access.instead.is_some()),
            collect: false,
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            selection: Vec::new(),
            filters_by_row: filter.is_some_and(TypedExpr::calls_volatile),
            alone: filter.is_none_or(looks_at_its_row_only),
            by_row: false,
            held: None,
        }
    }

    /// How strongly rows are locked batch by batch, ahead of triggers: those that no query has found, which locks them.
    fn held_by_batch(&self) -> Option<RecordLockMode> {
        let found = self.joined.is_some() || self.given.is_some();
        self.held.as_ref().filter(|_| !found).and_then(|held| held.mode())
    }

    /// The rows come from a query.
    fn join(&mut self, plan: Option<&Plan>, executor: Executor) {
        let Some(plan) = plan else { return };
        let types = types_of(plan);
        // All but the place.
        self.types = types[..types.len().saturating_sub(1)].into();
        self.alone = false;
        self.streams = plan.calls_volatile();
        self.joined = Some((compile(plan, executor), types));
    }

    /// BEFORE STATEMENT triggers fire. The statement does not see what they do: its rows are found before.
    fn begin(&mut self, cx: &ExecContext<'_>, triggers: &mut Triggers) -> Result<()> {
        self.gathered = match &mut self.joined {
            Some((operator, types)) if !self.streams && triggers.come_first(cx)? => {
                Some(Gathered::of(cx, &mut **operator, types, &self.table, self.held.as_deref())?)
            }
            _ => None,
        };
        triggers.begin(cx)
    }

    /// Whether the query finds a row when those before have changed.
    fn finds_by_row(&self) -> bool {
        self.streams && self.given.is_none() && self.gathered.is_none()
    }

    /// Has the query find rows one by one, and calls `change` with each: what becomes of it the query does not see (T4).
    fn each_found(
        &mut self,
        cx: &ExecContext<'_>,
        mut change: impl FnMut(&mut Self, FoundRows) -> Result<()>,
    ) -> Result<()> {
        let Some((mut operator, types)) = self.joined.take() else { return Ok(()) };
        let (table, held) = (Arc::clone(&self.table), self.held.take());
        let mut find = || -> Result<()> {
            operator.open(cx)?;
            let mut finding = Finding::new(cx, &table, held.as_deref());
            loop {
                operator.bound(1);
                let Some(rows) = finding.next(cx, &mut *operator, &types)? else { return Ok(()) };
                if rows.rows > 0 {
                    change(self, with_places_apart(rows)?)?;
                }
            }
        };
        let found = find();
        operator.close();
        (self.joined, self.held) = (Some((operator, types)), held);
        found
    }

    /// Calls `change` with each batch and the rows selected of it. An error of the filter is reported behind those of
    /// the rows before it (S1). Rows that `change` finds to be changed by others meanwhile are looked at again as they
    /// are now, which is enough where filter and values look at nothing but the row; elsewhere they are a conflict, and the
    /// statement runs again.
    fn for_each(
        &mut self,
        cx: &ExecContext<'_>,
        mut change: impl FnMut(&mut dyn ChangeCursor, Option<&[u32]>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        if self.finds_by_row() {
            lock_for_change(cx, &self.table)?;
            return self.each_found(cx, |scan, found| {
                let found = by_record(std::iter::once(Ok(found)));
                let cursor = cx.tables()?.change_found(&scan.table, &scan.columns, found)?;
                scan.change_all(cx, cursor, &mut change)
            });
        }
        let cursor = match &mut self.access {
            _ if let Some(found) = self.given.take() => {
                let found = by_record(std::iter::once(Ok(found)));
                cx.tables()?.change_found(&self.table, &self.columns, found)?
            }
            _ if let Some((operator, types)) = &mut self.joined => {
                let found = match self.gathered.take() {
                    Some(found) => found,
                    None => Gathered::of(cx, &mut **operator, types, &self.table, self.held.as_deref())?,
                };
                cx.tables()?.change_found(&self.table, &self.columns, by_record(found))?
            }
            None => cx.tables()?.scan_for_change(&self.table, &self.columns)?,
            Some(access) => {
                let (index, found) = access.open_parts(&cx.eval())?;
                let (table, columns, collect) = (&self.table, &self.columns, self.collect);
                match found {
                    Found::Nothing => return Ok(()),
                    Found::Point(key) => cx.tables()?.get_for_change(table, index, key, columns)?,
                    // The filter says all that the range does.
                    Found::Ranges(ranges)
                        if self.adapts && cx.tables()?.is_large(table, &[(index, &ranges)])? =>
                    {
                        cx.tables()?.scan_for_change(table, columns)?
                    }
                    Found::All => cx.tables()?.scan_for_change(table, columns)?,
                    Found::Candidates(gathering)
                        if is_much(&gathering, |ranges| cx.tables()?.is_large(table, ranges))? =>
                    {
                        cx.tables()?.scan_for_change(table, columns)?
                    }
                    Found::Candidates(gathering) => {
                        cx.tables()?.candidates_for_change(table, &gathering, columns)?
                    }
                    Found::Ranges(ranges) => {
                        cx.tables()?.index_scan_for_change(table, index, ranges, columns, collect)?
                    }
                }
            }
        };
        self.change_all(cx, cursor, &mut change)
    }

    /// The same with the batches of a cursor.
    fn change_all(
        &mut self,
        cx: &ExecContext<'_>,
        mut cursor: Box<dyn ChangeCursor + '_>,
        change: Change<'_>,
    ) -> Result<()> {
        let mut stale = Vec::new();
        while cursor.next()? {
            cx.check_cancelled()?;
            loop {
                self.change_batch(cx, &mut *cursor, &mut stale, &mut *change)?;
                if stale.is_empty() {
                    break;
                }
                cursor.reread(&stale)?;
                stale.clear();
                if cursor.batch().rows == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Changes the rows of a batch that the filter lets through: it is asked for all of them at once, or for each when those before
    /// have changed. `stale` gets the positions of rows that others have changed meanwhile.
    fn change_batch(
        &mut self,
        cx: &ExecContext<'_>,
        cursor: &mut dyn ChangeCursor,
        stale: &mut Vec<u32>,
        change: Change<'_>,
    ) -> Result<()> {
        let Self { filter, selection, filters_by_row, by_row, .. } = self;
        let Some(filter) = filter else { return each(*by_row, cursor, None, stale, change) };
        let rows = cursor.batch().rows;
        let at_once = if *filters_by_row { 1 } else { rows.max(1) };
        for first in (0..rows as u32).step_by(at_once) {
            let error = match *filters_by_row {
                true => filter.select(&cx.eval(), &cursor.batch().gather(&[first]), selection),
                false => filter.select(&cx.eval(), cursor.batch(), selection),
            };
            if let Some(error) = error.as_ref().filter(|_| disabled(Rule::F6)) {
                return Err(error.clone());
            }
            selection.iter_mut().for_each(|row| *row += first);
            if selection.len() == rows && error.is_none() {
                each(*by_row, cursor, None, stale, &mut *change)?;
            } else if !selection.is_empty() {
                let mut of_selected = Vec::new();
                each(*by_row, cursor, Some(selection), &mut of_selected, &mut *change)?;
                stale.extend(of_selected.iter().map(|n| selection[*n as usize]));
            }
            if let Some(error) = error {
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Locks a table that is about to be changed, which is looked at once more behind the lock.
fn lock_for_change(cx: &ExecContext<'_>, table: &TableDef) -> Result<()> {
    cx.tables()?.change_found(table, &[], by_record(std::iter::empty())).map(drop)
}

/// Refuses a change of rows that were changed since the command began: by what it has called, as no statement changes a row twice.
fn check_unchanged(
    cursor: &dyn ChangeCursor,
    rows: Option<&[u32]>,
    event: TriggerEvent,
    triggers: Option<&Triggers>,
) -> Result<()> {
    match cursor.is_changed(rows) {
        false => Ok(()),
        true => Err(triggers.map_or_else(|| changed_by_trigger(event), |triggers| triggers.changed(event))),
    }
}

/// Whether an expression has no subquery.
fn looks_at_its_row_only(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }))
}

/// Removes the rows at these positions, which ascend.
fn leave_out(rows: &mut Batch, positions: &[u32]) {
    if !positions.is_empty() {
        let kept: Vec<u32> =
            (0..rows.rows as u32).filter(|position| positions.binary_search(position).is_err()).collect();
        rows.filter(&kept);
    }
}

/// RETURNING, compiled.
struct Output {
    exprs: ExprList,
    batch: Batch,
}

impl Output {
    fn new(returning: Option<&Returning>, executor: Executor) -> Option<Self> {
        let exprs = ExprList::compile(&returning?.exprs, executor);
        let batch = Batch::of_types(exprs.types());
        Some(Self { exprs, batch })
    }

    fn send(&mut self, cx: &ExecContext<'_>, rows: &Batch, sink: &mut dyn Sink) -> Result<()> {
        self.exprs.eval(&cx.eval(), rows, &mut self.batch)?;
        sink.batch(&self.batch)
    }
}

/// A compiled UPDATE.
pub(crate) struct UpdateStatement {
    scan: Scan,
    /// Indexes into `table.columns`, and the same as ids of storage.
    targets: Vec<usize>,
    target_ids: Vec<u16>,
    values: ExprList,
    checks: RowChecks,
    keys: ForeignKeys,
    triggers: Option<Box<Triggers>>,
    batch: Batch,
    returning: Option<Output>,
    /// Of a leaf of a partitioned table: rows that belong elsewhere.
    leaving: Option<Box<Leaving>>,
    /// Of a partitioned table.
    parts: Option<Box<UpdateParts>>,
    /// What it adds to RESERVABLE columns, if that is all that it does.
    amounts: Option<Box<ExprList>>,
}

type Change<'c> = &'c mut dyn FnMut(&mut dyn ChangeCursor, Option<&[u32]>, &mut Vec<u32>) -> Result<()>;

/// Changes the rows of a batch: all together, or one after the other where functions may look for what has become of those before.
fn each(
    by_row: bool,
    cursor: &mut dyn ChangeCursor,
    rows: Option<&[u32]>,
    stale: &mut Vec<u32>,
    change: Change<'_>,
) -> Result<()> {
    let count = rows.map_or(cursor.batch().rows, <[u32]>::len);
    if !by_row || count < 2 {
        return change(cursor, rows, stale);
    }
    let mut of_row = Vec::new();
    for n in 0..count as u32 {
        let row = rows.map_or(n, |rows| rows[n as usize]);
        of_row.clear();
        change(cursor, Some(&[row]), &mut of_row)?;
        if !of_row.is_empty() {
            stale.push(n);
        }
    }
    Ok(())
}

impl UpdateStatement {
    pub fn new(update: &Update, executor: Executor) -> Self {
        let targets: Vec<usize> = update.assignments.iter().map(|(column, _)| *column).collect();
        let values = ExprList::compile(update.assignments.iter().map(|(_, value)| value), executor);
        let target_ids: Vec<u16> = targets.iter().map(|column| update.table.columns[*column].id).collect();
        let access = update.access.as_ref();
        let mut scan = Scan::new(&update.table, &update.columns, access, update.filter.as_ref(), executor);
        scan.join(update.joined.as_ref(), executor);
        scan.alone &= update.assignments.iter().all(|(_, value)| looks_at_its_row_only(value));
        scan.by_row = update.goes_by_row();
        scan.collect = access.is_some_and(|access| {
            !access.is_point() && access.index.columns().any(|column| target_ids.contains(&column))
        });
        let named = &targets[..update.named];
        scan.held = HeldRows::of(&update.table, TriggerEvent::Update, named);
        let triggers = Triggers::of(&update.table, &[(TriggerEvent::Update, named)]);
        Self {
            scan,
            target_ids,
            checks: RowChecks::new(&update.table, &targets, &update.rules, executor),
            keys: ForeignKeys::of_update(&update.table, &targets),
            parts: update
                .parts
                .as_ref()
                .map(|parts| Box::new(UpdateParts::new(parts, triggers.as_deref(), executor))),
            triggers,
            targets,
            batch: Batch::of_types(values.types()),
            values,
            returning: Output::new(update.returning.as_ref(), executor),
            leaving: None,
            amounts: update.reserves().map(|amounts| Box::new(ExprList::compile(amounts, executor))),
        }
    }

    /// A new execution.
    pub fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if let Some(parts) = &mut self.parts {
            parts.begin(cx)?;
        }
        self.triggers.as_mut().map_or(Ok(()), |triggers| self.scan.begin(cx, triggers))
    }

    /// The rows that the leaves have changed are told to the triggers of the statement (G7).
    pub fn hand_up(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match (&mut self.parts, &mut self.triggers) {
            (Some(parts), Some(whole)) => parts.hand_up(cx, whole),
            _ => Ok(()),
        }
    }

    /// What the changes mean for other tables, and AFTER triggers.
    pub fn finish(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.parts.is_none() {
            return finish_keys(cx, [Some(&mut self.keys)], self.triggers.as_deref_mut());
        }
        let mut ends = Vec::new();
        self.end(cx, &mut ends)?;
        finish_parts(cx, ends)
    }

    /// The same as a part of a statement, which does it at its end.
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        self.hand_up(cx)?;
        if let Some(parts) = &mut self.parts {
            parts.end(cx, ends)?;
        }
        End::add(ends, [Some(&mut self.keys)], self.triggers.as_deref_mut());
        Ok(())
    }

    /// As [`Self::run_changes`] for rows found elsewhere.
    pub fn run_given(&mut self, cx: &ExecContext<'_>, rows: FoundRows, sink: &mut dyn Sink) -> Result<u64> {
        self.scan.given = Some(rows);
        self.run_changes(cx, sink)
    }

    /// The keys and rows noted, for the statement that this one belongs to.
    pub fn into_parts(self) -> (ForeignKeys, Option<Box<Triggers>>) {
        (self.keys, self.triggers)
    }

    /// Not of a partitioned table.
    pub fn is_plain(&self) -> bool {
        self.parts.is_none()
    }

    /// Which of its rows are locked ahead of its triggers.
    pub fn held(&self) -> Option<&HeldRows> {
        self.scan.held.as_deref()
    }

    /// Its triggers.
    pub fn triggers_mut(&mut self) -> Option<&mut Triggers> {
        self.triggers.as_deref_mut()
    }

    /// Gives and takes the triggers of the statement that this one is a part of.
    pub fn exchange_triggers(&mut self, triggers: &mut Option<Box<Triggers>>) {
        std::mem::swap(&mut self.triggers, triggers);
    }

    /// Changes the rows; what that means for other tables is only noted.
    pub fn run_changes(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        if let Some(parts) = &mut self.parts {
            return parts.run(cx, &mut self.scan, self.triggers.as_deref(), sink);
        }
        if self.triggers.as_ref().is_some_and(|triggers| triggers.replaces(TriggerEvent::Update)) {
            return self.run_instead(cx, sink);
        }
        if self.triggers.as_ref().is_some_and(|triggers| triggers.changes_rows(TriggerEvent::Update)) {
            return self.run_by_row(cx, sink);
        }
        if self.amounts.is_some() && self.scan.given.is_none() && self.run_reserving(cx)? {
            return Ok(1);
        }
        let Self {
            scan, targets, target_ids, values, checks, keys, triggers, batch, returning, leaving, ..
        } = self;
        let notes = triggers.as_ref().is_some_and(|triggers| triggers.notes(TriggerEvent::Update));
        let alone = scan.alone;
        let table = Arc::clone(&scan.table);
        let (columns, types) = (Arc::clone(&scan.columns), Arc::clone(&scan.types));
        let shown_types: Vec<SqlType> = types.iter().chain(values.types()).cloned().collect();
        let mut count = 0;
        scan.for_each(cx, |cursor, selected, stale| {
            let staying: Vec<u32>;
            let mut selection = selected;
            let mut gathered = selection.map(|selection| cursor.batch().gather(selection));
            let rows = gathered.as_ref().unwrap_or_else(|| cursor.batch());
            values.eval(&cx.eval(), rows, batch)?;
            // the columns read, then the new values
            let wanted = checks.has_conditions()
                || checks.generates()
                || returning.is_some()
                || leaving.is_some()
                || !keys.is_empty()
                || notes;
            let mut both = wanted.then(|| {
                let mut both = rows.clone();
                both.columns.extend(batch.columns.iter().cloned());
                both
            });
            if let Some(both) = &mut both {
                checks.generate_values(cx, both, batch)?;
            }
            if let (Some(leaving), Some(both)) = (&mut *leaving, &mut both)
                && let Some(kept) = leaving.take(cx, both)?
            {
                batch.filter(&kept);
                both.filter(&kept);
                gathered = Some(rows.gather(&kept));
                staying = match selection {
                    Some(selection) => kept.iter().map(|row| selection[*row as usize]).collect(),
                    None => kept,
                };
                selection = Some(&staying);
                if batch.rows == 0 {
                    return Ok(());
                }
            }
            let rows = gathered.as_ref().unwrap_or_else(|| cursor.batch());
            let mut failed = None;
            let checked = checks.check(cx, batch, both.as_ref().unwrap_or(rows), |row| {
                failed = Some(row);
                let mut shown = rows.row(row, &types);
                shown.extend(batch.row(row, values.types()));
                shown
            });
            if let Err(error) = checked {
                let Some(row) = failed else { return Err(error) };
                let place = selection.map_or(row as u32, |selection| selection[row]);
                let new = batch.row(row, values.types());
                return Err(with_whole_row(cx, error, cursor, (&table, place), (targets, &checks.set), new));
            }
            check_unchanged(&*cursor, selection, TriggerEvent::Update, triggers.as_deref())?;
            cursor.update(selection, target_ids, batch, alone.then_some(&mut *stale))?;
            count += (batch.rows - stale.len()) as u64;
            let Some(both) = &mut both else { return Ok(()) };
            leave_out(both, stale);
            if !keys.is_empty() {
                let old = |column: usize, row: usize| match columns.iter().position(|read| *read == column) {
                    Some(at) => both.columns[at].value(row, &types[at]),
                    None => Value::Null,
                };
                let new = |column: usize, row: usize| match targets.iter().position(|one| *one == column) {
                    Some(n) => both.columns[types.len() + n].value(row, &values.types()[n]),
                    None => old(column, row),
                };
                keys.number(cx, triggers.as_deref_mut(), TriggerEvent::Update, both.rows);
                keys.note_new(both.rows, new)?;
                keys.note_old(both.rows, old, Some(&new));
                keys.settle(cx)?;
            }
            if let Some(triggers) = triggers.as_mut().filter(|_| notes) {
                let old = whole(&table, both, &columns);
                let mut new = old.clone();
                for (n, target) in targets.iter().enumerate() {
                    new[*target] = both.columns[types.len() + n].clone();
                }
                triggers.note(cx, TriggerEvent::Update, both.rows, Some(&old), Some(&new))?;
            }
            let stored = match both.rows {
                0 => Ok(()),
                _ => checks.check_stored(cx, both, |row| both.row(row, &shown_types)),
            };
            if let Err(error) = stored {
                // Such rows are changed one by one.
                let place = selection.map_or(0, |selection| selection[0]);
                let new = batch.row(0, values.types());
                return Err(with_whole_row(cx, error, cursor, (&table, place), (targets, &checks.set), new));
            }
            returning.as_mut().map_or(Ok(()), |returning| returning.send(cx, both, sink))
        })?;
        Ok(count)
    }
}

/// The columns of a table among those read, which all of them are; but those that an index of a leaf alone needs are not read
/// for a change of a partitioned table, and NULL.
fn whole(table: &TableDef, rows: &Batch, read: &[usize]) -> Vec<Column> {
    let column = |at: usize| match read.iter().position(|one| *one == at) {
        Some(n) => rows.columns[n].clone(),
        None => {
            debug_assert!(table.columns[at].is_hidden(), "triggers see all columns");
            let mut column = Batch::of_types(std::slice::from_ref(&table.columns[at].ty)).columns.remove(0);
            (0..rows.rows).for_each(|_| column.push_null());
            column
        }
    };
    (0..table.columns.len()).map(column).collect()
}

/// The error with the whole new row in its detail.
fn with_whole_row(
    cx: &ExecContext<'_>,
    error: ExecError,
    cursor: &mut dyn ChangeCursor,
    (table, row): (&TableDef, u32),
    (targets, set): (&[usize], &[Arc<str>]),
    new: Vec<Value>,
) -> ExecError {
    let Some(mut whole) = cursor.whole_row(table, row) else { return error };
    for (target, value) in targets.iter().zip(new) {
        whole[*target] = value;
    }
    let detail = refused_row(cx, &whole, table, set);
    match error {
        ExecError::NotNull { schema, table, column, row: _ } => {
            ExecError::NotNull { schema, table, column, row: detail }
        }
        // A row that no partition is for shows its key.
        ExecError::Violation(mut violation)
            if violation.detail.as_ref().is_none_or(|detail| detail.starts_with("Failing row")) =>
        {
            violation.detail = detail;
            ExecError::Violation(violation)
        }
        // A view's check option.
        ExecError::Type(error) if error.sqlstate == "44000" => ExecError::Type(match detail {
            Some(detail) => error.with_detail(detail),
            None => verso_types::TypeError { detail: None, ..error },
        }),
        other => other,
    }
}

/// A compiled DELETE.
pub(crate) struct DeleteStatement {
    scan: Scan,
    keys: ForeignKeys,
    triggers: Option<Box<Triggers>>,
    returning: Option<Output>,
    /// Of a partitioned table.
    parts: Option<Box<DeleteParts>>,
}

impl DeleteStatement {
    pub fn new(delete: &Delete, executor: Executor) -> Self {
        let Delete { table, columns, joined, access, filter, returning, parts } = delete;
        let mut scan = Scan::new(table, columns, access.as_ref(), filter.as_ref(), executor);
        scan.join(joined.as_ref(), executor);
        scan.by_row = delete.goes_by_row();
        scan.held = HeldRows::of(table, TriggerEvent::Delete, &[]);
        Self {
            scan,
            keys: ForeignKeys::of_delete(table),
            triggers: Triggers::of(table, &[(TriggerEvent::Delete, &[])]),
            returning: Output::new(returning.as_ref(), executor),
            parts: table.partitioned.is_some().then(|| Box::new(DeleteParts::new(parts, executor))),
        }
    }

    /// A new execution.
    pub fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if let Some(parts) = &mut self.parts {
            parts.begin();
        }
        self.triggers.as_mut().map_or(Ok(()), |triggers| self.scan.begin(cx, triggers))
    }

    /// The rows that the leaves have changed are told to the triggers of the statement (G7).
    pub fn hand_up(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match (&mut self.parts, &mut self.triggers) {
            (Some(parts), Some(whole)) => parts.hand_up(cx, whole),
            _ => Ok(()),
        }
    }

    /// What the changes mean for other tables, and AFTER triggers.
    pub fn finish(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.parts.is_none() {
            return finish_keys(cx, [Some(&mut self.keys)], self.triggers.as_deref_mut());
        }
        let mut ends = Vec::new();
        self.end(cx, &mut ends)?;
        finish_parts(cx, ends)
    }

    /// The same as a part of a statement, which does it at its end.
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        self.hand_up(cx)?;
        if let Some(parts) = &mut self.parts {
            parts.end(cx, ends)?;
        }
        End::add(ends, [Some(&mut self.keys)], self.triggers.as_deref_mut());
        Ok(())
    }

    /// As [`Self::run_changes`] for rows found elsewhere.
    pub fn run_given(&mut self, cx: &ExecContext<'_>, rows: FoundRows, sink: &mut dyn Sink) -> Result<u64> {
        self.scan.given = Some(rows);
        self.run_changes(cx, sink)
    }

    /// The keys and rows noted, for the statement that this one belongs to.
    pub fn into_parts(self) -> (ForeignKeys, Option<Box<Triggers>>) {
        (self.keys, self.triggers)
    }

    /// Not of a partitioned table.
    pub fn is_plain(&self) -> bool {
        self.parts.is_none()
    }

    /// Which of its rows are locked ahead of its triggers.
    pub fn held(&self) -> Option<&HeldRows> {
        self.scan.held.as_deref()
    }

    /// Its triggers.
    pub fn triggers_mut(&mut self) -> Option<&mut Triggers> {
        self.triggers.as_deref_mut()
    }

    /// Gives and takes the triggers of the statement that this one is a part of.
    pub fn exchange_triggers(&mut self, triggers: &mut Option<Box<Triggers>>) {
        std::mem::swap(&mut self.triggers, triggers);
    }

    /// Removes the rows; what that means for other tables is only noted.
    pub fn run_changes(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        if let Some(parts) = &mut self.parts {
            return parts.run(cx, &mut self.scan, self.triggers.as_deref(), sink);
        }
        if self.triggers.as_ref().is_some_and(|triggers| triggers.replaces(TriggerEvent::Delete)) {
            return self.run_instead(cx, sink);
        }
        if self.triggers.as_ref().is_some_and(|triggers| triggers.changes_rows(TriggerEvent::Delete)) {
            return self.run_by_row(cx, sink);
        }
        let Self { scan, keys, triggers, returning, .. } = self;
        let notes = triggers.as_ref().is_some_and(|triggers| triggers.notes(TriggerEvent::Delete));
        let table = Arc::clone(&scan.table);
        let (columns, types) = (Arc::clone(&scan.columns), Arc::clone(&scan.types));
        let mut count = 0;
        let alone = scan.alone;
        scan.for_each(cx, |cursor, selection, stale| {
            let rows = selection.map_or(cursor.batch().rows, <[u32]>::len);
            check_unchanged(&*cursor, selection, TriggerEvent::Delete, triggers.as_deref())?;
            cursor.delete(selection, alone.then_some(&mut *stale))?;
            count += (rows - stale.len()) as u64;
            if returning.is_none() && keys.is_empty() && !notes {
                return Ok(());
            }
            let mut shown = match selection {
                Some(selection) => cursor.batch().gather(selection),
                None => cursor.batch().clone(),
            };
            leave_out(&mut shown, stale);
            let old = |column: usize, row: usize| match columns.iter().position(|read| *read == column) {
                Some(at) => shown.columns[at].value(row, &types[at]),
                None => Value::Null,
            };
            keys.number(cx, triggers.as_deref_mut(), TriggerEvent::Delete, shown.rows);
            keys.note_old(shown.rows, old, None);
            keys.settle(cx)?;
            if let Some(triggers) = triggers.as_mut().filter(|_| notes) {
                let old = whole(&table, &shown, &columns);
                triggers.note(cx, TriggerEvent::Delete, shown.rows, Some(&old), None)?;
            }
            returning.as_mut().map_or(Ok(()), |returning| returning.send(cx, &shown, sink))
        })?;
        Ok(count)
    }
}
