//! Which functions of users a statement may come to call. Whether the caller may is asked when the statement starts, as in
//! PostgreSQL: also where no row comes to it.
//!
//! What constants may rule out is not looked at, as literals of the text may be parameters of the plan: branches of CASE and other
//! terms of AND and OR beside conditions without a column, what follows a first argument of COALESCE without one. These ask when
//! they call.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::FunctionDef;

use super::ExecContext;
use crate::error::Result;
use crate::plan::{ExprKind as K, Plan, Statement, TypedExpr};
use crate::plpgsql::check_right;

/// That the role may call the functions of a statement, which is only looked at.
///
/// # Errors
/// 42501.
pub fn check_rights(cx: &ExecContext<'_>, statement: &Statement) -> Result<()> {
    called(statement).iter().try_for_each(|function| check_right(cx, function))
}

/// The functions that a statement calls, each once.
pub(super) fn called(statement: &Statement) -> Vec<Arc<FunctionDef>> {
    let mut calls = Calls::default();
    match statement {
        Statement::Query(plan) => calls.plan(plan),
        Statement::Insert(insert) => {
            calls.plan(&insert.source);
            insert.values.iter().for_each(|value| calls.expr(value));
            let returning = insert.returning.iter().flat_map(|returning| &returning.exprs);
            returning.for_each(|expr| calls.expr(expr));
        }
        // They ask when they call.
        Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_) | Statement::With(_) => {}
    }
    calls.found
}

#[derive(Default)]
struct Calls {
    found: Vec<Arc<FunctionDef>>,
    seen: HashSet<*const Plan>,
}

impl Calls {
    fn plan(&mut self, plan: &Plan) {
        if verso_env::stack::check().is_err() {
            return;
        }
        if let Plan::Shared { plan, .. } = plan
            && !self.seen.insert(Arc::as_ptr(plan))
        {
            return;
        }
        plan.exprs().into_iter().for_each(|expr| self.expr(expr));
        if matches!(plan, Plan::Filter { predicate, .. } if predicate.clone().conjuncts().iter().any(is_fixed))
        {
            return;
        }
        plan.inputs().into_iter().for_each(|input| self.plan(input));
    }

    fn expr(&mut self, expr: &TypedExpr) {
        match &expr.kind {
            K::UserCall { function, .. } if !self.found.iter().any(|known| known.oid == function.oid) => {
                self.found.push(Arc::clone(function));
            }
            K::Subquery { plan, .. } => self.plan(plan),
            K::And(parts) | K::Or(parts) if parts.iter().any(is_fixed) => return,
            K::Coalesce(args) if args.first().is_some_and(is_fixed) => return,
            K::Case { branches, .. } if branches.iter().any(|(condition, _)| is_fixed(condition)) => return,
            _ => {}
        }
        expr.for_each_child(&mut |child| self.expr(child));
    }
}

/// Whether an expression is the same for all rows.
fn is_fixed(expr: &TypedExpr) -> bool {
    !expr.any(&mut |part| {
        matches!(part.kind, K::Column(_) | K::Outer(_) | K::Subquery { .. } | K::UserCall { .. })
    })
}
