//! An index: what it is of, where it stands.
//!
//! Its first page is the object's root (space, what it is of, and where the root of the tree is, once there is one).

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;
use verso_env::sync::Mutex;
use verso_types::{CollationData, Collator, Exclusion, KeyType};

use super::entries::{RECORD, record_bytes, record_of};
use super::exclusion::Arrivals;
use super::filling::Filling;
use super::key::{KeyPart, KeyRange, is_inverted, successor};
use super::purging::Purging;
use crate::StorageError;
use crate::heap::{ColumnSpec, Uses, root};
use crate::page::bytes::{checked_u8, checked_u16, checked_u32, u32_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, RecordId, header};
use crate::shared::Shared;
use crate::txn::transaction::{SnapshotReader, Txn};

/// Most parts of a key, and a guard.
pub const MAX_PARTS: usize = 33;
const UNIQUE: u8 = 1;
const NULLS_DISTINCT: u8 = 2;
const DESCENDING: u8 = 1;
const NULLS_FIRST: u8 = 2;
const GUARD: u8 = 4;
/// Where in the flags of a part the operator of an exclusion constraint stands.
const EXCLUSION: u8 = 4;

/// What an index is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// The table.
    pub table: ObjectId,
    /// Its key, the most significant part first.
    pub parts: Vec<KeyPart>,
    /// Whether no two records may have the same key. Where parts exclude values, they say which records may not be there
    /// together, and this says that other tables may refer to the key.
    pub unique: bool,
    /// Whether keys with a NULL never equal each other (NULLS DISTINCT).
    pub nulls_distinct: bool,
    /// How full leaves are when the index is built, in per cent; pages do not tell it.
    pub fill_factor: u8,
}

impl IndexSpec {
    /// How full leaves are where nothing else is said.
    pub const FILL_FACTOR: u8 = 90;

    /// `table u32 | flags u8 | parts u8 | reserved u16 | per part: column u16, type u8, flags u8 | per part with a collation:
    /// length u8, the collation`.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = self.table.0.to_le_bytes().to_vec();
        let nulls = if self.nulls_distinct { NULLS_DISTINCT } else { 0 };
        out.extend_from_slice(&[(u8::from(self.unique) * UNIQUE) | nulls, self.parts.len() as u8, 0, 0]);
        for part in &self.parts {
            out.extend_from_slice(&part.column.to_le_bytes());
            let descending = if part.descending { DESCENDING } else { 0 };
            let first = if part.nulls_first { NULLS_FIRST } else { 0 };
            let guard = if part.guard { GUARD } else { 0 };
            let excludes = part.excludes.map_or(0, Exclusion::code) << EXCLUSION;
            out.extend_from_slice(&[part.ty.code(), descending | first | guard | excludes]);
        }
        for collator in self.collators() {
            out.push(collator.spec().len() as u8);
            out.extend_from_slice(collator.spec().as_bytes());
        }
        out
    }

    /// The collations of the parts that have one.
    pub(super) fn collators(&self) -> impl Iterator<Item = Collator> {
        self.parts.iter().filter_map(|part| match part.ty {
            KeyType::Collated(collator) => Some(collator),
            _ => None,
        })
    }

    /// The spec, and whether its keys are of use: not where they were made from other data of collations. The parts are then
    /// those of plain texts.
    fn decode(bytes: &[u8], data: CollationData) -> Result<(IndexSpec, bool), Flaw> {
        let (table, flags) = (ObjectId(checked_u32(bytes, 0)?), checked_u8(bytes, 4)?);
        let count = usize::from(checked_u8(bytes, 5)?);
        let parts = (0..count).map(|index| {
            let at = 8 + index * 4;
            let flags = checked_u8(bytes, at + 3)?;
            let code = checked_u8(bytes, at + 2)?;
            let ty = match code {
                KeyType::COLLATED => KeyType::Bytes,
                code => KeyType::from_code(code).ok_or_else(|| Flaw::from("unknown key type"))?,
            };
            Ok(KeyPart {
                column: checked_u16(bytes, at)?,
                ty,
                descending: flags & DESCENDING != 0,
                nulls_first: flags & NULLS_FIRST != 0,
                guard: flags & GUARD != 0,
                excludes: match flags >> EXCLUSION {
                    0 => None,
                    code => {
                        let known = Exclusion::from_code(code);
                        Some(known.ok_or_else(|| Flaw::from("unknown operator of an exclusion constraint"))?)
                    }
                },
            })
        });
        let mut parts = parts.collect::<Result<Vec<_>, Flaw>>()?;
        let mut is_current = true;
        let mut at = 8 + count * 4;
        for (n, part) in parts.iter_mut().enumerate() {
            if checked_u8(bytes, 8 + n * 4 + 2)? != KeyType::COLLATED {
                continue;
            }
            let length = usize::from(checked_u8(bytes, at)?);
            let spec = bytes.get(at + 1..at + 1 + length).and_then(|spec| std::str::from_utf8(spec).ok());
            let read = spec.and_then(|spec| Collator::read(spec, data).ok());
            match read.ok_or_else(|| Flaw::from("unknown collation"))? {
                Some(collator) => part.ty = KeyType::Collated(collator),
                None => is_current = false,
            }
            at += 1 + length;
        }
        if parts.is_empty() || parts.len() > MAX_PARTS {
            return Err(Flaw::from("an index of no parts, or too many"));
        }
        let (unique, nulls_distinct) = (flags & UNIQUE != 0, flags & NULLS_DISTINCT != 0);
        let fill_factor = IndexSpec::FILL_FACTOR;
        Ok((IndexSpec { table, parts, unique, nulls_distinct, fill_factor }, is_current))
    }
}

/// How far a build is.
#[derive(Clone, Copy, Debug)]
pub struct IndexProgress {
    /// Data pages of the table.
    pub pages_total: u64,
    /// Data pages read.
    pub pages_done: u64,
    /// Memory that it takes.
    pub held_bytes: u64,
}

/// Figures of an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStatistics {
    /// Pages of its tree.
    pub pages: u64,
    /// Levels of its tree.
    pub height: u32,
    /// Entries, estimated from one leaf.
    pub entries: u64,
}

/// A stored index.
pub struct Index {
    object: ObjectId,
    root: PageId,
    spec: IndexSpec,
    /// Where the columns of the parts stand among the table's.
    pub(super) ordinals: SmallVec<[usize; 4]>,
    /// The root of the tree; 0 = none is known (P3).
    tree: AtomicU32,
    /// Held by who changes the structure of the tree (P2).
    pub(super) structure: Mutex<()>,
    /// The last leaf, if keys were appended; 0 = unknown.
    pub(super) hint: AtomicU32,
    /// Keys on their way out.
    pub(super) purging: Purging,
    /// Whether entries are missing still.
    pub(super) filling: Filling,
    /// Of an exclusion constraint: whose look for others is not over.
    pub(super) arrivals: Arrivals,
    /// How often it was read.
    pub(crate) uses: Uses,
    /// Its name, for those who meet it before they can know it.
    label: OnceLock<Arc<str>>,
}

impl Index {
    /// Reads the root of an index of a table with these columns; `None` where its keys were made from other data of
    /// collations: it is as good as not there until the catalog has it built anew.
    pub(crate) fn load(
        shared: &Shared,
        object: ObjectId,
        root: PageId,
        columns: &[ColumnSpec],
    ) -> Result<Option<Index>, StorageError> {
        match Index::read_spec(shared, object, root)? {
            (spec, true) => Index::new(object, root, spec, columns).map(Some),
            (_, false) => Ok(None),
        }
    }

    /// The index at a root page.
    pub(super) fn new(
        object: ObjectId,
        root: PageId,
        spec: IndexSpec,
        columns: &[ColumnSpec],
    ) -> Result<Index, StorageError> {
        let ordinal = |part: &KeyPart| {
            let found = columns.iter().position(|column| column.id == part.column);
            found.filter(|ordinal| columns[*ordinal].physical == part.ty.physical()).ok_or_else(|| {
                StorageError::corrupt(root, object, "a key of a column that the table does not have")
            })
        };
        let ordinals = spec.parts.iter().map(ordinal).collect::<Result<_, _>>()?;
        Ok(Index {
            object,
            root,
            spec,
            ordinals,
            tree: AtomicU32::new(0),
            structure: Mutex::default(),
            hint: AtomicU32::new(0),
            purging: Purging::default(),
            filling: Filling::default(),
            arrivals: Arrivals::default(),
            uses: Uses::default(),
            label: OnceLock::new(),
        })
    }

    /// What the index at `root` is of, and whether its keys are of use.
    pub(crate) fn read_spec(
        shared: &Shared,
        object: ObjectId,
        root: PageId,
    ) -> Result<(IndexSpec, bool), StorageError> {
        let page = shared.core().pool.read(root)?;
        if header::kind(&page) != Some(PageKind::Root) || page[root::OBJECT_KIND] != root::INDEX {
            return Err(StorageError::corrupt(root, object, "not the root of an index"));
        }
        let data = shared.options.collation_data;
        IndexSpec::decode(&page[root::BODY..], data).map_err(|flaw| StorageError::corrupt(root, object, flaw))
    }

    /// Its number.
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// Its root page.
    pub fn root(&self) -> PageId {
        self.root
    }

    /// The root of its tree, where that is known; its root page says it in any case (P3).
    #[inline]
    pub(super) fn tree(&self) -> Option<PageId> {
        match self.tree.load(Ordering::Acquire) {
            0 => None,
            tree => Some(PageId(tree)),
        }
    }

    /// The root of its tree, which is there: something leads to it.
    pub(super) fn tree_there(&self) -> Result<PageId, StorageError> {
        self.tree().ok_or_else(|| self.corrupt(self.root, "an index without a tree"))
    }

    /// It has a tree now, which its root page names.
    pub(super) fn set_tree(&self, tree: PageId) {
        self.tree.store(tree.0, Ordering::Release);
    }

    /// What its root page says, which is latched.
    pub(super) fn note_tree(&self, root: &[u8]) -> Option<PageId> {
        let tree = root::tree(root, self.root);
        tree.into_iter().for_each(|tree| self.set_tree(tree));
        tree
    }

    /// The root of its tree, or none before its first entry.
    pub(super) fn look_for_tree(&self, shared: &Shared) -> Result<Option<PageId>, StorageError> {
        match self.tree() {
            None => Ok(self.note_tree(&shared.core().pool.read(self.root)?)),
            tree => Ok(tree),
        }
    }

    /// What the catalog is going to call it, while it is filled by a transaction that has not ended.
    pub fn label(&self) -> Option<&Arc<str>> {
        self.label.get()
    }

    /// Gives it a name ([`Index::label`]).
    pub(super) fn set_label(&self, label: &str) {
        let _first = self.label.set(label.into());
    }

    /// What it is of.
    pub fn spec(&self) -> &IndexSpec {
        &self.spec
    }

    /// The columns that its keys are made of.
    pub(crate) fn columns(&self) -> SmallVec<[u16; 8]> {
        self.spec.parts.iter().map(|part| part.column).collect()
    }

    /// Whether a record has several entries: one for each key of its values.
    #[inline]
    pub fn is_inverted(&self) -> bool {
        is_inverted(&self.spec.parts)
    }

    /// Whether its records exclude each other by operators.
    #[inline]
    pub(crate) fn excludes(&self) -> bool {
        self.spec.parts.iter().any(|part| part.excludes.is_some())
    }

    /// Whether no two records may have the same key.
    #[inline]
    pub(super) fn is_unique(&self) -> bool {
        self.spec.unique && !self.excludes()
    }

    /// Whether several records may have a key, `any_null` saying whether a part of it is NULL.
    #[inline]
    pub(super) fn is_free(&self, any_null: bool) -> bool {
        !self.is_unique() || (any_null && self.spec.nulls_distinct)
    }

    /// Whether its keys say what these columns hold: then a scan need not visit records of clean pages.
    pub fn answers(&self, columns: &[u16]) -> bool {
        let parts = &self.spec.parts;
        let once = |list: &[u16]| (1..list.len()).all(|at| !list[..at].contains(&list[at]));
        let own: SmallVec<[u16; 4]> = parts.iter().map(|part| part.column).collect();
        let parts: SmallVec<[&KeyPart; 4]> = parts.iter().filter(|part| !part.guard).collect();
        let exact = parts.iter().all(|part| part.ty.is_exact());
        exact && once(columns) && once(&own) && columns.iter().all(|column| own.contains(column))
    }

    /// The records that have entries of this key, in their order: not every one has it in its newest version.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn records_current(&self, txn: &Txn, key: &[u8]) -> Result<Vec<RecordId>, StorageError> {
        self.records_of(&txn.shared, key)
    }

    pub(super) fn records_of(&self, shared: &Shared, key: &[u8]) -> Result<Vec<RecordId>, StorageError> {
        let mut records = Vec::new();
        let mut from = key.to_vec();
        loop {
            let leaf = self.read_leaf(shared, &from)?;
            let node = self.node(leaf.id(), &leaf)?;
            for index in node.find(&from).0..node.count() {
                let entry = node.string(index);
                if !entry.starts_with(key) {
                    return Ok(records);
                }
                records.push(record_of(&entry));
            }
            match node.high() {
                Some(high) if high.starts_with(key) => from = high.to_vec(),
                _ => return Ok(records),
            }
        }
    }

    /// Whether a record has an entry of this key, however many others have one.
    pub(super) fn has_entry(
        &self,
        shared: &Shared,
        key: &[u8],
        record: RecordId,
    ) -> Result<bool, StorageError> {
        let mut entry = Vec::with_capacity(key.len() + RECORD);
        entry.extend_from_slice(key);
        entry.extend_from_slice(&record_bytes(record));
        let leaf = self.read_leaf(shared, &entry)?;
        Ok(self.node(leaf.id(), &leaf)?.find(&entry).1)
    }

    /// Its figures, as of now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn statistics(&self, txn: &Txn) -> Result<IndexStatistics, StorageError> {
        let shared = &txn.shared;
        let pages = u64::from(u32_at(&shared.core().pool.read(self.root)?, root::DATA_PAGES));
        let Some(tree) = self.look_for_tree(shared)? else {
            return Ok(IndexStatistics { pages: 1, height: 1, entries: 0 });
        };
        let height = 1 + u32::from({
            let top = shared.core().pool.read(tree)?;
            self.node(tree, &top)?.level()
        });
        let leaf = self.read_down(shared, |node| node.count() / 2)?;
        let entries = self.node(leaf.id(), &leaf)?.count() as u64;
        // Inner pages are few.
        let entries = if height == 1 { entries } else { entries * pages };
        Ok(IndexStatistics { pages, height, entries })
    }

    /// Which part of the entries lies within ranges that do not overlap, from 0 to 1: an estimate from two ways down the
    /// tree for each, as if all children of a page held as much. `None` while the tree is a single leaf.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn share(&self, txn: &Txn, ranges: &[KeyRange]) -> Result<Option<f64>, StorageError> {
        self.share_in(&txn.shared, ranges)
    }

    /// As [`Index::share`], for a statement that runs on another thread.
    ///
    /// # Errors
    /// As [`Index::share`].
    pub fn share_by(
        &self,
        reader: &SnapshotReader,
        ranges: &[KeyRange],
    ) -> Result<Option<f64>, StorageError> {
        self.share_in(&reader.shared, ranges)
    }

    fn share_in(&self, shared: &Shared, ranges: &[KeyRange]) -> Result<Option<f64>, StorageError> {
        {
            let Some(tree) = self.look_for_tree(shared)? else { return Ok(None) };
            let top = shared.core().pool.read(tree)?;
            if self.node(tree, &top)?.is_leaf() {
                return Ok(None);
            }
        }
        let mut share = 0.0;
        for range in ranges {
            let end = range.end().map_or(Ok(1.0), |end| self.place(shared, &end))?;
            share += (end - self.place(shared, &range.start())?).max(0.0);
        }
        Ok(Some(share))
    }

    /// About which part of the entries has a key, from 0 to 1.
    pub(super) fn part_of(&self, shared: &Shared, key: &[u8]) -> Result<f64, StorageError> {
        let end = successor(key).map_or(Ok(1.0), |end| self.place(shared, &end))?;
        Ok((end - self.place(shared, key)?).max(0.0))
    }

    /// Where among all entries, from 0 to 1, a string stands.
    fn place(&self, shared: &Shared, string: &[u8]) -> Result<f64, StorageError> {
        // What lies before, and the part that the page reached stands for.
        let (before, part) = (Cell::new(0.0), Cell::new(1.0));
        let leaf = self.read_down(shared, |node| {
            let child = node.child_for(string);
            part.set(part.get() / node.count().max(1) as f64);
            before.set(before.get() + part.get() * child as f64);
            child
        })?;
        let node = self.node(leaf.id(), &leaf)?;
        Ok(before.get() + part.get() * node.find(string).0 as f64 / node.count().max(1) as f64)
    }
}
