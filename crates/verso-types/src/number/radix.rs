//! Decimal digits of long numbers: halves by halves, since what the library does is quadratic from the first digit on.

use num_bigint::BigUint;

/// Digits that the library converts at once.
const DIGITS: usize = 512;

/// Powers of ten with `DIGITS`, twice, four times … as many zeros, the last at most `digits`.
fn powers(digits: usize) -> Vec<BigUint> {
    let mut powers = Vec::new();
    let mut zeros = DIGITS;
    while zeros < digits {
        let next = match powers.last() {
            Some(last) => last * last,
            None => BigUint::from(10u8).pow(DIGITS as u32),
        };
        powers.push(next);
        zeros *= 2;
    }
    powers
}

/// The digits of a number, without zeros in front.
pub(super) fn to_digits(value: &BigUint) -> String {
    // A digit has more than three bits.
    let powers = powers(value.bits() as usize / 3);
    let mut out = String::new();
    push(value, &powers, &mut out);
    out
}

/// Appends the digits of a number below the square of the last power: with all zeros in front unless it is the first part.
fn push(value: &BigUint, powers: &[BigUint], out: &mut String) {
    let Some((half, smaller)) = powers.split_last() else {
        let digits = value.to_str_radix(10);
        if out.is_empty() {
            out.push_str(if digits == "0" { "" } else { &digits });
        } else {
            out.extend(std::iter::repeat_n('0', DIGITS - digits.len()));
            out.push_str(&digits);
        }
        return;
    };
    let high = value / half;
    let low = value - &high * half;
    push(&high, smaller, out);
    push(&low, smaller, out);
}

/// The number that digits, at least one, stand for.
pub(super) fn of_digits(digits: &str) -> Option<BigUint> {
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    read(digits, &powers(digits.len()))
}

fn read(digits: &str, powers: &[BigUint]) -> Option<BigUint> {
    let Some((half, smaller)) = powers.split_last() else {
        return BigUint::parse_bytes(digits.as_bytes(), 10);
    };
    let zeros = DIGITS << smaller.len();
    match digits.len().checked_sub(zeros) {
        None | Some(0) => read(digits, smaller),
        Some(at) => Some(read(&digits[..at], smaller)? * half + read(&digits[at..], smaller)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_the_library() {
        let mut value = BigUint::from(7u8);
        for step in 0..400u32 {
            let expected = value.to_str_radix(10);
            assert_eq!(to_digits(&value), expected, "{step}");
            assert_eq!(of_digits(&expected), Some(value.clone()), "{step}");
            value = value * 1_000_003u32 * 10u32.pow(step % 8) + step;
        }
        for zeros in [511, 512, 513, 1023, 1024, 1025, 4096, 9999] {
            let text = format!("1{}", "0".repeat(zeros));
            let value = of_digits(&text).expect("digits");
            assert_eq!(to_digits(&value), text);
            assert_eq!(to_digits(&(value - 1u8)), "9".repeat(zeros));
        }
        assert_eq!(of_digits(&"0".repeat(2000)), Some(BigUint::from(0u8)));
        assert_eq!((of_digits(""), of_digits("1a"), of_digits("+1")), (None, None, None));
    }
}
