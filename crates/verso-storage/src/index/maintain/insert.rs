//! Keys of inserted records, and who else has them.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::inverted::Keys;
use verso_types::{Batch, Column, TypeError};

use crate::StorageError;
use crate::heap::Heap;
use crate::index::Index;
use crate::index::entries::Entries;
use crate::index::exclusion;
use crate::index::hint::LeafHints;
use crate::index::key::{encode_part, encode_row, keys_of_row};
use crate::index::tree::Rival;
use crate::index::unique::check_record;
use crate::mini::Mini;
use crate::page::RecordId;
use crate::shared::Shared;
use crate::txn::transaction::Txn;

use super::{ENTRIES_KEPT, KeyColumns, bad_key, inverted_bytes};

/// Records were inserted: adds their keys and, in unique indexes, looks who else has them (I2).
pub(crate) fn inserted(
    shared: &Shared,
    txn: &mut Txn,
    heap: &Arc<Heap>,
    rows: &Batch,
    taken: Range<usize>,
    page_index: u32,
    slots: &[u16],
) -> Result<(), StorageError> {
    let mut entries = std::mem::take(&mut txn.index_entries);
    let result = insert_all(shared, txn, heap, rows, taken, page_index, slots, &mut entries);
    txn.index_entries = entries;
    result
}

#[allow(clippy::too_many_arguments, reason = "the caller's, and what it keeps between calls")]
fn insert_all(
    shared: &Shared,
    txn: &mut Txn,
    heap: &Arc<Heap>,
    rows: &Batch,
    taken: Range<usize>,
    page_index: u32,
    slots: &[u16],
    entries: &mut Entries,
) -> Result<(), StorageError> {
    let mut rivals: Vec<Rival> = Vec::new();
    for index in heap.indexes.list().iter() {
        entries.clear();
        rivals.clear();
        let columns: KeyColumns<'_> = index.ordinals.iter().map(|ordinal| &rows.columns[*ordinal]).collect();
        if index.is_inverted() {
            txn.hold_keys(inverted_bytes(columns.iter().copied(), &taken))?;
        }
        for (row, slot) in taken.clone().zip(slots) {
            let record = RecordId { page_index, slot: *slot };
            push_row(index, &columns, row, record, entries).map_err(|error| bad_key(heap, error))?;
        }
        entries.sort();
        if index.excludes() {
            add_excluding(txn, heap, index, entries)?;
            continue;
        }
        {
            let gate = heap.indexes.enter();
            if !is_listed(&gate, index) {
                continue;
            }
            let written = index.add(shared, txn.id, entries, false, &mut rivals)?;
            txn.wrote(written.lsns());
        }
        if let Some(reader) = &txn.reader {
            reader.wrote_keys(heap.object, index.object(), entries.iter())?;
        }
        settle_rivals(txn, heap, index, entries, &rivals)?;
    }
    if entries.heap_bytes() > ENTRIES_KEPT {
        *entries = Entries::default();
    }
    txn.let_keys_go();
    Ok(())
}

/// Adds keys of inserted records to the index of an exclusion constraint, and looks who excludes them (XC1): now, or later
/// where the constraint is deferred.
fn add_excluding(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    index: &Arc<Index>,
    entries: &Entries,
) -> Result<(), StorageError> {
    let met = {
        let gate = heap.indexes.enter();
        if !is_listed(&gate, index) {
            return Ok(());
        }
        exclusion::add(txn, heap, index, entries)?
    };
    if let Some(reader) = &txn.reader {
        reader.wrote_keys(heap.object, index.object(), entries.iter())?;
    }
    exclusion::settle_all(txn, heap, index, entries, met)
}

/// Keys that a mini-transaction has added along with their record.
#[derive(Default)]
pub(crate) struct AddedKeys {
    /// Indexes from the front of the list that have the record's entry.
    done: usize,
    /// Which of them, and who else has the same key there.
    rivals: SmallVec<[(usize, Rival); 2]>,
}

impl AddedKeys {
    /// Whether all of so many indexes have the key, and nobody else has the same.
    #[inline]
    pub(crate) fn is_all_of(&self, indexes: usize) -> bool {
        self.rivals.is_empty() && self.done == indexes
    }
}

/// Adds the keys of one record, which the mini-transaction inserts, to as many indexes in turn as take them without
/// changing their structure. The gate of the indexes is held; [`added`] follows when the mini-transaction is committed.
pub(crate) fn add_within<'e>(
    shared: &'e Shared,
    mini: &mut Mini<'e>,
    indexes: &[Arc<Index>],
    rows: &Batch,
    record: RecordId,
    entries: &mut Entries,
    leaves: &mut LeafHints,
) -> Result<AddedKeys, StorageError> {
    let mut keys = AddedKeys::default();
    let mut rivals = Vec::new();
    for (at, index) in indexes.iter().enumerate() {
        // A key that cannot be made is an error of the statement, which the general way tells; so are many keys left to it.
        // Those of an exclusion constraint come one after the other, too.
        if index.is_inverted()
            || index.excludes()
            || encode_entry(index, rows, 0, record, entries).is_err()
            || !index.add_within(shared, mini, entries, leaves, &mut rivals)?
        {
            break;
        }
        keys.done += 1;
        if !rivals.is_empty() {
            keys.rivals.extend(rivals.drain(..).map(|rival| (at, rival)));
        }
    }
    Ok(keys)
}

/// What follows [`add_within`] of these indexes: the others of them, a look at who has the same keys (I2), and what a serializable
/// transaction wrote.
pub(crate) fn added(
    shared: &Shared,
    txn: &mut Txn,
    heap: &Arc<Heap>,
    indexes: &[Arc<Index>],
    rows: &Batch,
    record: RecordId,
    keys: AddedKeys,
) -> Result<(), StorageError> {
    let mut entries = std::mem::take(&mut txn.index_entries);
    let mut rest = || {
        let mut rivals = Vec::new();
        for (at, index) in indexes.iter().enumerate() {
            encode_entry(index, rows, 0, record, &mut entries).map_err(|error| bad_key(heap, error))?;
            rivals.clear();
            if index.excludes() {
                add_excluding(txn, heap, index, &entries)?;
                continue;
            }
            if at < keys.done {
                let its = keys.rivals.iter().filter(|(of, _)| *of == at);
                rivals.extend(its.map(|(_, rival)| *rival));
            } else {
                let gate = heap.indexes.enter();
                if !is_listed(&gate, index) {
                    continue;
                }
                let written = index.add(shared, txn.id, &entries, false, &mut rivals)?;
                txn.wrote(written.lsns());
            }
            if let Some(reader) = &txn.reader {
                reader.wrote_keys(heap.object, index.object(), entries.iter())?;
            }
            settle_rivals(txn, heap, index, &entries, &rivals)?;
        }
        Ok(())
    };
    let result = rest();
    txn.index_entries = entries;
    result
}

/// Whether an index still is the table's: one that was being filled may have gone with its transaction.
fn is_listed(gate: &[Arc<Index>], index: &Arc<Index>) -> bool {
    gate.iter().any(|listed| Arc::ptr_eq(listed, index))
}

/// Adds the entries of a row.
#[inline]
fn push_row(
    index: &Index,
    columns: &[&Column],
    row: usize,
    record: RecordId,
    entries: &mut Entries,
) -> Result<(), TypeError> {
    let parts = &index.spec().parts;
    if index.is_inverted() {
        let mut keys = Keys::default();
        keys_of_row(parts, columns, row, &mut keys)?;
        entries.push_keys(&keys, record, true);
        return Ok(());
    }
    entries.push_with(record, |out| Ok(index.is_free(encode_row(parts, columns, row, out)?)))
}

/// Makes `entries` those of a row: one, but of an inverted index.
fn encode_entry(
    index: &Index,
    rows: &Batch,
    row: usize,
    record: RecordId,
    entries: &mut Entries,
) -> Result<(), TypeError> {
    if index.is_inverted() {
        entries.clear();
        let columns: KeyColumns<'_> = index.ordinals.iter().map(|ordinal| &rows.columns[*ordinal]).collect();
        push_row(index, &columns, row, record, entries)?;
        entries.sort();
        return Ok(());
    }
    entries.set_with(record, |out| {
        let mut any_null = false;
        for (part, ordinal) in index.spec().parts.iter().zip(&index.ordinals) {
            let column = &rows.columns[*ordinal];
            if !part.guard {
                any_null |= encode_part(part, column, row, out)?;
            } else if column.is_null(row) {
                out.clear();
                return Ok(true);
            }
        }
        Ok(index.is_free(any_null))
    })
}

/// Looks at who else has the keys that were added (I2): now, or later where the constraint is deferred.
fn settle_rivals(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    index: &Arc<Index>,
    entries: &Entries,
    rivals: &[Rival],
) -> Result<(), StorageError> {
    if txn.unique.is_dropped(index.object()) {
        return Ok(());
    }
    let deferred = txn.unique.is_deferred(index.object());
    for rival in rivals {
        let item = rival.item as usize;
        if deferred {
            let depth = txn.statement_depth();
            txn.unique.note(heap, index, entries.record(item), entries.key(item), depth);
        } else {
            check_record(txn, heap, index, entries.key(item), rival.record)?;
        }
    }
    txn.hold_keys(0)
}
