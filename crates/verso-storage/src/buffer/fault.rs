//! Bringing pages in: one when it is needed, a run of neighbours when that is foreseen.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Core;
use super::doublewrite;
use super::evict::FreeFrame;
use super::frame::Claim;
use super::latch::{RESIDENT, Touch};
use super::stats::add;
use crate::error::StorageError;
use crate::page::{Flaw, ObjectId, PageId, PageKind, header};

/// Pages whose memory is brought in one step.
const EXTENT_PAGES: u32 = 8;

impl Core {
    /// Reads the claimed page, whose content is not in memory.
    ///
    /// # Errors
    /// `Corrupt` when its bytes are not that page; errors of the file; no frame.
    pub(super) fn fault_in(&self, claim: &mut Claim<'_>, touch: Touch) -> Result<(), StorageError> {
        let page = claim.page();
        if self.abandoned.has(page) {
            return Err(self.poisoned.error());
        }
        let again = touch == Touch::Ignore && self.was_here_lately(claim);
        self.ensure_frame(claim)?;
        let read = self.file.read_at(claim.bytes_mut(), self.offset(page));
        let read = read.map_err(|error| StorageError::Unreadable { page, source: Arc::new(error) });
        let sound = read.and_then(|length| match self.check(page, claim.bytes(), length) {
            Err(damage) if length == claim.bytes().len() => self.mend(claim, damage),
            checked => checked,
        });
        sound.inspect_err(|error| self.damaged.note(error))?;
        self.counters.read(claim.bytes());
        self.arrived(claim, touch, again);
        Ok(())
    }

    /// Takes the claimed page, which is damaged in its place, from the double-write area, and puts it there again (D5).
    ///
    /// # Errors
    /// What was wrong with it, where the area does not have it; failed syncs, which poison.
    #[cold]
    fn mend(&self, claim: &mut Claim<'_>, damage: StorageError) -> Result<(), StorageError> {
        let page = claim.page();
        // Who writes a batch may need what we hold.
        let Some(flusher) = self.flusher.try_lock() else { return Err(damage) };
        let is_there = !flusher.is_stalled()
            && matches!(doublewrite::copy_of(&*self.doublewrite, page, claim.bytes_mut()), Ok(true))
            && self.check(page, claim.bytes(), claim.bytes().len()).is_ok()
            && self.file.write_at(claim.bytes(), self.offset(page)).is_ok();
        if !is_there {
            return Err(damage);
        }
        // Before the next batch takes the place of the copy.
        if let Err(error) = self.file.sync_data() {
            let error = StorageError::sync("syncing a mended page", error);
            error.ends_the_engine();
            self.poison(Some(&error));
            return Err(error);
        }
        tracing::warn!(page = page.0, %damage, "a damaged page was mended from its copy in the double-write area");
        Ok(())
    }

    /// Gives the claimed page, whose content is not in memory, any content without reading it; whether it is all zeroes.
    ///
    /// # Errors
    /// No frame.
    pub(super) fn conjure(&self, claim: &mut Claim<'_>) -> Result<bool, StorageError> {
        // Memory that was not in a frame reads as zero (F2).
        let clean = !claim.resident();
        let page = claim.page();
        if self.abandoned.has(page) {
            return Err(self.poisoned.error());
        }
        if page.0.is_multiple_of(EXTENT_PAGES) && self.frames_abound() {
            // When the first page of an extent is created the others will follow, and the next extent's.
            let next = page.0.saturating_add(EXTENT_PAGES);
            if clean {
                self.bring_memory(Some(page), page.0 + 1..next);
            }
            self.ahead.store(next, Ordering::Relaxed);
        }
        if clean {
            self.ensure_frame(claim)?;
        }
        // Many are created for once only: whoever comes again earns the chances.
        self.arrived(claim, Touch::Ignore, false);
        self.damaged.forget(page);
        Ok(clean)
    }

    /// Gives the claimed page a frame, hollow, unless it has one.
    fn ensure_frame(&self, claim: &Claim<'_>) -> Result<(), StorageError> {
        if !claim.resident() {
            self.obtain_frame()?.give_to(claim, &self.memory);
            claim.word().hollow_out();
        }
        Ok(())
    }

    fn frames_abound(&self) -> bool {
        self.frames.free_count() >= self.frames.capacity() / 2
    }

    /// As [`BufferPool::prepare_ahead`](super::BufferPool::prepare_ahead).
    #[cold]
    pub(super) fn prepare_ahead(&self) {
        let first = self.ahead.swap(0, Ordering::Relaxed);
        if first != 0 && self.frames_abound() {
            self.bring_memory(None, first..first.saturating_add(EXTENT_PAGES));
        }
    }

    /// Gives those of the pages that are absent frames, hollow ones, and memory in one step, the page before them too if it
    /// is claimed for that.
    fn bring_memory(&self, claimed: Option<PageId>, behind: Range<u32>) {
        let end = behind.end.min(self.memory.page_count());
        let mut given = claimed;
        for claim in (behind.start..end).filter_map(|next| self.claim_absent(PageId(next))) {
            let Some(frame) = self.pop_frame() else { break };
            frame.give_to(&claim, &self.memory);
            claim.word().hollow_out();
            given = given.or(Some(claim.page()));
        }
        if let Some(first) = given {
            self.memory.populate(first, end - first.0);
        }
    }

    /// Reads those of `count` pages from `first` on that are not in memory, as far as frames are to be had without
    /// writing or waiting. Pages that cannot be read are left to whoever really wants them.
    pub(super) fn prefetch(&self, first: PageId, count: u32) {
        let count = count.min(self.memory.page_count().saturating_sub(first.0));
        let count = count.min(u32::try_from(self.frames.capacity() / 8).unwrap_or(u32::MAX));
        let missing = (count as usize).saturating_sub(self.frames.free_count());
        if missing > 0 {
            self.sweep(missing, false);
        }
        let mut run: Vec<Claim<'_>> = Vec::new();
        let mut frames = Vec::new();
        for page in (first.0..first.0 + count).map(PageId) {
            let claimed = self.claim_absent(page).and_then(|claim| Some((claim, self.pop_frame()?)));
            match claimed {
                Some((claim, frame)) => {
                    run.push(claim);
                    frames.push(frame);
                }
                None => self.read_run(&mut run, &mut frames),
            }
        }
        self.read_run(&mut run, &mut frames);
    }

    /// Claims the page if it is neither resident nor latched.
    fn claim_absent(&self, page: PageId) -> Option<Claim<'_>> {
        let state = self.memory.word(page).state();
        if state.latched() || state.has(RESIDENT) || self.abandoned.has(page) {
            return None;
        }
        self.memory.try_claim_from(page, state)
    }

    /// Reads a run of claimed neighbours with one call; leaves both lists empty.
    fn read_run<'p>(&'p self, run: &mut Vec<Claim<'p>>, frames: &mut Vec<FreeFrame<'p>>) {
        let Some(first) = run.first().map(Claim::page) else { return };
        let pages = u32::try_from(run.len()).expect("runs are short");
        self.memory.populate(first, pages);
        let length = self.memory.with_run(run, |bytes| self.file.read_at(bytes, self.offset(first)));
        let length = length.unwrap_or(0);
        let size = self.memory.page_size();
        for (index, (mut claim, frame)) in run.drain(..).zip(frames.drain(..)).enumerate() {
            let read = length.saturating_sub(index * size).min(size);
            if self.check(claim.page(), claim.bytes(), read).is_ok() {
                self.counters.read(claim.bytes());
                add(&self.counters.prefetched, 1);
                let again = self.was_here_lately(&claim);
                frame.give_to(&claim, &self.memory);
                self.arrived(&claim, Touch::Ignore, again);
            } else {
                self.memory.release_run(std::slice::from_mut(&mut claim));
            }
        }
    }

    /// Tests what was read.
    fn check(&self, page: PageId, bytes: &[u8], read: usize) -> Result<(), StorageError> {
        if read < bytes.len() {
            let owner = if read >= header::SIZE { header::owner(bytes) } else { ObjectId::SYSTEM };
            return Err(StorageError::corrupt(page, owner, Flaw::from("beyond end of file")));
        }
        let corrupt = |flaw| StorageError::corrupt(page, header::owner(bytes), flaw);
        header::verify(bytes, page).map_err(corrupt)?;
        // Without the map nothing could be read (S10 of `space`).
        let is_map = header::kind(bytes) == Some(PageKind::SpaceMap);
        if !is_map && self.lost.get().is_some_and(|lost| lost.have(header::lsn(bytes))) {
            return Err(corrupt(Flaw::from(
                "it was changed by a part of the log that was lost and given up",
            )));
        }
        Ok(())
    }

    /// Where the page stands in the file.
    pub(super) fn offset(&self, page: PageId) -> u64 {
        u64::from(page.0) * self.memory.page_size() as u64
    }
}
