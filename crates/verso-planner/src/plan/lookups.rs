//! Joins with relations of the system catalogs: where the left side has few rows, the session makes the rows of the right side for
//! each of them, by their keys, instead of all that the catalogs have.
//!
//! The conditions of the join stay: keys are a hint, and rows that do not fit may come nevertheless.

use verso_catalog::SystemView;
use verso_exec::plan::{ExprKind, JoinKind, Plan, TypedExpr};
use verso_types::SqlType;

use super::system::column;
use crate::bind::map_columns;
use crate::estimate::Estimate;

/// So many rows the left side may have by the estimate.
const ROWS_MAX: f64 = 64.0;

/// Relations and columns by which the session finds their rows at once.
const KEYS: &[(&str, &str)] = &[
    ("pg_class", "oid"),
    ("pg_attribute", "attrelid"),
    ("pg_attrdef", "adrelid"),
    ("pg_index", "indexrelid"),
    ("pg_index", "indrelid"),
    ("pg_constraint", "conrelid"),
    ("pg_trigger", "tgrelid"),
];

/// Makes lookups of a join, both sides of which are planned, where that can be done.
pub(super) fn of_join(plan: &mut Plan, estimate: Estimate<'_>) {
    if matches!(plan, Plan::Join { left, right, kind: JoinKind::Inner, .. }
        if estimate.rows(left) > ROWS_MAX && estimate.rows(right) <= ROWS_MAX && is_relation(left))
    {
        turn(plan);
        if let Plan::Project { input, .. } = plan {
            of_join(input, estimate);
        }
        return;
    }
    let Plan::Join { left, right, kind: JoinKind::Inner | JoinKind::Left, equal, .. } = plan else { return };
    if estimate.rows(left) > ROWS_MAX {
        return;
    }
    let outer = asked_for(right, equal);
    if outer.is_empty() {
        return;
    }
    let whole = std::mem::replace(plan, super::nothing());
    let Plan::Join { left, right, kind, equal, filter } = whole else { return };
    let width = left.output().len();
    let mut conditions = Vec::new();
    for (ours, mut theirs) in equal {
        map_columns(&mut theirs, &mut |column| column + width);
        conditions.push(TypedExpr::is_there(ours.clone()));
        let same = ExprKind::IsDistinct { left: Box::new(ours), right: Box::new(theirs), negated: true };
        conditions.push(TypedExpr::new(same, SqlType::Bool));
    }
    conditions.extend(filter.map(TypedExpr::conjuncts).unwrap_or_default());
    *plan = Plan::Apply { left, right, outer, kind, filter: TypedExpr::conjunction(conditions) };
}

/// Whether a side of a join is one of the relations that have keys.
fn is_relation(plan: &Plan) -> bool {
    let scan = match plan {
        Plan::Filter { input, .. } => input,
        scan => scan,
    };
    matches!(scan, Plan::SystemScan { view: SystemView::Relation(relation), .. }
        if KEYS.iter().any(|(of, _)| *of == relation.get().name))
}

/// Exchanges the sides of a join; its columns stay in their order.
fn turn(plan: &mut Plan) {
    let output = plan.output();
    let whole = std::mem::replace(plan, super::nothing());
    let Plan::Join { left, right, kind, equal, mut filter } = whole else { return };
    let (ours, theirs) = (left.output().len(), right.output().len());
    let place = |column: usize| if column < ours { column + theirs } else { column - ours };
    filter.iter_mut().for_each(|filter| map_columns(filter, &mut |column| place(column)));
    let equal = equal.into_iter().map(|(one, other)| (other, one)).collect();
    let join = Plan::Join { left: right, right: left, kind, equal, filter };
    let columns = output.iter().enumerate();
    let exprs = columns.map(|(at, column)| TypedExpr::column(place(at), column.seen())).collect();
    let names = output.iter().map(|column| std::sync::Arc::clone(&column.name)).collect();
    *plan = Plan::Project { input: Box::new(join), exprs, names };
}

/// Lets a scan of a system relation be asked for what it is to be equal to on the left: these expressions.
fn asked_for(right: &mut Plan, equal: &[(TypedExpr, TypedExpr)]) -> Vec<TypedExpr> {
    let is_outer = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::Outer(_)));
    let scan = match right {
        // Values of a query around the join have other numbers within a lookup.
        Plan::Filter { predicate, .. } if is_outer(predicate) => return Vec::new(),
        Plan::Filter { input, .. } => &mut **input,
        scan => scan,
    };
    let Plan::SystemScan { view: SystemView::Relation(relation), columns, keys, .. } = scan else {
        return Vec::new();
    };
    if keys.iter().any(|(_, key)| is_outer(key)) {
        return Vec::new();
    }
    let relation = relation.get();
    let is_key =
        |at: usize| KEYS.iter().any(|(of, key)| *of == relation.name && relation.column(key) == Some(at));
    let mut outer = Vec::new();
    for (ours, theirs) in equal {
        let Some(at) = column(theirs).and_then(|column| columns.get(column)).copied() else { continue };
        if is_key(at) && !keys.iter().any(|(known, _)| *known == at) {
            keys.push((at, TypedExpr::new(ExprKind::Outer(outer.len()), ours.ty.clone())));
            outer.push(ours.clone());
        }
    }
    outer
}
