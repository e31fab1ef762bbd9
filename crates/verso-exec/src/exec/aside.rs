//! Rows of an input that were read ahead: what stands above them calls functions that do something, row by row, when nothing of
//! the state under which the input was opened can be read any more.

use verso_types::Batch;

use super::operator::Operator;
use super::{BATCH_ROWS, ExecContext};
use crate::error::{ExecError, Result};
use crate::memory::Memory;
use crate::plan::{ExprKind, TypedExpr};
use crate::spill::Spool;

/// Yields rows that were read before, then the error that ended them, if one did.
struct AsideOperator {
    rows: Spool,
    batch: Batch,
    /// The first row of the batch that is still to come.
    row: usize,
    bound: Option<u64>,
    failed: Option<ExecError>,
}

/// Reads an open input to its end, and puts its rows in its place; `empty` is a batch like its own. What is wrong with the data of
/// a row (class 22) is told behind the rows before it.
pub(super) fn set_input_aside(
    input: &mut Box<dyn Operator>,
    cx: &ExecContext<'_>,
    empty: &Batch,
    memory: Memory<'_>,
) -> Result<()> {
    let mut rows = Spool::default();
    let mut batch = empty.clone();
    let failed = loop {
        // Rows before an error are yielded.
        input.bound(BATCH_ROWS as u64);
        match input.next(cx, &mut batch) {
            Ok(true) => {
                let full = std::mem::replace(&mut batch, empty.clone());
                rows.push(memory, "an open cursor", full)?;
            }
            Ok(false) => break None,
            Err(error) if cx.services.binding.describe_error(&error).sqlstate.starts_with("22") => {
                break Some(error);
            }
            Err(error) => return Err(error),
        }
    };
    input.close();
    *input = Box::new(AsideOperator { rows, batch: empty.clone(), row: 0, bound: None, failed });
    Ok(())
}

/// Whether an expression reads tables by itself, beside what functions do.
pub(super) fn reads_tables(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }))
}

impl Operator for AsideOperator {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        Err(ExecError::raised("XX000", "rows that were read ahead are yielded once"))
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, _: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let most = self.bound.take().map_or(usize::MAX, |rows| usize::try_from(rows).unwrap_or(usize::MAX));
        if self.row >= self.batch.rows {
            self.row = 0;
            if !self.rows.next(&mut self.batch)? {
                self.batch.clear();
                return self.failed.take().map_or(Ok(false), Err);
            }
        }
        let end = self.row.saturating_add(most).min(self.batch.rows);
        if self.row == 0 && end == self.batch.rows {
            std::mem::swap(out, &mut self.batch);
            self.batch.clear();
            return Ok(true);
        }
        *out = self.batch.gather(&(self.row as u32..end as u32).collect::<Vec<u32>>());
        self.row = end;
        Ok(true)
    }

    fn close(&mut self) {
        (self.rows, self.failed) = (Spool::default(), None);
        self.batch.clear();
        self.row = 0;
    }
}
