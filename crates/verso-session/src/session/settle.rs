//! Commits whose wait for the disk is left to who talks to the client.
//!
//! A thread that waits for the disk does nothing else. Who serves several clients lets a commit return when it is in the
//! log, keeps the answer back, and goes on with another client until the log is on disk.
//!
//! C1. Nothing that a client is told after a commit, of this session or of what it has seen, leaves before
//!     [`Session::settle`].
//! C2. The session does nothing else before: its next statement settles first.
//! C3. A commit that is to wait for nothing is told of at once ([`Session::answers_first`]), and settled behind that. Commits within a procedure or block leave their wait to its
//!     end ([`Session::pay`]).

use verso_storage::{CommitMode, Txn};

use super::Session;
use crate::transaction::Active;
use verso_planner::errors::SqlError;

impl Session {
    /// From now on commits return when they are in the log: who calls this sees to C1.
    pub fn defer_commits(&mut self) {
        self.transaction.defers = true;
    }

    /// How far the log is still to be written before the last commit can end; none if it need not be.
    pub fn unsettled(&self) -> Option<u64> {
        let logged = self.transaction.logged()?.txn.borrow();
        if logged.answers_at_once() { None } else { self.ahead(&logged) }
    }

    /// How far the disk has to be waited for, if it has to.
    fn ahead(&self, logged: &Txn) -> Option<u64> {
        let needs = logged.needs();
        (needs > self.services.instance.engine.durable()).then_some(needs.0)
    }

    /// Whether the last commit is one that does not wait, but stands behind others that do: its client is answered before
    /// [`Session::settle`] (C3).
    pub fn answers_first(&self) -> bool {
        self.transaction.logged().is_some_and(|logged| {
            let txn = logged.txn.borrow();
            txn.answers_at_once() && self.ahead(&txn).is_some()
        })
    }

    /// Ends the last commit; waits until the log is on disk as far as [`Session::unsettled`] says.
    ///
    /// # Errors
    /// 58030 if the log could not be written: whether the transaction has committed is not known.
    #[inline]
    pub fn settle(&mut self) -> Result<(), SqlError> {
        match self.transaction.take_logged() {
            None => Ok(()),
            Some(logged) => self.finish_commit(logged, true),
        }
    }

    /// The same for a session whose client is answered already: others see it idle meanwhile.
    ///
    /// # Errors
    /// As [`Session::settle`].
    pub fn settle_answered(&mut self) -> Result<(), SqlError> {
        match self.transaction.take_logged() {
            None => Ok(()),
            Some(logged) => self.finish_commit(logged, false),
        }
    }

    /// Ends a commit; whether others are `shown` that the session waits for the disk, if it does.
    fn finish_commit(&mut self, mut logged: Box<Active>, shown: bool) -> Result<(), SqlError> {
        let info = &self.services.info;
        // Set while the answer was held back, and taken back here in any case.
        info.set_flushing(shown && self.ahead(logged.txn.get_mut()).is_some());
        let finished = logged.txn.get_mut().finish_commit();
        info.set_flushing(false);
        finished?;
        if let Some(leaving) = logged.state.leaving.take() {
            self.services.left(*leaving);
        }
        self.transaction.keep_spare(logged);
        Ok(())
    }

    /// Commits, as far as it is to be waited for. One that is not goes on behind others, if it has to be published behind
    /// them.
    pub(crate) fn commit_txn(&mut self, mut active: Box<Active>, mode: CommitMode) -> Result<(), SqlError> {
        let txn = active.txn.get_mut();
        txn.commit_logged(mode)?;
        self.services.has_committed(txn);
        // Who has messages of its own to hear of hears of them with the commit; and where nobody settles soon, others do.
        let leaves = active.state.leaving.as_ref();
        let at_once =
            leaves.is_some_and(|leaving| !self.transaction.defers || self.services.hears_of(leaving));
        if !at_once
            && (self.transaction.defers || txn.answers_at_once())
            && self.ahead(active.txn.get_mut()).is_some()
        {
            self.services.info.set_flushing(!active.txn.get_mut().answers_at_once());
            self.transaction.keep_logged(active);
            return Ok(());
        }
        self.finish_commit(active, true)
    }

    /// Waits for the disk where commits within the statement that ends here have put that off.
    pub(crate) fn pay(&self) -> Result<(), SqlError> {
        let owed = self.services.owed.take();
        let engine = &self.services.instance.engine;
        if owed > engine.durable() {
            self.services.info.flushing(|| engine.flush_log(owed))?;
        }
        Ok(())
    }
}
