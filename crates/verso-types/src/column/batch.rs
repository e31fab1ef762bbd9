//! Columns of equal length.

use super::{BytesColumn, Column, ColumnData};
use crate::sqltype::Physical;

/// Some rows, column by column. A batch without columns still has a number of rows (`SELECT count(*)`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The number of rows, which each column has.
    pub rows: usize,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Batch {
    /// An empty batch.
    pub fn new(layouts: &[Physical]) -> Batch {
        Batch { rows: 0, columns: layouts.iter().map(|physical| Column::new(*physical)).collect() }
    }

    /// A batch of these columns.
    /// # Panics
    /// Where their lengths differ.
    pub fn from_columns(columns: Vec<Column>) -> Batch {
        let rows = columns.first().map_or(0, Column::len);
        assert!(columns.iter().all(|column| column.len() == rows), "columns of one length");
        Batch { rows, columns }
    }

    /// Forgets all rows, keeps the memory.
    pub fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(Column::clear);
    }

    /// Forgets the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.rows = self.rows.min(rows);
        self.columns.iter_mut().for_each(|column| column.truncate(rows));
    }

    /// Makes room for `rows` more rows.
    pub fn reserve(&mut self, rows: usize) {
        self.columns.iter_mut().for_each(|column| column.reserve(rows));
    }

    /// The rows `selection` names, in its order.
    pub fn gather(&self, selection: &[u32]) -> Batch {
        let columns = self.columns.iter().map(|column| column.gather(selection)).collect();
        Batch { rows: selection.len(), columns }
    }

    /// Keeps only the rows of the strictly ascending `selection`, in place.
    pub fn filter(&mut self, selection: &[u32]) {
        self.columns.iter_mut().for_each(|column| column.filter(selection));
        self.rows = selection.len();
    }

    /// Appends all rows of `other`, which has the same layouts.
    pub fn append(&mut self, other: &Batch) {
        assert_eq!(self.columns.len(), other.columns.len(), "batches of one layout");
        self.columns.iter_mut().zip(&other.columns).for_each(|(to, from)| to.append(from));
        self.rows += other.rows;
    }

    /// How many of the first rows that `selection` names have at most `max_bytes` bytes of variable length together; at
    /// least one. Cheap where none of the batch's values is long.
    pub fn fitting(&self, selection: &[u32], max_bytes: usize) -> usize {
        let columns = || self.columns.iter().filter_map(|column| column.data.bytes());
        let longest: usize = columns().map(BytesColumn::longest).sum();
        if longest.saturating_mul(selection.len()) <= max_bytes {
            return selection.len();
        }
        let mut left = max_bytes;
        for (count, row) in selection.iter().enumerate() {
            let bytes: usize = columns().map(|column| column.get(*row as usize).len()).sum();
            if bytes > left && count > 0 {
                return count;
            }
            left = left.saturating_sub(bytes);
        }
        selection.len()
    }

    /// Bytes that the batch will hold once the rows of `other` are appended.
    pub fn bytes_with(&self, other: &Batch) -> usize {
        let grown = |length: usize, capacity: usize, more: usize, width: usize| match length + more > capacity
        {
            true => (length + more).max(capacity * 2) * width,
            false => capacity * width,
        };
        let column = |(to, from): (&Column, &Column)| match (&to.data, &from.data) {
            (ColumnData::Bytes(to), ColumnData::Bytes(from)) => {
                grown(to.ends.len(), to.ends.capacity(), from.ends.len(), 4)
                    + grown(to.bytes.len(), to.bytes.capacity(), from.bytes.len(), 1)
            }
            (to, from) => {
                let width = to.physical().width().unwrap_or(1);
                grown(to.len(), to.heap_bytes() / width, from.len(), width)
            }
        };
        let nulls = self.columns.len() * (self.rows + other.rows) / 4;
        self.columns.iter().zip(&other.columns).map(column).sum::<usize>() + nulls
    }

    /// Bytes of the values of variable length of row `i`.
    pub fn variable_bytes_at(&self, i: usize) -> usize {
        self.columns.iter().filter_map(|column| column.data.bytes()).map(|column| column.get(i).len()).sum()
    }

    /// Bytes of the values of variable length.
    #[inline]
    pub fn variable_bytes(&self) -> usize {
        self.columns.iter().filter_map(|column| column.data.bytes()).map(|column| column.bytes.len()).sum()
    }

    /// Forgets all rows, and the memory if it is more than `max_bytes`.
    pub fn recycle(&mut self, max_bytes: usize) {
        if self.heap_bytes() > max_bytes {
            self.columns.iter_mut().for_each(|column| *column = Column::new(column.physical()));
        }
        self.clear();
    }

    /// Bytes that the rows take of the memory held: what decides whether a batch that is filled again and again is full.
    pub fn used_bytes(&self) -> usize {
        self.columns.iter().map(Column::used_bytes).sum()
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.columns.iter().map(|column| column.heap_bytes() + size_of::<Column>()).sum()
    }

    /// Tests the numbered invariants of columns; the text says which one fails.
    pub fn check(&self) -> Result<(), &'static str> {
        match self.columns.iter().all(|column| column.len() == self.rows) {
            true => self.columns.iter().try_for_each(Column::check),
            false => Err("1: a column of another length"),
        }
    }
}
