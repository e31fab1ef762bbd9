//! Arrays and composite values.

use jiff::tz::TimeZone;

use super::{format_text, parse_text};
use crate::error::{TypeError, sqlstate};
use crate::sqltype::SqlType;
use crate::value::Value;

/// The plainest type of a value, for values whose type nobody announced (columns of a record).
pub fn type_of(value: &Value) -> SqlType {
    match value {
        Value::Null => SqlType::Unknown,
        Value::Bool(_) => SqlType::Bool,
        Value::Int2(_) => SqlType::Int2,
        Value::Int4(_) => SqlType::Int4,
        Value::Int8(_) => SqlType::Int8,
        Value::Float4(_) => SqlType::Float4,
        Value::Float8(_) => SqlType::Float8,
        Value::Numeric(_) => SqlType::Numeric(None),
        Value::Text(_) => SqlType::Text,
        Value::Bytes(_) => SqlType::Bytea,
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time,
        Value::Timestamp(_) => SqlType::Timestamp,
        Value::Timestamptz(_) => SqlType::Timestamptz,
        Value::Interval(_) => SqlType::Interval,
        Value::Uuid(_) => SqlType::Uuid,
        Value::Array(values) => {
            let element = values.iter().find(|value| !value.is_null());
            SqlType::Array(Box::new(element.map_or(SqlType::Text, type_of)))
        }
        Value::Record(_) => SqlType::Record,
    }
}

/// Appends `{1,NULL,"a b"}`.
pub(super) fn format_array(values: &[Value], ty: &SqlType, tz: &TimeZone, out: &mut String) {
    let mut item = String::new();
    out.push('{');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if value.is_null() {
            out.push_str("NULL");
            continue;
        }
        item.clear();
        match ty {
            SqlType::Array(element) => format_text(value, element, tz, &mut item),
            _ => format_text(value, &type_of(value), tz, &mut item),
        }
        let special = |c: char| matches!(c, '{' | '}' | '"' | '\\' | ',') || is_blank(c);
        let nested = matches!(value, Value::Array(_));
        if !nested && (item.is_empty() || item.eq_ignore_ascii_case("null") || item.contains(special)) {
            put_quoted(&item, "\\", out);
        } else {
            out.push_str(&item);
        }
    }
    out.push('}');
}

/// Appends `(1,,"a b")`; a NULL is nothing at all.
pub(super) fn format_record(values: &[Value], tz: &TimeZone, out: &mut String) {
    let mut item = String::new();
    out.push('(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if value.is_null() {
            continue;
        }
        item.clear();
        format_text(value, &type_of(value), tz, &mut item);
        let special = |c: char| matches!(c, '(' | ')' | '"' | '\\' | ',') || is_blank(c);
        if item.is_empty() || item.contains(special) {
            put_quoted(&item, "\"", out);
        } else {
            out.push_str(&item);
        }
    }
    out.push(')');
}

/// In double quotes; a quote is escaped by `escape`, a backslash by a backslash.
fn put_quoted(item: &str, escape: &str, out: &mut String) {
    out.push('"');
    for c in item.chars() {
        match c {
            '"' => out.push_str(escape),
            '\\' => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out.push('"');
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// Reads a one-dimensional array.
pub(super) fn parse_array(text: &str, element: &SqlType, tz: &TimeZone) -> Result<Value, TypeError> {
    let malformed = |detail: &str| {
        let message = format!("malformed array literal: \"{text}\"");
        TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    const END: &str = "Unexpected end of input.";
    const ELEMENT: &str = "Unexpected array element.";
    let mut chars = text.trim_matches(is_blank).chars().peekable();
    if chars.next() != Some('{') {
        return Err(malformed("Array value must start with \"{\" or dimension information."));
    }
    while chars.next_if(|c| is_blank(*c)).is_some() {}
    let mut values = Vec::new();
    let mut done = chars.next_if_eq(&'}').is_some();
    while !done {
        while chars.next_if(|c| is_blank(*c)).is_some() {}
        let mut item = String::new();
        let quoted = chars.next_if_eq(&'"').is_some();
        // how much of an unquoted item survives trimming: an escaped blank does
        let mut kept = 0;
        loop {
            match chars.peek() {
                Some(',' | '}') if !quoted => break,
                Some('"') if quoted => {
                    chars.next();
                    while chars.next_if(|c| is_blank(*c)).is_some() {}
                    break;
                }
                Some('{') if !quoted => {
                    let message = "multidimensional arrays are not supported";
                    return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message));
                }
                Some('"') if !quoted => return Err(malformed(ELEMENT)),
                _ => {}
            }
            let escaped = chars.next_if_eq(&'\\').is_some();
            let c = chars.next().ok_or_else(|| malformed(END))?;
            item.push(c);
            if escaped || !is_blank(c) {
                kept = item.len();
            }
        }
        let next = chars.next();
        if !quoted {
            item.truncate(kept);
        }
        done = match next {
            Some(c @ (',' | '}')) if !quoted && item.is_empty() => {
                return Err(malformed(&format!("Unexpected \"{c}\" character.")));
            }
            Some(',') => false,
            Some('}') => true,
            Some(_) => return Err(malformed(ELEMENT)),
            None => return Err(malformed(END)),
        };
        values.push(match quoted {
            false if item.eq_ignore_ascii_case("null") => Value::Null,
            _ => parse_text(element, &item, tz)?,
        });
    }
    match chars.next() {
        None => Ok(Value::Array(values.into())),
        Some(_) => Err(malformed("Junk after closing right brace.")),
    }
}
