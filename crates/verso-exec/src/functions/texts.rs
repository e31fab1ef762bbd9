//! Functions of texts. Positions and lengths count characters.

use std::fmt::Write as _;

use verso_types::text::type_of;
use verso_types::{SqlType, TypeError, Value, cast, format_text};

use super::define::{entry, unexpected};
use super::kernel::Kernel;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::plan::CastKind;

/// A result longer than this is refused before it is made (PostgreSQL's limit of one value).
const MAX_TEXT_BYTES: usize = 1 << 30;

/// A strict function: argument types and names, result type, value.
macro_rules! text_function {
    ($name:literal ($($op:literal)?): $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        text_function!($name ($($op)?): $($v $ty),* => $res = $body, None)
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

/// `substring(value from start for length)`: positions before the first character count, but hold nothing.
fn substring(value: &str, start: i32, length: Option<i32>) -> Result<Value> {
    let start = i64::from(start);
    let end = match length {
        Some(length) if length < 0 => {
            return Err(TypeError::new("22011", "negative substring length not allowed").into());
        }
        Some(length) => start + i64::from(length),
        None => i64::MAX,
    };
    let skip = usize::try_from((start - 1).max(0)).unwrap_or(usize::MAX);
    let take = usize::try_from((end - start.max(1)).max(0)).unwrap_or(usize::MAX);
    text(slice(value, skip, take))
}

/// `take` characters behind the first `skip`.
fn slice(value: &str, skip: usize, take: usize) -> &str {
    let offset = |text: &str, n: usize| match text.is_ascii() {
        true => n.min(text.len()),
        false => text.char_indices().nth(n).map_or(text.len(), |(i, _)| i),
    };
    let rest = &value[offset(value, skip)..];
    &rest[..offset(rest, take)]
}

/// Characters from the left; a negative count leaves out so many at the right.
fn left(value: &str, n: i32) -> &str {
    let take = if n < 0 { value.chars().count() as i64 + i64::from(n) } else { i64::from(n) };
    slice(value, 0, usize::try_from(take).unwrap_or(0))
}

fn right(value: &str, n: i32) -> &str {
    let length = value.chars().count() as i64;
    let skip = if n < 0 { -i64::from(n) } else { (length - i64::from(n)).max(0) };
    slice(value, usize::try_from(skip).unwrap_or(0), usize::MAX)
}

fn position(value: &str, part: &str) -> Result<Value> {
    count(value.find(part).map_or(0, |at| value[..at].chars().count() + 1))
}

fn trim<'t>(value: &'t str, characters: &str, left: bool, right: bool) -> &'t str {
    let mut value = value;
    if left {
        value = value.trim_start_matches(|c| characters.contains(c));
    }
    if right {
        value = value.trim_end_matches(|c| characters.contains(c));
    }
    value
}

fn repeat(value: &str, n: i32) -> Result<Value> {
    let n = usize::try_from(n).unwrap_or(0);
    if value.len().saturating_mul(n) > MAX_TEXT_BYTES {
        return Err(too_long().into());
    }
    text(value.repeat(n))
}

/// Fills up with `fill` to `length` characters, or cuts on the right.
fn pad(value: &str, length: i32, fill: &str, at_left: bool) -> Result<Value> {
    let length = usize::try_from(length).unwrap_or(0);
    if length.saturating_mul(4) > MAX_TEXT_BYTES {
        return Err(too_long().into());
    }
    let own = value.chars().count();
    if own >= length || fill.is_empty() {
        return text(slice(value, 0, length));
    }
    let padding: String = fill.chars().cycle().take(length - own).collect();
    text(if at_left { padding + value } else { format!("{value}{padding}") })
}

fn character(code: i32) -> Result<Value> {
    let invalid = |sqlstate, message: &str| Err(TypeError::new(sqlstate, message).into());
    match u32::try_from(code) {
        Ok(0) => invalid("54000", "null character not permitted"),
        Err(_) => invalid("54000", "character number must be positive"),
        Ok(code) => match char::from_u32(code) {
            Some(c) => text(c.to_string()),
            None => invalid("54000", "requested character not valid for encoding: UTF8"),
        },
    }
}

fn capitals(value: &str) -> String {
    let mut inside = false;
    let mut result = String::with_capacity(value.len());
    for c in value.chars() {
        if inside {
            result.extend(c.to_lowercase());
        } else {
            result.extend(c.to_uppercase());
        }
        inside = c.is_alphanumeric();
    }
    result
}

fn translate(value: &str, from: &str, to: &str) -> String {
    let to: Vec<char> = to.chars().collect();
    value
        .chars()
        .filter_map(|c| match from.chars().position(|f| f == c) {
            None => Some(c),
            Some(i) => to.get(i).copied(),
        })
        .collect()
}

/// The `n`-th field; a negative `n` counts from the end.
fn split_part<'t>(value: &'t str, delimiter: &str, n: i32) -> Result<&'t str> {
    if n == 0 {
        return Err(TypeError::new("22023", "field position must not be zero").into());
    }
    let fields: Vec<&str> = if delimiter.is_empty() { vec![value] } else { value.split(delimiter).collect() };
    let index = if n > 0 { i64::from(n) - 1 } else { fields.len() as i64 + i64::from(n) };
    Ok(usize::try_from(index).ok().and_then(|i| fields.get(i).copied()).unwrap_or(""))
}

/// A value as its output function writes it (`concat`).
fn output(cx: &EvalContext<'_>, value: &Value, out: &mut String) {
    match value {
        Value::Text(value) => out.push_str(value),
        value => format_text(value, &type_of(value), cx.services.time_zone, out),
    }
}

/// `text || anything` and `anything || text`: the other side is cast to text.
fn concat_any(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let mut result = String::new();
    for arg in args {
        match arg {
            Value::Text(value) => result.push_str(value),
            value => {
                let value =
                    cast(value, &type_of(value), &SqlType::Text, CastKind::Explicit, cx.services.time_zone)?;
                result.push_str(value.as_str().unwrap_or_default());
            }
        }
    }
    text(result)
}

fn concat(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let mut result = String::new();
    args.iter().filter(|arg| !arg.is_null()).for_each(|arg| output(cx, arg, &mut result));
    text(result)
}

fn concat_ws(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let Some((Value::Text(separator), rest)) = args.split_first() else { return Ok(Value::Null) };
    let mut result = String::new();
    for (i, arg) in rest.iter().filter(|arg| !arg.is_null()).enumerate() {
        if i > 0 {
            result.push_str(separator);
        }
        output(cx, arg, &mut result);
    }
    text(result)
}

fn join_bytes(a: &[u8], b: &[u8]) -> Result<Value> {
    Ok(Value::bytes(&[a, b].concat()))
}

fn quote_literal(value: &str) -> String {
    let escaped = value.replace('\'', "''");
    if value.contains('\\') {
        format!("E'{}'", escaped.replace('\\', "\\\\"))
    } else {
        format!("'{escaped}'")
    }
}

fn quote_ident(value: &str) -> String {
    let plain = value
        .chars()
        .enumerate()
        .all(|(i, c)| c.is_ascii_lowercase() || c == '_' || (i > 0 && (c.is_ascii_digit() || c == '$')));
    if plain && !value.is_empty() { value.to_owned() } else { format!("\"{}\"", value.replace('"', "\"\"")) }
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut hex, byte| {
        // writing to a String cannot fail
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn encode(bytes: &[u8], format: &str) -> Result<Value> {
    match format.to_ascii_lowercase().as_str() {
        "hex" => text(to_hex(bytes)),
        _ => Err(TypeError::new("22023", format!("unrecognized encoding: \"{format}\"")).into()),
    }
}

fn decode(value: &str, format: &str) -> Result<Value> {
    if !format.eq_ignore_ascii_case("hex") {
        return Err(TypeError::new("22023", format!("unrecognized encoding: \"{format}\"")).into());
    }
    let digits: Vec<char> = value.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    for pair in digits.chunks(2) {
        let digit = |c: &char| {
            c.to_digit(16)
                .ok_or_else(|| TypeError::new("22023", format!("invalid hexadecimal digit: \"{c}\"")))
        };
        let [high, low] = pair else {
            return Err(TypeError::new("22023", "invalid hexadecimal data: odd number of digits").into());
        };
        bytes.push((digit(high)? * 16 + digit(low)?) as u8);
    }
    Ok(Value::bytes(&bytes))
}

static TEXTS: &[BuiltinFunction] = &[
    text_function!("textcat" ("||"): a Text, b Text => Text = text([&**a, &**b].concat()), Some(Kernel::Concat)),
    text_function!("byteacat" ("||"): a Bytea, b Bytea => Bytea = join_bytes(a, b)),
    text_function!("length" (): a Text => Int4 = count(a.chars().count())),
    text_function!("char_length" (): a Text => Int4 = count(a.chars().count())),
    text_function!("character_length" (): a Text => Int4 = count(a.chars().count())),
    text_function!("octet_length" (): a Text => Int4 = count(a.len())),
    text_function!("bit_length" (): a Text => Int4 = count(a.len() * 8)),
    char_function!("length": a Char(None) => Int4 = count(a.trim_end_matches(' ').chars().count())),
    text_function!("length" (): a Bytea => Int4 = count(a.len())),
    text_function!("octet_length" (): a Bytea => Int4 = count(a.len())),
    text_function!("lower" (): a Text => Text = text(a.to_lowercase())),
    text_function!("upper" (): a Text => Text = text(a.to_uppercase())),
    text_function!("initcap" (): a Text => Text = text(capitals(a))),
    text_function!("substr" (): a Text, b Int4 => Text = substring(a, *b, None)),
    text_function!("substr" (): a Text, b Int4, c Int4 => Text = substring(a, *b, Some(*c))),
    text_function!("substring" (): a Text, b Int4 => Text = substring(a, *b, None)),
    text_function!("substring" (): a Text, b Int4, c Int4 => Text = substring(a, *b, Some(*c))),
    text_function!("btrim" (): a Text => Text = text(trim(a, " ", true, true))),
    text_function!("btrim" (): a Text, b Text => Text = text(trim(a, b, true, true))),
    text_function!("ltrim" (): a Text => Text = text(trim(a, " ", true, false))),
    text_function!("ltrim" (): a Text, b Text => Text = text(trim(a, b, true, false))),
    text_function!("rtrim" (): a Text => Text = text(trim(a, " ", false, true))),
    text_function!("rtrim" (): a Text, b Text => Text = text(trim(a, b, false, true))),
    text_function!("position" (): a Text, b Text => Int4 = position(a, b)),
    text_function!("strpos" (): a Text, b Text => Int4 = position(a, b)),
    text_function!("replace" (): a Text, b Text, c Text => Text =
        text(if b.is_empty() { a.to_string() } else { a.replace(&**b, c) })),
    text_function!("translate" (): a Text, b Text, c Text => Text = text(translate(a, b, c))),
    text_function!("repeat" (): a Text, b Int4 => Text = repeat(a, *b)),
    text_function!("left" (): a Text, b Int4 => Text = text(left(a, *b))),
    text_function!("right" (): a Text, b Int4 => Text = text(right(a, *b))),
    text_function!("lpad" (): a Text, b Int4 => Text = pad(a, *b, " ", true)),
    text_function!("lpad" (): a Text, b Int4, c Text => Text = pad(a, *b, c, true)),
    text_function!("rpad" (): a Text, b Int4 => Text = pad(a, *b, " ", false)),
    text_function!("rpad" (): a Text, b Int4, c Text => Text = pad(a, *b, c, false)),
    text_function!("reverse" (): a Text => Text = text(a.chars().rev().collect::<String>())),
    text_function!("chr" (): a Int4 => Text = character(*a)),
    text_function!("ascii" (): a Text => Int4 = Ok(Value::Int4(a.chars().next().map_or(0, |c| c as i32)))),
    text_function!("split_part" (): a Text, b Text, c Int4 => Text = text(split_part(a, b, *c)?)),
    text_function!("starts_with" ("^@"): a Text, b Text => Bool = Ok(Value::Bool(a.starts_with(&**b)))),
    text_function!("quote_literal" (): a Text => Text = text(quote_literal(a))),
    text_function!("quote_ident" (): a Text => Text = text(quote_ident(a))),
    text_function!("to_hex" (): a Int4 => Text = text(format!("{a:x}"))),
    text_function!("to_hex" (): a Int8 => Text = text(format!("{a:x}"))),
    text_function!("encode" (): a Bytea, b Text => Text = encode(a, b)),
    text_function!("decode" (): a Text, b Text => Bytea = decode(a, b)),
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
            body: Body::Scalar($f),
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

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [TEXTS, ANY];
