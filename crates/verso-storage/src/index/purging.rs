//! Keys on their way out of an index, and those that came back meanwhile.
//!
//! A purge looks whether a record's versions have a key with the home page latched, and takes many keys out later, in the
//! order of the leaves, with no home page latched. In between the record may get the key again: its entry, which is still
//! there, is *kept* then.
//!
//! ```text
//! purge    listed ─► home latched: no version has it ─► key noted to go ………► leaf latched: not kept? ─► out
//! writer                          home changed to the key ─► leaf latched: it is there ─► kept
//! ```
//!
//! P1. Who finds the entry that it adds on its leaf says so, with the leaf latched, as long as any purge is under way. A writer
//!     that changed the home page behind the purge's look finds the purge listed.
//! P2. With the home page latched and no version that has the key, what was kept before does not count any more: a removal
//!     from then on is right, also by a purge that has noted the key earlier.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_env::sync::Mutex;

/// Of one index.
#[derive(Debug, Default)]
pub(super) struct Purging {
    /// Purges under way.
    under_way: AtomicUsize,
    kept: Mutex<HashSet<Box<[u8]>>>,
}

/// A purge under way; dropping it ends it.
#[must_use]
pub(super) struct UnderWay<'p>(&'p Purging);

impl Purging {
    /// Lists a purge.
    pub fn begin(&self) -> UnderWay<'_> {
        self.under_way.fetch_add(1, Ordering::SeqCst);
        UnderWay(self)
    }

    /// An entry that was to be added is there (P1); its leaf is latched.
    #[inline]
    pub fn found(&self, entry: &[u8]) {
        if self.under_way.load(Ordering::SeqCst) > 0 {
            self.kept.lock().insert(entry.into());
        }
    }
}

impl UnderWay<'_> {
    /// No version has the key of this entry (P2); the home page is latched.
    pub fn goes(&self, entry: &[u8]) {
        let mut kept = self.0.kept.lock();
        if !kept.is_empty() {
            kept.remove(entry);
        }
    }

    /// Whether the entry has to stay; its leaf is latched.
    pub fn is_kept(&self, entry: &[u8]) -> bool {
        self.0.kept.lock().contains(entry)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut kept = self.0.kept.lock();
        if self.0.under_way.fetch_sub(1, Ordering::SeqCst) == 1 {
            *kept = HashSet::new();
        }
    }
}
