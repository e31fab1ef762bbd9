//! CREATE INDEX, REINDEX.

use verso_catalog::{CatalogError, NewIndex, Object, ObjectKind, Relation, Rights};

use super::{Schema, text};
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{CreateIndex, QualifiedName};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// CREATE INDEX.
    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<CommandTag, Failure> {
        let CreateIndex { name, if_not_exists, unique, nulls_distinct, table, parts, parallel: _ } = create;
        let new = NewIndex {
            name: name.as_ref().map(text),
            schema: Some(self.home(table)),
            table: text(&table.name),
            parts: parts
                .iter()
                .map(|(column, descending, nulls_first)| (text(column), *descending, *nulls_first))
                .collect(),
            unique: *unique,
            nulls_distinct: *nulls_distinct,
        };
        self.own_named(table)?;
        let catalog = &self.frame.services.instance.catalog;
        if catalog.create_index(&mut self.frame.txn.borrow_mut(), &new, *if_not_exists)?.is_none() {
            let name = name.as_ref().map_or("", |name| &name.text);
            let text = format!("relation \"{name}\" already exists, skipping");
            self.skip_known(sqlstate::DUPLICATE_TABLE, text);
        }
        Ok(tag("CREATE INDEX"))
    }

    fn may_maintain(&self, relation: &Relation) -> Result<(), SqlError> {
        let table = match relation {
            Relation::Index(index) => index.table,
            relation => relation.oid(),
        };
        let word = super::rights::kind_word(relation);
        self.needs(Object::Relation(table), Rights::MAINTAIN, word, relation.name())
    }

    /// REINDEX, of one index or of all of a table.
    pub(super) fn reindex(&self, index: bool, name: &QualifiedName) -> Result<CommandTag, Failure> {
        if let Some(relation) = self.frame.catalog.relation(name.schema_text(), &name.name.text) {
            self.may_maintain(relation)?;
        }
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        let home = self.home(name);
        let schema = Some(&*home);
        if !index {
            catalog.reindex(txn, schema, &name.name.text, None)?;
            return Ok(tag("REINDEX"));
        }
        let index = self.frame.catalog.index(schema, &name.name.text);
        let index = index.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, name.to_string()))?;
        let table = self.frame.catalog.table_by_oid(index.table);
        let table = table.ok_or_else(|| SqlError::internal("an index without a table"))?;
        catalog.reindex(txn, Some(&table.schema), &table.name, Some(index.oid))?;
        Ok(tag("REINDEX"))
    }
}
