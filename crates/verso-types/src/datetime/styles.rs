//! Output of dates, timestamps and intervals in the styles that a session may choose.
//!
//! Source: PostgreSQL 18, `EncodeDateOnly`, `EncodeDateTime`, `EncodeInterval` of `datetime.c`.

use std::fmt::Write;

use super::format::{put_fraction, put_number};
use super::{
    MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_from_days, format_date, format_interval,
    format_time, format_timestamp, format_timestamptz, offset_at_utc, split_timestamp, zone_abbreviation,
};
use crate::time_style::{DateOrder, DateStyle, IntervalStyle, TimeStyle};
use crate::value::Interval;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Appends a date in the session's style.
pub fn show_date(days: i32, style: &TimeStyle, out: &mut String) {
    let finite = !matches!(days, i32::MIN | i32::MAX);
    match style.date {
        DateStyle::Postgres if finite => {
            let civil = civil_from_days(days);
            let year = if civil.year > 0 { civil.year } else { 1 - civil.year };
            let [first, second] = match style.order {
                DateOrder::Dmy => [civil.day, civil.month],
                _ => [civil.month, civil.day],
            };
            let _ = write!(out, "{first:02}-{second:02}-{year:04}");
            put_era(civil.year, out);
        }
        DateStyle::Sql | DateStyle::German if finite => put_era(put_numbers(days, style, out), out),
        _ => format_date(days, out),
    }
}

/// Appends ` BC` where the (astronomical) year is before 1.
fn put_era(year: i32, out: &mut String) {
    if year <= 0 {
        out.push_str(" BC");
    }
}

/// Appends `02/03/2001` or `03.02.2001`; the astronomical year.
fn put_numbers(days: i32, style: &TimeStyle, out: &mut String) -> i32 {
    let civil = civil_from_days(days);
    let year = if civil.year > 0 { civil.year } else { 1 - civil.year };
    let (month, day) = (civil.month, civil.day);
    let _ = match (style.date, style.order) {
        (DateStyle::German, _) => write!(out, "{day:02}.{month:02}.{year:04}"),
        (_, DateOrder::Dmy) => write!(out, "{day:02}/{month:02}/{year:04}"),
        _ => write!(out, "{month:02}/{day:02}/{year:04}"),
    };
    civil.year
}

/// Appends a timestamp in the session's style.
pub fn show_timestamp(micros: i64, style: &TimeStyle, out: &mut String) {
    match style.date {
        DateStyle::Iso => format_timestamp(micros, out),
        _ => put_styled(micros, None, style, out),
    }
}

/// Appends a moment in the session's zone and style.
pub fn show_timestamptz(micros: i64, style: &TimeStyle, out: &mut String) {
    if style.date == DateStyle::Iso || matches!(micros, i64::MIN | i64::MAX) {
        return format_timestamptz(micros, style, out);
    }
    let offset = offset_at_utc(micros, style);
    let local = micros.saturating_add(i64::from(offset) * MICROS_PER_SECOND);
    let zone = zone_abbreviation(micros, style);
    put_styled(local, Some((&zone, offset)), style, out);
}

/// Appends a local timestamp, and the zone if there is one: by its abbreviation, or by its distance.
fn put_styled(micros: i64, zone: Option<(&str, i32)>, style: &TimeStyle, out: &mut String) {
    if matches!(micros, i64::MIN | i64::MAX) {
        return format_timestamp(micros, out);
    }
    let (days, time) = split_timestamp(micros);
    let year = if style.date == DateStyle::Postgres {
        let civil = civil_from_days(days);
        // 2000-01-01 was a Saturday
        let weekday = WEEKDAYS[(days.rem_euclid(7) as usize + 5) % 7];
        let month = MONTHS[usize::from(civil.month) - 1];
        let _ = match style.order {
            DateOrder::Dmy => write!(out, "{weekday} {:02} {month} ", civil.day),
            _ => write!(out, "{weekday} {month} {:02} ", civil.day),
        };
        format_time(time, out);
        let _ = write!(out, " {:04}", if civil.year > 0 { civil.year } else { 1 - civil.year });
        civil.year
    } else {
        let year = put_numbers(days, style, out);
        out.push(' ');
        format_time(time, out);
        year
    };
    if let Some((name, offset)) = zone {
        if name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let _ = write!(out, " {name}");
        } else {
            if style.date == DateStyle::Postgres {
                out.push(' ');
            }
            super::format::put_offset(offset, out);
        }
    }
    put_era(year, out);
}

/// Appends an interval in the session's style.
pub fn show_interval(interval: Interval, style: &TimeStyle, out: &mut String) {
    match style.interval {
        _ if !interval.is_finite() => format_interval(interval, out),
        IntervalStyle::Postgres => format_interval(interval, out),
        IntervalStyle::PostgresVerbose => put_verbose(interval, out),
        IntervalStyle::SqlStandard => put_standard(interval, out),
        IntervalStyle::Iso8601 => put_iso(interval, out),
    }
}

/// Hours, minutes, seconds and microseconds, each with the sign of all.
fn clock_parts(micros: i64) -> (i64, i64, i64, i64) {
    let hours = micros / MICROS_PER_HOUR;
    let minutes = micros / MICROS_PER_MINUTE % 60;
    (hours, minutes, micros / MICROS_PER_SECOND % 60, micros % MICROS_PER_SECOND)
}

/// `@ 1 year 2 mons -3 days 4 hours 5 mins 6.7 secs ago`: the sign of the first part is that of all.
fn put_verbose(interval: Interval, out: &mut String) {
    out.push('@');
    let (hours, minutes, seconds, micros) = clock_parts(interval.micros);
    let parts = [
        (i64::from(interval.months / 12), "year"),
        (i64::from(interval.months % 12), "mon"),
        (interval.days.into(), "day"),
        (hours, "hour"),
        (minutes, "min"),
    ];
    let mut before = None;
    for (number, unit) in parts.into_iter().filter(|(number, _)| *number != 0) {
        let before = *before.get_or_insert(number < 0);
        let number = if before { number.wrapping_neg() } else { number };
        let _ = write!(out, " {number} {unit}{}", if number == 1 { "" } else { "s" });
    }
    if seconds != 0 || micros != 0 {
        let negative = seconds < 0 || micros < 0;
        let before = *before.get_or_insert(negative);
        out.push_str(if before == negative { " " } else { " -" });
        put_number(seconds.unsigned_abs(), 1, out);
        put_fraction(micros.unsigned_abs(), out);
        out.push_str(if seconds.unsigned_abs() == 1 && micros == 0 { " sec" } else { " secs" });
    }
    match before {
        None => out.push_str(" 0"),
        Some(true) => out.push_str(" ago"),
        Some(false) => {}
    }
}

/// `1-2`, `3 4:05:06`, and `+1-2 -3 +4:05:06` where months, days and times or signs are mixed.
fn put_standard(interval: Interval, out: &mut String) {
    let Interval { months, days, micros } = interval;
    let has_negative = months < 0 || days < 0 || micros < 0;
    let has_positive = months > 0 || days > 0 || micros > 0;
    let (has_months, has_rest) = (months != 0, days != 0 || micros != 0);
    let years = (months.unsigned_abs() / 12, months.unsigned_abs() % 12);
    let sign = |negative: bool| if negative { '-' } else { '+' };
    let time = |hour_width: usize, out: &mut String| {
        let (hours, minutes, seconds, rest) = clock_parts(micros);
        put_number(hours.unsigned_abs(), hour_width, out);
        let _ = write!(out, ":{:02}:{:02}", minutes.unsigned_abs(), seconds.unsigned_abs());
        put_fraction(rest.unsigned_abs(), out);
    };
    if !has_negative && !has_positive {
        out.push('0');
    } else if has_negative && has_positive || has_months && has_rest {
        let _ = write!(out, "{}{}-{}", sign(months < 0), years.0, years.1);
        let _ = write!(out, " {}{} {}", sign(days < 0), days.unsigned_abs(), sign(micros < 0));
        time(1, out);
    } else {
        if has_negative {
            out.push('-');
        }
        if has_months {
            let _ = write!(out, "{}-{}", years.0, years.1);
            return;
        }
        if days != 0 {
            let _ = write!(out, "{} ", days.unsigned_abs());
        }
        time(1, out);
    }
}

/// `P1Y2M3DT4H5M6.7S`.
fn put_iso(interval: Interval, out: &mut String) {
    let (hours, minutes, seconds, micros) = clock_parts(interval.micros);
    if interval == Interval::default() {
        out.push_str("PT0S");
        return;
    }
    out.push('P');
    let put = |number: i64, unit: char, out: &mut String| {
        if number != 0 {
            let _ = write!(out, "{number}{unit}");
        }
    };
    put((interval.months / 12).into(), 'Y', out);
    put((interval.months % 12).into(), 'M', out);
    put(interval.days.into(), 'D', out);
    if interval.micros != 0 {
        out.push('T');
    }
    put(hours, 'H', out);
    put(minutes, 'M', out);
    if seconds != 0 || micros != 0 {
        if seconds < 0 || micros < 0 {
            out.push('-');
        }
        put_number(seconds.unsigned_abs(), 1, out);
        put_fraction(micros.unsigned_abs(), out);
        out.push('S');
    }
}
