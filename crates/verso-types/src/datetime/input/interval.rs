//! Input of intervals: PostgreSQL's verbose style, the SQL standard's, and ISO 8601 durations.

use super::Flaw;
use super::fields::{Field, Kind, split};
use super::numbers::{clock, fraction, integer};
use super::words::{Reserved, Unit, Word, unit, word};
use crate::datetime::arithmetic::interval_overflow;
use crate::datetime::{MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use crate::error::{TypeError, sqlstate};
use crate::sqltype::IntervalSpec;
use crate::time_style::{IntervalStyle, TimeStyle};
use crate::value::Interval;

/// Reads an interval: `1 year 2 mons -3 days 04:05:06.7`, `1-2`, `3 4:05`, `P1Y2M3DT4H`, `2 weeks ago`.
/// # Errors
/// 22007, 22008, 22015.
pub fn parse_interval(text: &str) -> Result<Interval, TypeError> {
    parse_interval_as(text, &TimeStyle::UTC, None)
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
    let range = spec.and_then(|spec| spec.fields());
    let standard = style.interval == IntervalStyle::SqlStandard;
    let fields = split(text, |text| word(text).is_some());
    if let Some(negative) = fields.as_ref().ok().and_then(|fields| infinity(fields)) {
        return Ok(Interval::infinite(negative));
    }
    let read = match fields.and_then(|fields| verbose(&fields, range, standard)) {
        Err(Flaw::Syntax) => iso(text),
        read => read,
    };
    match read {
        Ok(sum) => sum.finish(),
        Err(Flaw::Range | Flaw::MonthDayRange) => Err(TypeError::new(
            sqlstate::INTERVAL_FIELD_OVERFLOW,
            format!("interval field value out of range: \"{text}\""),
        )),
        Err(flaw) => Err(flaw.error("interval", text)),
    }
}

/// Whether the text is an infinity and nothing else, and which.
fn infinity(fields: &[Field]) -> Option<bool> {
    match fields {
        [field] => match word(&field.text)? {
            Word::Reserved(Reserved::Late) => Some(false),
            Word::Reserved(Reserved::Early) => Some(true),
            _ => None,
        },
        _ => None,
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

/// What was read so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    years: i32,
    months: i32,
    days: i32,
    micros: i64,
}

/// A number as it was written: the whole part and what is behind the point, with its sign.
#[derive(Clone, Copy, Debug)]
struct Number {
    whole: i64,
    fraction: f64,
}

fn add(to: &mut i32, value: i64, scale: i64) -> Result<(), Flaw> {
    // PostgreSQL looks at the number before it multiplies.
    let value = i64::from(i32::try_from(value).map_err(|_| Flaw::Range)?);
    let sum = value * scale + i64::from(*to);
    *to = i32::try_from(sum).map_err(|_| Flaw::Range)?;
    Ok(())
}

impl Sum {
    fn finish(self) -> Result<Interval, TypeError> {
        let months = i64::from(self.years) * 12 + i64::from(self.months);
        let months = i32::try_from(months).map_err(|_| interval_overflow())?;
        Ok(Interval { months, days: self.days, micros: self.micros })
    }

    /// Adds a part of a unit of so many microseconds.
    fn add_fraction(&mut self, fraction: f64, scale: i64) -> Result<(), Flaw> {
        if fraction == 0.0 {
            return Ok(());
        }
        let scaled = fraction * scale as f64;
        let whole = scaled as i64;
        let rest = scaled - whole as f64;
        let rounded = whole + i64::from(rest > 0.5) - i64::from(rest < -0.5);
        self.micros = self.micros.checked_add(rounded).ok_or(Flaw::Range)?;
        Ok(())
    }

    fn add_micros(&mut self, number: Number, scale: i64) -> Result<(), Flaw> {
        let whole = number.whole.checked_mul(scale).and_then(|whole| self.micros.checked_add(whole));
        self.micros = whole.ok_or(Flaw::Range)?;
        self.add_fraction(number.fraction, scale)
    }

    fn add_fraction_of_days(&mut self, fraction: f64, scale: f64) -> Result<(), Flaw> {
        if fraction == 0.0 {
            return Ok(());
        }
        let scaled = fraction * scale;
        add(&mut self.days, scaled as i64, 1)?;
        self.add_fraction(scaled - scaled.trunc(), MICROS_PER_DAY)
    }

    fn add_years(&mut self, number: Number, scale: i32) -> Result<(), Flaw> {
        add(&mut self.years, number.whole, scale.into())?;
        let months = (number.fraction * f64::from(scale) * 12.0).round_ties_even();
        add(&mut self.months, months as i64, 1)
    }

    fn add_unit(&mut self, number: Number, unit: Unit) -> Result<(), Flaw> {
        match unit {
            Unit::Microsecond => self.add_micros(number, 1),
            Unit::Millisecond => self.add_micros(number, 1000),
            Unit::Second => self.add_micros(number, MICROS_PER_SECOND),
            Unit::Minute => self.add_micros(number, MICROS_PER_MINUTE),
            Unit::Hour => self.add_micros(number, MICROS_PER_HOUR),
            Unit::Day => {
                add(&mut self.days, number.whole, 1)?;
                self.add_fraction(number.fraction, MICROS_PER_DAY)
            }
            Unit::Week => {
                add(&mut self.days, number.whole, 7)?;
                self.add_fraction_of_days(number.fraction, 7.0)
            }
            Unit::Month => {
                add(&mut self.months, number.whole, 1)?;
                self.add_fraction_of_days(number.fraction, 30.0)
            }
            Unit::Year => self.add_years(number, 1),
            Unit::Decade => self.add_years(number, 10),
            Unit::Century => self.add_years(number, 100),
            Unit::Millennium => self.add_years(number, 1000),
        }
    }

    fn negated(self) -> Result<Sum, Flaw> {
        let negative = |part: i32| part.checked_neg().ok_or(Flaw::Range);
        Ok(Sum {
            years: negative(self.years)?,
            months: negative(self.months)?,
            days: negative(self.days)?,
            micros: self.micros.checked_neg().ok_or(Flaw::Range)?,
        })
    }

    /// `hh:mm[:ss[.fff]]`
    fn add_clock(&mut self, text: &str, short: bool, negative: bool) -> Result<(), Flaw> {
        let (hours, minutes, seconds, micros) = clock(text, short)?;
        let small = i64::from(minutes) * MICROS_PER_MINUTE
            + i64::from(seconds) * MICROS_PER_SECOND
            + i64::from(micros);
        let time = hours.checked_mul(MICROS_PER_HOUR).and_then(|time| time.checked_add(small));
        let time = time.ok_or(Flaw::Range)?;
        self.micros = if negative { -time } else { time };
        Ok(())
    }
}

// What a text has said so far: one bit for each unit, in their order.
const SECONDS: u32 = 0b111;
const CLOCK: u32 = 0b1_1111;

fn bit(unit: Unit) -> u32 {
    1 << unit as u32
}

/// The unit of a number without one at the end: that of the last field which is kept, of all of them the second.
fn last_unit(range: Option<(usize, usize)>) -> Unit {
    match range.map(|(_, last)| last) {
        Some(0) => Unit::Year,
        Some(1) => Unit::Month,
        Some(2) => Unit::Day,
        Some(3) => Unit::Hour,
        Some(4) => Unit::Minute,
        _ => Unit::Second,
    }
}

/// The verbose and the SQL standard's style: from the last field to the first, so that a unit is known before its number.
fn verbose(fields: &[Field], range: Option<(usize, usize)>, standard: bool) -> Result<Sum, Flaw> {
    let signed = |field: &Field| field.text.starts_with(['+', '-']);
    let leading = standard && fields.first().is_some_and(|field| field.text.starts_with('-'));
    let negative = leading && !fields.iter().skip(1).any(signed);
    let short = range == Some((4, 5));
    let (mut sum, mut known, mut unit_now, mut waits, mut ago) = (Sum::default(), 0, None, false, false);
    for (at, field) in fields.iter().enumerate().rev() {
        let text = field.text.as_str();
        let found = match field.kind {
            Kind::Time => {
                sum.add_clock(text, short, negative)?;
                (unit_now, waits) = (Some(Unit::Day), false);
                CLOCK
            }
            Kind::Signed if text.contains(':') => {
                sum.add_clock(&text[1..], short, negative || text.starts_with('-'))?;
                (unit_now, waits) = (Some(Unit::Day), false);
                CLOCK
            }
            Kind::Signed | Kind::Date | Kind::Number => {
                let mut unit = *unit_now.get_or_insert_with(|| last_unit(range));
                let mut number = number(text, &mut unit)?;
                if negative {
                    number = Number { whole: -number.whole.abs(), fraction: -number.fraction.abs() };
                }
                sum.add_unit(number, unit)?;
                // Hours follow days.
                unit_now = Some(if unit == Unit::Hour { Unit::Day } else { unit });
                waits = false;
                if unit == Unit::Second && number.fraction != 0.0 { SECONDS } else { bit(unit) }
            }
            Kind::Word | Kind::Special => {
                if waits {
                    return Err(Flaw::Syntax);
                }
                let last = at + 1 == fields.len();
                match (unit(text), word(text)) {
                    (Some(unit), _) => {
                        (unit_now, waits) = (Some(unit), true);
                        0
                    }
                    (None, _) if text == "ago" && last => {
                        ago = true;
                        0
                    }
                    (None, Some(Word::Ignored)) => continue,
                    _ => return Err(Flaw::Syntax),
                }
            }
        };
        if found & known != 0 {
            return Err(Flaw::Syntax);
        }
        known |= found;
    }
    if known == 0 || waits {
        return Err(Flaw::Syntax);
    }
    if ago { sum.negated() } else { Ok(sum) }
}

/// A number with its sign; `1-2` is years and months, whatever unit stands behind it.
fn number(text: &str, unit: &mut Unit) -> Result<Number, Flaw> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, behind) = digits.split_at(end);
    let sign = if negative { -1 } else { 1 };
    let whole: i64 = match whole {
        "" => 0,
        // The least number has no positive counterpart.
        whole if negative => format!("-{whole}").parse().map_err(|_| Flaw::Range)?,
        whole => whole.parse().map_err(|_| Flaw::Range)?,
    };
    match behind.as_bytes().first() {
        None => Ok(Number { whole, fraction: 0.0 }),
        Some(b'.') => Ok(Number { whole, fraction: fraction(behind)? * f64::from(sign) }),
        Some(b'-') => {
            let (months, rest) = integer(&behind[1..])?;
            if months >= 12 {
                return Err(Flaw::Range);
            }
            if !rest.is_empty() {
                return Err(Flaw::Syntax);
            }
            *unit = Unit::Month;
            let months = i64::from(sign * months);
            let whole = whole.checked_mul(12).and_then(|whole| whole.checked_add(months));
            Ok(Number { whole: whole.ok_or(Flaw::Range)?, fraction: 0.0 })
        }
        Some(_) => Err(Flaw::Syntax),
    }
}

/// A number of an ISO 8601 duration, with its sign and its point; what is behind it comes back.
fn iso_number(text: &str) -> Result<(Number, &str), Flaw> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    let end = text.len() - digits.len() + digits.find(|c: char| !is_part(c)).unwrap_or(digits.len());
    if !digits.starts_with(is_part) {
        return Err(Flaw::Syntax);
    }
    let behind = end + exponent(&text[end..]);
    if behind > end {
        let value: f64 = text[..behind].parse().map_err(|_| Flaw::Syntax)?;
        if value.abs() > 1e15 {
            return Err(Flaw::Range);
        }
        let number = Number { whole: value.trunc() as i64, fraction: value.fract() };
        return Ok((number, &text[behind..]));
    }
    Ok((number(&text[..end], &mut Unit::Second)?, &text[end..]))
}

/// How long the exponent is that a text begins with: `e4`, `E-1`.
fn exponent(text: &str) -> usize {
    let Some(behind) = text.strip_prefix(['e', 'E']) else { return 0 };
    let digits = behind.strip_prefix(['+', '-']).unwrap_or(behind);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    if count == 0 { 0 } else { text.len() - digits.len() + count }
}

/// How many digits a number without a sign has.
fn width(text: &str) -> usize {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().take_while(u8::is_ascii_digit).count()
}

/// `P1Y2M3DT4H5M6.7S`, `P0001-02-03T04:05:06`, `P00010203T040506`.
fn iso(text: &str) -> Result<Sum, Flaw> {
    let mut rest = text.strip_prefix('P').filter(|rest| !rest.is_empty()).ok_or(Flaw::Syntax)?;
    let (mut sum, mut in_date, mut any) = (Sum::default(), true, false);
    while !rest.is_empty() {
        if let Some(behind) = rest.strip_prefix('T') {
            (rest, in_date, any) = (behind, false, false);
            continue;
        }
        let (number, behind) = iso_number(rest)?;
        let designator = behind.chars().next();
        let unit = match (designator, in_date) {
            (Some('Y'), true) => Unit::Year,
            (Some('M'), true) => Unit::Month,
            (Some('W'), true) => Unit::Week,
            (Some('D'), true) => Unit::Day,
            (Some('H'), false) => Unit::Hour,
            (Some('M'), false) => Unit::Minute,
            (Some('S'), false) => Unit::Second,
            (None | Some('T' | '-'), true) | (None | Some(':'), false) => {
                let together = !any && designator != Some('-') && width(rest) == if in_date { 8 } else { 6 };
                rest = match together {
                    true => {
                        iso_together(&mut sum, number, in_date)?;
                        behind
                    }
                    false if any => return Err(Flaw::Syntax),
                    false => iso_extended(&mut sum, number, behind, in_date)?,
                };
                if rest.is_empty() {
                    return Ok(sum);
                }
                continue;
            }
            _ => return Err(Flaw::Syntax),
        };
        sum.add_unit(number, unit)?;
        any = true;
        rest = &behind[1..];
    }
    Ok(sum)
}

/// `yyyymmdd` or `hhmmss`.
fn iso_together(sum: &mut Sum, number: Number, in_date: bool) -> Result<(), Flaw> {
    let units =
        if in_date { [Unit::Year, Unit::Month, Unit::Day] } else { [Unit::Hour, Unit::Minute, Unit::Second] };
    let whole = |whole: i64| Number { whole, fraction: 0.0 };
    sum.add_unit(whole(number.whole / 10_000), units[0])?;
    sum.add_unit(whole(number.whole / 100 % 100), units[1])?;
    sum.add_unit(Number { whole: number.whole % 100, fraction: number.fraction }, units[2])
}

/// `yyyy-mm-dd` or `hh:mm:ss`, or its beginning; what is behind it comes back, a T first.
fn iso_extended<'t>(sum: &mut Sum, first: Number, text: &'t str, in_date: bool) -> Result<&'t str, Flaw> {
    let (units, between) = match in_date {
        true => ([Unit::Year, Unit::Month, Unit::Day], '-'),
        false => ([Unit::Hour, Unit::Minute, Unit::Second], ':'),
    };
    sum.add_unit(first, units[0])?;
    let mut rest = text;
    for unit in &units[1..] {
        if rest.is_empty() || in_date && rest.starts_with('T') {
            return Ok(rest);
        }
        let (number, behind) = iso_number(rest.strip_prefix(between).ok_or(Flaw::Syntax)?)?;
        sum.add_unit(number, *unit)?;
        rest = behind;
    }
    match rest.is_empty() || in_date && rest.starts_with('T') {
        true => Ok(rest),
        false => Err(Flaw::Syntax),
    }
}
