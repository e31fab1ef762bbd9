//! Keys of texts under a collation: what the binder makes comparisons, orders and groups of. Their second argument is a
//! [`Collator::spec`], which only the binder writes; the third one the collation's name, for EXPLAIN.

use std::sync::Arc;

use verso_types::{
    CastKind, Collator, ColumnData, NullMask, RowType, SqlType, TypeError, Value, Within, collation,
};

use super::arrays::remove_from;
use super::collected::{Rows, elements, rows};
use super::define::unexpected;
use super::kernel::{Kernel, Operand, Trap};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;
use crate::plan::{ExprKind, TypedExpr};

/// The key of a text, the keys of the texts of an array, or a row with keys in place of its texts.
pub const KEY: &str = "verso_collation_key";
/// The text that a key is of.
pub const TEXT: &str = "verso_collation_text";
/// LIKE under a nondeterministic collation.
pub const LIKE: &str = "verso_collation_like";

/// Searches under a nondeterministic collation, by the names of the functions that search by bytes.
pub const SEARCHES: [(&str, &str); 8] = [
    ("position", "verso_collation_position"),
    ("strpos", "verso_collation_position"),
    ("replace", "verso_collation_replace"),
    ("split_part", "verso_collation_split_part"),
    ("string_to_array", "verso_collation_to_array"),
    ("string_to_table", "verso_collation_to_table"),
    ("array_remove", "verso_collation_array_remove"),
    ("array_replace", "verso_collation_array_replace"),
];
/// NULLIF under a nondeterministic collation.
pub const NULLIF: &str = "verso_collation_nullif";

/// Steps of LIKE and of searches between two looks at the flag that cancels.
const TICK_STEPS: u32 = 1 << 12;

fn collator(spec: &str) -> Result<Collator> {
    let unknown = || TypeError::new("22023", format!("unknown collation \"{spec}\""));
    Ok(Collator::of_spec(spec).ok_or_else(unknown)?)
}

fn key(cx: &EvalContext<'_>, collator: Collator, text: &str) -> Result<Value> {
    let mut made = Vec::new();
    collator.key(text.as_bytes(), &mut made);
    let mut out = Bytes::new(cx);
    out.push(&made)?;
    Ok(out.into_bytea())
}

fn key_of(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(spec), _] = args else { return Err(unexpected(KEY, args)) };
    key(cx, collator(spec)?, text)
}

fn keys_of(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), Value::Text(spec), _] = args else { return Err(unexpected(KEY, args)) };
    let collator = collator(spec)?;
    let mut keys = Vec::with_capacity(array.len());
    for (n, element) in array.iter().enumerate() {
        if n.is_multiple_of(TICK_STEPS as usize) {
            cx.runtime.check_cancelled()?;
        }
        keys.push(match element {
            Value::Text(text) => key(cx, collator, text)?,
            _ => Value::Null,
        });
    }
    Ok(Value::Array(array.with_values(keys)))
}

/// A row, or an array of rows, with keys in place of its texts.
fn keys_within(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value, Value::Text(within), _] = args else { return Err(unexpected(KEY, args)) };
    let unknown = || TypeError::new("22023", format!("unknown collations \"{within}\""));
    let within = Within::read(within).ok_or_else(unknown)?;
    key_within(cx, &within, value)
}

fn key_within(cx: &EvalContext<'_>, within: &Within, value: &Value) -> Result<Value> {
    verso_env::stack::check()?;
    match (within, value) {
        (_, Value::Null) => Ok(Value::Null),
        (Within::Text { collator, padded }, Value::Text(text)) => {
            key(cx, *collator, if *padded { text.trim_end_matches(' ') } else { text })
        }
        (Within::Open, _) => {
            let text = "could not determine which collation to use for string comparison";
            let hint = "Use the COLLATE clause to set the collation explicitly.";
            Err(TypeError::new("42P22", text).with_hint(hint).into())
        }
        (Within::Text { .. }, Value::Array(array)) => {
            let keys = array.iter().map(|element| key_within(cx, within, element));
            Ok(Value::Array(array.with_values(keys.collect::<Result<Vec<_>>>()?)))
        }
        (Within::Elements(within), Value::Array(array)) => {
            let mut keys = Vec::with_capacity(array.len());
            for (n, element) in array.iter().enumerate() {
                if n.is_multiple_of(TICK_STEPS as usize) {
                    cx.runtime.check_cancelled()?;
                }
                keys.push(key_within(cx, within, element)?);
            }
            Ok(Value::Array(array.with_values(keys)))
        }
        (Within::Fields(fields), Value::Record(values)) => {
            let key = |(at, value): (usize, &Value)| match fields.get(at) {
                Some(Some(within)) => key_within(cx, within, value),
                _ => Ok(value.clone()),
            };
            let keys = values.iter().enumerate().map(key).collect::<Result<Vec<_>>>()?;
            Ok(Value::Record(keys.into()))
        }
        (_, other) => Ok(other.clone()),
    }
}

/// The type of such keys, of values of a type.
fn type_within(within: &Within, ty: &SqlType) -> SqlType {
    match (within, ty.plain()) {
        (Within::Text { .. } | Within::Open, SqlType::Array(_)) => SqlType::Array(Box::new(SqlType::Bytea)),
        (Within::Text { .. } | Within::Open, _) => SqlType::Bytea,
        (Within::Elements(within), SqlType::Array(element)) => {
            SqlType::Array(Box::new(type_within(within, element)))
        }
        (Within::Fields(fields), SqlType::Row(row)) => {
            let field = |(at, (name, ty)): (usize, &(Arc<str>, SqlType))| {
                let within = fields.get(at).and_then(Option::as_ref);
                (Arc::clone(name), within.map_or_else(|| ty.clone(), |within| type_within(within, ty)))
            };
            SqlType::Row(Arc::new(RowType::unnamed(row.fields.iter().enumerate().map(field).collect())))
        }
        (_, other) => other.clone(),
    }
}

/// A row, or an array of rows, with keys in place of its texts, as an expression.
#[must_use]
pub fn keyed_within(expr: TypedExpr, within: &Within) -> TypedExpr {
    let ty = type_within(within, &expr.ty);
    let mut spec = String::new();
    within.write(&mut spec);
    let text = |text: &str| TypedExpr::literal(Value::text(text), SqlType::Text);
    let args = vec![expr, text(&spec), text("")];
    TypedExpr::new(ExprKind::Call { function: &COLLATIONS[2], args }, ty)
}

fn text_of(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(key)] = args else { return Err(unexpected(TEXT, args)) };
    let text = Collator::text_of_key(key).ok_or_else(|| TypeError::corrupt("key of a collation"))?;
    let mut out = Bytes::new(cx);
    out.push(text)?;
    Ok(out.into_text())
}

fn like(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), Value::Text(escape), Value::Text(spec)] = args else {
        return Err(unexpected(LIKE, args));
    };
    let mut escapes = escape.chars();
    let escape = escapes.next();
    if escapes.next().is_some() {
        return Err(TypeError::new("22019", "invalid escape string")
            .with_hint("Escape string must be empty or one character.")
            .into());
    }
    let collator = collator(spec)?;
    let found = asking(cx, |go_on| collation::like(collator, text, pattern, escape, go_on))?;
    let ends = || TypeError::new("22025", "LIKE pattern must not end with escape character");
    Ok(Value::Bool(found.ok_or_else(ends)?))
}

/// Runs a search that asks whether it shall go on.
fn asking<T>(cx: &EvalContext<'_>, search: impl FnOnce(&mut dyn FnMut() -> bool) -> T) -> Result<T> {
    let (mut steps, mut cancelled) = (0_u32, Ok(()));
    let found = search(&mut || {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(TICK_STEPS) {
            cancelled = cx.runtime.check_cancelled();
        }
        cancelled.is_ok()
    });
    cancelled.map(|()| found)
}

fn position(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(wanted), Value::Text(spec)] = args else {
        return Err(unexpected("position", args));
    };
    if wanted.is_empty() {
        return Ok(Value::Int4(1));
    }
    let collator = collator(spec)?;
    let found = asking(cx, |go_on| collation::find(collator, text, wanted, 0, go_on))?;
    let place = found.map_or(0, |found| text[..found.start].chars().count() + 1);
    Ok(Value::Int4(i32::try_from(place).map_err(|_| TypeError::out_of_range("integer"))?))
}

/// The parts of a text between its separators.
fn parts<'t>(cx: &EvalContext<'_>, text: &'t str, separator: &str, spec: &str) -> Result<Vec<&'t str>> {
    let collator = collator(spec)?;
    asking(cx, |go_on| collation::split(collator, text, separator, go_on))
}

fn replace(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(from), Value::Text(to), Value::Text(spec)] = args else {
        return Err(unexpected("replace", args));
    };
    if from.is_empty() {
        return Ok(args[0].clone());
    }
    let mut out = Bytes::new(cx);
    for (n, part) in parts(cx, text, from, spec)?.into_iter().enumerate() {
        if n > 0 {
            out.push(to.as_bytes())?;
        }
        out.push(part.as_bytes())?;
    }
    Ok(out.into_text())
}

fn split_part(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(separator), Value::Int4(n), Value::Text(spec)] = args else {
        return Err(unexpected("split_part", args));
    };
    if *n == 0 {
        return Err(TypeError::new("22023", "field position must not be zero").into());
    }
    let fields = match text.is_empty() || separator.is_empty() {
        true => vec![&**text],
        false => parts(cx, text, separator, spec)?,
    };
    let at = n.unsigned_abs() as usize;
    let index = if *n > 0 { Some(at - 1) } else { fields.len().checked_sub(at) };
    Ok(Value::text(index.and_then(|index| fields.get(index)).copied().unwrap_or_default()))
}

fn to_array(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), separator, null @ .., Value::Text(spec)] = args else { return Ok(Value::Null) };
    let null = null.first().and_then(Value::as_str);
    let own = collator(spec)?;
    let value = |part: &str| match null {
        Some(null) if own.is_equal(null, part) => Value::Null,
        _ => Value::text(part),
    };
    let parts = match separator {
        _ if text.is_empty() => Vec::new(),
        Value::Text(separator) if separator.is_empty() => vec![value(text)],
        Value::Text(separator) => {
            let parts = parts(cx, text, separator, spec)?;
            elements(cx, parts.into_iter().map(|part| Ok(value(part))))?
        }
        _ => elements(cx, text.chars().map(|c| Ok(value(c.encode_utf8(&mut [0; 4])))))?,
    };
    Ok(Value::Array(parts.into()))
}

fn to_table(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    match to_array(cx, args)? {
        Value::Array(parts) => rows(cx, parts.iter().cloned().map(Ok)),
        _ => Ok(Box::new(std::iter::empty())),
    }
}

/// Whether two elements are equal, NULLs included.
fn same(collator: Collator, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => collator.is_equal(a, b),
        (a, b) => a.is_null() && b.is_null(),
    }
}

fn array_remove(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), element, Value::Text(spec)] = args else { return Ok(Value::Null) };
    let collator = collator(spec)?;
    remove_from(array, |value| same(collator, value, element))
}

fn array_replace(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), from, to, Value::Text(spec)] = args else { return Ok(Value::Null) };
    let collator = collator(spec)?;
    let replaced = array.iter().map(|value| if same(collator, value, from) { to } else { value }.clone());
    Ok(Value::Array(array.with_values(replaced.collect())))
}

fn nullif(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [left, right, Value::Text(spec)] = args else { return Err(unexpected(NULLIF, args)) };
    let equal = !left.is_null() && same(collator(spec)?, left, right);
    Ok(if equal { Value::Null } else { left.clone() })
}

/// Keys of a column of texts.
fn key_kernel(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Result<(), Trap> {
    let [texts, Operand::Constant(spec), _] = args else { return Err(Trap) };
    let spec = spec.bytes().filter(|spec| !spec.is_empty()).ok_or(Trap)?;
    let spec = std::str::from_utf8(spec.get(0)).map_err(|_| Trap)?;
    let collator = Collator::of_spec(spec).ok_or(Trap)?;
    let out = out.bytes_mut().ok_or(Trap)?;
    match texts {
        Operand::Column(data) => {
            let texts = data.bytes().filter(|texts| texts.len() >= rows).ok_or(Trap)?;
            for row in 0..rows {
                match nulls.is_null(row) {
                    true => out.push_empty(1),
                    false => out.push_with(|key| collator.key(texts.get(row), key)),
                }
            }
        }
        Operand::Constant(data) => {
            let texts = data.bytes().filter(|texts| !texts.is_empty()).ok_or(Trap)?;
            let mut key = Vec::new();
            collator.key(texts.get(0), &mut key);
            (0..rows).for_each(|_| out.push(&key));
        }
    }
    Ok(())
}

/// The key of a text, or the keys of the texts of an array, as an expression; `name` is for EXPLAIN.
#[must_use]
pub fn keyed(expr: TypedExpr, collator: Collator, name: &str) -> TypedExpr {
    let of_array = matches!(expr.ty, SqlType::Array(_));
    let (function, of_texts, keys) = match of_array {
        true => (
            &COLLATIONS[1],
            SqlType::Array(Box::new(SqlType::Text)),
            SqlType::Array(Box::new(SqlType::Bytea)),
        ),
        false => (&COLLATIONS[0], SqlType::Text, SqlType::Bytea),
    };
    let expr = match expr.ty == of_texts {
        true => expr,
        false => TypedExpr::new(ExprKind::Cast { arg: Box::new(expr), kind: CastKind::Implicit }, of_texts),
    };
    let text = |text: &str| TypedExpr::literal(Value::text(text), SqlType::Text);
    let args = vec![expr, text(collator.spec()), text(name)];
    TypedExpr::new(ExprKind::Call { function, args }, keys)
}

const fn function(
    name: &'static str,
    args: &'static [ArgType],
    result: ResultType,
    body: super::ScalarFn,
    kernel: Option<Kernel>,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        operator: None,
        args,
        variadic: false,
        result,
        strict: true,
        volatility: Volatility::Immutable,
        body: Body::Scalar(body),
        kernel,
    }
}

const T: ArgType = ArgType::Exact(SqlType::Text);
const N: ArgType = ArgType::Exact(SqlType::Int4);
const ARRAY: ArgType = ArgType::AnyArray;
const ELEMENT: ArgType = ArgType::AnyElement;
const TEXT_RESULT: ResultType = ResultType::Fixed(SqlType::Text);
const TEXTS: ResultType = ResultType::FixedArray(SqlType::Text);

/// A function that looks at its NULLs itself.
const fn of_nulls(
    name: &'static str,
    args: &'static [ArgType],
    result: ResultType,
    body: super::ScalarFn,
) -> BuiltinFunction {
    let mut made = function(name, args, result, body, None);
    made.strict = false;
    made
}

/// One that yields the parts of a text as rows.
const fn of_rows(name: &'static str, args: &'static [ArgType]) -> BuiltinFunction {
    let mut made = of_nulls(name, args, TEXT_RESULT, to_array);
    made.body = Body::Set(to_table);
    made
}

static COLLATIONS: &[BuiltinFunction] = &[
    // `keyed` and `keyed_within` have these three by their places.
    function(KEY, &[T, T, T], ResultType::Fixed(SqlType::Bytea), key_of, Some(Kernel::Columns(key_kernel))),
    function(
        KEY,
        &[ArgType::ArrayOf(SqlType::Text), T, T],
        ResultType::FixedArray(SqlType::Bytea),
        keys_of,
        None,
    ),
    function(KEY, &[ArgType::Any, T, T], ResultType::SameAs(0), keys_within, None),
    function(TEXT, &[ArgType::Exact(SqlType::Bytea)], ResultType::Fixed(SqlType::Text), text_of, None),
    function(LIKE, &[T, T, T, T], ResultType::Fixed(SqlType::Bool), like, None),
    function("verso_collation_position", &[T, T, T], ResultType::Fixed(SqlType::Int4), position, None),
    function("verso_collation_replace", &[T, T, T, T], TEXT_RESULT, replace, None),
    function("verso_collation_split_part", &[T, T, N, T], TEXT_RESULT, split_part, None),
    of_nulls("verso_collation_to_array", &[T, T, T], TEXTS, to_array),
    of_nulls("verso_collation_to_array", &[T, T, T, T], TEXTS, to_array),
    of_rows("verso_collation_to_table", &[T, T, T]),
    of_rows("verso_collation_to_table", &[T, T, T, T]),
    of_nulls("verso_collation_array_remove", &[ARRAY, ELEMENT, T], ResultType::SameAs(0), array_remove),
    of_nulls(
        "verso_collation_array_replace",
        &[ARRAY, ELEMENT, ELEMENT, T],
        ResultType::SameAs(0),
        array_replace,
    ),
    of_nulls(NULLIF, &[ELEMENT, ELEMENT, T], ResultType::SameAs(0), nullif),
];

/// The functions of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [COLLATIONS];
