//! Reading records: those of a page, and single ones, at a snapshot.
//!
//! V2. Start from the home record; while its writer is not visible follow the pointer, restore the masked columns and
//!     liveness, take the prior writer; no pointer means no record. Module `restore` does so for many records at once.
//! A page whose greatest writer is below everything the snapshot might miss is copied by the column, without a look at
//! any record. Latches: home page shared, then version, companion or overflow page shared.

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::{Batch, Column, Physical};

use super::apply;
use super::copier::{Copier, push_reference};
use super::draw::Draw;
use super::earlier;
use super::layout::{FLAG_ALIKE, MAX_WRITER, PageLayout, SLOT_HIGH};
use super::packed::Image;
use super::restore::{self, Chosen, Restore, RowRun};
use super::sieve::Sieve;
use super::slice::{all_set, bit};
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::ValueSlot;
use crate::StorageError;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{Flaw, PageId, PageKind, RecordId, TxnId, header};
use crate::shared::Shared;
use crate::txn::{ReadView, Registration};
use crate::version::entry::VersionPointer;

/// Bytes of variable length beyond which a batch is handed out, however few rows it has.
pub(crate) const BATCH_BYTES: usize = 2 << 20;

/// Records read together; reused between calls.
#[derive(Default)]
pub struct ScanBatch {
    /// The wanted columns.
    pub batch: Batch,
    /// Names of the records, ascending.
    pub records: Vec<RecordId>,
    /// Set when these are the newest versions of records locked before: changes measure them by this, not by the
    /// statement's snapshot.
    pub(crate) newest: Option<Arc<(Registration, ReadView)>>,
    scratch: Scratch,
}

impl ScanBatch {
    /// How many records a scan with conditions has looked at for these.
    pub(super) fn seen(&self) -> usize {
        self.scratch.seen
    }

    /// Takes out all but the first rows, which were there when so many records had been looked at.
    pub(super) fn cut(&mut self, rows: usize, seen: usize) {
        self.records.truncate(rows);
        self.batch.columns.iter_mut().for_each(|column| column.truncate(rows));
        self.scratch.seen = seen;
    }
}

/// What reading a page needs for a moment, kept from page to page.
#[derive(Default)]
struct Scratch {
    /// Of the page before; its neighbours are nearly always laid out alike.
    layout: Option<PageLayout>,
    slots: Vec<u16>,
    /// Rows whose writer is not visible, by the pointer to their older version.
    older: Vec<RowRun>,
    /// The page that was, of a packed one.
    image: Image,
    /// Records looked at by a scan with conditions.
    seen: usize,
}

/// How columns lie in a batch.
pub(super) fn shapes<'h>(heap: &'h Heap, columns: &'h [u16]) -> impl Iterator<Item = Physical> + Clone + 'h {
    columns.iter().map(|id| {
        let column = heap.columns().iter().find(|column| column.id == *id);
        column.map_or(Physical::Bytes, |column| column.physical)
    })
}

/// Empties `out` and gives it the columns wanted.
pub(crate) fn prepare(heap: &Heap, columns: &[u16], out: &mut ScanBatch) {
    let shapes = shapes(heap, columns);
    let fits = out.batch.columns.len() == columns.len()
        && shapes.clone().zip(&out.batch.columns).all(|(shape, column)| column.physical() == shape);
    if fits {
        out.batch.clear();
    } else {
        out.batch = Batch::from_columns(shapes.map(Column::new).collect());
    }
    out.records.clear();
    out.newest = None;
    out.scratch.seen = 0;
}

/// Which records of a page are read.
#[derive(Clone, Copy)]
pub(crate) enum Wanted<'s> {
    /// All, unless several of the values wanted stand in chains of pages of their own: all of them at once might be
    /// gigabytes.
    Short,
    /// As `Short`, of the records that are drawn.
    Drawn(&'s Draw),
    /// Those of these slots, ascending.
    Slots(&'s [u16]),
}

/// Appends the records of one page visible to `view`. Returns the slots of a page that was left out because its values are
/// long ([`Wanted::Short`]), else none.
pub(crate) fn read_page(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    page_index: u32,
    wanted: Wanted<'_>,
    columns: &[u16],
    out: &mut ScanBatch,
) -> Result<Range<u16>, StorageError> {
    read_page_of(shared, heap, view, page_index, wanted, columns, None, out)
}

/// The same for records that fulfil conditions.
#[allow(clippy::too_many_arguments, reason = "one place calls it")]
pub(super) fn read_sifted(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    page_index: u32,
    wanted: Wanted<'_>,
    columns: &[u16],
    sieve: &mut Sieve,
    out: &mut ScanBatch,
) -> Result<Range<u16>, StorageError> {
    let (first, mut is_sifted) = (out.records.len(), false);
    let sifted = Some((&mut *sieve, &mut is_sifted));
    let long = read_page_of(shared, heap, view, page_index, wanted, columns, sifted, out)?;
    let end = out.records.len();
    if !is_sifted && end > first {
        out.scratch.seen += end - first;
        if let Some(left) = sieve.judge(&mut out.batch, columns, first, end) {
            for (at, row) in left.iter().enumerate() {
                out.records[at] = out.records[*row as usize];
            }
            out.records.truncate(left.len());
        }
    }
    Ok(long)
}

/// Reads a page; `sieve` is asked where the records stand on the page as they are seen, and notes that.
#[allow(clippy::too_many_arguments, reason = "two places call it")]
fn read_page_of(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    page_index: u32,
    wanted: Wanted<'_>,
    columns: &[u16],
    sieve: Option<(&mut Sieve, &mut bool)>,
    out: &mut ScanBatch,
) -> Result<Range<u16>, StorageError> {
    match view.command() {
        None => read_page_in(shared, heap, view, page_index, wanted, columns, sieve, out),
        Some(command) => {
            earlier::read_page(shared, heap, (view, command), page_index, wanted, columns, sieve, out)
        }
    }
}

/// The same, with all of the transaction's own changes that the view sees.
#[allow(clippy::too_many_arguments, reason = "as the function that it stands beside")]
pub(super) fn read_page_in(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    page_index: u32,
    wanted: Wanted<'_>,
    columns: &[u16],
    sieve: Option<(&mut Sieve, &mut bool)>,
    out: &mut ScanBatch,
) -> Result<Range<u16>, StorageError> {
    if let (Wanted::Slots(slots), Some(reader)) = (wanted, view.reader()) {
        slots.iter().for_each(|slot| reader.reads_record(heap.object, page_index, *slot));
    }
    let is_scan = !matches!(wanted, Wanted::Slots(_));
    let Some(home) = heap.home(&shared.core().pool, page_index, is_scan)? else { return Ok(0..0) };
    let id = home.id();
    let corrupt = |flaw: Flaw| StorageError::corrupt(id, heap.object, flaw);
    let ScanBatch { batch, records, scratch: Scratch { layout, slots, older, image, seen }, .. } = out;
    let page = home.bytes(heap, image, Some(columns))?;
    check_home(heap, id, page, page_index)?;
    let layout = match layout {
        Some(layout) if layout.describes(page) => &*layout,
        _ => layout.insert(PageLayout::of(page).map_err(corrupt)?),
    };
    let high = u16_at(page, SLOT_HIGH).min(layout.capacity as u16);
    let range = 0..high;
    if is_scan && has_long(page, layout, high, columns) {
        return Ok(range);
    }
    slots.clear();
    older.clear();
    let copier = Copier { shared, heap, view, page_index, page, id };
    let same = match wanted {
        Wanted::Short => alike(view, page, layout, &range),
        Wanted::Drawn(_) | Wanted::Slots(_) => Alike::No,
    };
    let set = match same {
        Alike::Visible if all_set(&page[layout.live..], range.start.into(), range.len()) => {
            Slots::Run { first: range.start, count: range.end - range.start }
        }
        Alike::Visible => {
            let live = &page[layout.live..];
            slots.extend(range.filter(|slot| bit(live, usize::from(*slot))));
            Slots::from_list(slots)
        }
        Alike::Older(pointer) if restore::copy_older(&copier, layout, pointer, &range, columns, batch)? => {
            records.extend(range.map(|slot| RecordId { page_index, slot }));
            return Ok(0..0);
        }
        Alike::Older(pointer) => {
            restore::push_run(older, pointer, 0, range.len());
            slots.extend(range);
            Slots::from_list(slots)
        }
        Alike::No => {
            match wanted {
                Wanted::Short => select(view, page, layout, range, slots, older),
                Wanted::Drawn(draw) => {
                    let asked = range.filter(|slot| draw.has(RecordId { page_index, slot: *slot }));
                    select(view, page, layout, asked, slots, older);
                }
                Wanted::Slots(only) => {
                    let asked = only.iter().copied().filter(|slot| *slot < high);
                    select(view, page, layout, asked, slots, older);
                }
            }
            Slots::from_list(slots)
        }
    };
    if set.is_empty() {
        return Ok(0..0);
    }
    let set = match sieve {
        Some((sieve, is_sifted)) if older.is_empty() => {
            *is_sifted = true;
            *seen += set.len();
            sieve.sift(&copier, layout, set)?;
            if sieve.kept.is_empty() {
                return Ok(0..0);
            }
            Slots::from_list(&sieve.kept)
        }
        _ => set,
    };
    let first = records.len();
    match set {
        Slots::Run { first, count } => {
            records.extend((first..first + count).map(|slot| RecordId { page_index, slot }));
        }
        _ => records.extend(set.iter().map(|slot| RecordId { page_index, slot })),
    }
    if older.is_empty() {
        for (column_id, column) in columns.iter().zip(&mut batch.columns) {
            match layout.ordinal(*column_id) {
                None => column.push_nulls(set.len()),
                Some(ordinal) => copier.copy_runs(&layout.columns[ordinal], set, column)?,
            }
        }
        return Ok(0..0);
    }
    // Fixed values are copied as they stand and overwritten by older ones; variable ones are chosen first.
    let mut restore = Restore::new(shared, heap, view, page_index, columns, slots);
    for (wanted, column) in batch.columns.iter_mut().enumerate() {
        match layout.ordinal(columns[wanted]) {
            None => {
                column.push_nulls(set.len());
                restore.ignore(wanted);
            }
            Some(ordinal) if !layout.columns[ordinal].is_variable() => {
                copier.copy(&layout.columns[ordinal], set, column)?;
            }
            Some(_) => {}
        }
    }
    restore.run(older, first, &mut batch.columns)?;
    for (wanted, column) in batch.columns.iter_mut().enumerate() {
        let Some(ordinal) = layout.ordinal(columns[wanted]) else { continue };
        let place = &layout.columns[ordinal];
        if !place.is_variable() {
            continue;
        }
        match restore.chosen(wanted) {
            None => copier.copy(place, set, column)?,
            Some(values) => {
                for (slot, value) in slots.iter().zip(values) {
                    match value {
                        Chosen::Home => {
                            copier.copy(place, Slots::Run { first: *slot, count: 1 }, column)?;
                        }
                        Chosen::Null => column.push_null(),
                        Chosen::Bytes(bytes) => {
                            column.data.bytes_mut().expect("a variable column").push(bytes);
                        }
                        Chosen::Reference(raw) => push_reference(shared, heap, raw, column)?,
                    }
                }
            }
        }
    }
    if restore.any_gone() {
        let kept = restore.kept().map(|row| (first + row) as u32);
        let selection: Vec<u32> = (0..first as u32).chain(kept).collect();
        batch.columns.iter_mut().for_each(|column| column.filter(&selection));
        let mut kept = 0;
        records.retain(|_| {
            kept += 1;
            kept <= first || !restore.is_gone(kept - 1 - first)
        });
    }
    Ok(0..0)
}

/// Whether several of the values wanted of a page stand in chains of pages of their own.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn is_long(
    shared: &Shared,
    heap: &Heap,
    page_index: u32,
    columns: &[u16],
) -> Result<bool, StorageError> {
    let Some(home) = heap.home(&shared.core().pool, page_index, false)? else { return Ok(false) };
    if home.is_packed() {
        return Ok(false); // it has no values elsewhere (P1)
    }
    let (id, page) = (home.id(), home.latched());
    check_home(heap, id, page, page_index)?;
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
    let high = u16_at(page, SLOT_HIGH).min(layout.capacity as u16);
    Ok(has_long(page, &layout, high, columns))
}

/// How many slots of a page may have records, and whether several of the values wanted of it stand in chains of pages of their
/// own.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn height(
    shared: &Shared,
    heap: &Heap,
    page_index: u32,
    columns: &[u16],
) -> Result<Option<(u16, bool)>, StorageError> {
    let Some(home) = heap.home(&shared.core().pool, page_index, false)? else { return Ok(None) };
    let (id, mut image) = (home.id(), Image::default());
    let page = home.bytes(heap, &mut image, Some(columns))?;
    check_home(heap, id, page, page_index)?;
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
    let high = u16_at(page, SLOT_HIGH).min(layout.capacity as u16);
    Ok(Some((high, has_long(page, &layout, high, columns))))
}

/// Whether several of the values wanted in a page's first `high` slots stand in chains of pages of their own.
fn has_long(page: &[u8], layout: &PageLayout, high: u16, columns: &[u16]) -> bool {
    let variable =
        columns.iter().filter_map(|id| layout.ordinal(*id)).map(|ordinal| &layout.columns[ordinal]);
    let chains = variable.filter(|place| place.is_variable()).map(|place| {
        let slots = &page[place.data..place.data + usize::from(high) * 8];
        slots.as_chunks::<8>().0.iter().filter(|slot| slot[0] == ValueSlot::OVERFLOW).count()
    });
    chains.sum::<usize>() > 1
}

/// What all records of a range have in common.
enum Alike {
    /// Their writers are visible.
    Visible,
    /// One writer, which is not visible, and one pointer to what was there before.
    Older(VersionPointer),
    No,
}

/// What the records of `range` have in common, without a look at each: bulk work leaves one writer on a page, and one
/// pointer.
fn alike(view: &ReadView, page: &[u8], layout: &PageLayout, range: &Range<u16>) -> Alike {
    if TxnId(u64_at(page, MAX_WRITER)) < view.all_below() {
        return Alike::Visible;
    }
    let array = |at: usize| &page[at + usize::from(range.start) * 8..at + usize::from(range.end) * 8];
    let said = header::flags(page) & FLAG_ALIKE != 0;
    let uniform = |array: &[u8]| array.len() >= 8 && (said || array[8..] == array[..array.len() - 8]);
    let writers = array(layout.writer);
    if !uniform(writers) || u64_at(writers, 0) == 0 {
        return Alike::No;
    }
    if view.visible(TxnId(u64_at(writers, 0))) {
        return Alike::Visible;
    }
    let pointers = array(layout.back);
    match VersionPointer(u64_at(pointers, 0)) {
        pointer if !pointer.is_none() && uniform(pointers) => Alike::Older(pointer),
        _ => Alike::No,
    }
}

/// What [`read_at_home`] found.
pub(crate) enum AtHome {
    /// The record, which was read.
    Read,
    /// No record that is seen, or one that is not wanted.
    Nothing,
    /// A record of which an older version may be seen.
    Older,
}

/// Appends one record if `view` sees it as it stands on its home page and `accept` wants it, which looks at the columns that
/// `accepts_by` says.
#[allow(clippy::too_many_arguments, reason = "one place calls it")]
pub(crate) fn read_at_home(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    record: RecordId,
    accept: impl FnOnce(&[u8], &PageLayout) -> Result<bool, StorageError>,
    accepts_by: impl FnOnce() -> SmallVec<[u16; 8]>,
    columns: &[u16],
    out: &mut ScanBatch,
) -> Result<AtHome, StorageError> {
    let Some(home) = heap.home(&shared.core().pool, record.page_index, false)? else {
        return Ok(AtHome::Nothing);
    };
    let id = home.id();
    let ScanBatch { batch, records, scratch: Scratch { image, .. }, .. } = out;
    let read = home.is_packed().then(|| [columns, &accepts_by()].concat());
    let page = home.bytes(heap, image, read.as_deref())?;
    if header::kind(page) != Some(PageKind::Data) || header::owner(page) != heap.object {
        return Err(StorageError::corrupt(id, heap.object, "not a data page of this table"));
    }
    let layout = heap.layout_of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
    let layout = &*layout;
    let slot = record.slot;
    if slot >= u16_at(page, SLOT_HIGH).min(layout.capacity as u16) {
        return Ok(AtHome::Nothing);
    }
    let writer = TxnId(u64_at(page, layout.writer + usize::from(slot) * 8));
    if writer == TxnId::NONE {
        return Ok(AtHome::Nothing);
    }
    if !view.visible(writer) || view.command().is_some_and(|command| command.hides(heap.object, record)) {
        return Ok(AtHome::Older);
    }
    if !apply::is_live(page, layout, slot) || !accept(page, layout)? {
        return Ok(AtHome::Nothing);
    }
    let copier = Copier { shared, heap, view, page_index: record.page_index, page, id };
    for (column_id, column) in columns.iter().zip(&mut batch.columns) {
        match layout.ordinal(*column_id) {
            None => column.push_nulls(1),
            Some(ordinal) => {
                copier.copy(&layout.columns[ordinal], Slots::Run { first: slot, count: 1 }, column)?;
            }
        }
    }
    records.push(record);
    batch.rows = records.len();
    shared.read.fetch(1);
    Ok(AtHome::Read)
}

/// The records among `range` that are visible as they stand, or perhaps in an older version: that is noted in `older`.
fn select(
    view: &ReadView,
    page: &[u8],
    layout: &PageLayout,
    range: impl Iterator<Item = u16>,
    slots: &mut Vec<u16>,
    older: &mut Vec<RowRun>,
) {
    let mut last = (0, false);
    for slot in range {
        let writer = u64_at(page, layout.writer + usize::from(slot) * 8);
        if writer == 0 {
            continue;
        }
        if writer != last.0 {
            last = (writer, view.visible(TxnId(writer)));
        }
        if last.1 {
            if apply::is_live(page, layout, slot) {
                slots.push(slot);
            }
        } else {
            let back = VersionPointer(u64_at(page, layout.back + usize::from(slot) * 8));
            if !back.is_none() {
                restore::push_run(older, back, slots.len(), 1);
                slots.push(slot);
            }
        }
    }
}

/// Who has written the version of a record that a view sees; none if it sees none.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn writer_of(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    record: RecordId,
) -> Result<Option<TxnId>, StorageError> {
    let RecordId { page_index, slot } = record;
    if let Some(reader) = view.reader() {
        reader.reads_record(heap.object, page_index, slot);
    }
    let without_own: ReadView;
    let view = match view.command().and_then(|command| command.is_fresh(heap.object, record)) {
        None => view,
        Some(false) => return Ok(Some(view.own())),
        Some(true) => {
            without_own = view.clone().without_own();
            &without_own
        }
    };
    let Some(home) = heap.home(&shared.core().pool, page_index, false)? else { return Ok(None) };
    let (id, mut image) = (home.id(), Image::default());
    let page = home.bytes(heap, &mut image, Some(&[]))?;
    check_home(heap, id, page, page_index)?;
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
    if usize::from(slot) >= usize::from(u16_at(page, SLOT_HIGH)).min(layout.capacity) {
        return Ok(None);
    }
    let at = |place: usize| u64_at(page, place + usize::from(slot) * 8);
    let writer = TxnId(at(layout.writer));
    match () {
        () if writer == TxnId::NONE => Ok(None),
        () if view.visible(writer) => Ok(apply::is_live(page, &layout, slot).then_some(writer)),
        () => restore::older_writer(shared, heap, view, record, VersionPointer(at(layout.back))),
    }
}

/// The page is the data page that the directory says.
pub(super) fn check_home(heap: &Heap, id: PageId, page: &[u8], page_index: u32) -> Result<(), StorageError> {
    if header::kind(page) != Some(PageKind::Data)
        || header::owner(page) != heap.object
        || apply::page_index(page) != page_index
    {
        let flaw = Flaw::from("not the data page the directory says");
        return Err(StorageError::corrupt(id, heap.object, flaw));
    }
    Ok(())
}
