//! Floating point: shortest digits that read back as the same number, printed as PostgreSQL 12 and later do.
//!
//! Rust's shortest digits may lie exactly on the border between two numbers, where reading rounds to the even one.
//! PostgreSQL's never do (1e23 prints as 9.999999999999999e+22), so such digits are replaced by the next longer ones. Of
//! two equally short and near candidates PostgreSQL takes the even one, Rust the larger.

use super::trim;
use crate::error::{TypeError, sqlstate};

/// Reads a double.
/// # Errors
/// 22P02, 22003 where it over- or underflows.
pub fn parse_f64(text: &str) -> Result<f64, TypeError> {
    parse(text, "double precision", &DOUBLE, |digits| digits.parse().ok())
}

/// Reads a single.
/// # Errors
/// As [`parse_f64`].
pub fn parse_f32(text: &str) -> Result<f32, TypeError> {
    let single = |digits: &str| digits.parse::<f32>().ok().map(f64::from);
    parse(text, "real", &SINGLE, single).map(|value| value as f32)
}

/// What a binary format holds.
struct Width {
    /// Binary digits of the mantissa.
    digits: i32,
    /// The exponents of the least number above zero and of the greatest power of two.
    exponents: (i32, i32),
}

const DOUBLE: Width = Width { digits: 53, exponents: (-1074, 1023) };
const SINGLE: Width = Width { digits: 24, exponents: (-149, 127) };

/// Reads hexadecimal digits with a point and a binary exponent (`1.8p-3`), rounded to the nearest number, of two the even one.
/// With whether all digits are zeros; none for what is no such number.
fn hexadecimal(text: &str, width: &Width) -> Option<(f64, bool)> {
    let (mantissa, exponent) = match text.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            // Far beyond every format.
            let size = digits.parse().unwrap_or(1_000_000_i64).min(1_000_000);
            (mantissa, if exponent.starts_with('-') { -size } else { size })
        }
        None => (text, 0),
    };
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && part.is_empty() {
        return None;
    }
    // The first digits, the exponent of the last of them, and whether others that are no zeros follow.
    let (mut first, mut exponent, mut more) = (0_u128, exponent, false);
    for (at, digit) in whole.chars().chain(part.chars()).enumerate() {
        let digit = digit.to_digit(16)?;
        let behind_point = at >= whole.len();
        if first >> 120 == 0 {
            first = first << 4 | u128::from(digit);
            exponent -= if behind_point { 4 } else { 0 };
        } else {
            more |= digit != 0;
            exponent += if behind_point { 0 } else { 4 };
        }
    }
    if first == 0 {
        return Some((0.0, true));
    }
    let bits = i64::from(128 - first.leading_zeros());
    let top = exponent + bits - 1;
    let least = i64::from(width.exponents.0);
    // The exponent of the last digit that is kept.
    let last = (top - i64::from(width.digits) + 1).max(least);
    let kept = match u32::try_from(last - exponent) {
        Err(_) => first << u32::try_from(exponent - last).ok()?,
        Ok(0) => first,
        // Not even half of the least number.
        Ok(cut) if cut > 128 || cut == 128 && first >> 127 == 0 => return Some((0.0, false)),
        Ok(cut) => {
            let kept = first.checked_shr(cut).unwrap_or(0);
            let half = 1_u128 << (cut - 1);
            let rest = first & (half | (half - 1));
            let up = rest > half || rest == half && (more || kept & 1 == 1);
            kept + u128::from(up)
        }
    };
    let top = last + i64::from(128 - kept.leading_zeros()) - 1;
    if kept != 0 && top > i64::from(width.exponents.1) {
        return Some((f64::INFINITY, false));
    }
    // Two steps, each of which is exact: the power may be below those of one.
    let power = |exponent: i64| f64::from_bits(((1023 + exponent) as u64) << 52);
    let (half, rest) = (last / 2, last - last / 2);
    Some((kept as f64 * power(half) * power(rest), false))
}

fn parse(
    text: &str,
    type_name: &str,
    width: &Width,
    read: impl Fn(&str) -> Option<f64>,
) -> Result<f64, TypeError> {
    let trimmed = trim(text);
    let unsigned = trimmed.strip_prefix(['+', '-']).unwrap_or(trimmed);
    if let Some(digits) = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X")) {
        let (value, is_zero) =
            hexadecimal(digits, width).ok_or_else(|| TypeError::syntax(type_name, text))?;
        if value.is_infinite() || value == 0.0 && !is_zero {
            return Err(out_of_range(trimmed, type_name));
        }
        return Ok(if trimmed.starts_with('-') { -value } else { value });
    }
    let special = ["nan", "inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    let value = match special || unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        true => read(trimmed).ok_or_else(|| TypeError::syntax(type_name, text))?,
        false => return Err(TypeError::syntax(type_name, text)),
    };
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or("");
    let vanished = value == 0.0 && mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
    if !special && (value.is_infinite() || vanished) {
        return Err(out_of_range(trimmed, type_name));
    }
    Ok(value)
}

#[cold]
fn out_of_range(text: &str, type_name: &str) -> TypeError {
    let message = format!("\"{text}\" is out of range for type {type_name}");
    TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, message)
}

/// Appends a double: `0.1`, `1e+20`, `-Infinity`.
pub fn format_f64(value: f64, out: &mut String) {
    let bits = value.abs().to_bits();
    let parts =
        Parts { mantissa: bits & ((1 << 52) - 1), exponent: (bits >> 52) as i32, digits: 52, bias: 1075 };
    let reads_back = |text: &str| text.parse() == Ok(value.abs());
    format(value, parts, 15, format!("{:e}", value.abs()), reads_back, out);
}

/// Appends a single: `0.1`, `1e+20`, `-Infinity`.
pub fn format_f32(value: f32, out: &mut String) {
    let bits = u64::from(value.abs().to_bits());
    let parts =
        Parts { mantissa: bits & ((1 << 23) - 1), exponent: (bits >> 23) as i32, digits: 23, bias: 150 };
    let reads_back = |text: &str| text.parse() == Ok(value.abs());
    format(value.into(), parts, 6, format!("{:e}", value.abs()), reads_back, out);
}

/// Appends a float with so many digits, at least one (C's `%.*g`).
pub fn format_rounded(value: f64, digits: i8, out: &mut String) {
    if begins(value, out) {
        return;
    }
    let places = digits.max(1);
    let (digits, exponent) = split(&format!("{:.*e}", places as usize - 1, value.abs()));
    put_digits(&digits, exponent, places.into(), out);
}

/// Appends the sign, or the whole of what has no digits: whether it was that.
fn begins(value: f64, out: &mut String) -> bool {
    if value.is_nan() {
        out.push_str("NaN");
        return true;
    }
    if value.is_sign_negative() {
        out.push('-');
    }
    if value.is_infinite() {
        out.push_str("Infinity");
    }
    value.is_infinite()
}

/// The fields of a float.
struct Parts {
    mantissa: u64,
    exponent: i32,
    digits: u32,
    bias: i32,
}

impl Parts {
    /// The binary exponent of the last place.
    fn last_place(&self) -> i32 {
        self.exponent.max(1) - self.bias
    }

    /// Is the number `digits × 10^power`, which reads back as this one, the midpoint to a neighbour?
    fn is_border(&self, digits: u64, power: i32) -> bool {
        // borders belong to even mantissas; those of more factors of five than fit cannot be hit
        if !self.mantissa.is_multiple_of(2) || !(-27..=27).contains(&power) || digits == 0 {
            return false;
        }
        let fives = 5u128.pow(power.unsigned_abs());
        let scaled = match power >= 0 {
            true => u128::from(digits) * fives,
            false if u128::from(digits) % fives == 0 => u128::from(digits) / fives,
            false => return false,
        };
        let twos = scaled.trailing_zeros();
        let (odd, exponent) = (scaled >> twos, power + twos as i32);
        // midpoints to the neighbours have one binary place more; below a power of two the lower one has two more
        let narrow = self.mantissa == 0 && self.exponent > 1;
        let own = 1u128 << self.digits | u128::from(self.mantissa);
        exponent == self.last_place() - 1 || narrow && exponent == self.last_place() - 2 && odd < own * 4
    }
}

/// Sign, digits and exponent put together; plain notation for exponents from -4 to below `plain`.
fn format(
    value: f64,
    parts: Parts,
    plain: i32,
    shortest: String,
    reads_back: impl Fn(&str) -> bool,
    out: &mut String,
) {
    if begins(value, out) {
        return;
    }
    let (mut digits, mut exponent) = split(&shortest);
    if digits.len() > plain as usize {
        // so many digits that two candidates may be equally near: PostgreSQL takes the even one, as exact formatting does
        let even = format!("{:.*e}", digits.len() - 1, value.abs());
        if reads_back(&even) {
            (digits, exponent) = split(&even);
        }
    }
    let mut places = digits.len();
    while parts.is_border(digits.parse().unwrap_or(0), exponent - digits.len() as i32 + 1) && places < 17 {
        let longer = format!("{:.*e}", places, value.abs());
        if reads_back(&longer) {
            (digits, exponent) = split(&longer);
        }
        places += 1;
    }
    put_digits(&digits, exponent, plain, out);
}

/// `1.25e-7` into the digits without trailing zeros and the exponent of the first.
fn split(scientific: &str) -> (String, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_end_matches('0');
    let digits = if significant.is_empty() { "0".to_string() } else { significant.to_string() };
    (digits, exponent.parse().unwrap_or(0))
}

fn put_digits(digits: &str, exponent: i32, plain: i32, out: &mut String) {
    let (first, more) = digits.split_at(1);
    if !(-4..plain).contains(&exponent) {
        out.push_str(first);
        if !more.is_empty() {
            out.push('.');
            out.push_str(more);
        }
        out.push_str(if exponent < 0 { "e-" } else { "e+" });
        return crate::datetime::put_number(exponent.unsigned_abs().into(), 2, out);
    }
    match usize::try_from(exponent) {
        Err(_) => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', exponent.unsigned_abs() as usize - 1));
            out.push_str(digits);
        }
        Ok(exponent) if digits.len() <= exponent + 1 => {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', exponent + 1 - digits.len()));
        }
        Ok(exponent) => {
            out.push_str(&digits[..=exponent]);
            out.push('.');
            out.push_str(&digits[exponent + 1..]);
        }
    }
}
