//! Literals: `'…'`, `E'…'`, `U&'…'`, `B'…'`, `X'…'`, and quoted names.
//!
//! A literal goes on in the next pair of quotes if nothing but blanks and `--` comments with the end of a line among them
//! stands between.

use super::{Lexer, Text, Token, comment_end, line_end};
use crate::error::SyntaxError;

impl Lexer<'_> {
    /// Where the quotes of a literal go on; none where it has ended. `at` is behind a closing quote.
    fn continues(&self, at: usize) -> Option<usize> {
        let (mut at, mut lines) = (at, false);
        loop {
            match self.byte(at) {
                b'\n' | b'\r' => {
                    lines = true;
                    at += 1;
                }
                b' ' | b'\t' | 0x0b | 0x0c => at += 1,
                b'-' if self.byte(at + 1) == b'-' => at = line_end(self.bytes, at),
                b'\'' if lines => return Some(at),
                _ => return None,
            }
        }
    }

    /// Behind the closing quote of what starts with a quote; whether a doubled one is inside.
    fn quoted_end(&self, start: usize, quote: u8) -> Option<(usize, bool)> {
        let (mut at, mut doubled) = (start + 1, false);
        loop {
            at += self.bytes.get(at..)?.iter().position(|byte| *byte == quote)? + 1;
            if self.byte(at) != quote {
                return Some((at, doubled));
            }
            doubled = true;
            at += 1;
        }
    }

    /// The parts of a literal without escapes, and the byte behind it. `start` is the token's, `quote` that of the first
    /// quote.
    fn parts(&mut self, start: usize, quote: usize) -> Result<(Text, usize), SyntaxError> {
        let mut from = quote;
        let mut read: Option<String> = None;
        loop {
            let Some((end, doubled)) = self.quoted_end(from, b'\'') else {
                return Err(self.near("unterminated quoted string", start, self.bytes.len()));
            };
            let next = self.continues(end);
            let inner = &self.text[from + 1..end - 1];
            if let (None, None, false) = (&read, next, doubled) {
                return Ok((Text::Slice(from as u32 + 1, end as u32 - 1), end));
            }
            let read = read.get_or_insert_default();
            if doubled {
                read.push_str(&inner.replace("''", "'"))
            } else {
                read.push_str(inner)
            }
            let Some(next) = next else {
                let read = std::mem::take(read);
                return Ok((self.read(read), end));
            };
            from = next;
        }
    }

    pub(super) fn plain_string(&mut self, start: usize, quote: usize) -> Result<(), SyntaxError> {
        let (text, end) = self.parts(start, quote)?;
        self.push(Token::String(text), start, end);
        Ok(())
    }

    pub(super) fn bit_string(&mut self, start: usize, digits: &[u8]) -> Result<(), SyntaxError> {
        let (text, end) = self.parts(start, start + 1)?;
        let inner = match text {
            Text::Slice(from, to) => self.text[from as usize..to as usize].to_string(),
            Text::Read(index) => self.out.read[index as usize].clone(),
        };
        let binary = digits.len() == 2;
        if let Some(wrong) = inner.chars().find(|c| !c.is_ascii() || !digits.contains(&(*c as u8))) {
            let kind = if binary { "binary" } else { "hexadecimal" };
            let at = self.character(start);
            let text = format!("\"{wrong}\" is not a valid {kind} digit");
            return Err(SyntaxError::new("22P02", text).at(at));
        }
        let text = self.read(format!("{}{inner}", if binary { 'b' } else { 'x' }));
        self.push(Token::Bits(text), start, end);
        Ok(())
    }

    pub(super) fn quoted_name(&mut self, start: usize) -> Result<(), SyntaxError> {
        let (text, end) = self.name_text(start, start)?;
        let text = match text {
            (inner, false) => Text::Slice(inner.0 as u32, inner.1 as u32),
            (inner, true) => self.read(self.text[inner.0..inner.1].replace("\"\"", "\"")),
        };
        self.push(Token::Quoted(text), start, end);
        Ok(())
    }

    /// The bytes between the quotes of a name, whether a doubled one is inside, and the byte behind it.
    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    fn name_text(
        &mut self,
        start: usize,
        quote: usize,
    ) -> Result<(((usize, usize), bool), usize), SyntaxError> {
        let Some((end, doubled)) = self.quoted_end(quote, b'"') else {
            return Err(self.near("unterminated quoted identifier", start, self.bytes.len()));
        };
        if end - quote == 2 {
            return Err(self.near("zero-length delimited identifier", start, end));
        }
        Ok((((quote + 1, end - 1), doubled), end))
    }

    // ── escapes ──────────────────────────────────────────────────────────────────────────────────────────────────

    /// `E'…'`.
    pub(super) fn escape_string(&mut self, start: usize) -> Result<(), SyntaxError> {
        let mut out: Vec<u8> = Vec::new();
        let mut check = false;
        let mut at = start + 2;
        let end = loop {
            match self.byte(at) {
                0 => return Err(self.near("unterminated quoted string", start, self.bytes.len())),
                b'\'' if self.byte(at + 1) == b'\'' => {
                    out.push(b'\'');
                    at += 2;
                }
                b'\'' => match self.continues(at + 1) {
                    Some(next) => at = next + 1,
                    None => break at + 1,
                },
                b'\\' if at + 1 == self.bytes.len() => {
                    return Err(self.near("unterminated quoted string", start, self.bytes.len()));
                }
                b'\\' => at = self.escape(at, &mut out, &mut check)?,
                byte => {
                    out.push(byte);
                    at += 1;
                }
            }
        };
        if check && let Some(nul) = out.iter().position(|byte| *byte == 0) {
            return Err(self.not_utf8(&out[nul..=nul], start));
        }
        let text = match String::from_utf8(out) {
            Ok(text) => self.read(text),
            Err(error) => {
                let from = error.utf8_error().valid_up_to();
                let bytes = error.into_bytes();
                let length = match bytes[from] {
                    0xc0..=0xdf => 2,
                    0xe0..=0xef => 3,
                    0xf0..=0xf7 => 4,
                    _ => 1,
                };
                return Err(self.not_utf8(&bytes[from..bytes.len().min(from + length)], start));
            }
        };
        self.push(Token::String(text), start, end);
        Ok(())
    }

    fn not_utf8(&mut self, bytes: &[u8], start: usize) -> SyntaxError {
        let shown: Vec<String> = bytes.iter().map(|byte| format!("0x{byte:02x}")).collect();
        let text = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
        let at = self.character(start);
        SyntaxError::new("22021", text).at(at)
    }

    /// What the backslash at a byte begins; the byte behind it.
    fn escape(&mut self, at: usize, out: &mut Vec<u8>, check: &mut bool) -> Result<usize, SyntaxError> {
        let byte = self.byte(at + 1);
        let plain = match byte {
            b'b' => 8,
            b'f' => 12,
            b'n' => 10,
            b'r' => 13,
            b't' => 9,
            b'v' => 11,
            b'0'..=b'7' => {
                let digits = self.digits(at + 1, 3, 8);
                out.push(u32::from_str_radix(&self.text[at + 1..digits], 8).unwrap_or_default() as u8);
                *check = true;
                return Ok(digits);
            }
            b'x' if self.byte(at + 2).is_ascii_hexdigit() => {
                let digits = self.digits(at + 2, 2, 16);
                out.push(u8::from_str_radix(&self.text[at + 2..digits], 16).unwrap_or_default());
                *check = true;
                return Ok(digits);
            }
            b'u' | b'U' => {
                let (mut code, mut end) = self.code(at, at)?;
                if (0xd800..0xdc00).contains(&code) {
                    let low = match self.byte(end) == b'\\' && matches!(self.byte(end + 1), b'u' | b'U') {
                        true => Some(self.code(end, at)?).filter(|(low, _)| (0xdc00..0xe000).contains(low)),
                        false => None,
                    };
                    let Some((low, behind)) = low else {
                        return Err(self.near("invalid Unicode surrogate pair", at, end));
                    };
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
                    end = behind;
                }
                let Some(c) = char::from_u32(code).filter(|c| *c != '\0') else {
                    let what = match (0xdc00..0xe000).contains(&code) {
                        true => "invalid Unicode surrogate pair",
                        false => "invalid Unicode escape value",
                    };
                    return Err(self.near(what, at, end));
                };
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                return Ok(end);
            }
            other => other,
        };
        out.push(plain);
        Ok(at + 2)
    }

    /// The code of `\uXXXX` or `\UXXXXXXXX` and the byte behind it.
    fn code(&mut self, at: usize, first: usize) -> Result<(u32, usize), SyntaxError> {
        let count = if self.byte(at + 1) == b'u' { 4 } else { 8 };
        let end = self.digits(at + 2, count, 16);
        if end != at + 2 + count {
            let at = self.character(first);
            return Err(SyntaxError::new("22025", "invalid Unicode escape")
                .with_hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX.")
                .at(at));
        }
        Ok((u32::from_str_radix(&self.text[at + 2..end], 16).unwrap_or(u32::MAX), end))
    }

    /// Behind at most `count` digits.
    fn digits(&self, from: usize, count: usize, base: u32) -> usize {
        let digit = |at: &usize| char::from(self.byte(*at)).is_digit(base);
        (from..from + count).take_while(digit).last().map_or(from, |last| last + 1)
    }

    // ── U& ───────────────────────────────────────────────────────────────────────────────────────────────────────

    /// `U&'…'`, `U&"…"`, perhaps with UESCAPE.
    pub(super) fn unicode(&mut self, start: usize) -> Result<(), SyntaxError> {
        let name = self.byte(start + 2) == b'"';
        let (written, end) = if name {
            let (((from, to), _), end) = self.name_text(start, start + 2)?;
            (self.text[from..to].replace("\"\"", "\""), end)
        } else {
            let (text, end) = self.parts(start, start + 2)?;
            let written = match text {
                Text::Slice(from, to) => self.text[from as usize..to as usize].to_string(),
                Text::Read(_) => self.out.read.pop().unwrap_or_default(),
            };
            (written, end)
        };
        let (escape, end) = self.unicode_escape(end)?;
        let read = self.decode(&written, escape, start)?;
        let text = self.read(read);
        self.push(if name { Token::Quoted(text) } else { Token::String(text) }, start, end);
        Ok(())
    }

    /// `UESCAPE 'c'` behind a literal; the byte behind it.
    fn unicode_escape(&mut self, end: usize) -> Result<(char, usize), SyntaxError> {
        let mut at = end;
        loop {
            match self.byte(at) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => at += 1,
                b'-' if self.byte(at + 1) == b'-' => at = line_end(self.bytes, at),
                b'/' if self.byte(at + 1) == b'*' => match comment_end(self.bytes, at) {
                    Some(end) => at = end,
                    None => return Ok(('\\', end)),
                },
                _ => break,
            }
        }
        let word = super::name_end(self.bytes, at);
        if !self.text[at..word].eq_ignore_ascii_case("uescape") {
            return Ok(('\\', end));
        }
        self.at = word;
        self.skip_blanks()?;
        let quote = self.at;
        let Some((behind, false)) =
            Some(quote).filter(|at| self.byte(*at) == b'\'').and_then(|at| self.quoted_end(at, b'\''))
        else {
            let end = self.bytes.len().min(quote + 1);
            let what = "UESCAPE must be followed by a simple string literal";
            return Err(match self.text.get(quote..end) {
                Some(next) if !next.is_empty() => self.near(what, quote, end),
                _ => SyntaxError::syntax(format!("{what} at end of input")),
            });
        };
        let mut chars = self.text[quote + 1..behind - 1].chars();
        match (chars.next(), chars.next()) {
            (Some(c), None)
                if !c.is_ascii_hexdigit() && !matches!(c, '+' | '\'' | '"') && !c.is_ascii_whitespace() =>
            {
                Ok((c, behind))
            }
            _ => Err(self.near("invalid Unicode escape character", quote, behind)),
        }
    }

    /// Reads the escapes of `U&`.
    fn decode(&mut self, written: &str, escape: char, start: usize) -> Result<String, SyntaxError> {
        let mut out = String::with_capacity(written.len());
        let mut rest = written;
        let mut high: Option<u32> = None;
        let wrong = |lexer: &mut Self, what: &str, rest: &str| {
            // Doubled quotes before it are not counted: the place is that of the escape as PostgreSQL counts it.
            let at = lexer.character(start) + (written.len() - rest.len()) as u32 + 3;
            SyntaxError::syntax(what).at(at)
        };
        while let Some(c) = rest.chars().next() {
            let behind = &rest[c.len_utf8()..];
            if c != escape || behind.starts_with(escape) {
                if high.is_some() {
                    return Err(wrong(self, "invalid Unicode surrogate pair", rest));
                }
                out.push(c);
                rest = if c == escape { &behind[escape.len_utf8()..] } else { behind };
                continue;
            }
            let (from, count) = if behind.starts_with('+') { (1, 6) } else { (0, 4) };
            let digits = behind.get(from..from + count).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
            let Some(code) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
                let hint = "Unicode escapes must be \\XXXX or \\+XXXXXX.";
                return Err(wrong(self, "invalid Unicode escape", rest).with_hint(hint));
            };
            let code = match (high.take(), code) {
                (None, 0xd800..0xdc00) => {
                    high = Some(code);
                    rest = &behind[from + count..];
                    continue;
                }
                (Some(high), 0xdc00..0xe000) => 0x10000 + ((high - 0xd800) << 10) + (code - 0xdc00),
                (Some(_), _) | (None, 0xdc00..0xe000) => {
                    return Err(wrong(self, "invalid Unicode surrogate pair", rest));
                }
                (None, code) => code,
            };
            match char::from_u32(code).filter(|c| *c != '\0') {
                Some(c) => out.push(c),
                None => return Err(wrong(self, "invalid Unicode escape value", rest)),
            }
            rest = &behind[from + count..];
        }
        if high.is_some() {
            return Err(wrong(self, "invalid Unicode surrogate pair", rest));
        }
        Ok(out)
    }
}
