//! Rows as bytes, for spools, undo and the values of array and record columns.
//!
//! Self-describing, so that a decoder needs no types: `count varint, value…`, a value being a tag byte and its payload.
//!
//! | tag | payload |
//! |---|---|
//! | 1 null, 2 false, 3 true | none |
//! | 4 smallint, 5 integer, 6 bigint (and xid8 of earlier versions), 11 date, 12 time, 13 timestamp, 14 timestamptz | zigzag varint |
//! | 7 real, 8 double | 4, 8 bytes little-endian |
//! | 9 numeric | length byte, [`Decimal::to_bytes`] |
//! | 10 text, 15 bytea | length varint, bytes |
//! | 16 interval, 17 uuid | 16 bytes little-endian |
//! | 18 array of one dimension from 1, 19 record | count varint, values |
//! | 20 array | count of dimensions; of each its length and lower bound (zigzag varint); as 18 |
//! | 21 jsonb, 22 numeric of many digits | length varint, its binary form |
//! | 24 range | kind byte, flags byte ([`range`](crate::range)), the values of the bounds that there are |
//! | 25 multirange | kind byte, count varint, of each range its flags and values |
//! | 23 opaque | kind byte, length varint, bytes ([`opaque`](crate::opaque)) |
//! | 26 xid8 | varint |
//!
//! Decoding trusts nothing: broken bytes are XX001, nesting stops at 64 levels, no allocation exceeds what the bytes hold.

use std::sync::Arc;

use crate::array::{Array, DIMENSIONS_MAX, Dimension};
use crate::decimal::Decimal;
use crate::error::TypeError;
use crate::json::Jsonb;
use crate::number::Number;
use crate::opaque::{Opaque, OpaqueKind};
use crate::range::{Multirange, Range, RangeKind, bound};
use crate::value::{Interval, Value};

const MAX_DEPTH: u32 = 64;

/// Appends the row's bytes to `out`.
pub fn encode_row(values: &[Value], out: &mut Vec<u8>) {
    put_varint(values.len() as u64, out);
    values.iter().for_each(|value| encode_value(value, out));
}

/// The same for a row of one decimal, whose [bytes](crate::Decimal::to_bytes) these are.
pub fn encode_row_of_decimal(bytes: &[u8], out: &mut Vec<u8>) {
    put_varint(1, out);
    put_tagged(9, &[bytes.len() as u8], out);
    out.extend_from_slice(bytes);
}

/// The row that `bytes` holds, all of them.
/// # Errors
/// XX001 for bytes that [`encode_row`] did not write.
pub fn decode_row(bytes: &[u8]) -> Result<Vec<Value>, TypeError> {
    let mut reader = Reader { rest: bytes };
    let row = reader.values(0)?;
    if reader.rest.is_empty() { Ok(row) } else { Err(TypeError::corrupt("bytes behind a row")) }
}

/// Appends one value's tag and payload.
pub fn encode_value(value: &Value, out: &mut Vec<u8>) {
    let mut tagged = |tag: u8, number: i64| {
        out.push(tag);
        put_zigzag(number, out);
    };
    match value {
        Value::Int2(v) => tagged(4, i64::from(*v)),
        Value::Int4(v) => tagged(5, i64::from(*v)),
        Value::Int8(v) => tagged(6, *v),
        Value::Date(v) => tagged(11, i64::from(*v)),
        Value::Time(v) => tagged(12, *v),
        Value::Timestamp(v) => tagged(13, *v),
        Value::Timestamptz(v) => tagged(14, *v),
        Value::Xid8(v) => {
            out.push(26);
            put_varint(*v, out);
        }
        Value::Null => out.push(1),
        Value::Bool(v) => out.push(2 + u8::from(*v)),
        Value::Float4(v) => put_tagged(7, &v.to_le_bytes(), out),
        Value::Float8(v) => put_tagged(8, &v.to_le_bytes(), out),
        Value::Numeric(v) => {
            put_tagged(9, &[0], out);
            let length = out.len() - 1;
            v.to_bytes(out);
            out[length] = (out.len() - length - 1) as u8;
        }
        Value::Text(v) => put_bytes(10, v.as_bytes(), out),
        Value::Bytes(v) => put_bytes(15, v, out),
        Value::Jsonb(v) => put_bytes(21, v.bytes(), out),
        Value::Big(v) => {
            let mut bytes = Vec::new();
            v.to_bytes(&mut bytes);
            put_bytes(22, &bytes, out);
        }
        Value::Opaque(v) => {
            out.extend([23, v.kind() as u8]);
            put_varint(v.bytes().len() as u64, out);
            out.extend_from_slice(v.bytes());
        }
        Value::Range(v) => {
            out.extend([24, v.kind as u8]);
            put_range(v, out);
        }
        Value::Multirange(v) => {
            out.extend([25, v.kind as u8]);
            put_varint(v.ranges.len() as u64, out);
            v.ranges.iter().for_each(|range| put_range(range, out));
        }
        Value::Interval(v) => put_tagged(16, &v.pack().to_le_bytes(), out),
        Value::Uuid(v) => put_tagged(17, &v.to_le_bytes(), out),
        Value::Array(v) => {
            if v.is_plain() {
                out.push(18);
            } else {
                let dimensions = v.dimensions();
                out.extend([20, dimensions.len() as u8]);
                for dimension in dimensions {
                    put_zigzag(dimension.length.into(), out);
                    put_zigzag(dimension.lower.into(), out);
                }
            }
            encode_row(v, out);
        }
        Value::Record(v) => {
            out.push(19);
            encode_row(v, out);
        }
    }
}

/// The value that `bytes` holds, all of them.
/// # Errors
/// XX001 for bytes that [`encode_value`] did not write.
pub fn decode_value(bytes: &[u8]) -> Result<Value, TypeError> {
    let mut reader = Reader { rest: bytes };
    let value = reader.value(0)?;
    if reader.rest.is_empty() { Ok(value) } else { Err(TypeError::corrupt("bytes behind a value")) }
}

fn put_range(range: &Range, out: &mut Vec<u8>) {
    out.push(range.flags());
    let values = range.bounds.iter().flat_map(|(lower, upper)| [&lower.value, &upper.value]);
    values.flatten().for_each(|value| encode_value(value, out));
}

fn put_tagged(tag: u8, payload: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(payload);
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// A number near zero is short, whatever its sign.
fn put_zigzag(number: i64, out: &mut Vec<u8>) {
    put_varint((number << 1 ^ number >> 63).cast_unsigned(), out);
}

/// Seven bits a byte, lowest first, the top bit says that more follow.
fn put_varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], TypeError> {
        let (taken, rest) =
            self.rest.split_at_checked(len).ok_or_else(|| TypeError::corrupt("row cut short"))?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TypeError> {
        Ok(self.take(N)?.try_into().expect("took N bytes"))
    }

    fn varint(&mut self) -> Result<u64, TypeError> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(TypeError::corrupt("number in a row"))
    }

    fn number(&mut self) -> Result<i64, TypeError> {
        let zigzag = self.varint()?;
        Ok((zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed())
    }

    fn narrow<T: TryFrom<i64>>(&mut self) -> Result<T, TypeError> {
        T::try_from(self.number()?).map_err(|_| TypeError::corrupt("number in a row"))
    }

    fn bytes(&mut self) -> Result<&'a [u8], TypeError> {
        let len = usize::try_from(self.varint()?).map_err(|_| TypeError::corrupt("length in a row"))?;
        self.take(len)
    }

    fn values(&mut self, depth: u32) -> Result<Vec<Value>, TypeError> {
        let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        if count > self.rest.len() || depth > MAX_DEPTH {
            return Err(TypeError::corrupt("count in a row"));
        }
        (0..count).map(|_| self.value(depth)).collect()
    }

    fn range_kind(&mut self) -> Result<RangeKind, TypeError> {
        let [code] = self.array()?;
        RangeKind::from_code(code).ok_or_else(|| TypeError::corrupt("kind in a row"))
    }

    fn range(&mut self, kind: RangeKind, depth: u32) -> Result<Range, TypeError> {
        let [flags] = self.array()?;
        let mut bound = |infinite: u8| match flags & (bound::EMPTY | infinite) {
            0 if depth <= MAX_DEPTH => self.value(depth + 1).map(Some),
            0 => Err(TypeError::corrupt("depth of a row")),
            _ => Ok(None),
        };
        let (lower, upper) = (bound(bound::LOWER_INFINITE)?, bound(bound::UPPER_INFINITE)?);
        Range::stored(kind, flags, lower, upper)
    }

    fn value(&mut self, depth: u32) -> Result<Value, TypeError> {
        let [tag] = self.array()?;
        Ok(match tag {
            1 => Value::Null,
            2 => Value::Bool(false),
            3 => Value::Bool(true),
            4 => Value::Int2(self.narrow()?),
            5 => Value::Int4(self.narrow()?),
            6 => Value::Int8(self.number()?),
            7 => Value::Float4(f32::from_le_bytes(self.array()?)),
            8 => Value::Float8(f64::from_le_bytes(self.array()?)),
            9 => {
                let [len] = self.array()?;
                Value::Numeric(Decimal::from_bytes(self.take(len.into())?)?)
            }
            10 => {
                let text =
                    std::str::from_utf8(self.bytes()?).map_err(|_| TypeError::corrupt("text in a row"))?;
                Value::Text(text.into())
            }
            22 => Number::value_from_bytes(self.bytes()?)?,
            11 => Value::Date(self.narrow()?),
            12 => Value::Time(self.number()?),
            13 => Value::Timestamp(self.number()?),
            14 => Value::Timestamptz(self.number()?),
            15 => Value::Bytes(self.bytes()?.into()),
            16 => Value::Interval(Interval::unpack(i128::from_le_bytes(self.array()?))),
            17 => Value::Uuid(u128::from_le_bytes(self.array()?)),
            18 => Value::Array(self.values(depth + 1)?.into()),
            19 => Value::Record(Arc::from(self.values(depth + 1)?)),
            20 => {
                let [count] = self.array()?;
                if !(1..=DIMENSIONS_MAX).contains(&usize::from(count)) {
                    return Err(TypeError::corrupt("dimensions of an array"));
                }
                let mut dimensions = Vec::with_capacity(count.into());
                for _ in 0..count {
                    dimensions.push(Dimension { length: self.narrow()?, lower: self.narrow()? });
                }
                let values = self.values(depth + 1)?;
                let corrupt = |_| TypeError::corrupt("dimensions of an array");
                Value::Array(Array::shaped(values, &dimensions).map_err(corrupt)?)
            }
            21 => Value::Jsonb(Jsonb::from_bytes(self.bytes()?)),
            23 => {
                let [code] = self.array()?;
                let kind = OpaqueKind::from_code(code).ok_or_else(|| TypeError::corrupt("kind in a row"))?;
                Value::Opaque(Opaque::new(kind, self.bytes()?))
            }
            24 => {
                let kind = self.range_kind()?;
                Value::Range(self.range(kind, depth)?.into())
            }
            25 => {
                let kind = self.range_kind()?;
                let count = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
                if count > self.rest.len() {
                    return Err(TypeError::corrupt("count in a row"));
                }
                let ranges = (0..count).map(|_| self.range(kind, depth)).collect::<Result<Vec<_>, _>>()?;
                Multirange::of(kind, ranges).into_value()
            }
            26 => Value::Xid8(self.varint()?),
            _ => return Err(TypeError::corrupt("tag in a row")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            any::<i16>().prop_map(Value::Int2),
            any::<i32>().prop_map(Value::Int4),
            any::<i64>().prop_map(Value::Int8),
            any::<u64>().prop_map(Value::Xid8),
            (-1e30f32..1e30).prop_map(Value::Float4),
            (-1e300..1e300).prop_map(Value::Float8),
            (any::<i64>(), 0u8..=38).prop_map(|(v, s)| Value::Numeric(Decimal::from_scaled_i64(v, s))),
            ".*".prop_map(|v| Value::text(&v)),
            proptest::collection::vec(any::<u8>(), 0..9).prop_map(|v| Value::bytes(&v)),
            any::<i32>().prop_map(Value::Date),
            any::<i64>().prop_map(Value::Time),
            any::<i64>().prop_map(Value::Timestamp),
            any::<i64>().prop_map(Value::Timestamptz),
            any::<i128>().prop_map(|v| Value::Interval(Interval::unpack(v))),
            any::<u128>().prop_map(Value::Uuid),
        ];
        leaf.prop_recursive(3, 12, 4, |inner| {
            let list = proptest::collection::vec(inner, 0..4);
            prop_oneof![
                list.clone().prop_map(|v| Value::Array(v.into())),
                (list.clone(), any::<i16>()).prop_map(|(v, lower)| {
                    let length = v.len() as i32;
                    let dimensions =
                        [Dimension { length: 1, lower: 1 }, Dimension { length, lower: lower.into() }];
                    Value::Array(Array::shaped(v, &dimensions).expect("fits"))
                }),
                list.prop_map(|v| Value::Record(v.into()))
            ]
        })
    }

    proptest! {
        #[test]
        fn rows_round_trip(row in proptest::collection::vec(value(), 0..6)) {
            let mut bytes = Vec::new();
            encode_row(&row, &mut bytes);
            prop_assert_eq!(decode_row(&bytes), Ok(row));
            for cut in 0..bytes.len() {
                prop_assert!(decode_row(&bytes[..cut]).is_err());
            }
        }

        #[test]
        fn any_bytes_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode_row(&bytes);
            let _ = decode_value(&bytes);
        }
    }

    #[test]
    fn deep_nesting_and_large_counts_are_refused() {
        let deep: Vec<u8> = [18, 1].repeat(100_000);
        assert_eq!(decode_value(&deep).map_err(|e| e.sqlstate), Err("XX001"));
        let huge = [18, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert_eq!(decode_value(&huge).map_err(|e| e.sqlstate), Err("XX001"));
    }
}
