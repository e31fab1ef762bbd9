//! Operators: each yields batches.

use std::collections::HashSet;
use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, SqlType};

use super::ExecContext;
use super::aggregate::AggregateOperator;
use super::apply::ApplyOperator;
use super::combine::{RecursiveOperator, SharedOperator, WorkOperator};
use super::current::CurrentOperator;
use super::distinct::{DistinctOperator, RowOrder};
use super::drawing::Drawing;
use super::filter::{KeyFilter, Reach};
use super::function_rows::FunctionOperator;
use super::gate::GateOperator;
use super::group::{GroupOperator, SortedGroupOperator, computed_once};
use super::join::{JoinOperator, MergeJoinOperator, SemiOperator};
use super::key::RowTypes;
use super::lock::LockOperator;
use super::memo::may_keep;
use super::metered::MeteredOperator;
use super::past::PastOperator;
use super::pipeline::{AppendOperator, FilterOperator, LimitOperator, ProjectOperator, SingleOperator};
use super::scan::ScanOperator;
use super::set_operation::SetOperator;
use super::set_project::SetProjectOperator;
use super::sort::{Bound, SortOperator};
use super::source::{ExternalOperator, FileOperator, ValuesOperator};
use super::stepwise::StepwiseOperator;
use super::system::SystemOperator;
use super::trigger::TransitionOperator;
use super::turns::TurnsOperator;
use super::window::WindowOperator;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, RowExpr};
use crate::memory::Memory;
use crate::plan::{AggregateCall, ExprKind, JoinKind, Plan, SortKey, TypedExpr};

/// A running operator. Compiled once, opened for each execution. The context comes with each call, so that an execution
/// may pause between two of them.
pub(crate) trait Operator: Send {
    /// Starts, or starts again.
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()>;
    /// The next call of `next`, and only that, is for so many rows at most. For those behind them no function is called
    /// that does something (volatile ones), and an error of theirs ends the rows before them, to be told by the call after.
    fn bound(&mut self, rows: u64) {
        let _ = rows;
    }
    /// Of the rows to come only those are wanted whose column is in the filter: others may be left out. Called after
    /// `open`; of rows that are read already it changes nothing.
    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        let _ = (column, filter);
    }
    /// How far down that would be of use.
    fn reach(&self, column: usize) -> Reach {
        let _ = column;
        Reach::Nowhere
    }
    /// Asks for the rows in the order in which the scan at the left end yields them; whether they will come so. Asked after
    /// `open`, before the first row.
    fn keep_order(&mut self) -> bool {
        false
    }
    /// Replaces `out` by the next rows; may be none of them. False at the end, also when it is called again; `out` may hold
    /// anything then, which the [meter](super::metered) between operators takes away.
    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool>;
    /// From how many pages of tables its rows come, if several workers may compute them ([`parallel`](super::parallel)). Asked
    /// after `open`, before the first row.
    fn shareable(&self) -> Option<u64> {
        None
    }
    /// So many open operators that together yield its rows; only where [`Operator::shareable`] tells something. This one is
    /// only closed after that.
    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let _ = (cx, parts);
        Err(ExecError::raised("XX000", "an operator that cannot be shared was split"))
    }
    /// Whether a worker may have a copy that it opens by itself, for each row of another input.
    fn is_portable(&self) -> bool {
        false
    }
    /// Such a copy; only where it [is portable](Operator::is_portable).
    fn copy(&self, cx: &ExecContext<'_>) -> Result<Box<dyn Operator>> {
        let _ = cx;
        Err(ExecError::raised("XX000", "an operator that is not portable was copied"))
    }
    /// Whether [`Operator::set_aside`] may be called: functions in it do something, and what they are called for can be kept.
    fn can_set_aside(&self) -> bool {
        false
    }
    /// Its statement is about to end, and what it sees: what it reads of tables is read now. Its functions that do something
    /// are called, as before, for the rows that are asked for. Called after `open`; it is not opened again. `plan` is that of the query,
    /// or of a part of it in which this operator is.
    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        let _ = (cx, memory, plan);
        Err(ExecError::raised("XX000", "an operator whose rows cannot be set aside"))
    }
    /// Lets go of what it holds; called at the end, and after errors.
    fn close(&mut self);
}

/// What is left of [`Operator::bound`] between two calls.
#[derive(Default)]
pub(super) struct Bounded {
    rows: Option<u64>,
    /// Of the row behind those that the last call has yielded.
    late: Option<ExecError>,
}

impl Bounded {
    /// For the next call.
    pub fn set(&mut self, rows: u64) {
        self.rows = Some(rows);
    }

    /// A new call: how many rows it is for.
    pub fn begin(&mut self) -> Result<Option<u64>> {
        self.nothing_before()?;
        Ok(self.rows.take())
    }

    /// There are no rows to be yielded before the error after all, if there is one.
    pub fn nothing_before(&mut self) -> Result<()> {
        self.late.take().map_or(Ok(()), Err)
    }

    /// An error behind so many rows, in a call for at most `bound`.
    pub fn failed(&mut self, error: ExecError, rows: usize, bound: Option<u64>) -> Result<()> {
        if rows == 0 || bound.is_none() {
            return Err(error);
        }
        self.late = Some(error);
        Ok(())
    }
}

/// Types of what a plan yields.
pub(crate) fn types_of(plan: &Plan) -> Vec<SqlType> {
    plan.output().into_iter().map(|column| column.ty).collect()
}

/// The operators of a plan.
pub(crate) fn compile(plan: &Plan, executor: Executor) -> Box<dyn Operator> {
    if stack::check().is_err() {
        return Box::new(TooDeep);
    }
    metered(plan, operator(plan, executor))
}

/// The operators of an input of `plan`: functions that both call take turns.
fn input_of(plan: &Plan, input: &Plan, executor: Executor) -> Box<dyn Operator> {
    let operator = compile(input, executor);
    if plan.takes_turns_with(input) { TurnsOperator::over(operator) } else { operator }
}

/// The same with the types of what it yields.
fn typed_input(plan: &Plan, input: &Plan, executor: Executor) -> (Box<dyn Operator>, Vec<SqlType>) {
    (input_of(plan, input, executor), types_of(input))
}

/// An operator whose memory, rows and time are told as those of `plan`.
fn metered(plan: &Plan, operator: Box<dyn Operator>) -> Box<dyn Operator> {
    Box::new(MeteredOperator::new(operator, plan))
}

fn operator(plan: &Plan, executor: Executor) -> Box<dyn Operator> {
    match plan {
        Plan::Values { rows, columns } => Box::new(ValuesOperator::new(rows, columns, executor)),
        Plan::TableScan { table, columns, filter } => gated(filter.as_ref(), executor, |filter| {
            let (drawing, filter) = Drawing::of(columns, filter);
            let scan = |filter: Option<&TypedExpr>| -> Box<dyn Operator> {
                Box::new(ScanOperator::new(table, columns, None, filter, executor).of_sample(drawing))
            };
            stepwise(plan, filter.as_ref(), scan, executor)
        }),
        Plan::IndexScan { table, columns, access, filter } => gated(filter.as_ref(), executor, |filter| {
            let scan = |filter: Option<&TypedExpr>| -> Box<dyn Operator> {
                Box::new(ScanOperator::new(table, columns, Some(access), filter, executor))
            };
            stepwise(plan, filter, scan, executor)
        }),
        Plan::CurrentRow { table, columns, cursor } => Box::new(CurrentOperator::new(table, columns, cursor)),
        Plan::SystemScan { view, args, columns, output, keys } => {
            Box::new(SystemOperator::new(*view, (args, keys), columns, output))
        }
        Plan::External { columns: _ } => Box::new(ExternalOperator),
        Plan::FileScan { table, columns } => Box::new(FileOperator::new(table, columns)),
        Plan::FunctionScan { call, columns } => Box::new(FunctionOperator::new(call, columns)),
        Plan::Project { input, exprs, .. } => {
            Box::new(ProjectOperator::new(input_of(plan, input, executor), &types_of(input), exprs, executor))
        }
        Plan::Filter { input, predicate } => gated(Some(predicate), executor, |predicate| {
            let input = input_of(plan, input, executor);
            match predicate {
                Some(predicate) if predicate.is_volatile() => {
                    let batch = Batch::of_types(&types_of(plan));
                    Box::new(StepwiseOperator::new(input, batch, predicate, false, executor))
                }
                Some(predicate) => Box::new(FilterOperator::new(input, predicate, executor)),
                None => input,
            }
        }),
        Plan::Aggregate { input, group_by, aggregates, sets: None } if group_by.is_empty() => {
            let rows = input_of(plan, input, executor);
            let mut acting = aggregates.iter().flat_map(AggregateCall::exprs).filter(|expr| expr.acts());
            if acting.nth(1).is_none() {
                return Box::new(AggregateOperator::new(rows, &types_of(input), aggregates, executor));
            }
            // Of a row all calls are computed before the next one comes.
            let (rows, types, calls) = computed_once(rows, types_of(input), aggregates, executor);
            Box::new(AggregateOperator::new(rows, &types, &calls, executor))
        }
        Plan::Aggregate { input, group_by, aggregates, sets } => {
            let rows = input_of(plan, input, executor);
            let (rows, types, calls) = computed_once(rows, types_of(input), aggregates, executor);
            Box::new(GroupOperator::new(rows, &types, group_by, &calls, sets.as_ref(), executor))
        }
        Plan::SortedAggregate { input, group_by, aggregates } => {
            let (rows, types) = typed_input(plan, input, executor);
            let operator = SortedGroupOperator::new(rows, &types, group_by, aggregates, executor);
            Box::new(operator.stepping(input.acts()))
        }
        Plan::Window { input, partition_by, order_by, calls, until } => Box::new(WindowOperator::new(
            compile(input, executor),
            &types_of(input),
            (partition_by, order_by),
            calls,
            until.as_ref(),
            executor,
        )),
        Plan::ProjectSet { input, calls, ordinality, unread } => {
            let (rows, types) = typed_input(plan, input, executor);
            let operator = SetProjectOperator::new(rows, &types, calls, *ordinality, unread);
            Box::new(operator.stepping(plan.acts()))
        }
        Plan::Sort { input, keys, sorted } => Box::new(sort(plan, input, (keys, *sorted), None, executor)),
        Plan::Limit { input, limit, offset, ties } => {
            let below = &**input;
            let sorted = match limit {
                // rows that the limit drops need not be kept
                Some(limit) if ties.is_empty() => first_sorted(below, (limit, offset.as_ref()), executor),
                _ => None,
            };
            let input = sorted.unwrap_or_else(|| compile(input, executor));
            let limited = LimitOperator::new(input, limit.as_ref(), offset.as_ref());
            let locks = matches!(below, Plan::LockRows { .. });
            Box::new(if ties.is_empty() { limited } else { limited.with_ties(ties, locks) })
        }
        Plan::LockRows { input, locks, bound } => {
            Box::new(LockOperator::new(compile(input, executor), input, locks, bound, executor))
        }
        Plan::Distinct { input } => {
            let (rows, types) = typed(input, executor);
            Box::new(DistinctOperator::new(rows, types).stepping(input.acts()))
        }
        Plan::DistinctOn { input, keys } => {
            let rows = typed_input(plan, input, executor);
            let operator = DistinctOperator::on(rows, keys, order_of(input, keys), executor);
            Box::new(operator.stepping(input.acts()))
        }
        Plan::Past { input, table, moment } => {
            Box::new(PastOperator::new(compile(input, executor), table, moment))
        }
        Plan::Barrier { input } | Plan::Estimated { input, .. } => compile(input, executor),
        Plan::Single { input } => Box::new(SingleOperator::new(compile(input, executor))),
        Plan::Append { inputs, pruning } => {
            let inputs = inputs.iter().map(|input| compile(input, executor)).collect();
            Box::new(AppendOperator::new(inputs, pruning.as_deref()))
        }
        Plan::Join { left, right, kind, equal, filter } => {
            let operator = JoinOperator::new(
                typed_input(plan, left, executor),
                typed(right, executor),
                !left.is_volatile(),
                *kind,
                equal,
                filter.as_ref(),
                executor,
            );
            let refuses = |part: &Plan| matches!(part, Plan::Single { .. });
            let waits = *kind == JoinKind::Left
                && equal.is_empty()
                && (right.any(&mut |part| refuses(part)) || right.acts());
            Box::new(operator.waiting(waits))
        }
        Plan::MergeJoin { left, right, equal, filter } => {
            let (left_rows, right_rows) =
                (typed_input(plan, left, executor), typed_input(plan, right, executor));
            let operator = MergeJoinOperator::new(left_rows, right_rows, equal, filter.as_ref(), executor);
            Box::new(operator.stepping(left.acts(), right.acts()))
        }
        Plan::Semi { left, right, equal, filter, anti } => Box::new(SemiOperator::new(
            typed_input(plan, left, executor),
            typed(right, executor),
            !left.is_volatile(),
            equal,
            filter.as_ref(),
            *anti,
            executor,
        )),
        Plan::Apply { left, right, outer, kind, filter, unread } => Box::new(ApplyOperator::new(
            typed_input(plan, left, executor),
            typed(right, executor),
            *kind,
            (outer, may_keep(right)),
            (filter.as_ref(), unread),
            executor,
        )),
        Plan::SetOperation { left, right, operation, all, collators } => {
            let types = RowTypes { types: types_of(left), collators: collators.clone() };
            let (left_rows, right_rows) = (compile(left, executor), compile(right, executor));
            let operator = SetOperator::new(left_rows, right_rows, types, *operation, *all);
            Box::new(operator.stepping(left.acts()))
        }
        Plan::Shared { plan, .. } => Box::new(SharedOperator::new(plan, types_of(plan), executor)),
        Plan::Recursive { number, base, step, all, collators } => Box::new(RecursiveOperator::new(
            *number,
            compile(base, executor),
            (compile(step, executor), step),
            RowTypes { types: types_of(base), collators: collators.clone() },
            *all,
        )),
        Plan::Transition { new, .. } => Box::new(TransitionOperator::new(*new)),
        Plan::WorkTable { number, .. } => Box::new(WorkOperator::new(*number)),
    }
}

/// An operator with a condition, of which it is not opened without what no row can make differ.
fn gated(
    condition: Option<&TypedExpr>,
    executor: Executor,
    of: impl FnOnce(Option<&TypedExpr>) -> Box<dyn Operator>,
) -> Box<dyn Operator> {
    match condition.and_then(TypedExpr::asked_once) {
        Some((once, rest)) => Box::new(GateOperator::new(&once, of(rest.as_ref()), executor)),
        None => of(condition),
    }
}

/// The parts of a split operator, as its caller takes them.
pub(super) fn boxed<O: Operator + 'static>(parts: impl IntoIterator<Item = O>) -> Vec<Box<dyn Operator>> {
    parts.into_iter().map(|part| Box::new(part) as Box<dyn Operator>).collect()
}

/// Yields nothing: the input of a part of an operator that reads that input no more.
pub(super) struct Nothing;

impl Operator for Nothing {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        Ok(())
    }

    fn next(&mut self, _: &ExecContext<'_>, _: &mut Batch) -> Result<bool> {
        Ok(false)
    }

    fn close(&mut self) {}
}

/// Stands where a plan nests too deeply to be run.
struct TooDeep;

impl Operator for TooDeep {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        Err(ExecError::TooDeep)
    }

    fn next(&mut self, _: &ExecContext<'_>, _: &mut Batch) -> Result<bool> {
        Err(ExecError::TooDeep)
    }

    fn close(&mut self) {}
}

fn typed(plan: &Plan, executor: Executor) -> (Box<dyn Operator>, Vec<SqlType>) {
    (compile(plan, executor), types_of(plan))
}

/// Whether rows that are equal in these keys come one behind the other, or in an order that is to be kept.
fn order_of(input: &Plan, keys: &[TypedExpr]) -> RowOrder {
    let Plan::Sort { keys: sorted, .. } = input else { return RowOrder::Any };
    let column = |expr: &TypedExpr| match expr.kind {
        ExprKind::Column(column) => Some(column),
        _ => None,
    };
    let wanted: HashSet<Option<usize>> = keys.iter().map(column).collect();
    let first = sorted.iter().map(|key| column(&key.expr)).take_while(|column| wanted.contains(column));
    match !wanted.contains(&None) && first.collect::<HashSet<_>>().len() == wanted.len() {
        true => RowOrder::Together,
        false => RowOrder::Sorted,
    }
}

/// A scan whose condition is volatile from some conjunct on asks these conjuncts row by row.
fn stepwise(
    plan: &Plan,
    filter: Option<&TypedExpr>,
    scan: impl FnOnce(Option<&TypedExpr>) -> Box<dyn Operator>,
    executor: Executor,
) -> Box<dyn Operator> {
    let Some(filter) = filter.filter(|filter| filter.is_volatile()) else { return scan(filter) };
    let mut first = filter.clone().conjuncts();
    let at = first.iter().position(TypedExpr::is_volatile).unwrap_or(first.len());
    let rest = TypedExpr::conjunction(first.split_off(at));
    let scan = scan(TypedExpr::conjunction(first).as_ref());
    let Some(rest) = rest else { return scan };
    let batch = Batch::of_types(&types_of(plan));
    Box::new(StepwiseOperator::new(scan, batch, &rest, true, executor))
}

/// A sort of which the first rows are wanted, and the projections over it.
fn first_sorted(
    plan: &Plan,
    (limit, offset): (&TypedExpr, Option<&TypedExpr>),
    executor: Executor,
) -> Option<Box<dyn Operator>> {
    stack::check().ok()?;
    match plan {
        Plan::Sort { input, keys, sorted } => {
            let (limit, offset) = (RowExpr::compile(limit), offset.map(RowExpr::compile));
            let bound = Bound { limit, offset };
            Some(metered(plan, Box::new(sort(plan, input, (keys, *sorted), Some(bound), executor))))
        }
        Plan::Project { input, exprs, .. } => {
            let rows = first_sorted(input, (limit, offset), executor)?;
            let rows = if plan.takes_turns_with(input) { TurnsOperator::over(rows) } else { rows };
            Some(metered(plan, Box::new(ProjectOperator::new(rows, &types_of(input), exprs, executor))))
        }
        _ => None,
    }
}

fn sort(
    plan: &Plan,
    input: &Plan,
    keys: (&[SortKey], usize),
    bound: Option<Bound>,
    executor: Executor,
) -> SortOperator {
    SortOperator::new(input_of(plan, input, executor), &types_of(input), keys, bound, executor)
}
