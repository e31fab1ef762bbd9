//! Tables of keys: each key once, numbered in the order in which it was met.
//!
//! ```text
//! hash ─► slots (open addressing, with half of the hash) ─► number ─► hashes[number], bytes[ends[number - 1] .. ends[number]]
//! ```
//!
//! All keys stand in one buffer, so a key costs no allocation of its own. Keys are bytes that are equal exactly where the
//! values are ([`super::key`]).

use verso_types::{Batch, Column, ColumnData, SqlType};

use super::key;

/// No key: there are fewer than its lower half says.
const EMPTY: u64 = u64::MAX;

#[cfg(test)]
thread_local! {
    /// For tests: all hashes are zero on this thread.
    pub(crate) static ZERO_HASHES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The first eight bytes of so many at least.
#[inline]
fn word(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Both words of a short key: they overlap unless it has sixteen bytes.
#[inline]
fn words(key: &[u8]) -> (u64, u64) {
    match (key.first_chunk::<8>(), key.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (key.first_chunk::<4>(), key.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
            }
            _ => (key.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
        },
    }
}

#[inline]
fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

const ONE: u64 = 0x9e37_79b9_7f4a_7c15;
const TWO: u64 = 0xe703_7ed1_a0b4_28db;

/// The hash of a key: sixteen bytes at a time through a product of twice the width.
#[inline]
pub(crate) fn hash(key: &[u8]) -> u64 {
    #[cfg(test)]
    if ZERO_HASHES.get() {
        return 0;
    }
    let mut state = ONE ^ key.len() as u64;
    let mut rest = key;
    while rest.len() > 16 {
        let (chunk, behind) = rest.split_at(16);
        state = mix(word(chunk) ^ TWO, word(&chunk[8..]) ^ state);
        rest = behind;
    }
    let (low, high) = words(rest);
    mix(mix(low ^ TWO, high ^ state), ONE)
}

/// The hash of an integer, for tables of nothing but integers.
#[inline]
pub(super) fn hash_integer(key: i64) -> u64 {
    #[cfg(test)]
    if ZERO_HASHES.get() {
        return 0;
    }
    mix(key.cast_unsigned() ^ TWO, ONE)
}

/// Whether two keys are equal; short ones without a call.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && if (4..=16).contains(&a.len()) { words(a) == words(b) } else { a == b }
}

/// Keys and their numbers.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    /// The upper half of the hash, the number below; [`EMPTY`].
    slots: Vec<u64>,
    hashes: Vec<u64>,
    /// The bytes of each key, as long as all have as many: `ends` stays empty then.
    width: usize,
    ends: Vec<usize>,
    bytes: Vec<u8>,
    /// So many keys, the last ones, have no slot yet.
    apart: usize,
}

impl KeyTable {
    /// The number of no key.
    pub const NONE: u32 = u32::MAX;

    /// How many keys there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// A key by its number.
    #[inline]
    pub fn key(&self, number: u32) -> &[u8] {
        let number = number as usize;
        if self.ends.is_empty() {
            return &self.bytes[number * self.width..(number + 1) * self.width];
        }
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    /// A key's hash.
    #[inline]
    pub fn hash(&self, number: u32) -> u64 {
        self.hashes[number as usize]
    }

    /// The number of a key that is there. All keys [have slots](KeyTable::settle).
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        debug_assert_eq!(self.apart, 0, "keys that have slots");
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                slot if (slot ^ hash) >> 32 == 0 && same(self.key(slot as u32), key) => {
                    return Some(slot as u32);
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The numbers of a batch's keys, [`NONE`](KeyTable::NONE) for each that is not there. The slots of many are read before the
    /// first key is compared: a table larger than the processor's caches is waited for once and not for each key.
    pub fn find_all(&self, keys: &RowKeys, numbers: &mut Vec<u32>) {
        const AT_ONCE: usize = 64;
        numbers.clear();
        if self.slots.is_empty() {
            numbers.resize(keys.hashes.len(), KeyTable::NONE);
            return;
        }
        let mask = self.slots.len() - 1;
        let mut slots = [EMPTY; AT_ONCE];
        for (chunk, hashes) in keys.hashes.chunks(AT_ONCE).enumerate() {
            for (slot, hash) in slots.iter_mut().zip(hashes) {
                *slot = self.slots[*hash as usize & mask];
            }
            numbers.extend(slots.iter().zip(hashes).enumerate().map(|(at, (slot, hash))| {
                let key = keys.key(chunk * AT_ONCE + at);
                match *slot {
                    EMPTY => KeyTable::NONE,
                    slot if (slot ^ hash) >> 32 == 0 && same(self.key(slot as u32), key) => slot as u32,
                    _ => self.find(*hash, key).unwrap_or(KeyTable::NONE),
                }
            }));
        }
    }

    /// Adds a key that is not there; its number.
    pub fn add(&mut self, hash: u64, key: &[u8]) -> u32 {
        self.settle();
        let number = self.push(hash, key);
        // At most three quarters are taken.
        if self.len() * 4 > self.slots.len() * 3 {
            self.rebuild(slots_for(self.len()));
        } else {
            self.place(number);
        }
        number
    }

    /// The same for one who knows by himself which keys are there: it is not found until all keys are [settled](KeyTable::settle).
    pub fn add_apart(&mut self, hash: u64, key: &[u8]) -> u32 {
        self.apart += 1;
        self.push(hash, key)
    }

    /// Gives slots to the keys that have none.
    pub fn settle(&mut self) {
        let apart = std::mem::take(&mut self.apart);
        if apart > 0 && self.len() * 4 > self.slots.len() * 3 {
            self.rebuild(slots_for(self.len()));
        } else {
            (self.len() - apart..self.len()).for_each(|number| self.place(number as u32));
        }
    }

    fn push(&mut self, hash: u64, key: &[u8]) -> u32 {
        let number = self.len() as u32;
        if number == 0 {
            self.width = key.len();
        } else if self.ends.is_empty() && key.len() != self.width {
            self.ends.extend((1..=number as usize).map(|count| count * self.width));
        }
        self.bytes.extend_from_slice(key);
        if !self.ends.is_empty() {
            self.ends.push(self.bytes.len());
        }
        self.hashes.push(hash);
        number
    }

    /// Makes room for so many further keys like another table's.
    pub fn reserve(&mut self, keys: usize, other: &KeyTable) {
        self.hashes.reserve(keys);
        let width = other.bytes.len().checked_div(other.len()).unwrap_or(0);
        self.bytes.reserve(keys * width);
        if self.apart > 0 {
            return;
        }
        let slots = slots_for(self.len() + keys);
        if slots > self.slots.len() {
            self.rebuild(slots);
        }
    }

    /// The number of a key, and whether it is new.
    #[inline]
    pub fn find_or_add(&mut self, hash: u64, key: &[u8]) -> (u32, bool) {
        match self.find(hash, key) {
            Some(number) => (number, false),
            None => (self.add(hash, key), true),
        }
    }

    /// Forgets the keys from this number on, and the memory they took.
    pub fn truncate(&mut self, count: usize) {
        self.hashes.truncate(count);
        self.ends.truncate(count);
        let bytes = match self.ends.last() {
            Some(end) => *end,
            None => self.width * count,
        };
        self.bytes.truncate(bytes);
        self.hashes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.slots = Vec::new();
        self.apart = 0;
        self.rebuild(slots_for(count));
    }

    fn rebuild(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        (0..self.len() as u32).for_each(|number| self.place(number));
    }

    fn place(&mut self, number: u32) {
        let mask = self.slots.len() - 1;
        let hash = self.hashes[number as usize];
        let mut at = hash as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = hash >> 32 << 32 | u64::from(number);
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.slots.capacity() * 8
            + self.hashes.capacity() * 8
            + self.ends.capacity() * 8
            + self.bytes.capacity()
    }

    /// Bytes that it will hold once so many keys of `key_bytes` bytes together have come.
    pub fn bytes_with(&self, keys: usize, key_bytes: usize) -> usize {
        let vector =
            |length: usize, capacity: usize, more: usize, width: usize| match length + more > capacity {
                true => (length + more).max(capacity * 2) * width,
                false => capacity * width,
            };
        let count = self.len() + keys;
        let slots = match count * 4 > self.slots.len() * 3 {
            true => slots_for(count) * 8,
            false => self.slots.capacity() * 8,
        };
        // The ends of keys of one width are made when another one comes.
        let ends = match self.ends.is_empty() {
            true => 2 * count * 8,
            false => vector(self.ends.len(), self.ends.capacity(), keys, 8),
        };
        slots
            + ends
            + vector(self.hashes.len(), self.hashes.capacity(), keys, 8)
            + vector(self.bytes.len(), self.bytes.capacity(), key_bytes, 1)
    }
}

/// Slots for so many keys.
fn slots_for(count: usize) -> usize {
    (count * 2).next_power_of_two().max(16)
}

/// The keys of the rows of a batch: the bytes of [`key::encode`], written column by column, and their hashes.
#[derive(Debug, Default)]
pub(super) struct RowKeys {
    bytes: Vec<u8>,
    /// Where the key of each row begins, and the end of the last one.
    starts: Vec<u32>,
    hashes: Vec<u64>,
}

/// What is done with each column of a key, and its type.
type Visit<'v> = &'v mut dyn FnMut(&Column, &SqlType);

impl RowKeys {
    /// The keys of a batch whose columns have these types, each behind the `prefix`; `some` tells which columns count, all
    /// without it.
    pub fn fill(&mut self, batch: &Batch, types: &[SqlType], prefix: Option<u32>, some: Option<&[bool]>) {
        let counts = |at: usize| some.is_none_or(|some| some[at]);
        let columns = || {
            let columns = batch.columns.iter().zip(types).enumerate();
            columns.filter(|(at, _)| counts(*at)).map(|(_, column)| column)
        };
        self.bytes.clear();
        self.starts.clear();
        let ahead = if prefix.is_some() { 4 } else { 0 };
        if columns().any(|(column, ty)| !key::is_plain(column, ty)) {
            self.starts.push(0);
            for row in 0..batch.rows {
                self.bytes.extend_from_slice(&prefix.unwrap_or(0).to_le_bytes()[..ahead]);
                columns().for_each(|(column, ty)| key::encode_one(column, ty, row, &mut self.bytes));
                self.starts.push(self.bytes.len() as u32);
            }
        } else {
            self.fill_columns(batch.rows, prefix, &|each| {
                columns().for_each(|(column, ty)| each(column, ty));
            });
        }
        self.hash_all();
    }

    /// The keys of rows that each have a prefix and columns of their own.
    pub fn fill_each<'s>(
        &mut self,
        batch: &Batch,
        types: &[SqlType],
        of: impl Fn(usize) -> (u32, &'s [bool]),
    ) {
        self.bytes.clear();
        self.starts.clear();
        self.starts.push(0);
        for row in 0..batch.rows {
            let (prefix, some) = of(row);
            self.bytes.extend_from_slice(&prefix.to_le_bytes());
            for ((column, ty), _) in batch.columns.iter().zip(types).zip(some).filter(|(_, there)| **there) {
                key::encode_one(column, ty, row, &mut self.bytes);
            }
            self.starts.push(self.bytes.len() as u32);
        }
        self.hash_all();
    }

    /// The keys of so many rows, each of which `write` appends.
    pub fn fill_by(&mut self, rows: usize, mut write: impl FnMut(usize, &mut Vec<u8>)) {
        self.bytes.clear();
        self.starts.clear();
        self.starts.push(0);
        for row in 0..rows {
            write(row, &mut self.bytes);
            self.starts.push(self.bytes.len() as u32);
        }
        self.hash_all();
    }

    fn hash_all(&mut self) {
        let Self { bytes, starts, hashes } = self;
        hashes.clear();
        hashes.extend(starts.windows(2).map(|ends| hash(&bytes[ends[0] as usize..ends[1] as usize])));
    }

    fn fill_columns(&mut self, rows: usize, prefix: Option<u32>, columns: &dyn Fn(Visit<'_>)) {
        // Lengths first: those that all rows have, then those of the rows.
        let mut common = if prefix.is_some() { 4 } else { 0 };
        self.starts.resize(rows + 1, 0);
        let lengths = &mut self.starts[1..];
        columns(&mut |column, _| match &column.data {
            ColumnData::Bytes(bytes) => {
                let mut start = 0;
                for (row, (length, end)) in lengths.iter_mut().zip(&bytes.ends).enumerate() {
                    let own = end - std::mem::replace(&mut start, *end);
                    *length += if column.nulls.is_null(row) { 1 } else { 5 + own };
                }
            }
            data => {
                let width = data.physical().width().unwrap_or(0) as u32;
                let width = if matches!(data, ColumnData::F32(_)) { 8 } else { width };
                if column.nulls.any() {
                    for (row, length) in lengths.iter_mut().enumerate() {
                        *length += if column.nulls.is_null(row) { 1 } else { 1 + width };
                    }
                } else {
                    common += 1 + width;
                }
            }
        });
        let mut end = 0;
        for length in lengths {
            end += *length + common;
            *length = end;
        }
        self.bytes.resize(end as usize, 0);
        // Then the values: the start of a row moves on with each of them, and in the end is that of the next row.
        let Self { bytes, starts, .. } = self;
        if let Some(prefix) = prefix {
            for start in &mut starts[..rows] {
                put(bytes, start, prefix.to_le_bytes());
            }
        }
        columns(&mut |column, ty| key::write_column(column, ty, bytes, &mut starts[..rows]));
        starts.rotate_right(1);
        if let Some(first) = starts.first_mut() {
            *first = 0;
        }
        if rows > 0 {
            starts[rows] = end;
        }
    }

    /// The key of a row.
    #[inline]
    pub fn key(&self, row: usize) -> &[u8] {
        &self.bytes[self.starts[row] as usize..self.starts[row + 1] as usize]
    }

    /// Its hash.
    #[inline]
    pub fn hash(&self, row: usize) -> u64 {
        self.hashes[row]
    }

    /// Bytes of all keys.
    pub fn key_bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes bytes at a place, which moves behind them.
#[inline]
pub(super) fn put<const N: usize>(bytes: &mut [u8], at: &mut u32, value: [u8; N]) {
    let from = *at as usize;
    bytes[from..from + N].copy_from_slice(&value);
    *at += N as u32;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_numbers_and_forgotten_from_the_end() {
        for zero in [false, true] {
            ZERO_HASHES.set(zero);
            let key = |i: u32| format!("key {}", i * 7).into_bytes();
            let mut table = KeyTable::default();
            for i in 0..500 {
                let key = key(i);
                assert_eq!(table.find(hash(&key), &key), None);
                let before = table.bytes_with(1, key.len());
                assert_eq!(table.find_or_add(hash(&key), &key), (i, true));
                assert!(table.heap_bytes() <= before.max(1024), "{} {before}", table.heap_bytes());
                assert_eq!(table.find_or_add(hash(&key), &key), (i, false));
            }
            let mut keys = RowKeys::default();
            keys.fill_by(1000, |row, bytes| bytes.extend_from_slice(&key(row as u32 * 13 % 1000)));
            let (mut numbers, mut none) = (vec![7], vec![7]);
            table.find_all(&keys, &mut numbers);
            KeyTable::default().find_all(&keys, &mut none);
            for row in 0..1000 {
                let wanted = row as u32 * 13 % 1000;
                let wanted = if wanted < 500 { wanted } else { KeyTable::NONE };
                assert_eq!((numbers[row], none[row]), (wanted, KeyTable::NONE), "{row}");
            }
            table.truncate(123);
            for i in 0..500 {
                let key = key(i);
                assert_eq!(table.find(hash(&key), &key), (i < 123).then_some(i));
            }
            assert_eq!(table.key(122), key(122));
        }
        ZERO_HASHES.set(false);
    }

    #[test]
    fn hashes_differ_in_their_upper_and_lower_bits() {
        let mut low = std::collections::HashSet::new();
        let mut high = std::collections::HashSet::new();
        for i in 0u64..1000 {
            let hash = hash(&i.to_le_bytes());
            low.insert(hash & 0xffff);
            high.insert(hash >> 48);
        }
        assert!(low.len() > 950 && high.len() > 950, "{} {}", low.len(), high.len());
    }
}
