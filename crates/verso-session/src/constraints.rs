//! Constraints that are checked at commit: SET CONSTRAINTS, and the checks themselves.
//!
//! 1. SET CONSTRAINTS lasts until the transaction ends or goes back to a savepoint before it. As that may bring back what
//!    it has found in order, the commit looks at everything again.

use std::sync::Arc;

use verso_catalog::{ConstraintDef, TableDef};
use verso_exec::exec::{check_deferred_key, check_foreign_key};
use verso_storage::StorageError;
use verso_types::Value;

use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::tables::explain_unique;
use verso_parser::syntax::SetConstraints;
use verso_planner::errors::{SqlError, sqlstate};

impl Frame<'_> {
    /// Checks a foreign key for the rows that are there.
    pub(crate) fn check_foreign_key(
        &self,
        table: &Arc<TableDef>,
        constraint: &Arc<ConstraintDef>,
    ) -> Result<(), Failure> {
        Ok(self.with_context(&[], |cx| check_foreign_key(cx, table, constraint))?)
    }

    /// SET CONSTRAINTS.
    pub(crate) fn set_constraints(&self, set: &SetConstraints) -> Result<CommandTag, Failure> {
        if set.names.is_empty() {
            self.services.deferred.borrow_mut().modes.set_all(set.deferred);
        }
        for name in &set.names {
            let found: Vec<Arc<ConstraintDef>> = self
                .catalog
                .tables()
                .filter(|table| name.schema_text().is_none_or(|schema| *table.schema == *schema))
                .filter_map(|table| table.constraint(&name.name.text).cloned())
                .collect();
            if found.is_empty() {
                let text = format!("constraint \"{}\" does not exist", name.name.text);
                return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).into());
            }
            for constraint in found {
                if !constraint.deferrable {
                    let text = format!("constraint \"{}\" is not deferrable", constraint.name);
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                }
                self.services.deferred.borrow_mut().modes.set(constraint.oid, set.deferred);
            }
        }
        // Those that are deferred no more are checked at once.
        for table in self.catalog.tables() {
            for index in table.indexes.iter().filter(|index| index.deferrable) {
                let deferred = self.services.deferred.borrow().is_index_deferred(index);
                self.txn.borrow_mut().defer_unique(index.object, deferred);
                self.services.deferred.borrow_mut().unique |= deferred;
            }
        }
        if !set.deferred {
            let checked = self.txn.borrow_mut().check_unique_so_far();
            checked.map_err(|error| self.explain_unique(error))?;
            self.check_due(false)?;
        }
        Ok(tag("SET CONSTRAINTS"))
    }

    /// Checks keys that were put off.
    pub(crate) fn check_due(&self, commit: bool) -> Result<(), Failure> {
        let due = self.services.deferred.borrow_mut().due(commit);
        let check = |(constraint, key, referenced): &(Arc<ConstraintDef>, Vec<Value>, bool)| {
            self.with_context(&[], |cx| check_deferred_key(cx, constraint, key, *referenced))
        };
        Ok(due.iter().try_for_each(check)?)
    }

    /// Names the constraint and the key behind a duplicate that storage found by itself.
    pub(crate) fn explain_unique(&self, error: StorageError) -> Failure {
        let (engine, zone) = (&self.services.instance.engine, &self.services.settings.time_zone);
        explain_unique(self.catalog, engine, &self.txn.borrow(), zone, error).into()
    }
}
