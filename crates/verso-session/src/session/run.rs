//! A statement within a transaction: opened, run, closed, and run again after a conflict (S1 to S3).

use std::cell::RefCell;

use verso_storage::rules::{Rule, disabled};
use verso_storage::{StorageError, TableLockMode, Txn, WaitPolicy};
use verso_types::SqlType;
use verso_types::text::type_of;

use crate::Session;
use crate::client::Results;
use crate::client::StatementSink;
use crate::constraints::explain_unique;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::Prepared;
use crate::plans::{Done, Job};
use crate::plans::{changes, changes_schema, only_changes};
use crate::transaction::{Active, Block, Ending};
use verso_parser::syntax::Statement;
use verso_planner::errors::{SqlError, sqlstate};

/// Times a statement of READ COMMITTED is tried again on a new snapshot. Behind these comes one more, with the tables
/// locked over which it has had conflicts.
const RESTARTS_MAX: u32 = 5;

impl Session {
    /// Runs a statement within the open transaction, or within one of its own that ends with it.
    pub(crate) fn transactional(
        &mut self,
        job: &Job<'_>,
        sink: &mut dyn StatementSink,
    ) -> Result<Done, SqlError> {
        self.ensure_active_for(job.prepared.is_some_and(Prepared::only_reads))?;
        let Some(active) = &mut self.active else { return Err(SqlError::internal("no transaction")) };
        active.pristine = false;
        if active.read_only()
            && let Some(word) = changes(job.statement)
        {
            let text = format!("cannot execute {word} in a read-only transaction");
            return Err(SqlError::new(sqlstate::READ_ONLY_TRANSACTION, text));
        }
        if active.block == Block::Statement && matches!(job.statement, Statement::LockTable(_)) {
            let text = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        }
        if active.block == Block::Statement && matches!(job.statement, Statement::SetConstraints(_)) {
            let text = "SET CONSTRAINTS can only be used in transaction blocks";
            self.services.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
        }
        active.changed_schema |= changes_schema(job.statement);
        self.set_aside_for(job)?;
        self.note_position(job.statement);
        let types: Vec<SqlType> = match job.prepared {
            Some(_) => Vec::new(),
            None => job.params.iter().map(type_of).collect(),
        };
        let mut results = Results::new(sink);
        let silent = only_changes(job.statement);
        let done =
            self.framed(silent, &mut results, |frame, results| frame.statement(job, &types, results))?;
        results.finish()?;
        self.change_asked_settings()?;
        if let Some(active) = self.active.take_if(|active| active.block == Block::Statement) {
            self.end(active, Ending::Commit)?;
        }
        Ok(done)
    }

    /// Opens a frame, runs `body` in it, and closes it; on a conflict perhaps again. A `silent` body shows its client
    /// nothing that it reads.
    pub(crate) fn framed<T>(
        &self,
        silent: bool,
        results: &mut Results<'_>,
        mut body: impl FnMut(&Frame<'_>, &mut Results<'_>) -> Result<T, Failure>,
    ) -> Result<T, SqlError> {
        let Some(active) = &self.active else { return Err(SqlError::internal("no transaction")) };
        let notices = self.services.notices.borrow().len();
        let mut tries = 0;
        self.services.contended.borrow_mut().clear();
        loop {
            self.services.asked.take();
            if tries > RESTARTS_MAX {
                self.lock_contended(active)?;
            }
            {
                let mut txn = active.txn.borrow_mut();
                if silent { txn.begin_change()? } else { txn.begin_statement()? }
            }
            let result = self.in_frame(active, results, &mut body);
            let Failure { error, conflict } = match result {
                Ok(value) => {
                    let ended = active.txn.borrow_mut().end_statement();
                    match ended {
                        Ok(()) => return Ok(value),
                        // Found out at the end of the statement; its frame is still open.
                        Err(error @ StorageError::Unique { .. }) => self.explain_at_end(&active.txn, error),
                        Err(error) => return Err(error.into()),
                    }
                }
                Err(failure) => failure,
            };
            active.txn.borrow_mut().abort_statement()?;
            if !conflict || !active.restarts() || results.sent || tries > RESTARTS_MAX {
                return Err(error);
            }
            tries += 1;
            results.forget();
            self.services.notices.borrow_mut().truncate(notices);
            verso_env::sync::backoff(tries);
        }
    }

    /// Keeps others from changing or locking rows of the tables over which the statement has had conflicts. Its next
    /// snapshot, taken afterwards, then sees all that it will meet there.
    fn lock_contended(&self, active: &Active) -> Result<(), SqlError> {
        let mut tables = std::mem::take(&mut *self.services.contended.borrow_mut());
        if disabled(Rule::T2LastTry) {
            return Ok(());
        }
        // In one order, and with nothing held that another such statement may wait for.
        tables.sort_unstable();
        tables.dedup();
        let mut txn = active.txn.borrow_mut();
        if active.block == Block::Statement {
            txn.release_locks();
        }
        for table in tables {
            let engine = &self.services.instance.engine;
            engine.lock_table(&mut txn, table, TableLockMode::Exclusive, WaitPolicy::Block)?;
        }
        Ok(())
    }

    /// A duplicate key that the end of a statement found, as the client is told.
    fn explain_at_end(&self, txn: &RefCell<Txn>, error: StorageError) -> Failure {
        let txn = txn.borrow();
        let catalog = match self.services.instance.catalog.snapshot(&txn) {
            Ok(catalog) => catalog,
            Err(other) => return other.into(),
        };
        let engine = &self.services.instance.engine;
        explain_unique(&catalog, engine, &txn, &self.services.settings.time_zone, error).into()
    }
}
