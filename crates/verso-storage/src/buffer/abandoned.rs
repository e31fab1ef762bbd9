//! Pages that cannot be read any more after the pool was poisoned: what they hold in memory, or in the file, is not known.
//!
//! A1. A page of a change that was interrupted in the middle: memory has half of it, the file none, the log nothing.
//! A2. A page that went to its place without a sync (W7) before a sync failed: nobody knows whether it arrived.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::Mutex;

use crate::page::PageId;

/// The pages.
#[derive(Default)]
pub(super) struct Abandoned {
    /// Whether there are any; looked at without the lock.
    any: AtomicBool,
    pages: Mutex<BTreeSet<PageId>>,
    /// Whether pages went to their places since the last sync of the file, which then all count.
    unsynced: AtomicBool,
    /// The last sync of the file failed while there were such pages (A2).
    unknown: AtomicBool,
}

impl Abandoned {
    pub(super) fn add(&self, page: PageId) {
        self.pages.lock().insert(page);
        self.any.store(true, Ordering::Release);
    }

    /// Pages go to their places, and nobody waits for the disk.
    pub(super) fn written_without_sync(&self) {
        self.unsynced.store(true, Ordering::Release);
    }

    /// The file was synced.
    pub(super) fn synced(&self) {
        self.unsynced.store(false, Ordering::Release);
    }

    /// A sync of the file has failed.
    pub(super) fn sync_failed(&self) {
        if self.unsynced.load(Ordering::Acquire) {
            self.unknown.store(true, Ordering::Release);
        }
    }

    /// Whether the page, which is not in memory, cannot be read from the file.
    pub(super) fn has(&self, page: PageId) -> bool {
        self.unknown.load(Ordering::Acquire)
            || self.any.load(Ordering::Acquire) && self.pages.lock().contains(&page)
    }
}
