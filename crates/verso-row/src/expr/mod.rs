//! Expressions made runnable.
//!
//! ```text
//! TypedExpr ─► RowExpr     closures over values, one row at a time: the reference
//!          └─► VectorExpr  kernels over column arrays, one batch at a time
//! ExprList: expressions evaluated together over one batch by either of them
//! ```
//!
//! E1. Both yield the same values and the same error: the one of the first row, and in it of the first
//!     expression, that fails.
//! E2. Volatile functions are called once per row, in row order: a list that has one runs by rows.
//! E3. What depends on no column is evaluated once per batch.

mod like;
mod list;
mod row;
#[cfg(test)]
pub(crate) mod tests;
mod vector;

pub use list::{Executor, ExprList, Predicate};
pub use row::{RowExpr, RowInput};

use crate::functions::Volatility;
use crate::plan::{ExprKind, Plan, SetCall, TypedExpr};

/// Whether a column occurs in the expression.
pub(crate) fn depends_on_row(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, ExprKind::Column(_)))
}

/// Whether a call in the expression has to happen once per row. Functions of users always do: their
/// statements may see what the rows before did.
pub(crate) fn is_volatile(expr: &TypedExpr) -> bool {
    expr.any(&mut is_volatile_part)
}

fn is_volatile_part(part: &TypedExpr) -> bool {
    match &part.kind {
        ExprKind::Call { function, .. } => function.volatility == Volatility::Volatile,
        ExprKind::UserCall { .. } => true,
        ExprKind::Subquery { plan, .. } => is_volatile_plan(plan),
        _ => false,
    }
}

/// Whether running the plan twice may give two answers.
pub(crate) fn is_volatile_plan(plan: &Plan) -> bool {
    plan.any(&mut |part| match part {
        Plan::FunctionScan { call: SetCall::User { .. }, .. } => true,
        Plan::FunctionScan { call: SetCall::Builtin { function, .. }, .. } => {
            function.volatility == Volatility::Volatile
        }
        _ => part.exprs().into_iter().any(|expr| expr.any(&mut is_volatile_part)),
    })
}
