//! The indexes of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::{RwLockReadGuard, StripedRwLock, StripedWriteGuard};

use super::table::Index;

/// Stripes of both locks: every table has them.
const STRIPES: usize = 4;

/// The list of indexes, locked.
pub(crate) type IndexList<'s> = RwLockReadGuard<'s, Arc<[Arc<Index>]>>;

/// A table's indexes, in memory.
///
/// The gate keeps an index from being built, replaced or freed while somebody changes it. It comes before all latches.
#[derive(Default)]
pub struct IndexSet {
    any: AtomicBool,
    list: StripedRwLock<Arc<[Arc<Index>]>, STRIPES>,
    gate: StripedRwLock<(), STRIPES>,
}

impl IndexSet {
    /// Whether there is one.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// All of them.
    pub fn list(&self) -> Arc<[Arc<Index>]> {
        Arc::clone(&self.list.read())
    }

    /// All of them, for a moment in which the list is not taken again; it does not change meanwhile.
    #[inline]
    pub(crate) fn look(&self) -> IndexList<'_> {
        self.list.read()
    }

    /// For who changes records and their keys.
    #[inline]
    pub(crate) fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read()
    }

    /// For who builds, replaces or frees an index.
    pub(crate) fn close(&self) -> StripedWriteGuard<'_, (), STRIPES> {
        self.gate.write()
    }

    /// Replaces them.
    pub(crate) fn set(&self, indexes: Vec<Arc<Index>>) {
        let mut list = self.list.write();
        self.any.store(!indexes.is_empty(), Ordering::Release);
        list.set(indexes.into());
    }
}
