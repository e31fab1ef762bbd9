//! The frame of each row of a partition.
//!
//! ```text
//! row      0 1 2 3 4 5 6 7            groups 0,2,3,6: rows 0 1 | 2 | 3 4 5 | 6 7 are peers
//! frame of 4, GROUPS 1 PRECEDING, EXCLUDE TIES:  [2,3) [4,5)
//! ```
//!
//! F1. Frames are asked for from the first row to the last; both their ends never move back.
//! F2. A frame is asked for when it is known: no row that may still come is in it ([`Frames::known`]).

use super::super::ExecContext;
use super::partition::Partition;
use super::range::{Step, reaches};
use crate::error::{ExecError, Result};
use crate::expr::RowExpr;
use crate::plan::{FrameBound, FrameExclusion, FrameUnit, WindowFrame};

/// A frame as written, compiled.
pub(super) struct FrameSpec {
    unit: FrameUnit,
    start: Bound,
    end: Bound,
    exclude: FrameExclusion,
    /// Of the sort key: descending, NULLs first.
    direction: (bool, bool),
}

enum Bound {
    UnboundedPreceding,
    Preceding(RowExpr),
    CurrentRow,
    Following(RowExpr),
    UnboundedFollowing,
}

impl Bound {
    fn new(bound: &FrameBound) -> Self {
        match bound {
            FrameBound::UnboundedPreceding => Bound::UnboundedPreceding,
            FrameBound::Preceding(offset) => Bound::Preceding(RowExpr::compile(offset)),
            FrameBound::CurrentRow => Bound::CurrentRow,
            FrameBound::Following(offset) => Bound::Following(RowExpr::compile(offset)),
            FrameBound::UnboundedFollowing => Bound::UnboundedFollowing,
        }
    }

    /// Its offset now.
    fn value(&self, cx: &ExecContext<'_>, unit: FrameUnit, word: &str) -> Result<End> {
        let (offset, preceding) = match self {
            Bound::UnboundedPreceding => return Ok(End::First),
            Bound::CurrentRow => return Ok(End::Current),
            Bound::UnboundedFollowing => return Ok(End::Last),
            Bound::Preceding(offset) => (offset, true),
            Bound::Following(offset) => (offset, false),
        };
        let value = offset.eval_constant(&cx.eval())?;
        if value.is_null() {
            return Err(ExecError::raised("22004", format!("frame {word} offset must not be null")));
        }
        if unit == FrameUnit::Range {
            return Ok(End::Difference(Step { offset: value, preceding }));
        }
        match usize::try_from(value.as_i64().unwrap_or(-1)) {
            Ok(count) => Ok(End::Count { count, preceding }),
            Err(_) => Err(ExecError::raised("22013", format!("frame {word} offset must not be negative"))),
        }
    }
}

/// One end of a frame, its offset known.
enum End {
    First,
    Count { count: usize, preceding: bool },
    Difference(Step),
    Current,
    Last,
}

impl FrameSpec {
    pub fn new(frame: &WindowFrame, direction: Option<(bool, bool)>) -> Self {
        Self {
            unit: frame.unit,
            start: Bound::new(&frame.start),
            end: Bound::new(&frame.end),
            exclude: frame.exclude,
            direction: direction.unwrap_or_default(),
        }
    }
}

/// The frames of a partition's rows, one after the other.
pub(super) struct Frames {
    unit: FrameUnit,
    start: End,
    end: End,
    exclude: FrameExclusion,
    direction: (bool, bool),
    /// The ends of the frame before.
    head: usize,
    tail: usize,
}

/// The rows of a frame: up to three runs, ascending; some may be empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    runs: [(usize, usize); 3],
}

impl Frame {
    fn whole(start: usize, end: usize) -> Self {
        Self { runs: [(start, end.max(start)), (0, 0), (0, 0)] }
    }

    /// The runs of rows that are not empty.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = (usize, usize)> + '_ {
        self.runs.iter().copied().filter(|(start, end)| start < end)
    }

    /// The one run that it is, where nothing is left out of its middle.
    pub fn one_run(&self) -> Option<(usize, usize)> {
        let mut runs = self.runs();
        match (runs.next(), runs.next()) {
            (Some(run), None) => Some(run),
            (None, _) => Some((0, 0)),
            _ => None,
        }
    }

    /// The first row.
    pub fn first(&self) -> Option<usize> {
        self.runs().next().map(|(start, _)| start)
    }

    /// The last row.
    pub fn last(&self) -> Option<usize> {
        self.runs().next_back().map(|(_, end)| end - 1)
    }

    /// Row `n`, counted from 0.
    pub fn nth(&self, mut n: usize) -> Option<usize> {
        for (start, end) in self.runs() {
            if n < end - start {
                return Some(start + n);
            }
            n -= end - start;
        }
        None
    }
}

impl Frames {
    /// # Errors
    /// Of offsets that are NULL or negative, or that fail.
    pub fn new(spec: &FrameSpec, cx: &ExecContext<'_>) -> Result<Self> {
        Ok(Self {
            unit: spec.unit,
            start: spec.start.value(cx, spec.unit, "starting")?,
            end: spec.end.value(cx, spec.unit, "ending")?,
            exclude: spec.exclude,
            direction: spec.direction,
            head: 0,
            tail: 0,
        })
    }

    /// Whether rows only join at its end while the current row moves on.
    pub fn only_grows(&self) -> bool {
        matches!(self.start, End::First) && self.exclude == FrameExclusion::NoOthers
    }

    /// Whether rows within a frame may not count.
    pub fn leaves_out(&self) -> bool {
        self.exclude != FrameExclusion::NoOthers
    }

    /// Of how many rows the frames are known (F2).
    pub fn known(&self, partition: &Partition) -> Result<usize> {
        let rows = partition.len();
        if partition.is_complete() {
            return Ok(rows);
        }
        let by_end = match (&self.end, self.unit) {
            (End::First | End::Last | End::Difference(_), _) => 0,
            (End::Current, FrameUnit::Rows) | (End::Count { preceding: true, .. }, FrameUnit::Rows) => rows,
            (End::Count { count, preceding: false }, FrameUnit::Rows) => rows.saturating_sub(*count),
            (End::Count { count: 1.., preceding: true }, _) => rows,
            (End::Current | End::Count { preceding: true, .. }, _) => partition.grouped()?,
            (End::Count { count, preceding: false }, _) => {
                let last = partition.groups().saturating_sub(1);
                last.checked_sub(*count).map_or(Ok(0), |group| partition.start_of(group))?
            }
        };
        match self.exclude {
            FrameExclusion::NoOthers | FrameExclusion::CurrentRow => Ok(by_end),
            FrameExclusion::Group | FrameExclusion::Ties => Ok(by_end.min(partition.grouped()?)),
        }
    }

    /// The first row at which the frames of `next` and of the rows behind it look, whose start is none of the partition.
    pub fn kept(&self, next: usize) -> usize {
        let start = if matches!(self.start, End::First) { self.tail } else { self.head };
        start.min(self.tail).min(next)
    }

    /// The same where all rows of the frames are looked at.
    pub fn kept_whole(&self, next: usize) -> usize {
        if matches!(self.start, End::First) { 0 } else { self.kept(next) }
    }

    /// The frame of a row (F1).
    pub fn of(&mut self, cx: &ExecContext<'_>, partition: &Partition, row: usize) -> Result<Frame> {
        let (start, end) = (self.start_of(cx, partition, row)?, self.end_of(cx, partition, row)?);
        (self.head, self.tail) = (start, end);
        if start >= end {
            return Ok(Frame::default());
        }
        if self.exclude == FrameExclusion::NoOthers {
            return Ok(Frame::whole(start, end));
        }
        let clip = |(from, to): (usize, usize)| (from.max(start), to.min(end));
        let peers = partition.peers(row)?;
        let runs = match self.exclude {
            FrameExclusion::NoOthers => [(start, end), (0, 0), (0, 0)],
            FrameExclusion::CurrentRow => [(start, row), (row + 1, end), (0, 0)],
            FrameExclusion::Group => [(start, peers.start), (peers.end, end), (0, 0)],
            FrameExclusion::Ties => [(start, peers.start), (row, row + 1), (peers.end, end)],
        };
        Ok(Frame { runs: runs.map(clip) })
    }

    fn start_of(&self, cx: &ExecContext<'_>, partition: &Partition, row: usize) -> Result<usize> {
        let rows = partition.len();
        Ok(match (&self.start, self.unit) {
            (End::First, _) => 0,
            (End::Last, _) => rows,
            (End::Current, FrameUnit::Rows) => row,
            (End::Current, _) => partition.peers(row)?.start,
            (End::Count { count, preceding: true }, FrameUnit::Rows) => row.saturating_sub(*count),
            (End::Count { count, preceding: false }, FrameUnit::Rows) => row.saturating_add(*count).min(rows),
            (End::Count { count, preceding }, _) => {
                let group = partition.group(row)?;
                let group =
                    if *preceding { group.saturating_sub(*count) } else { group.saturating_add(*count) };
                partition.start_of(group)?
            }
            (End::Difference(step), _) => {
                let mut head = self.head;
                while head < rows && !self.at_or_behind(cx, partition, (head, row), step)? {
                    head += 1;
                }
                head
            }
        })
    }

    fn end_of(&self, cx: &ExecContext<'_>, partition: &Partition, row: usize) -> Result<usize> {
        let rows = partition.len();
        Ok(match (&self.end, self.unit) {
            (End::First, _) => 0,
            (End::Last, _) => rows,
            (End::Current, FrameUnit::Rows) => row + 1,
            (End::Current, _) => partition.peers(row)?.end,
            (End::Count { count, preceding: true }, FrameUnit::Rows) => (row + 1).saturating_sub(*count),
            (End::Count { count, preceding: false }, FrameUnit::Rows) => {
                row.saturating_add(*count).saturating_add(1).min(rows)
            }
            (End::Count { count, preceding }, _) => {
                let group = partition.group(row)?;
                match (*preceding, group.checked_sub(*count)) {
                    (true, None) => 0,
                    (true, Some(group)) => partition.start_of(group + 1)?,
                    (false, _) => partition.start_of(group.saturating_add(*count).saturating_add(1))?,
                }
            }
            (End::Difference(step), _) => {
                let mut tail = self.tail;
                while tail < rows && self.at_or_before(cx, partition, (tail, row), step)? {
                    tail += 1;
                }
                tail
            }
        })
    }

    /// Whether a row stands at or behind the place that lies a step from the current row.
    fn at_or_behind(
        &self,
        cx: &ExecContext<'_>,
        partition: &Partition,
        (other, row): (usize, usize),
        step: &Step,
    ) -> Result<bool> {
        let (descending, nulls_first) = self.direction;
        let (value, base) = (&partition.key(other)?, &partition.key(row)?);
        match (value.is_null(), base.is_null()) {
            (false, false) => reaches(cx, value, base, step, descending, descending),
            (value_null, base_null) => {
                Ok(if nulls_first { !value_null || base_null } else { value_null || !base_null })
            }
        }
    }

    /// Whether a row stands at or before the place that lies a step from the current row.
    fn at_or_before(
        &self,
        cx: &ExecContext<'_>,
        partition: &Partition,
        (other, row): (usize, usize),
        step: &Step,
    ) -> Result<bool> {
        let (descending, nulls_first) = self.direction;
        let (value, base) = (&partition.key(other)?, &partition.key(row)?);
        match (value.is_null(), base.is_null()) {
            (false, false) => reaches(cx, value, base, step, !descending, descending),
            (value_null, base_null) => Ok(if nulls_first { value_null } else { base_null }),
        }
    }
}
