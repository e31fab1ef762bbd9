//! The lock manager: owners, and getting locks.
//!
//! T3-logged. From the moment when the commit of a transaction is in the log, changes at READ COMMITTED pass its record
//!     locks, explicit ones too, and see what it has done (S1): to them it has ended. To everybody else it holds all its
//!     locks until it is published. Who passes a lock notes that, as if he had seen a change of the transaction.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use verso_env::Clock;
use verso_env::sync::{Condvar, Mutex, MutexGuard};

use super::mode::{RecordLockMode, TableLockMode, WaitPolicy};
use super::owner::{CancelHandle, LockOwner, Near, OwnerCore};
use super::pages::TableRecords;
use super::table::{LOCKS_MAX, OwnerState, State, Tag, Want};
use super::waited::Waited;
use crate::StorageError;
use crate::failed::Failed;
use crate::heap::Heap;
use crate::page::{ObjectId, RecordId, TxnId};
use crate::rules::{Rule, disabled};
use crate::txn::Transactions;

/// Counters of strong table locks; tables share them.
const STRIPES: usize = 256;

/// All locks of an open database.
pub struct LockManager {
    pub(super) state: Mutex<State>,
    /// Strong table locks held or wanted, by stripe (O1).
    pub(super) strong: [AtomicU32; STRIPES],
    /// Owners that wait; who ends a transaction looks here first.
    pub(super) waiting: AtomicUsize,
    /// Waits so far.
    pub(super) waits: AtomicU64,
    /// Those of them that are over.
    pub(super) waited: Waited,
    /// Deadlocks so far.
    pub(super) deadlocks: AtomicU64,
    /// How often somebody has stepped back from records.
    pub(super) steps_back: AtomicU64,
    /// The engine has failed: what is waited for may never come.
    pub(super) failed: Failed,
    pub(super) transactions: Arc<Transactions>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) this: Weak<LockManager>,
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
            waited: Waited::default(),
            deadlocks: AtomicU64::new(0),
            steps_back: AtomicU64::new(0),
            failed: Failed::default(),
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
            waited: Arc::default(),
        });
        let core_of = Arc::clone(&core);
        let owner = OwnerState {
            core: core_of,
            tags: BTreeSet::new(),
            pages: Vec::new(),
            ranges: Vec::new(),
            want: None,
        };
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

    /// Locks a name of the catalog until the transaction ends.
    pub(crate) fn lock_name(
        &self,
        owner: &Arc<OwnerCore>,
        name: u64,
        mode: TableLockMode,
        request: Request,
    ) -> Result<(), StorageError> {
        self.acquire(owner, Tag::Name(name), mode as u8, false, request).map(drop)
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
        if matches!(tag, Tag::Advisory(_)) && state.tags.len() >= LOCKS_MAX && !state.tags.contains_key(&tag)
        {
            return Err(StorageError::TooManyLocks { limit: LOCKS_MAX });
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

    /// Waits until a transaction has ended, or has stepped back from records since `seen`: the caller looks again.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`.
    pub(crate) fn wait_end(
        &self,
        owner: &Arc<OwnerCore>,
        (txn, seen): (TxnId, Seen),
        request: Request,
    ) -> Result<bool, StorageError> {
        let mut state = self.state.lock();
        // As in `wait_record`.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let is_old = self.steps_back.load(Ordering::SeqCst) != seen.0;
        let ended = if is_old { Ok(true) } else { self.block(&mut state, owner, Want::End(txn), request) };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        ended
    }

    // ── odds and ends ────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(super) fn stripe(&self, object: ObjectId) -> &AtomicU32 {
        &self.strong[object.0 as usize % STRIPES]
    }

    pub(super) fn strong_object(&self, tag: Tag, mode: u8) -> Option<ObjectId> {
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

    /// How sessions have waited for locks.
    pub fn waited(&self) -> &Waited {
        &self.waited
    }

    /// Deadlocks found so far.
    pub fn deadlocks(&self) -> u64 {
        self.deadlocks.load(Ordering::Relaxed)
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
