//! Three-valued logic over columns.

use verso_types::{Column, Physical};

use super::Node;
use super::eval::Evaluation;
use super::scratch::{Scratch, Vector};
use crate::functions::kernel::Trap;

/// AND (`stop` is false) and OR (`stop` is true) of all arguments.
///
/// All of them are evaluated; an error that a row would not have met, because an earlier argument decides,
/// traps and is sorted out row by row. `by_need` what runs row by row is evaluated for the rows that nothing has decided yet.
pub(super) fn connective<'a>(
    args: &[Node],
    (stop, by_need): (bool, bool),
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let rows = over.batch.rows;
    let mut result = scratch.take(Physical::Bool);
    result.data.bools_mut().ok_or(Trap)?.resize(rows, u8::from(!stop));
    let mut open = Vec::new();
    for (place, arg) in args.iter().enumerate() {
        let vector = if by_need && place > 0 {
            let values = result.data.bools().ok_or(Trap)?;
            let is_open = |(row, value): (usize, &u8)| {
                over.reaches(row) && ((*value != 0) != stop || result.nulls.is_null(row))
            };
            open.clear();
            open.extend(values.iter().enumerate().map(is_open));
            if !open.contains(&true) {
                break;
            }
            arg.eval(&over.of(&open), scratch)?
        } else {
            arg.eval(over, scratch)?
        };
        match &vector {
            Vector::Constant(column) if column.nulls.any() => combine_null(&mut result, stop)?,
            Vector::Constant(column) => {
                let value = column.data.bools().ok_or(Trap)?[0] != 0;
                if value == stop {
                    // decided for every row
                    result.nulls.clear();
                    result.data.bools_mut().ok_or(Trap)?.fill(u8::from(stop));
                }
            }
            Vector::Borrowed(column) => combine(&mut result, column, stop)?,
            Vector::Owned(column) => combine(&mut result, column, stop)?,
        }
        scratch.drop_vector(vector);
    }
    Ok(Vector::Owned(result))
}

fn combine(result: &mut Column, arg: &Column, stop: bool) -> Result<(), Trap> {
    let args = arg.data.bools().ok_or(Trap)?;
    let values = result.data.bools_mut().ok_or(Trap)?;
    if !result.nulls.any() && !arg.nulls.any() {
        if stop {
            values.iter_mut().zip(args).for_each(|(a, b)| *a |= b);
        } else {
            values.iter_mut().zip(args).for_each(|(a, b)| *a &= b);
        }
        return Ok(());
    }
    for (row, (value, new)) in values.iter_mut().zip(args).enumerate() {
        let known = |null: bool, value: u8| (!null).then_some(value != 0);
        let decided = known(result.nulls.is_null(row), *value) == Some(stop)
            || known(arg.nulls.is_null(row), *new) == Some(stop);
        let unknown = result.nulls.is_null(row) || arg.nulls.is_null(row);
        if decided {
            *value = u8::from(stop);
            result.nulls.unset(row);
        } else if unknown {
            result.nulls.set(row);
        }
    }
    Ok(())
}

/// An argument that is NULL for every row.
fn combine_null(result: &mut Column, stop: bool) -> Result<(), Trap> {
    let values = result.data.bools().ok_or(Trap)?;
    for (row, value) in values.iter().enumerate() {
        if result.nulls.is_null(row) || (*value != 0) != stop {
            result.nulls.set(row);
        }
    }
    Ok(())
}

/// IS [NOT] NULL.
pub(super) fn is_null<'a>(
    arg: &Node,
    negated: bool,
    over: &Evaluation<'a, '_>,
    scratch: &mut Scratch,
) -> Result<Vector<'a>, Trap> {
    let vector = arg.eval(over, scratch)?;
    let mut result = scratch.take(Physical::Bool);
    let values = result.data.bools_mut().ok_or(Trap)?;
    match vector.nulls() {
        None => values.push(u8::from(vector.is_null_constant() != negated)),
        Some(nulls) => {
            values.resize(over.batch.rows, u8::from(negated));
            nulls.iter().for_each(|row| values[row] = u8::from(!negated));
        }
    }
    let constant = matches!(vector, Vector::Constant(_));
    scratch.drop_vector(vector);
    Ok(if constant { Vector::Constant(result) } else { Vector::Owned(result) })
}
