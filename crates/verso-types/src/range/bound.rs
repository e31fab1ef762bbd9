//! Bounds of ranges.

use std::cmp::Ordering;

use super::{Range, RangeKind};
use crate::datetime;
use crate::error::TypeError;
use crate::value::{Value, cmp_sql};

/// Flags of the stored and of the binary form: PostgreSQL's.
pub const EMPTY: u8 = 1;
/// The lower bound is one of the values.
pub const LOWER_INCLUSIVE: u8 = 2;
/// The upper bound is one of the values.
pub const UPPER_INCLUSIVE: u8 = 4;
/// There is no lower bound.
pub const LOWER_INFINITE: u8 = 8;
/// There is no upper bound.
pub const UPPER_INFINITE: u8 = 16;

/// An end of a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Its value; none where the range does not end.
    pub value: Option<Value>,
    /// Is the value one of the range?
    pub inclusive: bool,
}

/// Which end a bound is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first value.
    Lower,
    /// The last value.
    Upper,
}

impl Bound {
    /// The bound of this value, which NULL is not.
    pub fn new(value: &Value, inclusive: bool) -> Bound {
        Bound { value: (!value.is_null()).then(|| value.clone()), inclusive }
    }

    /// The bound at the next value, inclusive becoming exclusive and the other way; infinities of dates stay.
    pub(super) fn next(self) -> Result<Bound, TypeError> {
        let next = match self.value {
            Some(Value::Int4(v)) => {
                Some(Value::Int4(v.checked_add(1).ok_or_else(|| TypeError::out_of_range("integer"))?))
            }
            Some(Value::Int8(v)) => {
                Some(Value::Int8(v.checked_add(1).ok_or_else(|| TypeError::out_of_range("bigint"))?))
            }
            Some(Value::Date(v)) if v != i32::MAX && v != i32::MIN => {
                Some(Value::Date(datetime::checked_date(i64::from(v) + 1)?))
            }
            _ => return Ok(self),
        };
        Ok(Bound { value: next, inclusive: !self.inclusive })
    }
}

impl RangeKind {
    /// Have its values neighbours?
    pub fn is_discrete(self) -> bool {
        matches!(self, RangeKind::Int4 | RangeKind::Int8 | RangeKind::Date)
    }

    /// Is it one of the values that a range of this kind has?
    pub fn has(self, value: &Value) -> bool {
        // Which values a user's type has its type says.
        self == RangeKind::Own && !value.is_null()
            || matches!(
                (self, value),
                (RangeKind::Int4, Value::Int4(_))
                    | (RangeKind::Int8, Value::Int8(_))
                    | (RangeKind::Num, Value::Numeric(_) | Value::Big(_))
                    | (RangeKind::Ts, Value::Timestamp(_))
                    | (RangeKind::Tstz, Value::Timestamptz(_))
                    | (RangeKind::Date, Value::Date(_))
            )
    }
}

/// Which bound comes first: of equal values, an exclusive upper one before inclusive ones, an exclusive lower one last.
pub fn compare_bounds((a, a_side): (&Bound, Side), (b, b_side): (&Bound, Side)) -> Ordering {
    let infinite = |side: Side| if side == Side::Lower { Ordering::Less } else { Ordering::Greater };
    match (&a.value, &b.value) {
        (None, None) if a_side == b_side => Ordering::Equal,
        (None, _) => infinite(a_side),
        (_, None) => infinite(b_side).reverse(),
        (Some(x), Some(y)) => {
            let place = |bound: &Bound, side: Side| match (bound.inclusive, side) {
                (true, _) => 0,
                (false, Side::Lower) => 1,
                (false, Side::Upper) => -1,
            };
            cmp_sql(x, y).then_with(|| place(a, a_side).cmp(&place(b, b_side)))
        }
    }
}

/// Does a range that ends with `upper` touch one that begins with `lower`, without a value in common?
pub fn touch(upper: &Bound, lower: &Bound) -> bool {
    match (&upper.value, &lower.value) {
        (Some(a), Some(b)) => cmp_sql(a, b).is_eq() && upper.inclusive != lower.inclusive,
        _ => false,
    }
}

impl Range {
    /// The flags of its stored form.
    pub fn flags(&self) -> u8 {
        let Some((lower, upper)) = &self.bounds else { return EMPTY };
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        flag(lower.inclusive, LOWER_INCLUSIVE)
            | flag(upper.inclusive, UPPER_INCLUSIVE)
            | flag(lower.value.is_none(), LOWER_INFINITE)
            | flag(upper.value.is_none(), UPPER_INFINITE)
    }
}
