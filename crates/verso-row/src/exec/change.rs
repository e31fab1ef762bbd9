//! UPDATE and DELETE: batch by batch over the table.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::rules::{Rule, disabled};
use verso_types::{Batch, SqlType};

use super::statement::{Sink, check_not_null};
use super::{ChangeCursor, ExecContext};
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{Delete, ExprKind, Returning, TypedExpr, Update};

/// What UPDATE and DELETE share: which rows of which table.
struct Scan {
    table: Arc<TableDef>,
    columns: Vec<usize>,
    types: Vec<SqlType>,
    filter: Option<Predicate>,
    selection: Vec<u32>,
    /// Filter and values look at nothing but the row.
    alone: bool,
}

impl Scan {
    fn new(table: &Arc<TableDef>, columns: &[usize], filter: Option<&TypedExpr>, executor: Executor) -> Self {
        Self {
            table: Arc::clone(table),
            columns: columns.to_vec(),
            types: columns.iter().map(|index| table.columns[*index].ty.clone()).collect(),
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            selection: Vec::new(),
            alone: filter.is_none_or(looks_at_its_row_only),
        }
    }

    /// Calls `change` with each batch and the rows selected of it. An error of the filter is reported behind those of
    /// the rows before it (S1). Rows that `change` finds to be changed by others meanwhile are looked at again as they
    /// are now, which is enough where filter and values look at nothing but the row; elsewhere they are a conflict, and the
    /// statement runs again.
    fn for_each(
        &mut self,
        cx: &ExecContext<'_>,
        mut change: impl FnMut(&mut dyn ChangeCursor, Option<&[u32]>, &mut Vec<u32>) -> Result<()>,
    ) -> Result<()> {
        let mut cursor = cx.tables.scan_for_change(&self.table, &self.columns)?;
        let mut stale = Vec::new();
        while cursor.next()? {
            cx.check_cancelled()?;
            loop {
                let error = match &mut self.filter {
                    None => {
                        change(&mut *cursor, None, &mut stale)?;
                        self.selection.clear();
                        None
                    }
                    Some(filter) => {
                        let error = filter.select(&cx.eval(), cursor.batch(), &mut self.selection);
                        if let Some(error) = error.as_ref().filter(|_| disabled(Rule::F6)) {
                            return Err(error.clone());
                        }
                        if self.selection.len() == cursor.batch().rows && error.is_none() {
                            self.selection.clear();
                            change(&mut *cursor, None, &mut stale)?;
                        } else if !self.selection.is_empty() {
                            change(&mut *cursor, Some(&self.selection), &mut stale)?;
                        }
                        error
                    }
                };
                if let Some(error) = error {
                    return Err(error);
                }
                if stale.is_empty() {
                    break;
                }
                if !self.selection.is_empty() {
                    stale.iter_mut().for_each(|position| *position = self.selection[*position as usize]);
                }
                cursor.reread(&stale)?;
                stale.clear();
                if cursor.batch().rows == 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Whether an expression has no subquery.
fn looks_at_its_row_only(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }))
}

/// Removes the rows at these positions, which ascend.
fn leave_out(rows: &mut Batch, positions: &[u32]) {
    if !positions.is_empty() {
        let kept: Vec<u32> =
            (0..rows.rows as u32).filter(|position| positions.binary_search(position).is_err()).collect();
        rows.filter(&kept);
    }
}

/// RETURNING, compiled.
struct Output {
    exprs: ExprList,
    batch: Batch,
}

impl Output {
    fn new(returning: Option<&Returning>, executor: Executor) -> Option<Self> {
        let exprs = ExprList::compile(&returning?.exprs, executor);
        let batch = Batch::of_types(exprs.types());
        Some(Self { exprs, batch })
    }

    fn send(&mut self, cx: &ExecContext<'_>, rows: &Batch, sink: &mut dyn Sink) -> Result<()> {
        self.exprs.eval(&cx.eval(), rows, &mut self.batch)?;
        sink.batch(&self.batch)
    }
}

/// A compiled UPDATE.
pub(crate) struct UpdateStatement {
    scan: Scan,
    /// Indexes into `table.columns`, and the same as ids of storage.
    targets: Vec<usize>,
    target_ids: Vec<u16>,
    values: ExprList,
    batch: Batch,
    returning: Option<Output>,
}

impl UpdateStatement {
    pub fn new(update: &Update, executor: Executor) -> Self {
        let targets: Vec<usize> = update.assignments.iter().map(|(column, _)| *column).collect();
        let values = ExprList::compile(update.assignments.iter().map(|(_, value)| value), executor);
        let mut scan = Scan::new(&update.table, &update.columns, update.filter.as_ref(), executor);
        scan.alone &= update.assignments.iter().all(|(_, value)| looks_at_its_row_only(value));
        Self {
            scan,
            target_ids: targets.iter().map(|column| update.table.columns[*column].id).collect(),
            targets,
            batch: Batch::of_types(values.types()),
            values,
            returning: Output::new(update.returning.as_ref(), executor),
        }
    }

    pub fn run(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let Self { scan, targets, target_ids, values, batch, returning } = self;
        let table = Arc::clone(&scan.table);
        let types = scan.types.clone();
        let alone = scan.alone;
        let mut count = 0;
        scan.for_each(cx, |cursor, selection, stale| {
            let gathered = selection.map(|selection| cursor.batch().gather(selection));
            let rows = gathered.as_ref().unwrap_or_else(|| cursor.batch());
            values.eval(&cx.eval(), rows, batch)?;
            check_not_null(cx, &table, targets, batch, |row| {
                let mut shown = rows.row(row, &types);
                shown.extend(batch.row(row, values.types()));
                shown
            })?;
            let Some(returning) = returning else {
                cursor.update(selection, target_ids, batch, alone.then_some(&mut *stale))?;
                count += (batch.rows - stale.len()) as u64;
                return Ok(());
            };
            // the old columns, then the new values
            let mut shown = rows.clone();
            shown.columns.extend(batch.columns.iter().cloned());
            cursor.update(selection, target_ids, batch, alone.then_some(&mut *stale))?;
            leave_out(&mut shown, stale);
            count += shown.rows as u64;
            returning.send(cx, &shown, sink)
        })?;
        Ok(count)
    }
}

/// A compiled DELETE.
pub(crate) struct DeleteStatement {
    scan: Scan,
    returning: Option<Output>,
}

impl DeleteStatement {
    pub fn new(delete: &Delete, executor: Executor) -> Self {
        Self {
            scan: Scan::new(&delete.table, &delete.columns, delete.filter.as_ref(), executor),
            returning: Output::new(delete.returning.as_ref(), executor),
        }
    }

    pub fn run(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let Self { scan, returning } = self;
        let mut count = 0;
        let alone = scan.alone;
        scan.for_each(cx, |cursor, selection, stale| {
            let rows = selection.map_or(cursor.batch().rows, <[u32]>::len);
            cursor.delete(selection, alone.then_some(&mut *stale))?;
            count += (rows - stale.len()) as u64;
            let Some(returning) = returning else { return Ok(()) };
            let mut shown = match selection {
                Some(selection) => cursor.batch().gather(selection),
                None => cursor.batch().clone(),
            };
            leave_out(&mut shown, stale);
            returning.send(cx, &shown, sink)
        })?;
        Ok(count)
    }
}
