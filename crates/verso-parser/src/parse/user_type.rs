//! CREATE TYPE, ALTER TYPE, DROP TYPE.

use super::collation::{collate, collated};
use super::cursor::Cursor;
use super::ddl::{cascade, if_not_exists};
use super::lexer::Token;
use super::string_literal;
use verso_types::SqlType;

use crate::error::SyntaxError;
use crate::syntax::{FieldChange, LabelPlace, Owned, RangeOption, Statement, TypeStatement};

/// Behind CREATE.
pub(super) fn create_type(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.qualified()?;
    if cursor.is(&["as"]) && cursor.peek_at(1) == Token::LParen {
        cursor.advance();
        cursor.advance();
        let fields = match cursor.peek() {
            Token::RParen => Vec::new(),
            _ => cursor.list(|cursor| Ok((cursor.name()?, field_type(cursor)?)))?,
        };
        cursor.expect_token(&Token::RParen)?;
        return Ok(Statement::Type(TypeStatement::CreateComposite { name, fields }));
    }
    if cursor.accept(&["as", "range"]) {
        let options = range_options(cursor)?;
        return Ok(Statement::Type(TypeStatement::CreateRange { name, options }));
    }
    if !cursor.accept(&["as", "enum"]) {
        let what = match cursor.peek() {
            Token::LParen => "CREATE TYPE of a base type",
            _ if cursor.word().is_none() => "CREATE TYPE without a definition",
            _ => return Err(cursor.unexpected()),
        };
        return Err(cursor.unsupported(what));
    }
    cursor.expect_token(&Token::LParen)?;
    let labels = match cursor.peek() {
        Token::RParen => Vec::new(),
        _ => cursor.list(label)?,
    };
    cursor.expect_token(&Token::RParen)?;
    Ok(Statement::Type(TypeStatement::CreateEnum { name, labels }))
}

/// `(subtype = float8, …)`.
fn range_options(cursor: &mut Cursor<'_>) -> Result<Vec<RangeOption>, SyntaxError> {
    let mut known: Vec<String> = Vec::new();
    let mut option = |cursor: &mut Cursor<'_>| {
        let name = cursor.name()?;
        cursor.expect_token(&Token::Eq)?;
        if known.contains(&name.text) {
            return Err(SyntaxError::syntax("conflicting or redundant options").at(name.at.start));
        }
        let option = match name.text.as_str() {
            "subtype" => RangeOption::Subtype(cursor.data_type()?),
            "subtype_opclass" => RangeOption::Class(cursor.qualified()?),
            "collation" => RangeOption::Collation(cursor.qualified()?),
            "subtype_diff" => RangeOption::Diff(cursor.qualified()?),
            "multirange_type_name" => RangeOption::Multirange(cursor.qualified()?),
            "canonical" => return Err(cursor.unsupported("CREATE TYPE AS RANGE with a canonical function")),
            other => {
                let text = format!("type attribute \"{other}\" not recognized");
                return Err(SyntaxError::syntax(text).at(name.at.start));
            }
        };
        known.push(name.text);
        Ok(option)
    };
    cursor.expect_token(&Token::LParen)?;
    let options = cursor.list(&mut option)?;
    cursor.expect_token(&Token::RParen)?;
    Ok(options)
}

/// Behind ALTER.
pub(super) fn alter_type(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.qualified()?;
    if cursor.accept(&["add", "value"]) {
        let if_not_exists = if_not_exists(cursor)?;
        let new = label(cursor)?;
        let place = if cursor.accept(&["before"]) {
            LabelPlace::Before(label(cursor)?)
        } else if cursor.accept(&["after"]) {
            LabelPlace::After(label(cursor)?)
        } else {
            LabelPlace::Last
        };
        return Ok(Statement::Type(TypeStatement::AddValue { name, label: new, if_not_exists, place }));
    }
    if cursor.accept(&["rename", "value"]) {
        let from = label(cursor)?;
        cursor.expect(&["to"])?;
        let to = label(cursor)?;
        return Ok(Statement::Type(TypeStatement::RenameValue { name, from, to }));
    }
    if cursor.accept(&["rename", "attribute"]) {
        let from = cursor.name()?;
        cursor.expect(&["to"])?;
        let changes = vec![FieldChange::Rename(from, cursor.name()?)];
        let cascade = cascade(cursor);
        return Ok(Statement::Type(TypeStatement::AlterFields { name, changes, cascade }));
    }
    if ["add", "drop", "alter"].iter().any(|word| cursor.is(&[word, "attribute"])) {
        let (changes, cascades): (Vec<_>, Vec<bool>) = cursor.list(field_change)?.into_iter().unzip();
        let cascade = cascades.into_iter().all(|cascade| cascade);
        return Ok(Statement::Type(TypeStatement::AlterFields { name, changes, cascade }));
    }
    if cursor.accept(&["rename", "to"]) {
        return Ok(Statement::Type(TypeStatement::Rename { name, domain: false, to: cursor.name()? }));
    }
    if cursor.accept(&["set", "schema"]) {
        return Ok(Statement::Type(TypeStatement::Move { name, domain: false, to: cursor.name()? }));
    }
    if let Some(statement) = super::rights::owner(cursor, || Owned::Type(name.clone()), false)? {
        return Ok(statement);
    }
    let what = ["attribute", "owner"].into_iter().find(|word| cursor.is(&[word]) || cursor.is_at(1, word));
    match what {
        Some(word) => Err(cursor.unsupported(&format!("ALTER TYPE … {}", word.to_uppercase()))),
        None => Err(cursor.unexpected()),
    }
}

/// Behind DROP.
pub(super) fn drop_type(cursor: &mut Cursor<'_>, domain: bool) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = cursor.list(Cursor::qualified)?;
    Ok(Statement::Type(TypeStatement::Drop { names, domain, if_exists, cascade: cascade(cursor) }))
}

/// The type of a field.
fn field_type(cursor: &mut Cursor<'_>) -> Result<SqlType, SyntaxError> {
    let ty = cursor.data_type()?;
    match cursor.is(&["collate"]) {
        true => Ok(collated(ty, &collate(cursor)?)),
        false => Ok(ty),
    }
}

/// A change of a field, and whether CASCADE stands behind it.
fn field_change(cursor: &mut Cursor<'_>) -> Result<(FieldChange, bool), SyntaxError> {
    let change = if cursor.accept(&["add", "attribute"]) {
        FieldChange::Add(cursor.name()?, field_type(cursor)?)
    } else if cursor.accept(&["drop", "attribute"]) {
        let if_exists = cursor.accept(&["if", "exists"]);
        FieldChange::Drop { name: cursor.name()?, if_exists }
    } else if cursor.accept(&["alter", "attribute"]) {
        let name = cursor.name()?;
        cursor.accept(&["set", "data"]);
        cursor.expect(&["type"])?;
        FieldChange::Retype(name, field_type(cursor)?)
    } else {
        return Err(cursor.unexpected());
    };
    Ok((change, cascade(cursor)))
}

fn label(cursor: &mut Cursor<'_>) -> Result<String, SyntaxError> {
    Ok(string_literal(cursor)?.0)
}
