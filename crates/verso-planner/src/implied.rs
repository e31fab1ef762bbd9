//! Whether a condition of a query says that the condition of a partial index is true: then the index has all rows wanted.
//!
//! The proof is by shape: equal conjuncts, branches of OR, ranges and lists of constants over one expression, and what is not
//! NULL because a comparison with it is true. What cannot be proved so is not used.
//!
//! Source: `src/backend/optimizer/util/predtest.c` of PostgreSQL.

use std::cmp::Ordering;

use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{SqlType, Value, cmp_sql};

use crate::bind::same;

/// Whether rows for which all of `given` are true fulfil `wanted`.
pub(crate) fn implied(given: &[&TypedExpr], wanted: &TypedExpr) -> bool {
    if verso_env::stack::check().is_err() {
        return false;
    }
    if let K::And(parts) = &wanted.kind {
        return parts.iter().all(|part| implied(given, part));
    }
    if given.iter().any(|one| from_one(one, wanted)) {
        return true;
    }
    match &wanted.kind {
        K::Or(branches) => branches.iter().any(|branch| implied(given, branch)),
        _ => false,
    }
}

/// Whether one true condition is enough.
fn from_one(given: &TypedExpr, wanted: &TypedExpr) -> bool {
    if same(given, wanted) {
        return true;
    }
    match &given.kind {
        K::And(parts) => return parts.iter().any(|part| from_one(part, wanted)),
        K::Or(branches) => return branches.iter().all(|branch| implied(&[branch], wanted)),
        _ => {}
    }
    match &wanted.kind {
        // A row with a NULL there would not have fulfilled what is given. A composite value with NULL fields may have.
        K::IsNull { arg, negated: true } if !arg.ty.is_row() => needs(given, arg),
        K::IsBool { arg, value: Some(true), negated: false } => from_one(given, arg),
        _ => match (compared(given), compared(wanted)) {
            (Some((one, values)), Some((other, limits))) => {
                same(one, other) && values.iter().all(|value| limits.iter().any(|limit| within(value, limit)))
            }
            _ => false,
        },
    }
}

/// Whether a condition that is true says that an expression is not NULL.
fn needs(given: &TypedExpr, wanted: &TypedExpr) -> bool {
    match &given.kind {
        K::IsNull { arg, negated: true } => null_with(arg, wanted),
        _ => null_with(given, wanted),
    }
}

/// Operators that give NULL for a NULL.
const STRICT: [&str; 11] = ["=", "<>", "<", ">", "<=", ">=", "+", "-", "*", "/", "%"];

/// Whether an expression is NULL where another one within it is.
fn null_with(expr: &TypedExpr, wanted: &TypedExpr) -> bool {
    if same(expr, wanted) {
        return true;
    }
    match &expr.kind {
        K::Call { function, args }
            if function.operator.is_some_and(|operator| STRICT.contains(&operator)) =>
        {
            args.iter().any(|arg| null_with(arg, wanted))
        }
        K::Cast { arg, .. } | K::InList { arg, .. } | K::Like { arg, .. } => null_with(arg, wanted),
        _ => false,
    }
}

/// A comparison with a constant.
struct Limit<'e> {
    operator: &'e str,
    value: &'e Value,
}

/// What is compared, and with which constants, of which one fits.
fn compared(expr: &TypedExpr) -> Option<(&TypedExpr, Vec<Limit<'_>>)> {
    match &expr.kind {
        K::Call { function, args } => {
            let operator = function.comparison()?;
            let [left, right] = args.as_slice() else { return None };
            // Blanks at the end do not count in these.
            if matches!(left.ty, SqlType::Char(_)) || matches!(right.ty, SqlType::Char(_)) {
                return None;
            }
            if let Some(value) = constant(right) {
                return Some((left, vec![Limit { operator, value }]));
            }
            let operator = match operator {
                "=" => "=",
                "<>" => "<>",
                "<" => ">",
                ">" => "<",
                "<=" => ">=",
                ">=" => "<=",
                _ => return None,
            };
            Some((right, vec![Limit { operator, value: constant(left)? }]))
        }
        K::InList { arg, list, negated: false } if !matches!(arg.ty, SqlType::Char(_)) => {
            let limit = |item| Some(Limit { operator: "=", value: constant(item)? });
            Some((arg, list.iter().map(limit).collect::<Option<_>>()?))
        }
        _ => None,
    }
}

fn constant(expr: &TypedExpr) -> Option<&Value> {
    match &expr.kind {
        K::Literal(value) if !value.is_null() => Some(value),
        _ => None,
    }
}

/// The order of two constants of one kind.
fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => (std::mem::discriminant(a) == std::mem::discriminant(b)).then(|| cmp_sql(a, b)),
    }
}

fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Int2(value) => Some((*value).into()),
        Value::Int4(value) => Some((*value).into()),
        Value::Int8(value) => Some(*value),
        _ => None,
    }
}

/// Whether what fits one comparison fits the other.
fn within(given: &Limit<'_>, wanted: &Limit<'_>) -> bool {
    let Some(order) = order(given.value, wanted.value) else { return false };
    match (given.operator, wanted.operator) {
        ("=", "=") | ("<>", "<>") => order == Ordering::Equal,
        ("=", "<>") => order != Ordering::Equal,
        ("=" | "<", "<") | ("<", "<>") => order == Ordering::Less || given.operator == "<" && order.is_eq(),
        ("=" | "<" | "<=", "<=") => order.is_le(),
        ("<=", "<" | "<>") => order == Ordering::Less,
        ("=" | ">", ">") | (">", "<>") => {
            order == Ordering::Greater || given.operator == ">" && order.is_eq()
        }
        ("=" | ">" | ">=", ">=") => order.is_ge(),
        (">=", ">" | "<>") => order == Ordering::Greater,
        _ => false,
    }
}
