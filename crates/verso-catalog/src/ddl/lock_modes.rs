//! How strongly a change of a table locks it.
//!
//! Source: PostgreSQL 18, `AlterTableGetLockLevel` in `tablecmds.c`. What readers, or writers, may meet in the middle locks them out;
//! what only says something of the table lets them go on.

use verso_storage::TableLockMode;

use crate::request::{NewConstraintKind, TableChange};

impl TableChange {
    /// The mode in which the table is locked.
    #[must_use]
    pub fn lock_mode(&self) -> TableLockMode {
        match self {
            TableChange::Statistics { .. }
            | TableChange::ColumnOptions { .. }
            | TableChange::ClusterOn(_)
            | TableChange::Validated(_)
            | TableChange::Options(_)
            | TableChange::ResetOptions(_) => TableLockMode::ShareUpdateExclusive,
            TableChange::Triggers { .. } => TableLockMode::ShareRowExclusive,
            TableChange::AddConstraint(new) if matches!(new.kind, NewConstraintKind::Foreign { .. }) => {
                TableLockMode::ShareRowExclusive
            }
            TableChange::Refresh { concurrently: true, .. } => TableLockMode::Exclusive,
            _ => TableLockMode::AccessExclusive,
        }
    }
}
