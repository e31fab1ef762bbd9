//! Companion pages: values that outgrew their data pages, many to a page.
//!
//! ```text
//! header 32 (24: item slots u16 │ lowest offset of a value u16 │ garbage u16 │ live items u16) │ item slots │ free │ ◄─ values
//! item slot = offset u16 │ length u16 │ generation u8 │ live u8
//! ```
//!
//! K1. Who changes a companion page has its table's root latched, so nobody waits for another companion with one latched.
//!     Who reads one waits for nothing else.
//! K2. A reference names page, item and generation; an item that is given out again has the next generation, so a stale
//!     reference shows.
//! K3. An item belongs to one value of one record, in its home or in one version. Who overwrites the last reference frees
//!     it; a page whose last item went is given back to the table.

use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::Mini;
use crate::page::bytes::{checked_slice, checked_u8, checked_u16, checked_u32, put_u16, u16_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::shared::Shared;
use crate::wal::RecordKind;

use super::root;
use super::table::Heap;
use super::value_slot::ValueSlot;
use crate::mini::PageHandle;

const ITEMS: usize = 24;
const START: usize = 26;
const GARBAGE: usize = 28;
const LIVE: usize = 30;
const SLOTS: usize = header::SIZE;
const SLOT: usize = 6;
/// Items that a page has at most, and generations that each of them goes through: the bits of a reference.
const ITEMS_MAX: usize = 1 << 10;
const GENERATIONS: u8 = 1 << 6;
/// Pages looked at for room before another one is taken.
const TRIES: usize = 4;

/// Where an item stands on its page.
#[derive(Clone, Copy)]
struct Item {
    offset: usize,
    length: usize,
    generation: u8,
    live: bool,
}

fn item_count(page: &[u8]) -> usize {
    usize::from(u16_at(page, ITEMS))
}

fn item(page: &[u8], index: usize) -> Item {
    let at = SLOTS + index * SLOT;
    Item {
        offset: usize::from(u16_at(page, at)),
        length: usize::from(u16_at(page, at + 2)),
        generation: page[at + 4],
        live: page[at + 5] != 0,
    }
}

fn set_item(page: &mut [u8], index: usize, item: Item) {
    let at = SLOTS + index * SLOT;
    put_u16(page, at, item.offset as u16);
    put_u16(page, at + 2, item.length as u16);
    page[at + 4] = item.generation;
    page[at + 5] = u8::from(item.live);
}

/// Proves that slots and values do not overlap, so that all of the page can be read.
fn checked(page: &[u8]) -> Result<(), Flaw> {
    if header::kind(page) != Some(PageKind::Companion) {
        return Err(Flaw::from("not a companion page"));
    }
    let start = usize::from(u16_at(page, START));
    if item_count(page) > ITEMS_MAX || SLOTS + item_count(page) * SLOT > start || start > page.len() {
        return Err(Flaw::from("items and values of a companion page overlap"));
    }
    if usize::from(u16_at(page, LIVE)) > item_count(page)
        || usize::from(u16_at(page, GARBAGE)) > page.len() - start
    {
        return Err(Flaw::from("counts of a companion page that cannot be"));
    }
    Ok(())
}

/// Bytes for values in one piece, when the page has `items` slots.
fn contiguous(page: &[u8], items: usize) -> usize {
    usize::from(u16_at(page, START)).saturating_sub(SLOTS + items * SLOT)
}

/// Bytes for values when the page has `items` slots, garbage included; `None` when the slots alone do not fit.
fn room(page: &[u8], items: usize) -> Option<usize> {
    (usize::from(u16_at(page, START)) + usize::from(u16_at(page, GARBAGE))).checked_sub(SLOTS + items * SLOT)
}

/// The item that a new value gets, and the bytes it may have.
fn free_item(page: &[u8]) -> Option<(usize, u8, usize)> {
    let count = item_count(page);
    let unused = if usize::from(u16_at(page, LIVE)) < count {
        (0..count).find(|index| !item(page, *index).live)
    } else {
        None
    };
    let (index, generation) = match unused {
        Some(index) => (index, (item(page, index).generation + 1) % GENERATIONS),
        None => (count, 0),
    };
    let room = room(page, count.max(index + 1))?;
    (index < ITEMS_MAX).then_some((index, generation, room))
}

/// Runs a record of kinds 50–52.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    match kind {
        RecordKind::COMPANION_INIT => {
            let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
            header::init(page, id, PageKind::Companion, owner, 0);
            // 65,536 does not fit, but the greatest page is 32,768 bytes.
            put_u16(page, START, page.len() as u16);
            Ok(())
        }
        RecordKind::COMPANION_PUT => put_item(page, payload),
        RecordKind::COMPANION_FREE => free_slot(page, payload),
        _ => Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
    }
}

/// Payload: `item u16 | generation u8 | bytes`.
fn put_item(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    checked(page)?;
    let (index, generation) = (usize::from(checked_u16(payload, 0)?), checked_u8(payload, 2)?);
    let bytes = &payload[3..];
    let count = item_count(page);
    if index > count || index >= ITEMS_MAX || generation >= GENERATIONS {
        return Err(Flaw::from("an item behind the end of a companion page"));
    }
    if index < count && item(page, index).live {
        return Err(Flaw::from("an item of a companion page is there already"));
    }
    let items = count.max(index + 1);
    if room(page, items).is_none_or(|room| room < bytes.len()) {
        return Err(Flaw::from("a value does not fit the companion page"));
    }
    if contiguous(page, items) < bytes.len() || SLOTS + items * SLOT > usize::from(u16_at(page, START)) {
        compact(page, SLOTS + items * SLOT + bytes.len())?;
    }
    let start = usize::from(u16_at(page, START)) - bytes.len();
    page[start..start + bytes.len()].copy_from_slice(bytes);
    set_item(page, index, Item { offset: start, length: bytes.len(), generation, live: true });
    put_u16(page, START, start as u16);
    put_u16(page, ITEMS, items as u16);
    let live = u16_at(page, LIVE);
    put_u16(page, LIVE, live + 1);
    Ok(())
}

/// Payload: `item u16 | generation u8`.
fn free_slot(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    checked(page)?;
    let (index, generation) = (usize::from(checked_u16(payload, 0)?), checked_u8(payload, 2)?);
    if payload.len() != 3 || index >= item_count(page) {
        return Err(Flaw::from("no such item on a companion page"));
    }
    let old = item(page, index);
    let (live, start) = (u16_at(page, LIVE), usize::from(u16_at(page, START)));
    if !old.live || old.generation != generation || live == 0 {
        return Err(Flaw::from("an item of a companion page that is not there any more"));
    }
    checked_slice(page, old.offset, old.length)?;
    let garbage = usize::from(u16_at(page, GARBAGE)) + old.length;
    if old.offset != start && garbage > page.len() - start {
        return Err(Flaw::from("values and garbage of a companion page do not add up"));
    }
    set_item(page, index, Item { offset: 0, length: 0, generation, live: false });
    put_u16(page, LIVE, live - 1);
    if old.offset == start {
        put_u16(page, START, (start + old.length) as u16);
    } else {
        put_u16(page, GARBAGE, garbage as u16);
    }
    Ok(())
}

/// Moves the values together, so that `taken` bytes are left beside them for slots and a new value.
fn compact(page: &mut [u8], taken: usize) -> Result<(), Flaw> {
    let old = page.to_vec();
    let mut total = 0;
    for index in (0..item_count(&old)).filter(|index| item(&old, *index).live) {
        let item = item(&old, index);
        checked_slice(&old, item.offset, item.length)?;
        total += item.length;
    }
    if taken + total > page.len() {
        return Err(Flaw::from("values of a companion page overlap"));
    }
    let mut start = page.len();
    for index in (0..item_count(&old)).filter(|index| item(&old, *index).live) {
        let item = item(&old, index);
        start -= item.length;
        page[start..start + item.length].copy_from_slice(&old[item.offset..item.offset + item.length]);
        set_item(page, index, Item { offset: start, ..item });
    }
    put_u16(page, START, start as u16);
    put_u16(page, GARBAGE, 0);
    Ok(())
}

/// Puts `value`, at most a quarter of a page, into a companion page of the table whose root is latched; the raw value slot
/// that refers to it.
///
/// # Errors
/// `Full` before anything is changed.
pub fn put<'e>(
    mini: &mut Mini<'e>,
    shared: &'e Shared,
    heap: &Heap,
    root: PageHandle,
    value: &[u8],
) -> Result<u64, StorageError> {
    let size = shared.page_size;
    let candidates: Vec<PageId> = heap.companions.lock().iter().rev().take(TRIES).copied().collect();
    let mut chosen = None;
    for id in candidates {
        let handle = match mini.write(id) {
            // Another page does as well.
            Err(error) if error.is_of_a_page() => {
                heap.companions.lock().remove(&id);
                continue;
            }
            handle => handle?,
        };
        let page = mini.page(handle);
        if checked(page).is_err() || header::owner(page) != heap.object {
            heap.companions.lock().remove(&id); // it was freed
            continue;
        }
        if let Some((index, generation, room)) = free_item(page)
            && room >= value.len()
        {
            // Values of it that would be in the way when they are moved together.
            if check(page).is_err() {
                heap.companions.lock().remove(&id);
                continue;
            }
            if room - value.len() < size / 32 {
                heap.companions.lock().remove(&id);
            }
            chosen = Some((id, handle, index, generation));
            break;
        }
    }
    let (id, handle, index, generation) = match chosen {
        Some(chosen) => chosen,
        None => {
            let id = root::allocate_page(mini, &shared.space, heap.object, root)?;
            let handle = mini.create(id)?;
            mini.apply_with(handle, RecordKind::COMPANION_INIT, |out| {
                out.extend_from_slice(&id.0.to_le_bytes());
                out.extend_from_slice(&heap.object.0.to_le_bytes());
            })?;
            heap.companions.lock().insert(id);
            (id, handle, 0, 0)
        }
    };
    mini.apply_with(handle, RecordKind::COMPANION_PUT, |out| {
        out.extend_from_slice(&(index as u16).to_le_bytes());
        out.push(generation);
        out.extend_from_slice(value);
    })?;
    Ok(ValueSlot::Companion { page: id, item: name(index, generation) }.encode())
}

/// Item and generation in a reference.
fn name(index: usize, generation: u8) -> u16 {
    index as u16 | u16::from(generation) << 10
}

fn unname(item: u16) -> (usize, u8) {
    (usize::from(item) % ITEMS_MAX, (item >> 10) as u8)
}

/// The value that a reference stands for, on its page.
pub(super) fn value(
    page: &[u8],
    object: ObjectId,
    id: PageId,
    reference: u16,
) -> Result<&[u8], StorageError> {
    let corrupt = |flaw: Flaw| StorageError::corrupt(id, object, flaw);
    checked(page).map_err(corrupt)?;
    let (index, generation) = unname(reference);
    if header::owner(page) != object || index >= item_count(page) {
        return Err(corrupt(Flaw::from("a reference to an item that is not there")));
    }
    let item = item(page, index);
    if !item.live || item.generation != generation {
        return Err(corrupt(Flaw::from("a reference to an item that was given out anew")));
    }
    checked_slice(page, item.offset, item.length).map_err(corrupt)
}

/// Items in use, as references name them.
pub fn live(page: &[u8]) -> Vec<u16> {
    let count = if checked(page).is_ok() { item_count(page) } else { 0 };
    let items = (0..count).map(|index| (index, item(page, index))).filter(|(_, item)| item.live);
    items.map(|(index, item)| name(index, item.generation)).collect()
}

/// Appends the value that a reference stands for to `out`.
///
/// # Errors
/// `Corrupt` when the item is not what the reference says.
pub fn read(
    pool: &BufferPool,
    object: ObjectId,
    id: PageId,
    reference: u16,
    out: &mut Vec<u8>,
) -> Result<(), StorageError> {
    let page = pool.read(id)?;
    out.extend_from_slice(value(&page, object, id, reference)?);
    Ok(())
}

/// Frees an item of the table whose root is latched, and its page with the last one (K3).
///
/// # Errors
/// As [`read`] and the mini-transaction.
pub fn free(
    mini: &mut Mini<'_>,
    heap: &Heap,
    root: PageHandle,
    id: PageId,
    reference: u16,
) -> Result<(), StorageError> {
    let handle = mini.write(id)?;
    value(mini.page(handle), heap.object, id, reference)?;
    let (index, generation) = unname(reference);
    mini.apply_with(handle, RecordKind::COMPANION_FREE, |out| {
        out.extend_from_slice(&(index as u16).to_le_bytes());
        out.push(generation);
    })?;
    let page = mini.page(handle);
    if u16_at(page, LIVE) == 0 {
        heap.companions.lock().remove(&id);
        return root::free_page(mini, heap.object, root, id);
    }
    if room(page, item_count(page)).is_some_and(|room| room > page.len() / 4) {
        heap.companions.lock().insert(id);
    }
    Ok(())
}

/// Proves that a companion page is what it says.
///
/// # Errors
/// A flaw says what is wrong.
pub fn check(page: &[u8]) -> Result<(), Flaw> {
    checked(page)?;
    let (mut bytes, mut live) = (0, 0);
    for item in (0..item_count(page)).map(|index| item(page, index)).filter(|item| item.live) {
        if item.length > 0 && item.offset < usize::from(u16_at(page, START)) {
            return Err(Flaw::from("a value outside of the values of a companion page"));
        }
        checked_slice(page, item.offset, item.length)?;
        bytes += item.length;
        live += 1;
    }
    let start = usize::from(u16_at(page, START));
    if live != u16_at(page, LIVE) || start + bytes + usize::from(u16_at(page, GARBAGE)) != page.len() {
        return Err(Flaw::from("values and garbage of a companion page do not add up"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn empty() -> Vec<u8> {
        let mut page = vec![0; 4096];
        let mut payload = 9u32.to_le_bytes().to_vec();
        payload.extend_from_slice(&1000u32.to_le_bytes());
        redo(RecordKind::COMPANION_INIT, &mut page, &payload).unwrap();
        page
    }

    fn payload((index, generation): (usize, u8), bytes: &[u8]) -> Vec<u8> {
        let mut out = (index as u16).to_le_bytes().to_vec();
        out.push(generation);
        out.extend_from_slice(bytes);
        out
    }

    proptest! {
        /// Items put and freed in any order are what a map says; what is stale shows (K2).
        #[test]
        fn a_page_is_a_map_of_items(steps in prop::collection::vec((any::<bool>(), any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..400)), 1..80)) {
            let mut page = empty();
            let mut model: HashMap<(usize, u8), Vec<u8>> = HashMap::new();
            let mut gone = Vec::new();
            for (free, pick, bytes) in steps {
                if free && !model.is_empty() {
                    let mut names: Vec<_> = model.keys().copied().collect();
                    names.sort_unstable();
                    let name = names[pick.index(names.len())];
                    redo(RecordKind::COMPANION_FREE, &mut page, &payload(name, &[])).unwrap();
                    model.remove(&name);
                    gone.push(name);
                } else {
                    let Some((index, generation, room)) = free_item(&page) else { continue };
                    let put = redo(RecordKind::COMPANION_PUT, &mut page, &payload((index, generation), &bytes));
                    prop_assert_eq!(put.is_ok(), bytes.len() <= room);
                    if put.is_ok() {
                        model.insert((index, generation), bytes);
                    }
                }
                prop_assert_eq!(check(&page), Ok(()));
                let read = |(index, generation)| value(&page, ObjectId(1000), PageId(9), name(index, generation));
                for (item, bytes) in &model {
                    prop_assert_eq!(read(*item).unwrap(), bytes.as_slice());
                }
                for item in &gone {
                    prop_assert!(model.contains_key(item) || read(*item).is_err());
                }
            }
        }

        /// Junk is a flaw that changes nothing (M2, G2).
        #[test]
        fn junk_changes_nothing(kind in 51u8..53, index in 0u16..6, generation in 0u8..3, bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut page = empty();
            for item in 0..4 {
                redo(RecordKind::COMPANION_PUT, &mut page, &payload((item, 0), &[7; 900])).unwrap();
            }
            redo(RecordKind::COMPANION_FREE, &mut page, &payload((1, 0), &[])).unwrap();
            let before = page.clone();
            if redo(RecordKind(kind), &mut page, &payload((usize::from(index), generation), &bytes)).is_err() {
                prop_assert!(page == before);
            }
            prop_assert_eq!(check(&page), Ok(()));
        }

        /// Damaged counts and slots are flaws, never a panic (G2).
        #[test]
        fn a_damaged_page_never_panics(damage in prop::collection::vec((24usize..60, any::<u8>()), 1..6), index in 0u16..6, generation in 0u8..3, bytes in prop::collection::vec(any::<u8>(), 0..900)) {
            let mut page = empty();
            for item in 0..4 {
                redo(RecordKind::COMPANION_PUT, &mut page, &payload((item, 0), &[7; 900])).unwrap();
            }
            redo(RecordKind::COMPANION_FREE, &mut page, &payload((1, 0), &[])).unwrap();
            damage.into_iter().for_each(|(at, byte)| page[at] = byte);
            for (kind, bytes) in [(RecordKind::COMPANION_PUT, &bytes[..]), (RecordKind::COMPANION_FREE, &[])] {
                let mut page = page.clone();
                let before = page.clone();
                let changed = redo(kind, &mut page, &payload((usize::from(index), generation), bytes));
                prop_assert!(changed.is_ok() || page == before);
            }
            let _ = check(&page);
            let _ = value(&page, ObjectId(1000), PageId(9), name(usize::from(index), generation));
        }
    }
}
