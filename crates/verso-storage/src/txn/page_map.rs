//! What a frame knows of the pages of a table, by directory index.
//!
//! Bulk statements add page after page, short ones a few anywhere. So pages stand in short ordered lists, each for a
//! span of indexes, and the lists in a tree: adding behind the last is cheap, and nothing is far from anything. A
//! statement that touches one page allocates nothing.

use std::collections::BTreeMap;

use super::frame::PageUndo;

/// Indexes that one list covers.
const SPAN: u32 = 64;
/// Pages of a span beyond which all of it is expected.
const FEW: usize = 4;

/// See the module.
#[derive(Debug, Default)]
pub struct PageMap {
    /// The only page, as long as there is only one.
    single: Option<(u32, PageUndo)>,
    /// Pages in the lists.
    listed: usize,
    lists: BTreeMap<u32, Vec<(u32, PageUndo)>>,
}

impl PageMap {
    /// Pages of which something is known.
    pub fn page_count(&self) -> usize {
        self.listed + usize::from(self.single.is_some())
    }

    /// What is known of a page.
    pub fn get(&self, index: u32) -> Option<&PageUndo> {
        if let Some((single, undo)) = &self.single {
            return (*single == index).then_some(undo);
        }
        let list = self.lists.get(&(index / SPAN))?;
        let at = list.binary_search_by_key(&index, |entry| entry.0).ok()?;
        Some(&list[at].1)
    }

    /// What is known of a page, to be added to.
    pub fn entry(&mut self, index: u32) -> &mut PageUndo {
        let alone = match &self.single {
            Some((single, _)) => *single == index,
            None => self.listed == 0,
        };
        if alone {
            return &mut self.single.get_or_insert_with(|| (index, PageUndo::default())).1;
        }
        if let Some((single, undo)) = self.single.take() {
            *self.listed_entry(single) = undo;
        }
        self.listed_entry(index)
    }

    fn listed_entry(&mut self, index: u32) -> &mut PageUndo {
        let list = self.lists.entry(index / SPAN).or_default();
        let at = if list.last().is_none_or(|(last, _)| *last < index) {
            Err(list.len())
        } else {
            list.binary_search_by_key(&index, |entry| entry.0)
        };
        let at = at.unwrap_or_else(|at| {
            // A few pages are a short statement's, more a bulk one's, which goes through the whole span.
            if list.len() == list.capacity() && list.len() >= FEW {
                list.reserve_exact(SPAN as usize - list.len());
            }
            list.insert(at, (index, PageUndo::default()));
            self.listed += 1;
            at
        });
        &mut list[at].1
    }

    /// Takes the only page out, if there is only one.
    pub fn take_single(&mut self) -> Option<(u32, PageUndo)> {
        self.single.take()
    }

    /// All that is known, by ascending index.
    pub fn values(&self) -> impl Iterator<Item = &PageUndo> {
        let single = self.single.iter().map(|(_, undo)| undo);
        single.chain(self.lists.values().flatten().map(|(_, undo)| undo))
    }

    /// All that is known, with the page's index, by ascending index.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut PageUndo)> {
        let listed = self.lists.values_mut().flatten().map(|(index, undo)| (*index, undo));
        self.single.iter_mut().map(|(index, undo)| (*index, undo)).chain(listed)
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        let list = |list: &Vec<(u32, PageUndo)>| list.capacity() * size_of::<(u32, PageUndo)>() + 48;
        self.lists.values().map(list).sum()
    }
}

impl IntoIterator for PageMap {
    type Item = (u32, PageUndo);
    type IntoIter = std::iter::Chain<
        std::option::IntoIter<(u32, PageUndo)>,
        std::iter::Flatten<std::collections::btree_map::IntoValues<u32, Vec<(u32, PageUndo)>>>,
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.single.into_iter().chain(self.lists.into_values().flatten())
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
            prop_assert_eq!(map.page_count(), expected.len());
            let found: Vec<u32> = map.into_iter().map(|(index, undo)| {
                assert!(undo.bits.contains(index as u16));
                index
            }).collect();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
