//! Arithmetic of numerics of which each row has a scale of its own: columns without bounds, and what is computed of them.
//!
//! A value that is no [`Decimal`], and a result that is none, traps: rows know all numbers.

use verso_types::decimal::DecimalError;
use verso_types::{ColumnData, Decimal, NullMask, Physical};

use super::eval::{Evaluation, strict};
use super::scratch::{Scratch, Vector};
use super::{Node, Repr};
use crate::functions::kernel::{NumericOp, Operand, Trap};

/// A function of decimals.
type Compute = fn(&Decimal, &Decimal) -> Result<Decimal, DecimalError>;

/// An operation on two numbers.
pub(super) struct Decimals {
    compute: Compute,
    args: [Node; 2],
    /// Of the columns of scaled integers among them.
    scales: [u8; 2],
    divides: bool,
}

impl Decimals {
    /// An operation on numerics however they stand; `None` of others.
    pub(super) fn new(op: NumericOp, args: [Node; 2], reprs: [&Repr; 2]) -> Option<Decimals> {
        let compute = match op {
            NumericOp::Add => Decimal::checked_add,
            NumericOp::Subtract => Decimal::checked_sub,
            NumericOp::Multiply => Decimal::checked_mul,
            NumericOp::Divide => Decimal::checked_div,
            NumericOp::Negate | NumericOp::Absolute => return None,
        };
        let scales = reprs.map(|repr| repr.scale().unwrap_or_default());
        Some(Decimals { compute, args, scales, divides: op == NumericOp::Divide })
    }

    /// Whether rows that nobody asks for may well have no result.
    pub(super) fn is_partial(&self) -> bool {
        self.divides
    }

    /// The nodes below.
    pub(super) fn args(&self) -> &[Node; 2] {
        &self.args
    }

    pub(super) fn eval<'a>(
        &self,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Vector<'a>, Trap> {
        strict(&self.args, Physical::Bytes, over, scratch, |args, nulls, rows, out| {
            let of = |at: usize| Numbers::of(&args[at].operand(), self.scales[at]);
            self.fill((of(0), of(1)), nulls, |row| over.reaches(row), rows, out)
        })
    }

    fn fill(
        &self,
        (left, right): (Numbers<'_>, Numbers<'_>),
        nulls: &NullMask,
        reaches: impl Fn(usize) -> bool,
        rows: usize,
        out: &mut ColumnData,
    ) -> Result<(), Trap> {
        let out = out.bytes_mut().ok_or(Trap)?;
        let some = nulls.any();
        for row in 0..rows {
            if !(some && nulls.is_null(row)) && reaches(row) {
                let result = (self.compute)(&left.get(row)?, &right.get(row)?).map_err(|_| Trap)?;
                result.to_bytes(&mut out.bytes);
            }
            out.end_value();
        }
        Ok(())
    }
}

/// The numbers of an argument.
struct Numbers<'a> {
    data: &'a ColumnData,
    is_one: bool,
    scale: u8,
}

impl<'a> Numbers<'a> {
    fn of(operand: &Operand<'a>, scale: u8) -> Numbers<'a> {
        let (data, is_one) = operand.data();
        Numbers { data, is_one, scale }
    }

    #[inline]
    fn get(&self, row: usize) -> Result<Decimal, Trap> {
        let row = if self.is_one { 0 } else { row };
        match self.data {
            ColumnData::Bytes(values) => Ok(Decimal::from_bytes(values.get(row))?),
            ColumnData::I64(values) => Ok(Decimal::from_scaled_i64(values[row], self.scale)),
            ColumnData::I128(values) => Decimal::new(values[row], self.scale).map_err(|_| Trap),
            _ => Err(Trap),
        }
    }
}
