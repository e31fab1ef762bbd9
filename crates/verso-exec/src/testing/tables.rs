//! Tables in memory, with frames that are copies: what storage promises, without storage.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use verso_catalog::{ConstraintDef, IndexDef, Oid, SequenceDef, TableDef, TriggerDef};
use verso_env::sync::Mutex;
use verso_storage::index::KeyRange;
use verso_storage::{RecordId, RecordLockMode, StorageError, WaitPolicy};
use verso_types::{Batch, SqlType, Value};

use super::cursors::{MemoryChanges, MemoryCursor};
use crate::context::AdvisoryCall;
use crate::error::{ExecError, Result};
use crate::exec::{
    Change, ChangeCursor, DeferredEvent, FoundRecords, Gathering, HeldStatement, IndexReader, KeyOf,
    LockRows, References, Reserve, Scan, Sequences, TableCursor, TransactionControl, TransactionState,
};
use crate::memory::Memory;

/// Batches until a flag is set.
pub(super) type Countdown = Option<(u64, Arc<AtomicBool>)>;

/// The rows of every table.
pub(super) type Contents = HashMap<Oid, Vec<Vec<Value>>>;

/// Tables in memory, with frames that are copies: what storage promises, without storage.
#[derive(Default)]
pub(crate) struct MemoryTables {
    pub(super) rows: Arc<Mutex<Contents>>,
    /// Rows of a batch; 0 is [`BATCH`].
    pub batch_rows: Cell<usize>,
    /// Cancels the statement with the batch of this number that a scan reads, counted down.
    pub cancels: Arc<Mutex<Countdown>>,
    frames: RefCell<Vec<(Option<String>, Contents)>>,
    sequences: RefCell<HashMap<Oid, i64>>,
}

impl MemoryTables {
    pub fn rows(&self, table: &TableDef) -> Vec<Vec<Value>> {
        self.rows.lock().get(&table.oid).cloned().unwrap_or_default()
    }

    pub fn fill(&self, table: &TableDef, rows: Vec<Vec<Value>>) {
        self.rows.lock().insert(table.oid, rows);
    }

    pub fn open_frames(&self) -> usize {
        self.frames.borrow().len()
    }

    fn pop(&self, restore: bool) -> Result<()> {
        let frame = self.frames.borrow_mut().pop().expect("a frame is open");
        assert!(frame.0.is_none(), "savepoints end before statements");
        if restore {
            *self.rows.lock() = frame.1;
        }
        Ok(())
    }

    fn named(&self, name: &str) -> usize {
        let frames = self.frames.borrow();
        frames.iter().rposition(|frame| frame.0.as_deref() == Some(name)).expect("the savepoint exists")
    }
}

/// Tables in memory have no index, and no record a place.
pub(super) fn by_scan_only<T>(table: &TableDef) -> Result<T> {
    Err(StorageError::NoSuchObject(table.heap).into())
}

impl Scan for MemoryTables {
    fn scan(&self, table: &TableDef, columns: &[usize]) -> Result<Box<dyn TableCursor>> {
        Ok(Box::new(MemoryCursor::new(self, table, columns)))
    }
    fn get(&self, table: &TableDef, _: &IndexDef, _: &[u8], _: &[usize], _: &mut Batch) -> Result<bool> {
        by_scan_only(table)
    }
    fn fetch(&self, table: &TableDef, _: RecordId, _: &[usize], _: &mut Batch) -> Result<bool> {
        by_scan_only(table)
    }
    fn past(&self, table: &TableDef, _: crate::exec::Moment) -> Result<verso_storage::HeldView> {
        by_scan_only(table)
    }
    fn enter_past(&self, _: &verso_storage::HeldView) {}
    fn leave_past(&self) {}
    fn is_large(&self, _: &TableDef, _: &[(&IndexDef, &[KeyRange])]) -> Result<bool> {
        Ok(false)
    }
    fn index_reader(&self, table: &TableDef, _: &[&IndexDef], _: &[usize]) -> Result<Box<dyn IndexReader>> {
        by_scan_only(table)
    }
    fn candidates(&self, table: &TableDef, _: &Gathering, _: &[usize]) -> Result<Box<dyn TableCursor>> {
        by_scan_only(table)
    }
    fn index_scan(
        &self,
        table: &TableDef,
        _: &IndexDef,
        _: Vec<KeyRange>,
        _: bool,
        _: &[usize],
    ) -> Result<Box<dyn TableCursor>> {
        by_scan_only(table)
    }
}

impl Change for MemoryTables {
    fn scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        let cursor = MemoryCursor::new(self, table, columns);
        Ok(Box::new(MemoryChanges {
            tables: self,
            table: table.clone(),
            batch: Batch::of_types(&cursor.types),
            cursor,
            start: 0,
            deleted: Vec::new(),
        }))
    }
    fn insert(&self, table: &TableDef, rows: &Batch) -> Result<()> {
        rows.check().expect("a sound batch");
        let types: Vec<SqlType> = table.columns.iter().map(|column| column.ty.clone()).collect();
        let mut all = self.rows.lock();
        all.entry(table.oid).or_default().extend((0..rows.rows).map(|row| rows.row(row, &types)));
        Ok(())
    }
    fn index_scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        _: &IndexDef,
        _: Vec<KeyRange>,
        _: &[usize],
        _: bool,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
    fn candidates_for_change<'t>(
        &'t self,
        table: &TableDef,
        _: &Gathering,
        _: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
    fn get_for_change<'t>(
        &'t self,
        table: &TableDef,
        _: &IndexDef,
        _: &[u8],
        _: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
    fn change_found<'t>(
        &'t self,
        table: &TableDef,
        _: &[usize],
        _: FoundRecords,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        by_scan_only(table)
    }
}

impl Reserve for MemoryTables {}

impl LockRows for MemoryTables {
    fn check_may_lock(&self, _: RecordLockMode) -> Result<()> {
        Ok(())
    }
    fn lock_rows(
        &self,
        table: &TableDef,
        _: &[RecordId],
        _: RecordLockMode,
        _: WaitPolicy,
    ) -> Result<Vec<u32>> {
        by_scan_only(table)
    }
}

impl References for MemoryTables {
    fn hold_periods(&self, _: &TableDef, _: &IndexDef, _: &[u8], _: &Value, _: KeyOf) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }

    fn hold_key(&self, table: &TableDef, _: &IndexDef, _: &[u8], _: KeyOf) -> Result<bool> {
        by_scan_only(table)
    }
    fn saw_key(&self, _: &TableDef, _: &IndexDef, _: &[u8]) -> Result<bool> {
        Ok(false)
    }
    fn exists_beyond_snapshot(
        &self,
        _: &TableDef,
        _: &[usize],
        _: Option<(&IndexDef, Vec<KeyRange>)>,
        _: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        Ok(false)
    }
    fn is_deferred(&self, _: &ConstraintDef) -> bool {
        false
    }
    fn defer(&self, constraint: &Arc<ConstraintDef>, _: &[Value], _: bool, _: Memory<'_>) -> Result<()> {
        panic!("{} is not deferred", constraint.name);
    }
    fn is_trigger_deferred(&self, _: &TriggerDef) -> bool {
        false
    }
    fn defer_trigger(&self, event: DeferredEvent, _: Memory<'_>) -> Result<()> {
        panic!("{} is not deferred", event.trigger.name);
    }
}

impl TransactionState for MemoryTables {
    fn advisory(&self, _: AdvisoryCall) -> Result<bool> {
        Err(ExecError::raised("0A000", "tables in memory have no advisory locks"))
    }
    fn export_snapshot(&self) -> Result<String> {
        Err(ExecError::raised("0A000", "tables in memory have no snapshots"))
    }
    fn transaction_id(&self, _: bool) -> Result<Option<u64>> {
        Ok(None)
    }
    fn shown_snapshot(&self) -> Result<verso_types::snapshot::Snapshot> {
        Ok(verso_types::snapshot::Snapshot::default())
    }
}

impl Sequences for MemoryTables {
    fn next_value(&self, sequence: &SequenceDef) -> Result<i64> {
        let mut sequences = self.sequences.borrow_mut();
        let value = sequences.entry(sequence.oid).or_default();
        *value += 1;
        Ok(*value)
    }
    fn set_value(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> Result<()> {
        self.sequences.borrow_mut().insert(sequence.oid, if is_called { value } else { value - 1 });
        Ok(())
    }
}

impl TransactionControl for MemoryTables {
    fn begin_statement(&self) -> Result<()> {
        self.frames.borrow_mut().push((None, self.rows.lock().clone()));
        Ok(())
    }
    fn begin_row(&self) -> Result<bool> {
        Ok(false)
    }

    fn end_statement(&self) -> Result<()> {
        self.pop(false)
    }
    fn abort_statement(&self) -> Result<()> {
        self.pop(true)
    }
    fn hold_statement(&self) -> Result<HeldStatement> {
        self.pop(false)?;
        Ok(Box::new(()))
    }
    fn begin_statement_under(&self, _: HeldStatement) -> Result<()> {
        self.begin_statement()
    }
    fn restarts(&self) -> bool {
        false
    }
    fn hold_places(&self) -> Result<Box<dyn std::any::Any + Send>> {
        Ok(Box::new(()))
    }
    fn savepoints(&self) -> bool {
        true
    }
    fn savepoint(&self, name: &str) -> Result<()> {
        self.frames.borrow_mut().push((Some(name.to_owned()), self.rows.lock().clone()));
        Ok(())
    }
    fn rollback_to(&self, name: &str) -> Result<()> {
        let at = self.named(name);
        self.frames.borrow_mut().truncate(at + 1);
        *self.rows.lock() = self.frames.borrow()[at].1.clone();
        Ok(())
    }
    fn release(&self, name: &str) -> Result<()> {
        let at = self.named(name);
        self.frames.borrow_mut().truncate(at);
        Ok(())
    }
    fn under_outer_view(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }
}
