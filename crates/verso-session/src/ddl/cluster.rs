//! CLUSTER, VACUUM FULL: a table's rows are copied into a new heap, in the order of an index or as they come.

use std::sync::Arc;

use verso_catalog::{CatalogError, IndexDef, Relation, Rewrite, TableChange, TableDef};
use verso_exec::plan::{IndexAccess, Plan, TypedExpr};

use super::Schema;
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;
use verso_parser::syntax::{Cluster, Name, QualifiedName};
use verso_planner::errors::{SqlError, sqlstate};

/// Refuses to put a table in an order that an index does not have for all of its rows.
pub(super) fn check_order(index: &IndexDef) -> Result<(), SqlError> {
    let refused = |text: String| Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    let name = &index.name;
    if index.method() != "btree" && index.method() != "gist" {
        return refused(format!(
            "cannot cluster on index \"{name}\" because access method does not support clustering"
        ));
    }
    if index.guard.is_some() {
        return refused(format!("cannot cluster on partial index \"{name}\""));
    }
    if !index.valid {
        return refused(format!("cannot cluster on invalid index \"{name}\""));
    }
    Ok(())
}

/// The index of a table with a name.
pub(super) fn index_of<'t>(table: &'t TableDef, name: &Name) -> Result<&'t Arc<IndexDef>, SqlError> {
    let found = table.all_indexes().find(|index| *index.name == *name.text);
    found.ok_or_else(|| {
        let text = format!("index \"{}\" for table \"{}\" does not exist", name.text, table.name);
        SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
    })
}

/// The index of a partition that is a part of one of the whole table, at whatever depth; of a table by itself the index itself.
fn index_of_leaf(whole: &Arc<TableDef>, index: &Arc<IndexDef>, leaf: &TableDef) -> Option<Arc<IndexDef>> {
    let tables = whole.with_partitions();
    let mut parts = vec![Arc::clone(index)];
    while let Some(part) = parts.pop() {
        if part.table == leaf.oid {
            return Some(part);
        }
        let below = tables.iter().flat_map(|table| table.all_indexes());
        parts.extend(below.filter(|other| other.part_of == Some(part.oid)).cloned());
    }
    None
}

impl Schema<'_> {
    /// CLUSTER and VACUUM FULL of one table.
    pub(super) fn cluster(&self, cluster: &Cluster) -> Result<CommandTag, Failure> {
        let word = if cluster.full { "VACUUM" } else { "CLUSTER" };
        let Some(name) = &cluster.table else {
            return Err(SqlError::internal("CLUSTER of several tables at a time").into());
        };
        let home = self.home(name);
        let table = match self.frame.catalog.relation(Some(&home), &name.name.text) {
            Some(relation @ Relation::Table(table)) if !table.is_system() => {
                self.may_maintain(relation)?;
                Arc::clone(table)
            }
            Some(Relation::Table(table)) => {
                return Err(CatalogError::SystemObject { name: table.name.to_string() }.into());
            }
            Some(other) => {
                let text = format!("\"{}\" is not a table or materialized view", other.name());
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
            }
            None => {
                let text = format!("relation \"{name}\" does not exist");
                return Err(SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(name.at().start).into());
            }
        };
        let index = match (&cluster.index, cluster.full) {
            (_, true) => None,
            (Some(index), _) => Some(index_of(&table, index)?),
            (None, _) => {
                let missing = || {
                    let text = format!("there is no previously clustered index for table \"{}\"", table.name);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                };
                Some(table.indexes.iter().find(|index| index.clustered).ok_or_else(missing)?)
            }
        };
        index.map_or(Ok(()), |index| check_order(index))?;
        if cluster.verbose {
            let what = match index {
                Some(index) => {
                    format!(
                        "clustering \"{}.{}\" using index scan on \"{}\"",
                        table.schema, table.name, index.name
                    )
                }
                None => format!("vacuuming \"{}.{}\"", table.schema, table.name),
            };
            self.frame.services.notices.tell(Notice { severity: "INFO", ..Notice::message(what) });
        }
        for leaf in table.leaves() {
            let part = super::index::named(&leaf, name);
            let order = match index {
                Some(whole) => match index_of_leaf(&table, whole, &leaf) {
                    Some(order) => Some(order),
                    None => continue,
                },
                None => None,
            };
            self.frame.inside_now(|frame| Schema { frame }.copy_anew(&part, order.as_ref()))?;
            if let Some(order) = order.filter(|order| !order.clustered) {
                let change = TableChange::ClusterOn(Some(order.oid));
                self.frame.inside_now(|frame| Schema { frame }.alter(&part, &change))?;
            }
        }
        Ok(tag(word))
    }

    /// Copies the rows of a table into a new heap, in the order of an index, and builds its indexes over that.
    pub(super) fn copy_anew(
        &self,
        name: &QualifiedName,
        order: Option<&Arc<IndexDef>>,
    ) -> Result<(), Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let rewrite = {
            let txn = &mut self.frame.txn.borrow_mut();
            catalog.begin_rewrite(txn, Some(&self.home(name)), &name.name.text, &TableChange::Anew)?
        };
        let Rewrite { old, new } = &rewrite;
        let (what, phase) = match order {
            Some(_) => ("CLUSTER", "index scanning heap"),
            None => ("VACUUM FULL", "seq scanning heap"),
        };
        let listed = self.list_copy(what, phase, &rewrite)?;
        let place = |id: u16| old.columns.iter().position(|known| known.id == id);
        let value =
            |column: &verso_catalog::ColumnDef| Some(TypedExpr::column(place(column.id)?, column.ty.clone()));
        let values: Option<Vec<TypedExpr>> = new.columns.iter().map(value).collect();
        let values = values.ok_or_else(|| SqlError::internal("a column that was not there before"))?;
        let columns: Vec<usize> = (0..old.columns.len()).collect();
        let source = match order {
            Some(index) => {
                let access = IndexAccess::all(Arc::clone(index));
                Plan::IndexScan { table: Arc::clone(old).into(), columns, access, filter: None }
            }
            None => Plan::TableScan { table: Arc::clone(old).into(), columns, filter: None },
        };
        self.insert_copied_from(new, source, values)?;
        listed.job().enter("rebuilding index", 0);
        catalog.finish_rewrite(&mut self.frame.txn.borrow_mut(), &rewrite)?;
        Ok(())
    }
}
