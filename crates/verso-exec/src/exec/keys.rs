//! Tables of keys: each key once, numbered in the order in which it was met.
//!
//! ```text
//! hash ─► slots (open addressing) ─► number ─► hashes[number], bytes[ends[number - 1] .. ends[number]]
//! ```
//!
//! All keys stand in one buffer, so a key costs no allocation of its own. Keys are bytes that are equal exactly where the
//! values are ([`super::key`]).

/// No key.
const EMPTY: u32 = u32::MAX;

#[cfg(test)]
thread_local! {
    /// For tests: all hashes are zero on this thread.
    pub(crate) static ZERO_HASHES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The hash of a key: sixteen bytes at a time through a product of twice the width.
#[inline]
pub(super) fn hash(key: &[u8]) -> u64 {
    #[cfg(test)]
    if ZERO_HASHES.get() {
        return 0;
    }
    const ONE: u64 = 0x9e37_79b9_7f4a_7c15;
    const TWO: u64 = 0xe703_7ed1_a0b4_28db;
    let mix = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let mut state = ONE ^ key.len() as u64;
    let (chunks, rest) = key.as_chunks::<16>();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    for chunk in chunks {
        let (low, high) = chunk.split_at(8);
        state = mix(word(low) ^ TWO, word(high) ^ state);
    }
    let (low, high) = rest.split_at(rest.len().min(8));
    mix(mix(word(low) ^ TWO, word(high) ^ state), ONE)
}

/// Keys and their numbers.
#[derive(Debug, Default)]
pub(super) struct KeyTable {
    slots: Vec<u32>,
    hashes: Vec<u64>,
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl KeyTable {
    /// How many keys there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// A key by its number.
    #[inline]
    pub fn key(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }

    /// A key's hash.
    #[inline]
    pub fn hash(&self, number: u32) -> u64 {
        self.hashes[number as usize]
    }

    /// The number of a key that is there.
    #[inline]
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            match self.slots[at] {
                EMPTY => return None,
                number if self.hashes[number as usize] == hash && self.key(number) == key => {
                    return Some(number);
                }
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// Adds a key that is not there; its number.
    pub fn add(&mut self, hash: u64, key: &[u8]) -> u32 {
        let number = self.len() as u32;
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.hashes.push(hash);
        // At most seven eighths are taken.
        if self.len() * 8 > self.slots.len() * 7 {
            self.rebuild((self.len() * 2).next_power_of_two().max(16));
        } else {
            self.place(number);
        }
        number
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
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0));
        self.hashes.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.slots = Vec::new();
        self.rebuild((count * 2).next_power_of_two().max(16));
    }

    fn rebuild(&mut self, slots: usize) {
        self.slots.clear();
        self.slots.resize(slots, EMPTY);
        (0..self.len() as u32).for_each(|number| self.place(number));
    }

    fn place(&mut self, number: u32) {
        let mask = self.slots.len() - 1;
        let mut at = self.hashes[number as usize] as usize & mask;
        while self.slots[at] != EMPTY {
            at = (at + 1) & mask;
        }
        self.slots[at] = number;
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.slots.capacity() * 4
            + self.hashes.capacity() * 8
            + self.ends.capacity() * 8
            + self.bytes.capacity()
    }

    /// Bytes that it will hold once another key of so many bytes has come.
    pub fn bytes_with(&self, key_bytes: usize) -> usize {
        let vector =
            |length: usize, capacity: usize, more: usize, width: usize| match length + more > capacity {
                true => (length + more).max(capacity * 2) * width,
                false => capacity * width,
            };
        let slots = match (self.len() + 1) * 8 > self.slots.len() * 7 {
            true => ((self.len() + 1) * 2).next_power_of_two().max(16) * 4,
            false => self.slots.capacity() * 4,
        };
        slots
            + vector(self.hashes.len(), self.hashes.capacity(), 1, 8)
            + vector(self.ends.len(), self.ends.capacity(), 1, 8)
            + vector(self.bytes.len(), self.bytes.capacity(), key_bytes, 1)
    }
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
                let before = table.bytes_with(key.len());
                assert_eq!(table.find_or_add(hash(&key), &key), (i, true));
                assert!(table.heap_bytes() <= before.max(1024), "{} {before}", table.heap_bytes());
                assert_eq!(table.find_or_add(hash(&key), &key), (i, false));
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
