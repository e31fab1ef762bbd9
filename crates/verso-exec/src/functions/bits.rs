//! Bit strings: logic, shifts, parts, single bits.

use verso_types::opaque::bits::{BITS_MAX, Bits};
use verso_types::{Opaque, SqlType, TypeError, Value};

use super::define::{unexpected, valued};
use super::texts::part_wanted;
use super::{AggregateKind, ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::error::Result;

fn pairwise(a: &Opaque, b: &Opaque, name: &str, with: impl Fn(u8, u8) -> u8) -> Result<Value> {
    let (a, b) = (Bits::of(a), Bits::of(b));
    if a.len() != b.len() {
        let text = format!("cannot {name} bit strings of different sizes");
        return Err(TypeError::new("22026", text).into());
    }
    Ok(a.zip(&b, with).into_value())
}

/// What an aggregate makes of two bit strings.
pub(crate) fn pairwise_of(kind: AggregateKind) -> fn(&Value, &Value) -> Result<Value> {
    fn of(a: &Value, b: &Value, name: &str, with: impl Fn(u8, u8) -> u8) -> Result<Value> {
        match (a, b) {
            (Value::Opaque(a), Value::Opaque(b)) => pairwise(a, b, name, with),
            _ => Err(unexpected(name, &[a.clone(), b.clone()])),
        }
    }
    match kind {
        AggregateKind::BitAnd => |a, b| of(a, b, "AND", |a, b| a & b),
        AggregateKind::BitOr => |a, b| of(a, b, "OR", |a, b| a | b),
        _ => |a, b| of(a, b, "XOR", |a, b| a ^ b),
    }
}

fn joined(parts: &[&Bits]) -> Result<Value> {
    let mut all = Bits::default();
    if parts.iter().map(|part| part.len()).sum::<usize>() > BITS_MAX {
        let text = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
        return Err(TypeError::new("54000", text).into());
    }
    parts.iter().for_each(|part| all.append(part));
    Ok(all.into_value())
}

fn shifted(a: &Opaque, by: i32, left: bool) -> Result<Value> {
    let by = i64::from(by);
    Ok(Bits::of(a).shift(if left { by } else { -by }).into_value())
}

fn count(number: usize) -> Result<Value> {
    Ok(Value::Int4(i32::try_from(number).map_err(|_| TypeError::out_of_range("integer"))?))
}

/// Where `part` begins within `whole`, from 1; 0 where it is not there.
fn position(whole: &Opaque, part: &Opaque) -> Result<Value> {
    let (whole, part) = (Bits::of(whole), Bits::of(part));
    let Some(last) = whole.len().checked_sub(part.len()) else { return Ok(Value::Int4(0)) };
    // as in PostgreSQL, nothing is at the front of something, and nowhere in nothing
    if whole.is_empty() {
        return Ok(Value::Int4(0));
    }
    let here = |at: &usize| (0..part.len()).all(|n| whole.get(at + n) == part.get(n));
    count((0..=last).find(here).map_or(0, |at| at + 1))
}

fn substring(a: &Opaque, start: i32, length: Option<i32>) -> Result<Value> {
    let (skip, take) = part_wanted(start, length)?;
    Ok(Bits::of(a).part(skip, take).into_value())
}

/// `overlay(a placing b from start for length)`.
fn overlay(a: &Opaque, b: &Opaque, start: i32, length: Option<i32>) -> Result<Value> {
    let (a, b) = (Bits::of(a), Bits::of(b));
    let length = length.map_or(b.len() as i64, i64::from);
    if start <= 0 {
        return Err(TypeError::new("22011", "negative substring length not allowed").into());
    }
    let end = i64::from(start) + length;
    if i32::try_from(end).is_err() {
        return Err(TypeError::out_of_range("integer").into());
    }
    let skip = usize::try_from(end - 1).unwrap_or(0);
    joined(&[&a.part(0, start.cast_unsigned() as usize - 1), &b, &a.part(skip, usize::MAX)])
}

fn place(bits: &Bits, at: i32) -> Result<usize> {
    let found = usize::try_from(at).ok().filter(|at| *at < bits.len());
    found.ok_or_else(|| {
        let last = bits.len() as i64 - 1;
        TypeError::new("2202E", format!("bit index {at} out of valid range (0..{last})")).into()
    })
}

fn get_bit(a: &Opaque, at: i32) -> Result<Value> {
    let bits = Bits::of(a);
    Ok(Value::Int4(bits.get(place(&bits, at)?).into()))
}

fn set_bit(a: &Opaque, at: i32, bit: i32) -> Result<Value> {
    let mut bits = Bits::of(a);
    let at = place(&bits, at)?;
    if !matches!(bit, 0 | 1) {
        return Err(TypeError::new("22023", "new bit must be 0 or 1").into());
    }
    bits.set(at, bit == 1);
    Ok(bits.into_value())
}

fn ones(a: &Opaque) -> i64 {
    Bits::of(a).bytes().iter().map(|byte| i64::from(byte.count_ones())).sum()
}

static BITS: &[BuiltinFunction] = &[
    valued!("bitand" ("&"): a Bit, b Bit => Bit = pairwise(a, b, "AND", |a, b| a & b)),
    valued!("bitor" ("|"): a Bit, b Bit => Bit = pairwise(a, b, "OR", |a, b| a | b)),
    valued!("bitxor" ("#"): a Bit, b Bit => Bit = pairwise(a, b, "XOR", |a, b| a ^ b)),
    valued!("bitnot" ("~"): a Bit => Bit = Ok(Bits::of(a).not().into_value())),
    valued!("bitshiftleft" ("<<"): a Bit, b Int4 => Bit = shifted(a, *b, true)),
    valued!("bitshiftright" (">>"): a Bit, b Int4 => Bit = shifted(a, *b, false)),
    valued!("bitcat" ("||"): a Varbit, b Varbit => Varbit = joined(&[&Bits::of(a), &Bits::of(b)])),
    valued!("length" (): a Bit => Int4 = count(Bits::len_of(a))),
    valued!("bit_length" (): a Bit => Int4 = count(Bits::len_of(a))),
    valued!("octet_length" (): a Bit => Int4 = count(Bits::len_of(a).div_ceil(8))),
    valued!("position" (): a Bit, b Bit => Int4 = position(a, b)),
    valued!("substring" (): a Bit, b Int4 => Bit = substring(a, *b, None)),
    valued!("substring" (): a Bit, b Int4, c Int4 => Bit = substring(a, *b, Some(*c))),
    valued!("overlay" (): a Bit, b Bit, c Int4 => Bit = overlay(a, b, *c, None)),
    valued!("overlay" (): a Bit, b Bit, c Int4, d Int4 => Bit = overlay(a, b, *c, Some(*d))),
    valued!("get_bit" (): a Bit, b Int4 => Int4 = get_bit(a, *b)),
    valued!("set_bit" (): a Bit, b Int4, c Int4 => Bit = set_bit(a, *b, *c)),
    valued!("bit_count" (): a Bit => Int8 = Ok(Value::Int8(ones(a)))),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [BITS];
