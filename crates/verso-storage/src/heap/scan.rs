//! Scans of tables: which pages they read, in what order, and how far ahead.
//!
//! A scan yields batches of about a thousand records. It can be divided: its parts take pieces of what is left from one counter,
//! so that each page is read once ([`Pieces`]).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use verso_types::Physical;

use super::draw::Draw;
use super::read::{BATCH_BYTES, ScanBatch, Wanted, prepare, read_page, read_sifted, shapes};
use super::sieve::{Condition, Sieve};
use super::table::Heap;
use crate::StorageError;
use crate::page::{PageId, RecordId};
use crate::shared::Shared;
use crate::txn::{ReadView, Registration};
use crate::work;
use crate::workers::Job;

/// Rows a batch should have before it is handed out.
const BATCH_ROWS: usize = 1024;

/// What to scan.
pub struct ScanSpec<'a> {
    /// Identities of the columns wanted, in the order of the batch.
    pub columns: &'a [u16],
    /// Directory indexes; the end may lie beyond the table's.
    pub pages: Range<u32>,
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
    /// It was counted, or is a part of one that was.
    pub(crate) is_counted: bool,
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
        self.count();
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
            is_counted: true,
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

    /// Counts the scan, once (U1).
    fn count(&mut self) {
        if !std::mem::replace(&mut self.is_counted, true) {
            self.heap.uses.scan(self.shared.env.clock.unix_micros_rough());
        }
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
        self.count();
        prepare(&self.heap, &self.columns, out);
        self.refill();
        let mut passed = 0;
        while self.next < self.end
            && out.records.len() < BATCH_ROWS
            && (out.seen() < SIFTED || out.records.is_empty())
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
        let seen = if self.sieve.is_some() { out.seen() } else { out.records.len() };
        self.shared.read.scan(seen);
        self.heap.uses.read(seen, 0);
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
