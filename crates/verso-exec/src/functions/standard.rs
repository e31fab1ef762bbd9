//! Functions of `information_schema` about types of columns, which its views are made with and tools for schemas call.
//!
//! They are found with that schema in front. A type is a number and a modifier, as `pg_attribute` has them; of a column of a domain
//! [`true_of`] tells those of the type beneath. Source: SQL/Schemata, and PostgreSQL's catalogs for what modifiers mean.

use verso_types::{SqlType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

const INT8: i64 = 20;
const INT2: i64 = 21;
const INT4: i64 = 23;
const TEXT: i64 = 25;
const FLOAT4: i64 = 700;
const FLOAT8: i64 = 701;
const CHAR: i64 = 1042;
const VARCHAR: i64 = 1043;
const DATE: i64 = 1082;
const TIME: i64 = 1083;
const TIMESTAMP: i64 = 1114;
const TIMESTAMPTZ: i64 = 1184;
const INTERVAL: i64 = 1186;
const TIMETZ: i64 = 1266;
const BIT: i64 = 1560;
const VARBIT: i64 = 1562;
const NUMERIC: i64 = 1700;

/// What a modifier of a type with a length is larger than the length.
const HEADER: i64 = 4;
/// Bytes that a text without a length may have, as PostgreSQL says.
const TEXT_BYTES: i64 = 1 << 30;
/// The longest character of the encoding.
const CHARACTER_BYTES: i64 = 4;
/// Digits behind the point of a time that says nothing of them.
const TIME_DIGITS: i64 = 6;
/// The half of a modifier that says how many digits there are, and that it says nothing.
const LOW_HALF: i64 = 0xffff;

/// A property of a type, by its number and modifier; `None` where types of the kind have none.
type Property = fn(ty: i64, modifier: i64) -> Option<i64>;

fn characters(ty: i64, modifier: i64) -> Option<i64> {
    match ty {
        _ if modifier == -1 => None,
        CHAR | VARCHAR => Some(modifier - HEADER),
        BIT | VARBIT => Some(modifier),
        _ => None,
    }
}

fn octets(ty: i64, modifier: i64) -> Option<i64> {
    match ty {
        TEXT | CHAR | VARCHAR if modifier == -1 => Some(TEXT_BYTES),
        TEXT | CHAR | VARCHAR => Some(characters(ty, modifier)? * CHARACTER_BYTES),
        _ => None,
    }
}

fn precision(ty: i64, modifier: i64) -> Option<i64> {
    match ty {
        INT2 => Some(16),
        INT4 => Some(32),
        INT8 => Some(64),
        FLOAT4 => Some(24),
        FLOAT8 => Some(53),
        NUMERIC if modifier != -1 => Some(((modifier - HEADER) >> 16) & LOW_HALF),
        _ => None,
    }
}

fn radix(ty: i64, _: i64) -> Option<i64> {
    match ty {
        INT2 | INT4 | INT8 | FLOAT4 | FLOAT8 => Some(2),
        NUMERIC => Some(10),
        _ => None,
    }
}

fn scale(ty: i64, modifier: i64) -> Option<i64> {
    match ty {
        INT2 | INT4 | INT8 => Some(0),
        NUMERIC if modifier != -1 => Some((modifier - HEADER) & LOW_HALF),
        _ => None,
    }
}

fn fraction(ty: i64, modifier: i64) -> Option<i64> {
    match ty {
        DATE => Some(0),
        TIME | TIMESTAMP | TIMESTAMPTZ | TIMETZ => Some(if modifier < 0 { TIME_DIGITS } else { modifier }),
        INTERVAL if modifier < 0 || modifier & LOW_HALF == LOW_HALF => Some(TIME_DIGITS),
        INTERVAL => Some(modifier & LOW_HALF),
        _ => None,
    }
}

/// Calls a property with a number and a modifier.
fn of_type(name: &str, property: Property, args: &[Value]) -> Result<Value> {
    let (Some(ty), Some(modifier)) =
        (args.first().and_then(Value::as_i64), args.get(1).and_then(Value::as_i64))
    else {
        return Err(unexpected(name, args));
    };
    let value = property(ty, modifier).and_then(|value| i32::try_from(value).ok());
    Ok(value.map_or(Value::Null, Value::Int4))
}

/// The fields of an interval that are kept, as its type is written: `DAY TO SECOND(3)`.
fn interval_fields(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    if args.first().and_then(Value::as_i64) != Some(INTERVAL) {
        return Ok(Value::Null);
    }
    let shown = cx.services.catalogs.call("format_type", args)?;
    let behind = shown.as_str().and_then(|shown| shown.strip_prefix("interval"));
    let behind = behind.map(|behind| {
        behind.trim_start_matches(['(', ')', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
    });
    let fields = behind.and_then(|behind| behind.strip_prefix(' '));
    Ok(fields.map_or(Value::Null, |fields| Value::text(&fields.to_ascii_uppercase())))
}

/// A column of a row of a catalog.
fn field<'v>(value: &'v Value, ty: &SqlType, name: &str) -> Option<&'v Value> {
    let (Value::Record(values), SqlType::Row(row)) = (value, ty) else { return None };
    values.get(row.fields.iter().position(|(field, _)| **field == *name)?)
}

/// What a column is of beneath domains: a row of `pg_attribute` and that of its type tell it, each in a column of its own.
fn true_of(own: &str, beneath: &str, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let refused =
        || ExecError::raised("42883", "the function takes a row of pg_attribute and one of pg_type");
    let ([attribute, ty], [of_attribute, of_type]) = (args, types) else { return Err(refused()) };
    let is_domain = field(ty, of_type, "typtype").and_then(Value::as_str) == Some("d");
    let found = match is_domain {
        true => field(ty, of_type, beneath),
        false => field(attribute, of_attribute, own),
    };
    // Rows of other relations have no such columns.
    found.cloned().ok_or_else(refused)
}

/// A function of a type's number and modifier.
macro_rules! of_type {
    ($name:literal, $property:ident) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact(SqlType::Oid), ArgType::Exact(SqlType::Int4)],
            variadic: false,
            result: ResultType::Fixed(SqlType::Int4),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar(|_, args| of_type($name, $property, args)),
            kernel: None,
        }
    };
}

static STANDARD: &[BuiltinFunction] = &[
    of_type!("_pg_char_max_length", characters),
    of_type!("_pg_char_octet_length", octets),
    of_type!("_pg_numeric_precision", precision),
    of_type!("_pg_numeric_precision_radix", radix),
    of_type!("_pg_numeric_scale", scale),
    of_type!("_pg_datetime_precision", fraction),
    BuiltinFunction {
        name: "_pg_interval_type",
        result: ResultType::Fixed(SqlType::Text),
        volatility: Volatility::Stable,
        body: Body::Scalar(interval_fields),
        ..of_type!("_pg_interval_type", fraction)
    },
    BuiltinFunction {
        name: "_pg_index_position",
        args: &[ArgType::Exact(SqlType::Oid), ArgType::Exact(SqlType::Int2)],
        volatility: Volatility::Stable,
        body: Body::Scalar(|cx, args| cx.services.catalogs.call("_pg_index_position", args)),
        ..of_type!("_pg_index_position", fraction)
    },
    BuiltinFunction {
        name: "_pg_truetypid",
        args: &[ArgType::Any, ArgType::Any],
        result: ResultType::Fixed(SqlType::Oid),
        body: Body::Typed(|_, args, types| true_of("atttypid", "typbasetype", args, types)),
        ..of_type!("_pg_truetypid", fraction)
    },
    BuiltinFunction {
        name: "_pg_truetypmod",
        args: &[ArgType::Any, ArgType::Any],
        body: Body::Typed(|_, args, types| true_of("atttypmod", "typtypmod", args, types)),
        ..of_type!("_pg_truetypmod", fraction)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [STANDARD];
