//! The engine: one open database.
//!
//! ```text
//! open: store (file, log, recovery) ─► restore state kept in memory ─► what was under way is dead ─► threads
//! use:  objects (tables, sequences, indexes) · transactions · housekeeping, sweep, checkpoints · reports
//! ```

mod objects;
mod options;
mod report;
mod restore;

pub use objects::UnloggedLoad;
pub use options::{EngineOptions, GcPolicy};
pub use report::{CheckpointCounts, EngineStatistics, SpaceReport, TableSpace};

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::sync::Mutex;
use verso_env::{Env, JoinHandle};

use crate::StorageError;
use crate::archive::{ArchiveOptions, ArchiveStatus, BaseReport, WatchPages};
use crate::buffer::{DamagedPage, FlushProgress, ReadAhead};
use crate::heap::overflow::Incarnations;
use crate::heap::packed::{Trained, Which};
use crate::heap::{ChangedRows, Heap, Packing, ReadTotals, RowTotals, packed};
use crate::lock::{LockInfo, LockManager, LockOwner, TableLockMode, WaitPolicy};
use crate::maintenance::check::CheckReport;
use crate::maintenance::packing::OwnPacking;
use crate::maintenance::sweep::{SweepOptions, SweepProgress, SweepReport};
use crate::maintenance::{background, backout, check, retire, sweep};
use crate::mini::Mini;
use crate::page::{Lsn, ObjectId, PageId, TxnId};
use crate::progress::{Progress, WatchProgress};
use crate::recovery::{
    CHECKPOINT_BYTES_OWN, CheckpointReport, CheckpointTarget, Checkpointer, CheckpointerOptions, Control,
    RecoveryReport, Store, temporary_dir,
};
use crate::rules::{Rule, disabled};
use crate::sequence::Sequence;
use crate::shared::{REDO, Shared};
use crate::sleeper::Sleeper;
use crate::space::{ExtentKind, Growth};
use crate::txn::transaction::{Txn, TxnOptions};
use crate::txn::{HistoryReport, Markers, Transactions, TxnFate, TxnState, prepared};
use crate::wal::{RecordKind, SegmentInfo, WalProgress};
use crate::workers::{JobInfo, Listed, WorkerInfo, WorkerPool};
use options::store_options;
use restore::{Restoring, WatchRecovery, restore_unlogged, restore_versions};

/// One open database. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    sequences: Mutex<HashMap<ObjectId, Arc<Sequence>>>,
    threads: Mutex<Vec<JoinHandle>>,
    checkpointer: Mutex<Option<Checkpointer>>,
    recovery: Option<RecoveryReport>,
}

struct Target(std::sync::Weak<Shared>);

impl CheckpointTarget for Target {
    fn redo_bytes(&self) -> u64 {
        self.0.upgrade().map_or(0, |shared| match shared.store.redo_bytes() {
            bytes if bytes > CHECKPOINT_BYTES_OWN && shared.core().wal.is_starved() => u64::MAX,
            bytes => bytes,
        })
    }

    fn checkpoint(&self, pace: &mut dyn FnMut(FlushProgress)) -> Result<(), StorageError> {
        let shared = self.0.upgrade().ok_or(StorageError::Closed)?;
        let done = counted(
            &shared,
            |counts| &mut counts.timed,
            || shared.store.checkpoint_at(pace, || shared.collect()),
        );
        shared.core().wal.is_fed();
        done
    }

    fn is_awaited(&self) -> bool {
        self.0
            .upgrade()
            .is_none_or(|shared| shared.store.checkpoint_is_awaited() || shared.core().wal.is_starved())
    }
}

/// Most bytes in the name of a restore point, as in PostgreSQL.
pub const RESTORE_POINT_BYTES_MAX: usize = 63;

/// Makes a checkpoint, which counts as one of a kind.
fn counted(
    shared: &Shared,
    kind: fn(&mut CheckpointCounts) -> &mut u64,
    make: impl FnOnce() -> Result<CheckpointReport, StorageError>,
) -> Result<(), StorageError> {
    let began = shared.env.clock.monotonic_nanos();
    *kind(&mut shared.checkpoints.lock()) += 1;
    let report = make()?;
    let mut counts = shared.checkpoints.lock();
    counts.done += 1;
    counts.nanos += shared.env.clock.monotonic_nanos().saturating_sub(began);
    counts.pages += report.pages_written;
    counts.last_at = shared.env.clock.unix_micros();
    Ok(())
}

impl Engine {
    /// Object ids below this are for the catalog.
    pub const FIRST_USER_OBJECT: u32 = 1000;

    /// Creates a database.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create(env: Env, path: &Path, options: EngineOptions) -> Result<Engine, StorageError> {
        let store = Store::create(&env, path, &store_options(&options, None), &REDO)?;
        let restoring = Restoring::of_new_database();
        Engine::start(env, path, store, options, restoring, None)
    }

    /// Opens a database and recovers it if it was not closed.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(env: Env, path: &Path, options: EngineOptions) -> Result<Engine, StorageError> {
        Engine::open_while(env, path, options, &mut |_| Ok(()))
    }

    /// As [`Engine::open`], for as long as `watch`, which is told where recovery is in the log, returns no error.
    ///
    /// # Errors
    /// As [`Store::open`]; what `watch` returns.
    pub(crate) fn open_while(
        env: Env,
        path: &Path,
        options: EngineOptions,
        watch: WatchRecovery<'_>,
    ) -> Result<Engine, StorageError> {
        let mut restoring = Restoring::of_new_database();
        restoring.watch = Some(watch);
        let (store, report) = Store::open(&env, path, &store_options(&options, None), &REDO, &mut restoring)?;
        Engine::start(env, path, store, options, restoring, Some(report))
    }

    fn start(
        env: Env,
        path: &Path,
        store: Store,
        options: EngineOptions,
        restoring: Restoring<'_>,
        recovery: Option<RecoveryReport>,
    ) -> Result<Engine, StorageError> {
        let space = store.load_space(crate::space::RESERVE_UNITS)?;
        let page_size = store.core.pool.page_size();
        let Restoring {
            mut transactions, active, mut left_to_sweep, next_object, versions, unlogged, ..
        } = restoring;
        let clean = recovery.as_ref().is_some_and(|report| report.clean);
        let last_unlogged = restore_unlogged(&store, &space, &unlogged, clean)?;
        // What was under way has failed.
        if !disabled(Rule::DeadAtRestart) {
            transactions.dead.extend(active.iter().copied());
        }
        left_to_sweep.retain(|txn| transactions.dead.contains(txn));
        let unfinished = transactions.dead.iter().chain(transactions.limbo.keys()).copied().collect();
        let limbo = transactions.limbo.clone();
        let versions =
            restore_versions(&store, &space, versions, &unfinished, transactions.history.as_ref())?;
        let temporary: Vec<_> =
            space.extents_of_kind(ExtentKind::Temp).into_iter().map(|(_, run)| run).collect();
        if !temporary.is_empty() && !disabled(Rule::F3Restart) {
            let mut mini = Mini::begin(&store.core, TxnId::NONE);
            space.free_runs(&mut mini, &temporary)?;
            mini.commit()?;
        }
        let roots: HashMap<ObjectId, PageId> = space.roots().into_iter().collect();
        // What the dead have noted of unlogged objects is not to be taken for something of a new one.
        let greatest = roots.keys().map(|object| object.0).max().unwrap_or(0).max(last_unlogged) + 1;
        store.core.wal.stamp_for_history(transactions.history.is_some());
        let transactions = Arc::new(Transactions::new(transactions));
        transactions.set_clock(&env.clock);
        let first_number = transactions.counter();
        versions.close_all(&transactions);
        let seed = env.random.next_u64() as u16;
        let shared = Arc::new(Shared {
            store,
            space,
            locks: LockManager::new(Arc::clone(&transactions), Arc::clone(&env.clock)),
            ssi: Arc::default(),
            prepared: Mutex::default(),
            exported: Mutex::default(),
            transactions,
            versions,
            page_size,
            roots: Mutex::new(roots),
            heaps: Mutex::default(),
            next_object: AtomicU32::new(next_object.max(greatest)),
            incarnations: Incarnations::from(seed),
            auto_backout: AtomicBool::new(options.auto_backout),
            sweep_interval: AtomicU64::new(options.sweep_interval),
            gc_policy: AtomicU8::new(GcPolicy::Background as u8),
            resident: Mutex::default(),
            checkpoints: Mutex::default(),
            first_number,
            retention_bytes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            rows: RowTotals::default(),
            read: ReadTotals::default(),
            sweeping: Mutex::new(()),
            left_to_sweep: Mutex::new(left_to_sweep),
            held_up: Mutex::default(),
            swept_at: AtomicU64::new(0),
            own_sweeps: Mutex::default(),
            own_packing: OwnPacking::default(),
            workers: WorkerPool::new(env.clone()),
            temporary: temporary_dir(path),
            sort_files: Arc::default(),
            changes: Arc::default(),
            live: Mutex::default(),
            env: env.clone(),
            options: options.clone(),
        });
        prepared::restore(&shared, limbo)?;
        for txn in active {
            let mut mini = Mini::begin(shared.core(), txn);
            mini.use_reserve();
            mini.state(RecordKind::DEAD, &[])?;
            mini.commit()?;
        }
        if recovery.is_some() {
            shared.store.checkpoint(|| shared.collect())?;
        }
        let mut threads = Vec::new();
        let mut checkpointer = None;
        if options.background {
            let weak = Arc::downgrade(&shared);
            let transactions = Arc::clone(&shared.transactions);
            threads.push(env.spawn("verso-housekeeping", move || background::run(&weak, &transactions)));
            let checkpoints = CheckpointerOptions {
                interval: Duration::from_millis(options.checkpoint_interval_ms),
                log_bytes: options.checkpoint_log_bytes,
                ..CheckpointerOptions::default()
            };
            let target = Arc::new(Target(Arc::downgrade(&shared)));
            let sleeper = Arc::clone(shared.core().wal.sleeper());
            let started = Checkpointer::start(&env, checkpoints, target, sleeper);
            checkpointer = Some(started?);
        }
        Ok(Engine {
            inner: Arc::new(Inner {
                shared,
                sequences: Mutex::default(),
                threads: Mutex::new(threads),
                checkpointer: Mutex::new(checkpointer),
                recovery,
            }),
        })
    }

    /// The folder for temporary files of those above; it need not be there.
    pub fn temporary_dir(&self) -> &Path {
        &self.shared().temporary
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.inner.shared
    }

    /// Closes the database cleanly; its file can be copied then. Transactions still open are rolled back by their owners
    /// without effect on the file.
    ///
    /// # Errors
    /// `Poisoned`, `Io`, `Full`.
    pub fn close(&self) -> Result<(), StorageError> {
        let shared = self.shared();
        if shared.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        shared.transactions.housekeeping.wake();
        if let Some(checkpointer) = self.inner.checkpointer.lock().take() {
            checkpointer.stop();
        }
        for thread in std::mem::take(&mut *self.inner.threads.lock()) {
            let _ = thread.join();
        }
        shared.store.archiver.finish();
        shared.workers.close();
        shared.versions.close_idle(&shared.transactions);
        retire::retire(shared, &shared.workers.alone(), &mut || Ok(()))?;
        self.settle_sequences()?;
        shared.store.close(|| shared.collect())
    }

    /// The outside world it lives in.
    pub fn env(&self) -> &Env {
        &self.shared().env
    }

    /// How it was opened.
    pub fn options(&self) -> &EngineOptions {
        &self.shared().options
    }

    /// What recovery did when the database was opened; `None` after creation.
    pub fn recovery(&self) -> Option<&RecoveryReport> {
        self.inner.recovery.as_ref()
    }

    /// Begins a transaction.
    pub fn begin(&self, options: TxnOptions) -> Txn {
        Txn::new(Arc::clone(self.shared()), options, None)
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

    /// What the superblock says.
    pub fn control(&self) -> Control {
        self.shared().store.control()
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

    /// The last sweeps that started by themselves, oldest first.
    pub fn own_sweeps(&self) -> Vec<SweepReport> {
        self.shared().own_sweeps.lock().iter().copied().collect()
    }

    /// Who is called when rows have changed, as [`ChangedRows::tell_at`] asks for.
    pub fn changes(&self) -> &Arc<Sleeper> {
        &self.shared().changes
    }

    /// How many rows of users' tables were changed: of those tables that somebody has used since the database was opened.
    pub fn changed_rows(&self) -> Vec<(ObjectId, Arc<ChangedRows>)> {
        let heaps = self.shared().heaps.lock();
        let users = heaps.iter().filter(|(object, _)| object.0 >= Engine::FIRST_USER_OBJECT);
        users.map(|(object, heap)| (*object, Arc::clone(&heap.changed))).collect()
    }

    /// Lists a job, which begins; it leaves the list when what is returned is dropped.
    #[must_use]
    pub fn begin_job(&self, what: &'static str, session: u64) -> Listed {
        self.shared().workers.begin(what, session)
    }

    /// Jobs of maintenance under way.
    pub fn jobs(&self) -> Vec<JobInfo> {
        self.shared().workers.jobs()
    }

    /// Threads for jobs of maintenance.
    pub fn workers(&self) -> Vec<WorkerInfo> {
        self.shared().workers.workers()
    }

    /// Those threads, for the parts of a query.
    pub fn worker_pool(&self) -> WorkerPool {
        self.shared().workers.clone()
    }

    /// At most so many such threads from now on; one without work ends after this time.
    pub fn set_workers(&self, most: u32, idle: Duration) {
        self.shared().workers.configure(most, idle);
    }

    /// Sweeps.
    ///
    /// # Errors
    /// As [`sweep::sweep`].
    pub fn sweep(
        &self,
        options: SweepOptions,
        progress: &mut dyn FnMut(SweepProgress) -> ControlFlow<()>,
    ) -> Result<SweepReport, StorageError> {
        sweep::sweep(self.shared(), &options, progress)
    }

    /// Packs the data pages of a table that hold nothing but what every snapshot sees: as a sweep of the table, which comes
    /// first, finds them, or one that is under way. Nobody but `txn` may use the table meanwhile. `go_on` is asked between pages.
    ///
    /// # Errors
    /// Those of `go_on`; `NoSuchObject`, `Full`, `Corrupt`, `Io`. What is packed stays packed.
    pub fn pack(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        self.pack_those(Which::Visible, txn, object, options, go_on)
    }

    /// As [`Engine::pack`], with what is packed already encoded once more: a table that has a dictionary gets a new one before.
    ///
    /// # Errors
    /// As [`Engine::pack`].
    pub fn repack(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        self.pack_those(Which::Anew, txn, object, options, go_on)
    }

    /// Makes a dictionary of symbols for the texts of a table, chosen from some of its rows: pages that are packed from now on
    /// use it. Nobody but `txn` may use the table meanwhile. `go_on` is asked between pages.
    ///
    /// # Errors
    /// Those of `go_on`; `NoSuchObject`, `Full`, `Corrupt`, `Io`.
    pub fn create_dictionary(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Trained, StorageError> {
        txn.leave_pages(object);
        self.shared().heap(object)?.train(self.shared(), go_on)
    }

    /// Gives pages of a table that hold nothing back to the database, as whole units: pages without records are packed for that,
    /// and the pages at the end of the newest extent go, too. Nobody but `txn` may use the table meanwhile; `go_on` is asked
    /// between pages.
    ///
    /// # Errors
    /// As [`Engine::pack`]. What is given back is.
    pub fn shrink(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        self.pack_those(Which::Empty, txn, object, options, go_on)
    }

    /// Sweeps a table, packs some of its pages, and gives back what has become free: with its end where only empty pages were asked for.
    fn pack_those(
        &self,
        which: Which,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        let session = options.session;
        self.sweep_for(txn, object, options, go_on)?;
        let shared = self.shared();
        let heap = shared.heap(object)?;
        if which == Which::Anew && !heap.all_dictionaries(&shared.core().pool)?.is_empty() {
            heap.train(shared, go_on)?;
        }
        let listed = self.begin_job(which.word(), session);
        listed.job().at(object, None);
        listed.job().enter("packing pages", heap.page_count().into());
        let mut done = packed::pack_table(shared, object, which, listed.job(), go_on)?;
        done.freed += heap.give_back(shared, which == Which::Empty, go_on)?;
        Ok(done)
    }

    /// Sweeps a table before its pages are packed, unless a sweep is under way.
    fn sweep_for(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        options: SweepOptions,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        txn.leave_pages(object);
        let mut stopped = None;
        let options = SweepOptions { table: Some(object), ..options };
        let swept = sweep::sweep(self.shared(), &options, &mut |_| match go_on() {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                stopped = Some(error);
                ControlFlow::Break(())
            }
        });
        match (swept, stopped) {
            (_, Some(error)) => Err(error),
            (Err(StorageError::SweepRunning) | Ok(_), None) => Ok(()),
            (Err(error), None) => Err(error),
        }
    }

    /// Says whether cold pages of a table are packed by themselves from now on.
    #[inline]
    pub fn set_packing(&self, heap: &Heap, by_itself: bool) {
        if heap.packing.by_itself.load(Ordering::Relaxed) != by_itself {
            heap.packing.by_itself.store(by_itself, Ordering::Relaxed);
            self.shared().transactions.housekeeping.wake();
        }
    }

    /// Pages of tables that are packed by themselves ([`Engine::set_packing`]) are packed when they were not changed for so long.
    pub fn set_packing_delay(&self, delay: Duration) {
        self.shared().own_packing.set_delay(delay);
        self.shared().transactions.housekeeping.wake();
    }

    /// Does what the housekeeping thread does, once; for tests and for engines without one.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Poisoned`.
    pub fn housekeeping(&self) -> Result<(), StorageError> {
        background::round(self.shared(), backout::Pace::Full).map(drop)
    }

    /// How far the log is on disk; see [`Txn::needs`].
    pub fn durable(&self) -> Lsn {
        self.shared().core().wal.durable()
    }

    /// Where the log ends: everything that is committed is before it.
    pub fn logged(&self) -> Lsn {
        self.shared().core().wal.appended()
    }

    /// How far the log is, and how its flushes went.
    pub fn log_progress(&self) -> WalProgress {
        self.shared().core().wal.progress()
    }

    /// Waits until the log is on disk up to there; writes it, if nobody does.
    ///
    /// # Errors
    /// `Poisoned`, or the failure that makes it so.
    pub fn flush_log(&self, upto: Lsn) -> Result<(), StorageError> {
        self.shared().core().wal.flush(upto)
    }

    /// When checkpoints are made without being asked for, from now on: at the latest after this time, and this much log.
    pub fn set_checkpoints(&self, interval: Duration, log_bytes: u64) {
        if let Some(checkpointer) = &*self.inner.checkpointer.lock() {
            checkpointer.configure(CheckpointerOptions {
                interval,
                log_bytes,
                ..CheckpointerOptions::default()
            });
        }
    }

    /// Makes a checkpoint.
    ///
    /// # Errors
    /// `Poisoned`, `Io`, `Full`.
    pub fn checkpoint(&self) -> Result<(), StorageError> {
        let shared = self.shared();
        counted(shared, |counts| &mut counts.requested, || shared.store.checkpoint(|| shared.collect()))
    }

    /// Archives the log to another place from now on, or to none.
    ///
    /// # Errors
    /// What the file system reports of the log folder. A target that is not there is shown by
    /// [`Engine::archive_status`], and tried again.
    pub fn set_archive(&self, options: Option<ArchiveOptions>) -> Result<(), StorageError> {
        self.shared().store.archiver.configure(options)
    }

    /// Makes what was logged durable, and goes on in another segment; that one is archived if anything is.
    ///
    /// # Errors
    /// `Full` if the disk has no room for another segment; `Poisoned`, or what makes it so.
    pub fn switch_segment(&self) -> Result<Lsn, StorageError> {
        let wal = &self.shared().core().wal;
        wal.close_segment()?;
        Ok(wal.appended())
    }

    /// Gives this place in the log a name, to which a restore can go, and waits until it is on disk; where the log goes on.
    ///
    /// # Errors
    /// `TooLarge` for a name of more than [`RESTORE_POINT_BYTES_MAX`]; `Full` if the log has no room; `Poisoned`, or what makes it
    /// so.
    pub fn restore_point(&self, name: &str) -> Result<Lsn, StorageError> {
        if name.len() > RESTORE_POINT_BYTES_MAX {
            let (size, limit) = (name.len() as u64, RESTORE_POINT_BYTES_MAX as u64);
            return Err(StorageError::TooLarge {
                what: "the name of a restore point".to_owned(),
                size,
                limit,
            });
        }
        let core = self.shared().core();
        let mut mini = Mini::begin(core, TxnId::NONE);
        mini.state(RecordKind::RESTORE_POINT, name.as_bytes())?;
        let (_, end) = mini.commit()?;
        core.wal.flush(end)?;
        Ok(end)
    }

    /// Archives everything that is logged by now.
    ///
    /// # Errors
    /// `Archive` if the log is not archived, or what is there does not fit; what the target reports.
    pub fn archive_log(&self) -> Result<(), StorageError> {
        self.shared().store.archiver.archive_all()
    }

    /// How archiving goes.
    pub fn archive_status(&self) -> ArchiveStatus {
        self.shared().store.archiver.status()
    }

    /// The segments of the log.
    pub fn log_segments(&self) -> Vec<SegmentInfo> {
        self.shared().core().wal.segment_list()
    }

    /// Most bytes of log files that are kept ready when the log does not need them.
    pub fn spare_log(&self) -> u64 {
        self.shared().core().wal.spare_bytes()
    }

    /// Keeps so many bytes of log files ready.
    pub fn set_spare_log(&self, bytes: u64) {
        self.shared().core().wal.set_spare_bytes(bytes);
    }

    /// Makes a log file of this size ready; its number. `go_on` is asked while it is written.
    ///
    /// # Errors
    /// `Full`, `Poisoned`, what the file system reports, or `go_on`; no file is left then.
    pub fn add_log_file(
        &self,
        bytes: u64,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        self.shared().core().wal.add_file(bytes, go_on)
    }

    /// Removes a log file that is ready and not in use; its size.
    ///
    /// # Errors
    /// `LogFile` says why not; `Poisoned`, what the file system reports.
    pub fn drop_log_file(&self, number: u64) -> Result<u64, StorageError> {
        self.shared().core().wal.drop_file(number)
    }

    /// Copies the database to a new folder while it is used; [`restore_base`](crate::archive::restore_base) makes a database
    /// of it. `watch` is told between blocks.
    ///
    /// # Errors
    /// `Archive` if there is something in the folder; `Corrupt` names a damaged page; what the file system reports, or
    /// `watch`.
    pub fn backup_base(&self, folder: &Path, watch: WatchPages<'_>) -> Result<BaseReport, StorageError> {
        let shared = self.shared();
        shared.store.write_base(&shared.env, folder, None, &shared.space, || shared.collect(), watch)
    }

    /// As [`Engine::backup_base`], of those pages only that have changed since the backup in `parent`, which the log tells:
    /// [`restore_chain`](crate::archive::restore_chain) puts them together.
    ///
    /// # Errors
    /// Also `Archive` if `parent` is a backup of another database, or where the log since then is not all there.
    pub fn backup_increment(
        &self,
        folder: &Path,
        parent: &Path,
        watch: WatchPages<'_>,
    ) -> Result<BaseReport, StorageError> {
        let shared = self.shared();
        let parent = Some(parent);
        shared.store.write_base(&shared.env, folder, parent, &shared.space, || shared.collect(), watch)
    }

    /// The damaged pages that were met since the database was opened; each was told of in the program's log.
    pub fn damaged_pages(&self) -> Vec<DamagedPage> {
        self.shared().core().pool.damaged()
    }

    /// Proves the numbered invariants.
    ///
    /// # Errors
    /// As [`check::check`].
    pub fn check(&self, progress: &mut dyn FnMut(Progress)) -> Result<CheckReport, StorageError> {
        self.check_while(&mut |now| {
            progress(now);
            Ok(())
        })
    }

    /// As [`Engine::check`], for as long as `go_on` returns no error.
    ///
    /// # Errors
    /// As [`check::check`].
    pub fn check_while(&self, go_on: WatchProgress<'_>) -> Result<CheckReport, StorageError> {
        check::check(self.shared(), go_on)
    }

    /// Switches background back-out.
    pub fn set_auto_backout(&self, on: bool) {
        self.shared().auto_backout.store(on, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
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

    /// Sets how many bytes of pages are held in memory; how many there are now.
    ///
    /// # Errors
    /// `Poisoned`, `Io`.
    pub fn set_buffer_pool(&self, bytes: u64) -> Result<u64, StorageError> {
        self.shared().core().pool.set_capacity(bytes)
    }

    /// The most bytes that [`Engine::set_buffer_pool`] takes.
    pub fn buffer_pool_max(&self) -> u64 {
        self.shared().core().pool.capacity_max_bytes()
    }

    /// The page cleaner starts when so many per cent of the frames are dirty (`max`), and stops at `min`.
    pub fn set_lru_dirty(&self, min: u8, max: u8) {
        self.shared().core().pool.set_lru_dirty(min, max);
    }

    /// How scans of tables read ahead.
    pub fn read_ahead(&self) -> ReadAhead {
        self.shared().core().pool.read_ahead()
    }

    /// Changes that, for scans under way too.
    pub fn set_read_ahead(&self, wanted: ReadAhead) {
        self.shared().core().pool.set_read_ahead(wanted);
    }

    /// Reads the pages of an object into memory; how many. `go_on` is asked between extents.
    ///
    /// # Errors
    /// Those of `go_on`; a page that cannot be read is left to whoever wants it.
    pub fn prewarm(
        &self,
        object: ObjectId,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        let mut pages = 0;
        for run in self.shared().space.extents_of(object) {
            go_on()?;
            self.shared().core().pool.prefetch(run.first, run.pages);
            pages += u64::from(run.pages);
        }
        Ok(pages)
    }

    /// Sets who removes old versions.
    pub fn set_gc_policy(&self, policy: GcPolicy) {
        self.shared().gc_policy.store(policy as u8, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
    }

    /// Who removes old versions.
    pub fn gc_policy(&self) -> GcPolicy {
        GcPolicy::from_u8(self.shared().gc_policy.load(Ordering::Relaxed))
    }

    /// Sets how large extents of a table are from now on.
    pub fn set_growth(&self, object: ObjectId, growth: Growth) {
        self.shared().space.set_growth(object, growth);
    }

    /// Whether the pages of an object are kept in memory.
    pub fn is_resident(&self, object: ObjectId) -> bool {
        self.shared().resident.lock().contains_key(&object)
    }

    /// Keeps the pages of an object in memory as long as there is room for others, or no longer; those that it gets later, too.
    pub fn set_resident(&self, object: ObjectId, resident: bool) {
        let shared = self.shared();
        let mut objects = shared.resident.lock();
        let known = if resident { objects.insert(object, 0) } else { objects.remove(&object) };
        drop(objects);
        if resident || known.is_some() {
            shared.mark_resident(object, resident);
        }
        shared.transactions.housekeeping.wake();
    }

    /// Sets the interval of sweeps that start by themselves; 0 = never.
    pub fn set_sweep_interval(&self, interval: u64) {
        self.shared().sweep_interval.store(interval, Ordering::Relaxed);
        self.shared().transactions.housekeeping.wake();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without `close` the file stays as after a crash, which recovery handles; only the threads end here.
        self.shared.closed.store(true, Ordering::Release);
        self.shared.transactions.housekeeping.wake();
        if let Some(checkpointer) = self.checkpointer.lock().take() {
            checkpointer.stop();
        }
        for thread in std::mem::take(&mut *self.threads.lock()) {
            let _ = thread.join();
        }
        self.shared.store.archiver.stop();
        self.shared.workers.close();
    }
}
