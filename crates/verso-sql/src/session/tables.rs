//! The executors' tables, over storage and one transaction.

use std::cell::RefCell;
use std::sync::Arc;

use verso_catalog::{SequenceDef, TableDef};
use verso_row::context::AdvisoryCall;
use verso_row::error::Result;
use verso_row::exec::{ChangeCursor, TableCursor, Tables};
use verso_storage::heap::{Heap, HeapScan, ScanBatch, ScanSpec};
use verso_storage::{Engine, TableLockMode, Txn, WaitPolicy};
use verso_types::Batch;

/// Tables as a transaction sees them.
pub struct EngineTables<'t> {
    /// Storage.
    pub engine: &'t Engine,
    /// The transaction; borrowed for the moment of each call, so that nested statements may use it in turn.
    pub txn: &'t RefCell<Txn>,
}

impl EngineTables<'_> {
    fn open(&self, table: &TableDef, columns: &[usize]) -> Result<(Arc<Heap>, HeapScan, Vec<u16>)> {
        let heap = self.engine.heap(table.heap)?;
        let ids: Vec<u16> = columns.iter().map(|index| table.columns[*index].id).collect();
        let scan = heap.scan(&self.txn.borrow(), ScanSpec { columns: &ids, pages: 0..u32::MAX });
        Ok((heap, scan, ids))
    }

    fn lock(&self, table: &TableDef, mode: TableLockMode) -> Result<()> {
        self.engine.lock_table(&mut self.txn.borrow_mut(), table.heap, mode, WaitPolicy::Block)?;
        Ok(())
    }
}

impl Tables for EngineTables<'_> {
    fn scan(&self, table: &TableDef, columns: &[usize]) -> Result<Box<dyn TableCursor>> {
        self.lock(table, TableLockMode::AccessShare)?;
        let (_, scan, _) = self.open(table, columns)?;
        Ok(Box::new(Reader { scan, rows: ScanBatch::default() }))
    }

    fn scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        self.lock(table, TableLockMode::RowExclusive)?;
        let (heap, scan, columns) = self.open(table, columns)?;
        Ok(Box::new(Changer { txn: self.txn, heap, scan, columns, rows: ScanBatch::default() }))
    }

    fn insert(&self, table: &TableDef, rows: &Batch) -> Result<()> {
        self.lock(table, TableLockMode::RowExclusive)?;
        Ok(self.engine.heap(table.heap)?.insert(&mut self.txn.borrow_mut(), rows, None)?)
    }

    fn next_value(&self, sequence: &SequenceDef) -> Result<i64> {
        Ok(self.engine.sequence(sequence.object)?.next_value()?)
    }

    fn set_value(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> Result<()> {
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

struct Reader {
    scan: HeapScan,
    rows: ScanBatch,
}

impl TableCursor for Reader {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        let more = self.scan.next(&mut self.rows)?;
        // The scratch columns change places, so that neither side allocates anew.
        std::mem::swap(out, &mut self.rows.batch);
        Ok(more)
    }
}

struct Changer<'t> {
    txn: &'t RefCell<Txn>,
    heap: Arc<Heap>,
    scan: HeapScan,
    /// Ids of the columns read.
    columns: Vec<u16>,
    rows: ScanBatch,
}

impl ChangeCursor for Changer<'_> {
    fn next(&mut self) -> Result<bool> {
        Ok(self.scan.next(&mut self.rows)?)
    }

    fn batch(&self) -> &Batch {
        &self.rows.batch
    }

    fn update(
        &mut self,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        stale: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        let txn = &mut self.txn.borrow_mut();
        Ok(match stale.filter(|_| txn.isolation().by_statement()) {
            Some(stale) => {
                self.heap.update_unless_stale(txn, &self.rows, selection, columns, values, stale)?;
            }
            None => self.heap.update(txn, &self.rows, selection, columns, values)?,
        })
    }

    fn delete(&mut self, selection: Option<&[u32]>, stale: Option<&mut Vec<u32>>) -> Result<()> {
        let txn = &mut self.txn.borrow_mut();
        Ok(match stale.filter(|_| txn.isolation().by_statement()) {
            Some(stale) => self.heap.delete_unless_stale(txn, &self.rows, selection, stale)?,
            None => self.heap.delete(txn, &self.rows, selection)?,
        })
    }

    fn reread(&mut self, rows: &[u32]) -> Result<()> {
        let records: Vec<_> = rows.iter().map(|row| self.rows.records[*row as usize]).collect();
        Ok(self.heap.fetch_newest(&self.txn.borrow(), &records, &self.columns, &mut self.rows)?)
    }
}
