//! NOT NULL and CHECK of new rows, a batch at a time.
//!
//! The error reported is the one that checking row by row meets first (F6): in a row NULLs come before conditions, columns
//! in their order, conditions by name, as in PostgreSQL.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Batch, Value, format_text};

use super::ExecContext;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, Predicate};
use crate::plan::{Check, ExprKind, TypedExpr};

/// The checks of a statement, compiled.
pub(crate) struct RowChecks {
    table: Arc<TableDef>,
    /// Columns of the new values that take no NULL, with their indexes in `table.columns`.
    not_null: Vec<(usize, usize)>,
    /// True where the condition is false.
    broken: Vec<(Arc<str>, Predicate)>,
    selection: Vec<u32>,
}

impl RowChecks {
    /// Checks of new values that are stored in `targets`, indexes into `table.columns`.
    pub fn new(table: &Arc<TableDef>, targets: &[usize], checks: &[Check], executor: Executor) -> Self {
        let broken = |check: &Check| {
            let arg = Box::new(check.condition.clone());
            let ty = check.condition.ty.clone();
            let is_false = TypedExpr::new(ExprKind::IsBool { arg, value: Some(false), negated: false }, ty);
            (Arc::clone(&check.name), Predicate::compile(&is_false, executor))
        };
        Self {
            table: Arc::clone(table),
            not_null: targets
                .iter()
                .copied()
                .enumerate()
                .filter(|(_, target)| table.columns[*target].not_null)
                .collect(),
            broken: checks.iter().map(broken).collect(),
            selection: Vec::new(),
        }
    }

    /// Whether conditions are checked.
    pub fn has_conditions(&self) -> bool {
        !self.broken.is_empty()
    }

    /// Checks a batch: `values` are those stored in the targets, `rows` what the conditions are over. `shown` makes the
    /// whole row of an error's detail.
    pub fn check(
        &mut self,
        cx: &ExecContext<'_>,
        values: &Batch,
        rows: &Batch,
        shown: impl FnOnce(usize) -> Vec<Value>,
    ) -> Result<()> {
        let Self { table, not_null, broken, selection } = self;
        let null = not_null
            .iter()
            .filter_map(|(at, target)| Some((values.columns.get(*at)?.nulls.iter().next()?, *target)))
            .min();
        // Row, and which check of that row; an error of a condition counts as that condition.
        let mut first: Option<(usize, usize, Result<Arc<str>>)> = None;
        for (n, (name, predicate)) in broken.iter_mut().enumerate() {
            let error = predicate.select(&cx.eval(), rows, selection);
            let found = match (selection.first(), error) {
                (Some(row), _) => (*row as usize, n, Ok(Arc::clone(name))),
                (None, Some(error)) => (failing_row(predicate, cx, rows), n, Err(error)),
                (None, None) => continue,
            };
            if first.as_ref().is_none_or(|(row, _, _)| found.0 < *row) {
                first = Some(found);
            }
        }
        match (null, first) {
            (Some((row, target)), first) if first.as_ref().is_none_or(|(other, _, _)| row <= *other) => {
                Err(ExecError::NotNull {
                    schema: Arc::clone(&table.schema),
                    table: Arc::clone(&table.name),
                    column: Arc::clone(&table.columns[target].name),
                    row: row_text(cx, &shown(row)),
                })
            }
            (_, Some((_, _, Err(error)))) => Err(error),
            (_, Some((row, _, Ok(name)))) => {
                let message =
                    format!("new row for relation \"{}\" violates check constraint \"{name}\"", table.name);
                let detail = format!("Failing row contains ({}).", row_text(cx, &shown(row)));
                Err(ExecError::violation("23514", message, Some(detail), table, &name))
            }
            (_, None) => Ok(()),
        }
    }
}

/// The first row for which a condition fails.
fn failing_row(predicate: &mut Predicate, cx: &ExecContext<'_>, rows: &Batch) -> usize {
    let mut selection = Vec::new();
    let fails = |row: &usize| {
        let one = rows.gather(&[*row as u32]);
        predicate.select(&cx.eval(), &one, &mut selection).is_some()
    };
    (0..rows.rows).find(fails).unwrap_or(0)
}

/// Values as the details of errors show them.
pub(crate) fn row_text(cx: &ExecContext<'_>, values: &[Value]) -> String {
    let mut text = String::new();
    for (i, value) in values.iter().enumerate() {
        if i > 0 {
            text.push_str(", ");
        }
        match value {
            Value::Null => text.push_str("null"),
            value => {
                format_text(value, &verso_types::text::type_of(value), cx.services.time_zone, &mut text);
            }
        }
    }
    text
}
