//! A reader-writer lock whose readers do not meet.
//!
//! An ordinary lock counts its readers in one word, which travels from core to core with each of them. Here threads read
//! under one of several locks; who writes takes all of them, in order. Also known as a big-reader lock.

use std::array;
use std::cell::Cell;
use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use crate::simulation;

/// A lock on cache lines of its own.
#[repr(align(128))]
struct Stripe<T>(RwLock<T>);

/// A value that is read all the time by many threads and written hardly ever; each of the `N` stripes has a copy. A
/// thread must not read-lock it twice: a waiting writer goes first.
pub struct StripedRwLock<T, const N: usize> {
    stripes: [Stripe<T>; N],
}

/// A [`StripedRwLock`] locked for writing.
#[must_use = "dropping the guard releases the lock"]
pub struct StripedWriteGuard<'a, T, const N: usize> {
    stripes: [RwLockWriteGuard<'a, T>; N],
}

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// This thread's number; threads are numbered as they come. One for all in a simulation, which has to replay.
#[inline]
pub fn thread_number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if simulation::current().is_some() {
        return 0;
    }
    NUMBER.with(|number| {
        if number.get() == usize::MAX {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    })
}

impl<T: Clone, const N: usize> StripedRwLock<T, N> {
    /// A free lock around copies of `value`.
    pub fn new(value: T) -> StripedRwLock<T, N> {
        StripedRwLock { stripes: array::from_fn(|_| Stripe(RwLock::new(value.clone()))) }
    }
}

impl<T: Clone + Default, const N: usize> Default for StripedRwLock<T, N> {
    fn default() -> StripedRwLock<T, N> {
        StripedRwLock::new(T::default())
    }
}

impl<T, const N: usize> StripedRwLock<T, N> {
    /// Locks for reading, waiting as long as it takes.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        self.stripes[thread_number() % N].0.read()
    }

    /// Locks for writing, waiting as long as it takes.
    #[track_caller]
    pub fn write(&self) -> StripedWriteGuard<'_, T, N> {
        StripedWriteGuard { stripes: array::from_fn(|at| self.stripes[at].0.write()) }
    }
}

impl<T: Clone, const N: usize> StripedWriteGuard<'_, T, N> {
    /// Replaces the value.
    pub fn set(&mut self, value: T) {
        self.stripes.iter_mut().for_each(|stripe| **stripe = value.clone());
    }
}

impl<T, const N: usize> Deref for StripedWriteGuard<'_, T, N> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.stripes[0]
    }
}

impl<T: fmt::Debug, const N: usize> fmt::Debug for StripedRwLock<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StripedRwLock").field(&*self.read()).finish()
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "threads of a test")]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn readers_see_the_value_written_last_whatever_their_stripe() {
        let lock = Arc::new(StripedRwLock::<u64, 4>::new(1));
        lock.write().set(7);
        let seen: Vec<u64> = (0..9)
            .map(|_| {
                let lock = Arc::clone(&lock);
                std::thread::spawn(move || *lock.read())
            })
            .map(|thread| thread.join().expect("no panic"))
            .collect();
        assert_eq!(seen, [7; 9]);
    }

    #[test]
    fn a_writer_waits_for_every_reader_and_keeps_them_out() {
        let lock = Arc::new(StripedRwLock::<(u64, u64), 4>::new((0, 0)));
        let threads: Vec<_> = (0..6)
            .map(|thread| {
                let lock = Arc::clone(&lock);
                std::thread::spawn(move || {
                    for round in 0..2000 {
                        if thread == 0 && round % 10 == 0 {
                            let mut guard = lock.write();
                            let (a, b) = *guard;
                            guard.set((a + 1, b + 1));
                        } else {
                            let pair = lock.read();
                            assert_eq!(pair.0, pair.1);
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(*lock.read(), (200, 200));
    }
}
