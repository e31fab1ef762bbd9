//! What operators do, measured while a statement runs (EXPLAIN ANALYZE).
//!
//! ```text
//! join: open ──┐        ┌── next ──┐            time and pages: from the call to its return, inputs included
//!       scan:  └─ next ─┘          └─ next      memory and files: what changes while the operator itself runs
//! ```
//!
//! An operator is told from others by the address of its plan. Memory is looked at whenever one operator calls another or
//! returns, so what is taken and given back in between is not seen.
//!
//! Each worker of a parallel operator has probes of its own, which those of the statement take over at its end: rows and pages
//! are added up, the time of an operator is that of the worker that took longest. What workers hold in memory is counted for
//! the operator that has called them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use verso_env::Clock;
use verso_storage::{Work, work};

use super::ExecContext;
use crate::plan::{Plan, Statement};

/// Measures of operators, by the address of their plan.
pub struct Probes {
    /// None where time is not to be measured.
    clock: Option<Arc<dyn Clock>>,
    /// Memory and files are looked at: by the statement's thread.
    looks: bool,
    measured: RefCell<HashMap<usize, Measured>>,
    /// Operators that are being called, outermost first.
    running: RefCell<Vec<usize>>,
    /// What the statement held in memory, and had written to files, when it was last looked at.
    seen: Cell<(u64, u64)>,
}

/// The moment at which a call began.
#[derive(Clone, Copy)]
pub(super) struct Start {
    nanos: u64,
    work: Work,
}

/// What an operator has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// How often it was opened.
    pub loops: u64,
    /// Rows that it yielded, of all loops.
    pub rows: u64,
    /// Nanoseconds until each loop's first rows, its inputs included.
    pub first_nanos: u64,
    /// Nanoseconds of all loops, its inputs included.
    pub nanos: u64,
    /// Pages and log of all loops, its inputs included.
    pub work: Work,
    /// The most memory that the operator itself held.
    pub peak_bytes: u64,
    /// What it put into temporary files.
    pub spilled_bytes: u64,
    /// The most workers that have read its inputs; 0 where it was the statement's thread alone.
    pub workers: u32,
    /// Rows whose values had been handed in to it before, so that it did not run.
    pub known: u64,
    /// Rows whose values were looked up in vain.
    pub unknown: u64,
    /// Memory that it holds now.
    held_bytes: u64,
}

/// What the probes of a worker have measured.
pub(super) type WorkerMeasures = HashMap<usize, Measured>;

impl Measured {
    /// A statement as a whole.
    #[must_use]
    pub fn whole(rows: u64, nanos: u64, work: Work) -> Measured {
        Measured { loops: 1, rows, first_nanos: nanos, nanos, work, ..Measured::default() }
    }

    /// The same with the memory, the workers and the look-ups of another one that it is shown together with.
    #[must_use]
    pub fn with_memory_of(self, other: &Measured) -> Measured {
        Measured {
            workers: self.workers.max(other.workers),
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
            spilled_bytes: self.spilled_bytes + other.spilled_bytes,
            known: self.known + other.known,
            unknown: self.unknown + other.unknown,
            ..self
        }
    }
}

impl Probes {
    /// None measured yet.
    #[must_use]
    pub fn new(clock: Option<Arc<dyn Clock>>) -> Probes {
        Probes {
            clock,
            looks: true,
            measured: RefCell::default(),
            running: RefCell::default(),
            seen: Cell::default(),
        }
    }

    /// The clock, for the probes of a worker.
    pub(super) fn clock(&self) -> Option<Arc<dyn Clock>> {
        self.clock.clone()
    }

    /// The probes of a worker.
    pub(super) fn of_worker(clock: Option<Arc<dyn Clock>>) -> Probes {
        Probes { looks: false, ..Probes::new(clock) }
    }

    /// What was measured.
    pub(super) fn into_measures(self) -> WorkerMeasures {
        self.measured.into_inner()
    }

    /// Takes over what the workers have measured that the operator under way has called.
    pub(super) fn take_over(&self, workers: Vec<WorkerMeasures>) {
        let mut all = WorkerMeasures::new();
        let count = workers.len() as u32;
        for (place, one) in workers.into_iter().flatten() {
            let sum = all.entry(place).or_default();
            sum.loops += one.loops;
            sum.rows += one.rows;
            sum.work += one.work;
            sum.nanos = sum.nanos.max(one.nanos);
            sum.first_nanos = sum.first_nanos.max(one.first_nanos);
            sum.workers = sum.workers.max(one.workers);
            sum.known += one.known;
            sum.unknown += one.unknown;
        }
        let mut measured = self.measured.borrow_mut();
        for (place, more) in all {
            let own = measured.entry(place).or_default();
            own.loops += more.loops;
            own.rows += more.rows;
            own.work += more.work;
            own.nanos += more.nanos;
            own.first_nanos += more.first_nanos;
            own.workers = own.workers.max(more.workers);
            own.known += more.known;
            own.unknown += more.unknown;
        }
        if let Some(place) = self.running.borrow().last() {
            let own = measured.entry(*place).or_default();
            own.workers = own.workers.max(count);
        }
    }

    /// What the operator of a plan has done; none if it never ran by itself.
    #[must_use]
    pub fn of(&self, plan: &Plan) -> Option<Measured> {
        self.measured.borrow().get(&std::ptr::from_ref(plan).addr()).copied()
    }

    /// What a change in WITH has done.
    #[must_use]
    pub fn of_change(&self, change: &Statement) -> Option<Measured> {
        self.measured.borrow().get(&std::ptr::from_ref(change).addr()).copied()
    }

    /// Whether times are measured.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.clock.is_some()
    }

    fn now(&self) -> u64 {
        self.clock.as_ref().map_or(0, |clock| clock.monotonic_nanos())
    }

    /// The operator under way holds so much, which may be too little to be charged.
    pub(super) fn holds(&self, bytes: u64) {
        if let Some(place) = self.running.borrow().last() {
            let mut measured = self.measured.borrow_mut();
            let own = measured.entry(*place).or_default();
            own.peak_bytes = own.peak_bytes.max(bytes);
        }
    }

    /// The answer of the plan at this place, or that is joined by the operator under way, was looked up.
    pub(super) fn looked_up(&self, place: Option<usize>, was_known: bool) {
        let Some(place) = place.or_else(|| self.running.borrow().last().copied()) else { return };
        let mut measured = self.measured.borrow_mut();
        let own = measured.entry(place).or_default();
        own.known += u64::from(was_known);
        own.unknown += u64::from(!was_known);
    }

    /// An operator is called.
    pub(super) fn enter(&self, cx: &ExecContext<'_>, place: usize) -> Start {
        self.look(cx);
        self.running.borrow_mut().push(place);
        Start { nanos: self.now(), work: work::done() }
    }

    /// It returns from the call that opened it.
    pub(super) fn opened(&self, cx: &ExecContext<'_>, place: usize, start: Start) {
        self.left(cx, place, start, |own, nanos| {
            own.loops += 1;
            own.first_nanos += nanos;
        });
    }

    /// A change in WITH is done, all in one call.
    pub(super) fn ran(&self, cx: &ExecContext<'_>, place: usize, start: Start, rows: u64) {
        self.left(cx, place, start, |own, nanos| {
            own.loops += 1;
            own.rows += rows;
            own.first_nanos += nanos;
        });
    }

    /// It returns from a call that asked for rows, perhaps its first of this loop.
    pub(super) fn yielded(
        &self,
        cx: &ExecContext<'_>,
        place: usize,
        start: Start,
        rows: u64,
        is_first: bool,
    ) {
        self.left(cx, place, start, |own, nanos| {
            own.rows += rows;
            if is_first {
                own.first_nanos += nanos;
            }
        });
    }

    fn left(&self, cx: &ExecContext<'_>, place: usize, start: Start, note: impl FnOnce(&mut Measured, u64)) {
        let nanos = self.now().saturating_sub(start.nanos);
        self.look(cx);
        self.running.borrow_mut().pop();
        let mut measured = self.measured.borrow_mut();
        let own = measured.entry(place).or_default();
        own.nanos += nanos;
        own.work += work::done() - start.work;
        note(own, nanos);
    }

    /// What has changed since the last look is the operator's that has run since.
    fn look(&self, cx: &ExecContext<'_>) {
        if !self.looks {
            return;
        }
        let memory = &cx.services.memory;
        let now = (memory.account.used_bytes(), memory.temporary.map_or(0, |space| space.written_bytes()));
        let before = self.seen.replace(now);
        let Some(place) = self.running.borrow().last().copied() else { return };
        if now == before {
            return;
        }
        let mut measured = self.measured.borrow_mut();
        let own = measured.entry(place).or_default();
        own.held_bytes = (own.held_bytes + now.0).saturating_sub(before.0);
        own.peak_bytes = own.peak_bytes.max(own.held_bytes);
        own.spilled_bytes += now.1.saturating_sub(before.1);
    }
}
