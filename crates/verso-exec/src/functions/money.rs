//! `money`: sums, multiples, ratios.

use verso_types::opaque::money::Money;
use verso_types::{Opaque, SqlType, TypeError, Value};

use super::define::{unexpected, valued};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

fn amount(hundredths: Option<i64>) -> Result<Value> {
    Ok(Money(hundredths.ok_or_else(|| TypeError::out_of_range("money"))?).into_value())
}

fn of(value: &Opaque) -> i64 {
    Money::of(value).0
}

/// The sum of two amounts.
///
/// # Errors
/// 22003.
pub(crate) fn sum(a: &Value, b: &Value) -> Result<Value> {
    match (a, b) {
        (Value::Opaque(a), Value::Opaque(b)) => amount(of(a).checked_add(of(b))),
        _ => Err(unexpected("sum", &[a.clone(), b.clone()])),
    }
}

fn by_float(a: &Opaque, factor: f64) -> Result<Value> {
    Ok(Money::of_float(of(a) as f64 * factor)?.into_value())
}

fn over_float(a: &Opaque, divisor: f64) -> Result<Value> {
    if divisor == 0.0 {
        return Err(TypeError::division_by_zero().into());
    }
    Ok(Money::of_float(of(a) as f64 / divisor)?.into_value())
}

/// Whole hundredths, towards zero.
fn over(a: &Opaque, divisor: i64) -> Result<Value> {
    match divisor {
        0 => Err(TypeError::division_by_zero().into()),
        _ => amount(of(a).checked_div(divisor)),
    }
}

fn ratio(a: &Opaque, b: &Opaque) -> Result<Value> {
    match of(b) {
        0 => Err(TypeError::division_by_zero().into()),
        divisor => Ok(Value::Float8(of(a) as f64 / divisor as f64)),
    }
}

static MONEY: &[BuiltinFunction] = &[
    valued!("cash_pl" ("+"): a Money, b Money => Money = amount(of(a).checked_add(of(b)))),
    valued!("cash_mi" ("-"): a Money, b Money => Money = amount(of(a).checked_sub(of(b)))),
    valued!("cash_mul_flt8" ("*"): a Money, b Float8 => Money = by_float(a, *b)),
    valued!("cash_mul_flt4" ("*"): a Money, b Float4 => Money = by_float(a, f64::from(*b))),
    valued!("cash_mul_int8" ("*"): a Money, b Int8 => Money = amount(of(a).checked_mul(*b))),
    valued!("cash_mul_int4" ("*"): a Money, b Int4 => Money = amount(of(a).checked_mul(i64::from(*b)))),
    valued!("cash_mul_int2" ("*"): a Money, b Int2 => Money = amount(of(a).checked_mul(i64::from(*b)))),
    valued!("flt8_mul_cash" ("*"): a Float8, b Money => Money = by_float(b, *a)),
    valued!("flt4_mul_cash" ("*"): a Float4, b Money => Money = by_float(b, f64::from(*a))),
    valued!("int8_mul_cash" ("*"): a Int8, b Money => Money = amount(of(b).checked_mul(*a))),
    valued!("int4_mul_cash" ("*"): a Int4, b Money => Money = amount(of(b).checked_mul(i64::from(*a)))),
    valued!("int2_mul_cash" ("*"): a Int2, b Money => Money = amount(of(b).checked_mul(i64::from(*a)))),
    valued!("cash_div_flt8" ("/"): a Money, b Float8 => Money = over_float(a, *b)),
    valued!("cash_div_flt4" ("/"): a Money, b Float4 => Money = over_float(a, f64::from(*b))),
    valued!("cash_div_int8" ("/"): a Money, b Int8 => Money = over(a, *b)),
    valued!("cash_div_int4" ("/"): a Money, b Int4 => Money = over(a, i64::from(*b))),
    valued!("cash_div_int2" ("/"): a Money, b Int2 => Money = over(a, i64::from(*b))),
    valued!("cash_div_cash" ("/"): a Money, b Money => Float8 = ratio(a, b)),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [MONEY];
