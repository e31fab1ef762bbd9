//! Cursors: the rows of a scan, in batches, and changes of those that were found.

use std::sync::Arc;

use verso_catalog::{IndexDef, TableDef};
use verso_exec::error::Result;
use verso_exec::exec::{ChangeCursor, TableCursor};
use verso_storage::heap::{Heap, HeapScan, ScanBatch};
use verso_storage::index::{IndexScan, IndexScanSpec, KeyRange};
use verso_storage::{RecordId, StorageError, Txn};
use verso_types::{Batch, SqlType, Value};

use super::EngineTables;
use super::opened::LentRow;

/// A scan of several ranges of an index, one behind the other.
pub(super) struct Ranges {
    scans: std::vec::IntoIter<IndexScan>,
    current: Option<IndexScan>,
}

impl Ranges {
    pub(super) fn open(
        tables: &EngineTables<'_>,
        txn: &Txn,
        table: &TableDef,
        index: &IndexDef,
        mut ranges: Vec<KeyRange>,
        descending: bool,
        columns: &[u16],
    ) -> Result<Ranges> {
        let heap = tables.heap(table)?;
        let index = tables.index(&heap, index)?;
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
pub(super) enum Rows {
    Heap(HeapScan),
    Index(Ranges),
    /// One row, which stands in the batch already; whether it is still to come.
    Found(bool),
    /// Read before the first was changed.
    Collected(std::vec::IntoIter<ScanBatch>),
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

/// Reads rows.
pub(super) struct Reader {
    scan: Rows,
    rows: ScanBatch,
}

impl Reader {
    pub(super) fn new(scan: Rows) -> Reader {
        Reader { scan, rows: ScanBatch::default() }
    }
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

/// Finds rows, and changes those that its user chooses.
pub(super) struct Changer<'t> {
    tables: &'t EngineTables<'t>,
    pub(super) heap: Arc<Heap>,
    pub(super) scan: Rows,
    /// The columns read, and the rows.
    pub(super) row: LentRow<'t>,
}

impl<'t> Changer<'t> {
    pub(super) fn new(
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
        let (ids, types): (Vec<u16>, Vec<SqlType>) =
            table.columns.iter().map(|column| (column.id, column.ty.clone())).unzip();
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
