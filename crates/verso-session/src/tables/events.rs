//! Triggers that wait for the commit, in the order in which they came.
//!
//! 1. What came behind a savepoint goes with it. Those of sessions remember how many there were ([`Events::len`]); those of
//!    handlers in PL/pgSQL, which end in the order of a stack, are marked here.
//! 2. Rows are held in memory, charged to the account of the statement that noted them.

use verso_catalog::TriggerDef;
use verso_exec::error::Result;
use verso_exec::exec::DeferredEvent;
use verso_exec::memory::{Memory, Reservation};

/// Events of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// Each with the memory that it holds.
    list: Vec<(DeferredEvent, Reservation)>,
    marks: Vec<(String, usize)>,
}

impl Events {
    /// Keeps an event.
    pub(crate) fn push(&mut self, event: DeferredEvent, memory: Memory<'_>) -> Result<()> {
        let mut held = memory.account.reserve("triggers deferred to the commit", u64::MAX);
        held.resize(event.bytes())?;
        self.list.push((event, held));
        Ok(())
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets all but the first ones.
    pub(crate) fn truncate(&mut self, count: usize) {
        self.list.truncate(count);
    }

    /// A savepoint of a handler.
    pub(crate) fn mark(&mut self, name: &str) {
        self.marks.push((name.to_string(), self.list.len()));
    }

    /// Back to it; it stays.
    pub(crate) fn return_to(&mut self, name: &str) {
        if let Some(at) = self.marks.iter().rposition(|(mark, _)| mark == name) {
            self.list.truncate(self.marks[at].1);
            self.marks.truncate(at + 1);
        }
    }

    /// It ends.
    pub(crate) fn release(&mut self, name: &str) {
        if let Some(at) = self.marks.iter().rposition(|(mark, _)| mark == name) {
            self.marks.truncate(at);
        }
    }

    /// Takes out the events of these triggers.
    pub(crate) fn take_due(&mut self, is_due: impl Fn(&TriggerDef) -> bool) -> Vec<DeferredEvent> {
        let mut due = Vec::new();
        let mut kept = Vec::new();
        for (event, held) in std::mem::take(&mut self.list) {
            if is_due(&event.trigger) { due.push(event) } else { kept.push((event, held)) }
        }
        self.list = kept;
        due
    }
}
