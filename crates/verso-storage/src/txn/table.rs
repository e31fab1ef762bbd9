//! The table of transactions: everything about them that changes together, under one mutex.
//!
//! T1. A commit number is given at publication. Under the mutex the state is stored first and the counter moves
//!     afterwards, by one: snapshots are taken in between publications, so none sees a gap. A rollback that left
//!     nothing behind takes a number too, so that who copied a page before it still does not see its changes.
//! T1-logged. A commit that waits for the disk has its number already when its record is in the log, marked as logged.
//!     Publication takes the marks away in the order of the numbers, each once all log up to it is durable; so every
//!     number stands for a state that a crash may leave, and who sees a logged one and commits is durable behind it.
//! T1-nowait. A commit that does not wait is published at once. Where others with smaller numbers wait for the disk, it waits
//!     in their order, though for nothing of its own: it is published with the last one before it.
//! V6. A snapshot is registered under the mutex under which the counter moves. The horizon is the number of the oldest
//!     registered snapshot that is not idle, else the counter; registrations come in the order of their numbers, so it never
//!     decreases. Idle ones are taken out of the list before their number is passed, and only while they are idle.
//! M1. Markers never decrease, also across a restart: *next* is the next id; *OIT* the smallest id that is active or
//!     dead; *OAT* the smallest active one; *OST* the OAT of the moment when the oldest registered snapshot was taken.
//!     Each is the next of those before it where there is none of its kind.
//!
//! H1. Where history is kept ([`super::history`]), its oldest state holds the horizon and the markers as a snapshot would.
//!
//! V9. What stands between two states that somebody may read is needed by nobody ([`Needed`]). Whoever registers later reads
//!     the newest state, or one that another registration or the history keeps.
//!
//! Locks: the state's mutex, then the directory's.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;
use verso_env::Clock;
use verso_env::sync::{Mutex, RwLock};

use super::fate::{TxnFate, Undone};
use super::history::{History, HistoryReport, RestoredHistory};
use super::inventory::{ACTIVE, DEAD, Directory, LIMBO, LOGGED, LONG_AGO, TxnState, logged_number, state_of};
use super::snapshot::{Hold, Registration};
use super::transaction::LeftBehind;
use crate::page::bytes::{checked_slice, checked_u64};
use crate::page::{Flaw, Lsn, TxnId};
use crate::rules::{Rule, disabled};
use crate::sleeper::Sleeper;

/// The four markers (M1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Markers {
    /// The next id to be given.
    pub next: TxnId,
    /// Oldest transaction that is not committed.
    pub oit: TxnId,
    /// Oldest active transaction.
    pub oat: TxnId,
    /// Oldest active transaction as the oldest snapshot saw it.
    pub ost: TxnId,
}

/// What a restart knows. All ids below `next` that are not dead are committed and visible to all.
#[derive(Default)]
pub struct RestoredTransactions {
    /// The next id to be given; 0 counts as 1.
    pub next: u64,
    /// The newest commit number; 0 counts as 1.
    pub commit_counter: u64,
    /// Rolled back, but with changes left in the pages.
    pub dead: BTreeSet<TxnId>,
    /// Prepared and not decided, with what their preparation noted.
    pub limbo: BTreeMap<TxnId, Vec<u8>>,
    /// What became of those from here on is known: the next one of the checkpoint.
    pub known: TxnId,
    /// Those of them of which nothing is left.
    pub undone: BTreeSet<TxnId>,
    /// Marker of the former life.
    pub oit: TxnId,
    /// Marker of the former life.
    pub oat: TxnId,
    /// Marker of the former life.
    pub ost: TxnId,
    /// The past, where it is kept: without it, all that is not dead is committed long ago.
    pub history: Option<RestoredHistory>,
}

/// What is known of a registered snapshot.
struct Registered {
    /// Up to where the view of a change sees.
    newest: u64,
    oldest_active: TxnId,
    all_below: TxnId,
    hold: Arc<Hold>,
}

/// A number that is given but not published yet.
struct Logged {
    /// None where nothing is left of the transaction (a rollback).
    txn: Option<TxnId>,
    /// How far the log has to be durable: not less than for the number before.
    needs: Lsn,
    /// Of one that has not waited: its locks, for who publishes it.
    left: Option<Arc<LeftBehind>>,
}

struct State {
    next: u64,
    counter: u64,
    /// The numbers behind the counter, in their order.
    logged: VecDeque<Logged>,
    active: BTreeSet<TxnId>,
    /// Those of the active whose commit record is in the log.
    committing: BTreeSet<TxnId>,
    /// Those of the active that are prepared, with what their preparation noted.
    limbo: BTreeMap<TxnId, Vec<u8>>,
    dead: BTreeSet<TxnId>,
    /// Those of which nothing is left.
    undone: Undone,
    /// Registered snapshots by their number, then in the order of their making: what they see as the oldest active and
    /// as the oldest unfinished transaction. The former ascends with the numbers.
    registered: BTreeMap<(u64, u64), Registered>,
    next_registration: u64,
    /// The past, where it is kept.
    history: Option<History>,
    /// Lower bounds from the former life.
    restored: Markers,
}

impl State {
    fn oldest_active(&self) -> TxnId {
        self.active.first().copied().unwrap_or(TxnId(self.next))
    }

    fn oldest_unfinished(&self) -> TxnId {
        let active = self.oldest_active();
        self.dead.first().map_or(active, |dead| active.min(*dead))
    }

    /// The greatest number given.
    fn newest(&self) -> u64 {
        self.counter + self.logged.len() as u64
    }

    /// What a snapshot of this moment is: its number, the oldest active transaction, and below which all are committed.
    fn moment(&self) -> (u64, TxnId, TxnId) {
        (self.counter, self.oldest_active(), self.oldest_unfinished())
    }

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
    fn forget_idle(&mut self) {
        while let Some(oldest) = self.registered.first_entry() {
            if !oldest.get().hold.end_if_idle() {
                break;
            }
            oldest.remove();
        }
    }

    fn horizon(&mut self) -> u64 {
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

    /// A commit is about to be published.
    fn publishes(&mut self) {
        if self.history.is_some() {
            let moment = self.moment();
            self.history.iter_mut().for_each(|history| history.publish(moment));
        }
    }

    fn markers(&mut self) -> Markers {
        self.forget_idle();
        let oat = self.oldest_active();
        let registered = self.registered.first_key_value().map(|(_, oldest)| oldest.oldest_active);
        let kept = self.history.as_ref().and_then(History::oldest).map(|mark| mark.oldest_active);
        let ost = registered.into_iter().chain(kept).min().unwrap_or(oat);
        Markers {
            next: TxnId(self.next),
            oit: self.oldest_unfinished().max(self.restored.oit),
            oat: oat.max(self.restored.oat),
            ost: ost.max(self.restored.ost),
        }
    }

    /// `txn` is not active any more.
    fn end(&mut self, txn: TxnId) {
        let was_active = self.active.remove(&txn);
        debug_assert!(was_active, "transaction {txn} ends twice");
        self.committing.remove(&txn);
        self.limbo.remove(&txn);
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

/// All transactions of an open database.
pub struct Transactions {
    state: Mutex<State>,
    /// The state's counter, for who only wants to know whether it has moved.
    counter: AtomicU64,
    /// The greatest number given, likewise.
    newest: AtomicU64,
    /// The horizon as it was last computed.
    known_horizon: AtomicU64,
    directory: RwLock<Arc<Directory>>,
    /// The housekeeping thread, called when a transaction ends or a snapshot goes.
    pub housekeeping: Sleeper,
}

impl Transactions {
    /// The table after a restart; of a fresh database with [`RestoredTransactions::default`].
    pub fn new(restored: RestoredTransactions) -> Transactions {
        let next = restored.next.max(1);
        let (dead, limbo) = (restored.dead.iter().copied(), restored.limbo.keys().copied());
        let mut directory = Directory::new(next, dead, limbo);
        let mut counter = restored.commit_counter.max(LONG_AGO);
        let mut history = None;
        if let Some(past) = restored.history.filter(|_| !disabled(Rule::H3)) {
            counter = counter.max(past.counter());
            directory = directory.with_numbers(past.first, &past.numbers);
            history = Some(past.into_history(directory.all_below()));
        }
        let (oit, oat, ost) = (restored.oit, restored.oat, restored.ost);
        let state = State {
            next,
            counter,
            logged: VecDeque::new(),
            active: restored.limbo.keys().copied().collect(),
            committing: BTreeSet::new(),
            limbo: restored.limbo,
            dead: restored.dead,
            undone: Undone::since(restored.known, restored.undone),
            registered: BTreeMap::new(),
            next_registration: 0,
            history,
            restored: Markers { next: TxnId(next), oit, oat, ost },
        };
        let [counter, newest] = [state.counter; 2].map(AtomicU64::new);
        let directory = RwLock::new(Arc::new(directory));
        Transactions {
            state: Mutex::new(state),
            counter,
            newest,
            known_horizon: AtomicU64::new(0),
            directory,
            housekeeping: Sleeper::default(),
        }
    }

    // ── a transaction's life ─────────────────────────────────────────────────────────────────────────────────

    /// Gives an id to a transaction that writes for the first time.
    pub fn begin_write(&self) -> TxnId {
        let mut state = self.state.lock();
        let id = TxnId(state.next);
        let directory = self.directory();
        if !directory.covers(id) {
            *self.directory.write() = Arc::new(directory.grown(state.horizon()));
        }
        state.next += 1;
        state.active.insert(id);
        id
    }

    /// The commit record is in the log, before `end`: a checkpoint from now on counts `txn` as committed, all others but
    /// those who ask for it ([`Transactions::is_logged`]) as active. How far the log has to be durable before `txn` can be
    /// published.
    pub fn mark_committing(&self, txn: TxnId, end: Lsn) -> Lsn {
        let mut state = self.state.lock();
        state.committing.insert(txn);
        let number = state.newest() + 1;
        let needs = state.logged.back().map_or(end, |before| before.needs.max(end));
        state.logged.push_back(Logged { txn: Some(txn), needs, left: None });
        self.store(txn, number | LOGGED);
        self.newest.store(number, Ordering::SeqCst);
        needs
    }

    /// The commit record of a transaction that does not wait for the disk is in the log: it is published at once, or, where
    /// others before it wait, with the last of them (T1-nowait). How far the log has to be durable then, and what its
    /// session leaves to whoever publishes it.
    pub(crate) fn commit_without_waiting(
        &self,
        txn: TxnId,
        left: impl FnOnce() -> Arc<LeftBehind>,
    ) -> Option<(Lsn, Arc<LeftBehind>)> {
        let mut state = self.state.lock();
        let number = state.newest() + 1;
        let before = state.logged.back().map(|before| before.needs);
        let Some(needs) = before.filter(|_| !disabled(Rule::T1NoWaitOrder)) else {
            state.publishes();
            self.store(txn, number);
            state.end(txn);
            state.counter = number;
            self.counter.store(number, Ordering::SeqCst);
            self.newest.store(number, Ordering::SeqCst);
            return None;
        };
        let left = left();
        state.committing.insert(txn);
        state.logged.push_back(Logged { txn: Some(txn), needs, left: Some(Arc::clone(&left)) });
        self.store(txn, number | LOGGED);
        self.newest.store(number, Ordering::SeqCst);
        Some((needs, left))
    }

    /// Whether more than one transaction writes now, those included whose commit waits for the disk.
    pub fn others_write(&self) -> bool {
        self.state.lock().active.len() > 1
    }

    /// Publishes, for all to see, the commits of which the log is durable (T1); the caller's own among them, for which it
    /// has waited. The locks of those among them that did not wait: the caller gives them back.
    pub(crate) fn publish_durable(&self, durable: Lsn) -> Vec<Arc<LeftBehind>> {
        let mut all_left = Vec::new();
        let mut state = self.state.lock();
        while let Some(first) =
            state.logged.pop_front_if(|first| first.needs <= durable || disabled(Rule::T1Order))
        {
            let number = state.counter + 1;
            state.publishes();
            if let Some(txn) = first.txn {
                self.store(txn, number);
                state.end(txn);
            }
            state.counter = number;
            self.counter.store(number, Ordering::SeqCst);
            all_left.extend(first.left);
        }
        all_left
    }

    /// How far the log has to be durable before everything logged so far can be published; none if it is.
    pub fn logged_end(&self) -> Option<Lsn> {
        self.state.lock().logged.back().map(|last| last.needs)
    }

    /// The record of its preparation is in the log: `txn` survives a restart, and waits for a decision.
    pub fn mark_prepared(&self, txn: TxnId, note: Vec<u8>) {
        let mut state = self.state.lock();
        self.store(txn, LIMBO);
        state.limbo.insert(txn, note);
    }

    /// Commits `txn`, of which nothing needs to become durable, under the number returned (T1): that is seen at once, or
    /// as soon as those before it are published.
    pub fn publish_commit(&self, txn: TxnId) -> u64 {
        let mut state = self.state.lock();
        // One that stands behind others is of their moment.
        state.publishes();
        let number = self.publish(&mut state, txn);
        state.end(txn);
        number
    }

    /// `txn` was rolled back and nothing of it is left, so it counts as committed.
    pub fn rolled_back_clean(&self, txn: TxnId) {
        self.state.lock().undone.add(txn);
        self.publish_commit(txn);
    }

    /// `txn` was rolled back; its changes are still in the pages.
    pub fn mark_dead(&self, txn: TxnId) {
        let mut state = self.state.lock();
        self.store(txn, DEAD);
        state.dead.insert(txn);
        state.end(txn);
    }

    /// Nothing is left of the dead `txn`: it counts as committed, and OIT may pass it.
    pub fn backed_out(&self, txn: TxnId) {
        let mut state = self.state.lock();
        if state.dead.remove(&txn) {
            state.undone.add(txn);
            self.publish(&mut state, txn);
        }
    }

    fn publish(&self, state: &mut State, txn: TxnId) -> u64 {
        let number = state.newest() + 1;
        self.store(txn, number);
        match state.logged.back().map(|before| before.needs) {
            None => {
                state.counter = number;
                self.counter.store(number, Ordering::SeqCst);
            }
            Some(needs) => state.logged.push_back(Logged { txn: None, needs, left: None }),
        }
        self.newest.store(number, Ordering::SeqCst);
        number
    }

    /// Called with the state locked.
    fn store(&self, txn: TxnId, cell: u64) {
        if let Some(changed) = self.directory().store(txn, cell) {
            *self.directory.write() = Arc::new(changed);
        }
    }

    // ── looking ──────────────────────────────────────────────────────────────────────────────────────────────

    /// The state of a transaction.
    pub fn state(&self, txn: TxnId) -> TxnState {
        state_of(self.directory.read().find(txn).unwrap_or(ACTIVE))
    }

    /// What became of a transaction whose number was given.
    pub fn fate(&self, txn: TxnId) -> TxnFate {
        // The state is stored behind the list: one that looks committed is in the list if it is to be.
        match self.state(txn) {
            TxnState::Active | TxnState::Limbo => TxnFate::InProgress,
            TxnState::Dead => TxnFate::Aborted,
            TxnState::Committed => self.state.lock().undone.fate(txn),
        }
    }

    /// Whether the commit of a transaction is in the log, and not published yet.
    pub fn is_logged(&self, txn: TxnId) -> bool {
        logged_number(self.directory.read().find(txn).unwrap_or(ACTIVE)).is_some()
    }

    /// The commit number of a transaction, if it is committed; 0 is long ago, visible to all.
    pub fn commit_number(&self, txn: TxnId) -> Option<u64> {
        match self.directory.read().find(txn).unwrap_or(ACTIVE) {
            ACTIVE | DEAD | LIMBO => None,
            logged if logged & LOGGED != 0 => None,
            LONG_AGO => Some(0),
            number => Some(number),
        }
    }

    /// As [`Transactions::commit_number`], also of a commit that is logged and not published yet.
    pub(crate) fn number_given(&self, txn: TxnId) -> Option<u64> {
        let cell = self.directory.read().find(txn).unwrap_or(ACTIVE);
        logged_number(cell).or_else(|| self.commit_number(txn))
    }

    /// The dead transactions, ascending.
    pub fn dead(&self) -> Vec<TxnId> {
        self.state.lock().dead.iter().copied().collect()
    }

    /// The active transactions, ascending.
    pub fn active(&self) -> Vec<TxnId> {
        self.state.lock().active.iter().copied().collect()
    }

    /// The four markers (M1).
    pub fn markers(&self) -> Markers {
        self.state.lock().markers()
    }

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

    pub(super) fn directory(&self) -> Arc<Directory> {
        self.directory.read().clone()
    }

    // ── snapshots ────────────────────────────────────────────────────────────────────────────────────────────

    /// Registers a snapshot of this moment (V6).
    pub fn register(self: &Arc<Self>) -> Registration {
        let mut state = self.state.lock();
        let (number, oldest_active, all_below) = state.moment();
        self.registration(&mut state, number, oldest_active, all_below)
    }

    /// The same for who has to know every writer that it skips, until it says otherwise (V9).
    pub(super) fn register_every(self: &Arc<Self>) -> Registration {
        let mut state = self.state.lock();
        let (number, oldest_active, all_below) = state.moment();
        let registration = self.registration(&mut state, number, oldest_active, all_below);
        registration.hold.set_every(true);
        registration
    }

    /// Makes an earlier registration one of this moment, whether it is idle or not (V6).
    pub(super) fn register_again(&self, registration: &mut Registration) {
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

    /// The greatest number given, published or not.
    pub(super) fn newest(&self) -> u64 {
        self.newest.load(Ordering::SeqCst)
    }

    /// The newest commit number.
    pub(crate) fn counter(&self) -> u64 {
        self.counter.load(Ordering::SeqCst)
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

    pub(super) fn unregister(&self, number: u64, key: u64) {
        self.state.lock().registered.remove(&(number, key));
    }

    // ── the past ─────────────────────────────────────────────────────────────────────────────────────────────

    /// Keeps old versions for so long from now on; 0 is not at all. A past that was kept before stays within reach as far
    /// as the new time goes. Whether it begins now.
    pub fn keep_history(&self, micros: i64, clock: &Arc<dyn Clock>) -> bool {
        let mut state = self.state.lock();
        let begins = micros > 0 && state.history.is_none();
        match &mut state.history {
            _ if micros <= 0 => state.history = None,
            Some(history) => {
                history.set_retention(micros);
                history.trim();
            }
            None => state.history = Some(History::new(Arc::clone(clock), micros)),
        }
        drop(state);
        self.housekeeping.wake();
        begins
    }

    /// Tells a past that a restart has brought back what time it is.
    pub(crate) fn set_clock(&self, clock: &Arc<dyn Clock>) {
        if let Some(history) = &mut self.state.lock().history {
            history.set_clock(clock);
        }
    }

    /// Whether old versions stay for a time.
    pub(crate) fn keeps_history(&self) -> bool {
        self.state.lock().history.is_some()
    }

    /// Lets the horizon pass what is older than history is kept; the report of what is left.
    pub fn trim_history(&self) -> Option<HistoryReport> {
        let mut state = self.state.lock();
        let counter = state.counter;
        let history = state.history.as_mut()?;
        history.trim();
        Some(history.report(counter))
    }

    /// Lets an eighth of the moments go, the oldest, as they take more space than they may; whether there were any.
    pub(crate) fn shorten_history(&self) -> bool {
        self.state.lock().history.as_mut().is_some_and(History::shorten)
    }

    /// The number of the state that was there at a moment (microseconds since 1970); none where it cannot be read any more.
    pub fn number_at(&self, moment: i64) -> Option<u64> {
        let state = self.state.lock();
        state.history.as_ref()?.number_at(moment, state.counter)
    }

    /// Appends the past for a checkpoint, if it is kept (H3).
    pub(crate) fn encode_history(&self, out: &mut Vec<u8>) -> bool {
        let mut state = self.state.lock();
        let Some(history) = &mut state.history else { return false };
        history.trim();
        let directory = self.directory();
        let oldest = history.oldest().map_or(TxnId(u64::MAX), |mark| mark.all_below);
        let next = TxnId(state.next);
        let first = oldest.max(directory.floor()).min(next);
        let history = state.history.as_ref().expect("there above");
        RestoredHistory::encode_numbers(first, directory.numbers(first..next), out);
        history.encode(out);
        true
    }

    // ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────

    /// Appends what a restart needs: next, counter, the markers, the dead, the active that are neither committing nor
    /// prepared, each a little-endian u64, lists with their count in front; then the prepared ones, with their count,
    /// each its id, the length of its note and the note.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut state = self.state.lock();
        let markers = state.markers();
        for number in [state.next, state.newest(), markers.oit.0, markers.oat.0, markers.ost.0] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        let limbo: Vec<(&TxnId, &Vec<u8>)> =
            state.limbo.iter().filter(|(txn, _)| !state.committing.contains(txn)).collect();
        let active: Vec<TxnId> = state
            .active
            .difference(&state.committing)
            .filter(|txn| !state.limbo.contains_key(txn))
            .copied()
            .collect();
        for ids in [state.dead.iter().copied().collect(), active] {
            out.extend_from_slice(&(ids.len() as u64).to_le_bytes());
            ids.iter().for_each(|id| out.extend_from_slice(&id.0.to_le_bytes()));
        }
        out.extend_from_slice(&(limbo.len() as u64).to_le_bytes());
        for (txn, note) in limbo {
            out.extend_from_slice(&txn.0.to_le_bytes());
            out.extend_from_slice(&(note.len() as u64).to_le_bytes());
            out.extend_from_slice(note);
        }
    }

    /// Takes what [`Transactions::encode`] wrote from the front of `bytes`: also the transactions then active.
    ///
    /// # Errors
    /// A flaw if it is cut short or names ids that were never given.
    pub fn decode(bytes: &mut &[u8]) -> Result<(RestoredTransactions, Vec<TxnId>), Flaw> {
        let (next, commit_counter) = (take(bytes)?, take(bytes)?);
        let (oit, oat, ost) = (TxnId(take(bytes)?), TxnId(take(bytes)?), TxnId(take(bytes)?));
        if oit.0.max(oat.0).max(ost.0) > next {
            return Err(Flaw::from("a transaction marker is beyond the next transaction"));
        }
        let dead = take_ids(bytes, next)?.into_iter().collect();
        let active = take_ids(bytes, next)?;
        let mut limbo = BTreeMap::new();
        for _ in 0..take(bytes)? {
            let (id, length) = (take(bytes)?, take(bytes)?);
            if id >= next {
                return Err(Flaw::new(format!("prepared transaction {id} beyond the next one, {next}")));
            }
            let length = usize::try_from(length).map_err(|_| Flaw::from("a note longer than memory"))?;
            limbo.insert(TxnId(id), checked_slice(bytes, 0, length)?.to_vec());
            *bytes = &bytes[length..];
        }
        let (known, undone) = (TxnId(next), BTreeSet::new());
        let restored = RestoredTransactions {
            next,
            commit_counter,
            dead,
            limbo,
            known,
            undone,
            oit,
            oat,
            ost,
            history: None,
        };
        Ok((restored, active))
    }
}

fn take(bytes: &mut &[u8]) -> Result<u64, Flaw> {
    let number = checked_u64(bytes, 0)?;
    *bytes = &bytes[size_of::<u64>()..];
    Ok(number)
}

fn take_ids(bytes: &mut &[u8], next: u64) -> Result<Vec<TxnId>, Flaw> {
    let count = take(bytes)?;
    let mut ids = Vec::new();
    for _ in 0..count {
        let id = take(bytes)?;
        let before = ids.last().map_or(0, |last: &TxnId| last.0);
        if id <= before || id >= next {
            return Err(Flaw::new(format!("transaction {id} out of order in a list below {next}")));
        }
        ids.push(TxnId(id));
    }
    Ok(ids)
}

impl fmt::Debug for Transactions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Transactions({:?})", self.markers())
    }
}

#[cfg(test)]
mod tests;
