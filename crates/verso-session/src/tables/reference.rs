//! What foreign keys ask for: they hold against what is committed by now, whatever the statement's snapshot sees. A row that refers to
//! another needs one that the snapshot of its transaction has, too.

use std::collections::VecDeque;
use std::sync::Arc;

use verso_catalog::packs::Wanted;
use verso_catalog::{IndexDef, TableDef};
use verso_exec::error::Result;
use verso_exec::exec::KeyOf;
use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::index::{Index, KeyRange, key};
use verso_storage::{
    CommitMode, Isolation, RecordId, RecordLockMode, TableLockMode, Txn, TxnOptions, WaitPolicy,
};
use verso_types::{Batch, Column, Exclusion, Value};

use super::EngineTables;
use super::cursor::{Pages, Ranges, Rows, columns_at};

/// A record whose key stays.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    /// As the snapshot has it.
    Same,
    /// Others have made it, or perhaps changed its key, since the snapshot.
    Changed,
    /// It is not there any more.
    Gone,
}

/// Locks a record so that its key stays, waiting for whoever changes that.
fn keep_key(heap: &Arc<Heap>, txn: &mut Txn, record: RecordId) -> Result<Kept> {
    Ok(try_keep_key(heap, txn, record, WaitPolicy::Block)?.unwrap_or(Kept::Gone))
}

/// The same; with SKIP LOCKED none where one would have to wait.
fn try_keep_key(heap: &Arc<Heap>, txn: &mut Txn, record: RecordId, wait: WaitPolicy) -> Result<Option<Kept>> {
    let mut rows = ScanBatch::default();
    rows.records.push(record);
    let locked = heap.lock_records(txn, &rows, None, RecordLockMode::KeyShare, wait)?;
    Ok(match (locked.locked.is_empty(), locked.changed.is_empty()) {
        (false, _) => Some(Kept::Same),
        (true, false) => Some(Kept::Changed),
        (true, true) => locked.skipped.is_empty().then_some(Kept::Gone),
    })
}

/// Whether a record that was kept counts: its row has to be one of the snapshot that all statements of the transaction have, too,
/// with a key of the same beginning.
fn counts(
    (heap, index): (&Arc<Heap>, &Index),
    txn: &Txn,
    (record, kept): (RecordId, Kept),
    key: &[u8],
    of: KeyOf,
) -> Result<bool> {
    if kept == Kept::Gone || kept == Kept::Same || of == KeyOf::Now || txn.isolation().by_statement() {
        return Ok(kept != Kept::Gone);
    }
    let parts = &index.spec().parts;
    let columns: Vec<u16> = parts.iter().map(|part| part.column).collect();
    let mut rows = ScanBatch::default();
    if !heap.fetch(txn, record, &columns, &mut rows)? {
        return Ok(false);
    }
    let stored: Vec<_> = rows.batch.columns.iter().collect();
    let mut then = Vec::new();
    key::encode_row(parts, &stored, 0, &mut then)?;
    Ok(then.starts_with(key))
}

impl EngineTables<'_> {
    /// Locks the record that has a key, in its newest version, so that the key stays; whether there is one. Whoever takes the key
    /// away is waited for, but not who adds it: as in PostgreSQL it is there when that is committed.
    pub(super) fn lock_key(
        &self,
        table: &TableDef,
        index: &IndexDef,
        wanted: &[u8],
        of: KeyOf,
    ) -> Result<bool> {
        self.lock(table, TableLockMode::RowShare)?;
        let heap = self.heap_for_locks(table)?;
        let index = self.index(&heap, index)?;
        let parts = &index.spec().parts;
        let columns: Vec<u16> = parts.iter().map(|part| part.column).collect();
        // Whether a record has the key, as far as that is committed, or the transaction's own.
        let has_it = |txn: &Txn, record: RecordId| -> Result<bool> {
            let mut rows = ScanBatch::default();
            heap.fetch_newest(txn, &[record], &columns, &mut rows)?;
            if rows.batch.rows == 0 {
                return Ok(false);
            }
            let stored: Vec<_> = rows.batch.columns.iter().collect();
            let mut found = Vec::new();
            key::encode_row(parts, &stored, 0, &mut found)?;
            Ok(found == wanted)
        };
        let mut records = VecDeque::from(index.records_current(&self.txn.borrow(), wanted)?);
        while let Some(record) = records.pop_front() {
            let mut txn = self.txn.borrow_mut();
            let kept = match try_keep_key(&heap, &mut txn, record, WaitPolicy::SkipLocked)? {
                Some(kept) => kept,
                // What others add is not there for this transaction, and not waited for.
                None if !has_it(&txn, record)? => continue,
                None => {
                    let mut there = VecDeque::new();
                    for other in records {
                        if has_it(&txn, other)? {
                            there.push_back(other);
                        }
                    }
                    records = there;
                    keep_key(&heap, &mut txn, record)?
                }
            };
            if counts((&heap, &index), &txn, (record, kept), wanted, of)? && has_it(&txn, record)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the snapshot that all statements of the transaction have has a row with a key.
    pub(super) fn snapshot_has_key(&self, table: &TableDef, index: &IndexDef, key: &[u8]) -> Result<bool> {
        if self.txn.borrow().isolation().by_statement() {
            return Ok(false);
        }
        let ranges = vec![KeyRange::prefix(key)];
        let mut scan = Rows::Index(Ranges::open(self, &self.txn.borrow(), table, index, ranges, false, &[])?);
        let mut rows = ScanBatch::default();
        while scan.next(&mut rows)? {
            if !rows.records.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Locks the records of a temporal key that overlap a period, in their newest versions, so that they stay; their periods.
    pub(super) fn lock_periods(
        &self,
        table: &TableDef,
        index: &IndexDef,
        prefix: &[u8],
        period: &Value,
        of: KeyOf,
    ) -> Result<Vec<Value>> {
        self.lock(table, TableLockMode::RowShare)?;
        let heap = self.heap_for_locks(table)?;
        let index = self.index(&heap, index)?;
        let parts = &index.spec().parts;
        let columns: Vec<u16> = parts.iter().map(|part| part.column).collect();
        let Some(at) = parts.last().and_then(|part| table.column_with_id(part.column)) else {
            return Ok(Vec::new());
        };
        let (last, ty) = (columns.len() - 1, &table.columns[at].ty);
        let mut wanted = Column::new(ty.physical());
        wanted.push_value(period, ty)?;
        // The period of a record of the key, in its newest version.
        let its = |txn: &Txn, record: RecordId| -> Result<Option<(Value, bool)>> {
            let mut rows = ScanBatch::default();
            heap.fetch_newest(txn, &[record], &columns, &mut rows)?;
            if rows.batch.rows == 0 {
                return Ok(None);
            }
            let stored: Vec<_> = rows.batch.columns.iter().collect();
            let mut found = Vec::new();
            key::encode_row(parts, &stored, 0, &mut found)?;
            if !found.starts_with(prefix) || stored[last].is_null(0) {
                return Ok(None);
            }
            let order = parts[last].order();
            let overlaps = Exclusion::Overlaps.holds(order, stored[last].raw_at(0), wanted.raw_at(0))?;
            Ok(Some((stored[last].value(0, ty), overlaps)))
        };
        let mut periods = Vec::new();
        let Some(mut search) = index.overlapping(prefix, wanted.raw_at(0))? else { return Ok(periods) };
        let mut records = Vec::new();
        while search.next(&index, &self.txn.borrow(), &mut records)? {
            for record in records.drain(..) {
                let before = its(&self.txn.borrow(), record)?;
                match before {
                    None => continue,
                    // Those in front of it end before it begins.
                    Some((_, false)) if search.is_ordered() => return Ok(periods),
                    Some((_, false)) => continue,
                    Some((_, true)) => {}
                }
                let mut txn = self.txn.borrow_mut();
                let kept = keep_key(&heap, &mut txn, record)?;
                if !counts((&heap, &index), &txn, (record, kept), prefix, of)? {
                    continue;
                }
                if let Some((period, true)) = its(&txn, record)? {
                    periods.push(period);
                }
            }
        }
        Ok(periods)
    }

    /// Whether a row that others have committed since the transaction's snapshot matches, as this transaction has left it.
    pub(super) fn find_beyond_snapshot(
        &self,
        table: &TableDef,
        columns: &[usize],
        access: Option<(&IndexDef, Vec<KeyRange>)>,
        matches: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        if self.txn.borrow().isolation().by_statement() {
            return Ok(false);
        }
        let heap = self.heap(table)?;
        let wanted = Wanted::of(&heap, columns_at(table, columns));
        // Another transaction sees what was committed since; what this one made of it is looked at row by row.
        let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: false, read_only: true };
        let mut newest = self.engine.begin(options);
        newest.begin_statement()?;
        let mut scan = match access {
            Some((index, ranges)) => {
                Rows::Index(Ranges::open(self, &newest, table, index, ranges, false, columns)?)
            }
            None => Rows::Heap(Pages::open(&newest, &heap, table, columns)),
        };
        let mut rows = ScanBatch::default();
        let mut row = ScanBatch::default();
        let mut found = false;
        while !found && scan.next(&mut rows)? {
            for position in matches(&rows.batch)? {
                let record = rows.records[position as usize];
                heap.fetch_newest(&self.txn.borrow(), &[record], wanted.ids(), &mut row)?;
                wanted.finish(&mut row.batch)?;
                found |= row.batch.rows > 0 && !matches(&row.batch)?.is_empty();
            }
        }
        drop(scan);
        newest.end_statement()?;
        newest.commit(CommitMode::Wait)?;
        Ok(found)
    }
}
