//! Types of columns: those of Parquet and those of SQL.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::ParquetError;
use parquet::schema::types::{Type, TypePtr};
use verso_exec::plan::OutputColumn;
use verso_types::{NumericSpec, SqlType};

/// How values of a column are stored in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    Bool,
    /// Integers of up to 32 and 64 bits.
    Int,
    /// Without a sign, of 64 bits.
    Unsigned,
    Float,
    /// Of 16 bits.
    Half,
    Double,
    /// Days since 1970.
    Date,
    /// So many of them are a second.
    Time(i64),
    /// So many of them since 1970 are a second.
    Timestamp(i64),
    /// Nanoseconds of a Julian day.
    Timestamp96,
    /// An integer, in two's complement, with so many digits behind the point.
    Decimal(u8),
    Text,
    Bytes,
    Uuid,
    /// Months, days and milliseconds, each without a sign.
    Interval,
    /// Lists, maps, groups.
    Nested,
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileColumn {
    pub name: String,
    pub ty: SqlType,
    pub stored: Stored,
    /// Its place among the columns that have values.
    pub leaf: usize,
    pub nullable: bool,
}

fn per_second(unit: &TimeUnit) -> i64 {
    match unit {
        TimeUnit::MILLIS => 1_000,
        TimeUnit::MICROS => 1_000_000,
        TimeUnit::NANOS => 1_000_000_000,
    }
}

/// The columns of a file's schema.
pub(crate) fn columns(root: &Type) -> Vec<FileColumn> {
    let mut leaf = 0;
    let column = |field: &TypePtr| {
        let repeated = field.get_basic_info().has_repetition()
            && field.get_basic_info().repetition() == Repetition::REPEATED;
        let (ty, stored) = match field.is_primitive() && !repeated {
            true => of_primitive(field),
            false => (SqlType::Jsonb, Stored::Nested),
        };
        let own = leaf;
        leaf += leaves(field);
        let nullable = field.is_optional();
        FileColumn { name: field.name().to_owned(), ty, stored, leaf: own, nullable }
    };
    root.get_fields().iter().map(column).collect()
}

fn leaves(field: &Type) -> usize {
    let (mut open, mut count) = (vec![field], 0);
    while let Some(field) = open.pop() {
        match field.is_primitive() {
            true => count += 1,
            false => open.extend(field.get_fields().iter().map(|field| &**field)),
        }
    }
    count
}

fn of_primitive(field: &Type) -> (SqlType, Stored) {
    let info = field.get_basic_info();
    if let Some(logical) = info.logical_type_ref() {
        match (logical, field.get_physical_type()) {
            (LogicalType::Decimal(decimal), _) => return decimal_of(decimal.precision, decimal.scale),
            (LogicalType::Date, Physical::INT32) => return (SqlType::Date, Stored::Date),
            (LogicalType::Time(time), Physical::INT32 | Physical::INT64) => {
                return (SqlType::Time(None), Stored::Time(per_second(&time.unit)));
            }
            (LogicalType::Timestamp(stamp), Physical::INT64) => {
                let ty = match stamp.is_adjusted_to_u_t_c {
                    true => SqlType::Timestamptz(None),
                    false => SqlType::Timestamp(None),
                };
                return (ty, Stored::Timestamp(per_second(&stamp.unit)));
            }
            (LogicalType::Integer(integer), Physical::INT32 | Physical::INT64) => {
                return integer_of(integer.bit_width, integer.is_signed);
            }
            (LogicalType::String | LogicalType::Enum, Physical::BYTE_ARRAY) => {
                return (SqlType::Text, Stored::Text);
            }
            (LogicalType::Json, Physical::BYTE_ARRAY) => return (SqlType::Json, Stored::Text),
            (LogicalType::Float16, Physical::FIXED_LEN_BYTE_ARRAY) => return (SqlType::Float4, Stored::Half),
            (LogicalType::Uuid, Physical::FIXED_LEN_BYTE_ARRAY) => return (SqlType::Uuid, Stored::Uuid),
            _ => {}
        }
    }
    match (info.converted_type(), field.get_physical_type()) {
        (ConvertedType::DECIMAL, _) => decimal_of(field.get_precision(), field.get_scale()),
        (ConvertedType::DATE, Physical::INT32) => (SqlType::Date, Stored::Date),
        (ConvertedType::TIME_MILLIS, Physical::INT32) => (SqlType::Time(None), Stored::Time(1_000)),
        (ConvertedType::TIME_MICROS, Physical::INT64) => (SqlType::Time(None), Stored::Time(1_000_000)),
        (ConvertedType::TIMESTAMP_MILLIS, Physical::INT64) => {
            (SqlType::Timestamptz(None), Stored::Timestamp(1_000))
        }
        (ConvertedType::TIMESTAMP_MICROS, Physical::INT64) => {
            (SqlType::Timestamptz(None), Stored::Timestamp(1_000_000))
        }
        (ConvertedType::INT_8 | ConvertedType::INT_16, Physical::INT32) => integer_of(16, true),
        (ConvertedType::UINT_8, Physical::INT32) => integer_of(8, false),
        (ConvertedType::UINT_16, Physical::INT32) => integer_of(16, false),
        (ConvertedType::UINT_32, Physical::INT32) => integer_of(32, false),
        (ConvertedType::UINT_64, Physical::INT64) => integer_of(64, false),
        (ConvertedType::UTF8 | ConvertedType::ENUM, Physical::BYTE_ARRAY) => (SqlType::Text, Stored::Text),
        (ConvertedType::JSON, Physical::BYTE_ARRAY) => (SqlType::Json, Stored::Text),
        (ConvertedType::INTERVAL, Physical::FIXED_LEN_BYTE_ARRAY) => {
            (SqlType::Interval(None), Stored::Interval)
        }
        (_, Physical::BOOLEAN) => (SqlType::Bool, Stored::Bool),
        (_, Physical::INT32) => (SqlType::Int4, Stored::Int),
        (_, Physical::INT64) => (SqlType::Int8, Stored::Int),
        (_, Physical::INT96) => (SqlType::Timestamp(None), Stored::Timestamp96),
        (_, Physical::FLOAT) => (SqlType::Float4, Stored::Float),
        (_, Physical::DOUBLE) => (SqlType::Float8, Stored::Double),
        (_, Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY) => (SqlType::Bytea, Stored::Bytes),
    }
}

fn integer_of(bits: i8, signed: bool) -> (SqlType, Stored) {
    match (bits, signed) {
        (..=16, true) | (..=8, false) => (SqlType::Int2, Stored::Int),
        (..=32, true) | (..=16, false) => (SqlType::Int4, Stored::Int),
        (_, true) => (SqlType::Int8, Stored::Int),
        // of 32 bits in an INT32 whose sign is none
        (..=32, false) => (SqlType::Int8, Stored::Unsigned),
        (_, false) => (SqlType::Numeric(None), Stored::Unsigned),
    }
}

fn decimal_of(precision: i32, scale: i32) -> (SqlType, Stored) {
    let (precision, scale) = (u8::try_from(precision).unwrap_or(0), u8::try_from(scale).unwrap_or(0));
    let stored = Stored::Decimal(scale);
    match (1..=38).contains(&precision) && scale <= precision {
        true => (SqlType::Numeric(Some(NumericSpec { precision, scale })), stored),
        false => (SqlType::Numeric(None), stored),
    }
}

/// The schema of a file with these columns; each may be NULL.
pub(crate) fn schema(columns: &[OutputColumn]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let (physical, logical) = kept_as(&column.ty);
        let mut builder = Type::primitive_type_builder(&column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical.clone());
        if let Some(LogicalType::Decimal(decimal)) = &logical {
            builder = builder.with_precision(decimal.precision).with_scale(decimal.scale);
        }
        if physical == Physical::FIXED_LEN_BYTE_ARRAY {
            builder = builder.with_length(16);
        }
        fields.push(Arc::new(builder.build()?));
    }
    Type::group_type_builder("schema").with_fields(fields).build().map(Arc::new)
}

/// How values of a type are written; what Parquet has no type for, as text.
fn kept_as(ty: &SqlType) -> (Physical, Option<LogicalType>) {
    match ty {
        SqlType::Bool => (Physical::BOOLEAN, None),
        SqlType::Int2 => (Physical::INT32, Some(LogicalType::integer(16, true))),
        SqlType::Int4 => (Physical::INT32, None),
        SqlType::Int8 | SqlType::Oid => (Physical::INT64, None),
        SqlType::Float4 => (Physical::FLOAT, None),
        SqlType::Float8 => (Physical::DOUBLE, None),
        SqlType::Date => (Physical::INT32, Some(LogicalType::Date)),
        SqlType::Time(_) => (Physical::INT64, Some(LogicalType::time(false, TimeUnit::MICROS))),
        SqlType::Timestamp(_) => (Physical::INT64, Some(LogicalType::timestamp(false, TimeUnit::MICROS))),
        SqlType::Timestamptz(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS))),
        SqlType::Numeric(Some(spec)) if (0..=i16::from(spec.precision)).contains(&i16::from(spec.scale)) => {
            let logical = LogicalType::decimal(spec.scale.into(), spec.precision.into());
            let physical =
                if spec.precision <= 18 { Physical::INT64 } else { Physical::FIXED_LEN_BYTE_ARRAY };
            (physical, Some(logical))
        }
        SqlType::Bytea => (Physical::BYTE_ARRAY, None),
        SqlType::Uuid => (Physical::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
        SqlType::Json | SqlType::Jsonb => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
        _ => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    }
}
