//! Bodies of functions within statements: that of DO, and what CREATE FUNCTION does likewise.

use super::cursor::Cursor;
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{Call, ExprKind, FunctionBody, Statement};

/// DO.
pub(super) fn do_block(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let mut language = "plpgsql".to_string();
    let mut body = None;
    while !cursor.at_end() {
        if cursor.accept(&["language"]) {
            language = cursor.name()?.text;
        } else if body.is_none() {
            body = Some(function_body(cursor)?);
        } else {
            return Err(cursor.unexpected());
        }
    }
    let Some(body) = body else {
        return Err(SyntaxError::syntax("no inline code specified"));
    };
    if language != "plpgsql" {
        return Err(SyntaxError::unsupported(format!("DO in language {language}")).at(body.at.start));
    }
    Ok(Statement::Do(body))
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
