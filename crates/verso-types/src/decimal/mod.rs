//! Exact decimal numbers: an integer of at most 38 digits and a scale.
//!
//! ```text
//! Decimal { unscaled: 1234500, scale: 4 }  =  123.4500
//! ```
//!
//! 1. |unscaled| < 10^38 and scale ≤ 38, by construction.
//! 2. The scale is part of what is shown (1.0, 1.00) and of the result scale of an operation, as in PostgreSQL; it is
//!    no part of the number: `compare` and `hash_number` ignore it. Derived equality is structural.
//! 3. Results that need more digits, in front of the point or behind it, are an error: a `Number` holds them.
//!
//! NaN, infinities and numbers of more digits are [`Number`](crate::Number)s.

mod arithmetic;
mod scale;
mod scaled;
#[cfg(test)]
mod tests;
mod text;
mod wide;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use crate::error::TypeError;
use scale::Scale;
pub use scaled::*;
pub use text::write_scaled;

/// An exact decimal number.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    unscaled: i128,
    scale: Scale,
}

/// Why an operation on decimals has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// More than 38 digits (22003).
    #[error("value overflows numeric format")]
    Overflow,
    /// Division by zero (22012).
    #[error("division by zero")]
    DivisionByZero,
}

impl From<DecimalError> for TypeError {
    fn from(error: DecimalError) -> TypeError {
        match error {
            DecimalError::Overflow => TypeError::numeric_overflow(),
            DecimalError::DivisionByZero => TypeError::division_by_zero(),
        }
    }
}

/// Powers of ten, 10^0 ..= 10^38.
pub const POW10: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

impl Decimal {
    /// The largest scale.
    pub const MAX_SCALE: u8 = 38;
    /// The largest absolute unscaled value, 10^38 - 1.
    pub const MAX_UNSCALED: i128 = POW10[38] - 1;
    /// Zero with scale 0.
    pub const ZERO: Decimal = Decimal { unscaled: 0, scale: Scale::ZERO };
    /// One with scale 0.
    pub const ONE: Decimal = Decimal { unscaled: 1, scale: Scale::ZERO };

    /// `unscaled / 10^scale`.
    /// # Errors
    /// `Overflow` where either is out of range (invariant 1).
    #[inline]
    pub fn new(unscaled: i128, scale: u8) -> Result<Decimal, DecimalError> {
        match Scale::new(scale) {
            Some(scale) if unscaled.unsigned_abs() < POW10[38] as u128 => Ok(Decimal { unscaled, scale }),
            _ => Err(DecimalError::Overflow),
        }
    }

    /// A 64-bit scaled integer, as columns of numeric(p ≤ 18, s) hold it. A scale beyond 38 counts as 38.
    #[inline]
    pub fn from_scaled_i64(unscaled: i64, scale: u8) -> Decimal {
        Decimal { unscaled: unscaled.into(), scale: Scale::saturating(scale) }
    }

    /// The integer in front of which the point moves left by `scale`.
    #[inline]
    pub fn unscaled(&self) -> i128 {
        self.unscaled
    }

    /// Digits behind the point.
    #[inline]
    pub fn scale(&self) -> u8 {
        self.scale.get()
    }

    /// Is it zero?
    pub fn is_zero(&self) -> bool {
        self.unscaled == 0
    }

    /// Is it below zero?
    pub fn is_negative(&self) -> bool {
        self.unscaled < 0
    }

    /// The number of decimal digits of the unscaled integer; 0 for zero.
    pub fn digits(&self) -> u8 {
        count_digits(self.unscaled.unsigned_abs())
    }

    /// Order as numbers.
    pub fn compare(&self, other: &Decimal) -> Ordering {
        let (a, b) = (self.scale(), other.scale());
        match a.cmp(&b) {
            Ordering::Equal => self.unscaled.cmp(&other.unscaled),
            Ordering::Less => compare_scaled(self.unscaled, b - a, other.unscaled),
            Ordering::Greater => compare_scaled(other.unscaled, a - b, self.unscaled).reverse(),
        }
    }

    /// The same number with exactly `scale` digits behind the point, rounded half away from zero.
    /// # Errors
    /// `Overflow`.
    pub fn rescale(&self, scale: u8) -> Result<Decimal, DecimalError> {
        Decimal::new(rescale_i128(self.unscaled, self.scale(), scale).ok_or(DecimalError::Overflow)?, scale)
    }

    /// The same number without trailing zeros behind the point.
    pub fn normalize(&self) -> Decimal {
        let (mut unscaled, mut scale) = (self.unscaled, self.scale());
        while scale > 0 && unscaled % 10 == 0 {
            unscaled /= 10;
            scale -= 1;
        }
        Decimal { unscaled, scale: Scale::saturating(scale) }
    }

    /// The integer part and whether anything is behind the point.
    fn integer_part(&self) -> (i128, bool) {
        let unit = POW10[usize::from(self.scale())];
        (self.unscaled / unit, self.unscaled % unit != 0)
    }

    /// Rounded half away from zero to an integer, as casts to the integer types do.
    pub fn to_i128(&self) -> i128 {
        div_round(self.unscaled, POW10[usize::from(self.scale())])
    }

    /// Rounded half away from zero; `None` where that does not fit.
    pub fn to_i64(&self) -> Option<i64> {
        self.to_i128().try_into().ok()
    }

    /// A hash that agrees with [`compare`](Self::compare), and for integers is that of the `i64`.
    pub fn hash_number<H: Hasher>(&self, state: &mut H) {
        let (integer, fraction) = self.integer_part();
        match i64::try_from(integer) {
            Ok(integer) if !fraction => integer.hash(state),
            _ => {
                let normal = self.normalize();
                normal.unscaled.hash(state);
                normal.scale().hash(state);
            }
        }
    }

    /// Appends the layout of unconstrained numeric columns: the scale, then the unscaled integer little-endian
    /// in two's complement, shortest form (zero: no bytes).
    pub fn to_bytes(&self, out: &mut Vec<u8>) {
        out.push(self.scale());
        if self.unscaled == 0 {
            return;
        }
        // The bits that are not all the same, and one that says the sign.
        let size = if self.unscaled < 0 { !self.unscaled } else { self.unscaled };
        let len = (i128::BITS - size.leading_zeros()) as usize / 8 + 1;
        out.extend_from_slice(&self.unscaled.to_le_bytes()[..len]);
    }

    /// Whether bytes are [those](Self::to_bytes) of a decimal without digits behind the point.
    pub fn is_integer_bytes(bytes: &[u8]) -> bool {
        bytes.len() <= 17 && bytes.first() == Some(&0)
    }

    /// The inverse of [`to_bytes`](Self::to_bytes).
    /// # Errors
    /// XX001 where the bytes are not of that form.
    pub fn from_bytes(bytes: &[u8]) -> Result<Decimal, TypeError> {
        let corrupt = || TypeError::corrupt("numeric");
        let (&scale, digits) = bytes.split_first().ok_or_else(corrupt)?;
        if digits.len() > 16 {
            return Err(corrupt());
        }
        let negative = digits.last().is_some_and(|byte| *byte >= 0x80);
        let unscaled = if digits.len() <= 8 {
            let sign = if negative { -1 } else { 0 };
            i128::from(digits.iter().rev().fold(sign, |number: i64, byte| number << 8 | i64::from(*byte)))
        } else {
            let mut unscaled = [if negative { 0xff } else { 0 }; 16];
            unscaled[..digits.len()].copy_from_slice(digits);
            i128::from_le_bytes(unscaled)
        };
        Decimal::new(unscaled, scale).map_err(|_| corrupt())
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal { unscaled: value.into(), scale: Scale::ZERO }
    }
}

/// Decimal digits of a number; 0 for zero.
fn count_digits(value: u128) -> u8 {
    value.checked_ilog10().map_or(0, |log| log as u8 + 1)
}

/// Order of `a × 10^shift` and `b`.
fn compare_scaled(a: i128, shift: u8, b: i128) -> Ordering {
    match a.checked_mul(POW10[usize::from(shift)]) {
        Some(a) => a.cmp(&b),
        None if a < 0 => Ordering::Less,
        None => Ordering::Greater,
    }
}

/// `value / divisor`, rounded half away from zero; the divisor is positive.
#[inline]
pub(crate) fn div_round(value: i128, divisor: i128) -> i128 {
    let (quotient, rest) = (value / divisor, value % divisor);
    if rest.unsigned_abs() >= (divisor as u128).div_ceil(2) && rest != 0 {
        quotient + value.signum()
    } else {
        quotient
    }
}

/// Moves a scaled integer from one scale to another, rounding half away from zero; `None` on overflow of i128.
#[inline]
pub fn rescale_i128(value: i128, from: u8, to: u8) -> Option<i128> {
    if to >= from {
        return match POW10.get(usize::from(to - from)) {
            Some(factor) => value.checked_mul(*factor),
            None => (value == 0).then_some(0),
        };
    }
    // beyond 10^38 nothing of a value below 10^38 is left
    Some(POW10.get(usize::from(from - to)).map_or(0, |divisor| div_round(value, *divisor)))
}
