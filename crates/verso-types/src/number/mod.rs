//! Numbers of type numeric beyond what a [`Decimal`] holds: any number of digits, NaN, the infinities.
//!
//! 1. A value of SQL is a `Value::Big` only where no [`Decimal`] is the same number with the same scale: [`Number::value`]
//!    decides, so two values that look alike are alike.
//! 2. At most 131,072 digits stand in front of the point and 16,383 behind it, as in PostgreSQL; more are 22003.
//! 3. -Infinity is the least number, NaN the greatest and equal to itself.
//!
//! Source: PostgreSQL 18, `numeric.c`. The digits are `num-bigint`'s.

mod arithmetic;
mod functions;
mod radix;
mod text;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use num_bigint::{BigInt, Sign};

use crate::TimeStyle;
use crate::cast::{CastKind, cast};
use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};
use crate::sqltype::{LongSpec, NumericSpec, SqlType};
use crate::value::Value;

pub use functions::factorial;

/// Most digits in front of the point.
const WHOLE_DIGITS_MAX: usize = 131_072;
/// Most digits behind the point.
pub const SCALE_MAX: usize = 16_383;

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// Below all others.
    NegativeInfinity,
    /// `unscaled / 10^scale`
    Finite {
        /// All digits.
        unscaled: BigInt,
        /// How many of them stand behind the point.
        scale: u16,
    },
    /// Above all but NaN.
    Infinity,
    /// Not a number.
    NaN,
}

/// 10^exponent.
fn ten_to(exponent: usize) -> BigInt {
    BigInt::from(10u8).pow(u32::try_from(exponent).unwrap_or(u32::MAX))
}

/// Decimal digits of a number; 0 for zero.
fn digits_of(value: &BigInt) -> usize {
    match u128::try_from(value.magnitude()) {
        Ok(small) => small.checked_ilog10().map_or(0, |log| log as usize + 1),
        Err(_) => value.magnitude().to_str_radix(10).len(),
    }
}

/// `value / 10^places`, rounded half away from zero.
fn shift_right(value: &BigInt, places: usize) -> BigInt {
    if places == 0 {
        return value.clone();
    }
    divide_rounded(value, &ten_to(places))
}

/// The quotient, rounded half away from zero; the divisor is not zero.
fn divide_rounded(value: &BigInt, divisor: &BigInt) -> BigInt {
    let (size, by) = (value.magnitude(), divisor.magnitude());
    let quotient = (size * 2u8 + by) / (by * 2u8);
    match (value.sign() == Sign::Minus) != (divisor.sign() == Sign::Minus) {
        true => -BigInt::from(quotient),
        false => BigInt::from(quotient),
    }
}

impl Number {
    /// A finite number, if its scale is in range; the digits are checked by [`checked`](Self::checked).
    fn finite(unscaled: BigInt, scale: usize) -> Number {
        match u16::try_from(scale) {
            Ok(narrow) if scale <= SCALE_MAX => Number::Finite { unscaled, scale: narrow },
            _ => {
                let unscaled = shift_right(&unscaled, scale.saturating_sub(SCALE_MAX));
                Number::Finite { unscaled, scale: SCALE_MAX as u16 }
            }
        }
    }

    /// Refuses a number with too many digits.
    ///
    /// # Errors
    /// 22003.
    fn checked(self) -> Result<Number, TypeError> {
        match &self {
            // bits over-estimate digits by less than a third: only long numbers are counted
            Number::Finite { unscaled, scale }
                if unscaled.bits() > 400_000
                    && digits_of(unscaled) > WHOLE_DIGITS_MAX + usize::from(*scale) =>
            {
                Err(TypeError::numeric_overflow())
            }
            _ => Ok(self),
        }
    }

    /// The number of a value of an exact type; `None` for all others.
    pub fn of(value: &Value) -> Option<Number> {
        match value {
            Value::Big(number) => Some(Number::clone(number)),
            Value::Numeric(number) => Some(Number::from(*number)),
            other => other.as_i64().map(|whole| Number::Finite { unscaled: whole.into(), scale: 0 }),
        }
    }

    /// The same as a [`Decimal`]; `None` where it has too many digits.
    pub fn to_decimal(&self) -> Option<Decimal> {
        let Number::Finite { unscaled, scale } = self else { return None };
        Decimal::new(i128::try_from(unscaled).ok()?, u8::try_from(*scale).ok()?).ok()
    }

    /// The value of SQL that it is (invariant 1).
    ///
    /// # Errors
    /// 22003 for too many digits (invariant 2).
    pub fn value(self) -> Result<Value, TypeError> {
        if let Some(small) = self.to_decimal() {
            return Ok(Value::Numeric(small));
        }
        Ok(Value::Big(Arc::new(self.checked()?)))
    }

    /// 0
    pub fn zero() -> Number {
        Number::Finite { unscaled: BigInt::ZERO, scale: 0 }
    }

    /// The same as a value of another type of numbers, rounded as an assignment rounds it.
    ///
    /// # Errors
    /// 22003 where it does not fit.
    pub fn assigned_to(self, ty: &SqlType) -> Result<Value, TypeError> {
        cast(&self.value()?, &SqlType::Numeric(None), ty, CastKind::Assignment, &TimeStyle::UTC)
    }

    /// Is it NaN?
    pub fn is_nan(&self) -> bool {
        *self == Number::NaN
    }

    /// Is it zero?
    pub fn is_zero(&self) -> bool {
        matches!(self, Number::Finite { unscaled, .. } if unscaled.sign() == Sign::NoSign)
    }

    /// Is it below zero?
    pub fn is_negative(&self) -> bool {
        match self {
            Number::NegativeInfinity => true,
            Number::Finite { unscaled, .. } => unscaled.sign() == Sign::Minus,
            Number::Infinity | Number::NaN => false,
        }
    }

    /// Digits behind the point; 0 where there is no point.
    pub fn scale(&self) -> usize {
        match self {
            Number::Finite { scale, .. } => usize::from(*scale),
            _ => 0,
        }
    }

    /// Order as numbers (invariant 3).
    pub fn compare(&self, other: &Number) -> Ordering {
        let rank = |number: &Number| match number {
            Number::NegativeInfinity => 0,
            Number::Finite { .. } => 1,
            Number::Infinity => 2,
            Number::NaN => 3,
        };
        match (self, other) {
            (Number::Finite { unscaled: a, scale: s }, Number::Finite { unscaled: b, scale: t }) => {
                let scale = usize::from(*s.max(t));
                let (a, b) = (a * ten_to(scale - usize::from(*s)), b * ten_to(scale - usize::from(*t)));
                a.cmp(&b)
            }
            _ => rank(self).cmp(&rank(other)),
        }
    }

    /// The same number without trailing zeros behind the point.
    #[must_use]
    pub fn normalize(&self) -> Number {
        let Number::Finite { unscaled, scale } = self else { return self.clone() };
        let text = unscaled.magnitude().to_str_radix(10);
        let zeros = text.bytes().rev().take_while(|digit| *digit == b'0').count();
        let drop = if unscaled.sign() == Sign::NoSign {
            usize::from(*scale)
        } else {
            zeros.min(usize::from(*scale))
        };
        Number::Finite { unscaled: unscaled / ten_to(drop), scale: *scale - drop as u16 }
    }

    /// A hash that agrees with [`compare`](Self::compare), and with that of a [`Decimal`] of the same size.
    pub fn hash_number<H: Hasher>(&self, state: &mut H) {
        let normal = self.normalize();
        match (normal.to_decimal(), &normal) {
            (Some(small), _) => small.hash_number(state),
            (None, Number::Finite { unscaled, scale }) => (unscaled, scale).hash(state),
            (None, other) => std::mem::discriminant(other).hash(state),
        }
    }

    /// With the scale of a numeric(p,s) column, within its precision.
    ///
    /// # Errors
    /// 22003 beyond the precision, of an infinity with PostgreSQL's detail; NaN has no place in such a column.
    pub fn constrain(&self, spec: NumericSpec) -> Result<Decimal, TypeError> {
        match self {
            Number::Finite { .. } => match self.round(i32::from(spec.scale)).to_decimal() {
                Some(rounded) => rounded.constrain(spec),
                None => Err(crate::decimal::field_overflow(spec)),
            },
            Number::NaN => {
                let text = format!("NaN in a column of type numeric({},{})", spec.precision, spec.scale);
                Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text + " is not supported"))
            }
            _ => {
                let detail = format!(
                    "A field with precision {}, scale {} cannot hold an infinite value.",
                    spec.precision, spec.scale
                );
                Err(TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
                    .with_detail(detail))
            }
        }
    }

    /// As a value of a numeric(p,s) that holds more than a [`Decimal`]; NaN is one.
    ///
    /// # Errors
    /// 22003 beyond the precision, or of an infinity.
    pub fn constrain_long(&self, spec: LongSpec) -> Result<Value, TypeError> {
        let LongSpec { precision, scale } = spec;
        let overflow = |detail: String| {
            let text = "numeric field overflow";
            Err(TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, text).with_detail(detail))
        };
        let field = format!("A field with precision {precision}, scale {scale}");
        match self.round(i32::from(scale)) {
            Number::NaN => Number::NaN.value(),
            Number::Finite { unscaled, scale: own } => {
                let whole = i32::from(precision) - i32::from(scale);
                // digits that stand before the place where the first one may
                let digits = digits_of(&unscaled) as i32 - i32::from(own);
                if digits > whole && unscaled.sign() != Sign::NoSign {
                    let limit = if whole == 0 { "1".to_string() } else { format!("10^{whole}") };
                    return overflow(format!("{field} must round to an absolute value less than {limit}."));
                }
                Number::Finite { unscaled, scale: own }.value()
            }
            _ => overflow(format!("{field} cannot hold an infinite value.")),
        }
    }

    /// Appends the layout of unconstrained numeric columns: a kind that is no scale of a [`Decimal`], and for a finite
    /// number the scale and the unscaled integer little-endian in two's complement.
    pub fn to_bytes(&self, out: &mut Vec<u8>) {
        match self {
            Number::Finite { unscaled, scale } => {
                out.push(KIND_FINITE);
                out.extend_from_slice(&scale.to_le_bytes());
                out.extend_from_slice(&unscaled.to_signed_bytes_le());
            }
            Number::NegativeInfinity => out.push(KIND_FINITE + 1),
            Number::Infinity => out.push(KIND_FINITE + 2),
            Number::NaN => out.push(KIND_FINITE + 3),
        }
    }

    /// Whether these are the bytes of a finite number in the layout of [`to_bytes`](Self::to_bytes).
    pub(crate) fn is_finite_in_bytes(bytes: &[u8]) -> bool {
        match bytes {
            [KIND_FINITE, low, high, _, ..] => usize::from(u16::from_le_bytes([*low, *high])) <= SCALE_MAX,
            _ => false,
        }
    }

    /// Whether it has at most so many digits before the point, and so many behind it.
    pub(crate) fn has_at_most(&self, digits: usize) -> bool {
        let Number::Finite { unscaled, scale } = self else { return false };
        let scale = usize::from(*scale);
        // Four bits for each digit are more than enough: only short numbers are counted.
        scale <= digits
            && unscaled.bits() <= 4 * (digits + scale) as u64
            && digits_of(unscaled) <= digits + scale
    }

    /// The value of an unconstrained numeric column, of either form.
    ///
    /// # Errors
    /// XX001 where the bytes are of neither.
    pub fn value_from_bytes(bytes: &[u8]) -> Result<Value, TypeError> {
        let corrupt = || TypeError::corrupt("numeric");
        let number = match bytes {
            [KIND_FINITE, low, high, digits @ ..] => {
                let scale = u16::from_le_bytes([*low, *high]);
                if usize::from(scale) > SCALE_MAX {
                    return Err(corrupt());
                }
                Number::Finite { unscaled: BigInt::from_signed_bytes_le(digits), scale }
            }
            [kind] if *kind == KIND_FINITE + 1 => Number::NegativeInfinity,
            [kind] if *kind == KIND_FINITE + 2 => Number::Infinity,
            [kind] if *kind == KIND_FINITE + 3 => Number::NaN,
            _ => return Decimal::from_bytes(bytes).map(Value::Numeric),
        };
        Ok(Value::Big(Arc::new(number)))
    }

    /// The digits as index keys want them: sign, the exponent of `0.d₁d₂… × 10^exponent`, and the digits without zeros
    /// at the end. `None` for zero and what is not finite.
    pub(crate) fn key_parts(&self) -> Option<(bool, i32, Vec<u8>)> {
        let Number::Finite { unscaled, scale } = self else { return None };
        if self.is_zero() {
            return None;
        }
        let mut digits = unscaled.magnitude().to_radix_be(10);
        let exponent = digits.len() as i32 - i32::from(*scale);
        let used = digits.iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
        digits.truncate(used);
        Some((unscaled.sign() == Sign::Minus, exponent, digits))
    }

    /// Bytes that it takes in memory.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Number::Finite { unscaled, .. } => (unscaled.bits() / 8) as usize + 32,
            _ => 32,
        }
    }
}

/// First byte of the layout of a finite number; a [`Decimal`] begins with its scale, which is at most 38.
const KIND_FINITE: u8 = 64;

impl From<Decimal> for Number {
    fn from(value: Decimal) -> Number {
        Number::Finite { unscaled: value.unscaled().into(), scale: value.scale().into() }
    }
}

#[cfg(test)]
mod tests;
