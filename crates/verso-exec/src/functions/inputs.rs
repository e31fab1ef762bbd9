//! Texts that may be values: whether they are, and sizes with their units.

use verso_types::{Decimal, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// Units of [`size_bytes`], and the powers of two that they are.
const UNITS: [(&str, u32); 7] =
    [("bytes", 0), ("b", 0), ("kb", 10), ("mb", 20), ("gb", 30), ("tb", 40), ("pb", 50)];

fn invalid(text: &str) -> TypeError {
    TypeError::new("22023", format!("invalid size: \"{text}\""))
}

/// `1.5 GB` as a number of bytes.
fn size_bytes(text: &str) -> Result<i64> {
    let trimmed = text.trim();
    let is_number = |char: char| char.is_ascii_digit() || matches!(char, '.' | '+' | '-');
    let mut end = trimmed.find(|char| !is_number(char)).unwrap_or(trimmed.len());
    // An exponent belongs to the number where digits follow it.
    let rest = &trimmed[end..];
    if let Some(power) = rest.strip_prefix(['e', 'E']) {
        let digits = power.trim_start_matches(['+', '-']);
        let count = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
        if count > 0 {
            end += 1 + (power.len() - digits.len()) + count;
        }
    }
    let (number, unit) = trimmed.split_at(end);
    if !number.contains(|char: char| char.is_ascii_digit()) {
        return Err(invalid(text).into());
    }
    let parsed = verso_types::text::parse_text(&SqlType::Numeric(None), number, &verso_types::TimeStyle::UTC);
    let Ok(Value::Numeric(number)) = parsed else { return Err(invalid(text).into()) };
    let unit = unit.trim();
    let power = match UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)) {
        Some((_, power)) => *power,
        None if unit.is_empty() => 0,
        None => {
            let detail = format!("Invalid size unit: \"{unit}\".");
            return Err(invalid(text)
                .with_detail(detail)
                .with_hint("Valid units are \"bytes\", \"B\", \"kB\", \"MB\", \"GB\", \"TB\", and \"PB\".")
                .into());
        }
    };
    let bytes = number.checked_mul(&Decimal::from(1i64 << power)).and_then(|bytes| bytes.rescale(0));
    let bytes = bytes.ok().and_then(|bytes| i64::try_from(bytes.unscaled()).ok());
    bytes.ok_or_else(|| TypeError::out_of_range("bigint").into())
}

fn pg_size_bytes(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Text(text)] => Ok(Value::Int8(size_bytes(text)?)),
        _ => Err(unexpected("pg_size_bytes", args)),
    }
}

/// Whether a text is a value of a type; the error where it is none. An error about the type is one of the call.
fn input(cx: &EvalContext<'_>, args: &[Value]) -> Result<std::result::Result<(), ExecError>> {
    let [Value::Text(_), Value::Text(_)] = args else { return Err(unexpected("pg_input_is_valid", args)) };
    cx.services.catalogs.call("pg_input_type", &args[1..])?;
    Ok(cx.services.catalogs.call("pg_input", args).map(|_| ()))
}

fn is_valid(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(Value::Bool(input(cx, args)?.is_ok()))
}

fn error_info(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let text = |text: Option<String>| text.map_or(Value::Null, |text| Value::text(&text));
    Ok(Value::Record(match input(cx, args)? {
        Ok(()) => vec![Value::Null; 4].into(),
        Err(error) => {
            let error = cx.services.binding.describe_error(&error);
            let code = Value::text(&error.sqlstate);
            vec![Value::text(&error.message), text(error.detail), text(error.hint), code].into()
        }
    }))
}

static INFO: [(&str, SqlType); 4] = [
    ("message", SqlType::Text),
    ("detail", SqlType::Text),
    ("hint", SqlType::Text),
    ("sql_error_code", SqlType::Text),
];

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("pg_size_bytes" () [Text] => Int8, pg_size_bytes, None),
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..entry!("pg_input_is_valid" () [Text, Text] => Bool, is_valid, None)
    },
    BuiltinFunction {
        volatility: Volatility::Stable,
        result: ResultType::Columns(&INFO),
        ..entry!("pg_input_error_info" () [Text, Text] => Text, error_info, None)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
