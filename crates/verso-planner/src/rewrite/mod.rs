//! Plans made better without a change of their answers.
//!
//! ```text
//! Filter(Join(scan a, scan b))  ─push─►  Join on a.x = b.x (scan a where …, scan b where …)
//!                               ─graph─► the same joins in another order
//!                               ─narrow─►  the scans read only columns that something uses
//! ```
//!
//! R1. A condition moves below an operator only where it then drops the same rows; one that may differ each time it is
//!     asked stays where it is.
//! R2. A plan yields the same columns in the same order before and after.
//! R3. A statement is rewritten once, from its root. Each rule consumes an operator and goes on with its inputs, which have
//!     fewer operators: this number is the measure that falls. What a rule makes anew is not looked at again.
//! R4. A plan read in several places is rewritten once and stays one; walks look into it once.
//!
//! | module | what it does |
//! |---|---|
//! | [`called`] | functions in SQL become part of the plans that call them |
//! | [`push`], [`reduce`] | conditions towards the tables; outer joins whose padded rows they drop |
//! | [`plain`] | `NOT (a <> b)` and the like say `a = b` |
//! | [`graph`] | a tree of inner joins taken apart and put together |
//! | [`order`] | which of them are joined first, and how |
//! | [`unnest`], [`members`] | queries in conditions that become joins |
//! | [`alternatives`] | semi-joins by one of several equalities |
//! | [`attach`], [`dependent`] | queries in expressions, and those that use the row for more than equalities |
//! | [`lateral`] | lateral items that only compute something become projections |
//! | [`asked_above`] | queries that only compute something for a row of a join, asked above the join |
//! | [`outer_above`] | left joins of catalogs, made above the inner joins around them |
//! | [`postpone`] | what costs much, computed above the sort of which only the first rows are wanted |
//! | [`sets`] | INTERSECT and EXCEPT as such queries |
//! | [`shared`] | queries of WITH that are read once become part of their reader |
//! | [`narrow`] | columns that nothing uses, left out |
//! | [`rules`] | rules by name, to be switched off in tests |

mod alternatives;
mod asked_above;
mod attach;
pub(crate) mod called;
mod dependent;
mod first;
mod graph;
mod lateral;
mod members;
mod narrow;
mod order;
mod outer_above;
mod plain;
mod postpone;
mod push;
mod reduce;
mod rules;
mod sets;
mod shared;
mod unnest;

use std::collections::HashMap;
use std::sync::Arc;

use verso_exec::plan::{ExprKind, Plan, SortKey, Statement, TypedExpr};
use verso_types::TimeStyle;

use crate::errors::SqlError;
use crate::estimate::Estimate;
use crate::hints::Hints;
pub(crate) use called::inlined;
pub(crate) use graph::equality;
pub(crate) use plain::plain;
pub use rules::Rules;
pub(crate) use unnest::asks_of_the_row;
use verso_env::recursion::check;

/// Rewrites a statement, the queries within its expressions included.
pub(crate) fn statement(statement: &mut Statement, planning: Planning<'_>) -> Result<(), SqlError> {
    let mut rewriter = Rewriter::new(planning);
    let finds = matches!(statement, Statement::Update(_) | Statement::Delete(_));
    let (mut plans, mut exprs) = statement.parts_mut();
    let locks = |plan: &Plan| plan.any(&mut |part| matches!(part, Plan::LockRows { .. }));
    rewriter.locks = plans.iter().any(|plan| locks(plan));
    rewriter.changes = finds && !rewriter.locks;
    rewriter.prepare(&mut plans, &mut exprs)?;
    plans.into_iter().try_for_each(|plan| rewriter.root(plan))?;
    exprs.into_iter().try_for_each(|expr| rewriter.expression(expr))
}

/// Rewrites a query that is no statement by itself.
pub(crate) fn query(plan: &mut Plan, planning: Planning<'_>) -> Result<(), SqlError> {
    let mut rewriter = Rewriter::new(planning);
    rewriter.prepare(&mut [&mut *plan], &mut [])?;
    rewriter.root(plan)
}

/// Rewrites the queries within expressions of one statement.
pub(crate) fn expressions(mut exprs: Vec<&mut TypedExpr>, planning: Planning<'_>) -> Result<(), SqlError> {
    let mut rewriter = Rewriter::new(planning);
    rewriter.prepare(&mut [], &mut exprs)?;
    exprs.into_iter().try_for_each(|expr| rewriter.expression(expr))
}

/// What is known before a statement is rewritten.
#[derive(Clone, Copy, Default)]
pub struct Planning<'s> {
    /// Which rules are on.
    pub rules: Rules,
    /// How large things are.
    pub estimate: Estimate<'s>,
    /// What comments ask for.
    pub(crate) hints: Option<&'s Hints>,
    /// For constants in the bodies of functions that become part of the plan; without it none do.
    pub time_zone: Option<&'s TimeStyle>,
}

/// What is known while one statement is rewritten.
struct Rewriter<'s> {
    rules: Rules,
    estimate: Estimate<'s>,
    hints: Option<&'s Hints>,
    /// In how many places a shared plan is read, by address.
    reads: HashMap<*const Plan, usize>,
    /// Shared plans by address: as they were, which keeps the address, and rewritten.
    shared: HashMap<*const Plan, (Arc<Plan>, Arc<Plan>)>,
    /// Within a plan that runs once for each row of another.
    repeated: bool,
    /// The rows are found for a change, which runs anew where others have changed one meanwhile: a scan that says where they are may
    /// be read a second time.
    changes: bool,
    /// It locks rows that it has found.
    locks: bool,
    /// What is wanted of the next plan.
    wanted: Wanted,
}

/// What an operator wants of its input.
#[derive(Default)]
struct Wanted {
    /// So many rows at most.
    rows: Option<f64>,
    /// In this order.
    order: Option<Vec<SortKey>>,
}

impl<'s> Rewriter<'s> {
    fn new(planning: Planning<'s>) -> Rewriter<'s> {
        let Planning { rules, estimate, hints, .. } = planning;
        Rewriter {
            rules,
            estimate,
            hints,
            reads: HashMap::new(),
            shared: HashMap::new(),
            repeated: false,
            changes: false,
            locks: false,
            wanted: Wanted::default(),
        }
    }

    /// Finds out what is read in several places, and makes the queries in expressions plain, before the first of them is rewritten.
    fn prepare(&mut self, plans: &mut [&mut Plan], exprs: &mut [&mut TypedExpr]) -> Result<(), SqlError> {
        plans.iter().try_for_each(|plan| self.count(plan))?;
        exprs.iter().try_for_each(|expr| self.count_in(expr))?;
        if self.rules.push {
            plans.iter_mut().for_each(|plan| plain::queries(plan));
            exprs.iter_mut().for_each(|expr| plain::queries_within(expr));
        }
        Ok(())
    }

    /// The plan of a query as a whole.
    fn root(&mut self, plan: &mut Plan) -> Result<(), SqlError> {
        let before = if cfg!(debug_assertions) { plan.output() } else { Vec::new() };
        if self.rules.push && self.rules.unnest {
            lateral::pulled(plan)?;
        }
        let pushed = self.push(std::mem::replace(plan, nothing()), Vec::new())?;
        *plan = pushed;
        if self.rules.narrow {
            narrow::narrow(plan, &self.reads)?;
        }
        if self.rules.unnest && !self.repeated {
            self.members(plan);
        }
        if cfg!(debug_assertions) {
            let shape = |columns: &[verso_exec::plan::OutputColumn]| {
                columns.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect::<Vec<_>>()
            };
            assert_eq!(shape(&before), shape(&plan.output()), "R2");
        }
        Ok(())
    }

    /// The queries within an expression.
    fn expression(&mut self, expr: &mut TypedExpr) -> Result<(), SqlError> {
        check()?;
        let mut result = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.expression(child);
            }
        });
        result?;
        if let ExprKind::Subquery { plan, outer, .. } = &mut expr.kind {
            let mut own = Plan::clone(plan);
            self.repeatedly(!outer.is_empty(), |rewriter| rewriter.root(&mut own))?;
            *plan = Arc::new(own);
        }
        Ok(())
    }

    /// The queries within the expressions of an operator.
    fn expressions(&mut self, plan: &mut Plan) -> Result<(), SqlError> {
        let mut result = Ok(());
        plan.for_each_expr_mut(&mut |expr| {
            if result.is_ok() {
                result = self.expression(expr);
            }
        });
        result
    }

    /// Does something to a plan that runs, if `repeated`, once for each row of another.
    fn repeatedly<T>(
        &mut self,
        repeated: bool,
        work: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        let around = self.repeated;
        self.repeated |= repeated;
        let result = work(self);
        self.repeated = around;
        result
    }
}

/// Stands in for a plan that is away.
fn nothing() -> Plan {
    Plan::Values { rows: Vec::new(), columns: Vec::new() }
}
