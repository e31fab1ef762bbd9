//! An index that is filled while writers go on.
//!
//! ```text
//! gate closed  the empty index joins the table's list, in memory only
//! scan         workers: ranges of pages ─► keys of every version that may be seen ─► sorted runs      (writers add, remove)
//! fill         runs in order ─► entries, but for those that went in between ─► who else has the key?  (writers add, remove)
//! gate closed  the list on disk names it
//! ```
//!
//! All of it is one transaction. Others do not know the index before its commit, and nobody need be waited for: versions
//! older than the index have their entries, too, so every snapshot reads the same through it.
//!
//! B2. A change of a record is made either before the page's scan, which sees it, or behind the listing, and then it keeps the
//!     index in step: writers look for indexes behind the latch of the page that they change.
//! B3. An entry that a writer removes while the index is filled is noted as *gone*, with its leaf latched, whether it was
//!     there or not. The scan's entries are added with the leaf latched, but for those that are gone. A record that
//!     gets the key back has its entry added by its writer.
//! B4. An entry that a writer adds while the index is filled counts as found (P1 of [`purging`](super::purging)): a purge
//!     that looked at the record before leaves it.
//! B5. Of two records with one key the later comer sees the other, be it a writer or the scan's entries (I2). The builder waits
//!     for writers who have not ended.
//! B6. Keys that only older versions have are noted for purge under the building transaction. It keeps a snapshot from
//!     before the scan, so a page with such a version becomes clean (C1) only after that.
//! B7. The list on disk has no index that is being filled: after a crash nobody keeps it in step or asks it for keys, and its
//!     pages go with its dead transaction.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_env::sync::Mutex;

use crate::rules::{Rule, disabled};

/// Of one index: whether it is being filled, and what went meanwhile.
#[derive(Debug, Default)]
pub(super) struct Filling {
    is_on: AtomicBool,
    /// What `gone` takes, about.
    bytes: AtomicU64,
    gone: Mutex<HashSet<Box<[u8]>>>,
}

impl Filling {
    /// It begins; the index is not in its table's list yet.
    pub fn begin(&self) {
        self.is_on.store(true, Ordering::SeqCst);
    }

    /// The index has all entries. The gate is closed.
    pub fn end(&self) {
        self.is_on.store(false, Ordering::SeqCst);
        *self.gone.lock() = HashSet::new();
        self.bytes.store(0, Ordering::Relaxed);
    }

    /// Whether entries are missing still.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.is_on.load(Ordering::SeqCst)
    }

    /// An entry is removed (B3); its leaf is latched.
    #[inline]
    pub fn goes(&self, entry: &[u8]) {
        if self.is_on() && self.gone.lock().insert(entry.into()) {
            self.bytes.fetch_add(entry.len() as u64 + 32, Ordering::Relaxed);
        }
    }

    /// Whether an entry of the scan is not to be added (B3); its leaf is latched.
    #[inline]
    pub fn is_gone(&self, entry: &[u8]) -> bool {
        self.bytes.load(Ordering::Relaxed) > 0 && self.gone.lock().contains(entry) && !disabled(Rule::B3)
    }

    /// Memory that the notes take, about.
    pub fn held_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}
