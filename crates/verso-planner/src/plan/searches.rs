//! Joins without equal columns, whose conditions an index finds rows for: an inverted one (`d.words @@ q.query`), or ranges of
//! a B+tree (`s.id BETWEEN g.low AND g.high`).
//!
//! Each row of one side searches the index of the other, instead of being compared with every row. For inverted indexes that is
//! always done, and the conditions stay; for ranges where it is cheaper. Semi- and anti-joins ask then for each row whether there
//! is one.

use std::sync::Arc;

use verso_catalog::IndexDef;
use verso_exec::plan::{ExprKind, JoinKind, Plan, SubqueryTest, TypedExpr};
use verso_types::SqlType;

use super::derived::Derived;
use super::lookups::{is_outer, turn};
use super::{inverted, may_use, nothing, path};
use crate::bind::{columns_of, map_columns};
use crate::estimate::{Estimate, FETCH, LOOKUP, OUT, PAIR, SCAN};
use crate::hints::Hints;

/// Makes searches of a join where that can be done and pays; neither side is planned yet.
pub(super) fn of_join(plan: &mut Plan, estimate: Estimate<'_>, hints: Option<&Hints>) {
    let Plan::Join { left, right, kind, equal, filter: Some(filter) } = &*plan else { return };
    if !equal.is_empty() {
        return;
    }
    let (ours, theirs) = (left.output().len(), right.output().len());
    let gain = |few: &Plan, table: &Plan, range: (usize, usize)| match is_served(
        table, range, filter, estimate, hints,
    ) {
        true => Some(f64::INFINITY),
        false => saved(few, table, range, filter, estimate, hints),
    };
    let to_right = matches!(kind, JoinKind::Inner | JoinKind::Left)
        .then(|| gain(left, right, (ours, ours + theirs)))
        .flatten();
    let to_left = (*kind == JoinKind::Inner).then(|| gain(right, left, (0, ours))).flatten();
    match (to_right, to_left) {
        (Some(right), left) if left.is_none_or(|left| left <= right) => search(plan),
        (_, Some(_)) => {
            turn(plan);
            if let Plan::Project { input, .. } = plan {
                search(input);
            }
        }
        _ => {}
    }
}

/// Makes a condition of a semi- or anti-join that asks an index for each row, where that is cheaper; whether it has done so.
pub(super) fn of_semi(plan: &mut Plan, estimate: Estimate<'_>, hints: Option<&Hints>) -> bool {
    let Plan::Semi { left, right, equal, filter: Some(filter), anti } = &mut *plan else { return false };
    let start = left.output().len();
    let range = (start, start + right.output().len());
    let all_move = || filter.clone().conjuncts().iter().all(moves);
    if !equal.is_empty() || !all_move() || saved(left, right, range, filter, estimate, hints).is_none() {
        return false;
    }
    let Some((Plan::TableScan { table, columns, filter: own }, places)) = scan_of(right) else {
        return false;
    };
    let mut outer = Vec::new();
    let mut asked = own.clone().map(TypedExpr::conjuncts).unwrap_or_default();
    for mut condition in filter.clone().conjuncts() {
        hand_in(&mut condition, (start, &places), &mut outer);
        asked.push(condition);
    }
    let scan = Plan::TableScan {
        table: table.clone(),
        columns: columns.clone(),
        filter: TypedExpr::conjunction(asked),
    };
    let kind =
        ExprKind::Subquery { plan: Arc::new(scan), outer, test: SubqueryTest::Exists, args: Vec::new() };
    let mut predicate = TypedExpr::new(kind, SqlType::Bool);
    if *anti {
        predicate = TypedExpr::new(ExprKind::Not(Box::new(predicate)), SqlType::Bool);
    }
    let input = std::mem::replace(&mut **left, nothing());
    *plan = Plan::Filter { input: Box::new(input), predicate };
    true
}

/// The steps saved where a table is searched by ranges for each row of the other side, if any.
fn saved(
    few: &Plan,
    table: &Plan,
    range: (usize, usize),
    filter: &TypedExpr,
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> Option<f64> {
    let found = ranged(table, range, &filter.clone().conjuncts(), estimate, hints)?;
    let rows = estimate.rows(few);
    let compared = estimate.rows(table) * (OUT + rows * PAIR) + estimate.whole(scan_of(table)?.0)? * SCAN;
    let searched = rows * (LOOKUP + found * FETCH);
    (searched < compared).then_some(compared - searched)
}

/// How many rows of a table, whose columns are these of all, an index finds by ranges for the values that the others have in one
/// row; none where no index does.
pub(crate) fn ranged(
    side: &Plan,
    (start, end): (usize, usize),
    conditions: &[TypedExpr],
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> Option<f64> {
    let (Plan::TableScan { table, columns, filter: own }, places) = scan_of(side)? else { return None };
    // Values of a query around the join have other numbers within a search.
    let handed_already = own.iter().chain(conditions).any(is_outer);
    if table.indexes.is_empty() || table.partitioned.is_some() || handed_already {
        return None;
    }
    let is_tied = |condition: &&TypedExpr| {
        let used = columns_of(condition);
        let within = |at: &usize| (start..end).contains(at);
        moves(condition) && used.iter().any(within) && !used.iter().all(within)
    };
    let mut outer = Vec::new();
    let mut asked: Vec<TypedExpr> = conditions.iter().filter(is_tied).cloned().collect();
    asked.iter_mut().for_each(|condition| hand_in(condition, (start, &places), &mut outer));
    if asked.is_empty() {
        return None;
    }
    asked.extend(own.clone().map(TypedExpr::conjuncts).unwrap_or_default());
    let access = path(table, columns, TypedExpr::conjunction(asked).as_ref(), estimate, hints)?.access;
    let by_ranges = access.together.is_some() || !access.index.is_inverted();
    let by_row = by_ranges && access.exprs().any(is_outer);
    by_row.then(|| estimate.access(table, &access))
}

/// Whether an inverted index of a table, whose columns are these of the join's, finds candidates for a condition that uses others, too.
fn is_served(
    side: &Plan,
    (start, end): (usize, usize),
    filter: &TypedExpr,
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> bool {
    let Some((Plan::TableScan { table, columns, filter: own }, places)) = scan_of(side) else { return false };
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
        hand_in(&mut condition, (start, &places), &mut Vec::new());
        inverted::access(table, columns, &condition, &derived, &usable).is_some()
    })
}

/// A scan of a table, perhaps below a projection that leaves columns out, and where its columns are among those of the scan.
fn scan_of(side: &Plan) -> Option<(&Plan, Vec<usize>)> {
    match side {
        Plan::TableScan { columns, .. } => Some((side, (0..columns.len()).collect())),
        Plan::Project { input, exprs, .. } if matches!(**input, Plan::TableScan { .. }) => {
            let places = exprs.iter().map(TypedExpr::as_column).collect::<Option<Vec<usize>>>()?;
            Some((input, places))
        }
        _ => None,
    }
}

/// Whether a condition may be asked within the search.
fn moves(condition: &TypedExpr) -> bool {
    !condition.is_volatile() && !condition.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }))
}

/// Makes columns of a side, which begin at `start`, those of its scan, and hands the others in.
fn hand_in(expr: &mut TypedExpr, (start, places): (usize, &[usize]), outer: &mut Vec<TypedExpr>) {
    match expr.kind {
        ExprKind::Column(at) if (start..start + places.len()).contains(&at) => {
            map_columns(expr, &mut |at| places[at - start]);
        }
        ExprKind::Column(_) => {
            let handed = TypedExpr::new(ExprKind::Outer(outer.len()), expr.ty.clone());
            outer.push(std::mem::replace(expr, handed));
        }
        _ => expr.for_each_child_mut(&mut |child| hand_in(child, (start, places), outer)),
    }
}

/// The join as one that opens its right side, a table, for each row of the left one.
fn search(plan: &mut Plan) {
    let whole = std::mem::replace(plan, nothing());
    let Plan::Join { left, right, kind, equal, filter } = whole else {
        *plan = whole;
        return;
    };
    let Some((Plan::TableScan { table, columns, filter: own }, places)) = scan_of(&right) else {
        *plan = Plan::Join { left, right, kind, equal, filter };
        return;
    };
    let start = left.output().len();
    let mut outer = Vec::new();
    let mut asked = own.clone().map(TypedExpr::conjuncts).unwrap_or_default();
    let mut rest = Vec::new();
    for mut condition in filter.map(TypedExpr::conjuncts).unwrap_or_default() {
        match moves(&condition) {
            true => {
                hand_in(&mut condition, (start, &places), &mut outer);
                asked.push(condition);
            }
            false => rest.push(condition),
        }
    }
    let scan = Plan::TableScan {
        table: table.clone(),
        columns: columns.clone(),
        filter: TypedExpr::conjunction(asked),
    };
    let right = match *right {
        Plan::Project { exprs, names, .. } => Plan::Project { input: Box::new(scan), exprs, names },
        _ => scan,
    };
    let (right, filter) = (Box::new(right), TypedExpr::conjunction(rest));
    *plan = Plan::Apply { left, right, outer, kind, filter, unread: Vec::new() };
}
