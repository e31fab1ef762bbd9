//! LOCK TABLE.
//!
//! A partitioned table is locked with its partitions, without ONLY; a view with what it shows, as its owner may.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{Object, Oid, Relation, Rights, TableDef, ViewDef};
use verso_storage::{StorageError, TableLockMode, WaitPolicy};

use super::Schema;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use crate::tables::begun_anew;
use verso_parser::syntax::{LockTable, TableLockMode as Asked};
use verso_planner::bind::Binder;
use verso_planner::bind::rights::denied;
use verso_planner::errors::{SqlError, sqlstate};

/// How a relation is locked.
#[derive(Clone, Copy)]
struct Locking {
    mode: TableLockMode,
    policy: WaitPolicy,
    /// The rights of which one is enough.
    enough: Rights,
}

impl Locking {
    fn of(lock: &LockTable) -> Locking {
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
        let changes = Rights::UPDATE.with(Rights::DELETE).with(Rights::TRUNCATE).with(Rights::MAINTAIN);
        let enough = match lock.mode {
            Asked::AccessShare => changes.with(Rights::SELECT).with(Rights::INSERT),
            Asked::RowShare | Asked::RowExclusive => changes.with(Rights::INSERT),
            _ => changes,
        };
        Locking { mode, policy, enough }
    }
}

impl Schema<'_> {
    pub(super) fn lock_table(&self, binder: &Binder<'_>, lock: &LockTable) -> Result<CommandTag, Failure> {
        let how = Locking::of(lock);
        for (name, only) in &lock.tables {
            let found = self.frame.catalog.relation(name.schema_text(), &name.name.text);
            if let Some(Relation::View(view)) = found {
                self.may_lock(self.limited(), view.oid, ("view", &view.name), how)?;
                self.lock_shown(view, how)?;
                continue;
            }
            if let Some(kind) = found.and_then(not_locked) {
                let text = format!("cannot lock relation \"{}\"", name.name.text);
                let detail = format!("This operation is not supported for {kind}.");
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail).into());
            }
            let table = binder.table(name)?;
            self.may_lock(self.limited(), table.oid, ("table", &table.name), how)?;
            self.lock_whole(&table, how, *only)?;
        }
        Ok(tag("LOCK TABLE"))
    }

    /// Refuses what a role, if it is one with limits, may not lock.
    fn may_lock(
        &self,
        role: Option<Oid>,
        relation: Oid,
        (kind, name): (&str, &str),
        how: Locking,
    ) -> Result<(), SqlError> {
        let Some(role) = role else { return Ok(()) };
        let has = self.frame.catalog.rights(role, Object::Relation(relation));
        if has.among(how.enough).is_empty() { Err(denied(kind, name)) } else { Ok(()) }
    }

    /// Locks what a view shows, and what views among that show.
    fn lock_shown(&self, view: &Arc<ViewDef>, how: Locking) -> Result<(), Failure> {
        let catalog = self.frame.catalog;
        let (mut open, mut seen) = (vec![Arc::clone(view)], HashSet::from([view.oid]));
        while let Some(view) = open.pop() {
            let role = match view.options.is_on("security_invoker") {
                true => self.limited(),
                false => {
                    let owner = catalog.owner_of(Object::Relation(view.oid));
                    Some(owner).filter(|owner| !catalog.is_superuser(*owner))
                }
            };
            let mut shown: Vec<Oid> = view.query.relations.iter().map(|named| named.relation).collect();
            shown.sort_unstable();
            for oid in shown.into_iter().filter(|oid| !oid.is_system()) {
                if !seen.insert(oid) {
                    continue;
                }
                match catalog.relation_by_oid(oid) {
                    Some(Relation::Table(table)) => {
                        self.may_lock(role, oid, ("table", &table.name), how)?;
                        self.lock_whole(table, how, false)?;
                    }
                    Some(Relation::View(inner)) => {
                        self.may_lock(role, oid, ("view", &inner.name), how)?;
                        open.push(Arc::clone(inner));
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Locks a table, and its partitions unless it is to be locked only.
    fn lock_whole(&self, table: &Arc<TableDef>, how: Locking, only: bool) -> Result<(), Failure> {
        let engine = &self.frame.services.instance.engine;
        let all = if only { vec![Arc::clone(table)] } else { table.with_partitions() };
        for table in all {
            let locked =
                engine.lock_table(&mut self.frame.txn.borrow_mut(), table.heap, how.mode, how.policy);
            if matches!(locked, Ok(false) | Err(StorageError::LockNotAvailable)) {
                let text = format!("could not obtain lock on relation \"{}\"", table.name);
                return Err(SqlError::new(sqlstate::LOCK_NOT_AVAILABLE, text).into());
            }
            locked?;
            let catalog = &self.frame.services.instance.catalog;
            let txn = &mut *self.frame.txn.borrow_mut();
            if !catalog.is_still_there(&table, self.frame.catalog.version, txn)? {
                txn.forget_lock(table.heap);
                return Err(begun_anew().into());
            }
        }
        Ok(())
    }
}

/// What kinds of relations are not locked are called.
fn not_locked(relation: &Relation) -> Option<&'static str> {
    match relation {
        Relation::Table(table) if table.materialized.is_some() => Some("materialized views"),
        Relation::Index(_) => Some("indexes"),
        Relation::Sequence(_) => Some("sequences"),
        Relation::Table(_) | Relation::View(_) => None,
    }
}
