//! Column slices: values of one column for several records, as log records, version entries and undo images hold them.
//!
//! ```text
//! column id u16 │ physical type u8 │ form u8 │ bytes behind this u32 │ [null bitmap] │ values
//! ```
//! Form bit 0: a null bitmap of `count.div_ceil(8)` bytes stands first. Bit 1: all values are the one that follows.
//! Fixed types: little-endian values. Variable types: `length u16 × count`, then the bytes one behind the other; length
//! 65,535 says that 8 bytes of a value slot (a reference) stand there instead.

use std::mem::replace;
use std::ops::Range;

use verso_types::{Column, Physical};

use super::layout::{ColumnPlace, physical_code, physical_from_code};
use super::slots::Slots;
use super::value_slot::{ValueSlot, one_piece};
use crate::page::Flaw;
use crate::page::bytes::{checked_slice, checked_u8, checked_u16, checked_u32, u16_at, u64_at};

const HAS_NULLS: u8 = 1;
const CONSTANT: u8 = 2;
/// Length that stands for a reference.
pub const REFERENCE: u16 = u16::MAX;

/// Whether bit `index` of a bitmap is set.
#[inline]
pub fn bit(bitmap: &[u8], index: usize) -> bool {
    bitmap[index / 8] >> (index % 8) & 1 == 1
}

/// Whether all of `count` bits from `first` on are set.
pub fn all_set(bitmap: &[u8], first: usize, count: usize) -> bool {
    let (mut at, end) = (first, first + count);
    while at < end {
        let bits = (end - at).min(8 - at % 8);
        let mask = (0xFFu8 >> (8 - bits)) << (at % 8);
        if bitmap[at / 8] & mask != mask {
            return false;
        }
        at += bits;
    }
    true
}

/// A value of variable length as it stands somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable<'a> {
    /// NULL.
    Null,
    /// The bytes themselves.
    Bytes(&'a [u8]),
    /// A reference: the raw 8 bytes of a value slot.
    Reference(u64),
}

/// A decoded slice, borrowed.
#[derive(Clone, Copy, Debug)]
pub struct ColumnSlice<'a> {
    /// Which column.
    pub id: u16,
    /// Shape of its values.
    pub physical: Physical,
    /// How many records.
    pub count: usize,
    /// Null bitmap, bit set = NULL.
    pub nulls: Option<&'a [u8]>,
    /// All values are `fixed`'s one.
    pub constant: bool,
    /// Values of a fixed type.
    pub fixed: &'a [u8],
    /// Lengths of a variable type.
    pub lengths: &'a [u8],
    /// Bytes of a variable type.
    pub bytes: &'a [u8],
    /// How many of the lengths stand for references.
    references: usize,
}

impl<'a> ColumnSlice<'a> {
    /// Bytes before the null bitmap.
    pub const HEADER: usize = 8;

    /// Reads a slice of `count` values at `*at` and moves `*at` behind it.
    ///
    /// # Errors
    /// A flaw when the bytes are no slice.
    pub fn decode(bytes: &'a [u8], at: &mut usize, count: usize) -> Result<ColumnSlice<'a>, Flaw> {
        let id = checked_u16(bytes, *at)?;
        let physical = physical_from_code(checked_u8(bytes, *at + 2)?)
            .ok_or_else(|| Flaw::from("unknown column type in a slice"))?;
        let form = checked_u8(bytes, *at + 3)?;
        let length = checked_u32(bytes, *at + 4)? as usize;
        let mut body = checked_slice(bytes, *at + Self::HEADER, length)?;
        *at += Self::HEADER + length;
        let mut nulls = None;
        if form & HAS_NULLS != 0 {
            nulls = Some(checked_slice(body, 0, count.div_ceil(8))?);
            body = &body[count.div_ceil(8)..];
        }
        let constant = form & CONSTANT != 0;
        let empty: &[u8] = &[];
        let mut slice = ColumnSlice {
            id,
            physical,
            count,
            nulls,
            constant,
            fixed: empty,
            lengths: empty,
            bytes: empty,
            references: 0,
        };
        match physical.width() {
            Some(width) => {
                let expected = if constant { width } else { width * count };
                if body.len() != expected {
                    return Err(Flaw::from("fixed values of the wrong size"));
                }
                slice.fixed = body;
            }
            None => {
                slice.lengths = checked_slice(body, 0, count * 2)?;
                slice.bytes = &body[count * 2..];
                let (mut sum, mut references) = (0u32, 0u32);
                for length in slice.lengths.chunks_exact(2) {
                    let length = u16::from_le_bytes([length[0], length[1]]);
                    sum += u32::from(length);
                    references += u32::from(length == REFERENCE);
                }
                slice.references = references as usize;
                if sum as usize - slice.references * usize::from(REFERENCE - 8) != slice.bytes.len() {
                    return Err(Flaw::from("variable values of the wrong size"));
                }
            }
        }
        Ok(slice)
    }

    #[inline]
    fn stored_length(&self, rank: usize) -> usize {
        match u16_at(self.lengths, rank * 2) {
            REFERENCE => 8,
            length => usize::from(length),
        }
    }

    /// Whether value `rank` is NULL.
    #[inline]
    pub fn is_null(&self, rank: usize) -> bool {
        self.nulls.is_some_and(|nulls| bit(nulls, rank))
    }

    /// Bytes of the fixed value at `rank`.
    #[inline]
    pub fn fixed_at(&self, rank: usize, width: usize) -> &'a [u8] {
        if self.constant { self.fixed } else { &self.fixed[rank * width..(rank + 1) * width] }
    }

    /// The variable values in order.
    pub fn variables(self) -> impl Iterator<Item = Variable<'a>> {
        let mut at = 0;
        (0..self.count).map(move |rank| {
            let length = self.stored_length(rank);
            let bytes = &self.bytes[at..at + length];
            at += length;
            self.variable(rank, bytes)
        })
    }

    #[inline]
    fn variable(&self, rank: usize, bytes: &'a [u8]) -> Variable<'a> {
        if self.is_null(rank) {
            Variable::Null
        } else if u16_at(self.lengths, rank * 2) == REFERENCE {
            Variable::Reference(u64_at(bytes, 0))
        } else {
            Variable::Bytes(bytes)
        }
    }

    /// Whether the value at `rank` is a reference.
    pub fn is_reference(&self, rank: usize) -> bool {
        self.physical.width().is_none() && u16_at(self.lengths, rank * 2) == REFERENCE
    }

    /// The variable value at `rank`; cost grows with the rank.
    pub fn variable_at(&self, rank: usize) -> Variable<'a> {
        let at: usize = (0..rank).map(|before| self.stored_length(before)).sum();
        self.variable_from(rank, at)
    }

    /// The variable value at `rank`, which begins at `start`.
    pub fn variable_from(&self, rank: usize, start: usize) -> Variable<'a> {
        self.variable(rank, &self.bytes[start..start + self.stored_length(rank)])
    }

    /// Where each of the variable values begins; of a fixed type none.
    pub fn starts(&self) -> Vec<u32> {
        let mut next = 0;
        let start = |rank| {
            let start = next;
            next += self.stored_length(rank) as u32;
            start
        };
        (0..self.lengths.len() / 2).map(start).collect()
    }

    /// Whether the bytes of a variable type are those of all values, one behind the other: no NULL, no reference.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.nulls.is_none() && self.references == 0
    }

    /// Whether some value is a reference.
    #[inline]
    pub fn has_references(&self) -> bool {
        self.references > 0
    }

    /// Bytes that the values need inline in a page.
    pub fn inline_bytes(&self) -> usize {
        if self.is_plain() {
            return self.bytes.len();
        }
        self.variables()
            .map(|value| match value {
                Variable::Bytes(bytes) => bytes.len(),
                _ => 0,
            })
            .sum()
    }
}

/// Appends a slice whose body `write` appends; `nulls` yields the ranks that are NULL.
fn with_frame(
    out: &mut Vec<u8>,
    id: u16,
    physical: Physical,
    count: usize,
    nulls: impl Iterator<Item = usize>,
    write: impl FnOnce(&mut Vec<u8>) -> bool,
) {
    out.extend_from_slice(&id.to_le_bytes());
    out.push(physical_code(physical));
    let form = out.len();
    out.extend_from_slice(&[0; 5]);
    let body = out.len();
    for rank in nulls {
        if out[form] & HAS_NULLS == 0 {
            out[form] |= HAS_NULLS;
            out.resize(body + count.div_ceil(8), 0);
        }
        out[body + rank / 8] |= 1 << (rank % 8);
    }
    if write(out) {
        out[form] |= CONSTANT;
    }
    let length = (out.len() - body) as u32;
    out[form + 1..form + 5].copy_from_slice(&length.to_le_bytes());
}

/// Appends fixed values, once if they are all alike; whether they were.
fn push_fixed(out: &mut Vec<u8>, values: &[u8], width: usize) -> bool {
    let constant = values.len() > width && values[..values.len() - width] == values[width..];
    out.extend_from_slice(if constant { &values[..width] } else { values });
    constant
}

/// Encodes rows of a column in memory. `references[i]`, when given, replaces row `i` (0 = the value itself).
pub fn encode_column(
    out: &mut Vec<u8>,
    id: u16,
    column: &Column,
    rows: Range<usize>,
    references: Option<&[u64]>,
) {
    let count = rows.len();
    let physical = column.physical();
    let any_null = column.nulls.any();
    let nulls =
        if any_null { rows.clone() } else { 0..0 }.enumerate().filter(|(_, row)| column.is_null(*row));
    with_frame(out, id, physical, count, nulls.map(|(rank, _)| rank), |out| match physical.width() {
        Some(width) => {
            let values = column.fixed_bytes().expect("a fixed type has fixed bytes");
            push_fixed(out, &values[rows.start * width..rows.end * width], width)
        }
        None if !any_null && references.is_none() => {
            let column = column.data.bytes().expect("not a fixed type");
            let start = if rows.start == 0 { 0 } else { column.ends[rows.start - 1] };
            let mut before = start;
            push_lengths(
                out,
                count,
                column.ends[rows].iter().map(|end| (end - replace(&mut before, *end)) as u16),
            );
            out.extend_from_slice(&column.bytes[start as usize..before as usize]);
            false
        }
        None => {
            let reference = |row: usize| references.map_or(0, |references| references[row]);
            let is_null = |row: usize| any_null && column.is_null(row);
            let lengths = rows.clone().map(|row| match reference(row) {
                _ if is_null(row) => 0,
                0 => column.bytes_at(row).len() as u16,
                _ => REFERENCE,
            });
            push_lengths(out, count, lengths);
            for row in rows.filter(|row| !is_null(*row)) {
                match reference(row) {
                    0 => out.extend_from_slice(column.bytes_at(row)),
                    raw => out.extend_from_slice(&raw.to_le_bytes()),
                }
            }
            false
        }
    });
}

/// Appends the lengths of `count` variable values.
fn push_lengths(out: &mut Vec<u8>, count: usize, lengths: impl Iterator<Item = u16>) {
    let at = out.len();
    out.resize(at + count * 2, 0);
    for (target, length) in out[at..].chunks_exact_mut(2).zip(lengths) {
        target.copy_from_slice(&length.to_le_bytes());
    }
}

/// Encodes the values that `slots` of a data page hold in one column.
pub fn encode_from_page(
    out: &mut Vec<u8>,
    page: &[u8],
    place: &ColumnPlace,
    slots: Slots<'_>,
) -> Result<(), Flaw> {
    let count = slots.len();
    let null_bitmap = &page[place.nulls..];
    let any_null = match slots {
        Slots::Run { first, count } => {
            let (first, end) = (usize::from(first), usize::from(first) + usize::from(count));
            null_bitmap[first / 8..end.div_ceil(8)].iter().any(|byte| *byte != 0)
        }
        _ => slots.iter().any(|slot| bit(null_bitmap, usize::from(slot))),
    };
    let nulls = if any_null { slots } else { Slots::List(&[]) }
        .iter()
        .enumerate()
        .filter(|(_, slot)| bit(null_bitmap, usize::from(*slot)))
        .map(|(rank, _)| rank);
    let mut flaw = None;
    with_frame(out, place.id, place.physical, count, nulls, |out| match slots {
        Slots::Run { first, .. } => {
            let from = place.data + usize::from(first) * place.width;
            let array = &page[from..from + count * place.width];
            if !place.is_variable() {
                return push_fixed(out, array, place.width);
            }
            flaw = match one_piece(array) {
                Some((from, length)) => encode_piece(out, page, array, from, length),
                None => encode_values(out, page, count, array.chunks_exact(8).map(|raw| u64_at(raw, 0))),
            }
            .err();
            false
        }
        _ => {
            let array = &page[place.data..];
            if place.is_variable() {
                let raw = slots.iter().map(|slot| u64_at(array, usize::from(slot) * 8));
                flaw = encode_values(out, page, count, raw).err();
                return false;
            }
            for from in slots.iter().map(|slot| usize::from(slot) * place.width) {
                out.extend_from_slice(&array[from..from + place.width]);
            }
            false
        }
    });
    flaw.map_or(Ok(()), Err)
}

/// Appends lengths and bytes of value slots whose values stand in [`one_piece`].
fn encode_piece(
    out: &mut Vec<u8>,
    page: &[u8],
    array: &[u8],
    from: usize,
    length: usize,
) -> Result<(), Flaw> {
    let bytes = checked_slice(page, from, length)?;
    let (slots, at) = (array.as_chunks::<8>().0, out.len());
    out.resize(at + slots.len() * 2, 0);
    for (target, slot) in out[at..].as_chunks_mut::<2>().0.iter_mut().zip(slots) {
        *target = [slot[4], slot[5]];
    }
    out.extend_from_slice(bytes);
    Ok(())
}

/// Appends lengths and bytes of `count` value slots. Values that follow each other on the page are copied together.
fn encode_values(
    out: &mut Vec<u8>,
    page: &[u8],
    count: usize,
    raw: impl Iterator<Item = u64> + Clone,
) -> Result<(), Flaw> {
    let at = out.len();
    out.resize(at + count * 2, 0);
    let (mut from, mut end, mut one_piece) = (0, 0, true);
    for (target, raw) in out[at..].chunks_exact_mut(2).zip(raw.clone()) {
        let length = match ValueSlot::decode(raw) {
            Some(ValueSlot::Empty) => 0,
            Some(ValueSlot::Inline { offset, length }) => {
                if length > 0 {
                    let offset = usize::from(offset);
                    if end == 0 {
                        (from, end) = (offset, offset);
                    }
                    one_piece &= offset == end;
                    end += usize::from(length);
                }
                length
            }
            Some(_) => {
                one_piece = false;
                REFERENCE
            }
            None => return Err(Flaw::from("unknown value slot")),
        };
        target.copy_from_slice(&length.to_le_bytes());
    }
    if one_piece {
        out.extend_from_slice(checked_slice(page, from, end - from)?);
        return Ok(());
    }
    for raw in raw {
        match ValueSlot::decode(raw) {
            Some(ValueSlot::Inline { offset, length }) => {
                out.extend_from_slice(checked_slice(page, usize::from(offset), usize::from(length))?);
            }
            Some(ValueSlot::Empty) | None => {}
            Some(_) => out.extend_from_slice(&raw.to_le_bytes()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use verso_types::{SqlType, Value};

    #[test]
    fn runs_of_bits_are_looked_at_whole() {
        let bitmap = [0b1111_0000, 0xFF, 0b0000_0111];
        for first in 0..24 {
            for count in 0..24 - first {
                let each = (first..first + count).all(|index| bit(&bitmap, index));
                assert_eq!(all_set(&bitmap, first, count), each, "{first} + {count}");
            }
        }
    }

    #[test]
    fn columns_come_back_with_nulls_constants_and_references() {
        let mut ints = Column::new(Physical::I32);
        for value in [Value::Int4(7), Value::Null, Value::Int4(7), Value::Int4(-1)] {
            ints.push_value(&value, &SqlType::Int4).unwrap();
        }
        let mut texts = Column::new(Physical::Bytes);
        for value in
            [Value::Text("ab".into()), Value::Null, Value::Text("".into()), Value::Text("xyz".into())]
        {
            texts.push_value(&value, &SqlType::Text).unwrap();
        }
        let mut out = Vec::new();
        encode_column(&mut out, 3, &ints, 0..4, None);
        encode_column(&mut out, 4, &texts, 1..4, Some(&[0, 0, 0, 99]));
        encode_column(&mut out, 5, &ints, 2..3, None);
        let mut at = 0;
        let slice = ColumnSlice::decode(&out, &mut at, 4).unwrap();
        assert_eq!((slice.id, slice.is_null(1), slice.is_null(0)), (3, true, false));
        assert_eq!(slice.fixed_at(3, 4), (-1i32).to_le_bytes());
        let slice = ColumnSlice::decode(&out, &mut at, 3).unwrap();
        let values: Vec<_> = slice.variables().collect();
        assert_eq!(values, [Variable::Null, Variable::Bytes(b""), Variable::Reference(99)]);
        assert_eq!(slice.variable_at(2), Variable::Reference(99));
        assert!(!slice.is_plain() && slice.inline_bytes() == 0);
        let slice = ColumnSlice::decode(&out, &mut at, 1).unwrap();
        assert_eq!(slice.fixed_at(0, 4), 7i32.to_le_bytes());
        assert_eq!(at, out.len());
        for cut in 0..out.len() - 1 {
            let _ = ColumnSlice::decode(&out[..cut], &mut 0, 4); // never panics
        }
    }
}
