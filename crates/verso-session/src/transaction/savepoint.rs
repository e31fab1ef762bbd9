//! SAVEPOINT, ROLLBACK TO, RELEASE.
//!
//! Storage keeps the savepoints of what was written; here are those of the session: its settings, what SET CONSTRAINTS
//! has said, portals and cursors.

use std::sync::Arc;

use super::{Active, Block, Condition, in_failed_transaction, tag};
use crate::Session;
use crate::client::CommandTag;
use crate::constraints::Modes as ConstraintModes;
use crate::session::ChangedSettings;
use crate::settings::Settings;
use verso_parser::syntax::{Name, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

/// A named place in a transaction, and the settings there.
pub(super) struct Savepoint {
    pub(super) name: String,
    settings: Arc<Settings>,
    changed: Option<ChangedSettings>,
    /// What SET CONSTRAINTS had said.
    constraints: ConstraintModes,
}

impl Active {
    fn find_savepoint(&self, name: &Name) -> Result<usize, SqlError> {
        self.savepoints.iter().rposition(|known| known.name == name.text).ok_or_else(|| {
            let text = format!("savepoint \"{}\" does not exist", name.text);
            SqlError::new(sqlstate::INVALID_SAVEPOINT, text)
        })
    }
}

impl Session {
    /// SAVEPOINT.
    pub(crate) fn savepoint(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let settings = Arc::clone(&self.services.settings);
        let constraints = self.services.deferred.borrow().modes.clone();
        let active = self.block_with_savepoints("SAVEPOINT")?;
        if active.condition != Condition::Good {
            return Err(in_failed_transaction());
        }
        active.pristine = false;
        active.txn.get_mut().savepoint(&name.text)?;
        active.savepoints.push(Savepoint {
            name: name.text.clone(),
            settings,
            changed: active.settings.clone(),
            constraints,
        });
        Ok(tag("SAVEPOINT"))
    }

    /// ROLLBACK TO.
    pub(crate) fn rollback_to(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let active = self.block_with_savepoints("ROLLBACK TO SAVEPOINT")?;
        let found = active.find_savepoint(name)?;
        active.txn.get_mut().rollback_to(&name.text)?;
        active.savepoints.truncate(found + 1);
        active.condition = Condition::Good;
        let savepoint = &active.savepoints[found];
        active.settings.clone_from(&savepoint.changed);
        let settings = Arc::clone(&savepoint.settings);
        let constraints = savepoint.constraints.clone();
        self.services.deferred.borrow_mut().modes = constraints;
        if !Arc::ptr_eq(&settings, &self.services.settings) {
            self.services.settings = settings;
            self.settings_changed();
        }
        self.close_portals_above(found);
        self.end_cursors_above(found);
        Ok(tag("ROLLBACK"))
    }

    /// RELEASE.
    pub(crate) fn release(&mut self, name: &Name) -> Result<CommandTag, SqlError> {
        let active = self.block_with_savepoints("RELEASE SAVEPOINT")?;
        if active.condition != Condition::Good {
            return Err(in_failed_transaction());
        }
        let found = active.find_savepoint(name)?;
        active.txn.get_mut().release(&name.text)?;
        active.savepoints.truncate(found);
        self.keep_portals_at(found);
        self.keep_cursors_at(found);
        Ok(tag("RELEASE"))
    }

    /// The transaction block, for what only a block with savepoints accepts.
    fn block_with_savepoints(&mut self, statement: &str) -> Result<&mut Active, SqlError> {
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
}
