//! Rows set aside in their order: in memory as far as they may, in a file beyond.

use std::sync::Arc;

use verso_types::Batch;

use super::{Run, SpillFile, TempSpace};
use crate::error::Result;
use crate::memory::{Memory, Reservation};

/// Rows that are collected before a block of them is written.
const BLOCK_BYTES: usize = 64 << 10;
/// Rows of batches that are put together.
const BATCH_ROWS: usize = 1024;

/// Batches in order: pushed, then taken out once, or read as often as wanted.
#[derive(Debug, Default)]
pub struct Spool {
    batches: Vec<Batch>,
    bytes: u64,
    rows: u64,
    held: Option<Reservation>,
    spilled: Option<Box<Spilled>>,
    reader: SpoolReader,
}

#[derive(Debug)]
struct Spilled {
    file: SpillFile,
    run: Run,
    /// Behind the run.
    pending: Batch,
}

/// Where one reader of a spool is. More may be pushed meanwhile.
#[derive(Debug, Default)]
pub struct SpoolReader {
    /// The batch or block that is read.
    next: usize,
    /// How many of its rows were read: others may be put to the last one.
    row: usize,
    buffer: Vec<u8>,
}

impl Spool {
    /// Takes a batch.
    ///
    /// # Errors
    /// `OutOfMemory` beyond the session's work memory where nothing can be written to files; theirs.
    pub fn push(&mut self, memory: Memory<'_>, what: &'static str, batch: Batch) -> Result<()> {
        if batch.rows == 0 {
            return Ok(());
        }
        self.rows += batch.rows as u64;
        if let Some(spilled) = &mut self.spilled {
            return spilled.push(batch);
        }
        let held = self.held.get_or_insert_with(|| memory.reserve_before_files(what));
        let bytes = self.bytes + batch.heap_bytes() as u64;
        match (held.try_resize(bytes), memory.temporary) {
            (Ok(()), _) => self.keep(batch, bytes),
            (Err(refused), None) => return Err(refused.error(what)),
            (Err(_), Some(space)) => return self.spill(space, batch),
        }
        Ok(())
    }

    fn keep(&mut self, batch: Batch, bytes: u64) {
        self.bytes = bytes;
        match self.batches.last_mut() {
            Some(last) if last.rows + batch.rows <= BATCH_ROWS && last.variable_bytes() <= BLOCK_BYTES => {
                self.bytes -= last.heap_bytes() as u64 + batch.heap_bytes() as u64;
                last.append(&batch);
                self.bytes += last.heap_bytes() as u64;
            }
            _ => self.batches.push(batch),
        }
    }

    /// From now on rows go to a file.
    fn spill(&mut self, space: &Arc<TempSpace>, batch: Batch) -> Result<()> {
        let file = SpillFile::create(space)?;
        let mut spilled = Spilled { file, run: Run::default(), pending: batch };
        spilled.flush(BLOCK_BYTES)?;
        self.spilled = Some(Box::new(spilled));
        Ok(())
    }

    /// Moves the next batch out. False at the end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn next(&mut self, out: &mut Batch) -> Result<bool> {
        if let Some(batch) = self.batches.get_mut(self.reader.next) {
            *out = std::mem::take(batch);
            self.reader.next += 1;
            return Ok(true);
        }
        let mut reader = std::mem::take(&mut self.reader);
        let result = self.read(&mut reader, out);
        self.reader = reader;
        result
    }

    /// Copies the next rows of a reader into `out`. False at the end, as long as nothing is pushed.
    ///
    /// # Errors
    /// Those of the file.
    pub fn read(&self, reader: &mut SpoolReader, out: &mut Batch) -> Result<bool> {
        loop {
            let at = reader.next;
            let block = match &self.spilled {
                _ if at < self.batches.len() => None,
                None => return Ok(false),
                Some(spilled) => {
                    spilled.run.blocks.get(at - self.batches.len()).map(|block| (spilled, block))
                }
            };
            // A block gets no more rows.
            let (done, rows) = match (block, self.batches.get(at)) {
                (Some((spilled, block)), _) => {
                    fit(out, &spilled.pending);
                    spilled.file.read(block, &mut reader.buffer, out)?;
                    if reader.row > 0 {
                        let rest: Vec<u32> = (reader.row as u32..out.rows as u32).collect();
                        out.filter(&rest);
                    }
                    (true, out.rows)
                }
                (None, Some(batch)) => {
                    let is_last = at + 1 == self.batches.len() && self.spilled.is_none();
                    (!is_last, rest_of(batch, reader.row, out))
                }
                (None, None) => {
                    let Some(spilled) = &self.spilled else { return Ok(false) };
                    if at - self.batches.len() > spilled.run.blocks.len() {
                        return Ok(false);
                    }
                    (false, rest_of(&spilled.pending, reader.row, out))
                }
            };
            match done {
                true => (reader.next, reader.row) = (at + 1, 0),
                false => reader.row += rows,
            }
            if rows > 0 {
                return Ok(true);
            }
            if !done {
                return Ok(false);
            }
        }
    }

    /// How many rows it was given.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether some of them are in a file.
    #[must_use]
    pub fn is_spilled(&self) -> bool {
        self.spilled.is_some()
    }
}

/// Copies the rows of a batch behind the first ones, so many, into `out`.
fn rest_of(batch: &Batch, first: usize, out: &mut Batch) -> usize {
    fit(out, batch);
    match batch.rows.saturating_sub(first) {
        0 => return 0,
        rows if rows == batch.rows => out.append(batch),
        _ => {
            let rest: Vec<u32> = (first as u32..batch.rows as u32).collect();
            out.append(&batch.gather(&rest));
        }
    }
    out.rows
}

/// Empties `out`, and gives it the layout of `like`.
fn fit(out: &mut Batch, like: &Batch) {
    let fits = out.columns.len() == like.columns.len()
        && out.columns.iter().zip(&like.columns).all(|(a, b)| a.physical() == b.physical());
    if fits {
        out.clear();
    } else {
        let layouts: Vec<_> = like.columns.iter().map(verso_types::Column::physical).collect();
        *out = Batch::new(&layouts);
    }
}

impl Spilled {
    fn push(&mut self, batch: Batch) -> Result<()> {
        self.pending.append(&batch);
        drop(batch);
        self.flush(BLOCK_BYTES)
    }

    fn flush(&mut self, max_bytes: usize) -> Result<()> {
        if self.pending.used_bytes() > max_bytes {
            self.file.append(&mut self.run, &self.pending)?;
            self.pending.recycle(2 * max_bytes);
        }
        Ok(())
    }
}
