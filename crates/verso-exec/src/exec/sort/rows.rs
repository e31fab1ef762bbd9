//! Rows of a sort in memory, with their keys.

use crate::error::Result;
use crate::exec::{BATCH_ROWS, ExecContext};
use crate::spill::{Run, SpillFile};
use verso_types::{Batch, BytesColumn, Column, ColumnData, NullMask, SqlType};

/// A row by its place, and the first bytes of its key.
#[derive(Clone, Copy)]
pub(in crate::exec) struct Entry {
    pub(super) prefix: u64,
    pub(super) chunk: u32,
    pub(super) row: u32,
}

/// Rows and their keys, in chunks: what is there already is not copied to make room for more.
#[derive(Default)]
pub(in crate::exec) struct Rows {
    pub(super) chunks: Vec<(Batch, BytesColumn)>,
    pub(super) count: usize,
    pub(super) bytes: usize,
}

/// Rows of a chunk to which further ones are added.
const CHUNK_ROWS: usize = 4 * BATCH_ROWS;
/// Bytes likewise.
const CHUNK_BYTES: usize = 256 << 10;

impl Rows {
    /// Bytes of a chunk.
    pub(super) fn bytes_of((rows, keys): &(Batch, BytesColumn)) -> usize {
        rows.heap_bytes() + keys.heap_bytes() + 128
    }

    /// Adds rows with their keys.
    pub(super) fn push(&mut self, rows: &Batch, keys: &BytesColumn) {
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
    pub(super) fn heap_bytes(&self) -> u64 {
        (self.bytes + 2 * self.count * size_of::<Entry>()) as u64
    }

    /// Keeps no more rows than are asked for, where there are many more: sorting now and then costs little beside what it saves.
    pub(super) fn bound(&mut self, first: usize, types: &[SqlType], cx: &ExecContext<'_>) -> Result<()> {
        if self.count > first.saturating_mul(2).max(BATCH_ROWS) {
            let kept = self.sorted(first, cx)?;
            self.keep(&kept, types);
        }
        Ok(())
    }

    pub(super) fn key(&self, entry: &Entry) -> &[u8] {
        self.chunks[entry.chunk as usize].1.get(entry.row as usize)
    }

    /// All rows in order (O1), or the first of them.
    pub(super) fn sorted(&self, first: usize, cx: &ExecContext<'_>) -> Result<Vec<Entry>> {
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
    pub(super) fn compare(&self, a: &Entry, b: &Entry) -> std::cmp::Ordering {
        (a.prefix.cmp(&b.prefix))
            .then_with(|| self.key(a).cmp(self.key(b)))
            .then((a.chunk, a.row).cmp(&(b.chunk, b.row)))
    }

    /// Appends a row to a batch.
    pub(super) fn copy(&self, entry: &Entry, out: &mut Batch) {
        let (rows, _) = &self.chunks[entry.chunk as usize];
        let row = entry.row as usize;
        for (from, to) in rows.columns.iter().zip(&mut out.columns) {
            to.append_range(from, row..row + 1);
        }
        out.rows += 1;
    }

    /// Keeps these rows only, in this order.
    pub(super) fn keep(&mut self, entries: &[Entry], types: &[SqlType]) {
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
    pub(super) fn write(
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
pub(super) const STEP: usize = 32 << 10;

/// Sorts parts of [`STEP`] entries, and merges neighbours until one part is left; `tick` is asked in between.
pub(super) fn sort_in_steps<T: Copy>(
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
pub(super) fn prefix(key: &[u8]) -> u64 {
    match key.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => key.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)) << (64 - 8 * key.len().max(1)),
    }
}

/// A batch of rows with a column for their keys.
pub(super) fn run_layout(types: &[SqlType]) -> Batch {
    let mut batch = Batch::of_types(types);
    let keys = Column { data: ColumnData::Bytes(BytesColumn::default()), nulls: NullMask::default() };
    batch.columns.push(keys);
    batch
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
