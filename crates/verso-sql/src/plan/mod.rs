//! Access paths: through which index a table's rows are found.
//!
//! ```text
//! WHERE ─► terms: column = value, IN, IS NULL, range, LIKE 'prefix%' ─► the index whose key they say most of
//! ORDER BY, min, max ─► an index that has the order already
//! ```
//!
//! 1. There are no statistics. A whole unique key beats any other; then the longest prefix of equal columns, then a range
//!    of both sides. A range of one side counts only where LIMIT ends the scan early: half a table is read faster whole.
//! 2. A term that the range of a query says is taken out of the filter; storage compares keys again with the version it
//!    yields. UPDATE and DELETE keep it, as they look at a row anew when another transaction has changed it.
//! 3. Sort goes where the rows come in its order: behind LIMIT always, otherwise only if the index was chosen anyway.
//!
//! | module | what it is |
//! |---|---|
//! | [`terms`] | what a condition says about single columns |
//! | [`order`] | orders that an index has |

mod order;
mod terms;

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_row::functions::AggregateKind;
use verso_row::plan::{AggregateCall, ExprKind, IndexAccess, KeyMatch, Plan, Statement, TypedExpr};
use verso_types::{SqlType, Value};

use terms::{Says, Term};

/// Combinations of IN lists that one access may have.
const COMBINATIONS_MAX: usize = 10_000;

/// Chooses the access paths of a bound statement.
pub fn choose(statement: &mut Statement) {
    match statement {
        Statement::Query(plan) => query(plan, false),
        Statement::Insert(insert) => query(&mut insert.source, false),
        Statement::Update(update) => {
            update.access = path(&update.table, &update.columns, update.filter.as_ref(), false)
                .map(|chosen| chosen.access);
        }
        Statement::Delete(delete) => {
            delete.access = path(&delete.table, &delete.columns, delete.filter.as_ref(), false)
                .map(|chosen| chosen.access);
        }
    }
}

/// Chooses the access paths of a query; `limited` says that only its first rows are wanted.
pub fn query(plan: &mut Plan, limited: bool) {
    match plan {
        Plan::TableScan { table, columns, filter } => {
            let chosen = path(table, columns, filter.as_ref(), limited);
            if let Some(chosen) = chosen {
                let (table, columns) = (Arc::clone(table), std::mem::take(columns));
                let filter = chosen.rest(filter.take());
                *plan = Plan::IndexScan { table, columns, access: chosen.access, filter };
            }
        }
        Plan::Limit { input, limit, .. } => {
            let limited = limit.is_some();
            let inner = below_locks(input);
            if let Plan::Sort { input: sorted, keys } = inner {
                let done = limited && order::by_index(sorted, keys);
                if !done {
                    query(sorted, false);
                }
                if done || order::is_in(sorted, keys) {
                    *inner = std::mem::replace(&mut **sorted, nothing());
                }
                return;
            }
            query(inner, limited);
        }
        Plan::LockRows { input, .. } => query(input, limited),
        Plan::Sort { input, keys } => {
            query(input, false);
            if order::is_in(input, keys) {
                *plan = std::mem::replace(&mut **input, nothing());
            }
        }
        Plan::Aggregate { input, group_by, aggregates } => {
            if !(group_by.is_empty() && extreme(input, aggregates)) {
                query(input, false);
            }
        }
        Plan::Project { input, .. } | Plan::Filter { input, .. } => query(input, limited),
        Plan::Append { inputs } => inputs.iter_mut().for_each(|input| query(input, limited)),
        other => other.for_each_input_mut(&mut |input| query(input, false)),
    }
}

/// The plan below projections and locks, if there are locks: they change neither rows nor order.
fn below_locks(plan: &mut Plan) -> &mut Plan {
    let locks = match &*plan {
        Plan::Project { input, .. } => matches!(**input, Plan::LockRows { .. }),
        Plan::LockRows { .. } => true,
        _ => false,
    };
    if !locks {
        return plan;
    }
    match plan {
        Plan::Project { input, .. } | Plan::LockRows { input, .. } => below_locks(input),
        other => other,
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

    /// How much better than others: a whole unique key, equal columns, sides of a range.
    fn rank(&self) -> (bool, usize, usize) {
        let sides = usize::from(self.access.lower.is_some()) + usize::from(self.access.upper.is_some());
        (self.access.is_point(), self.access.equals.len(), sides)
    }
}

/// The best access path for a filter over `columns` of a table, if one is worth it.
fn path(table: &TableDef, columns: &[usize], filter: Option<&TypedExpr>, limited: bool) -> Option<Path> {
    let terms = terms::of(table, columns, filter?);
    let worth = |path: &Path| path.rank() >= (false, 0, if limited { 1 } else { 2 });
    let paths = table.indexes.iter().map(|index| through(index, &terms)).filter(worth);
    // Of equals the oldest: max_by_key would take the last.
    paths.fold(None, |best: Option<Path>, path| match best {
        Some(best) if best.rank() >= path.rank() => Some(best),
        _ => Some(path),
    })
}

/// What the terms say of an index's key, part by part.
fn through(index: &Arc<IndexDef>, terms: &[Term<'_>]) -> Path {
    let mut path = Path { access: IndexAccess::all(Arc::clone(index)), said: Vec::new() };
    let mut combinations = 1;
    for part in &index.parts {
        let of_column = || terms.iter().filter(|term| term.column == part.column);
        let found = of_column()
            .find(|term| matches!(term.says, Says::Equal(_)))
            .or_else(|| of_column().find(|term| matches!(term.says, Says::Null)))
            .or_else(|| {
                let fits = |term: &&Term<'_>| match &term.says {
                    Says::In(list) => combinations * list.len().max(1) <= COMBINATIONS_MAX,
                    _ => false,
                };
                of_column().find(fits)
            });
        match found.map(|term| (&term.says, term.conjunct)) {
            Some((Says::Equal(value), n)) => {
                path.access.equals.push(KeyMatch::Equal((*value).clone()));
                path.said.push(n);
            }
            Some((Says::Null, n)) => {
                path.access.equals.push(KeyMatch::Null);
                path.said.push(n);
            }
            Some((Says::In(list), n)) => {
                combinations *= list.len().max(1);
                path.access.equals.push(KeyMatch::In(list.to_vec()));
                path.said.push(n);
            }
            _ => {
                for term in of_column() {
                    term.bound(&mut path.access, &mut path.said);
                }
                break;
            }
        }
    }
    path
}

/// `min(column)` or `max(column)` alone: the first row of an index that has the order.
fn extreme(input: &mut Plan, aggregates: &[AggregateCall]) -> bool {
    let [AggregateCall { function, args, filter: None, .. }] = aggregates else { return false };
    let descending = match function.kind {
        AggregateKind::Min => false,
        AggregateKind::Max => true,
        _ => return false,
    };
    let [TypedExpr { kind: ExprKind::Column(column), ty }] = args.as_slice() else { return false };
    let key = verso_row::plan::SortKey {
        expr: TypedExpr::column(*column, ty.clone()),
        descending,
        nulls_first: descending,
    };
    let Plan::TableScan { table, columns, .. } = input else { return false };
    let not_null = table.columns[columns[*column]].not_null;
    if !order::by_index(input, std::slice::from_ref(&key)) {
        return false;
    }
    if let (Plan::IndexScan { filter, .. }, false) = (&mut *input, not_null) {
        let arg = Box::new(TypedExpr::column(*column, ty.clone()));
        let mut conditions: Vec<TypedExpr> = filter.take().into_iter().collect();
        conditions.push(TypedExpr::new(ExprKind::IsNull { arg, negated: true }, SqlType::Bool));
        *filter = TypedExpr::conjunction(conditions);
    }
    let one = TypedExpr::literal(Value::Int8(1), SqlType::Int8);
    let scan = std::mem::replace(input, nothing());
    *input = Plan::Limit { input: Box::new(scan), limit: Some(one), offset: None };
    true
}
