//! Writing dirty pages, in batches and always in the order that survives a crash.
//!
//! ```text
//!  copy pages, each under its shared latch ─► log durable up to the newest of them ─► double-write area ─► sync
//!                                            ─► the pages' places ─► sync ─► clean
//! ```
//!
//! W1. No byte of a page reaches the file before the log that tells of it is durable.
//! W2. One batch at a time: the area is reused only when the pages of the batch before are durable in their places.
//! W3. A page changed while its copy is on its way is dirty again, since the change; nothing of it is lost.
//! W4. While pages are on their way, [`Core::oldest_dirty`] still counts them.
//! W5. After a failed write or sync nothing is known about the file: the pool is poisoned, nothing is tried again. What was
//!     on its way stays marked so, hence in memory.
//! W6. The flusher never waits for a latch: whoever holds one may be waiting for the flusher.
//! W7. Pages that were changed without log are worthless after a crash: they go straight to their places, without sync, once
//!     the log record that allocated them is durable; until then their place may be needed for what was there before.
//! W8. A batch that has no room on the disk is kept as it is, and nothing else is written before it: its pages may be torn in
//!     their places, and whole only in the area. It goes on where it was: an area that is durable is not written anew.

use std::sync::atomic::{AtomicU64, Ordering};

use verso_env::sync::pause_point;

use super::Core;
use super::doublewrite::{AREA_PAGES_MIN, BATCH_PAGES, HEADER_SIZE, area_size, write_header};
use super::latch::{DIRTY, Touch, WRITING};
use super::stats::add;
use crate::error::StorageError;
use crate::page::{Lsn, PageId, header};
use crate::rules::{Rule, disabled};

/// The one batch under way, and the buffer that holds it.
pub(super) struct Flusher {
    /// Double-write header, then the page copies: logged ones from the front, unlogged ones from the back.
    buffer: Vec<u8>,
    /// The logged pages copied, in order.
    logged: Vec<PageId>,
    /// The unlogged pages copied; the first stands last in the buffer.
    unlogged: Vec<PageId>,
    sequence: u64,
    /// Pages for which the double-write area has room on disk.
    area_pages: usize,
    /// The batch waits for room (W8).
    stalled: Option<Sending>,
}

/// How far a batch has come.
#[derive(Clone, Copy)]
struct Sending {
    /// The newest LSN among its pages.
    newest: Lsn,
    /// Its copies are sealed.
    sealed: bool,
    /// The double-write area has it, durably.
    in_area: bool,
}

/// The smallest first-dirty LSN in the batch under way, `u64::MAX` without one.
pub(super) struct UnderWay(AtomicU64);

/// How far a flush of many pages is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlushProgress {
    /// Pages written.
    pub written: u64,
    /// Pages to be written, as counted at the start.
    pub total: u64,
}

/// What became of a batch.
#[derive(Default)]
struct Batch {
    written: u64,
    /// Pages latched by writers, which have to be tried again.
    skipped: Vec<PageId>,
}

impl UnderWay {
    pub(super) fn new() -> UnderWay {
        UnderWay(AtomicU64::new(u64::MAX))
    }

    fn oldest(&self) -> Option<Lsn> {
        match self.0.load(Ordering::Acquire) {
            u64::MAX => None,
            lsn => Some(Lsn(lsn)),
        }
    }
}

impl Flusher {
    pub(super) fn new(page_size: usize) -> Flusher {
        Flusher {
            buffer: vec![0; HEADER_SIZE + BATCH_PAGES * page_size],
            logged: Vec::with_capacity(BATCH_PAGES),
            unlogged: Vec::with_capacity(BATCH_PAGES),
            sequence: 0,
            area_pages: 0,
            stalled: None,
        }
    }

    /// Whether a batch waits for room.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.is_some()
    }

    /// The copies of the logged pages.
    fn logged_bytes(&self, page_size: usize) -> &[u8] {
        &self.buffer[HEADER_SIZE..HEADER_SIZE + self.logged.len() * page_size]
    }

    /// The copy at `index`.
    fn copy_mut(&mut self, index: usize, page_size: usize) -> &mut [u8] {
        &mut self.buffer[HEADER_SIZE + index * page_size..][..page_size]
    }
}

impl Core {
    /// Where the log starts to tell what the file does not hold yet.
    pub(super) fn oldest_dirty(&self) -> Option<Lsn> {
        // Pages first, then the batch: a page that moves from one to the other meanwhile is seen at least once.
        let resident = self.frames.resident().filter_map(|page| self.memory.first_dirty(page)).min();
        resident.into_iter().chain(self.under_way.oldest()).min()
    }

    /// Writes dirty pages so that a frame can be had. Whether anything has become better.
    pub(super) fn flush_for_room(&self, pages: &[PageId]) -> Result<bool, StorageError> {
        let Some(mut flusher) = self.flusher.try_lock() else {
            // Somebody is at it; behind that batch there are clean pages.
            drop(self.flusher.lock());
            return Ok(true);
        };
        add(&self.counters.foreground_batches, 1);
        Ok(self.write_batch(&mut flusher, pages)?.written > 0)
    }

    /// Writes the dirty ones of `pages` that nobody is changing; returns how many.
    pub(super) fn flush_now(&self, pages: &[PageId]) -> Result<u64, StorageError> {
        let mut written = 0;
        for batch in pages.chunks(BATCH_PAGES) {
            written += self.write_batch(&mut self.flusher.lock(), batch)?.written;
        }
        Ok(written)
    }

    /// Writes all dirty pages that `chosen` picks by their first-dirty LSN, waiting for those that are being changed;
    /// tells `progress` behind each batch how far it is.
    pub(super) fn flush_chosen(
        &self,
        chosen: impl Fn(Option<Lsn>) -> bool,
        progress: &mut dyn FnMut(FlushProgress) -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        let is_chosen = |page: &PageId| {
            self.memory.word(*page).state().has(DIRTY) && chosen(self.memory.first_dirty(*page))
        };
        let mut pages: Vec<PageId> = self.frames.resident().filter(is_chosen).collect();
        pages.sort_unstable();
        self.flush_these(pages, progress)
    }

    /// Writes those of some sorted pages that are dirty, waiting for those that are being changed.
    pub(super) fn flush_these(
        &self,
        mut pages: Vec<PageId>,
        progress: &mut dyn FnMut(FlushProgress) -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        let (mut written, total) = (0, pages.len() as u64);
        while !pages.is_empty() {
            let mut skipped = Vec::new();
            for batch in pages.chunks(BATCH_PAGES) {
                let mut batch = self.write_batch(&mut self.flusher.lock(), batch)?;
                written += batch.written;
                progress(FlushProgress { written, total })?;
                skipped.append(&mut batch.skipped);
            }
            // The flusher is free while we wait: whoever changes the page may need it (W6).
            if let Some(page) = skipped.first() {
                self.memory.wait(*page, true);
            }
            pages = skipped;
        }
        // A batch of somebody else may hold pages that were dirty when we came, also one that waits for room.
        let mut flusher = self.flusher.lock();
        self.check_usable()?;
        self.go_on_with_stalled(&mut flusher)?;
        Ok(written)
    }

    /// Writes those of at most [`BATCH_PAGES`] sorted pages that are dirty and not being changed.
    fn write_batch(&self, flusher: &mut Flusher, pages: &[PageId]) -> Result<Batch, StorageError> {
        self.check_usable()?;
        self.go_on_with_stalled(flusher)?;
        debug_assert!(
            pages.is_sorted() && pages.len() <= BATCH_PAGES,
            "batches are sorted and fit the buffer"
        );
        let mut all = Batch::default();
        // One piece, unless the disk is full (D4).
        for pages in pages.chunks(self.area_for(flusher, pages.len())) {
            let (mut batch, newest) = self.copy_batch(flusher, pages);
            if batch.written > 0 {
                self.send_or_stall(flusher, Sending { newest, sealed: false, in_area: false })?;
            }
            self.has_arrived(flusher);
            all.written += batch.written;
            all.skipped.append(&mut batch.skipped);
        }
        Ok(all)
    }

    /// How many pages of a batch the double-write area takes at once, which grows for them where it can (D4). Where it cannot,
    /// for whatever reason, the batch goes in pieces: nothing was written, so nothing is lost. A disk that has failed shows in
    /// the writes that follow, which end the engine (W5).
    fn area_for(&self, flusher: &mut Flusher, pages: usize) -> usize {
        if pages > flusher.area_pages {
            let wanted = pages.next_power_of_two().min(BATCH_PAGES);
            if self.grow_area(wanted).is_ok() {
                flusher.area_pages = wanted;
            }
        }
        flusher.area_pages.max(1)
    }

    /// Sends the batch that has waited for room, if there is one (W8).
    fn go_on_with_stalled(&self, flusher: &mut Flusher) -> Result<(), StorageError> {
        let Some(sending) = flusher.stalled.take() else { return Ok(()) };
        self.send_or_stall(flusher, sending)?;
        self.has_arrived(flusher);
        self.stalled.store(false, Ordering::Release);
        tracing::info!("there is room on the disk again: changes are possible");
        Ok(())
    }

    /// Takes the copied pages to the disk. Without room there they wait for it; any other failure is the last.
    fn send_or_stall(&self, flusher: &mut Flusher, mut sending: Sending) -> Result<(), StorageError> {
        let Err(error) = self.send_batch(flusher, &mut sending) else {
            add(&self.counters.write_batches, 1);
            return Ok(());
        };
        if matches!(error, StorageError::Full { .. }) && !disabled(Rule::FullDisk) {
            flusher.stalled = Some(sending);
            if !self.stalled.swap(true, Ordering::AcqRel) {
                tracing::error!(
                    %error,
                    "the disk of the database is full: nothing can be changed until there is room, reads go on"
                );
                self.cleaner.nudge();
            }
        } else if !disabled(Rule::FailedSync) {
            error.ends_the_engine();
            self.poison(Some(&error));
        }
        Err(error)
    }

    /// The pages of the batch are durable.
    fn has_arrived(&self, flusher: &Flusher) {
        for page in flusher.logged.iter().chain(&flusher.unlogged) {
            self.memory.word(*page).clear(WRITING);
        }
        self.under_way.0.store(u64::MAX, Ordering::Release);
    }

    /// For who wants to change something while nothing can be: perhaps there is room by now.
    ///
    /// # Errors
    /// `Poisoned`, `Full`.
    #[cold]
    pub(super) fn try_once_more(&self) -> Result<(), StorageError> {
        self.check_usable()?;
        match self.flusher.try_lock() {
            Some(mut flusher) => self.go_on_with_stalled(&mut flusher),
            // Somebody else is trying.
            None if self.stalled.load(Ordering::Acquire) => {
                Err(StorageError::Full { what: "pages that have to be written first".to_owned() })
            }
            None => Ok(()),
        }
    }

    /// Whether a batch waits for room.
    pub(super) fn is_stalled(&self) -> bool {
        self.stalled.load(Ordering::Acquire)
    }

    /// Copies the pages into the flusher's buffer, which makes them clean; also returns the newest LSN among them.
    fn copy_batch(&self, flusher: &mut Flusher, pages: &[PageId]) -> (Batch, Lsn) {
        let size = self.memory.page_size();
        flusher.logged.clear();
        flusher.unlogged.clear();
        let mut batch = Batch::default();
        let mut newest = Lsn::ZERO;
        for page in pages {
            pause_point();
            let shared = match self.memory.try_share(*page, Touch::Ignore) {
                Ok(shared) => shared,
                Err(super::latch::Shared::Busy) => {
                    batch.skipped.push(*page);
                    continue;
                }
                Err(_) => continue,
            };
            if !self.memory.word(*page).state().has(DIRTY) {
                continue;
            }
            let unlogged = self.memory.first_dirty(*page).is_none();
            newest = newest.max(shared.lsn());
            let index = if unlogged {
                flusher.unlogged.push(*page);
                BATCH_PAGES - flusher.unlogged.len()
            } else {
                flusher.logged.push(*page);
                flusher.logged.len() - 1
            };
            flusher.copy_mut(index, size).copy_from_slice(&shared);
            shared.copied(|first| {
                if let Some(first) = first {
                    self.under_way.0.fetch_min(first.0, Ordering::AcqRel);
                }
            });
            batch.written += 1;
        }
        (batch, newest)
    }

    /// Takes the copied pages to the disk.
    fn send_batch(&self, flusher: &mut Flusher, sending: &mut Sending) -> Result<(), StorageError> {
        let size = self.memory.page_size();
        let logged = 0..flusher.logged.len();
        let unlogged = BATCH_PAGES - flusher.unlogged.len()..BATCH_PAGES;
        if !sending.sealed {
            for index in logged.clone().chain(unlogged.clone()) {
                let copy = flusher.copy_mut(index, size);
                header::seal(copy);
                self.counters.write(copy);
            }
            sending.sealed = true;
        }
        if sending.newest > Lsn::ZERO && !disabled(Rule::LogFirst) {
            self.gate.flush_to(sending.newest)?;
        }
        if !unlogged.is_empty() {
            self.abandoned.written_without_sync();
        }
        for index in unlogged {
            let page = flusher.unlogged[BATCH_PAGES - 1 - index];
            self.write_home(page, flusher.copy_mut(index, size))?;
        }
        if logged.is_empty() {
            return Ok(());
        }
        if !sending.in_area && !disabled(Rule::DoubleWrite) {
            self.write_area(flusher)?;
            sending.in_area = true;
        }
        let mut copies = flusher.logged_bytes(size);
        for run in flusher.logged.chunk_by(|left, right| left.0 + 1 == right.0) {
            let (bytes, rest) = copies.split_at(run.len() * size);
            self.write_home(run[0], bytes)?;
            copies = rest;
        }
        if let Err(error) = self.file.sync_data() {
            self.abandoned.sync_failed();
            return Err(StorageError::sync("syncing the database file", error));
        }
        self.abandoned.synced();
        add(&self.counters.syncs, 1);
        Ok(())
    }

    /// Makes the logged pages of the batch durable in the double-write area.
    fn write_area(&self, flusher: &mut Flusher) -> Result<(), StorageError> {
        let size = self.memory.page_size();
        flusher.sequence += 1;
        let length = HEADER_SIZE + flusher.logged.len() * size;
        let (head, copies) = flusher.buffer[..length].split_at_mut(HEADER_SIZE);
        write_header(head, size, flusher.sequence, copies);
        let written = self.doublewrite.write_at(&flusher.buffer[..length], 0);
        written.map_err(|error| StorageError::io("writing the double-write area", error))?;
        if disabled(Rule::DoubleWriteOrder) {
            return Ok(());
        }
        let synced = self.doublewrite.sync_data();
        synced.map_err(|error| StorageError::sync("syncing the double-write area", error))?;
        add(&self.counters.syncs, 1);
        Ok(())
    }

    /// Writes sealed neighbours to their places.
    fn write_home(&self, first: PageId, bytes: &[u8]) -> Result<(), StorageError> {
        let written = self.file.write_at(bytes, self.offset(first));
        written.map_err(|error| StorageError::io(format!("writing {first}"), error))
    }

    /// Reserves the least double-write area on disk, so that a full disk shows before anything depends on it (D4).
    ///
    /// # Errors
    /// The disk is full, or what the file system reports.
    pub(super) fn reserve_area(&self) -> Result<(), StorageError> {
        let mut flusher = self.flusher.lock();
        self.grow_area(AREA_PAGES_MIN)?;
        flusher.area_pages = AREA_PAGES_MIN;
        Ok(())
    }

    /// Gives room of the double-write area back that is of no use any more: everything is durable in its place.
    pub(super) fn give_area_back(&self) {
        let mut flusher = self.flusher.lock();
        if flusher.stalled.is_none() {
            flusher.area_pages = AREA_PAGES_MIN;
            // What stays does no harm.
            let _ = self.doublewrite.set_len(area_size(self.memory.page_size(), AREA_PAGES_MIN));
        }
    }

    /// Reserves a double-write area of so many pages.
    fn grow_area(&self, pages: usize) -> Result<(), StorageError> {
        let error = |error| StorageError::io("the double-write area", error);
        let size = area_size(self.memory.page_size(), pages);
        if self.doublewrite.len().map_err(error)? < size {
            self.doublewrite.preallocate(0, size).map_err(error)?;
        }
        Ok(())
    }
}
