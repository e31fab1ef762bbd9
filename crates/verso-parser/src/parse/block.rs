//! Bodies of functions within statements: that of DO, and what CREATE FUNCTION does likewise.

use super::cursor::Cursor;
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{Call, ExprKind, FunctionBody, Statement};
use verso_types::sqlstate;

/// DO.
pub(super) fn do_block(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let (mut language, mut body) = (None, None);
    while !cursor.at_end() {
        let at = cursor.here().start;
        let twice = if cursor.accept(&["language"]) {
            let name = match cursor.peek() {
                Token::String(_) => string_literal(cursor)?.0,
                _ => cursor.name()?.text,
            };
            language.replace(name).is_some()
        } else {
            body.replace(function_body(cursor)?).is_some()
        };
        if twice {
            return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
        }
    }
    let Some(body) = body else {
        return Err(SyntaxError::syntax("no inline code specified"));
    };
    match language.as_deref() {
        None | Some("plpgsql") => Ok(Statement::Do(body)),
        Some(language @ ("sql" | "c" | "internal")) => {
            let text = format!("language \"{language}\" does not support inline code execution");
            Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
        }
        Some(language) => {
            let text = format!("language \"{language}\" does not exist");
            Err(SyntaxError::new(sqlstate::UNDEFINED_OBJECT, text))
        }
    }
}

/// CALL.
pub(super) fn call(cursor: &mut Cursor<'_>) -> Result<Call, SyntaxError> {
    cursor.advance();
    match cursor.expr()?.kind {
        ExprKind::Call(call) if !call.star && !call.keyword && call.over.is_none() => Ok(*call),
        _ => Err(cursor.unexpected()),
    }
}

/// The literal of a body, which is parsed when the function is made or the block runs.
pub(super) fn function_body(cursor: &mut Cursor<'_>) -> Result<FunctionBody, SyntaxError> {
    let written = cursor.written();
    let (text, at, start) = string_literal(cursor)?;
    // A quoted literal in one piece, whose quotes are all that differs.
    let doubled = start.is_none()
        && written.starts_with('\'')
        && written.len() == text.len() + text.matches('\'').count() + 2;
    let start = if doubled { Some(at.start + 1) } else { start };
    Ok(FunctionBody { text, at, start, doubled, standard: false })
}

/// `RETURN e` or `BEGIN ATOMIC … END`, whose text is kept as it stands.
pub(super) fn standard_body(cursor: &mut Cursor<'_>) -> Result<FunctionBody, SyntaxError> {
    let start = cursor.here();
    if cursor.accept(&["return"]) {
        cursor.expr()?;
    } else {
        cursor.expect(&["begin", "atomic"])?;
        while !cursor.accept(&["end"]) {
            if !matches!(cursor.peek(), Token::SemiColon) {
                super::statement(cursor)?;
            }
            cursor.expect_token(&Token::SemiColon)?;
        }
    }
    let at = cursor.since(start);
    let text = cursor.source().slice(at).to_string();
    Ok(FunctionBody { text, at, start: None, doubled: false, standard: true })
}
