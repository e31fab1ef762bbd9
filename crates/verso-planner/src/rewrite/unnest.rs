//! Rule `unnest`: a query in a condition that depends on the row becomes a join, computed once for all rows.
//!
//! ```text
//! a WHERE EXISTS (SELECT FROM b WHERE b.x = a.x AND b.y <> a.y)   ─►  a semi-join b on x, y differing
//! a WHERE NOT EXISTS (…)                                          ─►  a anti-join b
//! a WHERE a.y IN (SELECT b.y FROM b WHERE b.x = a.x)              ─►  a semi-join b on x, y
//! a WHERE a.y < (SELECT avg(b.y) FROM b WHERE b.x = a.x)          ─►  a left join (b grouped by x), then the condition
//! ```
//!
//! U1. Conditions that compare with the row are taken out of the query; what they use of it comes out as further columns.
//! U2. A scalar query needs an aggregate of all its rows and nothing but equalities with the row, which become the groups.
//!     A row without a group has what the aggregate says of no rows: CASE tells them apart, so that `count` is 0.
//!     A condition that asks a query of its own goes along where an equality leaves few pairs to ask it of.
//! U3. What uses the row otherwise, or stands within a larger expression, is joined by [`super::attach`].
//! U4. NOT IN stays a condition: NULLs decide there. So does what an index finds for the few rows there are.
//!
//! Termination: each step takes one query out of the conditions of a filter; what is refused stays. Source: Kim, 1982;
//! Neumann, Kemper, "Unnesting arbitrary queries", 2015, of which this is the part without a join with the outer rows.

use std::sync::Arc;

use super::dependent::{columns, empty};
use verso_catalog::TableDef;
use verso_exec::plan::{AggregateCall, ExprKind as K, JoinKind, Plan, SubqueryTest, TypedExpr};
use verso_types::SqlType;

use super::graph::{is_equality, key_type, pair};
use super::push::keep;
use super::{Rewriter, alternatives};
use crate::bind::{columns_of, exactly, map_columns};
use crate::errors::SqlError;
use crate::estimate::{BUILD, FETCH, LOOKUP, PROBE, SCAN};
use verso_env::recursion::check;

/// So many rows are taken to be asked for each one that is wanted, and at least, as rows come in batches.
const ASKED: f64 = 10.0;
const ASKED_LEAST: f64 = 1_000.0;

/// Which conditions that use the row may be taken out of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Those without queries of their own.
    Plain,
    /// Others, too: they are asked of each pair of rows.
    Asking,
}

/// A query without the conditions that use the row, and these: over its columns, and `Outer`.
type Lifted = (Plan, Vec<TypedExpr>);

impl Rewriter<'_> {
    /// A filter with those of its queries joined that can be; so many of its `first` rows are wanted, if not all.
    pub(super) fn unnest(
        &mut self,
        input: Plan,
        predicate: TypedExpr,
        first: Option<f64>,
    ) -> Result<Plan, SqlError> {
        check()?;
        let (asking, plain): (Vec<_>, Vec<_>) = predicate.conjuncts().into_iter().partition(asks_of_the_row);
        if asking.is_empty() {
            return Ok(keep(input, plain));
        }
        let mut plan = keep(input, plain);
        let rows = self.estimate.rows(&plan);
        let rows = first.map_or(rows, |first| rows.min((first * ASKED).max(ASKED_LEAST)));
        let mut stay = Vec::new();
        let mut joins = Vec::new();
        for condition in asking {
            match self.as_join(&condition, rows, Within::Plain) {
                Some(Way::Join(join)) => joins.push(join),
                // Where few rows are asked for, the others need not be looked at.
                Some(Way::Asked) if first.is_some() => stay.push(condition),
                _ if self.for_all_rows(&mut plan, &condition) => {}
                _ => match self.as_join(&condition, rows, Within::Asking) {
                    Some(Way::Join(join)) => joins.push(join),
                    _ => stay.push(condition),
                },
            }
        }
        let width = plan.output().len();
        let attached = self.attach(&mut plan, &mut stay, None);
        plan = keep(plan, stay);
        if attached {
            plan = columns(plan, 0..width);
        }
        for join in joins {
            plan = join.over(plan, rows);
        }
        Ok(plan)
    }

    /// A condition that asks whether a query has a row, without the query's conditions that use the row.
    fn as_join(&self, condition: &TypedExpr, rows: f64, within: Within) -> Option<Way> {
        let Asked { plan, outer, args, anti } = asked(condition)?;
        let (right, conditions) = lift(plan.clone(), within)?;
        // What asks queries is asked of pairs: those that equalities leave.
        if within == Within::Asking && args.is_empty() && !conditions.iter().any(is_equality) {
            return None;
        }
        if !self.pays(rows, &right, &conditions) {
            return Some(Way::Asked);
        }
        let (outer, args) = (outer.to_vec(), args.to_vec());
        Some(Way::Join(Box::new(Join { right, conditions, outer, args, anti })))
    }

    /// The same where the query uses the row for something else: it runs for all that the rows hand in.
    fn for_all_rows(&mut self, input: &mut Plan, condition: &TypedExpr) -> bool {
        let Some(Asked { plan, outer, args, anti }) = asked(condition) else { return false };
        self.attach_semi(input, (plan, outer, args), anti)
    }

    /// Whether computing a query once for all rows is cheaper than asking an index for each of them.
    fn pays(&self, rows: f64, right: &Plan, conditions: &[TypedExpr]) -> bool {
        if !self.rules.costs {
            return true;
        }
        let equalities = conditions.iter().filter(|condition| is_equality(condition));
        let known: Vec<Known> = equalities.flat_map(|condition| compared(right, condition)).collect();
        let Some((table, _)) = known.first() else { return true };
        let fixed = fixed_within(right, table);
        let Some(found) = self.estimate.lookup(table, &of_table(&known, table), &fixed) else { return true };
        let mut scanned = 0.0;
        right.any(&mut |part| {
            if let Plan::TableScan { table, .. } = part {
                scanned += self.estimate.table(table);
            }
            false
        });
        rows * (2.0 * LOOKUP + found * FETCH)
            > scanned * SCAN + self.estimate.rows(right) * BUILD + rows * PROBE
    }
}

/// A condition that is true where a query has a row, or has none.
struct Asked<'c> {
    plan: &'c Plan,
    outer: &'c [TypedExpr],
    /// What its columns equal.
    args: &'c [TypedExpr],
    anti: bool,
}

fn asked(condition: &TypedExpr) -> Option<Asked<'_>> {
    let (inner, anti) = match &condition.kind {
        K::Not(inner) => (&**inner, true),
        _ => (condition, false),
    };
    let K::Subquery { plan, outer, test, args } = &inner.kind else { return None };
    let fits = match test {
        SubqueryTest::Exists => true,
        SubqueryTest::In { negated } => !negated && !anti,
        SubqueryTest::Scalar | SubqueryTest::Array => false,
    };
    (fits && !outer.is_empty() && !condition.is_volatile()).then_some(Asked { plan, outer, args, anti })
}

/// How a query in a condition is answered.
enum Way {
    Join(Box<Join>),
    /// By an index, for each row.
    Asked,
}

/// What becomes of a condition: a semi-join.
struct Join {
    right: Plan,
    conditions: Vec<TypedExpr>,
    outer: Vec<TypedExpr>,
    args: Vec<TypedExpr>,
    anti: bool,
}

/// A scalar query, once for each group: the keys, then the value.
pub(super) struct Grouped {
    pub right: Plan,
    /// Over the row: what the keys equal.
    pub keys: Vec<TypedExpr>,
    /// What a row without a group has.
    pub empty: TypedExpr,
}

impl Join {
    /// The rows of `left`, so many, that have a partner, or none.
    fn over(self, left: Plan, rows: f64) -> Plan {
        let width = left.output().len();
        let Join { right, conditions, outer, args, anti } = self;
        let (mut equal, mut rest) = (Vec::new(), Vec::new());
        for (n, arg) in args.into_iter().enumerate() {
            let theirs = TypedExpr::column(n, arg.ty.clone());
            equal.push((arg, theirs));
        }
        for condition in conditions {
            match pair(of_pair(condition, width, &outer), width) {
                Ok(pair) => equal.push(pair),
                Err(condition) => rest.push(condition),
            }
        }
        if equal.is_empty()
            && alternatives::may_repeat(&right, rows)
            && let Some(alternatives) = alternatives::of(&rest, width, anti)
        {
            return alternatives::joined(left, &right, alternatives, anti);
        }
        let (left, right) = (Box::new(left), Box::new(right));
        Plan::Semi { left, right, equal, filter: TypedExpr::conjunction(rest), anti }
    }
}

/// Whether a condition holds a query that depends on the row.
pub(crate) fn asks_of_the_row(condition: &TypedExpr) -> bool {
    condition.any(&mut |part| matches!(&part.kind, K::Subquery { outer, .. } if !outer.is_empty()))
}

pub(super) fn has_outer(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, K::Outer(_)))
}

/// A condition over a query's columns and `Outer` as one over the columns of the row and, behind these, the query's.
fn of_pair(mut condition: TypedExpr, width: usize, outer: &[TypedExpr]) -> TypedExpr {
    match condition.kind {
        K::Column(column) => condition.kind = K::Column(column + width),
        K::Outer(n) => return outer[n].clone(),
        _ => condition.for_each_child_mut(&mut |child| {
            let part = std::mem::replace(child, TypedExpr::null(SqlType::Unknown));
            *child = of_pair(part, width, outer);
        }),
    }
    condition
}

/// Takes the conditions that use the row out of a query; the columns it had stay in front. `None` where something else
/// uses the row.
fn lift(plan: Plan, within: Within) -> Option<Lifted> {
    check().ok()?;
    if !plan.uses_outer() {
        return Some((plan, Vec::new()));
    }
    match plan {
        Plan::Filter { input, predicate } => {
            let (input, mut conditions) = lift(*input, within)?;
            let (asking, plain): (Vec<_>, Vec<_>) = predicate.conjuncts().into_iter().partition(has_outer);
            let refused = |condition: &TypedExpr| {
                let asks = |part: &TypedExpr| matches!(part.kind, K::Subquery { .. });
                condition.is_volatile() || within == Within::Plain && condition.any(&mut |part| asks(part))
            };
            if asking.iter().any(refused) {
                return None;
            }
            conditions.extend(asking);
            Some((keep(input, plain), conditions))
        }
        Plan::Project { input, mut exprs, mut names } if !exprs.iter().any(has_outer) => {
            let (input, mut conditions) = lift(*input, within)?;
            let columns = input.output();
            for condition in &mut conditions {
                map_columns(condition, &mut |column| {
                    let known =
                        exprs.iter().position(|expr| matches!(expr.kind, K::Column(at) if at == column));
                    known.unwrap_or_else(|| {
                        exprs.push(TypedExpr::column(column, columns[column].ty.clone()));
                        names.push(Arc::clone(&columns[column].name));
                        exprs.len() - 1
                    })
                });
            }
            Some((Plan::Project { input: Box::new(input), exprs, names }, conditions))
        }
        Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } if equal.is_empty() => {
            let (width, behind) = (left.output().len(), right.output().len());
            let (left, mut conditions) = lift(*left, within)?;
            let (right, theirs) = lift(*right, within)?;
            let (ours, all) = (left.output().len(), left.output().len() + right.output().len());
            // Those of both first, as they were, then what has come to the left one and to the right one.
            let order: Vec<usize> =
                (0..width).chain(ours..ours + behind).chain(width..ours).chain(ours + behind..all).collect();
            let mut place = vec![0; all];
            order.iter().enumerate().for_each(|(at, column)| place[*column] = at);
            conditions.iter_mut().for_each(|condition| map_columns(condition, &mut |column| place[column]));
            for mut condition in theirs {
                map_columns(&mut condition, &mut |column| place[ours + column]);
                conditions.push(condition);
            }
            let parts = filter.map(TypedExpr::conjuncts).unwrap_or_default();
            let (asking, plain): (Vec<_>, Vec<_>) = parts.into_iter().partition(has_outer);
            if asking.iter().any(TypedExpr::is_volatile) {
                return None;
            }
            conditions.extend(asking);
            let join = |filter: Vec<TypedExpr>| Plan::Join {
                left: Box::new(left),
                right: Box::new(right),
                kind: JoinKind::Inner,
                equal,
                filter: TypedExpr::conjunction(filter),
            };
            if all == width + behind {
                return Some((join(plain), conditions));
            }
            let joined = join(Vec::new());
            let columns = joined.output();
            let exprs = order.iter().map(|at| TypedExpr::column(*at, columns[*at].ty.clone())).collect();
            let names = order.iter().map(|at| Arc::clone(&columns[*at].name)).collect();
            Some((keep(Plan::Project { input: Box::new(joined), exprs, names }, plain), conditions))
        }
        _ => None,
    }
}

/// A scalar query over an aggregate of all its rows as one with a row for each group (U2).
pub(super) fn grouped(plan: &Plan, outer: &[TypedExpr]) -> Option<Grouped> {
    let Plan::Project { input, exprs, .. } = plan else { return None };
    let (Plan::Aggregate { input, group_by, aggregates, sets }, [value]) = (&**input, exprs.as_slice())
    else {
        return None;
    };
    let of_calls = |call: &AggregateCall| call.exprs().any(has_outer);
    if !group_by.is_empty() || sets.is_some() || has_outer(value) || aggregates.iter().any(of_calls) {
        return None;
    }
    let empty = aggregates.iter().map(empty).collect::<Option<Vec<_>>>()?;
    let (input, conditions) = lift(Plan::clone(input), Within::Plain)?;
    let (mut keys, mut group_by) = (Vec::new(), Vec::new());
    for condition in conditions {
        let K::Call { args, .. } = &condition.kind else { return None };
        let [a, b] = args.as_slice() else { return None };
        let inside = |expr: &TypedExpr| !has_outer(expr) && !columns_of(expr).is_empty();
        let outside = |expr: &TypedExpr| has_outer(expr) && columns_of(expr).is_empty();
        let (inner, row) = if inside(a) && outside(b) {
            (a, b)
        } else if inside(b) && outside(a) {
            (b, a)
        } else {
            return None;
        };
        if !is_equality(&condition) {
            return None;
        }
        let ty = key_type(&inner.ty, &row.ty)?;
        keys.push(exactly(of_pair(row.clone(), 0, outer), &ty));
        group_by.push(exactly(inner.clone(), &ty));
    }
    if keys.is_empty() {
        return None;
    }
    let width = group_by.len();
    let mut exprs: Vec<TypedExpr> =
        group_by.iter().enumerate().map(|(n, key)| TypedExpr::column(n, key.ty.clone())).collect();
    let mut value = value.clone();
    let mut without = value.clone();
    map_columns(&mut value, &mut |column| column + width);
    exprs.push(value);
    fill(&mut without, &empty);
    let names = exprs.iter().map(|_| Arc::from("")).collect();
    let (input, aggregates, sets) = (Box::new(input), aggregates.clone(), None);
    let aggregate = Plan::Aggregate { input, group_by, aggregates, sets };
    let right = Plan::Project { input: Box::new(aggregate), exprs, names };
    Some(Grouped { right, keys, empty: without })
}

/// Values in place of columns.
fn fill(expr: &mut TypedExpr, values: &[TypedExpr]) {
    if let K::Column(column) = expr.kind {
        *expr = values[column].clone();
        return;
    }
    expr.for_each_child_mut(&mut |child| fill(child, values));
}

/// A column of a table, by its number in storage.
pub(super) type Known = (Arc<TableDef>, u16);

/// The columns of tables that a comparison over a plan's columns compares.
pub(super) fn compared(plan: &Plan, condition: &TypedExpr) -> Vec<Known> {
    let K::Call { args, .. } = &condition.kind else { return Vec::new() };
    let column = |arg: &TypedExpr| match arg.kind {
        K::Column(column) => table_column(plan, column),
        _ => None,
    };
    args.iter().filter_map(column).collect()
}

/// The columns of a scanned table that its own conditions, and those of a filter above it, say equal a value that no row of it tells:
/// an index that begins with them finds rows by these and by what is handed in.
pub(super) fn fixed(plan: &Plan) -> Vec<u16> {
    let (scan, above) = match plan {
        Plan::Filter { input, predicate } => (&**input, Some(predicate)),
        scan => (scan, None),
    };
    let Plan::TableScan { table, columns, filter } = scan else { return Vec::new() };
    let column = |condition: TypedExpr| {
        let K::Call { args, .. } = &condition.kind else { return None };
        let [left, right] = args.as_slice() else { return None };
        let (of, value) = match (&left.kind, &right.kind) {
            (K::Column(column), _) => (*column, right),
            (_, K::Column(column)) => (*column, left),
            _ => return None,
        };
        let alike = left.ty.same_base(&right.ty) || left.ty.is_integer() && right.ty.is_integer();
        let is_told =
            is_equality(&condition) && alike && columns_of(value).is_empty() && !value.is_volatile();
        is_told.then(|| Some(table.columns.get(*columns.get(of)?)?.id)).flatten()
    };
    let conditions = filter.iter().chain(above).cloned();
    conditions.flat_map(TypedExpr::conjuncts).filter_map(column).collect()
}

/// As [`fixed`], wherever a plan scans the table.
pub(super) fn fixed_within(plan: &Plan, of: &TableDef) -> Vec<u16> {
    let mut found = Vec::new();
    plan.any(&mut |part| {
        let scan = if let Plan::Filter { input, .. } = part { input } else { part };
        if matches!(scan, Plan::TableScan { table, .. } if table.oid == of.oid) {
            found.append(&mut fixed(part));
        }
        false
    });
    found
}

/// Those of one table.
pub(super) fn of_table(known: &[Known], table: &TableDef) -> Vec<u16> {
    known.iter().filter(|(other, _)| other.oid == table.oid).map(|(_, column)| *column).collect()
}

/// The column of a table that a column of a plan is.
fn table_column(plan: &Plan, column: usize) -> Option<Known> {
    match plan {
        Plan::TableScan { table, columns, .. } => {
            let column = table.columns.get(*columns.get(column)?)?;
            Some((Arc::clone(table), column.id))
        }
        Plan::Filter { input, .. } => table_column(input, column),
        Plan::Project { input, exprs, .. } => match exprs.get(column)?.kind {
            K::Column(inner) => table_column(input, inner),
            _ => None,
        },
        Plan::Join { left, right, .. } => {
            let width = left.output().len();
            if column < width { table_column(left, column) } else { table_column(right, column - width) }
        }
        _ => None,
    }
}
