//! Which data pages have room for another record, as far as is known in memory.
//!
//! Noted by who has the page latched and leaves a free slot in it: purge, undo, back-out, sweep. An insert takes a page
//! whose class promises the bytes that the record needs, so it looks at no page in vain, unless the page has changed since.
//!
//! ```text
//! class     0      1       2       …  CLASSES − 1
//! bytes ≥   0    1/128   1/64      …      1/2       of a page; each with the indexes of its pages, 64 to a word
//! ```
//!
//! R1. A page is in at most one class; in none when it has no free slot.
//! R2. Hints only: the insert looks at the page itself. After a restart there are none until a sweep.

use std::collections::BTreeMap;

use verso_env::sync::Mutex;

use super::apply;
use super::layout::{PageLayout, SLOT_HIGH};
use crate::page::bytes::{u16_at, u64_at};

/// Least room of the pages of each class, in 128ths of a page.
const LEAST: [usize; 9] = [0, 1, 2, 4, 8, 16, 32, 48, 64];

/// The pages of a table that have room.
#[derive(Default)]
pub(crate) struct FreeRoom {
    classes: Mutex<[BTreeMap<u32, u64>; LEAST.len()]>,
}

impl FreeRoom {
    /// Nothing goes to the page at a directory index.
    pub fn forget(&self, index: u32) {
        self.put(index, None);
    }

    /// The packed data page at a directory index has no records.
    pub fn note_empty(&self, index: u32) {
        self.put(index, Some(LEAST.len() - 1));
    }

    /// Notes how much room the latched page at a directory index has.
    pub fn note(&self, index: u32, page: &[u8]) {
        let room = PageLayout::of(page).ok().and_then(|layout| room(page, &layout));
        self.put(
            index,
            room.and_then(|room| LEAST.iter().rposition(|least| least * page.len() <= room * 128)),
        );
    }

    fn put(&self, index: u32, class: Option<usize>) {
        let (word, bit) = (index / 64, 1 << (index % 64));
        let mut classes = self.classes.lock();
        for words in classes.iter_mut() {
            if let Some(bits) = words.get_mut(&word) {
                *bits &= !bit;
                if *bits == 0 {
                    words.remove(&word);
                }
            }
        }
        if let Some(class) = class {
            *classes[class].entry(word).or_default() |= bit;
        }
    }

    /// A page that has a free slot and `need` bytes, most likely; it is not listed any more.
    pub fn take(&self, need: usize, page_size: usize) -> Option<u32> {
        let least = LEAST.iter().position(|least| need * 128 <= least * page_size)?;
        let mut classes = self.classes.lock();
        for words in &mut classes[least..] {
            if let Some(mut entry) = words.first_entry() {
                let bit = entry.get().trailing_zeros();
                let index = entry.key() * 64 + bit;
                *entry.get_mut() &= !(1 << bit);
                if *entry.get() == 0 {
                    entry.remove();
                }
                return Some(index);
            }
        }
        None
    }

    /// Pages listed.
    #[cfg(test)]
    fn count(&self) -> u32 {
        self.classes.lock().iter().flat_map(|words| words.values()).map(|bits| bits.count_ones()).sum()
    }
}

/// Bytes for values of a further record; none when there is no slot for it.
pub(super) fn room(page: &[u8], layout: &PageLayout) -> Option<usize> {
    let high = usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity);
    let free = |slot: &usize| u64_at(page, layout.writer + slot * 8) == 0;
    let slot_free = high < layout.capacity || (0..high).any(|slot| free(&slot));
    slot_free.then(|| apply::free_bytes(page, layout))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heap::layout::ColumnSpec;
    use crate::page::{ObjectId, PageId, PageKind, header};
    use verso_types::Physical;

    const SIZE: usize = 4096;

    /// A page without records for so many, or none at all.
    fn page(capacity: usize) -> Vec<u8> {
        let mut page = vec![0; SIZE];
        header::init(&mut page, PageId(9), PageKind::Data, ObjectId(1000), 0);
        let column = ColumnSpec { id: 1, physical: Physical::I64 };
        PageLayout::format(&[column], capacity, &mut page, 0, 1);
        page
    }

    #[test]
    fn a_page_is_found_by_what_it_has_room_for_and_listed_once() {
        let room = FreeRoom::default();
        let (large, small, none) = (page(8), page(150), page(0));
        let free = |page: &[u8]| super::room(page, &PageLayout::of(page).unwrap());
        assert!(free(&large).unwrap() > SIZE / 2 && free(&small).unwrap() < SIZE / 8);
        assert_eq!(free(&none), None);
        room.note(70, &small);
        room.note(700_000, &large);
        room.note(70, &small);
        assert_eq!(room.count(), 2);
        assert_eq!(room.take(SIZE / 4, SIZE), Some(700_000));
        assert_eq!(room.take(SIZE / 4, SIZE), None);
        assert_eq!(room.take(0, SIZE), Some(70));
        assert_eq!(room.count(), 0);
        // One that is full now is forgotten.
        room.note(5, &large);
        room.note(5, &none);
        assert_eq!(room.take(0, SIZE), None);
    }
}
