//! Images of records that a transaction changes again: what F1 asks for, made before the change.
//!
//! F3. An image is copied, or, where the transaction's own last change of the page wrote all of it, it is that change's
//!     record in the log: bulk statements over the same records again and again copy nothing. It must be the page's last
//!     change of all, which the page's LSN tells, and the log must stay as long as a frame refers to it, which a pin sees
//!     to. The log is not kept for longer than [`WalOptions::undo_bytes_kept`](crate::wal::WalOptions): what stands in
//!     it is copied out then.

use std::sync::Arc;

use smallvec::SmallVec;

use super::apply;
use super::layout::PageLayout;
use super::slice::encode_from_page;
use super::slots::{SlotSet, Slots};
use super::table::Heap;
use crate::StorageError;
use crate::engine_core::Core;
use crate::page::{Flaw, Lsn, PageId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::{Frame, ImagePlace, ImageRun, Logged, PageUndo, Written};
use crate::txn::image_store::ImageStore;
use crate::txn::transaction::Txn;
use crate::wal::{self, GroupView, LogLookup, LogPin, RecordKind, Wal};

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
        core: &Core,
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
        if let Some(image) = self.logged(&core.wal, txn, page, page_index, &slots, &wanted, live) {
            return Ok(Image::Made(image));
        }
        let list: Vec<u16>;
        let set = match &slots {
            SlotSet::Run { first, count } => Slots::Run { first: *first, count: *count },
            SlotSet::Bits(_) => {
                list = slots.to_vec();
                Slots::from_list(&list)
            }
        };
        let made = txn.images.append(&core.pool, |out| {
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
        let place = ImagePlace::Store { at, length: length as u32 };
        Ok(Image::Made(ImageRun { place, columns, live, slots }))
    }

    /// The image that stands in the log already, if it does.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn logged(
        &self,
        wal: &Wal,
        txn: &mut Txn,
        page: &[u8],
        page_index: u32,
        slots: &SlotSet,
        wanted: &[u16],
        live: bool,
    ) -> Option<ImageRun> {
        if live || txn.images.has_memory() {
            return None;
        }
        let known = |frame: &Frame| frame.find(self.object, page_index).and_then(|undo| undo.written);
        // Frames further out are looked at in vain mostly, and there may be many: an image is copied then.
        const FRAMES_MAX: usize = 64;
        let written = txn.frames.iter().rev().take(FRAMES_MAX).find_map(known)?;
        if written.page_lsn() != header::lsn(page) && !disabled(Rule::F3Log) {
            return None;
        }
        let held = txn.images.columns(written.columns);
        let all = SlotSet::Run { first: written.first, count: written.count };
        if !wanted.iter().all(|column| held.contains(column)) || !all.includes(slots) {
            return None;
        }
        let lsn = written.logged.lsn;
        let (distance_max, _) = wal.undo_bytes();
        if wal.appended().0 - lsn.0 > distance_max {
            return None;
        }
        let frame = txn.frames.last_mut()?;
        if frame.log.as_ref().is_none_or(|pin| lsn < pin.lsn()) {
            frame.log = Some(wal.pin(lsn)?);
        }
        let columns = txn.images.number_of(wanted);
        let (place, slots) = (ImagePlace::Log(written.logged), slots.clone());
        Some(ImageRun { place, columns, live, slots })
    }
}

/// What a change of `slots` on a page is to later ones, if they may use its record as an image.
pub(super) fn written(
    images: &mut ImageStore,
    slots: &[u16],
    columns: &[u16],
    (start, end): (Lsn, Lsn),
) -> Option<Written> {
    /// Fewer records are as quickly copied.
    const RECORDS_MIN: usize = if cfg!(debug_assertions) { 2 } else { 16 };
    let Slots::Run { first, count } = Slots::from_list(slots) else { return None };
    let length = u32::try_from(end.0 - start.0).ok()?;
    let logged = Logged { lsn: start, length };
    let long = slots.len() >= RECORDS_MIN;
    long.then(|| Written { logged, columns: images.number_of(columns), first, count })
}

/// Brings the images of a page that stand in the log.
pub(super) fn fetch(log: &mut LogLookup<'_>, page: PageId, undo: &mut PageUndo) -> Result<(), StorageError> {
    for image in &mut undo.images {
        if let ImagePlace::Log(Logged { lsn, length }) = image.place {
            let group = log.group(lsn, u64::from(length))?;
            image.place = ImagePlace::Here(from_group(&group, page, lsn)?.into_boxed_slice());
        }
    }
    Ok(())
}

/// The image that the record of a page's change makes: its records and what it wrote to them.
fn from_group(group: &GroupView<'_>, page: PageId, lsn: Lsn) -> Result<Vec<u8>, StorageError> {
    let corrupt = |flaw: Flaw| wal::corrupt(lsn, &flaw);
    for record in group.records() {
        let record = record.map_err(corrupt)?;
        if record.page == page && record.kind == RecordKind::DATA_UPDATE {
            let payload = record.payload;
            let (slots, columns) = apply::update_parts(payload).map_err(corrupt)?;
            return Ok([&payload[slots], &payload[columns]].concat());
        }
    }
    Err(corrupt(Flaw::from("no change of the page in its group")))
}

/// Copies images out of the log where a frame of `txn` keeps more of it than is to be kept.
///
/// # Errors
/// Those of reading the log and of the pages for images; what was not copied stays in the log.
pub(crate) fn keep_log_short(txn: &mut Txn) -> Result<(), StorageError> {
    if txn.frames.last().and_then(Frame::oldest_log).is_none() {
        return Ok(());
    }
    let (_, kept_max) = txn.shared.core().wal.undo_bytes();
    keep_log(txn, kept_max)
}

/// Copies all images of `txn` out of the log, so that none of it is kept for them.
///
/// # Errors
/// As [`keep_log_short`].
pub(crate) fn leave_log(txn: &mut Txn) -> Result<(), StorageError> {
    keep_log(txn, 0)
}

/// Copies images out of the log where a frame keeps more than `kept_max` of it.
fn keep_log(txn: &mut Txn, kept_max: u64) -> Result<(), StorageError> {
    let Some(oldest) = txn.frames.last().and_then(Frame::oldest_log) else { return Ok(()) };
    let shared = Arc::clone(&txn.shared);
    let wal = &shared.core().wal;
    let appended = wal.appended();
    if appended.0 - oldest.0 <= kept_max {
        return Ok(());
    }
    let keeps_much = |frame: &Frame| {
        let pinned = frame.log.as_ref().map(LogPin::lsn);
        pinned.is_some_and(|lsn| appended.0 - lsn.0 > kept_max)
    };
    for at in 0..txn.frames.len() {
        if !keeps_much(&txn.frames[at]) {
            continue;
        }
        let mut log = wal.lookup();
        let Txn { frames, images, .. } = &mut *txn;
        // Behind all of the images, so no frame within this one may cut off what it knows to be its own.
        let (frame, within) = frames[at..].split_first_mut().expect("there is a frame");
        let copied = copy_out(&shared, &mut log, frame, images);
        within.iter_mut().for_each(|frame| frame.images_from = images.end());
        copied?;
        frame.log = None;
    }
    for at in 1..txn.frames.len() {
        let (outer, inner) = txn.frames.split_at_mut(at);
        inner[0].open_in(&outer[at - 1]);
    }
    Ok(())
}

fn copy_out(
    shared: &Shared,
    log: &mut LogLookup<'_>,
    frame: &mut Frame,
    images: &mut ImageStore,
) -> Result<(), StorageError> {
    for (table, page_index, undo) in frame.pages_mut() {
        // It may have been created and freed within the frame.
        let Some(heap) = shared.heap_if_there(table)? else { continue };
        let Some(page) = heap.page_at(page_index)? else { continue };
        fetch(log, page, undo)?;
        for image in &mut undo.images {
            let ImagePlace::Here(bytes) = &image.place else { continue };
            images.reserve(shared, bytes.len())?;
            let appended = images.append(&shared.core().pool, |out| {
                out.extend_from_slice(bytes);
                Ok(())
            })?;
            if let Ok((at, length)) = appended {
                image.place = ImagePlace::Store { at, length: length as u32 };
            }
        }
    }
    Ok(())
}
