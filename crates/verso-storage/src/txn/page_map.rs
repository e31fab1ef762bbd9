//! What a frame knows of the pages of a table, by directory index.
//!
//! Bulk statements add page after page, short ones a few anywhere, or to the page of the one before. So the last page
//! stands by itself, and the others in short ordered lists, each for a span of indexes, and the lists in a tree: adding
//! behind the last is cheap, and nothing is far from anything. A statement that touches one page allocates nothing.

use std::collections::BTreeMap;

use super::frame::PageUndo;

/// Indexes that one list covers.
const SPAN: u32 = 64;
/// Pages of a span beyond which all of it is expected.
const FEW: usize = 4;

/// See the module.
#[derive(Debug, Default)]
pub struct PageMap {
    /// The page added last, which stands in no list: a statement after the other adds to it.
    last: Option<(u32, PageUndo)>,
    /// Pages in the lists.
    listed: usize,
    lists: BTreeMap<u32, Vec<(u32, PageUndo)>>,
}

impl PageMap {
    /// Pages of which something is known.
    pub fn page_count(&self) -> usize {
        self.listed + usize::from(self.last.is_some())
    }

    /// What is known of a page.
    pub fn get(&self, index: u32) -> Option<&PageUndo> {
        if let Some((last, undo)) = &self.last
            && *last == index
        {
            return Some(undo);
        }
        let list = self.lists.get(&(index / SPAN))?;
        let at = list.binary_search_by_key(&index, |entry| entry.0).ok()?;
        Some(&list[at].1)
    }

    /// What is known of a page, to be added to.
    pub fn entry(&mut self, index: u32) -> &mut PageUndo {
        if self.last.as_ref().is_none_or(|(last, _)| *last != index) && self.is_listed(index) {
            return self.listed_entry(index);
        }
        if let Some((last, undo)) = self.last.take_if(|(last, _)| *last != index) {
            *self.listed_entry(last) = undo;
        }
        &mut self.last.get_or_insert_with(|| (index, PageUndo::default())).1
    }

    fn is_listed(&self, index: u32) -> bool {
        let list = self.lists.get(&(index / SPAN));
        list.is_some_and(|list| list.binary_search_by_key(&index, |entry| entry.0).is_ok())
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
        self.last.take_if(|_| self.listed == 0)
    }

    /// All that is known.
    pub fn values(&self) -> impl Iterator<Item = &PageUndo> {
        let listed = self.lists.values().flatten().map(|(_, undo)| undo);
        listed.chain(self.last.iter().map(|(_, undo)| undo))
    }

    /// All that is known, with the page's index.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut PageUndo)> {
        let listed = self.lists.values_mut().flatten();
        listed.chain(&mut self.last).map(|(index, undo)| (*index, undo))
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
        std::iter::Flatten<std::collections::btree_map::IntoValues<u32, Vec<(u32, PageUndo)>>>,
        std::option::IntoIter<(u32, PageUndo)>,
    >;

    fn into_iter(self) -> Self::IntoIter {
        self.lists.into_values().flatten().chain(self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn pages_are_found_again(indexes in prop::collection::vec(0u32..300, 0..200)) {
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
            for (index, undo) in map.iter_mut() {
                prop_assert!(undo.bits.contains(index as u16) && undo.bits.len() == 1);
            }
            let mut found: Vec<u32> = map.into_iter().map(|(index, _)| index).collect();
            found.sort_unstable();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
