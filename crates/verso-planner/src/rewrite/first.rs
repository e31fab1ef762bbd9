//! Queries that want the first rows of an order which an index has: they read no more than these.
//!
//! ```text
//! SELECT … FROM b WHERE b.x = row.x AND b.t > row.t ORDER BY b.t LIMIT 1      an index on (x, t): one row
//! ```

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{ExprKind as K, Plan, SortKey, TypedExpr};
use verso_types::Value;

use crate::estimate::Estimate;
use crate::plan::has_order;

/// Rows that are wanted where their number is not known yet.
const SOME: f64 = 10.0;

/// The table whose first rows a query wants, in an order that an index of it has; and which share of the rows that the query
/// would yield without LIMIT these are.
pub(super) fn first_rows(query: &Plan, estimate: Estimate<'_>) -> Option<(Arc<TableDef>, f64)> {
    let (number, keys, sorted) = limited(query)?;
    let mut scan = sorted.clone();
    let table = settled(&mut scan)?;
    let share = number / estimate.rows(&scan).max(1.0);
    (share < 1.0 && has_order(&scan, keys, estimate)).then_some((table, share))
}

/// `LIMIT n` over `ORDER BY`: how many, by what, of which rows.
fn limited(plan: &Plan) -> Option<(f64, &[SortKey], &Plan)> {
    match plan {
        Plan::Project { input, .. } => limited(input),
        Plan::Limit { input, limit: Some(limit), offset: None, ties } if ties.is_empty() => {
            let number = match value(limit) {
                Some(Value::Int8(number)) => *number as f64,
                _ => SOME,
            };
            let (keys, sorted) = ordered(input)?;
            Some((number.max(1.0), keys, sorted))
        }
        _ => None,
    }
}

fn ordered(plan: &Plan) -> Option<(&[SortKey], &Plan)> {
    match plan {
        Plan::Project { input, .. } => ordered(input),
        Plan::Sort { input, keys, .. } => Some((keys, input)),
        _ => None,
    }
}

fn value(expr: &TypedExpr) -> Option<&Value> {
    match &expr.kind {
        K::Literal(value) => Some(value),
        K::Cast { arg, .. } => value(arg),
        _ => None,
    }
}

/// Puts the conditions over a scan into it; the table, where nothing but projections stands above.
fn settled(plan: &mut Plan) -> Option<Arc<TableDef>> {
    match plan {
        Plan::TableScan { table, .. } => Some(Arc::clone(table)),
        Plan::Project { input, .. } => settled(input),
        Plan::Filter { input, predicate } => {
            let Plan::TableScan { filter, .. } = &mut **input else { return None };
            *filter = TypedExpr::conjunction(filter.take().into_iter().chain([predicate.clone()]).collect());
            *plan = std::mem::replace(&mut **input, super::nothing());
            settled(plan)
        }
        _ => None,
    }
}
