//! Keys of sorts: bytes whose order is the order that is asked for, so that rows are compared without a look at their
//! values. The bytes of types that indexes know are those of index keys (`verso-types`, `key`).
//!
//! | type | bytes |
//! |---|---|
//! | array | of each element `1` and its bytes, or `2` for NULL; `0` at the end |
//! | record | the same, with a byte for the kind of value before each |

use std::cmp::Ordering;

use verso_types::range;
use verso_types::value::{cmp_f32, cmp_f64};
use verso_types::{
    Batch, Column, ColumnData, Decimal, KeyOrder, KeyType, OpaqueKind, SqlType, TypeError, Value, cmp_sql,
};

use crate::error::Result;

/// How one key of a sort is ordered.
#[derive(Clone, Debug)]
pub(super) struct SortOrder {
    ty: SqlType,
    /// For types of which indexes have keys.
    plain: Option<KeyOrder>,
    descending: bool,
    nulls_first: bool,
}

impl SortOrder {
    pub fn new(ty: &SqlType, descending: bool, nulls_first: bool) -> SortOrder {
        let plain = KeyType::of(ty).map(|ty| KeyOrder { ty, descending, nulls_first });
        SortOrder { ty: ty.clone(), plain, descending, nulls_first }
    }
}

/// Appends the key of a row to `out`.
pub(super) fn encode(keys: &Batch, orders: &[SortOrder], row: usize, out: &mut Vec<u8>) -> Result<()> {
    for (column, order) in keys.columns.iter().zip(orders) {
        let null = column.nulls.is_null(row);
        if let Some(plain) = &order.plain {
            plain.encode_raw((!null).then(|| column.raw_at(row)), out)?;
        } else if null {
            out.push(if order.nulls_first { 0 } else { 2 });
        } else {
            out.push(1);
            let start = out.len();
            encode_value(&column.value(row, &order.ty), out)?;
            if order.descending {
                out[start..].iter_mut().for_each(|byte| *byte = !*byte);
            }
        }
    }
    Ok(())
}

/// A value within an array or a record: a byte for its kind, then as an index would have it.
fn encode_value(value: &Value, out: &mut Vec<u8>) -> Result<(), TypeError> {
    let plain = |kind: u8, ty: KeyType, raw: &[u8], out: &mut Vec<u8>| {
        out.push(kind);
        KeyOrder::ascending(ty).encode_raw(Some(raw), out)
    };
    match value {
        Value::Null => {
            out.push(u8::MAX);
            Ok(())
        }
        Value::Bool(v) => plain(1, KeyType::Bool, &[u8::from(*v)], out),
        Value::Int2(_) | Value::Int4(_) | Value::Int8(_) | Value::Numeric(_) => {
            let number = match value {
                Value::Numeric(number) => *number,
                other => Decimal::from(other.as_i64().unwrap_or(0)),
            };
            let mut raw = Vec::new();
            number.to_bytes(&mut raw);
            plain(2, KeyType::Decimal, &raw, out)
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
    out.push(12);
    for value in values {
        out.push(1);
        encode_value(value, out)?;
    }
    out.push(0);
    Ok(())
}

/// The order of two rows by one key.
pub(super) fn compare(
    column: &Column,
    ty: &SqlType,
    (descending, nulls_first): (bool, bool),
    a: usize,
    b: usize,
) -> Ordering {
    match (column.nulls.is_null(a), column.nulls.is_null(b)) {
        (false, false) => {
            let order = compare_values(column, ty, a, b);
            if descending { order.reverse() } else { order }
        }
        (a, b) if a == b => Ordering::Equal,
        (true, _) if nulls_first => Ordering::Less,
        (false, _) if !nulls_first => Ordering::Less,
        _ => Ordering::Greater,
    }
}

fn compare_values(column: &Column, ty: &SqlType, a: usize, b: usize) -> Ordering {
    match (&column.data, ty) {
        (ColumnData::Bool(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I16(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I32(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I64(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I128(v), SqlType::Numeric(_)) => v[a].cmp(&v[b]),
        (ColumnData::F32(v), _) => cmp_f32(v[a], v[b]),
        (ColumnData::F64(v), _) => cmp_f64(v[a], v[b]),
        (ColumnData::Bytes(v), ty)
            if ty.is_text() || *ty == SqlType::Bytea || OpaqueKind::of(ty).is_some() =>
        {
            v.get(a).cmp(v.get(b))
        }
        _ => cmp_sql(&column.value(a, ty), &column.value(b, ty)),
    }
}

#[cfg(test)]
mod tests {
    use verso_types::Interval;

    use super::*;

    /// The bytes compare as the values do.
    #[test]
    fn arrays_and_records_have_keys_in_their_order() {
        let int = Value::Int4;
        let text = Value::text;
        let record = |values: &[Value]| Value::Record(values.into());
        let array = |values: &[Value]| Value::Array(values.into());
        let values = [
            array(&[]),
            array(&[int(-5)]),
            array(&[int(1)]),
            array(&[int(1), int(2)]),
            array(&[int(1), Value::Null]),
            array(&[int(2)]),
            array(&[Value::Null]),
            record(&[text("a"), Value::Float8(-0.5)]),
            record(&[text("a"), Value::Float8(f64::NAN)]),
            record(&[text("a\0"), Value::Float8(0.0)]),
            record(&[text("b"), Value::Null]),
            record(&[Value::Interval(Interval { days: 30, ..Interval::default() })]),
            record(&[Value::Interval(Interval { months: 1, ..Interval::default() })]),
        ];
        let key = |value: &Value| {
            let mut key = Vec::new();
            encode_value(value, &mut key).expect("a key");
            key
        };
        for a in &values {
            for b in &values {
                if std::mem::discriminant(a) != std::mem::discriminant(b) {
                    continue;
                }
                assert_eq!(key(a).cmp(&key(b)), cmp_sql(a, b), "{a:?} {b:?}");
            }
        }
        assert_eq!(key(&values[11]).cmp(&key(&values[12])), Ordering::Equal);
    }
}
