//! Aggregates over frames.
//!
//! ```text
//! frame grows only at its end        one accumulator, fed on
//! frame moves, sum or count          what leaves is taken out again (exact sums only)
//! frame moves, min or max            a queue of candidates, best first
//! anything else                      the rows of the frame are added anew, unless the frame is the one before
//! ```
//!
//! A1. Doubles are never taken out of a sum: that would leave rounding errors behind. PostgreSQL does the same.

use std::collections::VecDeque;
use std::ops::Range;

use verso_types::{SqlType, Value, cmp_sql};

use super::super::ExecContext;
use super::frame::{Frame, Frames};
use super::partition::Partition;
use crate::aggregate::{Accumulator, payload};
use crate::error::Result;
use crate::expr::Executor;
use crate::functions::{AggregateFunction, AggregateKind};
use crate::plan::{AggregateCall, WindowCall};

/// Rows that an accumulator is fed between two looks at the flag that cancels.
const FED_ROWS: usize = 4096;
/// What may be held before it is counted.
const UNCOUNTED_BYTES: u64 = 16 << 10;

/// An aggregate.
pub(super) struct AggregateWindow {
    call: AggregateCall,
    /// The columns of its arguments.
    args: Range<usize>,
    types: Vec<SqlType>,
    /// The column that says which rows count; none means all.
    filter: Option<usize>,
    executor: Executor,
}

/// The arguments of a partition's rows.
struct Arguments<'a> {
    cx: &'a ExecContext<'a>,
    partition: &'a Partition,
    window: &'a AggregateWindow,
}

impl Arguments<'_> {
    fn counts(&self, row: usize) -> Result<bool> {
        match self.window.filter {
            None => Ok(true),
            Some(column) => Ok(matches!(self.partition.value(column, row)?, Value::Bool(true))),
        }
    }

    fn values(&self, row: usize) -> Result<Vec<Value>> {
        self.window.args.clone().map(|column| self.partition.value(column, row)).collect()
    }

    /// Feeds an accumulator some rows.
    fn feed(&self, accumulator: &mut Accumulator, rows: Range<usize>) -> Result<()> {
        for row in rows {
            if row % FED_ROWS == 0 {
                self.cx.check_cancelled()?;
            }
            if self.counts(row)? {
                accumulator.add(&self.values(row)?)?;
            }
        }
        Ok(())
    }
}

impl AggregateWindow {
    pub fn new(
        function: &'static AggregateFunction,
        call: &WindowCall,
        args: Range<usize>,
        filter: Option<usize>,
        executor: Executor,
    ) -> Self {
        Self {
            args,
            types: call.args.iter().map(|arg| arg.ty.clone()).collect(),
            filter,
            call: AggregateCall {
                args: call.args.clone(),
                ..AggregateCall::plain(function, call.ty.clone(), std::sync::Arc::clone(&call.name))
            },
            executor,
        }
    }

    /// Pushes the aggregate of each row's frame.
    pub fn evaluate(
        &self,
        cx: &ExecContext<'_>,
        partition: &Partition,
        frames: Frames<'_>,
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        let args = Arguments { cx, partition, window: self };
        let moving = !frames.only_grows();
        match self.call.function.kind {
            AggregateKind::Min | AggregateKind::Max if moving && !frames.leaves_out() => {
                let largest = self.call.function.kind == AggregateKind::Max;
                each(cx, partition, frames, Extremes::new(&args, largest), push)
            }
            _ if moving && Accumulator::takes_out(&self.call) => {
                each(cx, partition, frames, Sliding::new(&args), push)
            }
            _ => each(cx, partition, frames, Feeding::new(&args), push),
        }
    }
}

/// A way of keeping an aggregate while frames move on.
trait Moving {
    /// The aggregate of a frame.
    fn over(&mut self, frame: &Frame) -> Result<Value>;

    /// What it holds.
    fn heap_bytes(&self) -> usize;
}

fn each(
    cx: &ExecContext<'_>,
    partition: &Partition,
    mut frames: Frames<'_>,
    mut state: impl Moving,
    push: &mut dyn FnMut(&Value) -> Result<()>,
) -> Result<()> {
    let mut before: Option<(Frame, Value)> = None;
    let mut held = cx.reserve("a window");
    for row in 0..partition.len() {
        if row % 1024 == 0 {
            cx.check_cancelled()?;
        }
        let frame = frames.of(cx, row)?;
        let value = match before {
            Some((known, value)) if known == frame => value,
            _ => state.over(&frame)?,
        };
        push(&value)?;
        before = Some((frame, value));
        let bytes = state.heap_bytes() as u64;
        if bytes > held.bytes() + UNCOUNTED_BYTES {
            held.resize(bytes + bytes / 4)?;
        }
    }
    Ok(())
}

/// One accumulator; begun anew where rows have left.
struct Feeding<'a> {
    args: &'a Arguments<'a>,
    accumulator: Accumulator,
    /// What it has been fed: rows from the first to before the second.
    fed: (usize, usize),
}

impl<'a> Feeding<'a> {
    fn new(args: &'a Arguments<'a>) -> Self {
        Self { args, accumulator: Accumulator::new(&args.window.call), fed: (0, 0) }
    }

    fn feed(&mut self, start: usize, end: usize) -> Result<()> {
        let AggregateWindow { args, types, filter, executor, .. } = self.args.window;
        let all = filter.is_none() && start == 0 && end == self.args.partition.len();
        if all
            && *executor != Executor::Row
            && let ([ty], Some(columns)) = (&types[..], self.args.partition.in_memory())
            && self.accumulator.add_column(&columns[args.start], ty)?
        {
            return Ok(());
        }
        self.args.feed(&mut self.accumulator, start..end)
    }
}

impl Moving for Feeding<'_> {
    fn over(&mut self, frame: &Frame) -> Result<Value> {
        if let Some((start, end)) = frame.one_run()
            && start == self.fed.0
            && end >= self.fed.1
        {
            self.feed(self.fed.1, end)?;
            self.fed = (start, end);
            return self.accumulator.clone().finish();
        }
        self.accumulator = Accumulator::new(&self.args.window.call);
        for (start, end) in frame.runs() {
            self.feed(start, end)?;
        }
        // With a gap it cannot be fed on.
        self.fed = frame.one_run().unwrap_or((usize::MAX, usize::MAX));
        self.accumulator.clone().finish()
    }

    fn heap_bytes(&self) -> usize {
        self.accumulator.heap_bytes()
    }
}

/// Exact sums: rows join and leave.
struct Sliding<'a> {
    args: &'a Arguments<'a>,
    accumulator: Accumulator,
    frame: Frame,
}

impl<'a> Sliding<'a> {
    fn new(args: &'a Arguments<'a>) -> Self {
        Self { args, accumulator: Accumulator::new(&args.window.call), frame: Frame::default() }
    }

    fn anew(&mut self, frame: &Frame) -> Result<()> {
        self.accumulator = Accumulator::new(&self.args.window.call);
        frame.runs().try_for_each(|(start, end)| self.args.feed(&mut self.accumulator, start..end))
    }

    /// Takes rows out again; false where that cannot be.
    fn take_out(&mut self, rows: Range<usize>) -> Result<bool> {
        for row in rows {
            if self.args.counts(row)? && !self.accumulator.take_out(&self.args.values(row)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Moving for Sliding<'_> {
    fn over(&mut self, frame: &Frame) -> Result<Value> {
        match (self.frame.one_run(), frame.one_run()) {
            // Worth it where most rows stay.
            (Some(old), Some(new)) if new.0 >= old.0 && new.1 >= old.1 && new.0 < old.1 => {
                if self.take_out(old.0..new.0)? {
                    self.args.feed(&mut self.accumulator, old.1..new.1)?;
                } else {
                    self.anew(frame)?;
                }
            }
            _ => self.anew(frame)?,
        }
        self.frame = *frame;
        self.accumulator.clone().finish()
    }

    fn heap_bytes(&self) -> usize {
        self.accumulator.heap_bytes()
    }
}

/// Smallest or largest values: rows that a later one beats are never asked for again.
struct Extremes<'a> {
    args: &'a Arguments<'a>,
    largest: bool,
    /// Rows, each better than those behind it.
    queue: VecDeque<(usize, Value)>,
    /// What their values hold.
    payload: usize,
    /// Rows before this one were looked at.
    seen: usize,
}

impl<'a> Extremes<'a> {
    fn new(args: &'a Arguments<'a>, largest: bool) -> Self {
        Self { args, largest, queue: VecDeque::new(), payload: 0, seen: 0 }
    }

    fn value(&self, row: usize) -> Result<Option<Value>> {
        if !self.args.counts(row)? {
            return Ok(None);
        }
        let value = self.args.partition.value(self.args.window.args.start, row)?;
        Ok((!value.is_null()).then_some(value))
    }

    /// Whether `a` is better than `b`.
    fn better(&self, a: &Value, b: &Value) -> bool {
        let order = cmp_sql(a, b);
        if self.largest { order.is_gt() } else { order.is_lt() }
    }
}

impl Moving for Extremes<'_> {
    fn over(&mut self, frame: &Frame) -> Result<Value> {
        let Some((start, end)) = frame.one_run().filter(|(start, end)| start < end) else {
            return Ok(Value::Null);
        };
        for row in self.seen.max(start)..end {
            if row % FED_ROWS == 0 {
                self.args.cx.check_cancelled()?;
            }
            let Some(value) = self.value(row)? else { continue };
            while let Some((_, last)) = self.queue.back()
                && self.better(&value, last)
            {
                self.payload -= payload(last);
                self.queue.pop_back();
            }
            self.payload += payload(&value);
            self.queue.push_back((row, value));
        }
        self.seen = self.seen.max(end);
        while let Some((_, value)) = self.queue.front().filter(|(row, _)| *row < start) {
            self.payload -= payload(value);
            self.queue.pop_front();
        }
        Ok(self.queue.front().map_or(Value::Null, |(_, value)| value.clone()))
    }

    fn heap_bytes(&self) -> usize {
        self.queue.capacity() * size_of::<(usize, Value)>() + self.payload
    }
}
