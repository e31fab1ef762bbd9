//! One SQL value, and SQL's order, equality and hash over values.
//!
//! The hot paths work on [`Column`](crate::Column)s; a `Value` is for literals, parameters, results and rows in procedures.
//!
//! 1. `cmp_sql` is a total order: NULL last, NaN above every number, -0 equal to 0, 1.0 equal to 1.00.
//! 2. `hash_sql` agrees with it among the exact numbers (integers, numeric), among the floats, and within any other
//!    type. The binder casts both sides of a comparison to one type, so a float never meets an exact number there.
//! 3. `PartialEq` is structural (1.0 differs from 1.00), for tests and for finding unchanged columns.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::array::Array;
use crate::decimal::Decimal;
use crate::json::{self, Jsonb};
use crate::number::Number;
use crate::opaque::Opaque;
use crate::range::{Multirange, Range};

/// A PostgreSQL interval: the three parts are kept apart, as months and days differ in length. The greatest and the
/// least of all parts at once are `infinity` and `-infinity`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Whole months.
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// Longer than all others.
    pub const INFINITY: Interval = Interval { months: i32::MAX, days: i32::MAX, micros: i64::MAX };
    /// Shorter than all others.
    pub const NEGATIVE_INFINITY: Interval = Interval { months: i32::MIN, days: i32::MIN, micros: i64::MIN };

    /// Is it neither infinity?
    pub fn is_finite(self) -> bool {
        self != Self::INFINITY && self != Self::NEGATIVE_INFINITY
    }

    /// The infinity of that sign.
    pub const fn infinite(negative: bool) -> Interval {
        if negative { Self::NEGATIVE_INFINITY } else { Self::INFINITY }
    }

    /// The layout of interval columns: months in the upper 32 bits, then days, then microseconds.
    pub const fn pack(self) -> i128 {
        let months = self.months as u32 as u128;
        let days = self.days as u32 as u128;
        (months << 96 | days << 64 | self.micros as u64 as u128) as i128
    }

    /// The inverse of [`pack`](Self::pack).
    pub const fn unpack(bits: i128) -> Interval {
        let bits = bits as u128;
        Interval {
            months: (bits >> 96) as u32 as i32,
            days: (bits >> 64) as u32 as i32,
            micros: bits as u64 as i64,
        }
    }

    /// The length in microseconds by which intervals compare: a month has 30 days, a day 24 hours.
    pub const fn span(self) -> i128 {
        (self.months as i128 * 30 + self.days as i128) * 86_400_000_000 + self.micros as i128
    }
}

/// A value of any SQL type. Which type exactly (varchar or text, timestamp or oid) its [`SqlType`](crate::SqlType) says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL's NULL.
    Null,
    /// `boolean`
    Bool(bool),
    /// `smallint`
    Int2(i16),
    /// `integer`
    Int4(i32),
    /// `bigint` and `oid`
    Int8(i64),
    /// `real`
    Float4(f32),
    /// `double precision`
    Float8(f64),
    /// `numeric`
    Numeric(Decimal),
    /// The character types; `char(n)` without its trailing blanks
    Text(Arc<str>),
    /// `bytea`
    Bytes(Arc<[u8]>),
    /// Days since 2000-01-01
    Date(i32),
    /// Microseconds since midnight
    Time(i64),
    /// Microseconds since 2000-01-01 00:00:00
    Timestamp(i64),
    /// Microseconds since 2000-01-01 00:00:00 UTC
    Timestamptz(i64),
    /// `interval`
    Interval(Interval),
    /// `uuid`
    Uuid(u128),
    /// An array of any dimensions
    Array(Array),
    /// Composite value
    Record(Arc<[Value]>),
    /// `jsonb`
    Jsonb(Jsonb),
    /// `numeric` that no [`Decimal`] holds
    Big(Arc<Number>),
    /// Bit strings, `timetz`, addresses, `money`
    Opaque(Opaque),
    /// A range
    Range(Arc<Range>),
    /// A multirange
    Multirange(Arc<Multirange>),
    /// `xid8`, which has no sign
    Xid8(u64),
}

impl Value {
    /// Is it NULL?
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// A text value.
    pub fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    /// A bytea value.
    pub fn bytes(bytes: &[u8]) -> Value {
        Value::Bytes(bytes.into())
    }

    /// Whether a clone counts those who hold the value, instead of being one more.
    pub fn is_counted(&self) -> bool {
        matches!(
            self,
            Value::Text(_)
                | Value::Bytes(_)
                | Value::Array(_)
                | Value::Record(_)
                | Value::Jsonb(_)
                | Value::Big(_)
                | Value::Opaque(_)
                | Value::Range(_)
                | Value::Multirange(_)
        )
    }

    /// The same value in memory of its own: threads that clone the one do not slow down those that clone the other. Parts of arrays,
    /// rows and ranges are shared.
    #[must_use]
    pub fn apart(&self) -> Value {
        match self {
            Value::Text(text) => Value::text(text),
            Value::Bytes(bytes) => Value::bytes(bytes),
            Value::Jsonb(json) => Value::Jsonb(Jsonb::from_bytes(json.bytes())),
            Value::Array(array) => Value::Array(array.apart()),
            Value::Record(fields) => Value::Record(fields.to_vec().into()),
            Value::Big(number) => Value::Big(Arc::new(Number::clone(number))),
            Value::Opaque(value) => Value::Opaque(Opaque::new(value.kind(), value.bytes())),
            Value::Range(range) => Value::Range(Arc::new(Range::clone(range))),
            Value::Multirange(ranges) => Value::Multirange(Arc::new(Multirange::clone(ranges))),
            other => other.clone(),
        }
    }

    /// The number of an integer or oid.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::Int2(v) => Some(v.into()),
            Value::Int4(v) => Some(v.into()),
            Value::Int8(v) => Some(v),
            _ => None,
        }
    }

    /// The number of any number type, rounded to a double.
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::Float4(v) => Some(v.into()),
            Value::Float8(v) => Some(v),
            Value::Numeric(v) => Some(v.to_f64()),
            Value::Big(ref v) => Some(v.to_f64()),
            _ => self.as_i64().map(|v| v as f64),
        }
    }

    /// The truth value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match *self {
            Value::Bool(v) => Some(v),
            _ => None,
        }
    }

    /// The characters of a text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(v) => Some(v),
            _ => None,
        }
    }

    /// The exact number of an integer or numeric.
    pub(crate) fn as_decimal(&self) -> Option<Decimal> {
        match *self {
            Value::Numeric(v) => Some(v),
            Value::Xid8(v) => Decimal::new(v.into(), 0).ok(),
            _ => self.as_i64().map(Decimal::from),
        }
    }

    /// Where a type stands when values of incomparable types meet (only in mixed records).
    fn rank(&self) -> u8 {
        match self {
            Value::Bool(_) => 1,
            Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Xid8(_) => 2,
            Value::Float4(_) | Value::Float8(_) | Value::Numeric(_) | Value::Big(_) => 2,
            Value::Text(_) => 3,
            Value::Bytes(_) => 4,
            Value::Date(_) => 5,
            Value::Time(_) => 6,
            Value::Timestamp(_) => 7,
            Value::Timestamptz(_) => 8,
            Value::Interval(_) => 9,
            Value::Uuid(_) => 10,
            Value::Array(_) => 11,
            Value::Record(_) => 12,
            Value::Jsonb(_) => 13,
            Value::Opaque(_) => 14,
            Value::Range(_) => 15,
            Value::Multirange(_) => 16,
            Value::Null => 17,
        }
    }
}

/// Order of doubles in SQL: NaN above all, -0 equal to 0.
pub fn cmp_f64(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Order of singles in SQL: NaN above all, -0 equal to 0.
pub fn cmp_f32(a: f32, b: f32) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Bits of a double that are equal exactly where SQL's `=` holds.
pub fn hash_bits_f64(v: f64) -> u64 {
    match v {
        0.0 => 0,
        v if v.is_nan() => f64::NAN.to_bits(),
        v => v.to_bits(),
    }
}

/// SQL's total order over values of one type; NULL sorts last. Text compares by bytes (collation "C").
pub fn cmp_sql(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int4(a), Value::Int4(b)) => a.cmp(b),
        (Value::Int8(a), Value::Int8(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Xid8(a), Value::Xid8(b)) => a.cmp(b),
        (Value::Float4(a), Value::Float4(b)) => cmp_f32(*a, *b),
        (Value::Float8(a), Value::Float8(b)) => cmp_f64(*a, *b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::Timestamptz(a), Value::Timestamptz(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.span().cmp(&b.span()),
        (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => a.compare(b),
        (Value::Record(a), Value::Record(b)) => cmp_lists(a, b),
        (Value::Jsonb(a), Value::Jsonb(b)) => json::compare(a.root(), b.root()),
        (Value::Opaque(a), Value::Opaque(b)) => a.cmp(b),
        (Value::Range(a), Value::Range(b)) => a.compare(b),
        (Value::Multirange(a), Value::Multirange(b)) => a.compare(b),
        (Value::Big(_), _) | (_, Value::Big(_)) => cmp_big(a, b),
        _ => cmp_mixed(a, b),
    }
}

/// Where at least one is a numeric of many digits.
fn cmp_big(a: &Value, b: &Value) -> Ordering {
    match (Number::of(a), Number::of(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        _ => cmp_mixed(a, b),
    }
}

/// Numbers of different types, NULLs, and what never meets in a bound query.
fn cmp_mixed(a: &Value, b: &Value) -> Ordering {
    match (a.as_decimal(), b.as_decimal()) {
        (Some(a), Some(b)) => a.compare(&b),
        _ => match (a.as_f64(), b.as_f64()) {
            (Some(a), Some(b)) => cmp_f64(a, b),
            _ => a.rank().cmp(&b.rank()),
        },
    }
}

/// Element by element, then by length.
fn cmp_lists(a: &[Value], b: &[Value]) -> Ordering {
    let unequal = a.iter().zip(b).map(|(a, b)| cmp_sql(a, b)).find(|order| order.is_ne());
    unequal.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// `cmp_sql(a, b) == Equal`: grouping equality, so NULL equals NULL.
pub fn eq_sql(a: &Value, b: &Value) -> bool {
    cmp_sql(a, b).is_eq()
}

/// Feeds a hash that agrees with [`eq_sql`] (invariant 2).
pub fn hash_sql<H: Hasher>(value: &Value, state: &mut H) {
    match value {
        Value::Null => state.write_u8(0),
        Value::Bool(v) => v.hash(state),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Numeric(_) | Value::Xid8(_) => {
            value.as_decimal().expect("an exact number").hash_number(state);
        }
        Value::Big(v) => v.hash_number(state),
        Value::Float4(v) => state.write_u64(hash_bits_f64(f64::from(*v))),
        Value::Float8(v) => state.write_u64(hash_bits_f64(*v)),
        Value::Text(v) => v.hash(state),
        Value::Bytes(v) => v.hash(state),
        Value::Date(v) => v.hash(state),
        Value::Time(v) | Value::Timestamp(v) | Value::Timestamptz(v) => v.hash(state),
        Value::Interval(v) => v.span().hash(state),
        Value::Uuid(v) => v.hash(state),
        Value::Array(v) => hash_list(v, state),
        Value::Record(v) => hash_list(v, state),
        Value::Jsonb(v) => json::hash(v.root(), state),
        Value::Opaque(v) => v.hash(state),
        Value::Range(v) => v.hash(state),
        Value::Multirange(v) => v.hash(state),
    }
}

fn hash_list<H: Hasher>(values: &[Value], state: &mut H) {
    state.write_usize(values.len());
    values.iter().for_each(|value| hash_sql(value, state));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::DefaultHasher;

    fn hash(value: &Value) -> u64 {
        let mut state = DefaultHasher::new();
        hash_sql(value, &mut state);
        state.finish()
    }

    #[test]
    fn a_value_takes_two_words_and_a_half() {
        assert_eq!(size_of::<Value>(), 32);
    }

    #[test]
    fn intervals_survive_packing() {
        for (months, days, micros) in
            [(0, 0, 0), (-1, 1, -1), (i32::MIN, i32::MAX, i64::MIN), (1, -1, i64::MAX)]
        {
            let interval = Interval { months, days, micros };
            assert_eq!(Interval::unpack(interval.pack()), interval);
        }
    }

    #[test]
    fn order_is_sql_s() {
        let ascending = [
            Value::Float8(f64::NEG_INFINITY),
            Value::Float8(-1.5),
            Value::Float8(0.0),
            Value::Float8(f64::INFINITY),
            Value::Float8(f64::NAN),
            Value::Null,
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(cmp_sql(a, b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        assert!(eq_sql(&Value::Float8(-0.0), &Value::Float8(0.0)));
        assert!(cmp_sql(&Value::text("a"), &Value::text("B")).is_gt());
    }

    #[test]
    fn equal_values_hash_alike() {
        let month = Interval { months: 1, ..Interval::default() };
        let days = Interval { days: 30, ..Interval::default() };
        for (a, b) in [
            (Value::Float8(-0.0), Value::Float4(0.0)),
            (Value::Float8(f64::NAN), Value::Float8(-f64::NAN)),
            (Value::Int4(7), Value::Int8(7)),
            (Value::Int4(7), Value::Numeric(Decimal::new(7000, 3).expect("in range"))),
            (Value::Interval(month), Value::Interval(days)),
        ] {
            assert!(eq_sql(&a, &b));
            assert_eq!(hash(&a), hash(&b), "{a:?} {b:?}");
        }
    }

    #[test]
    fn numbers_of_different_types_compare_by_size() {
        let half = Value::Numeric(Decimal::new(5, 1).expect("in range"));
        assert!(cmp_sql(&Value::Int4(1), &Value::Float8(1.5)).is_lt());
        assert!(cmp_sql(&half, &Value::Float8(0.5)).is_eq() && cmp_sql(&half, &Value::Int2(1)).is_lt());
        assert!(cmp_sql(&Value::Int8(i64::MAX), &Value::Float8(f64::NAN)).is_lt());
        assert!(cmp_sql(&Value::Int8(1), &Value::text("1")).is_lt());
    }

    #[test]
    fn records_compare_column_by_column() {
        let record = |values: &[Value]| Value::Record(values.into());
        let a = record(&[Value::Int4(1), Value::Null]);
        assert!(cmp_sql(&a, &record(&[Value::Int4(1), Value::Int4(9)])).is_gt());
        assert!(cmp_sql(&a, &record(&[Value::Int4(1)])).is_gt());
        assert!(eq_sql(&a, &a));
    }
}
