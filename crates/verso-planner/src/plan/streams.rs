//! Groups and windows of which only the first rows are wanted: read in the order of an index, no further than they need.
//!
//! ```text
//! Limit ─ Sort ─ groups ─ scan        ─►  Limit ─ groups one by one ─ scan of an index
//! Limit ─ Sort ─ window ─ Sort ─ scan ─►  Limit ─ window ─ scan of an index
//! ```
//!
//! R1. Groups come in the order of their keys where the rows do; windows yield rows in the order in which they read them.
//! R2. An index is read where the groups wanted are so few that this is cheaper than to read the table.
//! R3. A condition on a function that only grows within a partition ends it (`Plan::Window::until`); the filter stays.
//! R4. DISTINCT yields a row as soon as it is met, which counts where few are wanted; otherwise its rows are groups.

use verso_exec::functions::{AggregateKind, ArgType, WindowKind, operator_candidates};
use verso_exec::plan::{
    ExprKind, FrameBound, FrameExclusion, Plan, SortKey, TypedExpr, WindowCall, WindowFunction,
};
use verso_types::SqlType;

use super::terms::is_fixed;
use super::{Planner, nothing, order};
use crate::bind::{columns_of, same};

/// Rows that a condition on their number is taken to leave where the number is not known yet: the first ones are wanted.
const FEW: f64 = 100.0;
/// So many orders of the keys that nobody has asked for are tried.
const ORDERS_MAX: usize = 24;

impl Planner<'_> {
    /// Makes groups come in this order by an index, if few of them are wanted: `first`. Their keys may follow each other in any
    /// order behind those wanted (R1, R2).
    pub(super) fn groups_in_order(&self, plan: &mut Plan, keys: &[SortKey], first: Option<f64>) -> bool {
        let Some(first) = first else { return false };
        match plan {
            Plan::Project { input, exprs, .. } => {
                self.groups_in_order(input, &beneath(keys, exprs), Some(first))
            }
            Plan::Filter { input, predicate } => {
                let part = self.estimate.selectivity(predicate, input).clamp(0.001, 1.0);
                self.groups_in_order(input, keys, Some(first / part))
            }
            Plan::Distinct { input } => {
                if !self.grouped_in_order(input, &all_columns(input), keys, first) {
                    return false;
                }
                groups_of_rows(plan, |input, group_by| Plan::SortedAggregate {
                    input,
                    group_by,
                    aggregates: Vec::new(),
                });
                true
            }
            Plan::Aggregate { input, group_by, aggregates, sets: None } if !group_by.is_empty() => {
                if !self.grouped_in_order(input, group_by, keys, first) {
                    return false;
                }
                *plan = Plan::SortedAggregate {
                    input: Box::new(std::mem::replace(&mut **input, nothing())),
                    group_by: std::mem::take(group_by),
                    aggregates: std::mem::take(aggregates),
                };
                true
            }
            _ => false,
        }
    }

    /// Makes groups of the rows of a DISTINCT, which several workers can find, where all of its rows are wanted (R4).
    pub(super) fn distinct_in_groups(&self, plan: &mut Plan, first: Option<f64>) {
        let Plan::Distinct { input } = &*plan else { return };
        let columns = all_columns(input);
        if columns.is_empty() || first.is_some_and(|first| first < self.estimate.groups(&columns, input)) {
            return;
        }
        groups_of_rows(plan, |input, group_by| Plan::Aggregate {
            input,
            group_by,
            aggregates: Vec::new(),
            sets: None,
        });
    }

    /// Makes the rows of groups come one behind the other, the groups in the order of `keys`, which are over the groups' columns.
    fn grouped_in_order(
        &self,
        input: &mut Plan,
        group_by: &[TypedExpr],
        keys: &[SortKey],
        first: f64,
    ) -> bool {
        let mut wanted: Vec<SortKey> = Vec::new();
        let mut rest: Vec<usize> = (0..group_by.len()).collect();
        for key in keys {
            let ExprKind::Column(at) = key.expr.kind else { return false };
            let Some(expr) = group_by.get(at) else { return false };
            // Behind the same key it says nothing.
            if rest.contains(&at) {
                rest.retain(|other| *other != at);
                wanted.push(SortKey { expr: expr.clone(), ..key.clone() });
            }
        }
        let read = (first + 1.0) * self.group(input, group_by.iter());
        if !order::few_are_enough(input, Some(read), true, self.estimate) {
            return false;
        }
        let descending = wanted.last().is_some_and(|key| key.descending);
        let known = wanted.len();
        orders(&rest).into_iter().take(ORDERS_MAX).any(|order| {
            wanted.truncate(known);
            wanted.extend(order.into_iter().map(|at| {
                let expr = group_by[at].clone();
                SortKey { expr, descending, nulls_first: descending }
            }));
            order::by_index(input, &wanted, Some(read), self.estimate, self.hints)
        })
    }

    /// A window of which the first rows are wanted: how many rows of its input that needs, if not all.
    pub(super) fn needed_by_window(
        &self,
        (input, partition_by, calls): (&Plan, &[TypedExpr], &[WindowCall]),
        first: Option<f64>,
    ) -> (bool, Option<f64>) {
        if calls.iter().all(is_known_soon) {
            return (true, first);
        }
        if partition_by.is_empty() {
            return (false, None);
        }
        (true, first.map(|first| first + self.group(input, partition_by.iter())))
    }
}

/// All columns of a plan.
fn all_columns(plan: &Plan) -> Vec<TypedExpr> {
    let columns = plan.output().into_iter().enumerate();
    columns.map(|(at, column)| TypedExpr::column(at, column.ty)).collect()
}

/// Makes groups by all columns of a DISTINCT. The names of the columns stay.
fn groups_of_rows(plan: &mut Plan, groups: impl FnOnce(Box<Plan>, Vec<TypedExpr>) -> Plan) {
    let Plan::Distinct { input } = plan else { return };
    let (exprs, names) = (all_columns(input), input.output().into_iter().map(|column| column.name).collect());
    let groups = groups(Box::new(std::mem::replace(&mut **input, nothing())), exprs.clone());
    *plan = Plan::Project { input: Box::new(groups), exprs, names };
}

/// Whether the rows of windows come in this order already: in that in which their windows want them, by their number, or by what
/// only grows within a partition.
pub(super) fn is_in_order_of_window(plan: &Plan, keys: &[SortKey]) -> bool {
    match plan {
        Plan::Project { input, exprs, .. } => is_in_order_of_window(input, &beneath(keys, exprs)),
        Plan::Filter { input, .. } => is_in_order_of_window(input, keys),
        Plan::Window { input, partition_by, calls, .. } => {
            let width = input.output().len();
            let is_number = |key: &SortKey| match key.expr.kind {
                ExprKind::Column(at) if !key.descending && partition_by.is_empty() => {
                    let call = at.checked_sub(width).and_then(|call| calls.get(call));
                    call.is_some_and(|call| {
                        matches!(call.function, WindowFunction::Own(WindowKind::RowNumber))
                    })
                }
                _ => false,
            };
            if keys.first().is_some_and(is_number) {
                return true;
            }
            if let Plan::Sort { keys: own, .. } = &**input
                && follows(keys, own, partition_by, |key| {
                    let ExprKind::Column(at) = key.expr.kind else { return None };
                    at.checked_sub(width).and_then(|call| calls.get(call))
                })
            {
                return true;
            }
            if keys.iter().any(|key| columns_of(&key.expr).iter().any(|column| *column >= width)) {
                return false;
            }
            match &**input {
                Plan::Sort { keys: own, .. } => {
                    keys.len() <= own.len() && keys.iter().zip(own).all(|(key, own)| is_same(key, own))
                }
                below => is_in_order_of_window(below, keys),
            }
        }
        _ => false,
    }
}

/// Whether rows that are sorted by `own` and divided by the first of these keys are in an order that asks for functions over them,
/// too: within a partition what only grows changes nothing, and behind the number of a row there is nothing left to be sorted.
fn follows<'c>(
    keys: &[SortKey],
    own: &[SortKey],
    partition_by: &[TypedExpr],
    call: impl Fn(&SortKey) -> Option<&'c WindowCall>,
) -> bool {
    let mut next = 0;
    for key in keys {
        let is_within =
            || partition_by.iter().all(|part| own[..next].iter().any(|key| same(&key.expr, part)));
        match call(key) {
            Some(call) if key.descending || !only_grows(call) || !is_within() => return false,
            Some(call) if matches!(call.function, WindowFunction::Own(WindowKind::RowNumber)) => return true,
            Some(_) => {}
            None if own.get(next).is_some_and(|own| is_same(key, own)) => next += 1,
            None => return false,
        }
    }
    true
}

fn is_same(a: &SortKey, b: &SortKey) -> bool {
    (a.descending, a.nulls_first) == (b.descending, b.nulls_first) && same(&a.expr, &b.expr)
}

/// Keys over the rows of a projection, as those over its input's.
fn beneath(keys: &[SortKey], exprs: &[TypedExpr]) -> Vec<SortKey> {
    let mut keys = keys.to_vec();
    keys.iter_mut().for_each(|key| order::beneath(&mut key.expr, exprs));
    keys
}

/// All orders of some numbers, the one given first; of many only that.
fn orders(numbers: &[usize]) -> Vec<Vec<usize>> {
    match numbers.len() {
        0..=1 => vec![numbers.to_vec()],
        2..=4 => {
            let behind = |at: usize| {
                let mut rest = numbers.to_vec();
                let first = rest.remove(at);
                orders(&rest).into_iter().map(move |rest| [&[first], &rest[..]].concat())
            };
            (0..numbers.len()).flat_map(behind).collect()
        }
        _ => vec![numbers.to_vec()],
    }
}

/// Whether a row's value needs few rows behind it: its peers at most, or as many as are written.
fn is_known_soon(call: &WindowCall) -> bool {
    match call.function {
        WindowFunction::Own(WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank) => true,
        WindowFunction::Own(WindowKind::Lag | WindowKind::Lead) => {
            call.args.get(1).is_none_or(|offset| matches!(offset.kind, ExprKind::Literal(_)))
        }
        WindowFunction::Own(WindowKind::Ntile | WindowKind::PercentRank | WindowKind::CumeDist) => false,
        WindowFunction::Own(_) | WindowFunction::Aggregate(_) => {
            !matches!(call.frame.end, FrameBound::UnboundedFollowing)
        }
    }
}

/// Whether a function never becomes less from a row of a partition to the next.
fn only_grows(call: &WindowCall) -> bool {
    match call.function {
        WindowFunction::Own(kind) => matches!(
            kind,
            WindowKind::RowNumber | WindowKind::Rank | WindowKind::DenseRank | WindowKind::Ntile
        ),
        WindowFunction::Aggregate(function) => {
            matches!(function.kind, AggregateKind::Count | AggregateKind::CountStar)
                && matches!(call.frame.start, FrameBound::UnboundedPreceding)
                && call.frame.exclude == FrameExclusion::NoOthers
        }
    }
}

/// Lets a window end its partitions by conditions of a filter over it (R3). How many rows that leaves, where there are no
/// partitions and it is known, or taken to be few.
pub(super) fn end_window(plan: &mut Plan, conditions: Vec<TypedExpr>) -> Option<f64> {
    match plan {
        Plan::Project { input, exprs, .. } => {
            let through = |mut condition: TypedExpr| {
                order::beneath(&mut condition, exprs);
                condition
            };
            end_window(input, conditions.into_iter().map(through).collect())
        }
        Plan::Window { input, partition_by, calls, until, .. } => {
            let width = input.output().len();
            let ends = |condition: &TypedExpr| ending(condition, width, calls);
            let found: Vec<(TypedExpr, Option<f64>)> = conditions.iter().filter_map(ends).collect();
            let rows = found.iter().filter_map(|(_, rows)| *rows).reduce(f64::min);
            *until = TypedExpr::conjunction(found.into_iter().map(|(condition, _)| condition).collect());
            rows.filter(|_| partition_by.is_empty())
        }
        _ => None,
    }
}

/// A condition that ends a partition where this one is given: itself, or `<=` for `=`. How many rows are before, where that is
/// written as a number.
fn ending(condition: &TypedExpr, width: usize, calls: &[WindowCall]) -> Option<(TypedExpr, Option<f64>)> {
    let ExprKind::Call { function, args } = &condition.kind else { return None };
    let operator = function.operator?;
    let [left, right] = args.as_slice() else { return None };
    let of_window = |expr: &TypedExpr| {
        let call = calls.get(grown(expr)?.checked_sub(width)?)?;
        only_grows(call).then_some(call)
    };
    let (call, value, upper) = match (of_window(left), of_window(right)) {
        (Some(call), None) => (call, right, ["<", "<=", "="].contains(&operator)),
        (None, Some(call)) => (call, left, [">", ">=", "="].contains(&operator)),
        _ => return None,
    };
    let asks = value.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }));
    if !upper || asks || !is_fixed(value) {
        return None;
    }
    let rows = match (&value.kind, call.function) {
        (ExprKind::Literal(value), WindowFunction::Own(WindowKind::RowNumber)) => {
            value.as_i64().map(|rows| rows as f64 + 1.0)
        }
        (_, WindowFunction::Own(WindowKind::RowNumber | WindowKind::Rank)) => Some(FEW),
        _ => None,
    };
    if operator != "=" {
        return Some((condition.clone(), rows));
    }
    let is_of = |arg: &ArgType, value: &TypedExpr| matches!(arg, ArgType::Exact(ty) if *ty == value.ty);
    let (column, value) = if of_window(left).is_some() { (left, right) } else { (right, left) };
    let function = operator_candidates("<=")
        .iter()
        .copied()
        .find(|function| matches!(function.args, [a, b] if is_of(a, column) && is_of(b, value)))?;
    let kind = ExprKind::Call { function, args: vec![column.clone(), value.clone()] };
    Some((TypedExpr::new(kind, SqlType::Bool), rows))
}

/// The column that an expression is, in a type in which numbers have the same order.
fn grown(expr: &TypedExpr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Column(column) => Some(*column),
        ExprKind::Cast { arg, .. }
            if matches!(
                expr.ty,
                SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(None) | SqlType::Float8
            ) =>
        {
            grown(arg)
        }
        _ => None,
    }
}
