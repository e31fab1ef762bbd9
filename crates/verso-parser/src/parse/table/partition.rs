//! PARTITION BY, and what stands behind PARTITION OF.

use super::super::collation::collate;
use super::super::cursor::Cursor;
use super::super::lexer::Token;
use super::column::column_options;
use super::constraint::table_constraint;
use super::index::key_part;
use crate::error::SyntaxError;
use crate::syntax::{PartitionBound, PartitionBy, PartitionEdge, PartitionKeyPart, Span, TableElement};

/// Behind PARTITION BY.
pub(super) fn by(cursor: &mut Cursor<'_>) -> Result<PartitionBy, SyntaxError> {
    let strategy = cursor.label()?;
    cursor.expect_token(&Token::LParen)?;
    let keys = cursor.list(|cursor| {
        let at = cursor.here();
        let (key, mut collation) = key_part(cursor)?;
        if cursor.is(&["collate"]) {
            collation = Some(collate(cursor)?);
        }
        let class = if cursor.word().is_some() { Some(cursor.qualified()?.name) } else { None };
        Ok(PartitionKeyPart { key, at, collation, class })
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(PartitionBy { strategy, keys })
}

/// What may stand in the parentheses of PARTITION OF.
pub(super) fn element(cursor: &mut Cursor<'_>) -> Result<TableElement, SyntaxError> {
    match table_constraint(cursor)? {
        Some(constraint) => Ok(TableElement::Constraint(constraint)),
        None => column_options(cursor).map(TableElement::Options),
    }
}

/// FOR VALUES …, or DEFAULT; and where the bound itself stands, to which errors point.
pub(super) fn bound(cursor: &mut Cursor<'_>) -> Result<(PartitionBound, Span), SyntaxError> {
    let at = cursor.here();
    if cursor.accept(&["default"]) {
        return Ok((PartitionBound::Default, at));
    }
    cursor.expect(&["for", "values"])?;
    let at = cursor.here();
    Ok((values(cursor)?, at))
}

fn values(cursor: &mut Cursor<'_>) -> Result<PartitionBound, SyntaxError> {
    if cursor.accept(&["in"]) {
        cursor.expect_token(&Token::LParen)?;
        let values = cursor.exprs()?;
        cursor.expect_token(&Token::RParen)?;
        return Ok(PartitionBound::In(values));
    }
    if cursor.accept(&["with"]) {
        return remainder(cursor);
    }
    cursor.expect(&["from"])?;
    let from = edges(cursor)?;
    cursor.expect(&["to"])?;
    Ok(PartitionBound::Range { from, to: edges(cursor)? })
}

fn edges(cursor: &mut Cursor<'_>) -> Result<Vec<PartitionEdge>, SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    let edges = cursor.list(|cursor| {
        Ok(match () {
            () if cursor.accept(&["minvalue"]) => PartitionEdge::Min,
            () if cursor.accept(&["maxvalue"]) => PartitionEdge::Max,
            () => PartitionEdge::At(cursor.expr()?),
        })
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(edges)
}

/// `(MODULUS n, REMAINDER n)`, in any order.
fn remainder(cursor: &mut Cursor<'_>) -> Result<PartitionBound, SyntaxError> {
    let at = cursor.here().start;
    cursor.expect_token(&Token::LParen)?;
    let (mut modulus, mut remainder) = (None, None);
    let parts = cursor.list(|cursor| {
        let at = cursor.here().start;
        let name = cursor.label()?;
        Ok((at, name.text, cursor.integer()?))
    })?;
    cursor.expect_token(&Token::RParen)?;
    for (at, name, number) in parts {
        let place = match name.as_str() {
            "modulus" => &mut modulus,
            "remainder" => &mut remainder,
            _ => {
                let text = format!("unrecognized hash partition bound specification \"{name}\"");
                return Err(SyntaxError::new("42601", text).at(at));
            }
        };
        if place.replace(number).is_some() {
            let text = format!("{name} for hash partition provided more than once");
            return Err(SyntaxError::new("42710", text).at(at));
        }
    }
    match (modulus, remainder) {
        (Some(modulus), Some(remainder)) => Ok(PartitionBound::Hash { modulus, remainder }),
        (None, _) => Err(SyntaxError::new("42601", "modulus for hash partition must be specified").at(at)),
        (_, None) => Err(SyntaxError::new("42601", "remainder for hash partition must be specified").at(at)),
    }
}
