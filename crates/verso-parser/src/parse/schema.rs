//! CREATE, ALTER, DROP SCHEMA; ALTER … SET SCHEMA.

use super::cursor::Cursor;
use super::ddl::{cascade, if_not_exists};
use super::function::{function_reference, planning_option};
use super::setting::{one_setting, setting_name};
use crate::error::SyntaxError;
use crate::syntax::{
    AlterFunction, DropKind, Fingerprint, FunctionSetting, Owned, Parsed, Planning, QualifiedName, RoleName,
    RoutineKind, SchemaStatement, Statement, ViewStatement, Volatility,
};
use verso_types::sqlstate;

/// Behind CREATE.
pub(super) fn create_schema(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = if cursor.is(&["authorization"]) { None } else { Some(cursor.name()?) };
    let owner = if cursor.accept(&["authorization"]) { Some(role_name(cursor)?) } else { None };
    if name.is_none() && owner.is_none() {
        return Err(cursor.unexpected());
    }
    let at = cursor.here().start;
    let mut elements = Vec::new();
    while cursor.is(&["create"]) || cursor.is(&["grant"]) {
        elements.push(element(cursor)?);
    }
    if if_not_exists && !elements.is_empty() {
        let text = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
        return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at));
    }
    // What others refer to comes first.
    elements.sort_by_key(|(rank, _)| *rank);
    let elements = elements.into_iter().map(|(_, element)| element).collect();
    Ok(Statement::Schema(SchemaStatement::Create { name, owner, if_not_exists, elements }))
}

/// A statement within CREATE SCHEMA, and when it runs among the others.
fn element(cursor: &mut Cursor<'_>) -> Result<(u8, Parsed), SyntaxError> {
    let start = cursor.here();
    if cursor.is(&["create", "schema"]) {
        return Err(cursor.source().near(start.start)); // before it recurses
    }
    let statement = super::statement(cursor)?;
    let rank = match &statement {
        Statement::CreateSequence(_) => 0,
        Statement::CreateTable(_) => 1,
        Statement::View(ViewStatement::Create(_)) => 2,
        Statement::CreateIndex(_) => 3,
        Statement::CreateTrigger(_) => 4,
        Statement::Rights(_) => 5,
        _ => return Err(cursor.source().near(start.start)),
    };
    let (at, fingerprint) = (cursor.since(start), Fingerprint::default());
    Ok((rank, Parsed { statement, at, databases: Vec::new(), fingerprint }))
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

/// ALTER FUNCTION, ALTER PROCEDURE, ALTER ROUTINE.
pub(super) fn alter_function(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let kind = RoutineKind::of(&cursor.word().unwrap_or_default());
    cursor.advance();
    let (name, args) = match kind {
        RoutineKind::Aggregate => super::aggregate::aggregate_reference(cursor)?,
        _ => function_reference(cursor)?,
    };
    let of = || Owned::Function(kind, name.clone(), args.clone());
    if let Some(statement) = super::rights::owner(cursor, of, false)? {
        return Ok(statement);
    }
    let action = if cursor.accept(&["set", "schema"]) {
        AlterFunction::Move(cursor.name()?)
    } else if cursor.accept(&["rename", "to"]) {
        AlterFunction::Rename(cursor.name()?)
    } else if kind == RoutineKind::Aggregate {
        return Err(cursor.unexpected());
    } else {
        properties(cursor, kind)?
    };
    Ok(Statement::Schema(SchemaStatement::AlterFunction { kind, name, args, action }))
}

/// IMMUTABLE, STRICT, SECURITY DEFINER and so on, at least one.
fn properties(cursor: &mut Cursor<'_>, kind: RoutineKind) -> Result<AlterFunction, SyntaxError> {
    let (mut volatility, mut strict, mut security_definer, mut leakproof) = (None, None, None, None);
    let (mut settings, mut planning) = (Vec::new(), Planning::default());
    let mut of_functions = None;
    loop {
        let at = cursor.here().start;
        let words = [
            "immutable",
            "stable",
            "volatile",
            "strict",
            "returns",
            "called",
            "parallel",
            "cost",
            "rows",
            "leakproof",
            "not",
        ];
        let of_function = words.iter().any(|word| cursor.is(&[word]));
        of_functions = of_functions.or(of_function.then_some(at));
        if kind == RoutineKind::Procedure && of_function {
            let text = "invalid attribute in procedure definition";
            return Err(SyntaxError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).at(at));
        }
        let twice = if cursor.accept(&["immutable"]) {
            volatility.replace(Volatility::Immutable).is_some()
        } else if cursor.accept(&["stable"]) {
            volatility.replace(Volatility::Stable).is_some()
        } else if cursor.accept(&["volatile"]) {
            volatility.replace(Volatility::Volatile).is_some()
        } else if cursor.accept(&["strict"]) || cursor.accept(&["returns", "null", "on", "null", "input"]) {
            strict.replace(true).is_some()
        } else if cursor.accept(&["called", "on", "null", "input"]) {
            strict.replace(false).is_some()
        } else if cursor.is_any(&["security", "external"]) {
            cursor.accept(&["external"]);
            cursor.expect(&["security"])?;
            let definer = cursor.accept(&["definer"]);
            if !definer {
                cursor.expect(&["invoker"])?;
            }
            security_definer.replace(definer).is_some()
        } else if cursor.is(&["parallel"]) || cursor.is(&["cost"]) || cursor.is(&["rows"]) {
            planning_option(cursor, &mut planning)?
        } else if cursor.accept(&["leakproof"]) {
            leakproof.replace(true).is_some()
        } else if cursor.accept(&["not", "leakproof"]) {
            leakproof.replace(false).is_some()
        } else if cursor.is(&["set"]) || cursor.is(&["reset"]) {
            settings.push(function_setting(cursor)?);
            false
        } else {
            return Err(match cursor.word().as_deref() {
                Some(word @ ("support" | "depends" | "no")) => {
                    cursor.unsupported(&format!("ALTER FUNCTION … {}", word.to_uppercase()))
                }
                _ => cursor.unexpected(),
            });
        };
        if twice {
            return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
        }
        if cursor.accept(&["restrict"]) || cursor.at_end() {
            return Ok(AlterFunction::Properties {
                volatility,
                strict,
                security_definer,
                leakproof,
                planning,
                settings,
                of_functions,
            });
        }
    }
}

/// `SET name {TO | =} value`, `SET name FROM CURRENT`, `RESET name`, `RESET ALL`.
fn function_setting(cursor: &mut Cursor<'_>) -> Result<FunctionSetting, SyntaxError> {
    if cursor.accept(&["reset"]) {
        return Ok(match cursor.accept(&["all"]) {
            true => FunctionSetting::ResetAll,
            false => FunctionSetting::Reset(setting_name(cursor)?),
        });
    }
    cursor.expect(&["set"])?;
    let start = cursor.mark();
    let name = setting_name(cursor)?;
    if cursor.accept(&["from", "current"]) {
        return Ok(FunctionSetting::Set(name, None));
    }
    cursor.back(start);
    let (name, value) = one_setting(cursor)?;
    Ok(match value {
        Some(value) => FunctionSetting::Set(name, Some(value)),
        None => FunctionSetting::Reset(name),
    })
}

/// A role: its name, or a word for the user.
pub(in crate::parse) fn role_name(cursor: &mut Cursor<'_>) -> Result<RoleName, SyntaxError> {
    if cursor.accept(&["current_user"]) || cursor.accept(&["current_role"]) {
        return Ok(RoleName::Current);
    }
    if cursor.accept(&["session_user"]) {
        return Ok(RoleName::Session);
    }
    cursor.name().map(RoleName::Named)
}
