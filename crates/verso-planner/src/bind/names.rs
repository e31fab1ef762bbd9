//! What an output column without an alias is called: PostgreSQL's `FigureColname`.

use verso_parser::syntax::{Expr, ExprKind, Query, QueryBody, SelectItem};
use verso_types::SqlType;

/// The name; `?column?` where nothing suggests one.
pub fn output_name(expr: &Expr) -> String {
    output_name_with(expr, &first_column)
}

/// The same where `column` says what the one column of a query is called.
pub(super) fn output_name_with(expr: &Expr, column: &dyn Fn(&Query) -> Option<String>) -> String {
    figure(expr, column).map_or_else(|| "?column?".to_string(), |(name, _)| name)
}

/// What PostgreSQL calls an expression of an index.
pub fn index_name(expr: &Expr) -> String {
    figure(expr, &first_column).map_or_else(|| "expr".to_string(), |(name, _)| name)
}

/// A name and how much it is worth: 2 from a column or function, 1 from a type or CASE.
fn figure(expr: &Expr, column: &dyn Fn(&Query) -> Option<String>) -> Option<(String, u8)> {
    match &expr.kind {
        ExprKind::Column(parts) => {
            parts.iter().rev().find(|name| name.text != "*").map(|name| (name.text.clone(), 2))
        }
        ExprKind::Call(call) => Some((call.name.name.text.clone(), 2)),
        ExprKind::Subscript { array, index: _ } => figure(array, column),
        ExprKind::Cast { arg, ty, at_type: _ } => {
            figure(arg, column).filter(|(_, worth)| *worth > 1).or_else(|| Some((type_name(ty), 1)))
        }
        ExprKind::Case { operand: _, branches: _, otherwise } => otherwise
            .as_deref()
            .and_then(|expr| figure(expr, column))
            .filter(|(_, worth)| *worth > 1)
            .or_else(|| Some(("case".to_string(), 1))),
        ExprKind::Array(_) => Some(("array".to_string(), 2)),
        ExprKind::Subquery(query) => column(query).map(|name| (name, 2)),
        ExprKind::Exists(_) => Some(("exists".to_string(), 2)),
        ExprKind::ArraySubquery(_) => Some(("array".to_string(), 2)),
        ExprKind::Field { arg: _, name } => Some((name.text.clone(), 2)),
        ExprKind::Slice { array, .. } => figure(array, column),
        ExprKind::Collate { arg, .. } => figure(arg, column),
        ExprKind::Json(form) => Some((form.name().to_string(), 2)),
        ExprKind::Row(_) => Some(("row".to_string(), 2)),
        ExprKind::InSubquery { .. }
        | ExprKind::QuantifiedSubquery { .. }
        | ExprKind::SimilarTo { .. }
        | ExprKind::IsJson { .. }
        | ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Unary { .. }
        | ExprKind::Binary { .. }
        | ExprKind::And(_)
        | ExprKind::Or(_)
        | ExprKind::Not(_)
        | ExprKind::IsNull { .. }
        | ExprKind::IsTruth { .. }
        | ExprKind::IsDistinct { .. }
        | ExprKind::InList { .. }
        | ExprKind::Between { .. }
        | ExprKind::Like { .. }
        | ExprKind::Default => None,
    }
}

/// The name of a query's first column, where its text says it; one without a name counts as a name, as in PostgreSQL.
pub(super) fn first_column(query: &Query) -> Option<String> {
    match &query.body {
        QueryBody::Select(select) => match select.items.first()? {
            SelectItem::Expr { alias: Some(alias), expr: _ } => Some(alias.text.clone()),
            SelectItem::Expr { expr, alias: None } => Some(output_name(expr)),
            SelectItem::Wildcard { .. } | SelectItem::Fields { .. } => None,
        },
        QueryBody::Values(_) => Some("column1".to_owned()),
        QueryBody::Nested(query) | QueryBody::Set { left: query, .. } => first_column(query),
        QueryBody::Change(_) => None,
    }
}

fn type_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Array(element) => type_name(element),
        other => other.without_modifiers().internal_name(),
    }
}
