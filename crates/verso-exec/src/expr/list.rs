//! Expressions evaluated together over batches, by either executor.
//!
//! What is compiled is shared by the copies of a list or predicate; each copy has scratch columns of its own, so that every
//! worker of a parallel operator evaluates with its own copy.

use std::ops::Range;
use std::sync::Arc;

use verso_types::{Batch, SqlType, Value};

use super::depends_on_row;
use super::repeated::Repeated;
use super::row::{RowExpr, RowInput};
use super::vector::{BoolResult, Scratch, VectorExpr};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::memory::Reservation;
use crate::plan::TypedExpr;

/// Which executor runs a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Executor {
    /// Vectorised where that pays.
    #[default]
    Auto,
    /// By rows.
    Row,
    /// By columns wherever there is a kernel.
    Vector,
}

/// Below so many rows `Auto` takes the closures: setting up kernels costs more than they save.
const FEW_ROWS: usize = 4;

/// Kernels give up where a column of theirs would have more bytes than this, and leave the batch to the closures, which
/// hold one row's values at a time.
pub(crate) const VECTOR_BYTES: usize = 4 << 20;

/// Expressions over the same input, one output column each.
#[derive(Clone, Debug)]
pub struct ExprList {
    rows: Arc<[RowExpr]>,
    /// Empty: rows only.
    vectors: Arc<[VectorExpr]>,
    types: Arc<[SqlType]>,
    executor: Executor,
    volatile: bool,
    scratch: ScratchCell,
}

/// Scratch columns stay with the list.
#[derive(Default)]
struct ScratchCell(Scratch);

impl Clone for ScratchCell {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for ScratchCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

impl ExprList {
    /// Compiles the expressions for an executor.
    #[must_use]
    pub fn compile<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>, executor: Executor) -> Self {
        let exprs: Vec<&TypedExpr> = exprs.into_iter().collect();
        let volatile = exprs.iter().any(|expr| expr.is_volatile());
        let by_columns = executor != Executor::Row
            && !volatile
            && (executor == Executor::Vector || exprs.iter().any(|expr| depends_on_row(expr)));
        let vectors: Vec<VectorExpr> = if by_columns {
            exprs.iter().map(|expr| VectorExpr::compile(expr)).collect()
        } else {
            Vec::new()
        };
        let pays = executor == Executor::Vector || !vectors.iter().all(VectorExpr::is_rows_only);
        Self {
            rows: exprs.iter().map(|expr| RowExpr::compile(expr)).collect(),
            vectors: if pays { vectors.into() } else { Arc::default() },
            types: exprs.iter().map(|expr| expr.ty.clone()).collect(),
            executor,
            volatile,
            scratch: ScratchCell::default(),
        }
    }

    /// Whether a function in it may do something.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// Types of the output columns.
    #[must_use]
    pub fn types(&self) -> &[SqlType] {
        &self.types
    }

    /// As [`ExprList::compile`], for [`ExprList::eval_scaled`].
    #[must_use]
    pub fn compile_scaled<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>, executor: Executor) -> Self {
        let exprs: Vec<&TypedExpr> = exprs.into_iter().collect();
        let mut list = Self::compile(exprs.iter().copied(), executor);
        if !list.vectors.is_empty() {
            list.vectors = exprs.iter().map(|expr| VectorExpr::compile_scaled(expr)).collect();
        }
        list
    }

    /// Types of the columns of [`ExprList::eval_scaled`]: those of the expressions, but numerics of a scale that is known have it.
    pub fn scaled_types(&self) -> Vec<SqlType> {
        match self.vectors.is_empty() {
            true => self.types.to_vec(),
            false => self.vectors.iter().map(|expr| expr.ty().clone()).collect(),
        }
    }

    /// Replaces the rows of `out`, whose columns have the [scaled types](ExprList::scaled_types), which are the expressions' own
    /// unless the list was compiled for them, by the results for `batch`, computed by kernels. False where that takes
    /// [`ExprList::eval_rows`]; `out` is of no use then.
    pub fn eval_scaled(&mut self, cx: &EvalContext<'_>, batch: &Batch, out: &mut Batch) -> bool {
        let few = self.executor == Executor::Auto && batch.rows < FEW_ROWS;
        !few && !self.vectors.is_empty() && self.eval_columns(cx, batch, out).is_ok()
    }

    /// Replaces the rows of `out`, whose columns have the expressions' types, by the results for `batch`, row by row.
    /// # Errors
    /// Of the first row that fails; `out` is of no use then.
    pub fn eval_rows(&mut self, cx: &EvalContext<'_>, batch: &Batch, out: &mut Batch) -> Result<()> {
        self.push_rows(cx, batch, 0..batch.rows, usize::MAX, out).map_or(Ok(()), Err)
    }

    /// Replaces the rows of `out`, whose columns have the expressions' types, by the results for `batch`.
    /// # Errors
    /// The one that evaluation row by row meets first (E1); `out` is of no use then.
    pub fn eval(&mut self, cx: &EvalContext<'_>, batch: &Batch, out: &mut Batch) -> Result<()> {
        self.eval_bounded(cx, batch, 0..batch.rows, usize::MAX, out).map_or(Ok(()), Err)
    }

    /// As [`ExprList::eval`] for some rows of the batch; fewer of them where the results have `max_bytes` bytes, but at
    /// least one. An error ends the results at its row, and comes beside them.
    pub fn eval_bounded(
        &mut self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        rows: Range<usize>,
        max_bytes: usize,
        out: &mut Batch,
    ) -> Option<ExecError> {
        if rows == (0..batch.rows) && self.eval_scaled(cx, batch, out) {
            return None;
        }
        self.push_rows(cx, batch, rows, max_bytes, out)
    }

    /// The closures' part of [`ExprList::eval_bounded`].
    fn push_rows(
        &self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        rows: Range<usize>,
        max_bytes: usize,
        out: &mut Batch,
    ) -> Option<ExecError> {
        out.clear();
        let mut held: Option<Reservation> = None;
        let mut counted = VECTOR_BYTES;
        let repeated = Repeated::default();
        for row in rows {
            // One row may take long.
            let pushed = cx.runtime.check_cancelled();
            if let Err(error) =
                pushed.and_then(|()| self.push_row(cx, RowInput::among(batch, row, &repeated), out))
            {
                out.truncate(out.rows);
                return Some(error);
            }
            let bytes = out.variable_bytes();
            if bytes >= max_bytes {
                return None;
            }
            // What has to be there as a whole is charged while it grows.
            if bytes > counted {
                let held = held
                    .get_or_insert_with(|| cx.services.memory.account.reserve("values of a batch", u64::MAX));
                if let Err(error) = held.resize(2 * bytes as u64) {
                    return Some(error);
                }
                counted = bytes + VECTOR_BYTES;
            }
        }
        None
    }

    fn eval_columns(
        &mut self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        out: &mut Batch,
    ) -> Result<(), crate::functions::kernel::Trap> {
        for (expr, column) in self.vectors.iter().zip(&mut out.columns) {
            expr.eval_into(cx, batch, &mut self.scratch.0, column)?;
        }
        out.rows = batch.rows;
        Ok(())
    }

    /// Appends the values for one row to a batch whose columns have the expressions' types.
    /// # Errors
    /// Of the first expression that fails; `out` is of no use then.
    pub fn push_row(&self, cx: &EvalContext<'_>, input: RowInput<'_>, out: &mut Batch) -> Result<()> {
        for ((expr, column), ty) in self.rows.iter().zip(&mut out.columns).zip(self.types.iter()) {
            expr.push(cx, input, column, ty)?;
        }
        out.rows += 1;
        Ok(())
    }

    /// The values for one row.
    /// # Errors
    /// Of the first expression that fails.
    pub fn eval_row(&self, cx: &EvalContext<'_>, input: RowInput<'_>) -> Result<Vec<Value>> {
        self.rows.iter().map(|expr| expr.eval(cx, input)).collect()
    }
}

/// A condition over batches.
#[derive(Clone, Debug)]
pub struct Predicate {
    row: Arc<RowExpr>,
    vector: Option<Arc<VectorExpr>>,
    executor: Executor,
    scratch: ScratchCell,
}

impl Predicate {
    /// Compiles a boolean expression for an executor.
    #[must_use]
    pub fn compile(expr: &TypedExpr, executor: Executor) -> Self {
        let vector =
            (executor != Executor::Row && !expr.is_volatile()).then(|| Arc::new(VectorExpr::compile(expr)));
        Self { row: Arc::new(RowExpr::compile(expr)), vector, executor, scratch: ScratchCell::default() }
    }

    /// Replaces `selection` by the rows for which the condition is true, ascending. An error ends the
    /// selection at its row, and comes beside it: what the caller does with the rows before may fail first (F6).
    pub fn select(
        &mut self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        selection: &mut Vec<u32>,
    ) -> Option<ExecError> {
        selection.clear();
        let few = self.executor == Executor::Auto && batch.rows < FEW_ROWS;
        if !few && let Some(vector) = &self.vector {
            let read = |result: BoolResult<'_>| fill_selection(result, batch.rows, selection);
            if vector.eval_bool(cx, batch, &mut self.scratch.0, read).is_ok() {
                return None;
            }
        }
        self.select_some(cx, batch, 0..batch.rows, usize::MAX, selection).1
    }

    /// Replaces `selection` by the first `wanted` of these rows for which the condition is true, which is asked of one row after the
    /// other. Where it stopped: behind the last row that was asked; an error comes beside the rows before it.
    pub fn select_some(
        &self,
        cx: &EvalContext<'_>,
        batch: &Batch,
        rows: Range<usize>,
        wanted: usize,
        selection: &mut Vec<u32>,
    ) -> (usize, Option<ExecError>) {
        selection.clear();
        let repeated = Repeated::default();
        for row in rows.clone() {
            let input = RowInput::among(batch, row, &repeated);
            match cx.runtime.check_cancelled().and_then(|()| self.row.eval(cx, input)) {
                Ok(Value::Bool(true)) => selection.push(row as u32),
                Ok(_) => {}
                Err(error) => return (row + 1, Some(error)),
            }
            if selection.len() >= wanted {
                return (row + 1, None);
            }
        }
        (rows.end, None)
    }
}

fn fill_selection(result: BoolResult<'_>, rows: usize, selection: &mut Vec<u32>) {
    match result {
        BoolResult::All(true) => selection.extend(0..rows as u32),
        BoolResult::All(false) => {}
        BoolResult::Rows(values, nulls) => {
            // without branches: every row is written, the end moves where it counts
            selection.resize(rows, 0);
            let mut count = 0;
            let any_nulls = nulls.any();
            for (row, value) in values.iter().enumerate().take(rows) {
                selection[count] = row as u32;
                let holds = *value != 0 && !(any_nulls && nulls.is_null(row));
                count += usize::from(holds);
            }
            selection.truncate(count);
        }
    }
}
