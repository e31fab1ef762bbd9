//! `to_date` and `to_timestamp`: texts read by the template patterns that `to_char` writes.
//!
//! Source: PostgreSQL 18, `DCH_from_char` and `do_to_timestamp` of `formatting.c`. Blanks and separators are matched
//! loosely, unless the template has `FX`.

use verso_types::datetime::{self, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};
use verso_types::opaque::timetz::TimeTz;
use verso_types::{CastKind, SqlType, TimeStyle, TypeError, Value, cast};

use super::define::{entry, unexpected};
use super::templates::{DAYS, MONTHS, ROMAN, behind, pattern};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// A piece of a template.
#[derive(Clone, Copy, PartialEq)]
enum Node<'t> {
    /// The pattern, and as it is written.
    Field {
        name: &'static str,
        shown: &'t str,
        fill: bool,
        ordinal: bool,
    },
    Separator(char),
    Letter(char),
}

fn is_separator(c: char) -> bool {
    c.is_ascii_punctuation()
}

/// The pieces of a template; one of the standard's has no other letters between the patterns than `-./,':; `.
fn nodes(template: &str, standard: bool) -> Result<Vec<Node<'_>>> {
    let (mut rest, mut nodes) = (template, Vec::new());
    while let Some(c) = rest.chars().next() {
        let (mut fill, mut at) = (true, rest);
        while let Some(next) = behind(at, &["FM", "fm", "TM", "tm"]) {
            fill &= !at.starts_with(['F', 'f']);
            at = next;
        }
        if let Some((name, _)) = pattern(at) {
            let (shown, behind_it) = at.split_at(name.len());
            rest = behind_it;
            let suffix = behind(rest, &["TH", "th"]);
            nodes.push(Node::Field { name, shown, fill, ordinal: suffix.is_some() });
            rest = suffix.or_else(|| behind(rest, &["SP"])).unwrap_or(rest);
            continue;
        }
        if at.len() < rest.len() {
            rest = at;
            continue;
        }
        let mut chars = rest.chars();
        chars.next();
        if standard && !"-./,':; \"".contains(c) {
            let text = format!("invalid datetime format separator: \"{c}\"");
            return Err(TypeError::new("22007", text).into());
        }
        if c == '"' {
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => nodes.extend(chars.next().map(Node::Letter)),
                    c => nodes.push(Node::Letter(c)),
                }
            }
        } else if c.is_ascii_whitespace() || is_separator(c) {
            nodes.push(Node::Separator(c));
        } else {
            nodes.push(Node::Letter(c));
        }
        rest = chars.as_str();
    }
    Ok(nodes)
}

/// What a text says.
#[derive(Default)]
struct Parts {
    year: Option<i64>,
    /// How many digits the year was given with.
    year_digits: usize,
    iso_year: Option<i64>,
    century: Option<i64>,
    before_christ: bool,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    week: Option<i64>,
    iso_week: Option<i64>,
    week_of_month: Option<i64>,
    /// From Monday, 1.
    iso_weekday: Option<i64>,
    julian: Option<i64>,
    hour: i64,
    twelve: bool,
    afternoon: bool,
    minute: i64,
    second: i64,
    micros: i64,
    of_day: Option<i64>,
    /// Seconds east of UTC.
    offset: Option<i64>,
}

#[cold]
fn invalid(value: &str, field: &str, detail: String) -> ExecError {
    TypeError::new("22007", format!("invalid value \"{value}\" for \"{field}\"")).with_detail(detail).into()
}

/// The text that is read.
struct Input<'t> {
    rest: &'t str,
    fixed: bool,
    /// Blanks and separators skipped beyond those of the template.
    extra: i32,
}

impl Input<'_> {
    fn blanks(&mut self) {
        let kept = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        self.extra += (self.rest.len() - kept.len()) as i32;
        self.rest = kept;
    }

    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    /// An integer of so many digits, or of any number where nothing that could be a digit follows; its length.
    fn integer(&mut self, name: &str, length: usize, open: bool) -> Result<(i64, usize)> {
        self.blanks();
        let copy: String = self.rest.chars().take(length).collect();
        let source = if open { self.rest } else { copy.as_str() };
        if !open && copy.chars().count() < length {
            let text = format!("source string too short for \"{name}\" formatting field");
            return Err(TypeError::new("22007", text)
                .with_detail(format!(
                    "Field requires {length} characters, but only {} remain.",
                    copy.chars().count()
                ))
                .with_hint("If your source string is not fixed-width, try using the \"FM\" modifier.")
                .into());
        }
        let sign = usize::from(source.starts_with(['-', '+']));
        let digits = source[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let used = if digits == 0 { 0 } else { sign + digits };
        if used == 0 {
            return Err(invalid(&copy, name, "Value must be an integer.".into()));
        }
        if !open && used < length {
            let detail = format!("Field requires {length} characters, but only {used} could be parsed.");
            let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
            return Err(TypeError::new("22007", format!("invalid value \"{copy}\" for \"{name}\""))
                .with_detail(detail)
                .with_hint(hint)
                .into());
        }
        let number: i64 = source[..used].trim_start_matches('+').parse().unwrap_or(i64::MAX);
        if i32::try_from(number).is_err() {
            return Err(TypeError::new(
                "22008",
                format!("value for \"{name}\" in source string is out of range"),
            )
            .with_detail(format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX))
            .into());
        }
        self.rest = &self.rest[used..];
        Ok((number, used))
    }

    /// Which of the words the text begins with, whatever its case.
    fn word(&mut self, name: &str, words: &[&str]) -> Result<usize> {
        let found = words
            .iter()
            .position(|word| self.rest.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word)));
        let Some(found) = found else {
            let word: String = self.rest.split_whitespace().next().unwrap_or_default().into();
            let detail = "The given value did not match any of the allowed values for this field.";
            return Err(invalid(&word, name, detail.into()));
        };
        self.rest = &self.rest[words[found].len()..];
        Ok(found)
    }
}

/// Years of fewer than four digits are those next to 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        0..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

fn is_digits(name: &str) -> bool {
    !matches!(
        name,
        "A.D."
            | "A.M."
            | "AD"
            | "AM"
            | "B.C."
            | "BC"
            | "P.M."
            | "PM"
            | "DAY"
            | "DY"
            | "MONTH"
            | "MON"
            | "RM"
            | "TZ"
            | "TZH"
            | "OF"
            | "FX"
    )
}

/// Whether no digit can follow a field, so that it takes all digits there are.
fn is_open(nodes: &[Node<'_>], at: usize) -> bool {
    if let Node::Field { fill: false, .. } | Node::Field { ordinal: true, .. } = nodes[at] {
        return true;
    }
    match nodes.get(at + 1) {
        Some(Node::Field { name, .. }) => !is_digits(name),
        Some(Node::Letter(c)) => !c.is_ascii_digit(),
        Some(Node::Separator(_)) | None => true,
    }
}

/// Reads a text. The standard's way takes separators and letters as they are written, and wants the whole text.
fn read(text: &str, template: &str, standard: bool) -> Result<Parts> {
    let nodes = nodes(template, standard)?;
    let mut parts = Parts::default();
    let mut input = Input { rest: text, fixed: standard, extra: 0 };
    let refused = |text: String| Err(ExecError::from(TypeError::new("22007", text)));
    for (at, node) in nodes.iter().enumerate() {
        if input.rest.is_empty() {
            if standard {
                return refused("input string is too short for datetime format".into());
            }
            break;
        }
        if !input.fixed && (at == 0 || matches!(node, Node::Field { .. })) {
            input.blanks();
        }
        match node {
            Node::Separator(c) if standard && !input.rest.starts_with(*c) => {
                return refused(format!("unmatched format separator \"{c}\""));
            }
            Node::Letter(c) if standard && !input.rest.starts_with(*c) => {
                return refused(format!("unmatched format character \"{c}\""));
            }
            Node::Separator(_) if input.fixed => input.skip(),
            Node::Separator(_) => {
                input.extra -= 1;
                if input.rest.starts_with(|c: char| c.is_ascii_whitespace() || is_separator(c)) {
                    input.skip();
                    input.extra += 1;
                }
            }
            Node::Letter(_) if input.fixed || input.extra <= 0 => input.skip(),
            Node::Letter(_) => input.extra -= 1,
            Node::Field { name, shown, ordinal, .. } => {
                parts.field(&mut input, (*name, *shown), is_open(&nodes, at))?;
                if *ordinal {
                    input.skip();
                    input.skip();
                }
                if !input.fixed {
                    input.extra = 0;
                    input.blanks();
                }
            }
        }
    }
    if standard && !input.rest.trim_start().is_empty() {
        return refused("trailing characters remain in input string after datetime format".into());
    }
    Ok(parts)
}

/// A text read by a template as the standard's `datetime(template)` does: the template says of which type the value is. Beside a
/// timestamp with zone comes how many seconds its clock is ahead of UTC.
pub(super) fn read_standard(text: &str, template: &str) -> Result<(Value, SqlType, Option<i32>)> {
    let refused = |text: &str| Err(ExecError::from(TypeError::new("22007", text)));
    let (mut dated, mut timed, mut zoned, mut digits) = (false, false, false, None);
    for node in nodes(template, true)? {
        let Node::Field { name, .. } = node else { continue };
        match name {
            "FX" => {}
            "TZ" | "TZH" | "TZM" | "OF" => zoned = true,
            "A.M." | "AM" | "P.M." | "PM" | "HH" | "HH12" | "HH24" | "MI" | "SS" | "SSSS" | "SSSSS"
            | "MS" | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                timed = true;
                // So many digits of the seconds are kept.
                digits = name.strip_prefix("FF").and_then(|digits| digits.parse::<u8>().ok()).or(digits);
            }
            _ => dated = true,
        }
    }
    let kept = |value: Value, ty: SqlType, exact: SqlType| -> Result<Value> {
        Ok(cast(&value, &ty, &exact, CastKind::Explicit, &TimeStyle::UTC)?)
    };
    let parts = read(text, template, true)?;
    let offset = || -> Result<i64> {
        let missing = if dated { "timestamptz" } else { "timetz" };
        let missing = format!("missing time zone in input string for type {missing}");
        Ok(parts.offset.ok_or_else(|| TypeError::new("22007", missing))?)
    };
    let range = |ty: &str| TypeError::new("22008", format!("{ty} out of range"));
    let moment = || -> Result<i64> {
        let micros = parts.date(text)?.checked_mul(MICROS_PER_DAY);
        let micros = micros.and_then(|micros| micros.checked_add(parts.time(text).ok()?));
        Ok(micros.filter(|micros| datetime::is_timestamp(*micros)).ok_or_else(|| range("timestamp"))?)
    };
    match (dated, timed, zoned) {
        (true, true, true) => {
            parts.time(text)?;
            let offset = offset()?;
            let moment = moment()? - offset * MICROS_PER_SECOND;
            if !datetime::is_timestamp(moment) {
                return Err(range("timestamptz").into());
            }
            let ty = SqlType::Timestamptz(None);
            let value = kept(Value::Timestamptz(moment), ty.clone(), SqlType::Timestamptz(digits))?;
            Ok((value, ty, Some(offset as i32)))
        }
        (true, true, false) => {
            parts.time(text)?;
            let ty = SqlType::Timestamp(None);
            let value = kept(Value::Timestamp(moment()?), ty.clone(), SqlType::Timestamp(digits))?;
            Ok((value, ty, None))
        }
        (false, true, true) => {
            let time = TimeTz { micros: parts.time(text)?, offset: offset()? as i32 };
            let ty = SqlType::Timetz(None);
            Ok((kept(time.into_value(), ty.clone(), SqlType::Timetz(digits))?, ty, None))
        }
        (false, true, false) => {
            let ty = SqlType::Time(None);
            Ok((kept(Value::Time(parts.time(text)?), ty.clone(), SqlType::Time(digits))?, ty, None))
        }
        (true, false, true) => refused("datetime format is zoned but not timed"),
        (true, false, false) => {
            let day = i32::try_from(parts.date(text)?).ok().filter(|day| datetime::is_date(i64::from(*day)));
            Ok((Value::Date(day.ok_or_else(|| range("date"))?), SqlType::Date, None))
        }
        (false, false, _) => refused("datetime format is not dated and not timed"),
    }
}

impl Parts {
    fn field(&mut self, input: &mut Input<'_>, pattern: (&'static str, &str), open: bool) -> Result<()> {
        let (name, shown) = pattern;
        let fraction = |input: &mut Input<'_>, digits: usize, unit: u32| -> Result<i64> {
            let (number, used) = input.integer(shown, digits, open)?;
            Ok(number * 10i64.pow(unit.saturating_sub(used as u32)))
        };
        let word_number = |found: usize| found as i64 + 1;
        match name {
            "FX" => input.fixed = true,
            "AM" | "PM" => {
                (self.afternoon, self.twelve) = (input.word(shown, &["am", "pm"])? == 1, true);
            }
            "A.M." | "P.M." => {
                (self.afternoon, self.twelve) = (input.word(shown, &["a.m.", "p.m."])? == 1, true);
            }
            "AD" | "BC" => self.before_christ = input.word(shown, &["ad", "bc"])? == 1,
            "A.D." | "B.C." => self.before_christ = input.word(shown, &["a.d.", "b.c."])? == 1,
            "HH" | "HH12" => (self.hour, self.twelve) = (input.integer(shown, 2, open)?.0, true),
            "HH24" => self.hour = input.integer(shown, 2, open)?.0,
            "MI" => self.minute = input.integer(shown, 2, open)?.0,
            "SS" => self.second = input.integer(shown, 2, open)?.0,
            "SSSS" | "SSSSS" => self.of_day = Some(input.integer(shown, 5, open)?.0),
            "MS" => self.micros = fraction(input, 3, 3)? * 1000,
            "US" | "FF6" => self.micros = fraction(input, 6, 6)?,
            "FF1" => self.micros = fraction(input, 1, 6)?,
            "FF2" => self.micros = fraction(input, 2, 6)?,
            "FF3" => self.micros = fraction(input, 3, 6)?,
            "FF4" => self.micros = fraction(input, 4, 6)?,
            "FF5" => self.micros = fraction(input, 5, 6)?,
            "MONTH" => self.month = Some(word_number(input.word(shown, &MONTHS)?)),
            "MON" => {
                let short: Vec<&str> = MONTHS.iter().map(|month| &month[..3]).collect();
                self.month = Some(word_number(input.word(shown, &short)?));
            }
            "MM" => self.month = Some(input.integer(shown, 2, open)?.0),
            "RM" => {
                // Longer numerals first: VIII before VII.
                let mut order: Vec<usize> = (0..ROMAN.len()).collect();
                order.sort_by_key(|n| std::cmp::Reverse(ROMAN[*n].len()));
                let numerals: Vec<&str> = order.iter().map(|n| ROMAN[*n]).collect();
                self.month = Some(word_number(order[input.word(shown, &numerals)?]));
            }
            "DAY" => self.iso_weekday = Some(word_number(input.word(shown, &DAYS)?)),
            "DY" => {
                let short: Vec<&str> = DAYS.iter().map(|day| &day[..3]).collect();
                self.iso_weekday = Some(word_number(input.word(shown, &short)?));
            }
            "DDD" => self.day_of_year = Some(input.integer(shown, 3, open)?.0),
            "DD" => self.day = Some(input.integer(shown, 2, open)?.0),
            // From Sunday.
            "D" => self.iso_weekday = Some((input.integer(shown, 1, open)?.0 + 5).rem_euclid(7) + 1),
            "ID" => self.iso_weekday = Some(input.integer(shown, 1, open)?.0),
            "WW" => self.week = Some(input.integer(shown, 2, open)?.0),
            "IW" => self.iso_week = Some(input.integer(shown, 2, open)?.0),
            "W" => self.week_of_month = Some(input.integer(shown, 1, open)?.0),
            // Which day of a quarter is meant nobody knows.
            "Q" => {
                input.integer(shown, 1, open)?;
            }
            "CC" => self.century = Some(input.integer(shown, 2, open)?.0),
            "J" => self.julian = Some(input.integer(shown, 9, open)?.0),
            "YYYY" | "YYY" | "YY" | "Y" | "IYYY" | "IYY" | "IY" | "I" => {
                let digits = name.len();
                let (number, used) = input.integer(shown, digits, open)?;
                let year = if digits < 4 && used < 4 { near_2020(number) } else { number };
                if name.starts_with('I') {
                    self.iso_year = Some(year);
                } else {
                    (self.year, self.year_digits) = (Some(year), digits);
                }
            }
            "TZH" => {
                let negative = input.rest.starts_with('-');
                if input.rest.starts_with(['+', '-']) {
                    input.skip();
                }
                let hours = input.integer(shown, 2, open)?.0 * 3600;
                self.offset = Some(if negative { -hours } else { hours });
            }
            "TZM" => {
                let minutes = input.integer(shown, 2, open)?.0 * 60;
                let hours = self.offset.unwrap_or(0);
                self.offset = Some(if hours < 0 { hours - minutes } else { hours + minutes });
            }
            _ => {
                let text =
                    format!("the template pattern \"{name}\" in to_date and to_timestamp is not supported");
                return Err(TypeError::new("0A000", text).into());
            }
        }
        Ok(())
    }

    /// Days since 2000-01-01.
    fn date(&self, text: &str) -> Result<i64> {
        let range = || ExecError::from(field_out_of_range(text));
        let mut year = match (self.year, self.century) {
            (Some(year), Some(century)) if self.year_digits <= 2 => (century - 1) * 100 + year % 100,
            (Some(year), _) => year,
            (None, Some(century)) => (century - 1) * 100 + 1,
            (None, None) => 0,
        };
        if self.before_christ {
            year = 1 - year;
        } else if self.year.is_some_and(|year| year < 0) {
            year += 1;
        }
        if let Some(julian) = self.julian {
            return Ok(julian - 2_451_545);
        }
        let known_year = self.year.is_some() || self.century.is_some();
        let year = if known_year { year } else { 0 };
        let first = |year: i64, month: i64| -> Result<i64> {
            let year = i32::try_from(year).map_err(|_| range())?;
            Ok(datetime::days_from_civil(year, month as u8, 1))
        };
        if let Some(week) = self.iso_week {
            let year = self.iso_year.unwrap_or(0);
            // The week of 4 January is the first.
            let fourth = first(year, 1)? + 3;
            let monday = fourth - (fourth + 5).rem_euclid(7);
            return Ok(monday + (week - 1) * 7 + self.iso_weekday.unwrap_or(1) - 1);
        }
        let day_of_year = self.week.map(|week| (week - 1) * 7 + 1).or(self.day_of_year);
        if let Some(day) = day_of_year
            && self.month.is_none()
        {
            if !known_year {
                let text = "cannot calculate day of year without year information";
                return Err(TypeError::new("22007", text).into());
            }
            let length = first(year + 1, 1)? - first(year, 1)?;
            if !(1..=length).contains(&day) {
                return Err(range());
            }
            return Ok(first(year, 1)? + day - 1);
        }
        // Without a year it is 1 BC.
        let month = self.month.unwrap_or(1);
        let day = self.week_of_month.map(|week| (week - 1) * 7 + 1).or(self.day).unwrap_or(1);
        if !(1..=12).contains(&month) {
            return Err(range());
        }
        let start = first(year, month)?;
        let next = if month == 12 { first(year + 1, 1)? } else { first(year, month + 1)? };
        if !(1..=next - start).contains(&day) {
            return Err(range());
        }
        Ok(start + day - 1)
    }

    /// Microseconds since midnight.
    fn time(&self, text: &str) -> Result<i64> {
        if let Some(seconds) = self.of_day {
            return match seconds {
                0..=86_400 => Ok(seconds * MICROS_PER_SECOND + self.micros),
                _ => Err(field_out_of_range(text).into()),
            };
        }
        let mut hour = self.hour;
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return Err(TypeError::new(
                    "22007",
                    format!("hour \"{hour}\" is invalid for the 12-hour clock"),
                )
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12.")
                .into());
            }
            hour = hour % 12 + if self.afternoon { 12 } else { 0 };
        }
        if !(0..24).contains(&hour) || !(0..60).contains(&self.minute) || !(0..60).contains(&self.second) {
            return Err(field_out_of_range(text).into());
        }
        Ok(hour * MICROS_PER_HOUR
            + self.minute * MICROS_PER_MINUTE
            + self.second * MICROS_PER_SECOND
            + self.micros)
    }
}

#[cold]
fn field_out_of_range(text: &str) -> TypeError {
    TypeError::new("22008", format!("date/time field value out of range: \"{text}\""))
}

fn to_date(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else { return Err(unexpected("to_date", args)) };
    let days = read(text, template, false)?.date(text)?;
    let day = i32::try_from(days).ok().filter(|day| datetime::is_date(i64::from(*day)));
    let range = || TypeError::new("22008", format!("date out of range: \"{text}\""));
    Ok(Value::Date(day.ok_or_else(range)?))
}

fn to_timestamp(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else {
        return Err(unexpected("to_timestamp", args));
    };
    let parts = read(text, template, false)?;
    let (days, time) = (parts.date(text)?, parts.time(text)?);
    let range = || TypeError::new("22008", format!("timestamp out of range: \"{text}\""));
    let local = days.checked_mul(MICROS_PER_DAY).and_then(|micros| micros.checked_add(time));
    let local = local.filter(|micros| datetime::is_timestamp(*micros)).ok_or_else(range)?;
    match parts.offset {
        Some(offset) => Ok(Value::Timestamptz(local - offset * MICROS_PER_SECOND)),
        None => {
            let (from, to) = (SqlType::Timestamp(None), SqlType::Timestamptz(None));
            Ok(cast(&Value::Timestamp(local), &from, &to, CastKind::Implicit, cx.services.time_zone)?)
        }
    }
}

static READERS: &[BuiltinFunction] = &[
    entry!("to_date" () [Text, Text] => Date, to_date, None),
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..entry!("to_timestamp" () [Text, Text] => Timestamptz, to_timestamp, None)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [READERS];
