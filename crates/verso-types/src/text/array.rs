//! Arrays and composite values.

use std::fmt::Write as _;

use crate::TimeStyle;

use super::{format_text, parse_text};
use crate::array::{Array, DIMENSIONS_MAX, Dimension, too_large};
use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;
use crate::range::{RangeKind, RangeType};
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::value::Value;

/// The plainest type of a value, for values whose type nobody announced (columns of a record).
pub fn type_of(value: &Value) -> SqlType {
    match value {
        Value::Null => SqlType::Unknown,
        Value::Bool(_) => SqlType::Bool,
        Value::Int2(_) => SqlType::Int2,
        Value::Int4(_) => SqlType::Int4,
        Value::Int8(_) => SqlType::Int8,
        Value::Xid8(_) => SqlType::System(SystemType::Xid8),
        Value::Float4(_) => SqlType::Float4,
        Value::Float8(_) => SqlType::Float8,
        Value::Numeric(_) | Value::Big(_) => SqlType::Numeric(None),
        Value::Text(_) => SqlType::Text,
        Value::Bytes(_) => SqlType::Bytea,
        Value::Date(_) => SqlType::Date,
        Value::Time(_) => SqlType::Time(None),
        Value::Timestamp(_) => SqlType::Timestamp(None),
        Value::Timestamptz(_) => SqlType::Timestamptz(None),
        Value::Interval(_) => SqlType::Interval(None),
        Value::Uuid(_) => SqlType::Uuid,
        Value::Array(values) => {
            let element = values.iter().find(|value| !value.is_null());
            SqlType::Array(Box::new(element.map_or(SqlType::Text, type_of)))
        }
        Value::Record(_) => SqlType::Record,
        Value::Jsonb(_) => SqlType::Jsonb,
        Value::Opaque(v) => v.kind().plain_type(),
        Value::Range(v) => of_range(v.kind, false),
        Value::Multirange(v) => of_range(v.kind, true),
    }
}

/// The type of a range or multirange; of a user's type only its values know what they are.
fn of_range(kind: RangeKind, multi: bool) -> SqlType {
    let of_kind = RangeType::BUILT_IN.into_iter().find(|ty| ty.kind() == kind);
    of_kind.map_or(SqlType::Unknown, |ty| ty.ty(multi))
}

/// Appends `{1,NULL,"a b"}`, `{{1,2},{3,4}}`, and the bounds where they are not from 1: `[0:1]={1,2}`.
pub(super) fn format_array(array: &Array, ty: &SqlType, tz: &TimeStyle, out: &mut String) {
    let dimensions = array.dimensions();
    if dimensions.is_empty() {
        return out.push_str("{}");
    }
    if dimensions.iter().any(|dimension| dimension.lower != 1) {
        put_bounds(&dimensions, out);
        out.push('=');
    }
    let delimiter = match ty {
        SqlType::Array(element) => element.delimiter(),
        _ => ',',
    };
    let mut item = String::new();
    for (i, value) in array.iter().enumerate() {
        if i > 0 {
            out.push(delimiter);
        }
        braces(&dimensions, i, '{', out);
        put_element(value, ty, tz, (&mut item, delimiter), out);
        braces(&dimensions, i + 1, '}', out);
    }
}

/// `[1:2][1:3]`
pub(crate) fn put_bounds(dimensions: &[Dimension], out: &mut String) {
    for dimension in dimensions {
        // writing to a String cannot fail
        let _ = write!(out, "[{}:{}]", dimension.lower, dimension.upper());
    }
}

/// The braces of the levels that begin or end at element `at`.
fn braces(dimensions: &[Dimension], at: usize, brace: char, out: &mut String) {
    let mut size = 1usize;
    for dimension in dimensions.iter().rev() {
        size = size.saturating_mul(dimension.length as usize);
        if size == 0 || !at.is_multiple_of(size) {
            return;
        }
        out.push(brace);
    }
}

fn put_element(
    value: &Value,
    ty: &SqlType,
    tz: &TimeStyle,
    (item, delimiter): (&mut String, char),
    out: &mut String,
) {
    if value.is_null() {
        return out.push_str("NULL");
    }
    item.clear();
    match ty {
        SqlType::Array(element) => format_text(value, element, tz, item),
        _ => format_text(value, &type_of(value), tz, item),
    }
    let special = |c: char| matches!(c, '{' | '}' | '"' | '\\') || c == delimiter || is_blank(c);
    if item.is_empty() || item.eq_ignore_ascii_case("null") || item.contains(special) {
        put_quoted(item, "\\", out);
    } else {
        out.push_str(item);
    }
}

/// Appends `1 2 3`, as `int2vector` and `oidvector` are shown.
pub(super) fn format_vector(values: &[Value], out: &mut String) {
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        format_text(value, &type_of(value), &TimeStyle::UTC, out);
    }
}

/// Reads `1 2 3`.
pub(super) fn parse_vector(text: &str, element: &SqlType, tz: &TimeStyle) -> Result<Value, TypeError> {
    let values: Result<Vec<Value>, TypeError> =
        text.split_ascii_whitespace().map(|item| parse_text(element, item, tz)).collect();
    Ok(Value::Array(Array::vector(values?)))
}

/// Appends `(1,,"a b")`; a NULL is nothing at all.
pub(super) fn format_record(values: &[Value], ty: &SqlType, tz: &TimeStyle, out: &mut String) {
    let types = ty.fields_of(values.len());
    let mut item = String::new();
    out.push('(');
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        if value.is_null() {
            continue;
        }
        item.clear();
        match types {
            Some(types) => format_text(value, &types[i].1, tz, &mut item),
            None => format_text(value, &type_of(value), tz, &mut item),
        }
        let special = |c: char| matches!(c, '(' | ')' | '"' | '\\' | ',') || is_blank(c);
        if item.is_empty() || item.contains(special) {
            put_quoted(&item, "\"", out);
        } else {
            out.push_str(&item);
        }
    }
    out.push(')');
}

/// In double quotes; a quote is escaped by `escape`, a backslash by a backslash.
pub(crate) fn put_quoted(item: &str, escape: &str, out: &mut String) {
    out.push('"');
    for c in item.chars() {
        match c {
            '"' => out.push_str(escape),
            '\\' => out.push('\\'),
            _ => {}
        }
        out.push(c);
    }
    out.push('"');
}

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// Reads an array: its bounds, if they are given, and what stands in braces.
pub(super) fn parse_array(text: &str, element: &SqlType, tz: &TimeStyle) -> Result<Value, TypeError> {
    let mut input = ArrayText { text, rest: text, delimiter: element.delimiter() };
    input.blanks();
    let mut dimensions = input.bounds()?;
    if dimensions.is_empty() {
        if !input.rest.starts_with('{') {
            return Err(input.malformed("Array value must start with \"{\" or dimension information."));
        }
    } else {
        if !input.take('=') {
            return Err(input.malformed("Missing \"=\" after array dimensions."));
        }
        input.blanks();
        if !input.rest.starts_with('{') {
            return Err(input.malformed("Array contents must start with \"{\"."));
        }
    }
    let values = input.levels(&mut dimensions, element, tz)?;
    input.blanks();
    if !input.rest.is_empty() {
        return Err(input.malformed("Junk after closing right brace."));
    }
    Ok(Value::Array(Array::shaped(values, &dimensions)?))
}

#[cold]
fn too_deep() -> TypeError {
    let text = format!("number of array dimensions exceeds the maximum allowed ({DIMENSIONS_MAX})");
    TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
}

/// What stands in the text of an array.
enum ArrayToken {
    Open,
    Close,
    Comma,
    /// An element; none is NULL.
    Element(Option<String>),
}

/// The text of an array, and what is not read yet.
struct ArrayText<'t> {
    text: &'t str,
    rest: &'t str,
    /// What stands between elements.
    delimiter: char,
}

impl ArrayText<'_> {
    #[cold]
    fn malformed(&self, detail: impl Into<String>) -> TypeError {
        let message = format!("malformed array literal: \"{}\"", self.text);
        TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    }

    fn blanks(&mut self) {
        self.rest = self.rest.trim_start_matches(is_blank);
    }

    fn take(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// `[2:3][4]`; none where the text does not begin so.
    fn bounds(&mut self) -> Result<Vec<Dimension>, TypeError> {
        let mut dimensions = Vec::new();
        loop {
            self.blanks();
            if !self.take('[') {
                return Ok(dimensions);
            }
            if dimensions.len() >= DIMENSIONS_MAX {
                return Err(too_deep());
            }
            let introduces = "\"[\" must introduce explicitly-specified array dimensions.";
            let first = self.bound()?.ok_or_else(|| self.malformed(introduces))?;
            let (lower, upper) = match self.take(':') {
                true => {
                    let missing = "Missing array dimension value.";
                    (first, self.bound()?.ok_or_else(|| self.malformed(missing))?)
                }
                false => (1, first),
            };
            if !self.take(']') {
                return Err(self.malformed("Missing \"]\" after array dimensions."));
            }
            if upper < lower {
                let text = "upper bound cannot be less than lower bound";
                return Err(TypeError::new(sqlstate::ARRAY_SUBSCRIPT_ERROR, text));
            }
            if upper == i32::MAX {
                let text = format!("array upper bound is too large: {upper}");
                return Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text));
            }
            let length = i64::from(upper) - i64::from(lower) + 1;
            let length = i32::try_from(length).map_err(|_| too_large())?;
            dimensions.push(Dimension { length, lower });
        }
    }

    /// A number; none where no digit stands.
    fn bound(&mut self) -> Result<Option<i32>, TypeError> {
        let sign = usize::from(self.rest.starts_with(['-', '+']));
        let digits = self.rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 {
            return Ok(None);
        }
        let (number, rest) = self.rest.split_at(sign + digits);
        self.rest = rest;
        let range = || {
            let text = "array bound is out of integer range";
            TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text)
        };
        Ok(Some(number.parse().map_err(|_| range())?))
    }

    /// The elements in their braces. Lengths that are given are checked, others become those of the first level met.
    fn levels(
        &mut self,
        dimensions: &mut Vec<Dimension>,
        element: &SqlType,
        tz: &TimeStyle,
    ) -> Result<Vec<Value>, TypeError> {
        let given = !dimensions.is_empty();
        let mut lengths: Vec<Option<i32>> =
            dimensions.iter().map(|dimension| Some(dimension.length)).collect();
        let mut counts: Vec<i32> = Vec::new();
        let (mut values, mut frozen, mut delimited) = (Vec::new(), given, true);
        let mismatch = |input: &Self| {
            input.malformed(if given {
                "Specified array dimensions do not match array contents."
            } else {
                "Multidimensional arrays must have sub-arrays with matching dimensions."
            })
        };
        let mut pieces = Pieces::default();
        loop {
            pieces.one_more()?;
            match self.token()? {
                ArrayToken::Open => {
                    if !delimited {
                        return Err(self.malformed("Unexpected \"{\" character."));
                    }
                    if counts.len() >= DIMENSIONS_MAX {
                        return Err(too_deep());
                    }
                    counts.push(0);
                    if counts.len() > lengths.len() {
                        if frozen {
                            return Err(mismatch(self));
                        }
                        lengths.push(None);
                    }
                }
                ArrayToken::Close => {
                    let count = counts.pop().unwrap_or(0);
                    if count > 0 && delimited {
                        return Err(self.malformed("Unexpected \"}\" character."));
                    }
                    let known = lengths[counts.len()].get_or_insert(count);
                    if *known != count {
                        return Err(mismatch(self));
                    }
                    let Some(outer) = counts.last_mut() else { break };
                    *outer += 1;
                    delimited = false;
                }
                ArrayToken::Comma => {
                    if delimited {
                        let detail = format!("Unexpected \"{}\" character.", self.delimiter);
                        return Err(self.malformed(detail));
                    }
                    delimited = true;
                }
                ArrayToken::Element(text) => {
                    if !delimited {
                        return Err(self.malformed("Unexpected array element."));
                    }
                    values.push(match text {
                        None => Value::Null,
                        Some(text) => parse_text(element, &text, tz)?,
                    });
                    frozen = true;
                    if counts.len() != lengths.len() {
                        return Err(mismatch(self));
                    }
                    if let Some(count) = counts.last_mut() {
                        *count += 1;
                    }
                    delimited = false;
                }
            }
        }
        if !given {
            let whole = |length: Option<i32>| Dimension { length: length.unwrap_or(0), lower: 1 };
            *dimensions = lengths.into_iter().map(whole).collect();
        }
        Ok(values)
    }

    fn token(&mut self) -> Result<ArrayToken, TypeError> {
        self.blanks();
        let mut chars = self.rest.chars();
        let token = match chars.next() {
            None => return Err(self.malformed("Unexpected end of input.")),
            Some('{') => ArrayToken::Open,
            Some('}') => ArrayToken::Close,
            Some(c) if c == self.delimiter => ArrayToken::Comma,
            Some('"') => return self.quoted(),
            Some(_) => return self.unquoted(),
        };
        self.rest = chars.as_str();
        Ok(token)
    }

    /// An element in double quotes.
    fn quoted(&mut self) -> Result<ArrayToken, TypeError> {
        let end = |input: &Self| input.malformed("Unexpected end of input.");
        let mut item = String::new();
        let mut chars = self.rest.chars();
        chars.next();
        loop {
            match chars.next().ok_or_else(|| end(self))? {
                '"' => break,
                '\\' => item.push(chars.next().ok_or_else(|| end(self))?),
                c => item.push(c),
            }
        }
        self.rest = chars.as_str();
        self.blanks();
        match self.rest.chars().next() {
            Some(c) if c == self.delimiter || matches!(c, '{' | '}') => Ok(ArrayToken::Element(Some(item))),
            Some(_) => Err(self.malformed("Incorrectly quoted array element.")),
            None => Err(end(self)),
        }
    }

    /// An element without quotes: blanks around it do not count, those behind a backslash do.
    fn unquoted(&mut self) -> Result<ArrayToken, TypeError> {
        let end = |input: &Self| input.malformed("Unexpected end of input.");
        let (mut item, mut kept, mut escaped) = (String::new(), 0, false);
        let mut chars = self.rest.chars();
        loop {
            let rest = chars.as_str();
            match chars.next().ok_or_else(|| end(self))? {
                c if c == self.delimiter || c == '}' => {
                    self.rest = rest;
                    break;
                }
                '{' => return Err(self.malformed("Unexpected \"{\" character.")),
                '"' => return Err(self.malformed("Incorrectly quoted array element.")),
                '\\' => {
                    item.push(chars.next().ok_or_else(|| end(self))?);
                    (kept, escaped) = (item.len(), true);
                }
                c => {
                    item.push(c);
                    if !is_blank(c) {
                        kept = item.len();
                    }
                }
            }
        }
        item.truncate(kept);
        let null = !escaped && item.eq_ignore_ascii_case("null");
        Ok(ArrayToken::Element((!null).then_some(item)))
    }
}
