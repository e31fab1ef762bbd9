//! Passes over rows of which not all can be held: what does not fit is cut into parts by its hash, and each part is a pass
//! of its own.
//!
//! 1. A pass takes in what it can, then is *closed*: rows with keys that it does not hold go to the parts, in their order.
//! 2. Every pass ends what it holds, at least one key, so there is an end even where all hashes are equal.

use std::sync::Arc;

use verso_types::{Batch, SqlType};

use super::ExecContext;
use crate::error::Result;
use crate::memory::{Refused, Reservation};
use crate::spill::{Partitions, Run, RunReader, SpillFile, partition_of};

/// The pass under way and those to come.
#[derive(Default)]
pub(super) struct Passes {
    level: u32,
    parts: Option<Partitions>,
    /// The last one is the next.
    pending: Vec<Part>,
    current: Option<(Part, RunReader)>,
}

/// Rows for a pass.
struct Part {
    file: Arc<SpillFile>,
    run: Run,
    level: u32,
}

impl Passes {
    /// Whether the pass takes no further keys.
    pub fn is_closed(&self) -> bool {
        self.parts.is_some()
    }

    /// Closes the pass: rows of these types go to parts from now on.
    ///
    /// # Errors
    /// The refusal, where there are no temporary files; theirs.
    pub fn close_pass(
        &mut self,
        cx: &ExecContext<'_>,
        held: &Reservation,
        refused: Refused,
        types: &[SqlType],
    ) -> Result<()> {
        let space = cx.services.memory.temporary.ok_or_else(|| refused.error(held.what()))?;
        self.parts = Some(Partitions::new(space, types, held.limit_bytes() / 4)?);
        Ok(())
    }

    /// Puts rows of a batch, each with its hash, aside for later passes.
    pub fn put(&mut self, batch: &Batch, rows: impl Iterator<Item = (u32, u64)>) -> Result<()> {
        let level = self.level;
        match &mut self.parts {
            Some(parts) => parts.push(batch, rows.map(|(row, hash)| (row, partition_of(hash, level)))),
            None => Ok(()),
        }
    }

    /// Whether the rows of the pass come from [`Passes::read`].
    pub fn is_later(&self) -> bool {
        self.current.is_some()
    }

    /// Replaces `out` by the next rows of a later pass; false at its end.
    pub fn read(&mut self, out: &mut Batch) -> Result<bool> {
        match &mut self.current {
            Some((part, reader)) => reader.next(&part.file, &part.run, out),
            None => Ok(false),
        }
    }

    /// Ends the pass and begins the next; false if there is none.
    pub fn next_pass(&mut self) -> Result<bool> {
        if let Some(parts) = self.parts.take() {
            let (file, runs) = parts.finish()?;
            let file = Arc::new(file);
            let level = self.level + 1;
            let filled = runs.into_iter().filter(|run| run.rows > 0);
            self.pending.extend(filled.map(|run| Part { file: Arc::clone(&file), run, level }));
        }
        self.current = self.pending.pop().map(|part| (part, RunReader::default()));
        if let Some((part, _)) = &self.current {
            self.level = part.level;
        }
        Ok(self.current.is_some())
    }
}
