//! Sorting.
//!
//! ```text
//! input ─► chunks of rows with their keys ─► sorted ─┬─► rows                       all fit into memory
//!                                                     └─► run, run, run … ─► merged ─► rows
//! ```
//!
//! O1. Rows that are equal by the keys come out in the order in which they came, unless several workers ([`shared`]) have read
//!     them.
//! O2. A sort whose memory is refused writes what it has as a run and goes on; runs are merged a few at a time, until those
//!     that are left can be merged on the way out.
//! O3. Under a LIMIT no more rows are kept, in memory or in a run, than it lets through.
//! O4. Rows that come in the order of the first keys already are sorted group by group ([`groups`]).

mod groups;
mod shared;

use groups::Groups;
use verso_types::{Batch, BytesColumn, Column, ColumnData, NullMask, SqlType};

use super::operator::Operator;
use super::order::{self, SortOrder};
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, parallel};
use crate::error::Result;
use crate::expr::{Executor, ExprList, RowExpr};
use crate::memory::{Refused, Reservation};
use crate::plan::{SortKey, TypedExpr};
use crate::spill::{Run, RunReader, SpillFile};

/// Collects the input, sorts it by its keys, yields it in that order.
pub(crate) struct SortOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    keyed: Keyed,
    types: Vec<SqlType>,
    /// Workers may compute the keys.
    is_safe: bool,
    /// How many rows the LIMIT above it asks for, OFFSET included.
    bound: Option<Bound>,
    /// Where the rows come in the order of the first keys.
    groups: Option<Groups>,
    /// Rows of groups before this one.
    given: usize,
    sorted: Sorted,
}

/// The keys of rows.
#[derive(Clone)]
struct Keyed {
    exprs: ExprList,
    orders: Vec<SortOrder>,
    values: Batch,
    encoded: BytesColumn,
}

impl Keyed {
    fn compile(keys: &[SortKey], executor: Executor) -> Keyed {
        let exprs: Vec<&TypedExpr> = keys.iter().map(|key| &key.expr).collect();
        let exprs = ExprList::compile(exprs, executor);
        let order = |key: &SortKey| SortOrder::new(&key.expr.ty, key.descending, key.nulls_first);
        Keyed {
            values: Batch::of_types(exprs.types()),
            exprs,
            orders: keys.iter().map(order).collect(),
            encoded: BytesColumn::default(),
        }
    }

    /// The keys of a batch.
    fn of(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<&BytesColumn> {
        self.exprs.eval(&cx.eval(), batch, &mut self.values)?;
        self.encoded.clear();
        for row in 0..batch.rows {
            order::encode(&self.values, &self.orders, row, &mut self.encoded.bytes)?;
            self.encoded.end_value();
        }
        Ok(&self.encoded)
    }
}

/// The rows in their order.
enum Sorted {
    /// Not read yet.
    No,
    Memory {
        rows: Rows,
        order: Vec<Entry>,
        next: usize,
        _held: Reservation,
    },
    Runs {
        merge: Merge,
        left: usize,
        _held: Reservation,
    },
}

/// LIMIT and OFFSET of the operator above.
pub(crate) struct Bound {
    pub limit: RowExpr,
    pub offset: Option<RowExpr>,
}

impl Bound {
    /// How many rows; `None` where all may be needed. What is wrong with the numbers the limit itself reports.
    fn rows(&self, cx: &ExecContext<'_>) -> Option<usize> {
        let count = |expr: &RowExpr| -> Option<usize> {
            usize::try_from(expr.eval_constant(&cx.eval()).ok()?.as_i64()?).ok()
        };
        let offset = self.offset.as_ref().map_or(Some(0), count)?;
        count(&self.limit)?.checked_add(offset)
    }
}

/// A row by its place, and the first bytes of its key.
#[derive(Clone, Copy)]
struct Entry {
    prefix: u64,
    chunk: u32,
    row: u32,
}

/// Rows and their keys, in chunks: what is there already is not copied to make room for more.
#[derive(Default)]
struct Rows {
    chunks: Vec<(Batch, BytesColumn)>,
    count: usize,
    bytes: usize,
}

/// Rows of a chunk to which further ones are added.
const CHUNK_ROWS: usize = 4 * BATCH_ROWS;
/// Bytes likewise.
const CHUNK_BYTES: usize = 256 << 10;

impl Rows {
    /// Bytes of a chunk.
    fn bytes_of((rows, keys): &(Batch, BytesColumn)) -> usize {
        rows.heap_bytes() + keys.heap_bytes() + 128
    }

    /// Adds rows with their keys.
    fn push(&mut self, rows: &Batch, keys: &BytesColumn) {
        self.count += rows.rows;
        let last = self.chunks.last_mut().filter(|(last, _)| {
            last.rows + rows.rows <= CHUNK_ROWS && last.heap_bytes() + rows.heap_bytes() <= CHUNK_BYTES
        });
        match last {
            Some(last) => {
                self.bytes -= Rows::bytes_of(last);
                last.0.append(rows);
                last.1.append_range(keys, 0..keys.len());
                self.bytes += Rows::bytes_of(last);
            }
            None => {
                let layouts: Vec<_> = rows.columns.iter().map(Column::physical).collect();
                let mut chunk = (Batch::new(&layouts), BytesColumn::default());
                chunk.0.append(rows);
                chunk.1.append_range(keys, 0..keys.len());
                self.bytes += Rows::bytes_of(&chunk);
                self.chunks.push(chunk);
            }
        }
    }

    /// Bytes held, with what sorting takes.
    fn heap_bytes(&self) -> u64 {
        (self.bytes + 2 * self.count * size_of::<Entry>()) as u64
    }

    /// Keeps no more rows than are asked for, where there are many more: sorting now and then costs little beside what it saves.
    fn bound(&mut self, first: usize, types: &[SqlType], cx: &ExecContext<'_>) -> Result<()> {
        if self.count > first.saturating_mul(2).max(BATCH_ROWS) {
            let kept = self.sorted(first, cx)?;
            self.keep(&kept, types);
        }
        Ok(())
    }

    fn key(&self, entry: &Entry) -> &[u8] {
        self.chunks[entry.chunk as usize].1.get(entry.row as usize)
    }

    /// All rows in order (O1), or the first of them.
    fn sorted(&self, first: usize, cx: &ExecContext<'_>) -> Result<Vec<Entry>> {
        let mut entries = Vec::with_capacity(self.count);
        for (chunk, (_, keys)) in (0u32..).zip(&self.chunks) {
            entries.extend((0u32..).zip(keys.iter()).map(|(row, key)| Entry {
                prefix: prefix(key),
                chunk,
                row,
            }));
        }
        let compare = |a: &Entry, b: &Entry| self.compare(a, b);
        if first < entries.len() {
            if first > 0 {
                entries.select_nth_unstable_by(first - 1, compare);
            }
            entries.truncate(first);
        }
        sort_in_steps(&mut entries, compare, || cx.check_cancelled())?;
        Ok(entries)
    }

    /// The order of two rows.
    #[inline]
    fn compare(&self, a: &Entry, b: &Entry) -> std::cmp::Ordering {
        (a.prefix.cmp(&b.prefix))
            .then_with(|| self.key(a).cmp(self.key(b)))
            .then((a.chunk, a.row).cmp(&(b.chunk, b.row)))
    }

    /// Appends a row to a batch.
    fn copy(&self, entry: &Entry, out: &mut Batch) {
        let (rows, _) = &self.chunks[entry.chunk as usize];
        let row = entry.row as usize;
        for (from, to) in rows.columns.iter().zip(&mut out.columns) {
            to.append_range(from, row..row + 1);
        }
        out.rows += 1;
    }

    /// Keeps these rows only, in this order.
    fn keep(&mut self, entries: &[Entry], types: &[SqlType]) {
        let mut kept = Rows::default();
        let (mut rows, mut keys) = (Batch::of_types(types), BytesColumn::default());
        for (number, entry) in entries.iter().enumerate() {
            self.copy(entry, &mut rows);
            keys.push(self.key(entry));
            if rows.rows == BATCH_ROWS || rows.variable_bytes() > CHUNK_BYTES || number + 1 == entries.len() {
                kept.push(&rows, &keys);
                rows.clear();
                keys.clear();
            }
        }
        *self = kept;
    }

    /// Writes the rows in order as a run, their keys behind their columns.
    fn write(
        &self,
        first: usize,
        types: &[SqlType],
        block_bytes: usize,
        file: &mut SpillFile,
        cx: &ExecContext<'_>,
    ) -> Result<Run> {
        let mut run = Run::default();
        let mut block = run_layout(types);
        for entry in self.sorted(first, cx)? {
            self.copy(&entry, &mut block);
            if let Some(keys) = block.columns.last_mut().and_then(|column| column.data.bytes_mut()) {
                keys.push(self.key(&entry));
            }
            if block.used_bytes() >= block_bytes {
                cx.check_cancelled()?;
                file.append(&mut run, &block)?;
                block.recycle(2 * block_bytes);
            }
        }
        file.append(&mut run, &block)?;
        Ok(run)
    }
}

/// Entries sorted, or merged, between two looks at the flag that cancels.
const STEP: usize = 32 << 10;

/// Sorts parts of [`STEP`] entries, and merges neighbours until one part is left; `tick` is asked in between.
fn sort_in_steps<T: Copy>(
    entries: &mut Vec<T>,
    compare: impl Fn(&T, &T) -> std::cmp::Ordering,
    mut tick: impl FnMut() -> Result<()>,
) -> Result<()> {
    for part in entries.chunks_mut(STEP) {
        tick()?;
        part.sort_unstable_by(&compare);
    }
    let mut width = STEP;
    while width < entries.len() {
        let mut merged: Vec<T> = Vec::with_capacity(entries.len());
        for pair in entries.chunks(2 * width) {
            let (mut left, mut right) = pair.split_at(width.min(pair.len()));
            while let (Some(a), Some(b)) = (left.first(), right.first()) {
                if merged.len().is_multiple_of(STEP) {
                    tick()?;
                }
                if compare(b, a).is_lt() {
                    merged.push(*b);
                    right = &right[1..];
                } else {
                    merged.push(*a);
                    left = &left[1..];
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        *entries = merged;
        width *= 2;
    }
    Ok(())
}

/// The first eight bytes as a number that compares as they do.
fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => key.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)) << (64 - 8 * key.len().max(1)),
    }
}

/// A batch of rows with a column for their keys.
fn run_layout(types: &[SqlType]) -> Batch {
    let mut batch = Batch::of_types(types);
    let keys = Column { data: ColumnData::Bytes(BytesColumn::default()), nulls: NullMask::default() };
    batch.columns.push(keys);
    batch
}

/// Several runs as one.
struct Merge {
    file: SpillFile,
    cursors: Vec<Cursor>,
    /// Numbers of cursors, a heap: the least row is that of the first.
    heap: Vec<u32>,
}

/// Where the merge is in a run.
struct Cursor {
    run: Run,
    reader: RunReader,
    rows: Batch,
    row: usize,
}

impl Cursor {
    fn key(&self) -> &[u8] {
        self.rows.columns.last().map_or(&[], |keys| keys.bytes_at(self.row))
    }
}

impl Merge {
    fn new(file: SpillFile, runs: Vec<Run>, types: &[SqlType]) -> Result<Merge> {
        let mut merge = Merge { file, cursors: Vec::new(), heap: Vec::new() };
        merge.start(runs, types)?;
        Ok(merge)
    }

    /// Begins with other runs of the file.
    fn start(&mut self, runs: Vec<Run>, types: &[SqlType]) -> Result<()> {
        self.cursors.clear();
        self.heap.clear();
        for run in runs {
            let mut cursor = Cursor { run, reader: RunReader::default(), rows: run_layout(types), row: 0 };
            if cursor.reader.next(&self.file, &cursor.run, &mut cursor.rows)? {
                self.heap.push(self.cursors.len() as u32);
            }
            self.cursors.push(cursor);
        }
        (0..self.heap.len() / 2).rev().for_each(|at| self.sink(at));
        Ok(())
    }

    /// Whether the row of one cursor comes before another's; of equal ones that of the earlier run (O1).
    fn less(&self, a: u32, b: u32) -> bool {
        let (one, two) = (&self.cursors[a as usize], &self.cursors[b as usize]);
        (one.key(), a) < (two.key(), b)
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let left = 2 * at + 1;
            let Some(mut least) = (left < self.heap.len()).then_some(left) else { return };
            if left + 1 < self.heap.len() && self.less(self.heap[left + 1], self.heap[left]) {
                least = left + 1;
            }
            if !self.less(self.heap[least], self.heap[at]) {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// Appends the next row to a batch, without its key unless the batch has a column for it. False at the end.
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        let Some(first) = self.heap.first().copied() else { return Ok(false) };
        let cursor = &mut self.cursors[first as usize];
        for (from, to) in cursor.rows.columns.iter().zip(&mut out.columns) {
            to.append_range(from, cursor.row..cursor.row + 1);
        }
        out.rows += 1;
        cursor.row += 1;
        if cursor.row >= cursor.rows.rows {
            cursor.row = 0;
            if !cursor.reader.next(&self.file, &cursor.run, &mut cursor.rows)? {
                cursor.rows = Batch::default();
                self.heap.swap_remove(0);
            }
        }
        self.sink(0);
        Ok(true)
    }
}

impl SortOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        (keys, sorted): (&[SortKey], usize),
        bound: Option<Bound>,
        executor: Executor,
    ) -> Self {
        Self {
            input,
            batch: Batch::of_types(types),
            keyed: Keyed::compile(keys, executor),
            types: types.to_vec(),
            is_safe: keys.iter().all(|key| key.expr.is_parallel_safe()),
            bound,
            groups: (sorted > 0).then(|| Groups::new(Keyed::compile(&keys[..sorted], executor), types)),
            given: 0,
            sorted: Sorted::No,
        }
    }

    /// How many rows are wanted still.
    fn wanted(&self, cx: &ExecContext<'_>) -> usize {
        let all = self.bound.as_ref().and_then(|bound| bound.rows(cx)).unwrap_or(usize::MAX);
        all.saturating_sub(self.given)
    }

    /// Whether no rows are read any more.
    fn has_read_all(&self) -> bool {
        self.groups.as_ref().is_none_or(Groups::have_ended)
    }

    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<Sorted> {
        let first = self.wanted(cx);
        let mut held = cx.reserve("a sort");
        let block_bytes = (held.limit_bytes() as usize / 16).clamp(4 << 10, 256 << 10);
        let mut rows = Rows::default();
        let mut rest = Vec::new();
        let read = if self.groups.is_none() { self.share(cx, first)? } else { None };
        let shared = match read {
            None => false,
            Some(read) => {
                if read.rest.is_empty() {
                    return read.sorted(cx, first, held);
                }
                (rows, rest) = (read.rows, read.rest);
                held.hold(rows.heap_bytes());
                true
            }
        };
        let mut spilled: Option<(SpillFile, Vec<Run>)> = None;
        loop {
            let more = match &mut self.groups {
                Some(groups) => groups.next(cx, &mut *self.input, &mut self.batch)?,
                None if shared => parallel::next_of(cx, &mut rest, &mut self.batch)?,
                None => self.input.next(cx, &mut self.batch)?,
            };
            if !more {
                break;
            }
            let encoded = self.keyed.of(cx, &self.batch)?;
            let more =
                self.batch.heap_bytes() + encoded.heap_bytes() + 2 * self.batch.rows * size_of::<Entry>();
            if let Err(refused) = held.try_resize(rows.heap_bytes() + more as u64) {
                if rows.count > 0 {
                    let (file, runs) = spill(cx, &mut spilled, refused, held.what())?;
                    runs.push(rows.write(first, &self.types, block_bytes, file, cx)?);
                    rows = Rows::default();
                    held.clear();
                }
                if held.try_resize(more as u64).is_err() {
                    // A batch that is too large even alone becomes a run of its own, while it is there anyway.
                    let (file, runs) = spill(cx, &mut spilled, refused, held.what())?;
                    let mut alone = Rows::default();
                    alone.push(&self.batch, encoded);
                    runs.push(alone.write(first, &self.types, block_bytes, file, cx)?);
                    continue;
                }
            }
            rows.push(&self.batch, encoded);
            rows.bound(first, &self.types, cx)?;
            held.resize(rows.heap_bytes().min(held.limit_bytes()))?;
        }
        let Some((mut file, mut runs)) = spilled else {
            let order = rows.sorted(first, cx)?;
            return Ok(Sorted::Memory { rows, order, next: 0, _held: held });
        };
        if rows.count > 0 {
            runs.push(rows.write(first, &self.types, block_bytes, &mut file, cx)?);
        }
        drop(rows);
        let ways = (held.limit_bytes() as usize / (3 * block_bytes)).clamp(2, 128);
        held.resize((ways * 3 * block_bytes).min(held.limit_bytes() as usize) as u64)?;
        let mut merge = Merge::new(file, Vec::new(), &self.types)?;
        while runs.len() > ways {
            // Neighbours become one, so that earlier rows stay before later ones (O1).
            let mut merged = Vec::with_capacity(runs.len().div_ceil(ways));
            while !runs.is_empty() {
                let some: Vec<Run> = runs.drain(..ways.min(runs.len())).collect();
                merged.push(self.merge_some(&mut merge, some, first, block_bytes, cx)?);
            }
            runs = merged;
        }
        merge.start(runs, &self.types)?;
        Ok(Sorted::Runs { merge, left: first, _held: held })
    }

    /// Makes one run of several.
    fn merge_some(
        &self,
        merge: &mut Merge,
        runs: Vec<Run>,
        first: usize,
        block_bytes: usize,
        cx: &ExecContext<'_>,
    ) -> Result<Run> {
        merge.start(runs, &self.types)?;
        let mut run = Run::default();
        let mut block = run_layout(&self.types);
        let mut left = first;
        while left > 0 && merge.next(&mut block)? {
            left -= 1;
            if block.used_bytes() >= block_bytes {
                cx.check_cancelled()?;
                merge.file.append(&mut run, &block)?;
                block.recycle(2 * block_bytes);
            }
        }
        merge.file.append(&mut run, &block)?;
        Ok(run)
    }
}

/// The file of the runs, made with the first; the refusal where there can be none.
fn spill<'f>(
    cx: &ExecContext<'_>,
    spilled: &'f mut Option<(SpillFile, Vec<Run>)>,
    refused: Refused,
    what: &'static str,
) -> Result<&'f mut (SpillFile, Vec<Run>)> {
    if spilled.is_none() {
        let space = cx.services.memory.temporary.ok_or_else(|| refused.error(what))?;
        *spilled = Some((SpillFile::create(space)?, Vec::new()));
    }
    spilled.as_mut().ok_or_else(|| refused.error(what))
}

impl Operator for SortOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.sorted = Sorted::No;
        self.given = 0;
        if let Some(groups) = &mut self.groups {
            groups.begin();
        }
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        loop {
            if matches!(self.sorted, Sorted::No) {
                self.sorted = self.collect(cx)?;
                if self.has_read_all() {
                    self.input.close();
                    self.batch.recycle(super::KEEP_BYTES);
                }
            }
            out.clear();
            self.fill(out)?;
            if out.rows > 0 || self.has_read_all() {
                self.given += out.rows;
                return Ok(out.rows > 0);
            }
            if self.wanted(cx) == 0 {
                return Ok(false);
            }
            self.sorted = Sorted::No;
        }
    }

    fn close(&mut self) {
        self.input.close();
        self.sorted = Sorted::No;
        self.batch.recycle(super::KEEP_BYTES);
    }
}

impl SortOperator {
    /// Appends rows in their order.
    fn fill(&mut self, out: &mut Batch) -> Result<()> {
        match &mut self.sorted {
            Sorted::No => {}
            Sorted::Memory { rows, order, next, _held: _ } => {
                while let Some(entry) = order.get(*next)
                    && out.rows < BATCH_ROWS
                    && out.variable_bytes() < BATCH_BYTES
                {
                    rows.copy(entry, out);
                    *next += 1;
                }
            }
            Sorted::Runs { merge, left, _held: _ } => {
                while *left > 0
                    && out.rows < BATCH_ROWS
                    && out.variable_bytes() < BATCH_BYTES
                    && merge.next(out)?
                {
                    *left -= 1;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{STEP, sort_in_steps};
    use crate::error::ExecError;

    #[test]
    fn many_entries_are_sorted_in_steps_that_can_be_stopped() {
        for count in [0, 1, STEP, STEP + 1, 5 * STEP - 7] {
            let numbers = (0..count as u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50, i));
            let mut entries: Vec<(u64, u64)> = numbers.collect();
            let mut expected = entries.clone();
            expected.sort_unstable();
            sort_in_steps(&mut entries, Ord::cmp, || Ok(())).expect("not stopped");
            assert!(entries == expected, "{count} entries");
        }
        let mut steps = 0;
        let mut entries: Vec<u32> = (0..3 * STEP as u32).rev().collect();
        let stopped = sort_in_steps(&mut entries, Ord::cmp, || {
            steps += 1;
            if steps == 5 { Err(ExecError::Cancelled) } else { Ok(()) }
        });
        assert!(matches!(stopped, Err(ExecError::Cancelled)));
    }
}
