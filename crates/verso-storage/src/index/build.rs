//! Building indexes for what a table holds, bottom up; and taking them away.
//!
//! Every version that anybody may still see is indexed, so a snapshot older than the index reads the same through it. Keys
//! that only older versions have are noted for purge ([`stale`]).
//! While an index is built the table's gate is closed: nothing is undone or purged that the new index should learn of.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::entries::Entries;
use super::node::{self, CHILD, NewNode, SLOT};
use super::shape::{self, count_pages, separator};
use super::stale::{self, OldKeys};
use super::table::{Index, IndexProgress, IndexSpec, MAX_PARTS};
use super::unique::held_twice;
use super::versions::Versions;
use crate::StorageError;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::{Heap, root};
use crate::mini::Mini;
use crate::page::bytes::u16_at;
use crate::page::{ObjectId, PageId, RecordId, TxnId};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::wal::RecordKind;

/// Pages are filled to this share, in per cent.
const FILL: usize = 90;

/// Tells how far a build is, and may end it.
pub type Progress<'p> = &'p mut dyn FnMut(IndexProgress) -> ControlFlow<()>;

/// Tests that an index of this kind can be made.
///
/// # Errors
/// `TooLarge` for too many parts; `Corrupt` for columns that the table does not have.
pub(crate) fn validate(heap: &Heap, object: ObjectId, spec: &IndexSpec) -> Result<(), StorageError> {
    if spec.parts.is_empty() || spec.parts.len() > MAX_PARTS {
        let (size, limit) = (spec.parts.len() as u64, MAX_PARTS as u64);
        return Err(StorageError::TooLarge { what: "the list of an index's columns".into(), size, limit });
    }
    if heap.indexes.list().len() >= root::MAX_INDEXES {
        let limit = root::MAX_INDEXES as u64;
        return Err(StorageError::TooLarge {
            what: "the list of a table's indexes".into(),
            size: limit + 1,
            limit,
        });
    }
    Index::new(object, heap.root, spec.clone(), heap.columns()).map(|_| ())
}

/// Fills a new index object, whose root stands, and makes it the table's.
pub(crate) fn create(
    txn: &mut Txn,
    heap: &Heap,
    object: ObjectId,
    root_page: PageId,
    spec: IndexSpec,
    progress: Progress<'_>,
) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let index = Arc::new(Index::new(object, root_page, spec, heap.columns())?);
    let mut gate = heap.indexes.close();
    {
        let mut mini = Mini::begin(shared.core(), txn.id);
        let root = mini.write(root_page)?;
        let tree = root::allocate_page(&mut mini, &shared.space, object, root)?;
        assert_eq!(tree, index.tree(), "the first page of an object stands behind its root");
        count_pages(&mut mini, root, 1)?;
        let page = mini.create(tree)?;
        shape::init(&mut mini, page, &empty(&index), &[])?;
        txn.wrote(mini.commit()?);
    }
    let mut old = Vec::new();
    let entries = collect_for(txn, heap, &index, &mut old, progress)?;
    check_unique(txn, heap, &index, &entries)?;
    load(txn, &index, &entries)?;
    for (page_index, keys) in old {
        let mut mini = Mini::begin(shared.core(), txn.id);
        stale::note(&shared, txn, &mut mini, heap, &index, page_index, &keys)?;
        if !mini.is_empty() {
            txn.wrote(mini.commit()?);
        }
    }
    let mut list: Vec<Arc<Index>> = heap.indexes.list().to_vec();
    list.push(index);
    let mut mini = Mini::begin(shared.core(), txn.id);
    let root = mini.write(heap.root)?;
    let objects: Vec<ObjectId> = list.iter().map(|index| index.object()).collect();
    mini.apply(root, RecordKind::PATCH, &root::index_list(&objects))?;
    let lsns = mini.commit_with(|_, _| heap.indexes.set(&mut gate, list))?;
    txn.wrote(lsns);
    Ok(())
}

fn empty(index: &Index) -> NewNode<'static> {
    NewNode { page: index.tree(), owner: index.object(), level: 0, next: PageId::NONE, low: &[], high: None }
}

/// The same for a transaction: it may be cancelled, and is told of the memory.
fn collect_for(
    txn: &mut Txn,
    heap: &Heap,
    index: &Index,
    old: &mut Vec<(u32, OldKeys)>,
    progress: Progress<'_>,
) -> Result<Entries, StorageError> {
    let shared = Arc::clone(&txn.shared);
    let cancel = Arc::clone(&txn.cancel);
    let (gauge, mut refused, mut told) = (&mut txn.gauge, None, 0);
    let result = collect(&shared, heap, index, old, &mut |done| {
        if cancel.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if let Some(gauge) = gauge
            && std::mem::replace(&mut told, done.held_bytes) != done.held_bytes
            && let Err(error) = gauge(done.held_bytes)
        {
            refused = Some(error);
            return ControlFlow::Break(());
        }
        progress(done)
    });
    refused.map_or(result, Err)
}

/// The sorted entries that an index of this table has to have; `old` gets the keys that only older versions have, by page.
pub(super) fn collect(
    shared: &Shared,
    heap: &Heap,
    index: &Index,
    old: &mut Vec<(u32, OldKeys)>,
    progress: Progress<'_>,
) -> Result<Entries, StorageError> {
    let mut entries = Entries::default();
    let pages_total = u64::from(heap.page_count());
    for page_index in 0..heap.page_count() {
        let Some(id) = heap.page_at(page_index)? else { break };
        let page = shared.core().pool.read_for_scan(id)?;
        let layout = PageLayout::of(&page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
        let _walking = shared.versions.walk();
        let horizon = shared.transactions.horizon();
        // The first old key of each record, then the second of those that have one, and so on: slots ascend in each.
        let mut rounds: Vec<OldKeys> = Vec::new();
        for slot in 0..u16_at(&page, SLOT_HIGH) {
            let record = RecordId { page_index, slot };
            let first = entries.len();
            let versions = Versions::home(shared, heap, index, &page, &layout, page_index, slot);
            versions.walk(horizon, |version, key, any_null| {
                let known = entries.len() - first;
                if (first..entries.len()).any(|other| entries.key(other) == key) {
                    return Ok(());
                }
                entries.push(key, record, index.is_free(any_null));
                if let Some(round) = known.checked_sub(1) {
                    if round == rounds.len() {
                        rounds.push(OldKeys::default());
                    }
                    rounds[round].push(heap, index, slot, &version.values()?);
                }
                Ok(())
            })?;
        }
        drop(page);
        old.extend(rounds.into_iter().map(|keys| (page_index, keys)));
        if entries.is_full() {
            let (size, limit) = (entries.heap_bytes() as u64, u64::from(u32::MAX));
            return Err(StorageError::TooLarge { what: "the list of an index's keys".into(), size, limit });
        }
        let (pages_done, held_bytes) = (u64::from(page_index) + 1, entries.heap_bytes() as u64);
        if progress(IndexProgress { pages_total, pages_done, held_bytes }).is_break() {
            return Err(StorageError::Cancelled);
        }
    }
    entries.sort();
    Ok(entries)
}

fn check_unique(txn: &Txn, heap: &Heap, index: &Index, entries: &Entries) -> Result<(), StorageError> {
    let limit = node::longest(txn.shared.page_size);
    if entries.longest() > limit {
        return Err(index.too_large(entries.longest(), limit));
    }
    if !index.spec().unique {
        return Ok(());
    }
    let _walking = txn.shared.versions.walk();
    let mut first = 0;
    while first < entries.len() {
        let key = entries.key(first);
        let count = (first..entries.len()).take_while(|other| entries.key(*other) == key).count();
        if count > 1 && !entries.is_free(first) {
            let records = (first..first + count).map(|other| entries.record(other));
            if let Some(record) = held_twice(txn, heap, index, key, records)? {
                return Err(StorageError::Unique { index: index.object(), record });
            }
        }
        first += count;
    }
    Ok(())
}

/// Writes a tree of sorted entries; its root page comes last, so the old tree stands until then.
fn load(txn: &mut Txn, index: &Index, entries: &Entries) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let mut level = 0;
    let mut children: Vec<(PageId, Vec<u8>)> = Vec::new();
    let mut count = entries.len();
    loop {
        let get = |at: usize| -> (Option<PageId>, &[u8]) {
            match level {
                0 => (None, entries.entry(at)),
                _ => (Some(children[at].0), &children[at].1),
            }
        };
        let size: usize = (0..count).map(|at| SLOT + CHILD + get(at).1.len()).sum();
        if size <= node::room_of_empty(shared.page_size, &[], None) {
            let mut mini = Mini::begin(shared.core(), txn.id);
            let page = mini.write(index.tree())?;
            let top = NewNode { level, ..empty(index) };
            mini.apply_with(page, RecordKind::INDEX_INIT, |out| top.encode(out, (0..count).map(get)))?;
            txn.wrote(mini.commit()?);
            return Ok(());
        }
        let above = load_level(txn, &shared, index, level, count, get)?;
        children = above;
        count = children.len();
        level += 1;
    }
}

/// Writes one level, from left to right; its pages with their low fences.
fn load_level<'a>(
    txn: &mut Txn,
    shared: &Shared,
    index: &Index,
    level: u16,
    count: usize,
    get: impl Fn(usize) -> (Option<PageId>, &'a [u8]),
) -> Result<Vec<(PageId, Vec<u8>)>, StorageError> {
    let child = if level == 0 { 0 } else { CHILD };
    let target = shared.page_size * FILL / 100;
    let mut pages = Vec::new();
    let mut low: Vec<u8> = Vec::new();
    let mut page = allocate(txn, shared, index)?;
    let mut first = 0;
    while first < count {
        // As many as fit if the page's strings have in common what its first and last one have.
        let (mut end, mut bytes) = (first, 0);
        while end < count {
            let string = get(end).1;
            bytes += SLOT + child + string.len();
            let shared_bytes = node::prefix_of(&low, Some(string)) * (end + 1 - first);
            if end > first && bytes + low.len() + string.len() > target + shared_bytes {
                break;
            }
            end += 1;
        }
        let mut high;
        loop {
            high = (end < count).then(|| match level {
                0 => separator(get(end - 1).1, get(end).1),
                _ => get(end).1.to_vec(),
            });
            let prefix = node::prefix_of(&low, high.as_deref());
            let size: usize = (first..end).map(|at| SLOT + child + get(at).1.len() - prefix).sum();
            if size <= node::room_of_empty(shared.page_size, &low, high.as_deref()) {
                break;
            }
            end -= ((end - first) / 8).max(1);
        }
        let mut mini = Mini::begin(shared.core(), txn.id);
        let mut next = PageId::NONE;
        if end < count {
            let root = mini.write(index.root())?;
            next = root::allocate_page(&mut mini, &shared.space, index.object(), root)?;
            mini.use_reserve();
            count_pages(&mut mini, root, 1)?;
        }
        let handle = mini.create(page)?;
        let new = NewNode { page, owner: index.object(), level, next, low: &low, high: high.as_deref() };
        mini.apply_with(handle, RecordKind::INDEX_INIT, |out| new.encode(out, (first..end).map(&get)))?;
        txn.wrote(mini.commit()?);
        pages.push((page, std::mem::take(&mut low)));
        low = high.unwrap_or_default();
        page = next;
        first = end;
    }
    Ok(pages)
}

fn allocate(txn: &mut Txn, shared: &Shared, index: &Index) -> Result<PageId, StorageError> {
    let mut mini = Mini::begin(shared.core(), txn.id);
    let root = mini.write(index.root())?;
    let page = root::allocate_page(&mut mini, &shared.space, index.object(), root)?;
    mini.use_reserve();
    count_pages(&mut mini, root, 1)?;
    // Initialised soon; until then nobody can name it.
    let handle = mini.create(page)?;
    shape::init(&mut mini, handle, &NewNode { page, ..empty(index) }, &[])?;
    txn.wrote(mini.commit()?);
    Ok(page)
}

/// Frees an index, and takes it from its table's list.
pub(crate) fn free(shared: &Shared, object: ObjectId, root_page: PageId) -> Result<u64, StorageError> {
    let spec = Index::read_spec(&shared.core().pool, object, root_page)?;
    let heap = shared.heap_if_there(spec.table)?;
    let mut gate = heap.as_ref().map(|heap| heap.indexes.close());
    if !shared.roots.lock().contains_key(&object) {
        // Another thread was faster, and the table may have gone, too.
        return Ok(0);
    }
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.use_reserve();
    let mut rest = Vec::new();
    if let Some(heap) = &heap {
        rest.extend(heap.indexes.list().iter().filter(|index| index.object() != object).cloned());
        let objects: Vec<ObjectId> = rest.iter().map(|index| index.object()).collect();
        let root = mini.write(heap.root)?;
        mini.apply(root, RecordKind::PATCH, &root::index_list(&objects))?;
    }
    let pages = shared.space.free_owner(&mut mini, object)?;
    mini.commit_with(|_, _| {
        shared.roots.lock().remove(&object);
        if let (Some(heap), Some(gate)) = (&heap, &mut gate) {
            heap.indexes.set(gate, rest);
        }
    })?;
    Ok(pages)
}
