//! Sums, products, quotients and roundings of numbers, with PostgreSQL's result scales.

use num_bigint::{BigInt, Sign};

use super::{Number, SCALE_MAX, digits_of, divide_rounded, shift_right, ten_to};
use crate::error::TypeError;

/// A quotient has at least this many significant digits (`NUMERIC_MIN_SIG_DIGITS`).
pub(super) const SIGNIFICANT_DIGITS: i64 = 16;
/// Most digits that a function chooses to show behind the point (`NUMERIC_MAX_DISPLAY_SCALE`).
pub(super) const DISPLAY_SCALE_MAX: i64 = 1000;
/// PostgreSQL reckons in groups of four decimal digits (`DEC_DIGITS`).
const GROUP_DIGITS: i64 = 4;

/// The digits and scale of a finite number.
type Parts<'a> = (&'a BigInt, usize);

impl Number {
    pub(super) fn parts(&self) -> Option<Parts<'_>> {
        match self {
            Number::Finite { unscaled, scale } => Some((unscaled, usize::from(*scale))),
            _ => None,
        }
    }

    /// An infinity with this sign.
    fn infinite(negative: bool) -> Number {
        if negative { Number::NegativeInfinity } else { Number::Infinity }
    }

    /// `self + other`; of infinities with different signs NaN.
    #[must_use]
    pub fn plus(&self, other: &Number) -> Number {
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => {
                let scale = s.max(t);
                Number::finite(a * ten_to(scale - s) + b * ten_to(scale - t), scale)
            }
            _ if self.is_nan() || other.is_nan() => Number::NaN,
            (None, Some(_)) => self.clone(),
            (Some(_), None) => other.clone(),
            (None, None) => {
                if self == other {
                    self.clone()
                } else {
                    Number::NaN
                }
            }
        }
    }

    /// `self - other`.
    #[must_use]
    pub fn minus(&self, other: &Number) -> Number {
        self.plus(&other.negate())
    }

    /// `self × other`; zero times infinity is NaN.
    #[must_use]
    pub fn times(&self, other: &Number) -> Number {
        match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => Number::finite(a * b, s + t),
            _ if self.is_nan() || other.is_nan() || self.is_zero() || other.is_zero() => Number::NaN,
            _ => Number::infinite(self.is_negative() != other.is_negative()),
        }
    }

    /// `self / other`, rounded half away from zero at PostgreSQL's scale.
    ///
    /// # Errors
    /// 22012.
    pub fn divide(&self, other: &Number) -> Result<Number, TypeError> {
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        let scale = self.quotient_scale(other);
        Ok(self.quotient(other, scale, divide_rounded))
    }

    /// The truncated quotient (`div`).
    ///
    /// # Errors
    /// 22012.
    pub fn divide_truncated(&self, other: &Number) -> Result<Number, TypeError> {
        if let Some(special) = self.special_quotient(other)? {
            return Ok(special);
        }
        Ok(self.quotient(other, 0, |a, b| a / b))
    }

    /// What a quotient is where one side is not finite.
    fn special_quotient(&self, other: &Number) -> Result<Option<Number>, TypeError> {
        if self.is_nan() || other.is_nan() {
            return Ok(Some(Number::NaN));
        }
        if other.is_zero() {
            return Err(TypeError::division_by_zero());
        }
        Ok(match (self.parts(), other.parts()) {
            (Some(_), Some(_)) => None,
            (None, None) => Some(Number::NaN),
            (Some(_), None) => Some(Number::Finite { unscaled: 0.into(), scale: 0 }),
            (None, Some(_)) => Some(Number::infinite(self.is_negative() != other.is_negative())),
        })
    }

    /// The quotient of finite numbers at a scale; the divisor is not zero.
    pub(super) fn quotient(
        &self,
        other: &Number,
        scale: usize,
        divide: impl Fn(&BigInt, &BigInt) -> BigInt,
    ) -> Number {
        let (Some((a, s)), Some((b, t))) = (self.parts(), other.parts()) else { return Number::NaN };
        // a/10^s ÷ b/10^t × 10^scale
        let (up, down) = (scale + t, s);
        let (a, b) = match up >= down {
            true => (a * ten_to(up - down), b.clone()),
            false => (a.clone(), b * ten_to(down - up)),
        };
        Number::finite(divide(&a, &b), scale)
    }

    /// The rest of the truncating division; it has the sign of `self`.
    ///
    /// # Errors
    /// 22012.
    pub fn rest(&self, other: &Number) -> Result<Number, TypeError> {
        if self.is_nan() || other.is_nan() {
            return Ok(Number::NaN);
        }
        if other.is_zero() {
            return Err(TypeError::division_by_zero());
        }
        Ok(match (self.parts(), other.parts()) {
            (Some((a, s)), Some((b, t))) => {
                let scale = s.max(t);
                Number::finite((a * ten_to(scale - s)) % (b * ten_to(scale - t)), scale)
            }
            (None, _) => Number::NaN,
            (Some(_), None) => self.clone(),
        })
    }

    /// PostgreSQL's `select_div_scale`: enough digits for 16 significant ones, at least those of both sides.
    fn quotient_scale(&self, other: &Number) -> usize {
        let ((weight1, first1), (weight2, first2)) = (self.leading_group(), other.leading_group());
        let quotient_weight = weight1 - weight2 - i64::from(first1 <= first2);
        let least = self.scale().max(other.scale()) as i64;
        let scale = (SIGNIFICANT_DIGITS - quotient_weight * GROUP_DIGITS).max(least).max(0);
        scale.min(DISPLAY_SCALE_MAX) as usize
    }

    /// The first group of four digits, aligned at the point, and its weight: 123456.7 is 12·10⁴ + …, so (1, 12).
    pub(super) fn leading_group(&self) -> (i64, u32) {
        let Some((unscaled, scale)) = self.parts().filter(|(unscaled, _)| unscaled.sign() != Sign::NoSign)
        else {
            return (0, 0);
        };
        let digits = unscaled.magnitude().to_str_radix(10);
        let exponent = digits.len() as i64 - scale as i64 - 1;
        let weight = exponent.div_euclid(GROUP_DIGITS);
        let count = exponent.rem_euclid(GROUP_DIGITS) as usize + 1;
        let padded = format!("{digits:0<count$}");
        (weight, padded[..count].parse().unwrap_or(0))
    }

    /// `-self`.
    #[must_use]
    pub fn negate(&self) -> Number {
        match self {
            Number::NegativeInfinity => Number::Infinity,
            Number::Infinity => Number::NegativeInfinity,
            Number::NaN => Number::NaN,
            Number::Finite { unscaled, scale } => Number::Finite { unscaled: -unscaled, scale: *scale },
        }
    }

    /// The absolute value.
    #[must_use]
    pub fn abs(&self) -> Number {
        if self.is_negative() { self.negate() } else { self.clone() }
    }

    /// -1, 0, 1 or NaN.
    #[must_use]
    pub fn signum(&self) -> Number {
        if self.is_nan() {
            return Number::NaN;
        }
        let sign = i32::from(!self.is_zero()) * if self.is_negative() { -1 } else { 1 };
        Number::Finite { unscaled: sign.into(), scale: 0 }
    }

    /// SQL's `round(self, places)`: half away from zero; places may be negative.
    #[must_use]
    pub fn round(&self, places: i32) -> Number {
        self.cut(places, shift_right)
    }

    /// SQL's `trunc(self, places)`: towards zero; places may be negative.
    #[must_use]
    pub fn trunc(&self, places: i32) -> Number {
        self.cut(places, |value, places| value / ten_to(places))
    }

    fn cut(&self, places: i32, shift: impl Fn(&BigInt, usize) -> BigInt) -> Number {
        let Some((unscaled, scale)) = self.parts() else { return self.clone() };
        match usize::try_from(places) {
            Ok(places) if places >= scale => {
                let places = places.min(SCALE_MAX);
                Number::finite(unscaled * ten_to(places.saturating_sub(scale)), places.max(scale))
            }
            Ok(places) => Number::finite(shift(unscaled, scale - places), places),
            Err(_) => {
                let front = places.unsigned_abs() as usize;
                if front > digits_of(unscaled) + 1 {
                    return Number::Finite { unscaled: 0.into(), scale: 0 };
                }
                Number::finite(shift(unscaled, scale + front) * ten_to(front), 0)
            }
        }
    }

    /// The smallest integer not below.
    #[must_use]
    pub fn ceil(&self) -> Number {
        self.negate().floor().negate()
    }

    /// The largest integer not above.
    #[must_use]
    pub fn floor(&self) -> Number {
        let whole = self.trunc(0);
        let one = Number::Finite { unscaled: 1.into(), scale: 0 };
        match self.parts() {
            Some(_) if whole.compare(self).is_gt() => whole.minus(&one),
            _ => whole,
        }
    }

    /// Rounded half away from zero to an integer; `None` where it does not fit, or is none.
    pub fn to_i64(&self) -> Option<i64> {
        let rounded = self.round(0);
        rounded.parts().and_then(|(unscaled, _)| i64::try_from(unscaled).ok())
    }

    /// Euclid's greatest common divisor, at the larger scale.
    #[must_use]
    pub fn common_divisor(&self, other: &Number) -> Number {
        let (Some((a, s)), Some((b, t))) = (self.parts(), other.parts()) else {
            return match (self.is_nan() || other.is_nan(), self.parts(), other.parts()) {
                (true, ..) => Number::NaN,
                // as in PostgreSQL
                _ => Number::NaN,
            };
        };
        let scale = s.max(t);
        let (mut a, mut b) = (a * ten_to(scale - s), b * ten_to(scale - t));
        while b.sign() != Sign::NoSign {
            let rest = &a % &b;
            (a, b) = (b, rest);
        }
        Number::finite(BigInt::from(a.magnitude().clone()), scale)
    }

    /// The least common multiple, at the larger scale.
    #[must_use]
    pub fn common_multiple(&self, other: &Number) -> Number {
        if self.parts().is_none() || other.parts().is_none() {
            return Number::NaN;
        }
        let scale = self.scale().max(other.scale());
        if self.is_zero() || other.is_zero() {
            return Number::finite(0.into(), scale);
        }
        let parts = self.quotient(&self.common_divisor(other), 0, |a, b| a / b);
        parts.times(other).abs().round(scale as i32)
    }
}
