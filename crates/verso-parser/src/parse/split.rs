//! Cutting a script into statements without parsing it.
//!
//! The shell reads line by line and must know when a statement is complete; this scanner knows strings, quoted names,
//! dollar quotes, comments (nested, as in PostgreSQL) and parentheses, and nothing else.

use std::ops::Range;

/// A statement of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its bytes, without the semicolon and the blanks and comments before it.
    pub range: Range<usize>,
    /// Where the next one starts: behind the semicolon.
    pub next: usize,
    /// Ends with a semicolon; only the last piece may be incomplete.
    pub complete: bool,
    /// What is still open at the end of an incomplete piece.
    pub open: Open,
}

/// What a text may still be inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Nothing: only the semicolon is missing.
    Nothing,
    /// `'…`
    String,
    /// `"…`
    Identifier,
    /// `$tag$…`
    DollarQuote,
    /// `/*…`
    Comment,
    /// `(…`
    Parenthesis,
}

/// Cuts a script at its semicolons. Pieces of only blanks and comments are left out, except that an open comment
/// or string at the end is reported as an incomplete piece.
pub fn split_statements(text: &str) -> Vec<Piece> {
    let mut scanner = Scanner { bytes: text.as_bytes(), at: 0 };
    let mut pieces = Vec::new();
    let mut start = None;
    let mut depth = 0usize;
    let mut bodies = AtomicBodies::default();
    while scanner.at < scanner.bytes.len() {
        let from = scanner.at;
        let (token, closed) = scanner.next();
        match token {
            Lexeme::Blank => {}
            Lexeme::Semicolon if depth == 0 && !bodies.is_open() => {
                if let Some(start) = start.take() {
                    let range = start..trimmed_end(text, start, from);
                    pieces.push(Piece { range, next: scanner.at, complete: true, open: Open::Nothing });
                }
            }
            _ => {
                start.get_or_insert(from);
                bodies.pass(&text[from..scanner.at]);
                match token {
                    Lexeme::Opening => depth += 1,
                    Lexeme::Closing => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
        if let Some(open) = closed {
            let start = start.unwrap_or(from);
            pieces.push(Piece { range: start..text.len(), next: text.len(), complete: false, open });
            return pieces;
        }
    }
    if let Some(start) = start {
        let open = if depth > 0 { Open::Parenthesis } else { Open::Nothing };
        let range = start..trimmed_end(text, start, text.len());
        pieces.push(Piece { range, next: text.len(), complete: false, open });
    }
    pieces
}

fn trimmed_end(text: &str, start: usize, end: usize) -> usize {
    start + text[start..end].trim_end().len()
}

/// Whether a body `BEGIN ATOMIC … END` is open, whose semicolons end no statement.
#[derive(Debug, Default)]
pub struct AtomicBodies {
    /// The last lexeme was BEGIN.
    begins: bool,
    /// What END ends: the body, and CASE in it.
    open: usize,
}

impl AtomicBodies {
    /// Passes over a lexeme that is no blank.
    pub fn pass(&mut self, lexeme: &str) {
        let is = |word: &str| lexeme.eq_ignore_ascii_case(word);
        match self.open {
            0 if self.begins && is("atomic") => self.open = 1,
            0 => self.begins = is("begin"),
            _ if is("case") => self.open += 1,
            _ if is("end") => self.open -= 1,
            _ => {}
        }
    }

    /// Whether one is open.
    pub fn is_open(&self) -> bool {
        self.open > 0
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lexeme {
    Blank,
    Semicolon,
    Opening,
    Closing,
    Other,
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    /// The next lexeme, and what it leaves open at the end of the text.
    fn next(&mut self) -> (Lexeme, Option<Open>) {
        let rest = &self.bytes[self.at..];
        let byte = rest[0];
        self.at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0c => (Lexeme::Blank, None),
            b';' => (Lexeme::Semicolon, None),
            b'(' | b'[' => (Lexeme::Opening, None),
            b')' | b']' => (Lexeme::Closing, None),
            b'-' if rest.get(1) == Some(&b'-') => {
                self.skip_while(|byte| byte != b'\n');
                (Lexeme::Blank, None)
            }
            b'/' if rest.get(1) == Some(&b'*') => (Lexeme::Blank, self.comment()),
            b'\'' => (Lexeme::Other, self.quoted(b'\'', false, Open::String)),
            b'"' => (Lexeme::Other, self.quoted(b'"', false, Open::Identifier)),
            b'$' => (Lexeme::Other, self.dollar()),
            _ if is_name_byte(byte) => {
                self.skip_while(|byte| is_name_byte(byte) || byte == b'$');
                let escapes = matches!(byte, b'e' | b'E')
                    && self.bytes.get(self.at) == Some(&b'\'')
                    && self.at_one(rest);
                if escapes {
                    self.at += 1;
                    return (Lexeme::Other, self.quoted(b'\'', true, Open::String));
                }
                (Lexeme::Other, None)
            }
            _ => (Lexeme::Other, None),
        }
    }

    /// Whether the word that began with `rest` is one byte long.
    fn at_one(&self, rest: &[u8]) -> bool {
        self.bytes.len() - rest.len() + 1 == self.at
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.bytes.get(self.at).is_some_and(|byte| keep(*byte)) {
            self.at += 1;
        }
    }

    /// Behind the opening quote: to behind the closing one.
    fn quoted(&mut self, quote: u8, escapes: bool, open: Open) -> Option<Open> {
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += 1;
            if escapes && byte == b'\\' {
                self.at = (self.at + 1).min(self.bytes.len());
            } else if byte == quote {
                if self.bytes.get(self.at) != Some(&quote) {
                    return None;
                }
                self.at += 1;
            }
        }
        Some(open)
    }

    /// Behind `/`: to behind the comment's end; comments nest.
    fn comment(&mut self) -> Option<Open> {
        self.at += 1;
        let mut depth = 1;
        while let Some(pair) = self.bytes.get(self.at..self.at + 2) {
            match pair {
                b"/*" => depth += 1,
                b"*/" => depth -= 1,
                _ => {
                    self.at += 1;
                    continue;
                }
            }
            self.at += 2;
            if depth == 0 {
                return None;
            }
        }
        self.at = self.bytes.len();
        Some(Open::Comment)
    }

    /// Behind `$`: a dollar quote, a parameter, or just a sign.
    fn dollar(&mut self) -> Option<Open> {
        let tag_start = self.at - 1;
        let mut end = self.at;
        if self.bytes.get(end).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        while self.bytes.get(end).is_some_and(|byte| is_name_byte(*byte)) {
            end += 1;
        }
        if self.bytes.get(end) != Some(&b'$') {
            return None;
        }
        let tag = &self.bytes[tag_start..=end];
        self.at = end + 1;
        while self.at < self.bytes.len() {
            if self.bytes[self.at..].starts_with(tag) {
                self.at += tag.len();
                return None;
            }
            self.at += 1;
        }
        Some(Open::DollarQuote)
    }
}

pub(super) fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<(&str, bool, Open)> {
        split_statements(script)
            .into_iter()
            .map(|piece| (&script[piece.range], piece.complete, piece.open))
            .collect()
    }

    #[test]
    fn bodies_without_quotes_have_semicolons_of_their_own() {
        let body =
            "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN true THEN 1 END; SELECT 2; END";
        let script = format!("begin; {body}; select 1");
        let found: Vec<&str> = texts(&script).into_iter().map(|(text, _, _)| text).collect();
        assert_eq!(found, ["begin", body, "select 1"]);
        assert_eq!(crate::parse_script(&script).expect("parses").len(), 3);
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_quotes_and_comments() {
        let script =
            "-- hi;\nSELECT ';' ; /* a ; /* b; */ */ SELECT \";\" , E'\\';' ;; DO $x$ a; $$ ; $x$ ; end";
        assert_eq!(
            texts(script),
            [
                ("SELECT ';'", true, Open::Nothing),
                ("SELECT \";\" , E'\\';'", true, Open::Nothing),
                ("DO $x$ a; $$ ; $x$", true, Open::Nothing),
                ("end", false, Open::Nothing),
            ]
        );
    }

    #[test]
    fn what_is_open_is_told() {
        for (script, open) in [
            ("select 'a", Open::String),
            ("select E'\\'", Open::String),
            ("select \"a", Open::Identifier),
            ("do $$ x", Open::DollarQuote),
            ("do $a$ x $$", Open::DollarQuote),
            ("/* x", Open::Comment),
            ("/*", Open::Comment),
            ("/* x /* */", Open::Comment),
            ("select (1", Open::Parenthesis),
            ("select (1;", Open::Parenthesis),
            ("select $1", Open::Nothing),
            ("select a$b$c", Open::Nothing),
        ] {
            let last = split_statements(script).pop().expect("a piece");
            assert_eq!((last.complete, last.open), (false, open), "{script}");
        }
        assert!(split_statements(" -- nothing\n ;; ").is_empty());
    }

    #[test]
    fn the_pieces_of_any_text_are_in_order_and_inside() {
        let parts = ["'", "\"", "$", "$a$", "/*", "*/", "--", "\n", ";", "(", ")", "é", "E'", "\\", "x "];
        let mut state = 1u64;
        for _ in 0..3_000 {
            let mut script = String::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                script.push_str(parts[(state >> 33) as usize % parts.len()]);
            }
            let mut last = 0;
            for piece in split_statements(&script) {
                assert!(piece.range.start >= last && piece.range.end <= piece.next, "{script:?}");
                assert!(script.get(piece.range.clone()).is_some(), "{script:?}");
                last = piece.next;
            }
        }
    }
}
