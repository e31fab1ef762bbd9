//! Joins: the right input is held in memory, hashed by the equal expressions; left rows look their partners up.
//!
//! ```text
//! right ─► build ─┬─ fits ──────────────────► left rows probe it
//!                 └─ refused ─► both inputs in parts by the hash ─► a join of each pair of parts, which
//!                                  may be cut again, or is built in chunks, each probed by all left rows
//! ```
//!
//! J1. Where the right input fits, pairs come out in the order of the left input, and among equals in that of the right
//!     one, unless several workers have read it; right rows without a partner come last. Several workers that share the
//!     right rows, and the left input, yield them in any order. Left rows without a partner stand behind the pairs of their
//!     batch, or in their place where the order is asked for (`keep_order`).
//! J2. A NULL in an equal expression has no partner.
//! J3. Without equal expressions every right row is a candidate (nested loop).
//! J4. A part that hashes do not cut, because all its keys are equal, is joined in chunks: whether a left row has had a
//!     partner is known when the last chunk is done.
//! J5. A left join without equal expressions whose right input may do something, or refuse its rows, begins that when there is a left
//!     row.
//!
//! | module | what it is |
//! |---|---|
//! | [`sides`] | both inputs, opened, built and read |
//! | [`build`], [`integers`], [`packed`] | the right rows in memory |
//! | [`right`] | where right rows come from: the input, or several workers that have read it |
//! | [`parts`] | both inputs in parts |
//! | [`semi`] | semi-joins and anti-joins |
//! | [`merge`] | joins of inputs that are in the order of the keys |

mod build;
mod integers;
mod merge;
mod noted;
mod packed;
mod parts;
mod right;
mod semi;
mod sides;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_types::{Batch, Column, SqlType};

use super::filter::{KeyFilter, Reach};
use super::operator::{Operator, boxed};
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES};
use crate::error::Result;
use crate::expr::{Executor, Predicate};
use crate::plan::{JoinKind, TypedExpr};
use build::NONE;
pub(crate) use merge::MergeJoinOperator;
pub(crate) use semi::SemiOperator;
use sides::{LeftRows, Sides};

/// Whether values of a type are equal exactly where their integers are.
pub(super) fn takes_integers(ty: &SqlType) -> bool {
    integers::IntegerTable::takes(ty, ty)
}

/// A hash join.
pub(crate) struct JoinOperator {
    sides: Sides,
    kind: JoinKind,
    filter: Option<Predicate>,
    probe: Probe,
    /// The left input has ended; right rows up to this one have been looked at.
    tail: Option<usize>,
    selection: Vec<u32>,
    /// Not all pairs may be wanted.
    bounded: bool,
    /// Left rows without a partner are wanted in their place among the pairs.
    ordered: bool,
    /// Workers may compute the filter.
    is_safe: bool,
    /// Functions of the filter do something: it is asked of one pair at a time where not all may be wanted.
    steps: bool,
}

/// A batch of left rows.
#[derive(Default)]
struct Probe {
    of: LeftRows,
    matched: Vec<bool>,
    row: usize,
    candidate: u32,
    /// Of the rows before this one it is known which have a partner, and those without have been yielded.
    settled: usize,
    /// Pairs of this batch may still come.
    active: bool,
    left: Vec<u32>,
    right: Vec<u32>,
}

impl JoinOperator {
    #[allow(clippy::too_many_arguments, reason = "the parts of the plan's operator")]
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        reads_ahead: bool,
        kind: JoinKind,
        equal: &[(TypedExpr, TypedExpr)],
        filter: Option<&TypedExpr>,
        executor: Executor,
    ) -> Self {
        Self {
            is_safe: filter.is_none_or(TypedExpr::is_parallel_safe),
            sides: Sides::new(left, right, (kind, "a join"), equal, executor).telling(
                kind == JoinKind::Inner,
                (reads_ahead && !kind.pads_left()).then_some(Reach::Groups),
            ),
            kind,
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            probe: Probe::default(),
            tail: None,
            selection: Vec::new(),
            bounded: false,
            ordered: false,
            steps: filter.is_some_and(TypedExpr::acts),
        }
    }

    /// The same where the right input is begun only when there is a left row (J5); of a left join without equal expressions.
    pub fn waiting(self, waits: bool) -> Self {
        Self { sides: self.sides.waiting(waits), ..self }
    }

    /// Reads the next left rows. False at the end.
    fn read_left(&mut self, cx: &ExecContext<'_>, bounded: bool) -> Result<bool> {
        let probe = &mut self.probe;
        if !self.sides.read_left(cx, bounded, &mut probe.of)? {
            return Ok(false);
        }
        probe.matched.clear();
        probe.matched.resize(probe.of.rows.rows, false);
        (probe.row, probe.settled) = (0, 0);
        probe.candidate = probe.of.heads.first().copied().unwrap_or(NONE);
        probe.active = true;
        Ok(true)
    }

    /// Lists the next candidate pairs of the batch, `most` at most; none at its end.
    fn list_pairs(&mut self, most: usize) {
        let Probe { of: LeftRows { heads, rows, .. }, row, candidate, left, right, .. } = &mut self.probe;
        let build = &self.sides.build;
        left.clear();
        right.clear();
        let long = build.has_long_values || rows.variable_bytes() > BATCH_BYTES / BATCH_ROWS;
        let mut bytes = 0;
        if build.is_unique && !long && *row == 0 && most > 1 {
            // A row has one partner at most: all pairs of the batch at once.
            left.resize(heads.len(), 0);
            right.resize(heads.len(), 0);
            let mut count = 0;
            for (at, candidate) in heads.iter().enumerate() {
                (left[count], right[count]) = (at as u32, *candidate);
                count += usize::from(*candidate != NONE);
            }
            left.truncate(count);
            right.truncate(count);
            *row = heads.len();
            return;
        }
        while *row < heads.len() && left.len() < most && bytes < BATCH_BYTES {
            if *candidate == NONE {
                *row += 1;
                *candidate = heads.get(*row).copied().unwrap_or(NONE);
                continue;
            }
            left.push(*row as u32);
            right.push(*candidate);
            if long {
                bytes += rows.variable_bytes_at(*row) + build.rows.variable_bytes_at(*candidate as usize);
            }
            *candidate = build.next_of(*candidate);
        }
    }

    /// The pairs listed that pass the filter.
    fn pairs(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<()> {
        let Probe { of: LeftRows { rows, .. }, left, right, matched, .. } = &mut self.probe;
        let build = &self.sides.build;
        out.clear();
        let width = self.sides.left_types.len();
        let all_once = self.kind == JoinKind::Inner && build.is_unique && left.len() == rows.rows;
        for (from, to) in rows.columns.iter_mut().zip(&mut out.columns[..width]) {
            // Each left row is in one pair: nothing is to be copied, nor needed any more.
            if all_once { std::mem::swap(from, to) } else { from.gather_into(left, to) }
        }
        for (from, to) in build.rows.columns.iter().zip(&mut out.columns[width..]) {
            from.gather_into(right, to);
        }
        out.rows = left.len();
        self.selection.clear();
        match &mut self.filter {
            Some(filter) => {
                if let Some(error) = filter.select(&cx.eval(), out, &mut self.selection) {
                    return Err(error);
                }
                out.filter(&self.selection);
            }
            None if self.kind == JoinKind::Inner => {}
            None => self.selection.extend(0..left.len() as u32),
        }
        if self.kind == JoinKind::Inner {
            return Ok(());
        }
        for pair in &self.selection {
            matched[left[*pair as usize] as usize] = true;
        }
        if self.kind.pads_left() {
            let matched = |pair: &u32| &build.matched[right[*pair as usize] as usize];
            self.selection.iter().for_each(|pair| matched(pair).store(true, Ordering::Relaxed));
        }
        Ok(())
    }

    /// Left rows of the batch without a partner, in this chunk and those before it.
    fn lonely_left(&mut self, out: &mut Batch) {
        let rows = 0..self.probe.of.rows.rows as u32;
        self.selection.clear();
        self.selection.extend(rows.filter(|row| !self.probe.matched[*row as usize]));
        out.clear();
        self.append_selected_left(out);
    }

    /// Appends the left rows of the selection, without a partner.
    fn append_selected_left(&self, out: &mut Batch) {
        let (left, right) = out.columns.split_at_mut(self.sides.left_types.len());
        for (from, to) in self.probe.of.rows.columns.iter().zip(left) {
            from.gather_into(&self.selection, to);
        }
        right.iter_mut().for_each(|column| column.push_nulls(self.selection.len()));
        out.rows += self.selection.len();
    }

    /// Puts the left rows that have turned out to have no partner among the pairs of `out`, which the selection lists, so that all
    /// stand in the order of the left input.
    fn settle(&mut self, out: &mut Batch) {
        let Probe { left, matched, row, settled, .. } = &mut self.probe;
        // Of the row that is looked at further pairs may come.
        let settled = std::mem::replace(settled, *row)..*row;
        let lonely: Vec<u32> = settled.filter(|row| !matched[*row]).map(|row| row as u32).collect();
        if lonely.is_empty() {
            return;
        }
        let of_pairs: Vec<u32> = self.selection.iter().map(|pair| left[*pair as usize]).collect();
        let mut order = Vec::with_capacity(of_pairs.len() + lonely.len());
        let mut next = 0;
        for (pair, row) in of_pairs.iter().enumerate() {
            while lonely.get(next).is_some_and(|lonely| lonely < row) {
                order.push((of_pairs.len() + next) as u32);
                next += 1;
            }
            order.push(pair as u32);
        }
        order.extend((of_pairs.len() + next..of_pairs.len() + lonely.len()).map(|place| place as u32));
        self.selection = lonely;
        self.append_selected_left(out);
        if !of_pairs.is_empty() {
            *out = out.gather(&order);
        }
    }

    /// The next right rows without a partner. False at the end.
    fn lonely_right(&mut self, out: &mut Batch) -> bool {
        let Some(at) = &mut self.tail else { return false };
        self.selection.clear();
        let mut bytes = 0;
        while *at < self.sides.build.matched.len() && self.selection.len() < BATCH_ROWS && bytes < BATCH_BYTES
        {
            if !self.sides.build.matched[*at].load(Ordering::Relaxed) {
                self.selection.push(*at as u32);
                bytes += self.sides.build.rows.variable_bytes_at(*at);
            }
            *at += 1;
        }
        out.clear();
        let (left, right) = out.columns.split_at_mut(self.sides.left_types.len());
        left.iter_mut().for_each(|column: &mut Column| column.push_nulls(self.selection.len()));
        for (from, to) in self.sides.build.rows.columns.iter().zip(right) {
            from.gather_into(&self.selection, to);
        }
        out.rows = self.selection.len();
        out.rows > 0
    }

    /// After the left rows of a part or chunk.
    fn after_left(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<Option<bool>> {
        if self.lonely_right(out) {
            return Ok(Some(true));
        }
        let goes_on = self.sides.tasks.is_parted() && self.sides.next_task(cx)?;
        if goes_on {
            self.tail = None;
            self.probe.active = false;
        }
        Ok(if goes_on { None } else { Some(false) })
    }
}

impl Operator for JoinOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.probe = Probe { of: self.sides.left_rows(), ..Probe::default() };
        (self.bounded, self.ordered) = (false, false);
        self.sides.open(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = true;
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        if !self.kind.pads_left() {
            self.sides.restrict_left(column, filter);
        }
    }

    fn reach(&self, column: usize) -> Reach {
        if self.kind.pads_left() { Reach::Nowhere } else { self.sides.reach_left(column) }
    }

    fn keep_order(&mut self) -> bool {
        self.ordered = !self.kind.pads_left() && self.sides.keep_order();
        self.ordered
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bounded = std::mem::take(&mut self.bounded);
        loop {
            cx.check_cancelled()?;
            if self.tail.is_some() {
                match self.after_left(cx, out)? {
                    Some(more) => return Ok(more),
                    None => continue,
                }
            }
            if !self.probe.active {
                let needs_left = self.kind.pads_right() || self.sides.build.rows.rows > 0;
                if !(needs_left && self.read_left(cx, bounded)?) {
                    // The part that ends last knows which right rows have had no partner.
                    let is_last = self.sides.build.unfinished.fetch_sub(1, Ordering::AcqRel) == 1;
                    self.tail = Some(if is_last { 0 } else { usize::MAX });
                    continue;
                }
            }
            self.list_pairs(if bounded && self.steps { 1 } else { BATCH_ROWS });
            if self.probe.left.is_empty() {
                self.probe.active = false;
                if self.kind.pads_right() && self.ordered {
                    out.clear();
                    self.selection.clear();
                    self.settle(out);
                    if out.rows > 0 {
                        return Ok(true);
                    }
                    continue;
                }
                if self.kind.pads_right() && self.sides.tasks.note_matched(&mut self.probe.matched) {
                    self.lonely_left(out);
                    if out.rows > 0 {
                        return Ok(true);
                    }
                }
                continue;
            }
            self.pairs(cx, out)?;
            if self.kind.pads_right() && self.ordered {
                self.settle(out);
            }
            if out.rows > 0 {
                return Ok(true);
            }
        }
    }

    fn shareable(&self) -> Option<u64> {
        self.sides.shareable().filter(|_| self.is_safe)
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let part = |sides: Sides| JoinOperator {
            probe: Probe { of: sides.left_rows(), ..Probe::default() },
            sides,
            kind: self.kind,
            filter: self.filter.clone(),
            tail: None,
            selection: Vec::new(),
            bounded: false,
            ordered: false,
            is_safe: true,
            steps: false,
        };
        Ok(boxed(self.sides.split(cx, parts)?.into_iter().map(part)))
    }

    fn close(&mut self) {
        self.sides.close();
        self.probe.of.rows.recycle(KEEP_BYTES);
        self.probe = Probe::default();
        self.tail = None;
    }
}
