//! Looking into JSON.

use verso_types::Value;
use verso_types::json::{self, JsonRef};

use super::types::{AS_BOOL, AS_INT4, AS_JSON, AS_JSONB, AS_TEXT, BOOL, INT4, JSON, JSONB, TEXT, TEXTS};
use super::{as_text, invalid, json_function, jsonb, kernels, text_of, texts};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::define::unexpected;
use crate::functions::kernel::Kernel;
use crate::functions::{Body, BuiltinFunction};
use crate::memory::Bytes;

/// Text that is collected before it is counted.
const PIECE_BYTES: usize = 64 << 10;

/// What a path leads on with.
#[derive(Clone, Copy)]
pub(super) enum Step<'a> {
    Key(&'a str),
    Index(i64),
    /// A text that is a key of an object and an index of an array.
    Either(&'a str),
}

/// An integer as PostgreSQL reads it in a path.
pub(super) fn index_of(text: &str) -> Option<i64> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
    text.parse::<i32>().ok().map(i64::from)
}

/// One step into a jsonb.
fn step<'j>(value: JsonRef<'j>, step: Step<'_>) -> Option<&'j [u8]> {
    match (value, step) {
        (JsonRef::Object(object), Step::Key(key) | Step::Either(key)) => object.get(key),
        (JsonRef::Array(array), Step::Index(index)) => array.at(index),
        (JsonRef::Array(array), Step::Either(text)) => array.at(index_of(text)?),
        _ => None,
    }
}

/// What `->` finds in a jsonb, in its binary form like that.
pub(super) fn found<'j>(document: &'j [u8], wanted: Step<'_>) -> Option<&'j [u8]> {
    match JsonRef::read(document) {
        // A scalar is kept as an array of one, which this operator alone lets be seen.
        scalar if is_scalar(&scalar) => matches!(wanted, Step::Index(0 | -1)).then_some(document),
        value => step(value, wanted),
    }
}

/// One step into a json text.
fn text_step<'t>(source: &'t str, step: Step<'_>) -> Result<Option<&'t str>> {
    let by_index = |index: i64| -> Result<Option<&'t str>> {
        let Some(elements) = json::elements(source)? else { return Ok(None) };
        let index = if index < 0 { index + elements.len() as i64 } else { index };
        Ok(usize::try_from(index).ok().and_then(|index| elements.get(index).copied()))
    };
    let by_key = |key: &str| -> Result<Option<&'t str>> {
        let Some(fields) = json::fields(source)? else { return Ok(None) };
        Ok(fields.into_iter().rev().find(|(name, _)| name == key).map(|(_, value)| value))
    };
    match step {
        Step::Key(key) => by_key(key),
        Step::Index(index) => by_index(index),
        Step::Either(text) => match source.trim_start().as_bytes().first() {
            Some(b'{') => by_key(text),
            Some(b'[') => index_of(text).map_or(Ok(None), by_index),
            _ => Ok(None),
        },
    }
}

fn step_of(arg: &Value) -> Option<Step<'_>> {
    match arg {
        Value::Text(key) => Some(Step::Key(key)),
        other => other.as_i64().map(Step::Index),
    }
}

fn is_scalar(value: &JsonRef<'_>) -> bool {
    !matches!(value, JsonRef::Object(_) | JsonRef::Array(_))
}

/// `->` and `->>`
fn get(args: &[Value], text: bool) -> Result<Value> {
    let [from, arg] = args else { return Err(unexpected("->", args)) };
    let Some(wanted) = step_of(arg) else { return Err(unexpected("->", args)) };
    Ok(match from {
        Value::Jsonb(from) => match found(from.bytes(), wanted) {
            Some(found) if text => as_text(found),
            Some(found) => jsonb(found),
            None => Value::Null,
        },
        Value::Text(from) => match text_step(from, wanted)? {
            Some(found) if text => text_of(found)?,
            Some(found) => Value::text(found),
            None => Value::Null,
        },
        _ => return Err(unexpected("->", args)),
    })
}

fn get_json(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    get(args, false)
}

fn get_text(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    get(args, true)
}

/// `#>` and `#>>`; a NULL on the way is NULL.
fn path(from: &Value, path: &[Option<&str>], text: bool) -> Result<Value> {
    match from {
        Value::Jsonb(from) => {
            let mut at = from.bytes();
            for key in path {
                match key.and_then(|key| step(JsonRef::read(at), Step::Either(key))) {
                    Some(found) => at = found,
                    None => return Ok(Value::Null),
                }
            }
            Ok(if text { as_text(at) } else { jsonb(at) })
        }
        Value::Text(from) => {
            let mut at: &str = from;
            for key in path {
                let Some(key) = key else { return Ok(Value::Null) };
                match text_step(at, Step::Either(key))? {
                    Some(found) => at = found,
                    None => return Ok(Value::Null),
                }
            }
            if text { text_of(at) } else { Ok(Value::text(at)) }
        }
        _ => Ok(Value::Null),
    }
}

fn path_json(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [from, Value::Array(keys)] = args else { return Err(unexpected("#>", args)) };
    path(from, &texts(keys), false)
}

fn path_text(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [from, Value::Array(keys)] = args else { return Err(unexpected("#>>", args)) };
    path(from, &texts(keys), true)
}

/// `json_extract_path(json, VARIADIC keys)`
fn extract_path(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [from, keys @ ..] = args else { return Err(unexpected("json_extract_path", args)) };
    path(from, &texts(keys), false)
}

fn extract_path_text(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [from, keys @ ..] = args else { return Err(unexpected("json_extract_path_text", args)) };
    path(from, &texts(keys), true)
}

/// A kind of value by the first character of its text.
fn text_type(text: &str) -> &'static str {
    match text.trim_start().as_bytes().first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        _ => "number",
    }
}

fn type_of(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(match args {
        [Value::Jsonb(value)] => Value::text(value.root().type_name()),
        [Value::Text(text)] => Value::text(text_type(text)),
        _ => return Err(unexpected("jsonb_typeof", args)),
    })
}

fn array_length(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let count = match args {
        [Value::Jsonb(value)] => match value.root() {
            JsonRef::Array(array) => array.len(),
            JsonRef::Object(_) => return Err(invalid("cannot get array length of a non-array")),
            _ => return Err(invalid("cannot get array length of a scalar")),
        },
        [Value::Text(text)] => match json::elements(text)? {
            Some(elements) => elements.len(),
            None if text_type(text) == "object" => {
                return Err(invalid("cannot get array length of a non-array"));
            }
            None => return Err(invalid("cannot get array length of a scalar")),
        },
        _ => return Err(unexpected("jsonb_array_length", args)),
    };
    Ok(Value::Int4(count as i32))
}

fn contains(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(a), Value::Jsonb(b)] = args else { return Err(unexpected("@>", args)) };
    Ok(Value::Bool(json::contains(a.root(), b.root())))
}

fn contained(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(a), Value::Jsonb(b)] = args else { return Err(unexpected("<@", args)) };
    Ok(Value::Bool(json::contains(b.root(), a.root())))
}

/// Whether a key, or an element that is a string, is there.
pub(super) fn has(value: JsonRef<'_>, key: &str) -> bool {
    match value {
        JsonRef::Object(object) => object.get(key).is_some(),
        JsonRef::Array(array) => {
            array.iter().any(|element| matches!(element, JsonRef::String(s) if s == key))
        }
        JsonRef::String(text) => text == key,
        _ => false,
    }
}

fn exists(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Text(key)] = args else { return Err(unexpected("?", args)) };
    Ok(Value::Bool(has(value.root(), key)))
}

fn exists_any(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Array(keys)] = args else { return Err(unexpected("?|", args)) };
    Ok(Value::Bool(texts(keys).into_iter().flatten().any(|key| has(value.root(), key))))
}

fn exists_all(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value), Value::Array(keys)] = args else { return Err(unexpected("?&", args)) };
    Ok(Value::Bool(texts(keys).into_iter().flatten().all(|key| has(value.root(), key))))
}

fn pretty(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Jsonb(value)] = args else { return Err(unexpected("jsonb_pretty", args)) };
    let (mut result, mut text) = (Bytes::new(cx), String::new());
    json::pretty_into(value.root(), &mut text, &mut |text: &mut String| -> Result<()> {
        if text.len() >= PIECE_BYTES {
            result.push(text.as_bytes())?;
            text.clear();
        }
        Ok(())
    })?;
    result.push(text.as_bytes())?;
    Ok(result.into_text())
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    json_function!("json_object_field" ("->") [JSON, TEXT] => AS_JSON, get_json),
    json_function!("json_array_element" ("->") [JSON, INT4] => AS_JSON, get_json),
    json_function!("jsonb_object_field" ("->") [JSONB, TEXT] => AS_JSONB, get_json,
        Kernel::OrNull(kernels::get)),
    json_function!("jsonb_array_element" ("->") [JSONB, INT4] => AS_JSONB, get_json,
        Kernel::OrNull(kernels::get)),
    json_function!("json_object_field_text" ("->>") [JSON, TEXT] => AS_TEXT, get_text),
    json_function!("json_array_element_text" ("->>") [JSON, INT4] => AS_TEXT, get_text),
    json_function!("jsonb_object_field_text" ("->>") [JSONB, TEXT] => AS_TEXT, get_text,
        Kernel::OrNull(kernels::get_text)),
    json_function!("jsonb_array_element_text" ("->>") [JSONB, INT4] => AS_TEXT, get_text,
        Kernel::OrNull(kernels::get_text)),
    json_function!("" ("#>") [JSON, TEXTS] => AS_JSON, path_json),
    json_function!("" ("#>") [JSONB, TEXTS] => AS_JSONB, path_json),
    json_function!("" ("#>>") [JSON, TEXTS] => AS_TEXT, path_text),
    json_function!("" ("#>>") [JSONB, TEXTS] => AS_TEXT, path_text),
    json_function!("json_extract_path" [JSON, TEXT] => AS_JSON, variadic true, strict true,
        Body::Scalar(extract_path)),
    json_function!("jsonb_extract_path" [JSONB, TEXT] => AS_JSONB, variadic true, strict true,
        Body::Scalar(extract_path)),
    json_function!("json_extract_path_text" [JSON, TEXT] => AS_TEXT, variadic true, strict true,
        Body::Scalar(extract_path_text)),
    json_function!("jsonb_extract_path_text" [JSONB, TEXT] => AS_TEXT, variadic true, strict true,
        Body::Scalar(extract_path_text)),
    json_function!("json_typeof" [JSON] => AS_TEXT, type_of),
    json_function!("jsonb_typeof" [JSONB] => AS_TEXT, type_of),
    json_function!("json_array_length" [JSON] => AS_INT4, array_length),
    json_function!("jsonb_array_length" [JSONB] => AS_INT4, array_length),
    json_function!("jsonb_contains" ("@>") [JSONB, JSONB] => AS_BOOL, contains,
        Kernel::Columns(kernels::contains)),
    json_function!("jsonb_contained" ("<@") [JSONB, JSONB] => AS_BOOL, contained),
    json_function!("jsonb_exists" ("?") [JSONB, TEXT] => AS_BOOL, exists,
        Kernel::Columns(kernels::exists)),
    json_function!("jsonb_exists_any" ("?|") [JSONB, TEXTS] => AS_BOOL, exists_any),
    json_function!("jsonb_exists_all" ("?&") [JSONB, TEXTS] => AS_BOOL, exists_all),
    json_function!("jsonb_pretty" [JSONB] => AS_TEXT, pretty),
];

/// A subscript of a jsonb: a key or an index. The binder writes `j['a'][0]` as calls of this.
pub static SUBSCRIPT: BuiltinFunction = json_function!("" ("[j]") [JSONB, TEXT] => AS_JSONB, subscript);

fn subscript(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [from @ Value::Jsonb(_), Value::Text(key)] = args else {
        return Err(unexpected("a subscript", args));
    };
    path(from, &[Some(key)], false)
}

/// `text IS JSON`: the text, the kind (0 any, 1 object, 2 array, 3 scalar), whether keys must be unique. The binder
/// writes it.
pub static IS_JSON: BuiltinFunction = json_function!("" ("IS JSON") [TEXT, INT4, BOOL] => AS_BOOL, is_json);

fn is_json(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Int4(kind), Value::Bool(unique)] = args else {
        return Err(unexpected("IS JSON", args));
    };
    match json::validate(text) {
        Ok(()) => {}
        // What is too deep to be read to its end may be JSON.
        Err(error) if error.sqlstate == "54001" => return Err(error.into()),
        Err(_) => return Ok(Value::Bool(false)),
    }
    let fits = match (kind, text_type(text)) {
        (0, _) | (1, "object") | (2, "array") => true,
        (3, found) => !matches!(found, "object" | "array"),
        _ => false,
    };
    Ok(Value::Bool(fits && (!unique || has_unique_keys(text)?)))
}

pub(super) fn has_unique_keys(text: &str) -> Result<bool> {
    verso_env::stack::check().map_err(|_| ExecError::TooDeep)?;
    if let Some(fields) = json::fields(text)? {
        let mut seen = std::collections::HashSet::new();
        for (key, value) in fields {
            if !seen.insert(key) || !has_unique_keys(value)? {
                return Ok(false);
            }
        }
    } else if let Some(elements) = json::elements(text)? {
        for element in elements {
            if !has_unique_keys(element)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
