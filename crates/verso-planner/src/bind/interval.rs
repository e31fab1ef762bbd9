//! INTERVAL literals with fields or a precision.

use verso_exec::plan::TypedExpr;
use verso_types::{Interval, SqlType, Value, parse_text};

use super::Binder;
use crate::errors::SqlError;
use verso_parser::syntax::{IntervalField as F, IntervalFields};

const SECOND: i64 = 1_000_000;

impl Binder<'_> {
    /// `INTERVAL '90' DAY`: a number without a unit has that of the last field; what is smaller than the last field is cut.
    pub(super) fn interval(
        &self,
        text: &str,
        fields: Option<IntervalFields>,
        precision: Option<u32>,
        at: u32,
    ) -> Result<TypedExpr, SqlError> {
        let whole = fields.map_or_else(|| text.to_string(), |fields| with_units(text.trim(), fields));
        let value = parse_text(&SqlType::Interval, &whole, self.time_zone)
            .map_err(|error| SqlError::from(error).at(at))?;
        let Value::Interval(mut value) = value else { return Err(SqlError::internal("no interval")) };
        if let Some(fields) = fields {
            cut(&mut value, fields.last);
        }
        if let Some(digits) = precision.filter(|digits| *digits < 6) {
            let unit = 10i64.pow(6 - digits);
            let half = if value.micros < 0 { -unit / 2 } else { unit / 2 };
            value.micros = value.micros.saturating_add(half) / unit * unit;
        }
        Ok(TypedExpr::literal(Value::Interval(value), SqlType::Interval))
    }
}

/// The text with the units that the fields give it.
fn with_units(text: &str, fields: IntervalFields) -> String {
    let number = |text: &str| {
        let digits = text.trim_start_matches(['+', '-']);
        !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let unit = match fields.last {
        F::Year => "years",
        F::Month => "months",
        F::Day => "days",
        F::Hour => "hours",
        F::Minute => "minutes",
        F::Second => "seconds",
    };
    let parts: Vec<&str> = text.split_whitespace().collect();
    match parts.as_slice() {
        [one] if number(one) => format!("{one} {unit}"),
        [days, hours] if fields.first == F::Day && number(days) && number(hours) => {
            format!("{days} days {hours} {unit}")
        }
        // `mm:ss`, where it would be hours and minutes.
        [time] if fields.first == F::Minute && time.matches(':').count() == 1 => match time.strip_prefix('-')
        {
            Some(rest) => format!("-00:{rest}"),
            None => format!("00:{time}"),
        },
        _ => text.to_string(),
    }
}

/// Drops what is smaller than a field.
fn cut(value: &mut Interval, last: F) {
    let unit = match last {
        F::Year => {
            value.months = value.months / 12 * 12;
            value.days = 0;
            i64::MAX
        }
        F::Month => {
            value.days = 0;
            i64::MAX
        }
        F::Day => i64::MAX,
        F::Hour => 3600 * SECOND,
        F::Minute => 60 * SECOND,
        F::Second => 1,
    };
    value.micros = value.micros / unit * unit;
}
