//! Arithmetic of numeric: exact, with PostgreSQL's result scales. `sqrt` and whole powers
//! have those of PostgreSQL 15, or are refused; `exp`, `ln` and `log` are those of double precision.

use verso_types::error::sqlstate;
use verso_types::{Decimal, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::floats::{INVALID_ARGUMENT_FOR_POWER, domain};
use super::kernel::{Kernel, NumericOp};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

macro_rules! of_one {
    ($name:literal ($($op:literal)?) = $f:expr, $kernel:expr) => {
        entry!($name ($($op)?) [Numeric] => Numeric, |_, args| match args {
            [Value::Numeric(a)] => Ok(Value::Numeric($f(a).map_err(TypeError::from)?)),
            _ => Err(unexpected($name, args)),
        }, $kernel)
    };
}

macro_rules! of_two {
    ($name:literal ($($op:literal)?) = $f:expr, $kernel:expr) => {
        entry!($name ($($op)?) [Numeric, Numeric] => Numeric, |_, args| match args {
            [Value::Numeric(a), Value::Numeric(b)] => Ok(Value::Numeric($f(a, b).map_err(TypeError::from)?)),
            _ => Err(unexpected($name, args)),
        }, $kernel)
    };
}

macro_rules! to_places {
    ($name:literal = $f:expr) => {
        entry!($name () [Numeric, Int4] => Numeric, |_, args| match args {
            [Value::Numeric(a), Value::Int4(places)] => {
                Ok(Value::Numeric($f(a, *places).map_err(TypeError::from)?))
            }
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

type Infallible = Result<Decimal, TypeError>;

fn fine(value: Decimal) -> Infallible {
    Ok(value)
}

const fn kernel(op: NumericOp) -> Option<Kernel> {
    Some(Kernel::Numeric(op))
}

/// Digits that `sqrt` and `power` have at least (`NUMERIC_MIN_SIG_DIGITS`).
const MIN_DIGITS: u8 = 16;

#[cold]
fn too_wide(what: &str) -> TypeError {
    let message = format!("{what} is not supported; cast to double precision");
    TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, message)
}

/// Rounded half up, with at least 16 significant digits, reckoned in groups of four as PostgreSQL does.
fn square_root(a: &Decimal) -> Result<Decimal, TypeError> {
    if a.is_negative() {
        return Err(domain(INVALID_ARGUMENT_FOR_POWER, "cannot take square root of a negative number"));
    }
    let refused = || too_wide("sqrt of a numeric of so many digits");
    let lead = if a.is_zero() { 0 } else { i32::from(a.digits()) - 1 - i32::from(a.scale()) };
    let before = lead.div_euclid(4) * 2 + 1;
    let scale = (i32::from(MIN_DIGITS) - before).max(a.scale().into()).max(0);
    let shift = u32::try_from(2 * scale - i32::from(a.scale())).map_err(|_| refused())?;
    let square = 10u128.checked_pow(shift).and_then(|unit| a.unscaled().unsigned_abs().checked_mul(unit));
    let square = square.ok_or_else(refused)?;
    let root = square.isqrt();
    let root = if square - root * root > root { root + 1 } else { root };
    let scale = u8::try_from(scale).map_err(|_| refused())?;
    Decimal::new(i128::try_from(root).map_err(|_| refused())?, scale).map_err(|_| refused())
}

/// Whole exponents only, and only where the power itself has at most 38 digits.
fn power(a: &Decimal, b: &Decimal) -> Result<Decimal, TypeError> {
    if a.is_zero() && b.is_negative() {
        return Err(domain(INVALID_ARGUMENT_FOR_POWER, "zero raised to a negative power is undefined"));
    }
    let exponent = b.normalize();
    if exponent.scale() > 0 {
        return Err(too_wide("a numeric raised to a power that is no integer"));
    }
    let refused = || too_wide("a power of numeric with so many digits");
    let scale = a.scale().max(MIN_DIGITS);
    let base = a.normalize();
    let times = u32::try_from(exponent.unscaled().unsigned_abs()).map_err(|_| refused())?;
    let digits = base.unscaled().checked_pow(times).ok_or_else(refused)?;
    let places = u32::from(base.scale()).checked_mul(times).and_then(|places| u8::try_from(places).ok());
    let exact = Decimal::new(digits, places.ok_or_else(refused)?).map_err(|_| refused())?;
    if !b.is_negative() {
        return exact.rescale(scale).map_err(|_| refused());
    }
    let unit = 10u128.checked_pow(u32::from(scale) + u32::from(exact.scale())).ok_or_else(refused)?;
    let divisor = exact.unscaled().unsigned_abs();
    let (quotient, rest) = (unit / divisor, unit % divisor);
    let quotient = i128::try_from(quotient + u128::from(rest >= divisor - rest)).map_err(|_| refused())?;
    let signed = if exact.is_negative() { -quotient } else { quotient };
    Decimal::new(signed, scale).map_err(|_| refused())
}

/// Euclid's, over numbers of one scale.
fn common_divisor(a: &Decimal, b: &Decimal) -> Result<Decimal, TypeError> {
    let scale = a.scale().max(b.scale());
    let (mut a, mut b) = (a.abs(), b.abs());
    while !b.is_zero() {
        (a, b) = (b, a.checked_rem(&b).map_err(TypeError::from)?);
    }
    a.rescale(scale).map_err(TypeError::from)
}

fn common_multiple(a: &Decimal, b: &Decimal) -> Result<Decimal, TypeError> {
    let scale = a.scale().max(b.scale());
    if a.is_zero() || b.is_zero() {
        return Decimal::from(0).rescale(scale).map_err(TypeError::from);
    }
    let parts = a.checked_div_trunc(&common_divisor(a, b)?).map_err(TypeError::from)?;
    parts.checked_mul(b).and_then(|product| product.abs().rescale(scale)).map_err(TypeError::from)
}

/// As a numeric, which ends it at 33!.
fn factorial(n: i64) -> Result<Decimal, TypeError> {
    if n < 0 {
        return Err(TypeError::new("22003", "factorial of a negative number is undefined"));
    }
    let mut product = Decimal::ONE;
    for factor in 2..=n {
        product = product.checked_mul(&Decimal::from(factor)).map_err(TypeError::from)?;
    }
    Ok(product)
}

/// In which of `count` equal buckets between two bounds a number lies: 0 before them, `count + 1` behind them.
fn bucket(value: &Decimal, low: &Decimal, high: &Decimal, count: i32) -> Result<i32, TypeError> {
    let invalid = |message: &str| TypeError::new("2201G", message);
    if count <= 0 {
        return Err(invalid("count must be greater than zero"));
    }
    let (from_low, span) = match low.compare(high) {
        std::cmp::Ordering::Equal => return Err(invalid("lower bound cannot equal upper bound")),
        std::cmp::Ordering::Less => (value.checked_sub(low), high.checked_sub(low)),
        std::cmp::Ordering::Greater => (low.checked_sub(value), low.checked_sub(high)),
    };
    let (from_low, span) = (from_low.map_err(TypeError::from)?, span.map_err(TypeError::from)?);
    let beyond = || count.checked_add(1).ok_or_else(|| TypeError::out_of_range("integer"));
    if from_low.is_negative() {
        return Ok(0);
    }
    if from_low.compare(&span).is_ge() {
        return beyond();
    }
    let place =
        from_low.checked_mul(&Decimal::from(i64::from(count))).and_then(|p| p.checked_div_trunc(&span));
    let place = place.map_err(TypeError::from)?.to_i64().and_then(|place| i32::try_from(place + 1).ok());
    place.ok_or_else(|| TypeError::out_of_range("integer"))
}

static NUMERICS: &[BuiltinFunction] = &[
    of_two!("gcd"() = common_divisor, None),
    of_two!("lcm"() = common_multiple, None),
    entry!("factorial" () [Int8] => Numeric, |_, args| match args {
        [Value::Int8(n)] => Ok(Value::Numeric(factorial(*n)?)),
        _ => Err(unexpected("factorial", args)),
    }, None),
    entry!("width_bucket" () [Numeric, Numeric, Numeric, Int4] => Int4, |_, args| match args {
        [Value::Numeric(a), Value::Numeric(low), Value::Numeric(high), Value::Int4(count)] => {
            Ok(Value::Int4(bucket(a, low, high, *count)?))
        }
        _ => Err(unexpected("width_bucket", args)),
    }, None),
    entry!("min_scale" () [Numeric] => Int4, |_, args| match args {
        [Value::Numeric(a)] => Ok(Value::Int4(a.normalize().scale().into())),
        _ => Err(unexpected("min_scale", args)),
    }, None),
    of_two!("numeric_add"("+") = Decimal::checked_add, kernel(NumericOp::Add)),
    of_two!("numeric_sub"("-") = Decimal::checked_sub, kernel(NumericOp::Subtract)),
    of_two!("numeric_mul"("*") = Decimal::checked_mul, kernel(NumericOp::Multiply)),
    of_two!("numeric_div"("/") = Decimal::checked_div, None),
    of_two!("numeric_mod"("%") = Decimal::checked_rem, None),
    of_two!("mod"() = Decimal::checked_rem, None),
    of_two!("div"() = Decimal::checked_div_trunc, None),
    of_two!("numeric_power"("^") = power, None),
    of_two!("power"() = power, None),
    of_two!("pow"() = power, None),
    of_one!("sqrt"() = square_root, None),
    of_one!("numeric_uminus"("-") = |a: &Decimal| fine(a.negate()), kernel(NumericOp::Negate)),
    of_one!("numeric_uplus"("+") = |a: &Decimal| fine(*a), None),
    of_one!("abs"("@") = |a: &Decimal| fine(a.abs()), kernel(NumericOp::Absolute)),
    of_one!("sign"() = |a: &Decimal| fine(a.signum()), None),
    of_one!("ceil"() = |a: &Decimal| fine(a.ceil()), None),
    of_one!("ceiling"() = |a: &Decimal| fine(a.ceil()), None),
    of_one!("floor"() = |a: &Decimal| fine(a.floor()), None),
    of_one!("round"() = |a: &Decimal| a.round(0), None),
    of_one!("trunc"() = |a: &Decimal| a.trunc(0), None),
    of_one!("trim_scale"() = |a: &Decimal| fine(a.normalize()), None),
    to_places!("round" = Decimal::round),
    to_places!("trunc" = Decimal::trunc),
    entry!("scale" () [Numeric] => Int4, |_, args| match args {
        [Value::Numeric(a)] => Ok(Value::Int4(a.scale().into())),
        _ => Err(unexpected("scale", args)),
    }, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [NUMERICS];
