//! Walks over typed expressions: renumbering columns, comparing.

use std::sync::Arc;

use verso_exec::plan::{ExprKind, FoldRules, JsonPathCall, TypedExpr};
use verso_types::{SqlType, Value};

/// Renumbers every column.
pub fn map_columns(expr: &mut TypedExpr, map: &mut dyn FnMut(usize) -> usize) {
    if let ExprKind::Column(column) = &mut expr.kind {
        *column = map(*column);
    }
    expr.for_each_child_mut(&mut |child| map_columns(child, map));
}

/// Replaces every column by an expression of its type.
pub fn replace_columns(expr: &mut TypedExpr, with: &mut dyn FnMut(usize, &SqlType) -> TypedExpr) {
    match expr.kind {
        ExprKind::Column(column) => *expr = with(column, &expr.ty),
        _ => expr.for_each_child_mut(&mut |child| replace_columns(child, with)),
    }
}

/// The columns it uses, repeats included.
pub fn columns_of(expr: &TypedExpr) -> Vec<usize> {
    let mut used = Vec::new();
    expr.any(&mut |part| {
        if let ExprKind::Column(column) = part.kind {
            used.push(column);
        }
        false
    });
    used
}

/// Conditions of one WHERE that are asked of one row after the other, as one of them does something (is volatile): in the order in
/// which PostgreSQL asks them, by what they cost. Of several that cost the same the first one is asked first.
pub fn in_turn(mut conditions: Vec<TypedExpr>) -> Vec<TypedExpr> {
    if conditions.len() > 1 && conditions.iter().any(TypedExpr::is_volatile) {
        conditions.sort_by(|one, other| cost(one).total_cmp(&cost(other)));
    }
    conditions
}

/// The same of conditions from several places, of which one may keep rows from the others' sight: only those go ahead that tell
/// nothing of the rows.
pub fn in_turn_together(mut conditions: Vec<TypedExpr>) -> Vec<TypedExpr> {
    if conditions.len() > 1 && conditions.iter().any(TypedExpr::is_volatile) {
        for at in 1..conditions.len() {
            if !tells_nothing(&conditions[at]) {
                continue;
            }
            let own = cost(&conditions[at]);
            let ahead = conditions[..at].iter().rev().take_while(|before| cost(before) > own).count();
            conditions[at - ahead..=at].rotate_right(1);
        }
    }
    conditions
}

/// Whether a condition tells nothing of its arguments but whether it holds: neither errors nor effects.
pub fn tells_nothing(condition: &TypedExpr) -> bool {
    !condition.is_volatile()
        && !condition.any(&mut |part| match &part.kind {
            ExprKind::Call { function, .. } => !function.is_leakproof(),
            ExprKind::UserCall { function, .. } => !function.leakproof,
            ExprKind::Column(_) | ExprKind::Outer(_) | ExprKind::Parameter(_) | ExprKind::Literal(_) => false,
            ExprKind::Cast { arg, .. } => {
                let widened = arg.ty.is_integer() && matches!(part.ty, SqlType::Int4 | SqlType::Int8);
                let same = matches!(arg.ty, SqlType::Varchar(_)) && part.ty == SqlType::Text;
                !same && !(widened && (part.ty == SqlType::Int8 || arg.ty == SqlType::Int2))
            }
            ExprKind::And(_) | ExprKind::Or(_) | ExprKind::Not(_) | ExprKind::IsNull { .. } => false,
            _ => true,
        })
}

/// What a condition costs, in calls of built-in functions; a query costs more than any function. Source: PostgreSQL's
/// `order_qual_clauses`.
fn cost(condition: &TypedExpr) -> f32 {
    let mut cost = 0.0;
    condition.any(&mut |part| {
        cost += match &part.kind {
            ExprKind::Call { .. } | ExprKind::NullIf { .. } | ExprKind::IsDistinct { .. } => 1.0,
            ExprKind::Like { .. } | ExprKind::JsonPath(_) => 1.0,
            ExprKind::InList { list, .. } => list.len() as f32 / 2.0,
            ExprKind::UserCall { function, .. } => function.planning.cost(),
            ExprKind::Subquery { .. } => f32::MAX / 1e6,
            _ => 0.0,
        };
        false
    });
    cost
}

/// Whether both compute the same, as far as their shape tells.
pub fn same(a: &TypedExpr, b: &TypedExpr) -> bool {
    if a.ty != b.ty {
        return false;
    }
    match (&a.kind, &b.kind) {
        (ExprKind::Column(a), ExprKind::Column(b)) | (ExprKind::Parameter(a), ExprKind::Parameter(b)) => {
            a == b
        }
        (ExprKind::Outer(a), ExprKind::Outer(b)) => a == b,
        (ExprKind::Literal(a), ExprKind::Literal(b)) => same_value(a, b),
        (ExprKind::Call { function: f, args: a }, ExprKind::Call { function: g, args: b }) => {
            std::ptr::eq(*f, *g) && all_same(a, b)
        }
        (ExprKind::UserCall { function: f, args: a }, ExprKind::UserCall { function: g, args: b }) => {
            f.oid == g.oid && all_same(a, b)
        }
        (ExprKind::Cast { arg: a, kind: k }, ExprKind::Cast { arg: b, kind: l }) => k == l && same(a, b),
        (ExprKind::And(a), ExprKind::And(b))
        | (ExprKind::Or(a), ExprKind::Or(b))
        | (ExprKind::Coalesce(a), ExprKind::Coalesce(b))
        | (ExprKind::Array(a), ExprKind::Array(b))
        | (ExprKind::Row(a), ExprKind::Row(b)) => all_same(a, b),
        (ExprKind::Domain { arg: a, rules: r }, ExprKind::Domain { arg: b, rules: s }) => {
            (&r.of, r.elements) == (&s.of, s.elements) && same(a, b)
        }
        (ExprKind::Fold { rows: a, rules: r }, ExprKind::Fold { rows: b, rules: s }) => {
            same_fold(r, s) && same(a, b)
        }
        // Of one text they are bound alike.
        (
            ExprKind::Subquery { plan: p, outer: o, test: t, args: a },
            ExprKind::Subquery { plan: q, outer: r, test: u, args: b },
        ) => {
            t == u
                && all_same(o, r)
                && all_same(a, b)
                && (Arc::ptr_eq(p, q) || format!("{p:?}") == format!("{q:?}"))
        }
        (ExprKind::Not(a), ExprKind::Not(b)) => same(a, b),
        (ExprKind::IsNull { arg: a, negated: m }, ExprKind::IsNull { arg: b, negated: n }) => {
            m == n && same(a, b)
        }
        (
            ExprKind::IsBool { arg: a, value: v, negated: m },
            ExprKind::IsBool { arg: b, value: w, negated: n },
        ) => (v, m) == (w, n) && same(a, b),
        (
            ExprKind::IsDistinct { left: a, right: b, negated: m },
            ExprKind::IsDistinct { left: c, right: d, negated: n },
        ) => m == n && same(a, c) && same(b, d),
        (ExprKind::NullIf { left: a, right: b }, ExprKind::NullIf { left: c, right: d }) => {
            same(a, c) && same(b, d)
        }
        (ExprKind::Case { branches: a, otherwise: e }, ExprKind::Case { branches: b, otherwise: f }) => {
            let branches =
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(&a.0, &b.0) && same(&a.1, &b.1));
            branches && optional(e.as_deref(), f.as_deref())
        }
        (
            ExprKind::InList { arg: a, list: l, negated: m },
            ExprKind::InList { arg: b, list: k, negated: n },
        ) => m == n && same(a, b) && all_same(l, k),
        (
            ExprKind::Like { arg: a, pattern: p, escape: e, negated: m, case_insensitive: i },
            ExprKind::Like { arg: b, pattern: q, escape: f, negated: n, case_insensitive: j },
        ) => (m, i) == (n, j) && same(a, b) && same(p, q) && optional(e.as_deref(), f.as_deref()),
        (ExprKind::JsonPath(a), ExprKind::JsonPath(b)) => same_path_call(a, b),
        _ => false, // different kinds
    }
}

/// The same of lists.
pub(super) fn all_same(a: &[TypedExpr], b: &[TypedExpr]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

/// The same of the steps of two aggregates of users.
pub(super) fn same_fold(a: &FoldRules, b: &FoldRules) -> bool {
    (a.single, a.strict, &a.initial) == (b.single, b.strict, &b.initial)
        && same(&a.step, &b.step)
        && all_same(&a.args, &b.args)
        && optional(a.last.as_ref(), b.last.as_ref())
}

/// The same of two calls of JSON_VALUE and its relatives.
fn same_path_call(a: &JsonPathCall, b: &JsonPathCall) -> bool {
    (a.test, a.wrapping, a.omit_quotes, &a.column, a.named)
        == (b.test, b.wrapping, b.omit_quotes, &b.column, b.named)
        && same(&a.document, &b.document)
        && same(&a.path, &b.path)
        && a.passing.len() == b.passing.len()
        && a.passing.iter().zip(&b.passing).all(|(a, b)| a.0 == b.0 && same(&a.1, &b.1))
        && optional(a.domain.as_ref(), b.domain.as_ref())
        && optional(a.on_empty.as_ref(), b.on_empty.as_ref())
        && optional(a.on_error.as_ref(), b.on_error.as_ref())
}

/// Whether two literals are one, to the last bit: not a number is itself, and 0 is not -0.
fn same_value(a: &Value, b: &Value) -> bool {
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b));
    match (a, b) {
        (Value::Float8(a), Value::Float8(b)) => a.to_bits() == b.to_bits(),
        (Value::Float4(a), Value::Float4(b)) => a.to_bits() == b.to_bits(),
        (Value::Array(a), Value::Array(b)) => a.dimensions() == b.dimensions() && all(a, b),
        (Value::Record(a), Value::Record(b)) => all(a, b),
        (a, b) => a == b,
    }
}

/// The same of what need not be there.
pub(super) fn optional(a: Option<&TypedExpr>, b: Option<&TypedExpr>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same(a, b),
        _ => false,
    }
}

/// The columns used, in the table's order; the expressions are renumbered to them.
pub(super) fn prune(exprs: &mut [&mut TypedExpr]) -> Vec<usize> {
    let mut used = Vec::new();
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |column| {
            used.push(column);
            column
        });
    }
    used.sort_unstable();
    used.dedup();
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |column| used.binary_search(&column).unwrap_or(column));
    }
    used
}
