//! Casts of dates, times and intervals, and their digits.

use crate::TimeStyle;
use crate::datetime;
use crate::error::{TypeError, sqlstate};
use crate::sqltype::SqlType;
use crate::value::{Interval, Value};

/// A time as a value of a type with modifiers: rounded to its digits, an interval without the fields that it has not.
pub fn limit_time(value: Value, ty: &SqlType) -> Value {
    let rounded = |micros: i64, digits: u8| {
        // as in PostgreSQL, away from zero at the half
        let unit = 10i64.pow(6u32.saturating_sub(digits.into()));
        let half = if micros < 0 { -(unit / 2) } else { unit / 2 };
        micros.checked_add(half).map_or(micros, |micros| micros / unit * unit)
    };
    let finite = |micros: i64, digits: u8| match micros {
        i64::MIN | i64::MAX => micros,
        _ => rounded(micros, digits),
    };
    match (value, ty) {
        (Value::Time(v), SqlType::Time(Some(digits))) => Value::Time(rounded(v, *digits)),
        (Value::Timestamp(v), SqlType::Timestamp(Some(digits))) => Value::Timestamp(finite(v, *digits)),
        (Value::Timestamptz(v), SqlType::Timestamptz(Some(digits))) => Value::Timestamptz(finite(v, *digits)),
        (Value::Interval(v), SqlType::Interval(Some(spec))) if v.is_finite() => {
            let mut kept = datetime::cut_interval(v, *spec);
            kept.micros = rounded(kept.micros, spec.digits());
            Value::Interval(kept)
        }
        (value, _) => value,
    }
}

/// What a moment that is out of range is in comparisons: greater or less than all that are in range, but not infinite.
pub(super) fn beyond_all(value: &Value, to: &SqlType) -> Option<Value> {
    let is_late = match value {
        Value::Date(days) => *days > 0,
        Value::Timestamp(micros) => *micros > 0,
        _ => return None,
    };
    let micros = if is_late { i64::MAX - 1 } else { i64::MIN + 1 };
    match to {
        SqlType::Timestamp(_) => Some(Value::Timestamp(micros)),
        SqlType::Timestamptz(_) => Some(Value::Timestamptz(micros)),
        _ => None,
    }
}

/// Dates, times and intervals; `None` where there is no cast.
pub(super) fn cast_time(value: &Value, to: &SqlType, tz: &TimeStyle) -> Option<Result<Value, TypeError>> {
    let time_of = |micros: i64| match micros {
        i64::MIN | i64::MAX => Value::Null, // an infinity has no time of day
        _ => Value::Time(datetime::split_timestamp(micros).1),
    };
    Some(match (value, to) {
        (Value::Date(v), SqlType::Timestamp(_)) => datetime::date_to_timestamp(*v).map(Value::Timestamp),
        (Value::Date(v), SqlType::Timestamptz(_)) => {
            datetime::date_to_timestamp(*v).and_then(|v| datetime::to_utc(v, tz)).map(Value::Timestamptz)
        }
        (Value::Timestamp(v), SqlType::Date) => Ok(Value::Date(datetime::timestamp_to_date(*v))),
        (Value::Timestamp(v), SqlType::Time(_)) => Ok(time_of(*v)),
        (Value::Timestamp(v), SqlType::Timestamptz(_)) => datetime::to_utc(*v, tz).map(Value::Timestamptz),
        (Value::Timestamptz(v), SqlType::Date) => {
            Ok(Value::Date(datetime::timestamp_to_date(datetime::to_local(*v, tz))))
        }
        (Value::Timestamptz(v), SqlType::Time(_)) => Ok(time_of(datetime::to_local(*v, tz))),
        (Value::Timestamptz(v), SqlType::Timestamp(_)) => Ok(Value::Timestamp(datetime::to_local(*v, tz))),
        (Value::Time(v), SqlType::Interval(_)) => {
            Ok(Value::Interval(Interval { micros: *v, ..Interval::default() }))
        }
        (Value::Interval(v), SqlType::Time(_)) if !v.is_finite() => {
            let message = "cannot convert infinite interval to time";
            Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message))
        }
        (Value::Interval(v), SqlType::Time(_)) => {
            Ok(Value::Time(v.micros.rem_euclid(datetime::MICROS_PER_DAY)))
        }
        _ => return None,
    })
}
