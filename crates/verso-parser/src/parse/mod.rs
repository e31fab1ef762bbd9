//! From text to syntax tree.
//!
//! ```text
//! text ─► Source (tokens, places) ─┬─► sqlparser ─► lower/ ──┬─► syntax
//!                                  └─► control, ddl (ours) ──┘
//! ```
//! Queries and DML are parsed by the `sqlparser` crate and lowered from its tree, every field of it looked at. Control
//! statements and DDL are parsed here, on the same tokens, because they hold most of what is Verso's own and because
//! PostgreSQL allows their clauses in any order.
//!
//! L1. Nothing is dropped: what cannot be lowered is refused with 0A000, naming the clause.
//! L2. No text panics or overflows the stack: nesting is bounded by the parser, chains by [`source::Source`].

mod block;
mod control;
mod copy;
mod cursor;
mod ddl;
mod explain;
mod lower;
mod numbers;
mod operators;
mod plpgsql;
mod role;
mod session;
mod setting;
mod source;
mod split;
mod table;
mod taken;
mod transaction;

pub use plpgsql::{condition_code, parse_body};
pub use split::{Open, Piece, split_statements};

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::error::SyntaxError;
use crate::syntax::{CreateTableAs, Expr, Parsed, Span, Statement};
use cursor::Cursor;
use source::Source;

/// Parses a script; nothing of it is executed if any of it is wrong.
pub fn parse_script(text: &str) -> Result<Vec<Parsed>, SyntaxError> {
    let source = Source::new(text)?;
    let mut statements = Vec::new();
    for tokens in source.tokens().split(|token| matches!(token.token, Token::SemiColon)) {
        if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
            let at = source.span(first.span).to(source.span(last.span));
            statements.push(Parsed { statement: parse_tokens(&source, tokens)?, at });
        }
    }
    source.check_taken()?;
    Ok(statements)
}

/// Parses one expression, such as the text of a column's default.
pub fn parse_expression(text: &str) -> Result<Expr, SyntaxError> {
    let source = Source::new(text)?;
    let mut cursor = Cursor::new(&source, source.tokens());
    let expr = cursor.expr()?;
    cursor.finish()?;
    source.check_taken()?;
    Ok(expr)
}

/// The text of an expression with another name for a column.
pub fn rename_column(text: &str, from: &str, to: &str) -> String {
    let Ok(source) = Source::new(text) else { return text.to_string() };
    let plain = to.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    let reserved =
        cursor::RESERVED.contains(&to) || !to.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let shown = if plain && !reserved { to.to_string() } else { format!("\"{}\"", to.replace('"', "\"\"")) };
    let mut out = String::new();
    let mut end = 0;
    let tokens = source.tokens();
    for (n, token) in tokens.iter().enumerate() {
        let Token::Word(word) = &token.token else { continue };
        let name = if word.quote_style.is_some() { word.value.clone() } else { cursor::fold(&word.value) };
        let call = matches!(tokens.get(n + 1).map(|next| &next.token), Some(Token::LParen | Token::Period));
        if name == from && !call {
            let span = source.span(token.span);
            out.push_str(source.slice(Span { start: end, end: span.start }));
            out.push_str(&shown);
            end = span.end;
        }
    }
    out.push_str(source.slice(Span { start: end, end: source.end() }));
    out
}

/// Reads junk as a script; for fuzzing. Must return, whatever the bytes.
pub fn fuzz_parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    split_statements(&text);
    // Both outcomes are fine: only a panic or an overflow is a finding.
    drop(parse_script(&text));
    drop(parse_body(&text));
}

fn parse_tokens(source: &Source<'_>, tokens: &[TokenWithSpan]) -> Result<Statement, SyntaxError> {
    let mut cursor = Cursor::new(source, tokens);
    let statement = statement(&mut cursor)?;
    cursor.finish()?;
    source.check_into()?;
    Ok(statement)
}

/// A query as a statement; SELECT … INTO makes a table.
fn query(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let query = cursor.query()?;
    Ok(match cursor.source().take_into()? {
        None => Statement::Query(query),
        Some(name) => Statement::CreateTableAs(CreateTableAs {
            name,
            columns: Vec::new(),
            if_not_exists: false,
            options: Vec::new(),
            query,
            with_data: true,
        }),
    })
}

/// Parses the statement that starts here, up to where it ends.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    if matches!(cursor.peek(), Token::LParen) {
        return query(cursor);
    }
    let Some(word) = cursor.word() else { return Err(cursor.unexpected()) };
    match word.as_str() {
        "create" | "alter" | "drop" if role::is_next(cursor) => role::statement(cursor, &word),
        "copy" => copy::copy(cursor),
        "unload" => copy::unload(cursor),
        "select" | "values" | "with" | "table" => query(cursor),
        "insert" | "update" | "delete" => {
            let source = cursor.source();
            let start = cursor.here().start;
            let statement = cursor.library_statement()?;
            lower::dml(statement, source, start)
        }
        "create" => ddl::create(cursor),
        "drop" => ddl::drop(cursor),
        "truncate" => ddl::truncate(cursor),
        _ => match session::statement(cursor, &word)? {
            Some(statement) => Ok(statement),
            None => control::statement(cursor, &word),
        },
    }
}

/// The literal that comes next: its text, its place, and where the text starts if it has no escapes.
pub(super) fn string_literal(cursor: &mut Cursor<'_>) -> Result<(String, Span, Option<u32>), SyntaxError> {
    let at = cursor.here();
    let (text, start) = match cursor.peek() {
        Token::SingleQuotedString(text) => {
            let plain = !cursor.source().slice(Span { start: at.start + 1, end: at.end - 1 }).contains('\'');
            (text.clone(), plain.then_some(at.start + 1))
        }
        Token::EscapedStringLiteral(text) => (text.clone(), None),
        Token::DollarQuotedString(quoted) => {
            let tag = quoted.tag.as_ref().map_or(0, |tag| tag.chars().count() as u32);
            (quoted.value.clone(), Some(at.start + tag + 2))
        }
        _ => return Err(cursor.unexpected()),
    };
    cursor.advance();
    Ok((text, at, start))
}

#[cfg(test)]
mod tests;
