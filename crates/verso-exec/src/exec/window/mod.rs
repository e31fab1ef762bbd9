//! Functions over windows.
//!
//! ```text
//! input, sorted by PARTITION BY and ORDER BY ─► one partition after the other ─► its columns and one per function
//! ```
//!
//! W1. The input is sorted: rows of one partition stand together, in the window's order. Rows come out in that order.
//! W2. One partition is held at a time, in memory or in a file, and so are the results of a long one.
//! W3. Arguments, filters and offsets are evaluated once per row, row or partition; a frame never evaluates anything.

mod aggregate;
mod frame;
mod partition;
mod range;
mod results;
mod value;

use std::ops::Range;
use std::sync::Arc;

use verso_types::{Batch, SqlType, Value};

use self::aggregate::AggregateWindow;
use self::frame::{FrameSpec, Frames};
use self::partition::{Layout, Partition};
use self::results::Results;
use self::value::ValueWindow;
use super::operator::Operator;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, key};
use crate::error::Result;
use crate::expr::{Executor, ExprList};
use crate::plan::{SortKey, TypedExpr, WindowCall, WindowFunction};

/// Yields its input's rows, each with the values of the functions over its window.
pub(crate) struct WindowOperator {
    input: Box<dyn Operator>,
    /// Rows of the input, and behind them what is computed of each: sort keys, arguments, filters.
    batch: Batch,
    /// How many columns the input has.
    width: usize,
    /// The first row of the batch that belongs to no partition yet.
    row: usize,
    read: Batch,
    partition_by: ExprList,
    partition_keys: Batch,
    computed: ExprList,
    computed_columns: Batch,
    layout: Arc<Layout>,
    calls: Vec<Call>,
    types: Vec<SqlType>,
    /// Rows of short partitions, finished, from `emitted` on still to be yielded.
    ready: Batch,
    emitted: usize,
    /// A long partition, which comes behind those rows.
    long: Option<Long>,
    done: bool,
}

/// A function, compiled.
struct Call {
    kind: Kind,
    frame: FrameSpec,
    ty: SqlType,
}

enum Kind {
    Value(ValueWindow),
    Aggregate(Box<AggregateWindow>),
}

/// A partition of more than one batch, with the results of the functions.
struct Long {
    partition: Partition,
    results: Vec<Results>,
    /// Rows that were yielded.
    emitted: usize,
}

impl WindowOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        partition_by: &[TypedExpr],
        order_by: &[SortKey],
        calls: &[WindowCall],
        executor: Executor,
    ) -> Self {
        let width = types.len();
        let partition_by = ExprList::compile(partition_by, executor);
        let directions: Vec<_> = order_by.iter().map(|key| (key.descending, key.nulls_first)).collect();
        let output: Vec<SqlType> =
            types.iter().cloned().chain(calls.iter().map(|call| call.ty.clone())).collect();
        let mut computed: Vec<&TypedExpr> = order_by.iter().map(|key| &key.expr).collect();
        let keys = width..width + computed.len();
        let mut compiled = Vec::with_capacity(calls.len());
        for call in calls {
            let start = width + computed.len();
            computed.extend(&call.args);
            let args = start..width + computed.len();
            let filter = call.filter.as_ref().map(|filter| {
                computed.push(filter);
                args.end
            });
            compiled.push(Call {
                kind: match call.function {
                    WindowFunction::Own(kind) => Kind::Value(ValueWindow::new(kind, args)),
                    WindowFunction::Aggregate(function) => Kind::Aggregate(Box::new(AggregateWindow::new(
                        function, call, args, filter, executor,
                    ))),
                },
                frame: FrameSpec::new(&call.frame, directions.first().copied()),
                ty: call.ty.clone(),
            });
        }
        let computed = ExprList::compile(computed, executor);
        let held: Vec<SqlType> = types.iter().chain(computed.types()).cloned().collect();
        Self {
            input,
            batch: Batch::of_types(&held),
            width,
            row: 0,
            read: Batch::of_types(types),
            partition_keys: Batch::of_types(partition_by.types()),
            partition_by,
            computed_columns: Batch::of_types(computed.types()),
            computed,
            layout: Arc::new(Layout { types: held, keys, directions }),
            calls: compiled,
            ready: Batch::of_types(&output),
            types: output,
            emitted: 0,
            long: None,
            done: false,
        }
    }

    /// Reads the next batch, and computes what functions need of its rows. False at the end.
    fn read(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.row = 0;
        loop {
            if !self.input.next(cx, &mut self.read)? {
                self.batch.clear();
                return Ok(false);
            }
            if self.read.rows > 0 {
                break;
            }
        }
        self.partition_by.eval(&cx.eval(), &self.read, &mut self.partition_keys)?;
        self.computed.eval(&cx.eval(), &self.read, &mut self.computed_columns)?;
        // The columns change places: what was read last is overwritten next.
        self.batch.rows = self.read.rows;
        let (own, computed) = self.batch.columns.split_at_mut(self.width);
        own.swap_with_slice(&mut self.read.columns);
        computed.swap_with_slice(&mut self.computed_columns.columns);
        Ok(true)
    }

    /// Collects the next partition. None at the end.
    fn partition(&mut self, cx: &ExecContext<'_>) -> Result<Option<Partition>> {
        if self.row >= self.batch.rows && !self.read(cx)? {
            return Ok(None);
        }
        let mut partition = Partition::new(cx, &self.layout);
        let (mut own, mut other) = (Vec::new(), Vec::new());
        key::encode(&self.partition_keys, self.partition_by.types(), self.row, &mut own);
        loop {
            let mut end = self.row;
            while end < self.batch.rows {
                other.clear();
                key::encode(&self.partition_keys, self.partition_by.types(), end, &mut other);
                if own != other {
                    break;
                }
                end += 1;
            }
            partition.push(cx, &self.batch, self.row..end)?;
            self.row = end;
            if end < self.batch.rows || !self.read(cx)? {
                break;
            }
            cx.check_cancelled()?;
        }
        partition.complete()?;
        Ok(Some(partition))
    }

    /// Adds the rows of a short partition, with the values of the functions, to those finished.
    fn finish(&mut self, cx: &ExecContext<'_>, partition: &Partition) -> Result<()> {
        let (columns, results) = self.ready.columns.split_at_mut(self.width);
        partition.copy(0, columns)?;
        for (call, out) in self.calls.iter().zip(results) {
            call.evaluate(cx, partition, &mut |value| Ok(out.push_value(value, &call.ty)?))?;
        }
        self.ready.rows += partition.len();
        Ok(())
    }

    /// Computes the results of a long partition.
    fn finish_long(&mut self, cx: &ExecContext<'_>, partition: Partition) -> Result<()> {
        let mut results = Vec::with_capacity(self.calls.len());
        for call in &self.calls {
            let mut result = Results::new(&call.ty);
            call.evaluate(cx, &partition, &mut |value| result.push(cx, value))?;
            result.complete(cx)?;
            results.push(result);
        }
        self.long = Some(Long { partition, results, emitted: 0 });
        Ok(())
    }
}

impl Call {
    /// Pushes the function's value for each row of a partition.
    fn evaluate(
        &self,
        cx: &ExecContext<'_>,
        partition: &Partition,
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        match &self.kind {
            Kind::Value(function) => {
                let frames = match function.looks_at_frame() {
                    true => Some(Frames::new(&self.frame, cx, partition)?),
                    false => None,
                };
                function.evaluate(cx, partition, frames, push)
            }
            Kind::Aggregate(function) => {
                function.evaluate(cx, partition, Frames::new(&self.frame, cx, partition)?, push)
            }
        }
    }
}

impl Long {
    /// Replaces the rows of `out` by the next ones. False at the end.
    fn next(&mut self, width: usize, out: &mut Batch) -> Result<bool> {
        out.clear();
        let (columns, results) = out.columns.split_at_mut(width);
        let rows = self.partition.copy(self.emitted, columns)?;
        for (result, column) in self.results.iter_mut().zip(results) {
            result.take(rows, column)?;
        }
        out.rows = rows;
        self.emitted += rows;
        Ok(rows > 0)
    }
}

impl Operator for WindowOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.done = false;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.emitted == self.ready.rows {
            self.ready.clear();
            self.emitted = 0;
            if let Some(long) = &mut self.long {
                if long.next(self.width, out)? {
                    return Ok(true);
                }
                self.long = None;
            }
            while !self.done && self.ready.rows < BATCH_ROWS && self.ready.variable_bytes() < BATCH_BYTES {
                cx.check_cancelled()?;
                match self.partition(cx)? {
                    Some(partition) if partition.is_short() => self.finish(cx, &partition)?,
                    Some(partition) => {
                        self.finish_long(cx, partition)?;
                        break;
                    }
                    None => self.done = true,
                }
            }
        }
        let rows: Range<usize> = self.emitted..self.ready.rows.min(self.emitted + BATCH_ROWS);
        if rows.is_empty() {
            return match &mut self.long {
                Some(long) => long.next(self.width, out),
                None => {
                    out.clear();
                    Ok(false)
                }
            };
        }
        out.clear();
        for (from, to) in self.ready.columns.iter().zip(&mut out.columns) {
            to.append_range(from, rows.clone());
        }
        out.rows = rows.len();
        self.emitted = rows.end;
        Ok(true)
    }

    fn close(&mut self) {
        self.input.close();
        self.batch.clear();
        self.ready = Batch::of_types(&self.types);
        self.long = None;
        (self.row, self.emitted, self.done) = (0, 0, true);
    }
}
