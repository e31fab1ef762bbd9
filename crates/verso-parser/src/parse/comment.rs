//! COMMENT ON.

use super::cursor::Cursor;
use super::function::function_reference;
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{Comment, Commented, DropKind, Name, QualifiedName, RoutineKind, Statement};

/// COMMENT ON.
pub(super) fn comment(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let start = cursor.here().start;
    cursor.expect(&["comment", "on"])?;
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    cursor.advance();
    let on = match word.as_str() {
        "table" => Commented::Relation(DropKind::Table, cursor.qualified()?),
        "view" => Commented::Relation(DropKind::View, cursor.qualified()?),
        "materialized" => {
            cursor.expect(&["view"])?;
            Commented::Relation(DropKind::MaterializedView, cursor.qualified()?)
        }
        "sequence" => Commented::Relation(DropKind::Sequence, cursor.qualified()?),
        "index" => Commented::Relation(DropKind::Index, cursor.qualified()?),
        "schema" => Commented::Schema(cursor.name()?),
        "role" => Commented::Role(cursor.name()?),
        "tablespace" => Commented::Tablespace(cursor.name()?),
        "database" => Commented::Database(cursor.name()?),
        "type" | "domain" => Commented::Type(cursor.qualified()?),
        "column" => column(cursor)?,
        "function" | "procedure" | "routine" => {
            let kind = RoutineKind::of(&word);
            let (name, args) = function_reference(cursor)?;
            Commented::Function(kind, name, args)
        }
        "aggregate" => {
            let (name, args) = super::aggregate::aggregate_reference(cursor)?;
            Commented::Function(RoutineKind::Aggregate, name, args)
        }
        "operator" => Commented::Operator(super::operator_definition::operator_reference(cursor)?),
        "cast" => {
            let (source, target) = super::operator_definition::cast_reference(cursor)?;
            Commented::Cast(source, target)
        }
        "collation" => Commented::Collation(cursor.qualified()?),
        "extension" => Commented::Extension(cursor.name()?),
        "statistics" => Commented::Statistics(cursor.any_name()?),
        "trigger" => {
            let name = cursor.name()?;
            cursor.expect(&["on"])?;
            Commented::Trigger { name, table: cursor.qualified()? }
        }
        "policy" => {
            let name = cursor.name()?;
            cursor.expect(&["on"])?;
            Commented::Policy { name, table: cursor.qualified()? }
        }
        "constraint" => {
            let name = cursor.name()?;
            cursor.expect(&["on"])?;
            let names_domain =
                matches!(cursor.peek_at(1), Token::Word(_) | Token::Quoted(_)) && !cursor.is_at(1, "is");
            if names_domain && cursor.accept(&["domain"]) {
                Commented::DomainConstraint { name, domain: cursor.qualified()? }
            } else {
                Commented::Constraint { name, table: cursor.qualified()? }
            }
        }
        _ => {
            let what = format!("COMMENT ON {}", word.to_uppercase());
            return Err(SyntaxError::unsupported(what).at(start));
        }
    };
    cursor.expect(&["is"])?;
    let text = if cursor.accept(&["null"]) { None } else { Some(string_literal(cursor)?.0) };
    Ok(Statement::Comment(Comment { on, text }))
}

/// `[schema.]relation.column`.
fn column(cursor: &mut Cursor<'_>) -> Result<Commented, SyntaxError> {
    let mut parts: Vec<Name> = vec![cursor.name()?];
    while cursor.accept_token(&Token::Period) {
        parts.push(cursor.label()?);
    }
    let column = parts.pop();
    cursor.without_database(&mut parts, 2, true)?;
    let (Some(column), Some(name)) = (column, parts.pop()) else {
        return Err(SyntaxError::syntax("column name must be qualified"));
    };
    let schema = parts.pop();
    Ok(Commented::Column { relation: QualifiedName { schema, name }, column })
}
