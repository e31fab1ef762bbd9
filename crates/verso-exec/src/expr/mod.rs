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

mod constant;
mod fold;
pub(crate) mod like;
pub(crate) mod list;
mod repeated;
mod row;
#[cfg(test)]
pub(crate) mod tests;
mod vector;

pub(crate) use fold::{FoldState, FoldSteps};
pub use list::{Executor, ExprList, Predicate};
pub(crate) use repeated::Repeated;
pub(crate) use row::types_of;
pub use row::{RowExpr, RowInput};

use crate::plan::{ExprKind, TypedExpr};

/// Whether a column occurs in the expression.
pub(crate) fn depends_on_row(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, ExprKind::Column(_)))
}
