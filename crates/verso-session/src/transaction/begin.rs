//! BEGIN and SET TRANSACTION: how a transaction begins, and which modes may still change later.

use std::sync::atomic::Ordering;

use verso_storage::{Isolation, TxnOptions};

use super::{Active, Block, Condition, in_failed_transaction, tag};
use crate::Session;
use crate::client::CommandTag;
use crate::settings::Settings;
use verso_parser::syntax::{IsolationLevel, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

/// What a transaction was begun with.
#[derive(Clone, Copy)]
pub(super) struct Modes {
    pub(super) isolation: IsolationLevel,
    pub(super) read_only: bool,
    pub(super) savepoints: bool,
    deferrable: bool,
}

impl Modes {
    pub(super) fn options(self) -> TxnOptions {
        let isolation = match self.isolation {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::Snapshot => Isolation::Snapshot,
            IsolationLevel::Serializable => Isolation::Serializable,
        };
        TxnOptions { isolation, savepoints: self.savepoints, read_only: self.read_only }
    }

    /// Those that are given, and these besides.
    fn with(self, given: &TransactionModes) -> Modes {
        Modes {
            isolation: given.isolation.unwrap_or(self.isolation),
            read_only: given.read_only.unwrap_or(self.read_only),
            savepoints: given.savepoints.unwrap_or(self.savepoints),
            deferrable: given.deferrable.unwrap_or(self.deferrable),
        }
    }

    /// As SHOW names them.
    fn shown(self) -> (&'static str, bool, bool) {
        (self.isolation.as_str(), self.read_only, self.savepoints)
    }
}

impl Session {
    /// BEGIN.
    pub(crate) fn begin(&mut self, modes: &TransactionModes) -> Result<CommandTag, SqlError> {
        match &mut self.active {
            None => self.open(modes, Block::Explicit)?,
            Some(active) if active.block != Block::Explicit => {
                active.block = Block::Explicit;
                if *modes != TransactionModes::default() {
                    self.set_transaction(modes)?;
                }
            }
            Some(active) if active.condition == Condition::Failed => return Err(in_failed_transaction()),
            Some(_) => {
                let text = "there is already a transaction in progress";
                self.services.warn(sqlstate::ACTIVE_TRANSACTION, text);
            }
        }
        Ok(tag("BEGIN"))
    }

    /// Begins a transaction with these modes and the usual ones of the session besides.
    ///
    /// An imported snapshot that does not exist fails the transaction, which is open then.
    pub(super) fn open(&mut self, modes: &TransactionModes, block: Block) -> Result<(), SqlError> {
        let settings = &self.services.settings;
        let Settings { isolation, read_only, savepoints, .. } = **settings;
        let usual = Modes { isolation, read_only, savepoints, deferrable: false };
        self.begin_with(usual.with(modes), block);
        self.services.transaction_started.set(self.services.statement_started.get());
        modes.snapshot.as_ref().map_or(Ok(()), |snapshot| self.import_snapshot(snapshot))
    }

    /// Begins a transaction, in the memory of the last one where that is at hand.
    pub(super) fn begin_with(&mut self, modes: Modes, block: Block) {
        self.transactions += 1;
        let mut options = modes.options();
        if self.only_reads {
            options.savepoints = false; // there is nothing to undo
        }
        let mut active = match self.spare.take() {
            Some(mut spare) => {
                spare.txn.get_mut().begin_again(options);
                spare
            }
            None => {
                let txn = self.services.instance.engine.begin_for(&self.services.owner, options);
                Box::new(Active::new(txn, modes))
            }
        };
        let txn = active.txn.get_mut();
        let settings = &self.services.settings;
        if self.services.is_timed {
            let deadline = self.services.deadline(settings.transaction_timeout_ms);
            self.services.info.set_transaction_deadline(deadline);
            txn.set_lock_timeout(settings.lock_timeout());
        }
        txn.set_deferrable(modes.deferrable);
        let started = self.services.statement_started.get();
        self.services.info.transaction_started.store(started, Ordering::Relaxed);
        self.services.transaction.set(Some(modes.shown()));
        active.begin(self.transactions, block, modes);
        self.active = Some(active);
    }

    /// SET TRANSACTION: with autocommit off it may be the first statement.
    pub(crate) fn set_transaction(&mut self, modes: &TransactionModes) -> Result<CommandTag, SqlError> {
        if self.active.is_none() {
            if self.autocommit {
                let text = "SET TRANSACTION can only be used in transaction blocks";
                self.services.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
                return Ok(tag("SET"));
            }
            self.open(modes, Block::Explicit)?;
            return Ok(tag("SET"));
        }
        let Some(active) = &self.active else { return Ok(tag("SET")) };
        if active.condition == Condition::Failed {
            return Err(in_failed_transaction());
        }
        let changed = active.modes.with(modes);
        if !active.pristine {
            return self.change_modes(changed, modes.snapshot.is_some());
        }
        if let Some(snapshot) = &modes.snapshot {
            self.import_snapshot(snapshot)?;
            return Ok(tag("SET"));
        }
        // Nothing was done in it: a new one with the new modes takes its place.
        let block = active.block;
        let settings = self.active.take().and_then(|active| active.settings);
        self.begin_with(changed, block);
        if let Some(active) = &mut self.active {
            active.settings = settings; // what SET has changed ends with the new one
        }
        Ok(tag("SET"))
    }

    /// SET TRANSACTION behind the first query: what stays as it is may be said again, and what has changed nothing yet may
    /// become READ ONLY.
    fn change_modes(&mut self, changed: Modes, snapshot: bool) -> Result<CommandTag, SqlError> {
        let Some(active) = &mut self.active else { return Ok(tag("SET")) };
        let known = &active.modes;
        let what = match () {
            () if snapshot => "SET TRANSACTION SNAPSHOT must be called",
            () if changed.isolation != known.isolation => "SET TRANSACTION ISOLATION LEVEL must be called",
            () if known.read_only && !changed.read_only => "transaction read-write mode must be set",
            () if changed.deferrable != known.deferrable => "SET TRANSACTION [NOT] DEFERRABLE must be called",
            () if changed.savepoints != known.savepoints => "SET TRANSACTION [NO] SAVEPOINT must be called",
            () => {
                if changed.read_only && !known.read_only && !active.txn.borrow_mut().become_read_only() {
                    let text = "transaction read-only mode must be set before any change";
                    return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
                }
                active.modes.read_only = changed.read_only;
                self.services.transaction.set(Some(active.modes.shown()));
                return Ok(tag("SET"));
            }
        };
        Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, format!("{what} before any query")))
    }

    /// SET TRANSACTION SNAPSHOT.
    fn import_snapshot(&mut self, name: &str) -> Result<(), SqlError> {
        let Some(active) = &mut self.active else { return Ok(()) };
        if active.modes.isolation != IsolationLevel::Snapshot {
            let text = "a snapshot-importing transaction must have isolation level REPEATABLE READ";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        active.txn.get_mut().import_snapshot(name)?;
        active.pristine = false;
        Ok(())
    }
}
