//! Whether the rows that a table has already keep a constraint that is added: asked by queries of the executors.

use std::sync::Arc;

use verso_catalog::{ConstraintDef, ConstraintKind, TableDef};
use verso_exec::plan::{ExprKind, Plan, Statement as Bound, TypedExpr};
use verso_storage::TableLockMode;
use verso_types::{SqlType, Value};

use super::Schema;
use crate::constraints::check_foreign_key;
use crate::failure::Failure;
use verso_planner::bind::{Binder, filled_text};
use verso_planner::errors::SqlError;

impl Schema<'_> {
    /// Refuses NULLs in columns that are to take none (23502).
    pub(super) fn refuse_nulls(&self, table: &Arc<TableDef>, columns: &[Arc<str>]) -> Result<(), Failure> {
        for name in columns {
            let Some(at) = table.column(name) else { continue };
            let is_virtual = table.columns[at].is_virtual;
            let columns = if is_virtual { (0..table.columns.len()).collect() } else { vec![at] };
            let place = if is_virtual { at } else { 0 };
            let column = TypedExpr::column(place, table.columns[at].ty.clone());
            let column = match is_virtual {
                true => self.frame.inside(|frame| {
                    let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                    Ok(binder.expanded(column, table, 0)?)
                })?,
                false => column,
            };
            let null = ExprKind::IsNull { arg: Box::new(column), negated: false };
            let filter = TypedExpr::new(null, SqlType::Bool);
            let scan = Plan::TableScan { table: Arc::clone(table).into(), columns, filter: Some(filter) };
            if self.watched(table, || self.any_row(scan))? {
                let text = format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
                return Err(SqlError::new("23502", text)
                    .with_schema(&*table.schema)
                    .with_table(&*table.name)
                    .with_column(&**name)
                    .into());
            }
        }
        Ok(())
    }

    /// The same for a table that others may be changing: when they are done.
    pub(super) fn refuse_nulls_there(
        &self,
        table: &Arc<TableDef>,
        columns: &[Arc<str>],
    ) -> Result<(), Failure> {
        self.frame.tables().lock(table, TableLockMode::AccessExclusive)?;
        self.frame.inside_now(|frame| Schema { frame }.refuse_nulls(table, columns))
    }

    /// Refuses rows whose period is empty.
    pub(super) fn refuse_empty_there(
        &self,
        table: &Arc<TableDef>,
        period: Option<&Arc<str>>,
    ) -> Result<(), Failure> {
        let Some(period) = period.filter(|period| {
            let ty = table.column(period).map(|at| &table.columns[at].ty);
            matches!(ty, Some(SqlType::Range(_) | SqlType::Multirange(_)))
        }) else {
            return Ok(());
        };
        self.frame.tables().lock(table, TableLockMode::AccessExclusive)?;
        self.frame.inside_now(|frame| {
            let schema = Schema { frame };
            for leaf in table.leaves() {
                let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                let filled = binder.stored_condition(&filled_text(period), &leaf)?;
                let empty = TypedExpr::new(ExprKind::Not(Box::new(filled)), SqlType::Bool);
                let columns: Vec<usize> = (0..leaf.columns.len()).collect();
                if schema.any_row(Plan::TableScan {
                    table: Arc::clone(&leaf).into(),
                    columns,
                    filter: Some(empty),
                })? {
                    let text = format!(
                        "empty WITHOUT OVERLAPS value found in column \"{period}\" in relation \"{}\"",
                        leaf.name
                    );
                    return Err(SqlError::new("23514", text).into());
                }
            }
            Ok(())
        })
    }

    /// Checks a constraint for all rows of a table.
    pub(super) fn check_rows(
        &self,
        binder: &Binder<'_>,
        table: &Arc<TableDef>,
        constraint: &Arc<ConstraintDef>,
    ) -> Result<(), Failure> {
        match &constraint.kind {
            // building the index has
            ConstraintKind::Unique { .. } | ConstraintKind::Exclude { .. } => Ok(()),
            ConstraintKind::NotNull { column } => {
                let names = table.column_with_id(*column).map(|at| Arc::clone(&table.columns[at].name));
                self.refuse_nulls(table, &names.into_iter().collect::<Vec<_>>())
            }
            ConstraintKind::Check { expression } => {
                let condition = binder.stored_condition(expression, table)?;
                let broken = TypedExpr::new(ExprKind::Not(Box::new(condition)), SqlType::Bool);
                let all: Vec<usize> = (0..table.columns.len()).collect();
                let scan =
                    Plan::TableScan { table: Arc::clone(table).into(), columns: all, filter: Some(broken) };
                if self.watched(table, || self.any_row(scan))? {
                    let text = format!(
                        "check constraint \"{}\" of relation \"{}\" is violated by some row",
                        constraint.name, table.name
                    );
                    return Err(SqlError::new("23514", text)
                        .with_schema(&*table.schema)
                        .with_table(&*table.name)
                        .with_constraint(&*constraint.name)
                        .into());
                }
                Ok(())
            }
            ConstraintKind::Foreign(_) => {
                self.watched(table, || check_foreign_key(self.frame, table, constraint))
            }
        }
    }

    /// Lists what looks at the rows of a table as a job that counts the pages it has read.
    fn watched<T>(&self, table: &TableDef, look: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let services = self.frame.services;
        let engine = &services.instance.engine;
        let listed = engine.begin_job("ALTER TABLE", services.info.number, Some(table.heap));
        let pages = engine.heap(table.heap).map_or(0, |heap| heap.page_count());
        listed.job().enter("checking constraints", pages.into());
        self.frame.txn.borrow_mut().watch_scans(Some((table.heap, Arc::clone(listed.job()))));
        let found = look();
        self.frame.txn.borrow_mut().watch_scans(None);
        found
    }

    /// Whether a query yields a row.
    pub(super) fn any_row(&self, plan: Plan) -> Result<bool, Failure> {
        let one = TypedExpr::literal(Value::Int8(1), SqlType::Int8);
        let limited = Plan::Limit { input: Box::new(plan), limit: Some(one), offset: None, ties: Vec::new() };
        Ok(self.frame.count(&Bound::Query(limited), &[])? > 0)
    }
}
