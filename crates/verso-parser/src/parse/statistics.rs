//! CREATE STATISTICS, ALTER STATISTICS, DROP STATISTICS.

use super::cursor::Cursor;
use super::ddl::{cascade, if_not_exists};
use super::lexer::Token;
use super::table::key_part;
use crate::error::SyntaxError;
use crate::syntax::{Owned, Statement, StatisticsItem, StatisticsStatement, TypeStatement};

fn statement(statement: StatisticsStatement) -> Statement {
    Statement::Type(TypeStatement::Statistics(statement))
}

/// Behind CREATE.
pub(super) fn create_statistics(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let has_name = !matches!(cursor.peek(), Token::LParen) && !cursor.is(&["on"]);
    let name = if has_name || if_not_exists { Some(cursor.any_name()?) } else { None };
    let mut kinds = Vec::new();
    if cursor.accept_token(&Token::LParen) {
        kinds = cursor.list(Cursor::name)?;
        cursor.expect_token(&Token::RParen)?;
    }
    cursor.expect(&["on"])?;
    let items = cursor.list(|cursor| {
        let at = cursor.here();
        // COLLATE behind a call is no part of it.
        let (key, collation) = key_part(cursor)?;
        match collation {
            None => Ok(StatisticsItem { key, at }),
            Some(_) => Err(cursor.unexpected()),
        }
    })?;
    cursor.expect(&["from"])?;
    let at = cursor.here();
    let table = cursor.qualified()?;
    let mut several = false;
    while cursor.accept_token(&Token::Comma) {
        several = true;
        cursor.qualified()?;
        if matches!(cursor.peek(), Token::Word(_) | Token::Quoted(_)) {
            cursor.advance();
        }
    }
    if several {
        let text = "only a single relation is allowed in CREATE STATISTICS";
        return Err(SyntaxError::new("0A000", text).at(at.start));
    }
    Ok(statement(StatisticsStatement::Create { name, if_not_exists, kinds, items, table }))
}

/// Behind ALTER.
pub(super) fn alter_statistics(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let name = cursor.any_name()?;
    if cursor.accept(&["set", "statistics"]) {
        let target = match cursor.accept(&["default"]) {
            true => None,
            false => {
                let number = super::table::signed_number(cursor).ok_or_else(|| cursor.unexpected())?;
                Some(number.parse().map_err(|_| cursor.unexpected())?)
            }
        };
        return Ok(statement(StatisticsStatement::Target { name, if_exists, target }));
    }
    if if_exists {
        return Err(cursor.unexpected());
    }
    if cursor.accept(&["rename", "to"]) {
        return Ok(statement(StatisticsStatement::Rename { name, to: cursor.name()? }));
    }
    if cursor.accept(&["set", "schema"]) {
        return Ok(statement(StatisticsStatement::Move { name, to: cursor.name()? }));
    }
    match super::rights::owner(cursor, || Owned::Statistics(name), false)? {
        Some(statement) => Ok(statement),
        None => Err(cursor.unexpected()),
    }
}

/// Behind DROP.
pub(super) fn drop_statistics(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = cursor.list(Cursor::any_name)?;
    // Nothing needs them.
    cascade(cursor);
    Ok(statement(StatisticsStatement::Drop { names, if_exists }))
}
