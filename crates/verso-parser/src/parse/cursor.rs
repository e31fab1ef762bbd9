//! A walk over tokens: looking, taking, names and lists. What the grammar is written on.
//!
//! C1. Whoever recurses does so within [`Cursor::nested`], which asks for the stack that is left and bounds the height of
//!     the tree by [`HEIGHT_MAX`], so that trees can be freed, copied and compared on any stack.

use std::borrow::Cow;

use super::lexer::{Class, Lexeme, Token};
use super::source::{Source, is_word, too_complex};
use crate::error::SyntaxError;
use crate::syntax::{DatabaseName, Name, QualifiedName, Span};

/// Levels that a syntax tree may have: what its derived `drop`, `clone` and `==` need then fits the reserve of the stack.
pub(super) const HEIGHT_MAX: u32 = 1_000;

/// A place in a list of tokens that ends where the statement ends.
pub struct Cursor<'s> {
    source: &'s Source<'s>,
    tokens: Cow<'s, [Lexeme]>,
    at: usize,
    /// Behind the last character of the statement.
    end: u32,
    last: Span,
    /// Nodes around what is being read.
    depth: u32,
    /// The height of what was read inside of the innermost of them.
    pub(super) height: u32,
    /// Whether SELECT … INTO may stand here, and the table it named.
    pub(super) takes_into: bool,
    pub(super) into: Option<QualifiedName>,
    /// That table is temporary.
    pub(super) into_temporary: bool,
    /// It is not logged.
    pub(super) into_unlogged: bool,
    /// PERFORM stands for SELECT.
    pub(super) perform: bool,
    /// The next query is without its SELECT.
    pub(super) bare: bool,
}

impl<'s> Cursor<'s> {
    /// Over these tokens of the source.
    pub(super) fn new(source: &'s Source<'s>, tokens: impl Into<Cow<'s, [Lexeme]>>) -> Cursor<'s> {
        let tokens = tokens.into();
        let end = tokens.last().map_or(source.end(), |token| token.at.end);
        Cursor {
            source,
            tokens,
            at: 0,
            end,
            last: Span::default(),
            depth: 0,
            height: 0,
            takes_into: false,
            into: None,
            into_temporary: false,
            into_unlogged: false,
            perform: false,
            bare: false,
        }
    }

    /// The source the tokens are of.
    pub fn source(&self) -> &'s Source<'s> {
        self.source
    }

    // ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn lexeme(&self, n: usize) -> Option<&Lexeme> {
        self.tokens.get(self.at + n)
    }

    /// The next token.
    pub(super) fn peek(&self) -> Token {
        self.peek_at(0)
    }

    /// The token `n` behind the next one.
    pub(super) fn peek_at(&self, n: usize) -> Token {
        self.lexeme(n).map_or(Token::End, |lexeme| lexeme.token)
    }

    /// Place of the next token; the end of the statement behind the last.
    pub fn here(&self) -> Span {
        self.lexeme(0).map_or(Span { start: self.end, end: self.end }, |lexeme| lexeme.at)
    }

    /// Place of the last token taken.
    pub fn last(&self) -> Span {
        self.last
    }

    /// From the start of a place to the last token taken.
    pub fn since(&self, start: Span) -> Span {
        start.to(self.last)
    }

    /// Whether everything was taken.
    pub fn at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// The next token as it is written.
    pub fn written(&self) -> &'s str {
        self.lexeme(0).map_or("", |lexeme| self.source.written(lexeme))
    }

    /// The next token as an unquoted word in lower case.
    pub fn word(&self) -> Option<String> {
        self.word_at(0)
    }

    /// The token `n` behind the next one as an unquoted word in lower case.
    pub fn word_at(&self, n: usize) -> Option<String> {
        self.lexeme(n).and_then(|lexeme| word_of(self.source, lexeme))
    }

    /// Whether the token `n` behind the next one is this word.
    pub fn is_at(&self, n: usize, word: &str) -> bool {
        self.lexeme(n).is_some_and(|lexeme| is_word(self.source, lexeme, word))
    }

    /// Whether the next tokens are these words.
    pub fn is(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, word)| self.is_at(n, word))
    }

    /// Whether the next token is one of these words.
    pub fn is_any(&self, words: &[&str]) -> bool {
        matches!(self.peek(), Token::Word(_)) && words.iter().any(|word| self.is_at(0, word))
    }

    /// How many tokens behind the opening parenthesis at `n` the closing one is.
    pub(super) fn width_at(&self, n: usize) -> Option<usize> {
        self.lexeme(n).map(|lexeme| lexeme.width as usize).filter(|width| *width > 0)
    }

    // ── taking ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// Takes the next token.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek();
        self.last = self.here();
        self.at += 1;
        token
    }

    /// A place to come back to.
    pub(super) fn mark(&self) -> (usize, Span) {
        (self.at, self.last)
    }

    /// Comes back to a place.
    pub(super) fn back(&mut self, mark: (usize, Span)) {
        (self.at, self.last) = mark;
    }

    /// Takes these words if they come next, all or none.
    pub fn accept(&mut self, words: &[&str]) -> bool {
        let found = self.is(words);
        if found {
            for _ in words {
                self.advance();
            }
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
    pub(super) fn accept_token(&mut self, token: &Token) -> bool {
        let found = self.peek() == *token;
        if found {
            self.advance();
        }
        found
    }

    /// Takes a token or fails.
    pub(super) fn expect_token(&mut self, token: &Token) -> Result<(), SyntaxError> {
        if self.accept_token(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    // ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// The syntax error at the next token.
    pub fn unexpected(&self) -> SyntaxError {
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

    // ── depth ────────────────────────────────────────────────────────────────────────────────────────────────────

    /// Reads a node and what is inside of it.
    pub(super) fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        let start = self.here().start;
        verso_env::stack::check().map_err(|error| SyntaxError::from(error).at(start))?;
        let around = std::mem::take(&mut self.height);
        self.depth += 1;
        let result = read(self)?;
        self.depth -= 1;
        self.grow(start)?;
        self.height = self.height.max(around);
        Ok(result)
    }

    /// One more level around what was read.
    pub(super) fn grow(&mut self, start: u32) -> Result<(), SyntaxError> {
        self.height += 1;
        if self.depth + self.height > HEIGHT_MAX { Err(too_complex().at(start)) } else { Ok(()) }
    }

    // ── names and lists ──────────────────────────────────────────────────────────────────────────────────────────

    /// Takes the next token, which is a word or quoted, as a name.
    pub(super) fn take_name(&mut self) -> Name {
        let text = match self.peek() {
            Token::Quoted(text) => self.source.meaning(text).to_string(),
            _ => self.written().to_ascii_lowercase(),
        };
        self.advance();
        Name { text: truncate(text), at: self.last }
    }

    /// A name.
    pub fn name(&mut self) -> Result<Name, SyntaxError> {
        match self.peek() {
            Token::Word(Class::Reserved) => Err(self.unexpected()),
            Token::Word(_) | Token::Quoted(_) => Ok(self.take_name()),
            _ => Err(self.unexpected()),
        }
    }

    /// A word or quoted name, of any class.
    pub fn label(&mut self) -> Result<Name, SyntaxError> {
        match self.peek() {
            Token::Word(_) | Token::Quoted(_) => Ok(self.take_name()),
            _ => Err(self.unexpected()),
        }
    }

    /// Whether a name of a column or table comes `n` behind the next token.
    pub(super) fn is_column_name(&self, n: usize) -> bool {
        matches!(self.peek_at(n), Token::Quoted(_) | Token::Word(Class::Plain | Class::Column))
    }

    /// A name, perhaps with its schema.
    pub fn qualified(&mut self) -> Result<QualifiedName, SyntaxError> {
        let mut parts = vec![self.name()?];
        while self.accept_token(&Token::Period) {
            parts.push(self.label()?);
        }
        self.without_database(&mut parts, 2, true)?;
        let name = parts.pop().ok_or_else(|| self.unexpected())?;
        Ok(QualifiedName { schema: parts.pop(), name })
    }

    /// Takes the database off a name that has so many parts without it, and notes it. The first part left begins where the
    /// database does. Errors show names of relations in quotes, and others without.
    ///
    /// # Errors
    /// 42601 for a name with still more parts.
    pub(super) fn without_database(
        &self,
        parts: &mut Vec<Name>,
        most: usize,
        quoted: bool,
    ) -> Result<(), SyntaxError> {
        let Some(more) = parts.len().checked_sub(most).filter(|more| *more > 0) else { return Ok(()) };
        let at = parts[0].at;
        let whole = parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(".");
        if more > 1 {
            let text = format!("improper qualified name (too many dotted names): {whole}");
            return Err(SyntaxError::syntax(text).at(at.start));
        }
        let name = parts.remove(0).text;
        if let Some(first) = parts.first_mut() {
            first.at = at.to(first.at);
        }
        let shown = if quoted { format!("\"{whole}\"") } else { whole };
        self.source.note_database(DatabaseName { name, shown, at: at.start });
        Ok(())
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

    /// Such a list in parentheses.
    pub fn listed<T>(
        &mut self,
        one: impl FnMut(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<Vec<T>, SyntaxError> {
        self.expect_token(&Token::LParen)?;
        let all = self.list(one)?;
        self.expect_token(&Token::RParen)?;
        Ok(all)
    }

    /// A whole number, perhaps negative.
    pub fn integer(&mut self) -> Result<i64, SyntaxError> {
        let negative = self.accept_token(&Token::Minus);
        if !negative {
            self.accept_token(&Token::Plus);
        }
        let Token::Number(digits) = self.peek() else { return Err(self.unexpected()) };
        let digits = self.source.meaning(digits);
        let text = if negative { format!("-{digits}") } else { digits.to_string() };
        let number = text.parse().map_err(|_| match text.contains(['.', 'e', 'E']) {
            true => self.unexpected(),
            false => SyntaxError::new("22003", format!("value \"{text}\" is out of range for type bigint"))
                .at(self.here().start),
        })?;
        self.advance();
        Ok(number)
    }
}

/// An unquoted word in lower case.
pub(super) fn word_of(source: &Source<'_>, lexeme: &Lexeme) -> Option<String> {
    matches!(lexeme.token, Token::Word(_)).then(|| source.written(lexeme).to_ascii_lowercase())
}

/// Bytes of a name at most, as in PostgreSQL.
pub(super) const NAME_BYTES_MAX: usize = 63;

/// A name as it is taken: what is behind its greatest length is cut.
pub fn truncate(mut text: String) -> String {
    if text.len() > NAME_BYTES_MAX {
        let end = (0..=NAME_BYTES_MAX).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
    }
    text
}
