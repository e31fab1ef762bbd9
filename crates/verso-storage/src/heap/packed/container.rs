//! The page around the parts: which data pages it has, and where each of them stands.
//!
//! ```text
//! header 32, at 24: places u16 │ place: directory index u32, offset u16, length u16 │ place │ … │ part │ part │ …
//! ```
//! A part of length 0 was taken out: its data page is a page of its own again. The others stay where they are.

use std::ops::Range;

use super::dictionary;
use super::part::{Image, Part};
use crate::heap::layout::{FLAG_ALL_VISIBLE, FLAG_SWEPT};
use crate::page::bytes::{checked_slice, checked_u16, checked_u32, put_u16, put_u32, u16_at, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::wal::RecordKind;

/// Offset of the number of places, u16.
const COUNT: usize = header::KIND_SPECIFIC;
/// Bytes of a place.
const PLACE: usize = 8;

/// Bytes that parts of these lengths take of a page.
pub(super) fn size(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.fold(header::SIZE, |sum, length| sum + PLACE + length)
}

/// Payload of [`RecordKind::PACKED_INIT`]: `page u32 │ owner u32 │ places u16 │ body`.
pub(super) fn init_payload(out: &mut Vec<u8>, page: PageId, owner: ObjectId, parts: &[(u32, Vec<u8>)]) {
    out.extend_from_slice(&page.0.to_le_bytes());
    out.extend_from_slice(&owner.0.to_le_bytes());
    out.extend_from_slice(&(parts.len() as u16).to_le_bytes());
    let mut at = header::SIZE + parts.len() * PLACE;
    for (index, part) in parts {
        out.extend_from_slice(&index.to_le_bytes());
        out.extend_from_slice(&(at as u16).to_le_bytes());
        out.extend_from_slice(&(part.len() as u16).to_le_bytes());
        at += part.len();
    }
    parts.iter().for_each(|(_, part)| out.extend_from_slice(part));
}

/// The places of a packed page.
fn places(page: &[u8]) -> Result<&[u8], Flaw> {
    checked_slice(page, header::SIZE, usize::from(u16_at(page, COUNT)) * PLACE)
}

/// The data pages that a packed page has: directory index and bytes of each.
///
/// # Errors
/// A flaw when they do not lie within it.
pub fn parts(page: &[u8]) -> Result<Vec<(u32, Range<usize>)>, Flaw> {
    let there = places(page)?.chunks_exact(PLACE).filter(|place| u16_at(place, 6) > 0);
    there.map(|place| Ok((u32_at(place, 0), range(page, place)?))).collect()
}

/// Where the part of a data page stands, if it is there.
///
/// # Errors
/// As [`parts`].
pub(super) fn find(page: &[u8], index: u32) -> Result<Option<Range<usize>>, Flaw> {
    let mut places = places(page)?.chunks_exact(PLACE);
    let place = places.find(|place| u32_at(place, 0) == index && u16_at(place, 6) > 0);
    place.map(|place| range(page, place)).transpose()
}

/// Whether the data page at a directory index has a part here, without records.
pub fn is_without_records(page: &[u8], index: u32) -> bool {
    let part = find(page, index).ok().flatten().map(|range| Part::of(&page[range]));
    part.is_some_and(|part| part.is_ok_and(|part| part.is_empty()))
}

fn range(page: &[u8], place: &[u8]) -> Result<Range<usize>, Flaw> {
    let (offset, length) = (usize::from(u16_at(place, 4)), usize::from(u16_at(place, 6)));
    checked_slice(page, offset, length)?;
    Ok(offset..offset + length)
}

/// Bytes of what is still there.
pub(super) fn used(parts: &[(u32, Range<usize>)]) -> usize {
    size(parts.iter().map(|(_, range)| range.len()))
}

/// Payload of [`RecordKind::DATA_IMAGE`]: `page u32 │ owner u32 │ flags u8 │ end of the arrays u16 │ bytes from 24 up to there │
/// the variable bytes`, of a data page without garbage.
pub(super) fn image_payload(out: &mut Vec<u8>, page: PageId, image: &[u8], end: usize, variable: usize) {
    out.extend_from_slice(&page.0.to_le_bytes());
    out.extend_from_slice(&header::owner(image).0.to_le_bytes());
    out.push(header::flags(image));
    out.extend_from_slice(&(end as u16).to_le_bytes());
    out.extend_from_slice(&image[header::KIND_SPECIFIC..end]);
    out.extend_from_slice(&image[variable..]);
}

/// Runs a record of kinds 53–56.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    match kind {
        RecordKind::PACKED_INIT => {
            let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
            let (count, body) = (checked_u16(payload, 8)?, &payload[10..]);
            if header::SIZE + body.len() > page.len() || usize::from(count) * PLACE > body.len() {
                return Err(Flaw::from("parts that do not fit a page"));
            }
            header::init(page, id, PageKind::Packed, owner, 0);
            header::set_flags(page, FLAG_ALL_VISIBLE | FLAG_SWEPT);
            put_u16(page, COUNT, count);
            page[header::SIZE..header::SIZE + body.len()].copy_from_slice(body);
            Ok(())
        }
        RecordKind::PACKED_REMOVE => {
            if header::kind(page) != Some(PageKind::Packed) {
                return Err(Flaw::from("not a packed page"));
            }
            let index = checked_u32(payload, 0)?;
            let is_its = |place: &[u8]| u32_at(place, 0) == index && u16_at(place, 6) > 0;
            let place = places(page)?.chunks_exact(PLACE).position(is_its);
            let place = place.ok_or_else(|| Flaw::from("no such part in a packed page"))?;
            let at = header::SIZE + place * PLACE;
            put_u32(page, at, u32::MAX);
            put_u32(page, at + 4, 0);
            Ok(())
        }
        RecordKind::DICTIONARY_INIT => dictionary::redo(page, payload),
        RecordKind::DATA_IMAGE => {
            let (id, owner) = (PageId(checked_u32(payload, 0)?), ObjectId(checked_u32(payload, 4)?));
            let flags = *checked_slice(payload, 8, 1)?.first().unwrap_or(&0);
            let end = usize::from(checked_u16(payload, 9)?);
            let length = end.checked_sub(header::KIND_SPECIFIC);
            let length = length.ok_or_else(|| Flaw::from("a data page without its fields"))?;
            let arrays = checked_slice(payload, 11, length)?;
            let variable = &payload[11 + length..];
            if end + variable.len() > page.len() {
                return Err(Flaw::from("a data page that is too long"));
            }
            header::init(page, id, PageKind::Data, owner, 0);
            header::set_flags(page, flags);
            page[header::KIND_SPECIFIC..end].copy_from_slice(arrays);
            let start = page.len() - variable.len();
            page[start..].copy_from_slice(variable);
            Ok(())
        }
        _ => Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
    }
}

/// Expands every part of a packed page whose texts need no dictionary, or reads the dictionary that a page is, as whoever reads
/// them does.
///
/// # Errors
/// The first flaw.
pub fn expand_all(page: &[u8]) -> Result<(), Flaw> {
    if header::kind(page) == Some(PageKind::Dictionary) {
        return dictionary::Dictionary::of(page, header::owner(page)).map(drop);
    }
    let mut image = Image::default();
    for (index, range) in parts(page)? {
        let id = (header::page_id(page), header::owner(page), index);
        let part = Part::of(&page[range])?;
        part.dictionary(None)?;
        part.expand(&mut image, page.len(), id, None, None)?;
    }
    Ok(())
}
