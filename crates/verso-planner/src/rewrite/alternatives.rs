//! Rule `unnest`, its part of alternatives: a partner that one of several equalities finds is looked for by each of them.
//!
//! ```text
//! a anti-join b on a.x = b.x OR a.y = b.y  ─►  (a anti-join b on x) anti-join b on y
//! a semi-join b on a.x = b.x OR a.y = b.y  ─►  a left join (keys x of b, once each) left join (keys y of b) where one has matched
//! ```
//!
//! A1. There is a partner where one alternative has one, and none where none has. NULL in an alternative is no partner of it.
//! A2. Of a semi-join what an alternative asks besides its equalities is asked of the right side alone: its keys come once each, so
//!     that no row on the left is doubled.
//! A3. The right side is read once for each alternative, which are few. So it is a scan with conditions, or inner joins of such
//!     where there are some rows on the left: what costs more is computed once and asked of pairs, and so is what need not have the
//!     same rows each time (LIMIT without an order, volatile functions).

use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, JoinKind, Plan, TypedExpr};
use verso_types::{SqlType, Value};

use super::dependent::columns;
use super::graph::pair;
use super::push::keep;
use crate::bind::{columns_of, map_columns};

/// More alternatives than this are asked of pairs.
const ALTERNATIVES_MAX: usize = 8;

/// What a partner has to equal, and what else is asked of both.
pub(super) struct Alternative {
    equal: Vec<(TypedExpr, TypedExpr)>,
    rest: Vec<TypedExpr>,
}

/// The rows of `left` that have a partner in `right` by one of the alternatives, or with `anti` have none.
pub(super) fn joined(left: Plan, right: &Plan, alternatives: Vec<Alternative>, anti: bool) -> Plan {
    let width = left.output().len();
    if anti {
        return alternatives.into_iter().fold(left, |left, Alternative { equal, rest }| Plan::Semi {
            left: Box::new(left),
            right: Box::new(right.clone()),
            equal,
            filter: TypedExpr::conjunction(rest),
            anti,
        });
    }
    let mut plan = left;
    let mut found = Vec::with_capacity(alternatives.len());
    for Alternative { equal, mut rest } in alternatives {
        rest.iter_mut().for_each(|part| map_columns(part, &mut |column| column - width));
        let (ours, theirs): (Vec<_>, Vec<_>) = equal.into_iter().unzip();
        let key = |(at, key): (usize, &TypedExpr)| TypedExpr::column(at, key.ty.clone());
        let keys: Vec<TypedExpr> = theirs.iter().enumerate().map(key).collect();
        let there = TypedExpr::literal(Value::Bool(true), SqlType::Bool);
        let once = Plan::Aggregate {
            input: Box::new(keep(right.clone(), rest)),
            group_by: theirs,
            aggregates: Vec::new(),
            sets: None,
        };
        let exprs: Vec<TypedExpr> = keys.iter().cloned().chain([there]).collect();
        let names = exprs.iter().map(|_| Arc::from("")).collect();
        let before = plan.output().len();
        found.push(TypedExpr::is_there(TypedExpr::column(before + keys.len(), SqlType::Bool)));
        plan = Plan::Join {
            left: Box::new(plan),
            right: Box::new(Plan::Project { input: Box::new(once), exprs, names }),
            kind: JoinKind::Left,
            equal: ours.into_iter().zip(keys).collect(),
            filter: None,
        };
    }
    let one = TypedExpr::new(K::Or(found), SqlType::Bool);
    columns(keep(plan, vec![one]), 0..width)
}

/// From so many rows on the left on a join is computed several times: so often each row on the right would be looked at otherwise.
const ROWS_OF_JOIN: f64 = 16.0;

/// Whether a right side may be read several times for so many rows on the left (A3).
pub(super) fn may_repeat(right: &Plan, rows: f64) -> bool {
    let mut open = vec![right];
    while let Some(part) = open.pop() {
        let asks = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, K::Subquery { .. }));
        if part.exprs().into_iter().any(|expr| asks(expr) || expr.is_volatile() || expr.calls_users()) {
            return false;
        }
        match part {
            Plan::Filter { input, .. } | Plan::Project { input, .. } => open.push(input),
            Plan::Join { left, right, kind: JoinKind::Inner, .. } if rows >= ROWS_OF_JOIN => {
                open.extend([&**left, &**right]);
            }
            Plan::TableScan { .. } | Plan::IndexScan { .. } => {}
            _ => return false,
        }
    }
    true
}

/// The alternatives of the one condition that is an OR, of conditions over the `width` columns of the left side and those of the right
/// one: what the others ask, each of them asks, too. None where one of them has no equality.
pub(super) fn of(conditions: &[TypedExpr], width: usize, anti: bool) -> Option<Vec<Alternative>> {
    let is_or = |condition: &&TypedExpr| matches!(condition.kind, K::Or(_));
    let mut ors = conditions.iter().filter(is_or);
    let (Some(or), None) = (ors.next(), ors.next()) else { return None };
    let others: Vec<&TypedExpr> = conditions.iter().filter(|condition| !is_or(condition)).collect();
    let mut branches = Vec::new();
    flatten(or, &mut branches);
    if branches.len() > ALTERNATIVES_MAX {
        return None;
    }
    let one = |branch: &TypedExpr| {
        let (mut equal, mut rest) = (Vec::new(), Vec::new());
        for part in branch.clone().conjuncts() {
            match pair(part, width) {
                Ok(pair) => equal.push(pair),
                Err(part) => rest.push(part),
            }
        }
        rest.extend(others.iter().map(|other| (*other).clone()));
        let of_right = |part: &TypedExpr| columns_of(part).iter().all(|column| *column >= width);
        let fits = !equal.is_empty() && (anti || rest.iter().all(of_right));
        fits.then_some(Alternative { equal, rest })
    };
    branches.into_iter().map(one).collect()
}

/// The alternatives of an OR, those of ORs within it among them.
fn flatten<'e>(condition: &'e TypedExpr, out: &mut Vec<&'e TypedExpr>) {
    let mut open = vec![condition];
    while let Some(condition) = open.pop() {
        match &condition.kind {
            K::Or(parts) => open.extend(parts.iter().rev()),
            _ => out.push(condition),
        }
    }
}
