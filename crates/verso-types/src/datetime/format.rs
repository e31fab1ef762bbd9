//! Output of dates and times in ISO style, as PostgreSQL's `datestyle = ISO`.

use jiff::tz::TimeZone;

use super::{
    Civil, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, civil_from_days, offset_at_utc,
    split_timestamp,
};
use crate::value::Interval;

/// Appends a number with at least `width` digits.
pub(crate) fn put_number(mut number: u64, width: usize, out: &mut String) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while number > 0 || digits.len() - start < width {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.push_str(std::str::from_utf8(&digits[start..]).expect("digits are ASCII"));
}

/// Appends `YYYY-MM-DD`; says whether ` BC` has to follow at the end.
fn put_civil(days: i32, out: &mut String) -> bool {
    let Civil { year, month, day } = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    put_number(u64::from(shown.unsigned_abs()), 4, out);
    out.push('-');
    put_number(month.into(), 2, out);
    out.push('-');
    put_number(day.into(), 2, out);
    year <= 0
}

/// Appends a fraction of a second without its trailing zeros.
pub(super) fn put_fraction(micros: u64, out: &mut String) {
    if micros != 0 {
        out.push('.');
        put_number(micros, 6, out);
        out.truncate(out.trim_end_matches('0').len());
    }
}

/// Appends a date: `2021-03-04`, `0044-03-15 BC`, `infinity`.
pub fn format_date(days: i32, out: &mut String) {
    match days {
        i32::MAX => out.push_str("infinity"),
        i32::MIN => out.push_str("-infinity"),
        _ => {
            if put_civil(days, out) {
                out.push_str(" BC");
            }
        }
    }
}

/// Appends a time of day: `04:05:06.789`.
pub fn format_time(micros: i64, out: &mut String) {
    put_time(micros.unsigned_abs(), out);
}

fn put_time(micros: u64, out: &mut String) {
    put_number(micros / MICROS_PER_HOUR as u64, 2, out);
    out.push(':');
    put_number(micros / MICROS_PER_MINUTE as u64 % 60, 2, out);
    out.push(':');
    put_number(micros / MICROS_PER_SECOND as u64 % 60, 2, out);
    put_fraction(micros % MICROS_PER_SECOND as u64, out);
}

/// Appends `infinity` or `-infinity` where the timestamp is one.
fn put_infinity(micros: i64, out: &mut String) -> bool {
    match micros {
        i64::MAX => out.push_str("infinity"),
        i64::MIN => out.push_str("-infinity"),
        _ => return false,
    }
    true
}

/// Appends a timestamp: `2021-03-04 05:06:07.89`.
pub fn format_timestamp(micros: i64, out: &mut String) {
    if !put_infinity(micros, out) && put_local(micros, "", out) {
        out.push_str(" BC");
    }
}

/// Appends date, time and zone; says whether it is BC.
fn put_local(micros: i64, zone: &str, out: &mut String) -> bool {
    let (days, time) = split_timestamp(micros);
    let before_christ = put_civil(days, out);
    out.push(' ');
    format_time(time, out);
    out.push_str(zone);
    before_christ
}

/// Appends a moment in the session's zone: `2021-03-04 05:06:07+01`.
pub fn format_timestamptz(micros: i64, tz: &TimeZone, out: &mut String) {
    if put_infinity(micros, out) {
        return;
    }
    let offset = offset_at_utc(micros, tz);
    let mut zone = String::with_capacity(9);
    put_offset(offset, &mut zone);
    let local = micros.saturating_add(i64::from(offset) * MICROS_PER_SECOND);
    if put_local(local, &zone, out) {
        out.push_str(" BC");
    }
}

/// Appends the seconds by which a zone is ahead of UTC: `+01`, `-03:30`.
pub(crate) fn put_offset(offset: i32, out: &mut String) {
    out.push(if offset < 0 { '-' } else { '+' });
    let (size, parts) = (u64::from(offset.unsigned_abs()), [3600, 60, 1]);
    for (i, unit) in parts.into_iter().enumerate() {
        // minutes and seconds only where they are not zero, as PostgreSQL's EncodeTimezone
        if i == 0 || size % parts[i - 1] != 0 {
            if i > 0 {
                out.push(':');
            }
            match (i, size / unit) {
                // only `AT TIME ZONE interval` goes so far
                (0, hours @ 100..) => out.push_str(&hours.to_string()),
                (0, hours) => put_number(hours, 2, out),
                (_, parts) => put_number(parts % 60, 2, out),
            }
        }
    }
}

/// Appends an interval in PostgreSQL's style: `1 year 2 mons -3 days +04:05:06`.
pub fn format_interval(interval: Interval, out: &mut String) {
    if !interval.is_finite() {
        return out.push_str(if interval == Interval::INFINITY { "infinity" } else { "-infinity" });
    }
    let (mut empty, mut negative) = (true, false);
    let parts = [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")];
    for (number, unit) in parts.into_iter().filter(|(number, _)| *number != 0) {
        if !empty {
            out.push(' ');
        }
        match number {
            ..0 => out.push('-'),
            _ if negative => out.push('+'),
            _ => {}
        }
        put_number(number.unsigned_abs().into(), 1, out);
        out.push(' ');
        out.push_str(unit);
        if number != 1 {
            out.push('s');
        }
        (empty, negative) = (false, number < 0);
    }
    if empty || interval.micros != 0 {
        if !empty {
            out.push(' ');
        }
        match interval.micros {
            ..0 => out.push('-'),
            _ if negative => out.push('+'),
            _ => {}
        }
        put_time(interval.micros.unsigned_abs(), out);
    }
}
