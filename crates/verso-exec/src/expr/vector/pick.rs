//! `array[i]` of an array that is the same for a batch: its elements stand in a column once, rows are gathered from it.

use verso_types::{Array, Column, SqlType, Value};

use super::Node;
use super::eval::Evaluation;
use super::scratch::{Scratch, Vector};
use crate::expr::list::VECTOR_BYTES;
use crate::expr::row::RowExpr;
use crate::functions::kernel::Trap;
use crate::plan::TypedExpr;

/// Arrays of more elements are left to the closures: making a column of them may cost more than the rows do.
const ELEMENTS_MAX: usize = 1 << 10;

/// An element by its subscript; NULL where there is none.
pub(super) struct Pick {
    array: RowExpr,
    subscript: Box<Node>,
    /// Of the elements.
    ty: SqlType,
}

impl Pick {
    /// An element of `array`, which depends on no row.
    pub(super) fn new(array: &TypedExpr, subscript: Node, ty: &SqlType) -> Pick {
        Pick { array: RowExpr::compile(array), subscript: Box::new(subscript), ty: ty.clone() }
    }

    /// The node below.
    pub(super) fn subscript(&self) -> &Node {
        &self.subscript
    }

    pub(super) fn eval<'a>(
        &self,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Vector<'a>, Trap> {
        let array = match self.array.eval_constant(over.cx).map_err(|_| Trap)? {
            Value::Array(array) if array.is_plain() && array.len() <= ELEMENTS_MAX => Some(array),
            Value::Null => None,
            _ => return Err(Trap),
        };
        // Also of a NULL the subscript is computed: it may fail.
        let subscript = self.subscript.eval(over, scratch)?;
        let mut out = scratch.take(self.ty.physical());
        let Some(array) = array else {
            scratch.drop_vector(subscript);
            out.push_null();
            return Ok(Vector::Constant(out));
        };
        // Behind the last element stands the NULL of all that is elsewhere.
        let nowhere = array.len() as u32;
        let place = |at: i32| match u32::try_from(i64::from(at) - 1) {
            Ok(at) if at < nowhere => at,
            _ => nowhere,
        };
        let Column { data, nulls } = subscript.column();
        let places = data.i32s().ok_or(Trap)?.iter();
        let rows: Vec<u32> = match nulls.any() {
            true => {
                let places = places.enumerate();
                places.map(|(row, at)| if nulls.is_null(row) { nowhere } else { place(*at) }).collect()
            }
            false => places.map(|at| place(*at)).collect(),
        };
        self.elements(&array, rows.len())?.gather_into(&rows, &mut out);
        let constant = matches!(subscript, Vector::Constant(_));
        scratch.drop_vector(subscript);
        Ok(if constant { Vector::Constant(out) } else { Vector::Owned(out) })
    }

    /// The elements, and a NULL. Traps where as many rows of the longest would be too much for a column.
    fn elements(&self, array: &Array, rows: usize) -> Result<Column, Trap> {
        let mut column = Column::with_capacity(self.ty.physical(), array.len() + 1);
        for element in array.iter() {
            column.push_value(element, &self.ty).map_err(|_| Trap)?;
        }
        column.push_null();
        let longest = column.data.bytes().map_or(0, verso_types::BytesColumn::longest);
        if longest.saturating_mul(rows) > VECTOR_BYTES { Err(Trap) } else { Ok(column) }
    }
}
