//! A table: its columns, and how it gets another page.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use verso_env::sync::Mutex;
use verso_types::Batch;

use super::apply;
use super::changed::ChangedRows;
use super::directory::Directory;
use super::layout::{self, ColumnSpec, PageLayout};
use super::packed::{Dictionaries, PackingState};
use super::read::{ScanBatch, Wanted, prepare, read_page};
use super::room::FreeRoom;
use super::root::{self, DATA_PAGES};
use super::scan::{HeapScan, ScanSpec};
use super::uses::Uses;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::index::{ClosedGate, IndexSet};
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u32_at;
use crate::page::{Flaw, ObjectId, PageId, PageKind, RecordId, TxnId, header};
use crate::space::SpaceMap;
use crate::txn::transaction::{SnapshotReader, Txn};
use crate::version::store::Placement;
use crate::wal::RecordKind;

/// A stored table.
pub struct Heap {
    /// Its number.
    pub object: ObjectId,
    /// Its root page.
    pub root: PageId,
    columns: Vec<ColumnSpec>,
    /// As its data pages describe them.
    descriptors: Vec<u8>,
    /// The layout of the first data page that was looked at, which most others have too.
    layout: OnceLock<PageLayout>,
    pub(super) directory: Directory,
    /// Pages that have room for records.
    pub(crate) room: FreeRoom,
    /// Companion pages that have room (hints).
    pub(super) companions: Mutex<BTreeSet<PageId>>,
    /// Values that statements under way have written ahead of their records, by their first page.
    pub(super) written: Mutex<BTreeSet<PageId>>,
    /// Whether the list of such values was not empty when the root was read: a crash has left some.
    pub(crate) has_unfinished: bool,
    /// Its indexes.
    pub indexes: IndexSet,
    /// Running mean of variable bytes per record, times 16.
    mean_variable: AtomicU64,
    /// Pages with explicit record locks and records with queues; raised under the latch of the page (R1).
    pub(crate) explicit_locks: Arc<AtomicU32>,
    /// Locks are of whole pages (`lock_level = page`), also those of writers, who then note them.
    page_locks: AtomicBool,
    /// Transactions share pages for their inserts and old versions (`colocate = off`).
    shares_pages: AtomicBool,
    /// Directory indexes of the pages that everybody's inserts go to then, the fullest first.
    shared_pages: Mutex<SmallVec<[u32; 4]>>,
    /// Rows that were changed.
    pub changed: Arc<ChangedRows>,
    /// How often it was read.
    pub(crate) uses: Uses,
    /// Dictionaries of its texts that are in memory.
    pub(super) dictionaries: Dictionaries,
    /// How its pages are packed.
    pub(crate) packing: PackingState,
}

impl std::fmt::Debug for Heap {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Heap({})", self.object.0)
    }
}

impl Heap {
    /// Reads the root; the directory is read when it is asked for.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn load(pool: &Arc<BufferPool>, object: ObjectId, root: PageId) -> Result<Heap, StorageError> {
        let page = pool.read(root)?;
        if header::kind(&page) != Some(PageKind::Root) || page[root::OBJECT_KIND] != root::TABLE {
            return Err(StorageError::corrupt(root, object, "not the root of a table"));
        }
        let columns = root::columns(&page).map_err(|flaw| StorageError::corrupt(root, object, flaw))?;
        let directory = Directory::new(pool, object, &page);
        Ok(Heap {
            object,
            root,
            descriptors: layout::descriptors(&columns),
            columns,
            layout: OnceLock::new(),
            directory,
            room: FreeRoom::default(),
            companions: Mutex::default(),
            written: Mutex::default(),
            has_unfinished: !root::written_head(&page).is_none(),
            indexes: IndexSet::default(),
            mean_variable: AtomicU64::new(0),
            explicit_locks: Arc::default(),
            page_locks: AtomicBool::new(false),
            shares_pages: AtomicBool::new(false),
            shared_pages: Mutex::default(),
            changed: Arc::new(ChangedRows::new(object.0 >= crate::Engine::FIRST_USER_OBJECT)),
            uses: Uses::default(),
            dictionaries: Dictionaries::default(),
            packing: PackingState::default(),
        })
    }

    /// The layout of one of its data pages; mostly known.
    ///
    /// # Errors
    /// As [`PageLayout::of`].
    pub(super) fn layout_of(&self, page: &[u8]) -> Result<Cow<'_, PageLayout>, Flaw> {
        let known = self.layout.get().filter(|layout| layout.describes(page));
        if let Some(layout) = known {
            return Ok(Cow::Borrowed(layout));
        }
        let layout = PageLayout::of(page)?;
        if self.layout.get().is_none() {
            // Somebody else may be first.
            let _ = self.layout.set(layout.clone());
        }
        Ok(Cow::Owned(layout))
    }

    /// Says whether records are locked by whole pages. Nobody may work with the table while that changes.
    pub fn set_page_locks(&self, pages: bool) {
        if self.page_locks.load(Ordering::Relaxed) != pages {
            self.page_locks.store(pages, Ordering::Relaxed);
        }
    }

    /// Whether records are locked by whole pages.
    pub(crate) fn locks_pages(&self) -> bool {
        self.page_locks.load(Ordering::Relaxed)
    }

    /// Says whether what a transaction inserts, and the old versions of what it changes, stand in pages of its own
    /// ([`Placement::Own`]) or in pages that all share. It concerns what is written from now on.
    pub fn set_colocation(&self, colocate: bool) {
        if self.shares_pages.load(Ordering::Relaxed) == colocate {
            self.shares_pages.store(!colocate, Ordering::Relaxed);
        }
    }

    /// Where inserts and old versions go.
    pub(crate) fn placement(&self) -> Placement {
        if self.shares_pages.load(Ordering::Relaxed) { Placement::Shared } else { Placement::Own }
    }

    /// Directory indexes of the pages that everybody's inserts go to, the fullest first: as many as there were inserts at
    /// one time, for a page that somebody has latched is not waited for.
    pub(super) fn shared_pages(&self) -> SmallVec<[u32; 4]> {
        self.shared_pages.lock().clone()
    }

    /// Everybody's next inserts go there too.
    pub(super) fn share_page(&self, index: u32) {
        let mut pages = self.shared_pages.lock();
        if !pages.contains(&index) {
            pages.push(index);
        }
    }

    /// A page is too full for everybody's inserts; whether it was among theirs.
    pub(super) fn unshare_page(&self, index: u32) -> bool {
        let mut pages = self.shared_pages.lock();
        let place = pages.iter().position(|page| *page == index);
        place.map(|place| pages.remove(place)).is_some()
    }

    /// Its columns, in the order of insertion batches.
    pub fn columns(&self) -> &[ColumnSpec] {
        &self.columns
    }

    /// That rows handed in are laid out as these columns are: a page would take the bytes of other forms for its own.
    ///
    /// # Errors
    /// `OtherForm`.
    pub(super) fn check_forms<'c>(
        &self,
        columns: impl Iterator<Item = &'c ColumnSpec>,
        rows: &Batch,
    ) -> Result<(), StorageError> {
        for (spec, column) in columns.zip(&rows.columns) {
            let found = column.physical();
            if found != spec.physical {
                let (object, column, own) = (self.object, spec.id, spec.physical);
                return Err(StorageError::OtherForm { object, column, own, found });
            }
        }
        Ok(())
    }

    /// The columns as data pages made now describe them.
    pub(super) fn descriptors(&self) -> &[u8] {
        &self.descriptors
    }

    /// Columns of unique keys, which foreign keys may name: a change of them is as strong as a delete (R2).
    pub(crate) fn key_columns(&self) -> SmallVec<[u16; 8]> {
        if !self.indexes.any() {
            return SmallVec::new();
        }
        let indexes = self.indexes.list();
        let unique = indexes.iter().filter(|index| index.spec().unique);
        unique.flat_map(|index| index.spec().parts.iter().map(|part| part.column)).collect()
    }

    /// Data pages.
    pub fn page_count(&self) -> u32 {
        self.directory.len()
    }

    /// The data page at a directory index.
    ///
    /// # Errors
    /// `Corrupt`, `Io` where that part of the directory is not in memory.
    #[inline]
    pub fn page_at(&self, index: u32) -> Result<Option<PageId>, StorageError> {
        self.directory.get(index)
    }

    /// Where its pages are read.
    pub(super) fn pool(&self) -> &BufferPool {
        self.directory.pool()
    }

    /// How many entries of the directory have come to lead elsewhere.
    pub(crate) fn moves(&self) -> u64 {
        self.directory.moves()
    }

    /// Every page of its directory.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn directory_pages(&self) -> Result<Vec<PageId>, StorageError> {
        self.directory.pages()
    }

    /// The table's pages are about to be freed: whoever enters the gate of its indexes from now on finds none.
    pub(crate) fn forget_pages(&self, _gate: &ClosedGate<'_>) {
        self.directory.clear();
    }

    /// Takes the variable bytes of new records into the mean.
    pub(crate) fn observe(&self, records: usize, bytes: usize) {
        if let Some(mean) = (bytes * 16).checked_div(records) {
            let old = self.mean_variable.load(Ordering::Relaxed);
            let mean = if old == 0 { mean as u64 } else { (old * 7 + mean as u64) / 8 };
            if mean != old {
                self.mean_variable.store(mean, Ordering::Relaxed);
            }
        }
    }

    /// Adds an empty data page; its directory index and handle.
    ///
    /// # Errors
    /// `Full` before anything is changed; `TooLarge` when one record does not fit a page.
    pub(crate) fn append_page<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
    ) -> Result<(u32, PageHandle), StorageError> {
        let page_size = mini.core().pool.page_size();
        let mean = (self.mean_variable.load(Ordering::Relaxed) as usize).div_ceil(16);
        // A tenth stays free for values that grow.
        let budget = if mean > 0 { page_size - page_size / 10 } else { page_size };
        let capacity = PageLayout::capacity_for(&self.columns, mean.min(page_size / 4), budget).max(1);
        let layout = PageLayout::new(self.columns.iter().copied(), capacity);
        if layout.end > page_size {
            return Err(StorageError::TooLarge {
                what: "a row".into(),
                size: layout.end as u64,
                limit: page_size as u64,
            });
        }
        let root = mini.write(self.root)?;
        let index = u32_at(mini.page(root), DATA_PAGES);
        let (leaf, place) = self.directory.make_place(mini, space, root, index)?;
        let page = root::allocate_page(mini, space, self.object, root)?;
        let handle = mini.create(page)?;
        mini.apply_with(handle, RecordKind::DATA_INIT, |out| {
            apply::init_payload(out, page, self.object, index, capacity, &self.columns);
        })?;
        let mut change = Vec::new();
        root::patch(&mut change, place, &page.0.to_le_bytes());
        mini.apply(leaf, RecordKind::PATCH, &change)?;
        change.clear();
        root::patch(&mut change, DATA_PAGES, &(index + 1).to_le_bytes());
        mini.apply(root, RecordKind::PATCH, &change)?;
        mini.on_commit(move |_, _| self.directory.push(index, page));
        Ok((index, handle))
    }
}

impl Heap {
    /// Scans the table as the transaction's current statement sees it.
    pub fn scan(self: &Arc<Self>, txn: &Txn, spec: ScanSpec<'_>) -> HeapScan {
        self.scan_by(txn.snapshot_reader(), spec)
    }

    /// As [`Heap::scan`], as a statement sees the records that runs on another thread.
    pub fn scan_by(self: &Arc<Self>, reader: SnapshotReader, spec: ScanSpec<'_>) -> HeapScan {
        let SnapshotReader { shared, mut view, registration, cancel, watched } = reader;
        if let Some(reader) = view.reader() {
            reader.reads_table(self.object);
        }
        if self.object.0 < crate::Engine::FIRST_USER_OBJECT {
            // A definition that is half made is no use to anybody; and what others define is no conflict of serializable
            // transactions, for the catalog has means of its own.
            view = view.without_dirt().with_reader(None);
        }
        HeapScan {
            shared,
            heap: Arc::clone(self),
            view,
            _registration: registration,
            cancel,
            columns: spec.columns.to_vec(),
            next: spec.pages.start,
            end: spec.pages.end.min(self.page_count()),
            later: Vec::new(),
            pieces: None,
            part: 0..0,
            is_counted: false,
            has_begun: false,
            sieve: None,
            draw: None,
            watched: watched.filter(|(object, _)| *object == self.object).map(|(_, job)| job),
        }
    }

    /// Who has written the version of a record that the statement sees; none if it sees none.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn writer_of(&self, txn: &Txn, record: RecordId) -> Result<Option<TxnId>, StorageError> {
        let (_registration, view) = txn.view_or_now();
        super::read::writer_of(&txn.shared, self, &view, record)
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
        read_page(&txn.shared, self, &view, record.page_index, Wanted::Slots(&[record.slot]), columns, out)?;
        out.batch.rows = out.records.len();
        txn.shared.read.fetch(out.records.len());
        Ok(!out.records.is_empty())
    }
}
