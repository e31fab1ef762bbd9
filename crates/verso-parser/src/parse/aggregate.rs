//! CREATE AGGREGATE, and how statements name aggregates.

use verso_types::SqlType;

use super::cursor::Cursor;
use super::function::{function_argument, function_reference};
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{AggregateOption, CreateAggregate, OptionValue, QualifiedName, Statement};

/// CREATE AGGREGATE.
pub(super) fn create_aggregate(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.qualified()?;
    cursor.expect_token(&Token::LParen)?;
    let mut args = None;
    // Before there were argument lists, BASETYPE said what an aggregate takes.
    let old = matches!(cursor.peek(), Token::Word(_) | Token::Quoted(_)) && cursor.peek_at(1) == Token::Eq;
    if !old {
        args = Some(Vec::new());
        if !cursor.accept_token(&Token::Mul) {
            if cursor.is(&["order", "by"]) {
                return Err(cursor.unsupported("CREATE AGGREGATE with ORDER BY"));
            }
            args = Some(cursor.list(function_argument)?);
            if cursor.is(&["order", "by"]) {
                return Err(cursor.unsupported("CREATE AGGREGATE with ORDER BY"));
            }
        }
        cursor.expect_token(&Token::RParen)?;
        cursor.expect_token(&Token::LParen)?;
    }
    let options = cursor.list(option)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(Statement::CreateAggregate(CreateAggregate { name, or_replace, args, options }))
}

/// `name [= value]`; what a value is the name says.
fn option(cursor: &mut Cursor<'_>) -> Result<AggregateOption, SyntaxError> {
    let name = cursor.label()?;
    if !cursor.accept_token(&Token::Eq) {
        return Ok(AggregateOption { name, value: OptionValue::None });
    }
    let value = match name.text.as_str() {
        "sortop" => return Err(cursor.unsupported("CREATE AGGREGATE … SORTOP")),
        "stype" | "stype1" | "mstype" | "basetype" if !matches!(cursor.peek(), Token::String(_)) => {
            OptionValue::Type(cursor.data_type()?)
        }
        _ => {
            let value = option_value(cursor)?;
            // The name alone says which function it is, as in PostgreSQL.
            if matches!(value, OptionValue::Name(_)) && cursor.accept_token(&Token::LParen) {
                cursor.list(Cursor::expr)?;
                cursor.expect_token(&Token::RParen)?;
            }
            value
        }
    };
    Ok(AggregateOption { name, value })
}

/// A text, a number, a name.
pub(super) fn option_value(cursor: &mut Cursor<'_>) -> Result<OptionValue, SyntaxError> {
    let start = cursor.here();
    match cursor.peek() {
        Token::String(_) => Ok(OptionValue::Text(string_literal(cursor)?.0)),
        Token::Number(..) | Token::Minus | Token::Plus => {
            if matches!(cursor.peek(), Token::Minus | Token::Plus) {
                cursor.advance();
            }
            cursor.advance();
            Ok(OptionValue::Text(cursor.source().slice(cursor.since(start)).to_string()))
        }
        _ => {
            let first = cursor.label()?;
            if !cursor.accept_token(&Token::Period) {
                return Ok(OptionValue::Name(QualifiedName { schema: None, name: first }));
            }
            Ok(OptionValue::Name(QualifiedName { schema: Some(first), name: cursor.label()? }))
        }
    }
}

/// An aggregate that a statement names; `*` stands for no arguments.
pub(super) fn aggregate_reference(
    cursor: &mut Cursor<'_>,
) -> Result<(QualifiedName, Option<Vec<SqlType>>), SyntaxError> {
    let start = cursor.mark();
    let name = cursor.qualified()?;
    if cursor.accept_token(&Token::LParen) && cursor.accept_token(&Token::Mul) {
        cursor.expect_token(&Token::RParen)?;
        return Ok((name, Some(Vec::new())));
    }
    cursor.back(start);
    let (name, types) = function_reference(cursor)?;
    match types {
        Some(types) => Ok((name, Some(types))),
        None => Err(cursor.unexpected()),
    }
}
