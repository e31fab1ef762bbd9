//! Input of dates, times and timestamps: ISO 8601 and the other spellings PostgreSQL reads under any DateStyle; the words that need a clock.

use jiff::tz::TimeZone;

use super::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, UNIX_EPOCH_MICROS,
    abbreviation_offset, checked_timestamp, civil_from_days, days_from_civil, days_in_month, is_date,
    offset_at_local, offset_at_utc, split_timestamp, time_zone,
};
use crate::error::{TypeError, sqlstate};
use crate::time_style::{DateOrder, TimeStyle};

/// Why a text is no date or time.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Flaw {
    /// Not a date or time at all.
    Syntax,
    /// A field beyond its range.
    Range,
    /// A month or day beyond its range: perhaps meant in another order.
    MonthDayRange,
    /// A zone displacement beyond its range.
    ZoneRange,
    /// A name of a time zone that nobody knows.
    UnknownZone(String),
}

impl Flaw {
    fn error(self, type_name: &str, text: &str) -> TypeError {
        let range = || {
            let message = format!("date/time field value out of range: \"{text}\"");
            TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)
        };
        match self {
            Flaw::Syntax => TypeError {
                sqlstate: sqlstate::INVALID_DATETIME_FORMAT,
                ..TypeError::syntax(type_name, text)
            },
            Flaw::Range => range(),
            Flaw::MonthDayRange => range().with_hint("Perhaps you need a different \"DateStyle\" setting."),
            Flaw::UnknownZone(name) => TypeError::new(
                sqlstate::INVALID_PARAMETER_VALUE,
                format!("time zone \"{name}\" not recognized"),
            ),
            Flaw::ZoneRange => TypeError::new(
                sqlstate::INVALID_TIME_ZONE_DISPLACEMENT,
                format!("time zone displacement out of range: \"{text}\""),
            ),
        }
    }
}

/// A time zone written in the text.
enum Zone {
    Offset(i32),
    Named(TimeZone),
}

/// What a text says.
#[derive(Default)]
struct Fields {
    year: Option<(i32, usize)>, // and how many digits it was written with
    month: Option<u32>,
    day: Option<u32>,
    time: Option<i64>,
    afternoon: Option<bool>,
    before_christ: Option<bool>,
    zone: Option<Zone>,
    epoch: bool,
    order: DateOrder,
    /// The start of the transaction by the session's clocks, and their seconds ahead of UTC.
    now: Option<(i64, i32)>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// Position of a full name or of its three-letter (or longer, like `sept`) beginning.
fn named(word: &str, names: &[&str]) -> Option<u32> {
    let found = names
        .iter()
        .position(|name| word.len() >= 3 && word.len() <= 4 && name.starts_with(word) || word == *name);
    found.map(|i| i as u32)
}

/// -infinity, infinity, or neither.
fn infinity(text: &str) -> Option<bool> {
    let word = text.trim();
    ["infinity", "inf", "+infinity", "-infinity", "-inf"]
        .iter()
        .find(|known| word.eq_ignore_ascii_case(known))
        .map(|known| !known.starts_with('-'))
}

/// Reads a date.
/// # Errors
/// 22007, 22008.
pub fn parse_date(text: &str, style: &TimeStyle) -> Result<i32, TypeError> {
    if let Some(positive) = infinity(text) {
        return Ok(if positive { i32::MAX } else { i32::MIN });
    }
    let fields = Fields::scan(text, false, style).map_err(|flaw| flaw.error("date", text))?;
    let days = match fields.epoch {
        true => -i64::from(super::UNIX_EPOCH_DAYS),
        false => fields.date().map_err(|flaw| flaw.error("date", text))?,
    };
    match i32::try_from(days) {
        Ok(narrow) if is_date(days) => Ok(narrow),
        _ => Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("date out of range: \"{text}\""))),
    }
}

/// Reads a time of day; a date and a zone beside it are read and dropped.
/// # Errors
/// 22007, 22008.
pub fn parse_time(text: &str, style: &TimeStyle) -> Result<i64, TypeError> {
    let time = Fields::scan(text, true, style).and_then(|fields| match fields.time {
        Some(_) => fields.time_of_day(),
        None => Err(Flaw::Syntax),
    });
    time.map_err(|flaw| flaw.error("time", text))
}

/// Reads a time of day with the seconds by which its zone is ahead of UTC; none where the text names no zone. A zone whose
/// clocks change needs a date.
/// # Errors
/// 22007, 22008, 22009.
pub fn parse_timetz(text: &str, style: &TimeStyle) -> Result<(i64, Option<i32>), TypeError> {
    let read = Fields::scan(text, true, style).and_then(|fields| {
        if fields.time.is_none() {
            return Err(Flaw::Syntax);
        }
        let time = fields.time_of_day()?;
        let local = fields.date().map(|days| days.saturating_mul(MICROS_PER_DAY).saturating_add(time));
        let offset = match &fields.zone {
            Some(Zone::Offset(seconds)) => Some(*seconds),
            Some(Zone::Named(zone)) => match (zone.to_fixed_offset(), local) {
                (Ok(offset), _) => Some(offset.seconds()),
                (Err(_), Ok(local)) => Some(offset_at_local(local, zone)),
                (Err(_), Err(_)) => return Err(Flaw::Syntax),
            },
            None => local.ok().map(|local| offset_at_local(local, style)),
        };
        Ok((time, offset))
    });
    read.map_err(|flaw| flaw.error("time with time zone", text))
}

/// Reads a timestamp without time zone; a zone in the text is read and dropped, as in PostgreSQL.
/// # Errors
/// 22007, 22008.
pub fn parse_timestamp(text: &str, style: &TimeStyle) -> Result<i64, TypeError> {
    Ok(scan_timestamp(text, "timestamp", style)?.0)
}

/// Reads a timestamp with time zone; without a zone in the text the session's holds.
/// # Errors
/// 22007, 22008, 22009.
pub fn parse_timestamptz(text: &str, tz: &TimeStyle) -> Result<i64, TypeError> {
    let (local, zone) = scan_timestamp(text, "timestamp with time zone", tz)?;
    if matches!(local, i64::MIN | i64::MAX) {
        return Ok(local);
    }
    let offset = match &zone {
        Some(Zone::Offset(seconds)) => *seconds,
        Some(Zone::Named(zone)) => offset_at_local(local, zone),
        None => offset_at_local(local, tz),
    };
    let moment = i128::from(local) - i128::from(offset) * i128::from(MICROS_PER_SECOND);
    checked_timestamp(moment).map_err(|_| timestamp_out_of_range(text))
}

fn timestamp_out_of_range(text: &str) -> TypeError {
    TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("timestamp out of range: \"{text}\""))
}

fn scan_timestamp(text: &str, type_name: &str, style: &TimeStyle) -> Result<(i64, Option<Zone>), TypeError> {
    if let Some(positive) = infinity(text) {
        return Ok((if positive { i64::MAX } else { i64::MIN }, None));
    }
    let parse = || {
        let fields = Fields::scan(text, false, style)?;
        if fields.epoch {
            return Ok((i128::from(-UNIX_EPOCH_MICROS), Some(Zone::Offset(0))));
        }
        let time = if fields.time.is_some() { fields.time_of_day()? } else { 0 };
        Ok((i128::from(fields.date()?) * i128::from(MICROS_PER_DAY) + i128::from(time), fields.zone))
    };
    let (micros, zone) = parse().map_err(|flaw: Flaw| flaw.error(type_name, text))?;
    let micros = checked_timestamp(micros).map_err(|_| timestamp_out_of_range(text))?;
    Ok((micros, zone))
}

/// Whether what a text means as a date or time depends on when that is asked.
pub fn heeds_clock(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    let known = ["now", "today", "tomorrow", "yesterday"];
    words.into_iter().any(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// A run of bytes at the front that fulfil `test`.
fn run(text: &str, test: impl Fn(u8) -> bool) -> &str {
    &text[..text.bytes().position(|byte| !test(byte)).unwrap_or(text.len())]
}

fn digits(text: &str) -> &str {
    run(text, |byte| byte.is_ascii_digit())
}

fn number(text: &str) -> Result<u32, Flaw> {
    if text.is_empty() {
        return Err(Flaw::Syntax);
    }
    text.parse().map_err(|_| Flaw::Range)
}

/// A fraction of a second, rounded to microseconds as PostgreSQL does (half to even, in binary floating point).
pub(super) fn fraction_micros(digits: &str) -> i64 {
    let fraction: f64 = format!("0.{digits}").parse().unwrap_or(0.0);
    (fraction * 1e6).round_ties_even() as i64
}

impl Fields {
    /// Reads all of the text; a lone number is a time of day for `time_only`.
    fn scan(text: &str, time_only: bool, style: &TimeStyle) -> Result<Fields, Flaw> {
        let now = style.now().map(|moment| {
            let offset = offset_at_utc(moment, style);
            (moment.saturating_add(i64::from(offset) * MICROS_PER_SECOND), offset)
        });
        let mut fields = Fields { order: style.order, now, ..Fields::default() };
        let mut rest = text.trim();
        while let Some(first) = rest.bytes().next() {
            let used = match first {
                b' ' | b'\t' | b'\n' | b'\r' | b',' => 1,
                b'0'..=b'9' => fields.numeric(rest, time_only)?,
                b'+' | b'-' => fields.displacement(rest)?,
                _ if first.is_ascii_alphabetic() => fields.word(rest)?,
                _ => return Err(Flaw::Syntax),
            };
            rest = &rest[used..];
        }
        Ok(fields)
    }

    /// Something that starts with a digit; returns its length.
    fn numeric(&mut self, text: &str, time_only: bool) -> Result<usize, Flaw> {
        let first = digits(text);
        let separator = text.as_bytes().get(first.len()).copied();
        let has_date = self.year.is_some() && self.month.is_some() && self.day.is_some();
        match separator {
            Some(b':') => self.clock(text),
            Some(b'-' | b'/') if !has_date => self.separated_date(text),
            Some(b'.') if !has_date && !time_only && first.len() <= 4 => self.separated_date(text),
            _ => self.plain_number(text, first, has_date || time_only),
        }
    }

    /// `12:34`, `12:34:56.789`
    fn clock(&mut self, text: &str) -> Result<usize, Flaw> {
        let token = run(text, |byte| byte.is_ascii_digit() || byte == b':' || byte == b'.');
        let (whole, fraction) = token.split_once('.').unwrap_or((token, ""));
        let parts: Vec<&str> = whole.split(':').collect();
        let (hour, minute, second) = match parts[..] {
            [hour, minute] if fraction.is_empty() => (hour, minute, "0"),
            [hour, minute, second] => (hour, minute, second),
            _ => return Err(Flaw::Syntax),
        };
        self.set_time(number(hour)?, number(minute)?, number(second)?, fraction)?;
        Ok(token.len())
    }

    fn set_time(&mut self, hour: u32, minute: u32, second: u32, fraction: &str) -> Result<(), Flaw> {
        if self.time.is_some() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Flaw::Syntax);
        }
        if hour > 24 || minute > 59 || second > 60 {
            return Err(Flaw::Range);
        }
        let micros = i64::from(hour) * MICROS_PER_HOUR
            + i64::from(minute) * MICROS_PER_MINUTE
            + i64::from(second) * MICROS_PER_SECOND
            + fraction_micros(fraction);
        if micros > MICROS_PER_DAY {
            return Err(Flaw::Range);
        }
        self.time = Some(micros);
        Ok(())
    }

    /// `2021-03-04`, `3/4/2021`, `4-Mar-2021`, `2021.03.04`
    fn separated_date(&mut self, text: &str) -> Result<usize, Flaw> {
        let first = digits(text);
        let separator = text.as_bytes()[first.len()];
        let mut used = first.len() + 1;
        let middle = run(&text[used..], |byte| byte.is_ascii_alphanumeric());
        used += middle.len();
        if text.as_bytes().get(used) != Some(&separator) {
            return Err(Flaw::Syntax);
        }
        let last = digits(&text[used + 1..]);
        used += 1 + last.len();
        let (year, month, day) = if middle.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let month = named(&middle.to_ascii_lowercase(), &MONTHS).ok_or(Flaw::Syntax)? + 1;
            match first.len() > 2 {
                true => (first, month, number(last)?),
                false => (last, month, number(first)?),
            }
        } else if first.len() > 2 {
            (first, number(middle)?, number(last)?)
        } else {
            match self.order {
                DateOrder::Mdy => (last, number(first)?, number(middle)?),
                DateOrder::Dmy => (last, number(middle)?, number(first)?),
                DateOrder::Ymd => (first, number(middle)?, number(last)?),
            }
        };
        self.set_date(year, month, day)?;
        Ok(used)
    }

    fn set_date(&mut self, year: &str, month: u32, day: u32) -> Result<(), Flaw> {
        if self.year.is_some() || self.day.is_some() {
            return Err(Flaw::Syntax);
        }
        self.set_year(year)?;
        (self.month, self.day) = (Some(month), Some(day));
        Ok(())
    }

    fn set_year(&mut self, digits: &str) -> Result<(), Flaw> {
        let year = i32::try_from(number(digits)?).map_err(|_| Flaw::Range)?;
        self.year = Some((year, digits.len()));
        Ok(())
    }

    /// `20210304`, `040506`, or a lone day or year beside a month's name.
    fn plain_number(&mut self, text: &str, first: &str, has_date: bool) -> Result<usize, Flaw> {
        let mut used = first.len();
        if has_date {
            // a time of day without colons
            if self.time.is_some() || !matches!(first.len(), 4 | 6) {
                return Err(Flaw::Syntax);
            }
            let fraction = text[used..].strip_prefix('.').map_or("", digits);
            used += if text[used..].starts_with('.') { 1 + fraction.len() } else { 0 };
            let second = if first.len() == 6 { number(&first[4..])? } else { 0 };
            self.set_time(number(&first[..2])?, number(&first[2..4])?, second, fraction)?;
            return Ok(used);
        }
        match (first.len(), self.month, self.day) {
            (8, None, None) => self.set_date(&first[..4], number(&first[4..6])?, number(&first[6..])?)?,
            (6, None, None) => self.set_date(&first[..2], number(&first[2..4])?, number(&first[4..])?)?,
            (1 | 2, _, None) => self.day = Some(number(first)?),
            (3.., _, None) | (_, Some(_), _) if self.year.is_none() => self.set_year(first)?,
            _ => return Err(Flaw::Syntax),
        }
        Ok(used)
    }

    /// `+01`, `-08:30`, `+0530`
    fn displacement(&mut self, text: &str) -> Result<usize, Flaw> {
        let token = run(&text[1..], |byte| byte.is_ascii_digit() || byte == b':').len() + 1;
        if self.time.is_none() && self.year.is_none() || self.zone.is_some() {
            return Err(Flaw::Syntax);
        }
        match parse_offset(&text[..token]) {
            Some(seconds) => self.zone = Some(Zone::Offset(seconds)),
            None if token == 1 => return Err(Flaw::Syntax),
            None => return Err(Flaw::ZoneRange),
        }
        Ok(token)
    }

    /// A month, weekday, era, half of the day, zone or one of the words with a meaning.
    fn word(&mut self, text: &str) -> Result<usize, Flaw> {
        let mut token = run(text, |byte| byte.is_ascii_alphabetic());
        if matches!(text.as_bytes().get(token.len()), Some(b'/' | b'_')) {
            token = run(text, |byte| byte.is_ascii_alphanumeric() || b"/_+-".contains(&byte));
        }
        let word = token.to_ascii_lowercase();
        let word_len = run(text, |byte| byte.is_ascii_alphabetic()).len();
        match word.as_str() {
            "t" if text[1..].starts_with(|c: char| c.is_ascii_digit()) => {}
            "epoch" => self.epoch = true,
            "now" | "today" | "tomorrow" | "yesterday" => self.relative(&word)?,
            "allballs" if self.time.is_none() => (self.time, self.zone) = (Some(0), Some(Zone::Offset(0))),
            "am" | "pm" if self.afternoon.is_none() => self.afternoon = Some(word == "pm"),
            "bc" | "ad" if self.before_christ.is_none() => self.before_christ = Some(word == "bc"),
            _ => match named(&word, &MONTHS) {
                Some(month) if self.month.is_none() => self.month = Some(month + 1),
                // "3 4 May"? the first number was no day then
                Some(_) => return Err(Flaw::Syntax),
                None if named(&word, &WEEKDAYS).is_some() => {}
                None if self.zone.is_some() => return Err(Flaw::Syntax),
                None => {
                    let zone = match abbreviation_offset(&word) {
                        Some(seconds) => Zone::Offset(seconds),
                        None => Zone::Named(time_zone(token).map_err(|_| match token.len() > word_len {
                            true => Flaw::UnknownZone(word.clone()),
                            false => Flaw::Syntax,
                        })?),
                    };
                    self.zone = Some(zone);
                }
            },
        }
        Ok(token.len())
    }

    /// The day before, of or after the transaction's start; for `now` its time of day, too.
    fn relative(&mut self, word: &str) -> Result<(), Flaw> {
        let (now, offset) = self.now.ok_or(Flaw::Syntax)?;
        if self.year.is_some() || self.month.is_some() || self.day.is_some() {
            return Err(Flaw::Syntax);
        }
        let (today, time) = split_timestamp(now);
        let day = match word {
            "yesterday" => today - 1,
            "tomorrow" => today + 1,
            _ => today,
        };
        let civil = civil_from_days(day);
        // four digits: no century is guessed
        (self.year, self.month) = (Some((civil.year, 4)), Some(civil.month.into()));
        self.day = Some(civil.day.into());
        if word == "now" {
            if self.time.is_some() || self.zone.is_some() {
                return Err(Flaw::Syntax);
            }
            (self.time, self.zone) = (Some(time), Some(Zone::Offset(offset)));
        }
        Ok(())
    }

    /// Days since 2000-01-01.
    fn date(&self) -> Result<i64, Flaw> {
        let (Some((written, digits)), Some(month), Some(day)) = (self.year, self.month, self.day) else {
            return Err(Flaw::Syntax);
        };
        let before_christ = self.before_christ == Some(true);
        let year = match (before_christ, written) {
            (_, 0) if digits > 2 || before_christ => return Err(Flaw::Range),
            (true, year) => 1 - year,
            (false, year) if digits <= 2 => year + if year < 70 { 2000 } else { 1900 },
            (false, year) => year,
        };
        let (Ok(month @ 1..=12), Ok(day @ 1..=31)) = (u8::try_from(month), u8::try_from(day)) else {
            return Err(Flaw::MonthDayRange);
        };
        if day > days_in_month(year, month) {
            return Err(Flaw::Range);
        }
        Ok(days_from_civil(year, month, day))
    }

    /// Microseconds since midnight, 0 ..= 24 hours.
    fn time_of_day(&self) -> Result<i64, Flaw> {
        let time = self.time.unwrap_or(0);
        let noon = 12 * MICROS_PER_HOUR;
        match self.afternoon {
            None => Ok(time),
            Some(_) if time >= noon + MICROS_PER_HOUR => Err(Flaw::Range),
            Some(afternoon) => Ok(time % noon + if afternoon { noon } else { 0 }),
        }
    }
}

/// Seconds east of UTC of `+hh`, `+hhmm`, `+hh:mm`, `+hh:mm:ss`; `None` where it is none or beyond 15:59:59.
pub(super) fn parse_offset(text: &str) -> Option<i32> {
    let (sign, body) = match text.strip_prefix('-') {
        Some(body) => (-1, body),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let part = |text: &str| (!text.is_empty() && text.len() <= 2).then(|| text.parse::<i32>().ok()).flatten();
    if !body.is_ascii() {
        return None;
    }
    let (hours, minutes, seconds) = match body.split(':').collect::<Vec<_>>()[..] {
        [whole] if whole.len() <= 2 => (part(whole)?, 0, 0),
        [whole] if whole.len() <= 4 => {
            let (hours, minutes) = whole.split_at(whole.len() - 2);
            (part(hours)?, part(minutes)?, 0)
        }
        [whole] if whole.len() == 6 => (part(&whole[..2])?, part(&whole[2..4])?, part(&whole[4..])?),
        [hours, minutes] => (part(hours)?, part(minutes)?, 0),
        [hours, minutes, seconds] => (part(hours)?, part(minutes)?, part(seconds)?),
        _ => return None,
    };
    let fits = (0..=15).contains(&hours) && (0..60).contains(&minutes) && (0..60).contains(&seconds);
    fits.then_some(sign * (hours * 3600 + minutes * 60 + seconds))
}
