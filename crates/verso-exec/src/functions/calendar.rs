//! Dates and times beyond arithmetic: zones, ages, made from fields, justified, in bins.

use verso_types::datetime::{self, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use verso_types::error::sqlstate;
use verso_types::{Interval, SqlType, TimeZone, TypeError, Value};

use super::datetimes::{is_finite, local, make_date, of_session, pure};
use super::define::{entry, optional, pattern, sql_type, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

#[cold]
pub(super) fn overflow(message: impl Into<String>) -> TypeError {
    TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
}

fn interval_overflow() -> TypeError {
    overflow("interval out of range")
}

/// The zone that a function's argument names: an abbreviation, with its newest meaning, first.
pub(super) fn zone(name: &str) -> Result<TimeZone> {
    Ok(datetime::named_zone(name)?)
}

/// The zone of a clock's time: a number is positive to the east, as behind a time.
fn zone_of_clock(name: &str, local: i64) -> Result<TimeZone> {
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        let text = format!("invalid input syntax for type numeric time zone: \"{name}\"");
        let hint = "Numeric time zones must have \"-\" or \"+\" as first character.";
        return Err(TypeError::new("22023", text).with_hint(hint).into());
    }
    if !name.starts_with(['+', '-']) {
        return Ok(datetime::zone_for_local(name, local)?);
    }
    let range = || TypeError::new("22023", format!("numeric time zone \"{name}\" out of range"));
    Ok(datetime::zone_of_distance(name).map_err(|_| range())?)
}

/// The seconds of a zone that an interval means by its distance from UTC, positive to the east, however far that is: seconds that
/// are too many begin again, as in PostgreSQL.
pub(super) fn seconds_ahead(distance: Interval) -> Result<i32> {
    let refuse = |flaw: &str| {
        let mut text = String::new();
        datetime::format_interval(distance, &mut text);
        let message = format!("interval time zone \"{text}\" must {flaw}");
        TypeError::new("22023", message)
    };
    if !distance.is_finite() {
        return Err(refuse("be finite").into());
    }
    if distance.months != 0 || distance.days != 0 {
        return Err(refuse("not include months or days").into());
    }
    Ok((distance.micros / MICROS_PER_SECOND) as i32)
}

/// A moment moved by the distance of a zone, or back.
fn moved(micros: i64, distance: Interval, back: bool) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    let ahead = i128::from(seconds_ahead(distance)?) * i128::from(MICROS_PER_SECOND);
    let micros = i128::from(micros);
    Ok(datetime::checked_timestamp(if back { micros - ahead } else { micros + ahead })?)
}

fn local_in(micros: i64, zone: &TimeZone) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    Ok(datetime::checked_timestamp(i128::from(datetime::to_local(micros, zone)))?)
}

fn moment_in(micros: i64, zone: &TimeZone) -> Result<i64> {
    if is_finite(micros) { Ok(datetime::to_utc(micros, zone)?) } else { Ok(micros) }
}

/// The difference in years, months and days; days are borrowed from the month in which the earlier one lies.
fn age(a: i64, b: i64) -> Result<Interval> {
    if !is_finite(a) || !is_finite(b) {
        return Ok(datetime::timestamp_minus(a, b)?);
    }
    let ((day_a, time_a), (day_b, time_b)) = (datetime::split_timestamp(a), datetime::split_timestamp(b));
    let (civil_a, civil_b) = (datetime::civil_from_days(day_a), datetime::civil_from_days(day_b));
    let sign = if a < b { -1 } else { 1 };
    let mut micros = (time_a - time_b) * i64::from(sign);
    let mut days = (i32::from(civil_a.day) - i32::from(civil_b.day)) * sign;
    let months = |civil: datetime::Civil| civil.year * 12 + i32::from(civil.month);
    let mut months = (months(civil_a) - months(civil_b)) * sign;
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    let earlier = if a < b { civil_a } else { civil_b };
    while days < 0 {
        days += i32::from(datetime::days_in_month(earlier.year, earlier.month));
        months -= 1;
    }
    Ok(Interval { months: months * sign, days: days * sign, micros: micros * i64::from(sign) })
}

/// Thirty days are a month.
fn justify_days(interval: Interval) -> Result<Interval> {
    if !interval.is_finite() {
        return Ok(interval);
    }
    let Interval { months, days, micros } = interval;
    let mut months = months.checked_add(days / 30).ok_or_else(interval_overflow)?;
    let mut days = days % 30;
    if months > 0 && days < 0 {
        (months, days) = (months - 1, days + 30);
    } else if months < 0 && days > 0 {
        (months, days) = (months + 1, days - 30);
    }
    Ok(Interval { months, days, micros })
}

/// Whole days of the time.
fn whole_days(micros: i64) -> i32 {
    // an i64 of microseconds has less than 2^27 days
    (micros / MICROS_PER_DAY) as i32
}

/// Twenty-four hours are a day.
fn justify_hours(interval: Interval) -> Result<Interval> {
    if !interval.is_finite() {
        return Ok(interval);
    }
    let Interval { months, days, micros } = interval;
    let days = days.checked_add(whole_days(micros)).ok_or_else(interval_overflow)?;
    let (days, micros) = with_one_sign(days, micros % MICROS_PER_DAY);
    Ok(Interval { months, days, micros })
}

fn with_one_sign(days: i32, micros: i64) -> (i32, i64) {
    if days > 0 && micros < 0 {
        (days - 1, micros + MICROS_PER_DAY)
    } else if days < 0 && micros > 0 {
        (days + 1, micros - MICROS_PER_DAY)
    } else {
        (days, micros)
    }
}

/// Both, and one sign for all parts.
fn justify_interval(interval: Interval) -> Result<Interval> {
    if !interval.is_finite() {
        return Ok(interval);
    }
    let Interval { mut months, mut days, micros } = interval;
    let mut carry = |days: &mut i32| -> Result<()> {
        months = months.checked_add(*days / 30).ok_or_else(interval_overflow)?;
        *days %= 30;
        Ok(())
    };
    // first, where both have the same sign: the sum of the days might not fit
    if (days > 0 && micros > 0) || (days < 0 && micros < 0) {
        carry(&mut days)?;
    }
    days = days.checked_add(whole_days(micros)).ok_or_else(interval_overflow)?;
    carry(&mut days)?;
    let micros = micros % MICROS_PER_DAY;
    if months > 0 && (days < 0 || (days == 0 && micros < 0)) {
        (months, days) = (months - 1, days + 30);
    } else if months < 0 && (days > 0 || (days == 0 && micros > 0)) {
        (months, days) = (months + 1, days - 30);
    }
    let (days, micros) = with_one_sign(days, micros);
    Ok(Interval { months, days, micros })
}

/// The start of the bin of width `stride` that a moment lies in, counted from `origin`.
fn bin(stride: Interval, micros: i64, origin: i64) -> Result<i64> {
    if !is_finite(micros) {
        return Ok(micros);
    }
    if !is_finite(origin) {
        return Err(overflow("origin out of range").into());
    }
    if !stride.is_finite() {
        return Err(overflow("timestamps cannot be binned into infinite intervals").into());
    }
    if stride.months != 0 {
        let message = "timestamps cannot be binned into intervals containing months or years";
        return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message).into());
    }
    let width = stride.span();
    if i64::try_from(width).is_err() {
        return Err(interval_overflow().into());
    }
    if width <= 0 {
        return Err(overflow("stride must be greater than zero").into());
    }
    let distance = i128::from(micros) - i128::from(origin);
    if i64::try_from(distance).is_err() {
        return Err(interval_overflow().into());
    }
    Ok(datetime::checked_timestamp(i128::from(micros) - distance.rem_euclid(width))?)
}

/// Hours, minutes and seconds as microseconds of a day; 24:00:00 is its end.
fn make_time(hour: i32, minute: i32, second: f64) -> Result<i64> {
    let fields = (0..=24).contains(&hour) && (0..=59).contains(&minute) && (0.0..=60.0).contains(&second);
    let micros = if fields {
        i64::from(hour) * MICROS_PER_HOUR
            + i64::from(minute) * MICROS_PER_MINUTE
            + (second * MICROS_PER_SECOND as f64).round() as i64
    } else {
        i64::MAX
    };
    if micros > MICROS_PER_DAY {
        let mut seconds = String::new();
        verso_types::text::format_f64(second, &mut seconds);
        let message = format!("time field value out of range: {hour}:{minute:02}:{seconds:0>2}");
        return Err(overflow(message).into());
    }
    Ok(micros)
}

fn make_timestamp(date: (i32, i32, i32), time: (i32, i32, f64)) -> Result<i64> {
    let day = make_date(date.0, date.1, date.2)?;
    let micros = make_time(time.0, time.1, time.2)?;
    Ok(datetime::checked_timestamp(i128::from(day) * i128::from(MICROS_PER_DAY) + i128::from(micros))?)
}

/// `make_interval(years, months, weeks, days, hours, minutes, seconds)`; those left out are 0.
fn make_interval(args: &[Value]) -> Result<Value> {
    let mut fields = [0i64; 6];
    for (field, arg) in fields.iter_mut().zip(args) {
        *field = arg.as_i64().unwrap_or(0);
    }
    let [years, months, weeks, days, hours, minutes] = fields;
    let seconds = match args.get(6) {
        Some(Value::Float8(seconds)) => (seconds * MICROS_PER_SECOND as f64).round(),
        _ => 0.0,
    };
    if seconds.is_nan() || seconds.abs() >= 9.2e18 {
        return Err(interval_overflow().into());
    }
    let time = i128::from(hours) * i128::from(MICROS_PER_HOUR)
        + i128::from(minutes) * i128::from(MICROS_PER_MINUTE)
        + seconds as i128;
    let interval = || {
        Some(Interval {
            months: i32::try_from(years * 12 + months).ok()?,
            days: i32::try_from(weeks * 7 + days).ok()?,
            micros: i64::try_from(time).ok()?,
        })
    };
    Ok(Value::Interval(interval().ok_or_else(interval_overflow)?.finite()?))
}

static ZONES: &[BuiltinFunction] = &[
    // Infinity is so in every zone, whether there is one of that name.
    pure!("timezone"(): z Text, a Timestamptz => Timestamp = match is_finite(*a) {
        true => local_in(*a, &datetime::zone_for_moment(z, *a)?)?,
        false => *a,
    }),
    pure!("timezone"(): z Text, a Timestamp => Timestamptz = match is_finite(*a) {
        true => moment_in(*a, &datetime::zone_for_local(z, *a)?)?,
        false => *a,
    }),
    pure!("timezone"(): z Interval, a Timestamptz => Timestamp = moved(*a, *z, false)?),
    pure!("timezone"(): z Interval, a Timestamp => Timestamptz = moved(*a, *z, true)?),
    of_session!("timezone"(): cx, a Timestamptz => Timestamp = local_in(*a, cx.services.time_zone)?),
    of_session!("timezone"(): cx, a Timestamp => Timestamptz = moment_in(*a, cx.services.time_zone)?),
    pure!("date_trunc"(): unit Text, a Timestamptz, z Text => Timestamptz = {
        super::datetimes::truncate_zoned(unit, *a, &zone(z)?)?
    }),
];

static AGES: &[BuiltinFunction] = &[
    pure!("age"(): a Timestamp, b Timestamp => Interval = age(*a, *b)?),
    of_session!("age"(): cx, a Timestamptz, b Timestamptz => Interval = age(local(cx, *a), local(cx, *b))?),
    of_session!("age"(): cx, a Timestamp => Interval = {
        let now = local(cx, cx.services.clock.transaction_timestamp());
        age(now - now.rem_euclid(MICROS_PER_DAY), *a)?
    }),
    of_session!("age"(): cx, a Timestamptz => Interval = {
        let now = local(cx, cx.services.clock.transaction_timestamp());
        age(now - now.rem_euclid(MICROS_PER_DAY), local(cx, *a))?
    }),
    pure!("justify_days"(): a Interval => Interval = justify_days(*a)?),
    pure!("justify_hours"(): a Interval => Interval = justify_hours(*a)?),
    pure!("justify_interval"(): a Interval => Interval = justify_interval(*a)?),
    pure!("isfinite"(): a Interval => Bool = a.is_finite()),
    pure!("date_bin"(): s Interval, a Timestamp, o Timestamp => Timestamp = bin(*s, *a, *o)?),
    pure!("date_bin"(): s Interval, a Timestamptz, o Timestamptz => Timestamptz = bin(*s, *a, *o)?),
];

/// `make_interval` of so many arguments.
macro_rules! intervals {
    ($([$($ty:ident),*])*) => {
        &[$(entry!("make_interval" () [$($ty),*] => Interval, |_, args| make_interval(args), None)),*]
    };
}

static INTERVALS: &[BuiltinFunction] = intervals!(
    [] [Int4] [Int4, Int4] [Int4, Int4, Int4] [Int4, Int4, Int4, Int4] [Int4, Int4, Int4, Int4, Int4]
    [Int4, Int4, Int4, Int4, Int4, Int4] [Int4, Int4, Int4, Int4, Int4, Int4, Float8]
);

static MADE: &[BuiltinFunction] = &[
    pure!("make_time"(): h Int4, m Int4, s Float8 => Time = make_time(*h, *m, *s)?),
    pure!("make_timestamp"(): y Int4, mo Int4, d Int4, h Int4, m Int4, s Float8 => Timestamp =
        make_timestamp((*y, *mo, *d), (*h, *m, *s))?),
    of_session!("make_timestamptz"(): cx, y Int4, mo Int4, d Int4, h Int4, m Int4, s Float8 => Timestamptz =
        moment_in(make_timestamp((*y, *mo, *d), (*h, *m, *s))?, cx.services.time_zone)?),
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..pure!("make_timestamptz"():
        y Int4, mo Int4, d Int4, h Int4, m Int4, s Float8, z Text => Timestamptz = {
            let local = make_timestamp((*y, *mo, *d), (*h, *m, *s))?;
            moment_in(local, &zone_of_clock(z, local)?)?
        })
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 4] = [ZONES, AGES, INTERVALS, MADE];
