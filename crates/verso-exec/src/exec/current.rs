//! WHERE CURRENT OF: the row on which a cursor stands.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Batch, Column, ColumnData, NullMask};

use super::ExecContext;
use super::lock::record_of;
use super::operator::Operator;
use crate::error::Result;
use crate::plan::RECORD_COLUMN;

/// Yields the row, and its place as the last column.
pub(crate) struct CurrentOperator {
    table: Arc<TableDef>,
    columns: Vec<usize>,
    cursor: Arc<str>,
    /// Where it is; none when it was read.
    place: Option<i64>,
}

impl CurrentOperator {
    pub fn new(table: &Arc<TableDef>, columns: &[usize], cursor: &Arc<str>) -> Self {
        let columns = columns.iter().copied().filter(|column| *column != RECORD_COLUMN).collect();
        Self { table: Arc::clone(table), columns, cursor: Arc::clone(cursor), place: None }
    }
}

impl Operator for CurrentOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.place = Some(cx.services.cursors.cursor_place(&self.cursor, &self.table)?);
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
