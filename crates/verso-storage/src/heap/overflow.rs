//! Overflow chains: values too large for their page, on pages of their own.
//!
//! `header 32 (24: next page u32, 28: bytes from this page to the end of the value u32) │ bytes`. The first page's
//! incarnation stands in the value slot, so a stale reference shows.

use std::sync::atomic::{AtomicU16, Ordering};

use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{checked_u16, checked_u32, put_u32, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::space::SpaceMap;
use crate::wal::RecordKind;

use super::root;
use super::unused::{LISTED, Listed, NEXT};
use super::value_slot::ValueSlot;

const REMAINING: usize = 28;

/// Numbers the chains of an engine, so that a reference to one that was freed does not fit the next on its page.
#[derive(Debug)]
pub struct Incarnations(AtomicU16);

impl Incarnations {
    /// Counts on from `seed`, which should differ from start to start.
    pub fn from(seed: u16) -> Incarnations {
        Incarnations(AtomicU16::new(seed))
    }

    /// The next chain's.
    pub fn next(&self) -> u16 {
        loop {
            let incarnation = self.0.fetch_add(1, Ordering::Relaxed);
            if incarnation != LISTED {
                return incarnation;
            }
        }
    }
}

/// Runs a record of kind 48.
pub(super) fn redo(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
    let next = checked_u32(payload, 8)?;
    let (remaining, incarnation) = (checked_u32(payload, 12)?, checked_u16(payload, 16)?);
    let bytes = &payload[18..];
    if bytes.len() > page.len() - header::SIZE || bytes.len() > remaining as usize {
        return Err(Flaw::from("overflow bytes do not fit the page"));
    }
    header::init(page, id, PageKind::Overflow, owner, incarnation);
    put_u32(page, NEXT, next);
    put_u32(page, REMAINING, remaining);
    page[header::SIZE..header::SIZE + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

/// Most bytes of a row's values that go with its record: one mini-transaction takes them all. Others were written ahead
/// of it.
const ROW_BYTES_MAX: usize = 7 << 20;

/// Most bytes of a value.
pub const VALUE_MAX: usize = (1 << 30) - 1;

/// Pages of a chain that are read as others are; those behind them as by a scan.
const SCANNED: usize = 64;

/// Most bytes of values that are moved out together: their pages stay latched, so they are a small part of the pool.
pub fn together(pool: &BufferPool) -> usize {
    (4 << 20).min(pool.capacity() / 8 * pool.page_size())
}

/// Makes sure, before anything is changed, that the log takes values of so many bytes together: later the room could
/// only be missed with pages changed already.
///
/// # Errors
/// `TooLarge` when one mini-transaction cannot take them; `Full`, `Poisoned`.
pub fn reserve(mini: &mut Mini<'_>, value_bytes: usize) -> Result<(), StorageError> {
    if value_bytes > ROW_BYTES_MAX {
        let (size, limit) = (value_bytes as u64, ROW_BYTES_MAX as u64);
        return Err(StorageError::TooLarge { what: "a row".into(), size, limit });
    }
    mini.reserve(value_bytes as u64 * 2 + (512 << 10))
}

/// Writes `value` to a new chain of the object whose root is latched; the raw value slot that refers to it.
///
/// # Errors
/// `Full` before anything is changed. How long the values of a row may be is for [`reserve`] to tell, before anything is
/// changed.
pub fn write<'e>(
    mini: &mut Mini<'e>,
    space: &'e SpaceMap,
    object: ObjectId,
    root: PageHandle,
    incarnation: u16,
    value: &[u8],
) -> Result<u64, StorageError> {
    mini.reserve(value.len() as u64 * 2 + (512 << 10))?;
    let room = mini.page(root).len() - header::SIZE;
    let count = value.len().div_ceil(room).max(1);
    let pages = (0..count)
        .map(|_| root::allocate_page(mini, space, object, root))
        .collect::<Result<Vec<PageId>, StorageError>>()?;
    for (index, part) in
        (0..count).map(|index| (index, &value[index * room..value.len().min((index + 1) * room)]))
    {
        let next = pages.get(index + 1).copied().unwrap_or(PageId::NONE);
        let handle = mini.create(pages[index])?;
        let remaining = value.len() - index * room;
        put(mini, handle, object, Part { next, remaining, incarnation, bytes: part })?;
    }
    Ok(ValueSlot::Overflow { page: pages[0], incarnation }.encode())
}

/// What a page of a chain holds.
pub(super) struct Part<'v> {
    /// The next page.
    pub next: PageId,
    /// Bytes of the value from this page on.
    pub remaining: usize,
    /// The chain's.
    pub incarnation: u16,
    /// Those of them that stand here.
    pub bytes: &'v [u8],
}

/// Makes a page one of a chain.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn put(
    mini: &mut Mini<'_>,
    handle: PageHandle,
    object: ObjectId,
    part: Part<'_>,
) -> Result<(), StorageError> {
    let page = mini.page_id(handle);
    mini.apply_with(handle, RecordKind::OVERFLOW_INIT, |out| {
        out.extend_from_slice(&page.0.to_le_bytes());
        out.extend_from_slice(&object.0.to_le_bytes());
        out.extend_from_slice(&part.next.0.to_le_bytes());
        out.extend_from_slice(&(part.remaining as u32).to_le_bytes());
        out.extend_from_slice(&part.incarnation.to_le_bytes());
        out.extend_from_slice(part.bytes);
    })
}

/// Makes a page of a chain, or one in a list, lead to another next one.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn lead_to(mini: &mut Mini<'_>, handle: PageHandle, next: PageId) -> Result<(), StorageError> {
    let mut change = Vec::new();
    root::patch(&mut change, NEXT, &next.0.to_le_bytes());
    mini.apply(handle, RecordKind::PATCH, &change)
}

/// Whether it is a page of such a chain.
pub(super) fn is_of_chain(page: &[u8], object: ObjectId, incarnation: u16) -> bool {
    header::kind(page) == Some(PageKind::Overflow)
        && header::owner(page) == object
        && header::incarnation(page) == incarnation
}

/// A chain that is followed page by page.
struct Walk {
    object: ObjectId,
    incarnation: u16,
    /// The page to look at next; none behind the last.
    next: PageId,
    /// Bytes that are still to come, once the first page was seen.
    expected: Option<usize>,
}

impl Walk {
    /// The value's bytes on the page that is next; then another one is.
    fn step<'p>(&mut self, page: &'p [u8]) -> Result<&'p [u8], StorageError> {
        let (id, object) = (self.next, self.object);
        let flaw = |text: &'static str| StorageError::corrupt(id, object, text);
        if header::kind(page) != Some(PageKind::Overflow) || header::owner(page) != object {
            return Err(flaw("not an overflow page of this table"));
        }
        if header::incarnation(page) != self.incarnation {
            return Err(flaw("a reference to an overflow page that was given out anew"));
        }
        let remaining = u32_at(page, REMAINING) as usize;
        if self.expected.is_some_and(|expected| expected != remaining || expected == 0) {
            return Err(flaw("overflow pages of different values"));
        }
        let here = remaining.min(page.len() - header::SIZE);
        self.expected = Some(remaining - here);
        self.next = PageId(u32_at(page, NEXT));
        if self.next.is_none() && remaining != here {
            return Err(flaw("an overflow chain ends early"));
        }
        Ok(&page[header::SIZE..header::SIZE + here])
    }
}

/// Pages of a chain, appending the value to `out`.
///
/// # Errors
/// `Corrupt` when the chain is not what the slot says.
pub fn read(
    pool: &BufferPool,
    object: ObjectId,
    first: PageId,
    incarnation: u16,
    mut out: Option<&mut Vec<u8>>,
) -> Result<Vec<PageId>, StorageError> {
    let mut walk = Walk { object, incarnation, next: first, expected: None };
    let mut pages = Vec::new();
    while !walk.next.is_none() {
        // A long value is no reason to forget what others use.
        let page = if pages.len() < SCANNED { pool.read(walk.next)? } else { pool.read_for_scan(walk.next)? };
        pages.push(walk.next);
        let bytes = walk.step(&page)?;
        if let Some(out) = out.as_deref_mut() {
            if pages.len() == 1 && page.len() * SCANNED < u32_at(&page, REMAINING) as usize {
                // As much as it takes: doubling would take twice of that.
                out.reserve_exact((u32_at(&page, REMAINING) as usize).min(VALUE_MAX));
            }
            out.extend_from_slice(bytes);
        }
    }
    Ok(pages)
}

/// Whether a chain holds this very value; reads no further than they are alike.
///
/// # Errors
/// As [`read`].
pub(super) fn is(
    pool: &BufferPool,
    object: ObjectId,
    first: PageId,
    incarnation: u16,
    value: &[u8],
) -> Result<bool, StorageError> {
    let mut walk = Walk { object, incarnation, next: first, expected: Some(value.len()) };
    let mut rest = value;
    while !walk.next.is_none() {
        let page = pool.read_for_scan(walk.next)?;
        if walk.next == first && u32_at(&page, REMAINING) as usize != value.len() {
            return Ok(false);
        }
        match rest.strip_prefix(walk.step(&page)?) {
            Some(behind) => rest = behind,
            None => return Ok(false),
        }
    }
    Ok(rest.is_empty())
}

/// Makes sure that the first page of a chain is what the slot says.
///
/// # Errors
/// `Corrupt` when it is something else.
pub(super) fn look(
    pool: &BufferPool,
    object: ObjectId,
    first: PageId,
    incarnation: u16,
) -> Result<(), StorageError> {
    Walk { object, incarnation, next: first, expected: None }.step(&pool.read(first)?).map(drop)
}

/// Gives the pages of a chain back to the object whose root is latched, by its first page: the others are its rest (see
/// [`super::unused`]). The chain may have been written by this very mini-transaction: undo that moved a value out may find
/// an older one for the same record.
///
/// # Errors
/// `Corrupt` when the first page is not what the slot says; those of the mini-transaction.
pub fn free(
    mini: &mut Mini<'_>,
    object: ObjectId,
    root: PageHandle,
    page: PageId,
    incarnation: u16,
) -> Result<(), StorageError> {
    let handle = mini.write(page)?;
    let mut walk = Walk { object, incarnation, next: page, expected: None };
    walk.step(mini.page(handle))?;
    let next = root::free_head(mini.page(root));
    Listed { next, rest: walk.next, incarnation }.put(mini, handle, object)?;
    root::set_free_head(mini, root, page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_chain_looks_like_a_page_of_a_list() {
        let incarnations = Incarnations::from(LISTED - 2);
        let given: Vec<u16> = (0..5).map(|_| incarnations.next()).collect();
        assert_eq!(given, [LISTED - 2, LISTED - 1, 0, 1, 2]);
    }
}
