//! Open portals: operators between two batches, under the view they were opened with (T2).

use std::sync::Arc;

use verso_exec::ExecError;
use verso_exec::spill::Spool;
use verso_storage::HeldView;
use verso_types::{Batch, Value};

use super::held::cut;
use super::lifetime::Lives;
use crate::client::Results;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::memory::KeptMemory;
use crate::plans::Ready;

/// Operators between two batches.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) ready: Ready,
    params: Arc<[Value]>,
    /// What they read under; none while they run.
    pub(crate) view: Option<HeldView>,
    /// Rows beyond the limit of the last run.
    rest: Option<Batch>,
    pub(crate) lives: Lives,
}

impl Open {
    /// One whose operators are open, before its first row.
    pub(crate) fn new(ready: Ready, params: Arc<[Value]>, lives: Lives) -> Open {
        Open { ready, params, view: None, rest: None, lives }
    }

    /// Sends up to `max_rows` rows, 0 means all; whether there are no more.
    pub(crate) fn send(
        &mut self,
        frame: &Frame<'_>,
        max_rows: u64,
        results: &mut Results<'_>,
        count: &mut u64,
    ) -> Result<bool, Failure> {
        let mut left = if max_rows == 0 { u64::MAX } else { max_rows };
        let Open { ready, params, rest, .. } = self;
        if let Some(mut batch) = rest.take() {
            *rest = cut(&mut batch, left);
            left -= batch.rows as u64;
            *count += batch.rows as u64;
            results.pass(&batch)?;
        }
        let pulled = frame.with_context(params, |cx| {
            while left > 0 {
                if max_rows > 0 {
                    ready.compiled.bound(left);
                }
                let Some(batch) = ready.compiled.next(cx)? else { return Ok(true) };
                *rest = cut(batch, left);
                left -= batch.rows as u64;
                *count += batch.rows as u64;
                if batch.rows > 0 {
                    verso_exec::Sink::batch(results, batch)?;
                }
            }
            Ok::<bool, ExecError>(false)
        });
        results.outcome(pulled)
    }

    /// All rows that are left.
    pub(crate) fn rest_of(
        &mut self,
        frame: &Frame<'_>,
        memory: &KeptMemory,
    ) -> Result<(Option<Batch>, Spool), Failure> {
        let Open { ready, params, rest, .. } = self;
        let mut rows = Spool::default();
        frame.with_context(params, |cx| {
            while let Some(batch) = ready.compiled.next(cx)? {
                rows.push(memory.lend(), "an open cursor", batch.clone())?;
            }
            Ok::<(), ExecError>(())
        })?;
        Ok((rest.take(), rows))
    }
}
