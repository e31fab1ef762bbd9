//! Triggers that wait for the commit, in the order in which they came.
//!
//! 1. What came behind a savepoint goes with it. Those of sessions remember how many there were ([`Events::len`]); those of
//!    handlers in PL/pgSQL, which end in the order of a stack, are marked here.
//! 2. Rows are held in memory, charged to the account of the first statement that noted some: all of them may take what a
//!    statement may.

use verso_catalog::TriggerDef;
use verso_exec::error::Result;
use verso_exec::exec::DeferredEvent;
use verso_exec::memory::{Memory, Reservation};

/// Events of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Events {
    list: Vec<DeferredEvent>,
    bytes: u64,
    held: Option<Reservation>,
    marks: Vec<(String, usize)>,
}

impl Events {
    /// Keeps an event.
    pub(crate) fn push(&mut self, event: DeferredEvent, memory: Memory<'_>) -> Result<()> {
        let held = self
            .held
            .get_or_insert_with(|| memory.account.reserve("triggers deferred to the commit", u64::MAX));
        let bytes = self.bytes + event.bytes();
        held.resize(bytes)?;
        self.bytes = bytes;
        self.list.push(event);
        Ok(())
    }

    /// Gives back what is no longer held.
    fn shrink(&mut self) {
        self.bytes = self.list.iter().map(DeferredEvent::bytes).sum();
        if self.list.is_empty() {
            self.held = None;
        } else if let Some(held) = &mut self.held {
            // Less is never refused.
            let _ = held.resize(self.bytes);
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Forgets all but the first ones.
    pub(crate) fn truncate(&mut self, count: usize) {
        if count < self.list.len() {
            self.list.truncate(count);
            self.shrink();
        }
    }

    /// A savepoint of a handler.
    pub(crate) fn mark(&mut self, name: &str) {
        self.marks.push((name.to_string(), self.list.len()));
    }

    /// Back to it; it stays.
    pub(crate) fn return_to(&mut self, name: &str) {
        if let Some(at) = self.marks.iter().rposition(|(mark, _)| mark == name) {
            self.truncate(self.marks[at].1);
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
        let all = std::mem::take(&mut self.list);
        let (due, kept) = all.into_iter().partition(|event| is_due(&event.trigger));
        self.list = kept;
        self.shrink();
        due
    }
}
