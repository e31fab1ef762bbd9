//! Images of records that a transaction changes again: what F1 asks for, made before the change.

use smallvec::SmallVec;

use super::layout::PageLayout;
use super::slice::encode_from_page;
use super::slots::{SlotSet, Slots};
use super::table::Heap;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::rules::{Rule, disabled};
use crate::txn::frame::ImageRun;
use crate::txn::transaction::Txn;

/// What became of the image.
pub(super) enum Image {
    /// The innermost frame needs none.
    None,
    /// It is in the store.
    Made(ImageRun),
    /// The store wants to be enlarged by so many bytes, with no page latched; nothing has changed.
    NoRoom(usize),
}

impl Heap {
    /// The image that F1 asks for before the transaction's `own` records of a latched page change, if any; `live` says
    /// that they are about to be deleted.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn image(
        &self,
        pool: &BufferPool,
        txn: &mut Txn,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        own: &[u16],
        columns: &[u16],
        live: bool,
    ) -> Result<Image, StorageError> {
        let Some(frame) = txn.frames.last().filter(|_| !own.is_empty() && !disabled(Rule::F1)) else {
            return Ok(Image::None);
        };
        let known = frame.find(self.object, page_index);
        let set = Slots::from_list(own);
        if known.is_some_and(|undo| undo.bits.contains_all(set)) {
            return Ok(Image::None);
        }
        let mut slots = SlotSet::from(set);
        let mut wanted: SmallVec<[u16; 8]> = SmallVec::from_slice(columns);
        if let Some(undo) = known {
            slots.subtract(&undo.bits);
            if !undo.images.is_empty() {
                let lacks = |slot: u16, column: u16| !undo.has_image(&txn.images, slot, column);
                slots.remove_if(|slot| {
                    columns.iter().all(|column| !lacks(slot, *column)) && (!live || undo.has_live_image(slot))
                });
                // Columns that every one of these records has an image of already are left out; for others an older
                // image wins.
                let left = slots.to_vec();
                wanted.retain(|column| left.iter().any(|slot| lacks(*slot, *column)));
            }
        }
        if slots.is_empty() {
            return Ok(Image::None);
        }
        let list: Vec<u16>;
        let set = match &slots {
            SlotSet::Run { first, count } => Slots::Run { first: *first, count: *count },
            SlotSet::Bits(_) => {
                list = slots.to_vec();
                Slots::from_list(&list)
            }
        };
        let made = txn.images.append(pool, |out| {
            set.encode(out);
            for column in &wanted {
                let ordinal = layout.ordinal(*column).ok_or(StorageError::NoSuchObject(self.object))?;
                encode_from_page(out, page, &layout.columns[ordinal], set)
                    .map_err(|flaw| StorageError::corrupt(self.root, self.object, flaw))?;
            }
            Ok(())
        })?;
        let (at, length) = match made {
            Ok(place) => place,
            Err(length) => return Ok(Image::NoRoom(length)),
        };
        let columns = txn.images.number_of(&wanted);
        Ok(Image::Made(ImageRun { at, length: length as u32, columns, live, slots }))
    }
}
