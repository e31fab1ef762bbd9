//! Arithmetic with PostgreSQL's result scales (`numeric.c`): sum max(s₁, s₂), product s₁ + s₂, quotient
//! `select_div_scale`, rest max(s₁, s₂).

use super::wide::Wide;
use super::{Decimal, DecimalError, POW10, count_digits, rescale_i128};

/// A quotient has at least this many significant digits (`NUMERIC_MIN_SIG_DIGITS`).
const MIN_QUOTIENT_DIGITS: i32 = 16;
/// PostgreSQL reckons in groups of four decimal digits (`DEC_DIGITS`).
const GROUP_DIGITS: i32 = 4;

impl Decimal {
    /// `self + other`.
    /// # Errors
    /// `Overflow`.
    #[inline]
    pub fn checked_add(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let (a, b, scale) = self.aligned(other)?;
        Decimal::new(a.checked_add(b).ok_or(DecimalError::Overflow)?, scale)
    }

    /// `self - other`.
    /// # Errors
    /// `Overflow`.
    #[inline]
    pub fn checked_sub(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let (a, b, scale) = self.aligned(other)?;
        Decimal::new(a.checked_sub(b).ok_or(DecimalError::Overflow)?, scale)
    }

    /// `self × other`.
    /// # Errors
    /// `Overflow`.
    pub fn checked_mul(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        let scale = self.scale() + other.scale();
        if scale <= Self::MAX_SCALE {
            return Decimal::new(
                self.unscaled.checked_mul(other.unscaled).ok_or(DecimalError::Overflow)?,
                scale,
            );
        }
        // exact as a `Number`
        Err(DecimalError::Overflow)
    }

    /// `self / other`, rounded half away from zero at PostgreSQL's scale.
    /// # Errors
    /// `DivisionByZero`, `Overflow`.
    pub fn checked_div(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let scale = self.quotient_scale(other).ok_or(DecimalError::Overflow)?;
        // scale ≥ self.scale(), so the dividend moves left
        let shift = usize::from(scale + other.scale() - self.scale());
        let (first, second) = (shift.min(38), shift - shift.min(38));
        let dividend = Wide::product(self.unscaled.unsigned_abs(), POW10[first].unsigned_abs())
            .times(POW10[second].unsigned_abs())
            .ok_or(DecimalError::Overflow)?;
        let size = dividend.divide_round(other.unscaled.unsigned_abs()).ok_or(DecimalError::Overflow)?;
        signed(size, self.is_negative() != other.is_negative(), scale)
    }

    /// The rest of the truncating division; it has the sign of `self`.
    /// # Errors
    /// `DivisionByZero`, `Overflow` (the rest at the larger scale has too many digits).
    pub fn checked_rem(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let scale = self.scale().max(other.scale());
        let (a, b) = (self.unscaled.unsigned_abs(), other.unscaled.unsigned_abs());
        let shift = |own: u8| POW10[usize::from(scale - own)].unsigned_abs();
        let size = match b.checked_mul(shift(other.scale())) {
            Some(b) => Wide::product(a, shift(self.scale())).rest(b),
            None => a, // the divisor at self's scale is larger than any dividend
        };
        signed(size, self.is_negative(), scale)
    }

    /// The truncated quotient, scale 0 (PostgreSQL's `div`).
    /// # Errors
    /// `DivisionByZero`, `Overflow`.
    pub fn checked_div_trunc(&self, other: &Decimal) -> Result<Decimal, DecimalError> {
        if other.is_zero() {
            return Err(DecimalError::DivisionByZero);
        }
        let scale = self.scale().max(other.scale());
        let (a, b) = (self.unscaled.unsigned_abs(), other.unscaled.unsigned_abs());
        let shift = |own: u8| POW10[usize::from(scale - own)].unsigned_abs();
        let size = match b.checked_mul(shift(other.scale())) {
            Some(b) => Wide::product(a, shift(self.scale())).divide(b).ok_or(DecimalError::Overflow)?.0,
            None => 0,
        };
        signed(size, self.is_negative() != other.is_negative(), 0)
    }

    /// `-self`.
    #[inline]
    pub fn negate(&self) -> Decimal {
        Decimal { unscaled: -self.unscaled, ..*self }
    }

    /// The absolute value.
    pub fn abs(&self) -> Decimal {
        Decimal { unscaled: self.unscaled.abs(), ..*self }
    }

    /// -1, 0 or 1.
    pub fn signum(&self) -> Decimal {
        Decimal { unscaled: self.unscaled.signum(), ..Decimal::ZERO }
    }

    /// SQL's `round(self, places)`: half away from zero; places may be negative.
    /// # Errors
    /// `Overflow`: as many places as asked for need too many digits.
    pub fn round(&self, places: i32) -> Result<Decimal, DecimalError> {
        self.cut(places, |value, from, to| rescale_i128(value, from, to).ok_or(DecimalError::Overflow))
    }

    /// SQL's `trunc(self, places)`: towards zero; places may be negative.
    /// # Errors
    /// As [`round`](Self::round).
    pub fn trunc(&self, places: i32) -> Result<Decimal, DecimalError> {
        self.cut(places, |value, from, to| match to >= from {
            true => rescale_i128(value, from, to).ok_or(DecimalError::Overflow),
            false => Ok(POW10.get(usize::from(from - to)).map_or(0, |divisor| value / divisor)),
        })
    }

    /// Rounding at `places` behind, or when negative in front of, the point.
    fn cut(
        &self,
        places: i32,
        rescale: impl Fn(i128, u8, u8) -> Result<i128, DecimalError>,
    ) -> Result<Decimal, DecimalError> {
        if places > i32::from(Self::MAX_SCALE) {
            return Err(DecimalError::Overflow);
        }
        if let Ok(places) = u8::try_from(places) {
            return Decimal::new(rescale(self.unscaled, self.scale(), places)?, places);
        }
        // in front of the point: as if the point stood further right by that many places
        let in_front = u8::try_from(places.unsigned_abs().min(100)).expect("at most 100");
        let cut = rescale(self.unscaled, self.scale() + in_front, 0)?;
        Decimal::new(rescale_i128(cut, 0, in_front).ok_or(DecimalError::Overflow)?, 0)
    }

    /// The smallest integer not below.
    pub fn ceil(&self) -> Decimal {
        let (integer, fraction) = self.integer_part();
        let up = fraction && self.unscaled > 0;
        Decimal { unscaled: integer + i128::from(up), ..Decimal::ZERO }
    }

    /// The largest integer not above.
    pub fn floor(&self) -> Decimal {
        let (integer, fraction) = self.integer_part();
        let down = fraction && self.unscaled < 0;
        Decimal { unscaled: integer - i128::from(down), ..Decimal::ZERO }
    }

    /// Both unscaled integers at the larger scale.
    #[inline]
    fn aligned(&self, other: &Decimal) -> Result<(i128, i128, u8), DecimalError> {
        let (a, b) = (self.scale(), other.scale());
        if a == b {
            return Ok((self.unscaled, other.unscaled, a));
        }
        let scale = a.max(b);
        let align = |v: &Decimal| rescale_i128(v.unscaled, v.scale(), scale).ok_or(DecimalError::Overflow);
        Ok((align(self)?, align(other)?, scale))
    }

    /// PostgreSQL's `select_div_scale`: enough digits for 16 significant ones, at least those of both sides.
    /// `None` beyond 38.
    fn quotient_scale(&self, other: &Decimal) -> Option<u8> {
        let ((weight1, first1), (weight2, first2)) = (self.leading_group(), other.leading_group());
        let quotient_weight = weight1 - weight2 - i32::from(first1 <= first2);
        let scale = MIN_QUOTIENT_DIGITS - quotient_weight * GROUP_DIGITS;
        let least = self.scale().max(other.scale());
        u8::try_from(scale.max(i32::from(least))).ok().filter(|scale| *scale <= Self::MAX_SCALE)
    }

    /// The first group of four digits, aligned at the point, and its weight: 123456.7 is 12·10⁴ + …, so (1, 12).
    fn leading_group(&self) -> (i32, i128) {
        if self.is_zero() {
            return (0, 0);
        }
        let size = self.unscaled.abs();
        let exponent = i32::from(count_digits(size.unsigned_abs())) - i32::from(self.scale()) - 1;
        let weight = exponent.div_euclid(GROUP_DIGITS);
        let shift = i32::from(self.scale()) + weight * GROUP_DIGITS;
        let power = POW10[shift.unsigned_abs() as usize];
        (weight, if shift >= 0 { size / power } else { size * power })
    }
}

/// A size and a sign.
fn signed(size: u128, negative: bool, scale: u8) -> Result<Decimal, DecimalError> {
    let size = i128::try_from(size).map_err(|_| DecimalError::Overflow)?;
    Decimal::new(if negative { -size } else { size }, scale)
}
