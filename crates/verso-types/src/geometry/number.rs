//! Coordinates: arithmetic whose results fit, and comparisons that allow for a millionth.
//!
//! The comparisons give false for NaN, but for [`is_less`], [`least`] and [`greatest`], which take NaN for the greatest number.

use crate::error::{TypeError, sqlstate};
use crate::value::cmp_f64;

/// A number, or 22003, 22012.
pub type Result<T> = std::result::Result<T, TypeError>;

/// How far two numbers may be from each other and still count as the same.
const EPSILON: f64 = 1e-6;

#[cold]
fn underflow() -> TypeError {
    TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: underflow")
}

fn fitting(result: f64, a: f64, b: f64) -> Result<f64> {
    if result.is_infinite() && !a.is_infinite() && !b.is_infinite() {
        return Err(TypeError::float_overflow());
    }
    Ok(result)
}

/// `a + b`
/// # Errors
/// 22003.
pub fn plus(a: f64, b: f64) -> Result<f64> {
    fitting(a + b, a, b)
}

/// `a - b`
/// # Errors
/// 22003.
pub fn minus(a: f64, b: f64) -> Result<f64> {
    fitting(a - b, a, b)
}

/// `a * b`
/// # Errors
/// 22003.
pub fn times(a: f64, b: f64) -> Result<f64> {
    let result = fitting(a * b, a, b)?;
    if result == 0.0 && a != 0.0 && b != 0.0 { Err(underflow()) } else { Ok(result) }
}

/// `a / b`
/// # Errors
/// 22003, 22012.
pub fn over(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(TypeError::division_by_zero());
    }
    let result = a / b;
    if result.is_infinite() && !a.is_infinite() {
        return Err(TypeError::float_overflow());
    }
    if result == 0.0 && a != 0.0 && !b.is_infinite() {
        return Err(underflow());
    }
    Ok(result)
}

/// The middle between two numbers.
/// # Errors
/// 22003.
pub fn middle(a: f64, b: f64) -> Result<f64> {
    over(plus(a, b)?, 2.0)
}

/// The length of the longest side of a right triangle with these two others.
/// # Errors
/// 22003.
pub fn hypotenuse(a: f64, b: f64) -> Result<f64> {
    if a.is_infinite() || b.is_infinite() {
        return Ok(f64::INFINITY);
    }
    if a.is_nan() || b.is_nan() {
        return Ok(f64::NAN);
    }
    let (a, b) = (a.abs(), b.abs());
    let (long, short) = if a < b { (b, a) } else { (a, b) };
    if short == 0.0 {
        return Ok(long);
    }
    // The longer side comes before the root, so that only results overflow that are too large themselves.
    let ratio = short / long;
    let result = long * (1.0 + ratio * ratio).sqrt();
    if result.is_infinite() {
        return Err(TypeError::float_overflow());
    }
    if result == 0.0 { Err(underflow()) } else { Ok(result) }
}

/// Zero without its sign.
pub fn unsigned_zero(number: f64) -> f64 {
    if number == 0.0 { 0.0 } else { number }
}

/// Whether a number is about 0.
pub fn is_zero(a: f64) -> bool {
    a.abs() <= EPSILON
}

/// Whether two numbers are about the same.
pub fn is_near(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}

/// Whether two numbers are not about the same; false for NaN, so it is not the opposite of [`is_near`].
pub fn is_apart(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() > EPSILON
}

/// `a < b`, and not by so little that they count as the same.
pub fn is_below(a: f64, b: f64) -> bool {
    a + EPSILON < b
}

/// `a <= b`, or about that.
pub fn is_at_most(a: f64, b: f64) -> bool {
    a <= b + EPSILON
}

/// `a > b`, and not by so little that they count as the same.
pub fn is_above(a: f64, b: f64) -> bool {
    a > b + EPSILON
}

/// `a >= b`, or about that.
pub fn is_at_least(a: f64, b: f64) -> bool {
    a + EPSILON >= b
}

/// `a < b` to the last digit; NaN is above all others.
pub fn is_less(a: f64, b: f64) -> bool {
    cmp_f64(a, b).is_lt()
}

/// The lesser one.
pub fn least(a: f64, b: f64) -> f64 {
    if is_less(a, b) { a } else { b }
}

/// The greater one.
pub fn greatest(a: f64, b: f64) -> f64 {
    if is_less(b, a) { a } else { b }
}
