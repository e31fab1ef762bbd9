//! Aggregates over frames.
//!
//! ```text
//! frame grows only at its end        one accumulator, fed on
//! frame moves, sum or count          what leaves is taken out again (exact sums only)
//! frame moves, min or max            a queue of candidates, best first
//! an aggregate of users              as with sums where it has an inverse step (MINVFUNC)
//! anything else                      the rows of the frame are added anew, unless the frame is the one before
//! ```
//!
//! A1. Doubles are never taken out of a sum: that would leave rounding errors behind. PostgreSQL does the same.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use verso_types::{SqlType, Value};

use super::super::ExecContext;
use super::frame::{Frame, FrameSpec, Frames};
use super::partition::Partition;
use crate::aggregate::{Accumulator, Extreme, payload};
use crate::error::Result;
use crate::expr::{Executor, FoldState, FoldSteps};
use crate::functions::{AggregateFunction, AggregateKind};
use crate::memory::Reservation;
use crate::plan::{AggregateCall, TypedExpr, WindowCall};

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
    /// Rows may be taken out again: neither the arguments nor the filter is volatile, as PostgreSQL asks.
    takes_out: bool,
    /// The steps of an aggregate of users.
    fold: Option<Arc<FoldSteps>>,
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

    /// The first argument, where it counts.
    fn value(&self, row: usize) -> Result<Option<Value>> {
        if !self.counts(row)? {
            return Ok(None);
        }
        let value = self.partition.value(self.window.args.start, row)?;
        Ok((!value.is_null()).then_some(value))
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
            takes_out: !call.args.iter().chain(&call.filter).any(TypedExpr::is_volatile),
            call: AggregateCall {
                args: call.args.clone(),
                ..AggregateCall::plain(function, call.ty.clone(), Arc::clone(&call.name))
            },
            executor,
            fold: call.fold.as_deref().map(|fold| Arc::new(FoldSteps::of_window(fold))),
        }
    }

    /// Begins a partition.
    ///
    /// # Errors
    /// Those of the frame's offsets.
    pub fn begin(&self, cx: &ExecContext<'_>, frame: &FrameSpec) -> Result<AggregateRun> {
        let frames = Frames::new(frame, cx)?;
        let moving = !frames.only_grows();
        let state: Box<dyn Moving> = match self.call.function.kind {
            _ if let Some(steps) = &self.fold => Box::new(Folding::new(steps)),
            kind @ (AggregateKind::Min | AggregateKind::Max) if moving && !frames.leaves_out() => {
                let ty = self.types.first().unwrap_or(&SqlType::Unknown);
                Box::new(Extremes::new(Extreme::new(ty, kind == AggregateKind::Max)))
            }
            _ if moving && self.takes_out && Accumulator::takes_out(&self.call) => {
                Box::new(Sliding::new(&self.call))
            }
            _ => Box::new(Feeding::new(&self.call)),
        };
        Ok(AggregateRun { frames, state, before: None, held: cx.reserve("a window") })
    }

    /// Pushes the aggregates of the frames of rows that follow those of the call before.
    pub fn evaluate(
        &self,
        run: &mut AggregateRun,
        cx: &ExecContext<'_>,
        (partition, rows): (&Partition, Range<usize>),
        push: &mut dyn FnMut(&Value) -> Result<()>,
    ) -> Result<()> {
        let args = Arguments { cx, partition, window: self };
        for row in rows {
            if row % 1024 == 0 {
                cx.check_cancelled()?;
            }
            let frame = run.frames.of(cx, partition, row)?;
            let value = match run.before.take() {
                Some((known, value)) if known == frame => value,
                _ => run.state.over(&args, &frame)?,
            };
            push(&value)?;
            run.before = Some((frame, value));
            let bytes = run.state.heap_bytes() as u64;
            if bytes > run.held.bytes() + UNCOUNTED_BYTES {
                run.held.resize(bytes + bytes / 4)?;
            }
        }
        Ok(())
    }
}

/// An aggregate in a partition, from one row to the next.
pub(super) struct AggregateRun {
    frames: Frames,
    state: Box<dyn Moving>,
    before: Option<(Frame, Value)>,
    held: Reservation,
}

impl AggregateRun {
    /// Of how many rows the values are known.
    ///
    /// # Errors
    /// Those of the partition.
    pub fn known(&self, partition: &Partition) -> Result<usize> {
        self.frames.known(partition)
    }

    /// The first row at which it looks for `next` and the rows behind.
    pub fn kept(&self, next: usize) -> usize {
        self.state.kept(&self.frames, next)
    }
}

/// A way of keeping an aggregate while frames move on.
trait Moving: Send {
    /// The aggregate of a frame.
    fn over(&mut self, args: &Arguments<'_>, frame: &Frame) -> Result<Value>;

    /// The first row at which it looks for `next` and the rows behind.
    fn kept(&self, frames: &Frames, next: usize) -> usize {
        frames.kept_whole(next)
    }

    /// What it holds.
    fn heap_bytes(&self) -> usize;
}

/// One accumulator; begun anew where rows have left.
struct Feeding {
    accumulator: Accumulator,
    /// What it has been fed: rows from the first to before the second.
    fed: (usize, usize),
}

impl Feeding {
    fn new(call: &AggregateCall) -> Self {
        Self { accumulator: Accumulator::new(call), fed: (0, 0) }
    }

    fn feed(&mut self, args: &Arguments<'_>, start: usize, end: usize) -> Result<()> {
        let AggregateWindow { args: columns, types, filter, executor, .. } = args.window;
        let all = filter.is_none() && start == 0 && end == args.partition.len();
        if all
            && *executor != Executor::Row
            && let ([ty], Some(held)) = (&types[..], args.partition.in_memory())
            && self.accumulator.add_column(&held[columns.start], ty)?
        {
            return Ok(());
        }
        args.feed(&mut self.accumulator, start..end)
    }
}

impl Moving for Feeding {
    fn over(&mut self, args: &Arguments<'_>, frame: &Frame) -> Result<Value> {
        if let Some((start, end)) = frame.one_run()
            && start == self.fed.0
            && end >= self.fed.1
        {
            self.feed(args, self.fed.1, end)?;
            self.fed = (start, end);
            return self.accumulator.clone().finish();
        }
        self.accumulator = Accumulator::new(&args.window.call);
        for (start, end) in frame.runs() {
            self.feed(args, start, end)?;
        }
        // With a gap it cannot be fed on.
        self.fed = frame.one_run().unwrap_or((usize::MAX, usize::MAX));
        self.accumulator.clone().finish()
    }

    fn kept(&self, frames: &Frames, next: usize) -> usize {
        // What has been fed is not looked at again while frames only grow.
        if frames.only_grows() { frames.kept(next) } else { frames.kept_whole(next) }
    }

    fn heap_bytes(&self) -> usize {
        self.accumulator.heap_bytes()
    }
}

/// Exact sums: rows join and leave.
struct Sliding {
    accumulator: Accumulator,
    frame: Frame,
}

impl Sliding {
    fn new(call: &AggregateCall) -> Self {
        Self { accumulator: Accumulator::new(call), frame: Frame::default() }
    }

    fn anew(&mut self, args: &Arguments<'_>, frame: &Frame) -> Result<()> {
        self.accumulator = Accumulator::new(&args.window.call);
        frame.runs().try_for_each(|(start, end)| args.feed(&mut self.accumulator, start..end))
    }

    /// Takes rows out again; false where that cannot be.
    fn take_out(&mut self, args: &Arguments<'_>, rows: Range<usize>) -> Result<bool> {
        for row in rows {
            if args.counts(row)? && !self.accumulator.take_out(&args.values(row)?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Moving for Sliding {
    fn over(&mut self, args: &Arguments<'_>, frame: &Frame) -> Result<Value> {
        match (self.frame.one_run(), frame.one_run()) {
            // Worth it where most rows stay.
            (Some(old), Some(new)) if new.0 >= old.0 && new.1 >= old.1 && new.0 < old.1 => {
                if self.take_out(args, old.0..new.0)? {
                    args.feed(&mut self.accumulator, old.1..new.1)?;
                } else {
                    self.anew(args, frame)?;
                }
            }
            _ => self.anew(args, frame)?,
        }
        self.frame = *frame;
        self.accumulator.clone().finish()
    }

    fn heap_bytes(&self) -> usize {
        self.accumulator.heap_bytes()
    }
}

/// An aggregate of users.
struct Folding {
    steps: Arc<FoldSteps>,
    state: FoldState,
    /// What is in the state: rows from the first to before the second.
    fed: (usize, usize),
}

impl Folding {
    fn new(steps: &Arc<FoldSteps>) -> Self {
        Self { state: steps.begin(), steps: Arc::clone(steps), fed: (0, 0) }
    }

    fn feed(&mut self, args: &Arguments<'_>, rows: Range<usize>) -> Result<()> {
        for row in rows {
            args.cx.check_cancelled()?;
            if args.counts(row)? {
                let value = args.partition.value(args.window.args.start, row)?;
                self.steps.add(&args.cx.eval(), &mut self.state, &value)?;
            }
        }
        Ok(())
    }

    /// Takes rows out again; false where that cannot be.
    fn take_out(&mut self, args: &Arguments<'_>, rows: Range<usize>) -> Result<bool> {
        for row in rows {
            args.cx.check_cancelled()?;
            if args.counts(row)? {
                let value = args.partition.value(args.window.args.start, row)?;
                if !self.steps.take_out(&args.cx.eval(), &mut self.state, &value)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

impl Moving for Folding {
    fn over(&mut self, args: &Arguments<'_>, frame: &Frame) -> Result<Value> {
        let known = match frame.one_run() {
            Some((start, end)) if start == self.fed.0 && end >= self.fed.1 => true,
            Some((start, end)) if start > self.fed.0 && start < self.fed.1 && end >= self.fed.1 => {
                let may = args.window.takes_out && self.steps.takes_out();
                may && self.take_out(args, self.fed.0..start)?
            }
            _ => false,
        };
        match frame.one_run() {
            Some((start, end)) if known => {
                self.feed(args, self.fed.1..end)?;
                self.fed = (start, end);
            }
            one_run => {
                self.state = self.steps.begin();
                for (start, end) in frame.runs() {
                    self.feed(args, start..end)?;
                }
                // With a gap it cannot be fed on.
                self.fed = one_run.unwrap_or((usize::MAX, usize::MAX));
            }
        }
        self.steps.result(&args.cx.eval(), &self.state)
    }

    fn kept(&self, frames: &Frames, next: usize) -> usize {
        // What has been fed is not looked at again while frames only grow.
        if frames.only_grows() { frames.kept(next) } else { frames.kept_whole(next) }
    }

    fn heap_bytes(&self) -> usize {
        payload(&self.state.value)
    }
}

/// Smallest or largest values: rows that a later one beats are never asked for again.
struct Extremes {
    of: Extreme,
    /// Rows, each better than those behind it.
    queue: VecDeque<(usize, Value)>,
    /// What their values hold.
    payload: usize,
    /// Rows before this one were looked at.
    seen: usize,
}

impl Extremes {
    fn new(of: Extreme) -> Self {
        Self { of, queue: VecDeque::new(), payload: 0, seen: 0 }
    }
}

impl Moving for Extremes {
    fn over(&mut self, args: &Arguments<'_>, frame: &Frame) -> Result<Value> {
        let Some((start, end)) = frame.one_run().filter(|(start, end)| start < end) else {
            return Ok(Value::Null);
        };
        for row in self.seen.max(start)..end {
            if row % FED_ROWS == 0 {
                args.cx.check_cancelled()?;
            }
            let Some(value) = args.value(row)? else { continue };
            while let Some((_, last)) = self.queue.back()
                && self.of.replaces(&value, last)
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
