//! Integers, oids and booleans.

use super::trim;
use crate::datetime::put_number;
use crate::error::{TypeError, sqlstate};

/// Reads a smallint, integer or bigint; `type_name` is for messages.
/// # Errors
/// 22P02, 22003.
pub fn parse_integer<T: TryFrom<i64>>(text: &str, type_name: &str) -> Result<T, TypeError> {
    let trimmed = trim(text);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(TypeError::syntax(type_name, text));
    }
    let value = trimmed.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| out_of_range(text, type_name))
}

/// Reads an oid; negative ones count from 2^32 down, as C's `strtoul`.
pub(super) fn parse_oid(text: &str) -> Result<i64, TypeError> {
    match parse_integer::<i64>(text, "oid")? {
        value @ 0..=0xffff_ffff => Ok(value),
        value @ -0x8000_0000..0 => Ok(value + (1 << 32)),
        _ => Err(out_of_range(text, "oid")),
    }
}

fn out_of_range(text: &str, type_name: &str) -> TypeError {
    TypeError::new(
        sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
        format!("value \"{text}\" is out of range for type {type_name}"),
    )
}

/// Appends an integer.
pub fn format_i64(value: i64, out: &mut String) {
    if value < 0 {
        out.push('-');
    }
    put_number(value.unsigned_abs(), 1, out);
}

/// Reads a boolean: a beginning of true, false, yes or no, `on`, a beginning of `off` of two letters, `1`, `0`.
/// # Errors
/// 22P02.
pub fn parse_bool(text: &str) -> Result<bool, TypeError> {
    let word = trim(text).to_ascii_lowercase();
    let begins = |name: &str, least: usize| word.len() >= least && name.starts_with(word.as_str());
    if begins("true", 1) || begins("yes", 1) || word == "on" || word == "1" {
        Ok(true)
    } else if begins("false", 1) || begins("no", 1) || begins("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(TypeError::syntax("boolean", text))
    }
}
