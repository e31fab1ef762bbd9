//! `hstore`: texts by keys, which are texts.
//!
//! | bytes | |
//! |---|---|
//! | texts | keys and values, one behind the other |
//! | 0 | |
//! | pairs | u32 |
//! | for each key and each value | u32 where it ends among the texts; 1 where it is NULL |
//!
//! Numbers are big-endian, so that values are in PostgreSQL's order, which begins with the texts.
//!
//! H1. Keys are in the order of their lengths, then of their bytes, and none comes twice.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::{Opaque, OpaqueKind};
use crate::array::Array;
use crate::error::{TypeError, sqlstate};
use crate::json::escape_long;
use crate::sqlstate::SYNTAX_ERROR;
use crate::value::Value;
use crate::wire::{SURPLUS, insufficient, malformed, utf8};

/// A key and its value; `None` is NULL.
pub type Pair<'a> = (Cow<'a, str>, Option<Cow<'a, str>>);

/// Bytes of an entry: where a text ends, and whether it is NULL.
const ENTRY_BYTES: usize = 5;

/// Keys with their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hstore<'a>(Vec<Pair<'a>>);

/// The order of keys (H1).
fn order(a: &str, b: &str) -> Ordering {
    (a.len(), a).cmp(&(b.len(), b))
}

/// 22004.
fn null_key() -> TypeError {
    TypeError::new("22004", "null value not allowed for hstore key")
}

/// 2202E.
fn subscripts(text: &str) -> TypeError {
    TypeError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, text)
}

impl<'a> Hstore<'a> {
    /// Of these pairs; of several with one key the first counts.
    pub fn new(mut pairs: Vec<Pair<'a>>) -> Hstore<'a> {
        pairs.sort_by(|(a, _), (b, _)| order(a, b));
        pairs.dedup_by(|(later, _), (first, _)| later == first);
        Hstore(pairs)
    }

    /// What a stored value is; nothing where its bytes break the form.
    pub fn of(value: &'a Opaque) -> Hstore<'a> {
        Hstore::read(value.bytes())
    }

    /// The same of the bytes that are stored.
    pub fn read(bytes: &'a [u8]) -> Hstore<'a> {
        Hstore(stored(bytes).unwrap_or_default())
    }

    /// Reads `"a"=>"1", b => NULL`.
    /// # Errors
    /// 42601.
    pub fn parse(text: &str) -> Result<Hstore<'static>, TypeError> {
        Reader { text, at: 0 }.pairs().map(Hstore::new)
    }

    /// Of the keys of one array and the values of another one, or NULLs where that is missing.
    /// # Errors
    /// 2202E, 22004 as in PostgreSQL.
    pub fn of_arrays(keys: &'a Array, values: Option<&'a Array>) -> Result<Hstore<'a>, TypeError> {
        let many = |array: &Array| array.dimension_count() > 1;
        if many(keys) || values.is_some_and(many) {
            return Err(subscripts("wrong number of array subscripts"));
        }
        if values.is_some_and(|values| values.dimensions() != keys.dimensions()) {
            return Err(subscripts("arrays must have same bounds"));
        }
        let pairs = keys.iter().enumerate().map(|(at, key)| {
            let key = key.as_str().ok_or_else(null_key)?;
            let value = values.and_then(|values| values.get(at)).and_then(Value::as_str);
            Ok((Cow::Borrowed(key), value.map(Cow::Borrowed)))
        });
        pairs.collect::<Result<_, _>>().map(Hstore::new)
    }

    /// Of keys and values in turn, or of an array with two columns.
    /// # Errors
    /// 2202E, 22004 as in PostgreSQL.
    pub fn of_array(array: &'a Array) -> Result<Hstore<'a>, TypeError> {
        match array.dimensions().as_slice() {
            [] => return Ok(Hstore::default()),
            [one] if one.length % 2 != 0 => {
                return Err(subscripts("array must have even number of elements"));
            }
            [_, columns] if columns.length != 2 => return Err(subscripts("array must have two columns")),
            [_] | [_, _] => {}
            _ => return Err(subscripts("wrong number of array subscripts")),
        }
        let values: Vec<&Value> = array.iter().collect();
        let pairs = values.chunks_exact(2).map(|pair| {
            let key = pair[0].as_str().ok_or_else(null_key)?;
            Ok((Cow::Borrowed(key), pair[1].as_str().map(Cow::Borrowed)))
        });
        pairs.collect::<Result<_, _>>().map(Hstore::new)
    }

    /// The pairs, in the order of their keys.
    pub fn pairs(&self) -> &[Pair<'a>] {
        &self.0
    }

    /// The same, taken apart.
    pub fn into_pairs(self) -> Vec<Pair<'a>> {
        self.0
    }

    /// The value of a key, which may be NULL; `None` without that key.
    pub fn get(&self, key: &str) -> Option<Option<&str>> {
        let at = self.0.binary_search_by(|(own, _)| order(own, key)).ok()?;
        Some(self.0[at].1.as_deref())
    }

    /// The stored value.
    pub fn value(&self) -> Opaque {
        let mut bytes = Vec::new();
        for (key, value) in &self.0 {
            bytes.extend_from_slice(key.as_bytes());
            bytes.extend_from_slice(value.as_deref().unwrap_or_default().as_bytes());
        }
        bytes.push(0);
        let number = |number: usize, bytes: &mut Vec<u8>| {
            bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_be_bytes());
        };
        number(self.0.len(), &mut bytes);
        let mut end = 0;
        for (key, value) in &self.0 {
            for part in [Some(&**key), value.as_deref()] {
                end += part.unwrap_or_default().len();
                number(end, &mut bytes);
                bytes.push(part.is_none().into());
            }
        }
        Opaque::new(OpaqueKind::Hstore, bytes)
    }

    /// As [`Hstore::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// Appends its text.
    pub fn format(&self, out: &mut String) {
        let quoted = |text: &str, out: &mut String| {
            out.push('"');
            for c in text.chars() {
                if matches!(c, '"' | '\\') {
                    out.push('\\');
                }
                out.push(c);
            }
            out.push('"');
        };
        for (n, (key, value)) in self.0.iter().enumerate() {
            if n > 0 {
                out.push_str(", ");
            }
            quoted(key, out);
            out.push_str("=>");
            match value {
                Some(value) => quoted(value, out),
                None => out.push_str("NULL"),
            }
        }
    }

    /// An object of JSON, as text; with `loose` what looks like a number or a boolean is one.
    /// # Errors
    /// What goes beyond the room that a text may take.
    pub fn json(&self, loose: bool) -> Result<String, TypeError> {
        let mut out = String::from("{");
        for (n, (key, value)) in self.0.iter().enumerate() {
            if n > 0 {
                out.push_str(", ");
            }
            escape_long(key, &mut out)?;
            out.push_str(": ");
            match value.as_deref() {
                None => out.push_str("null"),
                Some("t") if loose => out.push_str("true"),
                Some("f") if loose => out.push_str("false"),
                Some(number) if loose && is_number(number) => out.push_str(number),
                Some(text) => escape_long(text, &mut out)?,
            }
        }
        out.push('}');
        Ok(out)
    }

    /// Appends the binary form of the protocol.
    pub fn send(&self, out: &mut Vec<u8>) {
        let length = |length: usize| i32::try_from(length).unwrap_or(i32::MAX).to_be_bytes();
        out.extend_from_slice(&length(self.0.len()));
        for (key, value) in &self.0 {
            for part in [Some(&**key), value.as_deref()] {
                match part {
                    Some(part) => {
                        out.extend_from_slice(&length(part.len()));
                        out.extend_from_slice(part.as_bytes());
                    }
                    None => out.extend_from_slice(&(-1_i32).to_be_bytes()),
                }
            }
        }
    }

    /// Reads the binary form of the protocol, all of the bytes.
    /// # Errors
    /// 08P01 for too few bytes, 22P03 for more, 22021 for what is no text, 22004 for a key that is NULL, 54000.
    pub fn receive(bytes: &'a [u8]) -> Result<Hstore<'a>, TypeError> {
        fn number(rest: &mut &[u8]) -> Result<i32, TypeError> {
            let (number, behind) = rest.split_first_chunk::<4>().ok_or_else(insufficient)?;
            *rest = behind;
            Ok(i32::from_be_bytes(*number))
        }
        let mut rest = bytes;
        let count = number(&mut rest)?;
        if count < 0 {
            let text = format!("number of pairs ({count}) exceeds the maximum allowed (26843545)");
            return Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text));
        }
        let mut part = || -> Result<Option<Cow<'a, str>>, TypeError> {
            let Ok(length) = usize::try_from(number(&mut rest)?) else { return Ok(None) };
            let (text, behind) = rest.split_at_checked(length).ok_or_else(insufficient)?;
            rest = behind;
            Ok(Some(Cow::Borrowed(utf8(text)?)))
        };
        let mut pairs = Vec::new();
        for _ in 0..count {
            let key = part()?.ok_or_else(null_key)?;
            pairs.push((key, part()?));
        }
        if rest.is_empty() { Ok(Hstore::new(pairs)) } else { Err(malformed(SURPLUS)) }
    }
}

/// The pairs that stored bytes have; none where they break the form.
fn stored(bytes: &[u8]) -> Option<Vec<Pair<'_>>> {
    let zero = bytes.iter().position(|byte| *byte == 0)?;
    let (texts, rest) = bytes.split_at(zero);
    let texts = std::str::from_utf8(texts).ok()?;
    let (count, entries) = rest.get(1..)?.split_first_chunk::<4>()?;
    let count = u32::from_be_bytes(*count) as usize;
    if Some(entries.len()) != count.checked_mul(2 * ENTRY_BYTES) {
        return None;
    }
    let mut from = 0;
    let mut part = |entry: &[u8]| {
        let (end, null) = entry.split_first_chunk::<4>()?;
        let end = u32::from_be_bytes(*end) as usize;
        let text = texts.get(from..end)?;
        from = end;
        Some((*null == [0]).then_some(Cow::Borrowed(text)))
    };
    let pairs = entries.chunks_exact(2 * ENTRY_BYTES).map(|entry| {
        let (key, value) = entry.split_at(ENTRY_BYTES);
        Some((part(key)??, part(value)?))
    });
    pairs.collect()
}

/// Whether a text is a number as JSON writes them.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    if whole == 0 || whole > 1 && text.starts_with('0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

/// Reads the text of a value.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.next();
        }
    }

    fn ends() -> TypeError {
        TypeError::new(SYNTAX_ERROR, "syntax error in hstore: unexpected end of string")
    }

    /// The error of the next character.
    fn flaw(&self) -> TypeError {
        let Some(next) = self.peek() else { return Self::ends() };
        let text = format!("syntax error in hstore, near \"{next}\" at position {}", self.at);
        TypeError::new(SYNTAX_ERROR, text)
    }

    fn expect(&mut self, wanted: char) -> Result<(), TypeError> {
        if self.peek() == Some(wanted) {
            self.next();
            return Ok(());
        }
        Err(self.flaw())
    }

    fn pairs(mut self) -> Result<Vec<Pair<'static>>, TypeError> {
        let mut pairs = Vec::new();
        loop {
            // A comma at the end is passed over.
            let Some((key, _)) = self.word(true)? else { return Ok(pairs) };
            self.skip_blanks();
            self.expect('=')?;
            self.expect('>')?;
            let (value, quoted) = self.word(false)?.ok_or_else(Self::ends)?;
            let is_null = !quoted && value.eq_ignore_ascii_case("null");
            pairs.push((Cow::Owned(key), (!is_null).then_some(Cow::Owned(value))));
            self.skip_blanks();
            match self.peek() {
                None => return Ok(pairs),
                Some(',') => self.next(),
                Some(_) => return Err(self.flaw()),
            };
        }
    }

    /// A key or a value, and whether it stands in quotes; `None` at the end. A key ends in front of `=`, a value of a comma; within
    /// the one and at the begin of the other those are characters like any.
    fn word(&mut self, is_key: bool) -> Result<Option<(String, bool)>, TypeError> {
        self.skip_blanks();
        let mut word = String::new();
        match self.peek() {
            None => return Ok(None),
            Some('=') if is_key => return Err(self.flaw()),
            Some('"') => {
                self.next();
                loop {
                    match self.next().ok_or_else(Self::ends)? {
                        '"' => return Ok(Some((word, true))),
                        '\\' => word.push(self.next().ok_or_else(Self::ends)?),
                        c => word.push(c),
                    }
                }
            }
            Some('\\') => {}
            Some(c) => {
                self.next();
                word.push(c);
            }
        }
        loop {
            match self.peek() {
                None => break,
                Some('=') if is_key => break,
                Some(',') if !is_key => break,
                Some(c) if is_blank(c) => break,
                Some('\\') => {
                    self.next();
                    word.push(self.next().ok_or_else(Self::ends)?);
                }
                Some(c) => {
                    self.next();
                    word.push(c);
                }
            }
        }
        Ok(Some((word, false)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let mut out = String::new();
        match Hstore::parse(text) {
            Ok(value) => value.format(&mut out),
            Err(error) => out.push_str(&error.message),
        }
        out
    }

    /// Each with what PostgreSQL 18 says.
    #[test]
    fn texts_are_read_as_postgresql_reads_them() {
        for (text, expected) in [
            ("", ""),
            ("a=>1,a=>2", r#""a"=>"1""#),
            (r#"bb=>1, b => null, c=>NuLL, d=>"NULL""#, r#""b"=>NULL, "c"=>NULL, "d"=>"NULL", "bb"=>"1""#),
            (r#""e f"=>"g\"h\\", \x=>y"#, r#""x"=>"y", "e f"=>"g\"h\\""#),
            ("a=>b,", r#""a"=>"b""#),
            ("a=>b,,c=>d", r#""a"=>"b", ",c"=>"d""#),
            ("a=>,b=>1", r#""a"=>",b=>1""#),
            ("a=>", "syntax error in hstore: unexpected end of string"),
            ("a", "syntax error in hstore: unexpected end of string"),
            ("a=>b c=>d", "syntax error in hstore, near \"c\" at position 5"),
            ("\"a=>b", "syntax error in hstore: unexpected end of string"),
            ("=>b", "syntax error in hstore, near \"=\" at position 0"),
            ("a=b", "syntax error in hstore, near \"b\" at position 2"),
            (" , a=>b", "syntax error in hstore, near \"a\" at position 3"),
            ("a\\", "syntax error in hstore: unexpected end of string"),
            ("a=>\"b\"c", "syntax error in hstore, near \"c\" at position 6"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn bytes_lead_back_and_are_in_the_order_of_the_texts() {
        let value = |text: &str| Hstore::parse(text).unwrap().value();
        let texts = ["", "\"\"=>\"\"", "a=>1", "a=>1, b=>2", "a=>NULL, b=>\"\"", "é=>ü, bbb=>c"];
        for text in texts {
            let stored = value(text);
            let read = Hstore::of(&stored);
            assert_eq!(read, Hstore::parse(text).unwrap(), "{text}");
            let mut sent = Vec::new();
            read.send(&mut sent);
            assert_eq!(Hstore::receive(&sent).unwrap(), read);
            for end in 0..sent.len() {
                assert!(Hstore::receive(&sent[..end]).is_err(), "{text}: {end}");
            }
        }
        assert!(value("") < value("\"\"=>\"\"") && value("a=>1") < value("a=>1, b=>2"));
        assert!(value("a=>1") < value("a=>2") && value("a=>b") < value("ab=>c"));
        let broken = Opaque::new(OpaqueKind::Hstore, [0, 0, 0, 0, 9]);
        assert_eq!(Hstore::of(&broken), Hstore::default());
        let found = Hstore::parse("a=>1, bb=>NULL").unwrap();
        assert_eq!((found.get("a"), found.get("bb"), found.get("c")), (Some(Some("1")), Some(None), None));
    }

    #[test]
    fn loose_json_has_numbers_and_booleans() {
        let json = |text: &str, loose| Hstore::parse(text).unwrap().json(loose).unwrap();
        assert_eq!(json("a=>1, b=>t, c=>NULL", false), r#"{"a": "1", "b": "t", "c": null}"#);
        assert_eq!(
            json("a=>-1.5e3, b=>t, c=>01, d=>f, e=>1.", true),
            r#"{"a": -1.5e3, "b": true, "c": "01", "d": false, "e": "1."}"#
        );
    }
}
