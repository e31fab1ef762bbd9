//! Pages that were latched and read, by the object that they belong to: for every fetch, at the cost of one counter that only its
//! thread writes.
//!
//! ```text
//! thread 1   │ table 70: 12 │ index 71: 30 │ …       slots of a thread, an object's by its number
//! thread 2   │              │ index 71:  4 │ …
//! all        table 198: 7 …                         what stood in a slot that another object needed
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use crate::page::ObjectId;

/// Slots of a thread: objects are numbered one after the other, so that as many of them do not meet.
const SLOTS: usize = 128;
/// The lower half of a slot, which has the count; the upper one is the object's number.
const COUNT: u64 = u32::MAX as u64;

/// How often pages of an object were latched, and how many of these were read from the file first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FetchCount {
    /// Pages latched, in memory already or not.
    pub fetches: u64,
    /// Pages read from the file, also ahead of who wants them.
    pub reads: u64,
}

#[repr(align(128))]
struct Slots([AtomicU64; SLOTS]);

/// The counters of all threads.
pub(super) struct OwnerCounts {
    /// The first `own` belong to one thread each, the others are shared.
    stripes: Box<[Slots]>,
    own: usize,
    /// Not one of `verso_env`: which objects meet in a slot depends on the threads before, and is to be no step of a simulated run.
    rest: Mutex<HashMap<ObjectId, FetchCount>>,
}

impl OwnerCounts {
    /// For `own` threads, and so many stripes that the others share.
    pub(super) fn new(own: usize, shared: usize) -> OwnerCounts {
        let slots = || Slots([const { AtomicU64::new(0) }; SLOTS]);
        OwnerCounts { stripes: (0..own + shared).map(|_| slots()).collect(), own, rest: Mutex::default() }
    }

    /// A thread has latched a page of an object.
    #[inline]
    pub(super) fn fetch(&self, stripe: usize, owner: ObjectId) {
        let slot = &self.stripes[stripe].0[owner.0 as usize % SLOTS];
        let known = slot.load(Ordering::Relaxed);
        if known >> 32 != u64::from(owner.0) || known & COUNT == COUNT {
            return self.replace(slot, owner);
        }
        if stripe < self.own {
            // Nobody else writes it.
            slot.store(known + 1, Ordering::Relaxed);
        } else if slot.compare_exchange(known, known + 1, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            // Whoever was quicker may have given the slot to another object.
            self.rest.lock().entry(owner).or_default().fetches += 1;
        }
    }

    /// Moves what a slot has counted to what all have, and counts for another object.
    #[cold]
    fn replace(&self, slot: &AtomicU64, owner: ObjectId) {
        let mut rest = self.rest.lock();
        let known = slot.swap(u64::from(owner.0) << 32 | 1, Ordering::Relaxed);
        if known & COUNT > 0 {
            rest.entry(ObjectId((known >> 32) as u32)).or_default().fetches += known & COUNT;
        }
    }

    /// A page of an object was read from the file.
    pub(super) fn read(&self, owner: ObjectId) {
        self.rest.lock().entry(owner).or_default().reads += 1;
    }

    /// What was counted for an object.
    pub(super) fn of(&self, owner: ObjectId) -> FetchCount {
        let rest = self.rest.lock();
        let mut count = rest.get(&owner).copied().unwrap_or_default();
        for stripe in &self.stripes {
            let known = stripe.0[owner.0 as usize % SLOTS].load(Ordering::Relaxed);
            if known >> 32 == u64::from(owner.0) {
                count.fetches += known & COUNT;
            }
        }
        count
    }

    /// An object has gone.
    pub(super) fn forget(&self, owner: ObjectId) {
        let mut rest = self.rest.lock();
        for stripe in &self.stripes {
            let slot = &stripe.0[owner.0 as usize % SLOTS];
            let known = slot.load(Ordering::Relaxed);
            if known >> 32 == u64::from(owner.0) {
                // A thread that counts just now may put its count back: of little harm.
                let _ = slot.compare_exchange(known, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
        }
        rest.remove(&owner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fetches_of_all_threads_are_counted_and_objects_may_share_a_slot() {
        let counts = OwnerCounts::new(2, 1);
        let (table, far) = (ObjectId(5), ObjectId(5 + SLOTS as u32));
        for (stripe, owner, times) in
            [(0, table, 3), (1, table, 4), (2, table, 2), (0, far, 1), (0, table, 1)]
        {
            (0..times).for_each(|_| counts.fetch(stripe, owner));
        }
        counts.read(far);
        assert_eq!(counts.of(table), FetchCount { fetches: 10, reads: 0 });
        assert_eq!(counts.of(far), FetchCount { fetches: 1, reads: 1 });
        counts.forget(far);
        assert_eq!(counts.of(far), FetchCount::default());
    }

    #[test]
    fn a_slot_that_is_full_goes_on_elsewhere() {
        let counts = OwnerCounts::new(1, 0);
        let owner = ObjectId(1);
        counts.stripes[0].0[1].store(u64::from(owner.0) << 32 | COUNT, Ordering::Relaxed);
        (0..2).for_each(|_| counts.fetch(0, owner));
        assert_eq!(counts.of(owner).fetches, COUNT + 2);
    }

    #[test]
    fn threads_that_share_a_stripe_lose_nothing() {
        let counts = OwnerCounts::new(0, 1);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| counts.fetch(0, ObjectId(9))));
            }
        });
        assert_eq!(counts.of(ObjectId(9)).fetches, 40_000);
    }
}
