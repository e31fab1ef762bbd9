//! Plans of prepared statements for the values of their parameters, as in PostgreSQL.
//!
//! ```text
//! EXECUTE p(1), p(2), … five times ─► a plan each, for these values
//!                                 └─► the plan for any values from then on, if it reads tables as those did and is not dearer
//! ```
//!
//! 1. Values matter where a large table that has been analyzed is read, but for single rows by unique keys: elsewhere there is one
//!    plan from the beginning, and nothing is asked.
//! 2. The plan for any values is taken once it is not dearer than those for values on average, the planning included. It is not
//!    taken where one of those has read a large table in another way: its own cost is that of average values, and what it
//!    costs for rare ones is not known. PostgreSQL does not look at that.
//! 3. `plan_cache_mode` decides instead, where it is not `auto`.
//! 4. Which indexes `ON CONFLICT … WHERE x = $1` means hangs on the values: such a statement has a plan for each execution.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{CatalogSnapshot, IndexDef, TableDef};
use verso_exec::plan::{IndexAccess, Plan, Statement as Bound};
use verso_planner::bind::Binder;
use verso_planner::errors::SqlError;
use verso_planner::estimate::Estimate;
use verso_types::{TimeStyle, Value};

use super::prepared::{Planned, Prepared, is_large};
use crate::settings::PlanCacheMode;

impl Prepared {
    /// Whether the next execution is planned for the values of its parameters (3).
    #[inline]
    pub(crate) fn wants_values(&self, mode: PlanCacheMode) -> bool {
        match mode {
            PlanCacheMode::Auto => self.varies.load(Ordering::Relaxed),
            PlanCacheMode::ForceGeneric => false,
            PlanCacheMode::ForceCustom => !self.params.is_empty() && !self.normal,
        }
    }

    /// The plan for these values, which is not kept.
    pub(crate) fn plan_for(
        &self,
        values: &[Value],
        catalog: &Arc<CatalogSnapshot>,
        time_zone: &TimeStyle,
    ) -> Result<Planned, SqlError> {
        let Some(parsed) = &self.parsed else { return Err(SqlError::internal("no statement to plan")) };
        let params = self.params_in(catalog);
        let time_zone = &*self.style_for(catalog, time_zone);
        let binder = Binder::new(catalog, time_zone, &params).with_values(values).lasting(self.lasts);
        let bound = binder.statement(&parsed.statement)?;
        let (ways, steps) = (ways(&bound, catalog), steps(&bound, catalog));
        let mut known = self.for_values.lock();
        known.plans += 1;
        known.steps += steps;
        known.differ |= ways != known.ways_of_any;
        let is_enough = known.plans >= FOR_VALUES && !known.differ;
        if is_enough && known.steps_of_any <= known.steps / f64::from(known.plans) + PLANNING {
            self.varies.store(false, Ordering::Relaxed);
        }
        drop(known);
        let planned = Planned::new(bound, catalog.key(), time_zone).telling(binder.told());
        self.check_columns(&planned)?;
        Ok(planned)
    }

    /// Notes what the plan for any values is like.
    pub(super) fn note_any(&self, bound: &Bound, catalog: &Arc<CatalogSnapshot>) {
        let ways = ways(bound, catalog);
        // One that is no plan for any values (4) is never taken.
        let differ = bound.is_undecided();
        self.varies.store(differ || !ways.is_empty(), Ordering::Relaxed);
        let mut known = self.for_values.lock();
        // Those of another version of the catalog say nothing any more.
        let steps_of_any = steps(bound, catalog);
        *known = ForValues { differ, ways_of_any: ways, steps_of_any, ..ForValues::default() };
    }
}

/// So many plans are made for values before the plan for any values is considered.
const FOR_VALUES: u32 = 5;
/// Steps that it takes to make a plan.
const PLANNING: f64 = 10_000.0;

/// What the plans for the values of parameters were like, and the one for any values.
#[derive(Debug, Default)]
pub(crate) struct ForValues {
    /// How many were made for values.
    plans: u32,
    /// What they cost together.
    steps: f64,
    /// One of them read a large table in another way than the plan for any values, or that one is none.
    differ: bool,
    ways_of_any: Vec<Way>,
    steps_of_any: f64,
}

/// A large table that has been analyzed, and the index by which it is read, if any, forwards or backwards.
type Way = (u32, Option<Arc<str>>, bool);

/// How a statement reads large tables, but for single rows by their keys.
fn ways(bound: &Bound, catalog: &CatalogSnapshot) -> Vec<Way> {
    let mut found = Vec::new();
    let mut note = |table: &TableDef, access: Option<&IndexAccess>| {
        let counts = is_large(table, catalog) && catalog.statistics(table).is_some();
        match access {
            _ if !counts => {}
            None => found.push((table.oid.0, None, false)),
            Some(access) if access.is_point() => {}
            Some(access) => {
                let by =
                    |index: &Arc<IndexDef>| (table.oid.0, Some(Arc::clone(&index.name)), access.descending);
                found.extend(access.indexes().into_iter().map(by));
            }
        }
    };
    let mut read = |plan: &Plan| {
        plan.any(&mut |part| {
            match part {
                Plan::TableScan { table, .. } => note(table, None),
                Plan::IndexScan { table, access, .. } => note(table, Some(access)),
                _ => {}
            }
            false
        });
    };
    bound.for_each_plan(&mut read);
    match bound {
        Bound::Update(update) if update.joined.is_none() => note(&update.table, update.access.as_ref()),
        Bound::Delete(delete) if delete.joined.is_none() => note(&delete.table, delete.access.as_ref()),
        _ => {}
    }
    found
}

/// What the queries of a statement cost.
fn steps(bound: &Bound, catalog: &Arc<CatalogSnapshot>) -> f64 {
    let estimate = Estimate::of(catalog);
    let mut steps = 0.0;
    bound.for_each_plan(&mut |plan| steps += estimate.total(plan));
    steps
}
