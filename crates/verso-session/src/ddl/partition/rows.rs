//! Rows that are there when partitions come: none may belong elsewhere.

use std::sync::Arc;

use verso_catalog::partition::Bound;
use verso_catalog::{Partitioned, TableDef};
use verso_exec::ExecError;
use verso_exec::exec::{Sink, execute};
use verso_exec::plan::{Plan, Statement};
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;
use verso_storage::TableLockMode;
use verso_types::{Batch, SqlType, TypeError, Value};

use super::super::Schema;
use crate::failure::Failure;

/// Keys of rows, of which none may be one that a test finds.
struct Refusing<'s> {
    table: &'s TableDef,
    types: Vec<SqlType>,
    is_refused: &'s dyn Fn(&[Value]) -> Result<bool, TypeError>,
    text: String,
}

impl Sink for Refusing<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        for row in 0..batch.rows {
            if (self.is_refused)(&batch.row(row, &self.types))? {
                return Err(ExecError::of_table("23514", self.text.clone(), None, self.table));
            }
        }
        Ok(())
    }
}
impl Schema<'_> {
    /// A new partition takes rows away from the default one, which may have none of them. The table is locked, and then the default
    /// partition: nobody adds rows to it until the new one is there.
    pub(in crate::ddl) fn refuse_foreign_rows(
        &self,
        parent: &TableDef,
        partitioned: &Partitioned,
        bound: &Bound,
    ) -> Result<(), Failure> {
        let Some((_, default)) = partitioned.default_partition() else { return Ok(()) };
        if *bound == Bound::Default {
            return Ok(());
        }
        for part in default.with_partitions() {
            self.frame.tables().lock(&part, TableLockMode::AccessExclusive)?;
        }
        for leaf in default.leaves() {
            let text = format!(
                "updated partition constraint for default partition \"{}\" would be violated by some row",
                leaf.name
            );
            let goes = |key: &[Value]| partitioned.belongs(key, bound);
            self.refuse_keys((parent, partitioned), &leaf, &goes, text)?;
        }
        Ok(())
    }

    /// Refuses rows of a leaf by their keys.
    fn refuse_keys(
        &self,
        (parent, partitioned): (&TableDef, &Partitioned),
        leaf: &Arc<TableDef>,
        is_refused: &dyn Fn(&[Value]) -> Result<bool, TypeError>,
        text: String,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let exprs = binder.partition_key(parent, partitioned, leaf);
        let exprs = exprs.ok_or_else(|| SqlError::internal("a key of no column"))?;
        self.frame.tables().lock(leaf, TableLockMode::AccessExclusive)?;
        let columns = (0..leaf.columns.len()).collect();
        let scan = Plan::TableScan { table: Arc::clone(leaf).into(), columns, filter: None };
        let names = exprs.iter().map(|_| "".into()).collect();
        let scan = Statement::Query(Plan::Project { input: Box::new(scan), exprs, names });
        let types = partitioned.types.iter().map(SqlType::erased).collect();
        let mut refusing = Refusing { table: leaf, types, is_refused, text };
        self.frame.inside_now(|frame| {
            frame.with_context(&[], |cx| execute(&scan, cx, &mut refusing))?;
            Ok(())
        })
    }

    /// Refuses rows of a table that do not belong to a partition of that bound, which it is to become, or not to the whole table.
    pub(in crate::ddl) fn refuse_rows_elsewhere(
        &self,
        table: &Arc<TableDef>,
        partitioned: &Partitioned,
        bound: &Bound,
        leaf: &Arc<TableDef>,
    ) -> Result<(), Failure> {
        let text = || format!("partition constraint of relation \"{}\" is violated by some row", leaf.name);
        let elsewhere = |key: &[Value]| match bound {
            Bound::Default => partitioned.route(key).map(|place| place.is_some()),
            bound => partitioned.belongs(key, bound).map(|belongs| !belongs),
        };
        self.refuse_keys((table, partitioned), leaf, &elsewhere, text())?;
        let mut below = Arc::clone(table);
        while let Some(parent) =
            below.partition_of.as_ref().and_then(|of| self.frame.catalog.table_by_oid(of.parent))
        {
            let Some(partitioned) = &parent.partitioned else { break };
            let place = partitioned.partitions.iter().position(|one| one.oid == below.oid);
            let elsewhere = |key: &[Value]| partitioned.route(key).map(|found| found != place);
            self.refuse_keys((&parent, partitioned), leaf, &elsewhere, text())?;
            below = Arc::clone(&parent);
        }
        Ok(())
    }
}
