//! Unicode: normal forms (`normalize`, `IS NORMALIZED`), case folding, escapes, which characters are assigned.

use unicode_normalization::UnicodeNormalization;
use verso_types::{SqlType, TypeError, Value};

use super::case;
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

/// Texts that differ in case only become the same one.
fn casefold(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("casefold", args)) };
    case::casefold(cx, case::Mapping::Simple, text)
}

fn is_assigned(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("unicode_assigned", args)) };
    let private = |c: char| matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}');
    let assigned = |c: char| private(c) || unicode_normalization::char::is_public_assigned(c);
    Ok(Value::Bool(text.chars().all(assigned)))
}

fn version(_: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    let (major, minor, _) = unicode_normalization::UNICODE_VERSION;
    Ok(Value::text(&format!("{major}.{minor}")))
}

/// `\0061`, `\+000061`, `\u0061`, `\U00000061` as the characters they stand for.
fn unistr(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text)] = args else { return Err(unexpected("unistr", args)) };
    let wrong = || {
        TypeError::new("42601", "invalid Unicode escape")
            .with_hint("Unicode escapes must be \\XXXX, \\+XXXXXX, \\uXXXX, or \\UXXXXXXXX.")
    };
    let (mut out, mut rest, mut high) = (String::with_capacity(text.len()), &**text, None::<u32>);
    while let Some(at) = rest.find('\\') {
        if high.is_some() && at > 0 {
            return Err(TypeError::new("42601", "invalid Unicode surrogate pair").into());
        }
        out.push_str(&rest[..at]);
        let escape = &rest[at + 1..];
        if let Some(behind) = escape.strip_prefix('\\') {
            if high.is_some() {
                return Err(TypeError::new("42601", "invalid Unicode surrogate pair").into());
            }
            out.push('\\');
            rest = behind;
            continue;
        }
        let (skip, digits) = match escape.as_bytes().first() {
            Some(b'+') => (1, 6),
            Some(b'u') => (1, 4),
            Some(b'U') => (1, 8),
            _ => (0, 4),
        };
        let hex = escape.get(skip..skip + digits).ok_or_else(wrong)?;
        if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong().into());
        }
        let code = u32::from_str_radix(hex, 16).map_err(|_| wrong())?;
        rest = &escape[skip + digits..];
        let pair = || TypeError::new("42601", "invalid Unicode surrogate pair");
        let code = match (high.take(), code) {
            (Some(high), 0xdc00..=0xdfff) => 0x1_0000 + ((high - 0xd800) << 10) + (code - 0xdc00),
            (Some(_), _) | (None, 0xdc00..=0xdfff) => return Err(pair().into()),
            (None, 0xd800..=0xdbff) => {
                high = Some(code);
                continue;
            }
            (None, code) => code,
        };
        match char::from_u32(code) {
            Some(char) if char != '\0' => out.push(char),
            _ => {
                let text = format!("invalid Unicode code point: {code:04X}");
                return Err(TypeError::new("22023", text).into());
            }
        }
    }
    if high.is_some() {
        return Err(TypeError::new("42601", "invalid Unicode surrogate pair").into());
    }
    out.push_str(rest);
    Ok(Value::Text(out.into()))
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry!("casefold" () [Text] => Text, casefold, None),
    entry!("unicode_assigned" () [Text] => Bool, is_assigned, None),
    entry!("unicode_version" () [] => Text, version, None),
    // The data of collations are of the same version.
    entry!("icu_unicode_version" () [] => Text, version, None),
    entry!("unistr" () [Text] => Text, unistr, None),
    entry!("normalize" () [Text] => Text, normalize, None),
    entry!("normalize" () [Text, Text] => Text, normalize, None),
    entry!("is_normalized" () [Text] => Bool, is_normalized, None),
    entry!("is_normalized" () [Text, Text] => Bool, is_normalized, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
