//! Transactions of an engine: how they begin, what is known of them, their locks, and the past that is kept for their snapshots.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Engine;
use crate::StorageError;
use crate::lock::{LockInfo, LockManager, LockOwner, TableLockMode, WaitPolicy};
use crate::page::{ObjectId, TxnId};
use crate::txn::transaction::{Txn, TxnOptions};
use crate::txn::{HistoryReport, Markers, TxnFate, TxnState};

impl Engine {
    /// Begins a transaction.
    pub fn begin(&self, options: TxnOptions) -> Txn {
        Txn::new(Arc::clone(self.shared()), options, None)
    }

    /// No transaction can change anything from now on, until the database is opened again: they end with `Frozen`, which says why.
    /// What was said first is told.
    pub fn refuse_changes(&self, why: &str) {
        self.shared().frozen.get_or_init(|| why.into());
    }

    /// Begins a transaction of a session: it locks in the session's name, and the session's handle cancels it. A session
    /// has one transaction at a time.
    pub fn begin_for(&self, owner: &LockOwner, options: TxnOptions) -> Txn {
        Txn::new(Arc::clone(self.shared()), options, Some(owner))
    }

    /// The session with this number (not 0) as an owner of locks.
    pub fn lock_owner(&self, session: u64) -> LockOwner {
        self.shared().locks.register(session)
    }

    pub(crate) fn locks_of(&self) -> &Arc<LockManager> {
        &self.shared().locks
    }

    /// Locks a table until the transaction ends. `false` when others have it and the policy is to go on without. A lock
    /// held already costs a look at the transaction's own list; one of the weak modes, while nobody asks for a strong one,
    /// a mutex of the session's own.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`, `LockNotAvailable`.
    pub fn lock_table(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        mode: TableLockMode,
        policy: WaitPolicy,
    ) -> Result<bool, StorageError> {
        txn.lock_table(object, mode, policy)
    }

    /// Every lock held or waited for.
    pub fn locks(&self) -> Vec<LockInfo> {
        self.shared().locks.list()
    }

    /// Next, OIT, OAT, OST.
    pub fn markers(&self) -> Markers {
        self.shared().transactions.markers()
    }

    /// What became of a transaction.
    pub fn txn_state(&self, txn: TxnId) -> TxnState {
        self.shared().transactions.state(txn)
    }

    /// What became of a transaction; none of a number that was never given.
    pub fn txn_fate(&self, txn: TxnId) -> Option<TxnFate> {
        let transactions = &self.shared().transactions;
        (txn < transactions.markers().next).then(|| transactions.fate(txn))
    }

    /// The commit number of a transaction, if it is committed: snapshots from this number on see it. 0 is long ago.
    pub fn commit_number(&self, txn: TxnId) -> Option<u64> {
        self.shared().transactions.commit_number(txn)
    }

    /// Whether a transaction has committed, and every view there is or will be sees it.
    pub fn is_seen_by_all(&self, txn: TxnId) -> bool {
        let transactions = &self.shared().transactions;
        transactions.commit_number(txn).is_some_and(|number| number <= transactions.horizon())
    }

    /// Open transactions.
    pub fn transactions(&self) -> Vec<crate::TxnInfo> {
        self.shared().live.lock().values().filter_map(|live| live.info()).collect()
    }

    /// Keeps old versions for so long from now on, so that [`Txn::past`] reads them; zero is not at all.
    pub fn set_version_retention(&self, retention: Duration) {
        let micros = i64::try_from(retention.as_micros()).unwrap_or(i64::MAX);
        self.shared().core().wal.stamp_for_history(micros > 0);
        // A crash finds the past behind a checkpoint that has it.
        if self.shared().transactions.keep_history(micros, &self.env().clock)
            && let Err(error) = self.checkpoint()
        {
            tracing::warn!(%error, "a crash before the next checkpoint loses the past that is kept from now on");
        }
    }

    /// Beyond so many bytes of version pages the past that is kept becomes shorter; 0 = never.
    pub fn set_retention_bytes(&self, bytes: u64) {
        self.shared().retention_bytes.store(bytes, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
    }

    /// The number of the newest state.
    pub fn newest_number(&self) -> u64 {
        self.shared().transactions.counter()
    }

    /// The newest commit number when the database was opened.
    pub fn first_number(&self) -> u64 {
        self.shared().first_number
    }

    /// What can be read of the past; none where it is not kept.
    pub fn history(&self) -> Option<HistoryReport> {
        self.shared().transactions.trim_history()
    }

    /// The commit number of the state that was there at a moment, in microseconds since 1970.
    ///
    /// # Errors
    /// `SnapshotTooOld` when it is longer ago than versions are kept.
    pub fn number_at(&self, moment: i64) -> Result<u64, StorageError> {
        self.shared().transactions.number_at(moment).ok_or(StorageError::SnapshotTooOld)
    }
}
