//! What operators do, measured while a statement runs (EXPLAIN ANALYZE).

use std::cell::RefCell;
use std::collections::HashMap;

use crate::plan::Plan;

/// Measures of operators, by the address of their plan.
pub struct Probes<'a> {
    /// Nanoseconds of some clock; none where time is not to be measured.
    clock: Option<&'a dyn Fn() -> u64>,
    measured: RefCell<HashMap<usize, Measured>>,
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
}

impl<'a> Probes<'a> {
    /// None measured yet.
    #[must_use]
    pub fn new(clock: Option<&'a dyn Fn() -> u64>) -> Probes<'a> {
        Probes { clock, measured: RefCell::default() }
    }

    /// What the operator of a plan has done; none if it never ran by itself.
    #[must_use]
    pub fn of(&self, plan: &Plan) -> Option<Measured> {
        self.measured.borrow().get(&std::ptr::from_ref(plan).addr()).copied()
    }

    /// Whether times are measured.
    #[must_use]
    pub fn is_timed(&self) -> bool {
        self.clock.is_some()
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.map_or(0, |clock| clock())
    }

    /// An operator was opened, which began at `start`.
    pub(super) fn opened(&self, place: usize, start: u64) {
        let nanos = self.now().saturating_sub(start);
        let mut measured = self.measured.borrow_mut();
        let own = measured.entry(place).or_default();
        own.loops += 1;
        own.first_nanos += nanos;
        own.nanos += nanos;
    }

    /// It yielded rows, perhaps its first of this loop, in a call that began at `start`.
    pub(super) fn yielded(&self, place: usize, start: u64, rows: u64, is_first: bool) {
        let nanos = self.now().saturating_sub(start);
        let mut measured = self.measured.borrow_mut();
        let own = measured.entry(place).or_default();
        own.rows += rows;
        own.nanos += nanos;
        if is_first {
            own.first_nanos += nanos;
        }
    }
}
