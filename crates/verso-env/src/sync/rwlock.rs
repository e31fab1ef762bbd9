//! Many readers or one writer.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use super::{Released, acquire, key_of};
use crate::simulation::{self, WaitKey, WaitKind};

/// A reader-writer lock without poisoning. A thread must not read-lock it twice: a waiting writer goes first.
#[derive(Default)]
pub struct RwLock<T: ?Sized> {
    inner: parking_lot::RwLock<T>,
}

/// A [`RwLock`] locked for reading.
#[must_use = "dropping the guard releases the lock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    inner: parking_lot::RwLockReadGuard<'a, T>,
    _released: Released,
}

/// A [`RwLock`] locked for writing.
#[must_use = "dropping the guard releases the lock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    inner: parking_lot::RwLockWriteGuard<'a, T>,
    _released: Released,
}

impl<T> RwLock<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> RwLock<T> {
        RwLock { inner: parking_lot::RwLock::new(value) }
    }

    /// The value, without locking.
    pub fn into_inner(self) -> T {
        self.inner.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Locks for reading, waiting as long as it takes.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> RwLockReadGuard<'_, T> {
        let inner = match simulation::current() {
            None => self.inner.read(),
            Some(scheduler) => acquire(&*scheduler, self.key(), Location::caller(), || self.inner.try_read()),
        };
        self.read_guard(inner)
    }

    /// Locks for reading if no writer holds it now.
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        super::pause_point();
        self.inner.try_read().map(|inner| self.read_guard(inner))
    }

    /// Locks for writing, waiting as long as it takes.
    #[inline]
    #[track_caller]
    pub fn write(&self) -> RwLockWriteGuard<'_, T> {
        let inner = match simulation::current() {
            None => self.inner.write(),
            Some(scheduler) => {
                acquire(&*scheduler, self.key(), Location::caller(), || self.inner.try_write())
            }
        };
        self.write_guard(inner)
    }

    /// Locks for writing if it is free now.
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        super::pause_point();
        self.inner.try_write().map(|inner| self.write_guard(inner))
    }

    /// The value, by exclusive reference, without locking.
    pub fn get_mut(&mut self) -> &mut T {
        self.inner.get_mut()
    }

    #[inline]
    fn read_guard<'a>(&'a self, inner: parking_lot::RwLockReadGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard { inner, _released: Released(self.key()) }
    }

    #[inline]
    fn write_guard<'a>(&'a self, inner: parking_lot::RwLockWriteGuard<'a, T>) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard { inner, _released: Released(self.key()) }
    }

    #[inline]
    fn key(&self) -> WaitKey {
        key_of(WaitKind::RwLock, self)
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.inner
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.inner
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}
