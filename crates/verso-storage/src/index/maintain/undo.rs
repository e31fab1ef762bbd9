//! Keys of records that are restored: those of what is undone go before, those they had come back after.

use std::cell::RefCell;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::inverted::Keys;

use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::slice::ColumnSlice;
use crate::heap::slots::Slots;
use crate::index::Index;
use crate::index::entries::Entries;
use crate::index::versions::Versions;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{Flaw, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::{ImageRun, PageUndo};
use crate::txn::image_store::ImageStore;

/// Keys that records get back when they are restored.
pub(crate) type Restored = SmallVec<[(Arc<Index>, Entries); 1]>;

/// What `writer` did to records of a latched page is about to be undone: all of it, or what a frame says. Returns what
/// [`after_undo`] has to bring back.
pub(crate) fn before_undo(
    shared: &Shared,
    heap: &Heap,
    page: &[u8],
    page_index: u32,
    writer: TxnId,
    frame: Option<(&PageUndo, &ImageStore)>,
) -> Result<Restored, StorageError> {
    let mut all = Restored::new();
    if !heap.indexes.any() {
        return Ok(all);
    }
    let layout = PageLayout::of(page)
        .map_err(|flaw| StorageError::corrupt(header::page_id(page), heap.object, flaw))?;
    let _walking = shared.versions.walk();
    let horizon = shared.transactions.horizon();
    let (mut before, mut after) = (Keys::default(), Keys::default());
    let runs = match frame {
        Some((frame, store)) => frame
            .images
            .iter()
            .map(|run| {
                let bytes = store.read(&shared.core().pool, &run.place)?;
                Ok((run, bytes, store.columns(run.columns)))
            })
            .collect::<Result<Vec<_>, StorageError>>()?,
        None => Vec::new(),
    };
    let images = runs
        .iter()
        .map(|(run, bytes, wanted)| Image::decode(run, bytes, wanted))
        .collect::<Result<Vec<_>, Flaw>>()
        .map_err(|flaw| StorageError::corrupt(heap.root, heap.object, flaw))?;
    for index in heap.indexes.list().iter() {
        let (mut gone, mut back) = (Entries::default(), Entries::default());
        let last = RefCell::default();
        for slot in 0..u16_at(page, SLOT_HIGH) {
            if u64_at(page, layout.writer + usize::from(slot) * 8) != writer.0 {
                continue;
            }
            let home = Versions::home(shared, heap, index, page, &layout, page_index, slot).with_last(&last);
            let record = RecordId { page_index, slot };
            if frame.is_none_or(|(frame, _)| frame.bits.contains(slot)) {
                // Step back: to the version of somebody else, or to nothing.
                let mut rest = home.clone();
                let is_older = rest.older_writer()?;
                if is_older && rest.is_as_home()? {
                    continue;
                }
                home.keys(&mut before)?;
                if is_older {
                    rest.keep_unheld(&mut before, horizon)?;
                }
                gone.push_keys(&before, record, true);
                continue;
            }
            home.keys(&mut before)?;
            let mut restored = home.clone();
            let mut touched = false;
            // Older images stand in front and win, so they are put last.
            for image in images.iter().rev().filter(|image| image.run.slots.contains(slot)) {
                if let Some(rank) = image.slots.rank(slot) {
                    restored.put(&image.slices, rank)?;
                    touched = true;
                }
            }
            if !touched {
                continue;
            }
            let any_null = restored.keys(&mut after)?;
            if after == before {
                continue;
            }
            let mut lost = before.clone();
            lost.subtract(&after);
            let mut rest = home;
            if rest.older_writer()? {
                rest.keep_unheld(&mut lost, horizon)?;
            }
            gone.push_keys(&lost, record, true);
            after.subtract(&before);
            back.push_keys(&after, record, index.is_free(any_null));
        }
        if !back.is_empty() && !disabled(Rule::I4) {
            back.sort();
            all.push((Arc::clone(index), back));
        }
        if !gone.is_empty() && !disabled(Rule::I3Undo) {
            gone.sort();
            index.remove(shared, TxnId::NONE, &gone)?;
        }
    }
    Ok(all)
}

/// The records are as they were: their keys come back. Not before, or a crash in between would leave entries of a
/// version that back-out does not know of.
pub(crate) fn after_undo(shared: &Shared, txn: TxnId, restored: &Restored) -> Result<(), StorageError> {
    for (index, entries) in restored {
        index.add(shared, txn, entries, true, &mut Vec::new())?;
    }
    Ok(())
}

/// An image with its slices, those columns left out that do not matter any more.
struct Image<'a> {
    run: &'a ImageRun,
    slots: Slots<'a>,
    slices: Vec<ColumnSlice<'a>>,
}

impl<'a> Image<'a> {
    fn decode(run: &'a ImageRun, bytes: &'a [u8], wanted: &[u16]) -> Result<Image<'a>, Flaw> {
        let mut at = 0;
        let slots = Slots::decode(bytes, &mut at)?;
        let mut slices = Vec::new();
        while at < bytes.len() {
            let slice = ColumnSlice::decode(bytes, &mut at, slots.len())?;
            if wanted.contains(&slice.id) {
                slices.push(slice);
            }
        }
        Ok(Image { run, slots, slices })
    }
}
