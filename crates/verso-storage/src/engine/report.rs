//! What an engine tells of itself: counters, and where pages are.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use super::Engine;
use crate::StorageError;
use crate::buffer::{FetchCount, PoolStats, WriteCount};
use crate::heap::layout::{FLAG_ALL_VISIBLE, FLAG_SWEPT};
use crate::heap::{ReadCounts, RowCounts, root, unused};
use crate::page::{ObjectId, PageId, PageKind, header};
use crate::space::ExtentKind;
use crate::wal::WalStats;

/// Where the file's pages are.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceReport {
    /// Bytes of a page.
    pub page_size: u64,
    /// Pages of the file.
    pub total_pages: u64,
    /// Pages in no extent.
    pub free_pages: u64,
    /// Version pages in use.
    pub version_pages: u64,
    /// Pages of scratch extents.
    pub temporary_pages: u64,
}

/// Where a table's pages are.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSpace {
    /// Pages of its extents.
    pub pages: u64,
    /// Data pages.
    pub data_pages: u64,
    /// Pages of values that outgrew their data pages, old ones included.
    pub companion_pages: u64,
    /// Pages of long values, old ones included.
    pub overflow_pages: u64,
    /// Pages that nobody uses: never used ones of its newest extent, and those given back.
    pub free_pages: u64,
    /// Directory pages.
    pub directory_pages: u64,
    /// Data pages that sweep need not visit.
    pub swept_pages: u64,
    /// Data pages whose records every snapshot sees.
    pub all_visible_pages: u64,
    /// Data pages that stand in packed pages.
    pub packed_pages: u64,
    /// Packed pages.
    pub packed_into: u64,
    /// Pages of dictionaries.
    pub dictionary_pages: u64,
    /// Data pages packed by themselves since the database was opened.
    pub own_packed: u64,
    /// Data pages unpacked since then.
    pub unpacked: u64,
}

/// Counters since the engine was opened.
#[derive(Clone, Debug)]
pub struct EngineStatistics {
    /// The buffer pool's.
    pub pool: PoolStats,
    /// The log's.
    pub log: WalStats,
    /// Commits.
    pub commits: u64,
    /// Rollbacks.
    pub rollbacks: u64,
    /// Rows that ended transactions have inserted, changed and deleted, those of the catalog among them.
    pub rows: RowCounts,
    /// Rows that were read, those of the catalog among them.
    pub read: ReadCounts,
    /// Deadlocks.
    pub deadlocks: u64,
    /// Checkpoints since the database was opened.
    pub checkpoints: CheckpointCounts,
    /// Version entries that went by merging, as no snapshot could read what stood between them.
    pub merged_entries: u64,
}

/// What checkpoints have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointCounts {
    /// Begun by themselves: after a time, or for the volume of the log.
    pub timed: u64,
    /// Asked for.
    pub requested: u64,
    /// Those that were completed.
    pub done: u64,
    /// How long these took.
    pub nanos: u64,
    /// Pages that these wrote.
    pub pages: u64,
    /// When the last of them was done: microseconds since 1970, 0 for none.
    pub last_at: i64,
}

impl Engine {
    /// Counters.
    pub fn statistics(&self) -> EngineStatistics {
        let shared = self.shared();
        EngineStatistics {
            pool: shared.core().pool.stats(),
            log: shared.core().wal.stats(),
            commits: shared.commits.load(Ordering::Relaxed),
            rollbacks: shared.rollbacks.load(Ordering::Relaxed),
            rows: shared.rows.get(),
            read: shared.read.get(),
            deadlocks: shared.locks.deadlocks(),
            checkpoints: *shared.checkpoints.lock(),
            merged_entries: shared.versions.merged(),
        }
    }

    /// How sessions have waited for locks since the database was opened: how often, and nanoseconds.
    pub fn lock_waits(&self) -> (u64, u64) {
        let waited = self.shared().locks.waited();
        (waited.count(), waited.nanos())
    }

    /// How often pages of an object were latched since the file was opened, and how many were read from it.
    pub fn page_fetches(&self, object: ObjectId) -> FetchCount {
        self.shared().core().pool.fetches_of(object)
    }

    /// How often pages were written to the file since it was opened, by kind and owner, in no order.
    pub fn page_writes(&self) -> Vec<WriteCount> {
        self.shared().core().pool.writes_per_owner()
    }

    /// How often each page of an object was written to the file since it was opened, of those that were: its place among
    /// the object's pages, its number in the file, and how often.
    pub fn page_writes_of(&self, object: ObjectId) -> Vec<(u64, u64, u64)> {
        let shared = self.shared();
        let pages = shared
            .space
            .extents_of(object)
            .into_iter()
            .flat_map(|run| (run.first.0..run.first.0.saturating_add(run.pages)).map(PageId));
        let counted = pages.enumerate().map(|(block, page)| {
            (block as u64, u64::from(page.0), shared.core().pool.writes_of_page(object, page))
        });
        counted.filter(|(.., writes)| *writes > 0).collect()
    }

    /// Resident bytes of the buffer pool.
    pub fn pool_resident_bytes(&self) -> u64 {
        self.shared().core().pool.resident_bytes()
    }

    /// Where the file's pages are.
    pub fn space(&self) -> SpaceReport {
        let shared = self.shared();
        let stats = shared.space.stats();
        let temporary = shared.space.extents_of_kind(ExtentKind::Temp);
        SpaceReport {
            page_size: shared.page_size as u64,
            total_pages: stats.total_pages,
            free_pages: stats.free_pages,
            version_pages: shared.versions.in_use() as u64,
            temporary_pages: temporary.iter().map(|(_, run)| u64::from(run.pages)).sum(),
        }
    }

    /// Pages of an object's extents, whatever is in them; 0 for what is not there.
    pub fn pages_of(&self, object: ObjectId) -> u64 {
        self.shared().space.extents_of(object).iter().map(|run| u64::from(run.pages)).sum()
    }

    /// Where a table's pages are; reads every page of it.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn table_space(&self, object: ObjectId) -> Result<TableSpace, StorageError> {
        let shared = self.shared();
        let heap = self.heap(object)?;
        let runs = shared.space.extents_of(object);
        let mut space =
            TableSpace { pages: runs.iter().map(|run| u64::from(run.pages)).sum(), ..TableSpace::default() };
        space.data_pages = u64::from(heap.page_count());
        space.own_packed = heap.packing.packed.load(Ordering::Relaxed);
        space.unpacked = heap.packing.unpacked.load(Ordering::Relaxed);
        space.directory_pages = heap.directory_pages()?.len() as u64;
        for index in 0..heap.page_count() {
            let Some(home) = heap.home(&shared.core().pool, index, true)? else { break };
            let flags = header::flags(home.latched());
            space.packed_pages += u64::from(home.is_packed());
            space.swept_pages += u64::from(flags & FLAG_SWEPT != 0);
            space.all_visible_pages += u64::from(flags & FLAG_ALL_VISIBLE != 0);
        }
        let pool = &shared.core().pool;
        let (never_used, given_back) = root::unused(&pool.read_for_scan(heap.root)?);
        space.free_pages = never_used.len() as u64;
        // Others may take pages meanwhile; then the list goes astray, and what was counted so far is about right.
        let mut given = HashSet::new();
        unused::each_page(pool, object, given_back, |page, _| given.insert(page))?;
        space.free_pages += given.len() as u64;
        for id in runs
            .iter()
            .flat_map(|run| run.page_ids())
            .filter(|id| !never_used.contains(&id.0) && !given.contains(id))
        {
            let page = shared.core().pool.read_for_scan(id)?;
            match header::kind(&page) {
                Some(PageKind::Companion) => space.companion_pages += 1,
                Some(PageKind::Overflow) => space.overflow_pages += 1,
                Some(PageKind::Packed) => space.packed_into += 1,
                Some(PageKind::Dictionary) => space.dictionary_pages += 1,
                _ => {}
            }
        }
        Ok(space)
    }
}
