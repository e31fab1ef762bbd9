//! The binary form as text.

use std::fmt::Write as _;

use super::{DEPTH_MAX, JsonRef};
use crate::decimal::write_scaled;
use crate::error::TypeError;
use crate::interrupt::text_pieces;

/// Appends a string in quotes, with escapes where JSON wants them.
pub fn escape_into(text: &str, out: &mut String) {
    out.push('"');
    escape_part(text, out);
    out.push('"');
}

/// As [`escape_into`], for texts of any length.
///
/// # Errors
/// 57014 if it is not wanted any more.
pub fn escape_long(text: &str, out: &mut String) -> Result<(), TypeError> {
    out.push('"');
    text_pieces(text).try_for_each(|piece| piece.map(|piece| escape_part(piece, out)))?;
    out.push('"');
    Ok(())
}

/// Appends a part of a string between quotes.
fn escape_part(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c < ' ' || c == '"' || c == '\\') {
        out.push_str(&rest[..at]);
        let c = rest.as_bytes()[at];
        match c {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            // writing to a String cannot fail
            _ => {
                let _ = write!(out, "\\u{c:04x}");
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
}

fn scalar_into(value: JsonRef<'_>, out: &mut String) {
    match value {
        JsonRef::Bool(true) => out.push_str("true"),
        JsonRef::Bool(false) => out.push_str("false"),
        JsonRef::Number(v) => {
            let _ = write_scaled(v.unscaled(), v.scale(), out);
        }
        JsonRef::Long(v) => {
            let _ = write!(out, "{}", v.number());
        }
        JsonRef::String(v) => escape_into(v, out),
        _ => out.push_str("null"),
    }
}

/// Appends the text of a value: `{"a": [1, 2]}`.
pub fn format_into(value: JsonRef<'_>, out: &mut String) {
    nested(value, out, 0);
}

fn nested(value: JsonRef<'_>, out: &mut String, depth: usize) {
    match value {
        JsonRef::Array(elements) if depth <= DEPTH_MAX => {
            out.push('[');
            for (n, element) in elements.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                nested(element, out, depth + 1);
            }
            out.push(']');
        }
        JsonRef::Object(pairs) if depth <= DEPTH_MAX => {
            out.push('{');
            for (n, (key, value)) in pairs.iter().enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                escape_into(key, out);
                out.push_str(": ");
                nested(value, out, depth + 1);
            }
            out.push('}');
        }
        scalar => scalar_into(scalar, out),
    }
}

/// Appends the text with a line for each element, as `jsonb_pretty`.
///
/// # Errors
/// Those of `go_on`, which is asked behind each element and may take what is written so far.
pub fn pretty_into<E>(
    value: JsonRef<'_>,
    out: &mut String,
    go_on: &mut dyn FnMut(&mut String) -> Result<(), E>,
) -> Result<(), E> {
    pretty(value, out, 0, go_on)
}

fn line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("    ", depth));
}

fn pretty<E>(
    value: JsonRef<'_>,
    out: &mut String,
    depth: usize,
    go_on: &mut dyn FnMut(&mut String) -> Result<(), E>,
) -> Result<(), E> {
    match value {
        JsonRef::Array(elements) if depth <= DEPTH_MAX => {
            out.push('[');
            for (n, element) in elements.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                pretty(element, out, depth + 1, go_on)?;
                go_on(out)?;
            }
            line(out, depth);
            out.push(']');
        }
        JsonRef::Object(pairs) if depth <= DEPTH_MAX => {
            out.push('{');
            for (n, (key, value)) in pairs.iter().enumerate() {
                if n > 0 {
                    out.push(',');
                }
                line(out, depth + 1);
                escape_into(key, out);
                out.push_str(": ");
                pretty(value, out, depth + 1, go_on)?;
                go_on(out)?;
            }
            line(out, depth);
            out.push('}');
        }
        scalar => scalar_into(scalar, out),
    }
    Ok(())
}
