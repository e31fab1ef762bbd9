//! COLLATE of a declaration; CREATE COLLATION, ALTER COLLATION, DROP COLLATION.

use std::sync::Arc;

use verso_types::{CollatedType, Collation, SqlType};

use super::cursor::Cursor;
use super::ddl::{cascade, if_not_exists};
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{CollationOption, CollationStatement, Owned, QualifiedName, Statement, TypeStatement};

/// `COLLATE name`.
pub(super) fn collate(cursor: &mut Cursor<'_>) -> Result<QualifiedName, SyntaxError> {
    cursor.expect(&["collate"])?;
    cursor.any_name()
}

/// A type with the collation of a name, which the catalog is asked about later.
pub(super) fn collated(base: SqlType, name: &QualifiedName) -> SqlType {
    let collation = Collation {
        oid: 0,
        schema: name.schema_text().unwrap_or_default().into(),
        name: name.name.text.as_str().into(),
        collator: None,
    };
    SqlType::Collated(Arc::new(CollatedType { base, collation: Arc::new(collation) }))
}

/// Behind CREATE.
pub(super) fn create_collation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = cursor.any_name()?;
    let (mut from, mut options) = (None, Vec::new());
    if cursor.accept(&["from"]) {
        from = Some(cursor.any_name()?);
    } else {
        cursor.expect_token(&Token::LParen)?;
        options = cursor.list(option)?;
        cursor.expect_token(&Token::RParen)?;
    }
    Ok(statement(CollationStatement::Create { name, if_not_exists, from, options }))
}

/// `name = value`.
fn option(cursor: &mut Cursor<'_>) -> Result<CollationOption, SyntaxError> {
    let name = cursor.label()?;
    let mut value = None;
    if cursor.accept_token(&Token::Eq) {
        value = Some(match cursor.peek() {
            Token::String(_) => string_literal(cursor)?.0,
            _ => cursor.label()?.text,
        });
    }
    Ok(CollationOption { name, value })
}

/// Behind ALTER.
pub(super) fn alter_collation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.any_name()?;
    if cursor.accept(&["refresh", "version"]) {
        return Ok(statement(CollationStatement::Refresh { name }));
    }
    if cursor.accept(&["rename", "to"]) {
        return Ok(statement(CollationStatement::Rename { name, to: cursor.name()? }));
    }
    if cursor.accept(&["set", "schema"]) {
        return Ok(statement(CollationStatement::Move { name, to: cursor.name()? }));
    }
    match super::rights::owner(cursor, || Owned::Collation(name), false)? {
        Some(statement) => Ok(statement),
        None => Err(cursor.unexpected()),
    }
}

/// Behind DROP.
pub(super) fn drop_collation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = cursor.list(Cursor::any_name)?;
    let cascade = cascade(cursor);
    Ok(statement(CollationStatement::Drop { names, if_exists, cascade }))
}

fn statement(statement: CollationStatement) -> Statement {
    Statement::Type(TypeStatement::Collation(statement))
}
