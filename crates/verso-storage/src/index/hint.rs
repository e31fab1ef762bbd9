//! Leaves that are found without a way down the tree: where the last entry went, the next one mostly goes, too.
//!
//! H1. A hint is never trusted: a leaf of the index says itself what it is for.
//! H2. A leaf whose LSN is that of the writer's last entry there is as that left it, for every change of a page moves its LSN;
//!     not so in an index that is not logged (U5).

use smallvec::SmallVec;

use super::node::Node;
use super::table::Index;
use crate::buffer::ExclusivePage;
use crate::page::{Lsn, ObjectId, PageId, header};
use crate::shared::Shared;

/// Where a writer's last entry of an index went.
#[derive(Debug)]
pub(super) struct LeafHint {
    index: ObjectId,
    /// None yet, at first.
    pub(super) leaf: PageId,
    /// Behind it.
    pub(super) place: usize,
    /// Of the leaf as that entry left it: then it still is what it was.
    lsn: Lsn,
    /// An entry was added in the mini-transaction under way.
    added: bool,
}

impl LeafHint {
    /// The next entry goes to another leaf.
    pub(super) fn turn_to(&mut self, leaf: PageId) {
        (self.leaf, self.place, self.lsn) = (leaf, 0, Lsn::ZERO);
    }

    /// An entry goes to this place of the leaf.
    #[inline]
    pub(super) fn add_at(&mut self, index: usize) {
        (self.place, self.added) = (index + 1, true);
    }
}

/// Leaves that one writer's last entries went to, a few indexes' at a time.
#[derive(Debug, Default)]
pub struct LeafHints(SmallVec<[LeafHint; 4]>);

impl LeafHints {
    /// Indexes remembered.
    const MOST: usize = 8;

    /// The mini-transaction that added entries ends here in the log.
    #[inline]
    pub fn left(&mut self, end: Lsn) {
        self.0.iter_mut().filter(|hint| hint.added).for_each(|hint| (hint.lsn, hint.added) = (end, false));
    }

    #[inline]
    pub(super) fn of(&mut self, index: ObjectId) -> &mut LeafHint {
        let at = self.0.iter().position(|hint| hint.index == index).unwrap_or_else(|| {
            if self.0.len() == Self::MOST {
                self.0.remove(0);
            }
            self.0.push(LeafHint { index, leaf: PageId::NONE, place: 0, lsn: Lsn::ZERO, added: false });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

impl Index {
    /// The page of a hint, latched exclusively, if it is the leaf responsible for `string` and nobody has it. Who goes on
    /// where it was before needs no way down: a leaf of this index says itself what it is for.
    pub(super) fn hinted<'e>(
        &self,
        shared: &'e Shared,
        hint: PageId,
        string: &[u8],
    ) -> Option<ExclusivePage<'e>> {
        let page = shared.core().pool.try_write(hint).ok()??;
        self.is_for(&page, string).then_some(page)
    }

    /// Whether a page is the leaf responsible for `string`.
    fn is_for(&self, page: &[u8], string: &[u8]) -> bool {
        header::owner(page) == self.object()
            && Node::of(page).is_ok_and(|node| node.is_leaf() && node.covers(string))
    }

    /// As [`Index::hinted`] for `probe`, and whether `string`, which begins with that, simply goes behind all others there:
    /// the leaf is as the hint's entry left it.
    #[inline]
    pub(super) fn hinted_as_left<'e>(
        &self,
        shared: &'e Shared,
        hint: &LeafHint,
        string: &[u8],
        probe: &[u8],
    ) -> Option<(ExclusivePage<'e>, bool)> {
        let page = shared.core().pool.try_write(hint.leaf).ok()??;
        let behind = page.lsn() == hint.lsn
            && !shared.core().unlogged.contains(self.object())
            && Node::of(&page)
                .is_ok_and(|node| node.count() == hint.place && node.ends_before(string, probe));
        (behind || self.is_for(&page, probe)).then_some((page, behind))
    }
}
