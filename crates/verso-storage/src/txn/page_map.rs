//! What a frame knows of the pages of a table, by directory index.
//!
//! Bulk statements add page after page, short ones a few anywhere. So pages stand in short ordered lists, each for a
//! span of indexes, and the lists in a tree: adding behind the last is cheap, and nothing is far from anything.

use std::collections::BTreeMap;

use super::frame::PageUndo;

/// Indexes that one list covers.
const SPAN: u32 = 64;

/// See the module.
#[derive(Debug, Default)]
pub struct PageMap {
    lists: BTreeMap<u32, Vec<(u32, PageUndo)>>,
}

impl PageMap {
    /// What is known of a page.
    pub fn get(&self, index: u32) -> Option<&PageUndo> {
        let list = self.lists.get(&(index / SPAN))?;
        let at = list.binary_search_by_key(&index, |entry| entry.0).ok()?;
        Some(&list[at].1)
    }

    /// What is known of a page, to be added to.
    pub fn entry(&mut self, index: u32) -> &mut PageUndo {
        let list = self.lists.entry(index / SPAN).or_default();
        let at = if list.last().is_none_or(|(last, _)| *last < index) {
            Err(list.len())
        } else {
            list.binary_search_by_key(&index, |entry| entry.0)
        };
        let at = at.unwrap_or_else(|at| {
            list.insert(at, (index, PageUndo::default()));
            at
        });
        &mut list[at].1
    }

    /// All that is known, by ascending index.
    pub fn values(&self) -> impl Iterator<Item = &PageUndo> {
        self.lists.values().flatten().map(|(_, undo)| undo)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let list = |list: &Vec<(u32, PageUndo)>| list.capacity() * size_of::<(u32, PageUndo)>() + 48;
        self.lists.values().map(list).sum()
    }
}

impl IntoIterator for PageMap {
    type Item = (u32, PageUndo);
    type IntoIter = std::iter::Flatten<std::collections::btree_map::IntoValues<u32, Vec<(u32, PageUndo)>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.lists.into_values().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pages_are_found_again_and_come_in_order(indexes in prop::collection::vec(0u32..300, 0..200)) {
            let mut map = PageMap::default();
            for index in &indexes {
                map.entry(*index).bits.insert(*index as u16);
            }
            let expected: std::collections::BTreeSet<u32> = indexes.into_iter().collect();
            for index in 0..300 {
                prop_assert_eq!(map.get(index).is_some(), expected.contains(&index));
            }
            prop_assert_eq!(map.values().count(), expected.len());
            let found: Vec<u32> = map.into_iter().map(|(index, undo)| {
                assert!(undo.bits.contains(index as u16));
                index
            }).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
