//! The NULLs of a column: one bit per row, set where the row is NULL.

use std::ops::Range;

/// Set of NULL rows. Words that are not there count as zero, so a column without NULLs costs nothing.
#[derive(Clone, Debug, Default)]
pub struct NullMask {
    words: Vec<u64>,
}

/// Two masks are equal when they name the same rows.
impl PartialEq for NullMask {
    fn eq(&self, other: &NullMask) -> bool {
        let words = self.words.len().max(other.words.len());
        (0..words).all(|i| self.word(i) == other.word(i))
    }
}

impl Eq for NullMask {}

impl NullMask {
    /// A mask of given words; bits at or beyond `rows` are dropped.
    pub fn from_words(words: Vec<u64>, rows: usize) -> NullMask {
        let mut mask = NullMask { words };
        mask.resize(rows);
        mask
    }

    /// The words; trailing ones may be missing.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Bits of rows `64 i .. 64 i + 64`.
    #[inline]
    pub fn word(&self, i: usize) -> u64 {
        self.words.get(i).copied().unwrap_or(0)
    }

    /// Marks row `i` as NULL.
    #[inline]
    pub fn set(&mut self, i: usize) {
        self.grow(i / 64 + 1);
        self.words[i / 64] |= 1 << (i % 64);
    }

    /// Marks a run of rows as NULL.
    pub fn set_range(&mut self, rows: Range<usize>) {
        for at in rows.clone().step_by(64) {
            let count = (rows.end - at).min(64);
            self.or_bits(at, u64::MAX >> (64 - count));
        }
    }

    /// Marks row `i` as not NULL.
    #[inline]
    pub fn unset(&mut self, i: usize) {
        if let Some(word) = self.words.get_mut(i / 64) {
            *word &= !(1 << (i % 64));
        }
    }

    /// Marks a run of rows as not NULL.
    pub fn unset_range(&mut self, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        for i in rows.start / 64..rows.end.div_ceil(64).min(self.words.len()) {
            let from = rows.start.saturating_sub(i * 64);
            let to = (rows.end - i * 64).min(64);
            self.words[i] &= !((u64::MAX >> (64 - (to - from))) << from);
        }
    }

    /// Is row `i` NULL?
    #[inline]
    pub fn is_null(&self, i: usize) -> bool {
        self.word(i / 64) >> (i % 64) & 1 != 0
    }

    /// Is any row NULL?
    #[inline]
    pub fn any(&self) -> bool {
        self.words.iter().any(|word| *word != 0)
    }

    /// How many rows are NULL?
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The row behind the last NULL; 0 without any.
    pub fn end(&self) -> usize {
        let last = self.words.iter().rposition(|word| *word != 0);
        last.map_or(0, |i| i * 64 + 64 - self.words[i].leading_zeros() as usize)
    }

    /// The NULL rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(i, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then_some(rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(i * 64 + bit)
            })
        })
    }

    /// No NULLs any more; keeps the memory.
    pub fn clear(&mut self) {
        self.words.clear();
    }

    /// The column has `rows` rows now: forgets the bits at or beyond.
    pub fn resize(&mut self, rows: usize) {
        self.words.truncate(rows.div_ceil(64));
        if !rows.is_multiple_of(64) && self.words.len() == rows.div_ceil(64) {
            self.words[rows / 64] &= (1 << (rows % 64)) - 1;
        }
    }

    /// Row `at + i` is NULL where bit `first + i` of the little-endian bitmap is set, for `count` rows: the copy out of a
    /// page. Bits behind the bitmap count as zero. The rows must not be NULL before.
    pub fn append_bitmap(&mut self, at: usize, bitmap: &[u8], first: usize, count: usize) {
        let word = |i: usize| {
            let mut bytes = [0; 8];
            let rest = bitmap.get(i * 8..).unwrap_or(&[]);
            let len = rest.len().min(8);
            bytes[..len].copy_from_slice(&rest[..len]);
            u64::from_le_bytes(bytes)
        };
        self.append_words(at, word, first, count);
    }

    /// Rows `at ..` become as rows `rows` of `other`. They must not be NULL before.
    pub fn append_range(&mut self, at: usize, other: &NullMask, rows: Range<usize>) {
        if other.any() {
            self.append_words(at, |i| other.word(i), rows.start, rows.len());
        }
    }

    /// Copies `count` bits, 64 at a time where any is set.
    fn append_words(&mut self, at: usize, word: impl Fn(usize) -> u64, first: usize, count: usize) {
        let mut done = 0;
        while done < count {
            let from = first + done;
            let shift = from % 64;
            let mut bits = word(from / 64) >> shift;
            if shift != 0 {
                bits |= word(from / 64 + 1) << (64 - shift);
            }
            if count - done < 64 {
                bits &= (1 << (count - done)) - 1;
            }
            if bits != 0 {
                self.or_bits(at + done, bits);
            }
            done += 64;
        }
    }

    /// Sets the bits of `bits` from row `at` on.
    fn or_bits(&mut self, at: usize, bits: u64) {
        let (word, shift) = (at / 64, at % 64);
        self.grow(word + 1);
        self.words[word] |= bits << shift;
        if shift != 0 && bits >> (64 - shift) != 0 {
            self.grow(word + 2);
            self.words[word + 1] |= bits >> (64 - shift);
        }
    }

    /// Keeps the rows of the strictly ascending `selection`.
    pub(super) fn filter(&mut self, selection: &[u32]) {
        if !self.any() {
            self.words.clear();
            return;
        }
        // in place: the target of a row is never behind the row
        for (i, row) in selection.iter().enumerate() {
            match self.is_null(*row as usize) {
                true => self.set(i),
                false => self.unset(i),
            }
        }
        self.resize(selection.len());
    }

    /// A row is NULL in the result where it is in either: the NULLs of a strict function.
    pub fn union(&mut self, other: &NullMask) {
        self.grow(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(a, b)| *a |= b);
    }

    /// Bytes of the words in use.
    pub fn used_bytes(&self) -> usize {
        self.words.len() * 8
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    fn grow(&mut self, words: usize) {
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }
}
