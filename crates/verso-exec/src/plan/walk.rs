//! Walks over plans: an operator's inputs and expressions, and questions about whole trees.

use std::collections::HashSet;
use std::sync::Arc;

use verso_storage::RecordLockMode;

use super::{AggregateCall, ExprKind, Plan, SetCall, SetColumns, TypedExpr, WindowCall};

impl Plan {
    /// The operators whose rows this one reads.
    #[must_use]
    pub fn inputs(&self) -> Vec<&Plan> {
        match self {
            Plan::Values { .. }
            | Plan::External { .. }
            | Plan::TableScan { .. }
            | Plan::IndexScan { .. }
            | Plan::CurrentRow { .. }
            | Plan::SystemScan { .. }
            | Plan::FileScan { .. }
            | Plan::FunctionScan { .. }
            | Plan::Transition { .. }
            | Plan::WorkTable { .. } => Vec::new(),
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::SortedAggregate { input, .. }
            | Plan::Window { input, .. }
            | Plan::ProjectSet { input, .. }
            | Plan::DistinctOn { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Past { input, .. }
            | Plan::Single { input }
            | Plan::Barrier { input }
            | Plan::Estimated { input, .. }
            | Plan::Distinct { input } => vec![input],
            Plan::Append { inputs, .. } => inputs.iter().collect(),
            Plan::Join { left, right, .. }
            | Plan::MergeJoin { left, right, .. }
            | Plan::Apply { left, right, .. }
            | Plan::Semi { left, right, .. }
            | Plan::SetOperation { left, right, .. } => vec![left, right],
            Plan::Shared { plan, .. } => vec![plan],
            Plan::Recursive { base, step, .. } => vec![base, step],
        }
    }

    /// Calls `visit` on the operators whose rows this one reads and owns, to change them; shared ones are left out.
    pub fn for_each_input_mut(&mut self, visit: &mut dyn FnMut(&mut Plan)) {
        match self {
            Plan::Values { .. }
            | Plan::External { .. }
            | Plan::TableScan { .. }
            | Plan::IndexScan { .. }
            | Plan::CurrentRow { .. }
            | Plan::SystemScan { .. }
            | Plan::FileScan { .. }
            | Plan::FunctionScan { .. }
            | Plan::Transition { .. }
            | Plan::WorkTable { .. }
            | Plan::Shared { .. } => {}
            Plan::Project { input, .. }
            | Plan::Filter { input, .. }
            | Plan::Aggregate { input, .. }
            | Plan::SortedAggregate { input, .. }
            | Plan::Window { input, .. }
            | Plan::ProjectSet { input, .. }
            | Plan::DistinctOn { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Past { input, .. }
            | Plan::Single { input }
            | Plan::Barrier { input }
            | Plan::Estimated { input, .. }
            | Plan::Distinct { input } => visit(input),
            Plan::Append { inputs, .. } => inputs.iter_mut().for_each(visit),
            Plan::Join { left, right, .. }
            | Plan::MergeJoin { left, right, .. }
            | Plan::Apply { left, right, .. }
            | Plan::Semi { left, right, .. }
            | Plan::SetOperation { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Plan::Recursive { base, step, .. } => {
                visit(base);
                visit(step);
            }
        }
    }

    /// The expressions of this operator, not of its inputs.
    #[must_use]
    pub fn exprs(&self) -> Vec<&TypedExpr> {
        match self {
            Plan::Values { rows, .. } => rows.iter().flatten().collect(),
            Plan::TableScan { filter, .. } => filter.iter().collect(),
            Plan::IndexScan { access, filter, .. } => access.exprs().chain(filter).collect(),
            Plan::LockRows { bound, .. } => bound.iter().collect(),
            Plan::SystemScan { args, keys, .. } => {
                args.iter().chain(keys.iter().flat_map(|(_, key)| key.exprs())).collect()
            }
            Plan::FunctionScan {
                call: SetCall::Builtin { args, .. } | SetCall::User { args, .. }, ..
            } => args.iter().collect(),
            Plan::Project { exprs, .. } => exprs.iter().collect(),
            Plan::Filter { predicate, .. } => vec![predicate],
            Plan::Past { moment, .. } => vec![moment],
            Plan::Aggregate { group_by, aggregates, .. }
            | Plan::SortedAggregate { group_by, aggregates, .. } => {
                group_by.iter().chain(aggregates.iter().flat_map(AggregateCall::exprs)).collect()
            }
            Plan::Window { partition_by, order_by, calls, until, .. } => partition_by
                .iter()
                .chain(order_by.iter().map(|key| &key.expr))
                .chain(calls.iter().flat_map(WindowCall::exprs))
                .chain(until)
                .collect(),
            Plan::ProjectSet { calls, .. } => calls.iter().flat_map(|call| call.call.args()).collect(),
            Plan::DistinctOn { keys, .. } => keys.iter().collect(),
            Plan::Sort { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
            Plan::Limit { limit, offset, ties, .. } => limit.iter().chain(offset).chain(ties).collect(),
            Plan::Join { equal, filter, .. }
            | Plan::MergeJoin { equal, filter, .. }
            | Plan::Semi { equal, filter, .. } => {
                equal.iter().flat_map(|(left, right)| [left, right]).chain(filter).collect()
            }
            Plan::Apply { outer, filter, .. } => outer.iter().chain(filter).collect(),
            Plan::Distinct { .. }
            | Plan::CurrentRow { .. }
            | Plan::Single { .. }
            | Plan::Barrier { .. }
            | Plan::Estimated { .. }
            | Plan::External { .. }
            | Plan::FileScan { .. }
            | Plan::Append { .. }
            | Plan::SetOperation { .. }
            | Plan::Shared { .. }
            | Plan::Recursive { .. }
            | Plan::Transition { .. }
            | Plan::WorkTable { .. } => Vec::new(),
        }
    }

    /// Calls `visit` on the expressions of this operator, not of its inputs, to change them.
    pub fn for_each_expr_mut(&mut self, visit: &mut dyn FnMut(&mut TypedExpr)) {
        match self {
            Plan::Values { rows, .. } => rows.iter_mut().flatten().for_each(visit),
            Plan::TableScan { filter, .. } => filter.iter_mut().for_each(visit),
            Plan::IndexScan { access, filter, .. } => {
                access.for_each_expr_mut(visit);
                filter.iter_mut().for_each(visit);
            }
            Plan::LockRows { bound, .. } => bound.iter_mut().for_each(visit),
            Plan::SystemScan { args, keys, .. } => {
                args.iter_mut().chain(keys.iter_mut().flat_map(|(_, key)| key.exprs_mut())).for_each(visit);
            }
            Plan::FunctionScan {
                call: SetCall::Builtin { args, .. } | SetCall::User { args, .. }, ..
            } => args.iter_mut().for_each(visit),
            Plan::Project { exprs, .. } => exprs.iter_mut().for_each(visit),
            Plan::Filter { predicate, .. } => visit(predicate),
            Plan::Past { moment, .. } => visit(moment),
            Plan::Aggregate { group_by, aggregates, .. }
            | Plan::SortedAggregate { group_by, aggregates, .. } => {
                group_by.iter_mut().for_each(&mut *visit);
                aggregates.iter_mut().flat_map(AggregateCall::exprs_mut).for_each(visit);
            }
            Plan::Window { partition_by, order_by, calls, until, .. } => partition_by
                .iter_mut()
                .chain(order_by.iter_mut().map(|key| &mut key.expr))
                .chain(calls.iter_mut().flat_map(WindowCall::exprs_mut))
                .chain(until)
                .for_each(visit),
            Plan::ProjectSet { calls, .. } => {
                calls.iter_mut().flat_map(|call| call.call.args_mut()).for_each(visit);
            }
            Plan::DistinctOn { keys, .. } => keys.iter_mut().for_each(visit),
            Plan::Sort { keys, .. } => keys.iter_mut().for_each(|key| visit(&mut key.expr)),
            Plan::Limit { limit, offset, ties, .. } => {
                limit.iter_mut().chain(offset).chain(ties).for_each(visit);
            }
            Plan::Join { equal, filter, .. }
            | Plan::MergeJoin { equal, filter, .. }
            | Plan::Semi { equal, filter, .. } => {
                for (left, right) in equal {
                    visit(left);
                    visit(right);
                }
                filter.iter_mut().for_each(visit);
            }
            Plan::Apply { outer, filter, .. } => outer.iter_mut().chain(filter).for_each(visit),
            Plan::Distinct { .. }
            | Plan::CurrentRow { .. }
            | Plan::Single { .. }
            | Plan::Barrier { .. }
            | Plan::Estimated { .. }
            | Plan::External { .. }
            | Plan::FileScan { .. }
            | Plan::Append { .. }
            | Plan::SetOperation { .. }
            | Plan::Shared { .. }
            | Plan::Recursive { .. }
            | Plan::Transition { .. }
            | Plan::WorkTable { .. } => {}
        }
    }

    /// Whether `test` holds for this operator, one that it reads, or one of a query within their expressions. What is read
    /// in several places is looked into once.
    pub fn any(&self, test: &mut dyn FnMut(&Plan) -> bool) -> bool {
        let (mut open, mut seen) = (vec![self], HashSet::new());
        while let Some(plan) = open.pop() {
            if test(plan) {
                return true;
            }
            if plan.is_known(&mut seen) {
                continue;
            }
            for expr in plan.exprs() {
                expr.for_each_subquery(&mut |inner| open.push(inner));
            }
            open.extend(plan.inputs());
        }
        false
    }

    /// Calls `enter` for what [`Plan::any`] tests; where it says no, not for what is within that.
    pub(crate) fn for_each_within(&self, enter: &mut dyn FnMut(&Plan) -> bool) {
        let (mut open, mut seen) = (vec![self], HashSet::new());
        while let Some(plan) = open.pop() {
            if !enter(plan) || plan.is_known(&mut seen) {
                continue;
            }
            for expr in plan.exprs() {
                expr.for_each_subquery(&mut |inner| open.push(inner));
            }
            open.extend(plan.inputs());
        }
    }

    /// Whether it reads a plan that others read too, and that has been seen.
    fn is_known(&self, seen: &mut HashSet<*const Plan>) -> bool {
        matches!(self, Plan::Shared { plan, .. } if !seen.insert(Arc::as_ptr(plan)))
    }

    /// Whether `test` holds for an expression of the whole tree, or any part of one.
    pub fn any_expr(&self, test: &mut dyn FnMut(&TypedExpr) -> bool) -> bool {
        self.any(&mut |plan| plan.exprs().into_iter().any(|expr| expr.any(test)))
    }

    /// The word for a query that locks rows itself.
    pub fn lock_word(&self) -> Option<&'static str> {
        let mut word = None;
        self.any(&mut |plan| {
            if let Plan::LockRows { locks, .. } = plan
                && let Some(lock) = locks.first()
            {
                word = Some(match lock.mode {
                    RecordLockMode::KeyShare => "SELECT FOR KEY SHARE",
                    RecordLockMode::Share => "SELECT FOR SHARE",
                    RecordLockMode::NoKeyUpdate => "SELECT FOR NO KEY UPDATE",
                    RecordLockMode::Update => "SELECT FOR UPDATE",
                });
            }
            word.is_some()
        });
        word
    }

    /// Whether running it twice may give two answers.
    #[must_use]
    pub fn is_volatile(&self) -> bool {
        self.any(&mut |part| match part {
            Plan::FunctionScan { call, .. } if call.is_volatile() => true,
            Plan::FileScan { .. } => true,
            Plan::Window { calls, .. } if calls.iter().any(|call| call.fold.is_some()) => true,
            Plan::ProjectSet { calls, .. } if calls.iter().any(|call| call.call.is_volatile()) => true,
            _ => part.exprs().into_iter().any(TypedExpr::is_volatile_by_itself), // the walk leads into its queries
        })
    }

    /// Whether functions are called anywhere in it whose order shows ([`TypedExpr::acts`]).
    #[must_use]
    pub fn acts(&self) -> bool {
        let is_users = |call: &SetCall| matches!(call, SetCall::User { .. }) && call.is_volatile();
        self.any(&mut |part| match part {
            Plan::FunctionScan { call, .. } if is_users(call) => true,
            Plan::Window { calls, .. } if calls.iter().any(|call| call.fold.is_some()) => true,
            Plan::ProjectSet { calls, .. } if calls.iter().any(|one| is_users(&one.call)) => true,
            _ => part.exprs().into_iter().any(TypedExpr::acts_by_itself), // the walk leads into its queries
        })
    }

    /// Whether this operator, which calls such functions for each row of an input, asks for these rows one by one, as what makes
    /// them calls such functions, too.
    #[must_use]
    pub fn takes_turns_with(&self, input: &Plan) -> bool {
        let calls = match self {
            Plan::Project { exprs, .. } => exprs.iter().any(TypedExpr::acts),
            Plan::Filter { predicate, .. } => predicate.acts(),
            Plan::ProjectSet { calls, .. } => calls.iter().any(|SetColumns { call, .. }| {
                matches!(call, SetCall::User { .. }) && call.is_volatile()
                    || call.args().iter().any(TypedExpr::acts)
            }),
            Plan::Apply { left, right, outer, filter, .. } => {
                // The right input is computed for each row of the left one.
                std::ptr::eq(&raw const **left, input)
                    && (right.acts() || outer.iter().chain(filter).any(TypedExpr::acts))
            }
            Plan::Aggregate { .. }
            | Plan::SortedAggregate { .. }
            | Plan::Sort { .. }
            | Plan::DistinctOn { .. }
            | Plan::Join { .. }
            | Plan::MergeJoin { .. }
            | Plan::Semi { .. } => self.exprs().into_iter().any(TypedExpr::acts),
            // The others call none for a row; a window reads ahead.
            _ => false,
        };
        calls && input.acts()
    }

    /// Whether this operator itself, not its inputs and not the queries within its expressions, calls functions of the catalog.
    #[must_use]
    pub fn calls_users(&self) -> bool {
        let is_users = |call: &SetCall| matches!(call, SetCall::User { .. });
        match self {
            Plan::FunctionScan { call, .. } if is_users(call) => true,
            Plan::ProjectSet { calls, .. } if calls.iter().any(|one| is_users(&one.call)) => true,
            Plan::Window { calls, .. } if calls.iter().any(|call| call.fold.is_some()) => true,
            _ => self.exprs().into_iter().any(TypedExpr::calls_users),
        }
    }

    /// Whether it needs values of a query around it (P5).
    #[must_use]
    pub fn uses_outer(&self) -> bool {
        let own = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, ExprKind::Outer(_)));
        let (mut open, mut seen) = (vec![self], HashSet::new());
        while let Some(plan) = open.pop() {
            if plan.exprs().into_iter().any(own) {
                return true;
            }
            match plan {
                plan if plan.is_known(&mut seen) => {}
                Plan::Apply { left, .. } => open.push(left), // the right side's are the apply's own
                other => open.extend(other.inputs()),
            }
        }
        false
    }
}
