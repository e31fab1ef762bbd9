//! Tables in use: a statement of the schema that a function runs leaves those as they are which the statements around the
//! function read or change. It would take their rows from under them. The same holds for tables with changes of which something
//! waits for the commit: triggers, keys of foreign keys, keys that may be double.
//!
//! As in PostgreSQL that is so of the whole change: ALTER TABLE is refused also where its action would do no harm. What only gives
//! another name, or a trigger, or a policy, is not.

use std::sync::Arc;

use verso_catalog::{IndexDef, Oid, TableDef};

use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{
    AlterAction, DropKind, IndexChange, Owned, QualifiedName, ReindexTarget, RightsStatement,
    SchemaStatement, Statement, ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

/// Refuses a statement that would change, empty or drop a table in use, or one of the `pending` ones (55006).
pub(super) fn refuse_used(frame: &Frame<'_>, statement: &Statement, pending: &[Oid]) -> Result<(), SqlError> {
    let used = frame.services.in_use.borrow();
    if used.is_empty() && pending.is_empty() {
        return Ok(());
    }
    InUse { frame, used: &used, pending }.check(statement)
}

/// The tables with changes of which something waits for the commit.
pub(super) fn pending(frame: &Frame<'_>) -> Result<Vec<Oid>, Failure> {
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

/// Refuses that pending tables have been dropped, by whatever statement.
pub(super) fn refuse_dropped(frame: &Frame<'_>, pending: &[Oid]) -> Result<(), Failure> {
    if pending.is_empty() {
        return Ok(());
    }
    // As a statement of its own, which sees what was dropped.
    let gone = frame.inside(|now| {
        let gone = pending.iter().find(|table| now.catalog.table_by_oid(**table).is_none());
        Ok(gone.and_then(|gone| frame.catalog.table_by_oid(*gone)))
    })?;
    match gone {
        Some(table) => Err(waits("DROP TABLE", &table.name).into()),
        None => Ok(()),
    }
}

/// Refuses to empty a table that TRUNCATE takes along.
pub(super) fn refuse_emptied(frame: &Frame<'_>, table: &TableDef) -> Result<(), Failure> {
    match pending(frame)?.contains(&table.oid) {
        true => Err(waits("TRUNCATE", &table.name).into()),
        false => Ok(()),
    }
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
                self.named(&alter.name, "ALTER TABLE")?;
                let Some(table) = self.table(&alter.name) else { return Ok(()) };
                self.check_pending(&table, "ALTER TABLE")?;
                alter.actions.iter().try_for_each(|action| match action {
                    AlterAction::AttachPartition { partition, .. }
                    | AlterAction::DetachPartition { partition, .. } => self.named(partition, "ALTER TABLE"),
                    action if stays_above(action) => Ok(()),
                    _ => {
                        let parts = table.with_partitions();
                        parts.iter().try_for_each(|part| self.check_pending(part, "ALTER TABLE"))
                    }
                })
            }
            Statement::Rights(RightsStatement::Owner {
                of: Owned::Relation(DropKind::Table | DropKind::MaterializedView, name),
                ..
            }) => {
                let table = self.table(name);
                table.map_or(Ok(()), |table| self.check_pending(&table, "ALTER TABLE"))
            }
            Statement::Truncate(truncate) => truncate.tables.iter().try_for_each(|(name, _)| {
                self.named(name, "TRUNCATE")?;
                self.pending_named(name, "TRUNCATE")
            }),
            Statement::Cluster(cluster) => {
                let word = if cluster.full { "VACUUM" } else { "CLUSTER" };
                cluster.table.iter().try_for_each(|name| {
                    self.named(name, word)?;
                    self.pending_named(name, word)
                })
            }
            Statement::CreateIndex(create) => {
                self.named(&create.table, "CREATE INDEX")?;
                self.pending_named(&create.table, "CREATE INDEX")
            }
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
                DropKind::Table => drop.names.iter().try_for_each(|name| self.named(name, "DROP TABLE")),
                DropKind::MaterializedView => {
                    drop.names.iter().try_for_each(|name| self.named(name, "DROP MATERIALIZED VIEW"))
                }
                DropKind::Index => drop.names.iter().try_for_each(|name| self.index(name, "DROP INDEX")),
                DropKind::View | DropKind::Sequence => Ok(()),
            },
            Statement::Schema(SchemaStatement::Drop { names, .. }) => {
                let of_schema = |table: &&Arc<TableDef>| names.iter().any(|name| *name.text == *table.schema);
                let mut tables = self.frame.catalog.tables().filter(of_schema);
                tables.try_for_each(|table| self.whole(table, "DROP TABLE"))
            }
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
        let parts = table.with_partitions();
        let used = parts.iter().find(|part| self.is_used(part.oid));
        used.map_or(Ok(()), |part| Err(in_use(word, &part.name)))
    }

    /// A table of that name with something that waits, or one that is a part of it.
    fn pending_named(&self, name: &QualifiedName, word: &str) -> Result<(), SqlError> {
        let parts = self.table(name).map_or_else(Vec::new, |table| table.with_partitions());
        parts.iter().try_for_each(|part| self.check_pending(part, word))
    }

    fn check_pending(&self, table: &TableDef, word: &str) -> Result<(), SqlError> {
        match self.pending.contains(&table.oid) {
            true => Err(waits(word, &table.name)),
            false => Ok(()),
        }
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
