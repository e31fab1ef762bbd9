//! Values that stand outside of their record's page: longer ones in overflow chains, the others on companion pages.
//!
//! A reference is the raw value slot. An update hands it to the back version uncopied; whoever overwrites the last one
//! frees what it stands for.

use verso_types::Column;

use super::layout::ColumnPlace;
use super::slice::bit;
use super::table::Heap;
use super::value_slot::ValueSlot;
use super::{companion, overflow};
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{checked_slice, u64_at};
use crate::page::{Flaw, ObjectId};
use crate::shared::Shared;

/// Whether a value slot refers to a value elsewhere.
pub fn is_reference(raw: u64) -> bool {
    matches!(ValueSlot::decode(raw), Some(ValueSlot::Overflow { .. } | ValueSlot::Companion { .. }))
}

/// Moves a value out of its page; the reference to it. The table's root is latched.
///
/// # Errors
/// `Full`; the caller has asked [`overflow::reserve`] before anything was changed.
pub fn put<'e>(
    mini: &mut Mini<'e>,
    shared: &'e Shared,
    heap: &Heap,
    root: PageHandle,
    value: &[u8],
) -> Result<u64, StorageError> {
    if value.len() <= shared.page_size / 4 {
        return companion::put(mini, shared, heap, root, value);
    }
    overflow::write(mini, &shared.space, heap.object, root, shared.incarnations.next(), value)
}

/// Appends the value that a reference stands for to `out`.
///
/// # Errors
/// `Corrupt` when there is something else.
pub fn read(pool: &BufferPool, object: ObjectId, raw: u64, out: &mut Vec<u8>) -> Result<(), StorageError> {
    match ValueSlot::decode(raw) {
        Some(ValueSlot::Overflow { page, incarnation }) => {
            overflow::read(pool, object, page, incarnation, Some(out)).map(drop)
        }
        Some(ValueSlot::Companion { page, item }) => companion::read(pool, object, page, item, out),
        _ => {
            let flaw = Flaw::from("a reference of unknown kind");
            Err(StorageError::corrupt(crate::page::PageId::NONE, object, flaw))
        }
    }
}

/// Variable values of some records of a latched page, those that stand elsewhere read.
///
/// # Errors
/// As [`read`].
pub fn copied(
    mini: &Mini<'_>,
    heap: &Heap,
    home: PageHandle,
    place: &ColumnPlace,
    slots: &[u16],
) -> Result<Column, StorageError> {
    let page = mini.page(home);
    let mut column = Column::new(place.physical);
    for slot in slots.iter().map(|slot| usize::from(*slot)) {
        if bit(&page[place.nulls..], slot) {
            column.push_null();
            continue;
        }
        let bytes = column.data.bytes_mut().expect("a variable column");
        let raw = u64_at(page, place.data + slot * 8);
        match ValueSlot::decode(raw) {
            Some(ValueSlot::Inline { offset, length }) => {
                let value = checked_slice(page, usize::from(offset), usize::from(length));
                bytes.push(
                    value.map_err(|flaw| StorageError::corrupt(mini.page_id(home), heap.object, flaw))?,
                );
            }
            Some(ValueSlot::Empty) => bytes.push(&[]),
            // The mini-transaction may have latched the page for values of its own.
            Some(ValueSlot::Companion { page, item }) if let Some(handle) = mini.find(page) => {
                bytes.push(companion::value(mini.page(handle), heap.object, page, item)?);
            }
            _ => bytes.push_with(|out| read(&mini.core().pool, heap.object, raw, out))?,
        }
    }
    Ok(column)
}

/// Frees what a reference stands for; of other value slots there is nothing to free. The table's root is latched.
///
/// # Errors
/// As [`read`] and the mini-transaction.
pub fn free(mini: &mut Mini<'_>, heap: &Heap, root: PageHandle, raw: u64) -> Result<(), StorageError> {
    match ValueSlot::decode(raw) {
        Some(ValueSlot::Overflow { page, incarnation }) => {
            overflow::free(mini, heap.object, root, page, incarnation)
        }
        Some(ValueSlot::Companion { page, item }) => companion::free(mini, heap, root, page, item),
        _ => Ok(()),
    }
}

/// As [`free`], the table's root latched on the way; but what cannot be freed because a page is damaged stays where it is:
/// nobody refers to it any more.
///
/// # Errors
/// Those of the mini-transaction.
pub fn free_or_leave(mini: &mut Mini<'_>, heap: &Heap, raw: u64) -> Result<(), StorageError> {
    match mini.write(heap.root).and_then(|root| free(mini, heap, root, raw)) {
        Err(error) if error.is_of_a_page() => {
            mini.core().pool.note_damage(&error);
            Ok(())
        }
        done => done,
    }
}
