//! Dates and times: PostgreSQL's calendar, ranges, text and arithmetic.
//!
//! Dates are days, timestamps microseconds since 2000-01-01; the calendar is the proleptic Gregorian one. `i32::MAX`,
//! `i64::MAX` stand for infinity, the `MIN`s for -infinity. Years are astronomical here: 0 is 1 BC.

mod arithmetic;
mod calendar;
mod format;
mod input;
mod styles;
mod zone;

pub use arithmetic::*;
pub use calendar::*;
pub use format::*;
pub use input::*;
pub use styles::*;
pub use zone::*;

use crate::error::{TypeError, sqlstate};

/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
/// Microseconds of an hour.
pub const MICROS_PER_HOUR: i64 = 3_600_000_000;
/// Microseconds of a minute.
pub const MICROS_PER_MINUTE: i64 = 60_000_000;
/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Days from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_DAYS: i32 = 10_957;
/// Microseconds from 1970-01-01 to 2000-01-01.
pub const UNIX_EPOCH_MICROS: i64 = UNIX_EPOCH_DAYS as i64 * MICROS_PER_DAY;

/// 4714-11-24 BC, the first date.
pub const MIN_DATE: i32 = -2_451_545;
/// 5874897-12-31, the last date.
pub const MAX_DATE: i32 = 2_145_031_948;
/// 4714-11-24 00:00:00 BC, the first timestamp.
pub const MIN_TIMESTAMP: i64 = -211_813_488_000_000_000;
/// Behind the last timestamp: 294277-01-01 00:00:00.
pub const END_TIMESTAMP: i64 = 9_223_371_331_200_000_000;

/// Is it a finite date within the range?
pub fn is_date(days: i64) -> bool {
    (i64::from(MIN_DATE)..=i64::from(MAX_DATE)).contains(&days)
}

/// Is it a finite timestamp within the range?
pub fn is_timestamp(micros: i64) -> bool {
    (MIN_TIMESTAMP..END_TIMESTAMP).contains(&micros)
}

/// The timestamp, if it is within the range.
/// # Errors
/// 22008 "timestamp out of range".
pub fn checked_timestamp(micros: i128) -> Result<i64, TypeError> {
    let narrow = i64::try_from(micros).ok().filter(|micros| is_timestamp(*micros));
    narrow.ok_or_else(|| TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
}

/// The date, if it is within the range.
/// # Errors
/// 22008 "date out of range".
pub fn checked_date(days: i64) -> Result<i32, TypeError> {
    match i32::try_from(days) {
        Ok(narrow) if is_date(days) => Ok(narrow),
        _ => Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range")),
    }
}
