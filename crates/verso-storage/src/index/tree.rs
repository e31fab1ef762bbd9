//! The tree: finding leaves, adding and removing entries, splits and merges.
//!
//! ```text
//! tree root ─► inner pages ─► leaf ─► leaf ─► …       each leaf names its right neighbour
//! ```
//!
//! I1. Entries are ordered and unique by (key, record): a key is never a prefix of another, so the record's name stands
//!     behind it and entries are plain byte strings.
//! P1. The tree's root is always the same page: when it is split, its content moves to two new ones.
//! P2. Only who holds `structure` changes inner pages, fences and neighbours, so a path read under it stays right.
//!     Every split and merge is one mini-transaction of a page, its neighbour and their parent.
//!
//! Latches: from the root downward, a child before its parent is let go; leaves from left to right. Shared on the way
//! down, exclusive for the leaf that changes; who changes the structure latches parent, then children, exclusively,
//! then the object's root. `structure` comes before all of them, and nobody waits for it or for a page of the heap with
//! a page of the tree latched.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::entries::{Entries, record_of};
use super::node::{self, CHILD, NewNode, Node, SLOT};
use super::table::Index;
use crate::StorageError;
use crate::buffer::{ExclusivePage, SharedPage};
use crate::heap::root;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u32_at;
use crate::page::{Flaw, Lsn, ObjectId, PageId, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::wal::RecordKind;

/// What a series of mini-transactions wrote.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Where the first one starts.
    pub first: Lsn,
    /// Bytes of log.
    pub bytes: u64,
}

impl Written {
    pub(super) fn add(&mut self, lsns: (Lsn, Lsn)) {
        if self.bytes == 0 {
            self.first = lsns.0;
        }
        self.bytes += lsns.1.0 - lsns.0.0;
    }

    /// As if it were one.
    pub fn lsns(&self) -> (Lsn, Lsn) {
        (self.first, Lsn(self.first.0 + self.bytes))
    }
}

/// An entry of a batch whose key another record has an entry of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Which entry of the batch.
    pub item: u32,
    /// Whose entry has the same key.
    pub record: RecordId,
}

/// Where a writer's last entry of an index went.
#[derive(Debug)]
struct LeafHint {
    index: ObjectId,
    /// None yet, at first.
    leaf: PageId,
    /// Behind it.
    place: usize,
}

/// Leaves that one writer's last entries went to, a few indexes' at a time.
#[derive(Debug, Default)]
pub struct LeafHints(SmallVec<[LeafHint; 4]>);

impl LeafHints {
    /// Indexes remembered.
    const MOST: usize = 8;

    fn of(&mut self, index: ObjectId) -> &mut LeafHint {
        let at = self.0.iter().position(|hint| hint.index == index).unwrap_or_else(|| {
            if self.0.len() == Self::MOST {
                self.0.remove(0);
            }
            self.0.push(LeafHint { index, leaf: PageId::NONE, place: 0 });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

/// Path from the root to a leaf.
type Path = SmallVec<[PageId; 8]>;

/// Why a split has to look again.
enum Split {
    Done,
    Again,
}

impl Index {
    pub(super) fn corrupt(&self, page: PageId, flaw: impl Into<Flaw>) -> StorageError {
        StorageError::corrupt(page, self.object(), flaw)
    }

    pub(super) fn too_large(&self, size: usize, limit: usize) -> StorageError {
        let what = format!("an index row of {}", self.object());
        StorageError::TooLarge { what, size: size as u64, limit: limit as u64 }
    }

    pub(super) fn node<'p>(&self, id: PageId, page: &'p [u8]) -> Result<Node<'p>, StorageError> {
        if header::owner(page) != self.object() {
            return Err(self.corrupt(id, "a page of another object in an index"));
        }
        Node::of(page).map_err(|flaw| self.corrupt(id, flaw))
    }

    /// The leaf responsible for `string`, latched shared.
    #[inline]
    pub(super) fn read_leaf<'e>(
        &self,
        shared: &'e Shared,
        string: &[u8],
    ) -> Result<SharedPage<'e>, StorageError> {
        self.read_down(shared, |node| node.child_for(string))
    }

    /// The leaf that `choose` leads to.
    #[inline]
    pub(super) fn read_down<'e>(
        &self,
        shared: &'e Shared,
        choose: impl Fn(&Node<'_>) -> usize,
    ) -> Result<SharedPage<'e>, StorageError> {
        let pool = &shared.core().pool;
        let mut page = pool.read(self.tree())?;
        loop {
            let node = self.node(page.id(), &page)?;
            if node.is_leaf() {
                return Ok(page);
            }
            let (level, child) = (node.level(), node.child(choose(&node)));
            let below = pool.read(child)?;
            if self.node(child, &below)?.level() + 1 != level {
                return Err(self.corrupt(child, "a child of the wrong level"));
            }
            page = below;
        }
    }

    /// The page of a hint, latched exclusively, if it is the leaf responsible for `string` and nobody has it. Who goes on
    /// where it was before needs no way down: a leaf of this index says itself what it is for.
    fn hinted<'e>(&self, shared: &'e Shared, hint: PageId, string: &[u8]) -> Option<ExclusivePage<'e>> {
        let page = shared.core().pool.try_write(hint).ok()??;
        let is_leaf = header::owner(&page) == self.object()
            && Node::of(&page).is_ok_and(|node| node.is_leaf() && node.covers(string));
        is_leaf.then_some(page)
    }

    /// The leaf responsible for `string`, latched exclusively.
    fn write_leaf<'e>(&self, shared: &'e Shared, string: &[u8]) -> Result<ExclusivePage<'e>, StorageError> {
        let pool = &shared.core().pool;
        let hint = PageId(self.hint.load(Ordering::Relaxed));
        if !hint.is_none() {
            if let Some(page) = self.hinted(shared, hint, string) {
                return Ok(page);
            }
            self.hint.store(0, Ordering::Relaxed);
        }
        'again: loop {
            let mut page = pool.read(self.tree())?;
            loop {
                let node = self.node(page.id(), &page)?;
                if node.is_leaf() {
                    // The root itself is the leaf: between the two latches it may have grown.
                    drop(page);
                    let page = pool.write(self.tree())?;
                    if self.node(self.tree(), &page)?.is_leaf() {
                        return Ok(page);
                    }
                    continue 'again;
                }
                let (level, child) = (node.level(), node.child(node.child_for(string)));
                if level == 1 {
                    let leaf = pool.write(child)?;
                    if !self.node(child, &leaf)?.is_leaf() {
                        return Err(self.corrupt(child, "a child of the wrong level"));
                    }
                    return Ok(leaf);
                }
                let below = pool.read(child)?;
                if self.node(child, &below)?.level() + 1 != level {
                    return Err(self.corrupt(child, "a child of the wrong level"));
                }
                page = below;
            }
        }
    }

    /// Adds sorted entries, those that are there already excepted. In a unique index, who else has an entry of the same
    /// key is told in `rivals` (I2: looked up under the latch under which the entry is added).
    ///
    /// # Errors
    /// `TooLarge` before anything is added; `Full`, `Corrupt`, `Poisoned`.
    pub(super) fn add(
        &self,
        shared: &Shared,
        txn: TxnId,
        entries: &Entries,
        reserve: bool,
        rivals: &mut Vec<Rival>,
    ) -> Result<Written, StorageError> {
        let limit = node::longest(shared.page_size);
        if entries.longest() > limit {
            return Err(self.too_large(entries.longest(), limit));
        }
        let unique = self.spec().unique && !disabled(Rule::I2);
        let mut written = Written::default();
        let mut next = 0;
        while next < entries.len() {
            let checked = unique && !entries.is_free(next);
            let string = entries.entry(next);
            // The leaf where entries of the same key begin.
            let probe = if checked { entries.key(next) } else { string };
            let leaf = self.write_leaf(shared, probe)?;
            let mut mini = Mini::begin(shared.core(), txn);
            let handle = mini.take(leaf);
            let done = if checked
                && Node::of(mini.page(handle)).is_ok_and(|node| !holds_key(&node, string, probe))
            {
                self.add_across(&mut mini, handle, entries, next, rivals)?
            } else {
                self.add_here(&mut mini, handle, entries, next, unique, rivals)?
            };
            let hint = mini.page_id(handle);
            if !mini.is_empty() {
                let at_end = Node::of(mini.page(handle)).is_ok_and(|node| node.high().is_none());
                written.add(mini.commit()?);
                if at_end {
                    self.hint.store(hint.0, Ordering::Relaxed);
                }
            } else {
                drop(mini);
            }
            if done == 0 {
                self.split(shared, txn, string, reserve, &mut written)?;
            }
            next += done;
        }
        Ok(written)
    }

    /// Adds the only entry of `entries` within a mini-transaction under way, if that takes no more than its leaf: the leaf
    /// has room, and no other leaf can have entries of its key. `false`: nothing has happened.
    ///
    /// # Errors
    /// As [`Index::add`].
    pub(super) fn add_within<'e>(
        &self,
        shared: &'e Shared,
        mini: &mut Mini<'e>,
        entries: &Entries,
        leaves: &mut LeafHints,
        rivals: &mut Vec<Rival>,
    ) -> Result<bool, StorageError> {
        if entries.longest() > node::longest(shared.page_size) {
            return Ok(false);
        }
        let unique = self.spec().unique && !disabled(Rule::I2);
        let checked = unique && !entries.is_free(0);
        let (string, key) = (entries.entry(0), entries.key(0));
        let probe = if checked { key } else { string };
        let hint = leaves.of(self.object());
        let hinted = if hint.leaf.is_none() { None } else { self.hinted(shared, hint.leaf, probe) };
        let leaf = match hinted {
            Some(leaf) => leaf,
            None => {
                let leaf = self.write_leaf(shared, probe)?;
                (hint.leaf, hint.place) = (leaf.id(), 0);
                leaf
            }
        };
        let node = self.node(leaf.id(), &leaf)?;
        if checked && !ends_behind(&node, string, key) {
            return Ok(false);
        }
        let cell = node.truncated(string);
        if SLOT + cell.len() > node.room() {
            return Ok(false);
        }
        let (index, found) = node.find_near(string, hint.place);
        hint.place = index + 1;
        let same = |at: usize| node.suffix(at).starts_with(node.truncated(key));
        let known =
            found || checked && ((index > 0 && same(index - 1)) || (index < node.count() && same(index)));
        let leaf = mini.take(leaf);
        if known {
            return Ok(self.add_here(mini, leaf, entries, 0, unique, rivals)? == 1);
        }
        mini.apply_with(leaf, RecordKind::INDEX_INSERT, |out| node::insert_one_payload(out, index, cell))?;
        Ok(true)
    }

    /// Adds entries from `first` on that belong to the latched leaf, as many as fit; how many are done.
    fn add_here(
        &self,
        mini: &mut Mini<'_>,
        leaf: PageHandle,
        entries: &Entries,
        first: usize,
        unique: bool,
        rivals: &mut Vec<Rival>,
    ) -> Result<usize, StorageError> {
        let node = self.node(mini.page_id(leaf), mini.page(leaf))?;
        let mut room = node.room();
        // Index in the leaf (as it is when those before are in) and number in the batch.
        let mut places: SmallVec<[(u16, u32); 16]> = SmallVec::new();
        let mut done = 0;
        while first + done < entries.len() {
            let item = first + done;
            let string = entries.entry(item);
            let checked = unique && !entries.is_free(item);
            if done > 0 {
                let inside =
                    if checked { holds_key(&node, string, entries.key(item)) } else { node.covers(string) };
                if !inside {
                    break;
                }
            }
            let (index, found) = node.find(string);
            let found = found || (done > 0 && entries.entry(item - 1) == string);
            let need = SLOT + node.truncated(string).len();
            if !found && need > room {
                break;
            }
            if checked {
                let key = entries.key(item);
                let suffix = node.truncated(key);
                let before = (0..index).rev().take_while(|index| node.suffix(*index).starts_with(suffix));
                let behind = (index + usize::from(found)..node.count())
                    .take_while(|index| node.suffix(*index).starts_with(suffix));
                let rival = |index: usize| Rival {
                    item: item as u32,
                    record: super::entries::record_of(node.suffix(index)),
                };
                // A suffix may hold less than the record's name: the prefix has the rest then.
                let whole = |index: usize| -> Rival {
                    if node.suffix(index).len() >= super::entries::RECORD {
                        rival(index)
                    } else {
                        Rival { item: item as u32, record: super::entries::record_of(&node.string(index)) }
                    }
                };
                rivals.extend(before.chain(behind).map(whole));
                // Entries of this batch that are not on the page yet.
                let mine = (first..item).rev().take_while(|other| entries.key(*other) == key);
                rivals.extend(mine.map(|other| Rival { item: item as u32, record: entries.record(other) }));
            }
            if !found {
                places.push(((index + places.len()) as u16, item as u32));
                room -= need;
            }
            done += 1;
        }
        if !places.is_empty() {
            let cut = node.prefix().len();
            mini.apply_with(leaf, RecordKind::INDEX_INSERT, |out| {
                out.extend_from_slice(&(places.len() as u16).to_le_bytes());
                for (index, item) in &places {
                    out.extend_from_slice(&index.to_le_bytes());
                    node::encode_cell(out, None, &entries.entry(*item as usize)[cut..]);
                }
            })?;
        }
        Ok(done)
    }

    /// Adds one entry whose key may have entries on several leaves: all of them are latched, from left to right.
    fn add_across<'e>(
        &self,
        mini: &mut Mini<'e>,
        leaf: PageHandle,
        entries: &Entries,
        item: usize,
        rivals: &mut Vec<Rival>,
    ) -> Result<usize, StorageError> {
        let (string, key) = (entries.entry(item), entries.key(item));
        let own = entries.record(item);
        let (mut target, mut current) = (None, leaf);
        let known = rivals.len();
        loop {
            let node = self.node(mini.page_id(current), mini.page(current))?;
            if target.is_none() && node.high().is_none_or(|high| string < high) {
                target = Some(current);
            }
            let from = if node.low() < key { node.find(key).0 } else { 0 };
            let mut at_end = true;
            for index in from..node.count() {
                let other = node.string(index);
                if !other.starts_with(key) {
                    at_end = false;
                    break;
                }
                let record = super::entries::record_of(&other);
                if record != own {
                    rivals.push(Rival { item: item as u32, record });
                }
            }
            let goes_on = at_end && node.high().is_some_and(|high| high.starts_with(key) || high < key);
            let next = node.next();
            if (!goes_on && target.is_some()) || next.is_none() {
                break;
            }
            current = mini.write(next)?;
        }
        let target = target.ok_or_else(|| self.corrupt(mini.page_id(current), "no leaf for an entry"))?;
        let node = self.node(mini.page_id(target), mini.page(target))?;
        let (index, found) = node.find(string);
        if !found {
            let suffix = node.truncated(string);
            if SLOT + suffix.len() > node.room() {
                rivals.truncate(known);
                return Ok(0);
            }
            let (index, suffix) = (index as u16, suffix.to_vec());
            mini.apply_with(target, RecordKind::INDEX_INSERT, |out| {
                out.extend_from_slice(&1u16.to_le_bytes());
                out.extend_from_slice(&index.to_le_bytes());
                node::encode_cell(out, None, &suffix);
            })?;
        }
        Ok(1)
    }

    /// Removes sorted entries; those that are not there are passed over.
    ///
    /// # Errors
    /// `Corrupt`, `Full` (the log), `Poisoned`.
    pub(super) fn remove(
        &self,
        shared: &Shared,
        txn: TxnId,
        entries: &Entries,
    ) -> Result<Written, StorageError> {
        let mut written = Written::default();
        let mut next = 0;
        while next < entries.len() {
            let leaf = self.write_leaf(shared, entries.entry(next))?;
            let mut mini = Mini::begin(shared.core(), txn);
            let handle = mini.take(leaf);
            let node = self.node(mini.page_id(handle), mini.page(handle))?;
            let mut gone: SmallVec<[u16; 16]> = SmallVec::new();
            let first = next;
            while next < entries.len() && (next == first || node.covers(entries.entry(next))) {
                if let (index, true) = node.find(entries.entry(next)) {
                    gone.push(index as u16);
                }
                next += 1;
            }
            gone.dedup();
            if gone.is_empty() {
                continue;
            }
            mini.apply_with(handle, RecordKind::INDEX_REMOVE, |out| {
                gone.iter().for_each(|index| out.extend_from_slice(&index.to_le_bytes()));
            })?;
            let node = self.node(mini.page_id(handle), mini.page(handle))?;
            // Not at each removal from a small leaf.
            let thin = node.count() == 0 || (node.count() % 16 == 0 && node.used() < shared.page_size / 8);
            let is_root = mini.page_id(handle) == self.tree();
            written.add(mini.commit()?);
            if thin && !is_root {
                self.merge(shared, txn, entries.entry(first), &mut written)?;
            }
        }
        Ok(written)
    }

    fn path(&self, shared: &Shared, string: &[u8]) -> Result<Path, StorageError> {
        let pool = &shared.core().pool;
        let mut path = Path::new();
        let mut id = self.tree();
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
    fn split(
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
        let (id, above) = path.split_last().ok_or_else(|| self.corrupt(self.tree(), "an empty path"))?;
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
        let mut mini = Mini::begin(shared.core(), txn);
        let top = mini.write(self.tree())?;
        let node = self.node(self.tree(), mini.page(top))?;
        if node.is_leaf() || node.count() != 1 {
            return Ok(false);
        }
        let id = node.child(0);
        let only = mini.write(id)?;
        let bytes = mini.page(only).to_vec();
        let child = self.node(id, &bytes)?;
        mini.write(self.root())?;
        let new = NewNode {
            page: self.tree(),
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

/// Whether all entries of `key` and the place of `string`, which has it, are on the leaf.
fn holds_key(node: &Node<'_>, string: &[u8], key: &[u8]) -> bool {
    node.low() <= key && ends_behind(node, string, key)
}

/// Whether all entries of `key`, which begin on the leaf, end there, and `string`, which has it, stands there.
fn ends_behind(node: &Node<'_>, string: &[u8], key: &[u8]) -> bool {
    node.high().is_none_or(|high| string < high && !high.starts_with(key))
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
    // The left part gets a high fence, which has to fit as well.
    let fits = |cut: usize, fence: &[u8]| -> bool {
        let prefix = node::prefix_of(node.low(), Some(fence));
        let bytes: usize = (0..cut).map(|at| SLOT + node.cell(at).len()).sum();
        let gained = prefix.saturating_sub(node.prefix().len()) * cut;
        bytes.saturating_sub(gained) <= node.room_between(node.low(), Some(fence))
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
