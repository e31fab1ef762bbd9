//! CASE over columns.

use verso_types::{Column, ColumnData, Physical};

use super::Node;
use super::eval::{Evaluation, no_value};
use super::scratch::{Scratch, Vector};
use crate::expr::list::VECTOR_BYTES;
use crate::functions::kernel::Trap;

/// The result of the first condition that is true, row by row.
///
/// All conditions and results are computed for all rows; an error that a row would not have met traps and is sorted out row by
/// row. `by_need` what runs row by row is computed for the rows that reach it, and a part that no row reaches not at all.
pub(super) fn case<'a>(
    branches: &[(Node, Node)],
    otherwise: &Node,
    (out, by_need): (Physical, bool),
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let rows = over.batch.rows;
    // The result that each row takes; that of ELSE is the last one.
    let last = u8::try_from(branches.len()).map_err(|_| Trap)?;
    let mut taken = vec![last; rows];
    let mut reached = Vec::new();
    for (number, (condition, _)) in (0..last).zip(branches) {
        let vector = if by_need {
            if !reach(&mut reached, &taken, last, over) {
                break;
            }
            condition.eval(&over.of(&reached), scratch)?
        } else {
            condition.eval(over, scratch)?
        };
        match &vector {
            Vector::Constant(column) => {
                if !column.nulls.any() && column.data.bools().ok_or(Trap)?[0] != 0 {
                    taken.iter_mut().filter(|taken| **taken == last).for_each(|taken| *taken = number);
                }
            }
            Vector::Borrowed(column) => take(&mut taken, last, number, column)?,
            Vector::Owned(column) => take(&mut taken, last, number, column)?,
        }
        scratch.drop_vector(vector);
    }
    let mut results = Vec::with_capacity(branches.len() + 1);
    for (number, result) in (0..=last).zip(branches.iter().map(|(_, result)| result).chain([otherwise])) {
        results.push(match by_need {
            true if reach(&mut reached, &taken, number, over) => result.eval(&over.of(&reached), scratch)?,
            true => no_value(out, scratch),
            false => result.eval(over, scratch)?,
        });
    }
    let mut column = scratch.take(out);
    fill(&mut column, &taken, &results)?;
    results.into_iter().for_each(|result| scratch.drop_vector(result));
    Ok(Vector::Owned(column))
}

/// Replaces `reached` by the rows that have taken this number, of those whose values are wanted; whether there is one.
pub(super) fn reach(reached: &mut Vec<bool>, taken: &[u8], number: u8, over: &Evaluation<'_, '_>) -> bool {
    reached.clear();
    reached.extend(taken.iter().enumerate().map(|(row, taken)| *taken == number && over.reaches(row)));
    reached.contains(&true)
}

/// Rows that have taken nothing yet and for which the condition is true take this result.
fn take(taken: &mut [u8], last: u8, number: u8, condition: &Column) -> Result<(), Trap> {
    let values = condition.data.bools().ok_or(Trap)?;
    for (row, (taken, value)) in taken.iter_mut().zip(values).enumerate() {
        if *value != 0 && *taken == last && !condition.nulls.is_null(row) {
            *taken = number;
        }
    }
    Ok(())
}

/// Fills a column with the value of each row from the result that it takes.
pub(super) fn fill(out: &mut Column, taken: &[u8], results: &[Vector<'_>]) -> Result<(), Trap> {
    let columns: Vec<(&Column, bool)> = results
        .iter()
        .map(|result| match result {
            Vector::Borrowed(column) => (*column, false),
            Vector::Owned(column) => (column, false),
            Vector::Constant(column) => (column, true),
        })
        .collect();
    macro_rules! fixed {
        ($($variant:ident),*) => {
            match &mut out.data {
                $(ColumnData::$variant(out) => {
                    for (row, taken) in taken.iter().enumerate() {
                        let (column, constant) = columns[usize::from(*taken)];
                        let ColumnData::$variant(values) = &column.data else { return Err(Trap) };
                        out.push(values[if constant { 0 } else { row }]);
                    }
                })*
                ColumnData::Bytes(out) => {
                    for (row, taken) in taken.iter().enumerate() {
                        let (column, constant) = columns[usize::from(*taken)];
                        out.push(column.data.bytes().ok_or(Trap)?.get(if constant { 0 } else { row }));
                        if out.bytes.len() > VECTOR_BYTES {
                            return Err(Trap);
                        }
                    }
                }
            }
        };
    }
    fixed!(Bool, I16, I32, I64, I128, F32, F64);
    if columns.iter().any(|(column, _)| column.nulls.any()) {
        for (row, taken) in taken.iter().enumerate() {
            let (column, constant) = columns[usize::from(*taken)];
            if column.nulls.is_null(if constant { 0 } else { row }) {
                out.nulls.set(row);
            }
        }
    }
    Ok(())
}
