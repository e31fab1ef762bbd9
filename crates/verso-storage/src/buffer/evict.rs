//! Frames: which pages are in memory, and who has to leave.
//!
//! ```text
//!  free list ──► page arrives ──► clock hand passes: used? ─ yes ─► one chance less
//!      ▲                                              └─ no ──► dirty? ─ yes ─► candidate for the flusher
//!      └───────── memory given back ◄── claimed ◄─────────────────┴─ no
//! ```
//!
//! A visit earns a chance (at most three), a scan's visit none, so a big scan pushes out its own pages first.
//!
//! C1. A resident page has exactly one frame; there are never more resident pages than frames.
//! C2. Only a clean page that is not being written is evicted, by a thread that claimed it without waiting.
//! C3. A page's memory is given back before its frame is.
//! C4. A freed page keeps its frame, hollow and without chances: it is the first to go, and if the page is given out
//!     again before, no memory has to be returned and brought again.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

use super::Core;
use super::doublewrite::BATCH_PAGES;
use super::frame::{Claim, Memory};
use super::latch::{DIRTY, HOLLOW, KEEP, RESIDENT, WRITING};
use super::stats::add;
use crate::error::StorageError;
use crate::page::PageId;

/// One wait for somebody to let go of a page, and how often it is repeated before giving up.
const FRAME_WAIT: Duration = Duration::from_millis(10);
const FRAME_WAITS: u32 = 500;

/// The pool's frames.
pub(super) struct Frames {
    /// Page number + 1 by frame, 0 for a free frame.
    pages: Vec<AtomicU32>,
    free: Mutex<Vec<u32>>,
    /// Signalled when a frame became free.
    freed: Condvar,
    hand: Mutex<usize>,
    /// The cleaner keeps this many frames free once the pool has been full.
    reserve: usize,
}

/// What a round of the clock brought.
#[derive(Default)]
pub(super) struct Swept {
    /// Frames freed.
    pub(super) freed: usize,
    /// Pages that could go if they were not dirty.
    pub(super) dirty: Vec<PageId>,
}

impl Frames {
    pub(super) fn new(capacity: usize) -> Frames {
        let last = u32::try_from(capacity).expect("capacity is limited to the page count");
        Frames {
            pages: (0..last).map(|_| AtomicU32::new(0)).collect(),
            free: Mutex::new((0..last).rev().collect()),
            freed: Condvar::new(),
            hand: Mutex::new(0),
            reserve: (capacity / 32).clamp(1, 256),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.pages.len()
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.lock().len()
    }

    pub(super) fn reserve(&self) -> usize {
        self.reserve
    }

    /// The resident pages, in order of their frames; pages come and go meanwhile.
    pub(super) fn resident(&self) -> impl Iterator<Item = PageId> {
        self.pages.iter().filter_map(|page| page.load(Ordering::Acquire).checked_sub(1).map(PageId))
    }

    fn give_back(&self, frames: &[u32]) {
        self.free.lock().extend_from_slice(frames);
        self.freed.notify_all();
    }
}

/// A frame taken from the free list and not in use yet; it goes back unless it is.
pub(super) struct FreeFrame<'p> {
    frames: &'p Frames,
    number: u32,
}

impl FreeFrame<'_> {
    /// The claimed page has this frame from now on.
    pub(super) fn give_to(self, claim: &Claim<'_>, memory: &Memory) {
        let frame = std::mem::ManuallyDrop::new(self);
        memory.frame(claim.page()).store(frame.number, Ordering::Relaxed);
        frame.frames.pages[frame.number as usize].store(claim.page().0 + 1, Ordering::Release);
    }
}

impl Drop for FreeFrame<'_> {
    fn drop(&mut self) {
        self.frames.give_back(&[self.number]);
    }
}

impl Core {
    /// A free frame, if there is one without evicting.
    pub(super) fn pop_frame(&self) -> Option<FreeFrame<'_>> {
        let mut free = self.frames.free.lock();
        let number = free.pop();
        let low = free.len() < self.frames.reserve.div_ceil(2);
        drop(free);
        if low {
            self.cleaner.nudge();
        }
        number.map(|number| FreeFrame { frames: &self.frames, number })
    }

    /// A frame; evicts, flushes and waits as needed.
    ///
    /// # Errors
    /// `PoolExhausted` when every frame stays in use; errors of flushing.
    pub(super) fn obtain_frame(&self) -> Result<FreeFrame<'_>, StorageError> {
        let (mut at_any_cost, mut waits) = (false, 0);
        loop {
            if let Some(frame) = self.pop_frame() {
                return Ok(frame);
            }
            self.check_usable()?;
            let swept = self.sweep(self.sweep_size(), at_any_cost);
            if swept.freed > 0 || (!swept.dirty.is_empty() && self.flush_for_room(&swept.dirty)?) {
                continue;
            }
            if !at_any_cost {
                at_any_cost = true;
                continue;
            }
            if waits == FRAME_WAITS {
                return Err(StorageError::PoolExhausted { frames: self.frames.capacity() as u64 });
            }
            waits += 1;
            add(&self.counters.frame_waits, 1);
            let mut free = self.frames.free.lock();
            if free.is_empty() {
                self.frames.freed.wait_for(&mut free, FRAME_WAIT);
            }
        }
    }

    /// Frames evicted at once by a thread in need of one.
    fn sweep_size(&self) -> usize {
        (self.frames.capacity() / 16).clamp(1, 32)
    }

    /// Lets the clock hand go round until `wanted` pages have left; pages to be kept leave only `at_any_cost`.
    pub(super) fn sweep(&self, wanted: usize, at_any_cost: bool) -> Swept {
        let mut swept = Swept::default();
        let mut victims: Vec<Claim<'_>> = Vec::with_capacity(wanted);
        let capacity = self.frames.capacity();
        let mut hand = self.frames.hand.lock();
        // Three chances make four rounds at most; but enough pages without chances that only need writing are as good.
        for step in 0..capacity * 4 {
            let enough_dirty = swept.dirty.len() == BATCH_PAGES || step >= capacity * 2;
            if victims.len() >= wanted || (enough_dirty && !swept.dirty.is_empty()) {
                break;
            }
            let page = self.frames.pages[*hand].load(Ordering::Acquire);
            *hand = (*hand + 1) % capacity;
            let Some(page) = page.checked_sub(1).map(PageId) else { continue };
            let state = self.memory.word(page).state();
            if state.latched() || !state.has(RESIDENT) || (state.has(KEEP) && !at_any_cost) {
                continue;
            }
            if state.used() {
                self.memory.word(page).age(state);
            } else if state.has(DIRTY) {
                swept.dirty.push(page);
            } else if !state.has(WRITING) {
                victims.extend(self.memory.try_claim_from(page, state));
            }
        }
        drop(hand);
        swept.freed = victims.len();
        add(&self.counters.evictions, swept.freed as u64);
        swept.dirty.sort_unstable();
        swept.dirty.dedup();
        self.vacate(&mut victims);
        swept
    }

    /// Takes claimed pages out of memory and gives their frames back; neighbours in one go.
    pub(super) fn vacate(&self, claims: &mut [Claim<'_>]) {
        if claims.is_empty() {
            return;
        }
        claims.sort_unstable_by_key(Claim::page);
        let mut frames = Vec::with_capacity(claims.len());
        for claim in claims.iter_mut() {
            claim.forget_changes();
            if claim.word().clear(RESIDENT | HOLLOW).has(RESIDENT) {
                let frame = self.memory.frame(claim.page()).load(Ordering::Relaxed);
                self.frames.pages[frame as usize].store(0, Ordering::Release);
                frames.push(frame);
            }
        }
        for run in claims.chunk_by_mut(|left, right| left.page().0 + 1 == right.page().0) {
            self.memory.release_run(run);
        }
        self.frames.give_back(&frames);
    }
}
