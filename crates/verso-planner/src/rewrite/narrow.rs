//! Rule `narrow`: columns that nothing uses, left out.
//!
//! A plan read in several places is narrowed to what any of them uses, where all of them are within one plan: the first pass notes what
//! each uses, a second one gives them the narrower plan.
//!
//! Termination: two passes at most, each operator once in each (R3).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use verso_exec::plan::{AggregateCall, OutputColumn, Plan, TypedExpr, WindowCall};

use crate::bind::{columns_of, map_columns};
use crate::errors::SqlError;
use verso_env::recursion::check;

/// Plans read in several places, by address.
#[derive(Default)]
struct Shares {
    /// How many readers have been met, and which columns they use.
    noted: HashMap<*const Plan, (usize, BTreeSet<usize>)>,
    narrower: HashMap<*const Plan, Narrower>,
    /// All readers have been met.
    complete: bool,
}

/// A plan read in several places.
struct Narrower {
    /// As it was, which keeps the address.
    _whole: Arc<Plan>,
    /// With fewer columns.
    plan: Arc<Plan>,
    /// Which it yields.
    kept: Vec<usize>,
}

/// Narrows everything below; the plan itself yields what it did. `reads` says how many readers a shared plan has.
pub fn narrow(plan: &mut Plan, reads: &HashMap<*const Plan, usize>) -> Result<(), SqlError> {
    let mut shares = Shares::default();
    whole(plan, &mut shares)?;
    let all_here = |address: &*const Plan, met: usize| reads.get(address) == Some(&met);
    if shares.noted.iter().any(|(address, (met, _))| all_here(address, *met)) {
        shares.noted.retain(|address, (met, _)| all_here(address, *met));
        shares.complete = true;
        whole(plan, &mut shares)?;
    }
    Ok(())
}

/// Narrows everything below a plan whose columns are all wanted.
fn whole(plan: &mut Plan, shares: &mut Shares) -> Result<(), SqlError> {
    let all: BTreeSet<usize> = (0..plan.output().len()).collect();
    let kept = to(plan, &all, shares)?;
    debug_assert_eq!(kept.len(), all.len(), "all columns were asked for");
    Ok(())
}

/// A reader of a shared plan: what it uses is noted, or it reads the narrower plan.
fn reader(
    shared: &mut Arc<Plan>,
    columns: &mut Vec<OutputColumn>,
    needed: &BTreeSet<usize>,
    shares: &mut Shares,
) -> Result<Vec<usize>, SqlError> {
    let address = Arc::as_ptr(shared);
    let width = columns.len();
    if !shares.narrower.contains_key(&address) {
        match shares.noted.get_mut(&address) {
            // All of its readers have been met.
            Some((_, used)) if shares.complete => {
                let used = std::mem::take(used);
                let mut own = Plan::clone(shared);
                let kept = to(&mut own, &used, &mut Shares::default())?;
                let known = Narrower { _whole: Arc::clone(shared), plan: Arc::new(own), kept };
                shares.narrower.insert(address, known);
            }
            None if shares.complete => return Ok((0..width).collect()),
            _ => {
                let (met, used) = shares.noted.entry(address).or_default();
                *met += 1;
                used.extend(needed);
                return Ok((0..width).collect());
            }
        }
    }
    let Some(Narrower { plan, kept, .. }) = shares.narrower.get(&address) else {
        return Ok((0..width).collect());
    };
    *shared = Arc::clone(plan);
    *columns = kept.iter().map(|at| columns[*at].clone()).collect();
    Ok(kept.clone())
}

/// Narrows the plan to at least the columns `needed`; which it yields now, ascending.
fn to(plan: &mut Plan, needed: &BTreeSet<usize>, shares: &mut Shares) -> Result<Vec<usize>, SqlError> {
    check()?;
    let merges = matches!(plan, Plan::MergeJoin { .. });
    Ok(match plan {
        Plan::TableScan { columns, filter, .. } => {
            let mut wanted = needed.clone();
            wanted.extend(filter.iter().flat_map(columns_of));
            let kept: Vec<usize> = wanted.into_iter().collect();
            *columns = kept.iter().map(|index| columns[*index]).collect();
            filter.iter_mut().for_each(|filter| renumber(filter, &kept));
            kept
        }
        Plan::FileScan { columns, .. } => {
            let kept: Vec<usize> = needed.iter().copied().collect();
            *columns = kept.iter().map(|index| columns[*index]).collect();
            kept
        }
        Plan::SystemScan { columns, output, .. } => {
            let kept: Vec<usize> = needed.iter().copied().collect();
            *columns = kept.iter().map(|index| columns[*index]).collect();
            *output = kept.iter().map(|index| output[*index].clone()).collect();
            kept
        }
        Plan::Project { input, exprs, names } => {
            // What a volatile function does is done, whoever reads what it says.
            let volatile = exprs.iter().enumerate().filter(|(_, expr)| expr.is_volatile());
            let wanted: BTreeSet<usize> = volatile.map(|(at, _)| at).chain(needed.iter().copied()).collect();
            let kept: Vec<usize> = wanted.into_iter().collect();
            *exprs = kept.iter().map(|index| exprs[*index].clone()).collect();
            *names = kept.iter().map(|index| names[*index].clone()).collect();
            over(input, exprs.iter_mut(), shares)?;
            kept
        }
        Plan::Filter { input, predicate } => {
            let mut wanted = needed.clone();
            wanted.extend(columns_of(predicate));
            let kept = to(input, &wanted, shares)?;
            renumber(predicate, &kept);
            kept
        }
        Plan::Sort { input, keys, .. } => {
            let mut wanted = needed.clone();
            wanted.extend(keys.iter().flat_map(|key| columns_of(&key.expr)));
            let kept = to(input, &wanted, shares)?;
            keys.iter_mut().for_each(|key| renumber(&mut key.expr, &kept));
            kept
        }
        Plan::Limit { input, ties, .. } => {
            let mut wanted = needed.clone();
            wanted.extend(ties.iter().flat_map(columns_of));
            let kept = to(input, &wanted, shares)?;
            ties.iter_mut().for_each(|tie| renumber(tie, &kept));
            kept
        }
        Plan::DistinctOn { input, keys } => {
            let mut wanted = needed.clone();
            wanted.extend(keys.iter().flat_map(columns_of));
            let kept = to(input, &wanted, shares)?;
            keys.iter_mut().for_each(|key| renumber(key, &kept));
            kept
        }
        // The columns of its functions stay.
        Plan::Window { input, partition_by, order_by, calls, .. } => {
            let functions = calls.len();
            let exprs = partition_by
                .iter_mut()
                .chain(order_by.iter_mut().map(|key| &mut key.expr))
                .chain(calls.iter_mut().flat_map(WindowCall::exprs_mut));
            beside(input, needed, exprs.collect(), functions, shares)?
        }
        Plan::ProjectSet { input, calls, ordinality, unread } => {
            let made: usize = calls.iter().map(|call| call.columns.len()).sum();
            let args = calls.iter_mut().flat_map(|call| call.call.args_mut()).collect();
            let made = made + usize::from(*ordinality);
            let kept = beside(input, needed, args, made, shares)?;
            *unread = unread_of(&kept[..kept.len() - made], needed);
            kept
        }
        Plan::Past { input, .. } => to(input, needed, shares)?,
        // Its last column is the record's place.
        Plan::LockRows { input, .. } => {
            let width = input.output().len();
            to(input, &(0..width).collect(), shares)?
        }
        Plan::SortedAggregate { input, group_by, aggregates } => {
            let width = group_by.len() + aggregates.len();
            let arguments = aggregates.iter_mut().flat_map(AggregateCall::exprs_mut);
            over(input, group_by.iter_mut().chain(arguments), shares)?;
            (0..width).collect()
        }
        Plan::Aggregate { input, group_by, aggregates, sets } => {
            let groupings = sets.as_ref().map_or(0, |sets| sets.calls.len());
            let width = group_by.len() + aggregates.len() + groupings;
            let arguments = aggregates.iter_mut().flat_map(AggregateCall::exprs_mut);
            over(input, group_by.iter_mut().chain(arguments), shares)?;
            (0..width).collect()
        }
        Plan::Join { left, right, equal, filter, .. } | Plan::MergeJoin { left, right, equal, filter } => {
            let width = left.output().len();
            let (ours, theirs) = sides((left, right), needed, equal, filter.as_mut(), !merges, shares)?;
            joined(ours, &theirs, width)
        }
        // The columns of its right side end in it.
        Plan::Semi { left, right, equal, filter, .. } => {
            sides((left, right), needed, equal, filter.as_mut(), true, shares)?.0
        }
        Plan::Apply { left, right, outer, filter, unread, .. } => {
            let width = left.output().len();
            let mut wanted = needed.clone();
            wanted.extend(filter.iter().flat_map(columns_of));
            let (mut ours, theirs) = halves(&wanted, width);
            ours.extend(outer.iter().flat_map(columns_of));
            let (ours, theirs) = (to(left, &ours, shares)?, to(right, &theirs, shares)?);
            outer.iter_mut().for_each(|expr| renumber(expr, &ours));
            *unread = unread_of(&ours, &wanted);
            let kept = joined(ours, &theirs, width);
            filter.iter_mut().for_each(|filter| renumber(filter, &kept));
            kept
        }
        Plan::Shared { plan, columns, .. } => reader(plan, columns, needed, shares)?,
        // Rows are compared as a whole, counted against each other, or made elsewhere.
        Plan::Distinct { .. }
        | Plan::Single { .. }
        | Plan::Barrier { .. }
        | Plan::Estimated { .. }
        | Plan::Append { .. }
        | Plan::SetOperation { .. }
        | Plan::Recursive { .. }
        | Plan::Values { .. }
        | Plan::External { .. }
        | Plan::IndexScan { .. }
        | Plan::CurrentRow { .. }
        | Plan::FunctionScan { .. }
        | Plan::Transition { .. }
        | Plan::WorkTable { .. } => {
            let width = plan.output().len();
            let mut result = Ok(());
            plan.for_each_input_mut(&mut |input| {
                if result.is_ok() {
                    result = whole(input, shares);
                }
            });
            result?;
            (0..width).collect()
        }
    })
}

/// Narrows the input of an operator that adds so many columns, computed by these expressions, to the input's.
fn beside(
    input: &mut Plan,
    needed: &BTreeSet<usize>,
    exprs: Vec<&mut TypedExpr>,
    added: usize,
    shares: &mut Shares,
) -> Result<Vec<usize>, SqlError> {
    let width = input.output().len();
    let mut wanted: BTreeSet<usize> = needed.range(..width).copied().collect();
    wanted.extend(exprs.iter().flat_map(|expr| columns_of(expr)));
    let kept = to(input, &wanted, shares)?;
    exprs.into_iter().for_each(|expr| renumber(expr, &kept));
    Ok(kept.into_iter().chain(width..width + added).collect())
}

/// Narrows both sides of a join to the columns `needed` of both, and those of its conditions; what each yields now. Right rows may be
/// held in memory.
fn sides(
    (left, right): (&mut Plan, &mut Plan),
    needed: &BTreeSet<usize>,
    equal: &mut [(TypedExpr, TypedExpr)],
    filter: Option<&mut TypedExpr>,
    held: bool,
    shares: &mut Shares,
) -> Result<(Vec<usize>, Vec<usize>), SqlError> {
    let width = left.output().len();
    let mut wanted = needed.clone();
    wanted.extend(filter.iter().flat_map(|filter| columns_of(filter)));
    let (mut ours, mut theirs) = halves(&wanted, width);
    ours.extend(equal.iter().flat_map(|(left, _)| columns_of(left)));
    theirs.extend(equal.iter().flat_map(|(_, right)| columns_of(right)));
    let needed = theirs;
    let (ours, theirs) = (to(left, &ours, shares)?, to(right, &needed, shares)?);
    let theirs = if held { without_judged(right, theirs, &needed) } else { theirs };
    for (left, right) in equal {
        renumber(left, &ours);
        renumber(right, &theirs);
    }
    if let Some(filter) = filter {
        renumber(filter, &joined(ours.clone(), &theirs, width));
    }
    Ok((ours, theirs))
}

/// Leaves out of the rows of a scan, which are to be held in memory, the columns that only its condition needs; which it yields then.
fn without_judged(plan: &mut Plan, kept: Vec<usize>, needed: &BTreeSet<usize>) -> Vec<usize> {
    if !matches!(plan, Plan::TableScan { .. }) || needed.is_empty() || kept.len() == needed.len() {
        return kept;
    }
    let output = plan.output();
    let left = kept.iter().enumerate().filter(|(_, column)| needed.contains(column));
    let (exprs, names) =
        left.map(|(at, _)| (TypedExpr::column(at, output[at].seen()), Arc::clone(&output[at].name))).unzip();
    let input = Box::new(std::mem::replace(plan, super::nothing()));
    *plan = Plan::Project { input, exprs, names };
    needed.iter().copied().collect()
}

/// Narrows an input to what these expressions use.
fn over<'e>(
    input: &mut Plan,
    exprs: impl Iterator<Item = &'e mut TypedExpr>,
    shares: &mut Shares,
) -> Result<(), SqlError> {
    let exprs: Vec<&mut TypedExpr> = exprs.collect();
    let wanted = exprs.iter().flat_map(|expr| columns_of(expr)).collect();
    let kept = to(input, &wanted, shares)?;
    exprs.into_iter().for_each(|expr| renumber(expr, &kept));
    Ok(())
}

/// Which are of the left `width` columns, and which of the others.
fn halves(columns: &BTreeSet<usize>, width: usize) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let left = columns.range(..width).copied().collect();
    (left, columns.range(width..).map(|column| column - width).collect())
}

/// Places among the columns `kept` of those that nobody reads but the operator itself.
fn unread_of(kept: &[usize], read: &BTreeSet<usize>) -> Vec<usize> {
    (0..kept.len()).filter(|at| !read.contains(&kept[*at])).collect()
}

fn joined(mut left: Vec<usize>, right: &[usize], width: usize) -> Vec<usize> {
    left.extend(right.iter().map(|column| column + width));
    left
}

/// The expression over the columns kept.
fn renumber(expr: &mut TypedExpr, kept: &[usize]) {
    map_columns(expr, &mut |column| kept.binary_search(&column).unwrap_or(column));
}
