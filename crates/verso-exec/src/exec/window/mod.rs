//! Functions over windows.
//!
//! ```text
//! input, sorted by PARTITION BY and ORDER BY ─► rows of a partition ─► values that are known ─► its columns and one per function
//!                                                 ▲ more rows where none is
//! ```
//!
//! W1. The input is sorted: rows of one partition stand together, in the window's order. Rows come out in that order.
//! W2. A row comes out as soon as all functions know its value: `row_number` when it is read, a sum up to it when its peers are,
//!     `ntile` when its partition is. So no more of the input is read than the rows wanted need. One partition is held at a time, in
//!     memory or in a file; rows at which no function looks any more are forgotten ([`Partition::trim`]).
//! W3. Arguments, filters and offsets are evaluated once per row, row or partition; a frame never evaluates anything.
//! W4. A condition that is false for all further rows of a partition once it is for one ends the partition there: the rows behind
//!     are not computed, and without PARTITION BY not read.
//! W5. Values are made for so many rows at once that they are no more than a batch may hold, by what those before took: an array
//!     of a whole partition stands in each of its rows.

mod aggregate;
mod frame;
mod partition;
mod range;
mod value;

use std::ops::Range;
use std::sync::Arc;

use verso_types::{Array, Batch, SqlType, Value};

use self::aggregate::{AggregateRun, AggregateWindow};
use self::frame::FrameSpec;
use self::partition::{Layout, Partition};
pub(crate) use self::range::in_range;
use self::value::{ValueRun, ValueWindow};
use super::operator::Operator;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, key};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList, Predicate};
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
    until: Option<Until>,
    types: Vec<SqlType>,
    current: Option<Current>,
    /// How many rows the next call is for at most.
    bound: Option<u64>,
    /// Rows whose values are made together: few where those of one are large (W5).
    portion: usize,
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

/// What a function keeps from one row of a partition to the next.
enum Run {
    Value(ValueRun),
    Aggregate(AggregateRun),
}

/// What ends partitions (W4).
struct Until {
    condition: Predicate,
    selection: Vec<u32>,
    /// Rows of which it is asked.
    rows: Batch,
}

/// The partition at hand.
struct Current {
    key: Vec<u8>,
    partition: Partition,
    /// Of each function.
    runs: Vec<Run>,
    /// The first row that is still to come out.
    next: usize,
    /// No further row of it is wanted.
    is_over: bool,
}

impl WindowOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        (partition_by, order_by): (&[TypedExpr], &[SortKey]),
        calls: &[WindowCall],
        until: Option<&TypedExpr>,
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
                    WindowFunction::Own(kind) => Kind::Value(ValueWindow::new(kind, args, &call.args)),
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
            until: until.map(|condition| Until {
                condition: Predicate::compile(condition, executor),
                selection: Vec::new(),
                rows: Batch::of_types(&output),
            }),
            types: output,
            current: None,
            bound: None,
            portion: 1,
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

    /// Gives the rows of the batch to the partition at hand, as far as they are its own; to the next one where there is none.
    fn take(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let types = self.partition_by.types();
        let current = match &mut self.current {
            Some(current) => current,
            None => {
                let mut own = Vec::new();
                key::encode(&self.partition_keys, types, self.row, &mut own);
                let runs = self.calls.iter().map(|call| call.begin(cx)).collect::<Result<_>>()?;
                self.current.insert(Current {
                    key: own,
                    partition: Partition::new(cx, &self.layout),
                    runs,
                    next: 0,
                    is_over: false,
                })
            }
        };
        let mut end = self.row;
        let mut other = Vec::new();
        while end < self.batch.rows && !types.is_empty() {
            other.clear();
            key::encode(&self.partition_keys, types, end, &mut other);
            if current.key != other {
                break;
            }
            end += 1;
        }
        if types.is_empty() {
            end = self.batch.rows;
        }
        if !current.is_over {
            current.partition.push(cx, &self.batch, self.row..end)?;
        }
        if end < self.batch.rows {
            current.partition.complete();
        }
        self.row = end;
        Ok(())
    }

    /// Appends rows of the partition at hand whose values are known, up to `wanted` in all. False where there is none.
    fn yield_known(&mut self, cx: &ExecContext<'_>, wanted: usize, out: &mut Batch) -> Result<bool> {
        let Some(current) = &mut self.current else { return Ok(false) };
        let Current { partition, runs, next, is_over, .. } = current;
        let mut end = partition.len();
        for (call, run) in self.calls.iter().zip(&*runs) {
            end = end.min(call.known(run, partition)?);
        }
        end = end.min(*next + (wanted - out.rows).min(self.portion));
        if *is_over || *next >= end {
            let is_read = partition.is_complete() && (*is_over || *next >= partition.len());
            if is_read {
                self.current = None;
            }
            return Ok(is_read);
        }
        partition.settle()?;
        let to = match &mut self.until {
            Some(until) => {
                until.rows.clear();
                &mut until.rows
            }
            None => &mut *out,
        };
        let bytes = to.variable_bytes();
        let (columns, results) = to.columns.split_at_mut(self.width);
        let rows = *next..*next + partition.copy(*next..end, bytes, columns)?;
        for ((call, run), out) in self.calls.iter().zip(&mut *runs).zip(results) {
            // Rows of one frame have one array.
            let mut last: Option<Array> = None;
            call.evaluate(run, cx, (partition, rows.clone()), &mut |value| {
                if let Value::Array(array) = value {
                    if last.as_ref().is_some_and(|last| last.is_same(array)) && out.repeat_last() {
                        return Ok(());
                    }
                    last = Some(array.clone());
                }
                Ok(out.push_value(value, &call.ty)?)
            })?;
        }
        to.rows += rows.len();
        // Half of what a batch may hold, at most, by the bytes of a row.
        let made = (to.variable_bytes() - bytes) / rows.len().max(1);
        self.portion = (self.portion * 2).min(BATCH_BYTES / 2 / made.max(1)).clamp(1, BATCH_ROWS);
        *next = rows.end;
        if let Some(until) = &mut self.until {
            let known = until.wanted(cx)?;
            if known < until.rows.rows {
                until.rows.truncate(known);
                *is_over = true;
                // Without partitions nothing follows.
                self.done = self.partition_by.types().is_empty();
            }
            out.append(&until.rows);
        }
        let mut kept = *next;
        for (call, run) in self.calls.iter().zip(&*runs) {
            kept = kept.min(call.kept(run, *next));
        }
        partition.trim(if *is_over { partition.len() } else { kept });
        Ok(true)
    }
}

impl Until {
    /// How many of its rows come before the first for which it is not true.
    fn wanted(&mut self, cx: &ExecContext<'_>) -> Result<usize> {
        if let Some(error) = self.condition.select(&cx.eval(), &self.rows, &mut self.selection) {
            return Err(error);
        }
        let selected = self.selection.iter().enumerate();
        Ok(selected.take_while(|(at, row)| *at as u32 == **row).count())
    }
}

impl Call {
    /// Begins a partition.
    fn begin(&self, cx: &ExecContext<'_>) -> Result<Run> {
        Ok(match &self.kind {
            Kind::Value(function) => Run::Value(function.begin(cx, &self.frame)?),
            Kind::Aggregate(function) => Run::Aggregate(function.begin(cx, &self.frame)?),
        })
    }

    /// Of how many rows the values are known.
    fn known(&self, run: &Run, partition: &Partition) -> Result<usize> {
        match (&self.kind, run) {
            (Kind::Value(function), Run::Value(run)) => function.known(run, partition),
            (_, Run::Aggregate(run)) => run.known(partition),
            _ => Err(mixed()),
        }
    }

    /// The first row at which it looks for `next` and the rows behind.
    fn kept(&self, run: &Run, next: usize) -> usize {
        match (&self.kind, run) {
            (Kind::Value(function), Run::Value(run)) => function.kept(run, next),
            (_, Run::Aggregate(run)) => run.kept(next),
            _ => 0,
        }
    }

    /// Pushes the function's values for rows that follow those of the call before.
    fn evaluate(
        &self,
        run: &mut Run,
        cx: &ExecContext<'_>,
        rows: (&Partition, Range<usize>),
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        match (&self.kind, run) {
            (Kind::Value(function), Run::Value(run)) => function.evaluate(run, cx, rows, push),
            (Kind::Aggregate(function), Run::Aggregate(run)) => function.evaluate(run, cx, rows, push),
            _ => Err(mixed()),
        }
    }
}

#[cold]
fn mixed() -> ExecError {
    ExecError::raised("XX000", "a function over a window has the state of another")
}

impl Operator for WindowOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        (self.done, self.portion) = (false, 1);
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bound.take();
        let wanted = bound.map_or(BATCH_ROWS, |bound| bound.clamp(1, BATCH_ROWS as u64) as usize);
        // Where a value waits for further rows these are more each time.
        let mut more = wanted as u64;
        out.clear();
        while !self.done && out.rows < wanted && out.variable_bytes() < BATCH_BYTES {
            cx.check_cancelled()?;
            if self.yield_known(cx, wanted, out)? {
                continue;
            }
            if bound.is_some() && self.row >= self.batch.rows {
                if out.rows > 0 {
                    break;
                }
                self.input.bound(more);
                more = more.saturating_mul(2);
            }
            if self.row < self.batch.rows || self.read(cx)? {
                self.take(cx)?;
                continue;
            }
            match &mut self.current {
                Some(current) => current.partition.complete(),
                None => self.done = true,
            }
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.input.close();
        self.batch.clear();
        self.current = None;
        self.bound = None;
        if let Some(until) = &mut self.until {
            until.rows = Batch::of_types(&self.types);
        }
        (self.row, self.done) = (0, true);
    }
}
