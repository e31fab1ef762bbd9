//! Rows that come in the order of the first keys already, sorted group by group.
//!
//! G1. A part of the input ends where the last group of a batch begins: whatever comes later belongs behind it. So small groups are
//!     sorted together, and a large one is read to its end.

use verso_types::Batch;

use super::Keyed;
use crate::error::Result;
use crate::exec::ExecContext;
use crate::exec::operator::Operator;

/// Cuts the input into parts, each of which is sorted by itself.
pub(super) struct Groups {
    /// By the keys whose order the rows have.
    keyed: Keyed,
    /// What was read last.
    batch: Batch,
    next: Next,
    /// The key of the last rows of this part, if it has some.
    key: Option<Vec<u8>>,
}

/// What is to be said next.
enum Next {
    /// The rows of the next batch.
    Read,
    /// That the part has ended; behind it come the rows of the batch from this one on.
    Cut(usize),
    /// These rows.
    Rest(usize),
    /// Nothing.
    Ended,
}

impl Groups {
    pub fn new(keyed: Keyed, types: &[verso_types::SqlType]) -> Groups {
        Groups { keyed, batch: Batch::of_types(types), next: Next::Read, key: None }
    }

    /// Begins with an input that was opened.
    pub fn begin(&mut self) {
        (self.next, self.key) = (Next::Read, None);
    }

    /// Whether the input has no more rows.
    pub fn have_ended(&self) -> bool {
        matches!(self.next, Next::Ended)
    }

    /// Replaces the batch's rows by further ones of the part; false at its end.
    pub fn next(&mut self, cx: &ExecContext<'_>, input: &mut dyn Operator, out: &mut Batch) -> Result<bool> {
        match self.next {
            Next::Ended => Ok(false),
            Next::Cut(from) => {
                (self.next, self.key) = (Next::Rest(from), None);
                Ok(false)
            }
            Next::Rest(from) => {
                self.next = Next::Read;
                let keys = &self.keyed.encoded;
                self.key = Some(keys.get(self.batch.rows - 1).to_vec());
                self.give(from..self.batch.rows, out);
                Ok(true)
            }
            Next::Read => self.read(cx, input, out),
        }
    }

    fn read(&mut self, cx: &ExecContext<'_>, input: &mut dyn Operator, out: &mut Batch) -> Result<bool> {
        if !input.next(cx, &mut self.batch)? {
            self.next = Next::Ended;
            return Ok(false);
        }
        let keys = self.keyed.of(cx, &self.batch)?;
        let Some(last) = self.batch.rows.checked_sub(1).map(|last| keys.get(last)) else { return Ok(true) };
        let from = (0..self.batch.rows).rev().take_while(|row| keys.get(*row) == last).last().unwrap_or(0);
        if from > 0 {
            self.next = Next::Cut(from);
            self.give(0..from, out);
            return Ok(true);
        }
        // One group: that of the rows before, or another one.
        if self.key.as_deref().is_some_and(|key| key != last) {
            (self.next, self.key) = (Next::Rest(0), None);
            return Ok(false);
        }
        if self.key.is_none() {
            self.key = Some(last.to_vec());
        }
        std::mem::swap(out, &mut self.batch);
        Ok(true)
    }

    fn give(&self, rows: std::ops::Range<usize>, out: &mut Batch) {
        out.clear();
        for (from, to) in self.batch.columns.iter().zip(&mut out.columns) {
            to.append_range(from, rows.clone());
        }
        out.rows += rows.len();
    }
}
