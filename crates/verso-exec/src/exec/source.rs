//! Operators without an input: values, files, and what a client sends. Tables are in `scan`, functions in `function_rows`.

use std::borrow::Cow;
use std::sync::Arc;

use verso_types::{Batch, SqlType};

use super::operator::Operator;
use super::values::ListedRows;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::error::Result;
use crate::expr::Executor;
use crate::files::{FileRows, FileTable};
use crate::memory::Reservation;
use crate::plan::{OutputColumn, TypedExpr};

/// A batch of one row without columns: the input of expressions that have none.
pub(crate) static ONE_ROW: Batch = Batch { rows: 1, columns: Vec::new() };

pub(super) fn types(columns: &[OutputColumn]) -> Vec<SqlType> {
    columns.iter().map(|column| column.ty.clone()).collect()
}

/// Rows of expressions.
pub(crate) struct ValuesOperator {
    rows: ListedRows,
    next: usize,
    bound: u64,
}

impl ValuesOperator {
    pub fn new(rows: &[Vec<TypedExpr>], columns: &[OutputColumn], _: Executor) -> Self {
        Self {
            rows: ListedRows::new(rows.iter().map(Cow::Borrowed), types(columns)),
            next: 0,
            bound: u64::MAX,
        }
    }
}

impl Operator for ValuesOperator {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        (self.next, self.bound) = (0, u64::MAX);
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        self.bound = rows;
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        out.clear();
        let eval = cx.eval();
        let bound = std::mem::replace(&mut self.bound, u64::MAX).min(BATCH_ROWS as u64);
        while self.next < self.rows.len() && (out.rows as u64) < bound && out.variable_bytes() < BATCH_BYTES {
            self.rows.push(self.next, &eval, out)?;
            self.next += 1;
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {}
}

/// Rows from outside ([`ExternalRows`](super::ExternalRows)).
pub(crate) struct ExternalOperator;

impl Operator for ExternalOperator {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        match cx.external {
            Some(rows) => rows.next(out),
            None => Ok(false),
        }
    }

    fn close(&mut self) {}
}

/// Bytes of files that are held without being counted.
const PIECE_BYTES: usize = 512 << 10;

/// Rows of files.
pub(crate) struct FileOperator {
    table: Arc<FileTable>,
    columns: Vec<usize>,
    rows: Option<Box<dyn FileRows>>,
    /// For what was read and is no row yet.
    held: Option<Reservation>,
}

impl FileOperator {
    pub fn new(table: &Arc<FileTable>, columns: &[usize]) -> Self {
        Self { table: Arc::clone(table), columns: columns.to_vec(), rows: None, held: None }
    }
}

impl Operator for FileOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.rows = Some(self.table.open(&self.columns, cx.services.time_zone)?);
        self.held = Some(cx.services.memory.reserve("a row of a file"));
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        let (Some(rows), Some(held)) = (&mut self.rows, &mut self.held) else { return Ok(false) };
        let more = rows.next(out)?;
        // A long row becomes fields, and these become values.
        let pending = rows.pending();
        held.resize(if pending > PIECE_BYTES { 4 * pending as u64 } else { 0 })?;
        Ok(more)
    }

    fn close(&mut self) {
        (self.rows, self.held) = (None, None);
    }
}
