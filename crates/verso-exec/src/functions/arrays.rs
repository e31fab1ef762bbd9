//! Functions and operators of arrays, and between arrays and texts. Subscripts are in [`subscripts`](super::subscripts).

use std::borrow::Cow;

use verso_types::array::{DIMENSIONS_MAX, element_count};
use verso_types::{Array, Dimension, SqlType, TypeError, Value, cmp_sql};

use super::collected::{Rows, elements, rows};
use super::define::unexpected;
use super::subscripts::{slice_of, with_element};
use super::texts::{is_named, output, shown};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::memory::{Bytes, Reservation};

/// The array; one without elements for NULL.
fn array_of(value: &Value) -> Array {
    match value {
        Value::Array(array) => array.clone(),
        _ => Array::default(),
    }
}

/// 2202E.
#[cold]
pub(super) fn subscript_error(text: &str) -> ExecError {
    TypeError::new("2202E", text).into()
}

/// Charges for so many elements while they are made, where they are many.
pub(crate) fn hold_elements(cx: &EvalContext<'_>, count: usize) -> Result<Option<Reservation>> {
    const FEW: usize = 1 << 15;
    if count <= FEW {
        return Ok(None);
    }
    let mut held = cx.services.memory.account.reserve("an array", u64::MAX);
    // The array itself is a copy of the list.
    held.resize(2 * (count * size_of::<Value>()) as u64)?;
    Ok(Some(held))
}

/// NULL is NULL here (`IS NOT DISTINCT FROM`).
fn same(a: &Value, b: &Value) -> bool {
    if a.is_null() || b.is_null() { a.is_null() && b.is_null() } else { cmp_sql(a, b).is_eq() }
}

fn integer(value: usize) -> Result<Value> {
    Ok(Value::Int4(i32::try_from(value).map_err(|_| TypeError::out_of_range("integer"))?))
}

/// A property of a dimension; NULL where there is no such one.
fn of_dimension(args: &[Value], value: fn(Dimension) -> i32) -> Result<Value> {
    let [Value::Array(array), Value::Int4(number)] = args else { return Ok(Value::Null) };
    let index = usize::try_from(*number).ok().and_then(|number| number.checked_sub(1));
    let dimension = index.and_then(|index| array.dimensions().get(index).copied());
    Ok(dimension.map_or(Value::Null, |dimension| Value::Int4(value(dimension))))
}

fn array_length(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    of_dimension(args, |dimension| dimension.length)
}

fn array_lower(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    of_dimension(args, |dimension| dimension.lower)
}

fn array_upper(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    of_dimension(args, Dimension::upper)
}

fn array_ndims(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("array_ndims", args)) };
    Ok(if array.is_empty() { Value::Null } else { Value::Int4(array.dimension_count() as i32) })
}

fn array_dims(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("array_dims", args)) };
    if array.is_empty() {
        return Ok(Value::Null);
    }
    let bounds = array.dimensions().into_iter().map(|d| format!("[{}:{}]", d.lower, d.upper()));
    Ok(Value::text(&bounds.collect::<String>()))
}

fn cardinality(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("cardinality", args)) };
    integer(array.len())
}

/// The bounds of an array that one element is added to.
fn only_dimension(array: &Array) -> Result<Option<Dimension>> {
    match array.dimensions()[..] {
        [] => Ok(None),
        [dimension] => Ok(Some(dimension)),
        _ => Err(TypeError::new("22000", "argument must be empty or one-dimensional array").into()),
    }
}

fn array_append(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array, element] = args else { return Err(unexpected("array_append", args)) };
    let array = array_of(array);
    let end = match only_dimension(&array)? {
        Some(dimension) => {
            dimension.upper().checked_add(1).ok_or_else(|| TypeError::out_of_range("integer"))?
        }
        None => 1,
    };
    Ok(Value::Array(with_element(cx, &array, element, &[end])?))
}

fn array_prepend(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [element, array] = args else { return Err(unexpected("array_prepend", args)) };
    let array = array_of(array);
    let lower = only_dimension(&array)?.map_or(1, |dimension| dimension.lower);
    let values: Vec<Value> = [element].into_iter().chain(array.iter()).cloned().collect();
    let length = i32::try_from(values.len()).map_err(|_| verso_types::array::too_large())?;
    Ok(Value::Array(Array::shaped(values, &[Dimension { length, lower }])?))
}

fn array_cat(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = match args {
        [Value::Null, other] | [other, Value::Null] => return Ok(other.clone()),
        [Value::Array(a), Value::Array(b)] => (a, b),
        _ => return Err(unexpected("array_cat", args)),
    };
    if a.is_empty() || b.is_empty() {
        return Ok(Value::Array(if a.is_empty() { b } else { a }.clone()));
    }
    let incompatible = |detail: String| {
        TypeError::new("2202E", "cannot concatenate incompatible arrays").with_detail(detail).into()
    };
    let (of_a, of_b) = (a.dimensions(), b.dimensions());
    let inner_differ = |what: &str| {
        incompatible(format!("Arrays with differing {what} are not compatible for concatenation."))
    };
    let mut dimensions = if of_a.len() < of_b.len() { of_b.clone() } else { of_a.clone() };
    let more = match of_a.len() as i64 - of_b.len() as i64 {
        0 if of_a[1..] != of_b[1..] => return Err(inner_differ("element dimensions")),
        0 => of_b[0].length,
        -1 if of_a[..] != of_b[1..] => return Err(inner_differ("dimensions")),
        1 if of_a[1..] != of_b[..] => return Err(inner_differ("dimensions")),
        -1 | 1 => 1,
        _ => {
            return Err(incompatible(format!(
                "Arrays of {} and {} dimensions are not compatible for concatenation.",
                of_a.len(),
                of_b.len()
            )));
        }
    };
    dimensions[0].length =
        dimensions[0].length.checked_add(more).ok_or_else(verso_types::array::too_large)?;
    let _held = hold_elements(cx, element_count(&dimensions)?)?;
    Ok(Value::Array(Array::shaped(a.iter().chain(b.iter()).cloned().collect(), &dimensions)?))
}

/// 0A000 for an array of several dimensions.
fn only_one_dimension(array: &Array, what: &str) -> Result<()> {
    if array.dimension_count() <= 1 {
        return Ok(());
    }
    let text = format!("{what} multidimensional arrays is not supported");
    Err(TypeError::new("0A000", text).into())
}

fn array_remove(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), element] = args else { return Ok(Value::Null) };
    remove_from(array, |value| same(value, element))
}

/// An array without some elements.
pub(super) fn remove_from(array: &Array, goes: impl Fn(&Value) -> bool) -> Result<Value> {
    only_one_dimension(array, "removing elements from")?;
    let kept: Vec<Value> = array.iter().filter(|value| !goes(value)).cloned().collect();
    if kept.len() == array.len() {
        return Ok(Value::Array(array.clone()));
    }
    let lower = array.dimensions().first().map_or(1, |dimension| dimension.lower);
    let length = kept.len() as i32;
    Ok(Value::Array(Array::shaped(kept, &[Dimension { length, lower }])?))
}

fn array_replace(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), from, to] = args else { return Ok(Value::Null) };
    let replaced = array.iter().map(|value| if same(value, from) { to } else { value }.clone());
    Ok(Value::Array(array.with_values(replaced.collect())))
}

/// The subscript of an element, from one on.
fn array_position(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [array, element, start @ ..] = args else { return Err(unexpected("array_position", args)) };
    let Value::Array(array) = array else { return Ok(Value::Null) };
    only_one_dimension(array, "searching for elements in")?;
    let lower = array.dimensions().first().map_or(1, |dimension| dimension.lower);
    let skip = match start {
        [Value::Null] => {
            return Err(TypeError::new("22004", "initial position must not be null").into());
        }
        [Value::Int4(start)] => usize::try_from(i64::from(*start) - i64::from(lower)).unwrap_or(0),
        _ => 0,
    };
    let found = array.iter().skip(skip).position(|value| same(value, element));
    Ok(found.map_or(Value::Null, |at| Value::Int4(lower.wrapping_add((skip + at) as i32))))
}

/// How many of ascending values are not beyond a value.
fn width_bucket(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value, Value::Array(bounds)] = args else { return Err(unexpected("width_bucket", args)) };
    if bounds.dimension_count() > 1 {
        return Err(TypeError::new("2202E", "thresholds must be one-dimensional array").into());
    }
    if bounds.iter().any(Value::is_null) {
        return Err(TypeError::new("22004", "thresholds array must not contain NULLs").into());
    }
    Ok(Value::Int4(bounds.partition_point(|bound| cmp_sql(bound, value).is_le()) as i32))
}

fn array_positions(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), element] = args else { return Ok(Value::Null) };
    only_one_dimension(array, "searching for elements in")?;
    let lower = array.dimensions().first().map_or(1, |dimension| dimension.lower);
    let found = array.iter().enumerate().filter(|(_, value)| same(value, element));
    Ok(Value::Array(found.map(|(at, _)| Value::Int4(lower.wrapping_add(at as i32))).collect()))
}

fn trim_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), Value::Int4(count)] = args else { return Err(unexpected("trim_array", args)) };
    let dimension = array.dimensions().first().copied();
    let length = dimension.map_or(0, |dimension| dimension.length);
    if !(0..=length).contains(count) {
        let message = format!("number of elements to trim must be between 0 and {length}");
        return Err(TypeError::new("2202E", message).into());
    }
    let upper = dimension.map_or(0, |dimension| dimension.upper() - count);
    Ok(Value::Array(slice_of(array, 0b10, &[0, upper])?))
}

/// The outermost dimension the other way round.
fn array_reverse(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("array_reverse", args)) };
    let rows = array.dimensions().first().map_or(1, |dimension| dimension.length as usize);
    let size = (array.len() / rows.max(1)).max(1);
    Ok(Value::Array(array.with_values(array.chunks(size).rev().flatten().cloned().collect())))
}

/// `array_sort(array [, descending [, nulls_first]])`; of several dimensions the outermost is sorted.
fn array_sort(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), order @ ..] = args else { return Err(unexpected("array_sort", args)) };
    let descending = order.first().and_then(Value::as_bool).unwrap_or(false);
    let nulls_first = order.get(1).and_then(Value::as_bool).unwrap_or(descending);
    let rows = array.dimensions().first().map_or(1, |dimension| dimension.length as usize);
    let size = (array.len() / rows.max(1)).max(1);
    let mut sorted: Vec<&[Value]> = array.chunks(size).collect();
    sorted.sort_by(|a, b| {
        let pair = a.iter().zip(*b).map(|(a, b)| match (size, a.is_null(), b.is_null()) {
            (1, true, false) if nulls_first => std::cmp::Ordering::Less,
            (1, false, true) if nulls_first => std::cmp::Ordering::Greater,
            (1, true, _) | (1, _, true) => cmp_sql(a, b),
            _ if descending => cmp_sql(b, a),
            _ => cmp_sql(a, b),
        });
        let mut unequal = pair.filter(|order| order.is_ne());
        unequal.next().unwrap_or(std::cmp::Ordering::Equal)
    });
    Ok(Value::Array(array.with_values(sorted.into_iter().flatten().cloned().collect())))
}

/// `array_fill(value, lengths [, lower bounds])`
fn array_fill(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value, lengths, bounds @ ..] = args else { return Err(unexpected("array_fill", args)) };
    let null = |text: &str| -> ExecError { TypeError::new("22004", text).into() };
    let numbers = |array: &Value| -> Result<Vec<i32>> {
        let Value::Array(array) = array else {
            return Err(null("dimension array or low bound array cannot be null"));
        };
        if array.dimension_count() > 1 {
            let error = TypeError::new("2202E", "wrong number of array subscripts");
            return Err(error.with_detail("Dimension array must be one dimensional.").into());
        }
        let number = |value: &Value| value.as_i64().and_then(|value| i32::try_from(value).ok());
        array
            .iter()
            .map(|value| number(value).ok_or_else(|| null("dimension values cannot be null")))
            .collect()
    };
    if bounds.first().is_some_and(Value::is_null) {
        return Err(null("dimension array or low bound array cannot be null"));
    }
    let lengths = numbers(lengths)?;
    let bounds = bounds.first().map(numbers).transpose()?.unwrap_or_else(|| vec![1; lengths.len()]);
    if lengths.len() > DIMENSIONS_MAX {
        return Err(verso_types::array::too_many_dimensions(lengths.len()).into());
    }
    if bounds.len() != lengths.len() {
        let error = TypeError::new("2202E", "wrong number of array subscripts");
        return Err(error.with_detail("Low bound array has different size than dimensions array.").into());
    }
    let dimensions: Vec<Dimension> =
        lengths.iter().zip(bounds).map(|(length, lower)| Dimension { length: *length, lower }).collect();
    let count = element_count(&dimensions)?;
    let _held = hold_elements(cx, count)?;
    Ok(Value::Array(Array::shaped(vec![value.clone(); count], &dimensions)?))
}

/// Whether an element of `wanted` is among `all`; NULL never is.
fn is_among(wanted: &Value, all: &[Value]) -> bool {
    !wanted.is_null() && all.iter().any(|value| !value.is_null() && cmp_sql(wanted, value).is_eq())
}

fn contains(cx: &EvalContext<'_>, all: &Array, wanted: &Array) -> Result<bool> {
    for (n, element) in wanted.iter().enumerate() {
        if n % 256 == 255 {
            cx.runtime.check_cancelled()?;
        }
        if !is_among(element, all) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn array_contains(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(a), Value::Array(b)] = args else { return Err(unexpected("@>", args)) };
    Ok(Value::Bool(contains(cx, a, b)?))
}

fn array_contained(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(a), Value::Array(b)] = args else { return Err(unexpected("<@", args)) };
    Ok(Value::Bool(contains(cx, b, a)?))
}

fn array_overlap(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(a), Value::Array(b)] = args else { return Err(unexpected("&&", args)) };
    for (n, element) in a.iter().enumerate() {
        if n % 256 == 255 {
            cx.runtime.check_cancelled()?;
        }
        if is_among(element, b) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// The elements between a separator; NULLs are left out, or written as the third argument says.
fn array_to_string(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let [Value::Array(values), Value::Text(separator), null @ ..] = args else { return Ok(Value::Null) };
    let values = match types.first() {
        Some(SqlType::Array(element)) if is_named(element) => {
            shown(cx, values, &vec![(**element).clone(); values.len()])
        }
        _ => Cow::Borrowed(&values[..]),
    };
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
/// What `_pg_expandarray` yields: an element, and its place.
static EXPANDED: [(&str, SqlType); 2] = [("x", SqlType::Unknown), ("n", SqlType::Int4)];

fn expanded(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Array(array)] = args else { return Ok(Box::new(std::iter::empty())) };
    let row = |(element, place): (&Value, i32)| Value::Record([element.clone(), Value::Int4(place)].into());
    rows(cx, array.iter().zip(1..).map(|pair| Ok(row(pair))))
}

fn string_to_table(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    match string_to_array(cx, args)? {
        Value::Array(parts) => rows(cx, parts.iter().cloned().map(Ok)),
        _ => Ok(Box::new(std::iter::empty())),
    }
}

fn string_to_array(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), separator, null @ ..] = args else { return Ok(Value::Null) };
    let null = null.first().and_then(Value::as_str);
    let value = |part: &str| if null == Some(part) { Value::Null } else { Value::text(part) };
    let parts = match separator {
        _ if text.is_empty() => Vec::new(),
        Value::Text(separator) if separator.is_empty() => vec![value(text)],
        Value::Text(separator) => elements(cx, text.split(&**separator).map(|part| Ok(value(part))))?,
        _ => elements(cx, text.chars().map(|c| Ok(value(c.encode_utf8(&mut [0; 4])))))?,
    };
    Ok(Value::Array(parts.into()))
}

/// An immutable function of arrays.
macro_rules! array_function {
    ($name:literal $(($op:literal))? [$($arg:expr),*] => $result:expr, strict $strict:literal, $f:expr) => {
        array_function!($name $(($op))? [$($arg),*] => $result, strict $strict, Immutable $f)
    };
    ($name:literal $(($op:literal))? [$($arg:expr),*] => $result:expr, strict $strict:literal, $volatility:ident $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: super::define::optional!($($op)?),
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
const BOOL: ArgType = ArgType::Exact(SqlType::Bool);
const INT4S: ArgType = ArgType::ArrayOf(SqlType::Int4);
const AS_BOOL: ResultType = ResultType::Fixed(SqlType::Bool);
const AS_INT4: ResultType = ResultType::Fixed(SqlType::Int4);
const AS_TEXT: ResultType = ResultType::Fixed(SqlType::Text);

static ARRAYS: &[BuiltinFunction] = &[
    array_function!("array_length" [ARRAY, INT4] => AS_INT4, strict true, array_length),
    array_function!("array_upper" [ARRAY, INT4] => AS_INT4, strict true, array_upper),
    array_function!("array_lower" [ARRAY, INT4] => AS_INT4, strict true, array_lower),
    array_function!("array_ndims" [ARRAY] => AS_INT4, strict true, array_ndims),
    array_function!("array_dims" [ARRAY] => AS_TEXT, strict true, array_dims),
    array_function!("cardinality" [ARRAY] => AS_INT4, strict true, cardinality),
    array_function!("array_append" ("||") [ARRAY, ELEMENT] => ResultType::SameAs(0), strict false, array_append),
    array_function!("array_prepend" ("||") [ELEMENT, ARRAY] => ResultType::SameAs(1), strict false, array_prepend),
    array_function!("array_cat" ("||") [ARRAY, ARRAY] => ResultType::SameAs(0), strict false, array_cat),
    array_function!("array_remove" [ARRAY, ELEMENT] => ResultType::SameAs(0), strict false, array_remove),
    array_function!("array_replace" [ARRAY, ELEMENT, ELEMENT] => ResultType::SameAs(0),
        strict false, array_replace),
    array_function!("array_position" [ARRAY, ELEMENT] => AS_INT4, strict false, array_position),
    array_function!("array_position" [ARRAY, ELEMENT, INT4] => AS_INT4, strict false, array_position),
    array_function!("array_positions" [ARRAY, ELEMENT] => ResultType::FixedArray(SqlType::Int4), strict false, array_positions),
    array_function!("width_bucket" [ELEMENT, ARRAY] => AS_INT4, strict true, width_bucket),
    array_function!("array_fill" [ELEMENT, INT4S] => ResultType::ArrayOf(0), strict false, array_fill),
    array_function!("array_fill" [ELEMENT, INT4S, INT4S] => ResultType::ArrayOf(0),
        strict false, array_fill),
    array_function!("array_sort" [ARRAY] => ResultType::SameAs(0), strict true, array_sort),
    array_function!("array_sort" [ARRAY, BOOL] => ResultType::SameAs(0), strict true, array_sort),
    array_function!("array_sort" [ARRAY, BOOL, BOOL] => ResultType::SameAs(0), strict true, array_sort),
    array_function!("arraycontains" ("@>") [ARRAY, ARRAY] => AS_BOOL, strict true, array_contains),
    array_function!("arraycontained" ("<@") [ARRAY, ARRAY] => AS_BOOL, strict true, array_contained),
    array_function!("arrayoverlap" ("&&") [ARRAY, ARRAY] => AS_BOOL, strict true, array_overlap),
    array_function!("trim_array" [ARRAY, INT4] => ResultType::SameAs(0), strict true, trim_array),
    array_function!("array_reverse" [ARRAY] => ResultType::SameAs(0), strict true, array_reverse),
    BuiltinFunction {
        body: Body::Typed(array_to_string),
        ..array_function!("array_to_string" [ARRAY, TEXT] => AS_TEXT, strict true, Stable array_dims)
    },
    BuiltinFunction {
        body: Body::Typed(array_to_string),
        ..array_function!("array_to_string" [ARRAY, TEXT, TEXT] => AS_TEXT, strict false, Stable array_dims)
    },
    array_function!("string_to_array" [TEXT, TEXT] => ResultType::ArrayOf(0), strict false, string_to_array),
    array_function!("string_to_array" [TEXT, TEXT, TEXT] => ResultType::ArrayOf(0),
        strict false, string_to_array),
    // Of `information_schema`: drivers ask with it for the columns of keys.
    BuiltinFunction {
        body: Body::Set(expanded),
        ..array_function!("_pg_expandarray" [ARRAY] => ResultType::Columns(&EXPANDED), strict true, array_dims)
    },
    BuiltinFunction {
        body: Body::Set(string_to_table),
        ..array_function!("string_to_table" [TEXT, TEXT] => ResultType::SameAs(0), strict false, string_to_array)
    },
    BuiltinFunction {
        body: Body::Set(string_to_table),
        ..array_function!("string_to_table" [TEXT, TEXT, TEXT] => ResultType::SameAs(0),
            strict false, string_to_array)
    },
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
