//! Orders that an index has.

use verso_catalog::{IndexDef, TableDef};
use verso_exec::plan::{IndexAccess, JoinKind, KeyMatch, Plan, SortKey, TypedExpr};

use super::derived::{Derived, serving};
use super::partition::parts;
use super::{may_use, path, terms, through};
use crate::bind::{columns_of, replace_columns};
use crate::estimate::{Estimate, FETCH, PROBE, SCAN};
use crate::hints::Hints;

/// So many times fewer rows have to be walked in order than another index finds: those that fit may all be at its end.
const SOON: f64 = 4.0;

/// A sort key as a column of a table: its number in storage, the collation of its keys, DESC, NULLS FIRST.
type Wanted = (u16, Option<String>, bool, bool);

/// Whether a plan's rows come in this order already.
pub(super) fn is_in(plan: &mut Plan, keys: &[SortKey], estimate: Estimate<'_>) -> bool {
    let Some((scan, wanted)) = below(plan, unbound(keys), estimate, false) else { return false };
    let Plan::IndexScan { table, access, .. } = scan else { return false };
    if access.finds_candidates() {
        return false;
    }
    // Half a table is sorted faster than it is read in order.
    if access.instead.is_some()
        && access.equals.is_empty()
        && (access.lower.is_none() || access.upper.is_none())
        && access.spans.is_empty()
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

/// Whether the rows of a scan can come in this order by an index.
pub(crate) fn has_order(scan: &Plan, keys: &[SortKey], estimate: Estimate<'_>) -> bool {
    by_index(&mut scan.clone(), keys, None, estimate, None)
}

/// The same where an index is read anyway, whatever the order.
pub(super) fn is_in_already(plan: &mut Plan, keys: &[SortKey], estimate: Estimate<'_>) -> bool {
    let read = below(plan, unbound(keys), estimate, false);
    let read = matches!(read, Some((Plan::IndexScan { access, .. }, _)) if access.instead.is_none());
    read && is_in(plan, keys, estimate)
}

/// Whether so few of the rows are wanted that reading a scan in the order of an index pays: of a join the one on its left, in any case
/// where `joined` is said; without a join it always does.
pub(super) fn few_are_enough(
    plan: &Plan,
    wanted: Option<f64>,
    mut joined: bool,
    estimate: Estimate<'_>,
) -> bool {
    let mut scan = plan;
    loop {
        scan = match scan {
            Plan::Project { input, .. } | Plan::Filter { input, .. } => input,
            Plan::Join { left, .. } | Plan::Apply { left, .. } | Plan::Semi { left, .. } => {
                joined = true;
                left
            }
            other => {
                let Plan::TableScan { table, .. } = other else { return !joined };
                let Some(wanted) = wanted.filter(|_| joined) else { return !joined };
                let all = estimate.table(table);
                return (wanted * all / estimate.rows(plan)).min(all) * FETCH < all * (SCAN + PROBE);
            }
        }
    }
}

/// Makes a plan's rows come in this order by an index, if there is one: for a plan of which the first rows are wanted, `first` of
/// them where the number is known. A join that goes to files loses the order: a sort stays above joins, which lets rows through
/// as they come where they come in order.
pub(super) fn by_index(
    plan: &mut Plan,
    keys: &[SortKey],
    first: Option<f64>,
    estimate: Estimate<'_>,
    hints: Option<&Hints>,
) -> bool {
    if !few_are_enough(plan, first, false, estimate) {
        return false;
    }
    let Some((scan, wanted)) = below(plan, unbound(keys), estimate, true) else { return false };
    let matching = estimate.rows(scan);
    let Plan::TableScan { table, columns, filter } = scan else { return false };
    // So many rows are walked until there are enough that fulfil the filter.
    let walked = first.map_or(f64::INFINITY, |first| first * estimate.table(table) / matching);
    let derived = Derived::of(table, estimate);
    let found = filter.as_ref().map(|filter| terms::of(table, columns, filter, &derived)).unwrap_or_default();
    // An index that finds few rows is better than one that has them in order.
    let best = path(table, columns, filter.as_ref(), estimate, hints);
    let usable = serving(table, &derived, columns, filter.as_ref());
    let ordered = usable.filter(|index| may_use(hints, table, index, estimate)).find_map(|index| {
        let path = through(index, &found);
        let descending = direction(table, index, &path.access.equals, &wanted)?;
        let enough = best.as_ref().is_none_or(|best| {
            let found = |access: &IndexAccess| estimate.access(table, access);
            let soon = || walked * SOON < found(&best.access);
            match estimate.is_known(table) {
                true if first.is_some() => found(&path.access) <= found(&best.access) || soon(),
                _ if best.access.together.is_some() => false,
                _ => best.access.equals.len() <= path.access.equals.len(),
            }
        });
        enough.then_some((path, descending))
    });
    let Some((mut path, descending)) = ordered else { return false };
    drop(found);
    path.access.descending = descending;
    if let Some(hints) = hints {
        hints.follow_scan(table.oid.0, Some(&path.access.index.name));
    }
    let (table, columns) = (table.clone(), std::mem::take(columns));
    let filter = path.rest(filter.take());
    *scan = Plan::IndexScan { table, columns, access: path.access, filter };
    if may_be_lost(plan) {
        let (input, keys) = (Box::new(std::mem::replace(plan, super::nothing())), keys.to_vec());
        let sorted = keys.len();
        *plan = Plan::Sort { input, keys, sorted };
    }
    true
}

/// Whether an operator between a plan's rows and the scan on the left may yield them in another order: one that holds its other
/// input in memory, if that allows it.
pub(super) fn may_be_lost(plan: &Plan) -> bool {
    match plan {
        Plan::Project { input, .. } | Plan::Filter { input, .. } => may_be_lost(input),
        Plan::Apply { left, .. } => may_be_lost(left),
        Plan::TableScan { .. } | Plan::IndexScan { .. } => false,
        _ => true,
    }
}

/// Lets the parts of a table, or of UNION ALL, yield no more rows each than are wanted of all together, where an index has the order. `bound`
/// says how many. A partitioned table stands as its partitions then.
pub(super) fn of_parts(plan: &mut Plan, keys: &[SortKey], bound: &TypedExpr, estimate: Estimate<'_>) {
    let mut keys = keys.to_vec();
    let mut scan = plan;
    while let Plan::Project { input, exprs, .. } = scan {
        keys.iter_mut().for_each(|key| beneath(&mut key.expr, exprs));
        scan = input;
    }
    if let Plan::TableScan { table, columns, filter } = scan
        && table.partitioned.is_some()
    {
        *scan = parts(table, columns, filter.as_ref(), estimate);
    }
    let Plan::Append { inputs, .. } = scan else { return };
    for input in inputs {
        if has_order(input, &keys, estimate) {
            let part = std::mem::replace(input, super::nothing());
            let sort = Plan::Sort { input: Box::new(part), keys: keys.clone(), sorted: 0 };
            *input = Plan::Limit {
                input: Box::new(sort),
                limit: Some(bound.clone()),
                offset: None,
                ties: Vec::new(),
            };
        }
    }
}

/// A sort key: an expression over a plan's columns, DESC, NULLS FIRST.
type Key = (TypedExpr, bool, bool);

fn unbound(keys: &[SortKey]) -> Vec<Key> {
    keys.iter().map(|key| (key.expr.clone(), key.descending, key.nulls_first)).collect()
}

/// A key over the rows of a projection, as one over its input's.
pub(super) fn beneath(key: &mut TypedExpr, exprs: &[TypedExpr]) {
    replace_columns(key, &mut |column, ty| {
        exprs.get(column).cloned().unwrap_or_else(|| TypedExpr::null(ty.clone()))
    });
}

/// The scan below projections, and below joins on their left if these are looked through, and the order wanted as columns of its
/// table.
fn below<'p>(
    plan: &'p mut Plan,
    mut keys: Vec<Key>,
    estimate: Estimate<'_>,
    joins: bool,
) -> Option<(&'p mut Plan, Vec<Wanted>)> {
    if let Plan::Join { left, kind: JoinKind::Inner | JoinKind::Left, .. }
    | Plan::Apply { left, .. }
    | Plan::Semi { left, .. } = &*plan
    {
        let width = left.output().len();
        let on_left = |(key, ..): &Key| columns_of(key).iter().all(|column| *column < width);
        if !joins || !keys.iter().all(on_left) {
            return None;
        }
    } else if matches!(plan, Plan::Join { .. }) {
        return None;
    }
    match plan {
        Plan::Project { input, exprs, names: _ } => {
            keys.iter_mut().for_each(|(key, ..)| beneath(key, exprs));
            below(input, keys, estimate, joins)
        }
        Plan::Filter { input, predicate: _ } => below(input, keys, estimate, joins),
        // The left input gives the order.
        Plan::Join { left, .. } | Plan::Apply { left, .. } | Plan::Semi { left, .. } => {
            below(left, keys, estimate, joins)
        }
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
    let fixed =
        |n: usize| equals.get(n).is_some_and(|part| !matches!(part, KeyMatch::In(_) | KeyMatch::Any(_)));
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
