//! Open portals: operators between two batches, under the view they were opened with (T2).

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use verso_exec::ExecError;
use verso_storage::HeldView;
use verso_types::{Batch, Value};

use super::held::cut;
use super::lifetime::Lives;
use super::{PortalEnd, State};
use crate::Session;
use crate::client::Results;
use crate::client::{CommandTag, StatementSink};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::Job;
use crate::plans::Ready;
use verso_planner::errors::SqlError;

/// Operators between two batches.
#[derive(Debug)]
pub(crate) struct Open {
    pub(super) ready: Ready,
    params: Arc<[Value]>,
    /// What they read under; none while they run.
    pub(super) view: Option<HeldView>,
    /// Rows beyond the limit of the last run.
    rest: Option<Batch>,
    pub(super) lives: Lives,
}

impl Session {
    /// Opens a query or goes on with it; without `max_rows` no row is read.
    pub(super) fn pull_within(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        open: Option<Box<Open>>,
        max_rows: Option<u64>,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        let Some(prepared) = job.prepared else { return Err(SqlError::internal("no prepared statement")) };
        self.ensure_active_for(false)?;
        let lives = self.lives(hold);
        if let Some(active) = &mut self.active {
            active.pristine = false;
        }
        let Some(active) = &self.active else { return Err(SqlError::internal("no transaction")) };
        let mut open = open;
        match open.as_mut().and_then(|open| open.view.take()) {
            Some(view) => active.txn.borrow_mut().begin_statement_under(view)?,
            None => active.txn.borrow_mut().begin_statement()?,
        }
        let mut results = Results::new(sink);
        results.streams = true;
        let mut count = 0;
        let ran = self.in_frame(active, &mut results, &mut |frame, results| {
            if open.is_none() {
                let mut ready = frame.taken(prepared)?;
                frame.with_context(job.params, |cx| ready.compiled.open(cx))?;
                let params = job.params.into();
                open = Some(Box::new(Open { ready, params, view: None, rest: None, lives }));
            }
            let Some(open) = &mut open else { return Err(SqlError::internal("not open").into()) };
            let Some(max_rows) = max_rows else { return Ok(false) };
            results.begin(&open.ready.planned.columns)?;
            open.send(frame, max_rows, results, &mut count)
        });
        let more = match ran {
            Ok(ended) => !ended,
            Err(Failure { error, .. }) => {
                active.txn.borrow_mut().abort_statement()?;
                return Err(error);
            }
        };
        let Some(mut open) = open else { return Err(SqlError::internal("not open")) };
        if more {
            open.view = Some(active.txn.borrow_mut().end_statement_holding()?);
            *state.lock() = State::Open(open);
            self.portals.retain(|known| known.strong_count() > 0);
            if !self.portals.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(state))) {
                self.portals.push(Arc::downgrade(state));
            }
            return Ok(PortalEnd::Suspended);
        }
        active.txn.borrow_mut().end_statement()?;
        open.ready.compiled.close();
        self.ready.borrow_mut().put(prepared.number(), open.ready);
        *state.lock() = State::Done;
        Ok(PortalEnd::Complete(CommandTag::counted("SELECT", count)))
    }
}

impl Open {
    /// Sends up to `max_rows` rows, 0 means all; whether there are no more.
    fn send(
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
    pub(super) fn rest_of(
        &mut self,
        frame: &Frame<'_>,
        limit_bytes: u64,
    ) -> Result<VecDeque<Batch>, Failure> {
        let Open { ready, params, rest, .. } = self;
        let mut batches: VecDeque<Batch> = rest.take().into_iter().collect();
        let mut bytes = 0;
        frame.with_context(params, |cx| {
            while let Some(batch) = ready.compiled.next(cx)? {
                bytes += batch.heap_bytes() as u64;
                if bytes > limit_bytes {
                    return Err(ExecError::OutOfMemory { what: "an open cursor", limit_bytes });
                }
                batches.push_back(batch.clone());
            }
            Ok::<(), ExecError>(())
        })?;
        Ok(batches)
    }
}
