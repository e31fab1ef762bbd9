//! Leaves written from left to right, full up to the fill factor; and the levels above.

use super::super::node::{self, CHILD, NewNode, SLOT};
use super::super::shape::{count_pages, separator};
use super::super::table::Index;
use super::super::tree::Written;
use crate::StorageError;
use crate::heap::root;
use crate::mini::Mini;
use crate::page::{PageId, TxnId};
use crate::shared::Shared;
use crate::wal::RecordKind;

/// Inner pages are filled to this share, in per cent.
const INNER_FILL: usize = 90;

/// Pages of a level with their low fences.
pub(in crate::index) type Pages = Vec<(PageId, Vec<u8>)>;

/// What stands behind the leaves of a part.
#[derive(Clone)]
pub(in crate::index) struct Behind {
    pub page: PageId,
    /// Its low fence.
    pub low: Option<Vec<u8>>,
}

/// A page of the object, counted; nobody can name it yet.
pub(in crate::index) fn allocate(
    shared: &Shared,
    txn: TxnId,
    index: &Index,
    written: &mut Written,
) -> Result<PageId, StorageError> {
    let mut mini = Mini::begin(shared.core(), txn);
    let root = mini.write(index.root())?;
    let page = root::allocate_page(&mut mini, &shared.space, index.object(), root)?;
    mini.use_reserve();
    count_pages(&mut mini, root, 1)?;
    written.add(mini.commit()?);
    Ok(page)
}

/// A page of the tree without anything.
fn empty(index: &Index, page: PageId) -> NewNode<'static> {
    NewNode { page, owner: index.object(), level: 0, next: PageId::NONE, low: &[], high: None }
}

/// Writes the leaves of one part of the keys.
pub(in crate::index) struct LeafWriter<'w> {
    shared: &'w Shared,
    txn: TxnId,
    index: &'w Index,
    behind: Behind,
    page: PageId,
    low: Vec<u8>,
    /// Entries that are not written yet, one behind the other, and where each ends.
    bytes: Vec<u8>,
    ends: Vec<u32>,
    pages: Pages,
    written: Written,
}

impl<'w> LeafWriter<'w> {
    /// For a part that begins at `low` with a page that is there.
    pub fn new(
        shared: &'w Shared,
        txn: TxnId,
        index: &'w Index,
        (page, low): (PageId, Vec<u8>),
        behind: Behind,
    ) -> LeafWriter<'w> {
        let (bytes, ends) = (Vec::with_capacity(shared.page_size * 2), Vec::new());
        let (pages, written) = (Pages::new(), Written::default());
        LeafWriter { shared, txn, index, behind, page, low, bytes, ends, pages, written }
    }

    fn entry(&self, at: usize) -> &[u8] {
        let from = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.bytes[from..self.ends[at] as usize]
    }

    /// Adds the next entry.
    ///
    /// # Errors
    /// `Full`, `Poisoned`.
    pub fn push(&mut self, entry: &[u8]) -> Result<(), StorageError> {
        let count = self.ends.len();
        if count > 0 {
            // As many as fit if the page's strings have in common what its first and last one have.
            let size = self.bytes.len() + entry.len() + (count + 1) * SLOT;
            let common = node::prefix_of(&self.low, Some(entry)) * (count + 1);
            let part = self.shared.page_size * usize::from(self.index.spec().fill_factor) / 100;
            let target = part.min(node::room_of_empty(self.shared.page_size, &[], None));
            if size + self.low.len() + entry.len() > target + common {
                self.close(Some(entry))?;
            }
        }
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// Writes a page of the first entries, as many as fit; all of them where that is so. `next` is the entry behind them.
    fn close(&mut self, next: Option<&[u8]>) -> Result<(), StorageError> {
        let count = self.ends.len();
        let mut end = count;
        let mut high;
        loop {
            let behind = if end < count { Some(self.entry(end)) } else { next };
            high = match behind {
                Some(behind) => Some(separator(self.entry(end - 1), behind)),
                None => self.behind.low.clone(),
            };
            let prefix = node::prefix_of(&self.low, high.as_deref());
            let size = self.ends[end - 1] as usize + end * SLOT - end * prefix;
            if size <= node::room_of_empty(self.shared.page_size, &self.low, high.as_deref()) {
                break;
            }
            end -= (end / 64).max(1);
        }
        let is_last = end == count && next.is_none();
        let following = match is_last {
            true => self.behind.page,
            false => allocate(self.shared, self.txn, self.index, &mut self.written)?,
        };
        let mut mini = Mini::begin(self.shared.core(), self.txn);
        mini.use_reserve();
        let handle = mini.create(self.page)?;
        let new = NewNode {
            next: following,
            low: &self.low,
            high: high.as_deref(),
            ..empty(self.index, self.page)
        };
        mini.apply_with(handle, RecordKind::INDEX_INIT, |out| {
            new.encode(out, (0..end).map(|at| (None, self.entry(at))));
        })?;
        self.written.add(mini.commit()?);
        self.pages.push((self.page, std::mem::take(&mut self.low)));
        self.low = high.unwrap_or_default();
        self.page = following;
        let gone = self.ends[end - 1];
        self.bytes.drain(..gone as usize);
        self.ends.drain(..end);
        self.ends.iter_mut().for_each(|end| *end -= gone);
        Ok(())
    }

    /// Writes what is left; the part has an entry.
    ///
    /// # Errors
    /// As [`LeafWriter::push`].
    pub fn finish(mut self) -> Result<(Pages, Written), StorageError> {
        while !self.ends.is_empty() {
            self.close(None)?;
        }
        Ok((self.pages, self.written))
    }
}

/// Writes the levels above the leaves; the tree's root page comes last, so the old tree stands until then.
pub(in crate::index) fn load_above(
    shared: &Shared,
    txn: TxnId,
    index: &Index,
    mut children: Pages,
    written: &mut Written,
) -> Result<(), StorageError> {
    let mut level = 1;
    loop {
        let size: usize = children.iter().map(|(_, low)| SLOT + CHILD + low.len()).sum();
        if size <= node::room_of_empty(shared.page_size, &[], None) {
            let cells = children.iter().map(|(page, low)| (Some(*page), low.as_slice()));
            return load_root(shared, txn, index, level, cells, written);
        }
        children = load_level(shared, txn, index, level, &children, written)?;
        level += 1;
    }
}

/// Writes the tree's root page.
pub(in crate::index) fn load_root<'c>(
    shared: &Shared,
    txn: TxnId,
    index: &Index,
    level: u16,
    cells: impl Iterator<Item = (Option<PageId>, &'c [u8])>,
    written: &mut Written,
) -> Result<(), StorageError> {
    let mut mini = Mini::begin(shared.core(), txn);
    let tree = index.tree_there()?;
    let page = mini.write(tree)?;
    let top = NewNode { level, ..empty(index, tree) };
    mini.apply_with(page, RecordKind::INDEX_INIT, |out| top.encode(out, cells))?;
    written.add(mini.commit()?);
    Ok(())
}

/// Writes one level of inner pages, from left to right.
fn load_level(
    shared: &Shared,
    txn: TxnId,
    index: &Index,
    level: u16,
    children: &Pages,
    written: &mut Written,
) -> Result<Pages, StorageError> {
    let target = shared.page_size * INNER_FILL / 100;
    let count = children.len();
    let string = |at: usize| children[at].1.as_slice();
    let mut pages = Pages::new();
    let mut low: Vec<u8> = Vec::new();
    let mut page = allocate(shared, txn, index, written)?;
    let mut first = 0;
    while first < count {
        let (mut end, mut bytes) = (first, 0);
        while end < count {
            bytes += SLOT + CHILD + string(end).len();
            let common = node::prefix_of(&low, Some(string(end))) * (end + 1 - first);
            if end > first && bytes + low.len() + string(end).len() > target + common {
                break;
            }
            end += 1;
        }
        let mut high;
        loop {
            high = (end < count).then(|| string(end).to_vec());
            let prefix = node::prefix_of(&low, high.as_deref());
            let size: usize = (first..end).map(|at| SLOT + CHILD + string(at).len() - prefix).sum();
            if size <= node::room_of_empty(shared.page_size, &low, high.as_deref()) {
                break;
            }
            end -= ((end - first) / 8).max(1);
        }
        let next = if end < count { allocate(shared, txn, index, written)? } else { PageId::NONE };
        let mut mini = Mini::begin(shared.core(), txn);
        mini.use_reserve();
        let handle = mini.create(page)?;
        let new = NewNode { level, next, low: &low, high: high.as_deref(), ..empty(index, page) };
        let cells = || (first..end).map(|at| (Some(children[at].0), string(at)));
        mini.apply_with(handle, RecordKind::INDEX_INIT, |out| new.encode(out, cells()))?;
        written.add(mini.commit()?);
        pages.push((page, std::mem::take(&mut low)));
        low = high.unwrap_or_default();
        page = next;
        first = end;
    }
    Ok(pages)
}
