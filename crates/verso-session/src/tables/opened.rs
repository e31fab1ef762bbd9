//! Tables that a session has used: found again without asking the engine, whose list all sessions share.
//!
//! An object's number is never given to another one, so what is found here is right for as long as a catalog names it.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::index::Index;
use verso_storage::{Engine, ObjectId, StorageError};

/// Rows for which memory is kept.
const ROWS_KEPT: usize = 16;
/// Bytes of their texts for which memory is kept.
const BYTES_KEPT: usize = 64 << 10;
/// Tables remembered.
const TABLES_MAX: usize = 32;

/// See the module.
#[derive(Default)]
pub(crate) struct OpenTables {
    tables: RefCell<Vec<Arc<Heap>>>,
    /// The next one to be forgotten.
    oldest: Cell<usize>,
    /// What reading a row by its key works with.
    row: Cell<Option<Box<RowBatch>>>,
}

/// A batch for one row, and the columns wanted of it.
#[derive(Default)]
pub(crate) struct RowBatch {
    /// Ids of the columns.
    pub columns: Vec<u16>,
    /// The row.
    pub rows: ScanBatch,
}

impl RowBatch {
    /// Whether its memory may be kept.
    fn is_small(&self) -> bool {
        self.rows.records.capacity() <= ROWS_KEPT && self.rows.batch.heap_bytes() <= BYTES_KEPT
    }
}

/// A batch that goes back when it is dropped, for the next one, unless it has become large.
pub(crate) struct LentRow<'o> {
    row: Option<Box<RowBatch>>,
    from: &'o OpenTables,
}

impl Deref for LentRow<'_> {
    type Target = RowBatch;

    fn deref(&self) -> &RowBatch {
        self.row.as_ref().expect("there until it is dropped")
    }
}

impl DerefMut for LentRow<'_> {
    fn deref_mut(&mut self) -> &mut RowBatch {
        self.row.as_mut().expect("there until it is dropped")
    }
}

impl Drop for LentRow<'_> {
    fn drop(&mut self) {
        let row = self.row.take();
        self.from.row.set(row.filter(|row| row.is_small()));
    }
}

impl OpenTables {
    /// Lends a batch for a row, as it was left.
    pub fn row(&self) -> LentRow<'_> {
        LentRow { row: Some(self.row.take().unwrap_or_default()), from: self }
    }

    /// Works with the table with this number, not counted: all sessions share the count. `work` opens no table.
    ///
    /// # Errors
    /// As [`Engine::heap`], and those of `work`.
    pub fn with_heap<T, E: From<StorageError>>(
        &self,
        engine: &Engine,
        object: ObjectId,
        work: impl FnOnce(&Arc<Heap>) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(heap) = self.tables.borrow().iter().find(|heap| heap.object == object) {
            return work(heap);
        }
        work(&self.heap(engine, object)?)
    }

    /// The table with this number.
    ///
    /// # Errors
    /// As [`Engine::heap`].
    pub fn heap(&self, engine: &Engine, object: ObjectId) -> Result<Arc<Heap>, StorageError> {
        if let Some(heap) = self.tables.borrow().iter().find(|heap| heap.object == object) {
            return Ok(Arc::clone(heap));
        }
        let heap = engine.heap(object)?;
        let mut tables = self.tables.borrow_mut();
        if tables.len() < TABLES_MAX {
            tables.push(Arc::clone(&heap));
        } else {
            let at = self.oldest.get();
            tables[at] = Arc::clone(&heap);
            self.oldest.set((at + 1) % TABLES_MAX);
        }
        Ok(heap)
    }

    /// An index of a table.
    ///
    /// # Errors
    /// As [`Engine::index`].
    pub fn index(&self, engine: &Engine, heap: &Heap, object: ObjectId) -> Result<Arc<Index>, StorageError> {
        let list = heap.indexes.list();
        match list.iter().find(|index| index.object() == object) {
            Some(index) => Ok(Arc::clone(index)),
            None => engine.index(object),
        }
    }
}

impl std::fmt::Debug for OpenTables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OpenTables({})", self.tables.borrow().len())
    }
}
