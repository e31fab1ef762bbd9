//! TRUNCATE, and which tables it takes along.

use std::sync::Arc;

use verso_catalog::{Object, Rights, TableDef};
use verso_exec::exec::{TriggerEvent, fire_statement};

use super::Schema;
use super::in_use::refuse_emptied;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::Truncate;
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// Empties tables at once. Those that refer to them have to be among them, or go along with CASCADE.
    pub(super) fn truncate(&self, binder: &Binder<'_>, truncate: &Truncate) -> Result<CommandTag, Failure> {
        let mut tables: Vec<Arc<TableDef>> = Vec::new();
        for (name, only) in &truncate.tables {
            let table = binder.target(name)?;
            if tables.iter().any(|known| known.oid == table.oid) {
                continue;
            }
            self.needs(Object::Relation(table.oid), Rights::TRUNCATE, "table", &table.name)?;
            self.refuse_reserved(&table)?;
            if *only && table.partitioned.is_some() {
                let text = "cannot truncate only a partitioned table";
                let hint =
                    "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.";
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_hint(hint).into());
            }
            for table in table.with_partitions() {
                if tables.iter().all(|known| known.oid != table.oid) {
                    tables.push(table);
                }
            }
        }
        let mut next = 0;
        while let Some(table) = tables.get(next).cloned() {
            next += 1;
            for constraint in &table.referenced_by {
                if tables.iter().any(|table| table.oid == constraint.table) {
                    continue;
                }
                let Some(other) = self.frame.catalog.table_by_oid(constraint.table) else { continue };
                if !truncate.cascade {
                    let text = "cannot truncate a table referenced in a foreign key constraint";
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                        .with_detail(format!("Table \"{}\" references \"{}\".", other.name, table.name))
                        .with_hint(format!(
                            "Truncate table \"{}\" at the same time, or use TRUNCATE ... CASCADE.",
                            other.name
                        ))
                        .into());
                }
                self.skip(format!("truncate cascades to table \"{}\"", other.name));
                self.needs(Object::Relation(other.oid), Rights::TRUNCATE, "table", &other.name)?;
                refuse_emptied(self.frame, &other)?;
                tables.push(other);
            }
        }
        self.fire(&tables, true)?;
        let catalog = &self.frame.services.instance.catalog;
        catalog.truncate(&mut self.frame.txn.borrow_mut(), &tables, truncate.restart_identity)?;
        if tables.iter().any(|table| !table.triggers.is_empty()) {
            // They see the tables as they are now.
            self.frame.inside(|frame| {
                let now: Vec<_> =
                    tables.iter().filter_map(|table| frame.catalog.table_by_oid(table.oid)).collect();
                Schema { frame }.fire(&now, false)
            })?;
        }
        Ok(tag("TRUNCATE TABLE"))
    }

    /// TRUNCATE triggers, before or behind.
    fn fire(&self, tables: &[Arc<TableDef>], before: bool) -> Result<(), Failure> {
        if tables.iter().all(|table| table.triggers.is_empty()) {
            return Ok(());
        }
        let fire = |table: &Arc<TableDef>| {
            self.frame.with_context(&[], |cx| fire_statement(cx, table, TriggerEvent::Truncate, before))
        };
        Ok(tables.iter().try_for_each(fire)?)
    }
}
