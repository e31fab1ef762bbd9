//! Arithmetic of scaled integers.
//!
//! Sums are taken at the larger scale of both sides, products at the sum of the scales: PostgreSQL's result
//! scales. What leaves 64 bits traps; products of 64-bit integers may have 128, and have them in the columns of those who do not
//! ask for [narrow](Node::eval_narrow) ones.

use verso_types::decimal::POW10;
use verso_types::{ColumnData, NullMask, Physical};

use super::{Node, Repr};
use crate::functions::kernel::{self, ElementError, ElementResult, NumericOp, Operand, Trap};

/// What an element function reports; only that it does counts, as kernels trap.
const OVERFLOW: ElementError = ElementError::OutOfRange("numeric");

/// A kernel over scaled integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    Add64,
    Subtract64,
    /// 64 by 64 to 128 bits.
    Multiply64,
    Negate64,
    Absolute64,
    Add128,
    Subtract128,
    Multiply128,
    Negate128,
    Absolute128,
    /// Times a power of ten.
    Upscale64(i64),
    Upscale128(i128),
    /// 64 to 128 bits.
    Widen,
}

/// Checked to stay a numeric: below 10^38.
#[inline]
fn within(value: Option<i128>) -> ElementResult<i128> {
    match value {
        Some(value) if value.unsigned_abs() < POW10[38].unsigned_abs() => Ok(value),
        _ => Err(OVERFLOW),
    }
}

impl Op {
    pub fn physical(self) -> Physical {
        match self {
            Op::Add64 | Op::Subtract64 | Op::Negate64 | Op::Absolute64 | Op::Upscale64(_) => Physical::I64,
            _ => Physical::I128,
        }
    }

    /// Whether its arguments have 128 bits.
    pub fn takes_wide(self) -> bool {
        matches!(
            self,
            Op::Add128
                | Op::Subtract128
                | Op::Multiply128
                | Op::Negate128
                | Op::Absolute128
                | Op::Upscale128(_)
        )
    }

    /// The same over integers of 64 bits, of one that yields 128; traps where a result does not fit.
    pub fn apply_narrow(
        self,
        args: &[Operand<'_>],
        nulls: &NullMask,
        rows: usize,
        out: &mut ColumnData,
    ) -> Result<(), Trap> {
        match self {
            Op::Add128 => Op::Add64.apply(args, nulls, rows, out),
            Op::Subtract128 => Op::Subtract64.apply(args, nulls, rows, out),
            Op::Negate128 => Op::Negate64.apply(args, nulls, rows, out),
            Op::Absolute128 => Op::Absolute64.apply(args, nulls, rows, out),
            Op::Upscale128(factor) => {
                Op::Upscale64(i64::try_from(factor).map_err(|_| Trap)?).apply(args, nulls, rows, out)
            }
            Op::Multiply64 | Op::Multiply128 => kernel::binary_quick(
                args,
                nulls,
                rows,
                out,
                |a: i64, b: i64| a.overflowing_mul(b),
                |a, b| a.checked_mul(b).ok_or(OVERFLOW),
            ),
            Op::Widen => kernel::unary(args, nulls, rows, out, |a: i64| Ok(a)),
            Op::Add64 | Op::Subtract64 | Op::Negate64 | Op::Absolute64 | Op::Upscale64(_) => {
                self.apply(args, nulls, rows, out)
            }
        }
    }

    pub fn apply(
        self,
        args: &[Operand<'_>],
        nulls: &NullMask,
        rows: usize,
        out: &mut ColumnData,
    ) -> Result<(), Trap> {
        match self {
            Op::Add64 => kernel::binary_quick(
                args,
                nulls,
                rows,
                out,
                |a: i64, b: i64| {
                    let sum = a.wrapping_add(b);
                    (sum, (a ^ sum) & (b ^ sum) < 0)
                },
                |a, b| a.checked_add(b).ok_or(OVERFLOW),
            ),
            Op::Subtract64 => kernel::binary_quick(
                args,
                nulls,
                rows,
                out,
                |a: i64, b: i64| {
                    let difference = a.wrapping_sub(b);
                    (difference, (a ^ b) & (a ^ difference) < 0)
                },
                |a, b| a.checked_sub(b).ok_or(OVERFLOW),
            ),
            Op::Multiply64 => kernel::binary(args, nulls, rows, out, |a: i64, b: i64| {
                within(Some(i128::from(a) * i128::from(b)))
            }),
            Op::Negate64 => kernel::unary(args, nulls, rows, out, |a: i64| a.checked_neg().ok_or(OVERFLOW)),
            Op::Absolute64 => kernel::unary(args, nulls, rows, out, |a: i64| a.checked_abs().ok_or(OVERFLOW)),
            Op::Add128 => kernel::binary(args, nulls, rows, out, |a: i128, b: i128| within(a.checked_add(b))),
            Op::Subtract128 => {
                kernel::binary(args, nulls, rows, out, |a: i128, b: i128| within(a.checked_sub(b)))
            }
            Op::Multiply128 => {
                kernel::binary(args, nulls, rows, out, |a: i128, b: i128| within(a.checked_mul(b)))
            }
            Op::Negate128 => kernel::unary(args, nulls, rows, out, |a: i128| Ok(-a)),
            Op::Absolute128 => kernel::unary(args, nulls, rows, out, |a: i128| Ok(a.abs())),
            Op::Upscale64(factor) => {
                kernel::unary(args, nulls, rows, out, |a: i64| a.checked_mul(factor).ok_or(OVERFLOW))
            }
            Op::Upscale128(factor) => {
                kernel::unary(args, nulls, rows, out, |a: i128| within(a.checked_mul(factor)))
            }
            Op::Widen => kernel::unary(args, nulls, rows, out, |a: i64| Ok(i128::from(a))),
        }
    }
}

fn node(op: Op, arg: Node) -> Node {
    Node::Numeric { op, args: vec![arg] }
}

/// The same values with 128 bits.
pub(super) fn widen(arg: Node, repr: &Repr) -> Node {
    if matches!(repr, Repr::Scaled64(_)) { node(Op::Widen, arg) } else { arg }
}

/// The same values at a larger scale.
fn upscale(arg: Node, wide: bool, from: u8, to: u8) -> Option<Node> {
    let factor = *POW10.get(usize::from(to - from))?;
    if factor == 1 {
        return Some(arg);
    }
    let op = if wide { Op::Upscale128(factor) } else { Op::Upscale64(i64::try_from(factor).ok()?) };
    Some(node(op, arg))
}

/// Both sides at one scale and width: the sides, the scale, whether wide.
pub(super) fn align(
    (left, left_repr): (Node, &Repr),
    (right, right_repr): (Node, &Repr),
) -> Option<(Node, Node, u8, bool)> {
    let (a, b) = (left_repr.scale()?, right_repr.scale()?);
    let scale = a.max(b);
    let narrow = |repr: &Repr| matches!(repr, Repr::Scaled64(_));
    let wide = !narrow(left_repr) || !narrow(right_repr) || scale.abs_diff(a.min(b)) > 18;
    let (left, right) = if wide { (widen(left, left_repr), widen(right, right_repr)) } else { (left, right) };
    Some((upscale(left, wide, a, scale)?, upscale(right, wide, b, scale)?, scale, wide))
}

pub(super) fn binary(op: NumericOp, left: (Node, &Repr), right: (Node, &Repr)) -> Option<(Node, Repr)> {
    if op == NumericOp::Multiply {
        return multiply(left, right);
    }
    let (left, right, scale, wide) = align(left, right)?;
    let op = match (op, wide) {
        (NumericOp::Add, false) => Op::Add64,
        (NumericOp::Add, true) => Op::Add128,
        (NumericOp::Subtract, false) => Op::Subtract64,
        (NumericOp::Subtract, true) => Op::Subtract128,
        _ => return None,
    };
    let repr = if wide { Repr::Scaled128(scale) } else { Repr::Scaled64(scale) };
    Some((Node::Numeric { op, args: vec![left, right] }, repr))
}

fn multiply((left, a): (Node, &Repr), (right, b): (Node, &Repr)) -> Option<(Node, Repr)> {
    let scale = a.scale()?.checked_add(b.scale()?).filter(|scale| *scale <= 38)?;
    let narrow = matches!((a, b), (Repr::Scaled64(_), Repr::Scaled64(_)));
    let node = if narrow {
        Node::Numeric { op: Op::Multiply64, args: vec![left, right] }
    } else {
        Node::Numeric { op: Op::Multiply128, args: vec![widen(left, a), widen(right, b)] }
    };
    Some((node, Repr::Scaled128(scale)))
}

pub(super) fn unary(op: NumericOp, arg: Node, repr: &Repr) -> Option<(Node, Repr)> {
    repr.scale()?;
    let kernel = match (op, repr) {
        (NumericOp::Negate, Repr::Scaled64(_)) => Op::Negate64,
        (NumericOp::Negate, _) => Op::Negate128,
        (NumericOp::Absolute, Repr::Scaled64(_)) => Op::Absolute64,
        (NumericOp::Absolute, _) => Op::Absolute128,
        _ => return None,
    };
    Some((node(kernel, arg), repr.clone()))
}
