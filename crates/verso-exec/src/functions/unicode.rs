//! Normal forms of Unicode: `normalize`, `IS NORMALIZED`.

use unicode_normalization::UnicodeNormalization;
use verso_types::{SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::Bytes;

/// Characters between two pieces that are counted.
const PIECE_BYTES: usize = 16 << 10;

type Normal<'a> = Box<dyn Iterator<Item = char> + 'a>;

fn normal<'a>(text: &'a str, form: &str) -> Result<Normal<'a>> {
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => Box::new(text.nfc()),
        "NFD" => Box::new(text.nfd()),
        "NFKC" => Box::new(text.nfkc()),
        "NFKD" => Box::new(text.nfkd()),
        _ => return Err(TypeError::new("22023", format!("invalid normalization form: {form}")).into()),
    })
}

fn arguments<'a>(args: &'a [Value], name: &str) -> Result<(&'a str, &'a str)> {
    match args {
        [Value::Text(text)] => Ok((text, "NFC")),
        [Value::Text(text), Value::Text(form)] => Ok((text, form)),
        _ => Err(unexpected(name, args)),
    }
}

fn normalize(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, form) = arguments(args, "normalize")?;
    let (mut out, mut piece) = (Bytes::new(cx), String::new());
    for c in normal(text, form)? {
        piece.push(c);
        if piece.len() >= PIECE_BYTES {
            out.push(piece.as_bytes())?;
            piece.clear();
        }
    }
    out.push(piece.as_bytes())?;
    Ok(out.into_text())
}

fn is_normalized(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (text, form) = arguments(args, "is_normalized")?;
    Ok(Value::Bool(normal(text, form)?.eq(text.chars())))
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("normalize" () [Text] => Text, normalize, None),
    entry!("normalize" () [Text, Text] => Text, normalize, None),
    entry!("is_normalized" () [Text] => Bool, is_normalized, None),
    entry!("is_normalized" () [Text, Text] => Bool, is_normalized, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
