//! OVERLAPS: whether two periods have a moment in common.
//!
//! A period ends before its second bound, unless both bounds are the same. Either bound may be NULL.
//!
//! Source: PostgreSQL 18, `overlaps_timestamp` of `timestamp.c`.

use verso_types::datetime;
use verso_types::opaque::timetz::TimeTz;
use verso_types::{Interval, SqlType, Value};

use super::define::{sql_type, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// A period with its bounds in order; a bound that is missing comes last. `None` if both are.
fn ordered(first: Option<i64>, second: Option<i64>) -> Option<(i64, Option<i64>)> {
    match (first, second) {
        (Some(first), Some(second)) => Some((first.min(second), Some(first.max(second)))),
        (Some(known), None) | (None, Some(known)) => Some((known, None)),
        (None, None) => None,
    }
}

fn overlap(a: (i64, Option<i64>), b: (i64, Option<i64>)) -> Option<bool> {
    let (earlier, later) = if a.0 > b.0 { (b, a) } else { (a, b) };
    if a.0 == b.0 {
        return a.1.and(b.1).map(|_| true);
    }
    match earlier.1? {
        end if later.0 < end => Some(true),
        _ => later.1.map(|_| false),
    }
}

/// The place of a moment on its line; `add` moves a moment by an interval.
fn bounds(args: &[Value], add: impl Fn(i64, Interval) -> Result<i64>) -> Result<Option<(i64, Option<i64>)>> {
    let place = |value: &Value| match value {
        Value::Time(v) | Value::Timestamp(v) | Value::Timestamptz(v) => Some(*v),
        Value::Opaque(v) => {
            let time = TimeTz::of(v);
            Some(time.micros - i64::from(time.offset) * datetime::MICROS_PER_SECOND)
        }
        _ => None,
    };
    Ok(match args {
        [start, Value::Interval(length)] => match place(start) {
            Some(start) => ordered(Some(start), Some(add(start, *length)?)),
            None => None,
        },
        [start, end] => ordered(place(start), place(end)),
        _ => None,
    })
}

fn overlaps(args: &[Value], add: impl Fn(i64, Interval) -> Result<i64>) -> Result<Value> {
    if args.len() != 4 {
        return Err(unexpected("overlaps", args));
    }
    let (first, second) = (bounds(&args[..2], &add)?, bounds(&args[2..], &add)?);
    let result = first.zip(second).and_then(|(a, b)| overlap(a, b));
    Ok(result.map_or(Value::Null, Value::Bool))
}

fn of_times(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    overlaps(args, |time, length| {
        Ok(datetime::time_plus_interval(time, datetime::added_to_time(length, false)?))
    })
}

fn of_timestamps(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    overlaps(args, |micros, length| Ok(datetime::timestamp_plus_interval(micros, length)?))
}

fn of_moments(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let zone = cx.services.time_zone;
    overlaps(args, |micros, length| Ok(datetime::timestamptz_plus_interval(micros, length, zone)?))
}

macro_rules! overlaps {
    ($($volatility:ident $f:ident: $a:ident $b:ident $c:ident $d:ident;)*) => {
        &[$(BuiltinFunction {
            name: "overlaps",
            operator: None,
            args: &[
                ArgType::Exact(sql_type!($a)),
                ArgType::Exact(sql_type!($b)),
                ArgType::Exact(sql_type!($c)),
                ArgType::Exact(sql_type!($d)),
            ],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bool),
            strict: false,
            volatility: Volatility::$volatility,
            body: Body::Scalar($f),
            kernel: None,
        }),*]
    };
}

static OVERLAPS: &[BuiltinFunction] = overlaps! {
    Immutable of_times: Time Time Time Time;
    Immutable of_times: Time Time Time Interval;
    Immutable of_times: Time Interval Time Time;
    Immutable of_times: Time Interval Time Interval;
    Immutable of_times: Timetz Timetz Timetz Timetz;
    Immutable of_timestamps: Timestamp Timestamp Timestamp Timestamp;
    Immutable of_timestamps: Timestamp Timestamp Timestamp Interval;
    Immutable of_timestamps: Timestamp Interval Timestamp Timestamp;
    Immutable of_timestamps: Timestamp Interval Timestamp Interval;
    Immutable of_moments: Timestamptz Timestamptz Timestamptz Timestamptz;
    Stable of_moments: Timestamptz Timestamptz Timestamptz Interval;
    Stable of_moments: Timestamptz Interval Timestamptz Timestamptz;
    Stable of_moments: Timestamptz Interval Timestamptz Interval;
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [OVERLAPS];
