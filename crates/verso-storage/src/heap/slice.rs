//! Column slices: values of one column for several records, as log records, version entries and undo images hold them.
//!
//! ```text
//! column id u16 │ physical type u8 │ form u8 │ bytes behind this u32 │ [null bitmap] │ values
//! ```
//! Form bit 0: a null bitmap of `count.div_ceil(8)` bytes stands first. Bit 1: all values are the one that follows.
//! Fixed types: little-endian values. Variable types: `length u16 × count`, then the bytes one behind the other; length
//! 65,535 says that 8 bytes of a value slot (a reference) stand there instead.

use verso_types::{Column, Physical};

use super::layout::{ColumnPlace, physical_code, physical_from_code};
use super::value_slot::ValueSlot;
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
}

impl<'a> ColumnSlice<'a> {
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
        let mut body = checked_slice(bytes, *at + 8, length)?;
        *at += 8 + length;
        let mut nulls = None;
        if form & HAS_NULLS != 0 {
            nulls = Some(checked_slice(body, 0, count.div_ceil(8))?);
            body = &body[count.div_ceil(8)..];
        }
        let constant = form & CONSTANT != 0;
        let empty: &[u8] = &[];
        let mut slice =
            ColumnSlice { id, physical, count, nulls, constant, fixed: empty, lengths: empty, bytes: empty };
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
                let sum: usize = (0..count).map(|rank| slice.stored_length(rank)).sum();
                if sum != slice.bytes.len() {
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

    /// The variable value at `rank`; cost grows with the rank.
    pub fn variable_at(&self, rank: usize) -> Variable<'a> {
        let at: usize = (0..rank).map(|before| self.stored_length(before)).sum();
        self.variable(rank, &self.bytes[at..at + self.stored_length(rank)])
    }

    /// Bytes that the values need inline in a page.
    pub fn inline_bytes(&self) -> usize {
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
    rows: impl ExactSizeIterator<Item = usize> + Clone,
    references: Option<&[u64]>,
) {
    let count = rows.len();
    let physical = column.physical();
    let any_null = column.nulls.any();
    let nulls =
        rows.clone().enumerate().filter(|(_, row)| any_null && column.is_null(*row)).map(|(rank, _)| rank);
    with_frame(out, id, physical, count, nulls, |out| match physical.width() {
        Some(width) => {
            let values = column.fixed_bytes().expect("a fixed type has fixed bytes");
            let mut clone = rows.clone();
            let (first, last) = (clone.next().unwrap_or(0), clone.last());
            if last.is_none_or(|last| last + 1 - first == count) {
                return push_fixed(out, &values[first * width..(first + count) * width], width);
            }
            for row in rows {
                out.extend_from_slice(&values[row * width..(row + 1) * width]);
            }
            false
        }
        None => {
            let reference = |row: usize| references.map_or(0, |references| references[row]);
            let is_null = |row: usize| any_null && column.is_null(row);
            for row in rows.clone() {
                let length = match reference(row) {
                    _ if is_null(row) => 0,
                    0 => column.bytes_at(row).len() as u16,
                    _ => REFERENCE,
                };
                out.extend_from_slice(&length.to_le_bytes());
            }
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

/// Encodes the values that `slots` of a data page hold in one column.
pub fn encode_from_page(
    out: &mut Vec<u8>,
    page: &[u8],
    place: &ColumnPlace,
    slots: super::slots::Slots<'_>,
) -> Result<(), Flaw> {
    let count = slots.len();
    let null_bitmap = &page[place.nulls..];
    let any_null = null_bitmap[..(place.data - place.nulls).min(512)].iter().any(|byte| *byte != 0);
    let nulls = slots
        .iter()
        .enumerate()
        .filter(|(_, slot)| any_null && bit(null_bitmap, usize::from(*slot)))
        .map(|(rank, _)| rank);
    let mut flaw = None;
    with_frame(out, place.id, place.physical, count, nulls, |out| {
        if !place.is_variable() {
            let array = &page[place.data..];
            if let super::slots::Slots::Run { first, .. } = slots {
                let from = usize::from(first) * place.width;
                return push_fixed(out, &array[from..from + count * place.width], place.width);
            }
            for slot in slots.iter() {
                let from = usize::from(slot) * place.width;
                out.extend_from_slice(&array[from..from + place.width]);
            }
            return false;
        }
        let raw = |slot: u16| u64_at(page, place.data + usize::from(slot) * 8);
        for slot in slots.iter() {
            let length = match ValueSlot::decode(raw(slot)) {
                Some(ValueSlot::Empty) => 0,
                Some(ValueSlot::Inline { length, .. }) => length,
                Some(_) => REFERENCE,
                None => {
                    flaw = Some(Flaw::from("unknown value slot"));
                    0
                }
            };
            out.extend_from_slice(&length.to_le_bytes());
        }
        for slot in slots.iter() {
            match ValueSlot::decode(raw(slot)) {
                Some(ValueSlot::Inline { offset, length }) => {
                    match checked_slice(page, usize::from(offset), usize::from(length)) {
                        Ok(bytes) => out.extend_from_slice(bytes),
                        Err(error) => flaw = Some(error),
                    }
                }
                Some(ValueSlot::Empty) | None => {}
                Some(_) => out.extend_from_slice(&raw(slot).to_le_bytes()),
            }
        }
        false
    });
    flaw.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use verso_types::{SqlType, Value};

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
        encode_column(&mut out, 4, &texts, [0usize, 1, 3].into_iter(), Some(&[0, 0, 0, 99]));
        encode_column(&mut out, 5, &ints, [0usize, 2].into_iter(), None);
        let mut at = 0;
        let slice = ColumnSlice::decode(&out, &mut at, 4).unwrap();
        assert_eq!((slice.id, slice.is_null(1), slice.is_null(0)), (3, true, false));
        assert_eq!(slice.fixed_at(3, 4), (-1i32).to_le_bytes());
        let slice = ColumnSlice::decode(&out, &mut at, 3).unwrap();
        let values: Vec<_> = slice.variables().collect();
        assert_eq!(values, [Variable::Bytes(b"ab"), Variable::Null, Variable::Reference(99)]);
        assert_eq!(slice.variable_at(2), Variable::Reference(99));
        let slice = ColumnSlice::decode(&out, &mut at, 2).unwrap();
        assert_eq!(slice.fixed_at(1, 4), 7i32.to_le_bytes());
        assert_eq!(at, out.len());
        for cut in 0..out.len() - 1 {
            let _ = ColumnSlice::decode(&out[..cut], &mut 0, 4); // never panics
        }
    }
}
