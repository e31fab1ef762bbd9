//! Building indexes for what a table holds, bottom up; and taking them away.
//!
//! ```text
//! scan    workers: ranges of pages ─► keys of all indexes asked for ─► sorted runs, in memory or in temporary files
//! merge   workers: ranges of keys  ─► runs as one ─► unique? ─► leaves, full up to the fill factor
//! caller  levels above ─► root page ─► old keys noted ─► the table's list
//! ```
//!
//! Every version that anybody may still see is indexed, so a snapshot older than the index reads the same through it. Keys
//! that only older versions have are noted for purge ([`stale`]).
//! While an index is built the table's gate is closed: nothing is undone or purged that the new index should learn of.
//!
//! B1. One worker and many make the same entries, and tell the same error: of the first key, in order, that two records have.

mod collect;
mod concurrent;
mod load;
mod losers;
mod merge;
mod run;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::entries::{Entries, RECORD};
use super::exclusion;
use super::node::{self, SLOT};
use super::stale::{self, OldKeys};
use super::table::{Index, IndexProgress, IndexSpec, MAX_PARTS};
use super::tree::Written;
use super::unique::held_twice;
use crate::StorageError;
use crate::heap::{Heap, root};
use crate::mini::Mini;
use crate::page::{ObjectId, PageId, RecordId, TxnId};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::wal::RecordKind;
use crate::workers::{Crew, Part, Ranges, Stop, Watch};
pub use collect::TemporarySpace;
use collect::{Collected, SortFiles};
pub(crate) use concurrent::create_concurrently;
use load::{Behind, LeafWriter, Pages};
use merge::Runs;
use run::{FileRun, RunWriter};

/// Tells how far a build is, and may end it.
pub type Progress<'p> = &'p mut dyn FnMut(IndexProgress) -> ControlFlow<()>;

/// Tests that indexes of these kinds can be made.
///
/// # Errors
/// `TooLarge` for too many parts, or indexes; `Corrupt` for columns that the table does not have.
pub(crate) fn validate(heap: &Heap, specs: &[IndexSpec]) -> Result<(), StorageError> {
    for spec in specs {
        if spec.parts.is_empty() || spec.parts.len() > MAX_PARTS {
            let (size, limit) = (spec.parts.len() as u64, MAX_PARTS as u64);
            return Err(StorageError::TooLarge {
                what: "the list of an index's columns".into(),
                size,
                limit,
            });
        }
        Index::new(ObjectId(0), heap.root, spec.clone(), heap.columns())?;
        let (size, limit) = (spec.encode().len() as u64, root::SPEC_MAX as u64);
        if size > limit {
            let what = "the list of an index's collations".into();
            return Err(StorageError::TooLarge { what, size, limit });
        }
    }
    check_list(heap, specs.len())
}

/// Tests that a table's list has room for so many more; for sure where the gate is closed, as others build indexes, too.
fn check_list(heap: &Heap, more: usize) -> Result<(), StorageError> {
    let (size, limit) = ((heap.indexes.list().len() + more) as u64, root::MAX_INDEXES as u64);
    if size > limit {
        return Err(StorageError::TooLarge { what: "the list of a table's indexes".into(), size, limit });
    }
    Ok(())
}

/// An index that is to be built: its object, whose root stands there.
pub(crate) type New = (ObjectId, PageId, IndexSpec);

/// Fills new index objects from one scan of their table, and makes them the table's.
pub(crate) fn create(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    new: Vec<New>,
    progress: Progress<'_>,
) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let mut indexes = Vec::with_capacity(new.len());
    for (object, root_page, spec) in new {
        indexes.push(Arc::new(Index::new(object, root_page, spec, heap.columns())?));
    }
    let Some(first) = indexes.first() else { return Ok(()) };
    let made: Vec<ObjectId> = indexes.iter().map(|index| index.object()).collect();
    let listed = shared.workers.begin("CREATE INDEX", txn.owner.session(), Some(heap.object));
    listed.job().at(heap.object, Some(first.object()));
    let crew = shared.workers.gather(listed.job(), txn.limits.workers);
    let mut gate = heap.indexes.close();
    check_list(heap, indexes.len())?;
    let mut collected = collect_all(txn, heap, &indexes, &crew, progress)?;
    for (at, index) in indexes.iter().enumerate() {
        listed.job().at(heap.object, Some(index.object()));
        let (mut runs, mut old) = (Runs { memory: Vec::new(), files: Vec::new() }, Vec::new());
        for worker in &mut collected {
            let Collected { entries, files, old: its, .. } = std::mem::take(&mut worker[at]);
            runs.memory.push(entries);
            runs.files.extend(files);
            old.extend(its);
        }
        build(txn, heap, index, runs, &crew, progress)?;
        note_old(txn, heap, index, old)?;
    }
    let mut list: Vec<Arc<Index>> = heap.indexes.list().to_vec();
    list.extend(indexes);
    let mut mini = Mini::begin(shared.core(), txn.id);
    write_list(&mut mini, heap, &list)?;
    let lsns = mini.commit_with(|_, _| heap.indexes.set(&mut gate, list))?;
    txn.wrote(lsns);
    drop(gate);
    for index in heap.indexes.list().iter().filter(|index| index.excludes()) {
        if made.contains(&index.object()) {
            exclusion::check_all(txn, heap, index)?;
        }
    }
    Ok(())
}

/// Notes keys that only older versions have, for purge.
fn note_old(
    txn: &mut Txn,
    heap: &Heap,
    index: &Index,
    mut old: Vec<(u32, OldKeys)>,
) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    old.sort_by_key(|(page_index, _)| *page_index);
    for (page_index, keys) in old {
        let mut mini = Mini::begin(shared.core(), txn.id);
        stale::note(&shared, txn, &mut mini, heap, index, page_index, &keys)?;
        if !mini.is_empty() {
            txn.wrote(mini.commit()?);
        }
    }
    Ok(())
}

/// Writes a table's list of indexes: those that are not being filled (B7).
fn write_list(mini: &mut Mini<'_>, heap: &Heap, list: &[Arc<Index>]) -> Result<(), StorageError> {
    let whole = list.iter().filter(|index| !index.filling.is_on());
    let objects: Vec<ObjectId> = whole.map(|index| index.object()).collect();
    let root = mini.write(heap.root)?;
    mini.apply(root, RecordKind::PATCH, &root::index_list(&objects))
}

/// Asks whether a build is to go on: it may be cancelled, and its memory refused.
fn watched<R>(
    txn: &mut Txn,
    crew: &Crew,
    pages_total: u64,
    progress: Progress<'_>,
    work: impl FnOnce(Watch<'_>) -> R,
) -> R {
    let (cancel, gauge) = (Arc::clone(&txn.cancel), &mut txn.gauge);
    let mut told = 0;
    work(&mut || {
        if cancel.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        let held_bytes = crew.job().held_bytes();
        if let Some(gauge) = gauge
            && std::mem::replace(&mut told, held_bytes) != held_bytes
        {
            gauge(held_bytes)?;
        }
        let pages_done = crew.job().done();
        match progress(IndexProgress { pages_total, pages_done, held_bytes }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StorageError::Cancelled),
        }
    })
}

/// The keys of all indexes, in sorted runs: those of each worker, for each index.
fn collect_all(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    indexes: &[Arc<Index>],
    crew: &Crew,
    progress: Progress<'_>,
) -> Result<Vec<Vec<Collected>>, StorageError> {
    let shared = Arc::clone(&txn.shared);
    let pages = u64::from(heap.page_count());
    crew.job().enter("building index: scanning table", pages);
    let share = txn.limits.memory_bytes / (crew.size() * indexes.len()) as u64;
    let files = SortFiles {
        directory: shared.temporary.clone(),
        space: txn.temporary.clone(),
        block_bytes: (share / 32).clamp(4 << 10, 64 << 10) as usize,
        next: Arc::clone(&shared.sort_files),
    };
    let ranges = Ranges::new(pages, crew.size());
    // A block of each run stands in memory while they are merged; in the end each worker reads the runs of all of them.
    let fan_in = (share as usize / files.block_bytes).clamp(4, 256);
    let most_runs = (fan_in / crew.size()).max(4);
    let (heap, indexes, job) = (Arc::clone(heap), indexes.to_vec(), Arc::clone(crew.job()));
    watched(txn, crew, pages, progress, |watch| {
        crew.run(Stop::All, watch, move |part| {
            let mut all: Vec<Collected> = indexes.iter().map(|_| Collected::default()).collect();
            while let Some(range) = ranges.take() {
                for page_index in range {
                    for (index, collected) in indexes.iter().zip(&mut all) {
                        collected.page(&shared, &heap, index, page_index as u32)?;
                        if collected.is_much(share) {
                            collected.tell(&job);
                            collected.spill(&shared, &files, &job, share)?;
                            // Each is an open file.
                            if collected.files.len() >= 2 * fan_in {
                                merge_runs(&shared, &files, collected, fan_in, part)?;
                            }
                        }
                        collected.tell(&job);
                    }
                    job.advance(1);
                    part.go_on()?;
                }
            }
            for collected in &mut all {
                collected.end(&shared, &files, &job)?;
                part.go_on()?;
                while collected.files.len() > most_runs {
                    let count = (collected.files.len() - most_runs + 1).min(fan_in);
                    merge_runs(&shared, &files, collected, count, part)?;
                }
                collected.tell(&job);
            }
            Ok(all)
        })
    })
}

/// Merges the smallest runs of a worker to one, so many of them: then the rest can be read at a time, and what was merged before
/// is not merged again while there are others.
fn merge_runs(
    shared: &Shared,
    files: &SortFiles,
    collected: &mut Collected,
    count: usize,
    part: &mut Part<'_>,
) -> Result<(), StorageError> {
    collected.files.sort_by_key(|run| run.count);
    let runs = Runs { memory: Vec::new(), files: collected.files.drain(..count).collect() };
    let (mut run, mut writer) = (FileRun::create(shared, files)?, RunWriter::default());
    let mut merge = runs.merge(&[], None)?;
    while let Some((entry, free)) = merge.current() {
        writer.add(&mut run, entry, free)?;
        merge.advance()?;
        if run.count.is_multiple_of(4096) {
            part.go_on()?;
        }
    }
    writer.finish(&mut run)?;
    collected.files.push(run);
    Ok(())
}

/// Writes the tree of an index from its runs.
fn build(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    index: &Arc<Index>,
    runs: Runs,
    crew: &Crew,
    progress: Progress<'_>,
) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let id = txn.id;
    let (count, bytes) = runs.size();
    let mut written = Written::default();
    // Its first entry begins the tree (P3 of `shape`).
    if count == 0 {
        return Ok(());
    }
    index.begin_tree(&shared, id, false, &mut written)?;
    if bytes + count * SLOT as u64 <= node::room_of_empty(shared.page_size, &[], None) as u64 {
        let mut check = UniqueCheck::new(&shared, id, heap, index);
        let mut all = Entries::default();
        let mut merge = runs.merge(&[], None)?;
        while let Some((entry, free)) = merge.current() {
            check.next(entry, free)?;
            all.push_entry(entry, free);
            merge.advance()?;
        }
        check.finish()?;
        load::load_root(&shared, id, index, 0, all.iter().map(|entry| (None, entry)), &mut written)?;
        txn.wrote(written.lsns());
        return Ok(());
    }
    let bounds = runs.bounds(crew.size());
    // Each part knows the first page of the next one.
    let mut firsts = Vec::with_capacity(bounds.len() + 1);
    for low in std::iter::once(&Vec::new()).chain(&bounds) {
        firsts.push((load::allocate(&shared, id, index, &mut written)?, low.clone()));
    }
    crew.job().enter_of("building index: loading tuples in tree", count, "keys");
    let readers: u64 = runs.files.iter().map(FileRun::reader_bytes).sum();
    crew.job().hold(0, readers * firsts.len() as u64);
    let (heap, index, job) = (Arc::clone(heap), Arc::clone(index), Arc::clone(crew.job()));
    let (its, its_index) = (Arc::clone(&shared), Arc::clone(&index));
    let parts = watched(txn, crew, count, progress, |watch| {
        crew.run(Stop::Behind, watch, move |part| -> Result<(Pages, Written), StorageError> {
            let Some(first) = firsts.get(part.number) else { return Ok(Default::default()) };
            let behind = match firsts.get(part.number + 1) {
                Some((page, low)) => Behind { page: *page, low: Some(low.clone()) },
                None => Behind { page: PageId::NONE, low: None },
            };
            let mut merge = runs.merge(&first.1, firsts.get(part.number + 1).map(|(_, low)| &**low))?;
            let mut check = UniqueCheck::new(&its, id, &heap, &its_index);
            let mut writer = LeafWriter::new(&its, id, &its_index, first.clone(), behind);
            let mut done = 0;
            while let Some((entry, free)) = merge.current() {
                check.next(entry, free)?;
                writer.push(entry)?;
                merge.advance()?;
                done += 1;
                if done == 1024 {
                    job.advance(std::mem::take(&mut done));
                    part.go_on()?;
                }
            }
            check.finish()?;
            writer.finish()
        })
    })?;
    crew.job().hold(crew.job().held_bytes(), 0);
    let mut children = Pages::new();
    for (pages, its) in parts {
        children.extend(pages);
        if its.bytes > 0 {
            txn.wrote(its.lsns());
        }
    }
    load::load_above(&shared, id, &index, children, &mut written)?;
    txn.wrote(written.lsns());
    Ok(())
}

/// Looks at entries in their order for keys that two records have.
struct UniqueCheck<'c> {
    shared: &'c Shared,
    txn: TxnId,
    heap: &'c Heap,
    index: &'c Index,
    is_on: bool,
    /// The key of the last entry, and who has it.
    key: Vec<u8>,
    records: Vec<RecordId>,
}

impl<'c> UniqueCheck<'c> {
    fn new(shared: &'c Shared, txn: TxnId, heap: &'c Heap, index: &'c Index) -> UniqueCheck<'c> {
        let is_on = index.is_unique();
        UniqueCheck { shared, txn, heap, index, is_on, key: Vec::new(), records: Vec::new() }
    }

    #[inline]
    fn next(&mut self, entry: &[u8], free: bool) -> Result<(), StorageError> {
        if !self.is_on || free {
            return Ok(());
        }
        let key = &entry[..entry.len().saturating_sub(RECORD)];
        if self.key != key || self.records.is_empty() {
            self.finish()?;
            self.key.clear();
            self.key.extend_from_slice(key);
        }
        self.records.push(super::entries::record_of(entry));
        Ok(())
    }

    /// No other record has the last key.
    fn finish(&mut self) -> Result<(), StorageError> {
        if self.records.len() > 1 {
            let _walking = self.shared.versions.walk();
            let records = self.records.iter().copied();
            if let Some(record) =
                held_twice(self.shared, self.txn, self.heap, self.index, &self.key, records)?
            {
                return Err(StorageError::Unique { index: self.index.object(), record });
            }
        }
        self.records.clear();
        Ok(())
    }
}

/// Frees an index, and takes it from its table's list.
pub(crate) fn free(shared: &Shared, object: ObjectId, root_page: PageId) -> Result<u64, StorageError> {
    let (spec, _) = Index::read_spec(shared, object, root_page)?;
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
        write_list(&mut mini, heap, &rest)?;
    }
    let pages = shared.space.free_owner(&mut mini, object)?;
    shared.note_gone(&mut mini, object)?;
    mini.commit_with(|_, _| {
        shared.core().unlogged.remove(object);
        shared.roots.lock().remove(&object);
        if let (Some(heap), Some(gate)) = (&heap, &mut gate) {
            heap.indexes.set(gate, rest);
        }
    })?;
    shared.core().pool.forget(object);
    Ok(pages)
}
