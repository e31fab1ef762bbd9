//! How long portals live, and the session's list of those that may have to be set aside or closed (T2, Q3), and of those
//! that statements know by name.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use verso_types::Value;

use super::{Place, Portal, State};
use crate::plans::Prepared;

/// How long a portal lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lives {
    /// The session's transaction; none for a held one once that has committed.
    pub(crate) transaction: Option<u64>,
    /// Savepoints open when it was opened.
    pub(crate) depth: usize,
    /// WITH HOLD.
    pub(crate) hold: bool,
}

/// Portals that may have to be set aside or closed. Their owners may drop them at any time.
#[derive(Debug, Default)]
pub(crate) struct Portals {
    known: Vec<Weak<Mutex<State>>>,
    named: BTreeMap<Box<str>, Named>,
}

/// A portal with a name, of which its owner has the state.
#[derive(Debug)]
struct Named {
    prepared: Arc<Prepared>,
    params: Vec<Value>,
    state: Weak<Mutex<State>>,
    /// When the statement began that made it.
    at: i64,
}

impl Named {
    /// Its state, if the transaction of this number may run it.
    fn of(&self, transaction: u64) -> Option<Arc<Mutex<State>>> {
        let shared = self.state.upgrade()?;
        let gone = {
            let state = shared.lock();
            let other = |lives: Lives| lives.transaction.is_some_and(|of| of != transaction);
            matches!(*state, State::Closed) || state.lives().is_some_and(other)
        };
        (!gone).then_some(shared)
    }
}

impl Portals {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Remembers one that has begun to run, once; forgets those that are gone.
    pub(crate) fn note(&mut self, state: &Arc<Mutex<State>>) {
        self.known.retain(|known| known.strong_count() > 0);
        if !self.known.iter().any(|known| std::ptr::eq(known.as_ptr(), Arc::as_ptr(state))) {
            self.known.push(Arc::downgrade(state));
        }
    }

    /// Lets FETCH, MOVE and CLOSE know one by its name.
    pub(crate) fn name(&mut self, portal: &mut Portal, at: i64) {
        self.named.retain(|_, named| named.state.strong_count() > 0);
        let state = Arc::downgrade(&portal.shared());
        let (prepared, params) = (Arc::clone(&portal.prepared), portal.params.clone());
        let named = Named { prepared, params, state, at };
        self.named.insert(portal.name.clone(), named);
    }

    /// The one of that name which the transaction of this number may run.
    pub(crate) fn named(&self, name: &str, transaction: u64) -> Option<Portal> {
        let named = self.named.get(name)?;
        Some(Portal {
            prepared: Arc::clone(&named.prepared),
            name: name.into(),
            params: named.params.clone(),
            place: Place::Shared(named.of(transaction)?),
        })
    }

    /// Those of the transaction of this number, as `pg_cursors` shows them.
    pub(crate) fn rows(&self, transaction: u64) -> Vec<Vec<Value>> {
        let mut rows = Vec::new();
        for (name, named) in &self.named {
            if named.of(transaction).is_some() {
                let mut row = vec![Value::text(name), Value::text(named.prepared.text())];
                row.extend([Value::Bool(false), Value::Bool(false), Value::Bool(false)]);
                row.push(Value::Timestamptz(named.at));
                rows.push(row);
            }
        }
        rows
    }

    /// CLOSE ALL closes those with names.
    pub(crate) fn close_named(&mut self) {
        for state in std::mem::take(&mut self.named).values().filter_map(|named| named.state.upgrade()) {
            *state.lock() = State::Closed;
        }
    }

    /// Those that are there.
    pub(crate) fn all(&self) -> impl Iterator<Item = Arc<Mutex<State>>> {
        self.known.iter().filter_map(Weak::upgrade)
    }

    /// Those that are there, which are forgotten.
    pub(crate) fn take(&mut self) -> Vec<Arc<Mutex<State>>> {
        self.known.drain(..).filter_map(|state| state.upgrade()).collect()
    }

    /// At a rollback all portals of the transaction are closed.
    pub(crate) fn close(&self) {
        self.close_where(|_| true);
    }

    /// ROLLBACK TO closes those opened behind the savepoint, of which there are `depth` outside.
    pub(crate) fn close_above(&self, depth: usize) {
        self.close_where(|lives| lives.depth > depth);
    }

    /// RELEASE hands on those opened behind the savepoint to what is around it.
    pub(crate) fn keep_at(&self, depth: usize) {
        for state in self.all() {
            match &mut *state.lock() {
                State::Open(open) => open.lives.depth = open.lives.depth.min(depth),
                State::Held(held) => held.lives.depth = held.lives.depth.min(depth),
                State::Ready | State::Done | State::Closed => {}
            }
        }
    }

    fn close_where(&self, closes: impl Fn(&Lives) -> bool) {
        for state in self.all() {
            let mut state = state.lock();
            let lives = state.lives().filter(|lives| lives.transaction.is_some());
            if lives.is_some_and(|lives| closes(&lives)) {
                *state = State::Closed;
            }
        }
    }
}

#[cfg(test)]
mod tests {

    use super::super::held::Held;
    use super::*;

    fn held(depth: usize, transaction: Option<u64>) -> Arc<Mutex<State>> {
        let lives = Lives { transaction, depth, hold: transaction.is_none() };
        Arc::new(Mutex::new(State::Held(Held::new(
            Arc::new([]),
            (None, verso_exec::spill::Spool::default()),
            None,
            lives,
        ))))
    }

    fn is_closed(state: &Mutex<State>) -> bool {
        matches!(*state.lock(), State::Closed)
    }

    #[test]
    fn q3_portals_end_with_their_savepoint_and_their_transaction_unless_they_are_held() {
        let mut portals = Portals::default();
        let (outer, inner, kept) = (held(0, Some(1)), held(1, Some(1)), held(1, None));
        [&outer, &inner, &kept].into_iter().for_each(|state| portals.note(state));
        portals.close_above(0);
        assert_eq!([is_closed(&outer), is_closed(&inner), is_closed(&kept)], [false, true, false]);
        portals.close();
        assert_eq!([is_closed(&outer), is_closed(&kept)], [true, false]);
    }

    #[test]
    fn a_released_savepoint_hands_its_portals_to_what_is_around_it() {
        let mut portals = Portals::default();
        let state = held(2, Some(1));
        portals.note(&state);
        portals.keep_at(0);
        portals.close_above(0);
        assert!(!is_closed(&state));
    }

    #[test]
    fn a_portal_is_known_once_and_as_long_as_it_is_there() {
        let mut portals = Portals::default();
        let (first, second) = (held(0, Some(1)), held(0, Some(1)));
        portals.note(&first);
        portals.note(&first);
        assert_eq!(portals.all().count(), 1);
        drop(first);
        portals.note(&second);
        assert_eq!((portals.known.len(), portals.take().len(), portals.is_empty()), (1, 1, true));
    }
}
