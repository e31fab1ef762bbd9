//! `macaddr` and `macaddr8`: addresses of six and eight bytes.

use std::fmt::Write as _;

use super::{Opaque, OpaqueKind};
use crate::error::{TypeError, sqlstate};
use crate::value::Value;

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hardware {
    bytes: [u8; 8],
    long: bool,
}

impl From<[u8; 6]> for Hardware {
    fn from(short: [u8; 6]) -> Hardware {
        let mut bytes = [0; 8];
        bytes[..6].copy_from_slice(&short);
        Hardware { bytes, long: false }
    }
}

impl From<[u8; 8]> for Hardware {
    fn from(bytes: [u8; 8]) -> Hardware {
        Hardware { bytes, long: true }
    }
}

/// Reads hexadecimal digits at the front, at most so many; what is behind them, too.
fn hex(text: &str, digits_max: usize) -> Option<(u64, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_ascii_whitespace());
    let digits = text.bytes().take(digits_max).take_while(u8::is_ascii_hexdigit).count();
    let (digits, rest) = text.split_at(digits);
    let number = digits.bytes().try_fold(0u64, |n, b| {
        let digit = char::from(b).to_digit(16)?;
        Some(n.checked_mul(16)?.saturating_add(digit.into()))
    });
    if digits.is_empty() { None } else { Some((number.unwrap_or(u64::MAX), rest)) }
}

/// The six numbers of a text in a form like `%x:%x:%x`: for each the most digits, and what stands behind it.
fn scan(text: &str, parts: &[(usize, &str)]) -> Option<[u64; 6]> {
    let mut numbers = [0; 6];
    let mut rest = text;
    for ((digits_max, separator), number) in parts.iter().zip(&mut numbers) {
        (*number, rest) = hex(rest, *digits_max)?;
        rest = rest.strip_prefix(separator)?;
    }
    rest.trim().is_empty().then_some(numbers)
}

impl Hardware {
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..if self.long { 8 } else { 6 }]
    }

    /// Reads a `macaddr`: `08:00:2b:01:02:03`, with `-`, in halves or thirds, or without separators.
    /// # Errors
    /// 22P02, 22003.
    pub fn parse(text: &str) -> Result<Hardware, TypeError> {
        const ANY: usize = usize::MAX;
        let forms: [[(usize, &str); 6]; 7] = [
            [(ANY, ":"), (ANY, ":"), (ANY, ":"), (ANY, ":"), (ANY, ":"), (ANY, "")],
            [(ANY, "-"), (ANY, "-"), (ANY, "-"), (ANY, "-"), (ANY, "-"), (ANY, "")],
            [(2, ""), (2, ""), (2, ":"), (2, ""), (2, ""), (2, "")],
            [(2, ""), (2, ""), (2, "-"), (2, ""), (2, ""), (2, "")],
            [(2, ""), (2, "."), (2, ""), (2, "."), (2, ""), (2, "")],
            [(2, ""), (2, "-"), (2, ""), (2, "-"), (2, ""), (2, "")],
            [(2, ""), (2, ""), (2, ""), (2, ""), (2, ""), (2, "")],
        ];
        let found = forms.iter().find_map(|form| scan(text, form));
        let numbers = found.ok_or_else(|| TypeError::syntax("macaddr", text))?;
        let mut bytes = [0; 6];
        for (byte, number) in bytes.iter_mut().zip(numbers) {
            *byte = u8::try_from(number).map_err(|_| {
                let text = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
                TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, text)
            })?;
        }
        Ok(bytes.into())
    }

    /// Reads a `macaddr8`: pairs of digits with one kind of separator between any of them; six get `ff:fe` in the middle.
    /// # Errors
    /// 22P02.
    pub fn parse8(text: &str) -> Result<Hardware, TypeError> {
        let read = || {
            let mut bytes = Vec::new();
            let mut spacer = None;
            let mut rest = text.trim().as_bytes();
            while let [high, low, behind @ ..] = rest {
                let digit = |byte: &u8| char::from(*byte).to_digit(16);
                bytes.push((digit(high)? * 16 + digit(low)?) as u8);
                rest = behind;
                if let [found @ (b':' | b'-' | b'.'), behind @ ..] = rest {
                    if *spacer.get_or_insert(*found) != *found || behind.is_empty() {
                        return None;
                    }
                    rest = behind;
                }
            }
            match (rest, bytes.first_chunk::<8>(), bytes.first_chunk::<6>(), bytes.len()) {
                ([], Some(eight), _, 8) => Some(Hardware::from(*eight)),
                ([], _, Some(six), 6) => Some(Hardware::from(*six).widen()),
                _ => None,
            }
        };
        read().ok_or_else(|| TypeError::syntax("macaddr8", text))
    }

    /// Six bytes as eight, `ff:fe` in the middle; eight as they are.
    #[must_use]
    pub fn widen(&self) -> Hardware {
        if self.long {
            return self.clone();
        }
        let [a, b, c, d, e, f, ..] = self.bytes;
        [a, b, c, 0xff, 0xfe, d, e, f].into()
    }

    /// Eight bytes as six.
    /// # Errors
    /// 22003 without `ff:fe` in the middle.
    pub fn narrow(&self) -> Result<Hardware, TypeError> {
        match self.bytes {
            [a, b, c, 0xff, 0xfe, d, e, f] => Ok([a, b, c, d, e, f].into()),
            _ => Err(TypeError::new(
                sqlstate::NUMERIC_VALUE_OUT_OF_RANGE,
                "macaddr8 data out of range to convert to macaddr",
            )
            .with_hint(
                "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
                 xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
            )),
        }
    }

    /// Byte by byte.
    #[must_use]
    pub fn map(&self, with: impl Fn(usize, u8) -> u8) -> Hardware {
        let mut mapped = self.clone();
        let length = self.bytes().len();
        mapped.bytes[..length].iter_mut().enumerate().for_each(|(at, byte)| *byte = with(at, *byte));
        mapped
    }

    /// Appends `08:00:2b:01:02:03`.
    pub fn format(&self, out: &mut String) {
        for (at, byte) in self.bytes().iter().enumerate() {
            // writing to a String cannot fail
            let _ = write!(out, "{}{byte:02x}", if at > 0 { ":" } else { "" });
        }
    }

    /// The stored value.
    pub fn value(&self) -> Opaque {
        Opaque::new(if self.long { OpaqueKind::Mac8 } else { OpaqueKind::Mac }, self.bytes())
    }

    /// As [`Hardware::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The address that a stored value is.
    pub fn of(value: &Opaque) -> Hardware {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(value.bytes()).for_each(|(to, from)| *to = *from);
        Hardware { bytes, long: value.kind() == OpaqueKind::Mac8 }
    }
}
