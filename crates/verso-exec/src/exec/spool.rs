//! Rows set aside, in memory, counted.

use verso_types::Batch;

use super::ExecContext;
use crate::error::{ExecError, Result};

/// Batches in order.
#[derive(Debug, Default)]
pub(crate) struct Spool {
    batches: std::collections::VecDeque<Batch>,
    bytes: u64,
    rows: u64,
}

impl Spool {
    /// Takes a batch.
    /// # Errors
    /// `OutOfMemory` beyond the session's work memory.
    pub fn push(&mut self, cx: &ExecContext<'_>, what: &'static str, batch: Batch) -> Result<()> {
        self.rows += batch.rows as u64;
        self.bytes += batch.heap_bytes() as u64;
        check_memory(cx, what, self.bytes)?;
        self.batches.push_back(batch);
        Ok(())
    }

    /// Moves the next batch out. False at the end.
    pub fn next(&mut self, out: &mut Batch) -> bool {
        match self.batches.pop_front() {
            Some(batch) => {
                *out = batch;
                true
            }
            None => false,
        }
    }

    /// How many rows it was given.
    pub fn rows(&self) -> u64 {
        self.rows
    }
}

/// Refuses what exceeds the session's work memory.
pub(crate) fn check_memory(cx: &ExecContext<'_>, what: &'static str, bytes: u64) -> Result<()> {
    // a column of bytes ends at 4 GiB
    let limit_bytes = cx.services.work_memory_bytes.min(3 << 30);
    if bytes > limit_bytes { Err(ExecError::OutOfMemory { what, limit_bytes }) } else { Ok(()) }
}
