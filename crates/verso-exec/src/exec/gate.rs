//! Conditions in which no column of a row stands: asked once, before the input is opened. Where they are not true the input
//! is never read.
//!
//! ```text
//! SELECT … FROM b WHERE b.x > 5 AND a.y IS NULL    of a row of a: one look at a.y, then perhaps a scan of b
//! ```

use std::sync::Arc;

use verso_env::stack;
use verso_types::Batch;

use super::ExecContext;
use super::filter::{KeyFilter, Reach};
use super::operator::Operator;
use super::source::ONE_ROW;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, Predicate};
use crate::plan::{ExprKind, TypedExpr};

/// An operator that is opened where a condition holds.
pub(crate) struct GateOperator {
    condition: Predicate,
    input: Box<dyn Operator>,
    selection: Vec<u32>,
    is_open: bool,
    /// Workers may ask it.
    is_safe: bool,
    /// It hangs on the row of a query around it, of which it may never be asked: an error is told where there is a row to ask it for.
    is_of_a_row: bool,
    error: Option<ExecError>,
}

impl GateOperator {
    pub fn new(condition: &TypedExpr, input: Box<dyn Operator>, executor: Executor) -> Self {
        Self {
            is_safe: condition.is_parallel_safe(),
            is_of_a_row: condition.any(&mut |part| matches!(part.kind, ExprKind::Outer(_))),
            error: None,
            condition: Predicate::compile(condition, executor),
            input,
            selection: Vec::new(),
            is_open: false,
        }
    }
}

impl Operator for GateOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        (self.is_open, self.error) = (false, None);
        match self.condition.select(&cx.eval(), &ONE_ROW, &mut self.selection) {
            Some(error) if !self.is_of_a_row => return Err(error),
            error => self.error = error,
        }
        if self.error.is_some() || !self.selection.is_empty() {
            self.input.open(cx)?;
            self.is_open = true;
        }
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        self.input.bound(rows);
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        if self.is_open {
            self.input.restrict(column, filter);
        }
    }

    fn reach(&self, column: usize) -> Reach {
        if self.is_open { self.input.reach(column) } else { Reach::Nowhere }
    }

    fn keep_order(&mut self) -> bool {
        !self.is_open || self.input.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.is_open {
            let more = self.input.next(cx, out)?;
            return match self.error.take_if(|_| more && out.rows > 0) {
                Some(error) => Err(error),
                None => Ok(more),
            };
        }
        out.clear();
        Ok(false)
    }

    fn shareable(&self) -> Option<u64> {
        if self.is_open && self.error.is_none() { self.input.shareable() } else { None }
    }

    // The condition holds for all parts.
    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        self.input.split(cx, parts)
    }

    fn is_portable(&self) -> bool {
        self.is_safe && self.input.is_portable()
    }

    fn copy(&self, cx: &ExecContext<'_>) -> Result<Box<dyn Operator>> {
        let (condition, input) = (self.condition.clone(), self.input.copy(cx)?);
        Ok(Box::new(Self {
            condition,
            input,
            selection: Vec::new(),
            is_open: false,
            is_safe: self.is_safe,
            is_of_a_row: self.is_of_a_row,
            error: None,
        }))
    }

    fn close(&mut self) {
        (self.is_open, self.error) = (false, None);
        self.input.close();
    }
}
