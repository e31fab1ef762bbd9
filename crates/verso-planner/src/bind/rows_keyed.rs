//! Rows, and arrays of rows, with keys in place of the texts within them ([`Within`]): what compares rows compares these (L4 of
//! [`super::collate`]).
//!
//! ```text
//! ORDER BY t      ─►  ORDER BY key(t), a row of what the fields are, or of their keys
//! max(t)          ─►  (max(ROW(key(t), t))).f2
//! t = ANY (ts)    ─►  key(t) = ANY (keys of the elements)
//! ```

use std::sync::Arc;

use verso_env::stack;
use verso_exec::functions::collations;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{RowType, SqlType, Within};

use super::collate::is_keyed;
use super::row::with_fields;

/// How the texts within a row, or an array of rows, are compared: a composite type says it of its fields, a row that is written has the
/// collations of its parts.
pub(super) fn within(expr: &TypedExpr) -> Option<Within> {
    // What nests deeper than the stack allows is refused elsewhere.
    if stack::check().is_err() {
        return Within::of(&expr.ty);
    }
    match (&expr.ty, &expr.kind) {
        (SqlType::Row(row), _) if row.of.is_some() => Within::of(&expr.ty),
        (_, K::Row(parts)) => Within::of_fields(parts.iter().map(within_part).collect()),
        (SqlType::Array(element), K::Array(items)) if is_open_row(element) => {
            let elements = items.iter().map(within).reduce(Within::and)??;
            Some(Within::Elements(Box::new(elements)))
        }
        (ty, K::Cast { arg, .. }) if is_open_row(ty) => within(arg),
        _ => Within::of(&expr.ty),
    }
}

/// A row of no composite type.
fn is_open_row(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Record) || matches!(ty, SqlType::Row(row) if row.of.is_none())
}

/// The same of a part of a row.
fn within_part(part: &TypedExpr) -> Option<Within> {
    let own = part.ty.own_collation().cloned();
    let derived = || part.collation.kept().filter(|_| part.ty.is_collatable());
    match own.or_else(derived) {
        Some(collation) => Within::of_text(&part.ty, &collation),
        None => within(part),
    }
}

/// Whether nothing is known of the fields of a row, or of rows in an array.
fn says_nothing(expr: &TypedExpr) -> bool {
    let of_rows = match &expr.ty {
        SqlType::Array(element) => **element == SqlType::Record,
        ty => *ty == SqlType::Record,
    };
    of_rows && !matches!(expr.kind, K::Row(_) | K::Array(_) | K::Cast { .. })
}

/// Rows, or arrays of rows, with keys in place of their texts, where they are to be compared by such; `of_elements`: the last one is an
/// array of what the first is compared with.
pub(super) fn rows_keyed(exprs: &[TypedExpr], is_order: bool, of_elements: bool) -> Option<Vec<TypedExpr>> {
    let is_array = |at: usize| of_elements && at + 1 == exprs.len();
    let each = |(at, expr): (usize, &TypedExpr)| match within(expr) {
        Some(Within::Elements(element)) if is_array(at) => Some(*element),
        found => found,
    };
    let told = exprs.iter().enumerate().filter(|(_, expr)| !says_nothing(expr));
    let within = told.map(each).reduce(Within::and)??;
    if !is_order && !within.is_coarse() {
        return None;
    }
    let keyed = |(at, expr): (usize, &TypedExpr)| match is_array(at) {
        true => collations::keyed_within(expr.clone(), &Within::Elements(Box::new(within.clone()))),
        false => collations::keyed_within(with_fields(expr.clone()), &within),
    };
    Some(exprs.iter().enumerate().map(keyed).collect())
}

/// The same of one.
pub(super) fn row_keyed(expr: &TypedExpr, is_order: bool) -> Option<TypedExpr> {
    rows_keyed(std::slice::from_ref(expr), is_order, false)?.pop()
}

/// A row or array behind its key, which does not say it; NULL where it is.
pub(super) fn beside_key(key: TypedExpr, value: TypedExpr) -> TypedExpr {
    let value = with_fields(value);
    let fields = vec![("f1".into(), key.ty.clone()), ("f2".into(), value.ty.clone())];
    let ty = SqlType::Row(Arc::new(RowType::unnamed(fields)));
    let there = TypedExpr::is_there(value.clone());
    let pair = TypedExpr::new(K::Row(vec![key, value]), ty.clone());
    TypedExpr::new(K::Case { branches: vec![(there, pair)], otherwise: None }, ty)
}

/// What stands behind its key so.
pub(super) fn value_beside(expr: &TypedExpr) -> Option<&TypedExpr> {
    let K::Case { branches, otherwise: None } = &expr.kind else { return None };
    let [(_, TypedExpr { kind: K::Row(pair), .. })] = branches.as_slice() else { return None };
    let [key, value] = pair.as_slice() else { return None };
    is_keyed(key).then_some(value)
}
