//! Strict functions beside a constant NULL: they are NULL, and their other arguments are not evaluated.
//!
//! N1. What of the other arguments PostgreSQL computes while it plans is computed first, errors included: calls of immutable
//!     functions with constants. Parameters may stand for constants of the text.
//! N2. What varies from row to row or with a setting is not evaluated, whatever it would raise or do.
//! N3. PostgreSQL does it after it has checked the statement: what a call was before counts where columns are asked whether
//!     they are grouped, and is kept with the context for that.

use verso_exec::functions::Volatility;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::Value;

use super::context::{Clause, Context, Inside};
use super::steady::is_steady_cast;

impl Context<'_> {
    /// The NULL that a call is, if it is one.
    pub(super) fn null_if_strict(&mut self, expr: TypedExpr) -> TypedExpr {
        let K::Call { function, args } = &expr.kind else { return expr };
        let may_go =
            |arg: &TypedExpr| matches!(arg.kind, K::Literal(_)) || varies(arg) || !computes_first(arg);
        let folds =
            function.strict && !function.returns_set() && args.iter().any(is_null) && args.iter().all(may_go);
        if !folds {
            return expr;
        }
        let null = TypedExpr::null(expr.ty.clone());
        // Within an aggregate any column may stand.
        let is_plain = matches!(self.inside, Inside::Nothing | Inside::Window);
        if is_plain && expr.any(&mut |part| matches!(part.kind, K::Column(_))) {
            match self.clause {
                // A key is what others are compared with.
                Clause::GroupBy => return expr,
                _ if self.of_grouping => return expr,
                Clause::Select | Clause::Having | Clause::OrderBy => self.nulls.push(expr),
                _ => {}
            }
        }
        null
    }
}

fn is_null(arg: &TypedExpr) -> bool {
    match &arg.kind {
        K::Literal(value) => matches!(value, Value::Null),
        K::Cast { arg, .. } => is_null(arg),
        _ => false,
    }
}

fn varies(arg: &TypedExpr) -> bool {
    arg.any(&mut |part| matches!(part.kind, K::Column(_) | K::Subquery { .. }))
}

/// N1: whether a part of it is computed in planning.
fn computes_first(arg: &TypedExpr) -> bool {
    arg.any(&mut |part| matches!(part.kind, K::Call { .. } | K::Cast { .. }) && is_constant(part))
}

fn is_constant(expr: &TypedExpr) -> bool {
    let mut all = match &expr.kind {
        K::Literal(_) | K::Parameter(_) => true,
        K::Call { function, .. } => function.volatility == Volatility::Immutable,
        K::Cast { arg, .. } => is_steady_cast(&arg.ty, &expr.ty),
        K::Column(_) | K::Outer(_) | K::Subquery { .. } | K::UserCall { .. } | K::Domain { .. } => false,
        K::JsonPath(_) | K::Fold { .. } => false,
        _ => true,
    };
    expr.for_each_child(&mut |child| all = all && is_constant(child));
    all
}
