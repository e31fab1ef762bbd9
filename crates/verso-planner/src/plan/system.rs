//! Keys of system views: what a condition wants single columns to be equal to, so that the session makes these rows only.
//!
//! The condition stays where it is: keys are a hint, and rows that do not fit may come nevertheless.

use std::sync::Arc;

use verso_catalog::{SystemRelation, SystemView};
use verso_exec::plan::{ExprKind, KeyMatch, Plan, SubqueryTest, TypedExpr};
use verso_types::{SqlType, Value};

use super::terms::is_fixed;

/// Columns of the view and what they are to be equal to; `columns` are those that the scan yields.
pub(super) fn keys(view: SystemView, columns: &[usize], predicate: &TypedExpr) -> Vec<(usize, KeyMatch)> {
    let conditions = match &predicate.kind {
        ExprKind::And(conditions) => conditions.as_slice(),
        _ => std::slice::from_ref(predicate),
    };
    let mut keys: Vec<_> = (conditions.iter())
        .filter_map(|condition| key(columns, condition))
        .map(|(column, key)| (column, KeyMatch::Equal(key)))
        .collect();
    // One value finds fewer rows than several.
    if let SystemView::Relation(relation) = view
        && !keys.iter().any(|(column, _)| relation.get().is_key(*column))
    {
        keys.extend(conditions.iter().find_map(|condition| listed(relation.get(), columns, condition)));
    }
    keys
}

/// Lets the query of `key IN (SELECT …)` be computed once: for the condition, and for what it looks up. Before the query is planned.
pub(super) fn share(view: SystemView, columns: &[usize], predicate: &mut TypedExpr) {
    let SystemView::Relation(relation) = view else { return };
    let one = |condition: &mut TypedExpr| {
        if let ExprKind::Subquery { plan, outer, test: SubqueryTest::In { negated: false }, args } =
            &mut condition.kind
            && outer.is_empty()
            && !plan.is_volatile()
            && !matches!(**plan, Plan::Shared { .. })
            && let [arg] = args.as_slice()
            && key_column(relation.get(), columns, arg).is_some()
        {
            *plan = Arc::new(Plan::shared(Arc::clone(plan)));
        }
    };
    match &mut predicate.kind {
        ExprKind::And(conditions) => conditions.iter_mut().for_each(one),
        _ => one(predicate),
    }
}

/// The key of a relation that an expression over its columns is.
fn key_column(relation: &SystemRelation, columns: &[usize], expr: &TypedExpr) -> Option<usize> {
    columns.get(column(expr)?).copied().filter(|column| relation.is_key(*column))
}

/// The key column that a condition wants to be one of several values, and the values.
fn listed(relation: &SystemRelation, columns: &[usize], condition: &TypedExpr) -> Option<(usize, KeyMatch)> {
    let of_key = |expr: &TypedExpr| key_column(relation, columns, expr);
    match &condition.kind {
        ExprKind::InList { arg, list, negated: false } => {
            let at = of_key(arg)?;
            list.iter().all(is_fixed).then(|| (at, KeyMatch::In(list.clone())))
        }
        ExprKind::Call { function, args } if function.operator == Some("= ANY") => {
            let [arg, array] = args.as_slice() else { return None };
            let at = of_key(arg)?;
            is_fixed(array).then(|| (at, KeyMatch::Any(array.clone())))
        }
        ExprKind::Subquery { plan, outer, test: SubqueryTest::In { negated: false }, args }
            if outer.is_empty() && matches!(**plan, Plan::Shared { .. }) =>
        {
            let output = plan.output();
            let ([arg], [element]) = (args.as_slice(), output.as_slice()) else { return None };
            let at = of_key(arg)?;
            let kind = ExprKind::Subquery {
                plan: Arc::new(Plan::clone(plan)),
                outer: Vec::new(),
                test: SubqueryTest::Array,
                args: Vec::new(),
            };
            let array = SqlType::Array(Box::new(element.ty.clone()));
            Some((at, KeyMatch::Any(TypedExpr::new(kind, array))))
        }
        _ => None,
    }
}

fn key(columns: &[usize], condition: &TypedExpr) -> Option<(usize, TypedExpr)> {
    if let ExprKind::Like { arg, pattern, escape, negated: false, case_insensitive: false } = &condition.kind
    {
        // So JDBC asks for a name: 'my\\_table'.
        let escape = match escape {
            Some(escape) => text(escape)?.chars().next(),
            None => Some('\\'),
        };
        let name = only_liked(text(pattern)?, escape)?;
        return Some((columns[column(arg)?], TypedExpr::literal(Value::text(&name), SqlType::Text)));
    }
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

/// The one text that a pattern of LIKE matches, if there is only one.
fn only_liked(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut only = String::new();
    let mut rest = pattern.chars();
    while let Some(next) = rest.next() {
        match next {
            next if Some(next) == escape => only.push(rest.next()?),
            '%' | '_' => return None,
            next => only.push(next),
        }
    }
    Some(only)
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
            let is_oid = |ty: &SqlType| match ty {
                SqlType::Oid => true,
                SqlType::System(system) => system.is_reference(),
                _ => false,
            };
            let numbers = arg.ty.physical() == expr.ty.physical() && is_oid(&expr.ty);
            if texts || numbers { column(arg) } else { None }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_like_without_wildcards_matches_one_text() {
        for (pattern, escape, only) in [
            ("t5", Some('\\'), Some("t5")),
            ("my\\_table", Some('\\'), Some("my_table")),
            ("my_table", Some('\\'), None),
            ("t%", Some('\\'), None),
            ("t!%", Some('!'), Some("t%")),
            ("t\\", None, Some("t\\")),
            ("t\\", Some('\\'), None),
        ] {
            assert_eq!(only_liked(pattern, escape).as_deref(), only, "{pattern}");
        }
    }

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
