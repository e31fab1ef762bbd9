//! Operators and functions of PostgreSQL's `citext`, texts in which the case of letters does not count. Statements compare such values
//! by their keys, as those of every collation; the operators here are what a call means, and compute where no key was made.
//! LIKE and regular expressions over them are those without case (`verso-planner`, `folds_pattern`).

use std::cmp::Ordering;

use verso_types::collation::small;
use verso_types::{SqlType, Value};

use super::collected::Rows;
use super::comparison::cmp_folded;
use super::define::{entry, unexpected};
use super::patterns::{regexp_match, regexp_matches, regexp_replace, split_to_array, split_to_table};
use super::texts::{position, translate};
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;
use crate::regexp::case::large;

macro_rules! comparisons {
    ($($name:literal $op:literal $holds:expr;)*) => {
        &[$(
            entry!($name ($op) [Citext, Citext] => Bool, |_, args| match args {
                [a, b] => Ok(Value::Bool($holds(cmp_folded(a, b)))),
                _ => Err(unexpected($name, args)),
            }, None),
        )*]
    };
}

static COMPARISONS: &[BuiltinFunction] = comparisons![
    "citext_eq" "=" Ordering::is_eq;
    "citext_ne" "<>" Ordering::is_ne;
    "citext_lt" "<" Ordering::is_lt;
    "citext_le" "<=" Ordering::is_le;
    "citext_gt" ">" Ordering::is_gt;
    "citext_ge" ">=" Ordering::is_ge;
    // Small letters are in the order of their bytes, so these are the same.
    "citext_pattern_lt" "~<~" Ordering::is_lt;
    "citext_pattern_le" "~<=~" Ordering::is_le;
    "citext_pattern_gt" "~>~" Ordering::is_gt;
    "citext_pattern_ge" "~>=~" Ordering::is_ge;
];

fn order(args: &[Value]) -> Result<Value> {
    match args {
        [a, b] => Ok(Value::Int4(cmp_folded(a, b) as i32)),
        _ => Err(unexpected("citext_cmp", args)),
    }
}

/// The first of two values, or the second where it comes before that in this order.
fn chosen(args: &[Value], before: Ordering) -> Result<Value> {
    match args {
        [a, b] if cmp_folded(b, a) == before => Ok(b.clone()),
        [a, _] => Ok(a.clone()),
        _ => Err(unexpected("citext_larger", args)),
    }
}

/// The arguments in front of the flags, and flags that ask for any case unless they say something of it.
fn with_flags(args: &[Value], before: usize) -> Vec<Value> {
    let given = args.get(before).and_then(Value::as_str).unwrap_or_default();
    let flags = if given.contains('c') { given.to_string() } else { format!("{given}i") };
    args.iter().take(before).cloned().chain([Value::text(&flags)]).collect()
}

/// A text as a pattern that matches it and nothing else.
fn quoted(cx: &EvalContext<'_>, text: &str) -> Result<Value> {
    let mut out = Bytes::new(cx);
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() && c != '_' {
            out.push(b"\\")?;
        }
        out.push(c.encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    Ok(out.into_text())
}

fn mapped(cx: &EvalContext<'_>, text: &str, map: fn(char) -> char) -> Result<Value> {
    let mut out = Bytes::new(cx);
    for c in text.chars() {
        out.push(map(c).encode_utf8(&mut [0; 4]).as_bytes())?;
    }
    Ok(out.into_text())
}

fn replace(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [text, Value::Text(from), to] = args else { return Err(unexpected("replace", args)) };
    regexp_replace(cx, &[text.clone(), quoted(cx, from)?, to.clone(), Value::text("gi")])
}

/// NULL where there is no such part, other than of texts.
fn split_part(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [text, Value::Text(separator), Value::Int4(n)] = args else {
        return Err(unexpected("split_part", args));
    };
    let parts = split_to_array(cx, &[text.clone(), quoted(cx, separator)?, Value::text("i")])?;
    let Value::Array(parts) = parts else { return Ok(Value::Null) };
    let at = usize::try_from(*n).ok().and_then(|n| n.checked_sub(1));
    Ok(at.and_then(|at| parts.get(at)).cloned().unwrap_or(Value::Null))
}

fn strpos(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(wanted)] = args else { return Err(unexpected("strpos", args)) };
    match (mapped(cx, text, small)?, mapped(cx, wanted, small)?) {
        (Value::Text(text), Value::Text(wanted)) => position(cx, &text, &wanted),
        _ => Ok(Value::Null),
    }
}

fn translated(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(from), Value::Text(to)] = args else {
        return Err(unexpected("translate", args));
    };
    let mut text = Value::Text(text.clone());
    for map in [small as fn(char) -> char, large] {
        if let (Value::Text(now), Value::Text(from)) = (&text, &mapped(cx, from, map)?) {
            text = translate(cx, now, from, to)?;
        }
    }
    Ok(text)
}

fn matched_rows(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    regexp_matches(cx, &with_flags(args, 2))
}

fn parts_rows(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    split_to_table(cx, &with_flags(args, 2))
}

/// A function of a value and a pattern whose result is, or yields, something else than the short names tell.
macro_rules! of_pattern {
    ($name:literal [$($arg:ident),*] => $result:expr, $body:expr) => {
        BuiltinFunction {
            result: $result,
            body: $body,
            ..entry!($name () [$($arg),*] => Text, replace, None)
        }
    };
}

const TEXTS: ResultType = ResultType::FixedArray(SqlType::Text);
const TEXT: ResultType = ResultType::Fixed(SqlType::Text);

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("citext_cmp" () [Citext, Citext] => Int4, |_, args| order(args), None),
    entry!("citext_pattern_cmp" () [Citext, Citext] => Int4, |_, args| order(args), None),
    entry!("citext_larger" () [Citext, Citext] => Citext, |_, args| chosen(args, Ordering::Greater), None),
    entry!("citext_smaller" () [Citext, Citext] => Citext, |_, args| chosen(args, Ordering::Less), None),
    of_pattern!("regexp_match" [Citext, Citext] => TEXTS,
        Body::Scalar(|cx, args| regexp_match(cx, &with_flags(args, 2)))),
    of_pattern!("regexp_match" [Citext, Citext, Text] => TEXTS,
        Body::Scalar(|cx, args| regexp_match(cx, &with_flags(args, 2)))),
    of_pattern!("regexp_matches" [Citext, Citext] => TEXTS, Body::Set(matched_rows as SetFn)),
    of_pattern!("regexp_matches" [Citext, Citext, Text] => TEXTS, Body::Set(matched_rows as SetFn)),
    of_pattern!("regexp_replace" [Citext, Citext, Text] => TEXT,
        Body::Scalar(|cx, args| regexp_replace(cx, &with_flags(args, 3)))),
    of_pattern!("regexp_replace" [Citext, Citext, Text, Text] => TEXT,
        Body::Scalar(|cx, args| regexp_replace(cx, &with_flags(args, 3)))),
    of_pattern!("regexp_split_to_array" [Citext, Citext] => TEXTS,
        Body::Scalar(|cx, args| split_to_array(cx, &with_flags(args, 2)))),
    of_pattern!("regexp_split_to_array" [Citext, Citext, Text] => TEXTS,
        Body::Scalar(|cx, args| split_to_array(cx, &with_flags(args, 2)))),
    of_pattern!("regexp_split_to_table" [Citext, Citext] => TEXT, Body::Set(parts_rows as SetFn)),
    of_pattern!("regexp_split_to_table" [Citext, Citext, Text] => TEXT, Body::Set(parts_rows as SetFn)),
    entry!("strpos" () [Citext, Citext] => Int4, strpos, None),
    entry!("replace" () [Citext, Citext, Citext] => Text, replace, None),
    entry!("split_part" () [Citext, Citext, Int4] => Text, split_part, None),
    entry!("translate" () [Citext, Citext, Text] => Text, translated, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [COMPARISONS, FUNCTIONS];
