//! SELECT … FOR UPDATE and its relatives: rows are locked as they leave the query.
//!
//! 1. Behind LIMIT only as many rows are locked as it lets through; rows skipped (SKIP LOCKED) do not count.
//! 2. A row that another transaction has changed since the snapshot is a conflict: READ COMMITTED runs the statement
//!    again, which then sees the row as it is; other levels fail (40001).
//! 3. A row of a join is locked in each of the tables asked for, in their order; one that is skipped or gone in one of them
//!    is left out, and what was locked of it before stays locked.
//! 4. A cursor reads its rows when it is opened and locks each when it is fetched ([`Operator::set_aside`]). It cannot be run
//!    again then: of a row that has changed since, READ COMMITTED computes the query once more for the locked records alone, as
//!    they are now ([`recheck`](super::recheck)), and leaves the row out if the query has it no more.

use verso_catalog::TableDef;
use verso_storage::RecordId;
use verso_types::{Batch, ColumnData, SqlType, Value};

use super::ExecContext;
use super::aside::set_input_aside;
use super::operator::{Operator, types_of};
use super::recheck::Recheck;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, RowExpr};
use crate::memory::Memory;
use crate::plan::{Plan, RowLock, TypedExpr, leaf_of};

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
    /// What the rows are of.
    types: Vec<SqlType>,
    executor: Executor,
    /// The rows were read before, each is locked as it is fetched: what computes one of them once more.
    fetched: Option<Recheck>,
}

/// Rows that were locked, by their places in the batch, and those of them that others have changed since they were read.
struct Locked {
    rows: Vec<u32>,
    changed: Vec<u32>,
}

impl LockOperator {
    /// Over the operators of `plan`.
    pub fn new(
        input: Box<dyn Operator>,
        plan: &Plan,
        locks: &[RowLock],
        bound: &[TypedExpr],
        executor: Executor,
    ) -> Self {
        let types = types_of(plan);
        let batch = Batch::of_types(&types);
        Self {
            input,
            locks: locks.to_vec(),
            bound: bound.iter().map(RowExpr::compile).collect(),
            left: u64::MAX,
            asked: None,
            batch,
            next: 0,
            types,
            executor,
            fetched: None,
        }
    }

    /// Locks what the rows from `next` to `end` are made of, table by table; the rows that were locked in all of them.
    fn lock(&self, cx: &ExecContext<'_>, end: usize) -> Result<Locked> {
        let first = self.batch.columns.len().saturating_sub(self.locks.len());
        let rows: Vec<u32> = (self.next as u32..end as u32).collect();
        let mut locked = Locked { rows, changed: Vec::new() };
        for (lock, column) in self.locks.iter().zip(&self.batch.columns[first..]) {
            let ColumnData::I64(places) = &column.data else {
                return Err(ExecError::raised("XX000", "rows to lock without their places"));
            };
            let rows = std::mem::take(&mut locked.rows);
            match lock.table.partitioned {
                None => self.lock_of(cx, (lock, &lock.table), places, &rows, &mut locked)?,
                Some(_) => {
                    let leaves = lock.table.leaves();
                    let leaf = |row: u32| leaf_of(places[row as usize]);
                    for rows in rows.chunk_by(|one, other| leaf(*one) == leaf(*other)) {
                        let table = leaves.get(leaf(rows[0]));
                        let table = table.ok_or_else(|| ExecError::raised("XX000", "a leaf that is none"))?;
                        self.lock_of(cx, (lock, table), places, rows, &mut locked)?;
                    }
                }
            }
        }
        Ok(locked)
    }

    /// Locks rows of one table; adds those that were.
    fn lock_of(
        &self,
        cx: &ExecContext<'_>,
        (lock, table): (&RowLock, &TableDef),
        places: &[i64],
        rows: &[u32],
        out: &mut Locked,
    ) -> Result<()> {
        let tables = cx.tables()?;
        let record = |row: &u32| record_of(places[*row as usize]);
        // PostgreSQL passes over what the statement itself has changed by what it calls.
        let rows: Vec<u32> =
            rows.iter().copied().filter(|row| !tables.has_changed(table, record(row))).collect();
        let records: Vec<RecordId> = rows.iter().map(record).collect();
        let row = |position: u32| rows[position as usize];
        if self.fetched.is_none() {
            let locked = tables.lock_rows(table, &records, lock.mode, lock.wait)?;
            out.rows.extend(locked.into_iter().map(row));
            return Ok(());
        }
        let (mut locked, changed) = tables.lock_fetched(table, &records, lock.mode, lock.wait)?;
        out.changed.extend(changed.iter().copied().map(row));
        locked.extend(changed);
        locked.sort_unstable();
        out.rows.extend(locked.into_iter().map(row));
        Ok(())
    }

    /// The rows that were locked, those that have changed as they are now.
    fn as_they_are(&self, cx: &ExecContext<'_>, locked: &Locked) -> Result<Batch> {
        let mut rows = Batch::of_types(&self.types);
        for row in &locked.rows {
            match self.fetched.as_ref().filter(|_| locked.changed.contains(row)) {
                None => rows.append(&self.batch.gather(&[*row])),
                Some(recheck) => {
                    if let Some(found) = recheck.row(cx, &self.batch, *row as usize)? {
                        rows.append(&found);
                    }
                }
            }
        }
        Ok(rows)
    }
}

/// The plan of the rows that the first operator which locks in `plan` locks: those above it have one input.
fn input_of_locks(plan: &Plan) -> Option<&Plan> {
    let mut plan = plan;
    loop {
        match (plan, plan.inputs().as_slice()) {
            (Plan::LockRows { input, .. }, _) => return Some(input),
            (_, [input]) => plan = input,
            _ => return None,
        }
    }
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
            let locked = self.lock(cx, end)?;
            self.next = end;
            let rows = match locked.changed.is_empty() {
                true if locked.rows.is_empty() => continue,
                true => self.batch.gather(&locked.rows),
                false => self.as_they_are(cx, &locked)?,
            };
            if rows.rows == 0 {
                continue;
            }
            self.left = self.left.saturating_sub(rows.rows as u64);
            *out = rows;
            return Ok(true);
        }
    }

    fn can_set_aside(&self) -> bool {
        true
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        let own = input_of_locks(plan)
            .ok_or_else(|| ExecError::raised("XX000", "locks that are not in the plan"))?;
        self.fetched = Some(Recheck::new(own, &self.types, &self.locks, self.executor));
        match self.input.can_set_aside() {
            true => self.input.set_aside(cx, memory, own),
            false => set_input_aside(&mut self.input, cx, &Batch::of_types(&self.types), memory),
        }
    }

    fn close(&mut self) {
        self.batch.clear();
        self.next = 0;
        self.input.close();
    }
}
