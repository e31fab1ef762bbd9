//! What a transaction puts off to its commit: keys of foreign keys, unique indexes.
//!
//! 1. A deferred foreign key keeps the keys concerned, each once; at commit each is looked at as things then stand, so a
//!    key noted by what was rolled back since does no harm.
//! 2. Keys are held in memory, charged to the account of the first statement that noted some: all of them may take what a
//!    statement may.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{ConstraintDef, IndexDef, Oid, TriggerDef};
use verso_exec::error::Result;
use verso_exec::exec::{DeferredEvent, key_bytes};
use verso_exec::memory::{Memory, Reservation};
use verso_types::{Value, encode_row};

use crate::marks::Marks;
use crate::reservations::Reserved;

/// What SET CONSTRAINTS has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConstraintModes {
    /// Of ALL.
    all: Option<bool>,
    /// Of single ones, since then.
    named: HashMap<Oid, bool>,
}

/// What a transaction puts off to its commit.
#[derive(Debug, Default)]
pub(crate) struct Deferred {
    /// Whether constraints are put off.
    pub(crate) modes: ConstraintModes,
    seen: HashSet<(Oid, Vec<u8>)>,
    keys: Vec<(Arc<ConstraintDef>, Vec<Value>, bool)>,
    held: Option<Reservation>,
    /// Triggers that fire at commit.
    pub(crate) events: super::events::Events,
    /// What is added to RESERVABLE columns at commit.
    pub(crate) reserved: Reserved,
    /// Storage has been told to put off a unique index.
    pub(crate) unique: bool,
    marks: Marks<Place>,
}

/// How much was put off at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    events: super::events::Place,
    reserved: usize,
}

impl ConstraintModes {
    /// SET CONSTRAINTS ALL: single ones have said nothing since.
    pub(crate) fn set_all(&mut self, deferred: bool) {
        *self = ConstraintModes { all: Some(deferred), named: HashMap::new() };
    }

    /// SET CONSTRAINTS of one.
    pub(crate) fn set(&mut self, constraint: Oid, deferred: bool) {
        self.named.insert(constraint, deferred);
    }
}

impl Deferred {
    fn asked(&self, constraint: Oid, deferrable: bool, initially: bool) -> bool {
        let ConstraintModes { all, named } = &self.modes;
        deferrable && named.get(&constraint).copied().or(*all).unwrap_or(initially)
    }

    /// Whether a constraint is checked at commit.
    pub(crate) fn is_deferred(&self, constraint: &ConstraintDef) -> bool {
        self.asked(constraint.oid, constraint.deferrable, constraint.initially_deferred)
    }

    /// The same of the constraint that an index belongs to.
    pub(crate) fn is_index_deferred(&self, index: &IndexDef) -> bool {
        self.asked(index.constraint.unwrap_or_default(), index.deferrable, index.initially_deferred)
    }

    /// The same of a trigger.
    pub(crate) fn is_trigger_deferred(&self, trigger: &TriggerDef) -> bool {
        self.asked(trigger.oid, trigger.deferrable, trigger.initially_deferred)
    }

    /// How much is put off.
    pub(crate) fn place(&self) -> Place {
        Place { events: self.events.place(), reserved: self.reserved.place() }
    }

    /// Forgets what was put off since; triggers that have fired since wait again.
    pub(crate) fn go_back(&mut self, place: Place) {
        self.events.go_back(place.events);
        self.reserved.go_back(place.reserved);
    }

    /// A savepoint of a handler.
    pub(crate) fn mark(&mut self, name: &str) {
        self.marks.set(name, self.place());
    }

    /// Back to it; it stays.
    pub(crate) fn return_to(&mut self, name: &str) {
        if let Some(place) = self.marks.return_to(name) {
            self.go_back(place);
        }
    }

    /// It ends.
    pub(crate) fn release(&mut self, name: &str) {
        self.marks.release(name);
    }

    /// The triggers that are due: at commit all, before only those that are not deferred any more.
    pub(crate) fn due_events(&mut self, commit: bool) -> Vec<(Arc<DeferredEvent>, Oid)> {
        let mut events = std::mem::take(&mut self.events);
        let due = events.take_due(|trigger| commit || !self.is_trigger_deferred(trigger));
        self.events = events;
        due
    }

    /// Keeps a key of a foreign key.
    pub(crate) fn note(
        &mut self,
        constraint: &Arc<ConstraintDef>,
        key: &[Value],
        referenced: bool,
        memory: Memory<'_>,
    ) -> Result<()> {
        let mut bytes = vec![u8::from(referenced)];
        encode_row(key, &mut bytes);
        let place = (constraint.oid, bytes);
        if self.seen.contains(&place) {
            return Ok(());
        }
        let held = self
            .held
            .get_or_insert_with(|| memory.account.reserve("foreign keys deferred to the commit", u64::MAX));
        held.add(key_bytes(key) + size_of_val(&place) as u64)?;
        self.seen.insert(place);
        self.keys.push((Arc::clone(constraint), key.to_vec(), referenced));
        Ok(())
    }

    /// Whether triggers are to fire at commit.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether there is something to check at commit.
    pub(crate) fn has_checks(&self) -> bool {
        !self.keys.is_empty() || self.unique || !self.events.is_empty()
    }

    /// At commit all keys, before only those of constraints that are not deferred any more, which stay.
    pub(crate) fn due(&mut self, commit: bool) -> Vec<(Arc<ConstraintDef>, Vec<Value>, bool)> {
        if commit {
            self.seen = HashSet::new();
            return std::mem::take(&mut self.keys);
        }
        self.keys.iter().filter(|(constraint, ..)| !self.is_deferred(constraint)).cloned().collect()
    }
}
