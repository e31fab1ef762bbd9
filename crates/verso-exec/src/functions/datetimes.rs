//! Dates and times: arithmetic, the clock, `date_trunc`, `extract`.

use verso_types::datetime::{self, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use verso_types::error::sqlstate;
use verso_types::opaque::timetz::TimeTz;
use verso_types::{ColumnData, Decimal, Interval, NullMask, Number, SqlType, TimeZone, TypeError, Value};

use super::calendar::zone;
use super::define::{entry, optional, pattern, sql_type, unexpected};
use super::kernel::{Kernel, Operand, Trap};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// A strict, immutable function or operator.
macro_rules! pure {
    ($name:literal ($($op:literal)?): $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        entry!($name ($($op)?) [$($ty),*] => $res, |_, args| match args {
            [$(pattern!($ty, $v)),*] => Ok(Value::$res($body)),
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

/// A strict, stable function that needs the session.
macro_rules! of_session {
    ($name:literal ($($op:literal)?): $cx:ident, $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: optional!($($op)?),
            args: &[$(ArgType::Exact(sql_type!($ty))),*],
            variadic: false,
            result: ResultType::Fixed(sql_type!($res)),
            strict: true,
            volatility: Volatility::Stable,
            body: Body::Scalar(|$cx, args| match args {
                [$(pattern!($ty, $v)),*] => Ok(Value::$res($body)),
                _ => Err(unexpected($name, args)),
            }),
            kernel: None,
        }
    };
}

pub(super) use {of_session, pure};

fn negative_days(days: i32) -> Result<i32> {
    Ok(days
        .checked_neg()
        .ok_or_else(|| TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range"))?)
}

fn plus(micros: i64, interval: Interval) -> Result<i64> {
    Ok(datetime::timestamp_plus_interval(micros, interval)?)
}

fn zoned_plus(cx: &EvalContext<'_>, micros: i64, interval: Interval) -> Result<i64> {
    Ok(datetime::timestamptz_plus_interval(micros, interval, cx.services.time_zone)?)
}

fn date_plus(date: i32, interval: Interval) -> Result<i64> {
    plus(datetime::date_to_timestamp(date)?, interval)
}

fn date_and_time(date: i32, time: i64) -> Result<i64> {
    plus(datetime::date_to_timestamp(date)?, Interval { months: 0, days: 0, micros: time })
}

fn time_plus(time: i64, interval: Interval, minus: bool) -> Result<i64> {
    Ok(datetime::time_plus_interval(time, datetime::added_to_time(interval, minus)?))
}

pub(super) fn local(cx: &EvalContext<'_>, micros: i64) -> i64 {
    datetime::to_local(micros, cx.services.time_zone)
}

static ARITHMETIC: &[BuiltinFunction] = &[
    pure!("date_pli"("+"): a Date, b Int4 => Date = datetime::date_plus_days(*a, *b)?),
    pure!("integer_pl_date"("+"): a Int4, b Date => Date = datetime::date_plus_days(*b, *a)?),
    pure!("date_mii"("-"): a Date, b Int4 => Date = match *a {
        infinite @ (i32::MIN | i32::MAX) => infinite,
        date => datetime::date_plus_days(date, negative_days(*b)?)?,
    }),
    pure!("date_mi"("-"): a Date, b Date => Int4 = datetime::date_minus(*a, *b)?),
    pure!("date_pl_interval"("+"): a Date, b Interval => Timestamp = date_plus(*a, *b)?),
    pure!("interval_pl_date"("+"): a Interval, b Date => Timestamp = date_plus(*b, *a)?),
    pure!("date_mi_interval"("-"): a Date, b Interval => Timestamp = date_plus(*a, b.checked_neg()?)?),
    pure!("datetime_pl"("+"): a Date, b Time => Timestamp = date_and_time(*a, *b)?),
    pure!("timestamp_pl_interval"("+"): a Timestamp, b Interval => Timestamp = plus(*a, *b)?),
    pure!("interval_pl_timestamp"("+"): a Interval, b Timestamp => Timestamp = plus(*b, *a)?),
    pure!("timestamp_mi_interval"("-"): a Timestamp, b Interval => Timestamp = plus(*a, b.checked_neg()?)?),
    pure!("timestamp_mi"("-"): a Timestamp, b Timestamp => Interval = datetime::timestamp_minus(*a, *b)?),
    pure!("timestamptz_mi"("-"): a Timestamptz, b Timestamptz => Interval = datetime::timestamp_minus(*a, *b)?),
    of_session!("timestamptz_pl_interval"("+"): cx, a Timestamptz, b Interval => Timestamptz = zoned_plus(cx, *a, *b)?),
    of_session!("interval_pl_timestamptz"("+"): cx, a Interval, b Timestamptz => Timestamptz = zoned_plus(cx, *b, *a)?),
    of_session!("date_add"(): cx, a Timestamptz, b Interval => Timestamptz = zoned_plus(cx, *a, *b)?),
    of_session!("date_subtract"(): cx, a Timestamptz, b Interval => Timestamptz =
        zoned_plus(cx, *a, b.checked_neg()?)?),
    pure!("date_add"(): a Timestamptz, b Interval, z Text => Timestamptz =
        datetime::timestamptz_plus_interval(*a, *b, &zone(z)?)?),
    pure!("date_subtract"(): a Timestamptz, b Interval, z Text => Timestamptz =
        datetime::timestamptz_plus_interval(*a, b.checked_neg()?, &zone(z)?)?),
    of_session!("timestamptz_mi_interval"("-"): cx, a Timestamptz, b Interval => Timestamptz =
        zoned_plus(cx, *a, b.checked_neg()?)?),
    pure!("time_pl_interval"("+"): a Time, b Interval => Time = time_plus(*a, *b, false)?),
    pure!("interval_pl_time"("+"): a Interval, b Time => Time = time_plus(*b, *a, false)?),
    pure!("time_mi_interval"("-"): a Time, b Interval => Time = time_plus(*a, *b, true)?),
    pure!("timedate_pl"("+"): a Time, b Date => Timestamp = date_and_time(*b, *a)?),
    pure!("time_mi_time"("-"): a Time, b Time => Interval = Interval { months: 0, days: 0, micros: a - b }),
    pure!("interval_pl"("+"): a Interval, b Interval => Interval = a.checked_add(*b)?),
    pure!("interval_mi"("-"): a Interval, b Interval => Interval = a.checked_sub(*b)?),
    pure!("interval_um"("-"): a Interval => Interval = a.checked_neg()?),
    pure!("interval_mul"("*"): a Interval, b Float8 => Interval = a.checked_mul(*b)?),
    pure!("mul_d_interval"("*"): a Float8, b Interval => Interval = b.checked_mul(*a)?),
    pure!("interval_div"("/"): a Interval, b Float8 => Interval = a.checked_div(*b)?),
];

static CLOCK: &[BuiltinFunction] = &[
    BuiltinFunction {
        volatility: Volatility::Volatile,
        ..of_session!("timeofday"(): cx, => Text = super::templates::time_of_day(cx)?)
    },
    of_session!("now"(): cx, => Timestamptz = cx.services.clock.transaction_timestamp()),
    of_session!("current_timestamp"(): cx, => Timestamptz = cx.services.clock.transaction_timestamp()),
    of_session!("transaction_timestamp"(): cx, => Timestamptz = cx.services.clock.transaction_timestamp()),
    of_session!("statement_timestamp"(): cx, => Timestamptz = cx.services.clock.statement_timestamp()),
    of_session!("localtimestamp"(): cx, => Timestamp = local(cx, cx.services.clock.transaction_timestamp())),
    of_session!("current_date"(): cx, => Date =
        datetime::timestamp_to_date(local(cx, cx.services.clock.transaction_timestamp()))),
    of_session!("localtime"(): cx, => Time = local(cx, cx.services.clock.transaction_timestamp()).rem_euclid(MICROS_PER_DAY)),
    BuiltinFunction {
        volatility: Volatility::Volatile,
        ..of_session!("clock_timestamp"(): cx, => Timestamptz = cx.services.clock.clock_timestamp())
    },
    pure!("to_timestamp"(): a Float8 => Timestamptz = epoch_to_timestamp(*a)?),
    pure!("make_date"(): y Int4, m Int4, d Int4 => Date = make_date(*y, *m, *d)?),
    pure!("isfinite"(): a Date => Bool = is_finite_date(*a)),
    pure!("isfinite"(): a Timestamp => Bool = is_finite(*a)),
    pure!("isfinite"(): a Timestamptz => Bool = is_finite(*a)),
    pure!("date_trunc"(): unit Text, a Timestamp => Timestamp = truncate(unit, *a, "timestamp without time zone")?),
    of_session!("date_trunc"(): cx, unit Text, a Timestamptz => Timestamptz = {
        truncate_zoned(unit, *a, cx.services.time_zone)?
    }),
    pure!("date_trunc"(): unit Text, a Interval => Interval = truncate_interval(unit, *a)?),
];

pub(super) fn is_finite(micros: i64) -> bool {
    micros != i64::MIN && micros != i64::MAX
}

fn is_finite_date(days: i32) -> bool {
    days != i32::MIN && days != i32::MAX
}

fn epoch_to_timestamp(seconds: f64) -> Result<i64> {
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { i64::MAX } else { i64::MIN });
    }
    if seconds.is_nan() {
        return Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp cannot be NaN").into());
    }
    // far within what an i128 holds, wherever the range ends
    let micros = (seconds * MICROS_PER_SECOND as f64).round().clamp(-1e30, 1e30) as i128;
    let moment = datetime::checked_timestamp(micros - i128::from(datetime::UNIX_EPOCH_MICROS));
    Ok(moment.map_err(|_| {
        // as C's `%g` shows it
        let shown = format!("{seconds:.5e}");
        let (digits, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        let message = format!("timestamp out of range: \"{digits}e+{exponent:0>2}\"");
        TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
    })?)
}

pub(super) fn make_date(year: i32, month: i32, day: i32) -> Result<i32> {
    let wrong = || {
        let message = format!("date field value out of range: {year}-{month:02}-{day:02}");
        ExecError::from(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message))
    };
    // there is no year 0; -1 is 1 BC
    let astronomical = if year < 0 { year + 1 } else { year };
    let (month, day) = (u8::try_from(month).map_err(|_| wrong())?, u8::try_from(day).map_err(|_| wrong())?);
    if year == 0
        || !(1..=12).contains(&month)
        || day < 1
        || day > datetime::days_in_month(astronomical, month)
    {
        return Err(wrong());
    }
    Ok(datetime::checked_date(datetime::days_from_civil(astronomical, month, day))?)
}

/// A unit of time, as `date_trunc` and `extract` name it.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Unit {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    IsoYear,
    Epoch,
    Julian,
    Zone,
    ZoneHour,
    ZoneMinute,
}

fn unit_of(name: &str, ty: &str) -> Result<Unit> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "microsecond" | "microseconds" | "us" | "usec" => Unit::Microseconds,
        "millisecond" | "milliseconds" | "ms" | "msec" => Unit::Milliseconds,
        "second" | "seconds" | "sec" | "s" => Unit::Second,
        "minute" | "minutes" | "min" | "m" => Unit::Minute,
        "hour" | "hours" | "h" => Unit::Hour,
        "day" | "days" | "d" => Unit::Day,
        "week" | "weeks" | "w" => Unit::Week,
        "month" | "months" | "mon" => Unit::Month,
        "quarter" | "qtr" => Unit::Quarter,
        "year" | "years" | "y" => Unit::Year,
        "decade" | "decades" => Unit::Decade,
        "century" | "centuries" | "c" => Unit::Century,
        "millennium" | "millennia" | "mil" => Unit::Millennium,
        "dow" => Unit::DayOfWeek,
        "isodow" => Unit::IsoDayOfWeek,
        "doy" => Unit::DayOfYear,
        "isoyear" => Unit::IsoYear,
        "epoch" => Unit::Epoch,
        "julian" => Unit::Julian,
        "timezone" => Unit::Zone,
        "timezone_hour" | "timezone_h" => Unit::ZoneHour,
        "timezone_minute" | "timezone_m" => Unit::ZoneMinute,
        _ => {
            return Err(unrecognized(name, ty));
        }
    })
}

#[cold]
fn unrecognized(name: &str, ty: &str) -> ExecError {
    let message = format!("unit \"{}\" not recognized for type {ty}", name.to_ascii_lowercase());
    TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, message).into()
}

/// A unit of `date_trunc`, which does not know those that only fields have.
fn truncated_unit(name: &str, unit: Unit, ty: &str) -> Result<Unit> {
    match unit {
        Unit::DayOfWeek
        | Unit::IsoDayOfWeek
        | Unit::DayOfYear
        | Unit::IsoYear
        | Unit::Epoch
        | Unit::Julian => Err(unrecognized(name, ty)),
        unit => Ok(unit),
    }
}

#[cold]
fn unsupported(name: &str, ty: &str) -> ExecError {
    let message = format!("unit \"{name}\" not supported for type {ty}");
    TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).into()
}

/// The start of the unit that a local timestamp is in.
pub(super) fn truncate(name: &str, micros: i64, ty: &str) -> Result<i64> {
    let unit = truncated_unit(name, unit_of(name, ty)?, ty)?;
    if !is_finite(micros) {
        return Ok(micros);
    }
    let to = |size: i64| micros - micros.rem_euclid(size);
    let (day, _) = datetime::split_timestamp(micros);
    let civil = datetime::civil_from_days(day);
    let start_of = |year: i32, month: u8| datetime::days_from_civil(year, month, 1) * MICROS_PER_DAY;
    // the first year of a span of years that starts with year 1
    let span = |size: i32| (civil.year - 1).div_euclid(size) * size + 1;
    Ok(match unit {
        Unit::Microseconds => micros,
        Unit::Milliseconds => to(1000),
        Unit::Second => to(MICROS_PER_SECOND),
        Unit::Minute => to(MICROS_PER_MINUTE),
        Unit::Hour => to(MICROS_PER_HOUR),
        Unit::Day => to(MICROS_PER_DAY),
        Unit::Week => (i64::from(day) - i64::from(monday_based(day))) * MICROS_PER_DAY,
        Unit::Month => start_of(civil.year, civil.month),
        Unit::Quarter => start_of(civil.year, (civil.month - 1) / 3 * 3 + 1),
        Unit::Year => start_of(civil.year, 1),
        Unit::Decade => start_of(civil.year.div_euclid(10) * 10, 1),
        Unit::Century => start_of(span(100), 1),
        Unit::Millennium => start_of(span(1000), 1),
        _ => return Err(unsupported(name, ty)),
    })
}

/// The start of the unit that a moment is in by the clocks of a zone. Hours and shorter units are those of the offset that the clocks
/// have at the moment: the hour that happens twice has two starts.
pub(super) fn truncate_zoned(name: &str, micros: i64, zone: &TimeZone) -> Result<i64> {
    let ty = "timestamp with time zone";
    let local = datetime::to_local(micros, zone);
    let cut = truncate(name, local, ty)?;
    if !is_finite(micros) {
        return Ok(micros);
    }
    if unit_of(name, ty)? <= Unit::Hour {
        return Ok(datetime::checked_timestamp(i128::from(micros) - i128::from(local - cut))?);
    }
    Ok(datetime::to_utc(cut, zone)?)
}

/// Days since Monday; 2000-01-01 was a Saturday.
pub(super) fn monday_based(day: i32) -> i32 {
    (day.rem_euclid(7) + 5) % 7
}

fn truncate_interval(name: &str, interval: Interval) -> Result<Interval> {
    let Interval { months, days, micros } = interval;
    let cut = |size: i64| Interval { months, days, micros: micros / size * size };
    let whole_months = |size: i32| Interval { months: months / size * size, days: 0, micros: 0 };
    let unit = unit_of(name, "interval")?;
    if !interval.is_finite() && unit != Unit::Week && unit < Unit::DayOfWeek {
        return Ok(interval);
    }
    let whole = truncated_unit(name, unit, "interval")?;
    Ok(match whole {
        Unit::Microseconds => interval,
        Unit::Milliseconds => cut(1000),
        Unit::Second => cut(MICROS_PER_SECOND),
        Unit::Minute => cut(MICROS_PER_MINUTE),
        Unit::Hour => cut(MICROS_PER_HOUR),
        Unit::Day => Interval { months, days, micros: 0 },
        Unit::Month => whole_months(1),
        Unit::Quarter => whole_months(3),
        Unit::Year => whole_months(12),
        Unit::Decade => whole_months(120),
        Unit::Century => whole_months(1200),
        Unit::Millennium => whole_months(12_000),
        _ => return Err(unsupported(name, "interval")),
    })
}

/// What `extract` yields: an integer with a scale.
fn field(unscaled: i128, scale: u8) -> Result<Option<Decimal>> {
    Ok(Some(Decimal::new(unscaled, scale).map_err(TypeError::from)?))
}

/// A field: none of NULL, a number, or the infinity of a field that grows with time (`true` is below zero).
enum Field {
    Known(Option<Decimal>),
    Infinite(bool),
}

/// A field of an infinity: those that only grow are infinite, those that go round are not known.
fn infinite_field(name: &str, negative: bool, ty: &str) -> Result<Field> {
    Ok(match unit_of(name, ty)? {
        Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium
        | Unit::IsoYear
        | Unit::Epoch
        | Unit::Julian => Field::Infinite(negative),
        Unit::Hour | Unit::Minute | Unit::Second | Unit::Milliseconds | Unit::Microseconds
            if ty == "date" =>
        {
            return Err(unsupported(name, ty));
        }
        _ => Field::Known(None),
    })
}

/// A field of an infinite interval: hours and days grow with it, minutes, weeks and months go round.
fn infinite_interval_field(name: &str, negative: bool) -> Result<Field> {
    Ok(match unit_of(name, "interval")? {
        Unit::Hour
        | Unit::Day
        | Unit::Year
        | Unit::Decade
        | Unit::Century
        | Unit::Millennium
        | Unit::Epoch => Field::Infinite(negative),
        Unit::Microseconds
        | Unit::Milliseconds
        | Unit::Second
        | Unit::Minute
        | Unit::Week
        | Unit::Month
        | Unit::Quarter => Field::Known(None),
        _ => return Err(unsupported(name, "interval")),
    })
}

/// A field of a local timestamp; `epoch` is the microseconds since 1970 that it stands for. Infinities have none.
fn timestamp_field(name: &str, micros: i64, epoch: i128, ty: &str) -> Result<Option<Decimal>> {
    let unit = unit_of(name, ty)?;
    match is_finite(micros) {
        true => day_field((name, unit), datetime::split_timestamp(micros), epoch, ty),
        false => Ok(None),
    }
}

/// A field of a time of a day. Days go beyond what timestamps reach.
fn day_field(
    (name, unit): (&str, Unit),
    (day, time): (i32, i64),
    epoch: i128,
    ty: &str,
) -> Result<Option<Decimal>> {
    let civil = datetime::civil_from_days(day);
    // years before 1 count -1, -2, … without a 0
    let shown_year = if civil.year > 0 { civil.year } else { civil.year - 1 };
    let era = |size: i32| {
        if civil.year > 0 { (civil.year - 1) / size + 1 } else { -((size - 1 - (civil.year - 1)) / size) }
    };
    let whole = |value: i32| field(i128::from(value), 0);
    match unit {
        Unit::Year => whole(shown_year),
        Unit::Quarter => whole(i32::from(civil.month - 1) / 3 + 1),
        Unit::Month => whole(civil.month.into()),
        Unit::Day => whole(civil.day.into()),
        Unit::Decade => whole(civil.year.div_euclid(10)),
        Unit::Century => whole(era(100)),
        Unit::Millennium => whole(era(1000)),
        Unit::DayOfWeek => whole((monday_based(day) + 1) % 7),
        Unit::IsoDayOfWeek => whole(monday_based(day) + 1),
        Unit::DayOfYear => {
            field(i128::from(i64::from(day) - datetime::days_from_civil(civil.year, 1, 1)) + 1, 0)
        }
        Unit::Week => whole(iso_week(day).1),
        Unit::IsoYear => {
            let year = iso_week(day).0;
            whole(if year > 0 { year } else { year - 1 })
        }
        Unit::Epoch => field(epoch, 6),
        Unit::Julian if ty == "date" => field(i128::from(day) + 2_451_545, 0),
        // noon counts half a day
        Unit::Julian => {
            let fraction = Decimal::from(time).checked_div(&Decimal::from(MICROS_PER_DAY));
            let days = fraction.and_then(|part| Decimal::from(i64::from(day) + 2_451_545).checked_add(&part));
            Ok(Some(days.map_err(TypeError::from)?))
        }
        _ => time_field(unit, time).map_or_else(|| Err(unsupported(name, ty)), Ok),
    }
}

/// Year and week by ISO 8601: week 1 has the year's first Thursday.
pub(super) fn iso_week(day: i32) -> (i32, i32) {
    let thursday = day - monday_based(day) + 3;
    let year = datetime::civil_from_days(thursday).year;
    let first = datetime::days_from_civil(year, 1, 1);
    (year, ((i64::from(thursday) - first) / 7 + 1) as i32)
}

/// A field of a time of day, or of the time part of an interval.
fn time_field(unit: Unit, micros: i64) -> Option<Option<Decimal>> {
    let seconds = micros % MICROS_PER_MINUTE;
    let (unscaled, scale) = match unit {
        Unit::Hour => (micros / MICROS_PER_HOUR, 0),
        Unit::Minute => (micros / MICROS_PER_MINUTE % 60, 0),
        Unit::Second => (seconds, 6),
        Unit::Milliseconds => (seconds, 3),
        Unit::Microseconds => (seconds, 0),
        _ => return None,
    };
    Some(Decimal::new(unscaled.into(), scale).ok())
}

fn interval_field(name: &str, interval: Interval) -> Result<Option<Decimal>> {
    let Interval { months, days, micros } = interval;
    let whole = |value: i32| field(i128::from(value), 0);
    match unit_of(name, "interval")? {
        Unit::Year => whole(months / 12),
        // the negative of that of the interval turned round
        Unit::Quarter => whole(months % 12 / 3 + if months < 0 { -1 } else { 1 }),
        Unit::Month => whole(months % 12),
        Unit::Week => whole(days / 7),
        Unit::Day => whole(days),
        Unit::Decade => whole(months / 120),
        Unit::Century => whole(months / 1200),
        Unit::Millennium => whole(months / 12_000),
        // a year has 365.25 days, a month beyond whole years 30
        Unit::Epoch => {
            let years = i128::from(months / 12) * 36_525 * i128::from(MICROS_PER_DAY) / 100;
            let rest = i128::from(months % 12 * 30) + i128::from(days);
            field(years + rest * i128::from(MICROS_PER_DAY) + i128::from(micros), 6)
        }
        unit => time_field(unit, micros).map_or_else(|| Err(unsupported(name, "interval")), Ok),
    }
}

/// The field of any of the types.
fn extract(cx: &EvalContext<'_>, args: &[Value]) -> Result<Field> {
    match args {
        [Value::Text(unit), Value::Timestamp(a)] if !is_finite(*a) => {
            infinite_field(unit, *a < 0, "timestamp without time zone")
        }
        [Value::Text(unit), Value::Timestamptz(a)] if !is_finite(*a) => {
            infinite_field(unit, *a < 0, "timestamp with time zone")
        }
        [Value::Text(unit), Value::Date(a)] if !is_finite_date(*a) => infinite_field(unit, *a < 0, "date"),
        [Value::Text(unit), Value::Interval(a)] if !a.is_finite() => {
            infinite_interval_field(unit, *a == Interval::NEGATIVE_INFINITY)
        }
        _ => finite_field(cx, args).map(Field::Known),
    }
}

fn finite_field(cx: &EvalContext<'_>, args: &[Value]) -> Result<Option<Decimal>> {
    let epoch = |micros: i64| i128::from(micros) + i128::from(datetime::UNIX_EPOCH_MICROS);
    match args {
        [Value::Text(unit), Value::Timestamp(a)] => {
            timestamp_field(unit, *a, epoch(*a), "timestamp without time zone")
        }
        [Value::Text(unit), Value::Timestamptz(a)] => {
            let seconds = i128::from(datetime::offset_at_utc(*a, cx.services.time_zone));
            match unit_of(unit, "timestamp with time zone")? {
                Unit::Zone => return field(seconds, 0),
                Unit::ZoneHour => return field(seconds / 3600, 0),
                Unit::ZoneMinute => return field(seconds / 60 % 60, 0),
                _ => {}
            }
            timestamp_field(unit, local(cx, *a), epoch(*a), "timestamp with time zone")
        }
        [Value::Text(unit), Value::Date(a)] => {
            match unit_of(unit, "date")? {
                // whole seconds
                Unit::Epoch => field((i128::from(*a) + i128::from(datetime::UNIX_EPOCH_DAYS)) * 86_400, 0),
                Unit::Hour | Unit::Minute | Unit::Second | Unit::Milliseconds | Unit::Microseconds => {
                    Err(unsupported(unit, "date"))
                }
                known => day_field((unit, known), (*a, 0), 0, "date"),
            }
        }
        [Value::Text(unit), Value::Time(a)] => {
            let ty = "time without time zone";
            match unit_of(unit, ty)? {
                Unit::Epoch => field((*a).into(), 6),
                known => time_field(known, *a).map_or_else(|| Err(unsupported(unit, ty)), Ok),
            }
        }
        [Value::Text(unit), Value::Opaque(a)] => {
            let ty = "time with time zone";
            let time = TimeTz::of(a);
            let seconds = i128::from(time.offset);
            match unit_of(unit, ty)? {
                Unit::Zone => field(seconds, 0),
                Unit::ZoneHour => field(seconds / 3600, 0),
                Unit::ZoneMinute => field(seconds / 60 % 60, 0),
                Unit::Epoch => field(i128::from(time.micros) - seconds * i128::from(MICROS_PER_SECOND), 6),
                known => time_field(known, time.micros).map_or_else(|| Err(unsupported(unit, ty)), Ok),
            }
        }
        [Value::Text(unit), Value::Interval(a)] => interval_field(unit, *a),
        _ => Err(unexpected("extract", args)),
    }
}

fn extract_numeric(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match extract(cx, args)? {
        Field::Known(field) => Ok(field.map_or(Value::Null, Value::Numeric)),
        Field::Infinite(negative) => {
            Ok(if negative { Number::NegativeInfinity } else { Number::Infinity }.value()?)
        }
    }
}

/// As in PostgreSQL, a date is a timestamp to `date_part`, and none to `extract`.
fn extract_double(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let field = match args {
        [unit, Value::Date(a)] => {
            extract(cx, &[unit.clone(), Value::Timestamp(datetime::date_to_timestamp(*a)?)])?
        }
        _ => extract(cx, args)?,
    };
    Ok(match field {
        Field::Known(field) => field.map_or(Value::Null, |field| Value::Float8(field.to_f64())),
        Field::Infinite(negative) => Value::Float8(if negative { f64::NEG_INFINITY } else { f64::INFINITY }),
    })
}

/// Years, months or days of dates that timestamps reach, after Christ.
fn date_fields(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> std::result::Result<(), Trap> {
    let [Operand::Constant(unit), Operand::Column(days)] = args else { return Err(Trap) };
    let part: fn(&datetime::Civil) -> i32 = match unit.bytes().ok_or(Trap)?.get(0) {
        b"year" => |date| date.year,
        b"month" => |date| date.month.into(),
        b"day" => |date| date.day.into(),
        _ => return Err(Trap),
    };
    let out = out.bytes_mut().ok_or(Trap)?;
    for (row, days) in days.i32s().ok_or(Trap)?.iter().take(rows).enumerate() {
        let date = datetime::civil_from_days(*days);
        if !(1..294_000).contains(&date.year) && !nulls.is_null(row) {
            return Err(Trap);
        }
        out.push_with(|out| Decimal::from(i64::from(part(&date))).to_bytes(out));
    }
    Ok(())
}

/// `extract(unit FROM x)` is the function `extract(unit, x)`.
macro_rules! fields {
    ($($volatility:ident $ty:ident $kernel:expr),*) => {
        &[$(
            fields!(one "extract" $volatility $ty => Numeric, extract_numeric, $kernel),
            fields!(one "date_part" $volatility $ty => Float8, extract_double, None),
        )*]
    };
    (one $name:literal $volatility:ident $ty:ident => $res:ident, $f:expr, $kernel:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact(SqlType::Text), ArgType::Exact(sql_type!($ty))],
            variadic: false,
            result: ResultType::Fixed(sql_type!($res)),
            strict: true,
            volatility: Volatility::$volatility,
            body: Body::Scalar($f),
            kernel: $kernel,
        }
    };
}

static FIELDS: &[BuiltinFunction] = fields![
    Immutable Timestamp None,
    Stable Timestamptz None,
    Immutable Date Some(Kernel::Columns(date_fields)),
    Immutable Time None,
    Immutable Interval None,
    Immutable Timetz None
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 3] = [ARITHMETIC, CLOCK, FIELDS];
