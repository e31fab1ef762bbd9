//! Texts as bytes in an encoding, and back: `convert_from`, `convert_to`, `convert`.
//!
//! Texts are UTF-8. Of other encodings there are those of one byte whose characters are the first of Unicode.

use verso_types::{SqlType, TypeError, Value, interrupt};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Utf8,
    Latin1,
    Ascii,
}

/// Bytes between two looks at the flag that cancels.
const STEP_BYTES: usize = 4 << 20;

impl Encoding {
    /// The encoding of that name, written in any of PostgreSQL's ways; `side` is `source` or `destination`.
    fn named(name: &str, side: &str) -> Result<Encoding> {
        let plain: String =
            name.chars().filter(char::is_ascii_alphanumeric).map(|char| char.to_ascii_lowercase()).collect();
        Ok(match plain.as_str() {
            "utf8" | "unicode" => Encoding::Utf8,
            "latin1" | "iso88591" => Encoding::Latin1,
            "sqlascii" => Encoding::Ascii,
            _ => {
                return Err(
                    TypeError::new("22023", format!("invalid {side} encoding name \"{name}\"")).into()
                );
            }
        })
    }

    fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF8",
            Encoding::Latin1 => "LATIN1",
            Encoding::Ascii => "SQL_ASCII",
        }
    }

    fn read(self, cx: &EvalContext<'_>, bytes: &[u8]) -> Result<String> {
        match self {
            Encoding::Latin1 => {
                let mut text = String::with_capacity(bytes.len());
                for piece in bytes.chunks(STEP_BYTES) {
                    cx.runtime.check_cancelled()?;
                    text.extend(piece.iter().map(|byte| char::from(*byte)));
                }
                Ok(text)
            }
            Encoding::Utf8 | Encoding::Ascii => match utf8(bytes)? {
                Some(text) => Ok(text),
                None => {
                    let found = std::str::from_utf8(bytes);
                    let at =
                        found.map_or_else(|error| error.valid_up_to(), |text| text.find('\0').unwrap_or(0));
                    let wrong: Vec<String> = bytes[at..]
                        .iter()
                        .take(length_of(bytes[at]))
                        .map(|byte| format!("0x{byte:02x}"))
                        .collect();
                    let text = format!("invalid byte sequence for encoding \"UTF8\": {}", wrong.join(" "));
                    Err(TypeError::new("22021", text).into())
                }
            },
        }
    }

    fn write(self, text: &str) -> Result<Vec<u8>> {
        match self {
            Encoding::Utf8 | Encoding::Ascii => Ok(text.as_bytes().to_vec()),
            Encoding::Latin1 => text
                .chars()
                .map(|char| {
                    u8::try_from(u32::from(char)).map_err(|_| {
                        let mut buffer = [0; 4];
                        let bytes = char.encode_utf8(&mut buffer).bytes();
                        let bytes: Vec<String> = bytes.map(|byte| format!("0x{byte:02x}")).collect();
                        let text = format!(
                            "character with byte sequence {} in encoding \"UTF8\" has no equivalent in encoding \"{}\"",
                            bytes.join(" "),
                            self.name()
                        );
                        TypeError::new("22P05", text).into()
                    })
                })
                .collect(),
        }
    }
}

/// Bytes as a text, piece by piece; none where they are no text, or one with zeroes.
fn utf8(bytes: &[u8]) -> Result<Option<String>, TypeError> {
    let mut text = String::with_capacity(bytes.len());
    // The beginning of a character that goes on in the next piece.
    let mut open: Vec<u8> = Vec::new();
    for piece in interrupt::pieces(bytes) {
        let mut piece = piece?;
        while !open.is_empty() && open.len() < length_of(open[0]) && !piece.is_empty() {
            open.push(piece[0]);
            piece = &piece[1..];
        }
        let whole = match std::str::from_utf8(piece) {
            Ok(_) => piece.len(),
            // Nothing but the end of the piece is wrong with it.
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            Err(_) => return Ok(None),
        };
        let (begun, rest) = piece.split_at(whole);
        let (Ok(before), Ok(begun)) = (std::str::from_utf8(&open), std::str::from_utf8(begun)) else {
            return Ok(None);
        };
        if before.contains('\0') || begun.contains('\0') {
            return Ok(None);
        }
        text.push_str(before);
        text.push_str(begun);
        open.clear();
        open.extend_from_slice(rest);
    }
    Ok(open.is_empty().then_some(text))
}

/// How many bytes a character has that begins so.
fn length_of(first: u8) -> usize {
    match first {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    }
}

fn convert_from(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(bytes), Value::Text(name)] = args else { return Err(unexpected("convert_from", args)) };
    Ok(Value::Text(Encoding::named(name, "source")?.read(cx, bytes)?.into()))
}

fn convert_to(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(name)] = args else { return Err(unexpected("convert_to", args)) };
    Ok(match Encoding::named(name, "destination")? {
        Encoding::Latin1 => Value::Bytes(Encoding::Latin1.write(text)?.into()),
        // Without another copy of a long one.
        Encoding::Utf8 | Encoding::Ascii => Value::bytes(text.as_bytes()),
    })
}

fn convert(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(bytes), Value::Text(from), Value::Text(to)] = args else {
        return Err(unexpected("convert", args));
    };
    let (from, to) = (Encoding::named(from, "source")?, Encoding::named(to, "destination")?);
    Ok(Value::Bytes(to.write(&from.read(cx, bytes)?)?.into()))
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("convert_from" () [Bytea, Name] => Text, convert_from, None),
    entry!("convert_to" () [Text, Name] => Bytea, convert_to, None),
    entry!("convert" () [Bytea, Name, Name] => Bytea, convert, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
