//! How often a table or an index was read since the database was opened, and how many rows that found.
//!
//! U1. A scan counts when it reads, not when it is made; one that several threads share counts once.
//! U2. Threads count in stripes, so that sessions which use the same table do not meet; there are stripes from the first use on.

use std::array;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use verso_env::sync::thread_number;

/// Threads that count apart.
const STRIPES: usize = 8;

/// How often something was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseCounts {
    /// Scans of it.
    pub scans: u64,
    /// Of a table: rows that scans of the table have come to. Of an index: entries.
    pub read: u64,
    /// Of an index: rows that its entries have led to, one by one. Of a table: rows that several entries or indexes together have led to.
    pub fetched: u64,
    /// When the last scan began, in microseconds since 1970; 0 for never.
    pub last_unix_micros: i64,
}

#[derive(Default)]
#[repr(align(128))]
struct Stripe {
    scans: AtomicU64,
    read: AtomicU64,
    fetched: AtomicU64,
    last: AtomicI64,
}

/// The same, counted by several threads.
#[derive(Default)]
pub(crate) struct Uses {
    stripes: OnceLock<Box<[Stripe; STRIPES]>>,
}

impl std::fmt::Debug for Uses {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(out)
    }
}

impl Uses {
    #[inline]
    fn stripe(&self) -> &Stripe {
        let stripes = self.stripes.get_or_init(|| Box::new(array::from_fn(|_| Stripe::default())));
        &stripes[thread_number() % STRIPES]
    }

    /// A scan begins.
    #[inline]
    pub fn scan(&self, unix_micros: i64) {
        let stripe = self.stripe();
        stripe.scans.fetch_add(1, Ordering::Relaxed);
        // Mostly the same as before: the clock is told in milliseconds.
        if stripe.last.load(Ordering::Relaxed) < unix_micros {
            stripe.last.store(unix_micros, Ordering::Relaxed);
        }
    }

    /// It has come to so many rows or entries, and fetched so many rows.
    #[inline]
    pub fn read(&self, read: usize, fetched: usize) {
        let stripe = self.stripe();
        if read > 0 {
            stripe.read.fetch_add(read as u64, Ordering::Relaxed);
        }
        if fetched > 0 {
            stripe.fetched.fetch_add(fetched as u64, Ordering::Relaxed);
        }
    }

    /// The numbers of now.
    pub fn get(&self) -> UseCounts {
        let mut counts = UseCounts::default();
        for stripe in self.stripes.get().iter().flat_map(|stripes| stripes.iter()) {
            counts.scans += stripe.scans.load(Ordering::Relaxed);
            counts.read += stripe.read.load(Ordering::Relaxed);
            counts.fetched += stripe.fetched.load(Ordering::Relaxed);
            counts.last_unix_micros = counts.last_unix_micros.max(stripe.last.load(Ordering::Relaxed));
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_made_for_what_nobody_reads_and_all_threads_count() {
        let uses = Uses::default();
        assert_eq!(uses.get(), UseCounts::default());
        assert!(uses.stripes.get().is_none());
        uses.scan(7);
        uses.scan(5);
        uses.read(10, 0);
        uses.read(0, 3);
        let all = UseCounts { scans: 2, read: 10, fetched: 3, last_unix_micros: 7 };
        assert_eq!(uses.get(), all);
    }
}
