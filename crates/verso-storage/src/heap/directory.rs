//! A table's directory: which data page stands at each directory index.
//!
//! ```text
//! root, list of directory pages   [ leaf │ leaf │ … │ top ]
//!                                                      └► inner page ─► … ─► leaf │ leaf │ …
//! leaf: level 0, data pages          inner page: level 1 and more, directory pages of the level below
//! ```
//!
//! The last place of the root's list holds the top of a tree, which is a leaf itself as long as it needs no other; beyond
//! that it gets a level whenever it is full. In memory are the leaves that were used lately; others are read when asked for.
//!
//! R1. Entries are added at the end, under the root's latch, or lead to another page from then on; in memory a leaf changes
//!     while its page is latched, so what is there of it is right as far as it goes.
//! R2. The number of data pages counts an entry when its leaf has it, so who finds the number finds the entry.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use verso_env::sync::RwLock;

use super::root::{self, DATA_PAGES, DIRECTORY, directory_capacity};
use crate::StorageError;
use crate::buffer::{BufferPool, SharedPage};
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u32_at;
use crate::page::{ObjectId, PageId, PageKind, header};
use crate::space::SpaceMap;
use crate::wal::RecordKind;

/// Offset of a directory page's level, u8.
pub(super) const LEVEL: usize = header::KIND_SPECIFIC;
/// Leaves of a table in memory at most.
const LEAVES_MAX: usize = if cfg!(debug_assertions) { 4 } else { 256 };
/// More levels than any table can have.
const LEVELS_MAX: u8 = 6;

/// Leaves that the root itself lists.
fn direct(page_size: usize) -> u64 {
    ((page_size - DIRECTORY) / 4 - 1) as u64
}

/// Pages that an inner page lists.
fn fan_out(page_size: usize) -> u64 {
    ((page_size - header::SIZE) / 4) as u64
}

/// Leaves below one page of a level.
fn leaves_below(page_size: usize, level: u8) -> u64 {
    fan_out(page_size).saturating_pow(u32::from(level))
}

/// The directory of an open table.
pub(super) struct Directory {
    pool: Arc<BufferPool>,
    object: ObjectId,
    root: PageId,
    per_leaf: u32,
    pages: AtomicU32,
    /// Counts the entries that lead elsewhere than before.
    moves: AtomicU64,
    cached: RwLock<Cached>,
}

#[derive(Default)]
struct Cached {
    leaves: Vec<Option<Box<Leaf>>>,
    /// Those in memory, the longest there in front.
    order: VecDeque<u32>,
}

struct Leaf {
    pages: Vec<PageId>,
    /// Since it was looked at last by who makes room.
    used: AtomicBool,
}

impl Cached {
    fn get(&self, leaf: u32) -> Option<&Leaf> {
        self.leaves.get(leaf as usize)?.as_deref()
    }

    fn put(&mut self, leaf: u32, pages: Vec<PageId>) {
        let place = leaf as usize;
        if self.leaves.len() <= place {
            self.leaves.resize_with(place + 1, || None);
        }
        let known = self.leaves[place].replace(Box::new(Leaf { pages, used: AtomicBool::new(true) }));
        if known.is_some() {
            return;
        }
        while self.order.len() >= LEAVES_MAX {
            let oldest = self.order.pop_front().expect("it is not empty");
            let leaf = &mut self.leaves[oldest as usize];
            if leaf.as_ref().is_some_and(|leaf| leaf.used.swap(false, Ordering::Relaxed)) {
                self.order.push_back(oldest);
            } else {
                *leaf = None;
            }
        }
        self.order.push_back(leaf);
    }
}

impl Directory {
    /// That of the table whose root page this is.
    pub fn new(pool: &Arc<BufferPool>, object: ObjectId, root: &SharedPage<'_>) -> Directory {
        Directory {
            object,
            root: root.id(),
            per_leaf: directory_capacity(root.len()) as u32,
            pages: AtomicU32::new(u32_at(root, DATA_PAGES)),
            moves: AtomicU64::new(0),
            cached: RwLock::default(),
            pool: Arc::clone(pool),
        }
    }

    /// Where its pages are read.
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// Data pages.
    pub fn len(&self) -> u32 {
        self.pages.load(Ordering::Acquire)
    }

    /// The data page at an index.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    #[inline]
    pub fn get(&self, index: u32) -> Result<Option<PageId>, StorageError> {
        if index >= self.len() {
            return Ok(None);
        }
        let (leaf, entry) = (index / self.per_leaf, (index % self.per_leaf) as usize);
        if let Some(leaf) = self.cached.read().get(leaf)
            && let Some(page) = leaf.pages.get(entry)
        {
            if !leaf.used.load(Ordering::Relaxed) {
                leaf.used.store(true, Ordering::Relaxed);
            }
            return Ok(Some(*page));
        }
        self.fetch(leaf, entry)
    }

    /// As [`Directory::get`] where the leaf is not in memory, or not all of it.
    #[cold]
    fn fetch(&self, leaf: u32, entry: usize) -> Result<Option<PageId>, StorageError> {
        // Before the page is read (R2).
        let pages = self.len();
        let Some(count) = pages.checked_sub(leaf * self.per_leaf) else { return Ok(None) };
        let page = self.directory_page(self.leaf_page(leaf)?)?;
        if page[LEVEL] != 0 {
            return Err(self.corrupt(page.id(), "an inner page where a leaf of the directory should be"));
        }
        let entry_at = |entry: usize| PageId(u32_at(&page, header::SIZE + entry * 8));
        let found: Vec<PageId> = (0..count.min(self.per_leaf) as usize).map(entry_at).collect();
        let id = found.get(entry).copied();
        // The page stays latched (R1).
        let mut cached = self.cached.write();
        let known = cached.get(leaf).map_or(0, |known| known.pages.len());
        // The table's pages may have been forgotten meanwhile.
        if known < found.len() && self.len() >= pages {
            cached.put(leaf, found);
        }
        Ok(id)
    }

    fn corrupt(&self, page: PageId, flaw: &'static str) -> StorageError {
        StorageError::corrupt(page, self.object, flaw)
    }

    fn directory_page(&self, id: PageId) -> Result<SharedPage<'_>, StorageError> {
        let page = self.pool.read(id)?;
        if header::kind(&page) != Some(PageKind::Directory) || header::owner(&page) != self.object {
            return Err(self.corrupt(id, "not a directory page of this table"));
        }
        if page[LEVEL] > LEVELS_MAX {
            return Err(self.corrupt(id, "a directory page of a level that no table has"));
        }
        Ok(page)
    }

    fn listed(&self, place: u64) -> Result<PageId, StorageError> {
        let root = self.pool.read(self.root)?;
        Ok(PageId(u32_at(&root, DIRECTORY + place as usize * 4)))
    }

    /// The page of a leaf.
    fn leaf_page(&self, leaf: u32) -> Result<PageId, StorageError> {
        let page_size = self.pool.page_size();
        let direct = direct(page_size);
        let mut id = self.listed(u64::from(leaf).min(direct))?;
        let Some(below) = u64::from(leaf).checked_sub(direct) else { return Ok(id) };
        let mut expected = None;
        loop {
            let page = self.directory_page(id)?;
            let level = page[LEVEL];
            if expected.is_some_and(|expected| expected != level)
                || below >= leaves_below(page_size, level) && expected.is_none()
            {
                return Err(self.corrupt(id, "a directory page of the wrong level"));
            }
            let Some(next) = level.checked_sub(1) else { return Ok(id) };
            let child = below / leaves_below(page_size, next) % fan_out(page_size);
            id = PageId(u32_at(&page, header::SIZE + child as usize * 4));
            expected = Some(next);
        }
    }

    /// Every page of the directory, in no order.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn pages(&self) -> Result<Vec<PageId>, StorageError> {
        let page_size = self.pool.page_size();
        let leaves = u64::from(self.len().div_ceil(self.per_leaf));
        let direct = direct(page_size);
        let mut pages =
            (0..leaves.min(direct)).map(|place| self.listed(place)).collect::<Result<Vec<_>, _>>()?;
        let Some(below) = leaves.checked_sub(direct).filter(|below| *below > 0) else { return Ok(pages) };
        let mut level = vec![(self.listed(direct)?, below)];
        while let Some((id, leaves)) = level.pop() {
            pages.push(id);
            let page = self.directory_page(id)?;
            let Some(next) = page[LEVEL].checked_sub(1) else { continue };
            let each = leaves_below(page_size, next);
            for child in 0..leaves.div_ceil(each).min(fan_out(page_size)) {
                let id = PageId(u32_at(&page, header::SIZE + child as usize * 4));
                level.push((id, each.min(leaves - child * each)));
            }
        }
        Ok(pages)
    }

    /// Makes a place for the next data page, whose index and the root's page are given: the leaf, and where in it.
    ///
    /// # Errors
    /// `Full` before anything is changed; `Corrupt`, `Io`.
    pub fn make_place<'e>(
        &self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
        root: PageHandle,
        index: u32,
    ) -> Result<(PageHandle, usize), StorageError> {
        let page_size = self.pool.page_size();
        let (leaf, entry) = (u64::from(index / self.per_leaf), index % self.per_leaf);
        let place = header::SIZE + entry as usize * 8;
        let direct = direct(page_size);
        let link = DIRECTORY + leaf.min(direct) as usize * 4;
        let listed = PageId(u32_at(mini.page(root), link));
        let below = leaf.saturating_sub(direct);
        if below == 0 {
            let handle = match entry {
                0 => self.add_below(mini, space, root, root, link, 0)?,
                _ => mini.write(listed)?,
            };
            return Ok((handle, place));
        }
        let mut handle = mini.write(listed)?;
        let mut level = mini.page(handle)[LEVEL];
        if entry == 0 && below == leaves_below(page_size, level) {
            // The tree is full: what was its top is the first of a new one.
            level += 1;
            let top = self.add_below(mini, space, root, root, link, level)?;
            mini.apply(top, RecordKind::PATCH, &change(header::SIZE, listed))?;
            handle = top;
        }
        while let Some(next) = level.checked_sub(1) {
            let each = leaves_below(page_size, next);
            let link = header::SIZE + (below / each % fan_out(page_size)) as usize * 4;
            handle = match entry == 0 && below % each == 0 {
                true => self.add_below(mini, space, root, handle, link, next)?,
                false => {
                    let child = PageId(u32_at(mini.page(handle), link));
                    mini.write(child)?
                }
            };
            level = next;
        }
        Ok((handle, place))
    }

    /// Adds a directory page of a level, to which the bytes at `link` of `above` lead then.
    fn add_below<'e>(
        &self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
        root: PageHandle,
        above: PageHandle,
        link: usize,
        level: u8,
    ) -> Result<PageHandle, StorageError> {
        let page = root::allocate_page(mini, space, self.object, root)?;
        let handle = mini.create(page)?;
        let mut payload = page.0.to_le_bytes().to_vec();
        payload.extend_from_slice(&self.object.0.to_le_bytes());
        if level > 0 {
            payload.push(level);
        }
        mini.apply(handle, RecordKind::DIRECTORY_INIT, &payload)?;
        mini.apply(above, RecordKind::PATCH, &change(link, page))?;
        Ok(handle)
    }

    /// The log has a further data page.
    pub fn push(&self, index: u32, page: PageId) {
        let mut cached = self.cached.write();
        let (leaf, entry) = (index / self.per_leaf, (index % self.per_leaf) as usize);
        if entry == 0 {
            cached.put(leaf, vec![page]);
        } else if let Some(Some(leaf)) = cached.leaves.get_mut(leaf as usize)
            && leaf.pages.len() == entry
        {
            leaf.pages.push(page);
        }
        debug_assert_eq!(self.len(), index, "the root is latched");
        self.pages.store(index + 1, Ordering::Release);
    }

    /// The page of the leaf that has an entry, and where in it.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn place_of(&self, index: u32) -> Result<(PageId, usize), StorageError> {
        let place = header::SIZE + (index % self.per_leaf) as usize * 8;
        Ok((self.leaf_page(index / self.per_leaf)?, place))
    }

    /// How many entries have come to lead elsewhere. Who finds the same number before it asks for an entry and with the page
    /// latched has the page that the entry leads to.
    #[inline]
    pub fn moves(&self) -> u64 {
        self.moves.load(Ordering::Acquire)
    }

    /// The log has another page for an entry; its leaf and both pages are latched.
    pub fn replace(&self, index: u32, page: PageId) {
        let mut cached = self.cached.write();
        let (leaf, entry) = (index / self.per_leaf, (index % self.per_leaf) as usize);
        if let Some(Some(leaf)) = cached.leaves.get_mut(leaf as usize)
            && let Some(place) = leaf.pages.get_mut(entry)
        {
            *place = page;
        }
        self.moves.fetch_add(1, Ordering::AcqRel);
    }

    /// The pages are about to be freed.
    pub fn clear(&self) {
        let mut cached = self.cached.write();
        self.pages.store(0, Ordering::Release);
        *cached = Cached::default();
    }
}

/// The patch that makes the bytes at an offset lead to a page.
pub(super) fn change(offset: usize, page: PageId) -> Vec<u8> {
    let mut out = Vec::new();
    root::patch(&mut out, offset, &page.0.to_le_bytes());
    out
}

#[cfg(test)]
mod tests {
    use verso_types::Physical;

    use super::*;
    use crate::heap::Heap;
    use crate::page::TxnId;
    use crate::testing::small_engine;
    use crate::{ColumnSpec, CommitMode, Engine, TxnOptions};

    const PER_LEAF: u32 = 508;
    const DIRECT: u32 = 511;
    const FAN_OUT: u32 = 1016;

    /// A table whose directory is made to look full: every place leads to the same leaf, and all of that to one data page.
    struct Forged {
        engine: Engine,
        heap: Heap,
        leaf: PageId,
        data: PageId,
        _dir: tempfile::TempDir,
    }

    impl Forged {
        fn new() -> Forged {
            let (dir, engine) = small_engine();
            let mut txn = engine.begin(TxnOptions::default());
            let columns = [ColumnSpec { id: 1, physical: Physical::I64 }];
            let object = engine.create_heap(&mut txn, &columns).expect("a table");
            txn.commit(CommitMode::Wait).expect("a commit");
            let heap = Forged::load(&engine, object);
            let mut forged = Forged { engine, heap, leaf: PageId::NONE, data: PageId::NONE, _dir: dir };
            forged.data = forged.append(1);
            forged.leaf = forged.heap.directory_pages().expect("pages")[0];
            forged.fill(forged.leaf, 8, PER_LEAF, forged.data);
            forged
        }

        fn load(engine: &Engine, object: ObjectId) -> Heap {
            let shared = engine.shared();
            let root = shared.roots.lock()[&object];
            Heap::load(&shared.core().pool, object, root).expect("a table")
        }

        /// Opens the table anew.
        fn again(&mut self) {
            self.heap = Forged::load(&self.engine, self.heap.object);
        }

        fn patch(&self, page: PageId, change: &[u8]) {
            let mut mini = Mini::begin(self.engine.shared().core(), TxnId::NONE);
            let handle = mini.write(page).expect("a page");
            mini.apply(handle, RecordKind::PATCH, change).expect("a patch");
            mini.commit().expect("a group");
        }

        /// Makes so many entries of a directory page lead to one page.
        fn fill(&self, page: PageId, width: usize, entries: u32, to: PageId) {
            let mut all = Vec::new();
            (0..entries as usize)
                .for_each(|at| root::patch(&mut all, header::SIZE + at * width, &to.0.to_le_bytes()));
            self.patch(page, &all);
        }

        fn count(&mut self, pages: u32) {
            let mut change = Vec::new();
            root::patch(&mut change, DATA_PAGES, &pages.to_le_bytes());
            self.patch(self.heap.root, &change);
            self.again();
        }

        /// The last of so many data pages that are appended.
        fn append(&self, pages: u32) -> PageId {
            let shared = self.engine.shared();
            (0..pages).fold(PageId::NONE, |_, _| {
                let mut mini = Mini::begin(shared.core(), TxnId::NONE);
                let (index, handle) = self.heap.append_page(&mut mini, &shared.space).expect("a page");
                let page = mini.page_id(handle);
                mini.commit().expect("a group");
                assert_eq!(self.heap.page_at(index).expect("an entry"), Some(page));
                page
            })
        }

        fn at(&self, index: u32) -> PageId {
            self.heap.page_at(index).expect("an entry").expect("within the table")
        }
    }

    #[test]
    fn a_directory_has_as_many_levels_as_it_needs() {
        let mut forged = Forged::new();
        let direct: Vec<u8> =
            (0..DIRECT as usize).flat_map(|place| change(DIRECTORY + place * 4, forged.leaf)).collect();
        forged.patch(forged.heap.root, &direct);
        forged.count(DIRECT * PER_LEAF);
        // The last place of the root: a leaf, then a tree of two of them.
        let first = forged.append(1);
        forged.append(PER_LEAF - 1);
        assert_eq!(forged.heap.directory_pages().expect("pages").len(), DIRECT as usize + 1);
        let second = forged.append(1);
        assert_eq!(forged.heap.directory_pages().expect("pages").len(), DIRECT as usize + 3);
        let (at_first, at_second) = (DIRECT * PER_LEAF, (DIRECT + 1) * PER_LEAF);
        for _ in 0..2 {
            assert_eq!((forged.at(at_first), forged.at(at_second)), (first, second));
            assert_eq!((forged.at(0), forged.at(at_first - 1)), (forged.data, forged.data));
            assert_eq!(forged.heap.page_at(at_second + 1).expect("no entry"), None);
            forged.again();
        }
        // That tree full, it gets another level.
        let top = forged.heap.directory.listed(u64::from(DIRECT)).expect("the top");
        forged.fill(top, 4, FAN_OUT, forged.leaf);
        let at_third = (DIRECT + FAN_OUT) * PER_LEAF;
        forged.count(at_third);
        let third = forged.append(1);
        let fourth = forged.append(PER_LEAF);
        for _ in 0..2 {
            assert_eq!((forged.at(at_third), forged.at(at_third + PER_LEAF)), (third, fourth));
            assert_eq!((forged.at(at_second), forged.at(at_third - 1)), (forged.data, forged.data));
            forged.again();
        }
        let pages = (DIRECT + 1 + FAN_OUT + 1 + 1 + 2) as usize;
        assert_eq!(forged.heap.directory_pages().expect("pages").len(), pages);
    }

    #[test]
    fn only_leaves_used_lately_are_in_memory() {
        let forged = Forged::new();
        let all = forged.append(PER_LEAF * (LEAVES_MAX as u32 + 4));
        let last = forged.heap.page_count() - 1;
        let in_memory = || {
            let cached = forged.heap.directory.cached.read();
            (cached.order.len(), cached.leaves.iter().flatten().count())
        };
        for round in 0..3 {
            assert_eq!(forged.at(last), all);
            assert!((0..=last).step_by(100).all(|index| !forged.at(index).is_none()));
            assert_eq!(in_memory(), (LEAVES_MAX, LEAVES_MAX), "round {round}");
        }
    }
}
