//! Registered snapshots: what they hold, and which states somebody may still read.
//!
//! V6. A snapshot is registered under the mutex under which the counter moves. The horizon is the number of the oldest
//!     registered snapshot that is not idle, else the counter; registrations come in the order of their numbers, so it never
//!     decreases. Idle ones are taken out of the list before their number is passed, and only while they are idle.
//! V9. What stands between two states that somebody may read is needed by nobody ([`Needed`]). Whoever registers later reads
//!     the newest state, or one that another registration or the history keeps.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::{State, Transactions};
use crate::page::TxnId;
use crate::rules::{Rule, disabled};
use crate::txn::history::History;
use crate::txn::snapshot::{Hold, Registration};

/// What is known of a registered snapshot.
pub(super) struct Registered {
    /// Up to where the view of a change sees.
    newest: u64,
    pub(super) oldest_active: TxnId,
    all_below: TxnId,
    hold: Arc<Hold>,
}

impl State {
    fn next_key(&mut self) -> u64 {
        self.next_registration += 1;
        self.next_registration
    }

    /// Lets a registration hold the horizon (V6).
    fn enter(&mut self, registration: &Registration) {
        if !disabled(Rule::V6) {
            let Registration { number, newest, key, oldest_active, all_below, .. } = *registration;
            let hold = Arc::clone(&registration.hold);
            let registered = Registered { newest, oldest_active, all_below, hold };
            self.registered.insert((number, key), registered);
        }
    }

    /// Forgets the oldest registrations that hold nothing any more.
    pub(super) fn forget_idle(&mut self) {
        while let Some(oldest) = self.registered.first_entry() {
            if !oldest.get().hold.end_if_idle() {
                break;
            }
            oldest.remove();
        }
    }

    /// Whether a registered snapshot is in use.
    pub(super) fn is_read(&self) -> bool {
        self.registered.values().any(|registered| registered.hold.is_held())
    }

    pub(super) fn horizon(&mut self) -> u64 {
        self.forget_idle();
        let registered = self.registered.first_key_value().map(|((number, _), _)| *number);
        let kept = self.history.as_ref().and_then(History::oldest).map(|mark| mark.before);
        registered.into_iter().chain(kept).min().unwrap_or(self.counter)
    }

    /// Whether what the state of a number needs is kept: that of now, of somebody's snapshot, or of the past (V9).
    fn keeps(&self, number: u64) -> bool {
        let held = |from: u64| self.registered.range((from, 0)..=(number, u64::MAX));
        let is_every = |registered: &Registered| registered.hold.is_held() && registered.hold.needs_every();
        let past = self.history.as_ref().and_then(History::oldest);
        number == self.counter
            || past.is_some_and(|mark| mark.before <= number)
            || held(number).any(|(_, registered)| registered.hold.is_held())
            || held(0).any(|(_, registered)| is_every(registered))
    }

    /// Which states below a number somebody may read (V9).
    fn needed(&self, below: u64) -> Needed {
        let mut needed = Needed {
            states: SmallVec::new(),
            every_from: u64::MAX,
            counter: self.counter,
            oldest: self.counter,
        };
        let held = self.registered.range(..(below, 0)).filter(|(_, registered)| registered.hold.is_held());
        for ((number, _), registered) in held {
            needed.oldest = needed.oldest.min(*number);
            if registered.hold.needs_every() {
                needed.every_from = needed.every_from.min(*number);
            }
            for state in [*number, registered.newest] {
                if needed.states.last() != Some(&state) {
                    needed.states.push(state);
                }
            }
        }
        if let Some(mark) = self.history.as_ref().and_then(History::oldest) {
            needed.every_from = needed.every_from.min(mark.before);
            needed.oldest = needed.oldest.min(mark.before);
        }
        needed
    }
}

/// States that somebody may read, of those below a number, at a moment (V9).
#[derive(Debug)]
pub(crate) struct Needed {
    states: SmallVec<[u64; 8]>,
    /// From this state on every one may be read, or it matters what was skipped.
    every_from: u64,
    /// The newest state: those that are taken later are not older.
    counter: u64,
    /// Versions replaced at or before this number are read by nobody.
    oldest: u64,
}

impl Needed {
    /// Whether nobody can read the version that the commit `made` has made and the commit `replaced` has replaced.
    pub fn is_unneeded(&self, made: u64, replaced: u64) -> bool {
        if disabled(Rule::V9) {
            return true;
        }
        replaced <= self.counter
            && replaced <= self.every_from
            && !self.states.iter().any(|state| made <= *state && *state < replaced)
    }

    /// Versions replaced at or before this number are read by nobody.
    pub fn oldest(&self) -> u64 {
        self.oldest
    }
}

/// Commits behind the oldest snapshot from which on it counts as a long one.
const LONG: u64 = 32;

impl Transactions {
    /// Versions superseded at or before this commit number are needed by nobody (V6).
    pub fn horizon(&self) -> u64 {
        let horizon = self.state.lock().horizon();
        self.known_horizon.fetch_max(horizon, Ordering::Relaxed);
        horizon
    }

    /// The horizon as it was last computed, if it lies far behind: a snapshot may be long.
    pub(crate) fn long_horizon(&self) -> Option<u64> {
        let known = self.known_horizon.load(Ordering::Relaxed);
        (self.counter() >= known + LONG).then_some(known)
    }

    /// Which states below a number somebody may read (V9).
    pub(crate) fn needed(&self, below: u64) -> Needed {
        let mut state = self.state.lock();
        let horizon = state.horizon();
        self.known_horizon.fetch_max(horizon, Ordering::Relaxed);
        state.needed(below)
    }

    /// Registers a snapshot of this moment (V6).
    pub fn register(self: &Arc<Self>) -> Registration {
        let mut state = self.state.lock();
        let (number, oldest_active, all_below) = state.moment();
        self.registration(&mut state, number, oldest_active, all_below)
    }

    /// The same for who has to know every writer that it skips, until it says otherwise (V9).
    pub(in crate::txn) fn register_every(self: &Arc<Self>) -> Registration {
        let mut state = self.state.lock();
        let (number, oldest_active, all_below) = state.moment();
        let registration = self.registration(&mut state, number, oldest_active, all_below);
        registration.hold.set_every(true);
        registration
    }

    /// Makes an earlier registration one of this moment, whether it is idle or not (V6).
    pub(in crate::txn) fn register_again(&self, registration: &mut Registration) {
        let mut state = self.state.lock();
        state.registered.remove(&(registration.number, registration.key));
        (registration.number, registration.oldest_active, registration.all_below) = state.moment();
        registration.newest = state.newest();
        registration.key = state.next_key();
        // Nobody else knows of it now.
        registration.hold.hold();
        state.enter(registration);
    }

    fn registration(
        self: &Arc<Self>,
        state: &mut State,
        number: u64,
        oldest_active: TxnId,
        all_below: TxnId,
    ) -> Registration {
        let key = state.next_key();
        let (hold, transactions) = (Hold::held(), Arc::clone(self));
        let newest = state.newest();
        let registration = Registration { number, newest, all_below, oldest_active, key, hold, transactions };
        state.enter(&registration);
        registration
    }

    /// Registers the snapshot of an earlier moment, by its number; none if versions it needs may be gone. What another
    /// registered snapshot of that number protects is there; between two of them versions are merged (V9).
    pub(crate) fn register_number(self: &Arc<Self>, number: u64) -> Option<Registration> {
        let mut state = self.state.lock();
        if number < state.horizon() || number > state.counter || !(state.keeps(number) || disabled(Rule::V9))
        {
            return None;
        }
        let older = state.registered.range(..=(number, u64::MAX)).next_back();
        let older = older.map(|((number, _), seen)| (*number, seen.oldest_active, seen.all_below));
        let kept = state.history.as_ref().and_then(|history| history.state_before(number));
        let kept = kept.map(|mark| (mark.before, mark.oldest_active, mark.all_below));
        let older = older.into_iter().chain(kept).max_by_key(|(number, ..)| *number);
        let older = older.map(|(_, oldest_active, all_below)| (oldest_active, all_below));
        // Without any the number is the newest.
        let (oldest_active, all_below) =
            older.unwrap_or_else(|| (state.oldest_active(), state.oldest_unfinished()));
        Some(self.registration(&mut state, number, oldest_active, all_below))
    }

    pub(in crate::txn) fn unregister(&self, number: u64, key: u64) {
        self.state.lock().registered.remove(&(number, key));
    }
}
