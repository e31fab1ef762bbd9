//! The words of a path.

use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};

/// A word of a path.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A name or key word, its escapes read.
    Name(String),
    /// `"…"`
    String(String),
    /// `$name`
    Variable(String),
    /// Digits without a point.
    Integer(String),
    /// Another number.
    Number(Decimal),
    /// Signs: `==`, `(`, …
    Sign(&'static str),
    /// Behind the last one.
    End,
}

const SIGNS: [&str; 30] = [
    "**", "&&", "||", "==", "<>", "!=", "<=", ">=", "<", ">", "!", "=", "?", "%", "$", ".", "[", "]", "{",
    "}", "(", ")", "&", "|", "@", "#", ",", "*", "-", "+",
];

#[cold]
pub(super) fn syntax(text: impl Into<String>) -> TypeError {
    TypeError::new("42601", text)
}

#[cold]
pub(super) fn near(text: &str) -> TypeError {
    match text {
        "" => syntax("syntax error at end of jsonpath input"),
        text => syntax(format!("syntax error at or near \"{text}\" of jsonpath input")),
    }
}

/// A path's text, word by word: each with where it begins.
pub(super) fn words(text: &str) -> Result<Vec<(Word, usize)>, TypeError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut words = Vec::new();
    loop {
        lexer.blanks()?;
        let start = lexer.at;
        let word = lexer.word()?;
        let last = word == Word::End;
        words.push((word, start));
        if last {
            return Ok(words);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn blanks(&mut self) -> Result<(), TypeError> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("/*") {
                return Ok(());
            }
            match trimmed.find("*/") {
                Some(end) => self.at += end + 2,
                None => return Err(syntax("unexpected end of comment at end of jsonpath input")),
            }
        }
    }

    fn word(&mut self) -> Result<Word, TypeError> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Word::End) };
        match first {
            '"' => self.quoted().map(Word::String),
            '$' if rest[1..].starts_with('"') => {
                self.at += 1;
                self.quoted().map(Word::Variable)
            }
            '$' if rest[1..].starts_with(is_name) => {
                self.at += 1;
                self.name().map(Word::Variable)
            }
            '0'..='9' => self.number(),
            '.' if rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(),
            '/' => {
                self.at += 1;
                Ok(Word::Sign("/"))
            }
            ':' => {
                self.at += 1;
                Ok(Word::Sign(":"))
            }
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    Ok(Word::Sign(match *sign {
                        "<>" => "!=",
                        sign => sign,
                    }))
                }
                None => self.name().map(Word::Name),
            },
        }
    }

    fn name(&mut self) -> Result<String, TypeError> {
        let mut name = String::new();
        while let Some(c) = self.rest().chars().next() {
            match c {
                '\\' => self.escape(&mut name)?,
                c if is_name(c) && !self.rest().starts_with("/*") => {
                    name.push(c);
                    self.at += c.len_utf8();
                }
                _ => break,
            }
        }
        if name.is_empty() { Err(near(self.rest())) } else { Ok(name) }
    }

    fn quoted(&mut self) -> Result<String, TypeError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            match self.rest().chars().next() {
                None => {
                    let shown = &self.text[start..];
                    return Err(syntax(format!(
                        "unterminated quoted string at or near \"{shown}\" of jsonpath input"
                    )));
                }
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => self.escape(&mut text)?,
                Some(c) => {
                    text.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// What begins with a backslash.
    fn escape(&mut self, out: &mut String) -> Result<(), TypeError> {
        self.at += 1;
        let Some(c) = self.rest().chars().next() else {
            return Err(syntax("unexpected end after backslash at end of jsonpath input"));
        };
        self.at += c.len_utf8();
        out.push(match c {
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => match self.hex(2) {
                Some(code) => return self.push_code(code, out),
                None => {
                    return Err(syntax("invalid hexadecimal character sequence at end of jsonpath input"));
                }
            },
            'u' => {
                let code = self.unicode()?;
                if (0xd800..0xdc00).contains(&code) {
                    let low = self.rest().starts_with("\\u").then(|| {
                        self.at += 2;
                        self.unicode()
                    });
                    return match low.transpose()? {
                        Some(low @ 0xdc00..0xe000) => {
                            self.push_code(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00), out)
                        }
                        _ => Err(surrogate("Unicode high surrogate must not follow a high surrogate.")),
                    };
                }
                if (0xdc00..0xe000).contains(&code) {
                    return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
                }
                return self.push_code(code, out);
            }
            c => c,
        });
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let text = self.rest().get(..digits)?;
        let code = u32::from_str_radix(text, 16).ok().filter(|_| !text.starts_with('+'))?;
        self.at += digits;
        Some(code)
    }

    /// Behind `\u`: four digits, or up to six in braces.
    fn unicode(&mut self) -> Result<u32, TypeError> {
        let invalid = || syntax("invalid Unicode escape sequence at end of jsonpath input");
        let Some(inner) = self.rest().strip_prefix('{') else { return self.hex(4).ok_or_else(invalid) };
        let end = inner.find('}').filter(|end| (1..=6).contains(end)).ok_or_else(invalid)?;
        self.at += 1;
        let code = self.hex(end).ok_or_else(invalid)?;
        self.at += 1;
        Ok(code)
    }

    fn push_code(&self, code: u32, out: &mut String) -> Result<(), TypeError> {
        if code == 0 {
            let error = TypeError::new("22P05", "unsupported Unicode escape sequence");
            return Err(error.with_detail("\\u0000 cannot be converted to text."));
        }
        out.push(char::from_u32(code).ok_or_else(|| surrogate("Unicode escape value is out of range."))?);
        Ok(())
    }

    /// Digits and underscores at the front.
    fn digits(&mut self, radix: u32) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_digit(radix) && c != '_').unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn number(&mut self) -> Result<Word, TypeError> {
        let start = self.at;
        let radix = match self.rest().get(..2) {
            Some("0x" | "0X") => Some(16),
            Some("0o" | "0O") => Some(8),
            Some("0b" | "0B") => Some(2),
            _ => None,
        };
        let junk = |lexer: &Self| {
            let end = lexer.rest().chars().next().map_or(lexer.at, |c| lexer.at + c.len_utf8());
            let shown = &lexer.text[start..end];
            syntax(format!("trailing junk after numeric literal at or near \"{shown}\" of jsonpath input"))
        };
        let clean = |part: &str| !part.starts_with('_') && !part.ends_with('_') && !part.contains("__");
        if let Some(radix) = radix {
            self.at += 2;
            let part = self.digits(radix);
            if part.is_empty() || !clean(part) || self.rest().starts_with(is_name) {
                return Err(junk(self));
            }
            let number = i128::from_str_radix(&part.replace('_', ""), radix).map_err(|_| junk(self))?;
            return Ok(Word::Integer(number.to_string()));
        }
        let mut parts = vec![self.digits(10)];
        let whole = parts[0];
        let mut plain = true;
        // `1.type()` is junk, as in PostgreSQL: the point belongs to the number
        if self.rest().starts_with('.') {
            plain = false;
            self.at += 1;
            parts.push(self.digits(10));
        }
        let exponent = self.rest().strip_prefix(['e', 'E']);
        if let Some(behind) = exponent {
            let sign = usize::from(behind.starts_with(['+', '-']));
            if behind[sign..].starts_with(|c: char| c.is_ascii_digit()) {
                plain = false;
                self.at += 1 + sign;
                parts.push(self.digits(10));
            }
        }
        let zero_in_front = whole.len() > 1 && whole.starts_with('0');
        if self.rest().starts_with(is_name) || zero_in_front || !parts.iter().all(|part| clean(part)) {
            return Err(junk(self));
        }
        let text = self.text[start..self.at].replace('_', "");
        if plain {
            return Ok(Word::Integer(text));
        }
        let text = if text.starts_with('.') { format!("0{text}") } else { text };
        Ok(Word::Number(Decimal::parse(&text)?))
    }
}

#[cold]
fn surrogate(detail: &str) -> TypeError {
    TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath")
        .with_detail(detail)
}

fn is_name(c: char) -> bool {
    !matches!(
        c,
        '?' | '%'
            | '$'
            | '.'
            | '['
            | ']'
            | '{'
            | '}'
            | '('
            | ')'
            | '|'
            | '&'
            | '!'
            | '='
            | '<'
            | '>'
            | '@'
            | '#'
            | ','
            | '*'
            | ':'
            | '-'
            | '+'
            | '/'
            | '\\'
            | '"'
            | ' '
            | '\t'
            | '\n'
            | '\r'
            | '\x0c'
    )
}
