//! Portals: executions of prepared statements that yield their rows in portions.
//!
//! ```text
//! bind ─► Ready ─run─► Open (operators between two batches, under a view of their own) ─► Done
//!           │            │ the session is about to change something, or WITH HOLD and a commit
//!           │            ▼
//!           └─run──────► Held (rows set aside; what changes something runs to its end) ──► Done
//! ```
//!
//! T2. An open portal reads the state at its first run. Before the session changes anything, the rest of its rows is
//!     set aside, so that it never sees the session's own later changes.
//! Q3. A portal ends with its transaction, and with the savepoint it was opened under; unless it is held.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use verso_row::ExecError;
use verso_storage::HeldView;
use verso_types::{Batch, Value};

use super::Session;
use super::api::{CommandTag, CopyLayout, Notice, OutputColumn, StatementSink};
use super::job::Job;
use super::prepared::{Prepared, ends_transaction};
use super::ready::Ready;
use super::run::{Failure, Frame, Results};
use super::transaction::Active;
use crate::errors::{SqlError, sqlstate};

/// An execution of a prepared statement with its parameters; see [`Session::bind`].
#[derive(Debug)]
pub struct Portal {
    prepared: Arc<Prepared>,
    name: Box<str>,
    params: Vec<Value>,
    place: Place,
}

/// Where a portal's state is: most run once, to their ends, and need none.
#[derive(Debug)]
enum Place {
    Ready,
    Done,
    Shared(Arc<Mutex<State>>),
}

/// Where a portal stands; the session reaches those it has to set aside or close.
#[derive(Debug)]
pub(super) enum State {
    Ready,
    Open(Box<Open>),
    Held(Held),
    Done,
    /// Its transaction ended, or it failed.
    Closed,
}

/// Operators between two batches.
#[derive(Debug)]
pub(super) struct Open {
    ready: Ready,
    params: Arc<[Value]>,
    /// What they read under; none while they run.
    view: Option<HeldView>,
    /// Rows beyond the limit of the last run.
    rest: Option<Batch>,
    lives: Lives,
}

/// Rows to be handed out.
#[derive(Debug)]
pub(super) struct Held {
    columns: Arc<[OutputColumn]>,
    batches: VecDeque<Batch>,
    tag: Option<CommandTag>,
    lives: Lives,
}

/// How long a portal lives.
#[derive(Clone, Copy, Debug)]
struct Lives {
    /// The session's transaction; none for a held one once that has committed.
    transaction: Option<u64>,
    /// Savepoints open when it was opened.
    depth: usize,
    /// WITH HOLD.
    hold: bool,
}

/// How a run of a portal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortalEnd {
    /// The row limit was reached: there may be more rows.
    Suspended,
    /// The statement is done. A query counts the rows of this run.
    Complete(CommandTag),
    /// There is no statement in the text.
    Empty,
}

impl Portal {
    /// The statement it executes.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// What it yields; none if it yields no rows.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.prepared.columns()
    }

    /// Its parameters' memory, for another one.
    pub fn into_params(self) -> Vec<Value> {
        self.params
    }

    /// Gives it the name that errors have.
    pub fn set_name(&mut self, name: &str) {
        self.name = name.into();
    }

    /// Its state, where the session can reach it.
    fn shared(&mut self) -> Arc<Mutex<State>> {
        let state = match &self.place {
            Place::Shared(state) => return Arc::clone(state),
            Place::Ready => State::Ready,
            Place::Done => State::Done,
        };
        let state = Arc::new(Mutex::new(state));
        self.place = Place::Shared(Arc::clone(&state));
        state
    }

    fn gone(&self) -> SqlError {
        SqlError::new(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{}\" does not exist", self.name))
    }
}

impl Session {
    /// Makes a portal: checks the parameters' number and brings them to their types. Nothing runs yet.
    ///
    /// # Errors
    /// 08P01 for another number of parameters; 22P02 and others for texts that cannot be read; 25P02 in a failed
    /// transaction, but for statements that end it.
    pub fn bind(&mut self, prepared: &Arc<Prepared>, params: Vec<Value>) -> Result<Portal, SqlError> {
        let bound = self.bind_within(prepared, params);
        if bound.is_err() {
            self.fail_transaction();
        }
        bound
    }

    fn bind_within(&self, prepared: &Arc<Prepared>, params: Vec<Value>) -> Result<Portal, SqlError> {
        if let Some(parsed) = &prepared.parsed
            && !ends_transaction(&parsed.statement)
        {
            self.check_condition(&parsed.statement)?;
        }
        let params = self.arguments(prepared, params)?;
        Ok(Portal { prepared: Arc::clone(prepared), name: "".into(), params, place: Place::Ready })
    }

    /// Runs a portal: up to `max_rows` rows go to `sink`, 0 means all. Another run goes on where this one ended. The
    /// sink hears of columns, rows and notices; how it ended is returned.
    ///
    /// Outside of a transaction block everything up to [`Session::sync`] is one transaction. `last` says that nothing
    /// but the sync will follow, so that a query or change may end it.
    ///
    /// # Errors
    /// Those of the statement; 34000 if the portal's transaction has ended; 55000 if it is done.
    pub fn run_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        last: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        self.series = self.autocommit;
        let prepared = Arc::clone(&portal.prepared);
        if max_rows == 0 && matches!(portal.place, Place::Ready) {
            let Some(job) = Job::prepared(&prepared, &portal.params) else { return Ok(PortalEnd::Empty) };
            portal.place = Place::Done;
            self.series &= !(last && prepared.is_plain());
            return Ok(PortalEnd::Complete(self.perform(&job, sink)?.into_tag()));
        }
        let shared = portal.shared();
        let Some(job) = Job::prepared(&prepared, &portal.params) else { return Ok(PortalEnd::Empty) };
        let serial = self.transaction_serial();
        let state = std::mem::replace(&mut *shared.lock(), State::Closed);
        let lives = match &state {
            State::Open(open) => Some(open.lives),
            State::Held(held) => Some(held.lives),
            State::Ready | State::Done | State::Closed => None,
        };
        if lives.is_some_and(|lives| lives.transaction.is_some_and(|of| of != serial)) {
            return Err(portal.gone());
        }
        match state {
            State::Ready if prepared.only_reads() && max_rows > 0 => {
                self.pull(&job, &shared, None, max_rows, false, sink)
            }
            State::Ready if max_rows == 0 => {
                *shared.lock() = State::Done;
                Ok(PortalEnd::Complete(self.perform(&job, sink)?.into_tag()))
            }
            State::Ready => {
                let mut rows = Rows { sink, columns: None, batches: VecDeque::new() };
                let tag = self.perform(&job, &mut rows)?.into_tag();
                let Rows { columns, batches, .. } = rows;
                let Some(columns) = columns else {
                    *shared.lock() = State::Done;
                    return Ok(PortalEnd::Complete(tag));
                };
                let lives = self.lives(false);
                let held = Held { columns, batches, tag: Some(tag), lives };
                Self::hand_out(held, &shared, max_rows, sink)
            }
            State::Open(open) => self.pull(&job, &shared, Some(open), max_rows, false, sink),
            State::Held(held) => Self::hand_out(held, &shared, max_rows, sink),
            State::Done => {
                *shared.lock() = State::Done;
                if prepared.only_reads() {
                    return Ok(PortalEnd::Complete(CommandTag::counted("SELECT", 0)));
                }
                self.fail_transaction();
                let text = format!("portal \"{}\" cannot be run", portal.name);
                Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, text))
            }
            State::Closed => Err(portal.gone()),
        }
    }

    /// A further run of a cursor's portal, within a statement: how many rows there were, and how it ended.
    pub(super) fn advance(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<(u64, PortalEnd), SqlError> {
        let prepared = Arc::clone(&portal.prepared);
        let shared = portal.shared();
        let Some(job) = Job::prepared(&prepared, &portal.params) else { return Ok((0, PortalEnd::Empty)) };
        let state = std::mem::replace(&mut *shared.lock(), State::Closed);
        let mut counted = Counted { sink, rows: 0 };
        let end = match state {
            State::Open(open) => {
                let open = Some(open);
                self.pull_within(&job, &shared, open, Some(max_rows), false, &mut counted)?
            }
            State::Held(held) => Self::hand_out(held, &shared, max_rows, &mut counted)?,
            State::Ready | State::Done => {
                *shared.lock() = State::Done;
                counted.sink.begin(prepared.columns().unwrap_or_default())?;
                PortalEnd::Complete(CommandTag { text: "SELECT 0".to_string(), rows: 0 })
            }
            State::Closed => return Err(portal.gone()),
        };
        Ok((counted.rows, end))
    }

    /// Opens a cursor's portal without reading a row of it, so that it sees the state of now (T2).
    pub(super) fn open_portal(
        &mut self,
        portal: &mut Portal,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        let prepared = Arc::clone(&portal.prepared);
        let shared = portal.shared();
        let Some(job) = Job::prepared(&prepared, &portal.params) else { return Ok(()) };
        let mut silent = Rows { sink, columns: None, batches: VecDeque::new() };
        if prepared.only_reads() {
            self.open_only(&job, &shared, hold, &mut silent)
        } else {
            // Functions of the user's may change something: their statements run now.
            let done = self.transactional(&job, &mut silent)?;
            let columns = silent.columns.unwrap_or_default();
            let lives = self.lives(hold);
            let held = Held { columns, batches: silent.batches, tag: Some(done.into_tag()), lives };
            *shared.lock() = State::Held(held);
            self.portals.push(Arc::downgrade(&shared));
            Ok(())
        }
    }

    fn lives(&self, hold: bool) -> Lives {
        let depth = self.active.as_ref().map_or(0, |active| active.depth());
        Lives { transaction: Some(self.transaction_serial()), depth, hold }
    }

    /// Runs a query up to the row limit.
    fn pull(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        open: Option<Box<Open>>,
        max_rows: u64,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        self.begin_work(job)?;
        let mut result = self.pull_within(job, state, open, Some(max_rows), hold, sink);
        if let Err(error) = &mut result {
            self.fail_work(error);
        }
        self.end_work();
        for notice in self.services.notices.take() {
            sink.notice(&notice)?;
        }
        result
    }

    fn open_only(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        self.pull_within(job, state, None, None, hold, sink).map(drop)
    }

    /// Opens a query or goes on with it; without `max_rows` no row is read.
    fn pull_within(
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

    fn hand_out(
        mut held: Held,
        state: &Mutex<State>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        sink.begin(&held.columns)?;
        let (ended, count) = held.send(max_rows, sink)?;
        if !ended {
            *state.lock() = State::Held(held);
            return Ok(PortalEnd::Suspended);
        }
        *state.lock() = State::Done;
        let counted = || CommandTag::counted("SELECT", count);
        Ok(PortalEnd::Complete(held.tag.unwrap_or_else(counted)))
    }

    // ── what else the session does meanwhile ─────────────────────────────────────────────────────────────────────

    /// Before a statement that may change something, open portals read on to their ends (T2).
    pub(super) fn set_aside_for(&mut self, job: &Job<'_>) -> Result<(), SqlError> {
        if self.portals.is_empty() || job.prepared.is_some_and(Prepared::only_reads) {
            return Ok(());
        }
        let Some(active) = &self.active else { return Ok(()) };
        self.portals.iter().filter_map(Weak::upgrade).try_for_each(|state| self.set_aside(active, &state))
    }

    /// At a commit held portals read on to their ends, the others are closed.
    pub(super) fn keep_cursors(&mut self, active: &Active) -> Result<(), SqlError> {
        if self.portals.is_empty() {
            return Ok(());
        }
        let states: Vec<_> = self.portals.drain(..).filter_map(|state| state.upgrade()).collect();
        for state in &states {
            let hold = match &*state.lock() {
                State::Open(open) => open.lives.hold,
                State::Held(held) => held.lives.hold,
                State::Ready | State::Done | State::Closed => false,
            };
            if !hold {
                *state.lock() = State::Closed;
                continue;
            }
            self.set_aside(active, state)?;
            if let State::Held(held) = &mut *state.lock() {
                held.lives.transaction = None;
            }
        }
        Ok(())
    }

    /// At a rollback all portals of the transaction are closed.
    pub(super) fn close_portals(&mut self) {
        self.close_portals_where(|_| true);
    }

    /// ROLLBACK TO closes those opened behind the savepoint, of which there are `depth` outside.
    pub(super) fn close_portals_above(&mut self, depth: usize) {
        self.close_portals_where(|lives| lives.depth > depth);
    }

    fn close_portals_where(&mut self, closes: impl Fn(&Lives) -> bool) {
        for state in self.portals.iter().filter_map(Weak::upgrade) {
            let mut state = state.lock();
            let lives = match &*state {
                State::Open(open) => open.lives,
                State::Held(held) => held.lives,
                State::Ready | State::Done | State::Closed => continue,
            };
            if lives.transaction.is_some() && closes(&lives) {
                *state = State::Closed;
            }
        }
    }

    /// Reads an open portal to its end.
    fn set_aside(&self, active: &Active, state: &Mutex<State>) -> Result<(), SqlError> {
        let taken = std::mem::replace(&mut *state.lock(), State::Closed);
        let State::Open(mut open) = taken else {
            *state.lock() = taken;
            return Ok(());
        };
        let Some(view) = open.view.take() else { return Err(SqlError::internal("a portal without a view")) };
        active.txn.borrow_mut().begin_statement_under(view)?;
        let mut nowhere = Nowhere;
        let mut results = Results::new(&mut nowhere);
        let columns = Arc::clone(&open.ready.planned.columns);
        let limit = self.services.settings.work_memory_bytes;
        let read = self.in_frame(active, &mut results, &mut |frame, _| open.rest_of(frame, limit));
        match read {
            Ok(batches) => {
                active.txn.borrow_mut().end_statement()?;
                *state.lock() = State::Held(Held { columns, batches, tag: None, lives: open.lives });
                Ok(())
            }
            Err(Failure { error, .. }) => {
                active.txn.borrow_mut().abort_statement()?;
                Err(error)
            }
        }
    }
}

impl Frame<'_> {
    /// A statement's compiled form, taken out of the session's for as long as its portal is open.
    fn taken(&self, prepared: &Prepared) -> Result<Ready, SqlError> {
        let (executor, epoch) = (self.services.settings.executor, self.services.epoch);
        let known = self.take_ready(prepared.number());
        match known.filter(|ready| ready.fits(self.catalog.version, executor, epoch)) {
            Some(ready) => Ok(ready),
            None => self.compile(prepared),
        }
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
                    verso_row::Sink::batch(results, batch)?;
                }
            }
            Ok::<bool, ExecError>(false)
        });
        results.outcome(pulled)
    }

    /// All rows that are left.
    fn rest_of(&mut self, frame: &Frame<'_>, limit_bytes: u64) -> Result<VecDeque<Batch>, Failure> {
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

/// Cuts a batch behind so many rows; what is cut off, if anything.
fn cut(batch: &mut Batch, rows: u64) -> Option<Batch> {
    if batch.rows as u64 <= rows {
        return None;
    }
    let rest: Vec<u32> = (rows as u32..batch.rows as u32).collect();
    let rest = batch.gather(&rest);
    batch.truncate(rows as usize);
    Some(rest)
}

impl Held {
    /// Sends up to `max_rows` rows, 0 means all; whether there are no more, and how many went.
    fn send(&mut self, max_rows: u64, sink: &mut dyn StatementSink) -> Result<(bool, u64), SqlError> {
        let mut left = if max_rows == 0 { u64::MAX } else { max_rows };
        let mut count = 0;
        while let Some(mut batch) = self.batches.pop_front() {
            if let Some(rest) = cut(&mut batch, left) {
                self.batches.push_front(rest);
            }
            left -= batch.rows as u64;
            count += batch.rows as u64;
            sink.batch(&batch)?;
            if left == 0 {
                return Ok((false, count));
            }
        }
        Ok((true, count))
    }
}

/// Keeps rows.
struct Rows<'s> {
    sink: &'s mut dyn StatementSink,
    columns: Option<Arc<[OutputColumn]>>,
    batches: VecDeque<Batch>,
}

impl StatementSink for Rows<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.columns = Some(columns.into());
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.batches.push_back(batch.clone());
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice(notice)
    }

    fn copy_out(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.sink.copy_out(layout)
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), SqlError> {
        self.sink.copy_data(data)
    }

    fn copy_done(&mut self) -> Result<(), SqlError> {
        self.sink.copy_done()
    }

    fn copy_in(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.sink.copy_in(layout)
    }

    fn copy_read(&mut self, into: &mut Vec<u8>) -> Result<bool, SqlError> {
        self.sink.copy_read(into)
    }
}

/// Counts rows on their way.
struct Counted<'s> {
    sink: &'s mut dyn StatementSink,
    rows: u64,
}

impl StatementSink for Counted<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.sink.begin(columns)
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.rows += batch.rows as u64;
        self.sink.batch(batch)
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.sink.complete(tag)
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice(notice)
    }
}

/// A client that wants nothing.
pub(super) struct Nowhere;

impl StatementSink for Nowhere {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
        Ok(())
    }
}
