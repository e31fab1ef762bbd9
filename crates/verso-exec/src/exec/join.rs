//! Joins: the right input is held in memory, hashed by the equal expressions; left rows look their partners up.
//!
//! ```text
//! right ─► build ─┬─ fits ──────────────────► left rows probe it
//!                 └─ refused ─► both inputs in parts by the hash ─► a join of each pair of parts, which
//!                                  may be cut again, or is built in chunks, each probed by all left rows
//! ```
//!
//! J1. Where the right input fits, pairs come out in the order of the left input, and among equals in that of the right
//!     one; right rows without a partner come last.
//! J2. A NULL in an equal expression has no partner.
//! J3. Without equal expressions every right row is a candidate (nested loop).
//! J4. A part that hashes do not cut, because all its keys are equal, is joined in chunks: whether a left row has had a
//!     partner is known when the last chunk is done.
//!
//! | module | what it is |
//! |---|---|
//! | [`build`] | the right rows in memory |
//! | [`parts`] | both inputs in parts |

mod build;
mod parts;

use verso_types::{Batch, Column, SqlType};

use super::operator::Operator;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES};
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{JoinKind, TypedExpr};
use build::{Build, NONE};
use parts::{Part, Tasks, cut};

/// A hash join.
pub(crate) struct JoinOperator {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    kind: JoinKind,
    left_types: Vec<SqlType>,
    right_types: Vec<SqlType>,
    left_keys: ExprList,
    right_keys: ExprList,
    filter: Option<Predicate>,
    build: Build,
    probe: Probe,
    /// The left input has ended; right rows up to this one have been looked at.
    tail: Option<usize>,
    selection: Vec<u32>,
    /// Not all pairs may be wanted.
    bounded: bool,
    tasks: Tasks,
}

/// A batch of left rows.
#[derive(Default)]
struct Probe {
    rows: Batch,
    keys: Batch,
    /// Per row its first candidate.
    heads: Vec<u32>,
    matched: Vec<bool>,
    row: usize,
    candidate: u32,
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
        kind: JoinKind,
        equal: &[(TypedExpr, TypedExpr)],
        filter: Option<&TypedExpr>,
        executor: Executor,
    ) -> Self {
        Self {
            kind,
            left_keys: ExprList::compile(equal.iter().map(|(left, _)| left), executor),
            right_keys: ExprList::compile(equal.iter().map(|(_, right)| right), executor),
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            left: left.0,
            left_types: left.1,
            right: right.0,
            right_types: right.1,
            build: Build::default(),
            probe: Probe::default(),
            tail: None,
            selection: Vec::new(),
            bounded: false,
            tasks: Tasks::default(),
        }
    }

    /// Reads the right input to its end; where it may not be held, both inputs are cut into parts.
    fn hash_right(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut batch = Batch::of_types(&self.right_types);
        self.build = Build::new(cx, &self.right_types);
        self.right.open(cx)?;
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            if let Err(refused) = self.build.add(cx, &mut self.right_keys, &batch)? {
                let Some(space) = cx.services.memory.temporary else { return Err(refused.error("a join")) };
                let mut right = Part::new(space, &self.right_types, &self.right_keys, cx)?;
                let held = std::mem::take(&mut self.build.rows);
                self.build = Build::new(cx, &self.right_types);
                right.put_all(cx, &held, &mut self.right_keys)?;
                drop(held);
                right.put_all(cx, &batch, &mut self.right_keys)?;
                while self.right.next(cx, &mut batch)? {
                    cx.check_cancelled()?;
                    right.put_all(cx, &batch, &mut self.right_keys)?;
                }
                self.right.close();
                let mut left = Part::new(space, &self.left_types, &self.left_keys, cx)?;
                let mut batch = Batch::of_types(&self.left_types);
                self.left.open(cx)?;
                while self.left.next(cx, &mut batch)? {
                    cx.check_cancelled()?;
                    left.put_all(cx, &batch, &mut self.left_keys)?;
                }
                self.left.close();
                self.tasks.add(left, right, 0, self.kind)?;
                return self.next_task(cx).map(drop);
            }
        }
        self.right.close();
        self.build.finish(self.kind);
        self.left.open(cx)
    }

    /// Builds the next chunk of the part under way, or the first of the next one; false if there is none.
    fn next_task(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.tail = None;
        self.probe.active = false;
        self.build = Build::default();
        loop {
            self.build = Build::new(cx, &self.right_types);
            if !self.tasks.next_chunk()? {
                return Ok(false);
            }
            let mut batch = Batch::of_types(&self.right_types);
            let mut whole = true;
            while self.tasks.read_right(&mut batch)? {
                cx.check_cancelled()?;
                let Err(refused) = self.build.add(cx, &mut self.right_keys, &batch)? else { continue };
                if self.tasks.may_cut() && !self.right_keys.types().is_empty() {
                    self.build = Build::default();
                    let types = (&self.left_types[..], &self.right_types[..]);
                    cut(cx, &mut self.tasks, types, (&mut self.left_keys, &mut self.right_keys), self.kind)?;
                    whole = false;
                    break;
                }
                if self.build.rows.rows == 0 {
                    // Half of the rows may fit.
                    if batch.rows <= 1 {
                        return Err(refused.error("a join"));
                    }
                    let half = batch.rows / 2;
                    let behind: Vec<u32> = (half as u32..batch.rows as u32).collect();
                    self.tasks.put_back(batch.gather(&behind));
                    batch.truncate(half);
                    self.tasks.put_back(std::mem::replace(&mut batch, Batch::of_types(&self.right_types)));
                    continue;
                }
                // The chunk ends here; the batch is the next one's first.
                self.tasks.put_back(batch);
                self.tasks.chunk_is_full(cx, self.kind)?;
                break;
            }
            if whole {
                self.build.finish(self.kind);
                return Ok(true);
            }
        }
    }

    /// Reads the next left rows and finds their first candidates. False at the end.
    fn read_left(&mut self, cx: &ExecContext<'_>, bounded: bool) -> Result<bool> {
        let more = if self.tasks.is_parted() {
            self.tasks.read_left(&mut self.probe.rows)?
        } else {
            if bounded {
                self.left.bound(1); // one row may be enough
            }
            self.left.next(cx, &mut self.probe.rows)?
        };
        if !more {
            return Ok(false);
        }
        let probe = &mut self.probe;
        let rows = probe.rows.rows;
        probe.heads.clear();
        if self.left_keys.types().is_empty() {
            let first = if self.build.rows.rows > 0 { 0 } else { NONE };
            probe.heads.resize(rows, first);
        } else {
            self.left_keys.eval(&cx.eval(), &probe.rows, &mut probe.keys)?;
            self.build.find(&probe.keys, self.left_keys.types(), &mut probe.heads);
        }
        probe.matched.clear();
        probe.matched.resize(rows, false);
        probe.row = 0;
        probe.candidate = probe.heads.first().copied().unwrap_or(NONE);
        probe.active = true;
        Ok(true)
    }

    /// Lists the next candidate pairs of the batch; none at its end.
    fn list_pairs(&mut self) {
        let Probe { heads, row, candidate, left, right, rows, .. } = &mut self.probe;
        left.clear();
        right.clear();
        let long = self.build.has_long_values || rows.variable_bytes() > BATCH_BYTES / BATCH_ROWS;
        let mut bytes = 0;
        while *row < heads.len() && left.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            if *candidate == NONE {
                *row += 1;
                *candidate = heads.get(*row).copied().unwrap_or(NONE);
                continue;
            }
            left.push(*row as u32);
            right.push(*candidate);
            if long {
                bytes +=
                    rows.variable_bytes_at(*row) + self.build.rows.variable_bytes_at(*candidate as usize);
            }
            *candidate = self.build.next_of(*candidate);
        }
    }

    /// The pairs listed that pass the filter.
    fn pairs(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<()> {
        let Probe { rows, left, right, matched, .. } = &mut self.probe;
        out.clear();
        let width = self.left_types.len();
        for (from, to) in rows.columns.iter().zip(&mut out.columns[..width]) {
            from.gather_into(left, to);
        }
        for (from, to) in self.build.rows.columns.iter().zip(&mut out.columns[width..]) {
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
            None => self.selection.extend(0..left.len() as u32),
        }
        for pair in &self.selection {
            matched[left[*pair as usize] as usize] = true;
            if let Some(matched) = self.build.matched.get_mut(right[*pair as usize] as usize) {
                *matched = true;
            }
        }
        Ok(())
    }

    /// Left rows of the batch without a partner, in this chunk and those before it.
    fn lonely_left(&mut self, out: &mut Batch) {
        let rows = 0..self.probe.rows.rows as u32;
        self.selection.clear();
        self.selection.extend(rows.filter(|row| !self.probe.matched[*row as usize]));
        out.clear();
        let (left, right) = out.columns.split_at_mut(self.left_types.len());
        for (from, to) in self.probe.rows.columns.iter().zip(left) {
            from.gather_into(&self.selection, to);
        }
        right.iter_mut().for_each(|column| column.push_nulls(self.selection.len()));
        out.rows = self.selection.len();
    }

    /// The next right rows without a partner. False at the end.
    fn lonely_right(&mut self, out: &mut Batch) -> bool {
        let Some(at) = &mut self.tail else { return false };
        self.selection.clear();
        let mut bytes = 0;
        while *at < self.build.matched.len() && self.selection.len() < BATCH_ROWS && bytes < BATCH_BYTES {
            if !self.build.matched[*at] {
                self.selection.push(*at as u32);
                bytes += self.build.rows.variable_bytes_at(*at);
            }
            *at += 1;
        }
        out.clear();
        let (left, right) = out.columns.split_at_mut(self.left_types.len());
        left.iter_mut().for_each(|column: &mut Column| column.push_nulls(self.selection.len()));
        for (from, to) in self.build.rows.columns.iter().zip(right) {
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
        let goes_on = self.tasks.is_parted() && self.next_task(cx)?;
        Ok(if goes_on { None } else { Some(false) })
    }
}

impl Operator for JoinOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.probe = Probe {
            rows: Batch::of_types(&self.left_types),
            keys: Batch::of_types(self.left_keys.types()),
            ..Probe::default()
        };
        self.bounded = false;
        self.hash_right(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = true;
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
                let needs_left = self.kind.pads_right() || self.build.rows.rows > 0;
                if !(needs_left && self.read_left(cx, bounded)?) {
                    self.tail = Some(0);
                    continue;
                }
            }
            self.list_pairs();
            if self.probe.left.is_empty() {
                self.probe.active = false;
                if self.kind.pads_right() && self.tasks.note_matched(&mut self.probe.matched) {
                    self.lonely_left(out);
                    if out.rows > 0 {
                        return Ok(true);
                    }
                }
                continue;
            }
            self.pairs(cx, out)?;
            if out.rows > 0 {
                return Ok(true);
            }
        }
    }

    fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.build = Build::default();
        self.probe.rows.recycle(KEEP_BYTES);
        self.probe = Probe::default();
        self.tail = None;
        self.tasks = Tasks::default();
    }
}
