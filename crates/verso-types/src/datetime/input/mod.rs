//! Input of dates, times, timestamps and intervals: every spelling that PostgreSQL reads, by the way that it reads them.
//!
//! ```text
//! text ─split─► fields ─decode─► parts ─validate─► days, microseconds, offset
//!                (fields.rs)      (decode.rs; numbers.rs for digits, words.rs for words)
//! ```

mod decode;
mod fields;
mod interval;
mod numbers;
mod words;

pub(crate) use interval::cut_interval;
pub use interval::{parse_interval, parse_interval_as};

use super::{MICROS_PER_DAY, MICROS_PER_SECOND, UNIX_EPOCH_MICROS, checked_timestamp, is_date};
use crate::error::{TypeError, sqlstate};
use crate::time_style::TimeStyle;
use decode::{Decoded, Moment, decode};

/// Why a text is no date, time or interval.
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

fn read(text: &str, only_time: bool, type_name: &str, style: &TimeStyle) -> Result<Decoded, TypeError> {
    let fields = fields::split(text, |word| words::word(word).is_some());
    fields.and_then(|fields| decode(&fields, only_time, style)).map_err(|flaw| flaw.error(type_name, text))
}

fn out_of_range(what: &str, text: &str) -> TypeError {
    TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, format!("{what} out of range: \"{text}\""))
}

/// Reads a date.
/// # Errors
/// 22007, 22008.
pub fn parse_date(text: &str, style: &TimeStyle) -> Result<i32, TypeError> {
    let days = match read(text, false, "date", style)? {
        Decoded::Late => return Ok(i32::MAX),
        Decoded::Early => return Ok(i32::MIN),
        Decoded::Epoch => -i64::from(super::UNIX_EPOCH_DAYS),
        Decoded::Moment(moment) => moment.days.unwrap_or_default(),
    };
    match i32::try_from(days) {
        Ok(narrow) if is_date(days) => Ok(narrow),
        _ => Err(out_of_range("date", text)),
    }
}

fn time_of_day(text: &str, type_name: &str, style: &TimeStyle) -> Result<Moment, TypeError> {
    match read(text, true, type_name, style)? {
        Decoded::Moment(moment) => Ok(moment),
        Decoded::Epoch | Decoded::Late | Decoded::Early => Err(Flaw::Syntax.error(type_name, text)),
    }
}

/// Reads a time of day; a date and a zone beside it are read and dropped.
/// # Errors
/// 22007, 22008.
pub fn parse_time(text: &str, style: &TimeStyle) -> Result<i64, TypeError> {
    Ok(time_of_day(text, "time", style)?.time)
}

/// Reads a time of day with the seconds by which its zone is ahead of UTC; none where the text names neither a zone nor a date.
/// A zone whose clocks change needs a date.
/// # Errors
/// 22007, 22008, 22009.
pub fn parse_timetz(text: &str, style: &TimeStyle) -> Result<(i64, Option<i32>), TypeError> {
    let moment = time_of_day(text, "time with time zone", style)?;
    Ok((moment.time, moment.offset))
}

/// Reads a timestamp without time zone; a zone in the text is read and dropped, as in PostgreSQL.
/// # Errors
/// 22007, 22008.
pub fn parse_timestamp(text: &str, style: &TimeStyle) -> Result<i64, TypeError> {
    let (local, _) = timestamp(text, "timestamp", style)?;
    stored(local, 0).map_err(|_| out_of_range("timestamp", text))
}

/// Reads a timestamp with time zone; without a zone in the text the session's holds.
/// # Errors
/// 22007, 22008, 22009.
pub fn parse_timestamptz(text: &str, tz: &TimeStyle) -> Result<i64, TypeError> {
    let (local, offset) = timestamp(text, "timestamp with time zone", tz)?;
    stored(local, offset).map_err(|_| out_of_range("timestamp", text))
}

/// Clocks so many seconds ahead of UTC, as a value; infinities stay.
fn stored(local: Local, offset: i32) -> Result<i64, TypeError> {
    match local {
        Local::Infinite(value) => Ok(value),
        Local::Micros(local) => checked_timestamp(local - i128::from(offset) * i128::from(MICROS_PER_SECOND)),
    }
}

/// What clocks show: it may lie beyond the range where its moment does not.
enum Local {
    Micros(i128),
    Infinite(i64),
}

/// A timestamp by the clocks of its zone, and the seconds by which that is ahead of UTC.
fn timestamp(text: &str, type_name: &str, style: &TimeStyle) -> Result<(Local, i32), TypeError> {
    let moment = match read(text, false, type_name, style)? {
        Decoded::Late => return Ok((Local::Infinite(i64::MAX), 0)),
        Decoded::Early => return Ok((Local::Infinite(i64::MIN), 0)),
        Decoded::Epoch => return Ok((Local::Micros(-i128::from(UNIX_EPOCH_MICROS)), 0)),
        Decoded::Moment(moment) => moment,
    };
    let days = i128::from(moment.days.unwrap_or_default());
    let micros = days * i128::from(MICROS_PER_DAY) + i128::from(moment.time);
    Ok((Local::Micros(micros), moment.offset.unwrap_or_default()))
}

/// Whether what a text means as a date or time depends on when that is asked.
pub fn heeds_clock(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_ascii_alphabetic());
    let known = ["now", "today", "tomorrow", "yesterday"];
    words.into_iter().any(|word| known.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// Seconds east of UTC of `+hh`, `+hhmm`, `+hh:mm`, `+hh:mm:ss`, the sign left out or not; `None` where it is none or beyond 15:59:59.
pub(super) fn parse_offset(text: &str) -> Option<i32> {
    let signed = text.starts_with(['+', '-']);
    let read = if signed { numbers::displacement(text) } else { numbers::displacement(&format!("+{text}")) };
    read.ok()
}
