//! Who holds and waits for locks: a session, through all of its transactions.
//!
//! O1. Weak table locks (those of everyday statements, which do not exclude each other) stay with their owner, behind
//!     a mutex nobody else asks for, as long as nobody wants a strong one on the same stripe of tables. Who wants a
//!     strong one raises the stripe's counter first and then moves the weak ones of all owners to the common table; a
//!     weak locker looks at the counter while it holds its own mutex, so one of the two sees the other.
//! O2. An owner waits for one thing at a time.
//! O3. A savepoint moves the owner's mark, and every lock bears the mark at which it was first taken. So what was locked
//!     since a savepoint is what bears its mark or a later one, whichever savepoints were released in between.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

use super::manager::LockManager;
use super::waited::Waited;
use crate::StorageError;
use crate::page::{ObjectId, TxnId};

/// Weak table locks that an owner holds by itself.
#[derive(Default)]
pub(super) struct Near {
    /// Tables and modes, a bit each, and since which mark; a table has one for each mark since which it has some.
    pub(super) tables: Vec<(ObjectId, u8, u32)>,
    /// The common table holds something of this owner too.
    pub(super) elsewhere: bool,
}

/// A session's part in the lock manager.
pub(crate) struct OwnerCore {
    /// Its number in the manager.
    pub(crate) id: u64,
    /// What others call it: the session's number, or 0 for a transaction without one.
    pub(super) session: u64,
    /// The running transaction, once it has written; 0 otherwise.
    pub(super) txn: AtomicU64,
    /// The commit of the running transaction is in the log: changes do not wait for it any more (T3-logged).
    pub(super) logged: AtomicBool,
    /// The running transaction has seen, or passed a lock of, one that is logged only.
    pub(crate) saw_logged: Arc<AtomicBool>,
    pub(super) near: Mutex<Near>,
    /// Moves with each savepoint; what is locked bears it (O3).
    pub(super) mark: AtomicU32,
    /// Notified under the manager's mutex.
    pub(super) wake: Condvar,
    /// Set to end what it does.
    pub(crate) cancel: Arc<AtomicBool>,
    /// Its waits for locks.
    pub(super) waited: Arc<Waited>,
}

impl OwnerCore {
    /// The session's number, or 0.
    pub(crate) fn session(&self) -> u64 {
        self.session
    }

    /// The running transaction got its number.
    pub(crate) fn begin(&self, txn: TxnId) {
        self.txn.store(txn.0, Ordering::Release);
    }

    /// A savepoint is set: the mark of what is locked from now on.
    pub(crate) fn next_mark(&self) -> u32 {
        // Only the owner's own thread moves it.
        self.mark.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn mark(&self) -> u32 {
        self.mark.load(Ordering::Relaxed)
    }

    pub(super) fn txn(&self) -> TxnId {
        TxnId(self.txn.load(Ordering::Acquire))
    }

    pub(super) fn is_logged(&self) -> bool {
        self.logged.load(Ordering::Acquire)
    }

    /// As messages name it.
    pub(super) fn label(&self) -> String {
        match (self.session, self.txn()) {
            (0, TxnId::NONE) => format!("owner {}", self.id),
            (0, txn) => format!("transaction {txn}"),
            (session, _) => format!("session {session}"),
        }
    }
}

/// A session as the lock manager knows it: its transactions lock in its name, and locks of session scope are its own.
/// Dropping it releases them.
pub struct LockOwner {
    pub(crate) core: Arc<OwnerCore>,
    pub(super) manager: Arc<LockManager>,
}

impl LockOwner {
    /// Ends what the owner does or waits for, from another thread.
    pub fn cancel_handle(&self) -> CancelHandle {
        CancelHandle::new(&self.core, Arc::downgrade(&self.manager))
    }
}

impl LockOwner {
    /// Waits, unless cancelled meanwhile.
    ///
    /// # Errors
    /// `Cancelled`.
    pub fn sleep(&self, duration: Duration) -> Result<(), StorageError> {
        self.manager.sleep(&self.core, duration)
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.manager.forget(&self.core);
    }
}

impl fmt::Debug for LockOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "LockOwner({})", self.core.label())
    }
}

/// Ends what a transaction or session does, from another thread.
#[derive(Clone)]
pub struct CancelHandle {
    flag: Arc<AtomicBool>,
    waited: Arc<Waited>,
    owner: u64,
    manager: Weak<LockManager>,
}

impl CancelHandle {
    pub(super) fn new(owner: &OwnerCore, manager: Weak<LockManager>) -> CancelHandle {
        let (flag, waited) = (Arc::clone(&owner.cancel), Arc::clone(&owner.waited));
        CancelHandle { flag, waited, owner: owner.id, manager }
    }

    /// How it has waited for locks.
    pub fn waited(&self) -> &Waited {
        &self.waited
    }

    /// The statement under way fails with `Cancelled`, also while it waits for a lock.
    pub fn cancel(&self) {
        self.flag.store(true, Ordering::Release);
        if let Some(manager) = self.manager.upgrade() {
            manager.wake_owner(self.owner);
        }
    }

    /// Forgets an earlier cancel.
    pub fn reset(&self) {
        self.flag.store(false, Ordering::Release);
    }

    /// What [`CancelHandle::cancel`] sets.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.flag
    }
}

impl fmt::Debug for CancelHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "CancelHandle({}, {:?})", self.owner, self.flag)
    }
}
