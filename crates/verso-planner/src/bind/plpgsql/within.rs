//! Lines of contexts for what PostgreSQL runs as a query, or computes in planning one.
//!
//! An expression without a subquery is computed by itself, and its errors have no line of their own; but what of it is
//! constant is computed when it is planned, and an error of that names the expression. The plan of a query that a loop or a
//! cursor runs is made for the values of the variables: an error of what hangs on nothing else names the query, an error of a
//! row does not.

use verso_exec::plan::{
    ExprKind, PlStatementKind, PlWithin, Statement, TypedExpr, planned_of_expression, planned_of_query,
};

use super::Body;
use super::later::is_first;
use crate::errors::SqlError;
use verso_parser::syntax::{Expr, PlStatementKind as Syntax};

impl Body<'_> {
    /// Binds a statement, and says what its errors say first ([`verso_exec::plan::PlStatement::within`]), and whether an
    /// expression of it asks a query.
    pub(super) fn told(
        &mut self,
        statement: &Syntax,
        bind: fn(&mut Self, &Syntax) -> Result<PlStatementKind, SqlError>,
    ) -> (Result<PlStatementKind, SqlError>, Vec<PlWithin>, bool) {
        let outer = (self.noted.take(), self.assigns.get());
        self.assigns.set(matches!(statement, Syntax::Assign { target, .. } if !is_first(target)));
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
        let asks = noted.iter().any(|line| line.of.is_none());
        noted.retain(|line| only_computes || line.of.is_some());
        (bound, noted, asks)
    }

    /// Notes what PostgreSQL plans of an expression, or that it runs it as a query.
    pub(super) fn note_expression(&self, expr: &Expr, bound: &TypedExpr) {
        let is_query = bound.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }));
        let constant = if is_query { Vec::new() } else { planned_of_expression(bound) };
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
        let planned = planned_of_query(plan);
        if !planned.is_empty() {
            let line = format!("SQL statement \"{text}\"").into();
            self.noted.borrow_mut().push(PlWithin { line, of: Some(planned) });
        }
    }
}
