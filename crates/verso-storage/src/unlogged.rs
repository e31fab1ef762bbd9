//! Objects whose pages are not logged.
//!
//! ```text
//! CREATE UNLOGGED:   UNLOGGED record ─► pages change without log ─► crash: all its extents are free again
//! COPY … (nolog):    UNLOGGED record ─► pages ─► all of them durable ─► LOADED record ─► logged like any other
//! ```
//!
//! U1. The log says of an object that it is unlogged before it has a page, and no page of it is logged until the log says
//!     otherwise: redo never meets a page of which it knows a part only.
//! U2. After anything but a clean shutdown nothing of an unlogged object is left: opening gives its extents back before
//!     anybody can look at them. What refers to it (entries of version pages, the catalog) finds no such object.
//! U3. Old versions of records, notes of inserts and the space map are logged all the same: version pages belong to
//!     transactions, not to tables.
//! U4. `LOADED` is logged when every page of the object is durable in its place and nobody but the loader can have changed one
//!     since. A restore does not go past it, unless its base was begun later: the archive has no such pages.
//! U5. The LSN of an unlogged page is that of the group in which it was given out, and tells nothing of later changes.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use verso_env::sync::{Mutex, RwLock};

use crate::page::ObjectId;

/// Bits that say of most objects at once that they are logged.
const FILTER_WORDS: usize = 64;

/// The objects of an open database that are not logged.
#[derive(Default)]
pub struct UnloggedObjects {
    count: AtomicUsize,
    filter: Filter,
    objects: RwLock<HashSet<ObjectId>>,
    copies: Mutex<Copies>,
}

/// By the last bits of an object's number; a bit that is set may be another object's.
struct Filter([AtomicU64; FILTER_WORDS]);

impl Default for Filter {
    fn default() -> Filter {
        Filter(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Filter {
    fn place(&self, object: ObjectId) -> (&AtomicU64, u64) {
        let number = object.0 as usize;
        (&self.0[number / 64 % FILTER_WORDS], 1 << (number % 64))
    }
}

/// What copies the database, and what must not be missing in a copy.
#[derive(Default)]
struct Copies {
    /// Loads that are not logged.
    loads: usize,
    /// Base backups under way.
    bases: usize,
}

impl UnloggedObjects {
    /// Whether changes of the object's pages stay out of the log.
    #[inline]
    pub fn contains(&self, object: ObjectId) -> bool {
        self.count.load(Ordering::Relaxed) > 0 && self.contains_really(object)
    }

    fn contains_really(&self, object: ObjectId) -> bool {
        let (word, bit) = self.filter.place(object);
        word.load(Ordering::Relaxed) & bit != 0 && self.objects.read().contains(&object)
    }

    /// From now on it is one of them. Nobody else knows the object yet.
    pub(crate) fn insert(&self, object: ObjectId) {
        if self.objects.write().insert(object) {
            let (word, bit) = self.filter.place(object);
            word.fetch_or(bit, Ordering::Relaxed);
            self.count.fetch_add(1, Ordering::Release);
        }
    }

    /// From now on it is none of them.
    pub(crate) fn remove(&self, object: ObjectId) {
        if self.objects.write().remove(&object) {
            self.count.fetch_sub(1, Ordering::Release);
        }
    }

    /// All of them, by number.
    pub fn list(&self) -> Vec<ObjectId> {
        let mut objects: Vec<ObjectId> = self.objects.read().iter().copied().collect();
        objects.sort_unstable();
        objects
    }

    /// Begins a load that is not logged; `None` while a base backup runs, which would lack it.
    pub(crate) fn begin_load(&self) -> Option<Load<'_>> {
        let mut copies = self.copies.lock();
        (copies.bases == 0).then(|| {
            copies.loads += 1;
            Load(self)
        })
    }

    /// Begins a base backup; `None` while something is loaded that it would lack.
    pub(crate) fn begin_base(&self) -> Option<Base<'_>> {
        let mut copies = self.copies.lock();
        (copies.loads == 0).then(|| {
            copies.bases += 1;
            Base(self)
        })
    }
}

/// A load that is not logged is under way.
pub(crate) struct Load<'u>(&'u UnloggedObjects);

impl Drop for Load<'_> {
    fn drop(&mut self) {
        self.0.copies.lock().loads -= 1;
    }
}

/// A base backup is under way.
pub(crate) struct Base<'u>(&'u UnloggedObjects);

impl Drop for Base<'_> {
    fn drop(&mut self) {
        self.0.copies.lock().bases -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_come_and_go_and_numbers_that_share_a_bit_are_told_apart() {
        let unlogged = UnloggedObjects::default();
        let (one, other) = (ObjectId(1_001), ObjectId(1_001 + 64 * 64));
        assert!(!unlogged.contains(one));
        unlogged.insert(one);
        unlogged.insert(one);
        assert!(unlogged.contains(one) && !unlogged.contains(other));
        unlogged.insert(other);
        unlogged.remove(one);
        unlogged.remove(one);
        assert!(!unlogged.contains(one) && unlogged.contains(other));
        assert_eq!(unlogged.list(), [other]);
    }

    #[test]
    fn u4_loads_and_base_backups_exclude_each_other() {
        let unlogged = UnloggedObjects::default();
        let load = unlogged.begin_load();
        assert!(load.is_some() && unlogged.begin_base().is_none() && unlogged.begin_load().is_some());
        drop(load);
        let base = unlogged.begin_base();
        assert!(base.is_some() && unlogged.begin_load().is_none());
        drop(base);
        assert!(unlogged.begin_load().is_some());
    }
}
