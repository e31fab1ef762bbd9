//! COMMIT and ROLLBACK from within: a procedure or a block ends its transaction, and the next one begins.
//!
//! ```text
//! DO, CALL ─► statement of its own ─► … COMMIT: [end of the statement │ commit │ begin │ statement again] …
//! ```
//!
//! I1. Only a call that is no part of a transaction block or of another statement may do that.
//! I2. Whatever comes of the commit, a transaction and its statement are open afterwards, as they were before.
//! I3. Behind the end of a transaction the body goes by the catalog of then: what it has kept of another one is bound anew,
//!     as if it were a new statement.
//! I4. A commit that waits for the disk leaves that to the end of the call, unless it says WAIT itself or is forced to:
//!     nobody is told of it before.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_exec::context::TransactionEnds;
use verso_exec::error::{ExecError, Result};
use verso_exec::plan::CommitWrite;
use verso_storage::{StorageError, Txn};

use crate::constraints::{add_reserved, check_at_commit};
use crate::ddl::at_commit;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::serving;
use crate::tables::EngineTables;
use crate::transaction::Modes;
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_planner::errors::SqlError;

/// What ends the transaction of a frame.
pub(crate) struct Inside<'f> {
    frame: &'f Frame<'f>,
    /// The tables of the body.
    tables: &'f EngineTables<'f>,
    /// Of the transaction that runs.
    modes: Cell<Modes>,
    /// How many statements of functions had run when it began, if it began here.
    begun_at: Cell<Option<u64>>,
}

impl<'f> Inside<'f> {
    pub(crate) fn new(frame: &'f Frame<'f>, tables: &'f EngineTables<'f>) -> Inside<'f> {
        let modes = Cell::new(Modes::usual(&frame.services.settings));
        Inside { frame, tables, modes, begun_at: Cell::new(None) }
    }

    /// Ends the transaction by `end` and begins the next one (I2).
    fn end(
        &self,
        (committed, chain): (bool, bool),
        end: impl FnOnce(&mut Txn) -> std::result::Result<(), StorageError>,
    ) -> Result<()> {
        let services = self.frame.services;
        services.has_ended.set(true);
        services.info.set_transaction_deadline(None);
        let mut txn = self.frame.txn.borrow_mut();
        let mut ended = end(&mut txn);
        if !txn.has_ended() {
            ended = ended.and(txn.rollback_here());
        }
        if services.settings.end_asked(committed && ended.is_ok()) {
            services.asked.set(services.asked.get() + 1);
        }
        let asked = services.settings.asked();
        let settings = asked.as_deref().unwrap_or(&services.settings);
        services.deferred.take();
        services.cursors.end(committed && ended.is_ok());
        services.portals.clear();
        services.notify.forget();
        services.temporary.forget_touched();
        services.new_labels.forget();
        if !chain {
            self.modes.set(Modes::usual(settings));
        }
        let modes = self.modes.get();
        txn.begin_again(modes.options());
        txn.set_lock_timeout(settings.lock_timeout());
        txn.set_deferrable(modes.deferrable);
        txn.begin_statement()?;
        if settings.transaction_timeout_ms > 0 {
            services.instance.sessions.start_timer(&services.env);
            let deadline = services.clocks.deadline(settings.transaction_timeout_ms);
            services.info.set_transaction_deadline(deadline);
        }
        // What the ended one has defined the next one has not.
        services.renewed.set(services.renewed.get() + services.defined.take());
        self.know_catalog(&txn)?;
        services.transaction.set(Some(modes.shown()));
        let now = services.clocks.restart_transaction();
        services.info.transaction_started.store(now, Ordering::Relaxed);
        self.begun_at.set(Some(services.embedded.get()));
        Ok(ended?)
    }

    /// The body goes by the catalog as the transaction's current statement sees it from now on (I3); whether that is another
    /// one than before. Costs a few loads where nobody has changed it.
    fn know_catalog(&self, txn: &Txn) -> Result<bool> {
        let services = self.frame.services;
        let known = services.redefined.borrow().clone();
        let known = known.unwrap_or_else(|| Arc::clone(self.frame.catalog));
        let version = known.version;
        let mut now = Some(known);
        services.instance.catalog.refresh(txn, &mut now)?;
        let now = now.map_or(version, |now| now.version);
        self.tables.know(now);
        if now != version {
            services.renewed.set(services.renewed.get() + 1);
        }
        Ok(now != version)
    }

    /// Does what ON COMMIT asks for, checks what was put off to the commit, and adds what was reserved.
    fn check_deferred(&self) -> std::result::Result<(), Failure> {
        let services = self.frame.services;
        let deferred = &services.deferred;
        let empties = !services.temporary.is_idle();
        if empties || deferred.borrow().has_checks() {
            self.frame.inside(|frame| {
                if empties {
                    at_commit(frame)?;
                }
                check_at_commit(frame)
            })?;
        }
        if deferred.borrow().reserved.is_empty() {
            return Ok(());
        }
        self.frame.inside_change(add_reserved)
    }
}

impl TransactionEnds for Inside<'_> {
    fn commit(&self, write: CommitWrite, chain: bool) -> Result<()> {
        self.check_deferred().map_err(|Failure { error, .. }| ExecError::from(error))?;
        let services = self.frame.services;
        let leaving = services.leave().map_err(ExecError::from)?;
        let written = services.written(write, true);
        self.end((true, chain), |txn| {
            txn.end_statement()?;
            let writes = txn.has_writes();
            txn.commit_logged(written.mode)?;
            services.has_committed(txn);
            if written.owes_wait && writes {
                services.owed.owe(services.instance.engine.logged());
            }
            let waits = txn.needs() > services.instance.engine.durable();
            if waits { services.info.flushing(|| txn.finish_commit()) } else { txn.finish_commit() }
        })?;
        if let Some(leaving) = leaving {
            services.left(*leaving);
        }
        Ok(())
    }

    fn rollback(&self, chain: bool) -> Result<()> {
        self.end((false, chain), Txn::rollback_here)
    }

    fn set_modes(&self, text: &str) -> Result<()> {
        let statements = parse_script(text).map_err(|error| ExecError::from(SqlError::from(error)))?;
        let Some(Statement::SetTransaction(modes)) = statements.first().map(|parsed| &parsed.statement)
        else {
            return Err(ExecError::raised("XX000", "no SET TRANSACTION"));
        };
        if modes.snapshot.is_some() {
            return Err(ExecError::from(SqlError::unsupported("SET TRANSACTION SNAPSHOT in a procedure")));
        }
        let known = self.modes.get();
        let wanted = known.with(modes);
        if wanted == known {
            return Ok(());
        }
        if self.begun_at.get() != Some(self.frame.services.embedded.get()) {
            serving::check_late(known.shown(), modes, serving::Late::QUERIED).map_err(ExecError::from)?;
            self.modes.set(wanted);
            self.frame.services.set_read_only(&mut self.frame.txn.borrow_mut(), wanted.read_only);
            return Ok(());
        }
        // Nothing was done in it: a new one with these modes takes its place.
        self.modes.set(wanted);
        self.end((false, true), Txn::rollback_here)
    }

    fn look_anew(&self, failed: bool) -> Result<bool> {
        let services = self.frame.services;
        // With changes of its own the transaction has a version that nobody else sees.
        if !failed && services.defined.get() > 0 {
            return Ok(false);
        }
        let known =
            services.redefined.borrow().as_ref().map_or(self.frame.catalog.version, |now| now.version);
        if services.instance.catalog.is_seen(known, u64::MAX) {
            return Ok(false);
        }
        let mut txn = self.frame.txn.borrow_mut();
        if !txn.isolation().by_statement() {
            return Ok(false);
        }
        // As the statement that is run anew will see it.
        txn.begin_statement()?;
        let is_another = self.know_catalog(&txn);
        txn.end_statement()?;
        is_another
    }
}
