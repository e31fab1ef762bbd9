//! Keys of values that have values in them: arrays and rows.
//!
//! ```text
//! value = kind u8, bytes as the key of such a value │ 255 NULL, behind all others
//! list  = 12, of each value 1 and the value, 0
//! array = list, then unless it has no element: count of dimensions u8, their lengths, their lower bounds
//! row   = list
//! ```
//!
//! The kind of a value tells values of different types apart, which meet in rows of no declared type only. Numbers but floats are
//! of one kind, so those that are equal have equal bytes.

use super::{KeyOrder, KeyType};
use crate::decimal::Decimal;
use crate::error::TypeError;
use crate::range;
use crate::sqltype::SqlType;
use crate::value::Value;

const LIST: u8 = 12;
const NULL: u8 = u8::MAX;

/// Whether values of the type have keys by which indexes can be ordered within an array or a row.
///
/// Texts in the order of a collation have none there: the values that are stored do not say which collation it is.
pub(super) fn is_ordered(ty: &SqlType) -> bool {
    KeyType::of(ty).is_some_and(|key| !matches!(key, KeyType::Collated(_)))
}

/// The keys of a type whose values have such values within.
pub(super) fn key_type(ty: &SqlType) -> KeyType {
    if ty.holds_xid8() { KeyType::NestedU64 } else { KeyType::Nested }
}

/// Appends the bytes of a value within an array or a row: their order is that of `cmp_sql`, and none is a prefix of another's.
///
/// # Errors
/// XX001 for a value whose parts are broken.
pub fn encode_nested(value: &Value, out: &mut Vec<u8>) -> Result<(), TypeError> {
    let plain = |kind: u8, ty: KeyType, raw: &[u8], out: &mut Vec<u8>| {
        out.push(kind);
        KeyOrder::ascending(ty).encode_raw(Some(raw), out)
    };
    match value {
        Value::Null => {
            out.push(NULL);
            Ok(())
        }
        Value::Bool(v) => plain(1, KeyType::Bool, &[u8::from(*v)], out),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Numeric(_) | Value::Xid8(_) => {
            let number = value.as_decimal().unwrap_or(Decimal::ZERO);
            out.extend([2, KeyOrder::VALUE]);
            super::encode_decimal(&number, out);
            Ok(())
        }
        Value::Big(number) => {
            let mut raw = Vec::new();
            number.to_bytes(&mut raw);
            plain(2, KeyType::Decimal, &raw, out)
        }
        Value::Float4(v) => plain(3, KeyType::F64, &f64::from(*v).to_le_bytes(), out),
        Value::Float8(v) => plain(3, KeyType::F64, &v.to_le_bytes(), out),
        Value::Text(v) => plain(4, KeyType::Bytes, v.as_bytes(), out),
        Value::Bytes(v) => plain(5, KeyType::Bytes, v, out),
        Value::Date(v) => plain(6, KeyType::I32, &v.to_le_bytes(), out),
        Value::Time(v) => plain(7, KeyType::I64, &v.to_le_bytes(), out),
        Value::Timestamp(v) => plain(8, KeyType::I64, &v.to_le_bytes(), out),
        Value::Timestamptz(v) => plain(9, KeyType::I64, &v.to_le_bytes(), out),
        Value::Interval(v) => plain(10, KeyType::Interval, &v.pack().to_le_bytes(), out),
        Value::Uuid(v) => plain(11, KeyType::Uuid, &v.to_le_bytes(), out),
        Value::Jsonb(v) => plain(13, KeyType::Jsonb, v.bytes(), out),
        Value::Opaque(v) => plain(14, KeyType::Bytes, v.bytes(), out),
        Value::Range(v) => {
            out.push(15);
            range::encode_key(v, out)
        }
        Value::Multirange(v) => {
            out.push(16);
            range::encode_multirange_key(v, out)
        }
        Value::Array(array) => {
            encode_list(array, out)?;
            // Of equal elements the dimensions decide; without elements there are none.
            let dimensions = array.dimensions();
            if !dimensions.is_empty() {
                out.push(dimensions.len() as u8);
                let bounds = dimensions.iter().map(|d| d.length).chain(dimensions.iter().map(|d| d.lower));
                bounds.for_each(|v| out.extend_from_slice(&(v.cast_unsigned() ^ 1 << 31).to_be_bytes()));
            }
            Ok(())
        }
        Value::Record(values) => encode_list(values, out),
    }
}

fn encode_list(values: &[Value], out: &mut Vec<u8>) -> Result<(), TypeError> {
    out.push(LIST);
    for value in values {
        out.push(1);
        encode_nested(value, out)?;
    }
    out.push(0);
    Ok(())
}
