//! The page cleaner: a thread that keeps frames free and the share of dirty pages bounded, so that readers seldom
//! have to write.
//!
//! It starts writing when `lru_max_dirty` percent of the frames are dirty and stops at `lru_min_dirty`; when the
//! free list runs low it evicts pages, and writes those the clock would evict next. It sleeps until one of both is said.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};

use super::Core;
use super::doublewrite::BATCH_PAGES;
use super::latch::DIRTY;
use crate::error::StorageError;
use crate::page::PageId;

/// Until the next look at a share of dirty pages that could not be brought down.
const AGAIN: Duration = Duration::from_secs(1);

/// How the cleaner is called and stopped.
#[derive(Default)]
pub(super) struct Cleaner {
    orders: Mutex<Orders>,
    changed: Condvar,
    /// Whether an order is already waiting, so that callers rarely take the mutex.
    called: AtomicBool,
}

#[derive(Default)]
struct Orders {
    stop: bool,
    work: bool,
}

impl Cleaner {
    /// Asks for a round.
    pub(super) fn nudge(&self) {
        if !self.called.swap(true, Ordering::AcqRel) {
            self.orders.lock().work = true;
            self.changed.notify_one();
        }
    }

    /// Lets the thread sleep whatever is asked for, so that a test can do its work.
    #[cfg(test)]
    pub(super) fn mute(&self) {
        self.called.store(true, Ordering::Release);
    }

    /// Ends the thread behind the round it is in.
    pub(super) fn stop(&self) {
        self.orders.lock().stop = true;
        self.changed.notify_all();
    }

    /// Waits for work, only so long when there is `more` of it already; `false` at the end.
    fn next_round(&self, more: bool) -> bool {
        let mut orders = self.orders.lock();
        while !orders.work && !orders.stop {
            if !more {
                self.changed.wait(&mut orders);
            } else if self.changed.wait_for(&mut orders, AGAIN) {
                break;
            }
        }
        orders.work = false;
        self.called.store(false, Ordering::Release);
        !orders.stop
    }

    fn stopping(&self) -> bool {
        self.orders.lock().stop
    }
}

impl Core {
    /// Body of the cleaner thread.
    pub(super) fn clean_until_stopped(&self) {
        let mut more = false;
        while self.cleaner.next_round(more) {
            if let Err(error) = self.clean() {
                // The pool is poisoned or the pages were left dirty: whoever needs them meets the error. That the disk is full
                // was said when it was met.
                if !self.is_stalled() {
                    tracing::warn!(%error, "the page cleaner gave up");
                }
                if self.check_usable().is_err() {
                    return;
                }
            }
            more = self.is_stalled() || self.memory.dirty_pages() >= self.memory.dirty_limit();
        }
    }

    /// One round.
    pub(super) fn clean(&self) -> Result<(), StorageError> {
        if self.is_stalled() {
            self.try_once_more()?;
        }
        let [min, max] = [&self.lru_dirty[0], &self.lru_dirty[1]].map(|part| part.load(Ordering::Relaxed));
        if self.dirty_percent() >= u64::from(max) {
            while self.dirty_percent() > u64::from(min) && !self.cleaner.stopping() {
                if self.flush_now(&self.some_dirty())? == 0 {
                    break;
                }
            }
        }
        while self.frames.free_count() < self.frames.reserve() && !self.cleaner.stopping() {
            let swept = self.sweep(self.frames.reserve(), false);
            if swept.freed == 0 && self.flush_now(&swept.dirty)? == 0 {
                break;
            }
        }
        Ok(())
    }

    fn dirty_percent(&self) -> u64 {
        self.memory.dirty_pages() * 100 / self.frames.capacity() as u64
    }

    /// A batch of dirty pages: those dirty for longest, since they hold back the redo point.
    fn some_dirty(&self) -> Vec<PageId> {
        let dirty = |page: &PageId| {
            let state = self.memory.word(*page).state();
            state.has(DIRTY) && !state.latched_exclusively()
        };
        let mut pages: Vec<_> = self.frames.resident().filter(dirty).collect();
        if pages.len() > BATCH_PAGES {
            pages.select_nth_unstable_by_key(BATCH_PAGES, |page| {
                self.memory.first_dirty(*page).map_or(u64::MAX, |lsn| lsn.0)
            });
            pages.truncate(BATCH_PAGES);
        }
        pages.sort_unstable();
        pages
    }
}
