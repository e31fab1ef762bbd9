//! Both inputs of a join: the right one held in memory, or both in parts, one after the other.
//!
//! Each may tell the other which keys it has ([`KeyFilter`]): the right one, built, those that left rows may have; a left one
//! of few rows, read ahead, those of which right rows are wanted.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_types::{Batch, SqlType};

use super::build::{Build, FindScratch};
use super::integers::IntegerTable;
use super::noted::NotedKeys;
use super::parts::{Part, Tasks, cut};
use super::right::RightRows;
use crate::error::{ExecError, Result};
use crate::exec::filter::{KeyFilter, Reach, collect};
use crate::exec::operator::Operator;
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext, parallel};
use crate::expr::{Executor, ExprList};
use crate::memory::Reservation;
use crate::plan::{JoinKind, TypedExpr};
use crate::spill::TempSpace;

/// The inputs, and what of the right one is built.
pub(super) struct Sides {
    left: Box<dyn Operator>,
    right: RightRows,
    /// Which rows are wanted without a partner.
    kind: JoinKind,
    /// As errors name the operator.
    what: &'static str,
    pub left_types: Vec<SqlType>,
    right_types: Vec<SqlType>,
    left_keys: ExprList,
    right_keys: ExprList,
    /// Shared by the parts of the join.
    pub build: Arc<Build>,
    pub tasks: Tasks,
    told: Told,
    /// The right input is not begun where there is no left row (J5).
    waits: bool,
    ahead: Ahead,
    /// Workers may compute the keys of left rows, and of right ones.
    keys_are_safe: (bool, bool),
}

/// What one input may tell the other.
#[derive(Default)]
struct Told {
    /// Of each pair of keys the columns of the inputs.
    columns: Vec<(Option<usize>, Option<usize>)>,
    /// Left rows without a partner are not wanted.
    to_left: bool,
    /// How far down the right input it must be of use.
    to_right: Option<Reach>,
}

/// Left rows read before the right ones.
#[derive(Default)]
struct Ahead {
    rows: VecDeque<Batch>,
    held: Vec<Reservation>,
    /// What several workers that have read them have left of the input, and pages of it before they did.
    rest: Vec<Box<dyn Operator>>,
    pages: u64,
    /// The left input is open.
    open: bool,
    /// Its first rows have been read, so that it is not split any more.
    begun: bool,
    /// It has no further rows, but perhaps an error.
    ended: bool,
    late: Option<ExecError>,
}

/// Keeps rows: with the last ones, where these are few, else as a batch of their own. How many bytes that takes.
fn keep(kept: &mut VecDeque<Batch>, rows: &mut Batch, types: &[SqlType]) -> usize {
    match kept.back_mut() {
        Some(last) if last.rows + rows.rows <= 2 * BATCH_ROWS && rows.variable_bytes() < BATCH_BYTES => {
            let before = last.heap_bytes();
            last.append(rows);
            last.heap_bytes().saturating_sub(before)
        }
        _ => {
            let whole = std::mem::replace(rows, Batch::of_types(types));
            let bytes = whole.heap_bytes();
            kept.push_back(whole);
            bytes
        }
    }
}

impl Ahead {
    /// Of a left input that is open, without a row.
    fn opened() -> Ahead {
        Ahead { open: true, ..Ahead::default() }
    }
}

/// What right rows must have in these columns, by the keys of all left rows.
fn filters(cx: &ExecContext<'_>, keys: &[(usize, usize, Vec<i64>)]) -> Vec<(usize, Arc<KeyFilter>)> {
    let filter = |(_, column, keys): &(usize, usize, Vec<i64>)| {
        KeyFilter::new(cx, keys.iter().copied()).map(|filter| (*column, filter))
    };
    keys.iter().filter_map(filter).collect()
}

/// Left rows that are read ahead, at most.
const AHEAD_ROWS: usize = 256 << 10;

/// A batch of left rows.
#[derive(Default)]
pub(super) struct LeftRows {
    pub rows: Batch,
    keys: Batch,
    scratch: FindScratch,
    /// Per row its first candidate.
    pub heads: Vec<u32>,
}

impl Sides {
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        (kind, what): (JoinKind, &'static str),
        equal: &[(TypedExpr, TypedExpr)],
        executor: Executor,
    ) -> Sides {
        Sides {
            kind,
            what,
            left_keys: ExprList::compile(equal.iter().map(|(left, _)| left), executor),
            right_keys: ExprList::compile(equal.iter().map(|(_, right)| right), executor),
            left: left.0,
            left_types: left.1,
            right: RightRows::of(right.0),
            right_types: right.1,
            build: Arc::default(),
            tasks: Tasks::default(),
            told: Told {
                columns: equal.iter().map(|(left, right)| (left.as_column(), right.as_column())).collect(),
                ..Told::default()
            },
            waits: false,
            ahead: Ahead::default(),
            keys_are_safe: (
                equal.iter().all(|(left, _)| left.is_parallel_safe()),
                equal.iter().all(|(_, right)| right.is_parallel_safe()),
            ),
        }
    }

    /// The same with inputs that tell each other of their keys: the right one if `to_left`, the left one if that reaches as
    /// far as `to_right` says.
    pub fn telling(mut self, to_left: bool, to_right: Option<Reach>) -> Sides {
        (self.told.to_left, self.told.to_right) = (to_left, to_right);
        self
    }

    /// The same, where the right input is to be begun only when there is a left row.
    pub fn waiting(mut self, waits: bool) -> Sides {
        self.waits = waits;
        self
    }

    /// Passes a filter on to the left input.
    pub fn restrict_left(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        if column < self.left_types.len() {
            self.left.restrict(column, filter);
        }
    }

    /// How far down that is of use.
    pub fn reach_left(&self, column: usize) -> Reach {
        if column < self.left_types.len() { self.left.reach(column) } else { Reach::Nowhere }
    }

    /// Reads left rows, if it pays and they are few, and yields what right rows must have.
    fn read_ahead(&mut self, cx: &ExecContext<'_>) -> Result<Vec<(usize, Arc<KeyFilter>)>> {
        let Some(wanted) = self.told.to_right else { return Ok(Vec::new()) };
        let types = self.left_keys.types().iter().zip(self.right_keys.types());
        let mut keys: Vec<(usize, usize, Vec<i64>)> = Vec::new();
        for (at, ((left, right), (_, column))) in types.zip(&self.told.columns).enumerate() {
            if let Some(column) = *column
                && IntegerTable::takes(left, right)
                && self.right.input.reach(column) >= wanted
            {
                keys.push((at, column, Vec::new()));
            }
        }
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut rows = Batch::of_types(&self.left_types);
        let mut values = Batch::of_types(self.left_keys.types());
        self.left.open(cx)?;
        self.ahead.open = true;
        if self.read_shared(cx)? {
            for rows in &self.ahead.rows {
                self.left_keys.eval(&cx.eval(), rows, &mut values)?;
                for (at, _, keys) in &mut keys {
                    collect(&values.columns[*at], keys);
                }
            }
            return Ok(if self.ahead.ended && self.ahead.late.is_none() {
                filters(cx, &keys)
            } else {
                Vec::new()
            });
        }
        let mut held = cx.reserve(self.what);
        let (mut count, mut bytes) = (0, 0);
        while count < AHEAD_ROWS {
            cx.check_cancelled()?;
            let more = self.left.next(cx, &mut rows);
            let more = more.and_then(|more| match more {
                true => self.left_keys.eval(&cx.eval(), &rows, &mut values).map(|()| true),
                false => Ok(false),
            });
            match more {
                Ok(true) => {}
                Ok(false) => {
                    self.ahead.ended = true;
                    break;
                }
                Err(error) => {
                    // It may be that the rows before are enough.
                    (self.ahead.ended, self.ahead.late) = (true, Some(error));
                    keys.clear();
                    break;
                }
            }
            count += rows.rows;
            for (at, _, keys) in &mut keys {
                collect(&values.columns[*at], keys);
            }
            bytes += keep(&mut self.ahead.rows, &mut rows, &self.left_types);
            let of_keys: usize = keys.iter().map(|(.., keys)| keys.capacity() * 8).sum();
            if held.try_resize((bytes + of_keys) as u64).is_err() {
                held.hold(bytes as u64);
                break;
            }
        }
        if !self.ahead.ended {
            keys.clear();
        }
        let filters = filters(cx, &keys);
        held.hold(bytes as u64);
        self.ahead.held.push(held);
        Ok(filters)
    }

    /// Reads left rows, of an input just opened, with several workers, if it is to be read so; whether it was.
    fn read_shared(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.ahead.pages = self.left.shareable().filter(|_| self.keys_are_safe.0).unwrap_or(0);
        if self.ahead.pages == 0 {
            return Ok(false);
        }
        let Some(parts) = parallel::split(cx, &mut *self.left)? else { return Ok(false) };
        let (types, what, count) = (self.left_types.clone(), self.what, AtomicUsize::new(0));
        let read = parallel::run(cx, parts, move |cx, mut input: Box<dyn Operator>| {
            let mut held = cx.reserve(what);
            let mut batches: VecDeque<Batch> = VecDeque::new();
            let mut rows = Batch::of_types(&types);
            let mut bytes = 0;
            let late = loop {
                if count.load(Ordering::Relaxed) >= AHEAD_ROWS {
                    return Ok((batches, held, Some(input), None));
                }
                match input.next(cx, &mut rows) {
                    Ok(true) => {}
                    Ok(false) => break None,
                    // It may be that the rows before are enough.
                    Err(error) => break Some(error),
                }
                count.fetch_add(rows.rows, Ordering::Relaxed);
                bytes += keep(&mut batches, &mut rows, &types);
                if held.try_resize(bytes as u64).is_err() {
                    held.hold(bytes as u64);
                    return Ok((batches, held, Some(input), None));
                }
            };
            input.close();
            Ok((batches, held, None, late))
        })?;
        for (batches, held, rest, late) in read {
            self.ahead.rows.extend(batches);
            self.ahead.held.push(held);
            self.ahead.rest.extend(rest);
            self.ahead.late = self.ahead.late.take().or(late);
        }
        if self.ahead.late.is_some() {
            self.ahead.rest.clear();
        }
        self.ahead.ended = self.ahead.rest.is_empty();
        Ok(true)
    }

    /// Whether the right input is to be read: where it waits for a left row, that is read here.
    fn begins_right(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        if !self.waits {
            return Ok(true);
        }
        self.open_left(cx)?;
        self.ahead.begun = true;
        let mut rows = Batch::of_types(&self.left_types);
        loop {
            self.left.bound(1); // what others do is done when the right input is there
            if !self.left.next(cx, &mut rows)? {
                self.ahead.ended = true;
                return Ok(false);
            }
            if rows.rows > 0 {
                self.ahead.rows.push_back(rows);
                return Ok(true);
            }
        }
    }

    fn open_left(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if std::mem::replace(&mut self.ahead.open, true) { Ok(()) } else { self.left.open(cx) }
    }

    /// The next rows of the left input.
    fn next_left(&mut self, cx: &ExecContext<'_>, bounded: bool, out: &mut Batch) -> Result<bool> {
        if let Some(mut rows) = self.ahead.rows.pop_front() {
            std::mem::swap(out, &mut rows);
            return Ok(true);
        }
        self.ahead.held.clear();
        if self.ahead.ended {
            return self.ahead.late.take().map_or(Ok(false), Err);
        }
        if !self.ahead.rest.is_empty() {
            let more = parallel::next_of(cx, &mut self.ahead.rest, out)?;
            self.ahead.ended = !more;
            return Ok(more);
        }
        if bounded {
            self.left.bound(1); // one row may be enough
        }
        self.left.next(cx, out)
    }

    /// For rows of the left input.
    pub fn left_rows(&self) -> LeftRows {
        LeftRows {
            rows: Batch::of_types(&self.left_types),
            keys: Batch::of_types(self.left_keys.types()),
            scratch: FindScratch::default(),
            heads: Vec::new(),
        }
    }

    fn new_build(&self, cx: &ExecContext<'_>) -> Build {
        Build::new(cx, &self.right_types, self.what, (self.left_keys.types(), self.right_keys.types()))
    }

    /// Reads the right input to its end; where it may not be held, both inputs are cut into parts.
    pub fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut batch = Batch::of_types(&self.right_types);
        let mut build = self.new_build(cx);
        if !self.begins_right(cx)? {
            build.finish(self.kind, self.right_keys.types());
            self.build = Arc::new(build);
            return Ok(());
        }
        let filters = self.read_ahead(cx)?;
        self.right.open(cx, &filters)?;
        if self.keys_are_safe.1 {
            self.right.share(cx, &self.right_types, self.what)?;
        }
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            if let Err(refused) = build.add(cx, &mut self.right_keys, &batch)? {
                let Some(space) = cx.services.memory.temporary else { return Err(refused.error(self.what)) };
                let held = std::mem::take(&mut build.rows);
                drop(build);
                let right = self.part_right(cx, space, held, &mut batch)?;
                let mut left = Part::new(space, &self.left_types, &self.left_keys, cx)?;
                let mut batch = Batch::of_types(&self.left_types);
                while self.next_left(cx, false, &mut batch)? {
                    cx.check_cancelled()?;
                    left.put_all(cx, &batch, &mut self.left_keys)?;
                }
                self.left.close();
                self.tasks.add(left, right, 0, self.kind)?;
                return self.next_task(cx).map(drop);
            }
        }
        self.right.close();
        build.finish(self.kind, self.right_keys.types());
        self.build = Arc::new(build);
        self.open_left(cx)?;
        let build = Arc::clone(&self.build);
        let theirs: Vec<Option<usize>> = self.told.columns.iter().map(|(_, theirs)| *theirs).collect();
        self.tell_left(|pair| match theirs[..] {
            [_] => build.filter(cx),
            _ => build.filter_of(cx, theirs[pair]?),
        });
        Ok(())
    }

    /// Cuts the right input into parts: the rows held, the batch behind them and all that follow. Then opens the left input and
    /// tells it which keys they have.
    fn part_right(
        &mut self,
        cx: &ExecContext<'_>,
        space: &Arc<TempSpace>,
        held: Batch,
        batch: &mut Batch,
    ) -> Result<Part> {
        let mut noted = NotedKeys::new(cx, self.pairs_to_tell().into_iter().map(|(pair, _)| pair));
        let mut right = Part::new(space, &self.right_types, &self.right_keys, cx)?;
        right.put_all(cx, &held, &mut self.right_keys)?;
        noted.note(right.last_keys());
        drop(held);
        loop {
            right.put_all(cx, batch, &mut self.right_keys)?;
            noted.note(right.last_keys());
            if !self.right.next(cx, batch)? {
                break;
            }
            cx.check_cancelled()?;
        }
        self.right.close();
        self.open_left(cx)?;
        self.tell_left(|pair| noted.filter(cx, pair));
        Ok(right)
    }

    /// Pairs of keys that the left input may be told of, each with its column of left rows.
    fn pairs_to_tell(&self) -> Vec<(usize, usize)> {
        if !self.told.to_left || self.ahead.ended {
            return Vec::new();
        }
        let types = self.left_keys.types().iter().zip(self.right_keys.types());
        let pairs = types.zip(&self.told.columns).enumerate();
        let told = pairs.filter_map(|(pair, ((left, right), (ours, _)))| {
            let ours = (*ours)?;
            let of_use = IntegerTable::takes(left, right) && self.left.reach(ours) != Reach::Nowhere;
            of_use.then_some((pair, ours))
        });
        told.collect()
    }

    /// Tells the left input, which is open, the keys that right rows have, by pairs of keys. Of several the scan finds out which of
    /// them leave out rows.
    fn tell_left(&mut self, filter: impl Fn(usize) -> Option<Arc<KeyFilter>>) {
        for (pair, ours) in self.pairs_to_tell() {
            let Some(filter) = filter(pair) else { continue };
            match &mut self.ahead.rest[..] {
                [] => self.left.restrict(ours, &filter),
                rest => rest.iter_mut().for_each(|part| part.restrict(ours, &filter)),
            }
        }
    }

    /// Builds the next chunk of the part under way, or the first of the next one; false if there is none.
    pub fn next_task(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.build = Arc::default();
        loop {
            let mut build = self.new_build(cx);
            if !self.tasks.next_chunk()? {
                return Ok(false);
            }
            let mut batch = Batch::of_types(&self.right_types);
            let mut whole = true;
            while self.tasks.read_right(&mut batch)? {
                cx.check_cancelled()?;
                let Err(refused) = build.add(cx, &mut self.right_keys, &batch)? else { continue };
                if self.tasks.may_cut() && !self.right_keys.types().is_empty() {
                    build = Build::default();
                    let types = (&self.left_types[..], &self.right_types[..]);
                    cut(cx, &mut self.tasks, types, (&mut self.left_keys, &mut self.right_keys), self.kind)?;
                    whole = false;
                    break;
                }
                if build.rows.rows == 0 {
                    // Half of the rows may fit.
                    if batch.rows <= 1 {
                        return Err(refused.error(self.what));
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
                build.finish(self.kind, self.right_keys.types());
                self.build = Arc::new(build);
                return Ok(true);
            }
        }
    }

    /// Reads the next left rows, of the part under way where there are parts, and finds their first candidates. False at
    /// the end.
    pub fn read_left(&mut self, cx: &ExecContext<'_>, bounded: bool, out: &mut LeftRows) -> Result<bool> {
        let more = if self.tasks.is_parted() {
            self.tasks.read_left(&mut out.rows)?
        } else {
            self.next_left(cx, bounded, &mut out.rows)?
        };
        if !more {
            return Ok(false);
        }
        out.heads.clear();
        self.left_keys.eval(&cx.eval(), &out.rows, &mut out.keys)?;
        self.build.find(&out.keys, self.left_keys.types(), &mut out.scratch, &mut out.heads);
        Ok(true)
    }

    /// Whether left rows are read in the order of their input: neither in parts nor by several workers.
    pub fn keep_order(&mut self) -> bool {
        !self.tasks.is_parted() && self.ahead.pages == 0 && !self.ahead.begun && self.left.keep_order()
    }

    /// From how many pages left rows come, if workers may look for the partners of some of them each: they share the right rows.
    pub fn shareable(&self) -> Option<u64> {
        let whole = !self.tasks.is_parted() && !self.ahead.ended && !self.ahead.begun;
        let safe = self.keys_are_safe.0 && whole;
        match () {
            () if !safe => None,
            () if self.ahead.rest.is_empty() => self.left.shareable(),
            () => Some(self.ahead.pages),
        }
    }

    /// The sides of so many parts.
    pub fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Sides>> {
        let mut whole = std::mem::take(&mut self.ahead);
        let rest = std::mem::take(&mut whole.rest);
        let mut ahead = Some(whole);
        let part = |left| Sides {
            left,
            right: RightRows::default(),
            kind: self.kind,
            what: self.what,
            left_types: self.left_types.clone(),
            right_types: self.right_types.clone(),
            left_keys: self.left_keys.clone(),
            right_keys: self.right_keys.clone(),
            build: Arc::clone(&self.build),
            tasks: Tasks::default(),
            told: Told::default(),
            waits: false,
            // One of them gets the rows that were read ahead.
            ahead: ahead.take().unwrap_or_else(Ahead::opened),
            keys_are_safe: self.keys_are_safe,
        };
        let inputs = if rest.is_empty() { self.left.split(cx, parts)? } else { rest };
        self.build.unfinished.store(inputs.len(), Ordering::Release);
        Ok(inputs.into_iter().map(part).collect())
    }

    pub fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.build = Arc::default();
        self.tasks = Tasks::default();
        self.ahead = Ahead::default();
    }
}
