//! The day, the time of day and the distance from UTC that the parts of a text make together.

use verso_types::TypeError;
use verso_types::datetime::{self, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND};

use super::parts::{Convention, Parts};
use crate::error::{ExecError, Result};

impl Parts {
    /// Days since 2000-01-01.
    pub(super) fn date(&self, text: &str) -> Result<i64> {
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
    pub(super) fn time(&self, text: &str) -> Result<i64> {
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
    pub(super) fn offset(&self, text: &str, local: i64) -> Result<Option<i64>> {
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
