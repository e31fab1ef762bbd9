//! Hyperbolic functions, trigonometry in degrees, gamma and error functions.
//!
//! The functions of degrees are exact where the result is: `sind(30)` is 0.5. Source: PostgreSQL's `float.c`.

use verso_types::error::sqlstate;
use verso_types::{SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::floats::domain;
use super::kernel::ElementError;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

type Result<T> = std::result::Result<T, TypeError>;

fn out_of_range() -> TypeError {
    domain(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}

/// `f` of an argument for which `holds` is true; NaN for NaN.
fn within(a: f64, holds: bool, f: impl FnOnce(f64) -> f64) -> Result<f64> {
    match (a.is_nan(), holds) {
        (true, _) => Ok(f64::NAN),
        (false, true) => Ok(f(a)),
        (false, false) => Err(out_of_range()),
    }
}

// ── degrees ──────────────────────────────────────────────────────────────────────────────────────────────────────

const HALF_TURN: f64 = 180.0;

/// The sine of 0 to 90 degrees.
fn sine(degrees: f64) -> f64 {
    if degrees <= 30.0 { sine_to_30(degrees) } else { cosine_to_60(90.0 - degrees) }
}

/// The cosine of 0 to 90 degrees.
fn cosine(degrees: f64) -> f64 {
    if degrees <= 60.0 { cosine_to_60(degrees) } else { sine_to_30(90.0 - degrees) }
}

fn sine_to_30(degrees: f64) -> f64 {
    degrees.to_radians().sin() / 30f64.to_radians().sin() / 2.0
}

fn cosine_to_60(degrees: f64) -> f64 {
    1.0 - (1.0 - degrees.to_radians().cos()) / (1.0 - 60f64.to_radians().cos()) / 2.0
}

/// The arc sine of 0 to 1, in degrees.
fn arc_sine(a: f64) -> f64 {
    if a <= 0.5 { a.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - a.acos() / 0.5f64.acos() * 60.0 }
}

/// The arc cosine of 0 to 1, in degrees.
fn arc_cosine(a: f64) -> f64 {
    if a <= 0.5 { 90.0 - a.asin() / 0.5f64.asin() * 30.0 } else { a.acos() / 0.5f64.acos() * 60.0 }
}

/// The angle of the first quarter that an angle is like, whether the sine changes its sign there, whether the cosine does.
fn folded(degrees: f64) -> (f64, f64, f64) {
    let (mut sine, mut cosine) = (1.0, 1.0);
    let mut angle = degrees % 360.0;
    if angle < 0.0 {
        (angle, sine) = (-angle, -sine);
    }
    if angle > HALF_TURN {
        (angle, sine) = (360.0 - angle, -sine);
    }
    if angle > 90.0 {
        (angle, cosine) = (HALF_TURN - angle, -cosine);
    }
    (angle, sine, cosine)
}

fn sind(a: f64) -> f64 {
    let (angle, sign, _) = folded(a);
    sign * sine(angle)
}

fn cosd(a: f64) -> f64 {
    let (angle, _, sign) = folded(a);
    sign * cosine(angle)
}

/// No negative zero.
fn plain_zero(a: f64) -> f64 {
    if a == 0.0 { 0.0 } else { a }
}

fn tand(a: f64) -> f64 {
    let (angle, sine_sign, cosine_sign) = folded(a);
    plain_zero(sine_sign * cosine_sign * (sine(angle) / cosine(angle) / (sine(45.0) / cosine(45.0))))
}

fn cotd(a: f64) -> f64 {
    let (angle, sine_sign, cosine_sign) = folded(a);
    plain_zero(sine_sign * cosine_sign * (cosine(angle) / sine(angle) / (cosine(45.0) / sine(45.0))))
}

fn asind(a: f64) -> f64 {
    if a >= 0.0 { arc_sine(a) } else { -arc_sine(-a) }
}

fn acosd(a: f64) -> f64 {
    if a >= 0.0 { arc_cosine(a) } else { 90.0 + arc_sine(-a) }
}

// ── gamma ────────────────────────────────────────────────────────────────────────────────────────────────────────

fn gamma(a: f64) -> Result<f64> {
    if a.is_nan() || a == f64::INFINITY {
        return Ok(a);
    }
    let result = libm::tgamma(a);
    // it has no value at zero and the negative whole numbers
    if !result.is_finite() || a == f64::NEG_INFINITY || a <= 0.0 && a == a.trunc() {
        return Err(ElementError::FloatOverflow.into());
    }
    if result == 0.0 { Err(ElementError::FloatUnderflow.into()) } else { Ok(result) }
}

fn lgamma(a: f64) -> Result<f64> {
    let result = libm::lgamma(a);
    if result.is_infinite() && a.is_finite() { Err(ElementError::FloatOverflow.into()) } else { Ok(result) }
}

/// A function of one double.
macro_rules! of_double {
    ($name:literal = $f:expr) => {
        entry!($name () [Float8] => Float8, |_, args| match args {
            [Value::Float8(a)] => Ok(Value::Float8($f(*a)?)),
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

static FUNCTIONS: &[BuiltinFunction] = &[
    of_double!("sinh" = |a: f64| Ok::<_, TypeError>(a.sinh())),
    of_double!("cosh" = |a: f64| Ok::<_, TypeError>(a.cosh())),
    of_double!("tanh" = |a: f64| Ok::<_, TypeError>(a.tanh())),
    of_double!("asinh" = |a: f64| Ok::<_, TypeError>(libm::asinh(a))),
    of_double!("acosh" = |a: f64| within(a, a >= 1.0, libm::acosh)),
    of_double!("atanh" = |a: f64| within(a, a.abs() <= 1.0, libm::atanh)),
    of_double!("cot" = |a: f64| within(a, a.is_finite(), |a| 1.0 / a.tan())),
    of_double!("sind" = |a: f64| within(a, a.is_finite(), sind)),
    of_double!("cosd" = |a: f64| within(a, a.is_finite(), cosd)),
    of_double!("tand" = |a: f64| within(a, a.is_finite(), tand)),
    of_double!("cotd" = |a: f64| within(a, a.is_finite(), cotd)),
    of_double!("asind" = |a: f64| within(a, a.abs() <= 1.0, asind)),
    of_double!("acosd" = |a: f64| within(a, a.abs() <= 1.0, acosd)),
    of_double!("atand" = |a: f64| Ok::<_, TypeError>(a.atan() / 1f64.atan() * 45.0)),
    of_double!("erf" = |a: f64| Ok::<_, TypeError>(libm::erf(a))),
    of_double!("erfc" = |a: f64| Ok::<_, TypeError>(libm::erfc(a))),
    of_double!("gamma" = gamma),
    of_double!("lgamma" = lgamma),
    entry!("atan2d" () [Float8, Float8] => Float8, |_, args| match args {
        [Value::Float8(y), Value::Float8(x)] => Ok(Value::Float8(y.atan2(*x) / 1f64.atan() * 45.0)),
        _ => Err(unexpected("atan2d", args)),
    }, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
