//! The executors' tables, over storage and one transaction.
//!
//! | module | what it is |
//! |---|---|
//! | [`cursor`] | rows read, rows changed |
//! | [`lookups`] | rows that a worker of a query finds through an index |
//! | [`reference`] | what foreign keys ask for beyond a snapshot |
//! | [`reserve`] | UPDATE of RESERVABLE columns |
//! | [`opened`] | tables that were used before |
//! | [`deferred`], [`events`] | what is put off to the commit; triggers among that |
//! | [`past`] | tables as they were |
//! | [`duplicate`] | which row a unique index refused |
//!
//! 1. A table is locked before it is opened. Of one that is to be changed, or whose rows are to be locked, the definition
//!    is looked at once more behind the lock: it is a conflict if it is another one by then.
//! 2. The transaction is borrowed for the moment of a call, so that statements of functions run in between.

mod cursor;
mod deferred;
mod duplicate;
pub(crate) mod events;
mod lookups;
mod opened;
mod padded;
mod past;
mod reference;
mod reserve;

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

use verso_catalog::packs::{Pack, Wanted, stored_ids};
use verso_catalog::{Catalog, ConstraintDef, IndexDef, SequenceDef, TableDef, TriggerDef};
use verso_exec::context::AdvisoryCall;
use verso_exec::error::{ExecError, Result};
use verso_exec::exec::{
    Change, ChangeCursor, DeferredEvent, FoundRecords, Gathering, HeldStatement, IndexReader, KeyOf,
    LockRows, Moment, References, Scan, Sequences, TableCursor, TransactionControl, TransactionState,
};
use verso_exec::memory::Memory;
use verso_exec::plan::TableUse;
use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::index::{Index, KeyRange};
use verso_storage::{
    Engine, Growth, HeldView, LockedRows, ObjectId, RecordId, RecordLockMode, StorageError, TableLockMode,
    Txn, TxnId, WaitPolicy,
};
use verso_types::snapshot::Snapshot;
use verso_types::{Batch, TimeStyle, TypeError, Value};

use crate::services::Services;
use crate::settings::memory_bytes;

use cursor::{Candidates, Changer, Pages, Ranges, Reader, Rows, columns_at};
pub(crate) use deferred::{ConstraintModes, Deferred, Place};
pub(crate) use duplicate::explain_unique;
use lookups::Lookups;
pub(crate) use opened::OpenTables;
use opened::RowBatch;

/// Tables as a transaction sees them.
pub(crate) struct EngineTables<'t> {
    /// The session.
    pub services: &'t Services,
    /// Storage.
    pub engine: &'t Engine,
    /// The transaction; borrowed for the moment of each call, so that nested statements may use it in turn.
    pub txn: &'t RefCell<Txn>,
    /// Tables the session has used.
    pub opened: &'t OpenTables,
    /// What is checked at commit.
    pub deferred: &'t RefCell<Deferred>,
    /// Tables with rows that others have changed since the statement's snapshot, for who runs it again.
    pub contended: &'t RefCell<Vec<ObjectId>>,
    /// The definitions.
    pub catalog: &'t Catalog,
    /// The version of them that the statement was bound with, or its body behind the last end of a transaction in it.
    pub version: Cell<u64>,
    /// Whether tables without an option of their own place together what one transaction writes.
    pub colocates: bool,
    /// Whether cold pages of tables without an option of their own are packed by themselves.
    pub compresses: bool,
    /// For values in the details of errors.
    pub time_zone: &'t TimeStyle,
}

/// How an index comes into use again.
const BUILD_ANEW: &str = "Run REINDEX COLLATIONS.";

impl EngineTables<'_> {
    /// Locks a table whose rows are to be changed, and opens it.
    fn heap_for_change(&self, table: &TableDef) -> Result<Arc<Heap>> {
        self.accept_change(table)?;
        self.lock(table, TableLockMode::RowExclusive)?;
        self.defer_unique(table);
        self.heap_for_locks(table)
    }

    /// Rows of a table are about to be changed: in a READ ONLY transaction it has to be a temporary one.
    fn accept_change(&self, table: &TableDef) -> Result<()> {
        self.wait_as_asked();
        if self.txn.borrow().is_read_only() {
            if !table.is_temporary() {
                return Err(StorageError::ReadOnly.into());
            }
            self.txn.borrow_mut().let_temporary_writes();
        }
        Ok(())
    }

    /// Refuses new and changed rows that the index of a unique key or exclusion constraint would have to check which is out of use because its keys were made from
    /// other data of collations, or in another order. Rows may go: so do those with the same key, which would keep the index from being built.
    fn refuse_unchecked(&self, table: &TableDef) -> Result<()> {
        let would_check = |index: &&Arc<IndexDef>| (index.unique || index.excludes()) && index.outdated;
        let Some(index) = table.idle_indexes.iter().find(would_check) else { return Ok(()) };
        let kind = if index.unique { "unique index" } else { "index of exclusion constraint" };
        let text = format!("{kind} \"{}\" was built {}", index.name, index.built_with());
        Err(TypeError::new("55000", text)
            .with_detail(format!(
                "Rows of \"{}\" can be deleted, but not added or changed, until it is built anew.",
                table.name
            ))
            .with_hint(BUILD_ANEW)
            .into())
    }

    /// Tells storage which unique indexes of a table are checked at commit.
    fn defer_unique(&self, table: &TableDef) {
        for index in table.indexes.iter().filter(|index| index.deferrable) {
            let deferred = self.deferred.borrow().is_index_deferred(index);
            self.deferred.borrow_mut().unique |= deferred;
            self.txn.borrow_mut().defer_unique(index.object, deferred);
        }
    }

    fn heap(&self, table: &TableDef) -> Result<Arc<Heap>> {
        let heap = self.opened.heap(self.engine, table.heap)?;
        if !table.options.given.is_empty() {
            self.apply_options(table);
            self.engine.set_packing(&heap, self.compresses(table));
        }
        Ok(heap)
    }

    /// Tells storage what the table's parameters say of its pages: from its next use on.
    pub(crate) fn apply_options(&self, table: &TableDef) {
        let options = &table.options;
        if let Some(wanted) = options.get("memory_resident") {
            let wanted = ["on", "true"].contains(&wanted);
            // One by one: an index may have been made behind the others.
            let indexes = table.indexes.iter().map(|index| index.object);
            [table.heap]
                .into_iter()
                .chain(indexes)
                .filter(|object| self.engine.is_resident(*object) != wanted)
                .for_each(|object| self.engine.set_resident(object, wanted));
        }
        let pages = |name: &str| {
            let bytes = options.get(name).and_then(extent_bytes)?;
            u32::try_from(bytes.div_ceil(self.engine.page_size() as u64)).ok()
        };
        let (first, next) = (pages("extent_size"), pages("next_extent"));
        if first.is_some() || next.is_some() {
            let growth = Growth { first: first.unwrap_or(0), next: next.unwrap_or(0) };
            self.engine.set_growth(table.heap, growth);
        }
    }

    /// A table, itself locked, whose records are to be locked or changed.
    fn heap_for_locks(&self, table: &TableDef) -> Result<Arc<Heap>> {
        let heap = self.heap(table)?;
        heap.set_page_locks(table.options.get("lock_level") == Some("page"));
        self.place_rows(table, &heap);
        Ok(heap)
    }

    /// Tells storage how rows of the table are placed, and whether its cold pages are packed.
    pub(crate) fn place_rows(&self, table: &TableDef, heap: &Heap) {
        heap.set_colocation(self.colocates(table));
        self.engine.set_packing(heap, self.compresses(table));
    }

    /// What is bound from now on goes by this version of the definitions.
    pub(crate) fn know(&self, version: u64) {
        self.version.set(version);
    }

    /// Whether cold pages of the table are packed by themselves.
    fn compresses(&self, table: &TableDef) -> bool {
        match table.options.get("compress") {
            Some(value) => ["on", "true"].contains(&value),
            None => self.compresses,
        }
    }

    /// Whether what one transaction writes to the table stands together.
    fn colocates(&self, table: &TableDef) -> bool {
        match table.options.get("colocate") {
            Some(value) => ["on", "true"].contains(&value),
            None => self.colocates,
        }
    }

    fn index(&self, heap: &Heap, index: &IndexDef) -> Result<Arc<Index>> {
        if index.outdated && !index.valid {
            // A foreign key looks its rows up by this index and by no other.
            let text = format!("index \"{}\" was built {}", index.name, index.built_with());
            return Err(TypeError::new("55000", text).with_hint(BUILD_ANEW).into());
        }
        Ok(self.opened.index(self.engine, heap, index.object)?)
    }

    /// Locks a table. A definition that changed while others had it locked is a conflict. So is a wait of a statement that only reads
    /// the table, if it may begin anew: what it waited for is beyond its snapshot, and perhaps takes columns or rights away.
    /// If it may not, it goes on with the rows as its snapshot has them.
    pub(crate) fn lock(&self, table: &TableDef, mode: TableLockMode) -> Result<()> {
        if table.is_view() {
            return Ok(());
        }
        if self.services.defined.get() > 0 {
            self.services.check_not_redefined(self.txn, table)?;
        }
        let mut txn = self.txn.borrow_mut();
        if txn.knows_lock(table.heap, mode) {
            return Ok(());
        }
        if table.partition_of.is_some() {
            let way = self.way_to(&txn, table);
            drop(txn);
            way.iter().try_for_each(|above| self.lock(above, mode))?;
            txn = self.txn.borrow_mut();
        }
        txn.set_lock_timeout(self.services.settings.lock_timeout_by_now());
        if table.is_temporary() {
            self.services.temporary.note_touched();
        }
        if mode == TableLockMode::AccessShare && self.services.may_restart.get() {
            if !self.engine.lock_table(&mut txn, table.heap, mode, WaitPolicy::SkipLocked)? {
                self.engine.lock_table(&mut txn, table.heap, mode, WaitPolicy::Block)?;
                return Err(begun_anew());
            }
            return Ok(());
        }
        self.engine.lock_table(&mut txn, table.heap, mode, WaitPolicy::Block)?;
        if mode != TableLockMode::AccessShare {
            self.check_definition(&mut txn, table)?;
        }
        Ok(())
    }

    /// The partitioned tables, from above, that stand between a partition and the nearest one above that the transaction has locked:
    /// the statement has come to the partition by that one. None where it has locked none.
    fn way_to(&self, txn: &Txn, table: &TableDef) -> Vec<Arc<TableDef>> {
        let catalog = self.services.catalog.borrow();
        let Some(catalog) = &*catalog else { return Vec::new() };
        let mut way = Vec::new();
        for above in catalog.tables_above(table) {
            if txn.has_locked(above.heap) {
                way.reverse();
                return way;
            }
            way.push(above);
        }
        Vec::new()
    }

    /// Whether the table, just locked, is still what the statement takes it for.
    pub(crate) fn check_definition(&self, txn: &mut Txn, table: &TableDef) -> Result<()> {
        if table.is_system()
            || self.catalog.is_current(table, self.version.get(), txn)? && self.takes_the_same(table, txn)?
        {
            return Ok(());
        }
        txn.forget_lock(table.heap);
        Err(begun_anew())
    }

    /// Whether a partition takes the rows that it takes in the statement's catalog.
    fn takes_the_same(&self, table: &TableDef, txn: &Txn) -> Result<bool> {
        let seen = self.services.catalog.borrow();
        match &*seen {
            Some(seen) if table.partition_of.is_some() => {
                Ok(self.catalog.takes_the_same(table, seen, txn)?)
            }
            _ => Ok(true),
        }
    }

    /// Keeps a sequence as it is until the transaction ends: ALTER SEQUENCE waits, and is waited for.
    fn lock_sequence(&self, sequence: &SequenceDef) -> Result<()> {
        let mut txn = self.txn.borrow_mut();
        let mode = TableLockMode::RowExclusive;
        if txn.knows_lock(sequence.object, mode) {
            return Ok(());
        }
        if verso_catalog::is_temporary(&sequence.schema) {
            self.services.temporary.note_touched();
        }
        self.engine.lock_table(&mut txn, sequence.object, mode, WaitPolicy::Block)?;
        if self.catalog.is_current_sequence(sequence, self.version.get(), &txn)? {
            return Ok(());
        }
        txn.forget_lock(sequence.object);
        Err(begun_anew())
    }

    /// A function that runs may have a `lock_timeout` of its own.
    fn wait_as_asked(&self) {
        self.txn.borrow_mut().set_lock_timeout(self.services.settings.lock_timeout_by_now());
    }

    /// Refuses a function that changes something in a READ ONLY transaction.
    fn refuse_read_only(&self, what: &str) -> Result<()> {
        if !self.txn.borrow().is_read_only() {
            return Ok(());
        }
        let message = format!("cannot execute {what} in a read-only transaction");
        Err(ExecError::raised("25006", message))
    }
}

/// The conflict of a statement whose snapshot or plan is not that of what it has locked.
pub(crate) fn begun_anew() -> ExecError {
    let record = RecordId { page_index: 0, slot: 0 };
    StorageError::Conflict { record, by: TxnId::NONE, deleted: false }.into()
}

/// Bytes of `extent_size` and `next_extent`: without a unit kilobytes.
fn extent_bytes(value: &str) -> Option<u64> {
    match value.trim().parse::<u64>() {
        Ok(kilobytes) => kilobytes.checked_mul(1 << 10),
        Err(_) => memory_bytes(value),
    }
}

impl Scan for EngineTables<'_> {
    fn lock_for(&self, table: &TableDef, of: TableUse) -> Result<()> {
        self.lock(
            table,
            match of {
                TableUse::Read => TableLockMode::AccessShare,
                TableUse::Lock => TableLockMode::RowShare,
                TableUse::Change => TableLockMode::RowExclusive,
            },
        )
    }

    fn lock_as_whole(&self, table: &TableDef) -> Result<()> {
        let mode = {
            let (catalog, txn) = (self.services.catalog.borrow(), self.txn.borrow());
            let above = catalog.iter().flat_map(|catalog| catalog.tables_above(table));
            let known = [TableLockMode::RowExclusive, TableLockMode::RowShare];
            let of = |above: Arc<TableDef>| known.into_iter().find(|mode| txn.knows_lock(above.heap, *mode));
            above.filter_map(of).max()
        };
        mode.map_or(Ok(()), |mode| self.lock(table, mode))
    }

    fn scan(&self, table: &TableDef, columns: &[usize]) -> Result<Box<dyn TableCursor>> {
        self.lock(table, TableLockMode::AccessShare)?;
        let pages = Pages::open(&self.txn.borrow(), &self.heap(table)?, table, columns);
        Ok(Box::new(Reader::new(Rows::Heap(pages))))
    }

    fn get(
        &self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        columns: &[usize],
        out: &mut Batch,
    ) -> Result<bool> {
        self.lock(table, TableLockMode::AccessShare)?;
        let heap = self.heap(table)?;
        let index = self.index(&heap, index)?;
        let mut row = self.opened.row();
        let RowBatch { columns: ids, rows } = &mut *row;
        let unpack = stored_ids(&heap, columns_at(table, columns), ids);
        std::mem::swap(out, &mut rows.batch);
        let found = heap.get(&self.txn.borrow(), &index, key, ids, rows);
        std::mem::swap(out, &mut rows.batch);
        if let Some(unpack) = &unpack {
            unpack.unpack(out)?;
        }
        Ok(found?)
    }

    fn fetch(&self, table: &TableDef, record: RecordId, columns: &[usize], out: &mut Batch) -> Result<bool> {
        self.lock(table, TableLockMode::AccessShare)?;
        let heap = self.heap(table)?;
        let wanted = Wanted::of(&heap, columns_at(table, columns));
        let mut rows = ScanBatch::default();
        let found = heap.fetch(&self.txn.borrow(), record, wanted.ids(), &mut rows)?;
        wanted.finish(&mut rows.batch)?;
        *out = rows.batch;
        Ok(found)
    }

    fn is_large(&self, table: &TableDef, ranges: &[(&IndexDef, &[KeyRange])]) -> Result<bool> {
        let txn = self.txn.borrow();
        let heap = self.heap(table)?;
        lookups::is_large(txn.isolation(), ranges, |index, ranges| {
            Ok(self.index(&heap, index)?.share(&txn, ranges)?)
        })
    }

    fn past(&self, table: &TableDef, moment: Moment) -> Result<HeldView> {
        self.past_state(table, moment)
    }

    fn enter_past(&self, past: &HeldView) {
        self.txn.borrow_mut().enter_past(past);
    }

    fn leave_past(&self) {
        self.txn.borrow_mut().leave_past();
    }

    fn index_reader(
        &self,
        table: &TableDef,
        indexes: &[&IndexDef],
        columns: &[usize],
    ) -> Result<Box<dyn IndexReader>> {
        self.lock(table, TableLockMode::AccessShare)?;
        let heap = self.heap(table)?;
        let named = |index: &&IndexDef| Ok((index.object, self.index(&heap, index)?));
        let indexes = indexes.iter().map(named).collect::<Result<_>>()?;
        let txn = self.txn.borrow();
        let reader = (txn.snapshot_reader(), txn.isolation());
        Ok(Box::new(Lookups::new(reader, heap, indexes, table, columns)))
    }

    fn index_scan(
        &self,
        table: &TableDef,
        index: &IndexDef,
        ranges: Vec<KeyRange>,
        descending: bool,
        columns: &[usize],
    ) -> Result<Box<dyn TableCursor>> {
        self.lock(table, TableLockMode::AccessShare)?;
        let scan = Ranges::open(self, &self.txn.borrow(), table, index, ranges, descending, columns)?;
        Ok(Box::new(Reader::new(Rows::Index(scan))))
    }

    fn candidates(
        &self,
        table: &TableDef,
        gathering: &Gathering,
        columns: &[usize],
    ) -> Result<Box<dyn TableCursor>> {
        self.lock(table, TableLockMode::AccessShare)?;
        let found = Candidates::open(self, &self.txn.borrow(), table, gathering, columns)?;
        Ok(Box::new(Reader::new(Rows::Candidates(found))))
    }
}

impl Change for EngineTables<'_> {
    fn insert(&self, table: &TableDef, rows: &Batch) -> Result<()> {
        self.accept_change(table)?;
        self.lock(table, TableLockMode::RowExclusive)?;
        self.refuse_unchecked(table)?;
        self.defer_unique(table);
        if !table.options.given.is_empty() {
            self.apply_options(table);
        }
        let rows = &*padded::stored(rows, |at| table.columns.get(at).is_some_and(padded::is_padded));
        let insert = |heap: &Arc<Heap>| {
            self.place_rows(table, heap);
            let packed = match Pack::of(heap, table.columns.iter().map(|column| column.id)) {
                Some(pack) => Some(pack.pack(rows, None)?),
                None => None,
            };
            heap.insert(&mut self.txn.borrow_mut(), packed.as_ref().unwrap_or(rows), None)
        };
        let inserted = self.opened.with_heap(self.engine, table.heap, insert);
        inserted.map_err(|error: StorageError| self.explain_duplicate(table, error, rows))
    }

    fn scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let heap = self.heap_for_change(table)?;
        let pages = Pages::open(&self.txn.borrow(), &heap, table, columns);
        Ok(Box::new(Changer::new(self, table, heap, Rows::Heap(pages), columns)))
    }

    fn index_scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        index: &IndexDef,
        ranges: Vec<KeyRange>,
        columns: &[usize],
        collect: bool,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let heap = self.heap_for_change(table)?;
        let scan = Ranges::open(self, &self.txn.borrow(), table, index, ranges, false, columns)?;
        let scan = if collect { Rows::collect(scan)? } else { Rows::Index(scan) };
        Ok(Box::new(Changer::new(self, table, heap, scan, columns)))
    }

    fn candidates_for_change<'t>(
        &'t self,
        table: &TableDef,
        gathering: &Gathering,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let heap = self.heap_for_change(table)?;
        let found = Candidates::open(self, &self.txn.borrow(), table, gathering, columns)?;
        Ok(Box::new(Changer::new(self, table, heap, Rows::Candidates(found), columns)))
    }

    fn get_for_change<'t>(
        &'t self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let heap = self.heap_for_change(table)?;
        let index = self.index(&heap, index)?;
        let mut changer = Box::new(Changer::new(self, table, heap, Rows::Found(false), columns));
        changer.find(&index, key)?;
        Ok(changer)
    }

    fn change_found<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
        found: FoundRecords,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let heap = self.heap_for_change(table)?;
        Ok(Box::new(Changer::new(self, table, heap, Rows::Given(found), columns)))
    }
}

impl EngineTables<'_> {
    /// Locks records. Those that were deleted since the snapshot are a conflict where the transaction has one of its own.
    fn lock_records(
        &self,
        table: &TableDef,
        records: &[RecordId],
        mode: RecordLockMode,
        wait: WaitPolicy,
    ) -> Result<LockedRows> {
        self.wait_as_asked();
        self.lock(table, TableLockMode::RowShare)?;
        let heap = self.heap_for_locks(table)?;
        let mut rows = ScanBatch::default();
        rows.records.extend_from_slice(records);
        let mut txn = self.txn.borrow_mut();
        let locked = match heap.lock_records(&mut txn, &rows, None, mode, wait) {
            Err(StorageError::LockNotAvailable) => {
                let message = format!("could not obtain lock on row in relation \"{}\"", table.name);
                return Err(ExecError::raised("55P03", message));
            }
            locked => locked?,
        };
        match locked.gone.first() {
            Some(row) if !txn.isolation().by_statement() => {
                Err(self.changed_since(table, records[*row as usize]))
            }
            _ => Ok(locked),
        }
    }

    /// The conflict over a record that others have changed since the snapshot.
    fn changed_since(&self, table: &TableDef, record: RecordId) -> ExecError {
        self.contended.borrow_mut().push(table.heap);
        StorageError::Conflict { record, by: TxnId::NONE, deleted: false }.into()
    }
}

impl LockRows for EngineTables<'_> {
    fn has_changed(&self, table: &TableDef, record: RecordId) -> bool {
        self.txn.borrow().has_changed(table.heap, record)
    }

    fn check_may_lock(&self, mode: RecordLockMode) -> Result<()> {
        self.refuse_read_only(match mode {
            RecordLockMode::KeyShare => "SELECT FOR KEY SHARE",
            RecordLockMode::Share => "SELECT FOR SHARE",
            RecordLockMode::NoKeyUpdate => "SELECT FOR NO KEY UPDATE",
            RecordLockMode::Update => "SELECT FOR UPDATE",
        })
    }

    fn lock_rows(
        &self,
        table: &TableDef,
        records: &[RecordId],
        mode: RecordLockMode,
        wait: WaitPolicy,
    ) -> Result<Vec<u32>> {
        let locked = self.lock_records(table, records, mode, wait)?;
        match locked.changed.first() {
            Some(row) => Err(self.changed_since(table, records[*row as usize])),
            None => Ok(locked.locked),
        }
    }

    fn lock_fetched(
        &self,
        table: &TableDef,
        records: &[RecordId],
        mode: RecordLockMode,
        wait: WaitPolicy,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let locked = self.lock_records(table, records, mode, wait)?;
        match locked.changed.first() {
            Some(row) if !self.txn.borrow().isolation().by_statement() => {
                Err(self.changed_since(table, records[*row as usize]))
            }
            _ => Ok((locked.locked, locked.changed)),
        }
    }
}

impl References for EngineTables<'_> {
    fn hold_key(&self, table: &TableDef, index: &IndexDef, wanted: &[u8], of: KeyOf) -> Result<bool> {
        self.lock_key(table, index, wanted, of)
    }

    fn saw_key(&self, table: &TableDef, index: &IndexDef, key: &[u8]) -> Result<bool> {
        self.snapshot_has_key(table, index, key)
    }

    fn hold_periods(
        &self,
        table: &TableDef,
        index: &IndexDef,
        prefix: &[u8],
        period: &Value,
        of: KeyOf,
    ) -> Result<Vec<Value>> {
        self.lock_periods(table, index, prefix, period, of)
    }

    fn exists_beyond_snapshot(
        &self,
        table: &TableDef,
        columns: &[usize],
        access: Option<(&IndexDef, Vec<KeyRange>)>,
        matches: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        self.find_beyond_snapshot(table, columns, access, matches)
    }

    fn is_deferred(&self, constraint: &ConstraintDef) -> bool {
        self.deferred.borrow().is_deferred(constraint)
    }

    fn defer(
        &self,
        constraint: &Arc<ConstraintDef>,
        key: &[Value],
        referenced: bool,
        memory: Memory<'_>,
    ) -> Result<()> {
        self.deferred.borrow_mut().note(constraint, key, referenced, memory)
    }

    fn is_trigger_deferred(&self, trigger: &TriggerDef) -> bool {
        self.deferred.borrow().is_trigger_deferred(trigger)
    }

    fn defer_trigger(&self, event: DeferredEvent, memory: Memory<'_>) -> Result<()> {
        let role = self.services.current_role();
        self.deferred.borrow_mut().events.push(event, role, memory)
    }
}

impl Sequences for EngineTables<'_> {
    fn next_value(&self, sequence: &SequenceDef) -> Result<i64> {
        if !verso_catalog::is_temporary(&sequence.schema) {
            self.refuse_read_only("nextval()")?;
        }
        self.lock_sequence(sequence)?;
        let next = self.engine.sequence(sequence.object)?.next_value();
        next.map_err(|error| match error {
            StorageError::SequenceExhausted { limit } => {
                let which = if sequence.bounds.increment > 0 { "maximum" } else { "minimum" };
                let name = &sequence.name;
                let message = format!("nextval: reached {which} value of sequence \"{name}\" ({limit})");
                ExecError::raised("2200H", message)
            }
            other => other.into(),
        })
    }

    fn set_value(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> Result<()> {
        if !verso_catalog::is_temporary(&sequence.schema) {
            self.refuse_read_only("setval()")?;
        }
        self.lock_sequence(sequence)?;
        let set = self.engine.sequence(sequence.object)?.set_value(value, is_called);
        set.map_err(|error| match error {
            StorageError::SequenceBounds { limit: _ } => {
                let (name, bounds) = (&sequence.name, &sequence.bounds);
                let message = format!(
                    "setval: value {value} is out of bounds for sequence \"{name}\" ({}..{})",
                    bounds.min, bounds.max
                );
                ExecError::raised("22003", message)
            }
            other => other.into(),
        })
    }
}

impl TransactionState for EngineTables<'_> {
    fn advisory(&self, call: AdvisoryCall) -> Result<bool> {
        let txn = &mut self.txn.borrow_mut();
        Ok(match call {
            AdvisoryCall::Lock { key, shared, session, at_once } => {
                let policy = if at_once { WaitPolicy::SkipLocked } else { WaitPolicy::Block };
                txn.advisory_lock(key, shared, session, policy)?
            }
            AdvisoryCall::Unlock { key, shared } => txn.advisory_unlock(key, shared),
            AdvisoryCall::UnlockAll => {
                txn.advisory_unlock_all();
                true
            }
        })
    }

    fn export_snapshot(&self) -> Result<String> {
        Ok(self.txn.borrow_mut().export_snapshot()?)
    }

    fn transaction_id(&self, assign: bool) -> Result<Option<u64>> {
        let mut txn = self.txn.borrow_mut();
        let id = if assign { Some(txn.assign_id()?) } else { txn.id() };
        Ok(id.map(|id| id.0))
    }

    fn writer_of(&self, table: &TableDef, record: RecordId) -> Result<Option<u64>> {
        let writer = self.heap(table)?.writer_of(&self.txn.borrow(), record)?;
        Ok(writer.map(|writer| writer.0))
    }

    fn shown_snapshot(&self) -> Result<Snapshot> {
        let (xmax, running) = self.txn.borrow().unseen();
        Ok(Snapshot::new(xmax.0, running.into_iter().map(|id| id.0)))
    }
}

impl TransactionControl for EngineTables<'_> {
    fn begin_statement(&self) -> Result<()> {
        self.services.embedded.set(self.services.embedded.get() + 1);
        self.services.keep_read_only(&mut self.txn.borrow_mut());
        Ok(self.txn.borrow_mut().begin_statement()?)
    }

    fn begin_row(&self) -> Result<bool> {
        self.services.keep_read_only(&mut self.txn.borrow_mut());
        let begun = self.txn.borrow_mut().begin_row()?.is_some();
        if begun {
            self.services.embedded.set(self.services.embedded.get() + 1);
        }
        Ok(begun)
    }

    fn begin_command(&self) -> bool {
        self.services.keep_read_only(&mut self.txn.borrow_mut());
        self.txn.borrow_mut().begin_command()
    }

    fn end_command(&self) {
        self.txn.borrow_mut().end_command();
    }

    fn share_command(&self) {
        self.txn.borrow_mut().share_command();
    }

    fn check_keys(&self) -> Result<()> {
        let checked = self.txn.borrow_mut().check_keys();
        checked.map_err(|error| self.explain(error))
    }

    fn end_statement(&self) -> Result<()> {
        // The error shows what the statement has made of the key.
        if let Err(error) = self.check_keys() {
            self.txn.borrow_mut().abort_statement()?;
            return Err(error);
        }
        let ended = self.txn.borrow_mut().end_statement();
        ended.map_err(|error| self.explain(error))
    }

    fn abort_statement(&self) -> Result<()> {
        Ok(self.txn.borrow_mut().abort_statement()?)
    }

    fn hold_statement(&self) -> Result<HeldStatement> {
        // The error shows what the statement has made of the key.
        if let Err(error) = self.check_keys() {
            self.txn.borrow_mut().abort_statement()?;
            return Err(error);
        }
        let held = self.txn.borrow_mut().end_statement_holding();
        Ok(Box::new(held.map_err(|error| self.explain(error))?))
    }

    fn begin_statement_under(&self, held: HeldStatement) -> Result<()> {
        let view = held.downcast::<HeldView>();
        let view = view.map_err(|_| ExecError::raised("XX000", "a statement of other tables"))?;
        self.services.embedded.set(self.services.embedded.get() + 1);
        Ok(self.txn.borrow_mut().begin_statement_under(*view)?)
    }

    fn under_outer_view(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.txn.borrow_mut().exchange_views();
        let done = work();
        self.txn.borrow_mut().exchange_views();
        done
    }

    fn restarts(&self) -> bool {
        let txn = self.txn.borrow();
        txn.savepoints() && txn.isolation().by_statement()
    }

    fn is_read_only(&self) -> bool {
        if self.services.becomes_read_only.get() {
            self.services.keep_read_only(&mut self.txn.borrow_mut());
        }
        self.txn.borrow().is_read_only()
    }

    fn hold_places(&self) -> Result<Box<dyn Any + Send>> {
        let mut txn = self.txn.borrow_mut();
        txn.begin_statement()?;
        Ok(Box::new(txn.end_statement_holding()?))
    }

    fn savepoints(&self) -> bool {
        self.txn.borrow().savepoints()
    }

    fn savepoint(&self, name: &str) -> Result<()> {
        self.txn.borrow_mut().savepoint(name)?;
        self.services.begin_block(name, &mut self.txn.borrow_mut());
        self.deferred.borrow_mut().mark(name);
        self.services.notify.handlers().mark_named(name);
        Ok(())
    }

    fn rollback_to(&self, name: &str) -> Result<()> {
        self.txn.borrow_mut().rollback_to(name)?;
        self.services.undo_block(name, &mut self.txn.borrow_mut());
        self.deferred.borrow_mut().return_to(name);
        self.services.notify.handlers().return_to_named(name);
        Ok(())
    }

    fn release(&self, name: &str) -> Result<()> {
        self.txn.borrow_mut().release(name)?;
        self.services.end_block(name, &mut self.txn.borrow_mut());
        self.deferred.borrow_mut().release(name);
        self.services.notify.handlers().release_named(name);
        Ok(())
    }
}
