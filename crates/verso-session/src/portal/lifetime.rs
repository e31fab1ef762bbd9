//! How long portals live, and what becomes of them when the session does something else (T2, Q3).

use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::State;
use super::held::Held;
use crate::Session;
use crate::client::Nowhere;
use crate::client::Results;
use crate::failure::Failure;
use crate::plans::Job;
use crate::plans::Prepared;
use crate::transaction::Active;
use verso_planner::errors::SqlError;

/// How long a portal lives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lives {
    /// The session's transaction; none for a held one once that has committed.
    pub(super) transaction: Option<u64>,
    /// Savepoints open when it was opened.
    pub(super) depth: usize,
    /// WITH HOLD.
    pub(super) hold: bool,
}

impl Session {
    /// How long a portal lives that is opened now.
    pub(super) fn lives(&self, hold: bool) -> Lives {
        let depth = self.active.as_ref().map_or(0, |active| active.depth());
        Lives { transaction: Some(self.transaction_serial()), depth, hold }
    }

    /// Before a statement that may change something, open portals read on to their ends (T2).
    pub(crate) fn set_aside_for(&mut self, job: &Job<'_>) -> Result<(), SqlError> {
        if self.portals.is_empty() || job.prepared.is_some_and(Prepared::only_reads) {
            return Ok(());
        }
        let Some(active) = &self.active else { return Ok(()) };
        self.portals.iter().filter_map(Weak::upgrade).try_for_each(|state| self.set_aside(active, &state))
    }

    /// At a commit held portals read on to their ends, the others are closed.
    pub(crate) fn keep_portals(&mut self, active: &Active) -> Result<(), SqlError> {
        if self.portals.is_empty() {
            return Ok(());
        }
        let states: Vec<_> = self.portals.drain(..).filter_map(|state| state.upgrade()).collect();
        for state in &states {
            if !state.lock().lives().is_some_and(|lives| lives.hold) {
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
    pub(crate) fn close_portals(&mut self) {
        self.close_portals_where(|_| true);
    }

    /// ROLLBACK TO closes those opened behind the savepoint, of which there are `depth` outside.
    pub(crate) fn close_portals_above(&mut self, depth: usize) {
        self.close_portals_where(|lives| lives.depth > depth);
    }

    /// RELEASE hands on those opened behind the savepoint to what is around it.
    pub(crate) fn keep_portals_at(&mut self, depth: usize) {
        for state in self.portals.iter().filter_map(Weak::upgrade) {
            match &mut *state.lock() {
                State::Open(open) => open.lives.depth = open.lives.depth.min(depth),
                State::Held(held) => held.lives.depth = held.lives.depth.min(depth),
                State::Ready | State::Done | State::Closed => {}
            }
        }
    }

    fn close_portals_where(&mut self, closes: impl Fn(&Lives) -> bool) {
        for state in self.portals.iter().filter_map(Weak::upgrade) {
            let mut state = state.lock();
            let lives = state.lives().filter(|lives| lives.transaction.is_some());
            if lives.is_some_and(|lives| closes(&lives)) {
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
