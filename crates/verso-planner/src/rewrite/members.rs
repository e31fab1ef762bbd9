//! Rule `unnest` for queries that do not depend on the row: `a.y IN (SELECT …)` over a scan of many rows becomes a semi-join.
//!
//! As a condition it is asked row by row; a semi-join looks up a batch at a time, by several workers, and tells the scan which
//! integers there are. Joins are in their order by then, so that no index look-up is lost to it.
//!
//! M1. Only where the scan runs once: a condition's query is kept for all rounds, the right input of a join is read in each.
//! M2. Not below a LIMIT, which may need few rows, and not where policies hide rows of the table: the conditions that stay in the
//!     scan would be computed for those.
//!
//! Termination: each step takes one query out of the filter of a scan.

use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, Plan, SubqueryTest, TypedExpr};

use verso_types::SqlType;

use super::{Rewriter, nothing};
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
        let Plan::TableScan { table, filter, .. } = plan else { return };
        let hides = self.estimate.catalog.is_none_or(|catalog| !catalog.policies(table.oid).is_empty());
        if hides
            || self.estimate.table(table) < MANY
            || !filter.as_ref().is_some_and(|filter| filter.any(&mut is_member))
        {
            return;
        }
        let conditions = filter.take().map_or_else(Vec::new, TypedExpr::conjuncts);
        let (members, rest): (Vec<_>, Vec<_>) =
            conditions.into_iter().partition(|condition| is_member(condition) && !condition.is_volatile());
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
