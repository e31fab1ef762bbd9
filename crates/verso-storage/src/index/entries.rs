//! Entries to be added to or removed from a tree: keys with the records that have them.

use verso_types::inverted::Keys;

use crate::page::RecordId;

/// Bytes of a record's name behind its key.
pub const RECORD: usize = 6;

/// The record's name in the order of records.
#[inline]
pub fn record_bytes(record: RecordId) -> [u8; RECORD] {
    let mut out = [0; RECORD];
    out[..4].copy_from_slice(&record.page_index.to_be_bytes());
    out[4..].copy_from_slice(&record.slot.to_be_bytes());
    out
}

/// The record at the end of an entry.
#[inline]
pub fn record_of(entry: &[u8]) -> RecordId {
    let mut bytes = [0; RECORD];
    if let Some(tail) = entry.last_chunk::<RECORD>() {
        bytes = *tail;
    }
    let [a, b, c, d, e, f] = bytes;
    RecordId { page_index: u32::from_be_bytes([a, b, c, d]), slot: u16::from_be_bytes([e, f]) }
}

#[derive(Clone, Copy, Debug)]
struct Item {
    /// First eight bytes, as a number.
    head: u64,
    start: u32,
    length: u16,
    /// Whether equal keys are allowed: a part is NULL and NULLs are distinct.
    free: bool,
}

impl Item {
    #[inline]
    fn of(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start as usize..][..usize::from(self.length)]
    }

    /// The eight bytes from `depth` on, as a number; zeros stand for those that there are not.
    #[inline]
    fn word(self, bytes: &[u8], depth: usize) -> u64 {
        let rest = self.of(bytes).get(depth..).unwrap_or_default();
        let mut chunk = [0; WORD];
        match rest.first_chunk() {
            Some(whole) => chunk = *whole,
            None => chunk[..rest.len()].copy_from_slice(rest),
        }
        u64::from_be_bytes(chunk)
    }
}

/// Bytes that are compared as one number.
const WORD: usize = 8;
/// So few entries are compared as a whole.
const FEW: usize = 16;

/// Sorts entries that are equal in their first word; their heads mean nothing afterwards. `larger` is memory to work with.
fn sort_behind(bytes: &[u8], items: &mut [Item], larger: &mut Vec<(usize, usize, usize)>) {
    let whole = |items: &mut [Item]| items.sort_unstable_by(|a, b| a.of(bytes).cmp(b.of(bytes)));
    if items.len() <= FEW {
        return whole(items);
    }
    larger.push((0, items.len(), WORD));
    while let Some((low, high, depth)) = larger.pop() {
        let group = &mut items[low..high];
        // One after the other is read without waiting for the one before.
        group.iter_mut().for_each(|item| item.head = item.word(bytes, depth));
        group.sort_unstable_by_key(|item| item.head);
        let mut at = low;
        for equal in group.chunk_by_mut(|a, b| a.head == b.head) {
            let end = at + equal.len();
            // An entry that has ended is less than one that goes on with zeros, which words do not tell apart.
            let has_ended = |item: &Item| usize::from(item.length) < depth + WORD;
            if equal.len() <= FEW || equal.iter().any(has_ended) {
                whole(equal);
            } else {
                larger.push((at, end, depth + WORD));
            }
            at = end;
        }
    }
}

/// A list of entries that is sorted before use.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    bytes: Vec<u8>,
    items: Vec<Item>,
    longest: u16,
}

impl Entries {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.items.clear();
        self.longest = 0;
    }

    /// Forgets all, and takes memory for as many entries like these as so many bytes hold.
    pub fn renew(&mut self, bytes: usize) {
        let each = self.bytes.len().div_ceil(self.items.len().max(1));
        let count = bytes / (each + size_of::<Item>());
        *self = Entries::default();
        self.bytes.reserve_exact((count * each).min(u32::MAX as usize));
        self.items.reserve_exact(count);
    }

    /// Whether the entries of another page may need more memory than is held.
    pub fn is_near_room(&self) -> bool {
        let is_near = |used: usize, room: usize| used > room - room / 16;
        is_near(self.bytes.len(), self.bytes.capacity()) || is_near(self.items.len(), self.items.capacity())
    }

    /// Gives back memory beyond so many bytes.
    pub fn shrink_to(&mut self, bytes: usize) {
        self.bytes.shrink_to(bytes);
        self.items.shrink_to(bytes / size_of::<Item>());
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity() + self.items.capacity() * size_of::<Item>()
    }

    /// Bytes that the entries take of it.
    pub fn used_bytes(&self) -> usize {
        self.bytes.len() + self.items.len() * size_of::<Item>()
    }

    /// Whether there may be no room for the entries of another page: places are 32 bits wide.
    pub fn is_full(&self) -> bool {
        self.bytes.len() > u32::MAX as usize - (64 << 20)
    }

    /// How many.
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds the entry of `record` whose key `write` appends; it returns whether equal keys are allowed. A record without a
    /// key has no entry.
    ///
    /// # Errors
    /// What `write` returns; nothing is added then.
    #[inline]
    pub fn push_with<E>(
        &mut self,
        record: RecordId,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let start = self.bytes.len();
        match write(&mut self.bytes) {
            Ok(free) => {
                if self.bytes.len() > start {
                    self.bytes.extend_from_slice(&record_bytes(record));
                    self.close(start, free);
                }
                Ok(())
            }
            Err(error) => {
                self.bytes.truncate(start);
                Err(error)
            }
        }
    }

    /// Makes the entry of `record` the only one, which needs no sorting; as [`Entries::push_with`].
    ///
    /// # Errors
    /// What `write` returns; there is none then.
    #[inline]
    pub fn set_with<E>(
        &mut self,
        record: RecordId,
        write: impl FnOnce(&mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<(), E> {
        self.clear();
        let free = write(&mut self.bytes)?;
        if self.bytes.is_empty() {
            return Ok(());
        }
        self.bytes.extend_from_slice(&record_bytes(record));
        let length = u16::try_from(self.bytes.len()).unwrap_or(u16::MAX);
        self.longest = length;
        self.items.push(Item { head: 0, start: 0, length, free });
        Ok(())
    }

    /// Adds a key's entry; none for a record that has no key.
    pub fn push(&mut self, key: &[u8], record: RecordId, free: bool) {
        if key.is_empty() {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&record_bytes(record));
        self.close(start, free);
    }

    /// Adds an entry for each of these keys of a record.
    pub fn push_keys(&mut self, keys: &Keys, record: RecordId, free: bool) {
        keys.iter().for_each(|key| self.push(key, record, free));
    }

    /// Adds an entry that is whole; `free` says whether equal keys are allowed.
    pub fn push_entry(&mut self, entry: &[u8], free: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(entry);
        self.close(start, free);
    }

    #[inline]
    fn close(&mut self, start: usize, free: bool) {
        let entry = &self.bytes[start..];
        let length = u16::try_from(entry.len()).unwrap_or(u16::MAX);
        self.longest = self.longest.max(length);
        let item = Item { head: 0, start: start as u32, length, free };
        let head = item.word(&self.bytes, 0);
        self.items.push(Item { head, ..item });
    }

    /// Brings the entries into order: by their first eight bytes, those that are equal there by the next eight, and so on. So most
    /// comparisons are of numbers that stand beside each other, however long a beginning the keys share.
    pub fn sort(&mut self) {
        let (bytes, items) = (&self.bytes[..], &mut self.items[..]);
        let order = |a: &Item, b: &Item| a.head.cmp(&b.head).then_with(|| a.of(bytes).cmp(b.of(bytes)));
        if items.is_sorted_by(|a, b| order(a, b).is_le()) {
            return;
        }
        items.sort_unstable_by_key(|item| item.head);
        let mut larger = Vec::new();
        for group in items.chunk_by_mut(|a, b| a.head == b.head) {
            if let [first, _, ..] = group {
                let head = first.head;
                sort_behind(bytes, group, &mut larger);
                group.iter_mut().for_each(|item| item.head = head);
            }
        }
    }

    /// Reads a byte of each of these entries: sorted ones stand anywhere in memory, and to wait for many of them at a time
    /// takes little longer than for one.
    #[inline]
    pub fn touch(&self, range: std::ops::Range<usize>) {
        let items = self.items.get(range).unwrap_or_default();
        let sum = items.iter().fold(0u8, |sum, item| sum ^ self.bytes[item.start as usize]);
        std::hint::black_box(sum);
    }

    /// The entry at `index`: its key, then its record.
    #[inline]
    pub fn entry(&self, index: usize) -> &[u8] {
        let item = self.items[index];
        &self.bytes[item.start as usize..][..usize::from(item.length)]
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.items.len()).map(|index| self.entry(index))
    }

    /// The key of the entry at `index`.
    #[inline]
    pub fn key(&self, index: usize) -> &[u8] {
        let entry = self.entry(index);
        &entry[..entry.len() - RECORD]
    }

    /// The record of the entry at `index`.
    #[inline]
    pub fn record(&self, index: usize) -> RecordId {
        record_of(self.entry(index))
    }

    /// Whether other records may have the same key, also in a unique index.
    #[inline]
    pub fn is_free(&self, index: usize) -> bool {
        self.items[index].free
    }

    /// The longest entry.
    pub fn longest(&self) -> usize {
        usize::from(self.longest)
    }

    /// Bytes of all entries together.
    pub fn total_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many of the sorted entries are less than a string.
    pub fn place_of(&self, string: &[u8]) -> usize {
        let bytes = &self.bytes;
        let of = |item: &Item| &bytes[item.start as usize..][..usize::from(item.length)];
        self.items.partition_point(|item| of(item) < string)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sorted by words and by bytes alike, and sorted twice.
    fn check(keys: &[Vec<u8>]) {
        let mut entries = Entries::default();
        for (slot, key) in keys.iter().enumerate() {
            // Whole entries, so that one may be the beginning of another.
            entries.push_entry(key, slot % 2 == 0);
        }
        let mut expected: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
        expected.sort_unstable();
        for _ in 0..2 {
            entries.sort();
            assert!(entries.iter().eq(expected.iter().copied()));
            assert!(
                (0..entries.len())
                    .all(|at| entries.items[at].head == entries.items[at].word(&entries.bytes, 0))
            );
        }
    }

    proptest! {
        #[test]
        fn entries_with_long_beginnings_in_common_are_sorted(
            keys in proptest::collection::vec((0..3usize, proptest::collection::vec(0..3u8, 0..30)), 0..400)
        ) {
            let beginnings: [&[u8]; 3] = [b"", b"the same eight and more", &[0; 20]];
            check(&keys.iter().map(|(which, rest)| [beginnings[*which], rest].concat()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn entries_that_end_where_others_go_on_with_zeros_stand_before_them() {
        check(&(0..200).map(|n| vec![0; (n * 7) % 60]).collect::<Vec<_>>());
        check(
            &(0..200u32).map(|n| [&[7; 9][..], &(n * 7919 % 200).to_be_bytes()].concat()).collect::<Vec<_>>(),
        );
        check(&vec![b"one and the same entry".to_vec(); 50]);
    }
}
