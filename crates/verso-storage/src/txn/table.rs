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
//! M1. Markers never decrease, also across a restart: *next* is the next id; *OIT* the smallest id that is active or
//!     dead; *OAT* the smallest active one; *OST* the OAT of the moment when the oldest registered snapshot was taken.
//!     Each is the next of those before it where there is none of its kind.
//!
//! Which snapshots are registered, and what they hold (V6, V9), is in [`registered`], the past that is kept (H1) in [`past`],
//! what a restart brings back in [`restart`].
//!
//! Locks: the state's mutex, then the directory's.

mod past;
mod registered;
mod restart;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use verso_env::sync::{Mutex, RwLock};

use super::fate::{TxnFate, Undone};
use super::history::History;
use super::inventory::{ACTIVE, DEAD, Directory, LIMBO, LOGGED, LONG_AGO, TxnState, logged_number, state_of};
use super::transaction::LeftBehind;
use crate::page::{Lsn, TxnId};
use crate::rules::{Rule, disabled};
use crate::sleeper::Sleeper;
use registered::Registered;
pub use restart::RestoredTransactions;

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

    /// Whether nobody reads or writes at this moment.
    pub(crate) fn is_at_rest(&self) -> bool {
        let state = self.state.lock();
        state.active.is_empty() && !state.is_read()
    }

    /// The four markers (M1).
    pub fn markers(&self) -> Markers {
        self.state.lock().markers()
    }

    pub(super) fn directory(&self) -> Arc<Directory> {
        self.directory.read().clone()
    }

    /// The greatest number given, published or not.
    pub(super) fn newest(&self) -> u64 {
        self.newest.load(Ordering::SeqCst)
    }

    /// The newest commit number.
    pub(crate) fn counter(&self) -> u64 {
        self.counter.load(Ordering::SeqCst)
    }
}

impl fmt::Debug for Transactions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Transactions({:?})", self.markers())
    }
}

#[cfg(test)]
mod tests;
