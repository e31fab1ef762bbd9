//! Right rows on their way into a join: from the input, or from the batches of several workers that have read it.
//!
//! A worker that may hold no more rows ends; what it has not read comes from its part of the input behind the rows of all
//! workers.

use std::collections::VecDeque;
use std::sync::Arc;

use verso_types::{Batch, SqlType};

use crate::error::Result;
use crate::exec::filter::KeyFilter;
use crate::exec::operator::{Nothing, Operator};
use crate::exec::{BATCH_ROWS, ExecContext, parallel};
use crate::memory::Reservation;

/// See the module.
pub(super) struct RightRows {
    pub input: Box<dyn Operator>,
    /// Rows that workers have read, and what they have not.
    read: VecDeque<Read>,
    rest: Vec<Box<dyn Operator>>,
    shared: bool,
}

/// The rows of a worker.
struct Read {
    batches: VecDeque<Batch>,
    held: Reservation,
}

/// Rows and bytes of a batch to which further ones are added.
const FULL_ROWS: usize = 16 * BATCH_ROWS;
const FULL_BYTES: usize = 2 << 20;

impl Default for RightRows {
    fn default() -> RightRows {
        RightRows::of(Box::new(Nothing))
    }
}

impl RightRows {
    pub fn of(input: Box<dyn Operator>) -> RightRows {
        RightRows { input, read: VecDeque::new(), rest: Vec::new(), shared: false }
    }

    /// Opens the input, of which only rows are wanted that these filters let through.
    pub fn open(&mut self, cx: &ExecContext<'_>, filters: &[(usize, Arc<KeyFilter>)]) -> Result<()> {
        self.input.open(cx)?;
        filters.iter().for_each(|(column, filter)| self.input.restrict(*column, filter));
        Ok(())
    }

    /// Reads the input, just opened, with several workers, if it is to be read so.
    pub fn share(&mut self, cx: &ExecContext<'_>, types: &[SqlType], what: &'static str) -> Result<()> {
        let Some(parts) = parallel::split(cx, &mut *self.input)? else { return Ok(()) };
        let types = types.to_vec();
        let read = parallel::run(cx, parts, move |cx, mut input: Box<dyn Operator>| {
            let mut held = cx.services.memory.reserve(what);
            let mut batches: VecDeque<Batch> = VecDeque::new();
            let mut rows = Batch::of_types(&types);
            // Of all batches but the last one.
            let mut bytes = 0;
            while input.next(cx, &mut rows)? {
                match batches.back_mut() {
                    Some(last) if last.rows < FULL_ROWS && last.heap_bytes() < FULL_BYTES => {
                        last.append(&rows)
                    }
                    last => {
                        bytes += last.map_or(0, |last| last.heap_bytes());
                        batches.push_back(std::mem::replace(&mut rows, Batch::of_types(&types)));
                    }
                }
                let all = bytes + batches.back().map_or(0, Batch::heap_bytes);
                if held.try_resize(all as u64).is_err() {
                    held.hold(all as u64);
                    return Ok((Read { batches, held }, Some(input)));
                }
            }
            input.close();
            Ok((Read { batches, held }, None))
        })?;
        let (read, rest): (VecDeque<Read>, Vec<_>) = read.into_iter().unzip();
        (self.read, self.rest, self.shared) = (read, rest.into_iter().flatten().collect(), true);
        Ok(())
    }

    /// Replaces `out` by the next rows. False at the end.
    pub fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if !self.shared {
            return self.input.next(cx, out);
        }
        while let Some(read) = self.read.front_mut() {
            if let Some(batch) = read.batches.pop_front() {
                // From now on the reader counts them.
                read.held.hold(read.held.bytes().saturating_sub(batch.heap_bytes() as u64));
                *out = batch;
                return Ok(true);
            }
            self.read.pop_front();
        }
        parallel::next_of(cx, &mut self.rest, out)
    }

    pub fn close(&mut self) {
        self.input.close();
        (self.read, self.rest, self.shared) = (VecDeque::new(), Vec::new(), false);
    }
}
