//! Bodies of functions within statements: that of DO, and what CREATE FUNCTION does likewise.

use super::cursor::Cursor;
use super::lexer::Token;
use super::{parse_body, parse_script, string_literal};
use crate::error::SyntaxError;
use crate::syntax::{Call, ExprKind, FunctionBody, Span, Statement};

/// DO.
pub(super) fn do_block(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let mut language = "plpgsql".to_string();
    let mut body = None;
    while !cursor.at_end() {
        if cursor.accept(&["language"]) {
            language = cursor.name()?.text;
        } else if body.is_none() {
            body = Some(string_literal(cursor)?);
        } else {
            return Err(cursor.unexpected());
        }
    }
    let Some((text, at, start)) = body else {
        return Err(SyntaxError::syntax("no inline code specified"));
    };
    if language != "plpgsql" {
        return Err(SyntaxError::unsupported(format!("DO in language {language}")).at(at.start));
    }
    Ok(Statement::Do(function_body(text, at, start)?))
}

/// CALL.
pub(super) fn call(cursor: &mut Cursor<'_>) -> Result<Call, SyntaxError> {
    cursor.advance();
    let start = cursor.here().start;
    match cursor.expr()?.kind {
        ExprKind::Call(call) if !call.star && !call.keyword && call.over.is_none() => Ok(*call),
        _ => Err(SyntaxError::syntax("CALL wants a procedure and its arguments").at(start)),
    }
}

/// Parses the text of a literal; `start` is its first character's place, where the literal has no escapes. Errors point
/// into the statement around it, at the literal if need be.
pub(super) fn function_body(text: String, at: Span, start: Option<u32>) -> Result<FunctionBody, SyntaxError> {
    let block = parse_body(&text).map_err(|error| moved(error, at, start))?;
    Ok(FunctionBody { text, at, start, block: Some(Box::new(block)), standard: false })
}

/// The same of a function in SQL.
pub(super) fn sql_body(text: String, at: Span, start: Option<u32>) -> Result<FunctionBody, SyntaxError> {
    parse_script(&text).map_err(|error| moved(error, at, start))?;
    Ok(FunctionBody { text, at, start, block: None, standard: false })
}

/// `RETURN e` or `BEGIN ATOMIC … END`, whose text is kept as it stands.
pub(super) fn standard_body(cursor: &mut Cursor<'_>) -> Result<FunctionBody, SyntaxError> {
    let start = cursor.here();
    if cursor.accept(&["return"]) {
        cursor.expr()?;
    } else {
        cursor.expect(&["begin", "atomic"])?;
        while !cursor.accept(&["end"]) {
            super::statement(cursor)?;
            cursor.expect_token(&Token::SemiColon)?;
        }
    }
    let at = cursor.since(start);
    let text = cursor.source().slice(at).to_string();
    Ok(FunctionBody { text, at, start: None, block: None, standard: true })
}

/// An error of a body, with its place in the statement around it.
fn moved(error: SyntaxError, at: Span, start: Option<u32>) -> SyntaxError {
    let position = match (error.position, start) {
        (Some(position), Some(start)) => start + position,
        (_, None) | (None, _) => at.start + 1,
    };
    SyntaxError { position: Some(position), ..error }
}
