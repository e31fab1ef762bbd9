//! Set-returning functions.

use verso_types::{Decimal, Interval, Number, SqlType, TimeZone, TypeError, Value};

use super::calendar::zone;
use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

type Rows = Box<dyn Iterator<Item = Value> + Send>;

/// Whether the steps of a series lead to later moments.
fn goes_forward(step: Interval) -> Result<bool> {
    match step.span() {
        0 => Err(zero_step().into()),
        _ if !step.is_finite() => Err(TypeError::new("22023", "step size cannot be infinite").into()),
        span => Ok(span > 0),
    }
}

#[cold]
fn zero_step() -> TypeError {
    TypeError::new("22023", "step size cannot equal zero")
}

/// From `start` by `step` while not beyond `stop`; ends before it would overflow.
fn integers(start: i64, stop: i64, step: i64, value: fn(i64) -> Value) -> Result<Rows> {
    if step == 0 {
        return Err(zero_step().into());
    }
    let inside = move |at: i64| if step > 0 { at <= stop } else { at >= stop };
    let next = move |at: &i64| at.checked_add(step).filter(|at| inside(*at));
    Ok(Box::new(std::iter::successors(Some(start).filter(|at| inside(*at)), next).map(value)))
}

fn series_int4(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    // within the bounds of int4 by construction
    let value = |v: i64| Value::Int4(v as i32);
    match args {
        [Value::Int4(a), Value::Int4(b)] => integers(i64::from(*a), i64::from(*b), 1, value),
        [Value::Int4(a), Value::Int4(b), Value::Int4(step)] => {
            integers(i64::from(*a), i64::from(*b), i64::from(*step), value)
        }
        _ => Err(unexpected("generate_series", args)),
    }
}

fn series_int8(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    match args {
        [Value::Int8(a), Value::Int8(b)] => integers(*a, *b, 1, Value::Int8),
        [Value::Int8(a), Value::Int8(b), Value::Int8(step)] => integers(*a, *b, *step, Value::Int8),
        _ => Err(unexpected("generate_series", args)),
    }
}

/// Of numbers of which at least one has many digits, or is none.
fn series_number(args: &[Value]) -> Result<Rows> {
    let mut numbers = Vec::new();
    for (value, name) in args.iter().zip(["start", "stop", "step"]) {
        let number = Number::of(value).ok_or_else(|| unexpected("generate_series", args))?;
        let what = match number {
            Number::Finite { .. } => {
                numbers.push(number);
                continue;
            }
            Number::NaN => "NaN",
            _ => "infinity",
        };
        let what = if name == "step" {
            format!("step size cannot be {what}")
        } else {
            format!("{name} value cannot be {what}")
        };
        return Err(TypeError::new("22023", what).into());
    }
    let step = numbers.get(2).cloned().unwrap_or_else(|| Number::from(Decimal::ONE));
    let (Some(start), Some(stop)) = (numbers.first().cloned(), numbers.get(1).cloned()) else {
        return Err(unexpected("generate_series", args));
    };
    if step.is_zero() {
        return Err(zero_step().into());
    }
    let inside = move |at: &Number| {
        let order = at.compare(&stop);
        if step.is_negative() { order.is_ge() } else { order.is_le() }
    };
    let step = numbers.get(2).cloned().unwrap_or_else(|| Number::from(Decimal::ONE));
    let begin = Some(start).filter(|at| inside(at));
    let next = move |at: &Number| Some(at.plus(&step)).filter(|at| inside(at));
    Ok(Box::new(std::iter::successors(begin, next).map(|number| number.value().unwrap_or(Value::Null))))
}

fn series_numeric(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let (start, stop, step) = match args {
        [Value::Numeric(a), Value::Numeric(b)] => (*a, *b, Decimal::ONE),
        [Value::Numeric(a), Value::Numeric(b), Value::Numeric(step)] => (*a, *b, *step),
        _ => return series_number(args),
    };
    if step.is_zero() {
        return Err(zero_step().into());
    }
    let inside = move |at: &Decimal| {
        let order = at.compare(&stop);
        if step.is_negative() { order.is_ge() } else { order.is_le() }
    };
    let next = move |at: &Decimal| at.checked_add(&step).ok().filter(inside);
    Ok(Box::new(std::iter::successors(Some(start).filter(inside), next).map(Value::Numeric)))
}

fn series_timestamp(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Timestamp(start), Value::Timestamp(stop), Value::Interval(step)] = args else {
        return Err(unexpected("generate_series", args));
    };
    let (stop, step) = (*stop, *step);
    let forward = goes_forward(step)?;
    let inside = move |at: &i64| if forward { *at <= stop } else { *at >= stop };
    let next = move |at: &i64| verso_types::datetime::timestamp_plus_interval(*at, step).ok().filter(inside);
    Ok(Box::new(std::iter::successors(Some(*start).filter(inside), next).map(Value::Timestamp)))
}

/// `generate_series` over timestamptz: steps of days and months keep the local time of the zone.
fn series_timestamptz(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let (start, stop, step, zone) = match args {
        [Value::Timestamptz(start), Value::Timestamptz(stop), Value::Interval(step)] => {
            let own: &TimeZone = cx.services.time_zone;
            (start, *stop, *step, own.clone())
        }
        [Value::Timestamptz(start), Value::Timestamptz(stop), Value::Interval(step), Value::Text(name)] => {
            (start, *stop, *step, zone(name)?)
        }
        _ => return Err(unexpected("generate_series", args)),
    };
    let forward = goes_forward(step)?;
    let inside = move |at: &i64| if forward { *at <= stop } else { *at >= stop };
    let next = move |at: &i64| {
        verso_types::datetime::timestamptz_plus_interval(*at, step, &zone).ok().filter(inside)
    };
    Ok(Box::new(std::iter::successors(Some(*start).filter(inside), next).map(Value::Timestamptz)))
}

fn unnest(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Array(values)] = args else { return Err(unexpected("unnest", args)) };
    let values = values.clone();
    Ok(Box::new((0..values.len()).map(move |i| values[i].clone())))
}

/// `generate_subscripts(array, dimension [, reversed])`
fn generate_subscripts(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Array(array), Value::Int4(dimension), reversed @ ..] = args else {
        return Err(unexpected("generate_subscripts", args));
    };
    let index = usize::try_from(*dimension).ok().and_then(|number| number.checked_sub(1));
    let Some(dimension) = index.and_then(|index| array.dimensions().get(index).copied()) else {
        return Ok(Box::new(std::iter::empty()));
    };
    let subscripts = (dimension.lower..=dimension.upper()).map(Value::Int4);
    Ok(match reversed {
        [Value::Bool(true)] => Box::new(subscripts.rev()),
        _ => Box::new(subscripts),
    })
}

/// A strict, immutable set-returning function.
macro_rules! set_function {
    ($name:literal [$($arg:expr),*] => $result:expr, $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: $result,
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Set($f as SetFn),
            kernel: None,
        }
    };
}

pub(super) use set_function;

macro_rules! series {
    ($ty:expr, $f:expr; $($arg:expr),*) => {
        set_function!("generate_series" [$(ArgType::Exact($arg)),*] => ResultType::Fixed($ty), $f)
    };
}

static SETS: &[BuiltinFunction] = &[
    series!(SqlType::Int4, series_int4; SqlType::Int4, SqlType::Int4),
    series!(SqlType::Int4, series_int4; SqlType::Int4, SqlType::Int4, SqlType::Int4),
    series!(SqlType::Int8, series_int8; SqlType::Int8, SqlType::Int8),
    series!(SqlType::Int8, series_int8; SqlType::Int8, SqlType::Int8, SqlType::Int8),
    series!(SqlType::Numeric(None), series_numeric; SqlType::Numeric(None), SqlType::Numeric(None)),
    series!(SqlType::Numeric(None), series_numeric;
        SqlType::Numeric(None), SqlType::Numeric(None), SqlType::Numeric(None)),
    series!(SqlType::Timestamp(None), series_timestamp; SqlType::Timestamp(None), SqlType::Timestamp(None), SqlType::Interval(None)),
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..series!(SqlType::Timestamptz(None), series_timestamptz;
            SqlType::Timestamptz(None), SqlType::Timestamptz(None), SqlType::Interval(None))
    },
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..series!(SqlType::Timestamptz(None), series_timestamptz;
            SqlType::Timestamptz(None), SqlType::Timestamptz(None), SqlType::Interval(None), SqlType::Text)
    },
    set_function!("generate_subscripts" [ArgType::AnyArray, ArgType::Exact(SqlType::Int4)]
        => ResultType::Fixed(SqlType::Int4), generate_subscripts),
    set_function!("generate_subscripts" [ArgType::AnyArray, ArgType::Exact(SqlType::Int4), ArgType::Exact(SqlType::Bool)]
        => ResultType::Fixed(SqlType::Int4), generate_subscripts),
    set_function!("unnest" [ArgType::AnyArray] => ResultType::ElementOf(0), unnest),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [SETS];
