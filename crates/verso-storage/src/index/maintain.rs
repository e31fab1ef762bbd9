//! Keeping a table's indexes in step with its records.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::Batch;

use super::Index;
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::PageLayout;
use crate::page::TxnId;
use crate::shared::Shared;
use crate::txn::frame::PageUndo;
use crate::txn::transaction::Txn;
use crate::version::entry::Entry;

/// The keys that a change of records of one page brings and takes away.
pub(crate) struct KeyChanges {
    _indexes: Arc<[Arc<Index>]>,
}

/// Records were inserted: adds their keys.
pub(crate) fn inserted(
    _shared: &Shared,
    _txn: &mut Txn,
    heap: &Heap,
    _rows: &Batch,
    _taken: Range<usize>,
    _page_index: u32,
    _slots: &[u16],
) -> Result<(), StorageError> {
    let _ = heap.indexes.list();
    Ok(())
}

/// Columns whose old values a version entry keeps when `columns` change: key columns of one index stay together, so
/// that a purge finds whole keys.
pub(crate) fn saved_columns(heap: &Heap, columns: &[u16]) -> SmallVec<[u16; 8]> {
    let mut saved: SmallVec<[u16; 8]> = SmallVec::new();
    if heap.indexes.any() {
        for index in heap.indexes.list().iter() {
            let parts = || index.spec().parts.iter().map(|part| part.column);
            if parts().any(|column| columns.contains(&column)) {
                let new: SmallVec<[u16; 8]> = parts().filter(|column| !saved.contains(column)).collect();
                saved.extend(new);
            }
        }
    }
    // Keys first: an entry too large for its page is cut behind them.
    let others: SmallVec<[u16; 8]> =
        columns.iter().copied().filter(|column| !saved.contains(column)).collect();
    saved.extend(others);
    saved
}

/// Records of a latched page are about to be updated: what that means for keys, if it concerns any.
#[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
pub(crate) fn before_change(
    _shared: &Shared,
    _txn: &Txn,
    heap: &Heap,
    _page: &[u8],
    _layout: &PageLayout,
    _page_index: u32,
    _slots: &[u16],
    _update: Option<(&[u16], &Batch, usize)>,
) -> Result<Option<KeyChanges>, StorageError> {
    if !heap.indexes.any() {
        return Ok(None);
    }
    Ok(None)
}

/// The change was made, or failed with `done`.
pub(crate) fn after_change(
    _shared: &Shared,
    _txn: &mut Txn,
    _heap: &Heap,
    _page_index: u32,
    changes: Option<KeyChanges>,
    done: Result<(), StorageError>,
) -> Result<(), StorageError> {
    if changes.is_none() {
        return done;
    }
    done
}

/// What `writer` did to records of a latched page is about to be undone: all of it, or what a frame says.
pub(crate) fn before_undo(
    _shared: &Shared,
    heap: &Heap,
    _page: &[u8],
    _page_index: u32,
    _writer: TxnId,
    _frame: Option<&PageUndo>,
) -> Result<(), StorageError> {
    if !heap.indexes.any() {
        return Ok(());
    }
    Ok(())
}

/// Deleted records of a latched page that nobody needs are about to be freed.
pub(crate) fn before_free(
    _shared: &Shared,
    heap: &Heap,
    _page: &[u8],
    _layout: &PageLayout,
    _page_index: u32,
    _slots: &[u16],
) -> Result<(), StorageError> {
    if !heap.indexes.any() {
        return Ok(());
    }
    Ok(())
}

/// An entry's old values are needed by nobody: their keys go, unless another version has them. The home page is
/// latched.
pub(crate) fn purge(
    _shared: &Shared,
    heap: &Heap,
    _page: &[u8],
    _layout: &PageLayout,
    _entry: &Entry<'_>,
) -> Result<(), StorageError> {
    if !heap.indexes.any() {
        return Ok(());
    }
    Ok(())
}
