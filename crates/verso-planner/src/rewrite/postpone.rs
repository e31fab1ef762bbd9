//! What costs much, computed above the sort of which only the first rows are wanted.
//!
//! ```text
//! Limit ─ Sort ─ Project x, (SELECT … of the row), f(y)   ─►  Limit ─ Project …, (SELECT … of the row), f(y) ─ Sort ─ Project x, y
//! ```
//!
//! L1. Nothing moves that the sort compares.
//! L2. A query that is cheaper to run once for all rows than for the wanted ones stays below, where it becomes a join.
//! L3. What moves is computed for the rows wanted only; so an error in another row is not met. PostgreSQL does the same.
//!
//! Termination: one pass over the operators between a limit and its sort. Source: PostgreSQL's `make_sort_input_target`.

use verso_exec::plan::{ExprKind as K, Plan, TypedExpr};
use verso_types::Value;

use super::{Rewriter, nothing};
use crate::bind::{around_sort, columns_of, map_columns};

/// What an expression may cost that is computed for all rows, in calls of built-in functions.
const COST_MAX: f32 = 10.0;
/// The part of the rows that are taken to be wanted where the limit is not known yet.
const PART: f64 = 0.1;

impl Rewriter<'_> {
    /// Moves what costs much in the rows of a limited sort above the sort.
    pub(super) fn postpone(&self, plan: &mut Plan) {
        let Plan::Limit { input, limit: Some(limit), offset, ties } = plan else { return };
        if !ties.is_empty() {
            return;
        }
        let skipped = offset.as_ref().map_or(Some(0.0), number);
        let wanted = number(limit).zip(skipped).map(|(rows, skipped)| rows + skipped);
        let mut below = &mut **input;
        while let Plan::Project { input, .. } = below {
            below = &mut **input;
        }
        let sort = below;
        let Plan::Sort { input, keys, .. } = &mut *sort else { return };
        let Plan::Project { input: rows, exprs, .. } = &mut **input else { return };
        let mut late: Vec<bool> = exprs.iter().map(|expr| self.is_costly(expr, rows, wanted)).collect();
        keys.iter().flat_map(|key| columns_of(&key.expr)).for_each(|column| late[column] = false);
        if !late.contains(&true) {
            return;
        }
        let Plan::Sort { input, mut keys, sorted } = std::mem::replace(sort, nothing()) else { return };
        let Plan::Project { input: rows, exprs, names } = *input else { return };
        let (below, above) = around_sort(exprs, &late, &rows.output());
        for key in &mut keys {
            map_columns(&mut key.expr, &mut |column| match above[column].kind {
                K::Column(at) => at,
                _ => column,
            });
        }
        let unnamed = below.iter().map(|_| "?column?".into()).collect();
        let plan = Plan::Project { input: rows, exprs: below, names: unnamed };
        let plan = Plan::Sort { input: Box::new(plan), keys, sorted };
        *sort = Plan::Project { input: Box::new(plan), exprs: above, names };
    }

    /// Whether computing an expression for all rows costs more than for those wanted (L2).
    fn is_costly(&self, expr: &TypedExpr, rows: &Plan, wanted: Option<f64>) -> bool {
        let mut cost = 0.0;
        let mut asked = false;
        expr.any(&mut |part| {
            cost += match &part.kind {
                K::Call { .. } => 1.0,
                K::UserCall { function, .. } => function.planning.cost(),
                K::Subquery { outer, .. } if !outer.is_empty() => {
                    let all = self.estimate.rows(rows);
                    let wanted = wanted.unwrap_or(all * PART).min(all);
                    asked |= !self.rules.unnest || !self.is_wanted(part, wanted);
                    0.0
                }
                _ => 0.0,
            };
            false
        });
        asked || cost > COST_MAX
    }
}

fn number(expr: &TypedExpr) -> Option<f64> {
    match expr.kind {
        K::Literal(Value::Int8(number)) => Some(number as f64),
        _ => None,
    }
}
