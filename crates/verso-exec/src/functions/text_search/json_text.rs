//! The values of a json text in the order in which it has them, and the text with other strings.

use verso_types::json::{Scanner, Token, escape_into};

use crate::error::Result;

/// A part of a json text.
pub(super) enum Found {
    Key(String),
    String(String),
    Number(String),
    Bool(String),
}

impl Found {
    pub(super) fn text(&self) -> &str {
        match self {
            Found::Key(text) | Found::String(text) | Found::Number(text) | Found::Bool(text) => text,
        }
    }
}

/// Calls `each` with what the text has.
pub(super) fn for_each_value(source: &str, mut each: impl FnMut(Found) -> Result<()>) -> Result<()> {
    let mut scanner = Scanner::new(source, false);
    // A string is a key if a colon follows.
    let mut string: Option<String> = None;
    loop {
        scanner.advance()?;
        if let Some(text) = string.take() {
            each(if scanner.token() == Token::Colon { Found::Key(text) } else { Found::String(text) })?;
        }
        match scanner.token() {
            Token::End => return Ok(()),
            Token::String => string = Some(scanner.string()?),
            Token::Number => each(Found::Number(scanner.text().to_owned()))?,
            Token::True | Token::False => each(Found::Bool(scanner.text().to_owned()))?,
            _ => {}
        }
    }
}

/// The text without blanks, and with other strings in place of its own; keys stay.
pub(super) fn with_strings(source: &str, mut other: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut scanner = Scanner::new(source, false);
    let mut out = String::with_capacity(source.len());
    let mut string: Option<String> = None;
    loop {
        scanner.advance()?;
        if let Some(text) = string.take() {
            match scanner.token() {
                Token::Colon => escape_into(&text, &mut out),
                _ => escape_into(&other(&text)?, &mut out),
            }
        }
        match scanner.token() {
            Token::End => return Ok(out),
            Token::String => string = Some(scanner.string()?),
            _ => out.push_str(scanner.text()),
        }
    }
}
