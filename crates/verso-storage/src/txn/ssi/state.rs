//! Who has read what, and which conflicts that makes: the notes, and the test for the dangerous shape.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::forget::forget_page;
use super::ranges::Ranges;
use super::{NEVER, PAGES_MAX, Reader, failure};
use crate::StorageError;
use crate::heap::slots::SlotSet;
use crate::page::{ObjectId, TxnId};

/// What is known of a serializable transaction.
pub(super) struct Xact {
    pub(super) reader: Arc<Reader>,
    pub(super) txn: TxnId,
    pub(super) read_only: bool,
    /// The sequence when its snapshot was taken.
    pub(super) begun: u64,
    /// Its place among those that passed their commit's test, and, once published, its end.
    pub(super) prepared: u64,
    pub(super) committed: u64,
    pub(super) doomed: bool,
    /// Who read what it replaced.
    pub(super) ins: BTreeSet<u64>,
    /// Who replaced what it read.
    pub(super) outs: BTreeSet<u64>,
    /// One that was summed up read what it replaced.
    pub(super) old_in: bool,
    /// The first to commit of those that replaced what it read.
    pub(super) earliest_out: u64,
    /// Of a read-only one: the read-write ones that decide whether it is safe.
    pub(super) watched: BTreeSet<u64>,
    pub(super) unsafe_snapshot: bool,
    pub(super) tables: BTreeSet<ObjectId>,
    pub(super) pages: BTreeMap<ObjectId, BTreeSet<u32>>,
    /// Indexes of which it read ranges, and their tables.
    pub(super) indexes: BTreeMap<ObjectId, ObjectId>,
}

impl Xact {
    pub(super) fn is_committed(&self) -> bool {
        self.committed != NEVER
    }

    pub(super) fn is_prepared(&self) -> bool {
        self.prepared != NEVER
    }
}

#[derive(Default)]
pub(super) struct State {
    pub(super) xacts: BTreeMap<u64, Xact>,
    pub(super) by_txn: HashMap<TxnId, u64>,
    pub(super) next: u64,
    /// Counts passed tests and ends of commits.
    pub(super) sequence: u64,
    pub(super) tables: HashMap<ObjectId, BTreeSet<u64>>,
    pub(super) records: HashMap<(ObjectId, u32), Vec<(u64, SlotSet)>>,
    pub(super) ranges: HashMap<ObjectId, BTreeMap<u64, Ranges>>,
    /// Tables read by those summed up: when the newest of them ended.
    pub(super) old_tables: HashMap<ObjectId, u64>,
    /// Writers summed up: their end and their earliest conflict out.
    pub(super) old_writers: HashMap<TxnId, (u64, u64)>,
}

impl State {
    pub(super) fn note_range(
        &mut self,
        id: u64,
        table: ObjectId,
        index: ObjectId,
        start: &[u8],
        end: Option<&[u8]>,
    ) {
        let Some(xact) = self.xacts.get_mut(&id) else { return };
        if xact.tables.contains(&table) {
            return;
        }
        xact.indexes.insert(index, table);
        self.ranges.entry(index).or_default().entry(id).or_default().add(start, end);
    }

    pub(super) fn note_table(&mut self, id: u64, table: ObjectId) {
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

    pub(super) fn note_record(&mut self, id: u64, table: ObjectId, page_index: u32, slot: u16) {
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

    pub(super) fn doom(&mut self, id: u64) {
        if let Some(xact) = self.xacts.get_mut(&id) {
            xact.doomed = true;
            xact.reader.doomed.store(true, Ordering::Release);
        }
    }

    /// `reader` met a version of `writer` that it does not see.
    pub(super) fn conflict_out(&mut self, reader: u64, writer: TxnId) -> Result<(), StorageError> {
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
    pub(super) fn conflicts_in(
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
    pub(super) fn flag(&mut self, reader: u64, writer: u64, me: u64) -> Result<(), StorageError> {
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

    pub(super) fn test_commit(&mut self, me: u64) -> Result<(), StorageError> {
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
}
