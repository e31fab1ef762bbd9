//! Data pages of which indexes alone say everything.
//!
//! C1. A page is *clean* when every record of it is live, committed and seen by every snapshot, and no entry of an index that
//!     leads to it waits to be purged: then each entry is a record's key, and there are no others. Sweep says so, with the
//!     page latched.
//! C2. Whoever changes the page takes that back before the change, and entries of new keys come behind the change (I2). So
//!     who has read an entry and then finds its page clean knows that the record has this key for his snapshot.
//!
//! In memory only: after a restart no page is clean until it is swept. A page that may be clean has its *swept* flag set,
//! so that a change of others costs a look at a byte.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_env::sync::{RwLock, RwLockReadGuard};

use crate::page::PageId;
use crate::rules::{Rule, disabled};

/// The clean pages of a database.
#[derive(Default)]
pub struct CleanPages {
    count: AtomicUsize,
    pages: RwLock<HashSet<PageId>>,
}

impl CleanPages {
    /// The page is clean. It is latched.
    pub(crate) fn insert(&self, page: PageId) {
        let mut pages = self.pages.write();
        pages.insert(page);
        self.count.store(pages.len(), Ordering::Release);
    }

    /// The page is about to be changed, or to become another one.
    pub(crate) fn remove(&self, page: PageId) {
        if self.count.load(Ordering::Acquire) > 0 && !disabled(Rule::I1Clean) {
            let mut pages = self.pages.write();
            pages.remove(&page);
            self.count.store(pages.len(), Ordering::Release);
        }
    }

    /// For looking pages up; `None` when there is none.
    pub(crate) fn look(&self) -> Option<RwLockReadGuard<'_, HashSet<PageId>>> {
        (self.count.load(Ordering::Acquire) > 0).then(|| self.pages.read())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
