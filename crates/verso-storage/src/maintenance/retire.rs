//! Retirement of version pages (V4) and their purge lists (V5).
//!
//! An entry is voided in the mini-transaction that purges it: a page that a crash leaves half purged is purged again
//! after restart, and no chain is freed twice.

use crate::StorageError;
use crate::heap::apply;
use crate::heap::layout::PageLayout;
use crate::heap::slice::Variable;
use crate::heap::slots::Slots;
use crate::heap::undo::free_chains;
use crate::heap::{Heap, moved};
use crate::index::maintain;
use crate::mini::Mini;
use crate::page::bytes::u64_at;
use crate::page::{PageId, TxnId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::version::entry::{Entry, EntryKind};
use crate::version::page as version_page;
use crate::wal::RecordKind;

/// Retires every version page that nobody needs any more; how many.
///
/// # Errors
/// `Corrupt`, `Io`, `Poisoned`.
pub fn retire(shared: &Shared) -> Result<u64, StorageError> {
    let mut retired = 0;
    loop {
        let ready = shared.versions.take_ready(shared.transactions.horizon(), 64);
        if ready.is_empty() {
            return Ok(retired);
        }
        for (page, purge) in &ready {
            if (*purge && !disabled(Rule::V5)) || disabled(Rule::V5Unread) {
                purge_page(shared, *page)?;
            }
        }
        let pages: Vec<PageId> = ready.iter().map(|(page, _)| *page).collect();
        let _no_walkers = shared.versions.keep_walkers_out();
        let mut mini = Mini::begin(shared.core(), TxnId::NONE);
        shared.versions.retire(&mut mini, &shared.space, &pages)?;
        mini.commit()?;
        retired += pages.len() as u64;
    }
}

/// Executes the purge list of a page: deleted slots, chains of old values, dropped objects.
fn purge_page(shared: &Shared, id: PageId) -> Result<(), StorageError> {
    // Copied: no version page is latched while home pages are.
    let bytes = shared.core().pool.read(id)?.to_vec();
    let entries = version_page::entries(&bytes)
        .map_err(|flaw| StorageError::corrupt(id, crate::ObjectId::SYSTEM, flaw))?;
    for (offset, entry) in entries.iter().filter(|(_, entry)| entry.needs_purge() || entry.may_hold_keys()) {
        if entry.kind == EntryKind::DropObject {
            shared.free_object(entry.table())?;
            continue;
        }
        // It may have been dropped meanwhile, with everything in it.
        if let Some(heap) = shared.heap_if_there(entry.table())?
            && (entry.needs_purge() || heap.indexes.any())
        {
            purge_entry(shared, &heap, id, *offset, entry)?;
        }
    }
    Ok(())
}

fn purge_entry(
    shared: &Shared,
    heap: &Heap,
    id: PageId,
    offset: u16,
    entry: &Entry<'_>,
) -> Result<(), StorageError> {
    let _gate = heap.indexes.enter();
    let Some(page) = heap.page_at(entry.page_index()) else { return Ok(()) };
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.use_reserve();
    let home = mini.write(page)?;
    let corrupt = |flaw| StorageError::corrupt(page, heap.object, flaw);
    let layout = PageLayout::of(mini.page(home)).map_err(corrupt)?;
    let void = |mini: &mut Mini<'_>| -> Result<(), StorageError> {
        let handle = mini.write(id)?;
        mini.apply(handle, RecordKind::VERSION_VOID, &offset.to_le_bytes())
    };
    if entry.kind == EntryKind::Delete {
        let slots: Vec<u16> = entry
            .slots
            .iter()
            .filter(|slot| {
                let writer = u64_at(mini.page(home), layout.writer + usize::from(*slot) * 8);
                writer == entry.writer().0 && !apply::is_live(mini.page(home), &layout, *slot)
            })
            .collect();
        if slots.is_empty() {
            return Ok(());
        }
        maintain::before_free(shared, heap, mini.page(home), &layout, entry.page_index(), &slots)?;
        void(&mut mini)?;
        let all: Vec<usize> = (0..layout.columns.len()).collect();
        free_chains(heap, &mut mini, home, &layout, &slots, &all, None)?;
        let mut payload = Vec::new();
        Slots::from_list(&slots).encode(&mut payload);
        mini.apply(home, RecordKind::DATA_FREE, &payload)?;
    } else {
        maintain::purge(shared, heap, mini.page(home), &layout, entry)?;
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
        let root = mini.write(heap.root)?;
        for chain in chains {
            moved::free(&mut mini, heap, root, chain)?;
        }
    }
    heap.room.note(entry.page_index(), mini.page(home));
    mini.commit()?;
    Ok(())
}
