//! Retirement of version pages (V4) and their purge lists (V5).
//!
//! ```text
//! pages ready ─► dropped objects go ─► by table: keys of old versions collected ─► taken out, leaf by leaf
//!                                               ─► slots and values freed, entries void ─► pages given back
//! ```
//!
//! An entry is voided in the mini-transaction that frees what it stands for: a page that a crash leaves half purged is purged
//! again after restart, and no chain is freed twice. Keys that went already are passed over then.
//!
//! A page whose purge meets a damaged page stays in use and is held apart until the next sweep or restart; all others are
//! retired.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::heap::apply;
use crate::heap::layout::PageLayout;
use crate::heap::packed::Image;
use crate::heap::slice::Variable;
use crate::heap::slots::Slots;
use crate::heap::undo::free_chains;
use crate::heap::{Heap, moved};
use crate::index::maintain::KeyPurge;
use crate::mini::Mini;
use crate::page::bytes::u64_at;
use crate::page::{PageId, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::version::entry::{Entry, EntryKind};
use crate::version::page as version_page;
use crate::wal::RecordKind;
use crate::workers::{Crew, Ranges, Stop, Watch};
use crate::{ObjectId, StorageError};

/// Version pages purged together at most.
const TOGETHER: usize = 2048;
/// Version pages given back in one mini-transaction.
const GIVEN_BACK: usize = 64;

/// Entries of version pages to be purged: each page with the offsets of its entries.
type Places = Vec<(PageId, Vec<u16>)>;

/// Version pages whose purge met a damaged page.
#[derive(Default)]
struct HeldUp(BTreeMap<PageId, StorageError>);

impl HeldUp {
    /// Notes that what an error says of a page holds up `page`; other errors are given back.
    fn unless<T>(
        &mut self,
        page: PageId,
        result: Result<T, StorageError>,
    ) -> Result<Option<T>, StorageError> {
        match result {
            Err(error) if error.is_of_a_page() => {
                self.0.entry(page).or_insert(error);
                Ok(None)
            }
            result => result.map(Some),
        }
    }
}

/// Retires every version page that nobody needs any more; how many.
///
/// # Errors
/// `Corrupt`, `Io`, `Poisoned`.
pub fn retire(shared: &Arc<Shared>, crew: &Crew, watch: Watch<'_>) -> Result<u64, StorageError> {
    let mut retired = 0;
    loop {
        let ready = shared.versions.take_ready(shared.transactions.horizon(), TOGETHER);
        if ready.is_empty() {
            return Ok(retired);
        }
        let mut taken = Taken { shared, pages: ready };
        let wanted = |purge: bool| (purge && !disabled(Rule::V5)) || disabled(Rule::V5Unread);
        let read = taken.pages.iter().filter(|(_, _, purge)| wanted(*purge)).map(|(_, page, _)| *page);
        let held_up = purge_pages(shared, read, crew, watch)?;
        held_up.0.values().for_each(|error| shared.core().pool.note_damage(error));
        taken.pages.retain(|(number, page, _)| {
            let held = held_up.0.contains_key(page);
            if held {
                shared.versions.hold(*number, *page);
            }
            !held
        });
        while !taken.pages.is_empty() {
            let first = taken.pages.len().saturating_sub(GIVEN_BACK);
            let pages: Vec<PageId> = taken.pages[first..].iter().map(|(_, page, _)| *page).collect();
            let _no_walkers = shared.versions.keep_walkers_out();
            let mut mini = Mini::begin(shared.core(), TxnId::NONE);
            shared.versions.retire(&mut mini, &shared.space, &pages)?;
            mini.commit()?;
            taken.pages.truncate(first);
            retired += pages.len() as u64;
        }
    }
}

/// Pages taken out of the list of those that are ready; what is left in it when this goes, goes back.
struct Taken<'s> {
    shared: &'s Shared,
    pages: Vec<(u64, PageId, bool)>,
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.pages.drain(..).for_each(|(number, page, _)| self.shared.versions.put_back(number, page));
    }
}

/// Executes the purge lists of pages: deleted slots, chains of old values, keys, dropped objects.
fn purge_pages(
    shared: &Arc<Shared>,
    pages: impl Iterator<Item = PageId>,
    crew: &Crew,
    watch: Watch<'_>,
) -> Result<HeldUp, StorageError> {
    let mut tables: BTreeMap<ObjectId, Places> = BTreeMap::new();
    let (mut dropped, mut held_up) = (Vec::new(), HeldUp::default());
    for id in pages {
        let Some(page) = held_up.unless(id, shared.core().pool.read_for_scan(id))? else { continue };
        let entries =
            version_page::entries(&page).map_err(|flaw| StorageError::corrupt(id, ObjectId::SYSTEM, flaw));
        let Some(entries) = held_up.unless(id, entries)? else { continue };
        for (offset, entry) in
            entries.iter().filter(|(_, entry)| entry.needs_purge() || entry.may_hold_keys())
        {
            if entry.kind == EntryKind::DropObject {
                dropped.push((id, entry.table()));
                continue;
            }
            let places = tables.entry(entry.table()).or_default();
            match places.last_mut() {
                Some((page, offsets)) if *page == id => offsets.push(*offset),
                _ => places.push((id, vec![*offset])),
            }
        }
    }
    for (id, object) in dropped {
        held_up.unless(id, shared.free_object(object))?;
    }
    for (table, places) in tables {
        let places = Arc::new(places);
        let purged = match shared.heap_if_there(table) {
            Ok(Some(heap)) => purge_table(shared, &heap, &places, &mut held_up, crew, watch),
            // It was dropped meanwhile, with everything in it.
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        match purged {
            Ok(()) => {}
            // Its directory or one of its indexes: all of it waits.
            Err(error) if error.is_of_a_page() => {
                held_up.0.extend(places.iter().map(|(id, _)| (*id, error.clone())));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(held_up)
}

/// Purges what entries say of one table: first all keys go, then slots and values.
fn purge_table(
    shared: &Arc<Shared>,
    heap: &Arc<Heap>,
    places: &Arc<Places>,
    held_up: &mut HeldUp,
    crew: &Crew,
    watch: Watch<'_>,
) -> Result<(), StorageError> {
    // For all workers (W3).
    let gate = heap.indexes.enter();
    crew.job().at(heap.object, None);
    if !gate.is_empty() {
        crew.job().enter("removing old keys", places.len() as u64);
        let (shared, heap, places) = (Arc::clone(shared), Arc::clone(heap), Arc::clone(places));
        let (indexes, job) = (Arc::clone(&gate), Arc::clone(crew.job()));
        let ranges = Ranges::new(places.len() as u64, crew.size());
        let held = crew.run(Stop::All, watch, move |part| {
            let mut held_up = HeldUp::default();
            let mut keys = KeyPurge::new(&shared, &heap, &indexes);
            if !keys.any() {
                return Ok(held_up);
            }
            while let Some(range) = ranges.take() {
                for place in &places[range.start as usize..range.end as usize] {
                    let collected =
                        each_entry(&shared, place, |_, entry| collect_keys(&shared, &heap, &mut keys, entry));
                    held_up.unless(place.0, collected)?;
                    keys.remove(true, &mut || part.step(heap.indexes.is_wanted()))?;
                    job.advance(1);
                    part.step(heap.indexes.is_wanted())?;
                }
            }
            keys.remove(false, &mut || part.step(heap.indexes.is_wanted()))?;
            Ok(held_up)
        })?;
        held.into_iter().for_each(|held| held_up.0.extend(held.0));
    }
    let free: Vec<_> = places.iter().filter(|place| !held_up.0.contains_key(&place.0)).cloned().collect();
    crew.job().enter("removing old versions", free.len() as u64);
    let (shared, heap, job) = (Arc::clone(shared), Arc::clone(heap), Arc::clone(crew.job()));
    let ranges = Ranges::new(free.len() as u64, crew.size());
    let held = crew.run(Stop::All, watch, move |part| {
        let mut held_up = HeldUp::default();
        while let Some(range) = ranges.take() {
            for place in &free[range.start as usize..range.end as usize] {
                let freed = each_entry(&shared, place, |offset, entry| match entry.needs_purge() {
                    true => free_entry(&shared, &heap, place.0, offset, entry),
                    false => Ok(()),
                });
                held_up.unless(place.0, freed)?;
                job.advance(1);
                part.step(heap.indexes.is_wanted())?;
            }
        }
        Ok(held_up)
    })?;
    held.into_iter().for_each(|held| held_up.0.extend(held.0));
    drop(gate);
    Ok(())
}

fn each_entry(
    shared: &Shared,
    (id, offsets): &(PageId, Vec<u16>),
    mut each: impl FnMut(u16, &Entry<'_>) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    // Copied: no version page is latched while home pages are.
    let bytes = shared.core().pool.read_for_scan(*id)?.to_vec();
    for offset in offsets {
        let entry = Entry::decode(&bytes, usize::from(*offset))
            .map_err(|flaw| StorageError::corrupt(*id, ObjectId::SYSTEM, flaw))?;
        each(*offset, &entry)?;
    }
    Ok(())
}

/// The slots of a delete that are to be freed.
fn deleted(page: &[u8], layout: &PageLayout, entry: &Entry<'_>) -> Vec<u16> {
    let is_its = |slot: &u16| {
        let writer = u64_at(page, layout.writer + usize::from(*slot) * 8);
        writer == entry.writer().0 && !apply::is_live(page, layout, *slot)
    };
    entry.slots.iter().filter(is_its).collect()
}

fn collect_keys(
    shared: &Shared,
    heap: &Heap,
    keys: &mut KeyPurge<'_>,
    entry: &Entry<'_>,
) -> Result<(), StorageError> {
    let Some(home) = heap.home(&shared.core().pool, entry.page_index(), true)? else { return Ok(()) };
    let mut image = Image::default();
    let page = home.bytes(heap, &mut image, None)?;
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(home.id(), heap.object, flaw))?;
    if entry.kind == EntryKind::Delete {
        let slots = deleted(page, &layout, entry);
        keys.freed(page, &layout, entry.page_index(), &slots)
    } else {
        keys.superseded(page, &layout, entry)
    }
}

/// Frees what an entry stands for, and voids it.
fn free_entry(
    shared: &Shared,
    heap: &Heap,
    id: PageId,
    offset: u16,
    entry: &Entry<'_>,
) -> Result<(), StorageError> {
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.use_reserve();
    let Some(home) = heap.write_home(&mut mini, entry.page_index())? else { return Ok(()) };
    let page = mini.page_id(home);
    if header::kind(mini.page(home)) == Some(PageKind::Packed) {
        return Ok(()); // packed only when nothing was left to free (P1)
    }
    let corrupt = |flaw| StorageError::corrupt(page, heap.object, flaw);
    let layout = PageLayout::of(mini.page(home)).map_err(corrupt)?;
    let void = |mini: &mut Mini<'_>| -> Result<(), StorageError> {
        let handle = mini.write(id)?;
        mini.apply(handle, RecordKind::VERSION_VOID, &offset.to_le_bytes())
    };
    if entry.kind == EntryKind::Delete {
        let slots = deleted(mini.page(home), &layout, entry);
        if slots.is_empty() {
            return Ok(());
        }
        void(&mut mini)?;
        let all: Vec<usize> = (0..layout.columns.len()).collect();
        free_chains(shared, heap, &mut mini, home, &layout, &slots, &all, None)?;
        let mut payload = Vec::new();
        Slots::from_list(&slots).encode(&mut payload);
        mini.apply(home, RecordKind::DATA_FREE, &payload)?;
    } else {
        if entry.is_void() {
            return Ok(());
        }
        let mut chains = Vec::new();
        for slice in entry.columns().map_err(corrupt)?.iter().filter(|slice| slice.physical.width().is_none())
        {
            let Some(ordinal) = layout.ordinal(slice.id) else { continue };
            for (slot, value) in entry.slots.iter().zip(slice.variables()) {
                let raw = u64_at(mini.page(home), layout.columns[ordinal].data + usize::from(slot) * 8);
                if let Variable::Reference(old) = value
                    && old != raw
                {
                    chains.push(old);
                }
            }
        }
        if chains.is_empty() {
            return Ok(());
        }
        void(&mut mini)?;
        for chain in chains {
            moved::free_or_leave(&mut mini, shared, heap, chain)?;
        }
    }
    heap.room.note(entry.page_index(), mini.page(home));
    mini.commit()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use verso_types::{Batch, Column, KeyType, Physical, SqlType, Value};

    use super::*;
    use crate::heap::{ScanBatch, ScanSpec};
    use crate::testing::small_engine;
    use crate::{ColumnSpec, CommitMode, Engine, IndexSpec, KeyPart, Txn, TxnOptions};

    fn number(value: i64) -> Batch {
        let mut column = Column::new(Physical::I64);
        column.push_value(&Value::Int8(value), &SqlType::Int8).expect("a number");
        Batch::from_columns(vec![column])
    }

    /// A table with one record, which is not committed.
    fn one_record() -> (tempfile::TempDir, Engine, Txn, Arc<Heap>) {
        let (dir, engine) = small_engine();
        let mut txn = engine.begin(TxnOptions::default());
        let columns = [ColumnSpec { id: 1, physical: Physical::I64 }];
        let object = engine.create_heap(&mut txn, &columns).expect("a table");
        let heap = engine.heap(object).expect("a table");
        heap.insert(&mut txn, &number(3), None).expect("a record");
        (dir, engine, txn, heap)
    }

    /// Changes the one record, and commits.
    fn set(engine: &Engine, heap: &Arc<Heap>, to: i64) {
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().expect("a statement");
        let mut found = ScanBatch::default();
        let mut scan = heap.scan(&txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
        assert!(scan.next(&mut found).expect("a record"));
        heap.update(&mut txn, &found, None, &[1], &number(to)).expect("an update");
        txn.end_statement().expect("its end");
        txn.commit(CommitMode::Wait).expect("a commit");
    }

    /// As below, of an index that has no entries yet: while it is filled, the record's writer adds the key before the purge
    /// takes it out.
    #[test]
    fn b4_a_key_that_comes_back_to_an_index_that_is_filled_stays() {
        let (_dir, engine, mut txn, heap) = one_record();
        let object = heap.object;
        let spec = || {
            let parts = vec![KeyPart::ascending(1, KeyType::I64)];
            IndexSpec {
                table: object,
                parts,
                unique: false,
                nulls_distinct: true,
                fill_factor: IndexSpec::FILL_FACTOR,
            }
        };
        // An index of the same column, for which a purge is noted; the one that is filled comes behind it.
        engine.create_index(&mut txn, spec(), &mut |_| ControlFlow::Continue(())).expect("an index");
        txn.commit(CommitMode::Wait).expect("a commit");
        let change = |to: i64| set(&engine, &heap, to);
        let shared = engine.shared();
        change(30);
        shared.versions.close_idle(&shared.transactions);
        let page = shared.versions.pages_to_purge();
        let offset = {
            let page = shared.core().pool.read(page[0]).expect("a version page");
            let entries = version_page::entries(&page).expect("entries");
            entries.iter().find(|(_, entry)| entry.may_hold_keys()).expect("an update").0
        };
        let mut txn = engine.begin(TxnOptions::default());
        let mut stepped_in = false;
        let built = engine.create_index_concurrently(&mut txn, spec(), "i", &mut |_| {
            // The record still has 30: its key is added later, by the scan.
            if !std::mem::replace(&mut stepped_in, true) {
                let gate = heap.indexes.enter();
                let mut keys = KeyPurge::new(shared, &heap, &gate);
                each_entry(shared, &(page[0], vec![offset]), |_, entry| {
                    collect_keys(shared, &heap, &mut keys, entry)
                })
                .expect("keys");
                change(3);
                keys.remove(false, &mut || Ok(())).expect("a removal");
            }
            ControlFlow::Continue(())
        });
        let index = engine.index(built.expect("an index")).expect("an index");
        txn.commit(CommitMode::Wait).expect("a commit");
        assert!(stepped_in);
        engine.housekeeping().expect("housekeeping");
        let report = engine.check(&mut |_| ()).expect("a check");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        let txn = engine.begin(TxnOptions::default());
        assert_eq!(index.statistics(&txn).expect("figures").entries, 1);
    }

    /// Between the look at the record and the removal from the leaf, the record gets the key back.
    #[test]
    fn i3_a_key_that_comes_back_while_it_is_on_its_way_out_stays() {
        let (_dir, engine, mut txn, heap) = one_record();
        let object = heap.object;
        let parts = vec![KeyPart::ascending(1, KeyType::I64)];
        let spec = IndexSpec {
            table: object,
            parts,
            unique: false,
            nulls_distinct: true,
            fill_factor: IndexSpec::FILL_FACTOR,
        };
        engine.create_index(&mut txn, spec, &mut |_| ControlFlow::Continue(())).expect("an index");
        txn.commit(CommitMode::Wait).expect("a commit");
        let change = |to: i64| set(&engine, &heap, to);
        let shared = engine.shared();
        let entries = || {
            let txn = engine.begin(TxnOptions::default());
            heap.indexes.list()[0].statistics(&txn).expect("figures").entries
        };
        for comes_back in [true, false] {
            change(30);
            shared.versions.close_idle(&shared.transactions);
            let page = shared.versions.pages_to_purge();
            let offset = {
                let page = shared.core().pool.read(page[0]).expect("a version page");
                let entries = version_page::entries(&page).expect("entries");
                entries.iter().find(|(_, entry)| entry.may_hold_keys()).expect("an update").0
            };
            let gate = heap.indexes.enter();
            let mut keys = KeyPurge::new(shared, &heap, &gate);
            each_entry(shared, &(page[0], vec![offset]), |_, entry| {
                collect_keys(shared, &heap, &mut keys, entry)
            })
            .expect("keys");
            if comes_back {
                change(3);
            }
            keys.remove(false, &mut || Ok(())).expect("a removal");
            drop(keys);
            drop(gate);
            assert_eq!(entries(), if comes_back { 2 } else { 1 });
            if !comes_back {
                change(3);
            }
            engine.housekeeping().expect("housekeeping");
            assert_eq!(entries(), 1);
            let report = engine.check(&mut |_| ()).expect("a check");
            assert!(report.problems.is_empty(), "{:?}", report.problems);
        }
    }
}
