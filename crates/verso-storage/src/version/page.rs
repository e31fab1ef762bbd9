//! Version pages: entries one behind the other.
//!
//! `header 32 (24: used u16, 26: entries u16) │ entries from 32`. Why: one writer's entries stand together, so a page is
//! retired whole (V4, V5).

use super::entry::{Entry, EntryKind, NOTE_BYTES, Note, VOID};
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

/// Puts an entry behind the others.
fn append(page: &mut [u8], entry: &[u8]) -> Result<(), Flaw> {
    let at = used(page);
    let place = page.get_mut(at..at + entry.len());
    place.ok_or_else(|| Flaw::from("version entry does not fit"))?.copy_from_slice(entry);
    put_u16(page, USED, (at + entry.len()) as u16);
    let entries = u16_at(page, ENTRIES);
    put_u16(page, ENTRIES, entries.wrapping_add(1));
    Ok(())
}

/// Runs a record of kinds 64–67 or 69 on a page.
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
        RecordKind::VERSION_APPEND => append(page, payload)?,
        RecordKind::VERSION_NOTE => {
            let mut entry = Vec::with_capacity(NOTE_BYTES);
            Note::decode(payload)?.entry().encode(&mut entry);
            append(page, &entry)?;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::heap::slots::Slots;
    use crate::page::TxnId;
    use crate::version::entry::NewEntry;

    fn empty() -> Vec<u8> {
        let mut page = vec![0; 4096];
        let mut payload = 9u32.to_le_bytes().to_vec();
        payload.extend_from_slice(&3u16.to_le_bytes());
        redo(RecordKind::VERSION_INIT, &mut page, &payload).unwrap();
        page
    }

    fn note(table: u32, writer: u64, page_index: u32, slots: Slots<'_>) -> NewEntry<'_> {
        let table = ObjectId(table);
        let (prior, columns): (&[_], &[_]) = (&[], &[]);
        NewEntry {
            kind: EntryKind::Insert,
            table,
            writer: TxnId(writer),
            page_index,
            slots,
            prior,
            columns,
            column_count: 0,
            purge: false,
            own: false,
            changes_key: false,
        }
    }

    proptest! {
        /// The short record leaves the entry that the long one has in it.
        #[test]
        fn a_note_in_short_is_the_same_entry(
            table in any::<u32>(), writer in any::<u64>(), page_index in any::<u32>(), first in 0u16..60_000, count in 0u16..5000,
        ) {
            let entry = note(table, writer, page_index, Slots::Run { first, count });
            let (mut long, mut short) = (Vec::new(), Vec::new());
            entry.encode(&mut long);
            Note::of(&entry).unwrap().encode(&mut short);
            let (mut appended, mut noted) = (empty(), empty());
            redo(RecordKind::VERSION_APPEND, &mut appended, &long).unwrap();
            redo(RecordKind::VERSION_NOTE, &mut noted, &short).unwrap();
            prop_assert!(appended == noted);
            prop_assert_eq!(entries(&noted).unwrap().len(), 1);
        }

        #[test]
        fn junk_is_a_flaw_that_changes_nothing(payload in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut page = empty();
            if redo(RecordKind::VERSION_NOTE, &mut page, &payload).is_err() {
                prop_assert!(page == empty());
            } else {
                prop_assert_eq!(entries(&page).unwrap().len(), 1);
            }
        }
    }

    #[test]
    fn entries_that_say_more_are_no_notes() {
        let list = [1, 3];
        assert!(Note::of(&note(1, 2, 3, Slots::List(&list))).is_none());
        let slots = Slots::Run { first: 1, count: 1 };
        assert!(Note::of(&NewEntry { purge: true, ..note(1, 2, 3, slots) }).is_none());
        assert!(Note::of(&NewEntry { kind: EntryKind::CreateObject, ..note(1, 2, 3, slots) }).is_none());
        assert!(Note::of(&note(1, 2, 3, slots)).is_some());
    }

    #[test]
    fn a_note_that_does_not_fit_changes_nothing() {
        let mut page = empty();
        put_u16(&mut page, USED, 4096 - 24);
        let (before, mut short) = (page.clone(), Vec::new());
        Note::of(&note(1, 2, 3, Slots::Run { first: 0, count: 1 })).unwrap().encode(&mut short);
        assert!(redo(RecordKind::VERSION_NOTE, &mut page, &short).is_err());
        assert!(page == before);
    }
}
