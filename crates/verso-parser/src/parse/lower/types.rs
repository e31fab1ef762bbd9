//! Names of types.

use sqlparser::ast::{
    ArrayElemTypeDef, CharacterLength, DataType, ExactNumberInfo, ObjectName, TimezoneInfo,
};
use verso_types::{NumericSpec, SqlType};

use verso_types::sqlstate;

use crate::error::SyntaxError;

/// The SQL type a name stands for.
pub fn data_type(ty: &DataType, at: u32) -> Result<SqlType, SyntaxError> {
    Ok(match ty {
        DataType::Boolean | DataType::Bool => SqlType::Bool,
        DataType::SmallInt(None) | DataType::Int2(None) => SqlType::Int2,
        DataType::Int(None) | DataType::Integer(None) | DataType::Int4(None) => SqlType::Int4,
        DataType::BigInt(None) | DataType::Int8(None) => SqlType::Int8,
        DataType::Real | DataType::Float4 => SqlType::Float4,
        DataType::DoublePrecision | DataType::Float8 => SqlType::Float8,
        DataType::Float(info) => float(info, at)?,
        DataType::Numeric(info) | DataType::Decimal(info) | DataType::Dec(info) => numeric(info, at)?,
        DataType::Text => SqlType::Text,
        DataType::Varchar(length) | DataType::CharacterVarying(length) | DataType::CharVarying(length) => {
            SqlType::Varchar(character_length(length.as_ref(), "varchar", at)?)
        }
        DataType::Char(length) | DataType::Character(length) => {
            SqlType::Char(Some(character_length(length.as_ref(), "char", at)?.unwrap_or(1)))
        }
        DataType::Bytea | DataType::Blob(None) => SqlType::Bytea,
        DataType::Date => SqlType::Date,
        DataType::Time(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => SqlType::Time,
        DataType::Timestamp(precision, zone) => {
            if precision.is_some_and(|precision| precision != 6) {
                return Err(SyntaxError::unsupported("a precision of timestamp other than 6").at(at));
            }
            match zone {
                TimezoneInfo::None | TimezoneInfo::WithoutTimeZone => SqlType::Timestamp,
                TimezoneInfo::WithTimeZone | TimezoneInfo::Tz => SqlType::Timestamptz,
            }
        }
        DataType::Interval { fields: None, precision: None } => SqlType::Interval,
        DataType::Uuid => SqlType::Uuid,
        DataType::Custom(name, modifiers) => named(name, modifiers, at)?,
        DataType::Array(element) => match element {
            ArrayElemTypeDef::SquareBracket(element, _) | ArrayElemTypeDef::Qualified(element, _) => {
                match data_type(element, at)? {
                    array @ SqlType::Array(_) => array, // as in PostgreSQL, dimensions are not part of the type
                    element => SqlType::Array(Box::new(element)),
                }
            }
            ArrayElemTypeDef::None | ArrayElemTypeDef::AngleBracket(_) | ArrayElemTypeDef::Parenthesis(_) => {
                return Err(unsupported(ty, at));
            }
        },
        DataType::Time(..)
        | DataType::Interval { .. }
        | DataType::Blob(Some(_))
        | DataType::SmallInt(Some(_))
        | DataType::Int2(Some(_))
        | DataType::Int(Some(_))
        | DataType::Integer(Some(_))
        | DataType::Int4(Some(_))
        | DataType::BigInt(Some(_))
        | DataType::Int8(Some(_))
        | DataType::Double(_)
        | DataType::Table(_)
        | DataType::NamedTable { name: _, columns: _ }
        | DataType::Nvarchar(_)
        | DataType::CharacterLargeObject(_)
        | DataType::CharLargeObject(_)
        | DataType::Clob(_)
        | DataType::Binary(_)
        | DataType::Varbinary(_)
        | DataType::TinyBlob
        | DataType::MediumBlob
        | DataType::LongBlob
        | DataType::Bytes(_)
        | DataType::DecimalUnsigned(_)
        | DataType::BigNumeric(_)
        | DataType::BigDecimal(_)
        | DataType::DecUnsigned(_)
        | DataType::FloatUnsigned(_)
        | DataType::TinyInt(_)
        | DataType::TinyIntUnsigned(_)
        | DataType::UTinyInt
        | DataType::Int2Unsigned(_)
        | DataType::SmallIntUnsigned(_)
        | DataType::USmallInt
        | DataType::MediumInt(_)
        | DataType::MediumIntUnsigned(_)
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Int128
        | DataType::Int256
        | DataType::IntUnsigned(_)
        | DataType::Int4Unsigned(_)
        | DataType::IntegerUnsigned(_)
        | DataType::HugeInt
        | DataType::UHugeInt
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32
        | DataType::UInt64
        | DataType::UInt128
        | DataType::UInt256
        | DataType::BigIntUnsigned(_)
        | DataType::UBigInt
        | DataType::Int8Unsigned(_)
        | DataType::Signed
        | DataType::SignedInteger
        | DataType::Unsigned
        | DataType::UnsignedInteger
        | DataType::Float32
        | DataType::Float64
        | DataType::RealUnsigned
        | DataType::DoubleUnsigned(_)
        | DataType::DoublePrecisionUnsigned
        | DataType::Date32
        | DataType::Datetime(_)
        | DataType::Datetime64(..)
        | DataType::TimestampNtz(_)
        | DataType::JSON
        | DataType::JSONB
        | DataType::Regclass
        | DataType::TinyText
        | DataType::MediumText
        | DataType::LongText
        | DataType::String(_)
        | DataType::FixedString(_)
        | DataType::Bit(_)
        | DataType::BitVarying(_)
        | DataType::VarBit(_)
        | DataType::Map(..)
        | DataType::Tuple(_)
        | DataType::Nested(_)
        | DataType::Enum(..)
        | DataType::Set(_)
        | DataType::Struct(..)
        | DataType::Union(_)
        | DataType::Nullable(_)
        | DataType::LowCardinality(_)
        | DataType::Unspecified
        | DataType::Trigger
        | DataType::AnyType
        | DataType::GeometricType(_)
        | DataType::TsVector
        | DataType::TsQuery => return Err(unsupported(ty, at)),
    })
}

fn unsupported(ty: &DataType, at: u32) -> SyntaxError {
    SyntaxError::unsupported(format!("type {}", ty.to_string().to_lowercase())).at(at)
}

fn invalid(text: String, at: u32) -> SyntaxError {
    SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text).at(at)
}

fn float(info: &ExactNumberInfo, at: u32) -> Result<SqlType, SyntaxError> {
    match info {
        ExactNumberInfo::None => Ok(SqlType::Float8),
        ExactNumberInfo::Precision(1..=24) => Ok(SqlType::Float4),
        ExactNumberInfo::Precision(25..=53) => Ok(SqlType::Float8),
        ExactNumberInfo::Precision(0) => {
            Err(invalid("precision for type float must be at least 1 bit".into(), at))
        }
        ExactNumberInfo::Precision(_) => {
            Err(invalid("precision for type float must be less than 54 bits".into(), at))
        }
        ExactNumberInfo::PrecisionAndScale(..) => {
            Err(SyntaxError::syntax("syntax error at or near \",\"").at(at))
        }
    }
}

fn numeric(info: &ExactNumberInfo, at: u32) -> Result<SqlType, SyntaxError> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => return Ok(SqlType::Numeric(None)),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    if !(1..=1000).contains(&precision) {
        return Err(invalid(format!("NUMERIC precision {precision} must be between 1 and 1000"), at));
    }
    if !(-1000..=1000).contains(&scale) {
        return Err(invalid(format!("NUMERIC scale {scale} must be between -1000 and 1000"), at));
    }
    let spec = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
    match spec.and_then(|(precision, scale)| NumericSpec::new(precision, scale)) {
        Some(spec) => Ok(SqlType::Numeric(Some(spec))),
        None => Err(SyntaxError::unsupported(format!("numeric({precision},{scale})"))
            .with_detail("A declared numeric has at most 38 digits and a scale from 0 to its precision.")
            .at(at)),
    }
}

fn character_length(
    length: Option<&CharacterLength>,
    name: &str,
    at: u32,
) -> Result<Option<u32>, SyntaxError> {
    match length {
        None => Ok(None),
        Some(CharacterLength::IntegerLength { length: 0, unit: None }) => {
            Err(invalid(format!("length for type {name} must be at least 1"), at))
        }
        Some(CharacterLength::IntegerLength { length, unit: None }) => match u32::try_from(*length) {
            Ok(length @ ..=10_485_760) => Ok(Some(length)),
            _ => Err(invalid(format!("length for type {name} cannot exceed 10485760"), at)),
        },
        Some(CharacterLength::IntegerLength { length: _, unit: Some(_) }) => {
            Err(SyntaxError::unsupported("a unit of length").at(at))
        }
        Some(CharacterLength::Max) => Err(SyntaxError::syntax("syntax error at or near \"max\"").at(at)),
    }
}

/// Types that the library knows no word for.
fn named(name: &ObjectName, modifiers: &[String], at: u32) -> Result<SqlType, SyntaxError> {
    let full = name.to_string().to_ascii_lowercase();
    let short = full.strip_prefix("pg_catalog.").unwrap_or(&full);
    if !modifiers.is_empty() {
        return Err(SyntaxError::syntax(format!("type modifier is not allowed for type \"{short}\"")).at(at));
    }
    Ok(match short {
        "oid" => SqlType::Oid,
        "name" => SqlType::Name,
        "bpchar" => SqlType::Char(None),
        "blob" => SqlType::Bytea,
        "bool" => SqlType::Bool,
        "int2" => SqlType::Int2,
        "int4" => SqlType::Int4,
        "int8" => SqlType::Int8,
        "float4" => SqlType::Float4,
        "float8" => SqlType::Float8,
        "text" => SqlType::Text,
        "bytea" => SqlType::Bytea,
        "date" => SqlType::Date,
        "time" => SqlType::Time,
        "timestamp" => SqlType::Timestamp,
        "timestamptz" => SqlType::Timestamptz,
        "interval" => SqlType::Interval,
        "uuid" => SqlType::Uuid,
        "numeric" => SqlType::Numeric(None),
        "varchar" => SqlType::Varchar(None),
        "serial" | "serial4" | "bigserial" | "serial8" | "smallserial" | "serial2" | "json" | "jsonb"
        | "xml" | "money" | "timetz" | "regclass" | "regtype" | "regproc" | "inet" | "cidr" | "macaddr"
        | "bit" | "varbit" | "hstore" | "point" | "tsvector" | "tsquery" | "record" | "refcursor"
        | "anyelement" | "xid" => {
            return Err(SyntaxError::unsupported(format!("type {short}")).at(at));
        }
        _ => {
            let text = format!("type \"{short}\" does not exist");
            return Err(SyntaxError::new(sqlstate::UNDEFINED_OBJECT, text).at(at));
        }
    })
}
