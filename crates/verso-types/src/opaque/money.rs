//! `money`: hundredths, shown as in a locale of dollars.

use super::{Opaque, OpaqueKind, ordered, put_ordered};
use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};
use crate::number::Number;
use crate::value::Value;

/// An amount in hundredths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Money(pub i64);

impl Money {
    /// Digits behind the point.
    pub const SCALE: u8 = 2;

    /// Reads `$1,234.56`, `-12.3`, `($5)`.
    /// # Errors
    /// 22P02, 22003.
    pub fn parse(text: &str) -> Result<Money, TypeError> {
        let syntax = || TypeError::syntax("money", text);
        let range = || {
            let text = format!("value \"{text}\" is out of range for type money");
            TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, text)
        };
        let mut rest = text.trim_start();
        let mut negative = false;
        // a sign and a symbol in any order, as PostgreSQL reads them
        rest = rest.strip_prefix('$').unwrap_or(rest).trim_start();
        if let Some(behind) = rest.strip_prefix('-') {
            (negative, rest) = (true, behind);
        } else if let Some(behind) = rest.strip_prefix('(') {
            (negative, rest) = (true, behind);
        } else if let Some(behind) = rest.strip_prefix('+') {
            rest = behind;
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix('$').unwrap_or(rest).trim_start();
        let (mut value, mut decimals, mut point) = (0i64, 0, false);
        let mut used = 0;
        for (at, c) in rest.char_indices() {
            used = at + c.len_utf8();
            match c {
                '0'..='9' if !point || decimals < Money::SCALE => {
                    let digit = i64::from(c as u8 - b'0');
                    value = value.checked_mul(10).and_then(|v| v.checked_sub(digit)).ok_or_else(range)?;
                    decimals += u8::from(point);
                }
                '.' if !point => point = true,
                ',' if !point => {}
                _ => {
                    used = at;
                    break;
                }
            }
        }
        let mut behind = &rest[used..];
        let up = behind.starts_with(|c: char| ('5'..='9').contains(&c));
        for _ in decimals..Money::SCALE {
            value = value.checked_mul(10).ok_or_else(range)?;
        }
        if up {
            value = value.checked_sub(1).ok_or_else(range)?;
        }
        behind = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        for c in behind.chars() {
            match c {
                ')' | '$' => {}
                '-' => negative = true,
                c if c.is_ascii_whitespace() => {}
                _ => return Err(syntax()),
            }
        }
        if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == ',')
            && !rest.is_empty()
            && used == 0
        {
            return Err(syntax());
        }
        Ok(Money(if negative { value } else { value.checked_neg().ok_or_else(range)? }))
    }

    /// Appends `-$1,234.56`.
    pub fn format(self, out: &mut String) {
        let size = self.0.unsigned_abs();
        if self.0 < 0 {
            out.push('-');
        }
        out.push('$');
        let whole = (size / 100).to_string();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) {
                out.push(',');
            }
            out.push(digit);
        }
        // writing to a String cannot fail
        let _ = std::fmt::Write::write_fmt(out, format_args!(".{:02}", size % 100));
    }

    /// The amount as a numeric of two decimals.
    pub fn to_numeric(self) -> Value {
        Value::Numeric(Decimal::from_scaled_i64(self.0, Money::SCALE))
    }

    /// The amount nearest to a number.
    /// # Errors
    /// 22003 beyond the range, 0A000 for NaN and infinities.
    pub fn of_number(number: &Number) -> Result<Money, TypeError> {
        let what = match number {
            Number::Finite { .. } => None,
            Number::NaN => Some("cannot convert NaN to bigint"),
            _ => Some("cannot convert infinity to bigint"),
        };
        if let Some(what) = what {
            return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, what));
        }
        let hundredths = number.times(&Number::from(Decimal::from(100i64))).to_i64();
        hundredths.map(Money).ok_or_else(|| TypeError::out_of_range("bigint"))
    }

    /// The amount of whole units.
    /// # Errors
    /// 22003.
    pub fn of_integer(units: i64) -> Result<Money, TypeError> {
        units.checked_mul(100).map(Money).ok_or_else(|| TypeError::out_of_range("bigint"))
    }

    /// The nearest amount to hundredths as a double.
    /// # Errors
    /// 22003.
    pub fn of_float(hundredths: f64) -> Result<Money, TypeError> {
        let rounded = hundredths.round_ties_even();
        match (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
            true => Ok(Money(rounded as i64)),
            false => Err(TypeError::out_of_range("money")),
        }
    }

    /// The stored value.
    pub fn value(self) -> Opaque {
        let mut bytes = Vec::with_capacity(8);
        put_ordered(self.0, &mut bytes);
        Opaque::new(OpaqueKind::Money, bytes)
    }

    /// As [`Money::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The amount that a stored value is.
    pub fn of(value: &Opaque) -> Money {
        Money(ordered(value.bytes()))
    }
}
