//! Functions over windows.
//!
//! ```text
//! input, sorted by PARTITION BY and ORDER BY ─► one partition after the other ─► its columns and one per function
//! ```
//!
//! W1. The input is sorted: rows of one partition stand together, in the window's order. Rows come out in that order.
//! W2. One partition is held at a time, counted and refused beyond the session's work memory.
//! W3. Arguments, filters and offsets are evaluated once per row, row or partition; a frame never evaluates anything.

mod aggregate;
mod frame;
mod range;
mod value;

use verso_types::{Batch, SqlType, Value};

use self::aggregate::AggregateWindow;
use self::frame::{FrameSpec, Frames, Partition};
use self::value::ValueWindow;
use super::operator::Operator;
use super::order::compare;
use super::{BATCH_ROWS, ExecContext, key};
use crate::error::Result;
use crate::expr::{Executor, ExprList};
use crate::plan::{SortKey, TypedExpr, WindowCall, WindowFunction};

/// Yields its input's rows, each with the values of the functions over its window.
pub(crate) struct WindowOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    /// The first row of the batch that belongs to no partition yet.
    row: usize,
    partition_by: ExprList,
    order_by: ExprList,
    /// Descending, NULLs first.
    directions: Vec<(bool, bool)>,
    partition_keys: Batch,
    order_keys: Batch,
    calls: Vec<Call>,
    types: Vec<SqlType>,
    /// Rows finished, from `emitted` on still to be yielded.
    ready: Batch,
    emitted: usize,
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

impl WindowOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        partition_by: &[TypedExpr],
        order_by: &[SortKey],
        calls: &[WindowCall],
        executor: Executor,
    ) -> Self {
        let partition_by = ExprList::compile(partition_by, executor);
        let directions: Vec<_> = order_by.iter().map(|key| (key.descending, key.nulls_first)).collect();
        let order_by = ExprList::compile(order_by.iter().map(|key| &key.expr), executor);
        let output: Vec<SqlType> =
            types.iter().cloned().chain(calls.iter().map(|call| call.ty.clone())).collect();
        let calls = calls
            .iter()
            .map(|call| Call {
                kind: match call.function {
                    WindowFunction::Own(kind) => Kind::Value(ValueWindow::new(kind, &call.args, executor)),
                    WindowFunction::Aggregate(function) => {
                        Kind::Aggregate(Box::new(AggregateWindow::new(function, call, executor)))
                    }
                },
                frame: FrameSpec::new(&call.frame, directions.first().copied()),
                ty: call.ty.clone(),
            })
            .collect();
        Self {
            input,
            batch: Batch::of_types(types),
            row: 0,
            partition_keys: Batch::of_types(partition_by.types()),
            order_keys: Batch::of_types(order_by.types()),
            partition_by,
            order_by,
            directions,
            calls,
            ready: Batch::of_types(&output),
            types: output,
            emitted: 0,
            done: false,
        }
    }

    /// Reads the next batch and its keys. False at the end.
    fn read(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.row = 0;
        loop {
            if !self.input.next(cx, &mut self.batch)? {
                self.batch.clear();
                return Ok(false);
            }
            if self.batch.rows > 0 {
                break;
            }
        }
        self.partition_by.eval(&cx.eval(), &self.batch, &mut self.partition_keys)?;
        self.order_by.eval(&cx.eval(), &self.batch, &mut self.order_keys)?;
        Ok(true)
    }

    /// Collects the next partition. None at the end.
    fn partition(&mut self, cx: &ExecContext<'_>) -> Result<Option<Partition>> {
        let width = self.batch.columns.len();
        if self.row >= self.batch.rows && !self.read(cx)? {
            return Ok(None);
        }
        let mut rows = Batch::of_types(&self.types[..width]);
        let mut keys = Batch::of_types(self.order_by.types());
        let mut held = cx.reserve("a window");
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
            for (from, to) in [(&self.batch, &mut rows), (&self.order_keys, &mut keys)] {
                for (from, to) in from.columns.iter().zip(&mut to.columns) {
                    to.append_range(from, self.row..end);
                }
                to.rows += end - self.row;
            }
            self.row = end;
            held.resize((rows.heap_bytes() + keys.heap_bytes() + rows.rows * 8) as u64)?;
            if end < self.batch.rows || !self.read(cx)? {
                break;
            }
        }
        let types = self.order_by.types();
        let same = |a: usize, b: usize| {
            keys.columns
                .iter()
                .zip(types)
                .zip(&self.directions)
                .all(|((column, ty), direction)| compare(column, ty, *direction, a, b).is_eq())
        };
        let mut groups = vec![0u32];
        groups.extend((1..rows.rows).filter(|row| !same(row - 1, *row)).map(|row| row as u32));
        // A frame by differences has one key.
        let range_keys: Vec<Value> = match (keys.columns.first(), types.first()) {
            (Some(column), Some(ty)) if self.calls.iter().any(|call| call.frame.measures_keys()) => {
                (0..rows.rows).map(|row| column.value(row, ty)).collect()
            }
            _ => Vec::new(),
        };
        Ok(Some(Partition::new(rows, groups, range_keys)))
    }

    /// Adds the partition's rows, with the values of the functions, to those finished.
    fn finish(&mut self, cx: &ExecContext<'_>, partition: &Partition) -> Result<()> {
        let width = partition.rows.columns.len();
        let (columns, results) = self.ready.columns.split_at_mut(width);
        for (from, to) in partition.rows.columns.iter().zip(columns) {
            to.append(from);
        }
        for (call, out) in self.calls.iter_mut().zip(results) {
            let ty = &call.ty;
            let mut push = |value: &Value| -> Result<()> { Ok(out.push_value(value, ty)?) };
            match &mut call.kind {
                Kind::Value(function) => {
                    let frames = match function.looks_at_frame() {
                        true => Some(Frames::new(&call.frame, cx, partition)?),
                        false => None,
                    };
                    function.evaluate(cx, partition, frames, &mut push)?;
                }
                Kind::Aggregate(function) => {
                    let frames = Frames::new(&call.frame, cx, partition)?;
                    function.evaluate(cx, partition, frames, &mut push)?;
                }
            }
        }
        self.ready.rows += partition.rows.rows;
        Ok(())
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
            while !self.done && self.ready.rows < BATCH_ROWS {
                cx.check_cancelled()?;
                match self.partition(cx)? {
                    Some(partition) => self.finish(cx, &partition)?,
                    None => self.done = true,
                }
            }
        }
        out.clear();
        let rows = self.emitted..self.ready.rows.min(self.emitted + BATCH_ROWS);
        if rows.is_empty() {
            return Ok(false);
        }
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
        (self.row, self.emitted, self.done) = (0, 0, true);
    }
}
