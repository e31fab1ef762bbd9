//! Set-returning functions beside the columns of the input.
//!
//! S1. For each row of the input as many rows come out as the longest of its functions yields; shorter ones are padded
//!     with NULLs, and without any row of a function the row of the input is gone.
//! S2. The columns of the input stand [beside](super::beside) the rows of the functions.

use verso_types::{Batch, SqlType, Value};

use super::beside::Beside;
use super::function_rows::{FunctionRows, call_rows};
use super::operator::{Bounded, Operator};
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::error::Result;
use crate::expr::{Executor, ExprList, RowInput};
use crate::plan::{SetCall, SetColumns};

/// Yields the input's columns, those of the functions, and perhaps a number.
pub(crate) struct SetProjectOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    beside: Beside,
    /// The row of the batch whose functions are running, and the row behind it otherwise.
    row: usize,
    calls: Vec<Running>,
    running: bool,
    ordinality: bool,
    /// Rows made of the current one.
    number: i64,
    /// Functions of it or of its input do something: they are called for no row that may not be wanted.
    steps: bool,
    bounded: Bounded,
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
    /// Whether there is a row at `next`; without one its batch is empty.
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
        unread: &[usize],
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
        Self {
            input,
            batch: Batch::of_types(types),
            beside: Beside::new(types.len(), unread),
            row: 0,
            calls,
            running: false,
            ordinality,
            number: 0,
            steps: false,
            bounded: Bounded::default(),
        }
    }

    /// Where functions of it, or of its input, do something.
    pub fn stepping(self, steps: bool) -> Self {
        Self { steps, ..self }
    }

    /// Starts the functions for the next row of the input. False at the end.
    fn start(&mut self, cx: &ExecContext<'_>, bounded: bool) -> Result<bool> {
        while self.row >= self.batch.rows {
            self.row = 0;
            if bounded {
                self.input.bound(1); // its rows may be enough
            }
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

    /// Adds the next rows, of a further row of the input where those of the one before have ended. False at the end.
    fn add(&mut self, cx: &ExecContext<'_>, bounded: bool, most: usize, out: &mut Batch) -> Result<bool> {
        if !self.running && !self.start(cx, bounded)? {
            return Ok(false);
        }
        if !self.push(cx, most, out)? {
            self.running = false;
            self.row += 1;
        }
        Ok(true)
    }

    /// Adds the next rows of the functions, as many as all that have not ended hold ready, up to `most` in all. False where all have
    /// ended.
    fn push(&mut self, cx: &ExecContext<'_>, most: usize, out: &mut Batch) -> Result<bool> {
        let mut ready = usize::MAX;
        for running in &mut self.calls {
            if running.has_row(cx)? {
                ready = ready.min(running.batch.rows - running.next);
            }
        }
        if ready == usize::MAX {
            return Ok(false);
        }
        let rows = ready.min(most - out.rows).min(self.beside.most(&self.batch, self.row));
        let mut columns = out.columns.iter_mut();
        self.beside.repeat(&self.batch, self.row, rows, &mut columns);
        for running in &mut self.calls {
            let next = running.next;
            let has_rows = next < running.batch.rows;
            for from in &running.batch.columns {
                let Some(to) = columns.next() else { break };
                if has_rows { to.append_range(from, next..next + rows) } else { to.push_nulls(rows) }
            }
            running.next += if has_rows { rows } else { 0 };
        }
        if let (true, Some(numbers)) = (self.ordinality, columns.next()) {
            for number in 1..=rows as i64 {
                numbers.push_value(&Value::Int8(self.number + number), &SqlType::Int8)?;
            }
        }
        self.number += rows as i64;
        out.rows += rows;
        Ok(true)
    }
}

impl Operator for SetProjectOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        if self.steps {
            self.bounded.set(rows);
        }
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        out.clear();
        let bound = self.bounded.begin()?;
        let most = bound.map_or(BATCH_ROWS, |rows| rows.clamp(1, BATCH_ROWS as u64) as usize);
        while out.rows < most && out.variable_bytes() < BATCH_BYTES {
            match self.add(cx, bound.is_some(), most, out) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    out.truncate(out.rows);
                    self.bounded.failed(error, out.rows, bound)?;
                    break;
                }
            }
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.input.close();
        self.batch.clear();
        self.row = 0;
        self.running = false;
        self.bounded = Bounded::default();
        for running in &mut self.calls {
            running.rows = FunctionRows::None;
            running.batch.clear();
        }
    }
}
