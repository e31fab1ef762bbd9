//! Keeping a table's indexes in step with its records.
//!
//! ```text
//! insert, update   heap ─► log ─► entries of the new keys              (a crash in between leaves a dead writer)
//! undo, back-out   entries the undone versions had ─► out ─► heap      (a crash in between: back-out begins again)
//! purge            entries the superseded version had ─► out, unless another version has them
//! ```
//!
//! I3. An entry is removed only with the home page latched, and only if no reachable version of the record has its key.
//! I4. Undo compares the keys of the home record before with those after. A key that one transaction supersedes twice is
//!     in no version entry, so nobody would purge it: it goes at once, before the change, and undo brings it back.
//!
//! A version entry that holds key columns holds all of that index, so a purge knows the whole key.
//! Latches: home page, then the trees'; never the other way round.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::{Batch, Column};

use super::Index;
use super::entries::Entries;
use super::hint::LeafHints;
use super::key::{encode_part, encode_row};
use super::stale::{self, OldKeys};
use super::tree::Rival;
use super::unique::check_record;
use super::versions::{Versions, slice_value};
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::moved;
use crate::heap::slice::{ColumnSlice, bit};
use crate::heap::slots::Slots;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{Flaw, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::{ImageRun, PageUndo};
use crate::txn::image_store::ImageStore;
use crate::txn::transaction::Txn;
use crate::version::entry::Entry;

/// Columns in the order of a key's parts.
type KeyColumns<'a> = SmallVec<[&'a Column; 4]>;

fn bad_key(heap: &Heap, error: verso_types::TypeError) -> StorageError {
    StorageError::corrupt(heap.root, heap.object, Flaw::new(error.message))
}

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
        for (row, slot) in taken.clone().zip(slots) {
            let record = RecordId { page_index, slot: *slot };
            entries
                .push_with(record, |out| {
                    let any_null = encode_row(&index.spec().parts, &columns, row, out)?;
                    Ok(index.is_free(any_null))
                })
                .map_err(|error| bad_key(heap, error))?;
        }
        entries.sort();
        {
            let _gate = heap.indexes.enter();
            let written = index.add(shared, txn.id, entries, false, &mut rivals)?;
            txn.wrote(written.lsns());
        }
        if let Some(reader) = &txn.reader {
            reader.wrote_keys(heap.object, index.object(), entries.iter())?;
        }
        settle_rivals(txn, heap, index, entries, &rivals)?;
    }
    Ok(())
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
        // A key that cannot be made is an error of the statement, which the general way tells.
        if encode_entry(index, rows, 0, record, entries).is_err()
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

/// What follows [`add_within`]: the other indexes, a look at who has the same keys (I2), and what a serializable
/// transaction wrote.
pub(crate) fn added(
    shared: &Shared,
    txn: &mut Txn,
    heap: &Arc<Heap>,
    rows: &Batch,
    record: RecordId,
    keys: AddedKeys,
) -> Result<(), StorageError> {
    let indexes = heap.indexes.list();
    let mut entries = std::mem::take(&mut txn.index_entries);
    let mut rest = || {
        let mut rivals = Vec::new();
        for (at, index) in indexes.iter().enumerate() {
            encode_entry(index, rows, 0, record, &mut entries).map_err(|error| bad_key(heap, error))?;
            rivals.clear();
            if at < keys.done {
                let its = keys.rivals.iter().filter(|(of, _)| *of == at);
                rivals.extend(its.map(|(_, rival)| *rival));
            } else {
                let _gate = heap.indexes.enter();
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

/// Makes `entries` the one entry of a row.
fn encode_entry(
    index: &Index,
    rows: &Batch,
    row: usize,
    record: RecordId,
    entries: &mut Entries,
) -> Result<(), verso_types::TypeError> {
    entries.set_with(record, |out| {
        let mut any_null = false;
        for (part, ordinal) in index.spec().parts.iter().zip(&index.ordinals) {
            any_null |= encode_part(part, &rows.columns[*ordinal], row, out)?;
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
    Ok(())
}

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
    txn: &Txn,
    heap: &Heap,
    page: &[u8],
    layout: &PageLayout,
    page_index: u32,
    slots: &[u16],
    update: Option<(&[u16], &Batch, usize)>,
) -> Result<Option<KeyChanges>, StorageError> {
    let Some((columns, values, first_row)) = update.filter(|_| heap.indexes.any()) else { return Ok(None) };
    let mut changes: SmallVec<[KeyChange; 2]> = SmallVec::new();
    let (mut old, mut new) = (Vec::new(), Vec::new());
    for index in heap.indexes.list().iter() {
        let parts = &index.spec().parts;
        if !parts.iter().any(|part| columns.contains(&part.column)) {
            continue;
        }
        let (mut add, mut gone) = (Entries::default(), Entries::default());
        for (row, slot) in (first_row..).zip(slots) {
            let home = Versions::home(shared, heap, index, page, layout, page_index, *slot);
            old.clear();
            new.clear();
            home.key(&mut old)?;
            let any_null = updated_key(&home, index, columns, values, row, &mut new)
                .map_err(|error| error.unwrap_or_else(|error| bad_key(heap, error)))?;
            if old == new {
                continue;
            }
            let record = RecordId { page_index, slot: *slot };
            add.push(&new, record, index.is_free(any_null));
            if home.writer == txn.id && !disabled(Rule::I4) {
                let _walking = shared.versions.walk();
                let horizon = shared.transactions.horizon();
                let mut before = home;
                if !(before.older_writer()? && before.hold(&old, horizon)?) {
                    gone.push(&old, record, true);
                }
            }
        }
        if !add.is_empty() {
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

/// The key that a record has after an update.
fn updated_key(
    home: &Versions<'_>,
    index: &Index,
    columns: &[u16],
    values: &Batch,
    row: usize,
    out: &mut Vec<u8>,
) -> Result<bool, Result<StorageError, verso_types::TypeError>> {
    let mut any_null = false;
    for part in &index.spec().parts {
        match columns.iter().position(|column| *column == part.column) {
            Some(at) => {
                let column = &values.columns[at];
                let null = column.is_null(row);
                any_null |= null;
                part.order().encode_raw((!null).then(|| column.raw_at(row)), out).map_err(Err)?;
            }
            None => any_null |= home.part(part, out).map_err(Ok)?,
        }
    }
    Ok(any_null)
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
        rivals.clear();
        let written = change.index.add(shared, txn.id, &change.add, false, &mut rivals)?;
        txn.wrote(written.lsns());
        if let Some(reader) = &txn.reader {
            reader.wrote_keys(heap.object, change.index.object(), change.add.iter())?;
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
    Ok(())
}

/// Keys that records get back when they are restored.
pub(crate) type Restored = SmallVec<[(Arc<Index>, Entries); 1]>;

/// What `writer` did to records of a latched page is about to be undone: all of it, or what a frame says. Returns what
/// [`after_undo`] has to bring back.
pub(crate) fn before_undo(
    shared: &Shared,
    heap: &Heap,
    page: &[u8],
    page_index: u32,
    writer: TxnId,
    frame: Option<(&PageUndo, &ImageStore)>,
) -> Result<Restored, StorageError> {
    let mut all = Restored::new();
    if !heap.indexes.any() {
        return Ok(all);
    }
    let layout = PageLayout::of(page)
        .map_err(|flaw| StorageError::corrupt(header::page_id(page), heap.object, flaw))?;
    let _walking = shared.versions.walk();
    let horizon = shared.transactions.horizon();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let runs = match frame {
        Some((frame, store)) => frame
            .images
            .iter()
            .map(|run| {
                let bytes = store.read(&shared.core().pool, &run.place)?;
                Ok((run, bytes, store.columns(run.columns)))
            })
            .collect::<Result<Vec<_>, StorageError>>()?,
        None => Vec::new(),
    };
    let images = runs
        .iter()
        .map(|(run, bytes, wanted)| Image::decode(run, bytes, wanted))
        .collect::<Result<Vec<_>, Flaw>>()
        .map_err(|flaw| StorageError::corrupt(heap.root, heap.object, flaw))?;
    for index in heap.indexes.list().iter() {
        let (mut gone, mut back) = (Entries::default(), Entries::default());
        for slot in 0..u16_at(page, SLOT_HIGH) {
            if u64_at(page, layout.writer + usize::from(slot) * 8) != writer.0 {
                continue;
            }
            let home = Versions::home(shared, heap, index, page, &layout, page_index, slot);
            let record = RecordId { page_index, slot };
            before.clear();
            home.key(&mut before)?;
            if frame.is_none_or(|(frame, _)| frame.bits.contains(slot)) {
                // Step back: to the version of somebody else, or to nothing.
                let mut rest = home;
                if !(rest.older_writer()? && rest.hold(&before, horizon)?) {
                    gone.push(&before, record, true);
                }
                continue;
            }
            let mut restored = home.clone();
            let mut touched = false;
            // Older images stand in front and win, so they are put last.
            for image in images.iter().rev().filter(|image| image.run.slots.contains(slot)) {
                if let Some(rank) = image.slots.rank(slot) {
                    restored.put(&image.slices, rank)?;
                    touched = true;
                }
            }
            if !touched {
                continue;
            }
            after.clear();
            let any_null = restored.key(&mut after)?;
            if after == before {
                continue;
            }
            back.push(&after, record, index.is_free(any_null));
            let mut rest = home;
            if !(rest.older_writer()? && rest.hold(&before, horizon)?) {
                gone.push(&before, record, true);
            }
        }
        if !back.is_empty() && !disabled(Rule::I4) {
            back.sort();
            all.push((Arc::clone(index), back));
        }
        if !gone.is_empty() && !disabled(Rule::I3Undo) {
            gone.sort();
            index.remove(shared, TxnId::NONE, &gone)?;
        }
    }
    Ok(all)
}

/// The records are as they were: their keys come back. Not before, or a crash in between would leave entries of a
/// version that back-out does not know of.
pub(crate) fn after_undo(shared: &Shared, txn: TxnId, restored: &Restored) -> Result<(), StorageError> {
    for (index, entries) in restored {
        index.add(shared, txn, entries, true, &mut Vec::new())?;
    }
    Ok(())
}

/// An image with its slices, those columns left out that do not matter any more.
struct Image<'a> {
    run: &'a ImageRun,
    slots: Slots<'a>,
    slices: Vec<ColumnSlice<'a>>,
}

impl<'a> Image<'a> {
    fn decode(run: &'a ImageRun, bytes: &'a [u8], wanted: &[u16]) -> Result<Image<'a>, Flaw> {
        let mut at = 0;
        let slots = Slots::decode(bytes, &mut at)?;
        let mut slices = Vec::new();
        while at < bytes.len() {
            let slice = ColumnSlice::decode(bytes, &mut at, slots.len())?;
            if wanted.contains(&slice.id) {
                slices.push(slice);
            }
        }
        Ok(Image { run, slots, slices })
    }
}

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
