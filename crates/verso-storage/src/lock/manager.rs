//! The lock manager: getting, waiting, releasing.
//!
//! T3-logged. From the moment when the commit of a transaction is in the log, changes at READ COMMITTED pass its record
//!     locks, explicit ones too, and see what it has done (S1): to them it has ended. To everybody else it holds all its
//!     locks until it is published. Who passes a lock notes that, as if he had seen a change of the transaction.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Weak};
use std::time::Duration;

use verso_env::Clock;
use verso_env::sync::{Condvar, Mutex, MutexGuard};

use super::graph;
use super::mode::{RecordLockMode, TableLockMode, WaitPolicy};
use super::owner::{CancelHandle, LockOwner, Near, OwnerCore};
use super::table::{OwnerState, State, TableRecords, Tag, Want};
use crate::StorageError;
use crate::heap::Heap;
use crate::page::{ObjectId, RecordId, TxnId};
use crate::rules::{Rule, disabled};
use crate::txn::{Transactions, TxnState};

/// Counters of strong table locks; tables share them.
const STRIPES: usize = 256;
/// What is waited for in one go, when only time is: clocks take no more than some centuries.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

/// All locks of an open database.
pub struct LockManager {
    state: Mutex<State>,
    /// Strong table locks held or wanted, by stripe (O1).
    strong: [AtomicU32; STRIPES],
    /// Owners that wait; who ends a transaction looks here first.
    waiting: AtomicUsize,
    /// Waits so far.
    waits: AtomicU64,
    /// How often somebody has stepped back from records.
    steps_back: AtomicU64,
    /// The engine has failed: what is waited for may never come.
    failed: AtomicBool,
    transactions: Arc<Transactions>,
    clock: Arc<dyn Clock>,
    this: Weak<LockManager>,
}

/// When records were looked at, told by how often somebody had stepped back from some.
#[derive(Clone, Copy)]
pub(crate) struct Seen(u64);

/// How a request is made.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) policy: WaitPolicy,
    pub(crate) timeout: Option<Duration>,
    /// Whether a wait for a record ends when the commit of who has it is in the log (T3-logged).
    pub(crate) passes: bool,
}

impl LockManager {
    /// No locks.
    pub fn new(transactions: Arc<Transactions>, clock: Arc<dyn Clock>) -> Arc<LockManager> {
        Arc::new_cyclic(|this| LockManager {
            state: Mutex::new(State { next_owner: 1, ..State::default() }),
            strong: [const { AtomicU32::new(0) }; STRIPES],
            waiting: AtomicUsize::new(0),
            waits: AtomicU64::new(0),
            steps_back: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            transactions,
            clock,
            this: this.clone(),
        })
    }

    // ── owners ───────────────────────────────────────────────────────────────────────────────────────────────

    /// A new owner; `session` 0 means a transaction by itself.
    pub(crate) fn register(&self, session: u64) -> LockOwner {
        let mut state = self.state.lock();
        let id = state.next_owner;
        state.next_owner += 1;
        let core = Arc::new(OwnerCore {
            id,
            session,
            txn: AtomicU64::new(0),
            logged: AtomicBool::new(false),
            saw_logged: Arc::default(),
            near: Mutex::new(Near::default()),
            mark: AtomicU32::new(0),
            wake: Condvar::new(),
            cancel: Arc::default(),
        });
        let core_of = Arc::clone(&core);
        let owner =
            OwnerState { core: core_of, tags: Vec::new(), pages: Vec::new(), ranges: Vec::new(), want: None };
        state.owners.insert(id, owner);
        LockOwner { core, manager: self.this.upgrade().expect("called on a living manager") }
    }

    /// The owner is gone.
    pub(super) fn forget(&self, owner: &OwnerCore) {
        self.end(owner);
        self.release_session(owner);
        self.state.lock().owners.remove(&owner.id);
    }

    /// Wakes whatever the owner waits in, to look at its cancel flag.
    pub(super) fn wake_owner(&self, owner: u64) {
        let state = self.state.lock();
        if let Some(owner) = state.owners.get(&owner) {
            owner.core.wake.notify_all();
        }
    }

    // ── tables and advisory locks ────────────────────────────────────────────────────────────────────────────

    /// Locks a table until the transaction ends; `false` if it was to be skipped.
    pub(crate) fn lock_table(
        &self,
        owner: &Arc<OwnerCore>,
        object: ObjectId,
        mode: TableLockMode,
        request: Request,
    ) -> Result<bool, StorageError> {
        if mode.is_weak() {
            let mut near = owner.near.lock();
            // Under the mutex that a strong locker takes next (O1).
            if self.stripe(object).load(Ordering::Relaxed) == 0 {
                let (bit, mark) = (1 << mode as u8, owner.mark());
                if near.tables.iter().any(|(table, modes, _)| *table == object && modes & bit != 0) {
                    return Ok(true);
                }
                match near.tables.iter_mut().find(|(table, _, since)| (*table, *since) == (object, mark)) {
                    Some((_, modes, _)) => *modes |= bit,
                    None => near.tables.push((object, bit, mark)),
                }
                return Ok(true);
            }
        }
        self.acquire(owner, Tag::Table(object), mode as u8, false, request)
    }

    /// Gets a lock of the common table.
    pub(super) fn acquire(
        &self,
        owner: &Arc<OwnerCore>,
        tag: Tag,
        mode: u8,
        session: bool,
        request: Request,
    ) -> Result<bool, StorageError> {
        let mut state = self.state.lock();
        if state.held(owner.id, tag) >> mode & 1 == 1 {
            state.grant(owner.id, tag, mode, session);
            return Ok(true);
        }
        let strong = self.strong_object(tag, mode);
        if let Some(object) = strong {
            self.stripe(object).fetch_add(1, Ordering::SeqCst);
            gather(&mut state, object);
        }
        let granted = self.block(&mut state, owner, Want::Lock { tag, mode }, request);
        let withdrawn = state.dequeue(owner.id, tag);
        if matches!(granted, Ok(true)) {
            state.grant(owner.id, tag, mode, session);
            owner.near.lock().elsewhere = true;
        } else if let Some(object) = strong {
            self.stripe(object).fetch_sub(1, Ordering::SeqCst);
        }
        if withdrawn {
            state.wake_queue(tag, &|txn, passes| self.is_active(txn, passes));
        }
        granted
    }

    /// Gives an advisory lock of the session back; whether it was held.
    pub(super) fn release_one(&self, owner: &OwnerCore, tag: Tag, mode: u8) -> bool {
        let mut state = self.state.lock();
        let Some(entry) = state.tags.get_mut(&tag) else { return false };
        let own = |granted: &&mut super::table::Granted| {
            granted.owner == owner.id && granted.mode == mode && granted.session > 0
        };
        let Some(granted) = entry.granted.iter_mut().find(own) else { return false };
        granted.session -= 1;
        self.drop_unheld(&mut state, owner.id, tag);
        true
    }

    /// Gives all advisory locks of the session back.
    pub(crate) fn release_session(&self, owner: &OwnerCore) {
        self.release_where(owner, |granted| granted.session = 0);
    }

    /// Whether the owner keeps others.
    fn release_where(&self, owner: &OwnerCore, clear: impl Fn(&mut super::table::Granted)) -> bool {
        let mut state = self.state.lock();
        let tags = state.owners.get(&owner.id).map(|owner| owner.tags.clone()).unwrap_or_default();
        for tag in tags {
            if let Some(entry) = state.tags.get_mut(&tag) {
                entry.granted.iter_mut().filter(|granted| granted.owner == owner.id).for_each(&clear);
            }
            self.drop_unheld(&mut state, owner.id, tag);
        }
        state.owners.get(&owner.id).is_some_and(|owner| !owner.tags.is_empty())
    }

    /// Removes grants that no scope holds any more and wakes who waited for them.
    fn drop_unheld(&self, state: &mut State, owner: u64, tag: Tag) {
        let mut gone = false;
        let mut left = false;
        if let Some(entry) = state.tags.get_mut(&tag) {
            entry.granted.retain(|granted| {
                let its = granted.owner == owner;
                let keep = !its || granted.session + granted.txn > 0;
                if !keep {
                    gone = true;
                    if let Some(object) = self.strong_object(tag, granted.mode) {
                        self.stripe(object).fetch_sub(1, Ordering::SeqCst);
                    }
                }
                left |= its && keep;
                keep
            });
        }
        if gone {
            if !left && let Some(owner) = state.owners.get_mut(&owner) {
                owner.tags.retain(|held| *held != tag);
            }
            state.wake_queue(tag, &|txn, passes| self.is_active(txn, passes));
            state.drop_if_empty(tag);
        }
    }

    // ── records ──────────────────────────────────────────────────────────────────────────────────────────────

    /// The first of `slots` that an explicit lock or somebody's place in a queue denies to `owner`. Called with the page
    /// latched, and only if the table's counter says that there is something to find.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one request")]
    pub(crate) fn denied(
        &self,
        owner: &OwnerCore,
        object: ObjectId,
        page_index: u32,
        slots: &[u16],
        mode: RecordLockMode,
        passes: bool,
        is_own: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        denied(&self.state.lock(), owner, object, page_index, slots, mode, passes, is_own)
    }

    /// Locks records of a page for `owner` unless one of them is denied, which is returned then. Called with the page
    /// latched.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one request")]
    pub(crate) fn lock_slots(
        &self,
        owner: &OwnerCore,
        heap: &Heap,
        page_index: u32,
        slots: &[u16],
        mode: RecordLockMode,
        passes: bool,
        is_own: impl Fn(u16) -> bool,
    ) -> Option<u16> {
        let mut state = self.state.lock();
        let denied = denied(&state, owner, heap.object, page_index, slots, mode, passes, is_own);
        if denied.is_none() {
            let (count, whole) = (&heap.explicit_locks, heap.locks_pages());
            state.lock_slots(owner.id, heap.object, count, page_index, slots, mode, whole);
            owner.near.lock().elsewhere = true;
        }
        denied
    }

    /// What is seen of records from now on; see [`LockManager::wait_record`].
    pub(crate) fn seen(&self) -> Seen {
        Seen(self.steps_back.load(Ordering::SeqCst))
    }

    /// Waits until nobody ahead denies the record to `owner` any more. The place in the queue is kept until the returned
    /// guard is dropped, so that nobody overtakes while the caller latches the page again. `None`: it was to be skipped.
    /// The writer was found since `seen`: it is not waited for if somebody has stepped back from records meanwhile.
    pub(crate) fn wait_record(
        &self,
        owner: &Arc<OwnerCore>,
        heap: &Heap,
        record: RecordId,
        mode: RecordLockMode,
        (writer, seen): (TxnId, Seen),
        request: Request,
    ) -> Result<Option<Place<'_>>, StorageError> {
        let own = writer == owner.txn() && writer != TxnId::NONE;
        let object = heap.object;
        let mut state = self.state.lock();
        // Either we see that somebody has stepped back, or he sees that somebody waits and comes for the state.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let is_old = self.steps_back.load(Ordering::SeqCst) != seen.0;
        let writer = if own || is_old { TxnId::NONE } else { writer };
        state.records.entry(object).or_insert_with(|| TableRecords::new(&heap.explicit_locks));
        let place = Place { manager: self, owner: owner.id, tag: Tag::Record(object, record) };
        let want = Want::Record { object, record, mode, writer, passes: request.passes };
        if own {
            // The home writer goes before everybody who waits for it.
            state.enqueue(owner.id, &want, true);
        }
        let result = self.block(&mut state, owner, want, request);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        drop(state);
        match result {
            Ok(true) => Ok(Some(place)),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits for the end of a transaction.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`.
    pub(crate) fn wait_end(
        &self,
        owner: &Arc<OwnerCore>,
        txn: TxnId,
        request: Request,
    ) -> Result<bool, StorageError> {
        let mut state = self.state.lock();
        self.block(&mut state, owner, Want::End(txn), request)
    }

    // ── the end of a transaction ─────────────────────────────────────────────────────────────────────────────

    /// The owner's transaction has ended, which its state says already: its locks go and who waited for it goes on.
    pub(crate) fn end(&self, owner: &OwnerCore) {
        let txn = owner.txn();
        owner.txn.store(0, Ordering::Release);
        owner.mark.store(0, Ordering::Relaxed);
        let elsewhere = {
            let mut near = owner.near.lock();
            near.tables.clear();
            std::mem::take(&mut near.elsewhere)
        };
        // Either the waiter sees the new state, or we see that somebody waits.
        fence(Ordering::SeqCst);
        if elsewhere {
            self.release_records(owner.id, 0);
            let session_locks = self.release_where(owner, |granted| granted.txn = 0);
            owner.near.lock().elsewhere |= session_locks;
        }
        if txn != TxnId::NONE && self.waiting.load(Ordering::SeqCst) > 0 {
            let state = self.state.lock();
            self.wake_who_waits_for(&state, txn, false);
        }
        owner.logged.store(false, Ordering::Release);
        owner.saw_logged.store(false, Ordering::Relaxed);
    }

    /// The commit of the owner's transaction is in the log, which its state says already: changes that waited for it go
    /// on (T3-logged).
    pub(crate) fn logged(&self, owner: &OwnerCore) {
        owner.logged.store(true, Ordering::Release);
        // Either the waiter sees that, or we see that somebody waits.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let state = self.state.lock();
        self.wake_who_waits_for(&state, owner.txn(), true);
        let Some(known) = state.owners.get(&owner.id).filter(|_| owner.near.lock().elsewhere) else { return };
        let active = |txn, passes| self.is_active(txn, passes);
        known.pages.iter().for_each(|(object, page)| state.wake_queues(*object, Some(*page), &active));
        known.ranges.iter().for_each(|object| state.wake_queues(*object, None, &active));
    }

    /// Wakes those who wait for a transaction, or only those who pass one whose commit is logged. Who stands behind others
    /// sleeps on: when they leave the queue they wake him.
    fn wake_who_waits_for(&self, state: &State, txn: TxnId, passing: bool) {
        let active = |txn, passes| self.is_active(txn, passes);
        for (id, other) in &state.owners {
            let Some(want) = &other.want else { continue };
            let concerned = match *want {
                Want::End(of) => of == txn && !passing,
                Want::Record { writer, passes, .. } => writer == txn && (passes || !passing),
                Want::Lock { .. } => false,
            };
            if concerned && !state.is_blocked(*id, want, &active) {
                other.core.wake.notify_all();
            }
        }
    }

    /// The owner's transaction was rolled back to a savepoint: what was locked at its mark or later goes, and who waited
    /// for a record that it had changed looks again.
    pub(crate) fn release_since(&self, owner: &OwnerCore, mark: u32) {
        let elsewhere = {
            let mut near = owner.near.lock();
            near.tables.retain(|(.., since)| *since < mark);
            near.elsewhere
        };
        if elsewhere {
            self.release_records(owner.id, mark);
            self.release_where(owner, |granted| {
                if granted.since >= mark {
                    granted.txn = 0;
                }
            });
        }
        self.look_again(owner);
    }

    /// The owner's transaction has stepped back from records that it had changed: who waits for one of them looks whether
    /// it is free now.
    pub(crate) fn look_again(&self, owner: &OwnerCore) {
        let txn = owner.txn();
        self.steps_back.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if txn == TxnId::NONE || self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.state.lock();
        for other in state.owners.values_mut() {
            if let Some(Want::Record { writer, .. }) = &mut other.want
                && *writer == txn
            {
                *writer = TxnId::NONE;
                other.core.wake.notify_all();
            }
        }
    }

    /// The owner's lock on a table stays until the end of the transaction, also past a rollback to a savepoint.
    pub(crate) fn pin_table(&self, owner: &OwnerCore, object: ObjectId) {
        for (table, _, since) in &mut owner.near.lock().tables {
            if *table == object {
                *since = 0;
            }
        }
        let mut state = self.state.lock();
        if let Some(entry) = state.tags.get_mut(&Tag::Table(object)) {
            entry.granted.iter_mut().filter(|held| held.owner == owner.id).for_each(|held| held.since = 0);
        }
    }

    /// Releases the owner's record locks that bear `since` or a later mark.
    fn release_records(&self, owner: u64, since: u32) {
        let mut state = self.state.lock();
        let Some(known) = state.owners.get_mut(&owner) else { return };
        let pages = std::mem::take(&mut known.pages);
        let mut ranges = std::mem::take(&mut known.ranges);
        let mut touched: Vec<(ObjectId, Option<u32>)> = ranges.iter().map(|object| (*object, None)).collect();
        let mut left = Vec::new();
        for (object, page) in pages {
            let Some(table) = state.records.get_mut(&object) else { continue };
            table.unlock_page(page, |lock| lock.owner == owner && lock.since >= since);
            if table.pages.get(&page).is_some_and(|locks| locks.iter().any(|lock| lock.owner == owner)) {
                left.push((object, page));
            }
            touched.push((object, Some(page)));
        }
        ranges.retain(|object| {
            let Some(table) = state.records.get_mut(object) else { return false };
            table.unlock_ranges(owner, since);
            table.ranges.keys().any(|(holder, _)| *holder == owner)
        });
        if let Some(known) = state.owners.get_mut(&owner) {
            (known.pages, known.ranges) = (left, ranges);
        }
        for (object, page) in &touched {
            state.wake_queues(*object, *page, &|txn, passes| self.is_active(txn, passes));
        }
        for (object, _) in touched {
            if state.records.get(&object).is_some_and(|table| table.count.load(Ordering::Relaxed) == 0) {
                state.records.remove(&object);
            }
        }
    }

    // ── waiting ──────────────────────────────────────────────────────────────────────────────────────────────

    /// Whether a transaction has not ended: for those who pass one whose commit is logged, and for those who do not.
    fn is_active(&self, txn: TxnId, passes: bool) -> bool {
        matches!(self.transactions.state(txn), TxnState::Active | TxnState::Limbo)
            && !(passes && self.transactions.is_logged(txn))
    }

    /// Waits until nobody blocks `want`. A queue is joined, and left by the caller.
    fn block(
        &self,
        state: &mut MutexGuard<'_, State>,
        owner: &Arc<OwnerCore>,
        want: Want,
        request: Request,
    ) -> Result<bool, StorageError> {
        // The owner of a transaction in doubt may be gone, so that nobody seems to be in the way.
        if self.failed.load(Ordering::Acquire) {
            return Err(StorageError::Poisoned);
        }
        let active = |txn, passes| self.is_active(txn, passes);
        if !state.is_blocked(owner.id, &want, &active) {
            // A place in the queue all the same, for the caller has yet to take what it may have now.
            if matches!(want, Want::Record { .. }) {
                state.enqueue(owner.id, &want, false);
            }
            return Ok(true);
        }
        match request.policy {
            WaitPolicy::NoWait => return Err(StorageError::LockNotAvailable),
            WaitPolicy::SkipLocked => return Ok(false),
            WaitPolicy::Block => {}
        }
        let deadline = request.timeout.map(|timeout| {
            self.clock.monotonic_nanos().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
        });
        state.enqueue(owner.id, &want, false);
        if let Some(owner) = state.owners.get_mut(&owner.id) {
            debug_assert!(owner.want.is_none(), "an owner waits for one thing at a time (O2)");
            owner.want = Some(want);
        }
        if let Some(tag) = want.tag().filter(|tag| state.is_followed(owner.id, *tag)) {
            // Who holds what this one wants goes before it, and so perhaps before those behind it, too.
            state.wake_queue(tag, &active);
        }
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let result = loop {
            // Whom it waits for may have stepped back from the record meanwhile.
            let want = state.owners.get(&owner.id).and_then(|owner| owner.want).unwrap_or(want);
            if !state.is_blocked(owner.id, &want, &active) {
                break Ok(true);
            }
            if owner.cancel.load(Ordering::Acquire) {
                break Err(StorageError::Cancelled);
            }
            if self.failed.load(Ordering::Acquire) {
                break Err(StorageError::Poisoned);
            }
            if let Some(detail) = graph::cycle(state, owner.id, &active) {
                let victim = owner.txn();
                break Err(StorageError::Deadlock { victim, detail: detail.into() });
            }
            match deadline.map(|deadline| deadline.saturating_sub(self.clock.monotonic_nanos())) {
                None => owner.wake.wait(state),
                Some(0) => break Err(StorageError::LockTimeout),
                Some(nanos) => {
                    owner.wake.wait_for(state, Duration::from_nanos(nanos));
                }
            }
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        if let Some(owner) = state.owners.get_mut(&owner.id) {
            owner.want = None;
        }
        if result.is_err()
            && let Some(tag) = want.tag()
            && state.dequeue(owner.id, tag)
        {
            state.wake_queue(tag, &active);
        }
        result
    }

    /// Waits for nobody, until the time is over or the owner is cancelled.
    pub(super) fn sleep(&self, owner: &OwnerCore, duration: Duration) -> Result<(), StorageError> {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let deadline = self.clock.monotonic_nanos().saturating_add(nanos);
        let mut state = self.state.lock();
        loop {
            if owner.cancel.load(Ordering::Acquire) {
                return Err(StorageError::Cancelled);
            }
            match deadline.saturating_sub(self.clock.monotonic_nanos()) {
                0 => return Ok(()),
                // No longer than a condition variable can wait.
                nanos => owner.wake.wait_for(&mut state, Duration::from_nanos(nanos).min(SLEEP_MAX)),
            };
        }
    }

    /// Ends all waits, now and to come, with `Poisoned`: a transaction whose commit failed keeps its locks, because nobody
    /// knows whether it is committed.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        let state = self.state.lock();
        state.owners.values().for_each(|owner| owner.core.wake.notify_all());
    }

    // ── odds and ends ────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn stripe(&self, object: ObjectId) -> &AtomicU32 {
        &self.strong[object.0 as usize % STRIPES]
    }

    fn strong_object(&self, tag: Tag, mode: u8) -> Option<ObjectId> {
        match tag {
            Tag::Table(object) if TableLockMode::ALL[usize::from(mode)].is_strong() => Some(object),
            _ => None,
        }
    }

    pub(super) fn with_state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.state.lock())
    }

    pub(super) fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    pub(super) fn record_lock_parts(&self) -> usize {
        self.with_state(|state| {
            let parts = |table: &TableRecords| {
                let ranges: usize = table.ranges.values().map(|ranges| ranges.0.len()).sum();
                table.pages.values().map(|locks| locks.len()).sum::<usize>() + ranges
            };
            state.records.values().map(parts).sum()
        })
    }

    /// Waits so far.
    pub fn wait_count(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Lets another thread cancel what the owner does.
    pub(crate) fn cancel_handle(&self, owner: &Arc<OwnerCore>) -> CancelHandle {
        CancelHandle::new(owner, self.this.clone())
    }
}

/// The first slot that somebody denies to `owner`. The home writer goes before everybody who waits for it, but not
/// before who shares the lock with it.
#[allow(clippy::too_many_arguments, reason = "all of them describe one request")]
fn denied(
    state: &State,
    owner: &OwnerCore,
    object: ObjectId,
    page_index: u32,
    slots: &[u16],
    mode: RecordLockMode,
    passes: bool,
    is_own: impl Fn(u16) -> bool,
) -> Option<u16> {
    if disabled(Rule::T3Record) {
        return None;
    }
    slots.iter().copied().find(|slot| {
        let record = RecordId { page_index, slot: *slot };
        let want = Want::Record { object, record, mode, writer: TxnId::NONE, passes };
        let mut blockers = state.in_possession(owner.id, &want).chain(state.ahead(owner.id, &want));
        let denied =
            blockers.any(|blocker| !is_own(*slot) || state.held(blocker, Tag::Record(object, record)) != 0);
        let stays = Want::Record { object, record, mode, writer: TxnId::NONE, passes: false };
        if !denied && passes && state.in_possession(owner.id, &stays).next().is_some() {
            // Whose lock that is, it has ended for all that the owner does from now on.
            owner.saw_logged.store(true, Ordering::Relaxed);
        }
        denied
    })
}

/// Moves the weak locks of all owners on a table to the common table (O1).
fn gather(state: &mut State, object: ObjectId) {
    let cores: Vec<Arc<OwnerCore>> = state.owners.values().map(|owner| Arc::clone(&owner.core)).collect();
    for core in cores {
        let mut near = core.near.lock();
        while let Some(at) = near.tables.iter().position(|(table, ..)| *table == object) {
            let (_, modes, since) = near.tables.swap_remove(at);
            near.elsewhere = true;
            for mode in TableLockMode::ALL.into_iter().filter(|mode| modes >> *mode as u8 & 1 == 1) {
                state.grant_since(core.id, Tag::Table(object), mode as u8, false, since);
            }
        }
    }
}

/// A place in a record's queue.
pub(crate) struct Place<'m> {
    manager: &'m LockManager,
    owner: u64,
    tag: Tag,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut state = self.manager.state.lock();
        if state.dequeue(self.owner, self.tag) {
            state.wake_queue(self.tag, &|txn, passes| self.manager.is_active(txn, passes));
        }
        let Tag::Record(object, _) = self.tag else { return };
        if state.records.get(&object).is_some_and(|table| table.count.load(Ordering::Relaxed) == 0) {
            state.records.remove(&object);
        }
    }
}
