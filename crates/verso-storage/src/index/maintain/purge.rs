//! Keys that no version has any more (I3).
//!
//! Many are collected first, each with its home page latched, and go in the order of the leaves; what comes back in between
//! stays ([`purging`](super::super::purging)).

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::inverted::Keys;

use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::PageLayout;
use crate::heap::slice::ColumnSlice;
use crate::index::entries::Entries;
use crate::index::purging::UnderWay;
use crate::index::table::Index;
use crate::index::versions::{Versions, slice_value};
use crate::page::{Flaw, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::version::entry::Entry;

/// Keys collected, of all indexes of a table together, before they go; this many bytes of them.
const BYTES_TOGETHER: usize = if cfg!(debug_assertions) { 16 << 10 } else { 32 << 20 };

/// Keys of a table's indexes that are to go. The gate stays passed for as long as it lives.
pub(crate) struct KeyPurge<'p> {
    shared: &'p Shared,
    heap: &'p Heap,
    indexes: Vec<OfIndex<'p>>,
    bytes: usize,
    keys: Keys,
}

struct OfIndex<'p> {
    index: &'p Arc<Index>,
    under_way: UnderWay<'p>,
    gone: Entries,
}

impl<'p> KeyPurge<'p> {
    /// For a table whose gate is passed by the thread, or by the one that it works for; these are its indexes.
    pub(crate) fn new(shared: &'p Shared, heap: &'p Heap, indexes: &'p [Arc<Index>]) -> KeyPurge<'p> {
        let begin = |index: &'p Arc<Index>| OfIndex {
            index,
            under_way: index.purging.begin(),
            gone: Entries::default(),
        };
        let none = disabled(Rule::I3Purge);
        let indexes = indexes.iter().filter(|_| !none).map(begin).collect();
        KeyPurge { shared, heap, indexes, bytes: 0, keys: Keys::default() }
    }

    /// Whether there are indexes.
    pub(crate) fn any(&self) -> bool {
        !self.indexes.is_empty()
    }

    /// Deleted records of a latched page that nobody needs are about to be freed: their keys go.
    pub(crate) fn freed(
        &mut self,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        slots: &[u16],
    ) -> Result<(), StorageError> {
        for OfIndex { index, under_way, gone } in &mut self.indexes {
            for slot in slots {
                let home = Versions::home(self.shared, self.heap, index, page, layout, page_index, *slot);
                home.keys(&mut self.keys)?;
                self.bytes += go(under_way, gone, &self.keys, RecordId { page_index, slot: *slot });
            }
        }
        Ok(())
    }

    /// An entry's old values are needed by nobody: their keys go, unless another version has them (I3). The home page is
    /// latched. Entries that were undone count too: a savepoint's undo leaves them in the chain, where a later change of
    /// the same transaction relies on them (V3).
    pub(crate) fn superseded(
        &mut self,
        page: &[u8],
        layout: &PageLayout,
        entry: &Entry<'_>,
    ) -> Result<(), StorageError> {
        let (shared, heap) = (self.shared, self.heap);
        let corrupt = |flaw: Flaw| StorageError::corrupt(header::page_id(page), heap.object, flaw);
        let slices = entry.columns().map_err(corrupt)?;
        let _walking = shared.versions.walk();
        let horizon = shared.transactions.horizon();
        let page_index = entry.page_index();
        for OfIndex { index, under_way, gone } in &mut self.indexes {
            let parts = &index.spec().parts;
            let its: SmallVec<[&ColumnSlice<'_>; 4]> =
                parts.iter().filter_map(|part| slices.iter().find(|slice| slice.id == part.column)).collect();
            if its.len() != parts.len() {
                continue; // none of its columns changed
            }
            let starts: SmallVec<[Vec<u32>; 4]> = its.iter().map(|slice| slice.starts()).collect();
            let last = RefCell::default();
            for (rank, slot) in entry.slots.iter().enumerate() {
                // The chains of what was undone may be gone.
                if entry.is_void() && its.iter().any(|slice| slice.is_reference(rank)) {
                    continue;
                }
                let home =
                    Versions::home(shared, heap, index, page, layout, page_index, slot).with_last(&last);
                let keys = &mut self.keys;
                home.keys_by(keys, |n, _, take| {
                    take(slice_value(shared, heap, its[n], rank, &starts[n])?.as_deref());
                    Ok(())
                })?;
                if !disabled(Rule::I3) {
                    home.keep_unheld(keys, horizon)?;
                }
                self.bytes += go(under_way, gone, keys, RecordId { page_index, slot });
            }
        }
        Ok(())
    }

    /// Takes the keys out, if they are `many`. No page is latched. `go_on` is asked between leaves; what is left stays in the
    /// index, and is collected anew by the next purge.
    pub(crate) fn remove(
        &mut self,
        many: bool,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        if many && self.bytes < BYTES_TOGETHER {
            return Ok(());
        }
        for OfIndex { index, under_way, gone } in &mut self.indexes {
            gone.sort();
            let kept = |entry: &[u8]| under_way.is_kept(entry) && !disabled(Rule::I3Kept);
            index.remove_but(self.shared, TxnId::NONE, gone, kept, go_on)?;
            gone.clear();
        }
        self.bytes = 0;
        Ok(())
    }
}

/// Notes keys that go; how many bytes of memory that takes, about. A version without a key had no entry.
fn go(under_way: &UnderWay<'_>, gone: &mut Entries, keys: &Keys, record: RecordId) -> usize {
    let mut bytes = 0;
    for key in keys.iter() {
        gone.push(key, record, true);
        under_way.goes(gone.entry(gone.len() - 1));
        bytes += key.len() + 32;
    }
    bytes
}
