//! Waiting for a condition.

use std::fmt;
use std::panic::Location;
use std::time::Duration;

use super::{MutexGuard, key_of};
use crate::simulation::{self, Scheduler, WaitKey, WaitKind, Woken};
use crate::waiting;

/// A condition variable.
#[derive(Default)]
pub struct Condvar {
    inner: parking_lot::Condvar,
}

impl Condvar {
    /// One without waiters.
    pub const fn new() -> Condvar {
        Condvar { inner: parking_lot::Condvar::new() }
    }

    /// Releases the mutex, waits for a notification and locks again.
    #[track_caller]
    pub fn wait<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>) {
        match simulation::current() {
            None => {
                waiting::announce();
                self.inner.wait(&mut guard.inner);
            }
            Some(scheduler) => {
                self.wait_simulated(&*scheduler, guard, None, Location::caller());
            }
        }
    }

    /// As [`Condvar::wait`], at most for `timeout`. Returns whether the time was up.
    #[track_caller]
    pub fn wait_for<T: ?Sized>(&self, guard: &mut MutexGuard<'_, T>, timeout: Duration) -> bool {
        match simulation::current() {
            None => {
                waiting::announce();
                self.inner.wait_for(&mut guard.inner, timeout).timed_out()
            }
            Some(scheduler) => {
                self.wait_simulated(&*scheduler, guard, Some(timeout), Location::caller()) == Woken::TimedOut
            }
        }
    }

    /// Waits while `condition` holds.
    #[track_caller]
    pub fn wait_while<T: ?Sized>(
        &self,
        guard: &mut MutexGuard<'_, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) {
        while condition(&mut *guard) {
            self.wait(guard);
        }
    }

    /// Wakes one waiter, if there is any.
    pub fn notify_one(&self) {
        if let Some(scheduler) = simulation::current() {
            scheduler.wake(self.key(), false);
        }
        self.inner.notify_one();
    }

    /// Wakes all waiters.
    pub fn notify_all(&self) {
        if let Some(scheduler) = simulation::current() {
            scheduler.wake(self.key(), true);
        }
        self.inner.notify_all();
    }

    /// Waits in the scheduler. No panic may leave the closure: relocking behind it would block for real if another
    /// simulated thread holds the mutex, so the abort waits until the mutex is ours again.
    #[cold]
    fn wait_simulated<T: ?Sized>(
        &self,
        scheduler: &dyn Scheduler,
        guard: &mut MutexGuard<'_, T>,
        timeout: Option<Duration>,
        at: &'static Location<'static>,
    ) -> Woken {
        let mutex_key = guard.key();
        let mutex = parking_lot::MutexGuard::mutex(&guard.inner);
        let woken = parking_lot::MutexGuard::unlocked(&mut guard.inner, || {
            scheduler.wake(mutex_key, true);
            let mut woken = scheduler.block(self.key(), timeout, at);
            while mutex.is_locked() {
                if scheduler.block(mutex_key, None, at) == Woken::Aborted {
                    woken = Woken::Aborted;
                }
            }
            woken
        });
        if woken == Woken::Aborted {
            simulation::unwind_aborted();
        }
        woken
    }

    fn key(&self) -> WaitKey {
        key_of(WaitKind::Condvar, self)
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condvar")
    }
}
