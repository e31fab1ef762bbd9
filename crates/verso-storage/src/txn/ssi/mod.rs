//! Serializable isolation: snapshots, and a look-out for the one shape that makes them go wrong.
//!
//! ```text
//!          rw                rw
//!   T0 ─────────► pivot ─────────► T1        T0 read what the pivot replaced, the pivot what T1 replaced
//! ```
//!
//! Every history of snapshots that no serial order explains holds such a shape in which T1 commits first (Cahill et al.
//! 2008); if T0 only reads, then T1 committed before T0's snapshot (Ports and Grittner 2012, whose tests these are). One
//! of the three is ended with 40001, the pivot where possible.
//!
//! S1. A reader notes what it is about to read (a table, records) before it latches a page of it, and the part of an
//!     index that it has read with the leaf latched; a writer looks for notes after its change. So of a read and a write
//!     of the same thing one always learns of the other: the writer finds the note, or the reader meets the new version
//!     and reports that it skipped it. A reader through an index notes the records of all entries that it met, so only
//!     entries that are new have to be looked for among the ranges.
//! S2. Only serializable transactions are noted; the others cost one test of an option.
//! S3. What is known of a committed transaction is kept as long as an active one overlaps it. Beyond
//!     [`COMMITTED_MAX`] the oldest are summed up: per table the newest of them that read it, per writer its earliest
//!     conflict. Beyond [`PAGES_MAX`] pages of a table a reader's notes become one for all of it, beyond
//!     [`RANGES_MAX`] ranges of an index one for all keys.
//! S4. A read-only transaction is *safe* once every read-write one that ran when its snapshot was taken has ended
//!     without a conflict out to one that committed before that snapshot. Then nothing it reads can matter and it is
//!     tracked no more; DEFERRABLE waits for that before it begins.
//!
//! Locks: this module's mutex, then that of the transactions' table.

mod forget;
mod ranges;
mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

use super::snapshot::Registration;
use super::table::Transactions;
use crate::StorageError;
use crate::heap::slots::Slots;
use crate::page::{ObjectId, TxnId};
use crate::rules::{Rule, disabled};
use state::{State, Xact};

/// Committed transactions remembered one by one.
const COMMITTED_MAX: usize = 512;
/// Pages of one table in which a transaction's reads are noted by record.
const PAGES_MAX: usize = 1024;
/// Ranges of one index that are noted of a transaction; those that touch are one.
const RANGES_MAX: usize = 1024;
/// How often a deferrable transaction that waits looks whether it was cancelled.
const POLL: Duration = Duration::from_millis(10);

const NEVER: u64 = u64::MAX;

/// One serializable transaction, as its statements hold it.
pub(crate) struct Reader {
    id: u64,
    ssi: Arc<Ssi>,
    /// It can only be rolled back.
    doomed: AtomicBool,
    /// Tracked no more (S4).
    safe: AtomicBool,
    /// The writer it skipped last, so that a run of versions is reported once.
    skipped: AtomicU64,
    /// The table it noted last.
    table: AtomicU64,
}

/// All serializable transactions of an open database.
#[derive(Default)]
pub struct Ssi {
    state: Mutex<State>,
    tracked: AtomicUsize,
    changed: Condvar,
}

fn failure(reason: &'static str) -> StorageError {
    StorageError::Serialization { reason }
}

impl Ssi {
    /// Begins a transaction with a snapshot of now. No reader: nothing it does can matter.
    pub(crate) fn begin(
        self: &Arc<Self>,
        transactions: &Arc<Transactions>,
        read_only: bool,
    ) -> (Registration, Option<Arc<Reader>>) {
        let mut state = self.state.lock();
        // Under the mutex, so that whoever committed before it in the sequence is in it.
        let registration = transactions.register_every();
        let watched: BTreeSet<u64> = if read_only {
            let writers = state.xacts.iter().filter(|(_, xact)| !xact.read_only && !xact.is_committed());
            writers.filter(|(_, xact)| !xact.doomed).map(|(id, _)| *id).collect()
        } else {
            BTreeSet::new()
        };
        if read_only && watched.is_empty() {
            registration.needs_its_own_only();
            return (registration, None);
        }
        let id = state.next;
        state.next += 1;
        let reader = Arc::new(Reader {
            id,
            ssi: Arc::clone(self),
            doomed: AtomicBool::new(false),
            safe: AtomicBool::new(false),
            skipped: AtomicU64::new(0),
            table: AtomicU64::new(0),
        });
        let xact = Xact {
            reader: Arc::clone(&reader),
            txn: TxnId::NONE,
            read_only,
            begun: state.sequence,
            prepared: NEVER,
            committed: NEVER,
            doomed: false,
            ins: BTreeSet::new(),
            outs: BTreeSet::new(),
            old_in: false,
            earliest_out: NEVER,
            watched,
            unsafe_snapshot: false,
            tables: BTreeSet::new(),
            pages: BTreeMap::new(),
            indexes: BTreeMap::new(),
        };
        state.xacts.insert(id, xact);
        self.tracked.store(state.xacts.len(), Ordering::Release);
        (registration, Some(reader))
    }

    /// Begins a read-only transaction once it has a safe snapshot (DEFERRABLE).
    ///
    /// # Errors
    /// `Cancelled`.
    pub(crate) fn begin_deferrable(
        self: &Arc<Self>,
        transactions: &Arc<Transactions>,
        cancel: &AtomicBool,
    ) -> Result<Registration, StorageError> {
        loop {
            let (registration, reader) = self.begin(transactions, true);
            let Some(reader) = reader else { return Ok(registration) };
            let mut state = self.state.lock();
            loop {
                if reader.safe.load(Ordering::Acquire) {
                    registration.needs_its_own_only();
                    return Ok(registration);
                }
                let is_unsafe = state.xacts.get(&reader.id).is_none_or(|xact| xact.unsafe_snapshot);
                let cancelled = cancel.load(Ordering::Relaxed);
                if is_unsafe || cancelled {
                    state.remove(reader.id);
                    self.tracked.store(state.xacts.len(), Ordering::Release);
                    if cancelled {
                        return Err(StorageError::Cancelled);
                    }
                    break;
                }
                self.changed.wait_for(&mut state, POLL);
            }
        }
    }

    /// Transactions remembered, active and committed.
    pub fn tracked(&self) -> usize {
        self.tracked.load(Ordering::Relaxed)
    }
}

impl Reader {
    /// Whether its notes are of no use.
    fn idle(&self) -> bool {
        self.safe.load(Ordering::Relaxed) || disabled(Rule::Ssi)
    }

    /// Fails if the transaction was chosen to give way.
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        if self.doomed.load(Ordering::Acquire) {
            return Err(failure("The transaction was identified as a pivot of conflicts."));
        }
        Ok(())
    }

    /// The transaction got its number.
    pub(crate) fn began_write(&self, txn: TxnId) {
        let mut state = self.ssi.state.lock();
        if let Some(xact) = state.xacts.get_mut(&self.id) {
            xact.txn = txn;
            state.by_txn.insert(txn, self.id);
        }
    }

    // ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    /// It is about to read all of a table.
    pub(crate) fn reads_table(&self, table: ObjectId) {
        // Tables of the catalog are versioned as a whole by their own means.
        if table.0 < crate::Engine::FIRST_USER_OBJECT
            || self.table.load(Ordering::Relaxed) == u64::from(table.0)
            || self.idle()
        {
            return;
        }
        self.table.store(u64::from(table.0), Ordering::Relaxed);
        self.ssi.state.lock().note_table(self.id, table);
    }

    /// It is about to read a record by name.
    pub(crate) fn reads_record(&self, table: ObjectId, page_index: u32, slot: u16) {
        if table.0 < crate::Engine::FIRST_USER_OBJECT || self.idle() {
            return;
        }
        self.ssi.state.lock().note_record(self.id, table, page_index, slot);
    }

    /// It reads the entries of an index from `start` to before `end`, whose leaf is latched.
    pub(crate) fn reads_range(&self, table: ObjectId, index: ObjectId, start: &[u8], end: Option<&[u8]>) {
        if table.0 >= crate::Engine::FIRST_USER_OBJECT && !self.idle() {
            self.ssi.state.lock().note_range(self.id, table, index, start, end);
        }
    }

    /// It met a version that its snapshot does not see.
    #[cold]
    pub(crate) fn skips(&self, writer: TxnId) {
        if self.skipped.swap(writer.0, Ordering::Relaxed) != writer.0 && !self.idle() {
            let mut state = self.ssi.state.lock();
            if state.conflict_out(self.id, writer).is_err() {
                state.doom(self.id);
            }
        }
    }

    // ── writing ──────────────────────────────────────────────────────────────────────────────────────────────

    /// It has changed records of a page, which may be new.
    ///
    /// # Errors
    /// `Serialization`.
    pub(crate) fn wrote(
        &self,
        table: ObjectId,
        page_index: u32,
        slots: Slots<'_>,
    ) -> Result<(), StorageError> {
        if table.0 < crate::Engine::FIRST_USER_OBJECT || self.ssi.tracked() <= 1 || disabled(Rule::Ssi) {
            return Ok(());
        }
        let mut state = self.ssi.state.lock();
        let mut readers: BTreeSet<u64> = state.tables.get(&table).cloned().unwrap_or_default();
        for (reader, noted) in state.records.get(&(table, page_index)).into_iter().flatten() {
            if !readers.contains(reader) && slots.iter().any(|slot| noted.contains(slot)) {
                readers.insert(*reader);
            }
        }
        state.conflicts_in(self.id, table, readers)
    }

    /// It has added entries to an index.
    ///
    /// # Errors
    /// `Serialization`.
    pub(crate) fn wrote_keys<'e>(
        &self,
        table: ObjectId,
        index: ObjectId,
        entries: impl Iterator<Item = &'e [u8]>,
    ) -> Result<(), StorageError> {
        if table.0 < crate::Engine::FIRST_USER_OBJECT
            || self.ssi.tracked() <= 1
            || disabled(Rule::Ssi)
            || disabled(Rule::SsiRanges)
        {
            return Ok(());
        }
        let mut state = self.ssi.state.lock();
        let Some(noted) = state.ranges.get(&index) else { return Ok(()) };
        let mut readers = BTreeSet::new();
        for entry in entries {
            let hit =
                noted.iter().filter(|(reader, ranges)| !readers.contains(*reader) && ranges.hold(entry));
            let hit: Vec<u64> = hit.map(|(reader, _)| *reader).collect();
            readers.extend(hit);
        }
        state.conflicts_in(self.id, table, readers)
    }

    // ── ending ───────────────────────────────────────────────────────────────────────────────────────────────

    /// The test before the commit, or the preparation of one; passing it decides the order of commits.
    ///
    /// # Errors
    /// `Serialization`.
    pub(crate) fn prepare(&self) -> Result<(), StorageError> {
        if self.idle() {
            return Ok(());
        }
        self.check()?;
        let mut state = self.ssi.state.lock();
        state.test_commit(self.id)
    }

    /// The transaction has ended, which its state says already.
    pub(crate) fn ended(&self, committed: bool) {
        let mut state = self.ssi.state.lock();
        state.end(self.id, committed);
        self.ssi.tracked.store(state.xacts.len(), Ordering::Release);
        self.ssi.changed.notify_all();
    }
}
