//! Set-returning functions beside the columns of the input.
//!
//! S1. For each row of the input as many rows come out as the longest of its functions yields; shorter ones are padded
//!     with NULLs, and without any row of a function the row of the input is gone.

use verso_types::{Batch, SqlType, Value};

use super::function_rows::{FunctionRows, call_rows};
use super::operator::Operator;
use super::{BATCH_ROWS, ExecContext};
use crate::error::Result;
use crate::expr::{Executor, ExprList, RowInput};
use crate::plan::{SetCall, SetColumns};

/// Yields the input's columns, those of the functions, and perhaps a number.
pub(crate) struct SetProjectOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    /// The row of the batch whose functions are running, and the row behind it otherwise.
    row: usize,
    calls: Vec<Running>,
    running: bool,
    ordinality: bool,
    /// Rows made of the current one.
    number: i64,
}

struct Running {
    call: SetCall,
    args: ExprList,
    types: Vec<SqlType>,
    rows: FunctionRows,
    /// Rows of it that are still to be yielded, and how far it is in them.
    batch: Batch,
    next: usize,
}

impl Running {
    /// Whether there is a row at `next`.
    fn has_row(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        while self.next >= self.batch.rows {
            self.next = 0;
            self.batch.clear();
            if !self.rows.next(&mut self.batch, &self.types)? {
                self.rows = FunctionRows::None;
                return Ok(false);
            }
            cx.check_cancelled()?;
        }
        Ok(true)
    }
}

impl SetProjectOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        calls: &[SetColumns],
        ordinality: bool,
        _: Executor,
    ) -> Self {
        let calls = calls
            .iter()
            .map(|SetColumns { call, columns }| {
                let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
                Running {
                    call: call.clone(),
                    args: ExprList::compile(call.args(), Executor::Row), // one row each: closures
                    batch: Batch::of_types(&types),
                    types,
                    rows: FunctionRows::None,
                    next: 0,
                }
            })
            .collect();
        Self { input, batch: Batch::of_types(types), row: 0, calls, running: false, ordinality, number: 0 }
    }

    /// Starts the functions for the next row of the input. False at the end.
    fn start(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        while self.row >= self.batch.rows {
            self.row = 0;
            if !self.input.next(cx, &mut self.batch)? {
                self.batch.clear();
                return Ok(false);
            }
        }
        let input = RowInput::new(&self.batch, self.row);
        for running in &mut self.calls {
            let args: Vec<Value> = running.args.eval_row(&cx.eval(), input)?;
            running.rows = call_rows(cx, &running.call, args, &running.types)?;
            running.batch.clear();
            running.next = 0;
        }
        (self.running, self.number) = (true, 0);
        Ok(true)
    }

    /// Adds the next row of the functions. False where all of them have ended.
    fn push(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let mut any = false;
        let mut there = Vec::with_capacity(self.calls.len());
        for running in &mut self.calls {
            let has_row = running.has_row(cx)?;
            there.push(has_row);
            any |= has_row;
        }
        if !any {
            return Ok(false);
        }
        self.number += 1;
        let mut columns = out.columns.iter_mut();
        for (from, to) in self.batch.columns.iter().zip(&mut columns) {
            to.append_range(from, self.row..self.row + 1);
        }
        for (running, there) in self.calls.iter_mut().zip(there) {
            for from in &running.batch.columns {
                let Some(to) = columns.next() else { break };
                if there {
                    to.append_range(from, running.next..running.next + 1);
                } else {
                    to.push_null();
                }
            }
            running.next += usize::from(there);
        }
        if let (true, Some(number)) = (self.ordinality, columns.next()) {
            number.push_value(&Value::Int8(self.number), &SqlType::Int8)?;
        }
        out.rows += 1;
        Ok(true)
    }
}

impl Operator for SetProjectOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        out.clear();
        while out.rows < BATCH_ROWS {
            if !self.running && !self.start(cx)? {
                break;
            }
            if !self.push(cx, out)? {
                self.running = false;
                self.row += 1;
            }
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.input.close();
        self.batch.clear();
        self.row = 0;
        self.running = false;
        for running in &mut self.calls {
            running.rows = FunctionRows::None;
            running.batch.clear();
        }
    }
}
