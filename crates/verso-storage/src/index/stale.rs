//! Notes of keys that older versions have, for the day when nobody may see those any more.
//!
//! Purge reads keys out of the version entries of a change (I3). Two kinds of old keys stand in none: those of versions
//! that were there before the index was, whose entries need not hold whole keys nor be looked at, and those of an entry
//! that was too large for its page and was split between key columns. They are noted in version entries of their own, of the
//! form of an update, that no record points at; a purge treats them like any other, as it asks the record's versions
//! before it removes anything.

use verso_types::Column;

use super::table::Index;
use super::versions::RawValue;
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::slice::encode_column;
use crate::heap::slots::Slots;
use crate::mini::Mini;
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::version::entry::{EntryKind, NewEntry};
use crate::version::page as version_page;

/// Old values of an index's columns for records of one page: what a purge is to look at.
#[derive(Default)]
pub(super) struct OldKeys {
    /// Ascending.
    pub slots: Vec<u16>,
    /// One per part of the key.
    pub columns: Vec<Column>,
}

impl OldKeys {
    /// Adds a key's raw values.
    pub fn push(&mut self, heap: &Heap, index: &Index, slot: u16, values: &[RawValue]) {
        if self.columns.is_empty() {
            let physical = index.ordinals.iter().map(|ordinal| heap.columns()[*ordinal].physical);
            self.columns = physical.map(Column::new).collect();
        }
        self.slots.push(slot);
        for (column, value) in self.columns.iter_mut().zip(values) {
            match (value, column.physical().width()) {
                (None, _) => column.push_null(),
                (Some(bytes), Some(_)) => column.extend_fixed_raw(bytes),
                (Some(bytes), None) => column.data.bytes_mut().expect("not a fixed type").push(bytes),
            }
        }
    }
}

/// Notes old keys of records of a page under the transaction: they are purged, where no version has them, once its
/// commit is behind the horizon.
///
/// # Errors
/// `Full`; `TooLarge` for a key that no index has room for.
pub(super) fn note<'e>(
    shared: &'e Shared,
    txn: &mut Txn,
    mini: &mut Mini<'e>,
    heap: &Heap,
    index: &Index,
    page_index: u32,
    keys: &OldKeys,
) -> Result<(), StorageError> {
    if disabled(Rule::I3Notes) {
        return Ok(());
    }
    let mut first = 0;
    let mut count = keys.slots.len();
    let mut columns = Vec::new();
    while first < keys.slots.len() {
        columns.clear();
        let rows = first..first + count;
        for (part, column) in index.spec().parts.iter().zip(&keys.columns) {
            encode_column(&mut columns, part.column, column, rows.clone(), None);
        }
        let entry = NewEntry {
            kind: EntryKind::Update,
            table: heap.object,
            writer: txn.id,
            page_index,
            slots: Slots::from_list(&keys.slots[rows.clone()]),
            prior: &[(0, 0)],
            columns: &columns,
            column_count: index.spec().parts.len() as u16,
            purge: true,
            own: false,
            changes_key: false,
        };
        if entry.encoded_len() > version_page::capacity(shared.page_size) && count > 1 {
            count = count.div_ceil(2);
            continue;
        }
        let writer = txn.slot.as_mut().expect("the transaction writes");
        shared.versions.append(
            mini,
            &shared.space,
            &shared.transactions,
            writer,
            heap.placement(),
            &entry,
        )?;
        mini.use_reserve();
        first = rows.end;
        count = count.min(keys.slots.len() - first);
    }
    Ok(())
}
