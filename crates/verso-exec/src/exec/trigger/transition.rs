//! Transition tables, read by queries in the function of their trigger.

use verso_types::Batch;

use crate::error::Result;
use crate::exec::ExecContext;
use crate::exec::operator::Operator;
use crate::spill::SpoolReader;

/// The rows that the statement has changed.
pub(in crate::exec) struct TransitionOperator {
    new: bool,
    reader: SpoolReader,
}

impl TransitionOperator {
    pub fn new(new: bool) -> Self {
        Self { new, reader: SpoolReader::default() }
    }
}

impl Operator for TransitionOperator {
    fn open(&mut self, _: &ExecContext<'_>) -> Result<()> {
        self.reader = SpoolReader::default();
        Ok(())
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        // Without rows there is nothing to read.
        let Some(rows) = cx.transitions() else { return Ok(false) };
        let rows = if self.new { &rows.new } else { &rows.old };
        rows.read(&mut self.reader, out)
    }

    fn close(&mut self) {}
}
