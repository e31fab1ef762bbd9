//! Plans read in several places; recursive ones.

use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, SqlType, encode_row};

use super::ExecContext;
use super::key::RowTypes;
use super::keys::{KeyTable, RowKeys};
use super::operator::{Operator, compile};
use super::subquery::SharedRows;
use crate::error::{ExecError, Result};
use crate::expr::Executor;
use crate::memory::Reservation;
use crate::plan::Plan;
use crate::spill::{Spool, SpoolReader};

/// Collects the rows of an operator.
fn collect(
    operator: &mut dyn Operator,
    types: &[SqlType],
    cx: &ExecContext<'_>,
    mut take: impl FnMut(Batch) -> Result<()>,
) -> Result<()> {
    operator.open(cx)?;
    loop {
        cx.check_cancelled()?;
        let mut batch = Batch::of_types(types);
        if !operator.next(cx, &mut batch)? {
            operator.close();
            return Ok(());
        }
        take(batch)?;
    }
}

pub(super) fn outside() -> ExecError {
    ExecError::raised("XX000", "a query with WITH outside of a statement")
}

/// Rows kept for several readers, and how far this one is.
#[derive(Default)]
struct Kept {
    rows: Arc<Spool>,
    reader: SpoolReader,
}

impl Kept {
    fn new(rows: Arc<Spool>) -> Self {
        Self { rows, reader: SpoolReader::default() }
    }

    /// Copies the next batch out. False at the end.
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        self.rows.read(&mut self.reader, out)
    }
}

/// Rows that the statement keeps.
pub(crate) struct SharedOperator {
    plan: Arc<Plan>,
    types: Vec<SqlType>,
    executor: Executor,
    /// The rows are those of the values that a query around hands in: with other values they are computed anew.
    correlated: bool,
    rows: Kept,
}

impl SharedOperator {
    pub fn new(plan: &Arc<Plan>, types: Vec<SqlType>, executor: Executor) -> Self {
        let correlated = plan.uses_outer();
        Self { plan: Arc::clone(plan), types, executor, correlated, rows: Kept::default() }
    }
}

impl Operator for SharedOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        let state = cx.state().ok_or_else(outside)?;
        let address = Arc::as_ptr(&self.plan).addr();
        let mut outer = Vec::new();
        if self.correlated {
            encode_row(cx.outer(), &mut outer);
        }
        let known =
            state.shared.borrow().get(&address).filter(|kept| kept.outer == outer).map(SharedRows::rows);
        self.rows = Kept::new(match known {
            Some(rows) => rows,
            None => {
                let mut operator = compile(&self.plan, self.executor);
                let mut rows = Spool::default();
                collect(&mut *operator, &self.types, cx, |batch| {
                    rows.push(cx.services.memory, "WITH", batch)
                })?;
                let rows = Arc::new(rows);
                let kept = SharedRows { _plan: Arc::clone(&self.plan), outer, rows };
                let rows = kept.rows();
                state.shared.borrow_mut().insert(address, kept);
                rows
            }
        });
        Ok(())
    }

    fn next(&mut self, _: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        self.rows.next(out)
    }

    fn close(&mut self) {
        self.rows = Kept::default();
    }
}

/// The rows of the last round.
pub(crate) struct WorkOperator {
    number: usize,
    rows: Kept,
}

impl WorkOperator {
    pub fn new(number: usize) -> Self {
        Self { number, rows: Kept::default() }
    }
}

impl Operator for WorkOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let state = cx.state().ok_or_else(outside)?;
        self.rows = Kept::new(state.work.borrow().get(&self.number).cloned().unwrap_or_default());
        Ok(())
    }

    fn next(&mut self, _: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        self.rows.next(out)
    }

    fn close(&mut self) {
        self.rows = Kept::default();
    }
}

/// Addresses of the plans below `step` that are run once for all their readers, or once for all rows, and yet read the
/// last round: what WITH inside of the step names, and queries over that within expressions.
fn kept_of_round(step: &Plan, number: usize) -> Vec<usize> {
    let mut kept = Vec::new();
    let reads = |part: &Plan| matches!(part, Plan::WorkTable { number: read, .. } if *read == number);
    step.any(&mut |part| {
        let mut note = |plan: &Plan| {
            if plan.any(&mut |part| reads(part)) {
                kept.push(std::ptr::from_ref(plan).addr());
            }
        };
        if let Plan::Shared { plan, .. } = part {
            note(plan);
        }
        part.exprs().into_iter().for_each(|expr| expr.for_each_subquery(&mut note));
        false
    });
    kept
}

/// `WITH RECURSIVE`.
pub(crate) struct RecursiveOperator {
    number: usize,
    base: Box<dyn Operator>,
    step: Box<dyn Operator>,
    types: RowTypes,
    /// What the statement keeps of the step and each round asks anew.
    stale: Vec<usize>,
    /// Rows seen, where duplicates go.
    seen: Option<KeyTable>,
    held: Option<Reservation>,
    round: Kept,
}

impl RecursiveOperator {
    pub fn new(
        number: usize,
        base: Box<dyn Operator>,
        step: (Box<dyn Operator>, &Plan),
        types: RowTypes,
        all: bool,
    ) -> Self {
        let (step, plan) = step;
        let stale = kept_of_round(plan, number);
        let seen = (!all).then(KeyTable::default);
        Self { number, base, step, types, stale, seen, held: None, round: Kept::default() }
    }

    /// Makes the rows of the base, or of the step, the last round, without those seen before.
    fn round(&mut self, cx: &ExecContext<'_>, base: bool) -> Result<()> {
        let state = cx.state().ok_or_else(outside)?;
        self.stale.iter().for_each(|address| state.forget(*address));
        if !base {
            // Another execution of the same query may have run since.
            state.work.borrow_mut().insert(self.number, Arc::clone(&self.round.rows));
        }
        let Self { base: from_base, step, types, seen, held, .. } = self;
        let mut rows = Spool::default();
        let mut selection = Vec::new();
        let mut encoded = RowKeys::default();
        let operator = if base { from_base } else { step };
        collect(&mut **operator, &types.types, cx, |mut batch| {
            if let Some(seen) = seen {
                let held = held.get_or_insert_with(|| cx.reserve("WITH RECURSIVE"));
                selection.clear();
                types.fill(&batch, &mut encoded);
                for row in 0..batch.rows {
                    if seen.find_or_add(encoded.hash(row), encoded.key(row)).1 {
                        selection.push(row as u32);
                    }
                }
                batch.filter(&selection);
                held.resize(seen.heap_bytes() as u64)?;
            }
            rows.push(cx.services.memory, "WITH RECURSIVE", batch)
        })?;
        let rows = Arc::new(rows);
        state.work.borrow_mut().insert(self.number, Arc::clone(&rows));
        self.round = Kept::new(rows);
        Ok(())
    }
}

impl Operator for RecursiveOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if let Some(seen) = &mut self.seen {
            *seen = KeyTable::default();
        }
        self.round(cx, true)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        loop {
            if self.round.next(out)? {
                return Ok(true);
            }
            if self.round.rows.rows() == 0 {
                return Ok(false);
            }
            self.round(cx, false)?;
        }
    }

    fn close(&mut self) {
        self.base.close();
        self.step.close();
        self.round = Kept::default();
        self.held = None;
        if let Some(seen) = &mut self.seen {
            *seen = KeyTable::default();
        }
    }
}
