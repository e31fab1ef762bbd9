//! `verso_env::sync` over loom.

use std::ops::{Deref, DerefMut};

pub use loom::sync::atomic;

/// None: a thread that finds the latch taken goes to sleep, which is what is to be tried.
pub const SPIN_ROUNDS: u32 = 0;

/// Lets others go first.
pub fn backoff(_round: u32) {
    loom::thread::yield_now();
}

/// As in `verso_env`.
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// As in `verso_env`.
pub struct MutexGuard<'m, T>(Option<loom::sync::MutexGuard<'m, T>>);

impl<T> Mutex<T> {
    /// A free mutex.
    pub fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    /// Locks.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("no model panics while it holds a lock")))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("held except while waiting")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("held except while waiting")
    }
}

/// As in `verso_env`.
#[derive(Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    /// One without waiters.
    pub fn new() -> Condvar {
        Condvar::default()
    }

    /// Waits.
    pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let inner = guard.0.take().expect("held by who waits");
        guard.0 = Some(self.0.wait(inner).expect("no model panics while it holds a lock"));
    }

    /// Wakes all.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
