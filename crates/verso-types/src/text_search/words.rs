//! Lexemes as texts have them: bare or within quotes, with what is escaped.

use super::vector::Position;
use super::{POSITION_MAX, TsVector};
use crate::error::TypeError;
use crate::sqlstate::SYNTAX_ERROR;

/// Whose text is read, for what ends a word and for messages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Vector,
    Query,
    /// What people type into search fields: nothing is escaped, a quotation mark ends a word.
    Web,
}

/// A word, its positions, and where the text goes on behind it.
pub(super) struct Word {
    pub text: String,
    pub positions: Vec<Position>,
    pub end: usize,
}

/// C's `isspace`.
pub(super) fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// Characters that are operators wherever they stand in a query.
pub(super) fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// 42601, with the whole text.
#[cold]
pub(super) fn syntax(of: Of, text: &str) -> TypeError {
    let what = if of == Of::Vector { "tsvector" } else { "tsquery" };
    TypeError::new(SYNTAX_ERROR, format!("syntax error in {what}: \"{text}\""))
}

/// Appends a lexeme within quotes.
pub(super) fn put_quoted(word: &str, out: &mut String) {
    out.push('\'');
    for c in word.chars() {
        if matches!(c, '\'' | '\\') {
            out.push(c);
        }
        out.push(c);
    }
    out.push('\'');
}

enum State {
    Begin,
    Bare,
    Quoted,
    /// Behind a quote that ends the word or stands for itself.
    Quote,
}

/// The next word of `text` from `at` on; none where the text ends before.
pub(super) fn next(of: Of, text: &str, at: usize) -> Result<Option<Word>, TypeError> {
    let web = of == Of::Web;
    let ends = |c: char| is_blank(c) || (of != Of::Vector && is_operator(c)) || (web && c == '"');
    let mut word = String::new();
    let mut state = State::Begin;
    let mut rest = text.get(at..).unwrap_or_default().char_indices();
    let escaped = |rest: &mut std::str::CharIndices<'_>| match rest.next() {
        Some((_, c)) => Ok(c),
        None => Err(TypeError::new(SYNTAX_ERROR, format!("there is no escaped character: \"{text}\""))),
    };
    loop {
        let next = rest.next();
        let here = at + next.map_or(text.len() - at, |(offset, _)| offset);
        let c = next.map(|(_, c)| c);
        match (&state, c) {
            (State::Begin, None) => return Ok(None),
            (State::Begin, Some('\'')) if !web => state = State::Quoted,
            (State::Begin | State::Bare, Some('\\')) if !web => {
                word.push(escaped(&mut rest)?);
                state = State::Bare;
            }
            (State::Begin, Some(c)) if is_blank(c) => {}
            (State::Begin, Some(c)) if ends(c) => return Err(syntax(of, text)),
            (State::Begin, Some(c)) => {
                word.push(c);
                state = State::Bare;
            }
            (State::Bare, None) => return Ok(Some(Word { text: word, positions: Vec::new(), end: here })),
            (State::Bare, Some(c)) if ends(c) => {
                return Ok(Some(Word { text: word, positions: Vec::new(), end: here }));
            }
            (State::Bare, Some(':')) => return behind(of, text, word, here).map(Some),
            (State::Bare, Some(c)) => word.push(c),
            (State::Quoted, None) => return Err(syntax(of, text)),
            (State::Quoted, Some('\'')) => state = State::Quote,
            (State::Quoted, Some('\\')) => word.push(escaped(&mut rest)?),
            (State::Quoted, Some(c)) => word.push(c),
            (State::Quote, Some('\'')) => {
                word.push('\'');
                state = State::Quoted;
            }
            (State::Quote, _) if word.is_empty() => return Err(syntax(of, text)),
            (State::Quote, Some(':')) => return behind(of, text, word, here).map(Some),
            (State::Quote, _) => {
                return Ok(Some(Word { text: word, positions: Vec::new(), end: here }));
            }
        }
    }
}

/// A word before the colon at `at`: a query reads what is behind that itself.
fn behind(of: Of, text: &str, word: String, at: usize) -> Result<Word, TypeError> {
    if of != Of::Vector {
        return Ok(Word { text: word, positions: Vec::new(), end: at });
    }
    let bytes = text.as_bytes();
    let mut positions: Vec<Position> = Vec::new();
    let mut at = at + 1;
    loop {
        let start = at;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at == start {
            return Err(syntax(of, text));
        }
        // As C's atoi: what does not fit is cut.
        let number = text[start..at].parse::<i64>().unwrap_or(i64::MAX) as i32;
        let place = number.min(i32::from(POSITION_MAX)) as u16 & POSITION_MAX;
        if place == 0 {
            let text = format!("wrong position info in tsvector: \"{text}\"");
            return Err(TypeError::new(SYNTAX_ERROR, text));
        }
        let mut weight = 0;
        loop {
            let given = match bytes.get(at) {
                Some(b'a' | b'A' | b'*') => 3,
                Some(b'b' | b'B') => 2,
                Some(b'c' | b'C') => 1,
                Some(b'd' | b'D') => 0,
                Some(byte) if byte.is_ascii_digit() => {
                    at += 1;
                    continue;
                }
                _ => break,
            };
            if weight != 0 {
                return Err(syntax(of, text));
            }
            weight = given;
            at += 1;
        }
        positions.push(Position::new(place, weight));
        match bytes.get(at) {
            Some(b',') => at += 1,
            None => break,
            Some(byte) if byte.is_ascii_whitespace() || *byte == b'\x0b' => break,
            Some(_) => return Err(syntax(of, text)),
        }
    }
    Ok(Word { text: word, positions, end: at })
}

impl TsVector {
    /// Reads a text such as `'a fat':1A,4 cat`.
    ///
    /// # Errors
    /// 42601; 54000 where there is too much.
    pub fn parse(text: &str) -> Result<TsVector, TypeError> {
        let mut words = Vec::new();
        let (mut at, mut bytes) = (0, 0);
        while let Some(word) = next(Of::Vector, text, at)? {
            at = word.end;
            super::vector::check_lexeme(&word.text)?;
            bytes += word.text.len();
            if bytes > super::TEXT_MAX {
                return Err(super::vector::too_long(bytes));
            }
            words.push(super::Lexeme { text: word.text.into(), positions: word.positions });
        }
        TsVector::new(words)
    }
}
