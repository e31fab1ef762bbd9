//! Tables in use: a statement of the schema leaves those as they are which open queries of the session read, and, in a function, which
//! the statements around it read or change. It would take their rows from under them. The same holds for tables with changes of which
//! something waits for the commit: triggers, keys of foreign keys, keys that may be double.
//!
//! As in PostgreSQL that is so of the whole change: ALTER TABLE is refused also where its action would do no harm. What only gives
//! another name, or a trigger, or a policy, is not. Of what goes along with others it is found when it has gone.

use std::sync::Arc;

use verso_catalog::{ConstraintKind, IndexDef, Oid, TableDef};

use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{
    AlterAction, DropKind, IndexChange, Name, Owned, QualifiedName, ReindexTarget, RightsStatement,
    Statement, ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

/// Tables and indexes that have to stay as they are.
pub(super) struct Kept {
    /// Open queries use them, or statements around this one.
    used: Vec<Oid>,
    /// Something waits for the commit.
    pending: Vec<Oid>,
}

/// Those of the session.
pub(super) fn kept(frame: &Frame<'_>) -> Result<Kept, Failure> {
    let mut used = frame.services.portals.used.all();
    used.extend_from_slice(&frame.services.in_use.borrow());
    Ok(Kept { used, pending: pending(frame)? })
}

/// Refuses a statement that would change, empty or drop one of them (55006).
pub(super) fn refuse_used(frame: &Frame<'_>, statement: &Statement, kept: &Kept) -> Result<(), SqlError> {
    match kept.used.is_empty() && kept.pending.is_empty() {
        true => Ok(()),
        false => InUse { frame, used: &kept.used, pending: &kept.pending }.check(statement),
    }
}

/// The tables with changes of which something waits for the commit.
fn pending(frame: &Frame<'_>) -> Result<Vec<Oid>, Failure> {
    let deferred = frame.services.deferred.borrow();
    let mut found = deferred.waiting();
    if deferred.unique {
        let due = frame.txn.borrow().unique_due().map_err(|error| frame.tables().explain(error))?;
        let waits = |index: &IndexDef| due.contains(&index.object) && deferred.is_index_deferred(index);
        let tables = frame.catalog.tables().filter(|_| !due.is_empty());
        found.extend(tables.filter(|table| table.indexes.iter().any(|one| waits(one))).map(|one| one.oid));
    }
    Ok(found)
}

/// Refuses that they have been dropped, by whatever statement.
pub(super) fn refuse_dropped(frame: &Frame<'_>, kept: &Kept) -> Result<(), Failure> {
    if kept.used.is_empty() && kept.pending.is_empty() {
        return Ok(());
    }
    // As a statement of its own, which sees what was dropped.
    let gone = frame.inside(|now| {
        let known =
            kept.used.iter().chain(&kept.pending).filter_map(|table| frame.catalog.table_by_oid(*table));
        let gone = known.filter(|table| now.catalog.table_by_oid(table.oid).is_none());
        Ok(gone.collect::<Vec<Arc<TableDef>>>())
    })?;
    for table in &gone {
        // Its indexes go first.
        if let Some(index) = table.all_indexes().find(|index| kept.used.contains(&index.oid)) {
            return Err(in_use("DROP INDEX", &index.name).into());
        }
        if kept.used.contains(&table.oid) {
            return Err(in_use("DROP TABLE", &table.name).into());
        }
        if kept.pending.contains(&table.oid) {
            return Err(waits("DROP TABLE", &table.name).into());
        }
    }
    Ok(())
}

/// Refuses to empty a table that TRUNCATE takes along.
pub(super) fn refuse_emptied(frame: &Frame<'_>, table: &TableDef) -> Result<(), Failure> {
    let Kept { used, pending } = kept(frame)?;
    Ok(InUse { frame, used: &used, pending: &pending }.only(table, "TRUNCATE")?)
}

struct InUse<'f> {
    frame: &'f Frame<'f>,
    used: &'f [Oid],
    pending: &'f [Oid],
}

impl InUse<'_> {
    fn check(&self, statement: &Statement) -> Result<(), SqlError> {
        match statement {
            Statement::AlterTable(alter) => {
                let renames = |action: &AlterAction| {
                    matches!(
                        action,
                        AlterAction::Rename(_)
                            | AlterAction::RenameColumn { .. }
                            | AlterAction::RenameConstraint { .. }
                    )
                };
                if alter.actions.iter().all(renames) {
                    return Ok(());
                }
                let Some(table) = self.table(&alter.name) else { return Ok(()) };
                match alter.only || alter.actions.iter().all(stays_above) {
                    true => self.only(&table, "ALTER TABLE")?,
                    false => self.whole(&table, "ALTER TABLE")?,
                }
                alter.actions.iter().try_for_each(|action| match action {
                    AlterAction::DropConstraint { name, .. } => self.referenced(&table, name),
                    _ => Ok(()),
                })
            }
            Statement::Rights(RightsStatement::Owner {
                of: Owned::Relation(DropKind::Table | DropKind::MaterializedView, name),
                ..
            }) => self.table(name).map_or(Ok(()), |table| self.only(&table, "ALTER TABLE")),
            Statement::CreateTable(create) => {
                let parent = create.partition_of.as_ref().and_then(|of| self.table(&of.parent));
                match parent.filter(|parent| self.is_used(parent.oid)) {
                    Some(parent) => Err(in_use("CREATE TABLE .. PARTITION OF", &parent.name)),
                    None => Ok(()),
                }
            }
            Statement::Truncate(truncate) => {
                truncate.tables.iter().try_for_each(|(name, _)| self.named(name, "TRUNCATE"))
            }
            Statement::Cluster(cluster) => {
                let word = if cluster.full { "VACUUM" } else { "CLUSTER" };
                cluster.table.iter().try_for_each(|name| self.named(name, word))
            }
            Statement::CreateIndex(create) => self.named(&create.table, "CREATE INDEX"),
            Statement::Reindex(reindex) => match &reindex.target {
                ReindexTarget::Index(name) => self.index(name, "REINDEX INDEX"),
                ReindexTarget::Table(name) => {
                    let Some(table) = self.table(name) else { return Ok(()) };
                    let used = table.all_indexes().find(|index| self.is_used(index.oid));
                    used.map_or(Ok(()), |index| Err(in_use("REINDEX INDEX", &index.name)))
                }
                ReindexTarget::Schema(_)
                | ReindexTarget::Database(_)
                | ReindexTarget::System(_)
                | ReindexTarget::Collations => Ok(()),
            },
            Statement::AlterIndex(alter) => match alter.change {
                IndexChange::Attach(_) => Ok(()),
                _ => self.index(&alter.name, "ALTER TABLE"),
            },
            Statement::Drop(drop) => match drop.kind {
                DropKind::Index => drop.names.iter().try_for_each(|name| self.index(name, "DROP INDEX")),
                // Tables are looked for when they have gone.
                DropKind::Table | DropKind::MaterializedView | DropKind::View | DropKind::Sequence => Ok(()),
            },
            Statement::View(ViewStatement::Refresh { name, .. }) => {
                self.named(name, "REFRESH MATERIALIZED VIEW")
            }
            _ => Ok(()),
        }
    }

    /// Of a table, or an index: a statement that reads a table uses the indexes by which it does, one that changes it all of them.
    fn is_used(&self, relation: Oid) -> bool {
        self.used.contains(&relation)
    }

    fn table(&self, name: &QualifiedName) -> Option<Arc<TableDef>> {
        self.frame.catalog.table(name.schema_text(), &name.name.text)
    }

    /// A table of that name, or one that is a part of it.
    fn named(&self, name: &QualifiedName, word: &str) -> Result<(), SqlError> {
        self.table(name).map_or(Ok(()), |table| self.whole(&table, word))
    }

    fn whole(&self, table: &Arc<TableDef>, word: &str) -> Result<(), SqlError> {
        table.with_partitions().iter().try_for_each(|part| self.only(part, word))
    }

    /// The table itself.
    fn only(&self, table: &TableDef, word: &str) -> Result<(), SqlError> {
        match () {
            () if self.is_used(table.oid) => Err(in_use(word, &table.name)),
            () if self.pending.contains(&table.oid) => Err(waits(word, &table.name)),
            () => Ok(()),
        }
    }

    /// The table that a foreign key references which goes.
    fn referenced(&self, table: &TableDef, name: &Name) -> Result<(), SqlError> {
        let constraint = table.constraints.iter().find(|constraint| *constraint.name == *name.text);
        let referenced = constraint.and_then(|constraint| match &constraint.kind {
            ConstraintKind::Foreign(key) => self.frame.catalog.table_by_oid(key.referenced),
            _ => None,
        });
        referenced.map_or(Ok(()), |referenced| self.only(&referenced, "ALTER TABLE"))
    }

    fn index(&self, name: &QualifiedName, word: &str) -> Result<(), SqlError> {
        let index: Option<Arc<IndexDef>> = self.frame.catalog.index(name.schema_text(), &name.name.text);
        match index.filter(|index| self.is_used(index.oid)) {
            Some(index) => Err(in_use(word, &index.name)),
            None => Ok(()),
        }
    }
}

/// Whether an action changes nothing of the partitions.
fn stays_above(action: &AlterAction) -> bool {
    matches!(
        action,
        AlterAction::AttachPartition { .. }
            | AlterAction::DetachPartition { .. }
            | AlterAction::OfType(_)
            | AlterAction::Owner(_)
            | AlterAction::RowSecurity { .. }
            | AlterAction::Logged(_)
            | AlterAction::ReplicaIdentity(_)
            | AlterAction::ClusterOn(_)
            | AlterAction::Options(_)
            | AlterAction::ResetOptions(_)
            | AlterAction::Triggers { .. }
    )
}

/// `55006`.
fn waits(word: &str, name: &str) -> SqlError {
    let text = format!("cannot {word} \"{name}\" because it has pending trigger events");
    SqlError::new(sqlstate::OBJECT_IN_USE, text)
}

/// `55006`.
fn in_use(word: &str, name: &str) -> SqlError {
    let text = format!("cannot {word} \"{name}\" because it is being used by active queries in this session");
    SqlError::new(sqlstate::OBJECT_IN_USE, text)
}
