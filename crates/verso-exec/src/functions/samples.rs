//! Whether a row is in a sample of its table (TABLESAMPLE); as operators whose names nobody can write.

use verso_types::{SqlType, TypeError, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

/// Whether a unit, a row or a page, is in the sample of so many percent.
fn chosen(unit: u64, percent: &Value, seed: &Value) -> Result<Value> {
    let percent = match percent {
        Value::Float8(percent) if (0.0..=100.0).contains(percent) => *percent,
        Value::Float8(_) => {
            return Err(TypeError::new("2202H", "sample percentage must be between 0 and 100").into());
        }
        _ => return Err(TypeError::new("2202H", "TABLESAMPLE parameter cannot be null").into()),
    };
    let Value::Float8(seed) = seed else {
        return Err(TypeError::new("2202G", "TABLESAMPLE REPEATABLE parameter cannot be null").into());
    };
    let mixed = mix(mix(seed.to_bits()).wrapping_add(unit));
    // The upper 53 bits as a fraction.
    Ok(Value::Bool(((mixed >> 11) as f64) < percent / 100.0 * (1u64 << 53) as f64))
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// An entry; `$unit` makes a number of a record's place.
macro_rules! sample {
    ($name:literal, $unit:expr) => {
        BuiltinFunction {
            name: "",
            operator: Some($name),
            args: &[
                ArgType::Exact(SqlType::Int8),
                ArgType::Exact(SqlType::Float8),
                ArgType::Exact(SqlType::Float8),
            ],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bool),
            strict: false,
            // Judged where the places of rows are known: no rewrite moves it.
            volatility: Volatility::Volatile,
            body: Body::Scalar(|_, args| match args {
                [Value::Int8(place), percent, seed] => chosen($unit(*place as u64), percent, seed),
                _ => Err(unexpected("TABLESAMPLE", args)),
            }),
            kernel: None,
        }
    };
}

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] =
    [&[sample!("sample rows", |place: u64| place), sample!("sample pages", |place: u64| place >> 16)]];
