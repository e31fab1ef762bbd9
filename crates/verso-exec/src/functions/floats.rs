//! Arithmetic and mathematics of real and double precision. Finite numbers that leave the range are an error.

use verso_types::error::sqlstate;
use verso_types::{SqlType, TypeError, Value};

use super::define::{elementwise, entry, unexpected};
use super::kernel::{self, ElementError, ElementResult, Kernel};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// The functions of one float type.
macro_rules! floats {
    ($module:ident, $ty:ident, $rust:ty,
     $add:literal $sub:literal $mul:literal $div:literal $neg:literal $pos:literal) => {
        mod $module {
            use super::*;

            #[inline]
            fn bounded(result: $rust, finite: bool) -> ElementResult<$rust> {
                if result.is_infinite() && finite { Err(ElementError::FloatOverflow) } else { Ok(result) }
            }
            #[inline]
            pub(super) fn add(a: $rust, b: $rust) -> ElementResult<$rust> {
                bounded(a + b, a.is_finite() && b.is_finite())
            }
            #[inline]
            pub(super) fn subtract(a: $rust, b: $rust) -> ElementResult<$rust> {
                bounded(a - b, a.is_finite() && b.is_finite())
            }
            pub(super) fn multiply(a: $rust, b: $rust) -> ElementResult<$rust> {
                let result = a * b;
                if result == 0.0 && a != 0.0 && b != 0.0 {
                    return Err(ElementError::FloatUnderflow);
                }
                bounded(result, a.is_finite() && b.is_finite())
            }
            pub(super) fn divide(a: $rust, b: $rust) -> ElementResult<$rust> {
                if b == 0.0 && !a.is_nan() {
                    return Err(ElementError::DivisionByZero);
                }
                let result = a / b;
                if result == 0.0 && a != 0.0 && b.is_finite() {
                    return Err(ElementError::FloatUnderflow);
                }
                bounded(result, a.is_finite())
            }
            fn negate(a: $rust) -> ElementResult<$rust> {
                Ok(-a)
            }
            fn same(a: $rust) -> ElementResult<$rust> {
                Ok(a)
            }
            fn absolute(a: $rust) -> ElementResult<$rust> {
                Ok(a.abs())
            }

            // an infinite result may be right: the exact form knows
            fn add_quick(a: $rust, b: $rust) -> ($rust, bool) {
                let sum = a + b;
                (sum, sum.is_infinite())
            }
            fn subtract_quick(a: $rust, b: $rust) -> ($rust, bool) {
                let difference = a - b;
                (difference, difference.is_infinite())
            }
            fn multiply_quick(a: $rust, b: $rust) -> ($rust, bool) {
                let product = a * b;
                (product, product.is_infinite() | (product == 0.0) & (a != 0.0) & (b != 0.0))
            }

            pub(in crate::functions) static TABLE: &[BuiltinFunction] = &[
        elementwise!($add("+"): a $ty $rust, b $ty $rust => $ty $rust = add, quick add_quick),
        elementwise!($sub("-"): a $ty $rust, b $ty $rust => $ty $rust = subtract, quick subtract_quick),
        elementwise!($mul("*"): a $ty $rust, b $ty $rust => $ty $rust = multiply, quick multiply_quick),
        elementwise!($div("/"): a $ty $rust, b $ty $rust => $ty $rust = divide),
        elementwise!($neg("-"): a $ty $rust => $ty $rust = negate),
        elementwise!($pos("+"): a $ty $rust => $ty $rust = same),
        elementwise!("abs"("@"): a $ty $rust => $ty $rust = absolute),
            ];
        }
    };
}

floats!(float4, Float4, f32, "float4pl" "float4mi" "float4mul" "float4div" "float4um" "float4up");
floats!(float8, Float8, f64, "float8pl" "float8mi" "float8mul" "float8div" "float8um" "float8up");

/// `real` beside `double precision` is reckoned in double precision.
macro_rules! mixed {
    ($($name48:literal $name84:literal $op:literal $f:ident),*) => {
        &[$(
            elementwise!($name48($op): a Float4 f32, b Float8 f64 => Float8 f64 =
                |a: f32, b: f64| float8::$f(f64::from(a), b)),
            elementwise!($name84($op): a Float8 f64, b Float4 f32 => Float8 f64 =
                |a: f64, b: f32| float8::$f(a, f64::from(b))),
        )*]
    };
}

static MIXED: &[BuiltinFunction] = mixed!(
    "float48pl" "float84pl" "+" add,
    "float48mi" "float84mi" "-" subtract,
    "float48mul" "float84mul" "*" multiply,
    "float48div" "float84div" "/" divide
);

fn floor(a: f64) -> ElementResult<f64> {
    Ok(a.floor())
}
fn ceil(a: f64) -> ElementResult<f64> {
    Ok(a.ceil())
}
fn trunc(a: f64) -> ElementResult<f64> {
    Ok(a.trunc())
}
/// Halves go to the even neighbour, as `rint` does it.
fn round(a: f64) -> ElementResult<f64> {
    Ok(a.round_ties_even())
}
fn sign(a: f64) -> ElementResult<f64> {
    Ok(if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else {
        0.0
    })
}
fn degrees(a: f64) -> ElementResult<f64> {
    finite(a.to_degrees(), a)
}
fn radians(a: f64) -> ElementResult<f64> {
    match a.to_radians() {
        result if result == 0.0 && a != 0.0 => Err(ElementError::FloatUnderflow),
        result => Ok(result),
    }
}
fn cbrt(a: f64) -> ElementResult<f64> {
    Ok(a.cbrt())
}
fn exp(a: f64) -> ElementResult<f64> {
    let result = a.exp();
    if result == 0.0 && a.is_finite() {
        return Err(ElementError::FloatUnderflow);
    }
    finite(result, a)
}
fn atan(a: f64) -> ElementResult<f64> {
    Ok(a.atan())
}
fn atan2(a: f64, b: f64) -> ElementResult<f64> {
    Ok(a.atan2(b))
}

/// An infinite result of a finite argument is an overflow.
fn finite(result: f64, argument: f64) -> ElementResult<f64> {
    if result.is_infinite() && argument.is_finite() { Err(ElementError::FloatOverflow) } else { Ok(result) }
}

/// An error of mathematics with PostgreSQL's SQLSTATE and words.
#[cold]
pub(super) fn domain(sqlstate: &'static str, message: &str) -> TypeError {
    TypeError::new(sqlstate, message)
}

pub(super) const INVALID_ARGUMENT_FOR_LOG: &str = "2201E";
pub(super) const INVALID_ARGUMENT_FOR_POWER: &str = "2201F";

fn square_root(a: f64) -> Result<f64, TypeError> {
    if a < 0.0 {
        return Err(domain(INVALID_ARGUMENT_FOR_POWER, "cannot take square root of a negative number"));
    }
    Ok(a.sqrt())
}

fn logarithm(a: f64, f: fn(f64) -> f64) -> Result<f64, TypeError> {
    if a == 0.0 {
        return Err(domain(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero"));
    }
    if a < 0.0 {
        return Err(domain(INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of a negative number"));
    }
    Ok(f(a))
}

fn power(a: f64, b: f64) -> Result<f64, TypeError> {
    if a == 0.0 && b < 0.0 {
        let message = "zero raised to a negative power is undefined";
        return Err(domain(INVALID_ARGUMENT_FOR_POWER, message));
    }
    if a < 0.0 && b.is_finite() && b.fract() != 0.0 {
        let message = "a negative number raised to a non-integer power yields a complex result";
        return Err(domain(INVALID_ARGUMENT_FOR_POWER, message));
    }
    let result = a.powf(b);
    if result.is_infinite() && a.is_finite() && b.is_finite() {
        return Err(ElementError::FloatOverflow.into());
    }
    if result == 0.0 && a != 0.0 && a.is_finite() && b.is_finite() {
        return Err(ElementError::FloatUnderflow.into());
    }
    Ok(result)
}

fn periodic(a: f64, f: fn(f64) -> f64) -> Result<f64, TypeError> {
    in_domain(!a.is_infinite()).map(|()| f(a))
}

fn inverse(a: f64, f: fn(f64) -> f64) -> Result<f64, TypeError> {
    in_domain(a.is_nan() || a.abs() <= 1.0).map(|()| f(a))
}

fn in_domain(holds: bool) -> Result<(), TypeError> {
    if holds {
        return Ok(());
    }
    Err(domain(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range"))
}

/// What kernels say of an argument that is refused; rows say why.
const NO_DOUBLE: ElementError = ElementError::OutOfRange("double precision");

/// A function of one double that may refuse its argument.
macro_rules! of_double {
    ($name:literal ($($op:literal)?) = $f:expr) => {
        entry!($name ($($op)?) [Float8] => Float8, |_, args| match args {
            [Value::Float8(a)] => Ok(Value::Float8($f(*a)?)),
            _ => Err(unexpected($name, args)),
        }, Some(Kernel::Columns(|args, nulls, rows, out| {
            kernel::unary(args, nulls, rows, out, |a: f64| $f(a).map_err(|_: TypeError| NO_DOUBLE))
        })))
    };
}

/// A function of two doubles that may refuse its arguments.
macro_rules! of_doubles {
    ($name:literal ($($op:literal)?) = $f:expr) => {
        entry!($name ($($op)?) [Float8, Float8] => Float8, |_, args| match args {
            [Value::Float8(a), Value::Float8(b)] => Ok(Value::Float8($f(*a, *b)?)),
            _ => Err(unexpected($name, args)),
        }, Some(Kernel::Columns(|args, nulls, rows, out| {
            kernel::binary(args, nulls, rows, out, |a: f64, b: f64| $f(a, b).map_err(|_: TypeError| NO_DOUBLE))
        })))
    };
}

static MATHEMATICS: &[BuiltinFunction] = &[
    elementwise!("floor"(): a Float8 f64 => Float8 f64 = floor),
    elementwise!("ceil"(): a Float8 f64 => Float8 f64 = ceil),
    elementwise!("ceiling"(): a Float8 f64 => Float8 f64 = ceil),
    elementwise!("trunc"(): a Float8 f64 => Float8 f64 = trunc),
    elementwise!("round"(): a Float8 f64 => Float8 f64 = round),
    elementwise!("sign"(): a Float8 f64 => Float8 f64 = sign),
    elementwise!("degrees"(): a Float8 f64 => Float8 f64 = degrees),
    elementwise!("radians"(): a Float8 f64 => Float8 f64 = radians),
    elementwise!("cbrt"("||/"): a Float8 f64 => Float8 f64 = cbrt),
    elementwise!("exp"(): a Float8 f64 => Float8 f64 = exp),
    elementwise!("atan"(): a Float8 f64 => Float8 f64 = atan),
    elementwise!("atan2"(): a Float8 f64, b Float8 f64 => Float8 f64 = atan2),
    of_double!("sqrt"("|/") = square_root),
    of_double!("ln"() = |a| logarithm(a, f64::ln)),
    of_double!("log"() = |a| logarithm(a, f64::log10)),
    of_double!("log10"() = |a| logarithm(a, f64::log10)),
    of_double!("sin"() = |a| periodic(a, f64::sin)),
    of_double!("cos"() = |a| periodic(a, f64::cos)),
    of_double!("tan"() = |a| periodic(a, f64::tan)),
    of_double!("asin"() = |a| inverse(a, f64::asin)),
    of_double!("acos"() = |a| inverse(a, f64::acos)),
    of_doubles!("power"() = power),
    of_doubles!("pow"() = power),
    of_doubles!("dpow"("^") = power),
    entry!("pi" () [] => Float8, |_, _| Ok(Value::Float8(std::f64::consts::PI)), None),
];

/// The tables of the two types and of mathematics.
pub(super) static TABLES: [&[BuiltinFunction]; 4] = [float4::TABLE, float8::TABLE, MIXED, MATHEMATICS];
