//! Left joins of catalogs, made above the inner joins that their left sides are part of (rule `order`).
//!
//! ```text
//! Join(LeftJoin(pg_attribute, pg_attrdef), pg_class)  ─►  Project … ─ LeftJoin(Join(pg_attribute, pg_class), pg_attrdef)
//! ```
//!
//! So the order of the inner joins is free, and the rows of both sides are asked for by their keys: programs ask for the columns of
//! one table in the first form, which made all rows of `pg_attribute`.
//!
//! O1. A left join moves where no condition of the inner joins, or above them, reads its right side: then these drop the same rows.
//! O2. Only left joins move whose rows on the left come from a catalog. Of tables the inner joins may make more rows of each.
//!
//! Termination: one pass over the tree. Below the inner joins no left join remains that could move.

use std::collections::BTreeSet;

use verso_env::recursion::check;
use verso_exec::plan::{JoinKind, Plan, TypedExpr};

use super::asked_above::{any_moves, as_it_is, is_renaming, judged_below, judged_sides};
use super::nothing;
use super::push::substitute;
use crate::bind::{columns_of, map_columns};
use crate::errors::SqlError;

/// From here on columns are numbered that left joins above will yield, until it is known how many columns stand before them.
const ABOVE: usize = usize::MAX / 2;

/// A left join on its way; its expressions are over the inner joins' columns and those of left joins before it.
struct Lifted {
    right: Plan,
    equal: Vec<(TypedExpr, TypedExpr)>,
    filter: Option<TypedExpr>,
}

#[derive(Default)]
struct Above {
    joins: Vec<Lifted>,
    /// Columns of their right sides.
    width: usize,
}

/// Moves them above a tree of inner joins of whose rows these conditions are asked.
pub(super) fn outer_above(plan: &mut Plan, conditions: &[TypedExpr]) -> Result<(), SqlError> {
    if !matches!(plan, Plan::Join { kind: JoinKind::Inner, .. }) {
        return Ok(());
    }
    let judged = conditions.iter().flat_map(columns_of).collect();
    if !any_moves(plan, &judged, is_lifted)? {
        return Ok(());
    }
    let names = plan.output().into_iter().map(|column| column.name).collect();
    let whole = std::mem::replace(plan, nothing());
    let mut above = Above::default();
    let (mut input, mut exprs) = moved(whole, &judged, &mut above)?;
    let width = input.output().len();
    let placed = |mut expr: TypedExpr| {
        map_columns(&mut expr, &mut |column| column.checked_sub(ABOVE).map_or(column, |at| at + width));
        expr
    };
    for Lifted { right, equal, filter } in above.joins {
        let equal = equal.into_iter().map(|(ours, theirs)| (placed(ours), theirs)).collect();
        let filter = filter.map(placed);
        let (left, right) = (Box::new(input), Box::new(right));
        input = Plan::Join { left, right, kind: JoinKind::Left, equal, filter };
    }
    exprs = exprs.into_iter().map(placed).collect();
    *plan = Plan::Project { input: Box::new(input), exprs, names };
    Ok(())
}

/// Whether the rows on the left of left joins come from a catalog.
fn is_of_catalog(plan: &Plan) -> bool {
    match plan {
        Plan::SystemScan { .. } => true,
        Plan::Filter { input, .. } => is_of_catalog(input),
        Plan::Join { left, kind: JoinKind::Left, .. } => is_of_catalog(left),
        _ => false,
    }
}

/// Whether a left join can move (O1, O2).
fn is_lifted(plan: &Plan, judged: &BTreeSet<usize>) -> bool {
    let Plan::Join { left, right, kind: JoinKind::Left, equal, filter } = plan else { return false };
    let width = left.output().len();
    let is_steady = |expr: &TypedExpr| !expr.is_volatile();
    judged.iter().all(|column| *column < width)
        && is_of_catalog(left)
        && !right.is_volatile()
        && equal.iter().all(|(ours, theirs)| is_steady(ours) && is_steady(theirs))
        && filter.as_ref().is_none_or(is_steady)
}

/// A plan without the left joins that move, and its columns as they were.
fn moved(
    plan: Plan,
    judged: &BTreeSet<usize>,
    above: &mut Above,
) -> Result<(Plan, Vec<TypedExpr>), SqlError> {
    check()?;
    if is_lifted(&plan, judged)
        && let Plan::Join { left, right, equal, filter, .. } = plan
    {
        // What was judged of the left side still is; the left join itself is made above, whatever it reads.
        let (input, mut exprs) = moved(*left, judged, above)?;
        let equal = equal.into_iter().map(|(ours, theirs)| (substitute(ours, &exprs), theirs)).collect();
        let (right, mut theirs) = as_it_is(*right);
        let start = above.width;
        above.width += theirs.len();
        theirs.iter_mut().for_each(|expr| map_columns(expr, &mut |column| ABOVE + start + column));
        exprs.append(&mut theirs);
        let filter = filter.map(|filter| substitute(filter, &exprs));
        above.joins.push(Lifted { right, equal, filter });
        return Ok((input, exprs));
    }
    Ok(match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } => {
            let (on_left, on_right) = judged_sides(left.output().len(), &equal, filter.as_ref(), judged);
            let (left, mut exprs) = moved(*left, &on_left, above)?;
            let first = above.joins.len();
            let (right, mut theirs) = moved(*right, &on_right, above)?;
            let over = |(a, b): (TypedExpr, TypedExpr)| (substitute(a, &exprs), substitute(b, &theirs));
            let equal = equal.into_iter().map(over).collect();
            let width = left.output().len();
            let behind = |expr: &mut TypedExpr| {
                map_columns(expr, &mut |column| if column < ABOVE { column + width } else { column });
            };
            theirs.iter_mut().for_each(behind);
            for lifted in &mut above.joins[first..] {
                lifted.equal.iter_mut().for_each(|(ours, _)| behind(ours));
                lifted.filter.iter_mut().for_each(behind);
            }
            exprs.append(&mut theirs);
            let filter = filter.map(|filter| substitute(filter, &exprs));
            let (left, right) = (Box::new(left), Box::new(right));
            (Plan::Join { left, right, kind: JoinKind::Inner, equal, filter }, exprs)
        }
        Plan::Filter { input, predicate } if !predicate.is_volatile() => {
            let judged = judged.iter().copied().chain(columns_of(&predicate)).collect();
            let (input, exprs) = moved(*input, &judged, above)?;
            let predicate = substitute(predicate, &exprs);
            (Plan::Filter { input: Box::new(input), predicate }, exprs)
        }
        Plan::Project { input, exprs, .. } if is_renaming(&exprs) => {
            let (input, below) = moved(*input, &judged_below(&exprs, judged), above)?;
            let exprs = exprs.into_iter().map(|expr| substitute(expr, &below)).collect();
            (input, exprs)
        }
        plan => as_it_is(plan),
    })
}
