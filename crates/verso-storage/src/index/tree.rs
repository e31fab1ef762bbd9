//! The tree: finding leaves, adding and removing entries. How it grows and shrinks: [`super::shape`].
//!
//! ```text
//! tree root ─► inner pages ─► leaf ─► leaf ─► …       each leaf names its right neighbour
//! ```
//!
//! I1. Entries are ordered and unique by (key, record): a key is never a prefix of another, so the record's name stands
//!     behind it and entries are plain byte strings.
//!
//! Latches: from the root downward, a child before its parent is let go; leaves from left to right. Shared on the way
//! down, exclusive for the leaf that changes. `structure` comes before all of them, and nobody waits for it or for a page
//! of the heap with a page of the tree latched.

use std::ops::Deref;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::entries::Entries;
use super::hint::LeafHints;
use super::node::{self, NewNode, Node, SLOT};
use super::table::Index;
use crate::StorageError;
use crate::buffer::{ExclusivePage, SharedPage};
use crate::engine::RoomInLog;
use crate::mini::{Mini, PageHandle};
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

/// Whose entries are added.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Adding {
    /// Those of a change that was made.
    Change,
    /// What the scan of a build has found: what went since does not come back (B3).
    Scanned,
}

/// A leaf that is latched; or, of an index without a tree, one without entries, as long as the latch of the index's root page keeps
/// the tree from being begun (P3 of `shape`).
pub(super) struct ReadLeaf<'e> {
    latched: SharedPage<'e>,
    empty: Option<&'e [u8]>,
}

impl ReadLeaf<'_> {
    /// The page that is latched.
    pub fn id(&self) -> PageId {
        self.latched.id()
    }
}

impl Deref for ReadLeaf<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.empty.unwrap_or(&self.latched)
    }
}

/// The leaf that every index without a tree has.
///
/// # Errors
/// A bug.
pub(crate) fn empty_leaf(page_size: usize) -> Result<Box<[u8]>, StorageError> {
    let owner = ObjectId::SYSTEM;
    let new = NewNode { page: PageId::NONE, owner, level: 0, next: PageId::NONE, low: &[], high: None };
    let (mut page, mut payload) = (vec![0; page_size], Vec::new());
    new.encode(&mut payload, std::iter::empty());
    node::redo(RecordKind::INDEX_INIT, &mut page, &payload)
        .map_err(|flaw| StorageError::corrupt(PageId::NONE, owner, flaw))?;
    Ok(page.into_boxed_slice())
}

/// An entry of a batch whose key another record has an entry of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rival {
    /// Which entry of the batch.
    pub item: u32,
    /// Whose entry has the same key.
    pub record: RecordId,
}

impl Index {
    pub(super) fn corrupt(&self, page: PageId, flaw: impl Into<Flaw>) -> StorageError {
        StorageError::corrupt(page, self.object(), flaw)
    }

    pub(super) fn too_large(&self, size: usize, limit: usize) -> StorageError {
        StorageError::IndexRowTooLarge { index: self.object(), size: size as u64, limit: limit as u64 }
    }

    pub(super) fn node<'p>(&self, id: PageId, page: &'p [u8]) -> Result<Node<'p>, StorageError> {
        // The leaf of an index without a tree has no number.
        if header::owner(page) != self.object() && !header::page_id(page).is_none() {
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
    ) -> Result<ReadLeaf<'e>, StorageError> {
        self.read_down(shared, |node| node.child_for(string))
    }

    /// Entries below a string (of all: `None`), down to `start`, the greatest first, of one leaf and `most` of them; below
    /// which one others may stand.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn entries_below(
        &self,
        shared: &Shared,
        below: Option<&[u8]>,
        start: &[u8],
        most: usize,
        out: &mut Vec<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let leaf = self.read_down(shared, |node| {
            below.map_or(node.count(), |below| node.find(below).0).saturating_sub(1)
        })?;
        let node = self.node(leaf.id(), &leaf)?;
        for at in (0..below.map_or(node.count(), |below| node.find(below).0)).rev() {
            let entry = node.string(at);
            if entry[..] < *start {
                return Ok(None);
            }
            if out.len() + 1 == most {
                let next = entry.to_vec();
                out.push(entry.to_vec());
                return Ok(Some(next));
            }
            out.push(entry.to_vec());
        }
        let low = node.low();
        Ok((!low.is_empty() && low > start).then(|| low.to_vec()))
    }

    /// The leaf that `choose` leads to.
    #[inline]
    pub(super) fn read_down<'e>(
        &self,
        shared: &'e Shared,
        choose: impl Fn(&Node<'_>) -> usize,
    ) -> Result<ReadLeaf<'e>, StorageError> {
        let pool = &shared.core().pool;
        let tree = match self.tree() {
            Some(tree) => tree,
            None => {
                let root = pool.read(self.root())?;
                match self.note_tree(&root) {
                    Some(tree) => tree,
                    None => return Ok(ReadLeaf { latched: root, empty: Some(&shared.empty_leaf) }),
                }
            }
        };
        let mut page = pool.read(tree)?;
        loop {
            let node = self.node(page.id(), &page)?;
            if node.is_leaf() {
                return Ok(ReadLeaf { latched: page, empty: None });
            }
            let (level, child) = (node.level(), node.child(choose(&node)));
            let below = pool.read(child)?;
            if self.node(child, &below)?.level() + 1 != level {
                return Err(self.corrupt(child, "a child of the wrong level"));
            }
            page = below;
        }
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
        let tree = self.tree_there()?;
        'again: loop {
            let mut page = pool.read(tree)?;
            loop {
                let node = self.node(page.id(), &page)?;
                if node.is_leaf() {
                    // The root itself is the leaf: between the two latches it may have grown.
                    drop(page);
                    let page = pool.write(tree)?;
                    if self.node(tree, &page)?.is_leaf() {
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
        self.add_as(shared, txn, entries, Adding::Change, reserve, rivals)
    }

    /// As [`Index::add`]; `adding` says whose they are.
    ///
    /// # Errors
    /// As [`Index::add`].
    pub(super) fn add_as(
        &self,
        shared: &Shared,
        txn: TxnId,
        entries: &Entries,
        adding: Adding,
        reserve: bool,
        rivals: &mut Vec<Rival>,
    ) -> Result<Written, StorageError> {
        let limit = node::longest(shared.page_size);
        if entries.longest() > limit {
            return Err(self.too_large(entries.longest(), limit));
        }
        let unique = self.is_unique() && !disabled(Rule::I2);
        let mut written = Written::default();
        let mut next = 0;
        let mut room = RoomInLog::new();
        // Undo may hold a page.
        let mut goes_on = |error: &StorageError| !reserve && room.is_there_after(shared, error);
        while next < entries.len() {
            if self.tree().is_none() {
                match self.begin_tree(shared, txn, reserve, &mut written) {
                    Err(error) if goes_on(&error) => continue,
                    begun => begun?,
                };
            }
            let checked = unique && !entries.is_free(next);
            let string = entries.entry(next);
            let known = rivals.len();
            // The leaf where entries of the same key begin.
            let probe = if checked { entries.key(next) } else { string };
            let leaf = self.write_leaf(shared, probe)?;
            let mut mini = Mini::begin(shared.core(), txn);
            if reserve {
                mini.use_reserve();
            }
            let handle = mini.take(leaf);
            let done = if checked
                && Node::of(mini.page(handle)).is_ok_and(|node| !holds_key(&node, string, probe))
            {
                self.add_across(&mut mini, handle, entries, next, adding, rivals)
            } else {
                self.add_here(&mut mini, handle, entries, next, (unique, adding), rivals)
            };
            let done = match done {
                Ok(done) => done,
                Err(error) => {
                    drop(mini);
                    rivals.truncate(known);
                    if goes_on(&error) {
                        continue;
                    }
                    return Err(error);
                }
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
            if done == 0
                && let Err(error) = self.split(shared, txn, string, reserve, &mut written)
                && !goes_on(&error)
            {
                return Err(error);
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
        if entries.is_empty() {
            return Ok(true); // a record that the index does not have
        }
        if self.tree().is_none() {
            return Ok(false);
        }
        let unique = self.is_unique() && !disabled(Rule::I2);
        let checked = unique && !entries.is_free(0);
        let (string, key) = (entries.entry(0), entries.key(0));
        let probe = if checked { key } else { string };
        let hint = leaves.of(self.object());
        let hinted =
            if hint.leaf.is_none() { None } else { self.hinted_as_left(shared, hint, string, probe) };
        let leaf = match hinted {
            Some((leaf, true)) => {
                let index = hint.place;
                hint.add_at(index);
                self.note_added(string);
                let cell = &string[Node::of(&leaf).map_or(0, |node| node.prefix().len())..];
                let leaf = mini.take(leaf);
                mini.apply_as(leaf, RecordKind::INDEX_INSERT, |page, out| {
                    node::insert_one_payload(out, index, cell);
                    node::place_one(page, index, cell);
                })?;
                return Ok(true);
            }
            Some((leaf, false)) => leaf,
            None => {
                let leaf = self.write_leaf(shared, probe)?;
                hint.turn_to(leaf.id());
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
        hint.add_at(index);
        let same = |at: usize| node.suffix(at).starts_with(node.truncated(key));
        let known =
            found || checked && ((index > 0 && same(index - 1)) || (index < node.count() && same(index)));
        let at_once = SLOT + cell.len() <= node.room_at_once();
        let leaf = mini.take(leaf);
        if known {
            return Ok(self.add_here(mini, leaf, entries, 0, (unique, Adding::Change), rivals)? == 1);
        }
        self.note_added(string);
        if at_once {
            mini.apply_as(leaf, RecordKind::INDEX_INSERT, |page, out| {
                node::insert_one_payload(out, index, cell);
                node::place_one(page, index, cell);
            })?;
        } else {
            let payload = |out: &mut Vec<u8>| node::insert_one_payload(out, index, cell);
            mini.apply_with(leaf, RecordKind::INDEX_INSERT, payload)?;
        }
        Ok(true)
    }

    /// Adds entries from `first` on that belong to the latched leaf, as many as fit; how many are done.
    fn add_here(
        &self,
        mini: &mut Mini<'_>,
        leaf: PageHandle,
        entries: &Entries,
        first: usize,
        (unique, adding): (bool, Adding),
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
            if adding == Adding::Scanned && self.filling.is_gone(string) {
                done += 1;
                continue;
            }
            let (index, found) = node.find(string);
            let found = found || (done > 0 && entries.entry(item - 1) == string);
            let need = SLOT + node.truncated(string).len();
            if !found && need > room {
                break;
            }
            if adding == Adding::Change {
                if found {
                    self.purging.found(string);
                } else {
                    self.note_added(string);
                }
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
        adding: Adding,
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
        if adding == Adding::Scanned && self.filling.is_gone(string) {
            rivals.truncate(known);
        } else if found {
            if adding == Adding::Change {
                self.purging.found(string);
            }
        } else {
            let suffix = node.truncated(string);
            if SLOT + suffix.len() > node.room() {
                rivals.truncate(known);
                return Ok(0);
            }
            if adding == Adding::Change {
                self.note_added(string);
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

    /// A change adds an entry that is not there; its leaf is latched.
    #[inline]
    fn note_added(&self, string: &[u8]) {
        if self.filling.is_on() && !disabled(Rule::B4) {
            self.purging.found(string);
        }
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
        self.remove_but(shared, txn, entries, |_| false, &mut || Ok(()))
    }

    /// As [`Index::remove`], but for entries that are `kept`, which is asked with their leaf latched.
    ///
    /// # Errors
    /// As [`Index::remove`].
    pub(super) fn remove_but(
        &self,
        shared: &Shared,
        txn: TxnId,
        entries: &Entries,
        kept: impl Fn(&[u8]) -> bool,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Written, StorageError> {
        let mut written = Written::default();
        if self.look_for_tree(shared)?.is_none() {
            return Ok(written);
        }
        let mut next = 0;
        while next < entries.len() {
            go_on()?;
            let leaf = self.write_leaf(shared, entries.entry(next))?;
            let mut mini = Mini::begin(shared.core(), txn);
            let handle = mini.take(leaf);
            let node = self.node(mini.page_id(handle), mini.page(handle))?;
            let mut gone: SmallVec<[u16; 16]> = SmallVec::new();
            let first = next;
            // One behind the other: the next one is sought from the last one on.
            let mut from = 0;
            while next < entries.len() && (next == first || node.covers(entries.entry(next))) {
                let entry = entries.entry(next);
                let (index, found) =
                    if next == first { node.find(entry) } else { node.find_behind(entry, from) };
                from = index;
                if (found || self.filling.is_on()) && !kept(entry) {
                    if found {
                        gone.push(index as u16);
                    }
                    self.filling.goes(entry);
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
            let looked_at = gone.len() >= 16 || node.count() % 16 == 0;
            let thin = node.count() == 0 || (looked_at && node.used() < shared.page_size / 8);
            let is_root = Some(mini.page_id(handle)) == self.tree();
            written.add(mini.commit()?);
            if thin && !is_root {
                self.merge(shared, txn, entries.entry(first), &mut written)?;
            }
        }
        Ok(written)
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
