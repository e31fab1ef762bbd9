//! Open portals: operators between two batches, under the view they were opened with (T2).

use std::sync::Arc;

use verso_exec::exec::{Use, UsedTables, tables_used};
use verso_exec::spill::Spool;
use verso_exec::{ExecContext, ExecError};
use verso_storage::HeldView;
use verso_types::{Batch, Value};

use super::held::cut;
use super::lifetime::Lives;
use crate::client::{Results, StatementSink};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::memory::KeptMemory;
use crate::plans::Ready;
use verso_planner::errors::SqlError;

/// Rows set aside: those cut off from what was handed out, the others, what goes wrong behind them.
pub(crate) type Rest = (Option<Batch>, Spool, Option<SqlError>);

/// So many rows are asked for at once.
const SET_ASIDE_ROWS: u64 = 1024;

/// Operators between two batches.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) ready: Ready,
    params: Arc<[Value]>,
    /// What they read under; none while they run.
    pub(crate) view: Option<HeldView>,
    /// Rows beyond the limit of the last run.
    rest: Option<Batch>,
    /// It reads nothing of tables any more: its functions are called for rows that were read before.
    pub(crate) detached: bool,
    pub(crate) lives: Lives,
    /// The tables that its query uses, once that is told.
    pub(crate) used: Option<Use>,
}

impl Open {
    /// One whose operators are open, before its first row.
    pub(crate) fn new(ready: Ready, params: Arc<[Value]>, lives: Lives) -> Open {
        Open { ready, params, view: None, rest: None, detached: false, lives, used: None }
    }

    /// Tells of the tables that its query uses.
    pub(crate) fn tell_used(&mut self, tables: &UsedTables) {
        let bound = &self.ready.planned.bound;
        self.used.get_or_insert_with(|| tables.begin(&tables_used(bound)));
    }

    /// Reads now what is left to be read of tables, so that functions of its query which do something can be called when their
    /// rows are asked for; false where the query has none, or has them where its rows are not made at last.
    pub(crate) fn detach(&mut self, frame: &Frame<'_>, memory: &KeptMemory) -> Result<bool, Failure> {
        let Open { ready, params, detached, .. } = self;
        if !*detached && ready.compiled.can_set_aside() {
            frame.with_context(params, |cx| {
                ready.compiled.set_aside(cx, memory.lend(), &ready.planned.bound)
            })?;
            *detached = true;
        }
        Ok(*detached)
    }

    /// Hands out up to `max_rows` rows, 0 meaning all, of one that is detached, within a statement that runs: how many there
    /// were; whether there are no more. What it locks it locks as it sees it.
    pub(crate) fn hand_out(
        &mut self,
        cx: &ExecContext<'_>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<(u64, bool), SqlError> {
        let Some(view) = self.view.take() else { return Err(SqlError::internal("a portal without a view")) };
        let (handed, held) =
            cx.within_statement(Box::new(view), || self.hand_out_under(cx, max_rows, sink))?;
        self.view = held.downcast().ok().map(|view| *view);
        Ok(handed)
    }

    fn hand_out_under(
        &mut self,
        cx: &ExecContext<'_>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<(u64, bool), SqlError> {
        sink.begin(&self.ready.planned.columns)?;
        let Open { ready, params, rest, .. } = self;
        let cx = cx.with_params(params);
        let (mut left, mut count) = (if max_rows == 0 { u64::MAX } else { max_rows }, 0);
        let mut send = |batch: &mut Batch, left: &mut u64| {
            let more = cut(batch, *left);
            *left -= batch.rows as u64;
            count += batch.rows as u64;
            sink.batch(batch).map(|()| more)
        };
        if let Some(mut batch) = rest.take() {
            *rest = send(&mut batch, &mut left)?;
        }
        while left > 0 {
            if max_rows > 0 {
                ready.compiled.bound(left);
            }
            match ready.compiled.next(&cx)? {
                Some(batch) => *rest = send(batch, &mut left)?,
                None => return Ok((count, true)),
            }
        }
        Ok((count, false))
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

    /// All rows that are left. What is wrong with the data of one (class 22) is the client's once it comes to that row: it is
    /// kept beside those before it.
    pub(crate) fn rest_of(&mut self, frame: &Frame<'_>, memory: &KeptMemory) -> Result<Rest, Failure> {
        let Open { ready, params, rest, .. } = self;
        let mut rows = Spool::default();
        let read = frame.with_context(params, |cx| {
            loop {
                // Rows before an error are yielded.
                ready.compiled.bound(SET_ASIDE_ROWS);
                let Some(batch) = ready.compiled.next(cx)? else { return Ok::<(), ExecError>(()) };
                rows.push(memory.lend(), "an open cursor", batch.clone())?;
            }
        });
        let failed = match read.map_err(Failure::from) {
            Ok(()) => None,
            Err(failure) if failure.error.sqlstate.starts_with("22") => Some(failure.error),
            Err(failure) => return Err(failure),
        };
        Ok((rest.take(), rows, failed))
    }
}
