//! From the `sqlparser` crate's tree to ours.
//!
//! Every struct is taken apart field by field and every enum is matched without a wildcard, so that a new version of
//! the library with a new clause does not compile until somebody decides what to do with the clause.

mod dml;
mod expr;
mod from;
mod locks;
mod query;
mod select;
mod types;

pub use dml::dml;
pub use expr::expr;
pub use query::query;
pub use types::data_type;

use sqlparser::ast;

use super::cursor::{RESERVED, fold, truncate};
use super::source::Source;
use crate::error::SyntaxError;
use crate::syntax::{Name, QualifiedName};

/// An identifier, folded.
fn name(ident: ast::Ident, source: &Source<'_>) -> Name {
    let ast::Ident { value, quote_style, span } = ident;
    let text = if quote_style.is_some() { value } else { fold(&value) };
    Name { text: truncate(text), at: source.span(span) }
}

/// The identifiers of a name with dots.
fn names(object: ast::ObjectName, source: &Source<'_>) -> Result<Vec<Name>, SyntaxError> {
    let ast::ObjectName(parts) = object;
    parts
        .into_iter()
        .map(|part| match part {
            ast::ObjectNamePart::Identifier(ident) => Ok(name(ident, source)),
            ast::ObjectNamePart::Function(function) => {
                Err(SyntaxError::unsupported("a function as a name")
                    .at(source.span(function.name.span).start))
            }
        })
        .collect()
}

/// A name of a table or function.
fn qualified(object: ast::ObjectName, source: &Source<'_>) -> Result<QualifiedName, SyntaxError> {
    let mut parts = names(object, source)?.into_iter();
    match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => Ok(QualifiedName { schema: None, name }),
        (Some(schema), Some(name), None) => Ok(QualifiedName { schema: Some(schema), name }),
        (Some(database), ..) => {
            Err(SyntaxError::unsupported("a reference to another database").at(database.at.start))
        }
        (None, ..) => Err(SyntaxError::syntax("syntax error: empty name")),
    }
}

/// The name of a table: no reserved word, which the library would let pass.
fn table_name(object: ast::ObjectName, source: &Source<'_>) -> Result<QualifiedName, SyntaxError> {
    let name = qualified(object, source)?;
    let Name { text, at } = &name.name;
    if RESERVED.contains(&text.as_str()) && !source.slice(*at).starts_with('"') {
        return Err(source.near(at.start));
    }
    Ok(name)
}

/// Refuses clauses that are present: pairs of presence and name.
fn refuse(clauses: &[(bool, &str)], at: u32) -> Result<(), SyntaxError> {
    match clauses.iter().find(|(present, _)| *present) {
        Some((_, what)) => Err(SyntaxError::unsupported(*what).at(at)),
        None => Ok(()),
    }
}

/// Refuses a clause that is present, pointing at its first word behind `from` where that is found.
fn refuse_at(present: bool, what: &str, source: &Source<'_>, from: u32) -> Result<(), SyntaxError> {
    if !present {
        return Ok(());
    }
    let word = what.split(' ').next().unwrap_or(what);
    let at = source.find(from, word).map_or(from, |span| span.start);
    Err(SyntaxError::unsupported(what).at(at))
}
