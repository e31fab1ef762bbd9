//! Queries within expressions that depend on the row, joined to the rows (rule `unnest`).
//!
//! ```text
//! SELECT a.x, (SELECT count(*) FROM b WHERE b.x = a.x) FROM a   ─►  a left join (b grouped by x), CASE for rows without a group
//! … WHERE EXISTS (… b.x = a.x …) OR EXISTS (… c.y < a.y …)      ─►  a left join (domain, true) …, the marks in their places
//! a, LATERAL (SELECT … WHERE b.x = a.x ORDER BY … LIMIT 3)      ─►  a join (the first three of each x)
//! ```
//!
//! T1. The rows keep their number, order and columns; what is joined comes behind these and is unique for what it is joined by.
//! T2. Where the row is needed for more than equalities, the query runs for the distinct values that the rows hand in
//!     ([`super::dependent`]); the rows are computed once then and read twice.
//! T3. It is done where it is cheaper than asking for each row, by what is known of tables and indexes; with the rule `costs` off
//!     wherever it can be.
//!
//! Termination: each step takes one query out of the expressions, or one `Apply`. What it becomes is rewritten as an input.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{ExprKind as K, JoinKind, Plan, RECORD_COLUMN, SubqueryTest, TypedExpr};
use verso_types::{SqlType, Value};

use super::dependent::{Domain, columns, for_all};
use super::first::first_rows;
use super::graph::is_equality;
use super::unnest::{Known, compared, fixed_within, grouped, has_outer, of_table};
use super::{Rewriter, nothing};
use crate::estimate::{BUILD, FETCH, LOOKUP, OUT, PAIR, PROBE, SCAN};

/// Steps that it takes to start a query for a row.
const START: f64 = 50.0;
/// So many times cheaper running a query once has to look: it holds in memory what asking for each row does not.
const GAIN: f64 = 2.0;

/// Rows to which queries are joined.
struct Rows {
    /// What has been put together of them.
    plan: Plan,
    /// How many of its columns are those of the rows.
    width: usize,
    /// The rows again, to read what they hand in.
    again: Again,
    /// They are found for a change.
    changes: bool,
}

/// How rows are read a second time.
enum Again {
    /// They have not been asked for twice.
    No,
    /// By the same scan.
    Scan(Box<Plan>),
    /// From where they are kept, and how many readers there are.
    Kept(Arc<Plan>, usize),
}

impl Rewriter<'_> {
    /// The rows of a plan with queries of `exprs` joined to them, their values in the place of the queries; nothing if none can be,
    /// or it does not pay.
    pub(super) fn attach(&mut self, input: &mut Plan, exprs: &mut [TypedExpr], most: Option<f64>) -> bool {
        let number = self.estimate.rows(input);
        let number = most.map_or(number, |most| most.min(number));
        let mut wanted = 0;
        for expr in exprs.iter_mut() {
            within(expr, &mut |part| wanted += usize::from(self.is_wanted(part, number)));
        }
        if wanted == 0 {
            return false;
        }
        let mut rows = Rows::of(input, self.changes);
        // What is joined first must not be computed again for the second.
        if wanted > 1 {
            rows.read_again();
        }
        let mut done = false;
        for expr in exprs.iter_mut() {
            within(expr, &mut |part| done |= self.is_wanted(part, number) && self.join(&mut rows, part));
        }
        *input = self.finished(rows);
        done
    }

    /// The rows for which a query has a row, or has none. `args` are what its first columns equal.
    pub(super) fn attach_semi(
        &mut self,
        input: &mut Plan,
        (query, outer, args): (&Plan, &[TypedExpr], &[TypedExpr]),
        anti: bool,
    ) -> bool {
        let number = self.estimate.rows(input);
        if query.is_volatile() || !self.once_is_cheaper(query, number) {
            return false;
        }
        let mut rows = Rows::of(input, self.changes);
        let behind = query.output().len();
        let found = self.for_all_of(&mut rows, unbounded(query.clone()), outer);
        let done = found.is_some();
        if let Some((right, domain)) = found {
            let mut equal = domain.keys(outer, behind);
            for (n, arg) in args.iter().enumerate() {
                equal.push((arg.clone(), TypedExpr::column(n, arg.ty.clone())));
            }
            let left = Box::new(std::mem::replace(&mut rows.plan, nothing()));
            rows.plan = Plan::Semi { left, right: Box::new(right), equal, filter: None, anti };
        }
        *input = self.finished(rows);
        done
    }

    /// A plan that runs for each row of another as a join of both.
    pub(super) fn attach_lateral(
        &mut self,
        left: &mut Plan,
        (right, outer): (&Plan, &[TypedExpr]),
        kind: JoinKind,
        filter: Option<&TypedExpr>,
    ) -> Option<Plan> {
        let number = self.estimate.rows(left);
        if outer.is_empty() || right.is_volatile() || !self.once_is_cheaper(right, number) {
            return None;
        }
        let (width, behind) = (left.output().len(), right.output().len());
        let mut rows = Rows::of(left, self.changes);
        let found = self.for_all_of(&mut rows, right.clone(), outer);
        let input = self.finished(rows);
        let Some((right, domain)) = found else {
            *left = input;
            return None;
        };
        let plan = Plan::Join {
            left: Box::new(input),
            right: Box::new(right),
            kind,
            equal: domain.keys(outer, behind),
            filter: filter.cloned(),
        };
        Some(columns(plan, 0..width + behind))
    }

    /// Whether a part of an expression is a query to be joined.
    pub(super) fn is_wanted(&self, part: &TypedExpr, rows: f64) -> bool {
        let K::Subquery { plan, outer, test, .. } = &part.kind else { return false };
        let fits = match test {
            SubqueryTest::Exists => true,
            SubqueryTest::Scalar => plan.output().len() == 1 && has_one_row(plan),
            SubqueryTest::In { .. } | SubqueryTest::Array => false,
        };
        fits && !outer.is_empty() && !part.is_volatile() && self.once_is_cheaper(plan, rows)
    }

    /// Joins a query to the rows; its value, or whether it has a row, takes its place.
    fn join(&mut self, rows: &mut Rows, part: &mut TypedExpr) -> bool {
        let K::Subquery { plan, outer, test, .. } = &part.kind else { return false };
        let at = rows.plan.output().len();
        let (right, equal, value) = if *test == SubqueryTest::Exists {
            let behind = plan.output().len();
            let Some((query, domain)) = self.for_all_of(rows, unbounded(Plan::clone(plan)), outer) else {
                return false;
            };
            let all = query.output().len();
            let own = columns(query, behind..all);
            let marked = marked(Plan::Distinct { input: Box::new(own) });
            let mark = at + all - behind;
            let there = TypedExpr::column(mark, SqlType::Bool);
            let kind = K::IsNull { arg: Box::new(there), negated: true };
            (marked, domain.keys(outer, 0), TypedExpr::new(kind, SqlType::Bool))
        } else if let Some(grouped) = grouped(plan, outer) {
            let theirs = grouped.right.output();
            let keys = grouped.keys.len();
            let pairs = grouped.keys.into_iter().enumerate();
            let equal = pairs.map(|(n, key)| (key, TypedExpr::column(n, theirs[n].ty.clone()))).collect();
            let first = TypedExpr::column(at, theirs[0].ty.clone());
            let lonely = TypedExpr::new(K::IsNull { arg: Box::new(first), negated: false }, SqlType::Bool);
            let value = TypedExpr::column(at + keys, theirs[keys].seen());
            let ty = value.ty.clone();
            let kind = K::Case { branches: vec![(lonely, grouped.empty)], otherwise: Some(Box::new(value)) };
            (grouped.right, equal, TypedExpr::new(kind, ty))
        } else {
            let Some((query, domain)) = self.for_all_of(rows, Plan::clone(plan), outer) else {
                return false;
            };
            let value = TypedExpr::column(at, query.output()[0].seen());
            (query, domain.keys(outer, 1), value)
        };
        *part = value;
        rows.plan = Plan::Join {
            left: Box::new(std::mem::replace(&mut rows.plan, nothing())),
            right: Box::new(right),
            kind: JoinKind::Left,
            equal,
            filter: None,
        };
        true
    }

    /// A query for all that the rows hand in to it (D1).
    fn for_all_of(&mut self, rows: &mut Rows, query: Plan, outer: &[TypedExpr]) -> Option<(Plan, Domain)> {
        let source = rows.read_again()?;
        let domain = Domain::new(source, outer, &query)?;
        let query = for_all(query, &domain)?;
        if let Again::Kept(_, readers) = &mut rows.again {
            *readers += 1;
        }
        self.reads.insert(Arc::as_ptr(domain.plan()), domain.reads.get());
        Some((query, domain))
    }

    fn finished(&mut self, rows: Rows) -> Plan {
        if let Again::Kept(plan, readers) = &rows.again {
            self.reads.insert(Arc::as_ptr(plan), *readers);
        }
        rows.plan
    }

    /// Whether running a query once for all rows looks cheaper than running it for each of so many (T3).
    fn once_is_cheaper(&self, query: &Plan, rows: f64) -> bool {
        if !self.rules.costs {
            return true;
        }
        let mut tables: Vec<Arc<TableDef>> = Vec::new();
        let mut known: Vec<Known> = Vec::new();
        let (mut tied, mut differs) = (false, false);
        query.any(&mut |part| {
            let mut equality = |plan: &Plan, condition: &TypedExpr| {
                if let (K::Call { args, .. }, true) = (&condition.kind, is_equality(condition)) {
                    tied |= args.iter().filter(|arg| has_outer(arg)).count() == 1;
                    known.extend(compared(plan, condition));
                } else {
                    differs |= has_outer(condition);
                }
            };
            match part {
                Plan::TableScan { table, .. } => tables.push(Arc::clone(table)),
                Plan::Filter { input, predicate } => {
                    predicate.clone().conjuncts().iter().for_each(|condition| equality(input, condition));
                }
                Plan::Join { filter: Some(filter), .. } => {
                    filter.clone().conjuncts().iter().for_each(|condition| equality(part, condition));
                }
                Plan::Values { rows, .. } => tied |= rows.iter().flatten().any(has_outer),
                _ => {}
            }
            false
        });
        if !tied || tables.is_empty() {
            return false;
        }
        let first = first_rows(query, self.estimate);
        let (mut each, mut once) = (START, rows * 2.0 * (BUILD + PROBE + OUT));
        for table in &tables {
            let columns = of_table(&known, table);
            let whole = self.estimate.table(table) * SCAN;
            let found = self.estimate.lookup(table, &columns, &fixed_within(query, table));
            let first = first.as_ref().filter(|(of, _)| of.oid == table.oid);
            let share = first.map_or(1.0, |(_, share)| *share);
            each += match found {
                Some(found) => (LOOKUP + (found * share).max(1.0) * FETCH).min(whole),
                None => whole,
            };
            once += whole + self.estimate.table(table) * (OUT + BUILD);
            // Each row meets all that equal it, before other conditions choose among them.
            if let (true, Some(found)) = (differs, found) {
                once += rows * found * (PAIR + OUT);
            }
        }
        rows * each > GAIN * once
    }
}

impl Rows {
    /// Those of a plan, which is taken out of its place.
    fn of(place: &mut Plan, changes: bool) -> Rows {
        let plan = std::mem::replace(place, nothing());
        Rows { width: plan.output().len(), plan, again: Again::No, changes }
    }

    /// The rows once more; they are kept for it where computing them is more than a scan. `None` where they may not be.
    fn read_again(&mut self) -> Option<Plan> {
        match &self.again {
            Again::Scan(plan) => return Some(Plan::clone(plan)),
            Again::Kept(plan, _) => return Some(Plan::shared(Arc::clone(plan))),
            Again::No => {}
        }
        // Something has been joined to them already, or a round of a recursion, or locks, would be asked twice.
        let places = |columns: &[usize]| !self.changes && columns.contains(&RECORD_COLUMN);
        let refused = |part: &Plan| match part {
            Plan::WorkTable { .. }
            | Plan::External { .. }
            | Plan::CurrentRow { .. }
            | Plan::LockRows { .. } => true,
            Plan::TableScan { columns, .. } | Plan::IndexScan { columns, .. } => places(columns),
            _ => false,
        };
        if self.plan.output().len() != self.width
            || self.plan.uses_outer()
            || self.plan.any(&mut |part| refused(part))
        {
            return None;
        }
        if is_scan(&self.plan) {
            self.again = Again::Scan(Box::new(self.plan.clone()));
        } else {
            let kept = Arc::new(std::mem::replace(&mut self.plan, nothing()));
            self.plan = Plan::shared(Arc::clone(&kept));
            self.again = Again::Kept(kept, 1);
        }
        self.read_again()
    }
}

/// Whether a plan only reads a table and judges its rows.
fn is_scan(plan: &Plan) -> bool {
    match plan {
        Plan::TableScan { .. } => true,
        Plan::Filter { input, predicate } => {
            let asks = predicate.any(&mut |part| matches!(part.kind, K::Subquery { .. }));
            !asks && !predicate.is_volatile() && is_scan(input)
        }
        _ => false,
    }
}

/// Calls `visit` on the queries within an expression that are asked for each row, whatever other parts say.
fn within(expr: &mut TypedExpr, visit: &mut dyn FnMut(&mut TypedExpr)) {
    match &mut expr.kind {
        K::Subquery { .. } => visit(expr),
        // Later branches, and what follows the first argument, are asked for some of the rows only.
        K::Case { .. } => {}
        K::Coalesce(args) => args.iter_mut().take(1).for_each(|arg| within(arg, visit)),
        _ => expr.for_each_child_mut(&mut |child| within(child, visit)),
    }
}

/// Whether a query never yields a second row.
fn has_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } | Plan::Filter { input, .. } | Plan::Sort { input, .. } => {
            has_one_row(input)
        }
        Plan::Aggregate { group_by, sets, .. } => group_by.is_empty() && sets.is_none(),
        Plan::Limit { limit: Some(limit), ties, .. } => {
            ties.is_empty() && matches!(limit.kind, K::Literal(Value::Int8(0 | 1)))
        }
        _ => false,
    }
}

/// A query of which only matters whether it has a row, without what bounds or orders its rows.
fn unbounded(plan: Plan) -> Plan {
    match plan {
        Plan::Limit { input, limit, offset: None, ties } => match limit.as_ref().map(|limit| &limit.kind) {
            None | Some(K::Literal(Value::Null)) => unbounded(*input),
            Some(K::Literal(Value::Int8(1..))) => unbounded(*input),
            _ => Plan::Limit { input, limit, offset: None, ties },
        },
        Plan::Sort { input, .. } => unbounded(*input),
        plan => plan,
    }
}

/// The rows with a column behind them that is true.
pub(super) fn marked(plan: Plan) -> Plan {
    let output = plan.output();
    let columns = output.iter().enumerate();
    let mut exprs: Vec<TypedExpr> =
        columns.map(|(at, column)| TypedExpr::column(at, column.seen())).collect();
    exprs.push(TypedExpr::literal(Value::Bool(true), SqlType::Bool));
    let names = output.into_iter().map(|column| column.name).chain([Arc::from("mark")]).collect();
    Plan::Project { input: Box::new(plan), exprs, names }
}
