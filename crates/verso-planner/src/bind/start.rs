//! Queries of an INSERT that look at the table when some of its rows are there already: in RETURNING, and in DO UPDATE; what stands
//! behind a change in WITH and reads its table.
//!
//! ```text
//! RETURNING (SELECT count(*) FROM t)                     ─►  RETURNING (shared: SELECT count(*) FROM t)
//! SET b = (SELECT max(b) FROM t AS o WHERE o.a < t.a)    ─►  SET b = (SELECT max(b) FROM (shared: t) AS o WHERE o.a < t.a)
//! source                                                 ─►  source, then no row of each shared query
//! ```
//!
//! 1. They see the state at the start of the statement (rule T2): what they read of the table is computed once, with the
//!    source's rows, all of which are there before the first is inserted. A query that needs nothing of the row is computed
//!    as a whole, of others the rows of the table are kept. Whether a query yields too many rows is asked when it is used.
//! 2. What DO UPDATE asks for the only row of VALUES comes before any change: that may use the table's indexes.

use std::sync::Arc;

use verso_catalog::{Oid, TableDef};
use verso_exec::plan::{ExprKind as K, Insert, Plan, SubqueryTest, TypedExpr, With};
use verso_types::{SqlType, Value};

use crate::errors::SqlError;
use crate::rewrite::{self, Planning};

/// Lets an INSERT's queries see the state at its start. They are rewritten first, so that of what is kept conditions and
/// columns are left out that nothing asks for.
pub(super) fn read_at_start(insert: &mut Insert, planning: Planning<'_>) -> Result<(), SqlError> {
    let update = insert.on_conflict.iter_mut().filter_map(|clause| clause.update.as_mut());
    let of_update = update
        .flat_map(|update| update.assignments.iter_mut().map(|(_, value)| value).chain(&mut update.filter));
    let returning = insert.returning.iter_mut().flat_map(|returning| &mut returning.exprs);
    rewrite::expressions(of_update.chain(returning).collect(), planning)?;
    let alone = matches!(&insert.source, Plan::Values { rows, .. } if rows.len() == 1);
    let mut start = Start {
        tables: insert.table.with_partitions().iter().map(|table| table.oid).collect(),
        whole_only: alone,
        shared: Vec::new(),
        rewritten: Vec::new(),
    };
    if let Some(update) = insert.on_conflict.as_mut().and_then(|clause| clause.update.as_mut()) {
        update.assignments.iter_mut().for_each(|(_, value)| start.expression(value));
        update.filter.iter_mut().for_each(|filter| start.expression(filter));
    }
    start.whole_only = false;
    let returning = insert.returning.iter_mut().flat_map(|returning| &mut returning.exprs);
    returning.for_each(|expr| start.expression(expr));
    if start.shared.is_empty() {
        return Ok(());
    }
    let source = std::mem::replace(&mut insert.source, Plan::Append { inputs: Vec::new(), pruning: None });
    let output = source.output();
    let none_of = |plan: Arc<Plan>| {
        // It is opened, and with that computed.
        let limit = Some(TypedExpr::literal(Value::Int8(0), SqlType::Int8));
        let rows = Plan::Limit { input: Box::new(Plan::shared(plan)), limit, offset: None, ties: Vec::new() };
        Plan::Project {
            input: Box::new(rows),
            exprs: output.iter().map(|column| TypedExpr::null(column.ty.clone())).collect(),
            names: output.iter().map(|column| Arc::clone(&column.name)).collect(),
        }
    };
    let shared: Vec<Plan> = start.shared.into_iter().map(none_of).collect();
    insert.source = Plan::Append { inputs: std::iter::once(source).chain(shared).collect(), pruning: None };
    insert.spool = true;
    Ok(())
}

/// Lets all parts of a WITH with changes see the state at the start: what they read of tables that a part before them changes is
/// computed first. The statement is rewritten, but its access paths are not chosen.
pub(crate) fn before_changes(with: &mut With) {
    let mut changed: Vec<Oid> = Vec::new();
    let mut start =
        Start { tables: Vec::new(), whole_only: false, shared: Vec::new(), rewritten: Vec::new() };
    for part in &mut with.parts {
        if !changed.is_empty() {
            start.tables.clone_from(&changed);
            let (plans, exprs) = part.statement.parts_mut();
            plans.into_iter().for_each(|plan| start.rows_of(plan));
            exprs.into_iter().for_each(|expr| start.expression(expr));
        }
        let tables = part.statement.changed_table().map(|table| table.with_partitions());
        changed.extend(tables.into_iter().flatten().map(|table| table.oid));
    }
    with.before = start.shared;
}

/// Whether a plan reads the rows of a change in WITH, which is not there before the first change.
fn reads_changes(plan: &Plan) -> bool {
    plan.any(&mut |part| matches!(part, Plan::WorkTable { number, .. } if *number >= With::FIRST_NUMBER))
}

struct Start {
    tables: Vec<Oid>,
    /// Only queries that need nothing of the row.
    whole_only: bool,
    /// What is to be computed first.
    shared: Vec<Arc<Plan>>,
    /// Plans read in several places that read changes, too: as they were, and with what they read of tables computed first.
    rewritten: Vec<(Arc<Plan>, Arc<Plan>)>,
}

impl Start {
    fn expression(&mut self, expr: &mut TypedExpr) {
        if let K::Subquery { plan, outer, test, .. } = &mut expr.kind
            && self.scans(plan)
        {
            if outer.is_empty() && !reads_changes(plan) {
                // The rows that are asked for, no more.
                let limit = match test {
                    SubqueryTest::Exists => Some(1),
                    SubqueryTest::Scalar => Some(2),
                    SubqueryTest::In { .. } | SubqueryTest::Array => None,
                };
                let limit = limit.map(|rows| TypedExpr::literal(Value::Int8(rows), SqlType::Int8));
                let input = Box::new(Plan::clone(plan));
                *plan = Arc::new(self.share(match limit {
                    Some(_) => Plan::Limit { input, limit, offset: None, ties: Vec::new() },
                    None => *input,
                }));
            } else if !self.whole_only {
                self.rows_of(Arc::make_mut(plan));
            }
        }
        expr.for_each_child_mut(&mut |child| self.expression(child));
    }

    /// The rows of the table within a query that needs something of the row.
    fn rows_of(&mut self, plan: &mut Plan) {
        match plan {
            Plan::Shared { plan, .. } => {
                if !self.scans(plan) {
                    return;
                }
                if !reads_changes(plan) {
                    self.shared.push(Arc::clone(plan));
                    return;
                }
                // All readers go on reading the same one.
                let address = Arc::as_ptr(plan);
                let known = self.rewritten.iter().find(|(old, new)| {
                    std::ptr::eq(Arc::as_ptr(old), address) || std::ptr::eq(Arc::as_ptr(new), address)
                });
                let new = match known {
                    Some((_, new)) => Arc::clone(new),
                    None => {
                        let mut own = Plan::clone(plan);
                        self.rows_of(&mut own);
                        let own = Arc::new(own);
                        self.rewritten.push((Arc::clone(plan), Arc::clone(&own)));
                        own
                    }
                };
                *plan = new;
            }
            // The past is what it is, whatever the statement does.
            Plan::Past { moment, .. } => self.expression(moment),
            Plan::TableScan { table, filter, .. } if self.reads(table) => {
                let conditions = filter.take().map_or_else(Vec::new, TypedExpr::conjuncts);
                let (above, within) = conditions.into_iter().partition(|condition| {
                    condition.is_volatile()
                        || condition.any(&mut |part| match &part.kind {
                            K::Outer(_) => true,
                            K::Subquery { plan, .. } => reads_changes(plan),
                            _ => false,
                        })
                });
                *filter = TypedExpr::conjunction(within);
                let scan = std::mem::replace(plan, Plan::Append { inputs: Vec::new(), pruning: None });
                *plan = self.share(scan);
                if let Some(mut predicate) = TypedExpr::conjunction(above) {
                    self.expression(&mut predicate);
                    let input =
                        Box::new(std::mem::replace(plan, Plan::Append { inputs: Vec::new(), pruning: None }));
                    *plan = Plan::Filter { input, predicate };
                }
            }
            _ => {
                plan.for_each_expr_mut(&mut |expr| self.expression(expr));
                plan.for_each_input_mut(&mut |input| self.rows_of(input));
            }
        }
    }

    fn share(&mut self, plan: Plan) -> Plan {
        let plan = Arc::new(plan);
        self.shared.push(Arc::clone(&plan));
        Plan::shared(plan)
    }

    /// Whether some of a table's rows may be changed.
    fn reads(&self, table: &Arc<TableDef>) -> bool {
        table.with_partitions().iter().any(|table| self.tables.contains(&table.oid))
    }

    fn scans(&self, plan: &Plan) -> bool {
        plan.any(&mut |part| matches!(part, Plan::TableScan { table, .. } if self.reads(table)))
    }
}
