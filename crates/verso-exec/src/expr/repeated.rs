//! Arrays and rows that stand in one row of a batch after the other: they are taken apart once.
//!
//! A column keeps such a value as bytes. A join that hands one array to thousands of rows repeats these bytes, and comparing
//! them costs far less than making the elements again.
//!
//! R1. A value is shared only between rows of one batch whose bytes are the same, read as the same type.
//! R2. Of each column one value is held, and charged to the statement while it is.

use std::cell::RefCell;

use verso_types::{SqlType, Value};

use super::row::RowInput;
use crate::context::EvalContext;
use crate::error::Result;
use crate::memory::LongValues;

/// Shorter values are made anew for each row.
const LONG_BYTES: usize = 512;

/// What the expressions over a batch have read last.
#[derive(Default)]
pub(crate) struct Repeated(RefCell<Vec<Read>>);

struct Read {
    column: usize,
    ty: SqlType,
    row: usize,
    value: Value,
    _held: LongValues,
}

/// Whether values of the type have parts that are made when they are read.
pub(super) fn has_parts(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Array(_) | SqlType::Record | SqlType::Row(_) | SqlType::Range(_) | SqlType::Multirange(_)
    )
}

impl Repeated {
    /// The value of a column whose type [has parts](has_parts).
    ///
    /// # Errors
    /// 53200 where there is no room to hold it.
    pub(super) fn value(
        &self,
        cx: &EvalContext<'_>,
        input: RowInput<'_>,
        column: usize,
        ty: &SqlType,
    ) -> Result<Value> {
        let from = &input.batch.columns[column];
        let bytes = match from.data.bytes() {
            Some(bytes) if !from.is_null(input.row) => bytes,
            _ => return Ok(from.value(input.row, ty)),
        };
        let own = bytes.get(input.row);
        if own.len() < LONG_BYTES {
            return Ok(from.value(input.row, ty));
        }
        let mut reads = self.0.borrow_mut();
        let known = reads.iter().position(|read| read.column == column && read.ty == *ty);
        if let Some(at) = known {
            let read = &mut reads[at];
            if bytes.get(read.row) == own {
                // The next row is compared with this one, whose bytes are near.
                read.row = input.row;
                return Ok(read.value.clone());
            }
            reads.swap_remove(at);
        }
        let value = from.value(input.row, ty);
        let mut held = LongValues::default();
        held.hold(cx, &value, 1)?;
        reads.push(Read { column, ty: ty.clone(), row: input.row, value: value.clone(), _held: held });
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use verso_types::{Array, Batch};

    use super::*;
    use crate::expr::RowExpr;
    use crate::plan::TypedExpr;
    use crate::testing::TestSession;

    fn array(length: i32, first: i32) -> Value {
        Value::Array((first..first + length).map(Value::Int4).collect::<Vec<_>>().into())
    }

    /// What an expression that is the first column yields for the rows of a batch, read one after the other.
    fn read(rows: &[Value], session: &TestSession) -> Vec<Option<Array>> {
        let ty = SqlType::Array(Box::new(SqlType::Int4));
        let mut batch = Batch::of_types(std::slice::from_ref(&ty));
        rows.iter().for_each(|row| {
            batch.push_row(std::slice::from_ref(row), std::slice::from_ref(&ty)).expect("an array");
        });
        let services = session.services();
        let cx = session.context(&services);
        let (expr, repeated) = (RowExpr::compile(&TypedExpr::column(0, ty)), Repeated::default());
        let read = |row| expr.eval(&cx, RowInput::among(&batch, row, &repeated)).expect("a value");
        let arrays = (0..rows.len()).map(read).map(|value| match value {
            Value::Array(array) => Some(array),
            _ => None,
        });
        arrays.collect()
    }

    #[test]
    fn rows_of_the_same_bytes_share_an_array_and_others_do_not() {
        let session = TestSession::default();
        let rows = [array(500, 1), array(500, 1), Value::Null, array(500, 1), array(500, 2), array(500, 1)];
        let read = read(&rows, &session);
        for (row, array) in rows.iter().zip(&read) {
            assert_eq!(array.clone().map_or(Value::Null, Value::Array), *row);
        }
        let same = |a: usize, b: usize| read[a].as_ref().unwrap().is_same(read[b].as_ref().unwrap());
        assert!(same(0, 1) && same(1, 3), "made once, also past a NULL");
        assert!(!same(3, 4) && !same(4, 5), "others are made");
    }

    #[test]
    fn the_array_held_is_charged_until_the_batch_is_done() {
        let session = TestSession::default();
        session.memory.set_limit(1 << 10);
        let services = session.services();
        let cx = session.context(&services);
        let ty = SqlType::Array(Box::new(SqlType::Int4));
        let mut batch = Batch::of_types(std::slice::from_ref(&ty));
        batch.push_row(&[array(100_000, 1)], std::slice::from_ref(&ty)).expect("an array");
        let expr = RowExpr::compile(&TypedExpr::column(0, ty));
        let repeated = Repeated::default();
        assert!(expr.eval(&cx, RowInput::among(&batch, 0, &repeated)).is_err(), "53200");
        session.memory.set_limit(1 << 30);
        expr.eval(&cx, RowInput::among(&batch, 0, &repeated)).expect("room");
        assert!(session.memory.used_bytes() > 100_000, "{}", session.memory.used_bytes());
        drop(repeated);
        assert_eq!(session.memory.used_bytes(), 0);
    }
}
