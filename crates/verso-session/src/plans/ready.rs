//! Statements compiled for one session.
//!
//! Plans are shared between sessions, operators are not: they hold scratch columns, open scans and, while a portal
//! pauses, their place. So each session keeps those of the prepared statements it used last.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use verso_catalog::NamesKey;
use verso_exec::{Compiled, Executor};

use crate::plans::Planned;

/// Statements kept; beyond that all are forgotten and compiled again when executed.
const KEPT_MAX: usize = 256;

/// A plan and its operators.
#[derive(Debug)]
pub struct Ready {
    pub(crate) planned: Arc<Planned>,
    pub(crate) compiled: Compiled,
    /// It is for one execution: the values are part of the plan.
    pub(crate) of_values: bool,
    /// What it was compiled under.
    executor: Executor,
    epoch: u64,
}

impl Ready {
    /// Compiles a plan.
    pub(crate) fn new(planned: Arc<Planned>, executor: Executor, epoch: u64) -> Ready {
        let compiled = Compiled::new(&planned.bound, executor);
        Ready { planned, compiled, of_values: false, executor, epoch }
    }

    /// The same of a plan for one execution.
    pub(crate) fn of_values(self) -> Ready {
        Ready { of_values: true, ..self }
    }

    /// Whether it may run under this version of the catalog and the settings of this epoch.
    pub(crate) fn fits(&self, version: NamesKey, executor: Executor, epoch: u64) -> bool {
        self.planned.version == version && self.epoch == epoch && self.executor == executor
    }
}

/// The compiled statements of a session, by the number of the prepared one.
#[derive(Debug, Default)]
pub struct ReadyStatements {
    kept: HashMap<u64, Ready, BuildHasherDefault<NumberHasher>>,
}

impl ReadyStatements {
    /// The compiled form of a prepared statement, if it is there and fits.
    pub(crate) fn find(
        &mut self,
        number: u64,
        version: NamesKey,
        executor: Executor,
        epoch: u64,
    ) -> Option<&mut Ready> {
        self.kept.get_mut(&number).filter(|ready| ready.fits(version, executor, epoch))
    }

    /// Takes one out, to be put back.
    pub(crate) fn take(&mut self, number: u64) -> Option<Ready> {
        self.kept.remove(&number)
    }

    /// Adds one.
    pub(crate) fn put(&mut self, number: u64, ready: Ready) -> &mut Ready {
        if self.kept.len() >= KEPT_MAX {
            self.kept.clear();
        }
        self.kept.entry(number).insert_entry(ready).into_mut()
    }
}

/// Numbers given one after the other need no strong hash.
#[derive(Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
