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
        let is_whole =
            |value: &String| value.trim_start_matches(['+', '-']).bytes().all(|c| c.is_ascii_digit());
        let value = spelled_out(trimmed).filter(is_whole);
        let value = value.ok_or_else(|| TypeError::syntax(type_name, text))?;
        let value = value.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
        return value.ok_or_else(|| out_of_range(text, type_name));
    }
    let value = trimmed.parse::<i64>().ok().and_then(|value| T::try_from(value).ok());
    value.ok_or_else(|| out_of_range(text, type_name))
}

/// A number with a base (`0x1F`, `0o17`, `0b11`) or underscores between digits (`1_000`) without them; none for others.
pub(crate) fn spelled_out(text: &str) -> Option<String> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = &text[..text.len() - digits.len()];
    let base = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => 16,
        [b'0', b'o' | b'O', ..] => 8,
        [b'0', b'b' | b'B', ..] => 2,
        _ => 10,
    };
    // Each underscore stands before a digit, and behind one or the base.
    let is_digit = |byte: Option<&u8>| byte.is_some_and(|byte| char::from(*byte).is_digit(base));
    let bytes = if base == 10 { digits.as_bytes() } else { &digits.as_bytes()[1..] };
    let behind = |at: usize| at == 1 && base != 10 || at > 0 && is_digit(bytes.get(at - 1));
    let mut underscores = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_').peekable();
    if base == 10 && underscores.peek().is_none()
        || !underscores.all(|(at, _)| behind(at) && is_digit(bytes.get(at + 1)))
    {
        return None;
    }
    let digits = digits.replace('_', "");
    if base == 10 {
        return Some(format!("{sign}{digits}"));
    }
    let digits =
        Some(&digits[2..]).filter(|digits| digits.chars().all(|c| c.is_digit(base)) && !digits.is_empty())?;
    // Beyond what any type of ours holds a larger number will do.
    let value = u128::from_str_radix(digits, base).unwrap_or(u128::MAX);
    Some(format!("{sign}{value}"))
}

/// Reads an oid or a number of 32 bits like it; negative ones count from 2^32 down.
pub(crate) fn parse_oid(text: &str, type_name: &str) -> Result<i64, TypeError> {
    match number_of_c(text, type_name)? {
        value @ 0..=0xffff_ffff => Ok(value as i64),
        value @ -0x8000_0000..0 => Ok((value + (1 << 32)) as i64),
        _ => Err(out_of_range(text, type_name)),
    }
}

/// Reads a number of 64 bits without a sign; negative ones count from 2^64 down.
pub(crate) fn parse_xid8(text: &str) -> Result<u64, TypeError> {
    let value = number_of_c(text, "xid8")?;
    let bits = u64::try_from(value).ok().or_else(|| Some(i64::try_from(value).ok()?.cast_unsigned()));
    bits.ok_or_else(|| out_of_range(text, "xid8"))
}

/// As C's `strtoul` reads it: a zero in front makes it octal, `0x` hexadecimal.
fn number_of_c(text: &str, type_name: &str) -> Result<i128, TypeError> {
    let trimmed = trim(text);
    let digits = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    let (digits, base) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&digits[2..], 16),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return Err(TypeError::syntax(type_name, text));
    }
    let value = i128::from_str_radix(digits, base).map_err(|_| out_of_range(text, type_name))?;
    Ok(if trimmed.starts_with('-') { -value } else { value })
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
