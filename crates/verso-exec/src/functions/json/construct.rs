//! `JSON_OBJECT(…)`, `JSON_ARRAY(…)` and `JSON(… WITH UNIQUE KEYS)`, which the binder makes of these functions.

use std::collections::HashSet;

use verso_types::json::{self, JsonRef, Node};
use verso_types::{SqlType, TypeError, Value};

use super::access::has_unique_keys;
use super::encode::{encoder, key_of, text_of_arg, type_at};
use super::types::{AS_JSON, AS_JSONB, AS_TEXT, BOOL, JSON, TEXT};
use super::{encoded, invalid, json_function};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// 22030; PostgreSQL names the key of a `json`, but not of a `jsonb`.
#[cold]
pub(super) fn duplicate(key: Option<&str>) -> ExecError {
    let mut text = String::from("duplicate JSON object key value");
    if let Some(key) = key {
        text.push_str(": ");
        json::escape_into(key, &mut text);
    }
    TypeError::new("22030", text).into()
}

/// A switch among the arguments.
fn flag(args: &[Value], at: usize) -> bool {
    matches!(args.get(at), Some(Value::Bool(true)))
}

/// ABSENT ON NULL, WITH UNIQUE KEYS, and keys and values in turns.
fn object(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let (absent, unique) = (flag(args, 0), flag(args, 1));
    let mut seen = HashSet::new();
    let mut out = String::from("{");
    for at in (2..args.len()).step_by(2) {
        let skipped = absent && args.get(at + 1).is_none_or(Value::is_null);
        if args[at].is_null() {
            return Err(TypeError::new("22004", "null value not allowed for object key").into());
        }
        if skipped && !unique {
            continue;
        }
        let key = key_of(cx, &args[at], type_at(types, at))?;
        if unique && !seen.insert(key.clone()) {
            return Err(duplicate(Some(&key)));
        }
        if skipped {
            continue;
        }
        if out.len() > 1 {
            out.push_str(", ");
        }
        json::escape_into(&key, &mut out);
        out.push_str(" : ");
        text_of_arg(cx, args, types, at + 1, &mut out)?;
    }
    out.push('}');
    Ok(Value::Text(out.into()))
}

/// What ABSENT ON NULL leaves out of a `jsonb` object: also the null of JSON, as PostgreSQL does.
pub(super) fn is_null(node: &Node) -> bool {
    match node {
        Node::Encoded(bytes) => matches!(JsonRef::read(bytes), JsonRef::Null),
        node => matches!(node, Node::Null),
    }
}

/// The same as a `jsonb`.
fn object_b(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let (absent, unique) = (flag(args, 0), flag(args, 1));
    let mut seen = HashSet::new();
    let mut pairs = Vec::new();
    for at in (2..args.len()).step_by(2) {
        let value = args.get(at + 1).unwrap_or(&Value::Null);
        if args[at].is_null() {
            return Err(invalid(format!("argument {}: key must not be null", at - 1)));
        }
        let key = key_of(cx, &args[at], type_at(types, at))?;
        if unique && !seen.insert(key.clone()) {
            return Err(duplicate(None));
        }
        let node = encoder(cx).node(value, type_at(types, at + 1))?;
        if !(absent && is_null(&node)) {
            pairs.push((key, node));
        }
    }
    encoded(Node::Object(pairs))
}

/// ABSENT ON NULL and the elements.
fn array(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let absent = flag(args, 0);
    let mut out = String::from("[");
    for at in 1..args.len() {
        if absent && args[at].is_null() {
            continue;
        }
        if out.len() > 1 {
            out.push_str(", ");
        }
        text_of_arg(cx, args, types, at, &mut out)?;
    }
    out.push(']');
    Ok(Value::Text(out.into()))
}

/// The same as a `jsonb`.
fn array_b(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let absent = flag(args, 0);
    let mut nodes = Vec::new();
    for (at, value) in args.iter().enumerate().skip(1) {
        if !(absent && value.is_null()) {
            nodes.push(encoder(cx).node(value, type_at(types, at))?);
        }
    }
    encoded(Node::Array(nodes))
}

/// The json itself, if no object in it has a key twice.
fn unique(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("JSON", args)) };
    if has_unique_keys(text)? { Ok(args[0].clone()) } else { Err(duplicate(None)) }
}

const ANY: ArgType = ArgType::Any;

macro_rules! form {
    ($(#[$doc:meta])* $name:ident $text:literal [$($arg:expr),*] => $result:expr, $f:expr) => {
        $(#[$doc])*
        pub static $name: BuiltinFunction = BuiltinFunction {
            volatility: Volatility::Stable,
            ..json_function!($text [$($arg),*] => $result, variadic true, strict false, Body::Typed($f))
        };
    };
}

form!(
    /// `JSON_OBJECT(…)`: whether NULLs are left out, whether keys must differ, keys and values.
    JSON_OBJECT "json_object" [BOOL, BOOL, ANY] => AS_JSON, object
);
form!(
    /// `JSON_OBJECT(… RETURNING jsonb)`.
    JSONB_OBJECT "json_object" [BOOL, BOOL, ANY] => AS_JSONB, object_b
);
form!(
    /// `JSON_ARRAY(…)`: whether NULLs are left out, and the elements.
    JSON_ARRAY "json_array" [BOOL, ANY] => AS_JSON, array
);
form!(
    /// `JSON_ARRAY(… RETURNING jsonb)`.
    JSONB_ARRAY "json_array" [BOOL, ANY] => AS_JSONB, array_b
);

/// The text of bytes in UTF-8.
fn bytes_as_text(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(bytes)] = args else { return Err(unexpected("FORMAT JSON", args)) };
    let text = std::str::from_utf8(bytes)
        .map_err(|_| TypeError::new("22021", "invalid byte sequence for encoding \"UTF8\""))?;
    Ok(Value::text(text))
}

fn text_as_bytes(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("RETURNING bytea", args)) };
    Ok(Value::Bytes(text.as_bytes().into()))
}

/// What FORMAT JSON makes of bytes.
pub static BYTES_AS_TEXT: BuiltinFunction =
    json_function!("convert_from" [ArgType::Exact(SqlType::Bytea)] => AS_TEXT, bytes_as_text);

/// What RETURNING bytea makes of JSON.
pub static TEXT_AS_BYTES: BuiltinFunction =
    json_function!("convert_to" [TEXT] => ResultType::Fixed(SqlType::Bytea), text_as_bytes);

/// `JSON(… WITH UNIQUE KEYS)`.
pub static JSON_UNIQUE: BuiltinFunction = json_function!("json" [JSON] => AS_JSON, unique);
