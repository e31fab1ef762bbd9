//! Mutual exclusion.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use super::{AWAKE_ROUNDS, Released, acquire, hints, key_of};
use crate::simulation::{self, WaitKey, WaitKind};

/// A mutex without poisoning.
#[derive(Default)]
pub struct Mutex<T: ?Sized> {
    inner: parking_lot::Mutex<T>,
}

/// The locked state of a [`Mutex`].
#[must_use = "dropping the guard releases the lock"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) inner: parking_lot::MutexGuard<'a, T>,
    released: Released,
}

impl<T> Mutex<T> {
    /// A free mutex around `value`.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex { inner: parking_lot::Mutex::new(value) }
    }

    /// The value, without locking.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks, waiting as long as it takes.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        let inner = match simulation::current() {
            None => self.inner.try_lock().unwrap_or_else(|| self.lock_awake()),
            Some(scheduler) => acquire(&*scheduler, self.key(), Location::caller(), || self.inner.try_lock()),
        };
        self.guard(inner)
    }

    /// Stays awake for about a microsecond before it gives the processor to others, who may keep it for milliseconds: most
    /// locks are held for less.
    #[cold]
    fn lock_awake(&self) -> parking_lot::MutexGuard<'_, T> {
        for _ in 0..AWAKE_ROUNDS {
            hints();
            if let Some(inner) = self.inner.try_lock() {
                return inner;
            }
        }
        self.inner.lock()
    }

    /// Locks if it is free now.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        super::pause_point();
        self.inner.try_lock().map(|inner| self.guard(inner))
    }

    /// Whether somebody holds it; only a hint, except to the holder.
    pub fn is_locked(&self) -> bool {
        self.inner.is_locked()
    }

    /// The value, by exclusive reference, without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    #[inline]
    fn guard<'a>(&'a self, inner: parking_lot::MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        MutexGuard { inner, released: Released(self.key()) }
    }

    #[inline]
    fn key(&self) -> WaitKey {
        key_of(WaitKind::Mutex, self)
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// The identity of the mutex in a simulation.
    pub(super) fn key(&self) -> WaitKey {
        self.released.0
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
