//! Literals and casts.

use sqlparser::ast::{self, Value};
use sqlparser::tokenizer::Span as TokenSpan;
use verso_types::SqlType;

use super::super::super::source::Source;
use super::super::data_type;
use super::node;
use verso_types::sqlstate;

use crate::error::SyntaxError;
use crate::syntax::{Expr, ExprKind, Literal, Span};

pub(super) fn literal(value: ast::ValueWithSpan, source: &Source<'_>) -> Result<Expr, SyntaxError> {
    let ast::ValueWithSpan { value, span } = value;
    let at = if span == TokenSpan::empty() { Span::default() } else { source.span(span) };
    let kind = match value {
        Value::Number(digits, false) => ExprKind::Literal(Literal::Number(digits)),
        Value::Number(_, true) => return Err(source.near(at.start)),
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::UnicodeStringLiteral(text)
        | Value::NationalStringLiteral(text) => ExprKind::Literal(Literal::String(text)),
        Value::DollarQuotedString(ast::DollarQuotedString { value, tag: _ }) => {
            ExprKind::Literal(Literal::String(value))
        }
        Value::Boolean(value) => ExprKind::Literal(Literal::Bool(value)),
        Value::Null => ExprKind::Literal(Literal::Null),
        Value::Placeholder(text) => match text.strip_prefix('$').map(str::parse) {
            Some(Ok(number @ 1..=65_535)) => ExprKind::Parameter(number),
            Some(Ok(number)) => {
                let text = format!("there is no parameter ${number}");
                return Err(SyntaxError::new(sqlstate::UNDEFINED_PARAMETER, text).at(at.start));
            }
            _ => return Err(source.near(at.start)),
        },
        Value::HexStringLiteral(_) | Value::SingleQuotedByteStringLiteral(_) => {
            return Err(SyntaxError::unsupported("a bit string").at(at.start));
        }
        Value::TripleSingleQuotedString(_)
        | Value::TripleDoubleQuotedString(_)
        | Value::DoubleQuotedByteStringLiteral(_)
        | Value::TripleSingleQuotedByteStringLiteral(_)
        | Value::TripleDoubleQuotedByteStringLiteral(_)
        | Value::SingleQuotedRawStringLiteral(_)
        | Value::DoubleQuotedRawStringLiteral(_)
        | Value::TripleSingleQuotedRawStringLiteral(_)
        | Value::TripleDoubleQuotedRawStringLiteral(_)
        | Value::QuoteDelimitedStringLiteral(_)
        | Value::NationalQuoteDelimitedStringLiteral(_)
        | Value::DoubleQuotedString(_) => return Err(source.near(at.start)),
    };
    Ok(node(kind, at, at.start))
}

pub(super) fn cast(
    kind: ast::CastKind,
    arg: Box<Expr>,
    ty: &ast::DataType,
    source: &Source<'_>,
) -> Result<Expr, SyntaxError> {
    match kind {
        ast::CastKind::Cast => {
            let start = source.find_back(arg.at.start, &["cast"], 2).unwrap_or(arg.at);
            let word = source.find(arg.at.end, "as").unwrap_or(arg.at);
            let ty = data_type(ty, source.token_behind(word.end))?;
            let end = source.find(word.end, ")").unwrap_or(word);
            let at = start.to(end);
            Ok(node(ExprKind::Cast { arg, ty, at_type: start.start }, at, start.start))
        }
        ast::CastKind::DoubleColon => {
            let colons = source.find(arg.at.end, "::").unwrap_or(arg.at);
            let type_start = source.token_behind(colons.end);
            let ty = data_type(ty, type_start)?;
            let at = arg.at.to(Span { start: type_start, end: type_start + 1 });
            Ok(node(ExprKind::Cast { arg, ty, at_type: colons.start }, at, colons.start))
        }
        ast::CastKind::TryCast => Err(SyntaxError::unsupported("TRY_CAST").at(arg.at.start)),
        ast::CastKind::SafeCast => Err(SyntaxError::unsupported("SAFE_CAST").at(arg.at.start)),
    }
}

/// `DATE '…'`: the type's word stands before the literal.
pub(super) fn start_of_type(literal: u32, source: &Source<'_>) -> u32 {
    source.token_before(literal)
}

pub(super) fn typed(ty: SqlType, arg: Box<Expr>, start: u32) -> Expr {
    let at = Span { start, end: arg.at.end };
    node(ExprKind::Cast { arg, ty, at_type: start }, at, start)
}
