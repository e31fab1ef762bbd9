//! Aggregates of the different values of one expression, as aggregates over groups: `count(DISTINCT x)` counts the groups of `x`.
//!
//! ```text
//! GROUP BY a: count(DISTINCT x)   ─►   GROUP BY a: count(x) ─ GROUP BY a, x
//! ```
//!
//! The groups are found by several threads and go to files where they are many; values gathered in an aggregate do neither.

use verso_exec::functions::AggregateKind;
use verso_exec::plan::{AggregateCall, ExprKind, Plan, TypedExpr};
use verso_types::SqlType;

use super::nothing;
use crate::bind::same;

/// Rewrites a plan of aggregates over different values.
pub(super) fn by_groups(plan: &mut Plan) {
    let Plan::Aggregate { input, group_by, aggregates, sets: None } = plan else { return };
    let Some(arg) = only_argument(aggregates) else { return };
    let has_query = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }));
    if has_query(arg) || arg.is_volatile() || group_by.iter().any(|key| has_query(key) || key.is_volatile()) {
        return;
    }
    let keys: Vec<TypedExpr> = group_by.iter().chain([arg]).cloned().collect();
    let column = |(at, key): (usize, &TypedExpr)| {
        let mut column = TypedExpr::column(at, key.ty.clone());
        column.collation = key.collation.clone();
        column
    };
    let mut columns: Vec<TypedExpr> = keys.iter().enumerate().map(column).collect();
    let Some(value) = columns.pop() else { return };
    for call in aggregates {
        call.distinct = false;
        call.args = vec![value.clone()];
    }
    *group_by = columns;
    let below = std::mem::replace(&mut **input, nothing());
    **input = Plan::Aggregate { input: Box::new(below), group_by: keys, aggregates: Vec::new(), sets: None };
}

/// What all of these aggregate the different values of, where their order does not matter.
fn only_argument(aggregates: &[AggregateCall]) -> Option<&TypedExpr> {
    let first = aggregates.first()?.args.first()?;
    let is_one = |call: &AggregateCall| {
        let is_exact =
            matches!(first.ty, SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Numeric(_));
        let fits = match call.function.kind {
            AggregateKind::Count => is_exact || is_plain(&first.ty),
            // Of numbers of several scales the largest one shows, whichever of the equal ones came first.
            AggregateKind::Sum | AggregateKind::Avg => {
                is_exact && !matches!(first.ty, SqlType::Numeric(None))
            }
            _ => false,
        };
        fits && call.distinct
            && call.filter.is_none()
            && call.order_by.is_empty()
            && call.direct.is_empty()
            && matches!(call.args.as_slice(), [arg] if same(arg, first))
    };
    aggregates.iter().all(is_one).then_some(first)
}

/// Types whose values are equal where their bytes are.
fn is_plain(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Bytea
            | SqlType::Date
            | SqlType::Timestamp(_)
            | SqlType::Timestamptz(_)
            | SqlType::Uuid
            | SqlType::Bool
    )
}
