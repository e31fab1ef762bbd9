//! Cursors: the rows of a scan, in batches, and changes of those that were found.

use std::ops::Range;
use std::sync::Arc;

use verso_catalog::packs::{Pack, Unpack, Wanted, stored_ids};
use verso_catalog::{ColumnDef, IndexDef, Oid, TableDef};
use verso_exec::error::Result;
use verso_exec::exec::{ChangeCursor, FoundRecords, Gathering, LockRows, TableCursor};
use verso_storage::heap::{Condition, Draw, Heap, HeapScan, ScanBatch, ScanSpec};
use verso_storage::index::{CandidateScan, Index, IndexScan, IndexScanSpec, KeyRange};
use verso_storage::{RecordId, RecordLockMode, SnapshotReader, StorageError, Txn, WaitPolicy};
use verso_types::{Batch, Physical, SqlType, Value};

use super::EngineTables;
use super::opened::{LentRow, RowBatch};
use super::padded;

/// Columns of a table that are given by their places.
pub(super) fn columns_at<'t>(
    table: &'t TableDef,
    places: &'t [usize],
) -> impl Iterator<Item = &'t ColumnDef> + Clone {
    places.iter().map(|at| &table.columns[*at])
}

/// A scan of several ranges of an index, one behind the other.
pub(super) struct Ranges {
    scans: std::vec::IntoIter<IndexScan>,
    current: Option<IndexScan>,
    wanted: Wanted,
}

impl Ranges {
    pub(super) fn open(
        tables: &EngineTables<'_>,
        txn: &Txn,
        table: &TableDef,
        index: &IndexDef,
        mut ranges: Vec<KeyRange>,
        descending: bool,
        columns: &[usize],
    ) -> Result<Ranges> {
        let heap = tables.heap(table)?;
        let wanted = Wanted::of(&heap, columns_at(table, columns));
        let index = tables.index(&heap, index)?;
        if descending {
            ranges.reverse();
        }
        let columns = wanted.ids();
        let scan = |range| heap.index_scan(txn, &index, IndexScanSpec { columns, range, descending });
        let scans = ranges.into_iter().map(scan).collect();
        Ok(Ranges::of(scans, wanted))
    }

    /// Of scans that yield the columns wanted.
    pub(super) fn of(scans: Vec<IndexScan>, wanted: Wanted) -> Ranges {
        let mut scans = scans.into_iter();
        let current = scans.next();
        Ranges { scans, current, wanted }
    }

    fn next(&mut self, out: &mut ScanBatch) -> Result<bool> {
        while let Some(scan) = &mut self.current {
            if scan.next(out)? {
                self.wanted.finish(&mut out.batch)?;
                return Ok(true);
            }
            self.current = self.scans.next();
        }
        Ok(false)
    }
}

/// The rows that indexes have found.
pub(super) struct Candidates {
    scan: CandidateScan,
    wanted: Wanted,
}

impl Candidates {
    pub(super) fn open(
        tables: &EngineTables<'_>,
        txn: &Txn,
        table: &TableDef,
        gathering: &Gathering,
        columns: &[usize],
    ) -> Result<Candidates> {
        let heap = tables.heap(table)?;
        let wanted = Wanted::of(&heap, columns_at(table, columns));
        let gather = gathering.named(&mut |index| tables.index(&heap, index))?;
        Ok(Candidates::of(heap.gathered(txn, &gather, wanted.ids())?, wanted))
    }

    /// Of a scan that yields the columns wanted.
    pub(super) fn of(scan: CandidateScan, wanted: Wanted) -> Candidates {
        Candidates { scan, wanted }
    }

    fn next(&mut self, out: &mut ScanBatch) -> Result<bool> {
        let more = self.scan.next(out)?;
        if more {
            self.wanted.finish(&mut out.batch)?;
        }
        Ok(more)
    }
}

/// A scan of a table.
pub(super) struct Pages {
    scan: HeapScan,
    wanted: Wanted,
}

impl Pages {
    pub(super) fn open(txn: &Txn, heap: &Arc<Heap>, table: &TableDef, columns: &[usize]) -> Pages {
        Pages::of(heap, txn.snapshot_reader(), Wanted::of(heap, columns_at(table, columns)))
    }

    /// Of a reader on any thread.
    pub(super) fn of(heap: &Arc<Heap>, reader: SnapshotReader, wanted: Wanted) -> Pages {
        let scan = heap.scan_by(reader, ScanSpec { columns: wanted.ids(), pages: 0..u32::MAX });
        Pages { scan, wanted }
    }

    fn next(&mut self, out: &mut ScanBatch) -> Result<bool> {
        let more = self.scan.next(out)?;
        if more {
            self.wanted.finish(&mut out.batch)?;
        }
        Ok(more)
    }
}

/// Where the rows come from.
#[expect(clippy::large_enum_variant, reason = "one a statement, in a box")]
pub(super) enum Rows {
    Heap(Pages),
    Index(Ranges),
    Candidates(Candidates),
    /// One row, which stands in the batch already; whether it is still to come.
    Found(bool),
    /// Read before the first was changed.
    Collected(std::vec::IntoIter<ScanBatch>),
    /// Found by a query.
    Given(FoundRecords),
}

impl Rows {
    /// Reads all rows of a scan now: the changes to come would move them in its index.
    pub(super) fn collect(mut scan: Ranges) -> Result<Rows> {
        let mut collected = Vec::new();
        let mut rows = ScanBatch::default();
        while scan.next(&mut rows)? {
            collected.push(std::mem::take(&mut rows));
        }
        Ok(Rows::Collected(collected.into_iter()))
    }

    pub(super) fn next(&mut self, out: &mut ScanBatch) -> Result<bool> {
        match self {
            Rows::Heap(scan) => scan.next(out),
            Rows::Index(scan) => scan.next(out),
            Rows::Candidates(scan) => scan.next(out),
            Rows::Found(found) => Ok(std::mem::take(found)),
            Rows::Collected(batches) => match batches.next() {
                Some(batch) => {
                    *out = batch;
                    Ok(true)
                }
                None => Ok(false),
            },
            Rows::Given(found) => match found.next().transpose()? {
                Some((records, batch)) => {
                    *out = ScanBatch::default();
                    (out.records, out.batch) = (records, batch);
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }
}

/// Reads rows.
pub(super) struct Reader {
    scan: Rows,
    rows: ScanBatch,
    /// Some columns are read first.
    first: Option<First>,
}

/// Columns that are read first, and the layouts of all of them.
struct First {
    at: Vec<usize>,
    layouts: Vec<Physical>,
    late: ScanBatch,
}

impl First {
    /// Gives the batch the columns read, the others empty.
    fn lay_out(&self, read: &mut Batch, out: &mut Batch) {
        let fits = out.columns.len() == self.layouts.len()
            && out.columns.iter().zip(&self.layouts).all(|(column, layout)| column.physical() == *layout);
        if fits {
            out.clear();
        } else {
            *out = Batch::new(&self.layouts);
        }
        for (at, column) in self.at.iter().zip(&mut read.columns) {
            std::mem::swap(&mut out.columns[*at], column);
        }
        out.rows = read.rows;
    }
}

impl Reader {
    pub(super) fn new(scan: Rows) -> Reader {
        Reader { scan, rows: ScanBatch::default(), first: None }
    }
}

impl TableCursor for Reader {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        let more = self.scan.next(&mut self.rows)?;
        // The scratch columns change places, so that neither side allocates anew.
        match &self.first {
            None => std::mem::swap(out, &mut self.rows.batch),
            Some(first) => first.lay_out(&mut self.rows.batch, out),
        }
        Ok(more)
    }

    fn read_first(&mut self, columns: Option<&[usize]>) -> bool {
        let Rows::Heap(pages) = &mut self.scan else { return false };
        if pages.wanted.is_packed() || !pages.scan.reads_again() {
            return false;
        }
        let all = pages.wanted.ids();
        match columns {
            None => {
                pages.scan.set_columns(all);
                self.first = None;
            }
            Some(columns) => {
                let layouts = pages.scan.layouts(all);
                pages.scan.set_columns(&columns.iter().map(|at| all[*at]).collect::<Vec<_>>());
                self.first = Some(First { at: columns.to_vec(), layouts, late: ScanBatch::default() });
            }
        }
        true
    }

    fn read_late(&mut self, rows: &[u32], columns: &[usize], out: &mut Batch) -> Result<usize> {
        let (Rows::Heap(pages), Some(first)) = (&self.scan, &mut self.first) else { return Ok(0) };
        let ids: Vec<u16> = columns.iter().map(|at| pages.wanted.ids()[*at]).collect();
        let mut records = rows.iter().map(|row| self.rows.records[*row as usize]);
        let done = pages.scan.read_more(&mut records, &ids, &mut first.late)?;
        for (at, column) in columns.iter().zip(&mut first.late.batch.columns) {
            std::mem::swap(&mut out.columns[*at], column);
        }
        Ok(done)
    }

    fn sift(&mut self, conditions: &[Condition]) -> bool {
        match &mut self.scan {
            Rows::Heap(pages) => !pages.wanted.is_packed() && pages.scan.sift(conditions),
            Rows::Index(_) | Rows::Candidates(_) | Rows::Found(_) => false,
            Rows::Collected(_) | Rows::Given(_) => false,
        }
    }

    fn records(&self) -> &[RecordId] {
        &self.rows.records
    }

    fn held_bytes(&self) -> u64 {
        match &self.scan {
            Rows::Candidates(found) => found.scan.held_bytes(),
            _ => 0,
        }
    }

    fn keep_pages(&mut self, pages: Vec<Range<u32>>) {
        if let Rows::Heap(scanned) = &mut self.scan {
            scanned.scan.keep_pages(pages);
        }
    }

    fn expect(&mut self, rows: u64) {
        if let Rows::Index(Ranges { current: Some(scan), .. }) = &mut self.scan {
            scan.expect(rows);
        }
    }

    fn draw(&mut self, draw: Draw) -> bool {
        let Rows::Heap(scanned) = &mut self.scan else { return false };
        scanned.scan.draw(draw);
        true
    }

    fn pages_left(&self) -> Option<u64> {
        match &self.scan {
            Rows::Heap(pages) => Some(pages.scan.pages_left().into()),
            Rows::Index(_) | Rows::Candidates(_) | Rows::Found(_) => None,
            Rows::Collected(_) | Rows::Given(_) => None,
        }
    }

    fn split(&mut self, parts: usize) -> Vec<Box<dyn TableCursor>> {
        let Rows::Heap(pages) = &mut self.scan else { return Vec::new() };
        let part = |scan| Pages { scan, wanted: pages.wanted.clone() };
        let parts = pages.scan.split(parts).into_iter().map(part);
        parts.map(|part| Box::new(Reader::new(Rows::Heap(part))) as Box<dyn TableCursor>).collect()
    }
}

/// Finds rows, and changes those that its user chooses.
pub(super) struct Changer<'t> {
    tables: &'t EngineTables<'t>,
    /// The table's.
    oid: Oid,
    pub(super) heap: Arc<Heap>,
    pub(super) scan: Rows,
    /// The stored columns read, and the rows.
    pub(super) row: LentRow<'t>,
    /// How those wanted come out of the columns read.
    unpack: Option<Unpack>,
    /// The numbers of RESERVABLE columns.
    reservable: Vec<u16>,
    /// The numbers of columns whose values may come with blanks at their end.
    padded: Vec<u16>,
    /// Why rows may not be changed, if they may not; they may be deleted nevertheless.
    refused: Option<verso_exec::ExecError>,
}

impl<'t> Changer<'t> {
    pub(super) fn new(
        tables: &'t EngineTables<'t>,
        table: &TableDef,
        heap: Arc<Heap>,
        scan: Rows,
        columns: &[usize],
    ) -> Changer<'t> {
        let mut row = tables.opened.row();
        let unpack = stored_ids(&heap, columns_at(table, columns), &mut row.columns);
        let reservable = table.columns.iter().filter(|column| column.reservable);
        let reservable = reservable.map(|column| column.id).collect();
        let padded = table.columns.iter().filter(|column| padded::is_padded(column));
        let padded = padded.map(|column| column.id).collect();
        let refused = tables.refuse_unchecked(table).err();
        Changer { tables, oid: table.oid, heap, scan, row, unpack, reservable, padded, refused }
    }

    /// Finds the row that has a key.
    pub(super) fn find(&mut self, index: &Index, key: &[u8]) -> Result<()> {
        let RowBatch { columns, rows } = &mut *self.row;
        let found = self.heap.get(&self.tables.txn.borrow(), index, key, columns, rows)?;
        self.scan = Rows::Found(found);
        self.unpack()
    }

    fn unpack(&mut self) -> Result<()> {
        Ok(self.unpack.as_ref().map_or(Ok(()), |unpack| unpack.unpack(&mut self.row.rows.batch))?)
    }

    /// The packs of the selected rows as they are, in the rows' order. A row that others have deleted since has none: it is not
    /// changed either.
    fn packs(&self, pack: &Pack, selection: Option<&[u32]>) -> Result<Batch> {
        let all = &self.row.rows.records;
        let records: Vec<RecordId> = match selection {
            Some(rows) => rows.iter().map(|row| all[*row as usize]).collect(),
            None => all.clone(),
        };
        let mut found = ScanBatch::default();
        self.heap.fetch_newest(&self.tables.txn.borrow(), &records, &pack.packs(), &mut found)?;
        if found.records == records {
            return Ok(found.batch);
        }
        let mut packs = Batch::new(&vec![Physical::Bytes; found.batch.columns.len()]);
        for record in &records {
            let at = found.records.iter().position(|other| other == record);
            for (out, column) in packs.columns.iter_mut().zip(&found.batch.columns) {
                match at {
                    Some(at) => out.append_range(column, at..at + 1),
                    None => out.push_null(),
                }
            }
        }
        packs.rows = records.len();
        Ok(packs)
    }

    /// Cursors that lock the selected rows do not come to them any more.
    fn tell_cursors(&self, selection: Option<&[u32]>) -> Result<()> {
        let services = self.tables.services;
        if !services.cursors.lock_rows() && !services.portals.lock_rows() {
            return Ok(());
        }
        let all = &self.row.rows.records;
        match selection {
            Some(rows) => self.changed(&rows.iter().map(|row| all[*row as usize])),
            None => self.changed(&all.iter().copied()),
        }
    }

    fn changed(&self, records: &(impl Iterator<Item = RecordId> + Clone)) -> Result<()> {
        let services = self.tables.services;
        // What goes back to a savepoint undoes changes as it closes cursors: by their numbers.
        let number = services.portals.number();
        services.cursors.note_changed(self.oid.0, number, records)?;
        services.portals.note_changed(self.oid.0, number, records)
    }

    /// Accounts for the keys that commands keep beside indexes.
    fn account_command(&self) -> Result<()> {
        let txn = self.tables.txn.borrow();
        txn.account_command(|bytes| {
            let memory = self.tables.services.memory.lend();
            let mut held = memory.reserve("keys changed within a statement");
            held.resize(bytes)?;
            Ok(Box::new(held))
        })
    }

    /// Remembers the table of a conflict, and names the constraint that refused a key; the transaction is not borrowed.
    fn done(&self, result: std::result::Result<(), StorageError>) -> Result<()> {
        if let Err(StorageError::Conflict { .. }) = result {
            self.tables.contended.borrow_mut().push(self.heap.object);
        }
        result.map_err(|error| self.tables.explain(error))
    }
}

impl ChangeCursor for Changer<'_> {
    fn next(&mut self) -> Result<bool> {
        self.scan.next(&mut self.row.rows)
    }

    fn is_changed_by_triggers(&self, row: u32) -> bool {
        let record = self.row.rows.records.get(row as usize);
        let portals = &self.tables.services.portals;
        record.is_some_and(|record| portals.is_changed_by_triggers(self.oid.0, *record))
    }

    fn whole_row(&mut self, table: &TableDef, row: u32) -> Option<Vec<Value>> {
        let record = *self.row.rows.records.get(row as usize)?;
        let types: Vec<SqlType> = table.columns.iter().map(|column| column.ty.clone()).collect();
        let wanted = Wanted::of(&self.heap, table.columns.iter());
        let mut rows = ScanBatch::default();
        let txn = self.tables.txn.borrow();
        // A command does not see what triggers have made of it.
        let found = match txn.has_changed(self.heap.object, record) {
            true => {
                self.heap.fetch_newest(&txn, &[record], wanted.ids(), &mut rows).ok()?;
                rows.batch.rows > 0
            }
            false => self.heap.fetch(&txn, record, wanted.ids(), &mut rows).ok()?,
        };
        wanted.finish(&mut rows.batch).ok()?;
        found.then(|| rows.batch.row(0, &types))
    }

    fn batch(&self) -> &Batch {
        &self.row.rows.batch
    }

    fn is_changed_around(&self, row: u32) -> bool {
        let record = self.row.rows.records.get(row as usize);
        let txn = self.tables.txn.borrow();
        record.is_some_and(|record| txn.has_changed_around(self.heap.object, *record))
    }

    fn is_changed(&self, selection: Option<&[u32]>) -> bool {
        let txn = self.tables.txn.borrow();
        if !txn.in_command() {
            return false;
        }
        let all = &self.row.rows.records;
        let is_changed = |record: &RecordId| txn.has_changed(self.heap.object, *record);
        match selection {
            Some(rows) => rows.iter().any(|row| is_changed(&all[*row as usize])),
            None => all.iter().any(is_changed),
        }
    }

    fn update(
        &mut self,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        stale: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        if let Some(error) = self.refused.take() {
            return Err(error);
        }
        if columns.iter().any(|column| self.reservable.contains(column)) {
            self.tables.hold_against_reservations(&self.heap, &self.row.rows, selection, columns)?;
        }
        let values =
            &*padded::stored(values, |at| columns.get(at).is_some_and(|column| self.padded.contains(column)));
        let pack = Pack::of(&self.heap, columns.iter().copied());
        let packed = match &pack {
            Some(pack) => Some((pack.stored(), pack.pack(values, Some(&self.packs(pack, selection)?))?)),
            None => None,
        };
        let (columns, values) = packed.as_ref().map_or((columns, values), |(ids, values)| (ids, values));
        let mut txn = self.tables.txn.borrow_mut();
        let updated = match stale.filter(|_| txn.isolation().by_statement()) {
            Some(stale) => {
                self.heap.update_unless_stale(&mut txn, &self.row.rows, selection, columns, values, stale)
            }
            None => self.heap.update(&mut txn, &self.row.rows, selection, columns, values),
        };
        drop(txn);
        self.done(updated)?;
        self.account_command()?;
        self.tell_cursors(selection)
    }

    fn delete(&mut self, selection: Option<&[u32]>, stale: Option<&mut Vec<u32>>) -> Result<()> {
        let mut txn = self.tables.txn.borrow_mut();
        let deleted = match stale.filter(|_| txn.isolation().by_statement()) {
            Some(stale) => self.heap.delete_unless_stale(&mut txn, &self.row.rows, selection, stale),
            None => self.heap.delete(&mut txn, &self.row.rows, selection),
        };
        drop(txn);
        self.done(deleted)?;
        self.tell_cursors(selection)
    }

    fn is_held(&mut self, index: &IndexDef, key: &[u8], row: u32) -> Result<bool> {
        let record = self.row.rows.records[row as usize];
        let index = self.tables.index(&self.heap, index)?;
        Ok(index.is_held(&self.tables.txn.borrow(), &self.heap, key, record)?)
    }

    fn hold(&mut self, table: &TableDef, rows: &[u32], mode: RecordLockMode) -> Result<Vec<u32>> {
        let records: Vec<RecordId> = rows.iter().map(|row| self.row.rows.records[*row as usize]).collect();
        let locked = self.tables.lock_rows(table, &records, mode, WaitPolicy::Block)?;
        Ok(locked.into_iter().map(|at| rows[at as usize]).collect())
    }

    fn reread(&mut self, rows: &[u32]) -> Result<()> {
        let records: Vec<_> = rows.iter().map(|row| self.row.rows.records[*row as usize]).collect();
        let row = &mut *self.row;
        self.heap.fetch_newest(&self.tables.txn.borrow(), &records, &row.columns, &mut row.rows)?;
        self.unpack()
    }
}
