//! The indexes of a table.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::RwLock;

use super::table::Index;

/// A table's indexes, in memory.
#[derive(Default)]
pub struct IndexSet {
    any: AtomicBool,
    list: RwLock<Arc<[Arc<Index>]>>,
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

    /// Replaces them.
    pub(crate) fn set(&self, indexes: Vec<Arc<Index>>) {
        let mut list = self.list.write();
        self.any.store(!indexes.is_empty(), Ordering::Release);
        *list = indexes.into();
    }
}
