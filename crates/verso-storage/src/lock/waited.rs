//! How often somebody waited, and how long.

use std::sync::atomic::{AtomicU64, Ordering};

/// Waits of one kind.
#[derive(Debug, Default)]
pub struct Waited {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Waited {
    /// A wait of so many nanoseconds is over.
    pub fn took(&self, nanos: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// How many waits are over.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    /// How long they took together.
    pub fn nanos(&self) -> u64 {
        self.nanos.load(Ordering::Relaxed)
    }
}
