//! LOCK TABLE.

use verso_catalog::Rights;
use verso_storage::{StorageError, TableLockMode, WaitPolicy};

use super::Schema;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{LockTable, TableLockMode as Asked};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    pub(super) fn lock_table(&self, binder: &Binder<'_>, lock: &LockTable) -> Result<CommandTag, Failure> {
        let mode = match lock.mode {
            Asked::AccessShare => TableLockMode::AccessShare,
            Asked::RowShare => TableLockMode::RowShare,
            Asked::RowExclusive => TableLockMode::RowExclusive,
            Asked::ShareUpdateExclusive => TableLockMode::ShareUpdateExclusive,
            Asked::Share => TableLockMode::Share,
            Asked::ShareRowExclusive => TableLockMode::ShareRowExclusive,
            Asked::Exclusive => TableLockMode::Exclusive,
            Asked::AccessExclusive => TableLockMode::AccessExclusive,
        };
        let policy = if lock.nowait { WaitPolicy::NoWait } else { WaitPolicy::Block };
        let engine = &self.frame.services.instance.engine;
        for name in &lock.tables {
            let table = binder.table(name)?;
            let changes = Rights::UPDATE.with(Rights::DELETE).with(Rights::TRUNCATE).with(Rights::MAINTAIN);
            let enough = match lock.mode {
                Asked::AccessShare => changes.with(Rights::SELECT).with(Rights::INSERT),
                Asked::RowShare | Asked::RowExclusive => changes.with(Rights::INSERT),
                _ => changes,
            };
            self.needs_any(&table, enough)?;
            for table in table.with_partitions() {
                let locked = engine.lock_table(&mut self.frame.txn.borrow_mut(), table.heap, mode, policy);
                if matches!(locked, Ok(false) | Err(StorageError::LockNotAvailable)) {
                    let text = format!("could not obtain lock on relation \"{}\"", table.name);
                    return Err(SqlError::new(sqlstate::LOCK_NOT_AVAILABLE, text).into());
                }
                locked?;
                self.frame.tables().check_definition(&mut self.frame.txn.borrow_mut(), &table)?;
            }
        }
        Ok(tag("LOCK TABLE"))
    }
}
