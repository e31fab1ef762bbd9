//! CREATE EXTENSION, ALTER EXTENSION, DROP EXTENSION, LOAD.

use super::cursor::Cursor;
use super::ddl::{cascade, if_not_exists};
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{ExtensionStatement, Statement, TypeStatement};

/// Behind CREATE.
pub(super) fn create_extension(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = cursor.name()?;
    cursor.accept(&["with"]);
    let (mut schema, mut version) = (None, None);
    loop {
        if cursor.accept(&["schema"]) {
            schema = Some(cursor.name()?);
        } else if cursor.accept(&["version"]) {
            version = Some(self::version(cursor)?);
        } else if !cursor.accept(&["cascade"]) {
            break;
        }
    }
    Ok(statement(ExtensionStatement::Create { name, if_not_exists, schema, version }))
}

/// A word or a text.
fn version(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    match cursor.peek() {
        Token::String(_) => Ok(string_literal(cursor)?.0),
        _ => Ok(cursor.label()?.text),
    }
}

/// Behind ALTER.
pub(super) fn alter_extension(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.name()?;
    if cursor.accept(&["update"]) {
        let version = if cursor.accept(&["to"]) { Some(version(cursor)?) } else { None };
        return Ok(statement(ExtensionStatement::Update { name, version }));
    }
    if cursor.accept(&["set", "schema"]) {
        return Ok(statement(ExtensionStatement::Move { name, to: cursor.name()? }));
    }
    if cursor.is(&["add"]) || cursor.is(&["drop"]) {
        return Err(cursor.unsupported("ALTER EXTENSION ADD and DROP"));
    }
    Err(cursor.unexpected())
}

/// LOAD.
pub(super) fn load(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["load"])?;
    Ok(statement(ExtensionStatement::Load { library: string_literal(cursor)?.0 }))
}

/// Behind DROP.
pub(super) fn drop_extension(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = cursor.list(Cursor::name)?;
    let cascade = cascade(cursor);
    Ok(statement(ExtensionStatement::Drop { names, if_exists, cascade }))
}

fn statement(statement: ExtensionStatement) -> Statement {
    Statement::Type(TypeStatement::Extension(statement))
}
