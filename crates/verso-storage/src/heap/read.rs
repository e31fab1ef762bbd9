//! Reading records: scans and fetches at a snapshot.
//!
//! V2. Start from the home record; while its writer is not visible follow the pointer, restore the masked columns and
//!     liveness, take the prior writer; no pointer means no record. Module `restore` does so for many records at once.
//! A page whose greatest writer is below everything the snapshot might miss is copied by the column, without a look at
//! any record. Latches: home page shared, then version, companion or overflow page shared.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use smallvec::SmallVec;
use verso_types::{Batch, Column, Physical};

use super::draw::Draw;
use super::layout::{ColumnPlace, FLAG_ALIKE, MAX_WRITER, PageLayout, SLOT_HIGH};
use super::packed::Image;
use super::restore::{self, Chosen, Restore, RowRun};
use super::sieve::{Condition, Sieve};
use super::slice::{all_set, bit};
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::{ValueSlot, one_piece};
use super::{apply, moved};
use crate::StorageError;
use crate::page::bytes::{checked_slice, u16_at, u64_at};
use crate::page::{Flaw, PageId, PageKind, RecordId, TxnId, header};
use crate::shared::Shared;
use crate::txn::{ReadView, Registration};
use crate::version::entry::VersionPointer;
use crate::work;
use crate::workers::Job;

/// Rows a batch should have before it is handed out.
const BATCH_ROWS: usize = 1024;
/// Bytes of variable length beyond which it is handed out with fewer rows.
pub(crate) const BATCH_BYTES: usize = 2 << 20;

/// What to scan.
pub struct ScanSpec<'a> {
    /// Identities of the columns wanted, in the order of the batch.
    pub columns: &'a [u16],
    /// Directory indexes; the end may lie beyond the table's.
    pub pages: Range<u32>,
}

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

/// A scan under way.
pub struct HeapScan {
    pub(crate) shared: Arc<Shared>,
    pub(crate) heap: Arc<Heap>,
    pub(crate) view: ReadView,
    /// Keeps the versions when the scan runs outside of a statement.
    pub(crate) _registration: Option<Arc<Registration>>,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) columns: Vec<u16>,
    /// Pages that it is to read by itself.
    pub(crate) next: u32,
    pub(crate) end: u32,
    /// Pages to be read behind these, the last first.
    pub(crate) later: Vec<Range<u32>>,
    /// Of a part: where it gets its next pages.
    pub(crate) pieces: Option<Arc<Pieces>>,
    /// Slots of the next page that are still to be read, one after the other, because its values may be long.
    pub(crate) part: Range<u16>,
    /// It has looked at a page.
    pub(crate) has_begun: bool,
    /// What records must fulfil.
    pub(crate) sieve: Option<Sieve>,
    /// It reads a sample of the records.
    pub(crate) draw: Option<Draw>,
    /// Is told how many pages it has read.
    pub(crate) watched: Option<Arc<Job>>,
}

/// Records that a scan with conditions looks at before it yields those that it has found.
const SIFTED: usize = 8 * BATCH_ROWS;

/// Pages whose places in the file are looked up together.
const PIECE_PAGES: u32 = 8;

/// Pages of a table that the parts of a scan share: handed out in pieces, each page once.
#[derive(Debug)]
pub(crate) struct Pieces {
    next: AtomicU32,
    end: u32,
}

/// Pages of a piece: a multiple of what is fetched ahead, and so few that the parts end together.
const PIECE: u32 = 32;

impl Pieces {
    fn take(&self) -> Option<Range<u32>> {
        let taken = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |from| {
            (from < self.end).then(|| from.saturating_add(PIECE).min(self.end))
        });
        taken.ok().map(|from| from..from.saturating_add(PIECE).min(self.end))
    }
}

impl HeapScan {
    /// How many pages are still to be read.
    #[must_use]
    pub fn pages_left(&self) -> u32 {
        let later: u32 = self.later.iter().map(|pages| pages.end - pages.start).sum();
        self.end.saturating_sub(self.next) + later
    }

    /// Reads no other pages than these, which ascend; of a scan that has read nothing yet.
    pub fn keep_pages(&mut self, pages: Vec<Range<u32>>) {
        let (start, end) = (self.next, self.end);
        let within = pages.into_iter().map(|pages| pages.start.max(start)..pages.end.min(end));
        self.later = within.filter(|pages| pages.start < pages.end).collect();
        self.later.reverse();
        self.next = self.end;
        self.refill();
    }

    /// So many scans that together read what this one has not read yet, in the same view: each takes some pages whenever it
    /// has none. This one is at its end then.
    #[must_use]
    pub fn split(&mut self, parts: usize) -> Vec<HeapScan> {
        let pieces = Arc::new(Pieces { next: AtomicU32::new(self.next), end: self.end });
        let long = std::mem::replace(&mut self.part, 0..0);
        let part = |_| HeapScan {
            shared: Arc::clone(&self.shared),
            heap: Arc::clone(&self.heap),
            view: self.view.clone(),
            _registration: self._registration.clone(),
            cancel: Arc::clone(&self.cancel),
            columns: self.columns.clone(),
            next: 0,
            end: 0,
            later: Vec::new(),
            pieces: Some(Arc::clone(&pieces)),
            part: 0..0,
            has_begun: false,
            sieve: self.sieve.as_ref().map(Sieve::of_part),
            draw: self.draw,
            watched: self.watched.clone(),
        };
        let mut scans: Vec<HeapScan> = (0..parts).map(part).collect();
        if let (false, Some(first)) = (long.is_empty(), scans.first_mut()) {
            // A page that is read in part.
            let next = pieces.next.fetch_add(1, Ordering::Relaxed);
            (first.next, first.end, first.part) = (next, next + 1, long);
        }
        self.next = self.end;
        if let Some(first) = scans.first_mut() {
            first.later = std::mem::take(&mut self.later);
        }
        scans
    }

    /// Leaves out records that do not fulfil all of these conditions, from now on. False, and nothing has changed, where it does not
    /// read their columns.
    pub fn sift(&mut self, conditions: &[Condition]) -> bool {
        let reads = |condition: &Condition| condition.columns().all(|column| self.columns.contains(&column));
        if !conditions.iter().all(reads) {
            return false;
        }
        let sieve = self.sieve.get_or_insert_default();
        conditions.iter().for_each(|condition| sieve.add(condition.clone()));
        true
    }

    /// Reads only the records that are drawn, and no page that has none of them; of a scan that has read nothing yet.
    pub fn draw(&mut self, draw: Draw) {
        self.draw = Some(draw);
    }

    /// Reads these columns from now on, those of its [conditions](HeapScan::sift) among them.
    pub fn set_columns(&mut self, columns: &[u16]) {
        self.columns.clear();
        self.columns.extend_from_slice(columns);
    }

    /// How these columns lie in a batch.
    #[must_use]
    pub fn layouts(&self, columns: &[u16]) -> Vec<Physical> {
        shapes(&self.heap, columns).collect()
    }

    /// Whether records that it has read may be read again: they are there as long as the scan, but in a view that sees what may
    /// be rolled back; a serializable reader would note each of them.
    #[must_use]
    pub fn reads_again(&self) -> bool {
        !self.view.is_dirty() && self.view.reader().is_none()
    }

    /// Replaces `out` by other columns of records that it has read, ascending; of so many of the first ones that their values are
    /// not too long together. How many.
    ///
    /// # Errors
    /// `Corrupt`, also where a record is gone; `Io`, `Cancelled`.
    pub fn read_more(
        &self,
        records: &mut dyn Iterator<Item = RecordId>,
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<usize, StorageError> {
        prepare(&self.heap, columns, out);
        let mut records = records.peekable();
        let mut slots: Vec<u16> = Vec::new();
        let mut count = 0;
        while let Some(first) = records.next()
            && out.batch.variable_bytes() < BATCH_BYTES
        {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            // Where values are long few of them are read before their bytes are looked at.
            let most = match out.batch.variable_bytes() / count.max(1) {
                0 => {
                    if count == 0 {
                        8
                    } else {
                        usize::MAX
                    }
                }
                bytes => (BATCH_BYTES / 16 / bytes).max(1),
            };
            slots.clear();
            slots.push(first.slot);
            while slots.len() < most
                && let Some(next) = records.next_if(|next| next.page_index == first.page_index)
            {
                slots.push(next.slot);
            }
            count += slots.len();
            let wanted = Wanted::Slots(&slots);
            read_page(&self.shared, &self.heap, &self.view, first.page_index, wanted, columns, out)?;
            if out.records.len() != count {
                let flaw = "a record that a scan has read is gone";
                return Err(StorageError::corrupt(self.heap.root, self.heap.object, flaw));
            }
        }
        out.batch.rows = count;
        Ok(count)
    }

    /// Takes further pages where there are none left.
    fn refill(&mut self) {
        if self.next != self.end {
            return;
        }
        let piece = self.later.pop().or_else(|| self.pieces.as_ref().and_then(|pieces| pieces.take()));
        if let Some(piece) = piece {
            (self.next, self.end) = (piece.start, piece.end);
        }
    }

    /// Reads the next records into `out`: about 1,024 to 4,096, fewer where their values are long; `false` at the end.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn next(&mut self, out: &mut ScanBatch) -> Result<bool, StorageError> {
        prepare(&self.heap, &self.columns, out);
        self.refill();
        let mut passed = 0;
        while self.next < self.end
            && out.records.len() < BATCH_ROWS
            && (out.scratch.seen < SIFTED || out.records.is_empty())
            && out.batch.variable_bytes() < BATCH_BYTES
        {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            let is_out = self.draw.is_some_and(|draw| !draw.has_page(self.next));
            if self.part.is_empty() && (is_out || self.has_nothing()) {
                work::passed_over();
                self.next += 1;
                passed += 1;
                self.refill();
                continue;
            }
            let slot = [self.part.start];
            let drawn = self.draw;
            let wanted = match (&drawn, self.part.is_empty()) {
                (_, false) => Wanted::Slots(&slot),
                (Some(draw), true) if draw.draws_records() => Wanted::Drawn(draw),
                (_, true) => Wanted::Short,
            };
            if drawn.is_none_or(|draw| draw.draws_records()) {
                self.read_ahead();
            }
            let Self { shared, heap, view, columns, sieve, .. } = self;
            let long = match sieve {
                None => read_page(shared, heap, view, self.next, wanted, columns, out)?,
                Some(sieve) => read_sifted(shared, heap, view, self.next, wanted, columns, sieve, out)?,
            };
            if self.part.is_empty() {
                self.part = long;
            } else {
                self.part.start += 1;
            }
            if let Some(draw) = drawn {
                let page_index = self.next;
                while !self.part.is_empty() && !draw.has(RecordId { page_index, slot: self.part.start }) {
                    self.part.start += 1;
                }
            }
            if self.part.is_empty() {
                self.next += 1;
                passed += 1;
                self.refill();
            }
        }
        if let Some(job) = &self.watched {
            job.advance(passed);
        }
        out.batch.rows = out.records.len();
        if let Some(sieve) = &mut self.sieve {
            work::removed(sieve.take_removed());
        }
        self.shared.read.scan(if self.sieve.is_some() { out.scratch.seen } else { out.records.len() });
        Ok(!out.records.is_empty())
    }

    /// Whether no record of the next page fulfils the conditions, as its bounds tell ([`bounds`](crate::bounds)). A view that sees what
    /// is not committed needs the page, and a serializable reader has to meet its writers.
    fn has_nothing(&self) -> bool {
        let bounds = &self.shared.core().bounds;
        let Some(sieve) = self.sieve.as_ref().filter(|_| !bounds.is_empty()) else { return false };
        if !self.reads_again() {
            return false;
        }
        let moves = self.heap.moves();
        let Ok(Some(page)) = self.heap.page_at(self.next) else { return false };
        let excluded = bounds.of(page, |bounds| sieve.excludes(bounds));
        // A page that was given up meanwhile may be another one by now.
        excluded == Some(true) && self.heap.moves() == moves
    }

    /// Reads pages that come later together where they follow each other in the file.
    fn read_ahead(&mut self) {
        let mut window = self.shared.core().pool.read_ahead().window(self.next, !self.has_begun);
        self.has_begun = true;
        if self.pieces.is_none() {
            // Others read what comes behind a piece, nobody what comes behind the last page.
            window.end = window.end.min(self.end);
        }
        // An error is met by who reads the page.
        let page_at = |index| self.heap.page_at(index).ok().flatten();
        let mut run: Option<(PageId, u32)> = None;
        let mut piece = window.start;
        while piece < window.end {
            let pages = (window.end - piece).min(PIECE_PAGES);
            // The directory is asked for the ends of a piece only.
            let neighbours = match (page_at(piece), page_at(piece + pages - 1)) {
                (Some(first), Some(last)) => (last.0.wrapping_sub(first.0) == pages - 1).then_some(first),
                _ => break,
            };
            run = match (run, neighbours) {
                (Some((first, count)), Some(next)) if first.0 + count == next.0 => {
                    Some((first, count + pages))
                }
                (before, next) => {
                    self.prefetch(before);
                    next.map(|first| (first, pages))
                }
            };
            piece += pages;
        }
        self.prefetch(run);
    }

    fn prefetch(&self, run: Option<(PageId, u32)>) {
        if let Some((first, count)) = run {
            self.shared.core().pool.prefetch(first, count);
        }
    }
}

/// How columns lie in a batch.
fn shapes<'h>(heap: &'h Heap, columns: &'h [u16]) -> impl Iterator<Item = Physical> + Clone + 'h {
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
fn read_sifted(
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
    if !view.visible(writer) {
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

/// Copies values out of a data page.
pub(super) struct Copier<'a> {
    pub(super) shared: &'a Shared,
    pub(super) heap: &'a Heap,
    pub(super) view: &'a ReadView,
    pub(super) page_index: u32,
    pub(super) page: &'a [u8],
    id: PageId,
}

impl Copier<'_> {
    /// The page is not what it should be.
    #[cold]
    pub(super) fn corrupt(&self, flaw: impl Into<Flaw>) -> StorageError {
        StorageError::corrupt(self.id, self.heap.object, flaw)
    }

    /// Appends the values at `slots`, run by run where most of the slots follow each other.
    fn copy_runs(
        &self,
        place: &ColumnPlace,
        slots: Slots<'_>,
        column: &mut Column,
    ) -> Result<(), StorageError> {
        let Slots::List(list) = slots else { return self.copy(place, slots, column) };
        let gaps = match (list.first(), list.last()) {
            (Some(first), Some(last)) => usize::from(last - first) + 1 - list.len(),
            _ => 0,
        };
        if gaps * 8 > list.len() {
            return self.copy(place, slots, column);
        }
        for run in list.chunk_by(|slot, next| slot + 1 == *next) {
            self.copy(place, Slots::Run { first: run[0], count: run.len() as u16 }, column)?;
        }
        Ok(())
    }

    /// Appends the values at `slots`.
    pub(super) fn copy(
        &self,
        place: &ColumnPlace,
        slots: Slots<'_>,
        column: &mut Column,
    ) -> Result<(), StorageError> {
        let page = self.page;
        let corrupt = |flaw: Flaw| StorageError::corrupt(self.id, self.heap.object, flaw);
        if place.physical != column.physical() {
            return Err(corrupt(Flaw::from("a column of another type than its table's")));
        }
        let bitmap = &page[place.nulls..];
        let first = column.len();
        let run = |count: u16, slot: u16| {
            let from = place.data + usize::from(slot) * place.width;
            &page[from..from + usize::from(count) * place.width]
        };
        let piece = match slots {
            Slots::Run { first, count } if count > 1 && place.is_variable() => one_piece(run(count, first)),
            _ => None,
        };
        if let (Some((from, length)), Slots::Run { first, count }) = (piece, slots) {
            let bytes = column.data.bytes_mut().expect("a variable column");
            let lengths = run(count, first).as_chunks::<8>().0.iter().map(|slot| [slot[4], slot[5]]);
            restore::push_piece(bytes, checked_slice(page, from, length).map_err(corrupt)?, lengths);
        } else if place.is_variable() {
            for slot in slots.iter() {
                let raw = u64_at(page, place.data + usize::from(slot) * 8);
                let bytes = column.data.bytes_mut().expect("a variable column");
                match ValueSlot::decode(raw) {
                    Some(ValueSlot::Empty) => bytes.push(&[]),
                    Some(ValueSlot::Inline { offset, length }) => {
                        bytes.push(
                            checked_slice(page, usize::from(offset), usize::from(length)).map_err(corrupt)?,
                        );
                    }
                    Some(_) => push_reference(self.shared, self.heap, raw, column)?,
                    None => return Err(corrupt(Flaw::from("unknown value slot"))),
                }
            }
        } else if let Slots::Run { first: slot, count } = slots {
            column.extend_fixed_raw(run(count, slot));
        } else {
            column.data.extend_fixed_gather(&page[place.data..], slots.iter().map(usize::from));
        }
        if let Slots::Run { first: slot, count } = slots {
            let (slot, count) = (usize::from(slot), usize::from(count));
            if bitmap[slot / 8..(slot + count).div_ceil(8)].iter().any(|byte| *byte != 0) {
                column.nulls.append_bitmap(first, bitmap, slot, count);
            }
        } else {
            for (row, slot) in slots.iter().enumerate() {
                if bit(bitmap, usize::from(slot)) {
                    column.nulls.set(first + row);
                }
            }
        }
        Ok(())
    }
}

#[cold]
fn push_reference(shared: &Shared, heap: &Heap, raw: u64, column: &mut Column) -> Result<(), StorageError> {
    let bytes = column.data.bytes_mut().expect("references stand for variable values");
    bytes.push_with(|out| moved::read(&shared.core().pool, heap.object, raw, out))
}
