//! Comparisons of columns.

use std::cmp::Ordering;

use verso_types::value::{cmp_f32, cmp_f64};
use verso_types::{
    BytesColumn, ColumnData, Interval, NullMask, Number, Physical, SqlType, SystemType, byte_of_char,
    cmp_sql, without_blanks,
};

use super::{Node, Repr, numeric};
use crate::functions::kernel::{self, CompareOp, Operand, Trap};

/// How the values of a layout compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Order {
    Bool,
    I16,
    I32,
    I64,
    /// xid8
    U64,
    /// Scaled integers.
    I128,
    /// uuid
    Unsigned128,
    Interval,
    F32,
    F64,
    /// Text and bytea, by bytes.
    Bytes,
    /// char without a length, whose blanks at the end do not count.
    Padded,
    /// "char", by its byte.
    Single,
    /// Numerics of any scale, which stand as bytes.
    Number,
}

/// The order of two sides, brought to one scale; `None` where only rows can be compared.
pub(super) fn order_of((left, a): (Node, &Repr), (right, b): (Node, &Repr)) -> Option<(Order, Node, Node)> {
    if let (Repr::Native(x), Repr::Native(y)) = (a, b) {
        let same = x.same_base(y) || x.is_text() && y.is_text();
        let order = match native(x).filter(|_| same)? {
            Order::Bytes if *x == SqlType::Char(None) || *y == SqlType::Char(None) => Order::Padded,
            Order::Bytes if [x, y].iter().all(|ty| **ty == SqlType::System(SystemType::Char)) => {
                Order::Single
            }
            order => order,
        };
        return Some((order, left, right));
    }
    let (left, right, _, wide) = numeric::align((left, a), (right, b))?;
    Some((if wide { Order::I128 } else { Order::I64 }, left, right))
}

fn native(ty: &SqlType) -> Option<Order> {
    Some(match (ty, ty.physical()) {
        (SqlType::Numeric(_) | SqlType::LongNumeric(_), Physical::Bytes) => Order::Number,
        (SqlType::Numeric(_) | SqlType::LongNumeric(_) | SqlType::Array(_) | SqlType::Record, _) => {
            return None;
        }
        (SqlType::Row(_) | SqlType::Jsonb | SqlType::Range(_) | SqlType::Multirange(_), _) => return None,
        (SqlType::Interval(_), _) => Order::Interval,
        (SqlType::Uuid, _) => Order::Unsigned128,
        (SqlType::System(SystemType::Xid8), _) => Order::U64,
        (_, Physical::Bool) => Order::Bool,
        (_, Physical::I16) => Order::I16,
        (_, Physical::I32) => Order::I32,
        (_, Physical::I64) => Order::I64,
        (_, Physical::I128) => return None,
        (_, Physical::F32) => Order::F32,
        (_, Physical::F64) => Order::F64,
        (_, Physical::Bytes) => Order::Bytes,
    })
}

pub(super) fn compare(
    op: CompareOp,
    order: Order,
    left: &Operand<'_>,
    right: &Operand<'_>,
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let args = &[*left, *right];
    match order {
        Order::Bool => ordered::<u8>(op, args, nulls, rows, out),
        Order::I16 => ordered::<i16>(op, args, nulls, rows, out),
        Order::I32 => ordered::<i32>(op, args, nulls, rows, out),
        Order::I64 => ordered::<i64>(op, args, nulls, rows, out),
        Order::U64 => by::<i64>(op, args, nulls, rows, out, |a, b| a.cast_unsigned().cmp(&b.cast_unsigned())),
        Order::I128 => ordered::<i128>(op, args, nulls, rows, out),
        Order::Unsigned128 => {
            by::<i128>(op, args, nulls, rows, out, |a, b| a.cast_unsigned().cmp(&b.cast_unsigned()))
        }
        Order::Interval => by::<i128>(op, args, nulls, rows, out, |a, b| {
            Interval::unpack(a).span().cmp(&Interval::unpack(b).span())
        }),
        Order::F32 => by::<f32>(op, args, nulls, rows, out, cmp_f32),
        Order::F64 => by::<f64>(op, args, nulls, rows, out, cmp_f64),
        Order::Bytes => bytes(op, left, right, rows, out),
        Order::Padded => by_key(op, (left, right), rows, out, without_blanks),
        // A byte has one text only.
        Order::Single if matches!(op, CompareOp::Equal | CompareOp::NotEqual) => {
            bytes(op, left, right, rows, out)
        }
        Order::Single => by_key(op, (left, right), rows, out, byte_of_char),
        Order::Number => numbers(op, left, right, nulls, rows, out),
    }
}

/// Numerics as they stand in bytes.
fn numbers(
    op: CompareOp,
    left: &Operand<'_>,
    right: &Operand<'_>,
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let number = |bytes: &[u8]| Number::value_from_bytes(bytes).map_err(|_| Trap);
    let constant = |operand: &Operand<'_>| match operand {
        Operand::Constant(data) => number(values(data)?.get(0)).map(Some),
        Operand::Column(_) => Ok(None),
    };
    let (a, b) = (constant(left)?, constant(right)?);
    let out = out.bools_mut().ok_or(Trap)?;
    let at = |operand: &Operand<'_>, row: usize| match operand {
        Operand::Column(data) | Operand::Constant(data) => number(values(data)?.get(row)),
    };
    let any_nulls = nulls.any();
    for row in 0..rows {
        if any_nulls && nulls.is_null(row) {
            out.push(0);
            continue;
        }
        let order = match (&a, &b) {
            (Some(a), Some(b)) => cmp_sql(a, b),
            (Some(a), None) => cmp_sql(a, &at(right, row)?),
            (None, Some(b)) => cmp_sql(&at(left, row)?, b),
            (None, None) => cmp_sql(&at(left, row)?, &at(right, row)?),
        };
        out.push(u8::from(op.holds(order)));
    }
    Ok(())
}

/// One loop per comparison, so that it compiles to vector instructions.
fn ordered<T: kernel::Element + Ord>(
    op: CompareOp,
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    macro_rules! each {
        ($f:expr) => {
            kernel::binary(args, nulls, rows, out, |a: T, b: T| Ok(u8::from($f(&a, &b))))
        };
    }
    match op {
        CompareOp::Equal => each!(T::eq),
        CompareOp::NotEqual => each!(T::ne),
        CompareOp::Less => each!(T::lt),
        CompareOp::LessOrEqual => each!(T::le),
        CompareOp::Greater => each!(T::gt),
        CompareOp::GreaterOrEqual => each!(T::ge),
    }
}

fn by<T: kernel::Element>(
    op: CompareOp,
    args: &[Operand<'_>],
    nulls: &NullMask,
    rows: usize,
    out: &mut ColumnData,
    order: impl Fn(T, T) -> Ordering,
) -> Result<(), Trap> {
    kernel::binary(args, nulls, rows, out, |a: T, b: T| Ok(u8::from(op.holds(order(a, b)))))
}

fn bytes(
    op: CompareOp,
    left: &Operand<'_>,
    right: &Operand<'_>,
    rows: usize,
    out: &mut ColumnData,
) -> Result<(), Trap> {
    let out = out.bools_mut().ok_or(Trap)?;
    match (left, right) {
        (Operand::Column(a), Operand::Column(b)) => {
            let (a, b) = (values(a)?, values(b)?);
            out.extend(a.iter().zip(b.iter()).map(|(a, b)| u8::from(op.holds(a.cmp(b)))));
        }
        (Operand::Column(a), Operand::Constant(b)) => {
            let b = values(b)?.get(0);
            match op {
                CompareOp::Equal => out.extend(values(a)?.iter().map(|a| u8::from(a == b))),
                CompareOp::NotEqual => out.extend(values(a)?.iter().map(|a| u8::from(a != b))),
                _ => out.extend(values(a)?.iter().map(|a| u8::from(op.holds(a.cmp(b))))),
            }
        }
        (Operand::Constant(a), Operand::Column(b)) => {
            let a = values(a)?.get(0);
            out.extend(values(b)?.iter().map(|b| u8::from(op.holds(a.cmp(b)))));
        }
        (Operand::Constant(a), Operand::Constant(b)) => {
            let holds = u8::from(op.holds(values(a)?.get(0).cmp(values(b)?.get(0))));
            out.resize(rows, holds);
        }
    }
    Ok(())
}

/// Values by what `key` makes of their bytes: texts without the blanks at their end, the byte of a "char".
fn by_key<'d, K: Ord>(
    op: CompareOp,
    (left, right): (&Operand<'d>, &Operand<'d>),
    rows: usize,
    out: &mut ColumnData,
    key: impl Fn(&'d [u8]) -> K,
) -> Result<(), Trap> {
    let out = out.bools_mut().ok_or(Trap)?;
    for row in 0..rows {
        let order = key(at(left, row)?).cmp(&key(at(right, row)?));
        out.push(u8::from(op.holds(order)));
    }
    Ok(())
}

/// The bytes of an operand in a row.
fn at<'d>(operand: &Operand<'d>, row: usize) -> Result<&'d [u8], Trap> {
    Ok(match operand {
        Operand::Column(data) => values(data)?.get(row),
        Operand::Constant(data) => values(data)?.get(0),
    })
}

fn values(data: &ColumnData) -> Result<&BytesColumn, Trap> {
    data.bytes().ok_or(Trap)
}
