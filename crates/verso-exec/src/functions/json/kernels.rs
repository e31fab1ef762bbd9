//! Kernels of the operators that look into jsonb: the documents stay where their column has them.

use verso_types::json::{self, JsonRef};
use verso_types::{BytesColumn, ColumnData, NullMask};

use super::access::{Step, found, has};
use super::shown;
use crate::expr::list::VECTOR_BYTES;
use crate::functions::kernel::{Operand, Trap};

/// The values of an argument of texts or documents.
struct Argument<'a> {
    values: &'a BytesColumn,
    is_one: bool,
}

impl<'a> Argument<'a> {
    fn of(operand: &Operand<'a>) -> Result<Argument<'a>, Trap> {
        let (data, is_one) = match operand {
            Operand::Column(data) => (data, false),
            Operand::Constant(data) => (data, true),
        };
        Ok(Argument { values: data.bytes().ok_or(Trap)?, is_one })
    }

    fn get(&self, row: usize) -> &'a [u8] {
        self.values.get(if self.is_one { 0 } else { row })
    }

    fn text(&self, row: usize) -> Result<&'a str, Trap> {
        std::str::from_utf8(self.get(row)).map_err(|_| Trap)
    }
}

/// The steps of an argument: texts, which are keys, or integers, which are indexes.
enum Steps<'a> {
    Keys(Argument<'a>),
    Indexes(&'a [i32], bool),
}

impl<'a> Steps<'a> {
    fn of(operand: &Operand<'a>) -> Result<Steps<'a>, Trap> {
        let (data, is_one) = match operand {
            Operand::Column(data) => (data, false),
            Operand::Constant(data) => (data, true),
        };
        match data.i32s() {
            Some(indexes) => Ok(Steps::Indexes(indexes, is_one)),
            None => Ok(Steps::Keys(Argument::of(operand)?)),
        }
    }

    fn get(&self, row: usize) -> Result<Step<'a>, Trap> {
        match self {
            Steps::Keys(keys) => Ok(Step::Key(keys.text(row)?)),
            Steps::Indexes(indexes, is_one) => {
                let index = indexes.get(if *is_one { 0 } else { row }).ok_or(Trap)?;
                Ok(Step::Index((*index).into()))
            }
        }
    }
}

/// What each document has at a step, written by `put`, which yields false where that is NULL.
fn each_found(
    (args, nulls, rows): (&[Operand<'_>], &NullMask, usize),
    out: &mut ColumnData,
    absent: &mut NullMask,
    mut put: impl FnMut(&[u8], &mut Vec<u8>) -> bool,
) -> Result<(), Trap> {
    let [documents, steps] = args else { return Err(Trap) };
    let (documents, steps) = (Argument::of(documents)?, Steps::of(steps)?);
    let out = out.bytes_mut().ok_or(Trap)?;
    for row in 0..rows {
        if !nulls.is_null(row) {
            let is_there = match found(documents.get(row), steps.get(row)?) {
                Some(found) => put(found, &mut out.bytes),
                None => false,
            };
            if !is_there {
                absent.set(row);
            }
            if out.bytes.len() > VECTOR_BYTES {
                return Err(Trap);
            }
        }
        out.end_value();
    }
    Ok(())
}

/// `->` of jsonb
pub(super) fn get(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    absent: &mut NullMask,
) -> Result<(), Trap> {
    each_found((args, nulls, rows), out, absent, |found, out| {
        out.extend_from_slice(found);
        true
    })
}

/// `->>` of jsonb
pub(super) fn get_text(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    absent: &mut NullMask,
) -> Result<(), Trap> {
    let mut room = String::new();
    each_found((args, nulls, rows), out, absent, |found, out| match shown(found, &mut room) {
        Some(text) => {
            out.extend_from_slice(text.as_bytes());
            true
        }
        None => false,
    })
}

/// Whether each document fulfils a condition.
fn each_fits(
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    fits: impl Fn(usize) -> Result<bool, Trap>,
) -> Result<(), Trap> {
    let out = out.bools_mut().ok_or(Trap)?;
    for row in 0..rows {
        out.push(u8::from(!nulls.is_null(row) && fits(row)?));
    }
    Ok(())
}

/// `?` of jsonb
pub(super) fn exists(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let [documents, keys] = args else { return Err(Trap) };
    let (documents, keys) = (Argument::of(documents)?, Argument::of(keys)?);
    each_fits(nulls, rows, out, |row| Ok(has(JsonRef::read(documents.get(row)), keys.text(row)?)))
}

/// `@>` of jsonb
pub(super) fn contains(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let [documents, wanted] = args else { return Err(Trap) };
    let (documents, wanted) = (Argument::of(documents)?, Argument::of(wanted)?);
    each_fits(nulls, rows, out, |row| {
        Ok(json::contains(JsonRef::read(documents.get(row)), JsonRef::read(wanted.get(row))))
    })
}
