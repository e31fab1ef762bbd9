//! Partitioned tables in statements: where new rows go, and that those of a partition belong to it.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::exec::{TriggerEvent, triggers_change_rows};
use verso_exec::plan::{Check, CheckOf, Insert, PartitionLevel, PartitionRule, Plan, Returning, TypedExpr};

use super::Binder;
use super::walk::map_columns;
use crate::errors::SqlError;

impl Binder<'_> {
    /// That rows of a partition belong to it, over full rows.
    pub(super) fn partition_rule(&self, table: &TableDef) -> Option<Box<PartitionRule>> {
        let mut levels = Vec::new();
        let mut part = table.clone();
        while let Some(of) = &part.partition_of {
            let parent = self.catalog.table_by_oid(of.parent)?;
            let partitioned = parent.partitioned.as_ref()?;
            let place = partitioned.partitions.iter().position(|one| one.oid == part.oid)?;
            let column = |id: &u16| {
                let at = table.column(&parent.columns[parent.column_with_id(*id)?].name)?;
                Some(TypedExpr::column(at, table.columns[at].seen()))
            };
            let key = partitioned.columns.iter().map(column).collect::<Option<_>>()?;
            levels.push(PartitionLevel { parent: Arc::clone(&parent), place, key });
            part = TableDef::clone(&parent);
        }
        (!levels.is_empty()).then(|| Box::new(PartitionRule { table: Arc::new(table.clone()), levels }))
    }

    /// Lets the rows of an INSERT into a partitioned table go to its partitions.
    pub(super) fn route(&self, insert: &mut Insert) -> Result<(), SqlError> {
        if insert.table.partitioned.is_none() {
            return Ok(());
        }
        if insert.on_conflict.is_some() {
            return Err(SqlError::unsupported("ON CONFLICT for a partitioned table"));
        }
        let demanded: Vec<Check> = insert
            .rules
            .checks
            .drain(..)
            .filter(|check| matches!(check.of, CheckOf::View | CheckOf::Policy))
            .collect();
        let leaves = insert.table.leaves();
        let route = |leaf: Arc<TableDef>| self.route_to(leaf, insert, &demanded);
        insert.routes = leaves.into_iter().map(route).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The INSERT into one leaf, of full rows of the statement's table.
    fn route_to(&self, leaf: Arc<TableDef>, of: &Insert, demanded: &[Check]) -> Result<Insert, SqlError> {
        let inserts = |kind: verso_catalog::TriggerKind| kind.has(verso_catalog::TriggerKind::INSERT);
        if leaf.triggers.iter().any(|trigger| inserts(trigger.kind) && !trigger.kind.is_row()) {
            let what = "INSERT into a partitioned table whose partitions have triggers for each statement";
            return Err(SqlError::unsupported(what));
        }
        let root = &of.table;
        let mut values = Vec::with_capacity(leaf.columns.len());
        for (at, column) in leaf.columns.iter().enumerate() {
            values.push(match root.column(&column.name).filter(|_| !column.is_hidden()) {
                Some(from) => TypedExpr::column(from, root.columns[from].ty.clone()),
                None => self.column_default(&leaf, at)?,
            });
        }
        let over_leaf = |expr: &TypedExpr| {
            let mut expr = expr.clone();
            map_columns(&mut expr, &mut |column| {
                let name = root.columns.get(column).map(|column| &column.name);
                name.and_then(|name| leaf.column(name)).unwrap_or(column)
            });
            expr
        };
        let mut rules = self.row_rules(&leaf)?;
        let over = |check: &Check| Check { condition: over_leaf(&check.condition), ..check.clone() };
        rules.checks.extend(demanded.iter().map(over));
        if !triggers_change_rows(&leaf, TriggerEvent::Insert) {
            // That is why they come here.
            rules.partition = None;
        }
        let returning = of.returning.as_ref().map(|returning| Returning {
            exprs: returning.exprs.iter().map(over_leaf).collect(),
            names: returning.names.clone(),
        });
        let columns = of.table.columns.iter();
        let columns = columns
            .map(|column| verso_exec::plan::OutputColumn::new(Arc::clone(&column.name), column.seen()));
        let source = Plan::External { columns: columns.collect() };
        Ok(Insert { rules, returning, ..Insert::plain(leaf, source, values) })
    }
}

/// Refuses a partitioned table where its rows cannot be worked with yet.
pub(super) fn refuse_partitioned(table: &TableDef, what: &str) -> Result<(), SqlError> {
    match table.partitioned {
        Some(_) => Err(SqlError::unsupported(format!("{what} a partitioned table"))),
        None => Ok(()),
    }
}

/// Whether two tables may have rows in common: one is the other, or a part of it.
pub(super) fn share_rows(one: &TableDef, other: &TableDef) -> bool {
    let has = |table: &TableDef, part: &TableDef| {
        table.oid == part.oid
            || table.partitioned.is_some()
                && Arc::new(table.clone()).with_partitions().iter().any(|one| one.oid == part.oid)
    };
    has(one, other) || has(other, one)
}
