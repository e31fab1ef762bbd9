//! COPY, in the form with parentheses and in the older one; UNLOAD, LOAD.

use super::lexer::Token;

use super::cursor::Cursor;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{Columns, CopyFormat, CopyOptions, Header, LogVerbosity, OnError};
use crate::syntax::{Copy, CopyPlace, CopyWhat, Statement};
use verso_types::{Encoding, sqlstate};

/// COPY t [(columns)] | (query)  FROM | TO  'file' | STDIN | STDOUT  options.
pub fn copy(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let mut options = CopyOptions::default();
    let mut given = Vec::new();
    if cursor.accept(&["binary"]) {
        options.format = CopyFormat::Binary;
        given.push("format".to_owned());
    }
    let what = if cursor.accept_token(&Token::LParen) {
        let query = rows(cursor)?;
        cursor.expect_token(&Token::RParen)?;
        CopyWhat::Query(Box::new(query))
    } else {
        let name = cursor.qualified()?;
        CopyWhat::Table {
            name,
            columns: if matches!(cursor.peek(), Token::LParen) { names(cursor)? } else { Vec::new() },
        }
    };
    let from = match &what {
        CopyWhat::Table { .. } if cursor.accept(&["from"]) => true,
        _ => {
            cursor.expect(&["to"])?;
            false
        }
    };
    let place = if cursor.accept(&[if from { "stdin" } else { "stdout" }]) {
        CopyPlace::Client
    } else if cursor.is(&["program"]) {
        return Err(cursor.unsupported("COPY PROGRAM"));
    } else {
        CopyPlace::File(string_literal(cursor)?.0)
    };
    if cursor.accept(&["using", "delimiters"]) || cursor.accept(&["delimiters"]) {
        options.delimiter = Some(string_literal(cursor)?.0);
        given.push("delimiter".to_owned());
    }
    cursor.accept(&["with"]);
    if cursor.accept_token(&Token::LParen) {
        loop {
            option(cursor, &mut options, &mut given)?;
            if !cursor.accept_token(&Token::Comma) {
                break;
            }
        }
        cursor.expect_token(&Token::RParen)?;
    } else {
        while old_option(cursor, &mut options, &mut given)? {}
    }
    let at = cursor.here().start;
    let mut filter = None;
    if cursor.accept(&["where"]) {
        if !from {
            return Err(SyntaxError::syntax("WHERE clause not allowed with COPY TO").at(at));
        }
        filter = Some(cursor.expr()?);
    }
    Ok(Statement::Copy(Copy { what, from, place, options, filter }))
}

/// What stands in parentheses behind COPY: a query, or a change with RETURNING.
fn rows(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    const WORDS: [&str; 8] = ["select", "values", "with", "table", "insert", "update", "delete", "merge"];
    if !cursor.is_any(&WORDS) && !matches!(cursor.peek(), Token::LParen) {
        return Err(cursor.unexpected());
    }
    let statement = super::statement(cursor)?;
    match &statement {
        Statement::CreateTableAs(_) => Err(SyntaxError::unsupported("COPY (SELECT INTO)")),
        Statement::Query(_) => Ok(statement),
        change if change.returns_rows() => Ok(statement),
        _ => {
            let text = "COPY query must have a RETURNING clause";
            Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
        }
    }
}

/// UNLOAD TO 'file' query: COPY (query) TO 'file'.
pub fn unload(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    cursor.expect(&["to"])?;
    let place = CopyPlace::File(string_literal(cursor)?.0);
    let mut options = CopyOptions::default();
    if cursor.accept(&["delimiter"]) {
        options.delimiter = Some(string_literal(cursor)?.0);
    }
    let what = CopyWhat::Query(Box::new(Statement::Query(cursor.query()?)));
    Ok(Statement::Copy(Copy { what, from: false, place, options, filter: None }))
}

/// LOAD FROM 'file' INSERT INTO t [(columns)]: COPY t FROM 'file'.
pub fn load(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["load", "from"])?;
    let place = CopyPlace::File(string_literal(cursor)?.0);
    let mut options = CopyOptions::default();
    if cursor.accept(&["delimiter"]) {
        options.delimiter = Some(string_literal(cursor)?.0);
    }
    cursor.expect(&["insert", "into"])?;
    let name = cursor.qualified()?;
    let columns = if matches!(cursor.peek(), Token::LParen) { names(cursor)? } else { Vec::new() };
    Ok(Statement::Copy(Copy {
        what: CopyWhat::Table { name, columns },
        from: true,
        place,
        options,
        filter: None,
    }))
}

fn names(cursor: &mut Cursor<'_>) -> Result<Vec<crate::syntax::Name>, SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let names = cursor.list(Cursor::name)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(names)
}

/// A word or a text.
fn value(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    match cursor.word() {
        Some(word) => {
            cursor.advance();
            Ok(word)
        }
        None => Ok(string_literal(cursor)?.0),
    }
}

/// A boolean; nothing at all means true.
fn flag(cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
    if matches!(cursor.peek(), Token::Comma | Token::RParen) {
        return Ok(true);
    }
    let here = cursor.here().start;
    if let Token::Number(digits) = cursor.peek() {
        cursor.advance();
        return match cursor.source().meaning(digits) {
            "0" => Ok(false),
            "1" => Ok(true),
            _ => Err(SyntaxError::syntax("a Boolean value is expected").at(here)),
        };
    }
    match value(cursor)?.to_ascii_lowercase().as_str() {
        "true" | "on" => Ok(true),
        "false" | "off" => Ok(false),
        _ => Err(SyntaxError::syntax("a Boolean value is expected").at(here)),
    }
}

fn columns(cursor: &mut Cursor<'_>) -> Result<Columns, SyntaxError> {
    if cursor.accept_token(&Token::Mul) {
        return Ok(Columns::All);
    }
    Ok(Columns::Named(names(cursor)?.into_iter().map(|name| name.text).collect()))
}

/// An option within parentheses.
fn option(
    cursor: &mut Cursor<'_>,
    options: &mut CopyOptions,
    given: &mut Vec<String>,
) -> Result<(), SyntaxError> {
    let at = cursor.here().start;
    let Some(word) = cursor.word() else { return Err(cursor.unexpected()) };
    cursor.advance();
    once(&word, given, at)?;
    match word.as_str() {
        "format" => {
            let format = value(cursor)?;
            options.format = match format.as_str() {
                "text" => CopyFormat::Text,
                "csv" => CopyFormat::Csv,
                "binary" => CopyFormat::Binary,
                "parquet" => CopyFormat::Parquet,
                _ => {
                    let text = format!("COPY format \"{format}\" not recognized");
                    return Err(SyntaxError::new("22023", text).at(at));
                }
            };
        }
        "freeze" => options.freeze = flag(cursor)?,
        "nolog" => options.nolog = flag(cursor)?,
        "delimiter" => options.delimiter = Some(string_literal(cursor)?.0),
        "null" => options.null = Some(string_literal(cursor)?.0),
        "default" => options.default = Some(string_literal(cursor)?.0),
        "header" if cursor.accept(&["match"]) => options.header = Header::Match,
        "header" => {
            let wrong = |error: SyntaxError| match matches!(error.sqlstate, sqlstate::SYNTAX_ERROR) {
                true => SyntaxError::syntax("header requires a Boolean value or \"match\""),
                false => error,
            };
            options.header = if flag(cursor).map_err(wrong)? { Header::Present } else { Header::None };
        }
        "quote" => options.quote = Some(string_literal(cursor)?.0),
        "escape" => options.escape = Some(string_literal(cursor)?.0),
        "force_quote" => options.force_quote = columns(cursor)?,
        "force_not_null" => options.force_not_null = columns(cursor)?,
        "force_null" => options.force_null = columns(cursor)?,
        "encoding" => {
            options.encoding = Some(encoding(&string_literal(cursor)?.0, at)?);
        }
        "on_error" => {
            let known = [("stop", OnError::Stop), ("ignore", OnError::Ignore)];
            options.on_error = Some(choice("ON_ERROR", &known, cursor, at)?);
        }
        "log_verbosity" => {
            let (silent, verbose) = (LogVerbosity::Silent, LogVerbosity::Verbose);
            let known = [("silent", silent), ("default", LogVerbosity::Default), ("verbose", verbose)];
            options.log_verbosity = Some(choice("LOG_VERBOSITY", &known, cursor, at)?);
        }
        "reject_limit" => {
            let limit = cursor.integer()?;
            options.reject_limit =
                Some(u64::try_from(limit).ok().filter(|limit| *limit > 0).ok_or_else(|| {
                    SyntaxError::new("22023", format!("REJECT_LIMIT ({limit}) must be greater than zero"))
                })?);
        }
        _ => return Err(SyntaxError::syntax(format!("option \"{word}\" not recognized")).at(at)),
    }
    Ok(())
}

/// What ENCODING says.
fn encoding(name: &str, at: u32) -> Result<Encoding, SyntaxError> {
    Encoding::named(name).filter(|encoding| encoding.is_known()).ok_or_else(|| {
        let text = "argument to option \"encoding\" must be a valid encoding name";
        SyntaxError::new("22023", text).at(at)
    })
}

/// An option may stand once.
fn once(name: &str, given: &mut Vec<String>, at: u32) -> Result<(), SyntaxError> {
    if given.iter().any(|known| known == name) {
        return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
    }
    given.push(name.to_owned());
    Ok(())
}

/// One of the words that an option takes.
fn choice<T: Clone>(
    option: &str,
    known: &[(&str, T)],
    cursor: &mut Cursor<'_>,
    at: u32,
) -> Result<T, SyntaxError> {
    let given = value(cursor)?;
    let found = known.iter().find(|(word, _)| given.eq_ignore_ascii_case(word));
    found
        .map(|(_, value)| value.clone())
        .ok_or_else(|| SyntaxError::new("22023", format!("COPY {option} \"{given}\" not recognized")).at(at))
}

/// An option of the older form; false if there is none.
fn old_option(
    cursor: &mut Cursor<'_>,
    options: &mut CopyOptions,
    given: &mut Vec<String>,
) -> Result<bool, SyntaxError> {
    const WORDS: [(&[&str], &str); 12] = [
        (&["binary"], "format"),
        (&["csv"], "format"),
        (&["freeze"], "freeze"),
        (&["header"], "header"),
        (&["delimiter"], "delimiter"),
        (&["null"], "null"),
        (&["quote"], "quote"),
        (&["escape"], "escape"),
        (&["force", "quote"], "force_quote"),
        (&["force", "not", "null"], "force_not_null"),
        (&["force", "null"], "force_null"),
        (&["encoding"], "encoding"),
    ];
    let at = cursor.here().start;
    let is_binary = cursor.is(&["binary"]);
    let Some((_, name)) = WORDS.iter().find(|(words, _)| cursor.accept(words)) else { return Ok(false) };
    once(name, given, at)?;
    let text = |cursor: &mut Cursor<'_>| {
        cursor.accept(&["as"]);
        string_literal(cursor).map(|(text, _, _)| Some(text))
    };
    match *name {
        "format" => options.format = if is_binary { CopyFormat::Binary } else { CopyFormat::Csv },
        "header" => options.header = Header::Present,
        "freeze" => options.freeze = true,
        "delimiter" => options.delimiter = text(cursor)?,
        "null" => options.null = text(cursor)?,
        "quote" => options.quote = text(cursor)?,
        "escape" => options.escape = text(cursor)?,
        "force_quote" => options.force_quote = old_columns(cursor)?,
        "force_not_null" => options.force_not_null = old_columns(cursor)?,
        "force_null" => options.force_null = old_columns(cursor)?,
        "encoding" => options.encoding = Some(encoding(&string_literal(cursor)?.0, at)?),
        _ => {}
    }
    Ok(true)
}

fn old_columns(cursor: &mut Cursor<'_>) -> Result<Columns, SyntaxError> {
    if cursor.accept_token(&Token::Mul) {
        return Ok(Columns::All);
    }
    let names = cursor.list(Cursor::name)?;
    Ok(Columns::Named(names.into_iter().map(|name| name.text).collect()))
}
