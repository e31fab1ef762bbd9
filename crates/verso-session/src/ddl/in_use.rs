//! Tables in use: a statement of the schema that a function runs leaves those as they are which the statements around the
//! function read or change. It would take their rows from under them.
//!
//! As in PostgreSQL that is so of the whole change: ALTER TABLE is refused also where its action would do no harm. What only gives
//! another name, or a trigger, or a policy, is not.

use std::sync::Arc;

use verso_catalog::{IndexDef, Oid, TableDef};

use crate::frame::Frame;
use verso_parser::syntax::{
    AlterAction, DropKind, IndexChange, QualifiedName, ReindexTarget, SchemaStatement, Statement,
    ViewStatement,
};
use verso_planner::errors::{SqlError, sqlstate};

/// Refuses a statement that would change, empty or drop a table in use (55006).
pub(super) fn refuse_used(frame: &Frame<'_>, statement: &Statement) -> Result<(), SqlError> {
    let used = frame.services.in_use.borrow();
    if used.is_empty() {
        return Ok(());
    }
    InUse { frame, used: &used }.check(statement)
}

struct InUse<'f> {
    frame: &'f Frame<'f>,
    used: &'f [Oid],
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
                alter.actions.iter().try_for_each(|action| match action {
                    AlterAction::AttachPartition { partition, .. }
                    | AlterAction::DetachPartition { partition, .. } => self.named(partition, "ALTER TABLE"),
                    _ => Ok(()),
                })
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

    fn index(&self, name: &QualifiedName, word: &str) -> Result<(), SqlError> {
        let index: Option<Arc<IndexDef>> = self.frame.catalog.index(name.schema_text(), &name.name.text);
        match index.filter(|index| self.is_used(index.oid)) {
            Some(index) => Err(in_use(word, &index.name)),
            None => Ok(()),
        }
    }
}

/// `55006`.
fn in_use(word: &str, name: &str) -> SqlError {
    let text = format!("cannot {word} \"{name}\" because it is being used by active queries in this session");
    SqlError::new(sqlstate::OBJECT_IN_USE, text)
}
