//! COMMIT, ROLLBACK, PREPARE TRANSACTION: how transactions end, and what a failed one gives back (X3).

use std::sync::atomic::Ordering;

use verso_exec::plan::CommitWrite;
use verso_storage::TxnOptions;

use super::Session;
use crate::client::{CommandTag, tag};
use crate::transaction::{Active, Block, Condition};
use verso_planner::errors::{SqlError, must_rollback, sqlstate};

/// How a transaction leaves its session.
#[derive(Clone, Copy)]
pub(crate) enum Ending<'a> {
    Commit(CommitWrite),
    Rollback,
    /// Under a name, to be decided later.
    Prepare {
        gid: &'a str,
        by: &'a str,
    },
}

impl Ending<'_> {
    /// A commit of which nobody has said how it is written.
    pub(crate) fn usual() -> Ending<'static> {
        Ending::Commit(CommitWrite::default())
    }
}

impl Session {
    /// COMMIT. A failed transaction is rolled back instead, as in PostgreSQL; one under NO SAVEPOINT says so.
    pub(crate) fn commit(&mut self, chain: bool, write: CommitWrite) -> Result<CommandTag, SqlError> {
        let Some(active) = self.transaction.take() else {
            if chain {
                return Err(no_block("COMMIT AND CHAIN"));
            }
            // With autocommit off a transaction is always about to begin, so there is nothing to warn of.
            if self.transaction.autocommit {
                self.warn_without_block();
            }
            return Ok(tag("COMMIT"));
        };
        if active.state.block != Block::Explicit {
            if chain {
                self.transaction.put_back(active);
                return Err(no_block("COMMIT AND CHAIN"));
            }
            self.warn_without_block();
        }
        match active.state.condition {
            Condition::MustRollback => {
                self.transaction.put_back(active);
                Err(must_rollback())
            }
            Condition::Failed => {
                self.end_and_chain(active, Ending::Rollback, chain)?;
                Ok(tag("ROLLBACK"))
            }
            Condition::Good => {
                self.end_and_chain(active, Ending::Commit(write), chain)?;
                Ok(tag("COMMIT"))
            }
        }
    }

    /// ROLLBACK.
    pub(crate) fn rollback(&mut self, chain: bool) -> Result<CommandTag, SqlError> {
        match self.transaction.take() {
            Some(active) => {
                if active.state.block != Block::Explicit {
                    if chain {
                        self.transaction.put_back(active);
                        return Err(no_block("ROLLBACK AND CHAIN"));
                    }
                    self.warn_without_block();
                }
                self.end_and_chain(active, Ending::Rollback, chain)?;
            }
            None if chain => return Err(no_block("ROLLBACK AND CHAIN")),
            None => self.warn_without_block(),
        }
        Ok(tag("ROLLBACK"))
    }

    fn warn_without_block(&self) {
        self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, "there is no transaction in progress");
    }

    /// Ends an implicit block that is open.
    pub(crate) fn end_series(&mut self) -> Result<(), SqlError> {
        self.transaction.series = false;
        match self.transaction.take_block(Block::Implicit) {
            Some(active) => {
                let good = active.state.condition == Condition::Good;
                self.end(active, if good { Ending::usual() } else { Ending::Rollback })
            }
            None => Ok(()),
        }
    }

    /// PREPARE TRANSACTION: the session has none any more, whatever comes of it.
    pub(crate) fn prepare_transaction(&mut self, gid: &str) -> Result<CommandTag, SqlError> {
        // Several statements of one text are a transaction from the first one on, though that has nothing to prepare.
        if self.transaction.series && self.transaction.several {
            self.ensure_active_for(false)?;
        }
        let Some(active) = self.transaction.take() else {
            self.warn_without_block();
            return Ok(tag("ROLLBACK"));
        };
        match active.state.condition {
            Condition::MustRollback => {
                self.transaction.put_back(active);
                return Err(must_rollback());
            }
            Condition::Failed => {
                self.end(active, Ending::Rollback)?;
                return Ok(tag("ROLLBACK"));
            }
            Condition::Good => {}
        }
        if active.state.block != Block::Explicit {
            self.warn_without_block();
        }
        if gid.len() >= 200 {
            self.end(active, Ending::Rollback)?;
            let text = format!("transaction identifier \"{gid}\" is too long");
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        if self.services.cursors.declares_held() {
            self.end(active, Ending::Rollback)?;
            let text = "cannot PREPARE a transaction that has created a cursor WITH HOLD";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        if self.services.temporary.is_touched() {
            self.end(active, Ending::Rollback)?;
            let text = "cannot PREPARE a transaction that has operated on temporary objects";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        if !self.services.notify.is_idle() {
            self.end(active, Ending::Rollback)?;
            let text = "cannot PREPARE a transaction that has executed LISTEN, UNLISTEN, or NOTIFY";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let refused = {
            let txn = active.txn.borrow();
            match () {
                () if txn.has_exported() => Some("cannot PREPARE a transaction that has exported snapshots"),
                () if txn.shares_lock_with_session() => Some(
                    "cannot PREPARE while holding both session-level and transaction-level locks on the same object",
                ),
                () => None,
            }
        };
        if let Some(text) = refused {
            self.end(active, Ending::Rollback)?;
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        let user = self.services.current_name();
        self.end(active, Ending::Prepare { gid, by: &user })?;
        Ok(tag("PREPARE TRANSACTION"))
    }

    /// COMMIT PREPARED, ROLLBACK PREPARED.
    pub(crate) fn end_prepared(&mut self, gid: &str, commit: bool) -> Result<CommandTag, SqlError> {
        let word = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        if self.transaction.state().is_some_and(|state| state.block == Block::Explicit) {
            let text = format!("{word} cannot run inside a transaction block");
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        let engine = &self.services.instance.engine;
        // Its catalog says who is a superuser.
        self.with_catalog(|_, _, _| Ok(()))?;
        let services = &self.services;
        let may = |by: &str| services.is_superuser() || *services.current_name() == *by;
        if !engine.decide(gid, commit, may)? {
            let text = "permission denied to finish prepared transaction";
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text)
                .with_hint("Must be superuser or the user that prepared the transaction."));
        }
        Ok(tag(word))
    }

    /// Undoes what a failed transaction cannot keep: what came behind its last savepoint, or all of it. Its locks go with
    /// that, so that nobody waits for a client that does not know of the failure yet (X3).
    pub(crate) fn undo_failed(&mut self, active: &mut Active) {
        // The client has the statement's error; one that comes on top of it shows in whatever is done next.
        let last = active.state.savepoints.iter().rposition(|savepoint| !savepoint.released);
        if let Some(depth) = last {
            let last = &active.state.savepoints[depth];
            let _ = active.txn.get_mut().rollback_to(&last.name);
            self.services.deferred.borrow_mut().go_back(last.events);
            self.portals.close_above(depth);
            self.services.portals.close_since(last.opened);
            self.services.cursors.end_since(last.opened);
            return;
        }
        self.portals.close();
        self.services.cursors.end(false);
        self.services.portals.clear();
        self.services.deferred.take();
        self.services.notify.forget();
        // Another one, which does nothing, stands for it until the client says ROLLBACK.
        let nothing = TxnOptions { read_only: true, ..active.state.modes.options() };
        let failed = active.txn.replace(self.services.instance.engine.begin(nothing));
        // That one is counted when it ends.
        let _ = failed.end_unseen();
    }

    /// Ends a transaction that was taken out of the session. One whose commit fails is rolled back.
    pub(crate) fn end(&mut self, mut active: Box<Active>, ending: Ending<'_>) -> Result<(), SqlError> {
        let commit = !matches!(ending, Ending::Rollback);
        self.services.transaction.set(None);
        self.services.info.transaction_started.store(0, Ordering::Relaxed);
        // A procedure may have set the timeout for its next transactions, and failed.
        let has_ended = self.services.has_ended.replace(false);
        if self.is_timed || has_ended {
            self.services.info.set_transaction_deadline(None);
        }
        let result = if commit { self.prepare_end(&mut active, ending) } else { Ok(()) };
        self.services.deferred.take();
        self.services.notify.forget();
        self.services.temporary.forget_touched();
        self.services.new_labels.forget();
        let commit = commit && result.is_ok();
        if !commit {
            self.portals.close();
        }
        self.services.cursors.end(commit);
        self.services.portals.clear();
        // Asked before what SET LOCAL has changed is taken back: it counts for this commit.
        let written = match ending {
            Ending::Commit(write) => Some(self.services.written(write, false).mode),
            _ => None,
        };
        if let Some(changed) = active.state.settings.take() {
            self.services.settings.end(changed, commit);
            self.settings_changed();
        }
        match (ending, written) {
            (_, Some(mode)) if commit => self.commit_txn(active, mode)?,
            (Ending::Prepare { gid, by }, _) if commit => active.txn.into_inner().prepare(gid, by)?,
            _ => active.txn.into_inner().rollback()?,
        }
        result
    }

    /// What a transaction does before it commits, and may fail to.
    fn prepare_end(&mut self, active: &mut Active, ending: Ending<'_>) -> Result<(), SqlError> {
        // Triggers that were put off find cursors and portals open.
        if self.services.deferred.borrow().has_events() {
            self.set_all_aside(active)?;
            self.fire_deferred(active)?;
        }
        // What functions in held portals put off is checked, and what they reserve is added, too.
        self.keep_portals(active)?;
        // What is prepared has not touched temporary tables, and does not begin to.
        let empties = !matches!(ending, Ending::Prepare { .. }) && !self.services.temporary.is_idle();
        self.check_deferred(active, empties)?;
        active.state.leaving = self.services.leave()?;
        Ok(())
    }

    /// The same for COMMIT and ROLLBACK: AND CHAIN begins another transaction with the modes of this one.
    fn end_and_chain(
        &mut self,
        active: Box<Active>,
        ending: Ending<'_>,
        chain: bool,
    ) -> Result<(), SqlError> {
        let modes = active.state.modes;
        self.end(active, ending)?;
        if chain {
            // One that does not wait is settled by the first statement of the next transaction.
            if !self.answers_first() {
                self.settle()?;
            }
            self.begin_with(modes, Block::Explicit);
            self.services.clocks.start_transaction();
        }
        Ok(())
    }
}

/// `25P01`: what only a transaction block accepts; the implicit one of several statements is none (X2).
fn no_block(statement: &str) -> SqlError {
    let text = format!("{statement} can only be used in transaction blocks");
    SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text)
}
