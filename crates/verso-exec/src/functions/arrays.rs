//! Functions of arrays, and between arrays and texts. Arrays have one dimension; an empty one has none.

use std::sync::Arc;

use verso_types::{SqlType, TypeError, Value, cmp_sql};

use super::define::unexpected;
use super::texts::output;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;

/// The elements; none of NULL.
fn elements(array: &Value) -> &[Value] {
    match array {
        Value::Array(values) => values,
        _ => &[],
    }
}

/// NULL is NULL here (`IS NOT DISTINCT FROM`).
fn same(a: &Value, b: &Value) -> bool {
    if a.is_null() || b.is_null() { a.is_null() && b.is_null() } else { cmp_sql(a, b).is_eq() }
}

fn array(values: impl Iterator<Item = Value>) -> Result<Value> {
    Ok(Value::Array(values.collect()))
}

fn integer(value: usize) -> Result<Value> {
    Ok(Value::Int4(i32::try_from(value).map_err(|_| TypeError::out_of_range("integer"))?))
}

/// A property of the only dimension.
fn of_dimension(args: &[Value], value: fn(usize) -> usize) -> Result<Value> {
    match args {
        [Value::Array(values), Value::Int4(1)] if !values.is_empty() => integer(value(values.len())),
        _ => Ok(Value::Null),
    }
}

fn array_length(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    of_dimension(args, |length| length)
}

fn array_lower(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    of_dimension(args, |_| 1)
}

fn array_ndims(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array] = args else { return Err(unexpected("array_ndims", args)) };
    Ok(if elements(array).is_empty() { Value::Null } else { Value::Int4(1) })
}

fn array_dims(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array] = args else { return Err(unexpected("array_dims", args)) };
    let length = elements(array).len();
    Ok(if length == 0 { Value::Null } else { Value::text(&format!("[1:{length}]")) })
}

fn cardinality(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array] = args else { return Err(unexpected("cardinality", args)) };
    integer(elements(array).len())
}

fn array_append(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [values, element] = args else { return Err(unexpected("array_append", args)) };
    array(elements(values).iter().chain([element]).cloned())
}

fn array_prepend(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [element, values] = args else { return Err(unexpected("array_prepend", args)) };
    array([element].into_iter().chain(elements(values)).cloned())
}

fn array_cat(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Null, other] | [other, Value::Null] => Ok(other.clone()),
        [a, b] => array(elements(a).iter().chain(elements(b)).cloned()),
        _ => Err(unexpected("array_cat", args)),
    }
}

fn array_remove(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(values), element] = args else { return Ok(Value::Null) };
    array(values.iter().filter(|value| !same(value, element)).cloned())
}

fn array_replace(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(values), from, to] = args else { return Ok(Value::Null) };
    array(values.iter().map(|value| if same(value, from) { to } else { value }).cloned())
}

/// The place of an element, from a place on.
fn array_position(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array, element, start @ ..] = args else { return Err(unexpected("array_position", args)) };
    let skip = match start {
        [Value::Null] => {
            return Err(TypeError::new("22004", "initial position must not be null").into());
        }
        [Value::Int4(start)] => usize::try_from(start.saturating_sub(1)).unwrap_or(0),
        _ => 0,
    };
    let found = elements(array).iter().skip(skip).position(|value| same(value, element));
    found.map_or(Ok(Value::Null), |at| integer(skip + at + 1))
}

fn trim_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(values), Value::Int4(count)] = args else { return Err(unexpected("trim_array", args)) };
    let kept = usize::try_from(*count).ok().and_then(|count| values.len().checked_sub(count));
    let Some(kept) = kept else {
        let message = format!("number of elements to trim must be between 0 and {}", values.len());
        return Err(TypeError::new("2202E", message).into());
    };
    array(values[..kept].iter().cloned())
}

fn array_reverse(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [values] = args else { return Err(unexpected("array_reverse", args)) };
    array(elements(values).iter().rev().cloned())
}

/// The elements between a separator; NULLs are left out, or written as the third argument says.
fn array_to_string(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(values), Value::Text(separator), null @ ..] = args else { return Ok(Value::Null) };
    let null = null.first().and_then(Value::as_str);
    let (mut text, mut first) = (Bytes::new(cx), true);
    for value in values.iter().filter(|value| null.is_some() || !value.is_null()) {
        if !first {
            text.push(separator.as_bytes())?;
        }
        first = false;
        match null {
            Some(null) if value.is_null() => text.push(null.as_bytes())?,
            _ => output(cx, value, &mut text)?,
        }
    }
    Ok(text.into_text())
}

/// The parts of a text: without a separator its characters. A part like the third argument is NULL.
fn parts(args: &[Value]) -> Option<Vec<Value>> {
    let [Value::Text(text), separator, null @ ..] = args else { return None };
    let null = null.first().and_then(Value::as_str);
    let value = |part: &str| if null == Some(part) { Value::Null } else { Value::text(part) };
    Some(match separator {
        _ if text.is_empty() => Vec::new(),
        Value::Text(separator) if separator.is_empty() => vec![value(text)],
        Value::Text(separator) => text.split(&**separator).map(value).collect(),
        _ => text.chars().map(|c| value(c.encode_utf8(&mut [0; 4]))).collect(),
    })
}

fn string_to_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(parts(args).map_or(Value::Null, |parts| Value::Array(Arc::from(parts))))
}

/// An immutable function of arrays.
macro_rules! array_function {
    ($name:literal [$($arg:expr),*] => $result:expr, strict $strict:literal, $f:expr) => {
        array_function!($name [$($arg),*] => $result, strict $strict, Immutable $f)
    };
    ($name:literal [$($arg:expr),*] => $result:expr, strict $strict:literal, $volatility:ident $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: $result,
            strict: $strict,
            volatility: Volatility::$volatility,
            body: Body::Scalar($f),
            kernel: None,
        }
    };
}

const ARRAY: ArgType = ArgType::AnyArray;
const ELEMENT: ArgType = ArgType::AnyElement;
const INT4: ArgType = ArgType::Exact(SqlType::Int4);
const TEXT: ArgType = ArgType::Exact(SqlType::Text);
const AS_INT4: ResultType = ResultType::Fixed(SqlType::Int4);
const AS_TEXT: ResultType = ResultType::Fixed(SqlType::Text);

static ARRAYS: &[BuiltinFunction] = &[
    array_function!("array_length" [ARRAY, INT4] => AS_INT4, strict true, array_length),
    array_function!("array_upper" [ARRAY, INT4] => AS_INT4, strict true, array_length),
    array_function!("array_lower" [ARRAY, INT4] => AS_INT4, strict true, array_lower),
    array_function!("array_ndims" [ARRAY] => AS_INT4, strict true, array_ndims),
    array_function!("array_dims" [ARRAY] => AS_TEXT, strict true, array_dims),
    array_function!("cardinality" [ARRAY] => AS_INT4, strict true, cardinality),
    array_function!("array_append" [ARRAY, ELEMENT] => ResultType::SameAs(0), strict false, array_append),
    array_function!("array_prepend" [ELEMENT, ARRAY] => ResultType::SameAs(1), strict false, array_prepend),
    array_function!("array_cat" [ARRAY, ARRAY] => ResultType::SameAs(0), strict false, array_cat),
    array_function!("array_remove" [ARRAY, ELEMENT] => ResultType::SameAs(0), strict false, array_remove),
    array_function!("array_replace" [ARRAY, ELEMENT, ELEMENT] => ResultType::SameAs(0),
        strict false, array_replace),
    array_function!("array_position" [ARRAY, ELEMENT] => AS_INT4, strict false, array_position),
    array_function!("array_position" [ARRAY, ELEMENT, INT4] => AS_INT4, strict false, array_position),
    array_function!("trim_array" [ARRAY, INT4] => ResultType::SameAs(0), strict true, trim_array),
    array_function!("array_reverse" [ARRAY] => ResultType::SameAs(0), strict true, array_reverse),
    array_function!("array_to_string" [ARRAY, TEXT] => AS_TEXT, strict true, Stable array_to_string),
    array_function!("array_to_string" [ARRAY, TEXT, TEXT] => AS_TEXT, strict false, Stable array_to_string),
    array_function!("string_to_array" [TEXT, TEXT] => ResultType::ArrayOf(0), strict false, string_to_array),
    array_function!("string_to_array" [TEXT, TEXT, TEXT] => ResultType::ArrayOf(0),
        strict false, string_to_array),
];

fn count_nulls(args: &[Value]) -> usize {
    args.iter().filter(|arg| arg.is_null()).count()
}

static NULLS: &[BuiltinFunction] = &[
    BuiltinFunction {
        variadic: true,
        ..array_function!("num_nulls" [ArgType::Any] => AS_INT4, strict false,
            |_, args| integer(count_nulls(args)))
    },
    BuiltinFunction {
        variadic: true,
        ..array_function!("num_nonnulls" [ArgType::Any] => AS_INT4, strict false,
            |_, args| integer(args.len() - count_nulls(args)))
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [ARRAYS, NULLS];
