//! Entries on their way to a version page: the slot that a writer has, the page that an entry goes to.
//!
//! A *writer slot* belongs to one transaction at a time and keeps its half-filled page for the next one, so entries of
//! one writer stand together; those of tables without co-location go to pages that all share ([`Placement`]).

use std::collections::HashMap;

use super::restart::{own_range_payload, range_payload};
use super::{PageInfo, VersionStore};
use crate::StorageError;
use crate::heap::append::InsertTarget;
use crate::index::LeafHints;
use crate::mini::{Mini, PageHandle};
use crate::page::{Lsn, ObjectId, PageId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::space::{ExtentKind, SpaceMap};
use crate::txn::Transactions;
use crate::version::entry::{EntryKind, NewEntry, Note, VersionPointer};
use crate::version::page as version_page;
use crate::wal::{Promise, RecordKind, Wal};

/// What one transaction at a time writes to.
#[derive(Debug, Default)]
pub struct WriterSlot {
    /// The page entries go to, and its free bytes.
    pub(super) page: Option<(PageId, usize)>,
    /// Whose entries the page is known to hold.
    noted: TxnId,
    /// Table and data page of the transaction's last insert note, which stands for all it inserts there.
    pub note: Option<(ObjectId, u32)>,
    /// Whether its transaction dropped an object: its page is closed with it, so that nobody's later entries keep the
    /// object's pages from being free.
    dropped: bool,
    /// Where the last record went.
    pub target: Option<InsertTarget>,
    /// Room in the log for a row after the other.
    promise: Option<Promise>,
    /// Rows appended one by one without a promise.
    alone: u8,
    /// Leaves that the last record's keys went to.
    pub leaves: LeafHints,
    /// Directory index of the data page that each table's inserts go to.
    pub insert_pages: HashMap<ObjectId, u32>,
}

/// Rows one by one after which more are expected.
const ALONE: u8 = 8;

impl WriterSlot {
    /// Whether there is room in the log for another small group without asking for it: a transaction that appends a row
    /// after the other has the log promise it for many at once.
    pub fn promised(&mut self, wal: &Wal) -> bool {
        if self.alone < ALONE {
            self.alone += 1;
            return false;
        }
        if !self.promise.as_ref().is_some_and(Promise::holds) {
            self.promise = None;
            self.promise = wal.promise_many();
        }
        self.promise.is_some()
    }

    /// A group was appended under the promise.
    pub fn used(&mut self, (start, end): (Lsn, Lsn)) {
        if let Some(promise) = &mut self.promise {
            promise.used(end.0 - start.0);
        }
    }
}

/// Which page an entry goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// One that only the transaction's own entries go to while it runs: co-located.
    Own,
    /// The one that it fits into best, whoever has written to it.
    Shared,
}

impl VersionStore {
    /// Borrows a writer slot for a transaction.
    pub fn borrow(&self) -> WriterSlot {
        self.inner.lock().idle.pop().unwrap_or_default()
    }

    /// Gives the slot back at the transaction's end; whether the transaction dropped an object.
    pub fn give_back(&self, mut slot: WriterSlot, transactions: &Transactions) -> bool {
        slot.note = None;
        (slot.promise, slot.alone) = (None, 0);
        let dropped = std::mem::take(&mut slot.dropped);
        let mut inner = self.inner.lock();
        if (dropped || inner.idle.len() >= 16)
            && let Some((page, _)) = slot.page.take()
        {
            inner.settle(page, transactions);
        }
        inner.idle.push(slot);
        inner.idle.truncate(16);
        drop(inner);
        transactions.housekeeping.call();
        dropped
    }

    /// Appends an entry in the slot's page, or a shared one; a page too full is closed and another one begun.
    ///
    /// # Errors
    /// `Full` before anything is changed; `TooLarge` for an entry greater than a page.
    pub fn append<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
        transactions: &Transactions,
        slot: &mut WriterSlot,
        placement: Placement,
        entry: &NewEntry<'_>,
    ) -> Result<VersionPointer, StorageError> {
        let length = entry.encoded_len();
        let page_size = mini.core().pool.page_size();
        let limit = version_page::capacity(page_size);
        if length > limit {
            return Err(StorageError::TooLarge {
                what: "a version entry".into(),
                size: length as u64,
                limit: limit as u64,
            });
        }
        if placement == Placement::Shared {
            return self.append_shared(mini, space, entry, length);
        }
        let begun = match slot.page.filter(|(_, free)| *free >= length) {
            None => None,
            Some((page, _)) => match mini.write(page) {
                // Another page does as well; it is closed with what it holds.
                Err(error) if error.is_of_a_page() => None,
                handle => Some(handle?),
            },
        };
        let handle = if let Some(handle) = begun {
            handle
        } else {
            let (page, handle) = self.begin_page(mini, space)?;
            let mut inner = self.inner.lock();
            if let Some((old, _)) = slot.page.replace((page, limit)) {
                inner.settle(old, transactions);
            }
            slot.noted = TxnId::NONE;
            handle
        };
        let (page, free) = slot.page.as_mut().expect("set above");
        let page = {
            *free -= length;
            *page
        };
        if slot.noted != entry.writer || entry.purge {
            self.note_range(mini, page, entry)?;
            slot.noted = entry.writer;
        }
        slot.dropped |= entry.kind == EntryKind::DropObject;
        self.linked(page, entry);
        put(mini, handle, page, entry)
    }

    /// Appends an entry where it fits best among the pages that all share (P1).
    fn append_shared<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
        entry: &NewEntry<'_>,
        length: usize,
    ) -> Result<VersionPointer, StorageError> {
        let found = self.inner.lock().shared.take(length);
        let begun = match found {
            None => None,
            Some((page, free)) => match mini.write(page) {
                Ok(handle) => Some((page, handle, free)),
                // It stays in use, as what it holds may be needed; nothing is appended to it any more.
                Err(error) if error.is_of_a_page() => None,
                Err(error) => {
                    self.inner.lock().shared.put(page, free);
                    return Err(error);
                }
            },
        };
        let (page, handle, free) = if let Some(begun) = begun {
            begun
        } else {
            let (page, handle) = self.begin_page(mini, space)?;
            (page, handle, version_page::capacity(mini.core().pool.page_size()))
        };
        let is_noted = |info: &PageInfo| info.txns.contains(&entry.writer) && (info.purge || !entry.purge);
        if !self.inner.lock().pages.get(&page).is_some_and(is_noted) {
            self.note_range(mini, page, entry)?;
        }
        let free = free - length;
        self.linked(page, entry);
        mini.on_release(move || self.give_back_shared(page, free));
        put(mini, handle, page, entry)
    }

    /// A shared page can be written to by others; a full one is closed.
    fn give_back_shared(&self, page: PageId, free: usize) {
        let mut inner = self.inner.lock();
        if let Some(full) = inner.shared.put(page, free) {
            inner.full.push(full);
        }
    }

    /// A new page, which no entry stands in.
    fn begin_page<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
    ) -> Result<(PageId, PageHandle), StorageError> {
        let (page, incarnation) = self.take_page(mini, space)?;
        let handle = mini.create(page)?;
        let mut payload = page.0.to_le_bytes().to_vec();
        payload.extend_from_slice(&incarnation.to_le_bytes());
        mini.apply(handle, RecordKind::VERSION_INIT, &payload)?;
        self.inner.lock().pages.insert(page, PageInfo::default());
        Ok((page, handle))
    }

    /// The page holds entries of the entry's writer, and of its kind (V8).
    fn note_range(
        &self,
        mini: &mut Mini<'_>,
        page: PageId,
        entry: &NewEntry<'_>,
    ) -> Result<(), StorageError> {
        if !disabled(Rule::V8) {
            if entry.writer == mini.txn() && entry.writer != TxnId::NONE {
                mini.state(RecordKind::VERSION_RANGE, &own_range_payload(page, entry.purge))?;
            } else {
                mini.state(RecordKind::VERSION_RANGE, &range_payload(page, entry.writer, entry.purge))?;
            }
        }
        let mut inner = self.inner.lock();
        let info = inner.pages.entry(page).or_default();
        if !info.txns.contains(&entry.writer) {
            info.txns.push(entry.writer);
        }
        info.purge |= entry.purge;
        Ok(())
    }

    /// The page gets an entry.
    fn linked(&self, page: PageId, entry: &NewEntry<'_>) {
        let records = match entry.kind {
            EntryKind::Update | EntryKind::Delete => entry.slots.len() as u64,
            // It is to be retired when the drop is seen by all, and not before.
            EntryKind::DropObject => 1,
            EntryKind::Insert | EntryKind::CreateObject => 0,
        };
        if records > 0 {
            let mut inner = self.inner.lock();
            let info = inner.pages.entry(page).or_default();
            info.linked = info.linked.saturating_add(records);
        }
    }

    fn take_page<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
    ) -> Result<(PageId, u16), StorageError> {
        let mut inner = self.inner.lock();
        inner.incarnation = inner.incarnation.wrapping_add(1);
        let incarnation = inner.incarnation;
        if let Some(page) = inner.free.pop_first() {
            return Ok((page, incarnation));
        }
        drop(inner);
        let run = space.extend(mini, ObjectId::SYSTEM, ExtentKind::Version, 1)?;
        // Others get the rest when the log knows of the extent.
        mini.on_commit(move |_, _| self.inner.lock().free.extend(run.page_ids().skip(1)));
        Ok((run.first, incarnation))
    }
}

/// Appends the entry to a latched page; where it stands.
fn put(
    mini: &mut Mini<'_>,
    handle: PageHandle,
    page: PageId,
    entry: &NewEntry<'_>,
) -> Result<VersionPointer, StorageError> {
    let offset = version_page::used(mini.page(handle)) as u16;
    let pointer = VersionPointer::new(page, offset, header::incarnation(mini.page(handle)));
    if let Some(note) = Note::of(entry) {
        mini.apply_with(handle, RecordKind::VERSION_NOTE, |out| note.encode(out))?;
    } else {
        mini.apply_with(handle, RecordKind::VERSION_APPEND, |out| entry.encode(out))?;
    }
    Ok(pointer)
}
