//! Rule `push`, its part of outer joins: those whose padded rows a condition above drops keep fewer of them, or none.
//!
//! ```text
//! a FULL JOIN b … WHERE a.x = 1                 ─►  a LEFT JOIN b …
//! a LEFT JOIN b … WHERE b.y > 2                 ─►  a JOIN b …
//! ```
//!
//! A row without a partner has NULL in all columns of the other side. A condition that is not true of such a row, as it is strict
//! in one of these columns, drops all of them (Galindo-Legaria and Rosenthal, Outerjoin Simplification and Reordering, 1997).

use verso_env::recursion::check;
use verso_exec::plan::{ExprKind as K, JoinKind, TypedExpr};

/// The kind of join that yields the same rows below these conditions; its left input has so many columns.
pub(super) fn reduced(kind: JoinKind, conditions: &[TypedExpr], width: usize) -> JoinKind {
    let drops = |is_padded: &dyn Fn(usize) -> bool| {
        conditions.iter().any(|condition| is_never_true(condition, is_padded))
    };
    let keeps_left = kind.pads_right() && !drops(&|column| column >= width);
    let keeps_right = kind.pads_left() && !drops(&|column| column < width);
    match (keeps_left, keeps_right) {
        (true, true) => JoinKind::Full,
        (true, false) => JoinKind::Left,
        (false, true) => JoinKind::Right,
        (false, false) => JoinKind::Inner,
    }
}

/// Whether a condition is false or NULL wherever all columns of a side are NULL.
fn is_never_true(condition: &TypedExpr, is_padded: &dyn Fn(usize) -> bool) -> bool {
    if check().is_err() {
        return false;
    }
    match &condition.kind {
        K::And(parts) => parts.iter().any(|part| is_never_true(part, is_padded)),
        K::Or(parts) => parts.iter().all(|part| is_never_true(part, is_padded)),
        // A row is no NULL because its fields are.
        K::IsNull { arg, negated: true } => arg.ty.composite_depth() == 0 && is_null(arg, is_padded),
        _ => is_null(condition, is_padded),
    }
}

/// Whether an expression is NULL wherever all columns of a side are NULL.
fn is_null(expr: &TypedExpr, is_padded: &dyn Fn(usize) -> bool) -> bool {
    if check().is_err() {
        return false;
    }
    match &expr.kind {
        K::Column(column) => is_padded(*column),
        K::Call { function, args } => {
            function.strict && !function.returns_set() && args.iter().any(|arg| is_null(arg, is_padded))
        }
        K::Cast { arg, .. } | K::InList { arg, .. } | K::Not(arg) => is_null(arg, is_padded),
        K::Like { arg, pattern, .. } => is_null(arg, is_padded) || is_null(pattern, is_padded),
        _ => false,
    }
}
