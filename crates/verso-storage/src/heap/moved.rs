//! Values that stand outside of their record's page: longer ones in overflow chains, the others on companion pages.
//!
//! A reference is the raw value slot. An update hands it to the back version uncopied; whoever overwrites the last one
//! frees what it stands for.

use verso_types::Column;

use super::layout::ColumnPlace;
use super::slice::bit;
use super::table::Heap;
use super::value_slot::ValueSlot;
use super::{companion, overflow, root};
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{checked_slice, u64_at};
use crate::page::{Flaw, ObjectId, PageId};
use crate::shared::Shared;

/// Whether a value slot refers to a value elsewhere.
pub fn is_reference(raw: u64) -> bool {
    matches!(ValueSlot::decode(raw), Some(ValueSlot::Overflow { .. } | ValueSlot::Companion { .. }))
}

/// Moves a value out of its page; the reference to it. The table's root is latched.
///
/// # Errors
/// `Full`; the caller has asked [`overflow::reserve`] before anything was changed.
pub fn put<'e>(
    mini: &mut Mini<'e>,
    shared: &'e Shared,
    heap: &Heap,
    root: PageHandle,
    value: &[u8],
) -> Result<u64, StorageError> {
    if value.len() <= shared.page_size / 4 {
        return companion::put(mini, shared, heap, root, value);
    }
    overflow::write(mini, &shared.space, heap.object, root, shared.incarnations.next(), value)
}

/// Appends the value that a reference stands for to `out`.
///
/// # Errors
/// `Corrupt` when there is something else.
pub fn read(pool: &BufferPool, object: ObjectId, raw: u64, out: &mut Vec<u8>) -> Result<(), StorageError> {
    match ValueSlot::decode(raw) {
        Some(ValueSlot::Overflow { page, incarnation }) => {
            overflow::read(pool, object, page, incarnation, Some(out)).map(drop)
        }
        Some(ValueSlot::Companion { page, item }) => companion::read(pool, object, page, item, out),
        _ => {
            let flaw = Flaw::from("a reference of unknown kind");
            Err(StorageError::corrupt(crate::page::PageId::NONE, object, flaw))
        }
    }
}

/// Variable values of some records of a latched page, those that stand elsewhere read.
///
/// # Errors
/// As [`read`].
pub fn copied(
    mini: &Mini<'_>,
    heap: &Heap,
    home: PageHandle,
    place: &ColumnPlace,
    slots: &[u16],
) -> Result<Column, StorageError> {
    let page = mini.page(home);
    let mut column = Column::new(place.physical);
    for slot in slots.iter().map(|slot| usize::from(*slot)) {
        if bit(&page[place.nulls..], slot) {
            column.push_null();
            continue;
        }
        let bytes = column.data.bytes_mut().expect("a variable column");
        let raw = u64_at(page, place.data + slot * 8);
        match ValueSlot::decode(raw) {
            Some(ValueSlot::Inline { offset, length }) => {
                let value = checked_slice(page, usize::from(offset), usize::from(length));
                bytes.push(
                    value.map_err(|flaw| StorageError::corrupt(mini.page_id(home), heap.object, flaw))?,
                );
            }
            Some(ValueSlot::Empty) => bytes.push(&[]),
            // The mini-transaction may have latched the page for values of its own.
            Some(ValueSlot::Companion { page, item }) if let Some(handle) = mini.find(page) => {
                bytes.push(companion::value(mini.page(handle), heap.object, page, item)?);
            }
            _ => bytes.push_with(|out| read(&mini.core().pool, heap.object, raw, out))?,
        }
    }
    Ok(column)
}

/// Frees what a reference stands for; of other value slots there is nothing to free. The table's root is latched.
///
/// # Errors
/// As [`read`] and the mini-transaction.
pub fn free(
    mini: &mut Mini<'_>,
    shared: &Shared,
    heap: &Heap,
    root: PageHandle,
    raw: u64,
) -> Result<(), StorageError> {
    match ValueSlot::decode(raw) {
        Some(ValueSlot::Overflow { page, incarnation }) => {
            is_used(mini, shared, heap, root, page)?;
            overflow::free(mini, heap.object, root, page, incarnation)
        }
        Some(ValueSlot::Companion { page, item }) => {
            is_used(mini, shared, heap, root, page)?;
            companion::free(mini, heap, root, page, item)
        }
        _ => Ok(()),
    }
}

/// Makes sure that the table, whose root is latched, has a page, and has used it. One that has gone back to the database is dropped
/// unwritten, so the file has it as it was: its bytes do not tell whose it is, nor do they where the table has got it anew.
fn is_used(
    mini: &mut Mini<'_>,
    shared: &Shared,
    heap: &Heap,
    root: PageHandle,
    page: PageId,
) -> Result<(), StorageError> {
    let (never_used, _) = root::unused(mini.page(root));
    let owner = shared.space.owner_within(mini, page);
    if owner.is_some_and(|(owner, _)| owner == heap.object) && !never_used.contains(&page.0) {
        return Ok(());
    }
    Err(StorageError::corrupt(page, heap.object, "a reference to a page that the table does not use"))
}

/// As [`free`], the table's root latched on the way; but what cannot be freed because a page is damaged stays where it is:
/// nobody refers to it any more.
///
/// # Errors
/// Those of the mini-transaction.
pub fn free_or_leave(
    mini: &mut Mini<'_>,
    shared: &Shared,
    heap: &Heap,
    raw: u64,
) -> Result<(), StorageError> {
    match mini.write(heap.root).and_then(|root| free(mini, shared, heap, root, raw)) {
        Err(error) if error.is_of_a_page() => {
            mini.core().pool.note_damage(&error);
            Ok(())
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use verso_types::{Batch, Physical, SqlType, Value};

    use super::*;
    use crate::heap::layout::PageLayout;
    use crate::heap::{ScanBatch, ScanSpec};
    use crate::page::TxnId;
    use crate::testing::small_engine;
    use crate::{ColumnSpec, CommitMode, Engine, SweepOptions, Txn, TxnOptions};

    /// One statement, committed.
    fn change(engine: &Engine, body: impl FnOnce(&mut Txn)) {
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().expect("a statement");
        body(&mut txn);
        txn.end_statement().expect("its end");
        txn.commit(CommitMode::Wait).expect("a commit");
    }

    /// Nothing in the database leads to such pages; what would, where a part of the log was lost, frees nothing.
    #[test]
    fn a_reference_to_a_page_that_went_back_to_the_database_frees_nothing() {
        let (_dir, engine) = small_engine();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &[ColumnSpec { id: 1, physical: Physical::Bytes }]);
        txn.commit(CommitMode::Wait).expect("a commit");
        let heap = engine.heap(object.expect("a table")).expect("a table");
        let mut values = Column::new(Physical::Bytes);
        for _ in 0..3 {
            let value = Value::Text("x".repeat(60_000).as_str().into());
            values.push_value(&value, &SqlType::Text).expect("a value");
        }
        change(&engine, |txn| {
            heap.insert(txn, &Batch::from_columns(vec![values]), None).expect("records");
        });
        let references: Vec<u64> = {
            let home = heap.home(&engine.shared().core().pool, 0, false).expect("a page").expect("a page");
            let page = home.latched();
            let place = PageLayout::of(page).expect("a layout").columns[0].data;
            (0..3).map(|slot| u64_at(page, place + slot * 8)).collect()
        };
        // The file has the values, and keeps them.
        engine.checkpoint().expect("a checkpoint");
        change(&engine, |txn| {
            let mut found = ScanBatch::default();
            let mut scan = heap.scan(txn, ScanSpec { columns: &[], pages: 0..u32::MAX });
            assert!(scan.next(&mut found).expect("records"));
            heap.delete(txn, &found, None).expect("a deletion");
        });
        engine.housekeeping().expect("housekeeping");
        let shared = engine.shared();
        let went_back = |raw: u64| match ValueSlot::decode(raw) {
            Some(ValueSlot::Overflow { page, .. }) => {
                shared.space.owner_of(page).is_none_or(|(owner, _)| owner != heap.object)
            }
            other => panic!("not a long value: {other:?}"),
        };
        assert!(!references.iter().any(|raw| went_back(*raw)));
        let mut txn = engine.begin(TxnOptions::default());
        let shrunk = engine.shrink(&mut txn, heap.object, SweepOptions::default(), &mut || Ok(()));
        assert!(shrunk.expect("pages").freed > 0);
        drop(txn);
        let gone: Vec<u64> = references.into_iter().filter(|raw| went_back(*raw)).collect();
        assert!(!gone.is_empty());
        for raw in gone {
            let mut mini = Mini::begin(shared.core(), TxnId::NONE);
            free_or_leave(&mut mini, shared, &heap, raw).expect("it is left alone");
            assert!(mini.is_empty());
        }
        engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).expect("a sweep");
        let report = engine.check(&mut |_| ()).expect("a check");
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }
}
