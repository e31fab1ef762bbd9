//! SELECT … FOR UPDATE and its relatives: rows are locked as they leave the query.
//!
//! 1. Behind LIMIT only as many rows are locked as it lets through; rows skipped (SKIP LOCKED) do not count.
//! 2. A row that another transaction has changed since the snapshot is a conflict: READ COMMITTED runs the statement
//!    again, which then sees the row as it is; other levels fail (40001).

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::{RecordId, RecordLockMode, WaitPolicy};
use verso_types::{Batch, ColumnData, Value};

use super::ExecContext;
use super::operator::Operator;
use crate::error::{ExecError, Result};
use crate::expr::RowExpr;
use crate::plan::TypedExpr;

/// A record's place as a value.
pub(crate) fn record_number(record: RecordId) -> i64 {
    (i64::from(record.page_index) << 16) | i64::from(record.slot)
}

/// The record at a place.
pub(crate) fn record_of(number: i64) -> RecordId {
    RecordId { page_index: (number >> 16) as u32, slot: number as u16 }
}

/// Locks the rows of its input, whose last column is the record's place.
pub(crate) struct LockOperator {
    input: Box<dyn Operator>,
    table: Arc<TableDef>,
    mode: RecordLockMode,
    wait: WaitPolicy,
    /// LIMIT and OFFSET above.
    bound: Vec<RowExpr>,
    left: u64,
    batch: Batch,
    next: usize,
}

impl LockOperator {
    pub fn new(
        input: Box<dyn Operator>,
        batch: Batch,
        table: &Arc<TableDef>,
        mode: RecordLockMode,
        wait: WaitPolicy,
        bound: &[TypedExpr],
    ) -> Self {
        Self {
            input,
            table: Arc::clone(table),
            mode,
            wait,
            bound: bound.iter().map(RowExpr::compile).collect(),
            left: u64::MAX,
            batch,
            next: 0,
        }
    }
}

impl Operator for LockOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        cx.tables.check_may_lock(self.mode)?;
        self.left = if self.bound.is_empty() { u64::MAX } else { 0 };
        for expr in &self.bound {
            let count = match expr.eval_constant(&cx.eval())? {
                Value::Null => u64::MAX,
                value => u64::try_from(value.as_i64().unwrap_or(0)).unwrap_or(0),
            };
            self.left = self.left.saturating_add(count);
        }
        self.batch.clear();
        self.next = 0;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        loop {
            cx.check_cancelled()?;
            if self.left == 0 {
                return Ok(false);
            }
            if self.next >= self.batch.rows {
                self.next = 0;
                if !self.input.next(cx, &mut self.batch)? {
                    return Ok(false);
                }
            }
            let end = (self.batch.rows as u64).min((self.next as u64).saturating_add(self.left)) as usize;
            let Some(ColumnData::I64(places)) = self.batch.columns.last().map(|column| &column.data) else {
                return Err(ExecError::raised("XX000", "rows to lock without their places"));
            };
            let records: Vec<RecordId> =
                places[self.next..end].iter().map(|place| record_of(*place)).collect();
            let locked = cx.tables.lock_rows(&self.table, &records, self.mode, self.wait)?;
            let selection: Vec<u32> = locked.iter().map(|row| self.next as u32 + row).collect();
            self.next = end;
            if selection.is_empty() {
                continue;
            }
            self.left -= selection.len() as u64;
            *out = self.batch.gather(&selection);
            return Ok(true);
        }
    }

    fn close(&mut self) {
        self.batch.clear();
        self.next = 0;
        self.input.close();
    }
}
