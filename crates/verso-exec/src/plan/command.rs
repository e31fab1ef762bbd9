//! Which statements begin a command in storage (T4): those in which functions of users or triggers run while or before something
//! is read that they may change, and those whose RETURNING has queries. Of the others everything is read before it is changed (T2).
//! A function that is not VOLATILE changes nothing by itself, but may call one that is.
//!
//! And which changes go row by row, as what functions do, or see, hangs on the rows before.

use std::sync::Arc;

use verso_catalog::{TableDef, Volatility};

use super::{Delete, ExprKind as K, Insert, Plan, RowRules, SetCall, Statement, TypedExpr, Update};

/// Functions of users that are called.
#[derive(Default)]
struct Calls {
    /// One may change something.
    changes: bool,
    /// One sees what the statement sees.
    sees: bool,
    /// Tables are read.
    reads: bool,
}

impl Calls {
    fn expr(&mut self, expr: &TypedExpr) {
        if !expr.calls_users() {
            return;
        }
        expr.any(&mut |part| {
            match &part.kind {
                K::UserCall { function, .. } => self.of(function.volatility),
                // Their functions may be of any kind.
                K::Fold { .. } | K::Domain { .. } | K::JsonPath(_) => {
                    (self.changes, self.sees) = (true, true)
                }
                _ => {}
            }
            false
        });
    }

    fn of(&mut self, volatility: Volatility) {
        match volatility {
            Volatility::Volatile => self.changes = true,
            Volatility::Stable | Volatility::Immutable => self.sees = true,
        }
    }

    fn plan(&mut self, plan: &Plan) {
        plan.any(&mut |part| {
            self.reads |=
                matches!(part, Plan::TableScan { .. } | Plan::IndexScan { .. } | Plan::CurrentRow { .. });
            if part.calls_users() {
                let mut set = |call: &SetCall| {
                    if let SetCall::User { function, .. } = call {
                        self.of(function.volatility);
                    }
                };
                match part {
                    Plan::FunctionScan { call, .. } => set(call),
                    Plan::ProjectSet { calls, .. } => calls.iter().for_each(|call| set(&call.call)),
                    Plan::Window { .. } => (self.changes, self.sees) = (true, true),
                    _ => {}
                }
                part.exprs().into_iter().for_each(|expr| self.expr(expr));
            }
            false
        });
    }
}

impl Insert {
    /// Whether it changes rows that it meets (DO UPDATE).
    fn updates(&self) -> bool {
        self.on_conflict.as_ref().is_some_and(|clause| clause.update.is_some())
    }
}

impl Statement {
    /// Whether it does not see what it changes, nor what functions and triggers do that it calls.
    #[must_use]
    pub fn begins_command(&self) -> bool {
        let parts = self.parts();
        let mut calls = Calls::default();
        parts.plans.into_iter().for_each(|plan| calls.plan(plan));
        for expr in parts.exprs {
            calls.expr(expr);
            expr.for_each_subquery(&mut |plan| calls.plan(plan));
        }
        let fires = |table: &&Arc<TableDef>| {
            !table.triggers.is_empty()
                || table.partitioned.is_some()
                    && table.with_partitions().iter().any(|part| !part.triggers.is_empty())
        };
        let fires = parts.tables.iter().any(fires);
        let is_change = !parts.tables.is_empty();
        let inserts = matches!(self, Statement::Insert(_));
        // They are asked when rows have changed; those of an INSERT are read before (T2).
        let mut returned = Calls::default();
        parts.returned.iter().for_each(|expr| expr.for_each_subquery(&mut |plan| returned.plan(plan)));
        // An UPDATE reads its own table without a plan for that; so does what meets a row.
        let meets = matches!(self, Statement::Insert(insert) if insert.updates());
        let reads = calls.reads || calls.sees || fires || meets || is_change && !inserts;
        // What others call may change something, too.
        let changes = calls.changes || calls.sees || fires || is_change && returned.reads && !inserts;
        reads && changes
    }
}

impl Plan {
    /// Whether functions of users that may change something are called anywhere in it.
    #[must_use]
    pub fn calls_volatile(&self) -> bool {
        let mut calls = Calls::default();
        calls.plan(self);
        calls.changes
    }
}

impl RowRules {
    /// Whether what is computed of a new row, and asked of it, calls functions of users that may change something, or see the rows
    /// before it: each row is to be there before the next one is looked at.
    #[must_use]
    pub fn call_volatile(&self) -> bool {
        let checks = self.checks.iter().map(|check| &check.condition);
        checks.chain(self.generated.iter().map(|generated| &generated.value)).any(TypedExpr::calls_volatile)
    }
}

impl Insert {
    /// Whether functions of users that may change something, or see the rows before, are called for each row: by what computes it,
    /// what is asked of it, and what is returned. Its rows come one by one then, each when the one before is there.
    #[must_use]
    pub fn goes_by_row(&self) -> bool {
        self.is_computed_by_row() || self.is_asked_by_row()
    }

    /// The same of what computes its rows.
    #[must_use]
    pub fn is_computed_by_row(&self) -> bool {
        self.source.calls_volatile() || self.values.iter().any(TypedExpr::calls_volatile)
    }

    /// The same of what is asked of its rows, and returned.
    #[must_use]
    pub fn is_asked_by_row(&self) -> bool {
        self.of_row_calls() || self.routes.iter().any(Insert::of_row_calls)
    }

    fn of_row_calls(&self) -> bool {
        let mut returned = self.returning.iter().flat_map(|returning| &returning.exprs);
        returned.any(TypedExpr::calls_volatile) || self.rules.call_volatile()
    }
}

impl Update {
    /// The same of rows that it has found, whatever finds them.
    #[must_use]
    pub fn goes_by_row(&self) -> bool {
        let returned = self.returning.iter().flat_map(|returning| &returning.exprs);
        let values = self.assignments.iter().map(|(_, value)| value);
        values.chain(returned).any(TypedExpr::calls_volatile) || self.rules.call_volatile()
    }
}

impl Delete {
    /// The same.
    #[must_use]
    pub fn goes_by_row(&self) -> bool {
        let mut returned = self.returning.iter().flat_map(|returning| &returning.exprs);
        returned.any(TypedExpr::calls_volatile)
    }
}

impl TypedExpr {
    /// The same of an expression that is a statement by itself, in PL/pgSQL.
    #[must_use]
    pub fn begins_command(&self) -> bool {
        let mut calls = Calls::default();
        calls.expr(self);
        self.for_each_subquery(&mut |plan| calls.plan(plan));
        calls.sees || calls.changes && calls.reads
    }

    /// Whether functions of users that may change something are called in it, or in queries within it.
    #[must_use]
    pub fn calls_volatile(&self) -> bool {
        let mut calls = Calls::default();
        calls.expr(self);
        self.for_each_subquery(&mut |plan| calls.plan(plan));
        calls.changes
    }
}
