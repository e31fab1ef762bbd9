//! Access paths: through which index a table's rows are found.
//!
//! ```text
//! WHERE ─► terms: column = value, IN, IS NULL, ranges, LIKE 'prefix%' ─► the index whose key they say most of
//!       └► OR of several columns, or more conditions than one index has ─► several indexes together
//! ORDER BY, min, max ─► an index that has the order already
//! ```
//!
//! 1. A whole unique key beats any other. Then, where the table has been analyzed, the range with the fewest rows; otherwise
//!    the longest prefix of equal columns, a range of both sides, one of one side. What finds more than one row is looked at again when it is opened: where the
//!    tree says that the range is a large part of the table, the table is read instead ([`IndexAccess::instead`]).
//! 2. A term that the range of a query says is taken out of the filter; storage compares keys again with the version it
//!    yields. UPDATE and DELETE keep it, as they look at a row anew when another transaction has changed it.
//! 3. Sort goes where the rows come in its order: behind LIMIT always, otherwise only where the range has two sides or
//!    equal columns. Then the index is used whatever its range.
//! 4. Queries within expressions are planned like others; what is read in several places is planned once and stays one.
//!
//! | module | what it is |
//! |---|---|
//! | [`terms`] | what a condition says about single columns |
//! | [`order`] | orders that an index has |
//! | [`distinct`] | aggregates of different values, as aggregates of groups |
//! | [`derived`] | expressions and conditions of indexes |
//! | [`inverted`] | what a condition looks up in an inverted index |
//! | [`together`] | several indexes, whose records are united or intersected |
//! | [`partition`] | the partitions that a scan reads |
//! | [`system`] | what a condition says about the rows of a system view |
//! | [`streams`] | groups and windows of which the first rows are wanted |

mod derived;
mod distinct;
mod inverted;
mod lookups;
mod order;
mod partition;
mod searches;
mod streams;
mod system;
mod terms;
mod together;

use std::collections::HashMap;
use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_env::recursion::{self, Refused};
use verso_exec::functions::AggregateKind;
use verso_exec::plan::{
    AggregateCall, ExprKind, IndexAccess, JoinKind, KeyMatch, Places, Plan, SortKey, Span, Statement,
    SubqueryTest, TypedExpr,
};
use verso_types::{SqlType, Value};

use crate::bind::before_changes;
use crate::errors::SqlError;
use crate::estimate::{Estimate, FETCH, LOOKUP, SCAN};
use crate::hints::Hints;
use crate::rewrite::{self, Planning};
pub(crate) use derived::condition_of;
use derived::{Derived, serving};
pub(crate) use lookups::Asked;
pub(crate) use order::has_order;
pub(crate) use searches::ranged;
use terms::{Says, Term};

/// A partial index that has a larger part of its table is not read as a whole.
const PARTIAL_MAX: f64 = 0.25;

/// Combinations of several IN lists that one access may have.
const COMBINATIONS_MAX: usize = 10_000;

/// Rewrites a bound statement and chooses its access paths.
///
/// # Errors
/// 54001 where it nests too deeply.
pub fn choose(statement: &mut Statement, planning: Planning<'_>) -> Result<(), SqlError> {
    rewrite::called::statement(statement, planning)?;
    rewrite::statement(statement, planning)?;
    if let Statement::With(with) = statement {
        before_changes(with);
    }
    let mut planner = Planner::new(planning);
    planner.statement(statement);
    planner.finish()
}

/// The same for a query that is no statement by itself.
///
/// # Errors
/// 54001 where it nests too deeply.
pub fn query(plan: &mut Plan, planning: Planning<'_>) -> Result<(), SqlError> {
    rewrite::called::query(plan, planning)?;
    rewrite::query(plan, planning)?;
    let mut planner = Planner::new(planning);
    planner.query(plan, false);
    planner.finish()
}

/// The same for the queries within an expression.
///
/// # Errors
/// 54001 where it nests too deeply.
pub fn expression(expr: &mut TypedExpr, planning: Planning<'_>) -> Result<(), SqlError> {
    rewrite::called::expressions(vec![expr], planning)?;
    rewrite::expressions(vec![expr], planning)?;
    let mut planner = Planner::new(planning);
    planner.expression(expr);
    planner.finish()
}

/// What is known while one statement is planned.
struct Planner<'s> {
    estimate: Estimate<'s>,
    hints: Option<&'s Hints>,
    /// Plans read in several places, by address: as they were, which keeps the address, and as they are now.
    shared: HashMap<*const Plan, (Arc<Plan>, Arc<Plan>)>,
    /// What nests deeper than the stack reaches is left as it is, and the statement refused.
    deep: Option<Refused>,
}

impl<'s> Planner<'s> {
    fn new(planning: Planning<'s>) -> Planner<'s> {
        Planner { estimate: planning.estimate, hints: planning.hints, shared: HashMap::new(), deep: None }
    }

    fn is_deep(&mut self) -> bool {
        self.deep = self.deep.or(recursion::check().err());
        self.deep.is_some()
    }

    fn finish(self) -> Result<(), SqlError> {
        self.deep.map_or(Ok(()), |deep| Err(deep.into()))
    }

    fn statement(&mut self, statement: &mut Statement) {
        if let Statement::With(with) = statement {
            with.before.iter_mut().for_each(|plan| self.shared(plan));
            with.parts.iter_mut().for_each(|part| self.statement(&mut part.statement));
            return;
        }
        match statement {
            Statement::Update(update) => share_members(&update.table, &mut update.filter, self.estimate),
            Statement::Delete(delete) => share_members(&delete.table, &mut delete.filter, self.estimate),
            _ => {}
        }
        let (plans, exprs) = statement.parts_mut();
        plans.into_iter().for_each(|plan| self.query(plan, false));
        self.expressions(exprs);
        match statement {
            Statement::Update(update) => {
                update.access =
                    for_change(&update.table, &update.columns, update.filter.as_ref(), self.estimate);
            }
            Statement::Delete(delete) => {
                delete.access =
                    for_change(&delete.table, &delete.columns, delete.filter.as_ref(), self.estimate);
            }
            _ => {} // the others have no scan of their own
        }
    }

    /// `limited` says that only the first rows are wanted.
    fn query(&mut self, plan: &mut Plan, limited: bool) {
        self.first_rows(plan, limited, None);
    }

    /// The same where it is known how many: `first`.
    fn first_rows(&mut self, plan: &mut Plan, limited: bool, first: Option<f64>) {
        self.planned(plan, limited, first);
        self.take_down(plan);
    }

    /// Takes down in the plan how many rows hints say that a join has: EXPLAIN does not know the hints.
    fn take_down(&self, plan: &mut Plan) {
        let Some(hints) = self.hints else { return };
        if !matches!(
            plan,
            Plan::Join { .. } | Plan::MergeJoin { .. } | Plan::Apply { .. } | Plan::Semi { .. }
        ) {
            return;
        }
        if let Some(rows) = hints.rows(plan, self.estimate.rows_without_hint(plan)) {
            let join = std::mem::replace(plan, nothing());
            *plan = Plan::Estimated { input: Box::new(join), rows };
        }
    }

    fn planned(&mut self, plan: &mut Plan, limited: bool, first: Option<f64>) {
        if self.is_deep() {
            return;
        }
        if let Plan::Filter { input, predicate } = plan
            && let Plan::SystemScan { view, columns, .. } = &**input
        {
            system::share(*view, columns, predicate);
        }
        plan.for_each_expr_mut(&mut |expr| self.expression(expr));
        if limited && matches!(plan, Plan::Aggregate { .. } | Plan::Distinct { .. }) {
            self.groups_in_order(plan, &[], first);
        }
        if !limited || first.is_some() {
            self.distinct_in_groups(plan, first.filter(|_| limited));
        }
        distinct::by_groups(plan);
        searches::of_join(plan, self.estimate, self.hints);
        if searches::of_semi(plan, self.estimate, self.hints) || lookups::of_semi(plan, self.estimate) {
            plan.for_each_expr_mut(&mut |expr| self.expression(expr));
        }
        match plan {
            Plan::TableScan { table, columns, filter } if table.partitioned.is_some() => {
                *plan = partition::parts(table, columns, filter.as_ref(), self.estimate);
                self.query(plan, limited);
            }
            Plan::TableScan { table, columns, filter } => {
                let chosen = path(table, columns, filter.as_ref(), self.estimate, self.hints);
                if let Some(hints) = self.hints {
                    let index = chosen.as_ref().map(|path| &*path.access.index.name);
                    hints.follow_scan(table.oid.0, index);
                }
                let Some(mut chosen) = chosen else { return };
                let forced = |hints: &Hints| hints.index(table.oid.0, &chosen.access.index.name).is_some();
                if !limited && self.estimate.methods.seq_scan && !self.hints.is_some_and(forced) {
                    chosen.adapt(filter.as_ref());
                }
                let (table, columns) = (table.clone(), std::mem::take(columns));
                let filter = chosen.rest(filter.take());
                *plan = Plan::IndexScan { table, columns, access: chosen.access, filter };
            }
            Plan::Limit { input, limit, offset, ties } => {
                let limited = limit.is_some();
                let bound = if ties.is_empty() { bound(limit.as_ref(), offset.as_ref()) } else { None };
                let number = |expr: &TypedExpr| match expr.kind {
                    ExprKind::Literal(Value::Int8(rows)) => Some(rows as f64),
                    _ => None,
                };
                let skipped = offset.as_ref().map_or(Some(0.0), number);
                let first =
                    limit.as_ref().and_then(number).zip(skipped).map(|(rows, skipped)| rows + skipped);
                let inner = self.below_locks(input);
                let inner = self.below_kept(inner);
                match inner {
                    Plan::Sort { input, keys, .. } => {
                        if let Some(bound) = &bound {
                            order::of_parts(input, keys, bound, self.estimate);
                        }
                        self.sort(inner, limited, first);
                    }
                    // The first row of each group: so many groups are read.
                    Plan::DistinctOn { input, keys } if matches!(**input, Plan::Sort { .. }) => {
                        keys.iter_mut().for_each(|key| self.expression(key));
                        let first = first.map(|first| first * self.group(input, keys.iter()));
                        self.sort(input, limited && first.is_some(), first);
                    }
                    _ => self.first_rows(inner, limited, first),
                }
            }
            Plan::LockRows { input, .. } => self.query(input, limited),
            Plan::Sort { .. } => self.sort(plan, false, None),
            Plan::Aggregate { input, group_by, aggregates, sets } => {
                if group_by.is_empty() && sets.is_none() {
                    if let Some(apart) = extremes(input, aggregates, self.estimate, self.hints) {
                        *plan = apart;
                        return;
                    }
                    extreme(input, aggregates, self.estimate, self.hints);
                }
                self.query(input, false);
            }
            Plan::Filter { input, predicate } => {
                if let Plan::SystemScan { view, columns, keys, .. } = &mut **input {
                    *keys = system::keys(*view, columns, predicate);
                }
                let ends = streams::end_window(input, predicate.clone().conjuncts());
                let first = first.map(|first| {
                    first / self.estimate.selectivity(predicate, input).clamp(f64::MIN_POSITIVE, 1.0)
                });
                let first = ends.map_or(first, |ends| Some(first.map_or(ends, |first| first.min(ends))));
                self.first_rows(input, limited || ends.is_some(), first);
            }
            Plan::Project { input, .. } => self.first_rows(input, limited, first),
            Plan::Window { input, partition_by, calls, .. } => {
                let (some, needed) = self.needed_by_window((input, partition_by, calls), first);
                match &**input {
                    Plan::Sort { .. } => self.sort(input, limited && some, needed),
                    _ => self.first_rows(input, limited && some, needed),
                }
            }
            Plan::Append { inputs, .. } => inputs.iter_mut().for_each(|input| self.query(input, limited)),
            Plan::Apply { left, right, .. } => {
                self.query(left, false);
                // Opened for each row: whether an index pays is not asked each time.
                self.query(right, true);
            }
            Plan::Shared { plan, .. } => self.shared(plan),
            Plan::Join { left, right, .. } => {
                self.query(left, false);
                self.query(right, false);
                lookups::of_join(plan, self.estimate);
            }
            other => other.for_each_input_mut(&mut |input| self.query(input, false)),
        }
    }

    /// A sort: nothing where an index has the order, one of groups where it has that of the first keys.
    fn sort(&mut self, plan: &mut Plan, limited: bool, first: Option<f64>) {
        let Plan::Sort { input, keys, sorted } = plan else { return };
        if *sorted > 0 && *sorted == keys.len() {
            // `order::by_index` has put it there.
            self.query(input, false);
            if !order::may_be_lost(input) {
                *plan = std::mem::replace(&mut **input, nothing());
            }
            return;
        }
        keys.iter_mut().for_each(|key| self.expression(&mut key.expr));
        // What a window has sorted already is not sorted again.
        let windowed =
            (1..=keys.len()).rev().find(|part| streams::is_in_order_of_window(input, &keys[..*part]));
        if let Some(part) = windowed {
            *sorted = part;
            let is_whole = part == keys.len();
            self.first_rows(input, limited, first);
            if is_whole {
                *plan = std::mem::replace(&mut **input, nothing());
            }
            return;
        }
        let whole = limited
            && (self.groups_in_order(input, keys, first)
                || order::by_index(input, keys, first, self.estimate, self.hints));
        let mut part = 0;
        if let Some(first) = first.filter(|_| limited && !whole) {
            part = (1..keys.len()).rev().find(|part| self.by_part(input, &keys[..*part], first)).unwrap_or(0);
        }
        self.query(input, false);
        if whole || order::is_in(input, keys, self.estimate) {
            *plan = std::mem::replace(&mut **input, nothing());
            return;
        }
        let is_in = |part: &usize| order::is_in_already(input, &keys[..*part], self.estimate);
        *sorted = if part > 0 { part } else { (1..keys.len()).rev().find(is_in).unwrap_or(0) };
    }

    /// Makes rows come in the order of the first keys of a sort by an index, where the groups that have to be read for the first rows are few.
    fn by_part(&self, input: &mut Plan, keys: &[SortKey], first: f64) -> bool {
        let read = first + self.group(input, keys.iter().map(|key| &key.expr));
        order::few_are_enough(input, Some(read), true, self.estimate)
            && order::by_index(input, keys, Some(read), self.estimate, self.hints)
    }

    /// How many rows of a plan agree in these keys.
    fn group<'e>(&self, plan: &Plan, keys: impl Iterator<Item = &'e TypedExpr>) -> f64 {
        let rows = self.estimate.rows(plan);
        rows / keys.map(|key| self.estimate.values(key, plan)).product::<f64>().clamp(1.0, rows.max(1.0))
    }

    /// The plan below projections and locks, if there are locks: they change neither rows nor order.
    fn below_locks<'p>(&mut self, plan: &'p mut Plan) -> &'p mut Plan {
        let locks = match &*plan {
            Plan::Project { input, .. } => matches!(**input, Plan::LockRows { .. }),
            Plan::LockRows { .. } => true,
            _ => false,
        };
        if !locks {
            return plan;
        }
        plan.for_each_expr_mut(&mut |expr| self.expression(expr));
        match plan {
            Plan::Project { input, .. } | Plan::LockRows { input, .. } => self.below_locks(input),
            other => other,
        }
    }

    /// The sort below a projection that leaves out what only the order needs.
    fn below_kept<'p>(&mut self, plan: &'p mut Plan) -> &'p mut Plan {
        if !over_sort(plan) {
            return plan;
        }
        plan.for_each_expr_mut(&mut |expr| self.expression(expr));
        match plan {
            Plan::Project { input, .. } => self.below_kept(input),
            other => other,
        }
    }

    /// A plan that others read too: all of them go on reading the same one.
    fn shared(&mut self, plan: &mut Arc<Plan>) {
        let address = Arc::as_ptr(plan);
        let planned = match self.shared.get(&address) {
            Some((_, planned)) => Arc::clone(planned),
            None => {
                let mut own = Plan::clone(plan);
                self.query(&mut own, false);
                let own = Arc::new(own);
                // What is planned already may be met again.
                self.shared.insert(Arc::as_ptr(&own), (Arc::clone(&own), Arc::clone(&own)));
                self.shared.insert(address, (Arc::clone(plan), Arc::clone(&own)));
                own
            }
        };
        *plan = planned;
    }

    fn expression(&mut self, expr: &mut TypedExpr) {
        if self.is_deep() {
            return;
        }
        expr.for_each_child_mut(&mut |child| self.expression(child));
        if let ExprKind::Subquery { plan, test, .. } = &mut expr.kind {
            let mut own = Plan::clone(plan);
            self.query(&mut own, *test == SubqueryTest::Exists);
            *plan = Arc::new(own);
        }
    }

    fn expressions<'e>(&mut self, exprs: impl IntoIterator<Item = &'e mut TypedExpr>) {
        exprs.into_iter().for_each(|expr| self.expression(expr));
    }
}

/// The access path that a scan with this filter would take.
pub(crate) fn found(
    table: &TableDef,
    columns: &[usize],
    filter: &TypedExpr,
    estimate: Estimate<'_>,
) -> Option<IndexAccess> {
    path(table, columns, Some(filter), estimate, None).map(|path| path.access)
}

/// Lets a change look up the few rows that `id IN (SELECT … LIMIT n)` names: the query is shared by the condition, which is asked of
/// each row again, and the access that finds them, so that it is computed once.
fn share_members(table: &TableDef, filter: &mut Option<TypedExpr>, estimate: Estimate<'_>) {
    let few = |plan: &Plan| estimate.rows(plan) * (LOOKUP + FETCH) < estimate.table(table) * SCAN;
    let share = |conjunct: &mut TypedExpr| {
        if let ExprKind::Subquery { plan, outer, test: SubqueryTest::In { negated: false }, args } =
            &mut conjunct.kind
            && outer.is_empty()
            && matches!(args.as_slice(), [TypedExpr { kind: ExprKind::Column(_), .. }])
            && few(plan)
        {
            *plan = Arc::new(Plan::shared(Arc::clone(plan)));
        }
    };
    match filter {
        Some(TypedExpr { kind: ExprKind::And(parts), .. }) => parts.iter_mut().for_each(share),
        Some(one) => share(one),
        None => {}
    }
}

/// The access path of a change.
fn for_change(
    table: &TableDef,
    columns: &[usize],
    filter: Option<&TypedExpr>,
    estimate: Estimate<'_>,
) -> Option<IndexAccess> {
    let mut chosen = path(table, columns, filter, estimate, None)?;
    chosen.adapt(filter);
    Some(chosen.access)
}

/// How many rows of a sort a LIMIT above it reads, if that can be said without asking a query.
fn bound(limit: Option<&TypedExpr>, offset: Option<&TypedExpr>) -> Option<TypedExpr> {
    let asks = |part: &TypedExpr| matches!(part.kind, ExprKind::Subquery { .. });
    let limit = limit.filter(|limit| !limit.any(&mut |part| asks(part)))?;
    match (&limit.kind, offset.map(|offset| &offset.kind)) {
        (_, None) => Some(limit.clone()),
        (ExprKind::Literal(Value::Int8(limit)), Some(ExprKind::Literal(Value::Int8(offset)))) => {
            Some(TypedExpr::literal(Value::Int8(limit.checked_add(*offset)?), SqlType::Int8))
        }
        _ => None,
    }
}

fn nothing() -> Plan {
    Plan::Values { rows: Vec::new(), columns: Vec::new() }
}

/// An access path and the terms that it fulfils.
struct Path {
    access: IndexAccess,
    /// Numbers of the conjuncts said by it.
    said: Vec<usize>,
}

impl Path {
    /// What is left of the filter.
    fn rest(&self, filter: Option<TypedExpr>) -> Option<TypedExpr> {
        let left = filter?
            .conjuncts()
            .into_iter()
            .enumerate()
            .filter(|(n, _)| !self.said.contains(n))
            .map(|(_, conjunct)| conjunct);
        TypedExpr::conjunction(left.collect())
    }

    /// Leaves the choice to the moment when it is opened, unless it finds one row at most.
    fn adapt(&mut self, filter: Option<&TypedExpr>) {
        // How large a part of a partial index a range is says nothing about the table.
        if self.access.is_point() || self.access.index.guard.is_some() || self.access.finds_candidates() {
            return;
        }
        let Some(filter) = filter else { return };
        let conjuncts = filter.clone().conjuncts().into_iter().enumerate();
        let said = conjuncts.filter(|(n, _)| self.said.contains(n)).map(|(_, conjunct)| conjunct);
        let condition = TypedExpr::conjunction(said.collect());
        let all = || TypedExpr::literal(Value::Bool(true), SqlType::Bool);
        self.access.instead = Some(Box::new(condition.unwrap_or_else(all)));
    }

    /// How much better than others: a whole unique key, equal columns, sides of a range, fewer rows than the table has.
    fn rank(&self) -> (bool, usize, usize, bool) {
        let open = |span: &Span| !matches!(span.bounds(), (Some(_), Some(_)));
        let sides = match self.access.spans.as_slice() {
            [] => usize::from(self.access.lower.is_some()) + usize::from(self.access.upper.is_some()),
            spans => 2 - usize::from(spans.iter().any(open)),
        };
        (self.access.is_point(), self.access.equals.len(), sides, self.access.index.guard.is_some())
    }
}

/// The best access path for a filter over `columns` of a table, if one is worth it: by one index, or by several together.
fn path(
    table: &TableDef,
    columns: &[usize],
    filter: Option<&TypedExpr>,
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> Option<Path> {
    if Places::of(columns, filter?).is_some_and(|(places, _)| places.is_listed()) {
        // Nothing finds a row faster than its place does.
        return None;
    }
    let alone = by_one(table, columns, filter, estimate, hints);
    if !estimate.methods.bitmap_scan {
        return alone;
    }
    let planning = together::Choice { table, columns, estimate, hints };
    planning.of(filter?, alone.as_ref()).or(alone)
}

/// The best index alone: where the table has been analyzed the one that finds the fewest rows, otherwise the one that the filter
/// says most of.
fn by_one(
    table: &TableDef,
    columns: &[usize],
    filter: Option<&TypedExpr>,
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> Option<Path> {
    let derived = Derived::of(table, estimate);
    let terms = terms::of(table, columns, filter?, &derived);
    let known = estimate.is_known(table);
    let usable = |index: &&Arc<IndexDef>| may_use(hints, table, index, estimate);
    // A partial index has few rows, also where nothing is said of its key.
    let pays = |path: &Path| match path.access.index.guard {
        None => path.rank() >= (false, 0, 1, false),
        Some(_) => !known || estimate.access(table, &path.access) < PARTIAL_MAX * estimate.table(table),
    };
    let usable = serving(table, &derived, columns, filter).filter(usable);
    let paths = usable.map(|index| through(index, &terms)).filter(pays);
    let better = |one: &Path, other: &Path| {
        let rows = |path: &Path| estimate.access(table, &path.access);
        match (one.rank().0 == other.rank().0, known) {
            (true, true) => rows(one) < rows(other),
            _ => one.rank() > other.rank(),
        }
    };
    // Of equals the oldest: max_by_key would take the last.
    let ordered = paths.fold(None, |best: Option<Path>, path| match best {
        Some(best) if !better(&path, &best) => Some(best),
        _ => Some(path),
    });
    let usable = |index: &Arc<IndexDef>| may_use(hints, table, index, estimate);
    let inverted =
        estimate.methods.bitmap_scan.then(|| inverted::access(table, columns, filter?, &derived, &usable));
    let Some(access) = inverted.flatten() else { return ordered };
    let inverted = Path { access, said: Vec::new() };
    let is_better = |path: &Path| match known {
        _ if path.access.is_point() => true,
        true => estimate.access(table, &path.access) <= estimate.access(table, &inverted.access),
        // Nothing is known of how many rows a range has.
        false => !path.access.equals.is_empty(),
    };
    ordered.filter(is_better).or(Some(inverted))
}

/// Whether an index may be used: hints come before what the session has switched off.
fn may_use(hints: Option<&Hints>, table: &TableDef, index: &IndexDef, estimate: Estimate<'_>) -> bool {
    let said = hints.and_then(|hints| hints.index(table.oid.0, &index.name));
    said.unwrap_or(estimate.methods.index_scan)
}

/// What the terms say of an index's key, part by part.
fn through(index: &Arc<IndexDef>, terms: &[Term<'_>]) -> Path {
    let mut path = Path { access: IndexAccess::all(Arc::clone(index)), said: Vec::new() };
    let mut combinations = 1;
    for part in &index.parts {
        let of_column = || terms.iter().filter(|term| term.column == part.column && term.fits(part));
        let found = of_column()
            .find(|term| matches!(term.says, Says::Equal(_)))
            .or_else(|| of_column().find(|term| matches!(term.says, Says::Null)))
            .or_else(|| {
                let fits = |term: &&Term<'_>| match &term.says {
                    Says::In(list) => {
                        combinations == 1 || combinations * list.len().max(1) <= COMBINATIONS_MAX
                    }
                    // How many there are is known when it is opened.
                    Says::Any(_) => combinations == 1,
                    _ => false,
                };
                of_column().find(fits)
            });
        match found.map(|term| (&term.says, term.conjunct)) {
            Some((Says::Equal(value), n)) => {
                path.access.equals.push(KeyMatch::Equal((*value).clone()));
                path.said.extend(n);
            }
            Some((Says::Null, n)) => {
                path.access.equals.push(KeyMatch::Null);
                path.said.extend(n);
            }
            Some((Says::In(list), n)) => {
                combinations = combinations.saturating_mul(list.len().max(1));
                path.access.equals.push(KeyMatch::In(list.to_vec()));
                path.said.extend(n);
            }
            Some((Says::Any(array), n)) => {
                combinations = COMBINATIONS_MAX;
                path.access.equals.push(KeyMatch::Any(array.clone().into_owned()));
                path.said.extend(n);
            }
            _ => {
                let is_several = |term: &&Term<'_>| matches!(term.says, Says::Spans(_));
                let (several, one): (Vec<_>, Vec<_>) =
                    of_column().filter(|term| term.orders(part)).partition(is_several);
                let lower = one.iter().any(|term| matches!(term.says, Says::Lower(..)));
                let upper = one.iter().any(|term| matches!(term.says, Says::Upper(..)));
                // One range of two sides is taken to be narrower than several ranges, and these than one side.
                let narrow = several.iter().filter(|_| !(lower && upper));
                for term in narrow.chain(&one) {
                    term.bound(&mut path.access, &mut path.said);
                }
                break;
            }
        }
    }
    path
}

/// Whether only projections are above a sort, of which there is one at least.
fn over_sort(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } => matches!(**input, Plan::Sort { .. }) || over_sort(input),
        _ => false,
    }
}

/// Several of `min(column)` and `max(column)` of a table, each of which an index has: each by itself, put together to one row.
fn extremes(
    input: &Plan,
    aggregates: &[AggregateCall],
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> Option<Plan> {
    if aggregates.len() < 2 || !matches!(input, Plan::TableScan { filter: None, .. }) {
        return None;
    }
    let alone = |call: &AggregateCall| {
        let (mut input, aggregates) = (input.clone(), vec![call.clone()]);
        extreme(&mut input, &aggregates, estimate, hints).then(|| Plan::Aggregate {
            input: Box::new(input),
            group_by: Vec::new(),
            aggregates,
            sets: None,
        })
    };
    let parts = aggregates.iter().map(alone).collect::<Option<Vec<Plan>>>()?;
    parts.into_iter().reduce(|left, right| Plan::Join {
        left: Box::new(left),
        right: Box::new(right),
        kind: JoinKind::Inner,
        equal: Vec::new(),
        filter: None,
    })
}

/// `min(column)` or `max(column)` alone: the first row of an index that has the order.
fn extreme(
    input: &mut Plan,
    aggregates: &[AggregateCall],
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> bool {
    let [AggregateCall { function, args, filter: None, order_by: sorted, .. }] = aggregates else {
        return false;
    };
    if !sorted.is_empty() {
        return false;
    }
    let descending = match function.kind {
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return false,
    };
    let [arg] = args.as_slice() else { return false };
    let ExprKind::Column(column) = &crate::bind::unkeyed(arg).kind else { return false };
    let key = SortKey { expr: arg.clone(), descending, nulls_first: descending };
    let Plan::TableScan { table, columns, .. } = input else { return false };
    let not_null = table.is_never_null(columns[*column]);
    if !order::by_index(input, std::slice::from_ref(&key), None, estimate, hints) {
        return false;
    }
    if let (Plan::IndexScan { filter, .. }, false) = (&mut *input, not_null) {
        let mut conditions: Vec<TypedExpr> = filter.take().into_iter().collect();
        conditions.push(TypedExpr::is_there(arg.clone()));
        *filter = TypedExpr::conjunction(conditions);
    }
    let one = TypedExpr::literal(Value::Int8(1), SqlType::Int8);
    let scan = std::mem::replace(input, nothing());
    *input = Plan::Limit { input: Box::new(scan), limit: Some(one), offset: None, ties: Vec::new() };
    true
}
