//! What operators cost, for EXPLAIN: each from its inputs, in steps (E3 of [`crate::estimate`]).

use verso_exec::plan::{JoinKind, Places, Plan};

use crate::estimate::{BUILD, Estimate, FETCH, LOOKUP, OUT, PAIR, PROBE, SCAN};

/// Steps of which one unit of EXPLAIN's costs is made: about a microsecond.
const STEPS_A_UNIT: f64 = 100.0;

/// Rows that stand on the page of a place, and are looked at with it.
const ROWS_OF_PAGE: f64 = 100.0;

/// What an operator is expected to yield, and what that takes; its inputs are part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Known {
    /// Rows.
    pub rows: f64,
    /// Steps until the first row.
    pub startup: f64,
    /// Steps until the last one.
    pub total: f64,
}

impl Known {
    /// The same with costs in the units of EXPLAIN.
    pub fn units(self) -> (f64, f64) {
        (self.startup / STEPS_A_UNIT, self.total / STEPS_A_UNIT)
    }
}

impl Estimate<'_> {
    /// Steps that a plan is expected to take as a whole.
    pub fn total(&self, plan: &Plan) -> f64 {
        self.whole_of(plan).total
    }

    fn whole_of(&self, plan: &Plan) -> Known {
        if verso_env::stack::check().is_err() {
            return Known::default();
        }
        let inputs: Vec<Known> = plan.inputs().into_iter().map(|input| self.whole_of(input)).collect();
        self.known(plan, &inputs)
    }

    /// What an operator is expected to do whose inputs do this.
    pub fn known(&self, plan: &Plan, inputs: &[Known]) -> Known {
        let rows = self.rows(plan);
        let input = |n: usize| inputs.get(n).copied().unwrap_or_default();
        let first = input(0);
        let after_all = |work: f64| {
            let startup = first.total + work;
            Known { rows, startup, total: startup + rows * OUT }
        };
        let streamed =
            |each: f64| Known { rows, startup: first.startup, total: first.total + first.rows * each };
        match plan {
            Plan::Values { .. } | Plan::CurrentRow { .. } => Known { rows, startup: 0.0, total: rows * OUT },
            Plan::External { .. }
            | Plan::SystemScan { .. }
            | Plan::FileScan { .. }
            | Plan::FunctionScan { .. }
            | Plan::Transition { .. }
            | Plan::WorkTable { .. } => Known { rows, startup: 0.0, total: rows * OUT },
            Plan::TableScan { table, columns, filter } => {
                let each = if filter.is_some() { SCAN + PAIR } else { SCAN };
                let places = filter.as_ref().and_then(|filter| Places::of(columns, filter));
                let read = match places {
                    // A page for each place, and what its other rows cost.
                    Some((places, _)) => places.rows().map_or(rows, |places| places * ROWS_OF_PAGE),
                    None => f64::INFINITY,
                };
                Known { rows, startup: 0.0, total: self.table(table).min(read) * each }
            }
            Plan::IndexScan { table, access, .. } => {
                let found = if access.is_point() { 1.0 } else { self.access(table, access) };
                Known { rows, startup: LOOKUP, total: LOOKUP + found * FETCH }
            }
            Plan::Filter { .. } => streamed(PAIR),
            Plan::Project { .. }
            | Plan::Window { .. }
            | Plan::SortedAggregate { .. }
            | Plan::ProjectSet { .. }
            | Plan::LockRows { .. }
            | Plan::Past { .. }
            | Plan::Barrier { .. }
            | Plan::Single { .. } => streamed(OUT),
            Plan::Aggregate { .. } | Plan::Distinct { .. } | Plan::DistinctOn { .. } => {
                after_all(first.rows * BUILD)
            }
            // Below joins an index has the order.
            Plan::Sort { keys, sorted, .. } if *sorted == keys.len() => streamed(OUT),
            Plan::Sort { .. } => after_all(first.rows * PAIR * first.rows.max(2.0).log2()),
            Plan::Limit { .. } => {
                let part = (rows / first.rows.max(1.0)).min(1.0);
                let total = first.startup + (first.total - first.startup) * part;
                Known { rows, startup: first.startup, total }
            }
            Plan::Append { .. } => Known {
                rows,
                startup: first.startup,
                total: inputs.iter().map(|input| input.total).sum::<f64>() + rows * OUT,
            },
            Plan::Join { equal, kind: _, .. } | Plan::Semi { equal, .. } => {
                let second = input(1);
                let (build, probe) = match equal.is_empty() {
                    false => (BUILD, first.rows * PROBE),
                    true => (OUT, first.rows * second.rows * PAIR),
                };
                let startup = second.total + second.rows * build + first.startup;
                let total = startup + (first.total - first.startup) + probe + rows * OUT;
                Known { rows, startup, total }
            }
            Plan::MergeJoin { .. } => {
                let second = input(1);
                let steps = (first.rows + second.rows) * PAIR + rows * OUT;
                Known {
                    rows,
                    startup: first.startup + second.startup,
                    total: first.total + second.total + steps,
                }
            }
            Plan::Apply { kind, .. } => {
                let second = input(1);
                let startup = first.startup + if *kind == JoinKind::Inner { second.startup } else { 0.0 };
                Known { rows, startup, total: first.total + first.rows * second.total + rows * OUT }
            }
            Plan::SetOperation { .. } => {
                let second = input(1);
                let startup = first.total + second.total + (first.rows + second.rows) * BUILD;
                Known { rows, startup, total: startup + rows * OUT }
            }
            Plan::Estimated { .. } => Known { rows, ..first },
            Plan::Shared { .. } => Known { rows, startup: first.startup, total: first.total + rows * OUT },
            Plan::Recursive { .. } => {
                let second = input(1);
                Known { rows, startup: first.startup, total: first.total + 10.0 * second.total + rows * OUT }
            }
        }
    }
}
