//! Volatile values that two operators ask for, computed as columns below both.
//!
//! ```text
//! sum(x) OVER (ORDER BY random())     sort by column n ─► window by column n ─► over (…, random() as column n)
//! array_agg(DISTINCT random() ORDER BY random())        one column for what is taken and what it is sorted by
//! ```

use std::sync::Arc;

use verso_exec::plan::{AggregateCall, ExprKind as K, Plan, TypedExpr};

use super::walk::same;

/// Columns behind those of a plan.
pub(super) struct Computed {
    width: usize,
    exprs: Vec<TypedExpr>,
}

impl Computed {
    /// None yet.
    pub(super) fn over(plan: &Plan) -> Computed {
        Computed { width: plan.output().len(), exprs: Vec::new() }
    }

    /// As [`Computed::replace`], but an expression that is there already is not computed again: windows by the same are by one
    /// column, as in PostgreSQL.
    pub(super) fn share<'e>(
        &mut self,
        expr: &mut TypedExpr,
        others: impl Iterator<Item = &'e mut TypedExpr>,
    ) {
        match self.exprs.iter().position(|known| same(known, expr)) {
            Some(known) => expr.kind = K::Column(self.width + known),
            None => self.replace(expr, others),
        }
    }

    /// Computes an expression below, and takes it from there; so do those of `others` that are the same.
    pub(super) fn replace<'e>(
        &mut self,
        expr: &mut TypedExpr,
        others: impl Iterator<Item = &'e mut TypedExpr>,
    ) {
        let column = TypedExpr { kind: K::Column(self.width + self.exprs.len()), ..expr.clone() };
        others.filter(|other| same(other, expr)).for_each(|other| *other = column.clone());
        self.exprs.push(std::mem::replace(expr, column));
    }

    /// The plan with the columns behind its own.
    pub(super) fn below(self, plan: Plan) -> Plan {
        if self.exprs.is_empty() {
            return plan;
        }
        let own = plan.output();
        let mut names: Vec<Arc<str>> = own.iter().map(|column| Arc::clone(&column.name)).collect();
        names.resize(own.len() + self.exprs.len(), "".into());
        let columns = own.iter().enumerate().map(|(at, column)| TypedExpr::column(at, column.seen()));
        let exprs = columns.chain(self.exprs).collect();
        Plan::Project { input: Box::new(plan), exprs, names }
    }
}

/// Values of aggregates that are sorted by themselves, where they are volatile: what is sorted is what is taken. As before they
/// are computed only for rows for which the condition of their call is true.
pub(super) fn sorted_values(plan: Plan, calls: &mut [AggregateCall]) -> Plan {
    let mut computed = Computed::over(&plan);
    for call in calls {
        let AggregateCall { args, order_by, filter, .. } = call;
        for key in order_by.iter_mut().map(|key| &mut key.expr) {
            if !key.is_volatile() || !args.iter().any(|arg| same(arg, key)) {
                continue;
            }
            computed.replace(key, args.iter_mut());
            if let (Some(filter), Some(value)) = (&filter, computed.exprs.last_mut()) {
                let ty = value.ty.clone();
                let taken = std::mem::replace(value, TypedExpr::null(ty.clone()));
                let branches = vec![(filter.clone(), taken)];
                *value = TypedExpr::new(K::Case { branches, otherwise: None }, ty);
            }
        }
    }
    computed.below(plan)
}
