//! Keys of groups and of DISTINCT: bytes that are equal exactly where SQL says the values are, NULLs included.

use verso_types::json::{self, JsonRef};
use verso_types::value::hash_bits_f64;
use verso_types::{
    Batch, Column, ColumnData, Decimal, Interval, SqlType, TypeError, Value, encode_row, range,
};

/// Appends the key of one row.
pub(crate) fn encode(batch: &Batch, types: &[SqlType], row: usize, out: &mut Vec<u8>) {
    for (column, ty) in batch.columns.iter().zip(types) {
        if column.nulls.is_null(row) {
            out.push(0);
            continue;
        }
        out.push(1);
        encode_value(column, ty, row, out);
    }
}

/// Appends the key of one row over some of the columns; the others are left out.
pub(crate) fn encode_some(batch: &Batch, types: &[SqlType], some: &[bool], row: usize, out: &mut Vec<u8>) {
    for ((column, ty), _) in batch.columns.iter().zip(types).zip(some).filter(|(_, there)| **there) {
        if column.nulls.is_null(row) {
            out.push(0);
            continue;
        }
        out.push(1);
        encode_value(column, ty, row, out);
    }
}

fn encode_value(column: &Column, ty: &SqlType, row: usize, out: &mut Vec<u8>) {
    match &column.data {
        ColumnData::Bool(v) => out.push(v[row]),
        ColumnData::I16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::I32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::I64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::I128(v) if *ty == SqlType::Interval(None) => {
            out.extend_from_slice(&Interval::unpack(v[row]).span().to_le_bytes());
        }
        ColumnData::I128(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::F32(v) => out.extend_from_slice(&hash_bits_f64(f64::from(v[row])).to_le_bytes()),
        ColumnData::F64(v) => out.extend_from_slice(&hash_bits_f64(v[row]).to_le_bytes()),
        ColumnData::Bytes(bytes) => match ty {
            SqlType::Jsonb => {
                let start = reserve_length(out);
                json::encode_key(JsonRef::read(bytes.get(row)), out);
                put_length(out, start);
            }
            SqlType::Numeric(_)
            | SqlType::LongNumeric(_)
            | SqlType::Array(_)
            | SqlType::Record
            | SqlType::Range(_)
            | SqlType::Multirange(_)
            | SqlType::Row(_) => {
                let start = reserve_length(out);
                encode_row(&[normal(column.value(row, ty))], out);
                put_length(out, start);
            }
            _ => {
                let value = bytes.get(row);
                out.extend_from_slice(&(value.len() as u32).to_le_bytes());
                out.extend_from_slice(value);
            }
        },
    }
}

/// Of values that SQL calls equal, the one that stands for them.
fn normal(value: Value) -> Value {
    match value {
        Value::Numeric(decimal) => Value::Numeric(decimal.normalize()),
        Value::Big(number) => number.normalize().value().unwrap_or(Value::Null),
        Value::Float4(v) => Value::Int8(hash_bits_f64(f64::from(v)).cast_signed()),
        Value::Float8(v) => Value::Int8(hash_bits_f64(v).cast_signed()),
        Value::Interval(v) => Value::Numeric(Decimal::new(v.span(), 0).unwrap_or(Decimal::ZERO)),
        Value::Array(values) => {
            Value::Array(values.with_values(values.iter().cloned().map(normal).collect()))
        }
        Value::Record(values) => Value::Record(values.iter().cloned().map(normal).collect()),
        Value::Jsonb(value) => {
            let mut key = Vec::new();
            json::encode_key(value.root(), &mut key);
            Value::Bytes(key.into())
        }
        Value::Range(ref range) => key_of(&value, |key| range::encode_key(range, key)),
        Value::Multirange(ref ranges) => key_of(&value, |key| range::encode_multirange_key(ranges, key)),
        other => other,
    }
}

/// The bytes of an index key, which are the same for equal values; the value itself where it has none.
fn key_of(value: &Value, encode: impl FnOnce(&mut Vec<u8>) -> Result<(), TypeError>) -> Value {
    let mut key = Vec::new();
    match encode(&mut key) {
        Ok(()) => Value::Bytes(key.into()),
        Err(_) => value.clone(),
    }
}

fn reserve_length(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; 4]);
    out.len()
}

fn put_length(out: &mut [u8], start: usize) {
    let length = ((out.len() - start) as u32).to_le_bytes();
    out[start - 4..start].copy_from_slice(&length);
}
