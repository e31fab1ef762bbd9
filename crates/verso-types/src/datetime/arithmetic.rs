//! Arithmetic of dates, times and intervals, as PostgreSQL's operators do it.

use jiff::tz::TimeZone;

use super::{
    Civil, MICROS_PER_DAY, checked_date, checked_timestamp, civil_from_days, days_from_civil, days_in_month,
    split_timestamp, to_local, to_utc,
};
use crate::error::{TypeError, sqlstate};
use crate::value::Interval;

/// 22008 "interval out of range".
#[cold]
pub(super) fn interval_overflow() -> TypeError {
    TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "interval out of range")
}

/// The day `months` later, on the last of a shorter month.
/// # Errors
/// 22008.
fn add_months(days: i32, months: i32) -> Result<i32, TypeError> {
    if months == 0 {
        return Ok(days);
    }
    let Civil { year, month, day } = civil_from_days(days);
    let total = i64::from(year) * 12 + i64::from(month) - 1 + i64::from(months);
    let out_of_range = || TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    let year = i32::try_from(total.div_euclid(12)).map_err(|_| out_of_range())?;
    let month = (total.rem_euclid(12) + 1) as u8;
    let day = day.min(days_in_month(year, month));
    i32::try_from(days_from_civil(year, month, day)).map_err(|_| out_of_range())
}

/// A moment or an interval that is an infinity: the infinity of the sum. None where both are finite.
/// # Errors
/// 22008 for opposite infinities.
fn infinite_sum(micros: i64, interval: Interval) -> Result<Option<i64>, TypeError> {
    let moment = matches!(micros, i64::MIN | i64::MAX).then_some(micros);
    let moved = (!interval.is_finite()).then_some(interval.micros);
    match (moment, moved) {
        (Some(one), Some(other)) if one != other => {
            Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// `timestamp + interval`: months, then days, then microseconds. Infinities stay.
/// # Errors
/// 22008.
pub fn timestamp_plus_interval(micros: i64, interval: Interval) -> Result<i64, TypeError> {
    if let Some(infinite) = infinite_sum(micros, interval)? {
        return Ok(infinite);
    }
    let (days, time) = split_timestamp(micros);
    let days = i64::from(add_months(days, interval.months)?) + i64::from(interval.days);
    checked_timestamp(
        i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(time) + i128::from(interval.micros),
    )
}

/// `timestamptz + interval`: months, then days, in the session's zone (a day may have 23 hours), microseconds absolute. The months
/// lead to a moment of the zone, which is another one where the clock does not show their time that day.
/// # Errors
/// 22008.
pub fn timestamptz_plus_interval(micros: i64, interval: Interval, tz: &TimeZone) -> Result<i64, TypeError> {
    if let Some(infinite) = infinite_sum(micros, interval)? {
        return Ok(infinite);
    }
    let step = |moment: i64, step: Interval| match step == Interval::default() {
        true => Ok(moment),
        false => to_utc(timestamp_plus_interval(to_local(moment, tz), step)?, tz),
    };
    let moment = step(micros, Interval { months: interval.months, ..Interval::default() })?;
    let moment = step(moment, Interval { days: interval.days, ..Interval::default() })?;
    checked_timestamp(i128::from(moment) + i128::from(interval.micros))
}

/// `timestamp - timestamp`: days and a time of day, no months.
/// # Errors
/// 22008 for two equal infinities and what does not fit.
pub fn timestamp_minus(a: i64, b: i64) -> Result<Interval, TypeError> {
    let infinite = |micros| matches!(micros, i64::MIN | i64::MAX);
    if infinite(a) || infinite(b) {
        return if a == b { Err(interval_overflow()) } else { Ok(Interval::infinite(a < b)) };
    }
    let span = a.checked_sub(b).ok_or_else(interval_overflow)?;
    // truncating, so that both parts have one sign (justify_hours)
    Ok(Interval { months: 0, days: (span / MICROS_PER_DAY) as i32, micros: span % MICROS_PER_DAY })
}

/// `date + integer`; infinities stay.
/// # Errors
/// 22008.
pub fn date_plus_days(date: i32, days: i32) -> Result<i32, TypeError> {
    match date {
        i32::MIN | i32::MAX => Ok(date),
        _ => checked_date(i64::from(date) + i64::from(days)),
    }
}

/// `date - date`: days.
/// # Errors
/// 22008 for infinities and what does not fit.
pub fn date_minus(a: i32, b: i32) -> Result<i32, TypeError> {
    let infinite = |days| matches!(days, i32::MIN | i32::MAX);
    if infinite(a) || infinite(b) {
        let message = "cannot subtract infinite dates";
        return Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message));
    }
    a.checked_sub(b).ok_or_else(|| TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range"))
}

/// The timestamp at the start of a date; infinities stay.
/// # Errors
/// 22008 "date out of range for timestamp".
pub fn date_to_timestamp(date: i32) -> Result<i64, TypeError> {
    match date {
        i32::MIN => Ok(i64::MIN),
        i32::MAX => Ok(i64::MAX),
        _ => checked_timestamp(i128::from(date) * i128::from(MICROS_PER_DAY)).map_err(|_| {
            TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range for timestamp")
        }),
    }
}

/// The date of a timestamp; infinities stay.
pub fn timestamp_to_date(micros: i64) -> i32 {
    match micros {
        i64::MIN => i32::MIN,
        i64::MAX => i32::MAX,
        _ => split_timestamp(micros).0,
    }
}

/// What is added to a time of day, or taken from it (`minus`).
/// # Errors
/// 22008 for infinities.
pub fn added_to_time(interval: Interval, minus: bool) -> Result<Interval, TypeError> {
    let message = match minus {
        false => "cannot add infinite interval to time",
        true => "cannot subtract infinite interval from time",
    };
    match interval.is_finite() {
        false => Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message)),
        true if minus => Ok(Interval { micros: interval.micros.wrapping_neg(), ..Interval::default() }),
        true => Ok(interval),
    }
}

/// `time + interval`: around the clock; months and days do not count.
pub fn time_plus_interval(micros: i64, interval: Interval) -> i64 {
    micros.wrapping_add(interval.micros).rem_euclid(MICROS_PER_DAY) // beyond 64 bits as in PostgreSQL
}

impl Interval {
    /// A result computed of finite intervals.
    /// # Errors
    /// 22008 for one that stands for an infinity.
    pub fn finite(self) -> Result<Interval, TypeError> {
        if self.is_finite() { Ok(self) } else { Err(interval_overflow()) }
    }

    /// The sum, part by part.
    /// # Errors
    /// 22008, of opposite infinities, too.
    pub fn checked_add(self, other: Interval) -> Result<Interval, TypeError> {
        match (self.is_finite(), other.is_finite()) {
            (true, true) => {}
            (false, false) if self != other => return Err(interval_overflow()),
            (false, _) => return Ok(self),
            (true, false) => return Ok(other),
        }
        let sum = || {
            Some(Interval {
                months: self.months.checked_add(other.months)?,
                days: self.days.checked_add(other.days)?,
                micros: self.micros.checked_add(other.micros)?,
            })
        };
        sum().ok_or_else(interval_overflow)?.finite()
    }

    /// The difference, part by part.
    /// # Errors
    /// 22008, of equal infinities, too.
    pub fn checked_sub(self, other: Interval) -> Result<Interval, TypeError> {
        if !self.is_finite() || !other.is_finite() {
            return self.checked_add(other.checked_neg()?);
        }
        let difference = || {
            Some(Interval {
                months: self.months.checked_sub(other.months)?,
                days: self.days.checked_sub(other.days)?,
                micros: self.micros.checked_sub(other.micros)?,
            })
        };
        difference().ok_or_else(interval_overflow)?.finite()
    }

    /// The interval backwards.
    /// # Errors
    /// 22008.
    pub fn checked_neg(self) -> Result<Interval, TypeError> {
        if !self.is_finite() {
            return Ok(Interval::infinite(self == Interval::INFINITY));
        }
        let negative = || {
            Some(Interval {
                months: self.months.checked_neg()?,
                days: self.days.checked_neg()?,
                micros: self.micros.checked_neg()?,
            })
        };
        negative().ok_or_else(interval_overflow)?.finite()
    }

    /// The interval `factor` times; fractions of months become days of a 30-day month, those of days hours.
    /// # Errors
    /// 22008.
    pub fn checked_mul(self, factor: f64) -> Result<Interval, TypeError> {
        if !self.is_finite() || factor.is_infinite() {
            // the sign of the product; that of nothing times infinity is not known
            let sign = factor * self.span().signum() as f64;
            return match sign == 0.0 || sign.is_nan() {
                true => Err(interval_overflow()),
                false => Ok(Interval::infinite(sign < 0.0)),
            };
        }
        self.scaled(|part| part * factor)
    }

    /// The `divisor`-th part, fractions as in [`checked_mul`](Self::checked_mul).
    /// # Errors
    /// 22012, 22008.
    pub fn checked_div(self, divisor: f64) -> Result<Interval, TypeError> {
        match divisor {
            0.0 => Err(TypeError::division_by_zero()),
            _ if !self.is_finite() && divisor.is_finite() => {
                Ok(Interval::infinite((self == Interval::NEGATIVE_INFINITY) != (divisor < 0.0)))
            }
            _ if !self.is_finite() => Err(interval_overflow()),
            _ => self.scaled(|part| part / divisor),
        }
    }

    /// Each part scaled, its fraction handed down (as `interval_mul`, with its rounding to microseconds in between).
    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Interval, TypeError> {
        let (months, own_days) = (scale(self.months.into()), scale(self.days.into()));
        let month_days = round_micro(months.fract() * 30.0);
        let mut seconds = round_micro((own_days.fract() + month_days.fract()) * 86_400.0);
        let mut days = own_days.trunc() + month_days.trunc();
        if seconds.abs() >= 86_400.0 {
            days += (seconds / 86_400.0).trunc();
            seconds %= 86_400.0;
        }
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        if !whole_fits(months) || !whole_fits(days) || !(-9.2e18..9.2e18).contains(&micros) {
            return Err(interval_overflow());
        }
        Interval { months: months as i32, days: days as i32, micros: micros as i64 }.finite()
    }
}

/// Does the whole part fit in 32 bits (false for NaN)?
fn whole_fits(value: f64) -> bool {
    value > -2_147_483_649.0 && value < 2_147_483_648.0
}

/// PostgreSQL's TSROUND: to six places.
fn round_micro(value: f64) -> f64 {
    (value * 1e6).round_ties_even() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqltype::SqlType;
    use crate::text::parse_text;
    use crate::text::tests::{named_type, new_york, show};
    use crate::value::Value;

    fn compute(
        operator: &str,
        a: &Value,
        b: &str,
        tz: &crate::TimeStyle,
    ) -> Result<(Value, SqlType), TypeError> {
        let same = |ty: SqlType| parse_text(&ty, b, tz).expect("a value");
        let interval = || match same(SqlType::Interval(None)) {
            Value::Interval(interval) => interval,
            other => panic!("{other:?}"),
        };
        Ok(match (a, operator) {
            (Value::Timestamp(a), "+") => {
                (Value::Timestamp(timestamp_plus_interval(*a, interval())?), SqlType::Timestamp(None))
            }
            (Value::Timestamptz(a), "+") => (
                Value::Timestamptz(timestamptz_plus_interval(*a, interval(), tz)?),
                SqlType::Timestamptz(None),
            ),
            (Value::Time(a), "+") => (Value::Time(time_plus_interval(*a, interval())), SqlType::Time(None)),
            (Value::Interval(a), "+") => {
                (Value::Interval(a.checked_add(interval())?), SqlType::Interval(None))
            }
            (Value::Interval(a), "*") => {
                (Value::Interval(a.checked_mul(b.parse().expect("a number"))?), SqlType::Interval(None))
            }
            (Value::Interval(a), "/") => {
                (Value::Interval(a.checked_div(b.parse().expect("a number"))?), SqlType::Interval(None))
            }
            (Value::Timestamp(a), "-") => match same(SqlType::Timestamp(None)) {
                Value::Timestamp(b) => (Value::Interval(timestamp_minus(*a, b)?), SqlType::Interval(None)),
                other => panic!("{other:?}"),
            },
            (Value::Date(a), "-") => match same(SqlType::Date) {
                Value::Date(b) => (Value::Int4(date_minus(*a, b)?), SqlType::Int4),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        })
    }

    /// Columns: type, operator, both operands, what PostgreSQL 15 answered.
    #[test]
    fn operators_are_postgresql_s() {
        let tz = new_york();
        for line in include_str!("../../testdata/datetime_arithmetic.tsv").lines() {
            let [name, operator, a, b, expected] =
                line.split('\t').collect::<Vec<_>>().try_into().expect("five columns");
            let value = parse_text(&named_type(name), a, &tz).expect("a value");
            let got = match compute(operator, &value, b, &tz) {
                Ok((value, ty)) => show(Ok(value), &ty, &tz),
                Err(error) => show(Err(error), &SqlType::Int4, &tz),
            };
            assert_eq!(got, expected, "{a} {operator} {b}");
        }
    }

    #[test]
    fn dates_move_within_their_range() {
        assert_eq!(date_plus_days(i32::MAX, -1), Ok(i32::MAX));
        assert_eq!(date_plus_days(0, -1), Ok(-1));
        assert_eq!(date_plus_days(super::super::MAX_DATE, 1).map_err(|e| e.sqlstate), Err("22008"));
        let most = Interval { months: i32::MIN, ..Interval::default() };
        assert_eq!(most.checked_neg().map_err(|e| e.sqlstate), Err("22008"));
        assert_eq!(timestamp_plus_interval(0, most).map_err(|e| e.sqlstate), Err("22008"));
    }
}
