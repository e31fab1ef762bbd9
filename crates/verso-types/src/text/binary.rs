//! Byte strings and UUIDs.

use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends bytes in hexadecimal: `\x00ff`.
pub fn format_bytea(bytes: &[u8], out: &mut String) {
    out.push_str("\\x");
    put_hex_bytes(bytes, out);
}

/// Appends bytes in hexadecimal, without a mark: `00ff`.
pub fn put_hex_bytes(bytes: &[u8], out: &mut String) {
    out.reserve(bytes.len() * 2);
    bytes.iter().for_each(|byte| put_hex(*byte, out));
}

/// The older form: printable characters as they are, `\\` for a backslash, three octal digits for every other byte.
pub fn format_bytea_escaped(bytes: &[u8], out: &mut String) {
    out.reserve(bytes.len());
    for byte in bytes {
        match byte {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' => out.push(char::from(*byte)),
            _ => {
                out.push('\\');
                out.extend([byte >> 6, byte >> 3 & 7, byte & 7].map(|digit| char::from(b'0' + digit)));
            }
        }
    }
}

fn put_hex(byte: u8, out: &mut String) {
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

fn hex_digit(c: char) -> Option<u8> {
    c.to_digit(16).map(|digit| digit as u8)
}

/// Reads bytes: hexadecimal behind `\x`, otherwise characters with `\\` and `\ooo` (octal) escapes.
/// # Errors
/// 22023 for bad hexadecimal digits, 22P02 for bad escapes.
pub fn parse_bytea(text: &str) -> Result<Vec<u8>, TypeError> {
    match text.strip_prefix("\\x") {
        Some(digits) => parse_hex(digits),
        None => parse_escaped(text),
    }
}

fn parse_hex(text: &str) -> Result<Vec<u8>, TypeError> {
    let error = |message: String| Err(TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, message));
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let (mut chars, mut pieces) = (text.chars(), Pieces::default());
    while let Some(first) = chars.next() {
        pieces.one_more()?;
        // blanks may stand between bytes, not within
        if matches!(first, ' ' | '\n' | '\t' | '\r') {
            continue;
        }
        let Some(high) = hex_digit(first) else {
            return error(format!("invalid hexadecimal digit: \"{first}\""));
        };
        match chars.next().map(|second| hex_digit(second).ok_or(second)) {
            Some(Ok(low)) => bytes.push(high << 4 | low),
            Some(Err(second)) => return error(format!("invalid hexadecimal digit: \"{second}\"")),
            None => return error("invalid hexadecimal data: odd number of digits".to_string()),
        }
    }
    Ok(bytes)
}

fn parse_escaped(text: &str) -> Result<Vec<u8>, TypeError> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut pieces) = (text.as_bytes(), Pieces::default());
    while let [first, tail @ ..] = rest {
        pieces.one_more()?;
        rest = match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => {
                bytes.push(b'\\');
                tail
            }
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                tail
            }
            (b'\\', _) => {
                let message = "invalid input syntax for type bytea";
                return Err(TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message));
            }
            (byte, tail) => {
                bytes.push(*byte);
                tail
            }
        };
    }
    Ok(bytes)
}

/// Appends a UUID in its usual form.
pub fn format_uuid(uuid: u128, out: &mut String) {
    for (i, byte) in uuid.to_be_bytes().into_iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        put_hex(byte, out);
    }
}

/// Reads a UUID: 32 hexadecimal digits, a hyphen after any group of four, braces around.
/// # Errors
/// 22P02.
pub fn parse_uuid(text: &str) -> Result<u128, TypeError> {
    let error = || TypeError::syntax("uuid", text);
    let body = match text.strip_prefix('{') {
        Some(body) => body.strip_suffix('}').ok_or_else(error)?,
        None => text,
    };
    let (mut uuid, mut digits, mut hyphen) = (0u128, 0, false);
    for c in body.chars() {
        match hex_digit(c) {
            Some(digit) if digits < 32 => {
                uuid = uuid << 4 | u128::from(digit);
                (digits, hyphen) = (digits + 1, false);
            }
            None if c == '-' && digits % 4 == 0 && (1..32).contains(&digits) && !hyphen => hyphen = true,
            _ => return Err(error()),
        }
    }
    if digits == 32 { Ok(uuid) } else { Err(error()) }
}
