//! The transaction a session is in, and the statements that begin and end it.
//!
//! ```text
//! Idle ──BEGIN, first statement──► Active ──COMMIT, ROLLBACK──► Idle
//!                                    │ error                     ▲
//!                                    ├──► Failed (25P02) ──ROLLBACK┤   ROLLBACK TO makes it active again
//!                                    └──► MustRollback (25V01) ────┘   NO SAVEPOINT: queries still run
//! ```
//!
//! X1. A transaction block lasts to COMMIT or ROLLBACK; one statement alone is a transaction of its own. X2. Several
//!     statements of one text, and those of an extended-protocol series up to its Sync, are one *implicit* block: it
//!     commits at the end, a failure undoes it all, BEGIN makes it an explicit one, COMMIT and ROLLBACK end it with a
//!     warning. So PostgreSQL has it. X3. A statement that fails undoes its transaction at once, up to the last savepoint
//!     if there is one, and gives back the locks taken since; ROLLBACK is what the client then has to say. Under NO
//!     SAVEPOINT all stays until ROLLBACK.

use std::cell::RefCell;
use std::sync::Arc;

use verso_storage::{Isolation, Txn, TxnOptions};

use super::Session;
use super::api::{CommandTag, Notice};
use super::settings::Settings;
use crate::errors::{SqlError, must_rollback, sqlstate};
use crate::syntax::{IsolationLevel, Name, TransactionModes};

/// A transaction that has not ended.
pub struct Active {
    pub(super) txn: RefCell<Txn>,
    /// What ends it.
    pub(super) block: Block,
    /// No statement has run in it yet, so its modes may still change.
    pub(super) pristine: bool,
    pub(super) condition: Condition,
    /// The open savepoints, outermost first; a name may come twice and means the inner one.
    savepoints: Vec<Savepoint>,
    /// Settings changed in it: those to go back to when it is rolled back, and those that a commit leaves.
    settings: Option<ChangedSettings>,
    /// The schema was changed in it, so what it sees of the catalog is its own.
    pub(super) changed_schema: bool,
    /// Unlike that of any other transaction of the session.
    pub(super) serial: u64,
    modes: Modes,
}

/// A named place in a transaction, and the settings there.
struct Savepoint {
    name: String,
    settings: Arc<Settings>,
    changed: Option<ChangedSettings>,
}

/// Settings that a transaction has changed.
#[derive(Clone)]
struct ChangedSettings {
    /// Before the transaction.
    before: Arc<Settings>,
    /// Without those of SET LOCAL.
    after: Arc<Settings>,
}

/// What ends a transaction (X1, X2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Its only statement.
    Statement,
    /// The end of the text, or Sync.
    Implicit,
    /// COMMIT or ROLLBACK: it began by BEGIN or with autocommit off.
    Explicit,
}

/// How a session stands, as the protocol's ReadyForQuery says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction block is open.
    Idle,
    /// In a transaction block.
    InTransaction,
    /// In a transaction block that failed.
    Failed,
}

/// How a transaction is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Fine.
    Good,
    /// A statement failed; only the end or ROLLBACK TO is accepted.
    Failed,
    /// A statement failed under NO SAVEPOINT: queries and ROLLBACK are accepted.
    MustRollback,
}

#[derive(Clone, Copy)]
struct Modes {
    isolation: IsolationLevel,
    read_only: bool,
    savepoints: bool,
    deferrable: bool,
}

impl Modes {
    fn options(self) -> TxnOptions {
        let isolation = match self.isolation {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::Snapshot => Isolation::Snapshot,
            IsolationLevel::Serializable => Isolation::Serializable,
        };
        TxnOptions { isolation, savepoints: self.savepoints, read_only: self.read_only }
    }
}

/// How a transaction leaves its session.
#[derive(Clone, Copy)]
enum Ending<'a> {
    Commit,
    Rollback,
    /// Under a name, to be decided later.
    Prepare {
        gid: &'a str,
        by: &'a str,
    },
}

impl Active {
    fn new(txn: Txn, modes: Modes) -> Active {
        Active {
            txn: RefCell::new(txn),
            block: Block::Statement,
            pristine: true,
            condition: Condition::Good,
            savepoints: Vec::new(),
            settings: None,
            changed_schema: false,
            serial: 0,
            modes,
        }
    }

    /// All but the transaction itself begins anew.
    fn begin(&mut self, serial: u64, block: Block, modes: Modes) {
        (self.serial, self.block, self.modes) = (serial, block, modes);
        (self.pristine, self.condition, self.changed_schema) = (true, Condition::Good, false);
        self.savepoints.clear();
        self.settings = None;
    }

    /// Whether a failed statement is run again on a new snapshot.
    pub(super) fn restarts(&self) -> bool {
        let level =
            matches!(self.modes.isolation, IsolationLevel::ReadCommitted | IsolationLevel::ReadUncommitted);
        level && self.modes.savepoints
    }

    pub(super) fn read_only(&self) -> bool {
        self.modes.read_only
    }

    /// How many savepoints are open.
    pub(super) fn depth(&self) -> usize {
        self.savepoints.len()
    }

    fn find_savepoint(&self, name: &Name) -> Result<usize, SqlError> {
        self.savepoints.iter().rposition(|known| known.name == name.text).ok_or_else(|| {
            let text = format!("savepoint \"{}\" does not exist", name.text);
            SqlError::new(sqlstate::INVALID_SAVEPOINT, text)
        })
    }

    /// Remembers that a statement failed; whether that is news, and nothing can be read any more.
    pub(super) fn fail(&mut self) -> bool {
        let was_good = self.condition == Condition::Good;
        self.condition = if self.modes.savepoints { Condition::Failed } else { Condition::MustRollback };
        was_good && self.modes.savepoints
    }
}

impl Session {
    /// Opens a transaction if there is none. For a statement that changes nothing and is a transaction of its own, one
    /// that keeps no frames will do.
    pub(super) fn ensure_active_for(&mut self, reads: bool) -> Result<(), SqlError> {
        if self.active.is_none() {
            let block = match (self.autocommit, self.series) {
                (false, _) => Block::Explicit,
                (true, true) => Block::Implicit,
                (true, false) => Block::Statement,
            };
            self.only_reads = reads && block == Block::Statement;
            let opened = self.open(&TransactionModes::default(), block);
            self.only_reads = false;
            opened?;
        }
        Ok(())
    }

    /// Changes settings: until the transaction ends, or for good if it commits.
    pub(super) fn change_settings(
        &mut self,
        local: bool,
        change: impl Fn(&mut Settings) -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let mut settings = Settings::clone(&self.services.settings);
        change(&mut settings)?;
        let before = std::mem::replace(&mut self.services.settings, Arc::new(settings));
        self.settings_changed();
        if let Some(active) = &mut self.active {
            let changed = active
                .settings
                .get_or_insert_with(|| ChangedSettings { before: Arc::clone(&before), after: before });
            if !local {
                change(Arc::make_mut(&mut changed.after))?;
            }
        }
        Ok(())
    }

    /// What follows from new settings.
    fn settings_changed(&mut self) {
        let services = &mut self.services;
        services.epoch += 1;
        let name = &services.settings.application_name;
        if **services.info.application.lock() != **name {
            *services.info.application.lock() = name.as_str().into();
        }
        if services.settings.has_timeouts() && !services.is_timed {
            services.is_timed = true;
            services.instance.sessions.start_timer(&services.env);
        }
        if services.is_timed
            && let Some(active) = &self.active
        {
            active.txn.borrow_mut().set_lock_timeout(services.settings.lock_timeout());
            let deadline = services.deadline(services.settings.transaction_timeout_ms);
            services.info.change_transaction_deadline(deadline);
        }
    }

    /// Ends an implicit block that is open.
    pub(super) fn end_series(&mut self) -> Result<(), SqlError> {
        self.series = false;
        match self.active.take_if(|active| active.block == Block::Implicit) {
            Some(active) => {
                let commit = active.condition == Condition::Good;
                self.end(active, commit, false)
            }
            None => Ok(()),
        }
    }

    /// An imported snapshot that does not exist fails the transaction, which is open then.
    fn open(&mut self, modes: &TransactionModes, block: Block) -> Result<(), SqlError> {
        let TransactionModes { isolation, read_only, savepoints, deferrable, snapshot } = modes;
        let settings = &self.services.settings;
        let modes = Modes {
            isolation: isolation.unwrap_or(settings.isolation),
            read_only: read_only.unwrap_or(settings.read_only),
            savepoints: savepoints.unwrap_or(settings.savepoints),
            deferrable: deferrable.unwrap_or(false),
        };
        self.begin_with(modes, block);
        self.services.transaction_started.set(self.services.statement_started.get());
        snapshot.as_ref().map_or(Ok(()), |snapshot| self.import_snapshot(snapshot))
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

    /// PREPARE TRANSACTION: the session has none any more, whatever comes of it.
    pub(super) fn prepare_transaction(&mut self, gid: &str) -> Result<CommandTag, SqlError> {
        let Some(active) = self.active.take() else {
            let text = "PREPARE TRANSACTION can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        };
        match active.condition {
            Condition::MustRollback => {
                self.active = Some(active);
                return Err(must_rollback());
            }
            Condition::Failed => {
                self.end(active, false, false)?;
                return Ok(tag("ROLLBACK"));
            }
            Condition::Good => {}
        }
        if gid.is_empty() || gid.len() > 200 {
            self.end(active, false, false)?;
            let text = format!("transaction identifier \"{gid}\" is too long or empty");
            return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        }
        let user = verso_row::SessionServices::user_name(&self.services);
        self.end_as(active, Ending::Prepare { gid, by: &user }, false)?;
        Ok(tag("PREPARE TRANSACTION"))
    }

    /// COMMIT PREPARED, ROLLBACK PREPARED.
    pub(super) fn end_prepared(&mut self, gid: &str, commit: bool) -> Result<CommandTag, SqlError> {
        let word = if commit { "COMMIT PREPARED" } else { "ROLLBACK PREPARED" };
        if self.active.as_ref().is_some_and(|active| active.block == Block::Explicit) {
            let text = format!("{word} cannot run inside a transaction block");
            return Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, text));
        }
        let engine = &self.services.instance.engine;
        if commit {
            engine.commit_prepared(gid)?
        } else {
            engine.rollback_prepared(gid)?
        }
        Ok(tag(word))
    }

    /// Tells transactions of the session apart; 0 without one.
    pub(super) fn transaction_serial(&self) -> u64 {
        self.active.as_ref().map_or(0, |active| active.serial)
    }

    fn begin_with(&mut self, modes: Modes, block: Block) {
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
        self.services.info.transaction_started.store(started, std::sync::atomic::Ordering::Relaxed);
        self.services.transaction.set(Some((modes.isolation.as_str(), modes.read_only, modes.savepoints)));
        active.begin(self.transactions, block, modes);
        self.active = Some(active);
    }

    /// BEGIN.
    pub(super) fn begin(&mut self, modes: &TransactionModes) -> Result<CommandTag, SqlError> {
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
                let warning = "there is already a transaction in progress";
                self.services
                    .notices
                    .borrow_mut()
                    .push(Notice::warning(sqlstate::ACTIVE_TRANSACTION, warning));
            }
        }
        Ok(tag("BEGIN"))
    }

    /// SET TRANSACTION: with autocommit off it may be the first statement.
    pub(super) fn set_transaction(&mut self, modes: &TransactionModes) -> Result<CommandTag, SqlError> {
        if self.active.is_none() {
            if self.autocommit {
                let warning = "SET TRANSACTION can only be used in transaction blocks";
                let notice = Notice::warning(sqlstate::NO_ACTIVE_TRANSACTION, warning);
                self.services.notices.borrow_mut().push(notice);
                return Ok(tag("SET"));
            }
            self.open(modes, Block::Explicit)?;
            return Ok(tag("SET"));
        }
        let Some(active) = &self.active else { return Ok(tag("SET")) };
        if active.condition == Condition::Failed {
            return Err(in_failed_transaction());
        }
        let changed = Modes {
            isolation: modes.isolation.unwrap_or(active.modes.isolation),
            read_only: modes.read_only.unwrap_or(active.modes.read_only),
            savepoints: modes.savepoints.unwrap_or(active.modes.savepoints),
            deferrable: modes.deferrable.unwrap_or(active.modes.deferrable),
        };
        if !active.pristine {
            return self.change_modes(changed, modes.snapshot.is_some());
        }
        if let Some(snapshot) = &modes.snapshot {
            self.import_snapshot(snapshot)?;
            return Ok(tag("SET"));
        }
        // Nothing was done in it: a new one with the new modes takes its place.
        let block = active.block;
        self.begin_with(changed, block);
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
                let modes = &active.modes;
                let shown = (modes.isolation.as_str(), modes.read_only, modes.savepoints);
                self.services.transaction.set(Some(shown));
                return Ok(tag("SET"));
            }
        };
        Err(SqlError::new(sqlstate::ACTIVE_TRANSACTION, format!("{what} before any query")))
    }

    /// COMMIT. A failed transaction is rolled back instead, as in PostgreSQL; one under NO SAVEPOINT says so.
    pub(super) fn commit(&mut self, chain: bool) -> Result<CommandTag, SqlError> {
        let Some(active) = self.active.take() else {
            if chain {
                let text = "COMMIT AND CHAIN can only be used in transaction blocks";
                return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
            }
            // With autocommit off a transaction is always about to begin, so there is nothing to warn of.
            if self.autocommit {
                self.warn_without_block();
            }
            return Ok(tag("COMMIT"));
        };
        if active.block != Block::Explicit {
            self.warn_without_block();
        }
        match active.condition {
            Condition::MustRollback => {
                self.active = Some(active);
                Err(must_rollback())
            }
            Condition::Failed => {
                self.end(active, false, chain)?;
                Ok(tag("ROLLBACK"))
            }
            Condition::Good => {
                self.end(active, true, chain)?;
                Ok(tag("COMMIT"))
            }
        }
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self, chain: bool) -> Result<CommandTag, SqlError> {
        match self.active.take() {
            Some(active) => {
                if active.block != Block::Explicit {
                    self.warn_without_block();
                }
                self.end(active, false, chain)?;
            }
            None => self.warn_without_block(),
        }
        Ok(tag("ROLLBACK"))
    }

    fn warn_without_block(&self) {
        let warning = "there is no transaction in progress";
        let notice = Notice::warning(sqlstate::NO_ACTIVE_TRANSACTION, warning);
        self.services.notices.borrow_mut().push(notice);
    }

    /// Undoes what a failed transaction cannot keep: what came behind its last savepoint, or all of it. Its locks go with
    /// that, so that nobody waits for a client that does not know of the failure yet (X3).
    pub(super) fn undo_failed(&mut self, active: &mut Active) {
        // The client has the statement's error; one that comes on top of it shows in whatever is done next.
        if let Some(last) = active.savepoints.last() {
            let depth = active.savepoints.len() - 1;
            let _ = active.txn.get_mut().rollback_to(&last.name);
            self.close_portals_above(depth);
            self.end_cursors_above(depth);
            return;
        }
        self.close_portals();
        self.end_cursors(false);
        self.services.deferred.take();
        // Another one, which does nothing, stands for it until the client says ROLLBACK.
        let nothing = TxnOptions { read_only: true, ..active.modes.options() };
        let failed = active.txn.replace(self.services.instance.engine.begin(nothing));
        let _ = failed.rollback();
    }

    /// Ends a transaction that was taken out of the session.
    pub(super) fn end(&mut self, active: Box<Active>, commit: bool, chain: bool) -> Result<(), SqlError> {
        self.end_as(active, if commit { Ending::Commit } else { Ending::Rollback }, chain)
    }

    fn end_as(&mut self, mut active: Box<Active>, ending: Ending<'_>, chain: bool) -> Result<(), SqlError> {
        let commit = !matches!(ending, Ending::Rollback);
        self.services.transaction.set(None);
        self.services.info.transaction_started.store(0, std::sync::atomic::Ordering::Relaxed);
        if self.services.is_timed {
            self.services.info.set_transaction_deadline(None);
        }
        let result = if commit {
            self.check_deferred(&active).and_then(|()| self.keep_cursors(&active))
        } else {
            Ok(())
        };
        self.services.deferred.take();
        let commit = commit && result.is_ok();
        if !commit && !self.portals.is_empty() {
            self.close_portals();
        }
        if !self.cursors.is_empty() {
            self.end_cursors(commit);
        }
        if let Some(ChangedSettings { before, after }) = active.settings.take() {
            self.services.settings = if commit { after } else { before };
            self.settings_changed();
        }
        let modes = active.modes;
        match ending {
            Ending::Commit if commit => self.commit_txn(active)?,
            Ending::Prepare { gid, by } if commit => active.txn.into_inner().prepare(gid, by)?,
            _ => active.txn.into_inner().rollback()?,
        }
        result?;
        if chain {
            self.settle()?;
            self.begin_with(modes, Block::Explicit);
            self.services.transaction_started.set(self.services.statement_started.get());
        }
        Ok(())
    }

    // ── savepoints ───────────────────────────────────────────────────────────────────────────────────────────────

    fn block(&mut self, statement: &str) -> Result<&mut Active, SqlError> {
        if self.active.is_none() && !self.autocommit {
            self.open(&TransactionModes::default(), Block::Explicit)?;
        }
        let Some(active) = self.active.as_mut().filter(|active| active.block == Block::Explicit) else {
            let text = format!("{statement} can only be used in transaction blocks");
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        };
        if !active.modes.savepoints {
            let text = format!("{statement} is not possible without savepoints");
            return Err(SqlError::new("3B000", text)
                .with_detail("no savepoint")
                .with_hint("The transaction was begun with NO SAVEPOINT."));
        }
        Ok(active)
    }

    /// SAVEPOINT.
    pub(super) fn savepoint(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let settings = Arc::clone(&self.services.settings);
        let active = self.block("SAVEPOINT")?;
        if active.condition != Condition::Good {
            return Err(in_failed_transaction());
        }
        active.pristine = false;
        active.txn.get_mut().savepoint(&name.text)?;
        active.savepoints.push(Savepoint {
            name: name.text.clone(),
            settings,
            changed: active.settings.clone(),
        });
        Ok(tag("SAVEPOINT"))
    }

    /// ROLLBACK TO.
    pub(super) fn rollback_to(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let active = self.block("ROLLBACK TO SAVEPOINT")?;
        let found = active.find_savepoint(name)?;
        active.txn.get_mut().rollback_to(&name.text)?;
        active.savepoints.truncate(found + 1);
        active.condition = Condition::Good;
        let savepoint = &active.savepoints[found];
        active.settings.clone_from(&savepoint.changed);
        let settings = Arc::clone(&savepoint.settings);
        if !Arc::ptr_eq(&settings, &self.services.settings) {
            self.services.settings = settings;
            self.settings_changed();
        }
        self.close_portals_above(found);
        self.end_cursors_above(found);
        Ok(tag("ROLLBACK"))
    }

    /// RELEASE.
    pub(super) fn release(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let active = self.block("RELEASE SAVEPOINT")?;
        if active.condition != Condition::Good {
            return Err(in_failed_transaction());
        }
        let found = active.find_savepoint(name)?;
        active.txn.get_mut().release(&name.text)?;
        active.savepoints.truncate(found);
        Ok(tag("RELEASE"))
    }
}

/// A tag without a count.
pub fn tag(text: &str) -> CommandTag {
    CommandTag { text: text.to_string(), rows: 0 }
}

/// `25P02`.
pub fn in_failed_transaction() -> SqlError {
    SqlError::new(
        sqlstate::IN_FAILED_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}
