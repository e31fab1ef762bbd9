//! `pg_column_size`: how many bytes PostgreSQL would hold a value in, not compressed.

use verso_types::OpaqueKind;
use verso_types::opaque::bits::Bits;
use verso_types::opaque::network::Network;
use verso_types::text_search::{TsQuery, TsVector};
use verso_types::{Array, Decimal, SqlType, Value};

use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// Bytes in front of a value of variable length.
const HEADER: usize = 4;

/// A numeric: its header and groups of four digits, without zeros at either end.
fn numeric(value: &Decimal) -> usize {
    let mut scale = i32::from(value.scale());
    let mut rest = value.unscaled().unsigned_abs();
    // groups begin at the point
    while scale % 4 != 0 {
        rest = rest.saturating_mul(10);
        scale += 1;
    }
    while rest != 0 && rest.is_multiple_of(10_000) {
        rest /= 10_000;
    }
    let mut groups = 0;
    while rest != 0 {
        (rest, groups) = (rest / 10_000, groups + 1);
    }
    HEADER + 2 + 2 * groups
}

/// The elements behind a header of 20 bytes, 8 more for each further dimension, and a bit each if one is NULL.
fn array(values: &Array, ty: &SqlType) -> usize {
    let SqlType::Array(element) = ty else { return HEADER };
    let dimensions = values.dimensions().len();
    if dimensions == 0 {
        return 16;
    }
    let mut size = 16 + 8 * dimensions;
    if values.iter().any(Value::is_null) {
        size = (size + values.len().div_ceil(8)).next_multiple_of(8);
    }
    let align = match element.typlen() {
        1 => 1,
        2 => 2,
        8 | 16 => 8,
        _ => 4,
    };
    values.iter().filter(|value| !value.is_null()).fold(size, |size, value| {
        // text begins where its header may
        size.next_multiple_of(align) + size_of_value(value, element)
    })
}

fn size_of_value(value: &Value, ty: &SqlType) -> usize {
    if let Ok(fixed) = usize::try_from(ty.typlen()) {
        return fixed;
    }
    match value {
        Value::Text(text) => {
            let missing = match ty {
                SqlType::Char(Some(length)) => (*length as usize).saturating_sub(text.chars().count()),
                _ => 0,
            };
            // an unknown literal ends with a zero
            text.len() + missing + if *ty == SqlType::Unknown { 1 } else { HEADER }
        }
        Value::Bytes(bytes) => bytes.len() + HEADER,
        Value::Numeric(value) => numeric(value),
        // its binary form has the same digits behind eight bytes, stored behind six, or eight if it is long
        Value::Big(_) => {
            let mut bytes = Vec::new();
            verso_types::format_binary(value, ty, &mut bytes);
            let long = bytes.len() > 8 + 2 * 64;
            bytes.len() - 8 + HEADER + if long { 4 } else { 2 }
        }
        Value::Jsonb(value) => value.bytes().len() + HEADER,
        Value::Opaque(value) => match value.kind() {
            OpaqueKind::Bits => HEADER + 4 + Bits::len_of(value).div_ceil(8),
            OpaqueKind::Inet | OpaqueKind::Cidr => HEADER + 2 + Network::of(value).size(),
            OpaqueKind::JsonPath | OpaqueKind::Hstore => HEADER + value.bytes().len(),
            OpaqueKind::TsVector => TsVector::of(value).size(),
            OpaqueKind::TsQuery => TsQuery::of(value).size(),
            OpaqueKind::TimeTz
            | OpaqueKind::Mac
            | OpaqueKind::Mac8
            | OpaqueKind::Money
            | OpaqueKind::Lsn
            | OpaqueKind::Tid
            | OpaqueKind::Point
            | OpaqueKind::Lseg
            | OpaqueKind::Line
            | OpaqueKind::Box
            | OpaqueKind::Circle => value.bytes().len(),
            // Behind the header: how many points there are, whether it is closed, and four bytes for nothing.
            OpaqueKind::Path => HEADER + 11 + value.bytes().len(),
            // Behind the header: how many points there are, and the box around them.
            OpaqueKind::Polygon => HEADER + 36 + value.bytes().len(),
        },
        Value::Range(_) | Value::Multirange(_) => {
            let mut bytes = Vec::new();
            verso_types::format_binary(value, ty, &mut bytes);
            HEADER + bytes.len()
        }
        Value::Array(values) => array(values, ty),
        Value::Record(values) => {
            let header = 24 + if values.iter().any(Value::is_null) { values.len().div_ceil(8) } else { 0 };
            let types = ty.fields_of(values.len());
            let one = |(n, value): (usize, &Value)| match types.and_then(|types| types.get(n)) {
                Some((_, ty)) => size_of_value(value, ty),
                None => size_of_value(value, &verso_types::text::type_of(value)),
            };
            header.next_multiple_of(8)
                + values.iter().enumerate().filter(|(_, v)| !v.is_null()).map(one).sum::<usize>()
        }
        _ => HEADER,
    }
}

static SIZES: &[BuiltinFunction] = &[BuiltinFunction {
    name: "pg_column_size",
    operator: None,
    args: &[ArgType::Any],
    variadic: false,
    result: ResultType::Fixed(SqlType::Int4),
    strict: true,
    volatility: Volatility::Stable,
    body: Body::Typed(|_, args, types| {
        let size = args.first().zip(types.first()).map_or(0, |(value, ty)| size_of_value(value, ty));
        Ok(Value::Int4(i32::try_from(size).unwrap_or(i32::MAX)))
    }),
    kernel: None,
}];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [SIZES];
