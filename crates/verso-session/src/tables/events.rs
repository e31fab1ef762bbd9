//! Triggers that wait for the commit, in the order in which they came.
//!
//! 1. What came behind a savepoint goes with it, and what has fired since (SET CONSTRAINTS … IMMEDIATE) waits again. Who sets
//!    one remembers where the list stood ([`Events::place`]).
//! 2. Rows are held in memory, charged to the account of the first statement that noted some: all of them may take what a
//!    statement may.

use std::sync::Arc;

use verso_catalog::{Oid, TriggerDef};
use verso_exec::error::Result;
use verso_exec::exec::DeferredEvent;
use verso_exec::memory::{Memory, Reservation};

/// Events of a transaction.
#[derive(Debug, Default)]
pub(crate) struct Events {
    list: Vec<Noted>,
    /// Those that have fired, by their places in the list, in the order in which they did.
    fired: Vec<usize>,
    bytes: u64,
    held: Option<Reservation>,
}

/// An event. One that has fired stays: going back to a savepoint before that makes it wait again.
#[derive(Debug)]
struct Noted {
    event: Arc<DeferredEvent>,
    /// The role that made it wait, as which its function runs.
    role: Oid,
    waits: bool,
}

/// How many events there were at a moment, and how many of them had fired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    noted: usize,
    fired: usize,
}

impl Events {
    /// Keeps an event.
    pub(crate) fn push(&mut self, event: DeferredEvent, role: Oid, memory: Memory<'_>) -> Result<()> {
        let held = self
            .held
            .get_or_insert_with(|| memory.account.reserve("triggers deferred to the commit", u64::MAX));
        let bytes = self.bytes + event.bytes();
        held.resize(bytes)?;
        self.bytes = bytes;
        self.list.push(Noted { event: Arc::new(event), role, waits: true });
        Ok(())
    }

    /// Where the list stands.
    pub(crate) fn place(&self) -> Place {
        Place { noted: self.list.len(), fired: self.fired.len() }
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.list.iter().all(|noted| !noted.waits)
    }

    /// The tables of the events that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = Oid> {
        self.list.iter().filter(|noted| noted.waits).map(|noted| noted.event.trigger.table)
    }

    /// Forgets what came behind a place; what has fired since waits again.
    pub(crate) fn go_back(&mut self, place: Place) {
        for at in self.fired.drain(place.fired.min(self.fired.len())..) {
            if let Some(noted) = self.list.get_mut(at) {
                noted.waits = true;
            }
        }
        if place.noted < self.list.len() {
            self.list.truncate(place.noted);
            self.bytes = self.list.iter().map(|noted| noted.event.bytes()).sum();
        }
        if self.list.is_empty() {
            self.held = None;
        } else if let Some(held) = &mut self.held {
            // Less is never refused.
            let _ = held.resize(self.bytes);
        }
    }

    /// The events of these triggers that wait, each with the role that it fires as: they count as fired.
    pub(crate) fn take_due(
        &mut self,
        is_due: impl Fn(&TriggerDef) -> bool,
    ) -> Vec<(Arc<DeferredEvent>, Oid)> {
        let mut due = Vec::new();
        for (at, noted) in self.list.iter_mut().enumerate() {
            if noted.waits && is_due(&noted.event.trigger) {
                noted.waits = false;
                self.fired.push(at);
                due.push((Arc::clone(&noted.event), noted.role));
            }
        }
        due
    }
}
