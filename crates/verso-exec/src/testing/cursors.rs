//! Cursors over tables in memory: those that read rows, and those that change them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_catalog::{IndexDef, Oid, TableDef};
use verso_env::sync::Mutex;
use verso_types::{Batch, SqlType, Value};

use super::tables::{Contents, Countdown, MemoryTables, by_scan_only};
use crate::error::Result;
use crate::exec::{ChangeCursor, TableCursor};

/// Rows of a batch: few, so that tests cross their bounds.
const BATCH: usize = 3;

/// Sees rows that are added while it reads: what T2 must not rely on.
pub(super) struct MemoryCursor {
    contents: Arc<Mutex<Contents>>,
    cancels: Arc<Mutex<Countdown>>,
    batch_rows: usize,
    table: Oid,
    columns: Vec<usize>,
    pub(super) types: Vec<SqlType>,
    /// Shared by the parts.
    next: Arc<AtomicUsize>,
    /// Where the rows read last begin, and the columns that are read first.
    last: usize,
    first: Option<Vec<usize>>,
}

impl MemoryCursor {
    pub(super) fn new(tables: &MemoryTables, table: &TableDef, columns: &[usize]) -> Self {
        Self {
            contents: Arc::clone(&tables.rows),
            cancels: Arc::clone(&tables.cancels),
            batch_rows: match tables.batch_rows.get() {
                0 => BATCH,
                rows => rows,
            },
            table: table.oid,
            columns: columns.to_vec(),
            types: columns.iter().map(|i| table.columns[*i].ty.clone()).collect(),
            next: Arc::default(),
            last: 0,
            first: None,
        }
    }
}

impl TableCursor for MemoryCursor {
    fn next(&mut self, out: &mut Batch) -> Result<bool> {
        out.clear();
        if let Some((left, flag)) = &mut *self.cancels.lock() {
            *left = left.saturating_sub(1);
            if *left == 0 {
                flag.store(true, Ordering::Relaxed);
            }
        }
        let contents = self.contents.lock();
        let rows = contents.get(&self.table).map_or(&[][..], Vec::as_slice);
        assert!(rows.len() < 10_000, "a statement feeds itself");
        // The lock keeps other parts out.
        let next = self.next.load(Ordering::Relaxed);
        let end = rows.len().min(next + self.batch_rows);
        for row in &rows[next..end] {
            let row: Vec<Value> = self.columns.iter().map(|i| row[*i].clone()).collect();
            out.push_row(&row, &self.types)?;
        }
        self.next.store(end, Ordering::Relaxed);
        self.last = next;
        if let Some(first) = &self.first {
            let late = (0..out.columns.len()).filter(|column| !first.contains(column));
            late.for_each(|column| out.columns[column].clear());
        }
        Ok(out.rows > 0)
    }

    fn read_first(&mut self, columns: Option<&[usize]>) -> bool {
        self.first = columns.map(<[usize]>::to_vec);
        true
    }

    /// At most 20 at a time.
    fn read_late(&mut self, rows: &[u32], columns: &[usize], out: &mut Batch) -> Result<usize> {
        let contents = self.contents.lock();
        let all = &contents[&self.table];
        let rows = &rows[..rows.len().min(20)];
        for column in columns {
            out.columns[*column].clear();
            for row in rows {
                let value = &all[self.last + *row as usize][self.columns[*column]];
                out.columns[*column].push_value(value, &self.types[*column])?;
            }
        }
        Ok(rows.len())
    }

    fn pages_left(&self) -> Option<u64> {
        Some(1)
    }

    fn split(&mut self, parts: usize) -> Vec<Box<dyn TableCursor>> {
        let part = |_| MemoryCursor {
            contents: Arc::clone(&self.contents),
            cancels: Arc::clone(&self.cancels),
            batch_rows: self.batch_rows,
            table: self.table,
            columns: self.columns.clone(),
            types: self.types.clone(),
            next: Arc::clone(&self.next),
            last: 0,
            first: None,
        };
        (0..parts).map(|number| Box::new(part(number)) as Box<dyn TableCursor>).collect()
    }
}

pub(super) struct MemoryChanges<'t> {
    pub(super) tables: &'t MemoryTables,
    pub(super) table: TableDef,
    pub(super) cursor: MemoryCursor,
    pub(super) batch: Batch,
    pub(super) start: usize,
    pub(super) deleted: Vec<usize>,
}

impl MemoryChanges<'_> {
    fn selected(&self, selection: Option<&[u32]>) -> Vec<usize> {
        match selection {
            Some(selection) => selection.iter().map(|row| self.start + *row as usize).collect(),
            None => (self.start..self.start + self.batch.rows).collect(),
        }
    }
}

impl ChangeCursor for MemoryChanges<'_> {
    fn next(&mut self) -> Result<bool> {
        self.start = self.cursor.next.load(Ordering::Relaxed);
        self.cursor.next(&mut self.batch)
    }
    fn batch(&self) -> &Batch {
        &self.batch
    }
    fn update(
        &mut self,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        _: Option<&mut Vec<u32>>,
    ) -> Result<()> {
        let mut all = self.tables.rows.lock();
        let rows = all.get_mut(&self.table.oid).expect("the table was read");
        for (i, row) in self.selected(selection).into_iter().enumerate() {
            for (id, column) in columns.iter().zip(&values.columns) {
                let at = self
                    .table
                    .columns
                    .iter()
                    .position(|column| column.id == *id)
                    .expect("an id of the table");
                rows[row][at] = column.value(i, &self.table.columns[at].ty);
            }
        }
        Ok(())
    }
    fn reread(&mut self, rows: &[u32]) -> Result<()> {
        // Nobody else changes rows here: the newest version is the one read.
        self.batch = self.batch.gather(rows);
        Ok(())
    }
    fn is_held(&mut self, _: &IndexDef, _: &[u8], _: u32) -> Result<bool> {
        by_scan_only(&self.table)
    }
    fn delete(&mut self, selection: Option<&[u32]>, _: Option<&mut Vec<u32>>) -> Result<()> {
        let selected = self.selected(selection);
        self.deleted.extend(selected);
        Ok(())
    }
}

impl Drop for MemoryChanges<'_> {
    fn drop(&mut self) {
        if let Some(rows) = self.tables.rows.lock().get_mut(&self.table.oid) {
            let mut row = 0;
            rows.retain(|_| {
                row += 1;
                !self.deleted.contains(&(row - 1))
            });
        }
    }
}
