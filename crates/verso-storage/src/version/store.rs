//! The version store: hands version pages to writers and takes them back whole.
//!
//! Entries are appended to pages by writer slots ([`appended`]). Pages closed by a slot wait until all their transactions have
//! ended; then they are ready at the greatest commit number among them, and retired once the horizon has passed it
//! ([`closed`]). What a restart knows of them is in [`restart`].
//!
//! V9. A page whose entries were all merged with others (`heap/merge.rs`) is retired without waiting for the horizon,
//!     when its transactions have ended. Entries are counted in memory; those of before a restart stay.

mod appended;
mod closed;
mod restart;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use verso_env::sync::{Mutex, RwLockReadGuard, StripedRwLock, StripedWriteGuard};

use super::placement::SharedPages;
use crate::page::{PageId, TxnId};
pub use appended::{Placement, WriterSlot};
pub use restart::RestoredVersions;

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
}
