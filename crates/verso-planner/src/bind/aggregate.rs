//! Grouping: what stands above the aggregation may use the keys and the aggregates, nothing else.

use verso_exec::plan::{ExprKind, TypedExpr};

use super::context::AGGREGATE_BASE;
use super::walk::same;
use crate::errors::{SqlError, sqlstate};

/// Rewrites an expression over the input into one over keys (first) and aggregates (behind them).
///
/// `columns` tells, for columns used plainly, where and under which name: for the error.
pub fn over_groups(
    expr: &mut TypedExpr,
    keys: &[TypedExpr],
    columns: &[(usize, u32, String)],
) -> Result<(), SqlError> {
    if let Some(key) = keys.iter().position(|key| same(key, expr)) {
        expr.kind = ExprKind::Column(key);
        return Ok(());
    }
    match &mut expr.kind {
        ExprKind::Column(column) if *column >= AGGREGATE_BASE => {
            *column = *column - AGGREGATE_BASE + keys.len();
            Ok(())
        }
        ExprKind::Column(column) => {
            let used = columns.iter().find(|(index, _, _)| index == column);
            let (at, name) = used.map_or((0, ""), |(_, at, name)| (*at, name.as_str()));
            let text = format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            );
            Err(SqlError::new(sqlstate::GROUPING_ERROR, text).at(at))
        }
        _ => {
            let mut result = Ok(());
            expr.for_each_child_mut(&mut |child| {
                if result.is_ok() {
                    result = over_groups(child, keys, columns);
                }
            });
            result
        }
    }
}
