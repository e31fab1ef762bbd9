//! Kernels of the functions of texts: columns of texts and numbers in, a column of texts, numbers or truth values out.
//!
//! What a text yields is said once, in [`texts`](super::texts) or here; the row forms make a value of it, the kernels append it to a
//! column. A text of [`LONG_BYTES`] or more traps: its row form looks at the flag that cancels and accounts for what it holds.

use std::io::Write;

use verso_types::{BytesColumn, ColumnData, NullMask};

use super::kernel::{Element, Operand, Trap};
use super::texts::{character, left, part_wanted, put_padded, put_replaced, right, slice, split_part, trim};
use crate::expr::list::VECTOR_BYTES;
use crate::memory::LONG_BYTES;
use crate::regexp::case::{large, small};

type Filled = Result<(), Trap>;

/// An argument that is a text, or has its values in bytes otherwise.
pub(super) struct Texts<'a> {
    values: &'a BytesColumn,
    is_one: bool,
}

impl<'a> Texts<'a> {
    pub(super) fn of(operand: &Operand<'a>) -> Result<Texts<'a>, Trap> {
        let (data, is_one) = operand.data();
        Ok(Texts { values: data.bytes().ok_or(Trap)?, is_one })
    }

    /// The bytes of a row's value, however many.
    pub(super) fn any(&self, row: usize) -> &'a [u8] {
        self.values.get(if self.is_one { 0 } else { row })
    }

    fn bytes(&self, row: usize) -> Result<&'a [u8], Trap> {
        let value = self.any(row);
        if value.len() >= LONG_BYTES { Err(Trap) } else { Ok(value) }
    }

    pub(super) fn text(&self, row: usize) -> Result<&'a str, Trap> {
        std::str::from_utf8(self.bytes(row)?).map_err(|_| Trap)
    }
}

/// Appends the text that `write` makes of each row that is not NULL.
fn fill(
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    mut write: impl FnMut(usize, &mut Vec<u8>) -> Filled,
) -> Filled {
    let out = out.bytes_mut().ok_or(Trap)?;
    let some = nulls.any();
    for row in 0..rows {
        if !(some && nulls.is_null(row)) {
            write(row, &mut out.bytes)?;
            if out.bytes.len() > VECTOR_BYTES {
                return Err(Trap);
            }
        }
        out.end_value();
    }
    Ok(())
}

/// Appends a part of a text for each row.
fn parts<'a>(
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    mut part: impl FnMut(usize) -> Result<&'a str, Trap>,
) -> Filled {
    fill(nulls, rows, out, |row, out| {
        out.extend_from_slice(part(row)?.as_bytes());
        Ok(())
    })
}

/// Appends a value of fixed width for each row.
pub(super) fn elements<T: Element>(
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    mut element: impl FnMut(usize) -> Result<T, Trap>,
) -> Filled {
    let out = T::vector(out).ok_or(Trap)?;
    let some = nulls.any();
    for row in 0..rows {
        out.push(if some && nulls.is_null(row) { T::default() } else { element(row)? });
    }
    Ok(())
}

/// Appends a number for each row.
fn counts(
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    mut count: impl FnMut(usize) -> Result<usize, Trap>,
) -> Filled {
    elements(nulls, rows, out, |row| i32::try_from(count(row)?).map_err(|_| Trap))
}

/// Characters of a text: bytes that begin one.
pub(crate) fn characters(value: &[u8]) -> usize {
    value.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// `length(a)`
pub(super) fn length(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values] = args else { return Err(Trap) };
    let values = Texts::of(values)?;
    counts(nulls, rows, out, |row| Ok(characters(values.bytes(row)?)))
}

/// `octet_length(a)`
pub(super) fn octets(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values] = args else { return Err(Trap) };
    let values = Texts::of(values)?;
    counts(nulls, rows, out, |row| Ok(values.bytes(row)?.len()))
}

/// `ascii(a)`
pub(super) fn ascii(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values] = args else { return Err(Trap) };
    let values = Texts::of(values)?;
    counts(nulls, rows, out, |row| Ok(values.text(row)?.chars().next().map_or(0, |c| c as usize)))
}

/// `strpos(a, part)`
pub(super) fn position(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values, wanted] = args else { return Err(Trap) };
    let (values, wanted) = (Texts::of(values)?, Texts::of(wanted)?);
    counts(nulls, rows, out, |row| {
        let value = values.text(row)?;
        let at = value.find(wanted.text(row)?);
        Ok(at.map_or(0, |at| characters(&value.as_bytes()[..at]) + 1))
    })
}

/// `starts_with(a, beginning)`
pub(super) fn starts_with(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    let [values, beginnings] = args else { return Err(Trap) };
    let (values, beginnings) = (Texts::of(values)?, Texts::of(beginnings)?);
    let out = out.bools_mut().ok_or(Trap)?;
    for row in 0..rows {
        let holds = !nulls.is_null(row) && values.bytes(row)?.starts_with(beginnings.bytes(row)?);
        out.push(u8::from(holds));
    }
    Ok(())
}

/// `substr(a, start)` and `substr(a, start, length)`
pub(super) fn substrings(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    let [values, start, length @ ..] = args else { return Err(Trap) };
    let (values, start) = (Texts::of(values)?, start.source::<i32>(rows)?);
    let length = length.first().map(|length| length.source::<i32>(rows)).transpose()?;
    fill(nulls, rows, out, |row, out| {
        let length = length.as_ref().map(|length| length.at(row));
        let (skip, take) = part_wanted(start.at(row), length).map_err(|_| Trap)?;
        let value = values.bytes(row)?;
        let (from, to) = (skip.min(value.len()), skip.saturating_add(take).min(value.len()));
        // Of ASCII a character is a byte.
        if value[..to].is_ascii() {
            out.extend_from_slice(&value[from..to]);
        } else {
            out.extend_from_slice(slice(values.text(row)?, skip, take).as_bytes());
        }
        Ok(())
    })
}

/// `left(a, n)`
pub(super) fn lefts(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values, n] = args else { return Err(Trap) };
    let (values, n) = (Texts::of(values)?, n.source::<i32>(rows)?);
    parts(nulls, rows, out, |row| Ok(left(values.text(row)?, n.at(row))))
}

/// `right(a, n)`
pub(super) fn rights(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values, n] = args else { return Err(Trap) };
    let (values, n) = (Texts::of(values)?, n.source::<i32>(rows)?);
    parts(nulls, rows, out, |row| Ok(right(values.text(row)?, n.at(row))))
}

/// `btrim(a)`, `ltrim(a, characters)` and the like.
pub(super) fn trims<const LEFT: bool, const RIGHT: bool>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    let [values, characters @ ..] = args else { return Err(Trap) };
    let values = Texts::of(values)?;
    let characters = characters.first().map(Texts::of).transpose()?;
    parts(nulls, rows, out, |row| {
        let of = match &characters {
            Some(characters) => characters.text(row)?,
            None => " ",
        };
        Ok(trim(values.text(row)?, of, LEFT, RIGHT))
    })
}

/// `split_part(a, delimiter, n)`
pub(super) fn split_parts(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    let [values, delimiters, n] = args else { return Err(Trap) };
    let (values, delimiters, n) = (Texts::of(values)?, Texts::of(delimiters)?, n.source::<i32>(rows)?);
    parts(nulls, rows, out, |row| {
        split_part(values.text(row)?, delimiters.text(row)?, n.at(row), &mut |_| Ok(()))
    })
}

/// `replace(a, from, to)`
pub(super) fn replaced(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values, from, to] = args else { return Err(Trap) };
    let (values, from, to) = (Texts::of(values)?, Texts::of(from)?, Texts::of(to)?);
    fill(nulls, rows, out, |row, out| {
        let (value, from, to) = (values.text(row)?, from.text(row)?, to.text(row)?);
        let mut put = |_: usize, part: &[u8]| {
            out.extend_from_slice(part);
            if out.len() > VECTOR_BYTES { Err(Trap) } else { Ok(()) }
        };
        if from.is_empty() { put(0, value.as_bytes()) } else { put_replaced(value, from, to, &mut put) }
    })
}

/// `repeat(a, n)`
pub(super) fn repeated(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values, n] = args else { return Err(Trap) };
    let (values, n) = (Texts::of(values)?, n.source::<i32>(rows)?);
    fill(nulls, rows, out, |row, out| {
        let (value, n) = (values.bytes(row)?, usize::try_from(n.at(row)).unwrap_or(0));
        if value.len().saturating_mul(n) > LONG_BYTES {
            return Err(Trap);
        }
        // Nothing, however often, is nothing.
        let n = if value.is_empty() { 0 } else { n };
        (0..n).for_each(|_| out.extend_from_slice(value));
        Ok(())
    })
}

/// `lpad(a, length)`, `rpad(a, length, fill)` and the like.
pub(super) fn padded<const AT_LEFT: bool>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    let [values, length, with @ ..] = args else { return Err(Trap) };
    let (values, length) = (Texts::of(values)?, length.source::<i32>(rows)?);
    let with = with.first().map(Texts::of).transpose()?;
    fill(nulls, rows, out, |row, out| {
        let value = values.text(row)?;
        let with = match &with {
            Some(with) => with.text(row)?,
            None => " ",
        };
        let length = usize::try_from(length.at(row)).unwrap_or(0);
        if length > LONG_BYTES {
            return Err(Trap);
        }
        put_padded(value, length, with, AT_LEFT, &mut |part| {
            out.extend_from_slice(part);
            Ok(())
        })
    })
}

/// `reverse(a)`
pub(super) fn reversed(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [values] = args else { return Err(Trap) };
    let values = Texts::of(values)?;
    fill(nulls, rows, out, |row, out| {
        let value = values.text(row)?;
        if value.is_ascii() {
            out.extend(value.bytes().rev());
        } else {
            value.chars().rev().for_each(|c| push(out, c));
        }
        Ok(())
    })
}

/// `lower(a)` as the database's collation has it.
pub(super) fn lowered(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    mapped(args, nulls, rows, out, <[u8]>::make_ascii_lowercase, small)
}

/// `upper(a)` as the database's collation has it.
pub(super) fn raised(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    mapped(args, nulls, rows, out, <[u8]>::make_ascii_uppercase, large)
}

/// Texts of ASCII mapped as a whole, others letter by letter.
fn mapped(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    ascii: impl Fn(&mut [u8]),
    letter: impl Fn(char) -> char,
) -> Filled {
    let [values] = args else { return Err(Trap) };
    let values = Texts::of(values)?;
    fill(nulls, rows, out, |row, out| {
        let value = values.bytes(row)?;
        if value.is_ascii() {
            let start = out.len();
            out.extend_from_slice(value);
            ascii(&mut out[start..]);
        } else {
            values.text(row)?.chars().for_each(|c| push(out, letter(c)));
        }
        Ok(())
    })
}

/// `chr(code)`
pub(super) fn chars(args: &[Operand<'_>], nulls: &NullMask, rows: usize, out: &mut ColumnData) -> Filled {
    let [codes] = args else { return Err(Trap) };
    let codes = codes.source::<i32>(rows)?;
    fill(nulls, rows, out, |row, out| {
        push(out, character(codes.at(row)).map_err(|_| Trap)?);
        Ok(())
    })
}

/// `to_hex(number)`
pub(super) fn hexes<T: Element + std::fmt::LowerHex>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    numbers(args, nulls, rows, out, |number: T, out| write!(out, "{number:x}"))
}

/// An integer as text.
pub(crate) fn integers<T: Element + std::fmt::Display>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    numbers(args, nulls, rows, out, |number: T, out| write!(out, "{number}"))
}

/// Appends the integer that each text says with digits alone.
pub(crate) fn integers_of_texts<T: Element + TryFrom<i64>>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Filled {
    let [texts] = args else { return Err(Trap) };
    let texts = Texts::of(texts)?;
    elements(nulls, rows, out, |row| T::try_from(of_digits(texts.bytes(row)?)?).map_err(|_| Trap))
}

/// The number of a text of digits, perhaps behind a sign; a long one traps, as what is written otherwise does.
fn of_digits(text: &[u8]) -> Result<i64, Trap> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Trap);
    }
    let size = digits.iter().fold(0, |size, digit| 10 * size + i64::from(digit - b'0'));
    Ok(if negative { -size } else { size })
}

/// Appends the text that `write` makes of each number.
fn numbers<T: Element>(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    write: impl Fn(T, &mut Vec<u8>) -> std::io::Result<()>,
) -> Filled {
    let [numbers] = args else { return Err(Trap) };
    let numbers = numbers.source::<T>(rows)?;
    fill(nulls, rows, out, |row, out| write(numbers.at(row), out).map_err(|_| Trap))
}

fn push(out: &mut Vec<u8>, c: char) {
    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}
