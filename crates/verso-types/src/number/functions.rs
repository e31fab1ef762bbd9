//! Roots, powers, exponentials and logarithms of numbers, with PostgreSQL's result scales.
//!
//! They are computed in fixed point: integers that count units of 10^-digits, with guard digits beyond what is shown.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

use super::arithmetic::{DISPLAY_SCALE_MAX, SIGNIFICANT_DIGITS};
use super::{Number, WHOLE_DIGITS_MAX, divide_rounded, shift_right, ten_to};
use crate::error::TypeError;

/// PostgreSQL's log₁₀ e, with its digits: where a scale changes depends on them.
#[expect(clippy::approx_constant, reason = "as in numeric.c")]
const LOG10_E: f64 = 0.434_294_481_903_252;
/// Digits beyond those shown.
const GUARD: usize = 12;
/// SQLSTATEs: of powers, and of logarithms.
const FOR_POWER: &str = "2201F";
const FOR_LOGARITHM: &str = "2201E";

/// A scale as PostgreSQL's functions bound it.
fn shown_scale(scale: i64, least: usize) -> usize {
    scale.max(least as i64).clamp(0, DISPLAY_SCALE_MAX) as usize
}

fn whole(number: i64) -> Number {
    Number::Finite { unscaled: number.into(), scale: 0 }
}

/// A number in fixed point, cut.
fn fixed(number: &Number, digits: usize) -> BigInt {
    match number.parts() {
        Some((unscaled, scale)) if digits >= scale => unscaled * ten_to(digits - scale),
        Some((unscaled, scale)) => unscaled / ten_to(scale - digits),
        None => BigInt::from(0),
    }
}

/// A number in fixed point as one with so many digits behind the point, rounded.
fn shown(value: &BigInt, digits: usize, scale: usize) -> Number {
    match digits >= scale {
        true => Number::finite(shift_right(value, digits - scale), scale),
        false => Number::finite(value * ten_to(scale - digits), scale),
    }
}

/// e^x of |x| below about 6,000, in fixed point.
fn exp_fixed(x: &BigInt, digits: usize) -> BigInt {
    // e^x = (e^(x / 2^k))^(2^k): the series of a small number is short
    let bits = x.bits() as i64 - ten_to(digits).bits() as i64;
    let halvings: usize = (bits + 9).max(0) as usize;
    let unit = ten_to(digits);
    let x: BigInt = x / BigInt::from(2).pow(halvings as u32);
    let (mut sum, mut term, mut n): (BigInt, BigInt, u32) = (unit.clone(), unit.clone(), 1);
    while term.sign() != Sign::NoSign {
        let next: BigInt = term * &x / &unit;
        term = next / n;
        sum += &term;
        n += 1;
    }
    for _ in 0..halvings {
        sum = &sum * &sum / &unit;
    }
    sum
}

/// The natural logarithm of a number in fixed point that is above zero and within some powers of ten of one.
fn ln_near_one(x: &BigInt, digits: usize) -> BigInt {
    // ln x = 2^k ln(x^(1 / 2^k)): roots until the series of 2 atanh((x - 1) / (x + 1)) is short
    let unit = ten_to(digits);
    let mut root: BigInt = x.clone();
    let mut doublings = 0u32;
    let near: BigInt = &unit / 1000;
    while (&root - &unit).magnitude() > near.magnitude() {
        let scaled: BigInt = root * &unit;
        root = scaled.sqrt();
        doublings += 1;
    }
    let ratio: BigInt = (&root - &unit) * &unit / (&root + &unit);
    let square: BigInt = &ratio * &ratio / &unit;
    let (mut sum, mut power, mut n): (BigInt, BigInt, u32) = (ratio.clone(), ratio, 1);
    loop {
        power = &power * &square / &unit;
        n += 2;
        let term = &power / n;
        if term.sign() == Sign::NoSign {
            break;
        }
        sum += term;
    }
    sum * 2 * BigInt::from(2).pow(doublings)
}

/// The natural logarithm of a number above zero, in fixed point.
fn ln_fixed(number: &Number, digits: usize) -> BigInt {
    let Some((unscaled, scale)) = number.parts() else { return BigInt::from(0) };
    // number = mantissa × 10^exponent, the mantissa between 1/3 and 10
    let count = unscaled.magnitude().to_str_radix(10).len() as i64;
    let mut exponent = count - scale as i64 - 1;
    if number.compare(&Number::Finite { unscaled: 1.into(), scale: 1 }).is_gt()
        && number.compare(&whole(10)).is_lt()
    {
        exponent = 0; // so numbers near one keep their leading digits
    }
    let guard = digits + GUARD;
    let shift = guard as i64 - scale as i64 - exponent;
    let mantissa = match usize::try_from(shift) {
        Ok(up) => unscaled * ten_to(up),
        Err(_) => unscaled / ten_to(shift.unsigned_abs() as usize),
    };
    let mut sum = ln_near_one(&mantissa, guard);
    if exponent != 0 {
        sum += ln_near_one(&(ten_to(guard) * 10), guard) * exponent;
    }
    shift_right(&sum, GUARD)
}

impl Number {
    /// `x` as `digits × 10^exponent` of doubles: the leading digits and where they stand.
    fn approximate(&self) -> (f64, i64) {
        let Some((unscaled, scale)) = self.parts() else { return (0.0, 0) };
        let digits = unscaled.magnitude().to_str_radix(10);
        let kept = digits.len().min(17);
        (digits[..kept].parse().unwrap_or(0.0), (digits.len() - kept) as i64 - scale as i64)
    }

    /// PostgreSQL's `estimate_ln_dweight`: where the first digit of the logarithm stands, roughly.
    fn ln_weight(&self) -> i64 {
        if self.is_negative() || self.is_zero() {
            return 0;
        }
        let tenths = |tenths: i64| Number::Finite { unscaled: tenths.into(), scale: 1 };
        if self.compare(&tenths(9)).is_ge() && self.compare(&tenths(11)).is_le() {
            let off = self.minus(&whole(1));
            if off.is_zero() {
                return 0;
            }
            let (weight, first) = off.leading_group();
            return weight * 4 + i64::from(first.max(1).ilog10());
        }
        let (digits, exponent) = self.approximate();
        let logarithm = digits.ln() + exponent as f64 * std::f64::consts::LN_10;
        logarithm.abs().log10() as i64
    }

    /// The square root.
    ///
    /// # Errors
    /// 2201F of a negative number.
    pub fn sqrt(&self) -> Result<Number, TypeError> {
        if self.is_negative() {
            let text = "cannot take square root of a negative number";
            return Err(TypeError::new(FOR_POWER, text));
        }
        let Some((unscaled, own)) = self.parts() else { return Ok(self.clone()) };
        let (weight, _) = self.leading_group();
        let scale = shown_scale(SIGNIFICANT_DIGITS - (weight * 2 + 1), own);
        // one more digit than shown decides how it is rounded; a root that ends there is exact
        let digits = scale + 1;
        let square = match 2 * digits >= own {
            true => unscaled * ten_to(2 * digits - own),
            false => unscaled / ten_to(own - 2 * digits),
        };
        Ok(shown(&square.sqrt(), digits, scale))
    }

    /// `e^self`.
    ///
    /// # Errors
    /// 22003 for a result with too many digits.
    pub fn exp(&self) -> Result<Number, TypeError> {
        match self {
            Number::NaN | Number::Infinity => return Ok(self.clone()),
            Number::NegativeInfinity => return Ok(whole(0)),
            Number::Finite { .. } => {}
        }
        let weight = (self.to_f64() * LOG10_E).clamp(-2000.0, 2000.0) as i64;
        self.exp_at(shown_scale(SIGNIFICANT_DIGITS - weight, self.scale()))
    }

    /// `e^self` with so many digits behind the point.
    fn exp_at(&self, scale: usize) -> Result<Number, TypeError> {
        let value = self.to_f64();
        if value.abs() >= 6000.0 {
            return match value > 0.0 {
                true => Err(TypeError::numeric_overflow()),
                false => Ok(Number::finite(0.into(), scale)),
            };
        }
        // an error of the last digit grows with the size of the result
        let whole_digits = (value * LOG10_E).max(0.0) as usize + 10;
        let digits = scale + whole_digits + GUARD;
        Ok(shown(&exp_fixed(&fixed(self, digits), digits), digits, scale))
    }

    /// The natural logarithm.
    ///
    /// # Errors
    /// 2201E of what is not above zero.
    pub fn ln(&self) -> Result<Number, TypeError> {
        self.check_logarithm()?;
        if self.parts().is_none() {
            return Ok(self.clone());
        }
        let scale = shown_scale(SIGNIFICANT_DIGITS - self.ln_weight(), self.scale());
        Ok(shown(&ln_fixed(self, scale + GUARD), scale + GUARD, scale))
    }

    fn check_logarithm(&self) -> Result<(), TypeError> {
        let what = match () {
            () if self.is_zero() => "zero",
            () if self.is_negative() => "a negative number",
            () => return Ok(()),
        };
        Err(TypeError::new(FOR_LOGARITHM, format!("cannot take logarithm of {what}")))
    }

    /// The logarithm to a base.
    ///
    /// # Errors
    /// 2201E of what is not above zero, 22012 for base one.
    pub fn log(base: &Number, number: &Number) -> Result<Number, TypeError> {
        if base.is_nan() || number.is_nan() {
            return Ok(Number::NaN);
        }
        base.check_logarithm()?;
        number.check_logarithm()?;
        match (base.parts(), number.parts()) {
            (None, None) => return Ok(Number::NaN),
            (None, Some(_)) => return Ok(whole(0)),
            (Some(_), None) => return Ok(Number::Infinity), // whatever the base, as PostgreSQL has it
            (Some(_), Some(_)) => {}
        }
        let weight = number.ln_weight() - base.ln_weight();
        let scale = shown_scale(SIGNIFICANT_DIGITS - weight, base.scale().max(number.scale()));
        let small = (-base.ln_weight()).max(-number.ln_weight()).max(0) as usize;
        let digits = scale + 2 * small + 2 * GUARD;
        let (above, below) = (ln_fixed(number, digits), ln_fixed(base, digits));
        if below.sign() == Sign::NoSign {
            return Err(TypeError::division_by_zero());
        }
        let quotient = divide_rounded(&(above * ten_to(digits)), &below);
        Ok(shown(&quotient, digits, scale))
    }

    /// `self ^ exponent`.
    ///
    /// # Errors
    /// 2201F for what has no real result, 22003 for too many digits.
    pub fn power(&self, exponent: &Number) -> Result<Number, TypeError> {
        if let Some(special) = self.special_power(exponent)? {
            return Ok(special);
        }
        if self.is_zero() && exponent.is_negative() {
            return Err(TypeError::new(FOR_POWER, "zero raised to a negative power is undefined"));
        }
        let is_whole = exponent.trunc(0).compare(exponent).is_eq();
        if self.is_negative() && !is_whole {
            let text = "a negative number raised to a non-integer power yields a complex result";
            return Err(TypeError::new(FOR_POWER, text));
        }
        if is_whole && let Some(times) = exponent.to_i64().and_then(|times| i32::try_from(times).ok()) {
            return self.whole_power(times, exponent.scale());
        }
        if self.is_zero() {
            return Ok(Number::finite(0.into(), SIGNIFICANT_DIGITS as usize));
        }
        let odd = is_whole && !exponent.rest(&whole(2))?.is_zero();
        let base = self.abs();
        let weight = base.ln_weight();
        // the logarithm of the result, first roughly
        let rough = shown_scale(8 - weight, 0) + GUARD;
        let product = |digits: usize| {
            let logarithm = Number::finite(ln_fixed(&base, digits), digits);
            logarithm.times(exponent)
        };
        let value = product(rough).to_f64();
        if value.abs() > 2000.0 * 3.01 {
            return match value > 0.0 {
                true => Err(TypeError::numeric_overflow()),
                false => Ok(Number::finite(0.into(), DISPLAY_SCALE_MAX as usize)),
            };
        }
        let places = (value * LOG10_E) as i64;
        let scale = shown_scale(SIGNIFICANT_DIGITS - places, base.scale().max(exponent.scale()));
        let long = exponent.leading_group().0.max(0) as usize * 4 + 4;
        let digits = (scale as i64 + places.max(0)) as usize + long + GUARD;
        let result = product(digits).exp_at(scale)?;
        Ok(if self.is_negative() && odd { result.negate() } else { result })
    }

    /// What a power is where one side is not finite.
    fn special_power(&self, exponent: &Number) -> Result<Option<Number>, TypeError> {
        let one = whole(1);
        if self.is_nan() {
            return Ok(Some(if exponent.is_zero() { one } else { Number::NaN }));
        }
        if exponent.is_nan() {
            return Ok(Some(if self.compare(&one).is_eq() { one } else { Number::NaN }));
        }
        if self.parts().is_some() && exponent.parts().is_some() {
            return Ok(None);
        }
        if self.is_zero() && exponent.is_negative() {
            return Err(TypeError::new(FOR_POWER, "zero raised to a negative power is undefined"));
        }
        if exponent.is_zero() || self.compare(&one).is_eq() {
            return Ok(Some(one));
        }
        if exponent.parts().is_none() {
            let size = self.abs().compare(&one);
            return Ok(Some(match (size, exponent.is_negative()) {
                (Ordering::Equal, _) => one,
                (Ordering::Greater, false) | (Ordering::Less, true) => Number::Infinity,
                _ => whole(0),
            }));
        }
        if self.is_negative() && exponent.trunc(0).compare(exponent).is_ne() {
            let text = "a negative number raised to a non-integer power yields a complex result";
            return Err(TypeError::new(FOR_POWER, text));
        }
        if exponent.is_negative() {
            return Ok(Some(whole(0)));
        }
        if !self.is_negative() {
            return Ok(Some(Number::Infinity));
        }
        let odd = !exponent.rest(&whole(2))?.is_zero();
        Ok(Some(if odd { Number::NegativeInfinity } else { Number::Infinity }))
    }

    /// A power with a whole exponent: exact, then rounded.
    fn whole_power(&self, times: i32, exponent_scale: usize) -> Result<Number, TypeError> {
        let (digits, place) = self.approximate();
        let weight = match self.is_zero() {
            true => 0.0,
            false => f64::from(times) * (digits.log10() + place as f64),
        };
        if weight > (WHOLE_DIGITS_MAX + 4) as f64 {
            return Err(TypeError::numeric_overflow());
        }
        if weight + 1.0 < -(DISPLAY_SCALE_MAX as f64) {
            return Ok(Number::finite(0.into(), DISPLAY_SCALE_MAX as usize));
        }
        let scale = shown_scale(SIGNIFICANT_DIGITS - weight as i64, self.scale().max(exponent_scale));
        let Number::Finite { unscaled, scale: own } = self.normalize() else { return Ok(self.clone()) };
        let size = times.unsigned_abs();
        // digits beyond what decides the result are cut on the way
        let wanted = scale + weight.abs() as usize + GUARD + 10 + (size.ilog2_or_zero() as usize) * 2;
        let (power, place) = cut_power(&unscaled, i64::from(own), size, wanted);
        let shift = |up: i64, value: &BigInt| match usize::try_from(up) {
            Ok(up) => value * ten_to(up),
            Err(_) => shift_right(value, up.unsigned_abs() as usize),
        };
        // the power is `power / 10^place`
        if times >= 0 {
            return Ok(Number::finite(shift(scale as i64 - place, &power), scale));
        }
        if power.sign() == Sign::NoSign {
            return Err(TypeError::division_by_zero());
        }
        let count = power.magnitude().to_str_radix(10).len();
        let extra = scale + count + (weight.max(0.0) as usize) + GUARD;
        let quotient = divide_rounded(&ten_to(extra), &power);
        // 10^extra / power is the result × 10^(extra - place)
        Ok(Number::finite(shift(scale as i64 - (extra as i64 - place), &quotient), scale))
    }
}

/// A logarithm of a count that may be zero.
trait Log2 {
    fn ilog2_or_zero(self) -> u32;
}

impl Log2 for u32 {
    fn ilog2_or_zero(self) -> u32 {
        self.checked_ilog2().unwrap_or(0)
    }
}

/// `(value / 10^scale)^times` as digits and a scale, by squaring, cut to so many leading digits.
fn cut_power(value: &BigInt, scale: i64, mut times: u32, wanted: usize) -> (BigInt, i64) {
    let cut = |(digits, scale): (BigInt, i64)| {
        // about three bits are a decimal digit
        if digits.bits() < (wanted as u64 + 20) * 4 {
            return (digits, scale);
        }
        let count = digits.magnitude().to_str_radix(10).len();
        let drop = count.saturating_sub(wanted);
        (shift_right(&digits, drop), scale - drop as i64)
    };
    let (mut result, mut base) = ((BigInt::from(1), 0), (value.clone(), scale));
    while times > 0 {
        if times & 1 == 1 {
            result = cut((&result.0 * &base.0, result.1 + base.1));
        }
        times >>= 1;
        if times > 0 {
            base = cut((&base.0 * &base.0, base.1 * 2));
        }
    }
    result
}

/// `n!`.
///
/// # Errors
/// 22003 of a negative number, or with too many digits.
pub fn factorial(n: i64) -> Result<Number, TypeError> {
    if n < 0 {
        return Err(TypeError::new("22003", "factorial of a negative number is undefined"));
    }
    // 32177! has more digits than a number may have
    if n > 32_177 {
        return Err(TypeError::numeric_overflow());
    }
    // products of halves are of like size, which is faster than one factor after the other
    fn product(from: u64, to: u64) -> BigInt {
        match to - from {
            0 => BigInt::from(from),
            1..=8 => (from..=to).map(BigInt::from).product(),
            span => product(from, from + span / 2) * product(from + span / 2 + 1, to),
        }
    }
    Number::finite(product(1, n.max(1).unsigned_abs()), 0).checked()
}
