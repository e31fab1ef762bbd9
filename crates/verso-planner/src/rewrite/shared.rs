//! Rule `inline`: a query of WITH that is read once becomes part of its reader; one read several times, or whose result
//! may differ each time, is computed once per statement, and so is one AS MATERIALIZED.
//!
//! Termination: each replacement removes one `Shared`, and what it puts there is walked as an input (R3). A shared plan
//! that stays is rewritten when it is first met (R4); the references make no circle, since a query of WITH can name only
//! those before it.

use std::sync::Arc;

use verso_exec::plan::{ExprKind, OutputColumn, Plan, TypedExpr};

use super::Rewriter;
use crate::errors::SqlError;
use verso_env::recursion::check;

impl Rewriter<'_> {
    /// Counts the readers of shared plans, those within expressions included.
    pub(super) fn count(&mut self, plan: &Plan) -> Result<(), SqlError> {
        check()?;
        if let Plan::Shared { plan, .. } = plan {
            let reads = self.reads.entry(Arc::as_ptr(plan)).or_default();
            *reads += 1;
            if *reads > 1 {
                return Ok(());
            }
        }
        plan.exprs().into_iter().try_for_each(|expr| self.count_in(expr))?;
        plan.inputs().into_iter().try_for_each(|input| self.count(input))
    }

    /// The same for the queries within an expression.
    pub(super) fn count_in(&mut self, expr: &TypedExpr) -> Result<(), SqlError> {
        check()?;
        if let ExprKind::Subquery { plan, .. } = &expr.kind {
            self.count(plan)?;
        }
        let mut result = Ok(());
        expr.for_each_child(&mut |child| {
            if result.is_ok() {
                result = self.count_in(child);
            }
        });
        result
    }

    /// Whether a shared plan may become part of its reader.
    pub(super) fn is_only_reader(&self, plan: &Arc<Plan>) -> bool {
        let alone = self.reads.get(&Arc::as_ptr(plan)).is_none_or(|reads| *reads == 1);
        self.rules.inline && alone && !self.repeated && !plan.is_volatile()
    }

    /// A reader of a shared plan: the plan itself where it is the only one, else the one for all of them.
    pub(super) fn reader(
        &mut self,
        plan: Arc<Plan>,
        columns: Vec<OutputColumn>,
        fence: bool,
        conditions: Vec<TypedExpr>,
    ) -> Result<Plan, SqlError> {
        if !fence && self.is_only_reader(&plan) {
            return self.push(Arc::unwrap_or_clone(plan), conditions);
        }
        let address = Arc::as_ptr(&plan);
        let rewritten = match self.shared.get(&address) {
            Some((_, rewritten)) => Arc::clone(rewritten),
            None => {
                let mut own = Plan::clone(&plan);
                let around = std::mem::replace(&mut self.repeated, false);
                self.root(&mut own)?;
                self.repeated = around;
                let own = Arc::new(own);
                if let Some(readers) = self.reads.get(&address) {
                    self.reads.insert(Arc::as_ptr(&own), *readers);
                }
                self.shared.insert(address, (plan, Arc::clone(&own)));
                own
            }
        };
        Ok(super::push::keep(Plan::Shared { plan: rewritten, columns, fence }, conditions))
    }
}
