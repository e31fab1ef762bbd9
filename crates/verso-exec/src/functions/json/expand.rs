//! Rows from JSON: `json_each`, `json_array_elements`, `json_object_keys`.

use std::sync::Arc;

use verso_env::stack;
use verso_types::json::{self, JsonRef, Jsonb};
use verso_types::{RowType, SqlType, TimeStyle, TypeError, Value, parse_text};

use super::filled::array_of;
use super::types::{JSON, JSONB};
use super::{as_text, invalid, json_function, jsonb, text_of};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::collected::{Rows, rows};
use crate::functions::define::unexpected;
use crate::functions::{Body, BuiltinFunction, ResultType};
use crate::memory::room_to_read;

fn pair(key: &str, value: Value) -> Value {
    Value::Record([Value::text(key), value].into())
}

/// `jsonb_each`, or `jsonb_each_text`
fn each_of(cx: &EvalContext<'_>, args: &[Value], text: bool) -> Result<Rows> {
    let name = if text { "_text" } else { "" };
    match args {
        [Value::Jsonb(value)] => {
            let JsonRef::Object(object) = value.root() else {
                return Err(invalid(format!("cannot call jsonb_each{name} on a non-object")));
            };
            let value = |raw| if text { as_text(raw) } else { jsonb(raw) };
            rows(cx, object.iter_raw().map(|(key, raw)| Ok(pair(key, value(raw)))))
        }
        [Value::Text(source)] => {
            let _room = room_to_read(cx.services.memory.account, source, &SqlType::Jsonb)?;
            let Some(fields) = json::fields(source)? else {
                let what = if json::elements(source)?.is_some() { "an array" } else { "a scalar" };
                return Err(invalid(format!("cannot deconstruct {what} as an object")));
            };
            let value = |raw: &str| if text { text_of(raw) } else { Ok(Value::text(raw)) };
            rows(cx, fields.into_iter().map(|(key, raw)| Ok(pair(&key, value(raw)?))))
        }
        _ => Err(unexpected("json_each", args)),
    }
}

fn each(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    each_of(cx, args, false)
}

fn each_text(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    each_of(cx, args, true)
}

/// `json_array_elements`, or `json_array_elements_text`
fn elements_of(cx: &EvalContext<'_>, args: &[Value], text: bool) -> Result<Rows> {
    match args {
        [Value::Jsonb(value)] => match value.root() {
            JsonRef::Array(array) => {
                let value = |raw| if text { as_text(raw) } else { jsonb(raw) };
                rows(cx, array.iter_raw().map(value).map(Ok))
            }
            JsonRef::Object(_) => Err(invalid("cannot extract elements from an object")),
            _ => Err(invalid("cannot extract elements from a scalar")),
        },
        [Value::Text(source)] => {
            let _room = room_to_read(cx.services.memory.account, source, &SqlType::Jsonb)?;
            let Some(elements) = json::elements(source)? else {
                let name = if text { "_text" } else { "" };
                let what = if json::fields(source)?.is_some() { "a non-array" } else { "a scalar" };
                return Err(invalid(format!("cannot call json_array_elements{name} on {what}")));
            };
            let value = |raw: &str| if text { text_of(raw) } else { Ok(Value::text(raw)) };
            rows(cx, elements.into_iter().map(value))
        }
        _ => Err(unexpected("json_array_elements", args)),
    }
}

fn elements(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    elements_of(cx, args, false)
}

fn elements_text(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    elements_of(cx, args, true)
}

fn object_keys(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    match args {
        [Value::Jsonb(value)] => match value.root() {
            JsonRef::Object(object) => rows(cx, object.iter_raw().map(|(key, _)| Ok(Value::text(key)))),
            JsonRef::Array(_) => Err(invalid("cannot call jsonb_object_keys on an array")),
            _ => Err(invalid("cannot call jsonb_object_keys on a scalar")),
        },
        [Value::Text(source)] => match json::fields(source)? {
            Some(fields) => rows(cx, fields.into_iter().map(|(key, _)| Ok(Value::text(&key)))),
            None if json::elements(source)?.is_some() => {
                Err(invalid("cannot call json_object_keys on an array"))
            }
            None => Err(invalid("cannot call json_object_keys on a scalar")),
        },
        _ => Err(unexpected("json_object_keys", args)),
    }
}

/// A JSON value, as its text, as a value of a type: what a column of `json_to_record` gets. A row of `base`, which is NULL or of that
/// type, keeps the fields that an object has no key for. `key` is the key of the object whose value it is.
pub(super) fn column_value(
    raw: &str,
    ty: &SqlType,
    base: &Value,
    key: Option<&str>,
    tz: &TimeStyle,
) -> Result<Value> {
    let raw = raw.trim();
    // Whatever the type: `null` is NULL, of the types of JSON, too.
    let Value::Text(text) = text_of(raw)? else { return Ok(Value::Null) };
    match ty {
        SqlType::Json => Ok(Value::text(raw)),
        SqlType::Jsonb => Ok(Value::Jsonb(Jsonb::parse(raw)?)),
        SqlType::Array(_) if raw.starts_with('"') => Ok(parse_text(ty, &text, tz)?),
        SqlType::Array(element) => array_of(raw, element, key, tz),
        SqlType::Row(_) if raw.starts_with('"') => Ok(parse_text(ty, &text, tz)?),
        SqlType::Row(row) => row_value(raw, row, base, tz),
        SqlType::Record => Err(TypeError::new("42809", "record type has not been registered").into()),
        _ => Ok(parse_text(ty, &text, tz)?),
    }
}

/// The row that `base`, which may be NULL, becomes by an object.
pub(super) fn row_value(raw: &str, row: &RowType, base: &Value, tz: &TimeStyle) -> Result<Value> {
    stack::check()?;
    let found = members(raw)?;
    let own = match base {
        Value::Record(values) => &values[..],
        _ => &[],
    };
    let value = |(at, (name, ty)): (usize, &(Arc<str>, SqlType))| {
        let own = own.get(at).unwrap_or(&Value::Null);
        match found.iter().rev().find(|(key, _)| **key == **name) {
            Some((key, raw)) => column_value(raw, ty, own, Some(key), tz),
            None => Ok(own.clone()),
        }
    };
    Ok(Value::Record(row.fields.iter().enumerate().map(value).collect::<Result<Vec<_>>>()?.into()))
}

/// The keys of an object, and the texts of their values.
fn members(raw: &str) -> Result<Vec<(String, &str)>> {
    match json::fields(raw)? {
        Some(fields) => Ok(fields),
        None => {
            let what = if json::elements(raw)?.is_some() { "an array" } else { "a scalar" };
            Err(invalid(format!("cannot call populate_composite on {what}")))
        }
    }
}

/// The record that an object stands for, in columns of these names and types.
fn record_of(raw: &str, names: &[Value], types: &[SqlType], tz: &TimeStyle) -> Result<Value> {
    let fields = members(raw)?;
    let value = |(column, ty): (&Value, &SqlType)| {
        let column = column.as_str().unwrap_or_default();
        match fields.iter().rev().find(|(key, _)| key == column) {
            Some((key, raw)) => column_value(raw, ty, &Value::Null, Some(key), tz),
            None => Ok(Value::Null),
        }
    };
    Ok(Value::Record(names.iter().zip(types).map(value).collect::<Result<Vec<_>>>()?.into()))
}

/// One record comes as its only value where there is one column.
pub(super) fn in_columns(record: Value, types: &[SqlType]) -> Value {
    match record {
        Value::Record(values) if types.len() == 1 => values.first().cloned().unwrap_or(Value::Null),
        record => record,
    }
}

pub(super) fn text_form(value: &Value) -> std::borrow::Cow<'_, str> {
    match value {
        Value::Jsonb(value) => {
            let mut text = String::new();
            json::format_into(value.root(), &mut text);
            text.into()
        }
        other => other.as_str().unwrap_or("null").into(),
    }
}

/// `json_to_record(json) AS t(a int, …)`: the names of the columns are the last argument.
fn to_record(cx: &EvalContext<'_>, args: &[Value], _: &[SqlType], types: &[SqlType]) -> Result<Rows> {
    let [from, Value::Array(names)] = args else { return Err(unexpected("json_to_record", args)) };
    let record = record_of(&text_form(from), names, types, cx.services.time_zone)?;
    rows(cx, std::iter::once(Ok(in_columns(record, types))))
}

fn to_recordset(cx: &EvalContext<'_>, args: &[Value], _: &[SqlType], types: &[SqlType]) -> Result<Rows> {
    let [from, Value::Array(names)] = args else { return Err(unexpected("json_to_recordset", args)) };
    let name = if matches!(from, Value::Jsonb(_)) { "jsonb_to_recordset" } else { "json_to_recordset" };
    let text = text_form(from);
    let _room = room_to_read(cx.services.memory.account, &text, &SqlType::Jsonb)?;
    let objects = objects(&text, from, name)?;
    let one = |object: Result<&str>| {
        Ok(in_columns(record_of(object?, names, types, cx.services.time_zone)?, types))
    };
    rows(cx, objects.map(one))
}

/// The objects of an array; what else it has is an error.
pub(super) fn objects<'t>(
    text: &'t str,
    from: &Value,
    name: &'static str,
) -> Result<impl Iterator<Item = Result<&'t str>>> {
    let Some(elements) = json::elements(text)? else {
        let what = match from {
            Value::Jsonb(_) => "a non-array",
            _ if json::fields(text)?.is_some() => "an object",
            _ => "a scalar",
        };
        return Err(invalid(format!("cannot call {name} on {what}")));
    };
    Ok(elements.into_iter().map(move |element| match element.trim_start().starts_with('{') {
        true => Ok(element),
        false => Err(invalid(format!("argument of {name} must be an array of objects"))),
    }))
}

static KEY_JSON: [(&str, SqlType); 2] = [("key", SqlType::Text), ("value", SqlType::Json)];
static KEY_JSONB: [(&str, SqlType); 2] = [("key", SqlType::Text), ("value", SqlType::Jsonb)];
static KEY_TEXT: [(&str, SqlType); 2] = [("key", SqlType::Text), ("value", SqlType::Text)];

macro_rules! set {
    ($name:literal [$arg:expr] => $result:expr, $f:expr) => {
        json_function!($name [$arg] => $result, variadic false, strict true, Body::Set($f))
    };
}

const RECORDS: ResultType = ResultType::Fixed(SqlType::Record);

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    json_function!("json_to_record" [JSON] => RECORDS, variadic false, strict true, Body::TypedSet(to_record)),
    json_function!("jsonb_to_record" [JSONB] => RECORDS, variadic false, strict true, Body::TypedSet(to_record)),
    json_function!("json_to_recordset" [JSON] => RECORDS, variadic false, strict true,
        Body::TypedSet(to_recordset)),
    json_function!("jsonb_to_recordset" [JSONB] => RECORDS, variadic false, strict true,
        Body::TypedSet(to_recordset)),
    set!("json_each" [JSON] => ResultType::Columns(&KEY_JSON), each),
    set!("jsonb_each" [JSONB] => ResultType::Columns(&KEY_JSONB), each),
    set!("json_each_text" [JSON] => ResultType::Columns(&KEY_TEXT), each_text),
    set!("jsonb_each_text" [JSONB] => ResultType::Columns(&KEY_TEXT), each_text),
    set!("json_array_elements" [JSON] => ResultType::Fixed(SqlType::Json), elements),
    set!("jsonb_array_elements" [JSONB] => ResultType::Fixed(SqlType::Jsonb), elements),
    set!("json_array_elements_text" [JSON] => ResultType::Fixed(SqlType::Text), elements_text),
    set!("jsonb_array_elements_text" [JSONB] => ResultType::Fixed(SqlType::Text), elements_text),
    set!("json_object_keys" [JSON] => ResultType::Fixed(SqlType::Text), object_keys),
    set!("jsonb_object_keys" [JSONB] => ResultType::Fixed(SqlType::Text), object_keys),
];
