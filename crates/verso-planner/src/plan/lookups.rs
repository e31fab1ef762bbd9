//! Joins with relations of the system catalogs: where that is cheaper, the session makes the rows of the right side for each row
//! of the left side, by their keys, instead of all that the catalogs have.
//!
//! The conditions of the join stay: keys are a hint, and rows that do not fit may come nevertheless.

use std::sync::Arc;

use verso_catalog::{SystemRelation, SystemView};
use verso_exec::plan::{ExprKind, JoinKind, KeyMatch, Plan, SubqueryTest, TypedExpr};
use verso_types::SqlType;

use super::system::column;
use crate::bind::map_columns;
use crate::estimate::Estimate;
use crate::rewrite::equality;

/// What it costs to ask the session for the rows of one key, in rows that it makes.
const LOOKUP: f64 = 4.0;
/// What a row of a relation costs that is not in every database the same; others are kept.
const MADE: f64 = 1.0;
const KEPT: f64 = 0.2;

/// What it costs to make a row, in nanoseconds, as the order of joins counts; and to begin.
const MAKE: f64 = 1_000.0;
const ASK: f64 = 2_000.0;

/// A relation of the catalogs, perhaps below a filter, as the order of joins asks about it: again and again.
pub(crate) struct Asked {
    relation: &'static SystemRelation,
    /// The columns that it yields.
    columns: Vec<usize>,
    /// How many values the key has that its own conditions tell.
    values: f64,
}

impl Asked {
    /// That one; none for anything else.
    pub(crate) fn of(scan: &Plan, estimate: Estimate<'_>) -> Option<Asked> {
        let (below, relation) = scan_of(scan)?;
        let Plan::SystemScan { view, columns, keys, .. } = below else { return None };
        let mut known: Vec<usize> = keys.iter().map(|(at, _)| *at).collect();
        if let Plan::Filter { predicate, .. } = scan {
            known.extend(super::system::keys(*view, columns, predicate).into_iter().map(|(at, _)| at));
        }
        let known = known.into_iter().filter(|at| relation.is_key(*at));
        let values = known.map(|at| estimate.system_values(relation, at)).fold(1.0, f64::max);
        Some(Asked { relation, columns: columns.clone(), values })
    }

    /// Whether the session finds rows by one of these of its columns.
    pub(crate) fn has_key(&self, told: &[usize]) -> bool {
        told.iter().filter_map(|column| self.columns.get(*column)).any(|at| self.relation.is_key(*at))
    }

    /// What it costs to have it yield its rows where these of its columns are told.
    pub(crate) fn cost(&self, told: &[usize], estimate: Estimate<'_>) -> f64 {
        let told = told.iter().filter_map(|column| self.columns.get(*column).copied());
        let keys = told.filter(|at| self.relation.is_key(*at));
        let values = keys.map(|at| estimate.system_values(self.relation, at)).fold(self.values, f64::max);
        let each = if estimate.is_made(self.relation) { MADE } else { KEPT };
        ASK + estimate.system_rows(self.relation) / values * each * MAKE
    }
}

/// Makes a condition of a semi- or anti-join with a relation of the catalogs that asks for the rows of each row's key, where that is
/// cheaper than to make all rows of it; whether it has done so. Neither side is planned yet.
pub(super) fn of_semi(plan: &mut Plan, estimate: Estimate<'_>) -> bool {
    let Plan::Semi { left, right, equal, filter: None, anti } = &mut *plan else { return false };
    if saving(left, (right, false), equal, estimate).is_none() {
        return false;
    }
    let mut outer = Vec::new();
    let mut asked = Vec::new();
    for (ours, theirs) in &*equal {
        let Some(function) = equality(&ours.ty) else { return false };
        let handed = TypedExpr::new(ExprKind::Outer(outer.len()), ours.ty.clone());
        outer.push(ours.clone());
        let args = vec![theirs.clone(), handed];
        asked.push(TypedExpr::new(ExprKind::Call { function, args }, SqlType::Bool));
    }
    let scan = match std::mem::replace(&mut **right, super::nothing()) {
        Plan::Filter { input, predicate } => {
            asked.extend(predicate.conjuncts());
            *input
        }
        scan => scan,
    };
    let Some(predicate) = TypedExpr::conjunction(asked) else { return false };
    let found = Plan::Filter { input: Box::new(scan), predicate };
    let kind =
        ExprKind::Subquery { plan: Arc::new(found), outer, test: SubqueryTest::Exists, args: Vec::new() };
    let mut predicate = TypedExpr::new(kind, SqlType::Bool);
    if *anti {
        predicate = TypedExpr::new(ExprKind::Not(Box::new(predicate)), SqlType::Bool);
    }
    let input = std::mem::replace(&mut **left, super::nothing());
    *plan = Plan::Filter { input: Box::new(input), predicate };
    true
}

/// Makes lookups of a join, both sides of which are planned, where that can be done.
pub(super) fn of_join(plan: &mut Plan, estimate: Estimate<'_>) {
    let Plan::Join { left, right, kind, equal, .. } = &*plan else { return };
    let kind = *kind;
    let to_right = saving(left, (right, false), equal, estimate);
    let to_left = saving(right, (left, true), equal, estimate).filter(|_| kind == JoinKind::Inner);
    match (to_right, to_left) {
        (right, Some(left)) if right.is_none_or(|right| right < left) => {
            turn(plan);
            if let Plan::Project { input, .. } = plan {
                look_up(input);
            }
        }
        (Some(_), _) if matches!(kind, JoinKind::Inner | JoinKind::Left) => look_up(plan),
        _ => {}
    }
}

/// How many rows less the session makes of one side where it is asked for those of each row of the other; nothing where it makes more.
fn saving(
    few: &Plan,
    (many, turned): (&Plan, bool),
    equal: &[(TypedExpr, TypedExpr)],
    estimate: Estimate<'_>,
) -> Option<f64> {
    let (scan, relation) = scan_of(many)?;
    let Plan::SystemScan { columns, keys, .. } = scan else { return None };
    // Values of a query around the join have other numbers within a lookup.
    let filtered = matches!(many, Plan::Filter { predicate, .. } if is_outer(predicate));
    if filtered || keys.iter().any(|(_, key)| key.exprs().iter().any(is_outer)) {
        return None;
    }
    let sides = equal.iter().map(|(left, right)| if turned { left } else { right });
    let asked = sides.filter_map(|side| {
        let at = columns.get(column(side)?)?;
        relation.is_key(*at).then_some(*at)
    });
    let asked: Vec<usize> = asked.filter(|at| !keys.iter().any(|(known, _)| known == at)).collect();
    if asked.is_empty() {
        return None;
    }
    let part = |columns: &mut dyn Iterator<Item = usize>| {
        let values = columns.map(|at| estimate.system_values(relation, at)).fold(1.0, f64::max);
        estimate.system_rows(relation) / values
    };
    let each = if estimate.is_made(relation) { MADE } else { KEPT };
    let known = &mut keys.iter().map(|(at, _)| *at).filter(|at| relation.is_key(*at));
    let whole = part(known) * each;
    let looked_up = estimate.rows(few) * (LOOKUP + part(&mut asked.into_iter()) * each);
    (looked_up < whole).then_some(whole - looked_up)
}

/// Whether an expression has a value of a query around.
pub(super) fn is_outer(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(part.kind, ExprKind::Outer(_)))
}

/// The scan of a relation, perhaps below a filter.
fn scan_of(plan: &Plan) -> Option<(&Plan, &'static SystemRelation)> {
    let scan = match plan {
        Plan::Filter { input, .. } => input,
        scan => scan,
    };
    match scan {
        Plan::SystemScan { view: SystemView::Relation(relation), .. } => Some((scan, relation.get())),
        _ => None,
    }
}

/// The join as one whose right side is asked for the rows of each row of the left one.
fn look_up(plan: &mut Plan) {
    let Plan::Join { right, equal, .. } = plan else { return };
    let outer = asked_for(right, equal);
    if outer.is_empty() {
        return;
    }
    let whole = std::mem::replace(plan, super::nothing());
    let Plan::Join { left, right, kind, equal, filter } = whole else { return };
    let width = left.output().len();
    let mut conditions = Vec::new();
    for (ours, mut theirs) in equal {
        map_columns(&mut theirs, &mut |column| column + width);
        conditions.push(TypedExpr::is_there(ours.clone()));
        let same = ExprKind::IsDistinct { left: Box::new(ours), right: Box::new(theirs), negated: true };
        conditions.push(TypedExpr::new(same, SqlType::Bool));
    }
    conditions.extend(filter.map(TypedExpr::conjuncts).unwrap_or_default());
    *plan = Plan::Apply {
        left,
        right,
        outer,
        kind,
        filter: TypedExpr::conjunction(conditions),
        unread: Vec::new(),
    };
}

/// Exchanges the sides of a join; its columns stay in their order.
pub(super) fn turn(plan: &mut Plan) {
    let output = plan.output();
    let whole = std::mem::replace(plan, super::nothing());
    let Plan::Join { left, right, kind, equal, mut filter } = whole else { return };
    let (ours, theirs) = (left.output().len(), right.output().len());
    let place = |column: usize| if column < ours { column + theirs } else { column - ours };
    filter.iter_mut().for_each(|filter| map_columns(filter, &mut |column| place(column)));
    let equal = equal.into_iter().map(|(one, other)| (other, one)).collect();
    let join = Plan::Join { left: right, right: left, kind, equal, filter };
    let columns = output.iter().enumerate();
    let exprs = columns.map(|(at, column)| TypedExpr::column(place(at), column.seen())).collect();
    let names = output.iter().map(|column| std::sync::Arc::clone(&column.name)).collect();
    *plan = Plan::Project { input: Box::new(join), exprs, names };
}

/// Lets a scan of a system relation be asked for what it is to be equal to on the left: these expressions.
fn asked_for(right: &mut Plan, equal: &[(TypedExpr, TypedExpr)]) -> Vec<TypedExpr> {
    let scan = match right {
        Plan::Filter { input, .. } => &mut **input,
        scan => scan,
    };
    let Plan::SystemScan { view: SystemView::Relation(relation), columns, keys, .. } = scan else {
        return Vec::new();
    };
    let relation = relation.get();
    let mut outer = Vec::new();
    for (ours, theirs) in equal {
        let Some(at) = column(theirs).and_then(|column| columns.get(column)).copied() else { continue };
        if relation.is_key(at) && !keys.iter().any(|(known, _)| *known == at) {
            let handed = TypedExpr::new(ExprKind::Outer(outer.len()), ours.ty.clone());
            keys.push((at, KeyMatch::Equal(handed)));
            outer.push(ours.clone());
        }
    }
    outer
}
