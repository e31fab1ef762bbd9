//! Sorted runs, merged by a heap of cursors.

use super::rows::run_layout;
use crate::error::Result;
use crate::spill::{Run, RunReader, SpillFile};
use verso_types::{Batch, SqlType};

/// Several runs as one.
pub(in crate::exec) struct Merge {
    pub(super) file: SpillFile,
    pub(super) cursors: Vec<Cursor>,
    /// Numbers of cursors, a heap: the least row is that of the first.
    pub(super) heap: Vec<u32>,
}

/// Where the merge is in a run.
pub(super) struct Cursor {
    pub(super) run: Run,
    pub(super) reader: RunReader,
    pub(super) rows: Batch,
    pub(super) row: usize,
}

impl Cursor {
    pub(super) fn key(&self) -> &[u8] {
        self.rows.columns.last().map_or(&[], |keys| keys.bytes_at(self.row))
    }
}

impl Merge {
    pub(super) fn new(file: SpillFile, runs: Vec<Run>, types: &[SqlType]) -> Result<Merge> {
        let mut merge = Merge { file, cursors: Vec::new(), heap: Vec::new() };
        merge.start(runs, types)?;
        Ok(merge)
    }

    /// Begins with other runs of the file.
    pub(super) fn start(&mut self, runs: Vec<Run>, types: &[SqlType]) -> Result<()> {
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
    pub(super) fn less(&self, a: u32, b: u32) -> bool {
        let (one, two) = (&self.cursors[a as usize], &self.cursors[b as usize]);
        (one.key(), a) < (two.key(), b)
    }

    pub(super) fn sink(&mut self, mut at: usize) {
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
    pub(super) fn next(&mut self, out: &mut Batch) -> Result<bool> {
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
