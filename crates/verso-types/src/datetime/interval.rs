//! Input of intervals: PostgreSQL's verbose style, the SQL standard's, and ISO 8601 durations.

use super::arithmetic::interval_overflow;
use super::fraction_micros;
use super::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::error::{TypeError, sqlstate};
use crate::sqltype::IntervalSpec;
use crate::time_style::{IntervalStyle, TimeStyle};
use crate::value::Interval;

/// Why a text is no interval.
enum Flaw {
    Syntax,
    /// A number of it.
    Range,
    /// The months that years and months are together.
    Total,
}

/// Reads an interval: `1 year 2 mons -3 days 04:05:06.7`, `1-2`, `3 4:05`, `P1Y2M3DT4H`, `2 weeks ago`.
/// # Errors
/// 22007, 22008, 22015.
pub fn parse_interval(text: &str) -> Result<Interval, TypeError> {
    let trimmed = text.trim();
    let parsed = match trimmed.strip_prefix(['P', 'p']) {
        Some(body) if body.contains(['-', ':']) && !body.contains(|c: char| "YyMmWwDdHhSs".contains(c)) => {
            parse_iso_alternative(body)
        }
        Some(body) => parse_iso(body),
        None => parse_verbose(trimmed),
    };
    parsed.and_then(Sum::finish).map_err(|flaw| match flaw {
        Flaw::Syntax => {
            TypeError { sqlstate: sqlstate::INVALID_DATETIME_FORMAT, ..TypeError::syntax("interval", text) }
        }
        Flaw::Range => TypeError::new(
            sqlstate::INTERVAL_FIELD_OVERFLOW,
            format!("interval field value out of range: \"{text}\""),
        ),
        Flaw::Total => interval_overflow(),
    })
}

/// Reads an interval of which only some fields are kept: a number without a unit has that of the last field. In the
/// SQL standard's style a leading minus holds for all that follows without a sign.
/// # Errors
/// 22007, 22008, 22015.
pub fn parse_interval_as(
    text: &str,
    style: &TimeStyle,
    spec: Option<&IntervalSpec>,
) -> Result<Interval, TypeError> {
    let fields = spec.and_then(|spec| spec.fields());
    let Some((first, last)) = fields else {
        return match style.interval {
            IntervalStyle::SqlStandard => parse_interval(&with_signs(text)),
            _ => parse_interval(text),
        };
    };
    parse_interval(&with_units(text.trim(), first, last)).map_err(|mut error| {
        error.message = error.message.replace(&with_units(text.trim(), first, last), text);
        error
    })
}

/// `-1-2 3 4:05:06` as `-1-2 -3 -4:05:06`, unless another sign stands in it.
fn with_signs(text: &str) -> String {
    let signed = |part: &str| part.starts_with(['+', '-']);
    let parts: Vec<&str> = text.split_whitespace().collect();
    if !parts.first().is_some_and(|part| part.starts_with('-'))
        || parts.iter().skip(1).any(|part| signed(part))
    {
        return text.to_string();
    }
    let negative = |part: &str| match part.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("-{part}"),
        false => part.to_string(),
    };
    parts.iter().map(|part| negative(part)).collect::<Vec<_>>().join(" ")
}

/// The text with the units that the fields give it; 0 is the year, 5 the second.
fn with_units(text: &str, first: usize, last: usize) -> String {
    let number = |text: &str| {
        let digits = text.trim_start_matches(['+', '-']);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let unit = ["years", "months", "days", "hours", "minutes", "seconds"][last.min(5)];
    let parts: Vec<&str> = text.split_whitespace().collect();
    match parts.as_slice() {
        [one] if number(one) => format!("{one} {unit}"),
        [days, hours] if first == 2 && number(days) && number(hours) => {
            format!("{days} days {hours} {unit}")
        }
        // `mm:ss`, where it would be hours and minutes.
        [time] if first == 4 && time.matches(':').count() == 1 => match time.strip_prefix('-') {
            Some(rest) => format!("-00:{rest}"),
            None => format!("00:{time}"),
        },
        _ => text.to_string(),
    }
}

/// Drops what is smaller than the last field.
pub(crate) fn cut_interval(interval: Interval, spec: IntervalSpec) -> Interval {
    let Interval { months, days, micros } = interval;
    let whole = |unit: i64| Interval { months, days, micros: micros / unit * unit };
    match spec.fields() {
        None | Some((_, 5..)) => interval,
        Some((_, 0)) => Interval { months: months / 12 * 12, days: 0, micros: 0 },
        Some((_, 1)) => Interval { months, days: 0, micros: 0 },
        Some((_, 2)) => Interval { months, days, micros: 0 },
        Some((_, 3)) => whole(MICROS_PER_HOUR),
        Some((_, 4)) => whole(MICROS_PER_MINUTE),
    }
}

/// A unit: so many months, days or microseconds each.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Months(i64),
    Days(i64),
    Micros(i64),
}

fn unit(word: &str) -> Option<Unit> {
    Some(match word {
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" | "microsec" | "microsecs" | "usecond"
        | "useconds" => Unit::Micros(1),
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msecond"
        | "mseconds" => Unit::Micros(1000),
        "s" | "sec" | "secs" | "second" | "seconds" => Unit::Micros(MICROS_PER_SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Unit::Micros(MICROS_PER_MINUTE),
        "h" | "hr" | "hrs" | "hour" | "hours" => Unit::Micros(MICROS_PER_HOUR),
        "d" | "day" | "days" => Unit::Days(1),
        "w" | "week" | "weeks" => Unit::Days(7),
        "mon" | "mons" | "month" | "months" => Unit::Months(1),
        "y" | "yr" | "yrs" | "year" | "years" => Unit::Months(12),
        "dec" | "decs" | "decade" | "decades" => Unit::Months(120),
        "c" | "cent" | "century" | "centuries" => Unit::Months(1200),
        "mil" | "mils" | "millennium" | "millennia" => Unit::Months(12_000),
        _ => return None,
    })
}

/// The parts read so far.
#[derive(Default)]
struct Sum {
    /// Years and longer units, in months.
    years: i64,
    months: i64,
    days: i64,
    micros: i64,
}

impl Sum {
    fn finish(self) -> Result<Interval, Flaw> {
        let Sum { years, months, days, micros } = self;
        let field = |part: i64| i32::try_from(part).map_err(|_| Flaw::Range);
        field(years / 12)?;
        let (months, days) = (field(months)?, field(days)?);
        let months = i32::try_from(years + i64::from(months)).map_err(|_| Flaw::Total)?;
        Ok(Interval { months, days, micros })
    }

    /// Adds `±whole.fraction` of a unit; the fraction is handed down to days (30 a month) and microseconds.
    fn add(&mut self, number: &Number, unit: Unit) -> Result<(), Flaw> {
        let whole = number.whole * number.sign();
        let add = |to: &mut i64, size: i64| -> Result<(), Flaw> {
            let part = whole.checked_mul(size).ok_or(Flaw::Range)?;
            *to = to.checked_add(part).ok_or(Flaw::Range)?;
            Ok(())
        };
        let fraction = number.fraction * number.sign() as f64;
        match unit {
            Unit::Micros(size) => {
                add(&mut self.micros, size)?;
                self.add_micros(fraction * size as f64)
            }
            Unit::Days(size) => {
                add(&mut self.days, size)?;
                self.add_days(fraction * size as f64)
            }
            Unit::Months(1) => {
                add(&mut self.months, 1)?;
                self.add_days(fraction * 30.0)
            }
            Unit::Months(size) => {
                add(&mut self.years, size)?;
                let part = (fraction * size as f64).round_ties_even() as i64;
                self.months = self.months.checked_add(part).ok_or(Flaw::Range)?;
                Ok(())
            }
        }
    }

    fn add_days(&mut self, days: f64) -> Result<(), Flaw> {
        self.days = self.days.checked_add(days.trunc() as i64).ok_or(Flaw::Range)?;
        self.add_micros((days - days.trunc()) * MICROS_PER_DAY as f64)
    }

    fn add_micros(&mut self, micros: f64) -> Result<(), Flaw> {
        self.micros = self.micros.checked_add(micros.round_ties_even() as i64).ok_or(Flaw::Range)?;
        Ok(())
    }

    fn negate(self) -> Result<Sum, Flaw> {
        let negative = |part: i64| part.checked_neg().ok_or(Flaw::Range);
        Ok(Sum {
            years: negative(self.years)?,
            months: negative(self.months)?,
            days: negative(self.days)?,
            micros: negative(self.micros)?,
        })
    }
}

/// A number as written: sign, whole part, fraction.
struct Number {
    negative: bool,
    whole: i64,
    fraction: f64,
}

impl Number {
    fn sign(&self) -> i64 {
        if self.negative { -1 } else { 1 }
    }
}

/// Takes `[+-]digits[.digits]` from the front.
fn take_number(text: &str) -> Result<(Number, &str), Flaw> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let (whole, mut rest) = unsigned.split_at(end);
    let mut fraction = 0.0;
    if let Some(behind) = rest.strip_prefix('.') {
        let end = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        if end == 0 && whole.is_empty() {
            return Err(Flaw::Syntax);
        }
        fraction = format!("0.{}", &behind[..end]).parse().unwrap_or(0.0);
        rest = &behind[end..];
    } else if whole.is_empty() {
        return Err(Flaw::Syntax);
    }
    let whole = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| Flaw::Range)? };
    Ok((Number { negative: text.starts_with('-'), whole, fraction }, rest))
}

/// The verbose and the SQL standard's style.
fn parse_verbose(text: &str) -> Result<Sum, Flaw> {
    let mut rest = text.strip_prefix('@').unwrap_or(text).trim_start();
    let (mut sum, mut any, mut seen) = (Sum::default(), false, Vec::new());
    while !rest.is_empty() {
        if rest.eq_ignore_ascii_case("ago") && any {
            return sum.negate();
        }
        let (number, behind) = take_number(rest)?;
        match behind.as_bytes().first() {
            Some(b':') => {
                let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
                add_clock(&mut sum, &number, &behind[1..end])?;
                rest = behind[end..].trim_start();
            }
            Some(b'-') if number.fraction == 0.0 => {
                let (months, behind) = take_number(&behind[1..])?;
                if months.negative || months.whole > 11 {
                    return Err(Flaw::Range);
                }
                sum.add(&number, Unit::Months(12))?;
                sum.add(&Number { negative: number.negative, ..months }, Unit::Months(1))?;
                rest = behind.trim_start();
            }
            _ => {
                let behind = behind.trim_start();
                let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
                let word = behind[..end].to_ascii_lowercase();
                let after = behind[end..].trim_start();
                if word.is_empty() || word == "ago" {
                    // a bare number: days before a time of day, seconds at the end
                    let days = behind.split_whitespace().next().is_some_and(|next| next.contains(':'));
                    if !days && !behind.is_empty() && word.is_empty() {
                        return Err(Flaw::Syntax);
                    }
                    sum.add(&number, if days { Unit::Days(1) } else { Unit::Micros(MICROS_PER_SECOND) })?;
                    rest = behind;
                } else {
                    let unit = unit(&word).ok_or(Flaw::Syntax)?;
                    if seen.contains(&unit) {
                        return Err(Flaw::Syntax);
                    }
                    seen.push(unit);
                    sum.add(&number, unit)?;
                    rest = after;
                }
            }
        }
        any = true;
    }
    if any { Ok(sum) } else { Err(Flaw::Syntax) }
}

/// `hours:minutes[:seconds[.fraction]]`, the hours (with the sign of all) already read.
fn add_clock(sum: &mut Sum, hours: &Number, text: &str) -> Result<(), Flaw> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let (minutes, seconds) = whole.split_once(':').unwrap_or((whole, "0"));
    let part = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() {
        true => text.parse::<i64>().map_err(|_| Flaw::Range),
        false => Err(Flaw::Syntax),
    };
    let (minutes, seconds) = (part(minutes)?, part(seconds)?);
    if hours.fraction != 0.0 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Flaw::Syntax);
    }
    if minutes > 59 || seconds > 59 && (seconds > 60 || fraction_micros(fraction) > 0) {
        return Err(Flaw::Range);
    }
    let minor = minutes * MICROS_PER_MINUTE + seconds * MICROS_PER_SECOND + fraction_micros(fraction);
    let micros = hours.whole.checked_mul(MICROS_PER_HOUR).and_then(|hours| hours.checked_add(minor));
    let micros = micros.ok_or(Flaw::Range)? * hours.sign();
    sum.micros = sum.micros.checked_add(micros).ok_or(Flaw::Range)?;
    Ok(())
}

/// `0001-02-03T04:05:06`, behind the P.
fn parse_iso_alternative(text: &str) -> Result<Sum, Flaw> {
    let mut sum = Sum::default();
    let (date, time) = text.split_once(['T', 't']).unwrap_or((text, ""));
    let units = [Unit::Months(12), Unit::Months(1), Unit::Days(1)];
    let parts: Vec<&str> = if date.is_empty() { Vec::new() } else { date.split('-').collect() };
    if parts.len() > units.len() || parts.is_empty() && time.is_empty() {
        return Err(Flaw::Syntax);
    }
    for (part, unit) in parts.into_iter().zip(units) {
        let (number, "") = take_number(part)? else { return Err(Flaw::Syntax) };
        sum.add(&number, unit)?;
    }
    if !time.is_empty() {
        let (hours, rest) = take_number(time)?;
        match rest.strip_prefix(':') {
            Some(rest) => add_clock(&mut sum, &hours, rest)?,
            None if rest.is_empty() => sum.add(&hours, Unit::Micros(MICROS_PER_HOUR))?,
            None => return Err(Flaw::Syntax),
        }
    }
    Ok(sum)
}

/// `1Y2M3DT4H5M6.7S`, behind the P.
fn parse_iso(text: &str) -> Result<Sum, Flaw> {
    let (mut sum, mut rest, mut in_time, mut any) = (Sum::default(), text, false, false);
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix(['T', 't']) {
            if in_time {
                return Err(Flaw::Syntax);
            }
            (rest, in_time) = (behind, true);
            continue;
        }
        let (number, behind) = take_number(rest)?;
        let designator = behind.chars().next().ok_or(Flaw::Syntax)?;
        let unit = match (designator, in_time) {
            ('Y', false) => Unit::Months(12),
            ('M', false) => Unit::Months(1),
            ('W', false) => Unit::Days(7),
            ('D', false) => Unit::Days(1),
            ('H', true) => Unit::Micros(MICROS_PER_HOUR),
            ('M', true) => Unit::Micros(MICROS_PER_MINUTE),
            ('S', true) => Unit::Micros(MICROS_PER_SECOND),
            _ => return Err(Flaw::Syntax),
        };
        sum.add(&number, unit)?;
        (rest, any) = (&behind[1..], true);
    }
    if any { Ok(sum) } else { Err(Flaw::Syntax) }
}
