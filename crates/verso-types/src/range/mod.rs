//! Ranges and multiranges: of the six types that PostgreSQL has them of, and of users' types.
//!
//! 1. A range is empty or has two bounds, the lower one not behind the upper one; an infinite bound is not inclusive.
//! 2. Ranges of types whose values have neighbours (integers, dates) are kept as `[a,b)`, so that equal ones are alike.
//! 3. The ranges of a multirange are not empty, ascend, and neither overlap nor touch.
//!
//! | module | what it is |
//! |---|---|
//! | [`range_type`] | which types there are |
//! | [`bound`] | bounds and their order |
//! | [`sets`] | the algebra: containment, union, intersection, difference, of either |
//! | `text` | text and binary forms, keys |
//!
//! Source: PostgreSQL's `rangetypes.c` and `multirangetypes.c`.

pub mod bound;
pub mod range_type;
pub mod sets;
mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

pub use bound::Bound;
pub use range_type::{OwnRange, RangeName, RangeType};
pub(crate) use text::encode_end;
pub use text::{
    encode_key, encode_multirange_key, format, format_multirange, parse, parse_multirange, receive,
    receive_multirange, send, send_multirange,
};

use crate::error::{TypeError, sqlstate};
use crate::value::{Value, hash_sql};
use bound::{Side, compare_bounds};

/// Which values a range is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RangeKind {
    /// `int4range`
    Int4 = 1,
    /// `int8range`
    Int8 = 2,
    /// `numrange`
    Num = 3,
    /// `tsrange`
    Ts = 4,
    /// `tstzrange`
    Tstz = 5,
    /// `daterange`
    Date = 6,
    /// A user's type
    Own = 7,
}

/// What a kind is to PostgreSQL: names and object ids of its range and multirange.
struct Facts {
    range: &'static str,
    oids: (u32, u32),
    multirange: &'static str,
    multi_oids: (u32, u32),
}

const fn facts(
    range: &'static str,
    oids: (u32, u32),
    multirange: &'static str,
    multi_oids: (u32, u32),
) -> Facts {
    Facts { range, oids, multirange, multi_oids }
}

static FACTS: [Facts; 6] = [
    facts("int4range", (3904, 3905), "int4multirange", (4451, 6150)),
    facts("int8range", (3926, 3927), "int8multirange", (4536, 6157)),
    facts("numrange", (3906, 3907), "nummultirange", (4532, 6151)),
    facts("tsrange", (3908, 3909), "tsmultirange", (4533, 6152)),
    facts("tstzrange", (3910, 3911), "tstzmultirange", (4534, 6153)),
    facts("daterange", (3912, 3913), "datemultirange", (4535, 6155)),
];

impl RangeKind {
    /// The kind with this number, which stands in front of stored values.
    pub fn from_code(code: u8) -> Option<RangeKind> {
        Some(match code {
            1 => RangeKind::Int4,
            2 => RangeKind::Int8,
            3 => RangeKind::Num,
            4 => RangeKind::Ts,
            5 => RangeKind::Tstz,
            6 => RangeKind::Date,
            7 => RangeKind::Own,
            _ => return None,
        })
    }
}

/// A range.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// Of which values.
    pub kind: RangeKind,
    /// The lower and the upper bound; none of the empty range.
    pub bounds: Option<(Bound, Bound)>,
}

/// A multirange.
#[derive(Clone, Debug, PartialEq)]
pub struct Multirange {
    /// Of which values.
    pub kind: RangeKind,
    /// Its ranges (invariant 3).
    pub ranges: Vec<Range>,
}

impl Range {
    /// The empty range.
    pub fn empty(kind: RangeKind) -> Range {
        Range { kind, bounds: None }
    }

    /// The range with these bounds, which may turn out to be empty.
    /// # Errors
    /// 22000 where the lower bound is behind the upper one; 22003, 22008 where a neighbour is beyond the type.
    pub fn new(kind: RangeKind, lower: Bound, upper: Bound) -> Result<Range, TypeError> {
        let Some((mut lower, mut upper)) = ordered(lower, upper)? else { return Ok(Range::empty(kind)) };
        if kind.is_discrete() {
            if !lower.inclusive {
                lower = lower.next()?;
            }
            if upper.inclusive {
                upper = upper.next()?;
            }
            let Some(bounds) = ordered(lower, upper)? else { return Ok(Range::empty(kind)) };
            return Ok(Range { kind, bounds: Some(bounds) });
        }
        Ok(Range { kind, bounds: Some((lower, upper)) })
    }

    /// Has it no value?
    pub fn is_empty(&self) -> bool {
        self.bounds.is_none()
    }

    /// The value as SQL's.
    pub fn into_value(self) -> Value {
        Value::Range(self.into())
    }

    /// SQL's order: the empty range first, then by the lower and the upper bound.
    pub fn compare(&self, other: &Range) -> Ordering {
        match (&self.bounds, &other.bounds) {
            (None, None) => Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some((a, b)), Some((c, d))) => compare_bounds((a, Side::Lower), (c, Side::Lower))
                .then_with(|| compare_bounds((b, Side::Upper), (d, Side::Upper))),
        }
    }

    fn hash_range<H: Hasher>(&self, state: &mut H) {
        match &self.bounds {
            None => state.write_u8(0),
            Some((lower, upper)) => {
                for bound in [lower, upper] {
                    state.write_u8(1 + u8::from(bound.inclusive));
                    match &bound.value {
                        Some(value) => hash_sql(value, state),
                        None => state.write_u8(9),
                    }
                }
            }
        }
    }

    /// Bytes of its bounds beside their places.
    pub fn heap_bytes(&self) -> usize {
        let of = |bound: &Bound| match &bound.value {
            Some(Value::Big(number)) => number.heap_bytes(),
            _ => 0,
        };
        size_of::<Range>() + self.bounds.as_ref().map_or(0, |(lower, upper)| of(lower) + of(upper))
    }
}

impl Hash for Range {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash_range(state);
    }
}

/// Bounds in their order; none where nothing is between them.
fn ordered(mut lower: Bound, mut upper: Bound) -> Result<Option<(Bound, Bound)>, TypeError> {
    lower.inclusive &= lower.value.is_some();
    upper.inclusive &= upper.value.is_some();
    if let (Some(a), Some(b)) = (&lower.value, &upper.value) {
        match crate::value::cmp_sql(a, b) {
            Ordering::Greater => {
                let text = "range lower bound must be less than or equal to range upper bound";
                return Err(TypeError::new("22000", text));
            }
            Ordering::Equal if !(lower.inclusive && upper.inclusive) => return Ok(None),
            _ => {}
        }
    }
    Ok(Some((lower, upper)))
}

impl Multirange {
    /// The multirange of the values that any of the ranges has.
    pub fn of(kind: RangeKind, ranges: Vec<Range>) -> Multirange {
        Multirange { kind, ranges: sets::normalized(ranges) }
    }

    /// The value as SQL's.
    pub fn into_value(self) -> Value {
        Value::Multirange(self.into())
    }

    /// SQL's order: range by range, then the one with less first.
    pub fn compare(&self, other: &Multirange) -> Ordering {
        let unequal =
            self.ranges.iter().zip(&other.ranges).map(|(a, b)| a.compare(b)).find(|order| order.is_ne());
        unequal.unwrap_or_else(|| self.ranges.len().cmp(&other.ranges.len()))
    }

    /// Bytes of its ranges.
    pub fn heap_bytes(&self) -> usize {
        self.ranges.iter().map(Range::heap_bytes).sum()
    }
}

impl Hash for Multirange {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_usize(self.ranges.len());
        self.ranges.iter().for_each(|range| range.hash(state));
    }
}

/// The error of bounds that cannot be: bytes of a page or of the network.
#[cold]
fn malformed_bounds() -> TypeError {
    TypeError::new(sqlstate::DATA_CORRUPTED, "corrupt value: bounds of a range")
}

impl Range {
    /// The range whose flags and bounds were stored; bounds in any order but theirs are refused.
    pub(crate) fn stored(
        kind: RangeKind,
        flags: u8,
        lower: Option<Value>,
        upper: Option<Value>,
    ) -> Result<Range, TypeError> {
        if flags & bound::EMPTY != 0 {
            return Ok(Range::empty(kind));
        }
        let own = |value: &Option<Value>| value.as_ref().is_none_or(|value| kind.has(value));
        if !own(&lower) || !own(&upper) {
            return Err(malformed_bounds());
        }
        let lower = Bound { value: lower, inclusive: flags & bound::LOWER_INCLUSIVE != 0 };
        let upper = Bound { value: upper, inclusive: flags & bound::UPPER_INCLUSIVE != 0 };
        Range::new(kind, lower, upper).map_err(|_| malformed_bounds())
    }
}

#[cfg(test)]
mod tests;
