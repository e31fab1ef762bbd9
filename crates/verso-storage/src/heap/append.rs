//! Inserting one row behind the others of its page: what an INSERT of a single row does, over and over.
//!
//! The row goes to the page that the writer slot used last, which its insert note names, at the next unused slot.
//! Whatever is not so simple is left to [`super::insert`]: another page, a slot to be used again, values that need
//! collecting garbage or a page of their own, the first note of a page.
//!
//! A1. The directory leads to the page; it is asked again after any of its entries has come to lead elsewhere. A page whose LSN
//!     is that of the slot's last row is as that row left it, for every change of a page moves its LSN. Then nothing that was
//!     found out about it has to be looked at again.

use std::sync::Arc;

use verso_types::Batch;

use super::layout::*;
use super::row::Places;
use super::slots::Slots;
use super::table::Heap;
use crate::StorageError;
use crate::index::maintain;
use crate::mini::Mini;
use crate::page::bytes::{u16_at, u32_at};
use crate::page::{Lsn, ObjectId, PageId, PageKind, RecordId, header};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::version::store::WriterSlot;
use crate::wal::RecordKind;

/// The page that a writer slot's last record of a table went to.
#[derive(Clone, Debug)]
pub struct InsertTarget {
    /// The table.
    table: ObjectId,
    /// Directory index of the page.
    index: u32,
    /// The page.
    page: PageId,
    /// How many entries of the directory had come to lead elsewhere when this one led to the page.
    moves: u64,
    /// As the last row left it (A1); none when that was not appended.
    left: Option<(Lsn, Places)>,
}

impl InsertTarget {
    /// A page that a record went to.
    pub fn new(table: ObjectId, index: u32, page: PageId, moves: u64) -> InsertTarget {
        InsertTarget { table, index, page, moves, left: None }
    }
}

/// Rows whose sizes enter the mean that new pages are laid out by: one in so many.
const OBSERVED: u16 = 16;

impl Heap {
    /// Inserts the only row of `rows` at the next slot of the page used last, and its keys; the record, or `None` where
    /// that is not enough and nothing has happened.
    ///
    /// # Errors
    /// As [`Heap::insert`].
    pub(super) fn append_row(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &Batch,
    ) -> Result<Option<RecordId>, StorageError> {
        let id = txn.id;
        let shared: &Shared = &txn.shared;
        let core = shared.core();
        let writer = txn.slot.as_mut().expect("begin_write gave one");
        let promised = writer.promised(&core.wal);
        let WriterSlot { target: Some(target), note, leaves, .. } = writer else { return Ok(None) };
        if target.table != self.object || *note != Some((self.object, target.index)) {
            return Ok(None);
        }
        let mut need = 0;
        for column in &rows.columns {
            // A NULL has no bytes.
            if let Some(bytes) = column.data.bytes() {
                let length = bytes.get(0).len();
                if length > shared.page_size / 4 {
                    return Ok(None);
                }
                need += length;
            }
        }
        // Before all latches; an index that is built meanwhile waits for it.
        let gate = self.indexes.any().then(|| self.indexes.enter());
        let moves = self.directory.moves();
        if moves != target.moves {
            if self.page_at(target.index)? != Some(target.page) {
                return Ok(None); // it was packed
            }
            target.moves = moves;
        }
        let latched = core.pool.try_write(target.page);
        if self.directory.moves() != moves {
            return Ok(None);
        }
        let Some(page) = latched? else { return Ok(None) };
        if gate.is_none() && self.indexes.any() {
            return Ok(None); // the first one has just come (B2)
        }
        // U5: the LSN of an unlogged page tells nothing.
        if target.left.as_ref().is_none_or(|(lsn, _)| *lsn != page.lsn())
            || core.unlogged.contains(self.object)
        {
            target.left = self.places(&page, target).map(|places| (page.lsn(), places));
        }
        let Some((left, places)) = &mut target.left else { return Ok(None) };
        if need > shared.page_size / 2 || !places.take(&page, need) {
            return Ok(None);
        }
        let next = u16_at(&page, SLOT_HIGH);
        let record = RecordId { page_index: target.index, slot: next };
        if let Some(changes) = &txn.own_changes {
            changes.note_inserted(self.object, record.page_index, Slots::Run { first: next, count: 1 });
        }
        let indexes: &[_] = gate.as_ref().map_or(&[], |list| list);
        let indexed = indexes.len();
        let (added, lsns) = {
            let mut mini = Mini::begin(core, id);
            if promised {
                mini.promised();
            }
            let home = mini.take(page);
            mini.apply_as(home, RecordKind::DATA_APPEND, |page, out| places.append(page, out, id, rows))?;
            let entries = &mut txn.index_entries;
            let added = maintain::add_within(shared, &mut mini, indexes, rows, record, entries, leaves);
            // What was applied is committed, also where an index cannot be read (M3).
            (added, mini.commit_here()?)
        };
        *left = lsns.1;
        leaves.left(lsns.1);
        writer.used(lsns);
        // As they were: one that goes meanwhile would give others its place.
        let is_done = added.as_ref().is_ok_and(|added| added.is_all_of(indexed));
        let list = gate.as_ref().filter(|_| !is_done || txn.reader.is_some()).map(|list| Arc::clone(list));
        drop(gate);
        txn.wrote(lsns);
        if next.is_multiple_of(OBSERVED) {
            self.observe(1, need);
        }
        txn.inserted(self.object, record);
        if let Some(reader) = &txn.reader {
            reader.wrote(self.object, record.page_index, Slots::Run { first: next, count: 1 })?;
        }
        let added = added?;
        if let Some(list) = list {
            let shared = Arc::clone(&txn.shared);
            maintain::added(&shared, txn, self, &list, rows, record, added)?;
        }
        Ok(Some(record))
    }

    /// Where the arrays of a page are, if it still is what the target says and no slot before the next one is free:
    /// those are used again first.
    fn places(&self, page: &[u8], target: &InsertTarget) -> Option<Places> {
        let next = u16_at(page, SLOT_HIGH);
        let used = usize::from(u16_at(page, LIVE_COUNT)) + usize::from(u16_at(page, DELETED_COUNT));
        let fits = header::kind(page) == Some(PageKind::Data)
            && header::owner(page) == self.object
            && u32_at(page, PAGE_INDEX) == target.index
            && used == usize::from(next);
        if fits { self.places_of_columns(page) } else { None }
    }

    /// Where the arrays of a data page of the table are, if it has another slot and room for so many variable bytes behind the
    /// others.
    pub(super) fn next_places(&self, page: &[u8], bytes: usize) -> Option<Places> {
        self.places_of_columns(page).filter(|places| places.take(page, bytes))
    }

    /// None where the page has other columns, of a former definition of the table.
    fn places_of_columns(&self, page: &[u8]) -> Option<Places> {
        let fits = page.get(COLUMNS..COLUMNS + self.descriptors().len()) == Some(self.descriptors())
            && usize::from(u16_at(page, COLUMN_COUNT)) * 4 == self.descriptors().len();
        if fits { Places::of(page, self.columns()) } else { None }
    }
}
