//! Portals: executions of prepared statements that yield their rows in portions.
//!
//! ```text
//! bind ─► Ready ─run─► Open (operators between two batches, under a view of their own) ─► Done
//!           │            │ the session is about to change something, or WITH HOLD and a commit
//!           │            ▼
//!           └─run──────► Held (rows set aside; what changes something runs to its end) ──► Done
//! ```
//!
//! Of a query whose functions do something only what they are called for is set aside: it stays open, *detached* from tables. So does
//! one that locks its rows: each is locked when it is fetched.
//!
//! | module | what it is |
//! |---|---|
//! | [`open`] | operators between two batches |
//! | [`held`] | rows that were set aside |
//! | [`lifetime`] | how long portals live, and the session's list of them |
//!
//! T2. An open portal reads the state at its first run. Before the session changes anything, the rest of its rows is
//!     set aside, so that it never sees the session's own later changes. Functions that it calls see what there is when their
//!     rows are asked for.
//! Q3. A portal ends with its transaction, and with the savepoint it was opened under; unless it is held.

mod held;
mod lifetime;
mod open;

use std::sync::Arc;

use parking_lot::Mutex;
use verso_catalog::Oid;
use verso_exec::ExecContext;
use verso_exec::exec::tables_used;
use verso_types::Value;

use crate::client::{CommandTag, Counted, OutputColumn, StatementSink};
use crate::plans::Prepared;
pub(crate) use held::Held;
pub(crate) use lifetime::{Lives, Portals};
pub(crate) use open::Open;
use verso_planner::errors::{SqlError, sqlstate};

/// An execution of a prepared statement with its parameters; see [`Session::bind`](crate::Session::bind).
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

impl PortalEnd {
    /// How many rows a run of a query has yielded that was to yield so many at most.
    pub(crate) fn rows(&self, most: u64) -> u64 {
        match self {
            PortalEnd::Suspended => most,
            PortalEnd::Complete(tag) => tag.rows,
            PortalEnd::Empty => 0,
        }
    }
}

impl State {
    /// How long it lives; none where there is nothing to come.
    pub(crate) fn lives(&self) -> Option<Lives> {
        match self {
            State::Open(open) => Some(open.lives),
            State::Held(held) => Some(held.lives),
            State::Ready | State::Done | State::Closed => None,
        }
    }
}

impl Portal {
    /// One that has not run yet; the parameters are of its statement's types.
    pub(crate) fn new(prepared: Arc<Prepared>, params: Vec<Value>) -> Portal {
        Portal { prepared, name: "".into(), params, place: Place::Ready }
    }

    /// Its parameters.
    pub(crate) fn params(&self) -> &[Value] {
        &self.params
    }

    /// The name that errors have.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Takes one that has not run yet for done, as it is about to run to its end; whether it was one.
    pub(crate) fn finish_ready(&mut self) -> bool {
        let is_ready = matches!(self.place, Place::Ready);
        if is_ready {
            self.place = Place::Done;
        }
        is_ready
    }

    /// The statement it executes.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// The tables that its query uses, if it is open.
    pub(crate) fn tables_used(&mut self) -> Arc<[Oid]> {
        match &*self.shared().lock() {
            State::Open(open) => tables_used(&open.ready.planned.bound),
            State::Ready | State::Held(_) | State::Done | State::Closed => Arc::new([]),
        }
    }

    /// Whether it was closed, and its name is free.
    pub fn is_closed(&self) -> bool {
        matches!(&self.place, Place::Shared(state) if matches!(*state.lock(), State::Closed))
    }

    /// Closes it, whoever has it.
    pub(crate) fn close(&mut self) {
        *self.shared().lock() = State::Closed;
    }

    /// Whether nothing of it has run yet.
    pub(crate) fn is_ready(&self) -> bool {
        match &self.place {
            Place::Ready => true,
            Place::Done => false,
            Place::Shared(state) => matches!(*state.lock(), State::Ready),
        }
    }

    /// What it yields; none if it yields no rows.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.prepared.columns()
    }

    /// Hands out up to `max_rows` rows, 0 meaning all, of those that were set aside: how many there were, and how it ended.
    ///
    /// # Errors
    /// 34000 where it is closed, or open: a query of its own would have to go on.
    pub(crate) fn hand_out(
        &mut self,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<(u64, PortalEnd), SqlError> {
        let shared = self.shared();
        let state = std::mem::replace(&mut *shared.lock(), State::Closed);
        match state {
            State::Held(held) => {
                let mut counted = Counted { sink, rows: 0 };
                let end = held.hand_out(&shared, max_rows, &mut counted)?;
                Ok((counted.rows, end))
            }
            State::Ready | State::Done => {
                *shared.lock() = State::Done;
                sink.begin(self.columns().unwrap_or_default())?;
                Ok((0, PortalEnd::Complete(CommandTag { text: "SELECT 0".to_string(), rows: 0 })))
            }
            State::Open(_) => {
                *shared.lock() = state;
                Err(self.gone())
            }
            State::Closed => Err(self.gone()),
        }
    }

    /// The same within a statement that runs, also of one that is detached.
    ///
    /// # Errors
    /// As of [`Portal::hand_out`]; those of its query.
    pub(crate) fn hand_out_within(
        &mut self,
        cx: &ExecContext<'_>,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<(u64, PortalEnd), SqlError> {
        let shared = self.shared();
        let state = std::mem::replace(&mut *shared.lock(), State::Closed);
        let State::Open(mut open) = state else {
            *shared.lock() = state;
            return self.hand_out(max_rows, sink);
        };
        if !open.detached {
            *shared.lock() = State::Open(open);
            return Err(self.gone());
        }
        // The lock is not held meanwhile: functions that are called may look at all portals.
        let (count, ended) = open.hand_out(cx, max_rows, sink)?;
        let (state, end) = match ended {
            true => (State::Done, PortalEnd::Complete(CommandTag::counted("SELECT", count))),
            false => (State::Open(open), PortalEnd::Suspended),
        };
        *shared.lock() = state;
        Ok((count, end))
    }

    /// Its parameters' memory, for another one.
    pub fn into_params(self) -> Vec<Value> {
        self.params
    }

    /// Makes it one whose rows are locked as they are fetched.
    pub(crate) fn open(&mut self, open: Box<Open>) {
        *self.shared().lock() = State::Open(open);
    }

    /// Makes it one whose rows were collected.
    pub(crate) fn hold(&mut self, rows: Held) {
        *self.shared().lock() = State::Held(rows);
    }

    /// Gives it the name that errors have.
    pub fn set_name(&mut self, name: &str) {
        self.name = name.into();
    }

    /// Its state, where the session can reach it.
    pub(crate) fn shared(&mut self) -> Arc<Mutex<State>> {
        let state = match &self.place {
            Place::Shared(state) => return Arc::clone(state),
            Place::Ready => State::Ready,
            Place::Done => State::Done,
        };
        let state = Arc::new(Mutex::new(state));
        self.place = Place::Shared(Arc::clone(&state));
        state
    }

    pub(crate) fn gone(&self) -> SqlError {
        SqlError::new(sqlstate::INVALID_CURSOR_NAME, format!("portal \"{}\" does not exist", self.name))
    }
}
