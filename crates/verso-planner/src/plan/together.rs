//! Several indexes together: what an OR of conditions on several columns finds, and what two conditions find that one index
//! does not have both of.
//!
//! ```text
//! a = 1 OR b = 2   ─► places of the records that either index finds, united ───┐
//! a = 1 AND b = 2  ─► places of those that both indexes find, intersected ─────┴► rows, page by page ─► the whole filter
//! ```
//!
//! 1. Every branch of the OR has an index, or none is used.
//! 2. The filter stays as it is: what indexes find is tested again (S1 of `verso-storage`, `index/search.rs`).
//! 3. Places are cheap beside rows: two indexes pay where the places of both are fewer steps than the rows of one.

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_env::stack;
use verso_exec::plan::{ExprKind, IndexAccess, Together, TypedExpr};

use super::derived::{Derived, serving};
use super::{Path, may_use, path, terms, through};
use crate::estimate::{Estimate, FETCH, LOOKUP, SCAN};
use crate::hints::Hints;

/// Steps: a place taken from an index, and sorted among the others.
const PLACE: f64 = 8.0;
/// A second index has to be so many times cheaper, as the estimate takes its condition to be independent of the first.
const GAIN: f64 = 2.0;
/// Branches of an OR beyond which it is not looked at.
const BRANCHES_MAX: usize = 1_000;

/// A scan for which several indexes are considered.
#[derive(Clone, Copy)]
pub(super) struct Choice<'c> {
    pub table: &'c TableDef,
    pub columns: &'c [usize],
    pub estimate: Estimate<'c>,
    pub hints: Option<&'c Hints>,
}

impl Choice<'_> {
    /// Several indexes for a filter, where they are cheaper than the best one alone.
    pub fn of(&self, filter: &TypedExpr, alone: Option<&Path>) -> Option<Path> {
        if alone.is_some_and(|alone| alone.access.is_point()) {
            return None;
        }
        let known = self.estimate.is_known(self.table);
        let rows = self.estimate.table(self.table);
        let limit = match alone {
            Some(alone) if known => LOOKUP + self.estimate.access(self.table, &alone.access) * FETCH,
            // Nothing is known of how many rows an index finds: one is enough.
            Some(_) => return None,
            None => rows * SCAN,
        };
        let any = self.any(filter).filter(|any| self.cost(any) < limit);
        let limit = any.as_ref().map_or(limit, |any| self.cost(any));
        let both = alone.filter(|_| known).and_then(|alone| self.both(filter, alone));
        let access = both.filter(|both| self.cost(both) * GAIN < limit).or(any)?;
        Some(Path { access, said: Vec::new() })
    }

    /// What the accesses cost, the rows that they find together included.
    fn cost(&self, access: &IndexAccess) -> f64 {
        let rows = self.estimate.access(self.table, access);
        rows * FETCH + self.places(access)
    }

    fn places(&self, access: &IndexAccess) -> f64 {
        match &access.together {
            Some(together) => together.parts.iter().map(|part| self.places(part)).sum(),
            None => LOOKUP + self.estimate.access(self.table, access) * PLACE,
        }
    }

    /// The OR of a filter whose branches find the fewest rows.
    fn any(&self, filter: &TypedExpr) -> Option<IndexAccess> {
        let mut best: Option<IndexAccess> = None;
        let mut n = 0;
        terms::for_each_conjunct(filter, &mut |conjunct| {
            if let ExprKind::Or(branches) = &conjunct.kind
                && let Some(access) = self.each(branches, n)
                && best.as_ref().is_none_or(|best| self.cost(&access) < self.cost(best))
            {
                best = Some(access);
            }
            n += 1;
        });
        best
    }

    /// An access for each branch of an OR, which is the `n`th conjunct.
    fn each(&self, branches: &[TypedExpr], n: usize) -> Option<IndexAccess> {
        if branches.len() > BRANCHES_MAX || stack::check().is_err() {
            return None;
        }
        let mut whole = true;
        let part = |branch: &TypedExpr| {
            let found = path(self.table, self.columns, Some(branch), self.estimate, self.hints)?;
            let (part, says_all) = said(found, branch);
            whole &= says_all;
            Some(part)
        };
        let parts = branches.iter().map(part).collect::<Option<Vec<_>>>()?;
        let conjuncts = whole.then_some(n).into_iter().collect();
        Some(united(Together { all: false, parts, conjuncts }))
    }

    /// The best access, and the one by another index that leaves out most of what it finds.
    fn both(&self, filter: &TypedExpr, alone: &Path) -> Option<IndexAccess> {
        if alone.said.is_empty() || alone.access.together.is_some() {
            return None;
        }
        let derived = Derived::of(self.table, self.estimate);
        let found = terms::of(self.table, self.columns, filter, &derived);
        let other = |index: &&Arc<IndexDef>| {
            index.name != alone.access.index.name && may_use(self.hints, self.table, index, self.estimate)
        };
        let paths = serving(self.table, &derived, self.columns, Some(filter)).filter(other);
        let adds = |path: &Path| !path.said.is_empty() && path.said.iter().all(|n| !alone.said.contains(n));
        let rows = |path: &Path| self.estimate.access(self.table, &path.access);
        let second = paths.map(|index| through(index, &found)).filter(adds);
        let second = second.min_by(|one, other| rows(one).total_cmp(&rows(other)))?;
        let conjuncts = alone.said.iter().chain(&second.said).copied().collect();
        let alone = Path { access: alone.access.clone(), said: alone.said.clone() };
        let parts = [alone, second].into_iter().map(|path| said(path, filter).0).collect();
        Some(united(Together { all: true, parts, conjuncts }))
    }
}

/// An access with what it says of a condition; whether that is all of it.
fn said(path: Path, condition: &TypedExpr) -> (IndexAccess, bool) {
    let Path { mut access, said } = path;
    let said: Vec<usize> = match &access.together {
        Some(together) => together.conjuncts.clone(),
        None => said.into_iter().chain(access.searched.iter().map(|one| one.conjunct)).collect(),
    };
    let all = condition.clone().conjuncts();
    let whole = (0..all.len()).all(|n| said.contains(&n));
    let says = all.into_iter().enumerate().filter(|(n, _)| said.contains(n));
    access.instead = TypedExpr::conjunction(says.map(|(_, conjunct)| conjunct).collect()).map(Box::new);
    (access, whole)
}

fn united(together: Together) -> IndexAccess {
    let first = Arc::clone(&together.parts[0].index);
    IndexAccess { together: Some(Box::new(together)), ..IndexAccess::all(first) }
}
