//! GRANT, REVOKE, ALTER DEFAULT PRIVILEGES, OWNER TO, REASSIGN and DROP OWNED, policies; SET ROLE.

use super::cursor::Cursor;
use super::ddl::cascade;
use super::function::function_reference;
use super::lexer::Token;
use super::schema::role_name;
use super::string_literal;
use super::table::generation;
use crate::error::SyntaxError;
use crate::syntax::{
    ActAs, Grant, GrantKind, GrantOn, GrantRole, Name, Owned, Policy, QualifiedName, RightsStatement,
    RoleName, Statement,
};

/// GRANT, REVOKE: of roles where no ON comes.
pub(super) fn grant(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let revoke = cursor.is(&["revoke"]);
    let mark = cursor.mark();
    cursor.advance();
    if cursor.accept(&["grant", "option", "for"]) {
        cursor.back(mark);
        return rights(cursor).map(|grant| Statement::Rights(RightsStatement::Grant(grant)));
    }
    let is_option = ["admin", "inherit", "set"].iter().any(|word| cursor.is(&[word, "option", "for"]));
    if !is_option {
        let names = cursor.list(|cursor| {
            let name = right(cursor)?;
            if cursor.is(&["privileges"]) {
                cursor.advance();
            }
            if matches!(cursor.peek(), Token::LParen) {
                cursor.listed(Cursor::name)?;
            }
            Ok(name)
        });
        let on = cursor.is(&["on"]);
        cursor.back(mark);
        if names.is_ok() && on {
            return rights(cursor).map(|grant| Statement::Rights(RightsStatement::Grant(grant)));
        }
    } else {
        cursor.back(mark);
    }
    cursor.advance();
    let (mut admin, mut inherit, mut set) = (None, None, None);
    if revoke {
        for (word, option) in [("admin", &mut admin), ("inherit", &mut inherit), ("set", &mut set)] {
            if cursor.accept(&[word, "option", "for"]) {
                *option = Some(true);
            }
        }
    }
    let roles = cursor.list(Cursor::name)?;
    cursor.expect(&[if revoke { "from" } else { "to" }])?;
    let to = cursor.list(role_name)?;
    if !revoke && cursor.accept(&["with"]) {
        cursor.list(|cursor| {
            for (word, option) in [("admin", &mut admin), ("inherit", &mut inherit), ("set", &mut set)] {
                if cursor.accept(&[word]) {
                    let off = cursor.accept(&["false"]);
                    if !off && !cursor.accept(&["true"]) {
                        cursor.expect(&["option"])?;
                    }
                    *option = Some(!off);
                    return Ok(());
                }
            }
            Err(cursor.unexpected())
        })?;
    }
    let by = granted_by(cursor)?;
    let cascade = revoke && cascade(cursor);
    let grant = GrantRole { revoke, roles, to, admin, inherit, set, by, cascade, group: false };
    Ok(Statement::Rights(RightsStatement::GrantRole(grant)))
}

fn granted_by(cursor: &mut Cursor<'_>) -> Result<Option<RoleName>, SyntaxError> {
    if cursor.accept(&["granted", "by"]) { role_name(cursor).map(Some) } else { Ok(None) }
}

/// GRANT or REVOKE of rights.
fn rights(cursor: &mut Cursor<'_>) -> Result<Grant, SyntaxError> {
    let (revoke, mut option, rights, columns) = what(cursor)?;
    cursor.expect(&["on"])?;
    let on = objects(cursor)?;
    let (to, by, cascade) = whom(cursor, revoke, &mut option)?;
    Ok(Grant { revoke, option, rights, columns, on, to, by, cascade })
}

type Named = Vec<(Name, Vec<Name>)>;

/// A right, which has a word, or two.
fn right(cursor: &mut Cursor<'_>) -> Result<Name, SyntaxError> {
    let mut name = cursor.label()?;
    if name.text == "alter" && cursor.accept(&["system"]) {
        name.text.push_str(" system");
    }
    Ok(name)
}

/// `GRANT | REVOKE [GRANT OPTION FOR] rights`.
fn what(cursor: &mut Cursor<'_>) -> Result<(bool, bool, Named, Vec<Name>), SyntaxError> {
    let revoke = cursor.is(&["revoke"]);
    cursor.advance();
    let option = revoke && cursor.accept(&["grant", "option", "for"]);
    let list = |cursor: &mut Cursor<'_>| match cursor.peek() {
        Token::LParen => cursor.listed(Cursor::name),
        _ => Ok(Vec::new()),
    };
    if cursor.accept(&["all"]) {
        cursor.accept(&["privileges"]);
        return Ok((revoke, option, Vec::new(), list(cursor)?));
    }
    let rights = cursor.list(|cursor| Ok((right(cursor)?, list(cursor)?)))?;
    Ok((revoke, option, rights, Vec::new()))
}

/// `TO | FROM roles …`.
fn whom(
    cursor: &mut Cursor<'_>,
    revoke: bool,
    option: &mut bool,
) -> Result<(Vec<RoleName>, Option<RoleName>, bool), SyntaxError> {
    cursor.expect(&[if revoke { "from" } else { "to" }])?;
    let to = cursor.list(|cursor| {
        cursor.accept(&["group"]);
        role_name(cursor)
    })?;
    if !revoke && cursor.accept(&["with", "grant", "option"]) {
        *option = true;
    }
    let by = granted_by(cursor)?;
    Ok((to, by, revoke && cascade(cursor)))
}

fn objects(cursor: &mut Cursor<'_>) -> Result<GrantOn, SyntaxError> {
    if cursor.accept(&["all"]) {
        let kind = kind_of_all(cursor)?;
        cursor.expect(&["in", "schema"])?;
        return Ok(GrantOn::All(kind, cursor.list(Cursor::name)?));
    }
    for what in ["foreign", "large"] {
        if cursor.is(&[what])
            && !matches!(cursor.peek_at(1), Token::Period | Token::Comma)
            && cursor.word_at(1).as_deref() != Some("to")
        {
            let kind = super::ddl::kind_in_words(cursor, what);
            let error = cursor.unsupported(&format!("GRANT ON {kind}"));
            return Err(match what {
                "foreign" => error.with_hint(super::instead::FOREIGN_TABLES),
                _ => error.with_hint(super::instead::LARGE_OBJECTS),
            });
        }
    }
    let kinds = [
        ("sequence", GrantKind::Sequence),
        ("type", GrantKind::Type),
        ("domain", GrantKind::Type),
        ("function", GrantKind::Function),
        ("procedure", GrantKind::Procedure),
        ("routine", GrantKind::Routine),
        ("schema", GrantKind::Schema),
        ("language", GrantKind::Language),
        ("database", GrantKind::Database),
        ("parameter", GrantKind::Parameter),
        ("tablespace", GrantKind::Tablespace),
    ];
    // A table may be called like a kind.
    let names = |cursor: &Cursor<'_>| {
        !matches!(cursor.peek_at(1), Token::Period | Token::Comma)
            && !matches!(cursor.word_at(1).as_deref(), Some("to" | "from"))
    };
    if let Some((_, kind)) = kinds.into_iter().find(|(word, _)| cursor.is(&[word]) && names(cursor)) {
        cursor.advance();
        return Ok(match kind {
            GrantKind::Sequence | GrantKind::Type | GrantKind::Table => {
                GrantOn::Named(kind, cursor.list(Cursor::qualified)?)
            }
            GrantKind::Function | GrantKind::Procedure | GrantKind::Routine => {
                GrantOn::Functions(kind, cursor.list(function_reference)?)
            }
            GrantKind::Schema | GrantKind::Language | GrantKind::Database | GrantKind::Tablespace => {
                GrantOn::Plain(kind, cursor.list(Cursor::name)?)
            }
            GrantKind::Parameter => GrantOn::Plain(kind, cursor.list(setting)?),
        });
    }
    if cursor.is(&["table"]) && names(cursor) {
        cursor.advance();
    }
    Ok(GrantOn::Named(GrantKind::Table, cursor.list(Cursor::qualified)?))
}

/// A setting, which may have a period in its name.
fn setting(cursor: &mut Cursor<'_>) -> Result<Name, SyntaxError> {
    let QualifiedName { schema, name } = cursor.qualified()?;
    Ok(match schema {
        Some(first) => Name { text: format!("{}.{}", first.text, name.text), at: first.at },
        None => name,
    })
}

fn kind_of_all(cursor: &mut Cursor<'_>) -> Result<GrantKind, SyntaxError> {
    let kinds = [
        ("tables", GrantKind::Table),
        ("sequences", GrantKind::Sequence),
        ("functions", GrantKind::Function),
        ("procedures", GrantKind::Procedure),
        ("routines", GrantKind::Routine),
        ("types", GrantKind::Type),
        ("schemas", GrantKind::Schema),
    ];
    let found = kinds.into_iter().find(|(word, _)| cursor.accept(&[word]));
    found.map(|(_, kind)| kind).ok_or_else(|| cursor.unexpected())
}

/// ALTER DEFAULT PRIVILEGES.
pub(super) fn default_rights(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["alter", "default", "privileges"])?;
    let (mut roles, mut schemas) = (Vec::new(), Vec::new());
    loop {
        if cursor.accept(&["for", "role"]) || cursor.accept(&["for", "user"]) {
            roles = cursor.list(role_name)?;
        } else if cursor.accept(&["in", "schema"]) {
            schemas = cursor.list(Cursor::name)?;
        } else {
            break;
        }
    }
    if !cursor.is(&["grant"]) && !cursor.is(&["revoke"]) {
        return Err(cursor.unexpected());
    }
    let (revoke, mut option, rights, columns) = what(cursor)?;
    cursor.expect(&["on"])?;
    if cursor.is(&["large", "objects"]) {
        return Err(cursor.unsupported("ALTER DEFAULT PRIVILEGES ON LARGE OBJECTS"));
    }
    let on = GrantOn::All(kind_of_all(cursor)?, Vec::new());
    let (to, by, cascade) = whom(cursor, revoke, &mut option)?;
    let grant = Grant { revoke, option, rights, columns, on, to, by, cascade };
    Ok(Statement::Rights(RightsStatement::Default { roles, schemas, grant }))
}

/// `OWNER TO role`, if it comes.
pub(super) fn owner(
    cursor: &mut Cursor<'_>,
    of: impl FnOnce() -> Owned,
    if_exists: bool,
) -> Result<Option<Statement>, SyntaxError> {
    if !cursor.accept(&["owner", "to"]) {
        return Ok(None);
    }
    let to = role_name(cursor)?;
    Ok(Some(Statement::Rights(RightsStatement::Owner { of: of(), to, if_exists })))
}

/// REASSIGN OWNED.
pub(super) fn reassign(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["reassign", "owned", "by"])?;
    let from = cursor.list(role_name)?;
    cursor.expect(&["to"])?;
    Ok(Statement::Rights(RightsStatement::Reassign { from, to: role_name(cursor)? }))
}

/// Behind DROP.
pub(super) fn drop_owned(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["owned", "by"])?;
    let roles = cursor.list(role_name)?;
    Ok(Statement::Rights(RightsStatement::DropOwned { roles, cascade: cascade(cursor) }))
}

// ── policies ─────────────────────────────────────────────────────────────────────────────────────────────────────

fn policy_name(cursor: &mut Cursor<'_>) -> Result<(Name, QualifiedName), SyntaxError> {
    let name = cursor.name()?;
    cursor.expect(&["on"])?;
    Ok((name, cursor.qualified()?))
}

/// Behind CREATE or ALTER.
pub(super) fn policy(cursor: &mut Cursor<'_>, alter: bool) -> Result<Statement, SyntaxError> {
    cursor.expect(&["policy"])?;
    let (name, table) = policy_name(cursor)?;
    if alter && cursor.accept(&["rename", "to"]) {
        let to = cursor.name()?;
        return Ok(Statement::Rights(RightsStatement::RenamePolicy { name, table, to }));
    }
    let mut policy = Policy {
        name,
        table,
        permissive: true,
        command: "all".to_string(),
        roles: None,
        using: None,
        check: None,
    };
    if !alter && cursor.accept(&["as"]) {
        policy.permissive = cursor.accept(&["permissive"]);
        if !policy.permissive && !cursor.accept(&["restrictive"]) {
            let found = cursor.written().to_string();
            let error = SyntaxError::syntax(format!("unrecognized row security option \"{found}\""));
            return Err(error
                .with_hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently.")
                .at(cursor.here().start));
        }
    }
    if !alter && cursor.accept(&["for"]) {
        let commands = ["all", "select", "insert", "update", "delete"];
        let command = commands.into_iter().find(|word| cursor.accept(&[word]));
        policy.command = command.ok_or_else(|| cursor.unexpected())?.to_string();
    }
    if cursor.accept(&["to"]) {
        policy.roles = Some(cursor.list(role_name)?);
    }
    if cursor.accept(&["using"]) {
        policy.using = Some(generation(cursor)?);
    }
    if cursor.accept(&["with", "check"]) {
        policy.check = Some(generation(cursor)?);
    }
    let policy = Box::new(policy);
    Ok(Statement::Rights(match alter {
        true => RightsStatement::AlterPolicy(policy),
        false => RightsStatement::CreatePolicy(policy),
    }))
}

/// Behind DROP.
pub(super) fn drop_policy(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["policy"])?;
    let if_exists = cursor.accept(&["if", "exists"]);
    let (name, table) = policy_name(cursor)?;
    cascade(cursor);
    Ok(Statement::Rights(RightsStatement::DropPolicy { name, table, if_exists }))
}

// ── who the session acts as ──────────────────────────────────────────────────────────────────────────────────────

/// `[LOCAL | SESSION] ROLE …`, `[LOCAL | SESSION] SESSION AUTHORIZATION …` behind SET, if that comes.
pub(super) fn act_as(cursor: &mut Cursor<'_>) -> Result<Option<Statement>, SyntaxError> {
    let mark = cursor.mark();
    let local = cursor.accept(&["local"]);
    if cursor.is(&["session", "role"]) || cursor.is(&["session", "session", "authorization"]) {
        cursor.advance();
    }
    let session = cursor.accept(&["session", "authorization"]);
    if !(session || cursor.is(&["role"])) {
        cursor.back(mark);
        return Ok(None);
    }
    if !session {
        cursor.advance();
        if !cursor.accept_token(&Token::Eq) && !matches!(cursor.peek_at(1), Token::End) {
            cursor.accept(&["to"]);
        }
    }
    let none = if session { "default" } else { "none" };
    let name = if cursor.accept(&[none]) || cursor.accept(&["default"]) {
        None
    } else if let Token::String(_) = cursor.peek() {
        let (text, at, _) = string_literal(cursor)?;
        (session || text != "none").then_some(Name { text, at })
    } else {
        Some(cursor.name()?)
    };
    let who = if session { ActAs::Session(name) } else { ActAs::Role(name) };
    Ok(Some(Statement::ActAs { who, local, reset: false }))
}
