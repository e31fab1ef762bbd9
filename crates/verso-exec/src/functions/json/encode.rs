//! Values of any type as JSON, and JSON built of them.
//!
//! `json` is written as PostgreSQL writes it, blanks included: `{"a" : 1}` by builders, `{"a":1}` from rows. These
//! functions heed the types of their arguments: a text becomes a string, a json stays what it is.
//!
//! An aggregate such as `json_agg(x)` is a function of an array: the binder writes `json_agg_end(array_agg(to_json(x)))`,
//! so DISTINCT, ORDER BY, FILTER and OVER mean there what they mean for `array_agg`.

use std::collections::HashSet;

use verso_types::interrupt::Pieces;
use verso_types::json::{self, Node};
use verso_types::text::type_of;
use verso_types::{Array, SqlType, SystemType, TimeStyle, TypeError, Value, format_text};

use super::construct::{duplicate, is_null};
use super::types::{AS_JSON, AS_JSONB, TEXTS};
use super::{encoded, invalid, json_function};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::define::unexpected;
use crate::functions::hstore;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// What a value is written as.
pub(super) struct Encoder<'a> {
    tz: &'a TimeStyle,
    /// Between the elements of an array and the fields of a row of the outermost level.
    between: &'static str,
}

/// A date or time in JSON: as ISO 8601 has it, but a time with its zone as PostgreSQL writes it.
fn json_text(value: &Value, ty: &SqlType, tz: &TimeStyle) -> String {
    if !matches!(ty, SqlType::Timetz(_)) {
        return iso_text(value, ty, tz);
    }
    let mut text = String::new();
    format_text(value, ty, &tz.iso(), &mut text);
    text
}

/// A date or time as ISO 8601 has it: `T` between date and time, a zone with minutes.
pub(super) fn iso_text(value: &Value, ty: &SqlType, tz: &TimeStyle) -> String {
    let mut text = String::new();
    let iso = tz.iso();
    let style = if matches!(value, Value::Interval(_)) { tz } else { &iso };
    format_text(value, ty, style, &mut text);
    let zoned = matches!(value, Value::Timestamptz(_)) || matches!(ty, SqlType::Timetz(_));
    if !matches!(value, Value::Timestamp(_)) && !zoned || text.ends_with("infinity") {
        return text;
    }
    if let Some(blank) = text.find(' ').filter(|_| !matches!(ty, SqlType::Timetz(_))) {
        text.replace_range(blank..=blank, "T");
    }
    if zoned {
        // `+00` becomes `+00:00`.
        let end = text.strip_suffix(" BC").map_or(text.len(), str::len);
        let sign = text[..end].rfind(['+', '-']).unwrap_or(end);
        if end - sign == 3 {
            text.insert_str(end, ":00");
        }
    }
    text
}

/// What the cast to json makes of it, which PostgreSQL asks for.
fn hstore_as_json(value: &Value) -> Result<Value> {
    hstore::json(std::slice::from_ref(value), false)
}

/// The field names and types of a record.
fn fields(values: &[Value], ty: &SqlType) -> Vec<(String, SqlType)> {
    if let Some(fields) = ty.fields_of(values.len()) {
        return fields.iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
    }
    values.iter().enumerate().map(|(n, value)| (format!("f{}", n + 1), type_of(value))).collect()
}

fn element_type(ty: &SqlType) -> Option<&SqlType> {
    match ty {
        SqlType::Array(element) => Some(element),
        _ => None,
    }
}

/// The parts of the outermost dimension, each an array of the others, or an element.
fn rows_of(array: &Array) -> Vec<Value> {
    let dimensions = array.dimensions();
    match dimensions.split_first() {
        Some((first, inner)) if !inner.is_empty() => {
            let size = (array.len() / (first.length.max(1) as usize)).max(1);
            let row = |part: &[Value]| Array::shaped(part.into(), inner).map_or(Value::Null, Value::Array);
            array.chunks(size).map(row).collect()
        }
        _ => array.to_vec(),
    }
}

impl Encoder<'_> {
    fn write(&self, value: &Value, ty: &SqlType, out: &mut String, depth: usize) -> Result<()> {
        verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
        let between = if depth == 0 { self.between } else { "," };
        match (value, ty) {
            (Value::Null, _) => out.push_str("null"),
            (Value::Bool(v), _) => out.push_str(if *v { "true" } else { "false" }),
            (Value::Jsonb(v), _) => json::format_into(v.root(), out),
            (Value::Text(v), SqlType::Json) => out.push_str(v),
            (Value::Text(v), SqlType::Text | SqlType::Varchar(_)) => json::escape_long(v, out)?,
            (_, SqlType::System(SystemType::Hstore)) => match hstore_as_json(value)? {
                Value::Text(text) => out.push_str(&text),
                other => return Err(unexpected("to_json", &[other])),
            },
            (Value::Array(array), _) => {
                let element = element_type(ty).cloned();
                let mut pieces = Pieces::default();
                out.push('[');
                for (n, part) in rows_of(array).iter().enumerate() {
                    pieces.one_more()?;
                    if n > 0 {
                        out.push_str(between);
                    }
                    let ty = match part {
                        Value::Array(_) => ty.clone(),
                        _ => element.clone().unwrap_or_else(|| type_of(part)),
                    };
                    self.write(part, &ty, out, depth + 1)?;
                }
                out.push(']');
            }
            (Value::Record(values), _) => {
                out.push('{');
                for (n, (value, (name, ty))) in values.iter().zip(fields(values, ty)).enumerate() {
                    if n > 0 {
                        out.push_str(between);
                    }
                    json::escape_into(&name, out);
                    out.push(':');
                    self.write(value, &ty, out, depth + 1)?;
                }
                out.push('}');
            }
            _ => {
                let text = json_text(value, ty, self.tz);
                let bare = ty.is_number() && !text.ends_with(['N', 'y']);
                if bare { out.push_str(&text) } else { json::escape_into(&text, out) }
            }
        }
        Ok(())
    }

    pub(super) fn node(&self, value: &Value, ty: &SqlType) -> Result<Node> {
        verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
        Ok(match (value, ty) {
            (Value::Null, _) => Node::Null,
            (Value::Bool(v), _) => Node::Bool(*v),
            (Value::Jsonb(v), _) => Node::Encoded(v.bytes().to_vec()),
            (Value::Text(v), SqlType::Json) => Node::parse(v)?,
            (_, SqlType::System(SystemType::Hstore)) => match hstore_as_json(value)? {
                Value::Text(text) => Node::parse(&text)?,
                other => return Err(unexpected("to_jsonb", &[other])),
            },
            (Value::Array(array), _) => {
                let (mut parts, mut pieces) = (Vec::new(), Pieces::default());
                for part in rows_of(array) {
                    pieces.one_more()?;
                    let ty = match (&part, element_type(ty)) {
                        (Value::Array(_), _) => ty.clone(),
                        (_, Some(element)) => element.clone(),
                        (part, None) => type_of(part),
                    };
                    parts.push(self.node(&part, &ty)?);
                }
                Node::Array(parts)
            }
            (Value::Record(values), _) => {
                let mut pairs = Vec::new();
                for (value, (name, ty)) in values.iter().zip(fields(values, ty)) {
                    pairs.push((name, self.node(value, &ty)?));
                }
                Node::Object(pairs)
            }
            (Value::Numeric(v), _) => Node::Number(*v),
            _ => {
                let text = json_text(value, ty, self.tz);
                match ty.is_number() && !text.ends_with(['N', 'y']) {
                    true => Node::of_digits(&text)?,
                    false => Node::String(text),
                }
            }
        })
    }
}

pub(super) fn encoder<'a>(cx: &'a EvalContext<'_>) -> Encoder<'a> {
    Encoder { tz: cx.services.time_zone, between: "," }
}

pub(super) fn type_at(types: &[SqlType], at: usize) -> &SqlType {
    types.get(at).unwrap_or(&SqlType::Text)
}

/// The JSON text of argument `at`.
pub(super) fn text_of_arg(
    cx: &EvalContext<'_>,
    args: &[Value],
    types: &[SqlType],
    at: usize,
    out: &mut String,
) -> Result<()> {
    encoder(cx).write(args.get(at).unwrap_or(&Value::Null), type_at(types, at), out, 0)
}

fn to_json(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let mut out = String::new();
    text_of_arg(cx, args, types, 0, &mut out)?;
    Ok(Value::Text(out.into()))
}

/// `row_to_json` and `array_to_json`, with a line for each part where that is asked for.
fn parts_to_json(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let between = if args.get(1).and_then(Value::as_bool) == Some(true) { ",\n " } else { "," };
    let mut out = String::new();
    Encoder { between, ..encoder(cx) }.write(&args[0], type_at(types, 0), &mut out, 0)?;
    Ok(Value::Text(out.into()))
}

pub(super) fn to_jsonb(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    match args {
        [value @ Value::Jsonb(_)] => Ok(value.clone()),
        [value] => encoded(encoder(cx).node(value, type_at(types, 0))?),
        _ => Err(unexpected("to_jsonb", args)),
    }
}

/// What is a key: the text of any value that is neither NULL nor an array, a row or JSON.
pub(super) fn key_of(cx: &EvalContext<'_>, value: &Value, ty: &SqlType) -> Result<String> {
    let has_cast = *ty == SqlType::System(SystemType::Hstore);
    if matches!(value, Value::Array(_) | Value::Record(_) | Value::Jsonb(_))
        || *ty == SqlType::Json
        || has_cast
    {
        return Err(invalid("key value must be scalar, not array, composite, or json"));
    }
    let mut text = String::new();
    match value {
        Value::Bool(v) => text.push_str(if *v { "true" } else { "false" }),
        _ => text = json_text(value, ty, cx.services.time_zone),
    }
    Ok(text)
}

/// Keys and values in turns.
fn pairs<'a>(args: &'a [Value], name: &str) -> Result<impl Iterator<Item = (usize, &'a Value)>> {
    if args.len() % 2 == 1 {
        return Err(TypeError::new("22023", "argument list must have even number of elements")
            .with_hint(format!("The arguments of {name}() must consist of alternating keys and values."))
            .into());
    }
    Ok(args.iter().enumerate().step_by(2))
}

fn build_object(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let mut out = String::from("{");
    for (at, key) in pairs(args, "json_build_object")? {
        if key.is_null() {
            return Err(TypeError::new("22004", "null value not allowed for object key").into());
        }
        if at > 0 {
            out.push_str(", ");
        }
        json::escape_into(&key_of(cx, key, type_at(types, at))?, &mut out);
        out.push_str(" : ");
        text_of_arg(cx, args, types, at + 1, &mut out)?;
    }
    out.push('}');
    Ok(Value::Text(out.into()))
}

fn build_object_b(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let mut all = Vec::new();
    for (at, key) in pairs(args, "jsonb_build_object")? {
        if key.is_null() {
            return Err(invalid(format!("argument {}: key must not be null", at + 1)));
        }
        let key = key_of(cx, key, type_at(types, at))?;
        let value = args.get(at + 1).unwrap_or(&Value::Null);
        all.push((key, encoder(cx).node(value, type_at(types, at + 1))?));
    }
    encoded(Node::Object(all))
}

fn build_array(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let mut out = String::from("[");
    for at in 0..args.len() {
        if at > 0 {
            out.push_str(", ");
        }
        text_of_arg(cx, args, types, at, &mut out)?;
    }
    out.push(']');
    Ok(Value::Text(out.into()))
}

fn build_array_b(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let nodes = args.iter().enumerate().map(|(at, value)| encoder(cx).node(value, type_at(types, at)));
    encoded(Node::Array(nodes.collect::<Result<_>>()?))
}

/// The pairs of `json_object`: an array in turns, one of two columns, or keys and values apart.
fn object_pairs(args: &[Value]) -> Result<Vec<(String, Option<String>)>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let key = |value: &Value| {
        text(value)
            .ok_or_else(|| ExecError::from(TypeError::new("22004", "null value not allowed for object key")))
    };
    let wrong = |text: &str| -> ExecError { TypeError::new("2202E", text).into() };
    match args {
        [Value::Array(array)] => {
            match array.dimensions()[..] {
                [] => {}
                [dimension] if dimension.length % 2 == 1 => {
                    return Err(wrong("array must have even number of elements"));
                }
                [_] => {}
                [_, columns] if columns.length == 2 => {}
                [_, _] => return Err(wrong("array must have two columns")),
                _ => return Err(wrong("wrong number of array subscripts")),
            }
            array.chunks_exact(2).map(|pair| Ok((key(&pair[0])?, text(&pair[1])))).collect()
        }
        [Value::Array(keys), Value::Array(values)] => {
            if keys.dimension_count() > 1 || values.dimension_count() > 1 {
                return Err(wrong("wrong number of array subscripts"));
            }
            if keys.len() != values.len() {
                return Err(wrong("mismatched array dimensions"));
            }
            keys.iter().zip(values.iter()).map(|(k, v)| Ok((key(k)?, text(v)))).collect()
        }
        _ => Err(unexpected("json_object", args)),
    }
}

fn object(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let mut out = String::from("{");
    for (n, (key, value)) in object_pairs(args)?.into_iter().enumerate() {
        if n > 0 {
            out.push_str(", ");
        }
        json::escape_into(&key, &mut out);
        out.push_str(" : ");
        match value {
            Some(value) => json::escape_into(&value, &mut out),
            None => out.push_str("null"),
        }
    }
    out.push('}');
    Ok(Value::Text(out.into()))
}

fn object_b(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let pair = |(key, value): (String, Option<String>)| (key, value.map_or(Node::Null, Node::String));
    encoded(Node::Object(object_pairs(args)?.into_iter().map(pair).collect()))
}

/// What an element is to `json_agg`: rows and arrays begin a line of their own.
fn agg_item(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let mut out = String::new();
    if matches!(args.first(), Some(Value::Array(_) | Value::Record(_))) {
        out.push_str("\n ");
    }
    text_of_arg(cx, args, types, 0, &mut out)?;
    Ok(Value::Text(out.into()))
}

/// The elements without NULLs: where there are none but NULLs, no element is left, which is not NULL.
fn agg_present(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("json_agg_strict", args)) };
    let present: Vec<Value> = items.iter().filter(|item| !item.is_null()).cloned().collect();
    Ok(Value::Array(present.into()))
}

fn agg_end(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("json_agg", args)) };
    let mut out = String::from("[");
    for (n, item) in items.iter().enumerate() {
        let item = item.as_str().unwrap_or("null");
        if n == 0 {
            out.push_str(item.trim_start_matches('\n').trim_start_matches(' '));
        } else {
            out.push_str(", ");
            out.push_str(item);
        }
    }
    out.push(']');
    Ok(Value::Text(out.into()))
}

/// The elements that `json_agg(DISTINCT x)` has gathered; an empty or missing array is NULL, as of any aggregate.
fn agg_of(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("json_agg", args)) };
    let types = [element_type(type_at(types, 0)).cloned().unwrap_or(SqlType::Text)];
    let one = |item: &Value| agg_item(cx, std::slice::from_ref(item), &types);
    let items: Vec<Value> = items.iter().map(one).collect::<Result<_>>()?;
    agg_end(cx, &[Value::Array(items.into())])
}

fn agg_of_b(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("jsonb_agg", args)) };
    let types = [element_type(type_at(types, 0)).cloned().unwrap_or(SqlType::Text)];
    let one = |item: &Value| match item {
        Value::Null => Ok(Value::Null),
        item => to_jsonb(cx, std::slice::from_ref(item), &types),
    };
    let items: Vec<Value> = items.iter().map(one).collect::<Result<_>>()?;
    agg_end_b(cx, &[Value::Array(items.into())])
}

fn agg_end_b(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("jsonb_agg", args)) };
    let node = |item: &Value| match item {
        Value::Jsonb(item) => Node::Encoded(item.bytes().to_vec()),
        _ => Node::Null,
    };
    encoded(Node::Array(items.iter().map(node).collect()))
}

/// A key of `json_object_agg`.
fn agg_key(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    match args {
        [Value::Null] => Err(TypeError::new("22004", "null value not allowed for object key").into()),
        [value] => Ok(Value::Text(key_of(cx, value, type_at(types, 0))?.into())),
        _ => Err(unexpected("json_object_agg", args)),
    }
}

/// The same of `jsonb_object_agg`.
fn agg_key_b(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    match args {
        [Value::Null] => Err(invalid("field name must not be null")),
        _ => agg_key(cx, args, types),
    }
}

/// What is demanded of the pairs of an object.
#[derive(Clone, Copy)]
struct Pairs {
    /// Its keys differ, also those that are left out.
    unique: bool,
    /// Pairs whose value is NULL are left out.
    absent: bool,
}

const EVERY: Pairs = Pairs { unique: false, absent: false };
const UNIQUE: Pairs = Pairs { unique: true, absent: false };
const PRESENT: Pairs = Pairs { unique: false, absent: true };
const UNIQUE_PRESENT: Pairs = Pairs { unique: true, absent: true };

/// The pair of an object; DISTINCT has put the values before it that it is made of.
fn last_two(parts: &[Value]) -> &[Value] {
    &parts[parts.len().saturating_sub(2)..]
}

fn object_agg_end(args: &[Value], wanted: Pairs) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("json_object_agg", args)) };
    let mut seen = HashSet::new();
    let mut out = String::from("{ ");
    for item in items.iter() {
        let Value::Record(pair) = item else { return Err(unexpected("json_object_agg", args)) };
        let pair = last_two(pair);
        let key = pair.first().and_then(Value::as_str).unwrap_or_default();
        if wanted.unique && !seen.insert(key) {
            return Err(duplicate(Some(key)));
        }
        if wanted.absent && pair.get(1).is_none_or(Value::is_null) {
            continue;
        }
        if out.len() > 2 {
            out.push_str(", ");
        }
        json::escape_into(key, &mut out);
        out.push_str(" : ");
        out.push_str(pair.get(1).and_then(Value::as_str).unwrap_or("null"));
    }
    out.push_str(" }");
    Ok(Value::Text(out.into()))
}

fn object_agg_end_b(args: &[Value], wanted: Pairs) -> Result<Value> {
    let [Value::Array(items)] = args else { return Err(unexpected("jsonb_object_agg", args)) };
    let mut seen = HashSet::new();
    let mut pairs = Vec::with_capacity(items.len());
    for item in items.iter() {
        let Value::Record(pair) = item else { return Err(unexpected("jsonb_object_agg", args)) };
        let pair = last_two(pair);
        let key = pair.first().and_then(Value::as_str).unwrap_or_default();
        if wanted.unique && !seen.insert(key) {
            return Err(duplicate(None));
        }
        let value = match pair.get(1) {
            Some(Value::Jsonb(value)) => Node::Encoded(value.bytes().to_vec()),
            _ => Node::Null,
        };
        if wanted.absent && is_null(&value) {
            continue;
        }
        pairs.push((key.to_owned(), value));
    }
    encoded(Node::Object(pairs))
}

/// A function that heeds the types of its arguments.
macro_rules! typed {
    ($name:literal [$($arg:expr),*] => $result:expr, strict $strict:literal, $f:expr) => {
        typed!($name [$($arg),*] => $result, variadic false, strict $strict, $f)
    };
    ($name:literal [$($arg:expr),*] => $result:expr, variadic $variadic:literal, strict $strict:literal, $f:expr) => {
        BuiltinFunction {
            volatility: Volatility::Stable,
            ..json_function!($name [$($arg),*] => $result, variadic $variadic, strict $strict, Body::Typed($f))
        }
    };
}

const ANY: ArgType = ArgType::AnyElement;
const RECORD: ArgType = ArgType::Exact(SqlType::Record);
const BOOL: ArgType = ArgType::Exact(SqlType::Bool);
const AS_TEXT: ResultType = ResultType::Fixed(SqlType::Text);

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    typed!("to_json" [ANY] => AS_JSON, strict true, to_json),
    typed!("to_jsonb" [ANY] => AS_JSONB, strict true, to_jsonb),
    typed!("row_to_json" [RECORD] => AS_JSON, strict true, parts_to_json),
    typed!("row_to_json" [RECORD, BOOL] => AS_JSON, strict true, parts_to_json),
    typed!("array_to_json" [ArgType::AnyArray] => AS_JSON, strict true, parts_to_json),
    typed!("array_to_json" [ArgType::AnyArray, BOOL] => AS_JSON, strict true, parts_to_json),
    typed!("json_build_object" [] => AS_JSON, strict false, build_object),
    typed!("json_build_object" [ArgType::Any] => AS_JSON, variadic true, strict false, build_object),
    typed!("jsonb_build_object" [] => AS_JSONB, strict false, build_object_b),
    typed!("jsonb_build_object" [ArgType::Any] => AS_JSONB, variadic true, strict false, build_object_b),
    typed!("json_build_array" [] => AS_JSON, strict false, build_array),
    typed!("json_build_array" [ArgType::Any] => AS_JSON, variadic true, strict false, build_array),
    typed!("jsonb_build_array" [] => AS_JSONB, strict false, build_array_b),
    typed!("jsonb_build_array" [ArgType::Any] => AS_JSONB, variadic true, strict false, build_array_b),
    json_function!("json_object" [TEXTS] => AS_JSON, object),
    json_function!("json_object" [TEXTS, TEXTS] => AS_JSON, object),
    json_function!("jsonb_object" [TEXTS] => AS_JSONB, object_b),
    json_function!("jsonb_object" [TEXTS, TEXTS] => AS_JSONB, object_b),
    // What the binder makes of aggregates.
    typed!("json_agg_item" [ANY] => AS_JSON, strict false, agg_item),
    typed!("json_agg_item_strict" [ANY] => AS_JSON, strict true, agg_item),
    json_function!("json_agg_present" [ANY] => ResultType::SameAs(0), agg_present),
    json_function!("json_agg_end" [ArgType::ArrayOf(SqlType::Json)] => AS_JSON, agg_end),
    json_function!("jsonb_agg_end" [ArgType::ArrayOf(SqlType::Jsonb)] => AS_JSONB, agg_end_b),
    typed!("json_agg_of" [ANY] => AS_JSON, strict true, agg_of),
    typed!("jsonb_agg_of" [ANY] => AS_JSONB, strict true, agg_of_b),
    typed!("json_agg_key" [ANY] => AS_TEXT, strict false, agg_key),
    typed!("jsonb_agg_key" [ANY] => AS_TEXT, strict false, agg_key_b),
    json_function!("json_object_agg_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSON,
        |_, args| object_agg_end(args, EVERY)),
    json_function!("jsonb_object_agg_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSONB,
        |_, args| object_agg_end_b(args, EVERY)),
    json_function!("json_object_agg_unique_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSON,
        |_, args| object_agg_end(args, UNIQUE)),
    json_function!("jsonb_object_agg_unique_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSONB,
        |_, args| object_agg_end_b(args, UNIQUE)),
    json_function!("json_object_agg_strict_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSON,
        |_, args| object_agg_end(args, PRESENT)),
    json_function!("jsonb_object_agg_strict_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSONB,
        |_, args| object_agg_end_b(args, PRESENT)),
    json_function!("json_object_agg_unique_strict_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSON,
        |_, args| object_agg_end(args, UNIQUE_PRESENT)),
    json_function!("jsonb_object_agg_unique_strict_end" [ArgType::ArrayOf(SqlType::Record)] => AS_JSONB,
        |_, args| object_agg_end_b(args, UNIQUE_PRESENT)),
];
