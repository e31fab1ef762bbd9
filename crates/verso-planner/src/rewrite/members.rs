//! Rule `unnest` for queries that do not depend on the row: `a.y IN (SELECT …)` over a scan of many rows becomes a semi-join.
//!
//! As a condition it is asked row by row; a semi-join looks up a batch at a time, by several workers, and tells the scan which
//! integers there are. Joins are in their order by then, so that no index look-up is lost to it.
//!
//! M1. Only where the scan runs once: a condition's query is kept for all rounds, the right input of a join is read in each.
//! M2. Not below a LIMIT, which may need few rows, and not where policies hide rows of the table: the conditions that stay in the
//!     scan would be computed for those.
//!
//! M3. Where the query has few rows, and an index of the table finds theirs for less than the rows of the table cost, it becomes an
//!     input of the joins around the scan, each of its rows once, before they are put in order: `lines WHERE item IN (SELECT …)`
//!     is a lookup for each item.
//! M4. What changes or locks the rows that it finds reads the table alone: there the values are the range of an index.
//!
//! Termination: each step takes one query out of the filter of a scan.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{ExprKind as K, Plan, SubqueryTest, TypedExpr};

use verso_types::SqlType;

use super::graph::Graph;
use super::unnest::fixed;
use super::{Rewriter, nothing};
use crate::bind::map_columns;
use crate::estimate::{FETCH, LOOKUP, SCAN};
use verso_env::recursion::check;

/// Rows of a scan below which the condition is as good.
const MANY: f64 = 10_000.0;

impl Rewriter<'_> {
    /// Makes semi-joins of the conditions of scans.
    pub(super) fn members(&self, plan: &mut Plan) {
        if check().is_err() {
            return;
        }
        match plan {
            Plan::TableScan { .. } => self.members_of_scan(plan),
            Plan::LockRows { .. } => {}
            Plan::Limit { input, .. } if !matches!(**input, Plan::Sort { .. } | Plan::Aggregate { .. }) => {}
            _ => {
                let repeats_right = matches!(plan, Plan::Apply { .. } | Plan::Recursive { .. });
                let mut number = 0;
                plan.for_each_input_mut(&mut |input| {
                    if number == 0 || !repeats_right {
                        self.members(input);
                    }
                    number += 1;
                });
            }
        }
    }

    fn members_of_scan(&self, plan: &mut Plan) {
        let Plan::TableScan { table, columns, filter } = plan else { return };
        let hides = self.estimate.catalog.is_none_or(|catalog| !catalog.policies(table.oid).is_empty());
        if hides
            || self.estimate.table(table) < MANY
            || !filter.as_ref().is_some_and(|filter| filter.any(&mut is_member))
        {
            return;
        }
        let conditions = filter.take().map_or_else(Vec::new, TypedExpr::conjuncts);
        let pay = |condition: &TypedExpr| self.lookups_pay((&*table, &*columns), condition, &conditions);
        let looked_up: Vec<bool> = conditions.iter().map(pay).collect();
        let (mut members, mut rest) = (Vec::new(), Vec::new());
        for (condition, looked_up) in conditions.into_iter().zip(looked_up) {
            match condition {
                condition if looked_up => rest.push(read_once(condition)),
                condition if is_member(&condition) && !condition.is_volatile() => members.push(condition),
                condition => rest.push(condition),
            }
        }
        *filter = TypedExpr::conjunction(rest);
        for member in members {
            if let K::Subquery { plan: right, args, .. } = member.kind {
                let theirs = |(n, arg): (usize, TypedExpr)| {
                    let ty = arg.ty.clone();
                    (arg, TypedExpr::column(n, ty))
                };
                *plan = Plan::Semi {
                    left: Box::new(std::mem::replace(plan, nothing())),
                    right: Box::new(Plan::clone(&right)),
                    equal: args.into_iter().enumerate().map(theirs).collect(),
                    filter: None,
                    anti: false,
                };
            }
        }
    }
}

/// An IN whose query is computed once for the range of an index and for the condition (M4).
fn read_once(mut condition: TypedExpr) -> TypedExpr {
    if let K::Subquery { plan, .. } = &mut condition.kind
        && !matches!(**plan, Plan::Shared { .. })
    {
        let columns = plan.output();
        *plan = Arc::new(Plan::Shared { plan: Arc::clone(plan), columns, fence: true });
    }
    condition
}

/// How often a lookup of the members is to be cheaper than a scan: how many there are is a guess.
const GAIN: f64 = 3.0;

impl Rewriter<'_> {
    /// Whether a condition on a scan is to be an input of a join, over the scan's columns (M3); `all` are the conditions on it.
    pub(super) fn looks_members_up(
        &self,
        (table, columns): (&Arc<TableDef>, &[usize]),
        condition: &TypedExpr,
        all: &[TypedExpr],
    ) -> bool {
        let joins = !self.repeated && !self.changes && !self.locks;
        joins && self.lookups_pay((table, columns), condition, all)
    }

    /// Whether an index finds the rows of the members for less than a scan reads all rows for.
    fn lookups_pay(
        &self,
        (table, columns): (&Arc<TableDef>, &[usize]),
        condition: &TypedExpr,
        all: &[TypedExpr],
    ) -> bool {
        if !self.rules.costs || !self.rules.unnest {
            return false;
        }
        let Some((arg, right)) = member_of(condition) else { return false };
        let K::Column(column) = arg.kind else { return false };
        let hides = self.estimate.catalog.is_none_or(|catalog| !catalog.policies(table.oid).is_empty());
        let rows = self.estimate.table(table);
        if hides || rows < MANY || condition.is_volatile() {
            return false;
        }
        let Some(known) = columns.get(column).and_then(|at| table.columns.get(*at)) else { return false };
        let rest = all.iter().filter(|one| member_of(one).is_none()).cloned().collect();
        let filter = TypedExpr::conjunction(rest);
        let scan = Plan::TableScan { table: Arc::clone(table).into(), columns: columns.to_vec(), filter };
        let fixed = fixed(&scan);
        let Some(found) = self.estimate.lookup(table, &[known.id], &fixed) else { return false };
        let by_others = self.estimate.lookup(table, &fixed, &[]);
        let otherwise = by_others.map_or(f64::INFINITY, |found| found * FETCH).min(rows * SCAN);
        self.estimate.rows(right) * (LOOKUP + found * FETCH) * GAIN < otherwise
    }

    /// Makes leaves of the queries whose few rows tell which rows of a table are wanted (M3).
    pub(super) fn few_members(&self, graph: &mut Graph) {
        for condition in std::mem::take(&mut graph.conditions) {
            let joined = member_of(&condition).and_then(|(arg, right)| {
                let K::Column(column) = arg.kind else { return None };
                let leaf = &graph.leaves[graph.leaf_of(column)];
                let Plan::TableScan { table, columns, filter } = &leaf.plan else { return None };
                let mut own = condition.clone();
                map_columns(&mut own, &mut |column| column - leaf.start);
                let all = filter.clone().map_or_else(Vec::new, TypedExpr::conjuncts);
                let pays = self.looks_members_up((table, columns), &own, &all);
                pays.then(|| (arg.clone(), Plan::clone(right)))
            });
            let Some((arg, right)) = joined else {
                graph.conditions.push(condition);
                continue;
            };
            let once = graph.leaf(Plan::Distinct { input: Box::new(right) });
            if let Some(leaf) = graph.leaves.last_mut() {
                leaf.is_rewritten = true;
            }
            once.into_iter().for_each(|theirs| graph.equal(arg.clone(), theirs, self.rules.equalities));
        }
    }
}

/// The column and the query of an IN over one column of a type whose equal values are one value.
fn member_of(condition: &TypedExpr) -> Option<(&TypedExpr, &Arc<Plan>)> {
    let K::Subquery { plan, args, .. } = &condition.kind else { return None };
    let ([arg], true) = (args.as_slice(), is_member(condition)) else { return None };
    let is_plain = matches!(
        arg.ty,
        SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Uuid
            | SqlType::Date
            | SqlType::Timestamp(_)
            | SqlType::Timestamptz(_)
    );
    let output = plan.output();
    let is_alike = output.len() == 1 && output[0].ty.same_base(&arg.ty);
    (is_plain && is_alike && !plan.is_volatile()).then_some((arg, plan))
}

/// `x = ANY (ARRAY(SELECT …))` as `x IN (SELECT …)`, and `<> ALL` as NOT IN: the array is not made, and its values are looked up.
pub(super) fn of_arrays(expr: &mut TypedExpr) {
    if let K::Call { function, args } = &mut expr.kind
        && let Some(negated) = match function.operator {
            Some("= ANY") => Some(false),
            Some("<> ALL") => Some(true),
            _ => None,
        }
        && let [arg, array] = args.as_mut_slice()
        && let K::Subquery { plan, outer, test: SubqueryTest::Array, .. } = &mut array.kind
        && plan.output().first().is_some_and(|column| column.ty == arg.ty)
        && !matches!(arg.ty, SqlType::Array(_))
    {
        expr.kind = K::Subquery {
            plan: Arc::clone(plan),
            outer: std::mem::take(outer),
            test: SubqueryTest::In { negated },
            args: vec![arg.clone()],
        };
    }
    expr.for_each_child_mut(&mut of_arrays);
}

/// Whether it is an IN with a query that is the same for all rows.
fn is_member(condition: &TypedExpr) -> bool {
    matches!(&condition.kind, K::Subquery { outer, test: SubqueryTest::In { negated: false }, .. } if outer.is_empty())
}
