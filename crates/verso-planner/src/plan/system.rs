//! Keys of system views: what a condition wants single columns to be equal to, so that the session makes these rows only.
//!
//! The condition stays where it is: keys are a hint, and rows that do not fit may come nevertheless.

use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::SqlType;

/// Columns of the view and what they are to be equal to; `columns` are those that the scan yields.
pub(super) fn keys(columns: &[usize], predicate: &TypedExpr) -> Vec<(usize, TypedExpr)> {
    let conditions = match &predicate.kind {
        ExprKind::And(conditions) => conditions.as_slice(),
        _ => std::slice::from_ref(predicate),
    };
    conditions.iter().filter_map(|condition| key(columns, condition)).collect()
}

fn key(columns: &[usize], condition: &TypedExpr) -> Option<(usize, TypedExpr)> {
    let ExprKind::Call { function, args } = &condition.kind else { return None };
    let ("=", [left, right]) = (function.operator?, args.as_slice()) else { return None };
    let one = |own: &TypedExpr, other: &TypedExpr| {
        let column = column(own)?;
        let constant = !other.is_volatile()
            && !other.any(&mut |part| matches!(part.kind, ExprKind::Column(_) | ExprKind::Subquery { .. }));
        constant.then(|| (columns[column], other.clone()))
    };
    one(left, right).or_else(|| one(right, left))
}

/// The column that an expression is, perhaps cast to a type of the same values.
fn column(expr: &TypedExpr) -> Option<usize> {
    match &expr.kind {
        ExprKind::Column(index) => Some(*index),
        ExprKind::Cast { arg, .. } => {
            let texts = arg.ty.is_text() && matches!(expr.ty, SqlType::Text);
            let numbers = arg.ty.physical() == expr.ty.physical() && matches!(expr.ty, SqlType::Oid);
            if texts || numbers { column(arg) } else { None }
        }
        _ => None,
    }
}
