//! From text to tokens, as PostgreSQL's `scan.l` cuts them.
//!
//! ```text
//! select a||'b'⏎'c' -- d     ─►   Word  Word  Op  Text("bc")
//! ```
//!
//! K1. Each character is looked at a bounded number of times, so that the work is linear in the text's length.
//! K2. A token knows its place in characters, for errors, and in bytes, for slices; between two tokens there are only
//!     blanks and comments.
//! K3. What a literal means is read here, once: escapes, `UESCAPE`, literals that go on after the end of a line.
//!
//! Source: PostgreSQL 18, `src/backend/parser/scan.l` and `parser.c` (Unicode escapes).

mod hints;
mod strings;

use super::numbers::{self, Shape};
use super::operators::operator_end;
use super::split::is_name_byte;
use crate::error::SyntaxError;
use crate::syntax::{Hint, Span};
pub(in crate::parse) use verso_types::keyword::{Class, class_of, is_bare_label};
use verso_types::sqlstate;

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A word that is not quoted.
    Word(Class),
    /// `"name"`, `U&"name"`.
    Quoted(Text),
    /// Digits, perhaps with point and exponent: plain decimal ones.
    Number(Text),
    /// A text literal of any form.
    String(Text),
    /// `B'…'`, `X'…'`.
    Bits(Text),
    /// `$1`.
    Parameter(u32),
    LParen,
    RParen,
    LBracket,
    RBracket,
    Comma,
    SemiColon,
    Colon,
    DoubleColon,
    /// `:=`.
    Assignment,
    /// `=>`.
    Arrow,
    Period,
    /// `..`.
    Range,
    Plus,
    Minus,
    Mul,
    Div,
    Mod,
    Caret,
    Eq,
    Lt,
    Gt,
    LtEq,
    GtEq,
    NotEq,
    /// Any other operator.
    Op,
    /// A character that begins no token.
    Junk,
    /// Behind the last token.
    End,
}

/// Where the meaning of a literal or quoted name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// These bytes of the text.
    Slice(u32, u32),
    /// One of the texts that were read apart.
    Read(u32),
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    /// In characters.
    pub at: Span,
    /// In bytes.
    pub start: u32,
    pub end: u32,
    /// Of an opening parenthesis or bracket: how many tokens behind it the closing one is; 0 where there is none.
    pub width: u32,
}

/// A text cut into tokens.
#[derive(Debug, Default)]
pub(super) struct Lexed {
    pub tokens: Vec<Lexeme>,
    /// Meanings that are no slices of the text.
    pub read: Vec<String>,
    /// Hints, each with the number of the token before it.
    pub hints: Vec<(usize, Hint)>,
}

/// Cuts a text.
///
/// # Errors
/// 42601 and its relatives, where PostgreSQL has them.
pub(super) fn lex(text: &str) -> Result<Lexed, SyntaxError> {
    if let Some(nul) = text.bytes().position(|byte| byte == 0) {
        let error = SyntaxError::new("22021", "invalid byte sequence for encoding \"UTF8\": 0x00");
        let at = text.as_bytes()[..nul].iter().filter(|byte| **byte & 0xc0 != 0x80).count();
        return Err(error.at(u32::try_from(at).unwrap_or(u32::MAX)));
    }
    lex_kept(text)
}

/// The same of a text that the catalog keeps: names in it may have the character 0, which no client can give.
pub(super) fn lex_kept(text: &str) -> Result<Lexed, SyntaxError> {
    let bytes = text.as_bytes();
    let mut lexer = Lexer {
        text,
        bytes,
        at: 0,
        place: (0, 0),
        out: Lexed::default(),
        open: Vec::new(),
        early: Vec::new(),
        has_query: false,
    };
    if u32::try_from(text.len()).is_err() {
        return Err(SyntaxError::new("54000", "a text of more than 4 GB is not supported"));
    }
    lexer.out.tokens.reserve(text.len() / 6);
    while lexer.skip_blanks()? {
        lexer.token()?;
    }
    Ok(lexer.out)
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// A byte and its character: the last place that was counted.
    place: (usize, u32),
    out: Lexed,
    /// Opening parentheses and brackets without their closing ones.
    open: Vec<usize>,
    /// Hints in front of the first word of this statement's query or change, and whether that word was there.
    early: Vec<Hint>,
    has_query: bool,
}

impl<'a> Lexer<'a> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or_default()
    }

    /// The character at a byte. Places that go up are counted once.
    fn character(&mut self, byte: usize) -> u32 {
        let (from, count) = if byte >= self.place.0 { self.place } else { (0, 0) };
        let more = self.bytes[from..byte].iter().filter(|byte| !is_continuation(**byte)).count();
        self.place = (byte, count + more as u32);
        self.place.1
    }

    /// The error `what at or near "…"` for these bytes.
    fn near(&mut self, what: &str, start: usize, end: usize) -> SyntaxError {
        let error = SyntaxError::syntax(format!("{what} at or near \"{}\"", &self.text[start..end]));
        let at = self.character(start);
        error.at(at)
    }

    /// Passes over blanks and comments; false at the end of the text.
    fn skip_blanks(&mut self) -> Result<bool, SyntaxError> {
        loop {
            match self.byte(self.at) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'-' if self.byte(self.at + 1) == b'-' => {
                    let start = self.at;
                    self.at = line_end(self.bytes, start);
                    if self.byte(start + 2) == b'+' && self.takes_hints() {
                        self.hint(start, start + 3, self.at);
                    }
                }
                b'/' if self.byte(self.at + 1) == b'*' => {
                    let start = self.at;
                    match comment_end(self.bytes, start) {
                        Some(end) => self.at = end,
                        None => return Err(self.near("unterminated /* comment", start, self.bytes.len())),
                    }
                    if self.byte(start + 2) == b'+' {
                        self.hint(start, start + 3, self.at - 2);
                    }
                }
                b'{' if self.byte(self.at + 1) == b'+' && self.takes_hints() => {
                    let start = self.at;
                    let Some(length) = self.bytes[start..].iter().position(|byte| *byte == b'}') else {
                        return Err(self.near("unterminated hint", start, self.bytes.len()));
                    };
                    self.at = start + length + 1;
                    self.hint(start, start + 2, start + length);
                }
                0 => return Ok(self.at < self.bytes.len()),
                _ => return Ok(true),
            }
        }
    }

    fn push(&mut self, token: Token, start: usize, end: usize) {
        let at = Span { start: self.character(start), end: self.character(end) };
        let lexeme = Lexeme { token, at, start: start as u32, end: end as u32, width: 0 };
        match token {
            Token::Word(_) if !self.has_query && self.open.is_empty() => self.first_words(&lexeme),
            Token::LParen | Token::LBracket => self.open.push(self.out.tokens.len()),
            Token::RParen | Token::RBracket => {
                if let Some(open) = self.open.pop() {
                    let width = (self.out.tokens.len() - open) as u32;
                    self.out.tokens[open].width = width;
                }
            }
            Token::SemiColon => {
                self.open.clear();
                self.early.clear();
                self.has_query = false;
            }
            _ => {}
        }
        self.out.tokens.push(lexeme);
        self.at = end;
    }

    /// Keeps a text that is no slice.
    fn read(&mut self, text: String) -> Text {
        self.out.read.push(text);
        Text::Read(self.out.read.len() as u32 - 1)
    }

    fn token(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let next = self.byte(start + 1);
        let (token, length) = match self.byte(start) {
            b'(' => (Token::LParen, 1),
            b')' => (Token::RParen, 1),
            b'[' => (Token::LBracket, 1),
            b']' => (Token::RBracket, 1),
            b',' => (Token::Comma, 1),
            b';' => (Token::SemiColon, 1),
            b':' if next == b':' => (Token::DoubleColon, 2),
            b':' if next == b'=' => (Token::Assignment, 2),
            b':' => (Token::Colon, 1),
            b'.' if next == b'.' => (Token::Range, 2),
            b'.' if next.is_ascii_digit() => return self.number(),
            b'.' => (Token::Period, 1),
            b'0'..=b'9' => return self.number(),
            b'$' => return self.dollar(),
            b'\'' => return self.plain_string(start, start),
            b'"' => return self.quoted_name(start),
            b'e' | b'E' if next == b'\'' => return self.escape_string(start),
            b'n' | b'N' if next == b'\'' => return self.plain_string(start, start + 1),
            b'b' | b'B' if next == b'\'' => return self.bit_string(start, b"01"),
            b'x' | b'X' if next == b'\'' => return self.bit_string(start, b"0123456789abcdefABCDEF"),
            b'u' | b'U' if next == b'&' && matches!(self.byte(start + 2), b'\'' | b'"') => {
                return self.unicode(start);
            }
            byte if is_name_byte(byte) => {
                let end = name_end(self.bytes, start);
                self.push(Token::Word(class_of(&self.text[start..end])), start, end);
                return Ok(());
            }
            byte if super::operators::is_operator(byte) => {
                self.operators();
                return Ok(());
            }
            _ => (Token::Junk, self.text[start..].chars().next().map_or(1, char::len_utf8)),
        };
        self.push(token, start, start + length);
        Ok(())
    }

    /// A run of operator characters: an operator, and the signs that belong to what follows, each by itself.
    fn operators(&mut self) {
        let start = self.at;
        let (operator, run) = operator_end(&self.bytes[start..]);
        let text = &self.text[start..start + operator];
        self.push(operator_token(text), start, start + operator);
        for at in start + operator..start + run {
            self.push(operator_token(&self.text[at..at + 1]), at, at + 1);
        }
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let (length, shape) = numbers::number(&self.bytes[start..]).unwrap_or((1, Shape::Plain));
        let end = start + length;
        let text = match shape {
            Shape::Plain => Text::Slice(start as u32, end as u32),
            Shape::Odd => {
                let digits = numbers::decimal(&self.text[start..end]);
                let at = self.character(start);
                self.read(digits.map_err(|error| error.at(at))?)
            }
            Shape::Flawed(what) => return Err(self.near(what, start, end)),
        };
        self.push(Token::Number(text), start, end);
        Ok(())
    }

    /// `$1`, `$$…$$`, `$tag$…$tag$`.
    fn dollar(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        if self.byte(start + 1).is_ascii_digit() {
            let digits = self.bytes[start + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            let end = start + 1 + digits;
            if is_name_byte(self.byte(end)) {
                let end = name_end(self.bytes, end);
                return Err(self.near("trailing junk after parameter", start, end));
            }
            let number = self.text[start + 1..end].parse::<u32>();
            // `$0` is what a function of PL/pgSQL returns.
            let Ok(number @ 0..=65_535) = number else {
                let text = format!("there is no parameter {}", &self.text[start..end]);
                let at = self.character(start);
                return Err(SyntaxError::new(sqlstate::UNDEFINED_PARAMETER, text).at(at));
            };
            self.push(Token::Parameter(number), start, end);
            return Ok(());
        }
        let tag = self.bytes[start + 1..].iter().take_while(|byte| is_name_byte(**byte)).count();
        if self.byte(start + 1 + tag) != b'$' {
            self.push(Token::Junk, start, start + 1);
            return Ok(());
        }
        let from = start + tag + 2;
        match self.text[from..].find(&self.text[start..from]) {
            Some(length) => {
                let text = Text::Slice(from as u32, (from + length) as u32);
                self.push(Token::String(text), start, from + length + tag + 2);
                Ok(())
            }
            None => Err(self.near("unterminated dollar-quoted string", start, self.bytes.len())),
        }
    }
}

fn operator_token(text: &str) -> Token {
    match text {
        "+" => Token::Plus,
        "-" => Token::Minus,
        "*" => Token::Mul,
        "/" => Token::Div,
        "%" => Token::Mod,
        "^" => Token::Caret,
        "=" => Token::Eq,
        "<" => Token::Lt,
        ">" => Token::Gt,
        "<=" => Token::LtEq,
        ">=" => Token::GtEq,
        "<>" | "!=" => Token::NotEq,
        "=>" => Token::Arrow,
        _ => Token::Op,
    }
}

/// Behind the name that starts at a byte.
pub(super) fn name_end(bytes: &[u8], start: usize) -> usize {
    let part = |byte: &u8| is_name_byte(*byte) || *byte == b'$';
    bytes[start..].iter().position(|byte| !part(byte)).map_or(bytes.len(), |length| start + length)
}

/// The end of the line, for `-- …`.
pub(super) fn line_end(bytes: &[u8], start: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    bytes[start..].iter().position(ends).map_or(bytes.len(), |length| start + length)
}

/// Behind a comment, which may hold others; none where it does not end.
pub(super) fn comment_end(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut depth) = (start + 2, 1);
    while depth > 0 {
        at += match bytes.get(at..at + 2)? {
            b"/*" => {
                depth += 1;
                2
            }
            b"*/" => {
                depth -= 1;
                2
            }
            _ => 1,
        };
    }
    Some(at)
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}
