//! `time with time zone`: arithmetic, zones. Its fields are in [`datetimes`](super::datetimes), OVERLAPS in
//! [`periods`](super::periods).

use verso_types::opaque::timetz::TimeTz;
use verso_types::{Interval, Opaque, SqlType, Value, datetime};

use super::calendar::{seconds_ahead, zone};
use super::define::{sql_type, unexpected, valued};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

fn plus(time: &Opaque, interval: Interval, minus: bool) -> Result<Value> {
    Ok(TimeTz::of(time).plus(datetime::added_to_time(interval, minus)?).into_value())
}

/// The moment of a date and a time.
fn moment(date: i32, time: &Opaque) -> Result<Value> {
    let start = datetime::date_to_timestamp(date)?;
    if matches!(start, i64::MIN | i64::MAX) {
        return Ok(Value::Timestamptz(start));
    }
    let time = TimeTz::of(time);
    let shift = time.micros - i64::from(time.offset) * datetime::MICROS_PER_SECOND;
    Ok(Value::Timestamptz(datetime::checked_timestamp(i128::from(start) + i128::from(shift))?))
}

/// The same moment by the clocks of a zone, as they are today.
fn in_zone(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let now = cx.services.clock.transaction_timestamp();
    let offset = |zone: &verso_types::TimeZone| datetime::offset_at_utc(now, zone);
    let (time, offset) = match args {
        [Value::Text(name), Value::Opaque(time)] => (time, offset(&zone(name)?)),
        [Value::Interval(ahead), Value::Opaque(time)] => (time, seconds_ahead(*ahead)?.max(-i32::MAX)),
        [Value::Opaque(time)] => (time, offset(cx.services.time_zone)),
        _ => return Err(unexpected("timezone", args)),
    };
    Ok(TimeTz::of(time).at(offset).into_value())
}

macro_rules! in_zone {
    ($($arg:ident),*) => {
        BuiltinFunction {
            name: "timezone",
            operator: None,
            args: &[$(ArgType::Exact(sql_type!($arg))),*],
            variadic: false,
            result: ResultType::Fixed(SqlType::Timetz(None)),
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Scalar(in_zone),
            kernel: None,
        }
    };
}

static TIMETZ: &[BuiltinFunction] = &[
    valued!("timetz_pl_interval" ("+"): a Timetz, b Interval => Timetz = plus(a, *b, false)),
    valued!("interval_pl_timetz" ("+"): a Interval, b Timetz => Timetz = plus(b, *a, false)),
    valued!("timetz_mi_interval" ("-"): a Timetz, b Interval => Timetz = plus(a, *b, true)),
    valued!("datetimetz_pl" ("+"): a Date, b Timetz => Timestamptz = moment(*a, b)),
    valued!("timetzdate_pl" ("+"): a Timetz, b Date => Timestamptz = moment(*b, a)),
    valued!("timestamptz" (): a Date, b Timetz => Timestamptz = moment(*a, b)),
    in_zone!(Text, Timetz),
    in_zone!(Interval, Timetz),
    in_zone!(Timetz),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [TIMETZ];
