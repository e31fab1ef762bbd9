//! What becomes of open portals when the session does something else (T2, Q3).

use std::sync::Arc;

use parking_lot::Mutex;

use super::Session;
use crate::client::{Client, Nowhere, Results};
use crate::failure::Failure;
use crate::plans::{Job, Prepared};
use crate::portal::{Held, Lives, State};
use crate::transaction::Active;
use verso_planner::errors::SqlError;

impl Session {
    /// How long a portal lives that is opened now.
    pub(super) fn lives(&self, hold: bool) -> Lives {
        Lives { transaction: Some(self.transaction.serial()), depth: self.transaction.depth(), hold }
    }

    /// Before a statement that may change something, open portals read on to their ends (T2).
    pub(crate) fn set_aside_for(&mut self, job: &Job<'_>) -> Result<(), SqlError> {
        if self.portals.is_empty() || job.prepared.is_some_and(Prepared::only_reads) {
            return Ok(());
        }
        self.transaction.active().map_or(Ok(()), |active| self.set_all_aside(active))
    }

    /// Open portals read on to their ends, whatever comes of the transaction.
    pub(super) fn set_all_aside(&self, active: &Active) -> Result<(), SqlError> {
        self.portals.all().try_for_each(|state| self.set_aside(active, &state, false))
    }

    /// At a commit held portals read on to their ends, the others are closed. An error in the rows of a held portal is one of
    /// the commit: nobody could take back later what the transaction did.
    pub(crate) fn keep_portals(&mut self, active: &Active) -> Result<(), SqlError> {
        for state in &self.portals.all().collect::<Vec<_>>() {
            if !state.lock().lives().is_some_and(|lives| lives.hold) {
                *state.lock() = State::Closed;
                continue;
            }
            self.set_aside(active, state, true)?;
            if let State::Held(held) = &mut *state.lock() {
                held.check()?;
                held.lives.transaction = None;
                held.used = None;
            }
        }
        self.portals.take();
        Ok(())
    }

    /// Reads an open portal to its end, or as far as it reads tables, unless all of it is asked for.
    fn set_aside(&self, active: &Active, state: &Mutex<State>, all: bool) -> Result<(), SqlError> {
        let taken = std::mem::replace(&mut *state.lock(), State::Closed);
        let mut open = match taken {
            State::Open(open) => open,
            other => {
                *state.lock() = other;
                return Ok(());
            }
        };
        open.tell_used(&self.services.portals.used);
        if open.detached && !all {
            *state.lock() = State::Open(open);
            return Ok(());
        }
        let Some(view) = open.view.take() else { return Err(SqlError::internal("a portal without a view")) };
        let waiting = self.services.deferred.borrow().place();
        active.txn.borrow_mut().begin_statement_under(view)?;
        let mut nowhere = Nowhere;
        let client = Client::new(&mut nowhere);
        let mut results = Results::aside(&client, self.services.memory.lend());
        let columns = Arc::clone(&open.ready.planned.columns);
        let memory = self.services.memory.keep();
        let read =
            self.in_frame(active, &mut results, &mut |frame, _| match !all && open.detach(frame, &memory)? {
                true => Ok(None),
                false => open.rest_of(frame, &memory).map(Some),
            });
        match read {
            Ok(None) => {
                open.view = Some(active.txn.borrow_mut().end_statement_holding()?);
                *state.lock() = State::Open(open);
                Ok(())
            }
            Ok(Some((front, rows, failed))) => {
                self.end_checked(active)?;
                let held = Held::new(columns, (front, rows), None, open.lives);
                *state.lock() = State::Held(held.failing(failed).using(open.used.take()));
                Ok(())
            }
            Err(Failure { error, .. }) => {
                active.txn.borrow_mut().abort_statement()?;
                self.services.deferred.borrow_mut().go_back(waiting);
                Err(error)
            }
        }
    }
}
