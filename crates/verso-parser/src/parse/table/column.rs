//! A column's definition: its type, default, identity and constraints.

use super::super::lexer::Token;
use verso_types::Identity;
use verso_types::SqlType;

use super::super::collation::{collate, collated};
use super::super::cursor::Cursor;
use super::super::ddl::{empty_sequence, sequence_options};
use super::constraint::{check, constraint, no_inherit, properties, references, unique};
use crate::error::SyntaxError;
use crate::syntax::{
    ColumnDefinition, ConstraintClause, ConstraintDefinition, CreateSequence, Expr, Name, QualifiedName, Span,
};

/// How an error begins of a column that may have NULLs and may not.
const CONFLICTING: &str = "conflicting NULL/NOT NULL declarations for column";

/// An error of the definition of a column, of that table.
pub(super) fn of_table(mut error: SyntaxError, table: &str) -> SyntaxError {
    if error.message.starts_with(CONFLICTING) {
        error.message += &format!(" of table \"{table}\"");
    }
    error
}

/// A column with its constraints.
pub(super) fn column_definition(cursor: &mut Cursor<'_>) -> Result<ColumnDefinition, SyntaxError> {
    let name = cursor.name()?;
    let serial = cursor.word().and_then(|word| serial(&word));
    let ty = match &serial {
        Some(ty) => {
            cursor.advance();
            ty.clone()
        }
        None => cursor.data_type()?,
    };
    let mut named = |word: &str| -> Result<Option<Box<Name>>, SyntaxError> {
        Ok(if cursor.accept(&[word]) { Some(Box::new(cursor.label()?)) } else { None })
    };
    let (storage, compression) = (named("storage")?, named("compression")?);
    let serial = serial.is_some();
    let column = ColumnDefinition { serial, storage, compression, ..ColumnDefinition::plain(name, ty) };
    with_constraints(cursor, column)
}

/// `name [WITH OPTIONS]` and constraints, of a column whose type is known.
pub(super) fn column_options(cursor: &mut Cursor<'_>) -> Result<ColumnDefinition, SyntaxError> {
    let name = cursor.name()?;
    cursor.accept(&["with", "options"]);
    with_constraints(cursor, ColumnDefinition::plain(name, SqlType::Unknown))
}

/// The default, identity and constraints behind a column's type.
fn with_constraints(
    cursor: &mut Cursor<'_>,
    mut column: ColumnDefinition,
) -> Result<ColumnDefinition, SyntaxError> {
    let (mut null, mut not_null) = (false, false);
    while let Some(word) = cursor.word() {
        let at = cursor.here().start;
        let named = if cursor.accept(&["constraint"]) { Some(cursor.name()?) } else { None };
        let word = if named.is_some() { cursor.word().unwrap_or_default() } else { word };
        let own = |name: &Name| vec![name.clone()];
        match word.as_str() {
            "not" if !matches!(cursor.word_at(1).as_deref(), Some("deferrable" | "enforced")) => {
                cursor.expect(&["not", "null"])?;
                not_null = true;
                let clause = ConstraintClause::NotNull(column.name.clone());
                let is_named = named.is_some();
                let mut definition = constraint(named, clause, at);
                if no_inherit(cursor, &mut definition) || is_named {
                    column.constraints.push(definition);
                }
            }
            "null" => {
                cursor.advance();
                null = true;
            }
            "default" => {
                cursor.advance();
                let default = expression(cursor)?;
                if column.default.replace(default).is_some() {
                    let text =
                        format!("multiple default values specified for column \"{}\"", column.name.text);
                    return Err(SyntaxError::syntax(text).at(at));
                }
            }
            "reservable" if named.is_none() => {
                cursor.advance();
                column.reservable = true;
            }
            "generated" => {
                let again = match generated(cursor, &column.ty)? {
                    GeneratedAs::Identity(kind, sequence) => {
                        not_null = true;
                        let name = &column.name.text;
                        let text = format!("multiple identity specifications for column \"{name}\"");
                        column.identity.replace((kind, sequence)).map(|_| text)
                    }
                    GeneratedAs::Expression(expr, source, is_virtual) => {
                        column.is_virtual = is_virtual;
                        let name = &column.name.text;
                        let text = format!("multiple generation clauses specified for column \"{name}\"");
                        column.generated.replace((expr, source)).map(|_| text)
                    }
                };
                if let Some(text) = again {
                    return Err(SyntaxError::syntax(text).at(at));
                }
            }
            "primary" | "unique" => {
                let clause = unique(cursor, Some(own(&column.name)))?;
                column.constraints.push(constraint(named, clause, at));
            }
            "check" => {
                let mut definition = constraint(named, check(cursor)?, at);
                no_inherit(cursor, &mut definition);
                column.constraints.push(definition);
            }
            "references" => {
                let clause = references(cursor, (own(&column.name), false))?;
                column.constraints.push(constraint(named, clause, at));
            }
            "enforced" | "not"
                if named.is_none()
                    && (word == "enforced" || cursor.is(&["not", "enforced"]))
                    && !can_be_unenforced(&column) =>
            {
                let which = if word == "not" { "NOT ENFORCED" } else { "ENFORCED" };
                return Err(SyntaxError::syntax(format!("misplaced {which} clause")).at(at));
            }
            "deferrable" | "not" | "initially" | "enforced"
                if named.is_none() && !column.constraints.is_empty() =>
            {
                let last = column.constraints.last_mut().expect("there is one, as checked");
                if !properties(cursor, last)? {
                    return Err(cursor.unexpected());
                }
            }
            "collate" if named.is_none() => {
                let name = collate(cursor)?;
                column.ty = collated(column.ty, &name);
            }
            _ => return Err(cursor.unexpected()),
        }
        let is_key = |constraint: &ConstraintDefinition| {
            matches!(constraint.clause, ConstraintClause::Unique { primary: true, .. })
        };
        if null && (not_null || column.serial || column.constraints.iter().any(is_key)) {
            return Err(SyntaxError::syntax(format!("{CONFLICTING} \"{}\"", column.name.text)).at(at));
        }
    }
    column.not_null = not_null;
    Ok(column)
}

/// Whether the last constraint of a column may be one that is not enforced.
fn can_be_unenforced(column: &ColumnDefinition) -> bool {
    let last = column.constraints.last().map(|constraint| &constraint.clause);
    matches!(last, Some(ConstraintClause::Check(..) | ConstraintClause::Foreign { .. }))
}

/// `smallserial`, `serial`, `bigserial`: the type of the column.
fn serial(word: &str) -> Option<SqlType> {
    Some(match word {
        "smallserial" | "serial2" => SqlType::Int2,
        "serial" | "serial4" => SqlType::Int4,
        "bigserial" | "serial8" => SqlType::Int8,
        _ => return None,
    })
}

/// The default of a new column or domain and its text: what follows may be a constraint, so words such as NOT and IN end it.
pub(in crate::parse) fn expression(cursor: &mut Cursor<'_>) -> Result<(Expr, String), SyntaxError> {
    with_text(cursor, Cursor::restricted_expr)
}

/// The same behind SET DEFAULT, where nothing follows.
pub(in crate::parse) fn whole_expression(cursor: &mut Cursor<'_>) -> Result<(Expr, String), SyntaxError> {
    with_text(cursor, Cursor::expr)
}

fn with_text<'s>(
    cursor: &mut Cursor<'s>,
    parse: impl FnOnce(&mut Cursor<'s>) -> Result<Expr, SyntaxError>,
) -> Result<(Expr, String), SyntaxError> {
    let start = cursor.here().start;
    let expr = parse(cursor)?;
    let end = cursor.last().end;
    let text = cursor.source().slice(Span { start, end }).to_string();
    Ok((expr, text))
}

/// What stands behind GENERATED.
pub(super) enum GeneratedAs {
    Identity(Identity, Box<CreateSequence>),
    /// The expression, its text, and whether it is VIRTUAL.
    Expression(Expr, String, bool),
}

/// `GENERATED ALWAYS | BY DEFAULT AS IDENTITY [(options)]`, `GENERATED ALWAYS AS (expression) [VIRTUAL | STORED]`.
pub(super) fn generated(cursor: &mut Cursor<'_>, ty: &SqlType) -> Result<GeneratedAs, SyntaxError> {
    let start = cursor.here();
    cursor.expect(&["generated"])?;
    let by = cursor.here().start;
    let kind = generated_when(cursor)?;
    cursor.expect(&["as"])?;
    if matches!(cursor.peek(), Token::LParen) {
        if kind != Identity::Always {
            let text = "for a generated column, GENERATED ALWAYS must be specified";
            return Err(SyntaxError::syntax(text).at(by));
        }
        let (expr, text) = generation(cursor)?;
        let is_stored = cursor.accept(&["stored"]);
        if !is_stored {
            cursor.accept(&["virtual"]);
        }
        return Ok(GeneratedAs::Expression(expr, text, !is_stored));
    }
    cursor.expect(&["identity"])?;
    let name = Name { text: String::new(), at: start };
    let mut sequence = empty_sequence(QualifiedName { schema: None, name });
    if cursor.accept_token(&Token::LParen) {
        sequence_options(cursor, &mut sequence)?;
        cursor.expect_token(&Token::RParen)?;
    }
    sequence.options.ty = Some(ty.clone());
    Ok(GeneratedAs::Identity(kind, Box::new(sequence)))
}

/// `ALWAYS | BY DEFAULT`.
pub(super) fn generated_when(cursor: &mut Cursor<'_>) -> Result<Identity, SyntaxError> {
    if cursor.accept(&["always"]) {
        return Ok(Identity::Always);
    }
    cursor.expect(&["by", "default"])?;
    Ok(Identity::ByDefault)
}

/// `(expression)`, and its text.
pub(in crate::parse) fn generation(cursor: &mut Cursor<'_>) -> Result<(Expr, String), SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let start = cursor.here().start;
    let expr = cursor.expr()?;
    let end = cursor.last().end;
    let text = cursor.source().slice(Span { start, end }).to_string();
    cursor.expect_token(&Token::RParen)?;
    Ok((expr, text))
}
