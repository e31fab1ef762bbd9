//! Expressions over rows that somebody else reads: who copies a table row by row computes its new columns so.

use verso_types::Batch;

use super::context::ExecContext;
use crate::error::Result;
use crate::expr::{Executor, ExprList};
use crate::plan::TypedExpr;

/// Expressions, compiled, and room for what they yield.
pub struct Computed {
    exprs: ExprList,
    rows: Batch,
}

impl Computed {
    /// Compiles the expressions.
    #[must_use]
    pub fn compile(exprs: &[TypedExpr], executor: Executor) -> Computed {
        let exprs = ExprList::compile(exprs, executor);
        let rows = Batch::of_types(exprs.types());
        Computed { exprs, rows }
    }

    /// The expressions' values for each of the rows, one column each.
    ///
    /// # Errors
    /// Those of the expressions, of the first row that has one.
    pub fn of(&mut self, cx: &ExecContext<'_>, rows: &Batch) -> Result<&Batch> {
        self.exprs.eval(&cx.eval(), rows, &mut self.rows)?;
        Ok(&self.rows)
    }
}
