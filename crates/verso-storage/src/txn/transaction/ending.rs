//! The end of a transaction.
//!
//! F4. Rollback undoes eagerly up to `eager_rollback_records`; nothing is left then and it counts as committed. Beyond,
//!     the transaction is marked dead at once and backed out in the background.
//! F5. A rollback of a NO SAVEPOINT transaction with writes marks it dead and leaves it to sweep.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::{CommitMode, Txn};
use crate::StorageError;
use crate::engine::{GcPolicy, RoomInLog};
use crate::heap::RowCounts;
use crate::lock::{LockManager, OwnerCore};
use crate::maintenance::retire;
use crate::mini::Mini;
use crate::page::{Lsn, TxnId};
use crate::rules::{Rule, disabled};
use crate::txn::prepared;
use crate::wal::RecordKind;

/// Bytes of memory that an ended transaction keeps for the next one, for each use.
const SCRATCH_KEEP: usize = 4 << 10;
/// Tables whose counters of changed rows an ended transaction keeps at hand for the next one.
const TABLES_KEEP: usize = 8;

impl Txn {
    /// Makes everything durable and visible.
    ///
    /// # Errors
    /// `MustRollback`; `Poisoned` when the log failed.
    pub fn commit(mut self, mode: CommitMode) -> Result<(), StorageError> {
        self.commit_logged(mode)?;
        self.finish_commit()
    }

    /// Commits into the log; the rest of the commit, the wait for the disk first of all, is [`Txn::finish_commit`]. What
    /// tells a client of the commit comes behind that: until then nobody is told of it, and its locks are held. It is made
    /// up for when the transaction is dropped.
    ///
    /// A mode that does not wait publishes the commit here, unless others stand before it that wait for the disk: then it is
    /// published with the last of them, whoever has waited for that, and its locks go there (T1-nowait).
    ///
    /// # Errors
    /// `MustRollback`; `Poisoned` when the log failed.
    pub fn commit_logged(&mut self, mode: CommitMode) -> Result<(), StorageError> {
        if self.must_rollback() {
            self.finish_badly();
            return Err(StorageError::MustRollback);
        }
        if let Err(error) = self.check_unique_now() {
            self.finish_badly();
            return Err(error);
        }
        if let Some(reader) = &self.reader
            && let Err(error) = reader.prepare()
        {
            self.finish_badly();
            return Err(error);
        }
        self.ended = true;
        self.statements.clear();
        self.shared.commits.fetch_add(1, Ordering::Relaxed);
        if self.id == TxnId::NONE {
            let settled = self.settle();
            self.leave(true);
            return settled;
        }
        let shared = Arc::clone(&self.shared);
        let mut room = RoomInLog::new();
        let mini = loop {
            let mut mini = Mini::begin(shared.core(), self.id);
            let begun = mini.state(RecordKind::COMMIT, &shared.core().wal.commit_stamp());
            let Err(error) = begun else { break mini };
            drop(mini);
            if !room.is_there_after(&shared, &error) {
                // Nothing is logged yet, so it is an ordinary failure.
                self.ended = false;
                self.finish_badly();
                return Err(error);
            }
        };
        let mut logged = Logged { needs: Lsn::ZERO, mode, dropped: false, left: None };
        let appended = mini.commit_with(|_, end| {
            let left = || LeftBehind::new(&self.owner);
            if mode.waits() || disabled(Rule::T1NoWait) {
                logged.needs = shared.transactions.mark_committing(self.id, end);
            } else if let Some((needs, left)) = shared.transactions.commit_without_waiting(self.id, left) {
                (logged.needs, logged.left) = (needs, Some(left));
            }
        });
        if let Err(error) = appended {
            // In doubt until the restart: it keeps its locks, and nobody waits for them any more.
            shared.locks.fail(&error);
            return Err(error);
        }
        if disabled(Rule::T1) {
            shared.transactions.publish_durable(Lsn(u64::MAX));
        }
        // Changes need not wait for the disk, too: whatever they make of this one is durable behind it.
        if logged.needs > Lsn::ZERO {
            shared.locks.logged(&self.owner);
        }
        logged.dropped = self.give_back_slot();
        self.logged = Some(logged);
        let wal = &shared.core().wal;
        if mode.waits() {
            wal.note_commit();
            Ok(())
        } else {
            wal.ask(mode.batches())
        }
    }

    /// How far the log has to be durable ([`Engine::durable`](crate::Engine::durable)) for [`Txn::finish_commit`] not to
    /// wait.
    pub fn needs(&self) -> Lsn {
        self.logged.as_ref().map_or(Lsn::ZERO, |logged| logged.needs)
    }

    /// Whether the client may be told of the commit before [`Txn::finish_commit`]: it asked for no wait.
    pub fn answers_at_once(&self) -> bool {
        self.logged.as_ref().is_some_and(|logged| !logged.mode.waits())
    }

    /// Waits until the commit is on disk, and makes it visible. The session's next transaction may begin with what is
    /// left ([`Txn::begin_again`]).
    ///
    /// # Errors
    /// `Poisoned` when the log failed: whether the transaction has committed is known after the next start.
    pub fn finish_commit(&mut self) -> Result<(), StorageError> {
        let Some(Logged { needs, mode, dropped, left }) = self.logged.take() else { return Ok(()) };
        let shared = Arc::clone(&self.shared);
        if needs > Lsn::ZERO {
            let wal = &shared.core().wal;
            if mode == CommitMode::WaitBatch && shared.transactions.others_write() {
                // They come along with this flush, if they are about to commit, too.
                verso_env::sync::backoff(1);
            }
            if let Err(error) = wal.flush(needs) {
                // In doubt until the restart: it keeps its locks, and nobody waits for them any more.
                shared.locks.fail(&error);
                return Err(error);
            }
            shared.publish(wal.durable());
        }
        if let Some(left) = left {
            left.take_back();
        }
        self.leave(true);
        self.collect_garbage();
        if dropped && let Err(error) = retire::retire(&shared, &shared.workers.alone(), &mut || Ok(())) {
            tracing::warn!(%error, "pages of what was dropped are free only after the next housekeeping");
        }
        Ok(())
    }

    /// Removes old versions that nobody needs any more, where that is what ending transactions do.
    fn collect_garbage(&self) {
        let policy = GcPolicy::from_u8(self.shared.gc_policy.load(Ordering::Relaxed));
        if policy == GcPolicy::Background || self.id == TxnId::NONE {
            return;
        }
        self.shared.versions.close_idle(&self.shared.transactions);
        if let Err(error) = retire::retire(&self.shared, &self.shared.workers.alone(), &mut || Ok(())) {
            tracing::warn!(%error, "old versions stay until the next transaction or housekeeping");
        }
    }

    /// Prepares the transaction under a name: it outlives this handle, its locks and a restart, until
    /// [`Engine::commit_prepared`](crate::Engine::commit_prepared) or
    /// [`Engine::rollback_prepared`](crate::Engine::rollback_prepared).
    ///
    /// # Errors
    /// `PreparedExists`, `MustRollback`, `Serialization`, `Poisoned`; the transaction is rolled back then.
    pub fn prepare(mut self, name: &str, by: &str) -> Result<(), StorageError> {
        if self.must_rollback() {
            self.finish_badly();
            return Err(StorageError::MustRollback);
        }
        // It needs a number to be decided upon, also when it has nothing to write.
        self.options.read_only = false;
        self.begin_write()?;
        self.check_unique_now()?;
        let passed = self.reader.as_ref().map_or(Ok(()), |reader| reader.prepare());
        passed?;
        prepared::prepare(&mut self, name, by)?;
        self.ended = true;
        self.statements.clear();
        if let Some(slot) = self.slot.take() {
            self.shared.versions.give_back(slot, &self.shared.transactions);
        }
        self.id = TxnId::NONE;
        // What it read still matters until it ends: the preparation keeps the reader.
        self.reader = None;
        self.leave(true);
        Ok(())
    }

    /// Whether it is prepared is known after the next start: it is neither rolled back nor gives its locks back.
    pub(crate) fn leave_in_doubt(&mut self) {
        self.ended = true;
        self.statements.clear();
    }

    /// Gives back where it wrote its versions; whether it dropped an object.
    pub(super) fn give_back_slot(&mut self) -> bool {
        let slot = self.slot.take();
        slot.is_some_and(|slot| self.shared.versions.give_back(slot, &self.shared.transactions))
    }

    /// Gives back what the transaction held.
    pub(super) fn leave(&mut self, committed: bool) {
        if let Some(reader) = self.reader.take() {
            reader.ended(committed);
        }
        if !self.exported.is_empty() {
            let mut exported = self.shared.exported.lock();
            self.exported.drain(..).for_each(|name| drop(exported.remove(&name)));
        }
        self.give_back_slot();
        if self.id != TxnId::NONE {
            self.shared.versions.ended(self.id, &self.shared.transactions);
        }
        self.snapshot = None;
        self.live.end();
        // Its state says already that it ended, so nobody who goes on now sees it active.
        self.shared.locks.end(&self.owner);
        self.forget_own_changes(true);
        if let Err(error) = self.images.clear(&self.shared) {
            tracing::warn!(%error, txn = self.id.0, "pages of undo images stay allocated until the next start");
        }
        self.tell_changed();
        self.forget();
    }

    /// The rows that it has changed count now, and who keeps statistics is called where they are enough.
    fn tell_changed(&mut self) {
        let mut enough = false;
        let mut all = RowCounts::default();
        for (table, rows) in &mut self.changed {
            if rows.all() > 0 {
                let rows = std::mem::take(rows);
                all.add(rows);
                enough |= table.add(rows);
            }
        }
        self.shared.rows.add(all);
        if self.changed.len() > TABLES_KEEP {
            self.changed.clear();
        }
        if enough {
            self.shared.changes.call();
        }
    }

    /// Forgets what only an open transaction needs; memory for some records stays for the next one.
    fn forget(&mut self) {
        self.frames.clear();
        self.unopened = None;
        self.statements.clear();
        self.locked.clear();
        self.unique.clear();
        self.let_keys_go();
        self.scratch.clear();
        self.scratch.shrink_to(SCRATCH_KEEP);
        self.index_entries.clear();
        self.index_entries.shrink_to(SCRATCH_KEEP);
    }

    /// Undoes everything (F4, F5).
    ///
    /// # Errors
    /// `Poisoned` when the log failed.
    pub fn rollback(mut self) -> Result<(), StorageError> {
        self.roll_back()
    }

    /// Ends a transaction in which something was only looked up, beside those of clients: it is not counted among the rollbacks.
    ///
    /// # Errors
    /// `Poisoned` when the log failed.
    pub fn end_unseen(mut self) -> Result<(), StorageError> {
        self.roll_back_as(false)
    }

    /// Undoes everything; the session's next transaction may begin with what is left ([`Txn::begin_again`]).
    ///
    /// # Errors
    /// `Poisoned` when the log failed.
    pub fn rollback_here(&mut self) -> Result<(), StorageError> {
        self.roll_back()
    }

    /// Whether it has ended, and another may begin ([`Txn::begin_again`]).
    pub fn has_ended(&self) -> bool {
        self.ended && self.logged.is_none()
    }

    pub(super) fn finish_badly(&mut self) {
        if let Err(error) = self.roll_back() {
            warn_of(&error, self.id);
        }
    }

    pub(super) fn roll_back(&mut self) -> Result<(), StorageError> {
        self.roll_back_as(true)
    }

    /// The same; whether it is `counted` among the rollbacks.
    fn roll_back_as(&mut self, counted: bool) -> Result<(), StorageError> {
        if self.ended {
            return Ok(());
        }
        self.ended = true;
        self.open_frame();
        self.statements.clear();
        if counted {
            self.shared.rollbacks.fetch_add(1, Ordering::Relaxed);
        }
        if self.id == TxnId::NONE {
            self.leave(false);
            return Ok(());
        }
        let records: u64 = self.frames.iter().map(|frame| frame.records).sum();
        let eager = self.options.savepoints
            && !self.must_rollback
            && !disabled(Rule::F4)
            && (records <= self.shared.options.eager_rollback_records || disabled(Rule::F4Limit))
            && self.undo_from(0).is_ok();
        let logged = self.log_rollback(eager);
        if logged.is_err() {
            // A restart marks it dead without a record, too.
            self.die();
        }
        self.leave(false);
        match logged {
            // It is rolled back all the same, and backed out when there is room again.
            Err(StorageError::Full { .. }) => Ok(()),
            logged => logged,
        }
    }

    /// Logs the end of a rollback: with nothing left of the transaction, or with everything to be backed out.
    pub(super) fn log_rollback(&self, clean: bool) -> Result<(), StorageError> {
        let mut mini = Mini::begin(self.shared.core(), self.id);
        mini.use_reserve();
        if clean {
            mini.state(RecordKind::ROLLED_BACK, &[])?;
            mini.commit_with(|_, _| self.shared.transactions.rolled_back_clean(self.id))?;
        } else {
            mini.state(RecordKind::DEAD, &[u8::from(self.is_left_to_sweep())])?;
            mini.commit_with(|_, _| self.die())?;
        }
        Ok(())
    }

    /// F5: without savepoints the dead are left to sweep.
    pub(super) fn is_left_to_sweep(&self) -> bool {
        !self.options.savepoints && !disabled(Rule::F5Sweep)
    }

    pub(super) fn die(&self) {
        if self.is_left_to_sweep() {
            self.shared.left_to_sweep.lock().insert(self.id);
        }
        self.shared.transactions.mark_dead(self.id);
    }
}

/// A commit that is in the log.
pub(super) struct Logged {
    /// How far that has to be on disk before it is published; zero where it is.
    needs: Lsn,
    mode: CommitMode,
    /// It has dropped an object.
    dropped: bool,
    /// Where others publish it and give its locks back: the session has gone on.
    left: Option<Arc<LeftBehind>>,
}

/// The locks of a commit that did not wait, for the thread that publishes it (T1-nowait). One of two gives them back: that
/// thread, or the session, which begins nothing else before that is done.
pub(crate) struct LeftBehind {
    owner: Arc<OwnerCore>,
    stage: AtomicU8,
}

impl LeftBehind {
    const LEFT: u8 = 0;
    const TAKEN: u8 = 1;
    const DONE: u8 = 2;

    fn new(owner: &Arc<OwnerCore>) -> Arc<LeftBehind> {
        Arc::new(LeftBehind { owner: Arc::clone(owner), stage: AtomicU8::new(LeftBehind::LEFT) })
    }

    fn take(&self) -> bool {
        let [from, to] = [LeftBehind::LEFT, LeftBehind::TAKEN];
        self.stage.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The commit is published: its locks go, unless its session sees to that.
    pub(crate) fn release(&self, locks: &LockManager) {
        if self.take() {
            locks.end(&self.owner);
            self.stage.store(LeftBehind::DONE, Ordering::Release);
        }
    }

    /// The session gives its locks back itself, or waits the moment until somebody else has done it.
    fn take_back(&self) {
        if self.take() {
            return;
        }
        let mut tries = 0;
        while self.stage.load(Ordering::Acquire) != LeftBehind::DONE {
            tries += 1;
            verso_env::sync::backoff(tries);
        }
    }
}

/// Tells of a rollback that failed.
fn warn_of(error: &StorageError, txn: TxnId) {
    tracing::warn!(%error, txn = txn.0, "rollback failed; recovery will mark the transaction dead");
}

impl Drop for Txn {
    fn drop(&mut self) {
        if let Err(error) = self.finish_commit() {
            tracing::warn!(%error, txn = self.id.0, "in doubt until the next start");
        }
        // One that only reads is dropped by who has looked something up: clients' are ended.
        let looked_up = self.options.read_only && self.id == TxnId::NONE;
        if let Err(error) = self.roll_back_as(!looked_up) {
            warn_of(&error, self.id);
        }
        self.shared.live.lock().remove(&self.serial);
    }
}
