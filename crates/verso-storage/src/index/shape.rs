//! The tree's shape: splits and merges.
//!
//! ```text
//! leaf without room ─► split: new right neighbour ─► separator into the parent, which may be split first
//! leaf with little  ─► merge: the left one takes all over ─► separator out of the parent, and so on upward
//! ```
//!
//! P1. The tree's root is always the same page: when it is split, its content moves to two new ones.
//! P2. Only who holds `structure` changes inner pages, fences and neighbours, so a path read under it stays right.
//!     Every split and merge is one mini-transaction of a page, its neighbour and their parent.
//! P3. A tree is begun with the index's first entry, under `structure` and the exclusive latch of the object's root, which names it from then
//!     on. Who reads an index without a tree has the root latched.
//!
//! Latches: `structure`, then parent, then children, exclusively, then the object's root.

use smallvec::SmallVec;

use super::entries::record_of;
use super::node::{self, CHILD, NewNode, Node, SLOT};
use super::table::Index;
use super::tree::Written;
use crate::StorageError;
use crate::heap::root;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u32_at;
use crate::page::{PageId, TxnId};
use crate::shared::Shared;
use crate::wal::RecordKind;

/// Path from the root to a leaf.
type Path = SmallVec<[PageId; 8]>;

/// Why a split has to look again.
enum Split {
    Done,
    Again,
}

impl Index {
    fn path(&self, shared: &Shared, string: &[u8]) -> Result<Path, StorageError> {
        let pool = &shared.core().pool;
        let mut path = Path::new();
        let mut id = self.tree_there()?;
        loop {
            path.push(id);
            let page = pool.read(id)?;
            let node = self.node(id, &page)?;
            if node.is_leaf() {
                return Ok(path);
            }
            if path.len() > 32 {
                return Err(self.corrupt(id, "inner pages lead in a circle"));
            }
            id = node.child(node.child_for(string));
        }
    }

    /// Splits what has to be split so that the leaf responsible for `string` has room for it.
    pub(super) fn split(
        &self,
        shared: &Shared,
        txn: TxnId,
        string: &[u8],
        reserve: bool,
        written: &mut Written,
    ) -> Result<(), StorageError> {
        let _structure = self.structure.lock();
        loop {
            let path = self.path(shared, string)?;
            let need = SLOT + string.len();
            match self.split_page(shared, txn, &path, string, need, reserve, written)? {
                Split::Done => return Ok(()),
                Split::Again => {}
            }
        }
    }

    /// Splits the last page of `path`, its parent first if that has no room for a separator.
    #[allow(clippy::too_many_arguments, reason = "one place calls it, and itself")]
    fn split_page(
        &self,
        shared: &Shared,
        txn: TxnId,
        path: &[PageId],
        string: &[u8],
        need: usize,
        reserve: bool,
        written: &mut Written,
    ) -> Result<Split, StorageError> {
        let (id, above) = path.split_last().ok_or_else(|| self.corrupt(self.root(), "an empty path"))?;
        let mut mini = Mini::begin(shared.core(), txn);
        if reserve {
            mini.use_reserve();
        }
        let parent = above.last().map(|parent| mini.write(*parent)).transpose()?;
        let page = mini.write(*id)?;
        let bytes = mini.page(page).to_vec();
        let node = self.node(*id, &bytes)?;
        if node.room() >= need {
            return Ok(Split::Done);
        }
        let (cut, separator) = choose_cut(&node, string);
        if let Some(parent) = parent {
            let need = SLOT + CHILD + separator.len();
            if self.node(mini.page_id(parent), mini.page(parent))?.room() < need {
                drop(mini);
                self.split_page(shared, txn, above, &separator, need, reserve, written)?;
                return Ok(Split::Again);
            }
        }
        let root = mini.write(self.root())?;
        let level = node.level();
        let child = |index: usize| (!node.is_leaf()).then(|| node.child(index));
        let strings = |range: std::ops::Range<usize>| -> Vec<(Option<PageId>, Vec<u8>)> {
            range.map(|index| (child(index), node.string(index))).collect()
        };
        let right = self.new_page(&mut mini, shared, root)?;
        let right_handle = mini.create(right)?;
        let right_node = NewNode {
            page: right,
            owner: self.object(),
            level,
            next: node.next(),
            low: &separator,
            high: node.high(),
        };
        let right_cells = strings(cut..node.count());
        if let Some(parent) = parent {
            init(&mut mini, right_handle, &right_node, &right_cells)?;
            mini.apply_with(page, RecordKind::INDEX_FENCE, |out| {
                node::fence_payload(out, cut, right, Some(&separator));
            })?;
            let above = self.node(mini.page_id(parent), mini.page(parent))?;
            let index = above.child_for(&separator) + 1;
            let suffix = above.truncated(&separator).to_vec();
            mini.apply_with(parent, RecordKind::INDEX_INSERT, |out| {
                out.extend_from_slice(&1u16.to_le_bytes());
                out.extend_from_slice(&(index as u16).to_le_bytes());
                node::encode_cell(out, Some(right), &suffix);
            })?;
        } else {
            // P1: the root stays where it is.
            let left = self.new_page(&mut mini, shared, root)?;
            let left_handle = mini.create(left)?;
            let left_node =
                NewNode { page: left, next: right, low: node.low(), high: Some(&separator), ..right_node };
            init(&mut mini, right_handle, &right_node, &right_cells)?;
            init(&mut mini, left_handle, &left_node, &strings(0..cut))?;
            let top = NewNode {
                page: *id,
                level: level + 1,
                next: PageId::NONE,
                low: &[],
                high: None,
                ..right_node
            };
            init(&mut mini, page, &top, &[(Some(left), Vec::new()), (Some(right), separator.clone())])?;
        }
        written.add(mini.commit()?);
        Ok(Split::Again)
    }

    /// Makes the tree an empty one, with a page of its own, where it has none (P3).
    pub(super) fn begin_tree(
        &self,
        shared: &Shared,
        txn: TxnId,
        reserve: bool,
        written: &mut Written,
    ) -> Result<(), StorageError> {
        let _structure = self.structure.lock();
        let mut mini = Mini::begin(shared.core(), txn);
        if reserve {
            mini.use_reserve();
        }
        let root = mini.write(self.root())?;
        if self.note_tree(mini.page(root)).is_some() {
            return Ok(());
        }
        let tree = self.new_page(&mut mini, shared, root)?;
        let page = mini.create(tree)?;
        let new =
            NewNode { page: tree, owner: self.object(), level: 0, next: PageId::NONE, low: &[], high: None };
        init(&mut mini, page, &new, &[])?;
        let mut change = Vec::new();
        root::patch(&mut change, root::TREE, &tree.0.to_le_bytes());
        mini.apply(root, RecordKind::PATCH, &change)?;
        // The latch is still held: who finds the tree finds its page.
        written.add(mini.commit_with(|_, _| self.set_tree(tree))?);
        Ok(())
    }

    /// A page of the object, counted.
    fn new_page<'e>(
        &self,
        mini: &mut Mini<'e>,
        shared: &'e Shared,
        root: PageHandle,
    ) -> Result<PageId, StorageError> {
        let page = root::allocate_page(mini, &shared.space, self.object(), root)?;
        // From here on nothing may fail for want of space.
        mini.use_reserve();
        count_pages(mini, root, 1)?;
        Ok(page)
    }

    fn free(&self, mini: &mut Mini<'_>, page: PageId) -> Result<(), StorageError> {
        let root = mini.write(self.root())?;
        root::free_page(mini, self.object(), root, page)?;
        count_pages(mini, root, -1)
    }

    /// Merges the leaf responsible for `string` with a neighbour if both fit a page, and goes on upward.
    pub(super) fn merge(
        &self,
        shared: &Shared,
        txn: TxnId,
        string: &[u8],
        written: &mut Written,
    ) -> Result<(), StorageError> {
        let _structure = self.structure.lock();
        let path = self.path(shared, string)?;
        for depth in (1..path.len()).rev() {
            if !self.merge_page(shared, txn, path[depth - 1], path[depth], string, written)? {
                break;
            }
        }
        while self.collapse(shared, txn, written)? {}
        Ok(())
    }

    fn merge_page(
        &self,
        shared: &Shared,
        txn: TxnId,
        parent: PageId,
        page: PageId,
        string: &[u8],
        written: &mut Written,
    ) -> Result<bool, StorageError> {
        let mut mini = Mini::begin(shared.core(), txn);
        let parent = mini.write(parent)?;
        let above = self.node(mini.page_id(parent), mini.page(parent))?;
        let index = above.child_for(string);
        if above.count() < 2 || above.child(index) != page {
            return Ok(false);
        }
        let left_index = index.saturating_sub(1);
        let (left_id, right_id) = (above.child(left_index), above.child(left_index + 1));
        let left = mini.write(left_id)?;
        let right = mini.write(right_id)?;
        let (left_bytes, right_bytes) = (mini.page(left).to_vec(), mini.page(right).to_vec());
        let (left_node, right_node) = (self.node(left_id, &left_bytes)?, self.node(right_id, &right_bytes)?);
        let size = shared.page_size;
        if left_node.used().min(right_node.used()) > size / 8 {
            return Ok(false);
        }
        let (low, high) = (left_node.low(), right_node.high());
        let prefix = node::prefix_of(low, high);
        let grown = |node: &Node<'_>| -> usize {
            node.used() + node.count() * (node.prefix().len().saturating_sub(prefix))
        };
        let room = node::room_of_empty(size, low, high);
        let some_empty = left_node.count() == 0 || right_node.count() == 0;
        let limit = if some_empty { room } else { room / 4 * 3 };
        if grown(&left_node) + grown(&right_node) > limit {
            return Ok(false);
        }
        let root = mini.write(self.root())?;
        let _ = root;
        mini.apply_with(left, RecordKind::INDEX_FENCE, |out| {
            node::fence_payload(out, left_node.count(), right_node.next(), high);
        })?;
        if right_node.count() > 0 {
            mini.apply_with(left, RecordKind::INDEX_INSERT, |out| {
                out.extend_from_slice(&(right_node.count() as u16).to_le_bytes());
                for index in 0..right_node.count() {
                    out.extend_from_slice(&((left_node.count() + index) as u16).to_le_bytes());
                    let child = (!right_node.is_leaf()).then(|| right_node.child(index));
                    node::encode_cell(out, child, &right_node.string(index)[prefix..]);
                }
            })?;
        }
        mini.apply(parent, RecordKind::INDEX_REMOVE, &((left_index + 1) as u16).to_le_bytes())?;
        self.free(&mut mini, right_id)?;
        written.add(mini.commit()?);
        Ok(true)
    }

    /// An inner root with one child takes the child's content over (P1).
    fn collapse(&self, shared: &Shared, txn: TxnId, written: &mut Written) -> Result<bool, StorageError> {
        let tree = self.tree_there()?;
        let mut mini = Mini::begin(shared.core(), txn);
        let top = mini.write(tree)?;
        let node = self.node(tree, mini.page(top))?;
        if node.is_leaf() || node.count() != 1 {
            return Ok(false);
        }
        let id = node.child(0);
        let only = mini.write(id)?;
        let bytes = mini.page(only).to_vec();
        let child = self.node(id, &bytes)?;
        mini.write(self.root())?;
        let new = NewNode {
            page: tree,
            owner: self.object(),
            level: child.level(),
            next: PageId::NONE,
            low: &[],
            high: None,
        };
        let cells: Vec<(Option<PageId>, Vec<u8>)> = (0..child.count())
            .map(|index| ((!child.is_leaf()).then(|| child.child(index)), child.string(index)))
            .collect();
        init(&mut mini, top, &new, &cells)?;
        self.free(&mut mini, id)?;
        written.add(mini.commit()?);
        Ok(true)
    }
}

pub(super) fn init(
    mini: &mut Mini<'_>,
    handle: PageHandle,
    new: &NewNode<'_>,
    cells: &[(Option<PageId>, Vec<u8>)],
) -> Result<(), StorageError> {
    mini.apply_with(handle, RecordKind::INDEX_INIT, |out| {
        new.encode(out, cells.iter().map(|(child, string)| (*child, &string[..])));
    })
}

/// Changes the number of pages that the object's root counts.
pub(super) fn count_pages(mini: &mut Mini<'_>, root: PageHandle, change: i32) -> Result<(), StorageError> {
    let pages = u32_at(mini.page(root), root::DATA_PAGES).saturating_add_signed(change);
    let mut payload = Vec::with_capacity(8);
    root::patch(&mut payload, root::DATA_PAGES, &pages.to_le_bytes());
    mini.apply(root, RecordKind::PATCH, &payload)
}

/// The shortest string greater than `left` and not greater than `right`.
pub(super) fn separator(left: &[u8], right: &[u8]) -> Vec<u8> {
    let common = left.iter().zip(right).take_while(|(a, b)| a == b).count();
    right[..(common + 1).min(right.len())].to_vec()
}

/// Whether the records of two entries stand one behind the other: so do those of who inserts ascending keys.
fn follows(before: &[u8], string: &[u8]) -> bool {
    let (before, record) = (record_of(before), record_of(string));
    match record.slot {
        0 => before.page_index < record.page_index,
        slot => before.page_index == record.page_index && before.slot == slot - 1,
    }
}

/// Where a full page is cut, and the low fence of its right part. Who appends, to the tree or to a stretch of keys within
/// it, leaves full pages behind (as in PostgreSQL's nbtree, by the places of the records); the keys behind the stretch go to
/// the right, for once, so that it goes on at the end of a page. Else the halves are about equal, with a short separator.
fn choose_cut(node: &Node<'_>, string: &[u8]) -> (usize, Vec<u8>) {
    let count = node.count();
    // Each part gets a fence, which has to fit as well.
    let fits = |cut: usize, fence: &[u8]| -> bool {
        let part = |bytes: usize, cells: usize, low: &[u8], high: Option<&[u8]>| -> bool {
            let gained = node::prefix_of(low, high).saturating_sub(node.prefix().len()) * cells;
            bytes.saturating_sub(gained) <= node.room_between(low, high)
        };
        let behind: usize = (cut..count).map(|at| SLOT + node.cell(at).len()).sum();
        part(node.used().saturating_sub(behind), cut, node.low(), Some(fence))
            && part(behind, count - cut, fence, node.high())
    };
    let at = if node.is_leaf() { node.find(string).0 } else { 0 };
    // A left part of less than half would not be a full page.
    if at > 0 && at * 2 >= count {
        let before = node.string(at - 1);
        let fence =
            if at == count { separator(&before, string) } else { separator(string, &node.string(at)) };
        if (at == count || follows(&before, string)) && fits(at, &fence) {
            return (at, fence);
        }
    }
    let cut_at = |index: usize| -> Vec<u8> {
        let right = node.string(index);
        if node.is_leaf() { separator(&node.string(index - 1), &right) } else { right }
    };
    // The middle always fits: no cell, and no fence, takes more than a sixth of the page.
    let (total, mut before) = (node.used(), 0);
    let mut middle = 1;
    for index in 0..count.saturating_sub(1) {
        before += SLOT + node.cell(index).len();
        middle = index + 1;
        if before * 2 >= total {
            break;
        }
    }
    let reach = count / 16;
    let (from, to) = (middle.saturating_sub(reach).max(1), (middle + reach).min(count - 1));
    let mut best = (middle, cut_at(middle));
    for index in from..=to {
        let other = cut_at(index);
        if other.len() < best.1.len() && fits(index, &other) {
            best = (index, other);
        }
    }
    best
}
