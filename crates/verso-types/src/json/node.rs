//! JSON as a tree, to be built and encoded.

use super::scan::{Scanner, Token};
use super::{CONTAINER_BYTES_MAX, DEPTH_MAX, DIGITS_MAX, JsonRef, Jsonb, too_deep};
use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};
use crate::number::Number;
use crate::value::Value;

/// The tag of numbers.
const NUMBER: u8 = 4;

/// The first of the tags of arrays and objects.
const ARRAY: u8 = 6;

/// A JSON value on its way to its binary form.
#[derive(Clone, Debug)]
pub enum Node {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number
    Number(Decimal),
    /// A string
    String(String),
    /// `[…]`
    Array(Vec<Node>),
    /// `{…}`, in any order, the last of equal keys counts
    Object(Vec<(String, Node)>),
    /// The binary form of a value
    Encoded(Vec<u8>),
}

impl Node {
    /// Reads JSON text.
    /// # Errors
    /// As [`Jsonb::parse`].
    pub fn parse(text: &str) -> Result<Node, TypeError> {
        let mut scanner = Scanner::new(text, true);
        scanner.advance()?;
        let node = value(&mut scanner, 0)?;
        scanner.finish()?;
        Ok(node)
    }

    /// A number, however long.
    ///
    /// # Errors
    /// 22003 for more digits than [`DIGITS_MAX`], and for what is not finite.
    pub fn of_number(number: &Number) -> Result<Node, TypeError> {
        if let Some(small) = number.to_decimal() {
            return Ok(Node::Number(small));
        }
        if !number.has_at_most(DIGITS_MAX) {
            return Err(TypeError::numeric_overflow());
        }
        let mut bytes = vec![NUMBER];
        number.to_bytes(&mut bytes);
        Ok(Node::Encoded(bytes))
    }

    /// The number that a text spells.
    ///
    /// # Errors
    /// As [`Node::of_number`]; 22P02 for what is none.
    pub fn of_digits(text: &str) -> Result<Node, TypeError> {
        match Decimal::parse(text) {
            Ok(small) => Ok(Node::Number(small)),
            Err(_) => match Number::parse_value(text)? {
                Value::Numeric(small) => Ok(Node::Number(small)),
                other => Node::of_number(&Number::of(&other).ok_or_else(TypeError::numeric_overflow)?),
            },
        }
    }

    /// The tree one level down; what is below stays in its binary form.
    #[must_use]
    pub fn shallow(value: JsonRef<'_>) -> Node {
        match value {
            JsonRef::Null => Node::Null,
            JsonRef::Bool(v) => Node::Bool(v),
            JsonRef::Number(v) => Node::Number(v),
            JsonRef::Long(v) => Node::Encoded([&[NUMBER][..], v.bytes()].concat()),
            JsonRef::String(v) => Node::String(v.to_owned()),
            JsonRef::Array(v) => Node::Array(v.iter_raw().map(|raw| Node::Encoded(raw.to_vec())).collect()),
            JsonRef::Object(v) => Node::Object(
                v.iter_raw().map(|(key, raw)| (key.to_owned(), Node::Encoded(raw.to_vec()))).collect(),
            ),
        }
    }

    /// The binary form.
    /// # Errors
    /// 54000 for an array or object that is too long, 54001 where it is nested too deeply.
    pub fn encode(self) -> Result<Jsonb, TypeError> {
        let mut out = Vec::new();
        self.encode_into(&mut out, 0)?;
        Ok(Jsonb(out.into()))
    }

    fn encode_into(self, out: &mut Vec<u8>, depth: usize) -> Result<(), TypeError> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        match self {
            Node::Null => out.push(1),
            Node::Bool(v) => out.push(2 + u8::from(v)),
            Node::Number(v) => {
                out.push(NUMBER);
                v.to_bytes(out);
            }
            Node::String(v) => {
                out.push(5);
                out.extend_from_slice(v.as_bytes());
            }
            Node::Encoded(v) => {
                if deeper_than(&v, DEPTH_MAX - depth) {
                    return Err(too_deep());
                }
                out.extend_from_slice(&v);
            }
            Node::Array(elements) => {
                let (mut ends, mut values) = (Vec::with_capacity(elements.len()), Vec::new());
                for element in elements {
                    element.encode_into(&mut values, depth + 1)?;
                    ends.push(values.len());
                }
                let width = width(6, ends.len(), values.len(), "array elements", out)?;
                put(ends.len(), width, out);
                ends.iter().for_each(|end| put(*end, width, out));
                out.extend_from_slice(&values);
            }
            Node::Object(mut pairs) => {
                pairs.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
                let (mut key_ends, mut value_ends) = (Vec::new(), Vec::new());
                let (mut keys, mut values) = (Vec::new(), Vec::new());
                let mut rest = pairs.into_iter().peekable();
                while let Some((key, value)) = rest.next() {
                    if rest.peek().is_some_and(|(next, _)| *next == key) {
                        continue;
                    }
                    keys.extend_from_slice(key.as_bytes());
                    key_ends.push(keys.len());
                    value.encode_into(&mut values, depth + 1)?;
                    value_ends.push(values.len());
                }
                let longest = keys.len().max(values.len());
                let width = width(9, key_ends.len(), longest, "object elements", out)?;
                put(key_ends.len(), width, out);
                key_ends.iter().chain(&value_ends).for_each(|end| put(*end, width, out));
                out.extend_from_slice(&keys);
                out.extend_from_slice(&values);
            }
        }
        Ok(())
    }
}

/// The bytes that an array or object has at least around what is in it: tag, count, one end.
const AROUND_BYTES: usize = 3;

/// Whether values in a binary form stand more than `levels` levels below its root. An array or object that is too short for so
/// many levels is not looked into, so most values cost nothing, and the recursion ends after `levels` steps.
fn deeper_than(bytes: &[u8], levels: usize) -> bool {
    let is_scalar = bytes.first().is_none_or(|tag| *tag < ARRAY);
    if is_scalar || bytes.len() <= AROUND_BYTES * levels {
        return false;
    }
    let deeper = |raw: &[u8]| levels.checked_sub(1).is_none_or(|below| deeper_than(raw, below));
    match JsonRef::read(bytes) {
        JsonRef::Array(elements) => elements.iter_raw().any(deeper),
        JsonRef::Object(pairs) => pairs.iter_raw().any(|(_, raw)| deeper(raw)),
        _ => false,
    }
}

/// How wide the integers are; the tag that says so is written.
fn width(tag: u8, count: usize, length: usize, what: &str, out: &mut Vec<u8>) -> Result<usize, TypeError> {
    let largest = count.max(length);
    if largest > CONTAINER_BYTES_MAX {
        let text = format!("total size of jsonb {what} exceeds the maximum of {CONTAINER_BYTES_MAX} bytes");
        return Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text));
    }
    let (step, width) = match largest {
        0..=0xff => (0, 1),
        0x100..=0xffff => (1, 2),
        _ => (2, 4),
    };
    out.push(tag + step);
    Ok(width)
}

fn put(number: usize, width: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(number as u32).to_le_bytes()[..width]);
}

fn value(scanner: &mut Scanner<'_>, depth: usize) -> Result<Node, TypeError> {
    if depth > DEPTH_MAX {
        return Err(too_deep());
    }
    let node = match scanner.token() {
        Token::Null => Node::Null,
        Token::True => Node::Bool(true),
        Token::False => Node::Bool(false),
        Token::Number => Node::of_digits(scanner.text())?,
        Token::String => Node::String(scanner.string()?),
        Token::OpenArray => {
            let mut elements = Vec::new();
            scanner.array(|scanner| {
                elements.push(value(scanner, depth + 1)?);
                Ok(())
            })?;
            return Ok(Node::Array(elements));
        }
        Token::OpenObject => {
            let mut pairs = Vec::new();
            scanner.object(|scanner, key| {
                pairs.push((key, value(scanner, depth + 1)?));
                Ok(())
            })?;
            return Ok(Node::Object(pairs));
        }
        _ => return Err(scanner.expected("JSON value")),
    };
    scanner.advance()?;
    Ok(node)
}
