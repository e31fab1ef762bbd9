//! Ranges from and to text and the protocol's binary form; their index keys.

use super::bound::{Bound, EMPTY, LOWER_INCLUSIVE, LOWER_INFINITE, UPPER_INCLUSIVE, UPPER_INFINITE};
use super::{Multirange, Range, RangeKind, RangeType};
use crate::TimeStyle;
use crate::composite::field_until;
use crate::error::{TypeError, sqlstate};
use crate::key::{KeyOrder, KeyType, encode_nested};
use crate::sqltype::SqlType;
use crate::text::{format_text, parse_text, put_quoted, type_of};
use crate::value::Value;
use crate::wire::{format_binary, insufficient, left_over, parse_binary};

fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

/// Reads `[1,5)`, `(,3]`, `empty`.
/// # Errors
/// 22P02; those of the bounds.
pub fn parse(ty: &RangeType, text: &str, tz: &TimeStyle) -> Result<Range, TypeError> {
    let wrong = |detail: &str| {
        let message = format!("malformed range literal: \"{text}\"");
        TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    let kind = ty.kind();
    let rest = text.trim_start_matches(is_blank);
    if rest.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("empty")) {
        return match rest[5..].trim_start_matches(is_blank).is_empty() {
            true => Ok(Range::empty(kind)),
            false => Err(wrong("Junk after \"empty\" key word.")),
        };
    }
    let lower_inclusive = rest.starts_with('[');
    let rest = rest.strip_prefix(['[', '(']).ok_or_else(|| wrong("Missing left parenthesis or bracket."))?;
    let mut item = String::new();
    let mut bound = |rest: &mut &str| -> Result<Option<Value>, TypeError> {
        if rest.starts_with([',', ')', ']']) {
            return Ok(None);
        }
        *rest = field_until(rest, &[',', ')', ']'], &mut item)
            .ok_or_else(|| wrong("Unexpected end of input."))?;
        parse_text(&ty.subtype(), &item, tz).map(Some)
    };
    // the texts of both bounds are looked at before their values, as in PostgreSQL
    let mut rest = rest;
    let lower = bound(&mut rest);
    let lower = match lower {
        Err(error) if error.message.starts_with("malformed range") => return Err(error),
        other => other,
    };
    rest = rest.strip_prefix(',').ok_or_else(|| wrong("Missing comma after lower bound."))?;
    let upper = bound(&mut rest);
    if let Err(error) = &upper
        && error.message.starts_with("malformed range")
    {
        return Err(error.clone());
    }
    let upper_inclusive = rest.starts_with(']');
    let rest = rest.strip_prefix([']', ')']).ok_or_else(|| wrong("Too many commas."))?;
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(wrong("Junk after right parenthesis or bracket."));
    }
    let lower = Bound { value: lower?, inclusive: lower_inclusive };
    Range::new(kind, lower, Bound { value: upper?, inclusive: upper_inclusive })
}

/// The type of the bounds of values of `ty`, a range or multirange type. Where that is not known, the values have to tell.
fn subtype_of(ty: &SqlType, ranges: &[Range]) -> SqlType {
    match ty {
        SqlType::Range(ty) | SqlType::Multirange(ty) => ty.subtype(),
        _ => {
            let bounds = ranges.iter().filter_map(|range| range.bounds.as_ref());
            let mut values = bounds.flat_map(|(lower, upper)| [&lower.value, &upper.value]).flatten();
            values.next().map_or(SqlType::Text, type_of)
        }
    }
}

/// Appends `[1,5)`, of type `ty`.
pub fn format(range: &Range, ty: &SqlType, tz: &TimeStyle, out: &mut String) {
    put_range(range, &subtype_of(ty, std::slice::from_ref(range)), tz, out);
}

fn put_range(range: &Range, subtype: &SqlType, tz: &TimeStyle, out: &mut String) {
    let Some((lower, upper)) = &range.bounds else { return out.push_str("empty") };
    let mut item = String::new();
    let mut put = |bound: &Bound, out: &mut String| {
        let Some(value) = &bound.value else { return };
        item.clear();
        format_text(value, subtype, tz, &mut item);
        let special = |c: char| matches!(c, '"' | '\\' | '(' | ')' | '[' | ']' | ',') || is_blank(c);
        if item.is_empty() || item.contains(special) {
            put_quoted(&item, "\"", out);
        } else {
            out.push_str(&item);
        }
    };
    out.push(if lower.inclusive { '[' } else { '(' });
    put(lower, out);
    out.push(',');
    put(upper, out);
    out.push(if upper.inclusive { ']' } else { ')' });
}

/// Reads `{[1,5),[7,9)}`.
/// # Errors
/// 22P02; those of the bounds.
pub fn parse_multirange(ty: &RangeType, text: &str, tz: &TimeStyle) -> Result<Multirange, TypeError> {
    let wrong = |detail: &str| {
        let message = format!("malformed multirange literal: \"{text}\"");
        TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    let rest = text.trim_start_matches(is_blank);
    let mut rest = rest.strip_prefix('{').ok_or_else(|| wrong("Missing left brace."))?;
    let mut ranges = Vec::new();
    rest = rest.trim_start_matches(is_blank);
    if let Some(behind) = rest.strip_prefix('}') {
        rest = behind;
    } else {
        loop {
            rest = rest.trim_start_matches(is_blank);
            let end = match rest.chars().next() {
                None => return Err(wrong("Unexpected end of input.")),
                Some('[' | '(') => end_of_range(rest).ok_or_else(|| wrong("Unexpected end of input."))?,
                Some(_) if rest.get(..5).is_some_and(|word| word.eq_ignore_ascii_case("empty")) => 5,
                Some(_) => return Err(wrong("Expected range start.")),
            };
            let (range, behind) = rest.split_at(end);
            ranges.push(parse(ty, range, tz)?);
            rest = behind.trim_start_matches(is_blank);
            match rest.chars().next() {
                None => return Err(wrong("Unexpected end of input.")),
                Some(',') => rest = &rest[1..],
                Some('}') => {
                    rest = &rest[1..];
                    break;
                }
                Some(_) => return Err(wrong("Expected comma or end of multirange.")),
            }
        }
    }
    if !rest.trim_start_matches(is_blank).is_empty() {
        return Err(wrong("Junk after closing right brace."));
    }
    Ok(Multirange::of(ty.kind(), ranges))
}

/// Where the range ends that the text begins with.
fn end_of_range(text: &str) -> Option<usize> {
    let mut quoted = false;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => {
                chars.next()?;
            }
            '"' => quoted = !quoted,
            ')' | ']' if !quoted => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// Appends `{[1,5),[7,9)}`, of type `ty`.
pub fn format_multirange(multirange: &Multirange, ty: &SqlType, tz: &TimeStyle, out: &mut String) {
    let subtype = subtype_of(ty, &multirange.ranges);
    out.push('{');
    for (n, range) in multirange.ranges.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        put_range(range, &subtype, tz, out);
    }
    out.push('}');
}

fn put_length(out: &mut [u8], start: usize) {
    let length = i32::try_from(out.len() - start - 4).unwrap_or(i32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends the binary form of a range of type `ty`: flags, then each bound that there is with its length.
pub fn send(range: &Range, ty: &SqlType, out: &mut Vec<u8>) {
    let subtype = subtype_of(ty, std::slice::from_ref(range));
    out.push(range.flags());
    let Some((lower, upper)) = &range.bounds else { return };
    for value in [&lower.value, &upper.value].into_iter().flatten() {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        format_binary(value, &subtype, out);
        put_length(out, start);
    }
}

/// Appends the binary form: how many ranges, then each with its length.
pub fn send_multirange(multirange: &Multirange, ty: &SqlType, out: &mut Vec<u8>) {
    out.extend_from_slice(&i32::try_from(multirange.ranges.len()).unwrap_or(i32::MAX).to_be_bytes());
    for range in &multirange.ranges {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        send(range, ty, out);
        put_length(out, start);
    }
}

/// A value with its length, from the front.
fn item<'b>(bytes: &mut &'b [u8]) -> Result<&'b [u8], TypeError> {
    let (head, rest) = bytes.split_first_chunk().ok_or_else(insufficient)?;
    let length = usize::try_from(i32::from_be_bytes(*head)).map_err(|_| insufficient())?;
    let (item, rest) = rest.split_at_checked(length).ok_or_else(insufficient)?;
    *bytes = rest;
    Ok(item)
}

/// Reads the binary form, all of the bytes.
/// # Errors
/// 08P01, 22P03; those of the bounds.
pub fn receive(ty: &RangeType, bytes: &[u8]) -> Result<Range, TypeError> {
    let (kind, subtype) = (ty.kind(), ty.subtype());
    let (flags, mut rest) = bytes.split_first().ok_or_else(insufficient)?;
    let mut bound = |infinite: u8| match flags & (EMPTY | infinite) {
        0 => parse_binary(&subtype, item(&mut rest)?).map(Some),
        _ => Ok(None),
    };
    let (lower, upper) = (bound(LOWER_INFINITE)?, bound(UPPER_INFINITE)?);
    if !rest.is_empty() {
        return Err(left_over());
    }
    if flags & EMPTY != 0 {
        return Ok(Range::empty(kind));
    }
    Range::new(
        kind,
        Bound { value: lower, inclusive: flags & LOWER_INCLUSIVE != 0 },
        Bound { value: upper, inclusive: flags & UPPER_INCLUSIVE != 0 },
    )
}

/// Ranges of a multirange at most: PostgreSQL has a gigabyte for pointers to them.
const RANGES_MAX: usize = (1 << 30) / 8;

/// Reads the binary form, all of the bytes.
/// # Errors
/// As [`receive`]; 54000, XX000 for more ranges than there can be.
pub fn receive_multirange(ty: &RangeType, bytes: &[u8]) -> Result<Multirange, TypeError> {
    let (head, mut rest) = bytes.split_first_chunk().ok_or_else(insufficient)?;
    let limit = |sqlstate| TypeError::new(sqlstate, "multirange size exceeds the maximum allowed");
    let count =
        usize::try_from(i32::from_be_bytes(*head)).map_err(|_| limit(sqlstate::PROGRAM_LIMIT_EXCEEDED))?;
    if count > RANGES_MAX {
        return Err(limit(sqlstate::INTERNAL_ERROR));
    }
    if count > rest.len() / 4 {
        return Err(insufficient());
    }
    let mut ranges = Vec::with_capacity(count);
    for _ in 0..count {
        ranges.push(receive(ty, item(&mut rest)?)?);
    }
    if !rest.is_empty() {
        return Err(left_over());
    }
    Ok(Multirange::of(ty.kind(), ranges))
}

/// Appends bytes in the order of ranges.
///
/// ```text
/// range = 0 empty │ 1 lower upper       lower = 0 infinite │ 1 value, 1 if exclusive       upper = 1 value, 1 if inclusive │ 2 infinite
/// ```
/// # Errors
/// XX000 for a bound of another type.
pub fn encode_key(range: &Range, out: &mut Vec<u8>) -> Result<(), TypeError> {
    let Some((lower, upper)) = &range.bounds else {
        out.push(0);
        return Ok(());
    };
    out.push(1);
    encode_bound(range.kind, lower, (0, !lower.inclusive), out)?;
    encode_bound(range.kind, upper, (2, upper.inclusive), out)
}

/// Appends the end of a range that is not empty as the place, among lower bounds in keys of ranges, of the first one that lies
/// behind it.
/// # Errors
/// XX000 for a bound of another type.
pub(crate) fn encode_end(range: &Range, out: &mut Vec<u8>) -> Result<(), TypeError> {
    let Some((_, upper)) = &range.bounds else { return Ok(()) };
    encode_bound(range.kind, upper, (2, upper.inclusive), out)
}

/// Appends a bound: `infinite` stands for one without a value, and `behind` says whether it lies behind its value.
fn encode_bound(
    kind: RangeKind,
    bound: &Bound,
    (infinite, behind): (u8, bool),
    out: &mut Vec<u8>,
) -> Result<(), TypeError> {
    let Some(value) = &bound.value else {
        out.push(infinite);
        return Ok(());
    };
    let plain = |ty: KeyType, sql: SqlType| Some((KeyOrder::ascending(ty), sql));
    let order = match kind {
        RangeKind::Int4 => plain(KeyType::I32, SqlType::Int4),
        RangeKind::Int8 => plain(KeyType::I64, SqlType::Int8),
        RangeKind::Num => plain(KeyType::Decimal, SqlType::Numeric(None)),
        RangeKind::Ts => plain(KeyType::I64, SqlType::Timestamp(None)),
        RangeKind::Tstz => plain(KeyType::I64, SqlType::Timestamptz(None)),
        RangeKind::Date => plain(KeyType::I32, SqlType::Date),
        RangeKind::Own => None,
    };
    match order {
        Some((order, subtype)) => order.encode_value(value, &subtype, out)?,
        None => {
            out.push(KeyOrder::VALUE);
            encode_nested(value, out)?;
        }
    }
    out.push(u8::from(behind));
    Ok(())
}

/// Appends bytes in the order of multiranges: each range, then 0.
/// # Errors
/// XX000 for a bound of another type.
pub fn encode_multirange_key(multirange: &Multirange, out: &mut Vec<u8>) -> Result<(), TypeError> {
    for range in &multirange.ranges {
        encode_key(range, out)?;
    }
    out.push(0);
    Ok(())
}
