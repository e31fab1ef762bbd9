//! Values on their way from a data page to a column, those that stand in chains of pages of their own among them.

use verso_types::Column;

use super::layout::ColumnPlace;
use super::moved;
use super::restore;
use super::slice::bit;
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::{ValueSlot, one_piece};
use crate::StorageError;
use crate::page::bytes::{checked_slice, u64_at};
use crate::page::{Flaw, PageId};
use crate::shared::Shared;
use crate::txn::ReadView;

/// Copies values out of a data page.
pub(super) struct Copier<'a> {
    pub(super) shared: &'a Shared,
    pub(super) heap: &'a Heap,
    pub(super) view: &'a ReadView,
    pub(super) page_index: u32,
    pub(super) page: &'a [u8],
    pub(super) id: PageId,
}

impl Copier<'_> {
    /// The page is not what it should be.
    #[cold]
    pub(super) fn corrupt(&self, flaw: impl Into<Flaw>) -> StorageError {
        StorageError::corrupt(self.id, self.heap.object, flaw)
    }

    /// Appends the values at `slots`, run by run where most of the slots follow each other.
    pub(super) fn copy_runs(
        &self,
        place: &ColumnPlace,
        slots: Slots<'_>,
        column: &mut Column,
    ) -> Result<(), StorageError> {
        let Slots::List(list) = slots else { return self.copy(place, slots, column) };
        let gaps = match (list.first(), list.last()) {
            (Some(first), Some(last)) => usize::from(last - first) + 1 - list.len(),
            _ => 0,
        };
        if gaps * 8 > list.len() {
            return self.copy(place, slots, column);
        }
        for run in list.chunk_by(|slot, next| slot + 1 == *next) {
            self.copy(place, Slots::Run { first: run[0], count: run.len() as u16 }, column)?;
        }
        Ok(())
    }

    /// Appends the values at `slots`.
    pub(super) fn copy(
        &self,
        place: &ColumnPlace,
        slots: Slots<'_>,
        column: &mut Column,
    ) -> Result<(), StorageError> {
        let page = self.page;
        let corrupt = |flaw: Flaw| StorageError::corrupt(self.id, self.heap.object, flaw);
        if place.physical != column.physical() {
            return Err(corrupt(Flaw::from("a column of another type than its table's")));
        }
        let bitmap = &page[place.nulls..];
        let first = column.len();
        let run = |count: u16, slot: u16| {
            let from = place.data + usize::from(slot) * place.width;
            &page[from..from + usize::from(count) * place.width]
        };
        let piece = match slots {
            Slots::Run { first, count } if count > 1 && place.is_variable() => one_piece(run(count, first)),
            _ => None,
        };
        if let (Some((from, length)), Slots::Run { first, count }) = (piece, slots) {
            let bytes = column.data.bytes_mut().expect("a variable column");
            let lengths = run(count, first).as_chunks::<8>().0.iter().map(|slot| [slot[4], slot[5]]);
            restore::push_piece(bytes, checked_slice(page, from, length).map_err(corrupt)?, lengths);
        } else if place.is_variable() {
            for slot in slots.iter() {
                let raw = u64_at(page, place.data + usize::from(slot) * 8);
                let bytes = column.data.bytes_mut().expect("a variable column");
                match ValueSlot::decode(raw) {
                    Some(ValueSlot::Empty) => bytes.push(&[]),
                    Some(ValueSlot::Inline { offset, length }) => {
                        bytes.push(
                            checked_slice(page, usize::from(offset), usize::from(length)).map_err(corrupt)?,
                        );
                    }
                    Some(_) => push_reference(self.shared, self.heap, raw, column)?,
                    None => return Err(corrupt(Flaw::from("unknown value slot"))),
                }
            }
        } else if let Slots::Run { first: slot, count } = slots {
            column.extend_fixed_raw(run(count, slot));
        } else {
            column.data.extend_fixed_gather(&page[place.data..], slots.iter().map(usize::from));
        }
        if let Slots::Run { first: slot, count } = slots {
            let (slot, count) = (usize::from(slot), usize::from(count));
            if bitmap[slot / 8..(slot + count).div_ceil(8)].iter().any(|byte| *byte != 0) {
                column.nulls.append_bitmap(first, bitmap, slot, count);
            }
        } else {
            for (row, slot) in slots.iter().enumerate() {
                if bit(bitmap, usize::from(slot)) {
                    column.nulls.set(first + row);
                }
            }
        }
        Ok(())
    }
}

#[cold]
pub(super) fn push_reference(
    shared: &Shared,
    heap: &Heap,
    raw: u64,
    column: &mut Column,
) -> Result<(), StorageError> {
    let bytes = column.data.bytes_mut().expect("references stand for variable values");
    bytes.push_with(|out| moved::read(&shared.core().pool, heap.object, raw, out))
}
