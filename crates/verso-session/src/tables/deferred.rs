//! What a transaction puts off to its commit: keys of foreign keys, unique indexes.
//!
//! 1. A deferred foreign key keeps the keys concerned, each once; at commit each is looked at as things then stand. What came
//!    behind a savepoint goes with it, and what was checked since (SET CONSTRAINTS … IMMEDIATE) waits again.
//! 2. Keys are held in memory, charged to the account of the first statement that noted some: all of them may take what a
//!    statement may.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{ConstraintDef, ConstraintKind, IndexDef, Oid, TriggerDef};
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
    /// The keys that wait.
    seen: HashSet<(Oid, Vec<u8>)>,
    keys: Vec<NotedKey>,
    /// Those that were checked, by their places, in the order in which they were.
    checked: Vec<usize>,
    held: Option<Reservation>,
    /// Triggers that fire at commit.
    pub(crate) events: super::events::Events,
    /// What is added to RESERVABLE columns at commit.
    pub(crate) reserved: Reserved,
    /// Storage has been told to put off a unique index.
    pub(crate) unique: bool,
    marks: Marks<Place>,
}

/// A key of a foreign key; one that was checked stays, for going back to a savepoint before that makes it wait again.
#[derive(Debug)]
struct NotedKey {
    constraint: Arc<ConstraintDef>,
    key: Vec<Value>,
    /// It went; otherwise a row with it came.
    referenced: bool,
    waits: bool,
}

impl NotedKey {
    /// By what it is told from others.
    fn identity(&self) -> (Oid, Vec<u8>) {
        identity(&self.constraint, &self.key, self.referenced)
    }

    /// The table where the change was made.
    fn table(&self) -> Oid {
        match &self.constraint.kind {
            ConstraintKind::Foreign(key) if self.referenced => key.referenced,
            _ => self.constraint.table,
        }
    }
}

fn identity(constraint: &ConstraintDef, key: &[Value], referenced: bool) -> (Oid, Vec<u8>) {
    let mut bytes = vec![u8::from(referenced)];
    encode_row(key, &mut bytes);
    (constraint.oid, bytes)
}

/// How much was put off at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    events: super::events::Place,
    reserved: usize,
    keys: usize,
    checked: usize,
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
        let (keys, checked) = (self.keys.len(), self.checked.len());
        Place { events: self.events.place(), reserved: self.reserved.place(), keys, checked }
    }

    /// Forgets what was put off since; triggers that have fired since, and keys that were checked, wait again.
    pub(crate) fn go_back(&mut self, place: Place) {
        self.events.go_back(place.events);
        self.reserved.go_back(place.reserved);
        for gone in self.keys.drain(place.keys.min(self.keys.len())..) {
            self.seen.remove(&gone.identity());
        }
        for at in self.checked.drain(place.checked.min(self.checked.len())..) {
            if let Some(known) = self.keys.get_mut(at) {
                known.waits = true;
                self.seen.insert(known.identity());
            }
        }
    }

    /// The tables with changes of which something waits for the commit.
    pub(crate) fn waiting(&self) -> Vec<Oid> {
        let keys = self.keys.iter().filter(|key| key.waits).map(NotedKey::table);
        let mut found = Vec::new();
        for table in keys.chain(self.events.waiting()) {
            if !found.contains(&table) {
                found.push(table);
            }
        }
        found
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
        let place = identity(constraint, key, referenced);
        if self.seen.contains(&place) {
            return Ok(());
        }
        let held = self
            .held
            .get_or_insert_with(|| memory.account.reserve("foreign keys deferred to the commit", u64::MAX));
        held.add(key_bytes(key) + size_of_val(&place) as u64)?;
        self.seen.insert(place);
        let (constraint, key) = (Arc::clone(constraint), key.to_vec());
        self.keys.push(NotedKey { constraint, key, referenced, waits: true });
        Ok(())
    }

    /// Whether triggers are to fire at commit.
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Whether there is something to check at commit.
    pub(crate) fn has_checks(&self) -> bool {
        self.keys.iter().any(|key| key.waits) || self.unique || !self.events.is_empty()
    }

    /// At commit all keys that wait, before only those of constraints that are not deferred any more: they count as checked.
    pub(crate) fn due(&mut self, commit: bool) -> Vec<(Arc<ConstraintDef>, Vec<Value>, bool)> {
        let mut keys = std::mem::take(&mut self.keys);
        if commit {
            self.seen = HashSet::new();
            self.checked = Vec::new();
            let waiting = keys.into_iter().filter(|key| key.waits);
            return waiting.map(|noted| (noted.constraint, noted.key, noted.referenced)).collect();
        }
        let mut due = Vec::new();
        for (at, noted) in keys.iter_mut().enumerate() {
            if noted.waits && !self.is_deferred(&noted.constraint) {
                noted.waits = false;
                self.checked.push(at);
                self.seen.remove(&noted.identity());
                due.push((Arc::clone(&noted.constraint), noted.key.clone(), noted.referenced));
            }
        }
        self.keys = keys;
        due
    }
}
