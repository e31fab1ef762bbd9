//! Pages of a job, handed out in pieces.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most pages of a piece.
const MOST: u64 = 256;

/// Numbers from 0 up to an end, handed out in ascending pieces (W1).
#[derive(Debug)]
pub struct Ranges {
    next: AtomicU64,
    end: u64,
    workers: u64,
}

impl Ranges {
    /// So many pages for so many workers.
    #[must_use]
    pub fn new(end: u64, workers: usize) -> Ranges {
        Ranges { next: AtomicU64::new(0), end, workers: workers.max(1) as u64 }
    }

    /// The next piece: a part of what is left, so that the last ones are small. None at the end.
    pub fn take(&self) -> Option<Range<u64>> {
        let length = |rest: u64| if self.workers == 1 { rest } else { rest / (self.workers * 4) };
        let mut from = self.next.load(Ordering::Relaxed);
        loop {
            let rest = self.end.checked_sub(from).filter(|rest| *rest > 0)?;
            let to = from + length(rest).clamp(1, MOST);
            match self.next.compare_exchange_weak(from, to, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(from..to),
                Err(now) => from = now,
            }
        }
    }
}
