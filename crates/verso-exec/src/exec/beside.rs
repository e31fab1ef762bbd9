//! Columns of a row that stand beside several rows made of it: of set-returning functions, of the right side of an apply.
//!
//! B1. A column that nothing above reads comes out as NULL: an array is not copied for each of its elements.
//! B2. As many rows are made at a time as fit a batch beside the row's long values, and at least one.

use verso_types::{Batch, Column};

use super::BATCH_BYTES;

/// Which columns of the rows are read above.
#[derive(Clone)]
pub(crate) struct Beside {
    read: Vec<bool>,
}

impl Beside {
    /// Of rows of so many columns, but those `unread`.
    pub fn new(columns: usize, unread: &[usize]) -> Beside {
        Beside { read: (0..columns).map(|column| !unread.contains(&column)).collect() }
    }

    /// How many rows fit a batch beside a row (B2).
    pub fn most(&self, rows: &Batch, row: usize) -> usize {
        let read = rows.columns.iter().zip(&self.read).filter(|(_, read)| **read);
        let long = read.filter_map(|(column, _)| column.data.bytes());
        let bytes: usize = long.map(|bytes| bytes.get(row).len()).sum();
        (BATCH_BYTES / bytes.max(1)).max(1)
    }

    /// Adds a row so many times (B1).
    pub fn repeat<'c>(
        &self,
        rows: &Batch,
        row: usize,
        times: usize,
        out: impl IntoIterator<Item = &'c mut Column>,
    ) {
        let repeated = vec![row as u32; times];
        for ((from, read), to) in rows.columns.iter().zip(&self.read).zip(out) {
            if *read { from.gather_into(&repeated, to) } else { to.push_nulls(times) }
        }
    }
}
