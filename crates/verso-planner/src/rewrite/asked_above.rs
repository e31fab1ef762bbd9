//! Queries of an input of a join that only compute something for its rows, asked above the join (rule `push`).
//!
//! ```text
//! Join(Project x, (SELECT … of the row), c)  ─►  Project …, (SELECT … of the row), … ─ Join(Project x, y, c)
//! ```
//!
//! J1. Nothing moves that a condition within or above the joins reads: it would be computed for the condition and again above.
//! J2. What moves is computed for the rows that the joins yield only; so an error in another row is not met. PostgreSQL does the same.
//!     What is lost where a row has several partners is small: the answer to a query that says the same again is kept.
//!
//! Termination: one pass over the tree of inner joins. What remains of an input has no query that could move.

use std::collections::BTreeSet;

use verso_env::recursion::check;
use verso_exec::plan::{ExprKind as K, JoinKind, Plan, TypedExpr};

use super::nothing;
use super::push::substitute;
use super::unnest::asks_of_the_row;
use crate::bind::{around_sort, columns_of, map_columns};
use crate::errors::SqlError;

/// Moves them above a tree of inner joins of whose rows these conditions are asked.
pub(super) fn asked_above(plan: &mut Plan, conditions: &[TypedExpr]) -> Result<(), SqlError> {
    if !matches!(plan, Plan::Join { kind: JoinKind::Inner, .. }) {
        return Ok(());
    }
    let judged = conditions.iter().flat_map(columns_of).collect();
    if !any_moves(plan, &judged, has_late)? {
        return Ok(());
    }
    let names = plan.output().into_iter().map(|column| column.name).collect();
    let whole = std::mem::replace(plan, nothing());
    let (input, exprs) = moved(whole, &judged)?;
    *plan = Plan::Project { input: Box::new(input), exprs, names };
    Ok(())
}

/// The expressions of a projection that ask queries and that nobody judges.
fn late(exprs: &[TypedExpr], judged: &BTreeSet<usize>) -> Vec<bool> {
    let is_late = |(at, expr): (usize, &TypedExpr)| {
        !judged.contains(&at) && asks_of_the_row(expr) && !expr.is_volatile()
    };
    exprs.iter().enumerate().map(is_late).collect()
}

/// Whether a projection only hands columns on.
pub(super) fn is_renaming(exprs: &[TypedExpr]) -> bool {
    exprs.iter().all(|expr| matches!(expr.kind, K::Column(_)))
}

/// The columns of an input that are judged where those of a projection over it are.
pub(super) fn judged_below(exprs: &[TypedExpr], judged: &BTreeSet<usize>) -> BTreeSet<usize> {
    judged.iter().filter_map(|at| exprs.get(*at)).flat_map(columns_of).collect()
}

/// The columns of both sides of a join that are judged, each by its place within the side.
pub(super) fn judged_sides(
    width: usize,
    equal: &[(TypedExpr, TypedExpr)],
    filter: Option<&TypedExpr>,
    judged: &BTreeSet<usize>,
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let both: BTreeSet<usize> =
        judged.iter().copied().chain(filter.into_iter().flat_map(columns_of)).collect();
    let mut left: BTreeSet<usize> = both.iter().copied().filter(|at| *at < width).collect();
    let mut right: BTreeSet<usize> = both.iter().filter_map(|at| at.checked_sub(width)).collect();
    for (ours, theirs) in equal {
        left.extend(columns_of(ours));
        right.extend(columns_of(theirs));
    }
    (left, right)
}

/// Whether something of a plan can move: `moves` says it of what stands below inner joins, filters and columns that are handed on, of
/// which these columns are judged.
pub(super) fn any_moves(
    plan: &Plan,
    judged: &BTreeSet<usize>,
    moves: fn(&Plan, &BTreeSet<usize>) -> bool,
) -> Result<bool, SqlError> {
    check()?;
    Ok(match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } => {
            let (on_left, on_right) = judged_sides(left.output().len(), equal, filter.as_ref(), judged);
            any_moves(left, &on_left, moves)? || any_moves(right, &on_right, moves)?
        }
        Plan::Filter { input, predicate } if !predicate.is_volatile() => {
            let judged = judged.iter().copied().chain(columns_of(predicate)).collect();
            any_moves(input, &judged, moves)?
        }
        Plan::Project { input, exprs, .. } if is_renaming(exprs) => {
            any_moves(input, &judged_below(exprs, judged), moves)?
        }
        plan => moves(plan, judged),
    })
}

/// Whether a projection has something that moves.
fn has_late(plan: &Plan, judged: &BTreeSet<usize>) -> bool {
    matches!(plan, Plan::Project { exprs, .. } if late(exprs, judged).contains(&true))
}

/// A plan without what moves, and its columns as they were, computed over those that it has now.
fn moved(plan: Plan, judged: &BTreeSet<usize>) -> Result<(Plan, Vec<TypedExpr>), SqlError> {
    check()?;
    Ok(match plan {
        Plan::Join { left, right, kind: JoinKind::Inner, equal, filter } => {
            let (on_left, on_right) = judged_sides(left.output().len(), &equal, filter.as_ref(), judged);
            let (left, mut exprs) = moved(*left, &on_left)?;
            let (right, mut theirs) = moved(*right, &on_right)?;
            let over = |(a, b): (TypedExpr, TypedExpr)| (substitute(a, &exprs), substitute(b, &theirs));
            let equal = equal.into_iter().map(over).collect();
            let width = left.output().len();
            theirs.iter_mut().for_each(|expr| map_columns(expr, &mut |column| column + width));
            exprs.append(&mut theirs);
            let filter = filter.map(|filter| substitute(filter, &exprs));
            let (left, right) = (Box::new(left), Box::new(right));
            (Plan::Join { left, right, kind: JoinKind::Inner, equal, filter }, exprs)
        }
        Plan::Filter { input, predicate } if !predicate.is_volatile() => {
            let judged = judged.iter().copied().chain(columns_of(&predicate)).collect();
            let (input, exprs) = moved(*input, &judged)?;
            let predicate = substitute(predicate, &exprs);
            (Plan::Filter { input: Box::new(input), predicate }, exprs)
        }
        Plan::Project { input, exprs, .. } if is_renaming(&exprs) => {
            let (input, below) = moved(*input, &judged_below(&exprs, judged))?;
            let exprs = exprs.into_iter().map(|expr| substitute(expr, &below)).collect();
            (input, exprs)
        }
        Plan::Project { input, exprs, names } => {
            let late = late(&exprs, judged);
            if !late.contains(&true) {
                return Ok(as_it_is(Plan::Project { input, exprs, names }));
            }
            let (below, above) = around_sort(exprs, &late, &input.output());
            let names = below.iter().map(|_| "?column?".into()).collect();
            (Plan::Project { input, exprs: below, names }, above)
        }
        plan => as_it_is(plan),
    })
}

/// A plan and its columns.
pub(super) fn as_it_is(plan: Plan) -> (Plan, Vec<TypedExpr>) {
    let output = plan.output();
    let columns = output.iter().enumerate().map(|(at, column)| TypedExpr::column(at, column.seen()));
    let columns = columns.collect();
    (plan, columns)
}
