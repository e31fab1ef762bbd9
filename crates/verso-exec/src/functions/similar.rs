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

/// How far a bracket expression has been read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The bracket.
    Bracket,
    /// The bracket and `^`.
    Negation,
    /// More than that.
    Behind,
}

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
    let (mut escaped, mut separators) = (false, 0);
    // How many brackets are open: of a bracket expression, and in it of a class, `[:alpha:]`.
    let mut brackets = 0;
    // Whether a bracket that closes would be the first character, or the first behind `^`, which stands for itself.
    let mut start = Start::Behind;
    for c in pattern.chars() {
        if escaped {
            escaped = false;
            if c == '"' && brackets == 0 {
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
                start = Start::Behind;
            }
        } else if Some(c) == escape {
            escaped = true;
        } else if brackets > 0 {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            match c {
                ']' if start == Start::Behind => brackets -= 1,
                '[' => {
                    brackets += 1;
                    start = Start::Behind;
                }
                '^' if start == Start::Bracket => start = Start::Negation,
                _ => start = Start::Behind,
            }
        } else {
            match c {
                '[' => {
                    out.push('[');
                    (brackets, start) = (1, Start::Bracket);
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
