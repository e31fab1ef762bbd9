//! Conditions that may do something each time they are asked (volatile ones): asked of one row after the other, and of no more
//! rows than are needed for those wanted.
//!
//! ```text
//! EXISTS (SELECT FROM t WHERE f(t.id))     f is called until it says true, as in PostgreSQL
//! SELECT … FROM t WHERE f(t.id) LIMIT 3    until it has done so three times
//! ```

use verso_env::stack;
use verso_storage::work;
use verso_types::Batch;

use super::aside::{reads_tables, set_input_aside};
use super::operator::{Bounded, Operator};
use super::{ExecContext, KEEP_BYTES};
use crate::error::Result;
use crate::expr::{Executor, Predicate};
use crate::memory::Memory;
use crate::plan::{Plan, TypedExpr};

/// Keeps the rows for which a volatile condition is true.
pub(crate) struct StepwiseOperator {
    input: Box<dyn Operator>,
    predicate: Predicate,
    /// Rows of the input, and the first that the condition has not been asked of.
    batch: Batch,
    next: usize,
    selection: Vec<u32>,
    bounded: Bounded,
    /// Rows left out are told as those of a scan, whose condition this is.
    of_scan: bool,
    /// The condition reads tables by itself.
    reads: bool,
}

impl StepwiseOperator {
    pub fn new(
        input: Box<dyn Operator>,
        batch: Batch,
        predicate: &TypedExpr,
        of_scan: bool,
        executor: Executor,
    ) -> Self {
        Self {
            input,
            predicate: Predicate::compile(predicate, executor),
            batch,
            next: 0,
            selection: Vec::new(),
            bounded: Bounded::default(),
            of_scan,
            reads: reads_tables(predicate),
        }
    }
}

impl Operator for StepwiseOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.batch.clear();
        self.next = 0;
        self.bounded = Bounded::default();
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bounded.set(rows);
    }

    fn keep_order(&mut self) -> bool {
        self.input.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bounded.begin()?;
        let wanted = bound.map_or(usize::MAX, |rows| usize::try_from(rows).unwrap_or(usize::MAX).max(1));
        loop {
            if self.next >= self.batch.rows {
                if bound.is_some() {
                    self.input.bound(1); // one row may be enough
                }
                if !self.input.next(cx, &mut self.batch)? {
                    return Ok(false);
                }
                self.next = 0;
            }
            let first = self.next;
            let rows = first..self.batch.rows;
            let (end, error) =
                self.predicate.select_some(&cx.eval(), &self.batch, rows, wanted, &mut self.selection);
            self.next = end;
            if let Some(error) = error {
                self.next = self.batch.rows;
                self.bounded.failed(error, self.selection.len(), bound)?;
            }
            if self.of_scan {
                work::removed((end - first).saturating_sub(self.selection.len()));
            }
            if self.selection.is_empty() {
                continue;
            }
            if first == 0 && end == self.batch.rows {
                std::mem::swap(out, &mut self.batch);
                out.filter(&self.selection);
                self.batch.clear();
                self.next = 0;
            } else {
                out.clear();
                out.append(&self.batch.gather(&self.selection));
            }
            return Ok(true);
        }
    }

    fn can_set_aside(&self) -> bool {
        !self.reads
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        if self.input.can_set_aside() {
            return self.input.set_aside(cx, memory, plan);
        }
        let mut empty = self.batch.clone();
        empty.clear();
        set_input_aside(&mut self.input, cx, &empty, memory)
    }

    fn close(&mut self) {
        self.batch.recycle(KEEP_BYTES);
        self.next = 0;
        self.bounded = Bounded::default();
        self.input.close();
    }
}
