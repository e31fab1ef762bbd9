//! How strongly ALTER TABLE locks its table before it looks at it: as the strongest of its actions asks (`verso-catalog`,
//! `ddl/lock_modes.rs`, says the same of what each of them comes to). A lock that had to become stronger could be in another's way.

use verso_parser::syntax::{AlterAction, AlterTable, ConstraintClause};
use verso_storage::TableLockMode;

use super::Schema;
use super::alter_partitions::reaches_partitions;
use crate::failure::Failure;
use verso_catalog::TableDef;

use std::sync::Arc;

/// The mode in which an action locks the table, and its partitions where it reaches them.
pub(super) fn mode_of(action: &AlterAction) -> TableLockMode {
    match action {
        AlterAction::Statistics { .. }
        | AlterAction::ClusterOn(_)
        | AlterAction::ValidateConstraint(_)
        | AlterAction::AttachPartition { .. }
        | AlterAction::Options(_)
        | AlterAction::ResetOptions(_) => TableLockMode::ShareUpdateExclusive,
        AlterAction::ColumnOptions { options, .. }
            if options.iter().all(|(name, _)| name != "reservable") =>
        {
            TableLockMode::ShareUpdateExclusive
        }
        AlterAction::Triggers { .. } => TableLockMode::ShareRowExclusive,
        AlterAction::AddConstraint(constraint)
            if matches!(constraint.clause, ConstraintClause::Foreign { .. }) =>
        {
            TableLockMode::ShareRowExclusive
        }
        _ => TableLockMode::AccessExclusive,
    }
}

impl Schema<'_> {
    /// Locks a table, and all its partitions where an action reaches them.
    pub(super) fn lock_to_alter(&self, table: &Arc<TableDef>, alter: &AlterTable) -> Result<(), Failure> {
        let Some(mode) = alter.actions.iter().map(mode_of).max() else { return Ok(()) };
        if table.is_system() {
            return Ok(());
        }
        let reaches = |action: &AlterAction| {
            reaches_partitions(action) || matches!(action, AlterAction::AddConstraint(_))
        };
        let all = match !alter.only && alter.actions.iter().any(reaches) {
            true => table.with_partitions(),
            false => vec![Arc::clone(table)],
        };
        all.iter().try_for_each(|table| self.frame.tables().lock(table, mode))?;
        Ok(())
    }
}
