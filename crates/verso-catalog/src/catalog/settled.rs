//! The version that all young views see (C5), read by every statement without a lock.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use verso_env::sync::Mutex;

/// The version that all young views see: read by every statement, written hardly ever. The writer makes the sequence
/// odd while the fields change (a sequence lock).
#[derive(Debug)]
pub(super) struct Settled {
    writer: Mutex<()>,
    sequence: AtomicU64,
    /// Changes announced when it was found.
    announced: AtomicU64,
    /// The view's number.
    number: AtomicU64,
    version: AtomicU64,
}

impl Default for Settled {
    fn default() -> Settled {
        Settled {
            writer: Mutex::new(()),
            sequence: AtomicU64::new(0),
            announced: AtomicU64::new(u64::MAX),
            number: AtomicU64::new(u64::MAX),
            version: AtomicU64::new(0),
        }
    }
}

impl Settled {
    /// What a view of this number sees when so many changes are announced; none if that is not known.
    pub(super) fn version(&self, announced: u64, number: u64) -> Option<u64> {
        let sequence = self.sequence.load(Ordering::Acquire);
        let fits = self.announced.load(Ordering::Relaxed) == announced
            && self.number.load(Ordering::Relaxed) <= number;
        let version = self.version.load(Ordering::Relaxed);
        fence(Ordering::Acquire);
        let stable = sequence.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == sequence;
        (stable && fits).then_some(version)
    }

    pub(super) fn set(&self, announced: u64, number: u64, version: u64) {
        let _writer = self.writer.lock();
        let sequence = self.sequence.load(Ordering::Relaxed);
        self.sequence.store(sequence + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        self.announced.store(announced, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        self.version.store(version, Ordering::Relaxed);
        self.sequence.store(sequence + 2, Ordering::Release);
    }
}
