//! The indexes of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::table::Index;

/// A table's indexes, in memory.
///
/// The gate keeps an index from being built, replaced or freed while somebody changes it. It comes before all latches.
#[derive(Default)]
pub struct IndexSet {
    any: AtomicBool,
    list: RwLock<Arc<[Arc<Index>]>>,
    gate: RwLock<()>,
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

    /// For who changes records and their keys.
    #[inline]
    pub(crate) fn enter(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read()
    }

    /// For who builds, replaces or frees an index.
    pub(crate) fn close(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write()
    }

    /// Replaces them.
    pub(crate) fn set(&self, indexes: Vec<Arc<Index>>) {
        let mut list = self.list.write();
        self.any.store(!indexes.is_empty(), Ordering::Release);
        *list = indexes.into();
    }
}
