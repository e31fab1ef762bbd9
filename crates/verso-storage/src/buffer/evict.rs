//! Frames: which pages are in memory, and who has to leave.
//!
//! ```text
//!  free list ──► page arrives ─┬─ of a scan, or new ─► probation: the oldest first, unless used since
//!      ▲                       └─ visited ───────────► clock hand passes: used? ─ yes ─► one chance less
//!      │                                     ┌─ dirty ─► candidate for the flusher ◄─────┴─ no
//!      └── memory given back ◄── claimed ◄───┴─ clean
//! ```
//!
//! A visit earns a chance (at most three), a scan's visit none.
//!
//! C6. As long as more pages than an eighth of the pool are on *probation*, those leave and the clock stands still, also while
//!     others write all of them: however much scans bring, pages with chances lose none. A page that is visited leaves the probation for the clock's part.
//! C7. A page that comes back by a scan so soon that the pool would have held it, had its other part been smaller, comes with
//!     a chance: so a table that is scanned again and again drives pages out that nobody uses any more.
//! C1. A resident page has exactly one frame; there are never more resident pages than frames.
//! C2. Only a clean page that is not being written is evicted, by a thread that claimed it without waiting.
//! C3. A page's memory is given back before its frame is.
//! C5. Frames from the capacity on are *absent*: none is given out, and one that is in use becomes absent when its page has left.
//! C4. A freed page keeps its frame, hollow and without chances: it is the first to go, and if the page is given out
//!     again before, no memory has to be returned and brought again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

use super::Core;
use super::doublewrite::BATCH_PAGES;
use super::frame::{Claim, Memory};
use super::latch::{DIRTY, HOLLOW, KEEP, RESIDENT, Touch, WRITING};
use super::stats::add;
use crate::error::StorageError;
use crate::page::PageId;

/// One wait for somebody to let go of a page, and how often it is repeated before giving up.
const FRAME_WAIT: Duration = Duration::from_millis(10);
const FRAME_WAITS: u32 = 500;
/// How often the pages behind a smaller capacity are asked to leave.
const RESIZE_TRIES: u32 = 50;

/// In place of a page: there is no such frame (C5).
const ABSENT: u32 = u32::MAX;

/// The pool's frames.
pub(super) struct Frames {
    /// Page number + 1 by frame, 0 for a free frame; as many as there can ever be.
    pages: Vec<AtomicU32>,
    /// Frames that there are to be.
    capacity: AtomicUsize,
    /// All frames from here on are absent.
    end: AtomicUsize,
    free: Mutex<Vec<u32>>,
    /// Signalled when a frame became free.
    freed: Condvar,
    hand: Mutex<usize>,
    /// Pages on probation with their frames, the oldest first (C6); some have left meanwhile, or are not on it any more.
    probation: Mutex<VecDeque<(u32, PageId)>>,
    /// How many pages have left so far, in place of the time.
    departures: AtomicU32,
}

/// What a round of the clock brought.
#[derive(Default)]
pub(super) struct Swept {
    /// Frames freed.
    pub(super) freed: usize,
    /// Pages that could go if they were not dirty.
    pub(super) dirty: Vec<PageId>,
    /// Whether pages on probation are in somebody's hands just now, who writes them most likely: they can go soon.
    busy: bool,
}

impl Frames {
    /// So many frames, and at most so many later on.
    pub(super) fn new(capacity: usize, most: usize) -> Frames {
        let last = u32::try_from(capacity).expect("capacity is limited to the page count");
        let frame = |number| AtomicU32::new(if number < capacity { 0 } else { ABSENT });
        Frames {
            pages: (0..most.max(capacity)).map(frame).collect(),
            capacity: AtomicUsize::new(capacity),
            end: AtomicUsize::new(capacity),
            free: Mutex::new((0..last).rev().collect()),
            freed: Condvar::new(),
            hand: Mutex::new(0),
            probation: Mutex::new(VecDeque::new()),
            departures: AtomicU32::new(0),
        }
    }

    /// So many pages on probation are left to it before the clock goes on (C6).
    fn probation_least(&self) -> usize {
        (self.capacity() / 8).max(1)
    }

    /// Puts pages on probation: the next to leave, or the last.
    fn put_on_probation(&self, pages: impl Iterator<Item = (u32, PageId)>, first: bool) {
        let mut probation = self.probation.lock();
        for page in pages {
            if first { probation.push_front(page) } else { probation.push_back(page) }
        }
        if probation.len() > 2 * self.capacity() + 64 {
            probation.retain(|(frame, page)| self.holds(*frame, *page));
        }
    }

    /// Whether a frame has this page.
    fn holds(&self, frame: u32, page: PageId) -> bool {
        resident_in(self.pages[frame as usize].load(Ordering::Acquire)) == Some(page)
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// The most that the capacity can be.
    pub(super) fn capacity_max(&self) -> usize {
        self.pages.len()
    }

    /// Sets how many frames there are to be (C5); pages in those behind are still to be evicted.
    fn set_capacity(&self, capacity: usize) {
        let mut free = self.free.lock();
        self.capacity.store(capacity, Ordering::Relaxed);
        free.retain(|number| {
            let stays = (*number as usize) < capacity;
            if !stays {
                self.pages[*number as usize].store(ABSENT, Ordering::Release);
            }
            stays
        });
        for (number, page) in self.pages.iter().enumerate().take(capacity) {
            if page.compare_exchange(ABSENT, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                free.push(number as u32);
            }
        }
        let end = self.pages.iter().rposition(|page| page.load(Ordering::Acquire) != ABSENT);
        self.end.store(end.map_or(0, |last| last + 1), Ordering::Release);
        drop(free);
        self.freed.notify_all();
    }

    /// The pages in frames behind the capacity.
    fn beyond(&self) -> Vec<PageId> {
        let behind = self.pages[self.capacity()..].iter().map(|page| page.load(Ordering::Acquire));
        behind.filter_map(resident_in).collect()
    }

    pub(super) fn free_count(&self) -> usize {
        self.free.lock().len()
    }

    /// The cleaner keeps this many frames free once the pool has been full.
    pub(super) fn reserve(&self) -> usize {
        (self.capacity() / 32).clamp(1, 256)
    }

    /// The resident pages, in order of their frames; pages come and go meanwhile.
    pub(super) fn resident(&self) -> impl Iterator<Item = PageId> {
        let end = self.end.load(Ordering::Acquire);
        self.pages[..end].iter().filter_map(|page| resident_in(page.load(Ordering::Acquire)))
    }

    fn give_back(&self, frames: &[u32]) {
        let mut free = self.free.lock();
        let capacity = self.capacity();
        for number in frames {
            if (*number as usize) < capacity {
                free.push(*number);
            } else {
                self.pages[*number as usize].store(ABSENT, Ordering::Release);
            }
        }
        drop(free);
        self.freed.notify_all();
    }
}

/// The page in a frame with this content, if there is one.
fn resident_in(content: u32) -> Option<PageId> {
    (content != ABSENT).then(|| content.checked_sub(1).map(PageId)).flatten()
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
        let low = free.len() < self.frames.reserve().div_ceil(2);
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
            let swept = self.sweep(self.sweep_size(), at_any_cost);
            if swept.freed > 0 || (!swept.dirty.is_empty() && self.flush_for_room(&swept.dirty)?) {
                continue;
            }
            if !(at_any_cost || swept.busy && waits == 0) {
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

    /// Makes `wanted` pages leave, those on probation first; pages to be kept leave only `at_any_cost`.
    pub(super) fn sweep(&self, wanted: usize, at_any_cost: bool) -> Swept {
        let mut swept = Swept::default();
        let mut victims: Vec<Claim<'_>> = Vec::with_capacity(wanted);
        swept.busy = self.sweep_probation(wanted, &mut victims, &mut swept.dirty);
        if at_any_cost || (victims.is_empty() && swept.dirty.is_empty() && !swept.busy) {
            self.go_round(wanted, at_any_cost, &mut victims, &mut swept.dirty);
        }
        swept.freed = victims.len();
        add(&self.counters.evictions, swept.freed as u64);
        swept.dirty.sort_unstable();
        swept.dirty.dedup();
        self.vacate(&mut victims);
        swept
    }

    /// Claims pages on probation that may leave, and lists those that could if they were not dirty (C6); whether others are
    /// in somebody's hands.
    fn sweep_probation<'p>(
        &'p self,
        wanted: usize,
        victims: &mut Vec<Claim<'p>>,
        dirty: &mut Vec<PageId>,
    ) -> bool {
        let mut busy = false;
        let least = self.frames.probation_least();
        let mut probation = self.frames.probation.lock();
        let mut stay = Vec::new();
        while probation.len() + stay.len() > least && victims.len() < wanted && dirty.len() < BATCH_PAGES {
            let Some((frame, page)) = probation.pop_front() else { break };
            let state = self.memory.word(page).state();
            if !self.frames.holds(frame, page) || !state.has(RESIDENT) || state.has(KEEP) || state.used() {
                continue;
            }
            if state.latched() || state.has(WRITING) {
                busy = true;
                stay.push((frame, page));
            } else if state.has(DIRTY) {
                stay.push((frame, page));
                dirty.push(page);
            } else {
                match self.memory.try_claim_from(page, state) {
                    Some(claim) => victims.push(claim),
                    None => stay.push((frame, page)),
                }
            }
        }
        stay.into_iter().rev().for_each(|page| probation.push_front(page));
        busy
    }

    /// The content of the claimed page, which is in a frame, has come; whether it was here lately.
    pub(super) fn arrived(&self, claim: &Claim<'_>, touch: Touch, again: bool) {
        let touch = if again { Touch::Count } else { touch };
        claim.word().arrive(touch);
        if touch == Touch::Ignore {
            let frame = self.memory.frame(claim.page()).load(Ordering::Relaxed);
            self.frames.put_on_probation([(frame, claim.page())].into_iter(), false);
        }
    }

    /// Whether the claimed page, which is in no frame, has left so lately that there would have been room for it beside those
    /// on probation (C7).
    pub(super) fn was_here_lately(&self, claim: &Claim<'_>) -> bool {
        let left = self.memory.frame(claim.page()).load(Ordering::Relaxed);
        let room = self.frames.capacity().saturating_sub(self.frames.probation.lock().len());
        let since = self.frames.departures.load(Ordering::Relaxed).wrapping_sub(left);
        left != 0 && !claim.resident() && (since as usize) < room
    }

    /// Lets the content of a claimed page go; its frame is the next to be taken (C4).
    pub(super) fn hollow_out(&self, claim: &Claim<'_>) {
        claim.word().hollow_out();
        let frame = self.memory.frame(claim.page()).load(Ordering::Relaxed);
        self.frames.put_on_probation([(frame, claim.page())].into_iter(), true);
    }

    /// Lets the clock hand go round until so many pages are claimed in all.
    fn go_round<'p>(
        &'p self,
        wanted: usize,
        at_any_cost: bool,
        victims: &mut Vec<Claim<'p>>,
        dirty: &mut Vec<PageId>,
    ) {
        let mut hand = self.frames.hand.lock();
        let end = self.frames.end.load(Ordering::Acquire).max(1);
        *hand %= end;
        // Three chances make four rounds at most; but enough pages without chances that only need writing are as good.
        for step in 0..end * 4 {
            let enough_dirty = dirty.len() >= BATCH_PAGES || step >= end * 2;
            if victims.len() >= wanted || (enough_dirty && !dirty.is_empty()) {
                break;
            }
            let page = self.frames.pages[*hand].load(Ordering::Acquire);
            *hand = (*hand + 1) % end;
            let Some(page) = resident_in(page) else { continue };
            let state = self.memory.word(page).state();
            if state.latched() || !state.has(RESIDENT) || (state.has(KEEP) && !at_any_cost) {
                continue;
            }
            if state.used() {
                self.memory.word(page).age(state);
            } else if state.has(DIRTY) {
                dirty.push(page);
            } else if !state.has(WRITING) {
                victims.extend(self.memory.try_claim_from(page, state));
            }
        }
    }

    /// Sets how many frames there are to be, and makes the pages leave for which there is no frame any more. Those that are latched
    /// now leave when the clock hand comes by.
    ///
    /// # Errors
    /// Errors of flushing.
    pub(super) fn resize(&self, capacity: usize) -> Result<(), StorageError> {
        self.frames.set_capacity(capacity);
        for _ in 0..RESIZE_TRIES {
            let mut pages = self.frames.beyond();
            pages.sort_unstable();
            pages.dedup();
            if pages.is_empty() {
                break;
            }
            self.flush_now(&pages)?;
            for page in pages {
                let state = self.memory.word(page).state();
                if !state.latched() && state.has(RESIDENT) && !state.has(DIRTY) && !state.has(WRITING) {
                    let claimed = self.memory.try_claim_from(page, state);
                    self.vacate(&mut claimed.into_iter().collect::<Vec<_>>());
                }
            }
        }
        // Frames that were left are absent now.
        self.frames.set_capacity(capacity);
        Ok(())
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
                // In place of its frame, when it has left (C7).
                let now = self.frames.departures.fetch_add(1, Ordering::Relaxed);
                self.memory.frame(claim.page()).store(now.max(1), Ordering::Relaxed);
                frames.push(frame);
            }
        }
        for run in claims.chunk_by_mut(|left, right| left.page().0 + 1 == right.page().0) {
            self.memory.release_run(run);
        }
        self.frames.give_back(&frames);
    }
}
