//! Mutex, reader-writer lock and condition variable: parking_lot's in real life, steered by the seed in a simulation.
//!
//! On a simulated thread every lock is a possible switch, and a contended lock or a wait hands the processor to
//! the simulation's scheduler instead of blocking in the kernel (see [`crate::simulation`]).
//!
//! Y1. Locks do not poison: a panic releases them.
//! Y2. A guard releases first and tells the scheduler afterwards, so a woken thread finds the lock free.
//! Y3. Condition variables wake spuriously only in an aborted simulation; callers check their condition in a loop
//!     all the same.

mod condvar;
mod mutex;
mod rwlock;
mod striped;

use std::panic::Location;
pub use std::sync::atomic;

pub use condvar::Condvar;
pub use mutex::{Mutex, MutexGuard};
pub use rwlock::{RwLock, RwLockReadGuard, RwLockWriteGuard};
pub use striped::{StripedRwLock, StripedWriteGuard, thread_number};

use crate::simulation::{self, Scheduler, WaitKey, WaitKind, Woken};

/// Rounds of [`backoff`] before a thread that spins goes to sleep.
pub const SPIN_ROUNDS: u32 = 16;

/// A point where, in a simulation, another thread may run first; nothing but a relaxed load otherwise. Goes before
/// accesses to atomics that threads share.
#[inline]
#[track_caller]
pub fn pause_point() {
    if let Some(scheduler) = simulation::current() {
        scheduler.pause(Location::caller(), false);
    }
}

/// Rounds of a spin before the processor is given to others.
const AWAKE_ROUNDS: u32 = 10;

/// Some hundred nanoseconds.
#[inline]
fn hints() {
    for _ in 0..16 {
        std::hint::spin_loop();
    }
}

/// One round, from 0, of a short spin on an atomic: a few processor hints in real life, and after some of them the
/// processor for others, as whoever is waited for may not be running; "let others go first" in a simulation. Spin loops
/// without it would hang a simulation.
#[inline]
#[track_caller]
pub fn backoff(round: u32) {
    if let Some(scheduler) = simulation::current() {
        scheduler.pause(Location::caller(), true);
    } else if round < AWAKE_ROUNDS {
        hints();
    } else {
        std::thread::yield_now();
    }
}

/// The identity of a lock in the simulation.
#[inline]
fn key_of<T: ?Sized>(kind: WaitKind, object: &T) -> WaitKey {
    WaitKey { kind, address: std::ptr::from_ref(object).cast::<()>().addr() }
}

/// Repeats `attempt` until it succeeds; between attempts the scheduler runs others.
#[cold]
fn acquire<G>(
    scheduler: &dyn Scheduler,
    key: WaitKey,
    at: &'static Location<'static>,
    mut attempt: impl FnMut() -> Option<G>,
) -> G {
    scheduler.pause(at, false);
    loop {
        if let Some(guard) = attempt() {
            return guard;
        }
        if scheduler.block(key, None, at) == Woken::Aborted {
            simulation::unwind_aborted();
        }
    }
}

/// Last field of every guard, so that it is dropped behind the lock itself (Y2).
struct Released(WaitKey);

impl Drop for Released {
    #[inline]
    fn drop(&mut self) {
        if let Some(scheduler) = simulation::current() {
            scheduler.wake(self.0, true);
        }
    }
}

#[cfg(test)]
mod tests;
