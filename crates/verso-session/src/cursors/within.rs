//! Cursors that DECLARE has opened, moved and closed by functions that know their names.
//!
//! While a function runs no portal reads tables: the rows that are left of each were set aside before the statement began (T2).
//! Functions in its query may still have to be called for them.

use std::sync::Arc;

use verso_exec::ExecContext;
use verso_exec::context::Moved;
use verso_exec::error::{ExecError, Result as ExecResult};
use verso_exec::plan::Movement;
use verso_types::{Batch, RowType, SqlType, Value};

use super::Cursors;
use crate::client::{CommandTag, Notice, OutputColumn, StatementSink};
use crate::portal::Portal;
use verso_parser::syntax::Direction;
use verso_planner::errors::SqlError;

impl Cursors {
    /// Moves one; none where there is none of that name.
    ///
    /// # Errors
    /// 55000 for a way back that it does not go; those of reading its rows.
    pub(crate) fn advance(
        &self,
        cx: &ExecContext<'_>,
        name: &str,
        movement: Movement,
    ) -> ExecResult<Option<Moved>> {
        let direction = match movement {
            Movement::Forward(count) => Direction::Forward(count),
            Movement::Backward(count) => Direction::Backward(count),
            Movement::Absolute(number) => Direction::Absolute(number),
            Movement::Relative(count) => Direction::Relative(count),
        };
        let mut last = Last::default();
        let Some(over) = self.fetch(cx, name, direction, &mut last) else { return Ok(None) };
        let over = over.map_err(ExecError::from)?;
        let fields = last.columns.into_iter().map(|column| (column.name, column.ty)).collect();
        let runs = |count: Option<i64>| count.is_none_or(|count| count.unsigned_abs() > over);
        let beyond = matches!(movement, Movement::Forward(count) | Movement::Backward(count) if runs(count) && count != Some(0));
        let row = last.row.filter(|_| !beyond);
        Ok(Some(Moved { row, shape: Arc::new(RowType::unnamed(fields)), over }))
    }

    /// Moves one and sends the rows that it passes; none where there is none of that name.
    pub(crate) fn fetch(
        &self,
        cx: &ExecContext<'_>,
        name: &str,
        direction: Direction,
        sink: &mut dyn StatementSink,
    ) -> Option<Result<u64, SqlError>> {
        let mut cursor = match self.take(name) {
            Ok(cursor) => cursor?,
            Err(error) => return Some(Err(error)),
        };
        let mut advance = |portal: &mut Portal, rows: u64, sink: &mut dyn StatementSink| {
            portal.hand_out_within(cx, rows, sink)
        };
        let count = cursor.fetch(direction, sink, &mut advance);
        self.keep(name, cursor);
        Some(count)
    }
}

/// Keeps the last row.
#[derive(Default)]
struct Last {
    columns: Vec<OutputColumn>,
    row: Option<Vec<Value>>,
}

impl StatementSink for Last {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        let types: Vec<SqlType> = self.columns.iter().map(|column| column.ty.clone()).collect();
        if let Some(last) = batch.rows.checked_sub(1) {
            self.row = Some(batch.row(last, &types));
        }
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
        Ok(())
    }
}
