//! Plans read in several places; recursive ones.

use std::sync::Arc;

use verso_env::stack;
use verso_env::sync::Mutex;
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

/// Rows of a plan that several readers read.
///
/// They are computed as far as one of the readers has asked for: a query of WITH without an end has one where a LIMIT stands
/// above it. In a statement that changes rows all of them are computed before the first is read.
pub(super) struct Store {
    rows: Spool,
    /// What makes more of them; none while a reader has it, and at the end.
    producer: Option<Box<dyn Operator>>,
    is_open: bool,
    is_done: bool,
    /// An error has ended them: who opens the plan again computes them anew.
    is_failed: bool,
}

impl Store {
    fn new(producer: Box<dyn Operator>) -> Arc<Mutex<Store>> {
        let store = Store {
            rows: Spool::default(),
            producer: Some(producer),
            is_open: false,
            is_done: false,
            is_failed: false,
        };
        Arc::new(Mutex::new(store))
    }

    /// Adds the next rows of a store, at most so many where that is said. False at the end.
    fn pull(
        store: &Mutex<Store>,
        types: &[SqlType],
        cx: &ExecContext<'_>,
        bound: Option<u64>,
    ) -> Result<bool> {
        // Nobody waits for it meanwhile: a plan does not read its own rows.
        let (mut producer, is_open) = {
            let mut store = store.lock();
            if store.is_done {
                return Ok(false);
            }
            let text = "rows of WITH that are made of themselves";
            let producer = store.producer.take().ok_or_else(|| ExecError::raised("XX000", text))?;
            (producer, std::mem::replace(&mut store.is_open, true))
        };
        let mut batch = Batch::of_types(types);
        let mut next = || -> Result<bool> {
            cx.check_cancelled()?;
            if !is_open {
                producer.open(cx)?;
            }
            if let Some(rows) = bound {
                producer.bound(rows);
            }
            producer.next(cx, &mut batch)
        };
        let more = next();
        let mut store = store.lock();
        match more {
            Ok(true) => {
                store.producer = Some(producer);
                let pushed = store.rows.push(cx.services.memory, "WITH", batch);
                store.is_failed = pushed.is_err();
                pushed.map(|()| true)
            }
            ended => {
                store.is_done = ended.is_ok();
                store.is_failed = ended.is_err();
                drop(store);
                producer.close();
                ended
            }
        }
    }
}

/// Rows that the statement keeps.
pub(crate) struct SharedOperator {
    plan: Arc<Plan>,
    types: Vec<SqlType>,
    executor: Executor,
    /// The rows are those of the values that a query around hands in: with other values they are computed anew.
    correlated: bool,
    store: Option<Arc<Mutex<Store>>>,
    reader: SpoolReader,
    bound: Option<u64>,
}

impl SharedOperator {
    pub fn new(plan: &Arc<Plan>, types: Vec<SqlType>, executor: Executor) -> Self {
        let correlated = plan.uses_outer();
        let (plan, reader) = (Arc::clone(plan), SpoolReader::default());
        Self { plan, types, executor, correlated, store: None, reader, bound: None }
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
        let known = {
            let shared = state.shared.borrow();
            let is_it = |kept: &&SharedRows| kept.outer == outer && !kept.store.lock().is_failed;
            let kept = shared.get(&address).filter(is_it);
            kept.map(|kept| Arc::clone(&kept.store))
        };
        let store = match known {
            Some(store) => store,
            None => {
                let store = Store::new(compile(&self.plan, self.executor));
                if !state.is_on_demand() {
                    while Store::pull(&store, &self.types, cx, None)? {}
                }
                let kept = SharedRows { _plan: Arc::clone(&self.plan), outer, store: Arc::clone(&store) };
                state.shared.borrow_mut().insert(address, kept);
                store
            }
        };
        (self.store, self.reader, self.bound) = (Some(store), SpoolReader::default(), None);
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bound.take();
        let Some(store) = &self.store else { return Ok(false) };
        loop {
            if store.lock().rows.read(&mut self.reader, out)? {
                return Ok(true);
            }
            if !Store::pull(store, &self.types, cx, bound)? {
                return Ok(false);
            }
        }
    }

    fn close(&mut self) {
        (self.store, self.reader) = (None, SpoolReader::default());
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

/// Which rows of a recursive query are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    Base,
    Step,
    End,
}

/// `WITH RECURSIVE`. Its rows come out as they are made, and are set aside for the next round.
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
    round: Round,
    /// The rows of the last round, which the step reads.
    last: Arc<Spool>,
    /// Those of this one.
    made: Spool,
    bound: Option<u64>,
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
        Self {
            number,
            base,
            step,
            types,
            stale,
            seen: (!all).then(KeyTable::default),
            held: None,
            round: Round::End,
            last: Arc::default(),
            made: Spool::default(),
            bound: None,
        }
    }

    /// The rows of the last round are what the step reads, whatever other executions of the same query have run since.
    fn show_last(&self, cx: &ExecContext<'_>) -> Result<()> {
        let state = cx.state().ok_or_else(outside)?;
        let is_shown =
            state.work.borrow().get(&self.number).is_some_and(|rows| Arc::ptr_eq(rows, &self.last));
        if !is_shown {
            self.stale.iter().for_each(|address| state.forget(*address));
            state.work.borrow_mut().insert(self.number, Arc::clone(&self.last));
        }
        Ok(())
    }

    /// Leaves out the rows that were there before.
    fn leave_seen(&mut self, cx: &ExecContext<'_>, batch: &mut Batch) -> Result<()> {
        let Some(seen) = &mut self.seen else { return Ok(()) };
        let held = self.held.get_or_insert_with(|| cx.reserve("WITH RECURSIVE"));
        let (mut selection, mut encoded) = (Vec::new(), RowKeys::default());
        self.types.fill(batch, &mut encoded);
        for row in 0..batch.rows {
            if seen.find_or_add(encoded.hash(row), encoded.key(row)).1 {
                selection.push(row as u32);
            }
        }
        batch.filter(&selection);
        held.resize(seen.heap_bytes() as u64)
    }

    fn reset(&mut self) {
        (self.round, self.last, self.made) = (Round::End, Arc::default(), Spool::default());
        (self.held, self.bound) = (None, None);
        if let Some(seen) = &mut self.seen {
            *seen = KeyTable::default();
        }
    }
}

impl Operator for RecursiveOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.reset();
        let state = cx.state().ok_or_else(outside)?;
        self.stale.iter().for_each(|address| state.forget(*address));
        self.base.open(cx)?;
        self.round = Round::Base;
        Ok(())
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bound.take();
        loop {
            cx.check_cancelled()?;
            let operator = match self.round {
                Round::Base => &mut self.base,
                Round::Step => {
                    self.show_last(cx)?;
                    &mut self.step
                }
                Round::End => return Ok(false),
            };
            if let Some(rows) = bound {
                operator.bound(rows);
            }
            let mut batch = Batch::of_types(&self.types.types);
            if operator.next(cx, &mut batch)? {
                self.leave_seen(cx, &mut batch)?;
                if batch.rows > 0 {
                    self.made.push(cx.services.memory, "WITH RECURSIVE", batch.clone())?;
                    *out = batch;
                    return Ok(true);
                }
                continue;
            }
            operator.close();
            if self.made.rows() == 0 {
                self.last = Arc::default();
                self.round = Round::End;
                return Ok(false);
            }
            self.last = Arc::new(std::mem::take(&mut self.made));
            self.show_last(cx)?;
            self.step.open(cx)?;
            self.round = Round::Step;
        }
    }

    fn close(&mut self) {
        self.base.close();
        self.step.close();
        self.reset();
    }
}
