//! JSON text, token by token, with PostgreSQL's messages.

use super::{DEPTH_MAX, too_deep};
use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Token {
    OpenObject,
    CloseObject,
    OpenArray,
    CloseArray,
    Comma,
    Colon,
    String,
    Number,
    True,
    False,
    Null,
    End,
}

/// Walks over JSON text.
#[derive(Debug)]
pub struct Scanner<'t> {
    source: &'t str,
    /// Whether escapes must stand for characters, as jsonb wants it; json keeps them as they are written.
    strict: bool,
    token: Token,
    start: usize,
    end: usize,
    pieces: Pieces,
}

/// Bytes that belong to a word, for messages.
fn is_wordlike(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cold]
fn invalid(detail: impl Into<String>) -> TypeError {
    TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
        .with_detail(detail)
}

impl<'t> Scanner<'t> {
    /// Before the first token.
    #[must_use]
    pub fn new(source: &'t str, strict: bool) -> Scanner<'t> {
        Scanner { source, strict, token: Token::End, start: 0, end: 0, pieces: Pieces::default() }
    }

    /// The token it stands at.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// The token's text.
    #[must_use]
    pub fn text(&self) -> &'t str {
        self.source.get(self.start..self.end).unwrap_or_default()
    }

    /// 22P02: something else stands here than JSON wants.
    #[cold]
    pub(super) fn expected(&self, what: &str) -> TypeError {
        match self.token {
            Token::End => invalid("The input string ended unexpectedly."),
            _ => invalid(format!("Expected {what}, but found \"{}\".", self.text())),
        }
    }

    #[cold]
    fn invalid_token(&self, end: usize) -> TypeError {
        let mut end = end.min(self.source.len());
        while !self.source.is_char_boundary(end) {
            end += 1;
        }
        invalid(format!("Token \"{}\" is invalid.", self.source.get(self.start..end).unwrap_or_default()))
    }

    /// To the next token.
    /// # Errors
    /// 22P02 where there is none; 22P05 for an escape that stands for no text.
    pub fn advance(&mut self) -> Result<(), TypeError> {
        self.pieces.one_more()?;
        let bytes = self.source.as_bytes();
        let mut at = self.end;
        while matches!(bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        (self.start, self.end) = (at, at + 1);
        self.token = match bytes.get(at) {
            None => {
                self.end = at;
                Token::End
            }
            Some(b'{') => Token::OpenObject,
            Some(b'}') => Token::CloseObject,
            Some(b'[') => Token::OpenArray,
            Some(b']') => Token::CloseArray,
            Some(b',') => Token::Comma,
            Some(b':') => Token::Colon,
            Some(b'"') => {
                self.end = self.string_end()?;
                Token::String
            }
            Some(b'-' | b'0'..=b'9') => {
                self.end = self.number_end()?;
                Token::Number
            }
            Some(_) => {
                let length = bytes[at..].iter().take_while(|byte| is_wordlike(**byte)).count();
                self.end = at + length;
                match &self.source.as_bytes()[at..at + length] {
                    b"true" => Token::True,
                    b"false" => Token::False,
                    b"null" => Token::Null,
                    _ => return Err(self.invalid_token(at + length.max(1))),
                }
            }
        };
        Ok(())
    }

    fn number_end(&self) -> Result<usize, TypeError> {
        let bytes = self.source.as_bytes();
        let digits =
            |at: usize| bytes[at.min(bytes.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut at = self.start + usize::from(bytes[self.start] == b'-');
        let mut bad = false;
        match bytes.get(at) {
            Some(b'0') => at += 1,
            Some(b'1'..=b'9') => at += digits(at),
            _ => bad = true,
        }
        if bytes.get(at) == Some(&b'.') {
            at += 1;
            bad |= digits(at) == 0;
            at += digits(at);
        }
        if matches!(bytes.get(at), Some(b'e' | b'E')) {
            at += 1;
            at += usize::from(matches!(bytes.get(at), Some(b'+' | b'-')));
            bad |= digits(at) == 0;
            at += digits(at);
        }
        let garbage = bytes[at.min(bytes.len())..].iter().take_while(|byte| is_wordlike(**byte)).count();
        if bad || garbage > 0 { Err(self.invalid_token(at + garbage)) } else { Ok(at) }
    }

    /// Behind the closing quote.
    fn string_end(&self) -> Result<usize, TypeError> {
        let bytes = self.source.as_bytes();
        let mut at = self.start + 1;
        // A high surrogate that wants its other half.
        let mut high = false;
        loop {
            let Some(byte) = bytes.get(at) else { return Err(self.invalid_token(bytes.len())) };
            if high && self.strict && (*byte != b'\\' || bytes.get(at + 1) != Some(&b'u')) {
                return Err(invalid("Unicode low surrogate must follow a high surrogate."));
            }
            match byte {
                b'"' => return Ok(at + 1),
                b'\\' => match bytes.get(at + 1) {
                    None => return Err(self.invalid_token(bytes.len())),
                    Some(b'u') => {
                        high = self.unicode(at + 2, high)?;
                        at += 6;
                    }
                    Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                    Some(_) => {
                        let c = self.source[at + 1..].chars().next().unwrap_or_default();
                        return Err(invalid(format!("Escape sequence \"\\{c}\" is invalid.")));
                    }
                },
                0..0x20 => {
                    return Err(invalid(format!("Character with value 0x{byte:02x} must be escaped.")));
                }
                _ => at += 1,
            }
        }
    }

    /// The four digits behind `\u`: whether they are the first half of a surrogate pair.
    fn unicode(&self, at: usize, high: bool) -> Result<bool, TypeError> {
        let Some(code) = code(self.source, at) else {
            return Err(invalid("\"\\u\" must be followed by four hexadecimal digits."));
        };
        if !self.strict {
            return Ok(false);
        }
        match code {
            0xd800..0xdc00 if high => {
                Err(invalid("Unicode high surrogate must not follow a high surrogate."))
            }
            0xd800..0xdc00 => Ok(true),
            0xdc00..0xe000 if !high => Err(invalid("Unicode low surrogate must follow a high surrogate.")),
            _ if high && !(0xdc00..0xe000).contains(&code) => {
                Err(invalid("Unicode low surrogate must follow a high surrogate."))
            }
            0 => Err(TypeError::new("22P05", "unsupported Unicode escape sequence")
                .with_detail("\\u0000 cannot be converted to text.")),
            _ => Ok(false),
        }
    }

    /// The string that the token means.
    /// # Errors
    /// 22P02, 22P05 for escapes that stand for no text, where they have not been checked.
    pub fn string(&self) -> Result<String, TypeError> {
        decode(self.text())
    }

    /// At `[`: calls `element` at the first token of each element, which it passes.
    pub(super) fn array(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), TypeError>,
    ) -> Result<(), TypeError> {
        self.advance()?;
        if self.token != Token::CloseArray {
            loop {
                element(self)?;
                if self.token != Token::Comma {
                    break;
                }
                self.advance()?;
            }
        }
        if self.token != Token::CloseArray {
            return Err(self.expected("\",\" or \"]\""));
        }
        self.advance()
    }

    /// At `{`: calls `pair` with each key at the first token of its value, which it passes.
    pub(super) fn object(
        &mut self,
        mut pair: impl FnMut(&mut Self, String) -> Result<(), TypeError>,
    ) -> Result<(), TypeError> {
        self.advance()?;
        match self.token {
            Token::CloseObject => return self.advance(),
            Token::String => {}
            _ => return Err(self.expected("string or \"}\"")),
        }
        loop {
            if self.token != Token::String {
                return Err(self.expected("string"));
            }
            let key = if self.strict { self.string()? } else { self.string().unwrap_or_default() };
            self.advance()?;
            if self.token != Token::Colon {
                return Err(self.expected("\":\""));
            }
            self.advance()?;
            pair(self, key)?;
            if self.token != Token::Comma {
                break;
            }
            self.advance()?;
        }
        if self.token != Token::CloseObject {
            return Err(self.expected("\",\" or \"}\""));
        }
        self.advance()
    }

    /// Passes a value; where its text ends.
    pub(super) fn skip(&mut self, depth: usize) -> Result<usize, TypeError> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        match self.token {
            Token::OpenArray => self.array(|scanner| scanner.skip(depth + 1).map(|_| ()))?,
            Token::OpenObject => self.object(|scanner, _| scanner.skip(depth + 1).map(|_| ()))?,
            Token::String | Token::Number | Token::True | Token::False | Token::Null => {
                let end = self.end;
                self.advance()?;
                return Ok(end);
            }
            _ => return Err(self.expected("JSON value")),
        }
        // Back over blanks to the closing bracket.
        let before = &self.source[..self.start];
        Ok(before.trim_end_matches([' ', '\t', '\n', '\r']).len())
    }

    /// # Errors
    /// 22P02 unless this is the end.
    pub fn finish(&self) -> Result<(), TypeError> {
        match self.token {
            Token::End => Ok(()),
            _ => Err(invalid(format!("Expected end of input, but found \"{}\".", self.text()))),
        }
    }
}

fn code(text: &str, at: usize) -> Option<u32> {
    let digits = text.get(at..at + 4)?;
    digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

/// A JSON string in its quotes, as text.
fn decode(quoted: &str) -> Result<String, TypeError> {
    let body = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !body.contains('\\') {
        return Ok(body.to_owned());
    }
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let mut chars = rest.chars();
        match chars.next() {
            Some('b') => out.push('\x08'),
            Some('f') => out.push('\x0c'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('u') => {
                let first = code(rest, 1).unwrap_or(0);
                let mut c = char::from_u32(first);
                rest = rest.get(5..).unwrap_or_default();
                if (0xd800..0xdc00).contains(&first) {
                    let second = rest.strip_prefix("\\u").and_then(|rest| code(rest, 0)).unwrap_or(0);
                    if (0xdc00..0xe000).contains(&second) {
                        c = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
                        rest = rest.get(6..).unwrap_or_default();
                    }
                }
                match c {
                    Some('\0') => {
                        return Err(TypeError::new("22P05", "unsupported Unicode escape sequence")
                            .with_detail("\\u0000 cannot be converted to text."));
                    }
                    Some(c) => out.push(c),
                    None => return Err(invalid("Unicode low surrogate must follow a high surrogate.")),
                }
                continue;
            }
            Some(c) => out.push(c),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    Ok(out)
}

/// Checks JSON text, as the type `json` does.
/// # Errors
/// 22P02, 54001.
pub fn validate(text: &str) -> Result<(), TypeError> {
    let mut scanner = Scanner::new(text, false);
    scanner.advance()?;
    scanner.skip(0)?;
    scanner.finish()
}

/// The texts of the elements, where it is an array.
/// # Errors
/// 22P02, 54001.
pub fn elements(text: &str) -> Result<Option<Vec<&str>>, TypeError> {
    let mut scanner = Scanner::new(text, false);
    scanner.advance()?;
    if scanner.token() != Token::OpenArray {
        return Ok(None);
    }
    let mut found = Vec::new();
    scanner.array(|scanner| {
        let start = scanner.start;
        let end = scanner.skip(1)?;
        found.push(&text[start..end]);
        Ok(())
    })?;
    Ok(Some(found))
}

/// The keys and the texts of the values, where it is an object; equal keys come as often as they are written.
/// # Errors
/// 22P02, 54001.
pub fn fields(text: &str) -> Result<Option<Vec<(String, &str)>>, TypeError> {
    let mut scanner = Scanner::new(text, false);
    scanner.advance()?;
    if scanner.token() != Token::OpenObject {
        return Ok(None);
    }
    let mut found = Vec::new();
    scanner.object(|scanner, key| {
        let start = scanner.start;
        let end = scanner.skip(1)?;
        found.push((key, &text[start..end]));
        Ok(())
    })?;
    Ok(Some(found))
}
