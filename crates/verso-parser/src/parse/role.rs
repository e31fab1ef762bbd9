//! CREATE, ALTER and DROP of roles; USER is a role that may log in.

use super::cursor::Cursor;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{RoleOptions, RoleStatement, Statement};

/// Whether the statement that begins here is about a role.
pub fn is_next(cursor: &Cursor<'_>) -> bool {
    cursor.word_at(1).is_some_and(|word| matches!(word.as_str(), "role" | "user" | "group"))
        && !(cursor.word_at(1).as_deref() == Some("user") && cursor.word_at(2).as_deref() == Some("mapping"))
}

/// Parses it.
pub fn statement(cursor: &mut Cursor<'_>, verb: &str) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let is_user = cursor.is(&["user"]);
    cursor.advance();
    Ok(Statement::Role(match verb {
        "create" => {
            let name = cursor.name()?;
            cursor.accept(&["with"]);
            let mut options = RoleOptions { login: Some(is_user), ..RoleOptions::default() };
            while option(cursor, &mut options)? {}
            RoleStatement::Create { name, options }
        }
        "alter" => {
            let name = match cursor.word().as_deref() {
                Some("current_user" | "current_role" | "session_user") => {
                    cursor.advance();
                    None
                }
                _ => Some(cursor.name()?),
            };
            if cursor.accept(&["rename", "to"]) {
                let new = cursor.name()?;
                return Ok(Statement::Role(RoleStatement::Alter {
                    name,
                    options: RoleOptions::default(),
                    rename: Some(new),
                }));
            }
            if cursor.is(&["set"]) || cursor.is(&["reset"]) || cursor.is(&["in"]) {
                return Err(cursor.unsupported("ALTER ROLE … SET"));
            }
            cursor.accept(&["with"]);
            let mut options = RoleOptions::default();
            while option(cursor, &mut options)? {}
            RoleStatement::Alter { name, options, rename: None }
        }
        _ => {
            let if_exists = cursor.accept(&["if", "exists"]);
            RoleStatement::Drop { names: cursor.list(Cursor::name)?, if_exists }
        }
    }))
}

/// One option; false if there is none.
fn option(cursor: &mut Cursor<'_>, options: &mut RoleOptions) -> Result<bool, SyntaxError> {
    let Some(word) = cursor.word() else { return Ok(false) };
    match word.as_str() {
        "superuser" => options.superuser = Some(true),
        "nosuperuser" => options.superuser = Some(false),
        "createrole" => options.create_role = Some(true),
        "nocreaterole" => options.create_role = Some(false),
        "login" => options.login = Some(true),
        "nologin" => options.login = Some(false),
        // There is one database, no membership, no replication and no row security: these change nothing.
        "createdb" | "nocreatedb" | "inherit" | "noinherit" | "noreplication" | "nobypassrls" => {}
        "encrypted" | "password" => {
            if word == "encrypted" {
                cursor.advance();
            }
            cursor.expect(&["password"])?;
            options.password =
                Some(if cursor.accept(&["null"]) { None } else { Some(string_literal(cursor)?.0) });
            return Ok(true);
        }
        "valid" => {
            cursor.advance();
            cursor.expect(&["until"])?;
            options.valid_until = Some(string_literal(cursor)?.0);
            return Ok(true);
        }
        "connection" => {
            if !cursor.accept(&["connection", "limit"]) {
                return Err(cursor.unexpected());
            }
            return match cursor.integer()? {
                -1 => Ok(true),
                _ => Err(cursor.unsupported("CONNECTION LIMIT")),
            };
        }
        _ => return Err(cursor.unsupported(&format!("role option {}", word.to_uppercase()))),
    }
    cursor.advance();
    Ok(true)
}
