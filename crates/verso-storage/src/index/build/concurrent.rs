//! Builds that let writers go on: [`filling`](super::super::filling) says how they keep out of each other's way.

use std::sync::Arc;

use super::collect::Collected;
use super::merge::Runs;
use super::{New, Progress, collect_all, note_old, write_list};
use crate::StorageError;
use crate::heap::Heap;
use crate::index::entries::Entries;
use crate::index::table::Index;
use crate::index::tree::{Adding, Rival, Written};
use crate::index::unique::check_pair;
use crate::mini::Mini;
use crate::txn::transaction::Txn;
use crate::workers::Crew;

/// Entries added between two looks at whether the build is to go on.
const PORTION: usize = if cfg!(debug_assertions) { 64 } else { 1024 };

/// As [`super::create`] for one index, while writers go on.
pub(crate) fn create_concurrently(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    (object, root_page, spec): New,
    label: &str,
    progress: Progress<'_>,
) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let index = Arc::new(Index::new(object, root_page, spec, heap.columns())?);
    index.set_label(label);
    let listed = shared.workers.begin("CREATE INDEX CONCURRENTLY", txn.owner.session(), Some(heap.object));
    listed.job().at(heap.object, Some(object));
    let crew = shared.workers.gather(listed.job(), txn.limits.workers);
    let mut written = Written::default();
    index.begin_tree(&shared, txn.id, false, &mut written)?;
    txn.wrote(written.lsns());
    // B6.
    let (_registration, _view) = txn.view_of_now();
    index.filling.begin();
    {
        let mut gate = heap.indexes.close();
        let mut list = heap.indexes.list().to_vec();
        list.push(Arc::clone(&index));
        heap.indexes.set(&mut gate, list);
    }
    let mut runs = Runs { memory: Vec::new(), files: Vec::new() };
    let mut old = Vec::new();
    for mut collected in collect_all(txn, heap, std::slice::from_ref(&index), &crew, progress)? {
        let Collected { entries, files, old: its, .. } = std::mem::take(&mut collected[0]);
        runs.memory.push(entries);
        runs.files.extend(files);
        old.extend(its);
    }
    note_old(txn, heap, &index, old)?;
    fill(txn, heap, &index, &runs, &crew, progress)?;
    let mut gate = heap.indexes.close();
    let mut mini = Mini::begin(shared.core(), txn.id);
    // Before the list is written, which is of those that are whole (B7).
    index.filling.end();
    write_list(&mut mini, heap, &heap.indexes.list())?;
    let list = heap.indexes.list().to_vec();
    let lsns = mini.commit_with(|_, _| heap.indexes.set(&mut gate, list))?;
    txn.wrote(lsns);
    Ok(())
}

/// Adds what the scan has found, in the order of the keys.
fn fill(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    index: &Arc<Index>,
    runs: &Runs,
    crew: &Crew,
    progress: Progress<'_>,
) -> Result<(), StorageError> {
    let shared = Arc::clone(&txn.shared);
    let job = crew.job();
    let (count, _) = runs.size();
    job.enter_of("building index: loading tuples in tree", count, "keys");
    let most_bytes = txn.limits.memory_bytes;
    let (mut portion, mut rivals): (Entries, Vec<Rival>) = Default::default();
    let (mut merge, mut told) = (runs.merge(&[], None)?, 0);
    loop {
        portion.clear();
        while portion.len() < PORTION
            && let Some((entry, free)) = merge.current()
        {
            portion.push_entry(entry, free);
            merge.advance()?;
        }
        if portion.is_empty() {
            return Ok(());
        }
        rivals.clear();
        {
            let _gate = heap.indexes.enter();
            let written = index.add_as(&shared, txn.id, &portion, Adding::Scanned, false, &mut rivals)?;
            if written.bytes > 0 {
                txn.wrote(written.lsns());
            }
        }
        for rival in &rivals {
            let item = rival.item as usize;
            check_pair(txn, heap, index, portion.key(item), (portion.record(item), rival.record))?;
        }
        let held = index.filling.held_bytes();
        if held > most_bytes {
            let what = "the list of keys that went while an index was built".to_string();
            return Err(StorageError::TooLarge { what, size: held, limit: most_bytes });
        }
        job.hold(told, held);
        told = held;
        job.advance(portion.len() as u64);
        super::watched(txn, crew, count, progress, |watch| watch())?;
    }
}
