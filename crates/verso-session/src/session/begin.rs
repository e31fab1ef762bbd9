//! BEGIN and SET TRANSACTION: how a transaction begins, and which modes may still change later.

use std::sync::atomic::Ordering;

use verso_storage::TxnOptions;

use super::Session;
use crate::client::{CommandTag, tag};
use crate::serving::{Late, check_late};
use crate::transaction::{Block, Condition, Modes, State, in_failed_transaction};
use verso_parser::syntax::{IsolationLevel, Statement, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Opens a transaction if there is none. For a statement that changes nothing and is a transaction of its own, one
    /// that keeps no frames will do.
    pub(super) fn ensure_active_for(&mut self, reads: bool) -> Result<(), SqlError> {
        self.ensure_active_at(None, reads)
    }

    /// The same for a statement that, where it is a transaction of its own, needs this level whatever the session's is.
    pub(super) fn ensure_active_at(
        &mut self,
        level: Option<IsolationLevel>,
        reads: bool,
    ) -> Result<(), SqlError> {
        if self.transaction.is_open() {
            return Ok(());
        }
        let block = self.transaction.block_of_statement();
        let mut modes = Modes::usual(&self.services.settings);
        if let Some(level) = level.filter(|_| block == Block::Statement) {
            modes.isolation = level;
        }
        let mut options = modes.options();
        if reads && block == Block::Statement {
            options.savepoints = false; // there is nothing to undo
        }
        let frameless = modes.savepoints && !options.savepoints;
        self.begin_as(options, modes, block);
        self.services.frameless.set(frameless);
        self.services.clocks.start_transaction();
        Ok(())
    }

    /// A setting that is changed by the first statement of a series belongs to the series' transaction (X2), as what comes behind
    /// it does: SET LOCAL lasts to its end, and a failure takes back what was set.
    pub(super) fn begin_series_for(&mut self, statement: &Statement) -> Result<(), SqlError> {
        let local = match statement {
            Statement::Set { local, .. } | Statement::ActAs { local, .. } => local.then_some("SET LOCAL"),
            Statement::SetTransaction(_) => Some("SET TRANSACTION"),
            Statement::Reset(_) | Statement::ResetAll | Statement::SetSessionCharacteristics(_) => None,
            _ => return Ok(()),
        };
        if !self.transaction.series || self.transaction.is_open() {
            return Ok(());
        }
        // A client that sends one statement after the other may send no more of them.
        if let Some(what) = local.filter(|_| !self.transaction.several) {
            let text = format!("{what} can only be used in transaction blocks");
            self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, &text);
        }
        self.open(&TransactionModes::default(), Block::Implicit)
    }

    /// BEGIN.
    pub(crate) fn begin(&mut self, modes: &TransactionModes) -> Result<(), SqlError> {
        match self.transaction.active_mut() {
            None => self.open(modes, Block::Explicit)?,
            Some(active) if active.state.block == Block::Implicit && active.state.pristine => {
                // What was set before it, such as the level that transactions begin with, counts for it.
                self.begin_again(Modes::usual(&self.services.settings).with(modes), Block::Explicit);
                if let Some(snapshot) = &modes.snapshot {
                    self.import_snapshot(snapshot)?;
                }
            }
            Some(active) if active.state.block != Block::Explicit => {
                active.state.block = Block::Explicit;
                if *modes != TransactionModes::default() {
                    self.set_transaction(modes)?;
                }
            }
            Some(active) if active.state.condition == Condition::Failed => {
                return Err(in_failed_transaction());
            }
            Some(_) => {
                let text = "there is already a transaction in progress";
                self.services.notices.warn(sqlstate::ACTIVE_TRANSACTION, text);
                if *modes != TransactionModes::default() {
                    self.set_transaction(modes)?;
                }
            }
        }
        Ok(())
    }

    /// Begins a transaction with these modes and the usual ones of the session besides.
    ///
    /// An imported snapshot that does not exist fails the transaction, which is open then.
    pub(super) fn open(&mut self, modes: &TransactionModes, block: Block) -> Result<(), SqlError> {
        self.begin_with(Modes::usual(&self.services.settings).with(modes), block);
        self.services.clocks.start_transaction();
        modes.snapshot.as_ref().map_or(Ok(()), |snapshot| self.import_snapshot(snapshot))
    }

    /// Begins a transaction.
    pub(super) fn begin_with(&mut self, modes: Modes, block: Block) {
        self.begin_as(modes.options(), modes, block);
    }

    /// The same, with options of its own for storage.
    fn begin_as(&mut self, options: TxnOptions, modes: Modes, block: Block) {
        let services = &self.services;
        services.temporary.forget_touched();
        services.new_labels.forget();
        services.frameless.set(false);
        let fresh = |options| services.instance.engine.begin_for(&services.owner, options);
        let active = self.transaction.begin(options, modes, block, fresh);
        let txn = active.txn.get_mut();
        let settings = &services.settings;
        if self.is_timed {
            let deadline = services.clocks.deadline(settings.transaction_timeout_ms);
            services.info.set_transaction_deadline(deadline);
            txn.set_lock_timeout(settings.lock_timeout());
        }
        txn.set_deferrable(modes.deferrable);
        if !txn.has_key_memory() {
            txn.set_key_memory(services.memory.for_keys());
        }
        services.info.transaction_started.store(services.clocks.statement_started(), Ordering::Relaxed);
        services.info.transactions.fetch_add(1, Ordering::Relaxed);
        services.transaction.set(Some(modes.shown()));
    }

    /// SET TRANSACTION: with autocommit off it may be the first statement.
    pub(crate) fn set_transaction(&mut self, modes: &TransactionModes) -> Result<CommandTag, SqlError> {
        if !self.transaction.is_open() {
            if self.transaction.autocommit {
                let text = "SET TRANSACTION can only be used in transaction blocks";
                self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
                return Ok(tag("SET"));
            }
            self.open(modes, Block::Explicit)?;
            return Ok(tag("SET"));
        }
        let Some(State { condition, pristine, block, savepoints, modes: known, .. }) =
            self.transaction.state()
        else {
            return Ok(tag("SET"));
        };
        if *condition == Condition::Failed {
            return Err(in_failed_transaction());
        }
        let (changed, block) = (known.with(modes), *block);
        let late =
            Late { queried: !*pristine, nested: savepoints.iter().any(|savepoint| !savepoint.released) };
        if late.queried || late.nested {
            return self.change_modes(modes, late);
        }
        if let Some(snapshot) = &modes.snapshot {
            self.import_snapshot(snapshot)?;
            return Ok(tag("SET"));
        }
        self.begin_again(changed, block);
        Ok(tag("SET"))
    }

    /// A new transaction with these modes takes the place of one in which nothing was done.
    fn begin_again(&mut self, modes: Modes, block: Block) {
        let settings = self.transaction.take().and_then(|active| active.state.settings);
        self.begin_with(modes, block);
        if let Some(active) = self.transaction.active_mut() {
            active.state.settings = settings; // what SET has changed ends with the new one
        }
    }

    /// SET TRANSACTION behind the first query, or within a savepoint.
    fn change_modes(&mut self, wanted: &TransactionModes, late: Late) -> Result<CommandTag, SqlError> {
        let Some(active) = self.transaction.active_mut() else { return Ok(tag("SET")) };
        let known = active.state.modes;
        check_late(known.shown(), wanted, late)?;
        active.set_read_only(known.with(wanted).read_only);
        self.services.transaction.set(Some(active.state.modes.shown()));
        Ok(tag("SET"))
    }

    /// SET TRANSACTION SNAPSHOT.
    fn import_snapshot(&mut self, name: &str) -> Result<(), SqlError> {
        let Some(active) = self.transaction.active_mut() else { return Ok(()) };
        if active.state.modes.isolation != IsolationLevel::Snapshot {
            let text = "a snapshot-importing transaction must have isolation level REPEATABLE READ";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        active.txn.get_mut().import_snapshot(name)?;
        active.state.pristine = false;
        Ok(())
    }
}
