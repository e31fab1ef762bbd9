//! Names taken apart: `parse_ident`. Source: PostgreSQL's `misc.c`.

use verso_types::{SqlType, TypeError, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// What SQL takes for a blank.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn starts_name(c: char) -> bool {
    c == '_' || c.is_ascii_alphabetic() || !c.is_ascii()
}

fn goes_on(c: char) -> bool {
    starts_name(c) || c.is_ascii_digit() || c == '$'
}

/// The name in front of a text, if it begins with one, and what is behind it.
fn first_name(text: &str) -> std::result::Result<Option<(String, &str)>, &'static str> {
    let Some(quoted) = text.strip_prefix('"') else {
        if !text.starts_with(starts_name) {
            return Ok(None);
        }
        let end = text.find(|c| !goes_on(c)).unwrap_or(text.len());
        return Ok(Some((text[..end].to_ascii_lowercase(), &text[end..])));
    };
    let (mut name, mut rest) = (String::new(), quoted);
    loop {
        let end = rest.find('"').ok_or("String has unclosed double quotes.")?;
        name.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(behind) => {
                name.push('"');
                rest = behind;
            }
            None if name.is_empty() => return Err("Quoted identifier must not be empty."),
            None => return Ok(Some((name, rest))),
        }
    }
}

fn parse_ident(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), strict @ ..] = args else { return Err(unexpected("parse_ident", args)) };
    let strict = !matches!(strict, [Value::Bool(false)]);
    let wrong = |detail: Option<&'static str>| -> ExecError {
        let error = TypeError::new("22023", format!("string is not a valid identifier: \"{text}\""));
        detail.map(|detail| error.clone().with_detail(detail)).unwrap_or(error).into()
    };
    let mut names = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    loop {
        let Some((name, behind)) = first_name(rest).map_err(|detail| wrong(Some(detail)))? else {
            return Err(wrong(match (rest.starts_with('.'), names.is_empty()) {
                (true, _) => Some("No valid identifier before \".\"."),
                (false, false) => Some("No valid identifier after \".\"."),
                (false, true) => None,
            }));
        };
        names.push(Value::text(&name));
        rest = behind.trim_start_matches(is_blank);
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start_matches(is_blank),
            None if strict && !rest.is_empty() => return Err(wrong(None)),
            None => return Ok(Value::Array(names.into())),
        }
    }
}

const fn entry(args: &'static [ArgType]) -> BuiltinFunction {
    BuiltinFunction {
        name: "parse_ident",
        operator: None,
        args,
        variadic: false,
        result: ResultType::FixedArray(SqlType::Text),
        strict: true,
        volatility: Volatility::Immutable,
        body: Body::Scalar(parse_ident),
        kernel: None,
    }
}

static FUNCTIONS: &[BuiltinFunction] = &[
    entry(&[ArgType::Exact(SqlType::Text)]),
    entry(&[ArgType::Exact(SqlType::Text), ArgType::Exact(SqlType::Bool)]),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
