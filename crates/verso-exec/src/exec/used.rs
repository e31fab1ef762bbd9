//! Which tables statements use, and those that open queries do: cursors, portals, and loops over rows, between two of their rows.
//! Statements that run tell of theirs with their context ([`InUse`](super::context::InUse)).

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_catalog::Oid;
use verso_env::sync::Mutex;

use crate::plan::{Plan, Statement};

/// The tables and indexes that the open queries of a session use: until a query is closed, not only until its last row.
#[derive(Clone, Debug, Default)]
pub struct UsedTables(Arc<Mutex<Uses>>);

#[derive(Debug, Default)]
struct Uses {
    open: BTreeMap<u64, Arc<[Oid]>>,
    begun: u64,
}

/// An open query uses tables as long as this is there.
#[derive(Debug)]
pub struct Use {
    of: UsedTables,
    number: u64,
}

impl UsedTables {
    /// A query that uses these is open, until what is returned is dropped.
    #[must_use]
    pub fn begin(&self, tables: &Arc<[Oid]>) -> Use {
        let mut uses = self.0.lock();
        uses.begun += 1;
        let number = uses.begun;
        if !tables.is_empty() {
            uses.open.insert(number, Arc::clone(tables));
        }
        Use { of: self.clone(), number }
    }

    /// Those of all open queries.
    #[must_use]
    pub fn all(&self) -> Vec<Oid> {
        self.0.lock().open.values().flat_map(|tables| tables.iter().copied()).collect()
    }

    /// The transaction has ended: what goes on has its rows.
    pub fn clear(&self) {
        self.0.lock().open.clear();
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.of.0.lock().open.remove(&self.number);
    }
}

/// The parts of a statement: of a WITH its changes, and what is behind them.
fn parts(statement: &Statement) -> Vec<&Statement> {
    match statement {
        Statement::With(with) => with.parts.iter().map(|part| &part.statement).collect(),
        other => vec![other],
    }
}

/// Calls `visit` on the plans of a statement, and those of queries in its expressions.
pub(super) fn each_plan(statement: &Statement, visit: &mut dyn FnMut(&Plan)) {
    for part in parts(statement) {
        part.for_each_plan(visit);
        for expr in part.exprs_beside_plans() {
            expr.for_each_subquery(&mut |plan| visit(plan));
        }
    }
}

/// The tables and indexes that a statement reads, and those that it changes with all parts of them. A partitioned table that is read
/// is left alone, its partitions are not.
#[must_use]
pub fn tables_used(statement: &Statement) -> Arc<[Oid]> {
    let mut used: Vec<Oid> = Vec::new();
    for table in parts(statement).iter().filter_map(|part| part.changed_table()) {
        for table in table.with_partitions() {
            used.push(table.oid);
            used.extend(table.all_indexes().map(|index| index.oid));
        }
    }
    each_plan(statement, &mut |plan| {
        plan.any(&mut |part| {
            match part {
                Plan::TableScan { table, .. } | Plan::CurrentRow { table, .. } => {
                    let parts = table.with_partitions();
                    used.extend(parts.iter().filter(|one| one.partitioned.is_none()).map(|one| one.oid));
                }
                Plan::IndexScan { table, access, .. } => used.extend([table.oid, access.index.oid]),
                _ => {}
            }
            false
        });
    });
    used.sort_unstable();
    used.dedup();
    used.into()
}
