//! Keys that no version has any more (I3).

use smallvec::SmallVec;

use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::PageLayout;
use crate::heap::slice::ColumnSlice;
use crate::index::entries::Entries;
use crate::index::versions::{Versions, slice_value};
use crate::page::{Flaw, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::version::entry::Entry;

use super::bad_key;

/// Deleted records of a latched page that nobody needs are about to be freed: their keys go.
pub(crate) fn before_free(
    shared: &Shared,
    heap: &Heap,
    page: &[u8],
    layout: &PageLayout,
    page_index: u32,
    slots: &[u16],
) -> Result<(), StorageError> {
    if !heap.indexes.any() || disabled(Rule::I3Purge) {
        return Ok(());
    }
    let mut key = Vec::new();
    for index in heap.indexes.list().iter() {
        let mut gone = Entries::default();
        for slot in slots {
            key.clear();
            Versions::home(shared, heap, index, page, layout, page_index, *slot).key(&mut key)?;
            gone.push(&key, RecordId { page_index, slot: *slot }, true);
        }
        gone.sort();
        index.remove(shared, TxnId::NONE, &gone)?;
    }
    Ok(())
}

/// An entry's old values are needed by nobody: their keys go, unless another version has them (I3). The home page is
/// latched. Entries that were undone count too: a savepoint's undo leaves them in the chain, where a later change of the
/// same transaction relies on them (V3).
pub(crate) fn purge(
    shared: &Shared,
    heap: &Heap,
    page: &[u8],
    layout: &PageLayout,
    entry: &Entry<'_>,
) -> Result<(), StorageError> {
    if !heap.indexes.any() || disabled(Rule::I3Purge) {
        return Ok(());
    }
    let corrupt = |flaw: Flaw| StorageError::corrupt(header::page_id(page), heap.object, flaw);
    let slices = entry.columns().map_err(corrupt)?;
    let _walking = shared.versions.walk();
    let horizon = shared.transactions.horizon();
    let page_index = entry.page_index();
    let mut key = Vec::new();
    for index in heap.indexes.list().iter() {
        let parts = &index.spec().parts;
        let its: SmallVec<[&ColumnSlice<'_>; 4]> =
            parts.iter().filter_map(|part| slices.iter().find(|slice| slice.id == part.column)).collect();
        if its.len() != parts.len() {
            continue; // none of its columns changed
        }
        let mut gone = Entries::default();
        for (rank, slot) in entry.slots.iter().enumerate() {
            // The chains of what was undone may be gone.
            if entry.is_void() && its.iter().any(|slice| slice.is_reference(rank)) {
                continue;
            }
            key.clear();
            for (part, slice) in parts.iter().zip(&its) {
                let value = slice_value(shared, heap, slice, rank)?;
                part.order().encode_raw(value.as_deref(), &mut key).map_err(|error| bad_key(heap, error))?;
            }
            let home = Versions::home(shared, heap, index, page, layout, page_index, slot);
            if disabled(Rule::I3) || !home.hold(&key, horizon)? {
                gone.push(&key, RecordId { page_index, slot }, true);
            }
        }
        if !gone.is_empty() {
            gone.sort();
            index.remove(shared, TxnId::NONE, &gone)?;
        }
    }
    Ok(())
}
