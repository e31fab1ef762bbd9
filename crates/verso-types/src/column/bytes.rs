//! A column of byte strings: one buffer and the end of each value in it.

use std::ops::Range;

/// Value `i` is `bytes[ends[i - 1] .. ends[i]]`, the first starting at 0. At most 4 GiB, which a batch stays far below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BytesColumn {
    /// Where each value ends; never decreasing, the last equal to `bytes.len()`.
    pub ends: Vec<u32>,
    /// The values, one behind the other.
    pub bytes: Vec<u8>,
}

impl BytesColumn {
    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Has it no values?
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Where value `i` starts.
    #[inline]
    fn start(&self, i: usize) -> usize {
        if i == 0 { 0 } else { self.ends[i - 1] as usize }
    }

    /// Value `i`.
    #[inline]
    pub fn get(&self, i: usize) -> &[u8] {
        &self.bytes[self.start(i)..self.ends[i] as usize]
    }

    /// Bytes of the longest value.
    pub fn longest(&self) -> usize {
        let mut start = 0;
        let lengths = self.ends.iter().map(|end| end - std::mem::replace(&mut start, *end));
        lengths.max().unwrap_or(0) as usize
    }

    /// All values in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let value = &self.bytes[start..*end as usize];
            start = *end as usize;
            value
        })
    }

    /// Appends a value.
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.end_value();
    }

    /// Appends the value that `write` appends to the buffer: for kernels that build values in place.
    #[inline]
    pub fn push_with<R>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> R) -> R {
        let result = write(&mut self.bytes);
        self.end_value();
        result
    }

    /// What was appended to `bytes` since the last value becomes a value.
    /// # Panics
    /// Beyond 4 GiB.
    #[inline]
    pub fn end_value(&mut self) {
        self.ends.push(u32::try_from(self.bytes.len()).expect("a column holds less than 4 GiB"));
    }

    /// Appends the last value once more; false where there is none, or no room.
    pub fn repeat_last(&mut self) -> bool {
        let Some(last) = self.len().checked_sub(1) else { return false };
        let place = self.start(last)..self.bytes.len();
        let Ok(end) = u32::try_from(place.end + place.len()) else { return false };
        self.bytes.extend_from_within(place);
        self.ends.push(end);
        true
    }

    /// Appends `count` empty values.
    pub fn push_empty(&mut self, count: usize) {
        let end = self.ends.last().copied().unwrap_or(0);
        self.ends.resize(self.ends.len() + count, end);
    }

    /// Appends many values.
    pub fn extend<'a>(&mut self, values: impl IntoIterator<Item = &'a [u8]>) {
        let values = values.into_iter();
        self.ends.reserve(values.size_hint().0);
        values.for_each(|value| self.push(value));
    }

    /// Appends a run of values of `other` with one copy of its bytes.
    pub fn append_range(&mut self, other: &BytesColumn, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        let (start, end) = (other.start(rows.start), other.ends[rows.end - 1] as usize);
        let base = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes[start..end]);
        assert!(u32::try_from(self.bytes.len()).is_ok(), "a column holds less than 4 GiB");
        self.ends.extend(other.ends[rows].iter().map(|e| (*e as usize - start + base) as u32));
    }

    /// Appends the values `selection` names.
    pub fn gather_into(&self, selection: &[u32], out: &mut BytesColumn) {
        out.ends.reserve(selection.len());
        selection.iter().for_each(|row| out.push(self.get(*row as usize)));
    }

    /// Keeps the values of the strictly ascending `selection`, in place.
    pub fn filter(&mut self, selection: &[u32]) {
        // A target is never behind its source, and `ends[row]` is read before anything at or behind it is written.
        let mut end = 0;
        for (i, row) in selection.iter().enumerate() {
            let row = *row as usize;
            // with row > i, ends[row - 1] is still the old one; with row == i nothing has moved yet
            let source = self.start(row)..self.ends[row] as usize;
            let len = source.len();
            if source.start != end {
                self.bytes.copy_within(source, end);
            }
            end += len;
            self.ends[i] = end as u32;
        }
        self.ends.truncate(selection.len());
        self.bytes.truncate(end);
    }

    /// Forgets all values, keeps the memory.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
    }

    /// Forgets the values from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        self.ends.truncate(rows);
        self.bytes.truncate(self.ends.last().map_or(0, |end| *end as usize));
    }

    /// Makes room for `rows` more values of `bytes` bytes in all.
    pub fn reserve(&mut self, rows: usize, bytes: usize) {
        self.ends.reserve(rows);
        self.bytes.reserve(bytes);
    }

    /// Bytes of the values and their ends.
    pub fn used_bytes(&self) -> usize {
        self.ends.len() * 4 + self.bytes.len()
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.ends.capacity() * 4 + self.bytes.capacity()
    }

    /// Do the ends never decrease and lead to the end of the bytes?
    pub(super) fn is_sound(&self) -> bool {
        self.ends.is_sorted() && self.ends.last().map_or(0, |end| *end as usize) == self.bytes.len()
    }
}
