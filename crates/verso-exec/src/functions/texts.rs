//! Functions of texts. Positions and lengths count characters.

use std::borrow::Cow;
use std::sync::Arc;

use verso_types::text::type_of;
use verso_types::{SqlType, TypeError, Value, cast, format_text};

use super::case;
use super::define::{entry, unexpected};
use super::kernel::{Kernel, KernelFn};
use super::text_kernels as kernels;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::{Bytes, VALUE_BYTES_MAX};
use crate::plan::CastKind;

/// Characters between two looks at the flag that cancels.
const TICK_CHARS: usize = 1 << 20;
/// Bytes that are searched between two looks.
const FIND_BYTES: usize = 16 << 20;

/// A strict function: argument types and names, result type, value.
macro_rules! text_function {
    ($name:literal ($($op:literal)?): $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        text_function!($name ($($op)?): $($v $ty),* => $res = $body, None)
    };
    ($name:literal ($($op:literal)?) with $cx:ident: $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        text_function!($name ($($op)?) with $cx: $($v $ty),* => $res = $body, None)
    };
    ($name:literal ($($op:literal)?) with $cx:ident: $($v:ident $ty:ident),* => $res:ident = $body:expr, $kernel:expr) => {
        entry!($name ($($op)?) [$($ty),*] => $res, |$cx, args| match args {
            [$(super::define::pattern!($ty, $v)),*] => $body,
            _ => Err(unexpected($name, args)),
        }, $kernel)
    };
    ($name:literal ($($op:literal)?): $($v:ident $ty:ident),* => $res:ident = $body:expr, $kernel:expr) => {
        entry!($name ($($op)?) [$($ty),*] => $res, |_, args| match args {
            [$(super::define::pattern!($ty, $v)),*] => $body,
            _ => Err(unexpected($name, args)),
        }, $kernel)
    };
}

/// The same under a type whose values are texts.
macro_rules! char_function {
    ($name:literal: $v:ident $ty:ident($modifier:expr) => $res:ident = $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact(SqlType::$ty($modifier))],
            variadic: false,
            result: ResultType::Fixed(super::define::sql_type!($res)),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar(|_, args| match args {
                [Value::Text($v)] => $body,
                _ => Err(unexpected($name, args)),
            }),
            kernel: None,
        }
    };
}

fn text(value: impl AsRef<str>) -> Result<Value> {
    Ok(Value::text(value.as_ref()))
}

fn count(value: usize) -> Result<Value> {
    Ok(Value::Int4(i32::try_from(value).map_err(|_| TypeError::out_of_range("integer"))?))
}

#[cold]
fn too_long() -> TypeError {
    TypeError::new("54000", "requested length too large")
}

/// What `substring(… from start for length)` wants, of characters or bytes: how many are left out, and how many come then.
/// Positions before the first one count, but hold nothing.
pub(super) fn part_wanted(start: i32, length: Option<i32>) -> Result<(usize, usize)> {
    let start = i64::from(start);
    let end = match length {
        Some(length) if length < 0 => {
            return Err(TypeError::new("22011", "negative substring length not allowed").into());
        }
        Some(length) => start + i64::from(length),
        None => i64::MAX,
    };
    let count = |count: i64| usize::try_from(count.max(0)).unwrap_or(usize::MAX);
    Ok((count(start - 1), count(end - start.max(1))))
}

fn substring(value: &str, start: i32, length: Option<i32>) -> Result<Value> {
    let (skip, take) = part_wanted(start, length)?;
    text(slice(value, skip, take))
}

/// `take` characters behind the first `skip`.
pub(super) fn slice(value: &str, skip: usize, take: usize) -> &str {
    let offset = |text: &str, n: usize| match text.is_ascii() {
        true => n.min(text.len()),
        false => text.char_indices().nth(n).map_or(text.len(), |(i, _)| i),
    };
    let rest = &value[offset(value, skip)..];
    &rest[..offset(rest, take)]
}

/// `overlay(value placing new from start for length)`.
fn overlay(value: &str, new: &str, start: i32, length: i64) -> Result<Value> {
    if start <= 0 {
        return Err(TypeError::new("22011", "negative substring length not allowed").into());
    }
    let skip = i64::from(start) - 1 + length;
    if i32::try_from(skip + 1).is_err() {
        return Err(TypeError::out_of_range("integer").into());
    }
    let head = slice(value, 0, usize::try_from(start - 1).unwrap_or(0));
    let tail = slice(value, usize::try_from(skip).unwrap_or(0), usize::MAX);
    text([head, new, tail].concat())
}

/// Characters from the left; a negative count leaves out so many at the right.
pub(super) fn left(value: &str, n: i32) -> &str {
    let take = if n < 0 { value.chars().count() as i64 + i64::from(n) } else { i64::from(n) };
    slice(value, 0, usize::try_from(take).unwrap_or(0))
}

pub(super) fn right(value: &str, n: i32) -> &str {
    if n == i32::MIN {
        return value; // as in PostgreSQL, whose integers do not hold what is turned round
    }
    let length = value.chars().count() as i64;
    let skip = if n < 0 { -i64::from(n) } else { (length - i64::from(n)).max(0) };
    slice(value, usize::try_from(skip).unwrap_or(0), usize::MAX)
}

pub(super) fn position(cx: &EvalContext<'_>, value: &str, part: &str) -> Result<Value> {
    count(find(cx, value, part)?.map_or(0, |at| value[..at].chars().count() + 1))
}

/// Where `part` first stands in `value`, in bytes. Long texts are searched in steps between which the statement may be
/// cancelled.
fn find(cx: &EvalContext<'_>, value: &str, part: &str) -> Result<Option<usize>> {
    let mut from = 0;
    // A step ends so far behind the next one's beginning that what stands across is found by one of them.
    while value.len() - from > FIND_BYTES + part.len() {
        let next = value.floor_char_boundary(from + FIND_BYTES);
        let end = value.ceil_char_boundary(next + part.len());
        if let Some(at) = value[from..end].find(part) {
            return Ok(Some(from + at));
        }
        cx.runtime.check_cancelled()?;
        from = next;
    }
    Ok(value[from..].find(part).map(|at| from + at))
}

pub(super) fn trim<'t>(value: &'t str, characters: &str, left: bool, right: bool) -> &'t str {
    let mut value = value;
    if left {
        value = value.trim_start_matches(|c| characters.contains(c));
    }
    if right {
        value = value.trim_end_matches(|c| characters.contains(c));
    }
    value
}

fn repeat(cx: &EvalContext<'_>, value: &str, n: i32) -> Result<Value> {
    let n = usize::try_from(n).unwrap_or(0);
    let length = value.len().saturating_mul(n);
    if length > VALUE_BYTES_MAX {
        return Err(too_long().into());
    }
    let mut result = Bytes::with_capacity(cx, length)?;
    if length > 0 {
        // Short ones many at a time.
        let block = value.repeat((TICK_CHARS / value.len()).clamp(1, n));
        while length - result.len() >= block.len() {
            result.push(block.as_bytes())?;
        }
        result.push(&block.as_bytes()[..length - result.len()])?;
    }
    Ok(result.into_text())
}

/// Fills up with `fill` to `length` characters, or cuts on the right.
fn pad(cx: &EvalContext<'_>, value: &str, length: i32, fill: &str, at_left: bool) -> Result<Value> {
    let length = usize::try_from(length).unwrap_or(0);
    if length.saturating_mul(4) > VALUE_BYTES_MAX {
        return Err(too_long().into());
    }
    let mut result = Bytes::new(cx);
    put_padded(value, length, fill, at_left, &mut |part| result.push(part))?;
    Ok(result.into_text())
}

/// Puts the parts of a text that is filled up, or cut, to `length` characters.
///
/// # Errors
/// Those of `put`.
pub(super) fn put_padded<E>(
    value: &str,
    length: usize,
    fill: &str,
    at_left: bool,
    put: &mut dyn FnMut(&[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let own = value.chars().count();
    if own >= length || fill.is_empty() {
        return put(slice(value, 0, length).as_bytes());
    }
    if !at_left {
        put(value.as_bytes())?;
    }
    let (mut left, characters) = (length - own, fill.chars().count());
    while left > 0 {
        let part = if left < characters { slice(fill, 0, left) } else { fill };
        put(part.as_bytes())?;
        left -= left.min(characters);
    }
    if at_left { put(value.as_bytes()) } else { Ok(()) }
}

/// Every occurrence of `from` replaced.
fn replace(cx: &EvalContext<'_>, value: &Arc<str>, from: &str, to: &str) -> Result<Value> {
    if from.is_empty() {
        return Ok(Value::Text(Arc::clone(value)));
    }
    let mut result = Bytes::new(cx);
    put_replaced(value, from, to, |count, part| {
        check_each(cx, count)?;
        result.push(part)
    })?;
    Ok(result.into_text())
}

/// Puts the parts of a text in which each `from`, which is not empty, is `to`; with each part how many were met before it.
///
/// # Errors
/// Those of `put`.
pub(super) fn put_replaced<E>(
    value: &str,
    from: &str,
    to: &str,
    mut put: impl FnMut(usize, &[u8]) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    for (count, part) in value.split(from).enumerate() {
        if count > 0 {
            put(count, to.as_bytes())?;
        }
        put(count, part.as_bytes())?;
    }
    Ok(())
}

/// One text behind the other.
fn join<'a>(cx: &'a EvalContext<'a>, parts: &[&[u8]]) -> Result<Bytes<'a>> {
    let length = parts.iter().map(|part| part.len()).fold(0, usize::saturating_add);
    let mut result = Bytes::with_capacity(cx, length)?;
    parts.iter().try_for_each(|part| result.push(part))?;
    Ok(result)
}

/// What `map` makes of each character.
pub(super) fn each_char(
    cx: &EvalContext<'_>,
    characters: impl Iterator<Item = char>,
    mut map: impl FnMut(char, &mut dyn FnMut(char)),
) -> Result<Value> {
    let mut result = Bytes::new(cx);
    let mut piece = String::new();
    for (count, c) in characters.enumerate() {
        map(c, &mut |c| piece.push(c));
        if piece.len() >= 1024 {
            result.push(piece.as_bytes())?;
            piece.clear();
        }
        check_each(cx, count)?;
    }
    result.push(piece.as_bytes())?;
    Ok(result.into_text())
}

/// The character of a code.
///
/// # Errors
/// 54000 where there is none, 22023 below zero.
pub(super) fn character(code: i32) -> std::result::Result<char, TypeError> {
    let invalid = |sqlstate, message: String| Err(TypeError::new(sqlstate, message));
    match u32::try_from(code) {
        Ok(0) => invalid("54000", "null character not permitted".into()),
        Err(_) => invalid("22023", "character number must be positive".into()),
        Ok(code) => match char::from_u32(code) {
            Some(c) => Ok(c),
            None if code > u32::from(char::MAX) => {
                invalid("54000", format!("requested character too large for encoding: {code}"))
            }
            None => invalid("54000", format!("requested character not valid for encoding: {code}")),
        },
    }
}

pub(super) fn translate(cx: &EvalContext<'_>, value: &str, from: &str, to: &str) -> Result<Value> {
    let to: Vec<char> = to.chars().collect();
    each_char(cx, value.chars(), |c, push| match from.chars().position(|f| f == c) {
        None => push(c),
        Some(i) => to.get(i).copied().into_iter().for_each(push),
    })
}

/// The `n`-th field; a negative `n` counts from the end. `tick` is told which field is looked at.
///
/// # Errors
/// 22023 for the field 0; those of `tick`.
pub(super) fn split_part<'t, E: From<TypeError>>(
    value: &'t str,
    delimiter: &str,
    n: i32,
    tick: &mut dyn FnMut(usize) -> std::result::Result<(), E>,
) -> std::result::Result<&'t str, E> {
    if n == 0 {
        return Err(TypeError::new("22023", "field position must not be zero").into());
    }
    let index = n.unsigned_abs() as usize - 1;
    if delimiter.is_empty() {
        return Ok(if index == 0 { value } else { "" });
    }
    let found = if n > 0 { Some(index) } else { from_the_end(value, delimiter, index, tick)? };
    let Some(index) = found else { return Ok("") };
    for (field, text) in value.split(delimiter).enumerate() {
        if field == index {
            return Ok(text);
        }
        tick(field)?;
    }
    Ok("")
}

/// Which field it is that so many follow, as counted from the front: occurrences of the delimiter may overlap.
fn from_the_end<E>(
    value: &str,
    delimiter: &str,
    behind: usize,
    tick: &mut dyn FnMut(usize) -> std::result::Result<(), E>,
) -> std::result::Result<Option<usize>, E> {
    let mut count = 0;
    for (field, _) in value.split(delimiter).enumerate() {
        tick(field)?;
        count = field + 1;
    }
    Ok(count.checked_sub(behind + 1))
}

/// Looks at the flag that cancels now and then.
fn check_each(cx: &EvalContext<'_>, count: usize) -> Result<()> {
    if count % TICK_CHARS == TICK_CHARS - 1 { cx.runtime.check_cancelled() } else { Ok(()) }
}

/// A value as its output function writes it (`concat`).
pub(super) fn output(cx: &EvalContext<'_>, value: &Value, out: &mut Bytes<'_>) -> Result<()> {
    match value {
        Value::Text(value) => out.push(value.as_bytes()),
        value => {
            let mut text = String::new();
            format_text(value, &type_of(value), cx.services.time_zone, &mut text);
            out.push(text.as_bytes())
        }
    }
}

/// Whether only the type tells how its values are written: their own representation is that of another type.
pub fn is_named(ty: &SqlType) -> bool {
    match ty {
        // with its blanks
        SqlType::Enum(_) | SqlType::Char(Some(_)) => true,
        SqlType::System(system) => system.is_reference(),
        SqlType::Array(element) => is_named(element),
        SqlType::Range(of) | SqlType::Multirange(of) => is_named(&of.subtype()),
        SqlType::Row(row) => row.fields.iter().any(|(_, ty)| is_named(ty)),
        _ => false,
    }
}

/// The arguments of a function that takes any type, those whose type says how they are written as texts.
pub(super) fn shown<'a>(cx: &EvalContext<'_>, args: &'a [Value], types: &[SqlType]) -> Cow<'a, [Value]> {
    if !types.iter().any(is_named) {
        return Cow::Borrowed(args);
    }
    let one = |(arg, ty): (&Value, &SqlType)| match arg {
        Value::Null => Value::Null,
        arg if is_named(ty) => {
            let mut text = String::new();
            format_text(arg, ty, cx.services.time_zone, &mut text);
            Value::text(&text)
        }
        arg => arg.clone(),
    };
    Cow::Owned(args.iter().zip(types).map(one).collect())
}

/// `text || anything` and `anything || text`: the other side is cast to text.
fn concat_any(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let mut result = Bytes::new(cx);
    for arg in args {
        match arg {
            Value::Text(value) => result.push(value.as_bytes())?,
            value => {
                let value =
                    cast(value, &type_of(value), &SqlType::Text, CastKind::Explicit, cx.services.time_zone)?;
                result.push(value.as_str().unwrap_or_default().as_bytes())?;
            }
        }
    }
    Ok(result.into_text())
}

fn concat(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let mut result = Bytes::new(cx);
    args.iter().filter(|arg| !arg.is_null()).try_for_each(|arg| output(cx, arg, &mut result))?;
    Ok(result.into_text())
}

fn concat_ws(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let Some((Value::Text(separator), rest)) = args.split_first() else { return Ok(Value::Null) };
    let mut result = Bytes::new(cx);
    for (i, arg) in rest.iter().filter(|arg| !arg.is_null()).enumerate() {
        if i > 0 {
            result.push(separator.as_bytes())?;
        }
        output(cx, arg, &mut result)?;
    }
    Ok(result.into_text())
}

const fn kernel(kernel: KernelFn) -> Option<Kernel> {
    Some(Kernel::Columns(kernel))
}

static TEXTS: &[BuiltinFunction] = &[
    text_function!("textcat" ("||") with cx: a Text, b Text => Text =
        Ok(join(cx, &[a.as_bytes(), b.as_bytes()])?.into_text()), Some(Kernel::Concat)),
    text_function!("byteacat" ("||") with cx: a Bytea, b Bytea => Bytea = Ok(join(cx, &[a, b])?.into_bytea())),
    text_function!("length" (): a Text => Int4 = count(a.chars().count()), kernel(kernels::length)),
    text_function!("char_length" (): a Text => Int4 = count(a.chars().count()), kernel(kernels::length)),
    text_function!("character_length" (): a Text => Int4 = count(a.chars().count()), kernel(kernels::length)),
    text_function!("octet_length" (): a Text => Int4 = count(a.len()), kernel(kernels::octets)),
    text_function!("bit_length" (): a Text => Int4 = count(a.len() * 8)),
    char_function!("length": a Char(None) => Int4 = count(a.trim_end_matches(' ').chars().count())),
    text_function!("length" (): a Bytea => Int4 = count(a.len())),
    text_function!("octet_length" (): a Bytea => Int4 = count(a.len())),
    text_function!("lower" () with cx: a Text => Text = case::lower(cx, case::Mapping::Simple, a), kernel(kernels::lowered)),
    text_function!("upper" () with cx: a Text => Text = case::upper(cx, case::Mapping::Simple, a), kernel(kernels::raised)),
    text_function!("initcap" () with cx: a Text => Text = case::initcap(cx, case::Mapping::Simple, a)),
    text_function!("substr" (): a Text, b Int4 => Text = substring(a, *b, None), kernel(kernels::substrings)),
    text_function!("substr" (): a Text, b Int4, c Int4 => Text = substring(a, *b, Some(*c)), kernel(kernels::substrings)),
    text_function!("substring" (): a Text, b Int4 => Text = substring(a, *b, None), kernel(kernels::substrings)),
    text_function!("substring" (): a Text, b Int4, c Int4 => Text = substring(a, *b, Some(*c)), kernel(kernels::substrings)),
    text_function!("btrim" (): a Text => Text = text(trim(a, " ", true, true)), kernel(kernels::trims::<true, true>)),
    text_function!("btrim" (): a Text, b Text => Text = text(trim(a, b, true, true)), kernel(kernels::trims::<true, true>)),
    text_function!("ltrim" (): a Text => Text = text(trim(a, " ", true, false)), kernel(kernels::trims::<true, false>)),
    text_function!("ltrim" (): a Text, b Text => Text = text(trim(a, b, true, false)), kernel(kernels::trims::<true, false>)),
    text_function!("rtrim" (): a Text => Text = text(trim(a, " ", false, true)), kernel(kernels::trims::<false, true>)),
    text_function!("rtrim" (): a Text, b Text => Text = text(trim(a, b, false, true)), kernel(kernels::trims::<false, true>)),
    text_function!("position" () with cx: a Text, b Text => Int4 = position(cx, a, b), kernel(kernels::position)),
    text_function!("strpos" () with cx: a Text, b Text => Int4 = position(cx, a, b), kernel(kernels::position)),
    text_function!("replace" () with cx: a Text, b Text, c Text => Text = replace(cx, a, b, c), kernel(kernels::replaced)),
    text_function!("translate" () with cx: a Text, b Text, c Text => Text = translate(cx, a, b, c)),
    text_function!("repeat" () with cx: a Text, b Int4 => Text = repeat(cx, a, *b), kernel(kernels::repeated)),
    text_function!("left" (): a Text, b Int4 => Text = text(left(a, *b)), kernel(kernels::lefts)),
    text_function!("right" (): a Text, b Int4 => Text = text(right(a, *b)), kernel(kernels::rights)),
    text_function!("lpad" () with cx: a Text, b Int4 => Text = pad(cx, a, *b, " ", true), kernel(kernels::padded::<true>)),
    text_function!("lpad" () with cx: a Text, b Int4, c Text => Text = pad(cx, a, *b, c, true), kernel(kernels::padded::<true>)),
    text_function!("rpad" () with cx: a Text, b Int4 => Text = pad(cx, a, *b, " ", false), kernel(kernels::padded::<false>)),
    text_function!("rpad" () with cx: a Text, b Int4, c Text => Text = pad(cx, a, *b, c, false), kernel(kernels::padded::<false>)),
    text_function!("reverse" () with cx: a Text => Text = each_char(cx, a.chars().rev(), |c, push| push(c)), kernel(kernels::reversed)),
    text_function!("chr" (): a Int4 => Text = text(character(*a)?.encode_utf8(&mut [0; 4])), kernel(kernels::chars)),
    text_function!("ascii" (): a Text => Int4 = Ok(Value::Int4(a.chars().next().map_or(0, |c| c as i32))), kernel(kernels::ascii)),
    text_function!("split_part" () with cx: a Text, b Text, c Int4 => Text = text(split_part(a, b, *c, &mut |field| check_each(cx, field))?), kernel(kernels::split_parts)),
    text_function!("starts_with" ("^@"): a Text, b Text => Bool = Ok(Value::Bool(a.starts_with(&**b))), kernel(kernels::starts_with)),
    text_function!("to_hex" (): a Int4 => Text = text(format!("{a:x}")), kernel(kernels::hexes::<i32>)),
    text_function!("to_bin" (): a Int4 => Text = text(format!("{a:b}"))),
    text_function!("to_bin" (): a Int8 => Text = text(format!("{a:b}"))),
    text_function!("to_oct" (): a Int4 => Text = text(format!("{a:o}"))),
    text_function!("to_oct" (): a Int8 => Text = text(format!("{a:o}"))),
    text_function!("overlay" (): a Text, b Text, c Int4 => Text = overlay(a, b, *c, b.chars().count() as i64)),
    text_function!("overlay" (): a Text, b Text, c Int4, d Int4 => Text = overlay(a, b, *c, i64::from(*d))),
    text_function!("to_hex" (): a Int8 => Text = text(format!("{a:x}")), kernel(kernels::hexes::<i64>)),
];

/// A function of arguments of any type.
macro_rules! any_function {
    ($name:literal ($($op:literal)?) [$($arg:expr),*] variadic $variadic:literal strict $strict:literal $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: super::define::optional!($($op)?),
            args: &[$($arg),*],
            variadic: $variadic,
            result: ResultType::Fixed(SqlType::Text),
            strict: $strict,
            volatility: Volatility::Stable,
            body: Body::Typed(|cx, args, types| $f(cx, &shown(cx, args, types))),
            kernel: None,
        }
    };
}

static ANY: &[BuiltinFunction] = &[
    any_function!("textanycat" ("||") [ArgType::Exact(SqlType::Text), ArgType::AnyNonArray]
        variadic false strict true concat_any),
    any_function!("anytextcat" ("||") [ArgType::AnyNonArray, ArgType::Exact(SqlType::Text)]
        variadic false strict true concat_any),
    any_function!("concat" () [ArgType::Any] variadic true strict false concat),
    any_function!("concat_ws" () [ArgType::Exact(SqlType::Text), ArgType::Any] variadic true strict false concat_ws),
];

/// `char(n)` as text with its blanks, for what sees them.
pub static WITH_BLANKS: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: None,
    args: &[ArgType::Any],
    variadic: false,
    result: ResultType::Fixed(SqlType::Text),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::Typed(|cx, args, types| Ok(shown(cx, args, types).first().cloned().unwrap_or(Value::Null))),
    kernel: None,
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [TEXTS, ANY];

#[cfg(test)]
mod unit_tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::error::ExecError;
    use crate::testing::TestSession;

    #[test]
    fn a_long_text_is_searched_in_steps() {
        let session = TestSession::default();
        let services = session.services();
        let cx = session.context(&services);
        let mut text = "ä".repeat(FIND_BYTES);
        // Across the border of two steps, and behind all of them.
        for (place, part) in [(FIND_BYTES - 2, "xyz"), (FIND_BYTES, "xyzw"), (text.len() - 4, "yx")] {
            let place = text.floor_char_boundary(place);
            let end = text.ceil_char_boundary(place + part.len());
            let before = text[place..end].to_owned();
            text.replace_range(place..end, part);
            assert_eq!(find(&cx, &text, part).expect("found"), Some(place), "{part}");
            text.replace_range(place..place + part.len(), &before);
        }
        assert_eq!(find(&cx, &text, "x").expect("searched"), None);
        session.cancel.store(true, Ordering::Relaxed);
        let error = find(&cx, &text, "x").expect_err("cancelled");
        assert!(matches!(error, ExecError::Cancelled), "{error:?}");
    }
}
