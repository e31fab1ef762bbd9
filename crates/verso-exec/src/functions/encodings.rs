//! Texts as bytes in an encoding, and back: `convert_from`, `convert_to`, `convert`.

use verso_types::encoding::STEP_BYTES;
use verso_types::{Encoding, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// The encoding of that name; `side` is `source` or `destination`.
fn named(name: &str, side: &str) -> Result<Encoding> {
    Encoding::named(name)
        .ok_or_else(|| TypeError::new("22023", format!("invalid {side} encoding name \"{name}\"")).into())
}

/// Bytes as a text, piece by piece.
fn read(cx: &EvalContext<'_>, encoding: Encoding, bytes: &[u8]) -> Result<String> {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while !rest.is_empty() {
        cx.runtime.check_cancelled()?;
        // Nothing is whole where the last character is cut off.
        let end = Some(encoding.whole(rest, STEP_BYTES)).filter(|end| *end > 0).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        text.push_str(&encoding.decode(piece)?);
        rest = behind;
    }
    Ok(text)
}

/// A text as bytes, piece by piece.
fn write(cx: &EvalContext<'_>, encoding: Encoding, text: &str) -> Result<Value> {
    if !encoding.converts() {
        // Without another copy of a long one.
        return Ok(Value::bytes(text.as_bytes()));
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        cx.runtime.check_cancelled()?;
        let end = Encoding::UTF8.whole(rest.as_bytes(), STEP_BYTES).max(1);
        let (piece, behind) = rest.split_at(end);
        bytes.extend_from_slice(&encoding.encode(piece)?);
        rest = behind;
    }
    Ok(Value::Bytes(bytes.into()))
}

fn convert_from(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(bytes), Value::Text(name)] = args else { return Err(unexpected("convert_from", args)) };
    Ok(Value::Text(read(cx, named(name, "source")?, bytes)?.into()))
}

fn convert_to(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(name)] = args else { return Err(unexpected("convert_to", args)) };
    write(cx, named(name, "destination")?, text)
}

fn convert(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(bytes), Value::Text(from), Value::Text(to)] = args else {
        return Err(unexpected("convert", args));
    };
    let (from, to) = (named(from, "source")?, named(to, "destination")?);
    write(cx, to, &read(cx, from, bytes)?)
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("convert_from" () [Bytea, Name] => Text, convert_from, None),
    entry!("convert_to" () [Text, Name] => Bytea, convert_to, None),
    entry!("convert" () [Bytea, Name, Name] => Bytea, convert, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
