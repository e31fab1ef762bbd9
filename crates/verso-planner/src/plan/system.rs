//! Keys of system views: what a condition wants single columns to be equal to, so that the session makes these rows only.
//!
//! The condition stays where it is: keys are a hint, and rows that do not fit may come nevertheless.

use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::{SqlType, Value};

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
    let (operator, [left, right]) = (function.operator?, args.as_slice()) else { return None };
    if operator == "~" {
        // So psql asks for a name: '^(t)$'.
        let name = only_match(text(right)?)?;
        return Some((columns[column(left)?], TypedExpr::literal(Value::text(name), SqlType::Text)));
    }
    if operator != "=" {
        return None;
    }
    let one = |own: &TypedExpr, other: &TypedExpr| {
        let column = column(own)?;
        let constant = !other.is_volatile()
            && !other.any(&mut |part| matches!(part.kind, ExprKind::Column(_) | ExprKind::Subquery { .. }));
        constant.then(|| (columns[column], other.clone()))
    };
    one(left, right).or_else(|| one(right, left))
}

/// The one text that a regular expression matches: `^(t)$`, `^t$`.
fn only_match(pattern: &str) -> Option<&str> {
    let within = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let name = within.strip_prefix('(').and_then(|within| within.strip_suffix(')')).unwrap_or(within);
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

/// The text that a constant is.
fn text(expr: &TypedExpr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Literal(value) if expr.ty.is_text() => value.as_str(),
        ExprKind::Cast { arg, .. } if expr.ty.is_text() && arg.ty.is_text() => text(arg),
        _ => None,
    }
}

/// The column that an expression is, perhaps cast to a type of the same values.
pub(super) fn column(expr: &TypedExpr) -> Option<usize> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_a_whole_name_matches_only_that() {
        for (pattern, only) in [
            ("^(t)$", Some("t")),
            ("^a_1$", Some("a_1")),
            ("^(t.*)$", None),
            ("^(a|b)$", None),
            ("(t)$", None),
            ("^t", None),
            ("^(\\d)$", None),
            ("^((t))$", None),
        ] {
            assert_eq!(only_match(pattern), only, "{pattern}");
        }
    }
}
