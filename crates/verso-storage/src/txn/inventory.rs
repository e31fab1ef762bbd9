//! Commit numbers of transactions, looked up without a lock.
//!
//!     ids:  1 ───────────── floor ──── chunk ──── chunk ──── next
//!           committed long    one atomic cell per transaction
//!           ago, unless among
//!           the exceptions
//!
//! I1. A [`Directory`] is immutable except for its cells; a change of its shape makes a new one. Who keeps an old
//!     one keeps reading the truth about every id it covers, as of its snapshot.
//! I2. A chunk goes once every transaction in it is committed at or below the horizon, or dead. The dead move to the
//!     exceptions, and leave those when their back-out lies behind the horizon.
//! I3. A cell goes from active to its commit number, by way of the same number marked as logged if the commit waits for
//!     the disk, or by way of dead to the number of its back-out. Readers that copied a page before that back-out have
//!     older snapshots, so they still do not see the transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::page::TxnId;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnState {
    /// Running; also an id not given yet.
    Active,
    /// Prepared; a coordinator will decide.
    Limbo,
    /// Rolled back, but some of its changes are still in the pages.
    Dead,
    /// Committed, or rolled back with nothing of it left.
    Committed,
}

/// Transactions per chunk.
pub(super) const CHUNK: usize = 4096;

/// Content of a cell: what is known of one transaction. Commit numbers are their own cells; the first is 2.
pub(super) const ACTIVE: u64 = 0;
/// Committed before anybody who looks: at or below every snapshot, as all of those are at least 1.
pub(super) const LONG_AGO: u64 = 1;
/// Above every snapshot, so it is not visible.
pub(super) const DEAD: u64 = u64::MAX;
/// Also above every snapshot.
pub(super) const LIMBO: u64 = u64::MAX - 1;

/// Marks the number of a commit that is in the log but perhaps not on disk: above every snapshot, too.
pub(super) const LOGGED: u64 = 1 << 63;

/// The number of a commit that is in the log but not published; none for any other cell.
#[inline]
pub(super) fn logged_number(cell: u64) -> Option<u64> {
    (cell & LOGGED != 0 && cell < LIMBO).then_some(cell & !LOGGED)
}

/// The state that a cell's content means.
pub(super) fn state_of(cell: u64) -> TxnState {
    match cell {
        ACTIVE => TxnState::Active,
        DEAD => TxnState::Dead,
        LIMBO => TxnState::Limbo,
        logged if logged & LOGGED != 0 => TxnState::Active,
        _ => TxnState::Committed,
    }
}

type Chunk = [AtomicU64; CHUNK];

/// Where the cells are (I1).
#[derive(Clone)]
pub(super) struct Directory {
    floor: u64,
    chunks: Vec<Arc<Chunk>>,
    exceptions: Arc<BTreeMap<TxnId, u64>>,
}

impl Directory {
    /// Everything below `next` is committed long ago, except the dead and those in limbo.
    pub(super) fn new(
        next: u64,
        dead: impl Iterator<Item = TxnId>,
        limbo: impl Iterator<Item = TxnId>,
    ) -> Directory {
        let exceptions = dead.map(|id| (id, DEAD)).chain(limbo.map(|id| (id, LIMBO)));
        let exceptions = Arc::new(exceptions.collect());
        Directory { floor: next, chunks: Vec::new(), exceptions }
    }

    /// As it was, with the commit numbers that a restart knows of transactions from `first` on; 0 for those that have none: the
    /// unfinished among them are exceptions so far.
    pub(super) fn with_numbers(mut self, first: TxnId, numbers: &[u64]) -> Directory {
        let next = self.floor;
        let first = first.0.clamp(1, next);
        let exceptions = Arc::make_mut(&mut self.exceptions);
        for start in (first..next).step_by(CHUNK) {
            let chunk: Chunk = std::array::from_fn(|at| {
                let id = start + at as u64;
                let number = usize::try_from(id - first).ok().and_then(|at| numbers.get(at)).copied();
                AtomicU64::new(match exceptions.remove(&TxnId(id)) {
                    Some(unfinished) => unfinished,
                    // It has logged nothing, so there is nothing of it; or it is to come.
                    None if id < next => number.unwrap_or(0).max(LONG_AGO),
                    None => ACTIVE,
                })
            });
            self.chunks.push(Arc::new(chunk));
        }
        self.floor = first;
        self
    }

    /// Transactions below have no cell.
    pub(super) fn floor(&self) -> TxnId {
        TxnId(self.floor)
    }

    /// Every transaction below is committed long ago.
    pub(super) fn all_below(&self) -> TxnId {
        let floor = TxnId(self.floor);
        let unfinished = self.exceptions.first_key_value();
        let unfinished = unfinished.filter(|(_, cell)| **cell != LONG_AGO);
        unfinished.map_or(floor, |(id, _)| floor.min(*id))
    }

    /// The commit numbers of transactions, published or logged; 0 for those that have none.
    pub(super) fn numbers(&self, ids: std::ops::Range<TxnId>) -> impl Iterator<Item = u64> {
        (ids.start.0..ids.end.0).map(|id| match self.find(TxnId(id)).unwrap_or(ACTIVE) {
            ACTIVE | DEAD | LIMBO => 0,
            number => number & !LOGGED,
        })
    }

    /// Whether there is a place for the state of `id`.
    pub(super) fn covers(&self, id: TxnId) -> bool {
        self.find(id).is_some()
    }

    /// The cell content of `id`; none for an id beyond the last chunk.
    #[inline]
    pub(super) fn find(&self, id: TxnId) -> Option<u64> {
        match id.0.checked_sub(self.floor) {
            Some(index) => {
                let chunk = self.chunks.get(usize::try_from(index).ok()? / CHUNK)?;
                Some(chunk[index as usize % CHUNK].load(Ordering::Acquire))
            }
            None if self.exceptions.is_empty() => Some(LONG_AGO),
            None => Some(self.exceptions.get(&id).copied().unwrap_or(LONG_AGO)),
        }
    }

    /// Stores the state of `id`: in place, or as a new directory if it is below the floor.
    pub(super) fn store(&self, id: TxnId, cell: u64) -> Option<Directory> {
        match id.0.checked_sub(self.floor) {
            Some(index) => {
                let index = index as usize;
                self.chunks[index / CHUNK][index % CHUNK].store(cell, Ordering::Release);
                None
            }
            None => {
                let mut changed = self.clone();
                Arc::make_mut(&mut changed.exceptions).insert(id, cell);
                Some(changed)
            }
        }
    }

    /// One more chunk at the end, and without what is behind the horizon (I2).
    pub(super) fn grown(&self, horizon: u64) -> Directory {
        let mut next = self.clone();
        let exceptions = Arc::make_mut(&mut next.exceptions);
        let free = next.chunks.iter().take_while(|chunk| is_settled(chunk, horizon)).count();
        for chunk in next.chunks.drain(..free) {
            for (id, cell) in (next.floor..).zip(chunk.iter()) {
                let cell = cell.load(Ordering::Acquire);
                if cell == DEAD {
                    exceptions.insert(TxnId(id), cell);
                }
            }
            next.floor += CHUNK as u64;
        }
        exceptions.retain(|_, cell| *cell > horizon);
        next.chunks.push(Arc::new([const { AtomicU64::new(ACTIVE) }; CHUNK]));
        next
    }

    /// Number of chunks in memory.
    #[cfg(test)]
    pub(super) fn chunk_count(&self) -> usize {
        self.chunks.len()
    }
}

/// Whether nobody will ask for the numbers in the chunk any more.
fn is_settled(chunk: &Chunk, horizon: u64) -> bool {
    chunk.iter().all(|cell| match cell.load(Ordering::Acquire) {
        ACTIVE => false,
        DEAD => true,
        // One that is logged only is above.
        number => number <= horizon,
    })
}
