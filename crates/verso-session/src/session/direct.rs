//! The short way of a prepared INSERT of one row within a transaction block.
//!
//! D1. It does what the general way ([`crate::run`]) does, which goes on wherever this one does not apply: the statement is
//!     its transaction's first or its only one, was not compiled for this version of the catalog, or has more to check.
//! D2. It takes no snapshot, for it reads nothing: whether the catalog's version is that of this moment can be told without
//!     one, and a check of equal keys takes its own.

use super::Session;
use crate::failure::Failure;
use crate::plans::Prepared;
use crate::plans::{Done, Job};
use crate::transaction::Block;
use verso_planner::errors::SqlError;

impl Session {
    /// Whether a statement may go the short way, as far as that can be told before it begins.
    #[inline]
    pub(crate) fn may_be_direct(&self, job: &Job<'_>) -> bool {
        job.prepared.is_some_and(Prepared::is_row) && self.transaction.is_open()
    }

    /// Runs a statement by the short way; `None` where that does not apply, and nothing has happened.
    #[inline]
    pub(crate) fn direct(&mut self, job: &Job<'_>) -> Result<Option<Done>, SqlError> {
        let (Some(prepared), Some(active), None) = (job.prepared, self.transaction.active_mut(), job.sets)
        else {
            return Ok(None);
        };
        if active.state.block == Block::Statement
            || active.state.pristine
            || active.state.changed_schema
            || active.state.modes.read_only
            || !self.portals.is_empty()
        {
            return Ok(None);
        }
        let services = &self.services;
        let catalog = services.catalog.borrow();
        let Some(key) = catalog.as_ref().map(|catalog| catalog.key()) else { return Ok(None) };
        let version = key.version;
        let (executor, epoch) = (services.settings.executor, services.settings.epoch());
        let ready = self.plans.ready.get_mut().find(prepared.number(), key, executor, epoch);
        let Some(ready) = ready.filter(|ready| ready.compiled.is_direct()) else { return Ok(None) };
        let Some(number) = active.txn.get_mut().begin_row()? else { return Ok(None) };
        let inserted = if services.instance.catalog.is_seen(version, number) {
            ready.compiled.run_direct(job.params, &services.tables(&active.txn, version))
        } else {
            None
        };
        match inserted {
            Some(Ok(rows)) => {
                prepared.count_run(false);
                active.txn.get_mut().end_statement()?;
                Ok(Some(Done::Rows(ready.planned.word(), rows)))
            }
            None => {
                active.txn.get_mut().end_statement()?;
                Ok(None)
            }
            Some(Err(error)) => {
                let Failure { error, conflict } = error.into();
                active.txn.get_mut().abort_statement()?;
                // The general way tries again.
                if conflict && active.state.restarts() { Ok(None) } else { Err(error) }
            }
        }
    }
}
