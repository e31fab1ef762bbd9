//! A row of a query, computed once more for records as they are now.
//!
//! 1. The query below the locks runs as a statement of its own, which sees what is committed by now, and yields the row whose
//!    records are at the same places. They are locked, so that nobody changes them meanwhile.
//! 2. A table that the query scans as a whole is not scanned again: its record is read. Through an index it is searched.

use verso_env::stack;
use verso_types::{Batch, ColumnData, SqlType};

use super::ExecContext;
use super::operator::compile;
use super::subquery::StatementState;
use crate::error::Result;
use crate::expr::Executor;
use crate::plan::{CursorName, Plan, RECORD_COLUMN, RowLock};

/// Computes rows of a plan whose last columns are the places of locked records.
pub(super) struct Recheck {
    plan: Plan,
    types: Vec<SqlType>,
    /// The tables whose records these are, where no table is among them twice.
    tables: Vec<u32>,
    locks: usize,
    executor: Executor,
}

impl Recheck {
    /// For the rows of `plan`, which is copied.
    pub fn new(plan: &Plan, types: &[SqlType], locks: &[RowLock], executor: Executor) -> Recheck {
        let mut tables: Vec<u32> = locks.iter().map(|lock| lock.table.oid.0).collect();
        if (1..tables.len()).any(|n| tables[..n].contains(&tables[n])) {
            tables.clear();
        }
        Recheck { plan: plan.clone(), types: types.to_vec(), tables, locks: locks.len(), executor }
    }

    /// A row of a batch as it is now; none if the query does not yield it any more.
    ///
    /// # Errors
    /// Those of the query.
    pub fn row(&self, cx: &ExecContext<'_>, batch: &Batch, row: usize) -> Result<Option<Batch>> {
        let places = self.places(batch, row);
        let mut plan = self.plan.clone();
        self.narrow(&mut plan, &places);
        let tables = cx.tables()?;
        tables.begin_statement()?;
        // Of others it sees more than the query, of its own transaction it does not.
        tables.share_command();
        let found = self.find(cx, &plan, &places);
        match found {
            Ok(_) => tables.end_statement()?,
            Err(_) => tables.abort_statement()?,
        }
        found
    }

    fn find(&self, cx: &ExecContext<'_>, plan: &Plan, places: &[Option<i64>]) -> Result<Option<Batch>> {
        let state = StatementState::default();
        let cx = cx.statement(&state);
        let mut operator = compile(plan, self.executor);
        operator.open(&cx)?;
        let mut rows = Batch::of_types(&self.types);
        let mut found = None;
        while found.is_none() && operator.next(&cx, &mut rows)? {
            cx.check_cancelled()?;
            found = (0..rows.rows).find(|row| self.places(&rows, *row) == places);
        }
        let found = found.map(|row| rows.gather(&[row as u32]));
        operator.close();
        Ok(found)
    }

    /// Where the records of a row are.
    fn places(&self, batch: &Batch, row: usize) -> Vec<Option<i64>> {
        let place = |column: &verso_types::Column| match &column.data {
            ColumnData::I64(places) if !column.nulls.is_null(row) => Some(places[row]),
            _ => None,
        };
        batch.columns[batch.columns.len() - self.locks..].iter().map(place).collect()
    }

    /// Reads records instead of the tables that have them.
    fn narrow(&self, plan: &mut Plan, places: &[Option<i64>]) {
        if stack::check().is_err() {
            return;
        }
        plan.for_each_input_mut(&mut |input| self.narrow(input, places));
        let Plan::TableScan { table, columns, filter } = plan else { return };
        let at = self.tables.iter().position(|oid| *oid == table.oid.0);
        let place = at.and_then(|at| places[at]).filter(|_| columns.last() == Some(&RECORD_COLUMN));
        let Some(place) = place.filter(|_| table.partitioned.is_none()) else { return };
        let cursor = CursorName::Place(place);
        let filter = filter.take();
        let row = Plan::CurrentRow { table: table.clone(), columns: std::mem::take(columns), cursor };
        *plan = match filter {
            Some(predicate) => Plan::Filter { input: Box::new(row), predicate },
            None => row,
        };
    }
}
