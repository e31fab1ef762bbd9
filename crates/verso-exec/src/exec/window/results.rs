//! The values of a function for the rows of a long partition, in their order.

use verso_types::{Batch, Column, SqlType, Value};

use super::super::{BATCH_ROWS, ExecContext};
use crate::error::Result;
use crate::spill::Spool;

/// Values are put aside in portions of so many bytes.
const PORTION_BYTES: usize = 64 << 10;

/// Values, pushed first, then taken out.
pub(super) struct Results {
    ty: SqlType,
    spool: Spool,
    /// The portion that is filled, then the one that is taken out.
    portion: Batch,
    taken: usize,
}

impl Results {
    pub fn new(ty: &SqlType) -> Self {
        let portion = Batch::of_types(std::slice::from_ref(ty));
        Self { ty: ty.clone(), spool: Spool::default(), portion, taken: 0 }
    }

    /// # Errors
    /// `OutOfMemory` where nothing can be written to files; theirs.
    pub fn push(&mut self, cx: &ExecContext<'_>, value: &Value) -> Result<()> {
        self.portion.columns[0].push_value(value, &self.ty)?;
        self.portion.rows += 1;
        match self.portion.rows == BATCH_ROWS || self.portion.variable_bytes() > PORTION_BYTES {
            true => self.complete(cx),
            false => Ok(()),
        }
    }

    /// Is called when all values are in.
    ///
    /// # Errors
    /// As [`Results::push`].
    pub fn complete(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let empty = Batch::of_types(std::slice::from_ref(&self.ty));
        let full = std::mem::replace(&mut self.portion, empty);
        self.spool.push(cx.services.memory, "a window", full)
    }

    /// Appends the next values to a column.
    ///
    /// # Errors
    /// Those of the file.
    pub fn take(&mut self, rows: usize, out: &mut Column) -> Result<()> {
        let mut left = rows;
        while left > 0 {
            if self.taken == self.portion.rows {
                self.taken = 0;
                if !self.spool.next(&mut self.portion)? {
                    break;
                }
            }
            let end = self.portion.rows.min(self.taken + left);
            out.append_range(&self.portion.columns[0], self.taken..end);
            left -= end - self.taken;
            self.taken = end;
        }
        Ok(())
    }
}
