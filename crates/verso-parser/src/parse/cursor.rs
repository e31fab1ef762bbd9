//! A walk over tokens with the library's parser underneath: what our own statements are parsed with.

use sqlparser::ast;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan};
use verso_types::SqlType;

use super::lower;
use super::source::{DIALECT, Source, too_complex};
use crate::error::SyntaxError;
use crate::syntax::{Expr, Name, QualifiedName, Query, Span};

/// How deeply the parser may nest before it gives up. Half a megabyte of stack suffices for it in release builds.
const NESTING_MAX: usize = 64;

/// Words that cannot be names unless quoted (PostgreSQL's reserved key words).
pub const RESERVED: &[&str] = &[
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "column",
    "constraint",
    "create",
    "current_catalog",
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "from",
    "grant",
    "group",
    "having",
    "in",
    "initially",
    "intersect",
    "into",
    "lateral",
    "leading",
    "limit",
    "localtime",
    "localtimestamp",
    "not",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "placing",
    "primary",
    "references",
    "returning",
    "select",
    "session_user",
    "some",
    "symmetric",
    "system_user",
    "table",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "when",
    "where",
    "window",
    "with",
];

/// A place in a list of tokens that ends where the statement ends.
pub struct Cursor<'s> {
    parser: Parser<'static>,
    source: &'s Source<'s>,
    /// Behind the last character of the statement.
    end: u32,
    last: Span,
}

impl<'s> Cursor<'s> {
    /// Over these tokens of the source.
    pub fn new(source: &'s Source<'s>, tokens: &[TokenWithSpan]) -> Cursor<'s> {
        let end = tokens.last().map_or(source.end(), |token| source.span(token.span).end);
        let parser = Parser::new(&DIALECT)
            .with_recursion_limit(NESTING_MAX)
            .with_tokens_with_locations(tokens.to_vec());
        Cursor { parser, source, end, last: Span::default() }
    }

    /// The source the tokens are of.
    pub fn source(&self) -> &'s Source<'s> {
        self.source
    }

    /// The next token.
    pub fn peek(&self) -> &Token {
        &self.parser.peek_token_ref().token
    }

    /// The token `n` behind the next one.
    pub fn peek_at(&self, n: usize) -> Token {
        self.parser.peek_nth_token_ref(n).token.clone()
    }

    /// Place of the next token; the end of the statement behind the last.
    pub fn here(&self) -> Span {
        match self.parser.peek_token_ref() {
            TokenWithSpan { token: Token::EOF, .. } => Span { start: self.end, end: self.end },
            token => self.source.span(token.span),
        }
    }

    /// Whether everything was taken.
    pub fn at_end(&self) -> bool {
        matches!(self.peek(), Token::EOF)
    }

    /// Takes the next token.
    pub fn advance(&mut self) -> Token {
        self.last = self.here();
        self.parser.next_token().token
    }

    /// The next token as an unquoted word in lower case.
    pub fn word(&self) -> Option<String> {
        word_of(self.peek())
    }

    /// The token `n` behind the next one as an unquoted word in lower case.
    pub fn word_at(&self, n: usize) -> Option<String> {
        word_of(&self.parser.peek_nth_token_ref(n).token)
    }

    /// Whether the next tokens are these words.
    pub fn is(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| self.word_at(n).as_deref() == Some(*word))
    }

    /// Takes these words if they come next, all or none.
    pub fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.is(words);
        if found {
            words.iter().for_each(|_| drop(self.advance()));
        }
        found
    }

    /// Takes these words or fails.
    pub fn expect(&mut self, words: &[&str]) -> Result<(), SyntaxError> {
        for word in words {
            if !self.accept(&[word]) {
                return Err(self.unexpected());
            }
        }
        Ok(())
    }

    /// Takes a token if it comes next.
    pub fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == token;
        if found {
            self.advance();
        }
        found
    }

    /// Takes a token or fails.
    pub fn expect_token(&mut self, token: &Token) -> Result<(), SyntaxError> {
        if self.accept_token(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The syntax error at the next token.
    pub fn unexpected(&self) -> SyntaxError {
        if self.at_end() {
            return SyntaxError::syntax("syntax error at end of input").at(self.end);
        }
        self.source.near(self.here().start)
    }

    /// `0A000` for `what`, pointing at the next token.
    pub fn unsupported(&self, what: &str) -> SyntaxError {
        SyntaxError::unsupported(what).at(self.here().start)
    }

    /// Fails unless everything was taken.
    pub fn finish(&self) -> Result<(), SyntaxError> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected()) }
    }

    /// A name.
    pub fn name(&mut self) -> Result<Name, SyntaxError> {
        let Token::Word(word) = self.peek() else { return Err(self.unexpected()) };
        let text = match word.quote_style {
            Some(_) if word.value.is_empty() => {
                return Err(SyntaxError::syntax("zero-length delimited identifier at or near \"\"\"\"")
                    .at(self.here().start));
            }
            Some(_) => word.value.clone(),
            None => fold(&word.value),
        };
        if word.quote_style.is_none() && RESERVED.contains(&text.as_str()) {
            return Err(self.unexpected());
        }
        self.advance();
        Ok(Name { text: truncate(text), at: self.last })
    }

    /// A name, perhaps with its schema.
    pub fn qualified(&mut self) -> Result<QualifiedName, SyntaxError> {
        let first = self.name()?;
        if !self.accept_token(&Token::Period) {
            return Ok(QualifiedName { schema: None, name: first });
        }
        let name = self.name()?;
        if matches!(self.peek(), Token::Period) {
            return Err(self.unsupported("a reference to another database"));
        }
        Ok(QualifiedName { schema: Some(first), name })
    }

    /// One or more of something, with commas between.
    pub fn list<T>(
        &mut self,
        mut one: impl FnMut(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<Vec<T>, SyntaxError> {
        let mut all = vec![one(self)?];
        while self.accept_token(&Token::Comma) {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// An expression.
    pub fn expr(&mut self) -> Result<Expr, SyntaxError> {
        let expr = self.library(|parser| parser.parse_expr())?;
        lower::expr(expr, self.source)
    }

    /// An expression that ends before a comma, a closing parenthesis or one of these words. Its first token may be such
    /// a word, as in `DEFAULT NULL`.
    pub fn expr_before(&mut self, ends: impl Fn(&str) -> bool) -> Result<Expr, SyntaxError> {
        let mut depth = 0;
        let mut tokens = Vec::new();
        loop {
            let token = self.parser.peek_nth_token_ref(tokens.len()).clone();
            let word = word_of(&token.token).filter(|_| depth == 0 && !tokens.is_empty());
            match &token.token {
                Token::EOF => break,
                Token::Comma | Token::RParen if depth == 0 => break,
                Token::LParen | Token::LBracket => depth += 1,
                Token::RParen | Token::RBracket => depth -= 1,
                _ if word.is_some_and(|word| ends(&word)) => break,
                _ => {}
            }
            tokens.push(token);
        }
        if tokens.is_empty() {
            return Err(self.unexpected());
        }
        let mut inner = Cursor::new(self.source, &tokens);
        let expr = inner.expr()?;
        inner.finish()?;
        tokens.iter().for_each(|_| drop(self.advance()));
        Ok(expr)
    }

    /// A query.
    pub fn query(&mut self) -> Result<Query, SyntaxError> {
        let query = self.library(|parser| parser.parse_query())?;
        lower::query(*query, self.source)
    }

    /// A statement of the library's.
    pub fn library_statement(&mut self) -> Result<ast::Statement, SyntaxError> {
        self.library(|parser| parser.parse_statement())
    }

    /// A type.
    pub fn data_type(&mut self) -> Result<SqlType, SyntaxError> {
        let at = self.here();
        if !matches!(self.peek(), Token::Word(_)) {
            return Err(self.unexpected());
        }
        let ty = self.library(|parser| parser.parse_data_type())?;
        lower::data_type(&ty, at.start)
    }

    /// A whole number, perhaps negative.
    pub fn integer(&mut self) -> Result<i64, SyntaxError> {
        let negative = self.accept_token(&Token::Minus);
        if !negative {
            self.accept_token(&Token::Plus);
        }
        let Token::Number(digits, _) = self.peek() else { return Err(self.unexpected()) };
        let text = if negative { format!("-{digits}") } else { digits.clone() };
        let number = text.parse().map_err(|_| match text.contains(['.', 'e', 'E']) {
            true => self.unexpected(),
            false => SyntaxError::new("22003", format!("value \"{text}\" is out of range for type bigint"))
                .at(self.here().start),
        })?;
        self.advance();
        Ok(number)
    }

    /// Runs the library's parser from here; its errors become ours.
    fn library<T>(
        &mut self,
        parse: impl FnOnce(&mut Parser<'static>) -> Result<T, ParserError>,
    ) -> Result<T, SyntaxError> {
        let start = self.here().start;
        parse(&mut self.parser).map_err(|error| match error {
            ParserError::RecursionLimitExceeded => too_complex().at(start),
            ParserError::TokenizerError(message) => SyntaxError::syntax(message).at(start),
            ParserError::ParserError(message) => self.parser_error(&message),
        })
    }

    /// The library says `Expected: x, found: y at Line: l, Column: c`.
    fn parser_error(&self, message: &str) -> SyntaxError {
        let place = message.rfind(" at Line: ").and_then(|at| {
            let (line, column) = message[at + 10..].split_once(", Column: ")?;
            Some((line.trim().parse().ok()?, column.trim().parse().ok()?, at))
        });
        let Some((line, column, cut)) = place else {
            if message.contains("found: EOF") {
                let error = SyntaxError::syntax("syntax error at end of input").at(self.end);
                return with_expectation(error, message);
            }
            return with_expectation(self.unexpected(), message);
        };
        let at = self.source.offset(sqlparser::tokenizer::Location { line, column });
        let error = if line == 0 || at >= self.end {
            SyntaxError::syntax("syntax error at end of input").at(self.end)
        } else {
            self.source.near(at)
        };
        with_expectation(error, &message[..cut])
    }
}

/// Keeps what the library expected as a detail.
fn with_expectation(error: SyntaxError, message: &str) -> SyntaxError {
    let expected = message.split(", found: ").next().unwrap_or(message);
    match expected.strip_prefix("Expected: ") {
        Some(expected) => error.with_detail(format!("Expected {expected}.")),
        None => error.with_detail(expected.to_string()),
    }
}

/// An unquoted word in lower case.
pub fn word_of(token: &Token) -> Option<String> {
    match token {
        Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_ascii_lowercase()),
        _ => None,
    }
}

/// An unquoted name as it is stored: ASCII letters in lower case.
pub fn fold(text: &str) -> String {
    text.to_ascii_lowercase()
}

/// Names have at most 63 bytes, as in PostgreSQL.
pub fn truncate(mut text: String) -> String {
    if text.len() > 63 {
        let end = (0..=63).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}
