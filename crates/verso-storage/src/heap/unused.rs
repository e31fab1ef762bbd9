//! Pages of an object that hold nothing any more, and how a whole chain of them is given back at once.
//!
//! ```text
//! root ─► page ─(next)─► page ─► …        each may have a rest: the pages of its chain, as they were, one leading to the next
//!          └─(rest)─► page ─► page ─► …
//! ```
//!
//! A chain is given back by its first page alone, however long it is. Whoever takes a page with a rest makes the first page
//! of the rest the head of the list. Values that are being written stand in a list of the same form, see [`super::ahead`].
//!
//! Bytes of a page in a list, of kind overflow and an incarnation that no chain has: `24 next in the list u32 │ 28 first page
//! of the rest u32, 0 = none │ 32 incarnation of the rest u16`.

use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{checked_u16, checked_u32, put_u16, put_u32, u16_at, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::wal::RecordKind;

use super::overflow;

/// The incarnation of a page that is in a list; no chain has it.
pub const LISTED: u16 = u16::MAX;

/// Offset of the next page, in a list as in a chain.
pub(super) const NEXT: usize = header::KIND_SPECIFIC;
const REST: usize = 28;
const REST_INCARNATION: usize = header::SIZE;

/// What a page in a list says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The next page of the list.
    pub next: PageId,
    /// The first page of the rest of its chain.
    pub rest: PageId,
    /// The incarnation of the pages of the rest.
    pub incarnation: u16,
}

impl Listed {
    /// What a page says; `None` when it is in no list of this object.
    pub fn of(page: &[u8], owner: ObjectId) -> Option<Listed> {
        let listed = header::kind(page) == Some(PageKind::Overflow)
            && header::incarnation(page) == LISTED
            && header::owner(page) == owner;
        listed.then(|| Listed {
            next: PageId(u32_at(page, NEXT)),
            rest: PageId(u32_at(page, REST)),
            incarnation: u16_at(page, REST_INCARNATION),
        })
    }

    /// The page behind the first one of the rest, which this is; `None` when it is none of that chain.
    pub(super) fn behind_first(&self, page: &[u8], owner: ObjectId) -> Option<PageId> {
        part(page, owner, self.incarnation)
    }

    /// Makes a page such a one.
    ///
    /// # Errors
    /// As the mini-transaction.
    pub(super) fn put(
        self,
        mini: &mut Mini<'_>,
        handle: PageHandle,
        owner: ObjectId,
    ) -> Result<(), StorageError> {
        let page = mini.page_id(handle);
        mini.apply_with(handle, RecordKind::PAGE_FREE, |out| {
            out.extend_from_slice(&page.0.to_le_bytes());
            out.extend_from_slice(&owner.0.to_le_bytes());
            out.extend_from_slice(&self.next.0.to_le_bytes());
            if !self.rest.is_none() {
                out.extend_from_slice(&self.rest.0.to_le_bytes());
                out.extend_from_slice(&self.incarnation.to_le_bytes());
            }
        })
    }
}

/// Runs a record of kind 49.
pub(super) fn redo(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
    let next = checked_u32(payload, 8)?;
    let rest = match payload.len() {
        12 => None,
        _ => Some((checked_u32(payload, 12)?, checked_u16(payload, 16)?)),
    };
    header::init(page, id, PageKind::Overflow, owner, LISTED);
    put_u32(page, NEXT, next);
    if let Some((rest, incarnation)) = rest {
        put_u32(page, REST, rest);
        put_u16(page, REST_INCARNATION, incarnation);
    }
    Ok(())
}

/// The page that is the head of a list when `handle`, the head so far, was taken: the first one of its rest, which is made
/// one of the list, or the next one. A rest that is damaged is left where it is.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn behind(
    mini: &mut Mini<'_>,
    object: ObjectId,
    handle: PageHandle,
) -> Result<PageId, StorageError> {
    let Some(taken) = Listed::of(mini.page(handle), object) else {
        return Ok(PageId(u32_at(mini.page(handle), NEXT)));
    };
    if taken.rest.is_none() {
        return Ok(taken.next);
    }
    let rest = match mini.write(taken.rest) {
        Err(error) if error.is_of_a_page() => return Ok(taken.next),
        rest => rest?,
    };
    match part(mini.page(rest), object, taken.incarnation) {
        None => Ok(taken.next),
        Some(behind) => {
            Listed { rest: behind, ..taken }.put(mini, rest, object)?;
            Ok(taken.rest)
        }
    }
}

/// The page behind one of a chain; `None` when it is none of that chain.
fn part(page: &[u8], object: ObjectId, incarnation: u16) -> Option<PageId> {
    let is_part = incarnation != LISTED && overflow::is_of_chain(page, object, incarnation);
    is_part.then(|| PageId(u32_at(page, NEXT)))
}

/// Hands every page of a list to `take`, and whether it belongs to the rest of another one, until it says `false`. Returns
/// a page that the list or a rest leads to, and that does not belong there.
///
/// # Errors
/// Those of reading.
pub fn each_page(
    pool: &BufferPool,
    object: ObjectId,
    head: PageId,
    mut take: impl FnMut(PageId, bool) -> bool,
) -> Result<Option<PageId>, StorageError> {
    let mut next = head;
    while !next.is_none() {
        let Some(listed) = Listed::of(&pool.read_for_scan(next)?, object) else { return Ok(Some(next)) };
        if !take(next, false) {
            return Ok(None);
        }
        let mut rest = listed.rest;
        while !rest.is_none() {
            let Some(behind) = part(&pool.read_for_scan(rest)?, object, listed.incarnation) else {
                return Ok(Some(rest));
            };
            if !take(rest, true) {
                return Ok(None);
            }
            rest = behind;
        }
        next = listed.next;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_a_list_says_what_its_record_says_and_junk_changes_nothing() {
        let owner = ObjectId(1000);
        let mut page = vec![7; 4096];
        let mut payload: Vec<u8> = [9u32, 1000, 5].iter().flat_map(|number| number.to_le_bytes()).collect();
        redo(&mut page, &payload).unwrap();
        let alone = Listed { next: PageId(5), rest: PageId::NONE, incarnation: 0 };
        assert_eq!(Listed::of(&page, owner), Some(alone));
        assert_eq!(Listed::of(&page, ObjectId(1001)), None);
        payload.extend_from_slice(&77u32.to_le_bytes());
        let before = page.clone();
        assert!(redo(&mut page, &payload).is_err() && page == before);
        payload.extend_from_slice(&3u16.to_le_bytes());
        redo(&mut page, &payload).unwrap();
        assert_eq!(Listed::of(&page, owner), Some(Listed { rest: PageId(77), incarnation: 3, ..alone }));
        assert_eq!(part(&page, owner, LISTED), None);
    }
}
