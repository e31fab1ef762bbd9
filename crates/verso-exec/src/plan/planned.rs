//! What PostgreSQL computes of an expression or a query while it plans it, so that an error of it comes before the first row.

use verso_types::SqlType;

use super::{ExprKind, Plan, TypedExpr};
use crate::functions::Volatility;

/// The largest parts of an expression of PL/pgSQL that are computed in planning: constant ones.
#[must_use]
pub fn planned_of_expression(expr: &TypedExpr) -> Vec<TypedExpr> {
    let mut planned = Vec::new();
    gather(expr, false, &mut planned);
    planned
}

/// The same of a query whose plan is made for the values of its parameters.
#[must_use]
pub fn planned_of_query(plan: &Plan) -> Vec<TypedExpr> {
    let mut planned = Vec::new();
    plan.any(&mut |plan: &Plan| {
        plan.exprs().into_iter().for_each(|expr| gather(expr, true, &mut planned));
        false
    });
    planned
}

fn gather(expr: &TypedExpr, with_variables: bool, planned: &mut Vec<TypedExpr>) {
    let computes = matches!(expr.kind, ExprKind::Call { .. } | ExprKind::Cast { .. });
    if computes && is_planned(expr, with_variables) {
        return planned.push(expr.clone());
    }
    expr.for_each_child(&mut |child| gather(child, with_variables, planned));
}

/// Whether nothing in it but constants, and variables where a plan is made for their values, decides its value.
fn is_planned(expr: &TypedExpr, with_variables: bool) -> bool {
    let mut all = match &expr.kind {
        ExprKind::Call { function, .. } => function.volatility == Volatility::Immutable,
        // Output functions of these heed settings.
        ExprKind::Cast { arg, .. } => {
            !(matches!(arg.ty, SqlType::Array(_)) || arg.ty.is_row() || arg.ty.has_times())
        }
        ExprKind::Parameter(_) => with_variables,
        ExprKind::Column(_)
        | ExprKind::Outer(_)
        | ExprKind::Subquery { .. }
        | ExprKind::UserCall { .. }
        | ExprKind::Domain { .. }
        | ExprKind::Fold { .. } => false,
        _ => true,
    };
    expr.for_each_child(&mut |child| all = all && is_planned(child, with_variables));
    all
}
