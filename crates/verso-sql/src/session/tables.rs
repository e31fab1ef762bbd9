//! The executors' tables, over storage and one transaction.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{Catalog, ConstraintDef, IndexDef, SequenceDef, TableDef};
use verso_row::context::AdvisoryCall;
use verso_row::error::{ExecError, Result};
use verso_row::exec::{ChangeCursor, TableCursor, Tables};
use verso_storage::heap::{Heap, HeapScan, ScanBatch, ScanSpec};
use verso_storage::index::{IndexScan, IndexScanSpec, KeyRange, key};
use verso_storage::{
    CommitMode, Engine, Isolation, ObjectId, RecordId, RecordLockMode, StorageError, TableLockMode, Txn,
    TxnId, TxnOptions, WaitPolicy,
};
use verso_types::{Batch, SqlType, TimeZone, Value};

use super::constraints::{Deferred, duplicate};
use super::opened::{LentRow, OpenTables, RowBatch};
use super::services::Services;

/// A larger part of a table than this is read faster whole: rows through an index cost several times as much each.
const LARGE_SHARE: f64 = 0.2;

/// Tables as a transaction sees them.
pub struct EngineTables<'t> {
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
    /// The definitions, and the version of them that the statement was bound with.
    pub catalog: (&'t Catalog, u64),
    /// For values in the details of errors.
    pub time_zone: &'t TimeZone,
}

impl Services {
    /// The tables for a transaction of the session, whose statement knows this version of the catalog.
    pub(super) fn tables<'t>(&'t self, txn: &'t RefCell<Txn>, version: u64) -> EngineTables<'t> {
        EngineTables {
            engine: &self.instance.engine,
            txn,
            opened: &self.opened,
            deferred: &self.deferred,
            contended: &self.contended,
            catalog: (&self.instance.catalog, version),
            time_zone: &self.settings.time_zone,
        }
    }
}

impl EngineTables<'_> {
    fn open(&self, table: &TableDef, columns: &[usize]) -> Result<(Arc<Heap>, HeapScan, Vec<u16>)> {
        let heap = self.heap(table)?;
        let ids: Vec<u16> = columns.iter().map(|index| table.columns[*index].id).collect();
        let scan = heap.scan(&self.txn.borrow(), ScanSpec { columns: &ids, pages: 0..u32::MAX });
        Ok((heap, scan, ids))
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
        Ok(self.opened.heap(self.engine, table.heap)?)
    }

    /// A table whose records are to be locked or changed, which is locked itself.
    fn heap_for_change(&self, table: &TableDef) -> Result<Arc<Heap>> {
        let heap = self.heap(table)?;
        heap.set_page_locks(table.options.get("lock_level") == Some("page"));
        Ok(heap)
    }

    /// Locks a table. A definition that changed while others had it locked is a conflict, unless it is only read: then
    /// the rows are there still, as the statement's snapshot has them.
    pub(super) fn lock(&self, table: &TableDef, mode: TableLockMode) -> Result<()> {
        let mut txn = self.txn.borrow_mut();
        if txn.knows_lock(table.heap, mode) {
            return Ok(());
        }
        self.engine.lock_table(&mut txn, table.heap, mode, WaitPolicy::Block)?;
        if mode != TableLockMode::AccessShare {
            self.check_definition(&mut txn, table)?;
        }
        Ok(())
    }

    /// Whether the table, just locked, is still what the statement takes it for.
    pub(super) fn check_definition(&self, txn: &mut Txn, table: &TableDef) -> Result<()> {
        let (catalog, version) = self.catalog;
        if table.is_system() || catalog.is_current(table, version, txn)? {
            return Ok(());
        }
        txn.forget_lock(table.heap);
        let record = RecordId { page_index: 0, slot: 0 };
        Err(StorageError::Conflict { record, by: TxnId::NONE }.into())
    }
}

impl Tables for EngineTables<'_> {
    fn scan(&self, table: &TableDef, columns: &[usize]) -> Result<Box<dyn TableCursor>> {
        self.lock(table, TableLockMode::AccessShare)?;
        let (_, scan, _) = self.open(table, columns)?;
        Ok(Box::new(Reader { scan: Rows::Heap(scan), rows: ScanBatch::default() }))
    }

    fn scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        self.lock(table, TableLockMode::RowExclusive)?;
        self.defer_unique(table);
        let (_, scan, columns) = self.open(table, columns)?;
        let heap = self.heap_for_change(table)?;
        let scan = Rows::Heap(scan);
        Ok(Box::new(Changer::new(self, heap, scan, columns)))
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
        let index = self.opened.index(self.engine, &heap, index.object)?;
        let mut row = self.opened.row();
        let RowBatch { columns: ids, rows } = &mut *row;
        ids.clear();
        ids.extend(columns.iter().map(|at| table.columns[*at].id));
        std::mem::swap(out, &mut rows.batch);
        let found = heap.get(&self.txn.borrow(), &index, key, ids, rows);
        std::mem::swap(out, &mut rows.batch);
        Ok(found?)
    }

    fn fetch(&self, table: &TableDef, record: RecordId, columns: &[usize], out: &mut Batch) -> Result<bool> {
        self.lock(table, TableLockMode::AccessShare)?;
        let ids: Vec<u16> = columns.iter().map(|at| table.columns[*at].id).collect();
        let mut rows = ScanBatch::default();
        let found = self.heap(table)?.fetch(&self.txn.borrow(), record, &ids, &mut rows)?;
        *out = rows.batch;
        Ok(found)
    }

    fn is_large(&self, table: &TableDef, index: &IndexDef, ranges: &[KeyRange]) -> Result<bool> {
        let txn = self.txn.borrow();
        // A serializable transaction conflicts with less where it reads through the index.
        if txn.isolation() == Isolation::Serializable {
            return Ok(false);
        }
        let heap = self.heap(table)?;
        let share = self.opened.index(self.engine, &heap, index.object)?.share(&txn, ranges)?;
        Ok(share.is_some_and(|share| share > LARGE_SHARE))
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
        let ids: Vec<u16> = columns.iter().map(|at| table.columns[*at].id).collect();
        let scan = Ranges::open(self, &self.txn.borrow(), table, index, ranges, descending, &ids)?;
        Ok(Box::new(Reader { scan: Rows::Index(scan), rows: ScanBatch::default() }))
    }

    fn index_scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        index: &IndexDef,
        ranges: Vec<KeyRange>,
        columns: &[usize],
        collect: bool,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        self.lock(table, TableLockMode::RowExclusive)?;
        self.defer_unique(table);
        let heap = self.heap_for_change(table)?;
        let columns: Vec<u16> = columns.iter().map(|at| table.columns[*at].id).collect();
        let mut scan = Ranges::open(self, &self.txn.borrow(), table, index, ranges, false, &columns)?;
        let scan = if collect {
            let mut collected = Vec::new();
            let mut rows = ScanBatch::default();
            while scan.next(&mut rows)? {
                collected.push(std::mem::take(&mut rows));
            }
            Rows::Collected(collected.into_iter())
        } else {
            Rows::Index(scan)
        };
        Ok(Box::new(Changer::new(self, heap, scan, columns)))
    }

    fn get_for_change<'t>(
        &'t self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        self.lock(table, TableLockMode::RowExclusive)?;
        self.defer_unique(table);
        let heap = self.heap_for_change(table)?;
        let index = self.opened.index(self.engine, &heap, index.object)?;
        let ids = columns.iter().map(|at| table.columns[*at].id);
        let mut changer = Box::new(Changer::new(self, heap, Rows::Found(false), ids));
        let RowBatch { columns, rows } = &mut *changer.row;
        let found = changer.heap.get(&self.txn.borrow(), &index, key, columns, rows)?;
        changer.scan = Rows::Found(found);
        Ok(changer)
    }

    fn change_found<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
        found: Vec<(Vec<RecordId>, Batch)>,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        self.lock(table, TableLockMode::RowExclusive)?;
        self.defer_unique(table);
        let heap = self.heap_for_change(table)?;
        let columns: Vec<u16> = columns.iter().map(|at| table.columns[*at].id).collect();
        let rows = |(records, batch)| {
            let mut rows = ScanBatch::default();
            (rows.records, rows.batch) = (records, batch);
            rows
        };
        let scan = Rows::Collected(found.into_iter().map(rows).collect::<Vec<_>>().into_iter());
        Ok(Box::new(Changer::new(self, heap, scan, columns)))
    }

    fn hold_key(&self, table: &TableDef, index: &IndexDef, wanted: &[u8]) -> Result<bool> {
        self.lock(table, TableLockMode::RowShare)?;
        let heap = self.heap_for_change(table)?;
        let index = self.opened.index(self.engine, &heap, index.object)?;
        let parts = &index.spec().parts;
        let columns: Vec<u16> = parts.iter().map(|part| part.column).collect();
        let records: Vec<RecordId> = index.records_current(&self.txn.borrow(), wanted)?;
        for record in records {
            let mut rows = ScanBatch::default();
            rows.records.push(record);
            let mut txn = self.txn.borrow_mut();
            let locked =
                heap.lock_records(&mut txn, &rows, None, RecordLockMode::KeyShare, WaitPolicy::Block)?;
            if locked.locked.is_empty() && locked.changed.is_empty() {
                continue;
            }
            heap.fetch_newest(&txn, &[record], &columns, &mut rows)?;
            if rows.batch.rows == 0 {
                continue;
            }
            let stored: Vec<_> = rows.batch.columns.iter().collect();
            let mut found = Vec::new();
            key::encode_row(parts, &stored, 0, &mut found)?;
            if found == wanted {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn exists_beyond_snapshot(
        &self,
        table: &TableDef,
        columns: &[usize],
        access: Option<(&IndexDef, Vec<KeyRange>)>,
        matches: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        if self.txn.borrow().isolation().by_statement() {
            return Ok(false);
        }
        let ids: Vec<u16> = columns.iter().map(|at| table.columns[*at].id).collect();
        let heap = self.heap(table)?;
        // Another transaction sees what was committed since; what this one made of it is looked at row by row.
        let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: false, read_only: true };
        let mut newest = self.engine.begin(options);
        newest.begin_statement()?;
        let mut scan = match access {
            Some((index, ranges)) => {
                Rows::Index(Ranges::open(self, &newest, table, index, ranges, false, &ids)?)
            }
            None => Rows::Heap(heap.scan(&newest, ScanSpec { columns: &ids, pages: 0..u32::MAX })),
        };
        let mut rows = ScanBatch::default();
        let mut row = ScanBatch::default();
        let mut found = false;
        while !found && scan.next(&mut rows)? {
            for position in matches(&rows.batch)? {
                let record = rows.records[position as usize];
                heap.fetch_newest(&self.txn.borrow(), &[record], &ids, &mut row)?;
                found |= row.batch.rows > 0 && !matches(&row.batch)?.is_empty();
            }
        }
        drop(scan);
        newest.end_statement()?;
        newest.commit(CommitMode::Wait)?;
        Ok(found)
    }

    fn check_may_lock(&self, mode: RecordLockMode) -> Result<()> {
        if !self.txn.borrow().is_read_only() {
            return Ok(());
        }
        let mode = match mode {
            RecordLockMode::KeyShare => "KEY SHARE",
            RecordLockMode::Share => "SHARE",
            RecordLockMode::NoKeyUpdate => "NO KEY UPDATE",
            RecordLockMode::Update => "UPDATE",
        };
        let message = format!("cannot execute SELECT FOR {mode} in a read-only transaction");
        Err(ExecError::raised("25006", message))
    }

    fn lock_rows(
        &self,
        table: &TableDef,
        records: &[RecordId],
        mode: RecordLockMode,
        wait: WaitPolicy,
    ) -> Result<Vec<u32>> {
        self.lock(table, TableLockMode::RowShare)?;
        let heap = self.heap_for_change(table)?;
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
        let by_statement = txn.isolation().by_statement();
        let conflict = locked.changed.first().or_else(|| locked.gone.first().filter(|_| !by_statement));
        if let Some(row) = conflict {
            let record = records[*row as usize];
            self.contended.borrow_mut().push(table.heap);
            return Err(StorageError::Conflict { record, by: TxnId::NONE }.into());
        }
        Ok(locked.locked)
    }

    fn is_deferred(&self, constraint: &ConstraintDef) -> bool {
        self.deferred.borrow().is_deferred(constraint)
    }

    fn defer(&self, constraint: &Arc<ConstraintDef>, key: &[Value], referenced: bool) {
        self.deferred.borrow_mut().note(constraint, key, referenced);
    }

    fn insert(&self, table: &TableDef, rows: &Batch) -> Result<()> {
        self.lock(table, TableLockMode::RowExclusive)?;
        self.defer_unique(table);
        let insert = |heap: &Arc<Heap>| heap.insert(&mut self.txn.borrow_mut(), rows, None);
        let inserted = self.opened.with_heap(self.engine, table.heap, insert);
        inserted.map_err(|error: StorageError| self.explain(table, error, Some(rows)))
    }

    fn next_value(&self, sequence: &SequenceDef) -> Result<i64> {
        self.refuse_read_only("nextval()")?;
        Ok(self.engine.sequence(sequence.object)?.next_value()?)
    }

    fn set_value(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> Result<()> {
        self.refuse_read_only("setval()")?;
        Ok(self.engine.sequence(sequence.object)?.set_value(value, is_called)?)
    }

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

    fn begin_statement(&self) -> Result<()> {
        Ok(self.txn.borrow_mut().begin_statement()?)
    }

    fn end_statement(&self) -> Result<()> {
        Ok(self.txn.borrow_mut().end_statement()?)
    }

    fn abort_statement(&self) -> Result<()> {
        Ok(self.txn.borrow_mut().abort_statement()?)
    }

    fn under_outer_view(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        self.txn.borrow_mut().exchange_views();
        let done = work();
        self.txn.borrow_mut().exchange_views();
        done
    }

    fn savepoints(&self) -> bool {
        self.txn.borrow().savepoints()
    }

    fn savepoint(&self, name: &str) -> Result<()> {
        Ok(self.txn.borrow_mut().savepoint(name)?)
    }

    fn rollback_to(&self, name: &str) -> Result<()> {
        Ok(self.txn.borrow_mut().rollback_to(name)?)
    }

    fn release(&self, name: &str) -> Result<()> {
        Ok(self.txn.borrow_mut().release(name)?)
    }
}

impl EngineTables<'_> {
    /// Refuses a function that changes something in a READ ONLY transaction.
    fn refuse_read_only(&self, what: &str) -> Result<()> {
        if !self.txn.borrow().is_read_only() {
            return Ok(());
        }
        let message = format!("cannot execute {what} in a read-only transaction");
        Err(ExecError::raised("25006", message))
    }

    /// Names the constraint and the key that are double.
    fn explain(&self, table: &TableDef, error: StorageError, rows: Option<&Batch>) -> ExecError {
        let StorageError::Unique { index, record } = error else { return error.into() };
        let definition = table.indexes.iter().find(|definition| definition.object == index);
        let Some(definition) = definition else { return error.into() };
        let key = rows.and_then(|rows| self.key_among(table, definition, index, record, rows));
        let key = key.or_else(|| newest_key(self.engine, &self.txn.borrow(), table, definition, record));
        duplicate(table, definition, key.as_deref(), self.time_zone)
    }

    /// The key of the row, among those to be inserted, that the record has already.
    fn key_among(
        &self,
        table: &TableDef,
        definition: &IndexDef,
        index: ObjectId,
        record: RecordId,
        rows: &Batch,
    ) -> Option<Vec<Value>> {
        let index = self.engine.index(index).ok()?;
        let positions: Vec<usize> =
            definition.parts.iter().filter_map(|part| table.column_with_id(part.column)).collect();
        let columns: Vec<&verso_types::Column> = positions.iter().map(|at| &rows.columns[*at]).collect();
        let mut bytes = Vec::new();
        // One row has the key for certain; of many it is the first that the record fits.
        let fits = |row: &usize| {
            if rows.rows == 1 {
                return true;
            }
            bytes.clear();
            key::encode_row(&index.spec().parts, &columns, *row, &mut bytes).is_ok()
                && index
                    .records_current(&self.txn.borrow(), &bytes)
                    .is_ok_and(|records| records.contains(&record))
        };
        let row = (0..rows.rows).find(fits)?;
        Some(positions.iter().map(|at| rows.columns[*at].value(row, &table.columns[*at].ty)).collect())
    }
}

/// The key that the newest version of a record has.
pub(super) fn newest_key(
    engine: &Engine,
    txn: &Txn,
    table: &TableDef,
    index: &IndexDef,
    record: RecordId,
) -> Option<Vec<Value>> {
    let ids: Vec<u16> = index.parts.iter().map(|part| part.column).collect();
    let types: Vec<SqlType> =
        ids.iter().filter_map(|id| Some(table.columns[table.column_with_id(*id)?].ty.clone())).collect();
    let mut rows = ScanBatch::default();
    engine.heap(table.heap).ok()?.fetch_newest(txn, &[record], &ids, &mut rows).ok()?;
    (rows.batch.rows == 1 && types.len() == ids.len()).then(|| rows.batch.row(0, &types))
}

fn all_columns(table: &TableDef) -> Vec<(u16, SqlType)> {
    table.columns.iter().map(|column| (column.id, column.ty.clone())).collect()
}

/// A scan of several ranges of an index, one behind the other.
struct Ranges {
    scans: std::vec::IntoIter<IndexScan>,
    current: Option<IndexScan>,
}

impl Ranges {
    fn open(
        tables: &EngineTables<'_>,
        txn: &Txn,
        table: &TableDef,
        index: &IndexDef,
        mut ranges: Vec<KeyRange>,
        descending: bool,
        columns: &[u16],
    ) -> Result<Ranges> {
        let heap = tables.heap(table)?;
        let index = tables.opened.index(tables.engine, &heap, index.object)?;
        if descending {
            ranges.reverse();
        }
        let scan = |range| heap.index_scan(txn, &index, IndexScanSpec { columns, range, descending });
        let mut scans = ranges.into_iter().map(scan).collect::<Vec<_>>().into_iter();
        let current = scans.next();
        Ok(Ranges { scans, current })
    }

    fn next(&mut self, out: &mut ScanBatch) -> Result<bool> {
        while let Some(scan) = &mut self.current {
            if scan.next(out)? {
                return Ok(true);
            }
            self.current = self.scans.next();
        }
        Ok(false)
    }
}

/// Where the rows come from.
#[expect(clippy::large_enum_variant, reason = "one a statement, in a box")]
enum Rows {
    Heap(HeapScan),
    Index(Ranges),
    /// One row, which stands in the batch already; whether it is still to come.
    Found(bool),
    /// Read before the first was changed.
    Collected(std::vec::IntoIter<ScanBatch>),
}

impl Rows {
    fn next(&mut self, out: &mut ScanBatch) -> Result<bool> {
        match self {
            Rows::Heap(scan) => Ok(scan.next(out)?),
            Rows::Index(scan) => scan.next(out),
            Rows::Found(found) => Ok(std::mem::take(found)),
            Rows::Collected(batches) => match batches.next() {
                Some(batch) => {
                    *out = batch;
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }
}

struct Reader {
    scan: Rows,
    rows: ScanBatch,
}

impl TableCursor for Reader {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        let more = self.scan.next(&mut self.rows)?;
        // The scratch columns change places, so that neither side allocates anew.
        std::mem::swap(out, &mut self.rows.batch);
        Ok(more)
    }

    fn records(&self) -> &[RecordId] {
        &self.rows.records
    }
}

struct Changer<'t> {
    tables: &'t EngineTables<'t>,
    heap: Arc<Heap>,
    scan: Rows,
    /// The columns read, and the rows.
    row: LentRow<'t>,
}

impl<'t> Changer<'t> {
    fn new(
        tables: &'t EngineTables<'t>,
        heap: Arc<Heap>,
        scan: Rows,
        columns: impl IntoIterator<Item = u16>,
    ) -> Changer<'t> {
        let mut row = tables.opened.row();
        row.columns.clear();
        row.columns.extend(columns);
        Changer { tables, heap, scan, row }
    }

    /// Remembers the table of a conflict.
    fn done(&self, result: std::result::Result<(), StorageError>) -> Result<()> {
        if let Err(StorageError::Conflict { .. }) = result {
            self.tables.contended.borrow_mut().push(self.heap.object);
        }
        Ok(result?)
    }
}

impl ChangeCursor for Changer<'_> {
    fn next(&mut self) -> Result<bool> {
        self.scan.next(&mut self.row.rows)
    }

    fn whole_row(&mut self, table: &TableDef, row: u32) -> Option<Vec<Value>> {
        let record = *self.row.rows.records.get(row as usize)?;
        let (ids, types): (Vec<u16>, Vec<SqlType>) = all_columns(table).into_iter().unzip();
        let mut rows = ScanBatch::default();
        let found = self.heap.fetch(&self.tables.txn.borrow(), record, &ids, &mut rows).ok()?;
        found.then(|| rows.batch.row(0, &types))
    }

    fn batch(&self) -> &Batch {
        &self.row.rows.batch
    }

    fn update(
        &mut self,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        stale: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        let txn = &mut self.tables.txn.borrow_mut();
        self.done(match stale.filter(|_| txn.isolation().by_statement()) {
            Some(stale) => {
                self.heap.update_unless_stale(txn, &self.row.rows, selection, columns, values, stale)
            }
            None => self.heap.update(txn, &self.row.rows, selection, columns, values),
        })
    }

    fn delete(&mut self, selection: Option<&[u32]>, stale: Option<&mut Vec<u32>>) -> Result<()> {
        let txn = &mut self.tables.txn.borrow_mut();
        self.done(match stale.filter(|_| txn.isolation().by_statement()) {
            Some(stale) => self.heap.delete_unless_stale(txn, &self.row.rows, selection, stale),
            None => self.heap.delete(txn, &self.row.rows, selection),
        })
    }

    fn reread(&mut self, rows: &[u32]) -> Result<()> {
        let records: Vec<_> = rows.iter().map(|row| self.row.rows.records[*row as usize]).collect();
        let row = &mut *self.row;
        Ok(self.heap.fetch_newest(&self.tables.txn.borrow(), &records, &row.columns, &mut row.rows)?)
    }
}
