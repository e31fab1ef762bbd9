//! Lateral items that only compute something of the rows before them (rule `unnest`).
//!
//! ```text
//! a, LATERAL (SELECT a.x + 1 AS y)                                ─►  a with one more column
//! a, LATERAL (SELECT b.*, a.x AS y FROM b WHERE b.z = a.x)        ─►  a join of a and b, with one more column
//! ```
//!
//! What is computed stands above the join, so that conditions on it are conditions of the join.
//!
//! Termination: each `Apply` is looked at once, those within its inputs before it.

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
    if is_computed(plan) {
        *plan = joined(std::mem::replace(plan, nothing()));
    }
    Ok(())
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
