//! The indexes of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use verso_env::sync::{RwLockReadGuard, StripedRwLock, StripedWriteGuard};

use super::table::Index;

/// Stripes of both locks: every table has them.
const STRIPES: usize = 4;

/// The list of indexes, locked.
pub(crate) type IndexList<'s> = RwLockReadGuard<'s, Arc<[Arc<Index>]>>;

/// The gate, closed.
pub(crate) type ClosedGate<'s> = StripedWriteGuard<'s, Arc<[Arc<Index>]>, STRIPES>;

/// A table's indexes, in memory.
///
/// The gate keeps an index from being built, replaced or freed while somebody changes it. It comes before all latches. The
/// list stands behind it, for who has passed it, and by itself, for who only reads.
#[derive(Default)]
pub struct IndexSet {
    any: AtomicBool,
    list: StripedRwLock<Arc<[Arc<Index>]>, STRIPES>,
    gate: StripedRwLock<Arc<[Arc<Index>]>, STRIPES>,
    /// How many wait for the gate to close it.
    closing: AtomicU32,
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

    /// For who changes records and their keys: all of them, which stay as they are meanwhile.
    #[inline]
    pub(crate) fn enter(&self) -> IndexList<'_> {
        self.gate.read()
    }

    /// For who builds, replaces or frees an index.
    pub(crate) fn close(&self) -> ClosedGate<'_> {
        self.closing.fetch_add(1, Ordering::Relaxed);
        let gate = self.gate.write();
        self.closing.fetch_sub(1, Ordering::Relaxed);
        gate
    }

    /// Whether somebody waits for those who have entered.
    pub(crate) fn is_wanted(&self) -> bool {
        self.closing.load(Ordering::Relaxed) > 0
    }

    /// Replaces them.
    pub(crate) fn set(&self, gate: &mut ClosedGate<'_>, indexes: Vec<Arc<Index>>) {
        let indexes: Arc<[Arc<Index>]> = indexes.into();
        let mut list = self.list.write();
        self.any.store(!indexes.is_empty(), Ordering::Release);
        gate.set(Arc::clone(&indexes));
        list.set(indexes);
    }
}
