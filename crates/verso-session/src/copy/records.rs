//! Text and CSV data cut into records, and records into fields.

use memchr::{memchr2, memchr3};
use verso_parser::syntax::CopyFormat;

use super::layout::Layout;
use verso_planner::errors::{SqlError, sqlstate};

/// Data that have come and were not yet cut.
#[derive(Debug, Default)]
pub struct Records {
    data: Vec<u8>,
    /// What is before this was cut.
    start: usize,
    /// What is before this was looked at without finding the record's end.
    seen: usize,
    quoted: bool,
    /// There was a quote since the last record.
    has_quotes: bool,
    /// How its lines end, once the first one has.
    ending: Option<LineEnd>,
    /// No more data come.
    ended: bool,
    /// Lines begun so far.
    pub line: u64,
    /// The record that was cut last; empty where it has gone.
    last: Record,
}

/// How lines end: all of them alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Newline,
    Return,
    Both,
}

/// Bytes that an error shows of a value or a line at most.
pub const SHOWN_MAX: usize = 100;

/// What an error shows of bytes from outside.
pub fn shown(bytes: &[u8]) -> String {
    let cut = bytes.get(..SHOWN_MAX).filter(|cut| cut.len() < bytes.len());
    let Some(cut) = cut else { return String::from_utf8_lossy(bytes).into_owned() };
    // A character that is cut is left out.
    let whole = match std::str::from_utf8(cut) {
        Err(error) if error.error_len().is_none() => &cut[..error.valid_up_to()],
        _ => cut,
    };
    format!("{}...", String::from_utf8_lossy(whole))
}

/// A record's place in the data, without its end of line.
pub type Record = std::ops::Range<usize>;

impl Records {
    /// Where the next piece is to be appended. What was cut before goes away.
    pub fn more(&mut self) -> &mut Vec<u8> {
        if self.start > 0 {
            self.data.drain(..self.start);
            self.last = 0..0;
            self.seen -= self.start;
            self.start = 0;
        }
        &mut self.data
    }

    /// No more data come: what is left is the last record.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The bytes of a record.
    pub fn bytes(&self, record: &Record) -> &[u8] {
        &self.data[record.clone()]
    }

    /// What errors show of the record that was cut last.
    pub fn last(&self) -> &[u8] {
        &self.data[self.last.clone()]
    }

    /// Bytes not yet cut, for formats without records.
    pub fn rest(&self) -> &[u8] {
        &self.data[self.start..]
    }

    /// Cuts bytes away, for formats without records.
    pub fn skip(&mut self, count: usize) {
        self.start += count;
        self.seen = self.start;
    }

    /// The next record, `None` if its end has not come.
    ///
    /// # Errors
    /// 22P04 for a quote that is never closed, and for a line that ends unlike those before it.
    pub fn next(&mut self, layout: &Layout) -> Result<Option<Record>, SqlError> {
        let known = self.ending;
        let end = match layout.format {
            CopyFormat::Csv => self.find_csv(layout),
            _ => self.find_text(),
        };
        self.last = 0..0;
        let end = end.inspect_err(|_| self.line += 1)?;
        let (record, next) = match end {
            Some((end, next)) => (self.start..end, next),
            None if !self.ended || self.start == self.data.len() => return Ok(None),
            None => (self.start..self.data.len(), self.data.len()),
        };
        self.line += 1;
        if std::mem::take(&mut self.has_quotes) {
            // Those within quotes; PostgreSQL counts them the same way: as lines are known to end before this record.
            let newline = if known == Some(LineEnd::Newline) { b'\n' } else { b'\r' };
            self.line += self.data[record.clone()].iter().filter(|byte| **byte == newline).count() as u64;
        }
        self.skip(next - self.start);
        self.last = record.clone();
        Ok(Some(record))
    }

    /// How many bytes end a line at this place, which has a newline or a carriage return; `None` if that is not known yet.
    fn line_end(&mut self, at: usize, csv: bool) -> Result<Option<usize>, SqlError> {
        let mixed = |what: &str, escape: &str| {
            let (how, hint) = match csv {
                true => ("unquoted", format!("Use quoted CSV field to represent {what}.")),
                false => ("literal", format!("Use \"{escape}\" to represent {what}.")),
            };
            Err(bad(format!("{how} {what} found in data")).with_hint(hint))
        };
        let (ending, length) = match (self.data[at], self.ending) {
            (b'\n', None | Some(LineEnd::Newline)) => (LineEnd::Newline, 1),
            (b'\n', Some(_)) => return mixed("newline", "\\n"),
            (_, Some(LineEnd::Newline)) => return mixed("carriage return", "\\r"),
            (_, Some(LineEnd::Return)) => (LineEnd::Return, 1),
            (_, None | Some(LineEnd::Both)) => match self.data.get(at + 1) {
                None if !self.ended => return Ok(None),
                Some(b'\n') => (LineEnd::Both, 2),
                _ if self.ending.is_some() => return mixed("carriage return", "\\r"),
                _ => (LineEnd::Return, 1),
            },
        };
        self.ending = Some(ending);
        Ok(Some(length))
    }

    /// Where a text record ends and the next one begins: a backslash takes the next byte along.
    fn find_text(&mut self) -> Result<Option<(usize, usize)>, SqlError> {
        let mut at = self.seen;
        while let Some(found) = self.data.get(at..).and_then(|rest| memchr3(b'\n', b'\r', b'\\', rest)) {
            at += found;
            match self.data[at] {
                b'\n' | b'\r' => {
                    self.seen = at;
                    return Ok(self.line_end(at, false)?.map(|length| (at, at + length)));
                }
                b'\\' if self.data.get(at + 1) == Some(&b'.') => {
                    if at + 2 >= self.data.len() && !self.ended {
                        self.seen = at;
                        return Ok(None);
                    }
                    let is_alone = matches!(self.data.get(at + 2), Some(b'\n' | b'\r'));
                    if at > self.start || !is_alone {
                        self.seen = at;
                        return Err(bad("end-of-copy marker is not alone on its line"));
                    }
                    self.check_marker_end(at + 2)?;
                    at += 2;
                }
                _ if at + 1 < self.data.len() => at += 2,
                _ => {
                    self.seen = at;
                    return Ok(None);
                }
            }
        }
        self.seen = self.data.len();
        Ok(None)
    }

    /// The line of the marker at the end of the data ends as those before it.
    fn check_marker_end(&self, at: usize) -> Result<(), SqlError> {
        let alike = match (self.data.get(at), self.ending) {
            (_, None) => true,
            (Some(b'\n'), Some(ending)) => ending == LineEnd::Newline,
            (_, Some(ending)) => ending != LineEnd::Newline,
        };
        match alike {
            true => Ok(()),
            false => Err(bad("end-of-copy marker does not match previous newline style")),
        }
    }

    /// The same of a CSV record, whose line ends outside of quotes.
    fn find_csv(&mut self, layout: &Layout) -> Result<Option<(usize, usize)>, SqlError> {
        let mut at = self.seen;
        let ends = |quoted: bool, rest: &[u8]| match quoted {
            true => memchr2(layout.quote, layout.escape, rest),
            false => memchr3(layout.quote, b'\n', b'\r', rest),
        };
        while let Some(found) = self.data.get(at..).and_then(|rest| ends(self.quoted, rest)) {
            at += found;
            let byte = self.data[at];
            if self.quoted && byte == layout.escape && layout.escape != layout.quote {
                match self.data.get(at + 1) {
                    None => {
                        self.seen = at;
                        return Ok(None);
                    }
                    Some(&next) if next == layout.quote || next == layout.escape => at += 1,
                    Some(_) => {}
                }
            } else if byte == layout.quote {
                (self.quoted, self.has_quotes) = (!self.quoted, true);
            } else if matches!(byte, b'\n' | b'\r') && !self.quoted {
                self.seen = at;
                return Ok(self.line_end(at, true)?.map(|length| (at, at + length)));
            }
            at += 1;
        }
        self.seen = self.data.len();
        Ok(None)
    }
}

/// A field: its bytes without escapes, and whether it is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    start: u32,
    end: u32,
    /// It looks like NULL and was not quoted.
    pub null: bool,
    /// It looks like NULL in quotes.
    pub quoted_null: bool,
    /// It stands for the column's default.
    pub default: bool,
}

/// The fields of one record.
#[derive(Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

impl Fields {
    /// How many.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// A field.
    pub fn get(&self, i: usize) -> (Field, &[u8]) {
        let field = self.fields[i];
        (field, &self.bytes[field.start as usize..field.end as usize])
    }

    fn push(&mut self, start: usize, null: bool, quoted_null: bool, default: bool) {
        let end = self.bytes.len() as u32;
        self.fields.push(Field { start: start as u32, end, null, quoted_null, default });
    }

    /// Cuts a record into fields.
    ///
    /// # Errors
    /// 22P04 for a quote that is never closed.
    pub fn split(&mut self, record: &[u8], layout: &Layout) -> Result<(), SqlError> {
        self.bytes.clear();
        self.fields.clear();
        match layout.format {
            CopyFormat::Csv => self.split_csv(record, layout),
            _ => {
                self.split_text(record, layout);
                Ok(())
            }
        }
    }

    fn split_text(&mut self, record: &[u8], layout: &Layout) {
        let mut at = 0;
        loop {
            // NULL is recognised before escapes are undone.
            let (from, start) = (at, self.bytes.len());
            loop {
                let rest = &record[at..];
                let plain = memchr2(layout.delimiter, b'\\', rest).unwrap_or(rest.len());
                self.bytes.extend_from_slice(&rest[..plain]);
                at += plain;
                match record.get(at..) {
                    Some([b'\\', escaped @ ..]) => {
                        at += 1;
                        match escaped {
                            [] => self.bytes.push(b'\\'),
                            escaped => at += unescape(escaped, &mut self.bytes),
                        }
                    }
                    _ => break,
                }
            }
            let null = record[from..at] == layout.null[..];
            let default = layout.default.as_deref().is_some_and(|default| record[from..at] == *default);
            self.push(start, null, false, default);
            if at >= record.len() {
                return;
            }
            at += 1;
        }
    }

    fn split_csv(&mut self, record: &[u8], layout: &Layout) -> Result<(), SqlError> {
        let mut at = 0;
        loop {
            let start = self.bytes.len();
            let (mut inside, mut was_quoted) = (false, false);
            loop {
                let rest = &record[at..];
                let ends = match inside {
                    true => memchr2(layout.quote, layout.escape, rest),
                    false => memchr2(layout.delimiter, layout.quote, rest),
                };
                let plain = ends.unwrap_or(rest.len());
                self.bytes.extend_from_slice(&rest[..plain]);
                at += plain;
                let Some(&byte) = record.get(at) else { break };
                if inside {
                    let next = record.get(at + 1).copied();
                    if byte == layout.escape
                        && next.is_some_and(|next| next == layout.quote || next == layout.escape)
                    {
                        self.bytes.extend(next);
                        at += 1;
                    } else if byte == layout.quote {
                        inside = false;
                    } else {
                        self.bytes.push(byte);
                    }
                } else if byte == layout.delimiter {
                    break;
                } else {
                    (inside, was_quoted) = (true, true);
                }
                at += 1;
            }
            if inside {
                return Err(bad("unterminated CSV quoted field"));
            }
            let looks_null = self.bytes[start..] == layout.null[..];
            let default = layout.default.as_deref().filter(|_| !was_quoted);
            let default = default.is_some_and(|default| self.bytes[start..] == *default);
            self.push(start, looks_null && !was_quoted, looks_null && was_quoted, default);
            if at >= record.len() {
                return Ok(());
            }
            at += 1;
        }
    }
}

/// Undoes the escape whose backslash stands before `rest`; how many bytes of it belong to the escape.
fn unescape(rest: &[u8], out: &mut Vec<u8>) -> usize {
    let number = |digits: &[u8], radix: u32, most: usize| {
        let digits: Vec<u32> =
            digits.iter().take(most).map_while(|byte| (*byte as char).to_digit(radix)).collect();
        let value = digits.iter().fold(0u32, |value, digit| value * radix + digit);
        (digits.len(), value as u8)
    };
    let plain = match rest[0] {
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 11,
        b'0'..=b'7' => {
            let (length, value) = number(rest, 8, 3);
            out.push(value);
            return length;
        }
        b'x' if rest.get(1).is_some_and(u8::is_ascii_hexdigit) => {
            let (length, value) = number(&rest[1..], 16, 2);
            out.push(value);
            return length + 1;
        }
        other => other,
    };
    out.push(plain);
    1
}

/// 22P04.
pub(crate) fn bad(text: impl Into<String>) -> SqlError {
    SqlError::new(sqlstate::BAD_COPY_FORMAT, text)
}
