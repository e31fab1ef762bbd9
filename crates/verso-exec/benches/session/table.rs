//! A table of one column of doubles that never ends before its time.

use std::sync::Arc;

use verso_catalog::{ConstraintDef, IndexDef, SequenceDef, TableDef, TriggerDef};
use verso_exec::ExecError;
use verso_exec::context::AdvisoryCall;
use verso_exec::exec::{
    Change, ChangeCursor, DeferredEvent, FoundRecords, Gathering, HeldStatement, IndexReader, KeyOf,
    LockRows, References, Reserve, Scan, Sequences, TableCursor, TransactionControl, TransactionState,
};
use verso_exec::memory::Memory;
use verso_storage::index::KeyRange;
use verso_storage::{RecordId, RecordLockMode, WaitPolicy};
use verso_types::{Batch, ColumnData, Value};

type Result<T> = std::result::Result<T, ExecError>;

/// Yields so many batches of these values.
pub struct Doubles {
    pub values: Vec<f64>,
    pub batches: u64,
}

struct Cursor {
    values: Vec<f64>,
    left: u64,
}

impl TableCursor for Cursor {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        if let Some(ColumnData::F64(values)) = out.columns.first_mut().map(|column| &mut column.data) {
            values.extend_from_slice(&self.values);
        }
        out.rows = self.values.len();
        self.left = self.left.saturating_sub(1);
        Ok(self.left > 0)
    }
}

fn nothing<T>() -> Result<T> {
    Err(ExecError::Cancelled)
}

impl Scan for Doubles {
    fn scan(&self, _: &TableDef, _: &[usize]) -> Result<Box<dyn TableCursor>> {
        Ok(Box::new(Cursor { values: self.values.clone(), left: self.batches }))
    }
    fn get(&self, _: &TableDef, _: &IndexDef, _: &[u8], _: &[usize], _: &mut Batch) -> Result<bool> {
        nothing()
    }
    fn fetch(&self, _: &TableDef, _: RecordId, _: &[usize], _: &mut Batch) -> Result<bool> {
        nothing()
    }
    fn past(&self, _: &TableDef, _: verso_exec::exec::Moment) -> Result<verso_storage::HeldView> {
        nothing()
    }
    fn enter_past(&self, _: &verso_storage::HeldView) {}
    fn leave_past(&self) {}
    fn is_large(&self, _: &TableDef, _: &[(&IndexDef, &[KeyRange])]) -> Result<bool> {
        nothing()
    }
    fn index_reader(&self, _: &TableDef, _: &[&IndexDef], _: &[usize]) -> Result<Box<dyn IndexReader>> {
        nothing()
    }
    fn candidates(&self, _: &TableDef, _: &Gathering, _: &[usize]) -> Result<Box<dyn TableCursor>> {
        nothing()
    }
    fn index_scan(
        &self,
        _: &TableDef,
        _: &IndexDef,
        _: Vec<KeyRange>,
        _: bool,
        _: &[usize],
    ) -> Result<Box<dyn TableCursor>> {
        nothing()
    }
}

impl Change for Doubles {
    fn insert(&self, _: &TableDef, _: &Batch) -> Result<()> {
        nothing()
    }
    fn scan_for_change<'t>(&'t self, _: &TableDef, _: &[usize]) -> Result<Box<dyn ChangeCursor + 't>> {
        nothing()
    }
    fn index_scan_for_change<'t>(
        &'t self,
        _: &TableDef,
        _: &IndexDef,
        _: Vec<KeyRange>,
        _: &[usize],
        _: bool,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        nothing()
    }
    fn candidates_for_change<'t>(
        &'t self,
        _: &TableDef,
        _: &Gathering,
        _: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        nothing()
    }
    fn get_for_change<'t>(
        &'t self,
        _: &TableDef,
        _: &IndexDef,
        _: &[u8],
        _: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        nothing()
    }
    fn change_found<'t>(
        &'t self,
        _: &TableDef,
        _: &[usize],
        _: FoundRecords,
    ) -> Result<Box<dyn ChangeCursor + 't>> {
        nothing()
    }
}

impl Reserve for Doubles {}

impl LockRows for Doubles {
    fn check_may_lock(&self, _: RecordLockMode) -> Result<()> {
        nothing()
    }
    fn lock_rows(&self, _: &TableDef, _: &[RecordId], _: RecordLockMode, _: WaitPolicy) -> Result<Vec<u32>> {
        nothing()
    }
}

impl References for Doubles {
    fn hold_periods(&self, _: &TableDef, _: &IndexDef, _: &[u8], _: &Value, _: KeyOf) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }

    fn hold_key(&self, _: &TableDef, _: &IndexDef, _: &[u8], _: KeyOf) -> Result<bool> {
        nothing()
    }
    fn saw_key(&self, _: &TableDef, _: &IndexDef, _: &[u8]) -> Result<bool> {
        nothing()
    }
    fn exists_beyond_snapshot(
        &self,
        _: &TableDef,
        _: &[usize],
        _: Option<(&IndexDef, Vec<KeyRange>)>,
        _: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool> {
        nothing()
    }
    fn is_deferred(&self, _: &ConstraintDef) -> bool {
        false
    }
    fn defer(
        &self,
        _: &Arc<ConstraintDef>,
        _: &[Value],
        _: bool,
        _: verso_exec::memory::Memory<'_>,
    ) -> Result<()> {
        Ok(())
    }
    fn is_trigger_deferred(&self, _: &TriggerDef) -> bool {
        false
    }
    fn defer_trigger(&self, _: DeferredEvent, _: Memory<'_>) -> Result<()> {
        nothing()
    }
}

impl Sequences for Doubles {
    fn next_value(&self, _: &SequenceDef) -> Result<i64> {
        nothing()
    }
    fn set_value(&self, _: &SequenceDef, _: i64, _: bool) -> Result<()> {
        nothing()
    }
}

impl TransactionState for Doubles {
    fn advisory(&self, _: AdvisoryCall) -> Result<bool> {
        nothing()
    }
    fn export_snapshot(&self) -> Result<String> {
        nothing()
    }
    fn transaction_id(&self, _: bool) -> Result<Option<u64>> {
        nothing()
    }
    fn shown_snapshot(&self) -> Result<verso_types::snapshot::Snapshot> {
        nothing()
    }
}

impl TransactionControl for Doubles {
    fn begin_statement(&self) -> Result<()> {
        nothing()
    }
    fn begin_row(&self) -> Result<bool> {
        Ok(false)
    }

    fn end_statement(&self) -> Result<()> {
        nothing()
    }
    fn abort_statement(&self) -> Result<()> {
        nothing()
    }
    fn hold_statement(&self) -> Result<HeldStatement> {
        Ok(Box::new(()))
    }
    fn begin_statement_under(&self, _: HeldStatement) -> Result<()> {
        nothing()
    }
    fn under_outer_view(&self, _: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        nothing()
    }
    fn restarts(&self) -> bool {
        false
    }
    fn hold_places(&self) -> Result<Box<dyn std::any::Any + Send>> {
        Ok(Box::new(()))
    }
    fn savepoints(&self) -> bool {
        false
    }
    fn savepoint(&self, _: &str) -> Result<()> {
        nothing()
    }
    fn rollback_to(&self, _: &str) -> Result<()> {
        nothing()
    }
    fn release(&self, _: &str) -> Result<()> {
        nothing()
    }
}
