//! The version store: hands version pages to writer slots and takes them back whole.
//!
//! A *writer slot* belongs to one transaction at a time and keeps its half-filled page for the next one, so entries of
//! one writer stand together; those of tables without co-location go to pages that all share ([`Placement`]). Pages closed by a slot wait until all their transactions have ended; then they are ready
//! at the greatest commit number among them, and retired once the horizon has passed it.
//!
//! V4. A page is retired only when every transaction with entries in it is committed at or below the horizon, or dead
//!     and fully backed out; a page waits in the list of the first of its transactions that has not ended.
//! V5. A page with a purge list is read at retirement; one without is freed unread.
//! V9. A page whose entries were all merged with others (`heap/merge.rs`) is retired without waiting for the horizon,
//!     when its transactions have ended. Entries are counted in memory; those of before a restart stay.
//! V8. Which transactions a page holds is logged, so that restart frees every page that names no dead one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use verso_env::sync::{Mutex, RwLockReadGuard, StripedRwLock, StripedWriteGuard};

use super::entry::{EntryKind, NewEntry, VersionPointer};
use super::page as version_page;
use super::placement::SharedPages;
use crate::StorageError;
use crate::heap::append::InsertTarget;
use crate::index::LeafHints;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::checked_slice;
use crate::page::{Flaw, Lsn, ObjectId, PageId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::space::{ExtentKind, ExtentRun, SpaceMap, UNIT_PAGES};
use crate::txn::Transactions;
use crate::wal::{Promise, RecordKind, Wal};

/// What is known of a page in use.
#[derive(Clone, Debug, Default)]
pub struct PageInfo {
    /// Transactions with entries in it.
    pub txns: SmallVec<[TxnId; 2]>,
    /// Whether retirement has to read it.
    pub purge: bool,
    /// Records of entries that something may lead to; what is not counted counts as many (V9).
    pub linked: u64,
    /// Whether entries of it were merged with others.
    merged: bool,
    /// Its place in the list of those that are ready.
    ready: Option<u64>,
    /// It is closed and all in it committed: nobody asks any more who they were, so they are not listed, but for one
    /// where a restart must not forget the purge.
    pub all_committed: bool,
}

/// More records than can be: of a page whose entries nobody has counted.
const UNKNOWN: u64 = 1 << 40;

impl PageInfo {
    /// Whether its entries were merged with others and nothing leads to any of them.
    fn is_unlinked(&self) -> bool {
        self.merged && self.linked == 0
    }
}

/// What one transaction at a time writes to.
#[derive(Debug, Default)]
pub struct WriterSlot {
    /// The page entries go to, and its free bytes.
    page: Option<(PageId, usize)>,
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

#[derive(Default)]
struct Inner {
    free: BTreeSet<PageId>,
    pages: HashMap<PageId, PageInfo>,
    /// Closed pages by the transaction they wait for.
    waiting: HashMap<TxnId, Vec<PageId>>,
    /// Closed pages whose transactions have all ended, by commit number.
    ready: BTreeMap<(u64, PageId), ()>,
    /// Those of them to whose entries nothing leads any more (V9).
    unlinked: BTreeSet<(u64, PageId)>,
    /// Those whose purge met damage: they stay in use until somebody asks for another try.
    held: Vec<(u64, PageId)>,
    idle: Vec<WriterSlot>,
    shared: SharedPages,
    /// Shared pages that are full, to be closed by housekeeping.
    full: Vec<PageId>,
    incarnation: u16,
}

/// Stripes of the lock that walkers hold, for as many threads that do not meet.
const STRIPES: usize = 16;

/// See the module.
#[derive(Default)]
pub struct VersionStore {
    inner: Mutex<Inner>,
    /// Entries that went by merging.
    merged: AtomicU64,
    /// Held shared by who follows version chains without a snapshot, exclusively while pages are retired.
    walking: StripedRwLock<(), STRIPES>,
}

/// State record: `page u32 | txn u64 (0 = retired) | purge u8`.
fn range_payload(page: PageId, txn: TxnId, purge: bool) -> [u8; 13] {
    let mut out = [0; 13];
    out[..4].copy_from_slice(&page.0.to_le_bytes());
    out[4..12].copy_from_slice(&txn.0.to_le_bytes());
    out[12] = u8::from(purge);
    out
}

/// What restart knows of version pages: from the checkpoint, then from state records (V8).
#[derive(Default)]
pub struct RestoredVersions {
    /// Pages in use.
    pub pages: BTreeMap<PageId, PageInfo>,
}

impl RestoredVersions {
    /// Takes in a [`RecordKind::VERSION_RANGE`] record.
    ///
    /// # Errors
    /// A flaw for junk.
    pub fn note(&mut self, payload: &[u8]) -> Result<(), Flaw> {
        let bytes = checked_slice(payload, 0, 13)?;
        let page = PageId(u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")));
        let txn = TxnId(u64::from_le_bytes(bytes[4..12].try_into().expect("eight bytes")));
        if txn == TxnId::NONE {
            self.pages.remove(&page);
            return Ok(());
        }
        let info = self.pages.entry(page).or_default();
        if !info.txns.contains(&txn) {
            info.txns.push(txn);
        }
        info.purge |= bytes[12] != 0;
        Ok(())
    }

    /// Reads what [`VersionStore::encode`] wrote.
    ///
    /// # Errors
    /// A flaw for junk.
    pub fn decode(bytes: &mut &[u8]) -> Result<RestoredVersions, Flaw> {
        let mut restored = RestoredVersions::default();
        while !bytes.is_empty() {
            restored.note(bytes)?;
            *bytes = &bytes[13..];
        }
        Ok(restored)
    }
}

impl VersionStore {
    /// The store after a restart: pages of `kept` are in use, all other version extents are to be freed by the caller.
    pub fn restore(
        kept: BTreeMap<PageId, PageInfo>,
        free: impl Iterator<Item = PageId>,
        incarnation: u16,
    ) -> VersionStore {
        let inner = Inner {
            free: free.collect(),
            pages: kept
                .into_iter()
                .map(|(page, info)| (page, PageInfo { linked: UNKNOWN, ..info }))
                .collect(),
            incarnation,
            ..Inner::default()
        };
        VersionStore { inner: Mutex::new(inner), ..VersionStore::default() }
    }

    /// Keeps version pages from being retired while chains are followed down to the horizon of a moment behind this call.
    pub fn walk(&self) -> RwLockReadGuard<'_, ()> {
        self.walking.read()
    }

    /// Waits until nobody follows chains. Before any latch that a walker may want.
    pub fn keep_walkers_out(&self) -> StripedWriteGuard<'_, (), STRIPES> {
        self.walking.write()
    }

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
            mini.state(RecordKind::VERSION_RANGE, &range_payload(page, entry.writer, entry.purge))?;
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

    /// Nothing leads from so many records to one entry of each of these pages any more, as others stand for them, `fewer` (V9).
    pub fn unlinked(&self, pages: &[PageId], records: u64, fewer: u64) {
        self.merged.fetch_add(fewer * records, Ordering::Relaxed);
        let mut inner = self.inner.lock();
        for page in pages {
            let Some(info) = inner.pages.get_mut(page) else { continue };
            info.merged = true;
            if info.linked < UNKNOWN {
                debug_assert!(info.linked >= records, "{page}: more entries went than there were");
                info.linked = info.linked.saturating_sub(records);
            }
            if let Some(number) = info.ready.filter(|_| info.is_unlinked()) {
                inner.unlinked.insert((number, *page));
            }
        }
    }

    /// Entries that went by merging since the database was opened.
    pub fn merged(&self) -> u64 {
        self.merged.load(Ordering::Relaxed)
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
        let run = space.allocate(mini, ObjectId::SYSTEM, ExtentKind::Version, 1, false)?;
        // Others get the rest when the log knows of the extent.
        mini.on_commit(move |_, _| self.inner.lock().free.extend(run.page_ids().skip(1)));
        Ok((run.first, incarnation))
    }

    /// A transaction has ended: the pages that waited for it wait for the next one, or are ready.
    pub fn ended(&self, txn: TxnId, transactions: &Transactions) {
        let mut inner = self.inner.lock();
        for page in inner.waiting.remove(&txn).unwrap_or_default() {
            inner.settle(page, transactions);
        }
        drop(inner);
        transactions.housekeeping.call();
    }

    /// Closes the pages of slots nobody uses, and shared ones, so that they can be retired too.
    pub fn close_idle(&self, transactions: &Transactions) {
        let mut inner = self.inner.lock();
        let mut pages: Vec<PageId> =
            inner.idle.iter_mut().filter_map(|slot| slot.page.take()).map(|(page, _)| page).collect();
        pages.extend(inner.shared.drain());
        pages.append(&mut inner.full);
        for page in pages {
            inner.settle(page, transactions);
        }
    }

    /// After restart: pages in use are closed.
    pub fn close_all(&self, transactions: &Transactions) {
        let mut inner = self.inner.lock();
        let mut pages: Vec<PageId> = inner.pages.keys().copied().collect();
        pages.sort_unstable();
        for page in pages {
            inner.settle(page, transactions);
        }
    }

    /// Takes up to `most` pages that nobody needs at `horizon`, or that nothing leads to (V9), out of the ready list, with
    /// their place in it and whether they have a purge list.
    pub fn take_ready(&self, horizon: u64, most: usize) -> Vec<(u64, PageId, bool)> {
        let horizon = if disabled(Rule::V4) { u64::MAX - 1 } else { horizon };
        let mut inner = self.inner.lock();
        let keys: Vec<(u64, PageId)> =
            inner.ready.range(..(horizon + 1, PageId(0))).take(most).map(|(key, ())| *key).collect();
        let rest = most - keys.len();
        let behind = inner.unlinked.range((horizon + 1, PageId(0))..).take(rest).copied();
        let keys: Vec<(u64, PageId)> = keys.iter().copied().chain(behind).collect();
        keys.into_iter()
            .map(|key| {
                inner.ready.remove(&key);
                inner.unlinked.remove(&key);
                let info = inner.pages.get_mut(&key.1);
                (
                    key.0,
                    key.1,
                    info.is_some_and(|info| {
                        info.ready = None;
                        info.purge
                    }),
                )
            })
            .collect()
    }

    /// Puts a page back that could not be retired now.
    pub fn put_back(&self, number: u64, page: PageId) {
        self.inner.lock().is_ready(number, page);
    }

    /// Keeps a page in use whose purge met damage.
    pub fn hold(&self, number: u64, page: PageId) {
        self.inner.lock().held.push((number, page));
    }

    /// Pages whose purge met damage are tried again.
    pub fn release_held(&self) {
        let mut inner = self.inner.lock();
        let held = std::mem::take(&mut inner.held);
        held.into_iter().for_each(|(number, page)| inner.is_ready(number, page));
    }

    /// Logs that `pages` hold nothing any more and frees whole extents of free pages.
    ///
    /// # Errors
    /// As the mini-transaction.
    pub fn retire<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
        pages: &[PageId],
    ) -> Result<(), StorageError> {
        for page in pages {
            mini.void(*page)?;
            mini.state(RecordKind::VERSION_RANGE, &range_payload(*page, TxnId::NONE, false))?;
        }
        let mut free: BTreeSet<PageId> = pages.iter().copied().collect();
        let mut whole = Vec::new();
        {
            let mut inner = self.inner.lock();
            // A few extents stay at hand.
            let spare = (inner.free.len() + free.len()).saturating_sub(8 * UNIT_PAGES as usize);
            let firsts: BTreeSet<u32> = pages.iter().map(|page| page.0 / UNIT_PAGES * UNIT_PAGES).collect();
            for first in firsts.into_iter().map(PageId) {
                let run = ExtentRun { first, pages: UNIT_PAGES };
                if whole.len() * UNIT_PAGES as usize + UNIT_PAGES as usize <= spare
                    && run.page_ids().all(|page| free.contains(&page) || inner.free.contains(&page))
                {
                    run.page_ids().for_each(|page| {
                        free.remove(&page);
                        inner.free.remove(&page);
                    });
                    whole.push(run);
                }
            }
        }
        if !whole.is_empty() {
            space.free_runs(mini, &whole)?;
        }
        let retired = pages.to_vec();
        mini.on_commit(move |_, _| {
            let mut inner = self.inner.lock();
            retired.iter().for_each(|page| {
                inner.pages.remove(page);
            });
        });
        // Not before their frames are dropped: who gets a page fills it at once.
        mini.on_release(move || self.inner.lock().free.extend(free));
        Ok(())
    }

    /// Pages that hold entries of `txn`.
    pub fn pages_of(&self, txn: TxnId) -> Vec<PageId> {
        let inner = self.inner.lock();
        let mut pages: Vec<PageId> =
            inner.pages.iter().filter(|(_, info)| info.txns.contains(&txn)).map(|(page, _)| *page).collect();
        pages.sort_unstable();
        pages
    }

    /// Pages in use that retirement has to read, ascending.
    pub fn pages_to_purge(&self) -> Vec<PageId> {
        let inner = self.inner.lock();
        let mut pages: Vec<PageId> =
            inner.pages.iter().filter(|(_, info)| info.purge).map(|(page, _)| *page).collect();
        pages.sort_unstable();
        pages
    }

    /// Pages in use, and what is known of them.
    pub fn pages(&self) -> Vec<(PageId, PageInfo)> {
        let inner = self.inner.lock();
        let mut pages: Vec<_> = inner.pages.iter().map(|(page, info)| (*page, info.clone())).collect();
        pages.sort_unstable_by_key(|(page, _)| *page);
        pages
    }

    /// What is known of a page in use.
    pub fn info(&self, page: PageId) -> Option<PageInfo> {
        self.inner.lock().pages.get(&page).cloned()
    }

    /// Pages in use.
    pub fn in_use(&self) -> usize {
        self.inner.lock().pages.len()
    }

    /// For a checkpoint (V8).
    pub fn encode(&self, out: &mut Vec<u8>) {
        for (page, info) in self.pages() {
            for txn in &info.txns {
                out.extend_from_slice(&range_payload(page, *txn, info.purge));
            }
        }
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
    mini.apply_with(handle, RecordKind::VERSION_APPEND, |out| entry.encode(out))?;
    Ok(pointer)
}

impl Inner {
    /// Puts a closed page where it waits (V4).
    fn settle(&mut self, page: PageId, transactions: &Transactions) {
        let Some(info) = self.pages.get_mut(&page) else { return };
        let (mut number, mut all_committed) = (0, true);
        let mut newest = None;
        for txn in &info.txns {
            // One look at each: a commit may be published at any moment, and its number counts then. Who has none yet says
            // afterwards that it has ended. The dead have one when they are backed out.
            match transactions.commit_number(*txn) {
                Some(committed) => {
                    if newest.is_none() || committed > number {
                        newest = Some(*txn);
                    }
                    number = number.max(committed);
                }
                None if disabled(Rule::V4Unfinished) => all_committed = false,
                None => {
                    self.waiting.entry(*txn).or_default().push(page);
                    return;
                }
            }
        }
        if all_committed {
            info.all_committed = true;
            // A restart must know which states of the past need it, too (H3).
            let listed = newest.filter(|_| info.purge || transactions.keeps_history());
            info.txns = listed.into_iter().collect();
        }
        self.is_ready(number, page);
    }

    /// Puts a page into the list of those that wait for the horizon, and of those that need not (V9).
    fn is_ready(&mut self, number: u64, page: PageId) {
        self.ready.insert((number, page), ());
        let Some(info) = self.pages.get_mut(&page) else { return };
        info.ready = Some(number);
        if info.is_unlinked() {
            self.unlinked.insert((number, page));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use verso_env::Env;

    use super::*;
    use crate::txn::RestoredTransactions;

    /// A page is closed at the very moment at which the commit in it is published: whoever is first, it is not ready before
    /// snapshots without that commit are gone.
    #[test]
    fn v4_a_page_closed_while_its_commit_is_published_waits_for_the_commits_number() {
        const ROUNDS: u64 = 30_000;
        // Spinning tells at once; on a single processor the other one has to get it.
        let until = |turn: &AtomicU64, round| {
            for spun in 1_u32.. {
                if turn.load(Ordering::Acquire) >= round {
                    return;
                }
                if spun % 1024 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
        };
        let transactions = Arc::new(Transactions::new(RestoredTransactions::default()));
        let store = Arc::new(VersionStore::default());
        let (go, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let publisher = {
            let (transactions, go, done) = (Arc::clone(&transactions), Arc::clone(&go), Arc::clone(&done));
            Env::real().spawn("publisher", move || {
                for round in 1..=ROUNDS {
                    until(&go, round);
                    transactions.publish_durable(Lsn(round));
                    done.store(round, Ordering::Release);
                }
            })
        };
        for round in 1..=ROUNDS {
            let (txn, page) = (transactions.begin_write(), PageId(round as u32));
            transactions.mark_committing(txn, Lsn(round));
            let info = PageInfo { txns: SmallVec::from_slice(&[txn]), ..PageInfo::default() };
            store.inner.lock().pages.insert(page, info);
            go.store(round, Ordering::Release);
            // At another moment in each round.
            for _ in 0..round % 64 {
                std::hint::spin_loop();
            }
            store.inner.lock().settle(page, &transactions);
            until(&done, round);
            store.ended(txn, &transactions);
            let number = transactions.commit_number(txn).unwrap();
            assert!(store.inner.lock().ready.remove(&(number, page)).is_some(), "round {round}");
        }
        publisher.join().unwrap();
    }
}
