//! A text of a date, a time or an interval cut into fields, as PostgreSQL's `ParseDateTime` does it: what a field is says its
//! beginning and the punctuation in it, what it means is decided later.

use super::Flaw;

/// What a field looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Digits, perhaps with a point.
    Number,
    /// Letters.
    Word,
    /// Digits or letters with `-`, `/` or `.` between them: a date, or the name of a zone.
    Date,
    /// Digits with colons.
    Time,
    /// A sign and digits.
    Signed,
    /// A sign and letters.
    Special,
}

/// A field, in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// Most fields of a text.
const FIELDS_MAX: usize = 25;
/// Most bytes of all fields.
const BYTES_MAX: usize = 128;

/// The text's characters from a place on.
struct Rest<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Rest<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or_default()
    }

    /// Takes bytes while they fulfil `test`.
    fn take(&mut self, out: &mut String, test: impl Fn(u8) -> bool) {
        while self.at < self.bytes.len() && test(self.peek()) {
            out.push(char::from(self.peek().to_ascii_lowercase()));
            self.at += 1;
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c) {
            self.at += 1;
        }
    }
}

fn digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic()
}

/// The fields of a text; `is_word` tells the words that no zone's name begins with.
pub(super) fn split(text: &str, is_word: impl Fn(&str) -> bool) -> Result<Vec<Field>, Flaw> {
    let mut rest = Rest { bytes: text.as_bytes(), at: 0 };
    let (mut fields, mut bytes) = (Vec::new(), 0);
    loop {
        rest.skip_blanks();
        if rest.at >= rest.bytes.len() {
            return Ok(fields);
        }
        let Some(field) = field(&mut rest, &is_word)? else { continue };
        bytes += field.text.len() + 1;
        if fields.len() == FIELDS_MAX || bytes > BYTES_MAX + FIELDS_MAX {
            return Err(Flaw::Syntax);
        }
        fields.push(field);
    }
}

/// The next field; none where punctuation is passed over.
fn field(rest: &mut Rest<'_>, is_word: &impl Fn(&str) -> bool) -> Result<Option<Field>, Flaw> {
    let mut text = String::new();
    let kind = match rest.peek() {
        first if digit(first) => numeric(rest, &mut text),
        b'.' => {
            text.push('.');
            rest.at += 1;
            rest.take(&mut text, digit);
            Kind::Number
        }
        first if letter(first) => {
            rest.take(&mut text, letter);
            let named = match rest.peek() {
                b'-' | b'/' | b'.' => true,
                next => (next == b'+' || digit(next)) && !is_word(&text),
            };
            if named {
                rest.take(&mut text, |byte| byte.is_ascii_alphanumeric() || b"+-/_.:".contains(&byte));
            }
            if named { Kind::Date } else { Kind::Word }
        }
        sign @ (b'+' | b'-') => {
            text.push(char::from(sign));
            rest.at += 1;
            rest.skip_blanks();
            match rest.peek() {
                next if digit(next) => {
                    rest.take(&mut text, |byte| digit(byte) || b":.-".contains(&byte));
                    Kind::Signed
                }
                next if letter(next) => {
                    rest.take(&mut text, letter);
                    Kind::Special
                }
                _ => return Err(Flaw::Syntax),
            }
        }
        other if other.is_ascii_punctuation() => {
            rest.at += 1;
            return Ok(None);
        }
        _ => return Err(Flaw::Syntax),
    };
    Ok(Some(Field { kind, text }))
}

/// A field that begins with a digit.
fn numeric(rest: &mut Rest<'_>, text: &mut String) -> Kind {
    rest.take(text, digit);
    let between = rest.peek();
    match between {
        b':' => {
            rest.take(text, |byte| digit(byte) || byte == b':' || byte == b'.');
            Kind::Time
        }
        b'-' | b'/' | b'.' => {
            text.push(char::from(between));
            rest.at += 1;
            if !digit(rest.peek()) {
                // The name of a month, most likely.
                let number = between == b'.' && !letter(rest.peek()) && rest.peek() != b'.';
                rest.take(text, |byte| byte.is_ascii_alphanumeric() || byte == between);
                return if number { Kind::Number } else { Kind::Date };
            }
            rest.take(text, digit);
            if rest.peek() == between {
                rest.take(text, |byte| digit(byte) || byte == between);
                return Kind::Date;
            }
            if between == b'.' { Kind::Number } else { Kind::Date }
        }
        _ => Kind::Number,
    }
}
