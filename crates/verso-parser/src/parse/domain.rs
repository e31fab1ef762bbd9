//! CREATE DOMAIN, ALTER DOMAIN.

use super::collation::{collate, collated};
use super::cursor::Cursor;
use super::ddl::cascade;
use super::table::{check, expression, whole_expression};
use crate::error::SyntaxError;
use crate::syntax::{
    ConstraintClause, CreateDomain, DomainAction, DomainCondition, Name, Owned, Statement, TypeStatement,
};

/// Behind CREATE.
pub(super) fn create_domain(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.qualified()?;
    cursor.accept(&["as"]);
    let base = cursor.data_type()?;
    let mut domain = CreateDomain { name, base, default: None, not_null: None, checks: Vec::new() };
    let mut null = false;
    while let Some(word) = cursor.word() {
        let at = cursor.here().start;
        let named = if cursor.accept(&["constraint"]) { Some(cursor.name()?) } else { None };
        let word = if named.is_some() { cursor.word().unwrap_or_default() } else { word };
        match word.as_str() {
            "not" if cursor.accept(&["not", "null"]) => {
                if domain.not_null.replace(named).is_some() && !null {
                    return Err(SyntaxError::new("42P16", "redundant NOT NULL constraint definition").at(at));
                }
            }
            "null" => {
                cursor.advance();
                null = true;
            }
            "default" if named.is_none() => {
                cursor.advance();
                if domain.default.replace(expression(cursor)?).is_some() {
                    return Err(SyntaxError::syntax("multiple default expressions").at(at));
                }
            }
            "check" => domain.checks.push(condition(cursor, named)?),
            "collate" if named.is_none() => {
                let name = collate(cursor)?;
                domain.base = collated(domain.base, &name);
            }
            "unique" | "primary" | "references" | "exclude" | "generated" => {
                let what = match word.as_str() {
                    "primary" => "primary key constraints not possible for domains".to_string(),
                    "references" => "foreign key constraints not possible for domains".to_string(),
                    "exclude" => "exclusion constraints not possible for domains".to_string(),
                    "generated" => "specifying GENERATED not supported for domains".to_string(),
                    _ => "unique constraints not possible for domains".to_string(),
                };
                return Err(SyntaxError::syntax(what).at(at));
            }
            _ => return Err(cursor.unexpected()),
        }
        if null && domain.not_null.is_some() {
            return Err(SyntaxError::syntax("conflicting NULL/NOT NULL constraints").at(at));
        }
    }
    Ok(Statement::Type(TypeStatement::CreateDomain(Box::new(domain))))
}

/// Behind ALTER.
pub(super) fn alter_domain(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.qualified()?;
    if cursor.accept(&["rename", "to"]) {
        return Ok(Statement::Type(TypeStatement::Rename { name, domain: true, to: cursor.name()? }));
    }
    if cursor.accept(&["set", "schema"]) {
        return Ok(Statement::Type(TypeStatement::Move { name, domain: true, to: cursor.name()? }));
    }
    if let Some(statement) = super::rights::owner(cursor, || Owned::Domain(name.clone()), false)? {
        return Ok(statement);
    }
    let action = action(cursor)?;
    Ok(Statement::Type(TypeStatement::AlterDomain { name, action }))
}

fn action(cursor: &mut Cursor<'_>) -> Result<DomainAction, SyntaxError> {
    if cursor.accept(&["set", "default"]) {
        return Ok(DomainAction::Default(Some(whole_expression(cursor)?)));
    }
    if cursor.accept(&["drop", "default"]) {
        return Ok(DomainAction::Default(None));
    }
    if cursor.accept(&["set", "not", "null"]) {
        return Ok(DomainAction::NotNull(true, None));
    }
    if cursor.accept(&["drop", "not", "null"]) {
        return Ok(DomainAction::NotNull(false, None));
    }
    if cursor.accept(&["add"]) {
        let name = if cursor.accept(&["constraint"]) { Some(cursor.name()?) } else { None };
        if cursor.accept(&["not", "null"]) {
            return Ok(DomainAction::NotNull(true, name));
        }
        let mut check = condition(cursor, name)?;
        check.not_valid = cursor.accept(&["not", "valid"]);
        return Ok(DomainAction::AddCheck(check));
    }
    if cursor.accept(&["drop", "constraint"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        let name = cursor.name()?;
        cascade(cursor); // nothing needs a condition of a domain
        return Ok(DomainAction::DropConstraint { name, if_exists });
    }
    if cursor.accept(&["rename", "constraint"]) {
        let name = cursor.name()?;
        cursor.expect(&["to"])?;
        return Ok(DomainAction::RenameConstraint { name, to: cursor.name()? });
    }
    if cursor.accept(&["validate", "constraint"]) {
        return Ok(DomainAction::Validate(cursor.name()?));
    }
    Err(cursor.unexpected())
}

fn condition(cursor: &mut Cursor<'_>, name: Option<Name>) -> Result<DomainCondition, SyntaxError> {
    let clause = check(cursor)?;
    let at = cursor.here().start;
    if cursor.is(&["no", "inherit"]) {
        let text = "check constraints for domains cannot be marked NO INHERIT";
        return Err(SyntaxError::new("42P17", text).at(at));
    }
    match clause {
        ConstraintClause::Check(expr, text) => Ok(DomainCondition { name, expr, text, not_valid: false }),
        _ => Err(cursor.unexpected()),
    }
}
