//! Damaged pages that somebody has met: told once in the program's log, and listed for whoever asks.
//!
//! D1. What needs a damaged page fails, or waits; everything else goes on.
//! D2. A page leaves the list when it is given out anew: what was on it counts no more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::Mutex;

use crate::error::StorageError;
use crate::page::{ObjectId, PageId};

/// More are not listed: the file is lost then.
const PAGES_MAX: usize = 10_000;

/// A page that cannot be read, or whose bytes break the format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedPage {
    /// The page.
    pub page: PageId,
    /// Whose it is, as far as that is known.
    pub owner: ObjectId,
    /// What is wrong with it.
    pub message: String,
}

/// Those that were met since the database was opened.
#[derive(Default)]
pub(super) struct DamagedPages {
    /// Whether there are any; looked at without the lock.
    any: AtomicBool,
    pages: Mutex<BTreeMap<PageId, DamagedPage>>,
}

impl DamagedPages {
    /// Notes what `error` says of a page, if it says something of one.
    pub(super) fn note(&self, error: &StorageError) {
        let (page, owner) = match error {
            StorageError::Corrupt { page, owner, .. } => (*page, *owner),
            StorageError::Unreadable { page, .. } => (*page, ObjectId::SYSTEM),
            _ => return,
        };
        let mut pages = self.pages.lock();
        if pages.contains_key(&page) || pages.len() >= PAGES_MAX {
            return;
        }
        let message = error.to_string();
        tracing::error!(
            page = page.0,
            object = owner.0,
            error = %message,
            "a page is damaged: what needs it fails or waits, everything else goes on; restore a backup, or drop what it \
             belongs to"
        );
        pages.insert(page, DamagedPage { page, owner, message });
        self.any.store(true, Ordering::Release);
    }

    /// The page is given out anew.
    pub(super) fn forget(&self, page: PageId) {
        if self.any() {
            let mut pages = self.pages.lock();
            pages.remove(&page);
            self.any.store(!pages.is_empty(), Ordering::Release);
        }
    }

    pub(super) fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    pub(super) fn list(&self) -> Vec<DamagedPage> {
        if self.any() { self.pages.lock().values().cloned().collect() } else { Vec::new() }
    }
}
