//! Kernels of texts.

use verso_types::ColumnData;

use crate::expr::like::LikePattern;
use crate::functions::kernel::{Operand, Trap};

/// Row by row one behind the other: `name || '1'`.
pub(super) fn concat(args: &[Operand<'_>], rows: usize, out: &mut ColumnData) -> Result<(), Trap> {
    let out = out.bytes_mut().ok_or(Trap)?;
    let mut bytes = 0;
    for arg in args {
        bytes += match arg {
            Operand::Column(data) => data.bytes().ok_or(Trap)?.bytes.len(),
            Operand::Constant(data) => data.bytes().ok_or(Trap)?.bytes.len() * rows,
        };
    }
    out.reserve(rows, bytes);
    match args {
        [Operand::Column(left), Operand::Constant(right)] => {
            let (left, right) = (left.bytes().ok_or(Trap)?, right.bytes().ok_or(Trap)?);
            for value in left.iter().take(rows) {
                out.bytes.extend_from_slice(value);
                // most often a character or two: cheaper than a call to memcpy
                match right.bytes.as_slice() {
                    [one] => out.bytes.push(*one),
                    many => out.bytes.extend_from_slice(many),
                }
                out.end_value();
            }
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
                out.end_value();
            }
        }
    }
    Ok(())
}

/// LIKE over every row.
pub(super) fn like(
    arg: &Operand<'_>,
    pattern: &LikePattern,
    negated: bool,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let out = out.bools_mut().ok_or(Trap)?;
    let test = |value: &[u8]| u8::from(pattern.matches_bytes(value) != negated);
    match arg {
        Operand::Column(data) => out.extend(data.bytes().ok_or(Trap)?.iter().take(rows).map(test)),
        Operand::Constant(data) => out.resize(rows, test(data.bytes().ok_or(Trap)?.get(0))),
    }
    Ok(())
}
