//! Arrow arrays as SQL values.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use verso_types::Value;

use crate::Error;

/// Days from 1970 to 2000, PostgreSQL's epoch.
const EPOCH_DAYS: i32 = 10_957;
const EPOCH_MICROS: i64 = EPOCH_DAYS as i64 * 86_400_000_000;

/// The values of an array.
pub(crate) fn values(array: &ArrayRef) -> Result<Vec<Value>, Error> {
    macro_rules! primitive {
        ($ty:ty, $make:expr) => {
            array.as_primitive::<$ty>().iter().map(|v| v.map_or(Value::Null, $make)).collect()
        };
    }
    Ok(match array.data_type() {
        DataType::Null => vec![Value::Null; array.len()],
        DataType::Boolean => array.as_boolean().iter().map(|v| v.map_or(Value::Null, Value::Bool)).collect(),
        DataType::Int8 => primitive!(Int8Type, |v| Value::Int2(v.into())),
        DataType::Int16 => primitive!(Int16Type, Value::Int2),
        DataType::Int32 => primitive!(Int32Type, Value::Int4),
        DataType::Int64 => primitive!(Int64Type, Value::Int8),
        DataType::UInt8 => primitive!(UInt8Type, |v| Value::Int2(v.into())),
        DataType::UInt16 => primitive!(UInt16Type, |v| Value::Int4(v.into())),
        DataType::UInt32 => primitive!(UInt32Type, |v| Value::Int8(v.into())),
        DataType::Float32 => primitive!(Float32Type, Value::Float4),
        DataType::Float64 => primitive!(Float64Type, Value::Float8),
        DataType::Date32 => primitive!(Date32Type, |v| Value::Date(v - EPOCH_DAYS)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let make = if zone.is_some() { Value::Timestamptz } else { Value::Timestamp };
            primitive!(TimestampMicrosecondType, |v| make(v - EPOCH_MICROS))
        }
        DataType::Utf8 => {
            array.as_string::<i32>().iter().map(|v| v.map_or(Value::Null, Value::text)).collect()
        }
        DataType::LargeUtf8 => {
            array.as_string::<i64>().iter().map(|v| v.map_or(Value::Null, Value::text)).collect()
        }
        DataType::Utf8View => {
            array.as_string_view().iter().map(|v| v.map_or(Value::Null, Value::text)).collect()
        }
        DataType::Binary => array
            .as_binary::<i32>()
            .iter()
            .map(|v| v.map_or(Value::Null, |v| Value::Bytes(v.into())))
            .collect(),
        DataType::LargeBinary => array
            .as_binary::<i64>()
            .iter()
            .map(|v| v.map_or(Value::Null, |v| Value::Bytes(v.into())))
            .collect(),
        other => return Err(Error::unsupported(format!("appending Arrow values of type {other}"))),
    })
}
