//! What a text says, pattern by pattern: years, months, hours and so on, in one convention of dates.

use verso_types::TypeError;

use super::input::{Input, invalid};
use crate::error::Result;
use crate::functions::templates::{DAYS, MONTHS, ROMAN};

/// Which calendar the patterns of a template are of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Convention {
    #[default]
    Any,
    Gregorian,
    IsoWeek,
}

/// What a text says; 0 where it says nothing.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) convention: Convention,
    pub(super) year: i64,
    /// How many digits the year was given with.
    pub(super) year_digits: usize,
    pub(super) century: i64,
    pub(super) before_christ: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) day_of_year: i64,
    pub(super) week: i64,
    pub(super) week_of_month: i64,
    /// From Sunday, 1.
    pub(super) weekday: i64,
    pub(super) julian: i64,
    pub(super) hour: i64,
    pub(super) twelve: bool,
    pub(super) afternoon: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) millis: i64,
    pub(super) micros: i64,
    /// Digits of the seconds that are kept, where `FF1` to `FF6` said so.
    pub(super) digits: Option<u8>,
    pub(super) of_day: i64,
    /// Of the distance from UTC: 0 where there is none.
    pub(super) zone_sign: i64,
    pub(super) zone_hours: i64,
    pub(super) zone_minutes: i64,
    /// An abbreviation of a zone.
    pub(super) zone: Option<String>,
}

/// Years of fewer than four digits are those next to 2020.
fn near_2020(year: i64) -> i64 {
    match year {
        ..70 => year + 2000,
        70..100 => year + 1900,
        100..520 => year + 2000,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// The calendar that a pattern is of.
pub(super) fn convention(name: &str) -> Convention {
    match name {
        "DDD" | "DD" | "D" | "MM" | "MONTH" | "MON" | "RM" | "WW" | "W" | "Y,YYY" | "YYYY" | "YYY" | "YY"
        | "Y" => Convention::Gregorian,
        "IDDD" | "ID" | "IW" | "IYYY" | "IYY" | "IY" | "I" => Convention::IsoWeek,
        _ => Convention::Any,
    }
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
    pub(super) fn agree_on(&mut self, convention: Convention) -> Result<()> {
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

    pub(super) fn field(
        &mut self,
        input: &mut Input<'_>,
        pattern: (&'static str, &str),
        open: bool,
    ) -> Result<()> {
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
}
