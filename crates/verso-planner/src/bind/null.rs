//! Which columns of a plan have no NULL.

use verso_catalog::SystemView;
use verso_exec::plan::{ExprKind as K, JoinKind, Plan, TypedExpr};
use verso_types::SqlType;

/// Whether an expression over a plan's columns may be NULL.
pub(crate) fn may_be_null(plan: &Plan, expr: &TypedExpr) -> bool {
    let K::Column(column) = expr.kind else { return true };
    let below = |plan: &Plan, column: usize| may_be_null(plan, &TypedExpr::column(column, expr.ty.clone()));
    match plan {
        Plan::TableScan { table, columns, .. } => {
            let column = columns.get(column).copied().filter(|at| *at < table.columns.len());
            column.is_none_or(|at| !table.is_never_null(at))
        }
        // What a row of a catalog is about.
        Plan::SystemScan { view, columns, output, .. } => {
            let known = |name: &str| name == "oid" || name == "objoid" || name.ends_with("relid");
            let declared = match (view, columns.get(column)) {
                (SystemView::Relation(relation), Some(at)) => relation.get().columns[*at].not_null,
                _ => false,
            };
            output
                .get(column)
                .is_none_or(|column| column.ty != SqlType::Oid || !(declared || known(&column.name)))
        }
        Plan::Filter { input, .. } | Plan::Sort { input, .. } => below(input, column),
        Plan::Shared { plan, .. } => below(plan, column),
        Plan::Project { input, exprs, .. } => may_be_null(input, &exprs[column]),
        Plan::Join { left, right, kind: JoinKind::Inner, .. } => {
            let width = left.output().len();
            if column < width { below(left, column) } else { below(right, column - width) }
        }
        _ => true,
    }
}
