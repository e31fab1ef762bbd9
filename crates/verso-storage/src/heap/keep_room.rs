//! Whether a change of rows may begin where the file cannot grow (S6 of `space`).

use super::table::Heap;
use super::{root, unused};
use crate::buffer::BufferPool;
use crate::{StorageError, Txn};

impl Heap {
    /// Asked before each part of a change that may be refused. `value_bytes` says how long those of its values are together that
    /// may be moved out of their records: they take pages when nothing may fail any more, so the table must have them. Costs one load
    /// where the reserve is whole.
    ///
    /// # Errors
    /// `Full`; nothing has changed.
    #[inline]
    pub(super) fn keep_room(
        &self,
        txn: &Txn,
        value_bytes: impl FnOnce() -> usize,
    ) -> Result<(), StorageError> {
        let shared = &txn.shared;
        match shared.space.keep_reserve(shared.core()) {
            Ok(()) => Ok(()),
            Err(error) => self.has_room(txn, error, value_bytes()),
        }
    }

    #[cold]
    fn has_room(&self, txn: &Txn, error: StorageError, value_bytes: usize) -> Result<(), StorageError> {
        if !matches!(error, StorageError::Full { .. }) {
            return Err(error);
        }
        if txn.makes_room() {
            return Ok(());
        }
        let pool = &txn.shared.core().pool;
        // Values of a few hundred bytes stay in their record or share a page; longer ones leave at most half of a page unused.
        let needed = match value_bytes > pool.page_size() / 4 {
            true => value_bytes.div_ceil(pool.page_size() / 2),
            false => 0,
        };
        match txn.shared.space.has_half() && self.has_pages(pool, needed)? {
            true => Ok(()),
            false => Err(error),
        }
    }

    /// Whether so many pages are the table's that hold nothing.
    fn has_pages(&self, pool: &BufferPool, needed: usize) -> Result<bool, StorageError> {
        let (never_used, head) = root::unused(&pool.read(self.root)?);
        let mut found = never_used.len();
        if found < needed && !head.is_none() {
            unused::each_page(pool, self.object, head, |_, _| {
                found += 1;
                found < needed
            })?;
        }
        Ok(found >= needed)
    }
}
