//! What chance decides beside `random()`: `random_normal`, `array_shuffle`, `array_sample`.

use verso_types::array::Dimension;
use verso_types::{Array, Number, SqlType, TypeError, Value};

use super::define::{optional, sql_type, unexpected};
use super::session::{fraction, offset_within, random_between, session_function};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// By the polar form of Box and Muller.
fn random_normal(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let number = |at: usize, otherwise: f64| match args.get(at) {
        None => Ok(otherwise),
        Some(Value::Float8(value)) => Ok(*value),
        Some(_) => Err(unexpected("random_normal", args)),
    };
    let (mean, deviation) = (number(0, 0.0)?, number(1, 1.0)?);
    // Both above 0, as PostgreSQL takes them.
    let (first, second) = (1.0 - fraction(cx), 1.0 - fraction(cx));
    let normal = (-2.0 * first.ln()).sqrt() * (std::f64::consts::TAU * second).sin();
    Ok(Value::Float8(deviation * normal + mean))
}

/// A number from one to another, both included, with as many places behind the point as the longer of them.
fn random_numeric(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Some(low), Some(high)] = [args.first(), args.get(1)].map(|arg| arg.and_then(Number::of)) else {
        return Err(unexpected("random", args));
    };
    let invalid = |text: String| Err(TypeError::new("22023", text).into());
    for (side, number) in [("lower", &low), ("upper", &high)] {
        if number.is_nan() {
            return invalid(format!("{side} bound cannot be NaN"));
        }
        if matches!(number, Number::Infinity | Number::NegativeInfinity) {
            return invalid(format!("{side} bound cannot be infinity"));
        }
    }
    if low.compare(&high).is_gt() {
        return invalid("lower bound must be less than or equal to upper bound".into());
    }
    let places = low.scale().max(high.scale());
    let span = high.minus(&low).round(places as i32).to_string();
    // The distance in units of the last place is drawn digit by digit, until it is not beyond the span.
    let span = span.bytes().filter(u8::is_ascii_digit).map(|digit| digit - b'0');
    // Without zeros in front: at least one of eleven draws is within the span.
    let span: Vec<u8> = span.skip_while(|digit| *digit == 0).collect();
    let mut drawn = vec![0; span.len()];
    loop {
        cx.runtime.check_cancelled()?;
        for (digit, most) in drawn.iter_mut().zip(&span).take(1) {
            *digit = random_between(cx, 0, i64::from(*most))? as u8;
        }
        for digit in drawn.iter_mut().skip(1) {
            *digit = random_between(cx, 0, 9)? as u8;
        }
        if drawn <= span {
            break;
        }
    }
    let text: String = drawn.iter().map(|digit| char::from(b'0' + digit)).collect();
    let mut text = format!("{}{text}", "0".repeat((places + 1).saturating_sub(text.len())));
    text.insert(text.len() - places, '.');
    let distance = Number::of(&Number::parse_value(text.trim_end_matches('.'))?);
    Ok(distance.map_or_else(|| low.clone(), |distance| low.plus(&distance)).value()?)
}

/// The first `count` parts of an array's outermost dimension, in an order that chance has made (Fisher and Yates).
fn drawn(cx: &EvalContext<'_>, array: &Array, count: Option<usize>) -> Result<Value> {
    let mut dimensions = array.dimensions();
    let Some(outermost) = dimensions.first_mut() else { return Ok(Value::Array(array.clone())) };
    let parts = outermost.length as usize;
    let size = (array.len() / parts.max(1)).max(1);
    let mut order: Vec<usize> = (0..parts).collect();
    let wanted = count.unwrap_or(parts);
    for at in 0..wanted {
        if at.is_multiple_of(1024) {
            cx.runtime.check_cancelled()?;
        }
        // `setseed` has no say, as in PostgreSQL.
        let other =
            at + offset_within((parts - 1 - at) as u64, || cx.services.random.unseeded_u64()) as usize;
        order.swap(at, other);
    }
    if wanted == 0 {
        return Ok(Value::Array(Vec::new().into()));
    }
    if count.is_some() {
        *outermost = Dimension { length: wanted as i32, lower: 1 };
    }
    let part = |at: &usize| array.iter().skip(at * size).take(size).cloned();
    let values: Vec<Value> = order[..wanted].iter().flat_map(part).collect();
    Ok(Value::Array(Array::shaped(values, &dimensions)?))
}

fn array_shuffle(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("array_shuffle", args)) };
    drawn(cx, array, None)
}

fn array_sample(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array), Value::Int4(count)] = args else {
        return Err(unexpected("array_sample", args));
    };
    let parts = array.dimensions().first().map_or(0, |dimension| dimension.length);
    if !(0..=parts).contains(count) {
        let text = format!("sample size must be between 0 and {parts}");
        return Err(TypeError::new("22023", text).into());
    }
    drawn(cx, array, Some(*count as usize))
}

const fn of_array(
    name: &'static str,
    args: &'static [ArgType],
    body: super::registry::ScalarFn,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        operator: None,
        args,
        variadic: false,
        result: ResultType::SameAs(0),
        strict: true,
        volatility: Volatility::Volatile,
        body: Body::Scalar(body),
        kernel: None,
    }
}

static FUNCTIONS: &[BuiltinFunction] = &[
    session_function!("random_normal" Volatile [] => Float8 = random_normal),
    session_function!("random_normal" Volatile [Float8] => Float8 = random_normal),
    session_function!("random_normal" Volatile [Float8, Float8] => Float8 = random_normal),
    session_function!("random" Volatile [Numeric, Numeric] => Numeric = random_numeric),
    of_array("array_shuffle", &[ArgType::AnyArray], array_shuffle),
    of_array("array_sample", &[ArgType::AnyArray, ArgType::Exact(SqlType::Int4)], array_sample),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
