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

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

use super::snapshot::Registration;
use super::table::Transactions;
use crate::StorageError;
use crate::heap::slots::{SlotSet, Slots};
use crate::page::{ObjectId, TxnId};
use crate::rules::{Rule, disabled};

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

/// What is known of a serializable transaction.
struct Xact {
    reader: Arc<Reader>,
    txn: TxnId,
    read_only: bool,
    /// The sequence when its snapshot was taken.
    begun: u64,
    /// Its place among those that passed their commit's test, and, once published, its end.
    prepared: u64,
    committed: u64,
    doomed: bool,
    /// Who read what it replaced.
    ins: BTreeSet<u64>,
    /// Who replaced what it read.
    outs: BTreeSet<u64>,
    /// One that was summed up read what it replaced.
    old_in: bool,
    /// The first to commit of those that replaced what it read.
    earliest_out: u64,
    /// Of a read-only one: the read-write ones that decide whether it is safe.
    watched: BTreeSet<u64>,
    unsafe_snapshot: bool,
    tables: BTreeSet<ObjectId>,
    pages: BTreeMap<ObjectId, BTreeSet<u32>>,
    /// Indexes of which it read ranges, and their tables.
    indexes: BTreeMap<ObjectId, ObjectId>,
}

impl Xact {
    fn is_committed(&self) -> bool {
        self.committed != NEVER
    }

    fn is_prepared(&self) -> bool {
        self.prepared != NEVER
    }
}

#[derive(Default)]
struct State {
    xacts: BTreeMap<u64, Xact>,
    by_txn: HashMap<TxnId, u64>,
    next: u64,
    /// Counts passed tests and ends of commits.
    sequence: u64,
    tables: HashMap<ObjectId, BTreeSet<u64>>,
    records: HashMap<(ObjectId, u32), Vec<(u64, SlotSet)>>,
    ranges: HashMap<ObjectId, BTreeMap<u64, Ranges>>,
    /// Tables read by those summed up: when the newest of them ended.
    old_tables: HashMap<ObjectId, u64>,
    /// Writers summed up: their end and their earliest conflict out.
    old_writers: HashMap<TxnId, (u64, u64)>,
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
        let registration = transactions.register();
        let watched: BTreeSet<u64> = if read_only {
            let writers = state.xacts.iter().filter(|(_, xact)| !xact.read_only && !xact.is_committed());
            writers.filter(|(_, xact)| !xact.doomed).map(|(id, _)| *id).collect()
        } else {
            BTreeSet::new()
        };
        if read_only && watched.is_empty() {
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

/// Parts of an index, apart from each other: where each begins, and before what it ends.
#[derive(Default)]
struct Ranges(BTreeMap<Vec<u8>, Option<Vec<u8>>>);

impl Ranges {
    /// Adds a part; those that it touches become one with it.
    fn add(&mut self, start: &[u8], end: Option<&[u8]>) {
        let mut start = start.to_vec();
        let mut end = end.map(<[u8]>::to_vec);
        if let Some((before, its_end)) =
            self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(&start[..]))).next_back()
            && its_end.as_ref().is_none_or(|its_end| *its_end >= start)
        {
            start.clone_from(before);
            end = its_end.clone().and_then(|its_end| end.map(|end| end.max(its_end)));
        }
        let within = |at: &Vec<u8>| end.as_ref().is_none_or(|end| at <= end);
        let behind = self.0.range::<[u8], _>((Bound::Included(&start[..]), Bound::Unbounded));
        let touched: Vec<Vec<u8>> = behind.map(|(at, _)| at).take_while(|at| within(at)).cloned().collect();
        for at in touched {
            let its_end = self.0.remove(&at).flatten();
            // Only the last of them may end behind the new one.
            end = its_end.and_then(|its_end| end.map(|end| end.max(its_end)));
        }
        self.0.insert(start, end);
        if self.0.len() > RANGES_MAX {
            self.0 = BTreeMap::from([(Vec::new(), None)]);
        }
    }

    fn hold(&self, entry: &[u8]) -> bool {
        let before = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(entry))).next_back();
        before.is_some_and(|(_, end)| end.as_ref().is_none_or(|end| entry < &end[..]))
    }
}

impl State {
    fn note_range(&mut self, id: u64, table: ObjectId, index: ObjectId, start: &[u8], end: Option<&[u8]>) {
        let Some(xact) = self.xacts.get_mut(&id) else { return };
        if xact.tables.contains(&table) {
            return;
        }
        xact.indexes.insert(index, table);
        self.ranges.entry(index).or_default().entry(id).or_default().add(start, end);
    }

    fn note_table(&mut self, id: u64, table: ObjectId) {
        let Some(xact) = self.xacts.get_mut(&id) else { return };
        if !xact.tables.insert(table) {
            return;
        }
        self.tables.entry(table).or_default().insert(id);
        // The note for all of it makes the finer ones superfluous.
        for page in xact.pages.remove(&table).unwrap_or_default() {
            forget_page(&mut self.records, table, page, id);
        }
    }

    fn note_record(&mut self, id: u64, table: ObjectId, page_index: u32, slot: u16) {
        let Some(xact) = self.xacts.get_mut(&id) else { return };
        if xact.tables.contains(&table) {
            return;
        }
        let pages = xact.pages.entry(table).or_default();
        pages.insert(page_index);
        if pages.len() > PAGES_MAX {
            return self.note_table(id, table);
        }
        let noted = self.records.entry((table, page_index)).or_default();
        match noted.iter_mut().find(|(reader, _)| *reader == id) {
            Some((_, slots)) => {
                slots.insert(slot);
            }
            None => {
                let mut slots = SlotSet::default();
                slots.insert(slot);
                noted.push((id, slots));
            }
        }
    }

    fn doom(&mut self, id: u64) {
        if let Some(xact) = self.xacts.get_mut(&id) {
            xact.doomed = true;
            xact.reader.doomed.store(true, Ordering::Release);
        }
    }

    /// `reader` met a version of `writer` that it does not see.
    fn conflict_out(&mut self, reader: u64, writer: TxnId) -> Result<(), StorageError> {
        let Some(me) = self.xacts.get_mut(&reader) else { return Ok(()) };
        if let Some((_, earliest_out)) = self.old_writers.get(&writer) {
            let counts = *earliest_out != NEVER && (!me.read_only || *earliest_out <= me.begun);
            if counts {
                return Err(failure("Conflict out to an old pivot."));
            }
            if me.old_in || !me.ins.is_empty() {
                return Err(failure("Pivot with a conflict out to an old committed transaction."));
            }
            me.earliest_out = 0;
            return Ok(());
        }
        let Some(&by) = self.by_txn.get(&writer).filter(|by| **by != reader) else { return Ok(()) };
        let me_reads_only = me.read_only;
        let begun = me.begun;
        let Some(other) = self.xacts.get(&by) else { return Ok(()) };
        if other.doomed || (me_reads_only && other.is_committed() && begun < other.earliest_out) {
            return Ok(());
        }
        self.flag(reader, by, reader)
    }

    /// `writer` changed something that `readers`, and perhaps some summed up, have read.
    fn conflicts_in(
        &mut self,
        writer: u64,
        table: ObjectId,
        readers: BTreeSet<u64>,
    ) -> Result<(), StorageError> {
        let Some(me) = self.xacts.get_mut(&writer) else { return Ok(()) };
        let begun = me.begun;
        if let Some(ended) = self.old_tables.get(&table).filter(|ended| **ended > begun) {
            me.old_in = true;
            if me.earliest_out <= *ended {
                self.doom(writer);
                return Err(failure(
                    "Pivot with a conflict in from an old committed transaction, during write.",
                ));
            }
        }
        for reader in readers {
            let overlaps = self
                .xacts
                .get(&reader)
                .is_some_and(|xact| reader != writer && !xact.doomed && xact.committed > begun);
            if overlaps {
                self.flag(reader, writer, writer)?;
            }
        }
        Ok(())
    }

    /// Notes that `reader` read what `writer` replaced, and ends one of them if that completes the shape.
    fn flag(&mut self, reader: u64, writer: u64, me: u64) -> Result<(), StorageError> {
        let known = self.xacts.get_mut(&reader).is_none_or(|xact| !xact.outs.insert(writer));
        if known {
            return Ok(());
        }
        if let Some(xact) = self.xacts.get_mut(&writer) {
            xact.ins.insert(reader);
            let prepared = xact.prepared;
            if let Some(reader) = self.xacts.get_mut(&reader) {
                reader.earliest_out = reader.earliest_out.min(prepared);
            }
        }
        let (Some(r), Some(w)) = (self.xacts.get(&reader), self.xacts.get(&writer)) else { return Ok(()) };
        // Reader ─► writer ─► one that committed first of the three.
        let first = w.earliest_out;
        let mut dangerous = first != NEVER
            && first <= r.committed
            && first <= w.committed
            && (!r.read_only || first <= r.begun);
        // T0 ─► reader ─► writer, which committed first of the three.
        if !dangerous && w.is_prepared() && !r.read_only {
            dangerous = r.old_in
                || r.ins.iter().filter_map(|id| self.xacts.get(id)).any(|t0| {
                    !t0.doomed && t0.committed >= w.prepared && (!t0.read_only || t0.begun >= w.prepared)
                });
        }
        if !dangerous {
            return Ok(());
        }
        if me == writer {
            self.doom(me);
            return Err(failure("The transaction was identified as a pivot, during write."));
        }
        if w.is_prepared() {
            self.doom(me);
            return Err(failure("Conflict out to a pivot that committed, during read."));
        }
        self.doom(writer);
        Ok(())
    }

    fn test_commit(&mut self, me: u64) -> Result<(), StorageError> {
        let Some(xact) = self.xacts.get(&me) else { return Ok(()) };
        if xact.doomed {
            return Err(failure("The transaction was identified as a pivot, during commit."));
        }
        let mut pivots = Vec::new();
        for near in &xact.ins {
            let Some(pivot) = self.xacts.get(near).filter(|pivot| !pivot.is_committed() && !pivot.doomed)
            else {
                continue;
            };
            let closes = pivot.ins.iter().any(|far| {
                *far == me
                    || self
                        .xacts
                        .get(far)
                        .is_some_and(|far| !far.is_committed() && !far.read_only && !far.doomed)
            });
            if closes {
                if pivot.is_prepared() {
                    return Err(failure("Conflict in from a prepared pivot, during commit."));
                }
                pivots.push(*near);
            }
        }
        pivots.into_iter().for_each(|pivot| self.doom(pivot));
        self.sequence += 1;
        let sequence = self.sequence;
        let ins = self.xacts.get_mut(&me).map(|xact| {
            xact.prepared = sequence;
            xact.ins.clone()
        });
        for reader in ins.unwrap_or_default() {
            if let Some(reader) = self.xacts.get_mut(&reader) {
                reader.earliest_out = reader.earliest_out.min(sequence);
            }
        }
        Ok(())
    }

    fn end(&mut self, me: u64, committed: bool) {
        self.sequence += 1;
        let sequence = self.sequence;
        let mut earliest_out = NEVER;
        if committed && let Some(xact) = self.xacts.get_mut(&me) {
            xact.committed = sequence;
            xact.prepared = xact.prepared.min(sequence);
            // Who wrote nothing read only.
            xact.read_only |= xact.txn == TxnId::NONE;
            earliest_out = xact.earliest_out;
        } else {
            self.remove(me);
        }
        // S4: those that waited for this one to tell.
        let mut safe = Vec::new();
        for (id, watcher) in &mut self.xacts {
            if watcher.watched.remove(&me) {
                watcher.unsafe_snapshot |= earliest_out <= watcher.begun;
                if watcher.watched.is_empty() && !watcher.unsafe_snapshot && !watcher.is_committed() {
                    safe.push(*id);
                }
            }
        }
        for id in safe {
            if let Some(xact) = self.xacts.get(&id) {
                xact.reader.safe.store(true, Ordering::Release);
            }
            self.remove(id);
        }
        self.forget();
    }

    /// Forgets the committed that no active one overlaps, and sums up those that are too many (S3).
    fn forget(&mut self) {
        let active = self.xacts.values().filter(|xact| !xact.is_committed());
        let oldest = active.map(|xact| xact.begun).min().unwrap_or(NEVER - 1);
        let over: Vec<u64> =
            self.xacts.iter().filter(|(_, xact)| xact.committed <= oldest).map(|(id, _)| *id).collect();
        over.into_iter().for_each(|id| self.remove(id));
        self.old_tables.retain(|_, ended| *ended > oldest);
        self.old_writers.retain(|_, (ended, _)| *ended > oldest);
        let mut committed: Vec<(u64, u64)> = self
            .xacts
            .iter()
            .filter(|(_, xact)| xact.is_committed())
            .map(|(id, xact)| (xact.committed, *id))
            .collect();
        if committed.len() > COMMITTED_MAX {
            committed.sort_unstable();
            for (ended, id) in &committed[..committed.len() - COMMITTED_MAX] {
                self.sum_up(*id, *ended);
            }
        }
    }

    fn sum_up(&mut self, id: u64, ended: u64) {
        let Some(xact) = self.xacts.get(&id) else { return };
        let tables = xact.tables.iter().chain(xact.pages.keys()).chain(xact.indexes.values());
        let tables: BTreeSet<ObjectId> = tables.copied().collect();
        for table in tables {
            let newest = self.old_tables.entry(table).or_insert(0);
            *newest = (*newest).max(ended);
        }
        if xact.txn != TxnId::NONE {
            self.old_writers.insert(xact.txn, (ended, xact.earliest_out));
        }
        for pivot in xact.outs.clone() {
            if let Some(pivot) = self.xacts.get_mut(&pivot) {
                pivot.old_in = true;
            }
        }
        self.remove(id);
    }

    /// Removes everything about a transaction.
    fn remove(&mut self, id: u64) {
        let Some(xact) = self.xacts.remove(&id) else { return };
        if xact.txn != TxnId::NONE {
            self.by_txn.remove(&xact.txn);
        }
        for other in &xact.ins {
            if let Some(other) = self.xacts.get_mut(other) {
                other.outs.remove(&id);
            }
        }
        for other in &xact.outs {
            if let Some(other) = self.xacts.get_mut(other) {
                other.ins.remove(&id);
            }
        }
        for table in &xact.tables {
            if let Some(readers) = self.tables.get_mut(table) {
                readers.remove(&id);
                if readers.is_empty() {
                    self.tables.remove(table);
                }
            }
        }
        for index in xact.indexes.keys() {
            if let Some(readers) = self.ranges.get_mut(index) {
                readers.remove(&id);
                if readers.is_empty() {
                    self.ranges.remove(index);
                }
            }
        }
        for (table, pages) in &xact.pages {
            pages.iter().for_each(|page| forget_page(&mut self.records, *table, *page, id));
        }
    }
}

fn forget_page(
    records: &mut HashMap<(ObjectId, u32), Vec<(u64, SlotSet)>>,
    table: ObjectId,
    page: u32,
    id: u64,
) {
    if let Some(noted) = records.get_mut(&(table, page)) {
        noted.retain(|(reader, _)| *reader != id);
        if noted.is_empty() {
            records.remove(&(table, page));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a set of all strings of one letter.
    #[test]
    fn ranges_hold_what_was_added() {
        for seed in verso_sim::seeds(200) {
            let mut rng = verso_sim::Rng::new(seed);
            let (mut ranges, mut model) = (Ranges::default(), BTreeSet::new());
            for _ in 0..rng.below(12) {
                let start = rng.below(24) as u8;
                let end = (rng.below(8) > 0).then(|| start + rng.below(6) as u8);
                ranges.add(&[start], end.map(|end| [end]).as_ref().map(|end| &end[..]));
                model.extend(start..end.unwrap_or(40));
            }
            for letter in 0..40 {
                assert_eq!(ranges.hold(&[letter]), model.contains(&letter), "seed {seed}, {letter}");
            }
            let parts: Vec<_> = ranges.0.iter().collect();
            assert!(
                parts.windows(2).all(|two| two[0].1.as_ref().is_some_and(|end| end < two[1].0)),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn many_ranges_become_one() {
        let mut ranges = Ranges::default();
        for at in 0..RANGES_MAX as u16 {
            ranges.add(&(at * 2).to_be_bytes(), Some(&(at * 2 + 1).to_be_bytes()));
        }
        assert!(!ranges.hold(&3_u16.to_be_bytes()));
        ranges.add(&u16::MAX.to_be_bytes(), None);
        assert!(ranges.hold(&3_u16.to_be_bytes()));
        assert_eq!(ranges.0.len(), 1);
    }
}
