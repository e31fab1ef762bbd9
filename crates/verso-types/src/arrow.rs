//! Columns as Arrow arrays, for results and analytics.
//!
//! | SQL | Arrow | copied? |
//! |---|---|---|
//! | integers, floats, time, numeric(19 ..= 38, s) | the same, `Time64(µs)`, `Decimal128(p, s)` | no |
//! | text, bytea | `Utf8`, `Binary` | the offsets only |
//! | date, timestamp, timestamptz | `Date32`, `Timestamp(µs)`, the latter with "UTC" | changed in place: Arrow counts from 1970 |
//! | boolean, numeric(≤ 18, s), interval, uuid | `Boolean`, `Decimal128`, `Interval(MonthDayNano)`, `FixedSizeBinary(16)` | yes |
//! | oid, references (`regclass`) | `UInt32` | yes |
//! | numeric without precision, record | `Utf8`, their text: the scale differs from row to row | yes |
//! | arrays | `List` | yes |
//!
//! Infinite dates and timestamps become the largest or smallest number Arrow's type has.

use std::sync::Arc;

use crate::TimeStyle;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt32Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, IntervalMonthDayNanoArray, ListArray,
    PrimitiveArray, RecordBatch, RecordBatchOptions, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit};

use crate::column::{Batch, BytesColumn, Column, ColumnData, NullMask};
use crate::datetime::{UNIX_EPOCH_DAYS, UNIX_EPOCH_MICROS};
use crate::error::{TypeError, sqlstate};
use crate::opaque::OpaqueKind;
use crate::sqltype::{NumericSpec, Physical, SqlType};
use crate::text::format_text;
use crate::value::{Interval, Value};

/// The Arrow type of a column of this type.
pub fn arrow_type(ty: &SqlType) -> DataType {
    match ty {
        SqlType::Bool => DataType::Boolean,
        SqlType::Int2 => DataType::Int16,
        SqlType::Int4 => DataType::Int32,
        SqlType::Int8 => DataType::Int64,
        SqlType::Oid => DataType::UInt32,
        SqlType::Float4 => DataType::Float32,
        SqlType::Float8 => DataType::Float64,
        SqlType::Numeric(Some(spec)) => DataType::Decimal128(spec.precision, spec.scale.cast_signed()),
        SqlType::Bytea => DataType::Binary,
        SqlType::Date => DataType::Date32,
        SqlType::Time(_) => DataType::Time64(TimeUnit::Microsecond),
        SqlType::Timestamp(_) => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::Timestamptz(_) => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        SqlType::Interval(_) => DataType::Interval(IntervalUnit::MonthDayNano),
        SqlType::Uuid => DataType::FixedSizeBinary(16),
        SqlType::Array(element) => DataType::List(list_field(element)),
        SqlType::System(system) if system.is_four_bytes() => DataType::UInt32,
        SqlType::System(system) => match system.physical() {
            Physical::I16 => DataType::Int16,
            Physical::I64 => DataType::Int64,
            _ => DataType::Utf8,
        },
        SqlType::Numeric(None)
        | SqlType::LongNumeric(_)
        | SqlType::Text
        | SqlType::Varchar(_)
        | SqlType::Char(_)
        | SqlType::Name
        | SqlType::Void
        | SqlType::Unknown
        | SqlType::Record
        | SqlType::Row(_)
        | SqlType::Json
        | SqlType::Jsonb
        | SqlType::Timetz(_)
        | SqlType::Bit(_)
        | SqlType::Varbit(_)
        | SqlType::Range(_)
        | SqlType::Multirange(_)
        | SqlType::Enum(_)
        | SqlType::Named(_) => DataType::Utf8,
        SqlType::Domain(domain) => arrow_type(&domain.base),
        SqlType::Collated(collated) => arrow_type(&collated.base),
    }
}

fn list_field(element: &SqlType) -> Arc<Field> {
    Arc::new(Field::new_list_field(arrow_type(element), true))
}

/// The Arrow schema of named columns; every column may be NULL.
pub fn arrow_schema<'a>(columns: impl IntoIterator<Item = (&'a str, &'a SqlType)>) -> SchemaRef {
    let field = |(name, ty): (&str, &SqlType)| Field::new(name, arrow_type(ty), true);
    Arc::new(Schema::new(columns.into_iter().map(field).collect::<Vec<_>>()))
}

/// Arrow has one bit per valid row, we one per NULL.
fn null_buffer(nulls: &NullMask, rows: usize) -> Option<NullBuffer> {
    if !nulls.any() {
        return None;
    }
    let words: Vec<u64> = (0..rows.div_ceil(64)).map(|i| !nulls.word(i)).collect();
    Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(words), 0, rows)))
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(ScalarBuffer::from(values), nulls))
}

fn decimals(values: Vec<i128>, spec: NumericSpec, nulls: Option<NullBuffer>) -> ArrayRef {
    let array = PrimitiveArray::<Decimal128Type>::new(ScalarBuffer::from(values), nulls);
    Arc::new(array.with_data_type(DataType::Decimal128(spec.precision, spec.scale.cast_signed())))
}

fn timestamps(mut values: Vec<i64>, nulls: Option<NullBuffer>, zone: Option<&str>) -> ArrayRef {
    for value in &mut values {
        if *value != i64::MIN {
            *value = value.saturating_add(UNIX_EPOCH_MICROS);
        }
    }
    let array = PrimitiveArray::<TimestampMicrosecondType>::new(ScalarBuffer::from(values), nulls);
    Arc::new(array.with_timezone_opt(zone))
}

fn dates(mut values: Vec<i32>, nulls: Option<NullBuffer>) -> ArrayRef {
    for value in &mut values {
        if *value != i32::MIN {
            *value = value.saturating_add(UNIX_EPOCH_DAYS);
        }
    }
    primitive::<Date32Type>(values, nulls)
}

fn intervals(values: &[i128], nulls: &NullMask, valid: Option<NullBuffer>) -> Result<ArrayRef, TypeError> {
    let convert = |(i, packed): (usize, &i128)| {
        let Interval { months, days, micros } = Interval::unpack(*packed);
        match micros.checked_mul(1000) {
            Some(nanos) => Ok(IntervalMonthDayNano::new(months, days, nanos)),
            None if nulls.is_null(i) => Ok(IntervalMonthDayNano::new(0, 0, 0)),
            None => {
                Err(TypeError::new(sqlstate::INTERVAL_FIELD_OVERFLOW, "interval out of range of nanoseconds"))
            }
        }
    };
    let values = values.iter().enumerate().map(convert).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(IntervalMonthDayNanoArray::new(ScalarBuffer::from(values), valid)))
}

/// Our ends with the 0 in front that Arrow's offsets have.
fn offsets(ends: &[u32]) -> Result<OffsetBuffer<i32>, TypeError> {
    let mut offsets = Vec::with_capacity(ends.len() + 1);
    offsets.push(0);
    offsets.extend(ends.iter().map(|end| end.cast_signed()));
    // ends never decrease, so the last decides
    if offsets.last().is_some_and(|last| *last < 0) || !offsets.is_sorted() {
        return Err(TypeError::new("54000", "a text or bytea column of a batch exceeds 2 GiB"));
    }
    Ok(OffsetBuffer::new(ScalarBuffer::from(offsets)))
}

fn strings(data: BytesColumn, nulls: Option<NullBuffer>) -> Result<ArrayRef, TypeError> {
    let array = StringArray::try_new(offsets(&data.ends)?, Buffer::from_vec(data.bytes), nulls);
    let invalid = |_| {
        TypeError::new(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, "invalid byte sequence for encoding \"UTF8\"")
    };
    Ok(Arc::new(array.map_err(invalid)?))
}

impl Column {
    /// The column as an Arrow array; buffers move where the layouts agree (see the table above).
    /// # Errors
    /// 22021 for text that is not UTF-8, 22015 for intervals beyond Arrow's range, 54000 beyond 2 GiB of text.
    pub fn into_arrow(self, ty: &SqlType) -> Result<ArrayRef, TypeError> {
        let rows = self.len();
        if let SqlType::Domain(domain) = ty {
            return self.into_arrow(&domain.base);
        }
        let valid = null_buffer(&self.nulls, rows);
        if matches!(
            ty,
            SqlType::Numeric(None)
                | SqlType::LongNumeric(_)
                | SqlType::Record
                | SqlType::Row(_)
                | SqlType::Jsonb
                | SqlType::Range(_)
                | SqlType::Multirange(_)
                | SqlType::Enum(_)
        ) || OpaqueKind::of(ty).is_some()
        {
            return self.into_strings(ty, valid);
        }
        if let SqlType::Array(element) = ty {
            return self.into_list(element, valid);
        }
        Ok(match (self.data, ty) {
            (ColumnData::Bool(v), _) => {
                Arc::new(BooleanArray::new(BooleanBuffer::collect_bool(rows, |i| v[i] != 0), valid))
            }
            (ColumnData::I16(v), _) => primitive::<Int16Type>(v, valid),
            (ColumnData::I32(v), SqlType::Date) => dates(v, valid),
            (ColumnData::I32(v), _) => primitive::<Int32Type>(v, valid),
            (ColumnData::I64(v), SqlType::Numeric(Some(spec))) => {
                decimals(v.into_iter().map(i128::from).collect(), *spec, valid)
            }
            (ColumnData::I64(v), SqlType::Oid) => {
                primitive::<UInt32Type>(v.into_iter().map(|v| v as u32).collect(), valid)
            }
            (ColumnData::I64(v), SqlType::System(system)) if system.is_four_bytes() => {
                primitive::<UInt32Type>(v.into_iter().map(|v| v as u32).collect(), valid)
            }
            (ColumnData::I64(v), SqlType::Time(_)) => primitive::<Time64MicrosecondType>(v, valid),
            (ColumnData::I64(v), SqlType::Timestamp(_)) => timestamps(v, valid, None),
            (ColumnData::I64(v), SqlType::Timestamptz(_)) => timestamps(v, valid, Some("UTC")),
            (ColumnData::I64(v), _) => primitive::<Int64Type>(v, valid),
            (ColumnData::I128(v), SqlType::Numeric(Some(spec))) => decimals(v, *spec, valid),
            (ColumnData::I128(v), SqlType::Interval(_)) => intervals(&v, &self.nulls, valid)?,
            (ColumnData::I128(v), _) => {
                let bytes: Vec<u8> = v.iter().flat_map(|v| v.to_be_bytes()).collect();
                Arc::new(FixedSizeBinaryArray::new(16, Buffer::from_vec(bytes), valid))
            }
            (ColumnData::F32(v), _) => primitive::<Float32Type>(v, valid),
            (ColumnData::F64(v), _) => primitive::<Float64Type>(v, valid),
            (ColumnData::Bytes(v), SqlType::Bytea) => {
                Arc::new(BinaryArray::new(offsets(&v.ends)?, Buffer::from_vec(v.bytes), valid))
            }
            (ColumnData::Bytes(v), _) => strings(v, valid)?,
        })
    }

    /// The column as an Arrow array, which keeps the column: its buffers are copied first.
    /// # Errors
    /// As [`into_arrow`](Self::into_arrow).
    pub fn to_arrow(&self, ty: &SqlType) -> Result<ArrayRef, TypeError> {
        self.clone().into_arrow(ty)
    }
}

impl Column {
    /// The values' text as a string array.
    fn into_strings(self, ty: &SqlType, valid: Option<NullBuffer>) -> Result<ArrayRef, TypeError> {
        let (mut texts, mut text) = (BytesColumn::default(), String::new());
        for i in 0..self.len() {
            text.clear();
            format_text(&self.value(i, ty), ty, &TimeStyle::UTC, &mut text);
            texts.push(text.as_bytes());
        }
        strings(texts, valid)
    }

    /// A bytes column of encoded arrays as a list array.
    fn into_list(self, element: &SqlType, valid: Option<NullBuffer>) -> Result<ArrayRef, TypeError> {
        let ty = SqlType::Array(Box::new(element.clone()));
        let mut items = Column::new(element.physical());
        let mut ends = Vec::with_capacity(self.len());
        for i in 0..self.len() {
            if let Value::Array(values) = self.value(i, &ty) {
                values.iter().try_for_each(|value| items.push_value(value, element))?;
            }
            ends.push(u32::try_from(items.len()).unwrap_or(u32::MAX));
        }
        let array =
            ListArray::try_new(list_field(element), offsets(&ends)?, items.into_arrow(element)?, valid);
        Ok(Arc::new(array.map_err(|error| TypeError::new(sqlstate::INTERNAL_ERROR, error.to_string()))?))
    }
}

impl Batch {
    /// The batch as an Arrow record batch of `schema`, which [`arrow_schema()`] made of the same `types`.
    /// # Errors
    /// As [`Column::into_arrow`]; XX000 where the schema does not fit.
    pub fn into_arrow(self, types: &[SqlType], schema: SchemaRef) -> Result<RecordBatch, TypeError> {
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        let convert = |(column, ty): (Column, &SqlType)| column.into_arrow(ty);
        let arrays = self.columns.into_iter().zip(types).map(convert).collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new_with_options(schema, arrays, &options)
            .map_err(|error| TypeError::new(sqlstate::INTERNAL_ERROR, error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decimal::Decimal;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    fn column(ty: &SqlType, values: &[Value]) -> Column {
        let mut column = Column::new(ty.physical());
        values.iter().for_each(|value| column.push_value(value, ty).expect("a value of the type"));
        column
    }

    fn numeric(precision: u8, scale: u8) -> SqlType {
        SqlType::Numeric(NumericSpec::new(precision, scale))
    }

    #[test]
    fn each_type_has_the_array_its_schema_says() {
        let number = Value::Numeric(Decimal::parse("-1.50").expect("a number"));
        for (ty, value, shown) in [
            (SqlType::Bool, Value::Bool(true), "true"),
            (SqlType::Int2, Value::Int2(-2), "-2"),
            (SqlType::Int4, Value::Int4(3), "3"),
            (SqlType::Int8, Value::Int8(4), "4"),
            (SqlType::Oid, Value::Int8(u32::MAX.into()), "4294967295"),
            (SqlType::Float4, Value::Float4(1.5), "1.5"),
            (SqlType::Float8, Value::Float8(2.5), "2.5"),
            (numeric(18, 2), number.clone(), "-150"),
            (numeric(38, 4), number.clone(), "-15000"),
            (SqlType::Numeric(None), number, "-1.50"),
            (SqlType::Text, Value::text("ä"), "ä"),
            (SqlType::Date, Value::Date(0), "2000-01-01"),
            (SqlType::Time(None), Value::Time(1), "00:00:00.000001"),
            (SqlType::Timestamp(None), Value::Timestamp(0), "2000-01-01T00:00:00"),
            (SqlType::Timestamptz(None), Value::Timestamptz(0), "2000-01-01T00:00:00"),
        ] {
            let array = column(&ty, &[Value::Null, value]).into_arrow(&ty).expect("an array");
            assert_eq!((array.data_type(), array.len()), (&arrow_type(&ty), 2), "{ty}");
            assert!(array.is_null(0) && array.is_valid(1), "{ty}");
            let text = format!("{array:?}");
            assert!(text.contains(shown), "{ty}: {text}");
        }
    }

    #[test]
    fn binary_interval_uuid_and_list_keep_their_parts() {
        let array = column(&SqlType::Bytea, &[Value::bytes(b"ab"), Value::Null, Value::bytes(b"")])
            .into_arrow(&SqlType::Bytea)
            .expect("an array");
        assert_eq!(
            array.as_binary::<i32>().iter().collect::<Vec<_>>(),
            [Some(&b"ab"[..]), None, Some(&b""[..])]
        );

        let span = Interval { months: 1, days: -2, micros: 3 };
        let array =
            column(&SqlType::Interval(None), &[Value::Interval(span)]).into_arrow(&SqlType::Interval(None));
        let array = array.expect("an array");
        let value = array.as_primitive::<arrow_array::types::IntervalMonthDayNanoType>().value(0);
        assert_eq!(value, IntervalMonthDayNano::new(1, -2, 3000));
        let long = Interval { micros: i64::MAX, ..span };
        let error =
            column(&SqlType::Interval(None), &[Value::Interval(long)]).into_arrow(&SqlType::Interval(None));
        assert_eq!(error.map_err(|error| error.sqlstate).err(), Some("22015"));

        let array =
            column(&SqlType::Uuid, &[Value::Uuid(1 << 120)]).into_arrow(&SqlType::Uuid).expect("an array");
        assert_eq!(array.as_fixed_size_binary().value(0)[..2], [1, 0]);

        let ty = SqlType::Array(Box::new(SqlType::Int4));
        let list = Value::Array([Value::Int4(1), Value::Null].into());
        let array =
            column(&ty, &[list, Value::Null, Value::Array([].into())]).into_arrow(&ty).expect("an array");
        let lists = array.as_list::<i32>();
        assert_eq!((lists.value_length(0), lists.is_null(1), lists.value_length(2)), (2, true, 0));
        assert_eq!(lists.data_type(), &arrow_type(&ty));
    }

    #[test]
    fn fixed_buffers_and_texts_move_without_a_copy() {
        let ints = column(&SqlType::Int8, &[Value::Int8(1)]);
        let before = ints.data.i64s().map(<[i64]>::as_ptr);
        let array = ints.into_arrow(&SqlType::Int8).expect("an array");
        assert_eq!(Some(array.as_primitive::<Int64Type>().values().as_ptr()), before);
        let texts = column(&SqlType::Text, &[Value::text("abc")]);
        let before = texts.data.bytes().map(|data| data.bytes.as_ptr());
        let array = texts.into_arrow(&SqlType::Text).expect("an array");
        assert_eq!(Some(array.as_string::<i32>().values().as_ptr()), before);
    }

    #[test]
    fn text_that_is_none_is_refused() {
        let mut texts = Column::new(crate::Physical::Bytes);
        texts.data.bytes_mut().expect("bytes").push(&[0xff]);
        assert_eq!(texts.to_arrow(&SqlType::Text).map_err(|error| error.sqlstate).err(), Some("22021"));
    }

    #[test]
    fn a_batch_without_columns_has_rows() {
        let batch = Batch { rows: 7, columns: vec![] };
        assert_eq!(batch.into_arrow(&[], arrow_schema([])).expect("a batch").num_rows(), 7);
        let types = [SqlType::Int4, SqlType::Date];
        let mut batch = Batch::of_types(&types);
        batch.push_row(&[Value::Int4(1), Value::Date(i32::MAX)], &types).expect("a row");
        let schema = arrow_schema([("a", &types[0]), ("b", &types[1])]);
        let arrow = batch.into_arrow(&types, schema).expect("a batch");
        assert_eq!(arrow.column(1).as_primitive::<Date32Type>().value(0), i32::MAX);
    }
}
