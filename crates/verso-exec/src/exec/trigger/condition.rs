//! WHEN, over the columns of the old row and those of the new one behind them.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Batch, Column, SqlType, Value};

use crate::error::Result;
use crate::exec::ExecContext;
use crate::exec::statement::column_types;
use crate::expr::{Executor, Predicate};
use crate::plan::TypedExpr;

/// A condition, compiled.
pub(in crate::exec) struct Condition {
    predicate: Predicate,
    /// Of the old row, then of the new one.
    types: Vec<SqlType>,
    selection: Vec<u32>,
}

impl Condition {
    pub fn new(condition: TypedExpr, table: &Arc<TableDef>, executor: Executor) -> Condition {
        let mut types = column_types(table);
        types.extend_from_within(..);
        Condition { predicate: Predicate::compile(&condition, executor), types, selection: Vec::new() }
    }

    /// Whether it is true for one row.
    pub fn holds(
        &mut self,
        cx: &ExecContext<'_>,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<bool> {
        let width = self.types.len() / 2;
        let mut both = Vec::with_capacity(self.types.len());
        for row in [old, new] {
            match row {
                Some(row) => both.extend_from_slice(row),
                None => both.extend(std::iter::repeat_n(Value::Null, width)),
            }
        }
        let mut batch = Batch::of_types(&self.types);
        batch.push_row(&both, &self.types)?;
        Ok(!self.select(cx, &batch)?.is_empty())
    }

    /// The rows for which it is true.
    pub fn select(&mut self, cx: &ExecContext<'_>, both: &Batch) -> Result<&[u32]> {
        match self.predicate.select(&cx.eval(), both, &mut self.selection) {
            Some(error) => Err(error),
            None => Ok(&self.selection),
        }
    }

    /// Rows as [`Condition::select`] takes them.
    pub fn rows(&self, rows: usize, old: Option<&[Column]>, new: Option<&[Column]>) -> Result<Batch> {
        both(&self.types, rows, old, new)
    }
}

/// Columns of old and new rows side by side, NULLs where there are none.
pub(super) fn both(
    types: &[SqlType],
    rows: usize,
    old: Option<&[Column]>,
    new: Option<&[Column]>,
) -> Result<Batch> {
    let width = types.len() / 2;
    let mut columns = Vec::with_capacity(types.len());
    for (half, given) in [old, new].into_iter().enumerate() {
        match given {
            Some(given) => columns.extend_from_slice(&given[..width]),
            None => {
                for ty in &types[half * width..(half + 1) * width] {
                    columns.push(nulls(ty, rows)?);
                }
            }
        }
    }
    Ok(Batch { rows, columns })
}

fn nulls(ty: &SqlType, rows: usize) -> Result<Column> {
    let mut column = Column::new(ty.physical());
    for _ in 0..rows {
        column.push_value(&Value::Null, ty)?;
    }
    Ok(column)
}
