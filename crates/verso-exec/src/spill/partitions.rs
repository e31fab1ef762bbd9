//! Rows by their hashes: what does not fit into memory is cut into parts that may.

use std::sync::Arc;

use verso_types::{Batch, SqlType};

use super::{Run, SpillFile, TempSpace};
use crate::error::Result;

/// Parts that rows are cut into, at each level anew.
pub(crate) const PARTITIONS: usize = 16;
/// Bits of a hash that a level uses.
const BITS: u32 = PARTITIONS.ilog2();

/// The part of a hash at a level: the upper bits first, so that tables in memory, which take the lower ones, are not
/// crowded.
pub(crate) fn partition_of(hash: u64, level: u32) -> usize {
    let shift = 64 - BITS * (level % (64 / BITS) + 1);
    (hash >> shift) as usize % PARTITIONS
}

/// Rows of one layout in [`PARTITIONS`] runs of one file.
#[derive(Debug)]
pub(crate) struct Partitions {
    file: SpillFile,
    runs: Vec<Run>,
    /// Rows not written yet, one batch a part.
    pending: Vec<Batch>,
    block_bytes: usize,
    selections: Vec<Vec<u32>>,
}

impl Partitions {
    /// Empty parts for rows of these types, which hold `memory_bytes` for all that is not written yet.
    ///
    /// # Errors
    /// Those of the file.
    pub fn new(space: &Arc<TempSpace>, types: &[SqlType], memory_bytes: u64) -> Result<Partitions> {
        Ok(Partitions {
            file: SpillFile::create(space)?,
            runs: (0..PARTITIONS).map(|_| Run::default()).collect(),
            pending: (0..PARTITIONS).map(|_| Batch::of_types(types)).collect(),
            block_bytes: (memory_bytes as usize / PARTITIONS).clamp(4 << 10, 256 << 10),
            selections: vec![Vec::new(); PARTITIONS],
        })
    }

    /// Adds the rows of a batch that `rows` names, each with its part.
    ///
    /// # Errors
    /// Those of the file.
    pub fn push(&mut self, batch: &Batch, rows: impl Iterator<Item = (u32, usize)>) -> Result<()> {
        self.selections.iter_mut().for_each(Vec::clear);
        for (row, part) in rows {
            self.selections[part].push(row);
        }
        for part in 0..PARTITIONS {
            let mut left = &self.selections[part][..];
            while !left.is_empty() {
                let count = batch.fitting(left, self.block_bytes);
                let pending = &mut self.pending[part];
                for (from, to) in batch.columns.iter().zip(&mut pending.columns) {
                    from.gather_into(&left[..count], to);
                }
                pending.rows += count;
                left = &left[count..];
                if pending.used_bytes() >= self.block_bytes {
                    self.file.append(&mut self.runs[part], pending)?;
                    pending.recycle(self.block_bytes * 2);
                }
            }
        }
        Ok(())
    }

    /// Writes what is left, and gives the file and its runs away.
    ///
    /// # Errors
    /// Those of the file.
    pub fn finish(mut self) -> Result<(SpillFile, Vec<Run>)> {
        for (run, pending) in self.runs.iter_mut().zip(&self.pending) {
            self.file.append(run, pending)?;
        }
        Ok((self.file, self.runs))
    }
}
