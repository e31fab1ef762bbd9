//! COLLATE of a declaration; CREATE COLLATION, ALTER COLLATION, DROP COLLATION.

use std::sync::Arc;

use verso_types::{CollatedType, Collation, SqlType};

use super::cursor::Cursor;
use super::ddl::{cascade, if_not_exists};
use super::lexer::Token;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{CollationOption, CollationStatement, Owned, QualifiedName, Statement, TypeStatement};

/// `COLLATE name`.
pub(super) fn collate(cursor: &mut Cursor<'_>) -> Result<QualifiedName, SyntaxError> {
    cursor.expect(&["collate"])?;
    collation_name(cursor)
}

/// Behind COLLATE: the name of a collation, or a locale and whose rules it follows: `de_AT PROVIDER icu` is the collation
/// `"de-AT-x-icu"`.
pub(super) fn collation_name(cursor: &mut Cursor<'_>) -> Result<QualifiedName, SyntaxError> {
    let mut name = cursor.any_name()?;
    // Without one of these the word is the alias of a column.
    let providers = ["icu", "libc", "builtin"];
    if !cursor.is_at(0, "provider") || !providers.iter().any(|known| cursor.is_at(1, known)) {
        return Ok(name);
    }
    cursor.advance();
    let is_icu = cursor.is(&["icu"]);
    cursor.advance();
    if is_icu && name.schema.is_none() && !name.name.text.ends_with("-x-icu") {
        name.name.text = format!("{}-x-icu", locale(&name.name.text));
    }
    Ok(name)
}

/// A locale as the collations of ICU are named after it: `language-Script-COUNTRY`.
fn locale(text: &str) -> String {
    let parts = text.split(['-', '_']).enumerate().map(|(at, part)| match (at, part.len()) {
        (0, _) => part.to_ascii_lowercase(),
        (_, 2) => part.to_ascii_uppercase(),
        (_, 4) => {
            let (first, rest) = part.split_at_checked(1).unwrap_or((part, ""));
            first.to_ascii_uppercase() + &rest.to_ascii_lowercase()
        }
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("-")
}

/// A type with the collation of a name, which the catalog is asked about later.
pub(super) fn collated(base: SqlType, name: &QualifiedName) -> SqlType {
    let collation = Collation {
        oid: 0,
        schema: name.schema_text().unwrap_or_default().into(),
        name: name.name.text.as_str().into(),
        collator: None,
    };
    SqlType::Collated(Arc::new(CollatedType { base, collation: Arc::new(collation) }))
}

/// Behind CREATE.
pub(super) fn create_collation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let name = cursor.any_name()?;
    let (mut from, mut options) = (None, Vec::new());
    if cursor.accept(&["from"]) {
        from = Some(cursor.any_name()?);
    } else {
        cursor.expect_token(&Token::LParen)?;
        options = cursor.list(option)?;
        cursor.expect_token(&Token::RParen)?;
    }
    Ok(statement(CollationStatement::Create { name, if_not_exists, from, options }))
}

/// `name = value`.
fn option(cursor: &mut Cursor<'_>) -> Result<CollationOption, SyntaxError> {
    let name = cursor.label()?;
    let mut value = None;
    if cursor.accept_token(&Token::Eq) {
        value = Some(match cursor.peek() {
            Token::String(_) => string_literal(cursor)?.0,
            _ => cursor.label()?.text,
        });
    }
    Ok(CollationOption { name, value })
}

/// Behind ALTER.
pub(super) fn alter_collation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let name = cursor.any_name()?;
    if cursor.accept(&["refresh", "version"]) {
        return Ok(statement(CollationStatement::Refresh { name }));
    }
    if cursor.accept(&["rename", "to"]) {
        return Ok(statement(CollationStatement::Rename { name, to: cursor.name()? }));
    }
    if cursor.accept(&["set", "schema"]) {
        return Ok(statement(CollationStatement::Move { name, to: cursor.name()? }));
    }
    match super::rights::owner(cursor, || Owned::Collation(name), false)? {
        Some(statement) => Ok(statement),
        None => Err(cursor.unexpected()),
    }
}

/// Behind DROP.
pub(super) fn drop_collation(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_exists = cursor.accept(&["if", "exists"]);
    let names = cursor.list(Cursor::any_name)?;
    let cascade = cascade(cursor);
    Ok(statement(CollationStatement::Drop { names, if_exists, cascade }))
}

fn statement(statement: CollationStatement) -> Statement {
    Statement::Type(TypeStatement::Collation(statement))
}
