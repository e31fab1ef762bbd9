//! DROP TABLE, DROP SEQUENCE, DROP INDEX.

use std::sync::Arc;

use verso_catalog::{CatalogError, ObjectKind, Relation, TableDef};

use super::Schema;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{Drop, DropKind};

impl Schema<'_> {
    /// Drops relations of one kind.
    pub(super) fn drop(&self, drop: &Drop) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        if drop.kind == DropKind::Table && drop.names.len() > 1 {
            return self.drop_tables(drop);
        }
        for name in &drop.names {
            let (schema, text) = (name.schema_text(), name.name.text.as_str());
            let txn = &mut self.frame.txn.borrow_mut();
            let (result, kind) = match drop.kind {
                DropKind::Table => (catalog.drop_table(txn, schema, text, drop.cascade), "table"),
                DropKind::Sequence => (catalog.drop_sequence(txn, schema, text, drop.cascade), "sequence"),
                DropKind::Index => (catalog.drop_index(txn, schema, text, drop.cascade), "index"),
            };
            match result {
                Err(CatalogError::Missing { kind: missing, name: _ }) if drop.if_exists => match missing {
                    ObjectKind::Schema => self
                        .skip(format!("schema \"{}\" does not exist, skipping", schema.unwrap_or_default())),
                    _ => self.skip(format!("{kind} \"{text}\" does not exist, skipping")),
                },
                result => result?,
            }
        }
        Ok(tag(match drop.kind {
            DropKind::Table => "DROP TABLE",
            DropKind::Sequence => "DROP SEQUENCE",
            DropKind::Index => "DROP INDEX",
        }))
    }

    /// Several tables at once, so that foreign keys among them are in nobody's way.
    fn drop_tables(&self, drop: &Drop) -> Result<CommandTag, Failure> {
        let mut tables: Vec<Arc<TableDef>> = Vec::new();
        for name in &drop.names {
            let (schema, text) = (name.schema_text(), name.name.text.as_str());
            match self.frame.catalog.relation(schema, text) {
                Some(Relation::Table(table)) => {
                    if !tables.iter().any(|known| known.oid == table.oid) {
                        tables.push(Arc::clone(table));
                    }
                }
                Some(_) => {
                    let error = CatalogError::WrongKind { kind: ObjectKind::Table, name: text.to_string() };
                    return Err(error.into());
                }
                None if drop.if_exists => {
                    self.skip(format!("table \"{text}\" does not exist, skipping"));
                }
                None => return Err(CatalogError::missing(ObjectKind::Table, text).into()),
            }
        }
        let catalog = &self.frame.services.instance.catalog;
        catalog.drop_tables(&mut self.frame.txn.borrow_mut(), &tables, drop.cascade)?;
        Ok(tag("DROP TABLE"))
    }
}
