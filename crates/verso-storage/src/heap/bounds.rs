//! Between which integers the values of a page lie, what a change makes of that, and which conditions it leaves nothing for.

use verso_types::Physical;

use super::apply;
use super::layout::{COLUMN_COUNT, COLUMNS, ColumnPlace, PageLayout, SLOT_HIGH, physical_from_code};
use super::sieve::Condition;
use super::slice::{ColumnSlice, bit};
use super::slots::Slots;
use crate::bounds::{COLUMNS_MAX, ColumnBounds, PageBounds};
use crate::page::bytes::{checked_slice, checked_u16, checked_u32, u16_at};
use crate::page::{Flaw, PageId, PageKind, header};
use crate::rules::{Rule, disabled};
use crate::wal::RecordKind;

/// The bounds of the columns of a data page that are integers.
pub(crate) fn of_page(page: &[u8]) -> Result<Box<[ColumnBounds]>, Flaw> {
    let layout = PageLayout::of(page)?;
    let high = usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity);
    let integers = layout.columns.iter().filter(|place| place.physical != Physical::Bytes);
    Ok(integers.filter_map(|place| of_column(page, &layout, place, high)).take(COLUMNS_MAX).collect())
}

fn of_column(page: &[u8], layout: &PageLayout, place: &ColumnPlace, slots: usize) -> Option<ColumnBounds> {
    let array = &page[place.data..];
    let (live, nulls) = (&page[layout.live..], &page[place.nulls..]);
    let counts = |slot: &usize| bit(live, *slot) && !bit(nulls, *slot);
    macro_rules! bounds {
        ($ty:ty) => {{
            let values: &[[u8; size_of::<$ty>()]] = array.as_chunks().0;
            (0..slots).filter(counts).fold((i64::MAX, i64::MIN), |(low, high), slot| {
                let value = i64::from(<$ty>::from_le_bytes(values[slot]));
                (low.min(value), high.max(value))
            })
        }};
    }
    let (low, high) = match place.physical {
        Physical::I16 => bounds!(i16),
        Physical::I32 => bounds!(i32),
        Physical::I64 => bounds!(i64),
        _ => return None,
    };
    Some(ColumnBounds { column: place.id, low, high })
}

/// A record of the log has changed a page, which is still latched (PB2).
#[inline]
pub(crate) fn changed(known: &PageBounds, id: PageId, kind: RecordKind, page: &[u8], payload: &[u8]) {
    if kind == RecordKind::DATA_INIT {
        begin(known, id, page);
    } else if !known.is_empty() && known.has(id) {
        follow(known, id, kind, page, payload);
    }
}

/// Nothing is in a page that is new.
fn begin(known: &PageBounds, id: PageId, page: &[u8]) {
    match of_page(page) {
        Ok(bounds) => known.insert(id, bounds),
        Err(_) => known.remove(id),
    }
}

/// What a change makes of the bounds of its page.
fn follow(known: &PageBounds, id: PageId, kind: RecordKind, page: &[u8], payload: &[u8]) {
    let mut followed = Ok(());
    match kind {
        RecordKind::DATA_INSERT | RecordKind::DATA_UPDATE | RecordKind::DATA_APPEND
            if disabled(Rule::PageBounds) => {}
        RecordKind::DATA_INSERT => known.widen(id, |bounds| followed = by_slices(bounds, payload, 8)),
        RecordKind::DATA_UPDATE => {
            known.widen(id, |bounds| followed = by_update(bounds, payload));
        }
        RecordKind::DATA_APPEND => known.widen(id, |bounds| followed = by_row(bounds, page, payload)),
        RecordKind::DATA_FREE | RecordKind::DATA_SWEEP => {}
        _ => return known.remove(id),
    }
    if followed.is_err() {
        // The redo function has taken it, so it is none that is understood here.
        known.remove(id);
    }
    if cfg!(debug_assertions) && !disabled(Rule::PageBounds) && header::kind(page) == Some(PageKind::Data) {
        check(known, id, page);
    }
}

/// What stands on a page lies within its bounds (PB1).
fn check(known: &PageBounds, id: PageId, page: &[u8]) {
    let Ok(found) = of_page(page) else { return };
    let within = |bounds: &[ColumnBounds]| {
        found.iter().all(|its| {
            let of = bounds.iter().find(|bounds| bounds.column == its.column);
            its.is_empty() || of.is_none_or(|of| of.low <= its.low && its.high <= of.high)
        })
    };
    assert!(known.of(id, within) != Some(false), "PB2: {id} was changed without its bounds");
}

/// New values of several records: slots at `at`, then a slice for each column.
fn by_slices(bounds: &mut [ColumnBounds], payload: &[u8], mut at: usize) -> Result<(), Flaw> {
    let count = Slots::decode(payload, &mut at)?.len();
    checked_u16(payload, at)?;
    columns(bounds, payload, at + 2, count)
}

fn by_update(bounds: &mut [ColumnBounds], payload: &[u8]) -> Result<(), Flaw> {
    let (slots, slices) = apply::update_parts(payload)?;
    let count = Slots::decode(payload, &mut slots.start.clone())?.len();
    columns(bounds, payload, slices.start, count)
}

/// Slices of `count` values each, up to the end.
fn columns(bounds: &mut [ColumnBounds], payload: &[u8], mut at: usize, count: usize) -> Result<(), Flaw> {
    while at < payload.len() {
        let id = checked_u16(payload, at)?;
        match bounds.iter_mut().find(|bounds| bounds.column == id) {
            Some(its) => by_slice(its, &ColumnSlice::decode(payload, &mut at, count)?),
            None => at += ColumnSlice::HEADER + checked_u32(payload, at + 4)? as usize,
        }
    }
    Ok(())
}

fn by_slice(its: &mut ColumnBounds, slice: &ColumnSlice<'_>) {
    macro_rules! widen {
        ($ty:ty) => {{
            let values: &[[u8; size_of::<$ty>()]] = slice.fixed.as_chunks().0;
            let mut widen = |value: &[u8; size_of::<$ty>()]| its.widen(<$ty>::from_le_bytes(*value).into());
            if slice.nulls.is_none() {
                values.iter().for_each(widen);
            } else if slice.constant {
                // One for all that are not NULL.
                let counts = (0..slice.count).any(|rank| !slice.is_null(rank));
                values.iter().filter(|_| counts).for_each(widen);
            } else {
                let counts = values.iter().enumerate().filter(|(rank, _)| !slice.is_null(*rank));
                counts.for_each(|(_, value)| widen(value));
            }
        }};
    }
    match slice.physical {
        Physical::I16 => widen!(i16),
        Physical::I32 => widen!(i32),
        Physical::I64 => widen!(i64),
        _ => {}
    }
}

/// The row of a [`RecordKind::DATA_APPEND`]: its values follow the columns of the page, and so do the bounds.
#[inline]
fn by_row(bounds: &mut [ColumnBounds], page: &[u8], payload: &[u8]) -> Result<(), Flaw> {
    let count = usize::from(u16_at(page, COLUMN_COUNT));
    let nulls = checked_slice(payload, 10, count.div_ceil(8))?;
    let mut at = 10 + nulls.len();
    let mut left = bounds.iter_mut().peekable();
    for (column, descriptor) in checked_slice(page, COLUMNS, count * 4)?.as_chunks::<4>().0.iter().enumerate()
    {
        let Some(next) = left.peek() else { return Ok(()) };
        let its = match next.column == u16_at(descriptor, 0) {
            true => left.next(),
            false => None,
        };
        if bit(nulls, column) {
            continue;
        }
        let physical = physical_from_code(descriptor[2]).ok_or_else(|| Flaw::from("unknown column type"))?;
        let length = match physical.width() {
            Some(width) => width,
            None => {
                at += 2;
                usize::from(checked_u16(payload, at - 2)?)
            }
        };
        if let Some(its) = its {
            match *checked_slice(payload, at, length)? {
                [a, b] => its.widen(i16::from_le_bytes([a, b]).into()),
                [a, b, c, d] => its.widen(i32::from_le_bytes([a, b, c, d]).into()),
                [a, b, c, d, e, f, g, h] => its.widen(i64::from_le_bytes([a, b, c, d, e, f, g, h])),
                _ => return Err(Flaw::from("bounds of a column that has no integers")),
            }
        }
        at += length;
    }
    Ok(())
}

impl Condition {
    /// Whether no record of a page with these bounds fulfils it.
    pub(super) fn excludes(&self, bounds: &[ColumnBounds]) -> bool {
        let of = |column: u16| bounds.iter().find(|bounds| bounds.column == column);
        match self {
            Condition::Range { column, low, high } => of(*column)
                .is_some_and(|its| its.high < *low || its.low > *high || low > high || its.is_empty()),
            Condition::Keys { column, keys } => of(*column).is_some_and(|its| {
                let (base, bits) = keys.bits();
                let behind = base.saturating_add((bits.len() as i64).saturating_mul(64));
                its.high < base || its.low > behind
            }),
            Condition::Below { column, other, or_equal } => match (of(*column), of(*other)) {
                (Some(its), Some(others)) => its.low > others.high || !or_equal && its.low == others.high,
                _ => false,
            },
            Condition::Among { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use verso_types::{Column, ColumnData};

    use super::super::layout::ColumnSpec;
    use super::super::slice::encode_column;
    use super::*;
    use crate::page::ObjectId;

    const SPECS: [ColumnSpec; 3] = [
        ColumnSpec { id: 1, physical: Physical::I64 },
        ColumnSpec { id: 4, physical: Physical::Bytes },
        ColumnSpec { id: 7, physical: Physical::I16 },
    ];

    /// A new page of a table with these columns, whose bounds are known.
    fn page(known: &PageBounds) -> Vec<u8> {
        let (mut page, mut payload) = (vec![0; 4096], Vec::new());
        apply::init_payload(&mut payload, PageId(9), ObjectId(1000), 3, 20, &SPECS);
        apply::redo(RecordKind::DATA_INIT, &mut page, &payload).unwrap();
        changed(known, PageId(9), RecordKind::DATA_INIT, &page, &payload);
        page
    }

    fn bounds(known: &PageBounds) -> Option<Vec<(u16, i64, i64)>> {
        known.of(PageId(9), |bounds| bounds.iter().map(|its| (its.column, its.low, its.high)).collect())
    }

    fn slice(out: &mut Vec<u8>, id: u16, values: &[Option<i64>]) {
        let physical = SPECS.iter().find(|spec| spec.id == id).unwrap().physical;
        let mut column = Column::new(physical);
        for (row, value) in values.iter().enumerate() {
            match &mut column.data {
                ColumnData::I64(list) => list.push(value.unwrap_or(0)),
                ColumnData::I16(list) => list.push(value.unwrap_or(0) as i16),
                _ => unreachable!("a column of integers"),
            }
            if value.is_none() {
                column.nulls.set(row);
            }
        }
        encode_column(out, id, &column, 0..values.len(), None);
    }

    #[test]
    fn pb2_changes_widen_the_bounds_of_their_page() {
        let known = PageBounds::within(1 << 16);
        let mut page = page(&known);
        let nothing = (i64::MAX, i64::MIN);
        assert_eq!(bounds(&known), Some(vec![(1, nothing.0, nothing.1), (7, nothing.0, nothing.1)]));
        let mut change = |kind, payload: &[u8]| {
            apply::redo(kind, &mut page, payload).unwrap();
            changed(&known, PageId(9), kind, &page, payload);
            bounds(&known)
        };
        let insert = |first: u16, numbers: &[Option<i64>], small: &[Option<i64>]| {
            let mut payload = 5u64.to_le_bytes().to_vec();
            Slots::Run { first, count: numbers.len() as u16 }.encode(&mut payload);
            payload.extend_from_slice(&2u16.to_le_bytes());
            slice(&mut payload, 1, numbers);
            slice(&mut payload, 7, small);
            payload
        };
        let inserted = insert(0, &[Some(40), None, Some(-3)], &[None, None, None]);
        let after = change(RecordKind::DATA_INSERT, &inserted);
        assert_eq!(after, Some(vec![(1, -3, 40), (7, nothing.0, nothing.1)]), "NULL is in no bounds");
        let after = change(RecordKind::DATA_INSERT, &insert(3, &[Some(7), Some(7)], &[Some(1), Some(1)]));
        assert_eq!(after, Some(vec![(1, -3, 40), (7, 1, 1)]), "constants");
        let mut update = vec![apply::UNIFORM];
        Slots::Run { first: 0, count: 1 }.encode(&mut update);
        update.extend_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]);
        slice(&mut update, 1, &[Some(1000)]);
        let after = change(RecordKind::DATA_UPDATE, &update);
        assert_eq!(after, Some(vec![(1, -3, 1000), (7, 1, 1)]), "the old value stays within them");
        let mut row = 6u64.to_le_bytes().to_vec();
        row.extend_from_slice(&[5, 0, 0]);
        row.extend_from_slice(&(-900i64).to_le_bytes());
        row.extend_from_slice(&[2, 0, b'h', b'i']);
        row.extend_from_slice(&(-8i16).to_le_bytes());
        let after = change(RecordKind::DATA_APPEND, &row);
        assert_eq!(after, Some(vec![(1, -900, 1000), (7, -8, 1)]), "behind a text");
        row[8..11].copy_from_slice(&[6, 0, 0b11]);
        row.truncate(11);
        row.extend_from_slice(&300i16.to_le_bytes());
        assert_eq!(change(RecordKind::DATA_APPEND, &row), Some(vec![(1, -900, 1000), (7, -8, 300)]));
        changed(&known, PageId(9), RecordKind::PAGE_FREE, &page, &[]);
        assert_eq!(bounds(&known), None, "whatever else happens takes them back");
    }

    #[test]
    fn conditions_outside_of_the_bounds_leave_nothing() {
        let bounds = [
            ColumnBounds { column: 1, low: -5, high: 10 },
            ColumnBounds { column: 2, low: 10, high: 20 },
            // NULLs alone.
            ColumnBounds { column: 3, low: i64::MAX, high: i64::MIN },
        ];
        let range = |column, low, high| Condition::Range { column, low, high }.excludes(&bounds);
        assert!(range(1, 11, i64::MAX) && range(1, i64::MIN, -6) && range(1, 3, 2));
        assert!(!range(1, 10, 10) && !range(1, -5, -5) && !range(1, i64::MIN, i64::MAX));
        assert!(range(3, i64::MIN, i64::MAX) && !range(4, 3, 2));
        let below = |column, other, or_equal| Condition::Below { column, other, or_equal }.excludes(&bounds);
        assert!(below(2, 1, false) && !below(2, 1, true) && !below(1, 2, false));
        assert!(!below(2, 4, false));
    }
}
