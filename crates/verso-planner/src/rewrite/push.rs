//! Rule `push`: conditions moved towards the tables.
//!
//! ```text
//! conditions ─► Project   : over what the columns are computed from
//!               Join      : to the side that has their columns, if its lonely rows are not kept
//!               Aggregate : below it, where they judge whole groups
//!               Append    : to each input
//! ```
//!
//! Termination: every call consumes one operator and calls itself for that operator's inputs only; the conditions it hands
//! down are never taken up again by an operator above (R3). A condition that would grow by what it is computed from is
//! left above beyond [`SIZE_MAX`] parts, so that nested projections do not double it level by level.

use verso_exec::plan::{ExprKind as K, JoinKind, Plan, SortKey, TypedExpr};
use verso_types::{SqlType, Value};

use super::graph::pair;
use super::unnest::asks_of_the_row;
use super::{Rewriter, Wanted, nothing};
use crate::bind::{columns_of, in_turn_together, map_columns, tells_nothing};
use crate::errors::SqlError;
use verso_env::recursion::check;

/// So many parts a condition may have that is written over other columns.
const SIZE_MAX: usize = 256;

impl Rewriter<'_> {
    /// The plan with only the rows for which all conditions are true.
    pub(super) fn push(&mut self, mut plan: Plan, mut conditions: Vec<TypedExpr>) -> Result<Plan, SqlError> {
        check()?;
        plan.for_each_expr_mut(&mut super::members::of_arrays);
        let Wanted { rows: most, order } = std::mem::take(&mut self.wanted);
        if self.rules.push {
            super::plain::conditions(&mut plan);
            self.postpone(&mut plan);
            super::asked_above::asked_above(&mut plan, &conditions)?;
            if self.rules.order {
                super::outer_above::outer_above(&mut plan, &conditions)?;
            }
        }
        if self.rules.unnest && self.rules.push {
            plan = self.filtered_by_set(plan);
            let first = most.filter(|_| order.is_none());
            plan = self.unnested(plan, &mut conditions, (most, first))?;
        }
        if self.rules.push
            && let Plan::Join { left, kind, .. } = &mut plan
        {
            *kind = super::reduce::reduced(*kind, &conditions, left.output().len());
        }
        // Those of a tree of joins are visited when it is taken apart.
        if !self.rules.push || !matches!(plan, Plan::Join { kind: JoinKind::Inner, .. }) {
            self.expressions(&mut plan)?;
        }
        if !self.rules.push {
            return self.below(plan, conditions);
        }
        self.wanted = wanted_below(&plan, most, order.as_deref());
        match plan {
            Plan::Barrier { input } => {
                let (below, above) = conditions.into_iter().partition(tells_nothing);
                Ok(keep(self.push(*input, below)?, above))
            }
            Plan::Filter { input, predicate } => {
                let mut all = predicate.conjuncts();
                all.append(&mut conditions);
                self.push(*input, all)
            }
            Plan::TableScan { table, columns, filter } => {
                let mut all: Vec<TypedExpr> = filter.map(TypedExpr::conjuncts).unwrap_or_default();
                all.append(&mut conditions);
                if all.iter().any(|condition| self.looks_members_up((&table, &columns), condition, &all)) {
                    return self.inner(
                        Plan::TableScan { table, columns, filter: None },
                        all,
                        most.zip(order),
                    );
                }
                Ok(Plan::TableScan { table, columns, filter: TypedExpr::conjunction(in_turn_together(all)) })
            }
            // Conditions that run statements would see the past, too.
            Plan::Past { input, table, moment } => {
                let (below, above): (Vec<_>, Vec<_>) =
                    conditions.into_iter().partition(TypedExpr::is_parallel_safe);
                let input = Box::new(self.push(*input, below)?);
                Ok(keep(Plan::Past { input, table, moment }, above))
            }
            Plan::Join { kind: JoinKind::Inner, .. } => {
                let first = most.zip(order);
                self.inner(plan, conditions, first)
            }
            Plan::Join { left, right, kind, equal, filter } => {
                self.outer_join(*left, *right, kind, equal, filter, conditions)
            }
            // Its inputs have been rewritten.
            Plan::MergeJoin { .. } => Ok(keep(plan, conditions)),
            Plan::Semi { left, right, equal, filter, anti } => {
                let (mut below, above) = split_rows(conditions, |_| true);
                let width = left.output().len();
                // What judges one side: no right row that fails is a partner, no left row that fails has one.
                let own = filter.map(TypedExpr::conjuncts).unwrap_or_default();
                let (mut on_right, rest) = split(own, |used| used.iter().all(|column| *column >= width));
                let (on_left, rest) = split(rest, |used| !anti && used.iter().all(|column| *column < width));
                on_right
                    .iter_mut()
                    .for_each(|condition| map_columns(condition, &mut |column| column - width));
                below.extend(on_left);
                let filter = TypedExpr::conjunction(rest);
                let left = Box::new(self.push(*left, below)?);
                let right = Box::new(self.push(*right, on_right)?);
                Ok(keep(Plan::Semi { left, right, equal, filter, anti }, above))
            }
            Plan::Apply { left, right, outer, kind, filter, .. } => {
                let width = left.output().len();
                let (below, above) = split_rows(conditions, |used| used.iter().all(|column| *column < width));
                let left = Box::new(self.push(*left, below)?);
                let right = Box::new(self.repeatedly(true, |rewriter| rewriter.push(*right, Vec::new()))?);
                Ok(keep(Plan::Apply { left, right, outer, kind, filter, unread: Vec::new() }, above))
            }
            Plan::Project { input, exprs, names } => {
                let (below, above): (Vec<_>, Vec<_>) =
                    conditions.into_iter().partition(|condition| moves_below(condition, &exprs));
                let below = below.into_iter().map(|condition| substitute(condition, &exprs)).collect();
                let input = Box::new(self.push(*input, below)?);
                Ok(keep(Plan::Project { input, exprs, names }, above))
            }
            Plan::Aggregate { input, group_by, aggregates, sets } => {
                // Without keys there is a row also of no input. A key that a set leaves out is NULL in its rows.
                let keys = group_by.len();
                let in_all = |column: &usize| {
                    sets.as_ref().is_none_or(|sets| sets.sets.iter().all(|set| set.contains(column)))
                };
                let (below, above): (Vec<_>, Vec<_>) = conditions.into_iter().partition(|condition| {
                    let used = columns_of(condition);
                    keys > 0
                        && !used.is_empty()
                        && used.iter().all(|column| *column < keys && in_all(column))
                        && !condition.is_volatile()
                        && moves_below(condition, &group_by)
                });
                let below = below.into_iter().map(|condition| substitute(condition, &group_by)).collect();
                let input = Box::new(self.push(*input, below)?);
                Ok(keep(Plan::Aggregate { input, group_by, aggregates, sets }, above))
            }
            // A condition on what tells partitions apart drops them whole.
            Plan::Window { input, partition_by, order_by, calls, until } => {
                let whole = |column: &usize| {
                    partition_by.iter().any(|key| matches!(key.kind, K::Column(key) if key == *column))
                };
                let (below, above) = split(conditions, |used| !used.is_empty() && used.iter().all(whole));
                let input = Box::new(self.push(*input, below)?);
                Ok(keep(Plan::Window { input, partition_by, order_by, calls, until }, above))
            }
            Plan::Sort { input, keys, sorted } => {
                Ok(Plan::Sort { input: Box::new(self.push(*input, conditions)?), keys, sorted })
            }
            Plan::Distinct { input } => {
                let (below, above) = split(conditions, |_| true);
                Ok(keep(Plan::Distinct { input: Box::new(self.push(*input, below)?) }, above))
            }
            Plan::Append { inputs, pruning } => {
                let (below, above) = split_rows(conditions, |_| true);
                let inputs = inputs.into_iter().map(|input| self.push(input, below.clone()));
                Ok(keep(Plan::Append { inputs: inputs.collect::<Result<_, _>>()?, pruning }, above))
            }
            other => self.below(other, conditions),
        }
    }

    /// A plan with the queries of its expressions joined that can be; of `conditions` those are taken that go below it. So many rows at
    /// `most` are wanted, or the `first` ones in any order.
    fn unnested(
        &mut self,
        plan: Plan,
        conditions: &mut Vec<TypedExpr>,
        (most, first): (Option<f64>, Option<f64>),
    ) -> Result<Plan, SqlError> {
        Ok(match plan {
            Plan::Filter { input, predicate } => {
                // Those with queries have been looked at where they come from.
                let (plain, others) = std::mem::take(conditions)
                    .into_iter()
                    .partition(|condition| !condition.is_volatile() && !asks_of_the_row(condition));
                *conditions = others;
                let all = predicate.conjuncts().into_iter().chain::<Vec<_>>(plain).collect();
                match TypedExpr::conjunction(all) {
                    Some(predicate) => self.unnest(*input, predicate, first)?,
                    None => *input,
                }
            }
            Plan::Project { mut input, mut exprs, names } if exprs.iter().any(asks_of_the_row) => {
                let (below, above): (Vec<_>, Vec<_>) = std::mem::take(conditions)
                    .into_iter()
                    .partition(|condition| !condition.is_volatile() && moves_below(condition, &exprs));
                *conditions = above;
                let below = below.into_iter().map(|condition| substitute(condition, &exprs)).collect();
                *input = keep(std::mem::replace(&mut *input, nothing()), below);
                self.attach(&mut input, &mut exprs, most);
                Plan::Project { input, exprs, names }
            }
            Plan::Apply { mut left, right, outer, kind, filter, .. } => {
                let width = left.output().len();
                let (below, above) =
                    split(std::mem::take(conditions), |used| used.iter().all(|column| *column < width));
                *conditions = above;
                *left = keep(std::mem::replace(&mut *left, nothing()), below);
                match self.attach_lateral(&mut left, (&right, &outer), kind, filter.as_ref()) {
                    Some(joined) => joined,
                    None => Plan::Apply { left, right, outer, kind, filter, unread: Vec::new() },
                }
            }
            other => other,
        })
    }

    /// The inputs for themselves, and the conditions above the operator.
    fn below(&mut self, plan: Plan, conditions: Vec<TypedExpr>) -> Result<Plan, SqlError> {
        let mut plan = match plan {
            Plan::Shared { plan, columns, fence } => return self.reader(plan, columns, fence, conditions),
            other => other,
        };
        let (repeats_right, mut number) = (matches!(plan, Plan::Apply { .. } | Plan::Recursive { .. }), 0);
        let mut result = Ok(());
        plan.for_each_input_mut(&mut |input| {
            if result.is_err() {
                return;
            }
            let own = std::mem::replace(input, nothing());
            let repeated = repeats_right && number == 1;
            number += 1;
            match self.repeatedly(repeated, |rewriter| rewriter.push(own, Vec::new())) {
                Ok(plan) => *input = plan,
                Err(error) => result = Err(error),
            }
        });
        result.map(|()| keep(plan, conditions))
    }

    /// A join that keeps rows without a partner.
    fn outer_join(
        &mut self,
        left: Plan,
        right: Plan,
        kind: JoinKind,
        mut equal: Vec<(TypedExpr, TypedExpr)>,
        filter: Option<TypedExpr>,
        conditions: Vec<TypedExpr>,
    ) -> Result<Plan, SqlError> {
        let width = left.output().len();
        let on_left = |used: &[usize]| used.iter().all(|column| *column < width);
        let on_right = |used: &[usize]| used.iter().all(|column| *column >= width);
        // Conditions on the finished rows may go to the side that is never padded.
        let (mut to_left, mut above) = match kind {
            JoinKind::Left => split_rows(conditions, on_left),
            _ => (Vec::new(), conditions),
        };
        let mut to_right = Vec::new();
        if kind == JoinKind::Right {
            (to_right, above) = split_rows(above, on_right);
        }
        // Conditions of the join may go to the side whose lonely rows are dropped.
        let mut rest = Vec::new();
        for condition in filter.map(TypedExpr::conjuncts).unwrap_or_default() {
            let used = columns_of(&condition);
            let stays = condition.is_volatile() && used.is_empty();
            if kind == JoinKind::Left && !used.is_empty() && on_right(&used) {
                to_right.push(condition);
            } else if kind == JoinKind::Right && !stays && on_left(&used) {
                to_left.push(condition);
            } else if condition.is_volatile() {
                rest.push(condition);
            } else {
                match pair(condition, width) {
                    Ok(pair) => equal.push(pair),
                    Err(condition) => rest.push(condition),
                }
            }
        }
        to_right.iter_mut().for_each(|condition| map_columns(condition, &mut |column| column - width));
        let left = Box::new(self.push(left, to_left)?);
        let right = Box::new(self.push(right, to_right)?);
        let filter = TypedExpr::conjunction(in_turn_together(rest));
        Ok(keep(Plan::Join { left, right, kind, equal, filter }, above))
    }
}

/// What a plan wants of its input: how many rows at most, where it reads them one by one, and in which order.
fn wanted_below(plan: &Plan, rows: Option<f64>, order: Option<&[SortKey]>) -> Wanted {
    let number = |expr: &TypedExpr| match expr.kind {
        K::Literal(Value::Int8(number)) => Some(number as f64),
        _ => None,
    };
    match plan {
        Plan::Limit { limit: Some(limit), offset, .. } => {
            let skipped = offset.as_ref().map_or(Some(0.0), number);
            let rows = number(limit).zip(skipped).map(|(rows, skipped)| rows + skipped);
            Wanted { rows, order: None }
        }
        Plan::Sort { keys, .. } => Wanted { rows, order: Some(keys.clone()) },
        Plan::Distinct { .. } => Wanted { rows, order: None },
        Plan::Project { exprs, .. } => {
            let below = |key: &SortKey| SortKey { expr: substitute(key.expr.clone(), exprs), ..key.clone() };
            Wanted { rows, order: order.map(|keys| keys.iter().map(below).collect()) }
        }
        _ => Wanted::default(),
    }
}

/// The plan below a filter of these conditions.
pub(super) fn keep(plan: Plan, conditions: Vec<TypedExpr>) -> Plan {
    match TypedExpr::conjunction(in_turn_together(conditions)) {
        Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
        None => plan,
    }
}

/// The conditions that `fits` lets move, by the columns they use, and the others.
fn split(conditions: Vec<TypedExpr>, fits: impl Fn(&[usize]) -> bool) -> (Vec<TypedExpr>, Vec<TypedExpr>) {
    conditions.into_iter().partition(|condition| !condition.is_volatile() && fits(&columns_of(condition)))
}

/// The same of conditions that are asked of each row of an input, where that is as good as of each row that is made of it: what it
/// does is done as often as in PostgreSQL, which brings conditions to the tables whose columns they use, volatile ones, too.
fn split_rows(
    conditions: Vec<TypedExpr>,
    fits: impl Fn(&[usize]) -> bool,
) -> (Vec<TypedExpr>, Vec<TypedExpr>) {
    conditions.into_iter().partition(|condition| {
        let used = columns_of(condition);
        !(used.is_empty() && condition.is_volatile()) && fits(&used)
    })
}

/// Whether a condition may be written over what its columns are computed from.
fn moves_below(condition: &TypedExpr, exprs: &[TypedExpr]) -> bool {
    let used = columns_of(condition);
    let mut size = condition.size(SIZE_MAX);
    for column in used {
        let expr = &exprs[column];
        size = size.saturating_add(expr.size(SIZE_MAX));
        if size > SIZE_MAX && !matches!(expr.kind, K::Column(_)) || !is_plain(expr) {
            return false;
        }
    }
    true
}

/// Whether an expression may be computed elsewhere, and several times.
pub(super) fn is_plain(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| matches!(part.kind, K::Subquery { .. })) && !expr.is_volatile()
}

/// The condition over the columns that `exprs` are computed from.
pub(super) fn substitute(mut condition: TypedExpr, exprs: &[TypedExpr]) -> TypedExpr {
    if let K::Column(column) = condition.kind {
        return exprs[column].clone();
    }
    condition.for_each_child_mut(&mut |child| {
        let part = std::mem::replace(child, TypedExpr::null(SqlType::Unknown));
        *child = substitute(part, exprs);
    });
    condition
}
