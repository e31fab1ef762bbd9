//! The engine: one open database.
//!
//! ```text
//! open: store (file, log, recovery) ─► restore state kept in memory ─► what was under way is dead ─► threads
//! use:  objects (tables, sequences, indexes) · transactions · housekeeping, sweep, checkpoints · reports
//! ```

mod archive;
mod checkpoints;
mod log;
mod maintenance;
mod memory;
mod objects;
mod options;
mod report;
mod restore;
mod transactions;

pub(crate) use checkpoints::RoomInLog;
pub use log::RESTORE_POINT_BYTES_MAX;
pub use objects::UnloggedLoad;
pub use options::{EngineOptions, GcPolicy};
pub use report::{CheckpointCounts, EngineStatistics, SpaceReport, TableSpace};

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::sync::Mutex;
use verso_env::{Env, JoinHandle};

use crate::StorageError;
use crate::heap::layout::ColumnSpec;
use crate::heap::overflow::Incarnations;
use crate::heap::{ReadTotals, RowTotals};
use crate::lock::LockManager;
use crate::maintenance::packing::OwnPacking;
use crate::maintenance::{background, retire};
use crate::mini::Mini;
use crate::page::{ObjectId, PageId, TxnId};
use crate::recovery::{
    Checkpointer, CheckpointerOptions, Control, RecoveryReport, Store, remove_new, temporary_dir,
};
use crate::rules::{Rule, disabled};
use crate::sequence::Sequence;
use crate::shared::{REDO, Shared};
use crate::space::ExtentKind;
use crate::txn::{Transactions, prepared};
use crate::wal::RecordKind;
use crate::workers::WorkerPool;
use checkpoints::Target;
use options::store_options;
use restore::{Restoring, WatchRecovery, restore_unlogged, restore_versions};

/// A database in fewer bytes takes no more than it needs when it is closed. A larger one keeps what it will want again.
const SMALL_BYTES: u64 = 16 << 20;
/// Unless this part of its file is free at the end: that is more than it will want soon.
const FREE_PART: u64 = 2;

/// Whether nothing is to be undone, or emptied after a crash.
fn is_settled(shared: &Shared) -> bool {
    let transactions = &shared.transactions;
    let has_prepared = || shared.prepared.try_lock().is_none_or(|prepared| !prepared.is_empty());
    let has_unlogged = || !shared.core().unlogged.list().is_empty();
    transactions.dead().is_empty() && transactions.active().is_empty() && !has_prepared() && !has_unlogged()
}

/// One open database. Clones share it.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    sequences: Mutex<HashMap<ObjectId, Arc<Sequence>>>,
    /// Tables of the catalog that are made when they are asked for.
    declared: Mutex<HashMap<ObjectId, Vec<ColumnSpec>>>,
    threads: Mutex<Vec<JoinHandle>>,
    checkpointer: Mutex<Option<Checkpointer>>,
    recovery: Option<RecoveryReport>,
}

/// Where a database is whose path may be a symbolic link: its log and its other folders lie beside the file, whichever name it is
/// opened by.
fn resolved(env: &Env, path: &Path) -> Result<PathBuf, StorageError> {
    let resolving = |error| StorageError::io(format!("opening {}", path.display()), error);
    env.vfs.resolve(path).map_err(resolving)
}

impl Engine {
    /// Object ids below this are for the catalog.
    pub const FIRST_USER_OBJECT: u32 = ObjectId::FIRST_OF_USERS.0;

    /// Creates a database.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create(env: Env, path: &Path, options: EngineOptions) -> Result<Engine, StorageError> {
        let path = &*resolved(&env, path)?;
        let store = Store::create(&env, path, &store_options(&options, None), &REDO)?;
        let restoring = Restoring::of_new_database();
        let started = Engine::start(env.clone(), path, store, options, restoring, None);
        if started.is_err() {
            // As `Store::create` does.
            let _ = remove_new(&env, path);
        }
        started
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
        let path = &*resolved(&env, path)?;
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
        space.mend(&store.core)?;
        let page_size = store.core.pool.page_size();
        let Restoring {
            mut transactions, active, mut left_to_sweep, next_object, versions, unlogged, ..
        } = restoring;
        let complete = recovery.as_ref().is_some_and(|report| report.complete);
        let last_unlogged = restore_unlogged(&store, &space, &unlogged, complete)?;
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
            match space.free_runs(&mut mini, &temporary) {
                Ok(()) => drop(mini.commit()?),
                // On a full disk the database opens all the same: they go when it is opened next time.
                Err(StorageError::Full { .. }) => {}
                Err(error) => return Err(error),
            }
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
            empty_leaf: crate::index::empty_leaf(page_size)?,
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
            frozen: std::sync::OnceLock::new(),
            commits: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            rows: RowTotals::default(),
            read: ReadTotals::default(),
            sweeping: Mutex::new(()),
            nothing_to_return: Mutex::default(),
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
            match mini.state(RecordKind::DEAD, &[]) {
                Ok(()) => drop(mini.commit()?),
                // The checkpoint that follows says so, too, and needs less room.
                Err(StorageError::Full { .. }) => break,
                Err(error) => return Err(error),
            }
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
                declared: Mutex::default(),
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
        let small = self.shorten_if_worth_it()?;
        // Whoever has changed something since keeps it as it is.
        let is_still = |bytes: &u64| shared.space.ends_at(*bytes) && is_settled(shared);
        shared.store.close(|| small.filter(is_still), || shared.collect())
    }

    /// Cuts off the free end of a small database, or of one that is mostly that, of which nothing is to be undone when it is opened again;
    /// its bytes.
    fn shorten_if_worth_it(&self) -> Result<Option<u64>, StorageError> {
        let shared = self.shared();
        if !is_settled(shared) {
            return Ok(None);
        }
        // Those that the version store keeps at hand may stand at the end.
        let kept = shared.space.extents_of_kind(ExtentKind::Version);
        let unused =
            shared.versions.take_unused(kept.into_iter().flat_map(|(_, run)| run.by_unit()).collect());
        let shorten = || {
            if !unused.is_empty() {
                let mut mini = Mini::begin(shared.core(), TxnId::NONE);
                shared.space.free_runs(&mut mini, &unused)?;
                mini.commit()?;
            }
            let (used, all) = shared.space.bytes_in_use();
            let is_worth_it = used < SMALL_BYTES || used <= all - all / FREE_PART;
            is_worth_it.then(|| shared.space.shorten(shared.core())).transpose()
        };
        match shorten() {
            // The log has no room for that.
            Err(StorageError::Full { .. }) => Ok(None),
            shortened => shortened,
        }
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

    /// What the superblock says.
    pub fn control(&self) -> Control {
        self.shared().store.control()
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
