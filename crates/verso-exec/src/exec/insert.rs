//! INSERT.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::rules::{Rule, disabled};
use verso_types::{Batch, SqlType, Value, sqlstate};

use super::check::RowChecks;
use super::conflict::ConflictClause;
use super::direct::DirectRow;
use super::foreign::{End, ForeignKeys, finish_keys, finish_parts};
use super::operator::{Operator, compile, types_of};
use super::route::Router;
use super::statement::{Sink, column_types};
use super::tables::Change;
use super::trigger::{TriggerEvent, Triggers, fires_before_rows};
use super::turns::TurnsOperator;
use super::values::ListedRows;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList};
use crate::plan::{ExprKind, Insert, NO_INDEX_OF_CONFLICT, Plan, TypedExpr};
use crate::spill::Spool;

/// A compiled INSERT.
pub(crate) struct InsertStatement {
    table: Arc<TableDef>,
    source: Source,
    rows: Batch,
    types: Vec<SqlType>,
    checks: RowChecks,
    keys: ForeignKeys,
    conflict: Option<ConflictClause>,
    triggers: Option<Box<Triggers>>,
    returning: Option<Output>,
    /// Where the short way will do.
    direct: Option<DirectRow>,
    /// Whether a query of the source reads the table.
    reads_own: bool,
    /// Of a partitioned table: where its rows go.
    router: Option<Box<Router>>,
    /// Functions are called for its rows that may look for the rows before them: each is there before the next is computed.
    by_row: bool,
    /// Some of these compute the rows. Those that are only asked of rows do not see all of COPY's rows before: it keeps some back, as
    /// in PostgreSQL.
    computes_by_row: bool,
    /// The rows of the query, read before BEFORE STATEMENT triggers fired (G9).
    ahead: Option<Spool>,
    draws: Draws,
    /// The plan is for no values of parameters, on which it hangs which indexes ON CONFLICT means.
    undecided: bool,
}

/// What is drawn for a row where BEFORE ROW triggers look at it: numbers of sequences. Those of the next row are drawn behind
/// the triggers of this one.
#[derive(Clone, Copy)]
struct Draws {
    /// By the values of VALUES, and by what is computed of the rows of a query: defaults.
    values: bool,
    /// By the query.
    source: bool,
}

impl Draws {
    fn of(insert: &Insert) -> Draws {
        let mut tables = std::iter::once(&insert.table).chain(insert.routes.iter().map(|route| &route.table));
        if !tables.any(|table| fires_before_rows(table, TriggerEvent::Insert)) {
            return Draws { values: false, source: false };
        }
        let source = rows_compute(&insert.source, &TypedExpr::is_volatile);
        let listed = source && matches!(insert.source, Plan::Values { .. });
        Draws { values: listed || insert.values.iter().any(TypedExpr::is_volatile), source }
    }
}

/// RETURNING, compiled.
struct Output {
    exprs: ExprList,
    batch: Batch,
    /// It needs the row that was there before (of DO UPDATE).
    old: bool,
}

enum Source {
    /// `VALUES`: the full rows as expressions, without a batch of the source in between; whether queries stand in them.
    Rows(ListedRows, bool),
    /// A query.
    Query { input: Box<dyn Operator>, batch: Batch, values: ExprList, spool: bool, types: Vec<SqlType> },
}

/// All rows of a query that is open, which is closed then.
fn all_of(
    cx: &ExecContext<'_>,
    input: &mut dyn Operator,
    batch: &mut Batch,
    types: &[SqlType],
) -> Result<Spool> {
    let mut rows = Spool::default();
    while input.next(cx, batch)? {
        let full = std::mem::replace(batch, Batch::of_types(types));
        rows.push(cx.services.memory, "INSERT … SELECT from its own table", full)?;
    }
    input.close();
    Ok(rows)
}

/// All rows of VALUES.
fn computed(cx: &ExecContext<'_>, lists: &ListedRows, types: &[SqlType]) -> Result<Spool> {
    let mut rows = Spool::default();
    let mut batch = Batch::of_types(types);
    for row in 0..lists.len() {
        lists.push(row, &cx.eval(), &mut batch)?;
        if batch.rows == BATCH_ROWS || batch.variable_bytes() >= BATCH_BYTES || row + 1 == lists.len() {
            cx.check_cancelled()?;
            let full = std::mem::replace(&mut batch, Batch::of_types(types));
            rows.push(cx.services.memory, "the rows of an INSERT", full)?;
        }
    }
    Ok(rows)
}

impl InsertStatement {
    pub fn new(insert: &Insert, executor: Executor) -> Self {
        let types = column_types(&insert.table);
        let rows = full_rows(insert);
        let direct = match rows.as_deref() {
            Some([row]) => DirectRow::of(insert, row),
            _ => None,
        };
        let computes_by_row = insert.is_computed_by_row();
        let by_row = computes_by_row || insert.is_asked_by_row();
        // Rows that are there already are none of the source: a command does not see them (T4).
        let lazily = by_row;
        let source = match rows {
            Some(rows) => {
                let is_query = |part: &TypedExpr| matches!(part.kind, ExprKind::Subquery { .. });
                let queries = rows.iter().flatten().any(|expr| expr.any(&mut |part| is_query(part)));
                Source::Rows(ListedRows::new(rows.into_iter().map(Cow::Owned), types.clone()), queries)
            }
            None => Source::Query {
                input: match insert.values.iter().any(TypedExpr::acts) && insert.source.acts() {
                    true => TurnsOperator::over(compile(&insert.source, executor)),
                    false => compile(&insert.source, executor),
                },
                batch: Batch::of_types(&types_of(&insert.source)),
                values: ExprList::compile(&insert.values, executor),
                spool: insert.spool && !lazily && !disabled(Rule::T2Spool),
                types: types_of(&insert.source),
            },
        };
        let returning = insert.returning.as_ref().map(|returning| {
            let exprs = ExprList::compile(&returning.exprs, executor);
            let batch = Batch::of_types(exprs.types());
            Output { exprs, batch, old: insert.returns_old }
        });
        let all: Vec<usize> = (0..types.len()).collect();
        let conflict = insert.on_conflict.as_ref();
        let keys = ForeignKeys::of_insert(&insert.table);
        let mut events: Vec<(TriggerEvent, &[usize])> = vec![(TriggerEvent::Insert, &[])];
        let update = insert.on_conflict.as_ref().and_then(|clause| clause.update.as_ref());
        let assigned: Vec<usize> = update.map_or_else(Vec::new, |update| {
            update.assignments[..update.named].iter().map(|(column, _)| *column).collect()
        });
        if update.is_some() {
            events.push((TriggerEvent::Update, &assigned));
        }
        let triggers = Triggers::of(&insert.table, &events);
        Self {
            table: Arc::clone(&insert.table),
            source,
            rows: Batch::of_types(&types),
            types,
            checks: match conflict {
                Some(_) => RowChecks::unless_there(&insert.table, &all, &insert.rules, executor),
                None => RowChecks::new(&insert.table, &all, &insert.rules, executor),
            },
            direct: direct.filter(|_| keys.is_empty() && triggers.is_none()),
            triggers,
            keys,
            conflict: conflict.map(|clause| ConflictClause::new(insert, clause, executor)),
            returning,
            reads_own: insert.spool,
            router: insert.table.partitioned.is_some().then(|| Box::new(Router::new(insert, executor))),
            by_row,
            computes_by_row,
            ahead: None,
            draws: Draws::of(insert),
            undecided: conflict.is_some_and(|clause| clause.undecided),
        }
    }

    /// A plan for any values does not know which indexes ON CONFLICT means.
    fn check_decided(&self) -> Result<()> {
        match self.undecided {
            true => Err(ExecError::raised(sqlstate::INVALID_COLUMN_REFERENCE, NO_INDEX_OF_CONFLICT)),
            false => Ok(()),
        }
    }

    /// As a part of a change of a partitioned table: triggers of statements do not fire. What an INSERT is to the whole stands
    /// beside its triggers.
    pub fn part(
        insert: &Insert,
        (whole, inserted): (Option<&Triggers>, TriggerEvent),
        executor: Executor,
    ) -> Self {
        let mut statement = Self::new(insert, executor);
        let events = [(TriggerEvent::Insert, inserted), (TriggerEvent::Update, TriggerEvent::Update)];
        statement.triggers = Triggers::of_part(statement.triggers.take(), &insert.table, whole, &events);
        statement.checks.routed();
        statement
    }

    /// The rows that the leaves have changed are told to the triggers of the statement (G7).
    pub fn hand_up(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match (&mut self.router, &mut self.triggers) {
            (Some(router), Some(whole)) => router.hand_up(cx, whole),
            _ => Ok(()),
        }
    }

    /// Not into a partitioned table, and without ON CONFLICT.
    pub fn is_plain(&self) -> bool {
        self.router.is_none() && self.conflict.is_none()
    }

    /// The triggers, for the statement that this one is a part of.
    pub fn triggers_mut(&mut self) -> Option<&mut Triggers> {
        self.triggers.as_deref_mut()
    }

    /// A new execution.
    #[inline]
    pub fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if let Some(router) = &mut self.router {
            router.begin();
        }
        if let Some(conflict) = &mut self.conflict {
            conflict.begin();
        }
        let Some(triggers) = &mut self.triggers else { return Ok(()) };
        self.ahead = match &mut self.source {
            Source::Query { input, batch, types, .. } if !self.by_row && triggers.come_first(cx)? => {
                input.open(cx)?;
                Some(all_of(cx, &mut **input, batch, types)?)
            }
            Source::Rows(lists, true) if !self.by_row && triggers.come_first(cx)? => {
                Some(computed(cx, lists, &self.types)?)
            }
            _ => None,
        };
        triggers.begin(cx)
    }

    /// Whether each row is there before the next one is looked at.
    fn goes_by_row(&self, cx: &ExecContext<'_>) -> bool {
        self.by_row && (self.computes_by_row || cx.external.is_none())
    }

    /// Inserts the rows; what that means for other tables is only noted.
    #[inline]
    pub fn run_changes(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        self.check_decided()?;
        let (by_row, draws) = (self.goes_by_row(cx), self.draws);
        let Self { table, source, rows, types, checks, keys, conflict, triggers, returning, router, .. } =
            self;
        let mut target =
            Target { table, types, checks, keys, conflict, triggers, returning, router, by_row, count: 0 };
        match source {
            Source::Rows(..) if let Some(mut ahead) = self.ahead.take() => {
                while ahead.next(rows)? {
                    cx.check_cancelled()?;
                    target.insert(cx, rows, None, sink)?;
                }
            }
            Source::Rows(lists, _) => {
                rows.recycle(KEEP_BYTES);
                for row in 0..lists.len() {
                    target.add(cx, lists, row, rows, sink)?;
                    if by_row || draws.values {
                        target.rest(cx, rows, sink)?;
                        rows.clear();
                    }
                }
                target.rest(cx, rows, sink)?;
            }
            Source::Query { input, batch, values, spool, types } => {
                let mut set_aside = self.ahead.take();
                if set_aside.is_none() {
                    input.open(cx)?;
                    if *spool {
                        set_aside = Some(all_of(cx, &mut **input, batch, types)?);
                    }
                }
                loop {
                    if (by_row || draws.source) && set_aside.is_none() {
                        input.bound(1);
                    }
                    let more = match &mut set_aside {
                        Some(rows) => rows.next(batch)?,
                        None => input.next(cx, batch)?,
                    };
                    if !more {
                        break;
                    }
                    cx.check_cancelled()?;
                    target.compute(cx, values, (&*batch, false), rows, by_row || draws.values, sink)?;
                }
                input.close();
            }
        }
        Ok(target.count)
    }

    /// Inserts rows made of those handed in, beside which RETURNING sees them; what that means for other tables is only
    /// noted.
    pub fn run_given(&mut self, cx: &ExecContext<'_>, given: &Batch, sink: &mut dyn Sink) -> Result<u64> {
        let (by_row, draws) = (self.goes_by_row(cx), self.draws);
        let Self { table, source, rows, types, checks, keys, conflict, triggers, returning, router, .. } =
            self;
        let Source::Query { values, .. } = source else {
            return Err(ExecError::raised("XX000", "rows handed in to VALUES"));
        };
        let mut target =
            Target { table, types, checks, keys, conflict, triggers, returning, router, by_row, count: 0 };
        target.compute(cx, values, (given, true), rows, by_row || draws.values, sink)?;
        Ok(target.count)
    }

    /// Gives and takes the triggers of the statement that this one is a part of.
    pub fn exchange_triggers(&mut self, triggers: &mut Option<Box<Triggers>>) {
        std::mem::swap(&mut self.triggers, triggers);
    }

    /// What the new rows mean for other tables, and AFTER triggers.
    pub fn finish(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.router.is_none() {
            let changed = self.conflict.as_mut().and_then(|conflict| conflict.keys());
            return finish_keys(cx, [changed, Some(&mut self.keys)], self.triggers.as_deref_mut());
        }
        let mut ends = Vec::new();
        self.end(cx, &mut ends)?;
        finish_parts(cx, ends)
    }

    /// The same as a part of a statement, which does it at its end.
    pub fn end<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        self.hand_up(cx)?;
        if let Some(router) = &mut self.router {
            router.end(cx, ends)?;
        }
        let changed = self.conflict.as_mut().and_then(|conflict| conflict.keys());
        End::add(ends, [changed, Some(&mut self.keys)], self.triggers.as_deref_mut());
        Ok(())
    }

    /// Runs the statement for each set of parameters; the rows of many sets reach the table together. None where the
    /// source is a query, or asks for what the sets before have inserted.
    pub fn run_sets(
        &mut self,
        cx: &ExecContext<'_>,
        sets: &[Vec<Value>],
        sink: &mut dyn Sink,
    ) -> Option<Result<u64>> {
        if let Err(error) = self.check_decided() {
            return Some(Err(error));
        }
        let Self { table, source, rows, types, checks, keys, conflict, triggers, returning, router, .. } =
            self;
        let Source::Rows(lists, _) = source else { return None };
        if self.reads_own || self.by_row || self.draws.values || triggers.is_some() {
            return None;
        }
        if let Some(router) = router {
            router.begin();
        }
        if let Some(conflict) = conflict {
            conflict.begin();
        }
        let by_row = false;
        let mut target =
            Target { table, types, checks, keys, conflict, triggers, returning, router, by_row, count: 0 };
        rows.clear();
        let mut add_all = || {
            for set in sets {
                let cx = cx.with_params(set);
                for row in 0..lists.len() {
                    target.add(&cx, lists, row, rows, sink)?;
                }
            }
            target.rest(cx, rows, sink)?;
            let mut ends = Vec::new();
            if let Some(router) = &mut *target.router {
                router.end(cx, &mut ends)?;
            }
            let changed = target.conflict.as_mut().and_then(|conflict| conflict.keys());
            End::add(&mut ends, [Some(&mut *target.keys), changed], None);
            finish_parts(cx, ends)?;
            Ok(target.count)
        };
        Some(add_all())
    }

    /// Whether [`InsertStatement::run_direct`] may do.
    pub fn is_direct(&self) -> bool {
        self.direct.as_ref().is_some_and(DirectRow::is_given)
    }

    /// Whether [`InsertStatement::run_row`] may do.
    #[inline]
    pub fn adds_row(&self) -> bool {
        self.direct.is_some()
    }

    /// As [`InsertStatement::run_direct`], also for a row that has to be computed.
    #[inline]
    pub fn run_row(&mut self, cx: &EvalContext<'_>, tables: &dyn Change) -> Option<Result<u64>> {
        let direct = self.direct.as_ref()?;
        self.rows.recycle(KEEP_BYTES);
        match &self.source {
            Source::Rows(list, _) if !direct.is_given() => {
                list.push(0, cx, &mut self.rows).ok().filter(|()| direct.accepts(&self.rows))?;
            }
            _ => direct.push(cx.params, &self.types, &mut self.rows)?,
        }
        Some(tables.insert(&self.table, &self.rows).map(|()| 1))
    }

    /// Adds the row by the short way; `None` where that will not do, and nothing has happened.
    #[inline]
    pub fn run_direct(&mut self, params: &[Value], tables: &dyn Change) -> Option<Result<u64>> {
        let direct = self.direct.as_ref()?;
        self.rows.clear();
        direct.push(params, &self.types, &mut self.rows)?;
        Some(tables.insert(&self.table, &self.rows).map(|()| 1))
    }

    pub fn close(&mut self) {
        if let Source::Query { input, .. } = &mut self.source {
            input.close();
        }
    }
}

/// Whether something is so of what is computed for each row of a query, or of VALUES.
fn rows_compute(source: &Plan, is_so: &dyn Fn(&TypedExpr) -> bool) -> bool {
    match source {
        Plan::Values { rows, .. } => rows.iter().flatten().any(is_so),
        Plan::Project { input, exprs, .. } => exprs.iter().any(is_so) || rows_compute(input, is_so),
        Plan::Filter { input, predicate } => is_so(predicate) || rows_compute(input, is_so),
        _ => false,
    }
}

/// Where rows go.
struct Target<'s> {
    table: &'s TableDef,
    types: &'s [SqlType],
    checks: &'s mut RowChecks,
    keys: &'s mut ForeignKeys,
    conflict: &'s mut Option<ConflictClause>,
    triggers: &'s mut Option<Box<Triggers>>,
    returning: &'s mut Option<Output>,
    router: &'s mut Option<Box<Router>>,
    /// Each row is there before the next one is looked at.
    by_row: bool,
    count: u64,
}

impl Target<'_> {
    /// Computes a row, and sends the batch on when it is full.
    fn add(
        &mut self,
        cx: &ExecContext<'_>,
        list: &ListedRows,
        row: usize,
        rows: &mut Batch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        list.push(row, &cx.eval(), rows)?;
        if rows.rows == BATCH_ROWS || rows.variable_bytes() >= BATCH_BYTES {
            cx.check_cancelled()?;
            self.insert(cx, rows, None, sink)?;
            rows.clear();
        }
        Ok(())
    }

    /// Sends on what is left.
    fn rest(&mut self, cx: &ExecContext<'_>, rows: &mut Batch, sink: &mut dyn Sink) -> Result<()> {
        if rows.rows > 0 { self.insert(cx, rows, None, sink) } else { Ok(()) }
    }

    /// Computes rows of those given and inserts them, one after the other where what is computed hangs on that; RETURNING sees those
    /// given, too, if it is to.
    fn compute(
        &mut self,
        cx: &ExecContext<'_>,
        values: &mut ExprList,
        (given, beside): (&Batch, bool),
        rows: &mut Batch,
        one_by_one: bool,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        if !one_by_one || given.rows < 2 {
            values.eval(&cx.eval(), given, rows)?;
            return self.insert(cx, rows, beside.then_some(given), sink);
        }
        for row in 0..given.rows as u32 {
            cx.check_cancelled()?;
            let one = given.gather(&[row]);
            let done = values.eval(&cx.eval(), &one, rows);
            let done = done.and_then(|()| self.insert(cx, rows, beside.then_some(&one), sink));
            if done.is_err()
                && let Some(external) = cx.external
            {
                external.refused(row as usize);
            }
            done?;
        }
        Ok(())
    }

    /// Inserts rows; RETURNING sees those `beside` them, too.
    #[inline]
    fn insert(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &mut Batch,
        beside: Option<&Batch>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let types = self.types;
        if self.by_row && rows.rows > 1 {
            for row in 0..rows.rows as u32 {
                cx.check_cancelled()?;
                let beside = beside.map(|beside| beside.gather(&[row]));
                self.insert(cx, &mut rows.gather(&[row]), beside.as_ref(), sink)?;
            }
            return Ok(());
        }
        if let Some(router) = self.router {
            self.count += router.insert(cx, rows, types, beside, (self.triggers.as_deref(), sink))?;
            return Ok(());
        }
        if self.triggers.as_ref().is_some_and(|triggers| triggers.changes_rows(TriggerEvent::Insert)) {
            return self.insert_by_row(cx, rows, beside, sink);
        }
        if self.conflict.is_some() {
            for row in 0..rows.rows as u32 {
                cx.check_cancelled()?;
                self.insert_unless_there(cx, &mut rows.gather(&[row]), sink)?;
            }
            return Ok(());
        }
        self.checks.generate_rows(cx, rows)?;
        self.check(cx, rows)?;
        cx.tables()?.insert(self.table, rows)?;
        self.inserted(cx, rows, beside, sink)
    }

    /// Checks rows that are to be stored. Those up to one that a view refuses are stored first, for the errors of their keys.
    fn check(&mut self, cx: &ExecContext<'_>, rows: &Batch) -> Result<()> {
        let types = self.types;
        let checked = self.checks.check(cx, rows, rows, |row| rows.row(row, types));
        if let (Err(_), Some(row)) = (&checked, self.checks.refused_by_view()) {
            let until: Vec<u32> = (0..=row as u32).collect();
            cx.tables()?.insert(self.table, &rows.gather(&until))?;
        }
        checked
    }

    /// The same where triggers may replace or skip rows: each is there before the next is looked at.
    fn insert_by_row(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &Batch,
        beside: Option<&Batch>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let types = self.types;
        for row in 0..rows.rows {
            cx.check_cancelled()?;
            let Some(triggers) = self.triggers else { return Ok(()) };
            let new = Some(rows.row(row, types));
            let Some(new) = triggers.before_row(cx, TriggerEvent::Insert, None, new)? else { continue };
            let mut one = Batch::of_types(types);
            one.push_row(&new, types)?;
            if triggers.replaces(TriggerEvent::Insert) {
                self.checks.check(cx, &one, &one, |row| one.row(row, types))?;
                self.checks.check_stored(cx, &one, |row| one.row(row, types))?;
                let beside = beside.map(|beside| beside.gather(&[row as u32]));
                self.changed(cx, &one, beside.as_ref(), sink)?;
                continue;
            }
            if self.conflict.is_some() {
                self.insert_unless_there(cx, &mut one, sink)?;
                continue;
            }
            self.checks.generate_rows(cx, &mut one)?;
            self.check(cx, &one)?;
            cx.tables()?.insert(self.table, &one)?;
            let beside = beside.map(|beside| beside.gather(&[row as u32]));
            self.inserted(cx, &one, beside.as_ref(), sink)?;
        }
        Ok(())
    }

    /// What follows the insertion of rows.
    #[inline]
    fn inserted(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &Batch,
        beside: Option<&Batch>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let types = self.types;
        if !self.keys.is_empty() {
            let value = |column: usize, row: usize| rows.columns[column].value(row, &types[column]);
            self.keys.note_new(rows.rows, value)?;
            self.keys.settle(cx)?;
        }
        if let Some(triggers) = self.triggers {
            triggers.note(cx, TriggerEvent::Insert, rows.rows, None, Some(&rows.columns))?;
        }
        self.checks.check_stored(cx, rows, |row| rows.row(row, types))?;
        self.changed(cx, rows, beside, sink)
    }

    #[inline]
    fn changed(
        &mut self,
        cx: &ExecContext<'_>,
        rows: &Batch,
        beside: Option<&Batch>,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        self.count += rows.rows as u64;
        let Some(Output { exprs, batch, old, .. }) = self.returning else { return Ok(()) };
        let before = if *old { Some(met(beside, self.types, rows.rows)?) } else { None };
        match before.as_ref().or(beside) {
            Some(beside) => {
                let mut both = rows.clone();
                both.columns.extend(beside.columns.iter().cloned());
                exprs.eval(&cx.eval(), &both, batch)?;
            }
            None => exprs.eval(&cx.eval(), rows, batch)?,
        }
        sink.batch(batch)
    }

    fn insert_unless_there(
        &mut self,
        cx: &ExecContext<'_>,
        row: &mut Batch,
        sink: &mut dyn Sink,
    ) -> Result<()> {
        let types = self.types;
        self.checks.generate_rows(cx, row)?;
        let row = &*row;
        self.checks.check(cx, row, row, |row_number| row.row(row_number, types))?;
        let Some(conflict) = self.conflict else { return Ok(()) };
        match conflict.apply(cx, row, types, self.triggers)? {
            None => Ok(()),
            Some((row, None)) => self.inserted(cx, &row, None, sink),
            Some((row, before)) => {
                if let (Some(triggers), Some(old)) = (&mut *self.triggers, &before) {
                    let width = self.types.len();
                    let (old, new) = (Some(&old.columns[..width]), Some(row.columns.as_slice()));
                    triggers.note(cx, TriggerEvent::Update, 1, old, new)?;
                }
                self.changed(cx, &row, before.as_ref(), sink)
            }
        }
    }
}

/// The rows that rows of an INSERT have met, NULLs where they have met none, and behind them the mark that they have.
fn met(before: Option<&Batch>, types: &[SqlType], rows: usize) -> Result<Batch> {
    let mut batch = match before {
        Some(before) => before.clone(),
        None => nulls(types, rows)?,
    };
    batch.columns.truncate(types.len());
    let mark = before.map_or(Value::Null, |_| Value::Bool(true));
    let mut marks = Batch::of_types(&[SqlType::Bool]);
    for _ in 0..rows {
        marks.push_row(std::slice::from_ref(&mark), &[SqlType::Bool])?;
    }
    batch.columns.append(&mut marks.columns);
    Ok(batch)
}

/// Rows of NULLs.
fn nulls(types: &[SqlType], rows: usize) -> Result<Batch> {
    let mut batch = Batch::of_types(types);
    let row = vec![Value::Null; types.len()];
    for _ in 0..rows {
        batch.push_row(&row, types)?;
    }
    Ok(batch)
}

/// The full rows of an INSERT … VALUES: the values with the source's expressions put in place of its columns. Not
/// where a column is used twice (it would be computed twice) or left out (its errors would be lost), and not where rows
/// would be computed after others are there, which they read.
fn full_rows(insert: &Insert) -> Option<Vec<Vec<TypedExpr>>> {
    let Plan::Values { rows, columns } = &insert.source else { return None };
    if insert.spool && rows.len() > BATCH_ROWS {
        return None; // its queries must not see the first batch (T2)
    }
    let mut used = HashSet::new();
    let mut once = true;
    for value in &insert.values {
        value.any(&mut |part| {
            if let ExprKind::Column(index) = part.kind {
                once &= used.insert(index);
            }
            false
        });
    }
    if !once || used.len() != columns.len() {
        return None;
    }
    Some(rows.iter().map(|row| insert.values.iter().map(|value| substitute(value, row)).collect()).collect())
}

/// The expression with column `i` replaced by `row[i]`.
fn substitute(expr: &TypedExpr, row: &[TypedExpr]) -> TypedExpr {
    if let ExprKind::Column(index) = expr.kind {
        return row[index].clone();
    }
    let mut copy = expr.clone();
    copy.for_each_child_mut(&mut |child| *child = substitute(child, row));
    copy
}
