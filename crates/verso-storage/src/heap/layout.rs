//! Where everything stands in a data page (PAX: one array per column).
//!
//! ```text
//! header 32 │ page fields 24 │ column descriptors 4 each │ live bitmap │ writer txn[cap] │ back pointer[cap] │
//! null bitmap, one per column │ array, one per column (values, or 8-byte value slots) │ free │ ◄─ variable bytes
//! ```
//!
//! A page describes itself: its column descriptors give every array's place, so redo and `check` need no catalog.
//! All fields are explained in docs/FORMAT.md § Data page.

use smallvec::SmallVec;
use verso_types::Physical;

use crate::page::bytes::{checked_slice, put_u16, u16_at};
use crate::page::{Flaw, header};

/// Directory index of the page, u32.
pub const PAGE_INDEX: usize = 24;
/// Format number of the table when the page was made, u16.
pub const FORMAT: usize = 28;
/// Slots in every array, u16.
pub const CAPACITY: usize = 30;
/// Slots at or behind this were never used, u16.
pub const SLOT_HIGH: usize = 32;
/// Live records, u16.
pub const LIVE_COUNT: usize = 34;
/// Lowest offset of the variable bytes, u16.
pub const VARIABLE_START: usize = 36;
/// Variable bytes that no value slot points at any more, u16.
pub const GARBAGE: usize = 38;
/// No writer on the page is greater than this, u64.
pub const MAX_WRITER: usize = 40;
/// First companion page, u32, 0 = none.
pub const COMPANION: usize = 48;
/// Columns, u16.
pub const COLUMN_COUNT: usize = 52;
/// Deleted records that still hold their slot, u16.
pub const DELETED_COUNT: usize = 54;
/// Column descriptors: `id u16 | physical type u8 | encoding u8 (0)`.
pub const COLUMNS: usize = 56;

/// Page flag: every live record is visible to every snapshot, now and later (V7).
pub const FLAG_ALL_VISIBLE: u8 = 1;
/// Page flag: sweep has nothing to do here (V7).
pub const FLAG_SWEPT: u8 = 2;

/// Page flag: every slot below the high one has the writer and the back pointer of the first, so one look tells for all.
pub const FLAG_ALIKE: u8 = 4;

/// A column as storage knows it: an identity that is never reused and a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnSpec {
    /// Never reused within a table.
    pub id: u16,
    /// Shape of its values.
    pub physical: Physical,
}

/// The physical type's number on disk.
pub fn physical_code(physical: Physical) -> u8 {
    match physical {
        Physical::Bool => 1,
        Physical::I16 => 2,
        Physical::I32 => 3,
        Physical::I64 => 4,
        Physical::I128 => 5,
        Physical::F32 => 6,
        Physical::F64 => 7,
        Physical::Bytes => 8,
    }
}

/// The physical type with this number on disk.
pub fn physical_from_code(code: u8) -> Option<Physical> {
    Some(match code {
        1 => Physical::Bool,
        2 => Physical::I16,
        3 => Physical::I32,
        4 => Physical::I64,
        5 => Physical::I128,
        6 => Physical::F32,
        7 => Physical::F64,
        8 => Physical::Bytes,
        _ => return None,
    })
}

/// Column descriptors as a page has them.
pub fn descriptors(columns: &[ColumnSpec]) -> Vec<u8> {
    let descriptor = |column: &ColumnSpec| {
        let [low, high] = column.id.to_le_bytes();
        [low, high, physical_code(column.physical), 0]
    };
    columns.iter().flat_map(descriptor).collect()
}

/// Places of one column's arrays.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPlace {
    /// Which column.
    pub id: u16,
    /// Shape of its values.
    pub physical: Physical,
    /// Bytes per element of the array at `data`: the value, or 8 for a value slot.
    pub width: usize,
    /// Offset of the null bitmap.
    pub nulls: usize,
    /// Offset of the array.
    pub data: usize,
}

impl ColumnPlace {
    /// Whether the array holds value slots.
    #[inline]
    pub fn is_variable(&self) -> bool {
        matches!(self.physical, Physical::Bytes)
    }
}

/// Offsets of all arrays of a data page, computed from its descriptors.
#[derive(Clone, Debug)]
pub struct PageLayout {
    /// Slots in every array.
    pub capacity: usize,
    /// Offset of the live bitmap.
    pub live: usize,
    /// Offset of the writer array.
    pub writer: usize,
    /// Offset of the back pointer array.
    pub back: usize,
    /// One place per column, in the page's order.
    pub columns: SmallVec<[ColumnPlace; 12]>,
    /// First byte behind the arrays.
    pub end: usize,
}

pub(super) fn bitmap_bytes(capacity: usize) -> usize {
    capacity.div_ceil(64) * 8
}

fn element_width(physical: Physical) -> usize {
    physical.width().unwrap_or(8)
}

/// Bytes of the arrays for one record, bitmaps left out.
pub fn record_width(columns: &[ColumnSpec]) -> usize {
    16 + columns.iter().map(|column| element_width(column.physical)).sum::<usize>()
}

impl PageLayout {
    /// The layout of a page with these columns and this capacity.
    pub fn new(columns: impl ExactSizeIterator<Item = ColumnSpec>, capacity: usize) -> PageLayout {
        let live = (COLUMNS + columns.len() * 4).next_multiple_of(8);
        let writer = live + bitmap_bytes(capacity);
        let back = writer + capacity * 8;
        let mut nulls = back + capacity * 8;
        let mut data = nulls + columns.len() * bitmap_bytes(capacity);
        let columns = columns
            .map(|column| {
                let width = element_width(column.physical);
                let place = ColumnPlace { id: column.id, physical: column.physical, width, nulls, data };
                nulls += bitmap_bytes(capacity);
                data += (capacity * width).next_multiple_of(8);
                place
            })
            .collect();
        PageLayout { capacity, live, writer, back, columns, end: data }
    }

    /// The layout of a data page.
    ///
    /// # Errors
    /// A flaw when the descriptors or the capacity do not fit the page.
    pub fn of(page: &[u8]) -> Result<PageLayout, Flaw> {
        let count = usize::from(u16_at(page, COLUMN_COUNT));
        let capacity = usize::from(u16_at(page, CAPACITY));
        let descriptors = checked_slice(page, COLUMNS, count * 4)?;
        let mut known = true;
        let columns = descriptors.chunks_exact(4).map(|descriptor| {
            let physical = physical_from_code(descriptor[2]);
            known &= physical.is_some();
            ColumnSpec { id: u16_at(descriptor, 0), physical: physical.unwrap_or(Physical::Bool) }
        });
        let layout = PageLayout::new(columns, capacity);
        if !known {
            return Err(Flaw::from("unknown column type in a data page"));
        }
        if layout.end > page.len() {
            return Err(Flaw::from("column arrays reach beyond the page"));
        }
        Ok(layout)
    }

    /// Whether this is the layout of that data page too.
    pub fn describes(&self, page: &[u8]) -> bool {
        let same = |(index, place): (usize, &ColumnPlace)| {
            let at = COLUMNS + index * 4;
            u16_at(page, at) == place.id && page[at + 2] == physical_code(place.physical)
        };
        usize::from(u16_at(page, CAPACITY)) == self.capacity
            && usize::from(u16_at(page, COLUMN_COUNT)) == self.columns.len()
            && self.end <= page.len()
            && self.columns.iter().enumerate().all(same)
    }

    /// Index in [`PageLayout::columns`] of the column with this identity.
    #[inline]
    pub fn ordinal(&self, id: u16) -> Option<usize> {
        self.columns.iter().position(|place| place.id == id)
    }

    /// The greatest capacity whose arrays and `variable` mean bytes per record fill at most `budget` bytes of a page.
    ///
    /// 0 when not even one record fits.
    pub fn capacity_for(columns: &[ColumnSpec], variable: usize, budget: usize) -> usize {
        let mut capacity = budget / (record_width(columns) + variable).max(1);
        let fits = |capacity: usize| {
            PageLayout::new(columns.iter().copied(), capacity).end + capacity * variable <= budget
        };
        while capacity > 0 && !fits(capacity) {
            capacity -= 1;
        }
        capacity.min(usize::from(u16::MAX) - 1)
    }

    /// Writes descriptors and the empty page's fields; the header stands already.
    pub fn format(columns: &[ColumnSpec], capacity: usize, page: &mut [u8], page_index: u32, format: u16) {
        debug_assert!(page.len() > header::SIZE);
        page[PAGE_INDEX..PAGE_INDEX + 4].copy_from_slice(&page_index.to_le_bytes());
        put_u16(page, FORMAT, format);
        put_u16(page, CAPACITY, capacity as u16);
        put_u16(page, COLUMN_COUNT, columns.len() as u16);
        // 65,536 does not fit, but the greatest page is 32,768 bytes.
        put_u16(page, VARIABLE_START, page.len() as u16);
        let descriptors = descriptors(columns);
        page[COLUMNS..COLUMNS + descriptors.len()].copy_from_slice(&descriptors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS_OF_TEST: [ColumnSpec; 3] = [
        ColumnSpec { id: 1, physical: Physical::I64 },
        ColumnSpec { id: 2, physical: Physical::Bytes },
        ColumnSpec { id: 5, physical: Physical::Bool },
    ];

    #[test]
    fn arrays_do_not_overlap_and_a_page_describes_itself() {
        let mut page = vec![0; 8192];
        PageLayout::format(&COLUMNS_OF_TEST, 100, &mut page, 7, 1);
        let layout = PageLayout::of(&page).unwrap();
        assert_eq!((layout.live, layout.writer, layout.back), (72, 88, 888));
        let [a, b, c] = [layout.columns[0], layout.columns[1], layout.columns[2]];
        assert_eq!((a.nulls, b.nulls, c.nulls, a.data), (1688, 1704, 1720, 1736));
        assert_eq!((b.data, c.data, layout.end), (2536, 3336, 3440));
        assert_eq!(layout.ordinal(5), Some(2));
        assert!(layout.describes(&page));
        for (capacity, columns) in [(99, &COLUMNS_OF_TEST[..]), (100, &COLUMNS_OF_TEST[..2])] {
            PageLayout::format(columns, capacity, &mut page, 7, 1);
            assert!(!layout.describes(&page));
        }
        let mut other = COLUMNS_OF_TEST;
        other[1].id = 3;
        PageLayout::format(&other, 100, &mut page, 7, 1);
        assert!(!layout.describes(&page));
        assert_eq!(layout.ordinal(3), None);
    }

    #[test]
    fn capacity_leaves_the_budget_and_junk_is_a_flaw() {
        for (variable, budget) in [(0, 4096), (50, 16000), (4000, 8000), (9000, 8000)] {
            let capacity = PageLayout::capacity_for(&COLUMNS_OF_TEST, variable, budget);
            let end = |n| PageLayout::new(COLUMNS_OF_TEST.into_iter(), n).end + n * variable;
            assert!(capacity == 0 || end(capacity) <= budget);
            assert!(end(capacity + 1) > budget);
        }
        let mut page = vec![0; 4096];
        PageLayout::format(&COLUMNS_OF_TEST, 2000, &mut page, 0, 1);
        assert!(PageLayout::of(&page).is_err());
        PageLayout::format(&COLUMNS_OF_TEST, 10, &mut page, 0, 1);
        page[COLUMNS + 2] = 99;
        assert!(PageLayout::of(&page).is_err());
    }
}
