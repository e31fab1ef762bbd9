//! Lines of contexts for what PostgreSQL runs as a query, or computes in planning one.
//!
//! An expression without a subquery is computed by itself, and its errors have no line of their own; but what of it is
//! constant is computed when it is planned, and an error of that names the expression. The plan of a query that a loop or a
//! cursor runs is made for the values of the variables: an error of what hangs on nothing else names the query, an error of a
//! row does not.

use verso_exec::functions::Volatility;
use verso_exec::plan::{ExprKind, PlStatementKind, PlWithin, Plan, Statement, TypedExpr};

use verso_types::SqlType;

use super::Body;
use crate::errors::SqlError;
use verso_parser::syntax::{Expr, PlStatementKind as Syntax};

impl Body<'_> {
    /// Binds a statement, and says what its errors say first ([`verso_exec::plan::PlStatement::within`]).
    pub(super) fn told(
        &mut self,
        statement: &Syntax,
        bind: fn(&mut Self, &Syntax) -> Result<PlStatementKind, SqlError>,
    ) -> (Result<PlStatementKind, SqlError>, Vec<PlWithin>) {
        let outer = (self.noted.take(), self.assigns.get());
        self.assigns.set(matches!(statement, Syntax::Assign { .. }));
        let bound = bind(self, statement);
        let mut noted = self.noted.replace(outer.0);
        self.assigns.set(outer.1);
        // Others have errors of their own that are none of the expression.
        let only_computes = matches!(
            statement,
            Syntax::Assign { .. }
                | Syntax::Return(_)
                | Syntax::If { .. }
                | Syntax::While { .. }
                | Syntax::Exit { .. }
                | Syntax::Continue { .. }
        );
        noted.retain(|line| only_computes || line.of.is_some());
        (bound, noted)
    }

    /// Notes what PostgreSQL plans of an expression, or that it runs it as a query.
    pub(super) fn note_expression(&self, expr: &Expr, bound: &TypedExpr) {
        let is_query = bound.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }));
        let mut constant = Vec::new();
        if !is_query {
            gather(bound, false, &mut constant);
        }
        if !is_query && constant.is_empty() {
            return;
        }
        let Some((text, _)) = self.source.part_at(expr.at.start + 1) else { return };
        let word = if self.assigns.get() { "assignment" } else { "expression" };
        let line = format!("PL/pgSQL {word} \"{text}\"").into();
        self.noted.borrow_mut().push(PlWithin { line, of: (!is_query).then_some(constant) });
    }

    /// Notes what PostgreSQL plans of the query of a loop or a cursor.
    pub(super) fn note_query(&self, query: &Statement, text: &str) {
        let Statement::Query(plan) = query else { return };
        let mut planned = Vec::new();
        plan.any(&mut |plan: &Plan| {
            plan.exprs().into_iter().for_each(|expr| gather(expr, true, &mut planned));
            false
        });
        if !planned.is_empty() {
            let line = format!("SQL statement \"{text}\"").into();
            self.noted.borrow_mut().push(PlWithin { line, of: Some(planned) });
        }
    }
}

/// Adds the largest parts that are computed in planning.
fn gather(expr: &TypedExpr, with_variables: bool, planned: &mut Vec<TypedExpr>) {
    let computes = matches!(expr.kind, ExprKind::Call { .. } | ExprKind::Cast { .. });
    if computes && is_planned(expr, with_variables) {
        return planned.push(expr.clone());
    }
    expr.for_each_child(&mut |child| gather(child, with_variables, planned));
}

/// Whether nothing in it but constants, and variables where a plan is made for their values, decides its value.
fn is_planned(expr: &TypedExpr, with_variables: bool) -> bool {
    let mut all = match &expr.kind {
        ExprKind::Call { function, .. } => function.volatility == Volatility::Immutable,
        // Output functions of these heed settings.
        ExprKind::Cast { arg, .. } => {
            !(matches!(arg.ty, SqlType::Array(_)) || arg.ty.is_row() || arg.ty.has_times())
        }
        ExprKind::Parameter(_) => with_variables,
        ExprKind::Column(_)
        | ExprKind::Outer(_)
        | ExprKind::Subquery { .. }
        | ExprKind::UserCall { .. }
        | ExprKind::Domain { .. }
        | ExprKind::Fold { .. } => false,
        _ => true,
    };
    expr.for_each_child(&mut |child| all = all && is_planned(child, with_variables));
    all
}
