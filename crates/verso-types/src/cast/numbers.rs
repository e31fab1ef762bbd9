//! Casts of numbers to numbers.

use std::sync::Arc;

use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};
use crate::number::Number;
use crate::sqltype::{LongSpec, SqlType};
use crate::system_type::SystemType;
use crate::value::Value;

/// Integers to numbers, oid and boolean; `None` where there is no cast.
pub(super) fn cast_integer(v: i64, to: &SqlType) -> Option<Result<Value, TypeError>> {
    Some(match to {
        SqlType::Int2 => v.try_into().map(Value::Int2).map_err(|_| TypeError::out_of_range("smallint")),
        SqlType::Int4 => v.try_into().map(Value::Int4).map_err(|_| TypeError::out_of_range("integer")),
        SqlType::Int8 => Ok(Value::Int8(v)),
        // a negative integer is the oid of the same 32 bits
        SqlType::System(SystemType::VectorInt2) => cast_integer(v, &SqlType::Int2)?,
        SqlType::System(system) if !system.is_four_bytes() => Ok(Value::Int8(v)),
        SqlType::Oid | SqlType::System(_) => match v {
            -0x8000_0000..0 => Ok(Value::Int8(v + (1 << 32))),
            0..=0xffff_ffff => Ok(Value::Int8(v)),
            _ => Err(TypeError::out_of_range("OID")),
        },
        SqlType::Float4 => Ok(Value::Float4(v as f32)),
        SqlType::Float8 => Ok(Value::Float8(v as f64)),
        SqlType::Numeric(None) => Ok(Value::Numeric(v.into())),
        SqlType::LongNumeric(spec) => constrain_long(Value::Numeric(v.into()), *spec),
        SqlType::Numeric(Some(spec)) => Decimal::from(v).constrain(*spec).map(Value::Numeric),
        SqlType::Bool => Ok(Value::Bool(v != 0)),
        _ => return None,
    })
}

/// Numeric to numbers; integers round half away from zero.
pub(super) fn cast_numeric(v: Decimal, to: &SqlType) -> Option<Result<Value, TypeError>> {
    Some(match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => match v.to_i64() {
            Some(integer) => cast_integer(integer, to)?,
            None => Err(TypeError::out_of_range(to.base_name())),
        },
        SqlType::Float4 => Ok(Value::Float4(v.to_string().parse().expect("a decimal is a float literal"))),
        SqlType::Float8 => Ok(Value::Float8(v.to_f64())),
        SqlType::Numeric(None) => Ok(Value::Numeric(v)),
        SqlType::LongNumeric(spec) => constrain_long(Value::Numeric(v), *spec),
        SqlType::Numeric(Some(spec)) => v.constrain(*spec).map(Value::Numeric),
        _ => return None,
    })
}

/// A numeric of many digits to numbers.
pub(super) fn cast_big(v: &Arc<Number>, to: &SqlType) -> Option<Result<Value, TypeError>> {
    let special = |name: &str| match **v {
        Number::Finite { .. } => None,
        Number::NaN => Some(format!("cannot convert NaN to {name}")),
        _ => Some(format!("cannot convert infinity to {name}")),
    };
    let double = |single: bool| {
        let number = match **v {
            // Rounded once: not to a double first.
            Number::Finite { .. } if single => v.to_string().parse::<f32>().map_or(f64::NAN, f64::from),
            _ => v.to_f64(),
        };
        match **v {
            Number::Finite { .. } if number.is_infinite() || number == 0.0 && !v.is_zero() => {
                let name = if single { "real" } else { "double precision" };
                let text = format!("\"{v}\" is out of range for type {name}");
                Err(TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, text))
            }
            _ => Ok(number),
        }
    };
    Some(match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            if let Some(text) = special(to.base_name()) {
                return Some(Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)));
            }
            match v.to_i64() {
                Some(integer) => cast_integer(integer, to)?,
                None => Err(TypeError::out_of_range(to.base_name())),
            }
        }
        SqlType::Float4 => double(true).map(|number| Value::Float4(number as f32)),
        SqlType::Float8 => double(false).map(Value::Float8),
        SqlType::Numeric(None) => Ok(Value::Big(Arc::clone(v))),
        SqlType::LongNumeric(spec) => v.constrain_long(*spec),
        SqlType::Numeric(Some(spec)) => v.constrain(*spec).map(Value::Numeric),
        _ => return None,
    })
}

/// Floats to numbers; integers round half to even. `single` is the value where it came as a single.
pub(super) fn cast_float(v: f64, single: Option<f32>, to: &SqlType) -> Option<Result<Value, TypeError>> {
    Some(match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            let rounded = v.round_ties_even();
            // exactly representable borders: -2^63 ≤ v < 2^63
            match (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                true => cast_integer(rounded as i64, to)?,
                false => Err(TypeError::out_of_range(to.base_name())),
            }
        }
        SqlType::Float4 => f64_to_f32(v).map(Value::Float4),
        SqlType::Float8 => Ok(Value::Float8(v)),
        SqlType::Numeric(None) => Number::value_of_float(v, single.is_some()),
        SqlType::LongNumeric(spec) => {
            Number::value_of_float(v, single.is_some()).and_then(|value| constrain_long(value, *spec))
        }
        SqlType::Numeric(Some(spec)) => Number::value_of_float(v, single.is_some())
            .and_then(|value| Number::of(&value).ok_or_else(TypeError::numeric_overflow)?.constrain(*spec))
            .map(Value::Numeric),
        _ => return None,
    })
}

/// A double as a single.
/// # Errors
/// 22003 where a finite number would become infinite, or another one zero.
fn f64_to_f32(v: f64) -> Result<f32, TypeError> {
    let single = v as f32;
    let flaw = match single {
        f if f.is_infinite() && v.is_finite() => "value out of range: overflow",
        0.0 if v != 0.0 => "value out of range: underflow",
        _ => return Ok(single),
    };
    Err(TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, flaw))
}

/// The integer whose bytes these are, the highest first; fewer than it has are those of a number that is not negative.
pub(super) fn integer_of_bytes(bytes: &[u8], to: &SqlType) -> Result<Value, TypeError> {
    let (width, name) = match to {
        SqlType::Int2 => (2, "smallint"),
        SqlType::Int4 => (4, "integer"),
        _ => (8, "bigint"),
    };
    if bytes.len() > width {
        return Err(TypeError::out_of_range(name));
    }
    let number = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(match to {
        SqlType::Int2 => Value::Int2((number as u16).cast_signed()),
        SqlType::Int4 => Value::Int4((number as u32).cast_signed()),
        _ => Value::Int8(number.cast_signed()),
    })
}

/// A numeric as a value of a numeric(p,s) of many digits.
pub(crate) fn constrain_long(value: Value, spec: LongSpec) -> Result<Value, TypeError> {
    Number::of(&value).ok_or_else(TypeError::numeric_overflow)?.constrain_long(spec)
}
