//! Differences of sort keys: PostgreSQL's `in_range`.

use std::cmp::Ordering;

use verso_types::datetime::{date_to_timestamp, timestamp_plus_interval, timestamptz_plus_interval};
use verso_types::opaque::timetz::TimeTz;
use verso_types::value::cmp_f64;
use verso_types::{Interval, Number, TimeStyle, Value, cmp_sql};

use super::super::ExecContext;
use crate::error::{ExecError, Result};

/// An offset and its direction in the order of the rows.
pub(super) struct Step {
    pub offset: Value,
    pub preceding: bool,
}

/// Whether `value` is at most (`less`), or at least, `base` moved by the step. In a descending order what precedes is
/// larger. A sum beyond the type's range lies beyond every value.
pub(super) fn reaches(
    cx: &ExecContext<'_>,
    value: &Value,
    base: &Value,
    step: &Step,
    less: bool,
    descending: bool,
) -> Result<bool> {
    let subtract = step.preceding != descending;
    in_range(cx.services.time_zone, (value, base, &step.offset), subtract, less)
}

/// Whether `value` is at most (`less`), or at least, `base` plus the offset, or minus it.
pub(crate) fn in_range(
    style: &TimeStyle,
    (value, base, offset): (&Value, &Value, &Value),
    subtract: bool,
    less: bool,
) -> Result<bool> {
    let order = order(style, value, base, offset, subtract)?;
    Ok(if less { order.is_le() } else { order.is_ge() })
}

fn negative() -> ExecError {
    ExecError::raised("22013", "invalid preceding or following size in window function")
}

/// How `value` compares with `base ± offset`.
fn order(style: &TimeStyle, value: &Value, base: &Value, offset: &Value, subtract: bool) -> Result<Ordering> {
    // What a sum out of range compares like: every value lies before (after) it.
    let beyond = if subtract { Ordering::Greater } else { Ordering::Less };
    Ok(match (value, base, offset) {
        (
            Value::Int2(_) | Value::Int4(_) | Value::Int8(_),
            _,
            Value::Int2(_) | Value::Int4(_) | Value::Int8(_),
        ) => {
            let number = |value: &Value| i128::from(value.as_i64().unwrap_or(0));
            let offset = number(offset);
            if offset < 0 {
                return Err(negative());
            }
            number(value).cmp(&if subtract { number(base) - offset } else { number(base) + offset })
        }
        (value, base, offset)
            if [value, base, offset].into_iter().any(|one| matches!(one, Value::Big(_)))
                && let (Some(value), Some(base), Some(offset)) =
                    (Number::of(value), Number::of(base), Number::of(offset)) =>
        {
            if offset.is_negative() || offset.is_nan() {
                return Err(negative());
            }
            // What is infinitely far from an infinity of the other side is anything.
            let sum = if subtract { base.minus(&offset) } else { base.plus(&offset) };
            match (value.is_nan(), base.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) if sum.is_nan() => Ordering::Equal,
                (false, false) => value.compare(&sum),
            }
        }
        (Value::Numeric(value), Value::Numeric(base), Value::Numeric(offset)) => {
            if offset.is_negative() {
                return Err(negative());
            }
            match if subtract { base.checked_sub(offset) } else { base.checked_add(offset) } {
                Ok(sum) => value.compare(&sum),
                Err(_) => beyond,
            }
        }
        (Value::Float4(_) | Value::Float8(_), _, Value::Float8(_)) => {
            let number = |value: &Value| value.as_f64().unwrap_or(0.0);
            floats(number(value), number(base), number(offset), subtract)?
        }
        (_, _, Value::Interval(offset)) => {
            // as added to a time, an offset is its hours
            let of_time = matches!(base, Value::Time(_) | Value::Opaque(_));
            if offset.span() < 0 && !of_time || offset.micros < 0 && of_time {
                return Err(negative());
            }
            if !offset.is_finite() && is_infinity(base, !subtract) {
                return Ok(Ordering::Equal);
            }
            let step = if subtract { offset.checked_neg()? } else { *offset };
            moments(style, value, base, step)?.unwrap_or(beyond)
        }
        _ => return Err(ExecError::raised("XX000", "a frame over keys of a type that has no differences")),
    })
}

/// As PostgreSQL: NaN equals NaN, and infinite offsets reach everything but NaN.
fn floats(value: f64, base: f64, offset: f64, subtract: bool) -> Result<Ordering> {
    if offset.is_nan() || offset < 0.0 {
        return Err(negative());
    }
    if value.is_nan() {
        return Ok(if base.is_nan() { Ordering::Equal } else { Ordering::Greater });
    }
    if base.is_nan() {
        return Ok(Ordering::Less);
    }
    // What is infinitely far from an infinity of the other side is anything.
    if offset.is_infinite() && base.is_infinite() && (base > 0.0) == subtract {
        return Ok(Ordering::Equal);
    }
    Ok(cmp_f64(value, if subtract { base - offset } else { base + offset }))
}

/// Whether it is the infinity of that sign: what is infinitely far from it on the other side is anything.
fn is_infinity(value: &Value, negative: bool) -> bool {
    match value {
        Value::Date(v) => *v == if negative { i32::MIN } else { i32::MAX },
        Value::Timestamp(v) | Value::Timestamptz(v) => *v == if negative { i64::MIN } else { i64::MAX },
        Value::Interval(v) => *v == Interval::infinite(negative),
        _ => false,
    }
}

/// Dates and times against one moved by an interval; none where the sum is out of range.
fn moments(style: &TimeStyle, value: &Value, base: &Value, step: Interval) -> Result<Option<Ordering>> {
    Ok(match (value, base) {
        (Value::Date(value), Value::Date(base)) => {
            let (value, base) = (date_to_timestamp(*value)?, date_to_timestamp(*base)?);
            timestamp_plus_interval(base, step).ok().map(|sum| value.cmp(&sum))
        }
        (Value::Timestamp(value), Value::Timestamp(base)) => {
            timestamp_plus_interval(*base, step).ok().map(|sum| value.cmp(&sum))
        }
        (Value::Timestamptz(value), Value::Timestamptz(base)) => {
            let sum = timestamptz_plus_interval(*base, step, style);
            sum.ok().map(|sum| value.cmp(&sum))
        }
        // A time does not wrap around midnight here.
        (Value::Time(value), Value::Time(base)) => base.checked_add(step.micros).map(|sum| value.cmp(&sum)),
        (Value::Opaque(value), Value::Opaque(base)) => {
            let base = TimeTz::of(base);
            let sum = base.micros.checked_add(step.micros).map(|micros| TimeTz { micros, ..base }.value());
            sum.map(|sum| value.cmp(&sum))
        }
        (Value::Interval(_), Value::Interval(base)) => {
            base.checked_add(step).ok().map(|sum| cmp_sql(value, &Value::Interval(sum)))
        }
        _ => return Err(ExecError::raised("XX000", "a frame over keys of a type that has no differences")),
    })
}
