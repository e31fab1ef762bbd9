//! What the digits of a date or time mean, depending on what was read before them.

use super::Flaw;
use super::decode::{DATE, DAY, DAY_OF_YEAR, MONTH, Parts, TIME, YEAR};
use super::words::{Word, word};
use crate::datetime::{civil_from_days, days_from_civil, days_in_month};
use crate::time_style::DateOrder;

/// A whole number at the front, and what is behind it.
pub(super) fn integer(text: &str) -> Result<(i32, &str), Flaw> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Err(Flaw::Syntax);
    }
    Ok((digits.parse().map_err(|_| Flaw::Range)?, rest))
}

/// `.123`, of one; a lone point is nothing.
pub(super) fn fraction(text: &str) -> Result<f64, Flaw> {
    let digits = text.strip_prefix('.').ok_or(Flaw::Syntax)?;
    if digits.is_empty() {
        return Ok(0.0);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Flaw::Syntax);
    }
    format!("0.{digits}").parse().map_err(|_| Flaw::Syntax)
}

/// The same in microseconds of a second, rounded as PostgreSQL does: half to even, in binary floating point.
fn micros(text: &str) -> Result<i32, Flaw> {
    Ok((fraction(text)? * 1e6).round_ties_even() as i32)
}

/// Hours (of an interval any number), minutes, seconds and microseconds of `hh:mm[:ss[.fff]]` or `mm:ss.fff`. `short`: two
/// fields are minutes and seconds.
pub(super) fn clock(text: &str, short: bool) -> Result<(i64, i32, i32, i32), Flaw> {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let mut hour: i64 = if end == 0 { 0 } else { text[..end].parse().map_err(|_| Flaw::Range)? };
    let rest = text[end..].strip_prefix(':').ok_or(Flaw::Syntax)?;
    let (mut minute, rest) = integer(rest).or_else(|flaw| match (flaw, rest) {
        (Flaw::Syntax, "") => Ok((0, "")),
        (Flaw::Syntax, other) if other.starts_with([':', '.']) => Ok((0, other)),
        (flaw, _) => Err(flaw),
    })?;
    let (mut second, mut fraction) = (0, 0);
    match rest.as_bytes().first() {
        None if short => {
            second = minute;
            minute = i32::try_from(hour).map_err(|_| Flaw::Range)?;
            hour = 0;
        }
        None => {}
        Some(b'.') => {
            fraction = micros(rest)?;
            second = minute;
            minute = i32::try_from(hour).map_err(|_| Flaw::Range)?;
            hour = 0;
        }
        Some(b':') => {
            let behind = &rest[1..];
            let (seconds, behind) = match behind.starts_with(|c: char| c.is_ascii_digit()) {
                true => integer(behind)?,
                false => (0, behind),
            };
            second = seconds;
            if !behind.is_empty() {
                fraction = micros(behind)?;
            }
        }
        Some(_) => return Err(Flaw::Syntax),
    }
    if minute > 59 || second > 60 || fraction > 1_000_000 {
        return Err(Flaw::Range);
    }
    Ok((hour, minute, second, fraction))
}

/// Seconds east of UTC of `+hh`, `+hhmm`, `+hh:mm`, `+hh:mm:ss`.
pub(super) fn displacement(text: &str) -> Result<i32, Flaw> {
    let beyond = |flaw: Flaw| if flaw == Flaw::Range { Flaw::ZoneRange } else { flaw };
    // nothing behind a colon is zero: `+1:`
    let part = |text: &'_ str| match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => integer(text).map(|(number, rest)| (number, text.len() - rest.len())).map_err(beyond),
        false => Ok((0, 0)),
    };
    let negative = match text.as_bytes().first() {
        Some(b'+') => false,
        Some(b'-') => true,
        _ => return Err(Flaw::Syntax),
    };
    let (mut hours, mut rest) = integer(&text[1..]).map_err(beyond)?;
    let (mut minutes, mut seconds) = (0, 0);
    if let Some(behind) = rest.strip_prefix(':') {
        let (number, used) = part(behind)?;
        (minutes, rest) = (number, &behind[used..]);
        if let Some(behind) = rest.strip_prefix(':') {
            let (number, used) = part(behind)?;
            (seconds, rest) = (number, &behind[used..]);
        }
    } else if rest.is_empty() && text.len() > 3 {
        (hours, minutes) = (hours / 100, hours % 100);
    }
    if hours > 15 || minutes > 59 || seconds > 59 {
        return Err(Flaw::ZoneRange);
    }
    if !rest.is_empty() {
        return Err(Flaw::Syntax);
    }
    let offset = (hours * 60 + minutes) * 60 + seconds;
    Ok(if negative { -offset } else { offset })
}

impl Parts {
    /// `12:34:56.7`
    pub(super) fn time(&mut self, text: &str) -> Result<u32, Flaw> {
        let (hour, minute, second, micros) = clock(text, false)?;
        self.hour = i32::try_from(hour).map_err(|_| Flaw::Range)?;
        (self.minute, self.second, self.micros) = (minute, second, micros);
        Ok(TIME)
    }

    /// `2021-03-04`, `3/4/2021`, `4-Mar-2021`, `2021.03.04`: which of its parts it has. `known`: what was read before.
    pub(super) fn date(&mut self, text: &str, known: u32) -> Result<u32, Flaw> {
        let (mut known, mut found, mut text_month) = (known, 0, false);
        let mut fields: Vec<&str> = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
            let digits = rest.starts_with(|c: char| c.is_ascii_digit());
            let alike = |c: char| if digits { c.is_ascii_digit() } else { c.is_ascii_alphabetic() };
            let end = rest.find(|c: char| !alike(c)).unwrap_or(rest.len());
            if end == 0 {
                // Behind a separator comes something.
                return Err(Flaw::Syntax);
            }
            fields.push(&rest[..end]);
            // One character goes with a field, whatever it is.
            rest = rest.get(end + 1..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
        }
        // Words first: a month is one wherever it stands.
        for field in fields.iter().filter(|field| field.starts_with(|c: char| c.is_ascii_alphabetic())) {
            match word(field) {
                Some(Word::Ignored) => continue,
                Some(Word::Month(month)) => self.month = month,
                _ => return Err(Flaw::Syntax),
            }
            if known & MONTH != 0 {
                return Err(Flaw::Syntax);
            }
            text_month = true;
            known |= MONTH;
            found |= MONTH;
        }
        for field in fields.iter().filter(|field| field.starts_with(|c: char| c.is_ascii_digit())) {
            let part = self.number(field, text_month, known)?;
            if known & part != 0 {
                return Err(Flaw::Syntax);
            }
            known |= part;
            found |= part;
        }
        match known & (DATE | TIME) & !DAY_OF_YEAR {
            DATE => Ok(found),
            _ => Err(Flaw::Syntax),
        }
    }

    /// A lone number: what it is depends on what there is.
    pub(super) fn number(&mut self, text: &str, text_month: bool, known: u32) -> Result<u32, Flaw> {
        let (value, rest) = integer(text)?;
        if rest.starts_with('.') {
            // Two digits at most stand before the fraction of a second.
            if text.len() - rest.len() > 2 {
                return self.run_together(text, known | DATE);
            }
            self.micros = micros(rest)?;
        } else if !rest.is_empty() {
            return Err(Flaw::Syntax);
        }
        if text.len() == 3 && known & DATE == YEAR && (1..=366).contains(&value) {
            self.day_of_year = value;
            return Ok(DAY_OF_YEAR | MONTH | DAY);
        }
        let year_first = text.len() >= 3 || self.order == DateOrder::Ymd;
        let part = match known & DATE {
            0 if year_first => YEAR,
            0 if self.order == DateOrder::Dmy => DAY,
            0 => MONTH,
            YEAR => MONTH,
            MONTH if text_month && year_first => YEAR,
            MONTH => DAY,
            both if both == YEAR | MONTH => {
                if text_month && text.len() >= 3 && self.short_year {
                    // What was taken for the year was the day.
                    (self.day, self.year) = (self.year, value);
                    self.short_year = false;
                    return Ok(DAY);
                }
                DAY
            }
            DAY => MONTH,
            both if both == MONTH | DAY => YEAR,
            DATE => return self.run_together(text, known),
            _ => return Err(Flaw::Syntax),
        };
        match part {
            YEAR => (self.year, self.short_year) = (value, text.len() <= 2),
            MONTH => self.month = value,
            _ => self.day = value,
        }
        Ok(part)
    }

    /// `20210304`, `040506`, `0405`, `040506.7`.
    pub(super) fn run_together(&mut self, text: &str, known: u32) -> Result<u32, Flaw> {
        let (digits, behind) = text.split_at(text.find('.').unwrap_or(text.len()));
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Flaw::Syntax);
        }
        let part = |from: usize, to: usize| -> Result<i32, Flaw> { Ok(integer(&digits[from..to])?.0) };
        let length = digits.len();
        if !behind.is_empty() {
            self.micros = micros(behind)?;
        } else if known & DATE != DATE && length >= 6 {
            self.day = part(length - 2, length)?;
            self.month = part(length - 4, length - 2)?;
            self.year = part(0, length - 4)?;
            self.short_year |= length == 6;
            return Ok(DATE);
        }
        if known & TIME != TIME && matches!(length, 4 | 6) {
            self.hour = part(0, 2)?;
            self.minute = part(2, 4)?;
            self.second = if length == 6 { part(4, 6)? } else { 0 };
            return Ok(TIME);
        }
        Err(Flaw::Syntax)
    }

    /// Makes years, months and days what they mean, and looks whether there are such.
    pub(super) fn validate(&mut self, known: u32) -> Result<(), Flaw> {
        if known & YEAR != 0 && !self.julian {
            if self.before_christ || !self.short_year {
                if self.year <= 0 {
                    return Err(Flaw::Range);
                }
                if self.before_christ {
                    self.year = 1 - self.year;
                }
            } else if self.year < 100 {
                self.year += if self.year < 70 { 2000 } else { 1900 };
            }
        }
        if known & DAY_OF_YEAR != 0 {
            self.set_day(days_from_civil(self.year, 1, 1) + i64::from(self.day_of_year) - 1)?;
        }
        if known & MONTH != 0 && !(1..=12).contains(&self.month)
            || known & DAY != 0 && !(1..=31).contains(&self.day)
        {
            return Err(Flaw::MonthDayRange);
        }
        if known & DATE == DATE && self.day > i32::from(days_in_month(self.year, self.month as u8)) {
            return Err(Flaw::Range);
        }
        Ok(())
    }

    /// Takes year, month and day of a day since 2000-01-01.
    pub(super) fn set_day(&mut self, days: i64) -> Result<(), Flaw> {
        let civil = civil_from_days(i32::try_from(days).map_err(|_| Flaw::Range)?);
        (self.year, self.month, self.day) = (civil.year, civil.month.into(), civil.day.into());
        Ok(())
    }
}
