//! Between which integers the values of a page lie, and which conditions that leaves nothing for.

use verso_types::Physical;

use super::layout::{ColumnPlace, PageLayout, SLOT_HIGH};
use super::sieve::Condition;
use super::slice::bit;
use crate::bounds::{COLUMNS_MAX, ColumnBounds};
use crate::page::Flaw;
use crate::page::bytes::u16_at;

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
    use super::*;

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
