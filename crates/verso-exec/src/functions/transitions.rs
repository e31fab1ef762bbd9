//! The steps and ends of PostgreSQL's aggregates, which are functions by themselves there: `int8_sum`, `float8_accum`, `float8_avg`.
//!
//! Verso's aggregates do not run them. Aggregates of users are made of them, as in `CREATE AGGREGATE … (SFUNC = float8_accum,
//! STYPE = float8[], FINALFUNC = float8_avg)`.
//!
//! Source: PostgreSQL's `float.c` and `numeric.c`; the sums of squares are those of Youngs and Cramer.

use verso_types::{Number, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

/// A sum of integers so far, where there is one, and a further number, if it is none of NULL.
fn sum(name: &str, args: &[Value]) -> Result<Value> {
    let [so_far, more] = args else { return Err(unexpected(name, args)) };
    Ok(match (so_far.as_i64(), more.as_i64()) {
        // As in PostgreSQL, which does not look at its end.
        (Some(sum), Some(more)) => Value::Int8(sum.wrapping_add(more)),
        (None, Some(more)) => Value::Int8(more),
        (_, None) => so_far.clone(),
    })
}

/// The same of `bigint`, whose sum is a numeric.
fn sum_of_bigint(args: &[Value]) -> Result<Value> {
    let [so_far, more] = args else { return Err(unexpected("int8_sum", args)) };
    let more = more.as_i64().map(|more| Number::from(verso_types::Decimal::from(more)));
    Ok(match (Number::of(so_far), more) {
        (Some(sum), Some(more)) => sum.plus(&more).value()?,
        (None, Some(more)) => more.value()?,
        (_, None) => so_far.clone(),
    })
}

/// What a state of integers has: how many there were, and their sum.
fn counted(args: &[Value]) -> Result<(i64, i64)> {
    match args.first() {
        Some(Value::Array(state)) if let [Value::Int8(count), Value::Int8(sum)] = state[..] => {
            Ok((count, sum))
        }
        _ => Err(TypeError::new("XX000", "expected 2-element int8 array").into()),
    }
}

fn state(count: i64, sum: i64) -> Value {
    Value::Array([Value::Int8(count), Value::Int8(sum)].into())
}

fn accumulated(args: &[Value], by: i64) -> Result<Value> {
    let (count, sum) = counted(args)?;
    let more = args.get(1).and_then(Value::as_i64).unwrap_or(0);
    Ok(state(count.wrapping_add(by), sum.wrapping_add(more.wrapping_mul(by))))
}

fn combined(args: &[Value]) -> Result<Value> {
    let ((count, sum), (more, of_more)) = (counted(args)?, counted(args.get(1..).unwrap_or(&[]))?);
    Ok(state(count.wrapping_add(more), sum.wrapping_add(of_more)))
}

fn average(args: &[Value]) -> Result<Value> {
    let (count, sum) = counted(args)?;
    if count == 0 {
        return Ok(Value::Null);
    }
    let number = |number: i64| Number::from(verso_types::Decimal::from(number));
    Ok(number(sum).divide(&number(count))?.value()?)
}

fn sum_of_state(args: &[Value]) -> Result<Value> {
    let (count, sum) = counted(args)?;
    Ok(if count == 0 { Value::Null } else { Value::Int8(sum) })
}

/// The numbers of a state of floats.
fn floats<const N: usize>(name: &str, state: Option<&Value>) -> Result<[f64; N]> {
    let number = |value: &Value| match value {
        Value::Float8(number) => Some(*number),
        _ => None,
    };
    let found = match state {
        Some(Value::Array(state)) if state.dimension_count() == 1 => {
            state.iter().map(number).collect::<Option<Vec<f64>>>().and_then(|found| found.try_into().ok())
        }
        _ => None,
    };
    found.ok_or_else(|| TypeError::new("XX000", format!("{name}: expected {N}-element float8 array")).into())
}

fn of_floats(numbers: &[f64]) -> Value {
    Value::Array(numbers.iter().copied().map(Value::Float8).collect())
}

/// A sum that is infinite although what was added is not.
fn checked(sum: f64, parts: &[f64]) -> Result<f64> {
    if sum.is_infinite() && parts.iter().all(|part| !part.is_infinite()) {
        return Err(TypeError::float_overflow().into());
    }
    Ok(sum)
}

/// One number more: how many, their sum, and the sum of the squares of what they differ by from their mean.
fn with_number([n, sum, squares]: [f64; 3], more: f64) -> Result<[f64; 3]> {
    let (count, new_sum) = (n + 1.0, sum + more);
    let mut new_squares = squares;
    if n > 0.0 {
        let off = more * count - new_sum;
        new_squares += off * off / (count * n);
        if new_sum.is_infinite() || new_squares.is_infinite() {
            checked(f64::INFINITY, &[sum, more])?;
            new_squares = f64::NAN;
        }
    } else if more.is_nan() || more.is_infinite() {
        new_squares = f64::NAN;
    }
    Ok([count, new_sum, new_squares])
}

fn accum(name: &str, args: &[Value]) -> Result<Value> {
    let more = args.get(1).and_then(Value::as_f64).ok_or_else(|| unexpected(name, args))?;
    Ok(of_floats(&with_number(floats(name, args.first())?, more)?))
}

/// Two states of the same numbers' halves.
fn both([n, sum, squares]: [f64; 3], [m, other_sum, other_squares]: [f64; 3]) -> Result<[f64; 3]> {
    if n == 0.0 {
        return Ok([m, other_sum, other_squares]);
    }
    if m == 0.0 {
        return Ok([n, sum, squares]);
    }
    let count = n + m;
    let off = sum / n - other_sum / m;
    let all = checked(sum + other_sum, &[sum, other_sum])?;
    let apart = checked(squares + other_squares + n * m * off * off / count, &[squares, other_squares])?;
    Ok([count, all, apart])
}

fn combine(args: &[Value]) -> Result<Value> {
    let state = |at: usize| floats("float8_combine", args.get(at));
    Ok(of_floats(&both(state(0)?, state(1)?)?))
}

/// What three numbers say: the mean, the variance.
fn of_one(name: &'static str, args: &[Value], least: f64, result: fn([f64; 3]) -> f64) -> Result<Value> {
    let state: [f64; 3] = floats(name, args.first())?;
    Ok(if state[0] < least { Value::Null } else { Value::Float8(result(state)) })
}

/// One pair more: how many, sums and squares of X and Y, and the products of what both differ by from their means.
fn with_pair(args: &[Value]) -> Result<Value> {
    let name = "float8_regr_accum";
    let [_, y, x] = args else { return Err(unexpected(name, args)) };
    let (Some(y), Some(x)) = (y.as_f64(), x.as_f64()) else { return Err(unexpected(name, args)) };
    let [n, sx, sxx, sy, syy, sxy] = floats(name, args.first())?;
    let (count, all_x, all_y) = (n + 1.0, sx + x, sy + y);
    let (mut xx, mut yy, mut xy) = (sxx, syy, sxy);
    if n > 0.0 {
        let (off_x, off_y) = (x * count - all_x, y * count - all_y);
        let scale = 1.0 / (count * n);
        xx += off_x * off_x * scale;
        yy += off_y * off_y * scale;
        xy += off_x * off_y * scale;
        if [all_x, xx, all_y, yy, xy].iter().any(|sum| sum.is_infinite()) {
            if all_x.is_infinite() || xx.is_infinite() {
                checked(f64::INFINITY, &[sx, x])?;
                xx = if xx.is_infinite() { f64::NAN } else { xx };
            }
            if all_y.is_infinite() || yy.is_infinite() {
                checked(f64::INFINITY, &[sy, y])?;
                yy = if yy.is_infinite() { f64::NAN } else { yy };
            }
            if xy.is_infinite() {
                checked(f64::INFINITY, &[sx, x, sy, y])?;
                xy = f64::NAN;
            }
        }
    } else {
        let is_none = |number: f64| number.is_nan() || number.is_infinite();
        if is_none(x) {
            (xx, xy) = (f64::NAN, f64::NAN);
        }
        if is_none(y) {
            (yy, xy) = (f64::NAN, f64::NAN);
        }
    }
    Ok(of_floats(&[count, all_x, xx, all_y, yy, xy]))
}

fn regr_combine(args: &[Value]) -> Result<Value> {
    let state = |at: usize| floats::<6>("float8_regr_combine", args.get(at));
    let ([n, sx, sxx, sy, syy, sxy], [m, tx, txx, ty, tyy, txy]) = (state(0)?, state(1)?);
    let ([count, x, xx], [_, y, yy]) = (both([n, sx, sxx], [m, tx, txx])?, both([n, sy, syy], [m, ty, tyy])?);
    let xy = match () {
        () if n == 0.0 => txy,
        () if m == 0.0 => sxy,
        () => checked(sxy + txy + n * m * (sx / n - tx / m) * (sy / n - ty / m) / count, &[sxy, txy])?,
    };
    Ok(of_floats(&[count, x, xx, y, yy, xy]))
}

/// What pairs of numbers say; none of too few of them, or where nothing differs.
fn of_pairs(
    name: &'static str,
    args: &[Value],
    least: f64,
    result: fn([f64; 6]) -> Option<f64>,
) -> Result<Value> {
    let state: [f64; 6] = floats(name, args.first())?;
    Ok(match result(state).filter(|_| state[0] >= least) {
        Some(result) => Value::Float8(result),
        None => Value::Null,
    })
}

fn is_of_two(args: &[Value], with: fn(bool, bool) -> bool) -> Result<Value> {
    match args {
        [Value::Bool(a), Value::Bool(b)] => Ok(Value::Bool(with(*a, *b))),
        _ => Err(unexpected("a function of two truth values", args)),
    }
}

const FLOATS: ArgType = ArgType::ArrayOf(SqlType::Float8);
const COUNTED: ArgType = ArgType::ArrayOf(SqlType::Int8);
const DOUBLE: ArgType = ArgType::Exact(SqlType::Float8);

/// A function, strict unless it says otherwise.
macro_rules! step {
    ($name:literal [$($arg:expr),*] => $result:expr, strict $strict:literal, $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: $result,
            strict: $strict,
            volatility: Volatility::Immutable,
            body: Body::Scalar($body),
            kernel: None,
        }
    };
    ($name:literal [$($arg:expr),*] => $result:expr, $body:expr) => {
        step!($name [$($arg),*] => $result, strict true, $body)
    };
}

macro_rules! ends {
    ($($name:literal $of:ident $least:literal $result:expr;)*) => {
        &[$(step!($name [FLOATS] => ResultType::Fixed(SqlType::Float8), |_, args| $of($name, args, $least, $result)),)*]
    };
}

static INTEGERS: &[BuiltinFunction] = &[
    step!("int2_sum" [ArgType::Exact(SqlType::Int8), ArgType::Exact(SqlType::Int2)] => ResultType::Fixed(SqlType::Int8),
        strict false, |_, args| sum("int2_sum", args)),
    step!("int4_sum" [ArgType::Exact(SqlType::Int8), ArgType::Exact(SqlType::Int4)] => ResultType::Fixed(SqlType::Int8),
        strict false, |_, args| sum("int4_sum", args)),
    step!("int8_sum" [ArgType::Exact(SqlType::Numeric(None)), ArgType::Exact(SqlType::Int8)]
        => ResultType::Fixed(SqlType::Numeric(None)), strict false, |_, args| sum_of_bigint(args)),
    step!("int2_avg_accum" [COUNTED, ArgType::Exact(SqlType::Int2)] => ResultType::FixedArray(SqlType::Int8),
        |_, args| accumulated(args, 1)),
    step!("int4_avg_accum" [COUNTED, ArgType::Exact(SqlType::Int4)] => ResultType::FixedArray(SqlType::Int8),
        |_, args| accumulated(args, 1)),
    step!("int2_avg_accum_inv" [COUNTED, ArgType::Exact(SqlType::Int2)] => ResultType::FixedArray(SqlType::Int8),
        |_, args| accumulated(args, -1)),
    step!("int4_avg_accum_inv" [COUNTED, ArgType::Exact(SqlType::Int4)] => ResultType::FixedArray(SqlType::Int8),
        |_, args| accumulated(args, -1)),
    step!("int4_avg_combine" [COUNTED, COUNTED] => ResultType::FixedArray(SqlType::Int8), |_, args| combined(args)),
    step!("int8_avg" [COUNTED] => ResultType::Fixed(SqlType::Numeric(None)), |_, args| average(args)),
    step!("int2int4_sum" [COUNTED] => ResultType::Fixed(SqlType::Int8), |_, args| sum_of_state(args)),
    entry!("numeric_inc" () [Numeric] => Numeric, |_, args| match args.first().and_then(Number::of) {
        Some(number) => Ok(number.plus(&Number::from(verso_types::Decimal::from(1i64))).value()?),
        None => Err(unexpected("numeric_inc", args)),
    }, None),
    entry!("booland_statefunc" () [Bool, Bool] => Bool, |_, args| is_of_two(args, |a, b| a && b), None),
    entry!("boolor_statefunc" () [Bool, Bool] => Bool, |_, args| is_of_two(args, |a, b| a || b), None),
    step!("int8inc_any" [ArgType::Exact(SqlType::Int8), ArgType::Any] => ResultType::Fixed(SqlType::Int8),
        |_, args| stepped("int8inc_any", args, 1)),
    step!("int8dec_any" [ArgType::Exact(SqlType::Int8), ArgType::Any] => ResultType::Fixed(SqlType::Int8),
        |_, args| stepped("int8dec_any", args, -1)),
    step!("int8inc_float8_float8" [ArgType::Exact(SqlType::Int8), DOUBLE, DOUBLE] => ResultType::Fixed(SqlType::Int8),
        |_, args| stepped("int8inc_float8_float8", args, 1)),
    step!("any_value_transfn" [ArgType::AnyElement, ArgType::AnyElement] => ResultType::SameAs(0),
        |_, args| Ok(args[0].clone())),
];

fn stepped(name: &str, args: &[Value], by: i64) -> Result<Value> {
    let Some(Value::Int8(n)) = args.first() else { return Err(unexpected(name, args)) };
    Ok(Value::Int8(n.checked_add(by).ok_or_else(|| TypeError::out_of_range("bigint"))?))
}

static DOUBLES: &[BuiltinFunction] = &[
    step!("float8_accum" [FLOATS, DOUBLE] => ResultType::FixedArray(SqlType::Float8),
        |_, args| accum("float8_accum", args)),
    step!("float4_accum" [FLOATS, ArgType::Exact(SqlType::Float4)] => ResultType::FixedArray(SqlType::Float8),
        |_, args| accum("float4_accum", args)),
    step!("float8_combine" [FLOATS, FLOATS] => ResultType::FixedArray(SqlType::Float8), |_, args| combine(args)),
    step!("float8_regr_accum" [FLOATS, DOUBLE, DOUBLE] => ResultType::FixedArray(SqlType::Float8),
        |_, args| with_pair(args)),
    step!("float8_regr_combine" [FLOATS, FLOATS] => ResultType::FixedArray(SqlType::Float8),
        |_, args| regr_combine(args)),
];

static ENDS: &[BuiltinFunction] = ends! {
    "float8_avg" of_one 1.0 |[n, sum, _]| sum / n;
    "float8_var_pop" of_one 1.0 |[n, _, squares]| squares / n;
    "float8_var_samp" of_one 2.0 |[n, _, squares]| squares / (n - 1.0);
    "float8_stddev_pop" of_one 1.0 |[n, _, squares]| (squares / n).sqrt();
    "float8_stddev_samp" of_one 2.0 |[n, _, squares]| (squares / (n - 1.0)).sqrt();
    "float8_regr_sxx" of_pairs 1.0 |[_, _, xx, ..]| Some(xx);
    "float8_regr_syy" of_pairs 1.0 |[_, _, _, _, yy, _]| Some(yy);
    "float8_regr_sxy" of_pairs 1.0 |[_, _, _, _, _, xy]| Some(xy);
    "float8_regr_avgx" of_pairs 1.0 |[n, x, ..]| Some(x / n);
    "float8_regr_avgy" of_pairs 1.0 |[n, _, _, y, ..]| Some(y / n);
    "float8_covar_pop" of_pairs 1.0 |[n, _, _, _, _, xy]| Some(xy / n);
    "float8_covar_samp" of_pairs 2.0 |[n, _, _, _, _, xy]| Some(xy / (n - 1.0));
    "float8_corr" of_pairs 1.0 |[_, _, xx, _, yy, xy]| {
        (xx != 0.0 && yy != 0.0).then(|| xy / (xx * yy).sqrt())
    };
    "float8_regr_r2" of_pairs 1.0 |[_, _, xx, _, yy, xy]| match () {
        () if xx == 0.0 => None,
        () if yy == 0.0 => Some(1.0),
        () => Some(xy * xy / (xx * yy)),
    };
    "float8_regr_slope" of_pairs 1.0 |[_, _, xx, _, _, xy]| (xx != 0.0).then(|| xy / xx);
    "float8_regr_intercept" of_pairs 1.0 |[n, x, xx, y, _, xy]| (xx != 0.0).then(|| (y - x * xy / xx) / n);
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 3] = [INTEGERS, DOUBLES, ENDS];
