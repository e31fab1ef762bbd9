//! Which tables statements use, and those that open queries do: cursors, portals, and loops over rows, between two of their rows.
//! Statements that run tell of theirs with their context ([`InUse`](super::context::InUse)).

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_catalog::{Oid, TableDef};
use verso_env::sync::Mutex;
use verso_types::Value;

use super::ExecContext;
use super::prune::Pruner;
use crate::context::EvalContext;
use crate::plan::{Plan, Pruning, Statement, TypedExpr};

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

/// The tables and indexes that a statement reads, and those that it changes with all parts of them. A partitioned table that is read
/// is left alone, its partitions are not, but for those that its parameters leave out.
#[derive(Debug, Default)]
pub(crate) struct StatementUses {
    /// Whatever its parameters are.
    pub always: Arc<[Oid]>,
    /// Scans of partitioned tables of which the parameters choose the partitions.
    pub chosen: Vec<ChosenParts>,
}

/// What each input of a scan of a partitioned table uses, of which the parameters of its statement choose some.
#[derive(Debug)]
pub(crate) struct ChosenParts {
    pruning: Arc<Pruning>,
    inputs: Vec<Vec<Oid>>,
}

impl ChosenParts {
    /// What is used where the parameters are those of `cx`.
    pub fn by_parameters(&self, cx: &EvalContext<'_>, used: &mut Vec<Oid>) {
        let mut kept = vec![true; self.inputs.len()];
        Pruner::new(&self.pruning).select(cx, &mut kept);
        let read = self.inputs.iter().zip(kept).filter(|(_, kept)| *kept);
        used.extend(read.flat_map(|(tables, _)| tables));
    }

    /// What may be used.
    pub fn all(&self, used: &mut Vec<Oid>) {
        used.extend(self.inputs.iter().flatten());
    }
}

impl StatementUses {
    /// Those of a statement.
    pub fn of(statement: &Statement) -> StatementUses {
        let (mut always, mut chosen) = (Vec::new(), Vec::new());
        changed_by(statement).into_iter().for_each(|table| changed_relations(table, &mut always));
        let parts = statement.parts();
        parts.plans.into_iter().for_each(|plan| chosen_of(plan, &mut always, &mut chosen));
        for expr in parts.exprs {
            expr.for_each_subquery(&mut |plan| chosen_of(plan, &mut always, &mut chosen));
        }
        always.sort_unstable();
        always.dedup();
        StatementUses { always: always.into(), chosen }
    }

    /// What is used where these are the parameters.
    pub fn by_parameters(&self, params: &[Value], cx: &ExecContext<'_>) -> Arc<[Oid]> {
        if self.chosen.is_empty() {
            return Arc::clone(&self.always);
        }
        let mut used = self.always.to_vec();
        let cx = EvalContext { params, outer: &[], ..cx.eval() };
        self.chosen.iter().for_each(|parts| parts.by_parameters(&cx, &mut used));
        used.into()
    }
}

/// What a query reads in any case, and of which parts its parameters choose.
fn chosen_of(plan: &Plan, always: &mut Vec<Oid>, chosen: &mut Vec<ChosenParts>) {
    plan.for_each_within(&mut |part| {
        if let Plan::Append { inputs, pruning: Some(pruning) } = part
            && pruning.is_by_parameters()
        {
            let tables = |input: &Plan| {
                let mut used = Vec::new();
                read_by(input, &mut used);
                used
            };
            let inputs = inputs.iter().map(tables).collect();
            chosen.push(ChosenParts { pruning: Arc::clone(pruning), inputs });
            return false;
        }
        read_by_itself(part, always);
        true
    });
}

/// The tables and indexes that a statement uses, whatever its parameters are.
#[must_use]
pub fn tables_used(statement: &Statement) -> Arc<[Oid]> {
    let StatementUses { always, chosen } = StatementUses::of(statement);
    if chosen.is_empty() {
        return always;
    }
    let mut used = always.to_vec();
    chosen.iter().for_each(|parts| parts.all(&mut used));
    used.sort_unstable();
    used.dedup();
    used.into()
}

/// The tables whose rows a statement changes.
fn changed_by(statement: &Statement) -> Vec<&Arc<TableDef>> {
    match statement {
        Statement::With(with) => {
            with.parts.iter().filter_map(|part| part.statement.changed_table()).collect()
        }
        other => other.changed_table().into_iter().collect(),
    }
}

/// The tables and indexes that the queries within an expression read, where it calls functions that may define something.
pub(crate) fn expr_uses(expr: &TypedExpr) -> Option<Arc<[Oid]>> {
    let (mut used, mut calls) = (Vec::new(), expr.calls_users());
    expr.for_each_subquery(&mut |plan| {
        calls |= plan.any(&mut |part| part.calls_users());
        read_by(plan, &mut used);
    });
    used.sort_unstable();
    used.dedup();
    (calls && !used.is_empty()).then(|| used.into())
}

/// What a statement uses of a table that it changes: all of it, and its parts.
pub(super) fn changed_relations(table: &Arc<TableDef>, used: &mut Vec<Oid>) {
    for table in table.with_partitions() {
        used.push(table.oid);
        used.extend(table.all_indexes().map(|index| index.oid));
    }
}

/// The tables and indexes that a query reads.
fn read_by(plan: &Plan, used: &mut Vec<Oid>) {
    plan.for_each_within(&mut |part| {
        read_by_itself(part, used);
        true
    });
}

/// The same of an operator, without its inputs and the queries within its expressions.
fn read_by_itself(part: &Plan, used: &mut Vec<Oid>) {
    match part {
        Plan::TableScan { table, .. } | Plan::CurrentRow { table, .. } => {
            let parts = table.with_partitions();
            used.extend(parts.iter().filter(|one| one.partitioned.is_none()).map(|one| one.oid));
        }
        Plan::IndexScan { table, access, .. } => used.extend([table.oid, access.index.oid]),
        _ => {}
    }
}
