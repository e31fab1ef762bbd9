//! Rule `unnest`, for INTERSECT and EXCEPT: whether a row of the left side is on the right is asked as EXISTS asks it, so that it
//! becomes a join, or a look-up for each row where few are wanted.
//!
//! ```text
//! SELECT a FROM l INTERSECT SELECT b FROM r   ─►  DISTINCT (l WHERE EXISTS (r WHERE b = a))
//! SELECT a FROM l EXCEPT SELECT b FROM r      ─►  DISTINCT (l WHERE NOT EXISTS (r WHERE b = a))
//! ```
//!
//! S1. NULL is equal to nothing, but the same as another one: of each pair of columns one is never NULL.
//! S2. Where no two left rows are the same, DISTINCT goes.
//!
//! Termination: the set operation is gone; what takes its place has no other one.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{ExprKind as K, JoinKind, Plan, SetOperation, SubqueryTest, TypedExpr};
use verso_types::SqlType;

use super::Rewriter;
use super::graph::equality;
use super::push::keep;
use crate::estimate::DEPTH_MAX;

impl Rewriter<'_> {
    /// INTERSECT or EXCEPT as a filter of its left side, where NULLs let it.
    pub(super) fn filtered_by_set(&self, plan: Plan) -> Plan {
        match &plan {
            Plan::SetOperation { left, right, all: false, collators, .. }
                if !self.repeated
                    && collators.iter().all(Option::is_none)
                    && !left.is_volatile()
                    && !right.is_volatile()
                    && !right.uses_outer()
                    && !right.any(&mut |part| matches!(part, Plan::WorkTable { .. })) => {}
            _ => return plan,
        }
        let Plan::SetOperation { left, right, operation, all, collators } = plan else { return plan };
        let Some((conditions, outer)) = same_row(&left, &right) else {
            return Plan::SetOperation { left, right, operation, all, collators };
        };
        let plan = Arc::new(keep(*right, conditions));
        let asked = K::Subquery { plan, outer, test: SubqueryTest::Exists, args: Vec::new() };
        let mut condition = TypedExpr::new(asked, SqlType::Bool);
        if operation == SetOperation::Except {
            condition = TypedExpr::new(K::Not(Box::new(condition)), SqlType::Bool);
        }
        let different = are_different(&left);
        let filtered = keep(*left, vec![condition]);
        if different { filtered } else { Plan::Distinct { input: Box::new(filtered) } }
    }
}

/// What is true of a right row that is the same as a left one, and what the left one hands in. None where `=` cannot tell.
fn same_row(left: &Plan, right: &Plan) -> Option<(Vec<TypedExpr>, Vec<TypedExpr>)> {
    let (mut conditions, mut handed) = (Vec::new(), Vec::new());
    for (at, (ours, theirs)) in left.output().into_iter().zip(right.output()).enumerate() {
        if ours.ty != theirs.ty || !(is_never_null(left, at, 0) || is_never_null(right, at, 0)) {
            return None;
        }
        let function = equality(&ours.ty)?;
        let args =
            vec![TypedExpr::column(at, theirs.ty), TypedExpr::new(K::Outer(handed.len()), ours.ty.clone())];
        conditions.push(TypedExpr::new(K::Call { function, args }, SqlType::Bool));
        handed.push(TypedExpr::column(at, ours.ty));
    }
    (!conditions.is_empty()).then_some((conditions, handed))
}

/// Whether no row of a plan has NULL in a column.
fn is_never_null(plan: &Plan, column: usize, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    let below = |input: &Plan, column: usize| is_never_null(input, column, depth + 1);
    match plan {
        Plan::TableScan { table, columns, .. } => {
            columns.get(column).is_some_and(|at| *at < table.columns.len() && table.is_never_null(*at))
        }
        Plan::Project { input, exprs, .. } => {
            exprs.get(column).is_some_and(|expr| has_value(expr, &|column| below(input, column)))
        }
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::Distinct { input } => below(input, column),
        Plan::Semi { left, .. } => below(left, column),
        Plan::Join { left, right, kind: JoinKind::Inner, .. } => {
            let width = left.output().len();
            if column < width { below(left, column) } else { below(right, column - width) }
        }
        Plan::Append { inputs, .. } => inputs.iter().all(|input| below(input, column)),
        Plan::Aggregate { input, group_by, sets: None, .. } => {
            group_by.get(column).is_some_and(|key| has_value(key, &|column| below(input, column)))
        }
        _ => false,
    }
}

/// Whether an expression is never NULL, as far as its columns tell.
fn has_value(expr: &TypedExpr, column: &dyn Fn(usize) -> bool) -> bool {
    match &expr.kind {
        K::Column(at) => column(*at),
        K::Literal(value) => !value.is_null(),
        K::Cast { arg, .. } => {
            arg.ty.is_integer()
                && (expr.ty.is_integer() || matches!(expr.ty, SqlType::Numeric(None)))
                && has_value(arg, column)
        }
        _ => false,
    }
}

/// Whether no two rows of a plan are the same: the columns that it yields hold a key of the table that it reads.
fn are_different(plan: &Plan) -> bool {
    let mut columns: Vec<usize> = (0..plan.output().len()).collect();
    let mut plan = plan;
    loop {
        plan = match plan {
            Plan::Project { input, exprs, .. } => {
                columns = columns.iter().filter_map(|at| exprs.get(*at)?.as_column()).collect();
                input
            }
            Plan::Filter { input, .. } | Plan::Sort { input, .. } | Plan::Limit { input, .. } => input,
            Plan::TableScan { table, columns: read, .. } => {
                let known: Vec<usize> = columns.iter().filter_map(|at| read.get(*at).copied()).collect();
                return holds_key(table, &known);
            }
            _ => return false,
        };
    }
}

/// Whether some columns of a table hold a key that no two rows share at any time.
fn holds_key(table: &TableDef, columns: &[usize]) -> bool {
    let mut keys = table.indexes.iter().filter(|index| {
        index.unique && index.valid && !index.deferrable && index.guard.is_none() && !index.excludes()
    });
    keys.any(|index| {
        index.parts.iter().all(|part| {
            let at = table.column_with_id(part.column);
            at.is_some_and(|at| columns.contains(&at) && table.is_never_null(at))
        })
    })
}
