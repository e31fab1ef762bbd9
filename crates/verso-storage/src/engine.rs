//! The engine: one open database.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::sync::Mutex;
use verso_env::{Env, JoinHandle};

use crate::buffer::{PoolOptions, PoolStats};
use crate::heap::layout::{ColumnSpec, FLAG_ALL_VISIBLE, FLAG_SWEPT};
use crate::heap::read::{HeapScan, ScanBatch, ScanSpec, prepare, read_page};
use crate::heap::{Heap, root};
use crate::index::{self, Index, IndexProgress, IndexSpec};
use crate::lock::{LockInfo, LockManager, LockOwner, TableLockMode, WaitPolicy};
use crate::maintenance::check::{CheckProgress, CheckReport};
use crate::maintenance::sweep::{SweepOptions, SweepProgress, SweepReport};
use crate::maintenance::{background, backout, check, retire, sweep};
use crate::mini::Mini;
use crate::page::bytes::{checked_u32, checked_u64};
use crate::page::{Flaw, Lsn, ObjectId, PageId, PageKind, RecordId, TxnId, header};
use crate::recovery::{
    CheckpointTarget, Checkpointer, CheckpointerOptions, RecoveryReport, StateRedo, Store, StoreOptions,
};
use crate::rules::{Rule, disabled};
use crate::sequence::{self, Sequence, SequenceSpec};
use crate::shared::{REDO, Shared};
use crate::space::{ExtentKind, SpaceMap, UNIT_PAGES};
use crate::txn::frame::Voidable;
use crate::txn::transaction::{Txn, TxnOptions, note_object};
use crate::txn::{Markers, RestoredTransactions, Transactions, TxnState, prepared};
use crate::version::entry::EntryKind;
use crate::version::store::{RestoredVersions, VersionStore};
use crate::wal::{RecordKind, WalOptions, WalStats};
use crate::{StorageError, version};

/// How an engine runs.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bytes of a page, at creation: 4, 8, 16 or 32 KiB.
    pub page_size: u32,
    /// Bytes of the buffer pool.
    pub buffer_pool_bytes: u64,
    /// The database never grows beyond this.
    pub max_database_bytes: u64,
    /// Bytes of the log's ring buffer.
    pub log_buffer_bytes: u64,
    /// The page cleaner stops below this share of dirty frames, in per cent.
    pub lru_min_dirty: u8,
    /// The page cleaner starts above this share of dirty frames, in per cent.
    pub lru_max_dirty: u8,
    /// Whether dead transactions are backed out in the background.
    pub auto_backout: bool,
    /// OST − OIT beyond which a sweep starts by itself; 0 = never.
    pub sweep_interval: u64,
    /// Longest time between checkpoints.
    pub checkpoint_interval_ms: u64,
    /// Most log that recovery may have to read before a checkpoint is made.
    pub checkpoint_log_bytes: u64,
    /// Rollback undoes up to this many records at once (F4).
    pub eager_rollback_records: u64,
    /// Whether housekeeping and checkpoints run on threads of their own; tests that replay switch it off.
    pub background: bool,
}

impl Default for EngineOptions {
    fn default() -> EngineOptions {
        EngineOptions {
            page_size: 16 << 10,
            buffer_pool_bytes: 256 << 20,
            max_database_bytes: 1 << 40,
            log_buffer_bytes: 4 << 20,
            lru_min_dirty: 50,
            lru_max_dirty: 60,
            auto_backout: true,
            sweep_interval: 20_000,
            checkpoint_interval_ms: 300_000,
            checkpoint_log_bytes: 256 << 20,
            eager_rollback_records: 1000,
            background: true,
        }
    }
}

/// Where the file's pages are.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpaceReport {
    /// Bytes of a page.
    pub page_size: u64,
    /// Pages of the file.
    pub total_pages: u64,
    /// Pages in no extent.
    pub free_pages: u64,
    /// Version pages in use.
    pub version_pages: u64,
    /// Pages of scratch extents.
    pub temporary_pages: u64,
}

/// Where a table's pages are.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSpace {
    /// Pages of its extents.
    pub pages: u64,
    /// Data pages.
    pub data_pages: u64,
    /// Pages of values that outgrew their data pages, old ones included.
    pub companion_pages: u64,
    /// Pages of long values, old ones included.
    pub overflow_pages: u64,
    /// Pages that nobody uses: never used ones of its newest extent, and those given back.
    pub free_pages: u64,
    /// Directory pages.
    pub directory_pages: u64,
    /// Data pages that sweep need not visit.
    pub swept_pages: u64,
    /// Data pages whose records every snapshot sees.
    pub all_visible_pages: u64,
}

/// Counters since the engine was opened.
#[derive(Clone, Debug)]
pub struct EngineStatistics {
    /// The buffer pool's.
    pub pool: PoolStats,
    /// The log's.
    pub log: WalStats,
    /// Commits.
    pub commits: u64,
    /// Rollbacks.
    pub rollbacks: u64,
}

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
        self.0.upgrade().map_or(0, |shared| shared.store.redo_bytes())
    }

    fn checkpoint(&self) -> Result<(), StorageError> {
        let shared = self.0.upgrade().ok_or(StorageError::Closed)?;
        shared.store.checkpoint(|| shared.collect()).map(|_| ())
    }
}

/// What recovery learns of the state kept in memory.
#[derive(Default)]
struct Restoring {
    transactions: RestoredTransactions,
    active: BTreeSet<TxnId>,
    /// Transactions that began behind the checkpoint and logged something: in any order, for an id is given before its
    /// first group is logged.
    seen: HashSet<TxnId>,
    /// Next transaction of the checkpoint.
    first: u64,
    left_to_sweep: BTreeSet<TxnId>,
    next_object: u32,
    versions: RestoredVersions,
}

impl StateRedo for Restoring {
    fn checkpoint(&mut self, mut state: &[u8]) -> Result<(), Flaw> {
        let (transactions, active) = Transactions::decode(&mut state)?;
        self.transactions = transactions;
        self.active = active.into_iter().collect();
        self.first = self.transactions.next;
        self.next_object = checked_u32(state, 0)?;
        let count = checked_u32(state, 4)? as usize;
        for index in 0..count {
            self.left_to_sweep.insert(TxnId(checked_u64(state, 8 + index * 8)?));
        }
        let mut rest = state.get(8 + count * 8..).ok_or_else(|| Flaw::from("checkpoint state cut short"))?;
        self.versions = RestoredVersions::decode(&mut rest)?;
        Ok(())
    }

    fn group(&mut self, txn: TxnId, _end: Lsn) {
        if txn != TxnId::NONE && txn.0 >= self.first && self.seen.insert(txn) {
            self.active.insert(txn);
            self.transactions.next = self.transactions.next.max(txn.0 + 1);
        }
    }

    fn state(&mut self, kind: RecordKind, txn: TxnId, _end: Lsn, payload: &[u8]) -> Result<(), Flaw> {
        match kind {
            RecordKind::COMMIT | RecordKind::ROLLED_BACK => {
                self.active.remove(&txn);
                self.transactions.limbo.remove(&txn);
            }
            RecordKind::PREPARED => {
                self.active.remove(&txn);
                self.transactions.limbo.insert(txn, payload.to_vec());
            }
            RecordKind::DEAD => {
                self.active.remove(&txn);
                self.transactions.limbo.remove(&txn);
                self.transactions.dead.insert(txn);
                if payload.first() == Some(&1) {
                    self.left_to_sweep.insert(txn);
                }
            }
            RecordKind::BACKED_OUT => {
                let txn = TxnId(checked_u64(payload, 0)?);
                self.transactions.dead.remove(&txn);
                self.active.remove(&txn); // a full log may lack its end
            }
            RecordKind::VERSION_RANGE => self.versions.note(payload)?,
            RecordKind::SWEPT => {}
            other => return Err(Flaw::new(format!("unknown state record {other}"))),
        }
        Ok(())
    }
}

fn store_options(options: &EngineOptions, page_size: Option<usize>) -> StoreOptions {
    let pool = PoolOptions {
        page_size: options.page_size as usize,
        capacity_bytes: options.buffer_pool_bytes,
        max_database_bytes: options.max_database_bytes,
        lru_min_dirty: options.lru_min_dirty,
        lru_max_dirty: options.lru_max_dirty,
    };
    let mut wal = WalOptions { background: options.background, ..WalOptions::default() };
    wal.buffer_count = (options.log_buffer_bytes as usize / wal.chunk_bytes).max(2);
    StoreOptions { pool, page_size, wal }
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
        let restoring = Restoring { next_object: Engine::FIRST_USER_OBJECT, ..Restoring::default() };
        Engine::start(env, store, options, restoring, None)
    }

    /// Opens a database and recovers it if it was not closed.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open(env: Env, path: &Path, options: EngineOptions) -> Result<Engine, StorageError> {
        let mut restoring = Restoring { next_object: Engine::FIRST_USER_OBJECT, ..Restoring::default() };
        let (store, report) = Store::open(&env, path, &store_options(&options, None), &REDO, &mut restoring)?;
        Engine::start(env, store, options, restoring, Some(report))
    }

    fn start(
        env: Env,
        store: Store,
        options: EngineOptions,
        restoring: Restoring,
        recovery: Option<RecoveryReport>,
    ) -> Result<Engine, StorageError> {
        let space = store.load_space(crate::space::RESERVE_UNITS)?;
        let page_size = store.core.pool.page_size();
        let Restoring { mut transactions, active, mut left_to_sweep, next_object, versions, .. } = restoring;
        // What was under way has failed.
        if !disabled(Rule::DeadAtRestart) {
            transactions.dead.extend(active.iter().copied());
        }
        left_to_sweep.retain(|txn| transactions.dead.contains(txn));
        let unfinished = transactions.dead.iter().chain(transactions.limbo.keys()).copied().collect();
        let limbo = transactions.limbo.clone();
        let versions = restore_versions(&store, &space, versions, &unfinished)?;
        let temporary: Vec<_> =
            space.extents_of_kind(ExtentKind::Temp).into_iter().map(|(_, run)| run).collect();
        if !temporary.is_empty() && !disabled(Rule::F3Restart) {
            let mut mini = Mini::begin(&store.core, TxnId::NONE);
            space.free_runs(&mut mini, &temporary)?;
            mini.commit()?;
        }
        let roots: HashMap<ObjectId, PageId> = space.roots().into_iter().collect();
        let greatest = roots.keys().map(|object| object.0 + 1).max().unwrap_or(0);
        let transactions = Arc::new(Transactions::new(transactions));
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
            next_incarnation: AtomicU16::new(seed),
            auto_backout: AtomicBool::new(options.auto_backout),
            sweep_interval: AtomicU64::new(options.sweep_interval),
            closed: AtomicBool::new(false),
            commits: AtomicU64::new(0),
            rollbacks: AtomicU64::new(0),
            sweeping: Mutex::new(()),
            left_to_sweep: Mutex::new(left_to_sweep),
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
            threads.push(env.spawn("verso-housekeeping", move || background::run(&weak)));
            let checkpoints = CheckpointerOptions {
                interval: Duration::from_millis(options.checkpoint_interval_ms),
                log_bytes: options.checkpoint_log_bytes,
                ..CheckpointerOptions::default()
            };
            let started = Checkpointer::start(&env, checkpoints, Arc::new(Target(Arc::downgrade(&shared))));
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
        if let Some(checkpointer) = self.inner.checkpointer.lock().take() {
            checkpointer.stop();
        }
        for thread in std::mem::take(&mut *self.inner.threads.lock()) {
            let _ = thread.join();
        }
        shared.versions.close_idle(&shared.transactions);
        retire::retire(shared)?;
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

    /// Creates a table.
    ///
    /// # Errors
    /// `Full`, `TooLarge` for too many or too wide columns.
    pub fn create_heap(&self, txn: &mut Txn, columns: &[ColumnSpec]) -> Result<ObjectId, StorageError> {
        let object = ObjectId(self.shared().next_object.fetch_add(1, Ordering::AcqRel));
        self.create_heap_with_id(txn, object, columns)?;
        Ok(object)
    }

    /// Creates a table of the catalog under a number below [`Engine::FIRST_USER_OBJECT`].
    ///
    /// # Errors
    /// As [`Engine::create_heap`].
    pub fn create_heap_with_id(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        columns: &[ColumnSpec],
    ) -> Result<(), StorageError> {
        let page_size = self.shared().page_size;
        let width = crate::heap::layout::PageLayout::new(columns.iter().copied(), 1).end;
        let too_large = |what: &str, size: usize, limit: usize| StorageError::TooLarge {
            what: what.into(),
            size: size as u64,
            limit: limit as u64,
        };
        if columns.len() > root::MAX_COLUMNS {
            return Err(too_large("the list of columns", columns.len() * 4, root::MAX_COLUMNS * 4));
        }
        if width > page_size {
            return Err(too_large("a row", width, page_size));
        }
        self.create_object(txn, object, root::TABLE, columns, None)
    }

    /// Creates a sequence.
    ///
    /// # Errors
    /// `Full`.
    pub fn create_sequence(&self, txn: &mut Txn, spec: SequenceSpec) -> Result<ObjectId, StorageError> {
        let object = ObjectId(self.shared().next_object.fetch_add(1, Ordering::AcqRel));
        let body = sequence::body(&spec, spec.start, false);
        self.create_object(txn, object, root::SEQUENCE, &[], Some(body))?;
        Ok(object)
    }

    fn create_object(
        &self,
        txn: &mut Txn,
        object: ObjectId,
        kind: u8,
        columns: &[ColumnSpec],
        body: Option<Vec<u8>>,
    ) -> Result<(), StorageError> {
        let id = txn.begin_write()?;
        let shared = Arc::clone(self.shared());
        let mut mini = Mini::begin(shared.core(), id);
        // The note first: allocations that may fail come before any change.
        note_object(&shared, txn, &mut mini, EntryKind::CreateObject, object)?;
        mini.use_reserve();
        let run = shared.space.allocate(&mut mini, object, ExtentKind::Object, 1, true)?;
        let handle = mini.create(run.first)?;
        mini.apply(
            handle,
            RecordKind::ROOT_INIT,
            &root::init_payload(run.first, object, run.pages, kind, columns),
        )?;
        if let Some(body) = body {
            mini.apply(handle, RecordKind::PATCH, &body)?;
        }
        let lsns = mini.commit_with(|_, _| {
            shared.roots.lock().insert(object, run.first);
        })?;
        txn.wrote(lsns);
        if let Some(frame) = txn.frame() {
            frame.created.push(object);
        }
        Ok(())
    }

    /// Drops a table or sequence: its pages go back after the commit, behind the horizon.
    ///
    /// # Errors
    /// `NoSuchObject`, `Full`.
    pub fn drop_object(&self, txn: &mut Txn, object: ObjectId) -> Result<(), StorageError> {
        let shared = Arc::clone(self.shared());
        if !shared.roots.lock().contains_key(&object) {
            return Err(StorageError::NoSuchObject(object));
        }
        let id = txn.begin_write()?;
        let mut mini = Mini::begin(shared.core(), id);
        let pointer = note_object(&shared, txn, &mut mini, EntryKind::DropObject, object)?;
        let lsns = mini.commit()?;
        txn.wrote(lsns);
        if let Some(frame) = txn.frame() {
            frame.voids.push(Voidable { pointer, own_value: None });
        }
        Ok(())
    }

    /// The table with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn heap(&self, object: ObjectId) -> Result<Arc<Heap>, StorageError> {
        self.shared().heap(object)
    }

    /// The sequence with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn sequence(&self, object: ObjectId) -> Result<Arc<Sequence>, StorageError> {
        let root =
            self.shared().roots.lock().get(&object).copied().ok_or(StorageError::NoSuchObject(object))?;
        let mut sequences = self.inner.sequences.lock();
        if let Some(sequence) = sequences.get(&object) {
            return Ok(Arc::clone(sequence));
        }
        let sequence = Arc::new(Sequence::load(self.shared(), object, root)?);
        sequences.insert(object, Arc::clone(&sequence));
        Ok(sequence)
    }

    /// Creates an index and fills it with what the table holds. The caller holds a lock on the table that keeps writers
    /// away; `progress` may end it early.
    ///
    /// # Errors
    /// `Unique` when two records have the same key of a unique index; `Cancelled`; `NoSuchObject`, `TooLarge`, `Full`.
    pub fn create_index(
        &self,
        txn: &mut Txn,
        spec: IndexSpec,
        progress: &mut dyn FnMut(IndexProgress) -> ControlFlow<()>,
    ) -> Result<ObjectId, StorageError> {
        let shared = Arc::clone(self.shared());
        let heap = shared.heap(spec.table)?;
        let object = ObjectId(shared.next_object.fetch_add(1, Ordering::AcqRel));
        index::validate(&heap, object, &spec)?;
        let mut body = Vec::new();
        root::patch(&mut body, root::BODY, &spec.encode());
        self.create_object(txn, object, root::INDEX, &[], Some(body))?;
        let root = shared.roots.lock().get(&object).copied().ok_or(StorageError::NoSuchObject(object))?;
        index::create(txn, &heap, object, root, spec, progress)?;
        Ok(object)
    }

    /// The index with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn index(&self, object: ObjectId) -> Result<Arc<Index>, StorageError> {
        let missing = || StorageError::NoSuchObject(object);
        let shared = self.shared();
        let root = shared.roots.lock().get(&object).copied().ok_or_else(missing)?;
        if shared.object_kind(root)? != root::INDEX {
            return Err(missing());
        }
        let spec = Index::read_spec(&shared.core().pool, object, root)?;
        let list = shared.heap(spec.table)?.indexes.list();
        list.iter().find(|index| index.object() == object).cloned().ok_or_else(missing)
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

    /// The commit number of a transaction, if it is committed: snapshots from this number on see it. 0 is long ago.
    pub fn commit_number(&self, txn: TxnId) -> Option<u64> {
        self.shared().transactions.commit_number(txn)
    }

    /// Open transactions.
    pub fn transactions(&self) -> Vec<crate::TxnInfo> {
        self.shared().live.lock().values().filter_map(|live| live.info()).collect()
    }

    /// Counters.
    pub fn statistics(&self) -> EngineStatistics {
        let shared = self.shared();
        EngineStatistics {
            pool: shared.core().pool.stats(),
            log: shared.core().wal.stats(),
            commits: shared.commits.load(Ordering::Relaxed),
            rollbacks: shared.rollbacks.load(Ordering::Relaxed),
        }
    }

    /// Resident bytes of the buffer pool.
    pub fn pool_resident_bytes(&self) -> u64 {
        self.shared().core().pool.resident_bytes()
    }

    /// Where the file's pages are.
    pub fn space(&self) -> SpaceReport {
        let shared = self.shared();
        let stats = shared.space.stats();
        let temporary = shared.space.extents_of_kind(ExtentKind::Temp);
        SpaceReport {
            page_size: shared.page_size as u64,
            total_pages: stats.total_pages,
            free_pages: stats.free_pages,
            version_pages: shared.versions.in_use() as u64,
            temporary_pages: temporary.iter().map(|(_, run)| u64::from(run.pages)).sum(),
        }
    }

    /// Where a table's pages are; reads every page of it.
    ///
    /// # Errors
    /// `NoSuchObject`, `Corrupt`, `Io`.
    pub fn table_space(&self, object: ObjectId) -> Result<TableSpace, StorageError> {
        let shared = self.shared();
        let heap = self.heap(object)?;
        let runs = shared.space.extents_of(object);
        let mut space =
            TableSpace { pages: runs.iter().map(|run| u64::from(run.pages)).sum(), ..TableSpace::default() };
        space.data_pages = u64::from(heap.page_count());
        space.directory_pages = space.data_pages.div_ceil(root::directory_capacity(shared.page_size) as u64);
        for index in 0..heap.page_count() {
            let Some(id) = heap.page_at(index) else { break };
            let flags = header::flags(&shared.core().pool.read_for_scan(id)?);
            space.swept_pages += u64::from(flags & FLAG_SWEPT != 0);
            space.all_visible_pages += u64::from(flags & FLAG_ALL_VISIBLE != 0);
        }
        let never_used = root::unused(&shared.core().pool.read_for_scan(heap.root)?).0;
        space.free_pages = never_used.len() as u64;
        for id in runs.iter().flat_map(|run| run.page_ids()).filter(|id| !never_used.contains(&id.0)) {
            let page = shared.core().pool.read_for_scan(id)?;
            match header::kind(&page) {
                Some(PageKind::Companion) => space.companion_pages += 1,
                Some(PageKind::Overflow) if root::next_unused(&page, object).is_some() => {
                    space.free_pages += 1
                }
                Some(PageKind::Overflow) => space.overflow_pages += 1,
                _ => {}
            }
        }
        Ok(space)
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

    /// Does what the housekeeping thread does, once; for tests and for engines without one.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Poisoned`.
    pub fn housekeeping(&self) -> Result<(), StorageError> {
        background::round(self.shared(), backout::Pace::Full)
    }

    /// How far the log is on disk; see [`Txn::needs`].
    pub fn durable(&self) -> Lsn {
        self.shared().core().wal.durable()
    }

    /// Waits until the log is on disk up to there; writes it, if nobody does.
    ///
    /// # Errors
    /// `Poisoned`, or the failure that makes it so.
    pub fn flush_log(&self, upto: Lsn) -> Result<(), StorageError> {
        self.shared().core().wal.flush(upto)
    }

    /// Makes a checkpoint.
    ///
    /// # Errors
    /// `Poisoned`, `Io`, `Full`.
    pub fn checkpoint(&self) -> Result<(), StorageError> {
        let shared = self.shared();
        shared.store.checkpoint(|| shared.collect()).map(|_| ())
    }

    /// Proves the numbered invariants.
    ///
    /// # Errors
    /// As [`check::check`].
    pub fn check(&self, progress: &mut dyn FnMut(CheckProgress)) -> Result<CheckReport, StorageError> {
        check::check(self.shared(), progress)
    }

    /// Switches background back-out.
    pub fn set_auto_backout(&self, on: bool) {
        self.shared().auto_backout.store(on, Ordering::Relaxed);
    }

    /// Sets the interval of sweeps that start by themselves; 0 = never.
    pub fn set_sweep_interval(&self, interval: u64) {
        self.shared().sweep_interval.store(interval, Ordering::Relaxed);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without `close` the file stays as after a crash, which recovery handles; only the threads end here.
        self.shared.closed.store(true, Ordering::Release);
        if let Some(checkpointer) = self.checkpointer.lock().take() {
            checkpointer.stop();
        }
        for thread in std::mem::take(&mut *self.threads.lock()) {
            let _ = thread.join();
        }
    }
}

/// V8: keeps pages that name a dead transaction or hold a purge list; frees every other extent of version pages.
fn restore_versions(
    store: &Store,
    space: &SpaceMap,
    restored: RestoredVersions,
    dead: &BTreeSet<TxnId>,
) -> Result<VersionStore, StorageError> {
    let extents: BTreeSet<u32> = space
        .extents_of_kind(ExtentKind::Version)
        .into_iter()
        .flat_map(|(_, run)| run.page_ids().map(|page| page.0 / UNIT_PAGES * UNIT_PAGES))
        .collect();
    let mut kept = restored.pages;
    kept.retain(|page, info| {
        extents.contains(&(page.0 / UNIT_PAGES * UNIT_PAGES))
            && (info.purge || disabled(Rule::V8Free) || info.txns.iter().any(|txn| dead.contains(txn)))
    });
    for (page, info) in &mut kept {
        let bytes = store.core.pool.read(*page)?;
        if header::kind(&bytes) != Some(PageKind::Version) {
            return Err(StorageError::corrupt(*page, ObjectId::SYSTEM, "not a version page"));
        }
        let entries = version::page::entries(&bytes)
            .map_err(|flaw| StorageError::corrupt(*page, ObjectId::SYSTEM, flaw))?;
        for (_, entry) in entries {
            if !info.txns.contains(&entry.writer()) {
                info.txns.push(entry.writer());
            }
        }
    }
    let busy: BTreeSet<u32> = kept.keys().map(|page| page.0 / UNIT_PAGES * UNIT_PAGES).collect();
    let whole: Vec<crate::space::ExtentRun> = extents
        .difference(&busy)
        .map(|first| crate::space::ExtentRun { first: PageId(*first), pages: UNIT_PAGES })
        .collect();
    if !whole.is_empty() {
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        space.free_runs(&mut mini, &whole)?;
        mini.commit()?;
    }
    let free: Vec<PageId> = busy
        .iter()
        .flat_map(|first| (0..UNIT_PAGES).map(move |offset| PageId(first + offset)))
        .filter(|page| !kept.contains_key(page))
        .collect();
    let incarnation = (store.core.wal.appended().0 >> 9) as u16;
    Ok(VersionStore::restore(kept, free.into_iter(), incarnation))
}

impl Heap {
    /// Scans the table as the transaction's current statement sees it.
    pub fn scan(self: &Arc<Self>, txn: &Txn, spec: ScanSpec<'_>) -> HeapScan {
        let (registration, view) = txn.view_or_now();
        if let Some(reader) = view.reader() {
            reader.reads_table(self.object);
        }
        HeapScan {
            shared: Arc::clone(&txn.shared),
            heap: Arc::clone(self),
            view,
            _registration: registration,
            cancel: Arc::clone(&txn.cancel),
            columns: spec.columns.to_vec(),
            next: spec.pages.start,
            end: spec.pages.end.min(self.page_count()),
        }
    }

    /// Reads one record into `out`; whether it is visible.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn fetch(
        &self,
        txn: &Txn,
        record: RecordId,
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<bool, StorageError> {
        let (_registration, view) = txn.view_or_now();
        prepare(self, columns, out);
        read_page(&txn.shared, self, &view, record.page_index, Some(&[record.slot]), columns, out)?;
        out.batch.rows = out.records.len();
        Ok(!out.records.is_empty())
    }
}
