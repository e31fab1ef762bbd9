//! Numbers from and to text, floating point, and the protocol's binary form.

use std::fmt;

use num_bigint::{BigInt, Sign};

use super::radix::{of_digits, to_digits};
use super::{Number, SCALE_MAX, WHOLE_DIGITS_MAX, ten_to};
use crate::decimal::Decimal;
use crate::error::TypeError;
use crate::value::Value;

/// Base of the digits of the binary form, and how many decimal ones each holds.
const BASE: u16 = 10_000;
const BASE_DIGITS: usize = 4;

impl Number {
    /// A numeric from PostgreSQL's input syntax, as the value that it is.
    ///
    /// # Errors
    /// 22P02 for anything else, 22003 for too many digits.
    pub fn parse_value(text: &str) -> Result<Value, TypeError> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        match Decimal::parse(text) {
            Ok(small) => Ok(Value::Numeric(small)),
            Err(_) => match special(trimmed).or_else(|| scan(trimmed)) {
                Some(Some(number)) => number.value(),
                Some(None) => Err(TypeError::numeric_overflow()),
                None => match crate::text::spelled_out(trimmed).and_then(|digits| scan(&digits)) {
                    Some(Some(number)) => number.value(),
                    Some(None) => Err(TypeError::numeric_overflow()),
                    None => Err(TypeError::syntax("numeric", text)),
                },
            },
        }
    }

    /// The nearest double; infinite where it is beyond them.
    pub fn to_f64(&self) -> f64 {
        match self {
            Number::NegativeInfinity => f64::NEG_INFINITY,
            Number::Infinity => f64::INFINITY,
            Number::NaN => f64::NAN,
            Number::Finite { unscaled, scale } => format!("{unscaled}e-{scale}").parse().unwrap_or(f64::NAN),
        }
    }

    /// The value of a double: 15 significant digits (6 of a single), as PostgreSQL converts it.
    ///
    /// # Errors
    /// None that is known: every double has few enough digits.
    pub fn value_of_float(value: f64, single: bool) -> Result<Value, TypeError> {
        if !value.is_finite() {
            return match (value.is_nan(), value > 0.0) {
                (true, _) => Number::NaN,
                (false, true) => Number::Infinity,
                (false, false) => Number::NegativeInfinity,
            }
            .value();
        }
        let text = format!("{value:.*e}", if single { 5 } else { 14 });
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0') } else { mantissa };
        Number::parse_value(&format!("{mantissa}e{exponent}"))
    }

    /// Appends the protocol's binary form.
    pub(crate) fn put_binary(&self, out: &mut Vec<u8>) {
        let special: u16 = match self {
            Number::NaN => 0xC000,
            Number::Infinity => 0xD000,
            Number::NegativeInfinity => 0xF000,
            Number::Finite { unscaled, scale } => return put_finite(unscaled, usize::from(*scale), out),
        };
        // PostgreSQL takes bits of its own for the scale of an infinity.
        let scale = if special == 0xC000 { 0 } else { 32 };
        for part in [0, 0, special, scale] {
            out.extend_from_slice(&part.to_be_bytes());
        }
    }

    /// The finite number of the binary form: digits of base 10,000, the first of weight `weight`.
    pub(crate) fn of_base_digits(digits: &[u16], weight: i32, negative: bool, scale: usize) -> Number {
        let mut unscaled = BigInt::from(0);
        for digit in digits {
            unscaled = unscaled * BASE + *digit;
        }
        // decimals that the digits have behind the point
        let behind = (digits.len() as i32 - 1 - weight) * BASE_DIGITS as i32;
        let shift = scale as i32 - behind;
        let power = ten_to(shift.unsigned_abs() as usize);
        // decimals behind the display scale are cut, as PostgreSQL cuts them
        let unscaled = if shift >= 0 { unscaled * power } else { unscaled / power };
        Number::finite(if negative { -unscaled } else { unscaled }, scale)
    }
}

fn put_finite(unscaled: &BigInt, scale: usize, out: &mut Vec<u8>) {
    // digits are aligned to the point: the last one may hold fewer decimals than four
    let missing = (BASE_DIGITS - scale % BASE_DIGITS) % BASE_DIGITS;
    let text = (unscaled.magnitude() * ten_to(missing).magnitude()).to_str_radix(10);
    let zeroes = text.len().next_multiple_of(BASE_DIGITS) - text.len();
    let padded = format!("{}{text}", &"000"[..zeroes]);
    let mut digits: Vec<u16> = Vec::new();
    for group in padded.as_bytes().chunks(BASE_DIGITS) {
        digits.push(group.iter().fold(0, |sum, digit| sum * 10 + u16::from(digit - b'0')));
    }
    let below_point = scale.div_ceil(BASE_DIGITS);
    let mut weight = digits.len() as i32 - below_point as i32 - 1;
    let leading = digits.iter().take_while(|digit| **digit == 0).count();
    digits.drain(..leading);
    weight -= leading as i32;
    while digits.last() == Some(&0) {
        digits.pop();
    }
    if digits.is_empty() {
        weight = 0;
    }
    let sign: u16 = if unscaled.sign() == Sign::Minus { 0x4000 } else { 0 };
    out.extend_from_slice(&(digits.len() as u16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&(scale as u16).to_be_bytes());
    digits.iter().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// `NaN`, `Infinity` and their spellings; the outer `None` for anything else.
fn special(text: &str) -> Option<Option<Number>> {
    let is = |names: &[&str], text: &str| names.iter().any(|name| name.eq_ignore_ascii_case(text));
    if is(&["nan"], text) {
        return Some(Some(Number::NaN));
    }
    let (negative, name) = match text.strip_prefix('-') {
        Some(name) => (true, name),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    is(&["inf", "infinity"], name).then_some(Some(if negative {
        Number::NegativeInfinity
    } else {
        Number::Infinity
    }))
}

/// Digits with a point and an exponent; the outer `None` where the text is no number, the inner beyond all bounds.
fn scan(text: &str) -> Option<Option<Number>> {
    let (negative, body) = match text.strip_prefix('-') {
        Some(body) => (true, body),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match body.find(['e', 'E']) {
        Some(at) => (&body[..at], &body[at + 1..]),
        None => (body, "0"),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let size = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !digits(whole)
        || !digits(fraction)
        || whole.len() + fraction.len() == 0
        || size.is_empty()
        || !digits(size)
    {
        return None;
    }
    let limit = (WHOLE_DIGITS_MAX + SCALE_MAX) as i64 * 2;
    let size = size.bytes().fold(0i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(limit));
    let exponent = if exponent.starts_with('-') { -size } else { size };
    let joined = format!("{whole}{fraction}");
    let significant = joined.trim_start_matches('0');
    // where the first digit stands, from the point on
    let front = significant.len() as i64 - fraction.len() as i64 + exponent;
    if !significant.is_empty() && front > WHOLE_DIGITS_MAX as i64 {
        return Some(None);
    }
    let unscaled = BigInt::from(of_digits(if significant.is_empty() { "0" } else { significant })?);
    let unscaled = if negative { -unscaled } else { unscaled };
    let scale = fraction.len() as i64 - exponent;
    Some(Some(match usize::try_from(scale) {
        Ok(scale) if scale > SCALE_MAX => return Some(None),
        Ok(scale) => Number::finite(unscaled, scale),
        Err(_) if significant.is_empty() => Number::Finite { unscaled, scale: 0 },
        Err(_) => Number::Finite { unscaled: unscaled * ten_to(scale.unsigned_abs() as usize), scale: 0 },
    }))
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unscaled, scale) = match self {
            Number::NegativeInfinity => return f.write_str("-Infinity"),
            Number::Infinity => return f.write_str("Infinity"),
            Number::NaN => return f.write_str("NaN"),
            Number::Finite { unscaled, scale } => (unscaled, usize::from(*scale)),
        };
        let text = to_digits(unscaled.magnitude());
        // A width in a format has 16 bits.
        let padded = format!("{}{text}", "0".repeat((scale + 1).saturating_sub(text.len())));
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        if unscaled.sign() == Sign::Minus {
            f.write_str("-")?;
        }
        f.write_str(whole)?;
        if scale > 0 {
            write!(f, ".{fraction}")?;
        }
        Ok(())
    }
}
