//! The rows of a partition: in memory as far as they may be held there, in a temporary file beyond.
//!
//! ```text
//! row      0 1 2 3 4 5 6 7            groups 0,2,3,6: rows 0 1 | 2 | 3 4 5 | 6 7 are peers
//! in a file  ├ block 0 ┤├ block 1 …   each row with its group and the first row of it; the first row and group of each block
//!                                     stay in memory
//! ```
//!
//! P1. A row is known by its place in the partition, in the window's order, wherever it is.
//! P2. Of what is in a file, as many blocks are held as functions have places at which they look.
//! P3. Rows are read while further ones come. Those in memory go when nobody looks at them any more ([`Partition::trim`]);
//!     the last one stays, to which the next is compared.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use verso_types::{Batch, Column, SqlType, Value};

use super::super::order::compare;
use super::super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::error::{ExecError, Result};
use crate::memory::Reservation;
use crate::spill::{Run, SpillFile};

/// Rows are collected up to so many bytes before a block of them is written.
const BLOCK_BYTES: usize = 64 << 10;
/// Places at which functions look: the current row, both ends of its frame and of its peers, a neighbour, the row that is
/// fed next and the one that leaves.
const BLOCKS_HELD: usize = 8;

/// So many rows are forgotten at once, and half of those held.
const TRIMMED_ROWS: usize = 256;

/// What a partition's rows consist of.
pub(super) struct Layout {
    /// Types of the columns: the input's, the sort keys, arguments and filters of the functions.
    pub types: Vec<SqlType>,
    /// Which of them are the sort keys.
    pub keys: Range<usize>,
    /// Of each sort key: descending, NULLs first.
    pub directions: Vec<(bool, bool)>,
}

impl Layout {
    /// Whether two rows are peers.
    fn same(&self, batch: &Batch, a: usize, b: usize) -> bool {
        let keys = self.keys.clone().zip(&self.directions);
        keys.into_iter()
            .all(|(at, direction)| compare(&batch.columns[at], &self.types[at], *direction, a, b).is_eq())
    }

    /// Types of the columns in a file: a row's group, and the first row of that, stand behind the others.
    fn filed(&self) -> Vec<SqlType> {
        self.types.iter().cloned().chain([SqlType::Int8, SqlType::Int8]).collect()
    }
}

/// The rows of a partition.
pub(super) struct Partition {
    layout: Arc<Layout>,
    rows: usize,
    /// No row follows.
    complete: bool,
    store: Store,
    held: Reservation,
}

enum Store {
    Memory(Held),
    File(Box<Filed>),
}

/// Rows in memory: those from `first` on.
struct Held {
    first: usize,
    batch: Batch,
    /// The first row of each group of peers, from group `first_group` on.
    first_group: usize,
    groups: Vec<usize>,
    /// The group of each row, counted from `first_group`.
    group_of: Vec<u32>,
}

impl Held {
    fn group(&self, row: usize) -> usize {
        self.first_group + self.group_of[row - self.first] as usize
    }

    /// The first row of a group, if the group is there.
    fn start_of(&self, group: usize) -> Option<usize> {
        self.groups.get(group.checked_sub(self.first_group)?).copied()
    }

    fn heap_bytes(&self) -> usize {
        let numbers = size_of::<usize>() * self.groups.capacity() + 4 * self.group_of.capacity();
        self.batch.heap_bytes() + numbers
    }

    /// Forgets the rows before one of those that are there.
    fn trim(&mut self, layout: &Layout, keep: usize) {
        let gone = keep - self.first;
        let mut rest = Batch::of_types(&layout.types);
        append(&mut rest, &self.batch, gone..self.batch.rows);
        self.batch = rest;
        let groups = self.group_of[gone];
        self.groups.drain(..groups as usize);
        self.first_group += groups as usize;
        self.group_of.drain(..gone);
        self.group_of.iter_mut().for_each(|group| *group -= groups);
        self.first = keep;
    }
}

impl Partition {
    /// One without rows.
    pub fn new(cx: &ExecContext<'_>, layout: &Arc<Layout>) -> Self {
        let held = Held {
            first: 0,
            batch: Batch::of_types(&layout.types),
            first_group: 0,
            groups: Vec::new(),
            group_of: Vec::new(),
        };
        Self {
            layout: Arc::clone(layout),
            rows: 0,
            complete: false,
            store: Store::Memory(held),
            held: cx.reserve_before_files("a window"),
        }
    }

    /// Takes some rows of a batch of its layout, which stand behind those that it has.
    ///
    /// # Errors
    /// `OutOfMemory` where nothing can be written to files; theirs.
    pub fn push(&mut self, cx: &ExecContext<'_>, from: &Batch, rows: Range<usize>) -> Result<()> {
        self.rows += rows.len();
        let held = match &mut self.store {
            Store::File(filed) => return filed.push(&self.layout, from, rows),
            Store::Memory(held) => held,
        };
        for (from, to) in from.columns.iter().zip(&mut held.batch.columns) {
            to.append_range(from, rows.clone());
        }
        for row in held.batch.rows..held.batch.rows + rows.len() {
            if row == 0 || !self.layout.same(&held.batch, row - 1, row) {
                held.groups.push(held.first + row);
            }
            held.group_of.push(held.groups.len() as u32 - 1);
        }
        held.batch.rows += rows.len();
        let Err(refused) = self.held.try_resize(held.heap_bytes() as u64) else { return Ok(()) };
        let Some(space) = cx.services.memory.temporary else {
            return Err(refused.error(self.held.what()));
        };
        let mut filed = Filed::new(&self.layout, SpillFile::create(space)?);
        // What was forgotten has its numbers.
        filed.rows = held.first;
        filed.last = (held.first_group, held.groups.first().copied().unwrap_or_default());
        for start in (0..held.batch.rows).step_by(BATCH_ROWS) {
            cx.check_cancelled()?;
            filed.push(&self.layout, &held.batch, start..held.batch.rows.min(start + BATCH_ROWS))?;
        }
        self.store = Store::File(Box::new(filed));
        self.held.clear();
        Ok(())
    }

    /// Is called when all rows are in.
    pub fn complete(&mut self) {
        self.complete = true;
    }

    /// Whether all rows are in.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Is called before rows are looked at that have come since.
    ///
    /// # Errors
    /// Those of the file.
    pub fn settle(&mut self) -> Result<()> {
        match &mut self.store {
            Store::Memory(_) => Ok(()),
            Store::File(filed) => filed.flush(&self.layout, 0),
        }
    }

    /// Nobody looks at the rows before this one any more.
    pub fn trim(&mut self, keep: usize) {
        let Store::Memory(held) = &mut self.store else { return };
        let gone = keep.min(self.rows.saturating_sub(1)).saturating_sub(held.first);
        // Many at once: those that stay are copied.
        if gone < TRIMMED_ROWS || gone < held.batch.rows / 2 {
            return;
        }
        held.trim(&self.layout, held.first + gone);
        // It has become less, which is not refused.
        let _ = self.held.try_resize(held.heap_bytes() as u64);
    }

    /// How many rows there are, those that are forgotten among them.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// How many rows stand before the last group: the peers of these are all there.
    ///
    /// # Errors
    /// Those of the file.
    pub fn grouped(&self) -> Result<usize> {
        match self.complete {
            true => Ok(self.rows),
            false => self.start_of(self.groups().saturating_sub(1)).map(|start| start.min(self.rows)),
        }
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        match &self.store {
            Store::Memory(held) => held.first_group + held.groups.len(),
            Store::File(filed) if filed.rows == 0 => 0,
            Store::File(filed) => filed.last.0 + 1,
        }
    }

    /// Its columns, where all rows are in memory.
    pub fn in_memory(&self) -> Option<&[Column]> {
        match &self.store {
            Store::Memory(held) if held.first == 0 => Some(&held.batch.columns),
            _ => None,
        }
    }

    /// The value of a column in a row.
    ///
    /// # Errors
    /// Those of the file, as of all that follows.
    pub fn value(&self, column: usize, row: usize) -> Result<Value> {
        let ty = &self.layout.types[column];
        match &self.store {
            Store::Memory(held) => Ok(held.batch.columns[column].value(row - held.first, ty)),
            Store::File(filed) => filed.at(row, |block, at| block.columns[column].value(at, ty)),
        }
    }

    /// The first sort key of a row.
    pub fn key(&self, row: usize) -> Result<Value> {
        self.value(self.layout.keys.start, row)
    }

    /// The group of a row.
    pub fn group(&self, row: usize) -> Result<usize> {
        match &self.store {
            Store::Memory(held) => Ok(held.group(row)),
            Store::File(filed) => Ok(filed.group(row)?.0),
        }
    }

    /// The first row of a group; behind the last one for a group that does not exist.
    pub fn start_of(&self, group: usize) -> Result<usize> {
        match &self.store {
            Store::Memory(held) => Ok(held.start_of(group).unwrap_or(self.rows)),
            Store::File(filed) => filed.start_of(group),
        }
    }

    /// The first of a row's peers.
    ///
    /// # Errors
    /// Those of the file.
    pub fn first_peer(&self, row: usize) -> Result<usize> {
        match &self.store {
            Store::Memory(held) => Ok(held.start_of(held.group(row)).unwrap_or(row)),
            Store::File(filed) => Ok(filed.group(row)?.1),
        }
    }

    /// A row and its peers.
    pub fn peers(&self, row: usize) -> Result<Range<usize>> {
        match &self.store {
            Store::Memory(held) => {
                let group = held.group(row);
                let (start, end) = (held.start_of(group), held.start_of(group + 1));
                Ok(start.unwrap_or(row)..end.unwrap_or(self.rows))
            }
            Store::File(filed) => filed.peers(row),
        }
    }

    /// Appends the first columns of some rows, as many as `out` has: of those that fit a batch beside so many bytes, and of
    /// one in any case; how many these are. The caller counts them in `out`.
    ///
    /// # Errors
    /// Those of the file.
    pub fn copy(&self, rows: Range<usize>, taken: usize, out: &mut [Column]) -> Result<usize> {
        let copy = |batch: &Batch, start: usize, end: usize, out: &mut [Column]| {
            let mut end = end.min(batch.rows);
            if batch.variable_bytes() > BATCH_BYTES {
                let mut bytes = taken;
                let fits = |row: &usize| {
                    bytes += batch.variable_bytes_at(*row);
                    bytes <= BATCH_BYTES
                };
                end = end.min((start + 1).max(start + (start..end).take_while(fits).count()));
            }
            for (from, to) in batch.columns.iter().zip(out) {
                to.append_range(from, start..end);
            }
            end - start
        };
        match &self.store {
            Store::Memory(held) => Ok(copy(&held.batch, rows.start - held.first, rows.end - held.first, out)),
            Store::File(filed) => filed.at(rows.start, |block, at| copy(block, at, at + rows.len(), out)),
        }
    }
}

/// Rows in a file.
struct Filed {
    file: SpillFile,
    run: Run,
    /// The first row and group of each block.
    starts: Vec<(usize, usize)>,
    rows: usize,
    /// The last group and its first row.
    last: (usize, usize),
    /// Rows behind the file.
    pending: Batch,
    /// The last row before the pending ones, to which the next one is compared.
    edge: Batch,
    blocks: RefCell<Blocks>,
    /// The group of which it was asked last, and its rows.
    peers: Cell<(usize, (usize, usize))>,
}

/// Blocks that are held, those used last in front.
#[derive(Default)]
struct Blocks {
    held: Vec<(Range<usize>, Batch)>,
    buffer: Vec<u8>,
}

impl Filed {
    fn new(layout: &Layout, file: SpillFile) -> Self {
        Self {
            file,
            run: Run::default(),
            starts: Vec::new(),
            rows: 0,
            last: (0, 0),
            pending: Batch::of_types(&layout.filed()),
            edge: Batch::of_types(&layout.types),
            blocks: RefCell::default(),
            peers: Cell::new((usize::MAX, (0, 0))),
        }
    }

    fn push(&mut self, layout: &Layout, from: &Batch, rows: Range<usize>) -> Result<()> {
        let width = layout.types.len();
        self.peers.set((usize::MAX, (0, 0)));
        for row in rows.clone() {
            let peer = match (self.edge.rows, row > rows.start) {
                (0, false) => true,
                (_, true) => layout.same(from, row - 1, row),
                (_, false) => {
                    append(&mut self.edge, from, row..row + 1);
                    layout.same(&self.edge, 0, 1)
                }
            };
            if !peer {
                self.last = (self.last.0 + 1, self.rows);
            }
            self.pending.columns[width].push_value(&Value::Int8(self.last.0 as i64), &SqlType::Int8)?;
            self.pending.columns[width + 1].push_value(&Value::Int8(self.last.1 as i64), &SqlType::Int8)?;
            self.rows += 1;
        }
        for (from, to) in from.columns.iter().zip(&mut self.pending.columns) {
            to.append_range(from, rows.clone());
        }
        self.pending.rows += rows.len();
        if !rows.is_empty() {
            self.edge.recycle(BLOCK_BYTES);
            append(&mut self.edge, from, rows.end - 1..rows.end);
        }
        self.flush(layout, BLOCK_BYTES)
    }

    fn flush(&mut self, layout: &Layout, max_bytes: usize) -> Result<()> {
        if self.pending.rows == 0 || self.pending.used_bytes() <= max_bytes {
            return Ok(());
        }
        let group = number(&self.pending, layout.types.len(), 0);
        self.starts.push((self.rows - self.pending.rows, group));
        self.file.append(&mut self.run, &self.pending)?;
        self.pending.recycle(2 * BLOCK_BYTES);
        Ok(())
    }

    /// Looks at a row in its block.
    fn at<R>(&self, row: usize, look: impl FnOnce(&Batch, usize) -> R) -> Result<R> {
        let mut blocks = self.blocks.borrow_mut();
        let Blocks { held, buffer } = &mut *blocks;
        match held.iter().position(|(rows, _)| rows.contains(&row)) {
            Some(0) => {}
            Some(found) => held[..=found].rotate_right(1),
            None => {
                let number = self.starts.partition_point(|(start, _)| *start <= row);
                let Some((block, (start, _))) =
                    number.checked_sub(1).and_then(|at| self.run.blocks.get(at).zip(self.starts.get(at)))
                else {
                    return Err(ExecError::raised("XX000", "a row that no block of its partition has"));
                };
                let mut batch = match held.len() {
                    BLOCKS_HELD => held.pop().map(|(_, batch)| batch),
                    _ => None,
                }
                .unwrap_or_else(|| Batch::new(&self.layouts()));
                batch.recycle(4 * BLOCK_BYTES);
                self.file.read(block, buffer, &mut batch)?;
                held.insert(0, (*start..start + batch.rows, batch));
            }
        }
        let (rows, batch) = &held[0];
        Ok(look(batch, row - rows.start))
    }

    fn layouts(&self) -> Vec<verso_types::Physical> {
        self.pending.columns.iter().map(Column::physical).collect()
    }

    /// The group of a row, and the first row of it.
    fn group(&self, row: usize) -> Result<(usize, usize)> {
        self.at(row, |block, at| {
            let width = block.columns.len() - 2;
            (number(block, width, at), number(block, width + 1, at))
        })
    }

    fn start_of(&self, group: usize) -> Result<usize> {
        if group >= self.last.0 {
            return Ok(if group == self.last.0 { self.last.1 } else { self.rows });
        }
        // The first block that begins in or behind the group: it starts there, or in the block before.
        let number_of = self.starts.partition_point(|(_, first)| *first < group);
        let behind = self.starts.get(number_of).map_or(self.rows, |(start, _)| *start);
        let Some((start, _)) = number_of.checked_sub(1).and_then(|at| self.starts.get(at)) else {
            return Ok(behind);
        };
        let within = self.at(*start, |block, _| {
            let column = block.columns.len() - 2;
            let (mut low, mut high) = (0, block.rows);
            while low < high {
                let middle = low.midpoint(high);
                if number(block, column, middle) < group { low = middle + 1 } else { high = middle }
            }
            low
        })?;
        Ok((start + within).min(behind))
    }

    fn peers(&self, row: usize) -> Result<Range<usize>> {
        let (group, first) = self.group(row)?;
        let (known, (start, end)) = self.peers.get();
        if known == group {
            return Ok(start..end);
        }
        let end = self.start_of(group + 1)?;
        self.peers.set((group, (first, end)));
        Ok(first..end)
    }
}

fn append(to: &mut Batch, from: &Batch, rows: Range<usize>) {
    for (from, to) in from.columns.iter().zip(&mut to.columns) {
        to.append_range(from, rows.clone());
    }
    to.rows += rows.len();
}

/// A number of a row that the partition gave it.
fn number(block: &Batch, column: usize, row: usize) -> usize {
    block.columns[column].value(row, &SqlType::Int8).as_i64().map_or(0, |number| number as usize)
}
