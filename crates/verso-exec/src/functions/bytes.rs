//! Functions of `bytea`: digests, encodings, single bytes and bits.

use std::fmt::Write as _;

use md5::Md5;
use sha2::digest::Digest;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use verso_types::interrupt::Pieces;
use verso_types::{SqlType, TypeError, Value, put_hex_bytes};

use super::define::{entry, pattern, unexpected};
use super::texts::part_wanted;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;

/// Bytes of a digest between two looks at the flag that cancels.
const DIGEST_STEP: usize = 4 << 20;
/// Of a line of `encode(…, 'base64')`, as MIME has it.
const BASE64_LINE: usize = 76;
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cold]
fn invalid(message: impl Into<String>) -> TypeError {
    TypeError::new("22023", message)
}

fn to_hex(bytes: &[u8]) -> String {
    let mut hex = String::new();
    put_hex_bytes(bytes, &mut hex);
    hex
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let mut digits = text.chars().filter(|c| !matches!(c, ' ' | '\n' | '\t' | '\r'));
    let (mut bytes, mut pieces) = (Vec::with_capacity(text.len() / 2), Pieces::default());
    while let Some(first) = digits.next() {
        pieces.one_more()?;
        let digit =
            |c: char| c.to_digit(16).ok_or_else(|| invalid(format!("invalid hexadecimal digit: \"{c}\"")));
        let high = digit(first)?;
        let Some(low) = digits.next() else {
            return Err(invalid("invalid hexadecimal data: odd number of digits").into());
        };
        bytes.push((high * 16 + digit(low)?) as u8);
    }
    Ok(bytes)
}

/// A line ends as soon as it is full, also the last one.
fn to_base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 4 / 3 + bytes.len() / 57 + 4);
    let mut line = 0;
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let digit = BASE64[(bits >> (18 - 6 * place) & 63) as usize];
            out.push(if place > group.len() { '=' } else { char::from(digit) });
        }
        line += 4;
        if line == BASE64_LINE && group.len() == 3 {
            out.push('\n');
            line = 0;
        }
    }
    out
}

fn from_base64(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut place, mut padding) = (0u32, 0, 0);
    let mut pieces = Pieces::default();
    for c in text.chars() {
        pieces.one_more()?;
        let digit = match c {
            ' ' | '\n' | '\t' | '\r' => continue,
            '=' => {
                if padding == 0 && place < 2 {
                    return Err(invalid("unexpected \"=\" while decoding base64 sequence").into());
                }
                padding = if padding == 0 { 4 - place } else { padding };
                0
            }
            c => {
                let found = BASE64.iter().position(|digit| char::from(*digit) == c);
                let message =
                    || invalid(format!("invalid symbol \"{c}\" found while decoding base64 sequence"));
                found.ok_or_else(message)? as u32
            }
        };
        bits = bits << 6 | digit;
        place += 1;
        if place == 4 {
            let group = bits.to_be_bytes();
            bytes.extend_from_slice(&group[1..4 - padding.min(2)]);
            (bits, place) = (0, 0);
        }
    }
    if place != 0 {
        let hint = "Input data is missing padding, is truncated, or is otherwise corrupted.";
        return Err(invalid("invalid base64 end sequence").with_hint(hint).into());
    }
    Ok(bytes)
}

fn to_escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len()), |mut out, byte| {
        match byte {
            b'\\' => out.push_str("\\\\"),
            1..=127 => out.push(char::from(*byte)),
            // writing to a String cannot fail
            _ => drop(write!(out, "\\{byte:03o}")),
        }
        out
    })
}

fn from_escape(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let (mut rest, mut pieces) = (text.as_bytes(), Pieces::default());
    while let Some((byte, behind)) = rest.split_first() {
        pieces.one_more()?;
        rest = behind;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        rest = match rest {
            [b'\\', behind @ ..] => {
                bytes.push(b'\\');
                behind
            }
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', behind @ ..] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                behind
            }
            _ => return Err(TypeError::new("22P02", "invalid input syntax for type bytea").into()),
        };
    }
    Ok(bytes)
}

/// The digest of some bytes, in steps between which the statement may be cancelled.
pub(super) fn digest<D: Digest>(cx: &EvalContext<'_>, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut digest = D::new();
    for piece in bytes.chunks(DIGEST_STEP) {
        cx.runtime.check_cancelled()?;
        digest.update(piece);
    }
    Ok(digest.finalize().to_vec())
}

#[cold]
fn no_encoding(format: &str) -> TypeError {
    invalid(format!("unrecognized encoding: \"{format}\""))
}

/// Input bytes of a piece of `encode`: whole lines of base64.
const PIECE_BYTES: usize = BASE64_LINE / 4 * 3 * 64;

fn encode(cx: &EvalContext<'_>, bytes: &[u8], format: &str) -> Result<Value> {
    let piece = match format.to_ascii_lowercase().as_str() {
        "hex" => to_hex,
        "base64" => to_base64,
        "escape" => to_escape,
        _ => return Err(no_encoding(format).into()),
    };
    let mut out = Bytes::new(cx);
    bytes.chunks(PIECE_BYTES).try_for_each(|part| out.push(piece(part).as_bytes()))?;
    Ok(out.into_text())
}

fn decode(cx: &EvalContext<'_>, text: &str, format: &str) -> Result<Value> {
    // no more bytes than the text has, whatever the form
    let mut out = Bytes::with_capacity(cx, text.len())?;
    let bytes = match format.to_ascii_lowercase().as_str() {
        "hex" => from_hex(text)?,
        "base64" => from_base64(text)?,
        "escape" => from_escape(text)?,
        _ => return Err(no_encoding(format).into()),
    };
    out.push(&bytes)?;
    Ok(out.into_bytea())
}

/// The place of a byte, if it is one of `count`.
fn place(index: i64, count: i64) -> Result<usize> {
    match usize::try_from(index) {
        Ok(at) if index < count => Ok(at),
        _ => {
            let message = format!("index {index} out of valid range, 0..{}", count - 1);
            Err(TypeError::new("2202E", message).into())
        }
    }
}

fn get_byte(bytes: &[u8], index: i32) -> Result<Value> {
    Ok(Value::Int4(bytes[place(index.into(), bytes.len() as i64)?].into()))
}

/// The low eight bits of the number.
fn set_byte(bytes: &[u8], index: i32, byte: i32) -> Result<Value> {
    let at = place(index.into(), bytes.len() as i64)?;
    let mut bytes = bytes.to_vec();
    bytes[at] = byte as u8;
    Ok(Value::bytes(&bytes))
}

/// Bits count from the lowest of each byte.
fn get_bit(bytes: &[u8], index: i64) -> Result<Value> {
    let at = place(index, bytes.len() as i64 * 8)?;
    Ok(Value::Int4((bytes[at / 8] >> (at % 8) & 1).into()))
}

fn set_bit(bytes: &[u8], index: i64, bit: i32) -> Result<Value> {
    let at = place(index, bytes.len() as i64 * 8)?;
    let mut bytes = bytes.to_vec();
    match bit {
        0 => bytes[at / 8] &= !(1 << (at % 8)),
        1 => bytes[at / 8] |= 1 << (at % 8),
        _ => return Err(invalid("new bit must be 0 or 1").into()),
    }
    Ok(Value::bytes(&bytes))
}

/// `substring(bytes from start for length)`.
fn part(bytes: &[u8], start: i32, length: Option<i32>) -> Result<Value> {
    let (skip, take) = part_wanted(start, length)?;
    let rest = &bytes[skip.min(bytes.len())..];
    Ok(Value::bytes(&rest[..take.min(rest.len())]))
}

/// `overlay(bytes placing new from start for length)`.
fn overlay(bytes: &[u8], new: &[u8], start: i32, length: i64) -> Result<Value> {
    if start <= 0 {
        return Err(TypeError::new("22011", "negative substring length not allowed").into());
    }
    let behind = i64::from(start) - 1 + length;
    if i32::try_from(behind + 1).is_err() {
        return Err(TypeError::out_of_range("integer").into());
    }
    let at = |place: i64| usize::try_from(place).unwrap_or(0).min(bytes.len());
    let (head, tail) = (&bytes[..at(i64::from(start) - 1)], &bytes[at(behind)..]);
    Ok(Value::bytes(&[head, new, tail].concat()))
}

/// Where the second is in the first, from 1 on; 0 where it is not.
fn position(cx: &EvalContext<'_>, bytes: &[u8], wanted: &[u8]) -> Result<Value> {
    if wanted.is_empty() {
        return Ok(Value::Int4(1));
    }
    for (at, window) in bytes.windows(wanted.len()).enumerate() {
        if at % DIGEST_STEP == 0 {
            cx.runtime.check_cancelled()?;
        }
        if window == wanted {
            return Ok(Value::Int4(i32::try_from(at + 1).map_err(|_| TypeError::out_of_range("integer"))?));
        }
    }
    Ok(Value::Int4(0))
}

/// Without the bytes of a set at its ends.
fn trimmed<'b>(bytes: &'b [u8], set: &[u8], start: bool, end: bool) -> &'b [u8] {
    let kept = |byte: &u8| !set.contains(byte);
    let first = if start { bytes.iter().position(kept).unwrap_or(bytes.len()) } else { 0 };
    let last = if end { bytes.iter().rposition(kept).map_or(0, |at| at + 1) } else { bytes.len() };
    &bytes[first..last.max(first)]
}

fn length_in_bits(bytes: &[u8]) -> Result<Value> {
    Ok(Value::Int4(i32::try_from(bytes.len() * 8).map_err(|_| TypeError::out_of_range("integer"))?))
}

/// How many bits are set.
fn ones(cx: &EvalContext<'_>, bytes: &[u8]) -> Result<Value> {
    let mut count = 0;
    for piece in bytes.chunks(DIGEST_STEP) {
        cx.runtime.check_cancelled()?;
        count += piece.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>();
    }
    Ok(Value::Int8(count))
}

fn reversed(cx: &EvalContext<'_>, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut reversed = Vec::with_capacity(bytes.len());
    for piece in bytes.rchunks(DIGEST_STEP) {
        cx.runtime.check_cancelled()?;
        reversed.extend(piece.iter().rev());
    }
    Ok(reversed)
}

/// A strict, immutable function.
macro_rules! bytes_function {
    ($name:literal with $cx:ident: $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        entry!($name () [$($ty),*] => $res, |$cx, args| match args {
            [$(pattern!($ty, $v)),*] => $body,
            _ => Err(unexpected($name, args)),
        }, None)
    };
    ($name:literal: $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        entry!($name () [$($ty),*] => $res, |_, args| match args {
            [$(pattern!($ty, $v)),*] => $body,
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

static BYTES: &[BuiltinFunction] = &[
    bytes_function!("md5" with cx: a Text => Text = Ok(Value::text(&to_hex(&digest::<Md5>(cx, a.as_bytes())?)))),
    bytes_function!("md5" with cx: a Bytea => Text = Ok(Value::text(&to_hex(&digest::<Md5>(cx, a)?)))),
    bytes_function!("sha224" with cx: a Bytea => Bytea = Ok(Value::bytes(&digest::<Sha224>(cx, a)?))),
    bytes_function!("sha256" with cx: a Bytea => Bytea = Ok(Value::bytes(&digest::<Sha256>(cx, a)?))),
    bytes_function!("sha384" with cx: a Bytea => Bytea = Ok(Value::bytes(&digest::<Sha384>(cx, a)?))),
    bytes_function!("sha512" with cx: a Bytea => Bytea = Ok(Value::bytes(&digest::<Sha512>(cx, a)?))),
    entry!("encode" () [Bytea, Text] => Text, |cx, args| match args {
        [Value::Bytes(a), Value::Text(b)] => encode(cx, a, b),
        _ => Err(unexpected("encode", args)),
    }, None),
    entry!("decode" () [Text, Text] => Bytea, |cx, args| match args {
        [Value::Text(a), Value::Text(b)] => decode(cx, a, b),
        _ => Err(unexpected("decode", args)),
    }, None),
    bytes_function!("get_byte": a Bytea, b Int4 => Int4 = get_byte(a, *b)),
    bytes_function!("set_byte": a Bytea, b Int4, c Int4 => Bytea = set_byte(a, *b, *c)),
    bytes_function!("get_bit": a Bytea, b Int8 => Int4 = get_bit(a, *b)),
    bytes_function!("set_bit": a Bytea, b Int8, c Int4 => Bytea = set_bit(a, *b, *c)),
    bytes_function!("bit_count" with cx: a Bytea => Int8 = ones(cx, a)),
    bytes_function!("bit_length": a Bytea => Int4 = length_in_bits(a)),
    bytes_function!("reverse" with cx: a Bytea => Bytea = Ok(Value::Bytes(reversed(cx, a)?.into()))),
    bytes_function!("substring": a Bytea, b Int4 => Bytea = part(a, *b, None)),
    bytes_function!("substring": a Bytea, b Int4, c Int4 => Bytea = part(a, *b, Some(*c))),
    bytes_function!("overlay": a Bytea, b Bytea, c Int4 => Bytea = overlay(a, b, *c, b.len() as i64)),
    bytes_function!("overlay": a Bytea, b Bytea, c Int4, d Int4 => Bytea = overlay(a, b, *c, i64::from(*d))),
    bytes_function!("position" with cx: a Bytea, b Bytea => Int4 = position(cx, a, b)),
    bytes_function!("btrim": a Bytea, b Bytea => Bytea = Ok(Value::bytes(trimmed(a, b, true, true)))),
    bytes_function!("ltrim": a Bytea, b Bytea => Bytea = Ok(Value::bytes(trimmed(a, b, true, false)))),
    bytes_function!("rtrim": a Bytea, b Bytea => Bytea = Ok(Value::bytes(trimmed(a, b, false, true)))),
    bytes_function!("substr": a Bytea, b Int4 => Bytea = part(a, *b, None)),
    bytes_function!("substr": a Bytea, b Int4, c Int4 => Bytea = part(a, *b, Some(*c))),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [BYTES];
