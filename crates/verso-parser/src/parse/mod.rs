//! From text to syntax tree.
//!
//! ```text
//! text ─► lexer (tokens, places) ─► Cursor ─┬─► query/, expr/, dml     queries and changes
//!                                           ├─► ddl, table/, role      the schema
//!                                           ├─► control, session, …    everything else
//!                                           └─► plpgsql/               bodies of functions
//! ```
//! A recursive descent over tokens, and precedence climbing for operators. PostgreSQL's `scan.l` and `gram.y` are the
//! source of what a text means; see decision 15 for why it is our own.
//!
//! L1. Nothing is dropped: what has no node is refused with 0A000, naming the clause.
//! L2. No text panics or overflows the stack: [`cursor::Cursor::nested`] bounds depth and height.
//! L3. The work is linear in the text's length.

mod absent;
mod aggregate;
mod block;
mod cancel;
mod collation;
mod comment;
mod control;
mod copy;
mod cursor;
mod database;
mod ddl;
mod dml;
mod domain;
mod explain;
mod expr;
mod extension;
mod fingerprint;
mod function;
mod instead;
mod lexer;
mod numbers;
mod operator_definition;
mod operators;
mod plpgsql;
mod query;
mod rights;
mod role;
mod schema;
mod script;
mod session;
mod setting;
mod source;
mod split;
mod statistics;
mod table;
mod transaction;
mod trigger;
mod types;
mod user_type;
mod view;

pub use plpgsql::parse_body;
pub use script::Script;
pub use split::{AtomicBodies, Open, Piece, split_statements};
pub use table::{OptionsOf, check_options};
pub use types::type_of_call;

use std::ops::Range;

use verso_types::SqlType;

use crate::error::SyntaxError;
use crate::syntax::{Expr, Fingerprint, Parsed, Span, Statement};
use cursor::Cursor;
use lexer::{Class, Lexeme, Text, Token};
use source::Source;

/// Parses a script; nothing of it is executed if any of it is wrong.
pub fn parse_script(text: &str) -> Result<Vec<Parsed>, SyntaxError> {
    let source = Source::new(text)?;
    statements_of(&source).iter().map(|tokens| parsed(&source, tokens)).collect()
}

/// Parses statements that are made of texts that the catalog keeps.
///
/// # Errors
/// As [`parse_script`].
pub fn parse_kept_script(text: &str) -> Result<Vec<Parsed>, SyntaxError> {
    let source = Source::kept(text)?;
    statements_of(&source).iter().map(|tokens| parsed(&source, tokens)).collect()
}

/// Parses the statement of these tokens.
fn parsed(source: &Source<'_>, tokens: &Range<usize>) -> Result<Parsed, SyntaxError> {
    let tokens = &source.tokens()[tokens.clone()];
    let at = tokens[0].at.to(tokens[tokens.len() - 1].at);
    source.take_databases();
    source.take_constants();
    let mut statement = parse_tokens(source, tokens)?;
    let fingerprint = fingerprint::of(source, tokens, &statement, source.take_constants());
    fingerprint::shared(&mut statement, &fingerprint);
    Ok(Parsed { statement, at, databases: source.take_databases(), fingerprint })
}

/// The tokens of each statement, which has some. `BEGIN ATOMIC … END` has semicolons of its own.
fn statements_of(source: &Source<'_>) -> Vec<Range<usize>> {
    let mut bodies = AtomicBodies::default();
    let (mut statements, mut start) = (Vec::new(), 0);
    let tokens = source.tokens();
    for (at, token) in tokens.iter().enumerate() {
        bodies.pass(source.written(token));
        if matches!(token.token, Token::SemiColon) && !bodies.is_open() {
            statements.push(start..at);
            start = at + 1;
        }
    }
    statements.push(start..tokens.len());
    statements.retain(|tokens| !tokens.is_empty());
    statements
}

/// Parses one expression that the catalog keeps, such as the text of a column's default.
pub fn parse_expression(text: &str) -> Result<Expr, SyntaxError> {
    let source = Source::kept(text)?;
    let mut cursor = Cursor::new(&source, source.tokens());
    let expr = cursor.expr()?;
    cursor.finish()?;
    Ok(expr)
}

/// The query that the body `RETURN e` stands for: it is what SELECT yields. Places in it are those of its own text.
///
/// # Errors
/// Those of the tokens.
pub fn returned_query(text: &str) -> Result<Option<String>, SyntaxError> {
    let source = Source::kept(text)?;
    let mut cursor = Cursor::new(&source, source.tokens());
    if !cursor.accept(&["return"]) {
        return Ok(None);
    }
    let expression = Span { start: cursor.here().start, end: source.end() };
    Ok(Some(format!("SELECT {}", source.slice(expression))))
}

/// Parses a body that is no literal: `RETURN e`, `BEGIN ATOMIC … END`, perhaps as the catalog keeps it.
///
/// # Errors
/// Those of the syntax.
pub fn parse_standard_body(text: &str) -> Result<Vec<Parsed>, SyntaxError> {
    let source = Source::kept(text)?;
    let mut cursor = Cursor::new(&source, source.tokens());
    if let Some(query) = returned_query(text)? {
        return parse_kept_script(&query);
    }
    cursor.expect(&["begin", "atomic"])?;
    let mut statements = Vec::new();
    while !cursor.accept(&["end"]) {
        let start = cursor.here();
        if !matches!(cursor.peek(), Token::SemiColon) {
            let statement = statement(&mut cursor)?;
            let databases = source.take_databases();
            let (at, fingerprint) = (cursor.since(start), Fingerprint::default());
            statements.push(Parsed { statement, at, databases, fingerprint });
        }
        cursor.expect_token(&Token::SemiColon)?;
    }
    cursor.finish()?;
    Ok(statements)
}

/// Parses a type by itself: `character varying(10)[]`.
///
/// # Errors
/// Those of the syntax, 42704 and 0A000 for types that Verso does not have.
pub fn parse_type(text: &str) -> Result<SqlType, SyntaxError> {
    let source = Source::new(text)?;
    let mut cursor = Cursor::new(&source, source.tokens());
    let ty = cursor.data_type()?;
    cursor.finish()?;
    Ok(ty)
}

/// A name as SQL text, in quotes where it needs them.
pub fn quoted(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
    let reserved = lexer::class_of(name) != Class::Plain
        || !name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if plain && !reserved { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

/// The text of an expression with another name for a column.
pub fn rename_column(text: &str, from: &str, to: &str) -> String {
    let Ok(source) = Source::kept(text) else { return text.to_string() };
    let shown = quoted(to);
    let mut out = String::new();
    let mut end = 0;
    let tokens = source.tokens();
    for (n, token) in tokens.iter().enumerate() {
        let name = match token.token {
            Token::Word(_) => source.written(token).to_ascii_lowercase(),
            Token::Quoted(text) => source.meaning(text).to_string(),
            _ => continue,
        };
        let qualifies = matches!(tokens.get(n + 1).map(|next| next.token), Some(Token::Period));
        if name == from && !qualifies && may_be_column(&source, tokens, n) {
            let span = token.at;
            out.push_str(source.slice(Span { start: end, end: span.start }));
            out.push_str(&shown);
            end = span.end;
        }
    }
    out.push_str(source.slice(Span { start: end, end: source.end() }));
    out
}

/// The text of an expression over a table's rows with another name for the table: in front of columns and, unless one of its
/// columns has the name, for a whole row.
pub fn rename_table(text: &str, from: &str, to: &str, is_column: bool) -> String {
    let Ok(source) = Source::kept(text) else { return text.to_string() };
    let shown = quoted(to);
    let (mut out, mut end) = (String::new(), 0);
    let tokens = source.tokens();
    for (n, token) in tokens.iter().enumerate() {
        let is_it = match token.token {
            Token::Word(_) => source.written(token).to_ascii_lowercase() == from,
            Token::Quoted(text) => source.meaning(text) == from,
            _ => false,
        };
        let before = n.checked_sub(1).map(|n| tokens[n].token);
        let behind = tokens.get(n + 1).map(|next| next.token);
        let is_row = !is_column
            && matches!(before, None | Some(Token::LParen | Token::Comma))
            && matches!(behind, None | Some(Token::RParen | Token::Comma));
        let is_qualifier = behind == Some(Token::Period) && before != Some(Token::Period);
        if is_it && (is_row || is_qualifier) {
            out.push_str(source.slice(Span { start: end, end: token.at.start }));
            out.push_str(&shown);
            end = token.at.end;
        }
    }
    out.push_str(source.slice(Span { start: end, end: source.end() }));
    out
}

/// Whether a text names something: as a word or a quoted name, in whatever place; not within literals and comments.
pub fn names(text: &str, name: &str) -> bool {
    let Ok(source) = Source::kept(text) else { return false };
    source.tokens().iter().any(|token| match token.token {
        Token::Word(_) => source.written(token).to_lowercase() == name,
        Token::Quoted(text) => source.meaning(text) == name,
        _ => false,
    })
}

/// Whether an expression may name a column so: as [`names`], but for places in which no column stands: types of casts and of
/// literals, fields of `extract`, functions, collations, names of arguments.
pub fn names_column(text: &str, name: &str) -> bool {
    let Ok(source) = Source::kept(text) else { return false };
    let tokens = source.tokens();
    let is_it = |token: &Lexeme| match token.token {
        Token::Word(_) => source.written(token).to_lowercase() == name,
        Token::Quoted(text) => source.meaning(text) == name,
        _ => false,
    };
    (0..tokens.len()).any(|n| is_it(&tokens[n]) && may_be_column(&source, tokens, n))
}

/// Whether the name at a place among the tokens of an expression may be that of a column, or of what one is a part of.
fn may_be_column(source: &Source<'_>, tokens: &[Lexeme], n: usize) -> bool {
    let word = |at: Option<usize>| match at.and_then(|at| tokens.get(at)) {
        Some(token) if matches!(token.token, Token::Word(_)) => source.written(token).to_lowercase(),
        _ => String::new(),
    };
    let before = n.checked_sub(1).map(|at| tokens[at].token);
    let behind = tokens.get(n + 1).map(|next| next.token);
    let is_type = before == Some(Token::DoubleColon)
        || matches!(&*word(n.checked_sub(1)), "as" | "collate")
        || matches!(behind, Some(Token::String(_)));
    let is_field =
        before == Some(Token::LParen) && word(n.checked_sub(2)) == "extract" && word(Some(n + 1)) == "from";
    let is_word = matches!(tokens[n].token, Token::Word(Class::Reserved | Class::Function));
    !is_type && !is_field && !is_word && !matches!(behind, Some(Token::LParen | Token::Arrow))
}

/// The names in a text: words and quoted names, in whatever place.
pub fn all_names(text: &str) -> Vec<String> {
    let Ok(source) = Source::kept(text) else { return Vec::new() };
    let name = |token: &Lexeme| match token.token {
        Token::Word(_) => Some(source.written(token).to_lowercase()),
        Token::Quoted(text) => Some(source.meaning(text).to_string()),
        _ => None,
    };
    source.tokens().iter().filter_map(name).collect()
}

/// The values of the literals of a text, of any form; of a text that is none of SQL nothing.
pub fn literals(text: &str) -> Vec<String> {
    let Ok(source) = Source::kept(text) else { return Vec::new() };
    let literal = |token: &Lexeme| match token.token {
        Token::String(text) => Some(source.meaning(text).to_string()),
        _ => None,
    };
    source.tokens().iter().filter_map(literal).collect()
}

/// Reads junk as a script; for fuzzing. Must return, whatever the bytes.
pub fn fuzz_parse(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    split_statements(&text);
    // Both outcomes are fine: only a panic or an overflow is a finding.
    drop(parse_script(&text));
    drop(parse_body(&text));
}

fn parse_tokens<'s>(source: &'s Source<'s>, tokens: &'s [Lexeme]) -> Result<Statement, SyntaxError> {
    let mut cursor = Cursor::new(source, tokens);
    let statement = statement(&mut cursor)?;
    cursor.finish()?;
    Ok(statement)
}

/// Parses the statement that starts here, up to where it ends.
pub(super) fn statement(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    if matches!(cursor.peek(), Token::LParen) {
        return query::statement(cursor);
    }
    let Some(word) = cursor.word() else { return Err(cursor.unexpected()) };
    match word.as_str() {
        "create" | "alter" | "drop" if role::is_next(cursor) => role::statement(cursor, &word),
        "copy" => copy::copy(cursor),
        "unload" => copy::unload(cursor),
        "load" if cursor.is(&["load", "from"]) => copy::load(cursor),
        "update" if cursor.is(&["update", "statistics"]) && !cursor.is(&["update", "statistics", "set"]) => {
            table::update_statistics(cursor)
        }
        "with" if cursor.changes_behind_with() => {
            let with = cursor.with_clause()?;
            dml::statement(cursor, with)
        }
        "select" | "values" | "with" | "table" => query::statement(cursor),
        "delete" if cursor.is(&["delete", "from", "verso_statements"]) => cancel::statements(cursor),
        "insert" | "update" | "delete" | "merge" => dml::statement(cursor, Vec::new()),
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
    let Token::String(meaning) = cursor.peek() else { return Err(cursor.unexpected()) };
    let text = cursor.source().meaning(meaning).to_string();
    let start = match (meaning, cursor.lexeme(0)) {
        (Text::Slice(from, _), Some(lexeme)) => {
            let before = cursor.written().get(..(from - lexeme.start) as usize);
            before.map(|before| at.start + before.chars().count() as u32)
        }
        _ => None,
    };
    cursor.advance();
    Ok((text, at, start))
}

#[cfg(test)]
mod tests;
