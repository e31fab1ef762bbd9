//! The tables that a statement locks before it reads its first row.
//!
//! 1. A partitioned table that the statement names is locked before any of its partitions is. Who changes the definition does the
//!    same, so neither has a partition that the other one waits for while he waits for the table.
//! 2. A table whose rows are locked, or found by a query and then changed, is locked for that from the beginning: a lock that
//!    has to become stronger may be in another's way.
//! 3. Several are locked in the order of their numbers.

use std::cmp::Reverse;
use std::sync::Arc;

use verso_catalog::TableDef;

use super::{Plan, Statement, TypedExpr};

/// What a statement does with a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TableUse {
    /// Reads it.
    Read,
    /// Locks some of its rows.
    Lock,
    /// Changes its rows.
    Change,
}

impl Statement {
    /// The tables that it locks before it reads its first row, each once.
    #[must_use]
    pub fn locked_ahead(&self) -> Vec<(Arc<TableDef>, TableUse)> {
        let mut found = Vec::new();
        self.add_ahead(&mut found);
        in_order(found)
    }

    fn add_ahead(&self, found: &mut Vec<(Arc<TableDef>, TableUse)>) {
        if let Statement::With(with) = self {
            with.before.iter().for_each(|plan| of_plan(plan, found));
            // Statements with changes in their WITH do not nest.
            with.parts.iter().for_each(|part| part.statement.add_ahead(found));
            return;
        }
        let finds = match self {
            Statement::Query(_) | Statement::With(_) => false,
            Statement::Insert(insert) => !matches!(insert.source, Plan::Values { .. }),
            Statement::Update(update) => update.joined.is_some(),
            Statement::Delete(delete) => delete.joined.is_some(),
            Statement::Merge(_) => true,
        };
        if let Some(table) = self.changed_table().filter(|table| finds || table.partitioned.is_some()) {
            found.push((Arc::clone(table), TableUse::Change));
        }
        self.for_each_plan(&mut |plan| of_plan(plan, found));
        for expr in self.exprs_beside_plans() {
            expr.for_each_subquery(&mut |plan| of_plan(plan, found));
        }
    }

    /// The expressions of a change that stand in no plan.
    fn exprs_beside_plans(&self) -> Vec<&TypedExpr> {
        match self {
            Statement::Insert(insert) => insert.values.iter().collect(),
            Statement::Update(update) => {
                update.assignments.iter().map(|(_, value)| value).chain(&update.filter).collect()
            }
            Statement::Delete(delete) => delete.filter.iter().collect(),
            Statement::Query(_) | Statement::Merge(_) | Statement::With(_) => Vec::new(),
        }
    }
}

impl Plan {
    /// As [`Statement::locked_ahead`], of a query.
    #[must_use]
    pub fn locked_ahead(&self) -> Vec<(Arc<TableDef>, TableUse)> {
        let mut found = Vec::new();
        of_plan(self, &mut found);
        in_order(found)
    }
}

/// Each table once, for the most that is done with it.
fn in_order(mut found: Vec<(Arc<TableDef>, TableUse)>) -> Vec<(Arc<TableDef>, TableUse)> {
    found.retain(|(table, _)| !table.is_system() && !table.is_view());
    found.sort_by_key(|(table, of)| (table.oid, Reverse(*of)));
    found.dedup_by_key(|(table, _)| table.oid);
    found
}

/// Those of a query, in any order.
fn of_plan(plan: &Plan, found: &mut Vec<(Arc<TableDef>, TableUse)>) {
    plan.any(&mut |part| {
        match part {
            Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } => {
                found.extend(table.whole.as_ref().map(|whole| (Arc::clone(whole), TableUse::Read)));
            }
            Plan::LockRows { locks, .. } => {
                found.extend(locks.iter().map(|lock| (Arc::clone(&lock.table), TableUse::Lock)));
            }
            _ => {}
        }
        false
    });
}
