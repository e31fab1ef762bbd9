//! Orders that an index has.

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_exec::plan::{KeyMatch, Plan, SortKey, TypedExpr};

use super::derived::{Derived, serving};
use super::{may_use, path, terms, through};
use crate::bind::replace_columns;
use crate::estimate::Estimate;
use crate::hints::Hints;

/// A sort key as a column of a table: its number in storage, the collation of its keys, DESC, NULLS FIRST.
type Wanted = (u16, Option<String>, bool, bool);

/// Whether a plan's rows come in this order already.
pub(super) fn is_in(plan: &mut Plan, keys: &[SortKey], estimate: Estimate<'_>) -> bool {
    let Some((scan, wanted)) = below(plan, unbound(keys), estimate) else { return false };
    let Plan::IndexScan { table, access, .. } = scan else { return false };
    if access.index.is_inverted() {
        return false;
    }
    // Half a table is sorted faster than it is read in order.
    if access.instead.is_some()
        && access.equals.is_empty()
        && (access.lower.is_none() || access.upper.is_none())
    {
        return false;
    }
    match direction(table, &access.index, &access.equals, &wanted) {
        // The direction is free where nothing has fixed it yet.
        Some(descending) => {
            access.descending = descending;
            access.instead = None;
            true
        }
        None => false,
    }
}

/// Makes a plan's rows come in this order by an index, if there is one: for a plan of which the first rows are wanted.
pub(super) fn by_index(
    plan: &mut Plan,
    keys: &[SortKey],
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> bool {
    let Some((scan, wanted)) = below(plan, unbound(keys), estimate) else { return false };
    let Plan::TableScan { table, columns, filter } = scan else { return false };
    let derived = Derived::of(table, estimate);
    let found = filter.as_ref().map(|filter| terms::of(table, columns, filter, &derived)).unwrap_or_default();
    // An index that finds few rows is better than one that has them in order.
    let best = path(table, columns, filter.as_ref(), estimate, hints);
    let usable = serving(table, &derived, columns, filter.as_ref());
    let ordered = usable.filter(|index| may_use(hints, table, index)).find_map(|index| {
        let path = through(index, &found);
        let descending = direction(table, index, &path.access.equals, &wanted)?;
        let enough = best.as_ref().is_none_or(|best| best.access.equals.len() <= path.access.equals.len());
        enough.then_some((path, descending))
    });
    let Some((mut path, descending)) = ordered else { return false };
    drop(found);
    path.access.descending = descending;
    if let Some(hints) = hints {
        hints.follow_scan(table.oid.0, Some(&path.access.index.name));
    }
    let (table, columns) = (Arc::clone(table), std::mem::take(columns));
    let filter = path.rest(filter.take());
    *scan = Plan::IndexScan { table, columns, access: path.access, filter };
    true
}

/// A sort key: an expression over a plan's columns, DESC, NULLS FIRST.
type Key = (TypedExpr, bool, bool);

fn unbound(keys: &[SortKey]) -> Vec<Key> {
    keys.iter().map(|key| (key.expr.clone(), key.descending, key.nulls_first)).collect()
}

/// The scan below projections, and the order wanted as columns of its table.
fn below<'p>(
    plan: &'p mut Plan,
    mut keys: Vec<Key>,
    estimate: Estimate<'_>,
) -> Option<(&'p mut Plan, Vec<Wanted>)> {
    match plan {
        Plan::Project { input, exprs, names: _ } => {
            for (key, _, _) in &mut keys {
                replace_columns(key, &mut |column, ty| {
                    exprs.get(column).cloned().unwrap_or_else(|| TypedExpr::null(ty.clone()))
                });
            }
            below(input, keys, estimate)
        }
        Plan::Filter { input, predicate: _ } => below(input, keys, estimate),
        Plan::TableScan { table, columns, .. } | Plan::IndexScan { table, columns, .. } => {
            let derived = Derived::of(table, estimate);
            let wanted = |(key, descending, nulls_first): Key| {
                let (column, spec) = terms::ordered_column(table, columns, &derived, &key)?;
                Some((column, spec, descending, nulls_first))
            };
            let wanted = keys.into_iter().map(wanted).collect::<Option<Vec<_>>>()?;
            Some((plan, wanted))
        }
        _ => None,
    }
}

/// In which direction an index has the order, given what its first parts equal. `None`: in neither.
fn direction(table: &TableDef, index: &IndexDef, equals: &[KeyMatch], wanted: &[Wanted]) -> Option<bool> {
    // What has one value only needs no place in the order. Of an IN list the parts behind are not in order.
    let fixed = |n: usize| equals.get(n).is_some_and(|part| !matches!(part, KeyMatch::In(_)));
    let constant =
        |column: u16| index.parts.iter().enumerate().any(|(n, part)| fixed(n) && part.column == column);
    let not_null = |column: u16| table.column_with_id(column).is_some_and(|at| table.is_never_null(at));
    let mut direction = None;
    let mut next = 0;
    for (column, spec, descending, nulls_first) in wanted {
        if constant(*column) {
            continue;
        }
        while fixed(next) {
            next += 1;
        }
        let part = index.parts.get(next)?;
        let collator = part.collation.as_ref().and_then(|collation| collation.collator);
        if part.column != *column || collator.map(|collator| collator.spec()) != spec.as_deref() {
            return None;
        }
        let reversed = part.descending != *descending;
        let nulls_fit = (part.nulls_first != reversed) == *nulls_first || not_null(*column);
        if !nulls_fit || direction.is_some_and(|direction| direction != reversed) {
            return None;
        }
        direction = Some(reversed);
        next += 1;
    }
    Some(direction.unwrap_or(false))
}
