//! SELECT … FOR UPDATE and its relatives: rows are locked as they leave the query.
//!
//! 1. Behind LIMIT only as many rows are locked as it lets through; rows skipped (SKIP LOCKED) do not count.
//! 2. A row that another transaction has changed since the snapshot is a conflict: READ COMMITTED runs the statement
//!    again, which then sees the row as it is; other levels fail (40001).
//! 3. A row of a join is locked in each of the tables asked for, in their order; one that is skipped or gone in one of them
//!    is left out, and what was locked of it before stays locked.

use verso_catalog::TableDef;
use verso_storage::RecordId;
use verso_types::{Batch, ColumnData, Value};

use super::ExecContext;
use super::operator::Operator;
use crate::error::{ExecError, Result};
use crate::expr::RowExpr;
use crate::plan::{RowLock, TypedExpr, leaf_of};

/// A record's place as a value.
pub(crate) fn record_number(record: RecordId) -> i64 {
    (i64::from(record.page_index) << 16) | i64::from(record.slot)
}

/// The record at a place, in a partitioned table that of one of its leaves.
pub(crate) fn record_of(number: i64) -> RecordId {
    RecordId { page_index: (number >> 16) as u32, slot: number as u16 }
}

/// Locks the rows of its input, whose last columns are the places of the records.
pub(crate) struct LockOperator {
    input: Box<dyn Operator>,
    locks: Vec<RowLock>,
    /// LIMIT and OFFSET above.
    bound: Vec<RowExpr>,
    left: u64,
    /// So many rows the next call is for at most.
    asked: Option<u64>,
    batch: Batch,
    next: usize,
}

impl LockOperator {
    pub fn new(input: Box<dyn Operator>, batch: Batch, locks: &[RowLock], bound: &[TypedExpr]) -> Self {
        Self {
            input,
            locks: locks.to_vec(),
            bound: bound.iter().map(RowExpr::compile).collect(),
            left: u64::MAX,
            asked: None,
            batch,
            next: 0,
        }
    }

    /// Locks what the rows from `next` to `end` are made of, table by table; the rows that were locked in all of them.
    fn lock(&self, cx: &ExecContext<'_>, end: usize) -> Result<Vec<u32>> {
        let first = self.batch.columns.len().saturating_sub(self.locks.len());
        let mut rows: Vec<u32> = (self.next as u32..end as u32).collect();
        for (lock, column) in self.locks.iter().zip(&self.batch.columns[first..]) {
            let ColumnData::I64(places) = &column.data else {
                return Err(ExecError::raised("XX000", "rows to lock without their places"));
            };
            rows = match lock.table.partitioned {
                None => lock_of(cx, lock, &lock.table, places, rows)?,
                Some(_) => {
                    let leaves = lock.table.leaves();
                    let mut locked = Vec::new();
                    let leaf = |row: u32| leaf_of(places[row as usize]);
                    for rows in rows.chunk_by(|one, other| leaf(*one) == leaf(*other)) {
                        let table = leaves.get(leaf(rows[0]));
                        let table = table.ok_or_else(|| ExecError::raised("XX000", "a leaf that is none"))?;
                        locked.extend(lock_of(cx, lock, table, places, rows.to_vec())?);
                    }
                    locked
                }
            };
        }
        Ok(rows)
    }
}

/// Locks rows of one table; those that were.
fn lock_of(
    cx: &ExecContext<'_>,
    lock: &RowLock,
    table: &TableDef,
    places: &[i64],
    rows: Vec<u32>,
) -> Result<Vec<u32>> {
    let records: Vec<RecordId> = rows.iter().map(|row| record_of(places[*row as usize])).collect();
    let locked = cx.tables()?.lock_rows(table, &records, lock.mode, lock.wait)?;
    Ok(locked.into_iter().map(|position| rows[position as usize]).collect())
}

impl Operator for LockOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.locks.iter().try_for_each(|lock| cx.tables()?.check_may_lock(lock.mode))?;
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

    fn bound(&mut self, rows: u64) {
        self.asked = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let asked = self.asked.take().unwrap_or(u64::MAX);
        loop {
            cx.check_cancelled()?;
            if self.left == 0 {
                return Ok(false);
            }
            if self.next >= self.batch.rows {
                self.next = 0;
                let wanted = self.left.min(asked);
                if wanted < u64::MAX {
                    self.input.bound(wanted);
                }
                if !self.input.next(cx, &mut self.batch)? {
                    return Ok(false);
                }
            }
            let end = (self.batch.rows as u64).min((self.next as u64).saturating_add(self.left.min(asked)))
                as usize;
            let selection = self.lock(cx, end)?;
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
