//! Decimals from and to text and floating point.

use std::fmt;

use super::{Decimal, DecimalError, POW10};
use crate::error::{TypeError, sqlstate};

impl Decimal {
    /// PostgreSQL's input syntax: blanks around, a sign, digits with a point, an exponent.
    /// # Errors
    /// 22P02 for anything else, 22003 beyond 38 digits.
    pub fn parse(text: &str) -> Result<Decimal, TypeError> {
        let trimmed = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        match scan(trimmed.as_bytes()) {
            Some(Ok(value)) => Ok(value),
            Some(Err(overflow)) => Err(overflow.into()),
            None if is_special(trimmed) => Err(TypeError::new(
                sqlstate::FEATURE_NOT_SUPPORTED,
                format!("numeric {trimmed} is not supported"),
            )),
            None => match crate::text::spelled_out(trimmed).and_then(|digits| scan(digits.as_bytes())) {
                Some(value) => Ok(value?),
                None => Err(TypeError::syntax("numeric", text)),
            },
        }
    }

    /// The nearest double.
    pub fn to_f64(&self) -> f64 {
        // both exact in a double: one correctly rounded division
        if self.unscaled.unsigned_abs() < 1 << 53 && self.scale() <= 22 {
            return self.unscaled as f64 / POW10[usize::from(self.scale())] as f64;
        }
        self.to_string().parse().expect("a decimal is a float literal")
    }

    /// The double with 15 significant digits, as PostgreSQL converts it.
    /// # Errors
    /// 22003 beyond 38 digits, 0A000 for NaN and infinities.
    pub fn from_f64(value: f64) -> Result<Decimal, TypeError> {
        Self::from_float(value, 15)
    }

    /// The single with 6 significant digits, as PostgreSQL converts it.
    /// # Errors
    /// As [`from_f64`](Self::from_f64).
    pub fn from_f32(value: f32) -> Result<Decimal, TypeError> {
        Self::from_float(value.into(), 6)
    }

    fn from_float(value: f64, digits: usize) -> Result<Decimal, TypeError> {
        if !value.is_finite() {
            let name = if value.is_nan() { "NaN" } else { "infinity" };
            return Err(TypeError::new(
                sqlstate::FEATURE_NOT_SUPPORTED,
                format!("cannot convert {name} to numeric"),
            ));
        }
        let text = format!("{value:.*e}", digits - 1);
        let (mantissa, exponent) = text.split_once('e').expect("written with an exponent");
        let mantissa = if mantissa.contains('.') { mantissa.trim_end_matches('0') } else { mantissa };
        Decimal::parse(&format!("{mantissa}e{exponent}"))
    }
}

/// A name that PostgreSQL's numeric knows and ours does not.
fn is_special(text: &str) -> bool {
    let name = text.strip_prefix(['+', '-']).unwrap_or(text);
    ["nan", "inf", "infinity"].iter().any(|special| name.eq_ignore_ascii_case(special))
}

/// `None` where the text is no number.
fn scan(text: &[u8]) -> Option<Result<Decimal, DecimalError>> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let (mut unscaled, mut scale, mut digits, mut point, mut overflow) = (0i128, 0i64, 0usize, false, false);
    let mut rest = text;
    while let [byte, tail @ ..] = rest {
        match byte {
            b'0'..=b'9' => {
                match unscaled.checked_mul(10).and_then(|v| v.checked_add(i128::from(byte - b'0'))) {
                    Some(value) => unscaled = value,
                    None => overflow = true,
                }
                digits += 1;
                scale += i64::from(point);
            }
            b'.' if !point => point = true,
            _ => break,
        }
        rest = tail;
    }
    if digits == 0 {
        return None;
    }
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', exponent @ ..] => scan_exponent(exponent)?,
        _ => return None,
    };
    if overflow {
        return Some(Err(DecimalError::Overflow));
    }
    Some(assemble(if negative { -unscaled } else { unscaled }, scale - exponent))
}

/// The exponent, its size cut to what certainly over- or underflows.
fn scan_exponent(text: &[u8]) -> Option<i64> {
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        rest => (1, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let size = digits.iter().fold(0i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(1_000_000));
    Some(sign * size)
}

/// `unscaled × 10^-scale`, the scale of any sign.
fn assemble(unscaled: i128, scale: i64) -> Result<Decimal, DecimalError> {
    match u8::try_from(scale) {
        Ok(scale) => Decimal::new(unscaled, scale),
        Err(_) if scale < 0 && unscaled == 0 => Ok(Decimal::ZERO),
        Err(_) if scale < 0 => {
            let factor =
                usize::try_from(-scale).ok().and_then(|n| POW10.get(n)).ok_or(DecimalError::Overflow)?;
            Decimal::new(unscaled.checked_mul(*factor).ok_or(DecimalError::Overflow)?, 0)
        }
        Err(_) => Err(DecimalError::Overflow),
    }
}

/// Writes a scaled integer as a decimal number; the fast path of result output.
pub fn write_scaled(unscaled: i128, scale: u8, out: &mut impl fmt::Write) -> fmt::Result {
    let mut digits = [b'0'; 80];
    let mut start = digits.len();
    let mut rest = unscaled.unsigned_abs();
    let mut written = 0u8;
    while rest != 0 || written <= scale {
        // a 64-bit division is several times as fast as a 128-bit one
        let digit = match u64::try_from(rest) {
            Ok(small) => {
                rest = u128::from(small / 10);
                (small % 10) as u8
            }
            Err(_) => {
                let digit = (rest % 10) as u8;
                rest /= 10;
                digit
            }
        };
        if written == scale && scale > 0 {
            start -= 1;
            digits[start] = b'.';
        }
        start -= 1;
        digits[start] = b'0' + digit;
        written += 1;
    }
    if unscaled < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    out.write_str(std::str::from_utf8(&digits[start..]).expect("digits are ASCII"))
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(self.unscaled, self.scale(), f)
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::str::FromStr for Decimal {
    type Err = TypeError;
    fn from_str(text: &str) -> Result<Decimal, TypeError> {
        Decimal::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn show(text: &str) -> String {
        Decimal::parse(text).map_or_else(|e| e.sqlstate.to_string(), |d| d.to_string())
    }

    #[test]
    fn text_is_read_and_written_as_postgresql_does() {
        for (input, output) in [
            ("1", "1"),
            (" -1.50 ", "-1.50"),
            ("+.5", "0.5"),
            ("5.", "5"),
            ("-0.0", "0.0"),
            ("1e3", "1000"),
            ("1.25E+1", "12.5"),
            ("1e-3", "0.001"),
            ("0e5", "0"),
            ("99999999999999999999999999999999999999", "99999999999999999999999999999999999999"),
            ("100000000000000000000000000000000000000", "22003"),
            ("0.00000000000000000000000000000000000001", "0.00000000000000000000000000000000000001"),
            ("1e99999999999999999999", "22003"),
            ("", "22P02"),
            (".", "22P02"),
            ("1e", "22P02"),
            ("1 2", "22P02"),
            ("1.2.3", "22P02"),
            ("--1", "22P02"),
            ("0x10", "16"),
            ("-1_0.0_5", "-10.05"),
            ("0x1g", "22P02"),
            ("1_", "22P02"),
            ("NaN", "0A000"),
            ("-Infinity", "0A000"),
        ] {
            assert_eq!(show(input), output, "{input:?}");
        }
    }

    #[test]
    fn floats_become_15_or_6_digits() {
        let f64s = [
            (0.1, "0.1"),
            (1.0 / 3.0, "0.333333333333333"),
            (1e20, "100000000000000000000"),
            (0.5e-10, "0.00000000005"),
            (1_234_567_890.123_456_7, "1234567890.12346"),
            (-100.0, "-100"),
            (0.0, "0"),
            (123456789012345678.0, "123456789012346000"),
        ];
        for (value, text) in f64s {
            assert_eq!(Decimal::from_f64(value).expect("fits").to_string(), text);
        }
        assert_eq!(Decimal::from_f32(1.0 / 3.0).expect("fits").to_string(), "0.333333");
        assert_eq!(Decimal::from_f32(123456.78).expect("fits").to_string(), "123457");
        assert_eq!(Decimal::from_f64(f64::NAN).map_err(|e| e.sqlstate), Err("0A000"));
        assert_eq!(Decimal::from_f64(1e39).map_err(|e| e.sqlstate), Err("22003"));
    }

    proptest! {
        #[test]
        fn text_round_trips(unscaled in -Decimal::MAX_UNSCALED..=Decimal::MAX_UNSCALED, scale in 0u8..=38) {
            let value = Decimal::new(unscaled, scale).expect("in range");
            prop_assert_eq!(Decimal::parse(&value.to_string()), Ok(value));
            let nearest: f64 = value.to_string().parse().expect("a float");
            prop_assert_eq!(value.to_f64(), nearest);
        }

        #[test]
        fn bytes_round_trip(unscaled in -Decimal::MAX_UNSCALED..=Decimal::MAX_UNSCALED, shift in 0u32..127, scale in 0u8..=38) {
            let value = Decimal::new(unscaled >> shift, scale).expect("in range");
            let mut bytes = Vec::new();
            value.to_bytes(&mut bytes);
            prop_assert_eq!(Decimal::from_bytes(&bytes), Ok(value));
        }

        #[test]
        fn any_bytes_and_text_are_decoded_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20), text in ".*") {
            let _ = Decimal::from_bytes(&bytes);
            let _ = Decimal::parse(&text);
        }

        #[test]
        fn small_floats_divide_exactly(unscaled in -(1i128 << 60)..(1i128 << 60), scale in 0u8..=25) {
            let value = Decimal::new(unscaled, scale).expect("in range");
            prop_assert_eq!(value.to_f64(), value.to_string().parse::<f64>().expect("a float"));
        }
    }
}
