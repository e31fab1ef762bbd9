//! Column vectors: the batch format of storage, kernels, executors and results.
//!
//! ```text
//! Batch { rows: 3 }
//!   Column I64    data  [10, 20,  0]     nulls {2}
//!   Column Bytes  ends  [ 3,  3,  5]     bytes "abcde"      value 1 is empty
//! ```
//!
//! A column is a plain `Vec` of physical values, kept and refilled from batch to batch (`clear` keeps the capacity), and
//! moves into Arrow without a copy. SQL types stand beside it, not in it: an `I64` is a bigint, a scaled numeric or a
//! timestamp ([`SqlType::physical`](crate::SqlType::physical)).
//!
//! 1. Every column of a batch has `rows` values.
//! 2. A NULL has a value in `data` too (zero or empty when pushed here; any valid value when computed).
//! 3. `nulls` has no bit at or beyond the column's length; no words at all means no NULL.
//! 4. `Bool` holds 0 and 1 only. `BytesColumn::ends` never decreases and ends at `bytes.len()`.

mod batch;
mod bytes;
mod data;
mod nulls;
#[cfg(test)]
mod tests;
mod values;

pub use batch::Batch;
pub use bytes::BytesColumn;
pub use data::ColumnData;
pub use nulls::NullMask;

use crate::sqltype::Physical;

// Raw bytes of columns are those of pages, which are little-endian; no other host is supported.
const _: () = assert!(cfg!(target_endian = "little"));

/// A vector of values of one physical type, with its NULLs.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// One value per row, also where the row is NULL.
    pub data: ColumnData,
    /// Which rows are NULL.
    pub nulls: NullMask,
}

impl Column {
    /// An empty column.
    pub fn new(physical: Physical) -> Column {
        Column { data: ColumnData::new(physical), nulls: NullMask::default() }
    }

    /// An empty column with room for `rows` values (fixed parts only).
    pub fn with_capacity(physical: Physical, rows: usize) -> Column {
        let mut column = Column::new(physical);
        column.reserve(rows);
        column
    }

    /// The layout.
    pub fn physical(&self) -> Physical {
        self.data.physical()
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Has it no values?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all values, keeps the memory.
    pub fn clear(&mut self) {
        self.data.clear();
        self.nulls.clear();
    }

    /// Forgets the values from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.data.truncate(rows);
        self.nulls.resize(rows);
    }

    /// Makes room for `rows` more values.
    pub fn reserve(&mut self, rows: usize) {
        self.data.reserve(rows);
    }

    /// Is row `i` NULL?
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.nulls.is_null(i)
    }

    /// Appends a NULL.
    pub fn push_null(&mut self) {
        self.nulls.set(self.len());
        self.data.push_default(1);
    }

    /// Appends the last value of a bytes column once more; false where it has none, where that is NULL or where there is no room.
    pub fn repeat_last(&mut self) -> bool {
        let Some(last) = self.len().checked_sub(1) else { return false };
        let is_null = self.nulls.is_null(last);
        self.data.bytes_mut().is_some_and(|bytes| !is_null && bytes.repeat_last())
    }

    /// Appends `count` NULLs.
    pub fn push_nulls(&mut self, count: usize) {
        let len = self.len();
        self.nulls.set_range(len..len + count);
        self.data.push_default(count);
    }

    /// Appends fixed-width values from their little-endian bytes: the copy out of a page.
    /// # Panics
    /// For a bytes column, and where `raw` is no whole number of values.
    pub fn extend_fixed_raw(&mut self, raw: &[u8]) {
        self.data.extend_fixed_raw(raw);
    }

    /// The values as bytes, little-endian; `None` for a bytes column.
    pub fn fixed_bytes(&self) -> Option<&[u8]> {
        self.data.fixed_bytes()
    }

    /// The values as bytes to be overwritten; `None` for a bytes column. Bool bytes must stay 0 or 1.
    pub fn fixed_bytes_mut(&mut self) -> Option<&mut [u8]> {
        self.data.fixed_bytes_mut()
    }

    /// Value `i` of a bytes column (empty for a NULL).
    /// # Panics
    /// For any other layout.
    #[inline]
    pub fn bytes_at(&self, i: usize) -> &[u8] {
        match &self.data {
            ColumnData::Bytes(bytes) => bytes.get(i),
            other => panic!("bytes of a column of {:?}", other.physical()),
        }
    }

    /// Appends the bytes of value `i` in any layout, little-endian.
    #[inline]
    pub fn append_raw(&self, i: usize, out: &mut Vec<u8>) {
        match &self.data {
            ColumnData::Bool(values) => out.push(values[i]),
            ColumnData::I16(values) => out.extend_from_slice(&values[i].to_le_bytes()),
            ColumnData::I32(values) => out.extend_from_slice(&values[i].to_le_bytes()),
            ColumnData::I64(values) => out.extend_from_slice(&values[i].to_le_bytes()),
            ColumnData::I128(values) => out.extend_from_slice(&values[i].to_le_bytes()),
            ColumnData::F32(values) => out.extend_from_slice(&values[i].to_le_bytes()),
            ColumnData::F64(values) => out.extend_from_slice(&values[i].to_le_bytes()),
            ColumnData::Bytes(values) => out.extend_from_slice(values.get(i)),
        }
    }

    /// The bytes of value `i` in any layout, little-endian.
    #[inline]
    pub fn raw_at(&self, i: usize) -> &[u8] {
        self.data.raw_at(i)
    }

    /// The rows `selection` names, in its order (repeats allowed), as a new column.
    pub fn gather(&self, selection: &[u32]) -> Column {
        let mut out = Column::with_capacity(self.physical(), selection.len());
        self.gather_into(selection, &mut out);
        out
    }

    /// Appends the rows `selection` names to `out`.
    /// # Panics
    /// Where `out` has another layout, or a row does not exist.
    pub fn gather_into(&self, selection: &[u32], out: &mut Column) {
        let start = out.len();
        self.data.gather_into(selection, &mut out.data);
        if self.nulls.any() {
            for (i, row) in selection.iter().enumerate() {
                if self.nulls.is_null(*row as usize) {
                    out.nulls.set(start + i);
                }
            }
        }
    }

    /// Keeps only the rows of the strictly ascending `selection`, in place.
    pub fn filter(&mut self, selection: &[u32]) {
        debug_assert!(selection.is_sorted_by(|a, b| a < b));
        if selection.len() == self.len() {
            return;
        }
        self.data.filter(selection);
        self.nulls.filter(selection);
    }

    /// Appends all rows of `other`.
    /// # Panics
    /// Where it has another layout.
    pub fn append(&mut self, other: &Column) {
        self.append_range(other, 0..other.len());
    }

    /// Appends a run of rows of `other`.
    /// # Panics
    /// Where it has another layout or fewer rows.
    pub fn append_range(&mut self, other: &Column, rows: std::ops::Range<usize>) {
        let start = self.len();
        self.data.append_range(&other.data, rows.clone());
        self.nulls.append_range(start, &other.nulls, rows);
    }

    /// Bytes that the values take of it.
    pub fn used_bytes(&self) -> usize {
        self.data.used_bytes() + self.nulls.used_bytes()
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.data.heap_bytes() + self.nulls.heap_bytes()
    }

    /// Tests the numbered invariants that concern one column; the text says which one fails.
    pub fn check(&self) -> Result<(), &'static str> {
        if self.nulls.end() > self.len() {
            return Err("3: a null bit beyond the last value");
        }
        match &self.data {
            ColumnData::Bool(values) if values.iter().any(|v| *v > 1) => Err("4: a boolean beyond 1"),
            ColumnData::Bytes(bytes) if !bytes.is_sound() => Err("4: ends out of order"),
            _ => Ok(()),
        }
    }
}
