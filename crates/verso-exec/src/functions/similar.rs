//! SQL's own regular expressions: SIMILAR TO, `substring(text SIMILAR pattern ESCAPE e)`.
//!
//! A pattern is rewritten as a regular expression that matches whole texts, as PostgreSQL does.

use std::sync::Arc;

use verso_types::{SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::patterns::substring_of;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// The regular expression; `escape` is one character or none at all.
fn translated(pattern: &str, escape: &str) -> Result<String> {
    let mut chars = escape.chars();
    let escape = match (chars.next(), chars.next()) {
        (escape, None) => escape,
        _ => {
            return Err(TypeError::new("22025", "invalid escape string")
                .with_hint("Escape string must be empty or one character.")
                .into());
        }
    };
    // The part before the first separator matches as little as it can.
    let mut out = String::from("^(?:");
    let (mut escaped, mut class, mut class_start, mut separators) = (false, false, false, 0);
    for c in pattern.chars() {
        if escaped {
            escaped = false;
            if c == '"' && !class {
                out.push_str(match separators {
                    0 => "){1,1}?(",
                    1 => "){1,1}(?:",
                    _ => {
                        let text =
                            "SQL regular expression may not contain more than two escape-double-quote separators";
                        return Err(TypeError::new("2200C", text).into());
                    }
                });
                separators += 1;
            } else {
                out.extend(['\\', c]);
            }
        } else if Some(c) == escape {
            escaped = true;
        } else if class {
            if c == '\\' || c == '[' {
                out.push('\\');
            }
            out.push(c);
            // A bracket that comes first stands for itself.
            class = c != ']' || class_start;
            class_start = class_start && c == '^';
        } else {
            match c {
                '[' => {
                    out.push('[');
                    (class, class_start) = (true, true);
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}

fn similar_to_escape(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Text(pattern)] => Ok(Value::Text(translated(pattern, "\\")?.into())),
        [Value::Text(pattern), Value::Text(escape)] => Ok(Value::Text(translated(pattern, escape)?.into())),
        _ => Err(unexpected("similar_to_escape", args)),
    }
}

/// A pattern of LIKE whose escape character is a backslash, from one with another: what `LIKE … ESCAPE …` becomes in
/// definitions.
fn like_escape(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(pattern), Value::Text(escape)] = args else {
        return Err(unexpected("like_escape", args));
    };
    let mut characters = escape.chars();
    let escape = characters.next();
    if characters.next().is_some() {
        return Err(TypeError::new("22025", "invalid escape string")
            .with_hint("Escape string must be empty or one character.")
            .into());
    }
    if escape == Some('\\') {
        return Ok(Value::Text(Arc::clone(pattern)));
    }
    let mut out = String::with_capacity(pattern.len());
    let mut escaped = false;
    for c in pattern.chars() {
        let escapes = Some(c) == escape && !escaped;
        match c {
            _ if escapes => out.push('\\'),
            '\\' if !escaped => out.push_str("\\\\"),
            c => out.push(c),
        }
        escaped = escapes;
    }
    Ok(Value::Text(out.into()))
}

/// `substring(text, pattern, escape)`
fn substring(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern), Value::Text(escape)] = args else {
        return Err(unexpected("substring", args));
    };
    substring_of(cx, text, &translated(pattern, escape)?)
}

static SIMILAR: &[BuiltinFunction] = &[
    entry!("similar_to_escape" () [Text] => Text, similar_to_escape, None),
    entry!("similar_to_escape" () [Text, Text] => Text, similar_to_escape, None),
    entry!("like_escape" () [Text, Text] => Text, like_escape, None),
    entry!("substring" () [Text, Text, Text] => Text, substring, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [SIMILAR];
