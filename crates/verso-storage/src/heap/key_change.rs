//! Which changes of a record are changes of its key, for which foreign keys have to wait (R2).
//!
//! A column that an UPDATE names is changed only if its value differs, byte for byte: `SET id = id` leaves the key as it
//! is. The entry that a change of the key links says so by a flag, for its columns do not: they are those that the UPDATE
//! names, and those that belong to one key with them.

use verso_types::Batch;

use super::layout::{ColumnPlace, PageLayout};
use super::moved;
use super::slice::{ColumnSlice, Variable, bit};
use super::table::Heap;
use super::value_slot::ValueSlot;
use crate::StorageError;
use crate::page::Flaw;
use crate::page::bytes::{checked_slice, u64_at};
use crate::shared::Shared;
use crate::txn::ReadView;
use crate::version::entry::{Entry, EntryKind, VersionPointer};

impl Heap {
    /// How many of `slots`, from the first on, are alike in whether an update gives them another key, and whether it does.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn key_run(
        &self,
        shared: &Shared,
        page: &[u8],
        layout: &PageLayout,
        slots: &[u16],
        columns: &[u16],
        values: &Batch,
        first_row: usize,
    ) -> Result<(usize, bool), StorageError> {
        let keys = self.key_columns();
        if !columns.iter().any(|column| keys.contains(column)) {
            return Ok((slots.len(), false));
        }
        let mut alike = None;
        for (rank, slot) in slots.iter().enumerate() {
            let row = first_row + rank;
            let mut changes = false;
            for (id, column) in columns.iter().zip(&values.columns).filter(|(id, _)| keys.contains(id)) {
                let value = (!column.is_null(row)).then(|| column.raw_at(row));
                let place = layout.ordinal(*id).map(|ordinal| &layout.columns[ordinal]);
                let Some(place) = place else { return Ok((slots.len(), true)) };
                changes |= !self.has_value(shared, page, place, *slot, value)?;
            }
            match alike {
                None => alike = Some(changes),
                Some(alike) if alike != changes => return Ok((rank, alike)),
                Some(_) => {}
            }
        }
        Ok((slots.len(), alike.unwrap_or(false)))
    }

    /// Whether a record of a latched page has this value in a column, byte for byte.
    fn has_value(
        &self,
        shared: &Shared,
        page: &[u8],
        place: &ColumnPlace,
        slot: u16,
        value: Option<&[u8]>,
    ) -> Result<bool, StorageError> {
        let slot = usize::from(slot);
        let (null, at) = (bit(&page[place.nulls..], slot), place.data + slot * place.width);
        let Some(value) = value.filter(|_| !null) else { return Ok(null && value.is_none()) };
        if !place.is_variable() {
            return Ok(page[at..at + place.width] == *value);
        }
        let raw = u64_at(page, at);
        Ok(match ValueSlot::decode(raw) {
            Some(ValueSlot::Empty) => value.is_empty(),
            Some(ValueSlot::Inline { offset, length }) => {
                let bytes = checked_slice(page, usize::from(offset), usize::from(length));
                bytes.map_err(|flaw| StorageError::corrupt(self.root, self.object, flaw))? == value
            }
            _ => {
                let mut bytes = Vec::new();
                moved::read(&shared.core().pool, self.object, raw, &mut bytes)?;
                bytes == value
            }
        })
    }

    /// Whether a record of a latched page has another key than in the version that the view sees, where it has one: its
    /// writer, and perhaps others before it, have committed since.
    pub(crate) fn has_other_key(
        &self,
        shared: &Shared,
        view: &ReadView,
        page: &[u8],
        layout: &PageLayout,
        slot: u16,
    ) -> Result<bool, StorageError> {
        let keys = self.key_columns();
        let mut pointer = VersionPointer(u64_at(page, layout.back + usize::from(slot) * 8));
        while !pointer.is_none() {
            let version = shared.core().pool.read(pointer.page())?;
            let corrupt = |flaw: Flaw| StorageError::corrupt(pointer.page(), self.object, flaw);
            let entry = Entry::linked(&version, pointer.offset()).map_err(corrupt)?;
            let rank = entry.slots.rank(slot);
            let rank = rank.ok_or_else(|| corrupt(Flaw::from("a version entry without its record (V6)")))?;
            if entry.kind == EntryKind::Delete || entry.changes_key() {
                return Ok(true);
            }
            // The key may have changed later in the transaction, whose entry had its columns already (V3).
            let columns = entry.columns().map_err(corrupt)?;
            for slice in columns.iter().filter(|slice| keys.contains(&slice.id)) {
                let place = layout.ordinal(slice.id).map(|ordinal| &layout.columns[ordinal]);
                let Some(place) = place else { return Ok(true) };
                if !self.has_old_value(shared, page, place, slot, slice, rank)? {
                    return Ok(true);
                }
            }
            let (prior, next) = entry.prior(rank);
            if view.visible_committed(prior) {
                return Ok(false);
            }
            pointer = next;
        }
        // It was made since.
        Ok(true)
    }

    /// Whether the home record has the value that an entry remembers. Values elsewhere are not compared.
    fn has_old_value(
        &self,
        shared: &Shared,
        page: &[u8],
        place: &ColumnPlace,
        slot: u16,
        slice: &ColumnSlice<'_>,
        rank: usize,
    ) -> Result<bool, StorageError> {
        let value = match slice.physical.width() {
            _ if slice.is_null(rank) => None,
            Some(width) => Some(slice.fixed_at(rank, width)),
            None => match slice.variable_at(rank) {
                Variable::Null => None,
                Variable::Bytes(bytes) => Some(bytes),
                Variable::Reference(raw) => {
                    return Ok(raw == u64_at(page, place.data + usize::from(slot) * place.width));
                }
            },
        };
        self.has_value(shared, page, place, slot, value)
    }
}
