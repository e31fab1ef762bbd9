//! The text of a script, its tokens and their places.

use std::cell::RefCell;

use super::fingerprint::Noted;
use super::lexer::{self, Lexeme, Text, Token};
use crate::error::SyntaxError;
use crate::syntax::{DatabaseName, Hint, Span};

/// A text cut into tokens.
#[derive(Debug)]
pub struct Source<'a> {
    text: &'a str,
    lexed: lexer::Lexed,
    /// The whole text in characters.
    end: u32,
    /// First byte behind each end of a line.
    lines: Vec<u32>,
    /// The names with a database that were read since they were last taken.
    databases: RefCell<Vec<DatabaseName>>,
    /// The constants that were read since they were last taken.
    constants: RefCell<Vec<Noted>>,
}

impl<'a> Source<'a> {
    /// Cuts a text into tokens.
    ///
    /// # Errors
    /// What is no token.
    pub fn new(text: &'a str) -> Result<Source<'a>, SyntaxError> {
        Ok(Source::of(text, lexer::lex(text)?))
    }

    /// The same of a text that the catalog keeps, in which objects may be named by number.
    ///
    /// # Errors
    /// What is no token.
    pub fn kept(text: &'a str) -> Result<Source<'a>, SyntaxError> {
        Ok(Source::of(text, lexer::lex_kept(text)?))
    }

    fn of(text: &'a str, lexed: lexer::Lexed) -> Source<'a> {
        let end = match lexed.tokens.last() {
            Some(last) => last.at.end + text[last.end as usize..].chars().count() as u32,
            None => text.chars().count() as u32,
        };
        let newline = |(at, byte): (usize, u8)| (byte == b'\n').then_some(at as u32 + 1);
        let lines = text.bytes().enumerate().filter_map(newline).collect();
        Source { text, lexed, end, lines, databases: RefCell::default(), constants: RefCell::default() }
    }

    /// Notes a name with a database.
    pub(super) fn note_database(&self, name: DatabaseName) {
        self.databases.borrow_mut().push(name);
    }

    /// The names with a database that were read since they were last taken.
    pub(super) fn take_databases(&self) -> Vec<DatabaseName> {
        self.databases.take()
    }

    /// Notes a constant of an expression, or a list of them.
    pub(super) fn note_constant(&self, at: Span, is_list: bool) {
        self.constants.borrow_mut().push(Noted { at, is_list });
    }

    /// What was noted at this place is no constant after all.
    pub(super) fn forget_constant(&self, at: Span) {
        let mut constants = self.constants.borrow_mut();
        // It was read just now, perhaps twice.
        while constants.last().is_some_and(|constant| constant.at == at) {
            constants.pop();
        }
    }

    /// The constants that were read since they were last taken.
    pub(super) fn take_constants(&self) -> Vec<Noted> {
        self.constants.take()
    }

    /// The tokens.
    pub(super) fn tokens(&self) -> &[Lexeme] {
        &self.lexed.tokens
    }

    /// The whole text in characters.
    pub fn end(&self) -> u32 {
        self.end
    }

    /// The line that a token starts in, from 1.
    pub(super) fn line(&self, lexeme: &Lexeme) -> u32 {
        self.lines.partition_point(|start| *start <= lexeme.start) as u32 + 1
    }

    /// A token as it is written.
    pub(super) fn written(&self, lexeme: &Lexeme) -> &'a str {
        self.text.get(lexeme.start as usize..lexeme.end as usize).unwrap_or_default()
    }

    /// The text from one token to another.
    pub(super) fn between(&self, first: &Lexeme, last: &Lexeme) -> &'a str {
        self.text.get(first.start as usize..last.end as usize).unwrap_or_default()
    }

    /// What a literal or a quoted name means.
    pub(super) fn meaning(&self, text: Text) -> &str {
        match text {
            Text::Slice(from, to) => self.text.get(from as usize..to as usize).unwrap_or_default(),
            Text::Read(index) => self.lexed.read.get(index as usize).map_or("", String::as_str),
        }
    }

    /// The text at a place, which begins and ends where tokens do.
    pub fn slice(&self, at: Span) -> &'a str {
        self.text.get(self.byte(at.start)..self.byte(at.end)).unwrap_or_default()
    }

    fn byte(&self, character: u32) -> usize {
        let tokens = &self.lexed.tokens;
        let next = tokens.partition_point(|token| token.at.start < character);
        if let Some(token) = tokens.get(next).filter(|token| token.at.start == character) {
            return token.start as usize;
        }
        let before = next.checked_sub(1).map(|before| &tokens[before]);
        if let Some(token) = before.filter(|token| token.at.end == character) {
            return token.end as usize;
        }
        // Between tokens, or inside of one: counted from where the last one starts.
        let (byte, count) = before.map_or((0, 0), |token| (token.start as usize, token.at.start));
        let more = character.saturating_sub(count) as usize;
        self.text[byte..].char_indices().nth(more).map_or(self.text.len(), |(at, _)| byte + at)
    }

    /// The hints in front of a token, by its address in [`Source::tokens`].
    pub(super) fn hints(&self, start: u32) -> Vec<Hint> {
        if self.lexed.hints.is_empty() {
            return Vec::new();
        }
        let before = self.lexed.tokens.partition_point(|token| token.start < start);
        let of = |(at, hint): &(usize, Hint)| (*at == before).then(|| hint.clone());
        self.lexed.hints.iter().filter_map(of).collect()
    }

    /// `syntax error at or near …` for what starts at this character.
    pub fn near(&self, at: u32) -> SyntaxError {
        self.problem("syntax error", at)
    }

    /// The same with another word for what is wrong.
    pub(super) fn problem(&self, what: &str, at: u32) -> SyntaxError {
        let index = self.lexed.tokens.partition_point(|token| token.at.start < at);
        match self.lexed.tokens.get(index) {
            Some(token) => {
                let text = format!("{what} at or near \"{}\"", self.written(token));
                SyntaxError::syntax(text).at(token.at.start)
            }
            None => SyntaxError::syntax(format!("{what} at end of input")).at(self.end),
        }
    }
}

/// `42601` for a SELECT … INTO within another statement.
pub fn into_refused() -> SyntaxError {
    SyntaxError::syntax("SELECT ... INTO is not allowed here")
}

/// `54001` as PostgreSQL says it.
pub fn too_complex() -> SyntaxError {
    verso_env::stack::StackExhausted.into()
}

/// Whether a token is this word, unquoted, in any case.
pub(super) fn is_word(source: &Source<'_>, lexeme: &Lexeme, word: &str) -> bool {
    matches!(lexeme.token, Token::Word(_)) && source.written(lexeme).eq_ignore_ascii_case(word)
}
