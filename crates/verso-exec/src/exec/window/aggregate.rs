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

use verso_types::{Batch, SqlType, Value, cmp_sql};

use super::super::ExecContext;
use super::frame::{Frame, Frames, Partition};
use crate::aggregate::Accumulator;
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate};
use crate::functions::{AggregateFunction, AggregateKind};
use crate::plan::{AggregateCall, WindowCall};

/// An aggregate, compiled.
pub(super) struct AggregateWindow {
    call: AggregateCall,
    args: ExprList,
    filter: Option<Predicate>,
    executor: Executor,
}

/// The arguments of a partition's rows.
struct Arguments<'l> {
    batch: Batch,
    types: &'l [SqlType],
    /// Which rows count; none means all.
    counts: Option<Vec<bool>>,
}

impl Arguments<'_> {
    fn counts(&self, row: usize) -> bool {
        self.counts.as_ref().is_none_or(|counts| counts[row])
    }

    fn values(&self, row: usize) -> Vec<Value> {
        self.batch.columns.iter().zip(self.types).map(|(column, ty)| column.value(row, ty)).collect()
    }
}

impl AggregateWindow {
    pub fn new(function: &'static AggregateFunction, call: &WindowCall, executor: Executor) -> Self {
        Self {
            args: ExprList::compile(&call.args, executor),
            filter: call.filter.as_ref().map(|filter| Predicate::compile(filter, executor)),
            call: AggregateCall {
                args: call.args.clone(),
                ..AggregateCall::plain(function, call.ty.clone(), std::sync::Arc::clone(&call.name))
            },
            executor,
        }
    }

    /// Pushes the aggregate of each row's frame.
    pub fn evaluate(
        &mut self,
        cx: &ExecContext<'_>,
        partition: &Partition,
        frames: Frames<'_>,
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        let counts = match &mut self.filter {
            None => None,
            Some(filter) => {
                let mut selection = Vec::new();
                if let Some(error) = filter.select(&cx.eval(), &partition.rows, &mut selection) {
                    return Err(error);
                }
                let mut counts = vec![false; partition.len()];
                selection.iter().for_each(|row| counts[*row as usize] = true);
                Some(counts)
            }
        };
        let mut batch = Batch::of_types(self.args.types());
        if !self.args.types().is_empty() {
            self.args.eval(&cx.eval(), &partition.rows, &mut batch)?;
        }
        let args = Arguments { batch, types: self.args.types(), counts };
        let moving = !frames.only_grows();
        match self.call.function.kind {
            AggregateKind::Min | AggregateKind::Max if moving && !frames.leaves_out() => {
                let largest = self.call.function.kind == AggregateKind::Max;
                each(cx, partition, frames, Extremes::new(&args, largest), push)
            }
            _ if moving && Accumulator::takes_out(&self.call) => {
                each(cx, partition, frames, Sliding::new(&args, &self.call), push)
            }
            _ => each(cx, partition, frames, Feeding::new(&args, &self.call, self.executor), push),
        }
    }
}

/// A way of keeping an aggregate while frames move on.
trait Moving {
    /// The aggregate of a frame.
    fn over(&mut self, frame: &Frame) -> Result<Value>;
}

fn each(
    cx: &ExecContext<'_>,
    partition: &Partition,
    mut frames: Frames<'_>,
    mut state: impl Moving,
    push: &mut dyn FnMut(&Value) -> Result<()>,
) -> Result<()> {
    let mut before: Option<(Frame, Value)> = None;
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
    }
    Ok(())
}

/// One accumulator; begun anew where rows have left.
struct Feeding<'a> {
    args: &'a Arguments<'a>,
    call: &'a AggregateCall,
    executor: Executor,
    accumulator: Accumulator,
    /// What it has been fed: rows from the first to before the second.
    fed: (usize, usize),
}

impl<'a> Feeding<'a> {
    fn new(args: &'a Arguments<'a>, call: &'a AggregateCall, executor: Executor) -> Self {
        Self { args, call, executor, accumulator: Accumulator::new(call), fed: (0, 0) }
    }

    fn feed(&mut self, start: usize, end: usize) -> Result<()> {
        let all = self.args.counts.is_none() && start == 0 && end == self.args.batch.rows;
        if all && self.executor != Executor::Row && self.args.types.len() == 1 {
            let taken = self.accumulator.add_column(&self.args.batch.columns[0], &self.args.types[0])?;
            if taken {
                return Ok(());
            }
        }
        for row in start..end {
            if self.args.counts(row) {
                self.accumulator.add(&self.args.values(row))?;
            }
        }
        Ok(())
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
        self.accumulator = Accumulator::new(self.call);
        for (start, end) in frame.runs() {
            self.feed(start, end)?;
        }
        // With a gap it cannot be fed on.
        self.fed = frame.one_run().unwrap_or((usize::MAX, usize::MAX));
        self.accumulator.clone().finish()
    }
}

/// Exact sums: rows join and leave.
struct Sliding<'a> {
    args: &'a Arguments<'a>,
    call: &'a AggregateCall,
    accumulator: Accumulator,
    frame: Frame,
}

impl<'a> Sliding<'a> {
    fn new(args: &'a Arguments<'a>, call: &'a AggregateCall) -> Self {
        Self { args, call, accumulator: Accumulator::new(call), frame: Frame::default() }
    }

    fn anew(&mut self, frame: &Frame) -> Result<()> {
        self.accumulator = Accumulator::new(self.call);
        for row in frame.runs().flat_map(|(start, end)| start..end) {
            if self.args.counts(row) {
                self.accumulator.add(&self.args.values(row))?;
            }
        }
        Ok(())
    }
}

impl Moving for Sliding<'_> {
    fn over(&mut self, frame: &Frame) -> Result<Value> {
        match (self.frame.one_run(), frame.one_run()) {
            // Worth it where most rows stay.
            (Some(old), Some(new)) if new.0 >= old.0 && new.1 >= old.1 && new.0 < old.1 => {
                let mut possible = true;
                for row in old.0..new.0 {
                    possible = possible
                        && (!self.args.counts(row) || self.accumulator.take_out(&self.args.values(row))?);
                }
                if possible {
                    for row in old.1..new.1 {
                        if self.args.counts(row) {
                            self.accumulator.add(&self.args.values(row))?;
                        }
                    }
                } else {
                    self.anew(frame)?;
                }
            }
            _ => self.anew(frame)?,
        }
        self.frame = *frame;
        self.accumulator.clone().finish()
    }
}

/// Smallest or largest values: rows that a later one beats are never asked for again.
struct Extremes<'a> {
    args: &'a Arguments<'a>,
    largest: bool,
    /// Rows, each better than those behind it.
    queue: VecDeque<(usize, Value)>,
    /// Rows before this one were looked at.
    seen: usize,
}

impl<'a> Extremes<'a> {
    fn new(args: &'a Arguments<'a>, largest: bool) -> Self {
        Self { args, largest, queue: VecDeque::new(), seen: 0 }
    }

    fn value(&self, row: usize) -> Option<Value> {
        let value = self.args.batch.columns[0].value(row, &self.args.types[0]);
        (self.args.counts(row) && !value.is_null()).then_some(value)
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
            let Some(value) = self.value(row) else { continue };
            while self.queue.back().is_some_and(|(_, last)| self.better(&value, last)) {
                self.queue.pop_back();
            }
            self.queue.push_back((row, value));
        }
        self.seen = self.seen.max(end);
        while self.queue.front().is_some_and(|(row, _)| *row < start) {
            self.queue.pop_front();
        }
        Ok(self.queue.front().map_or(Value::Null, |(_, value)| value.clone()))
    }
}
