//! CREATE, ALTER, DROP SCHEMA; ALTER … SET SCHEMA.

use super::cursor::Cursor;
use super::ddl::{cascade, function_reference, if_not_exists};
use crate::error::SyntaxError;
use crate::syntax::{DropKind, Owned, QualifiedName, RoleName, SchemaStatement, Statement};

/// Behind CREATE.
pub(super) fn create_schema(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = if cursor.is(&["authorization"]) { None } else { Some(cursor.name()?) };
    let owner = if cursor.accept(&["authorization"]) { Some(role_name(cursor)?) } else { None };
    if name.is_none() && owner.is_none() {
        return Err(cursor.unexpected());
    }
    if cursor.is(&["create"]) || cursor.is(&["grant"]) {
        return Err(cursor.unsupported("CREATE SCHEMA with statements inside"));
    }
    Ok(Statement::Schema(SchemaStatement::Create { name, owner, if_not_exists }))
}

/// Behind ALTER.
pub(super) fn alter_schema(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.name()?;
    if cursor.accept(&["rename", "to"]) {
        let to = cursor.name()?;
        return Ok(Statement::Schema(SchemaStatement::Rename { name, to }));
    }
    cursor.expect(&["owner", "to"])?;
    let owner = role_name(cursor)?;
    Ok(Statement::Schema(SchemaStatement::Owner { name, owner }))
}

/// Behind DROP.
pub(super) fn drop_schema(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = cursor.list(Cursor::name)?;
    Ok(Statement::Schema(SchemaStatement::Drop { names, if_exists, cascade: cascade(cursor) }))
}

/// `SET SCHEMA name` behind a relation's name, if that comes.
pub(super) fn set_schema(
    cursor: &mut Cursor<'_>,
    kind: DropKind,
    name: &QualifiedName,
    if_exists: bool,
) -> Result<Option<Statement>, SyntaxError> {
    if !cursor.accept(&["set", "schema"]) {
        return Ok(None);
    }
    let to = cursor.name()?;
    Ok(Some(Statement::Schema(SchemaStatement::Move { kind, name: name.clone(), to, if_exists })))
}

/// ALTER FUNCTION, of which there are OWNER TO and SET SCHEMA.
pub(super) fn alter_function(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let procedure = cursor.is(&["procedure"]);
    cursor.advance();
    let (name, args) = function_reference(cursor)?;
    let of = || Owned::Function(procedure, name.clone(), args.clone());
    if let Some(statement) = super::rights::owner(cursor, of, false)? {
        return Ok(statement);
    }
    if !cursor.accept(&["set", "schema"]) {
        return Err(cursor.unsupported("ALTER FUNCTION other than OWNER TO and SET SCHEMA"));
    }
    let to = cursor.name()?;
    Ok(Statement::Schema(SchemaStatement::MoveFunction { name, args, to }))
}

/// A role: its name, or a word for the user.
pub(super) fn role_name(cursor: &mut Cursor<'_>) -> Result<RoleName, SyntaxError> {
    if cursor.accept(&["current_user"]) || cursor.accept(&["current_role"]) {
        return Ok(RoleName::Current);
    }
    if cursor.accept(&["session_user"]) {
        return Ok(RoleName::Session);
    }
    cursor.name().map(RoleName::Named)
}
