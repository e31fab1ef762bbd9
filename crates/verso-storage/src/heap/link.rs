//! What a change leaves behind: version entries with the old values (V1, V3), and room for the new ones.

use std::ops::Range;

use smallvec::SmallVec;
use verso_types::{Batch, Column};

use super::ahead::Ahead;
use super::apply;
use super::layout::PageLayout;
use super::moved;
use super::owners::{Link, Owners};
use super::slice::{encode_column, encode_from_page};
use super::slots::Slots;
use super::table::Heap;
use crate::StorageError;
use crate::index::maintain;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u64_at;
use crate::page::{Flaw, RecordId, TxnId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::{OwnValue, Voidable};
use crate::txn::transaction::Txn;
use crate::version::entry::{Entry, EntryKind, NewEntry, VersionPointer};
use crate::version::page as version_page;

/// Bytes of the variable values of some rows of a column.
pub(super) fn bytes_of_rows(column: &Column, rows: Range<usize>) -> usize {
    let Some(bytes) = column.data.bytes().filter(|_| !rows.is_empty()) else { return 0 };
    let start = if rows.start == 0 { 0 } else { bytes.ends[rows.start - 1] };
    (bytes.ends[rows.end - 1] - start) as usize
}

impl Heap {
    /// Values outside of the page that the transaction itself wrote to columns its entries hold already (V3), about to be
    /// replaced.
    pub(super) fn own_values(
        &self,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        own: &[u16],
        columns: &[u16],
        links: &[Link<'_>],
    ) -> Vec<OwnValue> {
        let mut values = Vec::new();
        for column in columns.iter().filter(|_| !own.is_empty()) {
            let Some(place) = layout.ordinal(*column).map(|ordinal| &layout.columns[ordinal]) else {
                continue;
            };
            if !place.is_variable() || !apply::any_chain(page, place, Slots::from_list(own)) {
                continue;
            }
            for slot in own {
                let raw = u64_at(page, place.data + usize::from(*slot) * 8);
                let is_saved =
                    |(slots, saved): &Link<'_>| saved.contains(column) && slots.binary_search(slot).is_ok();
                if moved::is_reference(raw) && !links.iter().any(is_saved) {
                    let record = RecordId { page_index, slot: *slot };
                    values.push(OwnValue { table: self.object, record, column: *column, raw });
                }
            }
        }
        values
    }

    /// Columns of `columns` that the transaction's own entries of `slot` behind `pointer` do not hold yet (V3), and
    /// whether the answer holds for every record with this pointer. What a void entry refers to counts for nothing: the
    /// undo that left it there gave the value back to the record. Nor do values of the transaction's own.
    pub(super) fn missing_columns(
        &self,
        shared: &Shared,
        id: TxnId,
        mut pointer: VersionPointer,
        slot: u16,
        columns: &[u16],
    ) -> Result<(SmallVec<[u16; 8]>, bool), StorageError> {
        let mut missing = SmallVec::from_slice(columns);
        let (mut entries, mut for_all) = (0, true);
        if pointer.is_none() || disabled(Rule::V3Continuation) {
            missing.clear(); // inserted by the transaction itself: nobody else ever saw it
        }
        while !pointer.is_none() && !missing.is_empty() {
            let page = shared.core().pool.read(pointer.page())?;
            let corrupt = |flaw: Flaw| StorageError::corrupt(pointer.page(), self.object, flaw);
            let entry = Entry::linked(&page, pointer.offset()).map_err(corrupt)?;
            if entry.writer() != id {
                break;
            }
            let rank = entry
                .slots
                .rank(slot)
                .ok_or_else(|| corrupt(Flaw::from("a version entry without its record (V6)")))?;
            if entry.is_own() {
                for_all = false;
            } else if entry.is_void() {
                for_all = false;
                let slices = entry.columns().map_err(corrupt)?;
                missing.retain(|column| {
                    slices.iter().all(|slice| slice.id != *column || slice.is_reference(rank))
                });
            } else {
                let held = entry.column_ids().map_err(corrupt)?;
                missing.retain(|column| !held.contains(column));
            }
            entries += 1;
            let (writer, next) = entry.prior(rank);
            if writer != id {
                break;
            }
            if next.is_none() {
                missing.clear();
            }
            pointer = next;
        }
        Ok((missing, for_all && entries <= 1))
    }

    /// Links entries with the old values of `saved` for the records of `group`, as few as fit pages, and notes the new
    /// writer and pointer of each in `pairs`.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn link<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mini: &mut Mini<'e>,
        home: PageHandle,
        layout: &PageLayout,
        page_index: u32,
        group: &[u16],
        saved: &[u16],
        delete: bool,
        purge: bool,
        updated: &[u16],
        slots: &[u16],
        owners: &mut Owners,
        voids: &mut Vec<Voidable>,
        own_value: Option<OwnValue>,
        changes_key: bool,
    ) -> Result<(), StorageError> {
        let saved = if disabled(Rule::V1) { &[] } else { saved };
        let prior = owners.of_group(slots, group);
        let set = Slots::from_list(group);
        let mut columns = std::mem::take(&mut txn.scratch);
        columns.clear();
        let keys = purge;
        let mut purge = delete || keys;
        for column in saved {
            let ordinal = layout.ordinal(*column).ok_or(StorageError::NoSuchObject(self.object))?;
            let place = &layout.columns[ordinal];
            let extra = place.is_variable() && !updated.contains(column);
            if extra && apply::any_chain(mini.page(home), place, set) {
                // The home record keeps its chains: an entry that named them too would free them a second time.
                let values = moved::copied(mini, self, home, place, group)?;
                encode_column(&mut columns, *column, &values, 0..group.len(), None);
                continue;
            }
            encode_from_page(&mut columns, mini.page(home), place, set)
                .map_err(|flaw| StorageError::corrupt(mini.page_id(home), self.object, flaw))?;
            purge |= place.is_variable() && apply::any_chain(mini.page(home), place, set);
        }
        let entry = NewEntry {
            kind: if delete { EntryKind::Delete } else { EntryKind::Update },
            table: self.object,
            writer: txn.id,
            page_index,
            slots: set,
            prior: &prior,
            columns: &columns,
            column_count: saved.len() as u16,
            purge,
            own: own_value.is_some(),
            changes_key,
        };
        if entry.encoded_len() > version_page::capacity(shared.page_size) {
            // Too much for one version page: fewer records, or, for a single one, fewer columns in a chain (V3).
            if group.len() > 1 {
                let (left, right) = group.split_at(group.len() / 2);
                for group in [left, right] {
                    self.link(
                        shared,
                        txn,
                        mini,
                        home,
                        layout,
                        page_index,
                        group,
                        saved,
                        delete,
                        keys,
                        updated,
                        slots,
                        owners,
                        voids,
                        own_value,
                        changes_key,
                    )?;
                }
                return Ok(());
            }
            if saved.len() > 1 {
                if keys {
                    maintain::note_split(shared, txn, mini, self, home, layout, page_index, group[0], saved)?;
                }
                let (left, right) = saved.split_at(saved.len() / 2);
                for saved in [left, right] {
                    self.link(
                        shared,
                        txn,
                        mini,
                        home,
                        layout,
                        page_index,
                        group,
                        saved,
                        delete,
                        keys,
                        updated,
                        slots,
                        owners,
                        voids,
                        own_value,
                        changes_key,
                    )?;
                }
                return Ok(());
            }
        }
        let writer = txn.slot.as_mut().expect("begin_write gave one");
        let (space, transactions) = (&shared.space, &shared.transactions);
        let pointer = shared.versions.append(mini, space, transactions, writer, self.placement(), &entry)?;
        mini.use_reserve();
        if purge {
            voids.push(Voidable { pointer, own_value });
        }
        owners.set(slots, group, (txn.id.0, pointer.0));
        txn.scratch = columns;
        Ok(())
    }

    /// Moves new values that the page has no room for elsewhere; per column the references by row of `values`.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn make_room<'e>(
        &'e self,
        shared: &'e Shared,
        mini: &mut Mini<'e>,
        home: PageHandle,
        layout: &PageLayout,
        slots: &[u16],
        columns: &[u16],
        values: &Batch,
        first_row: usize,
        ahead: &Ahead,
    ) -> Result<Vec<Vec<u64>>, StorageError> {
        let set = Slots::from_list(slots);
        let rows = first_row..first_row + slots.len();
        let quarter = shared.page_size / 4;
        let variable = || {
            let columns = columns.iter().zip(&values.columns).enumerate();
            columns.filter(|(_, (_, column))| column.data.bytes().is_some())
        };
        let mut room = apply::free_bytes(mini.page(home), layout);
        let mut need = 0;
        for (_, (id, column)) in variable() {
            if let Some(ordinal) = layout.ordinal(*id) {
                room += apply::inline(mini.page(home), &layout.columns[ordinal], set).bytes;
                need += bytes_of_rows(column, rows.clone());
            }
        }
        if need <= room && need <= quarter {
            return Ok(Vec::new());
        }
        let mut cells: Vec<(usize, usize, usize)> = Vec::new(); // length, column, row
        for (index, (_, column)) in variable() {
            let rows = rows.clone().filter(|row| !column.is_null(*row));
            cells.extend(rows.map(|row| (column.bytes_at(row).len(), index, row)));
        }
        need = cells.iter().map(|cell| cell.0).sum();
        if need <= room && cells.iter().all(|(length, ..)| *length <= quarter) {
            return Ok(Vec::new());
        }
        let mut references = vec![Vec::new(); columns.len()];
        cells.sort_unstable_by(|a, b| b.cmp(a));
        for (length, index, row) in cells {
            if need <= room && length <= quarter {
                break;
            }
            let root = mini.write(self.root)?;
            let value = values.columns[index].bytes_at(row);
            let raw = match ahead.take_over(mini, root, index, value)? {
                Some(raw) => raw,
                None => moved::put(mini, shared, self, root, value)?,
            };
            if references[index].is_empty() {
                references[index] = vec![0u64; values.rows];
            }
            references[index][row] = raw;
            need -= length;
        }
        Ok(references)
    }
}
