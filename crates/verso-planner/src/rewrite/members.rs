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

use verso_exec::plan::{ExprKind as K, Plan, SubqueryTest, TypedExpr};

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

/// Whether it is an IN with a query that is the same for all rows.
fn is_member(condition: &TypedExpr) -> bool {
    matches!(&condition.kind, K::Subquery { outer, test: SubqueryTest::In { negated: false }, .. } if outer.is_empty())
}
