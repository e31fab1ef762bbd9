//! A table of one column of doubles that never ends before its time.

use verso_catalog::{SequenceDef, TableDef};
use verso_exec::ExecError;
use verso_exec::exec::{ChangeCursor, TableCursor, Tables};
use verso_types::{Batch, ColumnData};

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

impl Tables for Doubles {
    fn scan(&self, _: &TableDef, _: &[usize]) -> Result<Box<dyn TableCursor>> {
        Ok(Box::new(Cursor { values: self.values.clone(), left: self.batches }))
    }
    fn scan_for_change<'t>(&'t self, _: &TableDef, _: &[usize]) -> Result<Box<dyn ChangeCursor + 't>> {
        nothing()
    }
    fn insert(&self, _: &TableDef, _: &Batch) -> Result<()> {
        nothing()
    }
    fn next_value(&self, _: &SequenceDef) -> Result<i64> {
        nothing()
    }
    fn set_value(&self, _: &SequenceDef, _: i64, _: bool) -> Result<()> {
        nothing()
    }
    fn begin_statement(&self) -> Result<()> {
        nothing()
    }
    fn end_statement(&self) -> Result<()> {
        nothing()
    }
    fn abort_statement(&self) -> Result<()> {
        nothing()
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
