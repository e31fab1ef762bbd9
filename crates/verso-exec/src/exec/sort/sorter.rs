//! Rows that are given with their keys, and come out sorted: from memory, or merged from runs in a file (O1 to O3).

use super::merge::Merge;
use super::rows::{Entry, Rows, run_layout};
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES};
use crate::error::Result;
use crate::memory::{Refused, Reservation};
use crate::spill::{Run, SpillFile};
use verso_types::{Batch, BytesColumn, SqlType};

/// See the module.
pub(in crate::exec) struct Sorter {
    types: Vec<SqlType>,
    /// How many rows are wanted.
    first: usize,
    block_bytes: usize,
    pub(super) rows: Rows,
    spilled: Option<(SpillFile, Vec<Run>)>,
    pub(super) held: Reservation,
    /// For rows that are larger than what it may hold, and so have to be in memory one by one all the same.
    large: Reservation,
}

/// The rows in their order.
pub(in crate::exec) enum Sorted {
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
        _held: [Reservation; 2],
    },
}

impl Sorter {
    /// For rows of these types, of which the first so many are wanted.
    pub fn new(cx: &ExecContext<'_>, what: &'static str, types: &[SqlType], first: usize) -> Sorter {
        let held = cx.reserve_before_files(what);
        Sorter {
            types: types.to_vec(),
            first,
            block_bytes: (held.limit_bytes() as usize / 16).clamp(4 << 10, 256 << 10),
            rows: Rows::default(),
            spilled: None,
            held,
            large: cx.services.memory.account.reserve(what, u64::MAX),
        }
    }

    /// Takes rows, with a key for each.
    ///
    /// # Errors
    /// 53200 where there is neither memory nor a place for files; errors of the file.
    pub fn push(&mut self, cx: &ExecContext<'_>, batch: &Batch, keys: &BytesColumn) -> Result<()> {
        // The keys, and the values that they were made of.
        let keys_bytes = 2 * keys.heap_bytes() as u64;
        self.large.resize(if keys_bytes > KEEP_BYTES as u64 { keys_bytes } else { 0 })?;
        let more = (batch.heap_bytes() + keys.heap_bytes() + 2 * batch.rows * size_of::<Entry>()) as u64;
        if let Err(refused) = self.held.try_resize(self.rows.heap_bytes() + more) {
            if self.rows.count > 0 {
                let rows = std::mem::take(&mut self.rows);
                self.write_run(cx, &rows, refused)?;
                drop(rows);
                self.held.clear();
            }
            if self.held.try_resize(more).is_err() {
                // A batch that is too large even alone becomes a run of its own, while it is there anyway: its rows, a block of
                // them, and the bytes of that.
                self.large.resize(keys_bytes + 3 * more)?;
                let mut alone = Rows::default();
                alone.push(batch, keys);
                self.write_run(cx, &alone, refused)?;
                drop(alone);
                self.large.clear();
                return Ok(());
            }
        }
        self.rows.push(batch, keys);
        self.rows.bound(self.first, &self.types, cx)?;
        self.held.resize(self.rows.heap_bytes().min(self.held.limit_bytes()))
    }

    /// Writes rows as a run; the file is made with the first, and the refusal is the error where there can be none.
    fn write_run(&mut self, cx: &ExecContext<'_>, rows: &Rows, refused: Refused) -> Result<()> {
        if self.spilled.is_none() {
            let space = cx.services.memory.temporary.ok_or_else(|| refused.error(self.held.what()))?;
            self.spilled = Some((SpillFile::create(space)?, Vec::new()));
        }
        if let Some((file, runs)) = &mut self.spilled {
            runs.push(rows.write(self.first, &self.types, self.block_bytes, file, cx)?);
        }
        Ok(())
    }

    /// All rows in their order.
    ///
    /// # Errors
    /// Errors of the file; 57014.
    pub fn finish(self, cx: &ExecContext<'_>) -> Result<Sorted> {
        let Sorter { types, first, block_bytes, rows, spilled, mut held, mut large } = self;
        let Some((mut file, mut runs)) = spilled else {
            let order = rows.sorted(first, cx)?;
            if let Some(probes) = cx.probes {
                probes.holds(rows.heap_bytes());
            }
            return Ok(Sorted::Memory { rows, order, next: 0, _held: held });
        };
        if rows.count > 0 {
            runs.push(rows.write(first, &types, block_bytes, &mut file, cx)?);
        }
        drop(rows);
        let usual = 3 * block_bytes as u64;
        let largest = runs.iter().map(Run::largest).max().unwrap_or(0);
        let ways = (held.limit_bytes() / usual.max(largest)).clamp(2, 128) as usize;
        held.resize((ways as u64 * usual).min(held.limit_bytes()))?;
        // Of each run one block, and the bytes of one more.
        let blocks = (ways.min(runs.len()) as u64 + 1) * largest;
        large.resize(if largest > usual { blocks } else { 0 })?;
        let mut merge = Merge::new(file, Vec::new(), &types)?;
        while runs.len() > ways {
            // Neighbours become one, so that earlier rows stay before later ones (O1).
            let mut merged = Vec::with_capacity(runs.len().div_ceil(ways));
            while !runs.is_empty() {
                let some: Vec<Run> = runs.drain(..ways.min(runs.len())).collect();
                merged.push(merge_some(&mut merge, some, &types, first, block_bytes, cx)?);
            }
            runs = merged;
        }
        merge.start(runs, &types)?;
        Ok(Sorted::Runs { merge, left: first, _held: [held, large] })
    }
}

/// Makes one run of several.
fn merge_some(
    merge: &mut Merge,
    runs: Vec<Run>,
    types: &[SqlType],
    first: usize,
    block_bytes: usize,
    cx: &ExecContext<'_>,
) -> Result<Run> {
    merge.start(runs, types)?;
    let mut run = Run::default();
    let mut block = run_layout(types);
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

impl Sorted {
    /// Appends rows in their order, until the batch is full or none is left.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn fill(&mut self, out: &mut Batch) -> Result<()> {
        match self {
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
