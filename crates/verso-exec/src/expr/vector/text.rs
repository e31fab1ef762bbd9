//! Kernels of texts.

use verso_types::{BytesColumn, ColumnData, NullMask};

use crate::expr::like::{LikePattern, Work, fits_given};
use crate::expr::list::VECTOR_BYTES;
use crate::functions::kernel::{Operand, Trap};

/// Row by row one behind the other: `name || '1'`.
pub(super) fn concat(args: &[Operand<'_>], rows: usize, out: &mut ColumnData) -> Result<(), Trap> {
    let out = out.bytes_mut().ok_or(Trap)?;
    match args {
        [Operand::Column(left), Operand::Constant(right)] => {
            let (left, right) = (left.bytes().ok_or(Trap)?, right.bytes().ok_or(Trap)?);
            append_suffix(left, rows, &right.bytes, out)?;
        }
        _ => {
            for row in 0..rows {
                for arg in args {
                    match arg {
                        Operand::Column(data) => {
                            out.bytes.extend_from_slice(data.bytes().ok_or(Trap)?.get(row));
                        }
                        Operand::Constant(data) => {
                            out.bytes.extend_from_slice(data.bytes().ok_or(Trap)?.get(0));
                        }
                    }
                }
                if out.bytes.len() > VECTOR_BYTES {
                    return Err(Trap);
                }
                out.end_value();
            }
        }
    }
    Ok(())
}

/// Bytes moved at once where there is room: one load and one store, where a copy of exact length is a call.
const CHUNK: usize = 16;

/// Every value with the same bytes behind it.
fn append_suffix(
    values: &BytesColumn,
    rows: usize,
    suffix: &[u8],
    out: &mut BytesColumn,
) -> Result<(), Trap> {
    let ends = values.ends.get(..rows).ok_or(Trap)?;
    let total = ends.last().map_or(0, |end| *end as usize) + rows * suffix.len();
    let length = u32::try_from(suffix.len()).map_err(|_| Trap)?;
    if total > VECTOR_BYTES {
        return Err(Trap);
    }
    out.ends.extend(ends.iter().zip(1u32..).map(|(end, values)| end + values * length));
    // what a chunk writes too much, the next value overwrites
    out.bytes.resize(total + CHUNK, 0);
    let (mut from, mut to) = (0, 0);
    for end in ends {
        let end = *end as usize;
        copy(&values.bytes, from, end - from, &mut out.bytes, to);
        to += end - from;
        match suffix {
            [one] => out.bytes[to] = *one,
            many => out.bytes[to..to + many.len()].copy_from_slice(many),
        }
        to += suffix.len();
        from = end;
    }
    out.bytes.truncate(total);
    Ok(())
}

#[inline]
fn copy(source: &[u8], from: usize, length: usize, target: &mut [u8], to: usize) {
    if length <= CHUNK
        && let Some(chunk) = source.get(from..from + CHUNK)
        && let Some(place) = target.get_mut(to..to + CHUNK)
    {
        place.copy_from_slice(chunk);
    } else {
        target[to..to + length].copy_from_slice(&source[from..from + length]);
    }
}

/// LIKE over every row. What takes long is done row by row, where it can be cancelled.
pub(super) fn like(
    arg: &Operand<'_>,
    pattern: &LikePattern,
    negated: bool,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let out = out.bools_mut().ok_or(Trap)?;
    let mut go_on = || Err(Trap);
    let mut work = Work::new(&mut go_on);
    let mut test =
        |value: &[u8]| -> Result<u8, Trap> { Ok(u8::from(pattern.matches(value, &mut work)? != negated)) };
    match arg {
        Operand::Column(data) => {
            for value in data.bytes().ok_or(Trap)?.iter().take(rows) {
                out.push(test(value)?);
            }
        }
        Operand::Constant(data) => out.resize(rows, test(data.bytes().ok_or(Trap)?.get(0))?),
    }
    Ok(())
}

/// LIKE of every row's own pattern, whose escape character is the backslash.
pub(super) fn like_each(
    arg: &Operand<'_>,
    pattern: &Operand<'_>,
    negated: bool,
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let out = out.bools_mut().ok_or(Trap)?;
    let mut go_on = || Err(Trap);
    let mut work = Work::new(&mut go_on);
    for row in 0..rows {
        // No error for a pattern that nobody asks.
        let fits = !nulls.is_null(row)
            && fits_given(value(pattern, row)?, b"\\", value(arg, row)?, &mut work)? != negated;
        out.push(u8::from(fits));
    }
    Ok(())
}

/// The text of a row.
fn value<'o>(operand: &'o Operand<'_>, row: usize) -> Result<&'o [u8], Trap> {
    match operand {
        Operand::Column(data) => Ok(data.bytes().ok_or(Trap)?.get(row)),
        Operand::Constant(data) => Ok(data.bytes().ok_or(Trap)?.get(0)),
    }
}
