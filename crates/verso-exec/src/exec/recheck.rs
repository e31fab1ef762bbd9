//! A row of a query, computed once more for records as they are now.
//!
//! 1. The query below the locks runs again, and yields the row whose records are at the same places. They are locked, so that
//!    nobody changes them meanwhile.
//! 2. Where it scans the tables whose records these are as a whole, the records as they are now stand in place of the scans, and of
//!    other tables it sees what it has seen before, as PostgreSQL does.
//! 3. Elsewhere it is a statement of its own, which sees what is committed by now: tables are searched through their indexes.

use verso_env::stack;
use verso_types::{Batch, ColumnData, SqlType, Value};

use super::ExecContext;
use super::operator::{compile, types_of};
use super::subquery::StatementState;
use crate::error::Result;
use crate::expr::Executor;
use crate::plan::{CursorName, ExprKind, Plan, RECORD_COLUMN, RowLock, TypedExpr};

/// Computes rows of a plan whose last columns are the places of locked records.
pub(super) struct Recheck {
    plan: Plan,
    types: Vec<SqlType>,
    /// The tables whose records these are, where no table is among them twice.
    tables: Vec<u32>,
    locks: usize,
    executor: Executor,
    /// Each of these tables is scanned as a whole, at one place, and nothing else is asked of its records.
    scanned: bool,
}

/// What scans of a table read.
struct Record {
    table: u32,
    columns: Vec<usize>,
    /// The row as it is now, or one of NULLs where the query had none.
    row: Option<Vec<TypedExpr>>,
}

impl Recheck {
    /// For the rows of `plan`, which is copied.
    pub fn new(plan: &Plan, types: &[SqlType], locks: &[RowLock], executor: Executor) -> Recheck {
        let mut tables: Vec<u32> = locks.iter().map(|lock| lock.table.oid.0).collect();
        if (1..tables.len()).any(|n| tables[..n].contains(&tables[n])) {
            tables.clear();
        }
        let scanned = !tables.is_empty()
            && locks.iter().all(|lock| lock.table.partitioned.is_none())
            && tables.iter().all(|table| scans_of(plan, *table) == Some(1))
            && !plan.any_expr(&mut |expr| match &expr.kind {
                // Of the version that a statement sees.
                ExprKind::Call { function, .. } => {
                    function.operator.is_some_and(|name| name.starts_with("row "))
                }
                _ => false,
            });
        Recheck { plan: plan.clone(), types: types.to_vec(), tables, locks: locks.len(), executor, scanned }
    }

    /// The records at these places as they are now; none where one of them has gone.
    fn records(&self, cx: &ExecContext<'_>, places: &[Option<i64>]) -> Result<Option<Vec<Record>>> {
        let tables = cx.tables()?;
        tables.begin_statement()?;
        tables.share_command();
        let read = || -> Result<Option<Vec<Record>>> {
            let mut records = Vec::with_capacity(places.len());
            for (table, place) in self.tables.iter().zip(places) {
                let mut scan = None;
                self.plan.any(&mut |part| {
                    let found = matches!(part, Plan::TableScan { table: of, .. } if of.oid.0 == *table);
                    if found {
                        scan = Some(part.clone());
                    }
                    found
                });
                let Some(Plan::TableScan { table: of, columns, .. }) = scan else { return Ok(None) };
                let Some(place) = place else {
                    records.push(Record { table: *table, columns, row: None });
                    continue;
                };
                let cursor = CursorName::Place(*place);
                let plan = Plan::CurrentRow { table: of, columns: columns.clone(), cursor };
                let types = types_of(&plan);
                let mut rows = Batch::of_types(&types);
                let mut operator = compile(&plan, self.executor);
                operator.open(cx)?;
                let found = operator.next(cx, &mut rows)? && rows.rows > 0;
                operator.close();
                if !found {
                    return Ok(None);
                }
                let literal = |(value, ty): (Value, &SqlType)| match value {
                    Value::Null => TypedExpr::null(ty.clone()),
                    value => TypedExpr::literal(value, ty.clone()),
                };
                let row = rows.row(0, &types).into_iter().zip(&types).map(literal).collect();
                records.push(Record { table: *table, columns, row: Some(row) });
            }
            Ok(Some(records))
        };
        let found = read();
        match found {
            Ok(_) => tables.end_statement()?,
            Err(_) => tables.abort_statement()?,
        }
        found
    }

    /// A row of a batch as it is now; none if the query does not yield it any more.
    ///
    /// # Errors
    /// Those of the query.
    pub fn row(&self, cx: &ExecContext<'_>, batch: &Batch, row: usize) -> Result<Option<Batch>> {
        let places = self.places(batch, row);
        let mut plan = self.plan.clone();
        if self.scanned {
            let Some(records) = self.records(cx, &places)? else { return Ok(None) };
            pin(&mut plan, &records);
            return self.find(cx, &plan, &places);
        }
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

/// How often a plan scans a table as a whole, with the places of its records; none where it reads it in another way, or within an
/// expression.
fn scans_of(plan: &Plan, table: u32) -> Option<usize> {
    let (mut scans, mut others, mut at_inputs) = (0, 0, 0);
    plan.any(&mut |part| {
        match part {
            Plan::TableScan { table: of, columns, .. } if of.oid.0 == table => {
                match columns.last() == Some(&RECORD_COLUMN) {
                    true => scans += 1,
                    false => others += 1,
                }
            }
            Plan::IndexScan { table: of, .. } if of.oid.0 == table => others += 1,
            Plan::CurrentRow { table: of, .. } if of.oid.0 == table => others += 1,
            _ => {}
        }
        false
    });
    let mut open = vec![plan];
    while let Some(part) = open.pop() {
        at_inputs += usize::from(matches!(part, Plan::TableScan { table: of, .. } if of.oid.0 == table));
        // What is read in several places is not copied, and not changed.
        if !matches!(part, Plan::Shared { .. }) {
            open.extend(part.inputs());
        }
    }
    (others == 0 && at_inputs == scans).then_some(scans)
}

/// Puts records in place of the scans of their tables.
fn pin(plan: &mut Plan, records: &[Record]) {
    if stack::check().is_err() {
        return;
    }
    plan.for_each_input_mut(&mut |input| pin(input, records));
    let Plan::TableScan { table, columns, filter } = plan else { return };
    let Some(record) = records.iter().find(|record| record.table == table.oid.0) else { return };
    if record.columns != *columns {
        return;
    }
    let filter = filter.take();
    let columns = plan.output();
    let values = Plan::Values { rows: record.row.iter().cloned().collect(), columns };
    *plan = match filter {
        Some(predicate) => Plan::Filter { input: Box::new(values), predicate },
        None => values,
    };
}
