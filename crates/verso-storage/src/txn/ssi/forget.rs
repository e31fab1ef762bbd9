//! The end of a transaction's part in conflicts: what is kept of the committed, and when it goes (S3, S4).

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;

use super::state::State;
use super::{COMMITTED_MAX, NEVER};
use crate::heap::slots::SlotSet;
use crate::page::{ObjectId, TxnId};

impl State {
    pub(super) fn end(&mut self, me: u64, committed: bool) {
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
    pub(super) fn remove(&mut self, id: u64) {
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

/// Takes the notes of one reader off a page.
pub(super) fn forget_page(
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
