//! Portals: executions of prepared statements that yield their rows in portions.
//!
//! ```text
//! bind ─► Ready ─run─► Open (operators between two batches, under a view of their own) ─► Done
//!           │            │ the session is about to change something, or WITH HOLD and a commit
//!           │            ▼
//!           └─run──────► Held (rows set aside; what changes something runs to its end) ──► Done
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`open`] | operators between two batches |
//! | [`held`] | rows that were set aside |
//! | [`lifetime`] | how long portals live, what becomes of them meanwhile |
//!
//! T2. An open portal reads the state at its first run. Before the session changes anything, the rest of its rows is
//!     set aside, so that it never sees the session's own later changes.
//! Q3. A portal ends with its transaction, and with the savepoint it was opened under; unless it is held.

mod held;
mod lifetime;
mod open;

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use verso_types::Value;

use crate::Session;
use crate::client::{CommandTag, OutputColumn, StatementSink};
use crate::client::{Counted, Kept};
use crate::plans::Job;
use crate::plans::Prepared;
use crate::plans::ends_transaction;
use held::Held;
use lifetime::Lives;
use open::Open;
use verso_planner::errors::{SqlError, sqlstate};

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
pub(crate) enum State {
    Ready,
    Open(Box<Open>),
    Held(Held),
    Done,
    /// Its transaction ended, or it failed.
    Closed,
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

impl State {
    /// How long it lives; none where there is nothing to come.
    fn lives(&self) -> Option<Lives> {
        match self {
            State::Open(open) => Some(open.lives),
            State::Held(held) => Some(held.lives),
            State::Ready | State::Done | State::Closed => None,
        }
    }
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
        if state.lives().and_then(|lives| lives.transaction).is_some_and(|of| of != serial) {
            return Err(portal.gone());
        }
        match state {
            State::Ready if prepared.only_reads() && max_rows > 0 => {
                self.pull(&job, &shared, None, max_rows, sink)
            }
            State::Ready if max_rows == 0 => {
                *shared.lock() = State::Done;
                Ok(PortalEnd::Complete(self.perform(&job, sink)?.into_tag()))
            }
            State::Ready => self.run_whole(&job, &shared, max_rows, sink),
            State::Open(open) => self.pull(&job, &shared, Some(open), max_rows, sink),
            State::Held(held) => held.hand_out(&shared, max_rows, sink),
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

    /// Runs a statement that changes something, to its end, and hands out the first of its rows.
    fn run_whole(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        let mut rows = Kept { sink, columns: None, batches: VecDeque::new() };
        let tag = self.perform(job, &mut rows)?.into_tag();
        let Kept { columns, batches, .. } = rows;
        let Some(columns) = columns else {
            *state.lock() = State::Done;
            return Ok(PortalEnd::Complete(tag));
        };
        let held = Held { columns, batches, tag: Some(tag), lives: self.lives(false) };
        self.portals.push(Arc::downgrade(state));
        held.hand_out(state, max_rows, sink)
    }

    /// A further run of a cursor's portal, within a statement: how many rows there were, and how it ended.
    pub(crate) fn advance(
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
            State::Held(held) => held.hand_out(&shared, max_rows, &mut counted)?,
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
    pub(crate) fn open_portal(
        &mut self,
        portal: &mut Portal,
        hold: bool,
        sink: &mut dyn StatementSink,
    ) -> Result<(), SqlError> {
        let prepared = Arc::clone(&portal.prepared);
        let shared = portal.shared();
        let Some(job) = Job::prepared(&prepared, &portal.params) else { return Ok(()) };
        let mut silent = Kept { sink, columns: None, batches: VecDeque::new() };
        if prepared.only_reads() {
            self.pull_within(&job, &shared, None, None, hold, &mut silent).map(drop)
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

    /// Runs a query up to the row limit.
    fn pull(
        &mut self,
        job: &Job<'_>,
        state: &Arc<Mutex<State>>,
        open: Option<Box<Open>>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        self.begin_work(job)?;
        self.services.asked.take();
        let mut result = self.pull_within(job, state, open, Some(max_rows), false, sink);
        result = result.and_then(|end| self.change_asked_settings().map(|()| end));
        if let Err(error) = &mut result {
            self.fail_work(error);
        }
        self.end_work();
        self.send_notices(sink)?;
        result
    }
}
