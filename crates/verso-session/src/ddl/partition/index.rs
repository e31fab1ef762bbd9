//! ALTER INDEX … ATTACH PARTITION: an index of a partition becomes a part of one of the whole table.

use std::sync::Arc;

use verso_catalog::{CatalogError, IndexDef, ObjectKind, TableDef};
use verso_exec::functions::quote_ident;
use verso_parser::syntax::QualifiedName;
use verso_planner::errors::{SqlError, sqlstate};

use super::super::Schema;
use crate::failure::Failure;

impl Schema<'_> {
    /// ATTACH PARTITION of an index.
    pub(in crate::ddl) fn attach_index(
        &self,
        whole: &QualifiedName,
        part: &QualifiedName,
    ) -> Result<(), Failure> {
        let (index, table) = self.index_named(whole)?;
        if table.partitioned.is_none() {
            let text =
                format!("ALTER action ATTACH PARTITION cannot be performed on relation \"{}\"", index.name);
            let detail = "This operation is not supported for indexes.";
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_detail(detail).into());
        }
        self.own_named(part)?;
        let (own, partition) = self.index_named(part)?;
        if own.part_of == Some(index.oid) {
            return Ok(());
        }
        let refused = |code: &'static str, detail: String| {
            let text =
                format!("cannot attach index \"{}\" as a partition of index \"{}\"", own.name, index.name);
            Err(SqlError::new(code, text).with_detail(detail).into())
        };
        if own.part_of.is_some() {
            return refused("55000", format!("Index \"{}\" is already attached to another index.", own.name));
        }
        if partition.partition_of.as_ref().is_none_or(|of| of.parent != table.oid) {
            let detail = format!(
                "Index \"{}\" is not an index on any partition of table \"{}\".",
                own.name, table.name
            );
            return refused("55000", detail);
        }
        if let Some(other) = partition.indexes.iter().find(|other| other.part_of == Some(index.oid)) {
            let detail = format!(
                "Another index \"{}\" is already attached for partition \"{}\".",
                other.name, partition.name
            );
            return refused("55000", detail);
        }
        let same = own.unique == index.unique
            && own.nulls_distinct == index.nulls_distinct
            && own.body(&partition, quote_ident) == index.body(&table, quote_ident);
        if !same {
            return refused("42P17", "The index definitions do not match.".to_owned());
        }
        if index.constraint.is_some() && own.constraint.is_none() {
            let detail = format!(
                "The index \"{}\" belongs to a constraint in table \"{}\" but no constraint exists for index \"{}\".",
                index.name, table.name, own.name
            );
            return refused("42P17", detail);
        }
        let catalog = &self.frame.services.instance.catalog;
        Ok(catalog.attach_index(&mut self.frame.txn.borrow_mut(), &own, index.oid)?)
    }

    fn index_named(&self, name: &QualifiedName) -> Result<(Arc<IndexDef>, Arc<TableDef>), Failure> {
        let found = self.frame.catalog.relation(name.schema_text(), &name.name.text);
        let found = found.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, name.to_string()))?;
        let verso_catalog::Relation::Index(index) = found else {
            let text = format!("\"{}\" is not an index", found.name());
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
        };
        let table = self.frame.catalog.table_by_oid(index.table);
        let table = table.ok_or_else(|| SqlError::internal("an index without a table"))?;
        Ok((Arc::clone(index), table))
    }
}
