//! Joins without equal columns, whose conditions an inverted index finds candidates for: `d.words @@ q.query`.
//!
//! Each row of one side searches the index of the other, instead of being compared with every row. The conditions stay, as
//! always with inverted indexes.

use std::sync::Arc;

use verso_catalog::IndexDef;
use verso_exec::plan::{ExprKind, JoinKind, Plan, TypedExpr};

use super::derived::Derived;
use super::lookups::{is_outer, turn};
use super::{inverted, may_use, nothing};
use crate::bind::{columns_of, map_columns};
use crate::estimate::Estimate;
use crate::hints::Hints;

/// Makes searches of a join where that can be done; neither side is planned yet.
pub(super) fn of_join(plan: &mut Plan, estimate: Estimate<'_>, hints: Option<&Hints>) {
    let Plan::Join { left, right, kind, equal, filter: Some(filter) } = &*plan else { return };
    if !equal.is_empty() {
        return;
    }
    let (ours, theirs) = (left.output().len(), right.output().len());
    let can = |table: &Plan, range: (usize, usize)| is_served(table, range, filter, estimate, hints);
    match kind {
        JoinKind::Inner | JoinKind::Left if can(right, (ours, ours + theirs)) => search(plan),
        JoinKind::Inner if can(left, (0, ours)) => {
            turn(plan);
            if let Plan::Project { input, .. } = plan {
                search(input);
            }
        }
        _ => {}
    }
}

/// Whether an inverted index of a table, whose columns are these of the join's, finds candidates for a condition that uses others, too.
fn is_served(
    side: &Plan,
    (start, end): (usize, usize),
    filter: &TypedExpr,
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> bool {
    let Plan::TableScan { table, columns, filter: own } = side else { return false };
    // Values of a query around the join have other numbers within a search.
    if table.indexes.is_empty() || own.as_ref().is_some_and(is_outer) || is_outer(filter) {
        return false;
    }
    let derived = Derived::of(table, estimate);
    let usable = |index: &Arc<IndexDef>| may_use(hints, table, index, estimate);
    filter.clone().conjuncts().into_iter().any(|mut condition| {
        let used = columns_of(&condition);
        let is_tied = used.iter().any(|at| !(start..end).contains(at));
        if !is_tied || !moves(&condition) {
            return false;
        }
        hand_in(&mut condition, (start, end), &mut Vec::new());
        inverted::access(table, columns, &condition, &derived, &usable).is_some()
    })
}

/// Whether a condition may be asked within the search.
fn moves(condition: &TypedExpr) -> bool {
    !condition.is_volatile() && !condition.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }))
}

/// Makes columns of a side those of its own, and hands the others in.
fn hand_in(expr: &mut TypedExpr, (start, end): (usize, usize), outer: &mut Vec<TypedExpr>) {
    match expr.kind {
        ExprKind::Column(at) if (start..end).contains(&at) => map_columns(expr, &mut |at| at - start),
        ExprKind::Column(_) => {
            let handed = TypedExpr::new(ExprKind::Outer(outer.len()), expr.ty.clone());
            outer.push(std::mem::replace(expr, handed));
        }
        _ => expr.for_each_child_mut(&mut |child| hand_in(child, (start, end), outer)),
    }
}

/// The join as one that opens its right side, a table, for each row of the left one.
fn search(plan: &mut Plan) {
    let whole = std::mem::replace(plan, nothing());
    let Plan::Join { left, right, kind, equal, filter } = whole else {
        *plan = whole;
        return;
    };
    let Plan::TableScan { table, columns, filter: own } = *right else {
        *plan = Plan::Join { left, right, kind, equal, filter };
        return;
    };
    let range = (left.output().len(), left.output().len() + columns.len());
    let mut outer = Vec::new();
    let mut asked = own.map(TypedExpr::conjuncts).unwrap_or_default();
    let mut rest = Vec::new();
    for mut condition in filter.map(TypedExpr::conjuncts).unwrap_or_default() {
        match moves(&condition) {
            true => {
                hand_in(&mut condition, range, &mut outer);
                asked.push(condition);
            }
            false => rest.push(condition),
        }
    }
    let right = Box::new(Plan::TableScan { table, columns, filter: TypedExpr::conjunction(asked) });
    *plan = Plan::Apply { left, right, outer, kind, filter: TypedExpr::conjunction(rest) };
}
