//! Statements, compiled and run.

use std::sync::Arc;

use verso_catalog::{FunctionDef, Oid, TableDef};
use verso_types::{Batch, SqlType, Value};

use super::ExecContext;
use super::change::{DeleteStatement, UpdateStatement};
use super::context::InUse;
use super::foreign::End;
use super::insert::InsertStatement;
use super::merge::MergeStatement;
use super::operator::{Operator, compile, types_of};
use super::permitted;
use super::subquery::StatementState;
use super::tables::Change;
use super::trigger::Triggers;
use super::used::{ChosenParts, StatementUses};
use super::with::WithStatement;
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::expr::Executor;
use crate::memory::Memory;
use crate::plan::{Statement, TableUse};
use crate::plpgsql::check_right;

/// Takes the rows of a statement.
pub trait Sink {
    /// Takes some rows; they are the executor's again when this returns.
    /// # Errors
    /// Ends the statement.
    fn batch(&mut self, batch: &Batch) -> Result<()>;
    /// So many further rows of a query are wanted; all of them without a number.
    fn wanted(&self) -> Option<u64> {
        None
    }
}

/// A statement ready to run, as often as wanted.
pub struct Compiled {
    kind: Kind,
    /// Of an open query.
    state: StatementState,
    /// The functions that it may come to call.
    calls: Vec<Arc<FunctionDef>>,
    /// The tables and indexes that it uses, where functions may run that define something; triggers name their own table.
    uses: Option<Arc<StatementUses>>,
    /// The table that it changes.
    changed: Option<Arc<TableDef>>,
    /// It does not see what functions and triggers do that it calls.
    begins_command: bool,
    /// The tables that it locks before it reads its first row.
    ahead: Box<[(Arc<TableDef>, TableUse)]>,
}

enum Kind {
    Query { operator: Box<dyn Operator>, batch: Batch },
    Insert(InsertStatement),
    Update(UpdateStatement),
    Delete(DeleteStatement),
    Merge(MergeStatement),
    With(WithStatement),
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.kind {
            Kind::Query { .. } => "Query",
            Kind::Insert(_) => "Insert",
            Kind::Update(_) => "Update",
            Kind::Delete(_) => "Delete",
            Kind::Merge(_) => "Merge",
            Kind::With(_) => "With",
        })
    }
}

impl Compiled {
    /// Compiles a statement for an executor.
    #[must_use]
    pub fn new(statement: &Statement, executor: Executor) -> Self {
        let kind = match statement {
            Statement::Query(plan) => {
                Kind::Query { operator: compile(plan, executor), batch: Batch::of_types(&types_of(plan)) }
            }
            Statement::Insert(insert) => Kind::Insert(InsertStatement::new(insert, executor)),
            Statement::Update(update) => Kind::Update(UpdateStatement::new(update, executor)),
            Statement::Delete(delete) => Kind::Delete(DeleteStatement::new(delete, executor)),
            Statement::Merge(merge) => Kind::Merge(MergeStatement::new(merge, executor)),
            Statement::With(with) => Kind::With(WithStatement::new(with, executor)),
        };
        let calls = permitted::called(statement);
        let uses = uses(statement);
        let changed = statement.changed_table().cloned();
        let ahead = statement.locked_ahead().into();
        let begins_command = statement.begins_command();
        Self { kind, state: StatementState::default(), calls, uses, changed, begins_command, ahead }
    }

    /// From now on it does not see what it does, and what it calls; whether that was not so before.
    #[inline]
    fn begin_command(&self, cx: &ExecContext<'_>) -> Result<bool> {
        Ok(self.begins_command && cx.tables()?.begin_command())
    }

    /// Locks what the statement locks before it reads its first row.
    #[inline]
    fn lock_ahead(&self, cx: &ExecContext<'_>) -> Result<()> {
        self.ahead.iter().try_for_each(|(table, of)| cx.tables()?.lock_for(table, *of))
    }

    /// Runs the statement and yields the number of rows it returned or changed. The caller has begun the statement in
    /// storage, and ends or aborts it.
    /// # Errors
    /// The first in row order (S1).
    pub fn run(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        self.check_rights(cx)?;
        let has_begun = self.begin_command(cx)?;
        let state = match &self.kind {
            Kind::Query { .. } => StatementState::of_query(),
            // What changes it reads as it was (T4), also later.
            Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Merge(_) if self.begins_command => {
                StatementState::of_query()
            }
            _ => StatementState::default(),
        };
        let (uses, changed) = (self.uses.clone(), self.changed.clone());
        let in_use = in_use(&uses, &changed, Some(cx.params), cx);
        let cx = cx.statement(&state);
        let cx = &match &in_use {
            Some(in_use) => cx.using(in_use),
            None => cx,
        };
        let count = self.run_part(cx, sink).and_then(|count| {
            self.finish_part(cx)?;
            Ok(count)
        });
        if has_begun {
            // Of a statement around it more may follow, as in a change of definitions.
            cx.tables()?.end_command();
        }
        count
    }

    /// That the role may call the functions of the statement.
    ///
    /// # Errors
    /// 42501.
    #[inline]
    pub fn check_rights(&self, cx: &ExecContext<'_>) -> Result<()> {
        self.calls.iter().try_for_each(|function| check_right(cx, function))
    }

    /// The same as a part of a statement around it, whose context it is; [`Compiled::end_part`] follows at the end of that.
    pub(super) fn run_part(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        self.lock_ahead(cx)?;
        match &mut self.kind {
            Kind::Query { operator, batch } => {
                let result = run_query(&mut **operator, batch, cx, sink);
                operator.close();
                result
            }
            Kind::Insert(insert) => {
                insert.begin(cx)?;
                let result = insert.run_changes(cx, sink);
                insert.close();
                result
            }
            Kind::Update(update) => {
                update.begin(cx)?;
                update.run_changes(cx, sink)
            }
            Kind::Delete(delete) => {
                delete.begin(cx)?;
                delete.run_changes(cx, sink)
            }
            Kind::Merge(merge) => {
                merge.begin(cx)?;
                let result = merge.run_changes(cx, sink);
                merge.close();
                result
            }
            Kind::With(with) => with.run(cx, sink),
        }
    }

    /// The triggers of a change.
    pub(super) fn triggers_mut(&mut self) -> Option<&mut Triggers> {
        match &mut self.kind {
            Kind::Query { .. } | Kind::With(_) => None,
            Kind::Insert(insert) => insert.triggers_mut(),
            Kind::Update(update) => update.triggers_mut(),
            Kind::Delete(delete) => delete.triggers_mut(),
            Kind::Merge(merge) => merge.triggers_mut(),
        }
    }

    /// Whether a change tells its AFTER triggers of rows in the order in which it changes, and returns, them.
    pub(super) fn notes_in_order(&self) -> bool {
        match &self.kind {
            Kind::Query { .. } | Kind::With(_) | Kind::Merge(_) => false,
            Kind::Insert(insert) => insert.is_plain(),
            Kind::Update(update) => update.is_plain(),
            Kind::Delete(delete) => delete.is_plain(),
        }
    }

    /// What is left to do of a part, for the statement around it.
    pub(super) fn end_part<'s>(&'s mut self, cx: &ExecContext<'_>, ends: &mut Vec<End<'s>>) -> Result<()> {
        match &mut self.kind {
            Kind::Query { .. } | Kind::With(_) => Ok(()),
            Kind::Insert(insert) => insert.end(cx, ends),
            Kind::Update(update) => update.end(cx, ends),
            Kind::Delete(delete) => delete.end(cx, ends),
            Kind::Merge(merge) => merge.end(cx, ends),
        }
    }

    /// What the changes mean for other tables.
    fn finish_part(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match &mut self.kind {
            Kind::Query { .. } | Kind::With(_) => Ok(()),
            Kind::Insert(insert) => insert.finish(cx),
            Kind::Update(update) => update.finish(cx),
            Kind::Delete(delete) => delete.finish(cx),
            Kind::Merge(merge) => merge.finish(cx),
        }
    }

    /// Whether the statement adds one row, by a short way that [`Compiled::run_direct`] goes.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        matches!(&self.kind, Kind::Insert(insert) if insert.is_direct())
    }

    /// As [`Compiled::run`] by the short way; `None` where that will not do, and nothing has happened.
    #[inline]
    pub fn run_direct(&mut self, params: &[Value], tables: &dyn Change) -> Option<Result<u64>> {
        match &mut self.kind {
            Kind::Insert(insert) => insert.run_direct(params, tables),
            Kind::Query { .. } | Kind::Update(_) | Kind::Delete(_) | Kind::Merge(_) | Kind::With(_) => None,
        }
    }

    /// Whether the statement adds one row, by a short way that [`Compiled::run_row`] goes.
    #[inline]
    pub(crate) fn adds_row(&self) -> bool {
        matches!(&self.kind, Kind::Insert(insert) if insert.adds_row())
    }

    /// As [`Compiled::run_direct`], also for a row that has to be computed.
    #[inline]
    pub(crate) fn run_row(&mut self, cx: &EvalContext<'_>, tables: &dyn Change) -> Option<Result<u64>> {
        match &mut self.kind {
            Kind::Insert(insert) => insert.run_row(cx, tables),
            Kind::Query { .. } | Kind::Update(_) | Kind::Delete(_) | Kind::Merge(_) | Kind::With(_) => None,
        }
    }

    /// Runs the statement once for each set of parameters, as one statement: an INSERT … VALUES collects the rows of many
    /// sets before it adds them.
    /// # Errors
    /// As [`Compiled::run`].
    pub fn run_sets(
        &mut self,
        cx: &ExecContext<'_>,
        sets: &[Vec<Value>],
        sink: &mut dyn Sink,
    ) -> Result<u64> {
        self.check_rights(cx)?;
        self.lock_ahead(cx)?;
        let state = StatementState::default();
        if !self.begins_command
            && let Kind::Insert(insert) = &mut self.kind
        {
            let in_use = in_use(&self.uses, &self.changed, None, cx);
            let cx = cx.statement(&state);
            let cx = match &in_use {
                Some(in_use) => cx.using(in_use),
                None => cx,
            };
            if let Some(result) = insert.run_sets(&cx, sets, sink) {
                return result;
            }
        }
        sets.iter().map(|set| self.run(&cx.with_params(set), sink)).sum()
    }

    /// Starts a query whose rows are then pulled with [`Compiled::next`].
    /// # Errors
    /// Those of the query; XX000 for statements that change something.
    pub fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.check_rights(cx)?;
        self.begin_command(cx)?;
        self.lock_ahead(cx)?;
        let in_use = in_use(&self.uses, &None, Some(cx.params), cx);
        match &mut self.kind {
            Kind::Query { operator, .. } => {
                self.state = StatementState::of_query();
                let cx = cx.statement(&self.state);
                operator.open(&match &in_use {
                    Some(in_use) => cx.using(in_use),
                    None => cx,
                })
            }
            Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Merge(_) | Kind::With(_) => {
                Err(ExecError::raised("XX000", "only a query yields its rows one batch at a time"))
            }
        }
    }

    /// The next call of [`Compiled::next`] is for so many rows at most: what lies behind them is not computed yet, as far
    /// as that does something or fails.
    pub fn bound(&mut self, rows: u64) {
        if let Kind::Query { operator, .. } = &mut self.kind {
            operator.bound(rows);
        }
    }

    /// The next rows of an open query; may be none of them. `None` at the end. The context may be another one each
    /// time, of the same transaction and parameters.
    /// # Errors
    /// Those of the query.
    pub fn next(&mut self, cx: &ExecContext<'_>) -> Result<Option<&mut Batch>> {
        let in_use = in_use(&self.uses, &None, Some(cx.params), cx);
        match &mut self.kind {
            Kind::Query { operator, batch } => {
                cx.check_cancelled()?;
                let cx = cx.statement(&self.state);
                let cx = match &in_use {
                    Some(in_use) => cx.using(in_use),
                    None => cx,
                };
                let more = operator.next(&cx, batch)?;
                Ok(if more { Some(batch) } else { None })
            }
            Kind::Insert(_) | Kind::Update(_) | Kind::Delete(_) | Kind::Merge(_) | Kind::With(_) => Ok(None),
        }
    }

    /// Whether [`Compiled::set_aside`] is for this query.
    #[must_use]
    pub fn can_set_aside(&self) -> bool {
        matches!(&self.kind, Kind::Query { operator, .. } if operator.can_set_aside())
    }

    /// Reads now what is left to be read of tables, of an open query: what it sees is about to go. Its functions that do
    /// something are called when the rows are asked for. It is not opened again. `statement` is what it was compiled from.
    ///
    /// # Errors
    /// Those of the query.
    pub fn set_aside(
        &mut self,
        cx: &ExecContext<'_>,
        memory: Memory<'_>,
        statement: &Statement,
    ) -> Result<()> {
        match (&mut self.kind, statement) {
            (Kind::Query { operator, .. }, Statement::Query(plan)) => {
                operator.set_aside(&cx.statement(&self.state), memory, plan)
            }
            _ => Ok(()),
        }
    }

    /// Lets go of what an open query holds.
    pub fn close(&mut self) {
        if let Kind::Query { operator, .. } = &mut self.kind {
            operator.close();
            self.state = StatementState::default();
        }
    }
}

fn run_query(
    operator: &mut dyn Operator,
    batch: &mut Batch,
    cx: &ExecContext<'_>,
    sink: &mut dyn Sink,
) -> Result<u64> {
    operator.open(cx)?;
    let mut rows = 0;
    loop {
        match sink.wanted() {
            Some(0) => break,
            Some(wanted) => operator.bound(wanted),
            None => {}
        }
        if !operator.next(cx, batch)? {
            break;
        }
        cx.check_cancelled()?;
        rows += batch.rows as u64;
        sink.batch(batch)?;
    }
    Ok(rows)
}

/// The tables and indexes that a statement reads and changes, with all parts of those that it changes; none where nothing of users
/// runs in it that might define something.
fn uses(statement: &Statement) -> Option<Arc<StatementUses>> {
    let fires = |table: &Arc<TableDef>| {
        !table.triggers.is_empty() || !table.referenced_by.is_empty() || table.partitioned.is_some()
    };
    let runs = matches!(statement, Statement::With(_))
        || statement.changed_table().is_some_and(fires)
        || statement.calls_users();
    runs.then(|| Arc::new(StatementUses::of(statement)))
}

/// What a statement uses as long as it runs, with one set of parameters or any, beside what those around it do.
fn in_use<'a>(
    uses: &'a Option<Arc<StatementUses>>,
    changed: &'a Option<Arc<TableDef>>,
    params: Option<&'a [Value]>,
    cx: &'a ExecContext<'_>,
) -> Option<InUse<'a>> {
    let (tables, chosen): (&[Oid], &[ChosenParts]) = match uses.as_deref() {
        Some(uses) => (&uses.always, &uses.chosen),
        None => (&[], &[]),
    };
    let changed = changed.as_ref();
    let in_use = InUse { tables, chosen: (chosen, params), changed, around: cx.in_use() };
    (!tables.is_empty() || !chosen.is_empty() || changed.is_some()).then_some(in_use)
}

/// Compiles and runs a statement once.
/// # Errors
/// As [`Compiled::run`].
pub fn execute(statement: &Statement, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
    Compiled::new(statement, cx.executor).run(cx, sink)
}

/// Types of a table's columns.
pub(super) fn column_types(table: &TableDef) -> Vec<SqlType> {
    table.columns.iter().map(|column| column.ty.clone()).collect()
}
