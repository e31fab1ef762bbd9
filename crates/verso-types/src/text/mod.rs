//! Values from and to text, in PostgreSQL's syntax, with its messages.

mod acl_item;
mod array;
mod binary;
mod float;
mod number;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt::Write as _;

use crate::TimeStyle;

pub(crate) use array::put_quoted;
pub use array::type_of;
pub use binary::{format_bytea, format_bytea_escaped, format_uuid, parse_bytea, parse_uuid, put_hex_bytes};
pub use float::{format_f32, format_f64, format_rounded, parse_f32, parse_f64};
pub(crate) use number::parse_oid;
pub(crate) use number::spelled_out;
pub use number::{format_i64, parse_bool, parse_integer};

use crate::cast::{constrain_long, limit_text, limit_time};
use crate::composite;
use crate::datetime;
use crate::error::{TypeError, sqlstate};
use crate::json::{self, Jsonb};
use crate::names;
use crate::number::Number;
use crate::opaque::{self, OpaqueKind};
use crate::range;
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::value::Value;

/// Reads a value of type `ty`, as PostgreSQL's input function with the type's modifiers. Local times are of zone `tz`.
/// # Errors
/// 22P02, 22003, 22001, 22007, 22008 and more, with PostgreSQL's messages; 0A000 for types without input.
pub fn parse_text(ty: &SqlType, text: &str, tz: &TimeStyle) -> Result<Value, TypeError> {
    Ok(match ty {
        SqlType::Bool => Value::Bool(parse_bool(text)?),
        SqlType::Int2 => Value::Int2(parse_integer(text, "smallint")?),
        SqlType::Int4 => Value::Int4(parse_integer(text, "integer")?),
        SqlType::Int8 => Value::Int8(parse_integer(text, "bigint")?),
        SqlType::Oid => Value::Int8(number::parse_oid(text, "oid")?),
        SqlType::Float4 => Value::Float4(parse_f32(text)?),
        SqlType::Float8 => Value::Float8(parse_f64(text)?),
        SqlType::Numeric(None) => Number::parse_value(text)?,
        SqlType::LongNumeric(spec) => constrain_long(Number::parse_value(text)?, *spec)?,
        SqlType::Numeric(Some(spec)) => match Number::parse_value(text)? {
            Value::Big(number) => Value::Numeric(number.constrain(*spec)?),
            Value::Numeric(number) => Value::Numeric(number.constrain(*spec)?),
            other => other,
        },
        SqlType::Text | SqlType::Unknown => Value::text(text),
        SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name => Value::text(limit_text(text, ty, false)?),
        SqlType::Bytea => Value::Bytes(parse_bytea(text)?.into()),
        SqlType::Date => Value::Date(datetime::parse_date(text, tz)?),
        SqlType::Time(_) => limit_time(Value::Time(datetime::parse_time(text, tz)?), ty),
        SqlType::Timestamp(_) => limit_time(Value::Timestamp(datetime::parse_timestamp(text, tz)?), ty),
        SqlType::Timestamptz(_) => limit_time(Value::Timestamptz(datetime::parse_timestamptz(text, tz)?), ty),
        SqlType::Interval(spec) => {
            limit_time(Value::Interval(datetime::parse_interval_as(text, tz, spec.as_ref())?), ty)
        }
        SqlType::Uuid => Value::Uuid(parse_uuid(text)?),
        ty if let Some(kind) = OpaqueKind::of(ty) => Value::Opaque(opaque::parse(ty, kind, text, tz)?),
        SqlType::Timetz(_) | SqlType::Bit(_) | SqlType::Varbit(_) => Value::text(text),
        SqlType::Range(ty) => range::parse(ty, text, tz)?.into_value(),
        SqlType::Multirange(ty) => range::parse_multirange(ty, text, tz)?.into_value(),
        SqlType::Array(element) if ty.vector_name().is_some() => array::parse_vector(text, element, tz)?,
        SqlType::Array(element) => array::parse_array(text, element, tz)?,
        SqlType::System(system) => parse_system(*system, text)?,
        SqlType::Void => Value::text(""),
        SqlType::Json => {
            json::validate(text)?;
            Value::text(text)
        }
        SqlType::Jsonb => Value::Jsonb(Jsonb::parse(text)?),
        SqlType::Enum(ty) => ty.parse(text)?,
        SqlType::Domain(domain) => return parse_text(&domain.base, text, tz),
        SqlType::Collated(collated) => return parse_text(&collated.base, text, tz),
        SqlType::Named(name) => return Err(TypeError::unknown_type(name)),
        SqlType::Row(row) if row.of.is_some() => composite::parse_record(text, row, tz)?,
        SqlType::Record | SqlType::Row(_) => {
            let message = "input of anonymous composite types is not implemented";
            return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
        }
    })
}

/// Reads a value of a type of the system catalogs.
fn parse_system(ty: SystemType, text: &str) -> Result<Value, TypeError> {
    Ok(match ty {
        // Within a vector there are decimal digits only.
        SystemType::VectorInt2 if text.bytes().any(|byte| byte == b'_' || byte.is_ascii_alphabetic()) => {
            return Err(TypeError::syntax("smallint", text));
        }
        SystemType::VectorInt2 => Value::Int2(parse_integer(text, "smallint")?),
        SystemType::VectorOid => Value::Int8(number::parse_oid(text, "oid")?),
        SystemType::Xid => Value::Int8(number::parse_oid(text, "xid")?),
        SystemType::Xid8 => Value::Xid8(number::parse_xid8(text)?),
        SystemType::PgSnapshot | SystemType::TxidSnapshot => {
            Value::text(&crate::snapshot::Snapshot::parse(text, "pg_snapshot")?.to_string())
        }
        SystemType::AclItem => Value::text(&acl_item::parse(text)?),
        ty if ty.is_reference() => Value::Int8(names::parse_reference(ty, text)?),
        ty => Value::text(limit_text(text, &SqlType::System(ty), true)?),
    })
}

/// Appends the text of a value of type `ty`, as PostgreSQL's output function. NULL appends nothing: how it is shown is
/// the caller's affair.
pub fn format_text(value: &Value, ty: &SqlType, tz: &TimeStyle, out: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(v) => out.push(if *v { 't' } else { 'f' }),
        Value::Int2(v) => format_i64((*v).into(), out),
        Value::Int4(v) => format_i64((*v).into(), out),
        Value::Int8(v) => match ty {
            SqlType::System(system) if system.is_reference() => names::format_reference(*system, *v, out),
            SqlType::Enum(ty) => ty.format(*v, out),
            _ => format_i64(*v, out),
        },
        Value::Float4(v) if tz.float_digits <= 0 => format_rounded((*v).into(), 6 + tz.float_digits, out),
        Value::Float8(v) if tz.float_digits <= 0 => format_rounded(*v, 15 + tz.float_digits, out),
        Value::Float4(v) => format_f32(*v, out),
        Value::Float8(v) => format_f64(*v, out),
        Value::Numeric(v) => {
            crate::decimal::write_scaled(v.unscaled(), v.scale(), out).expect("a String takes everything");
        }
        Value::Big(v) => {
            let _ = write!(out, "{v}");
        }
        Value::Xid8(v) => {
            let _ = write!(out, "{v}");
        }
        Value::Text(v) => {
            out.push_str(v);
            if let SqlType::Char(Some(length)) = ty {
                let missing = (*length as usize).saturating_sub(v.chars().count());
                out.extend(std::iter::repeat_n(' ', missing));
            }
        }
        Value::Bytes(v) if tz.escapes_bytes => format_bytea_escaped(v, out),
        Value::Bytes(v) => format_bytea(v, out),
        Value::Date(v) => datetime::show_date(*v, tz, out),
        Value::Time(v) => datetime::format_time(*v, out),
        Value::Timestamp(v) => datetime::show_timestamp(*v, tz, out),
        Value::Timestamptz(v) => datetime::show_timestamptz(*v, tz, out),
        Value::Interval(v) => datetime::show_interval(*v, tz, out),
        Value::Uuid(v) => format_uuid(*v, out),
        Value::Array(v) if ty.vector_name().is_some() => array::format_vector(v, out),
        Value::Array(v) => array::format_array(v, ty, tz, out),
        Value::Record(v) => array::format_record(v, ty, tz, out),
        Value::Jsonb(v) => json::format_into(v.root(), out),
        Value::Opaque(v) => opaque::format(v, tz, out),
        Value::Range(v) => range::format(v, ty, tz, out),
        Value::Multirange(v) => range::format_multirange(v, ty, tz, out),
    }
}

/// Blanks that PostgreSQL's number input skips: C's `isspace`.
fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
}
