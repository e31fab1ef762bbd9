//! Functions that PostgreSQL has for its own use and that can be called: other names of functions (`dexp` is `exp`), orders of two
//! types, offsets of window frames (`in_range`), amounts of money in words.

use verso_types::opaque::money::Money;
use verso_types::{Number, SqlType, TypeError, Value};

use super::define::{entry, sql_type, unexpected};
use super::registry::candidates;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// Calls the function of another name that takes the same.
fn called(name: &str, args: &[ArgType], cx: &EvalContext<'_>, values: &[Value]) -> Result<Value> {
    let found = candidates(name).iter().find(|function| function.declared(args.len()) == args);
    match found.map(|function| function.body) {
        Some(Body::Scalar(scalar)) => scalar(cx, values),
        _ => Err(ExecError::raised("XX000", format!("there is no function {name}"))),
    }
}

macro_rules! other_names {
    ($($name:literal [$($arg:ident),*] => $result:ident = $known:literal;)*) => {
        &[$(entry!($name () [$($arg),*] => $result, |cx, args| {
            called($known, &[$(ArgType::Exact(sql_type!($arg))),*], cx, args)
        }, None),)*]
    };
}

static OTHER_NAMES: &[BuiltinFunction] = other_names! {
    "dexp" [Float8] => Float8 = "exp";
    "dlog1" [Float8] => Float8 = "ln";
    "dlog10" [Float8] => Float8 = "log";
    "dround" [Float8] => Float8 = "round";
    "dtrunc" [Float8] => Float8 = "trunc";
    "numeric_exp" [Numeric] => Numeric = "exp";
    "numeric_ln" [Numeric] => Numeric = "ln";
    "numeric_sqrt" [Numeric] => Numeric = "sqrt";
    "numeric_log" [Numeric, Numeric] => Numeric = "log";
    "numeric_div_trunc" [Numeric, Numeric] => Numeric = "div";
    "textlen" [Text] => Int4 = "length";
    "timestamp" [Date, Time] => Timestamp = "datetime_pl";
};

/// The order of two numbers of different types.
fn order(name: &str, args: &[Value]) -> Result<Value> {
    let [a, b] = args else { return Err(unexpected(name, args)) };
    let order = match (a.as_i64(), b.as_i64(), a.as_f64(), b.as_f64()) {
        (Some(a), Some(b), ..) => a.cmp(&b),
        // NaN is behind all others, and equal to itself.
        (_, _, Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan())),
        _ => return Err(unexpected(name, args)),
    };
    Ok(Value::Int4(order as i32))
}

macro_rules! orders {
    ($($name:literal $a:ident $b:ident;)*) => {
        &[$(entry!($name () [$a, $b] => Int4, |_, args| order($name, args), None),)*]
    };
}

static ORDERS: &[BuiltinFunction] = orders! {
    "btint24cmp" Int2 Int4;
    "btint28cmp" Int2 Int8;
    "btint42cmp" Int4 Int2;
    "btint48cmp" Int4 Int8;
    "btint82cmp" Int8 Int2;
    "btint84cmp" Int8 Int4;
    "btfloat48cmp" Float4 Float8;
    "btfloat84cmp" Float8 Float4;
};

fn wrong_size() -> ExecError {
    let text = "invalid preceding or following size in window function";
    TypeError::new("22013", text).into()
}

/// `in_range(value, base, offset, before, less)`: whether a value is at most, or at least, so far from the base.
fn in_range(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [value, base, offset, Value::Bool(before), Value::Bool(less)] = args else {
        return Err(unexpected("in_range", args));
    };
    if matches!(offset, Value::Interval(_) | Value::Numeric(_) | Value::Big(_)) {
        let style = cx.services.time_zone;
        return crate::exec::in_range(style, (value, base, offset), *before, *less).map(Value::Bool);
    }
    if let (Some(value), Some(base), Some(offset)) = (value.as_i64(), base.as_i64(), offset.as_i64()) {
        if offset < 0 {
            return Err(wrong_size());
        }
        // No sum of two such numbers leaves 128 bits.
        let offset = i128::from(if *before { -1i8 } else { 1 }) * i128::from(offset);
        let (value, edge) = (i128::from(value), i128::from(base) + offset);
        return Ok(Value::Bool(if *less { value <= edge } else { value >= edge }));
    }
    let (Some(value), Some(base), Some(offset)) = (value.as_f64(), base.as_f64(), offset.as_f64()) else {
        return Err(unexpected("in_range", args));
    };
    if offset.is_nan() || offset < 0.0 {
        return Err(wrong_size());
    }
    let within = match (value.is_nan(), base.is_nan()) {
        (true, true) => true,
        (true, false) => !less,
        (false, true) => *less,
        (false, false) => {
            let away = if *before { base > 0.0 } else { base < 0.0 };
            let edge = if *before { base - offset } else { base + offset };
            let everywhere = offset.is_infinite() && base.is_infinite() && away;
            everywhere || if *less { value <= edge } else { value >= edge }
        }
    };
    Ok(Value::Bool(within))
}

macro_rules! in_ranges {
    ($($a:ident $b:ident $c:ident;)*) => {
        &[$(entry!("in_range" () [$a, $b, $c, Bool, Bool] => Bool, |cx, args| in_range(cx, args), None),)*]
    };
}

static IN_RANGES: &[BuiltinFunction] = in_ranges! {
    Int8 Int8 Int8;
    Int4 Int4 Int8;
    Int4 Int4 Int4;
    Int4 Int4 Int2;
    Int2 Int2 Int8;
    Int2 Int2 Int4;
    Int2 Int2 Int2;
    Float8 Float8 Float8;
    Float4 Float4 Float8;
    Numeric Numeric Numeric;
    Date Date Interval;
    Time Time Interval;
    Timetz Timetz Interval;
    Timestamp Timestamp Interval;
    Timestamptz Timestamptz Interval;
    Interval Interval Interval;
};

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] =
    ["", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// A number below a thousand in words.
fn in_words(number: u64) -> String {
    let (hundreds, rest) = ((number / 100) as usize, (number % 100) as usize);
    let below = match rest {
        0..20 => ONES[rest].to_owned(),
        rest if rest % 10 == 0 => TENS[rest / 10].to_owned(),
        rest => format!("{} {}", TENS[rest / 10], ONES[rest % 10]),
    };
    match (hundreds, rest) {
        (0, _) => below,
        (hundreds, 0) => format!("{} hundred", ONES[hundreds]),
        (hundreds, 1..20) => format!("{} hundred and {below}", ONES[hundreds]),
        (hundreds, _) => format!("{} hundred {below}", ONES[hundreds]),
    }
}

/// An amount of money in English words.
fn cash_words(args: &[Value]) -> Result<Value> {
    let [Value::Opaque(amount)] = args else { return Err(unexpected("cash_words", args)) };
    let cents = Money::of(amount).0;
    let (mut words, amount) = (String::new(), cents.unsigned_abs());
    if cents < 0 {
        words.push_str("minus ");
    }
    let (whole, rest) = (amount / 100, amount % 100);
    let sizes = [
        (1_000_000_000_000_000, "quadrillion "),
        (1_000_000_000_000, "trillion "),
        (1_000_000_000, "billion "),
        (1_000_000, "million "),
        (1_000, "thousand "),
    ];
    for (size, name) in sizes {
        let part = whole / size % 1_000;
        if part > 0 {
            words.push_str(&format!("{} {name}", in_words(part)));
        }
    }
    match whole {
        0 => words.push_str("zero"),
        whole if whole % 1_000 > 0 => words.push_str(&in_words(whole % 1_000)),
        _ => {}
    }
    let dollars = if whole == 1 { " dollar and " } else { " dollars and " };
    let end = if rest == 1 { " cent" } else { " cents" };
    words.push_str(&format!("{dollars}{}{end}", in_words(rest)));
    words[..1].make_ascii_uppercase();
    Ok(Value::text(&words))
}

static WORDS: &[BuiltinFunction] = &[
    entry!("cash_words" () [Money] => Text, |_, args| cash_words(args), None),
    BuiltinFunction {
        strict: false,
        ..entry!("similar_escape" () [Text, Text] => Text, |cx, args| match args {
            [Value::Null, _] => Ok(Value::Null),
            [pattern, Value::Null] => {
                let default = [pattern.clone(), Value::text("\\")];
                called("similar_to_escape", &TWO_TEXTS, cx, &default)
            }
            args => called("similar_to_escape", &TWO_TEXTS, cx, args),
        }, None)
    },
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..entry!("length" () [Bytea, Name] => Int4, |cx, args| {
        let of = [ArgType::Exact(SqlType::Bytea), ArgType::Exact(SqlType::Name)];
        let text = called("convert_from", &of, cx, args)?;
        Ok(Value::Int4(text.as_str().map_or(0, |text| text.chars().count() as i32)))
    }, None)
    },
];

const TWO_TEXTS: [ArgType; 2] = [ArgType::Exact(SqlType::Text), ArgType::Exact(SqlType::Text)];

/// How far the second value lies before the first one, as range types measure it.
fn distance(name: &str, args: &[Value]) -> Result<Value> {
    let seconds = |a: i64, b: i64| (i128::from(a) - i128::from(b)) as f64 / 1e6;
    Ok(Value::Float8(match args {
        [Value::Int4(a), Value::Int4(b)] => f64::from(*a) - f64::from(*b),
        [Value::Int8(a), Value::Int8(b)] => *a as f64 - *b as f64,
        [Value::Date(a), Value::Date(b)] => f64::from(a.wrapping_sub(*b)),
        [Value::Timestamp(a), Value::Timestamp(b)] => seconds(*a, *b),
        [Value::Timestamptz(a), Value::Timestamptz(b)] => seconds(*a, *b),
        [a, b] => match (Number::of(a), Number::of(b)) {
            (Some(a), Some(b)) => a.plus(&b.negate()).to_f64(),
            _ => return Err(unexpected(name, args)),
        },
        _ => return Err(unexpected(name, args)),
    }))
}

macro_rules! distances {
    ($($name:literal $ty:ident;)*) => {
        &[$(entry!($name () [$ty, $ty] => Float8, |_, args| distance($name, args), None),)*]
    };
}

static DISTANCES: &[BuiltinFunction] = distances! {
    "int4range_subdiff" Int4;
    "int8range_subdiff" Int8;
    "numrange_subdiff" Numeric;
    "daterange_subdiff" Date;
    "tsrange_subdiff" Timestamp;
    "tstzrange_subdiff" Timestamptz;
};

/// A name with a number behind it, cut so that both fit into a name.
fn name_with_number(args: &[Value]) -> Result<Value> {
    let [Value::Text(name), Value::Int8(number)] = args else {
        return Err(unexpected("nameconcatoid", args));
    };
    let suffix = format!("_{number}");
    let kept = name.floor_char_boundary(63 - suffix.len());
    Ok(Value::text(&format!("{}{suffix}", &name[..kept.min(name.len())])))
}

static NAMES: &[BuiltinFunction] =
    &[entry!("nameconcatoid" () [Name, Oid] => Name, |_, args| name_with_number(args), None)];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 6] = [OTHER_NAMES, ORDERS, IN_RANGES, WORDS, DISTANCES, NAMES];
