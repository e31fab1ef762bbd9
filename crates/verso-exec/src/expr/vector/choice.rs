//! COALESCE, NULLIF, IS [NOT] DISTINCT FROM and IS [NOT] TRUE, FALSE, UNKNOWN over columns: what is told by NULLs.

use verso_types::{Column, NullMask, Physical};

use super::case::{fill, reach};
use super::compare::{self, Order};
use super::eval::{Evaluation, no_value};
use super::scratch::{Scratch, Vector};
use super::{Node, is_long, repeat};
use crate::functions::kernel::{CompareOp, Trap};

/// The first argument of each row that is not NULL. Later ones are computed for the rows that reach them (X3).
pub(super) fn coalesce<'a>(
    args: &[Node],
    out: Physical,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let rows = over.batch.rows;
    // The argument that each row takes; the last one's NULLs are the result's.
    let last = u8::try_from(args.len()).ok().and_then(|count| count.checked_sub(1)).ok_or(Trap)?;
    let mut taken = vec![last; rows];
    let mut reached = Vec::new();
    let mut results = Vec::with_capacity(args.len());
    for (number, arg) in (0..=last).zip(args) {
        if !reach(&mut reached, &taken, last, over) {
            results.push(no_value(out, scratch));
            continue;
        }
        let vector = arg.eval(&over.of(&reached), scratch)?;
        if number < last {
            match vector.nulls() {
                // One value for all rows.
                None if vector.is_null_constant() => {}
                None => take(&mut taken, last, number, &NullMask::default()),
                Some(nulls) if number == 0 && !nulls.any() => return Ok(vector),
                Some(nulls) => take(&mut taken, last, number, nulls),
            }
        }
        results.push(vector);
    }
    let mut column = scratch.take(out);
    fill(&mut column, &taken, &results)?;
    results.into_iter().for_each(|result| scratch.drop_vector(result));
    Ok(Vector::Owned(column))
}

/// Rows that have taken nothing yet take this argument where it is not NULL.
fn take(taken: &mut [u8], last: u8, number: u8, nulls: &NullMask) {
    let some = nulls.any();
    for (row, taken) in taken.iter_mut().enumerate() {
        if *taken == last && !(some && nulls.is_null(row)) {
            *taken = number;
        }
    }
}

/// The value, or NULL where `equal` is true.
pub(super) fn null_if<'a>(
    arg: &Node,
    equal: &Node,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let rows = over.batch.rows;
    let equal = equal.eval(over, scratch)?;
    let vector = arg.eval(over, scratch)?;
    let is_equal = |row: usize| {
        let (column, row) = at(&equal, row);
        !column.nulls.is_null(row) && column.data.bools().is_some_and(|values| values[row] != 0)
    };
    let mut out = match vector {
        Vector::Owned(column) => column,
        Vector::Borrowed(column) => {
            let mut out = scratch.take(column.physical());
            out.append(column);
            out
        }
        Vector::Constant(column) if is_long(&column, rows) => return Err(Trap),
        Vector::Constant(column) => {
            let mut out = scratch.take(column.physical());
            repeat(&column, rows, &mut out);
            out
        }
    };
    (0..rows).filter(|row| is_equal(*row)).for_each(|row| out.nulls.set(row));
    scratch.drop_vector(equal);
    Ok(Vector::Owned(out))
}

/// Whether two values differ, where NULL is a value like others; `negated` whether they do not.
pub(super) fn is_distinct<'a>(
    order: Order,
    [left, right]: &[Node; 2],
    negated: bool,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let rows = over.batch.rows;
    let (left, right) = (left.eval(over, scratch)?, right.eval(over, scratch)?);
    let (a, b) = (nulls(&left, rows), nulls(&right, rows));
    let mut either = a.clone();
    either.union(&b);
    let mut out = scratch.take(Physical::Bool);
    let op = if negated { CompareOp::Equal } else { CompareOp::NotEqual };
    compare::compare(op, order, &left.operand(), &right.operand(), &either, rows, &mut out.data)?;
    let values = out.data.bools_mut().ok_or(Trap)?;
    for row in either.iter().take_while(|row| *row < rows) {
        let same = a.is_null(row) && b.is_null(row);
        values[row] = u8::from(same == negated);
    }
    scratch.drop_vector(left);
    scratch.drop_vector(right);
    Ok(Vector::Owned(out))
}

/// The rows of a vector that are NULL.
fn nulls(vector: &Vector<'_>, rows: usize) -> NullMask {
    let mut out = NullMask::default();
    match vector.nulls() {
        Some(nulls) => out.union(nulls),
        None if vector.is_null_constant() => out.set_range(0..rows),
        None => {}
    }
    out
}

/// Whether a truth value is this one, where unknown is a value like others; `negated` whether it is not.
pub(super) fn is_bool<'a>(
    arg: &Node,
    wanted: Option<bool>,
    negated: bool,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let vector = arg.eval(over, scratch)?;
    let column = vector.column();
    let values = column.data.bools().ok_or(Trap)?;
    let known = |row: usize, value: u8| (!column.nulls.is_null(row)).then_some(value != 0);
    let mut out = scratch.take(Physical::Bool);
    let holds = |(row, value): (usize, &u8)| u8::from((known(row, *value) == wanted) != negated);
    out.data.bools_mut().ok_or(Trap)?.extend(values.iter().enumerate().map(holds));
    let constant = matches!(vector, Vector::Constant(_));
    scratch.drop_vector(vector);
    Ok(if constant { Vector::Constant(out) } else { Vector::Owned(out) })
}

/// The column and the place in it of a row's value.
fn at<'v>(vector: &'v Vector<'_>, row: usize) -> (&'v Column, usize) {
    (vector.column(), if matches!(vector, Vector::Constant(_)) { 0 } else { row })
}
