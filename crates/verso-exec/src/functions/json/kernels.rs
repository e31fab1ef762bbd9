//! Kernels of the operators that look into jsonb: the documents stay where their column has them.

use verso_types::json::{self, JsonRef};
use verso_types::{ColumnData, NullMask};

use super::access::{Step, found, has};
use super::shown;
use crate::expr::list::VECTOR_BYTES;
use crate::functions::kernel::{Operand, Source, Trap};
use crate::functions::text_kernels::{Texts, elements};

/// The steps of an argument: texts, which are keys, or integers, which are indexes.
enum Steps<'a> {
    Keys(Texts<'a>),
    Indexes(Source<'a, i32>),
}

impl<'a> Steps<'a> {
    fn of(operand: &Operand<'a>, rows: usize) -> Result<Steps<'a>, Trap> {
        match operand.source(rows) {
            Ok(indexes) => Ok(Steps::Indexes(indexes)),
            Err(Trap) => Ok(Steps::Keys(Texts::of(operand)?)),
        }
    }

    fn get(&self, row: usize) -> Result<Step<'a>, Trap> {
        Ok(match self {
            Steps::Keys(keys) => Step::Key(keys.text(row)?),
            Steps::Indexes(indexes) => Step::Index(indexes.at(row).into()),
        })
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
    let (documents, steps) = (Texts::of(documents)?, Steps::of(steps, rows)?);
    let out = out.bytes_mut().ok_or(Trap)?;
    for row in 0..rows {
        if !nulls.is_null(row) {
            let is_there = match found(documents.any(row), steps.get(row)?) {
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

/// Whether each document has what the second argument asks for.
fn each_fits<'a>(
    args: &[Operand<'a>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    fits: impl Fn(JsonRef<'a>, &Texts<'a>, usize) -> Result<bool, Trap>,
) -> Result<(), Trap> {
    let [documents, asked] = args else { return Err(Trap) };
    let (documents, asked) = (Texts::of(documents)?, Texts::of(asked)?);
    elements(nulls, rows, out, |row| Ok(u8::from(fits(JsonRef::read(documents.any(row)), &asked, row)?)))
}

/// `?` of jsonb
pub(super) fn exists(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    each_fits(args, nulls, rows, out, |document, keys, row| Ok(has(document, keys.text(row)?)))
}

/// `@>` of jsonb
pub(super) fn contains(
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    each_fits(args, nulls, rows, out, |document, wanted, row| {
        Ok(json::contains(document, JsonRef::read(wanted.any(row))))
    })
}
