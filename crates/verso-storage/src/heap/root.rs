//! Object roots: where an object's pages come from and, for a table, its directory.
//!
//! | offset | width | field |
//! |---|---|---|
//! | 24 | 4 | newest dictionary of its texts, 0 = none; an index: the root of its tree, 0 = the page behind this one, 1 = none yet |
//! | 32 | 1 | 1 table, 2 sequence, 3 index |
//! | 33 | 1 | indexes of the table |
//! | 34 | 2 | lower half of the first page in the list of values that are being written |
//! | 36 | 4 | data pages (entries of the directory) |
//! | 40 | 4 | next unused page of the newest extent |
//! | 44 | 4 | end of that extent |
//! | 48 | 4 | first free page (a list, see [`super::unused`]) |
//! | 52 | 2 | columns |
//! | 54 | 2 | upper half of what stands at 34 |
//! | 56 | 4 each | column descriptors as in a data page; a sequence: six i64 |
//! | 1792 | 4 each | indexes of the table |
//! | 2048 | 4 each | directory pages; the last is the top of a tree of them |
//!
//! A directory page's level stands at 24 (u8). One of level 0 holds `page u32 | hints u8 | 3 bytes` per data page from
//! offset 32, one of another level the directory pages of the level below, u32 each.

use verso_types::Physical;

use super::layout::{ColumnSpec, physical_code, physical_from_code};
use super::{directory, overflow, unused};
use crate::StorageError;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{checked_u16, checked_u32, put_u16, put_u32, u16_at, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::space::{ExtentKind, SpaceMap};
use crate::wal::RecordKind;

/// Root of a table.
pub const TABLE: u8 = 1;
/// Root of a sequence.
pub const SEQUENCE: u8 = 2;
/// Root of an index.
pub const INDEX: u8 = 3;
/// Offset of the newest dictionary, u32.
const DICTIONARY: usize = header::KIND_SPECIFIC;
/// Offset of the root of an index's tree, u32.
pub const TREE: usize = header::KIND_SPECIFIC;
/// An index that has no tree yet.
pub const NO_TREE: u32 = 1;
/// Offset of the object's kind.
pub const OBJECT_KIND: usize = 32;
/// Offset of the number of data pages.
pub const DATA_PAGES: usize = 36;
const EXTENT_NEXT: usize = 40;
const EXTENT_END: usize = 44;
const FREE_HEAD: usize = 48;
const COLUMN_COUNT: usize = 52;
/// Offset of column descriptors, or of a sequence's numbers.
pub const BODY: usize = 56;
/// Most bytes of what an index is of.
pub const SPEC_MAX: usize = 2048;
/// Offset of the number of indexes, u8.
pub const INDEX_COUNT: usize = 33;
/// Offset of the list of indexes.
pub const INDEXES: usize = 1792;
/// Most indexes a table can have.
pub const MAX_INDEXES: usize = (DIRECTORY - INDEXES) / 4;
/// Offset of the list of directory pages.
pub const DIRECTORY: usize = 2048;
/// Most columns a table can have.
pub const MAX_COLUMNS: usize = (INDEXES - BODY) / 4;
/// Offsets of the halves of a page number, in places that were reserved.
const WRITTEN_LOW: usize = 34;
const WRITTEN_HIGH: usize = 54;

/// Entries of one directory page.
pub fn directory_capacity(page_size: usize) -> usize {
    (page_size - header::SIZE) / 8
}

/// Payload of [`RecordKind::ROOT_INIT`]: page, owner, extent end, kind, body.
pub fn init_payload(
    page: PageId,
    owner: ObjectId,
    extent_pages: u32,
    kind: u8,
    columns: &[ColumnSpec],
) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&page.0.to_le_bytes());
    out.extend_from_slice(&owner.0.to_le_bytes());
    out.extend_from_slice(&extent_pages.to_le_bytes());
    out.push(kind);
    out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
    for column in columns {
        out.extend_from_slice(&column.id.to_le_bytes());
        out.extend_from_slice(&[physical_code(column.physical), 0]);
    }
    out
}

/// Runs a record of kinds 32–34 and 48–52.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    match kind {
        RecordKind::PATCH => {
            let mut at = 0;
            while at < payload.len() {
                let (offset, length) =
                    (usize::from(checked_u16(payload, at)?), usize::from(checked_u16(payload, at + 2)?));
                let bytes = crate::page::bytes::checked_slice(payload, at + 4, length)?;
                if offset < header::KIND_SPECIFIC || offset + length > page.len() {
                    return Err(Flaw::from("patch outside of the page's body"));
                }
                let _ = bytes;
                at += 4 + length;
            }
            at = 0;
            while at < payload.len() {
                let (offset, length) =
                    (usize::from(u16_at(payload, at)), usize::from(u16_at(payload, at + 2)));
                page[offset..offset + length].copy_from_slice(&payload[at + 4..at + 4 + length]);
                at += 4 + length;
            }
            Ok(())
        }
        RecordKind::ROOT_INIT => {
            let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
            let (pages, count) = (checked_u32(payload, 8)?, usize::from(checked_u16(payload, 13)?));
            if payload.len() != 15 + count * 4 || count > MAX_COLUMNS {
                return Err(Flaw::from("root record of the wrong size"));
            }
            let end = id.0.checked_add(pages).filter(|end| *end > id.0);
            let end = end.ok_or_else(|| Flaw::from("root record with an extent beyond all pages"))?;
            header::init(page, id, PageKind::Root, owner, 0);
            page[OBJECT_KIND] = payload[12];
            put_u32(page, EXTENT_NEXT, id.0 + 1);
            put_u32(page, EXTENT_END, end);
            put_u16(page, COLUMN_COUNT, count as u16);
            page[BODY..BODY + count * 4].copy_from_slice(&payload[15..]);
            Ok(())
        }
        RecordKind::DIRECTORY_INIT => {
            let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
            header::init(page, id, PageKind::Directory, owner, 0);
            page[directory::LEVEL] = payload.get(8).copied().unwrap_or_default();
            Ok(())
        }
        RecordKind::COMPANION_INIT | RecordKind::COMPANION_PUT | RecordKind::COMPANION_FREE => {
            super::companion::redo(kind, page, payload)
        }
        RecordKind::OVERFLOW_INIT => overflow::redo(page, payload),
        RecordKind::PAGE_FREE => unused::redo(page, payload),
        _ => Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
    }
}

/// Where an object's pages are that nobody uses, as its root says: those never used of its newest extent, and the first
/// of the list of those given back.
pub fn unused(page: &[u8]) -> (std::ops::Range<u32>, PageId) {
    (u32_at(page, EXTENT_NEXT)..u32_at(page, EXTENT_END), PageId(u32_at(page, FREE_HEAD)))
}

/// The first page in the list of those given back, of the object with this root.
pub(super) fn free_head(page: &[u8]) -> PageId {
    PageId(u32_at(page, FREE_HEAD))
}

/// Makes a page the first in the list of those given back.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn set_free_head(mini: &mut Mini<'_>, root: PageHandle, page: PageId) -> Result<(), StorageError> {
    let mut change = Vec::new();
    patch(&mut change, FREE_HEAD, &page.0.to_le_bytes());
    mini.apply(root, RecordKind::PATCH, &change)
}

/// Sets which pages of the newest extent were never used.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn set_newest_extent(
    mini: &mut Mini<'_>,
    root: PageHandle,
    next: u32,
    end: u32,
) -> Result<(), StorageError> {
    let mut change = Vec::new();
    patch(&mut change, EXTENT_NEXT, &next.to_le_bytes());
    patch(&mut change, EXTENT_END, &end.to_le_bytes());
    mini.apply(root, RecordKind::PATCH, &change)
}

/// The root of the tree of an index whose root page is `root`; none before its first entry.
pub fn tree(page: &[u8], root: PageId) -> Option<PageId> {
    match u32_at(page, TREE) {
        // Files of earlier versions.
        0 => Some(root.offset(1)),
        NO_TREE => None,
        tree => Some(PageId(tree)),
    }
}

/// The newest dictionary of a table's texts; none where there is none.
pub fn dictionary(page: &[u8]) -> PageId {
    PageId(u32_at(page, DICTIONARY))
}

/// Makes a page the newest dictionary.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn set_dictionary(
    mini: &mut Mini<'_>,
    root: PageHandle,
    page: PageId,
) -> Result<(), StorageError> {
    let mut change = Vec::new();
    patch(&mut change, DICTIONARY, &page.0.to_le_bytes());
    mini.apply(root, RecordKind::PATCH, &change)
}

/// The first page in the list of values that are being written.
pub fn written_head(page: &[u8]) -> PageId {
    PageId(u32::from(u16_at(page, WRITTEN_LOW)) | u32::from(u16_at(page, WRITTEN_HIGH)) << 16)
}

/// Makes a page the first in the list of values that are being written.
///
/// # Errors
/// As the mini-transaction.
pub(super) fn set_written_head(
    mini: &mut Mini<'_>,
    root: PageHandle,
    page: PageId,
) -> Result<(), StorageError> {
    let mut change = Vec::new();
    patch(&mut change, WRITTEN_LOW, &(page.0 as u16).to_le_bytes());
    patch(&mut change, WRITTEN_HIGH, &((page.0 >> 16) as u16).to_le_bytes());
    mini.apply(root, RecordKind::PATCH, &change)
}

/// One change of a patch.
pub fn patch(out: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    out.extend_from_slice(&(offset as u16).to_le_bytes());
    out.extend_from_slice(&(bytes.len() as u16).to_le_bytes());
    out.extend_from_slice(bytes);
}

/// Columns a table's root lists.
///
/// # Errors
/// A flaw when a descriptor is none.
pub fn columns(page: &[u8]) -> Result<Vec<ColumnSpec>, Flaw> {
    (0..usize::from(u16_at(page, COLUMN_COUNT)))
        .map(|index| {
            let at = BODY + index * 4;
            let physical: Physical =
                physical_from_code(page[at + 2]).ok_or_else(|| Flaw::from("unknown column type"))?;
            Ok(ColumnSpec { id: u16_at(page, at), physical })
        })
        .collect()
}

/// Indexes a table's root lists.
pub fn indexes(page: &[u8]) -> Vec<ObjectId> {
    let count = usize::from(page[INDEX_COUNT]).min(MAX_INDEXES);
    (0..count).map(|index| ObjectId(u32_at(page, INDEXES + index * 4))).collect()
}

/// The patch that makes a table's root list these indexes.
pub fn index_list(objects: &[ObjectId]) -> Vec<u8> {
    let mut out = Vec::new();
    patch(&mut out, INDEX_COUNT, &[objects.len() as u8]);
    let list: Vec<u8> = objects.iter().flat_map(|object| object.0.to_le_bytes()).collect();
    patch(&mut out, INDEXES, &list);
    out
}

/// Gives out one page of the object whose root is latched at `root`: a freed one, the next of the newest extent, or
/// the first of a new extent.
///
/// # Errors
/// `Full` before anything is changed.
pub fn allocate_page<'e>(
    mini: &mut Mini<'e>,
    space: &'e SpaceMap,
    object: ObjectId,
    root: PageHandle,
) -> Result<PageId, StorageError> {
    let free = free_head(mini.page(root));
    let listed = match free {
        PageId::NONE => None,
        // A damaged page ends the list: new ones do as well.
        _ => match mini.write(free) {
            Err(error) if error.is_of_a_page() => None,
            handle => Some(handle?),
        },
    };
    let Some(handle) = listed else { return allocate_fresh(mini, space, object, root) };
    let head = unused::behind(mini, object, handle)?;
    set_free_head(mini, root, head)?;
    Ok(free)
}

/// As [`allocate_page`], but none of those that were freed.
///
/// # Errors
/// As [`allocate_page`].
pub fn allocate_fresh<'e>(
    mini: &mut Mini<'e>,
    space: &'e SpaceMap,
    object: ObjectId,
    root: PageHandle,
) -> Result<PageId, StorageError> {
    let mut change = Vec::new();
    let page = mini.page(root);
    let (next, end, pages) = (u32_at(page, EXTENT_NEXT), u32_at(page, EXTENT_END), u32_at(page, DATA_PAGES));
    let given = if next < end {
        patch(&mut change, EXTENT_NEXT, &(next + 1).to_le_bytes());
        PageId(next)
    } else {
        // Extents grow with the table, so that a large one has few.
        let usual = (pages / 256).clamp(1, 64);
        let wanted = space.units_wanted(object, pages);
        let run = match wanted.map(|units| space.allocate(mini, object, ExtentKind::Object, units, false)) {
            // Where there is no room for one so large a usual one may still do.
            None | Some(Err(StorageError::Full { .. })) => {
                space.extend(mini, object, ExtentKind::Object, usual)?
            }
            Some(run) => run?,
        };
        patch(&mut change, EXTENT_NEXT, &(run.first.0 + 1).to_le_bytes());
        patch(&mut change, EXTENT_END, &(run.first.0 + run.pages).to_le_bytes());
        run.first
    };
    mini.apply(root, RecordKind::PATCH, &change)?;
    Ok(given)
}

/// Puts a page of the object into its list of free pages.
///
/// # Errors
/// As the mini-transaction.
pub fn free_page(
    mini: &mut Mini<'_>,
    object: ObjectId,
    root: PageHandle,
    page: PageId,
) -> Result<(), StorageError> {
    let next = free_head(mini.page(root));
    let handle = mini.create(page)?;
    unused::Listed { next, rest: PageId::NONE, incarnation: 0 }.put(mini, handle, object)?;
    set_free_head(mini, root, page)
}
