//! An ordered map whose copies share what they have in common: the next version of the catalog is a copy of the last one
//! with a few entries changed.
//!
//! ```text
//! map ─► chunks: [ ── │ ── │ ── ]          copy: one counter
//!                  │    │    └─► up to 128 entries, in order
//! change of one entry: the list of chunks and one chunk are copied, unless nobody shares them
//! ```
//!
//! M1. Keys ascend within a chunk and from chunk to chunk; no chunk is empty.
//! M2. A change is seen by this map only, never by its copies.

use std::borrow::Borrow;
use std::sync::Arc;

/// Most entries of a chunk: a change copies one chunk and one pointer for each of the others.
const CHUNK_MAX: usize = 128;

type Chunk<K, V> = Vec<(K, V)>;

/// An ordered map; a clone costs next to nothing.
#[derive(Clone, Debug)]
pub struct SharedMap<K, V> {
    chunks: Arc<Vec<Arc<Chunk<K, V>>>>,
    len: usize,
}

/// By their entries: how these are cut into chunks depends on the order in which they came.
impl<K: PartialEq, V: PartialEq> PartialEq for SharedMap<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> SharedMap<K, V> {
        SharedMap { chunks: Arc::default(), len: 0 }
    }
}

impl<K, V> SharedMap<K, V> {
    /// Entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Every entry, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(key, value)| (key, value))
    }

    /// Every value, by key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.chunks.iter().flat_map(|chunk| chunk.iter()).map(|(_, value)| value)
    }

    /// The entries from the first one on that is not `before`; that holds for none behind one for which it does not.
    pub fn from(&self, before: impl Fn(&K) -> bool) -> impl Iterator<Item = (&K, &V)> {
        let first = self.chunks.partition_point(|chunk| chunk.last().is_some_and(|(key, _)| before(key)));
        let skipped = self.chunks.get(first).map_or(0, |chunk| chunk.partition_point(|(key, _)| before(key)));
        self.chunks[first..]
            .iter()
            .flat_map(|chunk| chunk.iter())
            .skip(skipped)
            .map(|(key, value)| (key, value))
    }
}

impl<K: Ord + Clone, V: Clone> SharedMap<K, V> {
    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (chunk, at) = self.find(key)?;
        Some(&self.chunks[chunk][at].1)
    }

    /// The value of a key, to be changed.
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let (chunk, at) = self.find(key)?;
        let chunk = Arc::make_mut(&mut Arc::make_mut(&mut self.chunks)[chunk]);
        Some(&mut chunk[at].1)
    }

    /// Adds an entry, or puts it in the place of the one that the key had.
    pub fn insert(&mut self, key: K, value: V) {
        let chunks = Arc::make_mut(&mut self.chunks);
        let found = chunks.partition_point(|chunk| chunk.last().is_some_and(|(last, _)| *last < key));
        // What is greater than all others goes to the end of the last chunk.
        let number = found.min(chunks.len().saturating_sub(1));
        let Some(shared) = chunks.get_mut(number) else {
            chunks.push(Arc::new(vec![(key, value)]));
            self.len = 1;
            return;
        };
        let chunk = Arc::make_mut(shared);
        match chunk.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(at) => chunk[at].1 = value,
            Err(at) => {
                chunk.insert(at, (key, value));
                self.len += 1;
                if chunk.len() > CHUNK_MAX {
                    // Keys that ascend, as numbers do, leave full chunks behind.
                    let keep = if at + 1 == chunk.len() { CHUNK_MAX } else { CHUNK_MAX / 2 };
                    let rest = chunk.split_off(keep);
                    chunks.insert(number + 1, Arc::new(rest));
                }
            }
        }
    }

    /// Removes an entry and gives its value back.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (number, at) = self.find(key)?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(&mut chunks[number]);
        let (_, value) = chunk.remove(at);
        self.len -= 1;
        let left = chunk.len();
        if left == 0 {
            chunks.remove(number);
        } else if left < CHUNK_MAX / 8 && number > 0 && chunks[number - 1].len() + left <= CHUNK_MAX / 2 {
            let rest = Arc::unwrap_or_clone(chunks.remove(number));
            Arc::make_mut(&mut chunks[number - 1]).extend(rest);
        }
        Some(value)
    }

    fn find<Q: Ord + ?Sized>(&self, key: &Q) -> Option<(usize, usize)>
    where
        K: Borrow<Q>,
    {
        let number = self.chunks.partition_point(|chunk| {
            chunk.last().is_some_and(|(last, _)| <K as Borrow<Q>>::borrow(last) < key)
        });
        let chunk = self.chunks.get(number)?;
        let at = chunk.binary_search_by(|(known, _)| <K as Borrow<Q>>::borrow(known).cmp(key)).ok()?;
        Some((number, at))
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for SharedMap<K, V> {
    fn extend<T: IntoIterator<Item = (K, V)>>(&mut self, entries: T) {
        entries.into_iter().for_each(|(key, value)| self.insert(key, value));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Keys in a jumbled order, some of them again and again.
    fn keys(count: u64) -> impl Iterator<Item = u64> {
        (0..count).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 51)
    }

    fn check(map: &SharedMap<u64, u64>, model: &BTreeMap<u64, u64>) {
        assert!(map.iter().eq(model.iter()));
        assert_eq!(map.len(), model.len());
        assert!(map.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK_MAX));
    }

    #[test]
    fn maps_of_the_same_entries_are_equal_whatever_came_first() {
        let (mut one, mut other) = (SharedMap::default(), SharedMap::default());
        (0..1000_u64).for_each(|key| one.insert(key, key));
        (0..2000_u64).rev().for_each(|key| other.insert(key, key));
        (1000..2000_u64).for_each(|key| assert_eq!(other.remove(&key), Some(key)));
        assert_ne!(one.chunks.len(), other.chunks.len());
        assert_eq!(one, other);
        other.insert(7, 8);
        assert_ne!(one, other);
    }

    #[test]
    fn it_is_a_map_and_its_copies_stay_as_they_were() {
        let (mut map, mut model) = (SharedMap::default(), BTreeMap::new());
        let mut copies = Vec::new();
        for (n, key) in (0..).zip(keys(20_000)) {
            if n % 3 == 2 {
                assert_eq!(map.remove(&(key / 2)), model.remove(&(key / 2)));
            } else {
                map.insert(key, n);
                model.insert(key, n);
            }
            if let Some(value) = map.get_mut(&(key + 1)) {
                *value += 1;
                *model.get_mut(&(key + 1)).unwrap() += 1;
            }
            if n % 4000 == 0 {
                copies.push((map.clone(), model.clone()));
            }
        }
        copies.push((map, model));
        for (map, model) in &copies {
            check(map, model);
            for key in keys(200) {
                assert_eq!(map.get(&key), model.get(&key));
                let from: Vec<_> = map.from(|known| *known < key).take(3).collect();
                assert!(from.into_iter().eq(model.range(key..).take(3)));
            }
        }
    }

    #[test]
    fn it_can_be_emptied_and_filled_again() {
        let mut map = SharedMap::default();
        for round in 0..2 {
            map.extend((0..1000u64).map(|key| (key, round)));
            assert_eq!(map.len(), 1000);
            (0..1000).rev().for_each(|key| assert_eq!(map.remove(&key), Some(round)));
            check(&map, &BTreeMap::new());
        }
        assert_eq!(map.remove(&1), None);
    }

    #[test]
    fn a_change_copies_one_chunk() {
        let mut map = SharedMap::default();
        map.extend((0..10_000u64).map(|key| (key, 0)));
        let before = map.clone();
        map.insert(5000, 1);
        map.remove(&5001);
        let shared =
            map.chunks.iter().filter(|chunk| before.chunks.iter().any(|old| Arc::ptr_eq(old, chunk)));
        assert_eq!(shared.count(), map.chunks.len() - 1);
        // Full chunks stay behind keys that ascend.
        assert_eq!(before.chunks.len(), 10_000usize.div_ceil(CHUNK_MAX));
    }
}
