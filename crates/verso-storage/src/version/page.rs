//! Version pages: entries one behind the other.
//!
//! `header 32 (24: used u16, 26: entries u16) │ entries from 32`. Why: one writer's entries stand together, so a page is
//! retired whole (V4, V5).

use super::entry::{Entry, EntryKind, VOID};
use crate::page::bytes::{checked_u16, checked_u32, put_u16, u16_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};
use crate::wal::RecordKind;

const USED: usize = 24;
const ENTRIES: usize = 26;
/// The first entry stands here.
pub const FIRST: usize = header::SIZE;

/// First free byte.
pub fn used(page: &[u8]) -> usize {
    usize::from(u16_at(page, USED))
}

/// Bytes left for entries.
pub fn free(page: &[u8]) -> usize {
    page.len().saturating_sub(used(page))
}

/// The greatest entry a page of this size takes.
pub fn capacity(page_size: usize) -> usize {
    page_size - FIRST
}

/// The entries of a page with their offsets.
///
/// # Errors
/// A flaw at the first byte that breaks the format.
pub fn entries(page: &[u8]) -> Result<Vec<(u16, Entry<'_>)>, Flaw> {
    let mut at = FIRST;
    let mut found = Vec::new();
    while at < used(page) {
        let entry = Entry::decode(page, at)?;
        found.push((at as u16, entry));
        at += entry.length();
    }
    Ok(found)
}

/// Runs a record of kinds 64–67 on a page.
pub fn redo(kind: RecordKind, page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    if kind == RecordKind::VERSION_INIT {
        let (id, incarnation) = (checked_u32(payload, 0)?, checked_u16(payload, 4)?);
        header::init(page, PageId(id), PageKind::Version, ObjectId::SYSTEM, incarnation);
        put_u16(page, USED, FIRST as u16);
        return Ok(());
    }
    if header::kind(page) != Some(PageKind::Version) {
        return Err(Flaw::from("not a version page"));
    }
    match kind {
        RecordKind::VERSION_APPEND => {
            let at = used(page);
            let place = page.get_mut(at..at + payload.len());
            place.ok_or_else(|| Flaw::from("version entry does not fit"))?.copy_from_slice(payload);
            put_u16(page, USED, (at + payload.len()) as u16);
            let entries = u16_at(page, ENTRIES);
            put_u16(page, ENTRIES, entries.wrapping_add(1));
        }
        RecordKind::NOTE_EXTEND => {
            let (at, count) = (usize::from(checked_u16(payload, 0)?), checked_u16(payload, 2)?);
            if Entry::decode(page, at)?.kind != EntryKind::Insert {
                return Err(Flaw::from("not an insert note"));
            }
            put_u16(page, at + super::entry::FIXED, count);
        }
        RecordKind::VERSION_VOID => {
            let at = usize::from(checked_u16(payload, 0)?);
            Entry::decode(page, at)?;
            page[at + 3] |= VOID;
        }
        _ => return Err(Flaw::new(format!("log record of unknown kind {}", kind.0))),
    }
    Ok(())
}
