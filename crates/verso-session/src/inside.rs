//! COMMIT and ROLLBACK from within: a procedure or a block ends its transaction, and the next one begins.
//!
//! ```text
//! DO, CALL ─► statement of its own ─► … COMMIT: [end of the statement │ commit │ begin │ statement again] …
//! ```
//!
//! I1. Only a call that is no part of a transaction block or of another statement may do that.
//! I2. Whatever comes of the commit, a transaction and its statement are open afterwards, as they were before.
//! I3. A commit that waits for the disk leaves that to the end of the call, unless it says WAIT itself or is forced to:
//!     nobody is told of it before.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use verso_exec::context::TransactionEnds;
use verso_exec::error::{ExecError, Result};
use verso_exec::plan::CommitWrite;
use verso_storage::{StorageError, Txn};

use crate::constraints::{add_reserved, check_at_commit};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::serving;
use crate::transaction::Modes;
use verso_parser::parse_script;
use verso_parser::syntax::Statement;
use verso_planner::errors::SqlError;

/// What ends the transaction of a frame.
pub(crate) struct Inside<'f> {
    frame: &'f Frame<'f>,
    /// Of the transaction that runs.
    modes: Cell<Modes>,
    /// How many statements of functions had run when it began, if it began here.
    begun_at: Cell<Option<u64>>,
}

impl<'f> Inside<'f> {
    pub(crate) fn new(frame: &'f Frame<'f>) -> Inside<'f> {
        Inside { frame, modes: Cell::new(Modes::usual(&frame.services.settings)), begun_at: Cell::new(None) }
    }

    /// Ends the transaction by `end` and begins the next one (I2).
    fn end(
        &self,
        (committed, chain): (bool, bool),
        end: impl FnOnce(&mut Txn) -> std::result::Result<(), StorageError>,
    ) -> Result<()> {
        let services = self.frame.services;
        services.has_ended.set(true);
        let mut txn = self.frame.txn.borrow_mut();
        let mut ended = end(&mut txn);
        if !txn.has_ended() {
            ended = ended.and(txn.rollback_here());
        }
        services.settings.end_asked(committed && ended.is_ok());
        services.deferred.take();
        services.cursors.end(committed && ended.is_ok());
        services.portals.clear();
        services.notify.forget();
        services.temporary.forget_touched();
        if !chain {
            self.modes.set(Modes::usual(&services.settings));
        }
        let modes = self.modes.get();
        txn.begin_again(modes.options());
        txn.set_lock_timeout(services.settings.lock_timeout());
        txn.set_deferrable(modes.deferrable);
        txn.begin_statement()?;
        services.transaction.set(Some(modes.shown()));
        let now = services.clocks.restart_transaction();
        services.info.transaction_started.store(now, Ordering::Relaxed);
        self.begun_at.set(Some(services.embedded.get()));
        Ok(ended?)
    }

    /// Checks what was put off to the commit, and adds what was reserved.
    fn check_deferred(&self) -> std::result::Result<(), Failure> {
        let deferred = &self.frame.services.deferred;
        if deferred.borrow().has_checks() {
            self.frame.inside(check_at_commit)?;
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
}
