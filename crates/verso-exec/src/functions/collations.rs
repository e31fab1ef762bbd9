//! Keys of texts under a collation: what the binder makes comparisons, orders and groups of. Their second argument is a
//! [`Collator::spec`], which only the binder writes; the third one the collation's name, for EXPLAIN.

use verso_types::{Collator, ColumnData, NullMask, SqlType, TypeError, Value, collation};

use super::define::unexpected;
use super::kernel::{Kernel, Operand, Trap};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;

/// The key of a text, or the keys of the texts of an array.
pub const KEY: &str = "verso_collation_key";
/// The text that a key is of.
pub const TEXT: &str = "verso_collation_text";
/// LIKE under a nondeterministic collation.
pub const LIKE: &str = "verso_collation_like";

/// Steps of LIKE between two looks at the flag that cancels.
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
    let (mut steps, mut cancelled) = (0_u32, Ok(()));
    let found = collation::like(collator(spec)?, text, pattern, escape, &mut || {
        steps += 1;
        if steps.is_multiple_of(TICK_STEPS) {
            cancelled = cx.runtime.check_cancelled();
        }
        cancelled.is_ok()
    });
    cancelled?;
    let ends = || TypeError::new("22025", "LIKE pattern must not end with escape character");
    Ok(Value::Bool(found.ok_or_else(ends)?))
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

static COLLATIONS: &[BuiltinFunction] = &[
    function(KEY, &[T, T, T], ResultType::Fixed(SqlType::Bytea), key_of, Some(Kernel::Columns(key_kernel))),
    function(
        KEY,
        &[ArgType::ArrayOf(SqlType::Text), T, T],
        ResultType::FixedArray(SqlType::Bytea),
        keys_of,
        None,
    ),
    function(TEXT, &[ArgType::Exact(SqlType::Bytea)], ResultType::Fixed(SqlType::Text), text_of, None),
    function(LIKE, &[T, T, T, T], ResultType::Fixed(SqlType::Bool), like, None),
];

/// The functions of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [COLLATIONS];
