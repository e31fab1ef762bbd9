//! The text that is read: numbers, words and blanks at its beginning.

use verso_types::TypeError;
use verso_types::datetime;

use crate::error::{ExecError, Result};

#[cold]
pub(super) fn invalid(value: &str, field: &str, detail: String) -> ExecError {
    TypeError::new("22007", format!("invalid value \"{value}\" for \"{field}\"")).with_detail(detail).into()
}

/// The text that is read.
pub(super) struct Input<'t> {
    pub(super) rest: &'t str,
    pub(super) fixed: bool,
    /// Blanks and separators skipped beyond those of the template.
    pub(super) extra: i32,
    /// Whether the last character before `rest` is a minus.
    pub(super) minus: bool,
}

impl Input<'_> {
    pub(super) fn blanks(&mut self) {
        let kept = self.rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        self.minus &= self.rest.len() == kept.len();
        self.extra += (self.rest.len() - kept.len()) as i32;
        self.rest = kept;
    }

    pub(super) fn skip(&mut self) {
        let mut chars = self.rest.chars();
        self.minus = chars.next() == Some('-');
        self.rest = chars.as_str();
    }

    /// The sign before the hours of a distance from UTC. A minus may have been taken for a separator.
    pub(super) fn zone_sign(&mut self) -> i64 {
        let swallowed = self.extra > 0 && self.minus;
        match self.rest.as_bytes().first() {
            Some(b'-') => (self.skip(), -1).1,
            Some(b'+' | b' ') => (self.skip(), 1).1,
            _ if swallowed => -1,
            _ => 1,
        }
    }

    /// An integer of so many digits, or of any number where nothing that could be a digit follows; its length.
    pub(super) fn integer(&mut self, name: &str, length: usize, open: bool) -> Result<(i64, usize)> {
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
    pub(super) fn thousands(&mut self) -> Option<i64> {
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
    pub(super) fn abbreviation(&mut self) -> Result<Option<String>> {
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
    pub(super) fn word(&mut self, name: &str, words: &[&str]) -> Result<usize> {
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
