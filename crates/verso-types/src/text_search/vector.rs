//! `tsvector`: lexemes in order, each once, with the positions where a document has them.
//!
//! ```text
//! stored = size in PostgreSQL u32, lexemes u32, then for each: 0 with positions │ 1 without; text; 0;
//!          of positions their number u16 and each as u16, position and weight, inverted
//! ```
//!
//! Numbers are big-endian. So bytes are in order as PostgreSQL has vectors in order: the size, the number of lexemes, and
//! lexeme by lexeme.

use super::{LEXEME_MAX, POSITION_MAX, POSITIONS_MAX, TEXT_MAX, words};
use crate::error::{TypeError, sqlstate};
use crate::opaque::{Opaque, OpaqueKind};
use crate::value::Value;

/// Lexemes of a vector, and nodes of a query, at most in the binary form.
pub(super) const COUNT_MAX: usize = (1 << 30) / 12;

/// Where a lexeme stands, and its weight: 0 is D, 3 is A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u16);

impl Position {
    /// A place from 1 to [`POSITION_MAX`] with a weight up to 3.
    #[must_use]
    pub fn new(place: u16, weight: u8) -> Position {
        Position(u16::from(weight & 3) << 14 | (place & POSITION_MAX))
    }

    /// The place.
    #[must_use]
    pub fn place(self) -> u16 {
        self.0 & POSITION_MAX
    }

    /// The weight.
    #[must_use]
    pub fn weight(self) -> u8 {
        (self.0 >> 14) as u8
    }

    /// The letter of the weight.
    #[must_use]
    pub fn letter(self) -> char {
        ['D', 'C', 'B', 'A'][usize::from(self.weight())]
    }
}

/// A word as dictionaries leave it, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// The word.
    pub text: Box<str>,
    /// Where it stands, in order; empty where that is not known.
    pub positions: Vec<Position>,
}

/// A document's lexemes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TsVector {
    lexemes: Vec<Lexeme>,
}

/// 54000 for a lexeme that is too long.
pub(super) fn check_lexeme(word: &str) -> Result<(), TypeError> {
    if word.len() < LEXEME_MAX {
        return Ok(());
    }
    let text = format!("word is too long ({} bytes, max {} bytes)", word.len(), LEXEME_MAX - 1);
    Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text))
}

#[cold]
pub(super) fn too_long(bytes: usize) -> TypeError {
    let text = format!("string is too long for tsvector ({bytes} bytes, max {TEXT_MAX} bytes)");
    TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
}

/// Positions in order, each place once with its greatest weight, and not too many of them.
fn settle(positions: &mut Vec<Position>) {
    if positions.len() < 2 {
        return;
    }
    positions.sort_by_key(|position| (position.place(), std::cmp::Reverse(position.weight())));
    positions.dedup_by_key(|position| position.place());
    positions.truncate(POSITIONS_MAX);
}

impl TsVector {
    /// Lexemes in any order; equal ones become one with the positions of all.
    ///
    /// # Errors
    /// 54000 where there is more than a vector can have.
    pub fn new(mut lexemes: Vec<Lexeme>) -> Result<TsVector, TypeError> {
        lexemes.sort_by(|a, b| a.text.as_bytes().cmp(b.text.as_bytes()));
        lexemes.dedup_by(|next, kept| {
            let same = next.text == kept.text;
            if same {
                kept.positions.append(&mut next.positions);
            }
            same
        });
        lexemes.iter_mut().for_each(|lexeme| settle(&mut lexeme.positions));
        let vector = TsVector { lexemes };
        let bytes = vector.text_bytes();
        if bytes > TEXT_MAX { Err(too_long(bytes)) } else { Ok(vector) }
    }

    /// Lexemes that are in order already, each once, with positions in order.
    ///
    /// # Errors
    /// 54000 where there is more than a vector can have.
    pub fn of_ordered(lexemes: Vec<Lexeme>) -> Result<TsVector, TypeError> {
        let vector = TsVector { lexemes };
        let bytes = vector.text_bytes();
        if bytes > TEXT_MAX { Err(too_long(bytes)) } else { Ok(vector) }
    }

    /// The lexemes, in order.
    #[must_use]
    pub fn lexemes(&self) -> &[Lexeme] {
        &self.lexemes
    }

    /// The same, to be changed without changing their order.
    #[must_use]
    pub fn into_lexemes(self) -> Vec<Lexeme> {
        self.lexemes
    }

    /// How many positions there are, a lexeme without any counted as one.
    #[must_use]
    pub fn length(&self) -> usize {
        self.lexemes.iter().map(|lexeme| lexeme.positions.len().max(1)).sum()
    }

    /// The lexemes that begin with a text, or the one that is that text.
    #[must_use]
    pub fn find(&self, word: &str, prefix: bool) -> &[Lexeme] {
        let start = self.lexemes.partition_point(|lexeme| lexeme.text.as_bytes() < word.as_bytes());
        let behind = &self.lexemes[start..];
        let fits = |lexeme: &&Lexeme| match prefix {
            true => lexeme.text.as_bytes().starts_with(word.as_bytes()),
            false => *lexeme.text == *word,
        };
        let count = if prefix {
            behind.iter().take_while(fits).count()
        } else {
            behind.iter().take(1).filter(fits).count()
        };
        &behind[..count]
    }

    /// Bytes of lexemes and positions, as PostgreSQL lays them out.
    fn text_bytes(&self) -> usize {
        self.lexemes.iter().fold(0, |bytes, lexeme| match lexeme.positions.len() {
            0 => bytes + lexeme.text.len(),
            count => (bytes + lexeme.text.len()).next_multiple_of(2) + 2 + 2 * count,
        })
    }

    /// Bytes of the whole value in PostgreSQL.
    #[must_use]
    pub fn size(&self) -> usize {
        8 + 4 * self.lexemes.len() + self.text_bytes()
    }

    /// Appends its text.
    pub fn format(&self, out: &mut String) {
        use std::fmt::Write as _;
        for (n, lexeme) in self.lexemes.iter().enumerate() {
            if n > 0 {
                out.push(' ');
            }
            words::put_quoted(&lexeme.text, out);
            for (n, position) in lexeme.positions.iter().enumerate() {
                out.push(if n == 0 { ':' } else { ',' });
                // writing to a String cannot fail
                let _ = write!(out, "{}", position.place());
                if position.weight() > 0 {
                    out.push(position.letter());
                }
            }
        }
    }

    /// Appends the binary form of the protocol.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            out.extend_from_slice(lexeme.text.as_bytes());
            out.push(0);
            out.extend_from_slice(&(lexeme.positions.len() as u16).to_be_bytes());
            for position in &lexeme.positions {
                out.extend_from_slice(&position.0.to_be_bytes());
            }
        }
    }

    /// Reads the binary form of the protocol.
    ///
    /// # Errors
    /// 08P01 for too few bytes, 22P03 for too many, XX000 as PostgreSQL for what is no vector.
    pub fn receive(bytes: &[u8]) -> Result<TsVector, TypeError> {
        let wrong = |text: &str| TypeError::new(sqlstate::INTERNAL_ERROR, text);
        let mut rest = Rest(bytes);
        let count = rest.number::<4>()?;
        if count as usize > COUNT_MAX {
            return Err(wrong("invalid size of tsvector"));
        }
        let mut lexemes = Vec::new();
        let mut total = 0;
        for _ in 0..count {
            let text = rest.text()?;
            let positions = rest.number::<2>()?;
            if text.len() > LEXEME_MAX {
                return Err(wrong("invalid tsvector: lexeme too long"));
            }
            if text.is_empty() {
                return Err(wrong("invalid tsvector: empty lexeme"));
            }
            total += text.len();
            if total > TEXT_MAX {
                return Err(wrong("invalid tsvector: maximum total lexeme length exceeded"));
            }
            if positions as usize > POSITIONS_MAX {
                return Err(wrong("unexpected number of tsvector positions"));
            }
            let mut lexeme = Lexeme { text: text.into(), positions: Vec::with_capacity(positions as usize) };
            for _ in 0..positions {
                let position = Position(rest.number::<2>()? as u16);
                if lexeme.positions.last().is_some_and(|last| last.place() >= position.place()) {
                    return Err(wrong("position information is misordered"));
                }
                lexeme.positions.push(position);
            }
            lexemes.push(lexeme);
        }
        rest.end()?;
        TsVector::new(lexemes)
    }

    /// The stored value.
    #[must_use]
    pub fn value(&self) -> Opaque {
        let size = self.size();
        let mut out = Vec::with_capacity(size + 8);
        out.extend_from_slice(&(size as u32).to_be_bytes());
        out.extend_from_slice(&(self.lexemes.len() as u32).to_be_bytes());
        for lexeme in &self.lexemes {
            out.push(u8::from(lexeme.positions.is_empty()));
            out.extend_from_slice(lexeme.text.as_bytes());
            out.push(0);
            if !lexeme.positions.is_empty() {
                out.extend_from_slice(&(!(lexeme.positions.len() as u16)).to_be_bytes());
                for position in &lexeme.positions {
                    let ordered = position.place() << 2 | u16::from(position.weight());
                    out.extend_from_slice(&(!ordered).to_be_bytes());
                }
            }
        }
        Opaque::new(OpaqueKind::TsVector, out)
    }

    /// As [`TsVector::value`], a value.
    #[must_use]
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The vector that a stored value is.
    #[must_use]
    pub fn of(value: &Opaque) -> TsVector {
        TsVector::of_bytes(value.bytes())
    }

    /// The vector that these bytes of a stored value are; what breaks their form is left out.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> TsVector {
        let mut lexemes = Vec::new();
        let mut reader = Stored(bytes.get(8..).unwrap_or_default());
        while let Some((text, positions)) = reader.next() {
            let Ok(text) = std::str::from_utf8(text) else { break };
            lexemes.push(Lexeme { text: text.into(), positions: positions_of(positions).collect() });
        }
        TsVector { lexemes }
    }

    /// The lexemes of a stored value, in order, as bytes.
    pub fn words_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
        let mut reader = Stored(bytes.get(8..).unwrap_or_default());
        std::iter::from_fn(move || reader.next().map(|(text, _)| text))
    }
}

/// The positions that stand so in a stored value.
pub(super) fn positions_of(bytes: &[u8]) -> impl Iterator<Item = Position> {
    bytes.as_chunks().0.iter().map(|pair| {
        let ordered = !u16::from_be_bytes(*pair);
        Position::new(ordered >> 2, (ordered & 3) as u8)
    })
}

/// A stored value as it stands: the text of each lexeme, in order, and its positions.
#[derive(Debug)]
pub struct StoredVector<'a> {
    words: Vec<(&'a [u8], &'a [u8])>,
}

impl<'a> StoredVector<'a> {
    /// Of the bytes of a stored value.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> StoredVector<'a> {
        let mut reader = Stored(bytes.get(8..).unwrap_or_default());
        let mut words = Vec::with_capacity(bytes.len() / 8);
        while let Some(word) = reader.next() {
            words.push(word);
        }
        StoredVector { words }
    }

    /// The lexemes that begin with a text, or the one that is that text.
    pub(super) fn find(&self, word: &[u8], prefix: bool) -> &[(&'a [u8], &'a [u8])] {
        let start = self.words.partition_point(|(text, _)| *text < word);
        let behind = &self.words[start..];
        let count = match prefix {
            true => behind.iter().take_while(|(text, _)| text.starts_with(word)).count(),
            false => usize::from(behind.first().is_some_and(|(text, _)| *text == word)),
        };
        &behind[..count]
    }
}

/// What is left of a stored value.
struct Stored<'a>(&'a [u8]);

impl<'a> Stored<'a> {
    /// A lexeme's text and its positions.
    fn next(&mut self) -> Option<(&'a [u8], &'a [u8])> {
        let (mark, rest) = self.0.split_first()?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        let (text, rest) = (&rest[..end], &rest[end + 1..]);
        let (positions, rest) = match mark {
            0 => {
                let (count, rest) = rest.split_first_chunk::<2>()?;
                let bytes = 2 * usize::from(!u16::from_be_bytes(*count));
                rest.split_at_checked(bytes)?
            }
            _ => (&[][..], rest),
        };
        self.0 = rest;
        Some((text, positions))
    }
}

/// What is left of a message.
pub(super) struct Rest<'a>(pub &'a [u8]);

impl<'a> Rest<'a> {
    /// A number of so many bytes, up to four.
    pub fn number<const N: usize>(&mut self) -> Result<u32, TypeError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(crate::wire::insufficient)?;
        self.0 = rest;
        Ok(head.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
    }

    /// A text that a zero ends.
    pub fn text(&mut self) -> Result<&'a str, TypeError> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end =
            end.ok_or_else(|| TypeError::new(sqlstate::PROTOCOL_VIOLATION, "invalid string in message"))?;
        let text = crate::wire::utf8(&self.0[..end])?;
        self.0 = &self.0[end + 1..];
        Ok(text)
    }

    pub fn end(&self) -> Result<(), TypeError> {
        if self.0.is_empty() { Ok(()) } else { Err(crate::wire::malformed(crate::wire::SURPLUS)) }
    }
}
