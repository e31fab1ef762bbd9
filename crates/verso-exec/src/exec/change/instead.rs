//! UPDATE and DELETE of a view whose INSTEAD OF triggers do the change: nothing is stored here.
//!
//! The rows are all found before the first trigger fires, so that nothing a trigger does brings further ones; or the query, whose
//! functions may look for what triggers have done, finds one after the other, and does not see that (T4). A row that is joined with
//! several is changed once for each of them, as there is no record that tells them apart.

use verso_types::{Batch, Value};

use super::{DeleteStatement, Scan, Sink, TriggerEvent, UpdateStatement};
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::exec::statement::column_types;
use crate::spill::Spool;

/// What a request for memory is called.
const WHAT: &str = "rows for INSTEAD OF triggers";

impl Scan {
    /// Calls `change` with the rows of a view.
    fn each_of_view(
        &mut self,
        cx: &ExecContext<'_>,
        mut change_all: impl FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let by_row = self.by_row;
        let mut change = |rows: Batch| match by_row && rows.rows > 1 {
            true => (0..rows.rows as u32).try_for_each(|row| change_all(rows.gather(&[row]))),
            false => change_all(rows),
        };
        if self.finds_by_row()
            && let Some((operator, types)) = &mut self.joined
        {
            operator.open(cx)?;
            loop {
                let mut rows = Batch::of_types(types);
                operator.bound(1);
                if !operator.next(cx, &mut rows)? {
                    break;
                }
                rows.columns.pop(); // where places of records would be
                change(rows)?;
            }
            operator.close();
            return Ok(());
        }
        let mut found = self.collect(cx)?;
        let mut rows = Batch::default();
        while found.next(&mut rows)? {
            change(std::mem::take(&mut rows))?;
        }
        Ok(())
    }

    /// All rows of the query that finds them, or those that a statement around this one has found.
    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<Spool> {
        let mut rows = Spool::default();
        if let Some((_, given)) = self.given.take() {
            rows.push(cx.services.memory, WHAT, given)?;
            return Ok(rows);
        }
        let Some((operator, types)) = &mut self.joined else {
            return Err(ExecError::raised("XX000", "rows of a view without a query"));
        };
        operator.open(cx)?;
        let mut batch = Batch::of_types(types);
        while operator.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            let mut full = std::mem::replace(&mut batch, Batch::of_types(types));
            full.columns.pop(); // where places of records would be
            rows.push(cx.services.memory, WHAT, full)?;
        }
        operator.close();
        Ok(rows)
    }
}

impl UpdateStatement {
    pub(super) fn run_instead(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let Self { scan, targets, values, checks, triggers, batch, returning, .. } = self;
        let Some(triggers) = triggers else { return Ok(0) };
        let types = column_types(&scan.table);
        let value_types = values.types().to_vec();
        let mut count = 0;
        scan.each_of_view(cx, |rows| {
            values.eval(&cx.eval(), &rows, batch)?;
            for row in 0..rows.rows {
                cx.check_cancelled()?;
                let old = rows.row(row, &types);
                let mut new = old.clone();
                for (target, value) in targets.iter().zip(batch.row(row, &value_types)) {
                    new[*target] = value;
                }
                let new = triggers.before_row(cx, TriggerEvent::Update, Some(&old), Some(new))?;
                let Some(new) = new else { continue };
                let set: Vec<Value> = targets.iter().map(|target| new[*target].clone()).collect();
                let mut one = Batch::of_types(&value_types);
                one.push_row(&set, &value_types)?;
                let mut both = rows.gather(&[row as u32]);
                both.columns.extend(one.columns.iter().cloned());
                checks.check(cx, &one, &both, |_| new.clone())?;
                checks.check_stored(cx, &both, |_| new.clone())?;
                count += 1;
                if let Some(returning) = returning {
                    returning.send(cx, &both, sink)?;
                }
            }
            Ok(())
        })?;
        Ok(count)
    }
}

impl DeleteStatement {
    pub(super) fn run_instead(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let Self { scan, triggers, returning, .. } = self;
        let Some(triggers) = triggers else { return Ok(0) };
        let types = column_types(&scan.table);
        let mut count = 0;
        scan.each_of_view(cx, |rows| {
            for row in 0..rows.rows {
                cx.check_cancelled()?;
                let old = rows.row(row, &types);
                if triggers.before_row(cx, TriggerEvent::Delete, Some(&old), None)?.is_none() {
                    continue;
                }
                count += 1;
                if let Some(returning) = returning {
                    returning.send(cx, &rows.gather(&[row as u32]), sink)?;
                }
            }
            Ok(())
        })?;
        Ok(count)
    }
}
