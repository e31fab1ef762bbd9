//! CREATE, ALTER and DROP of roles; USER is a role that may log in.

use super::cursor::Cursor;
use super::schema::role_name;
use super::setting::{assigned_setting, name_list, setting_name, setting_value};
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{GrantRole, Name, RightsStatement, RoleOptions, RoleStatement, Statement};

/// Whether the statement that begins here is about a role.
pub fn is_next(cursor: &Cursor<'_>) -> bool {
    cursor.word_at(1).is_some_and(|word| matches!(word.as_str(), "role" | "user" | "group"))
        && !(cursor.word_at(1).as_deref() == Some("user") && cursor.word_at(2).as_deref() == Some("mapping"))
}

/// Parses it.
pub fn statement(cursor: &mut Cursor<'_>, verb: &str) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let is_user = cursor.is(&["user"]);
    let is_group = cursor.is(&["group"]);
    cursor.advance();
    Ok(Statement::Role(match verb {
        "create" => {
            let name = cursor.name()?;
            cursor.accept(&["with"]);
            let mut options = RoleOptions::default();
            while option(cursor, &mut options)? {}
            options.login = options.login.or(Some(is_user));
            RoleStatement::Create { name, options }
        }
        "alter" => {
            if is_group && (cursor.is_at(1, "add") || cursor.is_at(1, "drop")) {
                return group(cursor);
            }
            let name = match cursor.word().as_deref() {
                Some("current_user" | "current_role" | "session_user") => {
                    cursor.advance();
                    None
                }
                Some("all") => {
                    let at = cursor.here();
                    cursor.advance();
                    Some(Name { text: String::new(), at })
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
            if cursor.is(&["set"]) || cursor.is(&["reset"]) || cursor.is(&["in", "database"]) {
                return role_setting(cursor, name);
            }
            if name.as_ref().is_some_and(|name| name.text.is_empty()) {
                return Err(cursor.unexpected());
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

/// `group ADD | DROP USER roles`: GRANT and REVOKE by older names.
fn group(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let name = cursor.name()?;
    let revoke = cursor.is(&["drop"]);
    cursor.advance();
    cursor.expect(&["user"])?;
    let to = cursor.list(role_name)?;
    let (admin, inherit, set) = (None, None, None);
    let (by, cascade, group) = (None, false, true);
    let grant = GrantRole { revoke, roles: vec![name], to, admin, inherit, set, by, cascade, group };
    Ok(Statement::Rights(RightsStatement::GrantRole(grant)))
}

/// `[IN DATABASE name] SET setting = value | RESET setting | RESET ALL`.
fn role_setting(cursor: &mut Cursor<'_>, name: Option<Name>) -> Result<Statement, SyntaxError> {
    let database = if cursor.accept(&["in", "database"]) { Some(cursor.name()?) } else { None };
    let (mut setting, mut value) = (None, None);
    if cursor.accept(&["reset"]) {
        if !cursor.accept(&["all"]) {
            setting = Some(setting_name(cursor)?);
        }
    } else {
        cursor.expect(&["set"])?;
        let assigned = assigned_setting(cursor)?;
        value = if assigned.text == "search_path" { name_list(cursor)? } else { setting_value(cursor)? };
        setting = Some(assigned);
    }
    // What all roles begin with in a database is what the database says.
    if let (Some(Name { text, at }), Some(_)) = (&name, &database)
        && text.is_empty()
    {
        let name = setting.unwrap_or_else(|| Name { text: "all".to_owned(), at: *at });
        return Ok(Statement::AlterDatabase { system: false, database, name, value });
    }
    Ok(Statement::Role(RoleStatement::Setting { name, database, setting, value }))
}

/// One option; false if there is none.
fn option(cursor: &mut Cursor<'_>, options: &mut RoleOptions) -> Result<bool, SyntaxError> {
    let Some(word) = cursor.word() else { return Ok(false) };
    let (flag, value) = match word.as_str() {
        "superuser" => (&mut options.superuser, true),
        "nosuperuser" => (&mut options.superuser, false),
        "createrole" => (&mut options.create_role, true),
        "nocreaterole" => (&mut options.create_role, false),
        "login" => (&mut options.login, true),
        "nologin" => (&mut options.login, false),
        "createdb" => (&mut options.create_db, true),
        "nocreatedb" => (&mut options.create_db, false),
        "inherit" => (&mut options.inherit, true),
        "noinherit" => (&mut options.inherit, false),
        "replication" => (&mut options.replication, true),
        "noreplication" => (&mut options.replication, false),
        "bypassrls" => (&mut options.bypass_rls, true),
        "nobypassrls" => (&mut options.bypass_rls, false),
        "in" => {
            if !cursor.accept(&["in", "role"]) {
                cursor.expect(&["in", "group"])?;
            }
            options.in_roles = cursor.list(Cursor::name)?;
            return Ok(true);
        }
        "role" | "user" => {
            cursor.advance();
            options.members = cursor.list(Cursor::name)?;
            return Ok(true);
        }
        "admin" => {
            cursor.advance();
            options.admins = cursor.list(Cursor::name)?;
            return Ok(true);
        }
        "sysid" => {
            cursor.advance();
            cursor.integer()?; // PostgreSQL ignores it, too
            return Ok(true);
        }
        "encrypted" | "password" => {
            if word == "encrypted" {
                cursor.advance();
            }
            cursor.expect(&["password"])?;
            let password = if cursor.accept(&["null"]) { None } else { Some(string_literal(cursor)?.0) };
            once(&mut options.password, password)?;
            return Ok(true);
        }
        "valid" => {
            cursor.advance();
            cursor.expect(&["until"])?;
            once(&mut options.valid_until, string_literal(cursor)?.0)?;
            return Ok(true);
        }
        "connection" => {
            if !cursor.accept(&["connection", "limit"]) {
                return Err(cursor.unexpected());
            }
            let limit = cursor.integer()?;
            let fits = i32::try_from(limit).ok().filter(|limit| *limit >= -1);
            let error = || SyntaxError::new("22023", format!("invalid connection limit: {limit}"));
            once(&mut options.connection_limit, fits.ok_or_else(error)?)?;
            return Ok(true);
        }
        _ => {
            let text = format!("unrecognized role option \"{word}\"");
            return Err(SyntaxError::syntax(text).at(cursor.here().start));
        }
    };
    once(flag, value)?;
    cursor.advance();
    Ok(true)
}

/// What is said twice, or said and denied, is an error.
fn once<T>(option: &mut Option<T>, value: T) -> Result<(), SyntaxError> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(SyntaxError::new("42601", "conflicting or redundant options")),
    }
}
