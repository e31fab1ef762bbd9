//! Lateral items that only compute something of the rows before them (rule `unnest`).
//!
//! ```text
//! a, LATERAL (SELECT a.x + 1 AS y)                                ─►  a with one more column
//! a, LATERAL (SELECT b.*, a.x AS y FROM b WHERE b.z = a.x)        ─►  a join of a and b, with one more column
//! a, LATERAL (b JOIN (VALUES (a.x), (-1)) AS s (x) ON b.y = s.x)  ─►  a join of (a, LATERAL (VALUES …)) and b
//! ```
//!
//! What is computed stands above the join, so that conditions on it are conditions of the join. What a lateral join reads beside
//! what depends on the row is read once, and not for each row.
//!
//! Termination: each `Apply` is looked at once, those within its inputs before it. One that is left of a lateral join has a join
//! less on its right.

use verso_env::recursion::check;
use verso_exec::plan::{ExprKind as K, JoinKind, Plan, TypedExpr};

use super::nothing;
use super::push::{keep, substitute};
use crate::errors::SqlError;

/// All such items of a plan.
pub(super) fn pulled(plan: &mut Plan) -> Result<(), SqlError> {
    check()?;
    let mut result = Ok(());
    plan.for_each_input_mut(&mut |input| {
        if result.is_ok() {
            result = pulled(input);
        }
    });
    result?;
    let mut open = plan;
    loop {
        if is_computed(open) {
            *open = joined(std::mem::replace(open, nothing()));
            return Ok(());
        }
        let Some(first) = depends_first(open) else { return Ok(()) };
        *open = parted(std::mem::replace(open, nothing()), first);
        let Some(rest) = innermost(open) else { return Ok(()) };
        open = rest;
    }
}

/// Of the join on the right of an `Apply`: whether the first of its sides is the one that depends on the row. None where both or none
/// do, or where it is no such join.
fn depends_first(plan: &Plan) -> Option<bool> {
    let Plan::Apply { right, kind: JoinKind::Inner, unread, .. } = plan else { return None };
    let mut below = &**right;
    while let Plan::Filter { input, .. } = below {
        below = input;
    }
    let Plan::Join { left: first, right: second, kind: JoinKind::Inner, equal, .. } = below else {
        return None;
    };
    let depends = (first.uses_outer(), second.uses_outer());
    if depends.0 == depends.1
        || !equal.is_empty()
        || !unread.is_empty()
        || right.is_volatile()
        || right.any(&mut |part| matches!(part, Plan::LockRows { .. }))
        || right.any_expr(&mut |part| matches!(part.kind, K::Subquery { .. }))
    {
        return None;
    }
    Some(depends.0)
}

/// An `Apply` of a join as a join of an `Apply` with the side that does not depend on the row; `first`: the other one is the first.
fn parted(plan: Plan, first: bool) -> Plan {
    let output = plan.output();
    let Plan::Apply { left, right, outer, kind, filter, unread } = plan else { return plan };
    let width = left.output().len();
    let mut conditions = Vec::new();
    let mut below = *right;
    while let Plan::Filter { input, predicate } = below {
        conditions.push(predicate);
        below = *input;
    }
    let Plan::Join { left: one, right: two, filter: pairs, .. } = below else { return below };
    let (own, others) = (one.output().len(), two.output().len());
    conditions.extend(pairs);
    for condition in &mut conditions {
        beside(condition, &outer, width);
    }
    conditions.extend(filter);
    let (dependent, free) = if first { (one, two) } else { (two, one) };
    let apply = Plan::Apply { left, right: dependent, outer, kind, filter: None, unread };
    let (left, right) = (Box::new(apply), free);
    let mut joined = Plan::Join { left, right, kind: JoinKind::Inner, equal: Vec::new(), filter: None };
    if !first {
        // The columns as they were: those of the side that depends on the row come last.
        let place = |at: usize| match at {
            at if at < width => at,
            at if at < width + own => at + others,
            at => at - own,
        };
        let exprs = output.iter().enumerate();
        let exprs = exprs.map(|(at, column)| TypedExpr::column(place(at), column.seen())).collect();
        let names = output.iter().map(|column| column.name.clone()).collect();
        joined = Plan::Project { input: Box::new(joined), exprs, names };
    }
    let conditions = conditions.into_iter().flat_map(TypedExpr::conjuncts).collect();
    keep(joined, conditions)
}

/// The `Apply` that [`parted`] has left.
fn innermost(plan: &mut Plan) -> Option<&mut Plan> {
    match plan {
        Plan::Filter { input, .. } | Plan::Project { input, .. } => innermost(input),
        Plan::Join { left, .. } => Some(left),
        _ => None,
    }
}

/// Whether the right side of an `Apply` is a projection that can be made above a join.
fn is_computed(plan: &Plan) -> bool {
    let Plan::Apply { right, kind: JoinKind::Inner, unread, .. } = plan else { return false };
    if !unread.is_empty()
        || right.is_volatile()
        || right.any_expr(&mut |part| matches!(part.kind, K::Subquery { .. }))
    {
        return false;
    }
    let mut below = &**right;
    let mut hands_on = false;
    loop {
        match below {
            Plan::Filter { input, .. } => below = input,
            Plan::Project { input, exprs, .. } => {
                hands_on |= exprs.iter().any(is_handed);
                below = input;
            }
            Plan::Values { rows, columns } if rows.len() == 1 => {
                let row = rows[0].iter().zip(columns);
                return row.clone().count() == columns.len()
                    && row.into_iter().all(|(expr, column)| expr.ty == column.ty);
            }
            base => {
                let is_locked = base.any(&mut |part| matches!(part, Plan::LockRows { .. }));
                return hands_on && !is_locked && !base.uses_outer();
            }
        }
    }
}

fn is_handed(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, K::Outer(_)))
}

/// The right side as what is read, what is computed of it, and which rows of it count.
fn peeled(plan: Plan) -> (Plan, Vec<TypedExpr>, Vec<TypedExpr>) {
    let mut above = Vec::new();
    let mut below = plan;
    while let Plan::Filter { input, .. } | Plan::Project { input, .. } = &mut below {
        let input = std::mem::replace(&mut **input, nothing());
        above.push(std::mem::replace(&mut below, input));
    }
    let (base, mut exprs) = match below {
        Plan::Values { mut rows, columns: _ } if rows.len() == 1 => {
            let row = rows.pop().unwrap_or_default();
            (Plan::Values { rows: vec![Vec::new()], columns: Vec::new() }, row)
        }
        base => {
            let output = base.output();
            let exprs = output.iter().enumerate().map(|(at, column)| TypedExpr::column(at, column.seen()));
            let exprs = exprs.collect();
            (base, exprs)
        }
    };
    let mut conditions = Vec::new();
    for operator in above.into_iter().rev() {
        match operator {
            Plan::Filter { predicate, .. } => conditions.push(substitute(predicate, &exprs)),
            Plan::Project { exprs: computed, .. } => {
                exprs = computed.into_iter().map(|expr| substitute(expr, &exprs)).collect();
            }
            _ => {}
        }
    }
    (base, exprs, conditions)
}

/// An `Apply` as a projection above a join, or above its left side.
fn joined(plan: Plan) -> Plan {
    let names = plan.output().into_iter().map(|column| column.name).collect();
    let Plan::Apply { left, right, outer, filter, .. } = plan else { return plan };
    let output = left.output();
    let width = output.len();
    let (base, mut exprs, mut conditions) = peeled(*right);
    for expr in exprs.iter_mut().chain(&mut conditions) {
        beside(expr, &outer, width);
    }
    let mut all: Vec<TypedExpr> =
        output.iter().enumerate().map(|(at, column)| TypedExpr::column(at, column.seen())).collect();
    all.append(&mut exprs);
    conditions.extend(filter.map(|filter| substitute(filter, &all)));
    let input = match base {
        Plan::Values { rows, columns } if columns.is_empty() && rows.len() == 1 => *left,
        base => {
            Plan::Join { left, right: Box::new(base), kind: JoinKind::Inner, equal: Vec::new(), filter: None }
        }
    };
    let conditions = conditions.into_iter().flat_map(TypedExpr::conjuncts).collect();
    Plan::Project { input: Box::new(keep(input, conditions)), exprs: all, names }
}

/// An expression of the right side over the rows of both.
fn beside(expr: &mut TypedExpr, outer: &[TypedExpr], width: usize) {
    match &mut expr.kind {
        K::Outer(n) => {
            if let Some(handed) = outer.get(*n) {
                *expr = handed.clone();
            }
        }
        K::Column(column) => *column += width,
        _ => expr.for_each_child_mut(&mut |child| beside(child, outer, width)),
    }
}
