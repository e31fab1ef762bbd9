//! Columns from and to single values: for literals, results and procedures, not for the hot paths.

use super::{Batch, BytesColumn, Column, ColumnData};
use crate::decimal::{Decimal, DecimalError, POW10};
use crate::error::{TypeError, sqlstate};
use crate::json::Jsonb;
use crate::number::Number;
use crate::opaque::{Opaque, OpaqueKind};
use crate::row;
use crate::sqltype::{NumericSpec, SqlType};
use crate::system_type::SystemType;
use crate::value::{Interval, Value};

impl Column {
    /// Appends a value of type `ty`, which is the column's type. A numeric is brought to the column's scale.
    /// # Errors
    /// XX000 for a value of another type, 22003 for a numeric beyond the precision; the column is unchanged then.
    pub fn push_value(&mut self, value: &Value, ty: &SqlType) -> Result<(), TypeError> {
        match (&mut self.data, value) {
            (_, Value::Null) => self.push_null(),
            (ColumnData::Bool(data), Value::Bool(v)) => data.push(u8::from(*v)),
            (ColumnData::I16(data), Value::Int2(v)) => data.push(*v),
            (ColumnData::I32(data), Value::Int4(v) | Value::Date(v)) => data.push(*v),
            (ColumnData::I64(data), Value::Int8(v) | Value::Time(v)) => data.push(*v),
            (ColumnData::I64(data), Value::Timestamp(v) | Value::Timestamptz(v)) => data.push(*v),
            (ColumnData::I64(data), Value::Xid8(v)) => data.push(v.cast_signed()),
            (ColumnData::Bytes(data), Value::Big(v)) => data.push_with(|out| v.to_bytes(out)),
            (ColumnData::I64(data), Value::Numeric(v)) => {
                let scaled = scale_to(v, ty).map_err(TypeError::from)?;
                data.push(scaled.try_into().map_err(|_| TypeError::numeric_overflow())?);
            }
            (ColumnData::I128(data), Value::Numeric(v)) => data.push(scale_to(v, ty)?),
            (ColumnData::I128(data), Value::Interval(v)) => data.push(v.pack()),
            (ColumnData::I128(data), Value::Uuid(v)) => data.push(v.cast_signed()),
            (ColumnData::F32(data), Value::Float4(v)) => data.push(*v),
            (ColumnData::F64(data), Value::Float8(v)) => data.push(*v),
            (ColumnData::Bytes(data), Value::Text(v)) => push_bytes(data, v.as_bytes())?,
            (ColumnData::Bytes(data), Value::Bytes(v)) => push_bytes(data, v)?,
            (ColumnData::Bytes(data), Value::Jsonb(v)) => push_bytes(data, v.bytes())?,
            (ColumnData::Bytes(data), Value::Opaque(v)) => push_bytes(data, v.bytes())?,
            (ColumnData::Bytes(data), Value::Numeric(v)) => data.push_with(|out| v.to_bytes(out)),
            (
                ColumnData::Bytes(data),
                Value::Array(_) | Value::Record(_) | Value::Range(_) | Value::Multirange(_),
            ) => {
                let length = data.bytes.len();
                row::encode_value(value, &mut data.bytes);
                if data.bytes.len() - length > VALUE_BYTES_MAX || u32::try_from(data.bytes.len()).is_err() {
                    data.bytes.truncate(length);
                    return Err(too_long());
                }
                data.end_value();
            }
            _ => return Err(TypeError::mismatch(value, ty)),
        }
        Ok(())
    }

    /// Value `i`, of type `ty`, which is the column's type. Bytes that break their encoding (only a corrupt page or a
    /// wrong `ty` can bring them) read as NULL, or as text with replacement characters.
    /// # Panics
    /// Beyond the last value.
    pub fn value(&self, i: usize, ty: &SqlType) -> Value {
        if self.is_null(i) {
            return Value::Null;
        }
        match &self.data {
            ColumnData::Bool(data) => Value::Bool(data[i] != 0),
            ColumnData::I16(data) => Value::Int2(data[i]),
            ColumnData::I32(data) if *ty == SqlType::Date => Value::Date(data[i]),
            ColumnData::I32(data) => Value::Int4(data[i]),
            ColumnData::I64(data) => match ty {
                SqlType::Numeric(spec) => Value::Numeric(Decimal::from_scaled_i64(data[i], scale_of(*spec))),
                SqlType::Time(_) => Value::Time(data[i]),
                SqlType::Timestamp(_) => Value::Timestamp(data[i]),
                SqlType::Timestamptz(_) => Value::Timestamptz(data[i]),
                SqlType::System(SystemType::Xid8) => Value::Xid8(data[i].cast_unsigned()),
                _ => Value::Int8(data[i]),
            },
            ColumnData::I128(data) => match ty {
                SqlType::Numeric(spec) => {
                    Decimal::new(data[i], scale_of(*spec)).map_or(Value::Null, Value::Numeric)
                }
                SqlType::Interval(_) => Value::Interval(Interval::unpack(data[i])),
                _ => Value::Uuid(data[i].cast_unsigned()),
            },
            ColumnData::F32(data) => Value::Float4(data[i]),
            ColumnData::F64(data) => Value::Float8(data[i]),
            ColumnData::Bytes(data) => value_of_bytes(data.get(i), ty),
        }
    }

    /// A column of `count` times the same value.
    /// # Errors
    /// As [`push_value`](Self::push_value).
    pub fn constant(value: &Value, ty: &SqlType, count: usize) -> Result<Column, TypeError> {
        let mut column = Column::new(ty.physical());
        if count > 0 {
            column.push_value(value, ty)?;
            let rows = u32::try_from(count).expect("a batch has less than 2^32 rows");
            column = column.gather(&vec![0; rows as usize]);
        }
        Ok(column)
    }
}

impl Batch {
    /// An empty batch of columns of these types.
    pub fn of_types(types: &[SqlType]) -> Batch {
        Batch { rows: 0, columns: types.iter().map(|ty| Column::new(ty.physical())).collect() }
    }

    /// Appends a row.
    /// # Errors
    /// As [`Column::push_value`]; the batch is unchanged then.
    pub fn push_row(&mut self, values: &[Value], types: &[SqlType]) -> Result<(), TypeError> {
        assert!(
            values.len() == self.columns.len() && types.len() == values.len(),
            "one value and type per column"
        );
        for ((column, value), ty) in self.columns.iter_mut().zip(values).zip(types) {
            if let Err(error) = column.push_value(value, ty) {
                self.truncate(self.rows);
                return Err(error);
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Row `i` as values.
    pub fn row(&self, i: usize, types: &[SqlType]) -> Vec<Value> {
        self.columns.iter().zip(types).map(|(column, ty)| column.value(i, ty)).collect()
    }
}

/// The longest value: below 1 GiB, as in PostgreSQL.
const VALUE_BYTES_MAX: usize = (1 << 30) - 1;

/// Appends a value, if it and the column have room.
fn push_bytes(column: &mut BytesColumn, value: &[u8]) -> Result<(), TypeError> {
    if value.len() > VALUE_BYTES_MAX || u32::try_from(column.bytes.len() + value.len()).is_err() {
        return Err(too_long());
    }
    column.push(value);
    Ok(())
}

#[cold]
fn too_long() -> TypeError {
    let text =
        format!("a value exceeds the maximum length ({VALUE_BYTES_MAX} bytes), or its batch has no room");
    TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
}

/// The scale of a constrained numeric.
fn scale_of(spec: Option<NumericSpec>) -> u8 {
    spec.map_or(0, |spec| spec.scale)
}

/// The unscaled integer at the scale of `ty`, within its precision.
fn scale_to(value: &Decimal, ty: &SqlType) -> Result<i128, DecimalError> {
    let SqlType::Numeric(Some(spec)) = ty else { return Err(DecimalError::Overflow) };
    let unscaled = value.rescale(spec.scale)?.unscaled();
    let limit = POW10.get(usize::from(spec.precision)).ok_or(DecimalError::Overflow)?;
    if unscaled.unsigned_abs() < limit.unsigned_abs() { Ok(unscaled) } else { Err(DecimalError::Overflow) }
}

/// A value of a bytes column.
fn value_of_bytes(bytes: &[u8], ty: &SqlType) -> Value {
    match ty {
        SqlType::Bytea => Value::Bytes(bytes.into()),
        SqlType::Numeric(_) | SqlType::LongNumeric(_) => {
            Number::value_from_bytes(bytes).unwrap_or(Value::Null)
        }
        SqlType::Jsonb => Value::Jsonb(Jsonb::from_bytes(bytes)),
        SqlType::Array(_)
        | SqlType::Record
        | SqlType::Row(_)
        | SqlType::Range(_)
        | SqlType::Multirange(_) => {
            let value = row::decode_value(bytes).unwrap_or(Value::Null);
            if ty.holds_xid8() { value.with_xid8(ty) } else { value }
        }
        ty => match OpaqueKind::of(ty) {
            Some(kind) => Value::Opaque(Opaque::new(kind, bytes)),
            None => Value::Text(String::from_utf8_lossy(bytes).into()),
        },
    }
}
