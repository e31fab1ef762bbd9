//! Numbers: `12`, `1.5e3`, `0x1F`, `0o17`, `0b11`, `1_000.000_1`; and what is none: `12abc`, `0x`.

use super::split::is_name_byte;
use crate::error::SyntaxError;

/// The decimal digits of a number as it is written.
///
/// # Errors
/// 22003.
pub(super) fn decimal(written: &str) -> Result<String, SyntaxError> {
    let digits = written.replace('_', "");
    let Some(base) = digits.as_bytes().get(1).and_then(|letter| base(*letter)) else { return Ok(digits) };
    match u128::from_str_radix(&digits[2..], base.into()) {
        Ok(value) => Ok(value.to_string()),
        Err(_) => Err(SyntaxError::new("22003", "value overflows numeric format")),
    }
}

/// What a number looks like.
pub(super) enum Shape {
    /// Decimal digits, perhaps with point and exponent.
    Plain,
    /// With a base or underscores.
    Odd,
    /// What PostgreSQL says of it.
    Flawed(&'static str),
}

/// How long the number at the start of `rest` is, if there is one.
pub(super) fn number(rest: &[u8]) -> Option<(usize, Shape)> {
    let at = |i: usize| rest.get(i).copied().unwrap_or_default();
    let pointed = at(0) == b'.';
    if !at(usize::from(pointed)).is_ascii_digit() {
        return None;
    }
    if let (b'0', Some(base)) = (at(0), base(at(1))) {
        return Some(with_base(rest, base));
    }
    let decimals = |from: usize| digits(rest, from, 10);
    let mut end = decimals(usize::from(pointed));
    // `1..10` is a range of PL/pgSQL.
    if !pointed && at(end) == b'.' && at(end + 1) != b'.' {
        end = if at(end + 1).is_ascii_digit() { decimals(end + 1) } else { end + 1 };
    }
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            end = decimals(end + 1 + sign);
        } else if sign == 1 {
            return Some((end + 2, JUNK));
        }
    }
    Some(match at(end) {
        byte if is_name_byte(byte) => (name_end(rest, end), JUNK),
        _ if rest[..end].contains(&b'_') => (end, Shape::Odd),
        _ => (end, Shape::Plain),
    })
}

const JUNK: Shape = Shape::Flawed("trailing junk after numeric literal");

/// `0x…`, `0o…`, `0b…`.
fn with_base(rest: &[u8], base: u8) -> (usize, Shape) {
    let (end, word) = (digits(rest, 2, base), name_end(rest, 1));
    if end > 2 {
        return if word > end { (word, JUNK) } else { (end, Shape::Odd) };
    }
    let flaw = match base {
        16 => "invalid hexadecimal integer",
        8 => "invalid octal integer",
        _ => "invalid binary integer",
    };
    let end = end + usize::from(rest.get(2) == Some(&b'_'));
    if word > end { (word, JUNK) } else { (end, Shape::Flawed(flaw)) }
}

fn base(letter: u8) -> Option<u8> {
    match letter {
        b'x' | b'X' => Some(16),
        b'o' | b'O' => Some(8),
        b'b' | b'B' => Some(2),
        _ => None,
    }
}

/// Behind the digits at `from`; a single `_` may stand before each of them but the first of a decimal number.
fn digits(rest: &[u8], from: usize, base: u8) -> usize {
    let is_digit = |at: usize| rest.get(at).is_some_and(|byte| char::from(*byte).is_digit(base.into()));
    let mut end = from;
    loop {
        if is_digit(end) {
            end += 1;
        } else if rest.get(end) == Some(&b'_') && is_digit(end + 1) {
            end += 2;
        } else {
            return end;
        }
    }
}

fn name_end(rest: &[u8], from: usize) -> usize {
    let part = |byte: &u8| is_name_byte(*byte) || *byte == b'$';
    rest[from..].iter().position(|byte| !part(byte)).map_or(rest.len(), |length| from + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digits_of_odd_numbers_are_read() {
        for (written, digits) in
            [("0xfF", "255"), ("0O1_7", "15"), ("0b_11", "3"), ("1_0.0_1e1_0", "10.01e10")]
        {
            assert!(matches!(number(written.as_bytes()), Some((end, Shape::Odd)) if end == written.len()));
            assert_eq!(decimal(written).expect("a number"), digits);
        }
        assert_eq!(decimal(&format!("0x{}", "f".repeat(40))).expect_err("too large").sqlstate, "22003");
        for (written, length) in [("1e5", 3), ("1.e5", 4), ("1..10", 1), (".5", 2), ("1.5+", 3)] {
            assert!(matches!(number(written.as_bytes()), Some((end, Shape::Plain)) if end == length));
        }
    }

    #[test]
    fn words_do_not_touch_numbers() {
        for (text, message) in [
            ("12abc", "trailing junk after numeric literal"),
            ("1__0", "trailing junk after numeric literal"),
            ("1_", "trailing junk after numeric literal"),
            ("1e+", "trailing junk after numeric literal"),
            ("1.5e", "trailing junk after numeric literal"),
            ("0x", "invalid hexadecimal integer"),
            ("0b_", "invalid binary integer"),
            ("0o8", "trailing junk after numeric literal"),
            ("0b12", "trailing junk after numeric literal"),
        ] {
            let Some((length, Shape::Flawed(what))) = number(text.as_bytes()) else { panic!("{text}") };
            assert_eq!((length, what), (text.len(), message));
        }
    }
}
