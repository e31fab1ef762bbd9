//! Keys of groups and of DISTINCT: bytes that are equal exactly where SQL says the values are, NULLs included.

use super::keys::{RowKeys, put};
use verso_types::json::{self, JsonRef};
use verso_types::value::hash_bits_f64;
use verso_types::{
    Batch, Collator, Column, ColumnData, Decimal, Interval, SqlType, TypeError, Value, encode_row,
    encode_row_of_decimal, range, without_blanks,
};

/// Appends the key of one row.
pub(crate) fn encode(batch: &Batch, types: &[SqlType], row: usize, out: &mut Vec<u8>) {
    for (column, ty) in batch.columns.iter().zip(types) {
        encode_one(column, ty, row, out);
    }
}

/// The types of rows that are told apart as a whole.
pub(crate) struct RowTypes {
    pub types: Vec<SqlType>,
    /// Of each column the nondeterministic collation that tells its texts apart; where there is none bytes do.
    pub collators: Vec<Option<Collator>>,
}

impl RowTypes {
    /// The keys of all rows of a batch.
    pub fn fill(&self, batch: &Batch, keys: &mut RowKeys) {
        match self.collators.iter().any(Option::is_some) {
            false => keys.fill(batch, &self.types, None, None),
            true => keys.fill_by(batch.rows, |row, out| self.encode(batch, row, out)),
        }
    }

    /// Appends the key of one row.
    fn encode(&self, batch: &Batch, row: usize, out: &mut Vec<u8>) {
        for (n, (column, ty)) in batch.columns.iter().zip(&self.types).enumerate() {
            let collator = self.collators.get(n).copied().flatten();
            let (Some(collator), Some(texts)) = (collator, column.data.bytes()) else {
                encode_one(column, ty, row, out);
                continue;
            };
            if column.nulls.is_null(row) {
                out.push(0);
                continue;
            }
            let mut text = texts.get(row);
            // Blanks at the end of char(n) do not count.
            while let (SqlType::Char(_), [rest @ .., b' ']) = (ty, text) {
                text = rest;
            }
            let start = out.len();
            out.extend_from_slice(&[1; 5]);
            collator.sort_key(text, out);
            let length = (out.len() - start - 5) as u32;
            out[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// Appends the part of a key that a column has.
pub(super) fn encode_one(column: &Column, ty: &SqlType, row: usize, out: &mut Vec<u8>) {
    if column.nulls.is_null(row) {
        out.push(0);
        return;
    }
    out.push(1);
    encode_value(column, ty, row, out);
}

/// Whether [`write_column`] can write a column: a value's part of the key is its bytes, whatever they are.
pub(super) fn is_plain(column: &Column, ty: &SqlType) -> bool {
    let by_value = matches!(
        ty,
        SqlType::Jsonb
            | SqlType::Numeric(_)
            | SqlType::LongNumeric(_)
            | SqlType::Array(_)
            | SqlType::Record
            | SqlType::Range(_)
            | SqlType::Multirange(_)
            | SqlType::Row(_)
            | SqlType::Char(None)
    );
    !by_value || !matches!(column.data, ColumnData::Bytes(_))
}

/// Writes what [`encode`] appends of a [plain](is_plain) column: for each row at its place, which moves behind it.
pub(super) fn write_column(column: &Column, ty: &SqlType, bytes: &mut [u8], places: &mut [u32]) {
    let any_nulls = column.nulls.any();
    macro_rules! each {
        ($values:expr, $value:ident => $bytes:expr) => {
            for (row, ($value, at)) in $values.iter().zip(places).enumerate() {
                if any_nulls && column.nulls.is_null(row) {
                    put(bytes, at, [0]);
                    continue;
                }
                put(bytes, at, [1]);
                put(bytes, at, $bytes);
            }
        };
    }
    match &column.data {
        ColumnData::Bool(v) => each!(v, value => [*value]),
        ColumnData::I16(v) => each!(v, value => value.to_le_bytes()),
        ColumnData::I32(v) => each!(v, value => value.to_le_bytes()),
        ColumnData::I64(v) => each!(v, value => value.to_le_bytes()),
        ColumnData::I128(v) if matches!(ty, SqlType::Interval(_)) => {
            each!(v, value => Interval::unpack(*value).span().to_le_bytes());
        }
        ColumnData::I128(v) => each!(v, value => value.to_le_bytes()),
        ColumnData::F32(v) => each!(v, value => hash_bits_f64(f64::from(*value)).to_le_bytes()),
        ColumnData::F64(v) => each!(v, value => hash_bits_f64(*value).to_le_bytes()),
        ColumnData::Bytes(v) => {
            for (row, (value, at)) in v.iter().zip(places).enumerate() {
                if any_nulls && column.nulls.is_null(row) {
                    put(bytes, at, [0]);
                    continue;
                }
                put(bytes, at, [1]);
                put(bytes, at, (value.len() as u32).to_le_bytes());
                let from = *at as usize;
                // Most values are a few bytes: no call for these.
                match value {
                    [byte] => bytes[from] = *byte,
                    value => bytes[from..from + value.len()].copy_from_slice(value),
                }
                *at += value.len() as u32;
            }
        }
    }
}

fn encode_value(column: &Column, ty: &SqlType, row: usize, out: &mut Vec<u8>) {
    match &column.data {
        ColumnData::Bool(v) => out.push(v[row]),
        ColumnData::I16(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::I32(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::I64(v) => out.extend_from_slice(&v[row].to_le_bytes()),
        ColumnData::I128(v) if matches!(ty, SqlType::Interval(_)) => {
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
            // An integer is what stands for all equal numbers.
            SqlType::Numeric(_) if Decimal::is_integer_bytes(bytes.get(row)) => {
                let start = reserve_length(out);
                encode_row_of_decimal(bytes.get(row), out);
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
                // One that came from char(n) has its blanks, which do not count.
                let value = match ty {
                    SqlType::Char(None) => without_blanks(bytes.get(row)),
                    _ => bytes.get(row),
                };
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
