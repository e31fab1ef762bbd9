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
        // A backslash before a quote makes it a character like others.
        if c == '\\' && chars.as_str().starts_with('"') {
            chars.next();
            nodes.push(Node::Separator('"'));
            rest = chars.as_str();
            continue;
        }
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

/// Which calendar the patterns of a template are of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Convention {
    #[default]
    Any,
    Gregorian,
    IsoWeek,
}

/// What a text says; 0 where it says nothing.
#[derive(Default)]
struct Parts {
    convention: Convention,
    year: i64,
    /// How many digits the year was given with.
    year_digits: usize,
    century: i64,
    before_christ: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    week: i64,
    week_of_month: i64,
    /// From Sunday, 1.
    weekday: i64,
    julian: i64,
    hour: i64,
    twelve: bool,
    afternoon: i64,
    minute: i64,
    second: i64,
    millis: i64,
    micros: i64,
    /// Digits of the seconds that are kept, where `FF1` to `FF6` said so.
    digits: Option<u8>,
    of_day: i64,
    /// Of the distance from UTC: 0 where there is none.
    zone_sign: i64,
    zone_hours: i64,
    zone_minutes: i64,
    /// An abbreviation of a zone.
    zone: Option<String>,
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
    /// Whether the last character before `rest` is a minus.
    minus: bool,
}

impl Input<'_> {
    fn blanks(&mut self) {
        let kept = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        self.minus &= self.rest.len() == kept.len();
        self.extra += (self.rest.len() - kept.len()) as i32;
        self.rest = kept;
    }

    fn skip(&mut self) {
        let mut chars = self.rest.chars();
        self.minus = chars.next() == Some('-');
        self.rest = chars.as_str();
    }

    /// The sign before the hours of a distance from UTC. A minus may have been taken for a separator.
    fn zone_sign(&mut self) -> i64 {
        let swallowed = self.extra > 0 && self.minus;
        match self.rest.as_bytes().first() {
            Some(b'-') => (self.skip(), -1).1,
            Some(b'+' | b' ') => (self.skip(), 1).1,
            _ if swallowed => -1,
            _ => 1,
        }
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

    /// A year as `1,582`: any number of thousands, up to three digits behind the comma.
    fn thousands(&mut self) -> Option<i64> {
        let text = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace());
        let sign = usize::from(text.starts_with(['-', '+']));
        let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let thousands: i64 = text[..sign + digits].trim_start_matches('+').parse().ok()?;
        let behind = text[sign + digits..].strip_prefix(',')?;
        let used = behind.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let year: i64 = behind[..used].parse().ok()?;
        let year = thousands.checked_mul(1000)?.checked_add(year)?;
        i32::try_from(year).ok()?;
        self.rest = &behind[used..];
        Some(year)
    }

    /// The abbreviation of a zone that the text begins with: the longest that is known.
    ///
    /// # Errors
    /// 22007 for letters that are none.
    fn abbreviation(&mut self) -> Result<Option<String>> {
        let letters = self.rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        for length in (1..=letters).rev() {
            let name = &self.rest[..length];
            if datetime::abbreviation_offset(name).is_some() {
                self.rest = &self.rest[length..];
                return Ok(Some(name.to_owned()));
            }
        }
        if letters > 0 {
            return Err(invalid(self.rest, "TZ", "Time zone abbreviation is not recognized.".into()));
        }
        Ok(None)
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
            | "FX"
            | "OF"
            | "RM"
            | "TZ"
            | "TZH"
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
    let mut input = Input { rest: text, fixed: standard, extra: 0, minus: false };
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
                parts.agree_on(convention(name))?;
                parts.field(&mut input, (*name, *shown), is_open(&nodes, at))?;
                if *ordinal && has_suffix(name) {
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
    let (mut dated, mut timed, mut zoned) = (false, false, false);
    for node in nodes(template, true)? {
        let Node::Field { name, .. } = node else { continue };
        match name {
            "FX" => {}
            "TZ" | "TZH" | "TZM" | "OF" => zoned = true,
            "A.M." | "AM" | "P.M." | "PM" | "HH" | "HH12" | "HH24" | "MI" | "SS" | "SSSS" | "SSSSS"
            | "MS" | "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                timed = true;
            }
            _ => dated = true,
        }
    }
    let kept = |value: Value, ty: SqlType, exact: SqlType| -> Result<Value> {
        Ok(cast(&value, &ty, &exact, CastKind::Explicit, &TimeStyle::UTC)?)
    };
    let parts = read(text, template, true)?;
    let digits = parts.digits;
    let offset = |local: i64| -> Result<i64> {
        let missing = if dated { "timestamptz" } else { "timetz" };
        let missing = format!("missing time zone in input string for type {missing}");
        Ok(parts.offset(text, local)?.ok_or_else(|| TypeError::new("22007", missing))?)
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
            let local = moment()?;
            let offset = offset(local)?;
            let moment = local - offset * MICROS_PER_SECOND;
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
            let time = TimeTz { micros: parts.time(text)?, offset: offset(0)? as i32 };
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

/// The calendar that a pattern is of.
fn convention(name: &str) -> Convention {
    match name {
        "DDD" | "DD" | "D" | "MM" | "MONTH" | "MON" | "RM" | "WW" | "W" | "Y,YYY" | "YYYY" | "YYY" | "YY"
        | "Y" => Convention::Gregorian,
        "IDDD" | "ID" | "IW" | "IYYY" | "IYY" | "IY" | "I" => Convention::IsoWeek,
        _ => Convention::Any,
    }
}

/// Whether `TH` behind the pattern stands for two characters of the text.
fn has_suffix(name: &str) -> bool {
    is_digits(name)
}

/// Sets a number, which may be said twice alike.
fn set(field: &mut i64, value: i64, shown: &str) -> Result<()> {
    if *field != 0 && *field != value {
        let text = format!("conflicting values for \"{shown}\" field in formatting string");
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(TypeError::new("22007", text).with_detail(detail).into());
    }
    *field = value;
    Ok(())
}

impl Parts {
    fn agree_on(&mut self, convention: Convention) -> Result<()> {
        if convention == Convention::Any || self.convention == convention {
            return Ok(());
        }
        if self.convention != Convention::Any {
            return Err(TypeError::new("22007", "invalid combination of date conventions")
                .with_hint("Do not mix Gregorian and ISO week date conventions in a formatting template.")
                .into());
        }
        self.convention = convention;
        Ok(())
    }

    fn field(&mut self, input: &mut Input<'_>, pattern: (&'static str, &str), open: bool) -> Result<()> {
        let (name, shown) = pattern;
        let word_number = |found: usize| found as i64 + 1;
        // The number of a field of so many digits, stored where the last argument says.
        let number = |input: &mut Input<'_>, digits: usize, field: &mut i64| -> Result<usize> {
            let (number, used) = input.integer(shown, digits, open)?;
            set(field, number, shown).map(|()| used)
        };
        match name {
            "FX" => input.fixed = true,
            "AM" | "PM" => {
                set(&mut self.afternoon, input.word(shown, &["am", "pm"])? as i64, shown)?;
                self.twelve = true;
            }
            "A.M." | "P.M." => {
                set(&mut self.afternoon, input.word(shown, &["a.m.", "p.m."])? as i64, shown)?;
                self.twelve = true;
            }
            "AD" | "BC" => set(&mut self.before_christ, input.word(shown, &["ad", "bc"])? as i64, shown)?,
            "A.D." | "B.C." => {
                set(&mut self.before_christ, input.word(shown, &["a.d.", "b.c."])? as i64, shown)?;
            }
            "HH" | "HH12" => {
                number(input, 2, &mut self.hour)?;
                self.twelve = true;
            }
            "HH24" => {
                number(input, 2, &mut self.hour)?;
            }
            "MI" => {
                number(input, 2, &mut self.minute)?;
            }
            "SS" => {
                number(input, 2, &mut self.second)?;
            }
            "SSSS" | "SSSSS" => {
                number(input, name.len(), &mut self.of_day)?;
            }
            "MS" => {
                let used = number(input, 3, &mut self.millis)?;
                self.millis *= 10i64.pow(3u32.saturating_sub(used as u32));
            }
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                let digits = name.strip_prefix("FF").and_then(|digits| digits.parse::<u8>().ok());
                self.digits = digits.or(self.digits);
                let used = number(input, usize::from(digits.unwrap_or(6)), &mut self.micros)?;
                self.micros *= 10i64.pow(6u32.saturating_sub(used as u32));
            }
            "MONTH" => set(&mut self.month, word_number(input.word(shown, &MONTHS)?), shown)?,
            "MON" => {
                let short: Vec<&str> = MONTHS.iter().map(|month| &month[..3]).collect();
                set(&mut self.month, word_number(input.word(shown, &short)?), shown)?;
            }
            "MM" => {
                number(input, 2, &mut self.month)?;
            }
            "RM" => {
                // Longer numerals first: VIII before VII.
                let mut order: Vec<usize> = (0..ROMAN.len()).collect();
                order.sort_by_key(|n| std::cmp::Reverse(ROMAN[*n].len()));
                let numerals: Vec<&str> = order.iter().map(|n| ROMAN[*n]).collect();
                set(&mut self.month, word_number(order[input.word(shown, &numerals)?]), shown)?;
            }
            // The days begin with Monday, the numbers with Sunday.
            "DAY" => set(&mut self.weekday, (input.word(shown, &DAYS)? as i64 + 1) % 7 + 1, shown)?,
            "DY" => {
                let short: Vec<&str> = DAYS.iter().map(|day| &day[..3]).collect();
                set(&mut self.weekday, (input.word(shown, &short)? as i64 + 1) % 7 + 1, shown)?;
            }
            "DDD" | "IDDD" => {
                number(input, 3, &mut self.day_of_year)?;
            }
            "DD" => {
                number(input, 2, &mut self.day)?;
            }
            "D" => {
                number(input, 1, &mut self.weekday)?;
            }
            "ID" => {
                number(input, 1, &mut self.weekday)?;
                self.weekday = if self.weekday >= 7 { 1 } else { self.weekday + 1 };
            }
            "WW" | "IW" => {
                number(input, 2, &mut self.week)?;
            }
            "W" => {
                number(input, 1, &mut self.week_of_month)?;
            }
            // Which day of a quarter is meant nobody knows.
            "Q" => {
                input.integer(shown, 1, open)?;
            }
            "CC" => {
                number(input, 2, &mut self.century)?;
            }
            // A Julian day has any number of digits, up to the longest integer.
            "J" => {
                number(input, 1, &mut self.julian)?;
            }
            "Y,YYY" => {
                let text = input.rest;
                let year = input
                    .thousands()
                    .ok_or_else(|| invalid(text, "Y,YYY", "Value must be an integer.".into()))?;
                set(&mut self.year, year, shown)?;
                self.year_digits = 4;
            }
            "YYYY" | "YYY" | "YY" | "Y" | "IYYY" | "IYY" | "IY" | "I" => {
                let digits = name.len();
                let used = number(input, digits, &mut self.year)?;
                if digits < 4 && used < 4 {
                    self.year = near_2020(self.year);
                }
                self.year_digits = digits;
            }
            "TZ" | "OF" => {
                if name == "TZ"
                    && let Some(word) = input.abbreviation()?
                {
                    (self.zone, self.zone_sign) = (Some(word), 0);
                    return Ok(());
                }
                self.zone_sign = input.zone_sign();
                number(input, 2, &mut self.zone_hours)?;
                if input.rest.starts_with(':') {
                    input.skip();
                    number(input, 2, &mut self.zone_minutes)?;
                }
            }
            "TZH" => {
                self.zone_sign = input.zone_sign();
                number(input, 2, &mut self.zone_hours)?;
            }
            "TZM" => {
                self.zone_sign = if self.zone_sign == 0 { 1 } else { self.zone_sign };
                number(input, 2, &mut self.zone_minutes)?;
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
        let before_christ = self.before_christ != 0;
        let century = if before_christ { -self.century } else { self.century };
        // The year 1 BC is 0. The century from 2001 on is the 21st, that up to 501 BC the 6th before Christ.
        let year = match (self.year, self.century) {
            (0, 0) => None,
            (0, _) => Some(if century >= 0 { (century - 1) * 100 + 1 } else { century * 100 + 1 }),
            (year, century_given) if century_given != 0 && self.year_digits <= 2 => Some(match year % 100 {
                0 => century * 100 + i64::from(century < 0),
                year if century >= 0 => year + (century - 1) * 100,
                year => (century + 1) * 100 - year + 1,
            }),
            (year, _) => {
                let year = if before_christ { -year } else { year };
                Some(if year < 0 { year + 1 } else { year })
            }
        };
        if self.julian != 0 && self.day == 0 && self.month == 0 {
            return Ok(self.julian - 2_451_545);
        }
        let known_year = year.is_some();
        let year = year.unwrap_or(0);
        let first = |year: i64, month: i64| -> Result<i64> {
            let year = i32::try_from(year).map_err(|_| range())?;
            Ok(datetime::days_from_civil(year, month as u8, 1))
        };
        // The week of 4 January is the first.
        let first_monday = |year: i64| -> Result<i64> {
            let fourth = first(year, 1)? + 3;
            Ok(fourth - (fourth + 5).rem_euclid(7))
        };
        let iso = self.convention == Convention::IsoWeek;
        if self.week != 0 && iso {
            let from_monday = match self.weekday {
                0 => 0,
                1 => 6,
                weekday => weekday - 2,
            };
            return Ok(first_monday(year)? + (self.week - 1) * 7 + from_monday);
        }
        let day_of_year = if self.week != 0 { (self.week - 1) * 7 + 1 } else { self.day_of_year };
        let mut day = if self.week_of_month != 0 { (self.week_of_month - 1) * 7 + 1 } else { self.day };
        let mut month = self.month;
        if day_of_year != 0 && (month <= 1 || day <= 1) {
            if !known_year && !before_christ {
                let text = "cannot calculate day of year without year information";
                return Err(TypeError::new("22007", text).into());
            }
            if iso {
                return Ok(first_monday(year)? + day_of_year - 1);
            }
            let start = first(year, 1)?;
            let ends = |month: i64| {
                Ok::<_, ExecError>(
                    if month == 12 { first(year + 1, 1)? } else { first(year, month + 1)? } - start,
                )
            };
            let mut found = 1;
            while found <= 12 && day_of_year > ends(found)? {
                found += 1;
            }
            let before = if found == 1 { 0 } else { ends(found - 1)? };
            month = if month <= 1 { found } else { month };
            day = if day <= 1 { day_of_year - before } else { day };
        }
        // Without a year it is 1 BC.
        let (month_said, day_said) = (month != 0, day != 0);
        let (month, day) = (if month_said { month } else { 1 }, if day_said { day } else { 1 });
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(range());
        }
        let start = first(year, month)?;
        let next = if month == 12 { first(year + 1, 1)? } else { first(year, month + 1)? };
        if known_year && month_said && day_said && day > next - start {
            return Err(range());
        }
        Ok(start + day - 1)
    }

    /// Microseconds since midnight.
    fn time(&self, text: &str) -> Result<i64> {
        let said = |part: i64, of_day: i64| if part != 0 { part } else { of_day };
        let mut hour = said(self.hour, self.of_day / 3600);
        let minute = said(self.minute, self.of_day / 60 % 60);
        let second = said(self.second, self.of_day % 60);
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return Err(TypeError::new(
                    "22007",
                    format!("hour \"{hour}\" is invalid for the 12-hour clock"),
                )
                .with_hint("Use the 24-hour clock, or give an hour between 1 and 12.")
                .into());
            }
            hour = hour % 12 + if self.afternoon != 0 { 12 } else { 0 };
        }
        let micros = self.millis * 1000 + self.micros;
        let fits = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..MICROS_PER_SECOND).contains(&micros);
        if !fits {
            return Err(field_out_of_range(text).into());
        }
        Ok(hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND + micros)
    }

    /// Seconds east of UTC, for clocks that show `local`; none where the text names no zone.
    fn offset(&self, text: &str, local: i64) -> Result<Option<i64>> {
        if let Some(name) = &self.zone {
            let zone = datetime::zone_for_local(name, local)?;
            return Ok(Some(i64::from(datetime::offset_at_local(local, &zone))));
        }
        if self.zone_sign == 0 {
            return Ok(None);
        }
        if !(0..=15).contains(&self.zone_hours) || !(0..60).contains(&self.zone_minutes) {
            let text = format!("time zone displacement out of range: \"{text}\"");
            return Err(TypeError::new("22009", text).into());
        }
        Ok(Some((self.zone_hours * 60 + self.zone_minutes) * 60 * self.zone_sign))
    }
}

#[cold]
fn field_out_of_range(text: &str) -> TypeError {
    TypeError::new("22008", format!("date/time field value out of range: \"{text}\""))
}

fn to_date(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else { return Err(unexpected("to_date", args)) };
    let parts = read(text, template, false)?;
    let days = parts.date(text)?;
    parts.time(text)?;
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
    let zoned = SqlType::Timestamptz(None);
    let moment = match parts.offset(text, local)? {
        Some(offset) => Value::Timestamptz(local - offset * MICROS_PER_SECOND),
        None => {
            let from = SqlType::Timestamp(None);
            cast(&Value::Timestamp(local), &from, &zoned, CastKind::Implicit, cx.services.time_zone)?
        }
    };
    match parts.digits {
        Some(digits) => {
            let kept = SqlType::Timestamptz(Some(digits));
            Ok(cast(&moment, &zoned, &kept, CastKind::Explicit, cx.services.time_zone)?)
        }
        None => Ok(moment),
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
