//! Columns of equal length.

use super::Column;
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
