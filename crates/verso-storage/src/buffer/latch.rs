//! The word per page: latch, state and version in 64 bits.
//!
//! ```text
//!  63            25  24 23   22     21    20       19     18        17       16         15        0
//!  version (39 bits)│usage│hollow│ keep │writing│ dirty │resident│ waiters │exclusive│ shared holders
//! ```
//!
//! L1. Shared holders and the exclusive holder exclude each other; only the exclusive holder changes the page's
//!     bytes or whether it is resident. A shared holder's page is resident and not hollow.
//! L2. Every release of the exclusive latch raises the version.
//! L3. `dirty` is set by the exclusive holder only, and cleared by it or by the flusher as a shared holder.
//! L4. `writing` lasts from the flusher's copy until the page is durable; such a page is not evicted.
//! L5. A thread sleeps only behind setting `waiters` under its bucket's mutex; the release that ends the reason to
//!     wait sees the bit and wakes the bucket.
//!
//! A resident page has a frame; a hollow one has memory in its frame but no content yet, or none any more. A zero
//! word is an unlatched page that is not resident. The latch is not fair and not recursive. All interleavings of a few
//! threads, and what the memory orderings allow them to see, are tried by `tests/interleavings`.
#![allow(unsafe_code)]

use verso_env::sync::atomic::{AtomicU64, Ordering};
use verso_env::sync::{Condvar, Mutex, SPIN_ROUNDS, backoff};

use super::mapping::ZeroAtomic;
use crate::page::PageId;

const SHARED_MASK: u64 = 0xFFFF;
const EXCLUSIVE: u64 = 1 << 16;
const WAITERS: u64 = 1 << 17;
pub(super) const RESIDENT: u64 = 1 << 18;
pub(super) const DIRTY: u64 = 1 << 19;
pub(super) const WRITING: u64 = 1 << 20;
/// Wanted in memory by `set_resident`: evicted only when nothing else is left.
pub(super) const KEEP: u64 = 1 << 21;
/// In a frame, but without content.
pub(super) const HOLLOW: u64 = 1 << 22;
const USAGE_ONE: u64 = 1 << 23;
const USAGE_MASK: u64 = 3 << 23;
const VERSION_ONE: u64 = 1 << 25;

const BUCKETS: usize = 64;

/// How much a visit counts against eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touch {
    /// One more chance, at most three.
    Count,
    /// None: scans and flushes.
    Ignore,
}

/// A page's word.
#[repr(transparent)]
pub(super) struct Word(AtomicU64);

// SAFETY: a transparent wrapper of an atomic integer.
unsafe impl ZeroAtomic for Word {}

/// A look at a word at some moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct State(u64);

impl State {
    #[inline]
    pub(super) fn has(self, bits: u64) -> bool {
        self.0 & bits != 0
    }

    pub(super) fn latched(self) -> bool {
        self.has(EXCLUSIVE | SHARED_MASK)
    }

    pub(super) fn latched_exclusively(self) -> bool {
        self.has(EXCLUSIVE)
    }

    /// In a frame, with its content.
    #[inline]
    pub(super) fn present(self) -> bool {
        self.0 & (RESIDENT | HOLLOW) == RESIDENT
    }

    pub(super) fn used(self) -> bool {
        self.has(USAGE_MASK)
    }

    pub(super) fn version(self) -> u64 {
        self.0 / VERSION_ONE
    }

    #[inline]
    fn touched(self, touch: Touch) -> u64 {
        if touch == Touch::Count && self.0 & USAGE_MASK != USAGE_MASK { self.0 + USAGE_ONE } else { self.0 }
    }
}

/// Outcome of an attempt to share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shared {
    Got,
    Busy,
    Absent,
}

impl Word {
    /// An unlatched page that is not resident; in the pool such words are zeroed memory.
    #[allow(dead_code, reason = "for tests")]
    pub(super) fn absent() -> Word {
        Word(AtomicU64::new(0))
    }

    #[inline]
    pub(super) fn state(&self) -> State {
        State(self.0.load(Ordering::Acquire))
    }

    /// Takes the latch shared if the page has content in memory and nobody holds it exclusively.
    #[inline]
    pub(super) fn try_shared(&self, touch: Touch) -> Shared {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            if state & EXCLUSIVE != 0 || state & SHARED_MASK == SHARED_MASK {
                return Shared::Busy;
            }
            if state & (RESIDENT | HOLLOW) != RESIDENT {
                return Shared::Absent;
            }
            let next = State(state).touched(touch) + 1;
            match self.0.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Shared::Got,
                Err(now) => state = now,
            }
        }
    }

    /// Takes the latch exclusively if nobody holds it; returns the state before.
    #[inline]
    pub(super) fn try_exclusive(&self, touch: Touch) -> Option<State> {
        let mut state = self.0.load(Ordering::Relaxed);
        loop {
            if State(state).latched() {
                return None;
            }
            let next = State(state).touched(touch) | EXCLUSIVE;
            match self.0.compare_exchange_weak(state, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(State(state)),
                Err(now) => state = now,
            }
        }
    }

    /// Takes the latch exclusively if the word is still in the unlatched state `seen`.
    pub(super) fn try_exclusive_from(&self, seen: State) -> bool {
        debug_assert!(!seen.latched(), "only an unlatched page can be taken");
        self.0.compare_exchange(seen.0, seen.0 | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives up shared hold. Whether [`Parking::wake`] has to follow.
    #[inline]
    pub(super) fn release_shared(&self) -> bool {
        let before = self.0.fetch_sub(1, Ordering::Release);
        debug_assert!(before & SHARED_MASK != 0, "it was held shared");
        before & WAITERS != 0 && before & SHARED_MASK == 1
    }

    /// Gives up exclusive hold. Whether [`Parking::wake`] has to follow.
    #[inline]
    pub(super) fn release_exclusive(&self) -> bool {
        let before = self.0.fetch_add(VERSION_ONE - EXCLUSIVE, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "it was held exclusively");
        before & WAITERS != 0
    }

    /// Turns exclusive into shared hold. Whether [`Parking::wake`] has to follow.
    pub(super) fn downgrade(&self) -> bool {
        let before = self.0.fetch_add(VERSION_ONE - EXCLUSIVE + 1, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "it was held exclusively");
        before & WAITERS != 0
    }

    /// Sets state bits; returns the state before.
    pub(super) fn set(&self, bits: u64) -> State {
        debug_assert!(bits & !(RESIDENT | DIRTY | WRITING | KEEP | HOLLOW) == 0, "only state bits are set");
        State(self.0.fetch_or(bits, Ordering::AcqRel))
    }

    /// Clears state bits; returns the state before.
    pub(super) fn clear(&self, bits: u64) -> State {
        debug_assert!(
            bits & !(RESIDENT | DIRTY | WRITING | KEEP | HOLLOW) == 0,
            "only state bits are cleared"
        );
        State(self.0.fetch_and(!bits, Ordering::AcqRel))
    }

    /// The page's content came in: resident, with one chance unless it was only expected to be needed.
    pub(super) fn arrive(&self, touch: Touch) {
        self.0.fetch_and(!(USAGE_MASK | HOLLOW), Ordering::Relaxed);
        let usage = if touch == Touch::Count { USAGE_ONE } else { 0 };
        self.0.fetch_or(RESIDENT | usage, Ordering::Release);
    }

    /// The page's content is none: a frame without chances.
    pub(super) fn hollow_out(&self) {
        self.0.fetch_and(!USAGE_MASK, Ordering::Relaxed);
        self.0.fetch_or(RESIDENT | HOLLOW, Ordering::Release);
    }

    /// The flusher, a shared holder, has copied the page: `dirty` becomes `writing`.
    pub(super) fn copied(&self) {
        self.0.fetch_or(WRITING, Ordering::AcqRel);
        self.0.fetch_and(!DIRTY, Ordering::AcqRel);
    }

    /// Takes one chance away from a page the clock passes.
    pub(super) fn age(&self, seen: State) {
        debug_assert!(seen.used(), "there is a chance left");
        // A lost race is a visit, which is worth a chance.
        let _ = self.0.compare_exchange(seen.0, seen.0 - USAGE_ONE, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Where threads sleep while a latch is taken.
pub(super) struct Parking {
    buckets: Vec<(Mutex<()>, Condvar)>,
    waits: AtomicU64,
}

impl Parking {
    pub(super) fn new() -> Parking {
        let buckets = (0..BUCKETS).map(|_| (Mutex::new(()), Condvar::new())).collect();
        Parking { buckets, waits: AtomicU64::new(0) }
    }

    /// How often a thread went to sleep for a latch.
    pub(super) fn waits(&self) -> u64 {
        self.waits.load(Ordering::Relaxed)
    }

    /// Waits until an attempt to take the latch may succeed: to share it, or else to have it exclusively.
    #[cold]
    pub(super) fn wait(&self, page: PageId, word: &Word, to_share: bool) {
        let blocked = |state: State| if to_share { state.latched_exclusively() } else { state.latched() };
        for round in 0..SPIN_ROUNDS {
            if !blocked(word.state()) {
                return;
            }
            backoff(round);
        }
        self.waits.fetch_add(1, Ordering::Relaxed);
        let (mutex, condvar) = self.bucket(page);
        let mut guard = mutex.lock();
        loop {
            let state = word.state();
            if !blocked(state) {
                return;
            }
            let noted = state.has(WAITERS)
                || word
                    .0
                    .compare_exchange(state.0, state.0 | WAITERS, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok();
            if noted {
                condvar.wait(&mut guard);
            }
        }
    }

    /// Wakes everybody who waits for the page.
    #[cold]
    pub(super) fn wake(&self, page: PageId, word: &Word) {
        let (mutex, condvar) = self.bucket(page);
        let _guard = mutex.lock();
        word.0.fetch_and(!WAITERS, Ordering::AcqRel);
        condvar.notify_all();
    }

    fn bucket(&self, page: PageId) -> &(Mutex<()>, Condvar) {
        &self.buckets[page.0 as usize % BUCKETS]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_and_exclusive_exclude_each_other() {
        let word = Word::absent();
        assert_eq!(word.try_shared(Touch::Count), Shared::Absent);
        assert!(word.try_exclusive(Touch::Ignore).is_some());
        assert_eq!(word.try_shared(Touch::Count), Shared::Busy);
        assert!(word.try_exclusive(Touch::Ignore).is_none());
        word.arrive(Touch::Count);
        assert!(!word.release_exclusive());
        assert_eq!(word.try_shared(Touch::Count), Shared::Got);
        assert_eq!(word.try_shared(Touch::Count), Shared::Got);
        assert!(word.try_exclusive(Touch::Ignore).is_none());
        word.release_shared();
        assert!(word.try_exclusive(Touch::Ignore).is_none());
        word.release_shared();
        let before = word.try_exclusive(Touch::Ignore).unwrap();
        assert_eq!(before.version(), 1);
        word.downgrade();
        assert_eq!(word.state().version(), 2);
        assert_eq!(word.try_shared(Touch::Ignore), Shared::Got);
        word.release_shared();
        word.release_shared();
        assert!(!word.state().latched());
    }

    #[test]
    fn usage_saturates_and_ages() {
        let word = Word::absent();
        word.try_exclusive(Touch::Ignore).unwrap();
        word.arrive(Touch::Ignore);
        word.release_exclusive();
        assert!(!word.state().used());
        for _ in 0..10 {
            word.try_shared(Touch::Count);
            word.release_shared();
        }
        for _ in 0..3 {
            assert!(word.state().used());
            word.age(word.state());
        }
        assert!(!word.state().used());
        assert!(word.state().has(RESIDENT));
    }

    #[test]
    fn copying_keeps_the_latch_and_trades_dirty_for_writing() {
        let word = Word::absent();
        word.try_exclusive(Touch::Ignore).unwrap();
        word.arrive(Touch::Ignore);
        word.set(DIRTY);
        word.downgrade();
        word.copied();
        let state = word.state();
        assert!(state.has(WRITING) && !state.has(DIRTY) && state.latched());
        assert!(word.clear(WRITING).has(WRITING));
    }

    #[test]
    fn sleepers_are_woken_by_the_release_they_wait_for() {
        let rounds: u64 = if cfg!(miri) { 20 } else { 2000 };
        let (word, parking) = (Word::absent(), Parking::new());
        word.try_exclusive(Touch::Ignore).unwrap();
        word.arrive(Touch::Ignore);
        word.release_exclusive();
        let total = AtomicU64::new(0);
        let page = PageId(5);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for round in 0..rounds {
                        if round % 4 == 0 {
                            while word.try_shared(Touch::Count) != Shared::Got {
                                parking.wait(page, &word, true);
                            }
                            let before = total.load(Ordering::Relaxed);
                            std::thread::yield_now();
                            assert_eq!(before, total.load(Ordering::Relaxed));
                            if word.release_shared() {
                                parking.wake(page, &word);
                            }
                        } else {
                            while word.try_exclusive(Touch::Count).is_none() {
                                parking.wait(page, &word, false);
                            }
                            let before = total.load(Ordering::Relaxed);
                            if round % 16 == 1 {
                                std::thread::yield_now();
                            }
                            total.store(before + 1, Ordering::Relaxed);
                            if word.release_exclusive() {
                                parking.wake(page, &word);
                            }
                        }
                    }
                });
            }
        });
        assert_eq!(total.load(Ordering::Relaxed), 3 * (rounds - rounds.div_ceil(4)));
        assert_eq!(word.state().version(), 1 + 3 * (rounds - rounds.div_ceil(4)));
    }
}
