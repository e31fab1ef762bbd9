//! Arithmetic of numeric, with PostgreSQL's result scales: of decimals with few digits quickly, of all others as
//! [`Number`]s.

use verso_types::decimal::DecimalError;
use verso_types::number::factorial;
use verso_types::{Decimal, Number, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::kernel::{Kernel, NumericOp};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// A function of one number: quickly where digits are few, and of any number else.
fn one(
    name: &str,
    args: &[Value],
    quick: fn(&Decimal) -> Result<Decimal, DecimalError>,
    any: fn(&Number) -> Result<Number, TypeError>,
) -> ExecResult {
    if let [Value::Numeric(a)] = args {
        match quick(a) {
            Ok(value) => return Ok(Value::Numeric(value)),
            Err(DecimalError::Overflow) => {}
            Err(error) => return Err(TypeError::from(error).into()),
        }
    }
    match args.first().and_then(Number::of) {
        Some(a) => Ok(any(&a)?.value()?),
        None => Err(unexpected(name, args)),
    }
}

/// The same of two numbers.
fn two(
    name: &str,
    args: &[Value],
    quick: fn(&Decimal, &Decimal) -> Result<Decimal, DecimalError>,
    any: fn(&Number, &Number) -> Result<Number, TypeError>,
) -> ExecResult {
    if let [Value::Numeric(a), Value::Numeric(b)] = args {
        match quick(a, b) {
            Ok(value) => return Ok(Value::Numeric(value)),
            Err(DecimalError::Overflow) => {}
            Err(error) => return Err(TypeError::from(error).into()),
        }
    }
    match (args.first().and_then(Number::of), args.get(1).and_then(Number::of)) {
        (Some(a), Some(b)) => Ok(any(&a, &b)?.value()?),
        _ => Err(unexpected(name, args)),
    }
}

macro_rules! of_one {
    ($name:literal ($($op:literal)?) = $quick:expr, $any:expr, $kernel:expr) => {
        entry!($name ($($op)?) [Numeric] => Numeric, |_, args| one($name, args, $quick, $any), $kernel)
    };
}

macro_rules! of_two {
    ($name:literal ($($op:literal)?) = $quick:expr, $any:expr, $kernel:expr) => {
        entry!($name ($($op)?) [Numeric, Numeric] => Numeric, |_, args| two($name, args, $quick, $any), $kernel)
    };
}

macro_rules! to_places {
    ($name:literal = $quick:expr, $any:expr) => {
        entry!($name () [Numeric, Int4] => Numeric, |_, args| {
            if let [Value::Numeric(a), Value::Int4(places)] = args
                && let Ok(value) = $quick(a, *places)
            {
                return Ok(Value::Numeric(value));
            }
            match (args.first().and_then(Number::of), args.get(1)) {
                (Some(a), Some(Value::Int4(places))) => Ok($any(&a, *places).value()?),
                _ => Err(unexpected($name, args)),
            }
        }, None)
    };
}

type ExecResult = crate::error::Result<Value>;

/// Left to the form for any number.
fn slowly(_: &Decimal) -> Result<Decimal, DecimalError> {
    Err(DecimalError::Overflow)
}

/// The same of two.
fn slowly_both(_: &Decimal, _: &Decimal) -> Result<Decimal, DecimalError> {
    Err(DecimalError::Overflow)
}

fn common_logarithm(a: &Number) -> Result<Number, TypeError> {
    Number::log(&Number::from(Decimal::from(10)), a)
}

const fn kernel(op: NumericOp) -> Option<Kernel> {
    Some(Kernel::Numeric(op))
}

/// Digits that `sqrt` and `power` have at least (`NUMERIC_MIN_SIG_DIGITS`).
const MIN_DIGITS: u8 = 16;

/// Rounded half up, with at least 16 significant digits, reckoned in groups of four as PostgreSQL does.
fn square_root(a: &Decimal) -> Result<Decimal, DecimalError> {
    if a.is_negative() {
        return Err(DecimalError::Overflow); // refused there
    }
    let lead = if a.is_zero() { 0 } else { i32::from(a.digits()) - 1 - i32::from(a.scale()) };
    let before = lead.div_euclid(4) * 2 + 1;
    let scale = (i32::from(MIN_DIGITS) - before).max(a.scale().into()).max(0);
    let shift = u32::try_from(2 * scale - i32::from(a.scale())).map_err(|_| DecimalError::Overflow)?;
    let square = 10u128.checked_pow(shift).and_then(|unit| a.unscaled().unsigned_abs().checked_mul(unit));
    let square = square.ok_or(DecimalError::Overflow)?;
    let root = square.isqrt();
    let root = if square - root * root > root { root + 1 } else { root };
    let scale = u8::try_from(scale).map_err(|_| DecimalError::Overflow)?;
    Decimal::new(i128::try_from(root).map_err(|_| DecimalError::Overflow)?, scale)
}

/// In which of `count` equal buckets between two bounds a number lies: 0 before them, `count + 1` behind them.
fn bucket(value: &Number, low: &Number, high: &Number, count: i32) -> Result<i32, TypeError> {
    let invalid = |message: &str| TypeError::new("2201G", message);
    if count <= 0 {
        return Err(invalid("count must be greater than zero"));
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(invalid("operand, lower bound, and upper bound cannot be NaN"));
    }
    if matches!(low, Number::Infinity | Number::NegativeInfinity)
        || matches!(high, Number::Infinity | Number::NegativeInfinity)
    {
        return Err(invalid("lower and upper bounds must be finite"));
    }
    let (from_low, span) = match low.compare(high) {
        std::cmp::Ordering::Equal => return Err(invalid("lower bound cannot equal upper bound")),
        std::cmp::Ordering::Less => (value.minus(low), high.minus(low)),
        std::cmp::Ordering::Greater => (low.minus(value), low.minus(high)),
    };
    if from_low.is_negative() {
        return Ok(0);
    }
    if from_low.compare(&span).is_ge() {
        return count.checked_add(1).ok_or_else(|| TypeError::out_of_range("integer"));
    }
    let place = from_low.times(&Number::from(Decimal::from(i64::from(count)))).divide_truncated(&span)?;
    let place = place.to_i64().and_then(|place| i32::try_from(place + 1).ok());
    place.ok_or_else(|| TypeError::out_of_range("integer"))
}

/// As [`bucket`], of floats, as PostgreSQL computes it: the quotient first, so that it cannot overflow.
fn bucket_of_floats(value: f64, low: f64, high: f64, count: i32) -> Result<i32, TypeError> {
    let invalid = |message: &str| TypeError::new("2201G", message);
    if count <= 0 {
        return Err(invalid("count must be greater than zero"));
    }
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(invalid("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(invalid("lower and upper bounds must be finite"));
    }
    // Halves where the distance of the bounds is too large for a float; the least floats have none.
    let by = if (high - low).is_infinite() { 2.0 } else { 1.0 };
    let (value, low, high) = (value / by, low / by, high / by);
    let (from_low, is_behind, span) = match low.partial_cmp(&high) {
        Some(std::cmp::Ordering::Less) => (value - low, value >= high, high - low),
        Some(std::cmp::Ordering::Greater) => (low - value, value <= high, low - high),
        _ => return Err(invalid("lower bound cannot equal upper bound")),
    };
    if is_behind {
        return count.checked_add(1).ok_or_else(|| TypeError::out_of_range("integer"));
    }
    if from_low < 0.0 {
        return Ok(0);
    }
    // Rounding must not lead behind the last bucket.
    let place = (f64::from(count) * (from_low / span)) as i32;
    Ok(place.min(count - 1) + 1)
}

/// A whole number that a numeric tells of itself; NULL of what is not finite.
fn told(args: &[Value], of: impl Fn(&Number) -> usize) -> ExecResult {
    match args.first().and_then(Number::of) {
        Some(number @ Number::Finite { .. }) => Ok(Value::Int4(of(&number) as i32)),
        _ => Ok(Value::Null),
    }
}

static NUMERICS: &[BuiltinFunction] = &[
    of_two!("gcd"() = slowly_both, |a, b| Ok(a.common_divisor(b)), None),
    of_two!("lcm"() = slowly_both, |a, b| Ok(a.common_multiple(b)), None),
    entry!("factorial" () [Int8] => Numeric, |_, args| match args {
        [Value::Int8(n)] => Ok(factorial(*n)?.value()?),
        _ => Err(unexpected("factorial", args)),
    }, None),
    entry!("width_bucket" () [Numeric, Numeric, Numeric, Int4] => Int4, |_, args| {
        let number = |at: usize| args.get(at).and_then(Number::of);
        match (number(0), number(1), number(2), args.get(3)) {
            (Some(a), Some(low), Some(high), Some(Value::Int4(count))) => {
                Ok(Value::Int4(bucket(&a, &low, &high, *count)?))
            }
            _ => Err(unexpected("width_bucket", args)),
        }
    }, None),
    entry!("width_bucket" () [Float8, Float8, Float8, Int4] => Int4, |_, args| match args {
        [Value::Float8(a), Value::Float8(low), Value::Float8(high), Value::Int4(count)] => {
            Ok(Value::Int4(bucket_of_floats(*a, *low, *high, *count)?))
        }
        _ => Err(unexpected("width_bucket", args)),
    }, None),
    entry!("min_scale" () [Numeric] => Int4, |_, args| told(args, |a| a.normalize().scale()), None),
    of_two!("numeric_add"("+") = Decimal::checked_add, |a, b| Ok(a.plus(b)), kernel(NumericOp::Add)),
    of_two!("numeric_sub"("-") = Decimal::checked_sub, |a, b| Ok(a.minus(b)), kernel(NumericOp::Subtract)),
    of_two!("numeric_mul"("*") = Decimal::checked_mul, |a, b| Ok(a.times(b)), kernel(NumericOp::Multiply)),
    of_two!("numeric_div"("/") = Decimal::checked_div, Number::divide, kernel(NumericOp::Divide)),
    of_two!("numeric_mod"("%") = Decimal::checked_rem, Number::rest, None),
    of_two!("mod"() = Decimal::checked_rem, Number::rest, None),
    of_two!("div"() = Decimal::checked_div_trunc, Number::divide_truncated, None),
    of_two!("numeric_power"("^") = slowly_both, Number::power, None),
    of_two!("power"() = slowly_both, Number::power, None),
    of_two!("pow"() = slowly_both, Number::power, None),
    of_two!("log"() = slowly_both, Number::log, None),
    of_one!("sqrt"() = square_root, Number::sqrt, None),
    of_one!("exp"() = slowly, Number::exp, None),
    of_one!("ln"() = slowly, Number::ln, None),
    of_one!("log"() = slowly, common_logarithm, None),
    of_one!("log10"() = slowly, common_logarithm, None),
    of_one!("numeric_uminus"("-") = |a| Ok(a.negate()), |a| Ok(a.negate()), kernel(NumericOp::Negate)),
    of_one!("numeric_uplus"("+") = |a| Ok(*a), |a| Ok(a.clone()), None),
    of_one!("abs"("@") = |a| Ok(a.abs()), |a| Ok(a.abs()), kernel(NumericOp::Absolute)),
    of_one!("sign"() = |a| Ok(a.signum()), |a| Ok(a.signum()), None),
    of_one!("ceil"() = |a| Ok(a.ceil()), |a| Ok(a.ceil()), None),
    of_one!("ceiling"() = |a| Ok(a.ceil()), |a| Ok(a.ceil()), None),
    of_one!("floor"() = |a| Ok(a.floor()), |a| Ok(a.floor()), None),
    of_one!("round"() = |a| a.round(0), |a| Ok(a.round(0)), None),
    of_one!("trunc"() = |a| a.trunc(0), |a| Ok(a.trunc(0)), None),
    of_one!("trim_scale"() = |a| Ok(a.normalize()), |a| Ok(a.normalize()), None),
    to_places!("round" = Decimal::round, Number::round),
    to_places!("trunc" = Decimal::trunc, Number::trunc),
    entry!("scale" () [Numeric] => Int4, |_, args| told(args, Number::scale), None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [NUMERICS];
