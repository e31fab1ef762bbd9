//! Undo: of a frame, and of what a dead transaction left (back-out).
//!
//! Both step records back along their own entries: the newest entry's columns are restored, liveness set, the prior
//! writer and pointer taken, until the writer is somebody else; without an entry the record was inserted and its slot
//! becomes free. Undo is logged like any change, so recovery never undoes. It may use the file's reserve: it never
//! fails for want of space.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_types::Physical;

use super::apply::{self, EACH, SET_LIVE, UNIFORM};
use super::layout::{FLAG_ALIKE, PageLayout, SLOT_HIGH, physical_code};
use super::slice::{ColumnSlice, REFERENCE, Variable};
use super::slots::{SlotSet, Slots};
use super::table::Heap;
use super::{image, moved, overflow};
use crate::StorageError;
use crate::engine::RoomInLog;
use crate::index::maintain;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{Flaw, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::{Frame, ImageRun, OwnValue, PageUndo, Voidable};
use crate::txn::image_store::ImageStore;
use crate::txn::transaction::Txn;
use crate::version::entry::{Entry, VersionPointer};
use crate::wal::{LogLookup, Promise, RecordKind};

/// Bytes of old values of one page that may have to move to chains; room in the log for them is made before anything
/// is changed.
const OLD_VALUES: usize = 256 << 10;

/// Undoes a frame (F2). Where the log has no room a checkpoint is made, which may give it some; if it does not, what is still to
/// be undone stays in the frame, to be tried again.
///
/// # Errors
/// `Full`; `Corrupt`, `Io`, `Poisoned`, and the transaction can only be marked dead then.
pub fn undo_frame(txn: &mut Txn, frame: &mut Frame) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    for at in 0..frame.voids.len() {
        // Nothing leads to the entry any more then, and what it names is gone.
        let stepped_back = frame.voids[at].own_value.is_some_and(|OwnValue { table, record, .. }| {
            frame.find(table, record.page_index).is_some_and(|undo| undo.bits.contains(record.slot))
        });
        if stepped_back {
            frame.voids[at].own_value = None;
        }
    }
    let mut log = shared.core().wal.lookup();
    let mut tables = frame.take_tables();
    while let Some((table, pages)) = tables.next() {
        // It may have been created and freed within the frame.
        let Some(heap) = shared.heap_if_there(table)? else { continue };
        let mut pages = pages.into_iter();
        while let Some((page_index, mut undo)) = pages.next() {
            let (mut room, mut bytes) = (RoomInLog::new(), OLD_VALUES);
            while let Err(error) = undo_page(txn, &shared, &heap, page_index, (&mut undo, bytes), &mut log) {
                // Few pages need as much, and the room beyond what is promised takes them in most cases.
                let mut is_less = || error.is_full_log() && std::mem::take(&mut bytes) > 0;
                if room.is_there_after(&shared, &error) || is_less() {
                    continue;
                }
                if error.is_full_disk() {
                    *frame.page(table, page_index) = undo;
                    pages.for_each(|(index, undo)| *frame.page(table, index) = undo);
                    tables.for_each(|(table, pages)| frame.put_back(table, pages));
                }
                return Err(error);
            }
        }
    }
    while let Some(Voidable { pointer, own_value }) = frame.voids.pop() {
        if let Some(value) = own_value
            && is_left_over(&shared, &value)?
        {
            // Until the frame around is undone, too.
            if let Some(parent) = txn.frame() {
                parent.voids.push(Voidable { pointer, own_value });
            }
            continue;
        }
        let mut room = RoomInLog::new();
        while let Err(error) = void(&shared, txn.id, pointer) {
            if !room.is_there_after(&shared, &error) {
                frame.voids.push(Voidable { pointer, own_value: None });
                return Err(error);
            }
        }
    }
    let mut created = std::mem::take(&mut frame.created).into_iter();
    while let Some(object) = created.next() {
        let mut room = RoomInLog::new();
        while let Err(error) = shared.free_object(object) {
            if !room.is_there_after(&shared, &error) {
                frame.created = std::iter::once(object).chain(created).collect();
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Undoes what a frame knows of one page, of which so many bytes of old values may move to chains. `Full` has changed nothing.
fn undo_page(
    txn: &mut Txn,
    shared: &Shared,
    heap: &Heap,
    page_index: u32,
    (undo, old_values): (&mut PageUndo, usize),
    log: &mut LogLookup<'_>,
) -> Result<(), StorageError> {
    let id = txn.id;
    // Where it is: a page with changes of a transaction that has not ended is not packed.
    let Some(page) = heap.page_at(page_index)? else { return Ok(()) };
    image::fetch(log, page, undo)?;
    let _gate = heap.indexes.enter();
    let mut mini = Mini::begin(shared.core(), id);
    mini.use_reserve();
    match old_values {
        0 => mini.reserve(0)?,
        bytes => overflow::reserve(&mut mini, bytes)?,
    }
    let Some(home) = heap.write_home(&mut mini, page_index)? else { return Ok(()) };
    let restored =
        maintain::before_undo(shared, heap, mini.page(home), page_index, id, Some((undo, &txn.images)))?;
    // The keys that come back are logged behind the page: they must not be refused then.
    let promised = match restored.is_empty() {
        true => None,
        false => Some(shared.core().wal.reserve_kept(Promise::GROUP_MAX)?),
    };
    let undone = step_back(shared, heap, &mut mini, home, page_index, id, Some(&undo.bits))
        .and_then(|()| restore_images(shared, &txn.images, heap, &mut mini, home, undo));
    if let Err(error) = undone {
        // The transaction can only die; back-out does the rest, from wherever it finds the records.
        if error.is_of_a_page() && !mini.is_empty() {
            mini.commit()?;
        }
        return Err(error);
    }
    heap.room.note(page_index, mini.page(home));
    let lsns = mini.commit()?;
    txn.wrote(lsns);
    drop(promised);
    let mut room = RoomInLog::new();
    while let Err(error) = maintain::after_undo(shared, id, &restored) {
        if !room.is_there_after(shared, &error) {
            // Not to be tried again with the page, which is undone.
            tracing::error!(%error, table = heap.object.0, "keys of undone rows are not in their indexes: REINDEX the table");
            return Err(StorageError::MustRollback);
        }
    }
    Ok(())
}

/// The entry is not to be purged.
fn void(shared: &Shared, txn: TxnId, pointer: VersionPointer) -> Result<(), StorageError> {
    let mut mini = Mini::begin(shared.core(), txn);
    mini.use_reserve();
    let handle = mini.write(pointer.page())?;
    mini.apply(handle, RecordKind::VERSION_VOID, &(pointer.offset() as u16).to_le_bytes())?;
    mini.commit().map(drop)
}

/// Whether undoing a frame has left a value of the transaction's own to the entry that names it: the record, which was
/// not stepped back, got another one.
fn is_left_over(shared: &Shared, value: &OwnValue) -> Result<bool, StorageError> {
    let OwnValue { table, record, column, raw } = *value;
    let Some(heap) = shared.heap_if_there(table)? else { return Ok(false) };
    let Some(home) = heap.home(&shared.core().pool, record.page_index, false)? else { return Ok(false) };
    if home.is_packed() {
        return Ok(false); // it has no values elsewhere (P1)
    }
    let (id, page) = (home.id(), home.latched());
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, table, flaw))?;
    let place = layout.ordinal(column).map(|ordinal| layout.columns[ordinal]);
    Ok(place.is_some_and(|place| u64_at(page, place.data + usize::from(record.slot) * 8) != raw))
}

/// Backs out whatever the dead `writer` left on a page. Nothing happens when nothing is left.
///
/// # Errors
/// `Corrupt`, `Io`, `Poisoned`.
pub fn back_out_page(
    shared: &Shared,
    heap: &Heap,
    page_index: u32,
    writer: TxnId,
) -> Result<(), StorageError> {
    let _gate = heap.indexes.enter();
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.use_reserve();
    overflow::reserve(&mut mini, OLD_VALUES)?;
    let Some(home) = heap.write_home(&mut mini, page_index)? else { return Ok(()) };
    if header::kind(mini.page(home)) != Some(PageKind::Data) || header::owner(mini.page(home)) != heap.object
    {
        return Ok(());
    }
    maintain::before_undo(shared, heap, mini.page(home), page_index, writer, None)?;
    let stepped = step_back(shared, heap, &mut mini, home, page_index, writer, None);
    // Where a damaged page stops it, what is done is done: each step alone leaves an older version of the record.
    if !mini.is_empty() && stepped.as_ref().err().is_none_or(StorageError::is_of_a_page) {
        heap.room.note(page_index, mini.page(home));
        mini.commit()?;
    }
    stepped
}

/// Values elsewhere that lost their place in a home record while it was stepped back: slot, ordinal of the column, raw value slot.
type Passed = Vec<(u16, usize, u64)>;

/// Steps the records of `writer` (those of `only`, when given) back to the newest version of somebody else. A value
/// elsewhere may pass the home record more than once on the way, when it was restored by the undo of a savepoint before, so
/// these are freed at the end.
fn step_back<'e>(
    shared: &'e Shared,
    heap: &'e Heap,
    mini: &mut Mini<'e>,
    home: PageHandle,
    page_index: u32,
    writer: TxnId,
    only: Option<&SlotSet>,
) -> Result<(), StorageError> {
    let mut passed = Passed::new();
    loop {
        let page = mini.page(home);
        let corrupt = |flaw: Flaw| StorageError::corrupt(mini.page_id(home), heap.object, flaw);
        let layout = PageLayout::of(page).map_err(corrupt)?;
        let mut groups: BTreeMap<u64, Vec<u16>> = BTreeMap::new();
        let high = u16_at(page, SLOT_HIGH);
        let mut each = 0..high;
        if header::flags(page) & FLAG_ALIKE != 0 && only.is_none() && high > 0 {
            if u64_at(page, layout.writer) == writer.0 {
                groups.insert(u64_at(page, layout.back), (0..high).collect());
            }
            each = 0..0;
        }
        for slot in each {
            let at = usize::from(slot) * 8;
            if u64_at(page, layout.writer + at) == writer.0 && only.is_none_or(|only| only.contains(slot)) {
                groups.entry(u64_at(page, layout.back + at)).or_default().push(slot);
            }
        }
        if groups.is_empty() {
            return free_passed(shared, heap, mini, home, &layout, passed);
        }
        for (back, slots) in groups {
            let pointer = VersionPointer(back);
            if pointer.is_none() {
                for ordinal in 0..layout.columns.len() {
                    note_chains(mini.page(home), &layout, &slots, ordinal, None, &mut passed);
                }
                let mut payload = Vec::new();
                Slots::from_list(&slots).encode(&mut payload);
                mini.apply(home, RecordKind::DATA_FREE, &payload)?;
                continue;
            }
            let flaw = |flaw: Flaw| StorageError::corrupt(pointer.page(), heap.object, flaw);
            // Copied, so that the version page is not latched while the change is made.
            let bytes = {
                let page = shared.core().pool.read(pointer.page())?;
                let entry = Entry::linked(&page, pointer.offset()).map_err(flaw)?;
                if header::incarnation(&page) != pointer.incarnation()
                    || entry.table() != heap.object
                    || entry.page_index() != page_index
                    || entry.writer() != writer
                {
                    return Err(flaw(Flaw::from("a back pointer leads to another record's version (V6)")));
                }
                entry.bytes().to_vec()
            };
            let entry = Entry::linked(&bytes, 0).map_err(flaw)?;
            if !entry.is_own() && restore_whole(mini, home, &layout, &slots, &entry)? {
                continue;
            }
            let mut slices = entry.columns().map_err(flaw)?;
            if entry.is_own() {
                // Not what the record was before, but to be freed, unless the undo of a savepoint has done so.
                for slice in slices.iter().filter(|_| !entry.is_void()) {
                    let Some(ordinal) = layout.ordinal(slice.id) else { continue };
                    for (slot, value) in entry.slots.iter().zip(slice.variables()) {
                        if let Variable::Reference(raw) = value {
                            passed.push((slot, ordinal, raw));
                        }
                    }
                }
                slices.clear();
            }
            let ranks: Option<Vec<usize>> = slots.iter().map(|slot| entry.slots.rank(*slot)).collect();
            let ranks = ranks.ok_or_else(|| {
                flaw(Flaw::from("a version entry without the record that points at it (V6)"))
            })?;
            let pairs: Vec<(u64, u64)> = ranks
                .iter()
                .map(|rank| {
                    let (writer, pointer) = entry.prior(*rank);
                    (writer.0, pointer.0)
                })
                .collect();
            restore(
                shared,
                heap,
                mini,
                home,
                &layout,
                &slots,
                &slices,
                &ranks,
                Some(&pairs),
                true,
                &mut passed,
            )?;
        }
        if disabled(Rule::F2) {
            return Ok(());
        }
    }
}

/// Restores all records of an entry, whose slices are then those of the log record as they stand. `false`, and nothing
/// changed, when these are others, or values in chains come or go, or the page has no room.
fn restore_whole(
    mini: &mut Mini<'_>,
    home: PageHandle,
    layout: &PageLayout,
    slots: &[u16],
    entry: &Entry<'_>,
) -> Result<bool, StorageError> {
    let (set, page) = (Slots::from_list(slots), mini.page(home));
    let (Slots::Run { first, count }, Slots::Run { first: start, count: all }) = (entry.slots, set) else {
        return Ok(false);
    };
    if (first, count) != (start, all) || !entry.is_uniform() {
        return Ok(false);
    }
    let corrupt = |flaw: Flaw| StorageError::corrupt(mini.page_id(home), header::owner(page), flaw);
    let (mut need, mut room, mut plain) = (0, apply::free_bytes(page, layout), true);
    let slices = entry.each_column(
        |_| true,
        |slice| match layout.ordinal(slice.id).map(|ordinal| &layout.columns[ordinal]) {
            Some(place) if place.is_variable() => {
                plain &= !slice.has_references() && !apply::any_chain(page, place, set);
                need += slice.inline_bytes();
                room += apply::inline(page, place, set).bytes;
            }
            Some(_) => {}
            None => plain = false,
        },
    );
    let slices = slices.map_err(corrupt)?;
    if !plain || need > room {
        return Ok(false);
    }
    let (writer, back) = entry.prior(0);
    mini.apply_with(home, RecordKind::DATA_UPDATE, |out| {
        out.push(UNIFORM | SET_LIVE);
        set.encode(out);
        out.extend_from_slice(&writer.0.to_le_bytes());
        out.extend_from_slice(&back.0.to_le_bytes());
        out.extend_from_slice(&entry.column_count().to_le_bytes());
        out.extend_from_slice(slices);
    })?;
    Ok(true)
}

/// Restores what the images of a page say. What the home records held elsewhere is freed; what a newer image put there
/// for a moment is not, for entries of their own have it.
fn restore_images<'e>(
    shared: &'e Shared,
    images: &ImageStore,
    heap: &'e Heap,
    mini: &mut Mini<'e>,
    home: PageHandle,
    undo: &PageUndo,
) -> Result<(), StorageError> {
    if undo.images.is_empty() {
        return Ok(());
    }
    let layout = PageLayout::of(mini.page(home))
        .map_err(|flaw| StorageError::corrupt(mini.page_id(home), heap.object, flaw))?;
    let (mut replaced, mut passed, mut given) = (Passed::new(), Passed::new(), Passed::new());
    for image in &undo.images {
        let columns = images.columns(image.columns).iter();
        for ordinal in columns.filter_map(|column| layout.ordinal(*column)) {
            note_chains(mini.page(home), &layout, &image.slots.to_vec(), ordinal, None, &mut replaced);
        }
    }
    // Older images stand in front and win.
    let last = undo.images.len();
    for at in 0..last {
        let at = if disabled(Rule::F2Order) { at } else { last - 1 - at };
        restore_image(shared, images, heap, mini, home, &undo.images[at], &mut passed, &mut given)?;
    }
    passed.retain(|value| !given.contains(value));
    passed.append(&mut replaced);
    free_passed(shared, heap, mini, home, &layout, passed)
}

/// Restores the columns and liveness of an image; notes the values elsewhere that lost their place, and those that it gave
/// back.
#[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
fn restore_image<'e>(
    shared: &'e Shared,
    images: &ImageStore,
    heap: &'e Heap,
    mini: &mut Mini<'e>,
    home: PageHandle,
    image: &ImageRun,
    passed: &mut Passed,
    given: &mut Passed,
) -> Result<(), StorageError> {
    let corrupt = |flaw: Flaw| StorageError::corrupt(heap.root, heap.object, flaw);
    let layout = PageLayout::of(mini.page(home)).map_err(corrupt)?;
    let bytes = images.read(&shared.core().pool, &image.place)?;
    let mut at = 0;
    let all = Slots::decode(&bytes, &mut at).map_err(corrupt)?;
    let wanted = images.columns(image.columns);
    let mut slices: Vec<ColumnSlice<'_>> = Vec::new();
    while at < bytes.len() {
        let slice = ColumnSlice::decode(&bytes, &mut at, all.len()).map_err(corrupt)?;
        if wanted.contains(&slice.id) {
            slices.push(slice);
        }
    }
    let slots = image.slots.to_vec();
    let ranks: Option<Vec<usize>> = slots.iter().map(|slot| all.rank(*slot)).collect();
    let ranks = ranks.ok_or_else(|| corrupt(Flaw::from("an undo image without its record")))?;
    if slots.is_empty() {
        return Ok(());
    }
    for slice in slices.iter().filter(|slice| slice.has_references()) {
        let Some(ordinal) = layout.ordinal(slice.id) else { continue };
        let values: Vec<Variable<'_>> = slice.variables().collect();
        for (slot, rank) in slots.iter().zip(&ranks) {
            if let Variable::Reference(raw) = values[*rank] {
                given.push((*slot, ordinal, raw));
            }
        }
    }
    restore(shared, heap, mini, home, &layout, &slots, &slices, &ranks, None, image.live, passed)
}

/// Writes old values back, moving elsewhere what the page has no room for. Values elsewhere that the replaced ones held
/// are noted in `passed`.
#[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
fn restore<'e>(
    shared: &'e Shared,
    heap: &'e Heap,
    mini: &mut Mini<'e>,
    home: PageHandle,
    layout: &PageLayout,
    slots: &[u16],
    slices: &[ColumnSlice<'_>],
    ranks: &[usize],
    pairs: Option<&[(u64, u64)]>,
    live: bool,
    passed: &mut Passed,
) -> Result<(), StorageError> {
    let set = Slots::from_list(slots);
    let mut room = apply::free_bytes(mini.page(home), layout);
    let mut need = 0;
    let mut values: Vec<Vec<Variable<'_>>> = Vec::new();
    for slice in slices {
        let ordinal = layout.ordinal(slice.id).ok_or(StorageError::NoSuchObject(heap.object))?;
        let mut list = Vec::new();
        if slice.physical == Physical::Bytes {
            room += apply::inline(mini.page(home), &layout.columns[ordinal], set).bytes;
            let all: Vec<Variable<'_>> = slice.variables().collect();
            list = ranks.iter().map(|rank| all[*rank]).collect();
            need += list
                .iter()
                .map(|value| if let Variable::Bytes(bytes) = value { bytes.len() } else { 0 })
                .sum::<usize>();
            note_chains(mini.page(home), layout, slots, ordinal, Some(&list), passed);
        }
        values.push(list);
    }
    for list in &mut values {
        for value in list.iter_mut() {
            if need <= room {
                break;
            }
            if let Variable::Bytes(bytes) = *value
                && !bytes.is_empty()
            {
                let root = mini.write(heap.root)?;
                let raw = moved::put(mini, shared, heap, root, bytes)?;
                need -= bytes.len();
                *value = Variable::Reference(raw);
            }
        }
    }
    mini.apply_with(home, RecordKind::DATA_UPDATE, |out| {
        out.push(if pairs.is_some() { EACH } else { 0 } | if live { SET_LIVE } else { 0 });
        set.encode(out);
        for (writer, back) in pairs.unwrap_or_default() {
            out.extend_from_slice(&writer.to_le_bytes());
            out.extend_from_slice(&back.to_le_bytes());
        }
        out.extend_from_slice(&(slices.len() as u16).to_le_bytes());
        for (slice, list) in slices.iter().zip(&values) {
            encode_part(out, slice, ranks, list);
        }
    })
}

/// Appends the slice's values at `ranks`; the variable ones as given.
pub(super) fn encode_part(
    out: &mut Vec<u8>,
    slice: &ColumnSlice<'_>,
    ranks: &[usize],
    values: &[Variable<'_>],
) {
    out.extend_from_slice(&slice.id.to_le_bytes());
    out.extend_from_slice(&[physical_code(slice.physical), 1]);
    let length_at = out.len();
    out.extend_from_slice(&[0; 4]);
    let body = out.len();
    out.resize(body + ranks.len().div_ceil(8), 0);
    for (index, rank) in ranks.iter().enumerate().filter(|(_, rank)| slice.is_null(**rank)) {
        let _ = rank;
        out[body + index / 8] |= 1 << (index % 8);
    }
    match slice.physical.width() {
        Some(width) => ranks.iter().for_each(|rank| out.extend_from_slice(slice.fixed_at(*rank, width))),
        None => {
            for value in values {
                let length = match value {
                    Variable::Null => 0,
                    Variable::Bytes(bytes) => bytes.len() as u16,
                    Variable::Reference(_) => REFERENCE,
                };
                out.extend_from_slice(&length.to_le_bytes());
            }
            for value in values {
                match value {
                    Variable::Null => {}
                    Variable::Bytes(bytes) => out.extend_from_slice(bytes),
                    Variable::Reference(raw) => out.extend_from_slice(&raw.to_le_bytes()),
                }
            }
        }
    }
    let length = (out.len() - body) as u32;
    out[length_at..length_at + 4].copy_from_slice(&length.to_le_bytes());
}

/// Notes the values elsewhere that the home records hold in a column, except those that `coming` keeps.
fn note_chains(
    page: &[u8],
    layout: &PageLayout,
    slots: &[u16],
    ordinal: usize,
    coming: Option<&[Variable<'_>]>,
    passed: &mut Passed,
) {
    let place = &layout.columns[ordinal];
    if !place.is_variable() || !apply::any_chain(page, place, Slots::from_list(slots)) {
        return;
    }
    for (index, slot) in slots.iter().enumerate() {
        let raw = u64_at(page, place.data + usize::from(*slot) * 8);
        let kept = coming.is_some_and(|values| values[index] == Variable::Reference(raw));
        if !kept && moved::is_reference(raw) {
            passed.push((*slot, ordinal, raw));
        }
    }
}

/// Frees each of these values once, unless the record has it again.
fn free_passed(
    shared: &Shared,
    heap: &Heap,
    mini: &mut Mini<'_>,
    home: PageHandle,
    layout: &PageLayout,
    mut passed: Passed,
) -> Result<(), StorageError> {
    passed.sort_unstable();
    passed.dedup();
    for (slot, ordinal, raw) in passed {
        if u64_at(mini.page(home), layout.columns[ordinal].data + usize::from(slot) * 8) != raw {
            moved::free_or_leave(mini, shared, heap, raw)?;
        }
    }
    Ok(())
}

/// Frees the values elsewhere that the home records hold in the columns at `ordinals`, except those that `coming` keeps.
#[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
pub(crate) fn free_chains(
    shared: &Shared,
    heap: &Heap,
    mini: &mut Mini<'_>,
    home: PageHandle,
    layout: &PageLayout,
    slots: &[u16],
    ordinals: &[usize],
    coming: Option<&[Variable<'_>]>,
) -> Result<(), StorageError> {
    for place in ordinals.iter().map(|ordinal| &layout.columns[*ordinal]).filter(|place| place.is_variable())
    {
        for (index, slot) in slots.iter().enumerate() {
            let raw = u64_at(mini.page(home), place.data + usize::from(*slot) * 8);
            let kept = coming.is_some_and(|values| values[index] == Variable::Reference(raw));
            if !kept && moved::is_reference(raw) {
                moved::free_or_leave(mini, shared, heap, raw)?;
            }
        }
    }
    Ok(())
}
