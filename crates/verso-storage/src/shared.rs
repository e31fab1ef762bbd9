//! What every part of the running engine shares.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use verso_env::Env;
use verso_env::sync::Mutex;

use crate::StorageError;
use crate::engine::{CheckpointCounts, EngineOptions};
use crate::engine_core::{Core, RedoTable};
use crate::heap::overflow::Incarnations;
use crate::heap::{self, Heap};
use crate::heap::{ReadTotals, RowTotals};
use crate::index::{self, Index};
use crate::lock::LockManager;
use crate::maintenance::packing::OwnPacking;
use crate::maintenance::sweep::SweepReport;
use crate::page::{Lsn, ObjectId, PageId, TxnId};
use crate::recovery::Store;
use crate::sleeper::Sleeper;
use crate::space::SpaceMap;
use crate::txn::live::LiveTxn;
use crate::txn::prepared::Prepared;
use crate::txn::ssi::Ssi;
use crate::txn::{Registration, Transactions};
use crate::version::store::VersionStore;
use crate::wal::RecordKind;
use crate::workers::WorkerPool;

/// Redo functions of all page records.
pub static REDO: RedoTable = RedoTable::new(&[
    (16, 19, crate::space::redo),
    (21, 23, crate::space::redo),
    (32, 34, heap::root::redo),
    (40, 45, heap::apply::redo),
    (48, 52, heap::root::redo),
    (53, 56, heap::packed::container::redo),
    (64, 67, crate::version::page::redo),
    (69, 69, crate::version::page::redo),
    (128, 131, crate::index::node::redo),
]);

/// In the number of transactions left to sweep, in a checkpoint's state: behind them stand the unlogged objects.
pub(crate) const HAS_UNLOGGED: u32 = 1 << 31;
/// Likewise: behind those stands the past that is kept.
pub(crate) const HAS_HISTORY: u32 = 1 << 30;

/// The running engine's parts.
pub struct Shared {
    /// Files, pages, log, superblock.
    pub store: Store,
    /// Extents.
    pub space: SpaceMap,
    /// States and snapshots.
    pub transactions: Arc<Transactions>,
    /// Locks.
    pub locks: Arc<LockManager>,
    /// Serializable transactions.
    pub ssi: Arc<Ssi>,
    /// Prepared transactions by their name.
    pub prepared: Mutex<std::collections::BTreeMap<String, Prepared>>,
    /// Exported snapshots by their name.
    pub exported: Mutex<HashMap<String, Registration>>,
    /// Version pages.
    pub versions: VersionStore,
    /// The outside world.
    pub env: Env,
    /// How it was opened.
    pub options: EngineOptions,
    /// Page size in bytes.
    pub page_size: usize,
    /// What an index without a tree has in its place.
    pub empty_leaf: Box<[u8]>,
    /// Root page of each object.
    pub roots: Mutex<HashMap<ObjectId, PageId>>,
    /// Open tables.
    pub heaps: Mutex<HashMap<ObjectId, Arc<Heap>>>,
    /// Next object to be created.
    pub next_object: AtomicU32,
    /// Incarnations of overflow chains.
    pub incarnations: Incarnations,
    /// Whether dead transactions are backed out in the background.
    pub auto_backout: AtomicBool,
    /// OST − OIT beyond which a sweep starts by itself; 0 = never.
    pub sweep_interval: AtomicU64,
    /// Who removes old versions, as a number.
    pub gc_policy: AtomicU8,
    /// Objects whose pages are to stay in memory, and how many of their pages are marked so.
    pub resident: Mutex<std::collections::BTreeMap<ObjectId, u64>>,
    /// Checkpoints since the database was opened.
    pub checkpoints: Mutex<CheckpointCounts>,
    /// The newest commit number when the database was opened.
    pub first_number: u64,
    /// Bytes of version pages beyond which the past that is kept is shortened; 0 = as many as it takes.
    pub retention_bytes: AtomicU64,
    /// Set at close.
    pub closed: AtomicBool,
    /// Why nothing can be changed, if that is so.
    pub frozen: std::sync::OnceLock<Arc<str>>,
    /// Commits and rollbacks so far.
    pub commits: AtomicU64,
    /// Rollbacks so far.
    pub rollbacks: AtomicU64,
    /// Rows that ended transactions have inserted, changed and deleted.
    pub rows: RowTotals,
    /// Rows that were read.
    pub read: ReadTotals,
    /// Held by a running sweep.
    pub sweeping: Mutex<()>,
    /// Tables and indexes of whose free pages none could go back when their root had this LSN.
    pub nothing_to_return: Mutex<HashMap<ObjectId, Lsn>>,
    /// Dead transactions that only sweep backs out (F5).
    pub left_to_sweep: Mutex<std::collections::BTreeSet<TxnId>>,
    /// Dead transactions whose back-out met damaged pages: only a sweep tries again.
    pub held_up: Mutex<std::collections::BTreeSet<TxnId>>,
    /// OST at the end of the last sweep that started by itself.
    pub swept_at: AtomicU64,
    /// The last sweeps that started by themselves, oldest first.
    pub own_sweeps: Mutex<VecDeque<SweepReport>>,
    /// Packing by itself.
    pub(crate) own_packing: OwnPacking,
    /// Threads for jobs of maintenance.
    pub workers: WorkerPool,
    /// The folder of temporary files.
    pub temporary: PathBuf,
    /// The next temporary file of a sort.
    pub sort_files: Arc<AtomicU64>,
    /// Who keeps statistics of tables; called where many rows of one have changed.
    pub changes: Arc<Sleeper>,
    /// Open transactions, by the order of their beginning.
    pub live: Mutex<std::collections::BTreeMap<u64, Arc<LiveTxn>>>,
}

impl Shared {
    /// Publishes what is durable; locks of commits that have not waited for that go with it (T1-nowait).
    pub(crate) fn publish(&self, durable: Lsn) {
        for left in self.transactions.publish_durable(durable) {
            left.release(&self.locks);
        }
    }

    /// Pages, log, gate and redo.
    pub fn core(&self) -> &Core {
        &self.store.core
    }

    /// The table with this number.
    ///
    /// # Errors
    /// `NoSuchObject`, or what reading its root and directory says.
    pub fn heap(&self, object: ObjectId) -> Result<Arc<Heap>, StorageError> {
        if let Some(heap) = self.heaps.lock().get(&object) {
            return Ok(Arc::clone(heap));
        }
        let root = self.roots.lock().get(&object).copied().ok_or(StorageError::NoSuchObject(object))?;
        let loaded = Heap::load(&self.core().pool, object, root).map(Arc::new);
        let loaded = loaded.and_then(|heap| self.load_indexes(&heap).map(|()| heap));
        let mut heaps = self.heaps.lock();
        if !self.roots.lock().contains_key(&object) {
            // It was freed while it was read.
            return Err(StorageError::NoSuchObject(object));
        }
        let heap = Arc::clone(heaps.entry(object).or_insert(loaded?));
        drop(heaps);
        if heap.has_unfinished
            && let Err(error) = heap.give_back_unfinished(self)
        {
            tracing::warn!(%error, %object, "pages of values that were not stored stay allocated until the next start");
        }
        Ok(heap)
    }

    /// The table with this number, if it is there: what refers to a table may outlive it.
    ///
    /// # Errors
    /// What reading its root and directory says.
    pub fn heap_if_there(&self, object: ObjectId) -> Result<Option<Arc<Heap>>, StorageError> {
        match self.heap(object) {
            Ok(heap) => Ok(Some(heap)),
            Err(StorageError::NoSuchObject(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn load_indexes(&self, heap: &Heap) -> Result<(), StorageError> {
        let listed = heap::root::indexes(&self.core().pool.read(heap.root)?);
        let mut indexes = Vec::with_capacity(listed.len());
        for object in listed {
            let root = self.roots.lock().get(&object).copied();
            if let Some(root) = root {
                indexes.extend(Index::load(self, object, root, heap.columns())?.map(Arc::new));
            }
        }
        heap.indexes.set(&mut heap.indexes.close(), indexes);
        Ok(())
    }

    /// Which kind of object has this root.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn object_kind(&self, root: PageId) -> Result<u8, StorageError> {
        Ok(self.core().pool.read(root)?[heap::root::OBJECT_KIND])
    }

    /// The state that a checkpoint keeps: transactions, version pages, counters.
    pub fn collect(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.transactions.encode(&mut out);
        out.extend_from_slice(&self.next_object.load(Ordering::Acquire).to_le_bytes());
        let left: Vec<TxnId> = self.left_to_sweep.lock().iter().copied().collect();
        let unlogged = self.core().unlogged.list();
        let mut past = Vec::new();
        let has_past = self.transactions.encode_history(&mut past);
        let flag =
            if unlogged.is_empty() { 0 } else { HAS_UNLOGGED } | if has_past { HAS_HISTORY } else { 0 };
        out.extend_from_slice(&(left.len() as u32 | flag).to_le_bytes());
        left.iter().for_each(|txn| out.extend_from_slice(&txn.0.to_le_bytes()));
        if !unlogged.is_empty() {
            out.extend_from_slice(&(unlogged.len() as u32).to_le_bytes());
            unlogged.iter().for_each(|object| out.extend_from_slice(&object.0.to_le_bytes()));
        }
        if has_past {
            out.extend_from_slice(&(past.len() as u32).to_le_bytes());
            out.append(&mut past);
        }
        self.versions.encode(&mut out);
        out
    }

    /// Marks the pages of an object as wanted in memory, or no longer so.
    pub(crate) fn mark_resident(&self, object: ObjectId, resident: bool) {
        let mut pages = 0;
        for run in self.space.extents_of(object) {
            self.core().pool.set_resident(run.first..PageId(run.first.0 + run.pages), resident);
            pages += u64::from(run.pages);
        }
        if let Some(marked) = self.resident.lock().get_mut(&object) {
            *marked = pages;
        }
    }

    /// Marks the pages that resident objects have got since.
    pub(crate) fn mark_new_resident(&self) {
        let known: Vec<(ObjectId, u64)> =
            self.resident.lock().iter().map(|(object, marked)| (*object, *marked)).collect();
        for (object, marked) in known {
            let pages: u64 = self.space.extents_of(object).iter().map(|run| u64::from(run.pages)).sum();
            if pages == 0 {
                self.resident.lock().remove(&object);
            } else if pages != marked {
                self.mark_resident(object, true);
            }
        }
    }

    /// Says within the mini-transaction that frees an object that it has gone, if it is unlogged.
    ///
    /// # Errors
    /// As [`Mini::state`](crate::Mini::state).
    pub(crate) fn note_gone(&self, mini: &mut crate::Mini<'_>, object: ObjectId) -> Result<(), StorageError> {
        match self.core().unlogged.contains(object) {
            true => mini.state(RecordKind::UNLOGGED_GONE, &object.0.to_le_bytes()),
            false => Ok(()),
        }
    }

    /// Frees every page of an object that no one can name any more; nothing if another thread does, or has done.
    ///
    /// Maintenance may still be at work on a table: it is waited for, and finds no page of it from then on. So no log record
    /// of a page comes behind the one that frees it.
    ///
    /// # Errors
    /// As the mini-transaction.
    pub fn free_object(&self, object: ObjectId) -> Result<u64, StorageError> {
        let Some(root) = self.roots.lock().get(&object).copied() else { return Ok(0) };
        match self.object_kind(root)? {
            heap::root::INDEX => return index::free(self, object, root),
            heap::root::TABLE => {
                let listed = heap::root::indexes(&self.core().pool.read(root)?);
                for index in listed {
                    self.free_object(index)?;
                }
            }
            _ => {}
        }
        if self.roots.lock().remove(&object).is_none() {
            return Ok(0);
        }
        // In this order: who opens the table now does not find its root.
        let heap = self.heaps.lock().remove(&object);
        if let Some(heap) = heap {
            heap.forget_pages(&heap.indexes.close());
        }
        let freed = self.free_pages_of(object);
        if freed.as_ref().is_err_and(StorageError::is_full_disk) {
            // It is there as before.
            self.roots.lock().insert(object, root);
        }
        freed
    }

    /// Gives back what an object has that nobody finds any more.
    fn free_pages_of(&self, object: ObjectId) -> Result<u64, StorageError> {
        let mut mini = crate::Mini::begin(self.core(), TxnId::NONE);
        mini.use_reserve();
        // Before anything is changed.
        mini.reserve(0)?;
        let pages = self.space.free_owner(&mut mini, object)?;
        self.note_gone(&mut mini, object)?;
        mini.commit_with(|_, _| self.core().unlogged.remove(object))?;
        self.core().pool.forget(object);
        Ok(pages)
    }
}
