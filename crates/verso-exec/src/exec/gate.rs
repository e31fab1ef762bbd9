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
use crate::error::Result;
use crate::expr::{Executor, Predicate};
use crate::plan::TypedExpr;

/// An operator that is opened where a condition holds.
pub(crate) struct GateOperator {
    condition: Predicate,
    input: Box<dyn Operator>,
    selection: Vec<u32>,
    is_open: bool,
    /// Workers may ask it.
    is_safe: bool,
}

impl GateOperator {
    pub fn new(condition: &TypedExpr, input: Box<dyn Operator>, executor: Executor) -> Self {
        Self {
            is_safe: condition.is_parallel_safe(),
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
        self.is_open = false;
        if let Some(error) = self.condition.select(&cx.eval(), &ONE_ROW, &mut self.selection) {
            return Err(error);
        }
        if !self.selection.is_empty() {
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
            return self.input.next(cx, out);
        }
        out.clear();
        Ok(false)
    }

    fn shareable(&self) -> Option<u64> {
        if self.is_open { self.input.shareable() } else { None }
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
        let copy = Self { condition, input, selection: Vec::new(), is_open: false, is_safe: self.is_safe };
        Ok(Box::new(copy))
    }

    fn close(&mut self) {
        self.is_open = false;
        self.input.close();
    }
}
