//! WHERE CURRENT OF: the row on which a cursor stands.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Batch, Column, ColumnData, NullMask, Value};

use super::ExecContext;
use super::lock::record_of;
use super::operator::Operator;
use crate::error::{ExecError, Result};
use crate::plan::{CursorName, RECORD_COLUMN};

/// Yields the row, and its place as the last column.
pub(crate) struct CurrentOperator {
    table: Arc<TableDef>,
    columns: Vec<usize>,
    cursor: CursorName,
    /// Where it is; none when it was read.
    place: Option<i64>,
}

impl CurrentOperator {
    pub fn new(table: &Arc<TableDef>, columns: &[usize], cursor: &CursorName) -> Self {
        let columns = columns.iter().copied().filter(|column| *column != RECORD_COLUMN).collect();
        Self { table: Arc::clone(table), columns, cursor: cursor.clone(), place: None }
    }
}

impl Operator for CurrentOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let name = match &self.cursor {
            CursorName::Place(place) => {
                self.place = Some(*place);
                return Ok(());
            }
            CursorName::Named(name) => name,
            CursorName::Variable(slot) => match cx.params.get(*slot) {
                Some(Value::Text(name)) => name,
                _ => {
                    let text = format!("no value found for parameter {}", slot + 1);
                    return Err(ExecError::raised("42704", text));
                }
            },
        };
        self.place = Some(cx.services.cursors.cursor_place(name, &self.table)?);
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let Some(place) = self.place.take() else { return Ok(false) };
        out.columns.truncate(self.columns.len());
        if !cx.tables()?.fetch(&self.table, record_of(place), &self.columns, out)? {
            return Ok(false);
        }
        out.columns.push(Column { data: ColumnData::I64(vec![place]), nulls: NullMask::default() });
        Ok(true)
    }

    fn close(&mut self) {
        self.place = None;
    }
}
