//! SAVEPOINT, ROLLBACK TO, RELEASE.
//!
//! Storage keeps the savepoints of what was written; here are those of the session: its settings, what SET CONSTRAINTS
//! has said, portals and cursors.

use std::sync::Arc;

use super::Session;
use crate::client::{CommandTag, tag};
use crate::transaction::{Active, Block, Condition, Savepoint, in_failed_transaction};
use verso_parser::syntax::{Name, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// SAVEPOINT.
    pub(crate) fn savepoint(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let settings = self.services.settings.shared();
        let constraints = self.services.deferred.borrow().modes.clone();
        let events = self.services.deferred.borrow().place();
        let said = self.services.notify.mark();
        let opened = self.services.portals.opened();
        let active = self.block_with_savepoints("SAVEPOINT")?;
        if active.state.condition != Condition::Good {
            return Err(in_failed_transaction());
        }
        active.txn.get_mut().savepoint(&name.text)?;
        active.state.savepoints.push(Savepoint {
            released: false,
            name: name.text.clone(),
            settings,
            changed: active.state.settings.clone(),
            read_only: active.state.modes.read_only,
            constraints,
            events,
            said,
            opened,
        });
        Ok(tag("SAVEPOINT"))
    }

    /// ROLLBACK TO.
    pub(crate) fn rollback_to(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let active = self.block_with_savepoints("ROLLBACK TO SAVEPOINT")?;
        let found = active.state.find_savepoint(name)?;
        active.txn.get_mut().rollback_to(&name.text)?;
        active.state.return_to(found);
        let savepoint = &active.state.savepoints[found];
        let (settings, opened) = (Arc::clone(&savepoint.settings), savepoint.opened);
        let (constraints, events, said) = (savepoint.constraints.clone(), savepoint.events, savepoint.said);
        active.set_read_only(savepoint.read_only);
        let shown = active.state.modes.shown();
        self.services.transaction.set(Some(shown));
        self.services.deferred.borrow_mut().modes = constraints;
        self.services.deferred.borrow_mut().go_back(events);
        self.services.notify.return_to(said);
        if self.services.settings.restore(settings) {
            self.settings_changed();
        }
        self.portals.close_above(found);
        self.services.portals.close_since(opened);
        self.services.cursors.end_since(opened);
        Ok(tag("ROLLBACK"))
    }

    /// RELEASE.
    pub(crate) fn release(&mut self, name: &Name, only: bool) -> Result<CommandTag, SqlError> {
        let active = self.block_with_savepoints("RELEASE SAVEPOINT")?;
        if active.state.condition != Condition::Good {
            return Err(in_failed_transaction());
        }
        let found = active.state.find_savepoint(name)?;
        if only {
            active.txn.get_mut().release_only(&name.text)?;
            active.state.savepoints[found].released = true;
            return Ok(tag("RELEASE"));
        }
        active.txn.get_mut().release(&name.text)?;
        active.set_read_only(active.state.savepoints[found].read_only);
        active.state.savepoints.truncate(found);
        let shown = active.state.modes.shown();
        self.services.transaction.set(Some(shown));
        self.portals.keep_at(found);
        Ok(tag("RELEASE"))
    }

    /// The transaction block, for what only a block with savepoints accepts.
    fn block_with_savepoints(&mut self, statement: &str) -> Result<&mut Active, SqlError> {
        if !self.transaction.is_open() && !self.transaction.autocommit {
            self.open(&TransactionModes::default(), Block::Explicit)?;
        }
        let Some(active) =
            self.transaction.active_mut().filter(|active| active.state.block == Block::Explicit)
        else {
            let text = format!("{statement} can only be used in transaction blocks");
            return Err(SqlError::new(sqlstate::NO_ACTIVE_TRANSACTION, text));
        };
        if !active.state.modes.savepoints {
            let text = format!("{statement} is not possible without savepoints");
            return Err(SqlError::new("3B000", text)
                .with_detail("no savepoint")
                .with_hint("The transaction was begun with NO SAVEPOINT."));
        }
        Ok(active)
    }
}
