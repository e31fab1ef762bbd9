//! Keys of changed records: what a version entry has to keep, which keys a change brings, which it takes away at once (I4).

use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::inverted::Keys;
use verso_types::{Batch, Column};

use super::inverted_bytes;
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::PageLayout;
use crate::heap::moved;
use crate::heap::slice::bit;
use crate::index::Index;
use crate::index::entries::Entries;
use crate::index::exclusion;
use crate::index::stale::{self, OldKeys};
use crate::index::tree::Rival;
use crate::index::versions::Versions;
use crate::mini::{Mini, PageHandle};
use crate::page::{RecordId, TxnId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::Txn;

/// Whether a change of `columns` has to be looked at again when its version entry is retired. Not only where keys differ:
/// a later change by the same transaction, which does make a difference, may find its columns in that entry (V3).
#[inline]
pub(crate) fn concerned(heap: &Heap, columns: &[u16]) -> bool {
    heap.indexes.any()
        && heap
            .indexes
            .list()
            .iter()
            .any(|index| index.spec().parts.iter().any(|part| columns.contains(&part.column)))
}

/// Columns whose old values a version entry keeps when `columns` change: key columns of one index stay together, so
/// that a purge finds whole keys.
pub(crate) fn saved_columns(heap: &Heap, columns: &[u16]) -> SmallVec<[u16; 8]> {
    if !heap.indexes.any() {
        return SmallVec::from_slice(columns);
    }
    let mut saved: SmallVec<[u16; 8]> = SmallVec::new();
    let list = heap.indexes.list();
    loop {
        let before = saved.len();
        for index in list.iter() {
            let parts = || index.spec().parts.iter().map(|part| part.column);
            // Also those that share a column with an index saved already: an entry must not hold a part of their keys.
            if parts().any(|column| columns.contains(&column) || saved.contains(&column)) {
                for column in parts() {
                    if !saved.contains(&column) {
                        saved.push(column);
                    }
                }
            }
        }
        if saved.len() == before {
            break;
        }
    }
    // Keys first: an entry too large for its page is cut behind them.
    let keys = saved.len();
    for column in columns {
        if !saved[..keys].contains(column) {
            saved.push(*column);
        }
    }
    saved
}

/// The old values of a record are to be split over version entries, perhaps between columns of one key: whole keys are
/// noted beside them.
#[allow(clippy::too_many_arguments, reason = "all of them describe one record")]
pub(crate) fn note_split<'e>(
    shared: &'e Shared,
    txn: &mut Txn,
    mini: &mut Mini<'e>,
    heap: &Heap,
    home: PageHandle,
    layout: &PageLayout,
    page_index: u32,
    slot: u16,
    saved: &[u16],
) -> Result<(), StorageError> {
    for index in heap.indexes.list().iter() {
        if !index.spec().parts.iter().all(|part| saved.contains(&part.column)) || disabled(Rule::I3Split) {
            continue;
        }
        let mut keys = OldKeys { slots: vec![slot], columns: Vec::new() };
        for part in &index.spec().parts {
            let place = layout.ordinal(part.column).map(|ordinal| &layout.columns[ordinal]);
            let place = place.ok_or(StorageError::NoSuchObject(heap.object))?;
            if place.is_variable() {
                // By way of the mini-transaction, which may hold the page where the value is.
                keys.columns.push(moved::copied(mini, heap, home, place, &[slot])?);
                continue;
            }
            let (page, at) = (mini.page(home), place.data + usize::from(slot) * place.width);
            let mut column = Column::new(place.physical);
            if bit(&page[place.nulls..], usize::from(slot)) {
                column.push_null();
            } else {
                column.extend_fixed_raw(&page[at..at + place.width]);
            }
            keys.columns.push(column);
        }
        stale::note(shared, txn, mini, heap, index, page_index, &keys)?;
    }
    Ok(())
}

/// The keys of one index that a change brings and has taken away.
struct KeyChange {
    index: Arc<Index>,
    add: Entries,
    gone: Entries,
}

/// The keys that a change of records of one page brings and takes away.
pub(crate) struct KeyChanges(SmallVec<[KeyChange; 2]>);

/// Records of a latched page are about to be updated: what that means for keys, if it changes any. Keys superseded twice
/// go already (I4).
#[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
pub(crate) fn before_change(
    shared: &Shared,
    txn: &mut Txn,
    heap: &Heap,
    page: &[u8],
    layout: &PageLayout,
    page_index: u32,
    slots: &[u16],
    update: Option<(&[u16], &Batch, usize)>,
) -> Result<Option<KeyChanges>, StorageError> {
    let Some((columns, values, first_row)) = update.filter(|_| heap.indexes.any()) else { return Ok(None) };
    let mut changes: SmallVec<[KeyChange; 2]> = SmallVec::new();
    let (mut old, mut new, mut lost) = (Keys::default(), Keys::default(), Keys::default());
    for index in heap.indexes.list().iter() {
        let parts = &index.spec().parts;
        if !parts.iter().any(|part| columns.contains(&part.column)) {
            continue;
        }
        if index.is_inverted() {
            let rows = first_row..first_row + slots.len();
            let its = columns.iter().zip(&values.columns);
            let its = its.filter(|(column, _)| parts.iter().any(|part| part.column == **column));
            txn.hold_keys(inverted_bytes(its.map(|(_, column)| column), &rows))?;
        }
        let (mut add, mut gone) = (Entries::default(), Entries::default());
        for (row, slot) in (first_row..).zip(slots) {
            let home = Versions::home(shared, heap, index, page, layout, page_index, *slot);
            home.keys(&mut old)?;
            let any_null = updated_keys(&home, columns, values, row, &mut new)?;
            if old == new {
                continue;
            }
            let record = RecordId { page_index, slot: *slot };
            if home.writer == txn.id && !disabled(Rule::I4) {
                let _walking = shared.versions.walk();
                let horizon = shared.transactions.horizon();
                lost.clone_from(&old);
                lost.subtract(&new);
                let mut before = home;
                if before.older_writer()? {
                    before.keep_unheld(&mut lost, horizon)?;
                }
                gone.push_keys(&lost, record, true);
            }
            new.subtract(&old);
            add.push_keys(&new, record, index.is_free(any_null));
        }
        if !add.is_empty() || !gone.is_empty() {
            changes.push(KeyChange { index: Arc::clone(index), add, gone });
        }
    }
    if changes.is_empty() {
        return Ok(None);
    }
    let mut done = Ok(());
    for change in &mut changes {
        change.add.sort();
        change.gone.sort();
        if done.is_ok() && !change.gone.is_empty() {
            if let Some(own) = &txn.own_changes {
                own.keep_keys(change.index.object(), &change.gone);
            }
            done = change.index.remove(shared, txn.id, &change.gone).map(|_| ());
        }
    }
    let changes = KeyChanges(changes);
    match done {
        Ok(()) => Ok(Some(changes)),
        Err(error) => {
            changes.give_back(shared, txn.id)?;
            Err(error)
        }
    }
}

/// The keys that a record has after an update; whether a part is NULL.
fn updated_keys(
    home: &Versions<'_>,
    columns: &[u16],
    values: &Batch,
    row: usize,
    keys: &mut Keys,
) -> Result<bool, StorageError> {
    home.keys_by(keys, |_, part, take| {
        let Some(at) = columns.iter().position(|column| *column == part.column) else {
            return home.with_raw(part, take);
        };
        let column = &values.columns[at];
        take((!column.is_null(row)).then(|| column.raw_at(row)));
        Ok(())
    })
}

impl KeyChanges {
    /// Puts the keys back that went before a change that failed.
    fn give_back(&self, shared: &Shared, txn: TxnId) -> Result<(), StorageError> {
        let mut rivals = Vec::new();
        for change in self.0.iter().filter(|change| !change.gone.is_empty()) {
            change.index.add(shared, txn, &change.gone, true, &mut rivals)?;
        }
        Ok(())
    }
}

/// The change was made, or failed as `done` says: then keys that went are given back, else the new ones are added.
pub(crate) fn after_change(
    shared: &Shared,
    txn: &mut Txn,
    heap: &Arc<Heap>,
    changes: Option<KeyChanges>,
    done: Result<(), StorageError>,
) -> Result<(), StorageError> {
    let Some(changes) = changes else { return done };
    if let Err(error) = done {
        if changes.give_back(shared, txn.id).is_err() {
            txn.break_off();
        }
        return Err(error);
    }
    let mut rivals: Vec<Rival> = Vec::new();
    for change in &changes.0 {
        if change.index.excludes() {
            add_excluding(txn, heap, change)?;
            continue;
        }
        rivals.clear();
        let written = change.index.add(shared, txn.id, &change.add, false, &mut rivals)?;
        txn.wrote(written.lsns());
        if let Some(reader) = &txn.reader {
            reader.wrote_keys(heap.object, change.index.object(), change.add.iter())?;
        }
        if txn.unique.is_dropped(change.index.object()) {
            continue;
        }
        let depth = txn.statement_depth();
        let mut last = None;
        for item in rivals.iter().map(|rival| rival.item as usize) {
            if last != Some(item) {
                txn.unique.note(heap, &change.index, change.add.record(item), change.add.key(item), depth);
            }
            last = Some(item);
        }
    }
    txn.hold_keys(0)
}

/// The same for the index of an exclusion constraint: records that have met others are looked at when the statement ends, or the
/// constraint is due.
fn add_excluding(txn: &mut Txn, heap: &Arc<Heap>, change: &KeyChange) -> Result<(), StorageError> {
    let index = &change.index;
    let met = exclusion::add(txn, heap, index, &change.add)?;
    if let Some(reader) = &txn.reader {
        reader.wrote_keys(heap.object, index.object(), change.add.iter())?;
    }
    exclusion::note_all(txn, heap, index, &change.add, met);
    txn.hold_keys(0)
}
